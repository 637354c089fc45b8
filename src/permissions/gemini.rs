//! Gemini CLI's policies: rules in TOML, of which the one of the highest priority decides, and the
//! lists of tools in its settings.

use super::commands::{inner_text, split, with_single_blanks};
use super::patterns::{self, instance};
use super::{
    Aside, Call, Example, MAX_RULE, MAX_RULES, Permission, Permissions, Said, around_command,
};
use hookwire_base::syntax::diagnostic::LineIndex;
use hookwire_base::syntax::node::{Node, NodeValue};
use hookwire_base::verdict::Decision;
use regex::Regex;
use serde_json::json;

/// What the reading goes by.
const KNOWN_BY: &str = "the documentation and the source of Gemini CLI 0.61";

/// The tools by their names in rules.
const TOOLS: &[(&str, &str)] = &[
    ("run_shell_command", "Bash"),
    ("ShellTool", "Bash"),
    ("read_file", "Read"),
    ("read_many_files", "Read"),
    ("write_file", "Write"),
    ("replace", "Edit"),
    ("list_directory", "LS"),
    ("glob", "Glob"),
    ("grep_search", "Grep"),
    ("search_file_content", "Grep"),
    ("web_fetch", "WebFetch"),
    ("google_web_search", "WebSearch"),
];

/// The ranks of a tier: a rule's priority is added.
const TIER: usize = 1_000;

/// Whose policies they are. A later one comes before those above.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Tier {
    Workspace = 3,
    User = 4,
    Machine = 5,
}

/// So many rules become of the alternatives of one.
const MAX_ALTERNATIVES: usize = 32;

/// No rules yet.
pub fn none() -> Permissions {
    Permissions::none(parts, KNOWN_BY)
}

/// A text's commands, and those of a shell of its own within.
fn parts(text: &str) -> Vec<Call> {
    let mut found = Vec::new();
    for part in split(text) {
        if let Some(inner) = inner_text(&part) {
            found.extend(split(&inner).into_iter().map(Call::Bash));
        }
        found.push(Call::Bash(part));
    }
    found
}

/// What a rule says beside its tool.
struct Conditions<'n> {
    prefixes: Vec<&'n str>,
    regex: Option<&'n str>,
}

struct Found<'p, 'f> {
    permissions: &'p mut Permissions,
    file: &'f str,
    lines: &'f LineIndex<'f>,
}

impl Found<'_, '_> {
    fn place(&self, node: &Node) -> String {
        let line = self.lines.position(node.span.start).line;
        format!("{}:{line}", self.file)
    }

    fn aside(&mut self, text: &str, node: &Node, why: &str) {
        let (text, place) = (text.chars().take(60).collect(), self.place(node));
        let why = why.to_string();
        self.permissions.asides.push(Aside { text, place, why });
    }

    fn has_room(&mut self, text: &str, node: &Node) -> bool {
        let has_room = self.permissions.rules.len() < MAX_RULES && text.len() <= MAX_RULE;
        if !has_room {
            let why = "it is too long, or there are too many rules to carry over at a time";
            self.aside(text, node, why);
        }
        has_room
    }
}

/// A text or a list of texts.
fn texts(node: Option<&Node>) -> Vec<&str> {
    match node.map(|node| &node.value) {
        Some(NodeValue::String(text)) => vec![text],
        Some(NodeValue::Seq(items)) => items.iter().filter_map(Node::text).collect(),
        _ => Vec::new(),
    }
}

/// Takes the rules of a file of policies.
pub fn take(
    permissions: &mut Permissions,
    policies: &Node,
    file: &str,
    lines: &LineIndex<'_>,
    tier: Tier,
) {
    let mut found = Found {
        permissions,
        file,
        lines,
    };
    for checker in policies
        .get("safety_checker")
        .map(Node::items)
        .unwrap_or_default()
    {
        found.aside(
            "safety_checker",
            checker,
            "it is a program of Gemini CLI's; a hook with `command` is that here",
        );
    }
    for rule in policies.get("rule").map(Node::items).unwrap_or_default() {
        take_rule(&mut found, rule, tier);
    }
}

