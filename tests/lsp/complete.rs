//! Completion and hover, over the wire of the built binary.

use crate::support::editor::{Editor, abilities};
use serde_json::{Value, json};

fn labels(items: &Value) -> Vec<&str> {
    items
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["label"].as_str().unwrap())
        .collect()
}

#[test]
fn half_typed_files_are_completed() {
    let mut editor = Editor::start(&[]);
    for (name, text, first) in [
        (
            "a.yaml",
            "hooks:\n  - name: a\n    on: Pre|\n",
            "PreToolUse",
        ),
        (
            "b.yaml",
            "hooks:\n  - name: [\n  - name: b\n    ma|\n",
            "on",
        ),
        ("c.toml", "[[hooks]]\nname = 'a'\nif = \"|", "Bash"),
        (
            "d.json",
            "{\"hooks\": [{\"name\": \"a\", \"guard\": \"|",
            "step-limit",
        ),
        (
            "e.yaml",
            "hooks:\n  - name: a\n    on: PreToolUse\n    when: |",
            "tool",
        ),
    ] {
        let items = editor.at("textDocument/completion", name, text);
        assert_eq!(labels(&items)[0], first, "{text}");
    }
}

#[test]
fn edits_are_where_the_editor_counts() {
    for (encodings, column) in [(json!(["utf-8"]), 30), (json!(["utf-16"]), 26)] {
        let mut capabilities = abilities();
        capabilities["general"]["positionEncodings"] = encodings;
        capabilities["textDocument"]["completion"]["completionItem"]["snippetSupport"] =
            json!(false);
        let mut editor = Editor::with(capabilities, &[]);
        let line = "- {name: é😀, deny: é, fail: c}";
        editor.open("a.yaml", &format!("hooks:\n{line}\n"));
        let params = json!({
            "textDocument": { "uri": editor.uri("a.yaml") },
            "position": { "line": 1, "character": column + 4 },
        });
        let items = editor.request("textDocument/completion", params);
        let closed = items
            .as_array()
            .unwrap()
            .iter()
            .find(|it| it["label"] == "closed")
            .expect("it is offered");
        let range = &closed["textEdit"]["range"];
        assert_eq!(range["end"]["character"], column + 4, "{closed}");
        assert_eq!(closed["textEdit"]["newText"], "closed");
        assert!(
            closed["documentation"]["value"]
                .as_str()
                .unwrap()
                .contains("Denies a gate")
        );
    }
}

/// Editors that don't say that they indent further lines get them indented.
#[test]
fn further_lines_are_where_they_belong() {
    for (modes, mode, expected) in [
        (json!(null), json!(null), "http:\n      url: $0"),
        (
            json!({ "valueSet": [1] }),
            json!(null),
            "http:\n      url: $0",
        ),
        (json!({ "valueSet": [1, 2] }), json!(2), "http:\n  url: $0"),
    ] {
        let mut capabilities = abilities();
        if !modes.is_null() {
            capabilities["textDocument"]["completion"]["completionItem"]["insertTextModeSupport"] =
                modes;
        }
        let mut editor = Editor::with(capabilities, &[]);
        let items = editor.at(
            "textDocument/completion",
            "a.yaml",
            "hooks:\n  - name: a\n    ht|\n",
        );
        let http = items
            .as_array()
            .unwrap()
            .iter()
            .find(|it| it["label"] == "http")
            .expect("it is offered");
        assert_eq!(
            (&http["textEdit"]["newText"], &http["insertTextMode"]),
            (&json!(expected), &mode)
        );
    }
}

#[test]
fn what_is_written_is_explained() {
    let mut editor = Editor::start(&[]);
    let text = "hooks:\n- name: a\n  on: Pre|ToolUse\n  deny: x\n";
    let hover = editor.at("textDocument/hover", "a.yaml", text);
    assert_eq!(
        hover["range"],
        json!({ "start": { "line": 2, "character": 6 }, "end": { "line": 2, "character": 16 } })
    );
    let about = hover["contents"]["value"].as_str().unwrap();
    assert!(
        about.contains("before a tool runs") && about.contains("`pre_tool_use`"),
        "{about}"
    );
}
