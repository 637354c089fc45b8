//! How a client says who it is: by a password, or by a key with which it signs what the server asks
//! it to sign.
//!
//! A key is an NKEY: its seed never leaves the machine. It stands alone in a file, or beside a
//! token (JWT) that an operator has signed, in a `.creds` file as `nsc` writes it.

use async_nats::{Auth, AuthError, ConnectOptions};
use hookwire_ask::file;
use nkeys::{KeyPair, KeyPairType};
use std::path::{Path, PathBuf};

/// The most bytes of a file with a password or a seed, and of one with a token.
const MAX_SECRET: u64 = 4096;
const MAX_CREDENTIALS: u64 = 64 << 10;
/// The lines of a `.creds` file before the token and before the seed.
const BEGIN_TOKEN: &str = "-----BEGIN NATS USER JWT-----";
const BEGIN_SEED: &str = "-----BEGIN USER NKEY SEED-----";

/// How a client logs in, by the settings' words.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Login<'a> {
    pub(crate) user: Option<&'a str>,
    pub(crate) password_file: Option<&'a Path>,
    pub(crate) credentials: Option<&'a Path>,
    pub(crate) nkey_file: Option<&'a Path>,
    /// A certificate says who the client is, if nothing else does.
    pub(crate) has_certificate: bool,
}

impl Login<'_> {
    /// Options of a client that logs in so.
    ///
    /// # Errors
    /// The settings don't fit together, or a file can't be used; for people.
    pub(crate) fn options(&self) -> Result<ConnectOptions, String> {
        match (
            self.user,
            self.password_file,
            self.credentials,
            self.nkey_file,
        ) {
            (Some(user), Some(file), None, None) => Ok(ConnectOptions::new()
                .user_and_password(user.into(), read_secret(file, MAX_SECRET)?)),
            (None, None, Some(file), None) => signing_options(file, read_credentials),
            (None, None, None, Some(file)) => signing_options(file, read_seed),
            (Some(_), None, None, None) if self.has_certificate => Ok(ConnectOptions::new()),
            (Some(user), None, None, None) => Err(format!(
                "user {user} has no passwordFile and no tls.certificate"
            )),
            (None, Some(_), None, None) => Err("passwordFile is set, but no user".into()),
            (None, None, None, None) => Ok(ConnectOptions::new()),
            _ => Err("set one of user with passwordFile, credentials, and nkeyFile".into()),
        }
    }
}

