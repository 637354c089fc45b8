//! The host within a Rust program: closures as hooks, beside those of files.

use hookwire::agent_hook::{ChainError, ExecutionGrant};
use hookwire::{
    Answer, ClosureHook, Decision, Event, Fail, HookError, Host, HostBuilder, Interceptor, Judging,
    Policy, Question, Status, Verdict,
};
use serde_json::{Value, json};
use std::future::pending;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

fn event(value: Value) -> Event {
    Event::from_json(value).unwrap()
}

fn bash(command: &str) -> Event {
    event(
        json!({"event": "PreToolUse", "session": "s", "tool": {"name": "Bash", "input": {"command": command}}}),
    )
}

fn hooks_run(verdict: &Verdict) -> Vec<&str> {
    verdict
        .outcomes
        .iter()
        .map(|outcome| &*outcome.hook)
        .collect()
}

/// A hook that is never out of work is out of time all the same.
#[tokio::test]
async fn a_closure_that_always_finds_something_ready_is_ended() {
    let busy = ClosureHook::new("PreToolUse", "busy", |_| async {
        let (sender, mut receiver) = mpsc::unbounded_channel();
        loop {
            sender.send(()).unwrap();
            let Some(()) = receiver.recv().await else {
                return;
            };
        }
    });
    let host = Host::builder()
        .hook(busy.timeout(Duration::from_millis(50)).fail(Fail::Closed))
        .build()
        .unwrap();
    let verdict = host.dispatch(bash("ls")).await;
    assert_eq!(
        (verdict.decision, verdict.outcomes[0].status),
        (Decision::Deny, Status::Cancelled)
    );
}

/// Hooks may dispatch, and are told when that has no end.
#[tokio::test]
async fn a_hook_that_dispatches_what_it_hooks_comes_to_an_end() {
    static HOST: std::sync::OnceLock<Arc<Host>> = std::sync::OnceLock::new();
    let again = |_| async {
        let verdict = HOST.get().unwrap().dispatch(bash("ls")).await;
        Answer {
            decision: Some(verdict.decision),
            reason: verdict.reason,
            ..Answer::default()
        }
    };
    let host = HOST.get_or_init(|| {
        Host::builder()
            .on("PreToolUse", "again", again)
            .build()
            .unwrap()
    });
    let verdict = host.dispatch(bash("ls")).await;
    let why = "hooks dispatch events within hooks, more than 5 deep";
    assert_eq!(
        (verdict.decision, verdict.reason.as_deref()),
        (Decision::Deny, Some(why))
    );
}

#[tokio::test]
async fn closures_and_files_judge_together() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("hooks.yaml");
    let hooks = |deny: &str| {
        format!(
            "hooks:\n  - {{ name: early, on: PreToolUse, priority: 5, allow: fine }}\n  - {{ name: late, on: PreToolUse, priority: 50, if: 'Bash({deny}*)', deny: no }}\n"
        )
    };
    std::fs::write(&file, hooks("rm")).unwrap();
    let rewrite = ClosureHook::new("PreToolUse", "rewrite", |event| async move {
        let command = event
            .text("/tool/input/command")
            .unwrap_or_default()
            .replace("remove", "rm");
        Answer::rewrite(json!({ "command": command }))
    });
    let host = Host::builder()
        .hooks(dir.path())
        .hook(rewrite.matcher("Bash").priority(20))
        .build()
        .unwrap();
    assert_eq!(host.diagnostics(), [""; 0]);
    let verdict = host.dispatch(bash("remove x")).await;
    assert_eq!(
        (verdict.decision, verdict.decided_by.as_deref()),
        (Decision::Deny, Some("late"))
    );
    assert_eq!(hooks_run(&verdict), ["early", "rewrite", "early", "late"]);
    let verdict = host.dispatch(bash("ls")).await;
    assert_eq!(
        (verdict.decision, verdict.decided_by.as_deref()),
        (Decision::Allow, Some("early"))
    );

    // An edit keeps the closures; one that is added later is in force at once.
    std::fs::write(&file, hooks("ls")).unwrap();
    host.reload();
    let mut runs = host.subscribe();
    let mut changes = host.changes();
    assert_eq!(
        host.dispatch(bash("ls")).await.decided_by.as_deref(),
        Some("late")
    );
    assert_eq!(&*runs.recv().await.unwrap().outcome.hook, "early");
    host.add(
        ClosureHook::new("PreToolUse", "first", |_| async { Answer::deny("never") }).priority(1),
    )
    .unwrap();
    assert_eq!(&*changes.recv().await.unwrap().added[0], "first");
    let verdict = host.dispatch(bash("ls")).await;
    assert_eq!(
        (verdict.decided_by.as_deref(), verdict.outcomes.len()),
        (Some("first"), 4)
    );
    assert_eq!(verdict.outcomes[3].status, Status::Skipped);

    let payload = json!({"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"}});
    let reply = host.dispatch_as("claude-code", payload).await.unwrap();
    assert_eq!(
        reply.reply["hookSpecificOutput"]["permissionDecisionReason"],
        "never"
    );
    assert_eq!(
        host.dispatch_as("claude", json!({})).await.unwrap_err().0,
        "unknown dialect `claude`; did you mean `claude-code`?"
    );
}

