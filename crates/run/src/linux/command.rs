//! The process that becomes the command: it puts itself and all that it will start under the
//! supervisor, and execs.

use super::filter;
use super::sys;
use crate::args::Options;
use crate::say_message;
use landlock::{CompatLevel, Compatible, Ruleset, RulesetAttr, Scope};
use nix::errno::Errno;
use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl;
use nix::sys::signal::{SigSet, SigmaskHow, sigprocmask};
use nix::sys::socket::{ControlMessage, ControlMessageOwned, MsgFlags, recvmsg, sendmsg};
use std::ffi::{CString, OsString};
use std::io::{Error, IoSlice, IoSliceMut, Result};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

/// What a shell ends with if a command can't be started.
const NOT_STARTED: i32 = 126;
const NOT_FOUND: i32 = 127;

/// How the command's process stands.
pub enum Standing {
    /// Its program starts come to this listener.
    Held {
        /// The listener.
        listener: OwnedFd,
        /// A start that is being judged is taken back by a deadly signal only.
        is_killable: bool,
    },
    /// An outer supervisor holds it.
    HeldAlready,
    /// It runs unheld, as was allowed.
    Unheld,
    /// It has made no user namespace and is gone; it may do without.
    NoNamespace,
    /// It is gone, and has said why.
    Unable,
}

/// Becomes the command.
pub fn run_command(
    options: &Options,
    supervisor: UnixStream,
    in_namespace: bool,
    signals: &SigSet,
) -> ! {
    sys::reset_signal(libc::SIGPIPE);
    let kind = match confine_process(in_namespace) {
        Ok((listener, is_killable)) => {
            tell_supervisor(
                &supervisor,
                if is_killable { b'k' } else { b'l' },
                Some(&listener),
            );
            None
        }
        Err(Unconfined::NoNamespace) => {
            tell_supervisor(&supervisor, b'n', None);
            sys::exit_now(NOT_STARTED);
        }
        Err(Unconfined::HeldAlready) => {
            say_message("held already, by the `hookwire run` above; its rules go on to hold");
            Some(b'h')
        }
        Err(Unconfined::Unable(problem)) if options.best_effort => {
            say_message(format_args!("nothing is held: {problem}"));
            Some(b'p')
        }
        Err(Unconfined::Unable(problem)) => {
            say_message(format_args!(
                "not run, because nothing can be held: {problem} (--best-effort runs it unheld)"
            ));
            tell_supervisor(&supervisor, b'u', None);
            sys::exit_now(NOT_STARTED);
        }
    };
    if let Some(kind) = kind {
        tell_supervisor(&supervisor, kind, None);
    }
    let _ = sigprocmask(SigmaskHow::SIG_SETMASK, Some(signals), None);
    exec_command(&options.command)
}

enum Unconfined {
    NoNamespace,
    HeldAlready,
    Unable(String),
}

/// From here on, nothing that this process starts escapes.
fn confine_process(in_namespace: bool) -> std::result::Result<(OwnedFd, bool), Unconfined> {
    let unable =
        |what: &str, error: &dyn std::fmt::Display| Unconfined::Unable(format!("{what}: {error}"));
    prctl::set_no_new_privs().map_err(|error| unable("no_new_privs", &error))?;
    let installed = install_filter();
    let (listener, is_killable) = installed.map_err(|error| match error.raw_os_error() {
        Some(libc::EBUSY) => Unconfined::HeldAlready,
        _ => unable("the kernel has no seccomp listener here", &error),
    })?;
    if in_namespace {
        enter_namespace().map_err(|_| Unconfined::NoNamespace)?;
    }
    // Without Landlock 6 there are no scopes: what `--probe` says. The listener holds all the same.
    let scopes = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .scope(Scope::Signal | Scope::AbstractUnixSocket)
        .and_then(Ruleset::create)
        .and_then(landlock::RulesetCreated::restrict_self);
    scopes.map_err(|error| unable("Landlock", &error))?;
    Ok((listener, is_killable))
}

