//! `hookwire-run hook AGENT`: what agents start for each event.
//!
//! It asks the project's host if one runs, and says what that answers. Everything else is for the
//! large program, `hookwire hook`, which then takes the place of this one: so whatever goes wrong,
//! it goes wrong there. This program is there because loading the large one took most of the time
//! that an agent waits for.

use super::absent;
use super::meant::{Meant, is_varied, option_value, set_once};
use super::start_large;
use hookwire_ask::attended::is_attended;
use hookwire_ask::exchange::{Question, Unanswered};
use hookwire_ask::said::Said;
use hookwire_ask::socket::EVERYBODYS;
use hookwire_ask::{MAX_EVENT, OBSERVE, TIME_LIMIT, said_of_option, socket};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, SeekFrom};
use std::ffi::OsString;
use std::io::{ErrorKind, IsTerminal, Read, Result as IoResult, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// What the command line says, as far as it is what `hookwire install` writes.
#[derive(Debug, Default, PartialEq, Eq)]
struct Options {
    agent: String,
    event: Option<String>,
    fails_open: bool,
    /// The agent is told nothing.
    observes: bool,
    /// The socket of the host that alone is asked.
    connect: Option<PathBuf>,
    meant: Meant,
}

/// What hands the event on to the large program.
#[derive(Default)]
struct HandedOn {
    /// Stdin has been read.
    is_read: bool,
    /// Why a host that has the event, or that alone is asked, didn't answer.
    lost: Option<String>,
}

/// What has been read of the event so far. Whoever says no in the place of others looks into it for
/// the event's name.
#[derive(Clone, Default)]
struct Sent(Arc<Mutex<Arc<Vec<u8>>>>);

/// How long after the limit what waits within it may take to say so itself, because it knows more.
const GRACE: Duration = Duration::from_millis(1500);
/// How long an event is waited for that nobody will judge: only its name is wanted.
const LAST_WAIT: Duration = Duration::from_secs(1);
/// How many bytes of the event are read at once.
const PIECE: usize = 64 * 1024;

/// Answers one event; `args` are those behind `hook`.
pub fn main(args: Vec<OsString>) -> ExitCode {
    let (words, began, sent) = (args.clone(), Instant::now(), Sent::default());
    let read = sent.clone();
    match in_time(TIME_LIMIT + GRACE, move || {
        // A panic would be no answer, and the agent would go on.
        let answered = catch_unwind(AssertUnwindSafe(|| answer_agent(&words, &read, began)))
            .unwrap_or_else(|_| Err(HandedOn::default()));
        answered.unwrap_or_else(|handed_on| hand_over(&words, &read, handed_on, began))
    }) {
        Ok(said) => ExitCode::from(said.say()),
        Err(Late::Over) => say_failure(
            &args,
            &sent.bytes(),
            &format!("no answer within {}s", TIME_LIMIT.as_secs()),
        )
        .say_and_end(),
        Err(Late::NoThread) => {
            ExitCode::from(hand_over(&args, &sent, HandedOn::default(), began).say())
        }
    }
}

impl Sent {
    fn lock(&self) -> MutexGuard<'_, Arc<Vec<u8>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What has been read so far.
    fn bytes(&self) -> Arc<Vec<u8>> {
        self.lock().clone()
    }

    fn add(&self, piece: &[u8]) {
        Arc::make_mut(&mut *self.lock()).extend_from_slice(piece);
    }

    /// Reads stdin to its end.
    fn read_all(&self) -> IoResult<()> {
        let mut stdin = std::io::stdin().lock().take(MAX_EVENT);
        let mut piece = vec![0; PIECE];
        loop {
            match stdin.read(&mut piece) {
                Ok(0) => return Ok(()),
                Ok(read) => self.add(piece.get(..read).unwrap_or_default()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Reads what comes of stdin at once, as far as it goes.
    fn read_soon(&self) {
        let until = Instant::now() + LAST_WAIT;
        let (stdin, mut piece, mut left) = (std::io::stdin(), vec![0; PIECE], MAX_EVENT);
        while left > 0 {
            let wait = Timespec::try_from(until.saturating_duration_since(Instant::now())).ok();
            let mut stdins = [PollFd::new(&stdin, PollFlags::IN)];
            if !poll(&mut stdins, wait.as_ref()).is_ok_and(|n| n > 0) {
                return;
            }
            let read = rustix::io::read(&stdin, &mut piece).unwrap_or_default();
            if read == 0 {
                return;
            }
            self.add(piece.get(..read).unwrap_or_default());
            left = left.saturating_sub(read as u64);
        }
    }
}

/// Why work gave nothing.
#[derive(Debug, PartialEq, Eq)]
enum Late {
    /// The time is over, whatever keeps it: an agent that sends no end of the event, or a disk.
    Over,
    /// Nothing has begun.
    NoThread,
}

/// What work gives on a thread of its own, which isn't waited for any longer than this.
fn in_time<T: Send + 'static>(
    limit: Duration,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Late> {
    let (sender, ended) = sync_channel(1);
    std::thread::Builder::new()
        .spawn(move || drop(sender.send(work())))
        .map_err(|_| Late::NoThread)?;
    ended.recv_timeout(limit).map_err(|_| Late::Over)
}

/// What a host that runs answers, if nothing is out of the ordinary.
fn answer_agent(args: &[OsString], sent: &Sent, began: Instant) -> Result<Said, HandedOn> {
    let unread = HandedOn::default;
    let options = Options::from_args(args).ok_or_else(unread)?;
    if options.connect.is_none() && is_varied() || std::io::stdin().is_terminal() {
        return Err(unread());
    }
    let socket = match &options.connect {
        Some(socket) => socket.clone(),
        None => options.meant.host_of_hook().ok_or_else(unread)?.socket,
    };
    let unjudged = |lost| HandedOn {
        is_read: true,
        lost,
    };
    sent.read_all().map_err(|_| unjudged(None))?;
    let sent = sent.bytes();
    let question = Question {
        event: options.event.as_deref(),
        fails_open: options.fails_open || options.observes,
        attended: is_attended(&options.agent),
        // Whole seconds are taken off, so that the host knows the events of two entries for one.
        time_limit: TIME_LIMIT.saturating_sub(Duration::from_secs(began.elapsed().as_secs())),
        ..Question::new(
            &options.agent,
            str::from_utf8(&sent).map_err(|_| unjudged(None))?,
        )
    };
    let answered = match options.connect.as_deref() == Some(Path::new(EVERYBODYS)) {
        true => {
            // Whoever has to start the user's own host asks both.
            let own = options.meant.host_beside_machine();
            let own = own.map_err(|()| unjudged(None))?;
            let stream = own.map(|own| socket::connect(&own.socket)).transpose();
            let stream = stream.map_err(|_| unjudged(None))?;
            question.ask_both(&socket, || stream.ok_or(ErrorKind::NotFound.into()))
        }
        false => question.ask_host(&socket, || socket::connect(&socket)),
    };
    let lost = match answered {
        Ok(_) if options.observes => return Ok(Said::default()),
        Ok(said) => return Ok(said),
        Err(unanswered) if options.connect.is_some() => Some(unanswered.describe_for(&socket)),
        Err(Unanswered::Lost(error)) => Some(error.to_string()),
        Err(Unanswered::Unreached(_) | Unanswered::Refused(_)) => None,
    };
    Err(unjudged(lost))
}

impl Options {
    /// Reads the options that `hookwire install` writes, as it writes them. Nothing if there is
    /// anything else.
    fn from_args(args: &[OsString]) -> Option<Options> {
        let mut options = Options::default();
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            match arg.to_str()? {
                "--fail" => match option_value(&mut args)?.to_str()? {
                    "open" => set_once(&mut options.fails_open)?,
                    _ => return None,
                },
                OBSERVE => set_once(&mut options.observes)?,
                "--event" if options.event.is_none() => {
                    options.event = Some(option_value(&mut args)?.to_str()?.to_string());
                }
                "--connect" if options.connect.is_none() => {
                    options.connect =
                        Some(socket::parse_address(option_value(&mut args)?.to_str()?).ok()?);
                }
                agent if options.agent.is_empty() && !agent.starts_with('-') => {
                    options.agent = agent.to_string()
                }
                option => options
                    .meant
                    .take_option(option, &mut args)?
                    .then_some(())?,
            }
        }
        (!options.agent.is_empty()).then_some(options)
    }
}

/// Lets the large program take the place of this one, with what has been read of stdin and how much
/// of the time that took; what is said if it can't.
fn hand_over(
    args: &[OsString],
    sent: &Sent,
    HandedOn { is_read, lost }: HandedOn,
    began: Instant,
) -> Said {
    let handed_on = match is_read {
        true => hand_on(&sent.bytes()),
        false => Ok(()),
    };
    let problem = match handed_on {
        Err(error) => format!("the event can't be handed on: {error}"),
        Ok(()) => {
            let spent = Some(began.elapsed().as_secs()).filter(|spent| *spent > 0);
            let spent = spent
                .into_iter()
                .flat_map(|it| ["--spent".into(), format!("{it}s").into()]);
            let lost = lost
                .iter()
                .flat_map(|problem| ["--lost".into(), problem.into()]);
            let words = std::iter::once("hook".into())
                .chain(args.iter().cloned())
                .chain(lost)
                .chain(spent);
            start_large(&words.collect::<Vec<OsString>>())
        }
    };
    if !is_read {
        sent.read_soon();
    }
    say_failure(
        args,
        &sent.bytes(),
        &lost
            .into_iter()
            .chain([problem])
            .collect::<Vec<_>>()
            .join("; "),
    )
}

/// What is said of a failure here, in the agent's words.
fn say_failure(args: &[OsString], sent: &[u8], problem: &str) -> Said {
    let words: Vec<&str> = args.iter().filter_map(|arg| arg.to_str()).collect();
    // What isn't as `install` writes it is read as the large program does where it knows no more.
    let value_of = |option| said_of_option(&words, option);
    if value_of("--fail") == Some("open") || words.contains(&OBSERVE) {
        return Said {
            stderr: format!("hookwire: {problem}"),
            ..Said::default()
        };
    }
    let agent = words.iter().find(|word| absent::is_agent(word));
    absent::say_unjudged(agent.unwrap_or(&""), value_of("--event"), sent, problem)
}

/// Makes that stdin is what has been read of it.
fn hand_on(sent: &[u8]) -> std::io::Result<()> {
    let file = rustix::fs::memfd_create("event", MemfdFlags::CLOEXEC)?;
    let mut file = std::fs::File::from(file);
    file.write_all(sent)?;
    rustix::fs::seek(&file, SeekFrom::Start(0))?;
    Ok(rustix::stdio::dup2_stdin(&file)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_never_ends_is_not_waited_for() {
        let (_open, never) = sync_channel::<()>(0);
        assert_eq!(
            in_time(Duration::ZERO, move || never.recv().is_ok()),
            Err(Late::Over)
        );
        assert_eq!(in_time(TIME_LIMIT, || 1), Ok(1));
    }

    #[test]
    fn only_what_install_writes_is_read() {
        let read = |text: &str| {
            Options::from_args(&text.split(' ').map(OsString::from).collect::<Vec<_>>())
        };
        let whole =
            read("claude-code --event Stop --root /p --user-dir /u --data-dir /d --live").unwrap();
        assert_eq!(
            (&*whole.agent, whole.event.as_deref(), whole.meant.project),
            ("claude-code", Some("Stop"), true)
        );
        assert!(
            read("--user-dir /u --user-dir /v --data-dir /d gemini --fail open")
                .unwrap()
                .fails_open
        );
        assert!(read("claude-code --observe").unwrap().observes);
        assert_eq!(
            read("claude-code").unwrap().agent,
            "claude-code",
            "as a team's file has it"
        );
        assert_eq!(
            read("gemini --connect unix:/s").unwrap().connect,
            Some("/s".into())
        );
        for other in [
            "",
            "claude-code --user-dir /u --data-dir=/d",
            "claude-code --user-dir /u --data-dir -d",
            "claude-code codex --user-dir /u --data-dir /d",
            "claude-code --user-dir /u --data-dir /d --root /p --root /q",
            "claude-code --user-dir /u --data-dir /d --live --live",
            "claude-code --observe --observe",
            "claude-code --connect /s",
            "claude-code --connect unix:s",
            "claude-code --user-dir /u --data-dir /d --fail closed",
            "claude-code --user-dir /u --data-dir /d --timeout 5s",
            "claude-code --user-dir /u --data-dir /d --no-host",
            "claude-code --user-dir /u --data-dir /d --",
            "claude-code --user-dir /u --data-dir /d --help",
        ] {
            assert_eq!(read(other), None, "{other}");
        }
    }
}
