//! A host is tried: it is started for each case, and its client is played.

use crate::case::{Case, Step};
use crate::framing::Framing;
use crate::peer::Peer;
use crate::play::{Play, Played, Program};
use crate::shape::Shapes;
use serde_json::json;
use std::ffi::OsString;
use std::path::{Component, PathBuf};
use std::process::Command;
use std::time::Duration;
use tempfile::TempDir;

/// Stands for the directory of definition files in the host's command.
const HOOKS: &str = "{hooks}";

pub(crate) fn play_host(
    case: &Case,
    command: &[OsString],
    limit: Duration,
    shapes: &Shapes,
) -> Played {
    let is_about_files =
        !case.files.is_empty() || case.steps.iter().any(|step| matches!(step, Step::Write(_)));
    if is_about_files
        && !command
            .iter()
            .any(|it| it.to_string_lossy().contains(HOOKS))
    {
        return Played::Skipped(format!("the command has no {HOOKS}"));
    }
    match find_missing(case, command, limit).and_then(|missing| match missing {
        Some(missing) => Ok(Played::Skipped(format!("the host has no `{missing}`"))),
        None => converse(case, command, limit, shapes),
    }) {
        Ok(played) => played,
        Err(problem) => Played::Failed(problem),
    }
}

/// The first handler or dialect that a case needs and the host doesn't name in its reply to
/// `initialize`.
fn find_missing(
    case: &Case,
    command: &[OsString],
    limit: Duration,
) -> Result<Option<String>, String> {
    if case.needs.is_empty() {
        return Ok(None);
    }
    let scratch = make_directory()?;
    let (_program, mut peer) = start_host(case, command, &scratch)?;
    peer.send_message(&json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {} }));
    let reply = peer.receive_fitting("the reply to `initialize`", limit, |it| it["id"] == 1)?;
    let known = &reply["result"]["capabilities"]["hooks"];
    let lists = [&known["handlers"], &known["dialects"]];
    Ok(case
        .needs
        .iter()
        .find(|name| {
            !lists.iter().any(|list| {
                list.as_array()
                    .is_some_and(|it| it.iter().any(|it| it == *name))
            })
        })
        .cloned())
}

fn converse(
    case: &Case,
    command: &[OsString],
    limit: Duration,
    shapes: &Shapes,
) -> Result<Played, String> {
    let scratch = make_directory()?;
    for (name, text) in &case.files {
        write_definition(&scratch, name, Some(text))?;
    }
    let (mut program, mut peer) = start_host(case, command, &scratch)?;
    let mut play = Play::new(limit, shapes);
    let mut exit = None;
    for (n, step) in case.steps.iter().enumerate() {
        let mut result = Ok(());
        match step {
            Step::Send(message) => play.send_template(&peer, message),
            Step::Raw(text) => peer.send_raw(text),
            Step::Expect(pattern) => result = play.expect_message(&mut peer, pattern),
            Step::Write(files) => {
                result = files
                    .iter()
                    .try_for_each(|(name, text)| write_definition(&scratch, name, text.as_deref()));
            }
            Step::Close => peer.close_input(),
            Step::Exit(code) => exit = Some(*code),
            Step::Start | Step::Do(_) | Step::Told(_) => {
                result = Err("this is a step for clients".into())
            }
        }
        result.map_err(|problem| format!("step {}: {problem}", n + 1))?;
        if !matches!(step, Step::Expect(_)) {
            play.recorded.push(step.clone());
        }
    }
    if exit.is_none() {
        peer.close_input();
    }
    play.expect_end(&mut peer, &[])?;
    let status = program.wait_for_exit(limit)?;
    match exit {
        Some(code) if status.code() != Some(code) => {
            Err(format!("the host ends with {status} and not with {code}"))
        }
        _ => Ok(Played::Passed(Box::new(Case {
            steps: play.recorded,
            ..case.clone()
        }))),
    }
}

fn start_host(
    case: &Case,
    command: &[OsString],
    scratch: &TempDir,
) -> Result<(Program, Peer), String> {
    let hooks = scratch.path().to_string_lossy();
    let mut words = command.iter().map(|word| match word.to_str() {
        Some(word) => word.replace(HOOKS, &hooks).into(),
        None => word.clone(),
    });
    let (program, stdin, stdout) =
        Program::start(Command::new(words.next().unwrap_or_default()).args(words))?;
    let framing = if case.headers {
        Framing::Headers
    } else {
        Framing::Lines
    };
    Ok((program, Peer::new("the host", framing, stdin, stdout, None)))
}

fn make_directory() -> Result<TempDir, String> {
    crate::scratch_dir().map_err(|error| format!("failed to make a directory: {error}"))
}

/// Writes a definition file in one step, so that the host never sees half of it.
fn write_definition(scratch: &TempDir, name: &str, text: Option<&str>) -> Result<(), String> {
    let path = Some(PathBuf::from(name))
        .filter(|it| {
            it.components()
                .all(|component| matches!(component, Component::Normal(_)))
        })
        .ok_or_else(|| format!("{name}: not a file name"))?;
    let path = scratch.path().join(path);
    let new = path.with_extension("new");
    let written = match text {
        Some(text) => std::fs::write(&new, text).and_then(|()| std::fs::rename(&new, &path)),
        None => std::fs::remove_file(&path),
    };
    written.map_err(|error| format!("failed to write {name}: {error}"))
}
