//! What goes to stdout, for people or for programs.

pub(super) use crate::support::visible::safe;

use crate::support::line_diff::{Fate, line_diff};
use anstyle::{AnsiColor, Style};
use serde::Serialize;
use std::io::{IsTerminal, Write};

/// stdout, with or without colour.
pub(super) struct Output {
    stdout: std::io::Stdout,
    colour: bool,
    pub(super) json: bool,
}

/// What a piece of text is, which decides its colour.
#[derive(Clone, Copy)]
pub(super) enum Tone {
    Good,
    Bad,
    Warn,
    Dim,
    Strong,
    Plain,
}

impl Output {
    pub(super) fn new(choice: clap::ColorChoice, json: bool) -> Output {
        let stdout = std::io::stdout();
        let colour = !json && Output::wants_colour(choice, &stdout);
        Output { stdout, colour, json }
    }

    /// NO_COLOR (any value but an empty one) and pipes switch colour off, unless it is asked for.
    pub(super) fn wants_colour(choice: clap::ColorChoice, stream: &impl IsTerminal) -> bool {
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

    pub(super) fn colour(&self) -> bool {
        self.colour
    }

    /// A text in its tone.
    pub(super) fn tone(&self, tone: Tone, text: &str) -> String {
        let style = match tone {
            _ if !self.colour => return text.to_string(),
            Tone::Plain => return text.to_string(),
            Tone::Good => AnsiColor::Green.on_default(),
            Tone::Bad => AnsiColor::Red.on_default().bold(),
            Tone::Warn => AnsiColor::Yellow.on_default(),
            Tone::Dim => Style::new().dimmed(),
            Tone::Strong => Style::new().bold(),
        };
        format!("{style}{text}{style:#}")
    }

    pub(super) fn line(&mut self, text: &str) {
        self.bytes(text.as_bytes());
        self.bytes(b"\n");
    }

    /// One line of JSON.
    pub(super) fn json(&mut self, value: &impl Serialize) {
        match serde_json::to_string(value) {
            Ok(text) => self.line(&text),
            Err(error) => tracing::error!(%error, "A result is not JSON; this is a bug in hookwire."),
        }
    }

    /// The lines of a text that have changed, and some around them.
    pub(super) fn diff(&mut self, old: &str, new: &str) {
        for (fate, text) in line_diff(old, new) {
            let tone = match fate {
                Fate::Removed => Tone::Bad,
                Fate::Added => Tone::Good,
                Fate::Same | Fate::Gap => Tone::Dim,
            };
            let text = self.tone(tone, &text);
            self.line(&format!("  {text}"));
        }
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        // The reader may have seen enough and gone, as in `hookwire list | head -1`.
        if self.stdout.write_all(bytes).and_then(|()| self.stdout.flush()).is_err() {
            std::process::exit(0);
        }
    }
}

/// At most so many characters.
pub(super) fn short(text: &str, width: usize) -> String {
    let text = safe(text);
    if text.chars().count() <= width {
        return text;
    }
    text.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}
