//! Code lenses, inlay hints and commands, over the wire of the built binary.

use crate::support::editor::{Editor, abilities};
use crate::support::{await_end, is_alive, pid_in};
use serde_json::{Value, json};

/// The titles of the lenses: `line: title | title`.
fn lenses(editor: &mut Editor, name: &str) -> Vec<String> {
    let uri = editor.uri(name);
    let lenses = editor.request(
        "textDocument/codeLens",
        json!({ "textDocument": { "uri": uri } }),
    );
    let mut lines: Vec<(u64, String)> = Vec::new();
    for lens in lenses.as_array().unwrap() {
        assert_eq!(
            lens["range"]["start"]["line"], lens["range"]["end"]["line"],
            "{lens}"
        );
        assert_eq!(lens["command"]["arguments"][0]["uri"], uri, "{lens}");
        let (line, title) = (
            lens["range"]["start"]["line"].as_u64().unwrap(),
            lens["command"]["title"].as_str().unwrap(),
        );
        match lines.last_mut() {
            Some((last, titles)) if *last == line => titles.push_str(&format!(" | {title}")),
            _ => lines.push((line, title.to_string())),
        }
    }
    lines
        .into_iter()
        .map(|(line, titles)| format!("{line}: {titles}"))
        .collect()
}

/// The labels of the hints: `line:column label`.
fn hints(editor: &mut Editor, name: &str, range: (u32, u32)) -> Vec<String> {
    let uri = editor.uri(name);
    let place = |line| json!({ "line": line, "character": 0 });
    let range = json!({ "start": place(range.0), "end": place(range.1) });
    let hints = editor.request(
        "textDocument/inlayHint",
        json!({ "textDocument": { "uri": uri }, "range": range }),
    );
    let at = |hint: &Value| {
        format!(
            "{}:{}",
            hint["position"]["line"], hint["position"]["character"]
        )
    };
    let hints = hints.as_array().unwrap().iter();
    hints
        .map(|hint| {
            format!(
                "{} {}",
                at(hint),
                hint["label"].as_str().unwrap().trim_start()
            )
        })
        .collect()
}

fn run(editor: &mut Editor, name: &str, hook: &str) -> Value {
    let uri = editor.uri(name);
    editor.execute("hookwire.run", json!({ "uri": uri, "hook": hook }))
}

/// Without how long it took.
fn summary(ran: &Value) -> String {
    let summary = ran["summary"].as_str().unwrap();
    summary
        .rsplit_once(" (")
        .map_or(summary, |(what, _)| what)
        .to_string()
}

#[test]
fn lenses_stand_above_each_hook() {
    let mut editor = Editor::start(&[]);
    for (name, text, expected) in [
        (
            "a.yaml",
            "hooks:\n  - on: PreToolUse\n    name: a\n    if: Bash(git push*)\n    deny: no\n  - name: b\n    on: [Stop, PostToolUse]\n    command: [python3, check.py]\n",
            vec![
                "1: ▶ run on a sample PreToolUse | explain",
                "5: ▶ run on a sample Stop: starts python3 check.py | explain",
            ],
        ),
        (
            "b.toml",
            "[[hooks]]\nname = 'a'\non = 'Stop'\nhttp = { url = 'https://example.com/x?key=s3cret' }\n",
            vec!["0: ▶ run on a sample Stop: POSTs to https://example.com/x | explain"],
        ),
        (
            "c.json",
            "{\"hooks\": [\n{\"name\": \"a\", \"on\": \"Stop\", \"deny\": \"no\"}]}",
            vec!["1: ▶ run on a sample Stop | explain"],
        ),
        // Broken hooks can't be run, nor can one whose name is another's; those beside them can.
        (
            "d.yaml",
            "hooks:\n- {name: a, on: Stop}\n- {name: b, on: Stop, deny: x}\n- {name: b, on: Stop, deny: y}\n- {on: Stop}\n",
            vec!["2: ▶ run on a sample Stop | explain"],
        ),
        (
            "e.yaml",
            "dialect: nothing\nhooks:\n- {name: b, on: Stop, deny: x}\n",
            vec![],
        ),
        ("f.yaml", "hooks: [", vec![]),
        // Another system's file.
        (
            "g.yaml",
            "dialect: claude-code\nhooks:\n- {name: b, on: PreToolUse, matcher: Edit, command: ./x}\n",
            vec!["2: ▶ run on a sample PreToolUse: starts ./x | explain"],
        ),
    ] {
        editor.open(name, text);
        assert_eq!(lenses(&mut editor, name), expected, "{name}");
    }
}

