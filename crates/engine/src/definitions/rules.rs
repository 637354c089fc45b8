//! Warnings of rules that are well-formed, and hold for nothing that can happen: several rules in
//! one text, a regex where a glob is read, what a shell takes for itself, names that nothing has.
//!
//! Rules of `if`, `unless` and a policy are read alike, and so they are warned of alike.

use super::slips::outside_of_quotes;
use super::written::Mistakes;
use hookwire_base::support::nearest::{closest, differ_in_number};
use hookwire_base::syntax::fix::{Edit, Fix};
use hookwire_base::syntax::node::{Node, NodeValue, Span};
use hookwire_base::syntax::problem::Problem;
use hookwire_rules::matching::rule::{CONNECT, Reading, ToolRule};
use hookwire_rules::matching::shell::{CommandRule, Name};
use hookwire_rules::matching::tools::{self, ArgumentKind, DeclaredTool, TOOLS, Tool};
use hookwire_rules::matching::urls::UrlPattern;

/// A mistake in a rule, or in a word of it.
pub(super) struct Slip {
    code: &'static str,
    message: String,
    meant: Meant,
    /// The rule is of no use as it is written, whatever else was meant.
    is_error: bool,
}

/// The rule that was probably meant.
enum Meant {
    /// This instead of a word of the rule.
    Instead(String, String),
    /// Several rules.
    Rules(Vec<String>),
    /// It can't be told: what to do.
    Help(&'static str),
}

impl Slip {
    fn new(code: &'static str, message: impl Into<String>, meant: Meant) -> Slip {
        Slip {
            code,
            message: message.into(),
            meant,
            is_error: false,
        }
    }

    /// As a problem in the place of the rule; `is_alone`: the value is the rule, and may become a
    /// list.
    pub(super) fn problem(self, span: &Span, is_alone: bool) -> Problem {
        let problem = match self.is_error {
            true => Problem::error(span, self.code, self.message),
            false => Problem::warning(span, self.code, self.message),
        };
        match self.meant {
            Meant::Instead(wrong, right) => problem.did_you_mean(&wrong, Some(&right)),
            Meant::Help(help) => problem.help(help),
            Meant::Rules(rules) => {
                let problem = problem.help(format!("write a list: `[{}]`", rules.join(", ")));
                let fix = is_alone.then(|| Fix::new("Write a list", Edit::Items(rules)));
                fix.into_iter().fold(problem, Problem::fix)
            }
        }
    }
}

/// The names of tools that count where a rule stands.
#[derive(Clone, Copy)]
pub(super) struct Vocabulary<'a> {
    /// A family's name stands for the tools of every agent.
    pub(super) is_shared: bool,
    /// The names that the file adds.
    pub(super) declared: &'a [DeclaredTool],
}

/// Warns of rules as they are written in `node`, one or a list. `reading`: what the rules are read
/// for.
pub(super) fn lint(
    rules: &[ToolRule],
    node: &Node,
    vocabulary: Vocabulary<'_>,
    reading: Reading,
    mistakes: &mut Mistakes,
) {
    let items = match &node.value {
        NodeValue::Seq(items) => &items[..],
        _ => std::slice::from_ref(node),
    };
    for (rule, item) in rules.iter().zip(items) {
        let is_alone = std::ptr::eq(item, node);
        if let Some(slip) = of_form(rule).or_else(|| of_pattern(rule)) {
            mistakes.push(slip.problem(&item.span, is_alone));
            continue;
        }
        if reading == Reading::Covers && rule.commands().iter().any(CommandRule::is_pipe) {
            let message = format!(
                "`{}` never covers anything: a pipe can only be denied, asked about or handled",
                rule.text()
            );
            let help = "name each of its commands by a rule of its own";
            mistakes.push(
                Slip::new("never-matches", message, Meant::Help(help))
                    .problem(&item.span, is_alone),
            );
        }
        if vocabulary.is_shared
            && reading == Reading::Hits
            && let Some(slip) = of_end(rule, rules)
        {
            mistakes.push(slip.problem(&item.span, is_alone));
        }
        if vocabulary.is_shared
            && reading == Reading::Hits
            && let Some(host) = rule.host_of_web_tools()
            && !rules.iter().any(ToolRule::is_about_hosts)
        {
            let message = format!(
                "`{}` is about tools for the web alone: a command may reach {host}",
                rule.text()
            );
            let help = format!("`Connect({host})` is about every way to that host");
            mistakes.push(Problem::hint(&item.span, "web-tools-alone", message).help(help));
        }
        for (tool, _) in rule.tools().filter(|(_, prefix)| prefix.is_none()) {
            if let Some(slip) = of_tool(tool, vocabulary) {
                mistakes.push(slip.problem(&item.span, is_alone));
            }
            if reading == Reading::Covers && names_server(tool) {
                let message = format!(
                    "`{tool}` covers no plug-in's server of that name, because others choose that name"
                );
                let help = "name the plug-in, too: `mcp__plugin_PLUGIN_SERVER__TOOL`";
                mistakes.push(Problem::hint(&item.span, "plugin-server", message).help(help));
            }
            let pattern = rule.pattern().unwrap_or_default();
            if reading == Reading::Covers
                && tools::known(tool).is_none()
                && begins_a_statement(pattern)
            {
                let message = format!(
                    "`{}` lets pass what follows, too: `{} 1; DROP TABLE a`",
                    rule.text(),
                    first_word(pattern)
                );
                let help =
                    "`hookwire init db-select-only` writes a rule that reads the whole statement";
                mistakes.push(Problem::warning(&item.span, "open-statement", message).help(help));
            }
        }
        if rule.is_about_text("~/") && !rule.is_about("Grep") {
            let message = format!(
                "`~` isn't expanded here: `{}` is held against a text as it is sent",
                rule.text()
            );
            mistakes.push(
                Problem::warning(&item.span, "unexpanded-home", message)
                    .help("write the whole path"),
            );
        }
    }
}

