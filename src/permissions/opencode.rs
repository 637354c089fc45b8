//! OpenCode's `permission`: a decision for each kind of tool, or for patterns of what it is given.
//! The last rule that names a call decides.

use super::commands::{setting, split, with_single_blanks};
use super::patterns::{self, instance};
use super::{Aside, Call, Example, MAX_RULE, MAX_RULES, Permission, Permissions, around_command};
use hookwire_base::syntax::diagnostic::LineIndex;
use hookwire_base::syntax::node::{Node, NodeValue};
use hookwire_base::verdict::Decision;
use serde_json::json;

/// What the reading goes by.
const KNOWN_BY: &str =
    "the documentation of OpenCode, and what OpenCode 1.18.33 has in its program";

/// The tools of each kind, by their names in rules.
const KINDS: &[(&str, &str)] = &[
    ("bash", "Bash"),
    ("read", "Read"),
    ("edit", "Write|Edit"),
    ("write", "Write"),
    ("list", "LS"),
    ("glob", "Glob"),
    ("grep", "Grep"),
    ("webfetch", "WebFetch"),
    ("websearch", "WebSearch"),
    ("task", "Agent"),
];

/// No rules yet.
pub fn none() -> Permissions {
    Permissions::none(
        |text| split(text).into_iter().map(Call::Bash).collect(),
        KNOWN_BY,
    )
}

/// Takes the permissions of a file of settings.
pub fn take(permissions: &mut Permissions, settings: &Node, file: &str, lines: &LineIndex<'_>) {
    let place = |node: &Node| format!("{file}:{}", lines.position(node.span.start).line);
    let aside = |text: &str, node: &Node, why: &str| Aside {
        text: text.chars().take(60).collect(),
        place: place(node),
        why: why.to_string(),
    };
    for agent in settings.get("agent").map(Node::entries).unwrap_or_default() {
        if let Some(own) = agent.value.get("permission") {
            let text = format!("agent.{}.permission", agent.key);
            let why = "it is for one agent of OpenCode's alone; a hook with `agents:` is that here";
            permissions.asides.push(aside(&text, own, why));
        }
    }
    if let Some(tools) = settings.get("tools") {
        let why = "`tools` is an older form; write it as `permission` first";
        permissions.asides.push(aside("tools", tools, why));
    }
    let Some(found) = settings.get("permission") else {
        return;
    };
    let mut add = |kind: &str, pattern: &str, value: &Node, at: &Node| {
        let shown = match pattern {
            "*" => kind.to_string(),
            pattern => format!("{kind}: {pattern}"),
        };
        let decision = match value.text() {
            Some("allow") => Decision::Allow,
            Some("ask") => Decision::Ask,
            Some("deny") => Decision::Deny,
            _ => {
                let why = "OpenCode refuses the file: it is none of allow, ask, deny";
                permissions.asides.push(aside(&shown, at, why));
                return;
            }
        };
        if permissions.rules.len() >= MAX_RULES || pattern.len() > MAX_RULE {
            let why = "it is too long, or there are too many rules to carry over at a time";
            permissions.asides.push(aside(&shown, at, why));
            return;
        }
        let rank = permissions.rules.len();
        let rule = permission(kind, pattern, shown, decision, rank, place(at));
        permissions.rules.push(rule);
    };
    if let NodeValue::String(_) = &found.value {
        return add("*", "*", found, found);
    }
    for kind in found.entries() {
        match &kind.value.value {
            NodeValue::Map(patterns) => {
                for entry in patterns {
                    add(&kind.key, &entry.key, &entry.value, &entry.value);
                }
            }
            _ => add(&kind.key, "*", &kind.value, &kind.value),
        }
    }
}

