//! Writes to stdout, for people or for programs, and to stderr.
//!
//! Here, and nowhere else in the command line, is written: so texts of others, which are in nearly
//! all that is printed, can't move the cursor, hide or reorder anything, wherever they come from.
//! Clippy refuses other ways out.

use super::Format;
pub(crate) use hookwire_base::support::visible::safe;
use hookwire_base::support::visible::{safe_json, safe_lines};

use anstyle::{AnsiColor, Style};
use hookwire_base::verdict::Decision;
use hookwire_engine::trust::line_diff::{Fate, line_diff};
use hookwire_handlers::handlers::guards::without_secrets;
use serde::Serialize;
use serde_json::Value;
use std::fmt::Display;
use std::hash::{BuildHasher, RandomState};
use std::io::{IsTerminal, Write};

/// stdout, with or without colour.
pub(crate) struct Output {
    stdout: std::io::Stdout,
    colour: bool,
    /// Stands before a digit where a tone begins or ends in a text that isn't printed yet. It is
    /// made anew in each process, so that no text of others has it.
    mark: String,
    pub(super) format: Format,
    /// Whether that is JSON.
    pub(crate) json: bool,
    /// Why nothing can be written any more. What a command does, it does all the same.
    gone: Option<std::io::Error>,
}

/// The role of a piece of text, which decides its colour.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Good,
    Bad,
    Warn,
    Dim,
    Strong,
    Plain,
}

impl Tone {
    /// The tone of a decision.
    pub(crate) fn of_decision(decision: Decision) -> Tone {
        match decision {
            Decision::Allow => Tone::Good,
            Decision::Deny => Tone::Bad,
            Decision::Ask | Decision::Defer => Tone::Warn,
        }
    }
}

impl Output {
    pub(super) fn new(choice: clap::ColorChoice, format: Format) -> Output {
        let stdout = std::io::stdout();
        let colour = format == Format::Text && Output::wants_colour(choice, &stdout);
        let mark = format!(
            "\u{fdd0}{:016x}",
            RandomState::new().hash_one(std::process::id())
        );
        Output {
            stdout,
            colour,
            mark,
            format,
            json: format == Format::Json,
            gone: None,
        }
    }

    /// NO_COLOR (any value but an empty one) and pipes switch colour off, unless it is asked for.
    pub(crate) fn wants_colour(choice: clap::ColorChoice, stream: &impl IsTerminal) -> bool {
        match choice {
            clap::ColorChoice::Always => true,
            clap::ColorChoice::Never => false,
            clap::ColorChoice::Auto => {
                let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
                let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
                stream.is_terminal() && !no_color && !dumb
            }
        }
    }

    pub(crate) fn colour(&self) -> bool {
        self.colour
    }

    /// A text in its tone, for [`Output::line`].
    pub(crate) fn tone(&self, tone: Tone, text: &str) -> String {
        match TONES.iter().position(|(it, _)| *it == tone) {
            Some(n) if self.colour => format!("{0}{n}{text}{0}e", self.mark),
            _ => text.to_string(),
        }
    }

    /// One line, whatever the text is: what could move the cursor or hide something is spelt out.
    pub(crate) fn line(&mut self, text: &str) {
        let line = self.shown(text);
        self.bytes(format!("{line}\n").as_bytes());
    }

    /// One line for people. Where stdout is a report that a program reads, the line goes to stderr.
    pub(crate) fn aside(&mut self, text: &str) {
        match self.format {
            Format::Text => self.line(text),
            _ => tell_plainly(safe(text)),
        }
    }

    /// The lines of a text that has several.
    pub(crate) fn lines(&mut self, text: &str) {
        text.split('\n').for_each(|line| self.line(line));
    }

    /// A line as it is printed, with the tones that are marked in it and no other ones.
    fn shown(&self, text: &str) -> String {
        let mut parts = text.split(&self.mark);
        let mut shown = safe(parts.next().unwrap_or_default());
        for part in parts {
            let (tone, rest) = part.split_at_checked(1).unwrap_or_default();
            match tone.parse().ok().and_then(|n: usize| TONES.get(n)) {
                Some((_, style)) => shown.push_str(&style.to_string()),
                None => shown.push_str(&Style::new().bold().render_reset().to_string()),
            }
            shown.push_str(&safe(rest));
        }
        shown
    }

