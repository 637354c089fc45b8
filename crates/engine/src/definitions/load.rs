//! From directories to a hook set: what is known of every file is kept between loads, so that a
//! load costs what has changed, and a file that breaks keeps its last good hooks in force.

use super::approved::{self, DEFINITIONS, tree};
use super::cases::is_definition_file;
pub use super::file_state::unreadable;
use super::file_state::{Defined, FileState, Named, NamedText, Place, file_problem};
use super::last_good::{Book, LastGood, Texts};
use super::layer_dir::{Kept, LayerDir};
use super::links::Links;
use super::scan::{
    Files, Found, Key, Loss, Scan, Watch, at_path, has_misspelt_ending, is_about_trust,
    is_found_as_definitions, path_diagnostic,
};
use super::signed::{self, SignedSet, Standing};
use super::untrusted::{self, Distrusted};
use super::worktrees::{self, Twins};
use crate::hook::Hook;
use crate::hook_set::{HookSet, UntrustedRule};
use hookwire_base::support::file::{Reads, Signature, Unread, read, signature};
use hookwire_base::syntax::diagnostic::{Diagnostic, Diagnostics, Severity};
use hookwire_base::syntax::source::Layer;
use hookwire_handlers::handlers::Means;
use hookwire_handlers::handlers::approved::Approved;
use hookwire_rules::matching::tools::ToolNames;
use hookwire_rules::policy::Policy;
use sha2::{Digest, Sha256};
use std::cell::RefCell;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

/// The files, as they are known between loads.
pub struct Loader {
    dirs: Vec<LayerDir>,
    means: Means,
    /// The last good texts that an earlier host has kept of each directory.
    books: Vec<Option<Book>>,
    files: Files,
    /// Files that had changed at the last look, as they were then; see [`Look::Settled`].
    restless: HashMap<PathBuf, Signature>,
    /// Files that hold less than what of them is in force, or aren't there any more: not for long
    /// enough to count.
    losses: HashMap<Key, Loss>,
    /// The last load was too early; see [`Scan::is_early`].
    was_early: bool,
    watch: Watch,
    /// The directory of the fleet's definitions that are in force.
    published_in: Option<Arc<Path>>,
    published: Arc<HookSet>,
    /// The definitions of the published set by layer and name.
    in_force: InForce,
    /// Hooks of the program that embeds the host.
    own: Vec<Defined>,
    /// Warnings about them.
    own_warnings: Vec<Arc<Diagnostic>>,
    own_policies: Vec<Arc<Policy>>,
    /// What is read only once.
    reads: Option<Reads>,
}

/// How careful a load is with files that may not be finished yet.
#[derive(Clone, Copy, Debug)]
pub enum Look<'a> {
    /// Takes every file as it is.
    Now,
    /// Leaves files alone that are being written.
    Holding {
        /// Known to be open.
        open: &'a HashSet<PathBuf>,
        /// A file that was changed after this may still be open, although that isn't known yet.
        quiet_since: Option<SystemTime>,
    },
    /// Takes a changed file once two looks in a row have found it the same.
    Settled,
}

/// The result of a load.
pub struct Loaded {
    /// The set; the same as before if nothing changed.
    pub hooks: Arc<HookSet>,
    /// Everything that is wrong.
    pub diagnostics: Diagnostics,
    /// The texts that diagnostics point into, by file.
    pub sources: HashMap<String, Arc<str>>,
    /// How the set differs from the one before.
    pub changes: Changes,
    /// Where to watch.
    pub watch: Watch,
    /// Some file was just changed and left alone: look again soon.
    pub unsettled: bool,
    /// Look again after so long: what takes hooks away counts then, if it still stands.
    pub again: Option<Duration>,
}

/// Names of hooks that came, went or changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// New hooks.
    pub added: Vec<Arc<str>>,
    /// Hooks that are gone.
    pub removed: Vec<Arc<str>>,
    /// Hooks with another definition.
    pub changed: Vec<Arc<str>>,
}

/// How long a loss of hooks must have stood before it counts: writers truncate a file and fill it
/// in pieces, or remove it and write it again, and its guards are not to be off in between.
const LOSS_STANDS: Duration = Duration::from_millis(500);

type InForce = HashMap<(Layer, Arc<str>), Vec<[u8; 16]>>;

/// A load during which files changed is done again: it may hold files of two states that were
/// never there together. Files that never stop changing are taken as they are.
const MAX_TRIES: usize = 4;
/// Broken definitions that every verdict lists; the rest are counted.
const MAX_BROKEN: usize = 8;

