//! `hookwire-run hook AGENT`: what agents start for each event.
//!
//! It asks the project's host if one runs, and says what that answers. Everything else is for the large program,
//! `hookwire hook`, which then takes the place of this one: so whatever goes wrong, it goes wrong there. This program is there
//! because loading the large one took most of the time that an agent waits for.

use hookwire_ask::exchange::{Question, Unanswered};
use hookwire_ask::places::{DATA_DIR, Places, Settled, USER_DIR};
use hookwire_ask::project::{for_agents, foreign, project};
use hookwire_ask::said::Said;
use hookwire_ask::warm::{Wanted, Warm, beside};
use hookwire_ask::{MAX_EVENT, refusal, socket};
use rustix::fs::{MemfdFlags, SeekFrom};
use std::ffi::OsString;
use std::io::{IsTerminal, Read, Write};
use std::os::unix::process::CommandExt;
use std::panic::catch_unwind;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

/// The large program.
const LARGE: &str = "hookwire";
/// Variables by which the large program does something else.
const VARIABLES: [&str; 2] = ["HOOKWIRE_LOG", "HOOKWIRE_MODEL"];

/// What the command line says, as far as it is what `hookwire install` writes.
#[derive(Debug, Default, PartialEq, Eq)]
struct Options {
    agent: String,
    event: Option<String>,
    fails_open: bool,
    root: Option<PathBuf>,
    user_dirs: Vec<PathBuf>,
    data_dirs: Vec<PathBuf>,
    hooks: Vec<PathBuf>,
    project: bool,
    isolated: bool,
    no_self_defence: bool,
}

/// What hands the event on to the large program.
#[derive(Default)]
struct HandedOn {
    /// What has been read of stdin.
    sent: Option<Vec<u8>>,
    /// Why a host that has the event didn't answer.
    lost: Option<String>,
}

/// Answers one event; `args` are those behind `hook`.
pub fn main(args: Vec<OsString>) -> ExitCode {
    // A panic would be no answer, and the agent would go on.
    match catch_unwind(|| answer(&args)).unwrap_or_else(|_| Err(HandedOn::default())) {
        Ok(said) => ExitCode::from(said.say()),
        Err(handed_on) => start_large(&args, handed_on),
    }
}

/// What a host that runs answers, if nothing is out of the ordinary.
fn answer(args: &[OsString]) -> Result<Said, HandedOn> {
    let unread = HandedOn::default;
    let options = Options::read(args).ok_or_else(unread)?;
    if VARIABLES.iter().any(|name| std::env::var_os(name).is_some()) || std::io::stdin().is_terminal() {
        return Err(unread());
    }
    let host = options.host().ok_or_else(unread)?;
    let mut sent = Vec::new();
    if std::io::stdin().lock().take(MAX_EVENT).read_to_end(&mut sent).is_err() {
        return Err(HandedOn { sent: Some(sent), lost: None });
    }
    let sent = match String::from_utf8(sent) {
        Ok(sent) => sent,
        Err(error) => return Err(HandedOn { sent: Some(error.into_bytes()), lost: None }),
    };
    let question = Question {
        event: options.event.as_deref(),
        fails_open: options.fails_open,
        ..Question::new(&options.agent, &sent)
    };
    let lost = match question.ask(&host.socket, || socket::connect(&host.socket)) {
        Ok(said) => return Ok(said),
        Err(Unanswered::Lost(error)) => Some(error.to_string()),
        Err(Unanswered::Unreached(_) | Unanswered::Refused(_)) => None,
    };
    Err(HandedOn { sent: Some(sent.into_bytes()), lost })
}

