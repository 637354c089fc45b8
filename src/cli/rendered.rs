//! Diagnostics on a terminal, with the lines that they are about.

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};
use hookwire_base::support::visible::is_unsafe;
use hookwire_base::syntax::diagnostic::{Diagnostic, Position, Severity};
use hookwire_base::syntax::node::Span;
use std::fmt::Write as _;

/// Writes diagnostics with the lines they are about, in the given order.
///
/// `sources` gives the text of a file by its name; without one the place is named but not shown.
/// Characters that could move the cursor or reorder text (control characters, bidirectional marks,
/// invisible characters) are written as `\u{…}`, whether it comes from a file or from a message.
pub(super) fn render_diagnostics<S: AsRef<str>>(
    diagnostics: &[Diagnostic],
    sources: impl Fn(&str) -> Option<S>,
    color: bool,
) -> String {
    let renderer = if color {
        Renderer::styled()
    } else {
        Renderer::plain()
    };
    let mut out = String::new();
    let mut latest: Option<(&str, Option<S>)> = None;
    for diagnostic in diagnostics {
        // Diagnostics come file by file; its text is asked for once.
        if latest
            .as_ref()
            .is_none_or(|(file, _)| *file != diagnostic.file)
        {
            latest = Some((&diagnostic.file, sources(&diagnostic.file)));
        }
        let source = latest
            .as_ref()
            .and_then(|(_, source)| source.as_ref())
            .map(AsRef::as_ref);
        if !out.is_empty() {
            out.push_str("\n\n");
        }
        let excerpt = source.and_then(|text| Excerpt::new(text, diagnostic));
        let has_excerpt = excerpt.is_some();
        let rendered = renderer.render(&[report_group(diagnostic, excerpt)]);
        match rendered.split_once('\n') {
            Some((title, rest)) if has_excerpt => {
                let _ = write!(out, "{title}\n{}\n{rest}", arrow_line(diagnostic, color));
            }
            _ => out.push_str(&rendered),
        }
    }
    if !out.is_empty() {
        out.push('\n');
    }
    out
}

fn report_group<'a>(diagnostic: &Diagnostic, excerpt: Option<Excerpt>) -> Group<'a> {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Hint => Level::INFO.with_name("hint"),
    };
    let title = level.primary_title(escape_text(&diagnostic.message));
    let mut group = Group::with_title(title.id(escape_text(&diagnostic.code)));
    let Position { line, column } = diagnostic.range.start;
    group = match excerpt {
        None => {
            let file = escape_text(&diagnostic.file);
            group.element(Origin::path(file).line(line).char_column(column))
        }
        Some(excerpt) => {
            let snippet = Snippet::source(excerpt.text).line_start(line);
            group.element(snippet.annotation(AnnotationKind::Primary.span(excerpt.marked)))
        }
    };
    if let Some(hook) = &diagnostic.hook {
        let note = format!("in hook `{}`", escape_text(hook));
        group = group.element(Level::NOTE.message(note));
    }
    if let Some(help) = &diagnostic.help {
        group = group.element(Level::HELP.message(escape_text(help)));
    }
    group
}

// An escaped or cut excerpt has other columns than its file, and a snippet with a path would
// count them, so the line that names the place is written here.
fn arrow_line(diagnostic: &Diagnostic, color: bool) -> String {
    let Position { line, column } = diagnostic.range.start;
    let n_digits = line.to_string().len();
    let arrow = if color {
        "\u{1b}[1m\u{1b}[94m-->\u{1b}[0m"
    } else {
        "-->"
    };
    let file = escape_text(&diagnostic.file);
    format!("{:n_digits$}{arrow} {file}:{line}:{column}", "")
}

/// The first line of a place, made safe to print and cut to what is of interest.
struct Excerpt {
    text: String,
    marked: Span,
}

impl Excerpt {
    /// How much is shown on either side of the start of the place.
    const N_CHARS: usize = 100;

    fn new(text: &str, diagnostic: &Diagnostic) -> Option<Excerpt> {
        // The file may have changed since: then its old places mean nothing.
        let before = text.get(..diagnostic.span.start)?;
        let rest = &text[diagnostic.span.start..];
        let is_break = |c| c == '\n' || c == '\r';
        let before = &before[before.rfind(is_break).map_or(0, |at| at + 1)..];
        let before = before.trim_start_matches('\u{feff}');
        let rest = &rest[..rest.find(is_break).unwrap_or(rest.len())];
        let n_marked = diagnostic.span.len().min(rest.len());
        let (marked, after) = rest.split_at_checked(n_marked)?;

        let first = before.char_indices().rev().nth(Self::N_CHARS - 1);
        let mut out = String::new();
        match first {
            Some((start, _)) if start > 0 => {
                out.push('…');
                out.push_str(&escape_text(&before[start..]));
            }
            _ => out.push_str(&escape_text(before)),
        }
        let start = out.len();
        let (marked, is_cut) = split_head(marked, Self::N_CHARS);
        out.push_str(&escape_text(marked));
        let end = out.len();
        let (after, is_cut) = if is_cut {
            ("", true)
        } else {
            split_head(after, Self::N_CHARS)
        };
        out.push_str(&escape_text(after));
        if is_cut {
            out.push('…');
        }
        Some(Excerpt {
            text: out,
            marked: start..end,
        })
    }
}

