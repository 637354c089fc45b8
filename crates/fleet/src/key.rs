//! Ed25519 keys: whom a host believes, and the file that a publisher or approver signs with.
//!
//! A private key is a file of mode 0600, sealed by a passphrase (PBKDF2 with HMAC-SHA-256, then
//! ChaCha20-Poly1305), or plain where somebody asks for that. A public key is one word that fits
//! into a configuration: `ed25519:BASE64`.

use crate::server::{ServerError, check_private};
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use hookwire_ask::file;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::pbkdf2;
use ring::rand::{SecureRandom, SystemRandom};
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::fs;
use std::io::{Read, Write};
use std::num::NonZeroU32;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::str::FromStr;

/// The word before a public key.
const PREFIX: &str = "ed25519:";
/// How long a public key and a seed are, in bytes.
const LENGTH: usize = 32;
/// The most bytes of a key's file.
const MAX_FILE: u64 = 4096;
/// How many rounds a passphrase goes through in a new file, and at most in one that is read.
const ROUNDS: NonZeroU32 = NonZeroU32::MIN.saturating_add(if cfg!(test) { 999 } else { 599_999 });
const MAX_ROUNDS: u32 = 10_000_000;

/// Whom somebody believes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PublicKey([u8; LENGTH]);

/// The text is no public key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a public key is ed25519: and the 44 characters that `hookwire fleet key` prints")]
pub struct NotAKey;

impl PublicKey {
    /// A short name for people and for hints in envelopes: 16 hexadecimal digits. Nothing is
    /// believed because of it.
    pub fn id(&self) -> String {
        crate::digest::Sha256::of_bytes(&self.0)
            .to_string()
            .chars()
            .take(16)
            .collect()
    }

    /// Whether a signature over a message is of this key.
    pub fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        UnparsedPublicKey::new(&ED25519, self.0)
            .verify(message, signature)
            .is_ok()
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}", BASE64.encode(self.0))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for PublicKey {
    type Err = NotAKey;

    fn from_str(text: &str) -> Result<PublicKey, NotAKey> {
        let bytes = text
            .strip_prefix(PREFIX)
            .and_then(|it| BASE64.decode(it).ok())
            .ok_or(NotAKey)?;
        bytes.try_into().map(PublicKey).map_err(|_| NotAKey)
    }
}

impl TryFrom<String> for PublicKey {
    type Error = NotAKey;

    fn try_from(text: String) -> Result<PublicKey, NotAKey> {
        text.parse()
    }
}

impl From<PublicKey> for String {
    fn from(key: PublicKey) -> String {
        key.to_string()
    }
}

/// What signs.
pub struct SecretKey {
    pair: Ed25519KeyPair,
    seed: [u8; LENGTH],
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SecretKey")
            .field(&self.public().id())
            .finish()
    }
}

/// Why a key couldn't be made, read or written.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// Of the file itself.
    #[error("{0}")]
    File(String),
    /// The passphrase is another one, or the file was changed.
    #[error("the passphrase is wrong, or the file was changed")]
    Passphrase,
    /// It is sealed, and nobody gave a passphrase.
    #[error("the key needs its passphrase")]
    NeedsPassphrase,
    /// The system gave no random bytes.
    #[error("the system gives no random bytes")]
    NoRandom,
}

/// The file of a private key: the seed is there in one of two ways.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct KeyFile {
    /// For people who look at it.
    public: PublicKey,
    /// The seed, as base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    plain: Option<String>,
    /// The seed, sealed by a passphrase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sealed: Option<Sealed>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sealed {
    rounds: NonZeroU32,
    salt: String,
    sealed: String,
}

impl SecretKey {
    /// A new one.
    ///
    /// # Errors
    /// The system gives no random bytes.
    pub fn generate() -> Result<SecretKey, KeyError> {
        SecretKey::from_seed(random_bytes()?)
    }

    fn from_seed(seed: [u8; LENGTH]) -> Result<SecretKey, KeyError> {
        let pair = Ed25519KeyPair::from_seed_unchecked(&seed).map_err(|_| KeyError::Passphrase)?;
        Ok(SecretKey { pair, seed })
    }

    /// What others believe it by.
    pub fn public(&self) -> PublicKey {
        let mut bytes = [0; LENGTH];
        for (byte, of_pair) in bytes.iter_mut().zip(self.pair.public_key().as_ref()) {
            *byte = *of_pair;
        }
        PublicKey(bytes)
    }

    /// A signature over a message.
    pub fn sign(&self, message: &[u8]) -> Vec<u8> {
        self.pair.sign(message).as_ref().to_vec()
    }

