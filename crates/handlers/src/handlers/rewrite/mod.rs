//! `rewrite`: a declared change of the event's subject, without a program.
//!
//! What can't be changed with certainty isn't changed: a hook whose condition is in doubt doesn't
//! run, and what stands in the way of a change fails the hook. Its `fail` decides about both.

mod commands;
mod in_place;
mod options;

use super::call::Call;
use super::compile::{Compile, Mistake};
use super::error::HandlerError;
use super::kind::{Kind, TextKind};
use super::pattern::Pattern;
use super::text;
use hookwire_base::event::{Event, On};
use hookwire_base::template::Body;
use hookwire_base::verdict::Answer;
use hookwire_rules::matching::shell::CommandRule;
use in_place::{Change, OptionChange};
use options::RawOption;
use regex::Regex;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

/// A change of the event's subject: `patch`, `replace`, `command`, or `program` and `options`. The
/// last three change the commands that the hook's `if` names, in their place.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "Rewrite")]
pub struct RawRewrite {
    /// A JSON merge patch (RFC 7396) over the subject: members that it doesn't name stay, null
    /// removes one. `${tool.name}` placeholders in its strings; where the event lacks one, the
    /// rewrite fails.
    patch: Option<Map<String, Value>>,
    /// A regex on a text of the subject.
    replace: Option<RawReplace>,
    /// The program that runs instead of the one that `if` names.
    program: Option<String>,
    /// Options of the commands that `if` names, in every spelling that the program takes: another
    /// option stands in its place, with its value; null or false removes it with its value; true
    /// adds it where it is missing.
    options: Option<BTreeMap<String, RawOption>>,
    /// Words that stand instead of those that `if` names: the program, its sub-commands, operands
    /// and options.
    command: Option<Vec<String>>,
}

/// Every match of a regex in a text is replaced.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "RewriteReplace")]
struct RawReplace {
    /// The text: the path of a member that is the subject or within it, such as `prompt` or
    /// `tool.input.command`. Where the event lacks it, nothing is changed.
    member: String,
    /// What is replaced.
    pattern: Pattern,
    /// What stands there instead; `$1`, `${1}` and `${name}` are groups of the regex, `$$` is `$`.
    with: String,
}

#[derive(Debug)]
pub enum Rewrite {
    Patch {
        body: Body,
        /// It has no placeholders.
        is_constant: bool,
    },
    Replace(Replace),
    Commands {
        change: Change,
        /// What it makes isn't what `if` names.
        is_idempotent: bool,
    },
}

/// A regex on a text.
#[derive(Clone, Debug)]
pub struct Replace {
    /// The path of the text in the event.
    member: String,
    regex: Regex,
    with: String,
}

impl Kind for Rewrite {
    type Raw = RawRewrite;

    const NEEDS_CERTAINTY: bool = true;

