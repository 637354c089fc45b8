//! Definition files: that the formats are equal, and that the schema and the reader are.

use super::check::check;
use super::layer_dir::{Kept, LayerDir};
use super::load::{Loader, Look};
use super::written::RawHook;
use crate::hook::Hook;
use crate::host::{Host, HostOptions};
use hookwire_base::support::file::signature;
use hookwire_base::support::nearest::closest;
use hookwire_base::syntax::formats::{self, Format};
use hookwire_base::syntax::source::Layer;
use hookwire_handlers::handlers::{KINDS, Means, guards};
use hookwire_rules::agents::AGENTS;
use serde_json::{Value, json};
use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::path::Path;
use std::sync::Arc;

/// A directory with these definition files.
fn hooks(files: &[(&str, &str)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    dir
}

fn load(dir: &Path) -> Arc<Host> {
    Host::new(HostOptions {
        root: dir.into(),
        hooks: vec![dir.into()],
        ..HostOptions::default()
    })
}

#[test]
fn what_a_person_is_told_to_write_for_a_guard_is_one() {
    for row in guards::GUARDS {
        let text = format!(
            "hooks:\n  - name: a\n    fail: closed\n    {}\n",
            row.written()
        );
        assert_eq!(
            check("a.yaml", &text, Layer::Hooks, None).diagnostics,
            [],
            "{text}"
        );
    }
}

/// The file as one model, and the hooks it makes but for where they are written.
fn meaning(name: &str, text: &str) -> (Value, Vec<Value>) {
    let dir = hooks(&[(name, text)]);
    let host = load(dir.path());
    assert_eq!(host.published().diagnostics.iter().next(), None, "{name}");
    let tree = formats::parse(text, Format::from_path(Path::new(name)).unwrap()).unwrap();
    let hook = |hook: &Arc<Hook>| {
        json!({
            "name": hook.name,
            "description": hook.description,
            "on": hook.on.names(),
            "handler": hook.handler.key(),
            "dialect": hook.contract.dialect,
            "priority": hook.priority,
            "fail": [hook.fail, hook.default_fail],
            "timeout": hook.timeout,
            "flags": [hook.enabled, hook.observe, hook.detached, hook.parallel, hook.once],
            "tags": hook.tags,
            "fingerprint": hook.fingerprint,
        })
    };
    (
        tree.to_json(),
        host.hooks().hooks.iter().map(hook).collect(),
    )
}

#[test]
fn the_formats_mean_the_same() {
    let yaml = r#"
defaults: { timeout: 5s, fail: closed }
hooks:
  - name: one
    description: "two\nlines"
    on: [PreToolUse, PostToolUse]
    matcher: Write|Edit
    if: Write(src/**)
    when: has(tool.input.x)
    priority: -3
    timeout: 1.5
    fail: open
    parallel: true
    tags: [a, b]
    command: { run: [echo, "${tool.name}"], env: { A: "1" } }
  - { name: two, on: "*", agents: "a*", deny: No., dialect: claude-code }
"#;
    let toml = r#"
defaults = { timeout = "5s", fail = "closed" }

[[hooks]]
name = "one"
description = """
two
lines"""
on = ["PreToolUse", "PostToolUse"]
matcher = 'Write|Edit'
if = "Write(src/**)"
when = "has(tool.input.x)"
priority = -3
timeout = 1.5
fail = "open"
parallel = true
tags = ["a", "b"]

[hooks.command]
run = ["echo", "${tool.name}"]
env.A = "1"

[[hooks]]
name = "two"
on = "*"
agents = "a*"
deny = "No."
dialect = "claude-code"
"#;
    let json = r#"{
  /* Of the file. */
  "defaults": {"timeout": "5s", "fail": "closed"},
  "hooks": [
    {
      "name": "one", "description": "two\nlines", "on": ["PreToolUse", "PostToolUse"], "matcher": "Write|Edit",
      "if": "Write(src/**)", "when": "has(tool.input.x)", "priority": -3, "timeout": 1.5, "fail": "open",
      "parallel": true, "tags": ["a", "b"], "command": {"run": ["echo", "${tool.name}"], "env": {"A": "1"}},
    },
    {"name": "two", "on": "*", "agents": "a*", "deny": "No.", "dialect": "claude-code"}, // The last.
  ],
}"#;
    let expected = meaning("a.yaml", yaml);
    assert_eq!(expected.1.len(), 2);
    for (name, text) in [
        ("a.yml", yaml),
        ("a.toml", toml),
        ("a.json", json),
        ("a.JSON", json),
    ] {
        assert_eq!(meaning(name, text), expected, "{name}");
    }
    assert_ne!(meaning("a.yaml", &yaml.replace("-3", "3")), expected);
}

#[test]
fn the_schema_and_the_reader_know_the_same_fields() {
    let schema = crate::definitions::schema::definitions();
    let keys = |value: &Value| {
        value
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect::<BTreeSet<_>>()
    };
    let hook = keys(&schema["$defs"]["Hook"]["properties"]);
    // `sample` is a kind of tests alone.
    let kinds = KINDS
        .iter()
        .map(|kind| kind.key)
        .filter(|key| *key != "sample");
    let expected = RawHook::KEYS.iter().copied().chain(kinds).map(String::from);
    assert_eq!(hook, expected.collect());
    // What looks like the member that names an event is taken for a slip of it.
    let files = AGENTS.iter().filter_map(|agent| agent.file());
    for member in files.filter_map(|file| file.event.as_deref()) {
        for key in RawHook::KEYS {
            assert_eq!(closest(key, [member]), None, "{key}");
        }
    }
    let unknown = |text: Value| {
        check("a.json", &text.to_string(), Layer::Hooks, None)
            .diagnostics
            .iter()
            .any(|it| it.code == "unknown-field")
    };
    for field in hook {
        assert!(!unknown(json!({"hooks": [{ &*field: null }]})), "{field}");
    }
    for field in keys(&schema["properties"]) {
        assert!(!unknown(json!({ &*field: null })), "{field}");
    }
    for field in keys(&schema["$defs"]["Defaults"]["properties"]) {
        assert!(!unknown(json!({"defaults": { &*field: null }})), "{field}");
    }
    for place in [
        json!({"x": 1}),
        json!({"defaults": {"x": 1}}),
        json!({"hooks": [{"x": 1}]}),
    ] {
        assert!(unknown(place));
    }
}

/// A change of two files, of which a wait for quiet has seen the first one only.
#[test]
fn half_a_change_waits_for_the_rest_once() {
    let text = |reason: &str| {
        format!(
            "hooks: [{{ name: guard-{}, on: PreToolUse, deny: {reason} }}]",
            &reason[..1]
        )
    };
    let dir = hooks(&[("a.yaml", &text("a0")), ("b.yaml", &text("b0"))]);
    let (a, b) = (dir.path().join("a.yaml"), dir.path().join("b.yaml"));
    let layer_dir = LayerDir {
        layer: Layer::Hooks,
        path: dir.path().into(),
        kept: Kept::AsItIs,
    };
    let mut loader = Loader::new(vec![layer_dir], Means::default());
    let mut load = |look: Look<'_>| {
        let loaded = loader.load(look);
        let reasons = loaded
            .hooks
            .hooks
            .iter()
            .filter_map(|hook| hook.handler.fixed());
        let reasons: Vec<_> = reasons.map(|(_, reason)| reason.to_string()).collect();
        (reasons.join(" "), loaded.unsettled)
    };
    assert_eq!(load(Look::Now), ("a0 b0".into(), false));
    fs::write(&a, text("a1")).unwrap();
    let seen = signature(&a).unwrap().changed;
    // Until the clock of the file system has moved on.
    while signature(&b).unwrap().changed <= seen {
        fs::write(&b, text("b1")).unwrap();
    }
    let open = HashSet::new();
    let early = Look::Holding {
        open: &open,
        quiet_since: Some(seen),
    };
    assert_eq!(load(early), ("a0 b0".into(), true));
    assert_eq!(
        load(early),
        ("a1 b0".into(), true),
        "the other one may never rest"
    );
    assert_eq!(
        load(Look::Holding {
            open: &open,
            quiet_since: None
        }),
        ("a1 b1".into(), false)
    );
}
