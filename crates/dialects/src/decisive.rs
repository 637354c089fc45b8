//! Whether a reply looks like a decision that its reader doesn't understand: another agent's word,
//! or a slip. It must not pass for silence, because a guard that says "no" in the wrong words would
//! then never stop anything.
//!
//! Readers of coding agents' replies end with [`check_understood`]. The five systems whose documents say
//! that such a reply is an allow don't ask it.

use super::describe_pointer;
use hookwire_base::event::{Event, Phase};
use hookwire_base::support::json::parse;
use hookwire_base::verdict::{Answer, Decision};
use serde_json::Value;

/// How a member's value decides. Empty texts, lists and maps don't.
#[derive(Clone, Copy)]
enum Decides {
    /// A boolean or a number that stands for one, true is a yes; or a word. Any other value counts
    /// as a no.
    ByWord,
    /// Likewise, but true is a no, and nothing is counted by 0. A text may be the reason of the no.
    ByReason,
    /// All but true and words for yes.
    IfNotTrue,
    /// All but false and words for no.
    IfNotFalse,
    /// A word that can hardly be anything but a no or a question, also in a list or a map. A
    /// program's own report may have such a member, too.
    ByPlainNo,
    /// A boolean or a known word, or a plain no in a list or a map: a slip may be a name of
    /// something else.
    BySlip,
}

/// The members that decide in some system, in lower case and without `_` and `-`.
const MEMBERS: &[(&[&str], Decides)] = &[
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
            "decision",
            "effect",
            "granted",
            "judgement",
            "judgment",
            "permission",
            "permissiondecision",
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
    (&["continue", "ok", "proceed"], Decides::IfNotTrue),
    (&["abort", "cancel", "stop"], Decides::IfNotFalse),
    (
        &["outcome", "response", "result", "status"],
        Decides::ByPlainNo,
    ),
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
const ASK: [&str; 9] = [
    "ask",
    "asks",
    "confirm",
    "defer",
    "escalate",
    "force-ask",
    "prompt",
    "review",
    "user-approval",
];
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
const NO: [&str; 10] = [
    "abort",
    "cancel",
    "cancelled",
    "false",
    "halt",
    "never",
    "no",
    "nope",
    "stop",
    "vetoed",
];

/// How many letters may be wrong in the name of a member that is as long as this.
const SLIPS: [(usize, usize); 2] = [(12, 2), (7, 1)];

/// The answer that a reader made of a reply, unless more of the reply looks like a decision than it
/// has read: those members are in `read`, as JSON pointers.
///
/// # Errors
/// Names the member.
pub(super) fn check_understood(
    event: &Event,
    reply: &Value,
    read: &[&str],
    answer: Answer,
) -> Result<Answer, String> {
    // Nothing is stronger than a no, and nobody is asked at a note.
    let is_no = answer.decision == Some(Decision::Deny) || answer.stop.is_some();
    if is_no || event.spec.phase == Phase::Note {
        return Ok(answer);
    }
    let mut found = Vec::new();
    collect_decisions(reply, "", read, &mut found);
    // Who speaks to several agents at once says the same to each.
    let unread = found
        .into_iter()
        .find(|(_, says)| answer.decision.is_none_or(|decision| *says > decision));
    let Some((member, _)) = unread else {
        return Ok(answer);
    };
    let places: Vec<_> = read
        .iter()
        .map(|place| format!("`{}`", describe_pointer(place)))
        .collect();
    let instead = match &places[..] {
        [] => "nothing decides here".to_string(),
        places => format!("what decides here is {}", places.join(" or ")),
    };
    Err(format!(
        "read the reply: `{}` looks like a decision and isn't one; {instead}",
        describe_pointer(&member)
    ))
}

/// Whether plain text is a "no" or a question, which no agent reads there: `deny`, `"deny"`,
/// `blocked by a rule`, `No.`, `decision: deny`, `["deny"]`.
pub(super) fn is_plain_no(text: &str) -> bool {
    let text = text.trim();
    if text.starts_with('[') {
        return parse(text).is_ok_and(|list| has_no(&list));
    }
    let text = text.trim_start_matches(|c: char| !c.is_alphanumeric());
    let (first, rest) = first_word(text);
    let is_no = |word: &str, any: bool| {
        matches!(
            self::word_decision(word, any),
            Some(Decision::Deny | Decision::Ask)
        )
    };
    let ends =
        rest.is_empty() || rest.starts_with([':', ',', '.', ';', '!', '\n', '\r', '"', '\'']);
    if is_no(first, false) || ends && is_no(first, true) {
        return true;
    }
    let said = rest
        .trim_start_matches(['"', '\'', ' '])
        .strip_prefix([':', '=', '>']);
    let said = said.map(|it| first_word(it.trim_start_matches(|c: char| !c.is_alphanumeric())).0);
    decisive_member(&plain_name(first)).is_some() && said.is_some_and(|said| is_no(said, true))
}

/// The word that a text begins with, and the rest.
fn first_word(text: &str) -> (&str, &str) {
    text.split_at(
        text.find(|c: char| !(c.is_ascii_alphabetic() || c == '-' || c == '_'))
            .unwrap_or(text.len()),
    )
}

/// How a member decides whose name is written so.
fn decisive_member(name: &str) -> Option<Decides> {
    MEMBERS
        .iter()
        .find(|(names, _)| names.contains(&name))
        .map(|(_, decides)| *decides)
}

/// The decisions in a reply that weren't read, each with its place. Only members that may hold one
/// are looked into, which the parser's limit of depth bounds.
fn collect_decisions(value: &Value, at: &str, read: &[&str], found: &mut Vec<(String, Decision)>) {
    for (key, value) in value.as_object().into_iter().flatten() {
        let place = format!("{at}/{key}");
        if read.contains(&&*place) {
            continue;
        }
        let name = plain_name(key);
        let decides = decisive_member(&name).or_else(|| is_slip(&name).then_some(Decides::BySlip));
        let n_before = found.len();
        if value.is_object() && (decisive_member(&name).is_some() || HOLDERS.contains(&&*name)) {
            collect_decisions(value, &place, read, found);
        }
        if found.len() == n_before
            && let Some(says) = decides.and_then(|decides| value_decision(decides, value))
        {
            found.push((place, says));
        }
    }
}

/// What a member's value says, if that is a decision. What isn't understood is a no.
fn value_decision(decides: Decides, value: &Value) -> Option<Decision> {
    let is_empty = match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    };
    if is_empty {
        return None;
    }
    let is = match value {
        Value::Bool(is) => Some(*is),
        Value::Number(number) => [(0.0, false), (1.0, true)]
            .into_iter()
            .find(|it| number.as_f64() == Some(it.0))
            .map(|it| it.1),
        _ => None,
    };
    let text = value.as_str();
    let known = text.and_then(|text| word_decision(text, true));
    let yes = |is_yes: bool| {
        if is_yes {
            Decision::Allow
        } else {
            Decision::Deny
        }
    };
    match decides {
        Decides::ByWord => Some(is.map(yes).or(known).unwrap_or(Decision::Deny)),
        Decides::ByReason if value.is_number() => (is != Some(false)).then_some(Decision::Deny),
        Decides::ByReason => Some(is.map_or(Decision::Deny, |is| yes(!is))),
        Decides::IfNotTrue if value.is_number() => (is == Some(false)).then_some(Decision::Deny),
        Decides::IfNotTrue => {
            (is != Some(true) && known != Some(Decision::Allow)).then_some(Decision::Deny)
        }
        Decides::IfNotFalse => {
            (is != Some(false) && known != Some(Decision::Deny)).then_some(Decision::Deny)
        }
        Decides::ByPlainNo => has_no(value).then_some(Decision::Deny),
        Decides::BySlip if value.is_boolean() => is.map(yes),
        Decides::BySlip => known.or_else(|| has_no(value).then_some(Decision::Deny)),
    }
}

