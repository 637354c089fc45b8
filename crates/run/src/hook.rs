//! `hookwire-run hook AGENT`: what agents start for each event.
//!
//! It asks the project's host if one runs, and says what that answers. Everything else is for the
//! large program, `hookwire hook`, which then takes the place of this one: so whatever goes wrong,
//! it goes wrong there. This program is there because loading the large one took most of the time
//! that an agent waits for.

use super::meant::{Meant, is_varied, option_value, set_once};
use super::start_large;
use hookwire_ask::exchange::{Question, Unanswered};
use hookwire_ask::said::Said;
use hookwire_ask::{MAX_EVENT, TIME_LIMIT, refusal, socket};
use rustix::fs::{MemfdFlags, SeekFrom};
use std::ffi::OsString;
use std::io::{IsTerminal, Read, Write};
use std::panic::catch_unwind;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

/// What the command line says, as far as it is what `hookwire install` writes.
#[derive(Debug, Default, PartialEq, Eq)]
struct Options {
    agent: String,
    event: Option<String>,
    fails_open: bool,
    /// The socket of the host that alone is asked.
    connect: Option<PathBuf>,
    meant: Meant,
}

/// What hands the event on to the large program.
#[derive(Default)]
struct HandedOn {
    /// What has been read of stdin.
    sent: Option<Vec<u8>>,
    /// Why a host that has the event, or that alone is asked, didn't answer.
    lost: Option<String>,
}

/// How long after the limit what waits within it may take to say so itself, because it knows more.
const GRACE: Duration = Duration::from_millis(1500);

/// Answers one event; `args` are those behind `hook`.
pub fn main(args: Vec<OsString>) -> ExitCode {
    let (words, began) = (args.clone(), Instant::now());
    match in_time(TIME_LIMIT + GRACE, move || {
        // A panic would be no answer, and the agent would go on.
        let answered = catch_unwind(|| answer_agent(&words, began))
            .unwrap_or_else(|_| Err(HandedOn::default()));
        answered.unwrap_or_else(|handed_on| hand_over(&words, handed_on, began))
    }) {
        Ok(said) => ExitCode::from(said.say()),
        Err(Late::Over) => say_failure(
            &args,
            &format!("no answer within {}s", TIME_LIMIT.as_secs()),
        )
        .say_and_end(),
        Err(Late::NoThread) => ExitCode::from(hand_over(&args, HandedOn::default(), began).say()),
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
fn answer_agent(args: &[OsString], began: Instant) -> Result<Said, HandedOn> {
    let unread = HandedOn::default;
    let options = Options::from_args(args).ok_or_else(unread)?;
    if options.connect.is_none() && is_varied() || std::io::stdin().is_terminal() {
        return Err(unread());
    }
    let socket = match &options.connect {
        Some(socket) => socket.clone(),
        None => options.meant.host_of_hook().ok_or_else(unread)?.socket,
    };
    let mut sent = Vec::new();
    if std::io::stdin()
        .lock()
        .take(MAX_EVENT)
        .read_to_end(&mut sent)
        .is_err()
    {
        return Err(HandedOn {
            sent: Some(sent),
            lost: None,
        });
    }
    let sent = match String::from_utf8(sent) {
        Ok(sent) => sent,
        Err(error) => {
            return Err(HandedOn {
                sent: Some(error.into_bytes()),
                lost: None,
            });
        }
    };
    let question = Question {
        event: options.event.as_deref(),
        fails_open: options.fails_open,
        // Whole seconds are taken off, so that the host knows the events of two entries for one.
        time_limit: TIME_LIMIT.saturating_sub(Duration::from_secs(began.elapsed().as_secs())),
        ..Question::new(&options.agent, &sent)
    };
    let lost = match question.ask_host(&socket, || socket::connect(&socket)) {
        Ok(said) => return Ok(said),
        Err(unanswered) if options.connect.is_some() => Some(unanswered.describe_for(&socket)),
        Err(Unanswered::Lost(error)) => Some(error.to_string()),
        Err(Unanswered::Unreached(_) | Unanswered::Refused(_)) => None,
    };
    Err(HandedOn {
        sent: Some(sent.into_bytes()),
        lost,
    })
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
fn hand_over(args: &[OsString], HandedOn { sent, lost }: HandedOn, began: Instant) -> Said {
    let problem = match sent.map_or(Ok(()), |sent| hand_on(&sent)) {
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
    say_failure(
        args,
        &lost
            .into_iter()
            .chain([problem])
            .collect::<Vec<_>>()
            .join("; "),
    )
}

/// What is said of a failure here. Nobody is left who knows the agent's words. To most agents this
/// exit code is a "no".
fn say_failure(args: &[OsString], problem: &str) -> Said {
    match args
        .windows(2)
        .any(|it| it[0] == "--fail" && it[1] == "open")
    {
        true => Said {
            stderr: format!("hookwire: {problem}"),
            ..Said::default()
        },
        false => Said::no_by_exit(&refusal(problem)),
    }
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
