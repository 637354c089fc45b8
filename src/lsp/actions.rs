//! Code actions: fixes of mistakes, rewrites and runs of hooks at a place.
//!
//! A diagnostic carries its fixes; here they are written into the format of the file. A fix is offered only if
//! the text that it makes, checked again, no longer has what was wrong.

use super::document::Document;
use super::editor::Encoding;
use super::lenses::{TRUST, on_what};
use super::plain_text::{MAX_QUOTED, one_line, plain};
use super::same_name::taken_names;
use super::surroundings::Surroundings;
use super::written::{Reading, Written, extent, owner, value_span, workspace_edit};
use crate::definitions::check::{Checked, check};
use crate::definitions::names::FreeNames;
use crate::matching::shell;
use crate::support::changes::{Change, apply};
use crate::support::shell_word;
use crate::syntax::diagnostic::Diagnostic;
use crate::syntax::fix::{Edit, Fix, Place};
use crate::syntax::formats::{Format, parse};
use crate::syntax::node::{Entry, Node, NodeValue, Span};
use crate::syntax::source::Layer;
use ls_types::{
    CodeAction, CodeActionContext, CodeActionKind, CodeActionOrCommand, CodeActionParams, CodeActionResponse,
    CodeActionTriggerKind, Command, NumberOrString, Uri,
};
use serde_json::{Value, json};
use std::ops::Range;
use std::path::Path;
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
        // Names that hooks of other files have are known here only.
        let taken = taken_names(around.project.as_ref(), document, &lines);
        let until = Instant::now() + PATIENCE;
        let goes_on = || Instant::now() < until && is_awaited();
        let here = taken.iter().filter(|it| is_at(it, &place));
        let renamed = here.flat_map(|it| changes_of(document, it)).take(MAX_FIXES);
        for (diagnostic, fix, changes) in tested_fixes(document, &place, &goes_on).into_iter().chain(renamed) {
            let range = lines.range(&diagnostic.span);
            let code = NumberOrString::String(diagnostic.code.clone());
            let solved = |it: &&ls_types::Diagnostic| it.range == range && it.code.as_ref() == Some(&code);
            let solves: Vec<_> = params.context.diagnostics.iter().filter(solved).cloned().collect();
            actions.push(CodeAction {
                title: plain(&fix.title),
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
        let solved = params.context.diagnostics.iter().filter(|it| it.code.as_ref() == Some(&code)).cloned();
        let (title, argument) = ("Review and trust these definitions".to_string(), json!({ "uri": document.uri }));
        actions.push(CodeAction {
            title: title.clone(),
            kind: Some(CodeActionKind::QUICKFIX),
            diagnostics: Some(solved.collect::<Vec<_>>()).filter(|it| !it.is_empty()),
            command: Some(Command { title, command: TRUST.into(), arguments: Some(vec![argument]) }),
            ..CodeAction::default()
        });
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
    // An editor shows a lightbulb by itself only for what is wrong.
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

/// Running and explaining the hook at a place, for editors that show no lenses.
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
    // If several are on one line, the one that the place is in.
    let hooks: Vec<_> = reading.hooks().filter(|(_, node)| holds(node)).collect();
    let exact = hooks.iter().rfind(|(_, node)| extent(node, document.format()).start <= offset);
    exact.or(hooks.first())?.0.name.as_ref().map(|name| name.to_string())
}

/// A fix that was written into the document's format.
type WrittenFix<'d> = (&'d Diagnostic, &'d Fix, Vec<Change>);

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
/// Each test costs as much as a check of the whole text: `goes_on` says for how long it is worth it.
fn tested_fixes<'d>(document: &'d Document, place: &Range<usize>, goes_on: &dyn Fn() -> bool) -> Vec<WrittenFix<'d>> {
    let checked = document.checked();
    let here = checked.diagnostics.iter().filter(|it| is_at(it, place));
    let fixes = here.flat_map(|diagnostic| changes_of(document, diagnostic)).take(MAX_FIXES);
    let tested = fixes.take_while(|_| goes_on());
    tested.filter(|(diagnostic, _, changes)| solves(document, checked, diagnostic, changes)).collect()
}

/// The most fixes that one text gets.
const MAX_MENDED: usize = 1000;

