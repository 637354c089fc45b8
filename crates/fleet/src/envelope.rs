//! Signed bytes: DSSE envelopes (the specification of the in-toto project), as other tools sign and
//! verify them.
//!
//! What is signed is the payload with its type, byte by byte; nobody has to agree on how JSON is
//! written. Nothing of the payload is parsed before enough signatures hold.

use crate::key::{PublicKey, SecretKey};
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The most signatures of an envelope, and keys that one is held against.
pub const MAX_KEYS: usize = 16;

/// As it is on the bus.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Envelope {
    payload: String,
    payload_type: String,
    signatures: Vec<Signature>,
}

#[derive(Serialize, Deserialize)]
struct Signature {
    /// A hint, which isn't believed.
    #[serde(default)]
    keyid: String,
    sig: String,
}

/// Who is believed: so many of these keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signers {
    keys: BTreeSet<PublicKey>,
    threshold: usize,
}

/// The keys and the threshold don't fit each other.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadSigners {
    /// Without a key nothing is believed.
    #[error("no key is pinned")]
    NoKey,
    /// There are too many.
    #[error("more than {MAX_KEYS} keys are pinned")]
    TooMany,
    /// The threshold can't be reached, or is 0.
    #[error("the threshold is {threshold}, but there are {keys} keys")]
    Threshold {
        /// As it is set.
        threshold: usize,
        /// How many different ones.
        keys: usize,
    },
}

impl Signers {
    /// `threshold` different ones of `keys` must have signed.
    ///
    /// # Errors
    /// See [`BadSigners`].
    pub fn new(
        keys: impl IntoIterator<Item = PublicKey>,
        threshold: usize,
    ) -> Result<Signers, BadSigners> {
        let keys: BTreeSet<PublicKey> = keys.into_iter().take(MAX_KEYS + 1).collect();
        match keys.len() {
            0 => Err(BadSigners::NoKey),
            n if n > MAX_KEYS => Err(BadSigners::TooMany),
            n if threshold == 0 || threshold > n => {
                Err(BadSigners::Threshold { threshold, keys: n })
            }
            _ => Ok(Signers { keys, threshold }),
        }
    }

    /// The keys.
    pub fn keys(&self) -> impl Iterator<Item = &PublicKey> {
        self.keys.iter()
    }

    /// How many of them must have signed.
    pub fn threshold(&self) -> usize {
        self.threshold
    }
}

/// Why an envelope isn't believed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unbelieved {
    /// It is longer than what is read.
    #[error("it has {length} bytes, more than {most}")]
    TooLong {
        /// Its length.
        length: usize,
        /// The limit.
        most: usize,
    },
    /// It is no envelope.
    #[error("it is no signed envelope: {0}")]
    Malformed(String),
    /// It is about something else.
    #[error("it is of the type {found:?}, not {wanted}")]
    Type {
        /// What it says.
        found: String,
        /// What was wanted.
        wanted: &'static str,
    },
    /// Too few of the pinned keys have signed.
    #[error("{found} of the pinned keys have signed it, {wanted} must")]
    Signatures {
        /// How many have.
        found: usize,
        /// How many must.
        wanted: usize,
    },
}

/// Signs a payload with these keys.
pub fn sign_payload(payload_type: &str, payload: &[u8], keys: &[&SecretKey]) -> Vec<u8> {
    let message = signed_bytes(payload_type, payload);
    let signatures = keys.iter().map(|key| Signature {
        keyid: key.public().id(),
        sig: BASE64.encode(key.sign(&message)),
    });
    let envelope = Envelope {
        payload: BASE64.encode(payload),
        payload_type: payload_type.into(),
        signatures: signatures.collect(),
    };
    // A structure of texts is always JSON.
    serde_json::to_vec(&envelope).unwrap_or_default()
}

/// The payload of an envelope that enough of these keys have signed, and the keys that have.
///
/// # Errors
/// See [`Unbelieved`].
pub fn open_envelope(
    bytes: &[u8],
    most: usize,
    wanted: &'static str,
    signers: &Signers,
) -> Result<(Vec<u8>, Vec<PublicKey>), Unbelieved> {
    if bytes.len() > most {
        return Err(Unbelieved::TooLong {
            length: bytes.len(),
            most,
        });
    }
    let malformed = |error: &dyn std::fmt::Display| Unbelieved::Malformed(error.to_string());
    let envelope: Envelope = serde_json::from_slice(bytes).map_err(|error| malformed(&error))?;
    if envelope.payload_type != wanted {
        let found = envelope.payload_type.chars().take(80).collect();
        return Err(Unbelieved::Type { found, wanted });
    }
    if envelope.signatures.len() > MAX_KEYS {
        return Err(malformed(&format_args!(
            "it has more than {MAX_KEYS} signatures"
        )));
    }
    let payload = BASE64
        .decode(&envelope.payload)
        .map_err(|error| malformed(&error))?;
    let message = signed_bytes(wanted, &payload);
    let mut by = BTreeSet::new();
    for Signature { sig, .. } in &envelope.signatures {
        let Ok(signature) = BASE64.decode(sig) else {
            continue;
        };
        // A key counts once, however often it has signed.
        by.extend(
            signers
                .keys
                .iter()
                .filter(|key| key.verifies(&message, &signature)),
        );
    }
    if by.len() < signers.threshold {
        return Err(Unbelieved::Signatures {
            found: by.len(),
            wanted: signers.threshold,
        });
    }
    Ok((payload, by.into_iter().collect()))
}

