// A pool of hosts behind a NATS server: what asking one takes of NATS's text protocol, and nothing else.
//
// A member of the pool says at once that it has an event, and again and again while it judges. So a member that has died
// is known from one that takes long, and another is asked, once, within the deadline.

import { randomBytes } from "node:crypto";
import { closeSync, fstatSync, openSync, readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { HostGone, type Pending, RequestFailed } from "./connection.ts";

/** Servers before it let clients pass their permissions. */
const OLDEST = [2, 12, 7];
/** Milliseconds for a server to answer while the connection is made, and for a pool without members to find one. */
const PATIENCE = 5_000;
const PAUSE = 250;
/** No line of a server and no headers are longer, and no message: 64 MiB is the most that a server can be set to. */
const LONGEST_LINE = 64 << 10;
const LONGEST = 64 << 20;
/** What headers and the protocol may take of a message. */
const OVERHEAD = 1024;
const NAME = /^[A-Za-z0-9_-]{1,64}$/;

/** Where a pool is, and as whom it is asked. */
export interface Pool {
  servers: { host: string; port: number; tls: boolean }[];
  name: string;
  user: string | undefined;
  passwordFile: string | undefined;
  caFile: string | undefined;
}

export interface PoolOptions {
  fleet?: string;
  pool?: string;
  user?: string;
  passwordFile?: string;
  caFile?: string;
}

/** The pool that options name. */
export function poolOf({ fleet = "", pool, user, passwordFile, caFile }: PoolOptions): Pool {
  for (const [option, name] of [["pool", pool ?? ""], ["user", user ?? "none"]]) {
    if (!NAME.test(name ?? "")) throw new TypeError(`${option} is 1 to 64 of the characters A-Z, a-z, 0-9, _ and -, not ${name}`);
  }
  if ((user === undefined) !== (passwordFile === undefined)) throw new TypeError("user and passwordFile belong together");
  const scheme = fleet.split("://")[0];
  const servers = fleet.split(",").map((text) => {
    const parts = parsed(text.includes("://") ? text : `${scheme}://${text}`);
    if (parts && (parts.username !== "" || parts.password !== "")) {
      throw new TypeError("a password in `fleet` can be read in logs; write user and passwordFile");
    }
    if (!parts || !["nats:", "tls:"].includes(parts.protocol) || parts.hostname === "" || !["", "/"].includes(parts.pathname)) {
      throw new TypeError("`fleet` is nats://HOST:PORT or tls://HOST:PORT, several with commas between them");
    }
    const host = parts.hostname.replace(/^\[(.*)\]$/, "$1");
    return { host, port: Number(parts.port || 4222), tls: parts.protocol === "tls:" };
  });
  return { servers, name: pool ?? "", user, passwordFile, caFile };
}

function parsed(url: string): URL | undefined {
  try {
    return new URL(url);
  } catch {
    return undefined;
  }
}

function password(file: string): string {
  const opened = openSync(file, "r");
  try {
    const { mode, uid } = fstatSync(opened);
    if ((mode & (uid === 0 ? 0o037 : 0o077)) !== 0) throw new Error(`others can read ${file}; chmod 600 it`);
    return readFileSync(opened, "utf8").replace(/[\r\n]+$/, "");
  } finally {
    closeSync(opened);
  }
}

/** A request on its way; times are those of `performance.now()`. */
interface Asked {
  pending: Pending;
  payload: Buffer;
  wait: number;
  end: number;
  nSent: number;
  /** Until it is sent again, its member was silent for too long, or its time is over. */
  timer: NodeJS.Timeout | undefined;
}

/** A connection to a server, until it is gone. */
export class PoolConnection {
  /** Why this connection is gone; undefined while it is there. */
  gone: string | undefined;
  /** When a request was sent to which the server has given no sign of life, in milliseconds. */
  silentSince: number | undefined;
  readonly pid = undefined;
  #pool: Pool;
  #onReady: () => void;
  #pending = new Map<number, Asked>();
  #lastId = 0;
  #inbox: string;
  #maxPayload = 1 << 20;
  #socket: Socket | undefined;
  #input: Buffer[] = [];
  #length = 0;
  /** So many bytes must be there before it is worth looking again. */
  #wanted = 0;
  #said: "nothing" | "connect" | "all" = "nothing";
  #server = 0;
  #patience: NodeJS.Timeout | undefined;

  constructor(pool: Pool, onReady: () => void) {
    this.#pool = pool;
    this.#onReady = onReady;
    this.#inbox = `_INBOX.${pool.user ?? "hookwire"}.${randomBytes(16).toString("hex")}`;
    this.#connect();
  }

  request(method: string, params: any, pending: Pending): number {
    if (this.gone !== undefined) throw new HostGone(this.gone);
    const id = ++this.#lastId;
    const payload = Buffer.from(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
    const now = performance.now();
    // The host is told nine tenths of the time that this client waits.
    const wait = params.deadlineMs / 0.9;
    this.silentSince ??= now;
    this.#pending.set(id, { pending, payload, wait, end: now + wait, nSent: 0, timer: undefined });
    this.#socket?.ref();
    if (this.#said === "all") this.#publish(id);
    return id;
  }

  /** Ends a request; its reply, if one still comes, is passed over. */
  cancel(id: number): void {
    this.#forget(id);
  }

  async close(): Promise<void> {
    this.end("the client has closed");
  }

  /** The connection is gone or has to go. What waits for it fails at once. */
  end(why: string): void {
    if (this.gone !== undefined) return;
    this.gone = why;
    clearTimeout(this.#patience);
    this.#socket?.destroy();
    for (const id of [...this.#pending.keys()]) this.#fail(id, why);
  }

  #connect(): void {
    const { host, port } = this.#pool.servers[this.#server] ?? { host: "", port: 0 };
    this.#take(connect({ host, port, noDelay: true }));
    this.#patience = setTimeout(() => this.#lost("no answer in time"), PATIENCE);
    this.#patience.unref();
  }

  /** Reads from a socket from now on. */
  #take(socket: Socket): void {
    this.#socket = socket;
    this.#input = [];
    this.#length = this.#wanted = 0;
    // A pool that nobody waits for doesn't keep the agent's process alive.
    if (this.#pending.size === 0) socket.unref();
    socket.on("data", (data) => {
      if (this.#socket === socket) this.#read(data);
    });
    socket.on("error", (error) => this.#socket === socket && this.#lost(error.message));
    socket.on("close", () => this.#socket === socket && this.#lost("the server has closed the connection"));
  }

  /** The connection is gone; before it has ever been there, the next server is tried. */
  #lost(why: string): void {
    if (this.gone !== undefined) return;
    const { host, port } = this.#pool.servers[this.#server] ?? {};
    if (this.#said === "all") return this.end(why);
    clearTimeout(this.#patience);
    const socket = this.#socket;
    this.#socket = undefined;
    socket?.destroy();
    this.#said = "nothing";
    this.#server += 1;
    if (this.#server < this.#pool.servers.length) this.#connect();
    else this.end(`the pool ${this.#pool.name} can't be asked: ${host}:${port}: ${why}`);
  }

  #read(data: Buffer): void {
    this.silentSince = undefined;
    this.#input.push(data);
    this.#length += data.length;
    if (this.#length < this.#wanted) return;
    let bytes: Buffer = Buffer.concat(this.#input, this.#length);
    const socket = this.#socket;
    try {
      // What is said before TLS must not count behind it.
      for (let left = this.#message(bytes); left !== undefined && this.#socket === socket; left = this.#message(bytes)) bytes = left;
    } catch (error) {
      return this.#lost(`what the server says can't be read: ${(error as Error).message}`);
    }
    if (this.#socket !== socket) return;
    this.#input = [bytes];
    this.#length = bytes.length;
  }

  /** Takes one message out of what was read and gives the rest; undefined if it isn't there as a whole. */
  #message(bytes: Buffer): Buffer | undefined {
    const end = bytes.subarray(0, LONGEST_LINE).indexOf("\r\n");
    this.#wanted = bytes.length + 1;
    if (end < 0 && bytes.length >= LONGEST_LINE) throw new Error("a line is too long");
    if (end < 0) return undefined;
    const line = bytes.toString("utf8", 0, end);
    const rest = bytes.subarray(end + 2);
    const words = line.split(/\s+/);
    if (words[0] !== "MSG" && words[0] !== "HMSG") {
      this.#control(words[0] ?? "", line, rest.length > 0);
      return rest;
    }
    const size = Number(words.at(-1));
    const nHeader = words[0] === "HMSG" ? Number(words.at(-2)) : 0;
    if (!(Number.isInteger(size) && Number.isInteger(nHeader) && nHeader >= 0 && nHeader <= Math.min(size, LONGEST_LINE) && size <= LONGEST + LONGEST_LINE)) {
      throw new Error("a message is too long");
    }
    if (rest.length < size + 2) {
      this.#wanted = end + 2 + size + 2;
      return undefined;
    }
    this.#hear(words[1] ?? "", rest.toString("utf8", 0, nHeader), rest.subarray(nHeader, size));
    return rest.subarray(size + 2);
  }

  #control(word: string, line: string, hasMore: boolean): void {
    if (this.#said === "nothing") {
      if (word !== "INFO") return this.#lost("who answers there is no NATS server");
      return this.#greet(JSON.parse(line.slice(5)), hasMore);
    }
    if (word === "PING") this.#socket?.write("PONG\r\n");
    if (word === "-ERR") this.#refused(readable(line.slice(5)).replaceAll("'", ""));
    if (word === "PONG" && this.#said === "connect") {
      clearTimeout(this.#patience);
      this.#said = "all";
      this.#onReady();
      for (const id of [...this.#pending.keys()]) this.#publish(id);
    }
  }

  #greet(info: any, hasMore: boolean): void {
    const problem = tooOld(String(info.version ?? ""));
    if (problem !== undefined) return this.#lost(problem);
    this.#maxPayload = Math.min(Number(info.max_payload ?? this.#maxPayload), LONGEST);
    const { host, tls } = this.#pool.servers[this.#server] ?? { host: "", tls: false };
    const plain = this.#socket;
    if (!plain || !(tls || info.tls_required)) return this.#introduce(tls);
    if (!info.tls_required && !info.tls_available) return this.#lost("the server speaks no TLS");
    if (hasMore) return this.#lost("something is said before TLS is spoken");
    const { caFile } = this.#pool;
    plain.removeAllListeners("data");
    const name = /^[\d.]+$|:/.test(host) ? {} : { servername: host };
    const secure = connectTls({ socket: plain, host, ...name, ...(caFile === undefined ? {} : { ca: readFileSync(caFile) }) });
    this.#take(secure);
    secure.once("secureConnect", () => this.#introduce(true));
  }

  #introduce(tls: boolean): void {
    const { user, passwordFile } = this.#pool;
    const options = { verbose: false, pedantic: false, tls_required: tls, name: "hookwire", lang: "node", version: "0", protocol: 1, echo: false, headers: true, no_responders: true };
    try {
      const account = user === undefined || passwordFile === undefined ? {} : { user, pass: password(passwordFile) };
      this.#said = "connect";
      this.#socket?.write(`CONNECT ${JSON.stringify({ ...options, ...account })}\r\nSUB ${this.#inbox}.> 1\r\nPING\r\n`);
    } catch (error) {
      this.end(`the pool ${this.#pool.name} can't be asked: ${(error as Error).message}`);
    }
  }

  #refused(problem: string): void {
    if (!/^permissions violation for publish/i.test(problem)) return this.#lost(`the server says: ${problem}`);
    // The one thing that is published is requests.
    for (const id of [...this.#pending.keys()]) this.#fail(id, `the server doesn't permit that: ${problem}`);
  }

  /** What is said of a request. Anything but `done` is no answer. */
  #hear(subject: string, header: string, payload: Buffer): void {
    const [, place, number] = /^(.*)\.(\d+\.\d+)$/.exec(subject) ?? [];
    if (place !== this.#inbox) return;
    const [id = 0, nSent] = number?.split(".").map(Number) ?? [];
    const asked = this.#pending.get(id);
    if (!asked) return;
    const [status = "", ...lines] = header.split("\r\n");
    const headers = new Map(lines.map((line) => {
      const [name = "", ...value] = line.split(":");
      return [name.toLowerCase(), value.join(":").trim()] as const;
    }));
    const state = headers.get("hookwire-state");
    if (state === "done") {
      this.#forget(id);
      settle(asked.pending, payload, id);
    } else if (state === "working") {
      this.#await(id, asked);
    } else if (nSent === asked.nSent && state === "refused") {
      const host = readable(headers.get("hookwire-host") ?? "");
      this.#again(id, `the host ${host} of the pool refuses: ${readable(payload.toString("utf8", 0, 1000))}`, 0);
    } else if (nSent === asked.nSent && status.split(" ")[1] === "503") {
      this.#again(id, `no host answers for the pool ${this.#pool.name}`, PAUSE);
    }
  }

  #publish(id: number): void {
    const asked = this.#pending.get(id);
    if (!asked || this.gone !== undefined) return;
    const size = asked.payload.length;
    if (size > this.#maxPayload - OVERHEAD) {
      return this.#fail(id, `the event has ${size} bytes, and the server takes ${this.#maxPayload - OVERHEAD}`);
    }
    asked.nSent += 1;
    const left = Math.max(0, Math.floor(asked.end - performance.now()));
    const header = `NATS/1.0\r\nHookwire-Wait: ${left}\r\n\r\n`;
    const place = `HPUB hw.dispatch.${this.#pool.name} ${this.#inbox}.${id}.${asked.nSent}`;
    const head = Buffer.from(`${place} ${header.length} ${header.length + size}\r\n${header}`);
    this.#socket?.write(Buffer.concat([head, asked.payload, Buffer.from("\r\n")]));
    this.#await(id, asked);
  }

  /** Lets a member be silent for a while; it is heard several times by then. */
  #await(id: number, asked: Asked): void {
    const silence = Math.min(Math.max(asked.wait / 3, 200), 3_000);
    this.#after(asked, silence, () => this.#again(id, `${asked.nSent} of the pool's hosts had the event and fell silent`, 0));
  }

  /** Asks once more, or gives up. */
  #again(id: number, problem: string, pause: number): void {
    const asked = this.#pending.get(id);
    if (!asked || asked.nSent >= 2) return this.#fail(id, problem);
    if (pause === 0) return this.#publish(id);
    this.#after(asked, Math.min(pause, (asked.end - performance.now()) / 4), () => this.#publish(id));
  }

  #after(asked: Asked, milliseconds: number, work: () => void): void {
    clearTimeout(asked.timer);
    asked.timer = setTimeout(work, milliseconds);
  }

  #fail(id: number, problem: string): void {
    const asked = this.#pending.get(id);
    this.#forget(id);
    asked?.pending.reject(new HostGone(problem));
  }

  #forget(id: number): void {
    clearTimeout(this.#pending.get(id)?.timer);
    this.#pending.delete(id);
    if (this.#pending.size === 0) this.#socket?.unref();
  }
}

function settle(pending: Pending, payload: Buffer, id: number): void {
  let message: any;
  try {
    message = JSON.parse(payload.toString("utf8"));
  } catch {
    return pending.reject(new HostGone("the pool's reply can't be read"));
  }
  if (message?.id !== id) pending.reject(new HostGone("the pool's reply is to something else"));
  else if (message.error) pending.reject(new RequestFailed(message.error.code, String(message.error.message)));
  else pending.resolve(message.result);
}

function tooOld(version: string): string | undefined {
  const found = /^(\d{1,9})\.(\d{1,9})\.(\d{1,9})(-?)/.exec(version);
  const numbers = found?.slice(1, 4).map(Number) ?? [0, 0, 0];
  const at = numbers.findIndex((number, n) => number !== OLDEST[n]);
  const isRecent = at < 0 ? found?.[4] === "" : (numbers[at] ?? 0) > (OLDEST[at] ?? 0);
  return isRecent ? undefined : `the server is ${version}, which lets clients pass its permissions; 2.12.7 is needed`;
}

function readable(text: string): string {
  return text.slice(0, 1000).replace(/\p{C}/gu, "");
}
