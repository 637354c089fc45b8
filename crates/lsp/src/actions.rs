//! Code actions: fixes of mistakes, rewrites and runs of hooks at a place.
//!
//! A fix is offered only if the text that it makes, checked again, no longer has what was wrong.

use super::document::Document;
use super::lenses::{TRUST, on_what};
use super::plain_text::{MAX_QUOTED, one_line, plain_quotes};
use super::same_name::taken_names;
use super::surroundings::Surroundings;
use super::written::{Reading, workspace_edit};
use hookwire_base::support::changes::Change;
use hookwire_base::support::shell_word;
use hookwire_base::syntax::diagnostic::Diagnostic;
use hookwire_base::syntax::node::{NodeValue, Span};
use hookwire_base::syntax::writer::{At, Op, Writer, extent, value_span};
use hookwire_engine::definitions::mend::{Mending, WrittenFix};
use hookwire_rules::matching::shell;
use ls_types::{
    CodeAction, CodeActionContext, CodeActionKind, CodeActionOrCommand, CodeActionParams,
    CodeActionResponse, CodeActionTriggerKind, Command, NumberOrString,
};
use serde_json::json;
use std::borrow::Cow;
use std::ops::Range;
use std::time::{Duration, Instant};

/// `is_awaited` says whether the editor still waits for the answer.
pub(super) fn code_actions(
    document: &Document,
    around: &Surroundings<'_>,
    is_awaited: &dyn Fn() -> bool,
    params: &CodeActionParams,
) -> CodeActionResponse {
    let lines = document.lines();
    let (start, end) = (
        lines.offset(params.range.start),
        lines.offset(params.range.end),
    );
    let place = start.min(end)..start.max(end);
    let wants = |kind: &CodeActionKind| is_wanted(&params.context, kind);
    let mut actions = Vec::new();
    if wants(&CodeActionKind::QUICKFIX) {
        // Names that hooks of other files have are known here only.
        let taken = taken_names(around.project.as_ref(), document, &lines);
        let until = Instant::now() + PATIENCE;
        let file = document.file();
        let mending = document.mending(&file);
        let here = taken.iter().filter(|it| is_at(it, &place));
        let renamed = here.flat_map(|it| mending.fixes(it)).take(MAX_FIXES);
        for (diagnostic, fix, changes) in tested_fixes(document, &mending, &place, &|| {
            Instant::now() < until && is_awaited()
        })
        .into_iter()
        .chain(renamed)
        {
            let range = lines.range(&diagnostic.span);
            let code = NumberOrString::String(diagnostic.code.clone());
            let solves: Vec<_> = params
                .context
                .diagnostics
                .iter()
                .filter(|diagnostic| {
                    diagnostic.range == range && diagnostic.code.as_ref() == Some(&code)
                })
                .cloned()
                .collect();
            actions.push(CodeAction {
                title: plain_quotes(&fix.title),
                kind: Some(CodeActionKind::QUICKFIX),
                diagnostics: Some(solves).filter(|it| !it.is_empty()),
                edit: Some(workspace_edit(document, &changes, around.abilities)),
                is_preferred: Some(fix.is_preferred),
                ..CodeAction::default()
            });
        }
    }
    if wants(&CodeActionKind::QUICKFIX)
        && is_near(&lines.first(), &place)
        && let Some(distrust) = around.distrust(&document.path)
    {
        let code = NumberOrString::String(distrust.code);
        let solved = params
            .context
            .diagnostics
            .iter()
            .filter(|diagnostic| diagnostic.code.as_ref() == Some(&code))
            .cloned();
        let (title, argument) = (
            "Review and trust these definitions".to_string(),
            json!({ "uri": document.uri }),
        );
        actions.push(CodeAction {
            title: title.clone(),
            kind: Some(CodeActionKind::QUICKFIX),
            diagnostics: Some(solved.collect::<Vec<_>>()).filter(|it| !it.is_empty()),
            command: Some(Command {
                title,
                command: TRUST.into(),
                arguments: Some(vec![argument]),
            }),
            ..CodeAction::default()
        });
    }
    if wants(&CodeActionKind::REFACTOR_REWRITE)
        && let Some(changes) = program_of_shell(document, &place)
    {
        actions.push(CodeAction {
            title: "Run the program without a shell".into(),
            kind: Some(CodeActionKind::REFACTOR_REWRITE),
            edit: Some(workspace_edit(document, &changes, around.abilities)),
            ..CodeAction::default()
        });
    }
    // An editor shows a lightbulb by itself only for what is wrong.
    let is_asked = params.context.only.is_some()
        || params
            .context
            .trigger_kind
            .is_none_or(|kind| kind == CodeActionTriggerKind::INVOKED);
    if is_asked && (wants(&RUN) || wants(&EXPLAIN)) {
        actions.extend(
            hook_commands(document, place.start, around)
                .into_iter()
                .filter(|action| action.kind.as_ref().is_some_and(wants)),
        );
    }
    actions
        .into_iter()
        .map(CodeActionOrCommand::CodeAction)
        .collect()
}

