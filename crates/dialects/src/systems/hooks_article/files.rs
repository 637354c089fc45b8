//! The article's hook configs as hookwire's own definitions.

use super::{is_known_name, quotes};
use crate::OwnKeys;
use crate::files::{self, rename_entry, unknown_word};
use hookwire_base::syntax::diagnostic::Severity;
use hookwire_base::syntax::fix::{Edit, Fix};
use hookwire_base::syntax::node::{Entry, Node, NodeValue, Span};
use hookwire_base::syntax::problem::Problem;
use std::collections::HashMap;

/// A mode, the field that says what to do, and hookwire's key for it.
type Mode = (&'static str, &'static str, &'static str);

const MODES: [Mode; 4] = [
    ("command", "command", "command"),
    ("prompt", "prompt", "prompt"),
    ("agent", "prompt", "agent"),
    ("http", "url", "http"),
];
/// The fields of a hook config.
const FIELDS: [&str; 11] = [
    "name",
    "event",
    "matcher",
    "mode",
    "command",
    "prompt",
    "url",
    "condition",
    "timeout",
    "async_mode",
    "payload_template",
];
/// The keys of hookwire's own that such a config has by another name.
const RENAMED: [&str; 3] = ["on", "if", "async"];

/// A list of hook configs, or a map from event names to such lists, as the registry has them.
pub(super) fn read_configs(root: &Node, own: OwnKeys, problems: &mut Vec<Problem>) -> Node {
    let NodeValue::Map(entries) = &root.value else {
        return root.clone();
    };
    let mut reader = Reader {
        own,
        problems,
        unnamed: HashMap::new(),
        hook: None,
    };
    let entries = entries.iter().map(|entry| match entry.key.as_str() {
        "hooks" => Entry {
            value: reader.read_hooks(&entry.value),
            ..entry.clone()
        },
        _ => entry.clone(),
    });
    Node {
        value: NodeValue::Map(entries.collect()),
        span: root.span.clone(),
    }
}

struct Reader<'a> {
    own: OwnKeys,
    problems: &'a mut Vec<Problem>,
    /// How many hooks of the same event and matcher have no name of their own.
    unnamed: HashMap<String, usize>,
    /// The hook that is being read.
    hook: Option<String>,
}

