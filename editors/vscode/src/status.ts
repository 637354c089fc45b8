// The status bar: attached hosts and hooks, or what is wrong.

import { MarkdownString, StatusBarAlignment, ThemeColor, window, type StatusBarItem } from "vscode";
import type { Server } from "./client";
import { bar, type Bar } from "./items";

export function create(server: Server): StatusBarItem {
  const item = window.createStatusBarItem("hookwire", StatusBarAlignment.Left);
  item.name = "hookwire";
  item.command = "hookwire.menu";
  const show = () => {
    const { text, tooltip, background } = barOf(server);
    item.text = text;
    item.tooltip = new MarkdownString(tooltip);
    item.backgroundColor = background === undefined ? undefined : new ThemeColor(background);
    if (server.stage === "idle") item.hide();
    else item.show();
  };
  server.onDidChange(show);
  return item;
}

function barOf({ stage, status, problem }: Server): Bar {
  if (stage === "stopped") {
    const background = "statusBarItem.errorBackground";
    return { text: "$(shield) hookwire: stopped", tooltip: problem ?? "the server isn't running", background };
  }
  if (stage !== "running" || status === undefined) {
    return { text: "$(loading~spin) hookwire", tooltip: "the server is starting" };
  }
  return bar(status);
}
