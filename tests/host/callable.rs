//! Functions in warm workers, through the built binary with this machine's Python and Node: what a
//! function gets and gives back, what each failure says, and that workers come, stay and go as
//! they should.

use crate::support::*;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

/// One hook a line of `name: callable`, all of them closed gates, beside these files.
fn definitions(callables: &[(&str, &str)], files: &[(&str, &str)]) -> tempfile::TempDir {
    let dir = hooks(files);
    std::fs::write(dir.path().join("hooks.yaml"), yaml(callables)).unwrap();
    dir
}

fn yaml(callables: &[(&str, &str)]) -> String {
    let hook = |(name, callable): &(&str, &str)| {
        format!("  - {{ name: {name}, on: PreToolUse, matcher: {name}, callable: {callable} }}\n")
    };
    format!(
        "defaults: {{ fail: closed, timeout: 60s }}\nhooks:\n{}",
        callables.iter().map(hook).collect::<String>()
    )
}

fn serving(callables: &[(&str, &str)], files: &[(&str, &str)]) -> (TestHost, tempfile::TempDir) {
    let dir = definitions(callables, files);
    (TestHost::serve(dir.path()), dir)
}

/// The event that only the hook of this name is for.
fn to(hook: &str, input: Value) -> Value {
    json!({"event": "PreToolUse", "session": "s", "step": 3, "cwd": "/tmp", "agent": {"name": "coder"},
        "tool": {"name": hook, "callId": "t1", "input": input}})
}

/// What a hook says about an event: its reason, or why it failed.
fn say(host: &mut TestHost, hook: &str, input: Value) -> String {
    told(&host.dispatch(to(hook, input)))
}

fn told(verdict: &Value) -> String {
    let outcome = &verdict["outcomes"][0];
    let text = outcome["error"]
        .as_str()
        .or(outcome["reason"].as_str())
        .unwrap_or("-");
    text.to_string()
}

fn number(text: &str) -> u32 {
    text.parse()
        .unwrap_or_else(|_| panic!("not a number: {text}"))
}

// ---------------------------------------------------------------------- what a function gets,
// gives

const POLICY: &str = r#"
import asyncio, functools, os, sys

def say(*values):
    return {"reason": " ".join(str(value) for value in values)}

def members(event_name, tool_name, tool_input, tool_call_id, session, session_id, step, agent, agent_name, cwd, limit):
    return say(event_name, tool_name, tool_input, tool_call_id, session, session_id, step, agent["name"], agent_name, cwd, limit)
def whole(event): return say(event["event"], event["tool"]["input"])
def defaults(tool_name, tool_error=None, *, retries=2): return say(tool_name, tool_error, retries)
def positional(tool_name, step, /, limit=7): return say(tool_name, step, limit)
def keywords(tool_name, **rest): return say("tool_name" in rest, rest["limit"], rest["session_id"], rest["event"]["step"])
def first_of_args(step): return say(step)
async def later(tool_name, limit): await asyncio.sleep(0.001); return say(tool_name, limit)
def awaitable(tool_name): return later(tool_name, 1)
class Policy:
    def __init__(self, word): self.word = word
    def review(self, tool_name): return say(self.word, tool_name)
    async def __call__(self, tool_name): return say(self.word, "called", tool_name)
policy = Policy("an object")
partial = functools.partial(members, limit="partial")
def decorated(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs): return function(*args, **kwargs)
    return wrapper
@decorated
def wrapped(tool_name): return say("wrapped", tool_name)
def nothing(): pass
def deny(): return {"decision": "deny", "reason": "no"}
def unicode(): return say("é \u2028 \U0001f600")
"#;

#[test]
fn what_a_python_function_gets() {
    if !is_there("python3") || !is_there("node") {
        return;
    }
    let cases = [
        (
            "members",
            "{ limit: 5 }",
            "PreToolUse members {'a': 1} t1 s s 3 coder coder /tmp 5",
        ),
        ("whole", "{}", "PreToolUse {'a': 1}"),
        ("defaults", "{}", "defaults None 2"),
        ("positional", "{}", "positional 3 7"),
        ("keywords", "{ limit: 5 }", "False 5 s 3"),
        ("first_of_args", "{ step: mine }", "mine"),
        ("later", "{ limit: 5 }", "later 5"),
        ("awaitable", "{}", "awaitable 1"),
        ("policy.review", "{}", "an object policy.review"),
        ("policy", "{}", "an object called policy"),
        (
            "partial",
            "{}",
            "PreToolUse partial {'a': 1} t1 s s 3 coder coder /tmp partial",
        ),
        ("wrapped", "{}", "wrapped wrapped"),
        ("nothing", "{}", "-"),
        ("deny", "{}", "no"),
        ("unicode", "{}", "é \u{2028} 😀"),
    ];
    let callables: Vec<_> = cases
        .map(|(name, args, _)| {
            (
                name,
                format!("{{ python: 'acme.policy:{name}', args: {args} }}"),
            )
        })
        .into();
    let callables: Vec<_> = callables
        .iter()
        .map(|(name, it)| (*name, it.as_str()))
        .collect();
    let files = [("acme/__init__.py", ""), ("acme/policy.py", POLICY)];
    let (mut host, _dir) = serving(&callables, &files);
    for (name, _, expected) in cases {
        assert_eq!(say(&mut host, name, json!({"a": 1})), expected, "{name}");
    }
}

#[test]
fn a_python_file_is_found_and_finds_what_is_beside_it() {
    if !is_there("python3") || !is_there("node") {
        return;
    }
    let (mut host, dir) = serving(
        &[
            ("beside", "{ python: 'rules/my-policy.py:review' }"),
            ("shadow", "{ python: './json.py:review' }"),
            ("cc", "{ python: './cc.py:review' }, dialect: claude-code"),
        ],
        &[
            (
                "rules/my-policy.py",
                "import helper\ndef review(tool_name): return {'reason': helper.word + tool_name}\n",
            ),
            ("rules/helper.py", "word = 'helped '\n"),
            (
                "json.py",
                "def review(): return {'reason': 'not the standard library'}\n",
            ),
            (
                "cc.py",
                "def review(event, event_name, tool_name, tool_input, session_id): return {'systemMessage': ' '.join([event['hook_event_name'], event_name, tool_name, str(tool_input), session_id])}\n",
            ),
        ],
    );
    assert_eq!(say(&mut host, "beside", json!({})), "helped beside");
    assert_eq!(
        say(&mut host, "shadow", json!({})),
        "not the standard library"
    );
    let verdict = host.dispatch(to("cc", json!({"a": 1})));
    assert_eq!(
        verdict["userMessages"],
        json!(["PreToolUse PreToolUse cc {'a': 1} s"]),
        "{verdict}"
    );
    let left: Vec<_> = std::fs::read_dir(dir.path())
        .unwrap()
        .map(|it| it.unwrap().file_name())
        .collect();
    assert!(!left.iter().any(|it| it == "__pycache__"), "{left:?}");
}

