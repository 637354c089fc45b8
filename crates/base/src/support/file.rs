//! Files as they are read: regular ones of bounded size, and what tells that one has changed.

use crate::support::os_error::in_words;
use hookwire_ask::file::size_in_words;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::fmt;
use std::fs::{self, Metadata};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::string::FromUtf8Error;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tempfile::NamedTempFile;

pub use hookwire_ask::file::{
    lock, open, open_as, open_given, open_own, read_small, sync_directory,
};

/// Tells that a file is unchanged without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signature {
    device: u64,
    inode: u64,
    size: u64,
    modified: SystemTime,
    pub changed: SystemTime,
}

/// A file that was changed this shortly before it was read may change again within the clock's
/// grain: it is read again next time. (git calls such entries racy.)
const RACY: Duration = Duration::from_millis(100);
/// How shortly before, on file systems that keep whole seconds.
const RACY_SECONDS: Duration = Duration::from_secs(2);
/// The largest file, in bytes.
pub const MAX_FILE: u64 = 4 << 20;

/// Reads a file that a definition names.
///
/// # Errors
/// It can't be read, is too large or isn't text; for people.
pub fn read_named(path: &Path) -> Result<String, String> {
    read(path)
        .map(|(text, _)| text)
        .map_err(|error| error.to_string())
}

/// Why a file can't be read, for people.
#[derive(Debug)]
pub enum Unread {
    Error(String),
    /// It isn't UTF-8 from the end of this text on.
    NotText(String),
}

impl Unread {
    /// The file is not text from the first byte on that no text has.
    pub fn not_text(error: &FromUtf8Error) -> Unread {
        Unread::NotText(
            String::from_utf8_lossy(&error.as_bytes()[..error.utf8_error().valid_up_to()])
                .into_owned(),
        )
    }
}

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unread::Error(error) => f.write_str(error),
            Unread::NotText(before) => {
                let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
                write!(f, "line {line} is not UTF-8 text")
            }
        }
    }
}

impl From<String> for Unread {
    fn from(error: String) -> Unread {
        Unread::Error(error)
    }
}

/// Names a directory, by whatever path it is reached: its device and its number there.
pub fn identity(metadata: &Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}

/// The signature of the file that a path leads to, if it leads anywhere.
pub fn signature(path: &Path) -> Option<Signature> {
    fs::metadata(path)
        .ok()
        .map(|it| Signature::from_metadata(&it))
}

/// Puts a text in the place of a file's, or makes the file, at once or not at all. Who may do what
/// with a file that is there stays; a new one has this mode.
///
/// # Errors
/// It can't be written; then the file is as it was.
pub fn replace(path: &Path, text: &str, new_mode: u32) -> std::io::Result<()> {
    let mode = fs::metadata(path).map_or(new_mode, |about| about.permissions().mode());
    let mut new = new_beside(path)?;
    new.write_all(text.as_bytes())?;
    new.as_file()
        .set_permissions(PermissionsExt::from_mode(mode))?;
    new.as_file().sync_all()?;
    new.persist(path).map(drop).map_err(|error| error.error)
}

