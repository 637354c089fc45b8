// Both views are one of these: a tree of the server's last answer, which is asked for again when it may have changed.

import { EventEmitter, ThemeColor, ThemeIcon, window, type TreeDataProvider, type TreeItem, type TreeView } from "vscode";
import type { Server } from "./client";
import type { Icon } from "./items";

export abstract class View<Node, Data> implements TreeDataProvider<Node> {
  private readonly changes = new EventEmitter<void>();
  readonly onDidChangeTreeData = this.changes.event;
  readonly tree: TreeView<Node>;
  protected data: Data | undefined;

  constructor(id: string, protected readonly server: Server) {
    this.tree = window.createTreeView(id, { treeDataProvider: this, showCollapseAll: true });
    server.onDidChange(() => this.refresh());
    // What has changed while nobody looked.
    this.tree.onDidChangeVisibility(() => this.refresh());
  }

  protected abstract ask(): Promise<Data | undefined>;
  protected abstract top(data: Data): Node[];
  protected abstract under(node: Node): Node[];
  abstract getTreeItem(node: Node): TreeItem;

  /** Asks before it lets the tree be drawn again: a tree that waits shows that it does, at every event. */
  async refresh(): Promise<void> {
    const data = this.tree.visible ? await this.ask() : undefined;
    if (this.tree.visible && JSON.stringify(data) === JSON.stringify(this.data)) return;
    this.data = data;
    this.redraw();
  }

  protected redraw(): void {
    this.changes.fire();
  }

  async getChildren(node?: Node): Promise<Node[]> {
    if (node !== undefined) return this.under(node);
    if (this.data === undefined) {
      await this.server.ensure();
      this.data = await this.ask();
    }
    return this.data === undefined ? [] : this.top(this.data);
  }
}

/** An icon as the editor wants it. */
export function themed({ id, color }: Icon): ThemeIcon {
  return new ThemeIcon(id, color === undefined ? undefined : new ThemeColor(color));
}
