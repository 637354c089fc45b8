//! Conditions in CEL.

use super::super::docs;
use super::paths::{MAX_PATHS, at_path, event_paths, path_item, schema_paths};
use super::snippet::{STOP, with_stops};
use super::writer::{Item, MAX_WORD, Seen, Writer, is_identifier, is_name_char, is_word};
use hookwire_base::event::{EVENTS, Event, MEMBERS, may_be_about_a_tool};
use hookwire_base::syntax::node::Step;
use hookwire_base::syntax::node::{Node, NodeValue, Span};
use hookwire_rules::matching::rule::ToolRule;
use hookwire_rules::matching::tools::TOOLS;
use hookwire_rules::matching::when::{ACT, ACT_MEMBERS};
use ls_types::CompletionItemKind as ItemKind;
use regex::RegexBuilder;
use serde_json::Value;
use std::collections::BTreeSet;

impl Writer<'_> {
    pub(super) fn complete_expression(&self, seen: &Seen) -> Vec<Item> {
        let typed = self.reading.typed.as_str();
        let events = self.of_tool(self.here.relevant_events(&seen.events));
        let rest_len = self
            .reading
            .rest
            .find(|c: char| !is_name_char(c))
            .unwrap_or(self.reading.rest.len());
        let rest = self.reading.rest.get(..rest_len).unwrap_or_default();
        let calls = self
            .reading
            .rest
            .get(rest_len..)
            .is_some_and(|it| it.starts_with('('));
        if let Some((before, text)) = open_string(typed) {
            return self.compared_texts(before, text, &events);
        }
        let start = typed
            .rfind(|c: char| !is_name_char(c) && c != '.')
            .map_or(0, |at| {
                at + typed
                    .get(at..)
                    .and_then(|it| it.chars().next())
                    .map_or(1, char::len_utf8)
            });
        let chain = typed.get(start..).unwrap_or_default();
        let follows_value =
            chain.starts_with('.') || chain.starts_with(|c: char| c.is_ascii_digit());
        let (base, word) = chain
            .rsplit_once('.')
            .map_or((None, chain), |(base, word)| (Some(base), word));
        let Some(span) = self.word_span(word, rest) else {
            return Vec::new();
        };
        // Only members of something can be there or not.
        let is_tested = typed
            .get(..start)
            .is_some_and(|it| it.trim_end().ends_with("has("));
        let mut items = Vec::new();
        if let Some(base) = base.filter(|_| !follows_value) {
            let path: Vec<&str> = base.split('.').collect();
            items.extend(self.member_items(&path, &events, &span, is_tested));
        }
        if base.is_some() && is_tested {
            return items;
        }
        if base.is_some() {
            let values: Vec<&Value> = match base.filter(|_| !follows_value) {
                Some(base) => events
                    .iter()
                    .filter_map(|event| at_path(event.data(), base))
                    .collect(),
                None => Vec::new(),
            };
            let is_map = !values.is_empty() && values.iter().all(|value| value.is_object());
            items.extend(
                FUNCTIONS
                    .iter()
                    .filter(|function| {
                        function.is_method
                            && (values.is_empty()
                                || is_map
                                || values.iter().any(|value| (function.fits)(value)))
                    })
                    .filter_map(|function| self.function_item(function, &span, calls)),
            );
            return items;
        }
        if let Some(path) = compared_path(typed.get(..start).unwrap_or_default()) {
            let quote = if self
                .reading
                .quote
                .is_some_and(|quote| quote.starts_with('"'))
            {
                '\''
            } else {
                '"'
            };
            items.extend(
                self.known_texts(path, &events)
                    .into_iter()
                    .filter_map(|value| {
                        let label = format!("{quote}{value}{quote}");
                        let text = self.inner_text(&label)?;
                        Some(Item {
                            text,
                            ..Item::named(ItemKind::VALUE, label, "", &span)
                        })
                    }),
            );
        }
        if !is_tested {
            items.extend(self.member_items(&[], &events, &span, false));
        }
        let chosen = event_paths(&events);
        let deep = chosen
            .iter()
            .filter(|(path, _)| path.contains('.') && path.split('.').all(is_member));
        items.extend(deep.map(|(path, value)| path_item(path, value, &span)));
        if chosen.is_empty() {
            for (path, about) in schema_paths()
                .into_iter()
                .filter(|(path, _)| path.contains('.') && self.may_have(path))
            {
                items.push(Item::named(ItemKind::FIELD, path, about, &span));
            }
        }
        if is_tested {
            return items;
        }
        items.extend(
            FUNCTIONS
                .iter()
                .filter(|function| !function.is_method)
                .filter_map(|function| self.function_item(function, &span, calls)),
        );
        items
    }

    /// The texts that a value may be compared with.
    fn compared_texts(&self, before: &str, text: &str, events: &[&Event]) -> Vec<Item> {
        let Some(path) = compared_path(before) else {
            return Vec::new();
        };
        let values = self.known_texts(path, events);
        let rest = self
            .reading
            .rest
            .split(|c| matches!(c, '"' | '\'' | '\\') || c.is_whitespace())
            .next()
            .unwrap_or_default();
        let Some(span) = self.word_span(text, rest) else {
            return Vec::new();
        };
        values
            .into_iter()
            .filter_map(|value| {
                let text = self.inner_text(&value)?;
                Some(Item {
                    text,
                    ..Item::named(ItemKind::VALUE, value, "", &span)
                })
            })
            .collect()
    }

    /// The texts that a path is known to lead to.
    fn known_texts(&self, path: &str, events: &[&Event]) -> Vec<String> {
        let said = events
            .iter()
            .filter_map(|event| at_path(event.data(), path)?.as_str())
            .filter(|it| is_word(it));
        let mut values: Vec<String> = said.map(str::to_string).collect();
        match path {
            "tool.name" => values.extend(TOOLS.iter().map(|tool| tool.name.to_string())),
            "event" => values.extend(
                self.here
                    .events()
                    .into_iter()
                    .flatten()
                    .map(|name| name.to_string()),
            ),
            _ => {}
        }
        let mut told = BTreeSet::new();
        values.retain(|value| !value.contains(['"', '\'', '\\']) && told.insert(value.clone()));
        values
    }

    /// Of these events those of the tools that the hook is for.
    fn of_tool<'e>(&self, events: Vec<&'e Event>) -> Vec<&'e Event> {
        let is_for_tool = self.tools_of_hook();
        events
            .into_iter()
            .filter(|event| event.tool_name().is_none_or(&is_for_tool))
            .collect()
    }

    /// Whether the hook is for a tool of this name.
    fn tools_of_hook(&self) -> impl Fn(&str) -> bool {
        let rules = self
            .here
            .hook
            .and_then(|hook| hook.get("if"))
            .map(|node| match &node.value {
                NodeValue::Seq(items) => items.iter().filter_map(Node::text).collect(),
                _ => node.text().into_iter().collect::<Vec<_>>(),
            });
        let rules: Option<Vec<_>> = rules.map(|rules| {
            rules
                .into_iter()
                .filter_map(|rule| ToolRule::new(rule).ok())
                .collect()
        });
        let matcher = self
            .here
            .hook
            .and_then(|hook| hook.get("matcher"))
            .and_then(Node::text)
            .filter(|it| !matches!(*it, "" | "*"));
        let matcher = matcher.map(|rules| {
            RegexBuilder::new(&format!("^(?:{rules})$"))
                .size_limit(MAX_MATCHER)
                .build()
        });
        move |tool| {
            let is_of_rule = rules.as_ref().is_none_or(|rules| {
                rules.is_empty() || rules.iter().any(|rule| rule.is_about(tool))
            });
            is_of_rule && !matches!(&matcher, Some(Ok(it)) if !it.is_match(tool))
        }
    }

    /// Whether the hook's events may have what a path begins with.
    fn may_have(&self, path: &str) -> bool {
        let is_of_tool = path == "tool" || path.starts_with("tool.");
        !is_of_tool
            || self
                .here
                .events()
                .is_none_or(|events| events.iter().any(|event| may_be_about_a_tool(event)))
    }

    /// How many of the hook's events are about this member, and where it stands among all.
    fn root_rank(&self, member: &str) -> (std::cmp::Reverse<usize>, usize) {
        let events = self.here.events();
        let at = MEMBERS.iter().position(|it| *it == member);
        (
            std::cmp::Reverse(
                EVENTS
                    .iter()
                    .filter(|spec| {
                        let subject = spec.subject.and_then(|subject| subject.split('/').nth(1));
                        events
                            .as_ref()
                            .is_none_or(|events| events.iter().any(|event| **event == *spec.name))
                            && (subject == Some(member) || member == "tool" && spec.tool)
                    })
                    .count(),
            ),
            at.unwrap_or(MEMBERS.len()),
        )
    }

    /// The members of what a path leads to.
    fn member_items(
        &self,
        path: &[&str],
        events: &[&Event],
        span: &Span,
        is_tested: bool,
    ) -> Vec<Item> {
        let mut told = BTreeSet::new();
        let mut items = Vec::new();
        let steps: Vec<Step<'_>> = path.iter().map(|key| Step::Key(key)).collect();
        let shape = docs::EVENT.docs_at(&steps).members();
        let about = |key: &str| {
            shape
                .iter()
                .find(|it| it.name == key)
                .map(|it| it.docs.text())
                .unwrap_or_default()
        };
        let whole = path.join(".");
        for event in events {
            let found = if path.is_empty() {
                Some(event.data())
            } else {
                at_path(event.data(), &whole)
            };
            for (key, value) in found
                .and_then(Value::as_object)
                .into_iter()
                .flatten()
                .take(MAX_PATHS)
            {
                if key.len() > MAX_WORD || !told.insert(key.to_string()) {
                    continue;
                }
                let item = path_item(key, value, span);
                let about = [about(key), item.about].join("\n\n");
                let item = Item {
                    about: about.trim().into(),
                    ..item
                };
                if is_member(key) {
                    items.push(item);
                } else if !path.is_empty() && !is_tested {
                    items.extend(self.index_item(key, item));
                }
            }
        }
        let of_act = match path {
            [ACT] => &ACT_MEMBERS[..],
            [] if self.here.hook.is_some_and(|hook| hook.get("if").is_some()) => &[ACT],
            _ => &[],
        };
        let known = shape.iter().map(|it| it.name).chain(of_act.iter().copied());
        let known = known.chain(MEMBERS.iter().copied().filter(|_| path.is_empty()));
        // Arguments of calls that no host has told of yet.
        let is_for_tool = self.tools_of_hook();
        let tools = TOOLS
            .iter()
            .filter(|tool| path == ["tool", "input"] && is_for_tool(tool.name));
        let arguments = tools.flat_map(|tool| tool.arguments.iter().copied());
        let is_unseen = told.is_empty();
        for key in known
            .chain(arguments.filter(|_| is_unseen))
            .filter(|key| self.may_have(key))
        {
            if told.insert(key.to_string()) {
                items.push(Item::named(ItemKind::FIELD, key, about(key), span));
            }
        }
        if path.is_empty() {
            items.sort_by_cached_key(|it| self.root_rank(&it.label));
        }
        items
    }

    /// A member whose key is no name: `["my-key"]` in the place of the dot.
    fn index_item(&self, key: &str, item: Item) -> Option<Item> {
        if key.contains(['"', '\'', '\\']) || !is_word(key) {
            return None;
        }
        let quote = if self
            .reading
            .quote
            .is_some_and(|quote| quote.starts_with('"'))
        {
            '\''
        } else {
            '"'
        };
        let start = item.span.start.checked_sub(1)?;
        self.text
            .get(start..item.span.start)
            .filter(|it| *it == ".")?;
        let text = self.inner_text(&format!("[{quote}{key}{quote}]"))?;
        Some(Item {
            text,
            filter: Some(format!(".{key}")),
            span: start..item.span.end,
            ..item
        })
    }

    fn function_item(&self, function: &Function, span: &Span, calls: bool) -> Option<Item> {
        let quote = if self
            .reading
            .quote
            .is_some_and(|quote| quote.starts_with('\''))
        {
            "\""
        } else {
            "'"
        };
        let call = function.call.replace('\'', quote);
        let (text, is_snippet) = match (calls, self.snippets) {
            (true, _) => (function.name.to_string(), false),
            (false, true) => (with_stops(&call), true),
            (false, false) => (format!("{}(", function.name), false),
        };
        Some(Item {
            label: function.name.into(),
            kind: Some(if function.is_method {
                ItemKind::METHOD
            } else {
                ItemKind::FUNCTION
            }),
            detail: Some(function.call.replace(STOP, "…")),
            about: function.about.into(),
            span: span.clone(),
            text,
            is_snippet,
            ..Item::default()
        })
    }
}

