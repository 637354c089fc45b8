//! Definitions that a fleet has published: bytes in memory that were verified before anybody parses
//! them. The loader opens no file of theirs, so a file that is changed on the disk changes nothing.

use super::deny_gates::deny_gates;
use hookwire_base::support::visible::safe;
use hookwire_handlers::handlers::approved::Approved;
use hookwire_rules::matching::paths::normalise;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What is in force of what was published, for the loader to read at each load.
#[derive(Clone, Debug)]
pub struct Signed(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    place: PathBuf,
    standing: Mutex<Standing>,
}

/// What there is to judge by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// These files.
    Set(Arc<SignedSet>),
    /// Nothing can be believed: tool calls are denied for this reason.
    Nothing(String),
}

/// The files of a bundle.
#[derive(Debug)]
pub struct SignedSet {
    /// Of what was signed.
    digest: String,
    /// The directory that has them on the disk, too: programs are started from there, each after
    /// another look.
    pub(super) dir: Arc<Path>,
    /// By their paths below it.
    pub(super) files: BTreeMap<PathBuf, Arc<[u8]>>,
    pub(super) approved: Arc<Approved>,
}

impl SignedSet {
    /// Files with their contents and the digests of these. `digest` is that of what was signed.
    pub fn new<'f>(
        digest: String,
        dir: &Path,
        files: impl Iterator<Item = (&'f str, &'f [u8], String)>,
    ) -> SignedSet {
        let (mut contents, mut digests) = (BTreeMap::new(), BTreeMap::new());
        for (path, content, digest) in files {
            contents.insert(PathBuf::from(path), content.into());
            digests.insert(PathBuf::from(path), digest);
        }
        let approved = Arc::new(Approved::of_bundle(dir, digests));
        SignedSet {
            digest,
            dir: dir.into(),
            files: contents,
            approved,
        }
    }

    /// The content of a file by its whole path: nothing of the directory is read from the disk.
    /// `None`: it is elsewhere.
    pub(super) fn content(&self, path: &Path) -> Option<Result<&[u8], String>> {
        let below = normalise(path).strip_prefix(&self.dir).ok()?.to_path_buf();
        let content = self.files.get(&below).map(|it| &**it);
        Some(content.ok_or_else(|| "there is no such file in what was published".into()))
    }
}

impl PartialEq for SignedSet {
    fn eq(&self, other: &SignedSet) -> bool {
        self.digest == other.digest && self.dir == other.dir
    }
}

impl Eq for SignedSet {}

impl Signed {
    /// `place`: where people find the files.
    pub fn new(place: PathBuf, standing: Standing) -> Signed {
        Signed(Arc::new(Shared {
            place,
            standing: Mutex::new(standing),
        }))
    }

    /// Where people find the files.
    pub fn place(&self) -> &Path {
        &self.0.place
    }

    /// What there is to judge by at this moment.
    pub fn standing(&self) -> Standing {
        self.0.standing.lock().clone()
    }

    /// Whether the next load takes what was signed with this digest, from this directory.
    pub fn has(&self, digest: &str, dir: &Path) -> bool {
        matches!(&*self.0.standing.lock(), Standing::Set(set) if set.digest == digest && *set.dir == *dir)
    }

    /// Has the next load take this. Says whether it is something else than before.
    pub fn replace(&self, standing: Standing) -> bool {
        let mut now = self.0.standing.lock();
        let is_other = *now != standing;
        *now = standing;
        is_other
    }
}

impl PartialEq for Signed {
    fn eq(&self, other: &Signed) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Signed {}

/// The definitions that stand in where nothing can be believed.
pub(super) fn stand_in(why: &str) -> String {
    deny_gates("broken-fleet", &safe(why))
}
