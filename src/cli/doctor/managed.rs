//! `hookwire doctor --managed`: whether the entries of this machine's settings hold, for root and
//! for the users that they guard.

use super::probed::always_denied;
use super::{Health, Report};
use crate::cli::install::{handlers_of, listed_in, read_file, seconds_within, value_of};
use crate::cli::managed::has_definitions;
use crate::cli::managed::ownership::{Loading, Trouble, Use, loading_of, troubles_of};
use crate::cli::managed::people::{files_of, people};
use crate::cli::managed::settings::{Entries, format_of, steps_of};
use crate::cli::output::Output;
use crate::cli::own::{Own, dialect_of, events_of, own_entry};
use crate::cli::{DefinitionArgs, Failure, Finding};
use hookwire_ask::OBSERVE;
use hookwire_base::support::amounts::number_of;
use hookwire_base::support::file::read_text;
use hookwire_base::support::places::{MACHINE, homes};
use hookwire_base::syntax::diagnostic::Severity;
use hookwire_base::syntax::formats;
use hookwire_base::syntax::node::Node;
use hookwire_base::syntax::source::Layer;
use hookwire_engine::definitions::cases::is_definition_file;
use hookwire_engine::hook::Hook;
use hookwire_engine::host::{HostOptions, Projects};
use hookwire_rules::agents::{AGENTS, Agent, Left, Managed};
use serde_json::Value;
use std::io::ErrorKind;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use walkdir::WalkDir;

/// The user and the group who own nothing.
const NOBODY: u32 = 65_534;
/// How long the host stays that a probe of root's starts as nobody.
const IDLE_EXIT: &str = "5s";
/// So many definitions of the machine's are looked at.
const MAX_DEFINITIONS: usize = 256;
const MAX_DEPTH: usize = 8;

