//! What `install` knows of each file of an agent that it has written: the file as it was before,
//! and what was written.
//!
//! `<data>/hookwire/entries/<file>/` has `record.json`, and in `copies/` the file as it was before
//! each of the last writes. So `uninstall` leaves what was there, byte for byte, and a command that
//! stands in a file is known as one that was written there on this machine.

use hookwire_base::support::amounts::rfc3339;
use hookwire_base::support::digest;
use hookwire_base::support::file::{new_beside, read_named};
use hookwire_base::support::places;
use serde::{Deserialize, Serialize};
use std::fs::{self, DirBuilder};
use std::io::{self, Error, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The directory of it all, below the user's data.
const ENTRIES: &str = "entries";
const RECORD: &str = "record.json";
const COPIES: &str = "copies";
/// How many copies of a file are kept beside the one of what was there before hookwire.
const MOST_COPIES: usize = 8;
/// Of how many files copies are kept in which nothing of hookwire's is any more.
const MOST_LEFT: usize = 64;

/// What is known of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Record {
    /// The file.
    path: PathBuf,
    /// The commands that were written into it.
    commands: Vec<String>,
    /// The digest of the file as it was written; unknown if it holds more than what was there
    /// before and what was written.
    written: Option<String>,
    /// The name of the copy of what was there before hookwire.
    before: Option<String>,
    /// There was no such file before hookwire.
    created: bool,
    /// A link was there, which leads here.
    link: Option<PathBuf>,
    /// The directories that were made for it, the innermost first.
    dirs: Vec<PathBuf>,
}

/// What is kept of a file.
pub(super) struct Kept {
    dir: PathBuf,
    record: Record,
}

/// What was there before hookwire.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Before {
    Nothing,
    Text(String),
}

/// A path without symlinks, as far as it is there.
pub(super) fn real_path(path: &Path) -> Option<PathBuf> {
    let path = std::path::absolute(path).ok()?;
    let there = path.ancestors().find_map(|ancestor| {
        Some((
            ancestor.canonicalize().ok()?,
            path.strip_prefix(ancestor).ok()?,
        ))
    });
    there.map(|(there, rest)| {
        if rest.as_os_str().is_empty() {
            there
        } else {
            there.join(rest)
        }
    })
}

/// The place of a file itself, which may be a link.
fn file_place(path: &Path) -> Option<PathBuf> {
    Some(real_path(path.parent()?)?.join(path.file_name()?))
}

/// Whether a command was written into a file on this machine.
pub(super) fn was_written(path: &Path, command: &str) -> bool {
    [file_place(path), real_path(path)]
        .iter()
        .flatten()
        .any(|path| {
            Kept::at_path(path)
                .is_some_and(|kept| kept.record.commands.iter().any(|it| it == command))
        })
}

/// The files in which commands of hookwire's are, as far as they were written on this machine, with
/// these commands.
///
/// # Errors
/// What was written can't be listed.
pub(super) fn written_files() -> io::Result<Vec<(PathBuf, Vec<String>)>> {
    let mut written = Vec::new();
    for data in places::data_dirs() {
        let entries = match fs::read_dir(data.join(ENTRIES)) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        for entry in entries {
            let record = read_record(&entry?.path());
            written.extend(
                record
                    .filter(|record| !record.commands.is_empty())
                    .map(|record| (record.path, record.commands)),
            );
        }
    }
    written.sort();
    Ok(written)
}

impl Kept {
    /// What is kept of a file; nothing if there is no place to keep it in.
    pub(super) fn of_file(path: &Path) -> Option<Kept> {
        Kept::at_path(&file_place(path)?)
    }

    fn at_path(path: &Path) -> Option<Kept> {
        let name = path.file_name()?.to_string_lossy();
        let name: String = name
            .chars()
            .map(|c| {
                if c.is_ascii_alphanumeric() || c == '.' {
                    c
                } else {
                    '_'
                }
            })
            .collect();
        let name = format!(
            "{}-{name}",
            &digest::of_bytes(path.as_os_str().as_encoded_bytes())[..16]
        );
        let dirs = places::data_dirs()
            .iter()
            .map(|data| data.join(ENTRIES).join(&name));
        let known = dirs
            .into_iter()
            .find_map(|dir| Some((read_record(&dir)?, dir)))
            .filter(|(record, _)| record.path == path);
        let (record, dir) = match known {
            Some(known) => known,
            None => {
                let record = Record {
                    path: path.to_path_buf(),
                    ..Record::default()
                };
                (record, places::data()?.join(ENTRIES).join(&name))
            }
        };
        Some(Kept { dir, record })
    }

    /// When something of the file was kept for the first time, if the disk knows that.
    pub(super) fn known_since(&self) -> Option<SystemTime> {
        fs::metadata(&self.dir).and_then(|it| it.created()).ok()
    }

    /// The directory of what is kept.
    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Whether hookwire has made the file.
    pub(super) fn is_created(&self) -> bool {
        self.record.created && !self.record.commands.is_empty()
    }

    /// Whether the file is as hookwire has written it.
    fn is_as_written(&self, text: &str) -> bool {
        let is_installed = !self.record.commands.is_empty();
        is_installed && self.record.written.as_deref() == Some(&*digest::of_bytes(text.as_bytes()))
    }

