//! `hookwire doctor AGENT --drive`: the agent itself is started once, in a project and a home that
//! are thrown away, against a model on this machine. What counts is what the agent then does.

use super::Failure;
use super::install::own_program;
use super::scratch::scratch_dir;
use crate::model_server::{Heard, Model};
use hookwire_base::support::file;
use hookwire_rules::agents::{Agent, Headless};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use tokio::process::Command;

/// How long an agent may take. Some read the disk for a while before their first request.
const PATIENCE: Duration = Duration::from_secs(180);
const PROMPT: &str = "Do it.";
/// The file that the first command of the model makes, and the one of the second, which is denied.
const ALLOWED: &str = "allowed-by-hookwire";
const DENIED: &str = "denied-by-hookwire";
const WHY: &str = "hookwire denies this to show that a deny arrives.";
/// The variables that an agent keeps. All others may be a key, or lead it to settings of the
/// person.
const KEPT: [&str; 5] = ["PATH", "LANG", "TERM", "USER", "LOGNAME"];
/// The longest last words of an agent that are shown, in characters.
const MOST_SAID: usize = 300;

/// What came of it.
pub(super) enum Driven {
    /// The agent ran what is allowed and not what is denied; whether its model was told why.
    Obeyed { model_was_told: bool },
    /// It ran what is denied.
    Disobeyed,
    /// Nothing is shown; why.
    Unclear(String),
}

/// Where it happens. All of it goes when the value goes.
struct Place {
    dir: tempfile::TempDir,
    program: String,
}

impl Place {
    fn new() -> Result<Place, Failure> {
        let place = Place {
            dir: scratch_dir("drive")?,
            program: own_program()?,
        };
        for name in ["home", "project/.hookwire", "run"] {
            std::fs::create_dir_all(place.path_at(name))?;
        }
        std::fs::set_permissions(place.path_at("run"), Permissions::from_mode(0o700))?;
        let guard = format!(
            "defaults: {{ fail: closed }}\nhooks: [{{ name: drive, on: PreToolUse, if: Bash(touch {DENIED}), deny: {WHY} }}]\n"
        );
        std::fs::write(place.path_at("project/.hookwire/guard.yaml"), guard)?;
        Ok(place)
    }

    fn path_at(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// A program that knows of nothing but this place.
    fn command_for(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.env_clear().envs(
            KEPT.iter()
                .filter_map(|name| Some((*name, std::env::var_os(name)?))),
        );
        command
            .env("HOME", self.path_at("home"))
            .env("XDG_RUNTIME_DIR", self.path_at("run"))
            .env("CI", "true");
        command
            .current_dir(self.path_at("project"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command.process_group(0).kill_on_drop(true);
        command
    }

    async fn run_hookwire(&self, args: &[&str]) -> Result<(), Failure> {
        let ended = self
            .command_for(Path::new(&self.program))
            .args(args)
            .output()
            .await?;
        if ended.status.success() {
            return Ok(());
        }
        Err(Failure(format!(
            "hookwire {}: {}",
            args.join(" "),
            String::from_utf8_lossy(&ended.stderr).trim()
        )))
    }
}

/// Drives an agent, which is this program.
pub(super) fn drive_agent(
    agent: &Agent,
    headless: &Headless,
    program: &Path,
) -> Result<Driven, Failure> {
    let runtime = super::ending::make_runtime()?;
    let driven = runtime.block_on(async {
        let place = Place::new()?;
        let driven = drive_in(&place, agent, headless, program).await;
        // The host that the agent has started; there may be none.
        let _ = place.run_hookwire(&["host", "stop"]).await;
        end_leftovers(&place.path_at("home"));
        driven
    });
    runtime.shutdown_background();
    driven
}

async fn drive_in(
    place: &Place,
    agent: &Agent,
    headless: &Headless,
    program: &Path,
) -> Result<Driven, Failure> {
    // Most projects are repositories, and some agents run hooks in no others.
    let _ = place
        .command_for(Path::new("git"))
        .args(["init", "--quiet"])
        .output()
        .await;
    place.run_hookwire(&["trust", "--yes"]).await?;
    let user = agent.project.entry.is_empty().then_some("--user");
    place
        .run_hookwire(&[&["install", agent.name], user.as_slice()].concat())
        .await?;
    let model = Model::start(
        vec![format!("touch {ALLOWED}"), format!("touch {DENIED}")],
        WHY,
    )
    .await?;
    let project = place.path_at("project");
    let fill = |text: &str| {
        let text = text
            .replace("${url}", model.url())
            .replace("${prompt}", PROMPT);
        text.replace("${project}", &project.to_string_lossy())
    };
    for (name, text) in &headless.files {
        let path = place.path_at("home").join(name);
        std::fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
        std::fs::write(path, fill(text).trim_start())?;
    }
    let start = |arguments: &[String]| {
        let mut command = place.command_for(program);
        command.args(arguments.iter().map(|argument| fill(argument)));
        command.envs(
            headless
                .environment
                .iter()
                .map(|(name, value)| (name, fill(value))),
        );
        command
    };
    if !headless.before.is_empty() {
        to_its_end(start(&headless.before)).await?;
    }
    let said = to_its_end(start(&headless.arguments)).await?;
    let Heard {
        n_requests,
        n_commands,
        model_was_told,
    } = model.heard();
    Ok(
        match (
            project.join(ALLOWED).exists(),
            project.join(DENIED).exists(),
        ) {
            (_, true) => Driven::Disobeyed,
            (true, false) if n_commands < 2 => {
                Driven::Unclear(format!("it ended before what is denied. It said: {said}"))
            }
            (true, false) => Driven::Obeyed { model_was_told },
            (false, false) if n_requests == 0 => {
                Driven::Unclear(format!("it asked the model nothing. It said: {said}"))
            }
            (false, false) => {
                Driven::Unclear(format!("it ran no command of the model's. It said: {said}"))
            }
        },
    )
}

/// Ends what an agent has left behind, which would go on in a place that is gone. Cline starts a
/// daemon that leaves its group; what is of this home says so in its environment, where the system
/// shows that.
fn end_leftovers(home: &Path) {
    let mark = [b"HOME=", home.as_os_str().as_encoded_bytes()].concat();
    for process in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let pid = process
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok())
            .and_then(Pid::from_raw);
        if let Some(pid) = pid.filter(|_| {
            let environment = file::read_small(&process.path().join("environ"), file::MAX_FILE)
                .unwrap_or_default();
            environment
                .split(|byte| *byte == 0)
                .any(|variable| variable == mark)
        }) {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

/// Runs an agent to its end, or ends it; gives its last words.
async fn to_its_end(mut command: Command) -> Result<String, Failure> {
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
