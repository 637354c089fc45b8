//! What a `find` that changes files comes across: of the guarded files that stand there, those that its tests let through.

use super::ground::Ground;
use super::names::is_one;
use super::places::{Change, Named};
use crate::matching::shell::Word;
use globset::GlobBuilder;
use regex::RegexBuilder;
use std::fs::Metadata;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// A command of find's, taken apart.
pub(super) struct Find<'w> {
    roots: Vec<&'w Word>,
    tests: Vec<Test<'w>>,
}

struct Test<'w> {
    name: &'w str,
    value: &'w str,
    is_negated: bool,
}

/// Options and actions with a value, which let every file through.
const WITH_VALUE: &str = "-regextype|-printf|-fprint|-fprintf|-fls|-fprint0";

/// Tests that few files pass, which aren't looked at: those of hookwire are nobody's in particular.
const FEW: &str = "\
    -user|-group|-uid|-gid|-newer|-anewer|-cnewer|-fstype|-inum|-links|-used|-samefile|-lname|-ilname|-context|\
    -newermt|-newerat|-newerct";

impl<'w> Find<'w> {
    pub(super) fn new(words: &'w [Word]) -> Find<'w> {
        let is_operator = |word: &Word| matches!(word.text.as_str(), "(" | ")" | "!" | ",");
        let args = words.get(1..).unwrap_or_default();
        let args = &args[args.iter().take_while(|word| matches!(word.text.as_str(), "-H" | "-L" | "-P")).count()..];
        let n = args.iter().take_while(|word| !word.text.starts_with('-') && !is_operator(word)).count();
        let (roots, rest) = args.split_at(n);
        let mut find = Find { roots: roots.iter().collect(), tests: Vec::new() };
        let (mut is_negated, mut at) = (false, 0);
        while let Some(word) = rest.get(at) {
            let value = rest.get(at + 1).map_or("", |word| word.text.as_str());
            match word.text.as_str() {
                "!" | "-not" => is_negated = !is_negated,
                "-exec" | "-execdir" | "-ok" | "-okdir" => {
                    at += rest[at..].iter().take_while(|word| !matches!(word.text.as_str(), ";" | "+")).count();
                }
                name @ ("-name" | "-iname" | "-path" | "-wholename" | "-ipath" | "-type" | "-maxdepth"
                | "-mindepth" | "-mtime" | "-ctime" | "-atime" | "-mmin" | "-cmin" | "-amin" | "-size"
                | "-perm" | "-regex" | "-iregex") => {
                    find.tests.push(Test { name, value, is_negated });
                    is_negated = false;
                    at += 1;
                }
                name if is_one(FEW, name) => {
                    find.tests.push(Test { name: "few", value: "", is_negated: std::mem::take(&mut is_negated) });
                    at += 1;
                }
                "-empty" => {
                    find.tests.push(Test { name: "-empty", value: "", is_negated: std::mem::take(&mut is_negated) })
                }
                // What is passed over isn't found.
                "-prune" if matches!(value, "-o" | "-or") => {
                    find.tests.last_mut().into_iter().for_each(|test| test.is_negated = true);
                }
                name => {
                    is_negated &= name == "(";
                    at += usize::from(is_one(WITH_VALUE, name));
                }
            }
            at += 1;
        }
        find
    }

    /// The first guarded file that it comes across, or, for what takes away, directory that holds one.
    /// Where nothing but the kind of file is asked for, a person knows of all in a directory: only what takes them away by
    /// itself counts.
    pub(super) fn meets(
        &self,
        ground: &Ground<'_>,
        directories: &[PathBuf],
        change: Change,
        is_own: bool,
    ) -> Option<PathBuf> {
        let here = Word::default();
        let roots = if self.roots.is_empty() { vec![&here] } else { self.roots.clone() };
        let roots = roots.iter().flat_map(|word| {
            let (text, is_pattern) = (word.path(), word.may_be_pattern());
            ground.spelled(&ground.with_values(&text), is_pattern, directories)
        });
        let roots: Vec<PathBuf> = roots.flat_map(|root| ground.expanded(&root)).collect();
        let is_close = |root: &PathBuf| {
            let root = Named::path(root);
            let is_part = || ground.holds(&root) && !ground.is_around(&root);
            ground.places.at(&root).is_some() || ground.places.receives(&root) || is_part()
        };
        let takes_all = is_own && change == Change::Taken || self.names_some();
        let roots: Vec<PathBuf> = roots.into_iter().filter(|root| takes_all || is_close(root)).collect();
        // The disk is looked at only where something may be found.
        if roots.is_empty() {
            return None;
        }
        let found = |path: &Path, root: &PathBuf| {
            let depth = path.strip_prefix(root).ok()?.components().count();
            self.lets_through(path, root, depth).then(|| path.to_path_buf())
        };
        ground.files().iter().find_map(|file| {
            let n = if change == Change::Taken { usize::MAX } else { 1 };
            let ways = file.ancestors().take(n).filter(|it| ground.may_take(it));
            ways.flat_map(|path| roots.iter().filter_map(move |root| found(path, root))).next()
        })
    }

    /// Whether a test is about names.
    fn names_some(&self) -> bool {
        let says =
            |test: &Test<'_>| test.is_of_names() && !test.is_negated && test.value.contains(char::is_alphanumeric);
        self.tests.iter().any(says)
    }

    fn lets_through(&self, path: &Path, root: &Path, depth: usize) -> bool {
        let Ok(about) = path.symlink_metadata() else { return false };
        // Of alternatives, one name is enough.
        let is_name = |test: &&Test<'_>| test.is_of_names();
        let mut names = self.tests.iter().filter(is_name).filter(|test| !test.is_negated).peekable();
        let is_named = names.peek().is_none() || names.any(|test| test.holds(path, root, depth, &about));
        let others = self.tests.iter().filter(|test| !is_name(test) || test.is_negated);
        is_named && others.into_iter().all(|test| test.holds(path, root, depth, &about) != test.is_negated)
    }
}

impl Test<'_> {
    fn is_of_names(&self) -> bool {
        ["name", "path", "regex"].iter().any(|it| self.name.ends_with(it))
    }

