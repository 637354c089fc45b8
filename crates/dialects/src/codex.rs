//! Codex's hooks: Claude Code's form with fewer events and words.
//!
//! Codex drops a reply with a word that it doesn't know or refuses, and the tool then runs. So
//! nothing is said but what it obeys, and what it has no word for is a deny: a question, the end of
//! the run at a tool call, another input where it takes none.
//!
//! Its own files give timeouts in seconds. Its hooks run all at once; of several rewrites the last
//! to finish wins there, in the order of definition here.

use super::claude_code::{self, plain_stdout, reason_of_deny, reply_on_stdout};
use super::native::AGENT;
use super::replies::{
    BLOCKED, bad_exit, denied_verdict, reply_members, stop_denies, unreadable_reply,
};
use super::{CodingAgent, Dialect, EventRow, Refusal, canonical_row, settings};
use hookwire_base::event::Event;
use hookwire_base::verdict::{Answer, Decision, Verdict};
use hookwire_rules::contract::{Contract, Exit};
use hookwire_rules::matching::MatcherRule;
use serde_json::{Map, Value, json};
use std::time::Duration;

pub(super) static DIALECT: Dialect = Dialect {
    about: "",
    contract: Contract {
        dialect: "codex",
        runs_equal_hooks_once: true,
        matcher: MatcherRule::Search,
        matched: claude_code::matcher_target,
        timeout: Duration::from_secs(600),
        payload: |event| DIALECT.write_event(event),
        reply: read_reply,
        exit: read_exit,
        ..AGENT
    },
    events: &[
        canonical_row("SessionStart").blocks(),
        canonical_row("SessionEnd"),
        canonical_row("UserPromptSubmit").blocks(),
        canonical_row("PreToolUse").blocks().rewrites(),
        canonical_row("PermissionRequest").blocks(),
        canonical_row("PostToolUse").blocks(),
        canonical_row("Stop").blocks(),
        canonical_row("SubagentStart").blocks(),
        canonical_row("SubagentStop").blocks(),
        canonical_row("PreCompact").blocks(),
        canonical_row("PostCompact"),
        EventRow::new("Interrupt", "RunError"),
        EventRow::new("PreModelRequest", "PreModelCall"),
        EventRow::new("PostModelRequest", "PostModelCall"),
    ],
    event_name: "/hook_event_name",
    members: &[
        ("/session_id", "/session"),
        ("/turn_id", "/run"),
        ("/cwd", "/cwd"),
        ("/model", "/model/name"),
        ("/tool_name", "/tool/name"),
        ("/tool_use_id", "/tool/callId"),
        ("/tool_input", "/tool/input"),
        ("/tool_response", "/tool/output"),
        ("/prompt", "/prompt"),
        ("/agent_type", "/agent/name"),
        ("/agent_id", "/agent/id"),
        ("/stop_hook_active", "/stopActive"),
        ("/last_assistant_message", "/lastMessage"),
    ],
    complete: |_, _| Ok(()),
    reply: write_reply,
    files: Some(settings::FILES),
    // The exit code of a hook at a permission request isn't documented.
    agent: Some(CodingAgent {
        refusal: Refusal::ExitCode(&[
            "SessionStart",
            "PermissionRequest",
            "SubagentStart",
            "PreCompact",
        ]),
        withholds: false,
        mcp: None,
    }),
};

/// Where a hook's text for the model has a place.
const TAKES_CONTEXT: [&str; 5] = [
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "SubagentStart",
];

/// Where the only no is the end of the run.
const ONLY_ENDS: [&str; 3] = ["SessionStart", "SubagentStart", "PreCompact"];

fn write_reply(event: &Event, verdict: &Verdict) -> Value {
    let name = &*event.name;
    let mut verdict = match name {
        "PreToolUse" | "PermissionRequest" => stop_denies(verdict),
        _ => verdict.clone(),
    };
    match (name, verdict.decision) {
        ("PreToolUse", Decision::Ask | Decision::Defer) => {
            verdict = denied_verdict(&verdict, "Codex can't ask here")
        }
        // An approval by itself voids the reply; with a new input it must be said.
        ("PreToolUse", Decision::Allow) => {
            verdict.decided_by = verdict.subject.is_some().then(|| "".into())
        }
        ("PermissionRequest", Decision::Allow) if verdict.subject.is_some() => {
            verdict = denied_verdict(
                &verdict,
                "a hook rewrote this, and Codex takes no rewrite here",
            );
        }
        // The question goes on to the person.
        (_, Decision::Allow) | ("PermissionRequest", Decision::Ask | Decision::Defer) => {}
        _ if ONLY_ENDS.contains(&name) => {
            let reason = verdict.reason.take().filter(|reason| !reason.is_empty());
            verdict.stop = verdict.stop.or(reason).or_else(|| Some(BLOCKED.into()));
            verdict.decision = Decision::Allow;
        }
        _ => {}
    }
    if !TAKES_CONTEXT.contains(&name) {
        verdict.additional_context.clear();
    }
    if name != "PreToolUse" {
        verdict.subject = None;
    }
    let mut reply = claude_code::write_reply(&DIALECT, event, &verdict);
    if let Some(reply) = reply.as_object_mut() {
        // An interruption and what isn't known of Codex take a message and no more; the end of a
        // session nothing.
        reply.retain(|key, _| match name {
            "SessionEnd" => false,
            "RunError" => key == "systemMessage",
            _ => DIALECT.row(name).is_some() || key == "systemMessage",
        });
    }
    reply
}

