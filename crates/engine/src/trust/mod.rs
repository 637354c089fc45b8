//! A project's definitions come with a clone, so they are in force only in a state that a person
//! has looked at. This room finds out what there is to look at and keeps what was approved;
//! `definitions` reads what is kept.

mod beside;
mod keep;
#[cfg(feature = "review")]
pub mod line_diff;
#[cfg(feature = "review")]
pub mod shown;

use crate::definitions::approved::{
    DEFINITIONS, MAX_BYTES, Programs, Record, State, content_of, copy_of, current, is_the_systems,
    named_in_script, tree, walk,
};
use crate::definitions::layer_dir::{self, LayerDir};
use crate::definitions::load::{Loader, Look};
use crate::definitions::scan::is_found_as_definitions;
use crate::hook::Hook;
use hookwire_base::support::amounts::rfc3339;
use hookwire_base::support::file::{self, Reads};
use hookwire_base::support::os_error::in_words;
use hookwire_base::support::{digest, failpoint};
use hookwire_base::syntax::diagnostic::{Diagnostic, Diagnostics, Severity};
use hookwire_base::syntax::source::Layer;
use hookwire_handlers::handlers::Means;
use hookwire_rules::matching::paths::normalise;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

pub use keep::revoke;

/// What of a project is to be approved, read once: what is shown is what is kept.
pub struct Review {
    /// The project's root, without symlinks.
    pub root: PathBuf,
    /// The hooks of its definitions.
    pub hooks: Vec<Arc<Hook>>,
    /// The hooks that were approved before.
    hooks_before: Vec<Arc<Hook>>,
    /// What is wrong in them.
    pub diagnostics: Diagnostics,
    /// Nothing of it would judge anything.
    pub is_empty: bool,
    /// What was approved before, and is as it was then.
    pub before: Option<State>,
    /// What is wrong with what was approved before: it counts no more, and everything is new.
    pub broken: Option<String>,
    /// The name of the state that was in force, sound or not.
    in_force: Option<PathBuf>,
    /// The files that are kept, by their paths below the root or in full.
    pub files: BTreeMap<PathBuf, File>,
    /// The record of them.
    pub record: Record,
}

/// A file that is kept.
pub struct File {
    /// Its content.
    pub bytes: Arc<[u8]>,
    is_program: bool,
}

/// What becomes of a file.
pub struct Change<'r> {
    /// Its path below the root, or in full.
    pub path: &'r Path,
    /// What was approved; nothing if it is new.
    pub old: Option<Vec<u8>>,
    /// What it is now; nothing if it is gone.
    pub new: Option<&'r [u8]>,
}

/// Why a project can't be approved; for people.
#[derive(Debug)]
pub struct Refusal(pub String);

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refusal {}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Refusal {
        Refusal(error.to_string())
    }
}

/// How often a project is read of which something changes while it is read.
const MAX_TRIES: usize = 3;

/// Reads what there is to approve.
///
/// # Errors
/// There are no definitions, somebody else can change them, a file is too large or can't be read,
/// or a hook's file can't be kept.
pub fn review(store: &Path, root: &Path) -> Result<Review, Refusal> {
    for _ in 0..MAX_TRIES {
        if let Some(review) = review_once(store, root)? {
            return Ok(review);
        }
    }
    let dir = root.join(DEFINITIONS);
    Err(Refusal(match no_file(&dir) {
        Some(path) => format!("{}: it is not a regular file", path.display()),
        None => format!(
            "{}: its files change while they are read; nothing was changed",
            dir.display()
        ),
    }))
}

/// What in a directory is neither a file nor a directory, such as a pipe: it is read as a
/// definition file, and is none.
fn no_file(dir: &Path) -> Option<PathBuf> {
    let mut paths = fs::read_dir(dir).ok()?.flatten().map(|entry| entry.path());
    // Links could form a circle.
    paths.find_map(|path| match fs::symlink_metadata(&path).ok()?.is_dir() {
        true => no_file(&path),
        false => fs::metadata(&path)
            .is_ok_and(|about| !about.is_file() && !about.is_dir())
            .then_some(path),
    })
}

