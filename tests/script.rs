//! The `script` handler through the built binary: what scripts may do, what they can't, and how
//! they are told.

#![cfg(feature = "script")]
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use support::{TestHost, bash, brief, eventually, hooks, replace};

/// One hook at PreToolUse with this script, inline.
fn definition(script: &str, more: &str) -> String {
    let indented: String = script.lines().map(|line| format!("      {line}\n")).collect();
    format!("hooks:\n  - name: h\n    on: PreToolUse\n    fail: closed\n    {more}\n    script: |\n{indented}")
}

/// The brief verdict on a Bash call, of a host with one script.
fn run(script: &str) -> String {
    let (mut host, _dir) = TestHost::with(&definition(script, ""));
    brief(&host.bash("ls"))
}

/// What a script gives, as JSON in the reason of a deny.
fn value(script: &str) -> Value {
    let verdict = run(&format!("const value = (() => {{ {script} }})();\nreturn deny(JSON.stringify([value]));"));
    let text = verdict.strip_prefix("deny by h: ").unwrap();
    let parsed: Result<Value, _> = serde_json::from_str(text);
    parsed.map(|it| it[0].clone()).unwrap_or_else(|_| panic!("{script}: {text}"))
}

#[test]
fn answers() {
    for (script, expected) in [
        ("return { decision: 'deny', reason: event.tool.input.command }", "deny by h: ls"),
        ("return deny(`no ${event.tool.name}`)", "deny by h: no Bash"),
        ("return ask('sure?')", "ask by h: sure?"),
        ("return allow()", "allow"),
        ("return undefined", "allow"),
        ("return null", "allow"),
        ("// nothing", "allow"),
        ("return {}", "allow"),
        ("return deny(hook.name + hook.dialect)", "deny by h: hnative"),
        ("return deny(typeof args + Object.keys(args).length)", "deny by h: object0"),
        ("return deny(new Date().getFullYear() > 2000 && Math.random() < 1)", "deny by h: true"),
        ("return { toJSON: () => ({ decision: 'deny', reason: 'json' }) }", "deny by h: json"),
    ] {
        assert_eq!(run(script), expected, "{script}");
    }
}

#[test]
fn failures() {
    for (script, expected) in [
        ("return 1", "read the reply: it is not a JSON object"),
        ("return 'deny'", "read the reply: it is not a JSON object"),
        ("return [1]", "read the reply: it is not a JSON object"),
        ("return { decision: 'perhaps' }", "read the reply: unknown variant `perhaps`"),
        ("return () => 1", "run the script: TypeError: the script returned a function"),
        ("return (async () => deny('x'))()", "run the script: TypeError: the script returned a promise"),
        ("return 1n", "run the script: TypeError: "),
        ("const x = 1;\n\nnope.x()", "run the script: ReferenceError: nope is not defined at line 9 of the definition"),
        ("throw new RangeError('mine')", "run the script: RangeError: mine at line 7 of the definition"),
        ("throw 'text'", "run the script: text"),
        ("throw { a: 1 }", "run the script: it threw object, which is not an error"),
        ("throw new Error('x'.repeat(100000))", "run the script: Error: xxx"),
        ("const f = () => f(); f()", "run the script: RangeError: Maximum call stack size exceeded at line 7"),
        ("const a = []; for (;;) a.push('x'.repeat(1e5) + a.length)", "run the script: InternalError: out of memory"),
        ("return { reason: 'x'.repeat(2e6) }", "use the script's answer: it is larger than 1 MiB"),
        ("}), deny('out'), (function () {", "run the script: SyntaxError: the script is not the body of a function"),
    ] {
        let verdict = run(script);
        let text = verdict.strip_prefix("deny by h: hook `h` failed to ").unwrap_or_else(|| panic!("{script}: {verdict}"));
        assert!(text.starts_with(expected), "{script}: {text}");
        assert!(verdict.len() < 2000, "{script}");
    }
}