/// A tool's name that no tool has, or only one agent's.
pub(super) fn of_tool(
    tool: &str,
    Vocabulary {
        is_shared,
        declared,
    }: Vocabulary<'_>,
) -> Option<Slip> {
    if declared.iter().any(|it| it.name == tool) {
        return None;
    }
    let instead = |right: &str| Meant::Instead(tool.to_string(), right.to_string());
    if let Some(right) = with_both_underscores(tool).filter(|_| is_shared) {
        let message = format!(
            "no tool of an MCP server is called `{tool}`: its name has `__` between the parts"
        );
        return Some(Slip::new("unknown-tool", message, instead(&right)));
    }
    let Some(known) = TOOLS
        .iter()
        .find(|known| known.name.eq_ignore_ascii_case(tool))
    else {
        let nearest = nearly_known(tool, is_shared)
            .or_else(|| otherwise_written(tool).filter(|_| is_shared))?;
        return Some(Slip::new(
            "unknown-tool",
            format!("no agent is known to have a tool `{tool}`"),
            instead(nearest),
        ));
    };
    if known.name == tool {
        None
    } else if tools::known(tool).is_none() {
        let message = format!("`{tool}` never matches: tool names are case-sensitive");
        Some(Slip::new("never-matches", message, instead(known.name)))
    } else {
        let message = format!(
            "`{tool}` is only a tool of that very name; `{}` is that of every agent",
            known.name
        );
        is_shared.then(|| Slip::new("one-name", message, instead(known.name)))
    }
}

/// A tool's name in a text that is compared with that of the event, which is the agent's own. No
/// other agent's is wrong there.
pub(super) fn of_tool_in_text(tool: &str, vocabulary: Vocabulary<'_>) -> Option<Slip> {
    of_tool(tool, vocabulary).filter(|slip| slip.code != "one-name")
}

/// The family whose name is nearly one that no agent is known to use.
fn nearly_known(tool: &str, is_shared: bool) -> Option<&'static str> {
    // Tools of an MCP server are called whatever their author likes.
    let is_known = tools::known(tool).is_some() || [tools::PATCH, CONNECT].contains(&tool);
    if is_known || tool.starts_with("mcp__") {
        return None;
    }
    // So short a name is a word of its own, unless a letter is missing.
    let is_near = |it: &&str| match tool.len() {
        0..=2 => false,
        3 => it.len() == 4 && it.starts_with(tool.get(..1).unwrap_or_default()),
        length => it.len().abs_diff(length) < 2,
    };
    let of_hosts = is_shared.then_some(CONNECT);
    closest(tool, TOOLS.iter().map(|it| it.name).chain(of_hosts)).filter(is_near)
}

/// The family that agents know by a name of the same words: `WriteFile` and `FileWrite` are
/// `write_file`.
fn otherwise_written(tool: &str) -> Option<&'static str> {
    if tools::known(tool).is_some() || tool.starts_with("mcp__") {
        return None;
    }
    let wanted = words_of(tool);
    let is_it = |it: &&Tool| {
        // One word may name anything, unless it can only be a shell.
        let may_be = wanted.len() > 1 || it.kind == ArgumentKind::Shell;
        may_be && it.names.iter().any(|name| words_of(name) == wanted)
    };
    TOOLS.iter().find(is_it).map(|it| it.name)
}

/// The words of a name in alphabetical order, whatever parts them: `_`, `-`, `.` or an upper-case
/// letter.
fn words_of(name: &str) -> Vec<String> {
    let (mut words, mut was_lower) = (vec![String::new()], false);
    for c in name.chars() {
        if !c.is_alphanumeric() || c.is_uppercase() && was_lower {
            words.push(String::new());
        }
        words
            .last_mut()
            .into_iter()
            .for_each(|word| word.extend(c.to_lowercase().filter(|c| c.is_alphanumeric())));
        was_lower = !c.is_uppercase();
    }
    words.retain(|word| !word.is_empty());
    words.sort_unstable();
    words
}

/// `mcp__db__query` for `mcp_db_query`. Where the tool's name begins can only be guessed.
fn with_both_underscores(tool: &str) -> Option<String> {
    let rest = tool
        .strip_prefix("mcp_")
        .filter(|rest| !rest.starts_with('_'))?;
    let (server, name) = rest.split_once("__").or_else(|| rest.split_once('_'))?;
    (!server.is_empty() && !name.is_empty()).then(|| format!("mcp__{server}__{name}"))
}

/// `SELECT *`, the beginning of SQL that only reads. A `*` stands for further statements, too.
fn begins_a_statement(pattern: &str) -> bool {
    const READS: [&str; 5] = ["select", "show", "explain", "describe", "with"];
    let pattern = pattern
        .split_once('=')
        .map_or(pattern, |(_, value)| value)
        .trim();
    pattern.ends_with('*')
        && READS
            .iter()
            .any(|it| first_word(pattern).eq_ignore_ascii_case(it))
}

fn first_word(pattern: &str) -> &str {
    let pattern = pattern.split_once('=').map_or(pattern, |(_, value)| value);
    pattern
        .split([' ', '*'])
        .find(|it| !it.is_empty())
        .unwrap_or_default()
}

/// `mcp__pay__send`, which names a server that is no plug-in's.
fn names_server(tool: &str) -> bool {
    let server = tool
        .strip_prefix("mcp__")
        .and_then(|it| it.split_once("__"))
        .map(|(server, _)| server);
    server.is_some_and(|it| !it.contains('*')) && !tools::is_of_plugin(tool)
}

/// `mcp__pay`, which names a server and no tool.
pub(super) fn is_server(tool: &str) -> bool {
    tool.starts_with("mcp__") && tool.matches("__").count() == 1
}

/// A program's name with a letter wrong.
pub(super) fn of_program(name: &str) -> Option<Slip> {
    let rule = ToolRule::new(&format!("Bash({name} *)")).ok()?;
    of_pattern(&rule).filter(|slip| slip.code == "unknown-name")
}

/// A text that is no rule, because it is several.
pub(super) fn of_several(text: &str) -> Option<Slip> {
    let (parts, _) = rules_in(text);
    let rules = parts.iter().map(|it| it.to_string()).collect();
    let slip = Slip::new(
        "bad-rule",
        format!("`{text}` is several rules in one text"),
        Meant::Rules(rules),
    );
    (parts.len() > 1).then_some(Slip {
        is_error: true,
        ..slip
    })
}

