// The results of the server's commands, which are beyond LSP; `experimental.hookwire.version` of its capabilities
// says which version of it.

import type { Range } from "vscode-languageclient/node";

export const WIRE_VERSION = 1;

export interface Counts {
  matched: number;
  denied: number;
  asked: number;
  rewrote: number;
  failed: number;
}

export interface Hook {
  name: string;
  description?: string;
  on: string[];
  handler: string;
  layer: string;
  /** Null where it is in no file: a client has registered it. */
  uri: string | null;
  range: Range;
  order: { event: string; place: number; of: number }[];
  composition: string;
  fail: string;
  enabled: boolean;
  dialect: string;
  counts: Counts;
  /** Its handler and its counts, in a few words each. */
  notes: string[];
  /** Markdown. */
  tooltip: string;
}

/** The hooks of one event, in order of running; by their places among the hooks of the root. */
export interface Group {
  event: string;
  hooks: number[];
  /** How many they are, in words. */
  summary: string;
}

export interface Root {
  root: string;
  hooks: Hook[];
  /** In the order of an agent's life. */
  groups: Group[];
  /** How many hooks there are, in words. */
  summary: string;
}

export interface HookGroup extends Omit<Group, "hooks"> {
  hooks: Hook[];
}

/** The groups of a root with their hooks. */
export function groupsOf({ hooks, groups }: Root): HookGroup[] {
  return groups.map((group) => ({ ...group, hooks: group.hooks.flatMap((it) => hooks[it] ?? []) }));
}

export interface Outcome {
  hook: string;
  status: string;
  decision?: string;
  reason?: string;
  error?: string;
  durationMicros: number;
  /** The decision, the time it took and the reason, in a line. */
  summary: string;
}

export interface JudgedEvent {
  host: number;
  seq: number;
  at: string;
  event: string;
  tool?: string;
  subject: string;
  decision: string;
  decidedBy?: string;
  reason?: string;
  micros: number;
  /** The decision and the subject, in a line. */
  label: string;
  /** Markdown. */
  tooltip: string;
  outcomes: Outcome[];
}

export interface Status {
  version: string;
  hosts: { pid: number; root: string; generation: number }[];
  hooks: number;
  errors: number;
  warnings: number;
  events: number;
  /** The most important numbers, in a few words. */
  brief: string;
  /** Markdown. */
  tooltip: string;
}

export interface Commands {
  "hookwire.hooks": { argument: object; result: { roots: Root[] } };
  "hookwire.events": { argument: { limit: number }; result: { events: JudgedEvent[] } };
  "hookwire.status": { argument: object; result: Status };
  "hookwire.reload": { argument: object; result: { reloaded: number; summary: string } };
}
