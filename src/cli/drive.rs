//! `hookwire doctor AGENT --drive`: the agent itself is started as the person starts it, in their
//! home and their project, against a model on this machine. What counts is what it then does.
//!
//! It runs apart (`hookwire-run apart`): home and project are copies at their real paths, there is
//! no network, and nothing outlives it. So whatever stands between an agent and its hooks here does
//! so there, too: whom it trusts, switches, plug-ins, variables, a repository within another.

use super::Failure;
use super::ending::make_runtime;
use super::run::find_supervisor;
use crate::model_server::{Heard, Model};
use hookwire_base::support::secret_files::off_limits;
use hookwire_base::support::{file, places};
use hookwire_base::syntax::formats::{Format, parse};
use hookwire_base::syntax::node::Step;
use hookwire_base::syntax::writer::{At, Op, rewritten};
use hookwire_rules::agents::{Agent, Headless};
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use tokio::process::Command;
use walkdir::WalkDir;

/// How long an agent may take. Some read the disk for a while before their first request.
const PATIENCE: Duration = Duration::from_secs(120);
const PROMPT: &str = "Do it.";
/// What the commands of the model make: one that is allowed, one that is rewritten and what it
/// becomes, one that is asked about, one that is denied.
const ALLOWED: &str = "allowed-by-hookwire";
const REPLACED: &str = "replaced-by-hookwire";
const WRITTEN: &str = "written-by-hookwire";
const ASKED: &str = "asked-by-hookwire";
const DENIED: &str = "denied-by-hookwire";
/// The commands, in their order: some agents end at a deny.
const COMMANDS: [&str; 4] = [ALLOWED, REPLACED, ASKED, DENIED];
const WHY: &str = "hookwire denies this to show that a deny arrives.";
/// The definitions of the drive, in the copy of the user's.
const DEFINITIONS: &str = "driven-by-hookwire.yaml";
/// So deep, and among so many files, keys are looked for in the copy of a home.
const MAX_DEPTH: usize = 3;
const MAX_FILES: usize = 50_000;
/// The longest last words of an agent that are shown, in characters.
const MOST_SAID: usize = 300;

/// What an agent did that was started in one way.
#[derive(Debug, Default)]
pub(super) struct Session {
    /// The arguments that say how it was started; empty if there is one way.
    pub(super) mode: String,
    /// It ran what is allowed.
    pub(super) ran_allowed: bool,
    /// It ran what is denied.
    pub(super) ran_denied: bool,
    /// It ran what a person is to be asked about.
    pub(super) ran_asked: bool,
    /// It ran the text that is rewritten.
    pub(super) ran_replaced: bool,
    /// It ran what that is rewritten to.
    pub(super) ran_rewritten: bool,
    /// Its model was told why something was denied.
    pub(super) model_was_told: bool,
    /// It got as far as what is denied.
    reached_denied: bool,
    n_requests: usize,
    said: String,
}

impl Session {
    /// Why nothing is shown of a deny, if nothing is.
    pub(super) fn unclear(&self) -> Option<String> {
        let what = match self {
            Session {
                ran_denied: true, ..
            } => return None,
            Session { n_requests: 0, .. } => "it asked the model nothing",
            Session {
                ran_allowed: false, ..
            } => "it ran no command of the model's",
            Session {
                reached_denied: false,
                ..
            } => "it ended before what is denied",
            Session { .. } => return None,
        };
        Some(format!("{what}. It said: {}", self.said))
    }
}

/// What runs a program apart from this machine, with copies of what is a person's here.
///
/// # Errors
/// The small program isn't there; for people.
pub(super) fn apart(root: &Path) -> Result<Command, Failure> {
    let mut command = Command::new(find_supervisor()?);
    command.arg("apart");
    let homes = places::homes();
    let own = [places::user_dirs(), places::data_dirs()].concat();
    let root = root.canonicalize()?;
    let here = std::env::current_dir()?;
    // What git keeps of a work tree may stand above.
    let repository = here
        .ancestors()
        .find(|dir| dir.join(".git").exists())
        .map(Path::to_path_buf);
    let environment = std::env::var_os("HOME").map(PathBuf::from);
    let all = homes
        .into_iter()
        .chain(environment)
        .chain(own)
        .chain([root, here])
        .chain(repository);
    // Programs write there, too. A socket in a copy leads nowhere.
    let passing = ["/tmp", "/var/tmp", "/run"].into_iter().map(PathBuf::from);
    let named = ["TMPDIR", "XDG_RUNTIME_DIR"]
        .into_iter()
        .filter_map(std::env::var_os)
        .map(PathBuf::from);
    let mut copies: Vec<PathBuf> = all
        .chain(passing)
        .chain(named)
        .filter_map(|dir| dir.canonicalize().ok())
        .filter(|dir| dir.is_dir() && dir.parent().is_some())
        .collect();
    copies.sort();
    copies.dedup();
    for dir in copies {
        command.arg("--copy").arg(dir);
    }
    command.arg("--").kill_on_drop(true);
    Ok(command)
}

