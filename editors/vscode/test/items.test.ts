// How hooks and events read.

import assert from "node:assert/strict";
import { test } from "node:test";
import * as items from "../src/items";
import type { Hook, JudgedEvent } from "../src/wire";

const NONE = { matched: 0, denied: 0, asked: 0, rewrote: 0, failed: 0 };

function hook(name: string, on: string[], more: Partial<Hook> = {}): Hook {
  const range = { start: { line: 1, character: 2 }, end: { line: 3, character: 0 } };
  return {
    name, on, range, handler: "deny", layer: "project", uri: "file:///a.yaml", composition: "native", fail: "closed",
    enabled: true, dialect: "native", order: [], counts: NONE, ...more,
  };
}

const EVENT: JudgedEvent = {
  host: 7, seq: 3, at: "2026-01-02T03:04:05.678Z", event: "PreToolUse", tool: "Bash", subject: "git  push\n--force",
  decision: "deny", decidedBy: "no-force-push", reason: "never", micros: 310, outcomes: [],
};

test("hooks are grouped by event, in the order of an agent's life and of running", () => {
  const place = (event: string, place: number) => ({ event, place, of: 2 });
  const hooks = [
    hook("custom", ["custom:Deploy"]),
    hook("last", ["Stop", "PreToolUse"], { order: [place("PreToolUse", 2), place("Stop", 1)] }),
    hook("first", ["PreToolUse"], { order: [place("PreToolUse", 1)] }),
    hook("always", ["*"]),
  ];
  const told = items.grouped({ root: "/p", hooks }).map(({ event, hooks }) => [event, ...hooks.map((it) => it.name)].join(" "));
  assert.deepEqual(told, ["every event always", "PreToolUse first last", "Stop last", "custom:Deploy custom"]);
});

test("a hook tells its handler and what it has done", () => {
  const counts = { ...NONE, matched: 12, denied: 2 };
  assert.equal(items.hookDescription(hook("a", ["Stop"], { handler: "command", counts })), "command · matched 12 · denied 2");
  assert.equal(items.hookDescription(hook("a", ["Stop"], { enabled: false })), "deny, off");
  assert.equal(items.hookIcon(hook("a", [], { counts })).color, "charts.red");
  assert.equal(items.hookIcon(hook("a", [], { counts: { ...counts, failed: 1 } })).color, "list.warningForeground");
  assert.equal(items.hookIcon(hook("a", [], { counts, enabled: false })).color, "disabledForeground");
});

test("an event tells the decision first", () => {
  assert.equal(items.eventLabel(EVENT), "deny  Bash  git push --force");
  assert.equal(items.eventLabel({ ...EVENT, subject: "Bash git push --force" }), "deny  Bash  git push --force");
  const { tool, ...prompt } = EVENT;
  assert.equal(items.eventLabel({ ...prompt, event: "UserPromptSubmit", subject: "" }), "deny  UserPromptSubmit");
  assert.match(items.eventDescription(EVENT), /^no-force-push · \d\d:\d\d:05$/);
  assert.equal(items.eventDescription({ ...EVENT, at: "soon" }), "no-force-push");
});

test("what agents say is never Markdown", () => {
  const tooltip = items.eventTooltip({ ...EVENT, reason: "[x](command:evil) <b>", subject: "a ``` b" });
  assert.match(tooltip, /\\\[x\\\]\\\(command:evil\\\) \\<b\\>/);
  assert.match(tooltip, /````text\na ``` b\n````/);
  assert.match(items.hookTooltip(hook("a|b", ["Stop"], { description: "$(x)" })), /\*\*a\\\|b\*\*\n\n\\\$\\\(x\\\)/);
});

test("an outcome tells what was said, how long it took and why", () => {
  const outcome = { hook: "a", status: "blocking", decision: "deny", reason: "never", durationMicros: 310 };
  assert.equal(items.outcomeDescription(outcome), "deny · 0.3 ms · never");
  const failed = { hook: "a", status: "non_blocking_error", error: "exit 3", durationMicros: 12_345_678 };
  assert.equal(items.outcomeDescription(failed), "non blocking error · 12.3 s · exit 3");
  assert.equal(items.outcomeDescription({ hook: "a", status: "success", durationMicros: 42 }), "no opinion · 42 µs");
  assert.deepEqual([99, 9_949, 9_950, 999_499, 999_500].map(items.duration), ["99 µs", "9.9 ms", "10 ms", "999 ms", "1.0 s"]);
});

test("the status bar tells problems before anything else", () => {
  const status = { version: "0.1.0", hosts: [{ pid: 1, root: "/p", generation: 2 }], hooks: 14, errors: 0, warnings: 0, events: 3 };
  assert.equal(items.bar(status).text, "$(shield) hookwire: 1 host · 14 hooks");
  assert.equal(items.bar(status).background, undefined);
  const broken = items.bar({ ...status, errors: 1, warnings: 1 });
  assert.equal(broken.text, "$(shield) hookwire: 2 problems");
  assert.equal(broken.background, "statusBarItem.warningBackground");
});

test("a line of the log keeps its level", () => {
  const line = items.logLine("2026-01-02T03:04:05.678901Z  WARN /a.yaml:3:9: unknown event");
  assert.deepEqual(line, { level: "warn", text: "/a.yaml:3:9: unknown event" });
  assert.deepEqual(items.logLine("error: no such option"), { level: "error", text: "error: no such option" });
});
