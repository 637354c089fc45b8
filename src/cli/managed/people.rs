//! The hooks that people of a machine have of their own, which an entry of the machine's silences.

use crate::cli::install::{handlers_of, listed_values, read_file, value_of};
use crate::cli::output::{Output, safe};
use crate::cli::own::has_own;
use hookwire_base::support::file::read_text;
use hookwire_base::syntax::formats::Format;
use hookwire_rules::agents::Agent;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// What names the people of a machine. Those of a directory service aren't in it.
const PASSWD: &str = "/etc/passwd";
/// The first number of a person's account, and the first that is nobody's any more.
const PEOPLE: std::ops::Range<u32> = 1000..65_534;
/// So many homes and files of one are looked at, and so many hooks shown.
const MAX_HOMES: usize = 64;
const MAX_FILES: usize = 32;
const MAX_SHOWN: usize = 20;
/// So much of a command is shown, in characters.
const MAX_COMMAND: usize = 80;

/// A hook that runs no more, or a file that may have some.
pub(super) struct Silenced {
    person: String,
    file: PathBuf,
    /// What it runs, or why that isn't known.
    said: String,
}

impl Silenced {
    pub(super) fn to_json(&self) -> Value {
        json!({ "user": self.person, "file": self.file, "runs": self.said })
    }
}

/// The hooks of an agent that people have for all their projects.
pub(super) fn hooks_of_people(agent: &Agent) -> Vec<Silenced> {
    let Some(file) = agent.file() else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for (person, home) in people() {
        let place = agent.place(true);
        let files = place.hooks.iter().flat_map(|path| files_of(&home, path));
        for path in files.take(MAX_FILES) {
            let mut note = |said: String| {
                found.push(Silenced {
                    person: person.clone(),
                    file: path.clone(),
                    said,
                });
            };
            let text = match read_file(&path) {
                Ok(Some(text)) => text,
                Ok(None) => continue,
                Err(_) => {
                    note("it can't be read, so it may have hooks".into());
                    continue;
                }
            };
            if text.trim().is_empty() {
                continue;
            }
            let format = Format::from_path(&path).unwrap_or_default();
            let Ok(settings) = value_of(&text, format) else {
                note("it can't be read, so it may have hooks".into());
                continue;
            };
            for group in listed_values(file, &settings) {
                for handler in handlers_of(group) {
                    let command = file.command_in(handler);
                    if !has_own(agent, file, handler) && !command.is_empty() {
                        note(command.chars().take(MAX_COMMAND).collect());
                    }
                }
            }
        }
    }
    found
}

/// Shows what runs no more.
pub(super) fn show(silenced: &[Silenced], out: &mut Output) {
    for one in silenced.iter().take(MAX_SHOWN) {
        let told = format!("{} in {}: {}", one.person, one.file.display(), one.said);
        out.line(&format!("  {}", safe(&told)));
    }
    if let Some(n) = silenced.len().checked_sub(MAX_SHOWN).filter(|n| *n > 0) {
        out.line(&format!("  and {n} more"));
    }
}

/// The people of this machine with their homes, root included.
pub(in crate::cli) fn people() -> Vec<(String, PathBuf)> {
    let text = read_text(PASSWD).unwrap_or_default();
    let people = text.lines().filter_map(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        let [name, _, number, _, _, home, ..] = fields[..] else {
            return None;
        };
        let number: u32 = number.parse().ok()?;
        let is_person = number == 0 || PEOPLE.contains(&number);
        let home = PathBuf::from(home);
        (is_person && home.is_absolute() && home != Path::new("/")).then(|| (name.into(), home))
    });
    people.take(MAX_HOMES).collect()
}

/// The files that a path below a home means; `*.json` is every such file of a directory.
pub(in crate::cli) fn files_of(home: &Path, path: &str) -> Vec<PathBuf> {
    match path.split_once('*') {
        None => vec![home.join(path)],
        Some((dir, end)) => listed(&home.join(dir), end),
    }
}

/// The files of a directory whose names end so.
fn listed(dir: &Path, end: &str) -> Vec<PathBuf> {
    let files = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = files
        .filter(|file| file.file_name().to_string_lossy().ends_with(end))
        .map(|file| file.path())
        .take(MAX_FILES)
        .collect();
    files.sort();
    files
}
