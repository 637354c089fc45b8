//! The whole beginning: what is here is shown, and after one question rules are written and put in
//! force, agents are connected, and a probe shows that a deny arrives.

use super::super::approvals::says_yes;
use super::super::output::{Output, Tone, say_on_stderr};
use super::super::written::record::Record;
use super::super::written::{Trusts, Written, tell_written, write_new};
use super::super::{Failure, Finding, doctor, entry_hosts, find_project, install, trust};
use super::InitArgs;
use super::found::{FoundAgent, find_agents};
use super::preview::{self, Example};
use hookwire_base::support::amounts::number_of;
use hookwire_base::support::below::{self, ANYWHERE};
use hookwire_base::support::{file, places};
use hookwire_engine::definitions::approved::{self, DEFINITIONS};
use hookwire_engine::definitions::cookbook::{RULES, Rule, SETS, Set};
use hookwire_engine::trust::{Review, review};
use hookwire_rules::agents::Agent;
use serde_json::json;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

/// For whom the definitions are.
struct Place {
    /// Where they are written.
    dir: PathBuf,
    /// The project that the command was given in.
    root: PathBuf,
    scope: Scope,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// This project's.
    Project,
    /// The user's, in all projects, because `--user` says so.
    User,
    /// The same, because this is the home directory.
    Home,
    /// The same, because there is no project here.
    NoProject,
}

/// What becomes of a file of the set.
enum Step {
    Write,
    /// It has the text that a set has of the rule, and gets this set's.
    Replace,
    /// It has the text already.
    Keep,
    /// It has another text, a person's.
    Leave,
    /// This set has no such file, and another set had written it.
    Remove,
}

struct PlannedFile {
    rule: &'static Rule,
    name: String,
    text: String,
    step: Step,
}

/// An agent, and whether it is to be connected.
struct PlannedAgent {
    found: FoundAgent,
    step: Connect,
}

enum Connect {
    Write,
    Keep,
    /// It can't be; why.
    Cannot(String),
}

/// What stands where the definitions would be written.
enum Standing {
    /// Nothing that a person would have to look at first.
    Known(Option<Trusts>),
    /// What nobody has approved as it is.
    Foreign(Box<Review>),
}

struct Plan {
    place: Place,
    set: &'static Set,
    agents: Vec<PlannedAgent>,
    standing: Standing,
    files: Vec<PlannedFile>,
}

pub(super) fn run(args: &InitArgs, out: &mut Output) -> Result<Finding, Failure> {
    let plan = Plan::new(args)?;
    let examples = match plan.standing {
        Standing::Known(_) => preview::examples(plan.set)?,
        Standing::Foreign(_) => Vec::new(),
    };
    plan.show(&examples, out);
    if plan.changes_anything() {
        if !args.yes && !plan.is_confirmed()? {
            out.aside("Nothing was written.");
            return Ok(Finding::Found);
        }
    } else {
        out.aside("Nothing is left to write or to connect.");
    }
    plan.carry_out(&examples, out)
}

impl Place {
    fn find(args: &InitArgs) -> Result<Place, Failure> {
        let root = find_project();
        let full = root.canonicalize()?;
        let is_home = places::homes()
            .iter()
            .any(|home| home.canonicalize().is_ok_and(|home| home == full));
        let is_project = [DEFINITIONS, ".git"]
            .iter()
            .any(|name| root.join(name).exists());
        let scope = match (args.user, is_home, is_project) {
            (true, _, _) => Scope::User,
            (false, true, _) => Scope::Home,
            (false, false, true) => Scope::Project,
            (false, false, false) => Scope::NoProject,
        };
        let dir = match scope {
            Scope::Project => root.join(DEFINITIONS),
            Scope::User | Scope::Home | Scope::NoProject => places::config().ok_or_else(|| {
                Failure("you have no home directory to keep your own rules in".into())
            })?,
        };
        if dir.is_file() {
            return Err(Failure(format!(
                "{}: it is a file, and definitions are files in a directory of this name",
                dir.display()
            )));
        }
        Ok(Place { dir, root, scope })
    }

    fn is_user(&self) -> bool {
        self.scope != Scope::Project
    }

    /// The root below which everything is written.
    fn bound(&self) -> &Path {
        if self.is_user() {
            Path::new(ANYWHERE)
        } else {
            &self.root
        }
    }

