//! Permission rules of coding agents: read from the agent's own files, held against calls as its
//! documents say, and said as rules of hookwire's.
//!
//! An agent's reader makes a [`Permission`] of each rule. The `reads` of a permission is what the
//! agent does by its documents, and its `said` is what hookwire is to do. Both judge the same
//! examples, so that nobody has to believe that they are the same.

pub mod claude_code;
pub mod codex;
mod commands;
pub mod cursor;
pub mod gemini;
pub mod opencode;
mod patterns;

use hookwire_base::support::shell_word;
use hookwire_base::verdict::Decision;
use serde_json::{Value, json};

/// So many rules are carried over at a time.
pub const MAX_RULES: usize = 2_000;
/// The longest rule, in bytes.
pub const MAX_RULE: usize = 2_000;

/// A call of a tool. A path is absolute, below `~/`, or in the directory of the call.
#[derive(Clone, Debug, PartialEq)]
pub enum Call {
    /// A text for the shell.
    Bash(String),
    /// A file is read.
    Read(String),
    /// A file is written as a whole.
    Write(String),
    /// A file is changed in its place.
    Edit(String),
    /// A URL is fetched.
    Fetch(String),
    /// Another tool, with its input.
    Tool(String, Value),
}

impl Call {
    /// The tool by its name in rules, and its input.
    pub fn tool(&self) -> (&str, Value) {
        self.tool_in("~")
    }

    /// The same, with the home directory in the place of `~`.
    pub fn tool_in(&self, home: &str) -> (&str, Value) {
        let placed = |path: &str| match path.strip_prefix("~/") {
            Some(below) => format!("{home}/{below}"),
            None => path.to_string(),
        };
        match self {
            Call::Bash(text) => ("Bash", json!({ "command": text })),
            Call::Read(path) => ("Read", json!({ "file_path": placed(path) })),
            Call::Write(path) => (
                "Write",
                json!({ "file_path": placed(path), "content": "x" }),
            ),
            Call::Edit(path) => (
                "Edit",
                json!({ "file_path": placed(path), "old_string": "a", "new_string": "b" }),
            ),
            Call::Fetch(url) => ("WebFetch", json!({ "url": url, "prompt": "x" })),
            Call::Tool(name, input) => (name, input.clone()),
        }
    }

    /// What happens, as a file of cases has it: the member and its value.
    pub fn as_case(&self) -> (&'static str, Value) {
        match self {
            Call::Bash(text) => ("bash", json!(text)),
            Call::Read(path) => ("read", json!(path)),
            Call::Write(path) => ("write", json!(path)),
            Call::Edit(path) => ("edit", json!(path)),
            Call::Fetch(url) => ("fetch", json!(url)),
            Call::Tool(name, input) => (
                "event",
                json!({ "event": "PreToolUse", "tool": { "name": name, "input": input } }),
            ),
        }
    }

    /// For people.
    pub fn shown(&self) -> String {
        match self {
            Call::Bash(text) => text.clone(),
            Call::Read(path) => format!("Read {path}"),
            Call::Write(path) => format!("Write {path}"),
            Call::Edit(path) => format!("Edit {path}"),
            Call::Fetch(url) => format!("WebFetch {url}"),
            Call::Tool(name, input) if input.as_object().is_some_and(|it| it.is_empty()) => {
                name.clone()
            }
            Call::Tool(name, input) => format!("{name} {input}"),
        }
    }
}

/// A call that shows how a rule is read.
#[derive(Clone, Debug, PartialEq)]
pub struct Example {
    pub call: Call,
    /// What it tries; for people.
    pub how: &'static str,
    /// The same act in other words. To decide as about that one is no loosening.
    pub same_as: Option<Call>,
}

impl Example {
    fn new(call: Call, how: &'static str) -> Example {
        Example {
            call,
            how,
            same_as: None,
        }
    }
}

/// What a permission is here.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Said {
    /// Rules for `if`; with none, the permission can't be said.
    pub rules: Vec<String>,
    /// The hook's `when`.
    pub when: Option<String>,
}

/// Whether a call is what a rule names, by the agent's documents.
pub type Reads = Box<dyn Fn(&Call) -> bool>;

/// A rule of an agent's permissions.
pub struct Permission {
    /// As written.
    pub text: String,
    /// `file:line`.
    pub place: String,
    pub decision: Decision,
    /// Of several rules that name a call, those of the highest rank count, and of these the
    /// strictest decides.
    pub rank: usize,
    /// What the agent is told where the rule stops it, if the rule says that itself.
    pub reason: Option<String>,
    /// What the agent does, by its documents.
    pub reads: Reads,
    /// What it is here.
    pub said: Said,
    /// How it differs, or why it can't be said; for people.
    pub notes: Vec<String>,
    pub examples: Vec<Example>,
}

impl Permission {
    /// A rule of which it isn't known yet what it names.
    fn new(text: impl Into<String>, place: String, decision: Decision) -> Permission {
        Permission {
            text: text.into(),
            place,
            decision,
            rank: 0,
            reason: None,
            reads: Box::new(|_| false),
            said: Said::default(),
            notes: Vec::new(),
            examples: Vec::new(),
        }
    }
}

/// A setting about permissions that is no rule.
pub struct Aside {
    pub text: String,
    pub place: String,
    /// Why it isn't carried over; for people.
    pub why: String,
}