fn split_head(text: &str, n_chars: usize) -> (&str, bool) {
    match text.char_indices().nth(n_chars) {
        None => (text, false),
        Some((end, _)) => (&text[..end], true),
    }
}

fn escape_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\t' => out.push_str("    "),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            _ if is_unsafe(character) => {
                // Writing to a string can't fail.
                let _ = write!(out, "{}", character.escape_unicode());
            }
            _ => out.push(character),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use hookwire_base::syntax::diagnostic::LineIndex;

    const TEXT: &str = "hooks:\r\n  - näme: a\u{202e}b\r\n    mathcer: Bash\r\n";

    fn diagnostic(text: &str, written: &str) -> Diagnostic {
        let start = text.find(written).expect("it is written there");
        at(start..start + written.len(), &LineIndex::new(text))
    }

    fn at(span: Span, index: &LineIndex<'_>) -> Diagnostic {
        Diagnostic {
            file: "a/guard.yaml".to_owned(),
            severity: Severity::Error,
            code: "unknown-field".to_owned(),
            message: "unknown field `x`".to_owned(),
            help: None,
            hook: None,
            range: index.range(&span),
            span,
            fixes: Vec::new(),
            other_place: None,
        }
    }

    fn rendered(text: &str, diagnostic: Diagnostic) -> String {
        render_diagnostics(&[diagnostic], |_| Some(text), false)
    }

    #[test]
    fn a_rendered_diagnostic() {
        let help = Some("did you mean `matcher`?".to_owned());
        let hook = Some("guard".to_owned());
        let first = Diagnostic {
            help,
            hook,
            ..diagnostic(TEXT, "mathcer")
        };
        let severity = Severity::Warning;
        let second = Diagnostic {
            severity,
            ..diagnostic(TEXT, "\u{202e}b")
        };
        let expected = "\
error[unknown-field]: unknown field `x`
 --> a/guard.yaml:3:5
  |
3 |     mathcer: Bash
  |     ^^^^^^^
  |
  = note: in hook `guard`
  = help: did you mean `matcher`?

warning[unknown-field]: unknown field `x`
 --> a/guard.yaml:2:12
  |
2 |   - näme: a\\u{202e}b
  |            ^^^^^^^^^
";
        assert_eq!(
            render_diagnostics(&[first, second], |_| Some(TEXT), false),
            expected
        );
    }

    #[test]
    fn nothing_reaches_the_terminal_unescaped() {
        let text = "a: \u{1b}[31m\u{9b}x\u{200f}\tb";
        let mut hostile = diagnostic(text, "x");
        for field in [&mut hostile.file, &mut hostile.message, &mut hostile.code] {
            field.push_str("\u{1b}]0;x\u{7}\n\u{2066}");
        }
        hostile.hook = Some("\r\u{e0041}".to_owned());
        let out = rendered(text, hostile);
        let is_safe = |character: char| character == '\n' || !is_unsafe(character);
        assert!(out.chars().all(is_safe), "{out:?}");
    }

    #[test]
    fn odd_places_are_no_trouble() {
        let long = "é".repeat(100_000);
        let texts = [
            "",
            "\n",
            "\u{feff}x",
            "ab\rcd",
            "é\té",
            "\u{feff}",
            long.as_str(),
            "a\n\n",
        ];
        for text in texts {
            let index = LineIndex::new(text);
            for start in [0, 1, 2, 3, text.len() / 2, text.len(), usize::MAX] {
                for end in [0, start, start.saturating_add(1), text.len(), usize::MAX] {
                    let place = Diagnostic {
                        severity: Severity::Hint,
                        ..at(start..end, &index)
                    };
                    let out = rendered(text, place.clone());
                    assert!(out.starts_with("hint[unknown-field]: unknown"), "{out}");
                    assert!(out.contains("--> a/guard.yaml:"), "{out}");
                    assert!(out.len() < 2000, "{}", out.len());
                    assert!(render_diagnostics(&[place], |_| None::<&str>, true).contains("guard"));
                }
            }
        }
    }
}
