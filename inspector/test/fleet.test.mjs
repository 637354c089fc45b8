// The page of a fleet: what is different where the hosts are on other machines.
import test from "node:test";
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { browse, show } from "./browser.mjs";
import { approval } from "./data.mjs";
import { serve } from "./serve.mjs";

const FLEET = {
  servers: "nats://nats-1.example",
  given: "approver.toml",
  problems: {},
  more: 0,
  newest: 4,
  key: "51c0f2a4b6d81e37",
};

async function open(t, fleet, more = {}) {
  const server = await serve({ many: 300, fleet: { ...FLEET, ...fleet }, ...more });
  const { page, problems, close } = await browse();
  t.after(async () => {
    await close();
    server.close();
  });
  server.approvals.splice(0);
  await page.goto(server.address());
  await page.getByText("2 hosts").first().waitFor({ state: "attached" });
  return { server, page, end: () => assert.deepEqual(problems, []) };
}
const goTo = (page, view) =>
  page.evaluate((it) => {
    location.hash = it;
  }, `#/${view}`);

test("a fleet: the verdicts of all machines, and what only a host can tell is said", async (t) => {
  const { server, page, end } = await open(t, {});
  await page.locator(".row.event").first().waitFor();
  await page.waitForFunction((n) => document.querySelector(".sum").textContent.startsWith(`${n} events`), server.records.length);
  await show(page, "timeline?q=host:web-1");
  const half = server.records.filter((it) => it.seq % 2 === 0).length;
  await page.waitForFunction((n) => document.querySelector(".sum").textContent.startsWith(`${n} of`), half);
  await page.getByText("web-1 ·").first().waitFor();
  await page.locator(".row.event").first().click();
  await page.locator("[data-event-title]").waitFor();
  assert.match(page.url(), /event=web-1\.4f2a\.\d+/);
  await page.getByText("it is on another machine, where hookwire inspect").waitFor();
  await page.locator(".loading").first().waitFor({ state: "detached" });
  assert.ok(!server.calls.some((it) => it.method.includes("explain")), "nobody is asked in vain");
  for (const [view, text] of [
    ["try", "A rule is tried by a host of this machine"],
    ["proposals", "Proposals come from this machine’s record"],
    ["definitions", "Hooks, files and cases are shown on a host’s own machine"],
  ]) {
    await goTo(page, view);
    await page.getByText(text).waitFor();
  }
  await page.getByText("1 behind; refuses revision 4").waitFor();
  await page.getByText("Revision 4 is the newest").waitFor();
  await page.getByRole("button", { name: "web-2" }).click();
  await page.waitForFunction(() => location.hash.endsWith("q=host:web-2"));
  server.fleetIs({ ...FLEET, away: "no server is reached at nats://nats-1.example: the connection was lost" });
  await page.getByText("The fleet is away:").waitFor();
  server.fleetIs(FLEET);
  await page.getByText("The fleet is away:").waitFor({ state: "detached" });
  end();
});

test("a fleet: the history is searched in parts", async (t) => {
  const { server, page, end } = await open(t, {});
  await show(page, "history?q=decision:deny");
  await page.getByText("What the fleet’s servers have stored").waitFor();
  assert.equal(await page.getByRole("switch", { name: "Record" }).count(), 0);
  const all = server.records.filter((it) => it.verdict.decision === "deny").length;
  for (;;) {
    await page.getByText("back to").waitFor();
    const more = page.getByRole("button", { name: "Load older ones" });
    if ((await more.count()) === 0) break;
    await more.click();
    await page.waitForFunction(() => !document.querySelector(".sum").textContent.includes("Searching"));
  }
  assert.ok((await page.locator(".sum").textContent()).startsWith(`${all} events`));
  const download = page.waitForEvent("download");
  await page.getByRole("button", { name: "Export" }).click();
  const lines = (await readFile(await (await download).path(), "utf8")).trim().split("\n");
  assert.equal(lines.length, all, "parts in which nothing fits end nothing");
  await show(page, "history?q=text:nothing-has-this");
  await page.getByText("Nothing fits among the newest verdicts").waitFor();
  await page.getByRole("button", { name: "Load older ones" }).waitFor();
  end();
});

test("a fleet: a question is answered with the key, or the page says how", async (t) => {
  const { server, page, end } = await open(t, {});
  await goTo(page, "approvals");
  const ofFleet = (id, isBelieved) => approval(id, { question: `web-1.p3.${id}.5f0c`, isBelieved });
  server.ask(ofFleet("9f3c21d07be44a10", true));
  await page.getByText("signed with your key").waitFor();
  assert.equal(await page.getByRole("button", { name: "Yes, but changed…" }).count(), 0);
  assert.equal(await page.getByRole("checkbox").count(), 0);
  await page.getByRole("button", { name: "No…" }).click();
  await page.getByLabel("Why not?").fill("Not on a Friday.");
  await page.getByRole("button", { name: "Say no" }).click();
  await page.getByText("Nothing waits for you").waitFor();
  assert.deepEqual(server.answers, [
    {
      id: "9f3c21d07be44a10",
      question: "web-1.p3.9f3c21d07be44a10.5f0c",
      reply: { decision: "deny", reason: "Not on a Friday." },
    },
  ]);
  server.ask(ofFleet("aa00000000000000", false));
  await page.getByText("The host doesn’t believe the key").waitFor();
  assert.equal(await page.getByRole("button", { name: "Yes", exact: true }).count(), 0);
  server.fleetIs({ ...FLEET, key: null });
  await page.getByText("This page has no approver’s key.").waitFor();
  await page.getByText("hookwire approvals approve aa00000000000000 --fleet approver.toml --key KEY").waitFor();
  end();
});

test("a fleet: what an account may not read is said", async (t) => {
  const may = (what) => `this account may not read ${what}`;
  const problems = { verdicts: may("verdicts"), questions: may("questions"), reports: may("reports") };
  const { page, end } = await open(t, { problems }, { isEmpty: true });
  for (const [view, what] of [
    ["timeline", "verdicts"],
    ["history", "verdicts"],
    ["approvals", "questions"],
    ["definitions", "reports"],
  ]) {
    await goTo(page, view);
    await page.getByText(`There are no ${what} here: ${may(what)}.`, { exact: false }).waitFor();
    assert.equal(await page.getByText("Nothing waits for you").count(), 0);
  }
  end();
});
