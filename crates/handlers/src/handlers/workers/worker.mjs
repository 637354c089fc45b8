// hookwire's Node worker: loads functions and calls them. Node's own modules only, from Node 18 on.
//
// The protocol is on descriptors 3 (out) and 4 (in), which the shell that started us has set up; what user
// code writes to stdout goes to stderr, and stdin is /dev/null.
import fs from "node:fs";
import net from "node:net";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const OUT = 3, IN = 4;
const MAX_LINE = 16 * 1024 * 1024;
// How long a function that was told to abort has to come to its end before it counts as abandoned.
const CANCEL_GRACE_MS = 100;

// Told as it is, without the error's name.
class Complaint extends Error {}
class StateError extends Error {}

const send = (message) => write(JSON.stringify(message));

function write(line) {
  let data = Buffer.from(line + "\n");
  while (data.length > 0) {
    try {
      data = data.subarray(fs.writeSync(OUT, data));
    } catch (error) {
      if (error.code !== "EAGAIN") process.exit(1); // The host is gone.
    }
  }
}

// A lone surrogate would void the line.
const text = (value) => Buffer.from(String(value)).toString().slice(0, 4000);

// User code.

const functions = new Map();

async function find(target) {
  const known = functions.get(target);
  if (known) return known;
  const [file, name] = target.split("#");
  const module = await import(pathToFileURL(file).href);
  const there = { ...(typeof module.default === "object" ? module.default : {}), ...module };
  const found = there[name ?? "default"];
  if (typeof found !== "function") {
    const names = Object.keys(there).filter((it) => typeof there[it] === "function");
    const what = name === undefined ? "no default export that is a function" : `no function \`${name}\` among the exports`;
    throw new Complaint(`${what} of ${file}${near(name ?? "", names)}`);
  }
  functions.set(target, found);
  return found;
}

function near(word, words) {
  if (words.length === 0) return "";
  const close = words.map((it) => [distance(word, it), it]).sort((a, b) => a[0] - b[0])[0];
  if (word && close[0] <= Math.max(1, Math.floor(word.length / 3))) return `; did you mean \`${close[1]}\`?`;
  return `; there is ${words.sort().slice(0, 40).join(", ")}`;
}

function distance(a, b) {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      next[j] = Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1));
    }
    row = next;
  }
  return row[b.length];
}

const isUserCode = (file) => path.isAbsolute(file) && !file.includes(`${path.sep}node_modules${path.sep}`);
const told = new Set();

// Tells the host which files of user code were loaded. The debugger is the only one who knows.
async function tellLoaded(...files) {
  const found = new Set(files);
  try {
    const { Session } = await import("node:inspector");
    const session = new Session();
    session.connect();
    session.on("Debugger.scriptParsed", ({ params: { url } }) => {
      if (url.startsWith("file:") && !url.endsWith("/[eval1]")) found.add(fileURLToPath(url));
      else if (path.isAbsolute(url)) found.add(url);
    });
    session.post("Debugger.enable");
    session.post("Debugger.disable");
    session.disconnect();
  } catch {
    // Built without an inspector: only the named files are watched.
  }
  const loaded = [...found].filter((file) => isUserCode(file) && !told.has(file));
  if (told.size + loaded.length > 4096) return;
  for (const file of loaded) told.add(file);
  if (loaded.length > 0) send({ loaded });
}

// The frames of an error, without its message, which may hold whatever the event does.
function framesOf(error) {
  try {
    const stack = String(error.stack);
    const head = String(error);
    const frames = stack.startsWith(head) ? stack.slice(head.length) : stack;
    const lines = frames.slice(0, 64 * 1024).split("\n").slice(0, 50);
    return lines.filter((line) => line.length < 1000 && /^\s+at /.test(line) || line.length < 1000 && line.startsWith("file://"));
  } catch {
    return [];
  }
}

function decoded(file) {
  try {
    return decodeURI(file);
  } catch {
    return file;
  }
}

