// Cases for definitions: an event, and what is expected of it.

import { members, subjectOf } from "./read";
import type { Json, Judged } from "./wire";

/** A longer one is nothing that people read in a list of cases. */
const LONG = 2000;

/** A line of a file of cases for an event; without an expectation, `hookwire test --update` writes what comes out. */
export function caseOf(judged: Judged, expect: Json | undefined): string | undefined {
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
  const expected = expect === undefined || expect === null ? "" : `, expect: ${written(expect)}`;
  return `  - { ${event}${expected} }`;
}

/** An expectation in YAML: a word, or a map. */
function written(expect: Json): string {
  const its = members(expect);
  if (its !== undefined)
    return `{ ${Object.entries(its)
      .map(([key, value]) => `${key}: ${JSON.stringify(value)}`)
      .join(", ")} }`;
  return typeof expect === "string" && /^[a-z]+$/.test(expect) ? expect : JSON.stringify(expect);
}
