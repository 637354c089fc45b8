//! Whether `hookwire run` holds who has connected over TCP. The kernel names no process there: the
//! connection is looked for among the open files of those that are held.

use crate::support::file::read_text;
use hookwire_ask::look::Look;
use hookwire_ask::peer::filters;
use hookwire_ask::programs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// What the program is called below which processes are held.
const HOLDERS: [&str; 2] = [programs::SMALL, programs::TYPED];
/// So many processes up is looked for it.
const MOST_PARENTS: usize = 256;
/// So many times is looked: processes end meanwhile, and the table of connections changes while it
/// is read, so that a row may be passed over.
const LOOKS: usize = 5;

/// Whether who has connected is, or may be, held. While something is held, somebody who can't be
/// found may be it: a connection can be handed on while it is looked for. Where the kernel has no
/// filters, nothing is.
pub fn is_held(theirs: SocketAddr, ours: SocketAddr) -> bool {
    let own = match filters("self") {
        Look::Found(own) => own,
        Look::Nothing => return false,
        Look::Failed(_) => return true,
    };
    // What has ended while it was looked at may have handed the connection on.
    (0..LOOKS)
        .find_map(|_| look(own, theirs, ours))
        .unwrap_or(true)
}

/// The same, at one moment; `None`: one of those that are held has ended meanwhile.
fn look(own: u32, theirs: SocketAddr, ours: SocketAddr) -> Option<bool> {
    let Ok(processes) = processes() else {
        return Some(true);
    };
    let (mut held, mut free) = (Vec::new(), Vec::new());
    for process in processes {
        let has_more = match filters(&process) {
            Look::Found(theirs) => theirs > own,
            Look::Nothing => false,
            Look::Failed(_) => true,
        };
        let is_held = has_more && is_below_holder(&process);
        if is_held { &mut held } else { &mut free }.push(process);
    }
    if held.is_empty() {
        return Some(false);
    }
    let socket = PathBuf::from(socket(theirs, ours)?);
    for process in &held {
        if has_open(process, &socket)? {
            return Some(true);
        }
    }
    Some(!free.iter().any(|it| has_open(it, &socket) == Some(true)))
}

/// The numbers of the processes that run.
fn processes() -> std::io::Result<Vec<String>> {
    let names = std::fs::read_dir("/proc")?
        .map(|entry| Ok(entry?.file_name().into_string().unwrap_or_default()));
    let is_number = |it: &std::io::Result<String>| {
        it.as_ref().map_or(true, |it| {
            !it.is_empty() && it.bytes().all(|byte| byte.is_ascii_digit())
        })
    };
    names.filter(is_number).collect()
}

/// Whether a process that holds others is, or may be, above this one. What leaves its parent comes
/// to the one that holds it.
fn is_below_holder(process: &str) -> bool {
    let mut at = process.to_string();
    for _ in 0..MOST_PARENTS {
        let Ok(status) = read_text(format!("/proc/{at}/status")) else {
            return at != process;
        };
        let field = |name: &str| {
            status
                .lines()
                .find_map(|line| line.strip_prefix(name))
                .map(str::trim)
        };
        if field("Name:").is_some_and(|name| HOLDERS.contains(&name)) {
            return true;
        }
        match field("PPid:") {
            Some(parent) if parent != "0" => at = parent.to_string(),
            _ => return false,
        }
    }
    true
}

/// What their end of the connection is called among open files, as long as somebody has it.
fn socket(theirs: SocketAddr, ours: SocketAddr) -> Option<String> {
    let (theirs, ours) = (written(theirs)?, written(ours)?);
    for table in ["/proc/net/tcp", "/proc/net/tcp6"] {
        let rows = read_text(table).unwrap_or_default();
        for row in rows.lines().skip(1) {
            let fields: Vec<&str> = row.split_ascii_whitespace().collect();
            let [_, local, remote, _, _, _, _, _, _, inode, ..] = fields[..] else {
                continue;
            };
            // Who has said all still has it, and waits for the answer.
            if local.ends_with(&theirs) && remote.ends_with(&ours) {
                return (inode != "0").then(|| format!("socket:[{inode}]"));
            }
        }
    }
    None
}

/// An address as the table has it; one of version 6 that stands for it ends alike.
fn written(address: SocketAddr) -> Option<String> {
    match address {
        SocketAddr::V4(it) => Some(format!(
            "{:08X}:{:04X}",
            u32::from_ne_bytes(it.ip().octets()),
            it.port()
        )),
        SocketAddr::V6(_) => None,
    }
}

/// Whether a process has a file open; `None`: that can't be seen.
fn has_open(process: &str, socket: &Path) -> Option<bool> {
    let files = std::fs::read_dir(format!("/proc/{process}/fd")).ok()?;
    Some(
        files
            .flatten()
            .any(|it| std::fs::read_link(it.path()).is_ok_and(|it| it == socket)),
    )
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn a_connection_is_found_among_open_files() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let ours = listener.local_addr().unwrap();
        let mapped: SocketAddr = format!("[::ffff:127.0.0.1]:{}", ours.port())
            .parse()
            .unwrap();
        for to in [ours, mapped] {
            let Ok(theirs) = TcpStream::connect(to) else {
                continue;
            };
            let (_accepted, from) = listener.accept().unwrap();
            let found = socket(from, ours).map(PathBuf::from).expect("a row");
            assert_eq!(has_open("self", &found), Some(true));
            theirs.shutdown(std::net::Shutdown::Write).unwrap();
            assert_eq!(
                socket(from, ours).map(PathBuf::from),
                Some(found),
                "it waits for the answer"
            );
            drop(theirs);
            assert_eq!(socket(from, ours), None, "nobody has it");
        }
    }
}
