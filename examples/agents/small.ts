// A small agent with hooks: node small.ts HOOKS PROMPT. Yours has another model and other tools, and imports "hookwire".

import { Denied, Hooks, Stopped } from "../../clients/typescript/src/index.ts";
import type { Call, Message } from "./wire.ts";
import { argument, ask, use } from "./world.ts";

const [, , dir = ".", question = ""] = process.argv;
const hooks = new Hooks(dir);

async function answer(prompt: string): Promise<string> {
  const content = (await hooks.dispatch<string>({ event: "UserPromptSubmit", prompt })).enforce();
  const messages: Message[] = [{ role: "user", content }];
  for (let stopActive = false; ; ) {
    const reply = await ask(messages);
    messages.push({ role: "assistant", ...reply });
    for (const call of reply.calls) messages.push({ role: "tool", callId: call.callId, content: await tool(call) });
    if (reply.calls.length > 0) continue;
    const verdict = await hooks.dispatch<string>({ event: "Stop", lastMessage: reply.content, stopActive });
    if (verdict.allowed || verdict.reason === undefined) return verdict.value;
    messages.push({ role: "user", content: verdict.reason }); // back to work
    stopActive = true;
  }
}

async function tool(call: Call): Promise<string> {
  try {
    const input = (await hooks.dispatch<Call["input"]>({ event: "PreToolUse", tool: call })).enforce();
    const tool = { ...call, input };
    console.log(`running: ${tool.name} ${argument(tool, "path")}`);
    return (await hooks.dispatch<string>({ event: "PostToolUse", tool: { ...tool, output: use(tool) } })).enforce();
  } catch (error) {
    if (error instanceof Stopped) throw error; // the run is over
    return `failed: ${error}`; // the model reads why
  }
}

try {
  console.log(await answer(question));
} catch (error) {
  if (!(error instanceof Denied)) throw error;
  console.error(`refused: ${error.message}`);
  process.exitCode = 1;
} finally {
  await hooks.close();
}
