//! Which files git passes over in a work tree. A list that can't be read may say anything, so what
//! it is about isn't ignored.

use hookwire_base::support::file;
use hookwire_base::support::places as user;
use hookwire_rules::matching::paths;
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use std::collections::HashMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// A list is read up to this size.
const MOST_BYTES: u64 = 256 * 1024;
/// More lines take too long to be made one matcher.
const MOST_LINES: usize = 4096;

/// A list of patterns; nothing if it can't be read or isn't understood.
type List = Option<Gitignore>;

/// What git's lists say of a work tree, each of which is read when it is first needed.
pub(super) struct Ignored<'a> {
    work_tree: &'a Path,
    /// Git's own directory.
    git: &'a Path,
    of_directories: HashMap<PathBuf, List>,
    /// Of the repository and of the user, the first before the second.
    of_all: Option<[List; 2]>,
}

impl<'a> Ignored<'a> {
    pub(super) fn new(work_tree: &'a Path, git: &'a Path) -> Ignored<'a> {
        Ignored {
            work_tree,
            git,
            of_directories: HashMap::new(),
            of_all: None,
        }
    }

    /// Whether a file of the work tree is certainly ignored, or lies in a directory that is.
    pub(super) fn has(&mut self, file: &Path) -> bool {
        let inner: Vec<&Path> = file
            .ancestors()
            .take_while(|it| *it != self.work_tree)
            .collect();
        // What a directory that is passed over holds can't be taken back.
        inner
            .into_iter()
            .rev()
            .any(|path| self.names(path, path != file || path.is_dir()) == Some(true))
    }

    /// What the lists say of one path; nothing if one of them can't be read.
    fn names(&mut self, path: &Path, is_dir: bool) -> Option<bool> {
        let directories = path
            .ancestors()
            .skip(1)
            .take_while(|it| it.starts_with(self.work_tree));
        for directory in directories {
            let list = self.of_directories.entry(directory.to_path_buf());
            let list = list.or_insert_with(|| read(&directory.join(".gitignore"), directory));
            if let Some(is_ignored) = said(list.as_ref()?, path, is_dir) {
                return Some(is_ignored);
            }
        }
        let of_all = self.of_all.get_or_insert_with(|| {
            let of_repository = read(&self.git.join("info/exclude"), self.work_tree);
            [of_repository, of_user(self.git, self.work_tree)]
        });
        let [of_repository, of_user] = of_all;
        let said_by = said(of_repository.as_ref()?, path, is_dir);
        said_by
            .or_else(|| said(of_user.as_ref()?, path, is_dir))
            .or(Some(false))
    }
}

/// What a list says of a path, if anything.
fn said(list: &Gitignore, path: &Path, is_dir: bool) -> Option<bool> {
    match list.matched(path, is_dir) {
        Match::None => None,
        Match::Ignore(_) => Some(true),
        Match::Whitelist(_) => Some(false),
    }
}

/// The list in a file, for what is below a directory; an empty one where there is no file.
fn read(file: &Path, below: &Path) -> List {
    let bytes = match file::read_small(file, MOST_BYTES) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Some(Gitignore::empty()),
        Err(_) => return None,
    };
    let text = String::from_utf8(bytes).ok()?;
    let text = text.trim_start_matches('\u{feff}');
    if text.lines().nth(MOST_LINES).is_some() {
        return None;
    }
    let mut list = GitignoreBuilder::new(below);
    for line in text.lines() {
        list.add_line(None, line).ok()?;
    }
    list.build().ok()
}

/// The user's own list, which git's settings may name. One that it can't be told says nothing that
/// counts.
fn of_user(git: &Path, below: &Path) -> List {
    let home = paths::home();
    let config = user::config().and_then(|it| Some(it.parent()?.join("git")));
    let settings = [
        Some(PathBuf::from("/etc/gitconfig")),
        config.as_ref().map(|it| it.join("config")),
        home.map(|it| it.join(".gitconfig")),
        Some(git.join("config")),
    ];
    let mut list = config.map(|it| it.join("ignore"));
    for file in settings.into_iter().flatten() {
        let text = match file::read_text(&file) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(_) => return None,
        };
        for line in text.lines().map(str::trim) {
            // Another file may name another list.
            if line
                .get(..8)
                .is_some_and(|it| it.eq_ignore_ascii_case("[include"))
            {
                return None;
            }
            // `[core] excludesFile = x`
            let setting = line.rsplit_once(']').map_or(line, |(_, setting)| setting);
            let Some((key, value)) = setting.split_once('=') else {
                continue;
            };
            if key.trim().eq_ignore_ascii_case("excludesfile") {
                let value = value.trim().trim_matches('"');
                list = match value.strip_prefix("~/") {
                    Some(rest) => Some(home?.join(rest)),
                    None if value.is_empty() => None,
                    None if value.starts_with('/') => Some(value.into()),
                    None => return None,
                };
            }
        }
    }
    list.map_or_else(|| Some(Gitignore::empty()), |list| read(&list, below))
}
