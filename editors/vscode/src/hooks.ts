// The tree of hooks: file by file as they are written, with what each has done; or event by event, in order of running.

import {
  commands, MarkdownString, Position, Range, ThemeIcon, TreeItem, TreeItemCollapsibleState as Collapsible, Uri, type Memento,
} from "vscode";
import { basename } from "node:path";
import type { Server } from "./client";
import { hookIcon, toneIcon } from "./items";
import { themed, View } from "./view";
import type { Broken, File, Group, Hook, Root } from "./wire";

type RootNode = { kind: "root"; root: Root };
type FileNode = { kind: "file"; root: Root; file: File };
type GroupNode = { kind: "group"; root: Root; group: Group };
type BrokenNode = { kind: "broken"; parent: string; uri: string | null; broken: Broken };
export type HookNode = { kind: "hook"; parent: string; description: string; hook: Hook };
type Node = RootNode | FileNode | GroupNode | BrokenNode | HookNode;

const BY_EVENT = "hooks.byEvent";

export class HooksView extends View<Node, Root[]> {
  constructor(server: Server, private readonly memory: Memento) {
    super("hookwire.hooks", server);
    this.tell();
  }

  async group(isByEvent: boolean): Promise<void> {
    await this.memory.update(BY_EVENT, isByEvent);
    this.tell();
    this.redraw();
  }

  private get isByEvent(): boolean {
    return this.memory.get(BY_EVENT, false);
  }

  private tell(): void {
    void commands.executeCommand("setContext", "hookwire.hooksByEvent", this.isByEvent);
  }

  protected async ask(): Promise<Root[] | undefined> {
    return (await this.server.ask("hookwire.hooks", {}))?.roots.filter((it) => it.files.length > 0);
  }

  protected top(roots: Root[]): Node[] {
    const [only] = roots;
    return roots.length === 1 && only ? this.of(only) : roots.map((root) => ({ kind: "root", root }));
  }

  private of(root: Root): Node[] {
    return this.isByEvent
      ? root.groups.map((group) => ({ kind: "group", root, group }))
      : root.files.map((file) => ({ kind: "file", root, file }));
  }

  protected under(node: Node): Node[] {
    switch (node.kind) {
      case "root":
        return this.of(node.root);
      case "file": {
        const { root, file } = node;
        const parent = idOf(node);
        return [
          ...file.broken.map((broken): Node => ({ kind: "broken", parent, uri: file.uri, broken })),
          ...hooks(root, file.hooks).map((hook): Node => ({ kind: "hook", parent, description: hook.notes.join(" · "), hook })),
        ];
      }
      case "group": {
        const { root, group } = node;
        const parent = idOf(node);
        return hooks(root, group.hooks).map((hook, n) => ({ kind: "hook", parent, description: group.places[n] ?? "", hook }));
      }
      default:
        return [];
    }
  }

  override getTreeItem(node: Node): TreeItem {
    switch (node.kind) {
      case "root": {
        const item = new TreeItem(basename(node.root.root), Collapsible.Expanded);
        item.tooltip = node.root.root;
        item.iconPath = new ThemeIcon("root-folder");
        item.description = node.root.summary;
        item.id = idOf(node);
        return item;
      }
      case "file":
      case "group": {
        const { label, summary } = node.kind === "file" ? node.file : { label: node.group.event, summary: node.group.summary };
        const item = new TreeItem(label, Collapsible.Expanded);
        item.description = summary;
        item.id = idOf(node);
        return item;
      }
      case "broken": {
        const { broken, uri } = node;
        const item = new TreeItem(broken.label);
        item.id = `${node.parent}|broken|${broken.name ?? ""}`;
        item.description = broken.message;
        item.iconPath = themed(toneIcon("error"));
        item.tooltip = new MarkdownString(broken.tooltip);
        if (uri !== null) item.command = opening(uri, broken.range.start);
        return item;
      }
      case "hook": {
        const { hook } = node;
        const { uri, range, name } = hook;
        const item = new TreeItem(hook.label);
        item.id = [node.parent, uri, range.start.line, range.start.character, name].join("|");
        item.description = node.description;
        item.iconPath = themed(hookIcon(hook));
        item.tooltip = new MarkdownString(hook.tooltip);
        if (uri === null) return item;
        item.tooltip.appendMarkdown("\n\n").appendText(Uri.parse(uri).fsPath);
        item.contextValue = "hook";
        item.command = opening(uri, range.start);
        return item;
      }
    }
  }
}

function idOf(node: RootNode | FileNode | GroupNode): string {
  const { root } = node.root;
  return node.kind === "root" ? root : `${root}|${node.kind === "file" ? node.file.uri : node.group.event}`;
}

function hooks(root: Root, places: number[]): Hook[] {
  return places.flatMap((it) => root.hooks[it] ?? []);
}

function opening(uri: string, { line, character }: { line: number; character: number }) {
  const start = new Position(line, character);
  return { command: "vscode.open", title: "Open definition", arguments: [Uri.parse(uri), { selection: new Range(start, start) }] };
}
