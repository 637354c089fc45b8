//! What `install --managed` knows of each file that it has written, so that `uninstall --managed`
//! leaves what was there, byte for byte.
//!
//! It is root's, wherever the environment of the one who has become root says that things are kept.

use crate::cli::Failure;
use hookwire_base::support::digest;
use hookwire_base::support::file::{read_text, replace};
use serde::{Deserialize, Serialize};
use std::fs::{self, DirBuilder, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// The directory of the records.
const RECORDS: &str = "/var/lib/hookwire/managed";

/// What is known of an agent's file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Record {
    /// The file as it was before hookwire; nothing if there was none, or if it isn't known.
    pub(super) before: Option<String>,
    /// The digest of the file as it was written.
    pub(super) written: String,
    /// The members that were added beside the hooks.
    pub(super) added: Vec<String>,
    /// The directories that were made for it, the innermost first.
    pub(super) dirs: Vec<PathBuf>,
}

impl Record {
    /// What is known of an agent's file; nothing if that was never written.
    ///
    /// # Errors
    /// It can't be read.
    pub(super) fn of_agent(agent: &str) -> Result<Option<Record>, Failure> {
        let path = place(agent);
        let problem = |why: String| Failure(format!("{}: {why}", path.display()));
        match read_text(&path) {
            Ok(text) => serde_json::from_str(&text)
                .map(Some)
                .map_err(|error| problem(error.to_string())),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            // Only root reads it, and a dry run may be anybody's.
            Err(error) if error.kind() == ErrorKind::PermissionDenied => Ok(None),
            Err(error) => Err(problem(error.to_string())),
        }
    }

    /// Whether a text is as it was written.
    pub(super) fn is_as_written(&self, text: &str) -> bool {
        self.written == digest::of_bytes(text.as_bytes())
    }

    pub(super) fn save(&self, agent: &str) -> io::Result<()> {
        let path = place(agent);
        make_dirs(Path::new(RECORDS))?;
        let mut text = serde_json::to_string_pretty(self)?;
        text.push('\n');
        replace(&path, &text, 0o600)?;
        // One that is there keeps its mode.
        fs::set_permissions(&path, Permissions::from_mode(0o600))
    }

    pub(super) fn forget(agent: &str) -> io::Result<()> {
        match fs::remove_file(place(agent)) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => {
                // What else is kept there stays.
                let dirs = Path::new(RECORDS).ancestors().take(2);
                let _ = dirs.map(fs::remove_dir).take_while(Result::is_ok).count();
                Ok(())
            }
        }
    }

    /// Where a file of hookwire's is kept that others have changed before it goes.
    pub(super) fn copy_place(agent: &str) -> PathBuf {
        Path::new(RECORDS).join(format!("{agent}.before"))
    }
}

fn place(agent: &str) -> PathBuf {
    Path::new(RECORDS).join(format!("{agent}.json"))
}

/// Makes a directory and those around it, open to every user whatever the umask; those that were
/// made, the innermost first.
pub(super) fn make_dirs(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let missing: Vec<PathBuf> = dir
        .ancestors()
        .take_while(|it| !it.exists())
        .map(Path::to_path_buf)
        .collect();
    for dir in missing.iter().rev() {
        DirBuilder::new().mode(0o755).create(dir)?;
        fs::set_permissions(dir, Permissions::from_mode(0o755))?;
    }
    Ok(missing)
}
