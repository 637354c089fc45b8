//! Names of contents: SHA-256 in the forms that the code needs.

use serde_json::Value;
use sha2::{Digest, Sha256};
use std::fmt::Write;

/// Bytes as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        // Writing into memory doesn't fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// A hash of texts in their order that keeps them apart: nothing can be shifted from one to the next.
pub(crate) fn of_texts(texts: &[&str]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for text in texts {
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text);
    }
    hash.finalize().into()
}

/// A hash of a value, in hexadecimal digits, whatever the order of its members. Recursion is bounded
/// by the parser that read the value.
pub(crate) fn of_value(value: &Value) -> String {
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
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => hash.update(value.to_string()),
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
