//! What can be mended or made better at a place.
//!
//! A mend is offered only if the text that it makes, checked again, no longer has what was wrong.

use super::document::Document;
use super::lenses::on_what;
use super::plain_text::{MAX_QUOTED, one_line};
use super::same_name::taken_names;
use super::surroundings::Surroundings;
use super::written::{Change, Reading, Written, apply, extent, members, owner, value_span, workspace_edit};
use crate::definitions::check::{Checked, check};
use crate::handlers::KINDS;
use crate::matching::shell;
use crate::matching::when::When;
use crate::syntax::diagnostic::Diagnostic;
use crate::syntax::formats::{Format, parse};
use crate::syntax::node::{Entry, Node, NodeValue, Span};
use ls_types::{
    CodeAction, CodeActionContext, CodeActionKind, CodeActionOrCommand, CodeActionParams, CodeActionResponse,
    CodeActionTriggerKind, Command, NumberOrString,
};
use serde_json::{Value, json};
use std::ops::Range;
use std::time::{Duration, Instant};

/// `is_awaited` says whether the editor still waits for the answer.
pub(super) fn actions(
    document: &Document,
    around: &Surroundings<'_>,
    is_awaited: &dyn Fn() -> bool,
    params: &CodeActionParams,
) -> CodeActionResponse {
    let lines = document.lines();
    let (start, end) = (lines.offset(params.range.start), lines.offset(params.range.end));
    let place = start.min(end)..start.max(end);
    let wants = |kind: &CodeActionKind| is_wanted(&params.context, kind);
    let mut actions = Vec::new();
    if wants(&CodeActionKind::QUICKFIX) {
        // Those of other files are known here only.
        let taken = taken_names(around.project.as_ref(), document, &lines);
        let set = around.project.as_ref().map(|it| it.hooks());
        let elsewhere = |name: &str| set.iter().flat_map(|set| &set.hooks).any(|hook| *hook.name == *name);
        let root = document.checked().root.as_ref();
        let here = taken.iter().filter(|it| is_at(it, &place));
        let until = Instant::now() + PATIENCE;
        let goes_on = || Instant::now() < until && is_awaited();
        let numbered = here.filter_map(|it| Some((it, numbered_fix(document, root?, it, &elsewhere)?)));
        for (diagnostic, fix) in fixes(document, &place, &goes_on).into_iter().chain(numbered.take(MAX_FIXES)) {
            let range = lines.range(&diagnostic.span);
            let code = NumberOrString::String(diagnostic.code.clone());
            let solved = |it: &&ls_types::Diagnostic| it.range == range && it.code.as_ref() == Some(&code);
            let solves: Vec<_> = params.context.diagnostics.iter().filter(solved).cloned().collect();
            actions.push(CodeAction {
                title: fix.title,
                kind: Some(CodeActionKind::QUICKFIX),
                diagnostics: Some(solves).filter(|it| !it.is_empty()),
                edit: Some(workspace_edit(document, &fix.changes, around.abilities)),
                is_preferred: Some(fix.is_preferred),
                ..CodeAction::default()
            });
        }
    }
    if wants(&CodeActionKind::REFACTOR_REWRITE)
        && let Some(change) = program_of_shell(document, &place)
    {
        actions.push(CodeAction {
            title: "Run the program without a shell".into(),
            kind: Some(CodeActionKind::REFACTOR_REWRITE),
            edit: Some(workspace_edit(document, &[change], around.abilities)),
            ..CodeAction::default()
        });
    }
    // A lightbulb that nobody asked for is for what is wrong.
    let is_asked = params.context.only.is_some()
        || params.context.trigger_kind.is_none_or(|kind| kind == CodeActionTriggerKind::INVOKED);
    let is_wanted = |action: &CodeAction| action.kind.as_ref().is_some_and(wants);
    if is_asked && (wants(&RUN) || wants(&EXPLAIN)) {
        actions.extend(commands(document, place.start, around).into_iter().filter(is_wanted));
    }
    actions.into_iter().map(CodeActionOrCommand::CodeAction).collect()
}

/// Whether an editor asks for a kind, or one that it belongs to.
fn is_wanted(context: &CodeActionContext, kind: &CodeActionKind) -> bool {
    let Some(only) = &context.only else { return true };
    only.iter().any(|wanted| {
        let rest = kind.as_str().strip_prefix(wanted.as_str());
        wanted.as_str().is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    })
}

/// The kind of what runs a hook.
pub(super) const RUN: CodeActionKind = CodeActionKind::new("source.hookwire.run");
/// The kind of what tells whether a hook would run.
pub(super) const EXPLAIN: CodeActionKind = CodeActionKind::new("source.hookwire.explain");

/// What can be done with the hook at a place, for editors that show no lenses.
fn commands(document: &Document, offset: usize, around: &Surroundings<'_>) -> Vec<CodeAction> {
    let hook = hook_at(document, offset).and_then(|name| document.hook(&name)?.hook.clone());
    let is_broken = document.checked().file.as_ref().is_none_or(|file| file.is_broken);
    let Some(hook) = hook.filter(|_| !is_broken) else { return Vec::new() };
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
        command(format!("Run {name} {}", on_what(&hook, &past)), "hookwire.run", RUN),
        command(format!("Explain {name}"), "hookwire.explain", EXPLAIN),
    ]
}

/// The name of the hook whose lines a place is in.
fn hook_at(document: &Document, offset: usize) -> Option<String> {
    let reading = Reading::of_document(document)?;
    let lines = document.lines();
    let line = |offset: usize| lines.index.utf8(offset).0;
    let at = line(offset);
    let holds = |node: &Node| {
        let whole = extent(node, document.format());
        line(whole.start) <= at && at <= line(whole.end)
    };
    // Of several on one line, the one that the place is in.
    let hooks: Vec<_> = reading.hooks().filter(|(_, node)| holds(node)).collect();
    let exact = hooks.iter().rfind(|(_, node)| extent(node, document.format()).start <= offset);
    exact.or(hooks.first())?.0.name.as_ref().map(|name| name.to_string())
}

/// A way to mend something.
struct Fix {
    title: String,
    changes: Vec<Change>,
    is_preferred: bool,
}

/// The most mends that are tried out for one question.
const MAX_FIXES: usize = 24;
/// How long fixes are tried out.
const PATIENCE: Duration = Duration::from_millis(500);

fn is_at(diagnostic: &Diagnostic, place: &Range<usize>) -> bool {
    diagnostic.span.start <= place.end && place.start <= diagnostic.span.end
}

/// Ways to mend what is wrong at a place, each tried out.
///
/// Each costs as much as a check of the whole text: `goes_on` says for how long it is worth it.
fn fixes<'d>(document: &'d Document, place: &Range<usize>, goes_on: &dyn Fn() -> bool) -> Vec<(&'d Diagnostic, Fix)> {
    let checked = document.checked();
    let here = checked.diagnostics.iter().filter(|it| is_at(it, place));
    let tried =
        here.flat_map(|diagnostic| mends(document, checked, diagnostic).into_iter().map(move |fix| (diagnostic, fix)));
    let tried = tried.take(MAX_FIXES).take_while(|_| goes_on());
    tried.filter(|(diagnostic, fix)| solves(document, checked, diagnostic, fix)).collect()
}