#[test]
fn what_a_node_function_gets() {
    if !is_there("python3") || !is_there("node") {
        return;
    }
    let (mut host, _dir) = serving(
        &[
            (
                "named",
                "{ node: './policy.mjs#review', args: { limit: 5 } }",
            ),
            ("default", "{ node: policy.mjs }"),
            ("common", "{ node: './common.cjs#review' }"),
            ("nothing", "{ node: './policy.mjs#nothing' }"),
            ("nameless", "{ node: './policy.mjs#nameless' }"),
        ],
        &[
            (
                "policy.mjs",
                r#"import { word } from "./word.mjs";
export async function review(event, { args, hook, dialect, deadlineMs, signal }) {
  return { reason: [event.event, event.tool.input.a, args.limit, hook, dialect, deadlineMs, signal.aborted, word].join(" ") };
}
export default (event) => ({ decision: "deny", reason: `default ${event.session}` });
export function nothing() {}
export const nameless = () => null;
"#,
            ),
            ("word.mjs", "export const word = 'word';"),
            (
                "common.cjs",
                "exports.review = (event) => ({ reason: 'common' });",
            ),
        ],
    );
    for (name, expected) in [
        ("named", "PreToolUse 1 5 named native 60000 false word"),
        ("default", "default s"),
        ("common", "common"),
        ("nothing", "-"),
        ("nameless", "-"),
    ] {
        assert_eq!(say(&mut host, name, json!({"a": 1})), expected, "{name}");
    }
}

/// A worker in a language that nobody has prepared for.
const SH: &str = r#"#!/bin/sh
echo '{"ready": true}'
while read -r line; do
    id=${line#*:} id=${id%%,*}
    case $line in
        *'rm -rf'*) answer='{"decision": "deny", "reason": "not with sh"}' ;;
        *) answer="{\"reason\": \"$$\"}" ;;
    esac
    echo "{\"id\": $id, \"answer\": $answer}"
done
"#;

#[test]
fn any_program_can_be_a_worker() {
    if !is_there("python3") || !is_there("node") {
        return;
    }
    let (mut host, dir) = serving(
        &[
            ("sh", "{ command: [sh, worker.sh] }"),
            ("script", "{ command: [./worker.sh] }"),
        ],
        &[("worker.sh", SH)],
    );
    Command::new("chmod")
        .arg("+x")
        .arg(dir.path().join("worker.sh"))
        .status()
        .unwrap();
    for hook in ["sh", "script"] {
        let pid = number(&say(&mut host, hook, json!({"command": "ls"})));
        assert_eq!(
            say(&mut host, hook, json!({"command": "rm -rf /"})),
            "not with sh"
        );
        assert_eq!(number(&say(&mut host, hook, json!({}))), pid);
    }
}

// --------------------------------------------------------------------------------------- failures

#[test]
fn what_failures_say() {
    if !is_there("python3") || !is_there("node") {
        return;
    }
    let broken = r#"
import json
def raises(): json.loads("{")
def key(): return {}["x"]
def missing(e): pass
def absent(tool_error): pass
def unexpected(limit): pass
def word(): return "deny"
def flag(): return False
def unjson(): return {"subject": {1, 2}}
def misspelt(): return {"decison": "deny"}
def leaves(): raise SystemExit(3)
class Thing:
    def __init__(self): pass
constant = 3
def large(): return {"reason": "x" * (17 << 20)}
"#;
    let node = r#"
export function raises() { null.x }
export function throws() { throw "a text" }
export function word() { return "deny" }
export function big() { return { subject: 1n } }
export async function rejects() { await null; throw new RangeError("later") }
"#;
    let files = [
        ("broken.py", broken),
        ("syntax.py", "def review(:\n"),
        ("wants.py", "import no_such_package\n"),
        ("broken.mjs", node),
        ("syntax.mjs", "export function review( {"),
        (
            "wants.mjs",
            "import 'no-such-package'; export default () => {}",
        ),
    ];
    let cases = [
        (
            "raises",
            "python: 'broken:raises'",
            "failed to call `broken:raises`: json.decoder.JSONDecodeError: Expecting property name enclosed in double quotes: line 1 column 2 (char 1) (DIR/broken.py:3)",
        ),
        (
            "key",
            "python: 'broken:key'",
            "failed to call `broken:key`: KeyError: 'x' (DIR/broken.py:4)",
        ),
        (
            "missing",
            "python: 'broken:missing'",
            "failed to call `broken:missing`: `broken:missing` wants `e`, which is neither in `args` nor in the event; there is agent, agent_name, cwd, deadline_ms, dialect, event, event_name, hook, session, session_id, step, tool, tool_call_id, tool_input, tool_name",
        ),
        (
            "absent",
            "python: 'broken:absent'",
            "failed to call `broken:absent`: `broken:absent` wants `tool_error`, which this event hasn't; give the parameter a default",
        ),
        (
            "unexpected",
            "python: 'broken:unexpected', args: { limmit: 3 }",
            "failed to call `broken:unexpected`: `args` has `limmit`, which `broken:unexpected` doesn't take; did you mean `limit`?",
        ),
        (
            "word",
            "python: 'broken:word'",
            "failed to read what `broken:word` returned: a text, not an object (return nothing to have no opinion)",
        ),
        (
            "flag",
            "python: 'broken:flag'",
            "failed to read what `broken:flag` returned: a boolean, not an object (return nothing to have no opinion)",
        ),
        (
            "unjson",
            "python: 'broken:unjson'",
            "failed to call `broken:unjson`: what it returned can't be JSON: Object of type set is not JSON serializable",
        ),
        (
            "misspelt",
            "python: 'broken:misspelt'",
            "failed to read the reply: unknown field `decison`; did you mean `decision`?",
        ),
        (
            "leaves",
            "python: 'broken:leaves'",
            "failed to call `broken:leaves`: SystemExit: 3 (DIR/broken.py:12)",
        ),
        (
            "class",
            "python: 'broken:Thing'",
            "failed to call `broken:Thing`: `broken:Thing` is a class; name a function, or a method of an object that the module makes",
        ),
        (
            "constant",
            "python: 'broken:constant'",
            "failed to call `broken:constant`: `broken:constant` is not a function",
        ),
        (
            "large",
            "python: 'broken:large'",
            "failed to call `broken:large`: what it returned is more than 16 MiB",
        ),
        (
            "nofunction",
            "python: 'broken:raise'",
            "failed to call `broken:raise`: no `raise` in DIR/broken.py; did you mean `raises`?",
        ),
        (
            "nomodule",
            "python: 'brocken:raises'",
            "failed to call `brocken:raises`: no module `brocken` in DIR or among the packages of",
        ),
        (
            "suggested",
            "python: 'brocken:raises'",
            "; did you mean `broken`?",
        ),
        (
            "syntax",
            "python: 'syntax:review'",
            "failed to call `syntax:review`: SyntaxError: ",
        ),
        ("place", "python: 'syntax:review'", "(DIR/syntax.py:1)"),
        (
            "wants",
            "python: 'wants:review'",
            "failed to call `wants:review`: ModuleNotFoundError: No module named 'no_such_package'; install it for ",
        ),
        (
            "js-raises",
            "node: './broken.mjs#raises'",
            "failed to call `./broken.mjs#raises`: TypeError: Cannot read properties of null (reading 'x') (DIR/broken.mjs:2)",
        ),
        (
            "js-throws",
            "node: './broken.mjs#throws'",
            "failed to call `./broken.mjs#throws`: it threw a text",
        ),
        (
            "js-word",
            "node: './broken.mjs#word'",
            "failed to read what `./broken.mjs#word` returned: a text, not an object (return nothing to have no opinion)",
        ),
        (
            "js-big",
            "node: './broken.mjs#big'",
            "failed to call `./broken.mjs#big`: TypeError: Do not know how to serialize a BigInt",
        ),
        (
            "js-rejects",
            "node: './broken.mjs#rejects'",
            "failed to call `./broken.mjs#rejects`: RangeError: later (DIR/broken.mjs:6)",
        ),
        (
            "js-nofunction",
            "node: './broken.mjs#reject'",
            "failed to call `./broken.mjs#reject`: no function `reject` among the exports of DIR/broken.mjs; did you mean `rejects`?",
        ),
        (
            "js-nodefault",
            "node: './broken.mjs'",
            "failed to call `./broken.mjs`: no default export that is a function of DIR/broken.mjs; there is big, raises, rejects, throws, word",
        ),
        (
            "js-syntax",
            "node: './syntax.mjs#review'",
            "SyntaxError: Unexpected end of input (DIR/syntax.mjs)",
        ),
        (
            "js-wants",
            "node: './wants.mjs'",
            "Cannot find package 'no-such-package' imported from DIR/wants.mjs; is it installed (npm install)?",
        ),
        (
            "nopython",
            "python: 'broken:key', env: { PATH: /nowhere }",
            "failed to call `broken:key`: start `python3`: not found on PATH (/nowhere); install Python 3.8 or later, or name a `venv`",
        ),
        (
            "nonode",
            "node: './broken.mjs#raises', env: { PATH: /nowhere }",
            "failed to call `./broken.mjs#raises`: start `node`: not found on PATH (/nowhere); install Node 18 or later",
        ),
        (
            "noprogram",
            "command: [no-such-program]",
            "failed to call `no-such-program`: start program `no-such-program`: not found on PATH",
        ),
        (
            "garbage",
            "command: [echo, hello]",
            "failed to call `echo hello`: its worker wrote what the protocol doesn't have (expected value at line 1 column 1): hello",
        ),
        (
            "unready",
            "command: [sh, -c, 'echo no luck >&2; exit 7']",
            "failed to call `sh -c echo no luck >&2; exit 7`: its worker ended before it was ready with exit status 7; its last words: no luck",
        ),
        (
            "other",
            "command: [sh, -c, 'echo {}; exec sleep 60']",
            "its worker wrote what the protocol doesn't have (neither `ready` nor an `id` with `answer`, `error`, `abandoned` or `state`): {}",
        ),
        (
            "long",
            "command: [sh, -c, 'head -c 20000000 /dev/zero; exec sleep 60']",
            "its worker wrote a line of more than 16 MiB",
        ),
    ];
    let callables: Vec<_> = cases
        .iter()
        .map(|(name, it, _)| (*name, format!("{{ {it} }}")))
        .collect();
    let callables: Vec<_> = callables
        .iter()
        .map(|(name, it)| (*name, it.as_str()))
        .collect();
    let (mut host, dir) = serving(&callables, &files);
    let dir = dir.path().to_string_lossy().into_owned();
    for (name, _, expected) in cases {
        let verdict = host.dispatch(to(name, json!({})));
        let told = told(&verdict).replace(&dir, "DIR");
        assert!(told.contains(expected), "{name}: {told}");
        assert_eq!(verdict["decision"], "deny", "{name}: the hook fails closed");
    }
}