/// The path whose value is compared with what follows this.
fn compared_path(before: &str) -> Option<&str> {
    let before = before.trim_end();
    let path = ["==", "!="]
        .iter()
        .find_map(|it| before.strip_suffix(it))
        .or_else(|| {
            before
                .rsplit_once(" in [")
                .filter(|(_, items)| !items.contains(']'))
                .map(|(path, _)| path)
        })?
        .trim_end();
    let start = path
        .rfind(|c: char| !is_name_char(c) && c != '.')
        .map_or(Some(0), |at| {
            Some(at + path.get(at..)?.chars().next()?.len_utf8())
        })?;
    path.get(start..)
}

/// Whether CEL takes a name for that of a member.
fn is_member(name: &str) -> bool {
    is_identifier(name) && !RESERVED.contains(&name)
}

/// How large a matcher may become.
const MAX_MATCHER: usize = 1 << 20;
/// Names that mean something else in CEL.
const RESERVED: [&str; 4] = ["in", "true", "false", "null"];

/// A function of CEL.
pub(super) struct Function {
    pub(super) name: &'static str,
    /// It is called on a value.
    pub(super) is_method: bool,
    pub(super) call: &'static str,
    about: &'static str,
    /// Whether it can be called on this.
    pub(super) fits: fn(&Value) -> bool,
}

