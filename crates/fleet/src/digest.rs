//! SHA-256, as it names files.

use serde::{Deserialize, Serialize};
use sha2::Digest;
use std::fmt;
use std::str::FromStr;

/// The SHA-256 of some bytes. As a text, 64 lower-case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Sha256([u8; 32]);

/// The text isn't 64 lower-case hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a SHA-256 is 64 lower-case hexadecimal digits")]
pub struct NotADigest;

impl Sha256 {
    /// Of these bytes.
    pub fn of_bytes(bytes: &[u8]) -> Sha256 {
        Sha256(sha2::Sha256::digest(bytes).into())
    }
}

impl fmt::Display for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Sha256 {
    type Err = NotADigest;

    fn from_str(text: &str) -> Result<Sha256, NotADigest> {
        let digit = |byte: u8| match byte {
            b'0'..=b'9' => Ok(byte - b'0'),
            b'a'..=b'f' => Ok(byte - b'a' + 10),
            _ => Err(NotADigest),
        };
        let (pairs, rest) = text.as_bytes().as_chunks::<2>();
        if pairs.len() != 32 || !rest.is_empty() {
            return Err(NotADigest);
        }
        let mut bytes = [0; 32];
        for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
            *byte = digit(*high)? << 4 | digit(*low)?;
        }
        Ok(Sha256(bytes))
    }
}

impl TryFrom<String> for Sha256 {
    type Error = NotADigest;

    fn try_from(text: String) -> Result<Sha256, NotADigest> {
        text.parse()
    }
}

impl From<Sha256> for String {
    fn from(digest: Sha256) -> String {
        digest.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::Sha256;

    #[test]
    fn a_digest_has_one_spelling() {
        let text = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(Sha256::of_bytes(b"abc").to_string(), text);
        assert_eq!(text.parse(), Ok(Sha256::of_bytes(b"abc")));
        for other in [
            &text[1..],
            &text.to_uppercase(),
            &format!("{text}0"),
            &text.replace('b', "g"),
            "",
        ] {
            assert!(other.parse::<Sha256>().is_err(), "{other}");
        }
    }
}
