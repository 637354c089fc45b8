// Has hookwire judge what the agent is about to do. A call of a tool that could not be judged does not run.

import { spawn } from "node:child_process";

const COMMAND = ["hookwire", "hook", "AGENT"];
const PATIENCE_MS = 120_000;

// The reply to a moment, as an object; an error says why there is none.
function judge(payload) {
  return new Promise((resolve, reject) => {
    const fail = (why) => reject(new Error(`hookwire gave no verdict: ${why}`));
    const child = spawn(COMMAND[0], COMMAND.slice(1), { cwd: payload.directory ?? payload.cwd, stdio: ["pipe", "pipe", "pipe"] });
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