/// Whether a text with the changes is without what was wrong, and hasn't become worse.
fn solves(document: &Document, before: &Checked, diagnostic: &Diagnostic, fix: &Fix) -> bool {
    let text = apply(&document.text, &fix.changes);
    if text == document.text {
        return false;
    }
    let after = check(&document.file(), &text, document.layer);
    let is_it = |it: &&Diagnostic| {
        (&it.code, &it.message, &it.hook) == (&diagnostic.code, &diagnostic.message, &diagnostic.hook)
    };
    let count = |checked: &Checked| checked.diagnostics.iter().filter(is_it).count();
    // A mistake of the form may hide others of the same kind; those of the meaning may not turn into one.
    let is_read = after.root.is_some() || before.root.is_none();
    let twice =
        |checked: &Checked| checked.diagnostics.iter().filter(|it| it.message.contains("is given twice")).count();
    is_read && count(&after) < count(before) && twice(&after) <= twice(before)
}

fn mends(document: &Document, checked: &Checked, diagnostic: &Diagnostic) -> Vec<Fix> {
    let mut fixes = Vec::new();
    let mut add = |title: String, changes: Option<Vec<Change>>, is_preferred: bool| {
        fixes.extend(changes.map(|changes| Fix { title, changes, is_preferred }));
    };
    let help = diagnostic.help.as_deref().unwrap_or_default();
    let written = document.text.get(diagnostic.span.clone()).unwrap_or_default();
    if let Some(right) = quoted(help, "did you mean `", "`?") {
        add(format!("Change it to `{right}`"), misspelt(document, diagnostic, right).map(|it| vec![it]), true);
    }
    let Some(root) = &checked.root else {
        // What can't be read has places, but no tree.
        if help.contains("quotes") {
            add("Put it in quotes".into(), in_quotes(document, &diagnostic.span).map(|it| vec![it]), true);
        }
        return fixes;
    };
    let member = owner(root, &diagnostic.span);
    match diagnostic.code.as_str() {
        "no-fail-direction" => {
            for (direction, is_preferred) in [("closed", true), ("open", false)] {
                let change = member.and_then(|(hook, at)| member_after(document, hook, at, "fail", direction));
                add(format!("Add `fail: {direction}`"), change.map(|it| vec![it]), is_preferred);
            }
            let title = "Set `fail: closed` for the whole file".to_string();
            add(title, fail_for_all(document, root).map(|it| vec![it]), false);
        }
        "unguarded-when" => {
            let entry = member.and_then(|(hook, at)| members(hook).get(at));
            let changes = entry.and_then(|entry| guarded(document, &entry.value));
            let title =
                if help.starts_with("ask first") { "Ask `has()` first" } else { "Write the member without `event.`" };
            add(title.into(), changes, true);
        }
        "idle-guard" => {
            add(
                "Leave out `on`".into(),
                member.and_then(|(hook, at)| without(document, hook, at)).map(|it| vec![it]),
                true,
            );
        }
        "missing-on" => {
            let change = member.and_then(|(hook, at)| match members(hook).get(at) {
                // It is there and empty.
                Some(on) if on.key == "on" => Some((value_span(document, on), word(document, "PreToolUse"))),
                _ => member_after(document, hook, after_name(hook), "on", "PreToolUse"),
            });
            add("Add `on: PreToolUse`".into(), change.map(|it| vec![it]), false);
        }
        "missing-name" => {
            let change = member.and_then(|(hook, at)| {
                let name = new_name(root, hook);
                match hook.entry("name") {
                    // Of nothing there is no place but behind the key.
                    Some(written) if document.text.get(written.value.span.clone()).is_none_or(str::is_empty) => {
                        let end = written.key_span.end;
                        let colon = document.text.get(end..)?.find(':')?;
                        Some((end..end + colon + 1, format!(": {}", word(document, &name))))
                    }
                    Some(written) => Some((value_span(document, written), word(document, &name))),
                    None => member_before(document, hook, at, "name", &name),
                }
            });
            add("Give it a name".into(), change.map(|it| vec![it]), true);
        }
        "missing-handler" => {
            let last = |hook: &Node| members(hook).len().checked_sub(1);
            for (kind, reason) in [("deny", "not allowed here"), ("ask", "is this fine?")] {
                let change = member.and_then(|(hook, _)| member_after(document, hook, last(hook)?, kind, reason));
                add(format!("Add `{kind}: {reason}`"), change.map(|it| vec![it]), false);
            }
        }
        "several-handlers" => {
            let is_handler = |entry: &Entry| KINDS.iter().any(|kind| kind.key == entry.key);
            let own =
                member.into_iter().flat_map(|(hook, _)| members(hook).iter().enumerate().map(move |it| (hook, it)));
            for (hook, (at, entry)) in own.filter(|(_, (_, entry))| is_handler(entry)) {
                let change = without(document, hook, at);
                add(format!("Remove `{}`", entry.key), change.map(|it| vec![it]), false);
            }
        }
        "duplicate-name" => {
            fixes.extend(numbered_fix(document, root, diagnostic, &|_| false));
        }
        "bad-handler" if help.starts_with("add `inheritEnv: [") => {
            let variable = quoted(help, "inheritEnv: [", "]").unwrap_or_default();
            // `headers` is what is told of.
            let change = member.and_then(|(map, at)| inherited(document, map, at, variable));
            add(format!("Add `{variable}` to `inheritEnv`"), change.map(|it| vec![it]), true);
        }
        "never-matches" if help.starts_with("write `if: ") => {
            let key = member.and_then(|(hook, at)| members(hook).get(at)).map(|entry| entry.key_span.clone());
            let change = key.and_then(|span| replaced(document, &span, "matcher", "if"));
            add("Write it as `if`".into(), change.map(|it| vec![it]), true);
        }
        "never-matches" if help.starts_with("remove `") => {
            let key = quoted(help, "remove `", "`").unwrap_or_default();
            let change = member.and_then(|(hook, at)| without(document, hook, at));
            add(format!("Remove `{key}`"), change.map(|it| vec![it]), true);
        }
        "bad-regex" if help.ends_with("write `.*`") => {
            add("Write `.*`".into(), replaced(document, &diagnostic.span, "*", ".*").map(|it| vec![it]), true);
        }
        "bad-handler" if diagnostic.message.ends_with("doesn't say which function") => {
            let right = quoted(help, "write `", "`").filter(|_| !help.contains(" or "));
            let wrong = quoted(&diagnostic.message, "`", "`");
            let change = right.zip(wrong).and_then(|(right, wrong)| replaced(document, &diagnostic.span, wrong, right));
            add("Write it as `module:function`".into(), change.map(|it| vec![it]), true);
        }
        "wrong-type" if diagnostic.message.ends_with("quote it if it is meant as text") => {
            let is_plain =
                !written.is_empty() && written.chars().all(|c| c.is_ascii_alphanumeric() || "+-._:".contains(c));
            let change = (diagnostic.span.clone(), format!("\"{written}\""));
            add("Quote it".into(), is_plain.then(|| vec![change]), true);
        }
        "wrong-type" if help == "write `hooks:` above the list" => {
            add("Write `hooks:` above the list".into(), hooks_above(document, root), true);
        }
        _ if help == "leave it out" => {
            add(
                "Leave it out".into(),
                member.and_then(|(map, at)| without(document, map, at)).map(|it| vec![it]),
                true,
            );
        }
        _ => {}
    }
    fixes
}

