//! `hookwire import AGENT`: an agent's permissions become rules, and the proof says where they
//! decide otherwise.

use super::installed::Project;
use hookwire_testing::rows;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::fs;

/// An agent's file, and what is said of it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    agent: String,
    file: String,
    /// A text, or JSON.
    settings: Value,
    /// Each permission: its rules, its `when`, and after `# ` what is said of it.
    becomes: Value,
    /// How many examples are judged.
    examples: usize,
    /// What is decided otherwise: `stricter`, `same act` or `looser`, the call, both decisions.
    differs: Value,
    code: i32,
}

/// A project with one file of an agent's.
fn project(file: &str, text: &str) -> Project {
    let project = Project::new();
    fs::remove_dir_all(project.root().join(".hookwire")).unwrap();
    let path = project.root().join(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    project
}

/// What `import` says, a line a value, and its exit code.
fn import(project: &Project, args: &[&str]) -> (Vec<Value>, Option<i32>, String) {
    let output = project.run(&[&["import", "--format", "json"], args].concat(), "");
    let lines = String::from_utf8(output.stdout).unwrap();
    let said = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    let stderr = String::from_utf8(output.stderr).unwrap();
    (said.collect(), output.status.code(), stderr)
}

fn becomes(said: &[Value]) -> Value {
    let permissions = said.iter().filter(|row| row.get("rules").is_some());
    let told = permissions.map(|row| {
        let decision = row["decision"].as_str().unwrap_or_default();
        let text = row["permission"].as_str().unwrap();
        let texts = |name: &str| -> Vec<String> {
            let all = row[name].as_array().unwrap().iter();
            all.map(|it| it.as_str().unwrap().to_string()).collect()
        };
        let when = row["when"].as_str().map(|when| format!("when {when}"));
        let notes = texts("notes").into_iter().map(|note| format!("# {note}"));
        let all: Vec<String> = texts("rules")
            .into_iter()
            .chain(when)
            .chain(notes)
            .collect();
        (format!("{decision} {text}").trim().to_string(), json!(all))
    });
    told.collect::<Map<_, _>>().into()
}

fn differs(proofs: &[&Value]) -> Value {
    let differing = proofs.iter().filter(|proof| proof["differs"].is_string());
    let told = differing.map(|proof| {
        let (_, call) = proof["proof"].as_object().unwrap().iter().next().unwrap();
        let call = rows::written_value(call);
        let text = |name: &str| proof[name].as_str().unwrap();
        let (differs, agent, here) = (text("differs"), text("agent"), text("here"));
        format!("{differs}: {call}: {agent}, {here}")
    });
    json!(told.collect::<BTreeSet<_>>())
}

/// What becomes of each agent's rules, what the proof says, and that the files that are written
/// hold what they promise.
#[test]
fn permissions_become_rules_that_are_proven() {
    rows::compare("permissions/rows.jsonl", |row: Row| {
        let text = match &row.settings {
            Value::String(text) => text.clone(),
            settings => settings.to_string(),
        };
        let project = project(&row.file, &text);
        let (said, code, stderr) = import(&project, &[&row.agent]);
        let proofs: Vec<&Value> = said.iter().filter(|it| it.get("proof").is_some()).collect();
        let found = json!({
            "becomes": becomes(&said), "examples": proofs.len(), "differs": differs(&proofs), "code": code,
        });
        let expected = json!({
            "becomes": row.becomes, "examples": row.examples, "differs": row.differs, "code": row.code,
        });
        if row.examples > 0 {
            let tested = project.run(&["test"], "");
            assert!(tested.status.success(), "{text}: {tested:?}");
            let checked = project.run(&["check", "--live"], "");
            assert!(checked.status.success(), "{text}: {checked:?}");
        }
        (
            found,
            if stderr.is_empty() {
                expected
            } else {
                json!(stderr)
            },
        )
    });
}

/// Files of the user's own, those of a project beside hooks, and files that can't be read.
#[test]
fn every_layer_is_read_and_none_in_silence() {
    let settings = r#"{"permissions": {"deny": ["Read(/notes/**)", "Bash(rm -rf:*)"]},
        "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}}"#;
    let project = project(".claude/settings.json", settings);
    let home = project.0.path().join("home");
    fs::create_dir_all(home.join(".claude")).unwrap();
    fs::write(home.join(".claude/settings.json"), settings).unwrap();
    // A path from `/` counts from where the settings are the user's.
    for (args, rule) in [
        (&["claude-code"][..], "Read(./notes/**)"),
        (&["claude-code", "--user"], "Read(~/.claude/notes/**)"),
    ] {
        let (said, code, stderr) = import(&project, args);
        assert_eq!(code, Some(0), "{said:?} {stderr}");
        let rules: Vec<&Value> = said.iter().filter_map(|it| it["rules"].get(0)).collect();
        assert_eq!(rules, [rule, "Bash(rm -rf *)"], "{said:?}");
        let written = said.iter().filter(|it| it["written"] == true).count();
        assert_eq!(written, 3, "{said:?}");
        // Again: nothing is written over what is there.
        let (said, code, _) = import(&project, args);
        assert_eq!(code, Some(0), "{said:?}");
        assert!(said.iter().all(|it| it["written"] != true), "{said:?}");
    }
    // What was carried over decides, once somebody has trusted it.
    project.run(&["trust", "--yes"], "");
    let judged = project.run(&["explain", "--run", "--bash", "cd /x && rm -rf y"], "");
    let told = String::from_utf8(judged.stdout).unwrap();
    assert!(told.starts_with("deny by claude-code-deny"), "{told}");
    for (file, text, agent) in [
        (".claude/settings.json", "{", "claude-code"),
        (".codex/rules/a.rules", "\u{0}", "codex"),
        (".gemini/policies/a.toml", "[[rule", "gemini"),
        ("opencode.json", "{\"permission\": [", "opencode"),
    ] {
        let project = self::project(file, text);
        let (said, code, stderr) = import(&project, &[agent]);
        let is_told = stderr.contains(file) || said.iter().any(|it| it["carried"] == false);
        assert!(code != Some(0) && is_told, "{file}: {said:?} {stderr}");
    }
}
