//! Whether a reply looks like a decision that its reader doesn't understand: another agent's word, or a slip. It must not
//! pass for silence, because a guard that says "no" in the wrong words would then never stop anything.
//!
//! Readers of coding agents' replies end with [`understood`]. The five systems whose documents say that such a reply is an
//! allow don't ask it.

use super::written;
use crate::event::{Event, Phase};
use crate::verdict::{Answer, Decision};
use serde_json::Value;

/// What a member's value has to be, to be a decision.
#[derive(Clone, Copy)]
enum Decides {
    /// A boolean, true is a yes; or any text, and one that isn't known counts as a no.
    ByAnyText,
    /// A boolean, true is a yes; or a word.
    ByWord,
    /// A boolean, true is a no; or a word, or the reason of a no.
    ByReason,
    /// False: whatever else it is, a reply may have it for something else.
    IfFalse,
    /// True, likewise.
    IfTrue,
    /// A word that can hardly be anything but a no or a question. A program's own report may have such a member, too.
    ByPlainNo,
}

/// The members that decide in some system, in lower case and without `_` and `-`.
const MEMBERS: &[(&[&str], Decides)] = &[
    (&["decision", "permissiondecision"], Decides::ByAnyText),
    (
        &[
            "action",
            "allow",
            "allowed",
            "approval",
            "approve",
            "approved",
            "authorized",
            "behavior",
            "behaviour",
            "effect",
            "granted",
            "judgement",
            "judgment",
            "permission",
            "permit",
            "permitted",
            "verdict",
        ],
        Decides::ByWord,
    ),
    (
        &[
            "block",
            "blocked",
            "denied",
            "deny",
            "disallow",
            "forbid",
            "forbidden",
            "refuse",
            "refused",
            "reject",
            "rejected",
            "veto",
        ],
        Decides::ByReason,
    ),
    (&["continue", "ok", "proceed"], Decides::IfFalse),
    (&["abort", "cancel", "stop"], Decides::IfTrue),
    (&["outcome", "response", "result", "status"], Decides::ByPlainNo),
];

/// Members that hold such members, beside those that decide themselves.
const HOLDERS: [&str; 2] = ["hookspecificoutput", "output"];

const YES: [&str; 16] = [
    "accept",
    "accepted",
    "allow",
    "allowed",
    "approve",
    "approved",
    "auto-approve",
    "continue",
    "grant",
    "granted",
    "ok",
    "pass",
    "permit",
    "permitted",
    "proceed",
    "yes",
];
const ASK: [&str; 9] =
    ["ask", "asks", "confirm", "defer", "escalate", "force-ask", "prompt", "review", "user-approval"];
/// Words that are a no wherever a program writes them.
const PLAIN_NO: [&str; 17] = [
    "block",
    "blocked",
    "blocks",
    "denied",
    "denies",
    "deny",
    "disallow",
    "disallowed",
    "forbid",
    "forbidden",
    "prohibited",
    "refuse",
    "refused",
    "reject",
    "reject-and-continue",
    "rejected",
    "veto",
];
const NO: [&str; 8] = ["abort", "cancel", "cancelled", "false", "halt", "no", "stop", "vetoed"];

/// How many letters may be wrong in the name of a member that is as long as this.
const SLIPS: [(usize, usize); 2] = [(12, 2), (7, 1)];

/// The answer that a reader made of a reply, unless more of the reply looks like a decision than it has read: those members
/// are in `read`, as JSON pointers.
///
/// # Errors
/// Names the member.
pub(super) fn understood(event: &Event, reply: &Value, read: &[&str], answer: Answer) -> Result<Answer, String> {
    // Nothing is stronger than a no, and nobody is asked at a note.
    let is_no = answer.decision == Some(Decision::Deny) || answer.stop.is_some();
    if is_no || event.spec.phase == Phase::Note {
        return Ok(answer);
    }
    let mut found = Vec::new();
    decisions(reply, "", read, &mut found);
    // Who speaks to several agents at once says the same to each.
    let unread = found.into_iter().find(|(_, says)| answer.decision.is_none_or(|it| *says > it));
    let Some((member, _)) = unread else { return Ok(answer) };
    let places: Vec<_> = read.iter().map(|place| format!("`{}`", written(place))).collect();
    let instead = match &places[..] {
        [] => "nothing decides here".to_string(),
        places => format!("what decides here is {}", places.join(" or ")),
    };
    Err(format!("read the reply: `{}` looks like a decision and isn't one; {instead}", written(&member)))
}

