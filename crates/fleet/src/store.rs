//! A followed channel on disk: the sets that came, the one that counts, and the highest revision
//! that ever did.
//!
//! `current` is a link to `sets/NAME`, where `files` are the bundle's and `envelope.json` holds the
//! bytes that came, so that they can be verified again at each start. A set is complete on the disk
//! before the link is turned to it at once. Whoever reads a set reads each file once and keeps what
//! was verified: a file that is changed afterwards changes nothing. The hosts of one user share a
//! store; a lock lets one of them change it at a time.

use crate::bundle::{self, Files, KIND, Manifest};
use crate::digest::Sha256;
use crate::envelope::{Signers, open_envelope};
use crate::hosts::InForce;
use crate::name::Name;
use crate::streams::MAX_MANIFEST;
use hookwire_ask::file;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;

/// Who is believed, about what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pins {
    /// The channel.
    pub channel: Name,
    /// The keys, and how many of them must have signed.
    pub signers: Signers,
}

/// A manifest that is believed.
#[derive(Clone, Debug)]
pub(crate) struct Believed {
    pub(crate) manifest: Manifest,
    /// Of the payload.
    pub(crate) digest: Sha256,
    /// As it came.
    pub(crate) envelope: Vec<u8>,
}

impl Believed {
    /// Reads what came, in the order that hostile input is read in: its length, the signatures,
    /// then what they are for.
    pub(crate) fn from_envelope(envelope: &[u8], pins: &Pins) -> Result<Believed, String> {
        let (payload, _) = open_envelope(envelope, MAX_MANIFEST, KIND, &pins.signers)
            .map_err(|error| error.to_string())?;
        let manifest = Manifest::parse(&payload).map_err(|error| error.to_string())?;
        if manifest.channel != pins.channel {
            return Err(format!(
                "it is for the channel {}, not {}",
                manifest.channel, pins.channel
            ));
        }
        Ok(Believed {
            manifest,
            digest: Sha256::of_bytes(&payload),
            envelope: envelope.to_vec(),
        })
    }

    pub(crate) fn in_force(&self) -> InForce {
        InForce {
            revision: self.manifest.revision,
            digest: self.digest,
            content: self.manifest.content(),
            canary: self.manifest.stage != bundle::Stage::All,
            expires: self.manifest.expires,
        }
    }
}

/// A set that was verified, in memory. What the disk has of it may be changed by others.
#[derive(Debug)]
pub struct Bundle {
    pub(crate) believed: Believed,
    in_force: InForce,
    /// Its files.
    pub files: Arc<Files>,
    /// The directory that they were in when they were verified: programs are started from there,
    /// each after another look.
    pub dir: PathBuf,
}

impl Bundle {
    /// What a report says of it.
    pub fn in_force(&self) -> &InForce {
        &self.in_force
    }

    fn new(believed: Believed, files: Files, set: &Path) -> Bundle {
        let in_force = believed.in_force();
        Bundle {
            believed,
            in_force,
            files: Arc::new(files),
            dir: set.join(FILES),
        }
    }
}

impl PartialEq for Bundle {
    fn eq(&self, other: &Bundle) -> bool {
        self.in_force == other.in_force && self.dir == other.dir
    }
}

impl Eq for Bundle {}

/// The directory of a followed channel.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    dir: PathBuf,
    pins: Pins,
}

/// What was ever accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Highest {
    pub(crate) revision: u64,
    pub(crate) digest: Sha256,
}

/// What is in force at the moment.
#[derive(Debug)]
pub(crate) enum Current {
    /// Nothing ever was.
    Nothing,
    /// This is.
    Good(Box<Bundle>),
    /// This is as it was signed, and came before what was in force already, or nobody knows whether
    /// it did; why.
    Older(Box<Bundle>, String),
    /// Something was, and isn't as it was signed.
    Broken(String),
}

impl Current {
    /// The set in force, if it is as it was signed.
    pub(crate) fn good_bundle(self) -> Option<Bundle> {
        match self {
            Current::Good(bundle) => Some(*bundle),
            Current::Nothing | Current::Older(..) | Current::Broken(_) => None,
        }
    }
}

const CURRENT: &str = "current";
const SETS: &str = "sets";
const FILES: &str = "files";
const ENVELOPE: &str = "envelope.json";
const HIGHEST: &str = "highest.json";
const STAGING: &str = ".new-";
/// How long another process may hold the lock. It has that while it writes a few files.
const HELD_FOR: Duration = Duration::from_secs(10);
/// How many sets stay beside the one in force, for hosts that are reading them.
const KEPT: usize = 2;

impl Store {
    pub(crate) fn open(dir: &Path, pins: Pins) -> io::Result<Store> {
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(dir.join(SETS))?;
        Ok(Store {
            dir: std::path::absolute(dir)?,
            pins,
        })
    }

    pub(crate) fn pins(&self) -> &Pins {
        &self.pins
    }

    /// The directory of the files in force.
    pub(crate) fn files(&self) -> PathBuf {
        self.dir.join(CURRENT).join(FILES)
    }