/// Whether an editor asks for a kind, or one that it belongs to.
fn is_wanted(context: &CodeActionContext, kind: &CodeActionKind) -> bool {
    let Some(only) = &context.only else {
        return true;
    };
    only.iter().any(|wanted| {
        let rest = kind.as_str().strip_prefix(wanted.as_str());
        wanted.as_str().is_empty()
            || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    })
}

/// The kind of what runs a hook.
pub(super) const RUN: CodeActionKind = CodeActionKind::new("source.hookwire.run");
/// The kind of what tells whether a hook would run.
pub(super) const EXPLAIN: CodeActionKind = CodeActionKind::new("source.hookwire.explain");

/// Running and explaining the hook at a place, for editors that show no lenses.
fn hook_commands(document: &Document, offset: usize, around: &Surroundings<'_>) -> Vec<CodeAction> {
    let hook = hook_at(document, offset).and_then(|name| document.hook(&name)?.hook.clone());
    let is_broken = document
        .checked()
        .file
        .as_ref()
        .is_none_or(|file| file.is_broken);
    let Some(hook) = hook.filter(|_| !is_broken) else {
        return Vec::new();
    };
    let past = around.past();
    let name = one_line(&hook.name, MAX_QUOTED);
    let command = |title: String, command: &str, kind: CodeActionKind| CodeAction {
        title: title.clone(),
        kind: Some(kind),
        command: Some(Command {
            title,
            command: command.into(),
            arguments: Some(vec![json!({ "uri": document.uri, "hook": hook.name })]),
        }),
        ..CodeAction::default()
    };
    vec![
        command(
            format!("Run {name} {}", on_what(&hook, &past)),
            "hookwire.run",
            RUN,
        ),
        command(format!("Explain {name}"), "hookwire.explain", EXPLAIN),
    ]
}

/// The name of the hook whose lines a place is in.
fn hook_at(document: &Document, offset: usize) -> Option<String> {
    let reading = Reading::of_document(document)?;
    let lines = document.lines();
    let line = |offset: usize| lines.index.utf8(offset).0;
    let at = line(offset);
    // If several are on one line, the one that the place is in.
    let hooks: Vec<_> = reading
        .hooks()
        .filter(|(_, node)| {
            let whole = extent(node, document.format());
            line(whole.start) <= at && at <= line(whole.end)
        })
        .collect();
    let exact = hooks
        .iter()
        .rfind(|(_, node)| extent(node, document.format()).start <= offset);
    exact
        .or(hooks.first())?
        .0
        .name
        .as_ref()
        .map(|name| name.to_string())
}

/// The most fixes that are tested for one question.
const MAX_FIXES: usize = 24;
/// How long fixes are tested.
const PATIENCE: Duration = Duration::from_millis(500);

fn is_at(diagnostic: &Diagnostic, place: &Range<usize>) -> bool {
    is_near(&diagnostic.span, place)
}

fn is_near(span: &Span, place: &Range<usize>) -> bool {
    span.start <= place.end && place.start <= span.end
}

/// Fixes of what is wrong at a place, each tested.
///
/// Each test costs as much as a check of the whole text: `goes_on` says for how long it is worth
/// it.
fn tested_fixes<'d>(
    document: &'d Document,
    mending: &'d Mending<'d>,
    place: &Range<usize>,
    goes_on: &dyn Fn() -> bool,
) -> Vec<WrittenFix<'d>> {
    let here = document
        .checked()
        .diagnostics
        .iter()
        .filter(|diagnostic| is_at(diagnostic, place));
    let fixes = here
        .flat_map(|diagnostic| mending.fixes(diagnostic))
        .take(MAX_FIXES);
    fixes
        .take_while(|_| goes_on())
        .filter(|(diagnostic, _, changes)| mending.solves(diagnostic, changes))
        .collect()
}

