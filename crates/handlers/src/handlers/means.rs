//! What a host can do for its hooks, as far as that is known when definitions are read.
//!
//! A hook may be well-formed and need more than there is: a model, a key, a program, an address
//! that nobody granted. Whoever reads definitions says so, before the hook's failure matters.

use super::process::{ProcessError, resolve};
use super::programs::SHELL_WORDS;
use crate::services::egress::{Grants, HostPort};
use crate::services::models::ModelRef;
pub use crate::services::obstacle::Obstacle;
use hookwire_base::support::file;
use hookwire_base::syntax::source::Layer;
use hookwire_rules::matching::shell::{self, Shell};
use std::io::Read;
use std::path::{Path, PathBuf};

/// What a host can do for its hooks.
#[derive(Clone, Debug, Default)]
pub struct Means {
    /// The project root.
    pub root: PathBuf,
    /// What hooks of every layer may reach beyond the public internet.
    pub grants: Vec<HostPort>,
    /// The model of hooks that name none.
    pub model: Option<ModelRef>,
    /// The agent is known to ask its own model for hooks.
    pub client_has_model: bool,
    /// Interpreters may be started to find out what only they know.
    pub may_start: bool,
    /// Where programs of hooks put temporary files; `None` leaves it to the host's environment.
    pub temporary: Option<PathBuf>,
    /// The definitions are only tried: whatever is wrong with them, nothing is in force because of
    /// it.
    pub is_trial: bool,
}

impl Means {
    /// What a layer's requests may reach.
    pub(super) fn grants(&self, layer: Layer) -> Grants {
        Grants {
            loopback: layer.reaches_loopback(),
            hosts: self.grants.clone(),
        }
    }
}

#[cfg(feature = "models")]
impl Means {
    /// What keeps a hook from asking a model.
    pub(super) fn model_obstacle(
        &self,
        named: Option<&ModelRef>,
        layer: Layer,
        has_small_model: bool,
    ) -> Option<Obstacle> {
        if let Some(model) = named.or(self.model.as_ref()) {
            return model.obstacle(&self.grants(layer));
        }
        if self.client_has_model {
            return None;
        }
        let name_one = "write `model: anthropic:claude-haiku-4-5` (or another) in the hook or under the file's \
                        `defaults`, or start hookwire with --model";
        match ModelRef::small().filter(|_| has_small_model) {
            Some(small) => {
                let message =
                    format!("no model is named: `{small}` is asked, unless the agent asks its own");
                Some(Obstacle::new("small-model", message).help(name_one))
            }
            None => {
                let message = "no model is named: only an agent that answers `model/complete` can have this judged";
                Some(Obstacle::new("no-model", message).help(name_one))
            }
        }
    }
}

/// How a program of the project is named from a definition's directory, where it is named as from
/// the root.
pub(super) fn from_definition(program: &str, dir: &Path, root: &Path) -> Option<String> {
    let bare = program.strip_prefix("./").unwrap_or(program);
    let n_up = dir.strip_prefix(root).ok()?.components().count();
    let is_there =
        program.contains('/') && !Path::new(program).is_absolute() && root.join(bare).is_file();
    (is_there && n_up > 0).then(|| format!("{}{bare}", "../".repeat(n_up)))
}

/// What keeps a program from being started, given its environment. One with a slash is looked for
/// from `dir`.
pub(super) fn program_obstacle(
    program: &str,
    env: &[(String, String)],
    dir: &Path,
) -> Option<Obstacle> {
    let obstacle = |message| Some(Obstacle::new("no-program", message));
    match resolve(program, env, dir) {
        // That `~` isn't expanded is said already.
        Err(ProcessError::NotFound { program }) if program.starts_with("~/") => None,
        Err(ProcessError::NotFound { program }) if program.contains('/') => {
            let place = std::path::absolute(dir.join(&program)).unwrap_or_default();
            Some(
                obstacle(format!("there is no program `{program}`"))?
                    .help(format!("it is looked for at {}", place.display())),
            )
        }
        Err(ProcessError::NotFound { program }) => {
            let help = match &*program {
                _ if program.contains(' ') => "write one word an item, or a text for a shell",
                word if SHELL_WORDS.contains(&word) => "it is a word of shells: write a text",
                _ => "install it, or write the path of the program",
            };
            Some(obstacle(format!("there is no program `{program}` on PATH"))?.help(help))
        }
        Err(ProcessError::NotExecutable { path }) => {
            let path = path.display();
            Some(
                obstacle(format!("`{path}` is not executable"))?
                    .help(format!("run `chmod +x {path}`")),
            )
        }
        Ok(path) => unreadable_script(&path, env),
        Err(_) => None,
    }
}

