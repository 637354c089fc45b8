//! An item of completion, and how it is written into the text at hand.

use super::super::context::Here;
use super::super::half_typed::Completing;
use hookwire_base::event::Event;
use hookwire_base::support::visible::is_invisible;
use hookwire_base::syntax::formats::Format;
use hookwire_base::syntax::node::Span;
use hookwire_base::syntax::quoting::{Within, escaped, word};
use hookwire_rules::matching::tools::TOOLS;
use ls_types::CompletionItemKind as ItemKind;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The longest name or value from an event that is offered.
pub(super) const MAX_WORD: usize = 200;

/// The last events of running hosts, newest first, and the tools that were called.
#[derive(Default)]
pub(super) struct Seen {
    pub(super) events: Vec<Arc<Event>>,
    pub(super) tools: BTreeSet<String>,
}

impl Seen {
    /// Names of tools: those that were called before those that are known.
    pub(super) fn tool_names(&self) -> Vec<(String, bool)> {
        let called = self
            .tools
            .iter()
            .map(String::as_str)
            .chain(self.events.iter().filter_map(|event| event.tool_name()));
        let called: BTreeSet<&str> = called.filter(|name| is_word(name)).collect();
        let known = TOOLS
            .iter()
            .map(|tool| tool.name)
            .filter(|name| !called.contains(name));
        called
            .iter()
            .map(|name| (name.to_string(), true))
            .chain(known.map(|name| (name.to_string(), false)))
            .collect()
    }
}

/// Something that could be written.
#[derive(Debug, Default)]
pub(super) struct Item {
    pub(super) label: String,
    pub(super) kind: Option<ItemKind>,
    /// Beside the label: the dialect, where it was seen.
    pub(super) origin: Option<String>,
    /// A description in a few words.
    pub(super) detail: Option<String>,
    /// A description in Markdown.
    pub(super) about: String,
    /// The place that it replaces.
    pub(super) span: Span,
    pub(super) text: String,
    pub(super) is_snippet: bool,
    /// The text that the editor compares with what the span holds, if not the label.
    pub(super) filter: Option<String>,
    /// A text that has to be inserted elsewhere too, and where.
    pub(super) also: Option<(usize, String)>,
}

impl Item {
    /// What is written as it is called.
    pub(super) fn named(
        kind: ItemKind,
        name: impl Into<String>,
        about: impl Into<String>,
        span: &Span,
    ) -> Item {
        let (label, span) = (name.into(), span.clone());
        Item {
            text: label.clone(),
            label,
            kind: Some(kind),
            about: about.into(),
            span,
            ..Item::default()
        }
    }
}

/// Writes what is offered into the text at hand.
pub(super) struct Writer<'a> {
    pub(super) text: &'a str,
    pub(super) format: Format,
    pub(super) offset: usize,
    pub(super) reading: &'a Completing,
    pub(super) here: &'a Here<'a>,
    pub(super) snippets: bool,
}

impl Writer<'_> {
    /// The place that a text replaces, and the text with quotes as they are needed there. `None`
    /// where it can't be written.
    pub(super) fn quoted_replacement(&self, value: &str) -> Option<(Span, String)> {
        let token = &self.reading.token;
        let comma = if self.reading.wants_comma { "," } else { "" };
        match self.reading.quote {
            Some(quote @ ("\"" | "'")) => {
                let inner = escaped(value, quote, self.format)?;
                let end = if self.reading.is_closed {
                    token.end - 1
                } else {
                    token.end
                };
                let close = if self.reading.is_closed {
                    String::new()
                } else {
                    format!("{quote}{comma}")
                };
                Some((token.start + 1..end, format!("{inner}{close}")))
            }
            Some(_) => None,
            None => {
                let lead = self.reading.lead;
                let within = if self.reading.in_flow {
                    Within::Map
                } else {
                    Within::Line
                };
                let value = word(value, self.format, within);
                Some((token.clone(), format!("{lead}{value}{comma}")))
            }
        }
    }

    pub(super) fn value_item(&self, value: &str, item: Item) -> Option<Item> {
        let (span, text) = self.quoted_replacement(value)?;
        Some(Item {
            label: value.into(),
            span,
            text,
            ..item
        })
    }

    /// A number or a truth value.
    pub(super) fn literal_item(&self, value: &str, item: Item) -> Option<Item> {
        let comma = if self.reading.wants_comma { "," } else { "" };
        let text = format!("{}{value}{comma}", self.reading.lead);
        self.reading.quote.is_none().then(|| Item {
            label: value.into(),
            span: self.reading.token.clone(),
            text,
            ..item
        })
    }

    /// Where a word that the place is in is written, by what it says before and behind the place.
    pub(super) fn word_span(&self, before: &str, behind: &str) -> Option<Span> {
        let span = self.offset.checked_sub(before.len())?..self.offset + behind.len();
        let is_as_written = self.text.get(span.clone())? == format!("{before}{behind}");
        is_as_written.then_some(span)
    }

    /// A text as part of another one, in the quotes that this is in.
    pub(super) fn inner_text(&self, text: &str) -> Option<String> {
        match self.reading.quote {
            Some(quote) => escaped(text, quote, self.format),
            None => Some(text.to_string()),
        }
    }
}

pub(super) fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

pub(super) fn is_identifier(name: &str) -> bool {
    !name.is_empty()
        && name.chars().all(is_name_char)
        && !name.starts_with(|c: char| c.is_ascii_digit())
}

/// Whether a text from an event may be offered: one line, not too long, no invisible characters.
pub(super) fn is_word(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= MAX_WORD
        && !text.chars().any(|c| c.is_control() || is_invisible(c))
}
