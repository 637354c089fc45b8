// hookwire in the editor: a language client, two views and a status bar.

import { languages, window, workspace, type ExtensionContext } from "vscode";
import { isWanted, selector, Server } from "./client";
import * as commands from "./commands";
import { HooksView } from "./hooks";
import * as schema from "./schema";
import * as status from "./status";
import { Timeline } from "./timeline";

/** Settings that take a new server. */
const RESTARTING = ["hookwire.server", "hookwire.definitions", "hookwire.log"];

export async function activate(context: ExtensionContext): Promise<void> {
  const output = window.createOutputChannel("hookwire", { log: true });
  const server = new Server(context, output);
  const restart = () => (server.stage === "idle" ? undefined : server.restart());
  commands.register(context, server);

  for (const [id, provider] of [
    ["hookwire.hooks", new HooksView(server)],
    ["hookwire.events", new Timeline(server)],
  ] as const) {
    const view = window.createTreeView<unknown>(id, { treeDataProvider: provider, showCollapseAll: true });
    server.onDidChange(() => provider.refresh(view.visible));
    context.subscriptions.push(view);
  }

  context.subscriptions.push(
    output,
    status.create(server),
    schema.provide(server, context.extensionUri),
    workspace.onDidOpenTextDocument((it) => languages.match(selector(), it) > 0 && server.ensure()),
    // The server learns only at its start which folders there are and whether they are trusted.
    workspace.onDidChangeWorkspaceFolders(restart),
    workspace.onDidGrantWorkspaceTrust(restart),
    workspace.onDidChangeConfiguration((it) => RESTARTING.some((name) => it.affectsConfiguration(name)) && restart()),
  );
  if (await isWanted()) await server.ensure();
}