    /// The directory as people write it.
    fn shown_dir(&self) -> String {
        let dir = self.dir.strip_prefix(".").unwrap_or(&self.dir);
        dir.display().to_string()
    }

    /// Of which projects it is about.
    fn describe(&self) -> String {
        let here = std::env::current_dir().unwrap_or_default();
        let root = self.root.canonicalize().unwrap_or(here);
        match self.scope {
            Scope::Project => format!("the project {}", root.display()),
            Scope::User => "all your projects".into(),
            Scope::Home => "all your projects, because this is your home directory".into(),
            Scope::NoProject => format!(
                "all your projects, because {} is in no repository",
                root.display()
            ),
        }
    }

    fn standing(&self) -> Result<Standing, Failure> {
        if self.is_user() {
            return Ok(Standing::Known(None));
        }
        if let Some(trusts) = Trusts::new(&self.dir) {
            return Ok(Standing::Known(Some(trusts)));
        }
        let store = approved::store(&self.root).ok_or_else(|| {
            Failure("you have no home directory to keep in what you approve".into())
        })?;
        Ok(Standing::Foreign(Box::new(review(&store, &self.root)?)))
    }
}

impl Plan {
    fn new(args: &InitArgs) -> Result<Plan, Failure> {
        let place = Place::find(args)?;
        let set = args.set.unwrap_or(&SETS[0]);
        let standing = place.standing()?;
        let files = match standing {
            Standing::Known(_) => plan_files(set, &place.dir)?,
            Standing::Foreign(_) => Vec::new(),
        };
        let agents = find_agents(&args.agents, place.is_user(), &place.root)
            .into_iter()
            .map(|found| PlannedAgent {
                step: plan_connection(found.agent, &place),
                found,
            })
            .collect();
        Ok(Plan {
            place,
            set,
            agents,
            standing,
            files,
        })
    }

    fn connected(&self) -> impl Iterator<Item = &PlannedAgent> {
        self.agents
            .iter()
            .filter(|agent| matches!(agent.step, Connect::Write))
    }

    fn changed_files(&self) -> impl Iterator<Item = &PlannedFile> {
        self.files
            .iter()
            .filter(|file| matches!(file.step, Step::Write | Step::Replace | Step::Remove))
    }

    fn changes_anything(&self) -> bool {
        self.connected().next().is_some() || self.changed_files().next().is_some()
    }

    /// Asks the one question.
    fn is_confirmed(&self) -> Result<bool, Failure> {
        if !std::io::stdin().is_terminal() {
            return Err(Failure(
                "nobody is there to answer, so nothing was written; `--yes` does it without a question"
                    .into(),
            ));
        }
        let mut parts = Vec::new();
        if self.changed_files().next().is_some() {
            parts.push(format!(
                "write {} into {} and put them in force",
                number_of(self.set.rules().count(), "rule"),
                self.place.shown_dir()
            ));
        }
        let agents: Vec<&str> = self
            .connected()
            .map(|agent| agent.found.agent.title.as_str())
            .collect();
        if !agents.is_empty() {
            parts.push(format!("connect {}", in_a_row(&agents)));
        }
        let mut question = parts.join(", and ");
        if let Some(first) = question.get_mut(..1) {
            first.make_ascii_uppercase();
        }
        says_yes(&format!("{question}?"))
    }

    /// What is here, and what is to come of it.
    fn show(&self, examples: &[Example], out: &mut Output) {
        if out.json {
            self.show_json(out);
            preview::show(self.set, examples, out);
            return;
        }
        let head = out.tone(Tone::Strong, &format!("For {}", self.place.describe()));
        out.line(&head);
        self.show_agents(out);
        match &self.standing {
            Standing::Known(_) => self.show_set(examples, out),
            Standing::Foreign(review) => {
                out.line("");
                let head = format!(
                    "{} is there already, and nobody has approved it as it is:",
                    self.place.shown_dir()
                );
                let head = out.tone(Tone::Warn, &head);
                out.line(&head);
                trust::show_review(review, out);
                out.line(
                    "It is left as it is. `hookwire trust` puts it in force; `hookwire init --user` gives you rules of your own.",
                );
            }
        }
        out.line("");
    }