fn permission(
    kind: &str,
    pattern: &str,
    text: String,
    decision: Decision,
    rank: usize,
    place: String,
) -> Permission {
    let mut rule = Permission {
        rank,
        ..Permission::new(text, place, decision)
    };
    let why = match kind {
        "external_directory" => Some(
            "it says where OpenCode works, and stays OpenCode's; `Read(...)` and `Write(...)` are about files here",
        ),
        "doom_loop" => Some("the guard `loop-detector` is that here"),
        "skill" | "question" | "plan_enter" | "plan_exit" | "todowrite" | "todoread" | "lsp"
        | "codesearch"
            if pattern != "*" =>
        {
            Some("which argument of the tool it is about isn't known")
        }
        _ => None,
    };
    if let Some(why) = why {
        rule.notes.push(why.into());
        return rule;
    }
    let tools = KINDS
        .iter()
        .find(|(name, _)| *name == kind)
        .map(|(_, tools)| *tools);
    if pattern == "*" {
        whole_tool(&mut rule, kind, tools.unwrap_or(kind));
        return rule;
    }
    match tools {
        Some("Bash") => command_rule(&mut rule, pattern),
        Some(tools @ ("Read" | "Write|Edit" | "Write")) => path_rule(&mut rule, tools, pattern),
        Some(tools @ ("Agent" | "Grep" | "Glob")) => text_rule(&mut rule, tools, pattern),
        _ => rule
            .notes
            .push("which argument of the tool it is about isn't known".into()),
    }
    rule
}

fn whole_tool(rule: &mut Permission, kind: &str, tools: &str) {
    let Some(names) = patterns::stars(kind, true) else {
        rule.notes.push("it is too long for a pattern".into());
        return;
    };
    if tools.contains(['?', '(', ')']) || tools.contains(char::is_whitespace) {
        rule.notes.push("it is no name of a tool".into());
        return;
    }
    rule.said.rules = vec![tools.to_string()];
    rule.reads = Box::new(move |call| {
        let (tool, _) = call.tool();
        let kind = KINDS
            .iter()
            .find(|(_, tools)| tools.split('|').any(|it| it == tool))
            .map_or(tool, |(kind, _)| *kind);
        names.is_match(kind)
    });
    let calls = match kind {
        "*" => vec![
            Call::Bash("some-program x".into()),
            Call::Read("some/file".into()),
        ],
        "bash" => vec![Call::Bash("some-program x".into())],
        "read" => vec![Call::Read("some/file".into())],
        "edit" => vec![
            Call::Edit("some/file".into()),
            Call::Write("some/file".into()),
        ],
        "webfetch" => vec![Call::Fetch("https://example.com/".into())],
        _ => vec![Call::Tool(instance(tools, "some"), json!({}))],
    };
    rule.examples = calls
        .into_iter()
        .map(|call| Example::new(call, "as it is written"))
        .collect();
}

/// A pattern as OpenCode reads it: a last ` *` may be missing.
fn named(pattern: &str) -> Option<regex::Regex> {
    match pattern.strip_suffix(" *") {
        Some(before) => {
            let before = patterns::stars(before, true)?;
            let before = before.as_str().trim_end_matches('$').to_string();
            patterns::regex(&format!("{before}( .*)?$"))
        }
        None => patterns::stars(pattern, true),
    }
}

fn command_rule(rule: &mut Permission, pattern: &str) {
    let pattern = with_single_blanks(pattern);
    let Some(is_named) = named(&pattern) else {
        rule.notes.push("it is too long for a pattern".into());
        return;
    };
    if pattern.contains('?') || pattern.contains("&&") || pattern.contains([';', '|']) {
        rule.notes
            .push("`?` and several commands at once can't be said in a pattern".into());
    } else {
        rule.said.rules = vec![format!("Bash({pattern})")];
    }
    let inner = pattern.trim_end_matches(['*', ' ']);
    if inner.contains(" * ") {
        let note = "the `*` between words is one word here, and any number to OpenCode";
        rule.notes.push(note.into());
    }
    rule.reads = Box::new(move |call| {
        let Call::Bash(command) = call else {
            return false;
        };
        // Settings before a command aren't part of what is held against a rule.
        let words = command.split_whitespace();
        let words: Vec<&str> = words.skip_while(|word| setting(word).is_some()).collect();
        is_named.is_match(&words.join(" "))
    });
    let base = instance(inner, "x1");
    if !base.is_empty() {
        rule.examples = around_command(&base);
    }
}

