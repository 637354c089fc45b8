//! Where the programs of hooks are looked for, and which of them were found when a person approved
//! a project.
//!
//! An agent writes into its project, and `PATH` may lead there (`node_modules/.bin`, an activated
//! `.venv`): what it plants must not run in the place of a guard's interpreter.

use super::asked::{Stream, ask};
use hookwire_base::support::file;
use hookwire_base::support::{places, shell_word};
use hookwire_rules::matching::paths::normalise;
use hookwire_rules::matching::shell::{self, Shell};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs::{self, Metadata};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// Words at the beginning of a command that a shell carries out itself.
pub(super) const SHELL_WORDS: [&str; 49] = [
    "!", ".", ":", "[", "[[", "alias", "bg", "break", "builtin", "case", "cd", "command",
    "continue", "declare", "echo", "eval", "exec", "exit", "export", "false", "fg", "for",
    "function", "getopts", "hash", "if", "jobs", "kill", "let", "local", "printf", "pwd", "read",
    "readonly", "return", "set", "shift", "test", "time", "times", "trap", "true", "type",
    "ulimit", "umask", "unalias", "unset", "until", "while",
];

/// The programs of a project's hooks, as they were found when it was approved.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Programs {
    /// The directories of `PATH` that counted.
    pub path: Vec<PathBuf>,
    /// The programs by the names that hooks and their scripts have for them.
    pub found: BTreeMap<String, Program>,
    /// The names that a script has, by its path as in the record's files.
    pub named_by: BTreeMap<PathBuf, Vec<String>>,
}

/// A program as it was found.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Program {
    /// Where.
    pub path: PathBuf,
    /// Only the system's own administration changes it.
    pub is_systems: bool,
    /// A link to it does as well as itself: it is no script, which may look beside its own name,
    /// and of no virtual environment, which is found in the same way.
    pub is_linked: bool,
}

/// The most names that are looked for.
const MAX_NAMES: usize = 256;

impl Programs {
    /// Looks programs up on the host's `PATH`; those that aren't there are left out.
    pub fn find(
        names: &BTreeSet<String>,
        named_by: BTreeMap<PathBuf, Vec<String>>,
        root: &Path,
    ) -> Programs {
        let path = trusted_dirs(&std::env::var_os("PATH").unwrap_or_default(), Some(root));
        let find = |name: &String| {
            let found = path
                .iter()
                .map(|dir| dir.join(name))
                .find(|file| may_be_started(file, root))?;
            let found = interpreter_behind(name, &found, &path)
                .filter(|file| may_be_started(file, root))
                .unwrap_or(found);
            let is_linked = !is_script(&found)
                && !found
                    .parent()
                    .and_then(Path::parent)
                    .is_some_and(|dir| dir.join("pyvenv.cfg").exists());
            Some((
                name.clone(),
                Program {
                    is_systems: is_the_systems(&found),
                    is_linked,
                    path: found,
                },
            ))
        };
        let found = names.iter().take(MAX_NAMES).filter_map(find).collect();
        Programs {
            path,
            found,
            named_by,
        }
    }

    /// Where a program is, which still is what it was.
    ///
    /// # Errors
    /// It wasn't there, or is gone or of another kind; finishes "failed to ...".
    pub(super) fn place(&self, name: &str) -> Result<&Path, String> {
        let again = "see `hookwire trust`";
        let Some(Program {
            path, is_systems, ..
        }) = self.found.get(name)
        else {
            return Err(format!(
                "start `{name}`: it wasn't on PATH when this was trusted; {again}"
            ));
        };
        let shown = path.display();
        if !is_program(path) {
            return Err(format!(
                "start `{name}`: {shown}, which was trusted, is gone; {again}"
            ));
        }
        if *is_systems && !is_the_systems(path) {
            return Err(format!(
                "start `{name}`: {shown} isn't the system's any more, as it was trusted; {again}"
            ));
        }
        Ok(path)
    }
}

/// What stands under a program's name in the copy, where a link won't do.
pub fn starter(program: &Path) -> String {
    format!(
        "#!/bin/sh\nexec {} \"$@\"\n",
        shell_word::argument(&program.to_string_lossy())
    )
}

