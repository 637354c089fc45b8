//! Two views of a path, and glob patterns over them.
//!
//! The *lexical* view is the path as written: made absolute against the event's working directory,
//! with `//`, `.` and `..` removed. The *resolved* view is where the kernel would end up: symbolic
//! links followed as far as the path exists, then the rest. A rule that denies looks at either, a
//! rule that allows needs both.
//!
//! A path is data: nothing in it is expanded, while `~` at the start of a pattern is the home
//! directory. Whether the case-insensitive or Windows rules apply, hard links (which a path can't
//! show) and a link that changes between judging and use are left to others.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fmt;
use std::num::NonZeroUsize;
use std::ops::Deref;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, LazyLock, OnceLock};
use std::time::{Duration, Instant};

use super::at_hand::{self, MAX_NAME, Place};
use super::{noted, patience};
use globset::{Glob, GlobBuilder, GlobMatcher};
use hookwire_ask::look::Look;
use hookwire_base::support::{failpoint, file, places};
use lru::LruCache;
use parking_lot::Mutex;

/// Both views of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathViews {
    /// As written; absolute, without `//`, `.` and `..`.
    pub lexical: PathBuf,
    /// As the kernel resolves it. `None`: it can't be resolved (a NUL byte, a loop, a name that is
    /// too long, a directory that may not be searched).
    pub resolved: Option<PathBuf>,
    /// Where the kernel ends up with [`lexical`](Self::lexical), if that is yet another place: many
    /// tools take `..` away by the names before they open a path, so that `link/../link/x` isn't
    /// where it would be.
    pub tidied: Option<PathBuf>,
    /// A link of the proc file system takes part: it means something else to every process.
    pub magic: bool,
    /// Where relative patterns count from.
    base: Base,
    /// The user's home directory, which `~` of a pattern is, in the same two forms.
    homes: &'static [PathBuf],
}

/// The user's home directory, as the environment and as the password database have it, both as they
/// are given and as they are resolved; empty if there is none.
static HOMES: LazyLock<Vec<PathBuf>> = LazyLock::new(|| {
    places::homes()
        .iter()
        .flat_map(|home| both_forms(home))
        .collect()
});

/// The user's home directory.
pub fn home() -> Option<&'static Path> {
    HOMES.first().map(PathBuf::as_path)
}

/// A directory as it is written and, where that is another path, as it is resolved.
fn both_forms(directory: &Path) -> Vec<PathBuf> {
    with_resolved(directory, std::fs::canonicalize(directory).ok())
}

fn with_resolved(directory: &Path, resolved: Option<PathBuf>) -> Vec<PathBuf> {
    let written = normalise(directory);
    let resolved = resolved.filter(|resolved| *resolved != written);
    [Some(written), resolved].into_iter().flatten().collect()
}

/// A directory that relative paths and patterns count from. It is looked up once for all paths of
/// an event, when the first pattern asks.
#[derive(Clone)]
pub struct Base(Arc<LookedUp>);

struct LookedUp {
    directory: Arc<Path>,
    forms: OnceLock<Vec<PathBuf>>,
}

impl Base {
    /// A directory that isn't looked up yet.
    pub fn new(directory: impl Into<Arc<Path>>) -> Base {
        Base(Arc::new(LookedUp {
            directory: directory.into(),
            forms: OnceLock::new(),
        }))
    }

    /// As it is written and as it is resolved: a project may itself be reached through a link.
    fn forms(&self) -> &[PathBuf] {
        if let Some(forms) = self.0.forms.get() {
            self.note(forms);
            return forms;
        }
        let directory = &*self.0.directory;
        // Looked up before it is kept: on a disk that hangs, nobody else must wait for this.
        let forms = if !patience::is_quick() {
            both_forms(directory)
        } else if let Some(place) = at_hand::place(directory) {
            let resolved = match place {
                Place::Straight | Place::Nowhere => None,
                Place::Linked(resolved) => Some(resolved),
            };
            with_resolved(directory, resolved)
        } else {
            patience::run_out();
            return &[];
        };
        self.note(&forms);
        self.0.forms.get_or_init(|| forms)
    }

    fn note(&self, forms: &[PathBuf]) {
        match forms {
            [_] => noted::by_straight(self),
            _ => noted::by_more(),
        }
    }
}

impl Deref for Base {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0.directory
    }
}

impl AsRef<Path> for Base {
    fn as_ref(&self) -> &Path {
        self
    }
}

impl fmt::Debug for Base {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.directory.fmt(f)
    }
}

impl PartialEq for Base {
    fn eq(&self, other: &Base) -> bool {
        self.0.directory == other.0.directory
    }
}

impl Eq for Base {}

impl PathViews {
    /// Whether it is the directory that relative patterns count from, or `below` it, in every view.
    pub fn is_in_base(&self, below: bool) -> bool {
        let is_in = |view: &PathBuf| {
            self.base.forms().iter().any(|base| {
                if below {
                    view.starts_with(base)
                } else {
                    view == base
                }
            })
        };
        let is_tidied_in = self.tidied.as_ref().is_none_or(is_in);
        !self.magic
            && is_in(&self.lexical)
            && self.resolved.as_ref().is_some_and(is_in)
            && is_tidied_in
    }

