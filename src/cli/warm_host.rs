//! The host of a project that agents share: it stays up between events, and the first who needs it
//! starts it.

use super::{Failure, StandingArgs};
use hookwire_ask::project;
use hookwire_ask::warm::Warm;
use hookwire_base::support::places;
use hookwire_base::transport::socket;
use hookwire_engine::running::replace_superseded;
use rustix::fd::OwnedFd;
use rustix::process::{Resource, getrlimit};
use std::ffi::OsString;
use std::fs::File;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// A host that may open fewer files isn't started.
const MIN_FILES_OF_HOST: u64 = 64;
/// The first argument that doesn't tell hosts apart.
const IDLE_EXIT: &str = "--idle-exit";

/// The host of a project, and how it is started.
pub(super) struct WarmHost {
    warm: Warm,
    idle_exit: Duration,
}

impl WarmHost {
    pub(super) fn new(hooks: &StandingArgs, idle_exit: Duration) -> std::io::Result<WarmHost> {
        Ok(WarmHost {
            warm: Warm::new(std::env::current_exe()?, hooks.wanted()?, places::all())?,
            idle_exit,
        })
    }

    /// A connection, for which it is started if it doesn't run.
    pub(super) fn connect(&self) -> std::io::Result<UnixStream> {
        socket::connect_or_start(self.path(), |listener| self.start(listener))
    }

    /// The command that starts it anew where it is gone, and prints its socket.
    pub(super) fn start_command(&self, self_defense: bool) -> Vec<OsString> {
        self.warm.start_command(
            &humantime::format_duration(self.idle_exit).to_string(),
            self_defense,
        )
    }

    /// Its socket.
    pub(super) fn path(&self) -> &Path {
        &self.warm.socket
    }

    fn start(&self, listener: OwnedFd) -> std::io::Result<()> {
        // It would inherit the limit, and stay though it can serve nobody.
        if let Some(most) = getrlimit(Resource::Nofile)
            .current
            .filter(|most| *most < MIN_FILES_OF_HOST)
        {
            let problem = format!(
                "only {most} files may be open (`ulimit -n`), a host needs {MIN_FILES_OF_HOST}"
            );
            return Err(std::io::Error::other(problem));
        }
        let Warm {
            socket,
            program,
            args,
            root,
        } = &self.warm;
        let arguments = args.iter().map(|arg| arg.to_string_lossy().into_owned());
        replace_superseded(
            root,
            socket,
            &arguments.chain([IDLE_EXIT.into()]).collect::<Vec<_>>(),
        );
        let log = File::create(socket.with_extension("log"))?;
        let mut command = Command::new(program);
        command.arg("serve").args(args).arg(IDLE_EXIT);
        command
            .arg(humantime::format_duration(self.idle_exit).to_string())
            .arg("--inherit")
            .arg(socket);
        command
            .stdin(Stdio::from(listener))
            .stdout(Stdio::null())
            .stderr(log);
        // It outlives the agent's hook, and the agent must not wait for it.
        command.current_dir(root).process_group(0).spawn().map(drop)
    }
}

/// The definitions that agents are judged by, with the root that is meant.
///
/// # Errors
/// The root that was named isn't there.
pub(super) fn for_agents(
    hooks: &StandingArgs,
    self_defense: bool,
) -> Result<StandingArgs, Failure> {
    let mut hooks = hooks.clone();
    let definitions = &mut hooks.host.definitions;
    definitions.self_defense = self_defense;
    let counts_trusted = !definitions.live && !definitions.isolated;
    definitions.root = project::for_agents(&definitions.root, counts_trusted, places::data_dirs())
        .map_err(Failure)?;
    Ok(hooks)
}
