// Every view without a finding of axe, in both themes.
import test from "node:test";
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { atRest, browse, show, VIEWS } from "./browser.mjs";
import { approval } from "./data.mjs";
import { serve } from "./serve.mjs";

const axe = await readFile(new URL("../node_modules/axe-core/axe.min.js", import.meta.url), "utf8");

/** Gathers what axe finds. */
function finding(page, context) {
  const found = [];
  const run = async (where) => {
    // In a world of its own, where the page's policy doesn't hold.
    const session = await context.newCDPSession(page);
    const { frameTree } = await session.send("Page.getFrameTree");
    const { executionContextId: contextId } = await session.send("Page.createIsolatedWorld", { frameId: frameTree.frame.id });
    await session.send("Runtime.evaluate", { expression: axe, contextId });
    const { result } = await session.send("Runtime.evaluate", {
      contextId,
      awaitPromise: true,
      returnByValue: true,
      expression: `axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] }).then((it) => it.violations.map((v) => v.id + ": " + v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160) + " " + n.failureSummary.replace(/\\s+/g, " ").slice(0, 240)).join(" | ")))`,
    });
    for (const it of result.value ?? [JSON.stringify(result)]) found.push(`${where}: ${it}`);
    await session.detach();
  };
  return { found, run };
}

for (const colorScheme of ["light", "dark"]) {
  test(`axe finds nothing, ${colorScheme}`, async (t) => {
    const server = await serve({ many: 200 });
    const { page, context, close } = await browse({ colorScheme });
    t.after(async () => {
      await close();
      server.close();
    });
    await page.goto(server.address());
    await page.locator(".row.event").first().waitFor();
    const of = (is) => `shop-1.${server.records.findLast(is).seq}`;
    const { found, run } = finding(page, context);
    const views = [
      "timeline",
      "timeline?group=session",
      "timeline?q=text:nothing-has-this",
      `timeline?event=${of((it) => it.verdict.subject)}`,
      `timeline?event=${of((it) => it.verdict.outcomes.some((o) => o.opaque))}`,
      `timeline?event=${of((it) => JSON.stringify(it.params).includes("make release") && it.event === "PreToolUse")}`,
      ...VIEWS,
    ];
    for (const view of views) {
      await show(page, view);
      await run(view);
    }
    await show(page, "definitions");
    await page.getByRole("button", { name: "Write one: a case for use-pnpm" }).click();
    await page.getByRole("dialog").waitFor();
    await atRest(page);
    await run("a first case");
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Review for trust" }).click();
    await page.locator(".review-added").waitFor();
    await run("trust");
    await page.keyboard.press("Escape");
    await page.keyboard.press("?");
    await page.getByRole("dialog").waitFor();
    await run("keys");
    await page.keyboard.press("Escape");
    await show(page, "approvals");
    await page.getByRole("button", { name: "Yes, but changed…" }).click();
    await run("a changed yes");
    server.cut();
    await page.getByText("The connection is lost.").waitFor();
    await run("lost");
    await page.reload();
    await page.getByRole("heading", { level: 1 }).waitFor();
    await run("no session");
    assert.deepEqual(found, []);
  });
  test(`axe finds nothing in a fleet, ${colorScheme}`, async (t) => {
    const problems = { verdicts: "this account may not read verdicts" };
    const fleet = {
      servers: "nats://a",
      given: "a.toml",
      away: "no server is reached",
      problems,
      more: 1,
      newest: 4,
      key: "51c0",
    };
    const server = await serve({ many: 100, fleet });
    const { page, context, close } = await browse({ colorScheme });
    t.after(async () => {
      await close();
      server.close();
    });
    server.approvals.splice(0);
    for (const isBelieved of [true, false]) server.ask(approval(`q${isBelieved}`, { question: `q${isBelieved}`, isBelieved }));
    await page.goto(server.address());
    await page.locator(".row.event").first().waitFor();
    const { found, run } = finding(page, context);
    await run("timeline");
    await page.locator(".row.event").first().click();
    await page.locator("[data-event-title]").waitFor();
    await run("an event");
    for (const [view, there] of [
      ["approvals", ".question"],
      ["definitions", ".table.hooks"],
      ["try", ".empty"],
      ["history", ".row.event"],
    ]) {
      await page.evaluate((it) => {
        location.hash = it;
      }, `#/${view}`);
      await page.locator(there).first().waitFor();
      await atRest(page);
      await run(view);
    }
    assert.deepEqual(found, []);
  });
}