// Files on the way to an error: what a mended version may differ in.
function filesIn(error) {
  const files = framesOf(error).map((line) => /(?:file:\/\/)?(\/[^\s:'"()]+\.[cm]?[jt]s)\b/.exec(line)?.[1]);
  return files.filter(Boolean).map(decoded);
}

function placeOf(error) {
  for (const line of framesOf(error)) {
    const match = /(?:file:\/\/)?(\/[^\s:'"()]+\.[cm]?[jt]s:\d+)/.exec(line);
    if (match && isUserCode(match[1])) return decoded(match[1]);
  }
  return undefined;
}

// Calls.

const calls = new Map();
const seen = new Set();

async function run(message) {
  const controller = new AbortController();
  const call = { controller };
  calls.set(message.id, call);
  const isNew = !seen.has(message.call);
  let reply;
  try {
    const found = await find(message.call);
    const { hook, dialect, args, deadlineMs } = message;
    const context = { args, hook, dialect, deadlineMs, signal: controller.signal, state: stateOf(message.id) };
    const answer = (await found(message.event, context)) ?? null;
    const line = JSON.stringify(answer);
    if (line === undefined) throw new Complaint(`it returned a ${typeof answer}, which can't be JSON`);
    if (line.length * 3 > MAX_LINE && Buffer.byteLength(line) > MAX_LINE - 1024) {
      throw new Complaint(`what it returned is more than ${MAX_LINE >> 20} MiB`);
    }
    reply = `{"id":${message.id},"answer":${line}}`;
  } catch (error) {
    const isOurs = error instanceof Complaint || controller.signal.aborted;
    // What doesn't parse has no stack.
    const file = functions.has(message.call) ? undefined : message.call.split("#")[0];
    const place = isOurs ? undefined : (placeOf(error) ?? file);
    reply = JSON.stringify({ id: message.id, error: text(describe(error, call)), place });
    if (!isOurs) {
      console.error(error);
      await tellLoaded(message.call.split("#")[0], ...filesIn(error));
    }
  }
  calls.delete(message.id);
  if (isNew) {
    // What the first call imports belongs to it, too.
    seen.add(message.call);
    await tellLoaded(message.call.split("#")[0]);
  }
  write(reply);
}

function describe(error, call) {
  if (error instanceof Complaint) return error.message;
  if (call.controller.signal.aborted) return "cancelled";
  if (!(error instanceof Error)) return `it threw ${text(error)}`;
  const what = error.code === "ERR_MODULE_NOT_FOUND" ? `${error.message}; is it installed (npm install)?` : error.message;
  return what ? `${error.name}: ${what}` : error.name;
}

function cancel(id) {
  const call = calls.get(id);
  if (!call) return; // The answer is on its way.
  call.controller.abort(new Error("the call was cancelled"));
  setTimeout(() => calls.has(id) && send({ id, abandoned: true }), CANCEL_GRACE_MS).unref();
}

// The shared store.

let asked = 0;
const waiting = new Map();
// What is asked beyond this waits here: a pipe that nobody reads would stop the whole worker.
const MAX_ASKED = 256;
const backlog = [];
let n_sent = 0;

function askHost(request) {
  if (n_sent >= MAX_ASKED) return backlog.push(request);
  n_sent++;
  send(request);
}

function answered() {
  n_sent--;
  if (backlog.length > 0) askHost(backlog.shift());
}

function stateOf(call) {
  const ask = (op, key, { scope = "session", ttl } = {}, more = {}) => {
    const id = ++asked;
    const reply = new Promise((resolve, reject) => waiting.set(id, { resolve, reject }));
    askHost({ id, call, state: { op, key, scope, ttl, ...more } });
    return reply;
  };
  return {
    get: async (key, options = {}) => (await ask("get", key, options)) ?? options.default,
    set: async (key, value, options) => void (await ask("set", key, options, { value })),
    increment: (key, by = 1, options) => ask("increment", key, options, { by }),
    // `undefined` or null: there is none. Says whether it was set.
    compareAndSet: (key, expected, value, options) =>
      ask("compareAndSet", key, options, { expected: expected ?? null, value }),
    delete: (key, options) => ask("delete", key, options),
    list: (prefix = "", options) => ask("list", prefix, options),
  };
}

// The process.

if (Number(process.versions.node.split(".")[0]) < 18) {
  console.error(`hookwire needs Node 18 or later; ${process.execPath} is ${process.versions.node}`);
  process.exit(1);
}
let rest = [];
const input = new net.Socket({ fd: IN, readable: true, writable: false });
input.on("data", (chunk) => {
  let start = 0;
  for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
    rest.push(chunk.subarray(start, end));
    start = end + 1;
    const message = JSON.parse(Buffer.concat(rest).toString());
    rest = [];
    if ("event" in message) {
      run(message).catch(() => {
        calls.delete(message.id);
        send({ id: message.id, error: "it failed, and so did telling how" });
      });
    }
    else if ("cancel" in message) cancel(message.cancel);
    else {
      const { resolve, reject } = waiting.get(message.id) ?? {};
      waiting.delete(message.id);
      answered();
      if ("error" in message) reject?.(new StateError(message.error));
      else resolve?.(message.value);
    }
  }
  if (start < chunk.length) rest.push(chunk.subarray(start));
});
// The host is gone or done with us.
input.on("close", () => process.exit(0));
send({ ready: true });
