// The icons of hooks and events, and the texts that are made here.

import assert from "node:assert/strict";
import { test } from "node:test";
import * as items from "../src/items";
import { page } from "../src/report";
import type { Hook, JudgedEvent, Report } from "../src/wire";

function hook(more: Partial<Hook>): Hook {
  const range = { start: { line: 1, character: 2 }, end: { line: 3, character: 0 } };
  return { name: "a", label: "a", range, handler: "deny", uri: "file:///a.yaml", enabled: true, tone: "none", notes: [], tooltip: "", ...more };
}

const EVENT: JudgedEvent = {
  host: 7, seq: 3, at: "2026-01-02T03:04:05.678Z", event: "PreToolUse", tone: "deny",
  label: "deny  PreToolUse  Bash  git push", tooltip: "**deny**", decidedBy: "no-force-push", outcomes: [],
};

test("a hook has the colour of what it has done", () => {
  assert.deepEqual(items.hookIcon(hook({})), { id: "circle-slash" });
  assert.equal(items.hookIcon(hook({ tone: "deny" })).color, "charts.red");
  assert.equal(items.hookIcon(hook({ tone: "error" })).color, "list.errorForeground");
  assert.equal(items.hookIcon(hook({ tone: "deny", enabled: false })).color, "disabledForeground");
});

test("an event tells who decided, and when", () => {
  assert.match(items.eventDescription(EVENT), /^no-force-push · \d\d:\d\d:05$/);
  assert.equal(items.eventDescription({ ...EVENT, at: "soon" }), "no-force-push");
});

test("the page of a report is text only", () => {
  const report: Report = {
    verdict: "deny", tone: "deny", title: "a", at: EVENT.at, reason: "<img src=x>", heading: "Hooks",
    rows: [{ tone: "deny", name: "no-force-push", verdict: "deny", text: "\"&'" }],
    changes: [{ what: "tool.input.key", after: "[redacted]" }],
  };
  const html = page(report, "n0nce");
  assert.match(html, /<h1><span class="deny">deny<\/span><span class="title">a<\/span><\/h1>\n<p class="about">\d\d:\d\d:05<\/p>/);
  assert.match(html, /&#60;img src=x&#62;/);
  assert.match(html, /&#34;&#38;&#39;/);
  assert.ok(!html.includes("<script") && !html.includes('class="before"'), html);
  assert.ok(html.indexOf('class="reason"') < html.indexOf("no-force-push") && html.indexOf("no-force-push") < html.indexOf("[redacted]"));
  assert.match(page(undefined, "n0nce"), /Run a hook/);
});

test("the status bar shows errors", () => {
  const status = {
    version: "0.1.0", hosts: [], hooks: 14, errors: 0, warnings: 0, events: 3, brief: "1 host · 14 hooks", tooltip: "",
  };
  assert.equal(items.bar(status).text, "$(shield) hookwire: 1 host · 14 hooks");
  assert.equal(items.bar(status).background, undefined);
  assert.equal(items.bar({ ...status, warnings: 1 }).background, "statusBarItem.warningBackground");
  assert.equal(items.bar({ ...status, errors: 1, warnings: 1 }).background, "statusBarItem.errorBackground");
});

test("a line of the log keeps its level", () => {
  const line = items.logLine("2026-01-02T03:04:05.678901Z  WARN /a.yaml:3:9: unknown event");
  assert.deepEqual(line, { level: "warn", text: "/a.yaml:3:9: unknown event" });
  assert.deepEqual(items.logLine("error: no such option"), { level: "error", text: "error: no such option" });
});
