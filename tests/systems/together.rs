//! Hooks that were written for several systems, in force at once.

use crate::support::*;
use serde_json::{Value, json};

/// Each system's own file, and the word in a command that its hook refuses.
const SYSTEMS: &[(&str, &str, &str)] = &[
    (
        "agentpool.yaml",
        "agents:
  coder:
    model: openai:gpt-4o
    hooks:
      pre_tool_use:
        - type: command
          command: grep -q production && { echo 'not in production' >&2; exit 2; } || true
          matcher: Bash
",
        "production",
    ),
    (
        "article.yaml",
        "dialect: hooks-article
hooks:
  PreToolUse:
    - matcher: Bash
      mode: command
      command: grep -q secrets && { echo 'no secrets' >&2; exit 2; } || true
      condition: Bash(deploy*)
",
        "secrets",
    ),
    (
        "claude-code.yaml",
        "dialect: claude-code
hooks:
  - name: no-force
    on: PreToolUse
    matcher: Bash
    command: grep -q force && { echo 'no force' >&2; exit 2; } || true
",
        "force",
    ),
];

/// The same call, as clients of four vocabularies tell it.
fn calls(command: &str) -> [(&'static str, Value); 4] {
    let input = json!({"command": command});
    [
        (
            "native",
            json!({"event": "PreToolUse", "agent": {"name": "coder"}, "tool": {"name": "Bash", "input": input}}),
        ),
        (
            "agentpool",
            json!({"event": "pre_tool_use", "agent_name": "coder", "tool_name": "Bash", "tool_input": input}),
        ),
        (
            "hooks-article",
            json!({
                "event": "PreToolUse", "agent_type": "coder", "tool_name": "Bash", "tool_input": input,
                "context": {"session_id": "s"},
            }),
        ),
        (
            "claude-code",
            json!({
                "hook_event_name": "PreToolUse", "session_id": "s", "agent_type": "coder", "tool_name": "Bash",
                "tool_input": input,
            }),
        ),
    ]
}

#[test]
fn three_systems_judge_one_call() {
    let files: Vec<_> = SYSTEMS
        .iter()
        .map(|(file, text, _)| (*file, *text))
        .collect();
    let dir = hooks(&files);
    let mut host = TestHost::serve(dir.path());
    let words: Vec<_> = SYSTEMS.iter().map(|(_, _, word)| *word).collect();
    for n in 0..1 << words.len() {
        let refused: Vec<_> = words
            .iter()
            .enumerate()
            .filter(|(at, _)| n & 1 << at != 0)
            .map(|(_, word)| *word)
            .collect();
        for (dialect, payload) in calls(&format!("deploy {}", refused.join(" "))) {
            let told = match dialect {
                "native" => json!({"verdict": host.dispatch(payload)}),
                _ => host.request(
                    "hooks/dispatch",
                    json!({"dialect": dialect, "payload": payload}),
                ),
            };
            let verdict = &told["verdict"];
            let outcomes = verdict["outcomes"].as_array().unwrap();
            let denied = |word: &&str| {
                outcomes.iter().any(|it| {
                    it["decision"] == "deny" && it["reason"].as_str().unwrap().contains(word)
                })
            };
            // In hookwire's own vocabulary a deny ends the chain.
            let denials = refused.iter().filter(|word| denied(word)).count();
            let expected = if dialect == "native" {
                refused.len().min(1)
            } else {
                refused.len()
            };
            assert_eq!(denials, expected, "{dialect} {refused:?}: {told}");
            let decision = if refused.is_empty() { "allow" } else { "deny" };
            assert_eq!(verdict["decision"], decision, "{dialect}: {told}");
            match dialect {
                "agentpool" => assert_eq!(told["reply"]["decision"], decision, "{told}"),
                "hooks-article" => {
                    assert_eq!(told["reply"]["blocked"], !refused.is_empty(), "{told}")
                }
                "claude-code" if refused.is_empty() => {
                    assert_eq!(told["reply"], json!({}), "{told}")
                }
                "claude-code" => {
                    assert_eq!(
                        told["reply"]["hookSpecificOutput"]["permissionDecision"], "deny",
                        "{told}"
                    );
                }
                _ => {}
            }
        }
    }
}

/// Files of vocabularies that have an order of their own, with an event at which their hooks run.
const ORDERS: &[(&str, &str, &str)] = &[
    (
        "instructor",
        r#"{"triggerType": "before_tool_use", "toolCall": {"name": "t", "arguments": {}}, "state": {}}"#,
        "{ name: low, on: before_tool_use, priority: -5, SAYS }, { name: high, on: before_tool_use, priority: 50, SAYS },
         { name: later, on: before_tool_use, SAYS }, { name: other, on: on_stop, priority: 99, SAYS }",
    ),
    (
        "agent-hook-trait",
        r#"{"method": "pre_tool_call", "tool_name": "t", "args": {}}"#,
        "{ name: late, on: pre_tool_call, priority: 200, SAYS }, { name: early, on: pre_tool_call, priority: 10, SAYS }",
    ),
    (
        "agent-hook-trait",
        r#"{"method": "post_tool_call", "tool_name": "t", "args": {}, "result": {"Ok": {"success": true, "output": "o"}}, "elapsed": 0.5}"#,
        "{ name: late, on: post_tool_call, priority: 200, SAYS }, { name: early, on: post_tool_call, priority: 10, SAYS }",
    ),
    (
        "workflow-framework",
        r#"{"Event": "PreToolCall", "ToolName": "t", "ToolArgs": "{}"}"#,
        "{ name: late, matcher: PreToolCall, priority: 9, SAYS }, { name: early, matcher: PreToolCall, priority: 1, SAYS }",
    ),
    (
        "native",
        r#"{"event": "PostToolUse", "tool": {"name": "t", "input": {}}}"#,
        "{ name: late, on: PostToolUse, priority: 200, SAYS }, { name: early, on: PostToolUse, priority: 10, SAYS }",
    ),
];

/// What is shown as the order of an event is the order in which the hooks run.
#[test]
fn hooks_are_shown_in_the_order_in_which_they_run() {
    for (dialect, payload, of_system) in ORDERS {
        let of_system = of_system.replace("SAYS", "script: 'return undefined'");
        let natives = "{ name: one, on: '*', script: 'return undefined' }, { name: two, on: '*', priority: 150, script: 'return undefined' }";
        let dir = hooks(&[
            ("a.yaml", &format!("hooks: [{natives}]")),
            (
                "b.yaml",
                &format!("dialect: {dialect}\nhooks: [{of_system}]"),
            ),
        ]);
        let mut host = TestHost::serve(dir.path());
        host.request(
            "initialize",
            json!({"capabilities": {"hooks": {"dialect": dialect}}}),
        );
        let payload: Value = serde_json::from_str(payload).unwrap();
        let sent = json!({"dialect": dialect, "payload": payload});
        let result = host.request("hooks/dispatch", sent.clone());
        let verdict = result.get("verdict").unwrap_or(&result);
        let names = |list: &Value, key: &str| -> Vec<String> {
            list.as_array()
                .unwrap()
                .iter()
                .map(|it| it[key].as_str().unwrap().to_string())
                .collect()
        };
        let ran = names(&verdict["outcomes"], "hook");
        assert!(ran.len() >= 4, "{dialect}: {verdict}");
        let explained = host.request("hooks/explain", sent)["hooks"].take();
        assert_eq!(
            names(&explained, "hook")[..ran.len()],
            ran,
            "{dialect}: explain"
        );
        let event = ["event", "Event", "triggerType", "method"]
            .iter()
            .find_map(|key| payload.get(key))
            .unwrap();
        let listed = host.request("hooks/list", json!({ "event": event }))["hooks"].take();
        assert_eq!(names(&listed, "name"), ran, "{dialect}: list");
        // All at once, each vocabulary's hooks are among themselves in the order of an event that
        // opens something.
        let mut list = hookwire();
        list.args([
            "check",
            "--list",
            "--isolated",
            "--format",
            "json",
            "--hooks",
        ])
        .arg(dir.path());
        let text = String::from_utf8(list.output().unwrap().stdout).unwrap();
        let at = |name: &str| {
            text.find(&format!("\"name\":\"{name}\""))
                .unwrap_or_else(|| panic!("{name}: {text}"))
        };
        let (first, last) = if *dialect == "instructor" {
            ("high", "low")
        } else {
            ("early", "late")
        };
        assert!(at(first) < at(last), "{dialect}: {text}");
    }
}
