//! One program start, told from end to end: it is looked at before, traced while the kernel carries
//! it out, and looked at again when it has happened, before the new program's first instruction.
//!
//! A thread does all this for one start at a time and is that start's tracer, so no start waits for
//! another one: not for a slow file system, not for a person who is asked.

use super::arch::ENTRIES;
use super::asking::Verdict;
use super::judging::{Judge, Program, describe_unseen};
use super::lookup::{self, FileKey, Lookup};
use super::pool::Role;
use super::programs::Snapshot;
use super::remote::{self, Base, Wanted};
use super::supervisor::Supervisor;
use super::sys::{self, Change, Notification, Reply};
use super::tree;
use libc::pid_t;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

/// So many interpreters may stand behind each other, as in the kernel.
const MAX_INTERPRETERS: usize = 5;

/// What has to be there after the start.
#[derive(Default)]
struct Expected {
    argv: Vec<Vec<u8>>,
    file: Option<FileKey>,
    /// Where it was judged.
    directory: Option<(u64, u64)>,
    /// The file could become another program without a sign until it is started.
    is_alike: bool,
}

/// Why a program may not start.
struct Refusal {
    argv: Vec<Vec<u8>>,
    reason: String,
}

/// What the look before says.
enum Before {
    /// The call fails as the kernel would have it fail.
    Fails(Errno),
    /// It is refused.
    Refused(Refusal),
    /// It may be carried out.
    MayStart(Expected),
}

/// Why a start can't be judged.
enum Unjudged {
    /// The call fails as the kernel would have it fail.
    Fails(Errno),
    /// It couldn't be looked, for this reason.
    Doubt(String),
}

/// A start that is under way.
struct UnderWay<'a> {
    supervisor: &'a Supervisor,
    notification: &'a Notification,
    /// The process of the thread that starts something.
    process: pid_t,
    /// To be handed over before anything is waited for.
    role: &'a Role<'a>,
}

/// Waits for the next program start and sees it through; says whether there was one.
pub fn serve_next(supervisor: &Supervisor, role: &Role<'_>) -> bool {
    let notification = next(supervisor);
    notification
        .iter()
        .for_each(|it| serve_start(supervisor, it, role));
    notification.is_some()
}

/// Refuses the starts that wait for a thread, because the threads read memory that nobody pages in.
pub fn refuse_waiting(supervisor: &Supervisor) {
    while is_waiting(supervisor) {
        let Ok(notification) = sys::receive_start(supervisor.listener()) else {
            return;
        };
        let _ = sys::respond_to(
            supervisor.listener(),
            notification.id,
            Reply::Fail(libc::EAGAIN),
        );
    }
}

/// Whether another start waits for an answer.
fn is_waiting(supervisor: &Supervisor) -> bool {
    let mut ready = [PollFd::new(supervisor.listener(), PollFlags::POLLIN)];
    poll(&mut ready, PollTimeout::ZERO) == Ok(1)
        && ready[0]
            .revents()
            .is_some_and(|revents| revents.contains(PollFlags::POLLIN))
}

/// The next start; none when no process is left that could start anything.
fn next(supervisor: &Supervisor) -> Option<Notification> {
    loop {
        match sys::receive_start(supervisor.listener()) {
            Ok(notification) => return Some(notification),
            // The process has gone before its start was taken; or all have.
            Err(_) if supervisor.has_ended() => return None,
            Err(error) if error.raw_os_error() == Some(Errno::EBADF as i32) => return None,
            Err(_) => {}
        }
    }
}

fn serve_start(supervisor: &Supervisor, notification: &Notification, role: &Role<'_>) {
    if ENTRIES
        .iter()
        .any(|entry| entry.audit == notification.arch && entry.prlimit == notification.number)
    {
        return serve_limit(supervisor, notification);
    }
    if supervisor.is_commands_own_start(notification.tid) {
        let _ = sys::respond_to(supervisor.listener(), notification.id, Reply::Continue);
        return;
    }
    let Some(process) = tree::process_of(notification.tid) else {
        // It is gone, or it can't be told which other start it must wait for.
        let _ = sys::respond_to(
            supervisor.listener(),
            notification.id,
            Reply::Fail(libc::EAGAIN),
        );
        return;
    };
    let start = UnderWay {
        supervisor,
        notification,
        process,
        role,
    };
    // The kernel lets one start of a process come to its end before another one of the same process
    // may be traced: the tracer of the second would sleep until the first is over.
    let turn = role.count_wait(|| {
        supervisor
            .turns
            .take_turn(process, || start.is_waiting(), || role.hand_over())
    });
    let Some(_turn) = turn else { return };
    match start.look_before() {
        Before::Fails(error) => start.send_reply(Reply::Fail(error as i32)),
        Before::Refused(refusal) => start.refuse_start(&refusal),
        Before::MayStart(expected) => start.carry_out(&expected),
    }
}

