//! A host that has given definitions and nothing else, in directories of its own, to show what they
//! decide.

use super::Failure;
use super::ending::make_runtime;
use super::scratch::scratch_dir;
use hookwire_base::event::Event;
use hookwire_base::verdict::{Decision, Verdict};
use hookwire_dialects::{self as dialects, Dialect, NATIVE};
use hookwire_engine::host::{Host, HostOptions, LastGood};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// See the module. Nothing that it judges is run.
pub(super) struct SampleHost {
    host: Arc<Host>,
    runtime: Option<Runtime>,
    work: PathBuf,
    dir: TempDir,
}

impl SampleHost {
    /// # Errors
    /// The directories can't be made.
    pub(super) fn new(
        files: impl IntoIterator<Item = (String, String)>,
    ) -> Result<SampleHost, Failure> {
        let dir = scratch_dir("sample")?;
        let (hooks, work) = (dir.path().join("hooks"), dir.path().join("work"));
        std::fs::create_dir(&hooks)?;
        std::fs::create_dir(&work)?;
        for (name, text) in files {
            std::fs::write(hooks.join(name), text)?;
        }
        let host = Host::new(HostOptions {
            root: work.clone(),
            hooks: vec![hooks],
            last_good: LastGood::Ignored,
            ..HostOptions::default()
        });
        Ok(SampleHost {
            host,
            runtime: Some(make_runtime()?),
            work,
            dir,
        })
    }

    /// The project that it judges, which is empty.
    pub(super) fn work(&self) -> &Path {
        &self.work
    }

    /// A directory beside it, with nothing that is anybody's.
    pub(super) fn beside(&self) -> &Path {
        self.dir.path()
    }

    /// What the hooks decide about an event, or would decide if they didn't only observe.
    pub(super) fn judge(&self, dialect: &'static Dialect, event: &Event) -> Decision {
        let trial = self
            .runtime
            .as_ref()
            .map(|runtime| runtime.block_on(self.host.try_event(dialect, event)));
        trial.map_or(Decision::Allow, |trial| strongest(&trial.verdict))
    }

    /// The same about a shell's command.
    ///
    /// # Errors
    /// It is no event.
    pub(super) fn judge_command(&self, command: &str) -> Result<Decision, Failure> {
        let event = json!({ "event": "PreToolUse", "cwd": self.work, "tool": { "name": "Bash", "input": { "command": command } } });
        let event = Event::from_json(event).map_err(|error| Failure(error.to_string()))?;
        let native = dialects::by_name(NATIVE).map_err(|error| Failure(error.to_string()))?;
        Ok(self.judge(native, &event))
    }
}

impl Drop for SampleHost {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

fn strongest(verdict: &Verdict) -> Decision {
    let decisions = verdict.outcomes.iter().filter_map(|outcome| {
        outcome
            .observed
            .as_ref()
            .map_or(outcome.decision, |observed| observed.decision)
    });
    let decisions: Vec<Decision> = decisions.collect();
    [Decision::Deny, Decision::Ask]
        .into_iter()
        .find(|decision| decisions.contains(decision))
        .unwrap_or(Decision::Allow)
}
