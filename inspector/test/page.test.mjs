// Each view, by what a person does in it.
import test from "node:test";
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { atRest, browse, show, VIEWS } from "./browser.mjs";
import { approval, HOSTILE } from "./data.mjs";
import { serve } from "./serve.mjs";

async function open(t, options = {}) {
  const server = await serve(options);
  const { page, context, problems, close } = await browse(options);
  t.after(async () => {
    await close();
    server.close();
  });
  await page.goto(server.address());
  await page
    .getByText(options.isEmpty ? "0 hosts" : "1 host", { exact: false })
    .first()
    .waitFor({ state: "attached" });
  const go = (hash) =>
    page.evaluate((it) => {
      location.hash = it;
    }, hash);
  const seqOf = (is) => `shop-1.${server.records.findLast(is).seq}`;
  const end = () => assert.deepEqual(problems, []);
  return { server, page, context, go, seqOf, end };
}
/** The list leaves these out until somebody asks for them. */
const isPlainStart = (it) => it.event === "PreExec" && it.verdict.decision === "allow";
const rowsOf = (page) => page.locator(".row.event");
const until = async (check, what) => {
  for (const end = Date.now() + 8000; Date.now() < end; await new Promise((resolve) => setTimeout(resolve, 40)))
    if (await check()) return;
  assert.fail(`never: ${what}`);
};

/** A promise, and what keeps it. */
const promise = () => {
  let keep;
  return [new Promise((resolve) => (keep = resolve)), keep];
};

test("the timeline: filter, address, groups, keys", async (t) => {
  const { server, page, end } = await open(t);
  await rowsOf(page).first().waitFor();
  assert.doesNotMatch(page.url(), /start=/, "the token is not in the address");
  const line = page.getByRole("combobox", { name: "Filter events" });
  await page.keyboard.press("/");
  await page.keyboard.type("deci");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.keyboard.type("deny");
  await until(() => page.url().endsWith("#/timeline?q=decision:deny"), "the address has the filter");
  const denied = server.records.filter((it) => it.verdict.decision === "deny").length;
  await until(async () => (await page.locator(".sum").textContent()).startsWith(`${denied} of`), "the sum");
  assert.ok((await rowsOf(page).allTextContents()).every((it) => it.includes("deny")));
  await line.fill("foo:bar");
  await page.getByText("is no filter").waitFor();
  await line.fill("decision:deny text:nothing-has-this");
  await page.getByRole("heading", { name: "No event fits the filter" }).waitFor();
  await page.getByRole("button", { name: "Clear the filter" }).last().click();
  await until(() => page.url().endsWith("#/timeline"), "the filter is gone");

  await page.getByLabel("Group by").selectOption("session");
  await page.locator(".row.group").first().waitFor();
  assert.equal(await page.locator(".row.group").first().getAttribute("aria-expanded"), "true");
  await page.locator("[data-list]").focus();
  await page.keyboard.press("Home");
  await page.keyboard.press("ArrowLeft");
  assert.equal(await page.locator(".row.group").first().getAttribute("aria-expanded"), "false");
  await page.keyboard.press("Enter");
  await page.getByLabel("Group by").selectOption("");

  await page.locator("[data-list]").focus();
  await page.keyboard.press("Home");
  await page.keyboard.press("Enter");
  await page.locator("[data-event-title]").waitFor();
  assert.match(page.url(), /event=shop-1\.\d+/);
  const first = await page.locator("[data-event-title]").textContent();
  await page.locator("[data-list]").focus();
  await page.keyboard.press("j");
  await until(async () => (await page.locator("[data-event-title]").textContent()) !== first, "the next event is shown");
  await page.keyboard.press("Escape");
  await until(async () => (await page.locator(".pane").count()) === 0, "the event is closed");

  const ground = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  const dark = await ground();
  await page.getByRole("button", { name: "Theme: system" }).click();
  assert.notEqual(await ground(), dark, "the switch makes it light");
  await page.getByRole("button", { name: "Theme: light" }).click();
  assert.equal(await ground(), dark, "and dark");

  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Keys" }).waitFor();
  await page.keyboard.press("Escape");
  await page.keyboard.press("g");
  await page.keyboard.press("c");
  await until(() => page.url().endsWith("#/charts"), "g c");
  await page.goBack();
  await until(() => page.url().includes("#/timeline"), "back");
  end();
});

