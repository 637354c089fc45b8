//! What the language server does to and around a definition's text: definitions, outlines, renames,
//! actions, tokens. Over the wire of the built binary.

use crate::support::editor::{Editor, abilities, uri};
use serde_json::{Value, json};

const HOOKS: &str = "hooks:\n- name: a\n  on: PreToolUse\n  command: python3 check.py\n";

fn able() -> Value {
    let mut able = abilities();
    able["textDocument"]["documentSymbol"] = json!({ "hierarchicalDocumentSymbolSupport": true });
    able["textDocument"]["definition"] = json!({ "linkSupport": true });
    able["workspace"]["workspaceEdit"] = json!({ "documentChanges": true });
    able
}

fn write(editor: &Editor, name: &str, text: &str) {
    let path = editor.root.path().join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

#[test]
fn definitions_lead_to_code() {
    let mut editor = Editor::start(&[(
        "other.yaml",
        "hooks:\n- name: b\n  on: Stop\n  deny: x\n- name: a\n  on: Stop\n  deny: x\n",
    )]);
    for (name, text) in [
        ("script.js", "return;"),
        (".hookwire/near.js", "return;"),
        (
            ".hookwire/policy.py",
            "import x\n\nasync def review(event):\n    pass\n\nclass Rules:\n    def keep(self, event):\n        pass\n\nrules = Rules()\n",
        ),
        (".hookwire/pack/__init__.py", "def inner():\n    pass\n"),
        ("rooted/mod.py", "x = 1\ndef f():\n    pass\n"),
        (
            ".venv/lib/python3.12/site-packages/third.py",
            "def g(): pass\n",
        ),
        (
            ".hookwire/p.mjs",
            "const a = 1;\nexport async function review(event) {}\nexport default (event) => {};\n",
        ),
        ("check.py", ""),
        (".hookwire/tool.sh", ""),
        ("work/here.py", ""),
        ("base.yaml", ""),
    ] {
        write(&editor, name, text);
    }
    let yaml = |handler: &str| format!("hooks:\n- name: x\n  on: PreToolUse\n  {handler}\n");
    let toml = |handler: &str| format!("[[hooks]]\nname = 'x'\non = 'PreToolUse'\n{handler}\n");
    let jsonc =
        |handler: &str| format!("{{\"hooks\": [\n// one\n{{\"name\": \"x\", {handler}}}]}}");
    let cases = [
        ("a.yaml", yaml("script: {file: ne|ar.js}"), Some(".hookwire/near.js:0")),
        ("a.yaml", yaml("script: {file: |missing.js}"), None),
        ("a.yaml", yaml("callable:\n    python: policy.py:re|view"), Some(".hookwire/policy.py:2")),
        ("a.yaml", yaml("callable: {python: \"policy:Rules.k|eep\"}"), Some(".hookwire/policy.py:6")),
        ("a.yaml", yaml("callable: {python: \"policy:rules.k|eep\"}"), Some(".hookwire/policy.py:6")),
        ("a.yaml", yaml("callable: {python: \"p|ack:inner\"}"), Some(".hookwire/pack/__init__.py:0")),
        ("a.yaml", yaml("callable: {python: \"rooted.m|od:f\"}"), Some("rooted/mod.py:1")),
        ("a.yaml", yaml("callable: {python: \"thi|rd:g\"}"), Some(".venv/lib/python3.12/site-packages/third.py:0")),
        ("a.yaml", yaml("callable: {python: \"no|where:g\"}"), None),
        ("a.yaml", yaml("callable: {node: ./p.mjs#re|view}"), Some(".hookwire/p.mjs:1")),
        ("a.yaml", yaml("callable: {node: ./p|.mjs}"), Some(".hookwire/p.mjs:2")),
        ("a.yaml", yaml("callable: {command: [./to|ol.sh]}"), Some(".hookwire/tool.sh:0")),
        ("a.yaml", yaml("callable: {command: [sh, to|ol.sh]}"), Some(".hookwire/tool.sh:0")),
        ("a.yaml", yaml("command: [python3, ch|eck.py]"), Some("check.py:0")),
        ("a.yaml", yaml("command: [pyt|hon3, check.py]"), None),
        ("a.yaml", yaml("command: [./to|ol.sh]"), Some(".hookwire/tool.sh:0")),
        ("a.yaml", yaml("command: {run: [python3, he|re.py], cwd: ../work}"), Some("work/here.py:0")),
        ("a.yaml", yaml("command: cd x && python3 ch|eck.py --fast"), Some("check.py:0")),
        ("a.yaml", yaml("command: 'python3 \"$HOOKWIRE_PROJECT_DIR\"/ch|eck.py'"), Some("check.py:0")),
        ("a.yaml", yaml("command: |-\n    echo é😀\n    python3 ${CLAUDE_PROJECT_DIR}/ch@eck.py"), Some("check.py:0")),
        ("a.yaml", yaml("mcp: {server: {command: [python3, ch|eck.py]}, tool: t}"), Some("check.py:0")),
        ("a.yaml", yaml("guard: {audit-log: {file: ne|ar.js}}"), Some(".hookwire/near.js:0")),
        ("a.yaml", yaml("deny: ch|eck.py"), None),
        ("a.toml", toml("script = { file = 'ne|ar.js' }"), Some(".hookwire/near.js:0")),
        ("a.toml", toml("[hooks.callable]\nnode = './p|.mjs#review'"), Some(".hookwire/p.mjs:1")),
        ("a.toml", toml("command = ['python3', 'ch|eck.py']"), Some("check.py:0")),
        ("a.toml", toml("command = '''\necho\npython3 ch|eck.py'''"), Some("check.py:0")),
        (
            "a.json",
            jsonc("\"on\": \"Stop\", \"callable\": {\"python\": \"pol|icy:review\"}"),
            Some(".hookwire/policy.py:2"),
        ),
        ("a.json", jsonc("\"command\": \"echo \\\"x\\\"; python3 ch|eck.py\""), Some("check.py:0")),
        ("b.yaml", "INHERIT: ../ba|se.yaml\nagents: {}\n".into(), Some("base.yaml:0")),
        (
            "b.yaml",
            "agents:\n  one:\n    hooks:\n      pre_tool_use:\n      - {type: callable, import_path: pol|icy.review}\n"
                .into(),
            Some(".hookwire/policy.py:2"),
        ),
        (
            "c.yaml",
            "dialect: hooks-article\nhooks:\n- {event: PreToolUse, mode: command, command: python3 ch|eck.py}\n".into(),
            Some("check.py:0"),
        ),
    ];
    for (name, text, expected) in cases {
        // A block scalar has a `|` of its own.
        let text = if text.contains('@') {
            text.replace('|', "\u{1}").replace('@', "|")
        } else {
            text
        };
        let (before, _) = text.split_once('|').unwrap();
        let text = format!("{}{}", before, &text[before.len()..]);
        let position = mark(&mut editor, name, &text);
        let params = json!({ "textDocument": { "uri": editor.uri(name) }, "position": position });
        let found = editor.request("textDocument/definition", params);
        let base = uri(editor.root.path());
        let told = found.get(0).map(|place| {
            let file = place["uri"]
                .as_str()
                .unwrap()
                .trim_start_matches(&base)
                .trim_start_matches('/')
                .to_string();
            format!("{file}:{}", place["range"]["start"]["line"])
        });
        assert_eq!(told.as_deref(), expected, "{text}");
    }
    // A name leads to the same name in other files and in this one.
    let names = editor.at(
        "textDocument/definition",
        "d.yaml",
        "hooks:\n- name: |a\n  on: Stop\n- name: a\n  on: Stop\n",
    );
    let places: Vec<_> = names
        .as_array()
        .unwrap()
        .iter()
        .map(|it| (it["uri"].clone(), it["range"]["start"].clone()))
        .collect();
    let place = |line: u32| json!({ "line": line, "character": 8 });
    assert_eq!(
        places,
        [
            (json!(editor.uri("d.yaml")), place(3)),
            (json!(editor.uri("other.yaml")), place(4))
        ]
    );
    assert_eq!(
        editor.at(
            "textDocument/definition",
            "e.yaml",
            "hooks:\n- name: |alone\n  on: Stop\n"
        ),
        Value::Null
    );
}

/// As [`Editor::mark`], where the text has a `|` of its own, written as U+0001.
fn mark(editor: &mut Editor, name: &str, text: &str) -> Value {
    let position = editor.mark(name, text);
    if text.contains('\u{1}') {
        let text = text.replacen('|', "", 1).replace('\u{1}', "|");
        editor.retype(name, 2, &text);
    }
    position
}

#[test]
fn links_outlines_and_edits_are_what_the_editor_can_take() {
    let mut plain = Editor::start(&[]);
    let mut editor = Editor::with(able(), &[]);
    write(&editor, ".hookwire/s.js", "return;");
    let link = editor.at(
        "textDocument/definition",
        "a.yaml",
        "hooks:\n- name: a\n  on: Stop\n  script: {file: s|.js}\n",
    );
    assert_eq!(link[0]["targetUri"], editor.uri("s.js"));
    assert_eq!(
        link[0]["originSelectionRange"]["start"],
        json!({ "line": 3, "character": 17 })
    );

    let document = |editor: &Editor| json!({ "textDocument": { "uri": editor.uri("a.yaml") } });
    let params = document(&editor);
    let nested = editor.request("textDocument/documentSymbol", params.clone());
    assert_eq!(nested[0]["children"][0]["name"], "script", "{nested}");
    plain.open("a.yaml", HOOKS);
    let params = document(&plain);
    let flat = plain.request("textDocument/documentSymbol", params.clone());
    assert_eq!(
        (&flat[1]["name"], &flat[1]["containerName"]),
        (&json!("command"), &json!("a")),
        "{flat}"
    );
    let folds = plain.request("textDocument/foldingRange", params);
    assert_eq!(folds[0], json!({ "startLine": 0, "endLine": 3 }), "{folds}");

    let params = |editor: &Editor, position: Value| json!({ "textDocument": { "uri": editor.uri("a.yaml") }, "position": position, "newName": "true" });
    let at = json!({ "line": 1, "character": 8 });
    let (here, there) = (params(&plain, at.clone()), params(&editor, at));
    let place = plain.request("textDocument/prepareRename", here.clone());
    let range =
        json!({ "start": { "line": 1, "character": 8 }, "end": { "line": 1, "character": 9 } });
    assert_eq!(place, json!({ "range": range, "placeholder": "a" }));
    let edit = plain.request("textDocument/rename", here);
    let expected = json!([{ "range": range, "newText": "\"true\"" }]);
    assert_eq!(edit["changes"][plain.uri("a.yaml")], expected);
    let edit = editor.request("textDocument/rename", there);
    let expected = json!([{ "textDocument": { "uri": editor.uri("a.yaml"), "version": 1 }, "edits": expected }]);
    assert_eq!(edit["documentChanges"], expected);
    let elsewhere = params(&plain, json!({ "line": 2, "character": 8 }));
    let refused = plain.refused("textDocument/prepareRename", elsewhere);
    assert_eq!(
        refused["message"], "only a hook can be renamed, at the value of its name",
        "{refused}"
    );
}

#[test]
fn actions_come_with_what_they_solve_and_in_the_kinds_asked_for() {
    let mut editor = Editor::with(able(), &[]);
    editor.open("a.yaml", HOOKS);
    let uri = editor.uri("a.yaml");
    let told = editor.receive_where(|message| {
        message["params"]["uri"] == uri && message["params"]["version"] == 1
    });
    let diagnostics = told["params"]["diagnostics"].clone();
    assert_eq!(diagnostics[0]["code"], "no-fail-direction");
    let kinds = &editor.initialized["capabilities"]["codeActionProvider"]["codeActionKinds"];
    assert_eq!(
        kinds,
        &json!([
            "quickfix",
            "refactor.rewrite",
            "source.hookwire.run",
            "source.hookwire.explain"
        ])
    );
    let mut ask_when = |line: u32, character: u32, only: Value, trigger: Value| {
        let at = json!({ "line": line, "character": character });
        let params = json!({
            "textDocument": { "uri": uri }, "range": { "start": at, "end": at },
            "context": { "diagnostics": diagnostics, "only": only, "triggerKind": trigger },
        });
        editor.request("textDocument/codeAction", params)
    };
    let automatic = ask_when(3, 15, Value::Null, json!(2));
    assert_eq!(automatic.as_array().unwrap().len(), 1, "{automatic}");
    let invoked = ask_when(3, 15, Value::Null, json!(1));
    assert_eq!(invoked.as_array().unwrap().len(), 3, "{invoked}");
    let mut ask =
        |line: u32, character: u32, only: Value| ask_when(line, character, only, Value::Null);
    let titles = |actions: &Value| {
        actions
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it["title"].clone())
            .collect::<Vec<_>>()
    };
    let fixes = ask(1, 8, json!(["quickfix"]));
    assert_eq!(
        titles(&fixes),
        [
            "Add “fail: closed”",
            "Add “fail: open”",
            "Set “fail: closed” for the whole file"
        ]
    );
    assert_eq!(fixes[0]["diagnostics"], json!([diagnostics[0]]));
    assert_eq!(fixes[0]["isPreferred"], true);
    assert_eq!(
        fixes[0]["edit"]["documentChanges"][0]["edits"][0]["newText"],
        "\n  fail: closed"
    );
    let rewrite = ask(3, 15, json!(["refactor"]));
    assert_eq!(
        rewrite[0]["edit"]["documentChanges"][0]["edits"][0]["newText"],
        "[python3, check.py]"
    );
    let source = ask(3, 15, json!(["source"]));
    assert_eq!(
        titles(&source),
        [
            "Run a on a sample PreToolUse: starts python3 check.py",
            "Explain a"
        ]
    );
    assert_eq!(source[0]["kind"], "source.hookwire.run");
    assert_eq!(
        titles(&ask(3, 15, json!(["source.hookwire.explain"]))),
        ["Explain a"]
    );
    assert_eq!(source[0]["command"]["command"], "hookwire.run");
    assert_eq!(
        source[1]["command"]["arguments"],
        json!([{ "uri": uri, "hook": "a" }])
    );
    assert_eq!(
        titles(&ask(3, 15, json!(null))),
        [
            "Run the program without a shell",
            "Run a on a sample PreToolUse: starts python3 check.py",
            "Explain a"
        ]
    );
    assert_eq!(
        titles(&ask(0, 0, json!(["source.organizeImports"]))),
        Vec::<Value>::new()
    );
}

#[test]
fn tokens_are_counted_as_the_editor_does() {
    for (encodings, length) in [(json!(["utf-8"]), 17), (json!(["utf-16"]), 14)] {
        let mut able = able();
        able["general"]["positionEncodings"] = encodings;
        let mut editor = Editor::with(able, &[]);
        let legend =
            &editor.initialized["capabilities"]["semanticTokensProvider"]["legend"]["tokenTypes"];
        assert_eq!(
            (&legend[9], &legend[10]),
            (&json!("keyword"), &json!("enumMember")),
            "{legend}"
        );
        editor.open("a.yaml", "hooks:\n- {name: é, on: Stop, if: Bash(é😀*)}\n");
        let params = json!({ "textDocument": { "uri": editor.uri("a.yaml") } });
        let tokens = editor.request("textDocument/semanticTokens/full", params);
        let data: Vec<u64> = serde_json::from_value(tokens["data"].clone()).unwrap();
        let lengths: u64 = data.chunks(5).map(|token| token[2]).sum();
        assert_eq!((data[0], data[3], lengths), (1, 10, length), "{data:?}");
    }
}