impl Loader {
    /// A loader that has read nothing yet, for a host that can do so much for hooks.
    pub fn new(dirs: Vec<LayerDir>, means: Means) -> Loader {
        Loader {
            books: dirs.iter().map(|_| None).collect(),
            dirs,
            means,
            files: Files::new(),
            restless: HashMap::new(),
            losses: HashMap::new(),
            was_early: false,
            watch: Watch::new(),
            published_in: None,
            published: Arc::default(),
            in_force: InForce::new(),
            own: Vec::new(),
            own_warnings: Vec::new(),
            own_policies: Vec::new(),
            reads: None,
        }
    }

    /// Reads each file once, and so that others who read there get the same.
    pub fn reading(self, reads: &Reads) -> Loader {
        Loader {
            reads: Some(reads.clone()),
            ..self
        }
    }

    /// The files that were read, as they were found and without symlinks.
    pub fn read(&self) -> impl Iterator<Item = (&Path, &Path)> {
        self.files
            .iter()
            .map(|((_, path), state)| (path.as_path(), state.real.as_path()))
    }

    /// Goes on from what an earlier host has kept on disk.
    pub(crate) fn with_last_good(mut self, last_good: LastGood) -> Loader {
        self.books = self
            .dirs
            .iter()
            .map(|dir| Book::open(dir, last_good))
            .collect();
        self
    }

    /// Adds a hook that is in no file, with warnings about it; the next load puts it in force.
    pub fn add(&mut self, hook: Hook, warnings: Vec<Diagnostic>) {
        self.own_warnings.extend(warnings.into_iter().map(Arc::new));
        let digest = Sha256::digest(format!("program\0{}", self.own.len()));
        let digest = digest.first_chunk().copied().unwrap_or_default();
        self.own.push(Defined {
            hook: Arc::new(hook),
            digest,
            from: None,
        });
    }

    /// Adds a policy of the program that embeds the host.
    pub(crate) fn add_policy(&mut self, mut policy: Policy) {
        // Each counts for itself.
        policy.source.position = self.own_policies.len();
        self.own_policies.push(Arc::new(policy));
    }

    /// How many hooks of the program there are.
    pub fn n_own(&self) -> usize {
        self.own.len()
    }

    /// The files that the definitions name and that were read with them.
    pub fn named(&self) -> impl Iterator<Item = PathBuf> {
        self.files
            .values()
            .flat_map(|state| state.named.iter().map(|it| it.path.clone()))
    }

    /// Where to watch, as of the last load.
    pub fn watch(&self) -> &Watch {
        &self.watch
    }

    /// Looks at every directory and makes a whole new set, unless nothing has changed.
    pub fn load(&mut self, look: Look<'_>) -> Loaded {
        let mut scan = self.scan(look);
        for _ in 1..MAX_TRIES {
            if self.is_as_before(&scan) || scan.is_still_true() {
                break;
            }
            scan = self.scan(look);
        }
        // Half a change is none. What changes all the time puts the rest off once only.
        self.was_early = scan.is_early && !self.was_early;
        if !self.was_early {
            self.files = scan.files;
            self.published_in = scan.published_in;
        }
        self.restless = scan.restless;
        self.losses = scan.losses;
        self.watch = scan.watch;
        for (index, missing) in scan
            .is_missing
            .iter()
            .enumerate()
            .filter(|_| !self.was_early)
        {
            // A directory that is away may come back.
            let texts = if *missing {
                None
            } else {
                Some(self.good_texts(index))
            };
            if let Some((book, texts)) = self.books[index].as_mut().zip(texts) {
                book.keep(texts);
            }
        }
        let of_books = self.books.iter().flatten().filter_map(|book| {
            let mut problem = file_problem("last-good", book.problem()?.to_string());
            problem.severity = Severity::Warning;
            Some(at_path(book.place(), problem))
        });
        scan.problems.extend(of_books);
        let again = scan.again;
        Loaded {
            again,
            ..self.assemble(scan.problems, scan.unsettled)
        }
    }

    /// The texts of a directory's files that are in force, by the files' paths below it.
    fn good_texts(&self, index: usize) -> Texts {
        let below = |path: &Path| {
            path.strip_prefix(&self.dirs[index].path)
                .unwrap_or(path)
                .to_path_buf()
        };
        // The record is JSON, whose names are texts.
        let good = self
            .known(index)
            .filter(|((_, path), state)| !state.good.is_empty() && path.to_str().is_some());
        good.map(|((_, path), state)| (below(path), state.good.clone()))
            .collect()
    }

    /// The directories of which the last good state is kept, and whether that is the one in force.
    pub fn kept_on_disk(&self) -> impl Iterator<Item = (&Book, bool)> {
        let books = self
            .books
            .iter()
            .enumerate()
            .filter_map(|(index, book)| Some((index, book.as_ref()?)));
        let kept = books.map(|(index, book)| (book, self.good_texts(index)));
        kept.filter(|(book, texts)| !book.is_empty() || !texts.is_empty())
            .map(|(book, texts)| (book, book.says(&texts)))
    }

