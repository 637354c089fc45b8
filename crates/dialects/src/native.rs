//! hookwire's own vocabulary: nothing is translated.

use super::replies::{
    bad_exit, first_line_excerpt, parse_stdout, reply_members, text_or, unreadable_reply,
};
use super::{Dialect, NATIVE};
use hookwire_base::event::{CONTEXT_MEMBERS, Event, Phase};
use hookwire_base::support::nearest::closest;
use hookwire_base::template::PATHS;
use hookwire_base::verdict::{Answer, Decision};
use hookwire_rules::contract::{Composition, Contract, Exit, Fail, Judgement, TOOL_NAME, Target};
use hookwire_rules::matching::{MatcherRule, ToolNaming};
use serde::Deserialize;
use serde_json::Value;
use std::time::Duration;

/// hookwire's own contract, which others differ from.
pub const CONTRACT: Contract = Contract {
    dialect: NATIVE,
    composition: Composition::Onion,
    runs_equal_hooks_once: false,
    matcher: MatcherRule::WholeName,
    tool_naming: ToolNaming::Canonical,
    tools_apart: &[],
    matched: |_| Target::Member(TOOL_NAME),
    matcher_names_events: false,
    is_for_others: None,
    takes_other_events: false,
    timeout: Duration::from_secs(30),
    gates_fail: Fail::Open,
    decisions: &[Decision::Ask, Decision::Defer],
    context_resumes: false,
    context: &CONTEXT_MEMBERS,
    payload: |event| event.data().clone(),
    stdin: None,
    environment: |_, _| Vec::new(),
    project_variables: &[],
    placeholders: PATHS,
    judgement: Judgement::Verdict,
    has_one_list: false,
    event_name: |event| &event.name,
    takes_no: |_| true,
    takes_no_elsewhere: |_| false,
    is_unfound: |_| false,
    // A default would send events to somewhere that nobody has named.
    has_small_model: false,
    reply: read_reply,
    returned: None,
    failed: |_, _| None,
    exit: read_exit,
    unstarted: |_, error| Err(error),
    trace: None,
    tally: None,
    belongs_to_agents: false,
};

/// What the contracts of coding agents have in common.
pub(super) const AGENT: Contract = Contract {
    composition: Composition::Parallel,
    decisions: &[],
    context: &["metadata"],
    ..CONTRACT
};

pub(super) static DIALECT: Dialect = Dialect {
    about: "hookwire's own",
    contract: CONTRACT,
    events: &[],
    event_name: "/event",
    members: &[],
    complete: |_, _| Ok(()),
    files: None,
    reply: |_, verdict| serde_json::to_value(verdict).unwrap_or_default(),
    agent: None,
};

fn read_reply(_: &Event, value: Value) -> Result<Answer, String> {
    let own = reply_members(&value)?;
    if own.contains_key("hookSpecificOutput") {
        return Err(unreadable_reply(
            "it is Claude Code's; give the hook `dialect: claude-code`",
        ));
    }
    // Whoever has no opinion leaves it out; a null is what became of a decision that got lost.
    if own.get("decision") == Some(&Value::Null) {
        return Err(unreadable_reply("`decision` is null"));
    }
    Answer::deserialize(&value).map_err(|error| {
        let unknown = reply_members(&value).ok().and_then(|members| {
            members
                .keys()
                .find(|key| !MEMBERS_OF_REPLIES.contains(&&***key))
        });
        let near =
            unknown.and_then(|unknown| Some((unknown, closest(unknown, MEMBERS_OF_REPLIES)?)));
        match near {
            Some((unknown, near)) => {
                unreadable_reply(format!("unknown field `{unknown}`; did you mean `{near}`?"))
            }
            None => unreadable_reply(error.to_string()),
        }
    })
}

/// What a reply may have.
const MEMBERS_OF_REPLIES: [&str; 10] = [
    "decision",
    "reason",
    "subject",
    "patch",
    "replace",
    "stop",
    "userMessages",
    "additionalContext",
    "context",
    "retry",
];

/// 0 is fine and stdout may hold a reply, 2 is a deny with stderr as the reason, anything else
/// failed.
fn read_exit(event: &Event, exit: &Exit<'_>) -> Result<Answer, String> {
    match exit.code {
        Some(0) => read_stdout(event, exit.stdout.trim()),
        Some(2) => Ok(Answer::decide(
            Decision::Deny,
            text_or(exit.stderr.trim(), "the hook denied it without a reason"),
        )),
        Some(_) | None => Err(bad_exit(exit)),
    }
}

fn read_stdout(event: &Event, stdout: &str) -> Result<Answer, String> {
    match stdout.chars().next() {
        None => Ok(Answer::default()),
        Some('{') => read_reply(event, parse_stdout(stdout)?),
        // A gate's reply is a decision: a banner before it must not void it in silence. Elsewhere
        // commands are tools that print, such as linters.
        Some(_) if event.spec.phase == Phase::Gate => Err(format!(
            "read the reply on stdout: it is not a JSON object (write other output to stderr): {}",
            first_line_excerpt(stdout)
        )),
        Some(_) => Ok(Answer::default()),
    }
}