    /// Each view in the ways in which a pattern over texts may write it: from the root, from the
    /// working directory and from `~`. `None` if that can't be told.
    pub fn forms(&self) -> Option<Vec<Vec<String>>> {
        let forms = |view: &Path| {
            let from = |base: &PathBuf, start: &str| {
                Some(format!(
                    "{start}{}",
                    view.strip_prefix(base).ok()?.to_str()?
                ))
            };
            let relative = self.base.forms().iter().filter_map(|base| from(base, ""));
            let of_home = self.homes.iter().filter_map(|home| from(home, "~/"));
            view.to_str()
                .map(str::to_string)
                .into_iter()
                .chain(relative)
                .chain(of_home)
                .collect()
        };
        let resolved = self.resolved.as_ref().filter(|_| !self.magic)?;
        Some(
            [&self.lexical, resolved]
                .into_iter()
                .chain(&self.tidied)
                .map(|view| forms(view))
                .collect(),
        )
    }

    fn all(&self) -> impl Iterator<Item = &PathBuf> {
        [&self.lexical]
            .into_iter()
            .chain(&self.resolved)
            .chain(&self.tidied)
    }

    /// Each view once: mostly no link takes part.
    fn different(&self) -> impl Iterator<Item = &PathBuf> {
        let is_other = |resolved: &&PathBuf| resolved.as_os_str() != self.lexical.as_os_str();
        [&self.lexical]
            .into_iter()
            .chain(self.resolved.as_ref().filter(is_other))
            .chain(&self.tidied)
    }

    /// Both views relative to the working directory, as far as they lie in it. `None` if more could
    /// match than the views show.
    pub fn relative(&self) -> Option<Vec<&str>> {
        let resolved = self.resolved.as_ref()?;
        [&self.lexical, resolved]
            .into_iter()
            .chain(&self.tidied)
            .flat_map(|view| {
                self.base
                    .forms()
                    .iter()
                    .filter_map(move |base| view.strip_prefix(base).ok())
            })
            .map(Path::to_str)
            .collect()
    }
}

/// Looks `path` up, relative to `base`. Links such as `/proc/self/cwd` are taken for those of a
/// process whose working directory is `base`. In a hurry, what the kernel hasn't at hand isn't
/// waited for, and the views are no answer.
pub fn views(path: &str, base: &Base) -> PathViews {
    let whole = base.join(path);
    let lexical = normalise(&whole);
    let mut walk = Walk {
        cwd: base,
        magic: false,
    };
    let mut resolved = walk.resolve(&whole);
    let mut tidied = None;
    if path.contains("..") && resolved.is_some() {
        // What can't be resolved either way can't be told.
        let found = walk.resolve(&lexical);
        resolved = resolved.filter(|_| found.is_some());
        tidied = found.filter(|it| resolved.as_ref() != Some(it));
    }
    PathViews {
        lexical,
        resolved,
        tidied,
        magic: walk.magic,
        base: base.clone(),
        homes: &HOMES,
    }
}

/// The path as it is written, without a look at the disk.
pub(super) fn lexical(path: &Path, base: &Base) -> PathViews {
    let lexical = normalise(&base.join(path));
    let resolved = Some(lexical.clone());
    PathViews {
        lexical,
        resolved,
        tidied: None,
        magic: false,
        base: base.clone(),
        homes: &HOMES,
    }
}

/// Where links lead an absolute path, as far as it exists. `None`: it can't be resolved, or what it
/// means depends on who looks.
pub fn resolved(path: &Path) -> Option<PathBuf> {
    let mut walk = Walk {
        cwd: Path::new("/"),
        magic: false,
    };
    walk.resolve(path).filter(|_| !walk.magic)
}

/// A pattern with `~/x` where a word begins with `$HOME/x`.
pub(super) fn with_tilde(pattern: &str) -> Cow<'_, str> {
    let mut tidied = Cow::Borrowed(pattern);
    for name in ["${HOME}", "$HOME"] {
        let mut from = 0;
        while let Some(at) = tidied[from..].find(name).map(|at| from + at) {
            let end = at + name.len();
            let is_apart = |c: char| matches!(c, ' ' | '\t' | '\'' | '"');
            let begins = tidied[..at].chars().next_back().is_none_or(is_apart);
            let ends = tidied[end..]
                .chars()
                .next()
                .is_none_or(|c| c == '/' || is_apart(c));
            if begins && ends {
                tidied.to_mut().replace_range(at..end, "~");
            }
            from = at + 1;
        }
    }
    tidied
}