/// Drives an agent, which is this program, in each of its modes. This process must be apart
/// already: it writes into the person's home.
pub(super) fn drive_agent(
    agent: &Agent,
    headless: &Headless,
    program: &Path,
) -> Result<Vec<Session>, Failure> {
    let runtime = make_runtime()?;
    let driven = runtime.block_on(async {
        let home = prepare_home(agent)?;
        // The name of a socket has to be short.
        let runtime_dir = tempfile::tempdir_in("/tmp")?;
        let drive = Drive {
            agent,
            headless,
            program,
            home,
            runtime_dir: runtime_dir.path().to_path_buf(),
            here: std::env::current_dir()?,
        };
        let one_way = [Vec::new()];
        let modes = match headless.modes.is_empty() {
            true => &one_way[..],
            false => &headless.modes,
        };
        let mut sessions = Vec::new();
        for mode in modes {
            sessions.push(drive.run_session(mode).await?);
        }
        Ok(sessions)
    });
    runtime.shutdown_background();
    driven
}

/// Takes what is secret out of the copy of the home, and adds the rules of the drive; the home.
fn prepare_home(agent: &Agent) -> Result<PathBuf, Failure> {
    let home = std::env::var_os("HOME")
        .map(PathBuf::from)
        .filter(|home| home.is_absolute())
        .or_else(places::home)
        .ok_or_else(|| Failure("you have no home directory".into()))?;
    let moved = agent.moved_folders().into_iter().map(|(dir, _)| dir);
    for dir in moved.chain([home.clone()]) {
        remove_secrets(&dir)?;
    }
    let rules = format!(
        "defaults: {{ fail: closed }}\nhooks:\n\
         - {{ name: driven-deny, on: PreToolUse, if: Bash(touch {DENIED}), deny: {WHY} }}\n\
         - {{ name: driven-ask, on: PreToolUse, if: Bash(touch {ASKED}), ask: Is this asked about? }}\n\
         - {{ name: driven-rewrite, on: PreToolUse, if: Bash(touch {REPLACED}), rewrite: {{ command: [touch, {WRITTEN}] }} }}\n"
    );
    // Some users have a home that can't be made, and another one by the environment.
    let write = |dir: &PathBuf| {
        std::fs::create_dir_all(dir)?;
        std::fs::write(dir.join(DEFINITIONS), &rules)
    };
    let mut last = None;
    for dir in places::user_dirs() {
        match write(dir) {
            Ok(()) => return Ok(home),
            Err(error) => last = Some(Failure(format!("{}: {error}", dir.display()))),
        }
    }
    Err(last.unwrap_or_else(|| Failure("you have no directory for definitions of your own".into())))
}

/// Takes files of keys out of a copy, as deep as programs keep them in a home.
fn remove_secrets(dir: &Path) -> Result<(), Failure> {
    let mut files = WalkDir::new(dir)
        .min_depth(1)
        .max_depth(MAX_DEPTH)
        .into_iter();
    let mut n_seen = 0;
    while let Some(found) = files.next() {
        n_seen += 1;
        let Some(found) = found.ok().filter(|_| n_seen < MAX_FILES) else {
            continue;
        };
        let (path, name) = (found.path(), found.file_name());
        // Where a home is a repository, agents have to find it; and in such a file they find what
        // switches their hooks off.
        if name == ".git" || name.as_encoded_bytes().starts_with(b".env") {
            if found.file_type().is_dir() {
                files.skip_current_dir();
            }
            continue;
        }
        let is_secret = off_limits(&path.join("x")).is_some() || off_limits(path).is_some();
        if is_secret && found.file_type().is_dir() {
            std::fs::remove_dir_all(path)?;
            files.skip_current_dir();
        } else if is_secret {
            std::fs::remove_file(path)?;
        }
    }
    Ok(())
}

/// What is driven.
struct Drive<'d> {
    agent: &'d Agent,
    headless: &'d Headless,
    program: &'d Path,
    home: PathBuf,
    /// Without the sockets of the person's hosts.
    runtime_dir: PathBuf,
    here: PathBuf,
}