fn take_rule(found: &mut Found<'_, '_>, rule: &Node, tier: Tier) {
    let text = |name: &str| rule.get(name).and_then(Node::text);
    let names = texts(rule.get("toolName"));
    let server = text("mcpName");
    let conditions = Conditions {
        prefixes: texts(rule.get("commandPrefix")),
        regex: text("commandRegex"),
    };
    let args = text("argsPattern");
    let shown = {
        let mut parts: Vec<String> = Vec::new();
        parts.extend(server.map(|it| format!("mcpName={it}")));
        parts.extend((!names.is_empty()).then(|| names.join(" ")));
        parts.extend((!conditions.prefixes.is_empty()).then(|| conditions.prefixes.join(" | ")));
        parts.extend(conditions.regex.map(|it| format!("/{it}/")));
        parts.extend(args.map(|it| format!("/{it}/")));
        parts.join(" ")
    };
    if !found.has_room(&shown, rule) {
        return;
    }
    let decision = match text("decision") {
        Some("allow") => Decision::Allow,
        Some("ask_user") => Decision::Ask,
        Some("deny") => Decision::Deny,
        _ => {
            return found.aside(
                &shown,
                rule,
                "Gemini CLI passes over it: `decision` is none of allow, ask_user, deny",
            );
        }
    };
    let priority = rule
        .get("priority")
        .map(Node::to_json)
        .and_then(|it| it.as_u64());
    let Some(priority) = priority.filter(|it| *it < TIER as u64) else {
        return found.aside(
            &shown,
            rule,
            "Gemini CLI passes over it: `priority` is a whole number from 0 to 999",
        );
    };
    let modes = texts(rule.get("modes"));
    let why = if rule.get("subagent").is_some() {
        Some("it is for one sub-agent; a hook with `agents:` is that here")
    } else if rule.get("toolAnnotations").is_some() {
        Some("what a server says of its tools doesn't reach hookwire")
    } else if !modes.is_empty() && !modes.contains(&"default") {
        Some("it is for some of Gemini CLI's modes alone, and not for its usual one")
    } else if rule
        .get("interactive")
        .is_some_and(|it| it.to_json() == false)
    {
        Some("it is for runs without a person alone")
    } else {
        None
    };
    if let Some(why) = why {
        return found.aside(&shown, rule, why);
    }
    let reason = text("denyMessage").or_else(|| text("deny_message"));
    let mut made = Permission {
        rank: tier as usize * TIER + priority as usize,
        reason: reason
            .filter(|_| decision == Decision::Deny)
            .map(String::from),
        ..Permission::new(shown, found.place(rule), decision)
    };
    if tier == Tier::Workspace {
        let note = "Gemini CLI 0.61 reads no policies of a project. Here it holds";
        made.notes.push(note.into());
    }
    if !modes.is_empty() {
        made.notes.push(format!(
            "there it holds in the modes {}, here always",
            modes.join(", ")
        ));
    }
    let is_shell = names.iter().all(|name| *name == "run_shell_command");
    let command_args = args.and_then(|it| it.strip_prefix("\"command\":\"").filter(|_| is_shell));
    if !conditions.prefixes.is_empty() {
        prefix_rule(&mut made, &conditions.prefixes);
    } else if let Some(regex) = conditions.regex.or(command_args) {
        regex_rule(&mut made, regex);
    } else if let Some(args) = args {
        args_rule(&mut made, &names, args);
    } else {
        tools_rule(&mut made, &names, server);
    }
    found.permissions.rules.push(made);
}