    /// Writes it into a new file, sealed by a passphrase if there is one.
    ///
    /// # Errors
    /// The file is there already or can't be written.
    pub fn write_file(&self, path: &Path, passphrase: Option<&str>) -> Result<(), KeyError> {
        let sealed = passphrase
            .map(|passphrase| self.seal_with(passphrase))
            .transpose()?;
        let plain = sealed.is_none().then(|| BASE64.encode(self.seed));
        let file = KeyFile {
            public: self.public(),
            plain,
            sealed,
        };
        let failed = |error: std::io::Error| KeyError::File(format!("{}: {error}", path.display()));
        let text = serde_json::to_string_pretty(&file).map_err(|error| failed(error.into()))?;
        let mut file = fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)
            .map_err(failed)?;
        file.write_all(text.as_bytes())
            .and_then(|()| file.write_all(b"\n"))
            .and_then(|()| file.sync_all())
            .map_err(failed)
    }

    fn seal_with(&self, passphrase: &str) -> Result<Sealed, KeyError> {
        let salt: [u8; 16] = random_bytes()?;
        let nonce: [u8; NONCE_LEN] = random_bytes()?;
        let key = stretch_passphrase(passphrase, &salt, ROUNDS)?;
        let mut sealed = self.seed.to_vec();
        let about = Aad::from(self.public().0);
        key.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), about, &mut sealed)
            .map_err(|_| KeyError::Passphrase)?;
        let sealed = BASE64.encode([nonce.as_slice(), &sealed].concat());
        Ok(Sealed {
            rounds: ROUNDS,
            salt: BASE64.encode(salt),
            sealed,
        })
    }

    /// Reads a file that [`write_file`](SecretKey::write_file) has written. Asks for the passphrase only if
    /// one is needed.
    ///
    /// # Errors
    /// Others can read the file, it is no key, or the passphrase is wrong.
    pub fn read_file(
        path: &Path,
        passphrase: impl FnOnce() -> Option<String>,
    ) -> Result<SecretKey, KeyError> {
        let failed =
            |problem: &dyn fmt::Display| KeyError::File(format!("{}: {problem}", path.display()));
        check_private(path).map_err(|error| match error {
            ServerError::Settings(problem) => KeyError::File(problem),
            error => KeyError::File(error.to_string()),
        })?;
        let mut text = String::new();
        let file = file::open_given(path).map_err(|error| failed(&error))?;
        file.take(MAX_FILE)
            .read_to_string(&mut text)
            .map_err(|error| failed(&error))?;
        // What is wrong with it might quote it.
        let file: KeyFile = serde_json::from_str(&text)
            .map_err(|_| failed(&"it is no key of `hookwire fleet key`"))?;
        let bytes = |text: &str| {
            BASE64
                .decode(text)
                .map_err(|_| failed(&"it is no key of `hookwire fleet key`"))
        };
        let seed = match (&file.plain, &file.sealed) {
            (Some(seed), None) => bytes(seed)?,
            (
                None,
                Some(Sealed {
                    rounds,
                    salt,
                    sealed,
                }),
            ) => {
                if rounds.get() > MAX_ROUNDS {
                    return Err(failed(&"its number of rounds is none that is used"));
                }
                let passphrase = passphrase().ok_or(KeyError::NeedsPassphrase)?;
                let key = stretch_passphrase(&passphrase, &bytes(salt)?, *rounds)?;
                let sealed = bytes(sealed)?;
                let (nonce, sealed) = sealed
                    .split_first_chunk::<NONCE_LEN>()
                    .ok_or(KeyError::Passphrase)?;
                let mut opened = sealed.to_vec();
                let about = Aad::from(file.public.0);
                let seed =
                    key.open_in_place(Nonce::assume_unique_for_key(*nonce), about, &mut opened);
                seed.map_err(|_| KeyError::Passphrase)?.to_vec()
            }
            _ => return Err(failed(&"it is no key of `hookwire fleet key`")),
        };
        let key = SecretKey::from_seed(
            seed.try_into()
                .map_err(|_| failed(&"its seed has another length"))?,
        )?;
        if key.public() != file.public {
            return Err(failed(&"its public part belongs to another key"));
        }
        Ok(key)
    }
}