#[test]
fn a_hook_runs_as_it_stands_in_the_editor() {
    let mut editor = Editor::start(&[(
        "a.yaml",
        "hooks:\n- {name: a, on: PreToolUse, deny: saved}\n",
    )]);
    for (definition, expected, ran, decision) in [
        ("deny: unsaved", "deny: unsaved", true, json!("deny")),
        ("ask: really?", "ask: really?", true, json!("ask")),
        ("allow: fine", "allow: fine", true, json!("allow")),
        ("command: 'true'", "no opinion", true, Value::Null),
        (
            "command: 'true', async: true",
            "no opinion",
            true,
            Value::Null,
        ),
        (
            "deny: 'no', async: true",
            "deny: no, but it is async: decides nothing",
            true,
            Value::Null,
        ),
        (
            "command: 'exit 3'",
            "failed to run: exit status 3: decides nothing",
            true,
            Value::Null,
        ),
        (
            "command: 'exit 3', fail: closed",
            "failed to run: exit status 3: counts as deny",
            true,
            json!("deny"),
        ),
        (
            "command: 'sleep 60', timeout: 20ms, fail: ask",
            "failed to finish within its timeout",
            true,
            json!("ask"),
        ),
        (
            "if: 'Bash(git push*)', command: 'echo \"$tool_input_command\" >&2; exit 2'",
            "deny: git push",
            true,
            json!("deny"),
        ),
        (
            "command: 'printf %s ''{\"subject\": {\"command\": \"ls\"}, \"additionalContext\": [\"a\\nb\"]}'''",
            "rewrites tool.input; tells the model: a b",
            true,
            Value::Null,
        ),
        (
            "when: '1 > 2', deny: x",
            "did not run: when: `1 > 2` is false",
            false,
            Value::Null,
        ),
        (
            "enabled: false, deny: x",
            "did not run: enabled: switched off",
            false,
            Value::Null,
        ),
        ("once: true, deny: x", "deny: x", true, json!("deny")),
        (
            "dialect: claude-code, matcher: Edit, command: 'grep -o tool_name >&2; exit 2'",
            "deny: [grep -o tool_name >&2; exit 2]: tool_name",
            true,
            json!("deny"),
        ),
    ] {
        let text = format!("hooks:\n- {{name: a, on: PreToolUse, {definition}}}\n");
        editor.open("a.yaml", &text);
        // Whatever has been before, and however often.
        for _ in 0..2 {
            let result = run(&mut editor, "a.yaml", "a");
            let told = summary(&result);
            assert!(
                told == expected || expected.len() > 7 && told.starts_with(expected),
                "{definition}: {result}"
            );
            assert_eq!(
                (&result["ran"], &result["decision"]),
                (&json!(ran), &decision),
                "{definition}: {result}"
            );
            assert_eq!(
                (&result["event"], &result["from"]),
                (&json!("PreToolUse"), &json!("sample")),
                "{result}"
            );
            assert_eq!(result["keptOutBy"].is_null(), ran, "{result}");
            let shown = editor.receive_where(|it| it["method"] == "window/showMessage");
            let is_failure = told.starts_with("failed");
            assert_eq!(
                shown["params"]["type"],
                if is_failure { 1 } else { 3 },
                "{shown}"
            );
            let lens = &lenses(&mut editor, "a.yaml")[0];
            let start: String = told
                .replace("`1 > 2`", "“1 > 2”")
                .chars()
                .take(23)
                .collect();
            assert!(lens.starts_with(&format!("1: {start}")), "{lens}");
        }
    }
    // The outcome is about this very definition.
    editor.retype(
        "a.yaml",
        1,
        "hooks:\n- {name: a, on: PreToolUse, deny: other}\n",
    );
    assert_eq!(
        lenses(&mut editor, "a.yaml"),
        ["1: ▶ run on a sample PreToolUse | explain"]
    );
    run(&mut editor, "a.yaml", "a");
    let uri = editor.uri("a.yaml");
    editor.notify(
        "textDocument/didClose",
        json!({ "textDocument": { "uri": uri } }),
    );
    // A file that isn't open is as it is on disk.
    assert_eq!(summary(&run(&mut editor, "a.yaml", "a")), "deny: saved");
    editor.open(
        "a.yaml",
        "hooks:\n- {name: a, on: PreToolUse, deny: other}\n",
    );
    assert_eq!(
        lenses(&mut editor, "a.yaml"),
        ["1: ▶ run on a sample PreToolUse | explain"]
    );
}

