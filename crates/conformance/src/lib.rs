//! Conversations of hookwire's protocol, tried on a host or a client of anybody's.
//!
//! A case is data: what is sent, and what must come back. The cases of `schema/conformance` are
//! compiled in, and so is the protocol's schema. Nothing of hookwire's own code is in here, so that
//! a mistake in it can't hide itself.

mod case;
mod client;
pub mod framing;
mod host;
mod pattern;
mod peer;
mod play;
mod shape;
mod stand_in;
mod strict;

use case::Case;
use clap::{Parser, ValueEnum};
use play::Played;
use serde_json::json;
use shape::Shapes;
use std::ffi::OsString;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;

/// Tries conversations of hookwire's protocol on a host, or a client, of anybody's. Exits with 1 if
/// one isn't as it must be.
#[derive(Parser)]
#[command(name = "hookwire-conformance", version)]
struct Args {
    /// How results are printed.
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,
    /// Try a client: the command reads what to do from stdin and starts the host that HOOKWIRE
    /// names.
    #[arg(long)]
    client: bool,
    /// List the cases and try none.
    #[arg(long)]
    list: bool,
    /// Only this case, such as `verdicts/deny`, or all of a topic, such as `verdicts`. May be given
    /// several times.
    #[arg(long, value_name = "NAME")]
    case: Vec<String>,
    /// Your own cases instead: a file of JSON Lines, or a directory of such files.
    #[arg(long, value_name = "PATH")]
    cases: Option<PathBuf>,
    /// How long each message is waited for.
    #[arg(long, value_name = "DURATION", default_value = "20s", value_parser = humantime::parse_duration)]
    timeout: Duration,
    /// Write the conversations with a host into this file, as cases: a later host can be held to
    /// them.
    #[arg(long, value_name = "FILE", conflicts_with = "client")]
    record: Option<PathBuf>,
    /// The host or client: a program with its arguments. For a host, `{hooks}` is a directory of
    /// definition files; without it, the cases about files are skipped.
    #[arg(last = true, value_name = "COMMAND", required_unless_present_any = ["list", "stand_in"])]
    command: Vec<OsString>,
    /// Be the host that a client starts, played by who listens on this socket.
    #[arg(long, hide = true)]
    stand_in: Option<PathBuf>,
}

macro_rules! topics {
    ($side:literal: $($topic:literal,)*) => {
        &[$(($topic, include_str!(concat!("../../../schema/conformance/", $side, "/", $topic, ".jsonl"))),)*]
    };
}

/// The cases for hosts, by topic.
static HOSTS: &[(&str, &str)] = topics! {
    "host":
    "messages",
    "verdicts",
    "rewrites",
    "callbacks",
    "people-and-models",
    "definitions",
    "files",
    "state",
    "failures",
    "dialects",
};

/// The cases for clients, by topic.
static CLIENTS: &[(&str, &str)] = topics! {
    "client":
    "verdicts",
    "messages",
    "requests",
    "failures",
};

/// Does what a command line says, of which the first word is the program's name, and writes what
/// came of it. Gives whether all cases passed or were skipped.
///
/// # Errors
/// Wrong usage, cases that can't be read, or an output that can't be written, in words.
pub fn run(
    words: impl IntoIterator<Item = OsString>,
    out: &mut impl Write,
) -> Result<bool, String> {
    let args = Args::try_parse_from(words).unwrap_or_else(|error| error.exit());
    if let Some(socket) = &args.stand_in {
        return stand_in::relay_socket(socket)
            .map(|()| true)
            .map_err(|error| error.to_string());
    }
    let cases = args.cases()?;
    if args.list {
        cases
            .iter()
            .try_for_each(|case| args.format.list_case(case, out))
            .map_err(|error| error.to_string())?;
        return Ok(true);
    }
    let (n_passed, n_skipped) = args
        .play_cases(&cases, out)
        .map_err(|error| error.to_string())?;
    Ok(n_passed + n_skipped == cases.len())
}

impl Args {
    /// The cases that are asked for.
    fn cases(&self) -> Result<Vec<Case>, String> {
        let mut cases = match &self.cases {
            Some(path) => read_own(path)?,
            None => read_all(if self.client { CLIENTS } else { HOSTS })?,
        };
        let is_named = |case: &Case, name: &str| case.full_name() == name || case.topic == name;
        if let Some(name) = self
            .case
            .iter()
            .find(|name| !cases.iter().any(|case| is_named(case, name)))
        {
            return Err(format!(
                "--case {name}: there is no such case; --list names them"
            ));
        }
        cases.retain(|case| {
            self.case.is_empty() || self.case.iter().any(|name| is_named(case, name))
        });
        Ok(cases)
    }