    fn show_json(&self, out: &mut Output) {
        let agents: Vec<_> = self
            .agents
            .iter()
            .map(|it| {
                let own: Vec<_> = it
                    .found
                    .own
                    .iter()
                    .map(|own| json!({ "file": own.path, "hooks": own.n_hooks, "rules": own.n_rules }))
                    .collect();
                json!({ "name": it.found.agent.name, "program": it.found.program, "version": it.found.version,
                    "connected": it.found.is_connected, "own": own })
            })
            .collect();
        let rules: Vec<&str> = self.set.rules().map(|rule| rule.name).collect();
        out.json(&json!({
            "definitions": self.place.dir, "user": self.place.is_user(), "set": self.set.name, "rules": rules, "agents": agents,
            "approved": matches!(self.standing, Standing::Known(_)),
        }));
    }

    fn show_agents(&self, out: &mut Output) {
        if self.agents.is_empty() {
            out.line("  No agent was found on PATH. `hookwire install AGENT` connects one later.");
        }
        for PlannedAgent { found, step } in &self.agents {
            let FoundAgent {
                agent,
                program,
                version,
                is_connected,
                own,
            } = found;
            let version = match (program, version) {
                (_, Some(version)) => version.clone(),
                (Some(_), None) => "(its version isn't known)".into(),
                (None, None) => "(not on PATH)".into(),
            };
            let state = match step {
                Connect::Cannot(why) => out.tone(Tone::Warn, &format!("can't be connected: {why}")),
                Connect::Keep => out.tone(Tone::Good, "asks hookwire already"),
                Connect::Write if *is_connected => "is connected anew".into(),
                Connect::Write => "will ask hookwire".into(),
            };
            out.line(&format!("  {} {version} {state}", agent.title));
            for own in own {
                let what: Vec<String> = [(own.n_hooks, "hook"), (own.n_rules, "permission rule")]
                    .into_iter()
                    .filter(|(n, _)| *n > 0)
                    .map(|(n, what)| number_of(n, what))
                    .collect();
                let user = if self.place.is_user() { " --user" } else { "" };
                let import = format!("`hookwire import {}{user}` carries them over", agent.name);
                let what = what.join(" and ");
                let path = own.path.strip_prefix(".").unwrap_or(&own.path);
                let line = format!("    {what} of its own in {} stay; {import}", path.display());
                let line = out.tone(Tone::Dim, &line);
                out.line(&line);
            }
        }
    }

    fn show_set(&self, examples: &[Example], out: &mut Output) {
        let set = self.set;
        out.line("");
        let others: Vec<&str> = SETS
            .iter()
            .map(|it| it.name)
            .filter(|name| *name != set.name)
            .collect();
        let (n_rules, others) = (number_of(set.rules().count(), "rule"), others.join(", "));
        let head = format!("The set `{}`: {n_rules}", set.name);
        let head = out.tone(Tone::Strong, &head);
        let other = out.tone(Tone::Dim, &format!(" (others: --set {others})"));
        out.line(&format!("{head}{other}"));
        if set.observes() {
            out.line("They only observe: what they would stop is noted, and nothing is stopped.");
        }
        for rule in set.rules() {
            let name = format!("  {:<21}", rule.name);
            let about = out.tone(Tone::Dim, &first_sentence(rule.about()));
            out.line(&format!("{name} {about}"));
        }
        out.line("");
        preview::show(set, examples, out);
        for file in &self.files {
            if matches!(file.step, Step::Leave) {
                let path = self.place.dir.join(&file.name);
                tell_written(&path, Written::Differs, out);
            }
        }
        let others = self.rules_of_other_sets();
        if !others.is_empty() {
            let state = if self.set.observes() {
                "only observe, too, unless you have edited them"
            } else {
                "stay"
            };
            out.line(&format!(
                "Rules that are there already and aren't in this set {state}: {}.",
                others.join(", ")
            ));
        }
    }

