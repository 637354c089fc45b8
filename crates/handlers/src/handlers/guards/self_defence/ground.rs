//! Where a call happens: its directories, and the guarded files that stand around it.

use super::places::{Named, Part, Places, meet, parts_of};
use hookwire_ask::look;
use hookwire_base::support::places as user;
use hookwire_rules::agents::AGENTS;
use hookwire_rules::matching::shell::Word;
use hookwire_rules::matching::{paths, patience};
use std::cell::{Cell, OnceCell};
use std::path::{Path, PathBuf};

/// How often links are looked up for one call.
const MOST_LOOKS: usize = 64;
/// How many files of a place are listed, and how deep. Who has trusted a hundred projects has a
/// thousand in one place.
const MOST_FILES: usize = 4096;
const DEEPEST: usize = 4;
/// Stands for what only the run tells.
const UNKNOWN: char = '\u{1a}';

/// The surroundings of one call.
pub(super) struct Ground<'a> {
    pub(super) places: &'a Places,
    /// Where relative paths count from.
    pub(super) base: &'a Path,
    root: &'a Path,
    /// The directory lies in a place or an agent's folder, so that any name may.
    pub(super) is_near: bool,
    standing: OnceCell<Vec<Standing>>,
    files: OnceCell<Listed>,
    looks: Cell<usize>,
}

/// The files of the places.
#[derive(Default)]
struct Listed {
    files: Vec<PathBuf>,
    /// Places that have more, or can't be read.
    cut: Vec<PathBuf>,
}

/// A guarded file or directory that is there.
struct Standing {
    path: PathBuf,
    parts: Vec<Part>,
}

/// What can't be looked at may be there.
fn may_be_there(path: &Path) -> bool {
    let looked = path.symlink_metadata();
    looked.map_or_else(|error| !look::is_nothing(&error), |_| true)
}

