// Mastra, tested with 1.71: `new Agent(guard(new Hooks("hooks"), { id, name, model, instructions, tools }))`. A sub-agent is
// guarded where it is made. What a prompt, a model call or a stopped run may not do is the result's `tripwire`. Options of
// a single run take the places of an agent's, so `hooks`, `inputProcessors`, `outputProcessors` and `delegation` of a run
// pass through `guard` as well: `agent.generate(prompt, guard(hooks, { outputProcessors }))`. A thread is a session. Not
// guarded: `network()`, the legacy methods, tools that run elsewhere, and of a reply what was streamed before
// PostModelCall, of which the text can be rewritten and the tool calls can't.

import type { AgentConfig, AgentExecutionOptions, DelegationConfig, MastraDBMessage } from "@mastra/core/agent";
import type {
  ProcessInputArgs,
  ProcessLLMRequestArgs,
  ProcessOutputStepArgs,
  Processor,
  ProcessToolResultArgs,
} from "@mastra/core/processors";
import type { ToolHooks } from "@mastra/core/tools";
import type { Hooks, Sent } from "./hooks.ts";
import { after, type Call, Memory, Moments, moreToDo, SEND_BACKS } from "./moments.ts";
import { Denied, Stopped, type Verdict } from "./verdict.ts";

type Guarded = Partial<
  Pick<AgentConfig<any, any>, "hooks" | "inputProcessors" | "outputProcessors" | "maxProcessorRetries" | "defaultOptions">
>;

/** The same agent's or run's options, guarded. The events have the members `known`, such as `session`. */
export function guard<Options extends object>(hooks: Hooks, options: Options, known: Partial<Sent> = {}): Options {
  const it: Guarded & { delegation?: DelegationConfig } = options;
  const guard = new Guard(hooks, known);
  // What an agent of Mastra has of its own comes first, so that hooks judge what came of it.
  const withOurs = (processors: any) =>
    typeof processors === "function"
      ? async (context: unknown) => [...(await processors(context)), guard]
      : [...(processors ?? []), guard];
  const guarded = {
    hooks: guard.toolHooks(it.hooks),
    inputProcessors: withOurs(it.inputProcessors),
    outputProcessors: withOurs(it.outputProcessors),
    maxProcessorRetries: it.maxProcessorRetries ?? SEND_BACKS,
  };
  if (!("model" in options)) return { ...options, ...guarded, delegation: guard.delegation(it.delegation) };
  const withDelegation = (of: AgentExecutionOptions<any> = {}) => ({ ...of, delegation: guard.delegation(of.delegation) });
  const given: any = it.defaultOptions;
  const defaultOptions =
    typeof given === "function" ? async (context: unknown) => withDelegation(await given(context)) : withDelegation(given);
  return { ...options, ...guarded, defaultOptions };
}

interface Running {
  call: Call;
  notes: string[];
  started: number;
}

class Guard implements Processor<"hookwire"> {
  readonly id = "hookwire";
  readonly name = "hookwire";
  #hooks: Hooks;
  #known: Partial<Sent>;
  /** By the id of a tool call: what runs, and what ended the run. */
  #running = new Memory<Running>();
  #stopped = new Memory<Verdict>();

  constructor(hooks: Hooks, known: Partial<Sent>) {
    this.#hooks = hooks;
    this.#known = known;
  }

  #moments(agent?: string, session?: string): Moments {
    const known = { ...(agent ? { agent: { name: agent } } : {}), ...(session ? { session } : {}) };
    return new Moments(this.#hooks, { ...known, ...this.#known });
  }

