//! What an agent does that is started as the person starts it.

use super::{Health, Report, on_path};
use crate::cli::drive::{Session, apart, drive_agent};
use crate::cli::ending::make_runtime;
use crate::cli::output::Output;
use crate::cli::{Failure, Finding};
use hookwire_base::support::json::parse;
use hookwire_base::support::places;
use hookwire_rules::agents::Agent;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

/// How long all of an agent's sessions may take.
const PATIENCE: Duration = Duration::from_secs(900);

/// Drives an agent apart from this machine, and says what came of it. There is no program if it is
/// the project's, which runs for nobody who only asks how things are.
pub(super) fn check_driven(
    agent: &Agent,
    program: Option<&Path>,
    root: &Path,
    report: &mut Report<'_>,
) -> Result<(), Failure> {
    let why = match (program, &agent.headless) {
        (None, _) => Some(format!(
            "`{}` isn't on PATH, or is a program of the project",
            agent.program
        )),
        (_, None) => {
            Some("nobody knows how to start it for one prompt with a model on this machine".into())
        }
        _ => None,
    };
    if let Some(why) = why {
        // It was asked for, and nothing is shown.
        report.say_health(Health::Bad, &format!("it wasn't driven, because {why}"));
        return Ok(());
    }
    let mut command = apart(root)?;
    command
        .arg(std::env::current_exe()?)
        .args(["--format", "json", "doctor", agent.name])
        .args(["--drive", "--apart", "--root"])
        .arg(root);
    for (flag, place) in places::all().to_args() {
        command.arg(flag).arg(place);
    }
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let runtime = make_runtime()?;
    let ended = runtime.block_on(async { tokio::time::timeout(PATIENCE, command.output()).await });
    runtime.shutdown_background();
    let Ok(ended) = ended else {
        let limit = PATIENCE.as_secs();
        report.say_health(
            Health::Bad,
            &format!(
                "driven: it isn't shown that a deny arrives, because it took longer than {limit} s"
            ),
        );
        return Ok(());
    };
    let ended = ended?;
    let said = String::from_utf8_lossy(&ended.stdout);
    let mut n_told = 0;
    for line in said.lines().filter_map(|line| parse(line).ok()) {
        let (Some(health), Some(text)) = (
            line["health"].as_str().and_then(Health::from_word),
            line["text"].as_str(),
        ) else {
            continue;
        };
        n_told += 1;
        report.say_health(health, text);
    }
    if n_told == 0 {
        let problem = String::from_utf8_lossy(&ended.stderr);
        let problem = problem.lines().last().unwrap_or("it said nothing");
        report.say_health(
            Health::Bad,
            &format!("it wasn't driven as you start it: {problem}"),
        );
    }
    Ok(())
}

/// Drives agents, in a process that is apart.
pub(super) fn drive_apart(agents: &[&'static Agent], out: &mut Output) -> Result<Finding, Failure> {
    let mut report = Report {
        out,
        about: String::new(),
        is_bad: false,
    };
    for agent in agents {
        report.begin_section(agent.name);
        let (Some(headless), Some(program)) = (&agent.headless, on_path(&agent.program)) else {
            continue;
        };
        let sessions = drive_agent(agent, headless, &program)?;
        // Some modes aren't for every person or machine: where one shows something, another that
        // shows nothing is only looked at.
        let is_shown = sessions.iter().any(|session| session.unclear().is_none());
        for session in &sessions {
            let (health, text) = match session.unclear().filter(|_| is_shown) {
                Some(why) => (
                    Health::Doubtful,
                    format!("not driven with `{}`: {why}", session.mode),
                ),
                None => describe_session(session),
            };
            report.say_health(health, &text);
        }
    }
    Ok(Finding::Fine)
}

fn describe_session(session: &Session) -> (Health, String) {
    let driven = match &*session.mode {
        "" => "driven".to_string(),
        mode => format!("driven with `{mode}`"),
    };
    if session.ran_denied {
        let why = "nobody asked hookwire, or a deny doesn't arrive";
        return (
            Health::Bad,
            format!("{driven}: it ran what is denied: {why}"),
        );
    }
    if let Some(why) = session.unclear() {
        let told = format!("{driven}: it isn't shown that a deny arrives, because {why}");
        return (Health::Bad, told);
    }
    if session.ran_asked {
        let told = "it ran what a person is to be asked about, and asked nobody";
        return (Health::Bad, format!("{driven}: {told}"));
    }
    if session.ran_replaced {
        let told = "it ran what is rewritten as it was before";
        return (Health::Bad, format!("{driven}: {told}"));
    }
    let rewritten = if session.ran_rewritten {
        "what is rewritten ran rewritten"
    } else {
        "what is rewritten didn't run"
    };
    let model = if session.model_was_told {
        "was told why"
    } else {
        "heard nothing of it"
    };
    let told = format!(
        "{driven}: it ran what is allowed, and not what is denied or asked about; {rewritten}; its model {model}"
    );
    (Health::Fine, told)
}
