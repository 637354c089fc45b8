// Reads a record into a row: what the list, the filters and the charts need of it, and nothing more. The record
// stays a text until somebody opens it, because 100,000 parsed records would not fit.

import type { Decision, Json, Judged, Miss, Outcome, Record } from "./wire";

/** How an event ended, in a word; each has a colour and a shape. */
export const TONES = ["silent", "allow", "rewrite", "observed", "failed", "defer", "ask", "deny"] as const;
export type Tone = (typeof TONES)[number];

export const TONE_WORDS: { [tone in Tone]: string } = {
  silent: "allow",
  allow: "allow",
  rewrite: "rewritten",
  observed: "would stop",
  failed: "failed",
  defer: "defer",
  ask: "ask",
  deny: "deny",
};

export interface HookRun {
  hook: string;
  micros: number;
  flags: number;
}
export const RUN = { opaque: 1, failed: 2, deny: 4, ask: 8, rewrote: 16, observed: 32, skipped: 64 } as const;

export interface Row {
  /** Counts the rows of the page. */
  n: number;
  id: string;
  host: string;
  /** In a fleet; else it is that of the host. */
  project: string;
  seq: number;
  time: number;
  event: string;
  tool: string;
  agent: string;
  session: string;
  run: string;
  subAgent: string;
  decision: Decision;
  tone: Tone;
  decidedBy: string;
  /** What it is about, in one line. */
  text: string;
  micros: number;
  runs: HookRun[];
  doubt: boolean;
  failed: boolean;
  rewritten: boolean;
  observed: boolean;
  tokens: number;
  cost: number;
  eventId: string;
  toolCall: string;
  /** What a search looks at. */
  search: string;
  /** The record as it came. */
  raw: string;
}

const TEXT = 300;
const SEARCHED = 2000;

type Members = { [name: string]: Json };

export const members = (value: Json | undefined): Members | undefined =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? value : undefined;

const text = (value: Json | undefined): string =>
  typeof value === "string" ? value : typeof value === "number" ? String(value) : "";

/** The first of some members that is there. */
function first(from: Members | undefined, names: readonly string[]): Json | undefined {
  if (from === undefined) return undefined;
  for (const name of names) if (from[name] !== undefined && from[name] !== null) return from[name];
  return undefined;
}

// Where agents keep these things in their own vocabularies.
const SESSION = ["session_id", "sessionId", "conversation_id", "conversationId", "thread_id", "taskId", "session"];
const RUN_ID = ["run_id", "runId", "turn_id", "turnId", "generation_id", "prompt_id"];
const SUB_AGENT = ["agent_type", "agent_id", "subagent_type", "agentName", "agent_name"];
const INPUT = ["tool_input", "toolInput", "toolArgs", "tool_args", "arguments", "args", "input", "parameters"];
const OUTPUT = ["tool_response", "tool_output", "toolResponse", "toolResult", "output", "result"];
const PROMPT = ["prompt", "user_prompt", "userPrompt", "message", "last_assistant_message"];
const MAIN = ["command", "file_path", "path", "filePath", "url", "pattern", "query", "notebook_path", "description", "prompt"];

/** The event in its own vocabulary: the payload of a dialect's, or the event itself. */
export function payloadOf(record: Record): Members | undefined {
  return members(record.params?.["payload"]) ?? record.params ?? record.beginning;
}

/** The value that hooks may rewrite, as far as the page can tell. */
export function subjectOf(judged: Judged): Json | undefined {
  const { record, about } = judged;
  if (about?.subject !== undefined) return about.subject;
  const payload = payloadOf(record);
  if (payload === undefined) return undefined;
  const tool = members(payload["tool"]);
  const isAfter = record.event.startsWith("PostTool");
  if (tool !== undefined) return isAfter ? tool["output"] : tool["input"];
  if (record.event === "PreExec") return members(payload["exec"])?.["argv"];
  const model = members(payload["model"]);
  if (model !== undefined && typeof payload["model"] === "object") return model["response"] ?? model["request"];
  return (isAfter ? first(payload, OUTPUT) : undefined) ?? first(payload, INPUT) ?? first(payload, PROMPT);
}

/** A subject in one line: the member that matters most, else all of it. */
export function inWords(subject: Json | undefined): string {
  if (subject === undefined || subject === null) return "";
  if (typeof subject === "string") return subject;
  if (Array.isArray(subject) && subject.every((it) => typeof it === "string")) return subject.join(" ");
  const main = first(members(subject), MAIN);
  if (typeof main === "string") return main;
  return JSON.stringify(subject);
}

function leaves(value: Json | undefined, into: string[], room: number): number {
  if (room <= 0 || value === undefined || value === null) return room;
  if (typeof value === "object") {
    for (const it of Array.isArray(value) ? value : Object.values(value)) room = leaves(it, into, room);
    return room;
  }
  const leaf = String(value).slice(0, room);
  into.push(leaf);
  return room - leaf.length;
}

