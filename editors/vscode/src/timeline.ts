// The timeline: the events that running hosts have judged, newest first, each with the outcomes of its hooks.

import {
  commands, MarkdownString, TreeItem, TreeItemCollapsibleState as Collapsible, window, type Memento, type QuickPickItem,
} from "vscode";
import type { Server } from "./client";
import * as items from "./items";
import { themed, View } from "./view";
import type { Choice, JudgedEvent, Outcome, Timeline as Data } from "./wire";

const LIMIT = 100;

type GroupNode = { kind: "group"; group: Data["groups"][number]; events: JudgedEvent[] };
export type EventNode = { kind: "event"; event: JudgedEvent };
export type OutcomeNode = { kind: "outcome"; event: JudgedEvent; outcome: Outcome; place: number };
type Node = GroupNode | EventNode | OutcomeNode;
/** What the timeline can be asked for, and where the choice is remembered. */
type Kind = "only" | "by";

export class Timeline extends View<Node, Data> {
  constructor(server: Server, private readonly memory: Memento) {
    super("hookwire.events", server);
    this.tell();
  }

  /** Lets a person choose which events are shown, or what they are grouped by. */
  async choose(kind: Kind): Promise<void> {
    const known = this.data ?? (await this.ask());
    const choices: (QuickPickItem & { id: string })[] = (kind === "only" ? known?.filters : known?.groupings)?.map(pickable) ?? [];
    const placeHolder = kind === "only" ? "Which events?" : "In which groups?";
    const choice = await window.showQuickPick(choices, { placeHolder });
    if (choice !== undefined) await this.set(kind, choice.id);
  }

  async set(kind: Kind, id: string): Promise<void> {
    await this.memory.update(`timeline.${kind}`, id);
    this.tell();
    await this.refresh();
  }

  private chosen(kind: Kind): string | undefined {
    return this.memory.get<string>(`timeline.${kind}`);
  }

  private tell(): void {
    const isFiltered = (this.chosen("only") ?? "all") !== "all";
    void commands.executeCommand("setContext", "hookwire.filtered", isFiltered);
  }

  protected async ask(): Promise<Data | undefined> {
    const data = await this.server.ask("hookwire.events", { limit: LIMIT, ...this.wanted() });
    this.tree.description = data?.summary ?? "";
    return data;
  }

  private wanted(): { only?: string; by?: string } {
    const [only, by] = [this.chosen("only"), this.chosen("by")];
    return { ...(only !== undefined && { only }), ...(by !== undefined && { by }) };
  }

  protected top({ events, groups }: Data): Node[] {
    if (groups.length === 0) return events.map((event) => ({ kind: "event", event }));
    return groups.map((group) => ({ kind: "group", group, events: group.events.flatMap((it) => events[it] ?? []) }));
  }

  protected under(node: Node): Node[] {
    switch (node.kind) {
      case "group":
        return node.events.map((event) => ({ kind: "event", event }));
      case "event":
        return node.event.outcomes.map((outcome, place) => ({ kind: "outcome", event: node.event, outcome, place }));
      case "outcome":
        return [];
    }
  }

  override getTreeItem(node: Node): TreeItem {
    if (node.kind === "group") {
      const { label, summary, tone } = node.group;
      const item = new TreeItem(label, Collapsible.Expanded);
      item.id = `group|${label}`;
      item.description = summary;
      if (tone !== "none") item.iconPath = themed(items.toneIcon(tone));
      return item;
    }
    const { event } = node;
    const open = { command: "hookwire.showEvent", title: "Show the verdict", arguments: [node] };
    if (node.kind === "outcome") {
      const item = new TreeItem(node.outcome.hook);
      item.id = `${idOf(event)}:${node.place}`;
      item.description = node.outcome.summary;
      item.tooltip = node.outcome.error ?? node.outcome.reason ?? item.description;
      item.iconPath = themed(items.toneIcon(node.outcome.tone));
      item.contextValue = "outcome";
      item.command = open;
      return item;
    }
    const item = new TreeItem(event.label, event.outcomes.length > 0 ? Collapsible.Collapsed : Collapsible.None);
    item.id = idOf(event);
    item.description = items.eventDescription(event);
    item.tooltip = new MarkdownString(event.tooltip);
    item.iconPath = themed(items.toneIcon(event.tone));
    item.contextValue = "event";
    item.command = open;
    return item;
  }
}

function pickable({ id, label, isChosen, note }: Choice): QuickPickItem & { id: string } {
  return { id, label: `${isChosen ? "$(check)" : "$(blank)"} ${label}`, ...(note !== undefined && { description: note }) };
}

function idOf({ host, seq }: JudgedEvent): string {
  return `${host}:${seq}`;
}
