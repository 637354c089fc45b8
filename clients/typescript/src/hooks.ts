// The client: keeps a host, sends it events, and answers what the host asks.

import { Connection, HostGone, type Origin, RequestFailed } from "./connection.ts";
import { type Pool, PoolConnection, poolOf } from "./nats.ts";
import { findProgram } from "./program.ts";
import {
  type Answer,
  type ApprovalAnswer,
  type ApprovalList,
  type ApprovalReply,
  type ApprovalRequest,
  type CheckResult,
  type CompleteParams,
  type Event,
  type ExplainResult,
  type Honour,
  type Item,
  type ListResult,
  type NotificationKind,
  type Recent,
  type ReloadResult,
  type Reply,
  VERSION,
} from "./protocol.ts";
import { Verdict } from "./verdict.ts";
import { address } from "./websocket.ts";

/** An event, with whatever else the agent wants hooks to know. */
export type Sent = Event & Record<string, unknown>;
type MaybePromise<T> = T | Promise<T>;
export type Callback = (event: Sent, signal: AbortSignal) => MaybePromise<Answer | undefined | null | void>;

export interface Options {
  /** Directories of definitions. */
  hooks?: string | string[];
  /** Also the definitions of the project's `.hookwire`, in `root` or the current directory. */
  live?: boolean;
  root?: string;
  /** A host's socket or its `ws://127.0.0.1:PORT`, instead of a host of one's own. */
  connect?: string;
  /** What a host at a port wants to be shown; without it, HOOKWIRE_TOKEN. */
  token?: string;
  /** NATS servers, `nats://HOST` or `tls://HOST`, whose `pool` of hosts judges instead of a host of one's own. */
  fleet?: string;
  pool?: string;
  /** Who asks there; the file with the password, for its owner alone to read; whose certificates count, PEM. */
  user?: string;
  passwordFile?: string;
  caFile?: string;
  /** The program to run, instead of the one that is found; more arguments for its `serve`; its environment. */
  program?: string;
  arguments?: string[];
  env?: NodeJS.ProcessEnv;
  /** What holds while there is no host: `closed` (default) denies, `open` allows. */
  fail?: "closed" | "open";
  /** Milliseconds for a verdict; by default 30,000, or 330,000 where a person may be asked. */
  deadline?: number;
  /** A host that has been silent for so many milliseconds when a deadline passes is replaced; 5,000. */
  patience?: number;
  /** What this agent can honour; any other decision becomes a deny. */
  decisions?: Honour[];
  /** What sends the events, where an event doesn't say. */
  session?: string;
  agent?: string;
  /** Asks a person. */
  approve?: (question: ApprovalRequest, signal: AbortSignal) => MaybePromise<boolean | ApprovalReply>;
  /** The agent's own model. */
  complete?: (request: CompleteParams, signal: AbortSignal) => MaybePromise<Reply>;
  /** Shows hooks' messages to the person; by default they go to stderr. */
  show?: (text: string) => void;
  /** Hears the host's notifications. */
  listen?: Partial<Record<NotificationKind, (params: any) => void>>;
}

export interface Patience {
  /** Milliseconds. */
  deadline?: number | undefined;
  /** Aborting cancels the hooks. */
  signal?: AbortSignal | undefined;
}

/** JSON-RPC's codes for a request that is wrong by itself: another host would refuse it too. */
const CALLERS_FAULT = [-32600, -32601, -32602];
/** Pauses before the next start of a host, in milliseconds, after so many starts that came to nothing. */
const PAUSES = [0, 0, 100, 500, 2_000, 5_000, 15_000, 30_000];

export class Hooks {
  readonly fail: "closed" | "open";
  readonly deadline: number;
  readonly session: string;
  readonly show: (text: string) => void;
  readonly state = new State(this);
  #options: Options;
  /** Set if the host is at a port. */
  #token: string | undefined;
  /** Set if a pool is asked. */
  #pool: Pool | undefined;
  #callbacks = new Map<string, { hook: Record<string, unknown>; callback: Callback }>();
  #connection: Connection | PoolConnection | undefined;
  #inVain = 0;
  #pauseUntil = 0;
  #closed = false;