    fn is_as_before(&self, scan: &Scan) -> bool {
        let same = |(key, state): (&Key, &Arc<FileState>)| {
            self.files
                .get(key)
                .is_some_and(|before| Arc::ptr_eq(before, state))
        };
        self.files.len() == scan.files.len() && scan.files.iter().all(same)
    }

    fn scan(&self, look: Look<'_>) -> Scan {
        let mut scan = Scan::default();
        for (index, dir) in self.dirs.iter().enumerate() {
            scan.index = index;
            scan.found.clear();
            scan.is_missing.push(false);
            if let Kept::Signed(signed) = &dir.kept {
                self.scan_signed(index, dir, &signed.standing(), &mut scan);
                continue;
            }
            let here = fs::metadata(&dir.path).ok().filter(Metadata::is_dir);
            if here.is_some_and(|it| scan.is_loaded_by_outer(&it, &dir.path)) {
                scan.follow_path(&dir.path);
                scan.is_missing[index] = true;
                continue;
            }
            match &dir.kept {
                Kept::AsItIs | Kept::Signed(_) => {}
                Kept::Approved(states) => {
                    self.scan_approved(index, dir, states, &mut scan);
                    continue;
                }
                Kept::Compared(states) => {
                    if let Err((link, problem)) = scan.compare(dir, true, states) {
                        let (message, _) = approved::stand_in(&dir.path, &problem);
                        scan.problems
                            .push(path_diagnostic(&link, "broken-trust", message));
                    }
                }
            }
            let real = scan.follow_path(&dir.path);
            let is_file = is_definition_file(&dir.path);
            let metadata =
                fs::metadata(&real).and_then(|metadata| match metadata.is_dir() || is_file {
                    true => Ok(metadata),
                    false => Err(io::ErrorKind::NotADirectory.into()),
                });
            let metadata = match metadata {
                Ok(metadata) => metadata,
                Err(error) => {
                    self.without_directory(index, is_file, &error, &mut scan);
                    continue;
                }
            };
            if metadata.is_dir() {
                scan.directory(&dir.path, &real, 0);
                // Beside definitions, a file may be kept under another name to switch it off.
                let is_alone = scan.found.is_empty();
                scan.passed_over
                    .retain(|path| is_alone || has_misspelt_ending(path));
                scan.tell_passed_over();
            } else {
                let signature = Some(Signature::from_metadata(&metadata));
                scan.found.push(Found {
                    path: dir.path.clone(),
                    real,
                    signature,
                    is_found: false,
                });
            }
            self.keep_all_unread(index, &mut scan);
            scan.found.sort_by(|a, b| a.path.cmp(&b.path));
            for found in std::mem::take(&mut scan.found) {
                if scan.is_loaded_already(&found) {
                    continue;
                }
                let key = (index, found.path.clone());
                let before = self.files.get(&key);
                if let Look::Holding { open, .. } = look
                    && open.contains(&found.real)
                {
                    scan.files
                        .extend(before.map(|before| (key, before.clone())));
                    continue;
                }
                if let Some(state) = self.update(index, &found, None, before, look, &mut scan) {
                    for Named {
                        path, signature, ..
                    } in &state.named
                    {
                        let real = scan.follow_path(path);
                        let (path, signature) = (path.clone(), *signature);
                        scan.looked_at.push(Found {
                            path,
                            real,
                            signature,
                            is_found: false,
                        });
                    }
                    scan.files.insert(key, state);
                }
                scan.looked_at.push(found);
            }
            self.keep_what_just_went(index, look, &mut scan);
        }
        self.stand_in_for_distrusted(&mut scan);
        scan
    }

    /// What files outside of all projects say of those that nobody has trusted, the strictest.
    fn on_untrusted(files: &Files) -> Option<&UntrustedRule> {
        files
            .values()
            .filter_map(|state| state.untrusted.as_ref())
            .max()
    }

    /// Has that in force for each of them.
    fn stand_in_for_distrusted(&self, scan: &mut Scan) {
        let Some(rule) = Self::on_untrusted(&scan.files).cloned() else {
            return;
        };
        for Distrusted {
            index,
            root,
            has_changed,
        } in std::mem::take(&mut scan.distrusted)
        {
            if let Some(text) = untrusted::stand_in(&rule, &root, has_changed) {
                self.put_stand_in(index, &root.join(DEFINITIONS), text, scan);
            }
        }
    }

    /// Keeps what is known of files that aren't there any more, until they have been away for long
    /// enough. A file that has only moved isn't missed.
    fn keep_what_just_went(&self, index: usize, look: Look<'_>, scan: &mut Scan) {
        for (key, state) in self.known(index).filter(|(_, state)| state.has_good()) {
            let has_moved = |(other, it): (&Key, &Arc<FileState>)| {
                !self.files.contains_key(other)
                    && it.content == state.content
                    && it.content.is_some()
            };
            let is_there = scan.files.contains_key(key) || scan.loaded.contains_key(&state.real);
            if is_there || scan.files.iter().any(has_moved) {
                continue;
            }
            let around = key.1.ancestors().skip(1).find_map(signature);
            if !self.stands(key, around, look, scan) {
                scan.files.insert(key.clone(), state.clone());
            }
        }
    }