    /// The rules of the cookbook that are there and that the set doesn't have.
    fn rules_of_other_sets(&self) -> Vec<&'static str> {
        let others = RULES.iter().filter(|rule| !self.set.has(rule));
        others
            .filter(|rule| self.place.dir.join(format!("{}.yaml", rule.name)).exists())
            .map(|rule| rule.name)
            .collect()
    }

    fn carry_out(self, examples: &[Example], out: &mut Output) -> Result<Finding, Failure> {
        let mut finding = Finding::Fine;
        let is_foreign = matches!(self.standing, Standing::Foreign(_));
        let (mut is_connected, mut asking) = (false, Vec::new());
        for it in &self.agents {
            match &it.step {
                Connect::Write | Connect::Keep => asking.push(it.found.agent),
                Connect::Cannot(why) => {
                    finding = Finding::Found;
                    say_on_stderr(format_args!(
                        "{} isn't connected: {why}",
                        it.found.agent.title
                    ));
                }
            }
        }
        let mut needs_trust = is_foreign;
        if self.changed_files().next().is_some() && !self.write_definitions(out)? {
            finding = Finding::Found;
            needs_trust = true;
        }
        for it in self.connected() {
            let agent = it.found.agent;
            match connect(agent, &self.place, out) {
                Ok(()) => is_connected = true,
                Err(Failure(problem)) => {
                    finding = Finding::Found;
                    asking.retain(|it| it.name != agent.name);
                    say_on_stderr(format_args!("{} isn't connected: {problem}", agent.title));
                }
            }
        }
        if !asking.is_empty() {
            if !out.json {
                out.line("");
            }
            if doctor::prove(&asking, &self.place.root, out)? != Finding::Fine {
                finding = Finding::Found;
            }
        }
        if is_foreign {
            finding = Finding::Found;
            let told = "None of the project's own rules is in force before `hookwire trust`.";
            let told = out.tone(Tone::Warn, told);
            out.aside(&told);
        }
        if !out.json {
            for agent in self.connected().map(|it| it.found.agent) {
                let speaks_of_it = agent.then.contains(&agent.title);
                match (is_connected, speaks_of_it) {
                    (true, true) => out.line(&agent.then),
                    (true, false) => out.line(&format!("{}: {}", agent.title, agent.then)),
                    (false, _) => {}
                }
            }
            self.next_steps(examples, needs_trust, !asking.is_empty(), out);
        }
        Ok(finding)
    }

    /// Whether all that was written is in force.
    fn write_definitions(&self, out: &mut Output) -> Result<bool, Failure> {
        let place = &self.place;
        let Standing::Known(trusts) = &self.standing else {
            return Ok(false);
        };
        let is_first = trusts.as_ref().is_some_and(Trusts::is_first);
        let mut record = Record::of_dir(&place.dir);
        for planned in self.changed_files() {
            let path = place.dir.join(&planned.name);
            let at = |error: std::io::Error| Failure(format!("{}: {error}", path.display()));
            // A person may have edited it while the question waited.
            let is_still_own = || -> Result<bool, Failure> {
                Ok(planned
                    .rule
                    .is_own_text(&file::read_text(&path).map_err(at)?))
            };
            let written = match planned.step {
                Step::Replace | Step::Remove if !is_still_own()? => Written::Differs,
                Step::Replace => {
                    below::replace(&path, place.bound(), &planned.text, 0o666).map_err(at)?;
                    Written::Again
                }
                Step::Remove => {
                    std::fs::remove_file(&path).map_err(at)?;
                    record.forget(&planned.name)?;
                    continue;
                }
                Step::Write | Step::Keep | Step::Leave => {
                    write_new(&path, place.bound(), &planned.text, 0o666).map_err(at)?
                }
            };
            if written == Written::Differs || out.json {
                tell_written(&path, written, out);
            }
            if matches!(written, Written::Now | Written::Again) {
                record.add(&planned.name, &planned.text)?;
            }
        }
        let texts = self.files.iter().filter_map(|file| match file.step {
            Step::Leave => None,
            Step::Remove => Some((file.name.as_str(), None)),
            Step::Write | Step::Replace | Step::Keep => {
                Some((file.name.as_str(), Some(file.text.as_str())))
            }
        });
        let is_in_force = match trusts {
            None => true,
            Some(trusts) => trusts.keep_files(texts),
        };
        if is_in_force && is_first {
            record.note_first_approval()?;
        }
        trust::reload_hosts();
        if !out.json {
            let written = self
                .changed_files()
                .filter(|file| !matches!(file.step, Step::Remove));
            let n_files = number_of(written.count(), "file");
            let rules = number_of(self.set.rules().count(), "rule");
            let cases = if self.set.observes() {
                ""
            } else {
                ", each with its cases"
            };
            let said = format!(
                "Wrote {n_files} into {}: {rules}{cases}.",
                place.shown_dir()
            );
            let said = out.tone(Tone::Good, &said);
            out.line(&said);
            if !is_in_force {
                let said = "They are not in force yet, because something else there has changed, too: `hookwire trust` shows it.";
                let said = out.tone(Tone::Warn, said);
                out.line(&said);
            }
        }
        Ok(is_in_force)
    }

    fn next_steps(
        &self,
        examples: &[Example],
        needs_trust: bool,
        is_guarded: bool,
        out: &mut Output,
    ) {
        let head = out.tone(Tone::Strong, "Next");
        out.line("");
        out.line(&head);
        let mut step = |what: &str, command: &str| {
            let what = out.tone(Tone::Dim, &format!("{what:<12}"));
            out.line(&format!("  {what} {command}"));
        };
        let denied = examples
            .first()
            .map_or("git push --force", |example| example.command.as_str());
        match (needs_trust, is_guarded) {
            (true, _) => step("put in force", "hookwire trust"),
            (false, false) => step("guard", "hookwire install AGENT"),
            (false, true) => step("try it", &format!("tell your agent to run: {denied}")),
        }
        if self.set.observes() {
            step(
                "watch it",
                "hookwire tail --observed, then hookwire init --set recommended",
            );
        } else {
            step(
                "watch it",
                "hookwire tail, or hookwire inspect in the browser",
            );
        }
        step("take it back", "hookwire uninstall --all");
    }
}