#[test]
fn a_crash_fails_what_is_in_flight_and_nothing_else() {
    if !is_there("python3") || !is_there("node") {
        return;
    }
    let code = r#"
import os, sys, time
def pid(): return {"reason": str(os.getpid())}
def wait(): time.sleep(60)
def crash(): print("about to fall", file=sys.stderr); os._exit(9)
def fall(): os.kill(os.getpid(), 11); time.sleep(60)
"#;
    let (mut host, _dir) = serving(
        &[
            ("pid", "{ python: 'it:pid' }"),
            ("wait", "{ python: 'it:wait' }"),
            ("crash", "{ python: 'it:crash' }"),
            ("fall", "{ python: 'it:fall' }"),
        ],
        &[("it.py", code)],
    );
    let pid = number(&say(&mut host, "pid", json!({})));
    let waiting = host.ask("hooks/dispatch", to("wait", json!({})));
    let words = "its worker ended with exit status 9; its last words: about to fall";
    assert_eq!(
        say(&mut host, "crash", json!({})),
        format!("failed to call `it:crash`: {words}")
    );
    assert_eq!(
        told(&host.reply(waiting)["result"]),
        format!("failed to call `it:wait`: {words}")
    );
    let next = number(&say(&mut host, "pid", json!({})));
    assert_ne!(pid, next);
    assert!(!is_alive(pid));
    let fall = say(&mut host, "fall", json!({}));
    assert!(fall.contains("its worker ended with signal 11"), "{fall}");
    // Soon it is left alone for longer than a call takes.
    let mut crashes = (0..10).map(|_| say(&mut host, "crash", json!({})));
    let waits = crashes.find(|it| it.contains("next attempt")).unwrap();
    let begin = "failed to call `it:crash`: its worker has failed ";
    assert!(
        waits.starts_with(begin) && waits.ends_with(&format!(" s ({words})")),
        "{waits}"
    );
}

// ----------------------------------------------------------------------------------- many at once

#[test]
fn a_slow_call_holds_up_nobody() {
    if !is_there("python3") || !is_there("node") {
        return;
    }
    let code = r#"
import asyncio, os, pathlib, time
def until(path):
    while not pathlib.Path(path).exists(): time.sleep(0.002)
def slow(tool_input): until(tool_input["file"]); return {"reason": str(os.getpid())}
async def slow_async(tool_input):
    while not pathlib.Path(tool_input["file"]).exists(): await asyncio.sleep(0.002)
    return {"reason": str(os.getpid())}
def quick(): return {"reason": str(os.getpid())}
async def quick_async(): return {"reason": str(os.getpid())}
"#;
    let node = r#"import fs from "node:fs";
export async function slow(event) {
  while (!fs.existsSync(event.tool.input.file)) await new Promise((done) => setTimeout(done, 2));
  return { reason: String(process.pid) };
}
export const quick = () => ({ reason: String(process.pid) });
"#;
    let (mut host, dir) = serving(
        &[
            ("slow", "{ python: 'it:slow' }"),
            ("slow_async", "{ python: 'it:slow_async' }"),
            ("quick", "{ python: 'it:quick' }"),
            ("quick_async", "{ python: 'it:quick_async' }"),
            ("slow-js", "{ node: './it.mjs#slow' }"),
            ("quick-js", "{ node: './it.mjs#quick' }"),
        ],
        &[("it.py", code), ("it.mjs", node)],
    );
    let go = dir.path().join("go");
    let input = json!({"file": go});
    let slow: Vec<_> = (0..20)
        .flat_map(|_| ["slow", "slow_async", "slow-js"])
        .map(|hook| host.ask("hooks/dispatch", to(hook, input.clone())))
        .collect();
    let [sync, in_loop, js] =
        ["quick", "quick_async", "quick-js"].map(|hook| say(&mut host, hook, json!({})));
    assert_eq!(number(&sync), number(&in_loop), "one worker does both");
    std::fs::write(go, "").unwrap();
    for (at, id) in slow.into_iter().enumerate() {
        let expected = if at % 3 == 2 { &js } else { &sync };
        assert_eq!(&told(&host.reply(id)["result"]), expected, "{at}");
    }
}