/** One text for all that are equal: a hundred thousand rows name the same few hosts, sessions and hooks. */
const texts = new Map<string, string>();
const MAX_TEXTS = 20_000;
function shared<T extends string>(text: T): T {
  const known = texts.get(text);
  if (known !== undefined) return known as T;
  if (texts.size >= MAX_TEXTS) texts.clear();
  texts.set(text, text);
  return text;
}

function runOf(outcome: Outcome): HookRun {
  const would = outcome.observed;
  const wouldStop =
    would !== undefined && ((would.decision ?? "allow") !== "allow" || would.rewrote === true || would.stop !== undefined);
  const said = outcome.error === undefined ? outcome.decision : undefined;
  const flags =
    (outcome.opaque !== undefined ? RUN.opaque : 0) |
    (outcome.error !== undefined ? RUN.failed : 0) |
    (said === "deny" ? RUN.deny : 0) |
    (said === "ask" ? RUN.ask : 0) |
    (outcome.rewrote === true ? RUN.rewrote : 0) |
    (wouldStop ? RUN.observed : 0) |
    (outcome.status === "skipped" ? RUN.skipped : 0);
  return { hook: shared(outcome.hook), micros: outcome.durationMicros, flags };
}

/** The tone of a verdict. */
export function toneOf(
  decision: Decision,
  its: { decidedBy: string; rewritten: boolean; failed: boolean; observed: boolean },
): Tone {
  if (decision !== "allow") return decision;
  if (its.failed) return "failed";
  if (its.rewritten) return "rewrite";
  if (its.observed) return "observed";
  return its.decidedBy === "" ? "silent" : "allow";
}

export const idOf = ({ id, host, record }: Judged): string => id ?? `${host ?? ""}.${record?.seq}`;

export function rowOf(judged: Judged, raw: string, n: number): Row {
  const { record, about } = judged;
  const { verdict } = record;
  const payload = payloadOf(record);
  const subject = subjectOf(judged);
  const exec = members(payload?.["exec"]);
  const usage = members(members(payload?.["model"])?.["usage"]) ?? members(payload?.["usage"]);
  const amount = (...names: string[]): number => {
    const value = first(usage, names) ?? first(payload, names);
    return typeof value === "number" && Number.isFinite(value) ? value : 0;
  };
  // A verdict that was too large is kept without its outcomes.
  const runs = (verdict.outcomes ?? []).map(runOf);
  const has = (flag: number): boolean => runs.some((run) => (run.flags & flag) !== 0);
  const its = {
    decidedBy: shared(verdict.decidedBy ?? ""),
    rewritten: verdict.subject !== undefined || has(RUN.rewrote),
    failed: has(RUN.failed),
    observed: has(RUN.observed),
  };
  const host = judged.host ?? "";
  const words: string[] = [];
  leaves(subject, words, SEARCHED);
  const dialect = record.dialect === "native" || record.dialect === "hookwire" ? (record.client ?? "native") : record.dialect;
  const agentMember = payload?.["agent"];
  // `client/agent`: what stands behind the slash is the agent's own name for itself.
  const named = about?.agent?.startsWith(`${dialect}/`)
    ? about.agent.slice(dialect.length + 1)
    : about?.agent === dialect
      ? ""
      : about?.agent;
  return {
    n,
    id: idOf(judged),
    host: shared(host),
    project: shared(record.project ?? ""),
    seq: record.seq,
    time: Date.parse(record.at) || 0,
    event: shared(record.event),
    tool: shared(record.tool ?? ""),
    agent: shared(dialect),
    session: shared(about?.session ?? text(first(payload, SESSION))),
    run: shared(about?.run ?? text(payload?.["run"] ?? first(payload, RUN_ID))),
    subAgent: shared(named ?? (text(members(agentMember)?.["name"]) || text(first(payload, SUB_AGENT)))),
    decision: shared(verdict.decision),
    tone: toneOf(verdict.decision, its),
    decidedBy: its.decidedBy,
    text: (about?.text ?? inWords(subject)).slice(0, TEXT),
    micros: runs.reduce((sum, run) => sum + run.micros, 0),
    runs,
    doubt: has(RUN.opaque),
    failed: its.failed,
    rewritten: its.rewritten,
    observed: its.observed,
    tokens: amount("inputTokens", "input_tokens") + amount("outputTokens", "output_tokens"),
    cost: amount("costUsd", "cost_usd", "total_cost_usd", "cost"),
    eventId: verdict.eventId,
    toolCall: text(exec?.["toolCall"]),
    search: [...words, verdict.reason ?? "", record.event, record.tool ?? "", its.decidedBy].join("\n"),
    raw,
  };
}

export function judgedOf(row: Row): Judged {
  const judged = JSON.parse(row.raw) as Judged;
  judged.record.verdict.outcomes ??= [];
  return judged;
}

/** Why a hook doesn't run, and why it may be otherwise for something that the call doesn't show. */
export function missed(miss: Miss): string {
  return miss.unseen === undefined ? miss.why : `${miss.why}; not shown: ${miss.unseen}`;
}
