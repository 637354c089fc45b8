//! Which of the machine's hosts this is.
//!
//! The name says nothing of the project. It is the same when the host of a project starts again, so
//! that what it had still to send goes on under the same name; and no two processes have it at
//! once.

use hookwire_base::support::digest;
use hookwire_base::support::file;
use hookwire_fleet::name::{Identity, Name};
use rustix::fs::Mode;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

/// The name of a host, for as long as it runs.
#[derive(Debug)]
pub(super) struct Instance {
    who: Identity,
    _lock: File,
}

/// So many hosts of one project may run at once.
const MAX_HOSTS: usize = 64;
/// How long the number is that tells this user's data from all others.
const N_RANDOM: usize = 16;

impl Instance {
    /// Takes the first name that no other process has.
    pub(super) fn of_host(host: Name, root: &Path) -> Result<Instance, String> {
        let dir = super::data()?;
        Instance::take(&dir, host, root).map_err(|error| format!("{}: {error}", dir.display()))
    }

    fn take(dir: &Path, host: Name, root: &Path) -> io::Result<Instance> {
        let instances = dir.join("instances");
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&instances)?;
        let root = fs::canonicalize(root).unwrap_or_else(|_| root.to_path_buf());
        let digest =
            digest::of_bytes(&[&own_number(dir)?, root.as_os_str().as_encoded_bytes()].concat());
        let base = digest.get(..12).unwrap_or(&digest);
        for n in 1..=MAX_HOSTS {
            let name = if n == 1 {
                format!("p{base}")
            } else {
                format!("p{base}-{n}")
            };
            let place = instances.join(&name);
            fs::DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(&place)?;
            let mut options = OpenOptions::new();
            options.create(true).truncate(false).write(true).mode(0o600);
            let lock = file::open_as(&mut options, &place.join("lock"))?;
            match lock.try_lock() {
                Ok(()) => {
                    let instance = name.parse().map_err(io::Error::other)?;
                    return Ok(Instance {
                        who: Identity { host, instance },
                        _lock: lock,
                    });
                }
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
        Err(io::Error::other(format!(
            "{MAX_HOSTS} hosts of this project run already"
        )))
    }

    pub(super) fn who(&self) -> &Identity {
        &self.who
    }
}

/// A random number that is made once and kept: the same project on two machines, or in two
/// containers, is two hosts, even where they share an account.
fn own_number(dir: &Path) -> io::Result<Vec<u8>> {
    let path = dir.join("number");
    let read = || -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        file::open(&path)?
            .0
            .take(N_RANDOM as u64)
            .read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    match read() {
        Ok(bytes) if bytes.len() == N_RANDOM => return Ok(bytes),
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let mut bytes = [0; N_RANDOM];
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
    let mut file = tempfile::NamedTempFile::new_in(dir)?;
    file.write_all(&bytes)?;
    file.as_file().sync_all()?;
    rustix::fs::fchmod(file.as_file(), Mode::RUSR | Mode::WUSR)?;
    // Two hosts that start at once: the one that is first has made it, the other reads it.
    match file.persist_noclobber(&path) {
        Ok(_) => Ok(bytes.to_vec()),
        Err(_) => read(),
    }
}

#[cfg(test)]
mod tests {
    use super::Instance;
    use std::path::Path;

    #[test]
    fn a_host_has_its_name_again_and_alone() {
        let dir = tempfile::tempdir().unwrap();
        let take = |root: &str| {
            Instance::take(dir.path(), "host-a".parse().unwrap(), Path::new(root)).unwrap()
        };
        let first = take("/a");
        let name = first.who.clone();
        let (second, other) = (take("/a"), take("/b"));
        assert!(second.who != name && other.who != name && second.who != other.who);
        drop(first);
        assert_eq!(take("/a").who, name);
        let elsewhere = tempfile::tempdir().unwrap();
        let there =
            Instance::take(elsewhere.path(), "host-a".parse().unwrap(), Path::new("/a")).unwrap();
        assert_ne!(there.who, name);
    }
}
