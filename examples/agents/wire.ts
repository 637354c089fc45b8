// The wire to hookwire: spawn it, ask it, take its answers. To be copied as it is.

import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";

const HOOKWIRE = process.env.HOOKWIRE ?? "hookwire";
const PATIENCE = Number(process.env.PATIENCE ?? 5); // seconds for a verdict

export type Data = Record<string, unknown>;
export type Verdict = {
  decision: "allow" | "deny" | "ask" | "defer";
  reason?: string;
  decidedBy?: string;
  subject?: any;
  stop?: string;
  userMessages?: string[];
  additionalContext?: string[];
  context?: Data;
  retry?: { action: "retry" | "fail" | "fallback"; afterMs?: number; model?: string };
};

/** A hook's no. It is an answer and not a failure, so nothing here treats it as one. */
export class Refused extends Error {}

/** hookwire on two pipes. Without it every answer is a no: nothing goes on unjudged. */
export class Host {
  problem: string | undefined;
  readonly process: ChildProcess;
  readonly lines: AsyncIterator<string>;

  constructor(args: string[]) {
    this.process = spawn(HOOKWIRE, ["serve", ...args], { stdio: ["pipe", "pipe", "inherit"] });
    this.process.on("error", (problem) => (this.problem = `hookwire did not start: ${problem.message}`));
    this.process.stdin!.on("error", () => {}); // the answer that doesn't come tells
    this.lines = createInterface({ input: this.process.stdout! })[Symbol.asyncIterator]();
  }

  async judge(event: Data): Promise<Verdict> {
    if (!this.problem) {
      const deadlineMs = Math.trunc(PATIENCE * 800); // a hook that hangs: the host answers without it
      // A host that hangs: its end ends the waiting.
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
    this.process.stdin!.end(); // ends its input, and so the host
    await ended;
    clearTimeout(watchdog);
  }
}

/** The value as hooks left it. */
export function settled<T>(verdict: Verdict, value: T): T {
  if (verdict.decision !== "allow") throw new Refused(verdict.reason ?? "a hook said no");
  return "subject" in verdict ? verdict.subject : value;
}

/** A JSON merge patch, RFC 7396. */
export function merged(target: any, patch: any): any {
  if (patch === null || typeof patch !== "object" || Array.isArray(patch)) return patch;
  const result = target !== null && typeof target === "object" && !Array.isArray(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = merged(result[key], value);
  }
  return result;
}
