//! The `script` handler through the built binary: what scripts may do, what they can't, and how
//! they are told.

use crate::support::{TestHost, bash, brief, eventually, hooks, replace};
use serde_json::{Value, json};
use std::time::Instant;

/// One hook at PreToolUse with this script, inline.
fn definition(script: &str, more: &str) -> String {
    let indented: String = script
        .lines()
        .map(|line| format!("      {line}\n"))
        .collect();
    format!(
        "hooks:\n  - name: h\n    on: PreToolUse\n    fail: closed\n    {more}\n    script: |\n{indented}"
    )
}

/// The brief verdict on a Bash call, of a host with one script.
fn run(script: &str) -> String {
    let (mut host, _dir) = TestHost::with(&definition(script, ""));
    brief(&host.bash("ls"))
}

/// What a script gives, as JSON in the reason of a deny.
fn value(script: &str) -> Value {
    let verdict = run(&format!(
        "const value = (() => {{ {script} }})();\nreturn deny(JSON.stringify([value]));"
    ));
    let text = verdict.strip_prefix("deny by h: ").unwrap();
    let parsed: Result<Value, _> = serde_json::from_str(text);
    parsed
        .map(|it| it[0].clone())
        .unwrap_or_else(|_| panic!("{script}: {text}"))
}

#[test]
fn answers() {
    for (script, expected) in [
        (
            "return { decision: 'deny', reason: event.tool.input.command }",
            "deny by h: ls",
        ),
        ("return deny(`no ${event.tool.name}`)", "deny by h: no Bash"),
        (
            "return ask('sure?')",
            "deny by h: sure? (this needs a person's approval, and the client can't ask)",
        ),
        ("return allow()", "allow by h: "),
        ("return undefined", "allow"),
        ("return null", "allow"),
        ("// nothing", "allow"),
        ("return {}", "allow"),
        (
            "return deny(hook.name + hook.dialect)",
            "deny by h: hnative",
        ),
        (
            "return deny(typeof args + Object.keys(args).length)",
            "deny by h: object0",
        ),
        (
            "return deny(new Date().getFullYear() > 2000 && Math.random() < 1)",
            "deny by h: true",
        ),
        (
            "return { toJSON: () => ({ decision: 'deny', reason: 'json' }) }",
            "deny by h: json",
        ),
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
        (
            "return { decision: 'perhaps' }",
            "read the reply: unknown variant `perhaps`",
        ),
        (
            "return () => 1",
            "run the script: TypeError: the script returned a function",
        ),
        (
            "return (async () => deny('x'))()",
            "run the script: TypeError: the script returned a promise",
        ),
        ("return 1n", "run the script: TypeError: "),
        (
            "const x = 1;\n\nnope.x()",
            "run the script: ReferenceError: nope is not defined at line 9 of the definition",
        ),
        (
            "throw new RangeError('mine')",
            "run the script: RangeError: mine at line 7 of the definition",
        ),
        ("throw 'text'", "run the script: text"),
        (
            "throw { a: 1 }",
            "run the script: it threw object, which is not an error",
        ),
        (
            "throw new Error('x'.repeat(100000))",
            "run the script: Error: xxx",
        ),
        (
            "const f = () => f(); f()",
            "run the script: RangeError: Maximum call stack size exceeded at line 7",
        ),
        (
            "const a = []; for (;;) a.push('x'.repeat(1e5) + a.length)",
            "run the script: InternalError: out of memory",
        ),
        (
            "return { reason: 'x'.repeat(2e6) }",
            "use the script's answer: it is larger than 1 MiB",
        ),
        (
            "queueMicrotask(() => nope.x)",
            "run the script: what it put off until later failed",
        ),
        (
            "}(1), function () {",
            "run the script: SyntaxError: the script is not the body of a function",
        ),
    ] {
        let verdict = run(script);
        let text = verdict
            .strip_prefix("deny by h: hook `h` failed to ")
            .unwrap_or_else(|| panic!("{script}: {verdict}"));
        assert!(text.starts_with(expected), "{script}: {text}");
        assert!(verdict.len() < 2000, "{script}");
    }
}