#[test]
fn two_hundred_calls_at_once_are_all_answered_by_a_cold_worker_too() {
    if !is_there("python3") || !is_there("node") {
        return;
    }
    let code = "import asyncio, time\ndef nap(tool_input): time.sleep(0.01); return {'reason': str(tool_input['n'])}\nasync def anap(tool_input): await asyncio.sleep(0.01); return {'reason': str(tool_input['n'])}\n";
    let node = "export default async (event) => ({ reason: String(event.tool.input.n) });";
    let (mut host, _dir) = serving(
        &[
            ("nap", "{ python: 'it:nap' }"),
            ("anap", "{ python: 'it:anap', env: { OWN: worker } }"),
            ("js", "{ node: './it.mjs' }"),
        ],
        &[("it.py", code), ("it.mjs", node)],
    );
    for hook in ["nap", "anap", "js"] {
        let ids: Vec<_> = (0..200)
            .map(|n| host.ask("hooks/dispatch", to(hook, json!({"n": n}))))
            .collect();
        for (n, id) in ids.into_iter().enumerate() {
            assert_eq!(told(&host.reply(id)["result"]), n.to_string(), "{hook}");
        }
    }
}

const PID: &str = "import os\ndef pid(): return {'reason': str(os.getpid())}\n";

#[test]
fn equal_hooks_share_a_worker_and_a_reload_keeps_it() {
    if !is_there("python3") || !is_there("node") {
        return;
    }
    let callables = [
        ("one", "{ python: 'it:pid' }"),
        ("two", "{ python: 'it:pid', args: {}, idle: 1h }"),
        ("file", "{ python: './it.py:pid' }"),
        ("other", "{ python: 'it:pid', env: { A: b } }"),
    ];
    let (mut host, dir) = serving(&callables, &[("it.py", PID)]);
    let pids = callables.map(|(hook, _)| number(&say(&mut host, hook, json!({}))));
    assert_eq!((pids[0], pids[0]), (pids[1], pids[2]));
    assert_ne!(pids[0], pids[3]);
    let text = yaml(&callables).replace("10s", "9s") + "  - { name: new, on: Stop, allow: yes }\n";
    replace(&dir.path().join("hooks.yaml"), &text);
    host.request("hooks/reload", json!({}));
    assert_eq!(number(&say(&mut host, "one", json!({}))), pids[0]);
}

#[test]
fn at_most_sixteen_workers_run_and_the_one_unused_longest_makes_room() {
    if !is_there("python3") || !is_there("node") {
        return;
    }
    let names: Vec<String> = (0..18).map(|n| format!("h{n}")).collect();
    let callables: Vec<_> = (0..18)
        .map(|n| format!("{{ command: [./worker.sh], env: {{ N: '{n}' }} }}"))
        .collect();
    let callables: Vec<_> = names
        .iter()
        .zip(&callables)
        .map(|(name, it)| (name.as_str(), it.as_str()))
        .collect();
    let (mut host, dir) = serving(&callables, &[("worker.sh", SH)]);
    Command::new("chmod")
        .arg("+x")
        .arg(dir.path().join("worker.sh"))
        .status()
        .unwrap();
    let mut pids = Vec::new();
    for name in &names[..16] {
        pids.push(number(&say(&mut host, name, json!({}))));
    }
    assert_eq!(number(&say(&mut host, "h0", json!({}))), pids[0]);
    assert!(pids.iter().all(|pid| is_alive(*pid)));
    say(&mut host, "h16", json!({}));
    assert!(!is_alive(pids[1]), "h0 was used after h1");
    assert_eq!(pids.iter().filter(|pid| is_alive(**pid)).count(), 15);
    // More at once than may run: they take turns.
    let ids: Vec<_> = names
        .iter()
        .map(|name| host.ask("hooks/dispatch", to(name, json!({}))))
        .collect();
    for id in ids {
        number(&told(&host.reply(id)["result"]));
    }
}

// --------------------------------------------------------------------------------- coming and
// going

#[test]
fn a_changed_source_takes_over_without_a_lost_call() {
    if !is_there("python3") || !is_there("node") {
        return;
    }
    let code = |word: &str| {
        format!(
            "import os, pathlib, time, helper\ndef say(): return {{'reason': '{word} ' + helper.word}}\ndef pid(): return {{'reason': str(os.getpid())}}\ndef wait(tool_input):\n    pathlib.Path(tool_input['file'] + '.began').touch()\n    while not pathlib.Path(tool_input['file']).exists(): time.sleep(0.002)\n    return {{'reason': '{word} ' + str(os.getpid())}}\n"
        )
    };
    let js = |word: &str| {
        format!(
            "import {{ word }} from './word.mjs'; export default () => ({{ reason: '{word} ' + word }});"
        )
    };
    let (mut host, dir) = serving(
        &[
            ("say", "{ python: 'it:say' }"),
            ("pid", "{ python: 'it:pid' }"),
            ("wait", "{ python: 'it:wait' }"),
            ("js", "{ node: './it.mjs' }"),
            ("sh", "{ command: [sh, worker.sh] }"),
        ],
        &[
            ("it.py", &code("one")),
            ("helper.py", "word = 'a'\n"),
            ("it.mjs", &js("one")),
            ("word.mjs", "export const word = 'a';"),
            ("worker.sh", SH),
        ],
    );
    let becomes = |host: &mut TestHost, hook: &str, input: Value, expected: &str| {
        eventually(expected, || {
            (say(host, hook, input.clone()) == expected).then_some(())
        });
    };
    let path = |name: &str| dir.path().join(name);
    assert_eq!(say(&mut host, "say", json!({})), "one a");
    let old = number(&say(&mut host, "pid", json!({})));
    let go = path("go");
    let waiting = host.ask("hooks/dispatch", to("wait", json!({"file": go})));
    eventually("the call begins", || {
        path("go.began").exists().then_some(())
    });
    replace(&path("it.py"), &code("two"));
    becomes(&mut host, "say", json!({}), "two a");
    assert_ne!(number(&say(&mut host, "pid", json!({}))), old);
    assert!(is_alive(old), "a call is in flight on it");
    std::fs::write(&go, "").unwrap();
    assert_eq!(told(&host.reply(waiting)["result"]), format!("one {old}"));
    await_end(old, "the worker ends");
    replace(&path("helper.py"), "word = 'b'\n");
    becomes(&mut host, "say", json!({}), "two b");
    // In place, of the same size, within the same second.
    std::fs::write(path("helper.py"), "word = 'c'\n").unwrap();
    becomes(&mut host, "say", json!({}), "two c");

    assert_eq!(say(&mut host, "js", json!({})), "one a");
    replace(&path("it.mjs"), &js("two"));
    becomes(&mut host, "js", json!({}), "two a");
    replace(&path("word.mjs"), "export const word = 'b';");
    becomes(&mut host, "js", json!({}), "two b");

    let remove = json!({"command": "rm -rf /"});
    assert_eq!(say(&mut host, "sh", remove.clone()), "not with sh");
    replace(&path("worker.sh"), &SH.replace("not with sh", "no"));
    becomes(&mut host, "sh", remove, "no");
}

