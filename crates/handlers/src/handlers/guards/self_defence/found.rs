//! What a `find` comes across: of the guarded files that stand there, those that its tests let
//! through.

use super::ground::Ground;
use super::places::{Change, Named, Part, meet, parts_of};
use hookwire_rules::matching::patience;
use hookwire_rules::matching::shell::{Finds, Only, Test};
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// A test with its patterns taken apart.
struct Passed<'f> {
    test: &'f Test,
    patterns: Vec<Vec<Part>>,
}

impl Ground<'_> {
    /// The first guarded file that a find comes across, or, for what takes away, directory that
    /// holds one. Where nothing but the kind of file is asked for, a person knows of all in a
    /// directory: only what takes them away by itself counts.
    pub(super) fn found(
        &self,
        finds: &Finds,
        directories: &[PathBuf],
        change: Change,
        is_own: bool,
    ) -> Option<PathBuf> {
        let roots = finds
            .starts
            .iter()
            .flat_map(|word| self.named(word, directories));
        let roots: Vec<PathBuf> = roots.flat_map(|root| self.expanded(&root)).collect();
        let is_close = |root: &PathBuf| {
            let root = Named::path(root);
            let is_part = || self.holds(&root) && !self.is_around(&root);
            self.places.at(&root).is_some() || self.places.receives(&root) || is_part()
        };
        let takes_all =
            is_own && change == Change::Taken || finds.alternatives.iter().flatten().any(says_name);
        let roots: Vec<PathBuf> = roots
            .into_iter()
            .filter(|root| takes_all || is_close(root))
            .collect();
        // The disk is looked at only where something may be found.
        if roots.is_empty() {
            return None;
        }
        let alternatives: Vec<Vec<Passed<'_>>> = finds
            .alternatives
            .iter()
            .map(|tests| tests.iter().map(Passed::new).collect())
            .collect();
        let is_found = |path: &Path| {
            let depths = roots
                .iter()
                .filter_map(|root| Some(path.strip_prefix(root).ok()?.components().count()));
            let depths: Vec<usize> = depths.collect();
            let Ok(about) = path.symlink_metadata() else {
                return false;
            };
            let passes = |depth: usize| {
                alternatives
                    .iter()
                    .any(|all| all.iter().all(|it| it.by(path, depth, &about)))
            };
            depths.into_iter().any(passes)
        };
        let n = if change == Change::Taken {
            usize::MAX
        } else {
            1
        };
        let all = self.files().iter().take_while(|_| patience::is_left());
        let mut ways = all
            .flat_map(|file| file.ancestors().take(n))
            .filter(|path| self.may_take(path));
        ways.find(|path| is_found(path))
            .map(Path::to_path_buf)
            .or_else(|| self.cut_place(&roots))
    }
}

/// Whether a test is about names that are told.
fn says_name(test: &Test) -> bool {
    match &test.only {
        Only::Named { patterns, .. } => {
            !test.is_negated && patterns.iter().any(|it| it.contains(char::is_alphanumeric))
        }
        _ => false,
    }
}

/// Whether a time is so long ago.
fn is_past(time: io::Result<SystemTime>, age: Duration) -> bool {
    time.ok()
        .and_then(|time| SystemTime::now().duration_since(time).ok())
        .is_some_and(|it| it >= age)
}

impl<'f> Passed<'f> {
    fn new(test: &'f Test) -> Passed<'f> {
        let patterns = match &test.only {
            Only::Named { patterns, .. } => &patterns[..],
            _ => &[],
        };
        let parts = |pattern: &String| {
            let names = pattern.split('/').filter(|name| !name.is_empty());
            std::iter::once(Part::Any)
                .chain(names.map(|name| Part::of_pattern(name, true)))
                .collect()
        };
        Passed {
            test,
            patterns: patterns.iter().map(parts).collect(),
        }
    }

    /// Whether what is so deep below a start passes the test.
    fn by(&self, path: &Path, depth: usize, about: &Metadata) -> bool {
        let kind = about.file_type();
        let is_it = match &self.test.only {
            // What isn't all of a test keeps nothing back.
            Only::Named {
                is_exact: false, ..
            } if self.test.is_negated => return true,
            Only::Named { .. } => {
                let parts = parts_of(path);
                self.patterns.iter().any(|pattern| meet(pattern, &parts))
            }
            Only::Unknown => false,
            Only::Kinds(letters) => letters.split(',').any(|letter| match letter {
                "f" => kind.is_file(),
                "d" => kind.is_dir(),
                "l" => kind.is_symlink(),
                _ => false,
            }),
            Only::AtMostDeep(most) => depth <= *most,
            Only::AtLeastDeep(least) => depth >= *least,
            Only::Empty => kind.is_file() && about.len() == 0,
            Only::Older(age) => is_past(about.modified(), *age),
            Only::Unread(age) => is_past(about.accessed(), *age),
            Only::Sized { order, count, unit } => about.len().div_ceil(*unit).cmp(count) == *order,
            Only::Inode(number) => about.ino() == *number,
            Only::OfUser(user) => uzers::get_user_by_uid(about.uid()).is_some_and(|owner| {
                owner.name() == user.as_str() || owner.uid().to_string() == *user
            }),
        };
        is_it != self.test.is_negated
    }
}
