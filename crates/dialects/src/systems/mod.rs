//! The hook systems whose documents hookwire replays, for agents that are built on them: a library
//! that serves coding agents alone can do without.

pub mod agent_hook_trait;
mod agentpool;
mod hooks_article;
mod instructor;
mod workflow_framework;

use crate::Dialect;
use hookwire_base::event::{Event, Phase};
use hookwire_base::support::nearest::{closest, differ_in_number};
use serde_json::{Map, Value};

/// Their dialects.
pub(super) static DIALECTS: [&Dialect; 5] = [
    &agent_hook_trait::DIALECT,
    &agentpool::DIALECT,
    &hooks_article::DIALECT,
    &instructor::DIALECT,
    &workflow_framework::DIALECT,
];

/// Refuses a payload that lacks a member and has it under another name, where no guard would look.
fn other_name(payload: &Value, name: &str, others: &[&str]) -> Result<(), String> {
    let is_there = |name: &&&str| payload.get(**name).is_some_and(|it| !it.is_null());
    match others.iter().find(is_there).filter(|_| !is_there(&&name)) {
        Some(other) => Err(format!("`{other}` means nothing here: write `{name}`")),
        None => Ok(()),
    }
}

/// What is wrong with a reply that has members and none of those that are known, the likeliest of
/// which come first.
fn none_known(members: &Map<String, Value>, known: &[&'static str]) -> Option<String> {
    if members.is_empty() || known.iter().any(|it| members.contains_key(*it)) {
        return None;
    }
    Some(near_miss(members, known).unwrap_or_else(|| {
        let likely: Vec<_> = known.iter().take(4).copied().collect();
        format!("it has none of `{}`", likely.join("`, `"))
    }))
}

/// The same as a remark. A hook that nobody asks for a decision may print whatever its program
/// prints, but not what is nearly a reply.
fn unknown_reply(
    event: &Event,
    members: &Map<String, Value>,
    known: &[&'static str],
) -> Option<String> {
    let unknown = none_known(members, known)?;
    let is_asked = event.spec.phase == Phase::Gate;
    (is_asked || near_miss(members, known).is_some())
        .then(|| format!("its reply counts as none: {unknown}"))
}

fn near_miss(members: &Map<String, Value>, known: &[&'static str]) -> Option<String> {
    // A program that checks something may count `errors`.
    let meant = |key: &String| {
        closest(key, known.iter().copied()).filter(|meant| !differ_in_number(key, meant))
    };
    let (key, meant) = members.keys().find_map(|key| Some((key, meant(key)?)))?;
    Some(format!(
        "it has `{key}`, which means nothing; did you mean `{meant}`?"
    ))
}