/// A text after the preferred fixes of what is wanted in it, each tested: for whoever has no editor.
pub(crate) fn mended(path: &Path, text: &str, layer: Layer, is_wanted: &dyn Fn(&Diagnostic) -> bool) -> String {
    let Some(uri) = Uri::from_file_path(path) else { return text.to_string() };
    let mut text = text.to_string();
    for _ in 0..MAX_MENDED {
        let document = Document::new(uri.clone(), path.to_path_buf(), 0, text.clone(), Encoding::Utf8).in_layer(layer);
        let checked = document.checked();
        let wanted = checked.diagnostics.iter().filter(|it| is_wanted(it));
        let mut fixes = wanted.flat_map(|it| changes_of(&document, it)).filter(|(_, fix, _)| fix.is_preferred);
        match fixes.find(|(diagnostic, _, changes)| solves(&document, checked, diagnostic, changes)) {
            Some((_, _, changes)) => text = apply(&text, &changes),
            None => break,
        }
    }
    text
}

/// Whether a text with the changes is without what was wrong, and hasn't become worse.
fn solves(document: &Document, before: &Checked, diagnostic: &Diagnostic, changes: &[Change]) -> bool {
    let text = apply(&document.text, changes);
    if text == document.text {
        return false;
    }
    let after = check(&document.file(), &text, document.layer, None);
    let is_it = |it: &&Diagnostic| {
        (&it.code, &it.message, &it.hook) == (&diagnostic.code, &diagnostic.message, &diagnostic.hook)
    };
    let count = |checked: &Checked| checked.diagnostics.iter().filter(is_it).count();
    // A text that could be read must not turn into one that can't, such as one with a key twice.
    let is_read = after.root.is_some() || before.root.is_none();
    is_read && count(&after) < count(before)
}

/// The fixes of a diagnostic with what they change in the document, where they can be written.
fn changes_of<'d>(document: &Document, diagnostic: &'d Diagnostic) -> impl Iterator<Item = WrittenFix<'d>> {
    let write = move |fix: &'d Fix| Some((diagnostic, fix, changes(document, &diagnostic.span, &fix.edit)?));
    diagnostic.fixes.iter().filter_map(write)
}

/// The changes of the document that an edit of a mistake at a place makes.
fn changes(document: &Document, span: &Span, edit: &Edit) -> Option<Vec<Change>> {
    let root = document.checked().root.as_ref();
    let member = || owner(root?, span);
    let entry = || member().and_then(|(map, at)| map.entries().get(at));
    let change = match edit {
        Edit::Replace { wrong, right } => replaced(document, span, wrong, right),
        // A text that can't be read has places, but no tree.
        Edit::QuoteLine => in_quotes(document, span),
        Edit::Quote => {
            let written = document.text.get(span.clone())?;
            let is_plain = written.chars().all(|c| c.is_ascii_alphanumeric() || "+-._:".contains(c));
            (is_plain && !written.is_empty()).then(|| (span.clone(), format!("\"{written}\"")))
        }
        Edit::Wrap { before, after } => return wrapped(document, &entry()?.value, before, after),
        Edit::Cut(parts) => {
            let written = Written::of_node(&entry()?.value, document);
            let spans = parts.iter().flat_map(|part| written.lines(part, &document.text));
            return Some(spans.map(|span| (span, String::new())).collect());
        }
        Edit::Value(new) => Some((value_span(document, entry()?), word(document, new))),
        Edit::Items(items) => {
            let items: Vec<_> = items.iter().map(|it| item(document.format(), it)).collect();
            Some((value_span(document, entry()?), format!("[{}]", items.join(", "))))
        }
        Edit::Key(new) => entry().and_then(|entry| replaced(document, &entry.key_span, &entry.key, new)),
        Edit::Add { key, word, place } => {
            let (map, _) = member()?;
            let at = match place {
                Place::BehindName => after_name(map),
                Place::Last => map.entries().len().checked_sub(1)?,
            };
            member_after(document, map, at, key, word)
        }
        Edit::Remove(key) => {
            let (map, _) = member()?;
            without(document, map, map.entries().iter().position(|it| it.key == *key)?)
        }
        Edit::AddItem { key, item } => member().and_then(|(map, at)| with_item(document, map, at, key, item)),
        Edit::Name(name) => member().and_then(|(hook, at)| named(document, hook, at, name)),
        Edit::Default { key, word } => default_for_all(document, root?, key, word),
        Edit::Under(key) => return list_under(document, root?, key),
    };
    change.map(|it| vec![it])
}