/// Where a hook's name is, or else its first member.
fn after_name(hook: &Node) -> usize {
    members(hook).iter().position(|it| it.key == "name").unwrap_or(0)
}

/// A name that no hook of the file has, made of what a hook does and when: `deny-pre-tool-use`.
fn new_name(root: &Node, hook: &Node) -> String {
    let handler = members(hook).iter().find(|entry| KINDS.iter().any(|kind| kind.key == entry.key));
    let guard = handler.filter(|it| it.key == "guard").and_then(|it| match &it.value.value {
        NodeValue::String(name) => Some(name.as_str()),
        _ => members(&it.value).first().map(|it| it.key.as_str()),
    });
    let event = match hook.get("on").map(|it| &it.value) {
        Some(NodeValue::String(event)) => Some(event.as_str()),
        Some(NodeValue::Seq(events)) => events.first().and_then(Node::text),
        _ => None,
    };
    let mut name = String::new();
    for word in [guard.or(handler.map(|it| it.key.as_str())).unwrap_or("hook"), event.unwrap_or_default()] {
        for c in word.chars().take(64).filter(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ':')) {
            let follows_word = name.ends_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit());
            match c {
                '_' | ':' | '-' if !name.ends_with('-') => name.push('-'),
                '_' | ':' | '-' => {}
                _ if c.is_ascii_uppercase() && follows_word => name.extend(['-', c.to_ascii_lowercase()]),
                _ => name.push(c.to_ascii_lowercase()),
            }
        }
        name.push('-');
    }
    let name = name.trim_matches('-');
    if is_taken(root, name) { numbered(root, name, &|_| false) } else { name.to_string() }
}

fn is_taken(root: &Node, name: &str) -> bool {
    hooks(root).any(|hook| hook.get("name").and_then(Node::text) == Some(name))
}

/// The name with the first number that makes it another one, in the file and `elsewhere`.
fn numbered(root: &Node, name: &str, elsewhere: &dyn Fn(&str) -> bool) -> String {
    let mut names = (2..u32::MAX).map(|n| format!("{name}-{n}"));
    names.find(|it| !is_taken(root, it) && !elsewhere(it)).unwrap_or_default()
}

/// A number for a name that another hook has.
fn numbered_fix(
    document: &Document,
    root: &Node,
    diagnostic: &Diagnostic,
    elsewhere: &dyn Fn(&str) -> bool,
) -> Option<Fix> {
    let (hook, at) = owner(root, &diagnostic.span)?;
    let node = &members(hook).get(at)?.value;
    let name = node.text()?;
    let free = numbered(root, name, elsewhere);
    // Behind the name, within its quotes.
    let end = Written::of_node(node, document).whole(name)?.end;
    let number = free.strip_prefix(name)?.to_string();
    Some(Fix { title: format!("Call it `{free}`"), changes: vec![(end..end, number)], is_preferred: true })
}

fn hooks(root: &Node) -> impl Iterator<Item = &Node> {
    let items = match root.get("hooks").map(|it| &it.value) {
        Some(NodeValue::Seq(items)) => &items[..],
        Some(_) | None => &[],
    };
    items.iter()
}

/// What stands between two marks.
fn quoted<'t>(text: &'t str, before: &str, after: &str) -> Option<&'t str> {
    let rest = text.get(text.find(before)? + before.len()..)?;
    rest.get(..rest.find(after)?)
}

/// The wrong word, which the message names, replaced where it is written.
fn misspelt(document: &Document, diagnostic: &Diagnostic, right: &str) -> Option<Change> {
    let words = diagnostic.message.split('`').skip(1).step_by(2);
    words.filter(|word| *word != right).find_map(|word| replaced(document, &diagnostic.span, word, right))
}

/// The first place within a span where a word stands by itself, with another.
fn replaced(document: &Document, span: &Span, wrong: &str, right: &str) -> Option<Change> {
    let text = document.text.get(span.clone())?;
    let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '-');
    let is_word = |at: &usize| {
        let (before, rest) = text.split_at_checked(*at).unwrap_or_default();
        let behind = rest.get(wrong.len()..).unwrap_or_default();
        let starts_word = wrong.starts_with(|c| is_part(Some(c)));
        !(starts_word && (is_part(before.chars().next_back()) || is_part(behind.chars().next())))
    };
    let at = text.match_indices(wrong).map(|(at, _)| at).find(is_word).filter(|_| !wrong.is_empty())?;
    let start = span.start + at;
    Some((start..start + wrong.len(), right.to_string()))
}

/// Whether a map's members stand in brackets.
fn is_inline(document: &Document, map: &Node) -> bool {
    document.text.get(map.span.clone()).is_some_and(|it| it.starts_with('{'))
}

/// Where a line begins and where what ends it does.
fn line_around(text: &str, offset: usize) -> Option<Span> {
    let start = text.get(..offset)?.rfind(['\n', '\r']).map_or(0, |at| at + 1);
    let end = text.get(offset..)?.find(['\n', '\r']).map_or(text.len(), |len| offset + len);
    Some(start..end)
}

fn line_break(document: &Document) -> &'static str {
    if document.text.contains("\r\n") { "\r\n" } else { "\n" }
}

/// What indents a member: the blanks before it, or what takes their place behind a dash.
fn indentation(document: &Document, offset: usize) -> Option<String> {
    let line = line_around(&document.text, offset)?;
    let before = document.text.get(line.start..offset)?.trim_start_matches('\u{feff}');
    Some(before.chars().map(|c| if c == '\t' { '\t' } else { ' ' }).collect())
}

/// A key and a plain word as the format writes them, with quotes like those of a neighbour.
fn member(document: &Document, neighbour: Option<&Entry>, key: &str, word: &str) -> String {
    let begins = |span: &Span, quote: char| document.text.get(span.clone()).is_some_and(|it| it.starts_with(quote));
    match document.format() {
        Format::Json => format!("\"{key}\": \"{word}\""),
        Format::Toml if neighbour.is_some_and(|it| begins(&it.value.span, '\'')) => format!("{key} = '{word}'"),
        Format::Toml => format!("{key} = \"{word}\""),
        Format::Yaml if neighbour.is_some_and(|it| begins(&it.key_span, '"')) => format!("\"{key}\": \"{word}\""),
        Format::Yaml => format!("{key}: {word}"),
    }
}

/// A word as the format writes it.
fn word(document: &Document, word: &str) -> String {
    match document.format() {
        Format::Yaml => word.into(),
        Format::Toml | Format::Json => Value::from(word).to_string(),
    }
}