test("the timeline opens with what was stopped, and folds the starts of programs", async (t) => {
  const { server, page, end } = await open(t, { many: 50 });
  const look = page.getByRole("region", { name: "At a glance" });
  await look.locator(".last li").first().waitFor();
  const denied = server.records.filter((it) => ["deny", "ask"].includes(it.verdict.decision) && it.event !== "PreExec");
  const last = denied.sort((a, b) => (a.at < b.at ? 1 : -1))[0];
  assert.match(await look.locator(".last li").first().textContent(), new RegExp(last.verdict.reason.slice(0, 20)));
  const programs = rowsOf(page).filter({ hasText: "PreExec" });
  const all = server.records.filter((it) => it.event === "PreExec").length;
  const starts = server.records.filter(isPlainStart).length;
  assert.ok(starts > 0);
  assert.equal(await programs.count(), all - starts);
  await page.getByRole("button", { name: "folded" }).click();
  await until(async () => (await programs.count()) === all, "the starts are shown");
  await look.getByRole("button", { name: "stopped" }).click();
  await until(async () => (await rowsOf(page).allTextContents()).every((it) => /deny|ask/.test(it)), "what was stopped");
  server.ask(approval("q1", {}));
  const waiting = look.getByRole("button", { name: /waits? for you/ });
  await until(async () => /^[1-9]/.test(await waiting.textContent()), "a question waits");
  await waiting.click();
  await page.getByRole("heading", { name: "Approvals" }).first().waitFor();
  end();
});

test("the timeline: what comes, held while somebody reads, sessions as lanes", async (t) => {
  const { server, page, end } = await open(t);
  await rowsOf(page).first().waitFor();
  server.next({ command: "echo fresh-one" });
  await rowsOf(page).filter({ hasText: "fresh-one" }).waitFor();
  await page.locator("[data-list]").evaluate((it) => {
    it.scrollTop = 2000;
  });
  const read = page.locator('.row[aria-rowindex="80"]');
  const seen = await read.textContent();
  await until(async () => {
    server.next({ command: "echo later" });
    return page.locator(".fresh").isVisible();
  }, "the button for new events");
  assert.equal(await read.textContent(), seen, "rows don't move under the reader");
  await page.locator(".fresh").click();
  await rowsOf(page).filter({ hasText: "echo later" }).first().waitFor();
  await page.keyboard.press("p");
  await page.getByRole("button", { name: "Go on" }).waitFor();
  server.next({ command: "echo while-paused" });
  await page.getByText("1 new event").waitFor();
  assert.equal(await rowsOf(page).filter({ hasText: "while-paused" }).count(), 0);
  await page.getByRole("button", { name: "Go on" }).click();
  await rowsOf(page).filter({ hasText: "while-paused" }).waitFor();

  await page.locator(".lane-name").filter({ hasText: "codex" }).click();
  await until(() => /session:0199/.test(page.url()), "a lane filters by its session");
  await page.locator(".lane-name").first().click();
  const track = await page.locator(".lane-track").first().boundingBox();
  await page.mouse.move(track.x + 100, track.y + 10);
  await page.mouse.down();
  await page.mouse.move(track.x + 300, track.y + 10, { steps: 5 });
  await page.mouse.up();
  await until(() => /since:.*until:/.test(decodeURIComponent(page.url())), "a drag zooms");
  end();
});