/// A new file of this user's alone, to take the place of another one. Nobody knows its name in
/// advance, so whoever wrote the files beside it can't have put a link there.
pub fn new_beside(path: &Path) -> std::io::Result<NamedTempFile> {
    let dir = path
        .parent()
        .filter(|dir| !dir.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    // Who looks for definitions passes over names with a dot.
    tempfile::Builder::new()
        .prefix(".hookwire-")
        .tempfile_in(dir)
}

/// The text of a regular file of at most [`MAX_FILE`] bytes, as [`read_small`] reads it.
///
/// # Errors
/// It can't be read, is no regular file, is larger or isn't text.
pub fn read_text(path: impl AsRef<Path>) -> io::Result<String> {
    hookwire_ask::file::read_text(path.as_ref(), MAX_FILE)
}

/// The text of what a person names on a command line.
pub fn read_given(path: impl AsRef<Path>) -> io::Result<String> {
    let mut text = String::new();
    open_given(path.as_ref())?.read_to_string(&mut text)?;
    Ok(text)
}

/// A file's text, and what it looked like when it was opened.
pub fn read(path: &Path) -> Result<(String, Signature), Unread> {
    let in_words = |error: io::Error| in_words(&error);
    let (file, metadata) = open(path).map_err(in_words)?;
    let mut bytes = Vec::new();
    if file
        .take(MAX_FILE + 1)
        .read_to_end(&mut bytes)
        .map_err(in_words)? as u64
        > MAX_FILE
    {
        return Err(format!("it is larger than {}", size_in_words(MAX_FILE)).into());
    }
    let text = String::from_utf8(bytes).map_err(|error| Unread::not_text(&error))?;
    Ok((text, Signature::from_metadata(&metadata)))
}

/// Files that are read once: whoever reads one again gets what was there the first time, whatever
/// is written meanwhile. They are known by their paths without symlinks.
#[derive(Clone, Default)]
pub struct Reads(Arc<Mutex<HashMap<PathBuf, Once>>>);

/// A file as it was read, or why it can't be read.
type Once = Result<(Arc<[u8]>, Metadata), String>;

impl Reads {
    /// The largest file, and all together, in bytes.
    const MOST: u64 = 16 << 20;
    const MOST_TOGETHER: usize = 64 << 20;

    /// The bytes of a file, and what it looked like when it was opened.
    ///
    /// # Errors
    /// It can't be read, or is too large.
    pub fn bytes(&self, path: &Path) -> io::Result<(Arc<[u8]>, Metadata)> {
        self.once(path).map_err(io::Error::other)
    }

    /// The text of a file, as [`read`] has it.
    pub fn text(&self, path: &Path) -> Result<(String, Signature), Unread> {
        let (bytes, about) = self.once(path)?;
        if bytes.len() as u64 > MAX_FILE {
            return Err(format!("it is larger than {} MiB", MAX_FILE >> 20).into());
        }
        let text = String::from_utf8(bytes.to_vec()).map_err(|error| Unread::not_text(&error))?;
        Ok((text, Signature::from_metadata(&about)))
    }

    /// Whether a file was read.
    pub fn has(&self, path: &Path) -> bool {
        self.0.lock().contains_key(path)
    }

    fn once(&self, path: &Path) -> Once {
        let mut known = self.0.lock();
        if let Some(once) = known.get(path) {
            return once.clone();
        }
        let together: usize = known.values().flatten().map(|(bytes, _)| bytes.len()).sum();
        let once = open(path)
            .map_err(|error| in_words(&error))
            .and_then(|(file, about)| {
                let mut bytes = Vec::new();
                let n = file
                    .take(Reads::MOST + 1)
                    .read_to_end(&mut bytes)
                    .map_err(|error| in_words(&error))?;
                match n as u64 > Reads::MOST || together + n > Reads::MOST_TOGETHER {
                    true => Err(format!("it is larger than {} MiB", Reads::MOST >> 20)),
                    false => Ok((bytes.into(), about)),
                }
            });
        known.insert(path.to_path_buf(), once.clone());
        once
    }
}

impl Signature {
    pub fn from_metadata(metadata: &Metadata) -> Signature {
        let modified = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        let seconds = Duration::from_secs(metadata.ctime().try_into().unwrap_or_default());
        let changed = Duration::from_nanos(metadata.ctime_nsec().try_into().unwrap_or_default());
        Signature {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.len(),
            modified,
            changed: SystemTime::UNIX_EPOCH + seconds + changed,
        }
    }

    /// Of a text that is in no file: it never looks changed.
    pub fn of_nothing() -> Signature {
        let (modified, changed) = (SystemTime::UNIX_EPOCH, SystemTime::UNIX_EPOCH);
        Signature {
            device: 0,
            inode: 0,
            size: 0,
            modified,
            changed,
        }
    }

    /// In bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    pub fn is_newer_than(&self, time: SystemTime) -> bool {
        // A clock that was set back must not shut a file out.
        let is_in_future = self
            .changed
            .duration_since(SystemTime::now())
            .is_ok_and(|ahead| ahead > RACY);
        self.changed > time && !is_in_future
    }

    pub fn is_racy(&self) -> bool {
        let fraction = self
            .changed
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default()
            .subsec_nanos();
        let grain = if fraction == 0 { RACY_SECONDS } else { RACY };
        // A time in the future is another machine's clock.
        self.changed.elapsed().unwrap_or_default() < grain
    }
}
