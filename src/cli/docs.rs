//! `hookwire docs`: the pages of the book, which are compiled in.

use super::output::{Output, Tone};
use super::{Cli, Failure, Finding};
use clap::CommandFactory;
use hookwire_base::support::nearest::closest;
use serde_json::json;

#[derive(clap::Args)]
pub(super) struct DocsArgs {
    /// A page, or what to look up: a field, a command, an option, a diagnostic's code, a word or
    /// several. Without any, the pages are listed.
    word: Vec<String>,
}

/// A page of the book, in Markdown.
#[derive(PartialEq)]
struct Page {
    /// Its file in `docs`, without the extension.
    name: &'static str,
    text: &'static str,
}

macro_rules! pages {
    ($($name:literal,)*) => {
        /// In the order of the book.
        static PAGES: &[Page] = &[
            $(Page { name: $name, text: include_str!(concat!("../../docs/", $name, ".md")) },)*
        ];
    };
}

// A test holds this list against SUMMARY.md.
pages! {
    "README",
    "install",
    "tutorial",
    "concepts",
    "agents",
    "run",
    "mcp",
    "your-agent",
    "clients",
    "clients/csharp",
    "clients/php",
    "clients/go",
    "embedding",
    "definitions",
    "rules",
    "cookbook",
    "policy",
    "permissions",
    "handlers",
    "handlers/verdict",
    "handlers/command",
    "handlers/callable",
    "handlers/script",
    "handlers/http",
    "handlers/rewrite",
    "handlers/prompt",
    "handlers/agent",
    "handlers/mcp",
    "handlers/guard",
    "handlers/callback",
    "state",
    "approvals",
    "failure",
    "trust",
    "managed",
    "testing",
    "watching",
    "unasked",
    "inspect",
    "observing",
    "diagnostics",
    "teams",
    "fleet",
    "fleet-state",
    "fleet-pool",
    "platform",
    "protocol",
    "conformance",
    "dialects",
    "systems/workflow-framework",
    "systems/hooks-article",
    "systems/agent-hook-trait",
    "systems/instructor",
    "systems/agentpool",
    "editors",
    "command-line",
    "figures",
    "questions",
    "missing",
}

impl Page {
    /// The last part of its name, which people type: `command` for `handlers/command`.
    fn short_name(&self) -> &'static str {
        self.name.rsplit('/').next().unwrap_or(self.name)
    }

    fn title(&self) -> &'static str {
        heading_text(self.text.lines().next().unwrap_or_default()).unwrap_or_default()
    }

    /// The headings with what stands below each, up to the next one.
    fn sections(&self) -> Vec<Section> {
        let mut sections: Vec<Section> = Vec::new();
        for (line, in_code) in visible_lines(self.text) {
            match heading_text(line).filter(|_| !in_code) {
                Some(heading) => sections.push(Section {
                    heading,
                    lines: Vec::new(),
                }),
                None => sections
                    .iter_mut()
                    .last()
                    .into_iter()
                    .for_each(|section| section.lines.push(line)),
            }
        }
        sections
    }
}

/// The lines without the comments of HTML, which readers don't see, and whether each is within
/// code.
fn visible_lines(text: &str) -> impl Iterator<Item = (&str, bool)> {
    let (mut in_code, mut in_comment) = (false, false);
    text.lines().filter_map(move |line| {
        in_code ^= !in_comment && line.trim_start().starts_with("```");
        let is_comment = in_comment || (!in_code && line.trim_start().starts_with("<!--"));
        in_comment = is_comment && !line.contains("-->");
        (!is_comment).then_some((line, in_code))
    })
}

/// The text of a heading's line.
fn heading_text(line: &str) -> Option<&str> {
    let rest = line.trim_start_matches('#');
    rest.strip_prefix(' ').filter(|_| rest.len() < line.len())
}

struct Section {
    heading: &'static str,
    lines: Vec<&'static str>,
}

impl Section {
    /// Its name as it stands in a link.
    fn anchor(&self) -> String {
        let kept = self
            .heading
            .chars()
            .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        kept.collect::<String>().to_lowercase().replace(' ', "-")
    }

    /// Its paragraphs; of a table, each row is one.
    fn parts(&self) -> Vec<String> {
        let mut parts: Vec<String> = Vec::new();
        let mut is_new = true;
        for line in &self.lines {
            // The head of a table is no row.
            if line.starts_with("|--") {
                parts.pop();
                continue;
            }
            let is_row = line.starts_with('|');
            match parts.last_mut().filter(|_| !is_new && !is_row) {
                _ if line.is_empty() => {}
                Some(part) => *part = format!("{part}\n{line}"),
                None => parts.push((*line).to_string()),
            }
            is_new = line.is_empty() || is_row;
        }
        parts
    }
}