/// Connects an agent, and ends the hosts that an earlier entry has reached.
fn connect(agent: &'static Agent, place: &Place, out: &mut Output) -> Result<(), Failure> {
    let args = install::InstallArgs::to_write(agent, place.is_user(), &place.root);
    entry_hosts::renew_hosts(&place.root, out, |out| install::connect(&args, out))?;
    Ok(())
}

fn plan_connection(agent: &'static Agent, place: &Place) -> Connect {
    let args = install::InstallArgs::to_write(agent, place.is_user(), &place.root);
    match args.would_change() {
        Ok(true) => Connect::Write,
        Ok(false) => Connect::Keep,
        Err(Failure(why)) => Connect::Cannot(why),
    }
}

fn plan_files(set: &Set, dir: &Path) -> Result<Vec<PlannedFile>, Failure> {
    let mut planned = Vec::new();
    let is_there = |rule: &&Rule| dir.join(format!("{}.yaml", rule.name)).exists();
    // Where rules are only to observe, those of another set do so, too.
    let others = RULES
        .iter()
        .filter(|rule| !set.has(rule))
        .filter(|rule| set.observes() && is_there(rule));
    for rule in set.rules().chain(others) {
        let files = set.files_of(rule);
        let step_of = |name: &str, text: Option<&str>| -> Result<Option<Step>, Failure> {
            let path = dir.join(name);
            let found = match file::read_text(&path) {
                Ok(found) => found,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                    return Ok(text.map(|_| Step::Write));
                }
                Err(error) => return Err(Failure(format!("{}: {error}", path.display()))),
            };
            Ok(match text {
                Some(text) if found == text => Some(Step::Keep),
                Some(_) if rule.is_own_text(&found) => Some(Step::Replace),
                Some(_) => Some(Step::Leave),
                None if rule.is_own_text(&found) => Some(Step::Remove),
                None => None,
            })
        };
        for (name, _) in rule.files() {
            let text = files
                .iter()
                .find(|(it, _)| *it == name)
                .map(|(_, text)| text.clone());
            if let Some(step) = step_of(&name, text.as_deref())? {
                planned.push(PlannedFile {
                    rule,
                    name,
                    text: text.unwrap_or_default(),
                    step,
                });
            }
        }
    }
    Ok(planned)
}

/// The first sentence of a line; what follows is for who reads the file.
fn first_sentence(text: &str) -> String {
    match text.split_once(". ") {
        Some((first, _)) => format!("{first}."),
        None => text.to_string(),
    }
}

/// Names as a sentence has them.
fn in_a_row(names: &[&str]) -> String {
    match names.split_last() {
        Some((last, [])) => (*last).to_string(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
        None => String::new(),
    }
}