    /// What was there before hookwire, if nobody has changed the file since.
    pub(super) fn text_before(&self, text: &str) -> Option<Before> {
        match &self.record.before {
            _ if !self.is_as_written(text) => None,
            Some(_) => self.original().map(Before::Text),
            None => self.record.created.then_some(Before::Nothing),
        }
    }

    /// What was there before hookwire, as far as that is known.
    pub(super) fn original(&self) -> Option<String> {
        let name = self.record.before.as_ref()?;
        let text = read_named(&self.dir.join(COPIES).join(name)).ok()?;
        // A copy is called by what is in it.
        name.ends_with(&short_digest(&text)).then_some(text)
    }

    /// The link that was there before hookwire.
    pub(super) fn link(&self) -> Option<&Path> {
        self.record.link.as_deref()
    }

    /// The directories that were made for the file, the innermost first.
    pub(super) fn dirs(&self) -> &[PathBuf] {
        &self.record.dirs
    }

    /// Keeps a whole copy of a file, and says where.
    pub(super) fn keep_copy(&mut self, text: &str) -> io::Result<PathBuf> {
        let copies = self.dir.join(COPIES);
        DirBuilder::new()
            .mode(0o700)
            .recursive(true)
            .create(&copies)?;
        let mut names = copy_names(&copies);
        let same = names
            .iter()
            .find(|name| name.ends_with(&short_digest(text)));
        let name = match same
            .filter(|name| read_named(&copies.join(name)).is_ok_and(|kept| kept == text))
        {
            Some(name) => name.clone(),
            None => {
                let name = format!(
                    "{}-{}",
                    rfc3339(SystemTime::now()).replace(':', "."),
                    short_digest(text)
                );
                write_private(&copies.join(&name), text)?;
                name
            }
        };
        let path = copies.join(&name);
        names.retain(|it| *it != name && Some(it) != self.record.before.as_ref());
        let n_old = (names.len() + 1).saturating_sub(MOST_COPIES);
        for old in names.iter().take(n_old) {
            fs::remove_file(copies.join(old))?;
        }
        Ok(path)
    }

    /// Writes down what is about to be written. `had_own`: hookwire's entries were in the file.
    pub(super) fn note_install(
        &mut self,
        before: Option<&str>,
        had_own: bool,
        link: Option<PathBuf>,
        after: &str,
        commands: Vec<String>,
    ) -> io::Result<Option<PathBuf>> {
        let is_known = before.is_some_and(|before| self.is_as_written(before));
        // A person has changed the file since, or nobody knows who has written it.
        let is_mixed = !is_known && before.is_some() && had_own;
        let copy = before.map(|before| self.keep_copy(before)).transpose()?;
        if is_mixed {
            self.record.created = self.is_created();
        } else if !is_known {
            self.record.created = before.is_none() && link.is_none();
            let (before, dirs) = (
                copy.as_ref()
                    .and_then(|copy| Some(copy.file_name()?.to_string_lossy().into_owned())),
                self.record
                    .path
                    .ancestors()
                    .skip(1)
                    .take_while(|dir| !dir.exists())
                    .map(Path::to_path_buf)
                    .collect(),
            );
            self.record = Record {
                before,
                link,
                dirs,
                ..self.record.clone()
            };
        }
        self.record.commands = commands;
        self.record.commands.sort();
        self.record.commands.dedup();
        self.record.written = (!is_mixed).then(|| digest::of_bytes(after.as_bytes()));
        self.save()?;
        Ok(copy)
    }

    /// Writes down that nothing of hookwire's is in the file any more.
    pub(super) fn note_uninstall(&mut self) -> io::Result<()> {
        self.record = Record {
            path: self.record.path.clone(),
            ..Record::default()
        };
        self.save()?;
        self.forget_oldest();
        Ok(())
    }

    fn save(&self) -> io::Result<()> {
        DirBuilder::new()
            .mode(0o700)
            .recursive(true)
            .create(&self.dir)?;
        write_private(
            &self.dir.join(RECORD),
            &serde_json::to_string_pretty(&self.record)?,
        )
    }

    /// Removes what is kept of files in which nothing of hookwire's is any more, but for the last
    /// ones.
    fn forget_oldest(&self) {
        let Some(all) = self.dir.parent() else { return };
        let left = fs::read_dir(all)
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| {
                let about = fs::metadata(entry.path().join(RECORD)).ok()?;
                let is_left = read_record(&entry.path())?.commands.is_empty();
                is_left.then_some((about.modified().ok()?, entry.path()))
            });
        let mut left: Vec<_> = left.collect();
        left.sort();
        for (_, dir) in left.iter().rev().skip(MOST_LEFT) {
            // Another run may have removed it.
            let _ = fs::remove_dir_all(dir);
        }
    }
}

fn read_record(dir: &Path) -> Option<Record> {
    serde_json::from_str(&read_named(&dir.join(RECORD)).ok()?).ok()
}

/// The copies, the oldest first.
fn copy_names(copies: &Path) -> Vec<String> {
    let entries = fs::read_dir(copies).into_iter().flatten().flatten();
    let mut names: Vec<_> = entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort();
    names
}

fn short_digest(text: &str) -> String {
    digest::of_bytes(text.as_bytes())[..16].to_string()
}

/// Writes a file of this user's alone, at once or not at all.
fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let mut new = new_beside(path)?;
    new.write_all(text.as_bytes())?;
    new.as_file().sync_all()?;
    new.persist(path)
        .map(drop)
        .map_err(|error: tempfile::PersistError| Error::from(error))
}
