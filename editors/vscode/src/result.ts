// The panel that tells what came of a hook or an event.

import { commands, type WebviewView, type WebviewViewProvider } from "vscode";
import { randomUUID } from "node:crypto";
import { page } from "./report";
import type { Report } from "./wire";

const ID = "hookwire.result";

export class ResultView implements WebviewViewProvider {
  static readonly id = ID;
  private view: WebviewView | undefined;
  private report: Report | undefined;

  resolveWebviewView(view: WebviewView): void {
    this.view = view;
    view.onDidDispose(() => (this.view = undefined));
    this.draw();
  }

  async show(report: Report): Promise<void> {
    this.report = report;
    this.draw();
    if (this.view === undefined) await commands.executeCommand(`${ID}.focus`, { preserveFocus: true });
    else this.view.show(true);
  }

  private draw(): void {
    if (this.view !== undefined) this.view.webview.html = page(this.report, randomUUID());
  }
}
