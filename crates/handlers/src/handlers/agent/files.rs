//! The four tools that read: confined to the project, bounded, and blind to what holds secrets.
//!
//! A path is opened beneath the project's root by the kernel and judged by where it led, so that no
//! link swapped in between leads out. A file that has other names is not read: one of them may be a
//! secret's, and nothing says which names those are.

use globset::{GlobBuilder, GlobMatcher};
use hookwire_base::support::secret_files::off_limits;
use hookwire_base::support::visible;
use rustix::fd::OwnedFd;
use rustix::fs::{Dir, FileType, Mode, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The most of a file that is looked at, in bytes.
const MAX_FILE: u64 = 4 * 1024 * 1024;
/// The longest text that a tool gives back, in bytes.
pub(super) const MAX_OUTPUT: usize = 32 * 1024;
/// The lines that are read of a file unless it is said.
const LINES: usize = 500;
/// The longest line that is shown, in characters.
const MAX_LINE: usize = 400;
/// The most entries of a directory, matches and paths that are told.
const MAX_ENTRIES: usize = 500;
const MAX_MATCHES: usize = 100;
const MAX_PATHS: usize = 200;
/// What one search may look at, and for how long.
const MAX_VISITED: usize = 50_000;
const MAX_SEARCH: Duration = Duration::from_secs(10);
const MAX_DEPTH: usize = 64;
/// Directories that a search goes into only if it starts there: what is in them was made or
/// fetched.
const PASSED_OVER: [&str; 6] = [
    "node_modules",
    "target",
    ".venv",
    "venv",
    "__pycache__",
    "vendor",
];

/// A project as the tools see it.
pub(super) struct Project {
    root: PathBuf,
    fd: OwnedFd,
    /// Where the root really is.
    real: PathBuf,
}

/// Set when a search isn't waited for any more.
pub(super) type Gone = AtomicBool;

impl Project {
    /// Opens a project root.
    pub(super) fn open(root: &Path) -> Result<Project, String> {
        let bad = |error: &dyn std::fmt::Display| {
            format!("open the project `{}`: {error}", root.display())
        };
        let fd = rustix::fs::open(
            root,
            OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC,
            Mode::empty(),
        );
        let real = root.canonicalize().map_err(|error| bad(&error))?;
        Ok(Project {
            root: root.to_path_buf(),
            fd: fd.map_err(|error| bad(&error))?,
            real,
        })
    }

    /// Lines of a file, counted from 1.
    pub(super) fn read_file(
        &self,
        path: &str,
        from: Option<usize>,
        lines: Option<usize>,
    ) -> Result<String, String> {
        let (text, cut) = self.text(path)?;
        let (from, wanted) = (from.unwrap_or(1).max(1), lines.unwrap_or(LINES));
        let mut out = Output::default();
        let all: Vec<&str> = text.lines().collect();
        if from > all.len() {
            return Err(format!("`{path}` has {} lines", all.len()));
        }
        let mut last = from - 1;
        for line in all[from - 1..].iter().take(wanted) {
            if !out.line(&visible::cut(line, MAX_LINE)) {
                break;
            }
            last += 1;
        }
        if last < all.len() {
            out.note(&format!(
                "lines {from} to {last} of {}; more with `from`",
                all.len()
            ));
        }
        if cut {
            out.note(&format!(
                "the file has more than {MAX_FILE} bytes; the rest can't be read"
            ));
        }
        Ok(out.text)
    }

    /// The names in a directory: `/` behind directories, `@` behind links.
    pub(super) fn list_dir(&self, path: &str) -> Result<String, String> {
        let entries = self
            .entries(&self.relative(path)?)
            .map_err(|error| format!("can't list `{path}`: {error}"))?;
        let mut out = Output::default();
        for (name, kind) in entries.iter().take(MAX_ENTRIES) {
            let mark = match kind {
                FileType::Directory => "/",
                FileType::Symlink => "@",
                _ => "",
            };
            out.line(&format!("{name}{mark}"));
        }
        if entries.len() > MAX_ENTRIES {
            out.note(&format!("{} of {} entries", MAX_ENTRIES, entries.len()));
        }
        Ok(out.or("(empty)"))
    }

    /// Lines that match a regular expression: `path:line: text`.
    pub(super) fn grep(
        &self,
        pattern: &str,
        path: Option<&str>,
        only: Option<&str>,
        gone: &Gone,
    ) -> Result<String, String> {
        let regex = regex::RegexBuilder::new(pattern)
            .size_limit(1024 * 1024)
            .build()
            .map_err(|error| {
                format!(
                    "the pattern is no regular expression: {}",
                    hookwire_rules::matching::last_line(&error.to_string())
                )
            })?;
        let only = only.map(glob).transpose()?;
        let start = self.relative(path.unwrap_or("."))?;
        let mut out = Output::default();
        let mut n_matches = 0;
        let end = self.walk(&start, gone, &mut |file| {
            if only.as_ref().is_some_and(|only| !fits(only, file)) {
                return true;
            }
            let Ok((text, _)) = self.text(&file.to_string_lossy()) else {
                return true;
            };
            for (number, line) in text.lines().enumerate() {
                if regex.is_match(line) {
                    n_matches += 1;
                    if n_matches > MAX_MATCHES
                        || !out.line(&format!(
                            "{}:{}: {}",
                            file.display(),
                            number + 1,
                            visible::cut(line, MAX_LINE)
                        ))
                    {
                        return false;
                    }
                }
            }
            true
        })?;
        if n_matches > MAX_MATCHES {
            out.note(&format!("there are more than {MAX_MATCHES} matches"));
        } else if let Some(end) = end {
            out.note(end);
        }
        Ok(out.or("(no match)"))
    }

    /// Paths that fit a glob.
    pub(super) fn glob(
        &self,
        pattern: &str,
        path: Option<&str>,
        gone: &Gone,
    ) -> Result<String, String> {
        let glob = glob(pattern)?;
        let start = self.relative(path.unwrap_or("."))?;
        let mut paths = Vec::new();
        let end = self.walk(&start, gone, &mut |file| {
            if fits(&glob, file.strip_prefix(&start).unwrap_or(file)) {
                paths.push(file.display().to_string());
            }
            paths.len() <= MAX_PATHS
        })?;
        let mut out = Output::default();
        for path in paths.iter().take(MAX_PATHS) {
            out.line(path);
        }
        if paths.len() > MAX_PATHS {
            out.note(&format!("there are more than {MAX_PATHS}"));
        } else if let Some(end) = end {
            out.note(end);
        }
        Ok(out.or("(no file)"))
    }

    /// A path beneath the root, without `.` and `..`.
    fn relative(&self, path: &str) -> Result<PathBuf, String> {
        let outside = || format!("`{path}` is outside of the project");
        if path.contains('\0') || path.len() > 4096 {
            return Err("that is no path".into());
        }
        let given = Path::new(path);
        let given = match given.is_absolute() {
            true => given
                .strip_prefix(&self.root)
                .or_else(|_| given.strip_prefix(&self.real))
                .map_err(|_| outside())?,
            false => given,
        };
        let mut plain = PathBuf::new();
        for component in given.components() {
            match component {
                Component::Normal(name) => plain.push(name),
                Component::CurDir => {}
                Component::ParentDir if plain.pop() => {}
                Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                    return Err(outside());
                }
            }
        }
        if plain.as_os_str().is_empty() {
            plain.push(".");
        }
        Ok(plain)
    }

    /// Opens what a path leads to, if that is beneath the root and not off limits.
    fn open_at(&self, path: &Path, flags: OFlags) -> Result<OwnedFd, String> {
        // Without NONBLOCK, a FIFO would wait for a writer.
        let flags = flags | OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        check_name(path)?;
        let fd = open_beneath(&self.fd, path, flags).map_err(|error| match error {
            Errno::XDEV | Errno::LOOP => {
                "it leads out of the project, or is a link that can't be followed".to_string()
            }
            Errno::NOENT => "there is no such file".to_string(),
            other => other.to_string(),
        })?;
        // The kernel knows where links have led; elsewhere none were followed.
        if cfg!(target_os = "linux") {
            use std::os::fd::AsRawFd;
            let real = std::fs::read_link(format!("/proc/self/fd/{}", fd.as_raw_fd()))
                .map_err(|it| it.to_string())?;
            let real = real
                .strip_prefix(&self.real)
                .map_err(|_| "it leads out of the project".to_string())?;
            check_name(real)?;
        }
        Ok(fd)
    }

    /// The text of a file, and whether there is more of it.
    fn text(&self, path: &str) -> Result<(String, bool), String> {
        let bad = |error: &dyn std::fmt::Display| format!("can't read `{path}`: {error}");
        let mut file = File::from(
            self.open_at(&self.relative(path)?, OFlags::empty())
                .map_err(|error| bad(&error))?,
        );
        let metadata = file.metadata().map_err(|error| bad(&error))?;
        if !metadata.is_file() {
            return Err(bad(&if metadata.is_dir() {
                "it is a directory"
            } else {
                "it is no regular file"
            }));
        }
        if metadata.nlink() > 1 {
            return Err(bad(
                &"it is off limits: it has other names as well (hard links), and one may be a secret's",
            ));
        }
        let mut bytes = Vec::new();
        (&mut file)
            .take(MAX_FILE)
            .read_to_end(&mut bytes)
            .map_err(|error| bad(&error))?;
        if bytes.iter().take(8192).any(|byte| *byte == 0) {
            return Err(bad(&"it is not text"));
        }
        Ok((
            String::from_utf8_lossy(&bytes).into_owned(),
            metadata.len() > MAX_FILE,
        ))
    }

    /// The entries of a directory by name.
    fn entries(&self, path: &Path) -> Result<Vec<(String, FileType)>, String> {
        let dir = self.open_at(path, OFlags::DIRECTORY)?;
        let mut entries = Vec::new();
        for entry in Dir::read_from(&dir).map_err(|error| error.to_string())? {
            let entry = entry.map_err(|error| error.to_string())?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if name != "." && name != ".." && check_name(&path.join(&name)).is_ok() {
                entries.push((name, entry.file_type()));
            }
            if entries.len() > MAX_VISITED {
                break;
            }
        }
        entries.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(entries)
    }

    /// Visits the files below a directory, or the one file, until `visit` says no; links are not
    /// followed. Tells why it ended early, if it did.
    fn walk(
        &self,
        start: &Path,
        gone: &Gone,
        visit: &mut dyn FnMut(&Path) -> bool,
    ) -> Result<Option<&'static str>, String> {
        let began = Instant::now();
        let mut n_visited = 0;
        let bad = |error: String| format!("can't search `{}`: {error}", start.display());
        let is_file = self
            .open_at(start, OFlags::empty())
            .map_err(bad)
            .map(|fd| File::from(fd).metadata())?;
        if is_file.is_ok_and(|it| it.is_file()) {
            visit(start);
            return Ok(None);
        }
        let mut left = vec![start.to_path_buf()];
        while let Some(dir) = left.pop() {
            let Ok(entries) = self.entries(&dir) else {
                continue;
            };
            let mut below = Vec::new();
            for (name, kind) in entries {
                n_visited += 1;
                if n_visited > MAX_VISITED || began.elapsed() > MAX_SEARCH {
                    return Ok(Some(
                        "the search was too large and is not complete; search a part",
                    ));
                }
                if gone.load(Ordering::Relaxed) {
                    return Ok(Some("the search was stopped"));
                }
                let path = if dir == Path::new(".") {
                    PathBuf::from(&name)
                } else {
                    dir.join(&name)
                };
                match kind {
                    FileType::Directory
                        if PASSED_OVER.contains(&&*name)
                            || path.components().count() > MAX_DEPTH => {}
                    FileType::Directory => below.push(path),
                    FileType::RegularFile if !visit(&path) => return Ok(None),
                    _ => {}
                }
            }
            // The first in the alphabet is next.
            left.extend(below.into_iter().rev());
        }
        Ok(None)
    }
}

