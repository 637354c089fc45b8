//! The policy of definition files and programs: decided before any hook, by every layer, and by
//! nothing that can't be told.

use crate::installed::Project;
use crate::support::*;
use hookwire::agent_hook::{ChainError, ExecutionGrant};
use hookwire::{Answer, Decision, Event, HookEvent, Host, Policy, Status, Verdict};
use serde_json::{Value, json};
use std::sync::Arc;

fn call(tool: &str, input: Value) -> Event {
    let tool = json!({"name": tool, "input": input});
    Event::from_json(
        json!({"event": "PreToolUse", "session": "s", "run": "r", "cwd": "/p", "tool": tool}),
    )
    .unwrap()
}

fn bash(command: &str) -> Event {
    call("Bash", json!({ "command": command }))
}

fn host(yaml: &str) -> (Arc<Host>, tempfile::TempDir) {
    let dir = hooks(&[("hooks.yaml", yaml)]);
    (Host::builder().hooks(dir.path()).build().unwrap(), dir)
}

fn reason(verdict: &Verdict) -> &str {
    verdict.reason.as_deref().unwrap_or_default()
}

#[tokio::test]
async fn no_hook_runs_on_what_the_policy_denies() {
    let (host, _dir) = host(
        "policy: { deny: 'Bash(rm *)' }\nhooks:\n  - { name: a, on: PreToolUse, allow: fine }\n  - { name: b, on: PostToolUse, deny: no }\n",
    );
    let verdict = host.dispatch(bash("cd x && rm y")).await;
    assert_eq!(
        (verdict.decision, verdict.decided_by.as_deref()),
        (Decision::Deny, Some("policy"))
    );
    assert_eq!(reason(&verdict), "the policy denies `Bash(rm *)`");
    let outcomes: Vec<_> = verdict
        .outcomes
        .iter()
        .map(|it| (&*it.hook, it.status, it.reason.as_deref()))
        .collect();
    let refused = (
        "policy",
        Status::Blocking,
        Some("the policy denies `Bash(rm *)`"),
    );
    assert_eq!(
        outcomes,
        [
            refused,
            ("a", Status::Skipped, Some("denied by the policy before"))
        ]
    );
    let verdict = host.dispatch(bash("ls")).await;
    assert_eq!(
        (
            verdict.decision,
            verdict.decided_by.as_deref(),
            verdict.grant
        ),
        (Decision::Allow, Some("a"), None)
    );
}

#[tokio::test]
async fn a_limit_counts_the_calls_of_a_run() {
    let (host, _dir) = host(
        "policy: { limits: { maxCalls: 2 } }\nhooks: [{ name: no, on: PreToolUse, if: Bash(no), deny: no }]\n",
    );
    let mut left = Vec::new();
    for (command, run) in [
        ("ls", "r"),
        ("no", "r"),
        ("ls", "r"),
        ("ls", "r"),
        ("ls", "other"),
    ] {
        let mut event = bash(command);
        event.change(|data| data["run"] = run.into());
        let verdict = host.dispatch(event).await;
        let by = verdict
            .decided_by
            .as_deref()
            .unwrap_or("nobody")
            .to_string();
        left.push((by, verdict.grant.map(|grant| grant["callsLeft"].clone())));
    }
    // A call that a hook denied isn't counted. Its grant is void.
    let expected = [
        ("nobody", Some(json!(1))),
        ("no", None),
        ("nobody", Some(json!(0))),
        ("policy", None),
        ("nobody", Some(json!(1))),
    ];
    assert_eq!(left, expected.map(|(by, left)| (by.to_string(), left)));
}

/// Calls at the same time don't pass the limit together, and one that is cancelled gives its place
/// back.
#[tokio::test]
async fn a_call_counts_while_it_is_judged() {
    let judging = Arc::new(tokio::sync::Notify::new());
    let begun = judging.clone();
    let host = Host::builder()
        .policy(Policy::new().max_calls(1))
        .on("PreToolUse", "waits", move |event: HookEvent| {
            let begun = begun.clone();
            async move {
                if event
                    .tool_input()
                    .is_some_and(|input| input["command"] == "slow")
                {
                    begun.notify_one();
                    std::future::pending::<()>().await;
                }
                Answer::default()
            }
        })
        .build()
        .unwrap();
    let first = tokio::spawn({
        let host = host.clone();
        async move { host.dispatch(bash("slow")).await }
    });
    judging.notified().await;
    assert_eq!(
        host.dispatch(bash("ls")).await.decided_by.as_deref(),
        Some("policy")
    );
    first.abort();
    assert!(first.await.unwrap_err().is_cancelled());
    assert_eq!(host.dispatch(bash("ls")).await.decision, Decision::Allow);
    assert_eq!(
        host.dispatch(bash("ls")).await.decided_by.as_deref(),
        Some("policy")
    );
}