#[test]
fn a_mended_mistake_counts_at_once() {
    if !is_there("python3") || !is_there("node") {
        return;
    }
    let (mut host, dir) = serving(
        &[
            ("py", "{ python: 'it:review' }"),
            ("js", "{ node: './it.mjs' }"),
            ("new", "{ python: 'later:review' }"),
        ],
        &[
            ("it.py", "def review(: pass\n"),
            ("it.mjs", "export default () => {"),
            ("other.py", ""),
        ],
    );
    for hook in ["py", "js"] {
        let told = say(&mut host, hook, json!({}));
        assert!(told.contains("SyntaxError"), "{told}");
    }
    assert!(say(&mut host, "new", json!({})).contains("no module `later`"));
    let good = "def review(): return {'reason': 'fine'}\n";
    replace(&dir.path().join("it.py"), good);
    replace(&dir.path().join("later.py"), good);
    replace(
        &dir.path().join("it.mjs"),
        "export default () => ({ reason: 'fine' });",
    );
    for hook in ["py", "js", "new"] {
        eventually(hook, || {
            (say(&mut host, hook, json!({})) == "fine").then_some(())
        });
    }
}

#[test]
fn an_idle_worker_is_ended() {
    if !is_there("python3") || !is_there("node") {
        return;
    }
    let (mut host, _dir) = serving(
        &[
            ("soon", "{ python: 'it:pid', idle: 50ms }"),
            ("late", "{ python: 'it:pid', env: { A: b } }"),
        ],
        &[("it.py", PID)],
    );
    let [soon, late] = ["soon", "late"].map(|hook| number(&say(&mut host, hook, json!({}))));
    await_end(soon, "the worker ends");
    assert!(is_alive(late));
    assert_ne!(number(&say(&mut host, "soon", json!({}))), soon);
}

#[test]
fn a_cancelled_call_is_ended_where_it_can_be() {
    if !is_there("python3") || !is_there("node") {
        return;
    }
    let code = r#"
import asyncio, os, pathlib, time
def note(path, text):
    with open(path, "a") as file: file.write(text + "\n")
async def later(tool_input):
    note(tool_input["file"], str(os.getpid()))
    try: await asyncio.sleep(60)
    except asyncio.CancelledError: note(tool_input["file"], "cancelled"); raise
def now(tool_input):
    note(tool_input["file"], "now")
    time.sleep(60)
def pid(): return {"reason": str(os.getpid())}
"#;
    let node = r#"import fs from "node:fs";
export async function later(event, { signal }) {
  const note = (text) => fs.appendFileSync(event.tool.input.file, text + "\n");
  note(process.pid);
  await new Promise((_, reject) => signal.addEventListener("abort", () => { note("aborted"); reject(signal.reason); }));
}
export const pid = () => ({ reason: String(process.pid) });
export function hang(event) { fs.appendFileSync(event.tool.input.file, "hang\n"); for (;;); }
"#;
    let (mut host, dir) = serving(
        &[
            ("later", "{ python: 'it:later' }, timeout: 1500ms"),
            ("now", "{ python: 'it:now' }"),
            ("pid", "{ python: 'it:pid' }"),
            ("later-js", "{ node: './it.mjs#later' }, timeout: 1500ms"),
            ("hang-js", "{ node: './it.mjs#hang' }, timeout: 50ms"),
            ("pid-js", "{ node: './it.mjs#pid' }"),
        ],
        &[("it.py", code), ("it.mjs", node)],
    );
    // Calls a hook until the file says that it has begun: on a busy machine its time may be over
    // before.
    let timed_out = |host: &mut TestHost, hook: &str, file: &Path| {
        eventually("it began", || {
            let told = say(host, hook, json!({"file": file}));
            assert!(
                told.starts_with("failed to finish within its timeout"),
                "{told}"
            );
            file.exists().then_some(())
        });
    };
    // Calls a hook, and cancels the call when the file says that it has begun.
    let cancelled = |host: &mut TestHost, hook: &str, file: &Path, begun: &str| {
        let id = host.ask("hooks/dispatch", to(hook, json!({"file": file})));
        eventually("it began", || {
            (std::fs::read_to_string(file).ok()? == begun).then_some(())
        });
        host.notify("$/cancelRequest", json!({"id": id}));
        assert!(host.reply(id).get("error").is_some());
    };
    for (hook, pid, word) in [
        ("later", "pid", "cancelled"),
        ("later-js", "pid-js", "aborted"),
    ] {
        let worker = number(&say(&mut host, pid, json!({})));
        let file = dir.path().join(hook);
        timed_out(&mut host, hook, &file);
        let expected = format!("{worker}\n{word}\n");
        eventually(word, || {
            (std::fs::read_to_string(&file).ok()? == expected).then_some(())
        });
        // The same by the client's word.
        let twice = format!("{expected}{worker}\n");
        cancelled(&mut host, hook, &file, &twice);
        eventually(word, || {
            (std::fs::read_to_string(&file).ok()? == format!("{twice}{word}\n")).then_some(())
        });
        assert_eq!(number(&say(&mut host, pid, json!({}))), worker);
    }
    // Threads can't be ended: they pile up until the worker is replaced.
    let worker = number(&say(&mut host, "pid", json!({})));
    let file = dir.path().join("now");
    for n in 1..=7 {
        cancelled(&mut host, "now", &file, &"now\n".repeat(n));
    }
    assert_eq!(
        number(&say(&mut host, "pid", json!({}))),
        worker,
        "seven may be left"
    );
    cancelled(&mut host, "now", &file, &"now\n".repeat(8));
    await_end(worker, "the worker ends");
    assert_ne!(number(&say(&mut host, "pid", json!({}))), worker);
    // A worker that hangs as a whole is ended without anybody calling.
    let worker = number(&say(&mut host, "pid-js", json!({})));
    timed_out(&mut host, "hang-js", &dir.path().join("hang"));
    await_end(worker, "the worker ends");
    number(&say(&mut host, "pid-js", json!({})));
}

#[test]
fn a_worker_that_never_gets_ready_costs_the_call_its_time_only() {
    if !is_there("python3") || !is_there("node") {
        return;
    }
    let (mut host, _dir) = serving(
        &[("mute", "{ command: [sleep, '60'] }, timeout: 100ms")],
        &[],
    );
    let told = say(&mut host, "mute", json!({}));
    assert!(
        told.starts_with("failed to finish within its timeout"),
        "{told}"
    );
}

// ------------------------------------------------------------------------------- what is kept
// apart