    fn holds(&self, path: &Path, root: &Path, depth: usize, about: &Metadata) -> bool {
        let ignores_case = self.name.starts_with("-i");
        let is_like = |text: &str| {
            let pattern = GlobBuilder::new(self.value).case_insensitive(ignores_case).backslash_escape(true).build();
            pattern.is_ok_and(|pattern| pattern.compile_matcher().is_match(text))
        };
        let days = |time: i64| {
            let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |it| it.as_secs());
            u64::try_from(i64::try_from(now).unwrap_or(i64::MAX).saturating_sub(time)).unwrap_or(0)
        };
        match self.name {
            "-name" | "-iname" => path.file_name().is_some_and(|name| is_like(&name.to_string_lossy())),
            "-path" | "-wholename" | "-ipath" => {
                let inner = path.strip_prefix(root).unwrap_or(path).to_string_lossy();
                [format!("./{inner}"), inner.to_string(), path.to_string_lossy().into_owned()]
                    .iter()
                    .any(|it| is_like(it))
            }
            "-regex" | "-iregex" => {
                let text = format!("./{}", path.strip_prefix(root).unwrap_or(path).display());
                let whole = RegexBuilder::new(&format!("^(?:{})$", self.value)).case_insensitive(ignores_case).build();
                whole.is_ok_and(|it| it.is_match(&text))
            }
            "few" => false,
            "-type" => {
                let kind = about.file_type();
                self.value.split(',').any(|it| match it {
                    "f" => kind.is_file(),
                    "d" => kind.is_dir(),
                    "l" => kind.is_symlink(),
                    _ => false,
                })
            }
            "-maxdepth" => self.value.parse().is_ok_and(|most: usize| depth <= most),
            "-mindepth" => self.value.parse().is_ok_and(|least: usize| depth >= least),
            "-mtime" | "-ctime" | "-atime" => self.compares(days(self.time(about)) / (24 * 60 * 60)),
            "-mmin" | "-cmin" | "-amin" => self.compares(days(self.time(about)).div_ceil(60)),
            "-size" => self.fits(about.len()),
            "-perm" => {
                let mode = about.permissions().mode() & 0o7777;
                match u32::from_str_radix(self.value.trim_start_matches(['-', '/', '+']), 8) {
                    Ok(bits) if self.value.starts_with('-') => mode & bits == bits,
                    Ok(bits) if self.value.starts_with(['/', '+']) => bits == 0 || mode & bits != 0,
                    Ok(bits) => mode == bits,
                    Err(_) => !self.is_negated,
                }
            }
            "-empty" => about.is_file() && about.len() == 0,
            _ => !self.is_negated,
        }
    }

    fn time(&self, about: &Metadata) -> i64 {
        match &self.name[1..2] {
            "m" => about.mtime(),
            "c" => about.ctime(),
            _ => about.atime(),
        }
    }

    /// `+7`, `-7` and `7`; what can't be read is taken as given.
    fn compares(&self, value: u64) -> bool {
        let number = |text: &str| text.parse::<u64>().ok();
        match (self.value.strip_prefix('+'), self.value.strip_prefix('-')) {
            (Some(least), _) => number(least).is_none_or(|least| value > least),
            (None, Some(most)) => number(most).is_none_or(|most| value < most),
            (None, None) => number(self.value).is_none_or(|exact| value == exact),
        }
    }

    fn fits(&self, size: u64) -> bool {
        let unit = match self.value.chars().last() {
            Some('c') => 1,
            Some('w') => 2,
            Some('k') => 1024,
            Some('M') => 1024 * 1024,
            Some('G') => 1024 * 1024 * 1024,
            _ => 512,
        };
        let value = self.value.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        Test { name: self.name, value, is_negated: self.is_negated }.compares(size.div_ceil(unit))
    }
}