/// A member before another of its map.
fn member_before(document: &Document, map: &Node, at: usize, key: &str, word: &str) -> Option<Change> {
    let entry = members(map).get(at)?;
    let text = &document.text;
    let start = entry.key_span.start;
    let new = member(document, Some(entry), key, word);
    let line = line_around(text, start)?;
    let before = text.get(line.start..start)?;
    // What a YAML merge brings in is written elsewhere.
    if document.format() != Format::Toml && !(map.span.start <= start && entry.key_span.end <= map.span.end) {
        return None;
    }
    if is_inline(document, map) || document.format() == Format::Json {
        let starts_line = before.trim().is_empty();
        let separator = if starts_line { format!("{}{before}", line_break(document)) } else { " ".into() };
        return Some((start..start, format!("{new},{separator}")));
    }
    Some((start..start, format!("{new}{}{}", line_break(document), indentation(document, start)?)))
}

/// A variable in the `inheritEnv` beside the headers that it is for.
fn inherited(document: &Document, map: &Node, at: usize, variable: &str) -> Option<Change> {
    let written = match document.format() {
        Format::Yaml => variable.to_string(),
        Format::Toml | Format::Json => Value::from(variable).to_string(),
    };
    if let Some(list) = map.get("inheritEnv") {
        let NodeValue::Seq(items) = &list.value else { return None };
        let is_inline = document.text.get(list.span.clone()).is_some_and(|it| it.starts_with('['));
        return match items.last() {
            None => Some((list.span.clone(), format!("[{written}]"))),
            Some(last) if is_inline => Some((last.span.end..last.span.end, format!(", {written}"))),
            Some(last) => {
                let indentation = indentation(document, last.span.start)?;
                let indentation = indentation.get(..indentation.len().checked_sub(2)?)?;
                let end = line_around(&document.text, last.span.end)?.end;
                Some((end..end, format!("{}{indentation}- {written}", line_break(document))))
            }
        };
    }
    // Before the headers: their own lines may be many.
    let (span, new) = member_before(document, map, at, "inheritEnv", "\u{0}")?;
    let list = format!("[{written}]");
    let quoted = ["\"\u{0}\"", "'\u{0}'", "\u{0}"].iter().find(|it| new.contains(**it))?;
    Some((span, new.replacen(quoted, &list, 1)))
}

/// A member behind another of its map.
fn member_after(document: &Document, map: &Node, at: usize, key: &str, word: &str) -> Option<Change> {
    let entry = members(map).get(at)?;
    let text = &document.text;
    // What a YAML merge brings in is written elsewhere.
    if document.format() != Format::Toml
        && !(map.span.start <= entry.key_span.start && entry.key_span.end <= map.span.end)
    {
        return None;
    }
    let new = member(document, Some(entry), key, word);
    let indentation = indentation(document, entry.key_span.start)?;
    let starts_line = text.get(line_around(text, entry.key_span.start)?.start..entry.key_span.start)?.trim().is_empty();
    let end = extent(&entry.value, document.format()).end;
    if is_inline(document, map) || document.format() == Format::Json {
        let end = entry.value.span.end;
        let separator = if starts_line { format!(",{}{indentation}", line_break(document)) } else { ", ".into() };
        return Some((end..end, format!("{separator}{new}")));
    }
    let end = line_around(text, end.max(entry.key_span.end))?.end;
    Some((end..end, format!("{}{indentation}{new}", line_break(document))))
}

/// `fail: closed` in the file's `defaults`, which are made if there are none.
fn fail_for_all(document: &Document, root: &Node) -> Option<Change> {
    let (text, br) = (&document.text, line_break(document));
    if let Some(defaults) = root.entry("defaults") {
        let value = &defaults.value;
        if !members(value).is_empty() {
            return member_after(document, value, 0, "fail", "closed");
        }
        let new = member(document, None, "fail", "closed");
        if is_inline(document, value) {
            return Some((value.span.clone(), format!("{{ {new} }}")));
        }
        let end = line_around(text, defaults.key_span.end)?.end;
        let indentation = if document.format() == Format::Yaml { "  " } else { "" };
        return Some((end..end, format!("{br}{indentation}{new}")));
    }
    let first = root.entry("hooks").or(members(root).first())?;
    let start = first.key_span.start;
    let line = line_around(text, start)?;
    match document.format() {
        Format::Json => {
            let starts_line = text.get(line.start..start)?.trim().is_empty();
            let separator = if starts_line { format!("{br}{}", indentation(document, start)?) } else { " ".into() };
            Some((start..start, format!("\"defaults\": {{ \"fail\": \"closed\" }},{separator}")))
        }
        Format::Yaml if is_inline(document, root) => Some((start..start, "defaults: {fail: closed}, ".into())),
        Format::Yaml => Some((start..start, format!("defaults:{br}  fail: closed{br}"))),
        Format::Toml => {
            // Keys of the file stand before its first table.
            let starts = members(root).iter().filter_map(|it| Some(line_around(text, it.key_span.start)?.start));
            let is_table = |start: &usize| text.get(*start..).is_some_and(|it| it.trim_start().starts_with('['));
            match starts.filter(is_table).min() {
                Some(table) => Some((table..table, format!("[defaults]{br}fail = \"closed\"{br}{br}"))),
                None => Some((line.start..line.start, format!("defaults.fail = \"closed\"{br}"))),
            }
        }
    }
}

/// A map without one of its members.
fn without(document: &Document, map: &Node, at: usize) -> Option<Change> {
    let text = &document.text;
    let entry = members(map).get(at)?;
    let whole = entry.key_span.start..extent(&entry.value, document.format()).end.max(entry.key_span.end);
    let next = members(map).get(at + 1).map(|next| next.key_span.start).filter(|start| *start >= whole.end);
    if is_inline(document, map) || document.format() == Format::Json {
        let before = at.checked_sub(1).and_then(|at| members(map).get(at)).map(|it| it.value.span.end);
        return match (next, before) {
            (Some(next), _) => Some((whole.start..next, String::new())),
            (None, Some(before)) => Some((before..whole.end, String::new())),
            (None, None) => None,
        };
    }
    let line = line_around(text, whole.start)?;
    if text.get(line.start..whole.start)?.trim().is_empty() {
        let end = line_around(text, whole.end)?.end;
        let behind = text.get(end..)?;
        let br = if behind.starts_with("\r\n") { 2 } else { usize::from(!behind.is_empty()) };
        return Some((line.start..end + br, String::new()));
    }
    // Behind a dash: the next one takes its place, unless a comment stands between.
    let next = next.filter(|next| text.get(whole.end..*next).is_some_and(|it| it.trim().is_empty()))?;
    Some((whole.start..next, String::new()))
}