/// Slips of what stands around the pattern.
fn of_form(rule: &ToolRule) -> Option<Slip> {
    let text = rule.text();
    let slip = |message: String, meant| Some(Slip::new("never-matches", message, meant));
    let (parts, has_rest) = rules_in(text);
    if let [first] = &parts[..]
        && has_rest
    {
        let meant = Meant::Instead(text.to_string(), first.to_string());
        return slip(
            format!("`{text}` never matches: it has a bracket too many"),
            meant,
        );
    }
    if parts.len() > 1 {
        let message = format!("`{text}` never matches: it is several rules in one text");
        return slip(
            message,
            Meant::Rules(parts.into_iter().map(str::to_string).collect()),
        );
    }
    let parted = [
        ") and not ",
        ") && !",
        ") except ",
        ") but not ",
        ") unless ",
    ]
    .iter()
    .find_map(|it| text.split_once(it));
    if let Some((_, left_out)) = parted
        && ToolRule::new(left_out).is_ok()
    {
        let message = format!("`{text}` never matches: a rule has no exception within it");
        return slip(
            message,
            Meant::Help("write what is left out under `unless`"),
        );
    }
    let names = text.split('(').next().unwrap_or_default();
    let is_regex = names.contains(['^', '$', '\\'])
        || names.contains("_.*")
        || names.starts_with(".*")
        || names.split('|').any(begins_a_tool);
    if is_regex || names.contains([',', ';', '&']) {
        let listed: Vec<_> = names
            .split([',', ';', '&', '|'])
            .map(str::trim)
            .filter(|it| !it.is_empty())
            .collect();
        let meant = listed
            .join("|")
            .replace(".*", "*")
            .replace(['^', '$', '\\'], "");
        let why = if is_regex {
            "a rule is a glob, not a regex"
        } else {
            "names of tools have `|` between them"
        };
        return slip(
            format!("`{names}` never matches: {why}"),
            Meant::Instead(names.to_string(), meant),
        );
    }
    let server = rule
        .tools()
        .find(|(tool, prefix)| prefix.is_none() && is_server(tool))?
        .0;
    let message = format!("`{server}` never matches: an MCP tool's name has a server and a tool");
    slip(
        message,
        Meant::Instead(server.to_string(), format!("{server}__*")),
    )
}

/// `Wri.*`, the beginning of a tool's name. `container.*` has a dot of its own.
fn begins_a_tool(name: &str) -> bool {
    let Some(start) = name
        .trim()
        .strip_suffix(".*")
        .filter(|start| !start.is_empty())
    else {
        return false;
    };
    let dotted = format!("{start}.");
    let mut known = TOOLS
        .iter()
        .flat_map(|tool| tool.names.iter().chain([&tool.name]));
    known.clone().any(|it| it.starts_with(start)) && !known.any(|it| it.starts_with(&dotted))
}

/// The rules that a text holds one after the other, and whether only brackets are left behind the
/// first.
fn rules_in(text: &str) -> (Vec<&str>, bool) {
    let (mut parts, mut rest) = (Vec::new(), text);
    while !rest.is_empty() {
        let mut depth = 0;
        let end = rest.char_indices().find_map(|(at, c)| {
            depth += i32::from(c == '(') - i32::from(c == ')');
            (c == ')' && depth == 0).then_some(at + 1)
        });
        let (part, behind) = rest.split_at(end.unwrap_or(rest.len()));
        let names = part.split('(').next().unwrap_or_default();
        // A word by itself is a rule only if it is a tool: an `and` may be left over.
        let is_rule = names.len() < part.len() || tools::known(part).is_some();
        if !is_rule
            || !names.starts_with(|c: char| c.is_alphabetic())
            || ToolRule::new(part).is_err()
        {
            break;
        }
        parts.push(part.trim());
        rest = behind.trim_start();
        let joint = ["and ", "or ", "||", "&&", ",", ";", "|", "&"]
            .iter()
            .find_map(|it| rest.strip_prefix(it));
        rest = joint.unwrap_or(rest).trim_start();
    }
    // If something is left, the text is one pattern in which brackets are characters like others.
    let is_left = !rest.is_empty();
    parts.truncate(if is_left { 1 } else { parts.len() });
    (parts, is_left && rest.chars().all(|c| c == ')'))
}

