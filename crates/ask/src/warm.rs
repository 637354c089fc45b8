//! The host of a project that agents share, and its socket.

use crate::places::Places;
use crate::{hex, socket};
use sha2::{Digest, Sha256};
use std::ffi::OsString;
use std::io::Result;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// What is wanted of a host, as its command line says it.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// The project root.
    pub root: PathBuf,
    /// Definitions beside those that are found.
    pub hooks: Vec<PathBuf>,
    /// The project's own definitions are loaded as they are.
    pub project: bool,
    /// The machine's and the user's definitions are left out.
    pub isolated: bool,
    /// Tools don't change hookwire's own files without a person's word.
    pub self_defense: bool,
    /// Further options.
    pub more: Vec<OsString>,
}

impl Wanted {
    /// The same on another command line, of a process that runs elsewhere.
    fn to_args(&self) -> Result<Vec<OsString>> {
        let mut args: Vec<OsString> = Vec::new();
        for dir in &self.hooks {
            args.extend(["--hooks".into(), std::path::absolute(dir)?.into()]);
        }
        args.extend(["--root".into(), std::path::absolute(&self.root)?.into()]);
        args.extend(self.more.iter().cloned());
        let flags = [
            ("--live", self.project),
            ("--isolated", self.isolated),
            ("--self-defense", self.self_defense),
        ];
        args.extend(
            flags
                .into_iter()
                .filter(|(_, is_set)| *is_set)
                .map(|(flag, _)| flag.into()),
        );
        Ok(args)
    }
}

/// The host of a project that is shared by all who want the same definitions, at the same places,
/// of the same program.
#[derive(Clone, Debug)]
pub struct Warm {
    /// Its socket.
    pub socket: PathBuf,
    /// The program that it is, the large one.
    pub program: PathBuf,
    /// The arguments that tell it apart.
    pub args: Vec<OsString>,
    /// The project root, without links.
    pub root: PathBuf,
}

impl Warm {
    /// The host of this program, in a process that goes by these places.
    ///
    /// # Errors
    /// There is no such root or program, or no directory for sockets that is the user's alone.
    pub fn new(program: PathBuf, mut wanted: Wanted, places: &Places) -> Result<Warm> {
        wanted.root = wanted.root.canonicalize()?;
        let mut args = wanted.to_args()?;
        args.extend(
            places
                .to_args()
                .flat_map(|(flag, place)| [flag.into(), place.into()]),
        );
        let mut digest = Sha256::new();
        digest.update(program.as_os_str().as_encoded_bytes());
        // After an upgrade the old host is another one, which gives its place to this.
        let about = program.metadata()?;
        digest.update(format!(
            " {} {} {}",
            about.mtime(),
            about.mtime_nsec(),
            about.len()
        ));
        // `~` in rules is that directory, and commands of hooks get it.
        let home = std::env::var_os("HOME").unwrap_or_default();
        for arg in args.iter().chain([&home]) {
            digest.update(arg.as_encoded_bytes());
            digest.update([0]);
        }
        let variant = hex(&digest.finalize()[..6]);
        let socket = socket::shared_path(&wanted.root, &format!("hook-{variant}"))?;
        Ok(Warm {
            socket,
            program,
            args,
            root: wanted.root,
        })
    }

    /// The command that starts it anew where it is gone, and prints its socket.
    pub fn start_command(&self, idle_exit: &str, self_defense: bool) -> Vec<OsString> {
        let words = ["run", "--warm", "--idle-exit", idle_exit].map(OsString::from);
        let own = (!self_defense).then(|| "--no-self-defense".into());
        let program = self.program.clone().into_os_string();
        [program]
            .into_iter()
            .chain(words)
            .chain(own)
            .chain(self.args.iter().cloned())
            .collect()
    }
}