/// Opens a path such that it can't lead out of a directory.
fn open_beneath(dir: &OwnedFd, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::ResolveFlags;
        let beneath = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        match rustix::fs::openat2(dir, path, flags, Mode::empty(), beneath) {
            // An old kernel, or one that a container's filter makes look old.
            Err(Errno::NOSYS | Errno::PERM) => {}
            result => return result,
        }
    }
    // Step by step, and through no link.
    let mut at = dir.try_clone().map_err(|_| Errno::MFILE)?;
    let mut components = path.components().peekable();
    while let Some(component) = components.next() {
        let flags = if components.peek().is_some() {
            OFlags::DIRECTORY | OFlags::CLOEXEC
        } else {
            flags
        };
        at = rustix::fs::openat(
            &at,
            component.as_os_str(),
            flags | OFlags::NOFOLLOW,
            Mode::empty(),
        )?;
    }
    Ok(at)
}

/// Refuses what commonly holds secrets: what is read goes to the model's provider.
fn check_name(path: &Path) -> Result<(), String> {
    off_limits(path).map_or(Ok(()), |why| Err(why.into()))
}

fn glob(pattern: &str) -> Result<GlobMatcher, String> {
    let glob = GlobBuilder::new(pattern)
        .literal_separator(true)
        .empty_alternates(true)
        .build();
    glob.map(|it| it.compile_matcher())
        .map_err(|error| format!("the glob can't be read: {}", error.kind()))
}

