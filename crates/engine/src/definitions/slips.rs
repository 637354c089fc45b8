//! The names that an event's members have, for conditions and placeholders that misspell one.
//!
//! An agent may send members that hookwire doesn't know, so a strange name is no mistake. Only one
//! that is near to a known one, or that stands where another member belongs, is taken for a slip.

use hookwire_base::event::{EventShape, MEMBERS};
use hookwire_base::support::nearest::{closest, differ_in_number};
use hookwire_base::syntax::fix::{Edit, Fix};
use hookwire_base::template::{OF_CALLS, Placeholders, Style, Template};
use hookwire_dialects::{DIALECTS, Dialect};
use hookwire_rules::matching::tools::{PATCH_ARGUMENTS, TOOLS, Tool, names_path};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::LazyLock;

/// Members of other systems' events whose names are near to others, or mean something else in a
/// third system: they are no slips.
const LOOKALIKES: [&str; 5] = ["directory", "message_id", "mode", "toolResult", "turn_id"];

/// Other systems' names of members whose name here isn't near to them.
const OTHER_NAMES: [(&str, &str); 6] = [
    ("tool.args", "tool.input"),
    ("tool.arguments", "tool.input"),
    ("tool.parameters", "tool.input"),
    ("tool.params", "tool.input"),
    ("tool.result", "tool.output"),
    ("tool.response", "tool.output"),
];

/// Arguments of tools that are written as if they were members of the event.
const ARGUMENTS: [&str; 3] = ["command", "file_path", "filePath"];

/// The members that an event may have.
struct Known {
    /// Its members, each with its own where all of them are known.
    members: BTreeMap<String, BTreeSet<String>>,
    /// Members of hookwire's own vocabulary.
    own: BTreeSet<String>,
    /// Names that other systems use for a member that has another place here.
    elsewhere: BTreeMap<&'static str, String>,
}

static KNOWN: LazyLock<Known> = LazyLock::new(|| {
    let schema = schemars::schema_for!(EventShape);
    let schema = schema.as_value();
    let reference = |member: &Value| {
        let forms = member["anyOf"]
            .as_array()
            .into_iter()
            .flatten()
            .chain([member]);
        forms
            .filter_map(|form| form["$ref"].as_str()?.strip_prefix('#'))
            .next()
            .map(str::to_string)
    };
    let names = |of: &Value| {
        of["properties"]
            .as_object()
            .into_iter()
            .flat_map(|it| it.keys().cloned())
            .collect()
    };
    let mut members: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (name, member) in schema["properties"].as_object().into_iter().flatten() {
        let own = reference(member)
            .and_then(|pointer| schema.pointer(&pointer))
            .map(names);
        members.insert(name.clone(), own.unwrap_or_default());
    }
    let own = members.keys().cloned().collect();
    for name in MEMBERS.iter().chain(&LOOKALIKES) {
        members.entry(name.to_string()).or_default();
    }
    let mut elsewhere = BTreeMap::new();
    // An agent that is known by its facts may have a member at the top that is a slip everywhere
    // else, as `command`.
    let is_told = |dialect: &&&Dialect| dialect.facts().is_none_or(|agent| agent.speaks.is_none());
    for dialect in DIALECTS.iter().filter(is_told) {
        for (theirs, ours) in dialect
            .members
            .iter()
            .chain(dialect.events.iter().flat_map(|row| row.members))
        {
            let mut steps = ours.split('/').skip(1);
            let Some(first) = steps.next() else { continue };
            let own = members.entry(first.into()).or_default();
            // A member without members of its own may hold anything.
            if let Some(second) = steps.next().filter(|_| !own.is_empty()) {
                own.insert(second.into());
            }
            // A name that only a row or a part of a member uses passes through in other events.
            let mut steps = theirs.split('/').skip(1);
            match (steps.next(), steps.next()) {
                (Some(name), None) if dialect.members.contains(&(*theirs, *ours)) => {
                    elsewhere
                        .entry(name)
                        .or_insert(ours.trim_start_matches('/').replace('/', "."));
                }
                (Some(name), _) => drop(members.entry(name.into()).or_default()),
                (None, _) => {}
            }
        }
    }
    Known {
        members,
        own,
        elsewhere,
    }
});

