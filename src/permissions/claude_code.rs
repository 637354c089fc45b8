//! Claude Code's `permissions`: `allow`, `ask` and `deny` of its settings. Measured against Claude
//! Code 2.1.332, where its documents leave something open.
//!
//! Rules of all files add up, and deny comes before ask before allow, whatever is more specific. A
//! text for the shell is judged command by command. Rules that stop look through settings before
//! a command and through wrappers; rules that allow look through few of them.

use super::commands::{
    inner_text, redirected_to, setting, split, split_deep, with_single_blanks,
    without_redirections, words,
};
use super::patterns::{self, instance};
use super::{
    Aside, Call, Example, MAX_RULE, MAX_RULES, Permission, Permissions, Reads, Said, around_command,
};
use hookwire_base::support::shell_word;
use hookwire_base::syntax::diagnostic::LineIndex;
use hookwire_base::syntax::node::{Node, NodeValue};
use hookwire_base::verdict::Decision;
use regex::Regex;
use serde_json::json;
use std::cell::RefCell;
use std::rc::Rc;

/// What the reading goes by.
const KNOWN_BY: &str = "the documentation of Claude Code, and Claude Code 2.1.332 as it ran";

/// Settings before a command through which an allow holds.
const SAFE_SETTINGS: &[&str] = &["NODE_ENV", "LANG", "LC_ALL", "CI", "NO_COLOR", "TZ", "TERM"];
/// Programs that run the rest of their words, with the options of theirs that have a value.
const WRAPPERS: &[(&str, &[&str])] = &[
    ("timeout", &["-s", "-k"]),
    ("time", &[]),
    ("nice", &["-n"]),
    ("nohup", &[]),
    ("stdbuf", &[]),
];
/// Those through which only rules hold that stop.
const STRICT_WRAPPERS: &[(&str, &[&str])] = &[
    ("sudo", &["-u", "-g"]),
    ("env", &["-u"]),
    ("command", &[]),
    ("exec", &[]),
    ("xargs", &["-n", "-I"]),
];
/// Commands whose operands are files to it.
const READERS: &[&str] = &["cat", "head", "tail", "grep", "sed", "awk", "wc", "cp"];
const WRITERS: &[&str] = &["touch", "tee", "cp", "mv", "rm", "sed"];
/// Members of a call of Bash that a rule may name, such as `Bash(run_in_background:true)`.
const BASH_MEMBERS: &[&str] = &["run_in_background", "dangerouslyDisableSandbox", "timeout"];

/// Where a file of settings counts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// The project's, shared or of this person alone.
    Project,
    /// The user's or the machine's.
    User,
}

/// No permissions yet.
pub fn none() -> Permissions {
    Permissions {
        judges_whole: true,
        ..Permissions::none(parts, KNOWN_BY)
    }
}

/// A text's commands, and the files that its redirections write.
fn parts(text: &str) -> Vec<Call> {
    let mut found = Vec::new();
    for command in split_deep(text) {
        let files = redirected_to(&command)
            .into_iter()
            .filter(|it| !it.is_empty() && !it.starts_with('&') && it != "/dev/null");
        found.extend(files.map(Call::Write));
        found.push(Call::Bash(command));
    }
    found
}

/// Takes the permissions of a file of settings.
pub fn take(
    permissions: &mut Permissions,
    settings: &Node,
    file: &str,
    lines: &LineIndex<'_>,
    level: Level,
) {
    let Some(found) = settings.get("permissions") else {
        return;
    };
    let place = |node: &Node| format!("{file}:{}", lines.position(node.span.start).line);
    let aside = |text: &str, node: &Node, why: &str| Aside {
        text: text.chars().take(60).collect(),
        place: place(node),
        why: why.to_string(),
    };
    for entry in found.entries() {
        let decision = match entry.key.as_str() {
            "allow" => Decision::Allow,
            "ask" => Decision::Ask,
            "deny" => Decision::Deny,
            other => {
                let why = match other {
                    "defaultMode" => {
                        "it says what becomes of calls that no rule names, and stays Claude Code's"
                    }
                    "additionalDirectories" => {
                        "it says where Claude Code works, and stays Claude Code's"
                    }
                    _ => "it is no rule, and stays Claude Code's",
                };
                permissions.asides.push(aside(other, &entry.value, why));
                continue;
            }
        };
        let NodeValue::Seq(items) = &entry.value.value else {
            let why = "it isn't a list of rules, so Claude Code passes over it";
            permissions
                .asides
                .push(aside(&entry.key, &entry.value, why));
            continue;
        };
        for item in items {
            let Some(text) = item.text() else {
                permissions
                    .asides
                    .push(aside("(no text)", item, "it isn't a text"));
                continue;
            };
            add(permissions, text.trim(), decision, place(item), level);
        }
    }
}

