//! The names of hooks: what a hook without a name may be called, and names that two hooks have.

use hookwire_base::syntax::fix::{Edit, Fix};
use hookwire_base::syntax::node::{Node, NodeValue, Span};
use hookwire_base::syntax::problem::Problem;
use hookwire_handlers::handlers::KINDS;
use std::collections::{HashMap, HashSet};

/// A hook of the same layer has the same name; `first` says where.
pub fn duplicate_name(name: &str, span: &Span, first: &str) -> Problem {
    let message = format!("`{name}` is also the name of the hook at {first}; both run");
    let problem =
        Problem::warning(span, "duplicate-name", message).help("give one of them another name");
    Problem {
        other_place: Some(first.to_string()),
        ..problem.in_hook(name)
    }
}

/// Names that no hook has: a taken one with a number.
pub struct FreeNames<'n> {
    taken: HashSet<&'n str>,
    /// The first free number of each name that was asked for.
    numbers: HashMap<String, u32>,
}

impl<'n> FreeNames<'n> {
    /// All but these are free.
    pub fn new(taken: impl IntoIterator<Item = &'n str>) -> FreeNames<'n> {
        FreeNames {
            taken: taken.into_iter().collect(),
            numbers: HashMap::new(),
        }
    }

    /// The first number behind a name that makes it a free one.
    fn number(&mut self, name: &str) -> u32 {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let is_free = |number: &u32| !self.taken.contains(&*format!("{name}-{number}"));
        let number = (2..u32::MAX).find(is_free).unwrap_or(u32::MAX);
        self.numbers.insert(name.to_string(), number);
        number
    }

    /// The name itself if it is free, else with a number.
    pub fn free(&mut self, name: &str) -> String {
        if self.taken.contains(name) {
            format!("{name}-{}", self.number(name))
        } else {
            name.to_string()
        }
    }

    /// The edit that puts a number behind a name that another hook has.
    pub fn numbering(&mut self, name: &str) -> Fix {
        let number = self.number(name);
        let edit = Edit::Wrap {
            before: String::new(),
            after: format!("-{number}"),
        };
        Fix::new(format!("Call it `{name}-{number}`"), edit)
    }
}

/// A name made of what a hook does and when: `deny-pre-tool-use`.
pub(super) fn suggested(hook: &Node) -> String {
    let handler = hook
        .entries()
        .iter()
        .find(|entry| KINDS.iter().any(|kind| kind.key == entry.key));
    let guard = handler
        .filter(|it| it.key == "guard")
        .and_then(|it| match &it.value.value {
            NodeValue::String(name) => Some(name.as_str()),
            NodeValue::Map(guards) => guards.first().map(|it| it.key.as_str()),
            _ => None,
        });
    let event = match hook.get("on").map(|it| &it.value) {
        Some(NodeValue::String(event)) => Some(event.as_str()),
        Some(NodeValue::Seq(events)) => events.first().and_then(Node::text),
        _ => None,
    };
    let mut name = String::new();
    for word in [
        guard
            .or(handler.map(|it| it.key.as_str()))
            .unwrap_or("hook"),
        event.unwrap_or_default(),
    ] {
        for c in word
            .chars()
            .take(64)
            .filter(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ':'))
        {
            let follows_word =
                name.ends_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit());
            match c {
                '_' | ':' | '-' if !name.ends_with('-') => name.push('-'),
                '_' | ':' | '-' => {}
                _ if c.is_ascii_uppercase() && follows_word => {
                    name.extend(['-', c.to_ascii_lowercase()])
                }
                _ => name.push(c.to_ascii_lowercase()),
            }
        }
        name.push('-');
    }
    name.trim_matches('-').to_string()
}
