// A real Chromium for the tests, with a page of a stand-in or of a real `hookwire inspect`.
import { chromium } from "playwright-core";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** The views beside the timeline. */
export const VIEWS = ["approvals", "charts", "definitions", "try", "proposals", "history"];

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
