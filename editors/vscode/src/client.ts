// The language client: finds the server, starts it, and asks it.

import { commands, env, EventEmitter, languages, ProgressLocation, RelativePattern, window, workspace } from "vscode";
import type { ExtensionContext, LogOutputChannel } from "vscode";
import { ExecuteCommandRequest, LanguageClient, State, type StaticFeature } from "vscode-languageclient/node";
import { createInterface } from "node:readline";
import { logLine } from "./items";
import { checkedVersion, find, NoServer, type Found } from "./server";
import { WIRE_VERSION, type Commands, type Report, type Status } from "./wire";

const DEFINITIONS = "**/.hookwire/**/*.{yaml,yml,toml,json}";

type Experimental = { hookwire?: { version?: number } } | undefined;

/** `idle` until there is something to do. */
export type Stage = "idle" | "starting" | "running" | "stopped";

export class Server {
  stage: Stage = "idle";
  found: Found | undefined;
  version: string | undefined;
  status: Status | undefined;
  /** Why there is no server. */
  problem: string | undefined;

  private client: LanguageClient | undefined;
  private readonly changes = new EventEmitter<void>();
  /** The stage or the status is another. */
  readonly onDidChange = this.changes.event;
  /** One start or stop after the other. */
  private last: Promise<void> = Promise.resolve();

  constructor(
    private readonly context: ExtensionContext,
    readonly output: LogOutputChannel,
    private readonly show: (report: Report) => Promise<void>,
  ) {
    context.subscriptions.push(this.changes);
  }

  /** Starts the server unless that was done or tried already. */
  async ensure(): Promise<void> {
    if (this.stage === "idle") await this.restart();
    else await this.last;
  }

  restart(): Promise<void> {
    this.last = this.last.then(() => this.replace());
    return this.last;
  }

  /** Ends the server; done when it has ended. */
  async stop(): Promise<void> {
    await this.last;
    const client = this.client;
    this.client = undefined;
    // It may have ended by itself.
    await client?.dispose().catch(() => undefined);
  }

  /** Asks the server. Without one there is no answer; the views and the status bar tell why. */
  async ask<Name extends keyof Commands>(
    command: Name,
    argument: Commands[Name]["argument"],
  ): Promise<Commands[Name]["result"] | undefined> {
    if (this.client === undefined || this.stage !== "running") return undefined;
    try {
      const answer: unknown = await this.client.sendRequest(ExecuteCommandRequest.type, { command, arguments: [argument] });
      return (answer ?? undefined) as Commands[Name]["result"] | undefined;
    } catch (error) {
      this.output.error(`${command}: ${error instanceof Error ? error.message : String(error)}`);
      return undefined;
    }
  }

  private become(stage: Stage): void {
    this.stage = stage;
    void commands.executeCommand("setContext", "hookwire.state", stage);
    this.tellProgress(true);
    this.changes.fire();
  }

  // VS Code marks a step of the walkthrough as done when its condition becomes true while the walkthrough is known, and
  // not when it is true already.
  async showProgress(open: () => Thenable<unknown>): Promise<void> {
    this.tellProgress(false);
    await open();
    this.tellProgress(true);
  }

  private tellProgress(isTold: boolean): void {
    const isAttached = (this.status?.hosts.length ?? 0) > 0;
    void commands.executeCommand("setContext", "hookwire.serverRuns", isTold && this.stage === "running");
    void commands.executeCommand("setContext", "hookwire.agentSeen", isTold && isAttached);
  }

  private showStatus(status: Status | undefined): void {
    this.status = status;
    void commands.executeCommand("setContext", "hookwire.attached", (status?.hosts.length ?? 0) > 0);
    this.tellProgress(true);
    this.changes.fire();
  }

  private async replace(): Promise<void> {
    await this.client?.dispose();
    this.client = undefined;
    this.problem = this.found = this.version = this.status = undefined;
    this.become("starting");
    try {
      this.found = await find({
        setting: workspace.getConfiguration("hookwire").get("server.path", "").trim(),
        extension: this.context.extensionPath,
        path: process.env["PATH"] ?? "",
      });
      this.version = await checkedVersion(this.found.path, minimumServer(this.context));
      this.output.info(`Starting hookwire ${this.version}: ${this.found.path} (${this.found.source}).`);
      const client = (this.client = this.made(this.found.path));
      await client.start();
      const said = client.initializeResult?.capabilities.experimental as Experimental;
      if ((said?.hookwire?.version ?? 0) < WIRE_VERSION) {
        throw new NoServer(`${this.found.path} is no language server yet; this extension needs a newer hookwire`);
      }
      this.showStatus(await this.ask("hookwire.status", {}));
    } catch (error) {
      const client = this.client;
      this.client = undefined;
      await client?.dispose().catch(() => undefined);
      this.problem = error instanceof Error ? error.message : String(error);
      this.output.error(this.problem);
      this.become("stopped");
      void this.complain(this.problem, error instanceof NoServer);
    }
  }