/// All that an agent's files say of permissions.
pub struct Permissions {
    pub rules: Vec<Permission>,
    pub asides: Vec<Aside>,
    /// What the agent judges one by one of a text for the shell.
    pub parts: fn(&str) -> Vec<Call>,
    /// Rules that deny are held against the text as a whole, too.
    pub judges_whole: bool,
    /// What the reading goes by; for people.
    pub known_by: &'static str,
}

/// How strict a decision is. `None` leaves the call to the agent's mode, which may ask: so it is
/// stricter than an allow.
pub fn strictness(decision: Option<Decision>) -> u8 {
    match decision {
        Some(Decision::Allow) => 0,
        None => 1,
        Some(Decision::Ask | Decision::Defer) => 2,
        Some(Decision::Deny) => 3,
    }
}

impl Permissions {
    /// No rules yet.
    fn none(parts: fn(&str) -> Vec<Call>, known_by: &'static str) -> Permissions {
        Permissions {
            rules: Vec::new(),
            asides: Vec::new(),
            parts,
            judges_whole: false,
            known_by,
        }
    }

    /// What the agent decides by its rules; `None`: no rule names the call.
    pub fn decide(&self, call: &Call) -> Option<Decision> {
        let Call::Bash(text) = call else {
            return self.decide_part(call);
        };
        let parts = (self.parts)(text).into_iter();
        let whole = self.judges_whole.then(|| self.decide_part(call)).flatten();
        let whole = whole.filter(|decision| *decision == Decision::Deny);
        parts
            .map(|part| self.decide_part(&part))
            .chain(whole.map(Some))
            .max_by_key(|decision| strictness(*decision))
            .unwrap_or_default()
    }

    fn decide_part(&self, part: &Call) -> Option<Decision> {
        let named = self.rules.iter().filter(|rule| (rule.reads)(part));
        named
            .max_by_key(|rule| (rule.rank, strictness(Some(rule.decision))))
            .map(|rule| rule.decision)
    }

    /// The rules that would decide in the place of a rule, and are weaker: where those hold, it
    /// doesn't.
    pub fn exceptions(&self, of: &Permission) -> Vec<&Permission> {
        let is_weaker = |it: &&Permission| {
            it.rank > of.rank && strictness(Some(it.decision)) < strictness(Some(of.decision))
        };
        self.rules.iter().filter(is_weaker).collect()
    }
}

/// A command that ends in a short option, with another one beside it: a letter more in the same
/// word says that.
fn in_cluster(base: &str) -> Option<String> {
    let letters = base.rsplit(' ').next()?.strip_prefix('-')?;
    let is_cluster = !letters.is_empty() && letters.chars().all(|c| c.is_ascii_alphabetic());
    is_cluster.then(|| format!("{base} -x"))
}

/// Examples around a command: as the rule has it, and as it hasn't.
fn around_command(base: &str) -> Vec<Example> {
    let example = |text: String, how| Example::new(Call::Bash(text), how);
    let quoted = shell_word::argument(base);
    let inner = example(format!("bash -c {quoted}"), "in a shell of its own");
    vec![
        example(base.into(), "as it is written"),
        example(format!("{base} x1"), "with a word more"),
        Example {
            same_as: in_cluster(base).map(Call::Bash),
            ..example(format!("{base}x"), "a name that begins so")
        },
        example(format!("{base} && other-program"), "in a chain"),
        example(format!("other-program; {base}"), "behind another command"),
        example(format!("FOO=1 {base}"), "behind a variable"),
        example(format!("timeout 5 {base}"), "behind timeout"),
        Example {
            same_as: Some(Call::Bash(base.into())),
            ..inner
        },
        example(format!("echo {quoted}"), "as a text only"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use hookwire_base::syntax::diagnostic::LineIndex;
    use hookwire_base::syntax::formats::{Format, parse};
    use hookwire_testing::rows;
    use serde::Deserialize;
    use std::collections::BTreeMap;

    fn read(agent: &str, settings: &Value) -> Permissions {
        let text = rows::written_value(settings);
        if agent == "codex" {
            let mut found = codex::none();
            codex::take(&mut found, &text, "a.rules");
            return found;
        }
        let mut found = claude_code::none();
        let (root, lines) = (parse(&text, Format::Json).unwrap(), LineIndex::new(&text));
        let level = claude_code::Level::Project;
        claude_code::take(&mut found, &root, "settings.json", &lines, level);
        found
    }

    fn call(text: &str) -> Call {
        let (kind, what) = text.split_once(": ").unwrap();
        let what = what.to_string();
        match kind {
            "bash" => Call::Bash(what),
            "read" => Call::Read(what),
            "write" => Call::Write(what),
            "fetch" => Call::Fetch(what),
            other => panic!("{other}"),
        }
    }

    /// The agents' readings are held against what the agents themselves decided.
    #[test]
    fn readings_are_those_of_the_agents() {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Row {
            agent: String,
            settings: Value,
            /// By decision: the calls.
            decides: BTreeMap<String, Vec<String>>,
        }
        rows::compare("permissions/measured.jsonl", |row: Row| {
            let permissions = read(&row.agent, &row.settings);
            let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
            for text in row.decides.values().flatten() {
                let decision = permissions.decide(&call(text));
                let decision = decision.map_or("no rule", Decision::as_str);
                found.entry(decision.into()).or_default().push(text.clone());
            }
            found.values_mut().for_each(|texts| texts.sort());
            let mut expected = row.decides;
            expected.values_mut().for_each(|texts| texts.sort());
            (found, expected)
        });
    }
}