/// A command pattern with the user's home, in each of its forms, where a word begins with `~/`.
pub(super) fn with_home<'p>(pattern: &'p str) -> Vec<String> {
    let split = |word: &'p str| {
        let (quote, rest) = word.split_at(word.find('~').filter(|at| *at < 2)?);
        let rest = rest[1..].trim_end_matches(['\'', '"']);
        let is_home =
            matches!(quote, "" | "'" | "\"") && (rest.is_empty() || rest.starts_with('/'));
        is_home.then_some((quote, &word[quote.len() + 1..]))
    };
    if !pattern.split(' ').any(|word| split(word).is_some()) {
        return Vec::new();
    }
    let is_plain = |home: &&str| !home.contains(['*', '?', '[', '{', '\'', '"', '\\', '|']);
    let homes = HOMES
        .iter()
        .filter_map(|home| home.to_str())
        .filter(is_plain);
    let absolute = |home: &str| {
        let words = pattern.split(' ').map(|word| match split(word) {
            Some(("", rest)) if home.contains(' ') => format!("'{home}'{rest}"),
            Some((quote, rest)) => format!("{quote}{home}{rest}"),
            None => word.to_string(),
        });
        words.collect::<Vec<_>>().join(" ")
    };
    homes.map(absolute).collect()
}

/// What `~/x` is to a tool that expands `~`. Others have a directory of that name, so it stands for
/// both.
pub fn of_home(path: &str) -> Option<String> {
    let rest = path
        .strip_prefix('~')
        .filter(|rest| rest.is_empty() || rest.starts_with('/'))?;
    Some(format!("{}{rest}", home()?.to_str()?))
}

/// Whether a path leads to a directory.
pub(super) fn is_directory(path: &Path) -> bool {
    if !patience::is_quick() {
        return path.is_dir();
    }
    noted::by_more();
    let found = at_hand::is_directory(path);
    if found.is_none() {
        patience::run_out();
    }
    found.unwrap_or_default()
}

/// The text of a script of at most 64 KiB, relative to `cwd`. A directory stands for the file that
/// an interpreter runs of it, and a pattern for each file that it names. Nothing else than a
/// regular file is opened to its end, so this doesn't wait.
pub fn script(path: &str, cwd: &Path) -> Look<String> {
    /// Of a pattern, so many files are looked for and into.
    const MAX_ENTRIES: usize = 1024;
    const MAX_FILES: usize = 16;
    let whole = match (path.strip_prefix("~/"), home()) {
        (Some(rest), Some(home)) => home.join(rest),
        (Some(_), None) => return Look::Nothing,
        (None, _) => cwd.join(path),
    };
    let Some(pattern) = whole
        .file_name()
        .and_then(OsStr::to_str)
        .filter(|name| name.contains(['*', '?', '[']))
    else {
        return script_at(whole);
    };
    let (Ok(pattern), Some(directory)) = (glob(pattern), whole.parent()) else {
        return Look::Nothing;
    };
    let entries = match Look::of_io(std::fs::read_dir(directory)).or_closed() {
        Look::Found(entries) => entries.take(MAX_ENTRIES),
        Look::Nothing => return Look::Nothing,
        Look::Failed(error) => return Look::Failed(error),
    };
    let mut texts = Vec::new();
    for entry in entries {
        let text = match entry {
            Ok(entry) if !pattern.is_match(Path::new(&entry.file_name())) => continue,
            Ok(entry) => script_at(entry.path()),
            Err(error) => Look::of_io(Err(error)),
        };
        match text {
            Look::Found(text) => texts.push(text),
            Look::Nothing => {}
            Look::Failed(error) => return Look::Failed(error),
        }
        if texts.len() == MAX_FILES {
            break;
        }
    }
    if texts.is_empty() {
        Look::Nothing
    } else {
        Look::Found(texts.join("\n"))
    }
}

fn script_at(mut path: PathBuf) -> Look<String> {
    const MAX_SCRIPT: u64 = 64 * 1024;
    if path.is_dir() {
        path.push("__main__.py");
    }
    let read = file::read_small(&path, MAX_SCRIPT);
    // What is no file, or is larger, isn't looked into.
    if read
        .as_ref()
        .is_err_and(|error| error.raw_os_error().is_none())
    {
        return Look::Nothing;
    }
    Look::of_io(read).map(|text| String::from_utf8_lossy(&text).into_owned())
}

/// A compiled `Write(...)` pattern: `**` is any number of directories, `*` stays within one name
/// and matches dot files too. A relative pattern counts from the working directory of the views,
/// one that begins with `~/` from the home directory. The directories that a pattern begins with
/// count as written and as links lead them: `/bin/**` holds for `/usr/bin/x` where `/bin` is a link
/// to it. For a rule that allows, those of a relative pattern count as written only: who may write
/// in a directory may put a link there.
#[derive(Debug, Clone)]
pub struct PathPattern {
    glob: LazyGlob,
    from: From,
    /// The directories before the first wildcard, or the whole path.
    prefix: String,
    /// One, or those of each alternative in braces.
    beginnings: Vec<Beginning>,
    /// What it names for a rule that stops: a pattern without a wildcard at its end names all that
    /// the directory of that name holds, and what begins with `**` stands anywhere, not only below
    /// the working directory (`./**` stays below it).
    wide: Option<(From, LazyGlob)>,
}

/// Where a directory stands to what a pattern names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// What it holds is named, or it lies where the pattern's fixed beginning says.
    Within,
    /// It holds the pattern's fixed beginning.
    Above,
    /// It may hold what is named: a wildcard stands before the name.
    Near,
    /// It holds nothing of it.
    Apart,
}

