// Has hookwire judge what OpenCode is about to do. Belongs into `.opencode/plugin` or `~/.config/opencode/plugin`.
// A call of a tool that could not be judged does not run.

import { spawn } from "node:child_process";

const COMMAND = ["hookwire", "hook", "opencode"];
const PATIENCE_MS = 120_000;

// The reply to a moment, as an object; an error says why there is none.
function judge(payload) {
  return new Promise((resolve, reject) => {
    const fail = (why) => reject(new Error(`hookwire gave no verdict: ${why}`));
    const child = spawn(COMMAND[0], COMMAND.slice(1), { cwd: payload.directory, stdio: ["pipe", "pipe", "pipe"] });
    const timer = setTimeout(() => child.kill("SIGKILL"), PATIENCE_MS);
    const [stdout, stderr] = [[], []];
    child.stdout.on("data", (bytes) => stdout.push(bytes));
    child.stderr.on("data", (bytes) => stderr.push(bytes));
    child.on("error", (error) => {
      clearTimeout(timer);
      fail(error.message);
    });
    child.on("close", (code) => {
      clearTimeout(timer);
      if (code !== 0) return fail(Buffer.concat(stderr).toString().trim() || `it ended with ${code}`);
      try {
        const reply = JSON.parse(Buffer.concat(stdout).toString().trim() || "{}");
        if (reply === null || typeof reply !== "object" || Array.isArray(reply)) fail("it printed no object");
        else resolve(reply);
      } catch (error) {
        fail(error.message);
      }
    });
    // It may end before it has read everything; its exit code says what that means.
    child.stdin.on("error", () => {});
    child.stdin.end(JSON.stringify(payload));
  });
}

// Where nothing can be blocked, a host that is down is no reason to stop.
async function tell(payload) {
  try {
    return await judge(payload);
  } catch (error) {
    console.error(error.message);
    return {};
  }
}

export const Hookwire = async ({ directory }) => ({
  event: async ({ event }) => {
    if (!["session.created", "session.idle", "session.error"].includes(event.type)) return;
    const { sessionID, info, error } = event.properties ?? {};
    await tell({ event: event.type, sessionID: sessionID ?? info?.id, error, directory });
  },
  "chat.message": async (input, output) => {
    const texts = output.parts.filter((part) => part.type === "text").map((part) => part.text);
    const { deny } = await judge({
      event: "chat.message",
      sessionID: input.sessionID ?? output.message?.sessionID,
      prompt: texts.join("\n"),
      directory,
    });
    if (deny !== undefined) throw new Error(deny);
  },
  "tool.execute.before": async ({ tool, sessionID, callID }, output) => {
    const payload = { event: "tool.execute.before", tool, sessionID, callID, args: output.args, directory };
    const { deny, args } = await judge(payload);
    if (deny !== undefined) throw new Error(deny);
    if (args === undefined) return;
    // OpenCode goes on with the object that it has passed.
    for (const key of Object.keys(output.args)) delete output.args[key];
    Object.assign(output.args, args);
  },
  "tool.execute.after": async ({ tool, sessionID, callID, args }, result) => {
    const payload = { event: "tool.execute.after", tool, sessionID, callID, args, output: result.output, directory };
    const { deny, output } = await judge(payload).catch((error) => ({ deny: error.message }));
    if (deny !== undefined) result.output = deny;
    else if (output !== undefined) result.output = output;
  },
  "experimental.session.compacting": async ({ sessionID }, output) => {
    const reply = await tell({ event: "experimental.session.compacting", sessionID, directory });
    output.context.push(...(reply.context ?? []));
  },
});
