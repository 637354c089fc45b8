// The client against a real host, which HOOKWIRE names.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, beforeEach, test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { deny, Denied, findProgram, HostGone, Hooks, type Options, patch, RequestFailed, Stopped, type Verdict } from "../src/index.ts";
import { EVENTS } from "../src/protocol.ts";

const DEFINITIONS = `
defaults: { fail: closed }
hooks:
  - { name: no-force, on: PreToolUse, if: "Bash(git push --force*)", deny: Force pushes are off. }
  - { name: use-pnpm, on: PreToolUse, if: "Bash(npm *)", rewrite: { program: pnpm } }
  - { name: careful, on: PreToolUse, if: "Bash(rm *)", ask: Really? }
  - { name: over, on: PreToolUse, if: "Bash(halt)", script: "return { stop: 'The day is over.' }" }
  - { name: slow, on: PreToolUse, if: "Bash(slow)", command: "echo $$ > $cwd/new; mv $cwd/new $cwd/began; exec sleep 600" }
  - { name: team, on: PreToolUse, if: "Bash(make)", script: "return { context: { metadata: { team: 'docs', old: null } } }" }
  - { name: any-subject, on: "*", script: "if (event.metadata?.mark) return { subject: 'new', replace: true }" }
`;

let scratch = "";
const open: (() => unknown)[] = [];
beforeEach(() => {
  scratch = mkdtempSync(join(tmpdir(), "hookwire-"));
  mkdirSync(join(scratch, "hooks"));
  writeFileSync(join(scratch, "hooks/guard.yaml"), DEFINITIONS);
  const dir = scratch;
  open.push(() => rmSync(dir, { recursive: true }));
});
after(async () => {
  for (const close of open.reverse()) await close();
});

function hooks(options: Options = {}): Hooks {
  const own = { hooks: join(scratch, "hooks"), root: scratch, arguments: ["--isolated", "--log", "off"] };
  const made = new Hooks({ ...(options.connect === undefined ? own : {}), ...options });
  open.push(() => made.close());
  return made;
}

function bash(command: string, more: object = {}) {
  return { event: "PreToolUse", tool: { name: "Bash", input: { command } }, ...more };
}

/** What a verdict lets an agent run, or why it doesn't. */
function commanded(verdict: Verdict): string {
  try {
    return (verdict.enforce() as { command: string }).command;
  } catch (no) {
    if (no instanceof Stopped) return `stopped: ${no.message}`;
    if (no instanceof Denied) return `denied: ${no.message}`;
    throw no;
  }
}

test("every verdict is obeyed", async () => {
  const cases = {
    ls: "ls",
    "git push -f": "denied: Force pushes are off.",
    "npm test": "pnpm test",
    "rm a": "denied: Really?",
    halt: "stopped: The day is over.",
  };
  const mine = hooks();
  for (const [command, expected] of Object.entries(cases)) {
    const found = commanded(await mine.dispatch(bash(command)));
    assert.ok(found.startsWith(expected), `${command}: ${found}`);
  }
  const state = { metadata: { old: 1, kept: [2] }, messages: [] };
  const patched = (await mine.dispatch(bash("make"))).patched(state);
  assert.deepEqual(patched, { ...state, metadata: { team: "docs", kept: [2] } });
  assert.equal((await mine.dispatch(bash("ls"))).patched(state), state);
  await assert.rejects(mine.dispatch({ event: "PreTolUse" }), RequestFailed);
});

test("a verdict that nobody looks at is told", async () => {
  setFlagsFromString("--expose-gc");
  const collect: () => void = runInNewContext("gc");
  const mine = hooks();
  const said: string[] = [];
  const hear = ({ name, message }: Error) => name === "HookwireWarning" && said.push(message);
  process.on("warning", hear);
  await (async () => {
    assert.equal((await mine.dispatch(bash("git push -f"))).decision, "deny");
    await mine.dispatch(bash("ls"));
    await mine.dispatch(bash("halt"));
  })();
  while (said.length === 0) {
    collect();
    await new Promise(setImmediate);
  }
  process.off("warning", hear);
  assert.equal(said.length, 1, said.join());
  assert.match(said[0]!, /PreToolUse .*The day is over/);
});