/// What keeps a script from being started that is there and may be run: what it says behind `#!`.
fn unreadable_script(path: &Path, env: &[(String, String)]) -> Option<Obstacle> {
    const LONGEST: u64 = 256;
    let mut start = Vec::new();
    file::open(path)
        .ok()?
        .0
        .take(LONGEST)
        .read_to_end(&mut start)
        .ok()?;
    let shown = path.display();
    let obstacle = |message| Some(Obstacle::new("no-program", message));
    if start.is_empty() {
        return obstacle(format!("`{shown}` is empty, and does nothing"));
    }
    let line = start
        .strip_prefix(b"#!")?
        .split(|byte| *byte == b'\n')
        .next()?;
    let line = std::str::from_utf8(line).ok()?;
    if line.ends_with('\r') {
        let message = format!(
            "the lines of `{shown}` end with CR LF, so nothing is called `{}`",
            line.trim().to_owned() + "\\r"
        );
        return Some(
            obstacle(message)?
                .help("write its lines as Unix does: `dos2unix`, or `sed -i 's/\\r$//'`"),
        );
    }
    let mut words = line.split_whitespace();
    let interpreter = words.next()?;
    let named = match interpreter.ends_with("/env") {
        true => words.find(|word| !word.starts_with('-') && !word.contains('='))?,
        false => interpreter,
    };
    match resolve(named, env, Path::new("/")) {
        Err(ProcessError::NotFound { .. }) => obstacle(format!(
            "`{shown}` is for `{named}`, by its `#!`, and there is no such program"
        )),
        Ok(_) | Err(_) => None,
    }
}

/// A script that an interpreter is given, and that isn't there: of the files that a text or a list
/// of words runs, whose first word is `first`. A relative one starts at the event's `cwd`: then it
/// is missed only if none of these directories has it. A command that goes elsewhere, asks what
/// there is, or names a module, knows more.
pub(super) fn missing_script(
    text: &str,
    first: &str,
    files: &[PathBuf],
    dirs: &[&Path],
) -> Option<Obstacle> {
    let asks = [
        "||", "cd ", "pushd ", " -e ", " -f ", " -r ", " -s ", " -x ", " -m",
    ];
    if asks.iter().any(|it| text.contains(it)) {
        return None;
    }
    let missing = files.iter().find(|file| {
        let text = file.to_string_lossy();
        // A program is looked for elsewhere, a bare word may belong to an option, and what a
        // variable or a pattern stands for isn't known.
        let is_open = text == first || text.starts_with('-') || text.contains(['$', '*', '?', '~']);
        !is_open && text.contains(['/', '.']) && !dirs.iter().any(|dir| dir.join(file).exists())
    })?;
    let obstacle = Obstacle::new(
        "no-program",
        format!("there is no file `{}`", missing.display()),
    );
    Some(match (missing.is_absolute(), dirs.first()) {
        (false, Some(root)) => obstacle.help(format!(
            "it starts at the event's `cwd`, usually {}",
            root.display()
        )),
        _ => obstacle,
    })
}

/// The program that a shell text begins with, if it is a relative path that leads nowhere from any
/// of the directories in which the text is likely to run.
pub(super) fn missing_program(text: &str, first: &str, dirs: &[&Path]) -> Option<Obstacle> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._+-/".contains(c);
    let is_relative = first.contains('/') && !first.starts_with('/') && first.chars().all(is_plain);
    let asks = ["||", " -e ", " -f ", " -x "]
        .iter()
        .any(|it| text.contains(it));
    if !is_relative || asks || dirs.iter().any(|dir| dir.join(first).exists()) {
        return None;
    }
    let obstacle = Obstacle::new("no-program", format!("there is no file `{first}`"));
    let root = dirs
        .first()
        .map(|root| format!("it starts at the event's `cwd`, usually {}", root.display()));
    Some(root.into_iter().fold(obstacle, Obstacle::help))
}

