// The parts that need no browser, by tables.
import test from "node:test";
import assert from "node:assert/strict";
import { build } from "esbuild";

const here = (path) => new URL(path, import.meta.url).pathname;
async function load(path) {
  globalThis.location ??= { hash: "" };
  const { outputFiles } = await build({
    entryPoints: [here(`../src/${path}`)],
    bundle: true,
    format: "esm",
    write: false,
    jsx: "automatic",
    jsxImportSource: "preact",
    loader: { ".css": "empty" },
  });
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString("base64")}`);
}
const row = (more) => ({
  decision: "allow",
  agent: "codex",
  subAgent: "",
  tool: "Bash",
  event: "PreToolUse",
  session: "s 1",
  run: "",
  host: "h",
  decidedBy: "",
  runs: [{ hook: "lint", micros: 1, flags: 0 }],
  doubt: false,
  failed: false,
  rewritten: false,
  observed: false,
  time: 1000,
  search: "git push --force",
  ...more,
});

test("a line lets rows through", async () => {
  const { parse, compile } = await load("query.ts");
  const table = [
    ["", true],
    ["push", true],
    ["PUSH", true],
    ["pull", false],
    ["-pull", true],
    ["-push", false],
    ["git push", true],
    ['"git push"', true],
    ['"push git"', false],
    ["decision:allow", true],
    ["decision:deny", false],
    ["decision:deny decision:allow", true],
    ["-decision:allow", false],
    ["agent:codex", true],
    ["agent:code", false],
    ["agent:co*", true],
    ["agent:*", true],
    ["tool:bash", true],
    ["tool:Edit tool:Bash", true],
    ['session:"s 1"', true],
    ["session:s", false],
    ["hook:lint", true],
    ["is:doubt", false],
    ["-is:doubt", true],
    ["since:1s", true],
    ["until:1s", true],
    ["until:2s", false],
    ["since:1970-01-02", false],
    ["text:a.b", false],
    ["text:(", false],
    ["https://x", false],
    ["run:", true],
  ];
  for (const [line, expected] of table) {
    const found = parse(line);
    assert.deepEqual(found.mistakes, [], line);
    assert.equal((compile(found, 2000) ?? (() => true))(row()), expected, line);
  }
});

test("a line's mistakes are named", async () => {
  const { parse } = await load("query.ts");
  for (const [line, words] of [
    ["foo:bar", "foo:"],
    ["decision:maybe", "allow, ask"],
    ["is:odd", "doubt"],
    ["since:yesterday", "no time"],
  ])
    assert.match(parse(line).mistakes.join(), new RegExp(words), line);
});

test("a term is put in and taken out", async () => {
  const { toggled } = await load("query.ts");
  assert.equal(toggled("a", "tool", "Bash"), "a tool:Bash");
  assert.equal(toggled("a tool:Bash", "tool", "Bash"), "a");
  assert.equal(toggled("", "session", 's "1" \\'), 'session:"s \\"1\\" \\\\"');
  assert.equal(toggled('session:"s 1"', "session", "s 1"), "");
});

test("an address is read as it was written", async () => {
  const { hashOf, parseHash } = await load("route.ts");
  for (const it of [
    { view: "timeline", q: 'decision:deny text:"a&b=c#d?+%" é' },
    { view: "history", q: "x", event: "9@2026-11-27T23:21:20.832Z.4" },
    { view: "charts" },
  ]) {
    assert.deepEqual(parseHash(hashOf(it)), { view: "timeline", q: "", group: "", event: "", item: "", ...it });
  }
  assert.equal(hashOf({ view: "timeline", q: "decision:deny since:1h" }), "#/timeline?q=decision:deny+since:1h");
  assert.equal(parseHash("#/nowhere?q=%").view, "timeline");
});

test("a diff has both texts", async () => {
  const { diff } = await load("diff.ts");
  const of = (parts, kinds) =>
    parts
      .filter((it) => kinds.includes(it.kind))
      .map((it) => it.text)
      .join("");
  for (const [before, after] of [
    ["npm install left-pad", "pnpm install left-pad"],
    ["", "a"],
    ["a", ""],
    ["a b c", "a c"],
    ["same", "same"],
    ["x ".repeat(4000), "y ".repeat(4000)],
    ["aa", "aaa"],
  ]) {
    const parts = diff(before, after);
    assert.equal(of(parts, ["same", "removed"]), before);
    assert.equal(of(parts, ["same", "added"]), after);
  }
  assert.deepEqual(diff("npm install", "pnpm install"), [
    { kind: "removed", text: "npm" },
    { kind: "added", text: "pnpm" },
    { kind: "same", text: " install" },
  ]);
});

test("hidden characters are shown", async () => {
  const { plain, oneLine, cutAt } = await load("text.tsx");
  const table = [
    ["a\u202eb", "a\\u{202e}b"],
    ["\u001b[31m", "\\e[31m"],
    ["a\tb\nc", "a\tb\nc"],
    ["\u200b", "\\u{200b}"],
    ["\u{e0041}", "\\u{e0041}"],
    ["\ud800", "\\u{d800}"],
    ["é漢🙂", "é漢🙂"],
    ["שלום", "שלום"],
    ["z\u0301\u0302\u0303\u0304\u0305", "z\u0301\u0302\u0303\u0304\\u{305}"],
    ["\r", "\\r"],
  ];
  for (const [text, expected] of table) assert.equal(plain(text), expected);
  assert.equal(oneLine("a\nb"), "a ⏎ b");
  assert.equal(cutAt("🙂", 1), 0);
});

test("a place in bytes is found in the text", async () => {
  const { fromBytes, editorLink } = await load("places.ts");
  for (const text of ["abc", "é🙂x漢y"]) {
    const at = fromBytes(text);
    for (const [nth, character] of [...text].entries()) {
      const before = [...text].slice(0, nth).join("");
      assert.equal(text.slice(at(Buffer.byteLength(before)), at(Buffer.byteLength(before + character))), character);
    }
    assert.equal(at(99), text.length);
  }
  assert.equal(editorLink({ file: "/p q/a#b.yaml", line: 3 }), "vscode://file/p%20q/a%23b.yaml:3");
  for (const file of ["built-in", "session", "javascript:alert(1)", "//", "https://x"])
    if (!file.startsWith("/")) assert.equal(editorLink({ file, line: 1 }), undefined);
});

test("a record becomes a row", async () => {
  const { rowOf } = await load("read.ts");
  const verdict = { decision: "allow", outcomes: [], generation: 1, hash: "", eventId: "e" };
  const base = { seq: 1, at: "2026-11-27T23:20:12.122Z", event: "PreToolUse", tool: "Bash", dialect: "claude-code", verdict };
  const table = [
    [
      { params: { dialect: "claude-code", payload: { session_id: "s", tool_input: { command: "ls" }, agent_type: "tester" } } },
      { session: "s", text: "ls", subAgent: "tester", tone: "silent" },
    ],
    [
      { dialect: "native", client: "mine", params: { session: "n", run: "r", tool: { name: "Bash", input: { command: "ls" } } } },
      { session: "n", run: "r", agent: "mine", text: "ls" },
    ],
    [{ truncated: true }, { text: "", session: "" }],
    [{ verdict: { ...verdict, subject: null } }, { rewritten: true, tone: "rewrite" }],
    [
      { verdict: { ...verdict, outcomes: [{ hook: "a", status: "non_blocking_error", error: "x", durationMicros: 4 }] } },
      { failed: true, tone: "failed", micros: 4 },
    ],
    [
      {
        verdict: { ...verdict, outcomes: [{ hook: "a", status: "success", observed: { decision: "deny" }, durationMicros: 4 }] },
      },
      { observed: true, tone: "observed" },
    ],
    [
      {
        verdict: {
          ...verdict,
          decision: "ask",
          decidedBy: "a",
          outcomes: [{ hook: "a", status: "blocking", decision: "ask", opaque: "why", durationMicros: 4 }],
        },
      },
      { doubt: true, tone: "ask", decidedBy: "a" },
    ],
    [
      { event: "PostModelCall", dialect: "native", params: { model: { usage: { inputTokens: 5, outputTokens: 6 } } } },
      { tokens: 11 },
    ],
  ];
  for (const [more, expected] of table)
    assert.partialDeepStrictEqual?.(rowOf({ host: "h", record: { ...base, ...more } }, "", 0), expected) ??
      assert.deepEqual(
        Object.fromEntries(
          Object.keys(expected).map((key) => [key, rowOf({ host: "h", record: { ...base, ...more } }, "", 0)[key]]),
        ),
        expected,
      );
  const about = { agent: "claude-code/tester", session: "x", text: "told" };
  assert.deepEqual(
    (({ agent, subAgent, session, text }) => ({ agent, subAgent, session, text }))(
      rowOf({ host: "h", record: base, about }, "", 0),
    ),
    { agent: "claude-code", subAgent: "tester", session: "x", text: "told" },
  );
});
