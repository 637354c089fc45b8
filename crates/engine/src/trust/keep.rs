//! How an approved state is put in force and taken out of it: whatever happens on the way, kill -9
//! included, the old state or the new one is in force.
//!
//! Whoever changes what is kept of a project holds its lock, so that two runs never clear away what
//! the other makes. The one step that counts is a rename of `current`; what a run leaves behind
//! that was killed, the next one removes.

use super::Review;
use crate::definitions::approved::{
    Record, State, bin, copy_of, current, record_file, starter, state_name, tree,
};
use hookwire_base::support::failpoint;
use hookwire_base::support::file::{self, sync_directory};
use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long another run may take that holds the lock.
const PATIENCE: Duration = Duration::from_secs(30);

/// The file that is locked. It stays: a run that waits for it would hold the lock of a file that is
/// gone.
const LOCK: &str = "lock";
/// The state that is being made.
const MAKING: &str = "making";
/// The link that is about to take the place of `current`.
const NEXT: &str = "current.new";

/// The place of what is kept of a project. Nobody else changes it while this lives.
struct Locked {
    current: PathBuf,
    place: PathBuf,
    _lock: File,
}

impl Locked {
    fn new(store: &Path, root: &Path) -> io::Result<Locked> {
        let current = current(store, root);
        let place = current.parent().unwrap_or(store).to_path_buf();
        private().create(&place)?;
        let about = fs::symlink_metadata(&place)?;
        if !about.is_dir()
            || about.uid() != rustix::process::geteuid().as_raw()
            || about.mode() & 0o022 != 0
        {
            return Err(io::Error::other(format!(
                "{}: somebody else can change it",
                place.display()
            )));
        }
        let path = place.join(LOCK);
        let lock = file::open_as(
            OpenOptions::new().create(true).append(true).mode(0o600),
            &path,
        )?;
        file::lock(&lock, PATIENCE).map_err(|error| {
            io::Error::new(error.kind(), format!("{}: {error}", path.display()))
        })?;
        Ok(Locked {
            current,
            place,
            _lock: lock,
        })
    }

