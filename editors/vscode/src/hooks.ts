// The tree of hooks: event by event, in order of running.

import { MarkdownString, Position, Range, ThemeIcon, TreeItem, TreeItemCollapsibleState as Collapsible, Uri } from "vscode";
import { basename } from "node:path";
import { hookDescription, hookIcon } from "./items";
import { themed, View } from "./view";
import { groupsOf, type Hook, type HookGroup, type Root } from "./wire";

type RootNode = { kind: "root"; root: Root };
type GroupNode = { kind: "group"; root: Root; group: HookGroup };
export type HookNode = { kind: "hook"; id: string; hook: Hook };
type Node = RootNode | GroupNode | HookNode;

export class HooksView extends View<Node, Root[]> {
  protected async ask(): Promise<Root[] | undefined> {
    return (await this.server.ask("hookwire.hooks", {}))?.roots.filter((it) => it.hooks.length > 0);
  }

  protected top(roots: Root[]): Node[] {
    const [only] = roots;
    return roots.length === 1 && only ? groups(only) : roots.map((root) => ({ kind: "root", root }));
  }

  protected under(node: Node): Node[] {
    switch (node.kind) {
      case "root":
        return groups(node.root);
      case "group":
        return node.group.hooks.map((hook) => ({ kind: "hook", id: idOf(node, hook), hook }));
      case "hook":
        return [];
    }
  }

  override getTreeItem(node: Node): TreeItem {
    switch (node.kind) {
      case "root": {
        const item = new TreeItem(basename(node.root.root), Collapsible.Expanded);
        item.id = node.root.root;
        item.tooltip = node.root.root;
        item.iconPath = new ThemeIcon("root-folder");
        item.description = node.root.summary;
        return item;
      }
      case "group": {
        const item = new TreeItem(node.group.event, Collapsible.Expanded);
        item.id = `${node.root.root}|${node.group.event}`;
        item.description = node.group.summary;
        return item;
      }
      case "hook": {
        const { hook } = node;
        const item = new TreeItem(hook.name);
        item.id = node.id;
        item.description = hookDescription(hook);
        item.iconPath = themed(hookIcon(hook));
        item.tooltip = new MarkdownString(hook.tooltip);
        if (hook.uri === null) return item;
        const uri = Uri.parse(hook.uri);
        item.tooltip.appendMarkdown("\n\n").appendText(uri.fsPath);
        item.contextValue = "hook";
        const { line, character } = hook.range.start;
        const start = new Position(line, character);
        const options = { selection: new Range(start, start) };
        item.command = { command: "vscode.open", title: "Open definition", arguments: [uri, options] };
        return item;
      }
    }
  }
}

function groups(root: Root): GroupNode[] {
  return groupsOf(root).map((group) => ({ kind: "group", root, group }));
}

function idOf({ root, group }: GroupNode, { uri, range, name }: Hook): string {
  return [root.root, group.event, uri, range.start.line, range.start.character, name].join("|");
}
