// The Vercel AI SDK, tested with 7.0: `generateText(guard(hooks, { model, tools, prompt }))`, and in the same way
// `streamText`, `new ToolLoopAgent(...)`, `generateObject`. Not guarded: tools without `execute`, which run elsewhere, and
// of a streamed reply what was streamed. A hook can't send a streaming agent back to work.

import { gateway, type LanguageModel, type LanguageModelMiddleware, type ToolSet, wrapLanguageModel } from "ai";
import type { Hooks, Sent } from "./hooks.ts";
import { Memory, Moments, moreToDo, SEND_BACKS } from "./moments.ts";
import { Stopped, type Verdict } from "./verdict.ts";

type Middleware = Required<Pick<LanguageModelMiddleware, "transformParams" | "wrapGenerate" | "wrapStream">>;
type Params = Parameters<Middleware["transformParams"]>[0]["params"];
type Message = Params["prompt"][number];
type Generated = Awaited<ReturnType<Middleware["wrapGenerate"]>>;

/** The same settings with a model and tools that are guarded. Their events have the members `known`, such as `session`. */
export function guard<Settings extends { model: LanguageModel; tools?: ToolSet | undefined }>(
  hooks: Hooks,
  settings: Settings,
  known: Partial<Sent> = {},
): Settings {
  const guarded = new Guard(hooks, known);
  const tools = settings.tools && guarded.tools(settings.tools);
  return { ...settings, model: guarded.model(settings.model), ...(tools ? { tools } : {}) };
}

class Guard {
  #moments: Moments;
  /** By the id of a tool call: what hooks told the model, and the verdict that ended the run. */
  #notes = new Memory<string[]>();
  #stopped = new Memory<Verdict>();
  /** By the prompt as the application wrote it: what stands in its place. */
  #prompts = new Memory<Message[]>();

  constructor(hooks: Hooks, known: Partial<Sent>) {
    this.#moments = new Moments(hooks, known);
  }