/// Whether a value is a plain no or a question, or has one in a list or as a member.
fn has_no(value: &Value) -> bool {
    let is_no = |text: &str| {
        plain_name(text) == "no"
            || matches!(
                word_decision(text, false),
                Some(Decision::Deny | Decision::Ask)
            )
    };
    match value {
        Value::String(text) => is_no(text),
        Value::Array(items) => items.iter().any(has_no),
        Value::Object(members) => {
            let mut found = Vec::new();
            collect_decisions(value, "", &[], &mut found);
            let is_found = found.iter().any(|(_, says)| *says != Decision::Allow);
            is_found || members.values().filter_map(Value::as_str).any(is_no)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// What a word decides; `any`: also one that may mean something else elsewhere.
fn word_decision(text: &str, any: bool) -> Option<Decision> {
    let word = text.trim().to_ascii_lowercase().replace('_', "-");
    let is_in = |words: &[&str]| words.contains(&&*word);
    match () {
        () if is_in(&PLAIN_NO) || any && is_in(&NO) => Some(Decision::Deny),
        () if is_in(&ASK) && (any || word.contains("ask")) => Some(Decision::Ask),
        () if any && (is_in(&YES) || word == "true") => Some(Decision::Allow),
        () => None,
    }
}

fn plain_name(name: &str) -> String {
    name.trim().to_ascii_lowercase().replace(['_', '-'], "")
}

/// Whether a name is that of a member which decides, but for a slip.
fn is_slip(name: &str) -> bool {
    let n_chars = name.len();
    let Some((_, n_wrong)) = SLIPS
        .iter()
        .find(|(length, _)| n_chars >= *length && n_chars < 64)
    else {
        return false;
    };
    let names = MEMBERS
        .iter()
        .flat_map(|(names, _)| names.iter())
        .filter(|it| it.len() >= 7);
    names
        .into_iter()
        .any(|it| strsim::osa_distance(it, name) <= *n_wrong)
}
