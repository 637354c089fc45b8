//! What an agent's entry is asked: a call that is always denied, and one of the person's own cases
//! that are to be denied.

use crate::cli::Failure;
use crate::cli::ending::make_runtime;
use hookwire_base::event::Event;
use hookwire_base::support::places;
use hookwire_base::verdict::Decision;
use hookwire_dialects::Dialect;
use hookwire_dialects::asked::Asked;
use hookwire_engine::definitions::cases::{self, Case, Scene, case_files, directory};
use hookwire_engine::definitions::embedded::{PROBE, PROBE_DENIED};
use hookwire_engine::engine::PROBE_SESSION;
use hookwire_engine::host::Host;
use serde_json::{Value, json};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How long a case is looked for that this agent can ask about.
const BUDGET: Duration = Duration::from_secs(2);

/// A call that is to be denied.
pub(super) struct Probe {
    /// What it is, for people.
    pub(super) what: String,
    /// The call in the agent's words.
    payload: Value,
    /// What the agent is told.
    reason: String,
}

/// What an agent's entry is asked. `host` judges as the entry is to.
pub(super) fn probes_for(
    dialect: &'static Dialect,
    host: &Host,
    root: &Path,
) -> Result<Vec<Probe>, Failure> {
    let root = root.canonicalize().unwrap_or_else(|_| root.to_path_buf());
    let always = always_denied(dialect, &root)?;
    let runtime = make_runtime()?;
    let own = runtime.block_on(own_case(dialect, host, &root));
    runtime.shutdown_background();
    Ok([Some(always), own].into_iter().flatten().collect())
}

/// A call that every entry denies.
pub(super) fn always_denied(dialect: &'static Dialect, root: &Path) -> Result<Probe, Failure> {
    let event = json!({
        "event": "PreToolUse",
        "session": PROBE_SESSION,
        "cwd": root,
        "tool": { "name": PROBE, "input": {} },
    });
    let event = Event::from_json(event).map_err(|error| Failure(error.to_string()))?;
    Ok(Probe {
        what: "a probe".into(),
        payload: (dialect.contract.payload)(&event),
        reason: PROBE_DENIED.into(),
    })
}

/// The first case of a tool call that is denied here without anything that has effects, if it is
/// asked in this agent's words.
async fn own_case(dialect: &'static Dialect, host: &Host, root: &Path) -> Option<Probe> {
    let began = Instant::now();
    let home = places::home().unwrap_or_else(|| PathBuf::from("/"));
    // As they were vouched for.
    for file in case_files(&host.dirs()) {
        let name = file.path.display().to_string();
        // `check` and `test` tell what can't be read.
        let Some(Ok(cases)) = file.text.map(|text| cases::read(&name, &text)) else {
            continue;
        };
        // They take place elsewhere.
        if cases.setup.is_some() {
            continue;
        }
        let scene = Scene {
            dir: root,
            home: &home,
            files: directory(&file.path),
            session: PROBE_SESSION,
        };
        for case in &cases.cases {
            if began.elapsed() > BUDGET {
                return None;
            }
            if let Some((payload, reason)) = denied(dialect, host, case, &scene).await {
                let path = file.path.strip_prefix(root).unwrap_or(&file.path);
                let (name, place, line) = (&case.name, path.display(), case.line);
                return Some(Probe {
                    what: format!("`{name}` ({place}:{line})"),
                    payload,
                    reason,
                });
            }
        }
    }
    None
}

/// A case as the agent asks about it, and why it is denied, if it is.
async fn denied(
    dialect: &'static Dialect,
    host: &Host,
    case: &Case,
    scene: &Scene<'_>,
) -> Option<(Value, String)> {
    if !case.is_deny() {
        return None;
    }
    let [happening] = <[_; 1]>::try_from(case.happenings(scene).ok()?).ok()?;
    if &*happening.event.name != "PreToolUse" {
        return None;
    }
    let payload = (dialect.contract.payload)(&happening.event);
    // What the agent's words lack isn't asked.
    let mut asked = Asked::new(dialect, None);
    let read = asked
        .read_payload(payload.to_string().as_bytes(), "")
        .ok()?;
    let event = asked.read_event(read, BUDGET).ok()?;
    let verdict = host.try_event(dialect, &event).await.verdict;
    let is_denied = verdict.decision == Decision::Deny && event.session() == PROBE_SESSION;
    verdict
        .reason
        .filter(|_| is_denied)
        .map(|reason| (payload, reason.to_string()))
}

impl Probe {
    /// Runs hookwire as an agent's entry does. How long it took, in milliseconds.
    ///
    /// # Errors
    /// It didn't deny the call for this reason; what it said, for people.
    pub(super) fn try_entry(
        &self,
        dialect: &Dialect,
        program: &Path,
        arguments: &[String],
        root: &Path,
    ) -> Result<u128, String> {
        // No shell: what runs is the very program that was looked at.
        let mut command = Command::new(program);
        command.args(arguments).current_dir(root);
        self.try_command(dialect, command)
    }

    /// The same of a command.
    ///
    /// # Errors
    /// It didn't deny the call for this reason; what it said, for people.
    pub(super) fn try_command(
        &self,
        dialect: &Dialect,
        mut command: Command,
    ) -> Result<u128, String> {
        let started = Instant::now();
        let failed = |error: std::io::Error| format!("it doesn't run: {error}");
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        if let Some(mut stdin) = child.stdin.take() {
            // Who fails early doesn't read.
            let _ = stdin.write_all(self.payload.to_string().as_bytes());
        }
        let output = child.wait_with_output().map_err(failed)?;
        let stderr = String::from_utf8_lossy(&output.stderr);
        let is_exit = dialect
            .row("PreToolUse")
            .is_some_and(|row| row.denies_by_exit)
            && output.status.code() == Some(2);
        if self.is_in(&String::from_utf8_lossy(&output.stdout)) || is_exit && self.is_in(&stderr) {
            return Ok(started.elapsed().as_millis());
        }
        let said = stderr.lines().next().unwrap_or("it said nothing");
        Err(format!("{}, {said}", output.status))
    }

    /// Whether the reason is in what was said, as it is or in a string of JSON.
    fn is_in(&self, said: &str) -> bool {
        let quoted = Value::from(&*self.reason).to_string();
        said.contains(&self.reason) || said.contains(quoted.trim_matches('"'))
    }
}
