//! A bundle: the files that a team publishes together, and the manifest that is signed for them.
//!
//! The manifest names each file by its path and digest; the files themselves are kept by digest. To
//! this crate they are bytes.

use crate::digest::Sha256;
use crate::name::Name;
use hookwire_ask::file;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// What is signed.
pub const KIND: &str = "application/vnd.hookwire.bundle+json";
/// The most files of a bundle, and the most bytes of all together.
pub const MAX_FILES: usize = 1_000;
/// See [`MAX_FILES`].
pub const MAX_BYTES: u64 = 16 << 20;
const MAX_DEPTH: usize = 16;
const MAX_PATH: usize = 512;

/// Which hosts a manifest is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum Stage {
    /// All of the channel.
    All,
    /// These first: so many of a thousand.
    Canary {
        /// From 1 to 999.
        permille: u16,
    },
}

/// What a bundle is, as a publisher signs it. A member that a host doesn't know is refused: it may
/// mean that something holds with a condition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Manifest {
    /// The channel that it is for.
    pub channel: Name,
    /// Grows with each manifest of a channel, whichever stage it is for.
    pub revision: u64,
    /// For which hosts.
    pub stage: Stage,
    /// When it was made, in seconds since 1970.
    pub created: u64,
    /// From when on no host takes it any more, in seconds since 1970. Where it is in force, it
    /// stays.
    pub expires: u64,
    /// The oldest version of hookwire that understands it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_host: Option<String>,
    /// A word of the publisher, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Its files, in the order of their paths.
    pub files: Vec<Entry>,
}

/// A file of a bundle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Entry {
    /// Below the bundle's directory, with `/`.
    pub path: String,
    /// Of its content.
    pub sha256: Sha256,
    /// In bytes.
    pub size: u64,
    /// It may be started.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub executable: bool,
}

/// Why a manifest or a directory is no bundle.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadBundle {
    /// Not a manifest.
    #[error("the manifest can't be read: {0}")]
    Malformed(String),
    /// A path that leads elsewhere, or that some system understands differently.
    #[error("{0:?} is no path of a bundle: {1}")]
    Path(String, &'static str),
    /// There is too much of something.
    #[error("{0}")]
    TooMuch(String),
    /// A directory couldn't be read.
    #[error("{0}")]
    Unread(String),
}

impl Manifest {
    /// Reads what was signed.
    ///
    /// # Errors
    /// It is no manifest, or names files that no bundle has.
    pub fn parse(payload: &[u8]) -> Result<Manifest, BadBundle> {
        let manifest: Manifest = serde_json::from_slice(payload)
            .map_err(|error| BadBundle::Malformed(error.to_string()))?;
        if let Stage::Canary {
            permille: 0 | 1000..,
        } = manifest.stage
        {
            return Err(BadBundle::Malformed(
                "a canary is for 1 to 999 of a thousand hosts".into(),
            ));
        }
        check_files(&manifest.files)?;
        Ok(manifest)
    }