/// A pattern, or one of its alternatives in braces, by its fixed part.
#[derive(Debug, Clone)]
struct Beginning {
    /// The directories before the first wildcard, or the whole path.
    prefix: String,
    /// What is behind the prefix.
    rest: String,
    elsewhere: Arc<Mutex<Elsewhere>>,
}

/// Where the fixed part of a pattern leads, when it was last looked up.
#[derive(Debug, Default)]
struct Elsewhere {
    looked_up: Option<Instant>,
    /// Where the fixed part counts from.
    start: PathBuf,
    glob: Option<Arc<LazyGlob>>,
}

/// How long a look at the directories of a pattern holds.
const KNOWN: Duration = Duration::from_secs(1);

/// Where a pattern counts from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum From {
    Root,
    Home,
    WorkingDirectory,
}

impl PathPattern {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn new(pattern: &str) -> Result<Self, String> {
        if pattern.is_empty() {
            return Err("the pattern is empty; `**` matches every path".to_string());
        }
        if pattern.len() > 4096 || pattern.contains('\0') {
            return Err("the pattern is too long or holds a NUL byte".to_string());
        }
        let (from, pattern) = match pattern.strip_prefix('~') {
            Some("") => (From::Home, "/**"),
            Some(rest) if rest.starts_with('/') => (From::Home, rest),
            Some(_) => {
                return Err("`~` is your home directory only before `/`; write `./~` for a file of that name".into());
            }
            None if pattern.starts_with('/') => (From::Root, pattern),
            None => (From::WorkingDirectory, pattern),
        };
        // Views have no `.` or `//`, so a pattern with them would never match.
        let parts: Vec<&str> = pattern
            .split('/')
            .filter(|part| !part.is_empty() && *part != ".")
            .collect();
        if parts.contains(&"..") {
            return Err("`..` in a pattern; write the directory that is meant".to_string());
        }
        let mut text = parts.join("/");
        if from == From::Root {
            text.insert(0, '/');
        }
        // `dir/` names all that the directory holds.
        if pattern.ends_with('/') && !text.is_empty() && text != "/" {
            text.push_str("/**");
        }
        // Looked up while definitions are loaded, because an event may not wait for it.
        LazyLock::force(&HOMES);
        let prefix = fixed_part(&text);
        let glob = glob(&text)?;
        let has_wildcard = |part: &str| part.contains(['*', '?', '[', '{', '\\']);
        // `**.pem` crosses directories where it stands alone.
        let loose = |part: &&str| {
            part.strip_prefix("**")
                .filter(|end| !end.is_empty())
                .map(|end| format!("**/*{end}"))
        };
        let loosened = parts
            .iter()
            .map(|part| loose(part).unwrap_or_else(|| part.to_string()))
            .collect::<Vec<_>>()
            .join("/");
        let is_anywhere = from == From::WorkingDirectory
            && loosened.starts_with("**")
            && !pattern.starts_with("./");
        let names_directory = parts.last().is_some_and(|last| !has_wildcard(last));
        let wide_from = if is_anywhere { From::Root } else { from };
        let start = if wide_from == From::Root { "/" } else { "" };
        let end = if names_directory { "{,/**}" } else { "" };
        let is_wide =
            is_anywhere || names_directory || parts.iter().any(|part| loose(part).is_some());
        let wide = is_wide.then(|| format!("{start}{loosened}{end}"));
        let wide = wide
            .map(|wide| Ok::<_, String>((wide_from, self::glob(&wide)?)))
            .transpose()?;
        // Alternatives of names that are behind a wildcard aren't looked up.
        let is_looked_up = text
            .find('{')
            .is_some_and(|at| !text[..at].contains(['*', '?', '[']));
        let alternatives = if is_looked_up {
            alternatives(&text, Braces::OfPath)?
        } else {
            vec![text]
        };
        Ok(Self {
            glob,
            from,
            prefix,
            beginnings: alternatives.iter().map(|it| Beginning::new(it)).collect(),
            wide,
        })
    }

    /// For a rule that denies, asks or runs: one view is enough, and so is a path that can't be
    /// resolved.
    pub fn matches_any(&self, views: &PathViews) -> bool {
        if views.resolved.is_none() {
            return true;
        }
        let paths = || views.different();
        paths().any(|path| is_below(self.from, &self.glob, path, views))
            || self
                .wide
                .as_ref()
                .is_some_and(|(from, glob)| paths().any(|path| is_below(*from, glob, path, views)))
            || self
                .elsewhere(views)
                .any(|glob| paths().any(|path| glob.is_match(path)))
    }

    /// For a rule that allows: both views have to match and no magic link may take part.
    pub fn matches_all(&self, views: &PathViews) -> bool {
        let Some(resolved) = views.resolved.as_ref().filter(|_| !views.magic) else {
            return false;
        };
        let is_elsewhere = |path: &Path| {
            self.from != From::WorkingDirectory
                && self.elsewhere(views).any(|glob| glob.is_match(path))
        };
        let mut paths = [&views.lexical, resolved].into_iter().chain(&views.tidied);
        paths.all(|path| is_below(self.from, &self.glob, path, views) || is_elsewhere(path))
    }

