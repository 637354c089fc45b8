// Every view without a finding of axe, in both themes.
import test from "node:test";
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { browse, VIEWS } from "./browser.mjs";
import { serve } from "./serve.mjs";

const axe = await readFile(new URL("../node_modules/axe-core/axe.min.js", import.meta.url), "utf8");

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
      await page.evaluate((it) => {
        location.hash = it;
      }, `#/${view}`);
      await page.waitForTimeout(600);
      await run(view);
    }
    await page.evaluate(() => {
      location.hash = "#/definitions";
    });
    await page.getByRole("button", { name: "Review for trust" }).click();
    await page.locator(".review-added").waitFor();
    await run("trust");
    await page.keyboard.press("Escape");
    await page.keyboard.press("?");
    await page.getByRole("dialog").waitFor();
    await run("keys");
    await page.keyboard.press("Escape");
    await page.evaluate(() => {
      location.hash = "#/approvals";
    });
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
}