fn path_rule(rule: &mut Permission, tools: &str, pattern: &str) {
    let pattern = match pattern.strip_prefix("$HOME/") {
        Some(below) => format!("~/{below}"),
        None => pattern.to_string(),
    };
    let Some(is_named) = named(&pattern) else {
        rule.notes.push("it is too long for a pattern".into());
        return;
    };
    match said_paths(&pattern) {
        Some(paths) => {
            rule.said.rules = paths
                .iter()
                .map(|path| format!("{tools}({path})"))
                .collect();
        }
        None => rule
            .notes
            .push("such a `*` within a name, or `?`, can't be said in a pattern".into()),
    }
    let (is_read, is_edit) = (tools == "Read", tools == "Write|Edit");
    rule.reads = Box::new(move |call| match call {
        Call::Read(path) => is_read && is_named.is_match(path),
        Call::Write(path) => !is_read && is_named.is_match(path),
        Call::Edit(path) => is_edit && is_named.is_match(path),
        _ => false,
    });
    let path = instance(&pattern, "a");
    let call = |path: String| match is_read {
        true => Call::Read(path),
        false => Call::Write(path),
    };
    rule.examples = vec![
        Example::new(call(path.clone()), "as it is written"),
        Example::new(call(format!("{path}x")), "a name that begins so"),
    ];
    if !path.starts_with(['/', '~']) {
        let below = call(format!("other/{path}"));
        rule.examples
            .push(Example::new(below, "in another directory"));
    }
    if pattern.contains('*') {
        let deep = call(instance(&pattern, "a/b"));
        rule.examples.push(Example::new(deep, "further below"));
    }
}

/// The patterns of a path here, where `*` stops at `/` and `**` doesn't.
fn said_paths(pattern: &str) -> Option<Vec<String>> {
    if pattern.contains('?') {
        return None;
    }
    let anchored = pattern.starts_with(['/', '~', '*']);
    let mut text = String::from(if anchored { "" } else { "./" });
    let mut more = None;
    let chars: Vec<char> = pattern.replace("**", "*").chars().collect();
    for (n, c) in chars.iter().enumerate() {
        let begins = n == 0 || chars[n - 1] == '/';
        let ends = n + 1 == chars.len();
        match (*c, begins, ends) {
            ('*', true, true) => text.push_str("**"),
            ('*', true, false) if chars[n + 1] == '/' => text.push_str("**"),
            ('*', true, false) => text.push_str("**/*"),
            ('*', false, true) => {
                text.push('*');
                more = Some(format!("{text}/**"));
            }
            ('*', false, false) => return None,
            (c, _, _) => text.push(c),
        }
    }
    Some([Some(text), more].into_iter().flatten().collect())
}

fn text_rule(rule: &mut Permission, tools: &str, pattern: &str) {
    let Some(is_named) = named(pattern) else {
        rule.notes.push("it is too long for a pattern".into());
        return;
    };
    let member = if tools == "Agent" {
        "subagent_type"
    } else {
        "pattern"
    };
    rule.said.rules = vec![format!("{tools}({member}={pattern})")];
    let tool = tools.to_string();
    rule.reads = Box::new(move |call| {
        let (name, input) = call.tool();
        name == tool
            && input[member]
                .as_str()
                .is_some_and(|it| is_named.is_match(it))
    });
    let call = |text: String| Call::Tool(tools.to_string(), json!({ member: text }));
    let plain = instance(pattern, "some");
    rule.examples = vec![
        Example::new(call(plain.clone()), "as it is written"),
        Example::new(call(format!("{plain}x")), "a name that begins so"),
    ];
}
