//! The processes below the supervisor, as /proc shows them.

use super::sys;
use hookwire_ask::look::Look;
use hookwire_ask::peer::filters;
use libc::pid_t;
use std::fs;
use std::io::{Read, Result};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// How many ancestors of a program are told.
const MAX_ANCESTORS: usize = 16;
/// How much of each one's arguments is told, in bytes.
const MAX_ARGUMENTS: usize = 16 << 10;
const PAGE: usize = 4096;
/// So deep may a process be below its supervisor to be found there.
const MAX_DEPTH: usize = 4096;

/// A program that starts another, and what it runs itself.
pub struct Ancestor {
    /// Its number.
    pub pid: i32,
    /// Its arguments.
    pub argv: Vec<Vec<u8>>,
    /// It certainly runs the program that is started.
    pub is_same_program: bool,
    /// The file that it certainly runs, if that was looked for.
    pub file: Option<PathBuf>,
}

/// The process of a thread; none if the thread is gone, or it couldn't be looked.
pub fn process_of(tid: pid_t) -> Option<pid_t> {
    // Nearly always the thread is its process's first one, which is cheaper to ask than to read.
    if sys::thread_is_of(tid, tid) {
        Some(tid)
    } else {
        status_number(tid, "Tgid:")
    }
}

/// Who traces a thread.
pub fn tracer_of(tid: pid_t) -> Option<pid_t> {
    status_number(tid, "TracerPid:").filter(|pid| *pid != 0)
}

fn status_number(pid: pid_t, name: &str) -> Option<pid_t> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    status
        .lines()
        .find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
}

/// Whether there is such a process.
pub fn process_exists(pid: pid_t) -> bool {
    sys::thread_is_of(pid, pid)
}

/// The arguments of a process.
///
/// # Errors
/// It couldn't be looked.
pub fn process_arguments(pid: pid_t) -> Result<Vec<Vec<u8>>> {
    Ok(split_arguments(read_proc(pid, "cmdline", usize::MAX)?))
}

/// Reads a file of /proc, most of them by one call, since they don't say their size.
fn read_proc(pid: pid_t, name: &str, most: usize) -> Result<Vec<u8>> {
    let mut file = fs::File::open(format!("/proc/{pid}/{name}"))?;
    let mut text = vec![0; PAGE];
    let n = file.read(&mut text)?;
    text.truncate(n);
    if n == PAGE {
        file.take((most - PAGE) as u64).read_to_end(&mut text)?;
    }
    Ok(text)
}

fn split_arguments(mut text: Vec<u8>) -> Vec<Vec<u8>> {
    if text.last() == Some(&0) {
        text.pop();
    }
    text.split(|byte| *byte == 0).map(<[u8]>::to_vec).collect()
}

/// Who starts a program with these arguments: what the process itself runs until then, since a
/// shell may become its last command; then who started the process, nearest first, up to the
/// command and not the supervisor.
///
/// # Errors
/// It couldn't be looked.
pub fn find_ancestors(
    process: pid_t,
    supervisor: pid_t,
    started: &[Vec<u8>],
) -> Result<Vec<Ancestor>> {
    let mut ancestors: Vec<Ancestor> = Vec::new();
    let mut pid = process;
    while ancestors.len() < MAX_ANCESTORS && pid != supervisor && pid > 1 {
        // One that has ended meanwhile has left its child to the supervisor.
        let Some(text) = unless_gone(read_proc(pid, "cmdline", MAX_ARGUMENTS))? else {
            break;
        };
        let argv = split_arguments(text);
        if pid != process || argv != started {
            // A process that was forked for this start still looks like the one that forked it.
            ancestors.pop_if(|it| it.pid == process && it.argv == argv);
            ancestors.push(Ancestor {
                pid,
                argv,
                is_same_program: false,
                file: None,
            });
        }
        let Some(parent) = parent_of(pid)? else { break };
        pid = parent;
    }
    Ok(ancestors)
}

/// Who started a process; none if it is gone.
fn parent_of(pid: pid_t) -> Result<Option<pid_t>> {
    let Some(stat) = unless_gone(read_proc(pid, "stat", PAGE))? else {
        return Ok(None);
    };
    // The name of the program stands in parentheses and may hold anything.
    let fields = stat
        .iter()
        .rposition(|byte| *byte == b')')
        .map(|end| &stat[end + 1..]);
    let fields = fields
        .and_then(|fields| std::str::from_utf8(fields).ok())
        .unwrap_or_default();
    Ok(fields
        .split_ascii_whitespace()
        .nth(1)
        .and_then(|it| it.parse().ok()))
}

/// What was read of a process, unless it is gone.
fn unless_gone(read: Result<Vec<u8>>) -> Result<Option<Vec<u8>>> {
    match read {
        Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(None),
        read => Ok(Look::of_io(read).known()?),
    }
}

/// Whether a process, or the one of a thread, is below this process and held. One that can't be
/// looked at isn't.
pub fn is_of_tree(pid: pid_t, supervisor: pid_t) -> bool {
    let mut at = pid;
    for _ in 0..MAX_DEPTH {
        match parent_of(at) {
            Ok(Some(parent)) if parent == supervisor => {
                let (own, theirs) = (filters("self"), filters(&pid.to_string()));
                return matches!((own, theirs), (Look::Found(own), Look::Found(theirs)) if theirs > own);
            }
            Ok(Some(parent)) if parent > 1 => at = parent,
            _ => return false,
        }
    }
    false
}

/// Whether a process has numbers of processes of its own, which mean none that is outside.
pub fn has_own_numbers(tid: pid_t) -> bool {
    let namespace = |of: &str| {
        fs::metadata(format!("/proc/{of}/ns/pid"))
            .map(|it| (it.dev(), it.ino()))
            .ok()
    };
    let (own, theirs) = (namespace("self"), namespace(&tid.to_string()));
    own.is_some() && theirs.is_some() && own != theirs
}

/// Gives `meet` each child of a process's first thread, and then what is below, at once as it is
/// found: processes that fork and exit without a pause live shorter than a look at all of them
/// takes.
pub fn meet_descendants(of: pid_t, is_deep: bool, meet: &mut impl FnMut(pid_t)) {
    let mut found = Vec::new();
    let mut meet_children = |of: pid_t, found: &mut Vec<pid_t>| {
        let list = fs::read_to_string(format!("/proc/{of}/task/{of}/children")).unwrap_or_default();
        for pid in list
            .split_ascii_whitespace()
            .filter_map(|pid| pid.parse().ok())
        {
            meet(pid);
            found.push(pid);
        }
    };
    meet_children(of, &mut found);
    let mut n = 0;
    while is_deep && n < found.len() {
        meet_children(found[n], &mut found);
        n += 1;
    }
}