    /// One process at a time changes the store. The lock is let go with what is returned.
    pub(crate) fn lock(&self) -> io::Result<File> {
        let mut options = fs::OpenOptions::new();
        options.create(true).truncate(false).write(true).mode(0o600);
        let path = self.dir.join("lock");
        let lock = file::open_as(&mut options, &path)?;
        file::lock(&lock, HELD_FOR).map_err(|error| {
            io::Error::new(error.kind(), format!("{}: {error}", path.display()))
        })?;
        Ok(lock)
    }

    /// The highest revision that ever was in force. A file that can't be read is told, because
    /// without it older revisions could come back.
    pub(crate) fn highest(&self) -> io::Result<Option<Highest>> {
        match file::read_small(&self.dir.join(HIGHEST), 4096) {
            Ok(bytes) => Ok(Some(serde_json::from_slice(&bytes)?)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// What is in force, held to what was signed and to the highest revision that ever was in
    /// force.
    pub(crate) fn current(&self) -> Current {
        // Read first: whoever turns to a newer set at the moment writes it last.
        let highest = match self.highest() {
            Ok(highest) => highest,
            Err(error) => {
                return Current::Broken(format!("{}: {error}", self.dir.join(HIGHEST).display()));
            }
        };
        let bundle = match (self.read_current(), highest) {
            (Ok(Some(bundle)), _) => Box::new(bundle),
            (Ok(None), None) => return Current::Nothing,
            (Ok(None), Some(highest)) => {
                return Current::Broken(format!(
                    "revision {} was in force and is gone",
                    highest.revision
                ));
            }
            (Err(problem), _) => return Current::Broken(problem),
        };
        let revision = bundle.in_force.revision;
        match highest {
            Some(highest) if revision < highest.revision => {
                let problem = format!(
                    "revision {revision} is there, and revision {} was in force",
                    highest.revision
                );
                Current::Older(bundle, problem)
            }
            Some(highest)
                if revision == highest.revision && bundle.believed.digest != highest.digest =>
            {
                Current::Older(bundle, format!("another revision {revision} was in force"))
            }
            Some(_) => Current::Good(bundle),
            None => {
                let gone = self.dir.join(HIGHEST);
                let problem = format!(
                    "{} is gone, which says what the highest revision in force was",
                    gone.display()
                );
                Current::Older(bundle, problem)
            }
        }
    }

    fn read_current(&self) -> Result<Option<Bundle>, String> {
        let set = match fs::read_link(self.dir.join(CURRENT)) {
            Ok(target) => self.dir.join(target),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(format!("{}: {error}", self.dir.join(CURRENT).display())),
        };
        let at = set.join(ENVELOPE);
        let envelope = file::read_small(&at, MAX_MANIFEST as u64)
            .map_err(|error| format!("{}: {error}", at.display()))?;
        let believed = Believed::from_envelope(&envelope, &self.pins)?;
        let files = bundle::read_verified(&set.join(FILES), &believed.manifest)
            .map_err(|problem| format!("{}: {problem}", set.display()))?;
        Ok(Some(Bundle::new(believed, files, &set)))
    }

    /// Writes a set beside the others and has it checked, which may take long. Nobody reads it yet.
    ///
    /// # Errors
    /// It can't be written, or it isn't sound.
    pub(crate) fn stage_set(
        &self,
        believed: &Believed,
        contents: &BTreeMap<Sha256, Vec<u8>>,
        check: impl FnOnce(&Files, &Path) -> Result<(), String>,
    ) -> Result<Staged, NotInForce> {
        let staging = self.staging().map_err(unwritten_set)?;
        let files = staging.path().join(FILES);
        fs::create_dir(&files).map_err(unwritten_set)?;
        for entry in &believed.manifest.files {
            let content = contents
                .get(&entry.sha256)
                .ok_or_else(|| format!("{} didn't come", entry.path))?;
            let mode = if entry.executable { 0o755 } else { 0o644 };
            write_synced(&files, &entry.path, content, mode).map_err(unwritten_set)?;
        }
        write_synced(staging.path(), ENVELOPE, &believed.envelope, 0o644).map_err(unwritten_set)?;
        let verified =
            || bundle::read_verified(&files, &believed.manifest).map_err(NotInForce::Now);
        check(&verified()?, &files)?;
        // What a check may have left beside the files, such as compiled scripts, isn't signed.
        let files = verified()?;
        sync_dirs(staging.path()).map_err(unwritten_set)?;
        Ok(Staged { staging, files })
    }

    /// Turns to a set that was written. The store is locked.
    ///
    /// # Errors
    /// It can't be written. The set before stays.
    pub(crate) fn adopt_staged(
        &self,
        believed: &Believed,
        staged: Staged,
    ) -> Result<Bundle, NotInForce> {
        let digest: String = believed.digest.to_string().chars().take(16).collect();
        let name = format!("{}-{digest}", believed.manifest.revision);
        let name = self.turn_to(staged.staging, &name).map_err(unwritten_set)?;
        self.keep_highest(believed).map_err(unwritten_set)?;
        self.prune_sets(&name);
        Ok(Bundle::new(
            believed.clone(),
            staged.files,
            &self.dir.join(SETS).join(name),
        ))
    }

    /// Writes a set anew that is in memory, and turns to that. The store is locked.
    ///
    /// # Errors
    /// It can't be written.
    pub(crate) fn write_anew(&self, bundle: &Bundle) -> Result<Bundle, NotInForce> {
        let staged = self.stage_set(&bundle.believed, &bundle.files.contents, |_, _| Ok(()))?;
        self.adopt_staged(&bundle.believed, staged)
    }

    fn staging(&self) -> io::Result<TempDir> {
        tempfile::Builder::new()
            .prefix(STAGING)
            .tempdir_in(self.dir.join(SETS))
    }

    /// Gives a written set its name, and turns the link to it.
    fn turn_to(&self, staging: TempDir, name: &str) -> io::Result<OsString> {
        let sets = self.dir.join(SETS);
        // One of this name may be there: broken, and read at the moment.
        let unique = staging
            .path()
            .file_name()
            .and_then(|name| name.to_str()?.strip_prefix(STAGING))
            .unwrap_or_default();
        let name = OsString::from(format!("{name}-{unique}"));
        let set = sets.join(&name);
        fs::rename(staging.keep(), &set)?;
        let link = self.dir.join(".turning");
        let _ = fs::remove_file(&link);
        std::os::unix::fs::symlink(Path::new(SETS).join(&name), &link)?;
        fs::rename(&link, self.dir.join(CURRENT))?;
        file::sync_directory(&sets)?;
        file::sync_directory(&self.dir)?;
        Ok(name)
    }

    /// Writes down that this is the highest revision, unless that or a higher one is known.
    pub(crate) fn keep_highest(&self, believed: &Believed) -> io::Result<()> {
        let highest = Highest {
            revision: believed.manifest.revision,
            digest: believed.digest,
        };
        // One that can't be read says nothing, and this one was in force.
        if self
            .highest()
            .is_ok_and(|known| known.is_some_and(|it| it.revision >= highest.revision))
        {
            return Ok(());
        }
        let mut file = tempfile::NamedTempFile::new_in(&self.dir)?;
        serde_json::to_writer(&mut file, &highest)?;
        file.as_file().sync_all()?;
        file.persist(self.dir.join(HIGHEST))?;
        file::sync_directory(&self.dir)
    }

    /// Removes sets that nobody reads any more. What can't be removed stays.
    fn prune_sets(&self, current: &OsStr) {
        let Ok(entries) = fs::read_dir(self.dir.join(SETS)) else {
            return;
        };
        let mut sets: Vec<_> = entries
            .flatten()
            // What others write at the moment, or left an hour ago when they were killed.
            .filter(|entry| {
                entry.file_name() != current && (!is_staging(&entry.file_name()) || is_old(entry))
            })
            .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
            .collect();
        sets.sort();
        let n = sets.len().saturating_sub(KEPT);
        for (_, path) in sets.into_iter().take(n) {
            let _ = fs::remove_dir_all(path);
        }
    }
}

/// A set that was written beside the others.
pub(crate) struct Staged {
    staging: TempDir,
    files: Files,
}

/// Why a set isn't put in force, for people.
#[derive(Debug)]
pub(crate) enum NotInForce {
    /// What was published is so.
    Refused(String),
    /// This machine is so at the moment, such as one whose disk is full.
    Now(String),
}

impl NotInForce {
    pub(crate) fn reason(self) -> String {
        match self {
            NotInForce::Refused(reason) | NotInForce::Now(reason) => reason,
        }
    }
}

impl From<String> for NotInForce {
    fn from(reason: String) -> NotInForce {
        NotInForce::Refused(reason)
    }
}

pub(crate) fn unwritten_set(error: io::Error) -> NotInForce {
    NotInForce::Now(format!("it can't be written: {error}"))
}

fn is_staging(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(STAGING.as_bytes())
}

fn is_old(entry: &fs::DirEntry) -> bool {
    let age = entry
        .metadata()
        .and_then(|metadata| metadata.modified())
        .ok()
        .and_then(|it| it.elapsed().ok());
    age.is_some_and(|age| age > Duration::from_secs(3600))
}

/// Writes a new file below a directory, and the directories on the way to it.
fn write_synced(dir: &Path, path: &str, content: &[u8], mode: u32) -> io::Result<()> {
    let path = dir.join(path);
    if let Some(around) = path.parent() {
        fs::create_dir_all(around)?;
    }
    let mut file = fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(&path)?;
    // Whatever the umask takes away of it is part of what was signed.
    file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(mode))?;
    file.write_all(content)?;
    file.sync_all()
}

/// Has the entries of directories on the disk, the innermost first.
fn sync_dirs(dir: &Path) -> io::Result<()> {
    let mut dirs = vec![dir.to_path_buf()];
    let mut at = 0;
    while let Some(dir) = dirs.get(at).cloned() {
        for entry in fs::read_dir(&dir)?.flatten() {
            if entry.file_type()?.is_dir() {
                dirs.push(entry.path());
            }
        }
        at += 1;
    }
    dirs.iter()
        .rev()
        .try_for_each(|dir| file::sync_directory(dir))
}
