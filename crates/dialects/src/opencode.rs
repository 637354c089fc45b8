//! OpenCode has no hooks that are commands. Its plug-in, `agents/opencode.js`, runs a command at
//! each moment and obeys what it prints; the words between the two are this file's.
//!
//! A deny is an exception there, and the only no; that one keeps a prompt from the model is not
//! proven.

use super::decisive::check_understood;
use super::native::AGENT;
use super::replies::{
    BLOCKED, denied_verdict, exit_of_reply, reply_members, stop_denies, text_member, text_or,
    unreadable_reply,
};
use super::{CodingAgent, Dialect, EventRow, Refusal};
use hookwire_base::event::Event;
use hookwire_base::verdict::{Answer, Decision, Verdict};
use hookwire_rules::contract::Contract;
use serde_json::{Map, Value, json};

pub(super) static DIALECT: Dialect = Dialect {
    about: ", by a plug-in",
    contract: Contract {
        dialect: "opencode",
        payload: |event| DIALECT.write_event(event),
        reply: read_reply,
        exit: |event, exit| exit_of_reply(event, exit, read_reply),
        ..AGENT
    },
    events: &[
        EventRow::new("session.created", "SessionStart"),
        EventRow::new("session.idle", "RunEnd").near("Stop"),
        EventRow::new("session.error", "ModelCallError").members(&[("/error", "/model/error")]),
        EventRow::new("chat.message", "UserPromptSubmit").blocks(),
        EventRow::new("tool.execute.before", "PreToolUse")
            .blocks()
            .rewrites(),
        EventRow::new("tool.execute.after", "PostToolUse")
            .blocks()
            .rewrites(),
        EventRow::new("experimental.session.compacting", "PreCompact"),
    ],
    event_name: "/event",
    members: &[
        ("/sessionID", "/session"),
        ("/directory", "/cwd"),
        ("/tool", "/tool/name"),
        ("/callID", "/tool/callId"),
        ("/args", "/tool/input"),
        ("/output", "/tool/output"),
        ("/prompt", "/prompt"),
    ],
    complete: |_, _| Ok(()),
    reply: write_reply,
    files: None,
    agent: Some(CodingAgent {
        refusal: Refusal::Reply,
        withholds: false,
        mcp: None,
    }),
};

/// What takes a new value of the subject.
fn rewrite_target(event: &Event) -> Option<&'static str> {
    match &*event.name {
        "PreToolUse" => Some("args"),
        "PostToolUse" => Some("output"),
        _ => None,
    }
}

fn write_reply(event: &Event, verdict: &Verdict) -> Value {
    let blocks = DIALECT.row_of(event).is_some_and(|row| row.blocks);
    let mut verdict = stop_denies(verdict);
    if verdict.decision != Decision::Deny
        && verdict.subject.as_ref().is_some_and(|subject| {
            !(match rewrite_target(event) {
                Some("args") => subject.is_object(),
                Some(_) => subject.is_string(),
                None => false,
            })
        })
    {
        verdict = denied_verdict(
            &verdict,
            "a hook rewrote this, and OpenCode takes no such rewrite",
        );
    }
    let mut reply = Map::new();
    match (verdict.decision, verdict.subject.zip(rewrite_target(event))) {
        (Decision::Allow, None) => {}
        (Decision::Allow, Some((subject, key))) => drop(reply.insert(key.into(), subject)),
        (Decision::Ask | Decision::Defer | Decision::Deny, _) if blocks => {
            let reason = verdict.reason.as_deref().unwrap_or_default();
            reply.insert("deny".into(), json!(text_or(reason, BLOCKED)));
        }
        (Decision::Ask | Decision::Defer | Decision::Deny, _) => {}
    }
    if &*event.name == "PreCompact" && !verdict.additional_context.is_empty() {
        reply.insert("context".into(), json!(verdict.additional_context));
    }
    Value::Object(reply)
}

fn read_reply(event: &Event, value: Value) -> Result<Answer, String> {
    let object = reply_members(&value)?;
    let mut answer = Answer::default();
    if let Some(reason) = text_member(object, "deny")? {
        answer = Answer::decide(Decision::Deny, text_or(&reason, BLOCKED));
    }
    answer.subject = rewrite_target(event)
        .and_then(|key| object.get(key))
        .filter(|it| !it.is_null())
        .cloned();
    answer.additional_context = match object.get("context") {
        None | Some(Value::Null) => Vec::new(),
        Some(context) => serde_json::from_value(context.clone()).map_err(unreadable_reply)?,
    };
    check_understood(event, &value, &["/deny"], answer)
}