/// Slips of the pattern, by how it is read.
fn of_pattern(rule: &ToolRule) -> Option<Slip> {
    let pattern = rule.pattern()?.trim();
    let mut known = rule.tools().filter_map(|(tool, _)| tools::known(tool));
    let Some(tool) = known.next() else {
        return of_argument(rule, pattern);
    };
    if known.any(|it| it.kind != tool.kind) {
        return None;
    }
    if let Some((name, _)) = pattern.split_once('=')
        && tool.kind != ArgumentKind::Shell
        && let Some(meant) = misspelt_argument(name, tool.arguments)
    {
        let message = format!("`{}` has no argument that is called `{name}`", tool.name);
        return Some(Slip::new(
            "never-matches",
            message,
            Meant::Instead(name.to_string(), meant.to_string()),
        ));
    }
    let names = rule.text().split('(').next().unwrap_or_default();
    let written = |pattern: &str| format!("{names}({pattern})");
    let slip = |why: &str, meant| {
        let message = format!("`{}` never matches: {why}", rule.text());
        Some(Slip::new("never-matches", message, meant))
    };
    let instead = |meant: String| Meant::Instead(rule.text().to_string(), written(&meant));
    let list = |parts: &[String]| match parts {
        [one] => instead(one.clone()),
        parts => Meant::Rules(parts.iter().map(|part| written(part)).collect()),
    };
    if tool.kind != ArgumentKind::Text
        && let Some(inner) = quoted(pattern)
    {
        return slip("a pattern needs no quotes", instead(inner.to_string()));
    }
    let is_place = pattern.starts_with(['/', '~']) && pattern[1..].contains('/');
    if let Some((name, value)) = pattern.split_once(':')
        && tool.arguments.contains(&name)
    {
        return match tool.kind {
            ArgumentKind::Shell => slip(BY_ITSELF, instead(value.trim().into())),
            _ => slip(
                "an argument is named as in `name=pattern`",
                instead(format!("{name}={}", value.trim())),
            ),
        };
    }
    if tool.kind == ArgumentKind::Path
        && pattern
            .strip_prefix('.')
            .is_some_and(|end| ENDINGS.contains(&end))
    {
        return slip(
            &format!("no file is called `{pattern}`"),
            instead(format!("**/*{pattern}")),
        );
    }
    if tool.name == "Grep" && is_place {
        return slip(
            "the pattern is about the text that is looked for",
            instead(format!("path={pattern}")),
        );
    }
    if tool.kind != ArgumentKind::Text
        && pattern
            .strip_prefix('!')
            .is_some_and(|rest| !rest.starts_with(' '))
    {
        return slip(
            "a pattern excludes nothing",
            Meant::Help("write what is left out under `unless`"),
        );
    }
    if let Some((variable, rest)) = unexpanded(pattern).filter(|_| tool.kind == ArgumentKind::Path)
    {
        return slip(
            &format!("nothing expands `{variable}` here"),
            instead(rest.to_string()),
        );
    }
    if let Some(host) = other_case(pattern, "domain:").filter(|_| tool.kind == ArgumentKind::Url) {
        return slip(
            "`domain:` is written in lower case",
            instead(format!("domain:{host}")),
        );
    }
    if matches!(tool.kind, ArgumentKind::Path | ArgumentKind::Url) {
        let parts = patterns_of(pattern, tool.kind);
        if parts.len() > 1 {
            return slip("a rule has one pattern", list(&parts));
        }
        if let Some(meant) = (tool.kind == ArgumentKind::Url)
            .then(|| with_scheme(pattern))
            .flatten()
        {
            return slip("a URL begins with its scheme", instead(meant));
        }
        let globs = match tool.kind {
            ArgumentKind::Url => urls_of(pattern)?,
            _ => is_regex_of_paths(pattern).then(|| globs_of(pattern, "**/*"))?,
        };
        return slip("a pattern is a glob, not a regex", list(&globs));
    }
    let commands = rule.commands();
    if commands.is_empty() {
        return None;
    }
    let parts = commands_of(pattern);
    if parts.len() > 1 {
        return slip(
            "a rule is held against each command by itself",
            list(&parts),
        );
    }
    if let Some(parts) = commands_with_commas(pattern) {
        return slip("a rule has one pattern", list(&parts));
    }
    let names: Vec<Name<'_>> = commands.iter().flat_map(CommandRule::names).collect();
    if let Some(parts) = commands_with_bars(pattern, &names) {
        return slip(
            "a rule has one pattern, and `|` with blanks around it is a pipe",
            list(&parts),
        );
    }
    if let Some(parts) = commands_piped_to_themselves(pattern) {
        let message = format!(
            "`{}` holds for a pipe from one to the other: `|` is no choice",
            rule.text()
        );
        return Some(Slip::new("never-matches", message, list(&parts)));
    }
    let count = |sign: char| {
        outside_of_quotes(pattern.char_indices())
            .filter(|(_, c)| *c == sign)
            .count()
    };
    if count('{') != count('}') {
        return slip(
            "its braces don't match",
            Meant::Help("close each brace, or quote one that is meant as it is"),
        );
    }
    if let Some(inner) = pattern
        .strip_prefix('(')
        .and_then(|it| it.strip_suffix(')'))
        .filter(|it| !it.contains('('))
    {
        return slip("it has a bracket too many", instead(inner.to_string()));
    }
    if let Some(inner) = between_slashes(pattern) {
        return slip(
            "a pattern is a glob, not a regex",
            list(&globs_of(inner, " * ")),
        );
    }
    if names
        .iter()
        .any(|name| is_regex(name.word) || has_dots(name))
        || ends_in_dots(pattern, rule)
    {
        return slip(
            "a pattern is a glob, not a regex",
            list(&globs_of(pattern, " * ")),
        );
    }
    if let Some(word) = word_of_signs(pattern).filter(|_| commands.iter().all(is_of_known_program))
    {
        let why = format!("in `{word}`, `[`, `?` and `+` are characters like others");
        return slip(
            &why,
            Meant::Help("write the option by its name: it is found in every spelling and cluster"),
        );
    }
    if let Some((word, meant)) = pattern
        .split(' ')
        .find_map(|word| Some((word, with_other_dashes(word, &names)?)))
    {
        let name = word.trim_end_matches('*');
        let why = match name.starts_with("--") {
            true => format!("no option is called `{name}`, and `{meant}` are several"),
            false => format!("`{name}` is several options of one letter"),
        };
        return slip(&why, Meant::Instead(name.to_string(), meant));
    }
    let (first, rest) = pattern.split_once(' ').unwrap_or((pattern, ""));
    if let Some((name, value)) = first.split_once('=')
        && !name.is_empty()
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && tool.arguments.contains(&name)
    {
        return slip(BY_ITSELF, instead(format!("{value} {rest}").trim().into()));
    }
    if let Some(before) = pattern.strip_suffix('&') {
        return slip("`&` is no part of a command", instead(before.trim().into()));
    }
    if let Some(sign) = redirection(pattern) {
        let meant = match rule_over_file(pattern, sign) {
            Some(meant) => Meant::Instead(rule.text().to_string(), meant),
            None => Meant::Help(
                "leave out what begins with `<` or `>`, or hold the text against a regex with `when`",
            ),
        };
        return slip("a redirection is no part of a command", meant).map(|slip| Slip {
            is_error: true,
            ..slip
        });
    }
    if let Some(word) = commands.iter().find_map(CommandRule::word_across_words) {
        let apart = word.trim_end_matches('*').replace('*', " * ")
            + if word.ends_with('*') { " *" } else { "" };
        let message = format!(
            "`{}`: a `*` within a word stays in it, and nothing is called `{word}`",
            rule.text()
        );
        let meant = Meant::Instead(
            rule.text().to_string(),
            rule.text().replace(word, apart.trim_start()),
        );
        return Some(Slip::new("never-matches", message, meant));
    }
    if let Some(dash) = pattern
        .split(' ')
        .find(|it| it.starts_with(['\u{2013}', '\u{2014}', '\u{2212}']))
    {
        let name = dash.trim_start_matches(['\u{2013}', '\u{2014}', '\u{2212}', '-']);
        let meant = format!(
            "{}{name}",
            if name.chars().count() > 1 { "--" } else { "-" }
        );
        return slip(
            &format!("`{dash}` begins with no `-`"),
            instead(pattern.replacen(dash, &meant, 1)),
        );
    }
    let is_odd = |c: char| ODD.contains(c) || c.is_whitespace();
    if let Some(odd) = names
        .iter()
        .find(|it| !it.word.starts_with('-') && it.word.contains(is_odd))
    {
        let why = format!("nothing is called `{}`", odd.word);
        return slip(&why, Meant::Help("write the command as it is called"));
    }
    let (name, known) = names.iter().find_map(|it| Some((it, misspelt(it)?)))?;
    let word = name.word.trim_end_matches('*');
    let message = match (&*name.of, word.starts_with('-')) {
        ("", _) => format!("no program is known that is called `{word}`"),
        (of, true) => format!("`{of}` isn't known to have an option `{word}`"),
        (of, false) => format!("`{of}` isn't known to have a command `{word}`"),
    };
    Some(Slip::new(
        "unknown-name",
        message,
        Meant::Instead(word.to_string(), known.to_string()),
    ))
}

