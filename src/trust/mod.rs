//! A project's definitions come with a clone, so they are in force only in a state that a person has looked at. This
//! room finds out what there is to look at and keeps what was approved; `definitions` reads what is kept.

pub mod shown;

use crate::definitions::approved::{DEFINITIONS, MAX_BYTES, Record, current, digest_of, record_file, tree, walk};
use crate::definitions::load::{Kept, LayerDir, Loader, Look};
use crate::handlers::Means;
use crate::hook::Hook;
use crate::matching::paths::normalise;
use crate::support::amounts::rfc3339;
use crate::support::digest;
use crate::syntax::diagnostic::{Diagnostic, Severity};
use crate::syntax::source::Layer;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, DirBuilder, Metadata, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

/// What of a project is to be approved, read once: what is shown is what is kept.
pub struct Review {
    /// The project's root, without symlinks.
    pub root: PathBuf,
    /// The hooks of its definitions.
    pub hooks: Vec<Arc<Hook>>,
    /// What is wrong in them.
    pub diagnostics: Arc<[Diagnostic]>,
    /// Nothing of it would judge anything.
    pub is_empty: bool,
    /// What was approved before.
    pub before: Option<Before>,
    /// The files that are kept, by their paths below the root.
    pub files: BTreeMap<PathBuf, File>,
    /// The record of them.
    pub record: Record,
}

/// A file that is kept.
pub struct File {
    /// Its content.
    pub bytes: Vec<u8>,
    is_program: bool,
}

/// What was approved before.
pub struct Before {
    /// Its record.
    pub record: Record,
    tree: PathBuf,
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

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Refusal {
        Refusal(error.to_string())
    }
}

/// Reads what there is to approve.
///
/// # Errors
/// There are no definitions, somebody else can change them, a file is too large or can't be read, or a hook's file
/// can't be kept.
pub fn review(store: &Path, root: &Path) -> Result<Review, Refusal> {
    let root = fs::canonicalize(root).map_err(|error| Refusal(format!("{}: {error}", root.display())))?;
    let dir = root.join(DEFINITIONS);
    if dir.is_file() {
        let problem = "it is a file; definitions are files in a directory of this name";
        return Err(Refusal(format!("{}: {problem}", dir.display())));
    }
    if !dir.is_dir() {
        return Err(Refusal(format!("{}: there is no such directory; `hookwire init` makes it", dir.display())));
    }
    let mut loader = Loader::new(
        vec![LayerDir { layer: Layer::Project, path: dir.clone(), kept: Kept::AsItIs }],
        Means { root: root.clone(), ..Means::default() },
    );
    let loaded = loader.load(Look::Now);
    let hooks = loaded.hooks.hooks.clone();
    let below = |path: &Path| path.strip_prefix(&root).map(Path::to_path_buf).ok();
    let written: Vec<PathBuf> = hooks.iter().filter_map(|hook| below(hook.handler.writes()?)).collect();

    let mut files: BTreeMap<PathBuf, File> = BTreeMap::new();
    let mut left = MAX_BYTES;
    let mut keep = |path: &Path, about: &Metadata| {
        if !written.iter().any(|it| it == path) && !files.contains_key(path) {
            let full = root.join(path);
            is_ours(&full, about)?;
            let is_program = about.mode() & 0o100 != 0;
            files.insert(path.to_path_buf(), File { bytes: read(&full, &mut left)?, is_program });
        }
        Ok(())
    };
    is_ours(&dir, &fs::metadata(&dir)?)?;
    walk(&root, &dir, &mut keep)?;
    // What hooks run and load: what is read when they are compiled comes from the copy, what is started where it is, be it
    // among the definitions, must stay as it is.
    let used = hooks.iter().flat_map(|hook| hook.handler.files(&root)).chain(loader.named());
    let used: BTreeSet<PathBuf> = used.map(|file| normalise(&root.join(file))).collect();
    let mut run = Vec::new();
    for path in &used {
        let Ok(about) = fs::metadata(path) else {
            run.push((path.clone(), false));
            continue;
        };
        match below(path) {
            Some(relative) if about.is_dir() => walk(&root, &root.join(relative), &mut keep)?,
            Some(relative) if about.is_file() && about.len() <= MAX_BYTES => keep(&relative, &about)?,
            _ => {}
        }
        // A system's programs are changed by the system's updates, and by nobody else.
        if about.is_file() && !is_the_systems(path, &about) {
            is_ours(path, &about)?;
            run.push((path.clone(), true));
        }
    }
    let mut named: BTreeMap<PathBuf, Option<String>> = BTreeMap::new();
    for (path, is_there) in run {
        let now = match below(&path).and_then(|relative| files.get(&relative)) {
            Some(file) => Some(digest::of_bytes(&file.bytes)),
            None if is_there => digest_of(&path)?,
            None => None,
        };
        named.insert(path, now);
    }
    let record = Record {
        root: root.clone(),
        at: rfc3339(SystemTime::now()),
        files: files.iter().map(|(path, file)| (path.clone(), digest::of_bytes(&file.bytes))).collect(),
        named,
        written,
    };
    let before = before(store, &root)?;
    let is_empty = hooks.is_empty() && loaded.hooks.policies.is_empty();
    Ok(Review { root, hooks, is_empty, diagnostics: loaded.diagnostics, before, files, record })
}

