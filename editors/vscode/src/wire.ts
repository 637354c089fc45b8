// The results of the server's commands, which are beyond LSP; `experimental.hookwire.version` of its capabilities
// says which version of it.

import type { Range } from "vscode-languageclient/node";

export const WIRE_VERSION = 1;

/** How good something is: for an icon and a colour. */
export type Tone = "allow" | "ask" | "defer" | "deny" | "changed" | "error" | "none";

export interface Hook {
  name: string;
  /** Its name, without its middle if it is long. */
  label: string;
  handler: string;
  /** Null where it is in no file: a client has registered it. */
  uri: string | null;
  range: Range;
  enabled: boolean;
  tone: Tone;
  /** What it has done and its handler, in a few words each. */
  notes: string[];
  /** Markdown. */
  tooltip: string;
}

/** The hooks of one event, in order of running; by their places among the hooks of the root. */
export interface Group {
  event: string;
  hooks: number[];
  /** Where each runs among those of the event, in words. */
  places: string[];
  /** How many they are, in words. */
  summary: string;
}

/** A hook that is not in force as it is written; without a name it is the file. */
export interface Broken {
  name?: string;
  label: string;
  range: Range;
  message: string;
  /** Markdown. */
  tooltip: string;
}

/** The hooks of one file, by their places among the hooks of the root. */
export interface File {
  uri: string | null;
  label: string;
  hooks: number[];
  broken: Broken[];
  /** How many they are, in words. */
  summary: string;
}

export interface Root {
  root: string;
  hooks: Hook[];
  /** In the order of an agent's life. */
  groups: Group[];
  /** In the order of their paths. */
  files: File[];
  /** How many hooks there are, in words. */
  summary: string;
}

export interface Outcome {
  hook: string;
  reason?: string;
  error?: string;
  tone: Tone;
  /** The decision, the reason and the time it took, in a line. */
  summary: string;
}

export interface JudgedEvent {
  host: number;
  seq: number;
  at: string;
  event: string;
  decidedBy?: string;
  tone: Tone;
  /** The verdict, the event, its tool and the argument that matters, in a line. */
  label: string;
  /** Markdown. */
  tooltip: string;
  outcomes: Outcome[];
}

/** Something that the timeline can be asked for. */
export interface Choice {
  id: string;
  label: string;
  isChosen: boolean;
  /** How much it would show. */
  note?: string;
}

export interface Timeline {
  events: JudgedEvent[];
  /** By their places among the events; none in order of time. */
  groups: { label: string; events: number[]; summary: string; tone: Tone }[];
  filters: Choice[];
  groupings: Choice[];
  /** What is chosen, in words. */
  summary: string;
}

/** What came of an event or a hook. */
export interface Report {
  verdict: string;
  tone: Tone;
  title: string;
  about?: string;
  at?: string;
  reason?: string;
  subject?: string;
  heading: string;
  rows: { tone: Tone; name: string; verdict: string; took?: string; text?: string }[];
  changes?: { what: string; before?: string; after: string }[];
  notes?: { title: string; text: string }[];
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

type OfEvent = { host: number; seq: number };

export interface Commands {
  "hookwire.hooks": { argument: { event?: OfEvent }; result: { roots: Root[] } };
  "hookwire.events": { argument: { limit: number; only?: string; by?: string }; result: Timeline };
  "hookwire.event": { argument: OfEvent; result: { event: JudgedEvent; report: Report } };
  "hookwire.status": { argument: object; result: Status };
  "hookwire.reload": { argument: object; result: { reloaded: number; summary: string } };
}
