//! What the kernel can hold here, each thing tried in a process of its own.

use super::command::enter_namespace;
use super::filter;
use super::sys::{self, Fork};
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl;
use nix::sys::uio::{RemoteIoVec, process_vm_readv};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;
use serde_json::{Value, json};
use std::io::{Error, IoSliceMut, Read, Result, Write};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;

/// Prints what holds as one JSON object, and as a line for people each on stderr.
pub fn main() -> ExitCode {
    let landlock = sys::landlock_version();
    let rows = [
        (
            "listener",
            "each program start can be judged (seccomp listener)",
            in_child(probe_listener),
        ),
        (
            "trace",
            "a program can be looked at after its start (ptrace of a grandchild)",
            in_child(trace_grandchild),
        ),
        (
            "memory",
            "what a process wants to start can be read (process_vm_readv)",
            in_child(read_grandchild),
        ),
        (
            "namespace",
            "processes that hide can be judged, without root (user namespace)",
            in_child(enter_namespace),
        ),
        (
            "mount",
            "files can be masked (mount in a user namespace)",
            in_child(mount_in_namespace),
        ),
    ];
    let mut object = serde_json::Map::new();
    for (name, what, result) in &rows {
        let (holds, problem) = (
            result.is_ok(),
            result.as_ref().err().map(ToString::to_string),
        );
        eprintln!(
            "{} {what}{}",
            if holds { "yes" } else { "no " },
            problem
                .iter()
                .map(|it| format!(": {it}"))
                .collect::<String>()
        );
        object.insert(
            (*name).into(),
            json!({ "holds": holds, "problem": problem }),
        );
    }
    let scopes = landlock >= 6;
    eprintln!(
        "{} the tree can't signal or trace its supervisor (Landlock {landlock}, of 6)",
        if scopes { "yes" } else { "no " }
    );
    object.insert(
        "landlock".into(),
        json!({ "holds": scopes, "version": landlock }),
    );
    let all = ["listener", "trace", "memory"]
        .iter()
        .all(|it| object[*it]["holds"] == true);
    object.insert("holds".into(), Value::Bool(all));
    println!("{}", Value::Object(object));
    if all {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Tries something in a process of its own, since it can't be taken back.
fn in_child(what: impl FnOnce() -> Result<()>) -> Result<()> {
    match sys::fork()? {
        Fork::Child => sys::exit_now(match what() {
            Ok(()) => 0,
            Err(error) => error.raw_os_error().unwrap_or(libc::EIO),
        }),
        Fork::Parent(pid) => match waitpid(Pid::from_raw(pid), None)? {
            WaitStatus::Exited(_, 0) => Ok(()),
            WaitStatus::Exited(_, errno) => Err(Error::from_raw_os_error(errno)),
            _ => Err(Error::other("the try was killed")),
        },
    }
}

fn probe_listener() -> Result<()> {
    prctl::set_no_new_privs()?;
    let plain = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER;
    sys::install_filter(
        &filter::filter_program(),
        plain | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV,
    )
    .map(drop)
}

/// Has a grandchild, in a namespace as the command would be, and tries something on it.
fn with_grandchild(what: impl FnOnce(i32, usize) -> Result<()>) -> Result<()> {
    let marker = *b"hookwire";
    let (mut ours, mut theirs) = UnixStream::pair()?;
    match sys::fork()? {
        Fork::Child => {
            drop(ours);
            if !nix::unistd::geteuid().is_root() {
                let _ = enter_namespace();
            }
            if let Ok(Fork::Child) = sys::fork() {
                let _ = theirs.write_all(&nix::unistd::getpid().as_raw().to_le_bytes());
            }
            let _ = theirs.read(&mut [0]);
            sys::exit_now(0);
        }
        Fork::Parent(child) => {
            drop(theirs);
            let mut pid = [0; 4];
            ours.read_exact(&mut pid)?;
            // A copy of this process has the same values at the same addresses.
            let result = what(i32::from_le_bytes(pid), marker.as_ptr() as usize);
            drop(ours);
            waitpid(Pid::from_raw(child), None)?;
            result
        }
    }
}

fn trace_grandchild() -> Result<()> {
    with_grandchild(|pid, _| {
        sys::seize(pid)?;
        sys::interrupt(pid)?;
        sys::wait_for_traced()?;
        sys::detach(pid, 0)
    })
}

fn read_grandchild() -> Result<()> {
    with_grandchild(|pid, base| {
        let mut read = [0; 8];
        let part = RemoteIoVec {
            base,
            len: read.len(),
        };
        process_vm_readv(
            Pid::from_raw(pid),
            &mut [IoSliceMut::new(&mut read)],
            &[part],
        )?;
        if &read == b"hookwire" {
            Ok(())
        } else {
            Err(Error::from_raw_os_error(libc::EFAULT))
        }
    })
}

fn mount_in_namespace() -> Result<()> {
    enter_namespace()?;
    unshare(CloneFlags::CLONE_NEWNS)?;
    mount(
        Some("/proc"),
        "/tmp",
        None::<&str>,
        MsFlags::MS_BIND | MsFlags::MS_REC,
        None::<&str>,
    )?;
    Ok(())
}