/// A condition that asks whether there is what it reads.
fn guarded(document: &Document, value: &Node) -> Option<Vec<Change>> {
    let NodeValue::String(source) = &value.value else { return None };
    let unguarded = When::new(source).ok()?.unguarded();
    let written = Written::of_node(value, document);
    let members = unguarded.iter().filter_map(|path| path.strip_prefix("event."));
    if members.clone().next().is_some() {
        let places = members.flat_map(|member| {
            let whole = format!("event.{member}");
            let found: Vec<_> = source.match_indices(&whole).map(|(at, _)| at..at + "event.".len()).collect();
            found
        });
        let spans = places.flat_map(|part| written.lines(&part, &document.text));
        return Some(spans.map(|span| (span, String::new())).collect());
    }
    let asked: Vec<String> = unguarded.iter().map(|path| format!("has({path})")).collect();
    let whole = written.whole(source)?;
    let before = format!("{} && ", asked.join(" && "));
    // What binds more loosely than `&&` is held together.
    if source.contains("||") || source.contains('?') {
        return Some(vec![(whole.start..whole.start, format!("{before}(")), (whole.end..whole.end, ")".into())]);
    }
    Some(vec![(whole.start..whole.start, before)])
}

/// A list of hooks under `hooks`.
fn hooks_above(document: &Document, root: &Node) -> Option<Vec<Change>> {
    let (start, end) = (root.span.start, root.span.end);
    if document.text.get(root.span.clone())?.starts_with('[') {
        let key = if document.format() == Format::Json { "{\"hooks\": " } else { "{hooks: " };
        return Some(vec![(start..start, key.into()), (end..end, "}".into())]);
    }
    let line = line_around(&document.text, start)?.start;
    Some(vec![(line..line, format!("hooks:{}", line_break(document)))])
}

/// The rest of a line, or what a key holds on it, in quotes.
fn in_quotes(document: &Document, span: &Span) -> Option<Change> {
    let text = &document.text;
    let line = line_around(text, span.start)?;
    let start = match document.format() {
        Format::Toml => line.start + text.get(line.clone())?.find('=')? + 1,
        Format::Yaml | Format::Json => {
            let key = text.get(line.clone())?.find(": ")?;
            line.start + key + 2
        }
    };
    let value = text.get(start..line.end)?;
    let value = value.split(" #").next()?;
    let start = start + (value.len() - value.trim_start().len());
    let value = value.trim();
    if value.is_empty() || value.starts_with(['"', '\'', '[', '{', '|', '>']) {
        return None;
    }
    Some((start..start + value.len(), Value::from(value).to_string()))
}

/// Words that a shell acts upon itself, and names of no program.
const SHELL_ONLY: &[&str] = &[
    ".", ":", "alias", "bg", "break", "builtin", "case", "cd", "command", "continue", "declare", "do", "done", "elif",
    "else", "esac", "eval", "exec", "exit", "export", "fg", "fi", "for", "function", "getopts", "hash", "if", "jobs",
    "local", "read", "readonly", "return", "set", "shift", "source", "then", "time", "trap", "type", "ulimit", "umask",
    "unset", "wait", "while",
];

/// The shell text at a place as a list of a program and its arguments, if that is the same.
fn program_of_shell(document: &Document, place: &Range<usize>) -> Option<Change> {
    let reading = Reading::of_document(document)?;
    let shell_of = |hook: &Node| {
        let command = hook.entry("command")?;
        let run = command.value.entry("run").unwrap_or(command);
        let span = value_span(document, run);
        let NodeValue::String(text) = &run.value.value else { return None };
        (span.start <= place.start && place.end <= span.end).then(|| (text.clone(), span))
    };
    let (text, span) = reading.hooks().find_map(|(_, hook)| shell_of(hook))?;
    let words = shell::words(text.trim()).ok()?;
    let program = words.first()?;
    // A shell finds it from where it runs, hookwire from the definition's directory.
    let is_relative = program.contains('/') && !program.starts_with('/');
    // In arguments, unlike in shell texts, hookwire fills placeholders in.
    let has_placeholders = text.contains(['$', '{', '}', '%']);
    // A second reader; it leaves out where the system's own programs are.
    let (read, line) = (shell::parse(&text).commands, words.join(" "));
    let is_read_the_same = read.iter().any(|it| *it == line || line.ends_with(&format!("/{it}")));
    if is_relative || has_placeholders || SHELL_ONLY.contains(&program.as_str()) || !is_read_the_same {
        return None;
    }
    let list: Vec<String> = words.iter().map(|word| item(document.format(), word)).collect();
    let change = (span, format!("[{}]", list.join(", ")));
    let after = apply(&document.text, std::slice::from_ref(&change));
    let root = parse(&after, document.format()).ok()?;
    let is_list = |node: &Node| node.to_json() == json!(words);
    let lists = |node: &Node| count(node, &is_list);
    // A file of another system has no lists there.
    let is_native = matches!(reading.root, std::borrow::Cow::Borrowed(_));
    (is_native && lists(&root) == lists(&reading.root) + 1).then_some(change)
}

fn count(node: &Node, is_it: &dyn Fn(&Node) -> bool) -> usize {
    let inner: usize = match &node.value {
        NodeValue::Map(entries) => entries.iter().map(|entry| count(&entry.value, is_it)).sum(),
        NodeValue::Seq(items) => items.iter().map(|item| count(item, is_it)).sum(),
        _ => 0,
    };
    inner + usize::from(matches!(node.value, NodeValue::Seq(_)) && is_it(node))
}

