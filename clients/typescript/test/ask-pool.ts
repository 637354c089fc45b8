// Asks a pool about commands, each with a deadline in seconds: node ask-pool.ts FLEET POOL USER PASSWORD_FILE CA_FILE
// COMMAND DEADLINE... Prints a line for each: what may be run, and after how many seconds. An empty argument isn't given.

import assert from "node:assert/strict";
import { Denied, Hooks, type Options, RequestFailed, type Verdict } from "../src/index.ts";

process.on("warning", () => {});

function commanded(verdict: Verdict): string {
  try {
    return (verdict.enforce() as { command: string }).command;
  } catch (no) {
    if (no instanceof Denied) return `denied: ${no.message}`;
    throw no;
  }
}

const [fleet, pool, user, passwordFile, caFile, ...asked] = process.argv.slice(2);
const given = Object.entries({ fleet, pool, user, passwordFile, caFile }).filter(([, value]) => value);
const hooks = new Hooks(Object.fromEntries(given) as Options);
for (let n = 0; n < asked.length; n += 2) {
  const event = { event: "PreToolUse", tool: { name: "Bash", input: { command: asked[n] } } };
  const begun = performance.now();
  const verdict = await hooks.dispatch(event, { deadline: Number(asked[n + 1]) * 1000 });
  console.log(`${commanded(verdict)}\t${((performance.now() - begun) / 1000).toFixed(3)}`);
}
await assert.rejects(hooks.list(), RequestFailed);
// A pool that nobody waits for doesn't keep this process.
