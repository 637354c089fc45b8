//! Claude Code's words, held to recordings of the client itself (2.1.329, headless): its events
//! as hooks got them, and what the client did with what hooks answered. The recordings are in
//! tests/data/claude-code; `session.jsonl` is every event in order of scenario and sequence.

use crate::support::*;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

fn data(name: &str) -> String {
    std::fs::read_to_string(repo("tests/data/claude-code").join(name)).unwrap()
}

fn lines(name: &str) -> Vec<Value> {
    data(name)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// The first recorded payload of an event.
fn payload(event: &str) -> Value {
    let mut recorded = lines("session.jsonl")
        .into_iter()
        .map(|mut it| it["stdin"].take());
    recorded.find(|it| it["hook_event_name"] == event).unwrap()
}

// ------------------------------------------------------------------------------- the session

fn replay(definitions: &str) -> Vec<Value> {
    let dir = hooks(&[("guard.yaml", definitions)]);
    let output = hookwire()
        .args([
            "history",
            "replay",
            "--dialect",
            "claude-code",
            "--isolated",
            "--format",
            "json",
        ])
        .arg(repo("tests/data/claude-code/session.jsonl"))
        .arg("--hooks")
        .arg(dir.path())
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Every recorded event is understood; one call is denied in the client's own words, everything
/// else is silence and not an approval.
#[test]
fn a_recorded_session_with_a_guard_that_denies_one_call() {
    let recorded = lines("session.jsonl");
    let reply = |decision: &str, reason: &str| {
        json!({"hookSpecificOutput": {
            "hookEventName": "PreToolUse", "permissionDecision": decision, "permissionDecisionReason": reason,
        }})
    };
    // An interpreter runs a text from its stdin that names nothing of the rule's, so the rule isn't
    // in doubt.
    let no_files = "Ask before you make files.";
    for (definition, expected) in [
        (
            "hooks: [{ name: no-touch, on: PreToolUse, if: Bash(touch *), deny: Ask before you make files. }]",
            vec![("touch zzz", reply("deny", no_files))],
        ),
        (
            "dialect: claude-code
hooks:
  - name: no-touch
    on: PreToolUse
    matcher: Bash
    when: tool.input.command == 'touch zzz'
    fail: closed
    command: echo no files >&2; exit 2",
            vec![(
                "touch zzz",
                reply("deny", "[echo no files >&2; exit 2]: no files\n"),
            )],
        ),
        (
            "dialect: claude-code
hooks:
  - name: no-touch
    on: PreToolUse
    if: Bash(touch *)
    fail: closed
    command: |-
      if grep -q 'touch zzz'; then echo '{\"decision\":\"block\",\"reason\":\"no\"}'; fi",
            vec![("touch zzz", reply("deny", "no"))],
        ),
    ] {
        let replayed = replay(definition);
        assert_eq!(replayed.len(), recorded.len());
        let mut answered = Vec::new();
        for (line, recorded) in replayed.iter().zip(&recorded) {
            assert_eq!(
                line["event"], recorded["stdin"]["hook_event_name"],
                "events are named alike"
            );
            if line["reply"] == json!({}) {
                assert_eq!(
                    (
                        &line["verdict"]["decision"],
                        line["verdict"].get("decidedBy")
                    ),
                    (&json!("allow"), None)
                );
            } else {
                let command = recorded["stdin"]["tool_input"]["command"].as_str().unwrap();
                answered.push((command.lines().next().unwrap(), line["reply"].clone()));
            }
        }
        assert_eq!(answered, expected, "{definition}");
    }
}

/// A hook reads what it would have read from the client, to the letter.
#[test]
fn a_hook_of_the_same_dialect_reads_the_payload_untouched() {
    let out = tempfile::tempdir().unwrap();
    let file = out.path().join("stdin");
    let definitions = json!({"dialect": "claude-code", "hooks": [
        {"name": "h", "on": "*", "fail": "closed", "command": format!("cat > {}", file.display())},
    ]});
    let (mut host, _dir) = TestHost::with(&definitions.to_string());
    for line in lines("session.jsonl") {
        let result = host.request(
            "hooks/dispatch",
            json!({"dialect": "claude-code", "payload": line["stdin"]}),
        );
        assert_eq!(result["reply"], json!({}), "{result}");
        let read: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        assert_eq!(read, line["stdin"]);
    }
    // An interactive session names its model; so does a client of another version.
    let mut start = payload("SessionStart");
    start["model"] = "some-model".into();
    let result = host.request(
        "hooks/dispatch",
        json!({"dialect": "claude-code", "payload": start}),
    );
    assert_eq!(result["reply"], json!({}));
}

// -------------------------------------------------------------- what the client did with replies

/// A command that reads its stdin and prints JSON.
fn says(reply: Value) -> Value {
    json!({"command": format!("cat >/dev/null; printf '%s' '{reply}'")})
}

fn runs(command: &str) -> Value {
    json!({ "command": command })
}

fn decides(decision: &str, reason: &str) -> Value {
    specific(
        "PreToolUse",
        json!({"permissionDecision": decision, "permissionDecisionReason": reason}),
    )
}

fn rewrites(command: &str) -> Value {
    json!({"updatedInput": {"command": command, "description": "t"}})
}

fn specific(event: &str, mut members: Value) -> Value {
    members["hookEventName"] = event.into();
    says(json!({ "hookSpecificOutput": members }))
}

fn with(mut hook: Value, field: &str, value: Value) -> Value {
    hook[field] = value;
    hook
}

/// The recorded cases that a hook's answer decides: what the hooks were, at which event.
fn cases() -> Vec<(&'static str, &'static str, Vec<Value>)> {
    let (pre, request, prompt) = ("PreToolUse", "PermissionRequest", "UserPromptSubmit");
    let good = || vec![decides("deny", "MARK_GOOD")];
    let dozing = |n: usize| {
        // All five must be there at once, or none ends.
        runs(&format!(
            "touch n{n}; until [ -e n0 ] && [ -e n1 ] && [ -e n2 ] && [ -e n3 ] && [ -e n4 ]; do sleep 0.01; done"
        ))
    };
    vec![
        (
            "exit2 stderr blocks",
            pre,
            vec![runs("cat >/dev/null; echo MARK_EXIT2 >&2; exit 2")],
        ),
        (
            "exit2 even with allow JSON",
            pre,
            vec![runs(
                "cat >/dev/null; printf '%s' '{\"hookSpecificOutput\": {\"hookEventName\": \"PreToolUse\", \"permissionDecision\": \"allow\"}}'; echo MARK_E2J >&2; exit 2",
            )],
        ),
        ("deny", pre, vec![decides("deny", "MARK_DENY")]),
        (
            "legacy decision=block",
            pre,
            vec![says(json!({"decision": "block", "reason": "MARK_LEGACY"}))],
        ),
        ("allow skips prompt", pre, vec![decides("allow", "fine")]),
        ("ask headless", pre, vec![decides("ask", "MARK_ASK")]),
        ("defer", pre, vec![decides("defer", "later")]),
        (
            "allow+updatedInput",
            pre,
            vec![specific(
                pre,
                with(
                    rewrites("echo MARK_REWRITTEN"),
                    "permissionDecision",
                    "allow".into(),
                ),
            )],
        ),
        (
            "updatedInput without decision",
            pre,
            vec![specific(pre, rewrites("echo MARK_REWRITTEN2"))],
        ),
        (
            "PreToolUse additionalContext",
            pre,
            vec![specific(pre, json!({"additionalContext": "MARK_PRECTX"}))],
        ),
        (
            "PostToolUse additionalContext+updatedToolOutput",
            "PostToolUse",
            vec![specific(
                "PostToolUse",
                json!({"additionalContext": "MARK_POSTCTX", "updatedToolOutput": {
                    "stdout": "MARK_REDACTED", "stderr": "", "interrupted": false, "isImage": false, "noOutputExpected": false}}),
            )],
        ),
        (
            "PostToolUse decision block",
            "PostToolUse",
            vec![says(
                json!({"decision": "block", "reason": "MARK_POSTBLOCK"}),
            )],
        ),
        (
            "UPS exit2",
            prompt,
            vec![runs("echo MARK_UPSBLOCK >&2; exit 2")],
        ),
        (
            "UPS decision block",
            prompt,
            vec![says(json!({"decision": "block", "reason": "MARK_UPSB2"}))],
        ),
        (
            "Stop block once",
            "Stop",
            vec![says(
                json!({"decision": "block", "reason": "MARK_STOPBLOCK"}),
            )],
        ),
        (
            "continue:false on PreToolUse",
            pre,
            vec![says(json!({"continue": false, "stopReason": "enough"}))],
        ),
        ("exit1 fails open", pre, vec![runs("exit 1")]),
        (
            "missing script fails open",
            pre,
            vec![runs("/nope/hook.sh")],
        ),
        (
            "timeout 1s fails open",
            pre,
            vec![with(runs("sleep 4"), "timeout", "100ms".into())],
        ),
        ("bad JSON schema exit0", pre, vec![decides("perhaps", "?")]),
        (
            "wrong hookEventName",
            pre,
            vec![specific(
                "PostToolUse",
                json!({"permissionDecision": "deny"}),
            )],
        ),
        (
            "PermissionRequest allow",
            request,
            vec![specific(
                request,
                json!({"decision": {"behavior": "allow"}}),
            )],
        ),
        (
            "PermissionRequest deny+message",
            request,
            vec![specific(
                request,
                json!({"decision": {"behavior": "deny", "message": "MARK_PRDENY"}}),
            )],
        ),
        (
            "PermissionRequest exit 2",
            request,
            vec![runs("echo no >&2; exit 2")],
        ),
        (
            "precedence allow+deny",
            pre,
            vec![decides("allow", "x"), decides("deny", "MARK_R_DENY")],
        ),
        (
            "precedence ask+allow",
            pre,
            vec![decides("ask", "MARK_R_ASK"), decides("allow", "x")],
        ),
        (
            "precedence defer+ask+allow",
            pre,
            vec![
                decides("defer", "x"),
                decides("ask", "y"),
                decides("allow", "z"),
            ],
        ),
        (
            "precedence deny+defer",
            pre,
            vec![decides("deny", "MARK_R_DENY"), decides("defer", "x")],
        ),
        (
            "two updatedInput: second slow",
            pre,
            vec![
                specific(pre, rewrites("echo MARK_FIRST")),
                specific(pre, rewrites("echo MARK_SLOWSECOND")),
            ],
        ),
        ("parallel 5 x sleep .5", pre, (0..5).map(dozing).collect()),
        (
            "unknown event beside a good one",
            pre,
            [good(), vec![with(runs("true"), "on", "PreToolUsed".into())]].concat(),
        ),
        (
            "unknown key in handler",
            pre,
            [good(), vec![with(runs("true"), "surprise", true.into())]].concat(),
        ),
        ("deny under --dangerously-skip-permissions", pre, good()),
        ("subagent tool call denied", pre, good()),
        ("stdout not JSON, exit 0", pre, vec![runs("echo hello")]),
        (
            "banner before JSON",
            pre,
            vec![runs(
                "echo Welcome; printf '{\"decision\":\"block\",\"reason\":\"x\"}'",
            )],
        ),
        (
            "exit 1 with valid deny JSON",
            pre,
            vec![with(
                json!({}),
                "command",
                format!(
                    "{}; exit 1",
                    decides("deny", "MARK_EXIT1JSON")["command"]
                        .as_str()
                        .unwrap()
                )
                .into(),
            )],
        ),
        (
            "systemMessage",
            pre,
            vec![says(json!({"systemMessage": "MARK_SYSMSG"}))],
        ),
        (
            "MessageDisplay displayContent",
            "MessageDisplay",
            vec![specific(
                "MessageDisplay",
                json!({"displayContent": "MARK_DISPLAY"}),
            )],
        ),
        (
            "PostToolBatch block",
            "PostToolBatch",
            vec![says(json!({"decision": "block", "reason": "enough"}))],
        ),
        (
            "10k cap on additionalContext",
            prompt,
            vec![specific(
                prompt,
                json!({"additionalContext": format!("MARK_BIG{}", "x".repeat(12_000))}),
            )],
        ),
    ]
}

/// Recorded cases that the table above can't hold, and where they are instead.
const ELSEWHERE: &[(&str, &str)] = &[
    (
        "baseline: touch w/o hook, headless default mode",
        "there is no hook",
    ),
    (
        "hook allow vs settings deny rule",
        "the client's own rules, after the hook's allow",
    ),
    (
        "SessionStart plain stdout + UPS json ctx",
        "plain_text_is_context",
    ),
    ("Stop block always (cap)", "send_backs_are_capped"),
    (
        "dedup: same command twice in a group",
        "equal_hooks_run_once",
    ),
    ("dedup: same command in two groups", "equal_hooks_run_once"),
    (
        "two updatedInput: first slow",
        "where_hookwire_differs: the order of definition decides, not the clock",
    ),
    (
        "missing script onFailure=block",
        "where_hookwire_differs: the failure is told in hookwire's words",
    ),
    (
        "timeout 1s onFailure=block",
        "where_hookwire_differs: the failure is told in hookwire's words",
    ),
    (
        "bad matcher (object) beside a good group",
        "where_hookwire_differs: one bad hook doesn't take the others along",
    ),
    (
        "unknown handler type beside good",
        "where_hookwire_differs: one bad hook doesn't take the others along",
    ),
    (
        "async hook ctx on next turn",
        "not supported: what a detached hook says is not kept for the next event",
    ),
    (
        "exec form with args",
        "not supported: ${CLAUDE_PROJECT_DIR} in arguments",
    ),
    (
        "SessionStart initialUserMessage",
        "not supported: an answer has no place for it",
    ),
];

fn recorded() -> BTreeMap<String, Value> {
    let rows = lines("decisions.jsonl")
        .into_iter()
        .chain(lines("misc-cases.jsonl"));
    rows.map(|row| (row["case"].as_str().unwrap().to_string(), row))
        .collect()
}

#[test]
fn every_recorded_case_is_accounted_for() {
    let known: BTreeSet<String> = cases()
        .iter()
        .map(|(case, _, _)| case.to_string())
        .chain(ELSEWHERE.iter().map(|(case, _)| case.to_string()))
        .collect();
    assert_eq!(known, recorded().into_keys().collect());
}

fn definitions(event: &str, hooks: &[Value]) -> String {
    let named = hooks.iter().enumerate().map(|(n, hook)| {
        let mut hook = hook.clone();
        hook["name"] = format!("h{n}").into();
        if hook.get("on").is_none() {
            hook["on"] = event.into();
        }
        hook
    });
    json!({"dialect": "claude-code", "hooks": named.collect::<Vec<_>>()}).to_string()
}

/// Reply and verdict to a payload.
fn judge(event: &str, hooks: &[Value], payload: &Value) -> (Value, Value) {
    let (mut host, _dir) = TestHost::with(&definitions(event, hooks));
    let mut result = host.request(
        "hooks/dispatch",
        json!({"dialect": "claude-code", "payload": payload}),
    );
    (result["reply"].take(), result["verdict"].take())
}

/// The call of a case: `touch` where the recording tells whether the tool had its effect.
fn payload_of(case: &str, event: &str, cwd: &std::path::Path) -> Value {
    let mut payload = payload(event);
    payload["cwd"] = cwd.to_str().unwrap().into();
    if payload.get("tool_input").is_some() {
        let touches = case == "allow skips prompt" || event == "PermissionRequest";
        payload["tool_name"] = "Bash".into();
        payload["tool_input"] = json!({"command": if touches { "touch made_by_tool" } else { "echo original" }, "description": "t"});
    }
    if case == "subagent tool call denied" {
        payload["agent_id"] = "a1".into();
        payload["agent_type"] = "general-purpose".into();
    }
    payload
}

/// What the client tells the model of a tool call, and whether the tool ran, by what the reference
/// says of replies: the other half of each recording.
fn client_result(reply: &Value, command: &str) -> Option<(bool, String)> {
    let specific = &reply["hookSpecificOutput"];
    let reason = specific["permissionDecisionReason"]
        .as_str()
        .unwrap_or_default();
    match specific["permissionDecision"].as_str() {
        Some("deny") => Some((true, format!("PreToolUse:Bash hook error: {reason}"))),
        Some("ask") => Some((true, reason.to_string())),
        Some("defer") => None,
        decision => {
            let command = specific["updatedInput"]["command"]
                .as_str()
                .unwrap_or(command);
            match command.strip_prefix("echo ") {
                Some(text) => Some((false, text.to_string())),
                None if decision == Some("allow") => {
                    Some((false, "(Bash completed with no output)".into()))
                }
                None => Some((true, "needs approval".into())),
            }
        }
    }
}

#[test]
fn replies_explain_what_the_client_did() {
    let recorded = recorded();
    for (case, event, hooks) in cases() {
        let row = &recorded[case];
        let cwd = tempfile::tempdir().unwrap();
        let payload = payload_of(case, event, cwd.path());
        let (reply, verdict) = judge(event, &hooks, &payload);
        let label = format!("{case}\nreply {reply}\nverdict {verdict}\nrecorded {row}");
        let result = &row["result"];
        let told = &row["tool_results"][0];
        let content = told["content"].as_str().unwrap_or_default();
        let reason = reply["reason"].as_str().unwrap_or_default();
        match event {
            "PreToolUse" => {
                let command = payload["tool_input"]["command"].as_str().unwrap();
                match client_result(&reply, command) {
                    Some(expected) => assert_eq!(
                        expected,
                        (told["is_error"] == true, content.to_string()),
                        "{label}"
                    ),
                    None => assert_eq!(
                        (result["terminal_reason"].as_str(), told),
                        (Some("tool_deferred"), &Value::Null),
                        "{label}"
                    ),
                }
                let made = command.starts_with("touch")
                    && reply["hookSpecificOutput"]["permissionDecision"] == "allow";
                assert_eq!(row["made"], made, "{label}");
                assert_eq!(
                    reply["continue"] == false,
                    result["terminal_reason"] == "hook_stopped",
                    "{label}"
                );
            }
            "PermissionRequest" => {
                let decision = &reply["hookSpecificOutput"]["decision"];
                assert_eq!(
                    decision["behavior"] == "allow",
                    row["made"] == true,
                    "{label}"
                );
                let message = decision["message"].as_str().unwrap_or("needs approval");
                assert!(row["made"] == true || content.contains(message), "{label}");
            }
            "UserPromptSubmit" if reply.get("decision").is_some() => {
                assert_eq!(
                    (&reply["decision"], &row["n_model_calls"]),
                    (&json!("block"), &json!(0)),
                    "{label}"
                );
                let text = format!(
                    "UserPromptSubmit operation blocked by hook:\n{reason}\n\nOriginal prompt: go"
                );
                assert!(
                    result["result"].as_str().unwrap().starts_with(&text),
                    "{label}"
                );
            }
            "PostToolUse" => {
                let output = &reply["hookSpecificOutput"]["updatedToolOutput"]["stdout"];
                assert_eq!(output.as_str().unwrap_or("original"), content, "{label}");
            }
            "PostToolBatch" => {
                assert_eq!(
                    (&reply["decision"], &result["terminal_reason"]),
                    (&json!("block"), &json!("hook_stopped")),
                    "{label}"
                );
            }
            "MessageDisplay" => assert_eq!(
                reply["hookSpecificOutput"]["displayContent"], result["result"],
                "{label}"
            ),
            "Stop" => assert_eq!(reply["decision"], "block", "{label}"),
            _ => assert!(row["model_saw"] != json!([]), "{label}"),
        }
        for marker in row["model_saw"].as_array().unwrap() {
            assert!(
                reply.to_string().contains(marker.as_str().unwrap()),
                "{label}"
            );
        }
        // Where the client says that a hook gave no usable answer, the outcome says which and why.
        let notices = row["sys_events"].to_string();
        let failed = verdict["outcomes"]
            .as_array()
            .unwrap()
            .iter()
            .any(|it| it["error"].is_string());
        let told =
            notices.contains("no usable answer") || notices.contains("didn't answer in time");
        // The client keeps quiet about an exit code of 1.
        assert_eq!(failed, told || case == "exit1 fails open", "{label}");
        if notices.contains("says: ") {
            assert!(
                notices.contains(&format!(
                    "says: {}",
                    reply["systemMessage"].as_str().unwrap()
                )),
                "{label}"
            );
        }
        assert!(!failed || reply == json!({}), "{label}");
    }
}

#[test]
fn plain_text_is_context() {
    let row = &recorded()["SessionStart plain stdout + UPS json ctx"];
    for (event, hook, marker) in [
        (
            "SessionStart",
            runs("echo MARK_SESSIONCTX"),
            "MARK_SESSIONCTX",
        ),
        (
            "UserPromptSubmit",
            specific(
                "UserPromptSubmit",
                json!({"additionalContext": "MARK_UPSCTX"}),
            ),
            "MARK_UPSCTX",
        ),
    ] {
        assert!(
            row["model_saw"]
                .as_array()
                .unwrap()
                .contains(&json!(marker))
        );
        let (reply, _) = judge(event, &[hook], &payload(event));
        assert_eq!(
            reply,
            json!({"hookSpecificOutput": {"hookEventName": event, "additionalContext": marker}})
        );
    }
    // Elsewhere it is nothing.
    assert_eq!(
        judge("Stop", &[runs("echo hello")], &payload("Stop")).0,
        json!({})
    );
}

#[test]
fn send_backs_are_capped() {
    let row = &recorded()["Stop block always (cap)"];
    let text = definitions(
        "Stop",
        &[says(
            json!({"decision": "block", "reason": "MARK_STOPALWAYS"}),
        )],
    );
    let (mut host, _dir) = TestHost::with(&text);
    // The client asked its hook this often, and overrode the last answer.
    let n_asked = row["post"].as_u64().unwrap();
    for n in 1..=n_asked {
        let result = host.request(
            "hooks/dispatch",
            json!({"dialect": "claude-code", "payload": payload("Stop")}),
        );
        let blocked = json!({"decision": "block", "reason": "MARK_STOPALWAYS"});
        assert_eq!(
            result["reply"],
            if n < n_asked { blocked } else { json!({}) },
            "{n}"
        );
    }
}

#[test]
fn equal_hooks_run_once() {
    let recorded = recorded();
    for (case, matchers) in [
        ("dedup: same command twice in a group", ["Bash", "Bash"]),
        ("dedup: same command in two groups", ["Bash", "B.*"]),
    ] {
        let cwd = tempfile::tempdir().unwrap();
        let hooks =
            matchers.map(|matcher| with(runs("echo ran >> ran"), "matcher", matcher.into()));
        judge(
            "PostToolUse",
            &hooks,
            &payload_of(case, "PostToolUse", cwd.path()),
        );
        let n_ran = std::fs::read_to_string(cwd.path().join("ran"))
            .unwrap()
            .lines()
            .count();
        assert_eq!(recorded[case]["post"], n_ran, "{case}");
    }
}

#[test]
fn where_hookwire_differs() {
    let recorded = recorded();
    let pre = "PreToolUse";
    let judged =
        |hooks: &[Value]| judge(pre, hooks, &payload_of("", pre, std::path::Path::new("/")));
    let error = |case: &str| {
        recorded[case]["tool_results"][0]["is_error"]
            .as_bool()
            .unwrap()
    };

    // The client takes the rewrite that came last; here the order of definition decides, and says
    // so.
    let slow = says(
        json!({"hookSpecificOutput": {"hookEventName": pre, "updatedInput": {"command": "echo MARK_SLOWFIRST"}}}),
    );
    let slow = with(
        json!({}),
        "command",
        format!("sleep 0.2; {}", slow["command"].as_str().unwrap()).into(),
    );
    let (reply, verdict) = judged(&[
        slow,
        specific(pre, json!({"updatedInput": {"command": "echo second"}})),
    ]);
    assert_eq!(
        reply["hookSpecificOutput"]["updatedInput"]["command"],
        "echo second"
    );
    assert_eq!(
        verdict["errors"],
        json!([
            "hooks `h0` and `h1` both rewrote `command`; the value of `h1` stands, by their order"
        ])
    );

    // `fail: closed` is its `onFailure: block`; what failed is told in other words.
    for (case, hook, reason) in [
        (
            "missing script onFailure=block",
            runs("/nope/hook.sh"),
            "hook `h0` failed to run: exit status 127: ",
        ),
        (
            "timeout 1s onFailure=block",
            with(runs("sleep 4"), "timeout", "100ms".into()),
            "hook `h0` failed to finish within its timeout (",
        ),
    ] {
        assert!(error(case));
        let (reply, _) = judged(&[with(hook, "fail", "closed".into())]);
        assert_eq!(reply["hookSpecificOutput"]["permissionDecision"], "deny");
        assert!(
            reply["hookSpecificOutput"]["permissionDecisionReason"]
                .as_str()
                .unwrap()
                .starts_with(reason),
            "{reply}"
        );
    }

    // There one bad entry drops the guards of its whole file in silence; here they stay.
    for (case, bad) in [
        (
            "bad matcher (object) beside a good group",
            with(runs("true"), "matcher", json!({})),
        ),
        (
            "unknown handler type beside good",
            json!({"telepathy": "x"}),
        ),
    ] {
        assert!(!error(case));
        let (reply, verdict) = judged(&[decides("deny", "MARK_GOOD"), bad]);
        assert_eq!(
            reply["hookSpecificOutput"]["permissionDecisionReason"], "MARK_GOOD",
            "{case}"
        );
        assert!(
            !verdict["errors"].as_array().unwrap().is_empty(),
            "and every verdict says so: {case}"
        );
    }
}

// ------------------------------------------------------ beyond the recordings: replies and
// verdicts

/// From the reference of outputs: what a native verdict becomes at other events.
#[test]
fn verdicts_in_the_clients_words() {
    let native = |event: &str, handler: &str| {
        let (mut host, _dir) = TestHost::with(&format!(
            "hooks: [{{ name: h, on: {event}, fail: closed, {handler} }}]"
        ));
        let known = [
            "PreModelSwitch",
            "PermissionRequest",
            "PostToolUse",
            "TaskCompleted",
            "Elicitation",
            "Stop",
            "UserPromptSubmit",
            "SessionStart",
            "PreCompact",
            "ConfigChange",
            "TaskCreated",
            "SessionEnd",
            "PostToolBatch",
            "WorktreeCreate",
            "PreToolUse",
        ];
        assert!(known.contains(&event));
        host.request(
            "hooks/dispatch",
            json!({"dialect": "claude-code", "payload": payload(event)}),
        )["reply"]
            .take()
    };
    let hso = |event: &str, mut members: Value| {
        members["hookEventName"] = event.into();
        json!({ "hookSpecificOutput": members })
    };
    let context = "script: 'return { additionalContext: [\"a\"] }'";
    let no_with_context =
        "script: 'return { decision: \"deny\", reason: \"no\", additionalContext: [\"a\"] }'";
    let blocked_with_message = json!({"decision": "block", "reason": "no", "systemMessage": "a"});
    let rewrite = "command: 'echo \"{\\\"subject\\\":{\\\"command\\\":\\\"ls\\\"}}\"'";
    let defer = "command: 'echo \"{\\\"decision\\\":\\\"defer\\\",\\\"reason\\\":\\\"no\\\"}\"'";
    for (event, handler, expected) in [
        // The client passes over an input that is no object, and runs the old one.
        ("PreToolUse", "script: 'return { subject: \"ls\" }'", {
            let reason = "a hook rewrote this, and a tool's input is an object";
            hso(
                "PreToolUse",
                json!({"permissionDecision": "deny", "permissionDecisionReason": reason}),
            )
        }),
        // Where the client has no place for a text for the model, it would void the reply.
        ("PreCompact", no_with_context, blocked_with_message.clone()),
        (
            "ConfigChange",
            no_with_context,
            blocked_with_message.clone(),
        ),
        ("TaskCreated", no_with_context, blocked_with_message),
        (
            "TaskCompleted",
            no_with_context,
            json!({"continue": false, "stopReason": "no", "systemMessage": "a"}),
        ),
        ("SessionEnd", context, json!({"systemMessage": "a"})),
        (
            "PostToolBatch",
            context,
            hso("PostToolBatch", json!({"additionalContext": "a"})),
        ),
        (
            "PreModelSwitch",
            "deny: no",
            hso(
                "PreModelSwitch",
                json!({"permissionDecision": "deny", "permissionDecisionReason": "no"}),
            ),
        ),
        // Only a tool call can be put off.
        (
            "PreModelSwitch",
            defer,
            hso(
                "PreModelSwitch",
                json!({"permissionDecision": "deny", "permissionDecisionReason": "no"}),
            ),
        ),
        (
            "PermissionRequest",
            "allow: fine",
            hso(
                "PermissionRequest",
                json!({"decision": {"behavior": "allow"}}),
            ),
        ),
        (
            "PermissionRequest",
            "deny: no",
            hso(
                "PermissionRequest",
                json!({"decision": {"behavior": "deny", "message": "no"}}),
            ),
        ),
        // The question goes on to the person.
        ("PermissionRequest", "ask: sure?", json!({})),
        // A rewrite is no approval.
        (
            "PermissionRequest",
            rewrite,
            hso(
                "PermissionRequest",
                json!({"decision": {"behavior": "deny",
                "message": "a hook rewrote this, and a permission request takes a rewrite only with an approval"}}),
            ),
        ),
        (
            "PostToolUse",
            "deny: no",
            json!({"decision": "block", "reason": "no"}),
        ),
        // It knows no block; without this the task would be completed.
        (
            "TaskCompleted",
            "deny: no",
            json!({"continue": false, "stopReason": "no"}),
        ),
        ("Elicitation", "deny: no", {
            let mut reply = hso("Elicitation", json!({"action": "decline"}));
            reply["systemMessage"] = "no".into();
            reply
        }),
        (
            "Stop",
            "deny: no",
            json!({"decision": "block", "reason": "no"}),
        ),
        // The client takes no rewritten prompt: sending the old one would be a silent allow.
        (
            "UserPromptSubmit",
            "command: 'echo \"{\\\"subject\\\":\\\"p\\\"}\"'",
            json!({"decision": "block", "reason": "hook `h` rewrote this, and the client can't take a rewrite"}),
        ),
        // Nothing can be blocked there: the person is told.
        ("SessionStart", "deny: no", json!({"systemMessage": "no"})),
    ] {
        assert_eq!(native(event, handler), expected, "{event} {handler}");
    }
    // What is withheld keeps the tool's shape, or the client would not take it.
    let reply = native("PostToolUse", "command: exit 3");
    assert_eq!(reply["decision"], "block");
    let output = &reply["hookSpecificOutput"]["updatedToolOutput"];
    let original = &payload("PostToolUse")["tool_response"];
    let keys = |value: &Value| {
        value
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect::<Vec<_>>()
    };
    assert_eq!(keys(output), keys(original));
    assert_eq!(
        (&output["stdout"], &output["isImage"]),
        (&json!("[withheld by a hook]"), &original["isImage"])
    );
}

#[test]
fn replies_of_hooks_at_other_events() {
    for (event, hook, decision) in [
        (
            "Elicitation",
            specific("Elicitation", json!({"action": "decline"})),
            "deny",
        ),
        (
            "Elicitation",
            specific("Elicitation", json!({"action": "cancel"})),
            "deny",
        ),
        (
            "Elicitation",
            specific(
                "Elicitation",
                json!({"action": "accept", "content": {"name": "x"}}),
            ),
            "allow",
        ),
        (
            "PreModelSwitch",
            specific("PreModelSwitch", json!({"permissionDecision": "deny"})),
            "deny",
        ),
        ("TaskCompleted", runs("echo no >&2; exit 2"), "deny"),
        ("SubagentStop", runs("echo no >&2; exit 2"), "deny"),
        ("PreCompact", says(json!({"decision": "block"})), "deny"),
        ("ConfigChange", says(json!({"decision": "block"})), "deny"),
        // Told, not obeyed.
        ("SessionStart", runs("echo no >&2; exit 2"), "allow"),
        ("SessionEnd", says(json!({"decision": "block"})), "allow"),
        // Beside a block in the old words an allow in the new ones doesn't open.
        (
            "PreToolUse",
            says(
                json!({"decision": "block", "reason": "no", "hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow"}}),
            ),
            "deny",
        ),
    ] {
        let (_, verdict) = judge(
            event,
            &[with(hook.clone(), "fail", "closed".into())],
            &payload(event),
        );
        assert_eq!(
            (&verdict["decision"], &verdict["outcomes"][0]["error"]),
            (&json!(decision), &Value::Null),
            "{event} {hook} {verdict}"
        );
    }
}

// ------------------------------------------------------------------------------ matchers and rules

/// At other events than a tool's, a matcher is about what the reference says, or about nothing.
#[test]
fn matchers_of_other_events() {
    for (event, matcher, applies) in [
        ("SessionStart", "startup", true),
        ("SessionStart", "resume|startup", true),
        ("SessionStart", "clear", false),
        ("SessionEnd", "other", true),
        ("SessionEnd", "logout", false),
        ("PreCompact", "manual", true),
        ("PreCompact", "auto", false),
        ("SubagentStart", "general-purpose", true),
        ("SubagentStart", "Explore", false),
        ("Elicitation", "asker", true),
        ("Elicitation", "other", false),
        ("UserPromptSubmit", "Nothing", true),
        ("TaskCreated", "Nothing", true),
        ("PreToolUse", "Nothing", false),
    ] {
        for on in [event, "*"] {
            let hook = with(
                with(
                    says(json!({"systemMessage": "ran"})),
                    "matcher",
                    matcher.into(),
                ),
                "on",
                on.into(),
            );
            let (reply, verdict) =
                judge(event, &[with(hook, "fail", "open".into())], &payload(event));
            assert_eq!(
                reply["systemMessage"] == "ran",
                applies,
                "{event} {matcher} {verdict}"
            );
        }
    }
}

/// Where hookwire's selection differs from the client's, and why.
const SELECTED_OTHERWISE: &[(&str, &str)] = &[
    // The client gives up on `$(...)` and runs every longer rule; here the text inside is read.
    ("echo $(rm -rf zz)", "if:Bash(git push *)"),
    ("echo $(rm -rf zz)", "if:Bash(git push*)"),
    ("echo $(rm -rf zz)", "if:Bash(git push:*)"),
    ("echo $(date)", "if:Bash(git push *)"),
    ("echo $(date)", "if:Bash(git push*)"),
    ("echo $(date)", "if:Bash(git push:*)"),
];

#[test]
fn matchers_and_rules_select_as_recorded() {
    let table: BTreeMap<String, BTreeSet<String>> =
        serde_json::from_str(&data("matcher-if-table.json")).unwrap();
    // What never fired is in the reference only.
    let never = ["m:bash", "m:Bas", "m:mcp__mini", "if:Edit(src/**/*.ts)"].map(str::to_string);
    let labels: BTreeSet<String> = table.values().flatten().cloned().chain(never).collect();
    let hooks: Vec<Value> = labels
        .iter()
        .map(|label| {
            let hook =
                json!({"name": label, "on": "PreToolUse", "command": "true", "fail": "open"});
            match label.split_once(':').unwrap() {
                ("m", "Stop ignored") => {
                    with(with(hook, "on", "Stop".into()), "matcher", "Nothing".into())
                }
                ("m", matcher) => with(hook, "matcher", matcher.into()),
                (_, rule) => with(hook, "if", rule.into()),
            }
        })
        .collect();
    let cwd = tempfile::tempdir().unwrap();
    let (mut host, _dir) =
        TestHost::with(&json!({"dialect": "claude-code", "hooks": hooks}).to_string());
    let mut otherwise = BTreeSet::new();
    for (call, expected) in &table {
        let mut payload = payload_of("", "PreToolUse", cwd.path());
        let (tool, input) = match call.split_once(' ') {
            Some((tool @ ("Write" | "Read"), path)) => (
                tool,
                json!({"file_path": cwd.path().join(path), "content": ""}),
            ),
            None => (call.as_str(), json!({})),
            Some(_) => ("Bash", json!({ "command": call })),
        };
        payload["tool_name"] = tool.into();
        payload["tool_input"] = input;
        let mut selected = BTreeSet::new();
        // The recorded run ended, as every run does: its Stop hook with a matcher fired.
        for payload in [payload, self::payload("Stop")] {
            let result = host.request(
                "hooks/explain",
                json!({"dialect": "claude-code", "payload": payload}),
            );
            for hook in result["hooks"]
                .as_array()
                .unwrap()
                .iter()
                .filter(|it| it["applies"] == true)
            {
                selected.insert(hook["hook"].as_str().unwrap().to_string());
            }
        }
        otherwise.extend(
            expected
                .symmetric_difference(&selected)
                .map(|label| (call.clone(), label.clone())),
        );
    }
    let listed = SELECTED_OTHERWISE
        .iter()
        .map(|(call, label)| (call.to_string(), label.to_string()))
        .collect();
    assert_eq!(otherwise, listed);
}