/// The same; nothing if the files that were listed aren't those that were read as definitions.
fn review_once(store: &Path, root: &Path) -> Result<Option<Review>, Refusal> {
    let root = match fs::canonicalize(root) {
        Ok(real) if real.is_dir() => real,
        Ok(_) => {
            let help = "name the project that its definitions are in";
            return Err(Refusal(format!("{}: it is a file; {help}", root.display())));
        }
        Err(error) => return Err(Refusal(format!("{}: {}", root.display(), in_words(&error)))),
    };
    if let Some(project) = root
        .parent()
        .filter(|_| root.ends_with(DEFINITIONS) && !root.join(DEFINITIONS).exists())
    {
        let (dir, project) = (root.display(), project.display());
        return Err(Refusal(format!(
            "{dir}: these are the definitions; name the project that they are in: {project}"
        )));
    }
    let place = current(store, &root);
    let in_force = fs::read_link(&place).ok();
    let (before, broken) = match State::read(&place) {
        Ok(before) => (before, None),
        Err(problem) => (None, Some(problem)),
    };
    let dir = root.join(DEFINITIONS);
    if dir.is_file() {
        let problem = "it is a file; definitions are files in a directory of this name";
        return Err(Refusal(format!("{}: {problem}", dir.display())));
    }
    if !dir.is_dir() {
        let help = match in_force {
            Some(_) => "what was trusted of it stays in force until `hookwire trust revoke`",
            None => "`hookwire init` makes it",
        };
        return Err(Refusal(format!(
            "{}: there is no such directory; {help}",
            dir.display()
        )));
    }
    if !fs::canonicalize(&dir)?.starts_with(&root) {
        let help = "definitions are kept in the project, or named with --hooks";
        return Err(Refusal(format!(
            "{}: it leads out of the project; {help}",
            dir.display()
        )));
    }
    let loader_of = |kept| {
        let dir = LayerDir {
            layer: Layer::Project,
            path: dir.clone(),
            kept,
        };
        Loader::new(
            vec![dir],
            Means {
                root: root.clone(),
                ..Means::default()
            },
        )
    };
    failpoint::hold("review");
    let hooks_before = match &before {
        Some(_) => loader_of(layer_dir::Kept::Approved(vec![place]))
            .load(Look::Now)
            .hooks
            .hooks
            .clone(),
        None => Vec::new(),
    };
    let mut listed: Vec<(PathBuf, Metadata)> = Vec::new();
    walk(&root, &dir, &mut |path, about| {
        listed.push((path.to_path_buf(), about.clone()));
        Ok(())
    })?;
    failpoint::hold("review");
    let reads = Reads::default();
    let mut loader = loader_of(layer_dir::Kept::AsItIs).reading(&reads);
    let loaded = loader.load(Look::Now);
    failpoint::hold("review");
    if !is_as_listed(&root, &listed, &loader, &reads) {
        return Ok(None);
    }
    let hooks = loaded.hooks.hooks.clone();
    let below = |path: &Path| path.strip_prefix(&root).map(Path::to_path_buf).ok();
    let written: Vec<PathBuf> = hooks
        .iter()
        .filter_map(|hook| below(hook.handler.writes()?))
        .collect();

    let mut kept = Kept {
        root: &root,
        written: &written,
        files: BTreeMap::new(),
        left: MAX_BYTES,
        reads,
    };
    listed
        .iter()
        .try_for_each(|(path, about)| kept.add(path, about))?;
    // What hooks run and load is kept with them, and runs from the copy; but for programs, which
    // know where they are.
    let used = hooks
        .iter()
        .flat_map(|hook| hook.handler.files(&root))
        .chain(loader.named());
    let used: BTreeSet<PathBuf> = used.map(|file| normalise(&root.join(file))).collect();
    let mut named: BTreeMap<PathBuf, Option<String>> = BTreeMap::new();
    for path in &used {
        match fs::metadata(path) {
            Err(_) => drop(named.insert(path.clone(), None)),
            Ok(about) if about.is_dir() => {
                if path.starts_with(&root) {
                    walk(&root, path, &mut |path, about| kept.add(path, about))?;
                }
            }
            // A system's programs are changed by the system's updates, and by nobody else.
            Ok(about) if about.is_file() && !is_the_systems(path) => {
                if !kept.add_script(path, &about)? {
                    is_ours(path, &about)?;
                    named.insert(path.clone(), content_of(path)?);
                }
            }
            Ok(_) => {}
        }
    }
    let files = kept.files;
    let named_by = files.iter().filter_map(|(path, file)| {
        let names = named_in_script(path, std::str::from_utf8(&file.bytes).ok()?);
        (!names.is_empty()).then(|| (path.clone(), names))
    });
    let named_by: BTreeMap<PathBuf, Vec<String>> = named_by.collect();
    let names = hooks
        .iter()
        .flat_map(|hook| hook.handler.programs())
        .chain(named_by.values().flatten().cloned());
    let programs = Programs::find(&names.collect(), named_by, &root);
    let record = Record {
        root: root.clone(),
        at: rfc3339(SystemTime::now()),
        nonce: nonce()?,
        files: files
            .iter()
            .map(|(path, file)| (path.clone(), digest::of_bytes(&file.bytes)))
            .collect(),
        named,
        written,
        links: links(&root, &files),
        programs: Some(programs),
    };
    let is_empty = hooks.is_empty() && loaded.hooks.policies.is_empty();
    let diagnostics = loaded.diagnostics;
    failpoint::hold("review");
    Ok(Some(Review {
        root,
        hooks,
        hooks_before,
        is_empty,
        diagnostics,
        before,
        broken,
        in_force,
        files,
        record,
    }))
}

