//! Which rules are asked about a program, and under which names.

use super::asking::{Start, Verdict};
use super::daemons;
use super::lookup::{self, Lookup, Seen};
use super::programs::{ProgramFile, Snapshot, base_name, is_loader_name, loaded_program};
use super::remote::Base;
use super::supervisor::Supervisor;
use super::tree::{self, Ancestor};
use libc::pid_t;
use nix::errno::Errno;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// How many of those that a program comes from are looked at for what they run.
const MAX_LOOKED_AT: usize = 4;
/// A program that a rule names may have so many words. The host takes so long for more that whoever
/// waits gives up.
const MAX_WORDS: usize = 100_000;

/// A program with its arguments, as it is judged.
pub struct Program {
    /// Its arguments, its own name first.
    pub argv: Vec<Vec<u8>>,
    /// As it was called.
    pub path: Vec<u8>,
    /// Its file, if it could be told.
    pub file: Option<ProgramFile>,
}

/// Judges what a process starts.
pub struct Judge<'a> {
    /// Who asks.
    pub supervisor: &'a Supervisor,
    /// What rules name.
    pub snapshot: &'a Snapshot,
    /// The thread that starts something, whose directory and root count.
    pub tid: pid_t,
    /// Its process.
    pub process: pid_t,
    /// Where it does it.
    pub directory: &'a Result<Seen, Errno>,
    /// Whether the answer is still waited for.
    pub is_awaited: &'a dyn Fn() -> bool,
    /// To be done before anything is waited for.
    pub before_asking: &'a dyn Fn(),
}