    /// Whether a file that has lost hooks has been so for long enough to count. Whoever asks for a
    /// load has it count at once.
    fn stands(&self, key: &Key, looks: Option<Signature>, look: Look<'_>, scan: &mut Scan) -> bool {
        if matches!(look, Look::Now) {
            return true;
        }
        let known = self.losses.get(key).copied().filter(|it| it.looks == looks);
        let loss = known.unwrap_or_else(|| Loss {
            since: Instant::now(),
            looks,
        });
        let left = LOSS_STANDS.saturating_sub(loss.since.elapsed());
        if left.is_zero() {
            return true;
        }
        scan.losses.insert(key.clone(), loss);
        scan.again = Some(scan.again.map_or(left, |again| again.min(left)));
        false
    }

    /// A layer's directory that can't be opened. One that was there is not a deletion of its files
    /// one by one: a mount, a symlink being swapped, guards moved out of the way.
    fn without_directory(&self, index: usize, is_file: bool, error: &io::Error, scan: &mut Scan) {
        let dir = &self.dirs[index];
        let is_gone = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
        let what = match error.kind() {
            io::ErrorKind::NotFound if is_file => "the file doesn't exist".to_string(),
            io::ErrorKind::NotFound => "the directory doesn't exist".to_string(),
            io::ErrorKind::NotADirectory => "it is not a directory".to_string(),
            _ => format!("failed to open the directory: {error}"),
        };
        let has_known = self.known(index).any(|(_, state)| state.has_good());
        // A link that leads nowhere is there.
        if is_gone(error)
            && !has_known
            && fs::symlink_metadata(&dir.path).is_err_and(|error| is_gone(&error))
        {
            scan.is_missing[index] = true;
            if dir.layer == Layer::Hooks {
                scan.problems
                    .push(path_diagnostic(&dir.path, "missing-directory", what));
            }
            return;
        }
        self.keep_unread(index, &dir.path, "missing-directory", what, scan);
    }

    /// A directory that can't be read is a broken one: what is known of the files in it stays as it
    /// is, what an earlier host has kept of them is in force, and without either no tool is called.
    fn keep_unread(
        &self,
        index: usize,
        under: &Path,
        code: &'static str,
        message: String,
        scan: &mut Scan,
    ) {
        let kept: Vec<_> = self
            .known(index)
            .filter(|((_, path), state)| path.starts_with(under) && state.has_good())
            .collect();
        let mut problem = file_problem(code, message);
        if !kept.is_empty() {
            let time = kept
                .iter()
                .filter(|(_, state)| state.signature.is_none())
                .find_map(|(_, state)| state.time());
            problem.message.push_str(&match time {
                Some(time) => format!("; its state of {time} is in force"),
                None => "; its last good hooks stay in force".into(),
            });
            scan.files.extend(
                kept.into_iter()
                    .map(|(key, state)| (key.clone(), state.clone())),
            );
            scan.problems.push(at_path(under, problem));
            return;
        }
        let dir = &self.dirs[index];
        let files = self.books[index]
            .iter()
            .flat_map(Book::files)
            .map(|file| dir.path.join(file));
        let (layer, means) = (dir.layer, &self.means);
        let place = Place {
            path: under,
            real: under,
            signature: None,
            is_found: true,
            layer,
            approved: None,
            means,
        };
        let mut time = None;
        for path in files.filter(|path| path.starts_with(under)) {
            let found = Found {
                real: path.clone(),
                path,
                signature: None,
                is_found: true,
            };
            if let Some(mut state) = self.restore(index, &found) {
                if time.is_none() {
                    time = state.time().map(str::to_string);
                    state.told = Some(place.told(time.as_deref()));
                }
                scan.files.insert((index, found.path), Arc::new(state));
            }
        }
        match time {
            Some(time) => {
                problem
                    .message
                    .push_str(&format!("; its state of {time} is in force"));
                scan.problems.push(at_path(under, problem));
            }
            None => {
                let state = place.broken("".into(), false, None, vec![problem]);
                scan.files
                    .insert((index, under.to_path_buf()), Arc::new(state));
            }
        }
    }

    /// Keeps what is known of the files in each directory that the walk couldn't read.
    fn keep_all_unread(&self, index: usize, scan: &mut Scan) {
        for (unreadable, message) in std::mem::take(&mut scan.unreadable) {
            self.keep_unread(index, &unreadable, "unreadable", message, scan);
        }
    }

