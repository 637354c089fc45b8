//! Completion: the texts that could be written at a place.
//!
//! Keys and fixed values come from the schema; names of tools, paths into events and their values
//! come from the events of running hosts.

mod about;
mod conditions;
mod keys;
mod paths;
mod placeholders;
mod rules;
mod snippet;
mod values;
mod writer;

use super::context::Here;
use super::document::{Document, Lines};
use super::editor::Abilities;
use super::half_typed::find_completing;
use super::surroundings::Surroundings;
use hookwire_base::syntax::formats::Format;
use hookwire_base::syntax::node::Span;
use hookwire_base::syntax::node::Step;
use ls_types::{
    CompletionItem, CompletionItemKind as ItemKind, CompletionItemLabelDetails, CompletionTextEdit,
    Documentation, InsertTextFormat, InsertTextMode, MarkupContent, MarkupKind, Position, TextEdit,
};
use std::collections::BTreeSet;
use writer::{Item, Seen, Writer};

pub(super) use conditions::about_function;
pub(super) use paths::at_path;
pub(super) use rules::about_rule;

/// The most items of one answer; nobody reads more.
const MAX_ITEMS: usize = 500;
pub(super) fn complete_at(
    document: &Document,
    position: Position,
    around: &Surroundings<'_>,
) -> Vec<CompletionItem> {
    let lines = document.lines();
    let seen = Seen {
        events: around.events(),
        tools: around.live.tools(),
    };
    let abilities = around.abilities;
    let items = completion_items(
        &document.text,
        document.format(),
        lines.offset(position),
        &seen,
        abilities.snippets,
    );
    let ranked = items.into_iter().enumerate();
    ranked
        .map(|(rank, item)| as_lsp(rank, item, &document.text, &lines, abilities))
        .collect()
}

fn as_lsp(
    rank: usize,
    item: Item,
    text: &str,
    lines: &Lines<'_>,
    abilities: &Abilities,
) -> CompletionItem {
    let has_lines = item.text.contains('\n');
    let adjusts = abilities.adjusts_indentation;
    let new_text = if has_lines && !adjusts {
        indent_lines(&item.text, text, item.span.start)
    } else {
        item.text
    };
    let also = item.also.map(|(at, text)| TextEdit {
        range: lines.range(&(at..at)),
        new_text: text,
    });
    CompletionItem {
        label_details: item.origin.map(|description| CompletionItemLabelDetails {
            detail: None,
            description: Some(description),
        }),
        kind: item.kind,
        detail: item.detail,
        documentation: (!item.about.is_empty()).then_some(if abilities.markdown_completions {
            Documentation::MarkupContent(MarkupContent {
                kind: MarkupKind::Markdown,
                value: item.about,
            })
        } else {
            Documentation::String(item.about)
        }),
        sort_text: Some(format!("{rank:04}")),
        filter_text: Some(item.filter.unwrap_or_else(|| item.label.clone())),
        label: item.label,
        insert_text_format: item.is_snippet.then_some(InsertTextFormat::SNIPPET),
        insert_text_mode: (has_lines && adjusts).then_some(InsertTextMode::ADJUST_INDENTATION),
        text_edit: Some(CompletionTextEdit::Edit(TextEdit {
            range: lines.range(&item.span),
            new_text,
        })),
        additional_text_edits: also.map(|it| vec![it]),
        ..CompletionItem::default()
    }
}

/// Further lines as far right as the line that they go into, for editors that insert them as they
/// are.
fn indent_lines(inserted: &str, text: &str, at: usize) -> String {
    let before = text.get(..at).unwrap_or_default();
    let line = before
        .get(before.rfind('\n').map_or(0, |at| at + 1)..)
        .unwrap_or_default();
    let indent = line.len() - line.trim_start_matches([' ', '\t']).len();
    inserted.replace(
        '\n',
        &format!("\n{}", line.get(..indent).unwrap_or_default()),
    )
}

fn completion_items(
    text: &str,
    format: Format,
    offset: usize,
    seen: &Seen,
    snippets: bool,
) -> Vec<Item> {
    let mut items: Vec<Item> = Vec::new();
    let mut told = BTreeSet::new();
    let mut readings = find_completing(text, format, offset);
    // Where a hook may begin, that is what is meant.
    readings.sort_by_key(|reading| {
        !(reading.lead == "- "
            && matches!(reading.path()[..], [Step::Key("hooks"), Step::Index(_)]))
    });
    for reading in &readings {
        let path = reading.path();
        let here = Here::new(&reading.root, &path, text);
        let writer = Writer {
            text,
            format,
            offset,
            reading,
            here: &here,
            snippets,
        };
        let offered = if reading.is_key {
            writer.keys()
        } else {
            writer.value_items(seen)
        };
        for mut item in offered {
            match reading.comma {
                Some(at) if at == item.span.start => item.text = format!(", {}", item.text),
                Some(at) => item.also = Some((at, ",".into())),
                None => {}
            }
            items.extend(
                told.insert((item.label.clone(), item.kind == Some(ItemKind::METHOD)))
                    .then_some(item),
            );
        }
    }
    // A whole document's text has to be on one line: editors take no other edits here.
    items.retain(|item| {
        text.get(item.span.clone())
            .is_some_and(|it| !it.contains('\n'))
            && holds_offset(&item.span, offset)
    });
    items.truncate(MAX_ITEMS);
    items
}