    const TEXTS: &'static [(&'static str, TextKind)] = &[
        ("patch.**", TextKind::Template),
        ("replace.pattern", TextKind::Regex),
    ];

    fn compile(raw: RawRewrite, cx: &Compile<'_>) -> Result<Self, Mistake> {
        let given = [
            ("patch", raw.patch.is_some()),
            ("replace", raw.replace.is_some()),
            ("program", raw.program.is_some()),
            ("options", raw.options.is_some()),
            ("command", raw.command.is_some()),
        ];
        let mut given = given
            .into_iter()
            .filter(|(_, is_there)| *is_there)
            .map(|(key, _)| key);
        if let (Some(first), Some(second)) = (given.next(), given.next_back())
            && (first, second) != ("program", "options")
        {
            let message = format!("a rewrite has one change, this has `{first}` and `{second}`");
            return Err(Mistake::new(second, message).help("write another hook for it"));
        }
        let parts = raw.program.is_some() || raw.options.is_some();
        if parts || raw.command.is_some() {
            return commands(raw, cx);
        }
        match (raw.patch, raw.replace) {
            (Some(patch), _) => {
                let body = Body::new(Value::Object(patch), cx.placeholders);
                let body = body.map_err(|message| Mistake::new("patch", message))?;
                let is_constant = is_constant(&body);
                Ok(Rewrite::Patch { body, is_constant })
            }
            (None, Some(RawReplace { member, pattern: Pattern(regex), with })) => {
                let within = |mistake: Mistake| Mistake { within: Some("replace"), ..mistake };
                if member.split('.').any(str::is_empty) {
                    return Err(within(Mistake::new("member", format!("`{member}` names no member")))
                        .help("write the path of a text, such as `prompt` or `tool.input.command`"));
                }
                if let Some(group) = missing_group(&regex, &with) {
                    return Err(within(Mistake::new("with", format!("the pattern has no group `{group}`")))
                        .help("write `$$` for a `$`, and `${1}` where a letter or digit follows"));
                }
                Ok(Rewrite::Replace(Replace { member, regex, with }))
            }
            (None, None) => Err(Mistake::whole("a rewrite needs a change").help(
                "add `patch: { member: value }`, `replace: { member: ..., pattern: ..., with: ... }`, `program: name`, \
                 `options: { --old: --new }` or `command: [word, ...]`",
            )),
        }
    }

    fn has_effects(&self) -> bool {
        false
    }

    async fn run(&self, call: &Call<'_>) -> Result<Answer, HandlerError> {
        match self {
            Rewrite::Patch { body, .. } => call.filled(|value| patched(body, value))?,
            Rewrite::Replace(replace) => {
                let event = call.moment.event();
                let Some(subject) = event.subject() else {
                    return Ok(Answer::default());
                };
                let (replace, shared) = (replace.clone(), event.clone());
                let rewritten =
                    text::look_through(subject, move |_| replace.rewrite(&shared)).await??;
                Ok(rewritten.map_or_else(Answer::default, Answer::rewrite))
            }
            Rewrite::Commands { change, .. } => {
                let rewritten = commands::rewrite(&call.moment.facts, &call.hook, change)?;
                Ok(rewritten.map_or_else(Answer::default, Answer::rewrite))
            }
        }
    }

    fn awaited(&self, _: &On) -> Option<&'static str> {
        Some("rewrite")
    }

    fn is_idempotent(&self) -> bool {
        match self {
            Rewrite::Patch { is_constant, .. } => *is_constant,
            // What is put in may match again: with `npm` for `pnpm` every run would add a `p`.
            Rewrite::Replace(Replace { regex, with, .. }) => {
                !with.contains('$') && regex.replace_all(with, with.as_str()) == *with
            }
            Rewrite::Commands { is_idempotent, .. } => *is_idempotent,
        }
    }
}

impl Rewrite {
    /// The path of what is changed, where the definition says it, and the keys that it is written
    /// under.
    pub fn member(&self) -> Option<(&str, &'static [&'static str])> {
        match self {
            Rewrite::Replace(replace) => Some((&replace.member, &["replace", "member"])),
            Rewrite::Commands { .. } => Some(("tool.input", &[])),
            Rewrite::Patch { .. } => None,
        }
    }
}

/// The patch with what its placeholders stand for. Without one of them, nothing is known of what
/// was meant: a null would remove a member, an empty text would make another command.
fn patched(body: &Body, lookup: &dyn Fn(&str) -> Option<Value>) -> Result<Answer, HandlerError> {
    let missing = RefCell::new(None);
    let patch = body.fill(&|name| {
        let value = lookup(name).filter(|it| !it.is_null());
        if value.is_none() {
            missing.borrow_mut().get_or_insert_with(|| name.to_string());
        }
        value
    });
    match missing.into_inner() {
        None => Ok(Answer::patch(patch)),
        Some(name) => Err(HandlerError(format!(
            "fill in `{name}`: the event has no such member"
        ))),
    }
}

/// A change of the commands that the hook's `if` names.
fn commands(raw: RawRewrite, cx: &Compile<'_>) -> Result<Rewrite, Mistake> {
    let key = if raw.command.is_some() {
        "command"
    } else if raw.program.is_some() {
        "program"
    } else {
        "options"
    };
    let is_word = |word: &str| !word.is_empty() && !word.contains('\0');
    if raw.program.as_deref().is_some_and(|it| !is_word(it)) {
        return Err(Mistake::new(
            "program",
            "the program is empty, or holds a NUL",
        ));
    }
    if let Some(words) = &raw.command
        && (words.first().is_none_or(|it| it.is_empty())
            || words.iter().any(|word| word.contains('\0')))
    {
        return Err(
            Mistake::new("command", "the command has no program, or holds a NUL")
                .help("write its words: `command: [pnpm, add]`"),
        );
    }
    if let Some(mistake) = several_words(&raw) {
        return Err(mistake);
    }
    let is_option =
        |name: &str| name.len() > 1 && name.starts_with('-') && name != "--" && is_word(name);
    let mut options = BTreeMap::new();
    for (name, change) in raw.options.unwrap_or_default() {
        let with = if let RawOption(OptionChange::Replace(with)) = &change {
            Some(with.as_str())
        } else {
            None
        };
        if let Some(wrong) = [Some(name.as_str()), with]
            .into_iter()
            .flatten()
            .find(|it| !is_option(it))
        {
            return Err(
                Mistake::new("options", format!("`{wrong}` is not an option"))
                    .help("write options with their dashes: `--force: --force-with-lease`"),
            );
        }
        options.insert(name, change.0);
    }
    // That a rule holds a mistake is reported already.
    let rules: Vec<&CommandRule> = match cx.rules {
        None => Vec::new(),
        Some(rules) => {
            let found: Vec<_> = rules.iter().flat_map(|rule| rule.commands()).collect();
            if found.is_empty() {
                return Err(Mistake::new(
                    key,
                    format!("`{key}` changes the commands that `if` names, and it names none"),
                )
                .help("add a rule such as `if: Bash(npm install *)`"));
            }
            if found.iter().any(|rule| rule.is_pipe()) {
                return Err(Mistake::new(
                    key,
                    format!("`{key}` changes one command, and a rule with `|` names several"),
                )
                .help("write a rule for the command that is to be changed"));
            }
            found
        }
    };
    let change = match raw.command {
        Some(words) => Change::Command(words),
        None => Change::Parts {
            program: raw.program,
            options,
        },
    };
    let is_idempotent = match &change {
        Change::Command(words) => rules
            .iter()
            .all(|rule| rule.program().is_some_and(|it| it != words[0])),
        Change::Parts { options, .. } => options.values().all(|change| match change {
            OptionChange::Replace(with) => {
                !options.contains_key(with.split('=').next().unwrap_or_default())
            }
            OptionChange::Remove | OptionChange::Add => true,
        }),
    };
    Ok(Rewrite::Commands {
        change,
        is_idempotent,
    })
}