#[test]
fn the_person_at_the_editor_is_asked() {
    let mut editor = Editor::start(&[]);
    editor.open(
        "a.yaml",
        "hooks:\n- {name: a, on: PreToolUse, guard: approval}\n",
    );
    assert_eq!(
        lenses(&mut editor, "a.yaml"),
        ["1: ▶ run on a sample PreToolUse: asks you here in the editor | explain"]
    );
    let uri = editor.uri("a.yaml");
    for (answer, expected) in [
        (json!({ "title": "Approve" }), "allow: approved by a person"),
        (
            json!({ "title": "Deny" }),
            "deny: `a` needs an approval (denied by a person)",
        ),
        (
            Value::Null,
            "failed to ask for approval: the question was closed without an answer: decides nothing",
        ),
        (
            json!({ "error": { "code": -32601, "message": "no such method" } }),
            "failed to ask for approval: the client replied with an error: no such method: decides nothing",
        ),
    ] {
        let id = editor.ask(
            "workspace/executeCommand",
            json!({ "command": "hookwire.run", "arguments": [{ "uri": uri, "hook": "a" }] }),
        );
        let asked = editor.receive_where(|it| it["method"] == "window/showMessageRequest");
        assert_eq!(
            asked["params"]["message"],
            "a at PreToolUse: “a” needs an approval"
        );
        let mut reply = json!({ "jsonrpc": "2.0", "id": asked["id"] });
        match answer.get("error") {
            Some(error) => reply["error"] = error.clone(),
            None => reply["result"] = answer,
        }
        editor.send(&reply);
        let reply = editor.reply(id);
        assert_eq!(summary(&reply["result"]), expected, "{reply}");
    }
}

#[test]
fn a_cancelled_run_leaves_nothing_behind() {
    let mut editor = Editor::start(&[]);
    let file = editor.root.path().join("pid");
    for definition in ["", "async: true, "] {
        let _ = std::fs::remove_file(&file);
        let command = format!("echo $$ > {}; exec sleep 60", file.display());
        editor.open(
            "a.yaml",
            &format!("hooks:\n- {{name: a, on: Stop, {definition}command: '{command}'}}\n"),
        );
        let uri = editor.uri("a.yaml");
        let id = editor.ask(
            "workspace/executeCommand",
            json!({ "command": "hookwire.run", "arguments": [{ "uri": uri, "hook": "a" }] }),
        );
        let pid = pid_in(&file);
        assert!(is_alive(pid));
        editor.notify("$/cancelRequest", json!({ "id": id }));
        assert_eq!(editor.reply(id)["error"]["code"], -32800);
        await_end(pid, "the process is ended");
    }
}

