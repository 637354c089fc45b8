//! `hookwire init NAME...` and `--starter`: rules of the cookbook with their cases, or a commented
//! file.

use super::super::output::{Output, Tone};
use super::super::written::record::Record;
use super::super::written::{Trusts, Written, tell_written, write_new};
use super::super::{Failure, Finding, definitions_dir, root_of};
use super::InitArgs;
use hookwire_base::support::below::ANYWHERE;
use hookwire_base::support::places;
use hookwire_base::support::shell_word::argument;
use hookwire_engine::definitions::cookbook::{self, RULES};
use serde_json::json;
use std::path::{Path, PathBuf};

/// Checked by a test to load without a diagnostic.
const STARTER: &str = include_str!("../starter.yaml");

pub(super) fn run(args: &InitArgs, out: &mut Output) -> Result<Finding, Failure> {
    if args.list {
        list_choices(out);
        return Ok(Finding::Fine);
    }
    let dir = args.dir()?;
    if dir.is_file() {
        let flag = if args.user { "" } else { "--hooks " };
        return Err(Failure(format!(
            "{flag}{}: it is a file; name a directory",
            dir.display()
        )));
    }
    // All names are looked up before anything is written.
    let rules = args
        .names
        .iter()
        .map(|name| cookbook::find(name))
        .collect::<Result<Vec<_>, _>>()
        .map_err(|unknown| {
            let is_path = args.names.iter().any(|name| name.contains(['/', '.']));
            Failure(if is_path {
                format!("{unknown}. For a directory write --hooks DIR")
            } else {
                unknown
            })
        })?;
    let starter = [("guard.yaml".to_string(), STARTER)];
    let files = rules
        .iter()
        .flat_map(|rule| rule.files())
        .chain(starter.into_iter().filter(|_| rules.is_empty()));
    let files: Vec<(String, String)> = files.map(|(name, text)| (name, text.to_string())).collect();
    let mut finding = Finding::Fine;
    let trusts = Trusts::new(&dir).filter(|_| !args.user);
    let root = if args.user {
        ANYWHERE.into()
    } else {
        root_of(&dir)
    };
    let mut record = Record::of_dir(&dir);
    let is_noted = !matches!(args.definition_scope(false), Scope::Named);
    for (name, text) in &files {
        let path = dir.join(name);
        let written = write_new(&path, &root, text, 0o666)
            .map_err(|error| Failure(format!("{}: {error}", path.display())))?;
        tell_written(&path, written, out);
        if written == Written::Differs {
            finding = Finding::Found;
        }
        if written == Written::Now && is_noted {
            record.add(name, text)?;
        }
    }
    let texts = files
        .iter()
        .map(|(name, text)| (name.as_str(), Some(text.as_str())));
    let is_first = trusts.as_ref().is_some_and(Trusts::is_first);
    let is_trusted = trusts.is_some_and(|trusts| trusts.keep_files(texts));
    if is_trusted && is_first && is_noted {
        record.note_first_approval()?;
    }
    if !out.json {
        match (is_trusted, args.user) {
            (true, _) => out.line("Agents that ask hookwire in this project obey it from now on."),
            (_, true) => {
                out.line("Agents that ask hookwire obey it from now on, in every project.")
            }
            (false, false) => {}
        }
        next_steps(
            &dir,
            &args.definition_scope(is_trusted),
            !rules.is_empty(),
            out,
        );
    }
    Ok(finding)
}

/// Whose the definitions are that were written.
enum Scope {
    /// The project's. They may have to be trusted first.
    Project { is_trusted: bool },
    /// The user's, for all projects.
    User,
    /// Of whoever names their directory.
    Named,
}

impl InitArgs {
    /// Where to write.
    fn dir(&self) -> Result<PathBuf, Failure> {
        match self.user {
            true => {
                places::config().ok_or_else(|| Failure("--user: you have no home directory".into()))
            }
            false => Ok(self.hooks.clone()),
        }
    }

    fn definition_scope(&self, is_trusted: bool) -> Scope {
        match self.user {
            true => Scope::User,
            // A project's own definitions are found where they are.
            false if self.hooks == definitions_dir() => Scope::Project { is_trusted },
            false => Scope::Named,
        }
    }
}

fn list_choices(out: &mut Output) {
    for rule in RULES {
        if out.json {
            out.json(&json!({ "name": rule.name, "about": rule.about() }));
        } else {
            let name = out.tone(Tone::Strong, &format!("{:<24}", rule.name));
            out.line(&format!("{name} {}", rule.about()));
        }
    }
}

fn next_steps(dir: &Path, scope: &Scope, has_cases: bool, out: &mut Output) {
    let place = argument(&dir.to_string_lossy());
    let hooks = if matches!(scope, Scope::Named) {
        format!(" --hooks {place}")
    } else {
        String::new()
    };
    let mut step = |what: &str, command: &str| {
        let what = out.tone(Tone::Dim, &format!("{what:<16}"));
        out.line(&format!("  {what} {command}"));
    };
    if matches!(scope, Scope::Project { is_trusted: false }) {
        step("put in force", "hookwire trust");
    }
    step("look for slips", &format!("hookwire check{hooks}"));
    if has_cases {
        let is_found = matches!(scope, Scope::Project { .. });
        step(
            "try the cases",
            &if is_found {
                "hookwire test".into()
            } else {
                format!("hookwire test {place}")
            },
        );
    }
    step(
        "judge a call",
        &format!("hookwire explain --run{hooks} --bash 'git push --force'"),
    );
    match scope {
        Scope::Project { .. } => step("guard an agent", "hookwire install claude-code"),
        Scope::User => step("guard an agent", "hookwire install claude-code --user"),
        Scope::Named => {}
    }
    step("guard your own", &format!("hookwire serve{hooks}"));
}