/// Adds a rule, if there is room for it.
pub(super) fn add<'p>(
    permissions: &'p mut Permissions,
    text: &str,
    decision: Decision,
    place: String,
    level: Level,
) -> Option<&'p mut Permission> {
    if permissions.rules.len() >= MAX_RULES || text.len() > MAX_RULE {
        permissions.asides.push(Aside {
            text: text.chars().take(60).collect(),
            place,
            why: "it is too long, or there are too many rules to carry over at a time".into(),
        });
        return None;
    }
    let rule = permission(text, decision, place, level);
    permissions.rules.push(rule);
    permissions.rules.last_mut()
}

fn permission(text: &str, decision: Decision, place: String, level: Level) -> Permission {
    let mut rule = Permission::new(text, place, decision);
    let (tool, pattern) = match text.split_once('(') {
        None => (text, None),
        Some((tool, rest)) => match rest.strip_suffix(')') {
            Some(pattern) => (tool, Some(pattern.trim())),
            None => {
                rule.notes
                    .push("Claude Code passes over it: a bracket isn't closed".into());
                return rule;
            }
        },
    };
    let pattern = pattern.filter(|it| !it.is_empty() && *it != "*");
    match (tool, pattern) {
        ("Bash", Some(pattern)) => command_rule(&mut rule, pattern),
        ("Read" | "Edit", Some(pattern)) => path_rule(&mut rule, tool, pattern, level),
        ("Write" | "MultiEdit" | "NotebookEdit" | "Glob" | "Grep" | "LS", Some(pattern)) => {
            unread_path_rule(&mut rule, tool, pattern, level);
        }
        ("WebFetch", Some(pattern)) => host_rule(&mut rule, pattern),
        ("PowerShell", Some(_)) => rule
            .notes
            .push("hookwire doesn't read PowerShell, so no pattern for it can be said".into()),
        (_, Some(pattern)) => member_rule(&mut rule, tool, pattern),
        (_, None) => tool_rule(&mut rule, tool),
    }
    rule
}

/// A whole tool, or the tools of an MCP server.
fn tool_rule(rule: &mut Permission, tool: &str) {
    let is_name = |c: char| c.is_ascii_alphanumeric() || "_-*.".contains(c);
    if tool.is_empty() || !tool.chars().all(is_name) {
        rule.notes
            .push("Claude Code passes over it: it is no name of a tool".into());
        return;
    }
    let is_server = tool.starts_with("mcp__") && tool.matches("__").count() == 1;
    let name = if is_server && !tool.contains('*') {
        format!("{tool}__*")
    } else {
        tool.to_string()
    };
    if name.contains('*') && rule.decision == Decision::Allow && !name.starts_with("mcp__") {
        let why = "Claude Code passes over it: only tools of MCP servers are allowed by a pattern";
        rule.notes.push(why.into());
        return;
    }
    let Some(names) = patterns::stars(&name, false) else {
        rule.notes.push("it is too long for a pattern".into());
        return;
    };
    rule.said.rules = vec![match tool {
        // Of the other tools that change files, it says nothing there.
        "Edit" if rule.decision != Decision::Allow => "Write|Edit".into(),
        "Task" => "Agent".into(),
        _ => name.clone(),
    }];
    rule.reads = Box::new(move |call| {
        let (tool, _) = call.tool();
        names.is_match(tool) || name == "Task" && tool == "Agent"
    });
    let calls = match tool {
        "Bash" => vec![Call::Bash("some-program x".into())],
        "Read" => vec![Call::Read("some/file".into())],
        "Write" => vec![Call::Write("some/file".into())],
        "Edit" => vec![
            Call::Edit("some/file".into()),
            Call::Write("some/file".into()),
        ],
        "WebFetch" => vec![Call::Fetch("https://example.com/".into())],
        "NotebookEdit" | "MultiEdit" => vec![Call::Tool(
            tool.into(),
            json!({ "notebook_path": "some/file", "file_path": "some/file" }),
        )],
        "Task" | "Agent" => vec![Call::Tool(
            "Agent".into(),
            json!({ "subagent_type": "some", "prompt": "x" }),
        )],
        _ => {
            let name = instance(&rule.said.rules[0], "some");
            let other = match name.strip_prefix("mcp__") {
                Some(rest) => format!("mcp__{}", rest.replacen("__", "x__", 1)),
                None => format!("{name}x"),
            };
            [name, other].map(|name| Call::Tool(name, json!({}))).into()
        }
    };
    let how = |n| {
        if n == 0 {
            "as it is written"
        } else {
            "another tool"
        }
    };
    let calls = calls.into_iter().enumerate();
    rule.examples = calls.map(|(n, call)| Example::new(call, how(n))).collect();
}