test("a rewritten subject takes the place of the subject", async () => {
  const mine = hooks();
  for (const [event, pointer] of Object.entries(EVENTS)) {
    const [outer, inner] = pointer.split("/").slice(1);
    const subject = inner === undefined ? { [outer!]: "old" } : { [outer!]: { name: "any", [inner]: "old" } };
    const whole = { event, tool: { name: "any" }, ...subject };
    assert.equal((await mine.dispatch(whole)).enforce(), "old", event);
    assert.equal((await mine.dispatch({ ...whole, metadata: { mark: true } })).enforce(), "new", event);
  }
});

test("callbacks are hooks", async () => {
  const mine = hooks();
  mine.on("PreToolUse", { name: "no-curl", rule: "Bash(curl *)", fail: "closed" }, async (event) =>
    deny(`no ${(event.tool!.input as { command: string }).command}`),
  );
  assert.equal(commanded(await mine.dispatch(bash("curl x"))), "denied: no curl x");
  mine.on("PreToolUse", { name: "no-wget", rule: "Bash(wget *)", fail: "closed" }, () => patch({ command: "true" }));
  assert.equal(commanded(await mine.dispatch(bash("wget x"))), "true");
  mine.on("PreToolUse", { name: "broken", rule: "Bash(nc *)", fail: "closed" }, () => {
    throw new Error("broken");
  });
  assert.equal((await mine.dispatch(bash("nc x"))).decision, "deny");
  // A guard that isn't in force must not look like one that has no objection.
  mine.on("PreToolUse", { name: "misspelt", mathcer: "x" }, () => undefined);
  assert.match((await mine.dispatch(bash("ls"))).reason ?? "", /misspelt/);
});

test("a person is asked, and news are heard", async () => {
  let heard = (_: string) => {};
  const first = new Promise<string>((resolve) => (heard = resolve));
  const mine = hooks({
    approve: (question) => (question.subject as { command: string }).command === "rm a",
    listen: { "hooks/judged": (record) => heard(record.verdict.decision) },
  });
  assert.equal(commanded(await mine.dispatch(bash("rm a"))), "rm a");
  assert.ok(commanded(await mine.dispatch(bash("rm b"))).startsWith("denied: Really?"));
  assert.equal(await first, "allow");
});

test("state", async () => {
  const { state } = hooks();
  await state.set("a", { x: 1 }, { ttl: 3600 });
  assert.deepEqual([await state.get("a"), await state.get("a", { session: "s" })], [{ x: 1 }, undefined]);
  assert.deepEqual([await state.increment("n", 2), await state.increment("n")], [2, 3]);
  assert.deepEqual([await state.compareAndSet("n", 4, 5), await state.compareAndSet("m", undefined, 5)], [false, true]);
  assert.deepEqual((await state.list()).map((it) => it.key), ["a", "m", "n"]);
  assert.deepEqual([await state.delete("n"), await state.delete("n")], [true, false]);
});

test("questions about the definitions", async () => {
  const mine = hooks();
  assert.ok((await mine.list("PreToolUse")).hooks.some((it) => it.name === "no-force"));
  assert.ok((await mine.explain(bash("git push -f"))).hooks.some((it) => it.applies));
  assert.equal((await mine.check("hooks: 3")).diagnostics[0]?.severity, "error");
  writeFileSync(join(scratch, "hooks/guard.yaml"), "hooks: []");
  assert.equal((await mine.reload()).generation, 2);
});

test("cancelling reaches the hooks", async () => {
  const mine = hooks();
  const controller = new AbortController();
  const judged = mine.dispatch(bash("slow", { cwd: scratch }), { signal: controller.signal });
  while (!existsSync(join(scratch, "began"))) await new Promise(setImmediate);
  controller.abort();
  await assert.rejects(judged, { name: "AbortError" });
  const process_ = Number(readFileSync(join(scratch, "began"), "utf8"));
  for (let alive = true; alive; await new Promise(setImmediate)) {
    try {
      process.kill(process_, 0);
    } catch {
      alive = false;
    }
  }
});