test("one event: path, acts, doubt, rewrite, reply, programs, editor link", async (t) => {
  const { server, page, go, seqOf, end } = await open(t);
  await rowsOf(page).first().waitFor();
  const show = async (is) => {
    await go(`#/timeline?event=${seqOf(is)}`);
    await page.locator("[data-event-title]").waitFor();
  };
  const command = (text) => (it) => it.event === "PreToolUse" && JSON.stringify(it.params).includes(text);
  await show(command("git push -f"));
  await page.getByRole("heading", { name: /Denied by no-force-push/ }).waitFor();
  await page.locator(".hop", { hasText: "no-force-push" }).first().waitFor();
  await page.getByRole("button", { name: "runs git push -f" }).hover();
  assert.equal(await page.locator(".lit.is-lit").textContent(), "git push -f");
  assert.equal(
    await page.locator(".hop a.place", { hasText: "no-force-push.yaml:4" }).getAttribute("href"),
    "vscode://file/home/ana/shop/.hookwire/no-force-push.yaml:4",
  );
  await page.locator(".is-over summary").last().click();
  await page.getByText("no command runs `npm`").first().waitFor();
  await page.getByText("permissionDecision").first().waitFor();
  assert.equal((await page.locator(".hop.next-is-stopped").count()) > 0, true, "the wire is stopped");

  await show(command("$RUN push"));
  await page.getByText("In doubt.").waitFor();
  await page.locator(".hop.is-doubt").first().waitFor();
  await show(command("npm install"));
  assert.equal(await page.locator(".diff del").first().textContent(), "npm");
  assert.equal(await page.locator(".diff ins").first().textContent(), "pnpm");
  await page.getByText("judged again, because the value changed").waitFor();
  await show(command("make release"));
  await page.getByRole("heading", { name: "Programs that started" }).waitFor();
  assert.deepEqual((await page.locator(".tree code").allTextContents()).slice(0, 3), [
    "claude",
    "bash -c make release",
    "make release",
  ]);
  await page.getByRole("button", { name: "git push --force --tags" }).last().click();
  await page.getByRole("heading", { name: /Denied by no-force-push/ }).waitFor();

  server.push({
    ...server.records.findLast(command("make release")),
    seq: 90001,
    verdict: {
      ...server.records[0].verdict,
      decision: "allow",
      decidedBy: undefined,
      outcomes: [{ hook: "audit", status: "started", durationMicros: 0 }],
      eventId: "late",
    },
  });
  await go("#/timeline?event=shop-1.90001");
  await page.getByText("started, not waited for").waitFor();
  await go("#/timeline?event=shop-1.123456789");
  await page.getByRole("heading", { name: /isn’t here any more/ }).waitFor();
  end();
});

test("approvals: always shows what the host would write before it is written", async (t) => {
  const { server, page, go } = await open(t);
  await go("#/approvals");
  await page.getByRole("button", { name: "Always…" }).click();
  await page.getByText("unless: Bash(git push origin topic)").waitFor();
  assert.deepEqual(server.answers, [], "to look is not to answer");
  await page.getByRole("button", { name: "Write that, and say yes" }).click();
  await page.getByRole("heading", { name: "Nothing waits for you" }).waitFor();
  assert.deepEqual(
    server.answers.map(({ id, digest }) => digest === `of ${id}`),
    [true],
  );
});

test("approvals: yes, no with a reason, yes to something else, all of it seen first", async (t) => {
  const [asked, send] = promise();
  const { server, page, go, end } = await open(t, { slow: { "inspect/approvals": asked } });
  const answered = () => page.getByRole("heading", { name: "Nothing waits for you" }).waitFor();
  await page.getByLabel("1 question waits").waitFor();
  await go("#/approvals");
  await until(async () => /^\(1\)/.test(await page.title()), "the title counts");
  await page.getByRole("button", { name: "Yes", exact: true }).click();
  await answered();
  await Promise.all([page.waitForResponse((it) => it.request().postData()?.includes("inspect/approvals")), send()]);
  await atRest(page);
  assert.equal(await page.locator(".question").count(), 0, "an answered question doesn't come back with an old reply");
  server.ask(approval("q2"));
  await page.getByRole("button", { name: "No…" }).click();
  await page.getByLabel("Why not?").fill("From the release branch only.");
  await page.getByRole("button", { name: "Say no" }).click();
  await answered();
  server.ask(approval("q3"));
  await page.getByRole("button", { name: "Yes, but changed…" }).click();
  await page.getByLabel("The command that runs instead").fill("npm publish --dry-run");
  assert.match(await page.locator(".answer-form .diff ins").first().textContent(), /dry/);
  await page.getByLabel(/the same answer/).check();
  await page.getByRole("button", { name: "Say yes to this" }).click();
  await answered();
  server.ask(approval("q4", { subject: { command: `echo ${"x".repeat(200_000)}; rm -rf /` } }));
  const yes = page.getByRole("button", { name: "Yes", exact: true });
  await yes.waitFor();
  assert.equal(await yes.isDisabled(), true, "nobody says yes to what isn't shown");
  for (let more = page.locator(".question .more"); (await more.count()) > 0;) await more.first().click();
  await until(() => yes.isEnabled(), "yes is possible");
  assert.match(await page.locator(".lit-text").textContent(), /rm -rf \/$/);
  await yes.click();
  await until(() => server.answers.length === 4, "four answers");
  assert.deepEqual(
    server.answers.map((it) => it.reply),
    [
      { decision: "approve" },
      { decision: "deny", reason: "From the release branch only." },
      {
        decision: "approve",
        subject: { command: "npm publish --dry-run", description: "Publish the web package" },
        remember: true,
      },
      { decision: "approve" },
    ],
  );
  end();
});