impl<'a> Ground<'a> {
    pub(super) fn new(places: &'a Places, base: &'a Path, root: &'a Path) -> Ground<'a> {
        let is_near = places.may_be_in(&base.to_string_lossy()) || !base.is_absolute();
        Ground {
            places,
            base,
            root,
            is_near,
            standing: OnceCell::new(),
            files: OnceCell::new(),
            looks: Cell::new(0),
        }
    }

    /// The guarded files and directories that stand in the project and above it, and the user's.
    fn standing(&self) -> &[Standing] {
        self.standing.get_or_init(|| {
            if !patience::allows_slow() {
                return Vec::new();
            }
            let projects = self.base.ancestors().chain([self.root]).take(64);
            let of_project = |dir: &Path| {
                let settings = AGENTS.iter().flat_map(|it| it.project.files());
                settings
                    .chain([".hookwire"])
                    .map(|name| dir.join(name))
                    .collect::<Vec<_>>()
            };
            let of_user = AGENTS
                .iter()
                .flat_map(|it| it.place(true).files().filter_map(|path| it.of_user(path)));
            let dirs = user::user_dirs().iter().chain(user::data_dirs()).cloned();
            let all = projects.flat_map(of_project).chain(of_user).chain(dirs);
            let there = all.filter(|path| may_be_there(path));
            there
                .map(|path| Standing {
                    parts: parts_of(&path),
                    path,
                })
                .collect()
        })
    }

    /// The guarded files themselves.
    pub(super) fn files(&self) -> &[PathBuf] {
        &self.listed().files
    }

    /// A place below these directories, or around them, that has more files than are listed:
    /// anything may be among them.
    pub(super) fn cut_place(&self, dirs: &[PathBuf]) -> Option<PathBuf> {
        let meets = |place: &&PathBuf| {
            dirs.iter()
                .any(|dir| place.starts_with(dir) || dir.starts_with(place))
        };
        self.listed().cut.iter().find(meets).cloned()
    }

    fn listed(&self) -> &Listed {
        /// Whether all of a directory was listed.
        fn walk(dir: &Path, depth: usize, most: usize, found: &mut Vec<PathBuf>) -> bool {
            let entries = match std::fs::read_dir(dir) {
                Ok(entries) => entries,
                Err(error) => return look::is_nothing(&error),
            };
            for entry in entries {
                let Ok(entry) = entry else { return false };
                let is_all = match entry.file_type() {
                    Ok(kind) if kind.is_dir() && depth > 0 => {
                        walk(&entry.path(), depth - 1, most, found)
                    }
                    _ if found.len() < most => {
                        found.push(entry.path());
                        true
                    }
                    _ => false,
                };
                if !is_all || !patience::is_left() {
                    return false;
                }
            }
            true
        }
        self.files.get_or_init(|| {
            let mut listed = Listed::default();
            if !patience::allows_slow() {
                return listed;
            }
            // Those of a user are among them.
            let others = [user::runtime(), "/etc/hookwire".into()]
                .into_iter()
                .chain(self.places.programs());
            for path in self
                .standing()
                .iter()
                .map(|it| it.path.clone())
                .chain(others)
            {
                match path.metadata() {
                    Ok(about) if about.is_dir() => {
                        // Each place has its own limit, so that none can hide another one's files.
                        let most = listed.files.len() + MOST_FILES;
                        if !walk(&path, DEEPEST, most, &mut listed.files) {
                            listed.cut.push(path);
                        }
                    }
                    // So does a link that leads nowhere stand there.
                    _ if may_be_there(&path) => listed.files.push(path),
                    _ => {}
                }
            }
            listed
        })
    }

    /// Whether a path is a directory that holds a place.
    pub(super) fn holds(&self, named: &Named) -> bool {
        if named.is_open {
            return false;
        }
        if self.places.is_folder(named) || self.places.holds(named) {
            return true;
        }
        let is_above =
            |it: &Standing| (0..it.parts.len()).any(|n| meet(&it.parts[..n], &named.parts));
        self.standing().iter().any(is_above)
    }

    /// Whether a path is a directory in which agents look for their folders: the project's, one
    /// above it, the home.
    pub(super) fn is_around(&self, named: &Named) -> bool {
        let around = |path: &Path| self.base.starts_with(path) || paths::home() == Some(path);
        named.as_path().is_some_and(|path| around(&path))
    }

    /// Whether agents look into a directory: one in which others are, or that is there.
    pub(super) fn is_in_use(&self, named: &Named) -> bool {
        let is_there = |path: &Path| {
            !patience::allows_slow()
                || path.exists()
                || path
                    .parent()
                    .is_some_and(|it| self.is_around(&Named::path(it)))
        };
        named.as_path().is_none_or(|path| is_there(&path))
    }

    /// The place that is named, or the first file of one that a pattern or a directory reaches.
    pub(super) fn place_of(&self, named: &Named) -> Option<PathBuf> {
        let is_one = self.places.at(named).is_some() || self.places.is_folder(named);
        let reached = || {
            self.files()
                .iter()
                .find(|file| named.reaches(file))
                .cloned()
        };
        named.as_path().filter(|_| is_one).or_else(reached)
    }

    /// Whether a file that is listed or a directory above it goes with a place when it is taken
    /// away.
    pub(super) fn may_take(&self, path: &Path) -> bool {
        let named = Named::path(path);
        self.places.at(&named).is_some() || self.holds(&named)
    }

    /// Whether a text is the name of a guarded file that stands there, or a pattern of it.
    pub(super) fn is_name_of_one(&self, text: &str) -> bool {
        let name = [Part::of_pattern(text, true)];
        let is_it = |it: &Standing| {
            it.parts
                .last()
                .is_some_and(|last| meet(std::slice::from_ref(last), &name))
        };
        text.contains('.') && self.standing().iter().any(is_it)
    }

    /// The directories that a command may run in, also as links lead to them; nothing if it may be
    /// any.
    pub(super) fn directories<'d>(
        &self,
        directories: Option<impl Iterator<Item = &'d str>>,
    ) -> Option<Vec<PathBuf>> {
        let mut found = Vec::new();
        for directory in directories? {
            if directory.is_empty() {
                found.push(self.base.to_path_buf());
                continue;
            }
            let here = [self.base.to_path_buf()];
            // It may be a pattern, or a name with a sign of one.
            for named in [false, true]
                .into_iter()
                .flat_map(|it| self.spelled(directory, it, &here))
            {
                found.extend(self.resolved(&named).and_then(|it| it.as_path()));
                found.extend(self.expanded(&named));
            }
        }
        found.sort_unstable();
        found.dedup();
        Some(found)
    }

