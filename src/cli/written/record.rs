//! Which definitions `init` has written, so that `uninstall --all` takes back those and no others.
//!
//! `<data>/hookwire/init/<directory>.json`: each file with its digest, and the directories that were
//! made for them.

use super::super::Failure;
use super::super::kept::real_path;
use hookwire_base::support::file::{read_text, replace};
use hookwire_base::support::{digest, places};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::DirBuilder;
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// The directory of the records, below the user's data.
const WRITTEN: &str = "init";

/// What was written into a directory of definitions.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(in crate::cli) struct Record {
    /// The directory.
    pub(in crate::cli) dir: PathBuf,
    /// Each file by its name, with the digest of its text.
    files: BTreeMap<String, String>,
    /// The directories that were made, the innermost first.
    dirs: Vec<PathBuf>,
    /// Nothing of the project was approved before.
    approved: bool,
    /// Where the record is.
    #[serde(skip)]
    place: Option<PathBuf>,
}

/// What `uninstall` has found of the files.
#[derive(Default)]
pub(in crate::cli) struct TakenBack {
    /// The files that are gone now.
    pub(in crate::cli) removed: Vec<PathBuf>,
    /// Those that a person has edited.
    pub(in crate::cli) edited: Vec<PathBuf>,
}

impl Record {
    /// What is known of a directory, before something is written into it.
    pub(in crate::cli) fn of_dir(dir: &Path) -> Record {
        let dir = real_path(dir).unwrap_or_else(|| dir.to_path_buf());
        let name = digest::of_bytes(dir.as_os_str().as_encoded_bytes());
        let name = format!("{}.json", &name[..16]);
        let dirs = places::data_dirs()
            .iter()
            .map(|data| data.join(WRITTEN).join(&name));
        let known = dirs
            .into_iter()
            .find_map(read)
            .filter(|record| record.dir == dir);
        known.unwrap_or_else(|| Record {
            dirs: dir
                .ancestors()
                .take_while(|dir| !dir.exists())
                .map(Path::to_path_buf)
                .collect(),
            place: places::data().map(|data| data.join(WRITTEN).join(name)),
            dir,
            ..Record::default()
        })
    }

    /// Every record of this user's.
    ///
    /// # Errors
    /// The records can't be listed.
    pub(in crate::cli) fn all() -> Result<Vec<Record>, Failure> {
        let mut all = Vec::new();
        for data in places::data_dirs() {
            let dir = data.join(WRITTEN);
            let entries = match std::fs::read_dir(&dir) {
                Ok(entries) => entries,
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                Err(error) => return Err(Failure(format!("{}: {error}", dir.display()))),
            };
            let mut paths = entries
                .map(|entry| Ok(entry?.path()))
                .collect::<std::io::Result<Vec<_>>>()?;
            paths.sort();
            all.extend(paths.into_iter().filter_map(read));
        }
        Ok(all)
    }

    /// Notes a file as it was written.
    pub(in crate::cli) fn add(&mut self, name: &str, text: &str) -> Result<(), Failure> {
        self.files
            .insert(name.to_string(), digest::of_bytes(text.as_bytes()));
        self.save()
    }

    /// Notes that a file was removed.
    pub(in crate::cli) fn forget(&mut self, name: &str) -> Result<(), Failure> {
        self.files.remove(name);
        self.save()
    }

    /// Notes that the project's definitions were approved, which nothing of it was before.
    pub(in crate::cli) fn note_first_approval(&mut self) -> Result<(), Failure> {
        self.approved = true;
        self.save()
    }

    /// Whether the first approval of the project came with what was written.
    pub(in crate::cli) fn is_first_approval(&self) -> bool {
        self.approved
    }

    fn save(&self) -> Result<(), Failure> {
        let Some(place) = &self.place else {
            return Err(Failure(
                "you have no home directory to note in what was written".into(),
            ));
        };
        let at = |error: std::io::Error| Failure(format!("{}: {error}", place.display()));
        if let Some(dir) = place.parent() {
            DirBuilder::new()
                .mode(0o700)
                .recursive(true)
                .create(dir)
                .map_err(at)?;
        }
        let text = format!("{}\n", serde_json::to_string_pretty(self)?);
        replace(place, &text, 0o600).map_err(at)
    }

    /// Removes what is as it was written, and the directories that are empty then.
    ///
    /// # Errors
    /// A file can't be read or removed: what became of it isn't known.
    pub(in crate::cli) fn take_back(&self) -> Result<TakenBack, Failure> {
        let mut taken = TakenBack::default();
        for (name, written) in &self.files {
            // A name that leads elsewhere was never written.
            if Path::new(name).file_name() != Some(name.as_ref()) {
                continue;
            }
            let path = self.dir.join(name);
            let at = |error: std::io::Error| Failure(format!("{}: {error}", path.display()));
            match read_text(&path) {
                Ok(text) if digest::of_bytes(text.as_bytes()) == *written => {
                    std::fs::remove_file(&path).map_err(at)?;
                    taken.removed.push(path);
                }
                Ok(_) => taken.edited.push(path),
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(at(error)),
            }
        }
        // One that holds something stays, and so do those around it.
        let _ = self
            .dirs
            .iter()
            .filter(|dir| self.dir.starts_with(dir))
            .map(std::fs::remove_dir)
            .take_while(Result::is_ok)
            .count();
        if let Some(place) = &self.place {
            std::fs::remove_file(place)?;
        }
        Ok(taken)
    }
}

fn read(place: PathBuf) -> Option<Record> {
    let text = read_text(&place).ok()?;
    let record: Record = serde_json::from_str(&text).ok()?;
    record.dir.is_absolute().then_some(Record {
        place: Some(place),
        ..record
    })
}