/// What an error says before the amount in its parentheses.
pub(super) fn before_amount(error: &str) -> &str {
    error.split(" (").next().unwrap_or_default()
}

#[tokio::test]
async fn every_failure_in_every_direction() {
    for (what, error) in [
        ("err", "failed to reach the service"),
        ("panic", "failed to run: it panicked: out of range"),
        ("hang", "failed to finish within its timeout"),
    ] {
        for (fail, decision, status) in [
            (Fail::Open, Decision::Allow, Status::NonBlockingError),
            (Fail::Closed, Decision::Deny, Status::Blocking),
            (Fail::Ask, Decision::Ask, Status::Blocking),
        ] {
            let hook = ClosureHook::new("PreToolUse", "h", move |_| async move {
                match what {
                    "err" => Err(HookError::new("reach the service")),
                    "panic" => panic!("out of range"),
                    _ => pending::<Result<(), HookError>>().await,
                }
            });
            let hook = hook.fail(fail).timeout(Duration::from_millis(20));
            let host = Host::builder()
                .obeys([Decision::Ask])
                .hook(hook)
                .build()
                .unwrap();
            let verdict = host.dispatch(bash("ls")).await;
            let status = if what == "hang" {
                Status::Cancelled
            } else {
                status
            };
            let outcome = &verdict.outcomes[0];
            // A busy machine is late, and says by how much.
            let told = outcome.error.as_deref().map(before_amount);
            assert_eq!(
                (verdict.decision, outcome.status, told),
                (decision, status, Some(error))
            );
        }
    }
}

#[tokio::test]
async fn an_error_of_any_type_is_the_hooks_failure() {
    let host = Host::builder()
        .on("PreToolUse", "parse", |event| async move {
            let _: u8 = event
                .text("/tool/input/command")
                .unwrap_or_default()
                .parse()?;
            Ok::<_, HookError>(())
        })
        .build()
        .unwrap();
    let verdict = host.dispatch(bash("ls")).await;
    assert_eq!(
        verdict.outcomes[0].error.as_deref(),
        Some("failed to run: invalid digit found in string")
    );
}

#[tokio::test]
async fn cancelling_reaches_a_closure() {
    let (began, mut begin) = mpsc::channel(1);
    let (told, tell) = oneshot::channel();
    let (began, told) = (Arc::new(began), Arc::new(Mutex::new(Some(told))));
    let host = Host::builder()
        .on("PreToolUse", "waits", move |event| {
            let (began, told) = (began.clone(), told.clone());
            async move {
                let spawned = event.clone();
                tokio::spawn(async move {
                    spawned.cancelled().await;
                    told.lock().unwrap().take().map(|told| told.send(()))
                });
                began.send(()).await?;
                pending::<Result<(), HookError>>().await
            }
        })
        .build()
        .unwrap();
    let judging = tokio::spawn({
        let host = host.clone();
        async move { host.dispatch(bash("ls")).await }
    });
    begin.recv().await.unwrap();
    judging.abort();
    tell.await.unwrap();
}