  private made(command: string): LanguageClient {
    const settings = workspace.getConfiguration("hookwire");
    const folder = workspace.workspaceFolders?.find((it) => it.uri.scheme === "file");
    const args = ["--log", settings.get("log", "warn"), "serve", ...settings.get<string[]>("server.extraArgs", [])];
    const run = { command, args, options: folder === undefined ? {} : { cwd: folder.uri.fsPath } };
    const client: LanguageClient = new LanguageClient("hookwire", "hookwire", { run, debug: run }, {
      documentSelector: selector(),
      outputChannel: this.output,
      stdioOptions: {
        stdout: () => undefined,
        stderr: (input) => createInterface({ input }).on("line", (line) => this.log(line)),
      },
      middleware: {
        // Not with `next`: that shows a failure in a message of its own, with the request's name and code, beside VS Code's.
        executeCommand: (command, args) =>
          isRefused(command)
            ? undefined
            : this.report(command, () => client.sendRequest("workspace/executeCommand", { command, arguments: args })),
      },
    });
    const live: StaticFeature = {
      fillClientCapabilities: (capabilities) => {
        capabilities.experimental = { ...capabilities.experimental, hookwire: { live: true, panel: true } };
      },
      initialize: () => undefined,
      getState: () => ({ kind: "static" }),
      clear: () => undefined,
    };
    client.registerFeature(live);
    client.onNotification("hookwire/live", (status: Status) => this.showStatus(status));
    client.onDidChangeState(({ newState }) => {
      if (client !== this.client) return;
      if (newState === State.Running) this.become("running");
      if (newState === State.Stopped) this.become("stopped");
    });
    return client;
  }

  /** Has what came of a command shown in the panel. */
  private async report(command: string, execute: () => unknown): Promise<unknown> {
    const run = async () => (await execute()) as { report?: Report } | undefined;
    const isLong = command === "hookwire.run";
    const options = { location: ProgressLocation.Window, title: "$(loading~spin) running the hook" };
    const result = await (isLong ? window.withProgress(options, run) : run());
    if (result?.report !== undefined) await this.show(result.report);
    return result;
  }

  private log(line: string): void {
    const { level, text } = logLine(line);
    this.output[level](text);
  }

  private async complain(problem: string, isAboutServer: boolean): Promise<void> {
    const [settings, howTo, output] = ["Open settings", "How to install", "Show output"];
    const action = await window.showErrorMessage(problem, ...(isAboutServer ? [settings, howTo] : [output]));
    if (action === settings) await commands.executeCommand("workbench.action.openSettings", "hookwire.server");
    if (action === howTo) await commands.executeCommand("hookwire.howTo");
    if (action === output) this.output.show();
  }
}

/** Which files are definitions, whatever their language is called. */
export function selector(): { scheme: string; pattern: string }[] {
  const globs = workspace.getConfiguration("hookwire").get<string[]>("definitions", []);
  return [DEFINITIONS, ...globs].map((pattern) => ({ scheme: "file", pattern }));
}

/** Whether somebody here writes hooks. */
export async function isWanted(): Promise<boolean> {
  if (workspace.textDocuments.some((it) => languages.match(selector(), it) > 0)) return true;
  const folders = workspace.workspaceFolders ?? [];
  const files = folders.map((it) => workspace.findFiles(new RelativePattern(it, DEFINITIONS), undefined, 1));
  return (await Promise.all(files)).some((it) => it.length > 0);
}

/** The oldest server that works, from `minimumServer` in package.json. */
export function minimumServer({ extension }: ExtensionContext): string {
  return (extension.packageJSON as { hookwire: { minimumServer: string } }).hookwire.minimumServer;
}

/** A folder that nobody trusts runs nothing. */
function isRefused(command: string): boolean {
  const refused = { "hookwire.run": "Hooks are run", "hookwire.trust": "Definitions are put in force" }[command];
  if (refused === undefined || workspace.isTrusted) return false;
  const trust = "Manage trust";
  void window.showWarningMessage(`${refused} once this folder is trusted: they may start programs.`, trust).then(
    (action) => action === trust && commands.executeCommand("workbench.trust.manage"),
  );
  return true;
}

/** The text that people paste into a report. */
export function report(server: Server, context: ExtensionContext, editor: { name: string; version: string }): string {
  const settings = workspace.getConfiguration("hookwire");
  const names = ["server.path", "server.extraArgs", "definitions", "log", "trace.server"];
  const { version } = context.extension.packageJSON as { version: string };
  return [
    `extension: ${version}, needs hookwire ${minimumServer(context)}`,
    `editor: ${editor.name} ${editor.version}, ${process.platform} ${process.arch}${env.remoteName ? `, ${env.remoteName}` : ""}`,
    `server: ${server.stage}${server.problem ? `: ${server.problem}` : ""}`,
    `program: ${server.found ? `${server.found.path} (${server.found.source}), ${server.version ?? "unknown version"}` : "none"}`,
    `workspace: ${workspace.workspaceFolders?.length ?? 0} folders, ${workspace.isTrusted ? "trusted" : "not trusted"}`,
    ...names.map((name) => `hookwire.${name}: ${JSON.stringify(settings.get(name))}`),
    `status: ${JSON.stringify(server.status ?? null)}`,
    "",
  ].join("\n");
}
