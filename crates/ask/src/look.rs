//! What a look at the system finds: something, nothing, or that it couldn't look.
//!
//! A guard that takes "I couldn't look" for "nothing is there" lets pass what it was made to stop,
//! and whoever can make its looks fail has switched it off. So the two are told apart here, by one
//! table, for all who look.

use rustix::io::Errno;
use std::io::Error;

/// What a look has found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Look<T> {
    /// This.
    Found(T),
    /// There is nothing to be found.
    Nothing,
    /// It couldn't be looked, for this reason: whatever depends on it is in doubt.
    Failed(Errno),
}

/// The errors that say that nothing is there, to whoever looks. Any other one says that it couldn't
/// be looked: no file may be opened any more (`EMFILE`, `ENFILE`), there is no memory (`ENOMEM`),
/// the disk or the network fails (`EIO`, `ESTALE`, `ETIMEDOUT`), it isn't allowed (`EACCES`,
/// `EPERM`), or something that nobody has thought of.
const NOTHING: [Errno; 4] = [Errno::NOENT, Errno::NOTDIR, Errno::LOOP, Errno::NAMETOOLONG];

/// The errors of a directory that this process may not search. Then what it starts finds nothing
/// there either.
const CLOSED: [Errno; 2] = [Errno::ACCESS, Errno::PERM];

/// Whether an error says that nothing is there.
pub fn is_nothing(error: &Error) -> bool {
    Errno::from_io_error(error).is_some_and(|error| NOTHING.contains(&error))
}

impl<T> Look<T> {
    /// A look at something that is to be judged.
    pub fn from_result(looked: Result<T, Errno>) -> Look<T> {
        match looked {
            Ok(found) => Look::Found(found),
            Err(error) if NOTHING.contains(&error) => Look::Nothing,
            Err(error) => Look::Failed(error),
        }
    }

    /// The same, of the standard library. An error that isn't the system's is a failure, too.
    pub fn of_io(looked: std::io::Result<T>) -> Look<T> {
        Look::from_result(looked.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO)))
    }

    /// Where a directory that may not be searched has nothing for anybody: one of PATH, one that a
    /// walk comes by.
    pub fn or_closed(self) -> Look<T> {
        match self {
            Look::Failed(error) if CLOSED.contains(&error) => Look::Nothing,
            other => other,
        }
    }

    /// What was found, changed.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Look<U> {
        match self {
            Look::Found(found) => Look::Found(change(found)),
            Look::Nothing => Look::Nothing,
            Look::Failed(error) => Look::Failed(error),
        }
    }

    /// What was found, if anything was; why it couldn't be looked.
    ///
    /// # Errors
    /// It couldn't be looked.
    pub fn known(self) -> Result<Option<T>, Errno> {
        match self {
            Look::Found(found) => Ok(Some(found)),
            Look::Nothing => Ok(None),
            Look::Failed(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_says_so_is_nothing() {
        for (error, of_file, of_directory) in [
            (Errno::NOENT, Look::Nothing, Look::Nothing),
            (Errno::NOTDIR, Look::Nothing, Look::Nothing),
            (Errno::LOOP, Look::Nothing, Look::Nothing),
            (Errno::NAMETOOLONG, Look::Nothing, Look::Nothing),
            (Errno::ACCESS, Look::Failed(Errno::ACCESS), Look::Nothing),
            (Errno::PERM, Look::Failed(Errno::PERM), Look::Nothing),
            (
                Errno::MFILE,
                Look::Failed(Errno::MFILE),
                Look::Failed(Errno::MFILE),
            ),
            (
                Errno::NFILE,
                Look::Failed(Errno::NFILE),
                Look::Failed(Errno::NFILE),
            ),
            (
                Errno::NOMEM,
                Look::Failed(Errno::NOMEM),
                Look::Failed(Errno::NOMEM),
            ),
            (Errno::IO, Look::Failed(Errno::IO), Look::Failed(Errno::IO)),
            (
                Errno::STALE,
                Look::Failed(Errno::STALE),
                Look::Failed(Errno::STALE),
            ),
            (
                Errno::TIMEDOUT,
                Look::Failed(Errno::TIMEDOUT),
                Look::Failed(Errno::TIMEDOUT),
            ),
            (
                Errno::XDEV,
                Look::Failed(Errno::XDEV),
                Look::Failed(Errno::XDEV),
            ),
        ] {
            let look = || Look::<()>::from_result(Err(error));
            assert_eq!(
                (look(), look().or_closed()),
                (of_file, of_directory),
                "{error:?}"
            );
            assert_eq!(
                is_nothing(&error.into()),
                look() == Look::Nothing,
                "{error:?}"
            );
        }
        assert_eq!(
            Look::of_io(Err::<(), _>(Error::other("x"))),
            Look::Failed(Errno::IO)
        );
    }
}