#[tokio::test]
async fn what_closures_keep_is_what_files_hooks_see() {
    let dir = tempfile::tempdir().unwrap();
    let script = "if (state.get('count') >= 2) return { decision: 'deny', reason: 'twice' };";
    let hooks = json!({"hooks": [{"name": "limit", "on": "PreToolUse", "priority": 200, "script": script}]});
    std::fs::write(dir.path().join("hooks.json"), hooks.to_string()).unwrap();
    let count = ClosureHook::new("PreToolUse", "count", |event| async move {
        let count = event.state("count").and_then(|it| it.as_u64()).unwrap_or(0);
        event.set_state("count", json!(count + 1))
    });
    let host = Host::builder()
        .hooks(dir.path())
        .hook(count.fail(Fail::Closed))
        .build()
        .unwrap();
    for decision in [Decision::Allow, Decision::Deny] {
        let verdict = host.dispatch(bash("ls")).await;
        assert_eq!(verdict.decision, decision, "{verdict:?}");
    }
}

#[test]
fn hooks_that_cannot_be_meant_are_refused() {
    let hook = |on: &str| ClosureHook::new(on, "h", |_| async {});
    for (hook, problem) in [
        (
            hook("PreTolUse"),
            "hook `h`: unknown event `PreTolUse` (did you mean `PreToolUse`?)",
        ),
        (
            hook("PreToolUse").matcher("["),
            "hook `h`: bad regex: unclosed character class",
        ),
        (
            hook("PreToolUse").rule("Bash(x"),
            "hook `h`: a rule is written `Tool(pattern)`, such as `Bash(git push*)` (did you mean `Bash(x)`?)",
        ),
        (
            hook("PreToolUse").timeout(Duration::ZERO),
            "hook `h`: `timeout`: a duration is more than 0 and at most 24 h, found `0`",
        ),
    ] {
        assert_eq!(
            Host::builder()
                .hook(hook)
                .build()
                .err()
                .unwrap()
                .to_string(),
            problem
        );
    }
}

/// Turns every allow into another decision, and notes its name.
struct Turns(Arc<dyn Interceptor>, Decision, &'static str);

impl Interceptor for Turns {
    fn intercept(&self, question: Question) -> Judging<'_> {
        Box::pin(async move {
            let mut verdict = self.0.intercept(question).await;
            verdict.decision = verdict.decision.max(self.1);
            verdict.user_messages.push(self.2.into());
            verdict
        })
    }
}

#[tokio::test]
async fn policies_and_interceptors_add_up() {
    let host = Host::builder()
        .policy(Policy::new().deny("Bash(rm *)").unwrap().max_calls(4))
        .policy(Policy::new().deny("Bash(git push*)").unwrap().max_calls(3))
        .interceptor(|hooks| Arc::new(Turns(hooks, Decision::Allow, "inner")))
        .interceptor(|hooks| Arc::new(Turns(hooks, Decision::Allow, "outer")))
        .build()
        .unwrap();
    for (command, decision) in [
        ("rm x", Decision::Deny),
        ("git push", Decision::Deny),
        ("ls", Decision::Allow),
    ] {
        let verdict = host.dispatch(bash(command)).await;
        assert_eq!(
            (verdict.decision, &verdict.user_messages[..]),
            (decision, &["inner".to_string(), "outer".into()][..])
        );
    }
    // Each counts a call once.
    assert_eq!(
        host.dispatch(bash("ls")).await.grant,
        Some(json!({"callsLeft": 1}))
    );
}