    /// Where a directory stands to what it names.
    pub(super) fn stands(&self, views: &PathViews) -> Standing {
        let children: Vec<PathBuf> = views.all().map(|path| path.join("\u{1a}")).collect();
        if children.iter().any(|child| {
            is_below(self.from, &self.glob, child, views) || self.is_wide_at(child, views)
        }) {
            return Standing::Within;
        }
        let mut standing = Standing::Apart;
        for beginning in &self.beginnings {
            let fixed = beginning.prefix.trim_end_matches('/');
            // Behind the fixed directories, any may follow before the name: `src/**/*.key`.
            let is_place =
                !fixed.is_empty() && !beginning.rest.trim_start_matches("**/").contains('/');
            for fixed in self.at_root(fixed, views) {
                for path in views.all() {
                    match (path.starts_with(&fixed), fixed.starts_with(path)) {
                        (true, _) if is_place => return Standing::Within,
                        (_, true) if !beginning.prefix.trim_matches('/').is_empty() => {
                            return Standing::Above;
                        }
                        (true, _) => standing = Standing::Near,
                        (false, _) => {}
                    }
                }
            }
            if beginning.prefix.is_empty() && self.wide.is_some() {
                standing = Standing::Near;
            }
        }
        standing
    }

    fn at_root(&self, fixed: &str, views: &PathViews) -> Vec<PathBuf> {
        let bases = match self.from {
            From::Root => {
                return vec![if fixed.is_empty() {
                    "/".into()
                } else {
                    fixed.into()
                }];
            }
            From::Home => views.homes,
            From::WorkingDirectory => views.base.forms(),
        };
        bases.iter().map(|base| base.join(fixed)).collect()
    }

    fn is_wide_at(&self, path: &Path, views: &PathViews) -> bool {
        self.wide
            .as_ref()
            .is_some_and(|(from, glob)| is_below(*from, glob, path, views))
    }

    /// Whether it matches an absolute path as it is written.
    pub fn is_at(&self, path: &Path) -> bool {
        self.glob.is_match(path)
    }

    /// What every match of a relative pattern starts with: `src/` of `src/**/*.ts`. `None` if it
    /// may be elsewhere.
    pub fn literal_prefix(&self) -> Option<&str> {
        let mut froms = self.wide.iter().map(|(from, _)| from).chain([&self.from]);
        froms
            .all(|from| *from == From::WorkingDirectory)
            .then_some(&*self.prefix)
    }

    /// The pattern, and each alternative of it, with the fixed part resolved, where links lead that
    /// elsewhere.
    fn elsewhere(&self, views: &PathViews) -> impl Iterator<Item = Arc<LazyGlob>> {
        self.beginnings
            .iter()
            .filter_map(|it| it.elsewhere(self.from, views))
    }

    /// It from the root, and each alternative in braces, in all forms. `None`: there are too many.
    pub(super) fn absolute(&self, views: &PathViews) -> Option<Vec<String>> {
        let bases = match self.from {
            From::Root => &[][..],
            From::Home => views.homes,
            From::WorkingDirectory => views.base.forms(),
        };
        let mut all = Vec::new();
        for it in &self.beginnings {
            let whole = format!("{}{}", it.prefix, it.rest);
            for text in alternatives(&whole, Braces::OfPath).ok()? {
                let from =
                    |base: &PathBuf| Some(format!("{}/{text}", globset::escape(base.to_str()?)));
                match self.from {
                    From::Root => all.push(text),
                    From::Home | From::WorkingDirectory => {
                        all.extend(bases.iter().filter_map(from))
                    }
                }
            }
        }
        all.extend(self.elsewhere(views).map(|it| it.glob.glob().to_string()));
        Some(all)
    }
}

impl PathPattern {
    /// A text that each path that it names holds, possibly empty.
    pub(super) fn literal(&self) -> &str {
        let [only] = &*self.beginnings else { return "" };
        let rest = only
            .rest
            .find(['[', '{', '\\'])
            .map_or(&*only.rest, |end| &only.rest[..end]);
        let pieces = only.prefix.split('/').chain(rest.split(['/', '*', '?']));
        pieces.max_by_key(|it| it.len()).unwrap_or_default()
    }

    /// It from the root as [`absolute`](Self::absolute) has it, and wherever else it stands for a
    /// rule that stops. What a directory of its name holds isn't among that.
    pub(super) fn anywhere(&self, views: &PathViews) -> Option<Vec<String>> {
        let mut all = self.absolute(views)?;
        if let Some((From::Root, glob)) = &self.wide {
            let text = glob.glob.glob();
            all.extend(
                alternatives(text.strip_suffix("{,/**}").unwrap_or(text), Braces::OfPath).ok()?,
            );
        }
        Some(all)
    }
}

/// Whether a path is what a glob names from there.
fn is_below(from: From, glob: &LazyGlob, view: &Path, views: &PathViews) -> bool {
    let bases = match from {
        From::Root => return glob.is_match(view),
        From::Home => views.homes,
        From::WorkingDirectory => views.base.forms(),
    };
    bases
        .iter()
        .filter_map(|base| view.strip_prefix(base).ok())
        .any(|inner| glob.is_match(inner))
}