fn is_script(program: &Path) -> bool {
    let mut start = [0; 2];
    file::open(program)
        .and_then(|(mut file, _)| file.read_exact(&mut start))
        .is_ok()
        && start == *b"#!"
}

/// The interpreter that a version manager's script would choose, which looks for it anew each time,
/// in files of the project among others.
fn interpreter_behind(name: &str, program: &Path, path: &[PathBuf]) -> Option<PathBuf> {
    const TIME: Duration = Duration::from_secs(5);
    const MAX_SAID: u64 = 4096;
    let question = match name {
        "python3" | "python" => ["-c", "import sys; print(sys.executable, end='')"],
        "node" => ["-e", "process.stdout.write(process.execPath)"],
        _ => return None,
    };
    if !is_script(program) {
        return None;
    }
    let mut command = Command::new(program);
    command
        .args(question)
        .current_dir("/")
        .env_clear()
        .env("PATH", std::env::join_paths(path).ok()?);
    command.envs(places::home().map(|home| ("HOME", home)));
    let (code, said) = ask(command, Stream::Stdout, MAX_SAID, TIME)?;
    (code == 0 && said.starts_with('/')).then(|| said.into())
}

fn is_program(file: &Path) -> bool {
    file.is_file() && rustix::fs::access(file, rustix::fs::Access::EXEC_OK).is_ok()
}

/// Whether a file is a program that neither everybody nor who writes in the project can change.
fn may_be_started(file: &Path, root: &Path) -> bool {
    let is_others = |about: Metadata| about.mode() & 0o002 != 0;
    is_program(file)
        && !fs::canonicalize(file).is_ok_and(|real| is_in_project(&real, root))
        && !fs::metadata(file).is_ok_and(is_others)
}

/// Whether only the system's own administration changes a file.
pub fn is_the_systems(path: &Path) -> bool {
    const PLACES: [&str; 8] = [
        "/usr",
        "/bin",
        "/sbin",
        "/lib",
        "/opt",
        "/nix/store",
        "/System",
        "/Library",
    ];
    let is_there = |real: PathBuf| PLACES.iter().any(|place| real.starts_with(place));
    let is_roots = |about: Metadata| about.uid() == 0 && about.mode() & 0o022 == 0;
    // A link elsewhere can be turned.
    is_there(path.to_path_buf())
        && fs::canonicalize(path).is_ok_and(is_there)
        && fs::metadata(path).is_ok_and(is_roots)
}

/// Whether a path is one that a project's agent writes. Who works in the home directory has
/// programs there.
fn is_in_project(path: &Path, root: &Path) -> bool {
    path.starts_with(root) && !places::home().is_some_and(|home| home.starts_with(root))
}

/// The directories of a `PATH` that count: no relative ones, none in the project, none that
/// everybody or another user can write.
pub(super) fn trusted_dirs(path: &OsStr, root: Option<&Path>) -> Vec<PathBuf> {
    let user = rustix::process::geteuid().as_raw();
    let real_root = root.and_then(|root| fs::canonicalize(root).ok());
    let counts = |dir: &PathBuf| {
        let is_projects = |path: &Path| {
            let roots = [root, real_root.as_deref()];
            roots
                .into_iter()
                .flatten()
                .any(|root| is_in_project(path, root))
        };
        let Ok(real) = fs::canonicalize(dir) else {
            return false;
        };
        let is_others =
            |about: Metadata| about.mode() & 0o002 != 0 || about.uid() != 0 && about.uid() != user;
        dir.is_absolute()
            && !is_projects(&normalise(dir))
            && !is_projects(&real)
            && !fs::metadata(dir).is_ok_and(is_others)
    };
    std::env::split_paths(path).filter(counts).collect()
}