#[tokio::test]
async fn a_chain_goes_on_with_nothing_but_an_allow() {
    for (decision, reason) in [
        (Decision::Allow, None),
        (Decision::Ask, Some("this needs a person's approval")),
        (Decision::Defer, Some("this would be put off")),
        (Decision::Deny, Some("")),
    ] {
        let host = Host::builder()
            .interceptor(move |hooks| Arc::new(Turns(hooks, decision, "")))
            .build()
            .unwrap();
        let (chain, hook) = (host.chain(), "hookwire".to_string());
        let ran = chain
            .run_pre_tool_call(
                "Bash",
                json!({}),
                ExecutionGrant::default(),
                &chain.context("s"),
            )
            .await;
        let refused = reason.map(|reason| ChainError::Aborted {
            hook,
            reason: reason.into(),
        });
        assert_eq!(ran.err(), refused);
    }
}

#[tokio::test]
async fn who_stops_is_who_is_named() {
    let host = Host::builder()
        .on("PreToolUse", "allows", |_| async {
            Answer::decide(Decision::Allow, "fine")
        })
        .on("PreToolUse", "stops", |_| async {
            Answer {
                stop: Some("enough".into()),
                ..Answer::default()
            }
        })
        .build()
        .unwrap();
    let chain = host.chain();
    let ran = chain
        .run_pre_tool_call(
            "Bash",
            json!({}),
            ExecutionGrant::default(),
            &chain.context("s"),
        )
        .await;
    assert_eq!(
        ran,
        Err(ChainError::Aborted {
            hook: "stops".into(),
            reason: "enough".into()
        })
    );
}

#[tokio::test]
async fn hooks_are_those_of_the_call() {
    let host = HostBuilder::default().build().unwrap();
    let payload = json!({"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"}});
    let (own, theirs) = (
        host.dispatch(bash("ls")),
        host.dispatch_as("claude-code", payload),
    );
    host.add(ClosureHook::new("PreToolUse", "late", |_| async {
        Answer::deny("late")
    }))
    .unwrap();
    let decisions = (own.await.decision, theirs.await.unwrap().verdict.decision);
    assert_eq!(decisions, (Decision::Allow, Decision::Allow));
    assert_eq!(host.dispatch(bash("ls")).await.decision, Decision::Deny);
}

#[test]
fn what_is_odd_about_a_closures_hook_is_told() {
    let hook = |name: &str| ClosureHook::new("Stop", name, |_| async { Answer::deny("no") });
    let host = Host::builder()
        .hook(hook("idle").matcher("Bash"))
        .build()
        .unwrap();
    host.add(hook("fine")).unwrap();
    let odd = "program: hook `idle`: `matcher` can never match: Stop names no tool (remove `matcher`, or write the condition as `when`)";
    assert_eq!(host.diagnostics(), [odd]);
}

#[tokio::test]
async fn commands_run_in_a_default_hosts_directory() {
    let dir = tempfile::tempdir().unwrap();
    let hooks = json!({"hooks": [{"name": "pwd", "on": "Stop", "fail": "closed", "command": "pwd >&2; exit 2"}]});
    std::fs::write(dir.path().join("hooks.json"), hooks.to_string()).unwrap();
    let host = HostBuilder::default().hooks(dir.path()).build().unwrap();
    let verdict = host
        .dispatch(event(json!({"event": "Stop", "session": "s"})))
        .await;
    let here = std::env::current_dir().unwrap().display().to_string();
    assert_eq!(
        (verdict.reason, verdict.outcomes[0].error.as_deref()),
        (Some(here), None)
    );
}

#[test]
fn errors_of_all_kinds_keep_their_texts() {
    #[derive(Debug)]
    struct Outer(std::io::Error);
    impl std::fmt::Display for Outer {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("error sending request")
        }
    }
    impl std::error::Error for Outer {
        fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
            Some(&self.0)
        }
    }
    let outer = || Outer(std::io::Error::other("connection refused"));
    let boxed: Box<dyn std::error::Error + Send + Sync> = outer().into();
    for (error, text) in [
        (
            HookError::from(outer()),
            "run: error sending request: connection refused",
        ),
        (
            HookError::from(boxed),
            "run: error sending request: connection refused",
        ),
        (HookError::from("a"), "run: a"),
        (HookError::from("b".to_string()), "run: b"),
        (HookError::new("reach it"), "reach it"),
    ] {
        assert_eq!(error.to_string(), text);
    }
}
