//! Hover: explains the key or value at a place.
//!
//! Texts of a file or an event are shown as code, so that they can't pass for Markdown.

use super::completion::{about_function, about_rule, at_path};
use super::context::{self, Here, What};
use super::docs;
use super::document::Document;
use super::editor::to_markup;
use super::half_typed::{find_completing, run_around};
use super::plain_text::{clip_value, clipped_text, code_block, code_span};
use super::surroundings::Surroundings;
use super::texts::{self, TextKind};
use super::written::Reading;
use hookwire_base::event::On;
use hookwire_base::event::{EVENTS, Event, MEMBERS, Phase};
use hookwire_base::syntax::formats::Format;
use hookwire_base::syntax::node::Span;
use hookwire_base::syntax::node::Step;
use hookwire_base::template::{OF_CALLS, Style};
use hookwire_dialects::{self as dialects, DIALECTS, Dialect};
use hookwire_engine::hook::Hook;
use hookwire_engine::journal::Counts;
use hookwire_handlers::handlers::guards::GUARDS;
use hookwire_rules::contract::{Composition, Fail, NATIVE};
use hookwire_rules::matching::MatcherRule;
use hookwire_rules::matching::tools::TOOLS;
use ls_types::{Hover, HoverContents, Position};
use std::sync::Arc;

pub(super) fn hover_at(
    document: &Document,
    position: Position,
    around: &Surroundings<'_>,
) -> Option<Hover> {
    let lines = document.lines();
    let (span, value) =
        explanation_at(document, lines.offset(position), &around.events(), |name| {
            around.live.hook_counts(&around.key(), name)
        })?;
    Some(Hover {
        contents: HoverContents::Markup(to_markup(around.abilities.markdown_hovers, value)),
        range: Some(lines.range(&span)),
    })
}

fn explanation_at(
    document: &Document,
    offset: usize,
    events: &[Arc<Event>],
    counts: impl Fn(&str) -> Counts,
) -> Option<(Span, String)> {
    let text = document.text.as_str();
    let Some(root) = &document.checked().root else {
        // It is half typed.
        let readings = find_completing(text, document.format(), offset);
        return readings.iter().find_map(|reading| {
            let path = reading.path();
            let here = Here::new(&reading.root, &path, text);
            let said = format!("{}{}", reading.typed, reading.rest);
            let token = Token {
                text,
                offset,
                span: reading.token.clone(),
                said: &said,
                here: &here,
                events,
            };
            if said.is_empty() {
                return None;
            }
            if reading.is_key {
                token.key()
            } else {
                token.hover_value(|_| None)
            }
        });
    };
    let Some(place) = context::place_at(root, offset) else {
        return header_at(document, offset);
    };
    let here = Here::new(root, &place.path, text);
    let span = place.what.span().clone();
    match place.what {
        What::Key(entry) => Token {
            text,
            offset,
            span,
            said: &entry.key,
            here: &here,
            events,
        }
        .key(),
        What::Value(node) => {
            let said = node
                .text()
                .map_or_else(|| node.to_json().to_string(), str::to_string);
            Token {
                text,
                offset,
                span,
                said: &said,
                here: &here,
                events,
            }
            .hover_value(|name| about_hook(document, name, counts(name)))
        }
    }
}

/// The header of one more TOML table of a list: the tree has the place of the first.
fn header_at(document: &Document, offset: usize) -> Option<(Span, String)> {
    let span = run_around(&document.text, offset, |c| {
        c.is_ascii_alphanumeric() || c == '_'
    });
    let before = document.text.get(..span.start)?;
    let line = before.get(before.rfind('\n').map_or(0, |at| at + 1)..)?;
    let is_header = document.format() == Format::Toml && line.trim() == "[[";
    let name = document
        .text
        .get(span.clone())
        .filter(|name| is_header && *name == "hooks")?;
    Some((span, about_field(&[Step::Key(name)])?))
}

/// A key or value with its surroundings.
struct Token<'a> {
    text: &'a str,
    offset: usize,
    span: Span,
    said: &'a str,
    here: &'a Here<'a>,
    events: &'a [Arc<Event>],
}