/// The host's `PATH` as hooks get it.
pub(super) fn host_path(root: Option<&Path>) -> Option<String> {
    type Known = Option<(Instant, OsString, Option<PathBuf>, String)>;
    /// Every hook of a load asks.
    static KNOWN: Mutex<Known> = Mutex::new(None);
    const FRESH: Duration = Duration::from_secs(1);
    let path = std::env::var_os("PATH")?;
    let mut known = KNOWN.lock();
    if let Some((at, of, within, result)) = &*known
        && at.elapsed() < FRESH
        && *of == path
        && within.as_deref() == root
    {
        return Some(result.clone());
    }
    let dirs = trusted_dirs(&path, root);
    let result = std::env::join_paths(dirs).ok()?.into_string().ok()?;
    *known = Some((
        Instant::now(),
        path,
        root.map(Path::to_path_buf),
        result.clone(),
    ));
    Some(result)
}

/// Whether a `PATH` is one that hookwire gives, and not a definition's.
pub(super) fn is_given(path: &str) -> bool {
    let host = std::env::var_os("PATH").unwrap_or_default();
    let of_host: Vec<PathBuf> = std::env::split_paths(&host).collect();
    let store = places::data().map(|data| data.join("trust"));
    let is_kept = |dir: &PathBuf| store.as_ref().is_some_and(|store| dir.starts_with(store));
    let dirs: Vec<PathBuf> = std::env::split_paths(path).collect();
    dirs.first().is_some_and(is_kept) || dirs.iter().all(|dir| of_host.contains(dir))
}

/// The names of programs that a shell text starts.
pub(super) fn named_in_text(text: &str) -> Vec<String> {
    let script = shell::read(text, Shell::Posix);
    let names = script
        .commands()
        .iter()
        .filter_map(|command| command.words.first()?.as_constant());
    let names =
        names.filter(|name| !name.is_empty() && !name.contains('/') && !SHELL_WORDS.contains(name));
    names.map(str::to_string).collect()
}

/// The names of programs that a script starts, by its `#!` and, if it is for a shell, by its text.
pub fn named_in_script(path: &Path, text: &str) -> Vec<String> {
    const SHELLS: [&str; 6] = ["sh", "bash", "dash", "ash", "zsh", "ksh"];
    let line = text
        .strip_prefix("#!")
        .and_then(|rest| rest.lines().next())
        .unwrap_or_default();
    let mut words = line.split_whitespace();
    let interpreter = words.next().unwrap_or_default();
    let base = |name: &str| name.rsplit('/').next().unwrap_or_default().to_string();
    let (name, mut names) = match base(interpreter).as_str() {
        "env" => {
            let name = words
                .find(|word| !word.starts_with('-') && !word.contains('='))
                .unwrap_or_default();
            (base(name), vec![name.to_string()])
        }
        name => (name.to_string(), Vec::new()),
    };
    names.retain(|name| !name.is_empty() && !name.contains('/'));
    let ending = path.extension().and_then(OsStr::to_str).unwrap_or_default();
    if SHELLS.contains(&&*name) || name.is_empty() && SHELLS.contains(&ending) {
        names.extend(named_in_text(text));
    }
    names.sort();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_programs_that_scripts_name() {
        for (path, text, expected) in [
            (
                "a.py",
                "#!/usr/bin/env python3\nimport os\n",
                &["python3"][..],
            ),
            ("a.py", "#!/usr/bin/env -S A=b python3 -u\n", &["python3"]),
            ("a.py", "#!/usr/bin/python3\n", &[]),
            ("a", "#!/bin/sh\nset -e\njq . x | grep y\n", &["grep", "jq"]),
            ("a.sh", "echo x; jq .\n./other\n", &["jq"]),
            ("a.txt", "jq .\n", &[]),
        ] {
            assert_eq!(
                named_in_script(Path::new(path), text),
                expected,
                "{path} {text}"
            );
        }
    }

    #[test]
    fn directories_that_count() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        for name in ["fine", "open", "project/bin"] {
            fs::create_dir_all(at(name)).unwrap();
        }
        fs::set_permissions(at("open"), fs::Permissions::from_mode(0o777)).unwrap();
        std::os::unix::fs::symlink(at("project/bin"), at("link")).unwrap();
        let path = [
            "fine",
            "open",
            "project/bin",
            "project/../project/bin",
            "link",
            "gone",
        ]
        .map(at);
        let path = std::env::join_paths(path.into_iter().chain(["bin".into(), "".into()])).unwrap();
        assert_eq!(trusted_dirs(&path, Some(&at("project"))), [at("fine")]);
    }
}