/// The members of an event in hookwire's own vocabulary that are slips, each with what was probably
/// meant.
pub fn of_event(event: &Value) -> Vec<(String, String)> {
    let is_about_tool = event.get("tool").is_some();
    let members = |at: &Value, before: &str| -> Vec<String> {
        at.as_object()
            .into_iter()
            .flatten()
            .map(|(name, _)| format!("{before}{name}"))
            .collect()
    };
    let paths = members(event, "")
        .into_iter()
        .chain(members(&event["tool"], "tool."));
    paths
        .filter_map(|path| slip(&path, is_about_tool))
        .collect()
}

/// The beginning of a member's path that is a slip, and what was probably meant. `is_about_tool`:
/// every event in question is about a tool call.
pub(super) fn slip(path: &str, is_about_tool: bool) -> Option<(String, String)> {
    if let Some(argument) = path.strip_prefix("tool.input.")
        && let Some(meant) = nearly_argument(argument)
    {
        return Some((path.into(), format!("tool.input.{meant}")));
    }
    // Nearly all conditions read these members, so the table, which takes time to make, isn't
    // needed for them.
    if path == "tool.name"
        || path
            .strip_prefix("tool.input")
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    {
        return None;
    }
    let Known {
        members,
        own: names,
        elsewhere,
    } = &*KNOWN;
    let mut steps = path.split('.');
    let first = steps.next()?;
    // Turns have one elsewhere.
    if is_about_tool && first == "input" {
        return Some((first.into(), "tool.input".into()));
    }
    let Some(own) = members.get(first) else {
        if is_about_tool && ARGUMENTS.contains(&first) {
            return Some((first.into(), format!("tool.input.{first}")));
        }
        let meant = elsewhere
            .get(first)
            .cloned()
            .or_else(|| near(first, names))?;
        return Some((first.into(), meant));
    };
    let second = steps
        .next()
        .filter(|second| !own.is_empty() && !own.contains(*second))?;
    let is_argument = first == "tool" && TOOLS.iter().any(|tool| tool.arguments.contains(&second));
    let other = OTHER_NAMES
        .iter()
        .find(|(path, _)| path.strip_prefix(first) == Some(&format!(".{second}")));
    if let Some((path, meant)) = other {
        return Some((path.to_string(), meant.to_string()));
    }
    let meant = if is_argument {
        format!("input.{second}")
    } else {
        near(second, own)?
    };
    Some((format!("{first}.{second}"), format!("{first}.{meant}")))
}

/// Whether a text for a member that is a path begins with `~`.
pub(super) fn is_home_of_path(member: &str, text: &str) -> bool {
    let last = member.rsplit('.').next().unwrap_or_default();
    (names_path(last) || last == "cwd") && text.trim_start_matches('^').starts_with("~/")
}

/// Whether a path leads to what events have, or to what placeholders name beside it.
pub(super) fn is_member(path: &str) -> bool {
    let first = path.split('.').next().unwrap_or_default();
    path == "timestamp"
        || OF_CALLS.iter().any(|(name, _)| *name == path)
        || KNOWN.own.contains(first)
            && (path.contains('.') || ["prompt", "session", "run"].contains(&path))
}

/// The path of what commands have under a variable's name, if it is one of a tool's.
pub(super) fn path_of_variable(name: &str) -> Option<String> {
    let argument = name.strip_prefix("tool_input_").filter(|it| !it.is_empty());
    match (name, argument) {
        ("tool_name", _) => Some("tool.name".into()),
        // The one of a shell's text, whatever the call names its path.
        ("tool_input_path", _) => Some("path".into()),
        (_, Some(argument)) => Some(format!("tool.input.{argument}")),
        _ => None,
    }
}

/// One more or less of something is another member: `message`, `messages`.
fn near<'a>(word: &str, candidates: impl IntoIterator<Item = &'a String>) -> Option<String> {
    let found = closest(word, candidates.into_iter().map(String::as_str))?;
    let is_number = found.strip_suffix('s') == Some(word) || word.strip_suffix('s') == Some(found);
    (!is_number && word.len() > 2).then(|| found.to_string())
}

/// A placeholder or a variable of a text that nothing is called.
pub(super) struct Stranger {
    pub(super) name: String,
    /// Where it is written, in bytes of the text.
    pub(super) at: Range<usize>,
    pub(super) meant: Option<&'static str>,
}

