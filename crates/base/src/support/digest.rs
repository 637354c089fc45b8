//! Names of contents: SHA-256 in the forms that the code needs.

use super::file::{self, Signature};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::io::{self, Read};
use std::path::Path;

pub use hookwire_ask::hex;

/// The hash of bytes, in hexadecimal digits.
pub fn of_bytes(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// The hash of a file's content, in hexadecimal digits.
///
/// # Errors
/// It can't be read, or is no regular file.
pub fn of_file(path: &Path) -> io::Result<String> {
    of_open_file(path).map(|(hash, _)| hash)
}

/// The digest of an open file, and what the file looked like.
///
/// # Errors
/// It can't be read, or is no regular file.
pub fn of_open_file(path: &Path) -> io::Result<(String, Signature)> {
    let (mut file, about) = file::open(path)?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match file.read(&mut buffer)? {
            // As it looked before it was read: what is written meanwhile counts as a change.
            0 => return Ok((hex(&hash.finalize()), Signature::from_metadata(&about))),
            n => hash.update(&buffer[..n]),
        }
    }
}

/// A hash of texts in their order that keeps them apart: nothing can be shifted from one to the
/// next.
pub fn of_texts(texts: &[&str]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for text in texts {
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text);
    }
    hash.finalize().into()
}

/// A hash of a value, in hexadecimal digits, whatever the order of its members. Recursion is
/// bounded by the parser that read the value.
pub fn of_value(value: &Value) -> String {
    fn feed(value: &Value, hash: &mut Sha256) {
        match value {
            Value::Object(members) => {
                let mut members: Vec<_> = members.iter().collect();
                members.sort_by_key(|(key, _)| *key);
                hash.update(b"{");
                for (key, value) in members {
                    hash.update(Value::from(key.as_str()).to_string());
                    hash.update(b":");
                    feed(value, hash);
                    hash.update(b",");
                }
                hash.update(b"}");
            }
            Value::Array(items) => {
                hash.update(b"[");
                for item in items {
                    feed(item, hash);
                    hash.update(b",");
                }
                hash.update(b"]");
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                hash.update(value.to_string())
            }
        }
    }
    let mut hash = Sha256::new();
    feed(value, &mut hash);
    hex(&hash.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_kept_apart() {
        assert_ne!(of_texts(&["a", "bc"]), of_texts(&["ab", "c"]));
        assert_eq!(hex(&[0, 255]), "00ff");
    }
}
