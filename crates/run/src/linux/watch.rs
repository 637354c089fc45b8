//! The thread that watches what is outside: the host, the front, and the end of the tree.

use super::host::{Link, Message, await_soon};
use super::programs::Snapshot;
use super::runs::file_time;
use super::supervisor::{SILENCE, SILENT, Supervisor};
use super::{start, sys};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use serde_json::{Value, json};
use std::io::{ErrorKind, Result};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How long after a try to reach the host the next one comes, at first and at last.
const RETRY: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(5));
/// How long starting a host may take.
const START_PATIENCE: Duration = Duration::from_secs(10);

/// Watches until nothing is left, and ends the process then.
pub fn run_watch(supervisor: &Arc<Supervisor>, link: Link) {
    let begun = Instant::now();
    let mut link = begin_watch(supervisor, link).ok();
    let (mut pause, mut front_is_gone) = (RETRY.0, false);
    loop {
        let alarm = PollFd::new(supervisor.pool.alarm(), PollFlags::POLLIN);
        let mut ready = vec![
            PollFd::new(supervisor.listener(), PollFlags::empty()),
            alarm,
        ];
        if !front_is_gone {
            ready.push(PollFd::new(supervisor.front(), PollFlags::empty()));
        }
        if let Some(link) = &link {
            ready.push(PollFd::new(link.stream().as_fd(), PollFlags::POLLIN));
        }
        let wait = if link.is_some() {
            PollTimeout::NONE
        } else {
            PollTimeout::try_from(pause).unwrap_or(PollTimeout::MAX)
        };
        let _ = poll(&mut ready, wait);
        let is_ready = |n: usize| ready.get(n).and_then(|it| it.any()) == Some(true);
        let (front, host) = (
            !front_is_gone && is_ready(2),
            is_ready(if front_is_gone { 2 } else { 3 }),
        );
        if is_ready(1) && supervisor.pool.is_sound() {
            start::refuse_waiting(supervisor);
        }
        if is_ready(0) && supervisor.has_ended() {
            supervisor.await_told();
            supervisor.runs.note_end(file_time());
            sys::exit_now(0);
        }
        if front {
            front_is_gone = true;
            supervisor.kill_command();
        }
        link = match link {
            Some(link) if host => listen_to(supervisor, link).ok(),
            Some(link) => Some(link),
            None => reach_host(supervisor, pause),
        };
        // A host on a busy machine is asked again first, while starts wait.
        if link.is_none() && begun.elapsed() >= SILENCE {
            supervisor.publish_snapshot(Err(SILENT.into()));
        }
        pause = if link.is_some() {
            RETRY.0
        } else {
            (pause * 2).min(RETRY.1)
        };
    }
}

/// Asks what rules name, on a connection that has just been made.
fn begin_watch(supervisor: &Supervisor, mut link: Link) -> Result<Link> {
    let id = link.send_request("programs/named", json!({}))?;
    let named = await_soon(&mut link, id)?;
    judge_by(supervisor, &mut link, &named)?;
    Ok(link)
}

/// Judges by what rules name from now on, and says so.
fn judge_by(supervisor: &Supervisor, link: &mut Link, named: &Value) -> Result<()> {
    let names = named["names"].as_array().ok_or(ErrorKind::InvalidData)?;
    let generation = named["generation"].as_u64().ok_or(ErrorKind::InvalidData)?;
    let every = named["every"].as_bool().ok_or(ErrorKind::InvalidData)?;
    let names = names.iter().map(|name| {
        name.as_str()
            .map(str::to_owned)
            .ok_or(ErrorKind::InvalidData)
    });
    let names: Vec<String> = names.collect::<std::result::Result<_, _>>()?;
    supervisor.publish_snapshot(Ok(Snapshot::new(every, names.into_iter())));
    link.send_request("programs/have", json!({ "generation": generation }))
        .map(drop)
}

/// Reads what has come.
fn listen_to(supervisor: &Supervisor, mut link: Link) -> Result<Link> {
    link.fill_buffer()?;
    while let Some(message) = link.take_message()? {
        if let Message::Notification(method, params) = message
            && method == "programs/changed"
        {
            judge_by(supervisor, &mut link, &params)?;
        }
    }
    Ok(link)
}

/// Reaches for the host again; starts one if there is none.
fn reach_host(supervisor: &Supervisor, pause: Duration) -> Option<Link> {
    let (asking, command) = (&supervisor.asking, &supervisor.options.host);
    let link = asking.connect().or_else(|error| {
        // Another who needs it may be starting it.
        if pause > RETRY.0 && !command.is_empty() && asking.obeyed.may_start(command) {
            supervisor.has_started_host.store(true, Ordering::Relaxed);
            asking.move_to(start_host(command).ok_or(error)?);
            return asking.connect();
        }
        Err(error)
    });
    begin_watch(supervisor, link.ok()?).ok()
}

/// Starts a host; gives the path of its socket.
fn start_host(words: &[std::ffi::OsString]) -> Option<PathBuf> {
    let (program, arguments) = words.split_first()?;
    let mut command = Command::new(program);
    command
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0);
    let mut child = command.spawn().ok()?;
    let until = Instant::now() + START_PATIENCE;
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if Instant::now() < until => std::thread::sleep(Duration::from_millis(5)),
            Ok(None) | Err(_) => {
                let _ = child.kill();
                break child.wait().ok()?;
            }
        }
    };
    let mut path = String::new();
    // The host that it has started may hold its output open, so only what is there already is read.
    let mut chunk = [0; 4096];
    if let (true, Some(stdout)) = (status.success(), child.stdout.as_mut())
        && let Ok(n) = std::io::Read::read(stdout, &mut chunk)
    {
        path.push_str(&String::from_utf8_lossy(&chunk[..n]));
    }
    path.lines()
        .next()
        .filter(|line| !line.is_empty())
        .map(PathBuf::from)
}