impl Beginning {
    fn new(pattern: &str) -> Beginning {
        let prefix = fixed_part(pattern);
        let rest = pattern[prefix.len()..].to_string();
        Beginning {
            prefix,
            rest,
            elsewhere: Arc::default(),
        }
    }

    /// The pattern with its fixed part resolved, where links lead that elsewhere: `/usr/bin/*` of
    /// `/bin/*`.
    fn elsewhere(&self, from: From, views: &PathViews) -> Option<Arc<LazyGlob>> {
        let start = match from {
            From::Root => Path::new("/"),
            From::Home => home()?,
            // The working directory itself has both its forms.
            From::WorkingDirectory if self.prefix.is_empty() => return None,
            From::WorkingDirectory => views.base.forms().last()?,
        };
        // Whoever looks holds it, and may wait for a disk. Who is in a hurry waits for nobody.
        let free = self.elsewhere.try_lock();
        let mut known = free.or_else(|| patience::allows_slow().then(|| self.elsewhere.lock()))?;
        let is_known = known.start.as_os_str() == start.as_os_str()
            && known.looked_up.is_some_and(|at| at.elapsed() <= KNOWN);
        if !is_known {
            let written = start.join(&self.prefix);
            let resolved = leads_elsewhere(&written);
            if !patience::was_enough() {
                return None;
            }
            let path = resolved.as_ref().and_then(|it| it.to_str());
            // Resolved names are taken as they are, whatever characters they have.
            let glob = path.and_then(|path| {
                let path = globset::escape(path.trim_end_matches('/'));
                let separator = if self.rest.is_empty() { "" } else { "/" };
                glob(&format!("{path}{separator}{}", self.rest)).ok()
            });
            *known = Elsewhere {
                looked_up: Some(Instant::now()),
                start: start.to_path_buf(),
                glob: glob.map(Arc::new),
            };
        }
        if let Some(looked_up) = known.looked_up {
            noted::until(looked_up + KNOWN);
        }
        known.glob.clone()
    }
}

/// Where links lead a path, if that isn't the path itself.
fn leads_elsewhere(written: &Path) -> Option<PathBuf> {
    let resolved = Walk {
        cwd: Path::new("/"),
        magic: false,
    }
    .resolve(written)?;
    (resolved != normalise(written)).then_some(resolved)
}

/// For an index by [`PathPattern::literal_prefix`]: which prefixes are links in the working
/// directory, when it was last looked up.
#[derive(Debug, Default)]
pub struct Links(OnceLock<Mutex<ByBase>>);

/// Made when it is first needed, because it takes a kilobyte and few tools are called.
type ByBase = LruCache<PathBuf, Arc<Mutex<Found>>>;

/// The prefixes that lead elsewhere, with the places. Whoever looks them up locks them: of many
/// events at a time, each would look up all of them.
#[derive(Debug, Default)]
struct Found {
    looked_up: Option<Instant>,
    links: Vec<(Box<str>, PathBuf)>,
}

/// So many prefixes are looked up where there is no time.
const QUICK_PREFIXES: usize = 64;

/// The working directories whose links are remembered.
const MAX_BASES: NonZeroUsize = NonZeroUsize::new(16).unwrap();

impl Links {
    /// The prefixes that lead to where a path is, so that patterns that begin with them may match
    /// it.
    pub fn to<'p>(
        &self,
        views: &PathViews,
        prefixes: impl Iterator<Item = &'p str>,
        mut found: impl FnMut(&str),
    ) {
        let Some(base) = views.base.forms().last() else {
            return;
        };
        let by_base = self.0.get_or_init(|| Mutex::new(LruCache::new(MAX_BASES)));
        let known = by_base
            .lock()
            .get_or_insert_ref(base.as_path(), Arc::default)
            .clone();
        // Who is in a hurry waits for nobody: the event is judged again where there is more time.
        let free = known.try_lock();
        let Some(mut known) = free.or_else(|| patience::allows_slow().then(|| known.lock())) else {
            return;
        };
        if known.looked_up.is_none_or(|at| at.elapsed() > KNOWN) {
            let elsewhere =
                |prefix: &str| Some((prefix.into(), leads_elsewhere(&base.join(prefix))?));
            let links = prefixes
                .enumerate()
                .take_while(|(n, _)| *n < QUICK_PREFIXES || patience::allows_slow())
                .take_while(|_| patience::is_left())
                .filter_map(|(_, prefix)| elsewhere(prefix))
                .collect();
            // Otherwise some may be missing.
            let is_all = patience::was_enough() && patience::is_left();
            let looked_up = is_all.then(Instant::now);
            *known = Found { looked_up, links };
        }
        match known.looked_up {
            Some(looked_up) => noted::until(looked_up + KNOWN),
            None => noted::by_more(),
        }
        let paths = [
            Some(&views.lexical),
            views.resolved.as_ref(),
            views.tidied.as_ref(),
        ];
        for (prefix, place) in &known.links {
            if paths.iter().flatten().any(|path| path.starts_with(place)) {
                found(prefix);
            }
        }
    }
}