/// `Bash(terraform destroy)`, which `terraform destroy -auto-approve` passes by. Who has rules for
/// what may stand behind it, means it.
fn of_end(rule: &ToolRule, rules: &[ToolRule]) -> Option<Slip> {
    let is_shell = |(tool, _)| tools::known(tool).is_some_and(|it| it.kind == ArgumentKind::Shell);
    let commands = rule.commands();
    if commands.is_empty() || !rule.tools().all(is_shell) {
        return None;
    }
    let written = rule.pattern()?;
    let pattern = written.trim();
    if commands.iter().all(CommandRule::is_pipe) {
        return of_pipe(rule, written);
    }
    if !commands.iter().all(CommandRule::is_exact) {
        return None;
    }
    let goes_on = |it: &ToolRule| {
        it.pattern()?
            .trim()
            .strip_prefix(pattern)
            .map(|rest| rest.starts_with(' '))
    };
    if rules.iter().any(|it| goes_on(it) == Some(true)) {
        return None;
    }
    let open = rule
        .text()
        .replacen(&format!("({written})"), &format!("({pattern} *)"), 1);
    let message = format!(
        "`{}` holds only for `{pattern}` with nothing added",
        rule.text()
    );
    Some(Slip::new(
        "exact-command",
        message,
        Meant::Instead(rule.text().to_string(), open),
    ))
}

/// `Bash(curl | sh)`, which `curl https://... | sh` passes by: who writes into the pipe has nothing
/// added there.
fn of_pipe(rule: &ToolRule, written: &str) -> Option<Slip> {
    let stages: Vec<&str> = written.split('|').map(str::trim).collect();
    let (_, writers) = stages.split_last()?;
    let is_bare = |stage: &&str| !stage.contains([' ', '*']);
    let bare = writers.iter().copied().find(is_bare)?;
    let open = |stage: &str| {
        if writers.contains(&stage) && is_bare(&stage) {
            format!("{stage} *")
        } else {
            stage.into()
        }
    };
    let meant = stages
        .iter()
        .map(|stage| open(stage))
        .collect::<Vec<_>>()
        .join(" | ");
    let message = format!(
        "`{}` holds only for a `{bare}` with nothing added",
        rule.text()
    );
    let meant = rule
        .text()
        .replacen(&format!("({written})"), &format!("({meant})"), 1);
    Some(Slip::new(
        "exact-command",
        message,
        Meant::Instead(rule.text().to_string(), meant),
    ))
}