    /// The state of a file that an earlier host has kept.
    fn restore(&self, index: usize, found: &Found) -> Option<FileState> {
        let book = self.books[index].as_ref()?;
        let file = found
            .path
            .strip_prefix(&self.dirs[index].path)
            .unwrap_or(&found.path);
        let place = self.place(index, found, None);
        let state = place.restore(book.of(file))?;
        // It is no state that the file was seen in.
        let (signature, content) = (None, None);
        Some(FileState {
            signature,
            content,
            diagnostics: Vec::new(),
            names: Vec::new(),
            named: Vec::new(),
            ..state
        })
    }

    fn place<'a>(
        &'a self,
        index: usize,
        found: &'a Found,
        approved: Option<&'a Arc<Approved>>,
    ) -> Place<'a> {
        let Found {
            path,
            real,
            signature,
            is_found,
        } = found;
        let (layer, means) = (self.dirs[index].layer, &self.means);
        Place {
            path,
            real,
            signature: *signature,
            is_found: *is_found,
            layer,
            approved,
            means,
        }
    }

    /// The files of a directory, as they are known.
    fn known(&self, index: usize) -> impl Iterator<Item = (&Key, &Arc<FileState>)> {
        self.files
            .range((index, PathBuf::new())..(index + 1, PathBuf::new()))
    }

    /// Leaves what is known of the files under a path as it is.
    fn keep(&self, index: usize, under: &Path, scan: &mut Scan) {
        let kept = self
            .known(index)
            .filter(|((_, path), _)| path.starts_with(under));
        scan.files
            .extend(kept.map(|(key, state)| (key.clone(), state.clone())));
    }

    /// Looks at the approved state of a project.
    fn scan_approved(&self, index: usize, dir: &LayerDir, links: &[PathBuf], scan: &mut Scan) {
        let is_own = dir.path.parent() == Some(&*scan.links.real(&self.means.root));
        let state = match scan.compare(dir, is_own, links) {
            Ok(Some(state)) => state,
            Ok(None) if is_own && dir.path.is_file() => {
                let message = "it is a file; definitions are files in a directory of this name";
                scan.problems.push(path_diagnostic(
                    &dir.path,
                    "missing-directory",
                    message.into(),
                ));
                return;
            }
            Ok(None) => return,
            Err((link, problem)) => {
                self.stand_in(index, dir, &link, &problem, scan);
                return;
            }
        };
        // The copy of a project whose definitions are all gone has no directory of them.
        if !state
            .record
            .files
            .keys()
            .any(|file| file.starts_with(DEFINITIONS))
        {
            return;
        }
        scan.directory(&dir.path, &tree(&state.place).join(DEFINITIONS), 0);
        self.keep_all_unread(index, scan);
        let approved = state.approved();
        for found in std::mem::take(&mut scan.found) {
            let key = (index, found.path.clone());
            // Another state's files name other copies.
            let before = self
                .files
                .get(&key)
                .filter(|before| before.real.starts_with(&state.place));
            if let Some(state) =
                self.update(index, &found, Some(&approved), before, Look::Now, scan)
            {
                scan.files.insert(key, state);
            }
        }
    }

    /// Has hooks that deny in the place of an approved state that is broken, beside what is known
    /// of it: nobody can say what it would have denied.
    fn stand_in(&self, index: usize, dir: &LayerDir, link: &Path, problem: &str, scan: &mut Scan) {
        self.keep(index, &dir.path, scan);
        let (message, text) = approved::stand_in(&dir.path, problem);
        scan.problems
            .push(path_diagnostic(link, "broken-trust", message));
        self.put_stand_in(index, link, text, scan);
    }

    /// Has a text in force as if it were a file.
    fn put_stand_in(&self, index: usize, path: &Path, text: String, scan: &mut Scan) {
        let key = (index, path.to_path_buf());
        let before = self.files.get(&key);
        let found = Found {
            path: path.into(),
            real: path.into(),
            signature: None,
            is_found: false,
        };
        let place = self.place(index, &found, None);
        let read = Ok((text, Signature::of_nothing()));
        let state = read_state(
            place,
            &read,
            before,
            false,
            &named_on_disk(&mut scan.links, None),
        );
        scan.files.insert(key, state);
    }

    /// Takes what a fleet has published, from memory.
    fn scan_signed(&self, index: usize, dir: &LayerDir, standing: &Standing, scan: &mut Scan) {
        let set = match standing {
            Standing::Set(set) => set,
            Standing::Nothing(why) => {
                scan.problems
                    .push(path_diagnostic(&dir.path, "broken-fleet", why.clone()));
                self.put_stand_in(index, &dir.path, signed::stand_in(why), scan);
                return;
            }
        };
        scan.published_in = Some(set.dir.clone());
        for (file, content) in set
            .files
            .iter()
            .filter(|(file, _)| is_found_as_definitions(file))
        {
            let (path, real) = (dir.path.join(file), set.dir.join(file));
            let key = (index, path.clone());
            // Another set's scripts are elsewhere.
            let before = self.files.get(&key).filter(|before| before.real == real);
            let mut is_stale = false;
            for named in before
                .iter()
                .flat_map(|before| &before.named)
                .filter(|it| set.content(&it.path).is_none())
            {
                is_stale |=
                    named.racy || signature(&scan.links.real(&named.path)) != named.signature;
            }
            let text = String::from_utf8(content.to_vec());
            let read = text
                .map(|text| (text, Signature::of_nothing()))
                .map_err(|error| Unread::not_text(&error));
            let found = Found {
                path,
                real,
                signature: Some(Signature::of_nothing()),
                is_found: true,
            };
            let place = self.place(index, &found, Some(&set.approved));
            let state = {
                let on_disk = named_on_disk(&mut scan.links, None);
                let named = |path: &Path| named_in_set(set, path).unwrap_or_else(|| on_disk(path));
                read_state(place, &read, before, is_stale, &named)
            };
            for Named {
                path, signature, ..
            } in state
                .named
                .iter()
                .filter(|it| set.content(&it.path).is_none())
            {
                let real = scan.follow_path(path);
                let (path, signature) = (path.clone(), *signature);
                scan.looked_at.push(Found {
                    path,
                    real,
                    signature,
                    is_found: false,
                });
            }
            scan.files.insert(key, state);
        }
    }

    /// Reads one file again if it may have changed. `None`: it is new and not finished yet.
    fn update(
        &self,
        index: usize,
        found: &Found,
        approved: Option<&Arc<Approved>>,
        before: Option<&Arc<FileState>>,
        look: Look<'_>,
        scan: &mut Scan,
    ) -> Option<Arc<FileState>> {
        let is_new = before.is_none_or(|before| before.signature != found.signature);
        let mut changed: Vec<(PathBuf, Option<Signature>)> = Vec::new();
        if is_new {
            changed.push((found.real.clone(), found.signature));
        }
        for named in before.iter().flat_map(|before| &before.named) {
            let real = scan.links.real(&named.path);
            let now = signature(&real);
            if named.racy || now != named.signature {
                changed.push((real, now));
            }
        }
        let is_stale = changed.len() > usize::from(is_new);
        for (path, signature) in changed {
            let Some(signature) = signature else { continue };
            let is_held = match look {
                Look::Now => false,
                Look::Holding { open, quiet_since } => {
                    let is_early = quiet_since.is_some_and(|since| signature.is_newer_than(since));
                    scan.is_early |= is_early;
                    is_early || open.contains(&path)
                }
                Look::Settled => {
                    scan.restless.insert(path.clone(), signature);
                    self.restless.get(&path) != Some(&signature)
                }
            };
            if is_held {
                scan.unsettled = true;
                return before.cloned();
            }
        }
        if let Some(before) = before
            && !is_new
            && !is_stale
            && !before.racy
            && before.signature.is_some()
        {
            return Some(before.clone());
        }
        let reads = self.reads.as_ref();
        let read = read_once(reads, &found.real);
        let place = self.place(index, found, approved);
        let state = read_state(
            place,
            &read,
            before,
            is_stale,
            &named_on_disk(&mut scan.links, reads),
        );
        // A link that was turned elsewhere leads to a file that was written before.
        if let Some(before) =
            before.filter(|before| before.real == found.real && state.takes_from(before))
            && !self.stands(&(index, found.path.clone()), state.signature, look, scan)
        {
            return Some(before.clone());
        }
        // The first look at a file that something is wrong with goes on from what an earlier host
        // has kept.
        if before.is_some() || !state.needs_last_good() {
            return Some(state);
        }
        if let Some(kept) = self.restore(index, found) {
            return Some(read_state(
                place,
                &read,
                Some(&Arc::new(kept)),
                is_stale,
                &named_on_disk(&mut scan.links, reads),
            ));
        }
        let unusable = self.books[index].as_ref().and_then(Book::unusable);
        Some(match (&state.told, unusable) {
            (Some(told), Some(why)) => Arc::new(FileState {
                told: Some(format!("{told}; {why}")),
                ..(*state).clone()
            }),
            _ => state,
        })
    }

    fn assemble(&mut self, problems: Vec<Diagnostic>, unsettled: bool) -> Loaded {
        let mut diagnostics: Vec<_> = problems.into_iter().map(Arc::new).collect();
        let mut hooks = Vec::new();
        let mut in_force = InForce::new();
        let mut sources = HashMap::new();
        let twins = worktrees::twins(
            self.files
                .values()
                .flat_map(|state| &state.hooks)
                .map(|it| &it.hook),
        );
        let others: HashSet<_> = twins.iter().map(|it| Arc::as_ptr(it.other)).collect();
        let left_out: HashSet<_> = twins
            .iter()
            .filter_map(Twins::left_out_of_all)
            .map(Arc::as_ptr)
            .collect();
        let mut first = FirstOfName::new();
        for ((index, path), state) in &self.files {
            let layer = self.dirs[*index].layer;
            let start = diagnostics.len();
            diagnostics.extend(state.diagnostics.iter().cloned());
            diagnostics.extend(same_names(layer, path, state, &others, &mut first));
            diagnostics[start..].sort_by_key(|it| it.span.start);
            if diagnostics.len() > start {
                sources.insert(path.display().to_string(), state.text.clone());
            }
            for Defined { hook, digest, .. } in &state.hooks {
                if !left_out.contains(&Arc::as_ptr(hook)) {
                    in_force
                        .entry((layer, hook.name.clone()))
                        .or_default()
                        .push(*digest);
                    hooks.push(hook.clone());
                }
            }
        }
        for Defined { hook, digest, .. } in &self.own {
            in_force
                .entry((hook.source.layer, hook.name.clone()))
                .or_default()
                .push(*digest);
            hooks.push(hook.clone());
        }
        diagnostics.extend(self.own_warnings.iter().cloned());
        in_force
            .values_mut()
            .for_each(|digests| digests.sort_unstable());
        let errors = diagnostics
            .iter()
            .filter(|it| it.severity == Severity::Error);
        let mut broken: Vec<_> = errors.map(|it| it.one_line()).collect();
        if broken.len() > MAX_BROKEN {
            let more = broken.len() - MAX_BROKEN;
            broken.truncate(MAX_BROKEN);
            broken.push(format!("and {more} more mistakes; see `hookwire check`"));
        }
        let notices = diagnostics.iter().filter(|it| is_about_trust(it));
        let notices: Vec<_> = notices.map(|it| it.one_line()).collect();
        let told: Vec<_> = self
            .files
            .values()
            .filter_map(|state| state.told.clone())
            .take(MAX_BROKEN)
            .collect();
        let changes = changes(&self.in_force, &in_force, &hooks, &self.published.hooks);
        let (hash, before) = (self.hash(&left_out), self.published.clone());
        let is_told = *before.notices == *notices && *before.told == *told;
        // The same files under another revision are another set: a verdict tells by its generation
        // which one judged.
        let published_in = self.published_in.clone();
        let is_as_published = before.published_in == published_in;
        if before.generation == 0
            || before.hash != hash
            || *before.broken != *broken
            || !is_told
            || !is_as_published
        {
            let policies = self.files.values().filter_map(|state| state.policy.clone());
            let mut policies: Vec<_> = policies.chain(self.own_policies.iter().cloned()).collect();
            policies.sort_by_key(|policy| policy.source.layer);
            let mut set = HookSet::new(hooks, before.generation + 1, hash, broken);
            set.policies = policies;
            set.untrusted = Self::on_untrusted(&self.files).cloned();
            set.notices = notices.into();
            set.told = told.into();
            set.published_in = published_in;
            let tools = self
                .files
                .values()
                .flat_map(|state| state.tools.iter().cloned());
            set.tool_names = Arc::new(ToolNames(tools.collect()));
            self.published = Arc::new(set);
            self.in_force = in_force;
        }
        Loaded {
            hooks: self.published.clone(),
            diagnostics: diagnostics.into_iter().collect(),
            sources,
            changes,
            watch: self.watch.clone(),
            unsettled,
            again: None,
        }
    }

    /// Names the content in force: every file's text, and for a file that is broken the hooks that
    /// stay in force instead. The same files have the same hash on every machine and after every
    /// restart. Hooks that are left out, because the same hook of another worktree runs, are told
    /// apart: what only they run may change.
    fn hash(&self, left_out: &HashSet<*const Hook>) -> Arc<str> {
        let mut hash = Sha256::new();
        for ((index, path), state) in &self.files {
            let dir = &self.dirs[*index];
            let path = path.strip_prefix(&dir.path).unwrap_or(path);
            hash.update(format!("{:?}\0{index}\0{}\0", dir.layer, path.display()));
            hash.update(state.content.unwrap_or_default());
            for Defined { hook, digest, .. } in &state.hooks {
                hash.update(format!("{}\0", hook.name));
                hash.update(digest);
                if left_out.contains(&Arc::as_ptr(hook)) {
                    hash.update("left out\0");
                }
            }
        }
        for Defined { hook, digest, .. } in &self.own {
            hash.update(format!("{}\0", hook.name));
            hash.update(digest);
        }
        hookwire_base::support::digest::hex(&hash.finalize()[..16]).into()
    }
}