#[test]
fn the_world_is_out_of_reach() {
    for (script, expected) in [
        ("return typeof eval", json!("undefined")),
        (
            "return typeof require + typeof process + typeof fetch + typeof setTimeout",
            json!("undefined".repeat(4)),
        ),
        (
            "return typeof Proxy + typeof WeakRef + typeof SharedArrayBuffer + typeof Atomics",
            json!("undefined".repeat(4)),
        ),
        (
            "try { return new Function('return 1')() } catch (e) { return e.message }",
            json!("text can't become code here"),
        ),
        (
            "try { return (() => {}).constructor('return 1')() } catch (e) { return e.name }",
            json!("EvalError"),
        ),
        (
            "try { return (function* () {}).constructor('') } catch (e) { return e.name }",
            json!("EvalError"),
        ),
        (
            "try { return (async () => {}).constructor('') } catch (e) { return e.name }",
            json!("EvalError"),
        ),
        (
            "try { event.tool.name = 1 } catch (e) { return e.name }",
            json!("TypeError"),
        ),
        (
            "try { globalThis.x = 1 } catch (e) { return e.name }",
            json!("TypeError"),
        ),
        (
            "try { Array.prototype.x = 1 } catch (e) { return e.name }",
            json!("TypeError"),
        ),
        (
            "try { Object.prototype.toString = 1 } catch (e) { return e.name }",
            json!("TypeError"),
        ),
        // What is frozen doesn't get in the way.
        (
            "const o = {}; o.toString = 1; o.constructor = 2; return o",
            json!({"toString": 1, "constructor": 2}),
        ),
        (
            "class E extends Error { constructor(m) { super(m); this.name = 'E' } }; return `${new E('m')}`",
            json!("E: m"),
        ),
        (
            "return [3, 1, 2].sort().concat([[4]], 5).flat().map((n) => n * 2)",
            json!([2, 4, 6, 8, 10]),
        ),
        (
            "return [[1, [2]], 3].flat(Infinity).concat(['b', 'a'].toSorted())",
            json!([1, 2, 3, "a", "b"]),
        ),
        (
            "return 'a-b-c'.split('-').join('+') + 'x1y2'.replace(/\\d/g, (d) => d * 2) + 'aa'.replaceAll('a', 'b')",
            json!("a+b+cx2y4bb"),
        ),
        (
            "return ['a1b2'.match(/\\d/g), [...'a1b2'.matchAll(/\\d/g)].length, 'ab'.search('b'), 'a,b'.split(/,/)]",
            json!([["1", "2"], 2, 1, ["a", "b"]]),
        ),
        (
            "return [RegExp('a', 'g').flags, new RegExp(/x/g, 'i').flags, /a/ instanceof RegExp, /a/.constructor === RegExp]",
            json!(["g", "i", true, true]),
        ),
        (
            "return JSON.parse(JSON.stringify({ a: [1, { b: 2 }], c: 3 }, ['a', 'b']))",
            json!({"a": [1, {"b": 2}]}),
        ),
        (
            "return [...new Set([1, 2]).union(new Set([3]))]",
            json!([1, 2, 3]),
        ),
        (
            "return Array.from({ length: 2 }, (_, n) => n).concat(Array.from('ab'))",
            json!([0, 1, "a", "b"]),
        ),
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
        "queueMicrotask(() => { try { globalThis.leak = 1 } catch {} })",
        "Promise.resolve().then(() => { state.set('late', 1) })",
    ];
    let script = format!(
        "const seen = () => JSON.stringify([typeof leak, [].leak, {{}}.leak, state.leak, (() => {{}}).leak, /a/.test('a'), Error.stackTraceLimit, new Error('x').stack.length > 5]);\n\
         const before = seen();\n{}\nreturn deny(before);",
        tries
            .map(|each| format!("try {{ {each} }} catch {{}}"))
            .join("\n")
    );
    let (mut host, _dir) = TestHost::with(&definition(&script, ""));
    let first = brief(&host.bash("ls"));
    for _ in 0..3 {
        assert_eq!(brief(&host.bash("ls")), first);
    }
    assert!(
        first.contains("[\"undefined\",null,null,null,null,true,null,true]"),
        "{first}"
    );
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
        "const f = () => { Promise.resolve().then(f) }; f();",
        "(async () => { for (;;) try { await null } catch {} })();",
        "queueMicrotask(() => { for (;;); });",
        "[2, 1].sort(() => { for (;;); });",
        "/(a+)+$/.test('a'.repeat(40) + 'b');",
        "'a'.repeat(1e6).split(/a{3000}b/);",
        "for (;;) JSON.parse(JSON.stringify(Array(1e4).fill('x')));",
        "let a = [[], []]; for (let i = 0; i < 60; i++) a = [a, a]; a.flat(Infinity);",
        "let a = {}; for (let i = 0; i < 60; i++) a = { x: a, y: a, z: undefined }; JSON.stringify(a);",
        "let a = []; for (let i = 0; i < 35; i++) a = [a, a]; `${a}`;",
        "const e = new Error('x'); Object.defineProperty(e, 'message', { get() { for (;;); } }); throw e;",
        "for (;;) state.set('k', 1);",
        "for (;;) console.log('x');",
        "const f = () => { try { f() } catch { f() } }; f();",
    ];
    let (mut text, mut expected) = ("hooks:\n".to_string(), Vec::new());
    for (n, script) in loops.iter().enumerate() {
        let script = json!(script);
        text += &format!(
            "  - {{ name: h{n}, on: PreToolUse, matcher: T{n}, timeout: 100ms, fail: closed, script: {script} }}\n"
        );
        expected.push(format!("h{n}"));
    }
    text += "  - { name: last, on: PreToolUse, matcher: Last, fail: closed, script: \"return deny('still here')\" }\n";
    let (mut host, _dir) = TestHost::with(&text);
    let mut time = |n: usize| {
        let started = Instant::now();
        let verdict = host.dispatch(
            json!({"event": "PreToolUse", "tool": {"name": format!("T{n}"), "input": {}}}),
        );
        assert!(
            brief(&verdict).contains("finish within its timeout"),
            "{}: {verdict}",
            loops[n]
        );
        started.elapsed()
    };
    // How long it takes, at the least, to notice one on a machine as busy as this one is now.
    let floor = time(0);
    for (n, script) in loops.iter().enumerate() {
        let took = time(n);
        assert!(took < 30 * floor, "{script}: {took:?} against {floor:?}");
    }
    let verdict =
        host.dispatch(json!({"event": "PreToolUse", "tool": {"name": "Last", "input": {}}}));
    assert_eq!(brief(&verdict), "deny by last: still here");
}