#[test]
fn what_cannot_be_done_is_said() {
    let mut editor = Editor::start(&[]);
    editor.open(
        "a.yaml",
        "hooks:\n- {name: broken, on: PreTolUse, dney: x}\n- {name: fine, on: Stop, deny: x}\n",
    );
    editor.open("b.yaml", "hooks: [");
    editor.open(
        "c.yaml",
        "dialect: nothing\nhooks:\n- {name: fine, on: Stop, deny: x}\n",
    );
    let (a, b, c) = (
        editor.uri("a.yaml"),
        editor.uri("b.yaml"),
        editor.uri("c.yaml"),
    );
    for (command, argument, code, message) in [
        (
            "hookwire.run",
            json!({ "uri": a, "hook": "broken" }),
            -32803,
            "“broken” is broken: unknown event “PreTolUse”",
        ),
        (
            "hookwire.explain",
            json!({ "uri": a, "hook": "broken" }),
            -32803,
            "“broken” is broken: unknown event “PreTolUse”",
        ),
        (
            "hookwire.run",
            json!({ "uri": a, "hook": "fien" }),
            -32803,
            "no hook “fien” is in this file; did you mean “fine”?",
        ),
        (
            "hookwire.matches",
            json!({ "uri": a, "hook": "fien" }),
            -32803,
            "no hook “fien” is in this file",
        ),
        (
            "hookwire.run",
            json!({ "uri": b, "hook": "fine" }),
            -32803,
            "“fine” can't be read: the “[” isn't closed",
        ),
        (
            "hookwire.run",
            json!({ "uri": c, "hook": "fine" }),
            -32803,
            "the file of “fine” is broken: unknown dialect “nothing”",
        ),
        (
            "hookwire.run",
            json!({ "uri": "file:///etc/passwd", "hook": "fine" }),
            -32803,
            "the document is neither open nor among the definitions of a folder",
        ),
        (
            "hookwire.run",
            json!({ "uri": a, "hook": "fine", "event": { "host": 1, "seq": 2 } }),
            -32803,
            "event 2 of process 1 is not known any more",
        ),
        (
            "hookwire.run",
            json!({ "uri": a }),
            -32602,
            "invalid params: `arguments[0]`: the field `hook` is missing",
        ),
        (
            "hookwire.run",
            json!({ "uri": a, "hook": 3 }),
            -32602,
            "invalid params: `arguments[0].hook`: expected a string",
        ),
        (
            "hookwire.run",
            json!({ "uri": a, "hook": "fine", "event": { "host": 1 } }),
            -32602,
            "invalid params: `arguments[0].event`: the field `seq` is missing",
        ),
        (
            "hookwire.run",
            json!({ "uri": a, "hook": "fine", "evnt": 1 }),
            -32602,
            "invalid params: `arguments[0]",
        ),
        (
            "hookwire.run",
            json!("x"),
            -32602,
            "invalid params: `arguments[0]`: ",
        ),
        (
            "hookwire.events",
            json!({ "limit": -1 }),
            -32602,
            "invalid params: `arguments[0].limit`: ",
        ),
        (
            "hookwire.status",
            json!({ "x": 1 }),
            -32602,
            "invalid params: `arguments[0]",
        ),
        (
            "hookwire.rnu",
            json!({}),
            -32803,
            "unknown command “hookwire.rnu”; did you mean “hookwire.run”?",
        ),
    ] {
        let params = json!({ "command": command, "arguments": [argument] });
        let error = editor.refused("workspace/executeCommand", params);
        let told = error["message"].as_str().unwrap();
        assert!(
            error["code"] == code && told.starts_with(message),
            "{command} {argument}: {error}"
        );
    }
}

#[test]
fn explained_without_running() {
    let mut editor = Editor::start(&[]);
    let text = "hooks:\n- {name: runs, on: PreToolUse, if: 'Bash(git push*)', command: 'exit 2'}\n- {name: kept out, on: Stop, when: '1 > 2', deny: x}\n- {name: opaque, on: Stop, when: 'tool.input.x > 2', deny: x}\n";
    editor.open("a.yaml", text);
    let uri = editor.uri("a.yaml");
    for (hook, expected) in [
        (
            "runs",
            json!({ "hook": "runs", "event": "PreToolUse", "from": "sample", "applies": true, "summary": "runs on a sample PreToolUse (Bash git push)" }),
        ),
        (
            "kept out",
            json!({
                "hook": "kept out", "event": "Stop", "from": "sample", "applies": false,
                "keptOutBy": { "test": "when", "why": "`1 > 2` is false" },
                "summary": "does not run on a sample Stop (The work is done.): when: `1 > 2` is false",
            }),
        ),
    ] {
        let explained = editor.execute("hookwire.explain", json!({ "uri": uri, "hook": hook }));
        assert_eq!(explained, expected);
        let shown = editor.receive_where(|it| it["method"] == "window/showMessage");
        let summary = expected["summary"]
            .as_str()
            .unwrap()
            .replace("`1 > 2`", "“1 > 2”");
        assert_eq!(shown["params"]["message"], format!("{hook} {summary}"));
    }
    let explained = editor.execute("hookwire.explain", json!({ "uri": uri, "hook": "opaque" }));
    assert!(
        explained["applies"] == true && explained["opaque"].is_string(),
        "{explained}"
    );
    let matches = editor.execute("hookwire.matches", json!({ "uri": uri, "hook": "runs" }));
    assert_eq!(matches["events"], json!([]));
    assert_eq!(
        matches["counts"],
        json!({ "matched": 0, "denied": 0, "asked": 0, "rewrote": 0, "failed": 0, "observed": 0 })
    );
}