#[test]
fn the_world_is_out_of_reach() {
    for (script, expected) in [
        ("return typeof eval", json!("undefined")),
        ("return typeof require + typeof process + typeof fetch + typeof setTimeout", json!("undefined".repeat(4))),
        ("return typeof Proxy + typeof WeakRef + typeof SharedArrayBuffer + typeof Atomics", json!("undefined".repeat(4))),
        ("try { return new Function('return 1')() } catch (e) { return e.message }", json!("text can't become code here")),
        ("try { return (() => {}).constructor('return 1')() } catch (e) { return e.name }", json!("EvalError")),
        ("try { return (function* () {}).constructor('') } catch (e) { return e.name }", json!("EvalError")),
        ("try { return (async () => {}).constructor('') } catch (e) { return e.name }", json!("EvalError")),
        ("try { event.tool.name = 1 } catch (e) { return e.name }", json!("TypeError")),
        ("try { globalThis.x = 1 } catch (e) { return e.name }", json!("TypeError")),
        ("try { Array.prototype.x = 1 } catch (e) { return e.name }", json!("TypeError")),
        ("try { Object.prototype.toString = 1 } catch (e) { return e.name }", json!("TypeError")),
        // What is frozen doesn't get in the way.
        ("const o = {}; o.toString = 1; o.constructor = 2; return o", json!({"toString": 1, "constructor": 2})),
        ("class E extends Error { constructor(m) { super(m); this.name = 'E' } }; return `${new E('m')}`", json!("E: m")),
        ("return [3, 1, 2].sort().concat([[4]], 5).flat().map((n) => n * 2)", json!([2, 4, 6, 8, 10])),
        ("return [[1, [2]], 3].flat(Infinity).concat(['b', 'a'].toSorted())", json!([1, 2, 3, "a", "b"])),
        ("return 'a-b-c'.split('-').join('+') + 'x1y2'.replace(/\\d/g, (d) => d * 2) + 'aa'.replaceAll('a', 'b')", json!("a+b+cx2y4bb")),
        ("return ['a1b2'.match(/\\d/g), [...'a1b2'.matchAll(/\\d/g)].length, 'ab'.search('b'), 'a,b'.split(/,/)]", json!([["1", "2"], 2, 1, ["a", "b"]])),
        ("return [RegExp('a', 'g').flags, new RegExp(/x/g, 'i').flags, /a/ instanceof RegExp, /a/.constructor === RegExp]", json!(["g", "i", true, true])),
        ("return JSON.parse(JSON.stringify({ a: [1, { b: 2 }], c: 3 }, ['a', 'b']))", json!({"a": [1, {"b": 2}]})),
        ("return [...new Set([1, 2]).union(new Set([3]))]", json!([1, 2, 3])),
        ("return Array.from({ length: 2 }, (_, n) => n).concat(Array.from('ab'))", json!([0, 1, "a", "b"])),
    ] {
        assert_eq!(value(script), expected, "{script}");
    }
    assert!(run("return import('fs')").contains("returned a promise"));
}

