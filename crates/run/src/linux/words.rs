//! What people read: a refusal's reason on the refused process's own stderr.

use super::sys;
use libc::pid_t;
use nix::fcntl::{OFlag, open};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::stat::Mode;
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Mutex, PoisonError};

/// A pipe takes this many bytes at once or none.
const MAX_LINE: usize = 4096;
/// How much of the refused program's arguments is repeated.
const MAX_COMMAND: usize = 200;
/// How many reasons are remembered as said.
const MAX_SAID: usize = 4096;

/// Which reasons have been said already. A shell that is refused one `git` tries the next along the
/// PATH.
#[derive(Default)]
pub struct Said(Mutex<HashSet<u64>>);

impl Said {
    /// Says on a process's stderr why its program start is refused, once for each program.
    pub fn say_refusal(&self, pid: pid_t, argv: &[Vec<u8>], reason: &str) {
        let mut hash = DefaultHasher::new();
        (pid, argv, reason).hash(&mut hash);
        let mut said = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if said.len() >= MAX_SAID {
            said.clear();
        }
        if said.insert(hash.finish()) {
            drop(said);
            write_to(pid, &refusal_line(argv, reason));
        }
    }
}

/// The line: who says it, what is refused, and why. Nothing in it can move a terminal's cursor or
/// begin another line.
fn refusal_line(argv: &[Vec<u8>], reason: &str) -> String {
    let command = argv
        .iter()
        .map(|it| String::from_utf8_lossy(it))
        .collect::<Vec<_>>()
        .join(" ");
    let mut line = format!(
        "hookwire: {}: {reason}",
        shorten_text(&command, MAX_COMMAND)
    );
    line = line
        .chars()
        .map(|character| {
            if character.is_control() {
                ' '
            } else {
                character
            }
        })
        .collect();
    let mut line = shorten_text(&line, MAX_LINE - 8);
    line.push('\n');
    line
}

fn shorten_text(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let end = (0..=most)
        .rev()
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(0);
    format!("{}...", &text[..end])
}

/// Writes a line if the process's stderr takes one now: it may be a full pipe that nobody reads.
fn write_to(pid: pid_t, line: &str) {
    let Some(stderr) = stderr_of(pid) else { return };
    let mut ready = [PollFd::new(stderr.as_fd(), PollFlags::POLLOUT)];
    if poll(&mut ready, PollTimeout::ZERO) == Ok(1)
        && ready[0].revents() == Some(PollFlags::POLLOUT)
    {
        let _ = nix::unistd::write(&stderr, line.as_bytes());
    }
}

fn stderr_of(pid: pid_t) -> Option<OwnedFd> {
    let by_kernel = sys::pidfd_open(pid).and_then(|process| sys::pidfd_getfd(process.as_fd(), 2));
    // A duplicate also reaches a socket, which can't be opened; but some sandboxes don't allow it.
    by_kernel.ok().or_else(|| {
        let flags = OFlag::O_WRONLY
            | OFlag::O_NONBLOCK
            | OFlag::O_NOCTTY
            | OFlag::O_CLOEXEC
            | OFlag::O_APPEND;
        open(format!("/proc/{pid}/fd/2").as_str(), flags, Mode::empty()).ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_one_short_line() {
        let argv = [b"git".to_vec(), "x\x1b[2J\ny".into(), vec![b'a'; 300]];
        let line = refusal_line(&argv, "Force pushes are off.");
        assert!(line.starts_with("hookwire: git x [2J y aaa"), "{line}");
        assert!(line.ends_with("...: Force pushes are off.\n"), "{line}");
    }
}