/// Refuses a file with a secret that others can read. A file of root's may be for a group to read:
/// so a machine's owner gives it to the users whose hosts join.
///
/// # Errors
/// Others can read or write it, or it can't be looked at; for people.
pub(crate) fn check_private(path: &Path) -> Result<(), String> {
    use std::os::unix::fs::MetadataExt;
    let about = std::fs::metadata(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let forbidden = if about.uid() == 0 { 0o037 } else { 0o077 };
    if about.mode() & forbidden != 0 {
        return Err(format!(
            "others can read {0}; `chmod 600 {0}`",
            path.display()
        ));
    }
    Ok(())
}

/// What a client shows: its key, and the token if an operator has signed one.
struct Shown {
    key: KeyPair,
    token: Option<String>,
}

/// Options of a client that signs with the key in a file. The file is read at each connection,
/// because tokens expire and are replaced.
fn signing_options(
    file: &Path,
    read: fn(&Path) -> Result<Shown, String>,
) -> Result<ConnectOptions, String> {
    // A mistake is told at once, and not only in a log.
    read(file)?;
    let file: PathBuf = file.to_path_buf();
    Ok(ConnectOptions::with_auth_callback(move |nonce| {
        let signed = read(&file).and_then(|Shown { key, token }| {
            let signature = key.sign(&nonce).map_err(|error| error.to_string())?;
            Ok((key.public_key(), token, signature))
        });
        async move {
            let (public, token, signature) = signed.map_err(AuthError::new)?;
            let mut auth = Auth::new();
            // A token names its key.
            auth.nkey = token.is_none().then_some(public);
            (auth.jwt, auth.signature) = (token, Some(signature));
            Ok(auth)
        }
    }))
}

fn read_seed(file: &Path) -> Result<Shown, String> {
    let key = key_of(file, read_secret(file, MAX_SECRET)?.trim())?;
    Ok(Shown { key, token: None })
}

fn read_credentials(file: &Path) -> Result<Shown, String> {
    let text = read_secret(file, MAX_CREDENTIALS)?;
    let behind = |begin: &str| {
        let mut lines = text.lines().map(str::trim);
        lines.find(|line| *line == begin)?;
        lines
            .next()
            .filter(|line| !line.is_empty() && !line.starts_with('-'))
    };
    let (Some(token), Some(seed)) = (behind(BEGIN_TOKEN), behind(BEGIN_SEED)) else {
        let what = format!(
            "{}: it has no user JWT and seed as `nsc generate creds` writes them",
            file.display()
        );
        return Err(what);
    };
    Ok(Shown {
        key: key_of(file, seed)?,
        token: Some(token.to_string()),
    })
}

/// The key of a user's seed. The seed itself isn't told.
fn key_of(file: &Path, seed: &str) -> Result<KeyPair, String> {
    let key = KeyPair::from_seed(seed)
        .ok()
        .filter(|it| matches!(it.key_pair_type(), KeyPairType::User));
    key.ok_or_else(|| {
        format!(
            "{}: it has no seed of a user, which begins with SU",
            file.display()
        )
    })
}

/// Reads a file that holds a secret.
fn read_secret(path: &Path, most: u64) -> Result<String, String> {
    check_private(path)?;
    let text = file::read_text(path, most).map_err(|error| {
        let problem = error.to_string();
        format!("{}: {problem}", path.display())
    })?;
    Ok(text.trim_end_matches(['\r', '\n']).to_string())
}

#[cfg(test)]
mod tests {
    use super::{BEGIN_SEED, BEGIN_TOKEN, Login, read_credentials};
    use nkeys::KeyPair;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_file_that_is_no_login_is_told_without_what_is_in_it() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("host");
        let (user, account) = (
            KeyPair::new_user().seed().unwrap(),
            KeyPair::new_account().seed().unwrap(),
        );
        let write = |text: &str, mode: u32| {
            fs::write(&file, text).unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        };
        let by_key = Login {
            nkey_file: Some(&file),
            ..Login::default()
        };
        let by_token = Login {
            credentials: Some(&file),
            ..Login::default()
        };
        let creds = |seed: &str| {
            format!("{BEGIN_TOKEN}\na.b.c\n------END\n\n{BEGIN_SEED}\n{seed}\n------END\n")
        };
        for (settings, text, mode, problem) in [
            (&by_key, format!("{user}\n"), 0o600, ""),
            (&by_key, format!("{user}\n"), 0o604, "others can read"),
            (&by_key, account.clone(), 0o600, "no seed of a user"),
            (&by_key, user[..20].to_string(), 0o600, "no seed of a user"),
            (&by_key, "x".repeat(5000), 0o600, "larger than 4 KiB"),
            (&by_token, creds(&user), 0o600, ""),
            (&by_token, creds(&user), 0o644, "others can read"),
            (&by_token, creds(&account), 0o600, "no seed of a user"),
            (&by_token, creds(""), 0o600, "no user JWT and seed"),
            (&by_token, user.clone(), 0o600, "no user JWT and seed"),
        ] {
            write(&text, mode);
            match settings.options() {
                Ok(_) => assert_eq!(problem, "", "{text}"),
                Err(error) => {
                    assert!(
                        !problem.is_empty() && error.contains(problem) && error.contains("host"),
                        "{error}"
                    );
                    assert!(
                        !error.contains(&user[..20]) && !error.contains(&account),
                        "{error}"
                    );
                }
            }
        }
        write(&creds(&user), 0o600);
        assert_eq!(
            read_credentials(&file).unwrap().token.as_deref(),
            Some("a.b.c")
        );
        fs::remove_file(&file).unwrap();
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, &file, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        assert!(
            by_key
                .options()
                .err()
                .unwrap()
                .contains("it is not a regular file")
        );
        let both = Login {
            nkey_file: Some(&file),
            ..by_token
        };
        assert!(both.options().err().unwrap().contains("set one of"));
    }
}
