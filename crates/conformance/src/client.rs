//! A client is tried: its program is started for each case and told what to do, and its host is
//! played.

use crate::case::{Case, Step};
use crate::framing::Framing;
use crate::peer::{Answer, Peer};
use crate::play::{Play, Played, Program};
use crate::scratch_dir;
use crate::shape::Shapes;
use rustix::event::{PollFd, PollFlags, poll};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::net::Shutdown;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use tempfile::TempDir;

/// What a client may send or leave out, whatever the case.
const PASSED_OVER: &[&str] = &[
    "initialize",
    "initialized",
    "shutdown",
    "exit",
    "$/setTrace",
    "$/cancelRequest",
];

pub(crate) fn play_client(
    case: &Case,
    command: &[OsString],
    limit: Duration,
    shapes: &Shapes,
) -> Played {
    match converse(case, command, limit, shapes) {
        Ok(()) => Played::Passed(Box::new(case.clone())),
        Err(problem) => Played::Failed(problem),
    }
}

fn converse(
    case: &Case,
    command: &[OsString],
    limit: Duration,
    shapes: &Shapes,
) -> Result<(), String> {
    let mut hosts = Hosts::new(case, shapes.version(), limit)
        .map_err(|error| format!("failed to stand in for a host: {error}"))?;
    let mut words = command.iter();
    let mut command = Command::new(words.next().cloned().unwrap_or_default());
    let (mut program, stdin, stdout) =
        Program::start(command.args(words).env("HOOKWIRE", &hosts.program))?;
    let mut agent = Peer::new("the client's program", Framing::Lines, stdin, stdout, None);
    agent.send_message(&json!({ "settings": case.settings }));
    let mut play = Play::new(limit, shapes);
    for (n, step) in case.steps.iter().enumerate() {
        let result = match step {
            Step::Start => hosts.wait_for_start().map(drop),
            Step::Send(message) => hosts
                .wait_for_start()
                .map(|host| play.send_template(host, message)),
            Step::Raw(text) => hosts.wait_for_start().map(|host| host.send_raw(text)),
            Step::Expect(pattern) => hosts
                .wait_for_start()
                .and_then(|host| play.expect_message(host, pattern)),
            Step::Close => {
                hosts.end_host();
                Ok(())
            }
            Step::Do(line) => {
                agent.send_message(&play.fill_template(line));
                Ok(())
            }
            Step::Told(pattern) => told(&mut play, &mut agent, pattern),
            Step::Write(_) | Step::Exit(_) => Err("this is a step for hosts".into()),
        };
        result.map_err(|problem| format!("step {}: {problem}", n + 1))?;
    }
    agent.close_input();
    if let Some(line) = agent.receive_rest(limit)?.first() {
        return Err(format!(
            "the client's program says what wasn't asked: {line}"
        ));
    }
    program.wait_for_exit(limit)?;
    match &mut hosts.current {
        Some((host, _)) => play.expect_end(host, PASSED_OVER),
        None => Ok(()),
    }
}

fn told(play: &mut Play, agent: &mut Peer, pattern: &Value) -> Result<(), String> {
    let name = pattern.get("as").cloned();
    let line = agent.receive_fitting("what the agent does", play.limit, |line| {
        line.get("as") == name.as_ref()
    })?;
    play.compare_values(pattern, &line)
}

/// The hosts that the client starts, one after the other.
struct Hosts<'a> {
    /// What the client starts.
    program: PathBuf,
    listener: UnixListener,
    current: Option<(Peer, UnixStream)>,
    case: &'a Case,
    /// The version of the protocol.
    version: &'a Value,
    limit: Duration,
    _scratch: TempDir,
}

impl<'a> Hosts<'a> {
    fn new(case: &'a Case, version: &'a Value, limit: Duration) -> std::io::Result<Hosts<'a>> {
        let scratch = scratch_dir()?;
        let (socket, stand_in) = (
            scratch.path().join("socket"),
            scratch.path().join("hookwire"),
        );
        let listener = UnixListener::bind(&socket)?;
        let (this, at) = (quote_path(&std::env::current_exe()?), quote_path(&socket));
        std::fs::write(
            &stand_in,
            format!("#!/bin/sh\nexec {this} --stand-in {at}\n"),
        )?;
        std::fs::set_permissions(&stand_in, std::fs::Permissions::from_mode(0o700))?;
        Ok(Hosts {
            program: stand_in,
            listener,
            current: None,
            case,
            version,
            limit,
            _scratch: scratch,
        })
    }

    /// The host that the client has started, which is waited for.
    fn wait_for_start(&mut self) -> Result<&mut Peer, String> {
        let current = match self.current.take() {
            Some(current) => current,
            None => self.accept()?,
        };
        Ok(&mut self.current.insert(current).0)
    }

    fn accept(&self) -> Result<(Peer, UnixStream), String> {
        let failed = |error: std::io::Error| format!("failed to stand in for a host: {error}");
        let limit = rustix::time::Timespec::try_from(self.limit)
            .map_err(|_| "the time limit is too long")?;
        let mut fds = [PollFd::new(&self.listener, PollFlags::IN)];
        match poll(&mut fds, Some(&limit)) {
            Ok(0) => return Err("the client has started no host".into()),
            Ok(_) => {}
            Err(error) => return Err(failed(error.into())),
        }
        let (stream, _) = self.listener.accept().map_err(failed)?;
        let (input, output) = (
            stream.try_clone().map_err(failed)?,
            stream.try_clone().map_err(failed)?,
        );
        let peer = Peer::new(
            "the client",
            Framing::Lines,
            input,
            output,
            Some(self.initialize()),
        );
        Ok((peer, stream))
    }

    /// The reply to `initialize`, which a client need not send.
    fn initialize(&self) -> Answer {
        let mut result = json!({
            "serverInfo": { "name": "stand-in", "version": env!("CARGO_PKG_VERSION") },
            "protocolVersion": self.version,
            "capabilities": {},
            "hooks": { "generation": 1, "hash": "0", "hooks": 1, "diagnostics": 0, "watching": "off" },
        });
        for (key, value) in &self.case.initialize {
            result[key] = value.clone();
        }
        Box::new(move |message| {
            let is_it = message["method"] == "initialize";
            is_it.then(|| json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }))
        })
    }

    /// The host dies.
    fn end_host(&mut self) {
        if let Some((_, stream)) = self.current.take() {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

impl Drop for Hosts<'_> {
    fn drop(&mut self) {
        self.end_host();
    }
}

/// A path as one word of a shell's text.
fn quote_path(path: &Path) -> String {
    format!("'{}'", path.to_string_lossy().replace('\'', r"'\''"))
}