/// Answers a process that would change another one's limits: those of the tree's own are its
/// matter.
fn serve_limit(supervisor: &Supervisor, notification: &Notification) {
    let process = notification.args[0] as pid_t;
    let is_own =
        tree::has_own_numbers(notification.tid) || tree::is_of_tree(process, supervisor.pid);
    let reply = if is_own {
        Reply::Continue
    } else {
        Reply::Fail(libc::EPERM)
    };
    // The number may mean another thread since.
    if sys::still_waits(supervisor.listener(), notification.id) {
        let _ = sys::respond_to(supervisor.listener(), notification.id, reply);
    }
}

impl UnderWay<'_> {
    /// Whether the thread still waits for the answer, and so whether its number surely means that
    /// thread.
    fn is_waiting(&self) -> bool {
        sys::still_waits(self.supervisor.listener(), self.notification.id)
    }

    fn send_reply(&self, reply: Reply) {
        // It may be gone; then nobody waits for the reply.
        let _ = sys::respond_to(self.supervisor.listener(), self.notification.id, reply);
    }

    fn refuse_start(&self, refusal: &Refusal) {
        if self.is_waiting() {
            self.supervisor
                .said
                .say_refusal(self.process, &refusal.argv, &refusal.reason);
        }
        self.send_reply(Reply::Fail(libc::EACCES));
    }

    fn look_before(&self) -> Before {
        let tid = self.notification.tid;
        let snapshot = match self.supervisor.wait_for_snapshot(|| self.role.hand_over()) {
            Ok(snapshot) => snapshot,
            Err(reason) => {
                return Before::Refused(Refusal {
                    argv: vec![b"a program".to_vec()],
                    reason,
                });
            }
        };
        let programs = match self
            .role
            .busy_with(|| find_programs(&snapshot, self.notification))
        {
            Ok(programs) => programs,
            Err(Unjudged::Fails(error)) => return Before::Fails(error),
            Err(Unjudged::Doubt(reason)) => {
                return Before::Refused(Refusal {
                    argv: vec![b"a program".to_vec()],
                    reason,
                });
            }
        };
        let (is_awaited, before_asking) = (|| self.is_waiting(), || self.role.hand_over());
        let directory = lookup::working_directory(tid);
        let judge = Judge {
            supervisor: self.supervisor,
            snapshot: &snapshot,
            tid,
            process: self.process,
            directory: &directory,
            is_awaited: &is_awaited,
            before_asking: &before_asking,
        };
        let mut expected = Expected::default();
        for program in programs {
            if let Verdict::Deny(reason) = judge.judge_program(&program) {
                return Before::Refused(Refusal {
                    argv: program.argv,
                    reason,
                });
            }
            let (key, kind) = program.file.map(|file| (file.key, file.kind)).unzip();
            let directory = directory.as_ref().ok().map(|directory| directory.key.inode);
            let is_alike = kind.is_some_and(|kind| kind.is_alike);
            expected = Expected {
                argv: program.argv,
                file: key,
                directory,
                is_alike,
            };
        }
        Before::MayStart(expected)
    }

    /// Lets the kernel carry the start out, and looks at what has become of it.
    fn carry_out(&self, expected: &Expected) {
        let tid = self.notification.tid;
        if let Err(error) = sys::seize(tid) {
            return self.cannot_trace(expected, &error);
        }
        // The number may mean another thread since; that one is let go like one whose start failed.
        let go_on = || {
            if self.is_waiting() {
                self.send_reply(Reply::Continue);
            }
        };
        // A start that fails ends with this stop. A kernel that would take the waiting call back
        // for it gets it later.
        if self.supervisor.is_killable {
            let _ = sys::interrupt(tid);
            go_on();
        } else {
            go_on();
            let _ = sys::interrupt(tid);
        }
        self.role.hand_over();
        while let Ok((pid, change)) = sys::wait_for_traced() {
            let signal = match change {
                Change::Trapped {
                    event: libc::PTRACE_EVENT_EXEC,
                    ..
                } => {
                    if let Err(refusal) = self.look_after(pid, expected) {
                        self.supervisor
                            .said
                            .say_refusal(pid, &refusal.argv, &refusal.reason);
                        sys::kill(pid, libc::SIGKILL);
                    }
                    0
                }
                // A signal that it was about to get.
                Change::Trapped { event: 0, signal } => signal,
                Change::Trapped { .. } | Change::Stopped(_) => 0,
                Change::Ended(status) => {
                    return self.supervisor.note_end(pid, status);
                }
            };
            // One that is being killed can't be let go: its end follows.
            if sys::detach(pid, signal).is_ok() {
                return;
            }
        }
    }

    /// A start that can't be looked at afterwards is refused, unless people have said that it may
    /// be.
    fn cannot_trace(&self, expected: &Expected, error: &std::io::Error) {
        let tracer = tree::tracer_of(self.notification.tid);
        let options = &self.supervisor.options;
        let (may_be, reason) = match tracer {
            Some(_) => (
                options.allow_debuggers,
                "a debugger traces the process, so what it starts can't be judged (--allow-debuggers allows it)"
                    .to_owned(),
            ),
            None => (
                options.best_effort,
                format!("the process can't be traced, so what it starts can't be judged: {error}"),
            ),
        };
        if may_be {
            self.send_reply(Reply::Continue);
        } else {
            self.refuse_start(&Refusal {
                argv: expected.argv.clone(),
                reason,
            });
        }
    }

    /// Looks at a program before its first instruction.
    fn look_after(&self, pid: pid_t, expected: &Expected) -> Result<(), Refusal> {
        let refusal = |reason| Refusal {
            argv: expected.argv.clone(),
            reason,
        };
        let argv = tree::process_arguments(pid)
            .map_err(|error| refusal(describe_unseen("its words", error)))?;
        let directory = lookup::working_directory(pid);
        let is_there =
            directory.as_ref().ok().map(|directory| directory.key.inode) == expected.directory;
        if argv == expected.argv && is_there && expected.is_at(lookup::running_key(pid)) {
            return Ok(());
        }
        let snapshot = self
            .supervisor
            .wait_for_snapshot(|| ())
            .map_err(|reason| Refusal {
                argv: argv.clone(),
                reason,
            })?;
        // From here on its bytes stay: nobody may write to a file that runs.
        let file = lookup::running_file(pid).and_then(|seen| snapshot.look_at(&seen));
        let file = match file {
            Ok(file) => Some(file),
            Err(_) if snapshot.is_empty() => None,
            Err(error) => return Err(refusal(describe_unseen("its file", error))),
        };
        let path = file
            .as_ref()
            .map(|file| file.real_path.clone().into_os_string().into_encoded_bytes())
            .unwrap_or_default();
        // A script that couldn't be found before is its interpreter's first or second word.
        let is_unknown = expected.file.is_none() && !snapshot.is_empty();
        let scripts = (1..3)
            .filter(|_| is_unknown)
            .filter_map(|n| argv.get(n..).filter(|it| !it.is_empty()));
        let scripts: Vec<Program> = scripts
            .map(|script| Program {
                argv: script.to_vec(),
                path: script[0].clone(),
                file: None,
            })
            .collect();
        let programs = [Program { argv, path, file }].into_iter().chain(scripts);
        let judge = Judge {
            supervisor: self.supervisor,
            snapshot: &snapshot,
            tid: pid,
            process: pid,
            directory: &directory,
            is_awaited: &|| tree::process_exists(pid),
            before_asking: &|| (),
        };
        for program in programs {
            if let Verdict::Deny(reason) = judge.judge_program(&program) {
                return Err(Refusal {
                    argv: program.argv,
                    reason,
                });
            }
        }
        Ok(())
    }
}

