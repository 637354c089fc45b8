// A WebSocket to a host on this machine, read and written as a pipe is: one message a line.

import { Duplex } from "node:stream";

type Done = (error?: Error | null) => void;

/** The address of a host; the token isn't encrypted, so it stays on this machine. */
export function address(url: string): URL {
  const parts = new URL(url.replace(/^http:/, "ws:"));
  const isHere = ["127.0.0.1", "[::1]", "localhost"].includes(parts.hostname);
  if (parts.protocol !== "ws:" || !isHere || parts.username !== "") {
    throw new TypeError(`a host's address is ws://127.0.0.1:PORT, not ${url}`);
  }
  parts.pathname = "/rpc";
  return parts;
}

export class WebSocketPipe extends Duplex {
  #socket: WebSocket;
  #opened: Promise<void>;

  constructor(url: string, token: string) {
    super({ decodeStrings: false });
    if (globalThis.WebSocket === undefined) throw new TypeError("Node has WebSockets since version 22");
    // Node's WebSocket can send no header, so the token is one of the protocols that are offered.
    this.#socket = new WebSocket(address(url), ["hookwire", `hookwire.token.${token}`]);
    this.#opened = new Promise((resolve) => this.#socket.addEventListener("open", () => resolve()));
    this.#socket.addEventListener("message", ({ data }) => this.push(`${data}\n`));
    this.#socket.addEventListener("error", () => this.destroy(new Error("the host refuses the WebSocket, or isn't there")));
    this.#socket.addEventListener("close", () => this.destroy());
  }

  override _read(): void {}

  override _write(line: string, _encoding: string, done: Done): void {
    const send = () => this.#socket.send(line.trimEnd());
    this.#opened.then(send).then(() => done(), done);
  }

  override _final(done: Done): void {
    this.#socket.close();
    done();
  }

  override _destroy(error: Error | null, done: Done): void {
    this.#socket.close();
    done(error);
  }
}