/// The strangers among the placeholders of another system's text.
pub(super) fn strange_placeholders(text: &str, own: &Placeholders) -> Vec<Stranger> {
    let mut found = strangers(text, own.style, own.names, own.knows);
    // A name that is like no known one may be ordinary text, unless braces are around it or nothing
    // else is written.
    found.retain(|it| it.meant.is_some() || own.style == Style::Braces || it.at == (0..text.len()));
    found
}

/// The variables that commands of every vocabulary have.
const OF_TOOLS: [&str; 3] = ["tool_name", "tool_input_path", "tool_input_command"];

/// The strangers among the variables of a shell text. Most of its variables are its own: only those
/// that begin as the event's do are told, and none that the text sets.
pub(super) fn strange_variables(text: &str, own: &Placeholders) -> Vec<Stranger> {
    let (names, knows): (_, fn(&str) -> bool) = match own.names.contains(&OF_TOOLS[1]) {
        true => (own.names, own.knows),
        false => (&OF_TOOLS, |name| {
            ["tool_output", "tool_error"]
                .iter()
                .any(|it| name.starts_with(it))
        }),
    };
    let is_set = |name: &str| {
        ["=", "+="]
            .iter()
            .any(|sign| text.contains(&format!("{name}{sign}")))
            || ["for ", "read ", "read -r "]
                .iter()
                .any(|word| text.contains(&format!("{word}{name}")))
    };
    let mut found = strangers(text, Style::Dollars, names, knows);
    found.retain(|it| {
        let is_tools = it
            .name
            .get(..4)
            .is_some_and(|start| start.eq_ignore_ascii_case("tool"));
        is_tools && it.meant.is_some() && !is_set(&it.name)
    });
    if own.style == Style::Paths {
        found.extend(guessed_variables(text).filter(|it| !is_set(&it.name)));
    }
    found
}

/// The variables that people guess, or know from another system, each with what it is called here.
/// Nothing sets them.
const GUESSED: [(&str, &[&str]); 3] = [
    (
        "tool_input_path",
        &[
            "path",
            "file",
            "file_path",
            "filePath",
            "filepath",
            "filename",
            "FILE",
            "FILE_PATH",
            "FILEPATH",
            "FILENAME",
            "CLAUDE_FILE_PATHS",
            "CLAUDE_FILE_PATH",
        ],
    ),
    (
        "tool_input_command",
        &["command", "cmd", "COMMAND", "CMD", "BASH_COMMAND"],
    ),
    (
        "tool_name",
        &["tool", "TOOL", "TOOL_NAME", "CLAUDE_TOOL_NAME"],
    ),
];

fn guessed_variables(text: &str) -> impl Iterator<Item = Stranger> {
    let template = Template::with_any_name(text, Style::Dollars);
    let named: Vec<_> = template
        .places()
        .map(|(name, at)| (name.to_string(), at.clone()))
        .collect();
    named.into_iter().filter_map(|(name, at)| {
        let meant = guessed(&name)?;
        Some(Stranger {
            name,
            at,
            meant: Some(meant),
        })
    })
}

fn guessed(name: &str) -> Option<&'static str> {
    GUESSED
        .iter()
        .find(|(_, names)| names.contains(&name))
        .map(|(meant, _)| *meant)
}

/// The placeholder that was meant by a variable that people guess, where no shell reads it.
pub(super) fn placeholder_of_guess(name: &str) -> Option<&'static str> {
    match guessed(name)? {
        "tool_input_path" => Some("path"),
        "tool_input_command" => Some("command"),
        _ => Some("tool.name"),
    }
}

/// The first argument of its own that a shell text reads, outside of single quotes. It is given
/// none.
pub(super) fn positional(text: &str) -> Option<Range<usize>> {
    if ["set -", "()", "function "]
        .iter()
        .any(|sign| text.contains(sign))
    {
        return None;
    }
    let (mut is_single, mut is_double) = (false, false);
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' if !is_single => drop(chars.next()),
            '\'' if !is_double => is_single = !is_single,
            '"' if !is_single => is_double = !is_double,
            '$' if !is_single
                && chars
                    .peek()
                    .is_some_and(|(_, it)| matches!(it, '1'..='9' | '@' | '*')) =>
            {
                return Some(at..at + 2);
            }
            _ => {}
        }
    }
    None
}