/// Takes the lists of tools in a file of settings.
pub fn take_settings(
    permissions: &mut Permissions,
    settings: &Node,
    file: &str,
    lines: &LineIndex<'_>,
) {
    let mut found = Found {
        permissions,
        file,
        lines,
    };
    let user = Tier::User as usize * TIER;
    for (group, key, decision, rank) in [
        ("tools", "exclude", Decision::Deny, user + 400),
        ("tools", "allowed", Decision::Allow, user + 300),
        ("mcp", "excluded", Decision::Deny, user + 900),
        ("mcp", "allowed", Decision::Allow, user + 100),
    ] {
        let Some(list) = settings.get(group).and_then(|it| it.get(key)) else {
            continue;
        };
        for item in list.items() {
            let Some(name) = item.text() else { continue };
            if !found.has_room(name, item) {
                return;
            }
            let mut rule = Permission {
                rank,
                ..Permission::new(
                    format!("{group}.{key}: {name}"),
                    found.place(item),
                    decision,
                )
            };
            let of_command = name.strip_suffix(')').and_then(|it| it.split_once('('));
            match of_command {
                _ if group == "mcp" => tools_rule(&mut rule, &[], Some(name)),
                Some(("run_shell_command" | "ShellTool", prefix)) => {
                    prefix_rule(&mut rule, &[prefix]);
                }
                Some(_) => rule
                    .notes
                    .push("which argument of the tool it is about isn't known".into()),
                None => tools_rule(&mut rule, &[name], None),
            }
            found.permissions.rules.push(rule);
        }
    }
    if let Some(core) = settings.get("tools").and_then(|it| it.get("core")) {
        found.aside(
            "tools.core",
            core,
            "it says which tools there are; `policy` with `allow` is that here",
        );
    }
    if let Some(mode) = settings
        .get("general")
        .and_then(|it| it.get("defaultApprovalMode"))
    {
        found.aside(
            "general.defaultApprovalMode",
            mode,
            "it says what becomes of calls that no rule names, and stays Gemini CLI's",
        );
    }
}

fn prefix_rule(rule: &mut Permission, prefixes: &[&str]) {
    let is_plain = |c: char| c.is_alphanumeric() || " _-./:=@%+,~^".contains(c);
    let prefixes: Vec<String> = prefixes.iter().map(|it| with_single_blanks(it)).collect();
    let wrong = prefixes
        .iter()
        .find(|it| it.is_empty() || !it.chars().all(is_plain));
    match wrong {
        Some(wrong) => rule
            .notes
            .push(format!("`{wrong}` can't stand in a pattern as it is")),
        None => rule.said.rules = prefixes.iter().map(|it| format!("Bash({it} *)")).collect(),
    }
    rule.examples = prefixes.iter().flat_map(|it| around_command(it)).collect();
    rule.reads = Box::new(move |call| {
        let Call::Bash(command) = call else {
            return false;
        };
        prefixes.iter().any(|prefix| {
            let rest = command.strip_prefix(prefix.as_str());
            rest.is_some_and(|rest| {
                rest.is_empty() || rest.starts_with(|c: char| c.is_whitespace() || c == '"')
            })
        })
    });
}

/// `commandRegex`: the beginning of a command.
fn regex_rule(rule: &mut Permission, regex: &str) {
    let Some(named) = patterns::regex(&format!("^(?:{regex})")) else {
        let why = "its regular expression has something that hookwire's don't have";
        rule.notes.push(why.into());
        return;
    };
    let plain = expand(regex);
    match &plain {
        Some((texts, open)) => {
            let open = if *open { " *" } else { "*" };
            rule.said.rules = texts
                .iter()
                .map(|text| format!("Bash({text}{open})"))
                .collect();
        }
        None if rule.decision == Decision::Allow => {
            let why = "a regular expression over a text would allow what else stands in the text";
            rule.notes.push(why.into());
            return;
        }
        None => {
            let anywhere = json!(format!("(^|[;&|(\\n]\\s*|\\s-l?c\\s+['\"]?)(?:{regex})"));
            rule.said = Said {
                rules: vec!["Bash".into()],
                when: Some(format!(
                    "has(tool.input.command) && tool.input.command.matches({anywhere})"
                )),
            };
            rule.notes
                .push("here it is about the text, and not about what the text does".into());
        }
    }
    let texts = match plain {
        Some((texts, _)) => texts,
        None => sample(regex)
            .filter(|it| named.is_match(it))
            .into_iter()
            .collect(),
    };
    rule.examples = texts.iter().flat_map(|text| around_command(text)).collect();
    rule.reads = Box::new(move |call| match call {
        Call::Bash(command) => named.is_match(command),
        _ => false,
    });
}