#[test]
fn nothing_that_user_code_writes_reaches_the_protocol() {
    if !is_there("python3") || !is_there("node") {
        return;
    }
    let code = r#"
import ctypes, os, subprocess, sys
print("while it is imported")
def review():
    print("printed"); sys.stdout.write('{"id": 1, "answer": {"decision": "deny"}}\n'); sys.stdout.flush()
    os.write(1, b"written\n"); subprocess.run(["echo", "from a child"]); os.system("echo from a shell")
    libc = ctypes.CDLL(None); libc.puts(b"from C"); libc.fflush(None)
    if os.fork() == 0: return {"decision": "deny", "reason": "a fork answers"}
    os.wait()
    return {"reason": "fine " + repr(sys.stdin.read())}
"#;
    let node = r#"import { execSync } from "node:child_process"; import fs from "node:fs";
console.log("while it is imported");
export default () => {
  console.log("logged"); process.stdout.write('{"id": 1, "answer": {"decision": "deny"}}\n'); fs.writeSync(1, "written\n");
  execSync("echo from a child", { stdio: "inherit" });
  return { reason: "fine " + JSON.stringify(fs.readFileSync(0, "utf8")) };
};
"#;
    let site = "print('from sitecustomize'); import os; os.write(1, b'{}\\n')\n";
    let (mut host, dir) = serving(
        &[
            ("py", "{ python: 'it:review', env: { PYTHONPATH: site } }"),
            ("js", "{ node: './it.mjs' }"),
        ],
        &[
            ("it.py", code),
            ("it.mjs", node),
            ("site/sitecustomize.py", site),
        ],
    );
    for _ in 0..3 {
        assert_eq!(say(&mut host, "py", json!({})), "fine ''");
        assert_eq!(say(&mut host, "js", json!({})), "fine \"\"");
    }
    drop(dir);
}

#[test]
fn secrets_are_in_no_log_and_no_error() {
    if !is_there("python3") || !is_there("node") {
        return;
    }
    let code = r#"
import os, sys
def review():
    print("printed", os.environ["TOKEN"], os.environ["INHERITED"], "\x1b[31mred")
    raise ValueError("bad token " + os.environ["TOKEN"] + " " + os.environ["KEY"].split()[1])
def crash(): print("dying with " + os.environ["INHERITED"]); os._exit(1)
def flood():
    for n in range(5000): print("line", n)
    print("x" * 1000000)
"#;
    let env = "env: { TOKEN: hunter2hunter2, KEY: \"one\\nsecond-line\" }, inheritEnv: [INHERITED]";
    let dir = definitions(
        &[
            ("review", &format!("{{ python: 'it:review', {env} }}")),
            ("crash", &format!("{{ python: 'it:crash', {env} }}")),
            ("flood", &format!("{{ python: 'it:flood', {env} }}")),
        ],
        &[("it.py", code)],
    );
    let log = dir.path().join("log");
    let mut command = serve(dir.path());
    command
        .env("INHERITED", "swordfish")
        .env("HOOKWIRE_LOG", "info")
        .stderr(std::fs::File::create(&log).unwrap());
    let mut host = TestHost::start(&mut command);
    let review = say(&mut host, "review", json!({}));
    assert!(
        review.contains("ValueError: bad token [masked] [masked] ("),
        "{review}"
    );
    let crash = say(&mut host, "crash", json!({}));
    assert!(
        crash.ends_with("its last words: dying with [masked]"),
        "{crash}"
    );
    say(&mut host, "flood", json!({}));
    eventually("the flood is cut", || {
        std::fs::read_to_string(&log)
            .unwrap()
            .contains("writes too much")
            .then_some(())
    });
    host.rest();
    let log = std::fs::read_to_string(&log).unwrap();
    for secret in ["hunter2", "swordfish", "second-line", "\u{1b}"] {
        assert!(!log.contains(secret), "{secret}: {log}");
    }
    assert!(
        log.contains("printed [masked] [masked] \u{fffd}[31mred"),
        "{log}"
    );
    assert!(log.contains("hook=review"), "{log}");
    assert!(log.len() < 200_000, "{}", log.len());
}

#[test]
fn a_worker_that_floods_is_ended() {
    for (flood, stream) in [
        ("yes >&2", "stderr"),
        ("yes ''", "stdout"),
        ("yes '{\"loaded\":[]}'", "stdout"),
    ] {
        let flood = format!("echo '{{\"ready\":true}}'; read call; exec {flood}");
        let dir = definitions(
            &[("flood", "{ command: [sh, ./flood.sh] }")],
            &[("flood.sh", &flood)],
        );
        let mut host = TestHost::start(&mut serve(dir.path()));
        let said = say(&mut host, "flood", json!({}));
        let expected =
            format!("its worker is ended: it flooded {stream} with more than 10000 lines");
        assert!(said.contains(&expected), "{said}");
    }
}

#[test]
fn the_environment_is_small() {
    if !is_there("python3") || !is_there("node") {
        return;
    }
    let code = "import os\ndef review(): return {'reason': ' '.join(sorted(k for k in os.environ if not k.startswith(('LC_', 'PYENV'))))}\n";
    let dir = definitions(
        &[(
            "py",
            "{ python: 'it:review', env: { MINE: x }, inheritEnv: [THEIRS] }",
        )],
        &[("it.py", code)],
    );
    let mut command = serve(dir.path());
    command
        .env_clear()
        .env("PATH", std::env::var("PATH").unwrap())
        .env("HOME", std::env::var("HOME").unwrap());
    command
        .env("THEIRS", "y")
        .env("SECRET", "z")
        .env("VIRTUAL_ENV", "/nowhere")
        .env("PYTHONHOME", "/nowhere");
    let mut host = TestHost::start(&mut command);
    let names = say(&mut host, "py", json!({}));
    for name in [
        "HOME",
        "HOOKWIRE_CALL_ID",
        "HOOKWIRE_PROJECT_DIR",
        "MINE",
        "PATH",
        "THEIRS",
    ] {
        assert!(names.split(' ').any(|it| it == name), "{name}: {names}");
    }
    for name in ["SECRET", "VIRTUAL_ENV", "PYTHONHOME"] {
        assert!(!names.split(' ').any(|it| it == name), "{name}: {names}");
    }
}

#[test]
fn a_virtual_environment_is_used() {
    if !is_there("python3") || !is_there("node") {
        return;
    }
    let code = "import sys\ndef where(): return {'reason': sys.prefix}\n";
    let callables = [
        ("own", "{ python: 'it:where' }"),
        ("named", "{ python: 'it:where', venv: envs/mine }"),
    ];
    let dir = hooks(&[("it.py", code)]);
    let make = |path: &Path| {
        let made = Command::new("python3")
            .args(["-m", "venv", "--without-pip"])
            .arg(path)
            .status()
            .unwrap();
        assert!(made.success());
    };
    make(&dir.path().join("envs/mine"));
    std::fs::write(dir.path().join("hooks.yaml"), yaml(&callables)).unwrap();
    let mut host = TestHost::serve(dir.path());
    let path = |name: &str| dir.path().join(name).to_string_lossy().into_owned();
    assert_eq!(say(&mut host, "named", json!({})), path("envs/mine"));
    assert_ne!(say(&mut host, "own", json!({})), path(".venv"));
    // One that comes later counts from then on.
    make(&dir.path().join(".venv"));
    eventually("the new one is used", || {
        (say(&mut host, "own", json!({})) == path(".venv")).then_some(())
    });

    // A project's is in its root, and so are its modules.
    let root = hooks(&[
        ("it.py", code),
        (".hookwire/hooks.yaml", &yaml(&callables[..1])),
    ]);
    make(&root.path().join(".venv"));
    let mut command = hookwire();
    command
        .args(["serve", "--isolated", "--live", "--root"])
        .arg(root.path());
    let mut host = TestHost::start(&mut command);
    assert_eq!(
        say(&mut host, "own", json!({})),
        root.path().join(".venv").to_string_lossy()
    );
}