  toolHooks(own: ToolHooks = {}): ToolHooks {
    return {
      beforeToolCall: async (context) => {
        const decided = await own.beforeToolCall?.(context);
        if (decided?.proceed === false) return decided;
        const { toolCallId: callId, abortSignal, agent } = context.context as any;
        const notes: string[] = [];
        const call: Call = { name: context.toolName, callId, input: context.input };
        const moments = this.#moments(context.metadata?.agentName as string, agent?.threadId);
        try {
          const verdict = await moments.send({ event: "PreToolUse", tool: call }, notes, abortSignal);
          const input = verdict.enforce() as object;
          if (verdict.rewritten) {
            // The tool gets this object, and checks it like what the model wrote.
            const place = context.input as Record<string, unknown>;
            for (const member of Object.keys(place)) delete place[member];
            Object.assign(place, input);
          }
        } catch (error) {
          if (!(error instanceof Denied)) throw error;
          if (error instanceof Stopped) this.#stopped.set(callId, error.verdict);
          return { proceed: false, output: told(`denied: ${error.message}`, notes) };
        }
        this.#running.set(callId, { call: { ...call, input: context.input }, notes, started: performance.now() });
        return undefined;
      },
      afterToolCall: async (context) => {
        await own.afterToolCall?.(context);
        const { toolCallId, abortSignal, agent } = context.context as any;
        const running = this.#running.get(toolCallId);
        if (!running || context.error === undefined) return;
        this.#running.delete(toolCallId);
        const { call, notes, started } = running;
        const error = String(context.error);
        const tool = { ...call, error, output: `failed: ${error}`, durationMs: performance.now() - started };
        const moments = this.#moments(context.metadata?.agentName as string, agent?.threadId);
        const verdict = await moments.send({ event: "PostToolUseFailure", tool }, notes, abortSignal);
        if (verdict.stops) this.#stopped.set(toolCallId, verdict);
      },
    };
  }

  async processToolResult(it: ProcessToolResultArgs) {
    const { toolCallId, toolName, args, result, messageList, abortSignal } = it;
    const running = this.#running.get(toolCallId);
    this.#running.delete(toolCallId);
    if (!running) return; // it wasn't run here
    const { call, notes, started } = running;
    const tool = { ...call, output: result ?? null, durationMs: performance.now() - started };
    const moments = this.#moments(it.agent?.name, it.messages.at(-1)?.threadId);
    const verdict = await moments.send({ event: "PostToolUse", tool }, notes, abortSignal);
    if (verdict.stops) this.#stopped.set(toolCallId, verdict);
    const output = told(verdict.stops ? `withheld: ${verdict.reason}` : after(verdict, result), notes);
    if (output === result) return;
    const toolInvocation = { state: "result" as const, toolCallId, toolName, args, result: output };
    messageList.updateToolInvocation({ type: "tool-invocation", toolInvocation });
    return messageList;
  }

  async processInput({ messages, agent, abort, abortSignal }: ProcessInputArgs): Promise<MastraDBMessage[]> {
    const message = messages.at(-1);
    if (message?.role !== "user") return messages;
    const notes: string[] = [];
    const { parts } = message.content;
    const [first, ...others] = parts;
    const prompt = first?.type === "text" && others.length === 0 ? first.text : parts;
    const event = { event: "UserPromptSubmit", prompt };
    const verdict = await this.#moments(agent?.name, message.threadId).send(event, notes, abortSignal);
    if (!verdict.allowed) abort(verdict.reason ?? "a hook said no");
    if (!verdict.rewritten && notes.length === 0) return messages;
    const said = verdict.rewritten ? (typeof verdict.value === "string" ? [text(verdict.value)] : verdict.value) : parts;
    const { content: _, ...content } = message.content;
    return [...messages.slice(0, -1), { ...message, content: { ...content, parts: [...said, ...notes.map(text)] } }];
  }

  async processLLMRequest({ prompt, model, agent, state, messageList, abort, abortSignal }: ProcessLLMRequestArgs) {
    const last = prompt.at(-1);
    for (const part of last?.role === "tool" ? last.content : []) {
      const stopped = part.type === "tool-result" && this.#stopped.get(part.toolCallId);
      if (stopped) abort(stopped.reason);
    }
    const notes: string[] = [];
    state.model = model.modelId;
    state.thread = messageList?.get.all.db().at(-1)?.threadId;
    const event = { event: "PreModelCall", model: { name: model.modelId, request: { messages: prompt } } };
    const verdict = await this.#moments(agent?.name, state.thread as string).send(event, notes, abortSignal);
    if (!verdict.allowed) abort(verdict.reason ?? "a hook said no");
    const messages = verdict.rewritten ? verdict.value.messages : prompt;
    return { prompt: [...messages, ...notes.map((it) => ({ role: "user" as const, content: [text(it)] }))] };
  }

