//! Rules of tools, `Tool(pattern)`.

use super::snippet::{STOP, with_stops};
use super::writer::{Item, Seen, Writer, is_word};
use hookwire_base::syntax::formats::Format;
use hookwire_base::syntax::quoting::{Within, word};
use hookwire_rules::matching::tools::{self, ArgumentKind};
use ls_types::CompletionItemKind as ItemKind;
use std::collections::BTreeSet;
use std::path::Path;

impl Writer<'_> {
    /// `Tool(pattern)`.
    pub(super) fn rule_items(&self, seen: &Seen) -> Vec<Item> {
        let reading = self.reading;
        let Some((tool, pattern)) = reading.typed.split_once('(') else {
            let rest = reading.rest.split('(').next().unwrap_or_default();
            let has_pattern = reading.rest.contains('(');
            return seen
                .tool_names()
                .into_iter()
                .filter_map(|(name, is_called)| {
                    let item = Item {
                        kind: Some(ItemKind::FUNCTION),
                        origin: is_called.then(|| "called".to_string()),
                        about: about_rule(&name),
                        ..Item::default()
                    };
                    if has_pattern {
                        let span = self.word_span(&reading.typed, rest)?;
                        return Some(Item {
                            text: self.inner_text(&name)?,
                            label: name,
                            span,
                            ..item
                        });
                    }
                    if !self.snippets {
                        return self.value_item(&name, item);
                    }
                    let stop = format!("{name}({STOP})");
                    // The stop is no character that any format would escape or quote away.
                    let (span, text) = self.quoted_replacement(&stop.replace(STOP, "_STOP_"))?;
                    let text = with_stops(&text.replace("_STOP_", &STOP.to_string()));
                    Some(Item {
                        label: name,
                        span,
                        text,
                        is_snippet: true,
                        ..item
                    })
                })
                .collect();
        };
        let tool = tool.trim();
        let mut told = BTreeSet::new();
        let mut arguments = Vec::new();
        for event in seen.events.iter().filter(|event| {
            tool.split('|')
                .any(|name| event.tool_name() == Some(name.trim()))
        }) {
            let argument = event
                .at("/tool/input")
                .and_then(|input| tools::main_argument(tool, input));
            let Some((kind, argument)) = argument.filter(|(_, argument)| is_word(argument)) else {
                continue;
            };
            let argument = &*argument;
            match kind {
                ArgumentKind::Shell => {
                    arguments.extend(pattern_alike(argument).map(|it| (it, LIKE)))
                }
                ArgumentKind::Path => {
                    let path = event
                        .cwd()
                        .and_then(|cwd| Path::new(argument).strip_prefix(cwd).ok());
                    let path = path.and_then(Path::to_str).unwrap_or(argument);
                    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
                    let stem = name.rsplit_once('.').filter(|(stem, _)| !stem.is_empty());
                    if !path.contains(GLOB) {
                        arguments.push((path.to_string(), "called"));
                        arguments
                            .extend((!folder.is_empty()).then(|| (format!("{folder}/**"), LIKE)));
                        arguments.extend(stem.map(|(_, kind)| (format!("**/*.{kind}"), LIKE)));
                    }
                    continue;
                }
                ArgumentKind::Url | ArgumentKind::Text => {}
            }
            // It would stand for others too.
            if !argument.contains(GLOB) {
                arguments.push((argument.to_string(), "called"));
            }
        }
        arguments.sort_by_key(|(argument, origin)| match *origin {
            LIKE => argument.starts_with("**/"),
            _ => tools::known(tool).is_none_or(|it| it.kind != ArgumentKind::Path),
        });
        let rest = reading.rest.strip_suffix(')').unwrap_or(&reading.rest);
        let close = if rest.len() == reading.rest.len() {
            ")"
        } else {
            ""
        };
        arguments
            .into_iter()
            .filter_map(|(argument, origin)| {
                if !told.insert(argument.clone()) {
                    return None;
                }
                let whole = format!("{tool}({argument})");
                let origin = Some(origin.to_string());
                let item = Item {
                    label: argument.clone(),
                    kind: Some(ItemKind::VALUE),
                    origin,
                    ..Item::default()
                };
                let within = if reading.in_flow {
                    Within::Map
                } else {
                    Within::Line
                };
                let text = word(&whole, self.format, within);
                if reading.quote.is_none() && self.format == Format::Yaml && text != whole {
                    // The whole rule in quotes.
                    return Some(Item {
                        span: reading.token.clone(),
                        text,
                        filter: Some(whole),
                        ..item
                    });
                }
                let span = self.word_span(pattern, rest)?;
                let text = format!("{}{close}", self.inner_text(&argument)?);
                Some(Item { span, text, ..item })
            })
            .collect()
    }
}

const LIKE: &str = "like one that was called";
/// Characters that have a meaning of their own in a pattern.
const GLOB: [char; 7] = ['*', '?', '[', ']', '{', '}', '\\'];

/// The pattern of commands that begin like this one. What is in quotes isn't cut.
fn pattern_alike(command: &str) -> Option<String> {
    let words: Vec<&str> = command
        .split(' ')
        .take(2)
        .take_while(|word| {
            !word.is_empty()
                && !word.contains(GLOB)
                && !word.contains(['"', '\'', '(', ')', '$', '`'])
        })
        .collect();
    (!words.is_empty()).then(|| format!("{} *", words.join(" ")))
}

/// How a rule of a tool is read.
pub(in super::super) fn about_rule(tool: &str) -> String {
    // Tools that share a pattern are mostly of one kind.
    let tool = tool.split('|').next().unwrap_or_default().trim();
    match tools::known(tool).map(|it| it.kind) {
        Some(ArgumentKind::Shell) => {
            "the pattern is held against every command that the text would run".into()
        }
        Some(ArgumentKind::Path) => "the pattern is a glob on the path".into(),
        Some(ArgumentKind::Url) => "the pattern is matched part by part: scheme, host, path".into(),
        Some(ArgumentKind::Text) => "the pattern is a glob on the argument".into(),
        None => "the pattern is read by the shape of the tool's input".into(),
    }
}
