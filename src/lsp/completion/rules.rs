//! Rules of tools, `Tool(pattern)`.

use super::{Item, STOP, Seen, Writer, is_plain, is_word, with_stops};
use crate::definitions::formats::Format;
use crate::matching::tools::{self, ArgumentKind};
use ls_types::CompletionItemKind as ItemKind;
use std::collections::BTreeSet;

impl Writer<'_> {
    /// `Tool(pattern)`.
    pub(super) fn rules(&self, seen: &Seen) -> Vec<Item> {
        let reading = self.reading;
        let Some((tool, pattern)) = reading.typed.split_once('(') else {
            let rest = reading.rest.split('(').next().unwrap_or_default();
            let has_pattern = reading.rest.contains('(');
            let item = |(name, is_called): (String, bool)| {
                let item = Item {
                    kind: Some(ItemKind::FUNCTION),
                    origin: is_called.then(|| "called".to_string()),
                    about: about_rule(&name),
                    ..Item::default()
                };
                if has_pattern {
                    let span = self.part(&reading.typed, rest)?;
                    return Some(Item { text: self.inner(&name)?, label: name, span, ..item });
                }
                if !self.snippets {
                    return self.value(&name, item);
                }
                let stop = format!("{name}({STOP})");
                // The stop is no character that any format would escape or quote away.
                let (span, text) = self.written(&stop.replace(STOP, "_STOP_"))?;
                let text = with_stops(&text.replace("_STOP_", &STOP.to_string()));
                Some(Item { label: name, span, text, is_snippet: true, ..item })
            };
            return Writer::tools(seen).into_iter().filter_map(item).collect();
        };
        let tool = tool.trim();
        let mut told = BTreeSet::new();
        let mut arguments = Vec::new();
        for event in seen.events.iter().filter(|it| it.tool_name() == Some(tool)) {
            let argument = event.at("/tool/input").and_then(|input| tools::main_argument(tool, input));
            let Some((kind, argument)) = argument.filter(|(_, it)| is_word(it)) else { continue };
            if kind == ArgumentKind::Shell {
                let words: Vec<&str> = argument.split(' ').take(2).collect();
                arguments.push((format!("{} *", words.join(" ")), "like one that was called"));
            }
            arguments.push((argument.to_string(), "called"));
        }
        arguments.sort_by_key(|(_, origin)| *origin == "called");
        let rest = reading.rest.strip_suffix(')').unwrap_or(&reading.rest);
        let close = if rest.len() == reading.rest.len() { ")" } else { "" };
        let item = |(argument, origin): (String, &str)| {
            if !told.insert(argument.clone()) {
                return None;
            }
            let whole = format!("{tool}({argument})");
            if reading.quote.is_none() && self.format == Format::Yaml && !is_plain(&whole, reading.in_flow) {
                return None;
            }
            let span = self.part(pattern, rest)?;
            let text = format!("{}{close}", self.inner(&argument)?);
            let origin = Some(origin.to_string());
            Some(Item { label: argument, kind: Some(ItemKind::VALUE), origin, span, text, ..Item::default() })
        };
        arguments.into_iter().filter_map(item).collect()
    }
}

/// How a rule of a tool is read.
pub(in super::super) fn about_rule(tool: &str) -> String {
    match tools::known(tool).map(|it| it.kind) {
        Some(ArgumentKind::Shell) => "the pattern is held against every command that the text would run".into(),
        Some(ArgumentKind::Path) => "the pattern is a glob on the path".into(),
        Some(ArgumentKind::Text) => "the pattern is a glob on the argument".into(),
        None => "the pattern is read by the shape of the tool's input".into(),
    }
}
