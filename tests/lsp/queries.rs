//! The language server, over the wire of the built binary.

use crate::support::editor::{Editor, abilities};
use serde_json::{Value, json};

const BROKEN: &str = "hooks:\n  - name: é😀\n    on: PreTolUse\n    deny: no\n";

#[test]
fn diagnostics_come_as_it_is_typed() {
    let mut editor = Editor::start(&[]);
    let offered = &editor.initialized["capabilities"];
    assert_eq!(offered["positionEncoding"], "utf-8");
    let queries: Vec<_> = offered
        .as_object()
        .unwrap()
        .keys()
        .filter_map(|key| key.strip_suffix("Provider"))
        .collect();
    assert_eq!(
        queries,
        [
            "codeAction",
            "codeLens",
            "completion",
            "definition",
            "documentSymbol",
            "executeCommand",
            "foldingRange",
            "hover",
            "inlayHint",
            "rename",
            "semanticTokens"
        ]
    );
    let unknown = "2:8-2:17 unknown-event: unknown event “PreTolUse”\ndid you mean “PreToolUse”?";
    for (name, text, expected) in [
        ("a.yaml", BROKEN, vec![unknown]),
        (
            "b.toml",
            "[[hooks]]\nname = 'a'\non = 'Stop'\ndney = 'no'\n",
            vec!["3:0-3:4 unknown-field: unknown field “dney”\ndid you mean “deny”?"],
        ),
        (
            "c.json",
            "{\"hooks\": [{\"name\": \"a\", \"on\": \"Stop\", \"deny\": 3}]}",
            vec![
                "0:47-0:48 wrong-type: “deny”: expected a string, found a number; quote it if it is meant as text\nwrite the reason as a text: “deny: Not here.”",
            ],
        ),
        (
            "d.yaml",
            "hooks: [",
            vec!["0:7-0:8 syntax: the “[” isn't closed"],
        ),
        ("e.yaml", "hooks:\n- {name: a, on: Stop, deny: x}\n", vec![]),
    ] {
        editor.open(name, text);
        let told = editor.diagnostics(name, 1);
        assert_eq!(told, expected, "{name}");
    }
    // An edit in the middle, incrementally; the columns count bytes.
    let change = |text: &str, from: (u32, u32), to: (u32, u32)| {
        json!({
            "range": { "start": { "line": from.0, "character": from.1 }, "end": { "line": to.0, "character": to.1 } },
            "text": text,
        })
    };
    let uri = editor.uri("a.yaml");
    let edits = [change("o", (2, 12), (2, 12)), change("y", (1, 10), (1, 16))];
    let params = json!({ "textDocument": { "uri": uri, "version": 2 }, "contentChanges": edits });
    editor.notify("textDocument/didChange", params);
    assert_eq!(editor.diagnostics("a.yaml", 2), Vec::<String>::new());
    // What comes late is not applied to a later text.
    editor.retype("a.yaml", 1, "nonsense");
    editor.retype("a.yaml", 3, BROKEN);
    assert_eq!(editor.diagnostics("a.yaml", 3), [unknown]);
}

#[test]
fn columns_are_counted_as_the_editor_does() {
    for (encodings, expected) in [
        (json!(["utf-16"]), "1:19-1:21"),
        (json!(["utf-8", "utf-16"]), "1:22-1:24"),
        (json!(null), "1:19-1:21"),
    ] {
        let mut capabilities = abilities();
        capabilities["general"]["positionEncodings"] = encodings.clone();
        let mut editor = Editor::with(capabilities, &[]);
        editor.open("a.yaml", "hooks:\n- {name: é😀, on: [no], deny: x}\n");
        let told = editor.diagnostics("a.yaml", 1);
        assert!(told[0].starts_with(expected), "{encodings}: {told:?}");
    }
}

