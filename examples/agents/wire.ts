// The client that an agent needs: the host, and `fire`. Copy it unchanged.

import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";

const HOOKWIRE = process.env.HOOKWIRE ?? "hookwire";
const PATIENCE = Number(process.env.PATIENCE ?? 5); // seconds for a verdict

// The member that hooks may rewrite at each event.
const SUBJECTS: Data = {
  UserPromptSubmit: "prompt",
  RunStart: "prompt",
  RunEnd: "result",
  RunError: "result",
  StepEnd: "lastMessage",
  PreModelCall: "model.request",
  PostModelCall: "model.response",
  PreToolUse: "tool.input",
  PostToolUse: "tool.output",
  PostToolUseFailure: "tool.output",
  PermissionRequest: "tool.input",
  SubagentStart: "prompt",
  SubagentStop: "lastMessage",
  PreCompact: "compaction",
  Stop: "lastMessage",
};
// A run that a hook has ended starts none of these.
const ACTS = ["StepStart", "PreCompact", "PreModelCall", "PreToolUse", "PermissionRequest", "SubagentStop", "Stop"];
// These events only inform hooks; they can't be refused.
const NOTES = ["PermissionDenied", "PostCompact", "Checkpoint", "Notification", "SessionEnd"];

type Data = Record<string, any>;
export type Call = { callId: string; name: string; input: Record<string, string> };
export type Message =
  | { role: "user"; content: string }
  | { role: "assistant"; content: string; calls: Call[] }
  | { role: "tool"; callId: string; content: string };
export type Usage = { inputTokens: number; outputTokens: number };
export type Retry = { action: "retry" | "fail" | "fallback"; afterMs?: number; model?: string };
type Verdict = {
  decision: "allow" | "deny" | "ask" | "defer";
  reason?: string;
  decidedBy?: string;
  subject?: any;
  stop?: string;
  userMessages?: string[];
  additionalContext?: string[];
  context?: Data;
  retry?: Retry;
};

/** A hook's refusal. It is an answer, so nothing here treats it as a failure. */
export class Refused extends Error {}

/** The reason of a refusal. Other errors are thrown again. */
export function refusal(error: unknown): string {
  if (error instanceof Refused) return error.message;
  throw error;
}

/** An agent's state that hooks see and may change. */
export class Hooked {
  context: { metadata: Data; systemPrompt: string; messages: Message[] };
  notes: string[] = []; // messages of hooks to the model
  tokens = 0; // read by the model in its last call
  step = 0;
  usage: Usage = { inputTokens: 0, outputTokens: 0 };
  ending: string | undefined;
  readonly host: Host;
  readonly name: string;
  runId: string | undefined;
  readonly parent: Hooked | undefined;

  constructor(host: Host, name: string, runId?: string, parent?: Hooked) {
    [this.host, this.name, this.runId, this.parent] = [host, name, runId, parent];
    this.context = { metadata: {}, systemPrompt: `You are ${name}.`, messages: [] };
  }

  begin(runId?: string): void {
    [this.runId, this.step, this.ending] = [runId, 0, undefined];
    this.usage = { inputTokens: 0, outputTokens: 0 };
  }

  get messages(): Message[] {
    return this.context.messages;
  }

  addNotes(): void {
    for (const content of this.notes.splice(0)) this.messages.push({ role: "user", content });
  }

  count(usage: Usage): void {
    this.tokens = usage.inputTokens;
    this.usage.inputTokens += usage.inputTokens;
    this.usage.outputTokens += usage.outputTokens;
  }

  /** Sends an event; returns the verdict with `data` as hooks changed it. A refusal is Refused. */
  async fire<T extends Data>(event: string, data: T): Promise<Verdict & T> {
    if (this.ending !== undefined && ACTS.includes(event)) throw new Refused(this.ending);
    if (event === "StepStart") this.step += 1;
    const verdict = await this.host.judge({
      event,
      session: `s${process.pid}`,
      run: this.runId,
      parentRun: this.parent?.runId,
      step: this.step || undefined,
      agent: { name: this.name, parent: this.parent?.name },
      cwd: process.cwd(),
      metadata: this.context.metadata,
      ...data,
    });
    for (const text of verdict.userMessages ?? []) console.log(`[hook] ${text}`);
    this.notes.push(...(verdict.additionalContext ?? []));
    const { metadata, systemPrompt, messages, ...rest } = merged({ ...this.context, ...data }, verdict.context ?? {});
    this.context = { metadata: metadata ?? {}, systemPrompt: systemPrompt ?? "", messages: messages ?? [] };
    if (verdict.stop !== undefined) {
      // Refuses this act and whatever the run would do next.
      this.ending = verdict.reason = verdict.stop;
      verdict.decision = "deny";
    }
    if (verdict.decision !== "allow" && !NOTES.includes(event)) throw new Refused(verdict.reason ?? "a hook said no");
    if (event === "PermissionRequest" && verdict.decidedBy === undefined) {
      throw new Refused("nobody has allowed it"); // where your agent would ask its user
    }
    if ("subject" in verdict) {
      const [member, inner] = SUBJECTS[event].split(".");
      rest[member] = inner ? { ...rest[member], [inner]: verdict.subject } : verdict.subject;
    }
    return { ...data, ...verdict, ...rest };
  }
}

/** hookwire on two pipes. Without it every verdict is a deny, so that nothing runs unjudged. */
export class Host {
  problem: string | undefined;
  readonly process: ChildProcess;
  readonly lines: AsyncIterator<string>;

  constructor(args: string[]) {
    this.process = spawn(HOOKWIRE, ["serve", ...args], { stdio: ["pipe", "pipe", "inherit"] });
    this.process.on("error", (problem) => (this.problem = `hookwire did not start: ${problem.message}`));
    this.process.stdin!.on("error", () => {}); // the missing answer reports it
    this.lines = createInterface({ input: this.process.stdout! })[Symbol.asyncIterator]();
  }

  async judge(event: Data): Promise<Verdict> {
    if (!this.problem) {
      const deadlineMs = Math.trunc(PATIENCE * 800); // if a hook hangs, the host answers without it
      // If the host hangs, killing it ends the wait.
      const watchdog = setTimeout(() => this.process.kill("SIGKILL"), PATIENCE * 1000);
      try {
        const request = { jsonrpc: "2.0", id: 1, method: "hooks/dispatch", params: { ...event, deadlineMs } };
        this.process.stdin!.write(JSON.stringify(request) + "\n");
        // One question at a time, so the next line is the answer.
        const reply = JSON.parse((await this.lines.next()).value);
        return reply.result ?? { decision: "deny", reason: reply.error.message };
      } catch {
        this.problem ??= "hookwire gave no verdict";
      } finally {
        clearTimeout(watchdog);
      }
    }
    return { decision: "deny", reason: this.problem };
  }

  async stop(): Promise<void> {
    if (this.process.pid === undefined || this.process.exitCode !== null || this.process.signalCode) return;
    const ended = new Promise((resolve) => this.process.once("exit", resolve));
    const watchdog = setTimeout(() => this.process.kill("SIGKILL"), PATIENCE * 1000);
    this.process.stdin!.end(); // closes its stdin, which ends the host
    await ended;
    clearTimeout(watchdog);
  }
}

/** Applies a JSON merge patch, RFC 7396. */
export function merged(target: any, patch: any): any {
  if (patch === null || typeof patch !== "object" || Array.isArray(patch)) return patch;
  const result = target !== null && typeof target === "object" && !Array.isArray(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = merged(result[key], value);
  }
  return result;
}