#[test]
fn state_is_shared_and_kept_apart() {
    let script = r"
        const [op, ...given] = event.tool.input.do;
        const scope = op.startsWith('global.') ? state.global : state;
        return deny(JSON.stringify([scope[op.replace('global.', '')](...given)]));
    ";
    let (mut host, _dir) = TestHost::with(&definition(script, ""));
    let mut ask = |session: &str, call: Value| {
        let event = json!({"event": "PreToolUse", "session": session, "tool": {"name": "T", "input": {"do": call}}});
        brief(&host.dispatch(event))
            .strip_prefix("deny by h: ")
            .unwrap()
            .to_string()
    };
    for (session, call, expected) in [
        ("a", json!(["set", "k", {"deep": [1, "x"]}]), "[null]"),
        ("a", json!(["get", "k"]), r#"[{"deep":[1,"x"]}]"#),
        ("b", json!(["get", "k"]), "[null]"),
        ("a", json!(["increment", "n"]), "[1]"),
        ("a", json!(["increment", "n", 4]), "[5]"),
        ("a", json!(["increment", "n", 0.5]), "[5.5]"),
        ("a", json!(["compareAndSet", "n", 5, 9]), "[false]"),
        ("a", json!(["compareAndSet", "n", 5.5, 9]), "[true]"),
        ("a", json!(["compareAndSet", "fresh", null, 1]), "[true]"),
        ("a", json!(["list", "n"]), r#"[[{"key":"n","value":9}]]"#),
        ("a", json!(["delete", "n"]), "[true]"),
        ("a", json!(["delete", "n"]), "[false]"),
        ("a", json!(["global.set", "shared", 1]), "[null]"),
        ("b", json!(["global.get", "shared"]), "[1]"),
        ("a", json!(["set", "short", 1, {"ttl": 0.001}]), "[null]"),
        (
            "a",
            json!(["increment", "k"]),
            "hook `h` failed to run the script: Error: failed to increment `k`: its value is not a number at line 10 of the definition",
        ),
        (
            "a",
            json!(["set", "", 1]),
            "hook `h` failed to run the script: Error: failed to use the key: it has 1 to 512 bytes, this has 0 at line 10 of the definition",
        ),
        (
            "a",
            json!(["set", 5, 1]),
            "hook `h` failed to run the script: TypeError: a key is a string at line 10 of the definition",
        ),
        (
            "a",
            json!(["set", "k", 1, {"ttl": -1}]),
            "hook `h` failed to run the script: TypeError: ttl is a number of seconds above 0 at line 10 of the definition",
        ),
        (
            "a",
            json!(["set", "k", "x".repeat(300_000)]),
            "hook `h` failed to run the script: Error: failed to keep `k`: a value has at most 262144 bytes, this has 300002 at line 10 of the definition",
        ),
    ] {
        assert_eq!(ask(session, call.clone()), expected, "{call}");
    }
    eventually("it expires", || {
        (ask("a", json!(["get", "short"])) == "[null]").then_some(())
    });
}

#[test]
fn what_a_script_logs_goes_to_stderr_and_is_bounded() {
    let script = "for (let i = 0; i < 200; i++) console.log('line', i, { a: 1 });\nlog.error('y'.repeat(5000));";
    let dir = hooks(&[("hooks.yaml", &definition(script, ""))]);
    let log = dir.path().join("log.txt");
    let mut command = crate::support::serve(dir.path());
    command
        .env("HOOKWIRE_LOG", "info")
        .stderr(std::fs::File::create(&log).unwrap());
    let mut host = TestHost::start(&mut command);
    host.bash("ls");
    drop(host);
    let text = std::fs::read_to_string(log).unwrap();
    assert!(
        text.contains(r#"line 0 {"a":1}"#) && text.contains("hook=\"h\""),
        "{text}"
    );
    assert!(
        text.contains("the rest of this run is left out")
            && !text.contains("line 60")
            && text.len() < 20_000,
        "{text}"
    );
}

#[test]
fn memory_fails_once_and_not_for_ever() {
    let script = "if (event.tool.input.command === 'grow') { const a = []; for (;;) try { for (;;) a.push('x'.repeat(1e5) + a.length) } catch (e) { throw e } }\nreturn deny('fine')";
    let yaml = definition(script, "")
        .replace("script: |", "script:\n      memory: 8MiB\n      code: |")
        .replace("      if", "        if")
        .replace("      return", "        return");
    let (mut host, _dir) = TestHost::with(&yaml);
    for _ in 0..3 {
        let verdict = brief(&host.bash("grow"));
        assert!(
            verdict.contains("InternalError: out of memory at line 9"),
            "{verdict}"
        );
        assert_eq!(brief(&host.bash("ls")), "deny by h: fine");
    }
}

#[test]
fn cancelling_ends_a_script() {
    let (mut host, _dir) = TestHost::with(&definition(
        "if (event.tool.input.command === 'loop') for (;;);\nreturn deny('free')",
        "timeout: 1h",
    ));
    // As many as may run at once, and more: all of them give their thread back.
    for _ in 0..12 {
        let id = host.ask("hooks/dispatch", bash("loop"));
        host.notify("$/cancelRequest", json!({"id": id}));
        let reply = host.reply(id);
        assert_eq!(reply["error"]["code"], -32800, "{reply}");
    }
    assert_eq!(brief(&host.bash("ls")), "deny by h: free");
}

#[test]
fn a_script_that_catches_the_end_of_its_memory_is_ended() {
    let grow = "const a = []; for (;;) try { for (;;) a.push(a.length + \\\"x\\\") } catch {}";
    let (mut host, _dir) = TestHost::with(&format!(
        "hooks:\n  - {{ name: grow, on: PreToolUse, matcher: Grow, timeout: 300ms, fail: closed, script: {{ memory: 4MiB, code: \"{grow}\" }} }}\n  \
           - {{ name: quick, on: PreToolUse, matcher: Bash, fail: closed, script: \"state.increment('n'); return deny('quick')\" }}\n",
    ));
    let grow = json!({"event": "PreToolUse", "tool": {"name": "Grow", "input": {}}});
    // More than may ever be stuck, let alone run.
    for _ in 0..4 {
        let asked: Vec<u64> = (0..6)
            .map(|_| host.ask("hooks/dispatch", grow.clone()))
            .collect();
        for id in asked {
            let verdict = brief(&host.reply(id)["result"]);
            assert!(verdict.contains("its timeout"), "{verdict}");
        }
    }
    assert_eq!(brief(&host.bash("ls")), "deny by quick: quick");
}

#[test]
fn a_script_that_loops_does_not_hold_up_another() {
    let (mut host, _dir) = TestHost::with(
        "hooks:\n  - { name: loop, on: PreToolUse, matcher: Loop, timeout: 1h, fail: closed, script: 'for (;;);' }\n  \
           - { name: quick, on: PreToolUse, matcher: Bash, fail: closed, script: return deny('quick') }\n",
    );
    let loops: Vec<u64> = (0..20)
        .map(|_| {
            host.ask(
                "hooks/dispatch",
                json!({"event": "PreToolUse", "tool": {"name": "Loop", "input": {}}}),
            )
        })
        .collect();
    for _ in 0..20 {
        assert_eq!(brief(&host.bash("ls")), "deny by quick: quick");
    }
    for id in loops {
        host.notify("$/cancelRequest", json!({"id": id}));
        host.reply(id);
    }
}

/// What `check` says of a definition: `line:column: message`.
fn diagnostics(files: &[(&str, &str)]) -> Vec<String> {
    let dir = hooks(files);
    let mut command = crate::support::hookwire();
    let output = command
        .args(["check", "--format", "json", "--isolated", "--hooks"])
        .arg(dir.path())
        .output()
        .unwrap();
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let list = found
        .as_array()
        .or_else(|| found["diagnostics"].as_array())
        .unwrap_or_else(|| panic!("{found}"));
    let short = |it: &Value| {
        let start = &it["range"]["start"];
        let message = it["message"]
            .as_str()
            .unwrap()
            .replace(&format!("{}/", dir.path().display()), "");
        format!("{}:{}: {message}", start["line"], start["column"])
    };
    list.iter().map(short).collect()
}

#[test]
fn mistakes_are_placed() {
    let broken = "; until it is fixed, every tool call is denied";
    let yaml = |script: &str| {
        format!("hooks:\n  - name: h\n    on: PreToolUse\n    fail: closed\n    script: {script}\n")
    };
    for (script, expected) in [
        ("''", "5:13: the script is empty"),
        (
            "{ code: a, file: b }",
            "5:30: a script has `code` or `file`, this has both",
        ),
        ("{ args: {} }", "5:13: a script needs `code` or `file`"),
        (
            "{ file: gone.js }",
            "5:21: can't read the script gone.js: no such file or directory",
        ),
        (
            "{ file: bad.js }",
            "5:21: bad.js:2: not valid JavaScript: unexpected token in expression: 'const'",
        ),
        (
            "{ code: a, memory: 12 }",
            "5:32: `script.memory`: a script has between 4 MiB and 1024 MiB of memory",
        ),
        (
            "{ code: a, memory: big }",
            "5:32: `script.memory`: `big` is no size; write `64MiB`",
        ),
        (
            "{ cod: a }",
            "5:15: `script.cod`: unknown field `cod`, expected `code`, `file`, `memory` or `args`",
        ),
        (
            "5",
            "5:13: `script`: expected JavaScript or a map with `code` or `file`, found a number",
        ),
        (
            "return + ;",
            "5:22: not valid JavaScript: unexpected token in expression: ';'",
        ),
        (
            "'return ä + ;'",
            "5:25: not valid JavaScript: unexpected token in expression: ';'",
        ),
        (
            "|\n      const ok = 1;\n\n        return (ok;\n",
            "8:19: not valid JavaScript: Unexpected token ';'",
        ),
        (
            ">-\n      const ok = 1;\n      return (ok;\n",
            "7:17: not valid JavaScript: Unexpected token ';'",
        ),
        (
            "|\n      const ok = 1;\n\n      if (ok) {\n",
            "8:15: not valid JavaScript: it ends too early",
        ),
        (
            "{ code: \"return + ;\" }",
            "5:31: not valid JavaScript: unexpected token in expression: ';'",
        ),
    ] {
        let files = [
            ("hooks.yaml", &*yaml(script)),
            ("bad.js", "const a = 1;\nreturn (const);\n"),
        ];
        assert_eq!(
            diagnostics(&files),
            [format!("{expected}{broken}")],
            "{script}"
        );
    }
    let toml = "[[hooks]]\nname = 'h'\non = 'PreToolUse'\nfail = 'closed'\nscript = '''\nconst ok = 1;\n\n  return (ok;\n'''\n";
    assert_eq!(
        diagnostics(&[("hooks.toml", toml)]),
        [format!(
            "8:13: not valid JavaScript: Unexpected token ';'{broken}"
        )]
    );
}

#[test]
fn a_script_file_is_reloaded_like_a_definition() {
    let yaml = "hooks:\n  - { name: h, on: PreToolUse, fail: closed, script: { file: lib/guard.js, args: { n: 1 } } }\n";
    for polling in [false, true] {
        let dir = hooks(&[("hooks.yaml", yaml)]);
        let mut command = crate::support::serve(dir.path());
        if polling {
            command.arg("--poll");
        }
        let mut host = TestHost::start(&mut command);
        host.may_leave_unread = true;
        let mut until = |what: &str, expected: &str| {
            eventually(what, || {
                brief(&host.bash("ls")).contains(expected).then_some(())
            });
            host.bash("ls")["hash"].clone()
        };
        let file = dir.path().join("lib/guard.js");
        let missing = until("it is missed", "can't read the script");
        std::fs::create_dir(dir.path().join("lib")).unwrap();
        replace(&file, "return deny('first ' + args.n)");
        let first = until("it appears", "deny by h: first 1");
        replace(&file, "return deny('second')");
        let second = until("it is replaced", "deny by h: second");
        std::fs::write(&file, "return deny('third')").unwrap();
        let third = until("it is written over", "deny by h: third");
        assert!(
            missing != first && first != second && second != third,
            "the hash names the script's content"
        );
        // The last good one stays.
        replace(&file, "return deny('fourth'");
        eventually("it is complained about", || {
            let found = host.request("hooks/check", json!({})).to_string();
            found.contains("guard.js:1:").then_some(())
        });
        assert_eq!(brief(&host.bash("ls")), "deny by h: third");
        replace(&file, "return deny('fifth')");
        eventually("it is mended", || {
            (brief(&host.bash("ls")) == "deny by h: fifth").then_some(())
        });
        std::fs::remove_file(&file).unwrap();
        eventually("its loss is told", || {
            host.request("hooks/check", json!({}))
                .to_string()
                .contains("can't read the script")
                .then_some(())
        });
        assert_eq!(brief(&host.bash("ls")), "deny by h: fifth");
    }
}

#[test]
fn a_script_that_can_not_be_ended_costs_a_thread_and_not_the_host() {
    // Each product takes long inside of QuickJS, which looks at the deadline once in 10,000 turns.
    let stuck = "const x = 2n ** 500000n; for (;;) x * x;";
    let yaml = format!(
        "hooks:\n  - {{ name: stuck, on: PreToolUse, matcher: Stuck, timeout: 200ms, fail: closed, script: '{stuck}' }}\n  \
           - {{ name: quick, on: PreToolUse, matcher: Bash, fail: closed, script: \"state.increment('n'); return deny('quick')\" }}\n"
    );
    let (mut host, _dir) = TestHost::with(&yaml);
    // The verdict doesn't wait for the script, whose loop has no end.
    let stuck = |host: &mut TestHost| {
        brief(
            &host.dispatch(json!({"event": "PreToolUse", "tool": {"name": "Stuck", "input": {}}})),
        )
    };
    for _ in 0..3 {
        let verdict = stuck(&mut host);
        assert!(verdict.contains("finish within its timeout"), "{verdict}");
    }
    // Others have threads of their own, until too many have been given up. One that changes
    // something always takes a thread.
    assert_eq!(brief(&host.bash("ls")), "deny by quick: quick");
    eventually("they are given up", || {
        // On a busy machine, the time of some is over before their thread has had a turn.
        stuck(&mut host);
        brief(&host.bash("ls"))
            .contains("4 others can't be ended; restart the host")
            .then_some(())
    });
    // It ends when its input does, whatever its threads are doing.
    drop(host);
}

/// A script that was quick is tried where the event is read. What it does later must come to the
/// same.
#[test]
fn what_was_quick_may_change_its_mind() {
    let event = |step: u64| json!({"event": "PreToolUse", "session": "s", "step": step, "tool": {"name": "Bash", "input": {}}});
    for (then, expected) in [
        (
            "state.increment('n'); return deny('counted')",
            "deny by h: counted",
        ),
        (
            "try { state.increment('n') } catch {} return deny('counted')",
            "deny by h: counted",
        ),
        // What it catches after its time on the spot is no answer.
        (
            "let n; try { for (let i = 0; i < 2e5; i++) n = state.get('none') } catch { return allow('caught') } return deny('done')",
            "deny by h: done",
        ),
        (
            "throw new Error('no')",
            "deny by h: hook `h` failed to run the script: Error: no at line",
        ),
        (
            "const f = n => n ? f(n - 1) + 1 : 0; return deny(`deep ${f(500)}`)",
            "deny by h: deep 500",
        ),
        (
            "for (;;);",
            "deny by h: hook `h` failed to finish within its timeout",
        ),
    ] {
        // What ends may take its time; only what doesn't shall be ended.
        let timeout = if then.starts_with("for (;;)") {
            "timeout: 3s"
        } else {
            "timeout: 120s"
        };
        let (mut host, _dir) = TestHost::with(&definition(
            &format!("if (event.step > 6) {{ {then} }}"),
            timeout,
        ));
        for step in 1..=6 {
            assert_eq!(brief(&host.dispatch(event(step))), "allow", "{then}");
        }
        let id = host.ask("hooks/dispatch", event(7));
        // Meanwhile the host reads on.
        host.request("hooks/list", json!({}));
        let verdict = brief(&host.reply(id)["result"]);
        assert!(verdict.starts_with(expected), "{then}: {verdict}");
        let counted = if then.contains("increment") {
            json!({"value": 1})
        } else {
            json!({})
        };
        assert_eq!(
            host.request("state/get", json!({"key": "n", "session": "s"})),
            counted,
            "{then}"
        );
    }
}