/// The first cell of a table's row.
fn first_cell(part: &str) -> Option<&str> {
    part.strip_prefix('|')?.split('|').next()
}

/// Whether a text has a word or a phrase, whole and in any case, wherever its lines end.
fn has_word(text: &str, word: &str) -> bool {
    let words = |text: &str| {
        text.to_lowercase()
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    };
    let (text, word) = (words(text), words(word));
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(&word).any(|(at, _)| {
        // The dashes of an option are no part of its name.
        let before = text[..at].trim_end_matches('-').chars().next_back();
        let after = text[at + word.len()..].chars().next();
        !before.is_some_and(is_part) && !after.is_some_and(|c| is_part(c) || c == '-')
    })
}

/// An option of a command.
struct CommandOption {
    /// As it is typed: `hookwire install --allow-host <HOST:PORT>`.
    usage: String,
    help: String,
}

/// The options of all commands with their names; those that every command has stand once.
fn all_options() -> Vec<(String, CommandOption)> {
    fn collect(
        command: &clap::Command,
        before: &str,
        is_root: bool,
        found: &mut Vec<(String, CommandOption)>,
    ) {
        let words = if is_root {
            before.to_string()
        } else {
            format!("{before} {}", command.get_name())
        };
        for option in command
            .get_arguments()
            .filter(|argument| !argument.is_hide_set() && (is_root || !argument.is_global_set()))
        {
            let Some(name) = option.get_long() else {
                continue;
            };
            let values: String = match option.get_action().takes_values() {
                true => option
                    .get_value_names()
                    .into_iter()
                    .flatten()
                    .map(|name| format!(" <{name}>"))
                    .collect(),
                false => String::new(),
            };
            let help = option
                .get_long_help()
                .or(option.get_help())
                .map(ToString::to_string)
                .unwrap_or_default();
            found.push((
                name.to_string(),
                CommandOption {
                    usage: format!("{words} --{name}{values}"),
                    help,
                },
            ));
        }
        command
            .get_subcommands()
            .filter(|subcommand| !subcommand.is_hide_set())
            .for_each(|subcommand| collect(subcommand, &words, false, found));
    }
    let mut command = Cli::command();
    command.build();
    let mut found = Vec::new();
    collect(&command, "hookwire", true, &mut found);
    found
}

/// A section of a page, or a part of one.
#[derive(PartialEq)]
struct Found {
    page: &'static Page,
    heading: &'static str,
    text: String,
}

impl Found {
    fn new(page: &'static Page, section: &Section, text: String) -> Found {
        Found {
            page,
            heading: section.heading,
            text,
        }
    }

    fn whole_section(page: &'static Page, section: &Section) -> Found {
        Found::new(page, section, section.lines.join("\n").trim().to_string())
    }
}

/// Where a row of a table leads to: the page, and the section's name as it stands in a link.
fn row_links(row: &str) -> impl Iterator<Item = (&'static Page, &str)> {
    let targets = row
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split(')').next());
    targets.filter_map(|target| {
        let (name, section) = target.split_once(".md")?;
        Some((
            PAGES.iter().find(|page| page.name == name)?,
            section.trim_start_matches('#'),
        ))
    })
}

/// Of a command: its row in the table of commands, and of each page that the row links to the
/// section about it.
fn about_command(name: &str) -> Vec<Found> {
    let mut found = Vec::new();
    let Some(page) = PAGES.iter().find(|page| page.name == "command-line") else {
        return found;
    };
    for section in page.sections() {
        for row in section.parts() {
            let codes = first_cell(&row)
                .unwrap_or_default()
                .split('`')
                .skip(1)
                .step_by(2);
            // A row of a family is about each word below it, too, which it names.
            let mut commands = codes.map(|code| {
                code.trim_start_matches("hookwire ")
                    .split(' ')
                    .next()
                    .unwrap_or_default()
            });
            if !commands.any(|command| match name.strip_prefix(command) {
                Some(below) => {
                    below.is_empty()
                        || below.starts_with(' ') && row.contains(&format!("`{}`", &below[1..]))
                }
                None => false,
            }) {
                continue;
            }
            let targets = row_links(&row).filter_map(|(page, anchor)| {
                let text = format!("hookwire {name}");
                Some(Found::whole_section(
                    page,
                    &page.sections().into_iter().find(|section| match anchor {
                        "" => section.lines.iter().any(|line| has_word(line, &text)),
                        _ => section.anchor() == anchor,
                    })?,
                ))
            });
            let targets: Vec<Found> = targets.collect();
            found.push(Found::new(page, &section, row));
            found.extend(targets);
        }
    }
    found
}

