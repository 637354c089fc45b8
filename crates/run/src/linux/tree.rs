//! The processes below the supervisor, as /proc shows them.

use super::asking::Ancestor;
use super::sys;
use libc::pid_t;
use std::fs;
use std::io::Read;

/// How many ancestors of a program are told.
const MAX_ANCESTORS: usize = 16;
/// How much of each one's arguments is told, in bytes.
const MAX_ARGUMENTS: usize = 16 << 10;
const PAGE: usize = 4096;

/// The process of a thread.
pub fn process_of(tid: pid_t) -> pid_t {
    // Nearly always the thread is its process's first one, which is cheaper to ask than to read.
    if sys::thread_is_of(tid, tid) { tid } else { status_number(tid, "Tgid:").unwrap_or(tid) }
}

/// Who traces a thread.
pub fn tracer_of(tid: pid_t) -> Option<pid_t> {
    status_number(tid, "TracerPid:").filter(|pid| *pid != 0)
}

fn status_number(pid: pid_t, name: &str) -> Option<pid_t> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
}

/// Whether there is such a process.
pub fn exists(pid: pid_t) -> bool {
    sys::thread_is_of(pid, pid)
}

/// The arguments of a process.
pub fn arguments(pid: pid_t) -> Option<Vec<Vec<u8>>> {
    Some(split(read(pid, "cmdline", usize::MAX)?))
}

/// Reads a file of /proc, most of them by one call, since they don't say their size.
fn read(pid: pid_t, name: &str, most: usize) -> Option<Vec<u8>> {
    let mut file = fs::File::open(format!("/proc/{pid}/{name}")).ok()?;
    let mut text = vec![0; PAGE];
    let n = file.read(&mut text).ok()?;
    text.truncate(n);
    if n == PAGE {
        file.take((most - PAGE) as u64).read_to_end(&mut text).ok()?;
    }
    Some(text)
}

fn split(mut text: Vec<u8>) -> Vec<Vec<u8>> {
    if text.last() == Some(&0) {
        text.pop();
    }
    text.split(|byte| *byte == 0).map(<[u8]>::to_vec).collect()
}

/// Who starts a program with these arguments: what the process itself runs until then, since a shell may become its last
/// command; then who started the process, nearest first, up to the command and not the supervisor.
pub fn ancestors(process: pid_t, supervisor: pid_t, started: &[Vec<u8>]) -> Vec<Ancestor> {
    let mut ancestors: Vec<Ancestor> = Vec::new();
    let mut pid = process;
    while ancestors.len() < MAX_ANCESTORS && pid != supervisor && pid > 1 {
        let text = read(pid, "cmdline", MAX_ARGUMENTS).unwrap_or_default();
        let argv = split(text);
        if pid != process || argv != started {
            // A process that was forked for this start still looks like the one that forked it.
            ancestors.pop_if(|it| it.pid == process && it.argv == argv);
            ancestors.push(Ancestor { pid, argv, is_same_program: false, file: None });
        }
        let Some(parent) = parent_of(pid) else { break };
        pid = parent;
    }
    ancestors
}

fn parent_of(pid: pid_t) -> Option<pid_t> {
    let stat = read(pid, "stat", PAGE)?;
    // The name of the program stands in parentheses and may hold anything.
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    std::str::from_utf8(&stat[end + 1..]).ok()?.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// Gives `meet` each child of a process's first thread, and then what is below, at once as it is found: processes that fork
/// and exit without a pause live shorter than a look at all of them takes.
pub fn meet_descendants(of: pid_t, is_deep: bool, meet: &mut impl FnMut(pid_t)) {
    let mut found = Vec::new();
    let mut meet_children = |of: pid_t, found: &mut Vec<pid_t>| {
        let list = fs::read_to_string(format!("/proc/{of}/task/{of}/children")).unwrap_or_default();
        for pid in list.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()) {
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
