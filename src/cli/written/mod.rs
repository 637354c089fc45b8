//! How definitions are written: never over a person's, and those that hookwire itself has are
//! approved to the byte and noted.

pub(super) mod record;

use super::output::{Output, Tone};
use hookwire_base::support::below;
use hookwire_base::support::file;
use hookwire_engine::definitions::approved::{self, DEFINITIONS};
use hookwire_engine::trust;
use serde_json::json;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// A project that holds nothing which a person would have to look at first: what is written here is
/// hookwire's own.
pub(super) struct Trusts {
    store: PathBuf,
    root: PathBuf,
}

impl Trusts {
    pub(super) fn new(hooks: &Path) -> Option<Trusts> {
        let dir = std::path::absolute(hooks)
            .ok()
            .filter(|dir| dir.ends_with(DEFINITIONS))?;
        let root = dir.parent()?.to_path_buf();
        let store = approved::store(&root)?;
        let is_known = !dir.exists()
            || std::fs::read_dir(&dir).is_ok_and(|mut entries| entries.next().is_none())
            || trust::review(&store, &root).is_ok_and(|review| review.is_as_before());
        is_known.then_some(Trusts { store, root })
    }

    /// Whether nothing of the project was ever approved.
    pub(super) fn is_first(&self) -> bool {
        !approved::is_approved(&self.root)
    }

    /// Puts what was written in force, if nothing else has come or gone there meanwhile. A file
    /// without a text was removed.
    pub(super) fn keep_files<'f>(
        &self,
        files: impl IntoIterator<Item = (&'f str, Option<&'f str>)>,
    ) -> bool {
        let own = files
            .into_iter()
            .map(|(name, text)| (Path::new(DEFINITIONS).join(name), text.map(str::as_bytes)))
            .collect();
        trust::review(&self.store, &self.root)
            .is_ok_and(|review| review.changes_only(&own) && review.approve(&self.store).is_ok())
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Written {
    Now,
    /// A text that hookwire itself has of the rule was there, and this one took its place.
    Again,
    /// The file was there already, with this text.
    Before,
    /// The file was there already, with another text.
    Differs,
}

/// Says what became of a file.
pub(super) fn tell_written(path: &Path, written: Written, out: &mut Output) {
    let shown = path.display();
    if out.json {
        let is_new = matches!(written, Written::Now | Written::Again);
        let differs = written == Written::Differs;
        return out.json(&json!({ "file": path, "written": is_new, "differs": differs }));
    }
    let (tone, said) = match written {
        Written::Now => (Tone::Good, format!("Wrote {shown}.")),
        Written::Again => (Tone::Good, format!("Wrote {shown} anew.")),
        Written::Before => (
            Tone::Dim,
            format!("{shown} is there already, with the same text."),
        ),
        Written::Differs => (
            Tone::Warn,
            format!("{shown} is there already, with another text; it was left as it is."),
        ),
    };
    let said = out.tone(tone, &said);
    out.line(&said);
}

/// Never over an existing file: it may hold guards.
pub(super) fn write_new(
    path: &Path,
    root: &Path,
    text: &str,
    mode: u32,
) -> std::io::Result<Written> {
    match below::write_new(path, root, text, mode) {
        Ok(()) => Ok(Written::Now),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            let is_same = file::read_small(path, file::MAX_FILE)? == text.as_bytes();
            Ok(if is_same {
                Written::Before
            } else {
                Written::Differs
            })
        }
        Err(error) => Err(error),
    }
}