  async processOutputStep(it: ProcessOutputStepArgs): Promise<MastraDBMessage[]> {
    const { text = "", toolCalls = [], usage, state, abort, abortSignal } = it;
    let { messages } = it;
    const moments = this.#moments(it.agent?.name, messages.at(-1)?.threadId);
    const name = typeof state.model === "string" ? state.model : "model";
    const counted = { inputTokens: usage.inputTokens ?? 0, outputTokens: usage.outputTokens ?? 0 };
    const model = { name, response: { text, toolCalls }, usage: counted };
    const judged = await moments.send({ event: "PostModelCall", model }, [], abortSignal);
    if (!judged.allowed) abort(judged.reason ?? "a hook said no");
    let said = text;
    if (judged.rewritten) {
      const { text: rewritten = "", toolCalls: calls } = judged.value;
      if (JSON.stringify(calls) !== JSON.stringify(toolCalls)) {
        abort("a hook rewrites tool calls at PostModelCall, which Mastra can't honour");
      }
      said = rewritten;
    }
    if (toolCalls.length === 0) {
      const event = { event: "Stop", lastMessage: said, stopActive: it.retryCount > 0 };
      const verdict = await moments.send(event, [], abortSignal);
      const goesOn = verdict.decision !== "allow" && !verdict.stops && it.retryCount < SEND_BACKS;
      if (goesOn) abort(moreToDo(verdict), { retry: true });
      if (verdict.rewritten && verdict.decision === "allow") said = String(verdict.value);
    }
    if (said !== text) messages = [...messages.slice(0, -1), saying(messages.at(-1)!, said)];
    return messages;
  }

  delegation(own: DelegationConfig = {}): DelegationConfig {
    return {
      ...own,
      hookErrorStrategy: "throw",
      onDelegationStart: async (context) => {
        const decided = (await own.onDelegationStart?.(context)) || {};
        if (decided.proceed === false) return decided;
        const prompt = decided.modifiedPrompt ?? context.prompt;
        const moments = this.#sub(context);
        const verdict = await moments.send({ event: "SubagentStart", prompt }, []);
        if (verdict.stops) this.#stopped.set(context.toolCallId, verdict);
        if (!verdict.allowed) return { proceed: false, rejectionReason: `denied: ${verdict.reason ?? "a hook said no"}` };
        return verdict.rewritten ? { ...decided, modifiedPrompt: String(verdict.value) } : decided;
      },
      onDelegationComplete: async (context) => {
        const decided = (await own.onDelegationComplete?.(context)) || {};
        const lastMessage = decided.resultText ?? context.result.text;
        // It has ended: it can't be sent back to work, and hooks are told so.
        const verdict = await this.#sub(context).send({ event: "SubagentStop", lastMessage, stopActive: true }, []);
        if (verdict.stops) this.#stopped.set(context.toolCallId, verdict);
        return verdict.rewritten ? { ...decided, resultText: String(verdict.value) } : decided;
      },
    };
  }

  #sub({ primitiveId, parentAgentName }: { primitiveId: string; parentAgentName: string }): Moments {
    return new Moments(this.#hooks, { agent: { name: primitiveId, parent: parentAgentName }, ...this.#known });
  }
}

function text(text: string) {
  return { type: "text" as const, text };
}

/** An output with what hooks tell the model. */
function told(output: unknown, notes: string[]): unknown {
  if (notes.length === 0) return output;
  return typeof output === "string" ? [output, ...notes].join("\n\n") : { output, additionalContext: notes };
}

/** A reply that says something else in its last step. */
function saying(message: MastraDBMessage, said: string): MastraDBMessage {
  const { content: _, ...content } = message.content;
  const begin = content.parts.findLastIndex((it) => it.type === "step-start") + 1;
  const others = content.parts.slice(begin).filter((it) => it.type !== "text");
  return { ...message, content: { ...content, parts: [...content.parts.slice(0, begin), ...others, text(said)] } };
}