test("definitions, charts, proposals", async (t) => {
  const [eventsAfter, send] = promise();
  const { page, go, end } = await open(t, { eventsAfter });
  await go("#/definitions");
  await page.getByText("Not in force as written.").waitFor();
  await page.getByText("last good state in force").waitFor();
  assert.match(await page.locator("tr", { hasText: "use-pnpm" }).textContent(), /no case/);
  await page.locator("tr", { hasText: "no-force-push" }).getByText("3 cases").click();
  await page.locator("a.place", { hasText: "no-force-push.test.yaml:3" }).waitFor();
  await page.getByRole("button", { name: "Write one: a case for use-pnpm" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText("Write it into a new file, /home/ana/shop/.hookwire/use-pnpm.test.yaml").waitFor();
  await dialog.getByText("None of the events here has reached it").waitFor();
  send();
  await dialog.getByText('cases: - { bash: "npm install left-pad", expect: { command: "pnpm').waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: ".hookwire/team.yaml" }).click();
  await page.locator(".code-line.severity-error").waitFor();
  await page.getByRole("button", { name: "Close" }).click();
  await page.getByRole("button", { name: "Review for trust" }).click();
  await page.locator(".review-added").waitFor();
  await page.getByText("A page can’t do that for you").waitFor();
  await page.keyboard.press("Escape");
  await go("#/charts");
  await page.locator(".figure").first().waitFor();
  const figure = () => page.locator(".figure").first().textContent();
  const all = await figure();
  await page.getByRole("combobox").fill("decision:deny");
  await until(async () => (await figure()) !== all, "charts follow the filter");
  await page.getByRole("button", { name: "runs" }).click();
  assert.equal(await page.locator("th[aria-sort]").textContent(), "runs ↓");
  await go("#/proposals");
  await page.getByRole("button", { name: "Try it" }).first().click();
  await page.locator(".cm-content", { hasText: "publish-dry-run" }).waitFor();
  end();
});

