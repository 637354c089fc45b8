// Real agents with scripted models against clients/tests/cases.json: frameworks.ts FRAMEWORK. Prints a JSON line: what came
// of each moment. CLIENTS names the directory `clients`, HOOKWIRE the program.

import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, AIMessageChunk, type BaseMessage } from "@langchain/core/messages";
import { ChatGenerationChunk } from "@langchain/core/outputs";
import { Agent } from "@mastra/core/agent";
import { createTool } from "@mastra/core/tools";
import { generateText, isStepCount, streamText, tool } from "ai";
import { MockLanguageModelV4, simulateReadableStream } from "ai/test";
import { createAgent, tool as langchainTool } from "langchain";
import { z } from "zod";
import { Hooks } from "hookwire";
import { guard as guardLangchain } from "hookwire/langchain";
import { guard as guardMastra } from "hookwire/mastra";
import { guard } from "hookwire/vercel-ai";

interface Case {
  moment: string;
  what: string;
  fail?: "open" | "closed";
  stream?: boolean;
  prompt?: string;
  steps?: string[][];
  texts?: string[];
  ran?: string[];
  seen?: string;
  unseen?: string;
  error?: string;
  told?: string;
  scouted?: string;
  calls?: number;
  final?: string;
}

const { CLIENTS = "clients" } = process.env;
const CASES: Case[] = JSON.parse(readFileSync(`${CLIENTS}/tests/cases.json`, "utf8"));
const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

/** What the model says: first the calls of each step, then the texts. It also is the agent's only tool. */
class Script {
  replies: (string | string[])[];
  calls = 0;
  seen = "";
  ran: string[] = [];
  prompt: string;
  /** What its sub-agent says. */
  scout?: Script;

  constructor({ prompt = "go", steps = [], texts = ["done"] }: Case) {
    this.prompt = prompt;
    this.replies = [...steps, ...texts];
  }

  next(prompt: unknown): string | string[] {
    this.seen = JSON.stringify(prompt);
    this.calls += 1;
    return this.replies.shift() ?? "done";
  }

  bash({ command }: { command: string }): string {
    this.ran.push(command);
    if (command === "break") throw new Error("it broke");
    return `output of ${command}`;
  }
}

const BASH = { description: "Runs a command.", inputSchema: z.object({ command: z.string() }) };

/** A model of the AI SDK. */
function scripted(script: Script) {
  const next = (prompt: unknown) => {
    const said = script.next(prompt);
    const isText = typeof said === "string";
    const content = isText
      ? [{ type: "text" as const, text: said }]
      : said.map((command, n) => ({
          type: "tool-call" as const,
          toolCallId: `${Math.random()}-${n}`,
          toolName: command === "delegate" ? "agent-scout" : "bash",
          input: JSON.stringify({ command, prompt: script.prompt }),
        }));
    const unified = isText ? ("stop" as const) : ("tool-calls" as const);
    return { content, finishReason: { unified, raw: undefined }, usage, warnings: [] };
  };
  return new MockLanguageModelV4({
    doGenerate: async ({ prompt }) => next(prompt),
    doStream: async ({ prompt }) => {
      const { content, finishReason } = next(prompt);
      const chunks: any[] = content.flatMap((part): any[] =>
        part.type === "text"
          ? [
              { type: "text-start", id: "t" },
              { type: "text-delta", id: "t", delta: part.text },
              { type: "text-end", id: "t" },
            ]
          : [part],
      );
      const whole = [{ type: "stream-start", warnings: [] }, ...chunks, { type: "finish", finishReason, usage }];
      return { stream: simulateReadableStream({ chunks: whole }) };
    },
  });
}

type Driver = (hooks: Hooks, script: Script, it: Case) => Promise<string>;

const vercelAi: Driver = async (hooks, script, { prompt = "go", stream }) => {
  const settings = guard(hooks, {
    model: scripted(script),
    tools: { bash: tool({ ...BASH, execute: async (input) => script.bash(input) }) },
    stopWhen: isStepCount(9),
    maxRetries: 0,
    prompt,
  });
  return stream ? await streamText(settings).text : (await generateText(settings)).text;
};

class ChatModel extends BaseChatModel {
  readonly script: Script;

  constructor(script: Script) {
    super({});
    this.script = script;
  }

  _llmType() {
    return "scripted";
  }

  override bindTools() {
    return this;
  }

  next(messages: BaseMessage[]) {
    const said = this.script.next(messages.map((it) => it.content));
    if (typeof said === "string") return { content: said };
    const calls = said.map((command, n) => ({ name: "bash", args: { command }, id: `c${this.script.calls}-${n}` }));
    return { content: "", tool_calls: calls };
  }

  async _generate(messages: BaseMessage[]) {
    return { generations: [{ text: "", message: new AIMessage(this.next(messages)) }] };
  }

  override async *_streamResponseChunks(messages: BaseMessage[]) {
    const { content, tool_calls } = this.next(messages);
    const tool_call_chunks = (tool_calls ?? []).map(({ args, ...call }, index) => {
      return { ...call, args: JSON.stringify(args), index, type: "tool_call_chunk" as const };
    });
    yield new ChatGenerationChunk({ text: content, message: new AIMessageChunk({ content, tool_call_chunks }) });
  }
}

