// A real `hookwire inspect` with a project and a host of its own; HOOKWIRE names the program.
import { spawn, spawnSync } from "node:child_process";
import { mkdtemp, mkdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

const RULES = `hooks:
  - { name: no-force-push, on: PreToolUse, if: Bash(git push --force*), deny: Force pushes are off. Push a new commit. }
  - { name: ask-before-publish, on: PreToolUse, if: Bash(npm publish *), ask: This publishes a package. Is the version right? }
  - { name: watch-curl, on: PreToolUse, if: Bash(curl *), observe: true, deny: No network. }
  - { name: use-pnpm, on: PreToolUse, if: Bash(npm *), rewrite: { program: pnpm } }
  - { name: lint, on: PostToolUse, matcher: Edit|Write, command: sleep 0.05; exit 3 }
`;
const CASES = "cases:\n  - { bash: git push -f, expect: deny }\n  - { bash: git push, expect: allow }\n";

/** `definitions` are texts by the names of their files; `top` is a directory that isn't there yet. */
export async function inspect({ definitions = { "team.yaml": RULES, "team.test.yaml": CASES }, top } = {}) {
  const program = process.env.HOOKWIRE;
  if (top === undefined) top = await mkdtemp(join(tmpdir(), "hookwire-real-"));
  else await mkdir(top);
  const at = (name) => join(top, name);
  for (const name of ["run", "home", "shop/.hookwire"]) await mkdir(at(name), { recursive: true, mode: 0o700 });
  for (const [name, text] of Object.entries(definitions)) await writeFile(at(`shop/.hookwire/${name}`), text);
  const env = {
    PATH: process.env.PATH,
    HOME: at("home"),
    XDG_RUNTIME_DIR: at("run"),
    XDG_DATA_HOME: at("home/data"),
    XDG_CONFIG_HOME: at("home/config"),
    ...(process.env.HOOKWIRE_INSPECTOR_PAGE && { HOOKWIRE_INSPECTOR_PAGE: process.env.HOOKWIRE_INSPECTOR_PAGE }),
  };
  const cwd = at("shop");
  // Beside the environment, the person's home is in the password database.
  const own = ["--user-dir", at("home/config"), "--data-dir", at("home/data")];
  const run = (args, input = "") => spawnSync(program, [...own, ...args], { cwd, env, input, encoding: "utf8" });
  const trusted = run(["trust", "--yes"]);
  if (trusted.status !== 0) throw new Error(trusted.stderr);
  const child = spawn(program, [...own, "inspect", "--no-open"], { cwd, env, stdio: ["pipe", "pipe", "inherit"] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const address = async () => {
    for (;;) {
      const { value, done } = await lines.next();
      if (done) throw new Error("inspect has ended");
      const url = /http:\S+#start=\S+/.exec(value)?.[0];
      if (url) return url;
    }
  };
  const send = (agent, event) => run(["hook", agent], JSON.stringify({ session_id: "s-1", cwd, ...event }));
  const bash = (command, agent = "claude-code") =>
    send(agent, { hook_event_name: "PreToolUse", tool_name: "Bash", tool_input: { command } });
  // What an agent is answered, as soon as it is.
  const hook = (agent, event, ...more) => {
    const it = spawn(program, [...own, "hook", agent, ...more], { cwd, env, stdio: ["pipe", "pipe", "inherit"] });
    it.stdin.end(JSON.stringify(event));
    let out = "";
    it.stdout.on("data", (text) => {
      out += text;
    });
    return new Promise((resolve) => it.on("close", () => resolve(out)));
  };
  // Waits until a person answers; the caller awaits the reply.
  const waits = (command) => {
    const event = { session_id: "s-2", hook_event_name: "PreToolUse", tool_name: "Bash", tool_input: { command }, cwd };
    return hook("codex", event, "--ask-elsewhere", "60s");
  };
  const write = (name, text) => writeFile(at(`shop/.hookwire/${name}`), text);
  // A call in a transcript of Claude Code that nobody was asked about.
  const plant = async (command, secondsAgo) => {
    const dir = at("home/.claude/projects/p");
    await mkdir(dir, { recursive: true });
    const timestamp = new Date(Date.now() - secondsAgo * 1000).toISOString();
    const line = (type, block) => JSON.stringify({ type, sessionId: "t", cwd, timestamp, message: { content: [block] } });
    const lines = [
      line("assistant", { type: "tool_use", id: "1", name: "Bash", input: { command } }),
      line("user", { type: "tool_result", tool_use_id: "1", content: "" }),
    ];
    await writeFile(join(dir, "t.jsonl"), lines.join("\n") + "\n");
  };
  const close = async () => {
    child.kill("SIGINT");
    run(["host", "stop"]);
    await rm(top, { recursive: true, force: true });
  };
  return {
    address,
    again: () => {
      child.stdin.write("\n");
      return address();
    },
    bash,
    send,
    hook,
    waits,
    run,
    write,
    plant,
    cwd,
    close,
  };
}