/// Whether the definitions that were read are the files that are kept: each is where it was listed
/// and nothing else was read in its place, and none was listed that wasn't read.
fn is_as_listed(
    root: &Path,
    listed: &[(PathBuf, Metadata)],
    loader: &Loader,
    reads: &Reads,
) -> bool {
    let leads_to = |path: &Path| fs::canonicalize(root.join(path)).ok();
    let is_passed_over = |path: &Path| path.iter().any(|name| name == "__pycache__");
    let files = listed
        .iter()
        .filter(|(_, about)| about.is_file())
        .map(|(path, _)| path.as_path());
    let found: BTreeMap<&Path, Option<PathBuf>> =
        files.map(|path| (path, leads_to(path))).collect();
    let read: BTreeSet<&Path> = loader.read().map(|(_, real)| real).collect();
    let is_listed = |(path, real): (&Path, &Path)| {
        let path = path.strip_prefix(root).unwrap_or(path);
        // What leads nowhere is a mistake that is told.
        is_passed_over(path)
            || !real.exists()
            || found
                .get(path)
                .is_some_and(|it| it.as_deref() == Some(real))
    };
    let is_read = |(path, real): (&&Path, &Option<PathBuf>)| {
        let mut names = path.iter().map(Path::new).rev();
        let is_one = names.next().is_some_and(is_found_as_definitions)
            && !names.any(is_found_as_definitions);
        !is_one || real.as_deref().is_some_and(|real| read.contains(real))
    };
    let named = loader
        .named()
        .filter_map(|path| fs::canonicalize(path).ok());
    loader.read().all(is_listed)
        && found.iter().all(is_read)
        && named.into_iter().all(|real| reads.has(&real))
}

/// A project of which something was approved.
pub struct Trusted {
    /// The project's root, else the link that leads to the state.
    pub root: PathBuf,
    /// The state; else what is wrong with it.
    pub state: Result<State, String>,
}