#[tokio::test]
async fn every_layer_must_allow() {
    let dir = hooks(&[
        (
            "outer/policy.yaml",
            "policy: { allow: [Read, 'Bash(git *)'], sandbox: read-only, limits: { timeout: 9s } }",
        ),
        (
            "root/.hookwire/policy.yaml",
            "policy: { deny: 'Bash(git push*)', sandbox: none, limits: { timeout: 5s } }",
        ),
    ]);
    let builder = Host::builder()
        .root(dir.path().join("root"))
        .hooks(dir.path().join("outer"))
        .project(true);
    let host = builder
        .policy(
            Policy::new()
                .deny("Read(/etc/**)")
                .unwrap()
                .max_output_bytes(10),
        )
        .build()
        .unwrap();
    assert_eq!(host.diagnostics(), [""; 0]);
    for (event, expected) in [
        (bash("git status"), ""),
        (bash("git push"), "the policy denies `Bash(git push*)`"),
        (
            bash("ls"),
            "the policy doesn't allow this call of `Bash`: no `allow` covers `ls`",
        ),
        (call("Read", json!({"file_path": "x"})), ""),
        (
            call("Read", json!({"file_path": "/etc/passwd"})),
            "the policy denies `Read(/etc/**)`",
        ),
        (
            call("Write", json!({"file_path": "x"})),
            "the policy doesn't allow this call of `Write`: no `allow` covers `/p/x`",
        ),
    ] {
        let verdict = host.dispatch(event).await;
        assert_eq!(reason(&verdict), expected);
        let grant = json!({"sandbox": "read-only", "timeoutMs": 5000, "maxOutputBytes": 10});
        assert_eq!(verdict.grant, expected.is_empty().then_some(grant));
    }
}

#[tokio::test]
async fn nobody_smuggles_in_what_the_policy_denies() {
    let host = Host::builder()
        .policy(Policy::new().deny("Bash(rm *)").unwrap())
        .on("PreToolUse", "rewrites", |_| async {
            Answer::rewrite(json!({"command": "rm -rf /"}))
        })
        .build()
        .unwrap();
    let verdict = host.dispatch(bash("ls")).await;
    assert_eq!(
        (
            verdict.decision,
            verdict.decided_by.as_deref(),
            verdict.subject
        ),
        (Decision::Deny, Some("policy"), None)
    );
    let (chain, ls) = (host.chain(), json!({"command": "ls"}));
    let ctx = chain.context("s");
    let refused = chain
        .run_pre_tool_call("Bash", ls, ExecutionGrant::default(), &ctx)
        .await
        .unwrap_err();
    let (hook, reason) = (
        "policy".to_string(),
        "the policy denies `Bash(rm *)`".to_string(),
    );
    assert_eq!(refused, ChainError::Aborted { hook, reason });
}

#[tokio::test]
async fn a_broken_policy_allows_nothing_and_a_good_one_stays() {
    let good = "policy: { deny: WebFetch }\n";
    for broken in [
        "policy: { deny: 'Bash(x' }\n",
        "policy: { allw: Read }\n",
        "policy: [Read]\n",
        "policy: { limits: { maxCalls: 0 } }\n",
    ] {
        let (cold, _dir) = host(broken);
        assert_eq!(cold.diagnostics().len(), 1, "{broken}");
        let verdict = cold.dispatch(bash("ls")).await;
        assert_eq!(
            (verdict.decision, verdict.decided_by.as_deref()),
            (Decision::Deny, Some("policy")),
            "{broken}"
        );
        assert!(
            reason(&verdict).contains("hooks.yaml:1 is broken, so nothing is allowed: "),
            "{verdict:?}"
        );

        let (warm, dir) = host(good);
        std::fs::write(dir.path().join("hooks.yaml"), broken).unwrap();
        warm.reload();
        assert_eq!(
            warm.dispatch(bash("ls")).await.decision,
            Decision::Allow,
            "the last good one stays"
        );
        assert_eq!(
            warm.dispatch(call("WebFetch", json!({"url": "x"})))
                .await
                .decision,
            Decision::Deny
        );
        std::fs::remove_file(dir.path().join("hooks.yaml")).unwrap();
        warm.reload();
        assert_eq!(
            warm.dispatch(call("WebFetch", json!({"url": "x"})))
                .await
                .decision,
            Decision::Allow
        );
    }
}

#[test]
fn explain_tells_of_the_policy_and_registering_one_is_refused() {
    let (mut host, _dir) = TestHost::with(
        "policy: { deny: 'Bash(rm *)' }\nhooks: [{ name: a, on: PreToolUse, allow: fine }]\n",
    );
    let explain = |host: &mut TestHost, command: &str| {
        let event =
            json!({"event": "PreToolUse", "tool": {"name": "Bash", "input": {"command": command}}});
        host.request("hooks/explain", event)["policy"][0]["denies"].clone()
    };
    assert_eq!(explain(&mut host, "rm x"), "the policy denies `Bash(rm *)`");
    assert_eq!(explain(&mut host, "ls"), Value::Null);
    let policy = json!({"policy": {"deny": ["Read"]}, "hooks": [{"name": "b", "on": "PreToolUse", "allow": "x"}]});
    let refused = host.refused("hooks/register", policy);
    assert_eq!(
        refused["message"],
        "invalid params: `policy`: it is written in a definition file, not registered"
    );
}

#[test]
fn the_policy_stands_beside_the_hooks_and_says_why() {
    let policy = "policy: { reason: Ask Ana, allow: ['Bash(date *)'] }\nhooks: []\n";
    let (project, dir) = (Project::new(), hooks(&[("p.yaml", policy)]));
    let said = |args: &[&str]| {
        let args = [
            args,
            &["--isolated", "--hooks", dir.path().to_str().unwrap()],
        ]
        .concat();
        let output = project.run(&args, "");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    for (args, expected) in [
        (&["check"][..], "1 policy in force"),
        (&["check", "--list"], "allows only what 1 rule covers"),
        (&["doctor"], "1 policy in force"),
        (
            &["explain", "--run", "--bash", "FOO=1 date"],
            "Ask Ana (the policy doesn't allow this call of `Bash`: no `allow` covers `FOO=1` before `date`; the nearest is `Bash(date *)`)",
        ),
        (&["explain", "--run", "--bash", "date; x"], "covers `x`)"),
    ] {
        let told = said(args);
        assert!(told.contains(expected), "{args:?}: {told}");
    }
}
