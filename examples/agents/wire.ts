// An agent's state that hooks see and may change, and `fire`. Copy it unchanged; yours imports "hookwire".

import { type Hooks, type Retry, type Verdict } from "../../clients/typescript/src/index.ts";
import { EVENTS } from "../../clients/typescript/src/protocol.ts";

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
type Said = { decidedBy: string | undefined; subject?: any; retry: Retry | undefined };

/** A hook's refusal. It is an answer, so nothing here treats it as a failure. */
export class Refused extends Error {}

/** The reason of a refusal. Other errors are thrown again. */
export function refusal(error: unknown): string {
  if (error instanceof Refused) return error.message;
  throw error;
}

/** An agent's state that hooks see and may change. */
export class Hooked {
  /** Why there was once no verdict. */
  static problem: string | undefined;
  context: { metadata: Data; systemPrompt: string; messages: Message[] };
  notes: string[] = []; // messages of hooks to the model
  tokens = 0; // read by the model in its last call
  step = 0;
  usage: Usage = { inputTokens: 0, outputTokens: 0 };
  ending: string | undefined;
  readonly hooks: Hooks;
  readonly name: string;
  runId: string | undefined;
  readonly parent: Hooked | undefined;

  constructor(hooks: Hooks, name: string, runId?: string, parent?: Hooked) {
    [this.hooks, this.name, this.runId, this.parent] = [hooks, name, runId, parent];
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
  async fire<T extends Data>(event: string, data: T): Promise<Said & T> {
    if (this.ending !== undefined && ACTS.includes(event)) throw new Refused(this.ending);
    if (event === "StepStart") this.step += 1;
    const about: Data = { session: `s${process.pid}`, run: this.runId, parentRun: this.parent?.runId };
    Object.assign(about, { step: this.step || undefined, agent: { name: this.name, parent: this.parent?.name } });
    const verdict: Verdict<any> = await this.hooks.dispatch({ event, ...about, metadata: this.context.metadata, ...data });
    Hooked.problem ??= verdict.failure;
    for (const text of verdict.userMessages) console.log(`[hook] ${text}`);
    this.notes.push(...verdict.additionalContext);
    const { metadata, systemPrompt, messages, ...left }: Data = verdict.patched({ ...this.context, ...data });
    this.context = { metadata: metadata ?? {}, systemPrompt: systemPrompt ?? "", messages: messages ?? [] };
    // Refuses this act and whatever the run would do next.
    if (verdict.stops) this.ending = verdict.reason;
    if (!verdict.allowed && !NOTES.includes(event)) throw new Refused(verdict.reason ?? "a hook said no");
    if (event === "PermissionRequest" && verdict.decidedBy === undefined) {
      throw new Refused("nobody has allowed it"); // where your agent would ask its user
    }
    const subject = verdict.rewritten ? { subject: verdict.value } : {};
    if (verdict.rewritten) {
      const [member, inner] = EVENTS[event]!.slice(1).split("/") as [string, string?];
      left[member] = inner ? { ...left[member], [inner]: verdict.value } : verdict.value;
    }
    return { ...data, decidedBy: verdict.decidedBy, retry: verdict.retry, ...subject, ...left } as Said & T;
  }
}
