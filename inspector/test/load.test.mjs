// Much at once. What counts is the processor time of each task of the page's thread. The limit is the 50 ms at which a
// person notices, on a machine that draws `FLOOR` in its time; a slower or a busier one has as much more.
import test from "node:test";
import assert from "node:assert/strict";
import { browse, show } from "./browser.mjs";
import { serve } from "./serve.mjs";

const LIMIT = 50;

/** Rows that a task lays out, and the milliseconds of processor time that it takes on the machine of the limit. */
const FLOOR = { rows: 600, ms: 20 };

/** How many times as long as on the machine of the limit the same work takes here and now; at least once as long. */
async function slownessOf(page, context) {
  const { all } = await tasks(page, context, () =>
    page.evaluate(async (rows) => {
      for (let n = 0; n < 60; n++) {
        await new Promise((resolve) => setTimeout(resolve));
        const list = document.createElement("div");
        for (let i = 0; i < rows; i++) {
          const row = list.appendChild(document.createElement("p"));
          row.append(document.createElement("b"), `row ${n}.${i}`);
        }
        document.body.append(list);
        list.getBoundingClientRect();
        list.remove();
      }
    }, FLOOR.rows),
  );
  // The tasks that laid rows out are the longest of all.
  const longest = all.sort((a, b) => b - a).slice(0, 60);
  return Math.max(1, longest[30] / FLOOR.ms);
}

/** The tasks of the page's main thread while something is done; times are in milliseconds of its processor time. */
async function tasks(page, context, run) {
  const session = await context.newCDPSession(page);
  const events = [];
  session.on("Tracing.dataCollected", ({ value }) => {
    for (const it of value) if (it.ph === "X" || it.name === "thread_name") events.push(it);
  });
  await session.send("Tracing.start", {
    traceConfig: {
      includedCategories: [
        "toplevel",
        "disabled-by-default-devtools.timeline",
        "__metadata",
        ...(process.env.SLOWEST ? ["devtools.timeline", "v8", "disabled-by-default-v8.gc"] : []),
      ],
      recordMode: "recordContinuously",
    },
    transferMode: "ReportEvents",
  });
  await run();
  const done = new Promise((resolve) => session.once("Tracing.tracingComplete", resolve));
  await session.send("Tracing.end");
  await done;
  await session.detach();
  const main = new Set(
    events.filter((it) => it.name === "thread_name" && it.args.name === "CrRendererMain").map((it) => `${it.pid}.${it.tid}`),
  );
  const ran = events.filter((it) => /RunTask/.test(it.name) && main.has(`${it.pid}.${it.tid}`));
  const longest = (clock) => Math.max(0, ...ran.map((it) => (it[clock] ?? 0) / 1000));
  assert.ok(ran.length > 50, "tasks were seen");
  if (process.env.SLOWEST) {
    const worst = ran.reduce((a, b) => ((a.tdur ?? 0) > (b.tdur ?? 0) ? a : b));
    const within = events.filter(
      (it) =>
        it !== worst &&
        it.pid === worst.pid &&
        it.tid === worst.tid &&
        it.ts >= worst.ts &&
        it.ts < worst.ts + worst.dur &&
        (it.tdur ?? it.dur ?? 0) > 1000,
    );
    for (const it of within)
      console.error(it.name, ((it.tdur ?? it.dur) / 1000).toFixed(1), JSON.stringify(it.args?.data ?? it.args).slice(0, 200));
  }
  return { all: ran.map((it) => (it.tdur ?? 0) / 1000), longest: longest("tdur"), longestByWall: longest("dur") };
}

/** The longest task while something is done, and its limit, from the same work before and afterwards. */
async function tasksWhile(page, context, run) {
  const before = await slownessOf(page, context);
  const figures = await tasks(page, context, run);
  const after = await slownessOf(page, context);
  return { ...figures, limit: LIMIT * Math.max(before, after) };
}

const say = ({ longest, longestByWall, limit }) =>
  `longest task ${longest.toFixed(1)} ms of processor time, of ${limit.toFixed(1)}; ${longestByWall.toFixed(1)} ms by the clock`;

const rows = (page) => page.evaluate(() => document.querySelectorAll(".list .row").length);

/** Waits until the page has so many events. */
const holds = (page, n) =>
  page.waitForFunction((n) => Number(document.querySelector(".status small").textContent.replace(/\D/g, "")) >= n, n, {
    polling: 100,
  });