test("try: the verdict changes as one types, the past, save", async (t) => {
  const { server, page, go, seqOf, end } = await open(t);
  await rowsOf(page).first().waitFor();
  await go(`#/try?event=${seqOf((it) => JSON.stringify(it.params).includes("git status"))}`);
  const editor = page.locator(".cm-content");
  await editor.waitFor();
  const type = async (text) => {
    await editor.click();
    await page.keyboard.press("Control+a");
    await editor.evaluate((it, text) => {
      const clipboardData = new DataTransfer();
      clipboardData.setData("text/plain", text);
      it.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
    }, text);
  };
  await type("hooks:\n  - name: no-status\n    on: PreToolUse\n    if: Bash(git status*)\n    deny: Not now.\n");
  await page.locator(".tried-verdict", { hasText: "deny" }).waitFor();
  await type("hooks:\n  - name: no-status\n    on: PreToolUse\n    if: Bash(git stash*)\n    deny: Not now.\n");
  await page.locator(".tried-verdict", { hasText: "allow" }).waitFor();
  await page.keyboard.press("Control+Home");
  await page.keyboard.type("# why\n");
  await until(async () => (await editor.textContent()).startsWith("# why"), "what is typed");
  await type("hooks:\n  - name: no-status\n    on: PreTolUse\n    deny: Not now.\n");
  await page.locator(".diagnostics", { hasText: "is no event" }).waitFor();
  await page.locator(".cm-lintRange-error").waitFor();
  await type("hooks:\n  - name: no-status\n    on: PreToolUse\n    if: Bash(git status*)\n    deny: Not now.\n");
  await page.locator(".tried-verdict", { hasText: "deny" }).waitFor();
  await page.getByRole("button", { name: "Ask the past" }).click();
  await page.getByText("would have ended otherwise").waitFor();
  await page.getByRole("button", { name: "Add this event as a case" }).click();
  await page.getByLabel("Name").fill("no-status");
  await page.getByRole("button", { name: "Save as a definition" }).click();
  await page.getByText("It isn’t in force yet").waitFor();
  assert.match(server.saved[0].cases, /git status --short", expect: deny/);
  assert.match(server.saved[0].definition, /no-status/);
  await page.getByRole("button", { name: "Paste one" }).click();
  await page.getByLabel("An event, as JSON").fill("{");
  await page.getByText("This is no JSON").waitFor();
  await page
    .getByLabel("An event, as JSON")
    .fill('{"event":"PreToolUse","tool":{"name":"Bash","input":{"command":"git status"}}}');
  await page.locator(".tried-verdict", { hasText: "deny" }).waitFor();
  end();
});

test("what the host says is what is shown: a verdict, an expectation, what didn't run, what counts without an answer", async (t) => {
  const { server, page, go, seqOf, end } = await open(t);
  await rowsOf(page).first().waitFor();
  const { methods } = server;
  const before = methods["inspect/try"];
  // An explanation alone would be read otherwise: of a deny in doubt, of a deny that isn't waited for, of a policy.
  methods["inspect/try"] = (asked) => {
    const tried = before(asked);
    const outcome = { hook: "guard", status: "blocking", decision: "deny", opaque: "it can't be told", durationMicros: 3 };
    const verdict = { decision: "allow", decidedBy: "host", reason: "The host says so.", outcomes: [outcome] };
    return { ...tried, verdict: { ...tried.verdict, ...verdict }, expect: { command: "git stash" }, notRun: ["starter"] };
  };
  await go(`#/try?event=${seqOf((it) => JSON.stringify(it.params).includes("git status"))}`);
  const said = page.locator(".tried");
  await said.getByText("The host says so.").waitFor();
  assert.match(await said.locator(".tried-verdict").textContent(), /allow.*by host/);
  await said.getByText("starter wasn’t run").waitFor();
  await page.getByRole("button", { name: "Add this event as a case" }).click();
  assert.match(await page.getByLabel("Cases").inputValue(), /expect: \{ command: "git stash" \} \}/);
  methods["inspect/try"] = (asked) => ({ ...before(asked), expect: null });
  await go("#/timeline");
  await go(`#/try?event=${seqOf((it) => JSON.stringify(it.params).includes("git status"))}`);
  await page.getByRole("button", { name: "Add this event as a case" }).click();
  assert.doesNotMatch((await page.getByLabel("Cases").inputValue()).trim().split("\n").at(-1), /expect/);
  await go("#/approvals");
  await page.locator(".question", { hasText: "Without an answer, it is denied." }).waitFor();
  server.ask(approval("q2", { message: "May it?", unanswered: "allow" }));
  await page.locator(".question", { hasText: "Without an answer, the hook lets it go on." }).waitFor();
  end();
});

test("events that are lost are said where one sees it", async (t) => {
  const { server, page, go, end } = await open(t);
  await rowsOf(page).first().waitFor();
  server.lose({ kind: "missed", count: 7000, first: 1, last: 7000 });
  server.lose({ kind: "lost", host: "x", count: 745 });
  await page.locator(".status", { hasText: "7,745 lost" }).waitFor();
  await page.getByText("7,745 events aren’t on this page").waitFor();
  await page.locator(".lost").getByRole("button", { name: "Close" }).click();
  await until(async () => (await page.getByText("aren’t on this page").count()) === 0, "the note is closed");
  await page.locator(".status", { hasText: "7,745 lost" }).waitFor();
  const before = server.methods["inspect/history"];
  server.methods["inspect/history"] = (asked) => ({
    ...before(asked),
    gaps: [{ at: new Date().toISOString(), host: "7@x", events: 10_000 }],
  });
  await go("#/history");
  await page.getByText("10,000 events aren’t here").waitFor();
  end();
});

