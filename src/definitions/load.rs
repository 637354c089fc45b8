//! From directories to a hook set: what is known of every file is kept between loads, so that a
//! load costs what has changed, and a file that breaks keeps its last good hooks in force.

use super::compile::{Origin, Problem, compile};
use super::diagnostic::{Diagnostic, LineIndex, Severity};
use super::formats::{self, Format};
use crate::hook::{Hook, Layer};
use crate::hook_set::HookSet;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// A directory of definitions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayerDir {
    /// Who vouches for it.
    pub layer: Layer,
    /// Absolute.
    pub path: PathBuf,
}

/// What is known of the files between loads.
pub struct Loader {
    dirs: Vec<LayerDir>,
    files: BTreeMap<(usize, PathBuf), FileState>,
    generation: u64,
    published: Arc<HookSet>,
}

/// What a load came to.
pub struct Loaded {
    /// The set; the same as before if nothing changed.
    pub hooks: Arc<HookSet>,
    /// Everything that is wrong.
    pub diagnostics: Arc<[Diagnostic]>,
    /// The texts that diagnostics point into, by file.
    pub sources: HashMap<String, Arc<str>>,
    /// How the set differs from the one before.
    pub changes: Changes,
    /// Where to watch.
    pub watch: BTreeMap<PathBuf, Interest>,
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

impl Changes {
    /// Nothing changed.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty() && self.changed.is_empty()
    }
}

/// Which entries of a watched directory matter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Interest {
    /// Every one.
    All,
    /// These names: the directory only leads to what matters.
    Names(BTreeSet<std::ffi::OsString>),
}

struct FileState {
    signature: Option<Signature>,
    content: Option<[u8; 32]>,
    text: Arc<str>,
    hooks: Vec<Arc<Hook>>,
    /// Name and place of every hook that can be read, for duplicates.
    names: Vec<(Arc<str>, super::node::Span)>,
    problems: Vec<Problem>,
}

/// What says that a file is unchanged without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Signature {
    inode: u64,
    size: u64,
    modified: SystemTime,
    changed: (i64, i64),
}

/// A file whose times are younger than this when it is looked at may change again within the
/// clock's grain: it is read again next time. (git calls such entries racy.)
const RACY: Duration = Duration::from_secs(2);
const MAX_FILE: u64 = 4 * 1024 * 1024;
const MAX_FILES: usize = 20_000;
const MAX_DEPTH: usize = 16;
/// Broken definitions that every verdict lists; the rest are counted.
const MAX_BROKEN: usize = 8;

impl Loader {
    /// A loader that has read nothing yet.
    pub fn new(dirs: Vec<LayerDir>) -> Loader {
        Loader { dirs, files: BTreeMap::new(), generation: 0, published: Arc::default() }
    }

    /// Looks at every directory and makes a whole new set, unless nothing has changed.
    pub fn load(&mut self) -> Loaded {
        let mut loose = Vec::new();
        let mut watch = Watch::default();
        let mut seen = BTreeSet::new();
        for (index, dir) in self.dirs.clone().iter().enumerate() {
            let mut scan = Scan::default();
            watch.lead_to(&dir.path);
            if !dir.path.is_dir() {
                // A directory that was there is not a deletion of its files one by one: a mount, a
                // symlink being swapped, somebody moving guards out of the way.
                let known: Vec<_> = self.files.keys().filter(|(at, _)| *at == index).cloned().collect();
                if !known.is_empty() || dir.layer == Layer::Hooks {
                    let kept = if known.is_empty() { "" } else { "; its last good hooks stay in force" };
                    loose.push(unplaced(&dir.path, "missing-directory", format!("the directory doesn't exist{kept}")));
                }
                seen.extend(known);
                continue;
            }
            scan.directory(&dir.path, 0, &mut watch);
            loose.extend(scan.problems);
            scan.files.sort();
            for path in scan.files {
                let key = (index, path);
                let state = self.files.remove(&key);
                self.files.insert(key.clone(), update(&key.1, dir, state));
                seen.insert(key);
            }
        }
        self.files.retain(|key, _| seen.contains(key));
        self.assemble(loose, watch.0)
    }