/// Installs the filter; says whether the kernel leaves a start that is being judged alone but for
/// deadly signals.
fn install_filter() -> Result<(OwnedFd, bool)> {
    let program = filter::filter_program();
    let plain = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER;
    match sys::install_filter(
        &program,
        plain | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV,
    ) {
        Ok(listener) => Ok((listener, true)),
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
            Ok((sys::install_filter(&program, plain)?, false))
        }
        Err(error) => Err(error),
    }
}

/// An own user namespace, whose owner, the supervisor's user, may look into processes that hide
/// from other processes of this user.
pub fn enter_namespace() -> Result<()> {
    let (user, group) = (nix::unistd::geteuid(), nix::unistd::getegid());
    unshare(CloneFlags::CLONE_NEWUSER)?;
    std::fs::write("/proc/self/setgroups", "deny")?;
    std::fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    std::fs::write("/proc/self/gid_map", format!("{group} {group} 1"))
}

/// Execs the command. This start isn't judged: it is what was asked for.
pub fn exec_command(command: &[OsString]) -> ! {
    let words: Vec<CString> = command
        .iter()
        .filter_map(|it| CString::new(it.clone().into_vec()).ok())
        .collect();
    // Each try to start a program is a question to the supervisor, so the file is found first.
    let found =
        find_program(&command[0]).and_then(|it| CString::new(it.into_os_string().into_vec()).ok());
    let error = match &found {
        Some(path) => match nix::unistd::execv(path, &words) {
            // A script without a first line that says of what: a shell runs it.
            Err(Errno::ENOEXEC) => nix::unistd::execvp(path, &words).err(),
            other => other.err(),
        },
        None => Some(Errno::ENOENT),
    };
    let error = error.unwrap_or(Errno::ENOENT);
    say_message(format_args!(
        "{}: {}",
        command[0].display(),
        Error::from(error)
    ));
    sys::exit_now(if error == Errno::ENOENT {
        NOT_FOUND
    } else {
        NOT_STARTED
    });
}

/// Finds a program as `execvp` does.
fn find_program(name: &OsString) -> Option<PathBuf> {
    if name.as_bytes().contains(&b'/') {
        return Some(name.into());
    }
    let path = std::env::var_os("PATH").unwrap_or_else(|| "/bin:/usr/bin".into());
    std::env::split_paths(&path)
        .map(|directory| {
            if directory.as_os_str().is_empty() {
                PathBuf::from(".")
            } else {
                directory
            }
            .join(name)
        })
        .find(|it| it.is_file() && nix::unistd::access(it, nix::unistd::AccessFlags::X_OK).is_ok())
}

fn tell_supervisor(supervisor: &UnixStream, kind: u8, listener: Option<&OwnedFd>) {
    let fds: Vec<i32> = listener.iter().map(|it| it.as_raw_fd()).collect();
    let rights = [ControlMessage::ScmRights(&fds)];
    let rights = if fds.is_empty() { &[][..] } else { &rights[..] };
    let sent = sendmsg::<()>(
        supervisor.as_raw_fd(),
        &[IoSlice::new(&[kind])],
        rights,
        MsgFlags::MSG_NOSIGNAL,
        None,
    );
    if sent.is_err() {
        // Without a supervisor nothing could start.
        sys::exit_now(NOT_STARTED);
    }
}

/// Waits until the command's process says how it stands.
pub fn await_standing(command: &UnixStream) -> Standing {
    let mut kind = [0];
    let mut space = nix::cmsg_space!([i32; 1]);
    let mut parts = [IoSliceMut::new(&mut kind)];
    let flags = MsgFlags::MSG_CMSG_CLOEXEC;
    let fd = recvmsg::<()>(command.as_raw_fd(), &mut parts, Some(&mut space), flags)
        .ok()
        .and_then(|message| {
            message.cmsgs().ok()?.find_map(|message| match message {
                ControlMessageOwned::ScmRights(fds) => fds.first().copied(),
                _ => None,
            })
        });
    match (kind[0], fd.map(sys::own_fd)) {
        (kind @ (b'k' | b'l'), Some(listener)) => Standing::Held {
            listener,
            is_killable: kind == b'k',
        },
        (b'h', _) => Standing::HeldAlready,
        (b'p', _) => Standing::Unheld,
        (b'n', _) => Standing::NoNamespace,
        _ => Standing::Unable,
    }
}