fn holds_offset(span: &Span, offset: usize) -> bool {
    span.start <= offset && offset <= span.end
}

#[cfg(test)]
mod tests {
    use super::conditions::FUNCTIONS;
    use super::snippet::STOP;
    use super::*;
    use hookwire_base::event::Event;
    use hookwire_testing::rows;
    use serde::Deserialize;
    use serde_json::json;
    use std::sync::Arc;

    fn seen() -> Seen {
        let event = |value| Arc::new(Event::from_json(value).unwrap());
        let events = vec![
            event(
                json!({"event": "PreToolUse", "session": "s", "agent": {"name": "coder"}, "tool": {"name": "Bash", "input": {"command": "git push --force", "odd-key": "x${y}"}}}),
            ),
            event(
                json!({"event": "PreToolUse", "tool": {"name": "mcp__pay", "input": {"amount": 12, "to": ["bob"]}}}),
            ),
            event(json!({"event": "UserPromptSubmit", "prompt": "hi"})),
            event(
                json!({"event": "PreToolUse", "cwd": "/p", "tool": {"name": "Write", "input": {"file_path": "/p/src/a.rs", "in": 1}}}),
            ),
            event(
                json!({"event": "PreToolUse", "tool": {"name": "Bash", "input": {"command": "echo \"a: *\""}}}),
            ),
            event(
                json!({"event": "PreToolUse", "tool": {"name": "Bash", "input": {"command": "ls #x"}}}),
            ),
        ];
        Seen {
            events,
            tools: BTreeSet::from(["mcp__pay".to_string()]),
        }
    }

    fn marked(text: &str) -> (String, usize) {
        let (before, after) = text.split_once('¦').unwrap();
        (format!("{before}{after}"), before.len())
    }

    fn of(format: Format, text: &str, seen: &Seen, snippets: bool) -> (String, Vec<Item>) {
        let (text, offset) = marked(text);
        let items = completion_items(&text, format, offset, seen, snippets);
        (text, items)
    }

    fn format_of(text: &str) -> Format {
        match text.chars().next() {
            Some('{') => Format::Json,
            Some('[') => Format::Toml,
            _ => Format::Yaml,
        }
    }

    /// The text after the item of this label was taken, its cursor included; empty if it isn't
    /// offered.
    fn taken(text: &str, label: &str, snippets: bool) -> String {
        let (source, items) = of(format_of(text), text, &seen(), snippets);
        let Some(item) = items.iter().find(|item| item.label == label) else {
            return String::new();
        };
        let mut source = source;
        source.replace_range(item.span.clone(), &item.text);
        if let Some((at, text)) = &item.also {
            source.insert_str(*at, text);
        }
        source
    }

    #[test]
    fn what_is_taken_fits() {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Row {
            text: String,
            label: String,
            after: String,
        }
        rows::compare("lsp/taken.jsonl", |row: Row| {
            (taken(&row.text, &row.label, true), row.after)
        });
        // Without snippets.
        assert_eq!(
            taken("hooks:\n  - name: a\n    ht¦", "http", false),
            "hooks:\n  - name: a\n    http:"
        );
        assert_eq!(
            taken("{\"ho¦\"}", "hooks", false),
            "{\"hooks\": [{ \"name\": \"\" }]}"
        );
        assert_eq!(
            taken("{\"hooks\": [{\"name\": \"a\", ¦}]}", "async", false),
            "{\"hooks\": [{\"name\": \"a\", \"async\": true}]}"
        );
        // With nothing there yet.
        let (_, items) = of(Format::Json, "\n¦", &seen(), true);
        assert_eq!(
            items.first().map(|it| &*it.text),
            Some("{ \"hooks\": [{ \"name\": \"$0\" }] }")
        );
        let (_, items) = of(Format::Toml, "¦", &seen(), true);
        assert!(
            items.iter().any(|it| it.text == "\"\\$schema\" = \"$0\""),
            "{items:?}"
        );
        assert_eq!(
            taken("hooks:\n- name: a\n  if: ¦", "Bash", false),
            "hooks:\n- name: a\n  if: Bash"
        );
    }

    #[test]
    fn the_likely_comes_first() {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Row {
            text: String,
            first: Vec<String>,
            never: String,
        }
        rows::compare("lsp/offered.jsonl", |row: Row| {
            let (_, items) = of(format_of(&row.text), &row.text, &seen(), true);
            let labels: Vec<String> = items.into_iter().map(|item| item.label).collect();
            assert!(!labels.contains(&row.never), "{}: {labels:?}", row.text);
            (
                labels.into_iter().take(row.first.len()).collect(),
                row.first,
            )
        });
        let own = of(
            Format::Yaml,
            "dialect: agentpool\nhooks:\n  - name: a\n    on: ¦",
            &seen(),
            true,
        )
        .1;
        let place = |label: &str| own.iter().position(|it| it.label == label);
        assert!(place("pre_run") < place("Stop") && place("Stop") < place("PreToolCall"));
        let filter = |label: &str| {
            own.iter()
                .find(|it| it.label == label)
                .and_then(|it| it.filter.as_deref())
        };
        assert_eq!(
            (filter("pre_run"), filter("PreToolCall")),
            (None, Some("workflow-framework PreToolCall"))
        );
        let row = own
            .iter()
            .find(|it| it.label == "pre_run")
            .map(|it| (it.origin.as_deref(), it.detail.as_deref()));
        assert_eq!(row, Some((Some("agentpool"), Some("RunStart"))));
    }