/// Where the first hook of each name is, in its layer.
type FirstOfName<'l> = HashMap<(Layer, &'l str), (&'l Path, usize)>;

/// Warnings about hooks of a file whose names earlier ones have, but for `others`: one and the same
/// hook in two worktrees has one name.
fn same_names<'l>(
    layer: Layer,
    path: &'l Path,
    state: &'l FileState,
    others: &HashSet<*const Hook>,
    first: &mut FirstOfName<'l>,
) -> Vec<Arc<Diagnostic>> {
    let is_twin = |it: &Defined| others.contains(&Arc::as_ptr(&it.hook));
    let mut warnings = Vec::new();
    for (name, span, range) in &state.names {
        let mut of_name = state
            .hooks
            .iter()
            .filter(|it| it.hook.name == *name)
            .peekable();
        if !others.is_empty() && of_name.peek().is_some() && of_name.all(is_twin) {
            continue;
        }
        match first.entry((layer, name)) {
            Entry::Vacant(entry) => drop(entry.insert((path, range.start.line))),
            Entry::Occupied(entry) => {
                let duplicate = worktrees::duplicate_name(name, span, *entry.get(), path);
                warnings.push(
                    duplicate
                        .into_diagnostic(&path.display().to_string(), *range)
                        .into(),
                );
            }
        }
    }
    warnings
}

