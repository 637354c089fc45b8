// An agent that tells hookwire of every moment, and obeys: node loop.ts --hooks DIR
//
// The arguments are those of `hookwire serve`. What the user and the model say is in session.json; what
// the tools do, in the current directory, is real.

import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { type Data, Host, Refused, type Verdict, merged, settled } from "./wire.ts";

const ALLOWED = ["Read", "Write", "Task"]; // other tools need a permission
const BUDGET = 1000; // tokens that the model may read before its context is compacted
const ATTEMPTS = 5; // of one model call, whatever hooks say
const SUMMARISE = "Summarise this conversation so that the work can go on from your summary alone.";

type Call = { id: string; name: string; input: Record<string, string> };
type Tool = { name: string; callId: string; input: Call["input"]; output?: string; error?: string; durationMs?: number };
type Message =
  | { role: "user"; content: string }
  | { role: "assistant"; content: string; calls: Call[] }
  | { role: "tool"; callId: string; content: string };
type Request = { systemPrompt: string; messages: Message[] };
type Usage = { inputTokens: number; outputTokens: number };
type Reply = { content: string; calls: Call[]; usage: Usage; finishReason: string };
type Scripted = Partial<Reply> & { usage: Usage } | { error: { status: number; message: string } };

class Agent {
  readonly host: Host;
  readonly model: Model;
  readonly name: string;
  runId: string | undefined;
  readonly parent: Agent | undefined;
  context: { metadata: Data; systemPrompt: string; messages: Message[] }; // hooks may change it
  notes: string[] = []; // what hooks have to say to the model
  ending: string | undefined;
  step = 0;
  tokens = 0;
  usage: Usage = { inputTokens: 0, outputTokens: 0 };

  constructor(host: Host, model: Model, name: string, runId?: string, parent?: Agent) {
    this.host = host;
    this.model = model;
    this.name = name;
    this.runId = runId;
    this.parent = parent;
    this.context = { metadata: {}, systemPrompt: `You are ${name}.`, messages: [] };
  }

  /** Tells of a moment. What holds at every moment is obeyed here, the rest where the moment is. */
  async fire(name: string, data: Data = {}): Promise<Verdict & { tool: Tool }> {
    const event = {
      event: name,
      session: `s${process.pid}`,
      run: this.runId,
      parentRun: this.parent?.runId,
      step: this.step || undefined,
      agent: { name: this.name, parent: this.parent?.name },
      cwd: process.cwd(),
      metadata: this.context.metadata,
      ...data,
    };
    const verdict = await this.host.judge(event);
    for (const text of verdict.userMessages ?? []) console.log(`[hook] ${text}`);
    this.notes.push(...(verdict.additionalContext ?? []));
    const { metadata, systemPrompt, messages, tool } = merged({ ...this.context, ...event }, verdict.context ?? {});
    this.context = { metadata: metadata ?? {}, systemPrompt: systemPrompt ?? "", messages: messages ?? [] };
    if (verdict.stop !== undefined) {
      // A no to this act, and to what the run would do next.
      this.ending = verdict.stop;
      return { ...verdict, tool, decision: "deny", reason: verdict.stop };
    }
    return { ...verdict, tool };
  }

  /** One prompt, until the agent rests: its result. Each run that has begun ends in RunEnd or RunError. */
  async run(prompt: string): Promise<string> {
    [this.ending, this.usage] = [undefined, { inputTokens: 0, outputTokens: 0 }];
    prompt = settled(await this.fire("RunStart", { prompt }), prompt);
    this.context.messages.push({ role: "user", content: prompt });
    let result: string;
    try {
      result = await this.work();
    } catch (error) {
      if (!(error instanceof Refused)) {
        const { subject } = await this.fire("RunError", { error: text(error), usage: this.usage });
        if (subject == null) throw error;
        return subject;
      }
      result = error.message;
    }
    return settled(await this.fire("RunEnd", { result, usage: this.usage }), result);
  }

