//! Definitions as a file has them, read field by field: a mistake in one field hides none in the
//! others.

use crate::hook_set::Untrusted;
use globset::{Glob, GlobMatcher};
use hookwire_base::support::nearest::closest;
use hookwire_base::syntax::diagnostic::Severity;
use hookwire_base::syntax::node::{DecodeError, Entry, Node, NodeValue, decode};
use hookwire_base::syntax::problem::Problem;
use hookwire_base::syntax::source::Layer;
use hookwire_base::syntax::values::{OneOrMany, RawDuration, text_or_map};
use hookwire_base::verdict::Decision;
use hookwire_dialects as dialects;
use hookwire_handlers::handlers::{KINDS, guards, members};
use hookwire_handlers::services::models::{ModelRef, RawModel};
use hookwire_rules::contract::Fail;
use hookwire_rules::matching::tools::{self, DeclaredTool};
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::num::NonZeroU64;
use std::sync::Arc;

/// A map that people write, each key in one row: what it is for, how it is kept, and what reads it
/// if not [`Mistakes::field`].
macro_rules! written_map {
    (@read $entry:ident $mistakes:ident) => { $mistakes.field($entry) };
    (@read $entry:ident $mistakes:ident $read:path) => { $read($entry, $mistakes) };
    ($(#[$about:meta])* $name:ident { $($(#[$of:meta])* $key:literal => $field:ident: $kept:ty $(= $read:path)?,)* }) => {
        $(#[$about])*
        pub(super) struct $name {
            $($(#[$of])* #[serde(rename = $key)] pub(super) $field: $kept,)*
        }

        impl $name {
            pub(super) const KEYS: &[&str] = &[$($key),*];

            /// Reads a member, if its key is one of these.
            fn take(&mut self, entry: &Entry, mistakes: &mut Mistakes) -> bool {
                match entry.key.as_str() {
                    $($key => self.$field = written_map!(@read entry mistakes $($read)?),)*
                    _ => return false,
                }
                true
            }
        }
    };
}

/// A value, or null.
fn value_or_null<T: DeserializeOwned>(entry: &Entry, mistakes: &mut Mistakes) -> Option<T> {
    mistakes.field::<Option<T>>(entry).flatten()
}

/// The compiler reads the name, because it is reported with all mistakes.
fn read_by_compiler(_: &Entry, _: &mut Mistakes) -> String {
    String::new()
}

fn dialect(entry: &Entry, mistakes: &mut Mistakes) -> Option<String> {
    mistakes.dialect(entry).map(str::to_string)
}

written_map! {
    /// What every hook may say; beside it stands exactly one handler key.
    #[derive(Default, JsonSchema)]
    #[schemars(rename = "Hook", default)]
    #[allow(dead_code, reason = "the schema comes from this struct, the reading is field by field")]
    RawHook {
        /// Names the hook in verdicts, logs and diagnostics.
        "name" => name: String = read_by_compiler,
        /// For people.
        "description" => description: Option<String>,
        /// One event or a list; `'*'` is every event. Any dialect's name for it is understood. May
        /// be left out where `matcher` names events (workflow-framework).
        "on" => on: Option<OneOrMany>,
        /// A regex that must match the tool's whole name; absent, '' and '*' match all.
        "matcher" => matcher: Option<String> = value_or_null,
        /// A rule or a list of which any is enough: `Tool`, `Tool|Other`, `Tool(pattern)`. Shell
        /// tools by the commands they would run, file tools by path, URLs part by part.
        "if" => r#if: Option<OneOrMany> = value_or_null,
        /// A rule or a list: what they match, `if` doesn't. Of several commands or paths, only
        /// those that they cover.
        "unless" => unless: Option<OneOrMany> = value_or_null,
        /// Where what `if` names has to be: a directory, a repository, a branch, a remote.
        "where" => r#where: Option<RawWhere> = value_or_null,
        /// A CEL expression over the event.
        "when" => when: Option<String>,
        /// Lower runs earlier (default 100); reversed for after-events.
        "priority" => priority: Option<i64>,
        /// For one run; else what the file's defaults say, else 30 s. A sub-agent has 2 minutes and
        /// an approval its `wait` unless it is said here.
        "timeout" => timeout: Option<RawDuration>,
        /// What a failure of the hook means.
        "fail" => fail: Option<Fail>,
        /// The decision where a command would run code that isn't shown, such as `npm test`.
        "delegates" => delegates: Option<Delegates>,
        /// What its rules over files are held against: the tool's own call, or whatever reads and
        /// writes files. For a fixed deny or ask and an approval it is always `acts`.
        "reach" => reach: Option<Reach>,
        /// Only say what it would have done: it stops, asks, changes and adds nothing, and its
        /// failure denies nothing.
        "observe" => observe: Option<bool>,
        /// Start it and don't wait: it can't decide anything.
        "async" => r#async: Option<bool>,
        /// Run it side by side with its parallel neighbours.
        "parallel" => parallel: Option<bool>,
        /// At most once per session.
        "once" => once: Option<bool>,
        /// `false` switches it off.
        "enabled" => enabled: Option<bool>,
        /// Only for these agents; globs on the name.
        "agents" => agents: Option<OneOrMany>,
        /// The vocabulary that the hook is written for.
        "dialect" => dialect: Option<String> = dialect,
        /// For people and tools.
        "tags" => tags: Option<OneOrMany>,
    }
}

/// Where what `if` names has to be. All that is said has to hold; of a list, one is enough.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Where")]
pub(super) struct RawWhere {
    /// Globs on the branch that is checked out there, or that a push or a fetch is for. `default` is
    /// the one that a remote has checked out; without one, `main` and `master`. `HEAD` is none.
    pub(super) branch: Option<OneOrMany>,
    /// Patterns of the directory that it happens in.
    pub(super) directory: Option<OneOrMany>,
    /// Patterns of the root of the work tree that this is in.
    pub(super) repository: Option<OneOrMany>,
    /// Globs on the remote of a push or a fetch: its name or its address.
    pub(super) remote: Option<OneOrMany>,
}

/// What rules over files are held against.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Reach {
    /// The call of a tool that the rule names.
    Tool,
    /// What any call does to files.
    Acts,
}

/// The decision where a command would run code that its text doesn't show.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Delegates {
    /// Such code is no match.
    Ignore,
    /// Asks a person.
    Ask,
    /// Denies it.
    Deny,
}

impl Delegates {
    /// The decision; `ignore` is none.
    pub(super) fn decision(self) -> Option<Decision> {
        match self {
            Delegates::Ignore => None,
            Delegates::Ask => Some(Decision::Ask),
            Delegates::Deny => Some(Decision::Deny),
        }
    }
}

/// One more name of a tool: the name, or with the argument that it has for the family's.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ToolNameLong")]
pub(super) struct RawToolNameLong {
    /// The tool's own name.
    pub(super) name: String,
    /// The argument that holds the command, path or URL, if it has a name of its own.
    #[serde(default)]
    pub(super) argument: Option<String>,
}

/// A tool's name with its settings, or only the name.
#[derive(Clone, Debug)]
pub(super) struct RawToolName(pub(super) RawToolNameLong);

text_or_map!(
    RawToolName(RawToolNameLong),
    "ToolName",
    "a tool's name or a map with `name` and `argument`",
    "A tool's name, or a map that also says which argument holds its command, path or URL.",
    |name| RawToolNameLong {
        name,
        argument: None
    }
);

written_map! {
    /// What a file says for all its hooks.
    #[derive(Clone, Default, JsonSchema)]
    #[schemars(deny_unknown_fields, default)]
    #[schemars(rename = "Defaults")]
    RawDefaults {
        /// How long one run may take, for hooks that don't say.
        "timeout" => timeout: Option<RawDuration>,
        /// What a failure at a gate means, for hooks that don't say.
        "fail" => fail: Option<Fail> = default_fail,
        /// The decision on commands that run code that isn't shown, for hooks that don't say.
        "delegates" => delegates: Option<Delegates>,
        /// Whether hooks that don't say only observe. Not for `self-defense`, nor for `policy`.
        "observe" => observe: Option<bool>,
        /// The priority of hooks that don't say: lower runs earlier, reversed for after-events.
        "priority" => priority: Option<i64>,
        /// Hooks that don't say are only for these agents; globs on the name.
        "agents" => agents: Option<OneOrMany> = default_agents,
        /// The model of hooks that ask one and don't say which.
        "model" => model: Option<RawModel> = default_model,
    }
}

written_map! {
    /// Which tools may be called at all, how often and within what bounds: decided before any hook
    /// runs, and by every layer.
    #[derive(Default, JsonSchema)]
    #[serde(deny_unknown_fields, default)]
    #[schemars(rename = "Policy")]
    RawPolicy {
        /// `Tool(pattern)`: denied, also where it can't be told.
        "deny" => deny: Option<OneOrMany> = value_or_null,
        /// `Tool(pattern)`: where this is given, whatever isn't on it is denied. Each command of a
        /// line must be on it, different ones by different entries.
        "allow" => allow: Option<OneOrMany> = value_or_null,
        /// The bounds of tool calls.
        "limits" => limits: RawLimits = RawLimits::read,
        /// The sandbox that tools are to run in, by a name that whoever runs them knows. hookwire
        /// passes it on in the grant.
        "sandbox" => sandbox: Option<String> = value_or_null,
        /// What whoever is denied is told first: why, and what to do instead. The rule, or what no
        /// rule covers, follows.
        "reason" => reason: Option<String> = value_or_null,
    }
}

written_map! {
    #[derive(Default, JsonSchema)]
    #[serde(deny_unknown_fields, default)]
    #[schemars(rename = "PolicyLimits")]
    RawLimits {
        /// Tool calls of one run.
        "maxCalls" => max_calls: Option<NonZeroU64> = value_or_null,
        /// How long a tool may run. Passed on in the grant.
        "timeout" => timeout: Option<RawDuration> = value_or_null,
        /// How much a tool may give back. Passed on in the grant.
        "maxOutputBytes" => max_output_bytes: Option<u64> = value_or_null,
    }
}

/// The fields of a file.
pub(super) const FILE_FIELDS: [&str; 7] = [
    "policy",
    "defaults",
    "tools",
    "hooks",
    "dialect",
    "untrusted",
    "$schema",
];

/// The mistakes of a file, in the order in which they are found.
#[derive(Default)]
pub(super) struct Mistakes {
    /// All so far.
    pub(super) found: Vec<Problem>,
    /// The hook that is being read.
    pub(super) hook: Option<Arc<str>>,
}

impl Mistakes {
    /// Adds one in the hook that is being read.
    pub(super) fn push(&mut self, problem: Problem) {
        self.found.push(Problem {
            hook: self.hook.as_deref().map(str::to_string),
            ..problem
        });
    }

    /// How many of them are errors.
    pub(super) fn n_errors(&self) -> usize {
        self.found
            .iter()
            .filter(|it| it.severity == Severity::Error)
            .count()
    }

    /// The value of a field, if it has the form of its key.
    pub(super) fn field<T: DeserializeOwned>(&mut self, entry: &Entry) -> Option<T> {
        decode(&entry.value)
            .map_err(|error| self.misfit(entry, error))
            .ok()
    }

    /// A value that hasn't the form of its key.
    pub(super) fn misfit(&mut self, entry: &Entry, error: DecodeError) {
        let joint = if error.path.is_empty() || error.path.starts_with('[') {
            ""
        } else {
            "."
        };
        let code = if error.is_unknown_field {
            "unknown-field"
        } else {
            "wrong-type"
        };
        let message = format!("`{}{joint}{}`: {}", entry.key, error.path, error.message);
        let of_field = in_its_form(&entry.key, &entry.value).filter(|_| error.path.is_empty());
        let help = error
            .suggestion()
            .map(|it| format!("did you mean `{it}`?"))
            .or(of_field)
            .or(error.help);
        let fixes = error.fix.map(|fix| *fix).into_iter().collect();
        self.push(Problem {
            help,
            fixes,
            ..Problem::error(&error.span, code, message)
        });
    }

    /// A handler that hasn't the form of its key.
    pub(super) fn misfit_of_handler(&mut self, entry: &Entry, mut error: DecodeError) {
        if let ("rewrite", "command") = (&*entry.key, &*error.path)
            && let Some(text) = entry.value.get("command").and_then(Node::text)
        {
            let words = text
                .split(' ')
                .filter(|it| !it.is_empty())
                .collect::<Vec<_>>()
                .join(", ");
            (error.help, error.fix) = (
                Some(format!("write its words as a list: `[{words}]`")),
                None,
            );
        }
        let is_whole = error.path.is_empty();
        let help = match entry.key.as_str() {
            "allow" => Some("write the reason as a text: `allow: It only reads.`".into()),
            "ask" => Some("write the question as a text: `ask: Is this fine?`".into()),
            "deny" => Some("write the reason as a text: `deny: Not here.`".into()),
            // An example of the whole says nothing of a setting.
            "guard" if !error.path.contains(['.', '[']) => Some(guards::written_as(&entry.value)),
            "script" => None,
            key if is_whole => as_map(key, &entry.value),
            _ => None,
        };
        self.misfit(entry, error);
        if let Some(problem) = self.found.last_mut() {
            problem.help = problem.help.take().or(help);
        }
    }

    /// Fields of a hook that stand beside `hooks`, or where there is none.
    pub(super) fn strays(&mut self, strays: &[&Entry], root: &Node) {
        let [first, ..] = strays else { return };
        let names: Vec<_> = strays
            .iter()
            .map(|entry| format!("`{}`", entry.key))
            .collect();
        let (belong, stand) = if names.len() == 1 {
            ("belongs", "stands")
        } else {
            ("belong", "stand")
        };
        let message = format!(
            "{} {belong} to a hook, and {stand} outside of one",
            names.join(", ")
        );
        let help = match root.get("hooks") {
            Some(_) => "indent what belongs to a hook as far as its other fields",
            None => {
                "write `hooks:` above, and each hook below it as an item of a list: `- name: ...`"
            }
        };
        self.push(Problem::error(&first.key_span, "unknown-field", message).help(help));
    }

    /// A field that nothing here knows.
    pub(super) fn unknown_field(&mut self, entry: &Entry, nearest: Option<&str>) {
        let problem = Problem::error(
            &entry.key_span,
            "unknown-field",
            format!("unknown field `{}`", entry.key),
        );
        self.push(problem.did_you_mean(&entry.key, nearest));
    }

    /// A member of a file for this dialect that nothing here knows.
    pub(super) fn unknown_member(&mut self, entry: &Entry, dialect: &str, root: &Node) {
        let unknown = &entry.key;
        if let Some((like, help)) =
            dialects::with_member(unknown).filter(|(like, _)| *like != dialect)
        {
            let message = format!("unknown field `{unknown}`: this looks like {like}");
            return self.push(Problem::error(&entry.key_span, "unknown-field", message).help(help));
        }
        let holds_hooks = |agent: &Entry| agent.value.get("hooks").is_some();
        if unknown == "agent"
            && entry.value.entries().iter().any(holds_hooks)
            && let Some((like, help)) =
                dialects::with_member("agents").filter(|(like, _)| *like != dialect)
        {
            let message =
                format!("unknown field `agent`: this looks like {like}, which calls it `agents`");
            return self.push(Problem::error(&entry.key_span, "unknown-field", message).help(help));
        }
        if unknown == "agent" && dialect == dialects::NATIVE {
            let problem = Problem::error(&entry.key_span, "unknown-field", "unknown field `agent`");
            let help = "for hooks of some agents only, put it under `defaults: { agents: [...] }`; a hook that asks a \
                        model stands in the list `hooks`";
            return self.push(problem.help(help));
        }
        if unknown == "cases" {
            let problem = Problem::error(&entry.key_span, "unknown-field", "unknown field `cases`");
            return self
                .push(problem.help(
                    "cases stand in a file of their own: `guard.test.yaml` for `guard.yaml`",
                ));
        }
        let own = dialects::members_of(dialect).iter().copied();
        let nearest = closest(unknown, FILE_FIELDS.into_iter().chain(own));
        if nearest.is_none() && RawDefaults::KEYS.contains(&&**unknown) {
            let message = format!("unknown field `{unknown}`");
            let problem = Problem::error(&entry.key_span, "unknown-field", message);
            return self.push(problem.help(format!(
                "for all hooks of the file, put it under `defaults: {{ {unknown}: ... }}`"
            )));
        }
        let holds_hooks =
            unknown.to_ascii_lowercase().contains("hook") && root.get("hooks").is_none();
        self.unknown_field(entry, nearest.or(holds_hooks.then_some("hooks")));
    }

    /// The members of what is to be a map.
    fn members<'n>(&mut self, entry: &'n Entry) -> &'n [Entry] {
        if let NodeValue::Map(entries) = &entry.value.value {
            return entries;
        }
        let message = format!("`{}` is a map, found {}", entry.key, entry.value.kind());
        self.push(Problem::error(&entry.value.span, "wrong-type", message));
        &[]
    }

    /// The dialect that a field names.
    pub(super) fn dialect(&mut self, entry: &Entry) -> Option<&'static str> {
        let name: String = self.field(entry)?;
        match dialects::by_name(&name) {
            Ok(dialect) => Some(dialect.name()),
            Err(unknown) => {
                let problem = Problem::error(&entry.value.span, "unknown-dialect", unknown.message);
                self.push(
                    problem
                        .did_you_mean(&name, unknown.nearest)
                        .or_help(unknown.otherwise),
                );
                None
            }
        }
    }

    /// Globs on the names of agents.
    pub(super) fn globs(
        &mut self,
        raw: Option<OneOrMany>,
        span: &hookwire_base::syntax::node::Span,
    ) -> Vec<GlobMatcher> {
        let Some(OneOrMany(texts)) = raw else {
            return Vec::new();
        };
        let mut globs = Vec::new();
        for text in texts {
            match Glob::new(&text) {
                Ok(glob) => globs.push(glob.compile_matcher()),
                Err(error) => {
                    let message = format!("bad glob `{text}`: {}", error.kind());
                    self.push(Problem::error(span, "bad-glob", message));
                }
            }
        }
        globs
    }
}