/// Whether a private key's file is sealed, and its public key: what can be said without the
/// passphrase.
///
/// # Errors
/// It can't be read or is no key.
pub fn describe_file(path: &Path) -> Result<(PublicKey, bool), KeyError> {
    let failed = |problem: String| KeyError::File(format!("{}: {problem}", path.display()));
    let mut text = String::new();
    let file = file::open_given(path).map_err(|error| failed(error.to_string()))?;
    file.take(MAX_FILE)
        .read_to_string(&mut text)
        .map_err(|error| failed(error.to_string()))?;
    let file: KeyFile = serde_json::from_str(&text)
        .map_err(|_| failed("it is no key of `hookwire fleet key`".into()))?;
    Ok((file.public, file.sealed.is_some()))
}

fn random_bytes<const N: usize>() -> Result<[u8; N], KeyError> {
    let mut bytes = [0; N];
    SystemRandom::new()
        .fill(&mut bytes)
        .map_err(|_| KeyError::NoRandom)?;
    Ok(bytes)
}

/// The key that a passphrase stands for.
fn stretch_passphrase(
    passphrase: &str,
    salt: &[u8],
    rounds: NonZeroU32,
) -> Result<LessSafeKey, KeyError> {
    let mut key = [0; 32];
    pbkdf2::derive(
        pbkdf2::PBKDF2_HMAC_SHA256,
        rounds,
        salt,
        passphrase.as_bytes(),
        &mut key,
    );
    Ok(LessSafeKey::new(
        UnboundKey::new(&CHACHA20_POLY1305, &key).map_err(|_| KeyError::Passphrase)?,
    ))
}

#[cfg(test)]
mod tests {
    use super::{KeyError, PublicKey, SecretKey, describe_file};
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_key_is_read_as_it_was_written_by_its_passphrase_only() {
        let dir = tempfile::tempdir().unwrap();
        let key = SecretKey::generate().unwrap();
        let (plain, sealed) = (dir.path().join("plain"), dir.path().join("sealed"));
        key.write_file(&plain, None).unwrap();
        key.write_file(&sealed, Some("correct horse")).unwrap();
        assert!(
            key.write_file(&plain, None).is_err(),
            "a key was overwritten"
        );
        let read = |path, passphrase: Option<&str>| {
            SecretKey::read_file(path, || passphrase.map(str::to_string))
        };
        assert_eq!(read(&plain, None).unwrap().public(), key.public());
        assert_eq!(
            read(&sealed, Some("correct horse")).unwrap().public(),
            key.public()
        );
        assert!(matches!(
            read(&sealed, Some("wrong horse")),
            Err(KeyError::Passphrase)
        ));
        assert!(matches!(
            read(&sealed, None),
            Err(KeyError::NeedsPassphrase)
        ));
        assert_eq!(describe_file(&sealed).unwrap(), (key.public(), true));
        assert_eq!(
            std::fs::metadata(&sealed).unwrap().permissions().mode() & 0o777,
            0o600
        );
        // The public part of another key in the file: nobody is to pin one key and sign with
        // another.
        let other = SecretKey::generate().unwrap().public();
        for path in [&plain, &sealed] {
            let swapped = std::fs::read_to_string(path)
                .unwrap()
                .replace(&key.public().to_string(), &other.to_string());
            std::fs::write(path, swapped).unwrap();
            assert!(read(path, Some("correct horse")).is_err());
        }
        std::fs::set_permissions(&plain, std::fs::Permissions::from_mode(0o640)).unwrap();
        // Root gives files to groups; a test that runs as root can't tell.
        let own = std::fs::metadata(&plain)
            .map(|it| std::os::unix::fs::MetadataExt::uid(&it))
            .unwrap();
        assert!(own == 0 || read(&plain, None).is_err());
        std::fs::set_permissions(&plain, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert!(
            read(&plain, None)
                .unwrap_err()
                .to_string()
                .contains("chmod 600")
        );
    }

    #[test]
    fn a_signature_is_of_one_key_and_one_message() {
        let (key, other) = (
            SecretKey::generate().unwrap(),
            SecretKey::generate().unwrap(),
        );
        let signature = key.sign(b"message");
        for (public, message, holds) in [
            (key.public(), b"message".as_slice(), true),
            (key.public(), b"messagf", false),
            (other.public(), b"message", false),
        ] {
            assert_eq!(public.verifies(message, &signature), holds);
        }
        assert!(!key.public().verifies(b"message", &signature[1..]));
        let text = key.public().to_string();
        assert_eq!(text.parse::<PublicKey>(), Ok(key.public()));
        for wrong in [
            "",
            "ed25519:",
            &text[8..],
            &text[..text.len() - 4],
            &text.replace("ed", "rsa"),
        ] {
            assert!(wrong.parse::<PublicKey>().is_err(), "{wrong}");
        }
    }
}
