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

export async function inspect(program = process.env.HOOKWIRE) {
  const top = await mkdtemp(join(tmpdir(), "hookwire-real-"));
  const at = (name) => join(top, name);
  for (const name of ["run", "home", "shop/.hookwire"]) await mkdir(at(name), { recursive: true, mode: 0o700 });
  await writeFile(at("shop/.hookwire/team.yaml"), RULES);
  await writeFile(at("shop/.hookwire/team.test.yaml"), CASES);
  const env = {
    PATH: process.env.PATH,
    HOME: at("home"),
    XDG_RUNTIME_DIR: at("run"),
    XDG_DATA_HOME: at("home/data"),
    XDG_CONFIG_HOME: at("home/config"),
    ...(process.env.HOOKWIRE_INSPECTOR_PAGE && { HOOKWIRE_INSPECTOR_PAGE: process.env.HOOKWIRE_INSPECTOR_PAGE }),
  };
  const cwd = at("shop");
  const run = (args, input = "") => spawnSync(program, args, { cwd, env, input, encoding: "utf8" });
  const trusted = run(["trust", "--yes"]);
  if (trusted.status !== 0) throw new Error(trusted.stderr);
  const child = spawn(program, ["inspect", "--no-open"], { cwd, env, stdio: ["pipe", "pipe", "inherit"] });
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
  // Waits until a person answers; the caller awaits the reply.
  const waits = (command) => {
    const it = spawn(program, ["hook", "codex", "--ask-elsewhere", "60s"], { cwd, env, stdio: ["pipe", "pipe", "inherit"] });
    it.stdin.end(
      JSON.stringify({ session_id: "s-2", hook_event_name: "PreToolUse", tool_name: "Bash", tool_input: { command }, cwd }),
    );
    let out = "";
    it.stdout.on("data", (text) => {
      out += text;
    });
    return new Promise((resolve) => it.on("close", () => resolve(out)));
  };
  const close = async () => {
    child.kill("SIGINT");
    run(["stop"]);
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
    waits,
    run,
    cwd,
    close,
  };
}
