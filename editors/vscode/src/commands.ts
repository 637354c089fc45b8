// The extension's commands. The server's own commands (`hookwire.run`, ...) are registered by the
// language client.

import { commands, env, languages, Uri, version, window, workspace, type ExtensionContext } from "vscode";
import starter from "../../../src/cli/starter.yaml";
import { report, selector, type Server } from "./client";
import type { HookNode, HooksView } from "./hooks";
import type { ResultView } from "./result";
import type { EventNode, OutcomeNode, Timeline } from "./timeline";
import type { Commands, Hook } from "./wire";

export interface Views {
  hooks: HooksView;
  timeline: Timeline;
  result: ResultView;
}

export function register(context: ExtensionContext, server: Server, { hooks, timeline, result }: Views): void {
  const handlers: Record<string, (...args: never[]) => unknown> = {
    newDefinitions,
    runHook: (node?: HookNode) => withHook(server, node, "hookwire.run"),
    explainHook: (node?: HookNode) => withHook(server, node, "hookwire.explain"),
    trustDefinitions: () => trustDefinitions(server),
    showMatches: (node?: HookNode) => withHook(server, node, "hookwire.matches"),
    runOnEvent: (node?: EventNode | OutcomeNode) => runOnEvent(server, node),
    showEvent: async (node?: EventNode | OutcomeNode) => {
      const told = node && (await server.ask("hookwire.event", { host: node.event.host, seq: node.event.seq }));
      if (told !== undefined) await result.show(told.report);
    },
    filterEvents: () => timeline.choose("only"),
    groupEvents: () => timeline.choose("by"),
    showAllEvents: () => timeline.set("only", "all"),
    hooksByFile: () => hooks.group(false),
    hooksByEvent: () => hooks.group(true),
    copyEvent: (node?: EventNode) => node && env.clipboard.writeText(`${JSON.stringify(node.event, null, 2)}\n`),
    showTimeline: () => commands.executeCommand("hookwire.events.focus"),
    reloadHosts: () => reloadHosts(server),
    restart: () => server.restart(),
    showOutput: () => server.output.show(),
    copyReport: async () => {
      await env.clipboard.writeText(report(server, context, { name: env.appName, version }));
      void window.showInformationMessage("The report is on the clipboard.");
    },
    howTo: () =>
      server.showProgress(() =>
        commands.executeCommand("workbench.action.openWalkthrough", `${context.extension.id}#start`, false),
      ),
    menu: () => menu(context),
  };
  for (const [name, handler] of Object.entries(handlers)) {
    context.subscriptions.push(commands.registerCommand(`hookwire.${name}`, handler));
  }
}

async function newDefinitions(): Promise<void> {
  const folder =
    (workspace.workspaceFolders?.length ?? 0) > 1
      ? await window.showWorkspaceFolderPick()
      : workspace.workspaceFolders?.[0];
  if (folder === undefined) {
    await window.showInformationMessage("Open the folder of an agent's project first.");
    return;
  }
  const directory = Uri.joinPath(folder.uri, ".hookwire");
  const isFirst = await workspace.fs.readDirectory(directory).then((it) => it.length === 0, () => true);
  let [uri, name] = [Uri.joinPath(directory, "hooks.yaml"), "new-guard"];
  for (let n = 2; await exists(uri); n++) {
    [uri, name] = [Uri.joinPath(directory, `hooks-${n}.yaml`), `new-guard-${n}`];
  }
  await workspace.fs.writeFile(uri, new TextEncoder().encode(isFirst ? starter : firstGuard(starter, name)));
  await window.showTextDocument(uri);
}

/** Beside others, a file with all the names of the starter would be one of duplicates. */
function firstGuard(text: string, name: string): string {
  const [head = "", guards = ""] = text.split(/(?<=^hooks:\n)/m);
  const [guard = ""] = guards.split(/\n\n/);
  return `${head}${guard.replace(/name: .*/, `name: ${name}`)}\n`;
}

async function exists(uri: Uri): Promise<boolean> {
  return workspace.fs.stat(uri).then(
    () => true,
    () => false,
  );
}

