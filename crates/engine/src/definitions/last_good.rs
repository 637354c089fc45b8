//! Keeps the last good definitions on disk: a host that starts beside a broken file goes on from
//! where the last host stopped.
//!
//! `<data>/hookwire/last-good/` has one record for each directory of definitions that people vouch
//! for themselves. For each file it holds the texts from which the hooks in force come, with the
//! scripts that were read with them. Whoever can write a record could loosen guards while a file is
//! broken, so one that others can change counts as none.

use super::layer_dir::LayerDir;
use hookwire_base::support::file::{self, new_beside};
use hookwire_base::support::{digest, places};
use hookwire_base::syntax::source::Layer;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File, Metadata};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

/// Whether a host goes on from the last good state of definitions that an earlier host has kept on
/// disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LastGood {
    /// No.
    #[default]
    Ignored,
    /// Yes, but it keeps none itself.
    Used,
    /// Yes, and it keeps its own for the next one.
    Kept,
}

impl LastGood {
    /// This choice, made by a host that also keeps what it finds good.
    pub fn and_kept(self) -> LastGood {
        match self {
            LastGood::Ignored => LastGood::Ignored,
            LastGood::Used | LastGood::Kept => LastGood::Kept,
        }
    }
}

/// A text of a definition file that was good, at least in part.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct GoodText {
    /// When a host first read it, in RFC 3339.
    pub(super) at: String,
    pub(super) text: Arc<str>,
    /// The digest of the text, in hexadecimal digits.
    sha256: String,
    /// The files that were read with it, by their paths.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub(super) named: BTreeMap<PathBuf, Arc<str>>,
    /// An earlier host has read it.
    #[serde(skip)]
    pub(super) is_of_disk: bool,
}

impl GoodText {
    pub(super) fn new(text: Arc<str>, named: BTreeMap<PathBuf, Arc<str>>) -> GoodText {
        let sha256 = digest::of_bytes(text.as_bytes());
        GoodText {
            at: hookwire_base::support::amounts::rfc3339(SystemTime::now()),
            text,
            sha256,
            named,
            is_of_disk: false,
        }
    }

    /// Whether the same was read, whenever that was.
    fn is_same(&self, other: &GoodText) -> bool {
        self.sha256 == other.sha256 && self.named == other.named
    }
}

/// The good texts of the files of a directory, oldest first, by the files' paths below it.
pub(super) type Texts = BTreeMap<PathBuf, Vec<Arc<GoodText>>>;

#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    /// The directory of definitions.
    directory: PathBuf,
    files: Texts,
}

/// The record of one directory of definitions.
pub struct Book {
    directory: PathBuf,
    /// Where it is; `None` if the user has no place for it.
    place: Option<PathBuf>,
    is_kept: bool,
    texts: Texts,
    /// Why the one that was there when the host started doesn't count.
    unusable: Option<String>,
    /// Why there is none that counts now, or why it isn't kept.
    problem: Option<String>,
}

/// The most bytes of one record. The definitions of a directory are rarely a hundredth of that.
const MAX_RECORD: u64 = 16 << 20;
/// The most records: directories that are made for one run are forgotten.
const MAX_RECORDS: usize = 256;

impl Book {
    /// Opens the record of a directory, if hosts keep one of it.
    pub(super) fn open(dir: &LayerDir, last_good: LastGood) -> Option<Book> {
        // What a fleet has published is kept and verified as a whole.
        let is_kept_elsewhere = dir.layer == Layer::Fleet;
        if last_good == LastGood::Ignored || !dir.layer.is_trusted() || is_kept_elsewhere {
            return None;
        }
        // The directory itself may be a link that is turned.
        let known = dir
            .path
            .parent()
            .and_then(|parent| fs::canonicalize(parent).ok())
            .zip(dir.path.file_name());
        let directory = known.map_or_else(|| dir.path.clone(), |(parent, name)| parent.join(name));
        let name = digest::hex(&Sha256::digest(directory.as_os_str().as_encoded_bytes())[..16]);
        // Hosts of agents may have kept it at another of the user's places.
        let record = |data: &PathBuf| data.join("last-good").join(format!("{name}.json"));
        let kept = places::data_dirs()
            .iter()
            .map(record)
            .find(|record| record.exists());
        let place = kept.or_else(|| places::data().as_ref().map(record));
        let is_kept = last_good == LastGood::Kept;
        let mut book = Book {
            directory,
            place,
            is_kept,
            texts: Texts::new(),
            unusable: None,
            problem: None,
        };
        match book.read() {
            Ok(texts) => book.texts = texts,
            Err(error) => {
                let record = book.place().display();
                let problem = format!("the last good state in {record} counts as none: {error}");
                tracing::warn!("{problem}");
                book.problem = Some(format!("this last good state counts as none: {error}"));
                book.unusable = Some(problem);
            }
        }
        Some(book)
    }