/// Words that a shell acts upon itself, and names of no program.
const SHELL_ONLY: &[&str] = &[
    ".", ":", "alias", "bg", "break", "builtin", "case", "cd", "command", "continue", "declare",
    "do", "done", "elif", "else", "esac", "eval", "exec", "exit", "export", "fg", "fi", "for",
    "function", "getopts", "hash", "if", "jobs", "local", "read", "readonly", "return", "set",
    "shift", "source", "then", "time", "trap", "type", "ulimit", "umask", "unset", "wait", "while",
];

/// The shell text at a place as a list of a program and its arguments, if that is the same.
fn program_of_shell(document: &Document, place: &Range<usize>) -> Option<Vec<Change>> {
    let reading = Reading::of_document(document)?;
    let (text, place_of_text) = reading.hooks().find_map(|(_, hook)| {
        let command = hook.entry("command")?;
        let run = command.value.entry("run").unwrap_or(command);
        let span = value_span(&document.text, document.format(), run);
        let NodeValue::String(text) = &run.value.value else {
            return None;
        };
        (span.start <= place.start && place.end <= span.end)
            .then(|| (text.clone(), run.value.span.clone()))
    })?;
    let words = shell_word::words(text.trim()).ok()?;
    let program = words.first()?;
    // A shell finds it from where it runs, hookwire from the definition's directory.
    let is_relative = program.contains('/') && !program.starts_with('/');
    // In arguments, unlike in shell texts, hookwire fills placeholders in.
    let has_placeholders = text.contains(['$', '{', '}', '%']);
    // A second reader; it leaves out where the system's own programs are.
    let read = shell::read(&text, shell::Shell::Posix);
    let is_read_the_same = read.commands().first().is_some_and(|command| {
        command
            .words
            .iter()
            .map(|word| word.text.as_str())
            .eq(words.iter().map(String::as_str))
    });
    if is_relative
        || has_placeholders
        || SHELL_ONLY.contains(&program.as_str())
        || !is_read_the_same
    {
        return None;
    }
    // A file of another system has no lists there.
    let Cow::Borrowed(root) = reading.root else {
        return None;
    };
    let path = root.path_to(&place_of_text)?;
    let op = Op::Set(json!(words), At::End);
    Writer::new(&document.text, document.format(), root).changes(&path, &op)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::document;
    use hookwire_base::support::changes::apply;
    use hookwire_base::syntax::formats::Format;
    use hookwire_engine::definitions::check::check;
    use hookwire_testing::rows;
    use serde::Deserialize;
    use std::path::Path;

    /// Every fix of the first mistake with this code: its title, a `!` if preferred, and its text.
    fn fixed(name: &str, text: &str, code: &str) -> Vec<(String, String)> {
        let document = document(name, text);
        let diagnostics = &document.checked().diagnostics;
        let wrong = diagnostics
            .iter()
            .find(|diagnostic| diagnostic.code == code);
        let wrong = wrong.unwrap_or_else(|| panic!("no {code} in {text}: {diagnostics:?}"));
        let file = document.file();
        let mending = document.mending(&file);
        let fixes = tested_fixes(
            &document,
            &mending,
            &(wrong.span.start..wrong.span.start),
            &|| true,
        );
        fixes
            .into_iter()
            .filter(|(diagnostic, ..)| std::ptr::eq(*diagnostic, wrong))
            .map(|(_, fix, changes)| {
                let after = apply(text, &changes);
                let checked = check(&document.file(), &after, document.layer, None);
                let same = checked
                    .diagnostics
                    .iter()
                    .filter(|diagnostic| {
                        diagnostic.code == code && diagnostic.message == wrong.message
                    })
                    .count();
                let before = diagnostics
                    .iter()
                    .filter(|diagnostic| {
                        diagnostic.code == code && diagnostic.message == wrong.message
                    })
                    .count();
                assert!(same < before, "{after}");
                (
                    format!("{}{}", fix.title, if fix.is_preferred { "!" } else { "" }),
                    after,
                )
            })
            .collect()
    }

    #[test]
    fn fixes_leave_nothing_to_fix() {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Row {
            file: String,
            text: String,
            code: String,
            title: String,
            fixed: String,
        }
        rows::compare("lsp/fixes.jsonl", |row: Row| {
            let first = fixed(&row.file, &row.text, &row.code).into_iter().next();
            (first, Some((row.title, row.fixed)))
        });
    }

    #[test]
    fn a_failure_direction_is_added_in_place() {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Row {
            file: String,
            text: String,
            closed: String,
            for_all: String,
        }
        rows::compare("lsp/fail_directions.jsonl", |row: Row| {
            let open = row.closed.replace("closed", "open");
            let expected = [
                ("Add `fail: closed`!", row.closed),
                ("Add `fail: open`", open),
                ("Set `fail: closed` for the whole file", row.for_all),
            ];
            let expected = expected
                .map(|(title, text)| (title.to_string(), text))
                .to_vec();
            (fixed(&row.file, &row.text, "no-fail-direction"), expected)
        });
    }

    #[test]
    fn shell_texts_become_programs_where_that_is_the_same() {
        for (name, text, expected) in [
            ("a.yaml", "python3 check.py", Some("[python3, check.py]")),
            (
                "a.yaml",
                "npm run lint:fix",
                Some("[npm, run, \"lint:fix\"]"),
            ),
            (
                "a.yaml",
                "git log -n 3 'a b'",
                Some("[git, log, -n, \"3\", \"a b\"]"),
            ),
            (
                "a.yaml",
                "|\n      python3 check.py",
                Some("[python3, check.py]"),
            ),
            ("a.yaml", "/bin/echo true", Some("[/bin/echo, \"true\"]")),
            (
                "a.json",
                "\"python3 check.py\"",
                Some("[\"python3\", \"check.py\"]"),
            ),
            (
                "a.toml",
                "'python3 check.py'",
                Some("[\"python3\", \"check.py\"]"),
            ),
            ("a.yaml", "./check.sh x", None),
            ("a.yaml", "exit 2", None),
            ("a.yaml", "cd x", None),
            ("a.yaml", "A=1 python3 x", None),
            (
                "a.yaml",
                "env A=1 python3 x",
                Some("[env, \"A=1\", python3, x]"),
            ),
            ("a.yaml", "python3 $X", None),
            ("a.yaml", "a | b", None),
            ("a.yaml", "a && b", None),
            ("a.yaml", "ls *", None),
            ("a.yaml", "ls > x", None),
            ("a.yaml", "echo '${x}'", None),
        ] {
            let file = match Format::from_path(Path::new(name)) {
                Some(Format::Json) => {
                    format!(
                        "{{\"hooks\": [{{\"name\": \"a\", \"on\": \"Stop\", \"command\": {text}}}]}}"
                    )
                }
                Some(Format::Toml) => {
                    format!("[[hooks]]\nname = 'a'\non = 'Stop'\ncommand = {text}\n")
                }
                _ => format!("hooks:\n  - name: a\n    on: Stop\n    command: {text}\n"),
            };
            let document = document(name, &file);
            let at = file.find("command").unwrap() + "command: ".len() + 2;
            let found =
                program_of_shell(&document, &(at..at)).map(|mut changes| changes.remove(0).1);
            assert_eq!(found.as_deref(), expected, "{file}");
        }
    }

    /// Wherever the cursor is, nothing panics.
    #[test]
    fn every_place_of_the_examples() {
        let mut found = 0;
        let stride = if std::env::var_os("HOOKWIRE_FULL").is_some() {
            5
        } else {
            47
        };
        for document in crate::written::examples() {
            let file = document.file();
            let mending = document.mending(&file);
            for at in (0..=document.text.len() + 5).step_by(stride) {
                found += tested_fixes(&document, &mending, &(at..at), &|| true).len();
                found += usize::from(program_of_shell(&document, &(at..at)).is_some());
                found += usize::from(hook_at(&document, at).is_some());
            }
        }
        assert!(found > 100, "{found}");
    }

    #[test]
    fn the_hook_of_a_line() {
        for (name, text, expected) in [
            ("a.yaml", "|hooks:\n- name: a\n", None),
            ("a.yaml", "hooks:\n|- name: a\n  on: Stop\n", Some("a")),
            (
                "a.yaml",
                "hooks:\n- name: a\n  on: S|top\n- name: b\n",
                Some("a"),
            ),
            (
                "a.yaml",
                "hooks:\n- name: a\n  on: Stop\ndef|aults: {}\n",
                None,
            ),
            (
                "a.json",
                "{\"hooks\": [{\"name\": \"a\"}, {\"na|me\": \"b\"}]}",
                Some("b"),
            ),
            (
                "a.toml",
                "[[hooks]]\nname = 'a'\n[hooks.script]\nfi|le = 'x'\n",
                Some("a"),
            ),
        ] {
            let at = text.find('|').unwrap();
            let found = hook_at(&document(name, &text.replace('|', "")), at);
            assert_eq!(found.as_deref(), expected, "{text}");
        }
    }
}
