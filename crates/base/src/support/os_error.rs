//! Errors of the operating system, for people.

use std::io::{Error, ErrorKind};

/// What went wrong, without the number that only the system knows. It ends the sentence "failed to
/// ...: ".
pub fn in_words(error: &Error) -> String {
    match error.kind() {
        ErrorKind::ConnectionRefused => "nothing listens there".into(),
        ErrorKind::NotFound if error.raw_os_error().is_some() => "no such file or directory".into(),
        ErrorKind::IsADirectory if error.raw_os_error().is_some() => "it is a directory".into(),
        _ => {
            let text = error.to_string();
            match text.split_once(" (os error ") {
                Some((said, _)) => said.to_lowercase(),
                None => text,
            }
        }
    }
}
