//! `hookwire init`: a commented starter directory, or rules of the cookbook with their cases.

use super::output::{Output, Tone};
use super::{Failure, Finding, definitions};
use crate::definitions::approved::{self, DEFINITIONS};
use crate::definitions::cookbook::{self, RULES};
use crate::support::shell_word::argument;
use crate::trust;
use serde_json::json;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub(super) struct InitArgs {
    /// Rules of the cookbook, see --list, written with the cases that test them; without any, a commented file to start
    /// with.
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Where to write. A file that is there already is left as it is.
    #[arg(long, value_name = "DIR", default_value_os_t = definitions())]
    hooks: PathBuf,
    /// List the rules of the cookbook instead.
    #[arg(long, conflicts_with = "names")]
    list: bool,
}

/// Checked by a test to load without a diagnostic.
const STARTER: &str = include_str!("starter.yaml");

pub(super) fn run(args: &InitArgs, out: &mut Output) -> Result<Finding, Failure> {
    if args.list {
        list(out);
        return Ok(Finding::Fine);
    }
    if args.hooks.is_file() {
        return Err(Failure(format!("--hooks {}: it is a file; name a directory", args.hooks.display())));
    }
    // All names are looked up before anything is written.
    let rules =
        args.names.iter().map(|name| cookbook::find(name)).collect::<Result<Vec<_>, _>>().map_err(|unknown| {
            let is_path = args.names.iter().any(|name| name.contains(['/', '.']));
            Failure(if is_path { format!("{unknown}. For a directory write --hooks DIR") } else { unknown })
        })?;
    let starter = [("guard.yaml".to_string(), STARTER)];
    let files = rules.iter().flat_map(|rule| rule.files()).chain(starter.into_iter().filter(|_| rules.is_empty()));
    let mut finding = Finding::Fine;
    let trusts = Trusts::new(&args.hooks);
    for (name, text) in files {
        let path = args.hooks.join(name);
        let written = write_new(&path, text).map_err(|error| Failure(format!("{}: {error}", path.display())))?;
        tell_written(&path, written, out);
        if written == Written::Differs {
            finding = Finding::Found;
        }
    }
    let is_trusted = trusts.is_some_and(Trusts::keep);
    if !out.json {
        if is_trusted {
            out.line("Agents that ask hookwire in this project obey it from now on.");
        }
        next_steps(&args.hooks, is_trusted, !rules.is_empty(), out);
    }
    Ok(finding)
}

/// A project that holds nothing which a person would have to look at first: what is written here is hookwire's own.
struct Trusts {
    store: PathBuf,
    root: PathBuf,
}

impl Trusts {
    fn new(hooks: &Path) -> Option<Trusts> {
        let dir = std::path::absolute(hooks).ok().filter(|dir| dir.ends_with(DEFINITIONS))?;
        let root = dir.parent()?.to_path_buf();
        let store = approved::store(&root)?;
        let is_known = !dir.exists() || trust::review(&store, &root).is_ok_and(|review| review.is_as_before());
        is_known.then_some(Trusts { store, root })
    }

    /// Puts what is there now in force.
    fn keep(self) -> bool {
        trust::review(&self.store, &self.root).is_ok_and(|review| review.approve(&self.store).is_ok())
    }
}

fn list(out: &mut Output) {
    for rule in RULES {
        if out.json {
            out.json(&json!({ "name": rule.name, "about": rule.about() }));
        } else {
            let name = out.tone(Tone::Strong, &format!("{:<24}", rule.name));
            out.line(&format!("{name} {}", rule.about()));
        }
    }
}

fn next_steps(dir: &Path, is_trusted: bool, has_cases: bool, out: &mut Output) {
    // A project's own definitions are found where they are.
    let is_projects = dir == definitions();
    let place = argument(&dir.to_string_lossy());
    let hooks = if is_projects { String::new() } else { format!(" --hooks {place}") };
    let mut step = |what: &str, command: &str| {
        let what = out.tone(Tone::Dim, &format!("{what:<16}"));
        out.line(&format!("  {what} {command}"));
    };
    if is_projects && !is_trusted {
        step("put in force", "hookwire trust");
    }
    step("look for slips", &format!("hookwire check{hooks}"));
    if has_cases {
        step("try the cases", &if is_projects { "hookwire test".into() } else { format!("hookwire test {place}") });
    }
    let call = r#"'{"event":"PreToolUse","tool":{"name":"Bash","input":{"command":"git push --force"}}}'"#;
    step("judge a call", &format!("hookwire dispatch{hooks} {call}"));
    if is_projects {
        step("guard an agent", "hookwire install claude-code");
    }
    step("guard your own", &format!("hookwire serve{hooks}"));
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Written {
    Now,
    /// The same text was there.
    Before,
    /// Another text was there.
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
        Written::Before => (Tone::Dim, format!("{shown} is there already, with the same text.")),
        Written::Differs => (Tone::Warn, format!("{shown} is there already, with another text; it was left as it is.")),
    };
    let said = out.tone(tone, &said);
    out.line(&said);
}

/// Never over an existing file: it may hold guards.
pub(super) fn write_new(path: &Path, text: &str) -> std::io::Result<Written> {
    if let Some(dir) = path.parent() {
        std::fs::create_dir_all(dir)?;
    }
    match std::fs::OpenOptions::new().write(true).create_new(true).open(path) {
        Ok(mut file) => file.write_all(text.as_bytes()).map(|()| Written::Now),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            let is_same = std::fs::read(path)? == text.as_bytes();
            Ok(if is_same { Written::Before } else { Written::Differs })
        }
        Err(error) => Err(error),
    }
}
