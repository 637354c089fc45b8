//! Placeholders in texts.

use super::super::docs;
use super::paths::{MAX_PATHS, event_paths, path_item, sample_markdown, schema_paths};
use super::writer::{Item, Seen, Writer, is_identifier, is_name_char, is_word};
use hookwire_base::event::Event;
use hookwire_base::syntax::node::Step;
use hookwire_base::syntax::node::{Node, NodeValue, Span};
use hookwire_base::template::{OF_CALLS, Style};
use ls_types::CompletionItemKind as ItemKind;
use std::collections::BTreeSet;

impl Writer<'_> {
    /// The names that may stand in a placeholder, if the place is in one.
    pub(super) fn placeholder_items(&self, seen: &Seen) -> Option<Vec<Item>> {
        let style = self.here.dialect.contract.placeholders.style;
        let (is_path, is_env) = self.takes_placeholders()?;
        let typed = self.reading.typed.as_str();
        let style = if is_env { Style::Paths } else { style };
        let open = match style {
            Style::Paths => "${",
            Style::Braces => "{",
            Style::Dollars => "$",
        };
        let (before, name) = typed.rsplit_once(open)?;
        let (open, name) = match name.strip_prefix('{').filter(|_| style == Style::Dollars) {
            Some(name) => ("${", name),
            None => (open, name),
        };
        let fits = |c: char| is_name_char(c) || (style == Style::Paths && matches!(c, '.' | '-'));
        // `$${` stands for `${`.
        if !name.chars().all(fits) || (style != Style::Braces && before.ends_with('$')) {
            return None;
        }
        let rest_len = self
            .reading
            .rest
            .find(|c: char| !fits(c))
            .unwrap_or(self.reading.rest.len());
        let (rest, next) = self.reading.rest.split_at_checked(rest_len)?;
        let close = if open == "$" || next.starts_with('}') {
            ""
        } else {
            "}"
        };
        let span = self.word_span(name, rest)?;
        let events = self.here.relevant_events(&seen.events);
        let mut items = Vec::new();
        if is_env {
            items.extend(
                self.variables()
                    .into_iter()
                    .map(|name| Item::named(ItemKind::VARIABLE, format!("env.{name}"), "", &span)),
            );
        }
        if is_path && style == Style::Paths {
            let chosen = event_paths(&events);
            let fitting = chosen.iter().filter(|(path, _)| path.chars().all(fits));
            items.extend(fitting.map(|(path, value)| path_item(path, value, &span)));
            if chosen.is_empty() {
                items.extend(
                    schema_paths()
                        .into_iter()
                        .map(|(path, about)| Item::named(ItemKind::FIELD, path, about, &span)),
                );
            }
            let others = [
                ("timestamp", "the time in RFC 3339"),
                ("hook", "the hook's name"),
            ];
            for (name, about) in OF_CALLS.into_iter().chain(others) {
                items.push(Item::named(ItemKind::VARIABLE, name, about, &span));
            }
        } else if is_path {
            items.extend(self.name_items(&events, &span));
        }
        for item in &mut items {
            item.text.push_str(close);
        }
        Some(items)
    }

    /// Whether the text at hand may name values of the event, and variables. What the schema says
    /// of a field tells.
    fn takes_placeholders(&self) -> Option<(bool, bool)> {
        let path = &self.here.path;
        let mentions = |what: &str| {
            (3..=path.len()).any(|n| {
                let docs = docs::FILE.docs_at(path.get(..n).unwrap_or_default());
                let of_members = docs
                    .members()
                    .into_iter()
                    .filter(|_| n == path.len())
                    .flat_map(|member| member.docs.about);
                docs.about
                    .iter()
                    .copied()
                    .chain(of_members)
                    .any(|it| it.contains(what))
            })
        };
        let is_shell = self.here.path_in_hook().first() == Some(&Step::Key("command"))
            && !matches!(path.last(), Some(Step::Index(index)) if *index > 0);
        let is_own = self.here.dialect.contract.placeholders.style != Style::Paths;
        // The schema describes placeholders for the text of a command; they work in its list of
        // arguments too.
        let is_argument = matches!(
            self.here.path_in_hook(),
            [Step::Key("command"), Step::Index(_)]
        );
        let is_path = (mentions("${tool.name}") || is_argument) && (is_own || !is_shell);
        let is_env = mentions("${env.NAME}");
        (is_path || is_env).then_some((is_path, is_env))
    }

    /// The variables that are taken over beside the map that the place is in.
    fn variables(&self) -> Vec<String> {
        let path = self.reading.path();
        let parent = path.get(..path.len().saturating_sub(2)).unwrap_or_default();
        let parent =
            parent
                .iter()
                .try_fold(&self.reading.root, |node, step| match (step, &node.value) {
                    (Step::Key(key), _) => node.get(key),
                    (Step::Index(index), NodeValue::Seq(items)) => items.get(*index),
                    _ => None,
                });
        let names = parent
            .and_then(|parent| parent.get("inheritEnv"))
            .map(Node::items)
            .unwrap_or_default();
        names
            .iter()
            .filter_map(Node::text)
            .map(str::to_string)
            .collect()
    }

    /// The names of another system's placeholders, as far as its table of members tells them.
    fn name_items(&self, events: &[&Event], span: &Span) -> Vec<Item> {
        let placeholders = &self.here.dialect.contract.placeholders;
        let own = self
            .here
            .dialect
            .members
            .iter()
            .filter_map(|(theirs, _)| theirs.rsplit('/').next());
        let mut names: Vec<String> = ["event", "timestamp"].map(String::from).into();
        for name in own {
            let (head, tail) = name.split_at_checked(1).unwrap_or((name, ""));
            names.extend([
                name.to_string(),
                name.to_uppercase(),
                head.to_lowercase() + tail,
            ]);
        }
        for (of, pointer) in [
            ("tool_input_", "/tool/input"),
            ("tool_output_", "/tool/output"),
        ] {
            let members = events
                .iter()
                .filter_map(|event| event.at(pointer)?.as_object())
                .flatten();
            names.extend(
                members
                    .filter(|(key, _)| is_word(key))
                    .take(MAX_PATHS)
                    .map(|(key, _)| format!("{of}{key}")),
            );
        }
        let mut told = BTreeSet::new();
        names.retain(|name| {
            is_identifier(name) && (placeholders.knows)(name) && told.insert(name.clone())
        });
        names
            .into_iter()
            .map(|name| {
                let value = events
                    .iter()
                    .find_map(|event| (placeholders.value)(event, &name));
                let about = value
                    .map(|value| sample_markdown(&value))
                    .unwrap_or_default();
                Item::named(ItemKind::VARIABLE, name, about, span)
            })
            .collect()
    }
}