  tools<Tools extends ToolSet>(tools: Tools): Tools {
    const guarded = Object.entries(tools).map(([name, tool]) => [name, this.#tool(name, tool)]);
    return Object.fromEntries(guarded) as Tools;
  }

  #tool(name: string, tool: any): unknown {
    if (!tool.execute) return tool;
    const execute = async (input: unknown, options: any) => {
      const { toolCallId: callId, abortSignal: signal } = options;
      const notes: string[] = [];
      const run = (input: unknown) => last(tool.execute.call(tool, input, options));
      try {
        return await this.#moments.tool({ name, callId, input }, run, notes, { signal });
      } catch (error) {
        // It becomes an error of the tool; the next call of the model ends the run.
        if (error instanceof Stopped) this.#stopped.set(callId, error.verdict);
        throw error;
      } finally {
        if (notes.length > 0) this.#notes.set(callId, notes);
      }
    };
    return Object.assign(Object.create(Object.getPrototypeOf(tool)), tool, { execute });
  }

  model(model: LanguageModel) {
    const provider = (globalThis as any).AI_SDK_DEFAULT_PROVIDER ?? gateway;
    const middleware: LanguageModelMiddleware & { specificationVersion: "v4" } = {
      specificationVersion: "v4",
      transformParams: ({ params, model }) => this.#before(params, model.modelId),
      wrapGenerate: async ({ doGenerate, params, model }) => {
        let asked = params;
        let result = await this.#called(doGenerate, model.modelId);
        for (let sentBack = 0; ; sentBack++) {
          result = { ...result, content: await this.#after(result.content, result.usage, model.modelId) };
          if (result.content.some((it) => it.type === "tool-call")) return result;
          const verdict = await this.#moments.send(
            { event: "Stop", lastMessage: textOf(result.content), stopActive: sentBack > 0 },
            [],
          );
          if (verdict.rewritten) result = { ...result, content: [{ type: "text", text: String(verdict.value) }] };
          if (verdict.decision === "allow" || verdict.stops || sentBack === SEND_BACKS) return result;
          const said: Message = { role: "assistant", content: [{ type: "text", text: textOf(result.content) }] };
          const back = user(moreToDo(verdict));
          asked = await this.#request({ ...asked, prompt: [...asked.prompt, said, back] }, model.modelId);
          result = await this.#called(() => model.doGenerate(asked), model.modelId);
        }
      },
      wrapStream: async ({ doStream, model }) => {
        const result = await this.#called(doStream, model.modelId);
        const judge = this.#streamed(model.modelId);
        return { ...result, stream: result.stream.pipeThrough(judge) };
      },
    };
    return wrapLanguageModel({
      model: typeof model === "string" ? provider.languageModel(model) : model,
      middleware,
    });
  }

  /** What the application asks, as hooks leave it. */
  async #before(params: Params, name: string): Promise<Params> {
    const prompt: Message[] = [];
    for (const [n, message] of params.prompt.entries()) {
      const isLast = n === params.prompt.length - 1;
      prompt.push(...(message.role === "user" ? await this.#prompt(message, isLast) : [message]));
      if (message.role !== "tool") continue;
      const results = message.content.filter((it) => it.type === "tool-result");
      for (const { toolCallId } of results) {
        const stopped = this.#stopped.get(toolCallId);
        if (isLast && stopped) throw new Stopped(stopped);
        prompt.push(...(this.#notes.get(toolCallId) ?? []).map(user));
      }
    }
    return this.#request({ ...params, prompt }, name);
  }

  async #request(params: Params, name: string): Promise<Params> {
    const notes: string[] = [];
    const request = { messages: params.prompt, settings: settingsOf(params) };
    const verdict = await this.#moments.send({ event: "PreModelCall", model: { name, request } }, notes, params.abortSignal);
    const value = verdict.enforce();
    const changed: Params = verdict.rewritten ? { ...params, ...value.settings, prompt: value.messages } : params;
    return { ...changed, prompt: [...changed.prompt, ...notes.map(user)] };
  }

  /** A person's message, as hooks left it when it was new. */
  async #prompt(message: Message & { role: "user" }, isNew: boolean): Promise<Message[]> {
    const key = JSON.stringify(message.content);
    if (!isNew) return this.#prompts.get(key) ?? [message];
    const notes: string[] = [];
    const [first, ...others] = message.content;
    const isText = first?.type === "text" && others.length === 0;
    const event = { event: "UserPromptSubmit", prompt: isText ? first.text : message.content };
    const verdict = await this.#moments.send(event, notes);
    const value = verdict.enforce();
    const content = typeof value === "string" ? [{ type: "text" as const, text: value }] : value;
    const judged: Message[] = [verdict.rewritten ? { ...message, content } : message, ...notes.map(user)];
    this.#prompts.set(key, judged);
    return judged;
  }

  async #called<Result>(call: () => PromiseLike<Result>, name: string): Promise<Result> {
    try {
      return await call();
    } catch (error) {
      await this.#moments.send({ event: "ModelCallError", model: { name, error: { message: String(error) } } }, []);
      throw error;
    }
  }

  async #after(content: Generated["content"], usage: Generated["usage"], name: string): Promise<Generated["content"]> {
    const counted = { inputTokens: usage.inputTokens.total ?? 0, outputTokens: usage.outputTokens.total ?? 0 };
    const verdict = await this.#moments.send({ event: "PostModelCall", model: { name, response: content, usage: counted } }, []);
    verdict.enforce();
    return verdict.rewritten ? verdict.value : content;
  }

  /** Passes a stream on, and judges at its end what it said. */
  #streamed(name: string): TransformStream<any, any> {
    const content: any[] = [];
    return new TransformStream({
      transform: async (part, controller) => {
        const lastPart = content.at(-1);
        if (part.type === "text-delta" && lastPart?.type === "text") lastPart.text += part.delta;
        else if (part.type === "text-delta") content.push({ type: "text", text: part.delta });
        else if (part.type === "tool-call") content.push(part);
        else if (part.type === "finish") {
          await this.#after(content, part.usage, name);
          const isRest = content.every((it) => it.type !== "tool-call");
          if (isRest) await this.#moments.send({ event: "Stop", lastMessage: textOf(content), stopActive: true }, []);
        }
        controller.enqueue(part);
      },
    });
  }
}

/** What a hook may see of a request's settings. */
function settingsOf(params: Params): Record<string, unknown> {
  const { maxOutputTokens, temperature, topP, topK, stopSequences, seed, tools, toolChoice } = params;
  return { maxOutputTokens, temperature, topP, topK, stopSequences, seed, tools, toolChoice };
}

function user(text: string): Message {
  return { role: "user", content: [{ type: "text", text }] };
}

function textOf(content: { type: string }[]): string {
  return content.map((it) => (it.type === "text" ? (it as { text?: string }).text ?? "" : "")).join("");
}

/** A tool may give results before its last; the last one is judged, and passed on. */
async function last(output: any): Promise<unknown> {
  const found = await output;
  if (typeof found?.[Symbol.asyncIterator] !== "function") return found;
  let value: unknown;
  for await (value of found);
  return value;
}