impl Expected {
    /// Whether what runs is certainly the file that was looked at.
    fn is_at(&self, running: Result<FileKey, Errno>) -> bool {
        running.is_ok_and(|key| self.file == Some(key)) && !self.is_alike
    }
}

/// Finds what a waiting process wants to start, and the interpreters behind it, of which the last
/// one is what runs.
fn find_programs(
    snapshot: &Snapshot,
    notification: &Notification,
) -> Result<Vec<Program>, Unjudged> {
    let Wanted {
        base,
        mut path,
        argv,
    } = remote::read_wanted(notification).map_err(|error| match error {
        Errno::EPERM | Errno::EACCES => Unjudged::Doubt(
            "the process has made itself unreadable, so what it starts can't be judged".into(),
        ),
        error => Unjudged::Fails(error),
    })?;
    let tid = notification.tid;
    let doubt = |error| Unjudged::Doubt(describe_unseen("its file", error));
    // What can't be told from outside is looked at after the start.
    let look = |base, path: &[u8]| match lookup::look_up(tid, base, path) {
        Lookup::Found(seen) => snapshot.look_at(&seen).map(Some).map_err(doubt),
        Lookup::Missing(error) => Err(Unjudged::Fails(error)),
        Lookup::Unknown => Ok(None),
        Lookup::Failed(error) => Err(doubt(error)),
    };
    let file = look(base, &path)?;
    if let Base::OpenFile(fd) = base {
        path = format!("/dev/fd/{fd}").into_bytes();
    }
    let mut programs = vec![Program { argv, path, file }];
    while programs.len() <= MAX_INTERPRETERS {
        let last = &programs[programs.len() - 1];
        let Some(script) = last.file.as_ref().and_then(|file| file.kind.script.clone()) else {
            break;
        };
        let mut argv = vec![script.interpreter.clone()];
        argv.extend(script.argument.clone());
        argv.push(last.path.clone());
        argv.extend(last.argv.iter().skip(1).cloned());
        let path = script.interpreter.clone();
        let file = look(Base::WorkingDirectory, &path)?;
        programs.push(Program { argv, path, file });
    }
    Ok(programs)
}