/// All projects of which something was approved, in the order of their roots; broken states come
/// last. The first store that knows a project counts for it.
///
/// # Errors
/// A store can't be read.
pub fn all(stores: &[PathBuf]) -> io::Result<Vec<Trusted>> {
    let mut all: BTreeMap<OsString, Trusted> = BTreeMap::new();
    for store in stores {
        let entries = match fs::read_dir(store) {
            Ok(entries) => entries.collect::<io::Result<Vec<_>>>()?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        for entry in entries {
            let current = entry.path().join("current");
            if let Some(state) = State::read(&current).transpose() {
                let root = Record::said_root(&current).unwrap_or(current);
                all.entry(entry.file_name())
                    .or_insert(Trusted { root, state });
            }
        }
    }
    let mut all: Vec<Trusted> = all.into_values().collect();
    all.sort_by_cached_key(|it| (it.state.is_err(), it.root.clone()));
    Ok(all)
}

impl Review {
    /// The mistakes that keep hooks out of force.
    pub fn errors(&self) -> impl Iterator<Item = &Diagnostic> {
        self.diagnostics
            .iter()
            .filter(|it| it.severity == Severity::Error)
    }

    /// Whether it is what was approved.
    pub fn is_as_before(&self) -> bool {
        self.before
            .as_ref()
            .is_some_and(|before| before.record.is_of_the_same(&self.record))
    }

    /// Whether nothing has changed but these files, by their paths below the root: they have these
    /// bytes, or are gone where there are none.
    pub fn changes_only(&self, own: &BTreeMap<PathBuf, Option<&[u8]>>) -> bool {
        let nothing = Record::default();
        let before = self
            .before
            .as_ref()
            .map_or(&nothing, |before| &before.record);
        let programs = |record: &Record| {
            record
                .programs
                .as_ref()
                .map(|it| it.found.clone())
                .unwrap_or_default()
        };
        let found = programs(&self.record);
        let is_known = |(path, file): (&PathBuf, &File)| {
            own.get(path)
                .is_some_and(|bytes| bytes.is_some_and(|bytes| *bytes == *file.bytes))
                || before
                    .files
                    .get(path)
                    .is_some_and(|digest| self.record.files.get(path) == Some(digest))
        };
        self.broken.is_none()
            && self.files.iter().all(is_known)
            && before
                .files
                .keys()
                .all(|path| self.files.contains_key(path) || own.get(path) == Some(&None))
            && self
                .record
                .named
                .iter()
                .all(|(path, content)| content.is_none() || before.named.get(path) == Some(content))
            && programs(before)
                .iter()
                .all(|(name, program)| found.get(name) == Some(program))
    }

    /// The files that aren't as they were approved.
    pub fn changes(&self) -> Vec<Change<'_>> {
        let old = self.before.as_ref().map(|before| &before.record.files);
        let mut paths: Vec<&PathBuf> = old
            .into_iter()
            .flat_map(BTreeMap::keys)
            .chain(self.files.keys())
            .collect();
        let old = |path: &Path| old.and_then(|old| old.get(path));
        paths.sort();
        paths.dedup();
        let mut changes = Vec::new();
        for path in paths
            .into_iter()
            .filter(|path| old(path) != self.record.files.get(*path))
        {
            let before = self.before.as_ref().filter(|_| old(path).is_some());
            let old = before.map(|before| {
                file::read_small(&copy_of(&before.place, path), MAX_BYTES).unwrap_or_default()
            });
            changes.push(Change {
                path,
                old,
                new: self.files.get(path).map(|file| &file.bytes[..]),
            });
        }
        changes
    }

    /// The hooks that would only observe and weren't approved to: each with whether it was approved
    /// to enforce.
    pub fn observers(&self) -> impl Iterator<Item = (&Hook, bool)> {
        let observes = self
            .hooks
            .iter()
            .filter(|hook| hook.enabled && hook.observe);
        observes.filter_map(|hook| {
            let mut before = self
                .hooks_before
                .iter()
                .filter(|it| it.name == hook.name && it.enabled)
                .peekable();
            let is_new = before.peek().is_none();
            let enforced = before.any(|it| !it.observe);
            (is_new || enforced).then_some((&**hook, enforced))
        })
    }

    /// The files outside of the definitions that hooks run where they are, and that aren't as they
    /// were approved.
    pub fn named_changes(&self) -> impl Iterator<Item = (&Path, bool)> {
        let old = self.before.as_ref().map(|before| &before.record.named);
        let changed = self.record.named.iter().filter(move |(path, digest)| {
            old.map_or(digest.is_some(), |old| {
                old.get(*path).unwrap_or(&None) != *digest
            })
        });
        changed.map(|(path, digest)| (path.as_path(), digest.is_some()))
    }

    /// The programs that hooks start by name, and that weren't approved.
    pub fn program_changes(&self) -> impl Iterator<Item = (&str, &Path)> {
        let programs = |record: &'_ Record| {
            record
                .programs
                .as_ref()
                .map(|it| it.found.clone())
                .unwrap_or_default()
        };
        let old = self
            .before
            .as_ref()
            .map(|before| programs(&before.record))
            .unwrap_or_default();
        let now = self
            .record
            .programs
            .iter()
            .flat_map(|programs| &programs.found);
        let new = now.filter(move |(name, program)| old.get(*name) != Some(*program));
        new.map(|(name, program)| (name.as_str(), program.path.as_path()))
    }

    /// Whether it may be approved: a broken file has no hooks in force, so that to approve it would
    /// take a guard away.
    ///
    /// # Errors
    /// There are mistakes.
    pub fn sound(&self) -> Result<(), Refusal> {
        let them = match self.errors().count() {
            0 => return Ok(()),
            1 => "the mistake",
            _ => "the mistakes",
        };
        Err(Refusal(format!("nothing was changed: mend {them} first")))
    }

    /// Keeps it: from now on it is in force. Hosts that run take it up by themselves.
    ///
    /// # Errors
    /// It isn't [sound](Self::sound) or can't be written; then what was approved before stays.
    pub fn approve(&self, store: &Path) -> io::Result<()> {
        self.sound()
            .map_err(|Refusal(problem)| io::Error::other(problem))?;
        failpoint::hold("review");
        keep::approve(self, store)
    }
}