/// What the book says about a word, from the most to the least specific: what is about it as a
/// command, sections that are named so, rows of tables that are about it, and what mentions it.
fn find_about(word: &str) -> Vec<Found> {
    let (mut rows, mut mentions) = (Vec::new(), Vec::new());
    let mut named = about_command(word.trim_start_matches("hookwire "));
    for page in PAGES {
        for section in page.sections() {
            if has_word(section.heading, word) {
                named.push(Found::whole_section(page, &section));
                continue;
            }
            for part in section.parts() {
                let is_about = first_cell(&part).is_some_and(|cell| has_word(cell, word));
                if is_about {
                    rows.push(Found::new(page, &section, part));
                } else if has_word(&part, word) {
                    mentions.push(Found::new(page, &section, part));
                }
            }
        }
    }
    named.extend(rows);
    let mut found: Vec<Found> = Vec::new();
    for it in if named.is_empty() { mentions } else { named } {
        if !found.contains(&it) {
            found.push(it);
        }
    }
    found
}

/// How much is printed about one word; the rest is named by its page.
const MAX_PRINTED: usize = 8;

pub(super) fn run(args: &DocsArgs, out: &mut Output) -> Result<Finding, Failure> {
    let word = args.word.join(" ");
    let word = word.trim().trim_matches('`').trim_start_matches("--");
    if word.is_empty() {
        list_pages(out);
        return Ok(Finding::Fine);
    }
    if let Some(page) = PAGES.iter().find(|page| {
        [page.name, page.short_name(), page.title()]
            .iter()
            .any(|name| name.eq_ignore_ascii_case(word))
    }) {
        if out.json {
            out.json(&json!({ "page": page.name, "text": page.text }));
        } else {
            print_page(page.text, out);
        }
        return Ok(Finding::Fine);
    }
    let found = find_about(word);
    let all = all_options();
    let (options, others): (Vec<_>, Vec<_>) = all.into_iter().partition(|(name, _)| name == word);
    if found.is_empty() && options.is_empty() {
        return Err(Failure(unknown_word(
            word,
            &others
                .iter()
                .map(|(name, _)| name.as_str())
                .collect::<Vec<_>>(),
        )));
    }
    for (_, CommandOption { usage, help }) in &options {
        if out.json {
            out.json(&json!({ "option": usage, "text": help }));
            continue;
        }
        let usage = out.tone(Tone::Strong, usage);
        out.line(&usage);
        help.lines().for_each(|line| out.line(&format!("  {line}")));
    }
    if !options.is_empty() && !found.is_empty() && !out.json {
        out.line("");
    }
    let mut shown: Vec<(&str, &str)> = Vec::new();
    for Found {
        page,
        heading,
        text,
    } in found.iter().take(MAX_PRINTED)
    {
        if out.json {
            out.json(&json!({ "page": page.name, "heading": heading, "text": text }));
            continue;
        }
        if shown.last() != Some(&(page.name, *heading)) {
            if !shown.is_empty() {
                out.line("");
            }
            let place = out.tone(Tone::Dim, &format!("(hookwire docs {})", page.short_name()));
            out.line(&format!("{} {place}", out.tone(Tone::Strong, heading)));
            shown.push((page.name, heading));
        }
        out.lines(text);
    }
    let mut more: Vec<&str> = found
        .iter()
        .skip(MAX_PRINTED)
        .map(|it| it.page.short_name())
        .collect();
    more.dedup();
    if !more.is_empty() && !out.json {
        let more = out.tone(Tone::Dim, &format!("More in: {}", more.join(", ")));
        out.line("");
        out.line(&more);
    }
    Ok(Finding::Fine)
}

fn list_pages(out: &mut Output) {
    for page in PAGES {
        if out.json {
            out.json(&json!({ "page": page.name, "title": page.title() }));
        } else {
            let name = out.tone(Tone::Strong, &format!("{:<20}", page.short_name()));
            out.line(&format!("{name} {}", page.title()));
        }
    }
}