for (const [fail, expected] of [["closed", "deny"], ["open", "allow"]] as const) {
  for (const ending of ["SIGKILL", "SIGSTOP"] as const) {
    test(`a host that meets ${ending} is replaced, and meanwhile its direction is ${fail}`, async () => {
      const mine = hooks({ fail, patience: 0 });
      await mine.start();
      const calls = [1, 2, 3].map(() => mine.dispatch(bash("slow", { cwd: scratch }), { deadline: 2000 }));
      process.kill(mine.pid!, ending);
      assert.deepEqual((await Promise.all(calls)).map((it) => it.decision), [expected, expected, expected]);
      assert.equal(commanded(await mine.dispatch(bash("npm i"))), "pnpm i");
    });
  }
}

test("a host that is not there", async () => {
  const other = join(scratch, "other");
  const text = `#!/bin/sh\nread line; echo '{"id":1,"result":{"protocolVersion":99}}'; cat > /dev/null\n`;
  writeFileSync(other, text, { mode: 0o755 });
  for (const [program, why] of [[join(scratch, "none"), /ENOENT; install the program, or name it/], ["/bin/true", /ended/], [other, /99/]] as const) {
    const told = once(process, "warning");
    const verdict = await hooks({ program, fail: "open" }).dispatch(bash("ls"));
    assert.equal(verdict.decision, "allow");
    assert.match(verdict.failure ?? "", why);
    assert.match((await told)[0].message, why);
    // Without a host, an agent that wants to rest isn't sent back to work.
    assert.equal((await hooks({ program }).dispatch({ event: "Stop" })).decision, "allow");
    await assert.rejects(hooks({ program }).start(), HostGone);
  }
});

test("a socket", async () => {
  const connect = `unix:${scratch}/socket`;
  const host = spawn(findProgram(), ["serve", "--isolated", "--hooks", "hooks", "--listen", connect], {
    cwd: scratch,
    stdio: "ignore",
  });
  open.push(() => host.kill("SIGKILL"));
  const mine = hooks({ connect, fail: "open" });
  // Until the host listens, its failure direction holds.
  let verdict = await mine.dispatch(bash("git push -f"));
  while (verdict.failure !== undefined) {
    assert.equal(host.exitCode, null);
    verdict = await mine.dispatch(bash("git push -f"));
  }
  assert.equal(verdict.decidedBy, "no-force");
});

test("a WebSocket", { skip: globalThis.WebSocket === undefined }, async () => {
  const token = "0123456789abcdef0123456789abcdef";
  const listen = ["--listen", "http://127.0.0.1:0"];
  const host = spawn(findProgram(), ["serve", "--isolated", "--no-share", "--hooks", "hooks", ...listen], {
    cwd: scratch,
    stdio: ["ignore", "ignore", "pipe"],
    env: { ...process.env, HOOKWIRE_TOKEN: token },
  });
  open.push(() => host.kill("SIGKILL"));
  let said = "";
  for await (const part of host.stderr) {
    said += part;
    if (/listening on .*;/.test(said)) break;
  }
  const connect = /http:[^;]*/.exec(said)![0].replace("http:", "ws:");
  const mine = hooks({ connect, token });
  mine.on("PreToolUse", { name: "mine", rule: "Bash(mine)" }, () => ({ decision: "deny", reason: "x".repeat(100_000) }));
  assert.equal((await mine.dispatch(bash("git push -f"))).decidedBy, "no-force");
  assert.equal((await mine.dispatch(bash("mine"))).reason, "x".repeat(100_000));
  const many = await Promise.all(Array.from({ length: 100 }, (_, n) => mine.dispatch(bash(`npm run ${n}`))));
  assert.deepEqual(many.map(commanded), Array.from({ length: 100 }, (_, n) => `pnpm run ${n}`));
  const refused = hooks({ connect, token: "0".repeat(32) });
  assert.match((await refused.dispatch(bash("ls"))).failure ?? "", /refuses/);
  for (const other of ["ws://example.com:80", "http://10.0.0.1:80", "ws://me@127.0.0.1:80"]) {
    assert.throws(() => hooks({ connect: other, token }), TypeError);
  }
  assert.throws(() => hooks({ connect, token: "" }), TypeError);
  host.kill("SIGKILL");
  await once(host, "close");
  assert.equal((await mine.dispatch(bash("ls"))).decision, "deny");
  await mine.close();
});