/// The files that are kept, as they are read.
struct Kept<'r> {
    root: &'r Path,
    written: &'r [PathBuf],
    files: BTreeMap<PathBuf, File>,
    /// How many bytes more may be kept.
    left: u64,
    reads: Reads,
}

impl Kept<'_> {
    /// Adds a file, by its path below the root or in full.
    fn add(&mut self, path: &Path, about: &Metadata) -> io::Result<()> {
        let full = self.root.join(path);
        is_ours(&full, about)?;
        if about.is_dir()
            || self.written.iter().any(|it| it == path)
            || self.files.contains_key(path)
        {
            return Ok(());
        }
        let real = fs::canonicalize(&full)?;
        if path.is_relative() && !real.starts_with(self.root) {
            return Err(io::Error::other(format!(
                "{}: it leads out of the project",
                full.display()
            )));
        }
        let failed = |error: io::Error| io::Error::other(format!("{}: {error}", full.display()));
        let (bytes, about) = self.reads.bytes(&real).map_err(failed)?;
        is_ours(&full, &about)?;
        self.left = self.left.checked_sub(bytes.len() as u64).ok_or_else(|| {
            let most = MAX_BYTES >> 20;
            io::Error::other(format!(
                "{}: the files together are larger than {most} MiB",
                full.display()
            ))
        })?;
        self.files.insert(
            path.to_path_buf(),
            File {
                bytes,
                is_program: about.mode() & 0o100 != 0,
            },
        );
        Ok(())
    }

    /// Adds a script, by its full path, and the files beside it that it names. Whether it can run
    /// from the copy: a program that isn't text, what a link leads to, and what was installed into
    /// the project depend on where they are.
    fn add_script(&mut self, path: &Path, about: &Metadata) -> io::Result<bool> {
        let real = fs::canonicalize(path)?;
        let leads_out = path.starts_with(self.root) && !real.starts_with(self.root);
        let is_installed = path.components().any(|it| it.as_os_str() == "node_modules")
            || path
                .ancestors()
                .skip(1)
                .any(|dir| dir.join("pyvenv.cfg").exists());
        if leads_out || is_installed || about.len() > MAX_BYTES {
            return Ok(false);
        }
        let is_link = fs::symlink_metadata(path)?.is_symlink();
        let dirs: Vec<PathBuf> = path.parent().map(Path::to_path_buf).into_iter().collect();
        let mut scripts = vec![path.to_path_buf()];
        let mut is_one = false;
        let mut seen = BTreeSet::new();
        while let Some(script) = scripts.pop() {
            let Ok(about) = fs::metadata(&script) else {
                continue;
            };
            if !about.is_file() || about.len() > MAX_BYTES || !seen.insert(script.clone()) {
                continue;
            }
            let (bytes, about) = self.reads.bytes(&fs::canonicalize(&script)?)?;
            let Some(text) = std::str::from_utf8(&bytes)
                .ok()
                .filter(|text| !text.contains('\0'))
            else {
                continue;
            };
            is_one |= script == path;
            let key = script
                .strip_prefix(self.root)
                .unwrap_or(&script)
                .to_path_buf();
            self.add(&key, &about)?;
            let within = if path.starts_with(self.root) {
                self.root
            } else {
                dirs[0].as_path()
            };
            scripts.extend(beside::named_beside(&script, text, &dirs, within));
        }
        Ok(is_one && !is_link)
    }
}

