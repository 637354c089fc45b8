//! The built-in guards, through the built binary: what a session of events comes to under each of
//! them, what is kept from one event to the next, and how their mistakes are told.

use crate::support::*;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// `PreToolUse run=r tool.name=Bash`: an event's name and members by path, in session `s`.
fn event(line: &str) -> Value {
    let mut words = line.split_whitespace();
    let mut event = json!({"event": words.next().unwrap(), "session": "s"});
    for word in words {
        let (path, value) = word
            .split_once('=')
            .unwrap_or_else(|| panic!("`{word}` in {line}"));
        let mut at = &mut event;
        for key in path.split('.') {
            at = &mut at[key];
        }
        *at = serde_json::from_str(value).unwrap_or_else(|_| json!(value));
    }
    event
}

/// A verdict in one line: decision, reason, and what else it says.
fn told(verdict: &Value) -> String {
    let mut text = brief(verdict);
    for key in ["stop", "subject", "context", "retry"] {
        match &verdict[key] {
            Value::Null if key != "subject" || verdict.get(key).is_none() => {}
            // What a stop says is what the reason says, where there is one.
            stop if key == "stop" && *stop == verdict["reason"] => text.push_str(" STOP"),
            other => text.push_str(&format!(" {key} {other}")),
        }
    }
    for outcome in verdict["outcomes"].as_array().unwrap() {
        if let Some(error) = outcome["error"].as_str() {
            text.push_str(&format!(" ERROR {error}"));
        }
    }
    text
}