#[test]
fn hints_tell_the_order_across_files() {
    let b = "hooks:\n- {name: b1, on: [PreToolUse, PostToolUse], deny: x}\n- {name: late, on: PreToolUse, priority: 200, deny: x}\n- {name: off, on: PreToolUse, enabled: false, deny: x}\n";
    let mut editor = Editor::start(&[
        ("a.yaml", "hooks:\n- {name: old, on: Stop, deny: x}\n"),
        ("b.yaml", b),
    ]);
    // What is saved of the file itself doesn't count.
    let a = "hooks:\n  - name: é # one\n    on: PreToolUse\n    deny: x\n  - name: a2\n    on: [PostToolUse, PreToolUse]\n    deny: x\n  - {name: off, on: Stop, enabled: false, deny: x}\n  - {name: broken, on: Stop}\n  - {name: every, on: '*', deny: x}\n";
    editor.open("a.yaml", a);
    assert_eq!(
        hints(&mut editor, "a.yaml", (0, 99)),
        [
            "1:18 runs 1st of 5 at PreToolUse",
            // After the fact from within.
            "4:12 runs 3rd of 3 at PostToolUse, +1 event",
            "7:50 off: never runs",
            "8:28 broken: not in force",
            "9:35 runs 3rd of 5 at PreToolUse, +2 events",
        ]
    );
    assert_eq!(
        hints(&mut editor, "a.yaml", (4, 5)),
        ["4:12 runs 3rd of 3 at PostToolUse, +1 event"]
    );
    editor.open(
        "c.yaml",
        "hooks: [{name: c, on: Stop, deny: x}, {name: d, on: Stop, deny: x}]\n",
    );
    assert_eq!(
        hints(&mut editor, "c.yaml", (0, 99)),
        ["0:16 runs 2nd of 3 at Stop", "0:46 runs 3rd of 3 at Stop"]
    );
    editor.open(
        "d.yaml",
        "dialect: claude-code\nhooks:\n- {name: c, on: Stop, command: x}\n- {name: d, on: Stop, command: y}\n",
    );
    assert_eq!(
        hints(&mut editor, "d.yaml", (0, 99)),
        [
            "2:33 runs at once with 2 others at Stop",
            "3:33 runs at once with 2 others at Stop"
        ]
    );
    // A file that nobody loads is by itself.
    editor.open(
        "/nowhere/.hookwire/x.yaml",
        "hooks:\n- {name: x, on: PreToolUse, deny: x}\n",
    );
    assert_eq!(
        hints(&mut editor, "/nowhere/.hookwire/x.yaml", (0, 9)),
        ["1:36 the only hook at PreToolUse"]
    );
}