/// What was approved of a project, if anything.
///
/// # Errors
/// It can't be read.
pub fn before(store: &Path, root: &Path) -> io::Result<Option<Before>> {
    let state = match fs::canonicalize(current(store, root)) {
        Ok(state) => state,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    Ok(Some(Before { record: Record::read(&state)?, tree: tree(&state) }))
}

/// The records of all projects of which something was approved, in the order of their roots. The first store that knows
/// a project counts for it.
///
/// # Errors
/// A store can't be read.
pub fn all(stores: &[PathBuf]) -> io::Result<Vec<Record>> {
    let mut records: BTreeMap<PathBuf, Record> = BTreeMap::new();
    for store in stores {
        let entries = match fs::read_dir(store) {
            Ok(entries) => entries.collect::<io::Result<Vec<_>>>()?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        for record in entries.iter().filter_map(|entry| Record::read(&entry.path().join("current")).ok()) {
            records.entry(record.root.clone()).or_insert(record);
        }
    }
    Ok(records.into_values().collect())
}

/// Takes the approval of a project back. Whether there was one.
///
/// # Errors
/// It can't be removed.
pub fn revoke(store: &Path, root: &Path) -> io::Result<bool> {
    let current = current(store, root);
    let Some(place) = current.parent() else { return Ok(false) };
    // Whoever looks now finds nothing, rather than half of it.
    match fs::remove_file(&current) {
        Ok(()) => fs::remove_dir_all(place).map(|()| true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

impl Review {
    /// The mistakes that keep hooks out of force.
    pub fn errors(&self) -> impl Iterator<Item = &Diagnostic> {
        self.diagnostics.iter().filter(|it| it.severity == Severity::Error)
    }

    /// Whether it is what was approved.
    pub fn is_as_before(&self) -> bool {
        let same = |before: &Before| {
            let Before { record, .. } = before;
            record.files == self.record.files && record.named == self.record.named
        };
        self.before.as_ref().is_some_and(same)
    }

    /// The files that aren't as they were approved.
    pub fn changes(&self) -> Vec<Change<'_>> {
        let old = self.before.as_ref().map(|before| &before.record.files);
        let mut paths: Vec<&PathBuf> = old.into_iter().flat_map(BTreeMap::keys).chain(self.files.keys()).collect();
        let old = |path: &Path| old.and_then(|old| old.get(path));
        paths.sort();
        paths.dedup();
        let mut changes = Vec::new();
        for path in paths.into_iter().filter(|path| old(path) != self.record.files.get(*path)) {
            let before = self.before.as_ref().filter(|_| old(path).is_some());
            let old = before.map(|before| fs::read(before.tree.join(path)).unwrap_or_default());
            changes.push(Change { path, old, new: self.files.get(path).map(|file| &file.bytes[..]) });
        }
        changes
    }

    /// The files outside of the definitions that hooks run where they are, and that aren't as they were approved.
    pub fn named_changes(&self) -> impl Iterator<Item = (&Path, bool)> {
        let old = self.before.as_ref().map(|before| &before.record.named);
        let changed = self.record.named.iter().filter(move |(path, digest)| {
            old.map_or(digest.is_some(), |old| old.get(*path).unwrap_or(&None) != *digest)
        });
        changed.map(|(path, digest)| (path.as_path(), digest.is_some()))
    }

    /// Whether it may be approved: a broken file has no hooks in force, so that to approve it would take a guard away.
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
        self.sound().map_err(|Refusal(problem)| io::Error::other(problem))?;
        let current = current(store, &self.root);
        let place = current.parent().unwrap_or(store);
        let mut private = DirBuilder::new();
        private.mode(0o700).recursive(true).create(place)?;
        let about = fs::symlink_metadata(place)?;
        if !about.is_dir() || about.uid() != rustix::process::geteuid().as_raw() || about.mode() & 0o022 != 0 {
            return Err(io::Error::other(format!("{}: somebody else can change it", place.display())));
        }
        let record = serde_json::to_vec_pretty(&self.record)?;
        let name = format!("state-{}", &digest::of_bytes(&record)[..16]);
        let state = place.join(&name);
        if state.exists() {
            fs::remove_dir_all(&state)?;
        }
        private.create(tree(&state))?;
        for (path, File { bytes, is_program }) in &self.files {
            let path = tree(&state).join(path);
            private.create(path.parent().unwrap_or(&state))?;
            // Programs stay programs.
            write(&path, bytes, if *is_program { 0o500 } else { 0o400 })?;
        }
        write(&record_file(&state), &record, 0o400)?;
        let new = place.join("current.new");
        let _ = fs::remove_file(&new);
        let old = fs::read_link(&current).ok();
        symlink(&name, &new)?;
        fs::rename(&new, &current)?;
        // Hooks of the state before may run still; those of older ones don't.
        for entry in fs::read_dir(place)?.flatten() {
            let (file, path) = (entry.file_name(), entry.path());
            let is_kept = path == current || file == *name || old.as_ref().is_some_and(|old| *old == *file);
            if !is_kept {
                let _ = fs::remove_dir_all(path);
            }
        }
        Ok(())
    }
}

fn write(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

fn read(path: &Path, left: &mut u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(*left + 1).read_to_end(&mut bytes)?;
    *left = left.checked_sub(bytes.len() as u64).ok_or_else(|| {
        let most = MAX_BYTES >> 20;
        io::Error::other(format!("{}: the files together are larger than {most} MiB", path.display()))
    })?;
    Ok(bytes)
}

/// Refuses what somebody else can change: what is approved would be what they wrote.
fn is_ours(path: &Path, about: &Metadata) -> io::Result<()> {
    let (user, bad) = (rustix::process::geteuid().as_raw(), |what: &str, help: &str| {
        Err(io::Error::other(format!("{}: {what}; {help}", path.display())))
    });
    if about.uid() != user && about.uid() != 0 {
        return bad("it belongs to another user", "copy it, or have its owner given up");
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

/// Whether only the system's own administration changes a file.
fn is_the_systems(path: &Path, about: &Metadata) -> bool {
    let places = ["/usr", "/bin", "/sbin", "/lib", "/opt", "/nix/store", "/System", "/Library"];
    let is_there = |real: PathBuf| places.iter().any(|place| real.starts_with(place));
    about.uid() == 0 && about.mode() & 0o022 == 0 && fs::canonicalize(path).is_ok_and(is_there)
}