/// The position of a hook's name among its members, else of its first member.
fn after_name(hook: &Node) -> usize {
    hook.entries().iter().position(|it| it.key == "name").unwrap_or(0)
}

/// A hook with a name that no other hook of the file has.
fn named(document: &Document, hook: &Node, at: usize, name: &str) -> Option<Change> {
    let taken = document.hooks().iter().filter_map(|hook| hook.name.as_deref());
    let name = FreeNames::new(taken).free(name);
    match hook.entry("name") {
        // An empty value has no place of its own: what follows the key is written anew.
        Some(written) if document.text.get(written.value.span.clone()).is_none_or(str::is_empty) => {
            let end = written.key_span.end;
            let colon = document.text.get(end..)?.find(':')?;
            Some((end..end + colon + 1, format!(": {}", word(document, &name))))
        }
        Some(written) => Some((value_span(document, written), word(document, &name))),
        None => member_before(document, hook, at, "name", &name),
    }
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

/// The line around an offset, without its line break.
fn line_around(text: &str, offset: usize) -> Option<Span> {
    let start = text.get(..offset)?.rfind(['\n', '\r']).map_or(0, |at| at + 1);
    let end = text.get(offset..)?.find(['\n', '\r']).map_or(text.len(), |len| offset + len);
    Some(start..end)
}

fn line_break(document: &Document) -> &'static str {
    if document.text.contains("\r\n") { "\r\n" } else { "\n" }
}

/// The indentation of a member: the blanks before it, and blanks in place of a dash.
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
    let entry = map.entries().get(at)?;
    let text = &document.text;
    let start = entry.key_span.start;
    let new = member(document, Some(entry), key, word);
    let line = line_around(text, start)?;
    let before = text.get(line.start..start)?;
    // A member that a YAML merge brings in is written elsewhere.
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

