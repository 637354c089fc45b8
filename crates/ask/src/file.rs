//! Files whose places others may have written: whoever has put one there may have put a pipe, a
//! device or a terabyte.

use rustix::fs::OFlags;
use std::fs::{File, Metadata, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Opens the regular file that a path leads to, without ever waiting. Flags that the options have
/// are lost.
///
/// # Errors
/// It can't be opened, or is something else.
pub fn open_as(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    open_regular(options, OFlags::empty(), path).map(|(file, _)| file)
}

/// Opens a regular file for reading: no link, and nothing that a reader would wait for.
///
/// # Errors
/// It can't be opened, or is something else.
pub fn open_own(path: &Path) -> io::Result<File> {
    open_regular(OpenOptions::new().read(true), OFlags::NOFOLLOW, path).map(|(file, _)| file)
}

/// Opens the regular file that a path leads to, for reading, without ever waiting.
///
/// # Errors
/// It can't be opened, or is something else.
pub fn open(path: &Path) -> io::Result<(File, Metadata)> {
    open_regular(OpenOptions::new().read(true), OFlags::empty(), path)
}

fn open_regular(
    options: &mut OpenOptions,
    flags: OFlags,
    path: &Path,
) -> io::Result<(File, Metadata)> {
    // Opening a named pipe would wait for a writer; opening a terminal could make it this process's
    // own.
    let flags = flags | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = options
        .custom_flags(flags.bits().cast_signed())
        .open(path)?;
    let metadata = file.metadata()?;
    match metadata.is_file() {
        true => Ok((file, metadata)),
        false if metadata.is_dir() => Err(io::Error::other("it is a directory")),
        false => Err(io::Error::other("it is not a regular file")),
    }
}

/// The bytes of a regular file of at most so many, whoever has put it there: it never waits, and
/// holds no more. All files that an event or a project names are read by this.
///
/// # Errors
/// It can't be read, is no regular file or is larger.
pub fn read_small(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let (file, metadata) = open(path)?;
    let mut bytes = Vec::new();
    // What it says of its size may be wrong: files of the kernel say 0, and others grow.
    if metadata.len() > most || file.take(most + 1).read_to_end(&mut bytes)? as u64 > most {
        return Err(io::Error::new(
            ErrorKind::FileTooLarge,
            format!("it is larger than {}", size_in_words(most)),
        ));
    }
    Ok(bytes)
}

/// The text of a regular file of at most so many bytes.
///
/// # Errors
/// It can't be read, is no regular file, is larger or isn't text.
pub fn read_text(path: &Path, most: u64) -> io::Result<String> {
    String::from_utf8(read_small(path, most)?)
        .map_err(|error| io::Error::new(ErrorKind::InvalidData, error.utf8_error()))
}

/// Opens what a person names on a command line. It may be a pipe, and its writer is waited for.
///
/// # Errors
/// It can't be opened.
#[expect(
    clippy::disallowed_methods,
    reason = "who runs the command has named the file, and can end it"
)]
pub fn open_given(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// Has the disk keep the names in a directory.
///
/// # Errors
/// It can't be opened, or the disk fails.
#[expect(
    clippy::disallowed_methods,
    reason = "opening a directory waits for nobody"
)]
pub fn sync_directory(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// A limit of a file's size, for people.
pub fn size_in_words(bytes: u64) -> String {
    match bytes {
        ..1024 => format!("{bytes} bytes"),
        _ if bytes >> 20 > 0 => format!("{} MiB", bytes >> 20),
        _ => format!("{} KiB", bytes >> 10),
    }
}

/// Waits until a file is this process's to hold, for a while.
///
/// # Errors
/// Another process holds it all the time.
pub fn lock(file: &File, patience: Duration) -> io::Result<()> {
    let began = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) if began.elapsed() < patience => {
                sleep(Duration::from_millis(10))
            }
            Err(TryLockError::WouldBlock) => {
                let problem = format!(
                    "another process has held its lock for {} s",
                    patience.as_secs()
                );
                return Err(io::Error::new(ErrorKind::TimedOut, problem));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::lock;
    use std::io::ErrorKind;
    use std::time::Duration;

    #[test]
    fn a_lock_that_is_held_is_waited_for_no_longer_than_said() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let other = file.reopen().unwrap();
        lock(&other, Duration::ZERO).unwrap();
        assert_eq!(
            lock(file.as_file(), Duration::ZERO).unwrap_err().kind(),
            ErrorKind::TimedOut
        );
        drop(other);
        lock(file.as_file(), Duration::ZERO).unwrap();
    }
}