pub(super) fn check_managed(
    wanted: &[&'static Agent],
    out: &mut Output,
) -> Result<Finding, Failure> {
    let mut report = Report {
        out,
        about: String::new(),
        is_bad: false,
    };
    let mut n_asking = 0;
    for agent in AGENTS.iter() {
        let is_wanted = wanted.iter().any(|it| it.name == agent.name);
        let managed = &agent.managed;
        let path = Path::new(&managed.file);
        let text = match managed.is_there() {
            true => read_file(path),
            false => Ok(None),
        };
        let speaks = !matches!(&text, Ok(None)) && (is_wanted || asks(agent, &text));
        if !is_wanted && (!speaks || !wanted.is_empty()) {
            continue;
        }
        report.begin_section(agent.name);
        if !managed.is_there() {
            let (title, why) = (&agent.title, &managed.instead);
            let told = format!("{title} can't be guarded so, because {why}: `hookwire run` does");
            report.say_health(Health::Bad, &told);
            continue;
        }
        if !speaks {
            let told = format!(
                "{} doesn't ask hookwire: `sudo hookwire install --managed {}`",
                path.display(),
                agent.name
            );
            report.say_health(Health::Bad, &told);
            continue;
        }
        n_asking += 1;
        check_agent(agent, managed, text, &mut report)?;
    }
    if n_asking == 0 && wanted.is_empty() {
        report.begin_section("agents");
        report.say_health(
            Health::Bad,
            "no agent's settings of this machine ask hookwire: `sudo hookwire install --managed AGENT`",
        );
    }
    if n_asking > 0 {
        check_definitions(&mut report)?;
    }
    Ok(if report.is_bad {
        Finding::Found
    } else {
        Finding::Fine
    })
}

/// Whether a machine's settings have the agent ask hookwire, and can be read.
pub(super) fn is_asking(agent: &Agent) -> bool {
    let managed = &agent.managed;
    managed.is_there()
        && read_file(Path::new(&managed.file))
            .ok()
            .flatten()
            .and_then(|text| value_of(&text, format_of(Path::new(&managed.file))).ok())
            .is_some_and(|settings| !own_handlers(agent, &settings).is_empty())
}

/// Whether a file has an entry of hookwire's, or may have one.
fn asks(agent: &Agent, text: &Result<Option<String>, Failure>) -> bool {
    match text {
        Ok(None) => false,
        Ok(Some(text)) => match value_of(text, format_of(Path::new(&agent.managed.file))) {
            Ok(settings) => !own_handlers(agent, &settings).is_empty(),
            Err(_) => text.contains("hookwire"),
        },
        Err(_) => true,
    }
}

/// The commands of hookwire's in settings, each with its event and what it stands in: its group, or
/// itself.
fn own_handlers(agent: &Agent, settings: &Value) -> Vec<(&'static str, Value, Own)> {
    let Some(file) = agent.file() else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for event in events_of(agent) {
        for group in listed_in(file, &settings[&file.at], event) {
            for handler in handlers_of(group) {
                if let Some(own) = own_entry(agent, &file.command_in(handler)) {
                    found.push((event, group.clone(), own));
                }
            }
        }
    }
    found
}

fn check_agent(
    agent: &'static Agent,
    managed: &'static Managed,
    text: Result<Option<String>, Failure>,
    report: &mut Report<'_>,
) -> Result<(), Failure> {
    let path = Path::new(&managed.file);
    let shown = path.display();
    let title = &agent.title;
    let troubles = troubles_of(path, Use::Read);
    for trouble in &troubles {
        let comes = match trouble {
            Trouble::Closed { .. } => format!("; {title} {} then", managed.unreadable),
            Trouble::Open { .. } | Trouble::Missing(_) | Trouble::Unseen(_) => String::new(),
        };
        report.say_health(Health::Bad, &format!("{}{comes}", trouble.told()));
    }
    if troubles.is_empty() {
        let told = format!("{shown} is root's alone, and every user can read it");
        report.say_health(Health::Fine, &told);
    }
    let settings = text
        .and_then(|text| value_of(text.as_deref().unwrap_or_default(), format_of(path)))
        .map_err(|Failure(problem)| problem);
    let settings = match settings {
        Ok(settings) => settings,
        Err(problem) => {
            let told = format!(
                "{shown} can't be read: {problem}; {title} {} then",
                managed.broken
            );
            report.say_health(Health::Bad, &told);
            return Ok(());
        }
    };
    if let Some(own) = check_entries(agent, managed, &settings, report) {
        check_program(agent, &own, report)?;
    }
    check_beside(agent, managed, report);
    tell_ways(agent, managed, report);
    Ok(())
}

/// Says whether the entry is as it is written; its command, if there is one.
fn check_entries(
    agent: &'static Agent,
    managed: &'static Managed,
    settings: &Value,
    report: &mut Report<'_>,
) -> Option<Own> {
    let (file, shown, name) = (agent.file()?, &managed.file, agent.name);
    let again = format!("`sudo hookwire install --managed {name}` writes it anew");
    let found = own_handlers(agent, settings);
    let Some((_, _, own)) = found.first() else {
        let told = format!("{shown} doesn't ask hookwire: {again}");
        report.say_health(Health::Bad, &told);
        return None;
    };
    let observe = own.words().iter().any(|word| word == OBSERVE);
    let mut options: Vec<String> = own.words().iter().skip(3).cloned().collect();
    if let Some(at) = options.iter().position(|it| it == "--event") {
        options.drain(at..(at + 2).min(options.len()));
    }
    let limit = own.flag_values("--timeout").next();
    let limit = limit.and_then(|limit| humantime::parse_duration(limit).ok());
    let entries = Entries {
        agent,
        managed,
        program: own.words().first()?.clone(),
        options,
        seconds: seconds_within(limit),
        observe,
    };
    let events = events_of(agent);
    let wrong: Vec<&str> = events
        .iter()
        .copied()
        .filter(|event| {
            let expected = entries.entry_of(file, event);
            let of_event = found.iter().filter(|(it, ..)| it == event);
            !of_event.map(|(_, group, _)| group).eq([&expected])
        })
        .collect();
    let lacking: Vec<String> = managed
        .members_of(observe)
        .filter(|(member, value)| {
            settings.pointer(&format!("/{}", member.replace('.', "/"))) != Some(value)
        })
        .map(|(member, value)| format!("`{member}` isn't {value}"))
        .collect();
    for (is_wrong, told) in [
        (
            !wrong.is_empty(),
            format!(
                "the entry isn't as hookwire writes it at {}",
                wrong.join(", ")
            ),
        ),
        (!lacking.is_empty(), lacking.join(", ")),
    ] {
        if is_wrong {
            report.say_health(Health::Bad, &format!("{shown}: {told}; {again}"));
        }
    }
    if wrong.is_empty() && lacking.is_empty() {
        let n = events.len();
        report.say_health(
            Health::Fine,
            &format!(
                "it is as it was written: {n} events ask {}",
                entries.program
            ),
        );
    }
    if observe {
        let told = format!(
            "its hooks only observe, so nothing is denied: `sudo hookwire install --managed {name}` ends that"
        );
        report.say_health(Health::Doubtful, &told);
    }
    Some(own.clone())
}

/// Says whether the program is root's alone and denies, as a user starts it.
fn check_program(agent: &'static Agent, own: &Own, report: &mut Report<'_>) -> Result<(), Failure> {
    let Some((program, arguments)) = own.words().split_first() else {
        return Ok(());
    };
    let path = Path::new(program);
    let troubles = troubles_of(path, Use::Start);
    for trouble in &troubles {
        let told = format!("{program} isn't root's alone: {}", trouble.told());
        report.say_health(Health::Bad, &told);
    }
    if !troubles.is_empty() {
        // Root starts nothing that others may have written.
        report.say_health(Health::Bad, "a probe was not denied, because it wasn't run");
        return Ok(());
    }
    match loading_of(path) {
        Ok(Loading::Static) => report.say_health(
            Health::Fine,
            &format!("{program} is root's alone, and no loader puts code into it"),
        ),
        Ok(Loading::Unknown) => {
            report.say_health(Health::Fine, &format!("{program} is root's alone"));
        }
        Ok(Loading::Dynamic) => report.say_health(
            Health::Doubtful,
            &format!(
                "{program} is root's alone, and is loaded by a loader that obeys LD_PRELOAD: the static one of a release isn't"
            ),
        ),
        Err(error) => report.say_health(Health::Bad, &format!("{program}: {error}")),
    }
    let Some(dialect) = dialect_of(agent) else {
        return Ok(());
    };
    let mut command = Command::new(program);
    command.args(arguments.iter().filter(|word| *word != OBSERVE));
    command.current_dir("/");
    let is_root = rustix::process::geteuid().is_root();
    let who = if is_root { "nobody" } else { "you" };
    if is_root {
        // As little as a user may have around it.
        command.uid(NOBODY).gid(NOBODY).env_clear();
        command.env("PATH", "/usr/bin:/bin");
        if own.flag_values("--connect").next().is_none() {
            command.args(["--idle-exit", IDLE_EXIT]);
        }
    }
    let probe = always_denied(dialect, Path::new("/"))?;
    match probe.try_command(dialect, command) {
        Ok(time) => report.say_health(
            Health::Fine,
            &format!("a probe was denied after {time} ms, asked as {who}"),
        ),
        Err(problem) => report.say_health(
            Health::Bad,
            &format!(
                "a probe was not denied, asked as {who} ({problem}): {}",
                own.line()
            ),
        ),
    }
    Ok(())
}

/// Says what in the machine's other settings undoes the entry.
fn check_beside(agent: &Agent, managed: &Managed, report: &mut Report<'_>) {
    let files = managed
        .beside
        .iter()
        .flat_map(|path| files_of(Path::new("/"), path.trim_start_matches('/')));
    for path in files.filter(|path| *path != Path::new(&managed.file)) {
        let shown = path.display();
        let text = match read_file(&path) {
            Ok(None) => continue,
            Ok(Some(text)) => text,
            Err(Failure(problem)) => {
                report.say_health(Health::Bad, &format!("what it says isn't known: {problem}"));
                continue;
            }
        };
        for trouble in troubles_of(&path, Use::Read) {
            if let Trouble::Open { .. } = trouble {
                report.say_health(Health::Bad, &trouble.told());
            }
        }
        let Ok(settings) = formats::parse(&text, format_of(&path)) else {
            let told = format!(
                "{shown} can't be read: {} may not start, or pass over it",
                agent.title
            );
            report.say_health(Health::Bad, &told);
            continue;
        };
        for (member, value) in &managed.undone_by {
            let found = settings.at(&steps_of(member)).map(Node::to_json);
            if found.as_ref() == Some(value) {
                let told = format!("{shown}: `{member}` is {value}, which undoes the entry");
                report.say_health(Health::Bad, &told);
            }
        }
    }
}

/// Says what of the ways around the entry holds, and what closes the others.
fn tell_ways(agent: &Agent, managed: &Managed, report: &mut Report<'_>) {
    let version = &agent.version;
    let held = managed.held.join("; ");
    report.say_health(
        Health::Fine,
        &format!("held, as tried with version {version}: {held}"),
    );
    for left in &managed.left {
        let told = format!("not held: {}. It is closed by: {}", left.how, left.closes);
        report.say_health(Health::Doubtful, &told);
        for found in found_ways(left) {
            report.say_health(Health::Bad, &format!("this is so now: {found}"));
        }
    }
}

/// Where a way around the entry is taken: in the files of the people who can be looked at, or in
/// the environment of this process.
fn found_ways(left: &Left) -> Vec<String> {
    let mut found = Vec::new();
    if left.file.is_empty() {
        let set = left
            .names
            .iter()
            .filter(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()));
        found.extend(set.map(|name| format!("`{name}` is set")));
        return found;
    }
    let others = rustix::process::geteuid()
        .is_root()
        .then(people)
        .unwrap_or_default();
    let mut files: Vec<PathBuf> = homes()
        .into_iter()
        .chain(others.into_iter().map(|(_, home)| home))
        .map(|home| home.join(&left.file))
        .collect();
    files.dedup();
    for path in files {
        let shown = path.display();
        match read_text(&path) {
            Ok(text) => {
                let names = left.names.iter().filter(|name| text.contains(&***name));
                found.extend(names.map(|name| format!("{shown} has `{name}`")));
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => found.push(format!(
                "{shown} may have one, because it can't be read: {error}"
            )),
        }
    }
    found
}

/// Says whether the machine has definitions that users can't change, that their hosts can read, and
/// that are in force.
fn check_definitions(report: &mut Report<'_>) -> Result<(), Failure> {
    report.begin_section("definitions");
    if !has_definitions() {
        report.say_health(
            Health::Bad,
            &format!("there are no hooks in {MACHINE}, so each user's own decide alone"),
        );
        return Ok(());
    }
    let files = WalkDir::new(MACHINE)
        .max_depth(MAX_DEPTH)
        .sort_by_file_name();
    let mut n_files = 0;
    let mut told: Vec<String> = Vec::new();
    for found in files.into_iter().take(MAX_DEFINITIONS) {
        let path = match &found {
            Ok(found) => found.path(),
            Err(error) => {
                told.push(error.to_string());
                continue;
            }
        };
        if !is_definition_file(path) || !path.is_file() {
            continue;
        }
        n_files += 1;
        let troubles = troubles_of(path, Use::Read);
        let new = troubles.iter().map(Trouble::told);
        told.extend(new.filter(|it| !told.contains(it)).collect::<Vec<_>>());
    }
    for told in &told {
        report.say_health(Health::Bad, told);
    }
    if told.is_empty() {
        report.say_health(
            Health::Fine,
            &format!("{MACHINE} is root's alone, and every user's host can read it: files with hooks: {n_files}"),
        );
    }
    let definitions = DefinitionArgs {
        root: "/".into(),
        ..DefinitionArgs::default()
    };
    let host = definitions.host_with(HostOptions {
        projects: Projects::None,
        ..definitions.options()
    })?;
    let published = host.published();
    let of_machine = |hook: &&Arc<Hook>| hook.source.layer == Layer::Managed && !hook.is_broken();
    let n_hooks = published.hooks.hooks.iter().filter(of_machine).count();
    let health = if n_hooks == 0 {
        Health::Bad
    } else {
        Health::Fine
    };
    let told = format!("{} of the machine's in force", number_of(n_hooks, "hook"));
    report.say_health(health, &told);
    let diagnostics = published.diagnostics.iter();
    for diagnostic in diagnostics.filter(|it| Path::new(&it.file).starts_with(MACHINE)) {
        let health = match diagnostic.severity {
            Severity::Error => Health::Bad,
            Severity::Warning | Severity::Hint => Health::Doubtful,
        };
        report.say_health(health, &diagnostic.one_line());
    }
    Ok(())
}