/// The known name that a word is with two letters swapped, or with one more or less. More would not
/// be certain: programs have plugins and aliases whose names are near to others.
fn misspelt(name: &Name<'_>) -> Option<&'static str> {
    let (word, known) = (name.word.trim_end_matches('*'), &name.known);
    let is_plain = word.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    // A sub-command or an option may be written by its beginning, a program isn't.
    let is_beginning = !name.of.is_empty() || name.word.ends_with('*');
    let is_known = |it: &&str| *it == word || is_beginning && it.starts_with(word);
    if !is_plain || word.starts_with('-') && !word.starts_with("--") || known.iter().any(is_known) {
        return None;
    }
    let letters = word.trim_start_matches('-').len();
    let is_near = |it: &&&str| {
        let (longer, shorter) = (it.len() > word.len(), it.len() < word.len());
        match longer || shorter {
            // A word with a letter behind it may be an alias.
            true => {
                let is_other = name.of.is_empty() || letters < 4 || word.starts_with(**it);
                !is_other && !differ_in_number(it, word) && strsim::osa_distance(it, word) == 1
            }
            false => {
                let sorted = |text: &str| {
                    let mut letters: Vec<_> = text.bytes().collect();
                    letters.sort_unstable();
                    letters
                };
                // `R` is a program, and `r` another word.
                let is_case = (!name.of.is_empty() || letters > 2) && it.eq_ignore_ascii_case(word);
                is_case
                    || letters > 2
                        && sorted(it) == sorted(word)
                        && strsim::osa_distance(it, word) == 1
            }
        }
    };
    known.iter().find(is_near).copied()
}

const BY_ITSELF: &str = "the pattern is about the command by itself";

/// What files' names end in that nobody calls a file, unlike `.env`.
const ENDINGS: [&str; 24] = [
    "c", "cpp", "cs", "css", "csv", "go", "h", "html", "ipynb", "java", "js", "json", "jsx",
    "lock", "md", "php", "py", "rb", "rs", "sql", "toml", "ts", "tsx", "txt",
];

/// Programs that take long options with one dash, too.
const ONE_DASH_OR_TWO: [&str; 8] = [
    "npm", "npx", "gradle", "gradlew", "mvn", "mvnw", "sbt", "ant",
];

/// An option of a known program with the dashes that it should have: `-force` is `--force`, and
/// `--rf` is `-rf`.
fn with_other_dashes(word: &str, names: &[Name<'_>]) -> Option<String> {
    let word = word.trim_end_matches('*');
    let letters = word.trim_start_matches('-');
    let option = names.iter().find(|name| name.word.starts_with('-'))?;
    let has = |name: &str| option.known.contains(&name);
    let is_short = |letter: char| has(&format!("-{letter}"));
    let program = option.of.split(' ').next().unwrap_or_default();
    match word.len() - letters.len() {
        1 if letters.len() > 2 && letters.starts_with(|c: char| c.is_ascii_lowercase()) => {
            let long = format!("-{word}");
            let may_be =
                has(word) || letters.chars().all(is_short) || ONE_DASH_OR_TWO.contains(&program);
            let is_plain = !matches!(letters, "help" | "version");
            // With some programs one dash and two are the same: then it is one option.
            let is_cluster = names
                .iter()
                .all(|name| name.word.trim_end_matches('*') != word);
            (has(&long) && !may_be && is_plain && is_cluster).then_some(long)
        }
        2 if (2..5).contains(&letters.len()) => {
            let is_long = option.known.iter().any(|it| it.starts_with(word));
            (!is_long && letters.chars().all(is_short)).then(|| format!("-{letters}"))
        }
        _ => None,
    }
}

/// An option in which signs of a regex stand: `-[rf]+`, `-rf?`.
fn word_of_signs(pattern: &str) -> Option<&str> {
    let is_it = |word: &&str| {
        let name = word.split('=').next().unwrap_or_default();
        word.starts_with('-')
            && name.len() > 2
            && (name.contains("[") && name.contains(']') || name.ends_with(['?', '+']))
    };
    pattern.split(' ').find(is_it)
}

fn is_of_known_program(rule: &CommandRule) -> bool {
    rule.program().is_some_and(CommandRule::knows)
}

/// Characters that no program's and no sub-command's name has.
const ODD: &str = "^$(){}\"'\\<>&;`,=";

/// Slips of a pattern for a tool that nothing is known of: comparisons instead of `name=glob`.
fn of_argument(rule: &ToolRule, pattern: &str) -> Option<Slip> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let (name, rest) = pattern.split_at(pattern.find(|c| !is_part(c)).filter(|at| *at > 0)?);
    let slip = |why: &str, meant| {
        let message = format!("`{}` never matches: {why}", rule.text());
        Some(Slip::new("never-matches", message, meant))
    };
    let and_another = |(at, _)| {
        let next = rest[at + 1..].trim_start();
        next.find('=')
            .is_some_and(|end| end > 0 && next[..end].chars().all(is_part))
    };
    if rest.starts_with('=') && !rest.starts_with("==") && rest.match_indices(',').any(and_another)
    {
        return slip(
            "a rule is about one argument",
            Meant::Help("hold the others against a condition with `when`"),
        );
    }
    let is_apart =
        rest.starts_with("= ") || rest.trim_start().starts_with('=') && !rest.starts_with('=');
    if let Some(value) = rest
        .trim_start()
        .strip_prefix('=')
        .filter(|it| is_apart && !it.starts_with('='))
    {
        let written = rule
            .text()
            .replace(pattern, &format!("{name}={}", value.trim()));
        return slip(
            "no blanks are around the `=`",
            Meant::Instead(rule.text().to_string(), written),
        );
    }
    let rest = rest.trim_start();
    let comparison = ["==", "!=", ">", "<", ": "]
        .into_iter()
        .find(|it| rest.starts_with(it))?;
    let value = rest[comparison.len()..].trim();
    match comparison {
        "==" | ": " if !value.is_empty() => {
            let written = rule.text().replace(pattern, &format!("{name}={value}"));
            slip(
                "an argument is named as in `name=pattern`",
                Meant::Instead(rule.text().to_string(), written),
            )
        }
        "==" | ": " => None,
        _ => slip(
            "a rule has no comparisons",
            Meant::Help("compare with `when: double(tool.input.NAME) > 100.0`"),
        ),
    }
}

/// The argument of a known tool that a name nearly is.
fn misspelt_argument(name: &str, arguments: &'static [&'static str]) -> Option<&'static str> {
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if !is_name || arguments.contains(&name) {
        return None;
    }
    let plain = |name: &str| name.replace('_', "").to_ascii_lowercase();
    let same = arguments
        .iter()
        .copied()
        .find(|it| plain(it) == plain(name));
    // Other arguments than the main one are not in the table.
    let near = || {
        arguments
            .iter()
            .copied()
            .find(|it| it.len() > 3 && strsim::osa_distance(it, name) == 1)
    };
    same.or_else(|| near().filter(|it| !differ_in_number(it, name)))
}

/// The pattern that was meant by one over URLs that names no scheme, so that no URL's text fits it.
fn with_scheme(pattern: &str) -> Option<String> {
    const SCHEMES: [&str; 9] = [
        "http://",
        "https://",
        "file:",
        "data:",
        "about:",
        "javascript:",
        "mailto:",
        "ftp://",
        "blob:",
    ];
    const DOMAINS: [&str; 12] = [
        "com", "org", "net", "io", "dev", "ai", "app", "edu", "gov", "local", "internal", "example",
    ];
    if !UrlPattern::new(pattern).is_ok_and(|it| it.is_text()) {
        return None;
    }
    let start = pattern
        .split(['*', '?', '[', '{', '\\'])
        .next()
        .unwrap_or_default();
    if start.is_empty() {
        // `*.pdf` is about the end of a URL.
        let host = pattern.strip_prefix("*.")?;
        let (_, last) = host.rsplit_once('.')?;
        return (!host.contains('/') && DOMAINS.contains(&last))
            .then(|| format!("domain:{pattern}"));
    }
    if SCHEMES
        .iter()
        .any(|scheme| scheme.starts_with(start) || start.starts_with(scheme))
    {
        return None;
    }
    for scheme in ["https", "http"] {
        if let Some(rest) = pattern
            .strip_prefix(scheme)
            .filter(|rest| rest.starts_with([':', '/']))
        {
            return Some(format!(
                "{scheme}://{}",
                rest.trim_start_matches([':', '/'])
            ));
        }
    }
    let host = pattern.strip_prefix("host:").unwrap_or(pattern);
    if host
        .split_once(':')
        .is_some_and(|(_, port)| !port.starts_with(|c: char| c.is_ascii_digit() || c == '*'))
    {
        return None;
    }
    Some(if host.contains(['/', ':']) {
        format!("https://{host}")
    } else {
        format!("domain:{host}")
    })
}

/// The rest of a pattern behind a word that is written in other letters than it has to be.
fn other_case<'p>(pattern: &'p str, word: &str) -> Option<&'p str> {
    let (start, rest) = pattern.split_at_checked(word.len())?;
    (start != word && start.eq_ignore_ascii_case(word)).then_some(rest)
}

/// A variable at the beginning of a path, and the path that is meant: relative patterns count from
/// the working directory.
fn unexpanded(pattern: &str) -> Option<(&str, &str)> {
    let (variable, rest) = pattern.split_once('/')?;
    let name = variable.strip_prefix('$')?;
    let is_name = |name: &str| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    let is_upper = !name.contains(|c: char| c.is_ascii_lowercase());
    let is_variable = match name.strip_prefix('{').and_then(|it| it.strip_suffix('}')) {
        Some(inner) => is_name(inner),
        // A directory may be called `$lib`.
        None => is_name(name) && is_upper,
    };
    let is_home = ["$HOME", "${HOME}"].contains(&variable);
    (is_variable && !is_home && !rest.is_empty()).then_some((variable, rest))
}