fn read_once(reads: Option<&Reads>, real: &Path) -> Result<(String, Signature), Unread> {
    reads.map_or_else(|| read(real), |reads| reads.text(real))
}

/// A file's state as it has been read now, compiled unless it is the one that is known.
fn read_state(
    place: Place<'_>,
    read: &Result<(String, Signature), Unread>,
    before: Option<&Arc<FileState>>,
    is_stale: bool,
    named: &dyn Fn(&Path) -> NamedText,
) -> Arc<FileState> {
    let (text, signature) = match read {
        Ok((text, signature)) => (text, *signature),
        Err(error) => {
            let (problem, before_it) = unreadable(error);
            let state = place.broken(
                before_it.into(),
                false,
                before.map(|it| &**it),
                vec![problem],
            );
            // Trouble that was told before is no news.
            let is_as_before = |before: &&Arc<FileState>| {
                before.content.is_none()
                    && (before.signature, before.racy) == (state.signature, state.racy)
                    && before.diagnostics == state.diagnostics
            };
            return before
                .filter(is_as_before)
                .cloned()
                .unwrap_or_else(|| Arc::new(state));
        }
    };
    let racy = signature.is_racy();
    let content: [u8; 32] = Sha256::digest(text.as_bytes()).into();
    if let Some(before) = before
        && before.content == Some(content)
        && !is_stale
    {
        if before.signature == Some(signature) && before.racy == racy {
            return before.clone();
        }
        return Arc::new(FileState {
            real: place.real.into(),
            signature: Some(signature),
            racy,
            ..(**before).clone()
        });
    }
    let place = Place {
        signature: Some(signature),
        ..place
    };
    Arc::new(place.compile(text.as_str().into(), None, before.map(|it| &**it), named))
}