  async work(): Promise<string> {
    const rest = this.parent ? "SubagentStop" : "Stop";
    let stopActive = false;
    while (this.ending === undefined) {
      this.step += 1;
      settled(await this.fire("StepStart"), undefined);
      // Between steps every tool call has its result: here the conversation can be cut and added to.
      await this.compact();
      for (const content of this.notes.splice(0)) this.context.messages.push({ role: "user", content });
      const { content, calls } = await this.complete(this.context.messages);
      const results: Message[] = [];
      for (const call of calls) results.push({ role: "tool", callId: call.id, content: await this.tool(call) });
      const lastMessage = settled(await this.fire("StepEnd", { lastMessage: content }), content);
      this.context.messages.push({ role: "assistant", content: lastMessage, calls }, ...results);
      await this.checkpoint();
      if (calls.length > 0 || this.ending !== undefined) continue;
      const verdict = await this.fire(rest, { lastMessage, stopActive });
      if (verdict.decision === "allow") return verdict.subject ?? lastMessage;
      // Back to work, knowing why. hookwire lets no hook do this for ever.
      this.notes.push(verdict.reason ?? "Go on.");
      stopActive = true;
    }
    return this.ending;
  }

  /** What the model says. Each attempt passes the gate, since another model is another question. */
  async complete(messages: Message[]): Promise<Pick<Reply, "content" | "calls">> {
    let name = "large";
    for (let attempt = 1; ; attempt++) {
      let request: Request = { systemPrompt: this.context.systemPrompt, messages };
      request = settled(await this.fire("PreModelCall", { model: { name, request } }), request);
      let reply: Reply;
      try {
        reply = this.model.complete(name, request);
      } catch (error) {
        if (!(error instanceof ModelError)) throw error;
        const model = { name, request, error: { status: error.status, message: error.reason }, attempt };
        const { retry = { action: "fail" } } = await this.fire("ModelCallError", { model });
        if (retry.action === "fail" || attempt === ATTEMPTS || this.ending !== undefined) throw error;
        await sleep(retry.afterMs ?? 0);
        name = retry.model ?? name;
        continue;
      }
      const { usage, finishReason, ...response } = reply;
      this.tokens = usage.inputTokens;
      this.usage.inputTokens += usage.inputTokens;
      this.usage.outputTokens += usage.outputTokens;
      return settled(
        await this.fire("PostModelCall", { model: { name, request, response, usage, finishReason } }),
        response,
      );
    }
  }

  /** What a tool call comes to, for the model. A refused call is told and not run. */
  async tool(call: Call): Promise<string> {
    let output: string;
    try {
      output = this.ending === undefined ? await this.judged(call) : `not run: ${this.ending}`;
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      output = `refused: ${error.message}`;
    }
    console.log(`${this.name}: ${call.name}: ${String(output).trim()}`);
    return output;
  }

  async judged({ name, id: callId, input }: Call): Promise<string> {
    const verdict = await this.fire("PreToolUse", { tool: { name, callId, input } });
    const tool = verdict.tool;
    tool.input = settled(verdict, tool.input);
    // A hook's allow is an approval; an allow that nobody decided only stands in nobody's way.
    if (!ALLOWED.includes(tool.name) && verdict.decidedBy === undefined) tool.input = await this.permission(tool);
    const started = performance.now();
    try {
      tool.output = await this.use(tool);
    } catch (error) {
      if (error instanceof Refused) throw error;
      tool.error = text(error);
      tool.output = `failed: ${tool.error}`;
    }
    tool.durationMs = performance.now() - started;
    return settled(await this.fire(tool.error ? "PostToolUseFailure" : "PostToolUse", { tool }), tool.output);
  }

  async permission(tool: Tool): Promise<Call["input"]> {
    try {
      const verdict = await this.fire("PermissionRequest", { tool });
      const allowed = settled(verdict, tool.input);
      // Where your agent would ask its user.
      if (verdict.decidedBy === undefined) throw new Refused("nobody has allowed it");
      return allowed;
    } catch (error) {
      if (error instanceof Refused) await this.fire("PermissionDenied", { tool, reason: error.message });
      throw error;
    }
  }