// ------------------------------------------------------------------------------------------- state

#[test]
fn functions_share_the_store() {
    if !is_there("python3") || !is_there("node") {
        return;
    }
    let code = r#"
from hookwire import state, StateError
def say(*values): return {"reason": " ".join(str(value) for value in values)}
def sync():
    state.set("a", {"x": [1]}); state.set("gone", 1, ttl=0.0)
    return say(state.get("a"), state.get("no"), state.get("no", 7), state.get("gone"), state.increment("n"), state.increment("n", by=0.5),
        state.compare_and_set("a", 1, 2), state.compare_and_set("b", None, 3), state.get("b"), state.delete("b"), state.delete("b"), state.list("a"))
async def later():
    state.set("blocking", True)
    return say(await state.aio.get("a"), await state.aio.increment("n"), await state.aio.list("bl"), await state.aio.get("no", 7))
def errors():
    said = []
    for act in [lambda: state.increment("a"), lambda: state.set("", 1), lambda: state.set("s", {1}), lambda: state.set("big", float("inf"))]:
        try: act()
        except StateError as error: said.append(str(error))
    return say(*said)
def count(): return say(state.increment("shared", scope="global"), state.get("n"))
def many():
    for _ in range(100): state.increment("many", scope="global")
"#;
    let node = r#"
export async function js(event, { state }) {
  const said = [await state.get("a"), await state.get("no"), await state.get("no", { default: 7 }), await state.increment("n", 2)];
  await state.set("c", "c", { ttl: 60 });
  said.push(await state.compareAndSet("c", "c", "d"), await state.compareAndSet("c", undefined, "e"), await state.list("c"), await state.delete("c"));
  await state.increment("a").catch((error) => said.push(error.message));
  return { reason: said.map((it) => JSON.stringify(it)).join(" ") };
}
export async function count(event, { state }) { return { reason: `${await state.increment("shared", 1, { scope: "global" })}` }; }
"#;
    let (mut host, _dir) = serving(
        &[
            ("sync", "{ python: 'it:sync' }"),
            ("later", "{ python: 'it:later' }"),
            ("errors", "{ python: 'it:errors' }"),
            ("count", "{ python: 'it:count' }"),
            ("many", "{ python: 'it:many' }"),
            ("js", "{ node: './it.mjs#js' }"),
            ("count-js", "{ node: './it.mjs#count' }"),
        ],
        &[("it.py", code), ("it.mjs", node)],
    );
    for (hook, expected) in [
        (
            "sync",
            "{'x': [1]} None 7 None 1 1.5 False True 3 True False {'a': {'x': [1]}}",
        ),
        ("later", "{'x': [1]} 2.5 {'blocking': True} 7"),
        (
            "js",
            r#"{"x":[1]}  7 4.5 true false {"c":"d"} true "failed to increment `a`: its value is not a number""#,
        ),
        (
            "errors",
            "failed to increment `a`: its value is not a number failed to use the key: it has 1 to 512 bytes, this has 0 the value can't be JSON: Object of type set is not JSON serializable the value can't be JSON: Out of range float values are not JSON compliant",
        ),
        ("count", "1 4.5"),
        ("count-js", "2"),
    ] {
        assert_eq!(say(&mut host, hook, json!({})), expected, "{hook}");
    }
    // Another session has its own values, and the global ones.
    let mut event = to("count", json!({}));
    event["session"] = "t".into();
    assert_eq!(told(&host.dispatch(event)), "3 None");
    let ids: Vec<_> = (0..20)
        .map(|_| host.ask("hooks/dispatch", to("many", json!({}))))
        .collect();
    for id in ids {
        assert_eq!(told(&host.reply(id)["result"]), "-");
    }
    let verdict = host.request("hooks/explain", to("count", json!({})));
    assert!(verdict.is_object());
}

// ------------------------------------------------------------------------------------- the host
// ends

const FAMILY: &str = r#"
import os, subprocess
def family():
    child = subprocess.Popen(["sleep", "600"], start_new_session=True)
    return {"reason": f"{os.getpid()} {child.pid}"}
"#;

/// A worker, and a child of it that left its group.
fn family(host: &mut TestHost) -> Vec<u32> {
    let mut pids: Vec<u32> = say(host, "py", json!({})).split(' ').map(number).collect();
    pids.push(number(&say(host, "js", json!({}))));
    assert!(pids.iter().all(|pid| is_alive(*pid)), "{pids:?}");
    pids
}

#[test]
fn workers_end_with_the_host_however_it_ends() {
    if !is_there("python3") || !is_there("node") {
        return;
    }
    let js = "export default () => ({ reason: String(process.pid) });";
    let callables = [
        ("py", "{ python: 'it:family' }"),
        ("js", "{ node: './it.mjs' }"),
    ];
    for end in ["its input ends", "SIGTERM", "SIGKILL"] {
        let (mut host, _dir) = serving(&callables, &[("it.py", FAMILY), ("it.mjs", js)]);
        let pids = family(&mut host);
        match end {
            "its input ends" => assert_eq!(host.rest(), [] as [Value; 0]),
            "SIGTERM" => {
                Command::new("kill")
                    .arg(host.pid().to_string())
                    .status()
                    .unwrap();
            }
            _ => host.kill(),
        }
        host.wait();
        pids.into_iter()
            .for_each(|pid| await_end(pid, "what the worker started ends"));
    }
}

#[test]
fn what_a_worker_started_ends_with_it() {
    if !is_there("python3") || !is_there("node") {
        return;
    }
    let (mut host, _dir) = serving(
        &[("py", "{ python: 'it:family', idle: 50ms }")],
        &[("it.py", FAMILY)],
    );
    let pids: Vec<u32> = say(&mut host, "py", json!({}))
        .split(' ')
        .map(number)
        .collect();
    pids.into_iter()
        .for_each(|pid| await_end(pid, "what the worker started ends"));
}

// ------------------------------------------------------------------------------------- definitions

