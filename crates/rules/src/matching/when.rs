//! `when`: a CEL expression over the event.
//!
//! An expression that errs, a missing member included, is opaque and never "no". A member at the
//! top that hookwire knows and the event lacks is null.

use super::Truth;
use super::cel::{CelError, Comparison, Failure, Held, Outcome, Program, Reference, Untrue};
use hookwire_base::event::MEMBERS;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// The name of what the rules of `if` have hit.
pub const ACT: &str = "act";
/// Its members.
pub const ACT_MEMBERS: [&str; 5] = ["command", "directory", "repository", "branch", "remote"];

/// A compiled expression.
#[derive(Debug)]
pub struct When {
    program: Program,
    is_about_acts: bool,
}

/// Members that are texts in every event.
const TEXTS: [&str; 7] = [
    "event",
    "session",
    "run",
    "cwd",
    "systemPrompt",
    "tool.name",
    "agent.name",
];

impl When {
    /// Compiles an expression.
    ///
    /// # Errors
    /// The first mistake and its place, a bad literal regex in `matches()` included.
    pub fn new(source: &str) -> Result<When, CelError> {
        let program = Program::new(source)?;
        let mut named = program.references().into_iter();
        Ok(When {
            is_about_acts: named.any(|it| it.path.split('.').next() == Some(ACT)),
            program,
        })
    }

    /// The expression as written.
    pub fn source(&self) -> &str {
        self.program.source()
    }

    /// Whether the expression holds for an event's data.
    pub fn holds(&self, data: &Value) -> Truth {
        let doubt = |why: &str| Truth::in_doubt("when", why.to_string());
        match self.program.run(data, &MEMBERS) {
            Ok(Outcome::Bool(true)) => Truth::Yes,
            Ok(Outcome::Bool(false)) => Truth::No,
            Ok(other) => doubt(&format!("it gave {}, not a boolean", type_name(&other))),
            Err(Failure::Missing(path)) => doubt(&format!("`{path}` is missing")),
            Err(Failure::Other(problem)) => doubt(&problem),
        }
    }

    /// Whether it names [`ACT`], and so is about what the rules hit.
    pub fn is_about_acts(&self) -> bool {
        self.is_about_acts
    }

    /// The members of [`ACT`] that it names and that no act has, each with its place.
    pub fn unknown_of_act(&self) -> Vec<(String, Range<usize>)> {
        let references = self.program.references().into_iter();
        let unknown = references.filter_map(|reference| {
            let member = reference.path.strip_prefix(ACT)?.strip_prefix('.')?;
            let is_known = ACT_MEMBERS.contains(&member);
            (!is_known).then(|| (member.to_string(), reference.at))
        });
        unknown.collect()
    }

    /// Whether it reads a member of [`ACT`], by name or with the whole of it.
    pub(super) fn reads_of_act(&self, member: &str) -> bool {
        let is_read = |path: &str| match path.strip_prefix(ACT) {
            Some(rest) => rest.is_empty() || rest.strip_prefix('.') == Some(member),
            None => false,
        };
        let references = self.program.references();
        references.iter().any(|reference| is_read(&reference.path))
    }

    /// Whether it holds for an event's data and one of its acts; nothing if it can't be told.
    pub(super) fn holds_for_act(&self, data: &Value, act: &Value) -> Option<bool> {
        match self.program.run_beside(data, &MEMBERS, (ACT, act)) {
            Ok(Outcome::Bool(holds)) => Some(holds),
            Ok(_) | Err(_) => None,
        }
    }

    /// The expression's value as a text to tell things apart by. What the event lacks is empty.
    ///
    /// # Errors
    /// Says what the expression did instead: `failed: ...`, `gave a list`.
    pub fn key(&self, data: &Value) -> Result<String, String> {
        match self.program.run(data, &MEMBERS) {
            Ok(Outcome::Text(text)) => Ok(text),
            Ok(Outcome::Number(text)) => Ok(text),
            Ok(Outcome::Bool(value)) => Ok(value.to_string()),
            Ok(Outcome::Nothing) | Err(Failure::Missing(_)) => Ok(String::new()),
            Ok(Outcome::Other(name)) => Err(format!("gave {name}, not a text or a number")),
            Err(Failure::Other(problem)) => Err(format!("failed: {problem}")),
        }
    }

    /// Member paths that the expression names, `has()` included, each with where it is first
    /// written.
    pub fn references(&self) -> Vec<(String, Range<usize>)> {
        let mut first: BTreeMap<String, Range<usize>> = BTreeMap::new();
        for reference in self.program.references() {
            first.entry(reference.path).or_insert(reference.at);
        }
        let is_part = |path: &String| {
            first
                .keys()
                .any(|other| other.starts_with(&format!("{path}.")))
        };
        first
            .iter()
            .filter(|(path, _)| !is_part(path))
            .map(|(path, at)| (path.clone(), at.clone()))
            .collect()
    }