#[test]
fn only_what_may_be_definitions_is_looked_at() {
    let mut editor = Editor::start(&[("closed.yaml", "hooks: [{name: a}]")]);
    // What is wrong with a file that nobody has open is told too.
    let closed = editor.uri("closed.yaml");
    let told = editor.receive_where(|message| message["params"]["uri"] == closed);
    assert_eq!(
        told["params"]["diagnostics"][0]["code"], "missing-on",
        "{told}"
    );
    editor.open("../compose.yaml", "services: {}");
    editor.open("a.yaml", "hooks:\n- {name: a, on: Stop, deny: x}\n");
    let told = editor.diagnostics("a.yaml", 1);
    assert!(told.is_empty(), "{told:?}");
    assert_eq!(
        editor.at("textDocument/hover", "../other.yaml", "a|: b"),
        Value::Null
    );
}

/// A monorepo is opened at its top, a project by one of its directories; folders come and go.
#[test]
fn a_project_is_found_wherever_the_editor_is() {
    let mut capabilities = abilities();
    capabilities["experimental"] = json!({ "hookwire": { "live": true } });
    let mut editor = Editor::with(capabilities, &[]);
    let root = editor.root.path().to_path_buf();
    let hooks = |n: usize| format!("hooks:\n- {{name: a{n}, on: Stop, deny: x}}\n");
    for (n, project) in ["inner", "other"].iter().enumerate() {
        let home = root.join(project).join(".hookwire");
        std::fs::create_dir_all(&home).unwrap();
        std::fs::write(home.join("hooks.yaml"), hooks(n)).unwrap();
    }
    std::fs::create_dir(root.join("other/src")).unwrap();
    let known = |editor: &mut Editor| {
        let hooks = editor.execute("hookwire.hooks", json!({}));
        let roots = hooks["roots"].as_array().unwrap().iter();
        let count = |it: &Value| {
            (
                it["root"].as_str().unwrap().to_string(),
                it["hooks"].as_array().unwrap().len(),
            )
        };
        roots
            .map(count)
            .map(|(path, n)| (path.replace(root.to_str().unwrap(), ""), n))
            .collect::<Vec<_>>()
    };
    let top = (String::new(), 0);
    assert_eq!(known(&mut editor), std::slice::from_ref(&top));
    editor.open("../inner/.hookwire/hooks.yaml", "");
    editor.open("../../outside/.hookwire/hooks.yaml", "");
    let uri = crate::support::editor::uri(&root.join("inner/.hookwire/hooks.yaml"));
    let text = json!({ "uri": uri, "languageId": "yaml", "version": 1, "text": hooks(0) });
    editor.notify("textDocument/didOpen", json!({ "textDocument": text }));
    let inner = ("/inner".to_string(), 1);
    assert_eq!(known(&mut editor), [top.clone(), inner.clone()]);
    let folder =
        |path: &str| json!([{ "uri": crate::support::editor::uri(&root.join(path)), "name": "x" }]);
    let change =
        |added: Value, removed: Value| json!({ "event": { "added": added, "removed": removed } });
    editor.notify(
        "workspace/didChangeWorkspaceFolders",
        change(folder("other/src"), json!([])),
    );
    let src = ("/other/src".to_string(), 0);
    assert_eq!(
        known(&mut editor),
        [top.clone(), inner.clone(), src, ("/other".to_string(), 1)]
    );
    editor.notify(
        "workspace/didChangeWorkspaceFolders",
        change(json!([]), folder("other/src")),
    );
    assert_eq!(known(&mut editor), [top, inner]);
}

/// Another version of a file is not the file.
#[test]
fn only_files_are_definitions() {
    let mut editor = Editor::start(&[("a.yaml", "hooks:\n- {name: a, on: Stop, deny: on disk}\n")]);
    let (uri, shown) = (
        editor.uri("a.yaml"),
        "hooks:\n- {name: a, on: Stop, command: touch never}\n",
    );
    let text = json!({ "uri": uri.replace("file:", "git:"), "languageId": "yaml", "version": 1, "text": shown });
    editor.notify("textDocument/didOpen", json!({ "textDocument": text }));
    let ran = editor.execute("hookwire.run", json!({ "uri": uri, "hook": "a" }));
    assert_eq!(crate::support::brief(&ran["verdict"]), "deny by a: on disk");
}

#[test]
fn who_is_no_editor_is_told_so() {
    let mut host = crate::support::TestHost::serve(crate::support::no_hooks());
    let error = host.refused("textDocument/hover", json!({}));
    assert_eq!(error["code"], -32600, "{error}");
}
