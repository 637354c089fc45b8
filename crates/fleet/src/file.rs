//! Files whose places others may have written: who has put one there may have put a pipe, a device or a terabyte. All files
//! of this crate are opened here.

use rustix::fs::OFlags;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Opens without ever waiting, if it is a regular file.
///
/// # Errors
/// It can't be opened, or is something else.
pub(crate) fn open_as(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    // Opening a named pipe would wait for whoever is at its other end; opening a terminal could make it this process's own.
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = options.custom_flags(flags.bits().cast_signed()).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is not a regular file")) }
}

/// The same for reading.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    open_as(OpenOptions::new().read(true), path)
}

/// The bytes of a file that has at most so many.
///
/// # Errors
/// It can't be read, is no regular file or is larger.
pub(crate) fn read_small(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if open(path)?.take(most + 1).read_to_end(&mut bytes)? as u64 > most {
        return Err(io::Error::new(ErrorKind::FileTooLarge, format!("it has more than {most} bytes")));
    }
    Ok(bytes)
}

/// The same of a text.
pub(crate) fn read_text(path: &Path, most: u64) -> io::Result<String> {
    String::from_utf8(read_small(path, most)?)
        .map_err(|error| io::Error::new(ErrorKind::InvalidData, error.utf8_error()))
}

/// Opens what a person names on a command line. It may be a pipe, and its writer is waited for.
#[expect(clippy::disallowed_methods, reason = "who runs the command has named the file, and can end it")]
pub(crate) fn open_given(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// Has the disk keep the names in a directory.
#[expect(clippy::disallowed_methods, reason = "opening a directory waits for nobody")]
pub(crate) fn sync_dir(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// Waits until a file is this process's to hold, for a while.
///
/// # Errors
/// Another process holds it all the time.
pub(crate) fn lock(file: &File, patience: Duration) -> io::Result<()> {
    let began = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) if began.elapsed() < patience => sleep(Duration::from_millis(10)),
            Err(TryLockError::WouldBlock) => {
                let problem = format!("another process has held its lock for {} s", patience.as_secs());
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
        assert_eq!(lock(file.as_file(), Duration::ZERO).unwrap_err().kind(), ErrorKind::TimedOut);
        drop(other);
        lock(file.as_file(), Duration::ZERO).unwrap();
    }
}