#[test]
fn mistakes_are_found_where_they_are_written() {
    if !is_there("python3") || !is_there("node") {
        return;
    }
    let cases = [
        (
            "'acme.policy:review'",
            "`callable`: expected a map, found a string",
        ),
        ("{}", "a callable needs `python`, `node` or `command`"),
        (
            "{ python: 'it:f', node: ./it.mjs }",
            "a callable is one function, this has `python` and `node`",
        ),
        (
            "{ python: it.f }",
            "`it.f` doesn't say which function (write `it:f`)",
        ),
        (
            "{ python: ./it.py }",
            "`./it.py` doesn't say which function (write `module:function` or `path/to/file.py:function`)",
        ),
        ("{ python: 'it:' }", "`` can't be the name of a function"),
        (
            "{ python: 'it:f()' }",
            "`f()` can't be the name of a function",
        ),
        (
            "{ python: 'it..x:f' }",
            "`it..x` can't be the name of a module",
        ),
        (
            "{ python: 'no/such.py:f' }",
            "there is no file `no/such.py`",
        ),
        ("{ node: ./no.mjs }", "there is no file `./no.mjs`"),
        (
            "{ node: './it.mjs#' }",
            "`./it.mjs#` names no export after `#`",
        ),
        ("{ node: . }", "`.` is not a file"),
        ("{ command: [] }", "the command is empty"),
        ("{ command: [./no.sh] }", "there is no file `./no.sh`"),
        (
            "{ command: ./it.mjs }",
            "`callable.command`: expected a list, found a string",
        ),
        (
            "{ python: 'it:f', venv: nowhere }",
            "there is no directory `nowhere`",
        ),
        (
            "{ python: 'it:f', venv: . }",
            "`.` is no virtual environment: it has no bin/python3",
        ),
        (
            "{ node: ./it.mjs, venv: . }",
            "a virtual environment is for `python`",
        ),
        (
            "{ python: 'it:f', env: { 'A=B': c } }",
            "`A=B` can't be the name of a variable",
        ),
        (
            "{ python: 'it:f', idle: soon }",
            "`callable.idle`: expected a duration such as `5s` or `250ms`, found `soon`",
        ),
        (
            "{ python: 'it:f', argz: {} }",
            "`callable.argz`: unknown field",
        ),
    ];
    let dir = hooks(&[("it.py", ""), ("it.mjs", "")]);
    let mut text = "defaults: { fail: open }\nhooks:\n".to_string();
    for (n, (callable, _)) in cases.iter().enumerate() {
        text += &format!("  - {{ name: h{n}, on: Stop, callable: {callable} }}\n");
    }
    std::fs::write(dir.path().join("hooks.yaml"), text).unwrap();
    let output = hookwire()
        .args(["check", "--format", "json", "--isolated", "--hooks"])
        .arg(dir.path())
        .output()
        .unwrap();
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let found = found["diagnostics"].as_array().unwrap();
    assert_eq!(found.len(), cases.len(), "{found:#?}");
    for (n, (diagnostic, (callable, expected))) in found.iter().zip(cases).enumerate() {
        let help = diagnostic["help"]
            .as_str()
            .map(|help| format!(" ({help})"))
            .unwrap_or_default();
        let message = diagnostic["message"]
            .as_str()
            .unwrap()
            .replace("; the hook is not in force", "")
            + &help;
        assert!(message.starts_with(expected), "{callable}: {message}");
        assert_eq!(
            diagnostic["range"]["start"]["line"],
            n + 3,
            "{callable}: {diagnostic}"
        );
        assert!(
            diagnostic["range"]["start"]["column"].as_u64().unwrap() > 30,
            "{callable}: {diagnostic}"
        );
    }
}

#[test]
fn a_file_that_comes_later_mends_its_definition() {
    if !is_there("python3") || !is_there("node") {
        return;
    }
    let (mut host, dir) = serving(
        &[
            ("py", "{ python: './rules/late.py:pid' }"),
            ("js", "{ node: './late.mjs' }"),
            ("sh", "{ command: [./late.sh] }"),
            ("venv", "{ python: 'it:pid', venv: later }"),
        ],
        &[("it.py", PID)],
    );
    assert!(say(&mut host, "py", json!({})).contains("there is no file `./rules/late.py`"));
    std::fs::create_dir(dir.path().join("rules")).unwrap();
    std::fs::write(dir.path().join("rules/late.py"), PID).unwrap();
    std::fs::write(
        dir.path().join("late.mjs"),
        "export default () => ({ reason: String(process.pid) });",
    )
    .unwrap();
    let script = dir.path().join("late.sh");
    std::fs::write(&script, SH).unwrap();
    Command::new("chmod")
        .arg("+x")
        .arg(&script)
        .status()
        .unwrap();
    Command::new("python3")
        .args(["-m", "venv", "--without-pip"])
        .arg(dir.path().join("later"))
        .status()
        .unwrap();
    for hook in ["py", "js", "sh", "venv"] {
        eventually(hook, || say(&mut host, hook, json!({})).parse::<u32>().ok());
    }
    assert_eq!(
        host.request("hooks/check", json!({}))["diagnostics"],
        json!([])
    );
}

/// What an event holds neither ends the worker that others share nor hides what the event is about.
#[test]
fn hostile_events_stay_data() {
    if !is_there("python3") || !is_there("node") {
        return;
    }
    let node = "
export function parse(event) { JSON.parse(event.tool.input.command) }
export function odd() { throw Object.create(null) }
export async function count(event, { state }) {
  await Promise.all(Array.from({ length: 6000 }, () => state.increment('k')));
  return { decision: 'deny', reason: String(await state.get('k')) };
}
export const pid = () => ({ decision: 'deny', reason: String(process.pid) });
";
    let python = "
def seen(tool_input, hook): return {'decision': 'deny', 'reason': f'{hook} {tool_input}'}
class Mute(Exception):
    def __str__(self): raise ValueError()
def mute(): raise Mute()
";
    let hook = |name: &str, target: &str| {
        format!(
            "  - {{ name: {name}, on: PreToolUse, matcher: {name}, fail: closed, timeout: 20s, callable: {{ {target} }} }}\n"
        )
    };
    let names = ["parse", "odd", "count", "pid"];
    let mut yaml: String = names
        .iter()
        .map(|it| hook(it, &format!("node: './h.mjs#{it}'")))
        .collect();
    yaml += &["seen", "mute"]
        .map(|it| hook(it, &format!("python: 'h:{it}'")))
        .concat();
    let dir = hooks(&[
        ("h.mjs", node),
        ("h.py", python),
        ("hooks.yaml", &format!("hooks:\n{yaml}")),
    ]);
    let mut host = TestHost::serve(dir.path());
    let mut ask = |name: &str, more: Value| {
        let mut event = json!({"event": "PreToolUse", "session": "s", "tool": {"name": name, "input": {"command": "ls"}}});
        event
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        brief(&host.dispatch(event))
    };
    let worker = ask("pid", json!({}));
    // What took more than linear time would not be through before the timeout.
    for command in [
        "/a%zz.js:1".to_string(),
        "/".repeat(800_000),
        format!("\n    at /{}.js:1", "x/".repeat(400_000)),
    ] {
        let verdict = ask(
            "parse",
            json!({"tool": {"name": "parse", "input": {"command": command}}}),
        );
        assert!(
            verdict.starts_with("deny by parse: hook `parse` failed to call"),
            "{verdict}"
        );
    }
    assert!(ask("odd", json!({})).starts_with("deny by odd: hook `odd` failed to call"));
    assert_eq!(ask("count", json!({})), "deny by count: 6000");
    assert_eq!(ask("pid", json!({})), worker, "the worker is the same");
    let hidden = json!({"tool_input": {"command": "other"}, "toolInput": {}, "hook": "other"});
    assert_eq!(ask("seen", hidden), "deny by seen: seen {'command': 'ls'}");
    assert!(ask("mute", json!({})).contains("it failed, and so did telling how"));
}
