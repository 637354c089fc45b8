//! Warns of an `unless` that takes away all that `if` names, so that the hook is for nothing, or
//! nothing of it.

use hookwire_rules::matching::rule::ToolRule;
use hookwire_rules::matching::shell::{self, CommandRule, Judgement, Place, Shell};
use hookwire_rules::matching::tools::{self, ArgumentKind};
use std::path::Path;

/// Whether exceptions take away all that a hook is for: its rules, or without any the tools that
/// its matcher names. Only what is visibly the same or wider is told.
pub(super) fn is_all_excepted(rules: &[ToolRule], matched: &[&str], unless: &[ToolRule]) -> bool {
    let is_excepted = |rule: &ToolRule, tool: &str| {
        let is_about = |it: &&ToolRule| {
            it.tools().any(|(own, _)| own == tool || own == "*") || is_plain_name(it, tool)
        };
        unless
            .iter()
            .filter(is_about)
            .any(|it| is_as_wide(it, rule, tool))
    };
    if rules.is_empty() {
        let is_whole = |tool: &&str| {
            unless
                .iter()
                .any(|it| it.is_about(tool) && it.is_for_all_calls())
        };
        return !matched.is_empty() && matched.iter().all(is_whole);
    }
    rules
        .iter()
        .all(|rule| rule.tools().all(|(tool, _)| is_excepted(rule, tool)))
}

/// Whether an exception is about other tools than these for certain, and takes nothing away.
pub(super) fn is_about_others(exception: &ToolRule, tools: &[&str]) -> bool {
    let kind = |tool: &&str| tools::known(tool).map(|it| it.kind);
    let (Some(own), Some(kinds)) = (
        exception.literal_tools(),
        tools.iter().map(kind).collect::<Option<Vec<_>>>(),
    ) else {
        return false;
    };
    let own: Option<Vec<_>> = own.iter().map(kind).collect();
    // A tool may be of two families that take paths, and of two that take a text.
    !kinds.is_empty() && own.is_some_and(|own| own.iter().all(|kind| !kinds.contains(kind)))
}

fn is_plain_name(rule: &ToolRule, tool: &str) -> bool {
    !tool.contains('*') && rule.is_about(tool)
}

/// Whether an exception that is about the same tool takes away all that a rule names.
fn is_as_wide(exception: &ToolRule, rule: &ToolRule, tool: &str) -> bool {
    if exception.is_for_all_calls() {
        return true;
    }
    let (Some(wide), Some(narrow)) = (exception.pattern(), rule.pattern()) else {
        return false;
    };
    let (wide, narrow) = (wide.trim(), narrow.trim());
    // A pipe is never an exception.
    if exception.commands().iter().any(CommandRule::is_pipe) {
        return false;
    }
    match tools::known(tool).map(|it| it.kind) {
        _ if wide == narrow => true,
        Some(ArgumentKind::Shell) => is_wider_command(exception.commands(), wide, narrow),
        Some(ArgumentKind::Path) => is_wider_path(wide, narrow),
        _ => false,
    }
}

/// `src/**` beside `src/gen/**`.
fn is_wider_path(wide: &str, narrow: &str) -> bool {
    let Some(directory) = wide.strip_suffix("**") else {
        return false;
    };
    let is_plain = directory.ends_with('/') && !directory.contains(['*', '?', '[', '{', '\\']);
    // `**` alone is within the working directory, and a rule may lead out of it.
    let is_within = narrow.starts_with(directory);
    is_plain && is_within
}

/// `git push *` beside `git push --force*`: more words of the same command. An exception may not
/// cover all that its `*` stands for, so it is asked.
fn is_wider_command(exception: &[CommandRule], wide: &str, narrow: &str) -> bool {
    let is_word =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, ' ' | '-' | '_' | '.' | '/' | '=');
    let Some(start) = wide.strip_suffix(" *").or_else(|| wide.strip_suffix(":*")) else {
        return false;
    };
    if !start.chars().all(is_word)
        || !narrow
            .strip_prefix(start)
            .is_some_and(|more| more.starts_with(' '))
    {
        return false;
    }
    let example = narrow.replace(":*", "").replace('*', "");
    if !example.chars().all(is_word) {
        return false;
    }
    let script = shell::read(&example, Shell::Bash);
    let rules: Vec<_> = exception.iter().collect();
    matches!(
        shell::covers(&rules, &[], &script, &Place::at(Path::new("/"))),
        Judgement::Yes(_)
    )
}