impl Drive<'_> {
    /// Has an agent do all commands. One that ends before the last is started again for the rest.
    async fn run_session(&self, mode: &[String]) -> Result<Session, Failure> {
        let mut session = Session {
            mode: mode.join(" "),
            ..Session::default()
        };
        for name in COMMANDS.iter().chain([&WRITTEN]) {
            let _ = std::fs::remove_file(self.here.join(name));
        }
        let mut left = &COMMANDS[..];
        while !left.is_empty() {
            let commands = left.iter().map(|name| format!("touch {name}")).collect();
            let model = Model::start(commands, WHY).await?;
            let fill = |text: &str| {
                let text = text.replace("${url}", model.url());
                text.replace("${prompt}", PROMPT)
            };
            for (name, text) in &self.headless.files {
                // Variables may have moved its folder.
                let place = self.agent.of_user(name);
                let place = place.unwrap_or_else(|| self.home.join(name));
                add_to_file(&place, fill(text).trim_start())?;
            }
            if !self.headless.before.is_empty() {
                self.run_to_its_end(&self.headless.before, &fill).await?;
            }
            let arguments = [&self.headless.arguments[..], mode].concat();
            session.said = self.run_to_its_end(&arguments, &fill).await?;
            let Heard {
                n_requests,
                n_commands,
                model_was_told,
            } = model.heard();
            session.n_requests += n_requests;
            session.model_was_told |= model_was_told;
            if n_commands == 0 {
                break;
            }
            left = left.get(n_commands..).unwrap_or_default();
        }
        let is_there = |name: &str| self.here.join(name).exists();
        Ok(Session {
            ran_allowed: is_there(ALLOWED),
            ran_denied: is_there(DENIED),
            ran_asked: is_there(ASKED),
            ran_replaced: is_there(REPLACED),
            ran_rewritten: is_there(WRITTEN),
            reached_denied: left.is_empty(),
            ..session
        })
    }

    /// Runs the agent to its end, or ends it; gives its last words.
    async fn run_to_its_end(
        &self,
        arguments: &[String],
        fill: &impl Fn(&str) -> String,
    ) -> Result<String, Failure> {
        let mut command = Command::new(self.program);
        command
            .args(arguments.iter().map(|argument| fill(argument)))
            .envs(
                self.headless
                    .environment
                    .iter()
                    .map(|(name, value)| (name, fill(value))),
            )
            .env("XDG_RUNTIME_DIR", &self.runtime_dir)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        let child = command.spawn()?;
        let group = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        let ended = tokio::time::timeout(PATIENCE, child.wait_with_output()).await;
        // What it has left behind holds the place.
        if let Some(group) = group {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let Ok(ended) = ended else {
            return Ok(format!("nothing within {} seconds", PATIENCE.as_secs()));
        };
        let ended = ended?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let said = format!("{} {}", text(&ended.stdout), text(&ended.stderr));
        let words: Vec<&str> = said.split_whitespace().collect();
        let words = words.join(" ");
        let n_before = words.chars().count().saturating_sub(MOST_SAID);
        Ok(words.chars().skip(n_before).collect())
    }
}

/// Adds members to a file of settings, which may not be there yet.
fn add_to_file(path: &Path, text: &str) -> Result<(), Failure> {
    let format = Format::from_path(path).unwrap_or_default();
    let problem = |what: &str| Failure(format!("{}: {what}", path.display()));
    let before = file::read_text(path).unwrap_or_default();
    let after = if before.trim().is_empty() {
        text.to_string()
    } else {
        let added = parse(text, format).map_err(|_| problem("its new members can't be read"))?;
        let mut ops = Vec::new();
        let added = added.to_json();
        collect_members(&added, &mut Vec::new(), &mut ops);
        rewritten(&before, format, &ops).ok_or_else(|| problem("it can't be added to"))?
    };
    if let Some(dir) = path.parent() {
        std::fs::create_dir_all(dir)?;
    }
    Ok(std::fs::write(path, after)?)
}

/// Each member with its path.
fn collect_members<'v>(
    value: &'v Value,
    path: &mut Vec<Step<'v>>,
    ops: &mut Vec<(Vec<Step<'v>>, Op<'v>)>,
) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                path.push(Step::Key(name));
                collect_members(value, path, ops);
                path.pop();
            }
        }
        value => ops.push((path.clone(), Op::Set(value.clone(), At::End))),
    }
}