/// `Bash(...)`.
fn command_rule(rule: &mut Permission, pattern: &str) {
    if let Some((member, value)) = pattern.split_once(':')
        && BASH_MEMBERS.contains(&member)
    {
        return member_rule_of(rule, "Bash", member, value);
    }
    let pattern = with_single_blanks(pattern);
    let open = pattern
        .strip_suffix(":*")
        .map(|before| format!("{before} *"));
    let pattern = open.unwrap_or(pattern);
    if pattern.trim_matches([' ', '*']).is_empty() {
        return tool_rule(rule, "Bash");
    }
    if let Some(reads) = command_reads(&pattern, rule.decision) {
        rule.reads = reads;
    }
    match command_rules(&pattern, rule.decision) {
        Ok((rules, note)) => {
            rule.said.rules = rules;
            rule.notes.extend(note);
        }
        Err(why) => rule.notes.push(why),
    }
    let base = pattern
        .strip_suffix(" *")
        .or_else(|| pattern.strip_suffix('*'));
    let base = instance(base.unwrap_or(&pattern), "x1");
    if !base.trim().is_empty() {
        rule.examples = around_command(&base);
    }
}

/// What Claude Code holds against a command.
fn command_reads(pattern: &str, decision: Decision) -> Option<Reads> {
    let n_stars = pattern.matches('*').count();
    let open = pattern.strip_suffix(" *").filter(|_| n_stars == 1);
    let named = match open {
        Some(before) => patterns::regex(&format!("^{}(?: .*)?$", regex::escape(before)))?,
        None => patterns::stars(pattern, false)?,
    };
    Some(Box::new(move |call| {
        let Call::Bash(command) = call else {
            return false;
        };
        let is_named = |command: &str| {
            let spelt = spellings_once(command, decision != Decision::Allow);
            spelt.iter().any(|it| named.is_match(it))
        };
        // Of what a shell of its own runs, only `rm` is looked at.
        let inner = inner_text(command).filter(|_| decision == Decision::Deny && is_named("rm"));
        is_named(command)
            || inner.is_some_and(|text| split(&text).iter().any(|part| is_named(part)))
    }))
}

thread_local! {
    /// The last command, for rules that stop and for those that don't: all rules are held against
    /// one command after the other.
    static LAST: RefCell<[(String, Rc<[String]>); 2]> =
        RefCell::new([(); 2].map(|()| (String::new(), Rc::from([]))));
}

fn spellings_once(command: &str, is_strict: bool) -> Rc<[String]> {
    LAST.with_borrow_mut(|last| {
        let (known, spelt) = &mut last[usize::from(is_strict)];
        if spelt.is_empty() || known != command {
            *known = command.to_string();
            *spelt = spellings(command, is_strict).into();
        }
        spelt.clone()
    })
}

/// The spellings of a command that are held against a rule: as it is, and without what only
/// stands before it.
fn spellings(command: &str, is_strict: bool) -> Vec<String> {
    let bare = without_redirections(command);
    let bare = if bare.is_empty() { command } else { &bare };
    let mut found = vec![with_single_blanks(bare)];
    let mut rest = words(bare);
    while let Some(first) = rest.first().cloned() {
        let name = first.rsplit('/').next().unwrap_or(&first).to_string();
        if let Some(name) = setting(&first) {
            if !is_strict && !SAFE_SETTINGS.contains(&name) {
                break;
            }
            rest.remove(0);
        } else if let Some((_, valued)) = wrapper(&name, is_strict) {
            rest.remove(0);
            while rest.first().is_some_and(|it| it.starts_with('-')) {
                let option = rest.remove(0);
                if valued.contains(&option.as_str()) && !rest.is_empty() {
                    rest.remove(0);
                }
            }
            if name == "timeout" && !rest.is_empty() {
                rest.remove(0);
            }
        } else {
            if is_strict && first != name {
                found.push(rest.join(" "));
                rest[0] = name;
            }
            break;
        }
        // A rule may be about a wrapper itself.
        found.push(rest.join(" "));
    }
    found.push(rest.join(" "));
    found
}

