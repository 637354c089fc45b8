// Cases for definitions: an event, and what is expected of it.

import { members, RUN, subjectOf, type Row } from "./read";
import type { Decision, Judged } from "./wire";

/** A longer one is nothing that people read in a list of cases. */
const LONG = 2000;

/** A line of a file of cases for an event; without an expectation, `hookwire test --update` writes what comes out. */
export function caseOf(judged: Judged, expect: string | undefined): string | undefined {
  const { record } = judged;
  const command = members(subjectOf(judged))?.["command"];
  const payload = members(record.params?.["payload"]);
  const event =
    record.event === "PreToolUse" && typeof command === "string"
      ? `bash: ${JSON.stringify(command)}`
      : payload !== undefined
        ? `event: ${JSON.stringify(payload)}, dialect: ${record.dialect}`
        : record.params && `event: ${JSON.stringify(record.params)}`;
  if (event === undefined || event.length > LONG) return undefined;
  return `  - { ${event}${expect === undefined ? "" : `, expect: ${expect}`} }`;
}

/** What a hook made of an event, as a case expects it; nothing where the record doesn't say all of it. */
export function expectationOf(row: Row, judged: Judged, hook: string): string | undefined {
  const flags = row.runs.find((it) => it.hook === hook)?.flags ?? 0;
  if ((flags & (RUN.opaque | RUN.failed | RUN.observed | RUN.skipped)) !== 0) return undefined;
  if ((flags & RUN.deny) !== 0) return "deny" satisfies Decision;
  if ((flags & RUN.ask) !== 0) return "ask" satisfies Decision;
  const command = members(judged.record.verdict.subject)?.["command"];
  if ((flags & RUN.rewrote) !== 0) return typeof command === "string" ? `{ command: ${JSON.stringify(command)} }` : undefined;
  return "allow" satisfies Decision;
}