impl Options {
    /// Reads the options that `hookwire install` writes, as it writes them. Nothing if there is anything else.
    fn read(args: &[OsString]) -> Option<Options> {
        let mut options = Options::default();
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let arg = arg.to_str()?;
            let mut value = || args.next().filter(|it| !it.is_empty() && !it.as_encoded_bytes().starts_with(b"-"));
            let once = |flag: &mut bool| (!std::mem::replace(flag, true)).then_some(());
            match arg {
                "--project" => once(&mut options.project)?,
                "--isolated" => once(&mut options.isolated)?,
                "--no-self-defence" => once(&mut options.no_self_defence)?,
                "--fail" => match value()?.to_str()? {
                    "open" => once(&mut options.fails_open)?,
                    _ => return None,
                },
                "--event" if options.event.is_none() => options.event = Some(value()?.to_str()?.to_string()),
                "--root" if options.root.is_none() => options.root = Some(value()?.into()),
                "--hooks" => options.hooks.push(value()?.into()),
                USER_DIR => options.user_dirs.push(value()?.into()),
                DATA_DIR => options.data_dirs.push(value()?.into()),
                agent if options.agent.is_empty() && !agent.starts_with('-') => options.agent = agent.to_string(),
                _ => return None,
            }
        }
        // Otherwise the password database is asked where these are, which takes what a small program hasn't got.
        let is_whole = !options.agent.is_empty() && !options.user_dirs.is_empty() && !options.data_dirs.is_empty();
        is_whole.then_some(options)
    }

    /// The host that `hookwire hook` would ask.
    fn host(&self) -> Option<Warm> {
        let root = self.root.clone().unwrap_or_else(project);
        let projects = foreign(&root);
        let is_foreign = |place: &std::path::Path| projects.iter().any(|project| place.starts_with(project));
        let places = Settled::for_agent(Places::named(&self.user_dirs, &self.data_dirs), is_foreign, || None).read;
        let wanted = Wanted {
            root: for_agents(&root, !self.project && !self.isolated, &places.data).ok()?,
            hooks: self.hooks.clone(),
            project: self.project,
            isolated: self.isolated,
            self_defence: !self.no_self_defence,
            more: Vec::new(),
        };
        Warm::new(beside(LARGE).ok()?, wanted, &places).ok()
    }
}

/// Lets the large program take the place of this one, with what has been read of stdin.
fn start_large(args: &[OsString], HandedOn { sent, lost }: HandedOn) -> ExitCode {
    let problem = match (beside(LARGE), sent.map_or(Ok(()), |sent| hand_on(&sent))) {
        (Err(place), _) => format!("{} isn't there", place.display()),
        (Ok(_), Err(error)) => format!("the event can't be handed on: {error}"),
        (Ok(program), Ok(())) => {
            let mut command = Command::new(&program);
            command.arg("hook").args(args);
            if let Some(problem) = lost {
                command.arg("--lost").arg(problem);
            }
            format!("{} can't be started: {}", program.display(), command.exec())
        }
    };
    // Nobody is left who knows the agent's words. To most agents this exit code is a "no".
    let fails_open = args.windows(2).any(|it| it[0] == "--fail" && it[1] == "open");
    let said = match fails_open {
        true => Said { stderr: format!("hookwire: {problem}"), ..Said::default() },
        false => Said::no_by_exit(&refusal(&problem)),
    };
    ExitCode::from(said.say())
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
    fn only_what_install_writes_is_read() {
        let read = |text: &str| Options::read(&text.split(' ').map(OsString::from).collect::<Vec<_>>());
        let whole = read("claude-code --event Stop --root /p --user-dir /u --data-dir /d --project").unwrap();
        assert_eq!((&*whole.agent, whole.event.as_deref(), whole.project), ("claude-code", Some("Stop"), true));
        assert!(read("--user-dir /u --user-dir /v --data-dir /d gemini --fail open").unwrap().fails_open);
        for other in [
            "",
            "claude-code",
            "claude-code --user-dir /u",
            "claude-code --user-dir /u --data-dir=/d",
            "claude-code --user-dir /u --data-dir -d",
            "claude-code codex --user-dir /u --data-dir /d",
            "claude-code --user-dir /u --data-dir /d --root /p --root /q",
            "claude-code --user-dir /u --data-dir /d --project --project",
            "claude-code --user-dir /u --data-dir /d --fail closed",
            "claude-code --user-dir /u --data-dir /d --time-limit 5s",
            "claude-code --user-dir /u --data-dir /d --no-host",
            "claude-code --user-dir /u --data-dir /d --",
            "claude-code --user-dir /u --data-dir /d --help",
        ] {
            assert_eq!(read(other), None, "{other}");
        }
    }
}