    fn assemble(&mut self, mut diagnostics: Vec<Diagnostic>, watch: BTreeMap<PathBuf, Interest>) -> Loaded {
        let mut hooks = Vec::new();
        let mut sources = HashMap::new();
        let mut broken = Vec::new();
        let mut first: HashMap<(Layer, Arc<str>), String> = HashMap::new();
        for ((index, path), state) in &self.files {
            let file = path.display().to_string();
            let layer = self.dirs[*index].layer;
            let lines = LineIndex::new(&state.text);
            let start = diagnostics.len();
            diagnostics.extend(state.problems.iter().map(|problem| place(&file, problem, &lines)));
            for (name, span) in &state.names {
                let at = || format!("{file}:{}", lines.position(span.start).line);
                match first.entry((layer, name.clone())) {
                    std::collections::hash_map::Entry::Vacant(entry) => {
                        entry.insert(at());
                    }
                    std::collections::hash_map::Entry::Occupied(entry) => {
                        let problem = Problem {
                            span: span.clone(),
                            severity: Severity::Warning,
                            code: "duplicate-name",
                            message: format!("`{name}` is also the name of the hook at {}; both run", entry.get()),
                            help: Some("give one of them another name".into()),
                            hook: Some(name.to_string()),
                        };
                        diagnostics.push(place(&file, &problem, &lines));
                    }
                }
            }
            for diagnostic in diagnostics[start..].iter().filter(|it| it.severity == Severity::Error) {
                broken.push(diagnostic.one_line());
            }
            if diagnostics.len() > start {
                sources.insert(file, state.text.clone());
            }
            hooks.extend(state.hooks.iter().cloned());
        }
        if broken.len() > MAX_BROKEN {
            let more = broken.len() - MAX_BROKEN;
            broken.truncate(MAX_BROKEN);
            broken.push(format!("and {more} more broken definitions; see `hookwire check`"));
        }
        let changes = changes(&self.published.hooks, &hooks);
        let first_load = self.generation == 0;
        if first_load || !changes.is_empty() || *self.published.broken != *broken {
            self.generation += 1;
            self.published = Arc::new(HookSet::new(hooks, self.generation, self.hash(), broken));
        }
        Loaded { hooks: self.published.clone(), diagnostics: diagnostics.into(), sources, changes, watch }
    }