impl Token<'_> {
    fn key(&self) -> Option<(Span, String)> {
        let path: Vec<Step<'_>> = self
            .here
            .path
            .iter()
            .copied()
            .chain([Step::Key(self.said)])
            .collect();
        let is_guard = matches!(self.here.path_in_hook(), [Step::Key("guard")]);
        let about = match about_guard(self.said).filter(|_| is_guard) {
            Some(about) => about,
            None => match about_field(&path) {
                Some(about) => about,
                None => about_events(self.said, self.here.dialect)?,
            },
        };
        Some((self.span.clone(), about))
    }

    fn hover_value(&self, hook: impl Fn(&str) -> Option<String>) -> Option<(Span, String)> {
        if let Some(found) = self.placeholder() {
            return Some(found);
        }
        let said = self.said;
        let whole = |about: Option<String>| about.map(|about| (self.span.clone(), about));
        match texts::kind_at(self.here) {
            Some(TextKind::HookName) => whole(hook(said).or_else(|| about_field(&self.here.path))),
            Some(TextKind::Event) if said == "*" => whole(Some("`*`: every event".into())),
            Some(TextKind::Event) => whole(about_events(said, self.here.dialect)),
            Some(TextKind::Guard) => whole(about_guard(said)),
            Some(TextKind::Dialect) => whole(about_dialect(said)),
            Some(TextKind::Matcher) => whole(Some(self.matcher())),
            Some(TextKind::Rule) => whole(Some(describe_rule(said))),
            Some(TextKind::Condition) => {
                self.function().or_else(|| self.member()).or_else(|| whole(Some(format!("{}\n\nA CEL expression over the event. Where it errs, a member that the event lacks included, it can't be told whether it holds.", code_span(&clipped_text(said))))))
            }
            _ => whole(self.choice().or_else(|| about_field(&self.here.path))),
        }
    }

    /// One of the values that the schema lists.
    fn choice(&self) -> Option<String> {
        let docs = docs::FILE.docs_at(&self.here.path);
        let about = docs
            .choices()
            .into_iter()
            .find(|choice| choice.value == self.said)
            .and_then(|choice| choice.about)?;
        let field = docs.about.first().copied().unwrap_or_default();
        Some(format!("{}: {about}\n\n{field}", code_span(self.said)))
    }

    /// A function of CEL.
    fn function(&self) -> Option<(Span, String)> {
        let span = run_around(self.text, self.offset, |c| {
            c.is_ascii_alphanumeric() || c == '_'
        });
        let is_called = self.text.get(span.end..)?.trim_start().starts_with('(')
            && span.start >= self.span.start;
        let (call, about) = about_function(self.text.get(span.clone())?).filter(|_| is_called)?;
        Some((span, format!("{}: {about}", code_span(&call))))
    }

    /// A path of CEL, up to the member that the place is in.
    fn member(&self) -> Option<(Span, String)> {
        let start = run_around(self.text, self.offset, |c| {
            c.is_ascii_alphanumeric() || matches!(c, '_' | '.')
        })
        .start;
        let end = run_around(self.text, self.offset, |c| {
            c.is_ascii_alphanumeric() || c == '_'
        })
        .end;
        let path = self.text.get(start..end)?;
        let first = path.split('.').next()?;
        if !MEMBERS.contains(&first) || start < self.span.start || path.ends_with('.') {
            return None;
        }
        Some((start..end, self.hover_path(path)))
    }

    /// A path into the event: its description, and the value in the last event.
    fn hover_path(&self, path: &str) -> String {
        let steps: Vec<Step<'_>> = path.split('.').map(Step::Key).collect();
        let about = docs::EVENT.docs_at(&steps).text();
        let relevant = self.here.relevant_events(self.events);
        let value = relevant
            .iter()
            .find_map(|event| Some((event, at_path(event.data(), path)?)));
        let value = value.map(|(event, value)| {
            format!(
                "In the last {}:\n{}",
                code_span(&event.name),
                code_block(&clip_value(value))
            )
        });
        let about = if about.is_empty() {
            describe_unspoken(path, &relevant)
        } else {
            Some(about)
        };
        [Some(code_span(path)), about, value]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join("\n\n")
    }

    /// A placeholder of a handler's text.
    fn placeholder(&self) -> Option<(Span, String)> {
        // Conditions have none, and neither has the rest of the file.
        let is_handler = matches!(self.here.path_in_hook().first(), Some(Step::Key(key)) if hookwire_handlers::handlers::KINDS.iter().any(|kind| kind.key == *key));
        let placeholders = &self.here.dialect.contract.placeholders;
        let span = run_around(
            self.text,
            self.offset,
            if placeholders.style == Style::Paths {
                |c| c.is_alphanumeric() || matches!(c, '_' | '.' | '-')
            } else {
                |c| c.is_ascii_alphanumeric() || c == '_'
            },
        );
        let (name, before) = (
            self.text.get(span.clone())?,
            self.text.get(self.span.start..span.start)?,
        );
        let is_closed = self.text.get(span.end..)?.starts_with('}');
        let is_one = match placeholders.style {
            Style::Paths => before.ends_with("${") && !before.ends_with("$${") && is_closed,
            Style::Braces => before.ends_with('{') && is_closed && (placeholders.knows)(name),
            Style::Dollars => {
                (before.ends_with('$') || before.ends_with("${") && is_closed)
                    && (placeholders.knows)(name)
            }
        };
        if !is_handler || !is_one || name.is_empty() {
            return None;
        }
        if placeholders.style == Style::Paths {
            let of_calls = OF_CALLS.iter().find(|(call, _)| *call == name);
            let about = of_calls.map(|(_, about)| format!("{}\n\n{about}", code_span(name)));
            return Some((span, about.unwrap_or_else(|| self.hover_path(name))));
        }
        let relevant = self.here.relevant_events(self.events);
        let value = relevant
            .iter()
            .find_map(|event| Some((event, (placeholders.value)(event, name)?)));
        let value = value.map(|(event, value)| {
            format!(
                "\n\nIn the last {}:\n{}",
                code_span(&event.name),
                code_block(&clip_value(&value))
            )
        });
        Some((
            span,
            format!(
                "{}: a value of the event ({}){}",
                code_span(name),
                self.here.dialect.name(),
                value.unwrap_or_default()
            ),
        ))
    }

    fn matcher(&self) -> String {
        let how = match self.here.dialect.contract.matcher {
            MatcherRule::WholeName => "a regex that must match the whole name",
            MatcherRule::ListOrSearch => {
                "names separated by `|` or `,`; a regex that is searched for if it is made of anything else"
            }
            MatcherRule::Search => "a regex that is searched for; `*` is everything",
            MatcherRule::SearchOnly => "a regex that is searched for",
        };
        if matches!(self.said, "" | "*") {
            return format!("{}: matches every tool", code_span(self.said));
        }
        format!("{}: {how}", code_span(&clipped_text(self.said)))
    }
}