fn wrapper(
    name: &str,
    is_strict: bool,
) -> Option<&'static (&'static str, &'static [&'static str])> {
    let strict = STRICT_WRAPPERS.iter().filter(|_| is_strict);
    WRAPPERS.iter().chain(strict).find(|(it, _)| *it == name)
}

/// A command's pattern as rules here, and what they don't hold.
fn command_rules(
    pattern: &str,
    decision: Decision,
) -> Result<(Vec<String>, Option<String>), String> {
    const MOST_WORDS: usize = 3;
    let targets = redirected_to(pattern);
    if !targets.is_empty() {
        if decision == Decision::Allow {
            let why = "a redirection is no part of a command here; a rule such as `Write(FILE)` is beside it";
            return Err(why.into());
        }
        let rules = targets.iter().map(|target| format!("Write({target})"));
        let note = "here it is about the file, whatever writes it";
        return Ok((rules.collect(), Some(note.into())));
    }
    if pattern.contains("&&") || pattern.contains(';') || pattern.contains("||") {
        let why = "each command of a text is judged by itself, so a rule over several names none";
        return Err(why.into());
    }
    let words: Vec<&str> = pattern.split(' ').collect();
    let last = words.len() - 1;
    let middle: Vec<usize> = (1..last).filter(|n| words[*n] == "*").collect();
    let rule = |words: &[String]| format!("Bash({})", words.join(" "));
    if pattern.contains('|') {
        return Ok((vec![format!("Bash({pattern})")], None));
    }
    let [at] = middle[..] else {
        let note = (middle.len() > 1).then(|| {
            "each `*` between words is one word here, and any number to Claude Code".to_string()
        });
        return Ok((vec![format!("Bash({pattern})")], note));
    };
    let rules = (1..=MOST_WORDS).map(|n| {
        let stars = std::iter::repeat_n("*", n);
        let all = words[..at].iter().copied().chain(stars);
        let all = all.chain(words[at + 1..].iter().copied());
        rule(&all.map(String::from).collect::<Vec<_>>())
    });
    let note = "the `*` between words is up to three words here, and any number to Claude Code";
    Ok((rules.collect(), Some(note.into())))
}

/// Where a pattern of a path counts from.
#[derive(Clone, Debug, PartialEq)]
enum Anchor {
    Root,
    Home,
    /// The directory of the call.
    Here,
    /// That one and all below it.
    AnyDepth,
}

/// A pattern of a path without what anchors it.
#[derive(Clone)]
struct PathPattern {
    anchor: Anchor,
    text: String,
    /// It was written as a directory with all that it holds.
    is_directory: bool,
}

impl PathPattern {
    fn new(pattern: &str, decision: Decision, level: Level) -> PathPattern {
        let anchored = |anchor, text: &str| PathPattern {
            anchor,
            text: text.trim_end_matches('/').to_string(),
            is_directory: false,
        };
        if let Some(rest) = pattern.strip_prefix("//") {
            return anchored(Anchor::Root, rest);
        }
        if let Some(rest) = pattern.strip_prefix("~/") {
            return anchored(Anchor::Home, rest);
        }
        if let Some(rest) = pattern.strip_prefix('/') {
            return match level {
                Level::Project => anchored(Anchor::Here, rest),
                Level::User => anchored(Anchor::Home, &format!(".claude/{rest}")),
            };
        }
        let mut text = pattern.strip_prefix("./").unwrap_or(pattern);
        // To stop, a directory with all that it holds is that directory.
        let written = text;
        if decision != Decision::Allow {
            text = text.strip_suffix("/**").unwrap_or(text);
        }
        text = text.trim_end_matches('/');
        let anchor = if text.contains('/') {
            Anchor::Here
        } else {
            Anchor::AnyDepth
        };
        PathPattern {
            is_directory: text != written,
            ..anchored(anchor, text)
        }
    }