#[test]
fn what_is_loaded_is_listed() {
    let mut capabilities = abilities();
    capabilities["experimental"] = json!({ "hookwire": { "live": true } });
    let files = [
        (
            "a.yaml",
            "hooks:\n  - name: a\n    description: first\n    on: [PreToolUse, PostToolUse]\n    fail: closed\n    deny: x\n",
        ),
        (
            "b.yaml",
            "hooks:\n- {name: b, on: PreToolUse, priority: 1, fail: open, command: 'true'}\n- {name: c, on: Stop}\n",
        ),
    ];
    let mut editor = Editor::with(capabilities, &files);
    let listed = editor.execute("hookwire.hooks", json!({}));
    let root = &listed["roots"][0];
    assert_eq!(root["root"], editor.root.path().to_str().unwrap());
    let names: Vec<_> = root["hooks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["b", "a"]);
    assert_eq!(
        root["hooks"][1],
        json!({
            "name": "a", "label": "a", "description": "first", "on": ["PreToolUse", "PostToolUse"], "handler": "deny", "layer": "project",
            "uri": editor.uri("a.yaml"),
            "range": { "start": { "line": 1, "character": 4 }, "end": { "line": 1, "character": 4 } },
            "order": [{ "event": "PreToolUse", "place": 2, "of": 2 }, { "event": "PostToolUse", "place": 1, "of": 1 }],
            "composition": "onion", "fail": "closed", "enabled": true, "dialect": "native",
            "counts": { "matched": 0, "denied": 0, "asked": 0, "rewrote": 0, "failed": 0, "observed": 0 },
            "tone": "none", "notes": ["deny"],
            "tooltip": "**a**\n\nfirst\n\n| | |\n|---|---|\n| handler | deny |\n| on | PreToolUse, PostToolUse |\n\
                | runs | PreToolUse: 2 of 2, PostToolUse: 1 of 1 |\n| layer | project |\n| on failure | closed |\n\
                | composition | onion |\n| so far | no match yet |",
        })
    );
    let groups = json!([
        { "event": "PreToolUse", "hooks": [0, 1], "places": ["1 of 2", "2 of 2"], "summary": "2 hooks" },
        { "event": "PostToolUse", "hooks": [1], "places": ["1 of 1"], "summary": "1 hook" },
    ]);
    let start = json!({ "line": 2, "character": 9 });
    let broken = json!({
        "name": "c", "label": "c", "range": { "start": start, "end": start },
        "message": "a hook needs a handler; the hook is not in force",
        "tooltip": "**c** is not in force as it is written\n\n- a hook needs a handler; the hook is not in force",
    });
    let files = json!([
        { "uri": editor.uri("a.yaml"), "label": ".hookwire/a.yaml", "hooks": [1], "broken": [], "summary": "1 hook" },
        { "uri": editor.uri("b.yaml"), "label": ".hookwire/b.yaml", "hooks": [0], "broken": [broken], "summary": "1 broken, 1 hook" },
    ]);
    assert_eq!(root["files"], files);
    assert_eq!(
        (&root["groups"], &root["summary"]),
        (&groups, &json!("2 hooks"))
    );
    editor.open(
        "a.yaml",
        "# moved\nhooks:\n  - on: PreToolUse\n    name: a\n    deny: x\n",
    );
    let listed = editor.execute("hookwire.hooks", json!({}));
    assert_eq!(
        listed["roots"][0]["hooks"][1]["range"],
        json!({ "start": { "line": 3, "character": 10 }, "end": { "line": 3, "character": 11 } })
    );
    let status = editor.execute("hookwire.status", Value::Null);
    assert_eq!(
        status,
        json!({
            "version": env!("CARGO_PKG_VERSION"), "hosts": [], "hooks": 2, "errors": 1, "warnings": 0, "events": 0,
            "summary": "2 hooks, 0 running hosts, 1 error", "brief": "1 problem",
            "tooltip": format!(
                "**hookwire {}**\n\n2 hooks, 1 error, 0 warnings in definitions\n\nno host attached: no agent runs \
                `hookwire serve --live` here",
                env!("CARGO_PKG_VERSION").replace('.', "\\.")
            ),
        })
    );
    let live = editor.receive_where(|it| it["method"] == "hookwire/live");
    assert_eq!(live["params"], status);
    assert_eq!(
        editor.execute("hookwire.events", json!({ "limit": 3 }))["events"],
        json!([])
    );
    assert_eq!(
        editor.execute("hookwire.reload", json!({})),
        json!({ "reloaded": 0, "summary": "no host is attached: nothing to reload" })
    );
}

#[test]
fn an_old_event_has_time_again_and_guards_count_from_zero() {
    let mut capabilities = abilities();
    capabilities["experimental"] = json!({ "hookwire": { "live": true } });
    let mut editor = Editor::with(capabilities, &[]);
    let event = json!({
        "event": "PostModelCall", "session": "s", "run": "r", "deadlineMs": 600_000,
        "model": { "usage": { "inputTokens": 100, "outputTokens": 0 } },
    });
    editor.dispatch(event);
    editor.receive_where(|it| it["method"] == "hookwire/live" && it["params"]["events"] == 1);
    for (definition, expected) in [
        (
            "command: 'if grep -q deadlineMs; then exit 2; fi'",
            "no opinion",
        ),
        (
            "guard: {token-limit: {max: 1000}}",
            "no opinion (counted from zero)",
        ),
        // What it said before it was edited doesn't count.
        (
            "guard: {token-limit: {max: 60}}",
            "no opinion: Token limit reached: 100/60; ends the run: Token limit reached: 100/60 (counted from zero)",
        ),
        (
            "guard: {token-limit: {max: 150}}",
            "no opinion (counted from zero)",
        ),
    ] {
        editor.open(
            "a.yaml",
            &format!("hooks:\n- {{name: a, on: PostModelCall, {definition}}}\n"),
        );
        for _ in 0..2 {
            let ran = run(&mut editor, "a.yaml", "a");
            assert_eq!(ran["from"], "live", "{ran}");
            let told = ran["summary"].as_str().unwrap();
            let counted = if told.ends_with(", counted from zero)") {
                " (counted from zero)"
            } else {
                ""
            };
            assert_eq!(
                format!("{}{counted}", summary(&ran)),
                expected,
                "{definition}"
            );
        }
    }
}

/// The words that tokens colour.
fn coloured(editor: &mut Editor, name: &str, text: &str) -> Vec<String> {
    let uri = editor.uri(name);
    let tokens = editor.request(
        "textDocument/semanticTokens/full",
        json!({ "textDocument": { "uri": uri } }),
    );
    let data: Vec<usize> = serde_json::from_value(tokens["data"].clone()).unwrap();
    let lines: Vec<&str> = text.split('\n').collect();
    let (mut line, mut column) = (0, 0);
    let word = |token: &[usize]| {
        column = if token[0] == 0 {
            column + token[1]
        } else {
            token[1]
        };
        line += token[0];
        lines[line][column..column + token[2]].to_string()
    };
    data.chunks(5).map(word).collect()
}

#[test]
fn a_half_typed_line_takes_nothing_else_away() {
    let mut capabilities = abilities();
    capabilities["textDocument"]["documentSymbol"] =
        json!({ "hierarchicalDocumentSymbolSupport": true });
    let mut editor = Editor::with(capabilities, &[]);
    let yaml = "hooks:\n  - name: \u{e9}a\n    on: Stop\n    deny: x\n  - name: b\n    on: Stop\n    if: Bash(x)\n    deny: y\n";
    let toml = "[[hooks]]\nname = '\u{e9}a'\non = 'Stop'\ndeny = 'x'\n[[hooks]]\nname = 'b'\non = 'Stop'\nif = 'Bash(x)'\ndeny = 'y'\n";
    let jsonc = "{\"hooks\": [\n{\"name\": \"\u{e9}a\",\n\"on\": \"Stop\",\n\"deny\": \"x\"},\n{\"name\": \"b\",\n\"on\": \"Stop\",\n\"if\": \"Bash(x)\",\n\"deny\": \"y\"}\n]}\n";
    for (name, good, at, put) in [
        ("a.yaml", yaml, "    deny: x\n", "    prio\n"),
        ("a.yaml", yaml, "hooks:\n", "  - name: new\n    on: [\n"),
        (
            "a.yaml",
            yaml,
            "    deny: y\n",
            "  - name: new\n    on: [\n",
        ),
        ("a.yaml", yaml, "    deny: y\n", "  - name: \"\u{1f600}"),
        ("a.toml", toml, "deny = 'x'\n", "prio\n"),
        ("a.toml", toml, "", "[defaults\n"),
        (
            "a.toml",
            toml,
            "deny = 'y'\n",
            "[[hooks]]\nname = \"\u{1f600}",
        ),
        ("a.json", jsonc, "\"x\"},\n", "{\"name\": \"\u{1f600}\n"),
        ("a.json", jsonc, "\"y\"}\n", ", {\n"),
        ("a.json", jsonc, "]}\n", "{\n"),
    ] {
        let offset = good.find(at).unwrap() + at.len();
        let broken = format!("{}{put}{}", &good[..offset], &good[offset..]);
        let added = put.matches('\n').count();
        let line_of = |text: &str| broken[..broken.find(text).unwrap()].matches('\n').count();
        let (a, b) = (line_of("\u{e9}a"), line_of("Bash(") - 2);
        editor.open(name, good);
        let lines = |listed: Vec<String>| -> Vec<usize> {
            listed
                .iter()
                .map(|it| it.split(':').next().unwrap().parse().unwrap())
                .collect()
        };
        // The lens of a TOML table stands above its header.
        let head = usize::from(name == "a.toml");
        for version in 2..12 {
            // However it is typed, by the letter on a line of its own or all at once.
            let is_broken = version % 4 != 0;
            if is_broken && version % 2 == 0 && !put.contains("name") {
                for letters in 0..put.len() - 1 {
                    let typed = format!("{}\n", &put[..letters]);
                    editor.retype(
                        name,
                        version,
                        &format!("{}{typed}{}", &good[..offset], &good[offset..]),
                    );
                }
            }
            editor.retype(name, version, if is_broken { &broken } else { good });
            let text = if is_broken { broken.as_str() } else { good };
            let moved = |line: usize| {
                if is_broken || line < good[..offset].matches('\n').count() {
                    line
                } else {
                    line - added
                }
            };
            let case = format!("{name} {put:?} {version}");

            let told = lenses(&mut editor, name);
            assert_eq!(
                lines(told.clone()),
                [moved(a) - head, moved(b) - head],
                "{case}"
            );
            let runs = told.iter().filter(|it| it.contains("run on")).count();
            assert_eq!(runs, if is_broken { 0 } else { 2 }, "{case}: {told:?}");
            assert!(
                told.iter().all(|it| it.contains("explain")),
                "{case}: {told:?}"
            );

            let hints = hints(&mut editor, name, (0, 99));
            assert_eq!(
                lines(hints.clone()),
                [moved(a), moved(b)],
                "{case}: {hints:?}"
            );

            let uri = editor.uri(name);
            let document = json!({ "textDocument": { "uri": uri } });
            let outline = editor.request("textDocument/documentSymbol", document.clone());
            let names: Vec<_> = outline
                .as_array()
                .unwrap()
                .iter()
                .map(|it| it["name"].clone())
                .collect();
            assert_eq!(names, ["\u{e9}a", "b"], "{case}");
            for (symbol, line) in outline.as_array().unwrap().iter().zip([a, b]) {
                assert_eq!(
                    symbol["selectionRange"]["start"]["line"],
                    moved(line),
                    "{case}: {symbol}"
                );
                assert_eq!(symbol["children"][0]["name"], "deny", "{case}: {symbol}");
            }
            let folds = editor.request("textDocument/foldingRange", document);
            let starts = |line: usize| {
                folds
                    .as_array()
                    .unwrap()
                    .iter()
                    .any(|it| it["startLine"] == line)
            };
            assert!(
                starts(moved(a) - head) && starts(moved(b) - head),
                "{case}: {folds}"
            );
            assert_eq!(
                coloured(&mut editor, name, text).join(" "),
                "Stop Stop Bash ( x )",
                "{case}"
            );

            let column = text.lines().nth(moved(a)).unwrap().find('\u{e9}').unwrap();
            let rename = json!({
                "textDocument": { "uri": uri }, "newName": "z",
                "position": { "line": moved(a), "character": column },
            });
            let edit = editor.request("textDocument/rename", rename);
            let edit = &edit["changes"][&uri][0];
            assert_eq!(edit["range"]["start"]["line"], moved(a), "{case}: {edit}");
            assert!(
                edit["newText"].as_str().unwrap().contains('z'),
                "{case}: {edit}"
            );
            if is_broken {
                let run = json!({ "command": "hookwire.run", "arguments": [{ "uri": uri, "hook": "b" }] });
                let refused = editor.refused("workspace/executeCommand", run);
                assert!(
                    refused["message"]
                        .as_str()
                        .unwrap()
                        .starts_with("“b” can't be read: "),
                    "{case}: {refused}"
                );
                editor.execute("hookwire.matches", json!({ "uri": uri, "hook": "b" }));
            }
        }
    }
    // A change elsewhere takes away no more, whatever it is: places are followed change by change.
    editor.open("d.yaml", yaml);
    let mut text = format!("{yaml}  - name: [");
    let change = |editor: &mut Editor, version: i32, line: u32, column: (u32, u32), put: &str| {
        let at = |character: u32| json!({ "line": line, "character": character });
        let change =
            json!({ "range": { "start": at(column.0), "end": at(column.1) }, "text": put });
        let document = json!({ "uri": editor.uri("d.yaml"), "version": version });
        editor.notify(
            "textDocument/didChange",
            json!({ "textDocument": document, "contentChanges": [change] }),
        );
    };
    change(&mut editor, 2, 9, (0, 0), "  - name: [");
    for (version, line, column, put, expected) in [
        (3, 0, (0, 0), "# é😀\n", [2, 5]),
        (4, 4, (10, 11), "longer", [2, 5]),
        (5, 5, (0, 0), "    # one\r\n    # two\n", [2, 7]),
        (6, 0, (0, 0), "\n", [3, 8]),
    ] {
        let start = text
            .split_inclusive('\n')
            .take(line as usize)
            .map(str::len)
            .sum::<usize>();
        text.replace_range(start + column.0 as usize..start + column.1 as usize, put);
        change(&mut editor, version, line, column, put);
        let told = lenses(&mut editor, "d.yaml");
        let found: Vec<usize> = told
            .iter()
            .map(|it| it.split(':').next().unwrap().parse().unwrap())
            .collect();
        assert_eq!(found, expected, "{text}");
        assert_eq!(
            coloured(&mut editor, "d.yaml", &text).join(" "),
            "Stop Stop Bash ( x )",
            "{text}"
        );
    }
    // A name that has changed meanwhile is nobody's, and what never could be read has nothing.
    editor.open("b.yaml", yaml);
    editor.retype(
        "b.yaml",
        2,
        &yaml
            .replace("name: b", "name: b\u{e9}")
            .replace("deny: x", "deny: \"x"),
    );
    let uri = editor.uri("b.yaml");
    let at = json!({ "textDocument": { "uri": uri }, "position": { "line": 4, "character": 10 } });
    let refused = editor.refused("textDocument/prepareRename", at);
    assert_eq!(
        refused["message"],
        "the file has to be mended first: it can't be read"
    );
    editor.open("c.yaml", "hooks: [");
    assert_eq!(lenses(&mut editor, "c.yaml"), Vec::<String>::new());
}
