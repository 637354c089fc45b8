//! A host of the demo, as on a machine of its own: an account, a directory of what it keeps, and a
//! process.

use super::LIMIT;
use crate::cli::Failure;
use hookwire_base::support::file;
use hookwire_base::transport::client::Client;
use hookwire_base::verdict::Verdict;
use parking_lot::Mutex;
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};
use std::fs::{self, File};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::task::JoinHandle;

/// See the module.
pub(super) struct Machine {
    pub(super) name: String,
    /// The demo's directory.
    root: PathBuf,
    /// Whoever asks the host.
    pub(super) agent: Agent,
    process: Process,
    killed: Killed,
}

/// How many answers processes of a host gave that were killed, and how many verdicts its disk had
/// then.
#[derive(Default)]
struct Killed {
    answered: u64,
    on_disk: u64,
}

/// How often is looked what the disk has.
const LOOK: Duration = Duration::from_millis(20);

impl Machine {
    /// Starts its host.
    pub(super) fn start(name: &str, root: &Path) -> Result<Machine, Failure> {
        let (process, agent) = start_serve(name, root)?;
        Ok(Machine {
            name: name.into(),
            root: root.into(),
            agent,
            process,
            killed: Killed::default(),
        })
    }

    /// Waits until the disk has a verdict for each answer, kills the host as `kill -9` does while
    /// its agent is `waiting`, and starts it again. Gives how many verdicts the disk had.
    pub(super) async fn kill_host(
        &mut self,
        waiting: JoinHandle<Result<Verdict, Failure>>,
    ) -> Result<u64, Failure> {
        // A disk tells nobody what is written.
        let written = async {
            while self.on_disk()? < self.owed() {
                tokio::time::sleep(LOOK).await;
            }
            Ok::<(), Failure>(())
        };
        tokio::time::timeout(LIMIT, written)
            .await
            .map_err(|_| Failure("the disk doesn't have the verdicts".into()))??;
        self.process.kill();
        if let Ok(verdict) = waiting.await? {
            let decision = verdict.decision.as_str();
            return Err(Failure(format!(
                "a host that was killed while it was asked has answered: {decision}"
            )));
        }
        let on_disk = self.on_disk()?;
        self.killed = Killed {
            answered: self.judged(),
            on_disk,
        };
        (self.process, self.agent) = start_serve(&self.name, &self.root)?;
        Ok(on_disk)
    }

    /// How many answers it has given.
    pub(super) fn judged(&self) -> u64 {
        self.killed.answered + self.agent.answered()
    }

    /// How many verdicts the stream must have of it.
    pub(super) fn owed(&self) -> u64 {
        self.killed.on_disk + self.agent.answered()
    }

    /// How many verdicts its disk has, sent or not. A segment of a spool goes after 4 MiB, which no
    /// demo fills.
    pub(super) fn on_disk(&self) -> std::io::Result<u64> {
        let mut n = 0;
        let mut dirs = vec![self.root.join(&self.name).join("fleet/spools")];
        while let Some(dir) = dirs.pop() {
            for entry in fs::read_dir(dir)? {
                let path = entry?.path();
                match path
                    .extension()
                    .is_some_and(|extension| extension == "jsonl")
                {
                    true => {
                        n += file::read_small(&path, u64::MAX - 1)?
                            .iter()
                            .filter(|it| **it == b'\n')
                            .count() as u64
                    }
                    false if path.is_dir() => dirs.push(path),
                    false => {}
                }
            }
        }
        Ok(n)
    }
}

/// Starts this program as `serve --fleet`, in a project that all hosts have, with data of its own.
fn start_serve(name: &str, root: &Path) -> Result<(Process, Agent), Failure> {
    let (ours, theirs) = UnixStream::pair()?;
    let log = File::options()
        .create(true)
        .append(true)
        .open(root.join(format!("{name}.log")))?;
    let mut command = Command::new(std::env::current_exe()?);
    command
        .args(["--log", "warn", "--color", "never", "--user-dir"])
        .arg(root.join("user"));
    command.arg("--data-dir").arg(root.join(name)).args([
        "serve",
        "--isolated",
        "--no-share",
        "--root",
    ]);
    command
        .arg(root.join("project"))
        .arg("--fleet")
        .arg(root.join(format!("{name}.conf")));
    command
        .stdin(OwnedFd::from(theirs.try_clone()?))
        .stdout(OwnedFd::from(theirs))
        .stderr(log);
    let process = Process(Some(command.process_group(0).spawn()?));
    // The command holds the host's end of the socket, and that the host has ended would not show.
    drop(command);
    let client = Arc::new(Mutex::new(Client::new(ours, LIMIT)?));
    Ok((
        process,
        Agent {
            client,
            answers: Arc::default(),
        },
    ))
}

/// A process that is killed with the value, and with it what it has started in its group, such as a
/// trial of cases.
struct Process(Option<Child>);

impl Process {
    fn kill(&mut self) {
        if let Some(mut child) = self.0.take() {
            let _ = kill_process_group(Pid::from_child(&child), Signal::KILL);
            let _ = child.wait();
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// An agent that asks its host before each call.
#[derive(Clone)]
pub(super) struct Agent {
    client: Arc<Mutex<Client>>,
    /// How many answers have come.
    answers: Arc<AtomicU64>,
}

impl Agent {
    /// Asks about a command.
    pub(super) async fn ask_about(&self, command: &str) -> Result<Verdict, Failure> {
        let call = json!({ "name": "Bash", "input": { "command": command } });
        let event = json!({ "event": "PreToolUse", "session": "demo", "tool": call });
        let verdict = self.send_request("hooks/dispatch", event).await?;
        Ok(serde_json::from_value(verdict)?)
    }

    /// Asks about one command after another.
    pub(super) async fn ask_many(&self, commands: u64) -> Result<u64, Failure> {
        for n in 1..=commands {
            self.ask_about(&format!("make test-{n}")).await?;
        }
        Ok(commands)
    }

    fn answered(&self) -> u64 {
        self.answers.load(Ordering::Relaxed)
    }

    /// Off the runtime's threads, because the client waits for its reply.
    async fn send_request(&self, method: &'static str, params: Value) -> Result<Value, Failure> {
        let (client, answers) = (self.client.clone(), self.answers.clone());
        Ok(tokio::task::spawn_blocking(move || {
            let replied = client.lock().request(method, &params);
            replied.inspect(|_| {
                answers.fetch_add(1, Ordering::Relaxed);
            })
        })
        .await??)
    }
}
