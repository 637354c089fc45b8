// The loop's surroundings: a scripted model, tools that change real files, a terminal. Replace this file.

import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { Hooks, type Retry } from "../../clients/typescript/src/index.ts";
import { type Call, Hooked, type Message, Refused, type Usage } from "./wire.ts";

export const ALLOWED = ["Read", "Write", "Task"]; // other tools need a permission
export const BUDGET = 1000; // tokens that the model may read before its context is compacted
export const SUMMARISE = "Summarise this conversation so that the work can go on from your summary alone.";
const ATTEMPTS = 5; // at one model call, whatever hooks say

export type Request = { systemPrompt: string; messages: Message[] };
export type Response = { content: string; calls: Call[] };
type Reply = { response: Response; usage: Usage; finishReason: string };
type Scripted = Partial<Response> & { usage: Usage; finishReason?: string };
type Failure = { status: number; message: string };

const session: { prompts: string[]; replies: (Scripted | { error: Failure })[] } = JSON.parse(
  readFileSync(new URL("session.json", import.meta.url), "utf8"),
);

export class ModelError extends Error {
  readonly failure: Failure;

  constructor(failure: Failure) {
    super(`${failure.status} ${failure.message}`);
    this.failure = failure;
  }
}

/** Returns the script's next reply; yours would call a provider. */
export async function callModel(_model: { name: string; request: Request }): Promise<Reply> {
  const said = session.replies.shift() ?? { error: { status: 500, message: "the script is over" } };
  if ("error" in said) throw new ModelError(said.error);
  const { content = "", calls = [], usage, finishReason = "stop" } = said;
  return { response: { content, calls }, usage, finishReason };
}

/** Asks the model, and again while it is overloaded, as a provider's library does. */
export async function ask(messages: Message[]): Promise<Response> {
  for (;;) {
    try {
      return (await callModel({ name: "large", request: { systemPrompt: "", messages } })).response;
    } catch (error) {
      if (!(error instanceof ModelError) || error.failure.status !== 529) throw error;
    }
  }
}

/** Waits as long as hooks ask for; returns whether to try again. */
export async function waited(retry: Retry | undefined, attempt: number): Promise<boolean> {
  if (!retry || retry.action === "fail" || attempt === ATTEMPTS) return false;
  await sleep(retry.afterMs ?? 0);
  return true;
}

export function argument({ name, input }: Call, key: string): string {
  const value = input[key];
  if (value === undefined) throw new Error(`${name} needs \`${key}\``);
  return value;
}

export function use(tool: Call): string {
  switch (tool.name) {
    case "Read":
      return readFileSync(argument(tool, "path"), "utf8");
    case "Write":
      writeFileSync(argument(tool, "path"), argument(tool, "content"));
      return "written";
    case "Delete":
      rmSync(argument(tool, "path"));
      return "deleted";
    default:
      throw new Error(`no such tool: ${tool.name}`);
  }
}

/** Runs an act; returns its output or error, and how long it took. */
export async function tried(
  act: () => string | Promise<string>,
): Promise<{ output: string; error?: string; durationMs: number }> {
  const started = performance.now();
  const outcome: { output: string; error?: string } = { output: "" };
  try {
    outcome.output = await act();
  } catch (error) {
    [outcome.error, outcome.output] = [why(error), told(error)];
  }
  return { ...outcome, durationMs: performance.now() - started };
}

export function why(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function told(error: unknown): string {
  return `${error instanceof Refused ? "refused" : "failed"}: ${why(error)}`;
}

export function save({ name, runId, step, context }: Hooked): string {
  const path = `checkpoint-${name}.json`;
  writeFileSync(path, JSON.stringify({ run: runId, step, ...context }));
  return path;
}

/** Prints a line and returns its last part. */
export function show(last: string, ...before: string[]): string {
  console.log([...before, String(last).trim()].join(": "));
  return last;
}

/** The user's prompts; each begins a new run. */
export function* prompts(agent: Hooked): Generator<string> {
  for (const [n, prompt] of session.prompts.entries()) {
    agent.begin(`r${n + 1}`);
    console.log(`> ${prompt}`);
    yield prompt;
  }
  agent.begin();
}

export async function main(Agent: new (hooks: Hooks, name: string) => { session(): Promise<void> }): Promise<void> {
  const patience = Number(process.env.PATIENCE ?? 5) * 1000; // milliseconds for a verdict
  const hooks = new Hooks({ arguments: process.argv.slice(2), deadline: patience, patience: patience / 2 });
  try {
    await new Agent(hooks, "coder").session();
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    console.log(told(error));
  } finally {
    await hooks.close();
  }
  if (Hooked.problem !== undefined) {
    console.error(`hookwire gave no verdict: ${Hooked.problem}`);
    process.exitCode = 1;
  }
}