fn strangers(
    text: &str,
    style: Style,
    names: &'static [&'static str],
    knows: fn(&str) -> bool,
) -> Vec<Stranger> {
    let template = Template::with_any_name(text, style);
    let stranger = |(name, at): (&str, &Range<usize>)| {
        let meant = match name
            .strip_prefix("tool_input_")
            .filter(|_| names.contains(&OF_TOOLS[1]))
        {
            // The rest of the name may be an argument of an unknown tool, so only a near miss is a
            // slip.
            Some(argument) => Some(misspelt_argument(argument)?),
            None if knows(name) || names.contains(&name) => return None,
            None => closest(name, names.iter().copied()).filter(|_| name.len() > 3),
        };
        Some(Stranger {
            name: name.to_string(),
            at: at.clone(),
            meant,
        })
    };
    template.places().filter_map(stranger).collect()
}

/// The variable that was meant by one of an argument that no known tool has, and that is nearly a
/// call's path or command.
fn misspelt_argument(argument: &str) -> Option<&'static str> {
    let meant = closest(argument, ["path", "command"]).filter(|_| !is_argument(argument))?;
    OF_TOOLS
        .into_iter()
        .find(|name| name.ends_with(meant))
        .filter(|_| !differ_in_number(argument, meant))
}

/// The argument of one of these tools that was meant by one that no known tool has.
pub(super) fn misspelt_argument_of(
    argument: &str,
    tools: &[&'static Tool],
) -> Option<&'static str> {
    let meant = closest(
        argument,
        tools.iter().flat_map(|tool| tool.arguments).copied(),
    )?;
    (argument.len() > 3 && !is_argument(argument) && !differ_in_number(argument, meant))
        .then_some(meant)
}

/// The argument of a known tool that was meant by one with one letter wrong. An unknown tool may
/// have any other.
fn nearly_argument(argument: &str) -> Option<&'static str> {
    if argument.len() < 5 || is_argument(argument) {
        return None;
    }
    let mut known = TOOLS.iter().flat_map(|tool| tool.arguments).copied();
    known.find(|it| strsim::osa_distance(it, argument) == 1 && !differ_in_number(it, argument))
}

/// What a call is about, where a placeholder misspells it: `${comand}`.
pub(super) fn misspelt_of_calls(path: &str) -> Option<&'static str> {
    let is_known = path.contains('.') || path.len() < 4 || KNOWN.members.contains_key(path);
    if is_known || OF_CALLS.iter().any(|(name, _)| *name == path) {
        return None;
    }
    let mut names = OF_CALLS.iter().map(|(name, _)| *name);
    names.find(|it| strsim::osa_distance(it, path) == 1 && !differ_in_number(it, path))
}

fn is_argument(name: &str) -> bool {
    let named = TOOLS
        .iter()
        .map(|it| it.arguments)
        .chain([&["path", "command"][..], PATCH_ARGUMENTS]);
    named
        .into_iter()
        .any(|names| names.iter().any(|it| it.eq_ignore_ascii_case(name)))
}

/// Programs and words of a shell that take no options, or no path for one.
const NO_OPTIONS: [&str; 10] = [
    "echo", "printf", "test", "[", "[[", "case", "for", "export", "local", "readonly",
];
/// Words before a command.
const BEFORE_A_COMMAND: [&str; 10] = [
    "if", "then", "elif", "else", "while", "until", "do", "!", "exec", "{",
];

/// The characters of a shell text that are neither quoted nor escaped, and the quotes and
/// backslashes themselves.
pub(super) fn outside_of_quotes(
    text: impl Iterator<Item = (usize, char)>,
) -> impl Iterator<Item = (usize, char)> {
    let (mut quote, mut is_escaped) = (None, false);
    text.filter(move |&(_, c)| {
        if is_escaped || quote.is_some_and(|quote| quote != c) {
            is_escaped = !is_escaped && c == '\\' && quote != Some('\'');
            return false;
        }
        match c {
            '\\' => is_escaped = true,
            '\'' | '"' => quote = if quote.is_none() { Some(c) } else { None },
            _ => {}
        }
        true
    })
}