/// Describes a member that the schema doesn't describe.
fn describe_unspoken(path: &str, events: &[&Event]) -> Option<String> {
    let mut steps = path.split('.');
    let (first, second) = (steps.next()?, steps.next());
    if let (("tool", Some("input")), Some(argument)) = ((first, second), steps.next()) {
        let tools = TOOLS
            .iter()
            .filter(|tool| tool.arguments.contains(&argument))
            .map(|tool| code_span(tool.name));
        let tools: Vec<_> = tools.filter(|_| steps.next().is_none()).collect();
        let own = if tools.is_empty() {
            "An argument of the call".into()
        } else {
            format!("What {} is called with", tools.join(", "))
        };
        let seen = events
            .iter()
            .any(|event| at_path(event.data(), path).is_some());
        let seen = if seen || !tools.is_empty() {
            ""
        } else {
            "; no event had it so far"
        };
        return Some(format!(
            "{own}{seen}. Other calls may lack it: ask `has({path})` first."
        ));
    }
    let members = docs::EVENT.docs_at(&[Step::Key(first)]);
    let names: Vec<_> = members
        .members()
        .iter()
        .map(|member| code_span(member.name))
        .collect();
    (second.is_none() && !names.is_empty())
        .then(|| format!("A member of the event, with {}.", names.join(", ")))
}