    /// Member paths that the expression reads without asking `has()` first, and that an event may
    /// lack: on such an event the expression errs.
    pub fn unguarded(&self) -> Vec<String> {
        let (mut read, mut guarded) = (BTreeSet::new(), BTreeSet::new());
        for reference in self.program.references() {
            let is_of_event = reference
                .path
                .split_once('.')
                .is_some_and(|(first, _)| MEMBERS.contains(&first));
            match reference.is_asked_for {
                true => guarded.insert(reference.path),
                false => is_of_event && read.insert(reference.path),
            };
        }
        // Where an event has none, even `has()` of a member errs.
        let of_metadata = |reference: &Reference| reference.path.starts_with("metadata.");
        if self.program.references().iter().any(of_metadata) && !guarded.contains("metadata") {
            read.insert("metadata".to_string());
        }
        let always = ["tool.name", "tool.input", "agent.name"];
        let is_part = |path: &String| {
            path != "metadata"
                && read
                    .iter()
                    .any(|other| other.starts_with(&format!("{path}.")))
        };
        let safe = |path: &String| {
            always.contains(&path.as_str()) || guarded.contains(path) || is_part(path)
        };
        read.iter().filter(|path| !safe(path)).cloned().collect()
    }
}

impl When {
    /// What can never be decided, with its place: members of texts, and what is no truth where one
    /// is needed.
    pub fn undecidable(&self) -> Vec<(Range<usize>, String)> {
        let references = self.program.references().into_iter();
        let of_texts = references.filter_map(|reference| {
            let text = TEXTS[1..]
                .iter()
                .find(|text| reference.path.starts_with(&format!("{text}.")))?;
            Some((
                reference.at,
                format!("`{text}` is a text, which has no members"),
            ))
        });
        let untrue = self
            .program
            .truths()
            .into_iter()
            .filter_map(|(at, what)| match what {
                Untrue::Constant(kind) => {
                    Some((at, format!("this is {kind}, where a condition is needed")))
                }
                Untrue::Member(path) if TEXTS.contains(&&*path) => Some((
                    at,
                    format!("`{path}` is a text, where a condition is needed"),
                )),
                Untrue::Member(_) => None,
            });
        of_texts.chain(untrue).collect()
    }

    /// Where it holds members against constant texts.
    pub fn comparisons(&self) -> Vec<Comparison> {
        self.program.comparisons()
    }

    /// A member that would have to be two texts at once, and the place of the second.
    pub fn contradiction(&self) -> Option<(String, Range<usize>)> {
        let required: Vec<_> = self
            .program
            .comparisons()
            .into_iter()
            .filter(|it| it.how == Held::Required)
            .collect();
        let is_another = |it: &&Comparison| {
            required
                .iter()
                .any(|other| other.member == it.member && other.text != it.text)
        };
        required
            .iter()
            .rfind(is_another)
            .map(|it| (it.member.clone(), it.at.clone()))
    }

    /// Texts in which `in` is to find a part: what it says, with its place, and what is meant.
    pub fn parts_of_texts(&self) -> Vec<(Range<usize>, String, String)> {
        // The arguments that agents give as texts.
        const ARGUMENTS: [&str; 6] = [
            "prompt",
            "tool.input.command",
            "tool.input.file_path",
            "tool.input.path",
            "tool.input.url",
            "tool.input.content",
        ];
        let is_text = |path: &str| TEXTS.contains(&path) || ARGUMENTS.contains(&path);
        let of_texts = self
            .program
            .looked_into()
            .into_iter()
            .filter(|(path, ..)| is_text(path));
        let told = |(path, at, text): (String, Range<usize>, Range<usize>)| {
            let meant = format!(
                "{path}.contains({})",
                self.source().get(text).unwrap_or_default()
            );
            (
                at.clone(),
                self.source().get(at).unwrap_or_default().to_string(),
                meant,
            )
        };
        of_texts.map(told).collect()
    }

    /// Whether it is false for certain at an event of this name.
    pub fn excludes_event(&self, name: &str) -> bool {
        self.program.excludes("event", name)
    }

    /// Whether it asks `has()` for a member of the event.
    pub fn asks_for(&self, member: &str) -> bool {
        self.program
            .references()
            .iter()
            .any(|reference| reference.is_asked_for && reference.path == member)
    }

    /// Whether it names exactly this member: `tool`, but not `tool.name`.
    pub fn names(&self, path: &str) -> bool {
        self.program
            .references()
            .iter()
            .any(|reference| reference.path == path)
    }
}

fn type_name(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Bool(_) => "bool",
        Outcome::Text(_) => "string",
        Outcome::Number(_) => "a number",
        Outcome::Nothing => "null",
        Outcome::Other(name) => name,
    }
}

#[cfg(test)]
mod tests;
