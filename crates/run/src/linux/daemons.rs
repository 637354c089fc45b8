//! Agents' own daemons. Started in a terminal, some agents leave one behind that runs the tools of
//! later sessions, too. One that was started outside isn't below this run, and nothing of what it
//! starts would be judged.

use super::programs::base_name;
use super::tree::{Ancestor, find_ancestors};
use libc::pid_t;
use std::ffi::OsString;
use std::io::{IsTerminal, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// An agent that has one.
struct Known {
    program: &'static str,
    /// The words that its command line has.
    words: &'static [&'static str],
    /// The option that has the agent do without.
    without: Option<&'static str>,
    /// What ends it.
    stop: &'static str,
}

/// Codex 0.171.0, Cline 3.0.65.
const KNOWN: [Known; 2] = [
    Known {
        program: "codex",
        words: &["app-server", "--listen"],
        without: Some("--no-daemon"),
        stop: "codex app-server daemon stop",
    },
    Known {
        program: "cline",
        words: &["--cline-hub-daemon"],
        without: None,
        stop: "cline hub stop",
    },
];

/// The longest command line and status that are read, in bytes.
const MAX_READ: u64 = 64 * 1024;

/// Why a command isn't run here, if an agent's daemon would do its work outside.
pub fn outside(command: &[OsString]) -> Option<String> {
    // Without a terminal they do their work themselves.
    if !std::io::stdin().is_terminal() {
        return None;
    }
    let words: Vec<&[u8]> = command.iter().map(|word| word.as_bytes()).collect();
    let known = Known::of(&words)?;
    Some(known.describe(find_daemon(known)?))
}

/// Why a process may not become a program with these arguments, for the same reason. What such an
/// agent starts itself may have its name, too.
pub fn outside_of(process: pid_t, supervisor: pid_t, argv: &[Vec<u8>]) -> Option<String> {
    let words: Vec<&[u8]> = argv.iter().map(Vec::as_slice).collect();
    let known = Known::of(&words)?;
    if !has_terminal(process) {
        return None;
    }
    let pid = find_daemon(known)?;
    let parents = find_ancestors(process, supervisor, argv).unwrap_or_default();
    let is_agent = |it: &Ancestor| it.argv.iter().take(2).any(|word| known.is_name(word));
    (!parents.iter().any(is_agent)).then(|| known.describe(pid))
}

impl Known {
    /// The agent that is started with these words, unless they have it do without its daemon.
    fn of(words: &[&[u8]]) -> Option<&'static Known> {
        let known = KNOWN
            .iter()
            .find(|it| words.first().is_some_and(|word| it.is_name(word)))?;
        let is_without = |option: &str| words.contains(&option.as_bytes());
        (!known.without.is_some_and(is_without)).then_some(known)
    }

    fn is_name(&self, word: &[u8]) -> bool {
        base_name(word) == self.program.as_bytes()
    }

    fn describe(&self, pid: u32) -> String {
        let Known { program, stop, .. } = self;
        let again = self
            .without
            .map(|option| format!(", or start it with `{option}`"))
            .unwrap_or_default();
        format!(
            "a daemon of {program} that was started outside (process {pid}) would run its tools, and nothing of them \
             would be held: `{stop}` ends it{again}"
        )
    }
}

/// Whether a process reads a terminal. One that can't be looked at may.
fn has_terminal(process: pid_t) -> bool {
    let input = std::fs::read_link(format!("/proc/{process}/fd/0"));
    input.map_or(true, |path| {
        ["/dev/pts", "/dev/tty", "/dev/console"]
            .iter()
            .any(|dir| path.as_os_str().as_bytes().starts_with(dir.as_bytes()))
    })
}

/// A daemon of this user's that has no more filters than this process: it isn't held by another run.
fn find_daemon(known: &Known) -> Option<u32> {
    let user = nix::unistd::geteuid().as_raw();
    let own = n_filters(Path::new("/proc/self"));
    let processes = std::fs::read_dir("/proc").ok()?.flatten();
    processes
        .filter_map(|process| {
            let pid = process.file_name().to_str()?.parse().ok()?;
            let is_own = process.metadata().is_ok_and(|it| it.uid() == user);
            let line = read_some(&process.path().join("cmdline"));
            let mut words = line.split(|byte| *byte == 0);
            let has = |word: &&str| words.any(|it| it == word.as_bytes());
            let is_one = is_own && known.words.iter().all(has);
            (is_one && n_filters(&process.path()) <= own).then_some(pid)
        })
        .next()
}

/// How many filters of system calls a process has.
fn n_filters(process: &Path) -> u64 {
    let status = read_some(&process.join("status"));
    let status = String::from_utf8_lossy(&status);
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("Seccomp_filters:"));
    line.and_then(|it| it.trim().parse().ok()).unwrap_or(0)
}

fn read_some(path: &Path) -> Vec<u8> {
    let mut read = Vec::new();
    // A process that has ended in between is none.
    let _ = std::fs::File::open(path).and_then(|file| file.take(MAX_READ).read_to_end(&mut read));
    read
}