test("history: search, the record's switch, export", async (t) => {
  const { page, go, end } = await open(t);
  await go("#/history?q=decision:deny");
  await rowsOf(page).first().waitFor();
  assert.ok((await rowsOf(page).allTextContents()).every((it) => it.includes("deny")));
  await page.getByText("is kept on this machine for 30 days, 1024 MiB at most").waitFor();
  await page.getByRole("switch", { name: "Record" }).click();
  await until(async () => (await page.getByRole("switch").getAttribute("aria-checked")) === "true", "the record is on");
  await page.getByRole("combobox").fill("");
  await page.getByRole("button", { name: "Load older ones" }).click();
  await until(async () => /^400/.test(await page.locator(".sum").textContent()), "older ones");
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Export" }).click()]);
  const lines = (await readFile(await download.path(), "utf8"))
    .trim()
    .split("\n")
    .map((it) => JSON.parse(it));
  assert.equal(lines[0].seq, 1);
  assert.ok(lines.length > 400);
  await rowsOf(page).first().click();
  await page.locator("[data-event-title]").waitFor();
  end();
});

test("without a host, an event, a connection or a session, the page says what to do", async (t) => {
  const { server, page, go, end } = await open(t, { isEmpty: true });
  await page.getByText("hookwire install claude-code").waitFor();
  for (const view of ["approvals", "charts", "definitions", "try", "proposals", "history"]) {
    await go(`#/${view}`);
    await page.locator(".empty h2").first().waitFor();
  }
  server.cut();
  await page.getByText("The connection is lost.").waitFor();
  server.mend();
  await until(async () => (await page.getByText("The connection is lost.").count()) === 0, "the connection is back");
  await page.reload();
  await page.getByRole("heading", { name: "This page has no session" }).waitFor();
  const used = server.address();
  await page.goto(used);
  await page.getByText("0 hosts").waitFor({ state: "attached" });
  await page.goto("about:blank");
  await page.goto(used);
  await page.getByRole("heading", { name: "This address was used already" }).waitFor();
  end();
});

test("after a lost connection the stream goes on without doubles", async (t) => {
  const { server, page, end } = await open(t, { many: 50 });
  await rowsOf(page).first().waitFor();
  server.cut();
  await page.getByText("The connection is lost.").waitFor();
  server.mend();
  await until(() => page.locator(".status.is-live").isVisible(), "live again");
  server.next({ command: "echo back" });
  await rowsOf(page).filter({ hasText: "echo back" }).waitFor();
  await until(
    async () => (await page.locator(".sum").textContent()).startsWith(`${server.records.length} events`),
    "each event once",
  );
  end();
});

test("the timeline gives a file of what the filter shows", async (t) => {
  const { server, page, go, end } = await open(t);
  await go("#/timeline?q=decision:deny");
  const denied = server.records.filter((it) => it.verdict.decision === "deny").map((it) => it.seq);
  await until(async () => (await page.locator(".sum").textContent()).startsWith(`${denied.length} of`), "the filter");
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Export" }).click()]);
  const lines = (await readFile(await download.path(), "utf8")).trim().split("\n");
  assert.deepEqual(
    lines.map((it) => JSON.parse(it).seq),
    denied,
  );
  assert.equal(lines.at(-1), JSON.stringify(server.records.find((it) => it.seq === denied.at(-1))));
  end();
});

test("what several hosts have kept is put in order", async (t) => {
  const { server, page, end } = await open(t, { many: 300, shuffled: true });
  const all = `${server.records.length} events`;
  await until(async () => (await page.locator(".sum").textContent()).startsWith(all), "all of them");
  const tails = (await page.locator(".row.event .cell-time").allTextContents()).map((it) => it.slice(-6));
  assert.deepEqual(
    tails,
    server.records
      .filter((it) => !isPlainStart(it))
      .map((it) => it.at)
      .sort()
      .reverse()
      .slice(0, tails.length)
      .map((it) => it.slice(-7, -1)),
  );
  assert.equal(server.records.length, 309);
  end();
});

