//! What child processes get of the host's environment and of the event, and what of it must not be
//! read elsewhere.

use super::compile::{Compile, Mistake};
use super::programs;
use hookwire_base::support::places;
use hookwire_base::syntax::fix::Fix;
use hookwire_base::syntax::source::Layer;
use hookwire_base::verdict::Answer;
use hookwire_rules::matching::Facts;
use hookwire_rules::matching::tools::MainArgument;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// What a command gets of the host's environment without being asked for.
pub(super) const DEFAULT_ENV: [&str; 7] = ["PATH", "HOME", "USER", "LANG", "TZ", "TMPDIR", "SHELL"];

/// Python writes no bytecode beside what was approved: the copy would be another one.
const NO_BYTECODE: (&str, &str) = ("PYTHONDONTWRITEBYTECODE", "1");

/// What a program gets of the host's environment, with what its definition sets.
pub(super) fn environment(
    set: BTreeMap<String, String>,
    inherit: &[String],
    cx: &Compile<'_>,
) -> Result<Vec<(String, String)>, Mistake> {
    let named = set
        .keys()
        .map(|name| ("env", name))
        .chain(inherit.iter().map(|name| ("inheritEnv", name)));
    for (field, name) in named {
        if name.is_empty() || name.contains(['=', '\0', '$']) {
            let mistake = Mistake::new(field, format!("`{name}` can't be the name of a variable"));
            let bare = name.trim_matches(['$', '{', '}']);
            return Err(match bare != name && !bare.is_empty() {
                true => mistake
                    .help(format!("write `{bare}`"))
                    .fix(Fix::replace(name, bare)),
                false => mistake,
            });
        }
    }
    let inherited = std::env::vars_os().filter_map(|(name, value)| {
        let (name, value) = (name.into_string().ok()?, value.into_string().ok()?);
        let wanted = DEFAULT_ENV.contains(&name.as_str())
            || name.starts_with("LC_")
            || inherit.contains(&name);
        wanted.then_some((name, value))
    });
    let mut env: BTreeMap<String, String> = inherited.collect();
    // A timer or a service may have none.
    if env.get("HOME").is_none_or(String::is_empty)
        && let Some(home) = places::home().and_then(|home| home.into_os_string().into_string().ok())
    {
        env.insert("HOME".into(), home);
    }
    env.extend(cx.path().map(|path| ("PATH".to_string(), path)));
    env.extend(
        cx.temporary
            .map(|dir| ("TMPDIR".to_string(), dir.to_string_lossy().into_owned())),
    );
    if cx.approved.is_some() {
        let (name, value) = NO_BYTECODE;
        env.insert(name.into(), value.into());
    }
    env.extend(set);
    Ok(env.into_iter().collect())
}

/// The variables of a program's environment that it has from its definition: not from the host's or
/// from hookwire.
pub(super) fn changed(env: &[(String, String)]) -> Vec<String> {
    let is_home = |value: &str| places::home().is_some_and(|home| home.as_os_str() == value);
    let is_host = |(name, value): &&(String, String)| {
        let is_given = match &**name {
            "PATH" => programs::is_given(value),
            "HOME" => is_home(value),
            name => (name, &**value) == NO_BYTECODE,
        };
        is_given || std::env::var(name).is_ok_and(|it| it == *value)
    };
    env.iter()
        .filter(|it| !is_host(it))
        .map(|(name, _)| name.clone())
        .collect()
}

/// Values that must not be in a log or an error.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Secrets {
    all: Vec<String>,
    /// Values that a model must not read either. What a definition itself sets may be a path that a
    /// hook tells it of.
    kept_from_models: Vec<String>,
}

/// A shorter value is ordinary text as well, and masking `1` or `debug` would leave nothing to
/// read.
const SHORTEST_SECRET: usize = 8;

/// Members of a reply in its own words that stay: words of a vocabulary.
const KEPT: [&str; 8] = [
    "decision",
    "permissionDecision",
    "behavior",
    "action",
    "status",
    "type",
    "hookEventName",
    "hook_event_name",
];

/// Members of such a reply that a model reads.
const FOR_MODEL: [&str; 2] = ["additionalContext", "additional_context"];