const fn method(
    name: &'static str,
    call: &'static str,
    fits: fn(&Value) -> bool,
    about: &'static str,
) -> Function {
    Function {
        name,
        is_method: true,
        call,
        about,
        fits,
    }
}

const fn global(name: &'static str, call: &'static str, about: &'static str) -> Function {
    Function {
        name,
        is_method: false,
        call,
        about,
        fits: |_| true,
    }
}

/// The functions that the CEL interpreter has.
pub(super) static FUNCTIONS: &[Function] = &[
    global(
        "has",
        "has(\u{1})",
        "whether a member is there: `has(tool.input.path)`",
    ),
    method(
        "contains",
        "contains('\u{1}')",
        Value::is_string,
        "whether the text has this in it",
    ),
    method(
        "startsWith",
        "startsWith('\u{1}')",
        Value::is_string,
        "whether the text begins with this",
    ),
    method(
        "endsWith",
        "endsWith('\u{1}')",
        Value::is_string,
        "whether the text ends with this",
    ),
    method(
        "matches",
        "matches('\u{1}')",
        Value::is_string,
        "whether a regex is found in the text",
    ),
    method(
        "size",
        "size()",
        |it| it.is_string() || it.is_array(),
        "how many characters, items or members there are",
    ),
    method(
        "exists",
        "exists(it, \u{1})",
        Value::is_array,
        "whether the condition holds for one item at least",
    ),
    method(
        "exists_one",
        "exists_one(it, \u{1})",
        Value::is_array,
        "whether the condition holds for one item only",
    ),
    method(
        "all",
        "all(it, \u{1})",
        Value::is_array,
        "whether the condition holds for every item",
    ),
    method(
        "filter",
        "filter(it, \u{1})",
        Value::is_array,
        "the items for which the condition holds",
    ),
    method(
        "map",
        "map(it, \u{1})",
        Value::is_array,
        "what becomes of each item",
    ),
    global(
        "size",
        "size(\u{1})",
        "how many characters, items or members there are",
    ),
    global("string", "string(\u{1})", "as a text"),
    global("int", "int(\u{1})", "as a whole number"),
    global("double", "double(\u{1})", "as a number with a fraction"),
];

/// A function of CEL: how it is called, and what it does.
pub(crate) fn about_function(name: &str) -> Option<(String, &'static str)> {
    let function = FUNCTIONS.iter().find(|function| function.name == name)?;
    Some((function.call.replace('\u{1}', "…"), function.about))
}

/// The string literal of CEL that a text ends in: what is before it, and what it says so far.
fn open_string(typed: &str) -> Option<(&str, &str)> {
    let mut open: Option<(usize, char)> = None;
    let mut escaped = false;
    for (at, c) in typed.char_indices() {
        match open {
            Some(_) if escaped => escaped = false,
            Some(_) if c == '\\' => escaped = true,
            Some((_, quote)) if c == quote => open = None,
            Some(_) => {}
            None if matches!(c, '"' | '\'') => open = Some((at, c)),
            None => {}
        }
    }
    let (at, _) = open?;
    Some((typed.get(..at)?, typed.get(at + 1..)?))
}
