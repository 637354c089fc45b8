//! A commented sample of a dialect. Copy this file, rename, and add one line to `DIALECTS` in
//! `dialects/mod.rs`. It is compiled and tested, so it can't go stale.

use super::native::CONTRACT;
use super::{Dialect, EventRow};
use hookwire_base::verdict::{Answer, Decision};
use hookwire_rules::contract::{Composition, Contract, TOOL_NAME, Target};
use hookwire_rules::matching::MatcherRule;
use serde_json::{Value, json};

pub(super) static DIALECT: Dialect = Dialect {
    about: "the commented sample",
    contract: Contract {
        dialect: "sample",
        // How several hooks of that system combine. The five ways are in `contract.rs`.
        composition: Composition::Pipeline,
        runs_equal_hooks_once: false,
        matcher: MatcherRule::WholeName,
        // The part of an event that a matcher is held against.
        matched: |_| Target::Member(TOOL_NAME),
        // Its clients know these decisions beside allow and deny.
        decisions: &[],
        // Its clients can take nothing but a rewritten subject; `metadata` is for hooks only.
        context: &["metadata"],
        // The payload that its hooks read. The translator follows the tables below.
        payload: |event| DIALECT.write_event(event),
        // Reads a reply, over stdout, HTTP or a callback. An `Err` finishes "failed to ..."
        // and counts in the hook's failure direction.
        reply: |_, value| match value.get("ok") {
            Some(Value::Bool(true)) => Ok(Answer::default()),
            Some(Value::Bool(false)) => Ok(Answer::decide(Decision::Deny, "not ok")),
            _ => Err("read the reply: `ok` is not a boolean".into()),
        },
        // Reads a command's exit.
        exit: |_, exit| match exit.code {
            Some(0) => Ok(Answer::default()),
            _ => Ok(Answer::decide(Decision::Deny, exit.stderr.trim())),
        },
        // The rest is as with hookwire's own: see `Contract`.
        ..CONTRACT
    },
    // Its events: the name there, the canonical name, whether a deny and a rewrite are obeyed
    // there.
    events: &[EventRow {
        name: "before_tool",
        // Other names of it, and what tells rows of one name apart.
        also: &["beforeTool"],
        picks: None,
        near: None,
        canonical: "PreToolUse",
        blocks: true,
        denies_by_exit: false,
        rewrites: true,
        prints_context: false,
        // Where this event's members live, if elsewhere than in the others.
        members: &[("/args", "/tool/input")],
    }],
    // Where a payload names its event.
    event_name: "/kind",
    // Where members live, in both directions.
    members: &[("/conversation", "/session"), ("/tool", "/tool/name")],
    // Completes the native event with what the tables can't say.
    complete: |_, _| Ok(()),
    // How its own definition files become hookwire's, if it has such.
    files: None,
    // A verdict in its words.
    reply: |_, verdict| json!({ "ok": verdict.decision == Decision::Allow }),
    // How a coding agent that runs hooks as commands is told no.
    agent: None,
};

#[test]
fn translates_both_ways() {
    let payload = json!({"kind": "before_tool", "conversation": "c1", "tool": "Bash", "args": {"command": "ls"}, "extra": 1});
    let event = DIALECT.read_event(payload.clone()).unwrap();
    assert_eq!(
        event.data().clone(),
        json!({
            "event": "PreToolUse", "session": "c1", "tool": {"name": "Bash", "input": {"command": "ls"}}, "extra": 1,
        })
    );
    assert_eq!((DIALECT.contract.payload)(&event), payload);
    let rewritten = event.with_subject(json!({"command": "pwd"}));
    assert_eq!(
        (DIALECT.contract.payload)(&rewritten)["args"],
        json!({"command": "pwd"})
    );
}
