//! One run of a script, as its caller, the threads and the realm see it.

use crate::handlers::digits::Handed;
use crate::services::state::{Occasion, Scope, Store};
use bytes::Bytes;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::OwnedSemaphorePermit;

/// The memory of a script that names none, in bytes.
pub(in crate::handlers) const DEFAULT_MEMORY: usize = 32 * 1024 * 1024;

/// Below this there is no room for the language itself.
pub(in crate::handlers) const MIN_MEMORY: usize = 4 * 1024 * 1024;

/// One run.
pub(super) struct Job {
    pub request: RunRequest,
    /// Nothing waits for the run any more.
    pub stop: AtomicBool,
    /// Run on the spot: until then, and without changing anything.
    pub until: Option<Instant>,
    /// Gone when the thread has come back or was given up, whichever was first.
    pub permit: Mutex<Option<OwnedSemaphorePermit>>,
}

impl Job {
    /// Whether the run was given up, or is out of time.
    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.until.is_some_and(|until| Instant::now() >= until)
    }
}

/// All that a run needs.
#[derive(Clone)]
pub(in crate::handlers) struct RunRequest {
    pub program: Arc<Program>,
    /// The event as JSON.
    pub event: Bytes,
    /// The hook's name, for the log.
    pub hook: Arc<str>,
    /// What the script sees of its hook, as JSON.
    pub about: Arc<str>,
    pub is_native: bool,
    /// The scope of the values in `state`.
    pub scope: Scope,
    pub store: Store,
    /// What its increments count for.
    pub occasion: Occasion,
}

impl RunRequest {
    pub(super) fn job(self, until: Option<Instant>, permit: Option<OwnedSemaphorePermit>) -> Job {
        Job {
            request: self,
            stop: AtomicBool::new(false),
            until,
            permit: Mutex::new(permit),
        }
    }
}

/// A script as the threads know it.
pub(in crate::handlers) struct Program {
    pub code: String,
    /// What the script sees as `args`, as JSON.
    pub args: String,
    /// In bytes.
    pub memory: usize,
    /// Its name in messages.
    pub name: String,
    /// Where the script's lines are in the definition's file, if they are there.
    pub lines: Vec<usize>,
}

impl Program {
    #[cfg(test)]
    pub(super) fn bare(code: &str) -> Program {
        let (code, args, name) = (code.to_string(), "{}".to_string(), "the script".to_string());
        Program {
            code,
            args,
            memory: DEFAULT_MEMORY,
            name,
            lines: Vec::new(),
        }
    }

    /// A line of the script as people find it.
    pub(super) fn place(&self, line: usize) -> String {
        match self.lines.get(line - 1) {
            Some(written) => format!("line {written} of the definition"),
            None => format!("line {line} of {}", self.name),
        }
    }
}

/// The outcome of a run.
pub(in crate::handlers) struct Done {
    /// The script's answer as JSON.
    pub answer: Option<String>,
    /// What it got from the store.
    pub handed: Handed,
    /// It may have changed shared values.
    pub changed: bool,
    /// How long it ran.
    pub took: Duration,
}

#[cfg(test)]
impl Job {
    /// A run without a pool.
    pub(super) fn bare(
        program: &Arc<Program>,
        event: &serde_json::Value,
        store: Store,
    ) -> Arc<Job> {
        let request = RunRequest {
            program: program.clone(),
            event: event.to_string().into(),
            hook: "hostile".into(),
            about: "{}".into(),
            is_native: true,
            scope: Scope::Global,
            store,
            occasion: Occasion {
                event: "hostile".into(),
                hook: "hostile".into(),
                run: "hostile".into(),
            },
        };
        Arc::new(request.job(None, None))
    }
}
