// One host on the other end of two pipes, a socket or a WebSocket, until it is gone.

import { type ChildProcess, spawn } from "node:child_process";
import { connect } from "node:net";
import type { Duplex, Readable, Writable } from "node:stream";
import { WebSocketPipe } from "./websocket.ts";

/** The host has ended, hangs, or can't be started. */
export class HostGone extends Error {
  override name = "HostGone";
}

/** The host refused a request: JSON-RPC's code and message. */
export class RequestFailed extends Error {
  override name = "RequestFailed";
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

export interface Serves {
  /** Answers a request of the host; the signal says that the answer is no longer needed. */
  request(method: string, params: any, signal: AbortSignal): Promise<unknown>;
  notification(method: string, params: any): void;
}

export type Origin = { path: string } | { url: string; token: string } | { program: string; arguments: string[]; env?: NodeJS.ProcessEnv | undefined };

/** What is done with a reply, at once: before the next message is looked at. */
export interface Pending {
  resolve(result: any): void;
  reject(error: Error): void;
}

/** No message is longer; a verdict may hold a whole file. In UTF-16 units. */
const LONGEST = 256 << 20;

export class Connection {
  /** Why this host is gone; undefined while it is there. */
  gone: string | undefined;
  /** When a request was sent to which the host has given no sign of life, in milliseconds. */
  silentSince: number | undefined;
  #pending = new Map<number, Pending>();
  #working = new Map<unknown, AbortController>();
  #lastId = 0;
  #serves: Serves;
  #child: ChildProcess | undefined;
  #socket: Duplex | undefined;
  #input: Readable & { ref?(): unknown; unref?(): unknown };
  #output: Writable & { unref?(): unknown };
  #parts: string[] = [];
  #length = 0;
  #ended: Promise<void>;

  constructor(origin: Origin, serves: Serves) {
    this.#serves = serves;
    if (!("program" in origin)) {
      this.#socket = "path" in origin ? connect(origin.path) : new WebSocketPipe(origin.url, origin.token);
      this.#input = this.#output = this.#socket;
    } else {
      // Its own session, because a Ctrl-C that interrupts the agent's turn mustn't end the host.
      const child = spawn(origin.program, origin.arguments, {
        stdio: ["pipe", "pipe", "inherit"],
        detached: true,
        ...(origin.env ? { env: origin.env } : {}),
      });
      child.on("error", (error: NodeJS.ErrnoException) => {
        const help = error.code === "ENOENT" ? "; install the program, or name it by HOOKWIRE" : "";
        this.end(`no host: ${error.message}${help}`);
      });
      child.unref();
      this.#child = child;
      this.#input = child.stdout;
      this.#output = child.stdin;
    }
    // A host that nobody waits for doesn't keep the agent's process alive.
    this.#input.unref?.();
    this.#output.unref?.();
    this.#input.setEncoding("utf8");
    this.#input.on("data", (text: string) => this.#read(text));
    this.#output.on("error", (error) => this.end(this.#socket ? `no host: ${error.message}` : "the host has ended"));
    this.#input.on("error", () => this.end("the host has ended"));
    this.#ended = new Promise((resolve) => {
      this.#input.on("close", () => {
        this.end("the host has ended");
        resolve();
      });
    });
  }

  /** The host's process; undefined where it was there before. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  request(method: string, params: unknown, pending: Pending): number {
    if (this.gone !== undefined) throw new HostGone(this.gone);
    const id = ++this.#lastId;
    const line = JSON.stringify({ jsonrpc: "2.0", id, method, params });
    this.#pending.set(id, pending);
    this.silentSince ??= performance.now();
    this.#input.ref?.();
    this.#output.write(line + "\n");
    return id;
  }

  /** Ends a request; its reply, if one still comes, is passed over. */
  cancel(id: number): void {
    if (this.#pending.delete(id)) this.#send({ method: "$/cancelRequest", params: { id } });
    this.#rest();
  }

  /** Lets the host end, for so many milliseconds; then it is killed. */
  async close(patience = 2000): Promise<void> {
    this.#output.end();
    this.#input.ref?.();
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, patience)));
    await Promise.race([this.#ended, late]);
    clearTimeout(timer);
    this.end("the client has closed");
  }

  /** The host is gone or has to go. What waits for it fails at once. */
  end(why: string): void {
    if (this.gone !== undefined) return;
    this.gone = why;
    this.#child?.kill("SIGKILL");
    this.#socket?.destroy();
    this.#input.destroy();
    for (const working of this.#working.values()) working.abort();
    for (const { reject } of this.#pending.values()) reject(new HostGone(why));
    this.#working.clear();
    this.#pending.clear();
  }

  #send(message: Record<string, unknown>): void {
    if (this.gone === undefined) this.#output.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n");
  }

  #rest(): void {
    if (this.#pending.size === 0) this.#input.unref?.();
  }

  #read(text: string): void {
    this.silentSince = undefined;
    const lines = text.split("\n");
    for (const [n, part] of lines.entries()) {
      this.#parts.push(part);
      this.#length += part.length;
      if (this.#length > LONGEST) return this.end("the host sent something unreadable");
      if (n === lines.length - 1) return;
      const line = this.#parts.join("");
      this.#parts = [];
      this.#length = 0;
      try {
        this.#take(JSON.parse(line));
      } catch {
        return this.end("the host sent something unreadable");
      }
    }
  }

  #take(message: any): void {
    if (message.method === undefined) {
      const pending = this.#pending.get(message.id);
      this.#pending.delete(message.id);
      this.#rest();
      if (message.error) pending?.reject(new RequestFailed(message.error.code, message.error.message));
      else pending?.resolve(message.result);
    } else if (message.method === "$/cancelRequest") {
      this.#working.get(message.params.id)?.abort();
    } else if (message.id !== undefined) {
      void this.#serve(message.id, message.method, message.params);
    } else {
      this.#serves.notification(message.method, message.params);
    }
  }

  async #serve(id: unknown, method: string, params: unknown): Promise<void> {
    const controller = new AbortController();
    this.#working.set(id, controller);
    try {
      this.#send({ id, result: await this.#serves.request(method, params, controller.signal) });
    } catch (error) {
      const code = error instanceof RequestFailed ? error.code : controller.signal.aborted ? -32800 : -32000;
      this.#send({ id, error: { code, message: String(error) } });
    } finally {
      this.#working.delete(id);
    }
  }
}
