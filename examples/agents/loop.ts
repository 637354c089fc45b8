// An agent loop that sends every event to hookwire and obeys the verdicts: node loop.ts --hooks DIR

import { type Call, Hooked, type Message, refusal } from "./wire.ts";
import { ALLOWED, BUDGET, ModelError, type Response, SUMMARISE, argument, callModel } from "./world.ts";
import { main, prompts, save, show, tried, use, waited, why } from "./world.ts";

class Agent extends Hooked {
  async session(): Promise<void> {
    await this.fire("SessionStart", {});
    for (const prompt of prompts(this)) {
      const { output } = await tried(() => this.run(prompt)); // or why there is none; the session continues
      await this.fire("Notification", { message: show(output) });
    }
    await this.fire("SessionEnd", {});
  }

  /** Works on one prompt until the agent stops. Every started run ends with RunEnd or RunError. */
  async run(prompt: string): Promise<string> {
    ({ prompt } = await this.fire(this.parent ? "SubagentStart" : "UserPromptSubmit", { prompt }));
    ({ prompt } = await this.fire("RunStart", { prompt }));
    this.messages.push({ role: "user", content: prompt });
    let result: string;
    try {
      result = await this.work().catch(refusal); // a refusal is an answer, not a failure
    } catch (error) {
      const { subject } = await this.fire("RunError", { error: why(error), usage: this.usage });
      if (subject == null) throw error;
      return subject; // a hook's result replaces the error
    }
    return (await this.fire("RunEnd", { result, usage: this.usage })).result;
  }

  async work(): Promise<string> {
    const rest = this.parent ? "SubagentStop" : "Stop";
    let stopActive = false;
    for (;;) {
      await this.fire("StepStart", {});
      // Between steps every tool call has its result, so here the conversation can be changed.
      if (this.tokens > BUDGET) await this.compact().catch(refusal); // if refused, it isn't compacted
      this.addNotes();
      const { content, calls } = await this.ask(this.messages);
      const results: Message[] = [];
      for (const call of calls) results.push(await this.tool(call));
      const { lastMessage } = await this.fire("StepEnd", { lastMessage: content });
      this.messages.push({ role: "assistant", content: lastMessage, calls }, ...results);
      await this.fire("Checkpoint", { path: save(this) });
      if (calls.length > 0) continue;
      try {
        return (await this.fire(rest, { lastMessage, stopActive })).lastMessage;
      } catch (error) {
        this.notes.push(refusal(error)); // back to work, with the reason; hookwire limits how often hooks do this
        stopActive = true;
      }
    }
  }

  /** Asks the model. Each attempt fires PreModelCall again, because the model may be another one. */
  async ask(messages: Message[], name = "large", attempt = 1): Promise<Response> {
    const request = { systemPrompt: this.context.systemPrompt, messages };
    const { model } = await this.fire("PreModelCall", { model: { name, request } });
    try {
      const reply = await callModel(model);
      this.count(reply.usage);
      return (await this.fire("PostModelCall", { model: { ...model, ...reply } })).model.response;
    } catch (error) {
      if (!(error instanceof ModelError)) throw error;
      const { retry } = await this.fire("ModelCallError", { model: { ...model, error: error.failure, attempt } });
      if (!(await waited(retry, attempt))) throw error;
      return this.ask(messages, retry?.model ?? name, attempt + 1);
    }
  }

  /** Runs a tool call, if permitted, and returns the model's message with the output or the refusal. */
  async tool(call: Call): Promise<Message> {
    let output: string;
    try {
      const tool = await this.permitted(call);
      const done = await tried(() => (tool.name === "Task" && !this.parent ? this.task(tool) : use(tool)));
      const event = done.error === undefined ? "PostToolUse" : "PostToolUseFailure";
      output = (await this.fire(event, { tool: { ...tool, ...done } })).tool.output;
    } catch (error) {
      output = `refused: ${refusal(error)}`;
    }
    return { role: "tool", callId: call.callId, content: show(output, this.name, call.name) };
  }

  async permitted(call: Call): Promise<Call> {
    const { tool, decidedBy } = await this.fire("PreToolUse", { tool: call });
    // An allow is a permission only if a hook decided it; otherwise no hook had an opinion.
    if (ALLOWED.includes(tool.name) || decidedBy !== undefined) return tool;
    try {
      return (await this.fire("PermissionRequest", { tool })).tool;
    } catch (error) {
      await this.fire("PermissionDenied", { tool, reason: refusal(error) });
      throw error;
    }
  }

  task(tool: Call): Promise<string> {
    const child = new Agent(this.hooks, argument(tool, "agent"), `${this.runId}.${tool.callId}`, this);
    return child.run(argument(tool, "prompt"));
  }

  /** Replaces the conversation by a summary. */
  async compact(): Promise<void> {
    const messages = this.messages;
    const { compaction } = await this.fire("PreCompact", { compaction: SUMMARISE, messages, budget: BUDGET });
    const { content } = await this.ask([...messages, { role: "user", content: compaction }]);
    this.context.messages = [{ role: "user", content }];
    await this.fire("PostCompact", { removedCount: messages.length, summary: content });
  }
}

await main(Agent);