/// A list of the map with an item more.
fn with_item(document: &Document, map: &Node, at: usize, key: &str, item: &str) -> Option<Change> {
    let written = word(document, item);
    if let Some(list) = map.get(key) {
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
    // Before the member: its own lines may be many.
    let (span, new) = member_before(document, map, at, key, "\u{0}")?;
    let list = format!("[{written}]");
    let quoted = ["\"\u{0}\"", "'\u{0}'", "\u{0}"].iter().find(|it| new.contains(**it))?;
    Some((span, new.replacen(quoted, &list, 1)))
}

/// A member behind another of its map.
fn member_after(document: &Document, map: &Node, at: usize, key: &str, word: &str) -> Option<Change> {
    let entry = map.entries().get(at)?;
    let text = &document.text;
    // A member that a YAML merge brings in is written elsewhere.
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

/// A member of the file's `defaults`, which are made if there are none.
fn default_for_all(document: &Document, root: &Node, key: &str, word: &str) -> Option<Change> {
    let (text, br) = (&document.text, line_break(document));
    if let Some(defaults) = root.entry("defaults") {
        let value = &defaults.value;
        if !value.entries().is_empty() {
            return member_after(document, value, 0, key, word);
        }
        let new = member(document, None, key, word);
        if is_inline(document, value) {
            return Some((value.span.clone(), format!("{{ {new} }}")));
        }
        let end = line_around(text, defaults.key_span.end)?.end;
        let indentation = if document.format() == Format::Yaml { "  " } else { "" };
        return Some((end..end, format!("{br}{indentation}{new}")));
    }
    let first = root.entry("hooks").or(root.entries().first())?;
    let start = first.key_span.start;
    let line = line_around(text, start)?;
    match document.format() {
        Format::Json => {
            let starts_line = text.get(line.start..start)?.trim().is_empty();
            let separator = if starts_line { format!("{br}{}", indentation(document, start)?) } else { " ".into() };
            Some((start..start, format!("\"defaults\": {{ \"{key}\": \"{word}\" }},{separator}")))
        }
        Format::Yaml if is_inline(document, root) => Some((start..start, format!("defaults: {{{key}: {word}}}, "))),
        Format::Yaml => Some((start..start, format!("defaults:{br}  {key}: {word}{br}"))),
        Format::Toml => {
            // Keys of the file stand before its first table.
            let starts = root.entries().iter().filter_map(|it| Some(line_around(text, it.key_span.start)?.start));
            let is_table = |start: &usize| text.get(*start..).is_some_and(|it| it.trim_start().starts_with('['));
            match starts.filter(is_table).min() {
                Some(table) => Some((table..table, format!("[defaults]{br}{key} = \"{word}\"{br}{br}"))),
                None => Some((line.start..line.start, format!("defaults.{key} = \"{word}\"{br}"))),
            }
        }
    }
}

/// A map without one of its members.
fn without(document: &Document, map: &Node, at: usize) -> Option<Change> {
    let text = &document.text;
    let entry = map.entries().get(at)?;
    let whole = entry.key_span.start..extent(&entry.value, document.format()).end.max(entry.key_span.end);
    let next = map.entries().get(at + 1).map(|next| next.key_span.start).filter(|start| *start >= whole.end);
    if is_inline(document, map) || document.format() == Format::Json {
        let before = at.checked_sub(1).and_then(|at| map.entries().get(at)).map(|it| it.value.span.end);
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

/// A text with something before and behind it, within its quotes.
fn wrapped(document: &Document, value: &Node, before: &str, after: &str) -> Option<Vec<Change>> {
    let whole = Written::of_node(value, document).whole(value.text()?)?;
    let changes = [(whole.start..whole.start, before.to_string()), (whole.end..whole.end, after.to_string())];
    Some(changes.into_iter().filter(|(_, new)| !new.is_empty()).collect())
}

/// The list that is the whole file, under a key.
fn list_under(document: &Document, root: &Node, key: &str) -> Option<Vec<Change>> {
    let (start, end) = (root.span.start, root.span.end);
    if document.text.get(root.span.clone())?.starts_with('[') {
        let quote = if document.format() == Format::Json { "\"" } else { "" };
        return Some(vec![(start..start, format!("{{{quote}{key}{quote}: ")), (end..end, "}".into())]);
    }
    let line = line_around(&document.text, start)?.start;
    Some(vec![(line..line, format!("{key}:{}", line_break(document)))])
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
    let words = shell_word::words(text.trim()).ok()?;
    let program = words.first()?;
    // A shell finds it from where it runs, hookwire from the definition's directory.
    let is_relative = program.contains('/') && !program.starts_with('/');
    // In arguments, unlike in shell texts, hookwire fills placeholders in.
    let has_placeholders = text.contains(['$', '{', '}', '%']);
    // A second reader; it leaves out where the system's own programs are.
    let read = shell::read(&text, shell::Shell::Posix);
    let is_same = |command: &shell::Command| {
        command.words.iter().map(|word| word.text.as_str()).eq(words.iter().map(String::as_str))
    };
    let is_read_the_same = read.commands().first().is_some_and(is_same);
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
    use super::*;
    use crate::lsp::document::document;
    use crate::support::rows;
    use crate::syntax::formats::Format;
    use serde::Deserialize;
    use std::path::Path;

    /// Every fix of the first mistake with this code: its title, a `!` if preferred, and its text.
    fn fixed(name: &str, text: &str, code: &str) -> Vec<(String, String)> {
        let document = document(name, text);
        let diagnostics = &document.checked().diagnostics;
        let wrong = diagnostics.iter().find(|it| it.code == code);
        let wrong = wrong.unwrap_or_else(|| panic!("no {code} in {text}: {diagnostics:?}"));
        let of_it = |(diagnostic, ..): &WrittenFix<'_>| std::ptr::eq(*diagnostic, wrong);
        let fixes = tested_fixes(&document, &(wrong.span.start..wrong.span.start), &|| true);
        let told = |(_, fix, changes): WrittenFix<'_>| {
            let after = apply(text, &changes);
            let checked = check(&document.file(), &after, document.layer, None);
            let same = checked.diagnostics.iter().filter(|it| it.code == code && it.message == wrong.message).count();
            let before = diagnostics.iter().filter(|it| it.code == code && it.message == wrong.message).count();
            assert!(same < before, "{after}");
            (format!("{}{}", fix.title, if fix.is_preferred { "!" } else { "" }), after)
        };
        fixes.into_iter().filter(of_it).map(told).collect()
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
            let expected = expected.map(|(title, text)| (title.to_string(), text)).to_vec();
            (fixed(&row.file, &row.text, "no-fail-direction"), expected)
        });
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
            ("a.yaml", "env A=1 python3 x", Some("[env, \"A=1\", python3, x]")),
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
                found += tested_fixes(&document, &(at..at), &|| true).len();
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
