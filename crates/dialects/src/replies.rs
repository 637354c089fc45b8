//! Shared by the readers of replies. An error finishes the sentence "failed to ...".

use super::decisive::is_plain_no;
use hookwire_base::event::{Event, Phase};
use hookwire_base::support::visible::first_line_cut;
use hookwire_base::verdict::{Answer, Decision, Verdict};
use hookwire_rules::contract::{Exit, Reader};
use serde_json::{Map, Value};
use std::fmt::Display;

/// Why a hook blocked something, if it didn't say.
pub(super) const BLOCKED: &str = "Blocked by hook";

/// A reply that can't be read.
pub(super) fn unreadable_reply(what: impl Display) -> String {
    format!("read the reply: {what}")
}

/// The members of a reply.
pub(super) fn reply_members(reply: &Value) -> Result<&Map<String, Value>, String> {
    reply
        .as_object()
        .ok_or_else(|| unreadable_reply("it is not a JSON object"))
}

/// A reply with the messages for the person, and what is special to its event.
pub(super) fn whole_reply(
    mut reply: Map<String, Value>,
    mut specific: Map<String, Value>,
    messages: &[String],
    event: &str,
) -> Value {
    if !messages.is_empty() {
        reply.insert("systemMessage".into(), messages.join("\n").into());
    }
    if !specific.is_empty() {
        specific.insert("hookEventName".into(), event.into());
        reply.insert("hookSpecificOutput".into(), specific.into());
    }
    reply.into()
}

/// A text among the members; null is absent.
pub(super) fn text_member(
    members: &Map<String, Value>,
    key: &str,
) -> Result<Option<String>, String> {
    match members.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(unreadable_reply(format_args!("`{key}` is not a string"))),
    }
}

/// The JSON on a command's stdout.
pub(super) fn parse_stdout(stdout: &str) -> Result<Value, String> {
    hookwire_base::support::json::parse(stdout)
        .map_err(|error| format!("read the reply on stdout: {error}"))
}

/// Members that replies of agents' hooks begin with.
const REPLY_MEMBERS: [&str; 16] = [
    "hookSpecificOutput",
    "hookEventName",
    "permissionDecision",
    "permissionDecisionReason",
    "decision",
    "reason",
    "continue",
    "stopReason",
    "suppressOutput",
    "systemMessage",
    "additionalContext",
    "behavior",
    "cancel",
    "review",
    "errorMessage",
    "deny",
];

/// What is wrong with output that counts as plain text: a reply stands behind other text, such as
/// what a shell's profile prints, and no agent reads it there.
pub(super) fn unread_reply(stdout: &str) -> Vec<String> {
    let has_one = !stdout.starts_with('{')
        && stdout.split('{').skip(1).any(|rest| {
            let member = rest
                .trim_start()
                .strip_prefix('"')
                .and_then(|rest| rest.split('"').next());
            member.is_some_and(|member| REPLY_MEMBERS.contains(&member))
        });
    has_one
        .then(|| "its reply on stdout isn't read, because other text stands before it".to_string())
        .into_iter()
        .collect()
}

/// The same of an agent's hook, whose text may also be a word for a decision.
pub(super) fn describe_unread(event: &Event, stdout: &str) -> Vec<String> {
    let mut remarks = unread_reply(stdout);
    if event.spec.tool && event.spec.phase == Phase::Gate && is_plain_no(stdout) {
        remarks.push("its stdout looks like a decision, and a reply is a JSON object".to_string());
    }
    remarks
}

/// The answer of a command that says it in a reply on stdout, if it says anything; another exit
/// code than 0 failed.
pub(super) fn exit_of_reply(
    event: &Event,
    exit: &Exit<'_>,
    read: Reader,
) -> Result<Answer, String> {
    let stdout = exit.stdout.trim();
    match exit.code {
        Some(0) if stdout.starts_with('{') => read(event, parse_stdout(stdout)?),
        Some(0) => Ok(Answer {
            remarks: describe_unread(event, stdout),
            ..Answer::default()
        }),
        Some(_) | None => Err(bad_exit(exit)),
    }
}

/// How a command failed, by its exit.
pub(super) fn bad_exit(exit: &Exit<'_>) -> String {
    let cause = match exit.stderr.trim().lines().last() {
        // The cause usually is at the end of stderr.
        Some(line) => format!(": {}", first_line_excerpt(line)),
        None => String::new(),
    };
    match exit.code {
        Some(code) => format!("run: exit status {code}{cause}"),
        None => format!("run: ended by a signal{cause}"),
    }
}

/// The beginning of a text's first line.
pub(super) fn first_line_excerpt(text: &str) -> String {
    first_line_cut(text, 200)
}

/// Whether members of the one are gone in the other. Recursion is bounded by the depth limit of the
/// parser that read the values.
pub(super) fn removes_members(before: &Value, after: &Value) -> bool {
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => before.iter().any(|(key, value)| {
            after
                .get(key)
                .is_none_or(|after| removes_members(value, after))
        }),
        _ => false,
    }
}

/// The text, or the default if it is empty.
pub(super) fn text_or(text: &str, default: &str) -> String {
    if text.is_empty() {
        default.to_string()
    } else {
        text.to_string()
    }
}

/// Whether hooks had an opinion: an allow that none gave is not an approval.
pub(super) fn is_decided(verdict: &Verdict) -> bool {
    verdict.decided_by.is_some() || verdict.decision != Decision::Allow
}

/// The same verdict as a deny, because the agent has no word for what it says; the reason says
/// which.
pub(super) fn denied_verdict(verdict: &Verdict, why: &str) -> Verdict {
    let reason = match verdict
        .reason
        .as_deref()
        .filter(|_| verdict.decision != Decision::Allow)
    {
        Some(reason) if !reason.is_empty() => format!("{reason} ({why})"),
        Some(_) | None => why.to_string(),
    };
    Verdict {
        decision: Decision::Deny,
        reason: Some(reason),
        subject: None,
        stop: None,
        ..verdict.clone()
    }
}

/// The verdict with the end of the run as a deny, for agents that a hook can't end there.
pub(super) fn stop_denies(verdict: &Verdict) -> Verdict {
    match &verdict.stop {
        // Another reason than the end, which is a deny already.
        Some(stop)
            if verdict.decision == Decision::Deny && verdict.reason.as_ref() != Some(stop) =>
        {
            Verdict {
                stop: None,
                ..verdict.clone()
            }
        }
        Some(stop) => {
            let stop = text_or(stop, "A hook ends the run.");
            let verdict = &Verdict {
                reason: None,
                ..verdict.clone()
            };
            denied_verdict(
                verdict,
                &format!("{stop} (the run is to end, and the agent can't be told so here)"),
            )
        }
        None => verdict.clone(),
    }
}