/// A hook's fields with what stands beside them.
pub(super) struct WrittenHook<'n> {
    pub(super) raw: RawHook,
    /// The members whose key is a handler's; one, if all is well.
    pub(super) handlers: Vec<&'n Entry>,
    /// An unknown field is probably a handler's key.
    pub(super) has_misspelt_handler: bool,
}

impl<'n> WrittenHook<'n> {
    /// Reads all but the name.
    pub(super) fn read(entries: &'n [Entry], mistakes: &mut Mistakes) -> WrittenHook<'n> {
        let mut written = WrittenHook {
            raw: RawHook::default(),
            handlers: Vec::new(),
            has_misspelt_handler: false,
        };
        for entry in entries {
            if written.raw.take(entry, mistakes) {
                continue;
            }
            match entry.key.as_str() {
                key if KINDS.iter().any(|kind| kind.key == key) => written.handlers.push(entry),
                unknown => {
                    if let Some(help) = belongs_within(unknown, entries) {
                        written.has_misspelt_handler = true;
                        let message = format!("unknown field `{unknown}`");
                        mistakes.push(
                            Problem::error(&entry.key_span, "unknown-field", message).help(help),
                        );
                        continue;
                    }
                    let known = RawHook::KEYS
                        .iter()
                        .copied()
                        .chain(KINDS.iter().map(|kind| kind.key));
                    let nearest = closest(unknown, known);
                    let is_another_name = |(own, names): &(&str, &[&str])| {
                        names.contains(&unknown) && !entries.iter().any(|it| it.key == *own)
                    };
                    let meant = OTHER_NAMES
                        .iter()
                        .find(|it| is_another_name(it))
                        .map(|(own, _)| *own);
                    let nearest = meant.or(nearest).or_else(|| dialects::mark_like(unknown));
                    written.has_misspelt_handler |=
                        KINDS.iter().any(|kind| nearest == Some(kind.key));
                    let verdict = VERDICTS
                        .iter()
                        .find(|(names, _)| names.contains(&unknown))
                        .map(|(_, help)| *help);
                    let has_handler = entries
                        .iter()
                        .any(|it| KINDS.iter().any(|kind| kind.key == it.key));
                    let within =
                        members::only_with(unknown).filter(|_| nearest.is_none() && !has_handler);
                    let within = within.map(|key| {
                        format!("it belongs into `{key}`: `{key}: {{ {unknown}: ... }}`")
                    });
                    let verdict = verdict.map(str::to_string).or(within);
                    written.has_misspelt_handler |= verdict.is_some();
                    // Alone, it is what people write who haven't read what it is called here.
                    let has_mark =
                        |it: &Entry| it.key != entry.key && dialects::with_field(&it.key).is_some();
                    let is_slip = meant.is_some() && !entries.iter().any(has_mark);
                    match dialects::with_field(unknown).filter(|_| !is_slip) {
                        Some((dialect, help)) => {
                            let message =
                                format!("unknown field `{unknown}`: this looks like {dialect}");
                            mistakes.push(
                                Problem::error(&entry.key_span, "unknown-field", message)
                                    .help(help),
                            );
                        }
                        None => {
                            mistakes.unknown_field(entry, nearest);
                            if let (Some(problem), Some(help)) =
                                (mistakes.found.last_mut(), verdict)
                            {
                                problem.help.get_or_insert(help);
                            }
                        }
                    }
                }
            }
        }
        written
    }
}

/// How a field is written that was given another form.
fn in_its_form(key: &str, value: &Node) -> Option<String> {
    let texts = || {
        value
            .items()
            .iter()
            .map(Node::text)
            .collect::<Option<Vec<_>>>()
    };
    match key {
        "matcher" => texts()
            .filter(|it| !it.is_empty())
            .map(|texts| format!("write `{}`", texts.join("|"))),
        "if" | "unless" => {
            let text = |key: &str| value.get(key).and_then(Node::text);
            let pattern = ["command", "path", "pattern", "url"]
                .into_iter()
                .find_map(text)?;
            Some(format!(
                "a rule is a text: write `{}({pattern})`",
                text("tool").unwrap_or("Bash")
            ))
        }
        "priority" => Some(
            "write a number, such as `10`: what is lower runs earlier, and without one it is 100"
                .into(),
        ),
        _ => None,
    }
}

/// How a handler is written for which the text alone says too little.
fn as_map(key: &str, value: &Node) -> Option<String> {
    let text = value.text()?;
    // An address and a path are the author's own; another text may be anything.
    let is_word = !text.is_empty() && text.len() < 100 && !text.contains([' ', '`', '\n']);
    Some(match key {
        "http" if is_word => format!("write `http: {{ url: '{text}' }}`"),
        "http" => "write `http: { url: ... }`".into(),
        "callable" if is_word && text.contains(':') => {
            format!("write `callable: {{ python: '{text}' }}`")
        }
        "callable" => "write `callable: { python: 'module:function' }`".into(),
        "rewrite" if is_word => format!("write `rewrite: {{ program: {text} }}`"),
        "rewrite" => "write `rewrite: { program: ... }`".into(),
        "mcp" => "write `mcp: { server: ..., tool: ... }`".into(),
        _ => return None,
    })
}

/// What to do with a field that belongs into the definition of the hook's handler.
fn belongs_within(unknown: &str, entries: &[Entry]) -> Option<String> {
    let Entry { key, value, .. } = entries
        .iter()
        .find(|it| KINDS.iter().any(|kind| kind.key == it.key))?;
    if key == "guard" {
        let guard = value
            .text()
            .or_else(|| Some(&value.entries().first()?.key))?;
        return members::takes(key, Some(guard), unknown).then(|| {
            format!("it is a setting of `{guard}`: `guard: {{ {guard}: {{ {unknown}: ... }} }}`")
        });
    }
    let within = match members::of_text(key).filter(|_| value.text().is_some()) {
        Some(member) => format!("`{key}: {{ {member}: ..., {unknown}: ... }}`"),
        None => format!("`{key}: {{ ..., {unknown}: ... }}`"),
    };
    members::takes(key, None, unknown).then(|| format!("it belongs into `{key}`: {within}"))
}

/// The fields in which other systems, and people who guess, have a decision or its reason, and how
/// hookwire has it.
const VERDICTS: [(&[&str], &str); 2] = [
    (
        &["action", "decision", "permission", "then"],
        "the decision is a key of its own, with the reason: `deny: Not here.`",
    ),
    (
        &["message", "msg", "reason"],
        "the reason is the text of the decision: `deny: Not here.`",
    ),
];

/// Other names of fields: the events that a hook is for, the tools, what it does.
const OTHER_NAMES: [(&str, &[&str]); 4] = [
    ("command", &["bash", "cmd", "exec", "run", "shell"]),
    ("deny", &["block", "forbid", "refuse", "reject"]),
    (
        "on",
        &[
            "method", "methods", "trigger", "triggers", "event", "events",
        ],
    ),
    ("matcher", &["tool", "tools", "tool_name", "toolName"]),
];

impl RawDefaults {
    /// Reads `defaults`.
    pub(super) fn read(entry: &Entry, mistakes: &mut Mistakes) -> RawDefaults {
        let mut defaults = RawDefaults::default();
        let entries = if entry.value.value == NodeValue::Null {
            &[]
        } else {
            mistakes.members(entry)
        };
        for entry in entries {
            if !defaults.take(entry, mistakes) {
                let nearest = closest(&entry.key, RawDefaults::KEYS.iter().copied());
                if nearest == Some("fail") {
                    defaults.fail = Some(Fail::Closed);
                }
                mistakes.unknown_field(entry, nearest);
            }
        }
        defaults
    }
}

/// An author who says anything here doesn't want the `open` that saying nothing means.
fn default_fail(entry: &Entry, mistakes: &mut Mistakes) -> Option<Fail> {
    decode(&entry.value).unwrap_or_else(|mut error| {
        error
            .message
            .push_str("; until it is fixed, the file's hooks fail closed");
        mistakes.misfit(entry, error);
        Some(Fail::Closed)
    })
}

fn default_agents(entry: &Entry, mistakes: &mut Mistakes) -> Option<OneOrMany> {
    let errors = mistakes.n_errors();
    let agents: Option<OneOrMany> = mistakes.field(entry);
    mistakes.globs(agents.clone(), &entry.value.span);
    // A bad glob is reported once, not for every hook.
    agents.filter(|_| mistakes.n_errors() == errors)
}

fn default_model(entry: &Entry, mistakes: &mut Mistakes) -> Option<RawModel> {
    let model: RawModel = mistakes.field(entry)?;
    let Err(bad) = ModelRef::new(model.clone()) else {
        return Some(model);
    };
    let problem = Problem::error(&entry.value.span, "bad-model", bad.message);
    mistakes.push(Problem {
        help: bad.help,
        fixes: bad.fix.map(|fix| *fix).into_iter().collect(),
        ..problem
    });
    None
}

impl RawPolicy {
    /// Reads `policy`.
    pub(super) fn read(entry: &Entry, mistakes: &mut Mistakes) -> RawPolicy {
        let mut raw = RawPolicy::default();
        for entry in mistakes.members(entry) {
            match entry.key.as_str() {
                _ if raw.take(entry, mistakes) => {}
                "observe" => {
                    let message =
                        "a policy can't only observe: it decides before any hook is asked";
                    let problem = Problem::error(&entry.key_span, "unknown-field", message);
                    mistakes.push(problem.help("write what is to be tried as hooks, which can"));
                }
                unknown => {
                    mistakes.unknown_field(entry, closest(unknown, RawPolicy::KEYS.iter().copied()))
                }
            }
        }
        raw
    }
}

impl RawLimits {
    fn read(entry: &Entry, mistakes: &mut Mistakes) -> RawLimits {
        let mut raw = RawLimits::default();
        for entry in mistakes.members(entry) {
            if !raw.take(entry, mistakes) {
                mistakes.unknown_field(entry, closest(&entry.key, RawLimits::KEYS.iter().copied()));
            }
        }
        raw
    }
}

/// Reads `untrusted`, which a project can't say of itself.
pub(super) fn untrusted(entry: &Entry, layer: Layer, mistakes: &mut Mistakes) -> Option<Untrusted> {
    if !layer.is_trusted() {
        let message = "a project can't say what becomes of it while nobody trusts it";
        let problem = Problem::error(&entry.key_span, "unknown-field", message);
        mistakes.push(problem.help("write it in `~/.config/hookwire` or in `/etc/hookwire`"));
        return None;
    }
    mistakes.field(entry)
}

/// Reads `tools`: names that the file adds to the families of the table.
pub(super) fn declared_tools(
    entry: &Entry,
    layer: Layer,
    mistakes: &mut Mistakes,
) -> Vec<DeclaredTool> {
    let mut declared = Vec::new();
    for family in mistakes.members(entry) {
        let Some(known) = tools::family(&family.key) else {
            let message = format!("`{}` is no family of tools", family.key);
            let problem = Problem::error(&family.key_span, "unknown-tool", message);
            let names = tools::TOOLS.iter().map(|tool| tool.name);
            let all: Vec<_> = names.clone().collect();
            let nearest = closest(&family.key, names);
            mistakes.push(
                problem
                    .did_you_mean(&family.key, nearest)
                    .or_help(format!("write one of {}", all.join(", "))),
            );
            continue;
        };
        let items = match &family.value.value {
            NodeValue::Seq(items) => items.iter().collect(),
            NodeValue::Null => Vec::new(),
            _ => vec![&family.value],
        };
        for item in items {
            let RawToolName(RawToolNameLong { name, argument }) = match decode(item) {
                Ok(name) => name,
                Err(error) => {
                    mistakes.misfit(family, error);
                    continue;
                }
            };
            match tools::known(&name) {
                Some(other) if other.name != known.name || argument.is_some() => {
                    let message = format!(
                        "`{name}` is a name of `{}` already, and stays one",
                        other.name
                    );
                    mistakes.push(Problem::error(&item.span, "known-tool", message));
                }
                _ => declared.push(DeclaredTool {
                    layer,
                    name,
                    family: known.name,
                    argument,
                }),
            }
        }
    }
    declared
}