/// A glob that is compiled when a path is first held against it: of many rules, few are ever asked.
#[derive(Debug, Clone)]
struct LazyGlob {
    glob: Glob,
    matcher: OnceLock<GlobMatcher>,
}

impl LazyGlob {
    fn is_match(&self, path: impl AsRef<Path>) -> bool {
        self.matcher
            .get_or_init(|| self.glob.compile_matcher())
            .is_match(path)
    }
}

fn glob(pattern: &str) -> Result<LazyGlob, String> {
    let glob = GlobBuilder::new(pattern)
        .literal_separator(true)
        .backslash_escape(true)
        .empty_alternates(true)
        .build();
    glob.map(|glob| LazyGlob {
        glob,
        matcher: OnceLock::new(),
    })
    .map_err(|error| error.kind().to_string())
}

/// The directories before the first wildcard; without any, the whole path.
fn fixed_part(pattern: &str) -> String {
    let Some(end) = pattern.find(['*', '?', '[', ']', '{', '}', '\\']) else {
        return pattern.to_string();
    };
    let end = pattern[..end].rfind('/').map_or(0, |at| at + 1);
    pattern[..end].to_string()
}

/// How many alternatives of a pattern are looked up.
const MAX_ALTERNATIVES: usize = 64;

/// What braces stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Braces {
    OfPath,
    /// As a shell reads them: without a comma or between quotes they are plain signs.
    OfCommand,
}

/// A pattern without its braces: `/bin/*` and `/sbin/*` of `/{bin,sbin}/*`.
pub fn alternatives(pattern: &str, braces: Braces) -> Result<Vec<String>, String> {
    let mut done = Vec::new();
    let mut pending = vec![pattern.to_string()];
    while let Some(text) = pending.pop() {
        let Some((before, inner, after)) = first_braces(&text, braces) else {
            done.push(text);
            continue;
        };
        // The first alternative is the next one to look at, so that they come in order.
        pending.extend(inner.iter().rev().map(|it| format!("{before}{it}{after}")));
        if pending.len() + done.len() > MAX_ALTERNATIVES {
            return Err(format!(
                "its braces stand for more than {MAX_ALTERNATIVES} patterns; write several"
            ));
        }
    }
    Ok(done)
}