/// A text that a regular expression may fit: the first of its alternatives, and `x1` where anything
/// may stand.
fn sample(regex: &str) -> Option<String> {
    let group = Regex::new(r"\((?:\?:)?([^()|]*)(?:\|[^()]*)?\)").ok()?;
    let any = Regex::new(r"\.[*+]\??").ok()?;
    let classes = Regex::new(r"\\[wdS][*+]?|\[[^\]]*\][*+]?").ok()?;
    let text = group.replace_all(regex, "$1");
    let text = any.replace_all(&text, "x1");
    let text = classes.replace_all(&text, "1");
    let text = text
        .replace("\\s+", " ")
        .replace("\\s*", " ")
        .replace("\\s", " ");
    let text = text
        .replace("\\b", "")
        .replace("\\.", ".")
        .replace(['^', '$'], "");
    Some(text.trim().to_string()).filter(|it| !it.is_empty())
}

/// The texts that a regular expression of plain words and alternatives begins with, and whether a
/// word ends there.
fn expand(regex: &str) -> Option<(Vec<String>, bool)> {
    let open = ["\\s", " ", "\\b"]
        .iter()
        .find_map(|end| regex.strip_suffix(end));
    let ended = open.is_some();
    let mut rest = open.or_else(|| regex.strip_suffix(".*")).unwrap_or(regex);
    let mut texts = vec![String::new()];
    let is_plain = |c: char| c.is_alphanumeric() || " _-/:=@,".contains(c);
    while let Some(c) = rest.chars().next() {
        let (any, after): (Vec<&str>, &str) = if let Some(group) = rest.strip_prefix('(') {
            let (inner, after) = group.split_once(')')?;
            let inner = inner.strip_prefix("?:").unwrap_or(inner);
            (inner.split('|').collect(), after)
        } else if let Some(after) = rest
            .strip_prefix("\\s+")
            .or_else(|| rest.strip_prefix("\\s"))
        {
            (vec![" "], after)
        } else if let Some(after) = rest.strip_prefix("\\.") {
            (vec!["."], after)
        } else {
            (vec![&rest[..c.len_utf8()]], &rest[c.len_utf8()..])
        };
        let is_literal = |text: &&str| text.chars().all(is_plain) || *text == ".";
        let is_single_dot = rest.starts_with('.');
        if !any.iter().all(is_literal) || is_single_dot {
            return None;
        }
        // A repetition is of what stands before it.
        if after.starts_with(['*', '+', '?', '{']) || texts.len() * any.len() > MAX_ALTERNATIVES {
            return None;
        }
        texts = texts
            .iter()
            .flat_map(|text| any.iter().map(move |it| format!("{text}{it}")))
            .collect();
        rest = after;
    }
    let is_command = |text: &String| !text.trim().is_empty() && text.trim() == text;
    texts.iter().all(is_command).then_some((texts, ended))
}