impl Reader<'_> {
    fn read_hooks(&mut self, node: &Node) -> Node {
        let mut hooks = Vec::new();
        match &node.value {
            NodeValue::Seq(items) => {
                hooks.extend(items.iter().map(|item| self.read_hook(item, None)))
            }
            NodeValue::Map(events) => {
                for Entry {
                    key,
                    key_span,
                    value,
                } in events
                {
                    let event = Node {
                        span: key_span.clone(),
                        value: NodeValue::String(key.clone()),
                    };
                    match &value.value {
                        NodeValue::Seq(items) => hooks
                            .extend(items.iter().map(|item| self.read_hook(item, Some(&event)))),
                        NodeValue::Null => {}
                        _ => {
                            self.problems.push(files::wrong_type(
                                value,
                                &format!("`{key}`"),
                                "a list of hooks",
                            ));
                        }
                    }
                }
            }
            _ => return node.clone(),
        }
        Node {
            span: node.span.clone(),
            value: NodeValue::Seq(hooks),
        }
    }

    /// Reports a mistake, with help unless that is empty.
    fn report_error(&mut self, span: &Span, code: &'static str, message: String, help: &str) {
        self.report_problem(span, Severity::Error, code, message, help);
    }

    fn push(&mut self, problem: Problem) {
        self.problems.push(Problem {
            hook: self.hook.clone(),
            ..problem
        });
    }

    fn report_problem(
        &mut self,
        span: &Span,
        severity: Severity,
        code: &'static str,
        message: String,
        help: &str,
    ) {
        let help = Some(help.to_string()).filter(|help| !help.is_empty());
        let hook = self.hook.clone();
        self.problems.push(Problem {
            severity,
            hook,
            ..files::error_at(span, code, message, help)
        });
    }

    fn report_unfit(&mut self, it: &Entry, wanted: &str, help: &str) {
        let message = format!("`{}`: expected {wanted}, found {}", it.key, it.value.kind());
        self.report_error(&it.value.span, "wrong-type", message, help);
    }

    /// A hook config as hookwire writes it; what is written that way already stays.
    fn read_hook(&mut self, item: &Node, under: Option<&Node>) -> Node {
        let NodeValue::Map(entries) = &item.value else {
            return item.clone();
        };
        let mut hook: Vec<Entry> = Vec::new();
        if item.get("mode").is_none() && (item.get("on").is_some() || item.get("guard").is_some()) {
            self.hook = item.get("name").and_then(filled_text).map(str::to_string);
            hook.extend(entries.iter().map(|entry| self.open_quotes(entry)));
            return Node {
                span: item.span.clone(),
                value: NodeValue::Map(hook),
            };
        }
        let own = item.get("event").filter(|event| !is_none(event));
        let event = under.or(own);
        let name = self.choose_name(item, event);
        self.hook = Some(name.clone());
        let at = item
            .get("name")
            .filter(|node| filled_text(node).is_some())
            .map_or(&item.span, |node| &node.span);
        hook.push(make_entry(
            "name",
            at,
            Node {
                span: at.clone(),
                value: NodeValue::String(name),
            },
        ));
        match event {
            Some(event) if filled_text(event).is_some() => {
                hook.push(make_entry("on", &event.span, event.clone()))
            }
            // Its own check reports the wrong type.
            Some(_) => {}
            None => {
                let help = "add `event: PreToolUse`, or another of the events";
                self.report_error(
                    &item.span,
                    "missing-event",
                    "a hook needs an `event`".into(),
                    help,
                );
            }
        }
        if let (Some(under), Some(own)) = (under.and_then(filled_text), own)
            && filled_text(own) != Some(under)
        {
            let message = format!("`event` is another than `{under}`, under which the hook stands");
            let problem = Problem::error(&own.span, "wrong-event", message).help("leave it out");
            self.push(problem.fix(Fix::new("Leave it out", Edit::Remove("event".into()))));
        }
        for it in entries {
            self.read_field(it, &mut hook);
        }
        if let Some(mode) = self.find_mode(item) {
            hook.extend(self.read_handler(item, mode));
        }
        Node {
            span: item.span.clone(),
            value: NodeValue::Map(hook),
        }
    }

    /// The fields that hookwire adds.
    fn extras(&self) -> impl Iterator<Item = &'static str> + use<> {
        let own = self.own.iter().copied();
        own.filter(|key| !RENAMED.contains(key))
    }

    /// A field that all modes have.
    fn read_field(&mut self, it: &Entry, hook: &mut Vec<Entry>) {
        let is_text = matches!(it.value.value, NodeValue::String(_));
        match it.key.as_str() {
            key if is_none(&it.value) && FIELDS.contains(&key) => {}
            "name" if !is_text => self.report_unfit(it, "a string", ""),
            "event" if !is_text => {
                self.report_unfit(it, "a string", "write one hook for each event")
            }
            "condition" if !is_text => {
                self.report_unfit(it, "a string", "write `condition: Write(src/**/*.ts)`")
            }
            "condition" => hook.push(rename_entry(it, "if")),
            "async_mode" if !matches!(it.value.value, NodeValue::Bool(_)) => {
                self.report_unfit(it, "true or false", "")
            }
            "async_mode" => hook.push(rename_entry(it, "async")),
            "name" | "event" | "mode" | "command" | "prompt" | "url" | "payload_template" => {}
            key if FIELDS.contains(&key) || self.extras().any(|extra| extra == key) => {
                hook.push(it.clone());
            }
            unknown => {
                let message = format!("unknown field `{unknown}`");
                let known = FIELDS.into_iter().chain(self.extras());
                self.push(unknown_word(
                    &it.key_span,
                    "unknown-field",
                    message,
                    unknown,
                    known,
                ));
            }
        }
    }

    /// The row of the config's mode.
    fn find_mode(&mut self, item: &Node) -> Option<Mode> {
        let modes = "command, prompt, agent or http";
        let Some(it) = item.entry("mode").filter(|entry| !is_none(&entry.value)) else {
            let mode = MODES
                .iter()
                .find(|(_, field, _)| item.get(field).is_some())
                .map_or(modes, |(mode, ..)| *mode);
            self.report_error(
                &item.span,
                "bad-mode",
                "a hook needs a `mode`".into(),
                &format!("add `mode: {mode}`"),
            );
            return None;
        };
        let NodeValue::String(mode) = &it.value.value else {
            self.report_unfit(it, modes, "");
            return None;
        };
        let row = MODES.into_iter().find(|(known, ..)| known == mode);
        if row.is_none() {
            let known = MODES.iter().map(|(mode, ..)| *mode);
            let problem = unknown_word(
                &it.value.span,
                "bad-mode",
                format!("unknown mode `{mode}`"),
                mode,
                known,
            );
            self.push(problem.or_help(format!("there are {modes}")));
        }
        row
    }

    /// The handler of the mode, from its own fields and no other mode's.
    fn read_handler(&mut self, item: &Node, (mode, field, key): Mode) -> Option<Entry> {
        let written = |key: &str| item.entry(key).filter(|entry| !is_none(&entry.value));
        for (other, of) in [
            ("command", "command"),
            ("prompt", "prompt` or `agent"),
            ("url", "http"),
            ("payload_template", "http"),
        ] {
            if let Some(it) = written(other).filter(|_| other != field && of != mode) {
                let message =
                    format!("`{other}` is for mode `{of}`, and this hook is of mode `{mode}`");
                self.report_error(
                    &it.key_span,
                    "wrong-mode",
                    message,
                    "leave it out, or change `mode`",
                );
            }
        }
        let Some(it) = written(field) else {
            let at = item.get("mode").map_or(&item.span, |mode| &mode.span);
            let message = format!("a hook of mode `{mode}` needs `{field}`");
            self.report_error(at, "missing-field", message, &format!("add `{field}`"));
            return None;
        };
        // Checked here, so that the message names the author's field and not hookwire's key.
        if key != field && !matches!(it.value.value, NodeValue::String(_)) {
            self.report_unfit(it, "a string", "");
            return None;
        }
        let value = if mode == "http" {
            let body = written("payload_template").map(|it| rename_entry(it, "body"));
            let fields = [it.clone()].into_iter().chain(body).collect();
            Node {
                span: it.value.span.clone(),
                value: NodeValue::Map(fields),
            }
        } else {
            self.open_quotes(it).value
        };
        Some(make_entry(key, &it.key_span, value))
    }

    /// The name that was given, else one of the event and the matcher.
    fn choose_name(&mut self, item: &Node, event: Option<&Node>) -> String {
        if let Some(name) = item.get("name").and_then(filled_text) {
            return name.to_string();
        }
        let mut base = event.and_then(filled_text).unwrap_or("hook").to_string();
        if let Some(matcher) = item
            .get("matcher")
            .filter(|matcher| !is_none(matcher))
            .and_then(filled_text)
        {
            base = format!("{base}/{matcher}");
        }
        let count = self.unnamed.entry(base.clone()).or_default();
        *count += 1;
        format!("{base}#{count}")
    }

    /// A shell text with quotes opened around names; anything else as it is.
    fn open_quotes(&mut self, it: &Entry) -> Entry {
        let (NodeValue::String(shell), "command") = (&it.value.value, it.key.as_str()) else {
            return it.clone();
        };
        let (opened, left) = quotes::open_quotes(shell, is_known_name);
        if let Some(name) = left.first() {
            let message = format!("`{name}` is in single quotes, where its value doesn't come");
            let help =
                format!("write `\"{name}\"` in double quotes, if no shell reads what comes of it");
            self.report_problem(
                &it.value.span,
                Severity::Warning,
                "quoted-variable",
                message,
                &help,
            );
        }
        Entry {
            value: Node {
                span: it.value.span.clone(),
                value: NodeValue::String(opened),
            },
            ..it.clone()
        }
    }
}

fn make_entry(key: &str, key_span: &Span, value: Node) -> Entry {
    Entry {
        key: key.into(),
        key_span: key_span.clone(),
        value,
    }
}

/// A text that is not blank.
fn filled_text(node: &Node) -> Option<&str> {
    match &node.value {
        NodeValue::String(text) if !text.trim().is_empty() => Some(text),
        _ => None,
    }
}

/// No value; the article writes `None`.
fn is_none(node: &Node) -> bool {
    match &node.value {
        NodeValue::Null => true,
        NodeValue::String(text) => text == "None",
        _ => false,
    }
}
