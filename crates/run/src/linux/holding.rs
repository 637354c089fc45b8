//! The process that judges: how it begins, and the thread in it that waits for processes.

use super::command::{self, Standing};
use super::host::Link;
use super::obeyed::Obeyed;
use super::pool::Pool;
use super::runs::{Runs, file_time};
use super::supervisor::{CommandState, Supervisor};
use super::sys::{self, Change, Fork};
use super::told::Told;
use super::{start, watch};
use crate::args::Options;
use crate::say_message;
use hookwire_ask::limits;
use nix::sys::prctl;
use nix::sys::signal::SigSet;
use nix::unistd::{Pid, setpgid};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

/// Runs as the supervisor.
pub fn run_supervisor(
    options: Options,
    front: UnixStream,
    obeyed: Obeyed,
    link: Link,
    signals: &SigSet,
) -> ! {
    // Else processes whose starters have ended would be nobody's, and no tracer but an ancestor may
    // look at them.
    let _ = prctl::set_child_subreaper(true);
    let since = file_time();
    let runs = Runs::read_kept(options.data_dirs(), since);
    // Root may look into every process anyhow, and a namespace would take its rights away.
    let mut in_namespace = !nix::unistd::geteuid().is_root();
    let (pid, becoming, standing) = loop {
        let Ok((ours, theirs)) = UnixStream::pair() else {
            sys::exit_now(1)
        };
        match sys::fork() {
            Ok(Fork::Child) => command::run_command(&options, theirs, in_namespace, signals),
            Ok(Fork::Parent(pid)) => {
                drop(theirs);
                match command::await_standing(&ours) {
                    Standing::NoNamespace if in_namespace => in_namespace = false,
                    standing => break (pid, ours, standing),
                }
            }
            Err(_) => sys::exit_now(1),
        }
    };
    Told::Command(pid).send_to(&front);
    let _ = setpgid(Pid::from_raw(0), Pid::from_raw(0));
    for signal in [libc::SIGTTOU, libc::SIGTTIN, libc::SIGTSTP, libc::SIGPIPE] {
        sys::ignore_signal(signal);
    }
    let command = CommandState::new(pid, becoming, front);
    match standing {
        Standing::Held {
            listener,
            is_killable,
        } => hold_command(
            options,
            obeyed,
            command,
            listener,
            is_killable,
            link,
            (since, runs),
        ),
        Standing::HeldAlready | Standing::Unheld => {
            leave_terminal(&[command.front.as_fd()]);
            wait_for_unheld(&command);
        }
        Standing::NoNamespace | Standing::Unable => {
            Told::Unable.send_to(&command.front);
            sys::exit_now(0);
        }
    }
}

fn hold_command(
    options: Options,
    obeyed: Obeyed,
    command: CommandState,
    listener: OwnedFd,
    is_killable: bool,
    link: Link,
    (since, mut runs): (Duration, Runs),
) -> ! {
    runs.note_begin(since);
    runs.unknown().into_iter().for_each(say_message);
    let host = obeyed.process();
    let kept = [
        listener.as_fd(),
        command.front.as_fd(),
        command.becoming.as_fd(),
        link.stream().as_fd(),
    ];
    leave_terminal(
        &kept
            .into_iter()
            .chain(host.process().map(AsFd::as_fd))
            .collect::<Vec<_>>(),
    );
    limits::raise_files();
    // Where nothing else keeps the tree from tracing this process, this does.
    let _ = prctl::set_dumpable(false);
    let Ok(pool) = Pool::new() else {
        sys::exit_now(1)
    };
    let supervisor = Arc::new(Supervisor::new(
        options,
        obeyed,
        command,
        listener,
        is_killable,
        pool,
        (since, runs),
    ));
    let serving = supervisor.clone();
    supervisor
        .pool
        .start_threads(move |role| start::serve_next(&serving, role));
    let watched = supervisor.clone();
    if std::thread::Builder::new()
        .name("watch".into())
        .spawn(move || watch::run_watch(&watched, link))
        .is_err()
    {
        supervisor.publish_snapshot(Err("hookwire-run has no thread to talk to its host".into()));
    }
    supervisor.wait_for_children();
    loop {
        // The process that is left ends with the watching thread.
        std::thread::park();
    }
}

/// Nobody waits for this process's ends of pipes, or for its terminal.
fn leave_terminal(kept: &[BorrowedFd<'_>]) {
    sys::close_all_but(kept);
    if let Ok(null) = std::fs::File::options()
        .read(true)
        .write(true)
        .open("/dev/null")
    {
        let _ = nix::unistd::dup2_stdin(&null);
        let _ = nix::unistd::dup2_stdout(&null);
        let _ = nix::unistd::dup2_stderr(&null);
    }
}

fn wait_for_unheld(command: &CommandState) -> ! {
    loop {
        match sys::await_child() {
            Ok((pid, change)) => {
                let _ = sys::take_change(pid, change);
                match change {
                    Change::Ended(status) if pid == command.pid => {
                        Told::Ended(status).send_to(&command.front);
                        sys::exit_now(0);
                    }
                    Change::Stopped(signal) if pid == command.pid => {
                        Told::Stopped(signal).send_to(&command.front)
                    }
                    _ => {}
                }
            }
            Err(_) => sys::exit_now(0),
        }
    }
}