/// `argsPattern` over one member of a tool's input.
fn args_rule(rule: &mut Permission, names: &[&str], args: &str) {
    let form = Regex::new("^\"([A-Za-z_]+)\":\"([^\"]*)(\"?)$").ok();
    let found = form.and_then(|form| {
        let found = form.captures(args)?;
        let end = if &found[3] == "\"" { "$" } else { "" };
        Some((found[1].to_string(), format!("^(?:{}){end}", &found[2])))
    });
    let Some((member, regex)) = found else {
        rule.notes
            .push("it is about more than the beginning of one argument".into());
        return;
    };
    let Some(named) = patterns::regex(&regex) else {
        let why = "its regular expression has something that hookwire's don't have";
        rule.notes.push(why.into());
        return;
    };
    if rule.decision == Decision::Allow {
        let why = "a rule over the text of an argument says nothing of the whole call, so here it would allow nothing";
        rule.notes.push(why.into());
        return;
    }
    tools_rule(rule, names, None);
    rule.examples.clear();
    let tools: Vec<String> = rule.said.rules.clone();
    if let Some(text) = sample(&regex).filter(|it| named.is_match(it)) {
        for tool in &tools {
            let call = match tool.as_str() {
                "Read" => Call::Read(text.clone()),
                "Write" => Call::Write(text.clone()),
                "Edit" => Call::Edit(text.clone()),
                tool => Call::Tool(tool.into(), json!({ member.as_str(): text })),
            };
            rule.examples.push(Example::new(call, "as it is written"));
        }
    }
    rule.said.when = Some(format!(
        "has(tool.input.{member}) && tool.input.{member}.matches({})",
        json!(regex)
    ));
    rule.reads = Box::new(move |call| {
        let (tool, input) = call.tool();
        let is_named = input[member.as_str()]
            .as_str()
            .is_some_and(|it| named.is_match(it));
        is_named && tools.iter().any(|it| it == tool || it == "*")
    });
}

/// Whole tools.
fn tools_rule(rule: &mut Permission, names: &[&str], server: Option<&str>) {
    let mut rules = Vec::new();
    let of_server = |server: &str, tool: &str| format!("mcp__{server}__{tool}");
    let given = if names.is_empty() { &["*"] } else { names };
    for name in given {
        rules.push(match (server, *name) {
            (Some("*"), tool) => of_server("*", tool),
            (Some(server), tool) => of_server(server, tool),
            (None, "*") => "*".into(),
            (None, "mcp_*") => "mcp__*".into(),
            (None, name) => match name.strip_prefix("mcp_").and_then(|it| it.split_once('_')) {
                Some((server, tool)) => of_server(server, tool),
                None => {
                    let known = TOOLS.iter().find(|(it, _)| *it == name);
                    known.map_or(name, |(_, tool)| *tool).to_string()
                }
            },
        });
    }
    rules.dedup();
    let is_name = |c: char| c.is_ascii_alphanumeric() || "_-*.".contains(c);
    if let Some(wrong) = rules
        .iter()
        .find(|it| it.is_empty() || !it.chars().all(is_name))
    {
        rule.notes.push(format!("`{wrong}` is no name of a tool"));
        return;
    }
    if names.is_empty() && server.is_none() {
        rule.notes.push("it names no tool".into());
        return;
    }
    let named: Vec<Regex> = rules
        .iter()
        .filter_map(|it| patterns::stars(it, false))
        .collect();
    rule.reads = Box::new(move |call| named.iter().any(|it| it.is_match(call.tool().0)));
    let call = |tool: &String| match tool.as_str() {
        "*" | "Bash" => Call::Bash("some-program x".into()),
        "Read" => Call::Read("some/file".into()),
        "Write" => Call::Write("some/file".into()),
        "Edit" => Call::Edit("some/file".into()),
        "WebFetch" => Call::Fetch("https://example.com/".into()),
        name => Call::Tool(instance(name, "some"), json!({})),
    };
    let calls = rules.iter().map(call);
    rule.examples = calls
        .map(|call| Example::new(call, "as it is written"))
        .collect();
    rule.said.rules = rules;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_regular_expressions_are_patterns() {
        for (regex, texts) in [
            ("git (commit|push)", Some(&["git commit", "git push"][..])),
            ("git\\s+push.*", Some(&["git push"])),
            ("rm\\b", Some(&["rm"])),
            ("npm (test|run (a|b))", None),
            ("rm -(r|f)+", None),
            ("[a-z]+", None),
            ("a.b", None),
            (".*", None),
            ("", None),
        ] {
            let found = expand(regex).map(|(texts, _)| texts);
            let expected = texts.map(|it| it.iter().map(|it| it.to_string()).collect());
            assert_eq!(found, expected, "{regex}");
        }
    }
}