/// A program or an option that is several words: it would be quoted as one, which nothing is
/// called. A path may hold blanks.
fn several_words(raw: &RawRewrite) -> Option<Mistake> {
    let has_blank =
        |word: &&str| word.trim().contains(char::is_whitespace) && !word.contains(['/', '\\']);
    let listed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(", ");
    let told = |field, word: &str, help| {
        Mistake::new(field, format!("`{word}` is several words, not one")).help(help)
    };
    if let Some(program) = raw.program.as_deref().filter(has_blank) {
        return Some(told(
            "program",
            program,
            format!("write `command: [{}, ...]`", listed(program)),
        ));
    }
    let first = raw.command.iter().flatten().next().map(String::as_str);
    if let Some(first) = first.filter(has_blank) {
        return Some(told(
            "command",
            first,
            format!("write `command: [{}]`", listed(first)),
        ));
    }
    let name = |option: &&str| {
        option
            .split('=')
            .next()
            .is_some_and(|name| name.contains(char::is_whitespace))
    };
    let changes = raw
        .options
        .iter()
        .flatten()
        .flat_map(|(option, change)| match change {
            RawOption(OptionChange::Replace(with)) => vec![option.as_str(), with],
            RawOption(_) => vec![option.as_str()],
        });
    let option = changes.into_iter().find(name)?;
    Some(told(
        "options",
        option,
        "write an option by itself, or its value behind a `=`".into(),
    ))
}

/// Whether nothing of a body depends on the event.
fn is_constant(body: &Body) -> bool {
    let is_constant = Cell::new(true);
    body.fill(&|_| {
        is_constant.set(false);
        None
    });
    is_constant.get()
}

impl Replace {
    /// The subject with the replacements; `None` if there are none.
    fn rewrite(&self, event: &Event) -> Result<Option<Value>, HandlerError> {
        let failed = |why: String| HandlerError(format!("rewrite `{}`: {why}", self.member));
        let pointer = event.spec.subject.unwrap_or_default();
        let Some(path) = within_subject(&self.member, pointer) else {
            let subject = written(pointer);
            return Err(failed(format!(
                "hooks can rewrite `{subject}` at {}, and what is in it",
                event.name
            )));
        };
        let Some(mut subject) = event.subject().cloned() else {
            return Ok(None);
        };
        let step = |at, key: &str| match at {
            &mut Value::Array(ref mut items) => items.get_mut(key.parse::<usize>().ok()?),
            other => other.as_object_mut()?.get_mut(key),
        };
        let Some(member) = path.iter().try_fold(&mut subject, |at, key| step(at, key)) else {
            return Ok(None);
        };
        let text = match member {
            Value::String(text) => text,
            Value::Null => return Ok(None),
            _ => return Err(failed("it is not a text".into())),
        };
        match self.regex.replace_all(text, self.with.as_str()) {
            Cow::Borrowed(_) => Ok(None),
            Cow::Owned(new) => {
                *text = new;
                Ok(Some(subject))
            }
        }
    }
}

/// The rest of a member's path behind the subject's place; `None` if it leads elsewhere.
pub fn within_subject<'m>(member: &'m str, subject: &str) -> Option<Vec<&'m str>> {
    let mut path = member.split('.');
    subject
        .split('/')
        .skip(1)
        .all(|key| path.next() == Some(key))
        .then(|| path.collect())
}