/// A glob without a slash is about the name.
fn fits(glob: &GlobMatcher, path: &Path) -> bool {
    let name = path.file_name().map(Path::new).unwrap_or(path);
    glob.is_match(path) || (!glob.glob().glob().contains('/') && glob.is_match(name))
}

/// What a tool gives back, within its bounds.
#[derive(Default)]
struct Output {
    text: String,
    full: bool,
}

impl Output {
    /// Whether there was room.
    fn line(&mut self, line: &str) -> bool {
        if self.full || self.text.len() + line.len() > MAX_OUTPUT {
            if !self.full {
                self.full = true;
                self.note("cut here: too long");
            }
            return false;
        }
        self.text.push_str(line);
        self.text.push('\n');
        true
    }

    fn note(&mut self, note: &str) {
        self.text.push_str(&format!("({note})\n"));
    }

    fn or(self, empty: &str) -> String {
        if self.text.is_empty() {
            empty.to_string()
        } else {
            self.text
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn project() -> (tempfile::TempDir, Project) {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("project");
        for (name, text) in [
            ("src/main.rs", "fn main() {\n    panic!(\"no\");\n}\n"),
            ("src/deep/mod.rs", "// panic\n"),
            ("node_modules/a.js", "panic"),
            ("test.log", "ok\nFAILED one\nok\nFAILED two\n"),
            (".git/config", "token"),
            (".env", "TOKEN=1 panic"),
            (".env.example", "TOKEN="),
            ("id_rsa", "panic"),
            ("secrets.yml", "panic"),
            (".docker/config.json", "panic"),
            (".docker/Dockerfile", "FROM scratch"),
            ("notes.txt", "panic"),
            ("id_rsa.pub", "public"),
            ("deep/server.pem", "panic"),
            ("long.txt", &"x".repeat(1000)),
            ("binary", "a\0b"),
        ] {
            let path = root.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        std::fs::write(dir.path().join("secret"), "outside").unwrap();
        symlink("src/main.rs", root.join("inside")).unwrap();
        symlink("../secret", root.join("outside")).unwrap();
        symlink("/etc", root.join("etc")).unwrap();
        symlink(".env", root.join("harmless.txt")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        std::fs::hard_link(root.join("notes.txt"), root.join("other.txt")).unwrap();
        rustix::fs::mkfifoat(
            rustix::fs::CWD,
            root.join("fifo"),
            Mode::from_raw_mode(0o600),
        )
        .unwrap();
        let project = Project::open(&root).unwrap();
        (dir, project)
    }

    #[test]
    fn reading() {
        let (dir, project) = project();
        let absolute = dir.path().join("project/test.log").display().to_string();
        for (path, expected) in [
            ("test.log", "ok\nFAILED one"),
            ("./src/../test.log", "ok\n"),
            (&absolute, "ok\n"),
            ("inside", "fn main"),
            (".env.example", "TOKEN="),
            ("id_rsa.pub", "public"),
            ("long.txt", "xxx"),
            ("../secret", "`../secret` is outside of the project"),
            ("src/../../secret", "is outside of the project"),
            ("/etc/passwd", "`/etc/passwd` is outside of the project"),
            (
                "outside",
                "can't read `outside`: it leads out of the project",
            ),
            (
                "etc/passwd",
                "can't read `etc/passwd`: it leads out of the project",
            ),
            (
                "loop",
                "it leads out of the project, or is a link that can't be followed",
            ),
            (
                "harmless.txt",
                "it is off limits: files of that name hold secrets",
            ),
            (".env", "it is off limits: files of that name hold secrets"),
            (
                "secrets.yml",
                "it is off limits: files of that name hold secrets",
            ),
            (
                ".docker/config.json",
                "it is off limits: files of that name hold secrets",
            ),
            (".docker/Dockerfile", "FROM scratch"),
            (
                "other.txt",
                "it is off limits: it has other names as well (hard links)",
            ),
            ("ID_RSA", "it is off limits"),
            ("deep/server.pem", "it is off limits"),
            (".git/config", "it is off limits, as are the files of git"),
            ("fifo", "it is no regular file"),
            ("binary", "it is not text"),
            ("src", "it is a directory"),
            ("missing", "there is no such file"),
            ("a\0b", "that is no path"),
        ] {
            let got = project
                .read_file(path, None, None)
                .unwrap_or_else(|error| error);
            assert!(got.contains(expected), "{path}: {got}");
            assert!(
                !got.contains("TOKEN=1") && !got.contains("root:"),
                "{path}: {got}"
            );
        }
        assert_eq!(
            project.read_file("test.log", Some(2), Some(1)).unwrap(),
            "FAILED one\n(lines 2 to 2 of 4; more with `from`)\n"
        );
        assert_eq!(
            project.read_file("test.log", Some(9), None).unwrap_err(),
            "`test.log` has 4 lines"
        );
        assert!(
            project
                .read_file("long.txt", None, None)
                .unwrap()
                .chars()
                .count()
                < 450
        );
    }

    #[test]
    fn searching() {
        let (_dir, project) = project();
        let gone = Gone::new(false);
        let list = project.list_dir(".").unwrap();
        assert_eq!(project.list_dir(".docker").unwrap(), "Dockerfile\n");
        assert!(
            list.contains("src/\n") && list.contains("inside@\n") && !list.contains("id_rsa\n"),
            "{list}"
        );
        assert!(
            project.list_dir("..").is_err()
                && project.list_dir("etc").is_err()
                && project.list_dir(".git").is_err()
        );
        let grep = |pattern: &str, path, only| {
            project
                .grep(pattern, path, only, &gone)
                .unwrap_or_else(|error| error)
        };
        assert_eq!(
            grep("panic", None, None),
            "src/main.rs:2:     panic!(\"no\");\nsrc/deep/mod.rs:1: // panic\n"
        );
        assert_eq!(
            grep("panic", None, Some("mod.rs")),
            "src/deep/mod.rs:1: // panic\n"
        );
        assert_eq!(
            grep("panic", Some("node_modules"), None),
            "node_modules/a.js:1: panic\n"
        );
        assert_eq!(
            grep("FAILED", Some("test.log"), None),
            "test.log:2: FAILED one\ntest.log:4: FAILED two\n"
        );
        assert_eq!(grep("nowhere", None, None), "(no match)");
        assert!(grep("(", None, None).contains("no regular expression"));
        assert!(grep("x", Some("../.."), None).contains("outside of the project"));
        let glob = |pattern: &str, path| {
            project
                .glob(pattern, path, &gone)
                .unwrap_or_else(|error| error)
        };
        assert_eq!(glob("*.rs", None), "src/main.rs\nsrc/deep/mod.rs\n");
        assert_eq!(glob("src/*.rs", None), "src/main.rs\n");
        assert_eq!(glob("*.rs", Some("src/deep")), "src/deep/mod.rs\n");
        assert_eq!(glob("*.pem", None), "(no file)");
        gone.store(true, Ordering::Relaxed);
        assert!(grep("panic", None, None).contains("stopped"));
    }

    #[test]
    fn no_more_than_the_bounds() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("many"), "match\n".repeat(10_000)).unwrap();
        for n in 0..600 {
            std::fs::write(dir.path().join(format!("f{n}.txt")), "").unwrap();
        }
        let project = Project::open(dir.path()).unwrap();
        let gone = Gone::new(false);
        for text in [
            project.read_file("many", None, Some(100_000)).unwrap(),
            project.grep("match", None, None, &gone).unwrap(),
            project.glob("*.txt", None, &gone).unwrap(),
            project.list_dir(".").unwrap(),
        ] {
            assert!(text.len() < MAX_OUTPUT + 200, "{}", text.len());
            assert!(text.trim_end().ends_with(')'), "{text}");
        }
    }
}