/// Whether plain text is nothing but a "no" or a question, which no agent reads there: `deny`, `"deny"`, `BLOCKED: because`.
pub(super) fn is_plain_no(text: &str) -> bool {
    let text = text.trim().trim_matches(['"', '\'']);
    let end = text.find(|c: char| !(c.is_ascii_alphabetic() || c == '-')).unwrap_or(text.len());
    let (first, rest) = text.split_at(end);
    let is_whole = rest.is_empty() || rest.starts_with(':') || rest == ".";
    is_whole && matches!(word(first, false), Some(Decision::Deny | Decision::Ask))
}

/// The decisions in a reply that weren't read, each with its place. Only members that may hold one are looked into, which the
/// parser's limit of depth bounds.
fn decisions(value: &Value, at: &str, read: &[&str], found: &mut Vec<(String, Decision)>) {
    for (key, value) in value.as_object().into_iter().flatten() {
        let place = format!("{at}/{key}");
        if read.contains(&&*place) {
            continue;
        }
        let name = plain(key);
        let (decides, is_exact) = match MEMBERS.iter().find(|(names, _)| names.contains(&&*name)) {
            Some((_, decides)) => (*decides, true),
            None => (Decides::ByWord, false),
        };
        if value.is_object() && (is_exact || HOLDERS.contains(&&*name)) {
            decisions(value, &place, read, found);
        } else if (is_exact || is_slip(&name))
            && let Some(says) = says(decides, value)
        {
            found.push((place, says));
        }
    }
}

/// What a member's value says, if that is a decision. Numbers count something.
fn says(decides: Decides, value: &Value) -> Option<Decision> {
    let yes = |is_yes: bool| if is_yes { Decision::Allow } else { Decision::Deny };
    match (decides, value) {
        (Decides::ByAnyText | Decides::ByWord, Value::Bool(is)) => Some(yes(*is)),
        (Decides::ByReason, Value::Bool(is)) => Some(yes(!*is)),
        (Decides::IfFalse, Value::Bool(is)) => (!*is).then_some(Decision::Deny),
        (Decides::IfTrue, Value::Bool(is)) => is.then_some(Decision::Deny),
        (Decides::ByAnyText, Value::String(text)) => {
            (!text.trim().is_empty()).then(|| word(text, true).unwrap_or(Decision::Deny))
        }
        (Decides::ByWord, Value::String(text)) => word(text, true),
        (Decides::ByReason, Value::String(text)) => (!text.trim().is_empty()).then_some(Decision::Deny),
        (Decides::IfFalse, Value::String(text)) => (plain(text) == "false").then_some(Decision::Deny),
        (Decides::IfTrue, Value::String(text)) => (plain(text) == "true").then_some(Decision::Deny),
        (Decides::ByPlainNo, Value::String(text)) => word(text, false).filter(|it| *it != Decision::Allow),
        (_, Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => None,
    }
}

/// What a word decides; `any`: also one that may mean something else elsewhere.
fn word(text: &str, any: bool) -> Option<Decision> {
    let word = text.trim().to_ascii_lowercase().replace('_', "-");
    let is_in = |words: &[&str]| words.contains(&&*word);
    match () {
        () if is_in(&PLAIN_NO) || any && is_in(&NO) => Some(Decision::Deny),
        () if is_in(&ASK) && (any || word.contains("ask")) => Some(Decision::Ask),
        () if any && (is_in(&YES) || word == "true") => Some(Decision::Allow),
        () => None,
    }
}

fn plain(name: &str) -> String {
    name.trim().to_ascii_lowercase().replace(['_', '-'], "")
}

/// Whether a name is that of a member which decides, but for a slip.
fn is_slip(name: &str) -> bool {
    let n_chars = name.len();
    let Some((_, n_wrong)) = SLIPS.iter().find(|(length, _)| n_chars >= *length && n_chars < 64) else { return false };
    let names = MEMBERS.iter().flat_map(|(names, _)| names.iter()).filter(|it| it.len() >= 7);
    names.into_iter().any(|it| strsim::osa_distance(it, name) <= *n_wrong)
}