/// What a context changes that a model reads.
const READ_BY_MODEL: [&str; 2] = ["messages", "systemPrompt"];

impl Secrets {
    /// The lines of these values, since a log is read by lines.
    pub(super) fn new<'a>(values: impl Iterator<Item = &'a str>) -> Secrets {
        let lines = values
            .flat_map(str::lines)
            .map(str::trim)
            .filter(|line| line.len() >= SHORTEST_SECRET);
        let mut lines: Vec<String> = lines.map(str::to_string).collect();
        // A line that contains another one goes first.
        lines.sort_by_key(|line| std::cmp::Reverse(line.len()));
        lines.dedup();
        Secrets {
            kept_from_models: lines.clone(),
            all: lines,
        }
    }

    /// The values that a definition sets or takes over by name.
    pub(super) fn from_definition(
        env: &[(String, String)],
        set: &BTreeMap<String, String>,
        inherit: &[String],
    ) -> Secrets {
        let is_inherited =
            |name: &str| inherit.iter().any(|it| it == name) && !set.contains_key(name);
        let of = |is_one: &dyn Fn(&str) -> bool| {
            let named = env
                .iter()
                .filter(|(name, _)| is_one(name) && !DEFAULT_ENV.contains(&name.as_str()));
            Secrets::new(named.map(|(_, value)| value.as_str())).all
        };
        let all = of(&|name| is_inherited(name) || set.contains_key(name));
        Secrets {
            all,
            kept_from_models: of(&is_inherited),
        }
    }

    /// Takes them out of every text that an answer says: to people, to logs, to a model. The
    /// subject's new value and the data of a context stay, since a tool or an agent may be meant to
    /// get one there.
    pub(super) fn mask_answer(&self, answer: &mut Answer) {
        if self.all.is_empty() {
            return;
        }
        let Answer {
            reason,
            stop,
            user_messages,
            additional_context,
            context,
            remarks,
            signals,
            said,
            ..
        } = answer;
        for signal in signals {
            signal.message = self.mask(&signal.message);
            signal.source = signal.source.as_deref().map(|source| self.mask(source));
            signal
                .context
                .values_mut()
                .for_each(|value| self.mask_value(value, &self.all));
        }
        let lists = user_messages.iter_mut().chain(remarks);
        lists
            .chain(reason)
            .chain(stop)
            .for_each(|text| *text = self.mask(text));
        additional_context
            .iter_mut()
            .for_each(|text| *text = mask(text, &self.kept_from_models));
        for key in READ_BY_MODEL {
            if let Some(value) = context.as_mut().and_then(|context| context.get_mut(key)) {
                self.mask_value(value, &self.kept_from_models);
            }
        }
        if let Some(said) = said {
            self.mask_value(said, &self.all);
        }
    }

    /// As deep as JSON may be.
    fn mask_value(&self, value: &mut Value, secrets: &[String]) {
        match value {
            Value::String(text) => *text = mask(text, secrets),
            Value::Array(items) => items
                .iter_mut()
                .for_each(|item| self.mask_value(item, secrets)),
            Value::Object(members) => {
                for (key, value) in members
                    .iter_mut()
                    .filter(|(key, _)| !KEPT.contains(&key.as_str()))
                {
                    let is_for_model = FOR_MODEL.contains(&key.as_str());
                    self.mask_value(
                        value,
                        if is_for_model {
                            &self.kept_from_models
                        } else {
                            secrets
                        },
                    );
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// The text without them.
    pub(super) fn mask(&self, text: &str) -> String {
        mask(text, &self.all)
    }
}

fn mask(text: &str, secrets: &[String]) -> String {
    secrets.iter().fold(text.to_string(), |text, secret| {
        if text.contains(secret) {
            text.replace(secret, "[masked]")
        } else {
            text
        }
    })
}

/// The variable of the path that a call is about.
const MAIN_PATH: &str = "tool_input_path";
/// The variable of the command that a call is about.
const MAIN_COMMAND: &str = "tool_input_command";
/// The largest value that becomes a variable, in bytes.
pub(super) const MAX_VARIABLE: usize = 32 * 1024;
/// All of an event's variables together; the kernel's own limit is some 2 MiB with the arguments.
const MAX_VARIABLES: usize = 256 * 1024;
/// The list of names that were left out.
const MAX_OMITTED: usize = 4 * 1024;

/// Members of an event that become variables. Others would let an event's author choose names
/// that mean something to a program.
const MEMBERS: [&str; 19] = [
    "event",
    "session",
    "run",
    "parentRun",
    "step",
    "agent",
    "tool",
    "model",
    "prompt",
    "result",
    "error",
    "lastMessage",
    "stopActive",
    "compaction",
    "summary",
    "usage",
    "data",
    "cwd",
    "metadata",
];

/// The event's scalars as variables: names joined by `_`.
#[derive(Debug, Default)]
pub(super) struct Variables {
    values: BTreeMap<String, String>,
    /// What the event has and no variable was made of.
    omitted: BTreeSet<String>,
    size: usize,
}

impl Variables {
    /// The variables of an event.
    pub(super) fn of_event(facts: &Facts) -> Variables {
        let event = &facts.event;
        let mut out = Variables::default();
        if let Some(input) = event.at("/tool/input") {
            let row = facts.row(Layer::Session);
            match row.main_path(input) {
                MainArgument::Is(path) => out.put(MAIN_PATH.into(), path.into_owned()),
                MainArgument::Unclear => drop(out.omitted.insert(MAIN_PATH.into())),
                MainArgument::Absent => {}
            }
            match row.main_command(input) {
                MainArgument::Is(command) => out.put(MAIN_COMMAND.into(), command.into_owned()),
                MainArgument::Unclear => drop(out.omitted.insert(MAIN_COMMAND.into())),
                MainArgument::Absent => {}
            }
            let unclear = row.unclear_command(input).into_iter().flatten();
            out.omitted
                .extend(unclear.map(|name| format!("tool_input_{}", plain(name))));
        }
        for member in MEMBERS {
            if let Some(value) = event.data().get(member) {
                out.add(member.to_string(), value);
            }
        }
        out.put("HOOKWIRE_EVENT_ID".into(), event.id.to_string());
        if !out.omitted.is_empty() {
            let mut names = out
                .omitted
                .iter()
                .map(String::as_str)
                .collect::<Vec<_>>()
                .join(" ");
            if names.len() > MAX_OMITTED {
                // Names are ASCII.
                names.truncate(MAX_OMITTED);
                names.push_str(" ...");
            }
            out.values.insert("HOOKWIRE_OMITTED".into(), names);
        }
        out
    }

    /// Every variable with its value.
    pub(super) fn values(&self) -> impl Iterator<Item = (&str, &str)> {
        self.values
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// The names that stand for something in the event, and have no value.
    pub(super) fn missing(&self) -> impl Iterator<Item = &str> {
        self.omitted
            .iter()
            .map(String::as_str)
            .filter(|name| !self.values.contains_key(*name))
    }

    /// Recursion is bounded by the depth limit of the parser that read the event.
    fn add(&mut self, name: String, value: &Value) {
        match value {
            Value::Null => {}
            Value::Bool(value) => self.put(name, value.to_string()),
            Value::Number(value) => self.put(name, value.to_string()),
            Value::String(value) => self.put(name, value.clone()),
            Value::Array(_) => {
                self.omitted.insert(name);
            }
            Value::Object(members) => {
                let named = |key: &str| {
                    key.bytes()
                        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
                };
                // The first to have a name keeps it: a key as it stands, not one that only reads
                // like it.
                let mut members: Vec<_> = members.iter().collect();
                members.sort_by_key(|(key, value)| (!named(key), value.is_object()));
                for (key, value) in members {
                    let key = plain(key);
                    // The main argument stands there, whatever it is called, and no other.
                    let is_main = name == "tool_input" && (key == "path" || key == "command");
                    if is_main && self.is_taken(&format!("{name}_{key}")) {
                        continue;
                    }
                    self.add(format!("{name}_{key}"), value);
                }
            }
        }
    }

    fn put(&mut self, name: String, value: String) {
        let fits =
            value.len() <= MAX_VARIABLE && self.size + name.len() + value.len() <= MAX_VARIABLES;
        if !fits || value.contains('\0') || self.is_taken(&name) {
            self.omitted.insert(name);
            return;
        }
        self.size += name.len() + value.len();
        self.values.insert(name, value);
    }

    fn is_taken(&self, name: &str) -> bool {
        self.values.contains_key(name) || self.omitted.contains(name)
    }
}

/// A member's name as part of a variable's.
fn plain(name: &str) -> String {
    name.chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hookwire_base::event::Event;
    use serde_json::json;
    use std::path::Path;
    use std::sync::Arc;

    #[test]
    fn variables_are_made_of_members_that_there_are() {
        for member in MEMBERS {
            assert!(hookwire_base::event::MEMBERS.contains(&member), "{member}");
        }
    }

    #[test]
    fn secrets_are_masked_in_every_text_and_not_in_data() {
        let env = [
            ("A", "debug"),
            ("B", "continued"),
            ("C", "hunter2hunter2"),
            ("D", "/srv/project"),
        ];
        let env = env.map(|(name, value)| (name.to_string(), value.to_string()));
        let set = BTreeMap::from([("D".to_string(), "/srv/project".to_string())]);
        let secrets = Secrets::from_definition(&env, &set, &["A", "B", "C"].map(String::from));
        assert_eq!(
            secrets.mask("/srv/project hunter2hunter2"),
            "[masked] [masked]"
        );
        let text = "debug: hunter2hunter2".to_string();
        let mut answer = Answer {
            stop: Some(text.clone()),
            user_messages: vec![text.clone()],
            additional_context: vec![text.clone(), "see /srv/project".into()],
            remarks: vec![text.clone()],
            context: Some(
                json!({"systemPrompt": text, "messages": [{"content": text}], "metadata": {"token": text}}),
            ),
            said: Some(
                json!({"decision": "continued", "reason": text, "additionalContext": [text]}),
            ),
            subject: Some(json!({"command": text})),
            ..Answer::deny(text.as_str())
        };
        secrets.mask_answer(&mut answer);
        let masked = "debug: [masked]".to_string();
        let expected = Answer {
            stop: Some(masked.clone()),
            user_messages: vec![masked.clone()],
            additional_context: vec![masked.clone(), "see /srv/project".into()],
            remarks: vec![masked.clone()],
            context: Some(
                json!({"systemPrompt": masked, "messages": [{"content": masked}], "metadata": {"token": text}}),
            ),
            said: Some(
                json!({"decision": "continued", "reason": masked, "additionalContext": [masked]}),
            ),
            subject: Some(json!({"command": text})),
            ..Answer::deny(masked.as_str())
        };
        assert_eq!(answer, expected);
    }

    #[test]
    fn event_members_become_variables() {
        let event = Event::from_json(json!({
            "event": "PreToolUse", "session": "s", "LD_PRELOAD": "x",
            "tool": {"name": "Write", "input": {"file_path": "/a", "n": 3, "-i": true, "_i": 1, "list": [1], "a-b": "decoy", "a": {"b": "decoy"}, "a_b": "real", "l_t": [1], "l-t": "decoy", "nul": "a\u{0}b", "big": "x".repeat(40_000)}},
        })).unwrap();
        let variables = Variables::of_event(&Facts::new(Arc::new(event), Path::new("/")));
        let get = |name: &str| variables.values.get(name).map(String::as_str);
        for (name, expected) in [
            ("event", Some("PreToolUse")),
            ("tool_input_path", Some("/a")),
            ("tool_input_file_path", Some("/a")),
            ("tool_input_n", Some("3")),
            ("tool_input__i", Some("1")),
            ("tool_input_a_b", Some("real")),
            // What doesn't fit leaves its place empty.
            ("tool_input_l_t", None),
            ("tool_input_big", None),
            ("LD_PRELOAD", None),
            (
                "HOOKWIRE_OMITTED",
                Some(
                    "tool_input__i tool_input_a_b tool_input_big tool_input_l_t tool_input_list tool_input_nul",
                ),
            ),
        ] {
            assert_eq!(get(name), expected, "{name}");
        }
    }
}