  async use({ name, callId, input }: Tool): Promise<string> {
    const argument = (key: string): string => input[key] ?? raise(new Error(`${name} needs \`${key}\``));
    if (name === "Read") return readFileSync(argument("path"), "utf8");
    if (name === "Write") {
      writeFileSync(argument("path"), argument("content"));
      return "written";
    }
    if (name === "Delete") {
      rmSync(argument("path"));
      return "deleted";
    }
    if (name === "Task" && !this.parent) {
      // Sub-agents have no Task, or they would start others without end.
      const child = new Agent(this.host, this.model, argument("agent"), `${this.runId}.${callId}`, this);
      const prompt = argument("prompt");
      return child.run(settled(await child.fire("SubagentStart", { prompt }), prompt));
    }
    throw new Error(`no such tool: ${name}`);
  }

  /** Puts a summary in the conversation's place, once the model reads more than it should. */
  async compact(): Promise<void> {
    if (this.tokens <= BUDGET) return;
    const messages = this.context.messages;
    let summary: string;
    try {
      const data = { compaction: SUMMARISE, messages, budget: BUDGET };
      const hint = settled(await this.fire("PreCompact", data), SUMMARISE);
      summary = (await this.complete([...messages, { role: "user", content: hint }])).content;
    } catch (error) {
      if (error instanceof Refused && this.ending === undefined) return; // the conversation stays whole
      throw error;
    }
    this.context.messages = [{ role: "user", content: summary }];
    await this.fire("PostCompact", { removedCount: messages.length, summary });
  }

  async checkpoint(): Promise<void> {
    const path = `checkpoint-${this.name}.json`;
    writeFileSync(path, JSON.stringify({ run: this.runId, step: this.step, ...this.context }));
    await this.fire("Checkpoint", { path });
  }

  async tell(message: string): Promise<void> {
    console.log(message);
    await this.fire("Notification", { message });
  }
}

class ModelError extends Error {
  readonly status: number;
  readonly reason: string;

  constructor(status: number, reason: string) {
    super(`${status} ${reason}`);
    this.status = status;
    this.reason = reason;
  }
}

/** Says what a script has, reply by reply; yours would call a provider. */
class Model {
  readonly replies: Scripted[];

  constructor(replies: Scripted[]) {
    this.replies = replies;
  }

  complete(_name: string, _request: Request): Reply {
    const reply = this.replies.shift() ?? { error: { status: 500, message: "the script is over" } };
    if ("error" in reply) throw new ModelError(reply.error.status, reply.error.message);
    return { content: "", calls: [], finishReason: "stop", ...reply };
  }
}

function raise(error: Error): never {
  throw error;
}

function text(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

const session = JSON.parse(readFileSync(new URL("session.json", import.meta.url), "utf8"));
const host = new Host(process.argv.slice(2));
const agent = new Agent(host, new Model(session.replies), "coder");
try {
  settled(await agent.fire("SessionStart"), undefined);
  for (const [n, prompt] of session.prompts.entries()) {
    [agent.runId, agent.step] = [`r${n + 1}`, 0];
    console.log(`> ${prompt}`);
    try {
      await agent.tell(await agent.run(settled(await agent.fire("UserPromptSubmit", { prompt }), prompt)));
    } catch (error) {
      // Of the run; the session goes on.
      await agent.tell(`${error instanceof Refused ? "refused" : "failed"}: ${text(error)}`);
    }
  }
} catch (error) {
  if (!(error instanceof Refused)) throw error;
  console.log(`refused: ${error.message}`);
} finally {
  [agent.runId, agent.step] = [undefined, 0];
  await agent.fire("SessionEnd");
  await host.stop();
}
if (host.problem) {
  console.error(host.problem);
  process.exitCode = 1;
}
