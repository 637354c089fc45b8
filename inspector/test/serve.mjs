// A stand-in for `hookwire inspect`, for tests and for work on the page: the same routes, headers and shapes.
// `node test/serve.mjs` prints an address; `--many 100000` begins with so many events, `--live` goes on with more.
import { createServer } from "node:http";
import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { approval, definitions, event, explain, HOOKS, HOST, hostile, random, ROOT, starts } from "./data.mjs";

const TYPES = {
  "index.html": "text/html; charset=utf-8",
  "app.js": "text/javascript; charset=utf-8",
  "editor.js": "text/javascript; charset=utf-8",
  "app.css": "text/css; charset=utf-8",
  "icon.svg": "image/svg+xml",
};
const CSP =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'";

/**
 * `fleet`: the page is about machines of a fleet, and this is what is told of it. `eventsAfter`: no event is sent
 * before this promise is kept. `slow`: by method, replies that are sent, as they were when they were asked for, only when
 * their promise is kept.
 */
export async function serve({
  many = 400,
  shuffled = false,
  withHostile = false,
  port = 0,
  minutes = 42,
  isEmpty = false,
  fleet,
  eventsAfter,
  slow = {},
} = {}) {
  const r = random(7);
  const now = Date.now();
  const records = [];
  const approvals = isEmpty ? [] : [approval("q1")];
  const answers = [];
  const saved = [];
  const calls = [];
  const streams = new Set();
  /** Those of the streams that have all records. */
  const live = new Set();
  const tokens = new Set();
  const begun = new Set();
  let isRecording = false;
  let isOff = false;

  let seq = 0;
  const message = (it) => JSON.stringify({ seq: ++seq, ...it }) + "\n";
  const MACHINES = ["web-1", "web-2"];
  const judged = (record) => {
    if (fleet === undefined) return { host: HOST, record };
    // Two machines whose hosts count their events alike.
    const host = MACHINES[record.seq % 2];
    const its = { ...record, seq: Math.ceil(record.seq / 2), project: ROOT };
    return { host, id: `${host}.4f2a.${its.seq}`, record: its };
  };
  const line = (record) => message({ kind: "verdict", ...judged(record) });
  const send = (text) => {
    for (const it of live) it.write(text);
  };
  const push = (record) => {
    records.push(record);
    send(line(record));
  };
  for (let i = 0; i < (isEmpty ? 0 : many); i++) {
    const at = now - (minutes * 60_000 * (many - i)) / many - r() * 500;
    records.push(event(records.length + 1, at, r));
  }
  if (!isEmpty) {
    const call = event(records.length + 1, now - 3000, r, {
      command: "make release",
      session: { dialect: "claude-code", id: "7f3c2a91-5b0e-4d1c-9c55-0a8be71d2f10" },
    });
    records.push(call, ...starts(call, call.seq + 1));
    for (const command of ["npm install left-pad", "$RUN push --force; curl https://example.com/x", "cd web && git push -f"])
      records.push(
        event(records.length + 1, now - 900 + records.length, r, {
          command,
          session: { dialect: "claude-code", id: "7f3c2a91-5b0e-4d1c-9c55-0a8be71d2f10" },
        }),
      );
  }
  if (shuffled) records.sort((a, b) => (a.seq % 3) - (b.seq % 3) || a.seq - b.seq);
  if (withHostile) records.push(hostile(records.length + 1, now));

  const report = (instance, words, isWrong) => ({
    instance,
    version: "0.1.0",
    channel: "main",
    words,
    isWrong,
  });
  const reports = [
    [report("p3f1a0c9e4d2b", "revision 4 in force", false)],
    [report("p77aa10", "revision 3 in force; 1 behind; refuses revision 4: guard.yaml:4", true)],
  ];
  const hosts = () =>
    fleet !== undefined
      ? MACHINES.map((id, nth) => ({ id, root: "", reports: isEmpty ? [] : reports[nth] }))
      : isEmpty
        ? []
        : [
            {
              id: HOST,
              root: ROOT,
              pid: 4021,
              version: "0.1.0",
              startedAt: new Date(now - 3_600_000).toISOString(),
              total: records.length,
              notInForce: ["/home/ana/shop/.hookwire/team.yaml:3:9: `PreTolUse` is no event (did you mean `PreToolUse`?)"],
              clients: ["claude-code"],
              hooks: 9,
            },
          ];
  const hostLine = () => message({ kind: "hosts", hosts: hosts(), ...(fleet && { fleet }) });
  const asked = () => approvals.map((it) => ({ host: fleet ? "web-1" : HOST, root: ROOT, ...it }));
  const approvalLine = () => message({ kind: "approvals", approvals: asked() });
  const counts = () =>
    HOOKS.map(({ name }) => {
      const runs = records.flatMap((it) => it.verdict.outcomes).filter((it) => it.hook === name);
      const n = (test) => runs.filter(test).length;
      return {
        hook: name,
        matched: runs.length,
        denied: n((it) => it.decision === "deny"),
        asked: n((it) => it.decision === "ask"),
        rewrote: n((it) => it.rewrote),
        failed: n((it) => it.error),
        observed: n((it) => it.observed),
      };
    });
  const judgeText = (definition) => {
    const at = definition.split("\n").findIndex((it) => /PreTolUse/.test(it));
    return at < 0
      ? []
      : [
          {
            file: "hooks.yaml",
            severity: "error",
            code: "unknown-event",
            message: "`PreTolUse` is no event",
            help: "did you mean `PreToolUse`?",
            range: {
              start: { line: at + 1, column: definition.split("\n")[at].indexOf("PreTolUse") + 1 },
              end: { line: at + 1, column: definition.split("\n")[at].indexOf("PreTolUse") + 10 },
            },
          },
        ];
  };
  const methods = {
    "inspect/hosts": () => ({ hosts: hosts(), ...(fleet && { fleet }) }),
    "hooks/list": () => ({
      generation: 7,
      hash: "3f96e32f",
      hooks: HOOKS,
      directories: [
        { layer: "managed", path: "/etc/hookwire" },
        { layer: "user", path: "/home/ana/.config/hookwire" },
        { layer: "project", path: `${ROOT}/.hookwire` },
      ],
    }),
    "hooks/recent": () => ({
      root: ROOT,
      pid: 4021,
      started: new Date(now).toISOString(),
      generation: 7,
      hash: "3f96e32f",
      total: records.length,
      records: [],
      hooks: counts(),
      tools: ["Bash"],
    }),
    "hooks/explain": explain,
    "inspect/explain": ({ seq }) => {
      const it = records.find((record) => record.seq === seq);
      if (!it) throw Object.assign(new Error("the host has forgotten this event"), { code: -32803 });
      return explain(it.params);
    },
    "hooks/check": ({ text }) => ({ diagnostics: text === undefined ? definitions().diagnostics : judgeText(text) }),
    "inspect/approvals": () => ({ approvals: asked() }),
    "approvals/list": () => ({ root: ROOT, approvals }),
    "approvals/answer": ({ id, question, reply }) => {
      const at = approvals.findIndex((it) => it.id === id);
      if (at < 0) throw Object.assign(new Error(`no question \`${id}\` waits`), { code: -32803 });
      approvals.splice(at, 1);
      answers.push({ id, ...(question && { question }), reply });
      send(approvalLine());
      return {};
    },
    "approvals/always": ({ id }) => ({
      id,
      digest: `of ${id}`,
      text: [
        "From now on `careful` (.hookwire/guard.yaml, the project's) doesn't ask about this any more:",
        "  unless: Bash(git push origin topic)",
      ],
    }),
    "inspect/always": ({ id, digest }) => {
      const at = approvals.findIndex((it) => it.id === id);
      approvals.splice(at, 1);
      answers.push({ id, digest });
      send(approvalLine());
      return { files: [], notes: [] };
    },
    "inspect/reply": ({ seq, record }) => {
      const it = record ?? records.find((record) => record.seq === seq);
      const { verdict } = it;
      if (it.dialect === "native") return { reply: { ...verdict, outcomes: verdict.outcomes.length } };
      return {
        exit: 0,
        stderr: "",
        stdout:
          verdict.decision === "allow" && !verdict.subject
            ? ""
            : JSON.stringify({
                hookSpecificOutput: {
                  hookEventName: it.event,
                  ...(verdict.decision !== "allow" && {
                    permissionDecision: verdict.decision,
                    permissionDecisionReason: verdict.reason,
                  }),
                  ...(verdict.subject && { updatedInput: verdict.subject }),
                },
              }),
      };
    },
    "inspect/definition": ({ file }) => ({ text: definitions().texts[file] ?? "" }),
    "inspect/cases": () => definitions().covered,
    "inspect/trust": () => ({
      root: ROOT,
      isTrusted: false,
      hooks: HOOKS.map((it) => it.name),
      changes: [{ path: `${ROOT}/.hookwire/team.yaml`, was: true, is: true }],
      lines: [
        { look: "head", text: ".hookwire/team.yaml, changed" },
        { look: "plain", text: "  hooks:" },
        { look: "plain", text: "    - name: ask-before-publish" },
        { look: "removed", text: "-     on: PreToolUse" },
        { look: "added", text: "+     on: PreTolUse" },
        { look: "plain", text: "      if: Bash(npm publish *)" },
        { look: "mistake", text: ".hookwire/team.yaml:3:9: `PreTolUse` is no event (did you mean `PreToolUse`?)" },
        { look: "beside", text: "runs, as it is now: /usr/bin/sleep, for `sleep`" },
        { look: "loosened", text: "only observes, and stops nothing: `watch-curl`" },
        { look: "plain", text: "9 hooks: audit, no-prod-database, no-env-read, ..." },
      ],
    }),
    "inspect/history": ({ query = "", before, limit = 100 }) => {
      const wanted = /decision:(\w+)/.exec(query)?.[1];
      const word = /(?:^|\s)(?:text:)?([\w-]+)(?=\s|$)/.exec(
        query.replace(/\w+:\S+/g, (it) => (it.startsWith("text:") ? it : "")),
      )?.[1];
      const all = records
        .filter((it) => (!wanted || it.verdict.decision === wanted) && (!word || JSON.stringify(it).includes(word)))
        .reverse();
      const from = before === undefined ? 0 : Number(before);
      if (fleet !== undefined) {
        // A part has few that fit, or none, and says how far back it has looked.
        const part = records.slice(Math.max(0, records.length - from - 100), records.length - from).reverse();
        const next = from + 100 < records.length ? { next: String(from + 100) } : {};
        const lookedBack = part.at(-1)?.at ?? null;
        return { events: part.filter((it) => all.includes(it)).map(judged), looked: part.length, lookedBack, ...next };
      }
      return {
        events: all.slice(from, from + limit).map((record) => ({ cursor: String(record.seq), host: HOST, record })),
        ...(from + limit < all.length && { next: String(from + limit) }),
        total: all.length,
      };
    },
    "inspect/record": ({ on }) => {
      if (on !== undefined) isRecording = on;
      return {
        on: isRecording,
        keeps: "30 days, 1024 MiB",
        days: 30,
        mebibytes: 1024,
        lost: 0,
        events: isRecording ? 18_204 : 0,
        bytes: isRecording ? 41_300_000 : 0,
      };
    },
    "inspect/try": ({ definition, path, event }) => {
      // A file that is in force says of an event what it said then.
      const of = (params) => JSON.stringify(params.payload ?? params);
      const record = path === "try.yaml" ? undefined : records.find((it) => of(it.params) === of(event));
      if (record !== undefined) {
        const { decision, subject } = record.verdict;
        const expect = subject?.command === undefined ? decision : { command: subject.command };
        return { explanation: explain(event), diagnostics: [], verdict: record.verdict, expect, notRun: [] };
      }
      const diagnostics = judgeText(definition);
      const said = explain(event);
      const command = (event.payload ?? event).tool_input?.command ?? event.tool?.input?.command ?? "";
      const name = /name:\s*(\S+)/.exec(definition)?.[1] ?? "rule";
      const rule = /if:\s*Bash\(([^)*]*)/.exec(definition)?.[1]?.trim();
      const holds = diagnostics.length === 0 && rule !== undefined && command.includes(rule);
      const decision = /\n\s+deny:/.test(definition) ? "deny" : /\n\s+ask:/.test(definition) ? "ask" : "allow";
      const own = {
        hook: name,
        source: { layer: "project", file: `${ROOT}/.hookwire/new.yaml`, line: 2, column: 5, position: 0 },
        applies: holds,
        ...(holds
          ? { decision, rules: [{ field: "if", rule: `Bash(${rule} *)`, holds: true, why: `\`${command}\`` }] }
          : { keptOutBy: { test: "if", why: `no command runs \`${rule ?? "anything"}\`` } }),
      };
      const outcome = { hook: name, status: decision === "deny" ? "blocking" : "success", decision, durationMicros: 3 };
      const verdict = holds
        ? { decision, decidedBy: name, outcomes: [outcome], reason: "Not like this." }
        : { decision: "allow", outcomes: [] };
      return {
        explanation: { ...said, hooks: [own] },
        diagnostics,
        verdict: { ...verdict, generation: 1, hash: "", eventId: "t" },
        expect: verdict.decision,
        notRun: [],
      };
    },
    "inspect/against": ({ definition }) => {
      const rule = /if:\s*Bash\(([^)*]*)/.exec(definition)?.[1]?.trim() ?? "\u0000";
      const differences = records
        .filter((it) => it.verdict.decision === "allow" && JSON.stringify(it.params).includes(rule))
        .slice(0, 40)
        .map((record) => ({ record, before: record.verdict, after: { decision: "deny", decidedBy: "new-rule" } }));
      return { judged: 18_204, from: new Date(now - 30 * 864e5).toISOString(), differences };
    },
    "inspect/suggest": () => ({
      proposals: isEmpty
        ? []
        : [
            {
              reason: "You said yes to `npm publish --dry-run` 14 times, and never no.",
              name: "publish-dry-run",
              events: 14,
              definition:
                "hooks:\n  - name: publish-dry-run\n    on: PreToolUse\n    if: Bash(npm publish --dry-run *)\n    allow: A dry run publishes nothing.\n",
              cases: "cases:\n  - { bash: npm publish --dry-run, expect: allow }\n  - { bash: npm publish, expect: ask }\n",
              examples: ["npm publish --dry-run", "cd web && npm publish --dry-run --access public"],
            },
            {
              reason: "`git push --force` was stopped 9 times; 6 of them were to a branch of the agent's own.",
              name: "force-push-own-branch",
              events: 9,
              definition:
                "hooks:\n  - name: ask-force-push-own-branch\n    on: PreToolUse\n    if: Bash(git push --force* origin agent/*)\n    ask: A force push to a branch of the agent. All right?\n",
              cases: "cases:\n  - { bash: git push --force origin agent/x, expect: ask }\n",
              examples: ["git push --force origin agent/cart"],
            },
            {
              reason: "You said yes to `pnpm publish --dry-run` 14 times, and never no.",
              name: "unless",
              hook: "ask-before-publish",
              events: 14,
              definition: 'unless: "Bash(pnpm publish --dry-run*)"\n',
              cases: "",
              examples: ["pnpm publish --dry-run"],
            },
          ],
    }),
    "inspect/save": (params) => {
      saved.push(params);
      return { path: `${ROOT}/.hookwire/${params.name}.yaml`, cases: `${ROOT}/.hookwire/${params.name}.test.yaml` };
    },
  };

  const server = createServer(async (request, response) => {
    const head = {
      "Content-Security-Policy": CSP,
      "X-Content-Type-Options": "nosniff",
      "Cache-Control": "no-store",
      "Referrer-Policy": "no-referrer",
    };
    const reply = (status, body, type = "application/json") => {
      response.writeHead(status, { ...head, "Content-Type": type });
      response.end(typeof body === "string" || Buffer.isBuffer(body) ? body : JSON.stringify(body));
    };
    const path = request.url === "/" ? "index.html" : request.url.slice(1);
    if (request.method === "GET" && TYPES[path])
      return reply(200, await readFile(new URL(`../dist/${path}`, import.meta.url)), TYPES[path]);
    if (isOff) return response.destroy();
    let text = "";
    for await (const chunk of request) text += chunk;
    if (request.url === "/api/session") {
      const { start } = JSON.parse(text);
      if (!begun.delete(start)) return reply(403, {});
      const token = randomUUID();
      tokens.add(token);
      return reply(200, { token });
    }
    if (!tokens.has((request.headers.authorization ?? "").replace("Bearer ", ""))) return reply(401, {});
    if (request.url.startsWith("/api/events")) {
      response.writeHead(200, { ...head, "Content-Type": "application/x-ndjson" });
      response.write(hostLine() + approvalLine());
      streams.add(response);
      response.on("close", () => {
        streams.delete(response);
        live.delete(response);
      });
      await eventsAfter;
      let at = request.url.includes("after=") ? Math.max(0, records.length - 200) : 0;
      const more = () => {
        while (at < records.length) {
          const until = Math.min(records.length, at + 500);
          const text = records.slice(at, until).map(line).join("");
          at = until;
          if (!response.write(text)) {
            response.once("drain", more);
            return;
          }
        }
        if (response.destroyed) return;
        // What was sent to the others in the meantime.
        response.write(hostLine() + approvalLine());
        live.add(response);
      };
      more();
      return;
    }
    const { method, params } = JSON.parse(text);
    calls.push({ method, params });
    if (methods[method] === undefined) return reply(200, { error: { code: -32601, message: `no method \`${method}\`` } });
    try {
      const result = methods[method](params ?? {});
      await slow[method];
      reply(200, { result });
    } catch (error) {
      reply(200, { error: { code: error.code ?? -32603, message: error.message } });
    }
  });
  await new Promise((resolve) => server.listen(port, "127.0.0.1", resolve));
  const origin = `http://127.0.0.1:${server.address().port}`;
  return {
    origin,
    records,
    approvals,
    answers,
    saved,
    calls,
    methods,
    push,
    r,
    next: (given) => push(event(records.length + 1, Date.now(), r, given)),
    address: () => {
      const start = randomUUID();
      begun.add(start);
      return `${origin}/#start=${start}`;
    },
    /** Says something else of the fleet. */
    fleetIs: (it) => {
      fleet = it;
      send(hostLine());
    },
    /** Tells of events that it couldn't tell, or couldn't be told. */
    lose: (it) => send(message(it)),
    ask: (it) => {
      approvals.push(it);
      send(approvalLine());
    },
    cut: () => {
      isOff = true;
      for (const it of streams) it.destroy();
    },
    mend: () => {
      isOff = false;
    },
    close: () => {
      for (const it of streams) it.destroy();
      server.close();
      server.closeAllConnections();
    },
  };
}

if (process.argv[1] === new URL(import.meta.url).pathname) {
  const value = (name) => {
    const at = process.argv.indexOf(name);
    return at < 0 ? undefined : process.argv[at + 1];
  };
  const it = await serve({
    many: Number(value("--many") ?? 400),
    withHostile: process.argv.includes("--hostile"),
    isEmpty: process.argv.includes("--empty"),
    port: Number(value("--port") ?? 0),
  });
  console.log(it.address());
  if (process.argv.includes("--live")) setInterval(() => it.next(), 700);
}
