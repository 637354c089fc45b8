//! `hookwire conformance`: conversations of the protocol, tried on a host or a client of anybody's.
//!
//! A case is data: what is sent, and what must come back. The cases of `schema/conformance` are compiled in.

mod case;
mod client;
mod host;
mod pattern;
mod peer;
mod play;
mod shape;
mod stand_in;

use super::output::{Output, Tone, safe};
use super::{Failure, Finding};
use case::Case;
use play::Played;
use serde_json::json;
use shape::Shapes;
use std::ffi::OsString;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

#[derive(clap::Args)]
pub(super) struct ConformanceArgs {
    /// Try a client: the command reads what to do from stdin and starts the host that HOOKWIRE names.
    #[arg(long)]
    client: bool,
    /// List the cases and try none.
    #[arg(long)]
    list: bool,
    /// Only this case, such as `verdicts/deny`, or all of a topic, such as `verdicts`. May be given several times.
    #[arg(long, value_name = "NAME")]
    case: Vec<String>,
    /// Your own cases instead: a file of JSON Lines, or a directory of such files.
    #[arg(long, value_name = "PATH")]
    cases: Option<PathBuf>,
    /// How long each message is waited for.
    #[arg(long, value_name = "DURATION", default_value = "20s", value_parser = humantime::parse_duration)]
    time_limit: Duration,
    /// Write the conversations with a host into this file, as cases: a later host can be held to them.
    #[arg(long, value_name = "FILE", conflicts_with = "client")]
    record: Option<PathBuf>,
    /// The host or client: a program with its arguments. For a host, `{hooks}` is a directory of definition files;
    /// without it, the cases about files are skipped.
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
static HOST: &[(&str, &str)] = topics! {
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
static CLIENT: &[(&str, &str)] = topics! {
    "client":
    "verdicts",
    "messages",
    "requests",
    "failures",
};

pub(super) fn run(args: &ConformanceArgs, out: &mut Output) -> Result<Finding, Failure> {
    if let Some(socket) = &args.stand_in {
        stand_in::relay(socket)?;
        return Ok(Finding::Fine);
    }
    let mut cases = match &args.cases {
        Some(path) => read_own(path)?,
        None => read_all(if args.client { CLIENT } else { HOST })?,
    };
    let is_named = |case: &Case, name: &str| case.full_name() == name || case.topic == name;
    if let Some(name) = args.case.iter().find(|name| !cases.iter().any(|case| is_named(case, name))) {
        return Err(Failure(format!("--case {name}: there is no such case; `hookwire conformance --list` names them")));
    }
    cases.retain(|case| args.case.is_empty() || args.case.iter().any(|name| is_named(case, name)));
    if args.list {
        cases.iter().for_each(|case| list(case, out));
        return Ok(Finding::Fine);
    }
    let mut record = args.record.as_deref().map(File::create).transpose()?;
    let shapes = Shapes::new();
    let (mut n_passed, mut n_skipped) = (0, 0);
    for case in &cases {
        let played = match args.client {
            true => client::play(case, &args.command, args.time_limit, &shapes),
            false => host::play(case, &args.command, args.time_limit, &shapes),
        };
        tell(case, &played, out);
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
    if !out.json {
        let skipped = if n_skipped > 0 { format!(", {n_skipped} skipped") } else { String::new() };
        out.line(&format!("{n_passed} of {} cases passed{skipped}", cases.len()));
    }
    Ok(if n_passed + n_skipped == cases.len() { Finding::Fine } else { Finding::Found })
}

fn read_all(topics: &[(&str, &str)]) -> Result<Vec<Case>, Failure> {
    let mut cases = Vec::new();
    for (topic, text) in topics {
        cases.extend(case::read(topic, text).map_err(Failure)?);
    }
    Ok(cases)
}

fn read_own(path: &Path) -> Result<Vec<Case>, Failure> {
    let mut files = vec![path.to_path_buf()];
    if path.is_dir() {
        files = path.read_dir()?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
        files.retain(|file| file.extension().is_some_and(|it| it == "jsonl"));
        files.sort();
    }
    let mut cases = Vec::new();
    for file in files {
        let topic = file.file_stem().unwrap_or_default().to_string_lossy();
        let text = std::fs::read_to_string(&file).map_err(|error| Failure(format!("{}: {error}", file.display())))?;
        cases.extend(case::read(&topic, &text).map_err(|problem| Failure(format!("{}: {problem}", file.display())))?);
    }
    Ok(cases)
}

fn list(case: &Case, out: &mut Output) {
    if out.json {
        return out.json(&json!({ "name": case.full_name(), "about": case.about }));
    }
    out.line(&format!("{:<42} {}", safe(&case.full_name()), safe(&case.about)));
}

fn tell(case: &Case, played: &Played, out: &mut Output) {
    let (outcome, tone, why) = match played {
        Played::Passed(_) => ("passed", Tone::Good, None),
        Played::Skipped(why) => ("skipped", Tone::Warn, Some(why)),
        Played::Failed(why) => ("FAILED", Tone::Bad, Some(why)),
    };
    if out.json {
        return out.json(&json!({
            "name": case.full_name(), "about": case.about, "outcome": outcome.to_lowercase(), "why": why,
        }));
    }
    let why = why.map_or_else(String::new, |why| format!(": {}", safe(why)));
    let outcome = out.tone(tone, &format!("{outcome:<7}"));
    out.line(&format!("{outcome} {}{why}", safe(&case.full_name())));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cases_can_be_read_and_have_names_of_their_own() {
        for topics in [HOST, CLIENT] {
            let cases = read_all(topics).unwrap_or_else(|Failure(problem)| panic!("{problem}"));
            let mut names: Vec<_> = cases.iter().map(Case::full_name).collect();
            names.sort();
            names.dedup();
            assert_eq!(names.len(), cases.len());
        }
    }
}