/// What is before the first braces, in them, separated by their commas, and behind them.
fn first_braces(pattern: &str, braces: Braces) -> Option<(&str, Vec<&str>, &str)> {
    let is_command = braces == Braces::OfCommand;
    let piece = |range: std::ops::Range<usize>| {
        if is_command {
            pattern[range].trim()
        } else {
            &pattern[range]
        }
    };
    let mut depth = 0usize;
    let (mut start, mut from) = (0, 0);
    let mut inner = Vec::new();
    let (mut is_escaped, mut is_class, mut quote) = (false, false, None);
    for (at, character) in pattern.char_indices() {
        match character {
            _ if quote.is_some() => quote = quote.filter(|it| *it != character),
            _ if is_escaped => is_escaped = false,
            '\'' | '"' if is_command => quote = Some(character),
            '\\' => is_escaped = true,
            '[' => is_class = true,
            ']' => is_class = false,
            _ if is_class => {}
            '{' => {
                depth += 1;
                if depth == 1 {
                    (start, from) = (at, at + 1);
                }
            }
            ',' if depth == 1 => {
                inner.push(piece(from..at));
                from = at + 1;
            }
            '}' if depth == 1 && is_command && inner.is_empty() => depth = 0,
            '}' if depth == 1 => {
                inner.push(piece(from..at));
                return Some((&pattern[..start], inner, &pattern[at + 1..]));
            }
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    None
}

/// An absolute path without `.`, `..` and `//`, as far as its names tell.
pub fn normalise(path: &Path) -> PathBuf {
    let mut out = PathBuf::from("/");
    for component in path.components() {
        match component {
            Component::ParentDir => {
                out.pop();
            }
            Component::Normal(name) => out.push(name),
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
    out
}

/// As in Linux: MAXSYMLINKS and PATH_MAX.
const MAX_LINKS: usize = 40;
const MAX_PATH: usize = 4096;

struct Walk<'a> {
    cwd: &'a Path,
    magic: bool,
}

impl Walk<'_> {
    /// Follows `path` name by name as the kernel does, but goes on where it ends to exist.
    fn resolve(&mut self, path: &Path) -> Option<PathBuf> {
        let bytes = path.as_os_str().as_bytes();
        if bytes.len() >= MAX_PATH || bytes.contains(&0) || !path.is_absolute() {
            return None;
        }
        let hangs = failpoint::is_due("disk");
        if patience::is_quick() {
            if hangs || !at_hand::is_straight(path) {
                patience::run_out();
                return None;
            }
            noted::by_straight(path);
            return Some(normalise(path));
        }
        noted::by_more();
        if hangs {
            loop {
                std::thread::park();
            }
        }
        let mut pending: Vec<Vec<u8>> = names(bytes);
        let mut at = PathBuf::from("/");
        let mut links = 0;
        // Links that were followed, each with the names that were still to come.
        let mut followed: Vec<(PathBuf, Vec<Vec<u8>>)> = Vec::new();
        // Set once a name doesn't exist: below it there is nothing to look up until `..` leads out
        // again.
        let mut missing = 0usize;
        while let Some(name) = pending.pop() {
            if name == b".." {
                at.pop();
                missing = missing.saturating_sub(1);
                continue;
            }
            if name.len() > MAX_NAME {
                return None;
            }
            at.push(OsStr::from_bytes(&name));
            if missing > 0 {
                missing += 1;
                continue;
            }
            if let Some(target) = self.magic_target(&at) {
                self.magic = true;
                at.pop();
                links += 1;
                match target {
                    Magic::Directory => at = PathBuf::from("/"),
                    Magic::Stays(place) => {
                        at = place;
                        continue;
                    }
                    // An open file, a root directory or a program of the other process can't be
                    // looked up.
                    Magic::Unknown => return None,
                }
                pending.extend(names(self.cwd.as_os_str().as_bytes()));
            } else {
                match std::fs::symlink_metadata(&at) {
                    Ok(metadata) if metadata.file_type().is_symlink() => {
                        links += 1;
                        // The proc file system may be mounted elsewhere, too.
                        if is_magic(&at) {
                            self.magic = true;
                            return None;
                        }
                        // Who comes by here again comes by for ever: such a link leads to no file,
                        // and can only be removed or replaced itself. A chain that is merely long
                        // may be short for who starts within it.
                        if followed
                            .iter()
                            .any(|(link, rest)| *link == at && *rest == pending)
                        {
                            // Nothing is allowed by it all the same.
                            self.magic = true;
                            missing = 1;
                            continue;
                        }
                        followed.push((at.clone(), pending.clone()));
                        let target = std::fs::read_link(&at).ok()?;
                        let target = target.as_os_str().as_bytes();
                        at.pop();
                        if target.starts_with(b"/") {
                            at = PathBuf::from("/");
                        }
                        pending.extend(names(target));
                    }
                    Ok(_) => {}
                    Err(error) => match error.kind() {
                        // A file where a directory should be: nothing can exist below it.
                        std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => {
                            missing = 1
                        }
                        _ => return None,
                    },
                }
            }
            if links > MAX_LINKS || pending.len() > MAX_PATH {
                return None;
            }
        }
        Some(at)
    }

    /// Links that depend on who asks. They are recognised by name, never read: the answer for this
    /// process would be wrong for the one that is judged.
    fn magic_target(&self, at: &Path) -> Option<Magic> {
        let parts: Vec<&[u8]> = at
            .as_os_str()
            .as_bytes()
            .split(|b| *b == b'/')
            .skip(1)
            .collect();
        let process = |name: &[u8]| {
            matches!(name, b"self" | b"thread-self")
                || (!name.is_empty() && name.iter().all(u8::is_ascii_digit))
        };
        match parts.as_slice() {
            [b"dev", b"fd"] => Some(Magic::Stays(PathBuf::from("/proc/self/fd"))),
            [b"dev", b"stdin" | b"stdout" | b"stderr"] => Some(Magic::Unknown),
            [b"proc", id, rest @ ..] if process(id) => {
                // The process that will use the path is not the one with a number.
                let is_own = matches!(id, [b's' | b't', ..]);
                let rest = match rest {
                    [b"task", thread, rest @ ..] if process(thread) => rest,
                    rest => rest,
                };
                match rest {
                    [b"cwd"] if is_own => Some(Magic::Directory),
                    [b"cwd" | b"root" | b"exe"] | [b"fd" | b"map_files", _] | [b"ns", _] => {
                        Some(Magic::Unknown)
                    }
                    [] => Some(Magic::Stays(at.to_path_buf())),
                    _ => None,
                }
            }
            // `/proc/mounts` and `/proc/net` lead through `self`.
            [b"proc", b"mounts" | b"net"] => Some(Magic::Stays(at.to_path_buf())),
            _ => None,
        }
    }
}

/// Whether a link is one of the proc file system, which leads every process elsewhere.
#[cfg(target_os = "linux")]
fn is_magic(link: &Path) -> bool {
    // From linux/magic.h.
    const PROC: u64 = 0x9fa0;
    let about = link
        .parent()
        .and_then(|parent| rustix::fs::statfs(parent).ok());
    about.is_some_and(|about| about.f_type as u64 & 0xffff_ffff == PROC)
}

#[cfg(not(target_os = "linux"))]
fn is_magic(_: &Path) -> bool {
    false
}

enum Magic {
    /// The working directory of the event.
    Directory,
    /// A link that is fine to keep as a directory.
    Stays(PathBuf),
    Unknown,
}

/// The names of a path, last first.
fn names(path: &[u8]) -> Vec<Vec<u8>> {
    let parts = path
        .split(|b| *b == b'/')
        .filter(|part| !part.is_empty() && *part != b".");
    parts.rev().map(<[u8]>::to_vec).collect()
}

#[cfg(all(test, target_os = "linux"))]
mod tests;

#[cfg(test)]
mod secret_files;
