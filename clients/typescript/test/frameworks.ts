// A real agent of the Vercel AI SDK with a scripted model against clients/tests/cases.json. Prints a JSON line: what came
// of each moment. CLIENTS names the directory `clients`, HOOKWIRE the program.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { generateText, isStepCount, streamText, tool } from "ai";
import { MockLanguageModelV4, simulateReadableStream } from "ai/test";
import { z } from "zod";
import { Hooks } from "hookwire";
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

  constructor({ steps = [], texts = ["done"] }: Case) {
    this.replies = [...steps, ...texts];
  }

  next(prompt: unknown) {
    this.seen = JSON.stringify(prompt);
    this.calls += 1;
    const said = this.replies.shift() ?? "done";
    const isText = typeof said === "string";
    const content = isText
      ? [{ type: "text" as const, text: said }]
      : said.map((command, n) => ({
          type: "tool-call" as const,
          toolCallId: `${Math.random()}-${n}`,
          toolName: "bash",
          input: JSON.stringify({ command }),
        }));
    const unified = isText ? ("stop" as const) : ("tool-calls" as const);
    return { content, finishReason: { unified, raw: undefined }, usage, warnings: [] };
  }
}

async function run(hooks: Hooks, script: Script, { prompt = "go", stream }: Case): Promise<string> {
  const settings = guard(hooks, {
    model: new MockLanguageModelV4({
      doGenerate: async ({ prompt }) => script.next(prompt),
      doStream: async ({ prompt }) => {
        const { content, finishReason } = script.next(prompt);
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
    }),
    tools: {
      bash: tool({
        description: "Runs a command.",
        inputSchema: z.object({ command: z.string() }),
        execute: async ({ command }) => {
          script.ran.push(command);
          return `output of ${command}`;
        },
      }),
    },
    stopWhen: isStepCount(9),
    maxRetries: 0,
    prompt,
  });
  return stream ? await streamText(settings).text : (await generateText(settings)).text;
}

/** What isn't as the case says. */
function* judge(it: Case, script: Script, final: string | undefined, error: unknown) {
  const told = error === undefined ? undefined : String(error);
  if (it.error === undefined ? told !== undefined : !told?.includes(it.error)) yield `the error is ${told}`;
  if (it.ran && String(script.ran.sort()) !== String(it.ran)) yield `ran ${script.ran}`;
  if (!script.seen.includes(it.seen ?? "")) yield `the model didn't see '${it.seen}': ${script.seen}`;
  if (it.unseen && script.seen.includes(it.unseen)) yield `the model saw '${it.unseen}': ${script.seen}`;
  if (it.calls !== undefined && it.calls !== script.calls) yield `${script.calls} calls of the model`;
  if (it.error === undefined && final !== (it.final ?? "done")) yield `it ended with ${final}`;
}

// Two for all cases: a host that is killed in one of them is there again in the next.
const hosts = (["closed", "open"] as const).map((fail) => {
  const options = ["--isolated", "--no-share", "--log", "off"];
  const approve = ({ subject }: { subject?: unknown }) => JSON.stringify(subject).includes("yes");
  return [fail, new Hooks({ hooks: `${CLIENTS}/tests/hooks`, arguments: options, fail, approve })] as const;
});

const results: [string, string, string][] = [];
for (const it of CASES) {
  const script = new Script(it);
  const hooks = hosts.find(([fail]) => fail === (it.fail ?? "closed"))![1];
  let final: string | undefined;
  let error: unknown;
  try {
    final = await run(hooks, script, it);
  } catch (failure) {
    error = failure;
  }
  const wrong = [...judge(it, script, final, error)];
  for (const text of wrong) console.error(`FAILED vercel-ai: ${it.moment}, ${it.what}: ${text}`);
  if (wrong.length > 0) process.exitCode = 1;
  results.push([it.moment, it.what, wrong.length > 0 ? "FAILED" : "passed"]);
}
const { version } = createRequire(import.meta.url)("ai/package.json");
console.log(JSON.stringify({ framework: "vercel-ai", version, results }));
for (const [, hooks] of hosts) await hooks.close();