/// The first word of a shell text that gives the event's path as an operand to a program, with
/// nothing before it that keeps it from being an option.
pub(super) fn unguarded_path(text: &str) -> Option<&str> {
    let (mut words, mut start, mut to_file): (Vec<&str>, Option<usize>, bool) =
        (Vec::new(), None, false);
    for (at, c) in outside_of_quotes(text.char_indices().chain([(text.len(), '\n')])) {
        match c {
            _ if !c.is_whitespace() && !";&|()<>".contains(c) => {}
            _ => {
                let word = start.take().map(|start| &text[start..at]);
                if let Some(word) = word.filter(|_| !std::mem::take(&mut to_file)) {
                    if !(words.is_empty() && BEFORE_A_COMMAND.contains(&word)) {
                        words.push(word);
                    }
                    let is_safe =
                        words.len() < 2 || words.contains(&"--") || NO_OPTIONS.contains(&words[0]);
                    let name = word.trim_start_matches(['"', '$', '{']);
                    if !is_safe && word.contains('$') && name.starts_with("tool_input_path") {
                        return Some(word);
                    }
                }
                match c {
                    '<' | '>' => to_file = true,
                    _ if c == '\n' || !c.is_whitespace() => words.clear(),
                    _ => {}
                }
                continue;
            }
        }
        start.get_or_insert(at);
    }
    None
}

/// The variables of an event whose value may hold blanks.
const VARIABLES: [&str; 3] = ["tool_input", "tool_output", "prompt"];

/// The first variable of the event that a shell text uses without quotes, where a shell makes
/// several words of it.
pub(super) fn unquoted_variable(text: &str) -> Option<&str> {
    let mut word = 0;
    for (at, c) in outside_of_quotes(text.char_indices()) {
        match c {
            '$' => {
                let rest = text[at + 1..].trim_start_matches('{');
                let length = rest
                    .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
                    .unwrap_or(rest.len());
                let is_one = |name: &str| {
                    let more = rest[..length].strip_prefix(name);
                    more.is_some_and(|more| more.is_empty() || more.starts_with('_'))
                };
                // An assignment takes the whole value.
                let is_assigned = text[word..at].contains('=') && !text[word..at].starts_with('-');
                if VARIABLES.iter().any(|name| is_one(name)) && !is_assigned {
                    return Some(&rest[..length]);
                }
            }
            _ if c.is_whitespace() || ";&|()<>".contains(c) => word = at + 1,
            _ => {}
        }
    }
    None
}

