// What all adapters do at a moment.

import type { Hooks, Sent } from "./hooks.ts";
import { Denied, Stopped, type Verdict } from "./verdict.ts";

/** How often a hook may send one run back to work; the host has a limit of its own. */
export const SEND_BACKS = 8;
/** So many calls and prompts are remembered, for later requests of their runs. */
const REMEMBERED = 10_000;

/** What is remembered of the latest keys; a run's later requests are made anew from what the application knows. */
export class Memory<Value> extends Map<string, Value> {
  override set(key: string, value: Value): this {
    const [oldest] = this.keys();
    if (this.size >= REMEMBERED && oldest !== undefined) this.delete(oldest);
    return super.set(key, value);
  }
}

export interface Call {
  name: string;
  callId: string;
  input: unknown;
}

/** Sends a run's events and sees to what hooks say beside their decision. */
export class Moments {
  readonly hooks: Hooks;
  readonly known: Partial<Sent>;

  constructor(hooks: Hooks, known: Partial<Sent>) {
    this.hooks = hooks;
    this.known = known;
  }

  /** `notes` gets what hooks say to the model. */
  async send(event: Sent, notes: string[], signal?: AbortSignal): Promise<Verdict<any>> {
    const verdict = await this.hooks.dispatch<any>({ ...this.known, ...event }, { signal });
    verdict.userMessages.forEach(this.hooks.show);
    notes.push(...verdict.additionalContext);
    return verdict;
  }

  /** Runs a tool, if hooks let it, and returns its output as hooks left it. Throws Denied if it wasn't run. What
   * `isFailure` says no to is the framework's own; `toJson` is what hooks see of an output. */
  async tool(
    { name, callId, input }: Call,
    run: (input: any, rewritten: boolean) => unknown,
    notes: string[],
    { signal, isFailure = () => true, toJson = (output) => output ?? null }: ToolOptions = {},
  ): Promise<any> {
    const call = { name, callId, input };
    const verdict = await this.send({ event: "PreToolUse", tool: call }, notes, signal);
    call.input = verdict.enforce();
    const started = performance.now();
    let output: unknown;
    try {
      output = await run(call.input, verdict.rewritten);
    } catch (error) {
      if (error instanceof Denied || !isFailure(error)) throw error;
      const told = { error: String(error), output: `failed: ${error}`, durationMs: performance.now() - started };
      const failed = await this.send({ event: "PostToolUseFailure", tool: { ...call, ...told } }, notes, signal);
      if (failed.stops) throw new Stopped(failed);
      if (failed.rewritten && failed.allowed) return failed.value;
      throw error;
    }
    const done = { output: toJson(output), durationMs: performance.now() - started };
    return after(await this.send({ event: "PostToolUse", tool: { ...call, ...done } }, notes, signal), output);
  }
}

export interface ToolOptions {
  signal?: AbortSignal | undefined;
  isFailure?: (error: unknown) => boolean;
  toJson?: (output: any) => unknown;
}

/** What takes the place of a value after the fact: another value, or the reason why it is withheld. */
export function after(verdict: Verdict<any>, value: unknown): unknown {
  if (verdict.stops) throw new Stopped(verdict);
  if (verdict.decision !== "allow") return `withheld: ${verdict.reason ?? "a hook said no"}`;
  return verdict.rewritten ? verdict.value : value;
}

/** Why a hook sends the agent back to work. */
export function moreToDo(verdict: Verdict<any>): string {
  return verdict.reason ?? "a hook says that there is more to do";
}
