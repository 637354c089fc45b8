//! `hookwire init`: a commented starter directory, or rules of the cookbook with their cases.

use super::output::{Output, Tone};
use super::{Failure, Finding, definitions_dir, root_of};
use hookwire_base::support::below::{self, ANYWHERE};
use hookwire_base::support::file;
use hookwire_base::support::places;
use hookwire_base::support::shell_word::argument;
use hookwire_engine::definitions::approved::{self, DEFINITIONS};
use hookwire_engine::definitions::cookbook::{self, RULES};
use hookwire_engine::trust;
use serde_json::json;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub(super) struct InitArgs {
    /// Rules of the cookbook, see --list, written with the cases that test them; without any, a
    /// commented file to start with.
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Where to write. A file that is there already is left as it is.
    #[arg(long, value_name = "DIR", default_value_os_t = definitions_dir())]
    hooks: PathBuf,
    /// Write your own definitions, which judge in all projects.
    #[arg(long, conflicts_with = "hooks")]
    user: bool,
    /// List the rules of the cookbook instead.
    #[arg(long, conflicts_with = "names")]
    list: bool,
}

/// Checked by a test to load without a diagnostic.
const STARTER: &str = include_str!("starter.yaml");

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
    let files: Vec<(String, &str)> = files.collect();
    let mut finding = Finding::Fine;
    let trusts = Trusts::new(&dir).filter(|_| !args.user);
    let root = if args.user {
        ANYWHERE.into()
    } else {
        root_of(&dir)
    };
    for (name, text) in &files {
        let path = dir.join(name);
        let written = write_new(&path, &root, text, 0o666)
            .map_err(|error| Failure(format!("{}: {error}", path.display())))?;
        tell_written(&path, written, out);
        if written == Written::Differs {
            finding = Finding::Found;
        }
    }
    let is_trusted = trusts.is_some_and(|trusts| trusts.keep_files(&files));
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

/// A project that holds nothing which a person would have to look at first: what is written here is
/// hookwire's own.
struct Trusts {
    store: PathBuf,
    root: PathBuf,
}

impl Trusts {
    fn new(hooks: &Path) -> Option<Trusts> {
        let dir = std::path::absolute(hooks)
            .ok()
            .filter(|dir| dir.ends_with(DEFINITIONS))?;
        let root = dir.parent()?.to_path_buf();
        let store = approved::store(&root)?;
        let is_known = !dir.exists()
            || std::fs::read_dir(&dir).is_ok_and(|mut entries| entries.next().is_none())
            || trust::review(&store, &root).is_ok_and(|review| review.is_as_before());
        is_known.then_some(Trusts { store, root })
    }

    /// Puts what was written in force, if nothing else has come there meanwhile.
    fn keep_files(self, files: &[(String, &str)]) -> bool {
        let own = files
            .iter()
            .map(|(name, text)| (Path::new(DEFINITIONS).join(name), text.as_bytes()))
            .collect();
        trust::review(&self.store, &self.root)
            .is_ok_and(|review| review.adds_only(&own) && review.approve(&self.store).is_ok())
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

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Written {
    Now,
    /// The file was there already, with this text.
    Before,
    /// The file was there already, with another text.
    Differs,
}

/// Says what became of a file.
pub(super) fn tell_written(path: &Path, written: Written, out: &mut Output) {
    let shown = path.display();
    if out.json {
        let (is_new, differs) = (written == Written::Now, written == Written::Differs);
        return out.json(&json!({ "file": path, "written": is_new, "differs": differs }));
    }
    let (tone, said) = match written {
        Written::Now => (Tone::Good, format!("Wrote {shown}.")),
        Written::Before => (
            Tone::Dim,
            format!("{shown} is there already, with the same text."),
        ),
        Written::Differs => (
            Tone::Warn,
            format!("{shown} is there already, with another text; it was left as it is."),
        ),
    };
    let said = out.tone(tone, &said);
    out.line(&said);
}

/// Never over an existing file: it may hold guards.
pub(super) fn write_new(
    path: &Path,
    root: &Path,
    text: &str,
    mode: u32,
) -> std::io::Result<Written> {
    match below::write_new(path, root, text, mode) {
        Ok(()) => Ok(Written::Now),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            let is_same = file::read_small(path, file::MAX_FILE)? == text.as_bytes();
            Ok(if is_same {
                Written::Before
            } else {
                Written::Differs
            })
        }
        Err(error) => Err(error),
    }
}