impl Judge<'_> {
    /// Asks about a program, and about the one that it loads if it is a dynamic loader.
    pub fn judge_program(&self, program: &Program) -> Verdict {
        if let Some(reason) = daemons::outside_of(self.process, self.supervisor.pid, &program.argv)
        {
            return Verdict::Deny(reason);
        }
        if self.snapshot.is_empty() {
            return Verdict::Allow;
        }
        let is_loader = program.file.as_ref().is_some_and(|file| {
            file.kind.is_loader || is_loader_name(base_name(file.real_path.as_os_str().as_bytes()))
        });
        if is_loader && let Some((path, argv)) = loaded_program(&program.argv) {
            (self.before_asking)();
            let file = match lookup::look_up(self.tid, Base::WorkingDirectory, &path) {
                Lookup::Found(seen) => self.snapshot.look_at(&seen).map(Some),
                Lookup::Missing(_) => Ok(None),
                // It shows nowhere afterwards either.
                Lookup::Unknown => Err(Errno::EACCES),
                Lookup::Failed(error) => Err(error),
            };
            let loaded = match file {
                Ok(file) => Program { argv, path, file },
                Err(error) => {
                    return Verdict::Deny(describe_unseen("the program that is loaded", error));
                }
            };
            let verdict = self.ask_names(&loaded);
            if verdict != Verdict::Allow {
                return verdict;
            }
        }
        self.ask_names(program)
    }

    /// Asks under each name that a rule has for the program.
    fn ask_names(&self, program: &Program) -> Verdict {
        let names = self.names_of(program);
        if names.is_empty() {
            return Verdict::Allow;
        }
        if program.argv.len() > MAX_WORDS {
            return Verdict::Deny(format!(
                "more than {MAX_WORDS} words can't be judged in time"
            ));
        }
        (self.before_asking)();
        let mut parents =
            match tree::find_ancestors(self.process, self.supervisor.pid, &program.argv) {
                Ok(parents) => parents,
                Err(error) => return Verdict::Deny(describe_unseen("who starts it", error)),
            };
        self.look_at_parents(&mut parents, program);
        let cwd = match self
            .directory
            .as_ref()
            .map_err(|error| *error)
            .and_then(Seen::real_path)
        {
            Ok(cwd) => cwd,
            Err(error) => return Verdict::Deny(describe_unseen("its directory", error)),
        };
        for (name, real_path) in names {
            let mut argv = program.argv.clone();
            match argv.first_mut() {
                Some(first) if base_name(first) == base_name(&name) => {}
                Some(first) => {
                    let verb = verb_in_name(base_name(first), base_name(&name)).map(<[u8]>::to_vec);
                    *first = name;
                    argv.splice(1..1, verb);
                }
                None => argv.push(name),
            }
            let path = &program.path;
            let start = Start {
                argv: &argv,
                path,
                real_path: &real_path,
                cwd: &cwd,
                pid: self.process,
                parents: &parents,
            };
            if let Verdict::Deny(reason) = self.supervisor.asking.ask_host(&start, self.is_awaited)
            {
                return Verdict::Deny(reason);
            }
        }
        Verdict::Allow
    }

    /// Looks what the nearest parents run, about which no process can lie. Only one that is called
    /// as the program is may be it.
    fn look_at_parents(&self, parents: &mut [Ancestor], program: &Program) {
        let Some(file) = &program.file else { return };
        // `git-receive-pack` is git, too.
        let name = |argv: &[Vec<u8>]| {
            let name = base_name(argv.first()?);
            Some(verb_in_name(name, b"git").map_or(name, |_| b"git").to_vec())
        };
        for parent in parents
            .iter_mut()
            .take(MAX_LOOKED_AT)
            .filter(|parent| name(&parent.argv) == name(&program.argv))
        {
            parent.is_same_program = self.runs_as(parent.pid, file);
        }
        if let Some(nearest) = parents.first_mut().filter(|it| !it.is_same_program) {
            // In a mount namespace of its own, a file may stand at any path.
            let running = lookup::running_file(nearest.pid).ok();
            nearest.file = running
                .and_then(|seen| Some((seen.real_path().ok()?, seen)))
                .filter(|(path, it)| lookup::file_at(path).is_some_and(|key| key == it.key))
                .map(|it| it.0);
        }
    }

    /// Whether a process runs this file, or another one that is the same named program.
    fn runs_as(&self, pid: pid_t, file: &ProgramFile) -> bool {
        let Ok(running) = lookup::running_file(pid).and_then(|it| self.snapshot.look_at(&it))
        else {
            return false;
        };
        let named = |file: &ProgramFile| file.kind.named.as_ref().map(|named| named.path.clone());
        running.key == file.key || named(file).is_some_and(|it| named(&running) == Some(it))
    }

    /// The names under which rules are asked, each with the file that it means: what the program
    /// calls itself, as what it was called, where it is, and which named program it is by its file.
    /// A name that was the file's own before the command began speaks for it alone.
    fn names_of(&self, program: &Program) -> Vec<(Vec<u8>, PathBuf)> {
        let snapshot = self.snapshot;
        let own = program.argv.first().cloned().unwrap_or_default();
        let real_path = program
            .file
            .as_ref()
            .map(|file| file.real_path.clone())
            .unwrap_or_default();
        let real_name = base_name(real_path.as_os_str().as_bytes());
        let mut names: Vec<(Vec<u8>, PathBuf)> = Vec::new();
        if snapshot.every || snapshot.has_name(base_name(&own)) {
            add_name(&mut names, &own, &real_path);
        }
        if snapshot.has_name(base_name(&program.path)) {
            add_name(&mut names, &program.path, &real_path);
        }
        let Some(file) = &program.file else {
            return names;
        };
        let real = snapshot.has_name(real_name).then_some(&*real_path);
        let others = real
            .into_iter()
            .chain(file.kind.named.as_ref().map(|named| &*named.path));
        let others: Vec<&Path> = others
            .filter(|path| !is_among(&names, path.as_os_str().as_bytes()))
            .collect();
        if others.is_empty() {
            return names;
        }
        let (supervisor, own) = (self.supervisor, base_name(&own));
        let goes_by_it = snapshot.is_own_name(own, file, supervisor.since, &supervisor.runs);
        let others = others.into_iter().filter(|path| {
            !goes_by_it || verb_in_name(own, base_name(path.as_os_str().as_bytes())).is_some()
        });
        others.for_each(|path| add_name(&mut names, path.as_os_str().as_bytes(), path));
        names
    }
}

/// Why something may not start that can't be looked at.
pub fn describe_unseen(what: &str, error: impl Into<std::io::Error>) -> String {
    format!(
        "{what} can't be looked at, so it can't be judged: {}",
        error.into()
    )
}

/// What a program does under a name that begins with its own: `push` of `git-push` for git. Of
/// others such a name is another program's.
fn verb_in_name<'n>(called: &'n [u8], program: &[u8]) -> Option<&'n [u8]> {
    let is_told_by_name = program == b"git";
    called
        .strip_prefix(program)?
        .strip_prefix(b"-")
        .filter(|verb| is_told_by_name && !verb.is_empty())
}

/// Whether a name is there already. Rules know a program by its name without a directory.
fn is_among(names: &[(Vec<u8>, PathBuf)], name: &[u8]) -> bool {
    names
        .iter()
        .any(|(known, _)| base_name(known) == base_name(name))
}

fn add_name(names: &mut Vec<(Vec<u8>, PathBuf)>, name: &[u8], path: &Path) {
    if !is_among(names, name) {
        names.push((name.to_vec(), path.to_owned()));
    }
}
