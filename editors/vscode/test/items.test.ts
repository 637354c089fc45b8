// The icons of hooks and events, and the texts that are made here.

import assert from "node:assert/strict";
import { test } from "node:test";
import * as items from "../src/items";
import { groupsOf, type Hook, type JudgedEvent, type Outcome } from "../src/wire";

const NONE = { matched: 0, denied: 0, asked: 0, rewrote: 0, failed: 0 };

function hook(name: string, on: string[], more: Partial<Hook> = {}): Hook {
  const range = { start: { line: 1, character: 2 }, end: { line: 3, character: 0 } };
  return {
    name, on, range, handler: "deny", layer: "project", uri: "file:///a.yaml", composition: "native", fail: "closed",
    enabled: true, dialect: "native", order: [], counts: NONE, notes: ["deny"], tooltip: "", ...more,
  };
}

const EVENT: JudgedEvent = {
  host: 7, seq: 3, at: "2026-01-02T03:04:05.678Z", event: "PreToolUse", tool: "Bash", subject: "git push",
  label: "deny  Bash  git push", tooltip: "**deny**",
  decision: "deny", decidedBy: "no-force-push", reason: "never", micros: 310, outcomes: [],
};

test("the groups of a root have its hooks", () => {
  const hooks = [hook("a", ["Stop"]), hook("b", ["Stop", "PreToolUse"])];
  const groups = [{ event: "PreToolUse", hooks: [1], summary: "" }, { event: "Stop", hooks: [1, 0], summary: "" }];
  const told = groupsOf({ root: "/p", hooks, groups, summary: "" }).map(({ event, hooks }) => [event, ...hooks.map((it) => it.name)].join(" "));
  assert.deepEqual(told, ["PreToolUse b", "Stop b a"]);
});

test("a hook has the colour of what it has done", () => {
  const counts = { ...NONE, matched: 12, denied: 2 };
  assert.equal(items.hookDescription(hook("a", [], { notes: ["command", "denied 2"] })), "command · denied 2");
  assert.equal(items.hookIcon(hook("a", [], { counts })).color, "charts.red");
  assert.equal(items.hookIcon(hook("a", [], { counts: { ...counts, failed: 1 } })).color, "list.warningForeground");
  assert.equal(items.hookIcon(hook("a", [], { counts, enabled: false })).color, "disabledForeground");
});

test("an event tells who decided, and when", () => {
  assert.match(items.eventDescription(EVENT), /^no-force-push · \d\d:\d\d:05$/);
  assert.equal(items.eventDescription({ ...EVENT, at: "soon" }), "no-force-push");
});

test("an event that nobody judged was not allowed by anybody", () => {
  const outcome: Outcome = { hook: "a", status: "success", durationMicros: 1, summary: "" };
  assert.equal(items.eventIcon(EVENT).id, "error");
  assert.equal(items.eventIcon({ ...EVENT, decision: "allow", outcomes: [outcome] }).id, "pass");
  assert.equal(items.eventIcon({ ...EVENT, decision: "allow" }).id, "circle-outline");
});

test("the status bar shows errors", () => {
  const status = {
    version: "0.1.0", hosts: [], hooks: 14, errors: 0, warnings: 0, events: 3, brief: "1 host · 14 hooks", tooltip: "",
  };
  assert.equal(items.bar(status).text, "$(shield) hookwire: 1 host · 14 hooks");
  assert.equal(items.bar(status).background, undefined);
  assert.equal(items.bar({ ...status, errors: 1 }).background, "statusBarItem.warningBackground");
});

test("a line of the log keeps its level", () => {
  const line = items.logLine("2026-01-02T03:04:05.678901Z  WARN /a.yaml:3:9: unknown event");
  assert.deepEqual(line, { level: "warn", text: "/a.yaml:3:9: unknown event" });
  assert.deepEqual(items.logLine("error: no such option"), { level: "error", text: "error: no such option" });
});
