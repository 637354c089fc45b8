//! The process that the caller waits for: it passes signals on to the command and ends as the
//! command ends.

use super::holding;
use super::obeyed::Obeyed;
use super::sys::{self, Fork};
use super::told::Told;
use crate::args::Options;
use crate::say_message;
use libc::pid_t;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::prctl;
use nix::sys::signal::{SigSet, SigmaskHow, Signal, sigprocmask};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::process::ExitCode;

/// Runs the command below a supervisor.
///
/// # Errors
/// Nothing was run.
pub fn run_front(options: Options) -> Result<ExitCode, String> {
    let (obeyed, link) = Obeyed::begin(&options).map_err(|error| {
        format!(
            "{}: nobody can be asked there: {error}",
            options.socket.display()
        )
    })?;
    // A caller that ignores its children's ends would leave nobody a status.
    sys::reset_signal(libc::SIGCHLD);
    let before = block_signals().map_err(|error| error.to_string())?;
    let failed = |what: &str, error: &dyn std::fmt::Display| format!("{what}: {error}");
    let (ours, theirs) =
        UnixStream::pair().map_err(|error| failed("no socket can be made", &error))?;
    // Were the supervisor killed, the command would become this process's child.
    let _ = prctl::set_child_subreaper(true);
    match sys::fork().map_err(|error| failed("no process can be started", &error))? {
        Fork::Child => {
            drop(ours);
            holding::run_supervisor(options, theirs, obeyed, link, &before)
        }
        Fork::Parent(_) => drop((theirs, obeyed, link)),
    }
    Ok(wait_for_command(&ours))
}

/// Blocks what is passed on; stops by the terminal keep their effect, because the shell above waits
/// for them.
fn block_signals() -> nix::Result<SigSet> {
    let mut before = SigSet::empty();
    sigprocmask(
        SigmaskHow::SIG_SETMASK,
        Some(&passed_on()),
        Some(&mut before),
    )?;
    Ok(before)
}

fn passed_on() -> SigSet {
    let mut signals = SigSet::all();
    for signal in [
        Signal::SIGTSTP,
        Signal::SIGTTIN,
        Signal::SIGTTOU,
        Signal::SIGCHLD,
    ] {
        signals.remove(signal);
    }
    signals
}

fn wait_for_command(supervisor: &UnixStream) -> ExitCode {
    let mut command = None;
    let signals =
        SignalFd::with_flags(&passed_on(), SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK).ok();
    loop {
        let mut ready = vec![PollFd::new(supervisor.as_fd(), PollFlags::POLLIN)];
        // A signal waits until it is known to whom it goes.
        let passed_on = signals.as_ref().filter(|_| command.is_some());
        ready.extend(passed_on.map(|it| PollFd::new(it.as_fd(), PollFlags::POLLIN)));
        let _ = poll(&mut ready, PollTimeout::NONE);
        let (is_told, has_signal) = (
            ready[0].any() == Some(true),
            ready.get(1).and_then(|it| it.any()) == Some(true),
        );
        if let Some(signals) = passed_on.filter(|_| has_signal) {
            while let Ok(Some(signal)) = signals.read_signal() {
                // The terminal's own signals have reached the command already, which is in the same
                // process group.
                if let Some(pid) = command.filter(|_| signal.ssi_code != libc::SI_KERNEL) {
                    sys::kill(pid, signal.ssi_signo as i32);
                }
            }
        }
        if !is_told {
            continue;
        }
        match (Told::receive_from(supervisor), command) {
            (Some(Told::Command(pid)), _) => command = Some(pid),
            (Some(Told::Stopped(_)), Some(pid)) => stop_with(pid),
            (Some(Told::Stopped(_)), None) => {}
            (Some(Told::Ended(status)), _) => return end_as(status),
            (Some(Told::Survived), _) => {
                say_message(
                    "some of what the command has started can't be ended, and goes on, held",
                );
            }
            (Some(Told::Unable), _) => return ExitCode::from(crate::UNUSABLE),
            (None, Some(pid)) => return outlive_supervisor(pid),
            (None, None) => return ExitCode::from(crate::UNUSABLE),
        }
    }
}

/// A command that stops by itself, as editors do at Ctrl-Z, gives the shell above the terminal back
/// only if this process, for which that shell waits, stops too. If the terminal has stopped both,
/// the command goes on by now.
fn stop_with(command: pid_t) {
    let stat = std::fs::read_to_string(format!("/proc/{command}/stat")).unwrap_or_default();
    if stat
        .rsplit(')')
        .next()
        .is_some_and(|rest| rest.trim_start().starts_with('T'))
    {
        sys::kill(nix::unistd::getpid().as_raw(), libc::SIGSTOP);
        sys::kill(command, libc::SIGCONT);
    }
}

/// The supervisor was killed: the command goes on, and can start nothing more.
fn outlive_supervisor(command: pid_t) -> ExitCode {
    say_message(
        "the supervisor was killed; from now on no program starts here (\"Function not implemented\")",
    );
    // The command becomes this process's child before the supervisor's own end can be waited for.
    loop {
        match waitpid(None::<Pid>, None) {
            Ok(WaitStatus::Exited(pid, code)) if pid.as_raw() == command => {
                return end_as(code << 8);
            }
            Ok(WaitStatus::Signaled(pid, signal, _)) if pid.as_raw() == command => {
                return end_as(signal as i32);
            }
            Ok(_) => {}
            Err(_) => return ExitCode::from(crate::UNUSABLE),
        }
    }
}

fn end_as(status: i32) -> ExitCode {
    if libc::WIFSIGNALED(status) {
        sys::die_by(libc::WTERMSIG(status));
        // A signal that doesn't end a process has not ended the command either; 128 is what shells
        // add.
        return ExitCode::from((128 + libc::WTERMSIG(status)) as u8);
    }
    ExitCode::from(libc::WEXITSTATUS(status) as u8)
}