test("a hostile event does nothing, wherever its texts are shown", async (t) => {
  const { server, page, go, end } = await open(t, { withHostile: true, many: 60 });
  server.ask(
    approval("bad", {
      hook: HOSTILE,
      message: HOSTILE,
      session: HOSTILE,
      agent: HOSTILE,
      tool: HOSTILE,
      cwd: HOSTILE,
      subject: { command: HOSTILE + "B".repeat(1024 * 1024), [HOSTILE]: HOSTILE },
    }),
  );
  const { methods } = server;
  const explained = methods["inspect/explain"];
  methods["inspect/explain"] = (params) => ({
    ...explained(params),
    commands: [{ command: HOSTILE, start: 0, end: 40 }],
    acts: [`reads ${HOSTILE}`],
    notices: [HOSTILE],
    hooks: explained(params).hooks.map((it) => ({
      ...it,
      hook: HOSTILE,
      source: { ...it.source, file: HOSTILE },
      keptOutBy: { test: HOSTILE, why: HOSTILE },
      applies: false,
    })),
  });
  methods["hooks/list"] = ((list) => () => ({
    ...list(),
    hooks: list().hooks.map((it) => ({
      ...it,
      name: HOSTILE,
      on: [HOSTILE],
      handler: HOSTILE,
      description: HOSTILE,
      source: { ...it.source, file: `/${HOSTILE}` },
    })),
    directories: [{ layer: "project", path: HOSTILE }],
  }))(methods["hooks/list"]);
  methods["inspect/suggest"] = () => ({
    proposals: [{ name: HOSTILE, reason: HOSTILE, definition: HOSTILE, cases: HOSTILE, examples: [HOSTILE] }],
  });
  methods["inspect/record"] = () => ({ on: true, keeps: HOSTILE, events: 1, bytes: 1 });
  methods["inspect/trust"] = () => ({ root: HOSTILE, isTrusted: false, lines: [{ look: "added", text: HOSTILE }] });
  await rowsOf(page).first().waitFor();
  const check = async (where) => {
    const found = await page.evaluate(() => {
      const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
      const texts = [];
      while (walker.nextNode())
        if (/[\u202a-\u202e\u2066-\u2069\u200b\u0007\u001b\u0000]/.test(walker.currentNode.data))
          texts.push(walker.currentNode.data.slice(0, 80));
      const names = [...document.querySelectorAll("[aria-label],[title]")]
        .flatMap((it) => [it.getAttribute("aria-label"), it.getAttribute("title")])
        .filter((it) => /[\u202a-\u202e\u2066-\u2069\u200b\u0007\u001b]/.test(it ?? ""));
      const links = [...document.querySelectorAll("a[href]")]
        .map((it) => it.getAttribute("href"))
        .filter((it) => !/^(#|vscode:\/\/file\/)/.test(it));
      return {
        isPwned: "pwned" in window,
        elements: document.querySelectorAll("#app script, #app img, #app iframe, #app style").length,
        texts,
        names,
        links,
        wide: document.documentElement.scrollWidth > innerWidth,
      };
    });
    assert.deepEqual(found, { isPwned: false, elements: 0, texts: [], names: [], links: [], wide: false }, where);
  };
  await check("the timeline");
  await go(`#/timeline?event=shop-1.${server.records.at(-1).seq}`);
  await page.locator(".hop").first().waitFor();
  await page.locator("details.record summary").click();
  await page
    .locator(".is-over summary")
    .first()
    .click()
    .catch(() => {});
  await check("the event");
  await page.locator(".more").first().click();
  await check("all of it");
  for (const view of ["timeline?group=session", "timeline?group=agent", ...VIEWS]) {
    await show(page, view);
    await check(view);
  }
  await go("#/definitions");
  await page.getByRole("button", { name: "Review for trust" }).click();
  await page.locator(".review-added").waitFor();
  await check("trust");
  await page.keyboard.press("Escape");
  end();
});

test("at 400 % zoom nothing is lost sideways", async (t) => {
  const { page, seqOf, end } = await open(t, { width: 320, height: 256, reducedMotion: "reduce" });
  await rowsOf(page).first().waitFor();
  for (const view of ["timeline", `timeline?event=${seqOf((it) => it.verdict.subject)}`, ...VIEWS]) {
    await show(page, view);
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 320, view);
  }
  end();
});