  /** `new Hooks("hooks")` is short for `new Hooks({ hooks: "hooks" })`. */
  constructor(options: string | Options = {}) {
    this.#options = typeof options === "string" ? { hooks: options } : options;
    const { fail, deadline, approve, session, show, connect } = this.#options;
    if (fail !== undefined && fail !== "closed" && fail !== "open") throw new TypeError('fail is "closed" or "open"');
    const own = ["hooks", "live", "root", "program", "arguments", "env"] as const;
    if (connect !== undefined && own.some((it) => this.#options[it] !== undefined)) {
      throw new TypeError("a host that runs already has its own definitions: connect takes no others");
    }
    const { fleet, decisions } = this.#options;
    if (fleet === undefined && (["pool", "user", "passwordFile", "caFile"] as const).some((it) => this.#options[it] !== undefined)) {
      throw new TypeError("pool, user, passwordFile and caFile are for `fleet`");
    }
    if (fleet !== undefined) {
      if ([...own, "connect", "approve", "complete", "listen"].some((it) => this.#options[it as keyof Options] !== undefined)) {
        throw new TypeError("a pool's hosts have their own definitions, people and models: `fleet` takes no others");
      }
      if (decisions !== undefined && [...decisions].sort().join() !== "allow,deny,rewrite") {
        throw new TypeError("a pool's verdicts allow, deny and rewrite");
      }
      this.#pool = poolOf(this.#options);
    }
    if (connect !== undefined && /^(ws|http):/.test(connect)) {
      address(connect);
      this.#token = this.#options.token ?? process.env.HOOKWIRE_TOKEN ?? "";
      if (this.#token === "") throw new TypeError("a host at a port of this machine wants a token, or HOOKWIRE_TOKEN");
    }
    this.fail = fail ?? "closed";
    this.deadline = deadline ?? (approve ? 330_000 : 30_000);
    this.session = session ?? `${process.pid.toString(16)}-${Date.now().toString(16)}`;
    this.show = show ?? ((text) => console.error(`[hook] ${text}`));
  }

  /** Makes a function a hook: it gets the event and returns an answer, or nothing for no opinion. `rule` is the
   * definition's `if`; the other fields are those of a definition, such as `matcher`, `when`, `fail`, `priority`. */
  on(
    event: string | string[],
    fields: { name: string; rule?: string | string[] } & Record<string, unknown>,
    callback: Callback,
  ): this {
    if (this.#pool) throw new TypeError("a pool's hosts can't call functions of this program");
    const { rule, ...others } = fields;
    const hook = { ...others, on: event, callback: fields.name, ...(rule === undefined ? {} : { if: rule }) };
    if (this.#callbacks.has(fields.name)) throw new TypeError(`there is a hook ${fields.name} already`);
    this.#callbacks.set(fields.name, { hook, callback });
    const connection = this.#connection;
    if (connection instanceof Connection && connection.gone === undefined) this.#register(connection, [hook]);
    return this;
  }

  /** Sends an event. It rejects only if the request itself is wrong, or when the signal aborts. */
  async dispatch<Subject = unknown>(event: Sent, patience: Patience = {}): Promise<Verdict<Subject>> {
    const deadline = patience.deadline ?? this.deadline;
    const agent = this.#options.agent === undefined ? {} : { agent: { name: this.#options.agent } };
    // The host answers a little before this client gives up.
    const deadlineMs = Math.max(1, Math.floor(deadline * 0.9));
    const whole = { session: this.session, cwd: process.cwd(), ...agent, ...event, deadlineMs };
    try {
      const reply = await this.request("hooks/dispatch", whole, patience);
      if (typeof reply?.decision !== "string") throw new HostGone("the host's reply is no verdict");
      return new Verdict(reply, whole);
    } catch (problem) {
      const refused = problem instanceof RequestFailed && !CALLERS_FAULT.includes(problem.code);
      if (!(problem instanceof HostGone) && !refused) throw problem;
      process.emitWarning(`hookwire gave no verdict: ${problem.message}`, "HookwireWarning");
      return Verdict.withoutHost(whole, this.fail, problem.message) as Verdict<Subject>;
    }
  }

  /** Any request of the protocol. Rejects with HostGone without a host, and with RequestFailed if it refuses. */
  async request(method: string, params?: unknown, { deadline = this.deadline, signal }: Patience = {}): Promise<any> {
    signal?.throwIfAborted();
    if (this.#pool && method !== "hooks/dispatch") {
      throw new RequestFailed(-32601, `a pool answers hooks/dispatch, not ${method}`);
    }
    const connection = this.#host();
    let abort = () => {};
    let timer: NodeJS.Timeout | undefined;
    try {
      return await new Promise((resolve, reject) => {
        const id = connection.request(method, params ?? null, { resolve, reject });
        abort = () => {
          connection.cancel(id);
          reject(signal?.reason);
        };
        timer = setTimeout(() => reject(this.#late(connection, id, deadline)), deadline);
        signal?.addEventListener("abort", abort);
      });
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
    }
  }

  /** Starts the host now and not with the first event. Rejects with HostGone if there is none. */
  async start(): Promise<void> {
    await this.request("hooks/list", {});
  }

  /** The host's process; undefined without one of one's own. */
  get pid(): number | undefined {
    return this.#connection?.gone === undefined ? this.#connection?.pid : undefined;
  }

  list(event?: string): Promise<ListResult> {
    return this.request("hooks/list", event === undefined ? {} : { event });
  }

  explain(event: Sent): Promise<ExplainResult> {
    return this.request("hooks/explain", event);
  }

  check(text?: string, file?: string): Promise<CheckResult> {
    return this.request("hooks/check", { text, file });
  }

  reload(): Promise<ReloadResult> {
    return this.request("hooks/reload");
  }

  recent(limit?: number): Promise<Recent> {
    return this.request("hooks/recent", { limit });
  }

  approvals(): Promise<ApprovalList> {
    return this.request("approvals/list");
  }

  async answer(answer: ApprovalAnswer): Promise<void> {
    await this.request("approvals/answer", answer);
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#connection?.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #host(): Connection | PoolConnection {
    if (this.#closed) throw new HostGone("the client is closed");
    if (this.#connection && this.#connection.gone === undefined) return this.#connection;
    const now = performance.now();
    if (now < this.#pauseUntil) throw new HostGone(this.#connection?.gone ?? "no host could be started");
    this.#pauseUntil = now + (PAUSES[Math.min(this.#inVain, PAUSES.length - 1)] ?? 0);
    this.#inVain += 1;
    try {
      return (this.#connection = this.#start());
    } catch (problem) {
      throw new HostGone(`no host: ${(problem as Error).message}`);
    }
  }

  #start(): Connection | PoolConnection {
    if (this.#pool) return new PoolConnection(this.#pool, () => (this.#inVain = 0));
    const { hooks = [], live, root, connect, decisions, approve, complete, listen = {}, env } = this.#options;
    const directories = typeof hooks === "string" ? [hooks] : hooks;
    const options = [
      ...directories.flatMap((it) => ["--hooks", it]),
      ...(live ? ["--live"] : []),
      ...(root === undefined ? [] : ["--root", root]),
      ...(this.#options.arguments ?? []),
    ];
    const origin: Origin =
      connect === undefined
        ? { program: this.#options.program ?? findProgram(), arguments: ["serve", ...options], env }
        : this.#token === undefined
          ? { path: connect.replace(/^unix:/, "") }
          : { url: connect, token: this.#token };
    const connection: Connection = new Connection(origin, {
      request: (method, params, signal) => this.#serve(method, params, signal),
      notification: (method, params) => listen[method as NotificationKind]?.(params),
    });
    const requests = [...(approve ? ["approval/request"] : []), ...(complete ? ["model/complete"] : [])];
    const can = { decisions: decisions ?? ["allow", "deny", "rewrite"], requests, notifications: Object.keys(listen) };
    // Nothing waits for the replies: what is sent after them is judged after them.
    connection.request("initialize", { capabilities: { hooks: can } }, {
      resolve: ({ protocolVersion: found }) => {
        if (found === VERSION) this.#inVain = 0;
        else connection.end(`the host speaks version ${found} of the protocol, this client version ${VERSION}`);
      },
      reject: (problem) => connection.end(problem.message),
    });
    this.#register(connection, [...this.#callbacks.values()].map((it) => it.hook));
    return connection;
  }

  #register(connection: Connection, hooks: Record<string, unknown>[]): void {
    if (hooks.length === 0) return;
    // A guard that isn't in force must not be taken for one that has no objection.
    const names = hooks.map((it) => it.name).join(", ");
    connection.request("hooks/register", { hooks }, {
      resolve: () => {},
      reject: (problem) => connection.end(`the hooks ${names} could not be registered: ${problem.message}`),
    });
  }

  #late(connection: Connection | PoolConnection, id: number, deadline: number): HostGone {
    connection.cancel(id);
    const { silentSince } = connection;
    const patience = this.#options.patience ?? 5_000;
    if (silentSince !== undefined && performance.now() - silentSince >= patience) connection.end("the host hangs");
    return new HostGone(`no reply within ${deadline} ms`);
  }

  async #serve(method: string, params: any, signal: AbortSignal): Promise<unknown> {
    const { approve, complete } = this.#options;
    const callback = this.#callbacks.get(params?.callback)?.callback;
    if (method === "hooks/invoke" && callback) return (await callback(params.event, signal)) ?? {};
    if (method === "model/complete" && complete) return complete(params, signal);
    if (method === "approval/request" && approve) {
      const reply = await approve(params, signal);
      return typeof reply === "boolean" ? { decision: reply ? "approve" : "deny" } : reply;
    }
    throw new RequestFailed(-32601, `this client doesn't answer ${method}`);
  }
}

export interface Kept {
  /** The session; absent: the values that everybody shares. */
  session?: string;
  /** How long it is kept, in seconds. */
  ttl?: number;
}

/** The values that hooks share, of a session or of all. */
export class State {
  #hooks: Hooks;

  constructor(hooks: Hooks) {
    this.#hooks = hooks;
  }

  /** The value; undefined where there is none. */
  async get(key: string, kept: Kept = {}): Promise<unknown> {
    return (await this.#ask("get", kept, { key })).value;
  }

  async set(key: string, value: unknown, kept: Kept = {}): Promise<void> {
    await this.#ask("set", kept, { key, value });
  }

  async increment(key: string, by = 1, kept: Kept = {}): Promise<number> {
    return (await this.#ask("increment", kept, { key, by })).value;
  }

  /** Sets the value if it is the expected one, where undefined means that there is none. */
  async compareAndSet(key: string, expected: unknown, value: unknown, kept: Kept = {}): Promise<boolean> {
    return (await this.#ask("compareAndSet", kept, { key, expected, value })).set;
  }

  async delete(key: string, kept: Kept = {}): Promise<boolean> {
    return (await this.#ask("delete", kept, { key })).deleted;
  }

  async list(prefix = "", kept: Kept = {}): Promise<Item[]> {
    return (await this.#ask("list", kept, { prefix })).items;
  }

  #ask(operation: string, { session, ttl }: Kept, params: Record<string, unknown>): Promise<any> {
    const time = ttl === undefined ? {} : { ttlMs: Math.floor(ttl * 1000) };
    return this.#hooks.request(`state/${operation}`, { session, ...params, ...time });
  }
}
