//! Where what is pinned of MCP servers is kept: beside what was trusted of projects, one file each.

use super::super::Failure;
use hookwire_ask::project::TRUST;
use hookwire_base::support::digest;
use hookwire_base::support::file::{self, replace};
use hookwire_base::support::places;
use hookwire_gateway::ToolsOfServers;
use hookwire_gateway::pins::Pins;
use std::fs::{self, DirBuilder};
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// The directory of these files, below that of what was trusted.
const DIR: &str = "mcp";
/// The most files that are read for the names of other servers' tools.
const MOST_OTHERS: usize = 200;

/// The file of one server; nothing if the user has no place for it.
pub(in crate::cli) struct PinsFile(Option<PathBuf>);

/// What is pinned of a server, and where it is kept.
pub(in crate::cli) type Kept = (PathBuf, Result<Pins, String>);

impl PinsFile {
    /// Opens what is pinned of a server, with the names of other servers' tools.
    ///
    /// # Errors
    /// It can't be read: that nothing was pinned isn't known then.
    pub(super) fn open(
        server: &str,
        from: &str,
    ) -> Result<(PinsFile, Pins, ToolsOfServers), Failure> {
        let name = format!(
            "{server}-{}.json",
            digest::hex(&digest::of_texts(&[server, from])[..8])
        );
        let known = dirs().into_iter().map(|dir| dir.join(&name));
        let mut pins = Pins {
            server: server.into(),
            from: from.into(),
            ..Pins::default()
        };
        let path = known
            .clone()
            .find(|path| fs::symlink_metadata(path).is_ok())
            .or_else(|| Some(places::data()?.join(TRUST).join(DIR).join(&name)));
        if let Some(path) = &path {
            match read(path) {
                Ok(Some(kept)) => pins = kept,
                Ok(None) => {}
                Err(problem) => {
                    return Err(Failure(format!(
                        "{}: what is pinned of `{server}` can't be read: {problem}; `hookwire trust revoke --mcp {server}` \
                         forgets it",
                        path.display()
                    )));
                }
            }
        }
        let others = all()
            .into_iter()
            .take(MOST_OTHERS)
            .filter_map(|(_, kept)| kept.ok());
        let others = others
            .filter(|other| other.server != server)
            .map(|other| (other.server, other.tools.into_keys().collect()));
        Ok((PinsFile(path), pins, others.collect()))
    }

    /// Keeps what is pinned, at once or not at all.
    pub(super) fn save(&self, pins: &Pins) -> Result<(), String> {
        let path = self.0.as_ref().ok_or("you have no home directory")?;
        let dir = path.parent().unwrap_or(Path::new("."));
        let made = DirBuilder::new().mode(0o700).recursive(true).create(dir);
        let text = serde_json::to_string(pins).map_err(|error| error.to_string())?;
        made.and_then(|()| replace(path, &text, 0o600))
            .map_err(|error| format!("{}: {error}", path.display()))
    }
}

fn dirs() -> Vec<PathBuf> {
    let dirs = places::data_dirs().iter();
    dirs.map(|dir| dir.join(TRUST).join(DIR)).collect()
}

fn read(path: &Path) -> Result<Option<Pins>, String> {
    match file::read_text(path) {
        Ok(text) => serde_json::from_str(&text)
            .map(Some)
            .map_err(|error| error.to_string()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.to_string()),
    }
}

/// All that is pinned, by the names of the files.
pub(in crate::cli) fn all() -> Vec<Kept> {
    let entries = dirs().into_iter().filter_map(|dir| fs::read_dir(dir).ok());
    let paths = entries.flatten().flatten().map(|entry| entry.path());
    let mut paths: Vec<PathBuf> = paths
        .filter(|path| path.extension().is_some_and(|it| it == "json"))
        .collect();
    paths.sort();
    let read = |path: PathBuf| read(&path).transpose().map(|kept| (path, kept));
    paths.into_iter().filter_map(read).collect()
}

/// Forgets what is pinned of the servers of a name; how many there were.
///
/// # Errors
/// A file can't be removed.
pub(in crate::cli) fn forget(server: &str) -> std::io::Result<usize> {
    let is_of = |path: &Path, kept: &Result<Pins, String>| match kept {
        Ok(pins) => pins.server == server,
        Err(_) => {
            let stem = path.file_stem().map(|it| it.to_string_lossy().into_owned());
            stem.is_some_and(|stem| {
                stem.rsplit_once('-')
                    .is_some_and(|(name, _)| name == server)
            })
        }
    };
    let of_server = all().into_iter().filter(|(path, kept)| is_of(path, kept));
    let paths: Vec<PathBuf> = of_server.map(|(path, _)| path).collect();
    paths.iter().try_for_each(fs::remove_file)?;
    Ok(paths.len())
}