/// What keeps a program of a shell text from being started, if its name is plainly written. A
/// relative path is left alone, because it depends on where the event happens; so are programs
/// behind others, which may run them elsewhere, and all but the first of a text that looks itself
/// what there is.
pub(super) fn shell_obstacle(text: &str, env: &[(String, String)]) -> Option<Obstacle> {
    let line = text
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty() && !line.starts_with('#'))?;
    let first = line.split([' ', '\t', ';', '&', '|', '<', '>', '(']).next();
    let looks = ["command ", "which ", "type ", "hash ", " -x "]
        .iter()
        .any(|word| text.contains(word));
    let script = shell::read(if looks { "" } else { text }, Shell::named("sh"));
    let others = script.commands().iter().filter_map(|command| {
        let word = command.words.first()?.as_constant()?;
        let (before, rest) = text.split_at_checked(command.span.start)?;
        let written = rest.split_ascii_whitespace().find(|it| !it.contains('='))?;
        let begins =
            before.trim_end_matches([' ', '\t']).ends_with(SEPARATORS) && written.starts_with(word);
        begins.then_some(word)
    });
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._+-/".contains(c);
    let is_known = |word: &str| {
        let is_defined =
            text.contains(&format!("{word}()")) || text.contains(&format!("{word} ()"));
        let is_relative = word.contains('/') && !word.starts_with('/');
        is_relative || is_defined || SHELL_WORDS.contains(&word)
    };
    let words = first
        .into_iter()
        .chain(others)
        .filter(|it| !it.is_empty() && it.chars().all(is_plain));
    words
        .filter(|word| !is_known(word))
        .find_map(|word| program_obstacle(word, env, Path::new("/")))
}

/// What stands before another command of a text.
const SEPARATORS: [char; 4] = [';', '&', '|', '\n'];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_that_nothing_can_start() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let env = [("PATH".to_string(), "/usr/bin:/bin".to_string())];
        for (text, expected) in [
            ("#!/bin/sh\nexit 2\n", None),
            ("#!/usr/bin/env sh\n", None),
            ("#!/usr/bin/env -S sh -e\n", None),
            ("exit 2\n", None),
            ("", Some("is empty, and does nothing")),
            (
                "#!/usr/bin/nosuch\n",
                Some("is for `/usr/bin/nosuch`, by its `#!`, and there is no such program"),
            ),
            (
                "#!/usr/bin/env pyton3\n",
                Some("is for `pyton3`, by its `#!`, and there is no such program"),
            ),
            (
                "#!/bin/sh\r\nexit 2\r\n",
                Some("end with CR LF, so nothing is called `/bin/sh\\r`"),
            ),
        ] {
            let file = dir.path().join("x.sh");
            std::fs::write(&file, text).unwrap();
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
            let found = program_obstacle("./x.sh", &env, dir.path()).map(|it| it.message);
            let is_so = match expected {
                Some(expected) => found.as_deref().is_some_and(|it| it.ends_with(expected)),
                None => found.is_none(),
            };
            assert!(is_so, "{text:?}: {found:?}");
        }
    }

    #[test]
    fn the_first_program_of_a_shell_text() {
        let env = [("PATH".to_string(), "/usr/bin:/bin".to_string())];
        for (text, expected) in [
            (
                "true && nothing-like-it",
                Some("there is no program `nothing-like-it` on PATH"),
            ),
            ("# nothing\n  sh -c x", None),
            ("/bin/sh -c x", None),
            ("./lint x", None),
            ("A=1 nothing-like-it", None),
            ("\"$x\" y", None),
            ("f() { :; }; f", None),
            ("env nothing-like-it", None),
            ("command -v nothing-like-it && nothing-like-it", None),
            ("f() { :; }; f; g() { :; }; true | g", None),
            ("sh -c 'true; nothing-like-it'", None),
            (
                "true | nothing-like-it",
                Some("there is no program `nothing-like-it` on PATH"),
            ),
            (
                "true\n A=1 nothing-like-it x",
                Some("there is no program `nothing-like-it` on PATH"),
            ),
            (
                "nothing-like-it --x | cat",
                Some("there is no program `nothing-like-it` on PATH"),
            ),
            (
                "nothing-like-it;x",
                Some("there is no program `nothing-like-it` on PATH"),
            ),
            (
                "/no/such/program",
                Some("there is no program `/no/such/program`"),
            ),
            ("/etc/passwd x", Some("`/etc/passwd` is not executable")),
        ] {
            assert_eq!(
                shell_obstacle(text, &env).map(|it| it.message).as_deref(),
                expected,
                "{text}"
            );
        }
    }
}
