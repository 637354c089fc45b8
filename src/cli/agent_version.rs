//! Which version of an agent is on `PATH`, as it says itself.

use super::drive::apart;
use super::ending::make_runtime;
use super::own::is_below;
use super::{Failure, find_project};
use hookwire_handlers::handlers::process::resolve;
use hookwire_rules::agents::Agent;
use std::path::{Path, PathBuf};
use std::process::{Output as Ended, Stdio};
use std::time::Duration;

/// The version of the agent that is on `PATH`, if it is there and says one. Nothing that a project
/// brings is started.
pub(super) fn version_on_path(agent: &Agent) -> Option<[u64; 3]> {
    let root = find_project();
    let program = on_path(&agent.program).filter(|it| !is_in_project(it, &root))?;
    let ended = ask_agent(&program, &root).ok()??;
    version_numbers(&String::from_utf8_lossy(&ended.stdout))
}

/// How long an agent may take to say its version: some load all of themselves first.
pub(super) const VERSION_LIMIT: Duration = Duration::from_secs(30);

/// Asks an agent for its version; nothing if it doesn't end. Where that can be, it leaves nothing
/// behind in the person's home.
pub(super) fn ask_agent(program: &Path, root: &Path) -> Result<Option<Ended>, Failure> {
    ask_agent_within(program, root, VERSION_LIMIT)
}

/// The same with another limit.
pub(super) fn ask_agent_within(
    program: &Path,
    root: &Path,
    limit: Duration,
) -> Result<Option<Ended>, Failure> {
    if let Ok(mut command) = apart(root) {
        command.arg(program).arg("--version");
        match run_within(command, limit)? {
            Some(ended) if ended.stdout.is_empty() => {}
            other => return Ok(other),
        }
    }
    let mut command = tokio::process::Command::new(program);
    command.arg("--version");
    run_within(command, limit)
}

pub(super) fn run_within(
    mut command: tokio::process::Command,
    limit: Duration,
) -> Result<Option<Ended>, Failure> {
    command.stdin(Stdio::null()).kill_on_drop(true);
    let runtime = make_runtime()?;
    let ended = runtime.block_on(async { tokio::time::timeout(limit, command.output()).await });
    runtime.shutdown_background();
    Ok(ended.ok().and_then(Result::ok))
}

/// The first version in a text, as `1.2.3`.
pub(super) fn version_numbers(text: &str) -> Option<[u64; 3]> {
    let words = text.split(|c: char| !(c.is_ascii_digit() || c == '.'));
    words
        .map(|word| {
            word.trim_matches('.')
                .split('.')
                .map(|it| it.parse().ok())
                .collect::<Option<Vec<u64>>>()
        })
        .find_map(|it| it?.try_into().ok())
}

/// Whether a project has a program, or says by a link which one runs.
pub(super) fn is_in_project(program: &Path, root: &Path) -> bool {
    is_below(program, root) || program.parent().is_some_and(|dir| is_below(dir, root))
}

/// A program that is started by its name.
pub(super) fn on_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var("PATH").ok()?;
    resolve(program, &[("PATH".to_string(), path)], Path::new("/")).ok()
}