/// Links that are kept: to the packages that Node looks for beside a script.
fn links(root: &Path, files: &BTreeMap<PathBuf, File>) -> BTreeMap<PathBuf, PathBuf> {
    let tree = tree(Path::new(""));
    let mut links = BTreeMap::new();
    let is_nodes = |path: &&PathBuf| {
        path.extension()
            .is_some_and(|it| beside::OF_NODE.iter().any(|of| it == *of))
    };
    for script in files
        .keys()
        .filter(|path| path.is_relative())
        .filter(is_nodes)
    {
        let packages = script
            .ancestors()
            .skip(1)
            .map(|dir| dir.join("node_modules"));
        for packages in packages.filter(|packages| root.join(packages).is_dir()) {
            links.insert(tree.join(&packages), root.join(&packages));
        }
    }
    links
}

fn nonce() -> io::Result<String> {
    let mut bits = [0; 8];
    getrandom::fill(&mut bits).map_err(io::Error::other)?;
    Ok(digest::hex(&bits))
}

/// Refuses what somebody else can change: what is approved would be what they wrote.
fn is_ours(path: &Path, about: &Metadata) -> io::Result<()> {
    let (user, bad) = (
        rustix::process::geteuid().as_raw(),
        |what: &str, help: &str| {
            Err(io::Error::other(format!(
                "{}: {what}; {help}",
                path.display()
            )))
        },
    );
    if about.uid() != user && about.uid() != 0 {
        return bad(
            "it belongs to another user",
            "copy it, or have its owner given up",
        );
    }
    if about.mode() & 0o002 != 0 {
        return bad("everybody can write it", "chmod o-w");
    }
    // A group of one user has that user's number: many systems make files writable for it.
    if about.mode() & 0o020 != 0 && about.gid() != about.uid() {
        return bad("its group can write it", "chmod g-w");
    }
    Ok(())
}