/// The pattern between quotes that stand around all of it.
fn quoted(pattern: &str) -> Option<&str> {
    let quote = pattern.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let inner = pattern.strip_prefix(quote)?.strip_suffix(quote)?;
    (!inner.is_empty() && !inner.contains(quote)).then_some(inner)
}

/// The patterns of a file tool or of URLs that stand in one text, outside of braces. A comma
/// without a blank may be part of a name.
fn patterns_of(pattern: &str, kind: ArgumentKind) -> Vec<String> {
    let mut depth = 0;
    let is_between = |c: char| {
        depth += i32::from(matches!(c, '{' | '[' | '(')) - i32::from(matches!(c, '}' | ']' | ')'));
        depth == 0 && matches!(c, ',' | ';' | '|')
    };
    let parts: Vec<_> = pattern.split(is_between).map(str::trim).collect();
    let is_apart = pattern.contains(", ") || pattern.contains("; ") || pattern.contains('|');
    let have_ends = parts.iter().all(|part| has_end(part));
    let is_pattern = |part: &&str| match kind {
        ArgumentKind::Url => part.contains("://") || part.starts_with("domain:"),
        _ => {
            !part.is_empty()
                && (is_apart
                    || have_ends
                    || part.contains('*')
                    || part.starts_with(['.', '/', '~']))
        }
    };
    let are_several = parts.iter().all(is_pattern);
    if are_several {
        parts.into_iter().map(str::to_string).collect()
    } else {
        vec![pattern.to_string()]
    }
}

/// `main.rs`: no file is called `a.rs,b.rs`.
fn has_end(name: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(start, end)| {
        !start.is_empty()
            && (1..5).contains(&end.len())
            && end.starts_with(|c: char| c.is_ascii_lowercase())
    })
}

/// The commands of `git push, git pull`: behind each comma is a program that is known, or the same
/// again.
fn commands_with_commas(pattern: &str) -> Option<Vec<String>> {
    let parts: Vec<_> = pattern.split(',').map(str::trim).collect();
    let program = |part: &str| part.split(' ').next().unwrap_or_default().to_string();
    let first = program(parts.first()?);
    let is_command = |part: &&str| program(part) == first || CommandRule::knows(&program(part));
    let are_several = parts.len() > 1 && parts.iter().skip(1).all(is_command);
    are_several.then(|| parts.into_iter().map(str::to_string).collect())
}

