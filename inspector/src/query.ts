// The line that filters: terms between blanks, `key:value` or a word, `-` before a term for its opposite.

import type { Row } from "./read";

export const KEYS = [
  "decision",
  "agent",
  "tool",
  "event",
  "hook",
  "session",
  "run",
  "project",
  "host",
  "is",
  "since",
  "until",
  "text",
] as const;
export type Key = (typeof KEYS)[number];
/** Those by which the record is searched. */
export const RECORD_KEYS: readonly Key[] = [
  "decision",
  "agent",
  "tool",
  "event",
  "hook",
  "session",
  "project",
  "since",
  "until",
  "text",
];
/** Those by which the stream of a fleet is searched. */
export const FLEET_KEYS: readonly Key[] = ["host", ...RECORD_KEYS];
/** The project root of each host. */
export const projects = new Map<string, string>();
export const projectOf = (row: Row): string => row.project || (projects.get(row.host) ?? "");

export const KEY_HELP: { [key in Key]: string } = {
  decision: "allow, ask, deny, defer",
  agent: "the agent or a sub-agent",
  tool: "a tool; * is any text",
  event: "an event's name",
  hook: "a hook that was selected",
  session: "a session",
  run: "a run",
  project: "a project: its directory, or the name of it",
  host: "a host",
  is: "doubt, failed, rewritten, observed",
  since: "30s, 15m, 1h, 7d, or a date",
  until: "30s, 15m, 1h, 7d, or a date",
  text: "words of the call or the reason",
};

const STATES = ["doubt", "failed", "rewritten", "observed"] as const;
export const VALUES: { [key in Key]?: readonly string[] } = {
  decision: ["allow", "ask", "deny", "defer"],
  is: STATES,
  since: ["5m", "15m", "1h", "24h", "7d"],
};

export interface Term {
  key: Key;
  value: string;
  negated: boolean;
}
export interface Query {
  terms: Term[];
  mistakes: string[];
}

const isKey = (word: string): word is Key => (KEYS as readonly string[]).includes(word);

/** Splits at blanks that are in no quotes. */
export function words(line: string): string[] {
  return line.match(/(?:[^\s"]|"(?:[^"\\]|\\.)*"?)+/g) ?? [];
}

const unquote = (word: string): string =>
  word.replace(/"((?:[^"\\]|\\.)*)"?/g, (_, inner: string) => inner.replace(/\\(.)/g, "$1"));
export const quote = (value: string): string =>
  /[\s"\\]/.test(value) || value === "" ? `"${value.replace(/["\\]/g, "\\$&")}"` : value;

export function parse(line: string, keys: readonly Key[] = KEYS): Query {
  const terms: Term[] = [];
  const mistakes: string[] = [];
  for (const word of words(line)) {
    const negated = word.startsWith("-") && word.length > 1;
    const bare = negated ? word.slice(1) : word;
    const at = bare.search(/[:"]/);
    const key = at > 0 && bare[at] === ":" ? bare.slice(0, at).toLowerCase() : "text";
    if (!isKey(key) || !keys.includes(key)) {
      // A word with a colon may be a text that is looked for, such as `https://`.
      if (/^[a-z]+$/.test(key) && !/^[a-z]+:\/\//.test(bare))
        mistakes.push(`“${key}:” is no filter here. Filters are ${keys.join(", ")}.`);
      else terms.push({ key: "text", value: unquote(bare), negated });
      continue;
    }
    const value = unquote(at > 0 && bare[at] === ":" ? bare.slice(at + 1) : bare);
    if (value === "") continue;
    const mistake = mistakeIn(key, value);
    if (mistake !== undefined) mistakes.push(mistake);
    else terms.push({ key, value, negated });
  }
  return { terms, mistakes };
}

function mistakeIn(key: Key, value: string): string | undefined {
  const values = key === "decision" || key === "is" ? VALUES[key] : undefined;
  if (values !== undefined && !values.includes(value.toLowerCase()))
    return `“${key}:” takes ${values.join(", ")}, not “${value}”.`;
  if ((key === "since" || key === "until") && moment(value, 0) === undefined) {
    return `“${value}” is no time. Write 15m, 1h, 7d or a date such as 2026-03-01T12:00.`;
  }
  return undefined;
}

const UNITS: { [unit: string]: number } = { s: 1e3, m: 6e4, h: 36e5, d: 864e5, w: 6048e5 };

/** The time that `1h` or a date means. */
export function moment(value: string, now: number): number | undefined {
  const ago = /^(\d{1,9})([smhdw])$/.exec(value);
  if (ago !== null) return now - Number(ago[1]) * (UNITS[ago[2]!] ?? 0);
  const at = /^\d{4}-\d\d-\d\d/.test(value) ? Date.parse(value) : NaN;
  return Number.isNaN(at) ? undefined : at;
}

export type Test = (row: Row) => boolean;

/** A pattern with `*` for any text, which otherwise looks for a whole name. */
function named(pattern: string): (value: string) => boolean {
  const lower = pattern.toLowerCase();
  if (!lower.includes("*")) return (value) => value.toLowerCase() === lower;
  const regex = new RegExp(
    `^${lower
      .split("*")
      .map((it) => it.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"))
      .join("[^]*?")}$`,
    "i",
  );
  return (value) => regex.test(value);
}

function testOf({ key, value }: Term, now: number): Test {
  const is = named(value);
  switch (key) {
    case "decision":
      return (row) => row.decision === value.toLowerCase();
    case "agent":
      return (row) => is(row.agent) || is(row.subAgent);
    case "tool":
      return (row) => is(row.tool);
    case "event":
      return (row) => is(row.event);
    case "hook":
      return (row) => is(row.decidedBy) || row.runs.some((run) => is(run.hook));
    case "session":
      return (row) => is(row.session);
    case "run":
      return (row) => is(row.run);
    case "project":
      return (row) => {
        const root = projectOf(row);
        return is(root) || is(root.replace(/.*\//, ""));
      };
    case "host":
      return (row) => is(row.host);
    case "is": {
      const state = value.toLowerCase() as (typeof STATES)[number];
      return (row) => row[state];
    }
    case "since": {
      const at = moment(value, now) ?? 0;
      return (row) => row.time >= at;
    }
    case "until": {
      const at = moment(value, now) ?? Infinity;
      return (row) => row.time <= at;
    }
    case "text": {
      const regex = new RegExp(value.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "i");
      return (row) => regex.test(row.search);
    }
  }
}

/** One test for a whole line. Terms of one key are alternatives, unless they are negated, words or times. */
export function compile(query: Query, now: number): Test | undefined {
  const needed: Test[] = [];
  const alternatives = new Map<Key, Test[]>();
  for (const term of query.terms) {
    const test = testOf(term, now);
    if (term.negated) needed.push((row) => !test(row));
    else if (term.key === "text" || term.key === "since" || term.key === "until") needed.push(test);
    else alternatives.set(term.key, [...(alternatives.get(term.key) ?? []), test]);
  }
  for (const tests of alternatives.values())
    needed.push(tests.length === 1 ? tests[0]! : (row) => tests.some((test) => test(row)));
  if (needed.length === 0) return undefined;
  return (row) => needed.every((test) => test(row));
}

/** The line with a term put in, or taken out if it is there already. */
export function toggled(line: string, key: Key, value: string): string {
  const term = `${key}:${quote(value)}`;
  const all = words(line);
  return (all.includes(term) ? all.filter((it) => it !== term) : [...all, term]).join(" ");
}