    /// Names the content in force: every file's text, and for a file that is broken the hooks that
    /// stay in force instead.
    fn hash(&self) -> Arc<str> {
        let mut hash = Sha256::new();
        for ((index, path), state) in &self.files {
            hash.update(format!("{:?}\0{}\0", self.dirs[*index].layer, path.display()));
            hash.update(state.content.unwrap_or_default());
            for hook in &state.hooks {
                hash.update(format!("{}\0{:x}\0{}\0", hook.name, hook.fingerprint, hook.source.line));
            }
        }
        hex(&hash.finalize()[..16]).into()
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Reads one file again if it may have changed.
fn update(path: &Path, dir: &LayerDir, before: Option<FileState>) -> FileState {
    let signature = signature(path);
    if let Some(before) = &before
        && signature.is_some()
        && before.signature == signature
    {
        return before_unchanged(before);
    }
    let racy = signature.is_none_or(|it| it.modified.elapsed().unwrap_or_default() < RACY);
    let trusted = signature.filter(|_| !racy);
    let text = match read(path) {
        Ok(text) => text,
        Err(error) => {
            return broken(
                before,
                None,
                "".into(),
                vec![whole("unreadable", format!("failed to read the file: {error}"))],
            );
        }
    };
    let content: [u8; 32] = Sha256::digest(text.as_bytes()).into();
    if let Some(before) = &before
        && before.content == Some(content)
    {
        return FileState { signature: trusted, ..before_unchanged(before) };
    }
    let text: Arc<str> = text.into();
    let had_hooks = before.as_ref().is_some_and(|before| !before.hooks.is_empty());
    if had_hooks && text.trim().is_empty() {
        // Editors truncate before they write.
        let empty = whole("empty-file", "the file is empty".into()).with_help("delete it to remove its hooks");
        return broken(before, Some(content), text, vec![empty]);
    }
    let format = Format::from_path(path).unwrap_or(Format::Yaml);
    let root = match formats::parse(&text, format) {
        Ok(root) => root,
        Err(problems) => {
            let place = |it: formats::Problem| Problem {
                span: it.span,
                severity: Severity::Error,
                code: "syntax",
                message: it.message,
                help: it.help,
                hook: None,
            };
            return broken(before, Some(content), text, problems.into_iter().map(place).collect());
        }
    };
    let file = path.display().to_string();
    let parent = path.parent().unwrap_or(Path::new("/"));
    let origin = Origin { file: &file, dir: parent, layer: dir.layer, client: None };
    let lines = LineIndex::new(&text);
    let compiled = compile(&root, &origin, &lines);
    let mut problems = compiled.problems;
    let mut hooks = Vec::new();
    let mut names = Vec::new();
    for it in compiled.hooks {
        if let Some(name) = &it.name {
            names.push((name.clone(), it.span.clone()));
        }
        let last_good = || {
            let before = before.as_ref()?;
            let name = it.name.as_ref()?;
            before.hooks.iter().find(|hook| hook.name == *name).cloned()
        };
        match (it.hook.clone(), it.stand_in.clone()) {
            (Some(hook), _) => hooks.push(hook),
            (None, stand_in) => {
                let kept = last_good();
                let fate = match (&kept, &stand_in) {
                    (Some(_), _) => "its last good form stays in force",
                    (None, Some(_)) => "it fails closed: its events are denied until it is mended",
                    (None, None) => "it is not in force",
                };
                for problem in problems.iter_mut().filter(|problem| {
                    problem.severity == Severity::Error
                        && problem.hook.is_some()
                        && problem.hook.as_deref() == it.name.as_deref()
                }) {
                    problem.message.push_str(&format!("; {fate}"));
                }
                hooks.extend(kept.or(stand_in));
            }
        }
    }
    FileState { signature: trusted, content: Some(content), text, hooks, names, problems }
}

fn before_unchanged(before: &FileState) -> FileState {
    FileState {
        signature: before.signature,
        content: before.content,
        text: before.text.clone(),
        hooks: before.hooks.clone(),
        names: before.names.clone(),
        problems: before.problems.clone(),
    }
}

/// A file that can't be used keeps its last good hooks in force.
fn broken(
    before: Option<FileState>,
    content: Option<[u8; 32]>,
    text: Arc<str>,
    mut problems: Vec<Problem>,
) -> FileState {
    let (hooks, names) = before.map(|before| (before.hooks, before.names)).unwrap_or_default();
    let fate =
        if hooks.is_empty() { "; no hook of this file is in force" } else { "; its last good hooks stay in force" };
    if let Some(first) = problems.first_mut() {
        first.message.push_str(fate);
    }
    // The places of the names are of another text.
    let names = names.into_iter().map(|(name, _)| (name, 0..0)).collect();
    FileState { signature: None, content, text, hooks, names, problems }
}

fn whole(code: &'static str, message: String) -> Problem {
    Problem { span: 0..0, severity: Severity::Error, code, message, help: None, hook: None }
}

impl Problem {
    fn with_help(mut self, help: &str) -> Problem {
        self.help = Some(help.to_string());
        self
    }
}

/// A problem as a diagnostic of its file.
pub(crate) fn place(file: &str, problem: &Problem, lines: &LineIndex<'_>) -> Diagnostic {
    Diagnostic {
        file: file.to_string(),
        severity: problem.severity,
        code: problem.code.to_string(),
        message: problem.message.clone(),
        help: problem.help.clone(),
        hook: problem.hook.clone(),
        range: lines.range(&problem.span),
        span: problem.span.clone(),
    }
}

fn unplaced(path: &Path, code: &'static str, message: String) -> Diagnostic {
    place(&path.display().to_string(), &whole(code, message), &LineIndex::new(""))
}

fn read(path: &Path) -> io::Result<String> {
    let file = fs::File::open(path)?;
    let mut text = String::new();
    if file.take(MAX_FILE + 1).read_to_string(&mut text)? as u64 > MAX_FILE {
        return Err(io::Error::other("it is larger than 4 MiB"));
    }
    Ok(text)
}

fn signature(path: &Path) -> Option<Signature> {
    let metadata = fs::metadata(path).ok()?;
    #[cfg(unix)]
    let (inode, changed) = {
        use std::os::unix::fs::MetadataExt;
        (metadata.ino(), (metadata.ctime(), metadata.ctime_nsec()))
    };
    #[cfg(not(unix))]
    let (inode, changed) = (0, (0, 0));
    Some(Signature { inode, size: metadata.len(), modified: metadata.modified().ok()?, changed })
}

#[derive(Default)]
struct Scan {
    files: Vec<PathBuf>,
    visited: BTreeSet<PathBuf>,
    problems: Vec<Diagnostic>,
}

impl Scan {
    fn directory(&mut self, dir: &Path, depth: usize, watch: &mut Watch) {
        // A directory is visited once, whatever symlinks lead to it.
        let visited = fs::canonicalize(dir).is_ok_and(|real| self.visited.insert(real));
        if !visited || depth > MAX_DEPTH {
            return;
        }
        watch.all(dir);
        let entries = match fs::read_dir(dir) {
            Ok(entries) => entries,
            Err(error) => {
                self.problems.push(unplaced(dir, "unreadable", format!("failed to read the directory: {error}")));
                return;
            }
        };
        for entry in entries.flatten() {
            let path = entry.path();
            let name = entry.file_name();
            let name = name.to_string_lossy();
            // Editors' swap and backup files.
            if name.starts_with('.') || name.ends_with('~') || name.starts_with('#') {
                continue;
            }
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_symlink() {
                watch.lead_to(&path);
                if let Ok(target) = fs::canonicalize(&path) {
                    watch.lead_to(&target);
                }
            }
            // Follows symlinks.
            match fs::metadata(&path) {
                Ok(metadata) if metadata.is_dir() => self.directory(&path, depth + 1, watch),
                Ok(metadata) if metadata.is_file() && Format::from_path(&path).is_some() => {
                    if self.files.len() < MAX_FILES {
                        self.files.push(path);
                    } else if self.files.len() == MAX_FILES {
                        self.problems.push(unplaced(
                            dir,
                            "too-many-files",
                            format!("more than {MAX_FILES} definition files; the rest are not read"),
                        ));
                        return;
                    }
                }
                // A named pipe or device would block a reader.
                Ok(_) => {}
                Err(error) if Format::from_path(&path).is_some() => {
                    self.problems.push(unplaced(&path, "unreadable", format!("failed to read the file: {error}")));
                }
                Err(_) => {}
            }
        }
    }
}

/// Collects where to watch.
#[derive(Default)]
struct Watch(BTreeMap<PathBuf, Interest>);

impl Watch {
    fn all(&mut self, dir: &Path) {
        self.0.insert(dir.to_path_buf(), Interest::All);
    }

    /// A path can be replaced in its parent; what doesn't exist can appear in its nearest ancestor.
    fn lead_to(&mut self, path: &Path) {
        let mut at = path;
        while let (Some(parent), Some(name)) = (at.parent(), at.file_name()) {
            if parent.is_dir() {
                let interest = self.0.entry(parent.to_path_buf()).or_insert_with(|| Interest::Names(BTreeSet::new()));
                if let Interest::Names(names) = interest {
                    names.insert(name.to_os_string());
                }
                return;
            }
            at = parent;
        }
    }
}

fn changes(before: &[Arc<Hook>], after: &[Arc<Hook>]) -> Changes {
    type Key = (Layer, Arc<str>, Arc<str>);
    let key = |hook: &Arc<Hook>| -> Key { (hook.source.layer, hook.source.file.clone(), hook.name.clone()) };
    let index = |hooks: &[Arc<Hook>]| {
        let mut map: HashMap<Key, Vec<*const Hook>> = HashMap::new();
        for hook in hooks {
            map.entry(key(hook)).or_default().push(Arc::as_ptr(hook));
        }
        map
    };
    let (old, new) = (index(before), index(after));
    let mut changes = Changes::default();
    for hook in after {
        match old.get(&key(hook)) {
            None => changes.added.push(hook.name.clone()),
            // Files that didn't change hand on the same hooks.
            Some(same) if same.contains(&Arc::as_ptr(hook)) => {}
            Some(_) => changes.changed.push(hook.name.clone()),
        }
    }
    for hook in before {
        let gone = new.get(&key(hook)).is_none_or(|same| same.len() < old.get(&key(hook)).map_or(0, Vec::len));
        if gone {
            changes.removed.push(hook.name.clone());
        }
    }
    changes
}