/// The edit that makes a condition ask whether there is what it reads.
pub(super) fn guarding(source: &str, unguarded: &[String]) -> Fix {
    let of_event = unguarded.iter().filter(|path| path.starts_with("event."));
    let mut parts: Vec<_> = of_event
        .flat_map(|path| source.match_indices(path.as_str()))
        .map(|(at, _)| at)
        .collect();
    if !parts.is_empty() {
        parts.sort_unstable();
        parts.dedup();
        let parts = parts
            .into_iter()
            .map(|at| at..at + "event.".len())
            .collect();
        return Fix::new("Write the member without `event.`", Edit::Cut(parts));
    }
    let asked: Vec<String> = unguarded
        .iter()
        .map(|path| format!("has({path})"))
        .collect();
    let before = format!("{} && ", asked.join(" && "));
    // Brackets keep operators together that bind more loosely than `&&`.
    let edit = match source.contains("||") || source.contains('?') {
        true => Edit::Wrap {
            before: format!("{before}("),
            after: ")".into(),
        },
        false => Edit::Wrap {
            before,
            after: String::new(),
        },
    };
    Fix::new("Ask `has()` first", edit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hookwire_dialects::Dialect;
    use std::path::Path;

    #[test]
    fn slips_are_told_from_what_nobody_knows() {
        for (path, expected) in [
            ("tol.name", Some(("tol", "tool"))),
            ("tool.inpt.command", Some(("tool.inpt", "tool.input"))),
            ("tool.command", Some(("tool.command", "tool.input.command"))),
            ("tool.callid", Some(("tool.callid", "tool.callId"))),
            ("tool_name", Some(("tool_name", "tool.name"))),
            ("stop_hook_active", Some(("stop_hook_active", "stopActive"))),
            ("input.command", Some(("input", "tool.input"))),
            ("command", Some(("command", "tool.input.command"))),
            ("file_path", Some(("file_path", "tool.input.file_path"))),
            ("tool.result", Some(("tool.result", "tool.output"))),
            ("modle.name", Some(("modle", "model"))),
            ("agent.nam", Some(("agent.nam", "agent.name"))),
            ("tool.input.anything", None),
            ("tool.isInterrupt", None),
            ("tool", None),
            ("message", None),
            ("source", None),
            ("data.x", None),
            ("metadata.role", None),
            ("grant.callsLeft", None),
            ("model.request.tolls", None),
            ("parentRun", None),
            ("ctx.session_id", None),
            ("", None),
            ("..", None),
        ] {
            let found = slip(path, true);
            assert_eq!(
                found
                    .as_ref()
                    .map(|(wrong, meant)| (wrong.as_str(), meant.as_str())),
                expected,
                "{path}"
            );
        }
        assert_eq!(slip("input.command", false), None);
    }

    /// Whatever an event really says may be asked for.
    #[test]
    fn no_member_of_a_recorded_event_is_a_slip() {
        fn walk(dir: &Path, told: &mut Vec<String>, seen: &mut usize) {
            for entry in std::fs::read_dir(dir).unwrap().map(Result::unwrap) {
                let path = entry.path();
                if path.is_dir() {
                    walk(&path, told, seen);
                    continue;
                }
                if path.extension().is_none_or(|it| it != "jsonl") {
                    continue;
                }
                let is_its = |it: &&&Dialect| path.iter().any(|part| part == it.name());
                let dialect = DIALECTS.iter().find(is_its).unwrap_or(&DIALECTS[0]);
                for line in std::fs::read_to_string(&path).unwrap().lines() {
                    let Ok(line) = serde_json::from_str::<Value>(line) else {
                        continue;
                    };
                    let payloads = [
                        &line,
                        &line["stdin"],
                        &line["event"],
                        &line["params"],
                        &line["payload"],
                    ];
                    let events = payloads
                        .into_iter()
                        .filter_map(|payload| dialect.read_event(payload.clone()).ok());
                    for event in events {
                        *seen += 1;
                        for (name, value) in event.data().as_object().into_iter().flatten() {
                            told.extend(
                                slip(name, false).map(|it| format!("{it:?} {}", path.display())),
                            );
                            for inner in value.as_object().into_iter().flat_map(|it| it.keys()) {
                                let path = format!("{name}.{inner}");
                                told.extend(slip(&path, false).map(|it| format!("{it:?} {path}")));
                            }
                        }
                    }
                }
            }
        }
        let root = hookwire_testing::repo("");
        let (mut told, mut seen) = (Vec::new(), 0);
        for dir in ["examples", "tests/data"] {
            walk(&root.join(dir), &mut told, &mut seen);
        }
        assert!(seen > 50, "{seen}");
        assert_eq!(told, [""; 0]);
    }

    #[test]
    fn paths_as_options() {
        for (text, expected) in [
            (
                r#"eslint --fix "$tool_input_path""#,
                Some(r#""$tool_input_path""#),
            ),
            ("eslint --fix $tool_input_path", Some("$tool_input_path")),
            (
                r#"cd x && prettier "${tool_input_path}""#,
                Some(r#""${tool_input_path}""#),
            ),
            (
                "if grep -q x ${tool_input_path}; then exit 2; fi",
                Some("${tool_input_path}"),
            ),
            (r#"eslint --fix -- "$tool_input_path""#, None),
            (r#"cat "./$tool_input_path""#, None),
            (r#"lint --file="$tool_input_path""#, None),
            (r#"printf '%s\n' "$tool_input_path" >> log"#, None),
            (r#"cat < "$tool_input_path" > x"#, None),
            (r#"file=$tool_input_path; [ -f "$tool_input_path" ]"#, None),
            (
                r#"case "$tool_input_path" in */vendor/*) echo "no: $tool_input_path" >&2; exit 2 ;; esac"#,
                None,
            ),
            (r#"echo 'x "$tool_input_path" y'"#, None),
            ("\\", None),
            ("\"", None),
        ] {
            assert_eq!(unguarded_path(text), expected, "{text}");
        }
    }
}