    /// Whether a path is one that it names.
    fn reads(&self) -> Option<impl Fn(&str) -> bool + 'static> {
        let pattern = match self.anchor {
            Anchor::AnyDepth => format!("**/{}", self.text),
            _ => self.text.clone(),
        };
        let (named, anchor): (Regex, Anchor) = (patterns::path(&pattern)?, self.anchor.clone());
        Some(move |path: &str| {
            let text = match anchor {
                Anchor::Root => path.strip_prefix('/'),
                Anchor::Home => path.strip_prefix("~/"),
                Anchor::Here | Anchor::AnyDepth => {
                    let is_here = !path.starts_with('/') && !path.starts_with("~/");
                    is_here.then(|| path.strip_prefix("./").unwrap_or(path))
                }
            };
            text.is_some_and(|text| named.is_match(text))
        })
    }

    /// The patterns of rules here.
    fn said(&self, decision: Decision) -> Vec<String> {
        let text = &self.text;
        let has_wildcard = text.contains(['*', '?']);
        let path = match self.anchor {
            Anchor::Root => format!("/{text}"),
            Anchor::Home => format!("~/{text}"),
            Anchor::Here if text.starts_with("**/") => text.clone(),
            Anchor::Here => format!("./{text}"),
            Anchor::AnyDepth if decision == Decision::Allow => format!("**/{text}"),
            Anchor::AnyDepth => text.clone(),
        };
        let is_whole = text.ends_with("**");
        // A file, or a directory with all that it holds.
        if decision == Decision::Allow && !is_whole {
            return vec![path.clone(), format!("{path}/**")];
        }
        if self.anchor == Anchor::AnyDepth && has_wildcard && !is_whole {
            return vec![path.clone(), format!("**/{path}/**")];
        }
        vec![path]
    }

    /// A path that it names.
    fn instance(&self) -> String {
        let mut text = instance(&self.text, "a");
        if self.is_directory {
            text.push_str("/a");
        }
        match self.anchor {
            Anchor::Root => format!("/{text}"),
            Anchor::Home => format!("~/{text}"),
            Anchor::Here | Anchor::AnyDepth => text,
        }
    }
}

/// `Read(...)` and `Edit(...)`.
fn path_rule(rule: &mut Permission, tool: &str, pattern: &str, level: Level) {
    let pattern = PathPattern::new(pattern, rule.decision, level);
    let Some(is_named) = pattern.reads() else {
        rule.notes.push("it is too long for a pattern".into());
        return;
    };
    let is_edit = tool == "Edit";
    let tools = if is_edit { "Write|Edit" } else { "Read" };
    let said = pattern.said(rule.decision);
    rule.said.rules = said.iter().map(|path| format!("{tools}({path})")).collect();
    let path = pattern.instance();
    rule.examples = around_path(&path, is_edit, rule.decision, &pattern.anchor);
    let decision = rule.decision;
    rule.reads = Box::new(move |call| match call {
        Call::Read(path) => !is_edit && is_named(path),
        Call::Write(path) | Call::Edit(path) => is_edit && is_named(path),
        Call::Bash(command) if decision == Decision::Deny => {
            let words = words(command);
            let known = if is_edit { WRITERS } else { READERS };
            let is_known = words.first().is_some_and(|it| known.contains(&it.as_str()));
            is_known && words[1..].iter().any(|word| is_named(word))
        }
        _ => false,
    });
}

fn around_path(path: &str, is_edit: bool, decision: Decision, anchor: &Anchor) -> Vec<Example> {
    let example = Example::new;
    let call = |path: String| {
        if is_edit {
            Call::Write(path)
        } else {
            Call::Read(path)
        }
    };
    let alike = match path.split_once('/') {
        Some((first, rest)) if matches!(anchor, Anchor::Here | Anchor::AnyDepth) => {
            format!("{first}x/{rest}")
        }
        _ => format!("{path}x"),
    };
    let mut found = vec![
        example(call(path.into()), "as it is written"),
        example(call(alike), "a name that begins so"),
    ];
    if is_edit {
        found.push(example(Call::Edit(path.into()), "by another tool"));
    }
    if matches!(anchor, Anchor::Here | Anchor::AnyDepth) {
        found.push(example(
            call(format!("other/{path}")),
            "in another directory",
        ));
    }
    if decision != Decision::Allow {
        let program = if is_edit { "touch" } else { "cat" };
        let (home, below) = match path.strip_prefix("~/") {
            Some(below) => ("~/", below),
            None => ("", path),
        };
        let command = format!("{program} {home}{}", shell_word::argument(below));
        found.push(example(Call::Bash(command), "by a command"));
    }
    found
}