/** Has the server show what is to be trusted, of the file at hand if it is a definition, and ask. */
async function trustDefinitions(server: Server): Promise<void> {
  await server.ensure();
  const document = window.activeTextEditor?.document;
  const isDefinition = document !== undefined && languages.match(selector(), document) > 0;
  await commands.executeCommand("hookwire.trust", isDefinition ? { uri: document.uri.toString() } : {});
}

/** Has the server do something with a hook; it tells what came of it. */
async function withHook(server: Server, node: HookNode | undefined, command: string): Promise<void> {
  const hook = node?.hook ?? (await pick(server));
  if (hook !== undefined) await commands.executeCommand(command, { uri: hook.uri, hook: hook.name });
}

async function runOnEvent(server: Server, node: EventNode | OutcomeNode | undefined): Promise<void> {
  if (node === undefined) return;
  const { event, host, seq, outcomes } = node.event;
  const hooks = await allHooks(server, { event: { host, seq } });
  // The hooks that judged it come first.
  const judged = new Set(outcomes.map((it) => it.hook));
  const sorted = hooks.toSorted((a, b) => Number(judged.has(b.name)) - Number(judged.has(a.name)));
  const hook =
    node.kind === "outcome"
      ? hooks.find((it) => it.name === node.outcome.hook)
      : await pickOf(sorted, `Which hook is to be run on this ${event}?`, `No hook here is for ${event}.`);
  if (hook !== undefined) {
    await commands.executeCommand("hookwire.run", { uri: hook.uri, hook: hook.name, event: { host, seq } });
  } else if (node.kind === "outcome") {
    void window.showInformationMessage(`No definition file has a hook named ${node.outcome.hook}.`);
  }
}

async function pick(server: Server): Promise<Hook | undefined> {
  await server.ensure();
  const hooks = await allHooks(server);
  // The one that the cursor is in comes first.
  const editor = window.activeTextEditor;
  const isAtCursor = ({ uri, range }: Hook) => {
    const line = editor?.selection.active.line ?? -1;
    return uri === editor?.document.uri.toString() && range.start.line <= line && line <= range.end.line;
  };
  return pickOf(hooks.toSorted((a, b) => Number(isAtCursor(b)) - Number(isAtCursor(a))), "Which hook?", "No hooks are in force here.");
}

async function pickOf(hooks: Hook[], placeHolder: string, none: string): Promise<Hook | undefined> {
  if (hooks.length === 0) {
    void window.showInformationMessage(none);
    return undefined;
  }
  const choices = hooks.map((hook) => ({ label: hook.name, description: hook.notes.join(" · "), hook }));
  return (await window.showQuickPick(choices, { placeHolder, matchOnDescription: true }))?.hook;
}

/** Those that are in files. */
async function allHooks(server: Server, of: Commands["hookwire.hooks"]["argument"] = {}): Promise<Hook[]> {
  const roots = (await server.ask("hookwire.hooks", of))?.roots ?? [];
  return roots.flatMap((root) => root.hooks).filter((it) => it.uri !== null);
}

async function reloadHosts(server: Server): Promise<void> {
  const answer = await server.ask("hookwire.reload", {});
  if (answer !== undefined) void window.showInformationMessage(answer.summary);
}

const MENU = ["showTimeline", "runHook", "explainHook", "newDefinitions", "trustDefinitions", "reloadHosts", "restart", "showOutput", "copyReport", "howTo"];

/** Titles and icons are those of package.json. */
async function menu({ extension }: ExtensionContext): Promise<void> {
  const known: { command: string; title: string; icon: string }[] = extension.packageJSON.contributes.commands;
  const choices = MENU.flatMap((name) => known.filter((it) => it.command === `hookwire.${name}`)).map(
    ({ command, title, icon }) => ({ label: `${icon} ${title}`, command }),
  );
  choices.splice(5, 0, { label: "$(warning) Show problems", command: "workbench.actions.view.problems" });
  const choice = await window.showQuickPick(choices, { placeHolder: "hookwire" });
  if (choice !== undefined) await commands.executeCommand(choice.command);
}