/// Words of a reply that void it: Codex knows them and refuses them at these events.
fn refused_member(event: &Event, reply: &Map<String, Value>) -> Option<&'static str> {
    let specific = |key: &str| {
        reply
            .get("hookSpecificOutput")
            .and_then(|it| it.get(key))
            .filter(|it| !it.is_null())
    };
    let is = |key: &str, word: &str| specific(key).is_some_and(|it| it == word);
    let says = |key: &str, value: Value| reply.get(key) == Some(&value);
    let of_decision = |key: &str| {
        specific("decision")
            .and_then(|it| it.get(key))
            .is_some_and(|it| !it.is_null() && it != false)
    };
    match &*event.name {
        "PreToolUse" if is("permissionDecision", "ask") => Some("`ask`"),
        "PreToolUse" if is("permissionDecision", "allow") != specific("updatedInput").is_some() => {
            Some("`allow` without `updatedInput`, or the reverse")
        }
        "PreToolUse"
            if is("permissionDecision", "deny")
                && no_text(specific("permissionDecisionReason")) =>
        {
            Some("a deny without a reason")
        }
        "PreToolUse" if says("decision", json!("approve")) => Some("`approve`"),
        "PreToolUse" if says("continue", json!(false)) => Some("`continue`"),
        "PreToolUse" if reply.contains_key("stopReason") => Some("`stopReason`"),
        "PreToolUse" if says("suppressOutput", json!(true)) => Some("`suppressOutput`"),
        "PermissionRequest"
            if ["updatedInput", "updatedPermissions", "interrupt"]
                .into_iter()
                .any(of_decision) =>
        {
            Some("`updatedInput`, `updatedPermissions` and `interrupt`")
        }
        _ if says("decision", json!("block")) && no_text(reply.get("reason")) => {
            Some("a block without a reason")
        }
        _ => None,
    }
}

fn no_text(value: Option<&Value>) -> bool {
    value
        .and_then(Value::as_str)
        .is_none_or(|text| text.trim().is_empty())
}

const COMMON: [&str; 4] = ["continue", "stopReason", "suppressOutput", "systemMessage"];

fn read_reply(event: &Event, value: Value) -> Result<Answer, String> {
    let object = reply_members(&value)?;
    let blocks = [
        "UserPromptSubmit",
        "PreToolUse",
        "PostToolUse",
        "Stop",
        "SubagentStop",
    ]
    .contains(&&*event.name);
    if let Some(unknown) = object.keys().find(|key| {
        !(COMMON.contains(&key.as_str())
            || *key == "hookSpecificOutput"
            || blocks && ["decision", "reason"].contains(&key.as_str()))
    }) {
        return Err(unreadable_reply(format_args!(
            "Codex doesn't know `{unknown}` here"
        )));
    }
    if let Some(what) = refused_member(event, object) {
        return Err(unreadable_reply(format_args!("Codex refuses {what} here")));
    }
    claude_code::read_reply(&DIALECT, event, value)
}

fn read_exit(event: &Event, exit: &Exit<'_>) -> Result<Answer, String> {
    let stdout = exit.stdout.trim();
    match exit.code {
        Some(0) => reply_on_stdout(event, stdout, read_reply)
            .unwrap_or_else(|| Ok(plain_stdout(event, stdout))),
        Some(2) => {
            let reason = reason_of_deny(reply_on_stdout(event, stdout, read_reply));
            match reason.unwrap_or_else(|| exit.stderr.trim().to_string()) {
                reason if reason.is_empty() => {
                    Err("deny: it exited with 2 and said no reason on stderr".into())
                }
                reason => Ok(claude_code::block_event(&DIALECT, event, reason)),
            }
        }
        Some(_) | None => Err(bad_exit(exit)),
    }
}