    /// One line of JSON. A terminal would obey what is in its texts, so what can't be seen is
    /// escaped there.
    pub(crate) fn json(&mut self, value: &impl Serialize) {
        match serde_json::to_string(value) {
            Ok(text) => self.bytes(format!("{}\n", safe_json(&text)).as_bytes()),
            Err(error) => {
                tracing::error!(%error, "A result is not JSON; this is a bug in hookwire.")
            }
        }
    }

    /// A value for a program: as it is, unless a person reads it.
    pub(crate) fn value(&mut self, text: &str) {
        match self.stdout.is_terminal() {
            true => self.lines(text),
            false => self.bytes(format!("{text}\n").as_bytes()),
        }
    }

    /// The lines of a text that have changed, and some around them, beside a report.
    pub(crate) fn diff(&mut self, old: &str, new: &str) {
        for (fate, text) in line_diff(old, new) {
            let tone = match fate {
                Fate::Removed => Tone::Bad,
                Fate::Added => Tone::Good,
                Fate::Same | Fate::Gap => Tone::Dim,
            };
            let text = self.tone(tone, &text);
            self.aside(&format!("  {text}"));
        }
    }

    /// Writes bytes as they are: they are made for programs, or have gone through
    /// [`render_diagnostics`](super::rendered::render_diagnostics).
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        if self.gone.is_none() {
            self.gone = self
                .stdout
                .write_all(bytes)
                .and_then(|()| self.stdout.flush())
                .err();
        }
    }

    /// Whether nobody reads any more: who only shows something can end.
    pub(crate) fn is_gone(&self) -> bool {
        self.gone.is_some()
    }

    /// Why something couldn't be written that somebody wants to read. A reader who has seen enough,
    /// as in `hookwire check --list | head -1`, doesn't.
    pub(crate) fn problem(&self) -> Option<&std::io::Error> {
        self.gone
            .as_ref()
            .filter(|error| error.kind() != std::io::ErrorKind::BrokenPipe)
    }
}

/// The tones that look like something, and how.
const TONES: [(Tone, Style); 5] = [
    (Tone::Good, AnsiColor::Green.on_default()),
    (Tone::Bad, AnsiColor::Red.on_default().bold()),
    (Tone::Warn, AnsiColor::Yellow.on_default()),
    (Tone::Dim, Style::new().dimmed()),
    (Tone::Strong, Style::new().bold()),
];

/// A text without secrets, for the log: hooks and their programs quote what they were asked about.
pub(crate) fn redact_text(text: String) -> String {
    match without_secrets(Value::String(text)) {
        Value::String(clean) => clean,
        other => other.to_string(),
    }
}

/// The log as lines of JSON, without secrets and with what can't be seen escaped. Each write is a
/// line.
pub(crate) struct JsonLog<W: Write>(pub(crate) W);

impl<W: Write> Write for JsonLog<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let line = String::from_utf8_lossy(bytes);
        // Member by member, because a secret may be one only under its name.
        let clean = serde_json::from_str::<Value>(&line).ok().and_then(|sent| {
            let clean = without_secrets(sent.clone());
            (clean != sent).then(|| format!("{clean}\n"))
        });
        self.0
            .write_all(safe_json(clean.as_deref().unwrap_or(&line)).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

/// Says something on stderr, on lines that nothing in it can hide or reorder.
pub(crate) fn say_on_stderr(text: impl Display) {
    tell_plainly(format_args!("hookwire: {text}"));
}

/// Writes a message to stderr without the program's name before it. If nobody reads it any more, it
/// is nobody's.
pub(crate) fn tell_plainly(text: impl Display) {
    let _ = writeln!(std::io::stderr(), "{}", safe_lines(&text.to_string()));
}

/// Asks for an answer on the terminal.
pub(crate) fn prompt_person(question: &str) -> std::io::Result<()> {
    let mut stderr = std::io::stderr();
    stderr.write_all(safe(question).as_bytes())?;
    stderr.flush()
}

/// At most so many characters, on one line: spelt out before it is cut, so that a column holds what
/// it shows.
pub(crate) fn shorten_text(text: &str, width: usize) -> String {
    let text = safe(text);
    if text.chars().count() <= width {
        return text;
    }
    text.chars()
        .take(width.saturating_sub(1))
        .chain(['…'])
        .collect()
}
