// The timeline: the events that running hosts have judged, newest first, each with the outcomes of its hooks.

import { MarkdownString, TreeItem, TreeItemCollapsibleState as Collapsible } from "vscode";
import * as items from "./items";
import { themed, View } from "./view";
import type { JudgedEvent, Outcome } from "./wire";

const LIMIT = 100;

export type EventNode = { kind: "event"; event: JudgedEvent };
export type OutcomeNode = { kind: "outcome"; event: JudgedEvent; outcome: Outcome; place: number };
type Node = EventNode | OutcomeNode;

export class Timeline extends View<Node, JudgedEvent[]> {
  protected async ask(): Promise<JudgedEvent[] | undefined> {
    return (await this.server.ask("hookwire.events", { limit: LIMIT }))?.events;
  }

  protected top(events: JudgedEvent[]): Node[] {
    return events.map((event) => ({ kind: "event", event }));
  }

  protected under(node: Node): Node[] {
    if (node.kind === "outcome") return [];
    return node.event.outcomes.map((outcome, place) => ({ kind: "outcome", event: node.event, outcome, place }));
  }

  override getTreeItem(node: Node): TreeItem {
    const { event } = node;
    if (node.kind === "outcome") {
      const item = new TreeItem(node.outcome.hook);
      item.id = `${idOf(event)}:${node.place}`;
      item.description = node.outcome.summary;
      item.tooltip = node.outcome.error ?? node.outcome.reason ?? item.description;
      item.iconPath = themed(items.outcomeIcon(node.outcome));
      item.contextValue = "outcome";
      return item;
    }
    const item = new TreeItem(
      event.label,
      event.outcomes.length > 0 ? Collapsible.Collapsed : Collapsible.None,
    );
    item.id = idOf(event);
    item.description = items.eventDescription(event);
    item.tooltip = new MarkdownString(event.tooltip);
    item.iconPath = themed(items.eventIcon(event));
    item.contextValue = "event";
    return item;
  }
}

function idOf({ host, seq }: JudgedEvent): string {
  return `${host}:${seq}`;
}