/// Reads a file that a definition names.
fn named_on_disk<'a>(
    links: &'a mut Links,
    reads: Option<&'a Reads>,
) -> impl Fn(&Path) -> NamedText + 'a {
    let links = RefCell::new(links);
    move |path| {
        let real = links.borrow_mut().real(path);
        let result = read_once(reads, &real);
        let signature = result.as_ref().map_or_else(
            |_| self::signature(&real),
            |(_, signature)| Some(*signature),
        );
        (
            result
                .map(|(text, _)| text)
                .map_err(|error| error.to_string()),
            signature,
        )
    }
}

/// The file of a set that a definition names. `None`: it is elsewhere.
fn named_in_set(set: &SignedSet, path: &Path) -> Option<NamedText> {
    let text = set.content(path)?.and_then(|content| {
        let text = String::from_utf8(content.to_vec());
        text.map_err(|error| Unread::not_text(&error).to_string())
    });
    Some((text, None))
}

/// How the definitions of two sets differ. A hook that has only moved to another file hasn't
/// changed.
fn changes(
    before: &InForce,
    after: &InForce,
    hooks: &[Arc<Hook>],
    old_hooks: &[Arc<Hook>],
) -> Changes {
    let mut changes = Changes::default();
    let mut seen = HashSet::new();
    for hook in hooks.iter().chain(old_hooks) {
        let key = (hook.source.layer, hook.name.clone());
        let (old, new) = (before.get(&key), after.get(&key));
        if old == new || !seen.insert(key) {
            continue;
        }
        let list = match old.map_or(0, Vec::len).cmp(&new.map_or(0, Vec::len)) {
            std::cmp::Ordering::Less => &mut changes.added,
            std::cmp::Ordering::Equal => &mut changes.changed,
            std::cmp::Ordering::Greater => &mut changes.removed,
        };
        list.push(hook.name.clone());
    }
    changes
}