    /// The bytes that are signed.
    pub fn to_payload(&self) -> Vec<u8> {
        // Texts and numbers are always JSON.
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Names the files alone: two manifests of the same files have the same.
    pub fn content(&self) -> Sha256 {
        Sha256::of_bytes(&serde_json::to_vec(&self.files).unwrap_or_default())
    }

    /// Whether it is for a host: every host is always in the same part of a thousand for a channel,
    /// so a larger canary has the hosts of a smaller one.
    pub fn is_for(&self, who: &str) -> bool {
        match self.stage {
            Stage::All => true,
            Stage::Canary { permille } => place_in_thousand(&self.channel, who) < permille,
        }
    }
}

/// The place of a host among a thousand.
fn place_in_thousand(channel: &Name, who: &str) -> u16 {
    let digest = Sha256::of_bytes(format!("{channel} {who}").as_bytes()).to_string();
    let number = digest
        .get(..8)
        .and_then(|it| u32::from_str_radix(it, 16).ok())
        .unwrap_or_default();
    u16::try_from(number % 1000).unwrap_or_default()
}

/// Whether these can be the files of a bundle.
fn check_files(files: &[Entry]) -> Result<(), BadBundle> {
    if files.len() > MAX_FILES {
        return Err(BadBundle::TooMuch(format!(
            "a bundle has at most {MAX_FILES} files, this one has {}",
            files.len()
        )));
    }
    let mut total = 0u64;
    // Some file systems don't tell case apart.
    let mut known = BTreeSet::new();
    let mut dirs = BTreeSet::new();
    for Entry { path, size, .. } in files {
        check_path(path)?;
        total = total.saturating_add(*size);
        let most = crate::streams::MAX_BLOB;
        if usize::try_from(*size).map_or(true, |size| size > most) {
            return Err(BadBundle::TooMuch(format!(
                "{path} has {size} bytes; a file of a bundle has at most {most}"
            )));
        }
        let folded = path.to_lowercase();
        dirs.extend(
            folded
                .match_indices('/')
                .map(|(at, _)| folded.split_at(at).0.to_string()),
        );
        if !known.insert(folded) {
            return Err(BadBundle::Path(path.clone(), "it is there twice"));
        }
    }
    if total > MAX_BYTES {
        return Err(BadBundle::TooMuch(format!(
            "a bundle has at most {MAX_BYTES} bytes, this one has {total}"
        )));
    }
    match known.intersection(&dirs).next() {
        Some(both) => Err(BadBundle::Path(
            both.clone(),
            "it is a file and a directory",
        )),
        None => Ok(()),
    }
}

/// Whether a path stays below a directory, and is the same path everywhere.
fn check_path(path: &str) -> Result<(), BadBundle> {
    let bad = |why| Err(BadBundle::Path(path.chars().take(120).collect(), why));
    if path.len() > MAX_PATH {
        return bad("it is too long");
    }
    if path
        .chars()
        .any(|character| character.is_control() || character == '\\' || character == ':')
    {
        return bad("it has a control character, a backslash or a colon");
    }
    let mut depth = 0;
    for part in path.split('/') {
        depth += 1;
        if part.is_empty() || part.starts_with('.') {
            return bad("a part of it is empty or begins with a dot");
        }
        if part.len() > 128 || depth > MAX_DEPTH {
            return bad("it is too long or too deep");
        }
    }
    Ok(())
}

/// The files of a directory, as they are to be published.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Files {
    /// In the order of their paths.
    pub entries: Vec<Entry>,
    /// Their contents, by digest.
    pub contents: BTreeMap<Sha256, Vec<u8>>,
}

impl Files {
    /// Reads a directory. What begins with a dot is left out. Links are refused, because a bundle
    /// holds what is there and not where it leads.
    ///
    /// # Errors
    /// It can't be read, or can't be a bundle.
    pub fn read_dir(dir: &Path) -> Result<Files, BadBundle> {
        let mut files = Files::default();
        let mut total = 0;
        for (path, name) in walk_files(dir)? {
            let unread =
                |error: io::Error| BadBundle::Unread(format!("{}: {error}", path.display()));
            check_path(&name)?;
            let about = fs::metadata(&path).map_err(unread)?;
            if about.len() > crate::streams::MAX_BLOB as u64 || files.entries.len() == MAX_FILES {
                // The message of the check says which limit it is.
                let executable = false;
                files.entries.push(Entry {
                    path: name,
                    sha256: Sha256::of_bytes(b""),
                    size: about.len(),
                    executable,
                });
                break;
            }
            let mut content = Vec::new();
            let (file, _) = file::open(&path).map_err(unread)?;
            file.take(crate::streams::MAX_BLOB as u64 + 1)
                .read_to_end(&mut content)
                .map_err(unread)?;
            total += content.len() as u64;
            let sha256 = Sha256::of_bytes(&content);
            let executable = about.permissions().mode() & 0o100 != 0;
            files.entries.push(Entry {
                path: name,
                sha256,
                size: content.len() as u64,
                executable,
            });
            files.contents.insert(sha256, content);
            if total > MAX_BYTES {
                break;
            }
        }
        files.entries.sort_by(|a, b| a.path.cmp(&b.path));
        check_files(&files.entries)?;
        Ok(files)
    }

    /// Each file's path with its content.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.entries.iter().map(move |entry| {
            (
                entry.path.as_str(),
                self.contents
                    .get(&entry.sha256)
                    .map_or(&[][..], Vec::as_slice),
            )
        })
    }

    /// Writes them below a directory, for whoever looks at them there. A host's store writes more
    /// carefully.
    ///
    /// # Errors
    /// They can't be written, or can't be a bundle.
    pub fn write_below(&self, dir: &Path) -> Result<(), BadBundle> {
        check_files(&self.entries)?;
        for Entry { path, sha256, .. } in &self.entries {
            let at = dir.join(path);
            let unwritten =
                |error: io::Error| BadBundle::Unread(format!("{}: {error}", at.display()));
            fs::create_dir_all(at.parent().unwrap_or(dir)).map_err(unwritten)?;
            fs::write(
                &at,
                self.contents.get(sha256).map_or(&[][..], Vec::as_slice),
            )
            .map_err(unwritten)?;
        }
        Ok(())
    }
}

