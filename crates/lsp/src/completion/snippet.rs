//! Skeletons: what a value or map can't do without, with stops where the cursor may go; and
//! snippets made of them.

use super::super::docs::{Docs, Kind};
use hookwire_base::syntax::formats::Format;
use hookwire_base::syntax::quoting::{key, member};

/// Where the cursor may go in a skeleton.
pub(super) const STOP: char = '\u{1}';
/// Around what such a place has in it already: `:` and a text, or choices between bars.
pub(super) const OPEN: char = '\u{2}';
pub(super) const CLOSE: char = '\u{3}';

/// A value on one line: in TOML and JSON never none.
pub(super) fn inline_value(docs: &Docs<'_>, format: Format) -> String {
    let kinds = docs.kinds();
    if kinds
        .iter()
        .any(|kind| matches!(kind, Kind::Text | Kind::Any))
        && format != Format::Yaml
    {
        return format!("\"{STOP}\"");
    }
    match kinds[..] {
        [Kind::List] if docs.items().is_only(Kind::Map) => {
            format!("[{}]", inline_value(&docs.items(), format))
        }
        [Kind::List] => format!("[{STOP}]"),
        [Kind::Map] => format!("{{ {} }}", members_of(docs, format, ", ")),
        _ if format == Format::Yaml => STOP.to_string(),
        [Kind::Bool, ..] => format!("{OPEN}|true,false|{CLOSE}"),
        [Kind::Number, ..] => {
            let default = docs.default().map_or("1".into(), ToString::to_string);
            format!("{OPEN}:{default}{CLOSE}")
        }
        _ => format!("[{STOP}]"),
    }
}

/// The members that a map can't do without.
pub(super) fn members_of(docs: &Docs<'_>, format: Format, joint: &str) -> String {
    // A file may have no hooks, but a new file is written for hooks.
    let required: Vec<_> = docs
        .members()
        .iter()
        .filter(|member| member.is_required || member.name == "hooks")
        .map(|required| {
            member(
                &key(required.name, format),
                &inline_value(&required.docs, format),
                format,
            )
        })
        .collect();
    if required.is_empty() {
        STOP.to_string()
    } else {
        required.join(joint)
    }
}

/// A snippet of a skeleton: the last stop is where the cursor stays.
pub(super) fn with_stops(skeleton: &str) -> String {
    let n_stops = skeleton.matches([STOP, OPEN]).count();
    let mut n = 0;
    let mut snippet = String::new();
    let mut chars = skeleton.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            STOP | OPEN => {
                n += 1;
                // Choices can't be the last stop: editors would not show them.
                let stop = if n == n_stops && chars.peek() != Some(&'|') {
                    0
                } else {
                    n
                };
                snippet.push_str(&if c == OPEN {
                    format!("${{{stop}")
                } else {
                    format!("${stop}")
                });
            }
            CLOSE => snippet.push('}'),
            '$' | '\\' => snippet.extend(['\\', c]),
            _ => snippet.push(c),
        }
    }
    snippet
}

/// A skeleton for an editor that knows no snippets.
pub(super) fn without_stops(skeleton: &str) -> String {
    let mut text = String::new();
    for part in skeleton.split(CLOSE) {
        let (before, stop) = part.split_once(OPEN).unwrap_or((part, ""));
        let stop = stop
            .trim_start_matches([':', '|'])
            .split([',', '|'])
            .next()
            .unwrap_or_default();
        text.extend(before.chars().filter(|c| *c != STOP));
        text.push_str(stop);
    }
    text
}