/// A path behind a tool for which Claude Code takes none. It says nothing there. What a person
/// wanted stopped is stopped here.
fn unread_path_rule(rule: &mut Permission, tool: &str, pattern: &str, level: Level) {
    let why = format!(
        "Claude Code never looks at a path of `{tool}`: only `Read(...)` and `Edit(...)` take one"
    );
    if rule.decision == Decision::Allow {
        rule.notes.push(why);
        return;
    }
    let family = match tool {
        "Write" | "MultiEdit" | "NotebookEdit" => "Edit",
        _ => "Read",
    };
    path_rule(rule, family, pattern, level);
    rule.reads = Box::new(|_| false);
    rule.notes.push(format!("{why}. Here it holds"));
}

/// `WebFetch(domain:...)`.
fn host_rule(rule: &mut Permission, pattern: &str) {
    let Some(host) = pattern.strip_prefix("domain:").filter(|it| !it.is_empty()) else {
        let why = "Claude Code passes over it: `WebFetch` takes `domain:HOST`";
        rule.notes.push(why.into());
        return;
    };
    let host = host.to_ascii_lowercase();
    let Some(named) = patterns::stars(&host, false) else {
        rule.notes.push("it is too long for a pattern".into());
        return;
    };
    rule.said.rules = vec![format!("WebFetch(domain:{host})")];
    rule.reads = Box::new(move |call| {
        let Call::Fetch(text) = call else {
            return false;
        };
        let parsed = url::Url::parse(text).ok();
        parsed.is_some_and(|url| url.host_str().is_some_and(|host| named.is_match(host)))
    });
    let host = instance(&host, "a");
    let example = |url: String, how| Example::new(Call::Fetch(url), how);
    rule.examples = vec![
        example(format!("https://{host}/x"), "as it is written"),
        example(format!("https://sub.{host}/x"), "a host below it"),
        example(
            format!("https://{host}.other.test/"),
            "a host that begins so",
        ),
        example(
            format!("https://other.test/?u=https://{host}/"),
            "as a text only",
        ),
    ];
}

/// `Agent(Explore)`, `Skill(name)`, `Tool(member:value)`.
fn member_rule(rule: &mut Permission, tool: &str, pattern: &str) {
    let tool = if tool == "Task" { "Agent" } else { tool };
    let is_name = |text: &str| {
        !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    let member = match pattern.split_once(':') {
        Some((member, value)) if is_name(member) && value != "*" => {
            return member_rule_of(rule, tool, member, value);
        }
        _ if tool == "Agent" => "subagent_type",
        _ if tool == "Skill" => "skill",
        _ => {
            let why = "which argument of the tool it is about isn't known";
            rule.notes.push(why.into());
            return;
        }
    };
    let value = pattern
        .strip_suffix(":*")
        .or_else(|| pattern.strip_suffix(" *"));
    let value = value.map_or_else(|| pattern.to_string(), |before| format!("{before}*"));
    member_rule_of(rule, tool, member, &value);
}

fn member_rule_of(rule: &mut Permission, tool: &str, member: &str, value: &str) {
    if rule.decision == Decision::Allow && tool == "Bash" {
        let why = "a rule over one argument of a command doesn't cover the command, so here it would allow nothing";
        rule.notes.push(why.into());
        return;
    }
    let Some(named) = patterns::stars(value, false) else {
        rule.notes.push("it is too long for a pattern".into());
        return;
    };
    rule.said.rules = vec![format!("{tool}({member}={value})")];
    if tool == "Bash" {
        // A pattern of a shell names commands.
        let regex = json!(named.as_str());
        let when =
            format!("has(tool.input.{member}) && string(tool.input.{member}).matches({regex})");
        rule.said = Said {
            rules: vec!["Bash".into()],
            when: Some(when),
        };
    }
    let example = |value: String, how| {
        let mut input = json!({ member: value });
        if tool == "Bash" {
            input["command"] = json!("ls");
        }
        if let Ok(value) = value.parse::<bool>() {
            input[member] = json!(value);
        }
        Example::new(Call::Tool(tool.to_string(), input), how)
    };
    let plain = instance(value, "some");
    rule.examples = vec![
        example(plain.clone(), "as it is written"),
        example(format!("{plain}x"), "a name that begins so"),
    ];
    let (tool, member) = (tool.to_string(), member.to_string());
    rule.reads = Box::new(move |call| {
        let (name, input) = call.tool();
        let text = match &input[member.as_str()] {
            serde_json::Value::String(text) => text.clone(),
            serde_json::Value::Null => return false,
            other => other.to_string(),
        };
        name == tool && named.is_match(&text)
    });
}
