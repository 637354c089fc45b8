//! Names that stand in subjects. A permission of the server is about subjects, so a name must be
//! one token of them.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// One token of a subject: 1 to 64 of `A-Z a-z 0-9 _ -`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Name(String);

/// Why a text is no [`Name`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no name here: write 1 to 64 of the characters A-Z, a-z, 0-9, _ and -")]
pub struct BadName(String);

const MAX_LENGTH: usize = 64;

impl Name {
    /// The nearest name to a text that people chose, such as a machine's: other characters become
    /// `-`.
    pub fn nearest(text: &str) -> Name {
        let name: String = text
            .chars()
            .take(MAX_LENGTH)
            .map(|character| {
                if character.is_ascii_alphanumeric() || character == '_' || character == '-' {
                    character
                } else {
                    '-'
                }
            })
            .collect();
        Name(if name.is_empty() {
            "unnamed".into()
        } else {
            name
        })
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Name {
    type Err = BadName;

    fn from_str(text: &str) -> Result<Name, BadName> {
        let is_name = !text.is_empty()
            && text.len() <= MAX_LENGTH
            && text
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
        if is_name {
            Ok(Name(text.into()))
        } else {
            Err(BadName(text.chars().take(MAX_LENGTH).collect()))
        }
    }
}

impl TryFrom<String> for Name {
    type Error = BadName;

    fn try_from(text: String) -> Result<Name, BadName> {
        text.parse()
    }
}

impl From<Name> for String {
    fn from(name: Name) -> String {
        name.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Who a host is on the bus.
///
/// `host` is what the server's permissions know: an account may publish under its own name alone.
/// One machine runs a host for each project, so `instance` tells these apart; it stays the same
/// when the host starts again.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Identity {
    /// The machine, as the server's permissions name it.
    pub host: Name,
    /// The host's process on that machine.
    pub instance: Name,
}

impl fmt::Display for Identity {
    /// As it stands in subjects: `HOST.INSTANCE`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.host, self.instance)
    }
}

#[cfg(test)]
mod tests {
    use super::Name;

    #[test]
    fn a_name_is_one_token_of_a_subject() {
        let long = "a".repeat(65);
        for (text, is_name) in [
            ("host-7_b", true),
            (&long[..64], true),
            ("", false),
            ("a.b", false),
            ("*", false),
            (">", false),
            ("a b", false),
            ("a\r\nPUB x 0", false),
            ("é", false),
            (&long, false),
        ] {
            assert_eq!(text.parse::<Name>().is_ok(), is_name, "{text:?}");
            assert!(
                Name::nearest(text).as_str().parse::<Name>().is_ok(),
                "{text:?}"
            );
        }
    }
}