/// The regular files of a directory, with their paths below it.
fn walk_files(dir: &Path) -> Result<Vec<(PathBuf, String)>, BadBundle> {
    let mut found = Vec::new();
    let mut dirs = vec![(dir.to_path_buf(), String::new(), 0)];
    while let Some((dir, below, depth)) = dirs.pop() {
        let unread = |error: io::Error| BadBundle::Unread(format!("{}: {error}", dir.display()));
        for entry in fs::read_dir(&dir).map_err(unread)? {
            let entry = entry.map_err(unread)?;
            let Some(name) = entry.file_name().to_str().map(str::to_string) else {
                return Err(BadBundle::Path(
                    entry.path().display().to_string(),
                    "its name isn't UTF-8",
                ));
            };
            if name.starts_with('.') {
                continue;
            }
            let path = if below.is_empty() {
                name
            } else {
                format!("{below}/{name}")
            };
            let kind = entry.file_type().map_err(unread)?;
            if kind.is_symlink() {
                return Err(BadBundle::Path(
                    path,
                    "it is a link; put the file itself there",
                ));
            }
            if kind.is_dir() {
                if depth == MAX_DEPTH {
                    return Err(BadBundle::Path(path, "it is too deep"));
                }
                dirs.push((entry.path(), path, depth + 1));
            } else if kind.is_file() {
                found.push((entry.path(), path));
            }
            if found.len() > MAX_FILES {
                return Err(BadBundle::TooMuch(format!(
                    "a bundle has at most {MAX_FILES} files"
                )));
            }
        }
    }
    found.sort();
    Ok(found)
}

/// The files of a directory, read once, if they are exactly those of a manifest: what was compared
/// is what is given.
///
/// # Errors
/// The first thing that differs, for people.
pub fn read_verified(dir: &Path, manifest: &Manifest) -> Result<Files, String> {
    let found = Files::read_dir(dir).map_err(|error| error.to_string())?;
    let wanted: BTreeMap<&str, &Entry> = manifest
        .files
        .iter()
        .map(|file| (file.path.as_str(), file))
        .collect();
    for entry in &found.entries {
        match wanted.get(entry.path.as_str()) {
            None => return Err(format!("{} is there, but not in the manifest", entry.path)),
            Some(wanted) if *wanted != entry => return Err(format!("{} was changed", entry.path)),
            Some(_) => {}
        }
    }
    match wanted
        .keys()
        .find(|path| !found.entries.iter().any(|entry| entry.path == **path))
    {
        Some(path) => Err(format!("{path} is missing")),
        None => Ok(found),
    }
}

#[cfg(test)]
mod tests {
    use super::{
        Entry, Files, MAX_FILES, Manifest, Sha256, Stage, check_files, check_path, read_verified,
    };

    #[test]
    fn a_path_stays_where_it_belongs() {
        for (path, holds) in [
            ("guard.yaml", true),
            ("lib/check it.sh", true),
            ("ü/guard.yaml", true),
            ("", false),
            ("/etc/passwd", false),
            ("../guard.yaml", false),
            ("a/../b", false),
            ("a//b", false),
            ("a/", false),
            ("./a", false),
            (".hidden", false),
            ("a/.git/config", false),
            ("a\\b", false),
            ("C:a", false),
            ("a\nb", false),
            ("a\0b", false),
            (&"a/".repeat(20), false),
            (&"a".repeat(200), false),
        ] {
            assert_eq!(check_path(path).is_ok(), holds, "{path:?}");
        }
        let entry = |path: &str, size| Entry {
            path: path.into(),
            sha256: Sha256::of_bytes(b""),
            size,
            executable: false,
        };
        let all = |paths: &[&str]| {
            check_files(&paths.iter().map(|path| entry(path, 1)).collect::<Vec<_>>()).is_ok()
        };
        assert!(all(&["a", "b/a", "b/c"]));
        assert!(
            !all(&["a", "a"]) && !all(&["a", "A"]) && !all(&["a", "a/b"]) && !all(&["A/b", "a"])
        );
        assert!(
            check_files(&[entry("a", 2 << 20)]).is_err()
                && check_files(&[entry("a", u64::MAX)]).is_err()
        );
        let many = |n: usize| {
            (0..n)
                .map(|it| entry(&it.to_string(), 1))
                .collect::<Vec<_>>()
        };
        assert!(
            check_files(&many(MAX_FILES)).is_ok() && check_files(&many(MAX_FILES + 1)).is_err()
        );
        let large = (0..17)
            .map(|it| entry(&it.to_string(), 1_000_000))
            .collect::<Vec<_>>();
        assert!(check_files(&large).is_err());
    }