/// A word as an item of a list in brackets.
fn item(format: Format, word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_./-".contains(c);
    let reads_back = || parse(&format!("[{word}]"), Format::Yaml).is_ok_and(|it| it.to_json() == json!([word]));
    match format {
        Format::Yaml if word.chars().all(is_plain) && reads_back() => word.to_string(),
        Format::Yaml | Format::Toml | Format::Json => Value::from(word).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::editor::Encoding;
    use super::*;
    use crate::syntax::formats::Format;
    use std::path::Path;

    fn document(name: &str, text: &str) -> Document {
        let uri = format!("file:///p/.hookwire/{name}").parse().unwrap();
        Document::new(uri, format!("/p/.hookwire/{name}").into(), 1, text.into(), Encoding::Utf8)
    }

    /// Every mend of the first mistake with this code: its title, a `!` if preferred, and its text.
    fn mended(name: &str, text: &str, code: &str) -> Vec<(String, String)> {
        let document = document(name, text);
        let diagnostics = &document.checked().diagnostics;
        let wrong = diagnostics.iter().find(|it| it.code == code);
        let wrong = wrong.unwrap_or_else(|| panic!("no {code} in {text}: {diagnostics:?}"));
        let of_it = |(diagnostic, _): &(&Diagnostic, Fix)| std::ptr::eq(*diagnostic, wrong);
        let fixes = fixes(&document, &(wrong.span.start..wrong.span.start), &|| true).into_iter().filter(of_it);
        let told = |fix: Fix| {
            let after = apply(text, &fix.changes);
            let checked = check(&document.file(), &after, document.layer);
            let same = checked.diagnostics.iter().filter(|it| it.code == code && it.message == wrong.message).count();
            let before = diagnostics.iter().filter(|it| it.code == code && it.message == wrong.message).count();
            assert!(same < before, "{after}");
            (format!("{}{}", fix.title, if fix.is_preferred { "!" } else { "" }), after)
        };
        fixes.map(|(_, fix)| told(fix)).collect()
    }

    #[test]
    fn mends_leave_nothing_to_mend() {
        let yaml = |hook: &str| format!("hooks:\n  - name: a # n\n{}\n", hook.replace("; ", "\n").replace('~', "    "));
        let of = |hook: &str| ("a.yaml", yaml(hook));
        let cases = [
            // A wrong word.
            (of("~on: Stop; ~dney: x"), "unknown-field", "Change it to `deny`!", yaml("~on: Stop; ~deny: x")),
            (of("~on: [Stop, 'PreTolUse']; ~deny: x"), "unknown-event", "Change it to `PreToolUse`!", yaml("~on: [Stop, 'PreToolUse']; ~deny: x")),
            (of("~on: Stop; ~fail: opne; ~deny: x"), "wrong-type", "Change it to `open`!", yaml("~on: Stop; ~fail: open; ~deny: x")),
            (of("~guard: redact-secret"), "wrong-type", "Change it to `redact-secrets`!", yaml("~guard: redact-secrets")),
            (of("~guard: {step-limt: {max: 3}}"), "wrong-type", "Change it to `step-limit`!", yaml("~guard: {step-limit: {max: 3}}")),
            (of("~guard: {step-limit: {mx: 3}}"), "unknown-field", "Change it to `max`!", yaml("~guard: {step-limit: {max: 3}}")),
            (of("~on: Stop; ~dialect: claude-cod; ~deny: x"), "unknown-dialect", "Change it to `claude-code`!", yaml("~on: Stop; ~dialect: claude-code; ~deny: x")),
            (of("~on: PreToolUse; ~matcher: Read|bash; ~deny: x"), "never-matches", "Change it to `Bash`!", yaml("~on: PreToolUse; ~matcher: Read|Bash; ~deny: x")),
            (of("~on: PreToolUse; ~if: bash(bash x); ~deny: x"), "never-matches", "Change it to `Bash`!", yaml("~on: PreToolUse; ~if: Bash(bash x); ~deny: x")),
            (of("~on: PreToolUse; ~matcher: mcp__git; ~deny: x"), "never-matches", "Change it to `mcp__git__.*`!", yaml("~on: PreToolUse; ~matcher: mcp__git__.*; ~deny: x")),
            (("a.toml", "[[hooks]]\nname = 'a'\non = 'PreTolUse'\ndeny = 'x'\n".into()), "unknown-event", "Change it to `PreToolUse`!", "[[hooks]]\nname = 'a'\non = 'PreToolUse'\ndeny = 'x'\n".into()),
            (("a.json", "{\"hooks\": [{\"name\": \"a\", \"no\": \"Stop\", \"deny\": \"x\"}]}".into()), "unknown-field", "Change it to `on`!", "{\"hooks\": [{\"name\": \"a\", \"on\": \"Stop\", \"deny\": \"x\"}]}".into()),
            // Words that are told outright.
            (of("~on: PreToolUse; ~matcher: '*Bash'; ~deny: x"), "bad-regex", "Write `.*`!", yaml("~on: PreToolUse; ~matcher: '.*Bash'; ~deny: x")),
            (of("~on: PreToolUse; ~matcher: Bash(ls *); ~deny: x"), "never-matches", "Write it as `if`!", yaml("~on: PreToolUse; ~if: Bash(ls *); ~deny: x")),
            (of("~on: Stop; ~matcher: Bash; ~deny: x"), "never-matches", "Remove `matcher`!", yaml("~on: Stop; ~deny: x")),
            (of("~on: Stop; ~guard: {rate-limit: {max: 3}}"), "idle-guard", "Leave out `on`!", yaml("~guard: {rate-limit: {max: 3}}")),
            (("a.json", "{\"hooks\": [{\"name\": \"a\", \"guard\": {\"rate-limit\": {\"max\": 3}}, \"on\": \"Stop\"}]}".into()), "idle-guard", "Leave out `on`!", "{\"hooks\": [{\"name\": \"a\", \"guard\": {\"rate-limit\": {\"max\": 3}}}]}".into()),
            (("a.toml", "[[hooks]]\nname = 'a'\non = 'Stop'\n[hooks.guard.rate-limit]\nmax = 3\n".into()), "idle-guard", "Leave out `on`!", "[[hooks]]\nname = 'a'\n[hooks.guard.rate-limit]\nmax = 3\n".into()),
            (of("~deny: x"), "missing-on", "Add `on: PreToolUse`", yaml("~on: PreToolUse; ~deny: x")),
            (of("~on: Stop; ~deny: 3"), "wrong-type", "Quote it!", yaml("~on: Stop; ~deny: \"3\"")),
            (of("~on: Stop; ~callable: {python: acme.review}"), "bad-handler", "Write it as `module:function`!", yaml("~on: Stop; ~callable: {python: acme:review}")),
            (("a.yaml", "- name: a\n  on: Stop\n  deny: x\n".into()), "wrong-type", "Write `hooks:` above the list!", "hooks:\n- name: a\n  on: Stop\n  deny: x\n".into()),
            (("a.json", "[{\"name\": \"a\"}]".into()), "wrong-type", "Write `hooks:` above the list!", "{\"hooks\": [{\"name\": \"a\"}]}".into()),
            (of("~on: Stop; ~deny: no: never # c"), "syntax", "Put it in quotes!", yaml("~on: Stop; ~deny: \"no: never\" # c")),
            (of("~on: Stop; ~deny: @all \"x\""), "syntax", "Put it in quotes!", yaml("~on: Stop; ~deny: \"@all \\\"x\\\"\"")),
            (of("~on: Stop; ~when: tol.name == 'x'; ~deny: x"), "unknown-name", "Change it to `tool`!", yaml("~on: Stop; ~when: tool.name == 'x'; ~deny: x")),
            (of("~on: Stop; ~fail: open; ~prompt: {text: 'is ${tool.command} fine'}"), "unknown-name", "Change it to `tool.input.command`!", yaml("~on: Stop; ~fail: open; ~prompt: {text: 'is ${tool.input.command} fine'}")),
            // What is missing, or too much.
            (of("~on: []; ~deny: x"), "missing-on", "Add `on: PreToolUse`", yaml("~on: PreToolUse; ~deny: x")),
            (("a.toml", "[[hooks]]\ndeny = 'x'\nname = 'a'\n".into()), "missing-on", "Add `on: PreToolUse`", "[[hooks]]\ndeny = 'x'\nname = 'a'\non = 'PreToolUse'\n".into()),
            (("a.yaml", "hooks:\n  - on: [PreToolUse, Stop]\n    deny: x\n".into()), "missing-name", "Give it a name!", "hooks:\n  - name: deny-pre-tool-use\n    on: [PreToolUse, Stop]\n    deny: x\n".into()),
            (("a.yaml", "hooks:\n- {name: deny-stop, on: Stop, deny: x}\n- {on: Stop, deny: y}\n".into()), "missing-name", "Give it a name!", "hooks:\n- {name: deny-stop, on: Stop, deny: x}\n- {name: deny-stop-2, on: Stop, deny: y}\n".into()),
            (("a.yaml", "hooks:\n- guard: {step-limit: {max: 3}}\n  fail: open\n".into()), "missing-name", "Give it a name!", "hooks:\n- name: step-limit\n  guard: {step-limit: {max: 3}}\n  fail: open\n".into()),
            (("a.yaml", "hooks:\n- name:\n  on: 'custom:Odd_one'\n  ask: x\n".into()), "missing-name", "Give it a name!", "hooks:\n- name: ask-custom-odd-one\n  on: 'custom:Odd_one'\n  ask: x\n".into()),
            (("a.yaml", "hooks:\n- name: ''\n  on: Stop\n  deny: x\n".into()), "missing-name", "Give it a name!", "hooks:\n- name: deny-stop\n  on: Stop\n  deny: x\n".into()),
            (("a.toml", "[[hooks]]\non = 'Stop'\ndeny = 'x'\n".into()), "missing-name", "Give it a name!", "[[hooks]]\nname = 'deny-stop'\non = 'Stop'\ndeny = 'x'\n".into()),
            (("a.json", "{\"hooks\": [\n  {\n    \"on\": \"Stop\",\n    \"deny\": \"x\"\n  }\n]}".into()), "missing-name", "Give it a name!", "{\"hooks\": [\n  {\n    \"name\": \"deny-stop\",\n    \"on\": \"Stop\",\n    \"deny\": \"x\"\n  }\n]}".into()),
            (of("~on: Stop"), "missing-handler", "Add `deny: not allowed here`", yaml("~on: Stop; ~deny: not allowed here")),
            (("a.json", "{\"hooks\": [{\"name\": \"a\", \"on\": \"Stop\"}]}".into()), "missing-handler", "Add `deny: not allowed here`", "{\"hooks\": [{\"name\": \"a\", \"on\": \"Stop\", \"deny\": \"not allowed here\"}]}".into()),
            (of("~on: Stop; ~deny: x; ~command: y"), "several-handlers", "Remove `deny`", yaml("~on: Stop; ~command: y")),
            (("a.yaml", "hooks:\n- {name: a, on: Stop, deny: x}\n- {name: a, on: Stop, deny: y}\n- {name: a-2, on: Stop, deny: z}\n".into()), "duplicate-name", "Call it `a-3`!", "hooks:\n- {name: a, on: Stop, deny: x}\n- {name: a-3, on: Stop, deny: y}\n- {name: a-2, on: Stop, deny: z}\n".into()),
            (("a.toml", "[[hooks]]\nname = 'a'\non = 'Stop'\ndeny = 'x'\n[[hooks]]\nname = 'a'\non = 'Stop'\ndeny = 'x'\n".into()), "duplicate-name", "Call it `a-2`!", "[[hooks]]\nname = 'a'\non = 'Stop'\ndeny = 'x'\n[[hooks]]\nname = 'a-2'\non = 'Stop'\ndeny = 'x'\n".into()),
            (of("~on: Stop; ~fail: open; ~http:; ~  url: https://x.org; ~  headers: {a: '${env.TOK}'}"), "bad-handler", "Add `TOK` to `inheritEnv`!", yaml("~on: Stop; ~fail: open; ~http:; ~  url: https://x.org; ~  inheritEnv: [TOK]; ~  headers: {a: '${env.TOK}'}")),
            (of("~on: Stop; ~fail: open; ~http: {url: 'https://x.org', headers: {a: '${env.TOK}'}, inheritEnv: [B]}"), "bad-handler", "Add `TOK` to `inheritEnv`!", yaml("~on: Stop; ~fail: open; ~http: {url: 'https://x.org', headers: {a: '${env.TOK}'}, inheritEnv: [B, TOK]}")),
            (of("~on: Stop; ~fail: open; ~http:; ~  url: https://x.org; ~  headers: {a: '${env.TOK}'}; ~  inheritEnv:; ~    - B"), "bad-handler", "Add `TOK` to `inheritEnv`!", yaml("~on: Stop; ~fail: open; ~http:; ~  url: https://x.org; ~  headers: {a: '${env.TOK}'}; ~  inheritEnv:; ~    - B; ~    - TOK")),
            (("a.toml", "[[hooks]]\nname = 'a'\non = 'Stop'\n[hooks.http]\nurl = 'https://x.org'\nheaders = { a = '${env.TOK}' }\n".into()), "bad-handler", "Add `TOK` to `inheritEnv`!", "[[hooks]]\nname = 'a'\non = 'Stop'\n[hooks.http]\nurl = 'https://x.org'\ninheritEnv = [\"TOK\"]\nheaders = { a = '${env.TOK}' }\n".into()),
            (("a.json", "{\"hooks\": [{\"name\": \"a\", \"on\": \"Stop\", \"http\": {\"url\": \"https://x.org\", \"headers\": {\"a\": \"${env.TOK}\"}}}]}".into()), "bad-handler", "Add `TOK` to `inheritEnv`!", "{\"hooks\": [{\"name\": \"a\", \"on\": \"Stop\", \"http\": {\"url\": \"https://x.org\", \"inheritEnv\": [\"TOK\"], \"headers\": {\"a\": \"${env.TOK}\"}}}]}".into()),
            // Conditions.
            (of("~on: Stop; ~when: tool.input.n > 3; ~deny: x"), "unguarded-when", "Ask `has()` first!", yaml("~on: Stop; ~when: has(tool.input.n) && tool.input.n > 3; ~deny: x")),
            (of("~on: Stop; ~when: \"tool.input.n > 3 || tool.input.m == \\\"x\\\"\"; ~deny: x"), "unguarded-when", "Ask `has()` first!", yaml("~on: Stop; ~when: \"has(tool.input.m) && has(tool.input.n) && (tool.input.n > 3 || tool.input.m == \\\"x\\\")\"; ~deny: x")),
            (of("~on: Stop; ~when: |; ~  tool.input.n; ~    > 3 ? true : false; ~deny: x"), "unguarded-when", "Ask `has()` first!", yaml("~on: Stop; ~when: |; ~  has(tool.input.n) && (tool.input.n; ~    > 3 ? true : false); ~deny: x")),
            (of("~on: Stop; ~when: event.prompt == 'x'; ~deny: x"), "unguarded-when", "Write the member without `event.`!", yaml("~on: Stop; ~when: prompt == 'x'; ~deny: x")),
            (("a.toml", "[[hooks]]\nname = 'a'\non = 'Stop'\nwhen = \"tool.input.n == \\\"a\\\"\"\ndeny = 'x'\n".into()), "unguarded-when", "Ask `has()` first!", "[[hooks]]\nname = 'a'\non = 'Stop'\nwhen = \"has(tool.input.n) && tool.input.n == \\\"a\\\"\"\ndeny = 'x'\n".into()),
        ];
        for ((name, text), code, title, expected) in cases {
            let found = mended(name, &text, code);
            let found = found.iter().map(|(title, text)| (title.as_str(), text.as_str())).next().unwrap_or_default();
            assert_eq!(found, (title, expected.as_str()), "{text}");
        }
    }

    #[test]
    fn a_failure_direction_is_added_in_place() {
        for (name, text, closed, for_all) in [
            (
                "a.yaml",
                "hooks:\n  - name: a # n\n    on: PreToolUse\n    command: x\n",
                "hooks:\n  - name: a # n\n    fail: closed\n    on: PreToolUse\n    command: x\n",
                "defaults:\n  fail: closed\nhooks:\n  - name: a # n\n    on: PreToolUse\n    command: x\n",
            ),
            (
                "a.yaml",
                "defaults:\r\n  priority: 3\r\nhooks:\r\n-\r\n  on: PreToolUse\r\n  command: x\r\n  name: 'a'",
                "defaults:\r\n  priority: 3\r\nhooks:\r\n-\r\n  on: PreToolUse\r\n  command: x\r\n  name: 'a'\r\n  fail: closed",
                "defaults:\r\n  priority: 3\r\n  fail: closed\r\nhooks:\r\n-\r\n  on: PreToolUse\r\n  command: x\r\n  name: 'a'",
            ),
            (
                "a.yaml",
                "defaults:\nhooks: [{name: a, on: PreToolUse, command: x}]\n",
                "defaults:\nhooks: [{name: a, fail: closed, on: PreToolUse, command: x}]\n",
                "defaults:\n  fail: closed\nhooks: [{name: a, on: PreToolUse, command: x}]\n",
            ),
            (
                "a.yaml",
                "{hooks: [{\"name\": a, on: PreToolUse, command: x}]}",
                "{hooks: [{\"name\": a, \"fail\": \"closed\", on: PreToolUse, command: x}]}",
                "{defaults: {fail: closed}, hooks: [{\"name\": a, on: PreToolUse, command: x}]}",
            ),
            (
                "a.toml",
                "dialect = 'native'\n# hooks\n[[hooks]]\nname = 'a'\non = 'PreToolUse'\n[hooks.command]\nrun = 'x'\n",
                "dialect = 'native'\n# hooks\n[[hooks]]\nname = 'a'\nfail = 'closed'\non = 'PreToolUse'\n[hooks.command]\nrun = 'x'\n",
                "dialect = 'native'\n# hooks\n[defaults]\nfail = \"closed\"\n\n[[hooks]]\nname = 'a'\non = 'PreToolUse'\n[hooks.command]\nrun = 'x'\n",
            ),
            (
                "a.toml",
                "hooks = [{ name = \"a\", on = \"PreToolUse\", command = \"x\" }]\n",
                "hooks = [{ name = \"a\", fail = \"closed\", on = \"PreToolUse\", command = \"x\" }]\n",
                "defaults.fail = \"closed\"\nhooks = [{ name = \"a\", on = \"PreToolUse\", command = \"x\" }]\n",
            ),
            (
                "a.json",
                "{\n  // all\n  \"hooks\": [\n    {\n      \"name\": \"a\",\n      \"on\": \"PreToolUse\",\n      \"command\": \"x\"\n    }\n  ]\n}\n",
                "{\n  // all\n  \"hooks\": [\n    {\n      \"name\": \"a\",\n      \"fail\": \"closed\",\n      \"on\": \"PreToolUse\",\n      \"command\": \"x\"\n    }\n  ]\n}\n",
                "{\n  // all\n  \"defaults\": { \"fail\": \"closed\" },\n  \"hooks\": [\n    {\n      \"name\": \"a\",\n      \"on\": \"PreToolUse\",\n      \"command\": \"x\"\n    }\n  ]\n}\n",
            ),
        ] {
            let fixes = mended(name, text, "no-fail-direction");
            let expected = [
                ("Add `fail: closed`!", closed.to_string()),
                ("Add `fail: open`", closed.replace("closed", "open")),
                ("Set `fail: closed` for the whole file", for_all.to_string()),
            ];
            let found: Vec<_> = fixes.iter().map(|(title, text)| (title.as_str(), text.clone())).collect();
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn shell_texts_become_programs_where_that_is_the_same() {
        for (name, text, expected) in [
            ("a.yaml", "python3 check.py", Some("[python3, check.py]")),
            ("a.yaml", "npm run lint:fix", Some("[npm, run, \"lint:fix\"]")),
            ("a.yaml", "git log -n 3 'a b'", Some("[git, log, -n, \"3\", \"a b\"]")),
            ("a.yaml", "|\n      python3 check.py", Some("[python3, check.py]")),
            ("a.yaml", "/bin/echo true", Some("[/bin/echo, \"true\"]")),
            ("a.json", "\"python3 check.py\"", Some("[\"python3\", \"check.py\"]")),
            ("a.toml", "'python3 check.py'", Some("[\"python3\", \"check.py\"]")),
            ("a.yaml", "./check.sh x", None),
            ("a.yaml", "exit 2", None),
            ("a.yaml", "cd x", None),
            ("a.yaml", "A=1 python3 x", None),
            ("a.yaml", "env A=1 python3 x", None),
            ("a.yaml", "python3 $X", None),
            ("a.yaml", "a | b", None),
            ("a.yaml", "a && b", None),
            ("a.yaml", "ls *", None),
            ("a.yaml", "ls > x", None),
            ("a.yaml", "echo '${x}'", None),
        ] {
            let file = match Format::from_path(Path::new(name)) {
                Some(Format::Json) => {
                    format!("{{\"hooks\": [{{\"name\": \"a\", \"on\": \"Stop\", \"command\": {text}}}]}}")
                }
                Some(Format::Toml) => format!("[[hooks]]\nname = 'a'\non = 'Stop'\ncommand = {text}\n"),
                _ => format!("hooks:\n  - name: a\n    on: Stop\n    command: {text}\n"),
            };
            let document = document(name, &file);
            let at = file.find("command").unwrap() + "command: ".len() + 2;
            let found = program_of_shell(&document, &(at..at)).map(|(_, new)| new);
            assert_eq!(found.as_deref(), expected, "{file}");
        }
    }

    /// Wherever the cursor is, nothing panics.
    #[test]
    fn every_place_of_the_examples() {
        let mut found = 0;
        for document in crate::lsp::written::examples() {
            for at in (0..=document.text.len() + 5).step_by(5) {
                found += fixes(&document, &(at..at), &|| true).len();
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
            ("a.yaml", "hooks:\n- name: a\n  on: S|top\n- name: b\n", Some("a")),
            ("a.yaml", "hooks:\n- name: a\n  on: Stop\ndef|aults: {}\n", None),
            ("a.json", "{\"hooks\": [{\"name\": \"a\"}, {\"na|me\": \"b\"}]}", Some("b")),
            ("a.toml", "[[hooks]]\nname = 'a'\n[hooks.script]\nfi|le = 'x'\n", Some("a")),
        ] {
            let at = text.find('|').unwrap();
            let found = hook_at(&document(name, &text.replace('|', "")), at);
            assert_eq!(found.as_deref(), expected, "{text}");
        }
    }
}