#[test]
fn nothing_is_left_to_the_next_run() {
    // Whatever a run may try, the second one finds the world as the first one did.
    let tries = [
        "globalThis.leak = 1",
        "Array.prototype.leak = 1",
        "Object.prototype.leak = 1",
        "Object.prototype.__proto__ = { leak: 1 }",
        "Object.setPrototypeOf(Array.prototype, { leak: 1 })",
        "(function () {}).constructor.prototype.leak = 1",
        "Object.getPrototypeOf(function* () {}).leak = 1",
        "Object.getPrototypeOf([].values()).leak = 1",
        "Object.getPrototypeOf(Object.getPrototypeOf((async function* () {})())).leak = 1",
        "Error.prepareStackTrace = () => 'leak'; Error.stackTraceLimit = 0",
        "state.leak = log.leak = console.leak = hook.leak = args.leak = 1",
        "RegExp.prototype.exec = () => null",
        "JSON.parse = JSON.stringify = null",
        "Symbol.prototype.leak = 1; Math.leak = 1; Reflect.leak = 1",
        "queueMicrotask(() => { globalThis.leak = 1 })",
        "Promise.resolve().then(() => { state.set('late', 1) })",
    ];
    let script = format!(
        "const seen = () => JSON.stringify([typeof leak, [].leak, {{}}.leak, state.leak, (() => {{}}).leak, /a/.test('a'), Error.stackTraceLimit, new Error('x').stack.length > 5]);\n\
         const before = seen();\n{}\nreturn deny(before);",
        tries.map(|each| format!("try {{ {each} }} catch {{}}")).join("\n")
    );
    let (mut host, _dir) = TestHost::with(&definition(&script, ""));
    let first = brief(&host.bash("ls"));
    for _ in 0..3 {
        assert_eq!(brief(&host.bash("ls")), first);
    }
    assert!(first.contains("[\"undefined\",null,null,null,null,true,null,true]"), "{first}");
}

#[test]
fn a_deadline_can_not_be_dodged() {
    let loops = [
        "for (;;);",
        "for (;;) try { for (;;); } catch {}",
        "for (;;) try { for (;;); } finally { continue; }",
        "const g = (function* () { for (;;) try { yield 1 } finally { for (;;); } })(); for (const _ of g) for (;;);",
        "return { get reason() { for (;;); } }",
        "return { toJSON() { for (;;); } }",
        "const f = () => Promise.resolve().then(f); f();",
        "(async () => { for (;;) try { await null } catch {} })();",
        "queueMicrotask(() => { for (;;); });",
        "[2, 1].sort(() => { for (;;); });",
        "/(a+)+$/.test('a'.repeat(40) + 'b');",
        "'a'.repeat(1e6).split(/a{3000}b/);",
        "for (;;) JSON.parse(JSON.stringify(Array(1e4).fill('x')));",
        "let a = [[], []]; for (let i = 0; i < 60; i++) a = [a, a]; a.flat(Infinity);",
        "let a = {}; for (let i = 0; i < 60; i++) a = { x: a, y: a, z: undefined }; JSON.stringify(a);",
        "let a = []; for (let i = 0; i < 60; i++) a = [a, a]; `${a}`;",
        "throw { toString() { for (;;); }, get message() { for (;;); } };",
        "const e = new Error('x'); Object.defineProperty(e, 'message', { get() { for (;;); } }); throw e;",
        "for (;;) state.set('k', 1);",
        "for (;;) console.log('x');",
        "const f = () => { try { f() } catch { f() } }; f();",
    ];
    let (mut text, mut expected) = ("hooks:\n".to_string(), Vec::new());
    for (n, script) in loops.iter().enumerate() {
        let script = json!(script);
        text += &format!("  - {{ name: h{n}, on: PreToolUse, matcher: T{n}, timeout: 100ms, fail: closed, script: {script} }}\n");
        expected.push(format!("h{n}"));
    }
    text += "  - { name: last, on: PreToolUse, matcher: Last, fail: closed, script: \"return deny('still here')\" }\n";
    let (mut host, _dir) = TestHost::with(&text);
    for (n, script) in loops.iter().enumerate() {
        let started = Instant::now();
        let verdict = host.dispatch(json!({"event": "PreToolUse", "tool": {"name": format!("T{n}"), "input": {}}}));
        assert!(brief(&verdict).contains("finish within its timeout"), "{script}: {verdict}");
        assert!(started.elapsed() < Duration::from_secs(3), "{script}: {:?}", started.elapsed());
    }
    let verdict = host.dispatch(json!({"event": "PreToolUse", "tool": {"name": "Last", "input": {}}}));
    assert_eq!(brief(&verdict), "deny by last: still here");
}
