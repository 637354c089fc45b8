//! The host of a project that agents share: it stays up between events, and the first who needs it starts it.

use super::{DefinitionArgs, Failure, StandingArgs, nearest, place_args, project};
use crate::definitions::approved;
use crate::running::replace_superseded;
use crate::support::digest;
use crate::transport::socket;
use rustix::fd::OwnedFd;
use rustix::process::{Resource, getrlimit};
use sha2::{Digest, Sha256};
use std::ffi::OsString;
use std::fs::File;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// A host that may open fewer files isn't started.
const MIN_FILES_OF_HOST: u64 = 64;
/// What follows the arguments that tell hosts apart.
const IDLE_EXIT: &str = "--idle-exit";

/// The host of a project that is shared by all who want the same definitions, at the same places, of the same program.
pub(super) struct WarmHost {
    path: PathBuf,
    program: PathBuf,
    args: Vec<OsString>,
    root: PathBuf,
    idle_exit: Duration,
}

impl WarmHost {
    pub(super) fn new(hooks: &StandingArgs, idle_exit: Duration) -> std::io::Result<WarmHost> {
        let program = std::env::current_exe()?;
        let mut hooks = hooks.clone();
        let root = hooks.host.definitions.root.canonicalize()?;
        hooks.host.definitions.root = root.clone();
        let mut args = hooks.to_args()?;
        args.extend(place_args().flat_map(|(flag, place)| [flag.into(), place.into()]));
        let mut digest = Sha256::new();
        digest.update(program.as_os_str().as_encoded_bytes());
        // After an upgrade the old host is another one, which gives its place to this.
        let about = program.metadata()?;
        digest.update(format!("{:?} {}", about.modified()?, about.len()));
        // `~` in rules is that directory, and commands of hooks get it.
        let home = std::env::var_os("HOME").unwrap_or_default();
        for arg in args.iter().chain([&home]) {
            digest.update(arg.as_encoded_bytes());
            digest.update([0]);
        }
        let variant = digest::hex(&digest.finalize()[..6]);
        Ok(WarmHost { path: socket::shared_path(&root, &format!("hook-{variant}"))?, program, args, root, idle_exit })
    }

    /// A connection, for which it is started if it doesn't run.
    pub(super) fn connect(&self) -> std::io::Result<UnixStream> {
        socket::connect_or_start(&self.path, |listener| self.start(listener))
    }

    /// The arguments that tell it apart.
    pub(super) fn args(&self) -> &[OsString] {
        &self.args
    }

    /// Its socket.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    fn start(&self, listener: OwnedFd) -> std::io::Result<()> {
        // It would inherit the limit, and stay though it can serve nobody.
        if let Some(most) = getrlimit(Resource::Nofile).current.filter(|most| *most < MIN_FILES_OF_HOST) {
            let problem = format!("only {most} files may be open (`ulimit -n`), a host needs {MIN_FILES_OF_HOST}");
            return Err(std::io::Error::other(problem));
        }
        let arguments = self.args.iter().map(|it| it.to_string_lossy().into_owned());
        replace_superseded(&self.root, &arguments.chain([IDLE_EXIT.into()]).collect::<Vec<_>>());
        let log = File::create(self.path.with_extension("log"))?;
        let mut command = Command::new(&self.program);
        command.arg("serve").args(&self.args).arg(IDLE_EXIT);
        command.arg(humantime::format_duration(self.idle_exit).to_string()).arg("--inherit").arg(&self.path);
        command.stdin(Stdio::from(listener)).stdout(Stdio::null()).stderr(log);
        // It outlives the agent's hook, and the agent must not wait for it.
        command.current_dir(&self.root).process_group(0).spawn().map(drop)
    }
}

/// The definitions that agents are judged by, with the root that is meant.
///
/// # Errors
/// The root that was named isn't there.
pub(super) fn for_agents(hooks: &StandingArgs, self_defence: bool) -> Result<StandingArgs, Failure> {
    let mut hooks = hooks.clone();
    let definitions = &mut hooks.host.definitions;
    definitions.self_defence = self_defence;
    if definitions.root == project() {
        definitions.root = project_root(definitions);
    } else if !definitions.root.is_dir() {
        return Err(Failure(format!("--root {}: there is no such directory", definitions.root.display())));
    }
    Ok(hooks)
}

/// The nearest directory upwards that is a project's. A directory that nobody has trusted doesn't stand in the way of one
/// that somebody has, or an agent could make one to be rid of its guards.
fn project_root(hooks: &DefinitionArgs) -> PathBuf {
    let counts_trusted = !hooks.project && !hooks.isolated;
    let trusted = if counts_trusted { nearest(approved::is_approved) } else { None };
    let root = trusted.unwrap_or_else(project);
    root.canonicalize().unwrap_or(root)
}