/// The commands of `git push|git pull` and `rm *|rmdir *`, where a `|` is part of a name or of the
/// `*` before it.
fn commands_with_bars(pattern: &str, names: &[Name<'_>]) -> Option<Vec<String>> {
    if is_regex(pattern) || !pattern.contains('|') || pattern.contains(['\'', '"']) {
        return None;
    }
    let parts: Vec<_> = pattern.split('|').map(str::trim).collect();
    let program = |part: &str| part.split(' ').next().unwrap_or_default().to_string();
    let is_within_name = names
        .iter()
        .any(|name| !name.word.starts_with('-') && name.word.contains('|'));
    let is_choice = || {
        parts
            .iter()
            .skip(1)
            .all(|part| program(part) == program(parts[0]) || CommandRule::knows(&program(part)))
    };
    let is_bare = pattern
        .split(' ')
        .any(|word| word.len() > 1 && word.contains('|'));
    let is_it = is_within_name || is_bare && parts.len() > 1 && is_choice();
    (is_it && parts.iter().all(|part| !part.is_empty()))
        .then(|| parts.into_iter().map(str::to_string).collect())
}

/// The commands of `git push * | git pull *`: a program that has sub-commands is given what it
/// prints itself.
fn commands_piped_to_themselves(pattern: &str) -> Option<Vec<String>> {
    // These take lists from others of their kind.
    const TAKE_INPUT: [&str; 8] = [
        "apply", "am", "load", "import", "exec", "run", "create", "delete",
    ];
    let parts: Vec<_> = pattern.split(" | ").map(str::trim).collect();
    let first = parts.first()?.split(' ').next()?;
    let rule = CommandRule::new(first).ok()?;
    let has_commands = rule.program().is_some_and(CommandRule::has_commands);
    let takes_none = |part: &&str| {
        let mut words = part.split(' ');
        words.next() == Some(first)
            && words.next().is_some_and(|verb| {
                verb.starts_with(|c: char| c.is_ascii_alphabetic())
                    && !TAKE_INPUT.contains(&verb.trim_end_matches('*'))
            })
    };
    let is_choice =
        parts.len() > 1 && has_commands && !pattern.contains('-') && parts.iter().all(takes_none);
    is_choice.then(|| parts.into_iter().map(str::to_string).collect())
}

/// Whether a path, or the name of a program or sub-command, is a regex by its signs: what no glob
/// and no name has.
fn is_regex(text: &str) -> bool {
    const SIGNS: [&str; 9] = [
        "\\s", "\\S", "\\b", "\\w", "\\d", "\\.", "\\/", "(?", "[^/]",
    ];
    text.starts_with('^') && text.len() > 1
        || text.ends_with('$') && text.contains(".*")
        || alternatives(text).is_some()
        || SIGNS.iter().any(|sign| text.contains(sign))
}

/// Whether a pattern over paths looks like a regex: `src/.+`, `*.ts$`. `.*` may be about files that
/// begin with a dot.
fn is_regex_of_paths(pattern: &str) -> bool {
    let before = pattern
        .strip_suffix('$')
        .and_then(|it| it.chars().next_back());
    let ends = before.is_some_and(char::is_alphanumeric) && pattern.contains(['.', '*']);
    is_regex(pattern) || ends || pattern.split('/').any(|part| part == ".+")
}

/// The patterns over URLs that were meant by a regex: `https?://example.com/.*`.
fn urls_of(pattern: &str) -> Option<Vec<String>> {
    const SIGNS: [&str; 4] = ["\\.", "\\/", "[^/]", "://.*"];
    let bare = pattern.trim_start_matches('^');
    let any_scheme = ["https?:", "http[s]?:", "https*:"]
        .iter()
        .find_map(|start| bare.strip_prefix(start));
    if any_scheme.is_none() && bare == pattern && !SIGNS.iter().any(|sign| pattern.contains(sign)) {
        return None;
    }
    let all = match any_scheme {
        Some(rest) => vec![format!("https:{rest}"), format!("http:{rest}")],
        None => vec![bare.to_string()],
    };
    Some(all.iter().flat_map(|it| globs_of(it, "*")).collect())
}

/// The pattern between the slashes of `/git push --force/`, where the first word is no path of a
/// program.
fn between_slashes(pattern: &str) -> Option<&str> {
    let inner = pattern.strip_prefix('/')?.strip_suffix('/')?;
    inner
        .split(' ')
        .next()
        .filter(|first| !first.is_empty() && !first.contains('/'))?;
    Some(inner)
}

/// `.*push`, or `push.*` with the dots right behind a name. `mkfs.*` is a program of several.
fn has_dots(name: &Name<'_>) -> bool {
    let Some((before, behind)) = name.word.split_once(".*") else {
        return false;
    };
    let is_within = !behind.is_empty() || !name.of.is_empty();
    is_within && (before.is_empty() || before.ends_with(|c: char| c.is_ascii_alphabetic()))
}

/// `.*` as the whole pattern, behind a program's name (`rm.*`), or behind a sub-command (`git push
/// .*`). Elsewhere it may be about files that begin with a dot.
fn ends_in_dots(pattern: &str, rule: &ToolRule) -> bool {
    const TAKE_FILES: [&str; 9] = [
        "add", "rm", "mv", "restore", "checkout", "diff", "stash", "clean", "cp",
    ];
    if matches!(pattern, ".*" | ".+") {
        return true;
    }
    let (first, rest) = pattern.split_once(' ').unwrap_or((pattern, ""));
    if let Some(name) = first
        .strip_suffix(".*")
        .or_else(|| first.strip_suffix(".+"))
    {
        return name.ends_with(|c: char| c.is_ascii_alphabetic()) && is_only_program(name);
    }
    let mut words = rest.split(' ');
    let verb = words.next().unwrap_or_default();
    let is_verb =
        rule.commands().iter().all(|it| it.sub_commands() == 1) && !TAKE_FILES.contains(&verb);
    is_verb && CommandRule::has_commands(first) && words.eq([".*"])
        || rest == ".+"
        || rest.ends_with(" .+")
}

/// Whether there is a program of that name, and none that goes on with a dot.
fn is_only_program(name: &str) -> bool {
    let any = CommandRule::new("-").ok();
    let known = any
        .iter()
        .flat_map(CommandRule::names)
        .flat_map(|name| name.known);
    let dotted = format!("{name}.");
    CommandRule::knows(name) && !known.into_iter().any(|it| it.starts_with(&dotted))
}

/// The globs that say what a regex says, one for each of its alternatives. `any` is what `.*`
/// becomes.
fn globs_of(regex: &str, any: &str) -> Vec<String> {
    let all = alternatives(regex).unwrap_or_else(|| vec![regex.to_string()]);
    all.iter().map(|it| glob_of(it, any)).collect()
}

/// A regex without groups as a glob.
fn glob_of(regex: &str, any: &str) -> String {
    let mut text = regex
        .trim_start_matches('^')
        .trim_end_matches('$')
        .replace("(?:", "(")
        .replace("(?i)", "");
    for (sign, glob) in [
        ("\\s+", " "),
        ("\\s*", " "),
        ("\\s", " "),
        ("\\b", ""),
        ("\\S+", "*"),
        ("\\w+", "*"),
    ] {
        text = text.replace(sign, glob);
    }
    text = text
        .replace("[^/]*", "*")
        .replace(".+", ".*")
        .replace("/.*/", "/**/");
    if let Some(start) = text.strip_suffix("/.*") {
        text = format!("{start}/**");
    }
    let text = text.replace(".*", any).replace('\\', "");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The text with each of the alternatives of its groups: `git (push|pull)`.
fn alternatives(text: &str) -> Option<Vec<String>> {
    let end = text.match_indices(')').map(|(at, _)| at);
    let group = end.filter_map(|end| Some((text[..end].rfind('(')?, end)));
    let (start, end) = group
        .into_iter()
        .find(|(start, end)| text[*start..*end].contains('|'))?;
    let (before, behind) = (&text[..start], &text[end + 1..]);
    let each = text[start + 1..end].split('|');
    let all: Vec<_> = each
        .map(|it| format!("{before}{}{behind}", it.trim_start_matches("?:")))
        .collect();
    let all = all
        .iter()
        .flat_map(|it| alternatives(it).unwrap_or_else(|| vec![it.clone()]));
    Some(all.take(16).collect())
}

/// The commands of a pattern that are joined by `&&`, `||` or `;`, outside of quotes.
fn commands_of(pattern: &str) -> Vec<String> {
    let (mut parts, mut start) = (Vec::new(), 0);
    for (at, c) in outside_of_quotes(pattern.char_indices()) {
        let length = if c == ';' { 1 } else { 2 };
        let is_joint = c == ';' || ["&&", "||"].iter().any(|it| pattern[at..].starts_with(it));
        if at >= start && is_joint {
            parts.push(pattern[start..at].trim().to_string());
            start = at + length;
        }
    }
    parts.push(pattern[start..].trim().to_string());
    parts.retain(|part| !part.is_empty());
    parts
}

/// Whether a word begins as a redirection does, outside of quotes: `> x`, `2>&1`.
fn redirection(pattern: &str) -> Option<usize> {
    let mut is_start = true;
    let sign = outside_of_quotes(pattern.char_indices()).find(|(_, c)| {
        let is_it = is_start && matches!(c, '<' | '>');
        is_start = *c == ' ' || is_start && (c.is_ascii_digit() || *c == '&');
        is_it
    });
    sign.map(|(at, _)| at)
}

/// The rule over the file that a redirection opens, which holds for whatever else opens it, too.
fn rule_over_file(pattern: &str, sign: usize) -> Option<String> {
    let tool = if pattern[sign..].starts_with('<') {
        "Read"
    } else {
        "Write"
    };
    let file = pattern[sign..].trim_start_matches(['<', '>', '|']).trim();
    let is_one = !file.is_empty() && !file.contains([' ', '<', '>', '&', '(', ')']);
    let all = file
        .strip_suffix("/*")
        .map_or_else(|| file.to_string(), |directory| format!("{directory}/**"));
    is_one.then(|| format!("{tool}({all})"))
}