    /// The name of the state that is in force.
    fn in_force(&self) -> io::Result<Option<PathBuf>> {
        match fs::read_link(&self.current) {
            Ok(name) => Ok(Some(name)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Removes everything but the lock, what is in force, and what else is to be kept.
    fn clear(&self, kept: &[&OsStr]) -> io::Result<()> {
        let current = self.current.file_name().unwrap_or_default();
        for entry in fs::read_dir(&self.place)? {
            let (name, path) = (
                entry.as_ref().map(fs::DirEntry::file_name),
                entry.as_ref().map(fs::DirEntry::path),
            );
            let (Ok(name), Ok(path)) = (name, path) else {
                continue;
            };
            if name != LOCK && name != current && !kept.contains(&&*name) {
                step();
                remove(&path)?;
            }
        }
        Ok(())
    }

    /// Writes a state and gives its name; nothing leads to it yet.
    fn write(&self, review: &Review, record: &Record) -> io::Result<String> {
        let making = self.place.join(MAKING);
        remove(&making)?;
        private().create(tree(&making))?;
        let mut dirs = vec![making.clone(), tree(&making)];
        for (path, file) in &review.files {
            let path = copy_of(&making, path);
            let dir = path.parent().unwrap_or(&making);
            private().create(dir)?;
            dirs.extend(
                dir.ancestors()
                    .take_while(|it| *it != making)
                    .map(Path::to_path_buf),
            );
            step();
            // Programs stay programs.
            write(
                &path,
                &file.bytes,
                if file.is_program { 0o500 } else { 0o400 },
            )?;
        }
        for (link, target) in &record.links {
            let link = making.join(link);
            let dir = link.parent().unwrap_or(&making);
            private().create(dir)?;
            dirs.extend(
                dir.ancestors()
                    .take_while(|it| *it != making)
                    .map(Path::to_path_buf),
            );
            symlink(target, &link)?;
        }
        for (name, program) in record.programs.iter().flat_map(|programs| &programs.found) {
            private().create(bin(&making))?;
            dirs.push(bin(&making));
            let entry = bin(&making).join(name);
            match program.is_linked {
                true => symlink(&program.path, &entry)?,
                false => write(&entry, starter(&program.path).as_bytes(), 0o500)?,
            }
        }
        let record = serde_json::to_vec_pretty(record)?;
        write(&record_file(&making), &record, 0o400)?;
        step();
        dirs.sort();
        dirs.dedup();
        for dir in dirs.iter().rev() {
            // A script that wrote beside itself would make the state another one than was approved.
            fs::set_permissions(dir, PermissionsExt::from_mode(0o500))?;
            sync_directory(dir)?;
        }
        let name = state_name(&record);
        // A directory that nobody may write can't be moved by everybody: only its parent changes
        // here.
        fs::rename(&making, self.place.join(&name))?;
        step();
        Ok(name)
    }

    /// Has `current` lead to a state, from one moment to the next.
    fn put_in_force(&self, name: &str) -> io::Result<()> {
        let next = self.place.join(NEXT);
        remove(&next)?;
        symlink(name, &next)?;
        step();
        // What it leads to is on the disk before it is.
        sync_directory(&self.place)?;
        fs::rename(&next, &self.current)?;
        step();
        sync_directory(&self.place)
    }
}

/// Keeps what was reviewed and puts it in force.
///
/// # Errors
/// It can't be written, or another state was approved since the review: then what is in force
/// stays.
pub(super) fn approve(review: &Review, store: &Path) -> io::Result<()> {
    let locked = Locked::new(store, &review.root)?;
    let in_force = locked.in_force()?;
    if in_force != review.in_force {
        // Two who approve the same agree.
        return match State::read(&locked.current) {
            Ok(Some(state)) if state.record.is_of_the_same(&review.record) => Ok(()),
            _ => Err(io::Error::other(
                "something else was approved meanwhile; look at it again",
            )),
        };
    }
    let name = locked.write(review, &review.record)?;
    locked.put_in_force(&name)?;
    // Hooks of the state before may run still; those of older ones don't.
    let kept = [
        Some(OsStr::new(&name)),
        in_force.as_deref().map(Path::as_os_str),
    ];
    // It is in force, whether or not what is old can be removed.
    let _ = locked.clear(&kept.into_iter().flatten().collect::<Vec<_>>());
    Ok(())
}

/// Takes the approval of a project back. Whether there was one.
///
/// # Errors
/// It can't be removed.
pub fn revoke(store: &Path, root: &Path) -> io::Result<bool> {
    if fs::symlink_metadata(current(store, root).with_file_name("")).is_err() {
        return Ok(false);
    }
    let locked = Locked::new(store, root)?;
    let was_in_force = locked.in_force()?.is_some();
    if was_in_force {
        // Whoever looks now finds nothing, rather than half of it.
        fs::remove_file(&locked.current)?;
        step();
    }
    locked.clear(&[])?;
    Ok(was_in_force)
}

/// Between two of these, nothing is half done: tests end the process here.
fn step() {
    if failpoint::is_due("trust") {
        std::process::abort();
    }
}

fn private() -> DirBuilder {
    let mut builder = DirBuilder::new();
    builder.mode(0o700).recursive(true);
    builder
}

fn write(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Removes a link, a file, or a directory with all that is in it, though nobody may write there.
/// What isn't there is removed already.
fn remove(path: &Path) -> io::Result<()> {
    let about = match fs::symlink_metadata(path) {
        Ok(about) => about,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    if !about.is_dir() {
        return fs::remove_file(path);
    }
    let mut dirs = vec![path.to_path_buf()];
    while let Some(dir) = dirs.pop() {
        fs::set_permissions(&dir, PermissionsExt::from_mode(0o700))?;
        for entry in fs::read_dir(&dir)?.flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                dirs.push(entry.path());
            }
        }
    }
    fs::remove_dir_all(path)
}
