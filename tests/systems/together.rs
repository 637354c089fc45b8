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
    let files: Vec<_> = SYSTEMS.iter().map(|(file, text, _)| (*file, *text)).collect();
    let dir = hooks(&files);
    let mut host = TestHost::serve(dir.path());
    let words: Vec<_> = SYSTEMS.iter().map(|(_, _, word)| *word).collect();
    for n in 0..1 << words.len() {
        let refused: Vec<_> =
            words.iter().enumerate().filter(|(at, _)| n & 1 << at != 0).map(|(_, word)| *word).collect();
        for (dialect, payload) in calls(&format!("deploy {}", refused.join(" "))) {
            let told = match dialect {
                "native" => json!({"verdict": host.dispatch(payload)}),
                _ => host.request("hooks/dispatch", json!({"dialect": dialect, "payload": payload})),
            };
            let verdict = &told["verdict"];
            let outcomes = verdict["outcomes"].as_array().unwrap();
            let denied = |word: &&str| {
                outcomes.iter().any(|it| it["decision"] == "deny" && it["reason"].as_str().unwrap().contains(word))
            };
            // In hookwire's own vocabulary a deny ends the chain.
            let denials = refused.iter().filter(|word| denied(word)).count();
            let expected = if dialect == "native" { refused.len().min(1) } else { refused.len() };
            assert_eq!(denials, expected, "{dialect} {refused:?}: {told}");
            let decision = if refused.is_empty() { "allow" } else { "deny" };
            assert_eq!(verdict["decision"], decision, "{dialect}: {told}");
            match dialect {
                "agentpool" => assert_eq!(told["reply"]["decision"], decision, "{told}"),
                "hooks-article" => assert_eq!(told["reply"]["blocked"], !refused.is_empty(), "{told}"),
                "claude-code" if refused.is_empty() => assert_eq!(told["reply"], json!({}), "{told}"),
                "claude-code" => {
                    assert_eq!(told["reply"]["hookSpecificOutput"]["permissionDecision"], "deny", "{told}");
                }
                _ => {}
            }
        }
    }
}