/// A JSON pointer of plain keys as a path.
pub fn written(pointer: &str) -> String {
    pointer.trim_start_matches('/').replace('/', ".")
}

/// A group that a replacement names and the regex lacks. The names are read as
/// [`Regex::replace_all`] does.
fn missing_group<'w>(regex: &Regex, with: &'w str) -> Option<&'w str> {
    let is_there = |name: &str| match name.parse::<usize>() {
        Ok(number) => number < regex.captures_len(),
        Err(_) => regex.capture_names().flatten().any(|it| it == name),
    };
    let mut rest = with;
    while let Some(at) = rest.find('$') {
        rest = &rest[at + 1..];
        let end = match rest.as_bytes().first() {
            Some(b'$') => {
                rest = &rest[1..];
                continue;
            }
            Some(b'{') => rest.find('}'),
            _ => rest
                .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
                .or(Some(rest.len())),
        };
        let name = rest[..end.unwrap_or(0)].trim_start_matches('{');
        if !name.is_empty() && !is_there(name) {
            return Some(name);
        }
        rest = &rest[end.unwrap_or(0)..];
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use hookwire_base::template::PATHS;
    use serde_json::json;

    #[test]
    fn a_patch_needs_all_that_it_names() {
        let event = json!({"a": "x", "null": null});
        for (patch, expected) in [
            (
                json!({"command": "${a} y", "b": "${a}"}),
                Ok(json!({"command": "x y", "b": "x"})),
            ),
            (json!({"b": null}), Ok(json!({"b": null}))),
            (
                json!({"command": "${b} --dry-run"}),
                Err("fill in `b`: the event has no such member"),
            ),
            (
                json!({"command": {"c": ["${b}"]}}),
                Err("fill in `b`: the event has no such member"),
            ),
            (
                json!({"command": "${null}"}),
                Err("fill in `null`: the event has no such member"),
            ),
        ] {
            let body = Body::new(patch.clone(), &PATHS).unwrap();
            let found = patched(&body, &|name| event.get(name).cloned());
            let found = found
                .map(|it| it.patch.unwrap_or_default())
                .map_err(|it| it.0);
            assert_eq!(found, expected.map_err(str::to_string), "{patch}");
        }
    }

    #[test]
    fn texts_are_replaced_where_they_stand() {
        let call = json!({"event": "PreToolUse", "tool": {"name": "A", "input": {"a": "x1 x2", "b": {"c": ["x3", 4]}, "n": null}}});
        for (member, pattern, with, expected) in [
            (
                "tool.input.a",
                "x(.)",
                "${1}y",
                Ok(Some(
                    json!({"a": "1y 2y", "b": {"c": ["x3", 4]}, "n": null}),
                )),
            ),
            (
                "tool.input.b.c.0",
                "x",
                "$$1",
                Ok(Some(
                    json!({"a": "x1 x2", "b": {"c": ["$13", 4]}, "n": null}),
                )),
            ),
            ("tool.input.a", "z", "", Ok(None)),
            ("tool.input.none", "x", "", Ok(None)),
            ("tool.input.b.c.9", "x", "", Ok(None)),
            ("tool.input.a.x", "x", "", Ok(None)),
            ("tool.input.n", "x", "", Ok(None)),
            (
                "tool.input.b.c.1",
                "4",
                "",
                Err("rewrite `tool.input.b.c.1`: it is not a text"),
            ),
            (
                "tool.input",
                "x",
                "",
                Err("rewrite `tool.input`: it is not a text"),
            ),
            (
                "tool.name",
                "A",
                "",
                Err(
                    "rewrite `tool.name`: hooks can rewrite `tool.input` at PreToolUse, and what is in it",
                ),
            ),
        ] {
            let replace = Replace {
                member: member.into(),
                regex: Regex::new(pattern).unwrap(),
                with: with.into(),
            };
            let found = replace.rewrite(&Event::from_json(call.clone()).unwrap());
            assert_eq!(
                found,
                expected.map_err(|error| HandlerError(error.into())),
                "{member} {pattern} {with}"
            );
        }
    }

    #[test]
    fn groups_are_read_as_regexes_read_them() {
        let regex = Regex::new("(?<word>a)(b)").unwrap();
        for (with, missing) in [
            ("$0 $1 $2 ${word} $word-", None),
            ("costs $$5, $ and ${", None),
            ("$3", Some("3")),
            ("a$1b", Some("1b")),
            ("${other}", Some("other")),
            ("$$$words", Some("words")),
        ] {
            assert_eq!(missing_group(&regex, with), missing, "{with}");
        }
    }
}