/// What is signed: DSSE's pre-authentication encoding.
fn signed_bytes(payload_type: &str, payload: &[u8]) -> Vec<u8> {
    let head = format!(
        "DSSEv1 {} {payload_type} {} ",
        payload_type.len(),
        payload.len()
    );
    [head.as_bytes(), payload].concat()
}

#[cfg(test)]
mod tests {
    use super::{BadSigners, Signers, Unbelieved, open_envelope, sign_payload, signed_bytes};
    use crate::key::SecretKey;

    const KIND: &str = "application/x-test";

    #[test]
    fn the_signed_bytes_are_those_of_the_specification() {
        // The example of the specification (protocol.md).
        let bytes = signed_bytes("http://example.com/HelloWorld", b"hello world");
        assert_eq!(
            bytes,
            b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
        );
    }

    #[test]
    fn enough_different_keys_must_have_signed() {
        let keys: Vec<SecretKey> = (0..3).map(|_| SecretKey::generate().unwrap()).collect();
        let [a, b, c] = &keys[..] else { unreachable!() };
        for (by, threshold, found) in [
            (vec![a], 1, Some(1)),
            (vec![a, b], 2, Some(2)),
            (vec![c, b], 1, Some(1)),
            (vec![a], 2, None),
            // One key twice is one key.
            (vec![a, a], 2, None),
            (vec![a, c], 2, None),
            (vec![c], 1, None),
            (vec![], 1, None),
        ] {
            let bytes = sign_payload(KIND, b"payload", &by);
            let opened = open_envelope(
                &bytes,
                4096,
                KIND,
                &Signers::new([a.public(), b.public()], threshold).unwrap(),
            );
            assert_eq!(
                opened.map(|(payload, by)| (payload, by.len())).ok(),
                found.map(|n| (b"payload".to_vec(), n))
            );
        }
        assert_eq!(Signers::new([], 1), Err(BadSigners::NoKey));
        for threshold in [0, 2] {
            let bad = Signers::new([a.public(), a.public()], threshold);
            assert_eq!(bad, Err(BadSigners::Threshold { threshold, keys: 1 }));
        }
    }

    #[test]
    fn what_was_changed_is_refused() {
        let key = SecretKey::generate().unwrap();
        let signers = Signers::new([key.public()], 1).unwrap();
        let bytes = sign_payload(KIND, b"payload", &[&key]);
        let text = String::from_utf8(bytes.clone()).unwrap();
        assert!(open_envelope(&bytes, 4096, KIND, &signers).is_ok());
        assert!(matches!(
            open_envelope(&bytes, 10, KIND, &signers),
            Err(Unbelieved::TooLong { .. })
        ));
        assert!(matches!(
            open_envelope(&bytes, 4096, "application/x-other", &signers),
            Err(Unbelieved::Type { .. })
        ));
        // "payload" and "Payload" in base64.
        let other = text.replace("cGF5bG9hZA==", "UGF5bG9hZA==");
        assert_ne!(other, text);
        assert!(matches!(
            open_envelope(other.as_bytes(), 4096, KIND, &signers),
            Err(Unbelieved::Signatures { .. })
        ));
        // A signature for one type isn't one for another.
        let retyped = text.replace(KIND, "application/x-tesu");
        assert!(open_envelope(retyped.as_bytes(), 4096, "application/x-tesu", &signers).is_err());
        // Nothing that is cut off or replaced anywhere opens or panics.
        for end in 0..bytes.len() {
            assert!(open_envelope(&bytes[..end], 4096, KIND, &signers).is_err());
        }
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            let opened = open_envelope(&changed, 4096, KIND, &signers);
            // The key's name is a hint.
            assert!(opened.is_err() || opened.unwrap().0 == b"payload");
        }
        let deep = format!("{{\"payload\":{}", "[".repeat(4000));
        assert!(open_envelope(deep.as_bytes(), 1 << 20, KIND, &signers).is_err());
    }
}
