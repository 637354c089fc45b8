//! `hookwire install --managed AGENT...`: an entry in an agent's settings of a machine, which only
//! root can change.
//!
//! What an agent reads, and what its users can do against that, is in the agent's facts. The entry
//! is the one that `install` writes, without any place of a user's.

pub(super) mod ownership;
pub(super) mod people;
mod record;
pub(super) mod settings;

use super::install::program::{asking_program, own_program};
use super::install::{ManagedWish as Wish, show_diff};
use super::output::{Output, Tone, safe};
use super::own::events_of;
use super::{Failure, Finding};
use hookwire_ask::programs::{SMALL, large_program};
use hookwire_base::support::amounts::number_of;
use hookwire_base::support::places::MACHINE;
use hookwire_base::support::shell_word;
use hookwire_engine::definitions::cases::is_definition_file;
use hookwire_rules::agents::{Agent, Managed};
use ownership::{Loading, Trouble, Use, loading_of, troubles_of};
use serde_json::json;
use settings::{Entries, Plan};
use std::path::Path;
use walkdir::WalkDir;

/// How deep definitions are looked for.
const MAX_DEPTH: usize = 8;

pub(super) fn install(wish: &Wish, out: &mut Output) -> Result<Finding, Failure> {
    let places = wish
        .agents
        .iter()
        .map(|agent| Ok((*agent, place_of(agent)?)))
        .collect::<Result<Vec<_>, Failure>>()?;
    wish.check_root("install")?;
    let program = wish.program()?;
    // All are planned before the first is written.
    let plans = places
        .iter()
        .map(|(agent, managed)| {
            let entries = Entries {
                agent,
                managed,
                program: program.clone(),
                options: wish.options.clone(),
                seconds: wish.seconds,
                observe: wish.observe,
            };
            Plan::to_install(&entries)
        })
        .collect::<Result<Vec<_>, Failure>>()?;
    for plan in &plans {
        let changed = wish.carry_out(plan, out)?;
        tell_installed(wish, plan, &program, changed, out);
    }
    if !out.json && !wish.dry_run {
        tell_standing(wish, &program, out);
    }
    Ok(Finding::Fine)
}

pub(super) fn uninstall(wish: &Wish, out: &mut Output) -> Result<Finding, Failure> {
    wish.check_root("uninstall")?;
    let plans = wish
        .agents
        .iter()
        .map(|agent| Plan::to_uninstall(agent, place_of(agent)?))
        .collect::<Result<Vec<_>, Failure>>()?;
    for plan in &plans {
        let changed = wish.carry_out(plan, out)?;
        let (name, path) = (plan.agent.name, plan.path.display().to_string());
        if out.json {
            let left: Vec<&str> = plan.left.iter().map(String::as_str).collect();
            out.json(
                &json!({ "agent": name, "file": path, "changed": changed, "leftAlone": left }),
            );
            continue;
        }
        match changed {
            false if wish.dry_run && plan.is_change() => {}
            false => out.line(&format!("{path} doesn't ask hookwire.")),
            true => out.line(&format!("{path} asks hookwire no more.")),
        }
        for left in &plan.left {
            let told = out.tone(Tone::Warn, &safe(&format!("{path}: {left}")));
            out.line(&told);
        }
    }
    Ok(Finding::Fine)
}

