//! What the language server tells of names that several hooks have, and what a rename of one is
//! refused for.

use crate::support::editor::{Editor, abilities};
use serde_json::{Value, json};

const OTHER: &str = "# Below.\nhooks:\n- name: a\n  on: Stop\n  deny: x\n";
const TWICE: &str = "hooks:\n- name: a\n  on: Stop\n  deny: x\n- name: b\n  on: Stop\n  deny: x\n- name: b\n  on: Stop\n  deny: x\n- name: steps\n  guard: step-limit\n  fail: open\n";

fn able() -> Value {
    let mut able = abilities();
    able["textDocument"]["publishDiagnostics"] = json!({ "relatedInformation": true });
    able
}

fn told(editor: &mut Editor, name: &str, version: Value) -> Vec<Value> {
    let uri = editor.uri(name);
    let is_it = |message: &Value| {
        let params = &message["params"];
        message["method"] == "textDocument/publishDiagnostics"
            && params["uri"] == uri
            && params["version"] == version
            && params["diagnostics"]
                .as_array()
                .is_some_and(|it| !it.is_empty())
    };
    let told = editor.receive_where(is_it);
    told["params"]["diagnostics"].as_array().unwrap().clone()
}

#[test]
fn a_name_that_others_have_leads_to_them() {
    let help = "give one of them another name";
    for (capabilities, is_able) in [(able(), true), (abilities(), false)] {
        let mut editor = Editor::with(capabilities, &[("other.yaml", OTHER)]);
        editor.open("a.yaml", TWICE);
        let diagnostics = told(&mut editor, "a.yaml", json!(1));
        let place = |name: &str| {
            if is_able {
                format!(".hookwire/{name}")
            } else {
                editor.path(name).display().to_string()
            }
        };
        for (at, (name, file, line), message_line) in
            [(0, ("b", "a.yaml", 4), 5), (1, ("a", "other.yaml", 2), 3)]
        {
            let diagnostic = &diagnostics[at];
            let expected = format!(
                "“{name}” is also the name of the hook at {}:{message_line}; both run\n{help}",
                place(file)
            );
            assert_eq!(diagnostic["message"], expected);
            let related = json!([{
                "location": { "uri": editor.uri(file), "range": {
                    "start": { "line": line, "character": 8 }, "end": { "line": line, "character": 9 },
                } },
                "message": format!("“{name}” is the name of this hook too"),
            }]);
            assert_eq!(
                diagnostic["relatedInformation"],
                if is_able { related } else { Value::Null }
            );
        }
        // The name of another file's hook can be mended too.
        let params = json!({
            "textDocument": { "uri": editor.uri("a.yaml") }, "range": diagnostics[1]["range"],
            "context": { "diagnostics": diagnostics, "only": ["quickfix"] },
        });
        let fixes = editor.request("textDocument/codeAction", params);
        assert_eq!(fixes[0]["title"], "Call it “a-2”", "{fixes}");
        assert_eq!(fixes[0]["diagnostics"], json!([diagnostics[1]]));
    }
}

/// What this machine hasn't got is told of saved texts; what another host may be given is a hint.
#[test]
fn what_a_saved_text_needs_and_isnt_there_is_told() {
    let text = "hooks:\n- { name: a, on: PreToolUse, fail: open, command: [nothing-like-it] }\n- { name: b, on: PreToolUse, fail: open, http: { url: 'http://localhost:9' } }\n";
    let mut editor = Editor::with(able(), &[("a.yaml", text)]);
    editor.open("a.yaml", text);
    let said = |diagnostics: Vec<Value>| {
        diagnostics
            .iter()
            .map(|it| json!([it["code"], it["severity"]]))
            .collect()
    };
    let said: Vec<Value> = said(told(&mut editor, "a.yaml", json!(1)));
    assert_eq!(json!(said), json!([["no-program", 2], ["unreachable", 4]]));
    // While it is typed, nothing is looked for.
    editor.retype(
        "a.yaml",
        2,
        &text.replace("nothing-like-it", "nothing-else"),
    );
    assert_eq!(editor.diagnostics("a.yaml", 2), Vec::<String>::new());
    std::fs::write(
        editor.path("a.yaml"),
        text.replace("nothing-like-it", "nothing-else"),
    )
    .unwrap();
    assert_eq!(
        told(&mut editor, "a.yaml", json!(2))[0]["code"],
        "no-program"
    );
}

#[test]
fn a_closed_file_leads_to_others_too() {
    let mut editor = Editor::with(able(), &[("a.yaml", OTHER), ("b.yaml", OTHER)]);
    let diagnostics = told(&mut editor, "b.yaml", Value::Null);
    assert_eq!(
        diagnostics[0]["relatedInformation"][0]["location"]["uri"],
        editor.uri("a.yaml")
    );
}

#[test]
fn a_rename_takes_no_name_of_another_hook() {
    let mut editor = Editor::start(&[(
        "other.yaml",
        OTHER.replace("name: a", "name: taken").as_str(),
    )]);
    editor.open("a.yaml", TWICE);
    let params = |editor: &Editor, line: u32, name: &str| {
        json!({
            "textDocument": { "uri": editor.uri("a.yaml") },
            "position": { "line": line, "character": 8 }, "newName": name,
        })
    };
    for (name, place) in [
        ("b", ".hookwire/a.yaml:5"),
        ("taken", ".hookwire/other.yaml:3"),
    ] {
        let params = params(&editor, 1, name);
        let refused = editor.refused("textDocument/rename", params);
        assert_eq!(
            refused["message"],
            format!("another hook has this name already, at {place}"),
            "{refused}"
        );
    }
    let edit = params(&editor, 1, "free");
    assert!(editor.request("textDocument/rename", edit)["changes"].is_object());
    // What it has counted is under the old name.
    let edit = params(&editor, 10, "free");
    assert!(editor.request("textDocument/rename", edit)["changes"].is_object());
    let shown = editor.receive_where(|message| message["method"] == "window/showMessage");
    assert_eq!(
        shown["params"],
        json!({ "type": 3, "message": "free counts under its new name from zero" })
    );
}
