// LangChain.js, tested with 1.5: `createAgent({ model, tools, middleware: [guard(new Hooks("hooks"))] })`. A thread is a
// session. Not guarded: what was streamed of a model's reply before PostModelCall, and tools that the provider runs.

import {
  AIMessage,
  HumanMessage,
  mapChatMessagesToStoredMessages,
  mapStoredMessagesToChatMessages,
  SystemMessage,
  ToolMessage,
  type UsageMetadata,
} from "@langchain/core/messages";
import { Command, isGraphBubbleUp } from "@langchain/langgraph";
import { type AgentMiddleware, createMiddleware } from "langchain";
import type { Hooks, Sent } from "./hooks.ts";
import { Moments, moreToDo } from "./moments.ts";
import { Denied, Stopped } from "./verdict.ts";

/** Marks the message with which a hook sends the agent back to work. */
const SENT_BACK = { hookwire: "Stop" };

/** A middleware that guards an agent. Its events have the members `known`, such as `session`. */
export function guard(hooks: Hooks, known: Partial<Sent> = {}): AgentMiddleware {
  const momentsOf = ({ configurable }: { configurable?: { thread_id?: string } }) => {
    const thread = configurable?.thread_id;
    return new Moments(hooks, { ...(thread === undefined ? {} : { session: thread }), ...known });
  };

  return createMiddleware({
    name: "hookwire",

    wrapToolCall: async (request, handler) => {
      const { toolCall, runtime } = request;
      const { name, id = "" } = toolCall;
      const notes: string[] = [];
      const message = (content: any, status: "success" | "error" = "success") =>
        new ToolMessage({ content, name, tool_call_id: id, status });
      const run = async (args: Record<string, unknown>) => {
        const output = await handler({ ...request, toolCall: { ...toolCall, args } });
        if (output instanceof ToolMessage && output.status === "error") throw new ToolError(output);
        return output;
      };
      let output: unknown;
      try {
        output = await momentsOf(runtime).tool({ name, callId: id, input: toolCall.args }, run, notes, {
          signal: runtime.signal,
          isFailure: (error) => !isGraphBubbleUp(error),
          toJson: (output) => (output instanceof ToolMessage ? output.content : String(output)),
        });
      } catch (error) {
        if (error instanceof ToolError) output = error.output;
        else if (error instanceof Stopped || !(error instanceof Denied)) throw error;
        else output = message(`denied: ${error.message}`, "error");
      }
      if (output instanceof Command) return output;
      const plain = typeof output === "string" || Array.isArray(output) ? output : JSON.stringify(output);
      const result = output instanceof ToolMessage ? output : message(plain);
      if (notes.length === 0) return result;
      // Nothing may stand between a call and its result, so the result carries them.
      const { content } = result;
      const blocks = (texts: string[]) => texts.map((text) => ({ type: "text" as const, text }));
      result.content =
        typeof content === "string" ? [content, ...notes].join("\n\n") : [...content, ...blocks(notes)];
      return result;
    },

    wrapModelCall: async (request, handler) => {
      const notes: string[] = [];
      const moments = momentsOf(request.runtime);
      const signal = request.runtime.signal;
      const name = nameOf(request.model);
      const systemPrompt = request.systemMessage.text;
      const asked = { systemPrompt, messages: mapChatMessagesToStoredMessages(request.messages) };
      const before = { event: "PreModelCall", model: { name, request: asked } };
      const verdict = await moments.send(before, notes, signal);
      const value = verdict.enforce();
      let messages = verdict.rewritten ? mapStoredMessagesToChatMessages(value.messages) : request.messages;
      messages = [...messages, ...notes.map((text) => new HumanMessage(text))];
      const { systemMessage, systemPrompt: _, ...others } = request;
      const system = (value.systemPrompt ?? "") === systemPrompt ? systemMessage : new SystemMessage(value.systemPrompt);
      let response: AIMessage;
      try {
        response = await handler({ ...others, systemMessage: system, messages });
      } catch (error) {
        const failed = { event: "ModelCallError", model: { name, error: { message: String(error) } } };
        await moments.send(failed, [], signal);
        throw error;
      }
      if (!AIMessage.isInstance(response)) return response;
      const used = response.usage_metadata as UsageMetadata | undefined;
      const usage = { inputTokens: used?.input_tokens ?? 0, outputTokens: used?.output_tokens ?? 0 };
      const model = { name, response: mapChatMessagesToStoredMessages([response])[0], ...(used ? { usage } : {}) };
      const judged = await moments.send({ event: "PostModelCall", model }, [], signal);
      const said = judged.enforce();
      return judged.rewritten ? (mapStoredMessagesToChatMessages([said])[0] as AIMessage) : response;
    },

    beforeAgent: async ({ messages }, runtime) => {
      const message = messages.at(-1);
      if (!HumanMessage.isInstance(message)) return;
      const notes: string[] = [];
      const event = { event: "UserPromptSubmit", prompt: message.content };
      const verdict = await momentsOf(runtime).send(event, notes, runtime.signal);
      const content = verdict.enforce();
      // A message with the same id takes the place of the one that is there.
      const { id, additional_kwargs } = message;
      const changed = verdict.rewritten ? [new HumanMessage({ content, additional_kwargs, ...(id ? { id } : {}) })] : [];
      return { messages: [...changed, ...notes.map((text) => new HumanMessage(text))] };
    },

    afterModel: {
      canJumpTo: ["model"],
      hook: async ({ messages }, runtime) => {
        const message = messages.at(-1);
        if (!AIMessage.isInstance(message) || message.tool_calls?.length) return;
        const asked = messages.findLast((it) => HumanMessage.isInstance(it));
        const stopActive = asked?.additional_kwargs.hookwire === SENT_BACK.hookwire;
        const event = { event: "Stop", lastMessage: message.text, stopActive };
        const verdict = await momentsOf(runtime).send(event, [], runtime.signal);
        if (verdict.decision !== "allow" && !verdict.stops) {
          const back = new HumanMessage({ content: moreToDo(verdict), additional_kwargs: SENT_BACK });
          return { messages: [back], jumpTo: "model" as const };
        }
        if (!verdict.rewritten) return;
        const { id } = message;
        return { messages: [new AIMessage({ content: verdict.value, ...(id ? { id } : {}) })] };
      },
    },
  });
}

/** What a tool node has made a message of. */
class ToolError extends Error {
  readonly output: ToolMessage;

  constructor(output: ToolMessage) {
    super(output.text);
    this.output = output;
  }
}

function nameOf(model: any): string {
  const name = typeof model === "string" ? model : model.modelName ?? model.model ?? model._modelType?.();
  return typeof name === "string" ? name : model.constructor.name;
}