/// A field of the file, from the schema.
fn about_field(path: &[Step<'_>]) -> Option<String> {
    let docs = docs::FILE.docs_at(path);
    let name = path.iter().rev().find_map(|step| match step {
        Step::Key(key) => Some(*key),
        Step::Index(_) => None,
    })?;
    let line = docs.type_line();
    let text = docs.text();
    if line.is_none() && text.is_empty() {
        return None;
    }
    let line = line.map(|line| format!(": {line}")).unwrap_or_default();
    let choices = docs.choices();
    let listed = choices.iter().filter_map(|choice| {
        Some(format!(
            "- {}: {}",
            code_span(choice.value.as_str()?),
            choice.about?
        ))
    });
    // Events are told one at a time.
    let listed: Vec<_> = if choices.len() <= 12 {
        listed.collect()
    } else {
        Vec::new()
    };
    // The values say the rest.
    let text = if listed.is_empty() {
        text
    } else {
        docs.about
            .first()
            .map(|about| about.to_string())
            .unwrap_or_default()
    };
    let parts = [
        format!("{}{line}", code_span(name)),
        text,
        listed.join("\n"),
    ];
    Some(
        parts
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join("\n\n"),
    )
}

/// An event by whatever name.
fn about_events(name: &str, own: &Dialect) -> Option<String> {
    let names = dialects::canonical_names(name, own.name()).ok()?;
    let all: Vec<String> = names
        .iter()
        .filter_map(|canonical| about_one(name, canonical))
        .collect();
    (!all.is_empty()).then(|| all.join("\n\n---\n\n"))
}

fn about_one(name: &str, canonical: &str) -> Option<String> {
    let spec = hookwire_base::event::spec(canonical)?;
    let title = if name == canonical {
        code_span(name)
    } else {
        format!("{} is {}", code_span(name), code_span(canonical))
    };
    let subject = spec
        .subject
        .map(|subject| code_span(&subject.trim_start_matches('/').replace('/', ".")));
    let may = match (spec.phase, subject) {
        (Phase::Gate, Some(subject)) => {
            format!("A gate: hooks may block it and rewrite {subject}.")
        }
        (Phase::Gate, None) => "A gate: hooks may block it.".into(),
        (Phase::After, Some(subject)) => {
            format!("After the fact: hooks may rewrite or withhold {subject}.")
        }
        (Phase::After, None) => "After the fact: hooks may add to it.".into(),
        (Phase::Note, _) => "Hooks are only told.".into(),
    };
    let rows = DIALECTS
        .iter()
        .filter(|dialect| dialect.name() != "sample")
        .flat_map(|dialect| {
            let rows = dialect.events.iter().filter(|row| row.meant() == canonical);
            rows.map(|row| {
                let also = row
                    .also
                    .iter()
                    .map(|it| format!(", {}", code_span(it)))
                    .collect::<String>();
                let obeys = match (row.blocks, row.rewrites) {
                    (true, true) => "obeys denies and rewrites",
                    (true, false) => "obeys denies",
                    (false, true) => "obeys rewrites",
                    (false, false) => "obeys neither denies nor rewrites",
                };
                format!(
                    "- {}: {}{also}; {obeys}",
                    dialect.name(),
                    code_span(row.name)
                )
            })
        });
    let rows: Vec<String> = rows.collect();
    Some(
        format!("{title}: {}\n\n{may}\n\n{}", spec.about, rows.join("\n"))
            .trim_end()
            .to_string(),
    )
}

fn about_guard(name: &str) -> Option<String> {
    let row = GUARDS.iter().find(|row| row.name == name)?;
    let by_itself: Vec<_> = row.events.iter().map(|name| code_span(name)).collect();
    let acts: Vec<_> = EVENTS
        .iter()
        .filter(|spec| (row.acts_at)(spec))
        .map(|spec| code_span(spec.name))
        .collect();
    let acts = if acts.len() == EVENTS.len() {
        "every event".to_string()
    } else {
        acts.join(", ")
    };
    let settings = docs::FILE.docs_at(&[
        Step::Key("hooks"),
        Step::Index(0),
        Step::Key("guard"),
        Step::Key(row.name),
    ]);
    let settings = settings
        .about
        .iter()
        .filter(|it| **it != row.about)
        .map(|it| format!("{it}\n\n"))
        .collect::<String>();
    Some(format!(
        "{}: {}\n\n{settings}Without `on` it is for {}.\n\nIt can act at {acts}.",
        code_span(name),
        row.about,
        by_itself.join(", ")
    ))
}

fn about_dialect(name: &str) -> Option<String> {
    let dialect = dialects::by_name(name).ok()?;
    let composition = match dialect.contract.composition {
        Composition::Onion => {
            "by ascending priority, reversed after the fact; a deny stops the chain"
        }
        Composition::Pipeline => {
            "in the order of the file; a deny stops the chain, the last rewrite wins"
        }
        Composition::Veto => {
            "in the order of the file, all of them; every reason of a deny is collected"
        }
        Composition::Middleware => "by descending priority; a deny stays but stops nobody",
        Composition::Parallel => "all at once on the same event, combined in the order of the file",
    };
    Some(format!(
        "{}: {}\n\nIts hooks run {composition}.",
        code_span(name),
        dialect.titled()
    ))
}

/// `Tool(pattern)` in words.
fn describe_rule(said: &str) -> String {
    let (tool, pattern) = match said.split_once('(') {
        Some((tool, pattern)) => (
            tool.trim(),
            Some(pattern.strip_suffix(')').unwrap_or(pattern)),
        ),
        None => (said.trim(), None),
    };
    match pattern {
        None | Some("" | "*") => format!("every call of {}", code_span(&clipped_text(tool))),
        Some(pattern) => {
            let (tool, pattern) = (clipped_text(tool), clipped_text(pattern));
            format!(
                "calls of {} that fit {}: {}",
                code_span(&tool),
                code_span(&pattern),
                about_rule(&tool)
            )
        }
    }
}

/// A hook that the document holds.
fn about_hook(document: &Document, name: &str, counts: Counts) -> Option<String> {
    let compiled = document.hook(name)?;
    let Some(hook) = &compiled.hook else {
        return Some(format!("{}: its definition is broken", code_span(name)));
    };
    let reading = Reading::of_document(document);
    let node = reading.as_ref().and_then(|reading| {
        reading
            .hooks()
            .find(|(hook, _)| std::ptr::eq(*hook, compiled))
    });
    Some(hook_in_words(hook, counts, |key| {
        node.and_then(|(_, node)| node.get(key)?.text())
            .map(str::to_string)
    }))
}

fn hook_in_words(hook: &Hook, counts: Counts, written: impl Fn(&str) -> Option<String>) -> String {
    let events = match &hook.on {
        On::Every => "every event".into(),
        On::Names(names) => names
            .iter()
            .map(|name| code_span(name))
            .collect::<Vec<_>>()
            .join(", "),
    };
    let handler = match hook.handler.fixed() {
        Some((decision, reason)) => {
            format!(
                "{}: {}",
                decision.as_str(),
                code_span(&clipped_text(reason))
            )
        }
        None => code_span(hook.handler.key()),
    };
    let phase = if hook.on.includes_a_gate() {
        Phase::Gate
    } else {
        Phase::After
    };
    let fail = match hook.fail_at(phase) {
        _ if hook.observe => "a failure changes nothing: it only observes",
        _ if hook.detached => "a failure changes nothing: nobody waits for it",
        Fail::Open => "if it fails, the agent goes on",
        Fail::Closed if hook.on.includes_a_gate() => "if it fails, what it guards is denied",
        Fail::Closed => "if it fails, what it was to look at is withheld",
        Fail::Ask => "if it fails, a person is asked",
    };
    let mut lines = vec![format!("events: {events}")];
    let conditions = [
        (
            "matcher",
            hook.matcher.as_ref().and_then(|_| written("matcher")),
        ),
        ("if", written("if")),
        ("unless", written("unless")),
        ("when", hook.when.as_ref().map(|it| it.source().to_string())),
    ];
    let conditions = conditions.into_iter().filter_map(|(key, condition)| {
        Some(format!("{key}: {}", code_span(&clipped_text(&condition?))))
    });
    lines.extend(conditions);
    lines.push(format!("handler: {handler}"));
    lines.extend(
        hook.priority
            .map(|priority| format!("priority: {priority}")),
    );
    if hook.observe {
        lines
            .push("observes: its outcome says what it would do, and nothing of that counts".into());
    }
    if hook.detached {
        lines.push("runs aside: nobody waits for it, so it decides nothing".into());
    }
    if hook.once {
        lines.push("runs once a session".into());
    }
    // Nothing that can fail, nothing that takes time.
    if hook.handler.fixed().is_none() {
        lines.extend([
            fail.to_string(),
            format!("timeout: {}", humantime::format_duration(hook.timeout)),
        ]);
    }
    if hook.contract.dialect != NATIVE {
        lines.push(format!("dialect: {}", hook.contract.dialect));
    }
    if !hook.enabled {
        lines.push("switched off".into());
    }
    let Counts {
        matched,
        denied,
        asked,
        rewrote,
        failed,
        observed,
    } = counts;
    lines.push(if counts == Counts::default() {
        "so far: no event that the running agents sent has matched".into()
    } else {
        let observed = if hook.observe { format!(", observed {observed}") } else { String::new() };
        format!(
            "so far: matched {matched}, denied {denied}, asked {asked}, rewrote {rewrote}, failed {failed}{observed}"
        )
    });
    let about = hook
        .description
        .as_deref()
        .map(|description| format!("\n\n{}", code_span(&clipped_text(description))))
        .unwrap_or_default();
    format!(
        "{}{about}\n\n{}",
        code_span(&hook.name),
        lines
            .iter()
            .map(|line| format!("- {line}"))
            .collect::<Vec<_>>()
            .join("\n")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::document;
    use serde_json::json;

    fn hovered(file: &str, marked: &str) -> Option<String> {
        let (before, after) = marked.split_once('¦').unwrap();
        let text = format!("{before}{after}");
        let document = document(file, &text);
        let event = json!({"event": "PreToolUse", "tool": {"name": "Bash", "input": {"command": "a ``` b", "path": "x".repeat(300)}}});
        let events = [Arc::new(Event::from_json(event).unwrap())];
        let (span, about) = explanation_at(&document, before.len(), &events, |_| Counts {
            matched: 3,
            ..Counts::default()
        })?;
        Some(format!("{}\n{about}", &text[span]))
    }

    #[test]
    fn what_is_written_is_explained() {
        let hook = "hooks:\n  - name: a\n    on: PreToolUse\n    ";
        for (file, text, expected) in [
            ("a.yaml", "ho¦oks: []\n".to_string(), &["hooks\n`hooks`: list"][..]),
            ("a.yaml", format!("{hook}time¦out: 5s\n"), &["timeout\n`timeout`: text or number", "else 30 s"]),
            (
                "a.yaml",
                format!("{hook}fa¦il: open\n"),
                &["`fail`: `open`, `closed`, `ask`", "- `open`: A non-blocking"],
            ),
            ("a.yaml", format!("{hook}fail: op¦en\n"), &["open\n`open`: A non-blocking error"]),
            ("a.yaml", format!("{hook}comm¦and: x\n"), &["a shell text or a program with arguments"]),
            (
                "a.yaml",
                format!("{hook}guard: loop-de¦tector\n"),
                &["loop-detector\n", "Without `on` it is for `PreToolUse`", "It can act at"],
            ),
            (
                "a.yaml",
                format!("{hook}guard: {{loop-de¦tector: {{repeats: 3}}}}\n"),
                &["Denies the call that completes"],
            ),
            ("a.yaml", "dialect: agent¦pool\n".into(), &["agentpool\n", "all at once"]),
            (
                "a.yaml",
                "hooks:\n- name: ¦a\n  on: PreToolUse\n  deny: x\n".into(),
                &["events: `PreToolUse`", "handler: deny: `x`\n- so far: matched 3"],
            ),
            (
                "a.yaml",
                "hooks:\n- name: a\n  on: Pre¦ToolUse\n".into(),
                &[
                    "PreToolUse\n`PreToolUse`: before a tool runs",
                    "rewrite `tool.input`",
                    "- workflow-framework: `PreToolCall`",
                ],
            ),
            ("a.yaml", "hooks:\n- name: a\n  on: pre_tool¦_use\n".into(), &["`pre_tool_use` is `PreToolUse`"]),
            (
                "a.yaml",
                format!("{hook}when: tool.input.comm¦and.contains('x')\n"),
                &["tool.input.command\n", "````\na ``` b\n````"],
            ),
            ("a.yaml", format!("{hook}when: tool.in¦put.path == ''\n"), &["tool.input\n", "The subject of PreToolUse"]),
            (
                "a.yaml",
                format!("{hook}prompt: see ${{tool.input.pa¦th}}\n"),
                &["tool.input.path\n", &format!("{}…", "x".repeat(200))],
            ),
            ("a.yaml", format!("dialect: agentpool\n{hook}prompt: see $TOOL_¦NAME now\n"), &["TOOL_NAME\n", "Bash"]),
            (
                "a.yaml",
                format!("{hook}if: Bash(git ¦push*)\n"),
                &["Bash(git push*)\n", "calls of `Bash` that fit `git push*`"],
            ),
            ("a.yaml", format!("{hook}matcher: Wr¦ite|Edit\n"), &["must match the whole name"]),
            (
                "a.yaml",
                "hooks:\n- name: ¦a\n  on: PreToolUse\n  matcher: Bash|Read\n  if: Bash(rm *)\n  when: prompt != ''\n  priority: 3\n  once: true\n  fail: closed\n  command: x\n".into(),
                &["matcher: `Bash|Read`\n- if: `Bash(rm *)`\n- when: `prompt != ''`\n- handler: `command`\n- priority: 3\n- runs once a session\n- if it fails, what it guards is denied\n- timeout: 30s"],
            ),
            (
                "a.yaml",
                "hooks:\n- name: ¦a\n  on: PreToolUse\n  async: true\n  fail: closed\n  command: x\n".into(),
                &["it decides nothing", "- a failure changes nothing"],
            ),
            (
                "a.yaml",
                "hooks:\n- name: ¦a\n  on: PreToolUse\n  observe: true\n  fail: closed\n  command: x\n".into(),
                &["- observes: its outcome says what it would do", "- a failure changes nothing"],
            ),
            ("a.yaml", format!("{hook}prompt: see ${{pa¦th}}\n"), &["path\n", "whatever its argument is called"]),
            ("a.yaml", format!("{hook}when: ha¦s(tool.input.x)\n"), &["has\n`has(…)`: whether a member is there"]),
            ("a.yaml", format!("{hook}when: prompt.starts¦With('x')\n"), &["`startsWith('…')`: whether the text begins"]),
            ("a.yaml", format!("{hook}when: to¦ol.name == 'x'\n"), &["A member of the event, with `callId`, "]),
            (
                "a.yaml",
                format!("{hook}when: tool.input.file_pa¦th == 'x'\n"),
                &["What `Read`, `Write`", "ask `has(tool.input.file_path)` first"],
            ),
            ("a.yaml", format!("{hook}when: tool.input.od¦d == 'x'\n"), &["An argument of the call; no event had it so far."]),
            ("a.yaml", "defaults:\n  prio¦rity: 3\n".into(), &["The priority of hooks that don't say"]),
            ("a.yaml", format!("{hook}guard: {{step-limit: {{pe¦r: run}}}}\n"), &["\n\nWhat is counted together.\n\n- `run`"]),
            ("a.toml", "[[hooks]]\nname = 'a'\n[[ho¦oks]]\nname = 'b'\n".into(), &["hooks\n`hooks`: list"]),
            // What a file says can't get out of its code span.
            ("a.yaml", format!("{hook}if: B`ash(``¦<b>)\n"), &["calls of ``B`ash`` that fit ``` ``<b> ```:"]),
            // It is half typed, or another hook is.
            ("a.yaml", format!("{hook}time¦out: 5s\n  - name: [\n"), &["`timeout`: text or number"]),
            ("a.toml", "[[hooks]]\nname = 'a'\non = 'St¦op'\n".into(), &["`Stop`: the agent wants to stop"]),
            (
                "a.json",
                "{\"hooks\": [{\"name\": \"a\", \"o¦nce\": true}]}".into(),
                &["\"once\"\n`once`: `true` or `false`"],
            ),
        ] {
            let found = hovered(file, &text).unwrap_or_default();
            for part in expected {
                assert!(found.contains(part), "{text}\n{part}\n---\n{found}");
            }
        }
        for nothing in ["¦\n", "nobody: kn¦ows\n", "# com¦ment\n"] {
            assert_eq!(hovered("a.yaml", nothing), None, "{nothing}");
        }
    }
}
