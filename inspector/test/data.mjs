// Events, hooks and definitions in the shapes that a real host has, always the same ones for the same seed.

export function random(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

export const ROOT = "/home/ana/shop";
export const HOST = "shop-1";
const file = (name) => `${ROOT}/.hookwire/${name}`;
const hook = (name, layer, path, line, position, more = {}) => ({
  name,
  on: ["PreToolUse"],
  handler: "deny",
  dialect: "native",
  fail: "open",
  timeoutMs: 30000,
  enabled: true,
  async: false,
  source: { layer, file: path, line, column: 5, position },
  ...more,
});
export const HOOKS = [
  hook("audit", "managed", "/etc/hookwire/company.yaml", 3, 0, { handler: "command", on: ["*"], async: true }),
  hook("no-prod-database", "managed", "/etc/hookwire/company.yaml", 9, 1, { fail: "closed" }),
  hook("no-secrets-in-prompts", "user", "/home/ana/.config/hookwire/mine.yaml", 2, 0, { on: ["UserPromptSubmit"] }),
  hook("no-env-read", "project", file("no-env-read.yaml"), 5, 0),
  hook("no-force-push", "project", file("no-force-push.yaml"), 4, 0),
  hook("ask-before-publish", "project", file("team.yaml"), 2, 0, { handler: "ask" }),
  hook("watch-curl", "project", file("team.yaml"), 6, 1, { observe: true }),
  hook("lint", "project", file("team.yaml"), 11, 2, { handler: "command", on: ["PostToolUse"], timeoutMs: 5000 }),
  hook("use-pnpm", "project", file("use-pnpm.yaml"), 4, 0, { handler: "rewrite" }),
];
const HASH = "3f96e32ffb691827cb24d668000f2558";

const COMMANDS = [
  "git status --short",
  "git diff HEAD~1 -- src/cart.ts",
  "pnpm test --filter cart",
  "ls -la src",
  "rg 'totalPrice' src",
  "pnpm exec tsc --noEmit",
  "git add -A && git commit -m 'Round totals to cents'",
  "cat package.json",
  "node scripts/seed.mjs --dry-run",
  "cd web && git push -f",
  "npm install left-pad",
  "npm publish --access public",
  "$RUN push --force; curl https://example.com/x",
  "cat .env",
  "curl -fsSL https://example.com/install.sh",
  "git push --force origin main",
  "psql $PROD_URL -c 'select 1'",
];
const FILES = [
  "src/cart.ts",
  "src/checkout/total.ts",
  "web/src/pages/basket.tsx",
  "test/cart.test.ts",
  "README.md",
  "package.json",
];

const outcome = (name, micros, more = {}) => ({ hook: name, status: "success", durationMicros: micros, ...more });
const doubt = (rule, at) => `can't tell whether \`${rule}\` holds: the program's name is computed, at \`${at}\``;

export function judge(command, r) {
  const quick = () => Math.round(2 + r() * 60);
  const outcomes = [outcome("audit", 0, { status: "started" }), outcome("no-prod-database", quick())];
  const verdict = { decision: "allow", outcomes };
  const stop = (name, decision, reason, more = {}) => {
    outcomes.push(outcome(name, quick(), { status: "blocking", decision, reason, ...more }));
    Object.assign(verdict, { decision, decidedBy: name, reason });
  };
  if (/^\$RUN/.test(command)) {
    const why = doubt("Bash(git push --force*)", "$RUN push --force");
    stop("no-force-push", "ask", `hook \`no-force-push\` ${why}`, { opaque: why });
    outcomes.push(outcome("watch-curl", quick(), { observed: { decision: "deny", reason: "No network." } }));
  } else if (/push.*(-f|--force)/.test(command))
    stop("no-force-push", "deny", "Force pushes are off. Push a new commit, or push to another branch and open a pull request.");
  else if (/\.env/.test(command)) stop("no-env-read", "deny", "`.env` holds secrets. Read `.env.example`.");
  else if (/publish/.test(command)) stop("ask-before-publish", "ask", "This publishes a package. Is the version right?");
  else if (/psql/.test(command)) {
    outcomes[1] = outcome("no-prod-database", 30_000_000, {
      status: "cancelled",
      decision: "deny",
      error: "timed out after 30 s",
      reason: "failed, and it fails closed",
    });
    Object.assign(verdict, {
      decision: "deny",
      decidedBy: "no-prod-database",
      reason: "hook `no-prod-database` timed out after 30 s",
    });
  } else if (/^npm install/.test(command)) {
    outcomes.push(outcome("use-pnpm", quick(), { rewrote: true }), outcome("no-prod-database", quick(), { rejudged: true }));
    verdict.subject = { command: command.replace("npm", "pnpm") };
    verdict.patch = verdict.subject;
  } else if (/^curl/.test(command))
    outcomes.push(outcome("watch-curl", quick(), { observed: { decision: "deny", reason: "No network." } }));
  return verdict;
}

const SESSIONS = [
  { dialect: "claude-code", id: "7f3c2a91-5b0e-4d1c-9c55-0a8be71d2f10" },
  { dialect: "codex", id: "0199a7c2-4e1b-7aa0-b3c1-6d9e02c4f7e8" },
  { dialect: "claude-code", id: "c41d90be-2f6a-4b7e-8d11-7e20c3a95b44", sub: "test-writer" },
  { dialect: "native", client: "shop-assistant", id: "order-bot-42" },
];

/** One event; `at` in milliseconds. */
export function event(seq, at, r, given = {}) {
  const session = given.session ?? SESSIONS[Math.floor(r() ** 1.6 * SESSIONS.length)];
  const kind = r();
  const command = given.command ?? COMMANDS[Math.floor(r() ** (given.flat ? 1 : 1.8) * COMMANDS.length)];
  const common = { generation: 7, hash: HASH, eventId: `1a21f4f2c42-1eb4-${seq}` };
  const record = {
    seq,
    at: new Date(at).toISOString(),
    dialect: session.dialect,
    ...(session.client && { client: session.client }),
  };
  const payload = { session_id: session.id, cwd: ROOT, ...(session.sub && { agent_type: session.sub }) };
  const wrap = (event, own) =>
    session.dialect === "native"
      ? { event, session: session.id, run: `run-${Math.floor(seq / 40)}`, cwd: ROOT, ...own.native, deadlineMs: 50000 }
      : { deadlineMs: 50000, dialect: session.dialect, payload: { ...payload, hook_event_name: event, ...own.foreign } };
  if (given.command === undefined && kind > 0.93 && session.dialect === "native") {
    return {
      ...record,
      event: "PostModelCall",
      params: wrap("PostModelCall", {
        native: {
          model: {
            name: "small-1",
            response: { text: "Done." },
            usage: { inputTokens: 900 + Math.floor(r() * 4000), outputTokens: 100 + Math.floor(r() * 700) },
          },
        },
      }),
      verdict: { decision: "allow", outcomes: [outcome("audit", 0, { status: "started" })], ...common },
    };
  }
  if (given.command === undefined && kind > 0.88) {
    const prompt = "Fix the rounding in the basket, then run the tests.";
    return {
      ...record,
      event: "UserPromptSubmit",
      params: wrap("UserPromptSubmit", { native: { prompt }, foreign: { prompt } }),
      verdict: { decision: "allow", outcomes: [outcome("no-secrets-in-prompts", 40)], ...common },
    };
  }
  if (given.command === undefined && kind > 0.7) {
    const input = {
      file_path: `${ROOT}/${FILES[Math.floor(r() * FILES.length)]}`,
      old_string: "total = a + b",
      new_string: "total = round(a + b)",
    };
    const failed = r() > 0.9;
    const run = outcome(
      "lint",
      Math.round(80_000 + r() * 400_000),
      failed ? { status: "non_blocking_error", error: "failed to run: exit status 3" } : {},
    );
    return {
      ...record,
      event: "PostToolUse",
      tool: "Edit",
      params: wrap("PostToolUse", {
        native: { tool: { name: "Edit", input, output: { ok: true } } },
        foreign: { tool_name: "Edit", tool_input: input, tool_response: { filePath: input.file_path } },
      }),
      verdict: { decision: "allow", outcomes: [run], ...common },
    };
  }
  if (given.command === undefined && kind > 0.55) {
    const input = { file_path: `${ROOT}/${FILES[Math.floor(r() * FILES.length)]}` };
    return {
      ...record,
      event: "PreToolUse",
      tool: "Read",
      params: wrap("PreToolUse", {
        native: { tool: { name: "Read", input } },
        foreign: { tool_name: "Read", tool_input: input },
      }),
      verdict: { decision: "allow", outcomes: [outcome("no-prod-database", 9)], ...common },
    };
  }
  const input = {
    command,
    ...(r() > 0.6 && session.dialect === "claude-code" && { description: "Look at the state of the work" }),
  };
  return {
    ...record,
    event: "PreToolUse",
    tool: "Bash",
    params: wrap("PreToolUse", { native: { tool: { name: "Bash", input } }, foreign: { tool_name: "Bash", tool_input: input } }),
    verdict: { ...withRest(judge(command, r), input), ...common },
  };
}

const withRest = (verdict, input) => (verdict.subject ? { ...verdict, subject: { ...input, ...verdict.subject } } : verdict);

/** Programs that started below a call, as the kernel's watcher tells them. */
export function starts(call, seq) {
  const start = (nth, pid, argv, parents, verdict = { decision: "allow", outcomes: [] }) => ({
    seq: seq + nth,
    at: call.at,
    event: "PreExec",
    dialect: "native",
    client: "hookwire-run",
    params: {
      event: "PreExec",
      session: call.params.payload?.session_id ?? call.params.session,
      cwd: ROOT,
      exec: { pid, argv, path: argv[0], parents, toolCall: call.verdict.eventId },
    },
    verdict: { ...verdict, generation: 7, hash: HASH, eventId: `${call.verdict.eventId}-${nth}` },
  });
  const claude = { pid: 4100, argv: ["claude"] };
  const shell = { pid: 4211, argv: ["bash", "-c", "make release"] };
  const make = { pid: 4212, argv: ["make", "release"] };
  const deny = {
    decision: "deny",
    decidedBy: "no-force-push",
    reason: "Force pushes are off.",
    outcomes: [outcome("no-force-push", 21, { status: "blocking", decision: "deny", reason: "Force pushes are off." })],
  };
  return [
    start(0, 4211, shell.argv, [claude]),
    start(1, 4212, make.argv, [shell, claude]),
    start(2, 4213, ["git", "tag", "v1.2.0"], [make, shell, claude]),
    start(3, 4214, ["sh", "-c", "git push --force --tags"], [make, shell, claude]),
    start(
      4,
      4215,
      ["git", "push", "--force", "--tags"],
      [{ pid: 4214, argv: ["sh", "-c", "git push --force --tags"] }, make, shell, claude],
      deny,
    ),
  ];
}

/** `hooks/explain`, as far as the page needs it. */
export function explain(params) {
  const payload = params.payload ?? params;
  const name = payload.hook_event_name ?? payload.event;
  const tool = payload.tool_name ?? payload.tool?.name;
  const input = payload.tool_input ?? payload.tool?.input ?? {};
  const command = typeof input.command === "string" ? input.command : "";
  const bytes = (text) => Buffer.byteLength(text);
  const commands = [];
  let at = 0;
  for (const part of command === "" ? [] : command.split(/(\s*(?:&&|;|\|\|)\s*)/)) {
    if (!/^\s*(&&|;|\|\|)/.test(part))
      commands.push({ command: part.replace(/^\$(\w+)/, "${$1}"), start: at, end: at + bytes(part) });
    at += bytes(part);
  }
  const acts = /\.env/.test(command)
    ? ["reads /home/ana/shop/.env"]
    : input.file_path
      ? [`${tool === "Read" ? "reads" : "writes"} ${input.file_path}`]
      : [];
  const rule = {
    "no-force-push": [/push.*(-f|--force)/, "Bash(git push --force*)"],
    "no-env-read": [/\.env/, "Read|Edit({.env,.env.local})"],
    "ask-before-publish": [/publish/, "Bash(npm publish *)"],
    "watch-curl": [/curl/, "Bash(curl *)"],
    "use-pnpm": [/^npm/, "Bash(npm *)"],
    "no-prod-database": [/./, "Bash(*)"],
  };
  const hooks = HOOKS.map((it) => {
    const said = { hook: it.name, source: it.source, applies: true, ...(it.observe && { observe: true }) };
    if (!it.on.includes("*") && !it.on.includes(name))
      return { ...said, applies: false, keptOutBy: { test: "on", why: `not for ${name}` } };
    const [pattern, text] = rule[it.name] ?? [];
    if (pattern === undefined) return said;
    if (tool !== "Bash")
      return it.name === "no-prod-database"
        ? said
        : { ...said, applies: false, keptOutBy: { test: "matcher", why: `doesn't match tool \`${tool}\`` } };
    if (/^\$RUN/.test(command) && it.name === "no-force-push") {
      const why = doubt(text, "$RUN push --force");
      return { ...said, opaque: why, rules: [{ field: "if", rule: text, why }] };
    }
    if (pattern.test(command))
      return {
        ...said,
        ...(it.handler === "deny" &&
          it.name !== "no-prod-database" && { decision: "deny", exception: `Bash(${command.slice(0, 60)})` }),
        rules: [{ field: "if", rule: text, holds: true, why: `\`${command.slice(0, 60)}\`` }],
      };
    return {
      ...said,
      applies: false,
      keptOutBy: { test: "if", why: `\`${text}\`: no command runs \`${text.slice(5).split(" ")[0]}\`` },
      rules: [{ field: "if", rule: text, holds: false, why: "no command runs it" }],
    };
  });
  return { commands, acts, hooks, generation: 7, hash: HASH };
}

const TEXTS = {
  "no-force-push.yaml":
    "# Pushes that rewrite what others have.\nhooks:\n\n  - name: no-force-push\n    on: PreToolUse\n    if: Bash(git push --force*)\n    unless: Bash(git push --dry-run *)\n    deny: Force pushes are off. Push a new commit, or push to another branch and open a pull request.\n",
  "no-env-read.yaml":
    '# Files with secrets.\nhooks:\n\n\n  - name: no-env-read\n    on: PreToolUse\n    if: Read|Edit({.env,.env.local,.env.production})\n    deny: "`.env` holds secrets. Read `.env.example`."\n',
  "team.yaml":
    "hooks:\n  - name: ask-before-publish\n    on: PreToolUse\n    if: Bash(npm publish *)\n    ask: This publishes a package. Is the version right?\n  - name: watch-curl\n    on: PreToolUse\n    if: Bash(curl *)\n    observe: true\n    deny: No network.\n  - name: lint\n    on: PostToolUse\n    matcher: Edit|Write\n    command: sleep 0.1; exit 3\n",
  "use-pnpm.yaml": "hooks:\n\n\n  - name: use-pnpm\n    on: PreToolUse\n    if: Bash(npm *)\n    rewrite: { program: pnpm }\n",
};

export function definitions() {
  const at = (name, line, expect) => ({ file: file(name), line, expect });
  return {
    texts: Object.fromEntries(
      HOOKS.map(({ source }) => [
        source.file,
        TEXTS[source.file.replace(/.*\//, "")] ??
          '# The company\'s rules.\nhooks:\n  - name: audit\n    on: "*"\n    async: true\n    command: /usr/local/bin/audit\n',
      ]),
    ),
    diagnostics: [
      {
        file: file("team.yaml"),
        severity: "error",
        code: "unknown-event",
        message: "`PreTolUse` is no event",
        help: "did you mean `PreToolUse`?",
        hook: "ask-before-publish",
        range: { start: { line: 3, column: 9 }, end: { line: 3, column: 18 } },
      },
    ],
    covered: {
      hooks: [
        {
          hook: "no-force-push",
          file: file("no-force-push.yaml"),
          cases: [
            at("no-force-push.test.yaml", 3, "deny"),
            at("no-force-push.test.yaml", 4, "deny"),
            at("no-force-push.test.yaml", 9, "allow"),
          ],
        },
        { hook: "no-env-read", file: file("no-env-read.yaml"), cases: [at("no-env-read.test.yaml", 4, "deny")] },
        {
          hook: "ask-before-publish",
          file: file("team.yaml"),
          cases: [{ ...at("team.test.yaml", 2, null), name: "npm publish", maybe: true }],
        },
      ],
      files: [...new Set(HOOKS.map(({ source }) => source.file))].map((it) => ({
        file: it,
        cases: it.replace(/\.yaml$/, ".test.yaml"),
        isThere: /no-|team/.test(it),
        problems: [],
      })),
    },
  };
}

export const approval = (id, more = {}) => ({
  id,
  hook: "ask-before-publish",
  message: "This publishes a package. Is the version right?",
  event: "PreToolUse",
  session: "order-bot-42",
  agent: "shop-assistant",
  tool: "Bash",
  cwd: `${ROOT}/web`,
  subject: { command: "npm publish --access public", description: "Publish the web package" },
  timeoutMs: 300_000,
  unanswered: "deny",
  askedAt: Date.now() - 41_000,
  ...more,
});

const BIDI = "\u202eevil\u2066\u200b\u0007\u001b[31m\u0000";
export const HOSTILE = `<script>window.pwned=1</script><img src=x onerror="window.pwned=1"> ${BIDI} javascript:alert(1) ${"z\u0301\u0302\u0303\u0304\u0305\u0306".repeat(3)} {{7*7}} </pre></style>`;
/** An event that says the worst in every place that an agent can write. */
export function hostile(seq, at) {
  const long = HOSTILE + "A".repeat(1024 * 1024);
  return {
    seq,
    at: new Date(at).toISOString(),
    event: `custom:${HOSTILE}`,
    tool: HOSTILE,
    dialect: "native",
    client: HOSTILE,
    params: {
      event: "PreToolUse",
      session: HOSTILE,
      run: HOSTILE,
      agent: { name: HOSTILE },
      cwd: HOSTILE,
      tool: { name: HOSTILE, input: { command: long, [HOSTILE]: HOSTILE, list: [HOSTILE, long] } },
    },
    verdict: {
      decision: "deny",
      decidedBy: HOSTILE,
      reason: long,
      userMessages: [HOSTILE],
      additionalContext: [long],
      errors: [HOSTILE],
      stop: HOSTILE,
      subject: { command: HOSTILE },
      outcomes: [
        {
          hook: HOSTILE,
          status: "blocking",
          decision: "deny",
          reason: long,
          error: HOSTILE,
          opaque: HOSTILE,
          durationMicros: 5,
          scripts: [{ path: HOSTILE, sha256: "00" }],
        },
      ],
      generation: 7,
      hash: HASH,
      eventId: HOSTILE,
    },
  };
}