/** The page with so many events, until the test ends. */
async function open(t, many) {
  const server = await serve({ many });
  const { close, ...browser } = await browse();
  t.after(async () => {
    await close();
    server.close();
  });
  await browser.page.goto(server.address());
  await browser.page.locator(".row.event").first().waitFor();
  return { server, ...browser };
}

// What the page does itself, it does each time; a collection of garbage or other work of the machine falls into one.
async function leastOf(times, measured) {
  let least = await measured();
  for (let n = 1; n < times && least.longest >= least.limit; n++) {
    const next = await measured();
    if (next.longest / next.limit < least.longest / least.limit) least = next;
  }
  return least;
}

test("10,000 events a minute while somebody filters and reads", async (t) => {
  const { server, page, context, problems } = await open(t, 2000);
  const timer = setInterval(() => {
    for (let i = 0; i < 17; i++) server.next({ flat: true });
  }, 100);
  // The time that a person looks at something: until so many more events have come in.
  const came = async (n) => holds(page, server.records.length + n);
  const line = page.getByRole("combobox", { name: "Filter events" });
  const filterAndRead = async () => {
    for (const text of ["decision:deny", "tool:Bash text:push", "agent:codex", "is:doubt", ""]) {
      await line.fill("");
      await line.pressSequentially(text, { delay: 30 });
      await came(85);
    }
    await page.getByLabel("Group by").selectOption("session");
    await page.locator(".row.group").first().waitFor();
    await came(135);
    await page.locator("[data-list]").evaluate((it) => {
      it.scrollTop = 900;
    });
    await came(135);
    await show(page, "charts");
    await came(255);
  };
  const figures = await leastOf(3, async () => {
    const measured = await tasksWhile(page, context, filterAndRead);
    await show(page, "timeline");
    await page.getByLabel("Group by").selectOption("");
    return measured;
  });
  clearInterval(timer);
  // No event is lost.
  await page.locator(".sum", { hasText: `${server.records.length.toLocaleString("en")} events` }).waitFor();
  t.diagnostic(`${server.records.length} events; ${say(figures)}`);
  assert.ok(figures.longest < figures.limit, say(figures));
  assert.deepEqual(problems, []);
});

test("a scroll through 100,000 events", async (t) => {
  const { server, page, context, problems } = await open(t, 101_500);
  await page.locator(".status", { hasText: "older ones gone" }).waitFor({ timeout: 60_000 });
  // The newest is the last that comes.
  const newest = server.records.at(-1).params;
  const command = (newest.payload ?? newest).tool_input?.command ?? newest.tool?.input?.command;
  await page.waitForFunction((it) => document.querySelector(".row.event").textContent.includes(it), command, {
    polling: 100,
    timeout: 60_000,
  });
  const n = Number((await page.locator(".sum").textContent()).replace(/ event.*/, "").replace(/\D/g, ""));
  assert.ok(n > 90_000 && n <= 100_000, `${n} events are kept`);
  const figures = await leastOf(3, () =>
    tasksWhile(page, context, async () => {
      await page.locator("[data-list]").evaluate(async (list) => {
        const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
        const whole = list.scrollHeight;
        for (let i = 0; i <= 150; i++) {
          list.scrollTop = (whole * i) / 150;
          await frame();
        }
        for (let i = 0; i <= 100; i++) {
          list.scrollTop -= 120;
          await frame();
        }
      });
      await page.locator("[data-list]").focus();
      for (const key of ["Home", "PageDown", "PageDown", "End", "PageUp", "ArrowUp", "Home"]) await page.keyboard.press(key);
    }),
  );
  const inPage = await rows(page);
  const memory = await page.evaluate(() => Math.round((performance.memory?.usedJSHeapSize ?? 0) / 1e6));
  t.diagnostic(`${n} events, ${inPage} rows in the page, ${memory} MB; ${say(figures)}`);
  assert.ok(inPage < 120, `${inPage} rows are in the page`);
  assert.ok(figures.longest < figures.limit, say(figures));
  const filtering = await tasksWhile(page, context, async () => {
    await page.getByRole("combobox", { name: "Filter events" }).pressSequentially("decision:deny text:push", { delay: 20 });
    // It says `98,000 of 98,000 events` until they are filtered.
    await page.waitForFunction(() => /^(\S+) of (?!\1 )/.test(document.querySelector(".sum").textContent));
    await page.getByLabel("Group by").selectOption("session");
    await page.locator(".row.group").first().waitFor();
  });
  t.diagnostic(`filtering them: ${say(filtering)}`);
  assert.ok(filtering.longest < filtering.limit, `while filtering: ${say(filtering)}`);
  assert.deepEqual(problems, []);
});