/// Where an agent's settings of a machine are.
fn place_of(agent: &'static Agent) -> Result<&'static Managed, Failure> {
    let managed = &agent.managed;
    if managed.is_there() && agent.file().is_some() {
        return Ok(managed);
    }
    let (title, program) = (&agent.title, &agent.program);
    Err(Failure(format!(
        "--managed: {title} can't be guarded so, because {}: `hookwire run -- {program}` holds what starts below it; \
         nothing was written",
        managed.instead
    )))
}

impl Wish {
    /// Whether the files can be written.
    fn check_root(&self, verb: &str) -> Result<(), Failure> {
        if self.dry_run || rustix::process::geteuid().is_root() {
            return Ok(());
        }
        let program = own_program()?;
        let mut words = vec!["sudo", &program, verb, "--managed"];
        words.extend(self.agents.iter().map(|agent| agent.name));
        words.extend(self.options.iter().map(String::as_str));
        Err(Failure(format!(
            "--managed: only root writes the settings of a machine: `{}`; nothing was written",
            shell_word::command(words)
        )))
    }

    /// The path of the program that agents start, which is root's alone.
    fn program(&self) -> Result<String, Failure> {
        let program = match self.is_plain {
            true => asking_program()?,
            false => own_program()?,
        };
        let mut troubles = troubles_of(Path::new(&program), Use::Start);
        // The small program starts it.
        if let Ok(large) = large_program() {
            troubles.extend(
                troubles_of(&large, Use::Start)
                    .into_iter()
                    .filter(|it| !troubles.contains(it))
                    .collect::<Vec<_>>(),
            );
        }
        if troubles.is_empty() {
            return Ok(program);
        }
        let told: Vec<String> = troubles.iter().map(Trouble::told).collect();
        Err(Failure(format!(
            "--managed: {program} runs for every user, so it must be root's alone: {}; or install hookwire into a directory of \
             root's, such as /usr/bin; nothing was written",
            told.join("; ")
        )))
    }

    /// Shows or makes a change; whether it was made.
    fn carry_out(&self, plan: &Plan, out: &mut Output) -> Result<bool, Failure> {
        if !plan.is_change() {
            return Ok(false);
        }
        if self.dry_run {
            if !out.json {
                out.line(&safe(&plan.path.to_string_lossy()));
                show_diff(plan.before.as_deref(), plan.after.as_deref(), out);
            }
            return Ok(false);
        }
        plan.write()?;
        Ok(true)
    }
}

fn tell_installed(wish: &Wish, plan: &Plan, program: &str, changed: bool, out: &mut Output) {
    let agent = plan.agent;
    let silenced = match &agent.managed.silences {
        Some(_) if !wish.observe => people::hooks_of_people(agent),
        _ => Vec::new(),
    };
    let path = plan.path.display();
    if out.json {
        let silenced: Vec<_> = silenced.iter().map(people::Silenced::to_json).collect();
        out.json(
            &json!({ "agent": agent.name, "file": plan.path, "program": program, "events": events_of(agent),
                "changed": changed, "observe": wish.observe, "silenced": silenced }),
        );
        return;
    }
    if !changed && !wish.dry_run {
        let told = format!("{path} is as it should be.");
        out.line(&told);
    } else {
        let n_events = number_of(events_of(agent).len(), "event");
        let told = format!("{n_events} of {} -> {program}, in {path}", agent.name);
        out.line(&told);
    }
    if silenced.is_empty() {
        return;
    }
    let told = format!(
        "These hooks run no more, because {} runs no others beside the machine's:",
        agent.title
    );
    let told = out.tone(Tone::Warn, &told);
    out.line(&told);
    people::show(&silenced, out);
    out.line(&format!(
        "Each person carries them over with `hookwire import {} --user`, and hookwire runs them then. Hooks of projects and \
         plug-ins aren't listed here: `hookwire import {}` in the project carries those over.",
        agent.name, agent.name
    ));
}

/// Says what else makes the entry hold, and what is to be done next.
fn tell_standing(wish: &Wish, program: &str, out: &mut Output) {
    let names: Vec<&str> = wish.agents.iter().map(|agent| agent.name).collect();
    let names = names.join(" ");
    if wish.observe {
        out.line(&format!(
            "Nothing is denied: hooks only observe. `hookwire tail --all --denied` shows each user what would be denied, and an \
             `audit-log` in {MACHINE} keeps it. `hookwire install --managed {names}` ends it."
        ));
    }
    if matches!(loading_of(Path::new(program)), Ok(Loading::Dynamic)) {
        let told = format!(
            "{program} is loaded by a loader that obeys LD_PRELOAD: the static {SMALL} of a release closes that."
        );
        let told = out.tone(Tone::Warn, &safe(&told));
        out.line(&told);
    }
    if !has_definitions() {
        out.line(&format!(
            "There are no hooks in {MACHINE} yet, so each user's own decide alone: `hookwire init --hooks {MACHINE} NAME`, and \
             `hookwire init --list` shows ready ones."
        ));
    }
    out.line(&format!(
        "`hookwire doctor --managed` shows what holds and what doesn't. `hookwire uninstall --managed {names}` takes it back."
    ));
}

/// Whether the machine has definitions.
pub(super) fn has_definitions() -> bool {
    let files = WalkDir::new(MACHINE).max_depth(MAX_DEPTH);
    files
        .into_iter()
        .flatten()
        .any(|found| found.path().is_file() && is_definition_file(found.path()))
}