    fn read(&self) -> io::Result<Texts> {
        let Some(place) = &self.place else {
            return Ok(Texts::new());
        };
        let opened = match open(place) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Texts::new()),
            opened => opened?,
        };
        let mut bytes = Vec::new();
        if opened.take(MAX_RECORD + 1).read_to_end(&mut bytes)? as u64 > MAX_RECORD {
            return Err(io::Error::other("it is too large"));
        }
        let Record {
            directory,
            mut files,
        } = serde_json::from_slice(&bytes)?;
        let all = || files.values().flatten();
        if directory != self.directory
            || all().any(|it| digest::of_bytes(it.text.as_bytes()) != it.sha256)
        {
            return Err(io::Error::other("it is damaged"));
        }
        for text in files.values_mut().flatten() {
            // Nobody else has it yet.
            Arc::get_mut(text)
                .into_iter()
                .for_each(|text| text.is_of_disk = true);
        }
        Ok(files)
    }

    /// Where the record is, or would be.
    pub fn place(&self) -> &Path {
        self.place.as_deref().unwrap_or(&self.directory)
    }

    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Why what an earlier host has kept doesn't count.
    pub(super) fn unusable(&self) -> Option<&str> {
        self.unusable.as_deref()
    }

    /// Why there is none that counts now, or why it isn't kept.
    pub(super) fn problem(&self) -> Option<&str> {
        self.problem.as_deref()
    }

    /// The good texts of a file, by its path below the directory.
    pub(super) fn of(&self, file: &Path) -> &[Arc<GoodText>] {
        self.texts.get(file).map_or(&[], |texts| &**texts)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// The files of which there are good texts.
    pub(super) fn files(&self) -> impl Iterator<Item = &Path> {
        self.texts.keys().map(|path| &**path)
    }

    /// Whether the record says that these are the good texts.
    pub(super) fn says(&self, texts: &Texts) -> bool {
        let same = |(mine, theirs): (&Arc<GoodText>, &Arc<GoodText>)| mine.is_same(theirs);
        self.texts.len() == texts.len()
            && self
                .texts
                .iter()
                .zip(texts)
                .all(|((path, mine), (other, theirs))| {
                    path == other && mine.len() == theirs.len() && mine.iter().zip(theirs).all(same)
                })
    }

    /// Writes down the good texts, if the record says something else and this host keeps it.
    pub(super) fn keep(&mut self, texts: Texts) {
        if !self.is_kept || self.says(&texts) && self.problem.is_none() {
            return;
        }
        // Another host may have written the same.
        if let Ok(there) = self.read() {
            let now = std::mem::replace(&mut self.texts, there);
            if self.says(&texts) {
                self.problem = None;
                return;
            }
            self.texts = now;
        }
        match self.write(&texts) {
            Ok(()) => (self.texts, self.problem) = (texts, None),
            Err(error) => {
                self.problem = Some(format!(
                    "the state of {} can't be kept: {error}; if a file of it is broken when the next host starts, every \
                     tool call is denied",
                    self.directory.display()
                ));
            }
        }
    }

    fn write(&self, texts: &Texts) -> io::Result<()> {
        let Some(place) = &self.place else {
            return Err(io::Error::other("there is no home directory"));
        };
        if texts.is_empty() {
            return match fs::remove_file(place) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            };
        }
        let record = Record {
            directory: self.directory.clone(),
            files: texts.clone(),
        };
        let bytes = serde_json::to_vec(&record)?;
        if bytes.len() as u64 > MAX_RECORD {
            return Err(io::Error::other(format!(
                "it is larger than {} MiB",
                MAX_RECORD >> 20
            )));
        }
        let dir = place.parent().unwrap_or(Path::new("/"));
        DirBuilder::new().mode(0o700).recursive(true).create(dir)?;
        own(dir)?;
        if !place.exists() {
            forget_oldest(dir);
        }
        // After a power failure the rename has left a whole record or none, and without a record
        // tool calls are denied. So it isn't worth it to wait for the disk at every edit.
        let mut new = new_beside(place)?;
        new.write_all(&bytes)?;
        new.persist(place).map(drop).map_err(|error| error.error)
    }
}

/// Opens a record that only this user can have written.
fn open(place: &Path) -> io::Result<File> {
    let file = file::open_own(place)?;
    own(place.parent().unwrap_or(Path::new("/")))?;
    mine(&file.metadata()?)?;
    Ok(file)
}

/// Whether a directory is this user's alone to change.
fn own(dir: &Path) -> io::Result<()> {
    let about = fs::symlink_metadata(dir)?;
    if !about.is_dir() {
        return Err(io::Error::other(format!(
            "{} is not a directory",
            dir.display()
        )));
    }
    mine(&about)
}

fn mine(about: &Metadata) -> io::Result<()> {
    if about.uid() != rustix::process::geteuid().as_raw() {
        return Err(io::Error::other("it belongs to another user"));
    }
    if about.mode() & 0o022 != 0 {
        return Err(io::Error::other("others can change it"));
    }
    Ok(())
}

/// Makes room for another record.
fn forget_oldest(dir: &Path) {
    let age = |entry: &fs::DirEntry| entry.metadata().and_then(|about| about.modified()).ok();
    let mut records: Vec<_> = fs::read_dir(dir).into_iter().flatten().flatten().collect();
    records.sort_by_cached_key(age);
    let n_spare = records.len().saturating_sub(MAX_RECORDS - 1);
    // A record that can't be removed now is tried again next time.
    records
        .iter()
        .take(n_spare)
        .for_each(|entry| drop(fs::remove_file(entry.path())));
}
