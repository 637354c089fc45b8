// Pictures of the views, to look at: `node test/shots.mjs DIRECTORY [VIEW...]`.
import { mkdir } from "node:fs/promises";
import { browse, show } from "./browser.mjs";
import { serve } from "./serve.mjs";

const [directory = "/tmp/front-shots", ...views] = process.argv.slice(2);
await mkdir(directory, { recursive: true });
const VIEWS = {
  timeline: "#/timeline",
  event: "last",
  rewrite: "rewrite",
  doubt: "doubt",
  grouped: "#/timeline?group=session",
  filtered: "#/timeline?q=decision:deny+foo:bar",
  approvals: "#/approvals",
  charts: "#/charts",
  definitions: "#/definitions",
  try: "#/try",
  proposals: "#/proposals",
  history: "#/history",
  hostile: "hostile",
  narrow: "#/timeline",
  programs: "programs",
};
for (const colorScheme of ["dark", "light"]) {
  const server = await serve({ withHostile: views.includes("hostile") });
  const { page, problems, close } = await browse({ colorScheme });
  await page.goto(server.address());
  await page.waitForSelector(".row.event");
  for (const view of views.length > 0 ? views : Object.keys(VIEWS).filter((it) => it !== "hostile")) {
    await page.setViewportSize(view === "narrow" ? { width: 360, height: 640 } : { width: 1440, height: 900 });
    const of = (test) => server.records.findLast(test).seq;
    const target = {
      last: () => of((it) => it.verdict.decision === "deny" && it.event === "PreToolUse"),
      rewrite: () => of((it) => it.verdict.subject),
      doubt: () => of((it) => it.verdict.outcomes.some((o) => o.opaque)),
      hostile: () => server.records.at(-1).seq,
      programs: () => of((it) => JSON.stringify(it.params).includes("make release") && it.event === "PreToolUse"),
    }[VIEWS[view]];
    await show(page, target ? `timeline?event=shop-1.${target()}` : VIEWS[view].slice(2));
    await page.screenshot({ path: `${directory}/${view}-${colorScheme}.png` });
  }
  if (problems.length > 0) console.log(problems);
  await close();
  server.close();
}