/// A page with its headings in bold.
fn print_page(text: &str, out: &mut Output) {
    for (line, in_code) in visible_lines(text) {
        let line = if heading_text(line).is_some() && !in_code {
            out.tone(Tone::Strong, line)
        } else {
            line.to_string()
        };
        out.line(&line);
    }
}

/// The message for a word that no page has, and that is none of these options.
fn unknown_word(word: &str, options: &[&str]) -> String {
    let cells: Vec<String> = PAGES
        .iter()
        .flat_map(Page::sections)
        .flat_map(|section| section.parts())
        .collect();
    // People look up the words that stand as code in the first column of a table.
    let codes = cells
        .iter()
        .filter_map(|part| first_cell(part))
        .flat_map(|cell| cell.split('`').skip(1).step_by(2));
    let mut known: Vec<&str> = PAGES.iter().map(Page::short_name).collect();
    known.extend(codes);
    known.extend(options);
    match closest(word, known) {
        Some(nearest) => format!("no page says anything about `{word}`; did you mean `{nearest}`?"),
        None => format!("no page says anything about `{word}`; `hookwire docs` lists the pages"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_leads_to_what_is_about_it() {
        for (word, page, says) in [
            ("priority", "definitions", "lower runs earlier"),
            ("Command rules", "rules", "means the act"),
            ("step-limit", "handlers/guard", "lets `max` events pass"),
            ("hooks/dispatch", "protocol", "an event in, a verdict out"),
            ("Zed", "editors", "an extension"),
            (
                "never-matches",
                "diagnostics",
                "holds for nothing that can happen",
            ),
            ("exit  CODES", "command-line", "wrong usage"),
        ] {
            let found = find_about(word);
            let is_there = |found: &Found| found.page.name == page && found.text.contains(says);
            let first = found.first().map(|it| it.page.name);
            assert!(
                found.iter().take(MAX_PRINTED).any(is_there),
                "{word}: {first:?}"
            );
        }
        assert!(find_about("prioritx").is_empty());
        assert!(!find_about("allow-host").is_empty());
        let usages: Vec<String> = all_options()
            .into_iter()
            .filter(|option| option.0 == "watch")
            .map(|option| option.1.usage)
            .collect();
        for usage in ["hookwire test --watch", "hookwire approvals list --watch"] {
            assert!(usages.iter().any(|it| it == usage), "{usages:?}");
        }
    }

    /// First the row of the command, then the section about it.
    #[test]
    fn a_command_leads_to_its_section() {
        for (word, page, heading) in [
            ("tail", "watching", "What happened"),
            ("hookwire explain", "watching", "Why a hook ran, or didn't"),
            ("history", "inspect", "The history"),
            ("hookwire history replay", "inspect", "The history"),
            ("test", "testing", "Cases"),
            ("uninstall", "agents", "Install"),
            ("doctor", "agents", "Is it guarded?"),
        ] {
            let found = find_about(word);
            assert_eq!(found[0].heading, "Command line", "{word}");
            assert_eq!(
                (found[1].page.name, found[1].heading),
                (page, heading),
                "{word}"
            );
            let of_the_section =
                |found: &&Found| (found.page.name, found.heading) == (page, heading);
            assert_eq!(found.iter().filter(of_the_section).count(), 1, "{word}");
        }
    }

    #[test]
    fn what_is_nearly_a_word_is_suggested() {
        for (word, nearest) in [
            ("prioirty", "priority"),
            ("cokbook", "cookbook"),
            ("delegats", "delegates"),
            ("idle-exti", "idle-exit"),
        ] {
            let said = unknown_word(word, &["idle-exit"]);
            assert!(
                said.ends_with(&format!("did you mean `{nearest}`?")),
                "{said}"
            );
        }
        assert!(unknown_word("xyzzyplugh", &[]).ends_with("lists the pages"));
    }

    #[test]
    fn what_is_in_code_is_no_heading() {
        let page = Page {
            name: "x",
            text: "# A\n\nb\n\n```sh\n# no\n```\n\n<!-- not\nshown -->\n## C\n| h | i |\n|---|---|\n| `d` | e |\n| f | g |\n",
        };
        let sections = page.sections();
        let headings: Vec<&str> = sections.iter().map(|section| section.heading).collect();
        assert_eq!(headings, ["A", "C"]);
        assert_eq!(sections[1].parts(), ["| `d` | e |", "| f | g |"]);
        assert_eq!(sections[0].parts(), ["b", "```sh\n# no\n```"]);
    }
}