const langchain: Driver = async (hooks, script, { prompt = "go", stream }) => {
  const { description, inputSchema: schema } = BASH;
  const bash = langchainTool(async (input: { command: string }) => script.bash(input), {
    name: "bash",
    description,
    schema,
  });
  const agent = createAgent({ model: new ChatModel(script), tools: [bash], middleware: [guardLangchain(hooks)] });
  const asked = { messages: [{ role: "user", content: prompt }] };
  let state: any;
  if (!stream) state = await agent.invoke(asked);
  else for await (state of await agent.stream(asked, { streamMode: "values" }));
  return state.messages.at(-1).text;
};

const mastra: Driver = async (hooks, script, { prompt = "go", stream }) => {
  const model = scripted(script);
  const sub = scripted((script.scout = new Script({ moment: "", what: "" })));
  const scout = new Agent({ id: "scout", name: "scout", description: "Scouts.", instructions: "Scout.", model: sub });
  const bash = createTool({ id: "bash", ...BASH, execute: async (input) => script.bash(input) });
  const agent = new Agent(
    guardMastra(hooks, { id: "helper", name: "helper", instructions: "Help.", model, tools: { bash }, agents: { scout } }),
  );
  const result = stream ? await agent.stream(prompt) : await agent.generate(prompt);
  const said = await result.text;
  const tripwire = await result.tripwire;
  if (tripwire) throw new Error(tripwire.reason);
  const error = result.error;
  if (error) throw error;
  return said;
};

/** The driver, the package, and what the framework can't do. */
const FRAMEWORKS: Record<string, { driver: Driver; of: string; subagents?: boolean; cannot?: Record<string, string> }> = {
  "vercel-ai": { driver: vercelAi, of: "ai" },
  mastra: {
    driver: mastra,
    of: "@mastra/core",
    subagents: true,
    cannot: { "tool's failure, rewrite": "can't be rewritten" },
  },
  "langchain.js": { driver: langchain, of: "langchain" },
};

/** What isn't as the case says. */
function* judge(it: Case, script: Script, final: string | undefined, error: unknown) {
  let told = error === undefined ? undefined : "";
  for (let cause: any = error; cause !== undefined; cause = cause?.cause) told += String(cause);
  if (it.error === undefined ? told !== undefined : !told?.includes(it.error)) yield `the error is ${told}`;
  if (it.ran && String(script.ran.sort()) !== String(it.ran)) yield `ran ${script.ran}`;
  if (!script.seen.includes(it.seen ?? "")) yield `the model didn't see '${it.seen}': ${script.seen}`;
  if (it.unseen && script.seen.includes(it.unseen)) yield `the model saw '${it.unseen}': ${script.seen}`;
  if (it.calls !== undefined && it.calls !== script.calls) yield `${script.calls} calls of the model`;
  const scouted = script.scout?.seen ?? "";
  if (it.scouted === "" ? scouted !== "" : !scouted.includes(it.scouted ?? "")) yield `the sub-agent saw ${scouted}`;
  if (it.told && !`${final} ${script.seen}`.includes(it.told)) yield `nobody was told '${it.told}': ${final}`;
  if (it.error === undefined && it.told === undefined && final !== (it.final ?? "done")) yield `it ended with ${final}`;
}

// Two for all cases: a host that is killed in one of them is there again in the next.
const hosts = (["closed", "open"] as const).map((fail) => {
  const options = ["--isolated", "--no-share", "--log", "off"];
  const approve = ({ subject }: { subject?: unknown }) => JSON.stringify(subject).includes("yes");
  return [fail, new Hooks({ hooks: `${CLIENTS}/tests/hooks`, arguments: options, fail, approve })] as const;
});

const [, , name = "vercel-ai"] = process.argv;
const { driver, of, subagents = false, cannot = {} } = FRAMEWORKS[name]!;
const results: [string, string, string][] = [];
for (const it of CASES) {
  if (it.moment === "sub-agent" && !subagents) continue;
  const script = new Script(it);
  const hooks = hosts.find(([fail]) => fail === (it.fail ?? "closed"))![1];
  let final: string | undefined;
  let error: unknown;
  try {
    final = await driver(hooks, script, it);
  } catch (failure) {
    error = failure;
  }
  let wrong = [...judge(it, script, final, error)];
  const excuse = cannot[`${it.moment}, ${it.what}`];
  if (excuse) wrong = wrong.length > 0 ? [] : ["it works, and the table says that it doesn't"];
  for (const text of wrong) console.error(`FAILED ${name}: ${it.moment}, ${it.what}: ${text}`);
  if (wrong.length > 0) process.exitCode = 1;
  results.push([it.moment, it.what, wrong.length > 0 ? "FAILED" : excuse ?? "passed"]);
}
// Not every package exports its package.json.
const file = createRequire(import.meta.url).resolve.paths(of)!.map((dir) => `${dir}/${of}/package.json`).find(existsSync)!;
const { version } = JSON.parse(readFileSync(file, "utf8"));
console.log(JSON.stringify({ framework: name, version, results }));
for (const [, hooks] of hosts) await hooks.close();
