//! Hosts that end: because a person says so, or because after an upgrade the host of the old
//! program gives its place to one of the new. It takes no more callers, answers those that it has,
//! and ends.

use super::{Running, connect};
use hookwire_base::support::file;
use hookwire_base::support::process::stat;
use hookwire_base::support::program::Program;
use hookwire_base::transport::socket;
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::json;
use std::io::Result;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long is waited for the end of the old host, because it may hold the file of the shared
/// state.
const LAST: Duration = Duration::from_secs(1);
/// How long a person waits for the end of a host that nobody else is connected to.
const PATIENCE: Duration = Duration::from_secs(10);
/// In the names of sockets of hosts that were started by a hook.
const BY_HOOK: &str = "-hook-";

/// Ends the hosts of a project that a hook of an earlier program has started with these arguments.
/// A host that is too old to say with which arguments it was started is of an earlier program, too.
/// At the socket `own` nobody answers yet: the host that takes their place is about to start.
pub fn replace_superseded(root: &Path, own: &Path, arguments: &[String]) {
    let mut sockets = socket::of_projects(&[socket::key(root)]).unwrap_or_default();
    sockets.retain(|socket| socket != own);
    for mut host in connect(sockets) {
        if let Some((pid, program)) = host.superseded()
            && program
                .as_ref()
                .is_none_or(|it| it.arguments.get(1..=arguments.len()) == Some(arguments))
        {
            retire(host, pid, program.is_none());
        }
    }
}

/// How a host ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// It is gone.
    Gone,
    /// It takes nobody any more, and is gone when those have gone who are connected.
    WhenLeft,
}

impl Running {
    /// Has a host end.
    ///
    /// # Errors
    /// It doesn't answer, or refuses and says why: it ends with the program that started it.
    pub fn stop(mut self) -> Result<Stopped> {
        let (pid, _, n_clients) = self.process()?;
        self.client.request("host/retire", &json!({}))?;
        let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) else {
            return Ok(Stopped::WhenLeft);
        };
        // It counts whoever is connected.
        drop(self);
        let is_gone = await_end(pid, if n_clients == 0 { PATIENCE } else { LAST });
        Ok(if is_gone {
            Stopped::Gone
        } else {
            Stopped::WhenLeft
        })
    }
}

/// The hosts of the program as it is now, where there are some; the others are ended then.
pub(super) fn without_superseded(running: Vec<Running>) -> Vec<Running> {
    let (mut kept, mut superseded) = (Vec::new(), Vec::new());
    for mut host in running {
        match host.superseded() {
            Some((pid, program)) => superseded.push((host, pid, program.is_none())),
            None => kept.push(host),
        }
    }
    if kept.is_empty() {
        return superseded.into_iter().map(|(host, ..)| host).collect();
    }
    superseded
        .into_iter()
        .for_each(|(host, pid, is_too_old)| retire(host, pid, is_too_old));
    kept
}

impl Running {
    /// The process of a host that a hook of an earlier program has started, and that program if it
    /// says.
    fn superseded(&mut self) -> Option<(u32, Option<Program>)> {
        let is_by_hook = self
            .socket
            .file_name()
            .is_some_and(|it| it.to_string_lossy().contains(BY_HOOK));
        let (pid, program) = if is_by_hook {
            self.program().ok()?
        } else {
            return None;
        };
        program
            .as_ref()
            .is_none_or(|it| Program::own().supersedes(it))
            .then_some((pid, program))
    }
}

/// Ends a host; one that `is_too_old` to say of what program it is doesn't know the word for that
/// either.
fn retire(mut host: Running, pid: u32, is_too_old: bool) {
    tracing::info!(socket = %host.socket.display(), pid, "The host of an earlier program ends.");
    let asked = host.client.request("host/retire", &json!({}));
    let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) else {
        return;
    };
    if let Err(problem) = asked {
        if !is_too_old || !was_started_for(&host.socket, pid) {
            return tracing::warn!(socket = %host.socket.display(), %problem, "The host of an earlier program stays.");
        }
        let _ = kill_process(pid, Signal::TERM);
    }
    // It counts whoever is connected.
    drop(host);
    await_end(pid, LAST);
}

/// Whether a process has ended and nobody has taken its exit code, as in containers whose first
/// process takes none.
fn is_unreaped(pid: Pid) -> bool {
    stat(pid.as_raw_nonzero()).is_some_and(|fields| fields.starts_with('Z'))
}

/// Whether a process ends soon.
fn await_end(pid: Pid, time: Duration) -> bool {
    let until = Instant::now() + time;
    while test_kill_process(pid).is_ok() && !is_unreaped(pid) {
        if Instant::now() > until {
            return false;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    true
}

/// Whether a process was started to serve a socket. A number alone may be that of another process,
/// as in a container.
fn was_started_for(socket: &Path, pid: Pid) -> bool {
    let line = file::read_small(
        Path::new(&format!("/proc/{}/cmdline", pid.as_raw_nonzero())),
        file::MAX_FILE,
    )
    .unwrap_or_default();
    line.split(|byte| *byte == 0)
        .any(|argument| argument == socket.as_os_str().as_encoded_bytes())
}