    /// The path that is named, or, of a pattern, the directories of guarded files that it fits.
    pub(super) fn expanded(&self, named: &Named) -> Vec<PathBuf> {
        if let Some(path) = named.as_path() {
            return vec![path];
        }
        let n = named.parts.len();
        let way = |path: &Path| {
            let parts = parts_of(path);
            let fits = !named.is_open && parts.len() >= n && meet(&parts[..n], &named.parts);
            fits.then(|| path.ancestors().nth(parts.len() - n).map(Path::to_path_buf))
                .flatten()
        };
        let standing = self.standing().iter().map(|it| &it.path);
        let mut found: Vec<PathBuf> = standing
            .chain(self.files())
            .filter_map(|path| way(path))
            .collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Whether a pattern of file names names a guarded file that stands there.
    pub(super) fn stands(&self, named: &Named) -> bool {
        let is_pattern = |part: &Part| matches!(part, Part::Pattern { .. });
        !named.is_open
            && named.parts.iter().any(is_pattern)
            && self
                .standing()
                .iter()
                .any(|it| meet(&it.parts, &named.parts))
    }

    /// What a word names, from each directory; of an option, behind its letter.
    pub(super) fn named(&self, word: &Word, directories: &[PathBuf]) -> Vec<Named> {
        let is_pattern = word.may_be_pattern();
        let text = word.path();
        let text = if is_pattern {
            self.with_values(&text)
        } else {
            text.into_owned()
        };
        let text = match text
            .strip_prefix('-')
            .map(|rest| rest.char_indices().nth(1))
        {
            Some(Some((at, _))) => &text[1 + at..],
            Some(None) => return Vec::new(),
            None => &text,
        };
        self.spelled(text, is_pattern, directories)
    }

    /// What a text names, taken as one path.
    pub(super) fn spelled(
        &self,
        text: &str,
        is_pattern: bool,
        directories: &[PathBuf],
    ) -> Vec<Named> {
        let home = paths::home();
        let text = behind_open(text).unwrap_or(text);
        let (start, rest): (Vec<Vec<Part>>, &str) = match text.strip_prefix('~') {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => {
                (home.map(parts_of).into_iter().collect(), rest)
            }
            _ if text.starts_with('/') => (vec![Vec::new()], text),
            // Where an unknown value leads to, only names tell.
            _ if text.starts_with(UNKNOWN)
                && text
                    .split('/')
                    .next()
                    .is_some_and(|it| it.chars().all(|c| c == UNKNOWN)) =>
            {
                match text.split_once('/') {
                    Some((_, rest)) if self.places.may_be_in(rest) => (vec![vec![Part::Any]], rest),
                    _ => return Vec::new(),
                }
            }
            _ => (
                directories
                    .iter()
                    .map(|dir| parts_of(&paths::normalise(dir)))
                    .collect(),
                text,
            ),
        };
        let named = |mut parts: Vec<Part>| {
            for name in rest.split('/') {
                match name {
                    "" | "." => {}
                    ".." => drop(parts.pop()),
                    _ => parts.push(part(name, is_pattern)),
                }
            }
            let is_open = is_pattern && rest.trim_end_matches('/').ends_with([UNKNOWN, '…', '}']);
            Named { parts, is_open }
        };
        start.into_iter().map(named).collect()
    }

    /// Where links lead a path that is told, if that is elsewhere.
    pub(super) fn resolved(&self, named: &Named) -> Option<Named> {
        let path = named.as_path().filter(|_| self.looks.get() < MOST_LOOKS)?;
        self.looks.set(self.looks.get() + 1);
        let resolved = paths::resolved(&path).filter(|it| *it != path)?;
        Some(Named::path(&resolved))
    }

    /// A text with the values of the variables that every process has, and with a sign for what
    /// isn't told.
    pub(super) fn with_values(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find(['$', '`', '…']) {
            out.push_str(&rest[..at]);
            rest = &rest[at..];
            let (name, length) = match rest
                .strip_prefix("${")
                .and_then(|inner| inner.split_once('}'))
            {
                Some((name, _)) => (Some(name), name.len() + 3),
                None => (None, expansion(rest)),
            };
            match name.and_then(|name| self.value(name)) {
                Some(value) => out.push_str(&value),
                None => out.push(UNKNOWN),
            }
            rest = &rest[length..];
        }
        out.push_str(rest);
        out
    }

    fn value(&self, name: &str) -> Option<String> {
        let parent = |path: Option<PathBuf>| Some(path?.parent()?.to_path_buf());
        let set = || {
            std::env::var_os(name)
                .filter(|it| !it.is_empty())
                .map(PathBuf::from)
        };
        let mut moved = AGENTS
            .iter()
            .flat_map(|it| &it.moved_by)
            .filter(|(variable, _)| variable == name);
        let path = match name {
            "HOME" => paths::home().map(Path::to_path_buf),
            "PWD" => return Some(".".into()),
            "XDG_CONFIG_HOME" => parent(user::config()),
            "XDG_DATA_HOME" => parent(user::data()),
            "XDG_RUNTIME_DIR" => parent(Some(user::runtime())),
            "TMPDIR" => Some(std::env::temp_dir()),
            _ => moved
                .next()
                .and_then(|(_, folder)| set().or_else(|| Some(paths::home()?.join(folder)))),
        };
        path?.into_os_string().into_string().ok()
    }
}

/// What stands behind a directory that the text has opened under a number: `/dev/fd/3/x`. Which one
/// that is, it says elsewhere.
pub(super) fn behind_open(text: &str) -> Option<&str> {
    let of_process = || {
        text.strip_prefix("/proc/")?
            .split_once("/fd/")
            .map(|(_, rest)| rest)
    };
    let (number, rest) = text
        .strip_prefix("/dev/fd/")
        .or_else(of_process)?
        .split_once('/')?;
    (!number.is_empty() && number.bytes().all(|it| it.is_ascii_digit())).then_some(rest)
}

/// How long an expansion is that isn't a plain variable.
fn expansion(text: &str) -> usize {
    let close = match text.as_bytes() {
        [b'$', b'(', ..] => ')',
        [b'$', b'{', ..] => '}',
        [b'`', ..] => return text[1..].find('`').map_or(text.len(), |at| at + 2),
        [b'$', ..] => {
            return 1 + text[1..]
                .find(|c: char| !c.is_alphanumeric() && c != '_')
                .unwrap_or(text.len() - 1);
        }
        _ => return text.chars().next().map_or(0, char::len_utf8),
    };
    text.find(close).map_or(text.len(), |at| at + 1)
}

fn part(name: &str, is_pattern: bool) -> Part {
    if !is_pattern {
        return Part::Name(name.into());
    }
    // A value may begin with a dot, and what find puts in its place goes on.
    let is_unknown = name.contains([UNKNOWN]) || name.contains("{}");
    let name = name.replace(UNKNOWN, "*").replace("{}", "*");
    Part::of_pattern(&name, is_unknown && name.starts_with('*'))
}
