// What the server's commands answer beyond LSP; `experimental.hookwire.version` of its capabilities
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
}

export interface Root {
  root: string;
  hooks: Hook[];
}

export interface Outcome {
  hook: string;
  status: string;
  decision?: string;
  reason?: string;
  error?: string;
  durationMicros: number;
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
  outcomes: Outcome[];
}

export interface Status {
  version: string;
  hosts: { pid: number; root: string; generation: number }[];
  hooks: number;
  errors: number;
  warnings: number;
  events: number;
}

export interface Commands {
  "hookwire.hooks": { argument: object; result: { roots: Root[] } };
  "hookwire.events": { argument: { limit: number }; result: { events: JudgedEvent[] } };
  "hookwire.status": { argument: object; result: Status };
  "hookwire.reload": { argument: object; result: { reloaded: number } };
}
