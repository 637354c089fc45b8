//! Keys, with what follows them.

use super::super::docs::{self, Docs, Kind};
use super::about::about_event;
use super::snippet::{STOP, inline_value, members_of, with_stops, without_stops};
use super::writer::{Item, Writer};
use hookwire_base::syntax::formats::Format;
use hookwire_base::syntax::node::Span;
use hookwire_base::syntax::node::Step;
use hookwire_base::syntax::quoting::{self, key};
use hookwire_handlers::handlers::KINDS;
use ls_types::CompletionItemKind as ItemKind;
use std::collections::BTreeSet;

impl Writer<'_> {
    pub(super) fn keys(&self) -> Vec<Item> {
        let docs = docs::FILE.docs_at(&self.here.path);
        if self.format == Format::Toml
            && let Some(header) = self.header()
        {
            return self.header_items(&docs, &header);
        }
        let there: BTreeSet<&str> = self.reading.siblings().collect();
        let is_hook = self.here.hook.is_some() && self.here.path_in_hook().is_empty();
        let is_handler = |name: &str| is_hook && KINDS.iter().any(|kind| kind.key == name);
        let has_handler = there.iter().any(|key| is_handler(key));
        let mut members = docs.members();
        members.retain(|member| {
            !(there.contains(member.name) || has_handler && is_handler(member.name))
        });
        if docs.is_tagged() && !there.is_empty() {
            members.clear();
        }
        let path_is_root = self.here.path.is_empty();
        members.sort_by_key(|member| {
            let kind = KINDS
                .iter()
                .position(|kind| kind.key == member.name)
                .filter(|_| is_hook);
            let first = ["on", "matcher", "if", "unless", "when"]
                .iter()
                .position(|it| *it == member.name)
                .filter(|_| is_hook);
            match (first, kind) {
                _ if member.is_required || path_is_root && member.name == "hooks" => (0, 0),
                (Some(at), _) => (1, at),
                (None, Some(at)) => (2, at),
                (None, None) if member.name.starts_with('$') => (4, 0),
                (None, None) => (3, if is_hook { 0 } else { member.docs.rank() }),
            }
        });
        // A new item of a list begins with what it can't do without.
        if self.reading.lead == "- " && members.iter().any(|member| member.is_required) {
            members.retain(|member| member.is_required);
        }
        let mut items: Vec<Item> = members
            .iter()
            .map(|member| self.key_item(member.name, &member.docs, member.docs.text()))
            .collect();
        if self.here.path.last() == Some(&Step::Key("hooks")) && self.here.dialect.files.is_some() {
            items.extend(self.event_keys(&there));
        }
        let line = self
            .text
            .get(..self.reading.token.start)
            .and_then(|it| it.rsplit('\n').next());
        let begins_line = line.is_some_and(|line| line.trim().is_empty());
        if self.format == Format::Toml && !path_is_root && !self.reading.in_flow && begins_line {
            items.extend(self.tables());
        }
        items
    }

    /// The header of a TOML table that the place is in: from its first bracket to its last.
    fn header(&self) -> Option<Span> {
        let offset = self.offset;
        let before = self.text.get(..offset)?;
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        let opened = before.get(start..)?.trim_start();
        if self.reading.in_flow || !opened.starts_with('[') {
            return None;
        }
        let behind = self.text.get(offset..)?;
        let behind = behind.get(..behind.find(['\n', '\r']).unwrap_or(behind.len()))?;
        let end = behind
            .split('#')
            .next()
            .and_then(|it| it.find(']'))
            .map(|at| {
                let n_closed = if behind.get(at..).is_some_and(|it| it.starts_with("]]")) {
                    2
                } else {
                    1
                };
                offset + at + n_closed
            });
        let end = end.unwrap_or(self.reading.token.end);
        Some(offset - opened.len()..end)
    }

    /// The tables that may be named in a header.
    fn header_items(&self, docs: &Docs<'_>, header: &Span) -> Vec<Item> {
        if self.here.path.is_empty() {
            let mut behind = self
                .text
                .get(header.end..)
                .unwrap_or_default()
                .lines()
                .skip(1)
                .map(str::trim_start);
            let next = behind.find(|it| !it.is_empty() && !it.starts_with('#'));
            let has_members = next.is_some_and(|it| !it.starts_with('['));
            return self
                .tables()
                .into_iter()
                .map(|item| match has_members {
                    true => Item {
                        span: header.clone(),
                        text: item.label.clone(),
                        is_snippet: false,
                        ..item
                    },
                    false => Item {
                        span: header.clone(),
                        ..item
                    },
                })
                .collect();
        }
        let there: Vec<&str> = self.reading.siblings().collect();
        let written = self.text.get(header.clone()).unwrap_or_default();
        let close = match (written.ends_with(']'), written.starts_with("[[")) {
            (true, _) => "",
            (false, true) => "]]",
            (false, false) => "]",
        };
        docs.members()
            .into_iter()
            .filter(|member| {
                member.docs.kinds().contains(&Kind::Map) && !there.contains(&member.name)
            })
            .map(|member| Item {
                text: format!("{}{close}", member.name),
                ..Item::named(
                    ItemKind::MODULE,
                    member.name,
                    member.docs.text(),
                    &self.reading.token,
                )
            })
            .collect()
    }

    /// The tables that a file may have, with their headers.
    fn tables(&self) -> Vec<Item> {
        let members = docs::FILE.docs_at(&[]).members();
        let mut members: Vec<_> = members
            .iter()
            .filter_map(|member| Some((member, self.write_table(member.name, &member.docs)?)))
            .collect();
        members.retain(|(member, _)| {
            member.docs.is_only(Kind::List) || self.reading.root.get(member.name).is_none()
        });
        members.sort_by_key(|(member, _)| member.name != "hooks");
        members
            .into_iter()
            .map(|(member, text)| {
                let header = text.lines().next().unwrap_or_default().to_string();
                let item = Item {
                    kind: Some(ItemKind::MODULE),
                    about: member.docs.text(),
                    span: self.reading.token.clone(),
                    ..Item::default()
                };
                let text = if self.snippets {
                    with_stops(&text)
                } else {
                    header.clone()
                };
                Item {
                    label: header,
                    text,
                    is_snippet: self.snippets,
                    ..item
                }
            })
            .collect()
    }

    /// A table with its header, if it may be one.
    fn write_table(&self, name: &str, docs: &Docs<'_>) -> Option<String> {
        if docs.is_only(Kind::Map) {
            Some(format!("[{name}]\n{STOP}"))
        } else if docs.is_only(Kind::List) {
            Some(format!(
                "[[{name}]]\n{}",
                members_of(&docs.items(), self.format, "\n")
            ))
        } else {
            None
        }
    }

    /// Other systems list their hooks under the events.
    fn event_keys(&self, there: &BTreeSet<&str>) -> Vec<Item> {
        let list = docs::FILE.docs_at(&[Step::Key("hooks")]);
        let rows = self
            .here
            .dialect
            .events
            .iter()
            .filter(|row| !there.contains(row.name));
        rows.map(|row| self.key_item(row.name, &list, about_event(row.canonical)))
            .collect()
    }

    fn key_item(&self, name: &str, docs: &Docs<'_>, about: String) -> Item {
        let reading = self.reading;
        let item = Item {
            label: name.into(),
            kind: Some(ItemKind::PROPERTY),
            detail: docs.type_line(),
            about,
            span: reading.token.clone(),
            ..Item::default()
        };
        let is_in_quotes = reading.quote.is_some();
        let quoted = match reading.quote {
            Some(quote) if self.format != Format::Json => format!("{quote}{name}{quote}"),
            _ => key(name, self.format),
        };
        let filter = is_in_quotes.then(|| quoted.clone());
        let comma = if reading.wants_comma { "," } else { "" };
        if reading.has_value {
            return Item {
                text: format!("{}{quoted}", reading.lead),
                filter,
                ..item
            };
        }
        let joint = if self.format == Format::Toml {
            " ="
        } else {
            ":"
        };
        let bare = if docs.is_only(Kind::Map) { ":" } else { ": " };
        let is_table = self.format == Format::Toml && self.here.path.is_empty() && !reading.in_flow;
        let table = is_table.then(|| self.write_table(name, docs)).flatten();
        let skeleton = table.clone().unwrap_or_else(|| {
            format!(
                "{}{quoted}{joint}{}{comma}",
                reading.lead,
                self.write_skeleton(docs, self.indent(), reading.in_flow)
            )
        });
        let (item, filter) = match reading.lead {
            // Further items of a list would else be told by nothing but what they begin with.
            "- " => (
                Item {
                    label: format!("- {name}: …"),
                    ..item
                },
                Some(name.to_string()),
            ),
            _ => (item, filter),
        };
        if self.snippets {
            return Item {
                text: with_stops(&skeleton),
                is_snippet: true,
                filter,
                ..item
            };
        }
        let text = match (table, self.format) {
            (Some(table), _) => table.lines().next().unwrap_or_default().into(),
            (None, Format::Yaml) => format!("{}{quoted}{bare}", reading.lead),
            // Without a value it would be a mistake.
            (None, Format::Toml | Format::Json) => without_stops(&skeleton),
        };
        Item {
            text,
            filter,
            ..item
        }
    }

    /// How far right of its line's first character the key begins: editors indent as that line is.
    fn indent(&self) -> usize {
        let before = self
            .text
            .get(..self.reading.token.start)
            .unwrap_or_default();
        let line = before
            .get(before.rfind('\n').map_or(0, |at| at + 1)..)
            .unwrap_or_default();
        let content = line.trim_start_matches(' ');
        let dashes: usize = if content.starts_with("- ") { 2 } else { 0 };
        if self.reading.lead == "- " { 2 } else { dashes }
    }

    /// The text that follows a key, with [`STOP`]s where something has to be written.
    fn write_skeleton(&self, docs: &Docs<'_>, indent: usize, in_flow: bool) -> String {
        if self.format != Format::Yaml || in_flow {
            return format!(" {}", inline_value(docs, self.format));
        }
        let inner = " ".repeat(indent + 2);
        if docs.is_only(Kind::Map) {
            let required: Vec<_> = docs
                .members()
                .into_iter()
                .filter(|member| member.is_required)
                .collect();
            let lines = required.iter().map(|member| {
                format!(
                    "\n{inner}{}:{}",
                    member.name,
                    self.write_skeleton(&member.docs, indent + 2, false)
                )
            });
            let lines: String = lines.collect();
            return if lines.is_empty() {
                format!("\n{inner}{STOP}")
            } else {
                lines
            };
        }
        if docs.is_only(Kind::List) && docs.items().is_only(Kind::Map) {
            let items = docs.items();
            let first = items
                .members()
                .into_iter()
                .find(|member| member.is_required);
            let first = first.map(|member| {
                format!(
                    "{}:{}",
                    member.name,
                    self.write_skeleton(&member.docs, indent + 4, false)
                )
            });
            return format!("\n{inner}- {}", first.unwrap_or_else(|| STOP.to_string()));
        }
        if docs.is_only(Kind::List) {
            format!(" [{STOP}]")
        } else {
            format!(" {STOP}")
        }
    }

    /// A value that is a map of one member, each with what it can't do without.
    pub(super) fn tagged_items(&self, docs: &Docs<'_>) -> Vec<Item> {
        if !self.snippets || self.reading.quote.is_some() {
            return Vec::new();
        }
        let token = &self.reading.token;
        let before = self.text.get(..token.start).unwrap_or_default();
        let is_beside_key = before.trim_end_matches(' ').ends_with(':');
        let is_block = self.format == Format::Yaml && !self.reading.in_flow;
        if is_block && !is_beside_key {
            // There it is a key.
            return Vec::new();
        }
        let indent = self.indent();
        // No blanks at the end of a line.
        let start = if is_block {
            before.trim_end_matches(' ').len()
        } else {
            token.start
        };
        let blanks = self.text.get(start..token.start).unwrap_or_default();
        docs.members()
            .iter()
            .map(|member| {
                let skeleton = if is_block {
                    let inner = " ".repeat(indent + 2);
                    format!(
                        "\n{inner}{}:{}",
                        member.name,
                        self.write_skeleton(&member.docs, indent + 2, false)
                    )
                } else {
                    let value = inline_value(&member.docs, self.format);
                    let member =
                        quoting::member(&key(member.name, self.format), &value, self.format);
                    format!("{}{{ {member} }}", self.reading.lead)
                };
                let label = format!("{}: …", member.name);
                Item {
                    filter: Some(format!("{blanks}{label}")),
                    label,
                    kind: Some(ItemKind::SNIPPET),
                    about: member.docs.text(),
                    span: start..token.end,
                    text: with_stops(&skeleton),
                    is_snippet: true,
                    ..Item::default()
                }
            })
            .collect()
    }
}