    /// The table of functions is what the crate at hand understands.
    #[test]
    fn functions_are_there() {
        let text = json!({"event": "Stop", "prompt": "a", "messages": ["a"], "step": 1});
        for function in FUNCTIONS {
            let argument = match function.name {
                "has" => "tool.name",
                "int" | "double" | "string" => "step",
                "size" => "prompt",
                _ if (function.fits)(&json!([])) => "it == 'a'",
                _ => "a",
            };
            let on = if (function.fits)(&json!([])) {
                "messages"
            } else {
                "prompt"
            };
            let call = function.call.replace(STOP, argument);
            let source = if function.is_method {
                format!("{on}.{call}")
            } else {
                call
            };
            let when = hookwire_rules::matching::when::When::new(&source).unwrap();
            let truth = when.holds(&text);
            let is_known = !format!("{truth:?}").contains("failed") || function.name == "has";
            assert!(is_known, "{source}: {truth:?}");
        }
    }

    /// All places would take half an hour in a build that isn't optimised. It has no part in 3, so
    /// that each way has its turn.
    const STRIDE: usize = 11;
    /// The same where no variable asks for all that there is to try.
    const LONG_STRIDE: usize = 430;

    /// Wherever the cursor is in whatever is there, it is answered, and quickly.
    #[test]
    fn every_place_of_every_example_is_answered() {
        let seen = seen();
        let mut files = Vec::new();
        let mut folders = vec![hookwire_testing::repo("examples")];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
                if entry.path().is_dir() {
                    folders.push(entry.path());
                } else if let Some(format) = Format::from_path(&entry.path()) {
                    files.push((format, std::fs::read_to_string(entry.path()).unwrap()));
                }
            }
        }
        assert!(files.len() > 50);
        let stride = if std::env::var_os("HOOKWIRE_FULL").is_some() {
            STRIDE
        } else {
            LONG_STRIDE
        };
        for (format, text) in &files {
            for (n, (offset, _)) in text.char_indices().enumerate().step_by(stride) {
                // In turn: as it is, cut off there, in another format.
                let begun = processor_time();
                let offered = match n % 3 {
                    0 => completion_items(text, *format, offset, &seen, true),
                    1 => completion_items(&text[..offset], *format, offset, &seen, n % 2 == 0),
                    _ => {
                        let other = if *format == Format::Yaml {
                            Format::Toml
                        } else {
                            Format::Yaml
                        };
                        completion_items(text, other, offset, &seen, true)
                    }
                };
                assert!(offered.iter().all(
                    |it| holds_offset(&it.span, offset) && text.is_char_boundary(it.span.start)
                ));
                // A build that isn't optimised is some twenty times slower.
                assert!(
                    (processor_time() - begun).as_millis() < 2000,
                    "{offset} of {text}"
                );
            }
        }
    }

    /// What this thread has used; a busy machine doesn't count.
    fn processor_time() -> std::time::Duration {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        std::time::Duration::new(
            time.tv_sec.cast_unsigned(),
            u32::try_from(time.tv_nsec).unwrap(),
        )
    }

    #[test]
    fn hostile_texts_are_answered() {
        let hook = "  - name: a\n    on: PreToolUse\n    command: [x, \"y\"]\n    deny: x\n";
        let large = format!("hooks:\n{}  - name: [\n    ma", hook.repeat(250));
        let texts = [
            "[".repeat(100_000),
            "{\"a\":".repeat(50_000),
            "- ".repeat(50_000),
            "a: ".repeat(20_000),
            "\"".repeat(9_999),
            format!("hooks:\n  - when: {}", "tool.".repeat(20_000)),
            format!("hooks:\n  - prompt: {}", "${".repeat(20_000)),
            "hooks:\r\n  - name: a\r\n    on: Pre".into(),
            "\u{feff}hooks:\n  - na".into(),
            "\0\u{1}\u{2028}".into(),
            large,
        ];
        for text in &texts {
            for format in [Format::Yaml, Format::Toml, Format::Json] {
                let begun = processor_time();
                completion_items(text, format, text.len(), &seen(), true);
                completion_items(text, format, 0, &seen(), true);
                let taken = processor_time() - begun;
                assert!(taken.as_secs() < 5, "{format:?} {text:.40} {taken:?}");
            }
        }
        for text in &texts[7..9] {
            assert!(
                !completion_items(text, Format::Yaml, text.len(), &seen(), true).is_empty(),
                "{text}"
            );
        }
    }
}