    fn manifest(stage: Stage, files: Vec<Entry>) -> Manifest {
        Manifest {
            channel: "main".parse().unwrap(),
            revision: 7,
            stage,
            created: 0,
            expires: 1,
            min_host: None,
            message: None,
            files,
        }
    }

    #[test]
    fn a_manifest_says_what_a_host_knows_or_is_refused() {
        let known = manifest(Stage::All, Vec::new());
        assert_eq!(Manifest::parse(&known.to_payload()), Ok(known.clone()));
        let text = String::from_utf8(known.to_payload()).unwrap();
        for (from, to) in [
            ("\"revision\":7", "\"revision\":-7"),
            ("\"revision\":7", "\"revision\":7,\"onlyIf\":\"x\""),
            ("\"all\"", "{\"canary\":{\"permille\":1000}}"),
            ("\"all\"", "{\"canary\":{\"permille\":0}}"),
            ("\"main\"", "\"main.>\""),
            (
                "\"files\":[]",
                "\"files\":[{\"path\":\"../a\",\"sha256\":\"00\",\"size\":1}]",
            ),
        ] {
            let changed = text.replace(from, to);
            assert_ne!(changed, text);
            assert!(Manifest::parse(changed.as_bytes()).is_err(), "{changed}");
        }
    }

    #[test]
    fn a_canary_is_so_many_of_a_thousand_and_grows() {
        let in_canary = |permille: u16| {
            let manifest = manifest(Stage::Canary { permille }, Vec::new());
            (0..2000)
                .filter(|it| manifest.is_for(&format!("host-{it}.p")))
                .collect::<Vec<_>>()
        };
        let (small, large) = (in_canary(50), in_canary(500));
        assert!(
            (60..140).contains(&small.len()) && (900..1100).contains(&large.len()),
            "{} {}",
            small.len(),
            large.len()
        );
        assert!(small.iter().all(|it| large.contains(it)));
    }

    #[test]
    fn a_directory_is_held_to_its_manifest() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::create_dir(at("lib")).unwrap();
        std::fs::write(at("guard.yaml"), "hooks: []").unwrap();
        std::fs::write(at("lib/check.sh"), "exit 0").unwrap();
        std::fs::write(at(".swp"), "x").unwrap();
        let files = Files::read_dir(dir.path()).unwrap();
        assert_eq!(
            files.entries.iter().map(|it| &*it.path).collect::<Vec<_>>(),
            ["guard.yaml", "lib/check.sh"]
        );
        let manifest = manifest(Stage::All, files.entries);
        assert_eq!(
            read_verified(dir.path(), &manifest).map(|it| it.entries.len()),
            Ok(2)
        );
        std::fs::write(at("guard.yaml"), "hooks: {}").unwrap();
        assert!(
            read_verified(dir.path(), &manifest)
                .unwrap_err()
                .contains("changed")
        );
        std::fs::write(at("guard.yaml"), "hooks: []").unwrap();
        std::fs::write(at("more.yaml"), "").unwrap();
        assert!(
            read_verified(dir.path(), &manifest)
                .unwrap_err()
                .contains("not in the manifest")
        );
        std::fs::remove_file(at("more.yaml")).unwrap();
        std::fs::remove_file(at("lib/check.sh")).unwrap();
        assert!(
            read_verified(dir.path(), &manifest)
                .unwrap_err()
                .contains("missing")
        );
        std::os::unix::fs::symlink("/etc/passwd", at("link")).unwrap();
        assert!(
            Files::read_dir(dir.path())
                .unwrap_err()
                .to_string()
                .contains("link")
        );
    }
}