    /// How many cases passed, and how many were skipped.
    fn play_cases(&self, cases: &[Case], out: &mut impl Write) -> std::io::Result<(usize, usize)> {
        let mut record = self.record.as_deref().map(File::create).transpose()?;
        let shapes = Shapes::new();
        let (mut n_passed, mut n_skipped) = (0, 0);
        for case in cases {
            let played = match self.client {
                true => client::play_client(case, &self.command, self.timeout, &shapes),
                false => host::play_host(case, &self.command, self.timeout, &shapes),
            };
            self.format.tell_result(case, &played, out)?;
            match played {
                Played::Passed(mut recorded) => {
                    n_passed += 1;
                    if let Some(file) = &mut record {
                        recorded.name = case.full_name();
                        writeln!(file, "{}", serde_json::to_string(&recorded)?)?;
                    }
                }
                Played::Skipped(_) => n_skipped += 1,
                Played::Failed(_) => {}
            }
        }
        if self.format == Format::Human {
            let skipped = if n_skipped > 0 {
                format!(", {n_skipped} skipped")
            } else {
                String::new()
            };
            writeln!(out, "{n_passed} of {} cases passed{skipped}", cases.len())?;
        }
        Ok((n_passed, n_skipped))
    }
}

fn read_all(topics: &[(&str, &str)]) -> Result<Vec<Case>, String> {
    let mut cases = Vec::new();
    for (topic, text) in topics {
        cases.extend(case::read_cases(topic, text)?);
    }
    Ok(cases)
}

fn read_own(path: &Path) -> Result<Vec<Case>, String> {
    let unread = |file: &Path, error: std::io::Error| format!("{}: {error}", file.display());
    let mut files = vec![path.to_path_buf()];
    if path.is_dir() {
        let entries = path
            .read_dir()
            .and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect());
        files = entries.map_err(|error| unread(path, error))?;
        files.retain(|file| {
            file.extension()
                .is_some_and(|extension| extension == "jsonl")
        });
        files.sort();
    }
    let mut cases = Vec::new();
    for file in files {
        let topic = file.file_stem().unwrap_or_default().to_string_lossy();
        let text = std::fs::read_to_string(&file).map_err(|error| unread(&file, error))?;
        cases.extend(
            case::read_cases(&topic, &text)
                .map_err(|problem| format!("{}: {problem}", file.display()))?,
        );
    }
    Ok(cases)
}

/// For whom results are printed.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people.
    Human,
    /// A line of JSON for each case.
    Json,
}

impl Format {
    fn list_case(self, case: &Case, out: &mut impl Write) -> std::io::Result<()> {
        match self {
            Format::Json => writeln!(
                out,
                "{}",
                json!({ "name": case.full_name(), "about": case.about })
            ),
            Format::Human => writeln!(
                out,
                "{:<42} {}",
                make_safe(&case.full_name()),
                make_safe(&case.about)
            ),
        }
    }

    fn tell_result(
        self,
        case: &Case,
        played: &Played,
        out: &mut impl Write,
    ) -> std::io::Result<()> {
        let (outcome, why) = match played {
            Played::Passed(_) => ("passed", None),
            Played::Skipped(why) => ("skipped", Some(make_safe(why))),
            Played::Failed(why) => ("FAILED", Some(make_safe(why))),
        };
        let name = case.full_name();
        match self {
            Format::Json => {
                let outcome = outcome.to_lowercase();
                writeln!(
                    out,
                    "{}",
                    json!({ "name": name, "about": case.about, "outcome": outcome, "why": why })
                )
            }
            Format::Human => {
                let why = why.map_or_else(String::new, |why| format!(": {why}"));
                writeln!(out, "{outcome:<7} {}{why}", make_safe(&name))
            }
        }
    }
}

/// A text of anybody's on one line, in which nothing moves the cursor or hides something.
fn make_safe(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' | '\'' | '\\' => safe.push(c),
            c => safe.extend(c.escape_debug()),
        }
    }
    safe
}

/// An empty directory, which goes when the value goes.
fn scratch_dir() -> std::io::Result<TempDir> {
    // Without links, so that a path in it is spelt in one way.
    tempfile::Builder::new()
        .prefix("hookwire-conformance-")
        .tempdir_in(std::env::temp_dir().canonicalize()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cases_can_be_read_and_have_names_of_their_own() {
        for topics in [HOSTS, CLIENTS] {
            let cases = read_all(topics).unwrap();
            let mut names: Vec<_> = cases.iter().map(Case::full_name).collect();
            names.sort();
            names.dedup();
            assert_eq!(names.len(), cases.len());
        }
    }

    #[test]
    fn nothing_in_a_text_moves_the_cursor() {
        assert_eq!(
            make_safe("say \"it's\"\n\u{1b}[2J \u{202e}é"),
            r#"say "it's"\n\u{1b}[2J \u{202e}é"#
        );
    }
}
