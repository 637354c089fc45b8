// A real Chromium for the tests, with a page of a stand-in or of a real `hookwire inspect`.
import { chromium } from "playwright-core";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** What each view shows once it is there. */
const THERE = {
  timeline: ".row.event, .row.group, .empty",
  approvals: ".question, .empty",
  charts: ".figure",
  definitions: ".table.hooks",
  try: ".cm-content",
  proposals: ".proposal, .empty",
  history: ".row.event, .empty",
};

/** The views beside the timeline. */
export const VIEWS = Object.keys(THERE).filter((it) => it !== "timeline");

/** Goes to an address of the page, such as `timeline?q=decision:deny`, and waits until the view is there and at rest. */
export async function show(page, address) {
  await page.evaluate((it) => {
    location.hash = it;
  }, `#/${address}`);
  const [view, query = ""] = address.split("?");
  await page.locator(`nav [aria-current="page"][href="#/${view}"]`).waitFor({ state: "attached" });
  // On a narrow page the event stands where the list was.
  await page
    .locator(/\bevent=/.test(query) ? "[data-event-title]" : THERE[view])
    .first()
    .waitFor();
  await atRest(page);
}

/** Waits until nothing is asked for any more and nothing moves, but for what always does. */
export async function atRest(page) {
  await page.waitForFunction(() => document.querySelector(".loading") === null);
  await page.evaluate(async () => {
    const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
    await frame();
    await frame();
    const ends = document.getAnimations().filter((it) => it.effect?.getComputedTiming().iterations !== Infinity);
    await Promise.allSettled(ends.map((it) => it.finished));
  });
}

export async function browse({
  colorScheme = "dark",
  width = 1440,
  height = 900,
  reducedMotion = "no-preference",
  scale = 1,
} = {}) {
  const directory = await mkdtemp(join(tmpdir(), "hookwire-inspector-"));
  const context = await chromium.launchPersistentContext(directory, {
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: [
      "--headless",
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
    viewport: { width, height },
    colorScheme,
    reducedMotion,
    deviceScaleFactor: scale,
  });
  const page = context.pages()[0] ?? (await context.newPage());
  page.setDefaultTimeout(15_000);
  const problems = [];
  page.on("pageerror", (error) => problems.push(String(error)));
  page.on("console", (message) => {
    if (message.type() === "error" && !/ERR_|Failed to load resource/.test(message.text())) problems.push(message.text());
  });
  return {
    page,
    context,
    problems,
    close: async () => {
      await context.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}
