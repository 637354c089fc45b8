// hookwire in the editor: a language client, two views, a panel and a status bar.

import { languages, window, workspace, type ExtensionContext } from "vscode";
import { isWanted, selector, Server } from "./client";
import * as commands from "./commands";
import { HooksView } from "./hooks";
import { ResultView } from "./result";
import * as status from "./status";
import { Timeline } from "./timeline";

/** Settings that take a new server. */
const RESTARTING = ["hookwire.server", "hookwire.definitions", "hookwire.log"];

let active: Server | undefined;

export async function activate(context: ExtensionContext): Promise<void> {
  const output = window.createOutputChannel("hookwire", { log: true });
  const result = new ResultView();
  const server = (active = new Server(context, output, (report) => result.show(report)));
  const restart = () => (server.stage === "idle" ? undefined : server.restart());
  const hooks = new HooksView(server, context.workspaceState);
  const timeline = new Timeline(server, context.workspaceState);
  commands.register(context, server, { hooks, timeline, result });

  context.subscriptions.push(
    output,
    hooks.tree,
    timeline.tree,
    window.registerWebviewViewProvider(ResultView.id, result),
    status.create(server),
    workspace.onDidOpenTextDocument((it) => languages.match(selector(), it) > 0 && server.ensure()),
    // Settings of a folder count once it is trusted.
    workspace.onDidGrantWorkspaceTrust(restart),
    workspace.onDidChangeConfiguration((it) => RESTARTING.some((name) => it.affectsConfiguration(name)) && restart()),
  );
  if (await isWanted()) await server.ensure();
}

/** The editor waits for this, so that no server outlives it. */
export function deactivate(): Promise<void> | undefined {
  return active?.stop();
}