/// Plays sessions: `hooks` are YAML, each line of a session is `event => verdict`; a verdict that
/// ends in `...` goes on.
fn play(cases: &[(&str, &str)]) {
    let mut wrong = Vec::new();
    for (hooks, session) in cases {
        let (mut host, _dir) = TestHost::with(&format!("hooks:\n{hooks}"));
        for line in session
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty())
        {
            let (asked, expected) = line.split_once(" => ").unwrap();
            let verdict = told(&host.dispatch(event(asked)));
            let fits = match expected.strip_suffix("...") {
                Some(beginning) => verdict.starts_with(beginning),
                None => verdict == expected,
            };
            if !fits {
                wrong.push(format!(
                    "{hooks}\n  {asked}\n  expected {expected}\n  told     {verdict}"
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn steps() {
    play(&[
        (
            "  - { name: g, guard: { step-limit: { max: 2 } }, fail: closed }",
            "StepStart run=r => allow
             StepStart run=r => allow
             StepStart run=r => deny by g: Step limit reached: 2/2 STOP
             StepStart run=r => deny by g: Step limit reached: 2/2 STOP
             StepStart run=other => allow
             StepStart run=r session=t => allow",
        ),
        (
            // Sub-agents count towards the run that started them.
            "  - { name: g, guard: { step-limit: { max: 3 } }, fail: closed }",
            "StepStart run=r => allow
             RunStart run=sub parentRun=r => allow
             StepStart run=sub => allow
             StepStart run=sub2 parentRun=sub => allow
             StepStart run=sub => deny by g: Step limit reached: 3/3 STOP
             StepStart run=r => deny by g: Step limit reached: 3/3 STOP",
        ),
        (
            // An agent that doesn't name its runs begins one with each prompt.
            "  - { name: g, guard: { step-limit: { max: 1 } }, fail: closed }",
            "UserPromptSubmit prompt=a => allow
             StepStart => allow
             StepStart => deny by g: Step limit reached: 1/1 STOP
             UserPromptSubmit prompt=b => allow
             StepStart => allow",
        ),
        (
            "  - { name: g, guard: { step-limit: { max: 2, per: session } }, fail: closed }",
            "StepStart run=a => allow
             StepStart run=b => allow
             StepStart run=c => deny by g: Step limit reached: 2/2 STOP
             StepStart run=c session=t => allow",
        ),
        (
            "  - { name: g, guard: { step-limit: { max: 1, per: host } }, fail: closed }",
            "StepStart run=a => allow
             StepStart run=a session=t => deny by g: Step limit reached: 1/1 STOP",
        ),
        (
            // By any value; an event that lacks it counts with others that do.
            "  - { name: g, on: PreToolUse, guard: { step-limit: { max: 1, by: tool.name } }, fail: closed }
  - { name: h, on: StepStart, guard: { step-limit: { max: 1, by: agent.name } }, fail: closed }",
            "PreToolUse run=r tool.name=A => allow
             PreToolUse run=r tool.name=B => allow
             PreToolUse run=r tool.name=A => deny by g: Step limit reached: 1/1 STOP
             StepStart run=r agent.name=x => allow
             StepStart run=r => allow
             StepStart run=r => deny by h: Step limit reached: 1/1 STOP
             StepStart run=r agent.name=y => allow",
        ),
        (
            "  - { name: g, on: StepStart, guard: { step-limit: { by: 'tool' } }, fail: closed }",
            "StepStart tool.name=x => deny by g: hook `g` failed to tell by what to count: `tool` gave map, not a text or a number ERROR failed to tell by what to count: `tool` gave map, not a text or a number",
        ),
        (
            // After-events can't be denied, and a deny of Stop would send the agent back to work.
            "  - { name: g, on: [StepEnd, Stop], guard: { step-limit: { max: 1 } }, fail: closed }",
            "StepEnd run=r => allow
             StepEnd run=r => allow stop \"Step limit reached: 1/1\"
             Stop run=r => allow stop \"Step limit reached: 1/1\"",
        ),
        (
            // Two guards of one name in one file count apart if they are of two kinds.
            "  - { name: g, guard: { step-limit: { max: 1 } }, fail: closed }
  - { name: h, guard: { step-limit: { max: 2 } }, fail: closed }",
            "StepStart run=r => allow
             StepStart run=r => deny by g: Step limit reached: 1/1 STOP",
        ),
    ]);
}

#[test]
fn a_bare_name_means_the_defaults() {
    let (mut host, _dir) = TestHost::with("hooks: [{ name: g, fail: closed, guard: step-limit }]");
    let verdicts: Vec<_> = (0..21)
        .map(|_| told(&host.dispatch(event("StepStart run=r"))))
        .collect();
    assert!(
        verdicts[..20].iter().all(|it| it == "allow"),
        "{verdicts:?}"
    );
    assert_eq!(verdicts[20], "deny by g: Step limit reached: 20/20 STOP");
}

#[test]
fn an_event_counts_once_though_it_is_judged_again() {
    let (mut host, _dir) = TestHost::with(
        "hooks:
  - { name: limit, on: PreToolUse, guard: { step-limit: { max: 2 } }, fail: closed }
  - { name: loops, guard: { loop-detector: { repeats: 4 } }, fail: closed }
  - { name: rate, guard: { rate-limit: { max: 4 } }, fail: closed }
  - { name: rewriter, on: PreToolUse, priority: 200, guard: { pattern-guard: { redact: [secret] } }, fail: closed }",
    );
    let secret = "PreToolUse run=r tool.name=Bash tool.input.command=secret";
    for _ in 0..2 {
        let verdict = host.dispatch(event(secret));
        assert_eq!(told(&verdict), "allow subject {\"command\":\"[redacted]\"}");
        let rejudged = verdict["outcomes"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|it| it["rejudged"] == true)
            .count();
        assert_eq!(rejudged, 3, "{verdict}");
    }
    assert_eq!(
        told(&host.dispatch(event(secret))),
        "deny by limit: Step limit reached: 2/2 STOP"
    );
}

#[test]
fn many_at_once_are_counted_exactly() {
    let (mut host, _dir) = TestHost::with(
        "hooks: [{ name: g, fail: closed, guard: { step-limit: { max: 100 } }, parallel: true }]",
    );
    let ids: Vec<_> = (0..150)
        .map(|_| host.ask("hooks/dispatch", event("StepStart run=r")))
        .collect();
    let denied = ids
        .into_iter()
        .filter(|id| host.reply(*id)["result"]["decision"] == "deny")
        .count();
    assert_eq!(denied, 50);
}

#[test]
fn an_edit_keeps_the_count() {
    let text = |max: u32, extra: &str| {
        format!(
            "hooks: [{extra}{{ name: g, fail: closed, guard: {{ step-limit: {{ max: {max} }} }} }}]"
        )
    };
    let (mut host, dir) = TestHost::with(&text(2, ""));
    let step = || event("StepStart run=r");
    for _ in 0..2 {
        assert_eq!(told(&host.dispatch(step())), "allow");
    }
    replace(
        &dir.path().join("hooks.yaml"),
        &text(3, "{ name: other, on: Stop, deny: no }, "),
    );
    host.request("hooks/reload", json!({}));
    assert_eq!(told(&host.dispatch(step())), "allow");
    assert_eq!(
        told(&host.dispatch(step())),
        "deny by g: Step limit reached: 3/3 STOP"
    );
    replace(&dir.path().join("hooks.yaml"), &text(1, ""));
    host.request("hooks/reload", json!({}));
    assert_eq!(
        told(&host.dispatch(step())),
        "deny by g: Step limit reached: 3/1 STOP"
    );
}

#[test]
fn tokens() {
    play(&[
        (
            // The call that crosses the limit may be used, the next is denied.
            "  - { name: g, guard: { token-limit: { max: 100 } }, fail: closed }",
            "PreModelCall run=r => allow
             PostModelCall run=r model.usage.inputTokens=50 model.usage.outputTokens=49 => allow
             PreModelCall run=r => allow
             PostModelCall run=r model.usage.inputTokens=0 model.usage.outputTokens=1 => allow
             PreModelCall run=r => deny by g: Token limit reached: 100/100 STOP
             PreModelCall run=other => allow",
        ),
        (
            "  - { name: g, on: PostModelCall, guard: { token-limit: { max: 10, count: output, per: session } }, fail: open }",
            "PostModelCall run=a model.usage.inputTokens=50 model.usage.outputTokens=9 => allow
             PostModelCall run=b model.usage.outputTokens=3 => allow stop \"Token limit reached: 12/10\"
             PostModelCall run=b => allow ERROR failed to count tokens: PostModelCall has no model.usage with inputTokens and outputTokens",
        ),
        (
            "  - { name: g, guard: { token-limit: { max: 10, count: input } }, fail: closed }",
            "PostModelCall run=a model.usage.inputTokens=5 model.usage.outputTokens=9 => allow
             PreModelCall run=a => allow
             PostModelCall run=a model.usage.inputTokens=18446744073709551615 => allow
             PostModelCall run=a model.usage.inputTokens=1 => allow
             PreModelCall run=a => deny by g: Token limit reached: 18446744073709551615/10 STOP",
        ),
    ]);
}

#[test]
fn costs() {
    let hook = |more: &str| {
        format!(
            "  - {{ name: g, guard: {{ cost-limit: {{ max: 1.50, prices: {{ 'big-*': {{ input: 10, output: 50 }}, 'big-cheap*': {{ input: 1, output: 1 }} }}{more} }} }}, fail: closed }}"
        )
    };
    play(&[
        (
            &hook(""),
            "PreModelCall run=r model.name=big-1 => allow
             PostModelCall run=r model.name=big-1 model.usage.inputTokens=100000 model.usage.outputTokens=9000 => allow
             PreModelCall run=r model.name=big-1 => allow
             PostModelCall run=r model.response.model=big-cheap-2 model.usage.inputTokens=50000 model.usage.outputTokens=0 => allow
             PreModelCall run=r => deny by g: Cost limit reached: 1.50/1.50 STOP
             PreModelCall run=other model.request.model=small => deny by g: hook `g` failed to price the model `small`: no glob of `prices` matches it; add one, or set `unknownModel: ignore` ERROR failed to price the model `small`: no glob of `prices` matches it; add one, or set `unknownModel: ignore`",
        ),
        (
            &hook(", unknownModel: ignore"),
            "PreModelCall run=r model.name=small => allow
             PostModelCall run=r model.name=small model.usage.inputTokens=100000000 => allow
             PreModelCall run=r model.name=small => allow",
        ),
    ]);
}

#[test]
fn time() {
    let (mut host, _dir) =
        TestHost::with("hooks: [{ name: g, fail: closed, guard: { time-limit: { max: 80ms } } }]");
    assert_eq!(told(&host.dispatch(event("RunStart run=r"))), "allow");
    let denied = eventually("the time is over", || {
        Some(told(&host.dispatch(event("StepStart run=r")))).filter(|it| it != "allow")
    });
    assert!(
        denied.starts_with("deny by g: Execution time limit reached: 0."),
        "{denied}"
    );
    assert!(denied.ends_with("s/0.08s STOP"), "{denied}");
    assert_eq!(told(&host.dispatch(event("StepStart run=other"))), "allow");
}

#[test]
fn rates() {
    play(&[(
        "  - { name: g, guard: { rate-limit: { max: 2, within: 1h, by: tool.name } }, fail: closed }",
        "PreToolUse run=a tool.name=A => allow
         PreToolUse run=b tool.name=A => allow
         PreToolUse run=c tool.name=B => allow
         PreToolUse run=c tool.name=A => deny by g: Rate limit reached: 2 in 1h; try again in ...
         PreToolUse run=c tool.name=A session=t => allow",
    )]);
    let (mut host, _dir) = TestHost::with(
        "hooks: [{ name: g, fail: closed, guard: { rate-limit: { max: 1, within: 300ms } } }]",
    );
    let mut call = || {
        host.dispatch(event("PreToolUse tool.name=A"))["decision"]
            .as_str()
            .unwrap()
            .to_string()
    };
    assert_eq!(call(), "allow");
    // What is denied doesn't count, or whoever keeps asking would never be let through.
    eventually("the window has passed", || {
        Some(()).filter(|()| call() == "allow")
    });
}

#[test]
fn loops() {
    play(&[
        (
            "  - { name: g, guard: loop-detector, fail: closed }",
            "PreToolUse run=r tool.name=A tool.input={\"x\":1,\"y\":2} => allow
             PreToolUse run=r tool.name=A tool.input={\"y\":2,\"x\":1} => allow
             PreToolUse run=other tool.name=A tool.input={\"y\":2,\"x\":1} => allow
             PreToolUse run=r tool.name=A tool.input={\"x\":1,\"y\":2} => deny by g: Loop detected: `A` was called 3 times in a row with the same input. Its result won't change: do something else, or say what is in the way.
             PreToolUse run=r tool.name=A tool.input={\"x\":1,\"y\":2} => deny by g: Loop detected: `A` was called 3 times in a row with the same input. Its result won't change: do something else, or say what is in the way.
             PreToolUse run=r tool.name=A tool.input={\"x\":2,\"y\":2} => allow
             PreToolUse run=r tool.name=B tool.input={\"x\":1,\"y\":2} => allow
             PreToolUse run=r tool.name=A tool.input={\"x\":1,\"y\":2} => allow",
        ),
        (
            "  - { name: g, guard: { loop-detector: { repeats: 2 } }, fail: closed }",
            "PreToolUse run=r tool.name=A => allow
             PreToolUse run=r tool.name=B => allow
             PreToolUse run=r tool.name=C => allow
             PreToolUse run=r tool.name=A => allow
             PreToolUse run=r tool.name=B => allow
             PreToolUse run=r tool.name=C => deny by g: Loop detected: the last 6 calls are the same 3 over and over: `A`, `B`, `C`. Their results won't change: do something else, or say what is in the way.
             PreToolUse run=r tool.name=D => allow",
        ),
        (
            "  - { name: g, guard: { loop-detector: { repeats: 2, cycle: 1 } }, fail: closed }",
            "PreToolUse run=r tool.name=A => allow
             PreToolUse run=r tool.name=B => allow
             PreToolUse run=r tool.name=A => allow
             PreToolUse run=r tool.name=B => allow",
        ),
    ]);
    let (mut host, _dir) = TestHost::with(
        "hooks: [{ name: g, fail: closed, guard: { loop-detector: { repeats: 2, window: 1ms } } }]",
    );
    let mut call = || {
        host.dispatch(event("PreToolUse run=r tool.name=A"))["decision"]
            .as_str()
            .unwrap()
            .to_string()
    };
    call();
    eventually("the window has passed", || {
        Some(()).filter(|()| call() == "allow")
    });
}

#[test]
fn finish_reasons() {
    play(&[(
        "  - { name: g, guard: { finish-reason: { stop: [content_filter, length] } } }",
        "PostModelCall model.finishReason=stop => allow
         PostModelCall => allow
         PostModelCall model.finishReason=length => allow stop \"Finish reason \\\"length\\\" matched stop condition\"",
    )]);
}

#[test]
fn patterns() {
    play(&[
        (
            "  - { name: g, guard: { pattern-guard: { deny: ['rm\\s*-rf', '^drop$'], ask: ['^sudo'], redact: ['\\d{3}-\\d{4}'] } }, fail: closed }",
            "PreToolUse tool.name=A tool.input={\"a\":[{\"b\":\"rm-rf\"}]} => deny by g: The input matches `rm\\s*-rf`
             PreToolUse tool.name=A tool.input={\"drop\":1} => deny by g: The input matches `^drop$`
             PreToolUse tool.name=A tool.input={\"n\":1} => allow
             PreToolUse tool.name=A tool.input={\"tel\":[\"555-1234,555-9876\",7]} => allow subject {\"tel\":[\"[redacted],[redacted]\",7]}
             PreToolUse tool.name=A tool.input=sudo => deny by g: The input matches `^sudo` (this needs a person's approval, and the client can't ask)
             UserPromptSubmit prompt=555-1234 => allow subject \"[redacted]\"
             PostToolUse tool.name=A tool.output=rm-rf => deny by g: The output matches `rm\\s*-rf` subject null
             PostToolUse tool.name=A tool.output=sudo => deny by g: The output matches `^sudo` subject null
             PostToolUse tool.name=A tool.output=555-1234 => allow subject \"[redacted]\"",
        ),
        (
            "  - { name: g, guard: { pattern-guard: { deny: [x], in: output, reason: No crosses. } }, fail: closed }
  - { name: h, guard: { pattern-guard: { redact: ['(y)'], replacement: '$1' } }, fail: closed }",
            "PreToolUse tool.name=A tool.input=x => allow
             PostToolUse tool.name=A tool.output=x => deny by g: No crosses. subject null
             PreToolUse tool.name=A tool.input=y => allow subject \"$1\"",
        ),
    ]);
}

/// Made when the test runs, so that none stands in the repository.
fn secret() -> String {
    ["ghp", "_", "16C7e42F292c6912E7710c838347Ae178B4a"].concat()
}

#[test]
fn secrets_are_replaced_or_asked_about_and_never_told() {
    let call = |command: String| json!({"event": "PreToolUse", "tool": {"name": "Bash", "input": {"command": command, "n": 1}}});
    let with = format!("curl -H 'X: {}' x", secret());
    let output =
        |text: Value| json!({"event": "PostToolUse", "tool": {"name": "Read", "output": text}});
    let prompt = || json!({"event": "UserPromptSubmit", "prompt": secret()});
    let request =
        || json!({"event": "PermissionRequest", "tool": {"name": "Write", "input": {secret(): 1}}});
    let found = |place: &str| format!("Secrets in `{place}`: github-token");
    let redacted = "Redacted: github-token".to_string();
    let clean = "curl -H 'X: [redacted]' x";
    for (action, event, decision, reason, subject) in [
        // A tool would write or run what is redacted, so a person is asked.
        (
            "",
            call(with.clone()),
            "ask",
            found("tool.input"),
            json!(null),
        ),
        ("", request(), "ask", found("tool.input"), json!(null)),
        (
            "",
            output(json!([{"text": format!("a {} b", secret())}])),
            "allow",
            redacted.clone(),
            json!([{"text": "a [redacted] b"}]),
        ),
        (
            "",
            output(json!({"a": {secret(): 1}})),
            "allow",
            redacted.clone(),
            json!({"a": {"[redacted]": 1}}),
        ),
        ("", prompt(), "allow", redacted.clone(), json!("[redacted]")),
        (
            "redact",
            call(with.clone()),
            "allow",
            redacted,
            json!({"command": clean, "n": 1}),
        ),
        ("ask", prompt(), "ask", found("prompt"), json!(null)),
        (
            "ask",
            output(json!(secret())),
            "deny",
            found("tool.output"),
            json!(null),
        ),
        ("deny", call(with), "deny", found("tool.input"), json!(null)),
        ("deny", request(), "deny", found("tool.input"), json!(null)),
        (
            "deny",
            call("ls".into()),
            "allow",
            String::new(),
            json!(null),
        ),
    ] {
        let action = if action.is_empty() {
            String::new()
        } else {
            format!("action: {action}")
        };
        let on = "on: [PreToolUse, PermissionRequest, PostToolUse, UserPromptSubmit]";
        let (mut host, _dir) = TestHost::with(&format!(
            "hooks: [{{ name: g, {on}, fail: closed, guard: {{ redact-secrets: {{ {action} }} }} }}]"
        ));
        let verdict = host.dispatch(event.clone());
        let outcome = &verdict["outcomes"][0];
        let given = outcome["decision"].as_str().unwrap_or("allow");
        let told = outcome["reason"].as_str().unwrap_or_default();
        assert_eq!(
            (given, told, &verdict["subject"]),
            (decision, &*reason, &subject),
            "{action} {event}"
        );
        let withheld = decision == "deny" && event["event"] == "PostToolUse";
        assert_eq!(verdict["replaced"] == true, withheld, "{action} {event}");
        assert!(!verdict.to_string().contains(&secret()));
    }
    let (mut host, _dir) =
        TestHost::with("hooks: [{ name: g, fail: open, guard: redact-secrets }]");
    // Large texts go another way.
    let large = format!("{}\n{}\n", "all is well ".repeat(100_000), secret());
    let verdict = host.dispatch(output(json!(large)));
    assert!(
        verdict["subject"]
            .as_str()
            .unwrap()
            .ends_with("\n[redacted]\n")
    );
    drop(host);
    let (mut host, _dir) = TestHost::with(
        "hooks: [{ name: g, fail: closed, guard: { redact-secrets: { allow: ['^ghp_16C7'], replacement: 'X' } } }]",
    );
    let other = secret().replace("16C7", "26C7");
    let verdict = host
        .dispatch(json!({"event": "UserPromptSubmit", "prompt": format!("{} {other}", secret())}));
    assert_eq!(verdict["subject"], format!("{} X", secret()));
}

/// After a failed call, the secret stands in the error, for which some agents take no other value.
#[test]
fn the_error_of_a_failed_call_is_redacted_or_the_verdict_says_that_it_is_not() {
    let (mut host, _dir) = TestHost::with(
        "hooks:
  - { name: g, guard: redact-secrets }
  - { name: p, on: PostToolUseFailure, guard: { pattern-guard: { redact: ['\\d{3}-\\d{4}'] } } }",
    );
    let error = format!("no such host: {}, 555-1234", secret());
    let failed = |error: &str| json!({"event": "PostToolUseFailure", "tool": {"name": "Bash", "input": {}, "error": error}});
    let verdict = host.dispatch(failed(&error));
    assert_eq!(
        verdict["context"],
        json!({"tool": {"error": "no such host: [redacted], [redacted]"}})
    );
    // The guard of patterns finds nothing there.
    let error = error.replace("555-1234", "");
    let payloads = [
        (
            "claude-code",
            json!({"hook_event_name": "PostToolUseFailure", "tool_name": "Bash", "tool_input": {}, "error": error}),
        ),
        (
            "qwen",
            json!({"hook_event_name": "PostToolUseFailure", "tool_name": "Bash", "tool_input": {}, "error": error}),
        ),
        (
            "copilot",
            json!({"hookName": "postToolUseFailure", "toolName": "bash", "toolArgs": {}, "error": error}),
        ),
    ];
    for (dialect, payload) in payloads {
        let verdict = host.request(
            "hooks/dispatch",
            json!({"dialect": dialect, "payload": payload}),
        )["verdict"]
            .take();
        assert_eq!(
            (&verdict["decision"], &verdict["decidedBy"]),
            (&json!("deny"), &json!("g")),
            "{dialect}"
        );
        let outcomes = verdict["outcomes"].as_array().unwrap();
        let status = &outcomes.iter().find(|it| it["hook"] == "g").unwrap()["status"];
        assert_eq!(status, "non_blocking_error", "{dialect}: {verdict}");
        let told = "hook `g` (Redacted: github-token): the agent takes no other value at PostToolUseFailure, so its model may read the old one";
        assert_eq!(verdict["errors"][0], told, "{dialect}");
        assert_eq!(
            verdict["userMessages"][0],
            format!("hookwire: {told}"),
            "{dialect}"
        );
        assert!(
            verdict["reason"]
                .as_str()
                .unwrap()
                .contains("hook `g` (Redacted: github-token)"),
            "{dialect}: {verdict}"
        );
        assert!(
            !verdict.to_string().contains(&secret()),
            "{dialect}: {verdict}"
        );
    }
    drop(host);
    // What is withheld of a failed call is its error.
    let (mut host, _dir) =
        TestHost::with("hooks: [{ name: g, guard: { redact-secrets: { action: deny } } }]");
    let verdict = host.dispatch(failed(&error));
    assert_eq!(
        (&verdict["decision"], &verdict["context"]),
        (&json!("deny"), &json!({"tool": {"error": null}}))
    );
    assert_eq!(verdict["reason"], "Secrets in `tool.error`: github-token");
}

#[test]
fn fallbacks() {
    play(&[
        (
            "  - { name: g, guard: { fallback-model: { models: [b, c], retry: { max: 2, after: 100ms } } } }",
            "ModelCallError model.attempt=1 => allow retry {\"action\":\"retry\",\"afterMs\":100}
             ModelCallError model.attempt=2 => allow retry {\"action\":\"retry\",\"afterMs\":200}
             ModelCallError model.attempt=2 model.error.retryAfter=7 => allow retry {\"action\":\"retry\",\"afterMs\":7000}
             ModelCallError model.attempt=3 => allow retry {\"action\":\"fallback\",\"model\":\"b\"}
             ModelCallError model.attempt=4 => allow retry {\"action\":\"fallback\",\"model\":\"c\"}
             ModelCallError model.attempt=5 => allow retry {\"action\":\"fail\"}
             ModelCallError model.attempt=1 model.error.retryAfter=3600 => allow retry {\"action\":\"fallback\",\"model\":\"b\"}
             ModelCallError => allow ERROR failed to decide on a retry: the event has no model.attempt, the number of attempts so far",
        ),
        (
            "  - { name: g, guard: { fallback-model: { models: [b], errors: ['overloaded', '\"status\":5..'] } } }",
            "ModelCallError model.attempt=1 model.error=overloaded => allow retry {\"action\":\"fallback\",\"model\":\"b\"}
             ModelCallError model.attempt=1 model.error.status=503 => allow retry {\"action\":\"fallback\",\"model\":\"b\"}
             ModelCallError model.attempt=1 model.error.status=400 => allow",
        ),
    ]);
}

#[test]
fn contexts() {
    play(&[(
        "  - { name: g, guard: { context-config: { systemPrompt: 'Be brief.', responseFormat: { type: json }, metadata: { team: a } } }, fail: open }",
        "RunStart run=r => allow context {\"metadata\":{\"team\":\"a\"},\"responseFormat\":{\"type\":\"json\"},\"systemPrompt\":\"Be brief.\"}
         RunStart run=r responseFormat={\"type\":1,\"old\":{\"a\":1}} => allow context {\"metadata\":{\"team\":\"a\"},\"responseFormat\":{\"old\":null,\"type\":\"json\"},\"systemPrompt\":\"Be brief.\"}",
    )]);
}

fn lines(path: &Path) -> Vec<Value> {
    fs::read_to_string(path)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn an_audit_log() {
    let (mut host, dir) = TestHost::with(
        "hooks:
  - { name: g, fail: closed, guard: { audit-log: { file: audit.jsonl, fields: [cwd, metadata.user] } } }
  - { name: h, fail: closed, guard: { audit-log: { file: full.jsonl, subject: full } } }
  - { name: i, fail: closed, on: PreToolUse, guard: { audit-log: { file: raw.jsonl, subject: full, redact: false } } }",
    );
    let mut event = event(
        "PreToolUse run=r agent.name=a tool.name=Bash tool.callId=c cwd=/tmp metadata.user=bob",
    );
    event["tool"]["input"] = json!({"command": secret(), "a": 1});
    assert_eq!(told(&host.dispatch(event.clone())), "allow");
    event["tool"]["input"] = json!({"a": 1, "command": secret()});
    host.dispatch(event);
    let (log, full) = (
        lines(&dir.path().join("audit.jsonl")),
        lines(&dir.path().join("full.jsonl")),
    );
    let line = &log[0];
    assert_eq!(log.len(), 2);
    for (key, value) in [
        ("event", "PreToolUse"),
        ("session", "s"),
        ("run", "r"),
        ("agent", "a"),
        ("tool", "Bash"),
        ("callId", "c"),
        ("cwd", "/tmp"),
        ("metadata.user", "bob"),
    ] {
        assert_eq!(line[key], value, "{key} of {line}");
    }
    assert!(line["time"].as_str().unwrap().ends_with('Z') && line["eventId"].is_string());
    assert_eq!(line["subjectSha256"].as_str().unwrap().len(), 64);
    assert_eq!(
        line["subjectSha256"], log[1]["subjectSha256"],
        "the order of members makes no other subject"
    );
    assert_eq!(full[0]["subject"], json!({"command": "[redacted]", "a": 1}));
    assert_eq!(
        lines(&dir.path().join("raw.jsonl"))[0]["subject"]["command"],
        secret()
    );
    let mode = fs::metadata(dir.path().join("audit.jsonl"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn an_audit_log_that_is_full_begins_anew() {
    let (mut host, dir) = TestHost::with(
        "hooks:
  - { name: g, fail: closed, guard: { audit-log: { file: a.jsonl, maxBytes: 2000, keep: 2 } } }
  - { name: h, fail: closed, guard: { audit-log: { file: ./a.jsonl, maxBytes: 2000, keep: 2 } } }",
    );
    let ids: Vec<_> = (0..50)
        .map(|n| host.ask("hooks/dispatch", event(&format!("Stop run=r{n}"))))
        .collect();
    for id in ids {
        assert_eq!(host.reply(id)["result"]["decision"], "allow");
    }
    let mut names: Vec<_> = fs::read_dir(dir.path())
        .unwrap()
        .map(|it| it.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["a.jsonl", "a.jsonl.1", "a.jsonl.2", "hooks.yaml"]);
    for name in &names[..3] {
        let path = dir.path().join(name);
        assert!(!lines(&path).is_empty(), "{name}");
        assert!(fs::metadata(path).unwrap().len() <= 2000, "{name}");
    }
}

#[test]
fn an_audit_log_that_cannot_be_written_is_a_failure() {
    for (fail, expected) in [("closed", "deny"), ("open", "allow")] {
        let (mut host, dir) = TestHost::with(&format!(
            "hooks: [{{ name: g, fail: {fail}, guard: {{ audit-log: {{ file: no/such/dir/a.jsonl }} }} }}]"
        ));
        let verdict = host.dispatch(event("PreToolUse tool.name=A"));
        assert_eq!(verdict["decision"], expected);
        let error = verdict["outcomes"][0]["error"]
            .as_str()
            .unwrap()
            .replace(dir.path().to_str().unwrap(), "DIR");
        assert_eq!(
            error,
            "failed to write the audit log DIR/no/such/dir/a.jsonl: No such file or directory (os error 2)"
        );
    }
}

#[test]
fn mistakes_are_told_where_they_are() {
    let check = |guard: &str| {
        let text = format!("hooks:\n- name: g\n  fail: closed\n  guard: {guard}\n");
        let dir = hooks(&[("hooks.yaml", &text)]);
        let output = hookwire()
            .args(["check", "--format", "json"])
            .arg(dir.path().join("hooks.yaml"))
            .output()
            .unwrap();
        let found: Value = serde_json::from_slice(&output.stdout).unwrap();
        let told = found["diagnostics"].as_array().unwrap().iter().map(|it| {
            let help = it["help"]
                .as_str()
                .map(|help| format!(" ({help})"))
                .unwrap_or_default();
            let start = &it["range"]["start"];
            format!(
                "{}:{} {}{help}",
                start["line"],
                start["column"],
                it["message"].as_str().unwrap()
            )
        });
        told.collect::<Vec<_>>()
            .join("\n")
            .replace("; the hook is not in force", "")
    };
    let mut wrong = Vec::new();
    for (guard, expected) in [
        ("{ step-limit: { max: 3 } }", ""),
        ("redact-secrets", ""),
        ("{ loop-detector: }", ""),
    ] {
        let told = check(guard);
        if told != expected {
            wrong.push(format!("{guard}\n  expected {expected}\n  told     {told}"));
        }
    }
    let path = repo("tests/data/guards/mistakes.txt");
    let data = fs::read_to_string(&path).unwrap();
    let mut updated = Vec::new();
    for case in data.trim().split("\n\n") {
        let (guard, expected) = case.split_once('\n').unwrap();
        let told = check(guard);
        if told != expected {
            wrong.push(format!("{guard}\n  expected {expected}\n  told     {told}"));
        }
        updated.push(format!("{guard}\n{told}\n"));
    }
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        return fs::write(&path, updated.join("\n")).unwrap();
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n\n"));
}

#[test]
fn every_guard_is_listed() {
    let output = |format: &str| {
        let output = hookwire()
            .args(["check", "--list", "guards", "--format", format])
            .output()
            .unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stdout).unwrap()
    };
    let listed: Vec<Value> = output("json")
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let schema = schema("definitions");
    let described = schema["$defs"]["Guard"]["anyOf"][1]["properties"]
        .as_object()
        .unwrap();
    assert_eq!(listed.len(), described.len());
    for guard in &listed {
        assert_eq!(
            guard["about"],
            described[guard["name"].as_str().unwrap()]["description"],
            "{guard}"
        );
    }
    let text = output("text");
    for guard in &listed {
        assert!(text.contains(guard["about"].as_str().unwrap()), "{guard}");
        let events = guard["on"].as_array().unwrap();
        assert!(
            events
                .iter()
                .all(|event| hookwire::event::spec(event.as_str().unwrap()).is_some()),
            "{guard}"
        );
    }
}

#[test]
fn a_broken_guard_that_fails_closed_denies_its_natural_events() {
    for guard in [
        "{ step-limit: { max: 0 } }",
        "step-limt",
        "{ step-limit: [] }",
    ] {
        let (mut host, _dir) = TestHost::with(&format!(
            "hooks: [{{ name: g, fail: closed, guard: {guard} }}]"
        ));
        assert_eq!(
            host.dispatch(event("StepStart run=r"))["decision"],
            "deny",
            "{guard}"
        );
        assert_eq!(
            host.dispatch(event("PreToolUse run=r tool.name=A"))["decision"],
            "allow",
            "{guard}"
        );
    }
}

/// Each kind of handler says what it would have done, and does nothing: it fails, asks and rewrites
/// without effect.
#[test]
fn what_observes_decides_nothing() {
    let cases = [
        ("deny: no", "deny: no"),
        ("ask: 'sure?'", "ask: sure?"),
        ("allow: fine", "allow: fine"),
        ("command: 'echo bad >&2; exit 2'", "deny: bad"),
        (
            "command: 'exit 3'",
            "deny: hook `h` failed to run: exit status 3",
        ),
        (
            "command: 'sleep 9', timeout: 50ms",
            "deny: hook `h` failed to finish within its timeout (50ms)",
        ),
        #[cfg(feature = "script")]
        ("script: 'return deny(\"no\")'", "deny: no"),
        (
            "http: { url: 'http://127.0.0.1:9/' }",
            "deny: hook `h` failed to ",
        ),
        ("rewrite: { patch: { command: ls } }", "rewrite"),
        (
            "guard: { approval: { message: 'may it?' } }",
            "ask: may it?",
        ),
        (
            "guard: { rate-limit: { max: 1, within: 1h } }",
            "deny: Rate limit reached: 1 in 1h; try again in ",
        ),
    ];
    for (handler, expected) in cases {
        let hook = format!("{{ name: h, on: PreToolUse, observe: true, fail: closed, {handler} }}");
        let (mut host, _dir) = TestHost::with(&format!("hooks: [{hook}]"));
        host.request(
            "initialize",
            json!({"capabilities": {"hooks": {"requests": ["approval/request"]}}}),
        );
        if handler.contains("rate-limit") {
            host.bash("x");
        }
        let id = host.ask("hooks/dispatch", bash("x"));
        let reply = host.receive();
        assert_eq!(reply["id"], id, "{handler} asks nobody: {reply}");
        let verdict = &reply["result"];
        assert_eq!(
            (brief(verdict), verdict.get("subject")),
            ("allow".into(), None),
            "{handler}: {verdict}"
        );
        let observed = &verdict["outcomes"][0]["observed"];
        let what = match &observed["decision"] {
            Value::Null if observed["rewrote"] == true => "rewrite",
            decision => decision.as_str().unwrap_or("allow"),
        };
        let told = match observed["reason"].as_str() {
            Some(reason) => format!("{what}: {reason}"),
            None => what.to_string(),
        };
        assert!(told.starts_with(expected), "{handler}: {told}");
    }
}

/// A guard counts as always: what it has counted is there when it enforces.
#[test]
fn a_guard_that_observes_counts_on() {
    let file = |observe: &str| {
        format!(
            "hooks: [{{ name: g, on: PreToolUse, fail: closed, {observe}guard: {{ step-limit: {{ max: 2 }} }} }}]"
        )
    };
    let dir = hooks(&[("hooks.yaml", &file("observe: true, "))]);
    let mut host = TestHost::serve(dir.path());
    for expected in [
        Value::Null,
        Value::Null,
        json!("Step limit reached: 2/2"),
        json!("Step limit reached: 2/2"),
    ] {
        let verdict = host.bash("x");
        assert_eq!(brief(&verdict), "allow");
        assert_eq!(verdict["outcomes"][0]["observed"]["reason"], expected);
    }
    replace(&dir.path().join("hooks.yaml"), &file(""));
    host.request("hooks/reload", json!({}));
    assert_eq!(brief(&host.bash("x")), "deny by g: Step limit reached: 2/2");
}
