//! What a person is told of an event that was judged: who sent it, what it is about, where in the
//! tree of programs it is.

use hookwire_base::event::Event;
use hookwire_base::support::visible::safe;
use hookwire_dialects as dialects;
use hookwire_rules::matching::tools::main_argument;
use serde_json::Value;

/// How many of the programs above one are named, and how many are drawn.
const MOST_NAMED: usize = 5;
const MOST_DRAWN: usize = 8;

/// The event behind a record, if it was kept.
pub fn event(record: &Value) -> Option<Event> {
    dialects::read_sent_event(record.get("params")?.clone(), record["dialect"].as_str()?)
}

/// The event behind a record as far as it is known, for people: of one that was too large to be
/// kept, what it began with.
pub fn event_in_part(record: &Value) -> Option<Event> {
    let beginning = || Event::from_json(record.get("beginning")?.clone()).ok();
    event(record).or_else(beginning)
}

/// Who sent an event, and for which of its agents: `claude-code`, `billing-bot/reviewer`.
pub fn sender(record: &Value, event: Option<&Event>) -> String {
    let dialect = record["dialect"].as_str().unwrap_or_default();
    // Its vocabulary names an installed agent better than the program that it starts.
    let client = record["client"]
        .as_str()
        .filter(|_| dialect == dialects::NATIVE)
        .unwrap_or(dialect);
    match event.and_then(|it| it.text("/agent/name")) {
        Some(agent) => format!("{client}/{agent}"),
        None => client.to_string(),
    }
}

/// What an event is about: the main argument of its tool, else its prompt.
pub fn about(record: &Value, event: Option<&Event>) -> Option<String> {
    let tool = record["tool"].as_str().unwrap_or_default();
    let argument = |input| main_argument(tool, input).map(|(_, text)| text.into_owned());
    // Of a prompt that a hook has changed, what the model reads is told: what was taken out may be
    // a secret.
    let prompt = || {
        record["verdict"]["subject"]
            .as_str()
            .or(event?.text("/prompt"))
            .map(str::to_string)
    };
    event
        .and_then(|it| it.at("/tool/input"))
        .and_then(argument)
        .or_else(prompt)
}

/// The names of the programs below which one starts, the nearest first.
pub fn parents(event: &Event) -> Vec<String> {
    let pid = event.at("/exec/pid");
    let parents = event
        .at("/exec/parents")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    // The process that becomes the program comes first.
    let parents = parents
        .filter(|parent| parent.get("pid") != pid)
        .take(MOST_NAMED);
    let name = |parent: &Value| {
        let program = parent["argv"][0].as_str().unwrap_or("…");
        safe(program.rsplit('/').next().unwrap_or(program))
    };
    parents.map(name).collect()
}

/// A program that starts in its place in the tree, each with its depth: the farthest it comes from
/// first, itself last.
pub fn tree(event: &Event) -> Vec<(usize, String)> {
    let words = |argv: &Value| {
        let words: Vec<&str> = argv
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let program = words.first().map(|it| it.rsplit('/').next().unwrap_or(it));
        program
            .into_iter()
            .chain(words.iter().skip(1).copied())
            .collect::<Vec<_>>()
            .join(" ")
    };
    let parents = event
        .at("/exec/parents")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .take(MOST_DRAWN);
    let mut lines: Vec<String> = parents.map(|parent| words(&parent["argv"])).collect();
    lines.reverse();
    lines.extend(event.at("/exec/argv").map(words));
    lines.into_iter().enumerate().collect()
}
