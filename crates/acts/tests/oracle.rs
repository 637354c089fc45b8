//! The real program is the oracle of its row: the examples of `acts.txt` run in a directory of
//! their own, watched by strace, and what their programs do to files is held against what
//! `file_acts` says of their texts.

#[path = "../../../tests/support/skipped.rs"]
mod skipped;
#[path = "oracle/watched.rs"]
mod watched;

use hookwire_acts::{
    Access, Certainty, Environment, FileAct, MAX_WORK, Named, Reach, Shell, named_in_text,
    read_given,
};
use skipped::{skip, tried_elsewhere};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use watched::{Touch, normal};

/// One line of the examples.
struct Example<'a> {
    line: usize,
    /// Which text makes its directory.
    set_up: usize,
    text: &'a str,
    remarks: Vec<Remark<'a>>,
}

/// What a line says of a path: `not read in.txt: why`.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Remark<'a> {
    kind: &'a str,
    path: &'a str,
}

/// The lines: `= TEXT` makes the directory of those that follow, `TEXT<TAB>REMARKS` is an example.
fn examples(data: &str) -> Vec<Example<'_>> {
    let mut set_up = 0;
    let mut examples = Vec::new();
    for (line, row) in data
        .lines()
        .enumerate()
        .filter(|(_, row)| !row.is_empty() && !row.starts_with('#'))
    {
        if row.starts_with("= ") {
            set_up += 1;
            continue;
        }
        let (text, remarks) = row.split_once('\t').unwrap_or((row, ""));
        let remarks = remarks
            .split("; ")
            .filter(|it| !it.is_empty())
            .map(|remark| {
                let said = remark.split_once(": ").map_or(remark, |(said, _)| said);
                let (kind, path) = said
                    .split_once(' ')
                    .unwrap_or_else(|| panic!("line {}: {remark}", line + 1));
                assert!(
                    ["not", "unsaid", "doubt"].contains(&kind),
                    "line {}: {kind}",
                    line + 1
                );
                Remark { kind, path }
            });
        examples.push(Example {
            line: line + 1,
            set_up,
            text,
            remarks: remarks.collect(),
        });
    }
    examples
}

/// The texts that make a directory; the first one makes none.
fn set_ups(data: &str) -> Vec<&str> {
    ["true"]
        .into_iter()
        .chain(data.lines().filter_map(|row| row.strip_prefix("= ")))
        .collect()
}

/// A directory that goes with the test.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Scratch {
        let name = format!("hookwire-oracle-{}", std::process::id());
        // Some 40,000 small files are made: in memory, that takes a tenth of the time.
        let places = [PathBuf::from("/dev/shm"), std::env::temp_dir()].map(|it| it.join(&name));
        let made = places.iter().find(|it| std::fs::create_dir_all(it).is_ok());
        Scratch(
            made.expect("a directory for temporary files")
                .canonicalize()
                .unwrap(),
        )
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A program that knows nothing of whoever runs the test.
fn alone(program: &str, home: &Path) -> Command {
    let mut command = Command::new(program);
    let names = [
        "GIT_AUTHOR_NAME",
        "GIT_AUTHOR_EMAIL",
        "GIT_COMMITTER_NAME",
        "GIT_COMMITTER_EMAIL",
    ];
    command.env_clear().envs(names.map(|name| (name, "a")));
    command.envs([
        ("PATH", PATH),
        ("LC_ALL", "C"),
        ("GIT_CONFIG_NOSYSTEM", "1"),
        ("GIT_PAGER", "cat"),
        ("EDITOR", "true"),
    ]);
    command
        .env("HOME", home)
        .env("TMPDIR", home.join("tmp"))
        .current_dir(home.join("work"));
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}

/// So many examples run under one strace.
const TOGETHER: usize = 12;
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

fn make(home: &Path, set_up: &str) {
    std::fs::create_dir_all(home.join("work")).unwrap();
    std::fs::create_dir_all(home.join("tmp")).unwrap();
    let status = alone("bash", home).args(["-ec", set_up]).status().unwrap();
    assert!(status.success(), "{status}: {set_up}");
}

/// Says what is wrong with what the library says of an example whose program has run.
fn wrong(
    example: &Example<'_>,
    home: &Path,
    touched: &[Touch],
    before: &BTreeSet<String>,
) -> Vec<String> {
    let work = home.join("work");
    let after = watched::listed(&work);
    let value = |name: &str| match name {
        "HOME" => home.to_str().map(str::to_string),
        "TMPDIR" => home.join("tmp").to_str().map(str::to_string),
        _ => None,
    };
    let given = Environment::new(value, Box::new(|_| None));
    let (script, _) = read_given(example.text, Shell::Bash, MAX_WORK, &[given.into()]);
    let mut acts = script.file_acts().to_vec();
    // A process reads its own environment without a look at the file that stands for it.
    acts.retain(|act| act.word.text != hookwire_acts::ENVIRONMENT_FILE);
    if !script.names_all() {
        acts.extend(named_in_text(example.text));
    }
    let mut judged = Judged {
        example,
        work: &work,
        home,
        acts: &acts,
        used: Vec::new(),
        wrong: Vec::new(),
    };
    for touch in touched {
        // What comes and goes is nobody's.
        if before.contains(&touch.path) || after.contains(&touch.path) {
            judged.hold_touch(touch);
        }
    }
    acts.iter().for_each(|act| judged.hold_act(act, touched));
    judged.hold_remarks();
    judged.wrong
}

/// Runs examples, and says of each what is wrong, or which program isn't there.
fn run(
    examples: &[Example<'_>],
    scratch: &Path,
    templates: &[PathBuf],
) -> Vec<Result<Vec<String>, String>> {
    let homes: Vec<PathBuf> = examples
        .iter()
        .map(|it| scratch.join(format!("example-{}", it.line)))
        .collect();
    for (example, home) in examples.iter().zip(&homes) {
        watched::copy(&templates[example.set_up], home);
    }
    let before: Vec<_> = homes
        .iter()
        .map(|home| watched::listed(&home.join("work")))
        .collect();
    let texts: Vec<_> = examples
        .iter()
        .zip(&homes)
        .map(|(example, home)| (example.text, home.as_path()))
        .collect();
    let trace = homes[0].join("trace");
    let all = watched::run(alone("timeout", &homes[0]), &texts, &trace);
    let told = all.into_iter().enumerate();
    told.map(|(at, touched)| Ok(wrong(&examples[at], &homes[at], &touched?, &before[at])))
        .collect()
}

struct Judged<'a> {
    example: &'a Example<'a>,
    work: &'a Path,
    home: &'a Path,
    acts: &'a [FileAct],
    /// The remarks that something needed.
    used: Vec<Remark<'a>>,
    wrong: Vec<String>,
}

impl Judged<'_> {
    fn relative<'p>(&self, path: &'p str) -> &'p str {
        let work = self.work.to_str().unwrap();
        match path.strip_prefix(work) {
            Some("") => ".",
            Some(rest) if rest.starts_with('/') => &rest[1..],
            _ => path,
        }
    }

    fn is_remarked(&mut self, kind: &str, path: &str) -> bool {
        let fits = |it: &Remark<'_>| it.kind == kind && watched::matches(it.path, path);
        let found = self.example.remarks.iter().copied().find(fits);
        self.used.extend(found);
        found.is_some()
    }

    /// What a program did to what the text names is among the acts.
    fn hold_touch(&mut self, touch: &Touch) {
        let path = self.relative(&touch.path).to_string();
        if path.starts_with('/') || !is_named(self.example.text, &path, false) {
            return;
        }
        // All below the directory at hand isn't what somebody named who wrote a file's name.
        let is_exact = is_named(self.example.text, &path, true);
        let is_all =
            |act: &FileAct| act.reach == Reach::Below && act.named() == Named::Path(".".into());
        let has = |act: &FileAct| {
            act.access.may_be(touch.access)
                && !(is_exact && is_all(act))
                && self.includes(act, &touch.path)
        };
        let covering: Vec<&FileAct> = self.acts.iter().filter(|act| has(act)).collect();
        let is_certain = covering
            .iter()
            .any(|act| act.certainty == Certainty::Certain);
        let wrong = match (covering.is_empty(), is_certain) {
            (true, _) => "unsaid",
            (false, false) => "doubt",
            (false, true) => return,
        };
        if !self.is_remarked(wrong, &path) {
            let access = touch.access;
            self.wrong.push(format!("{wrong} {path}: {access:?}"));
        }
    }

    /// What is certain has happened.
    fn hold_act(&mut self, act: &FileAct, touched: &[Touch]) {
        if act.certainty != Certainty::Certain
            || self.paths(act).is_empty()
            || act.directories().is_none()
        {
            return;
        }
        let is_it =
            |touch: &&Touch| act.access.may_be(touch.access) && self.includes(act, &touch.path);
        let is_copied = |touch: &Touch| {
            // A copy goes to the path or to one in it.
            let parent = touch.path.rsplit_once('/').map_or("", |(parent, _)| parent);
            let (up, down) = (self.includes(act, parent), self.is_below(act, &touch.path));
            touch.access == Access::Write && act.access == Access::Write && (up || down)
        };
        if touched
            .iter()
            .any(|touch| is_it(&touch) || is_copied(touch))
        {
            return;
        }
        let path = self
            .paths(act)
            .first()
            .map_or(String::new(), |path| self.relative(path).to_string());
        if !self.is_remarked("not", &path) {
            let (access, reach) = (act.access, act.reach);
            self.wrong.push(format!("not {path}: {access:?} {reach:?}"));
        }
    }

    /// Whether the act is that of what would be the file's place in a directory.
    fn is_below(&self, act: &FileAct, path: &str) -> bool {
        self.paths(act).iter().any(|it| {
            it.rsplit_once('/')
                .is_some_and(|(parent, _)| parent == path)
        })
    }

    fn hold_remarks(&mut self) {
        for remark in &self.example.remarks {
            if !self.used.contains(remark) {
                self.wrong
                    .push(format!("nothing needs `{} {}`", remark.kind, remark.path));
            }
        }
    }

    /// The absolute paths that an act names, as patterns.
    fn paths(&self, act: &FileAct) -> Vec<String> {
        let named = match act.named() {
            Named::Path(path) => path.replace(['[', ']', '*', '?'], "?"),
            Named::Pattern(path) | Named::Found(path) => path,
            Named::Open { before, .. } if before.is_empty() => return Vec::new(),
            Named::Open { before, after } => format!("{before}**{after}"),
            Named::Nothing => return Vec::new(),
        };
        let of_home = |path: &str| match path.strip_prefix('~') {
            Some(rest) => format!("{}{rest}", self.home.display()),
            None => path.to_string(),
        };
        let named = of_home(&named);
        let directories = act
            .directories()
            .map_or_else(|| vec![""], Iterator::collect);
        let place = |directory: &str| {
            let directory = of_home(directory);
            let path = self.work.join(directory).join(&named);
            normal(path.to_str().unwrap())
        };
        directories.into_iter().map(place).collect()
    }

    fn includes(&self, act: &FileAct, path: &str) -> bool {
        let reaches = |pattern: &String| match act.reach {
            Reach::Any => true,
            Reach::File | Reach::Sought | Reach::Begun => watched::matches(pattern, path),
            Reach::Below | Reach::Perhaps | Reach::All => {
                watched::matches(pattern, path) || watched::matches(&format!("{pattern}/**"), path)
            }
        };
        self.paths(act).iter().any(reaches)
    }
}

/// Whether a text names a path, or something that it lies below; `is_exact`: only itself.
fn is_named(text: &str, path: &str, is_exact: bool) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    // What git does there is nobody's act.
    let of_git = parts.contains(&".git");
    if of_git && !text.contains(".git/") {
        return false;
    }
    let is_exact = is_exact || of_git;
    let is_end = |c: char| c.is_whitespace() || "\"'`(){}=:,;<>|&@$#".contains(c);
    let words = text.split(is_end).filter(|it| !it.is_empty());
    words
        .flat_map(|word| {
            // `-ofile`
            let starts = word.len().min(4);
            (0..starts).filter_map(move |at| word.get(at..))
        })
        .any(|word| {
            let wanted: Vec<&str> = word
                .split('/')
                .filter(|part| !matches!(*part, "" | "."))
                .collect();
            match wanted.is_empty() {
                true => !is_exact && (word == "." || word == "./"),
                false => parts.windows(wanted.len()).enumerate().any(|(at, some)| {
                    (!is_exact || at + some.len() == parts.len())
                        && some
                            .iter()
                            .zip(&wanted)
                            .all(|(part, wanted)| watched::matches(wanted, part))
                }),
            }
        })
}

#[test]
fn what_programs_do_is_what_the_table_says() {
    let data =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/acts.txt"))
            .unwrap();
    let set_ups = set_ups(&data);
    let examples = examples(&data);
    let can_watch = Command::new("strace")
        .args([
            "-f",
            "--seccomp-bpf",
            "-qq",
            "-e",
            "trace=openat",
            "-o",
            "/dev/null",
            "true",
        ])
        .status();
    if !can_watch.is_ok_and(|status| status.success()) {
        return skip(format_args!(
            "{} examples of what programs do to files: strace can't watch them here",
            examples.len()
        ));
    }
    let scratch = Scratch::new();
    let templates: Vec<PathBuf> = set_ups
        .iter()
        .enumerate()
        .map(|(at, _)| scratch.0.join(format!("set-up-{at}")))
        .collect();
    let (skipped, failed) = (Mutex::new(BTreeSet::new()), Mutex::new(Vec::new()));
    let only = std::env::var("ORACLE").unwrap_or_default();
    let examples: Vec<Example<'_>> = examples
        .into_iter()
        .filter(|it| it.text.contains(&only))
        .collect();
    for (at, template) in templates
        .iter()
        .enumerate()
        .filter(|(at, _)| examples.iter().any(|it| it.set_up == *at))
    {
        make(template, set_ups[at]);
    }
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                while let Some(some) = examples
                    .chunks(TOGETHER)
                    .nth(next.fetch_add(1, Ordering::Relaxed))
                {
                    for (example, told) in some.iter().zip(run(some, &scratch.0, &templates)) {
                        match told {
                            Ok(wrong) if wrong.is_empty() => {}
                            Ok(wrong) => {
                                failed
                                    .lock()
                                    .unwrap()
                                    .push((example.line, example.text, wrong))
                            }
                            Err(missing) => drop(skipped.lock().unwrap().insert(missing)),
                        }
                    }
                }
            });
        }
    });
    let skipped = skipped.into_inner().unwrap();
    if !skipped.is_empty() {
        tried_elsewhere(format_args!(
            "what needs {}",
            skipped.into_iter().collect::<Vec<_>>().join(", ")
        ));
    }
    let mut failed = failed.into_inner().unwrap();
    failed.sort();
    let told = failed
        .iter()
        .fold(String::new(), |mut told, (line, text, wrong)| {
            let _ = writeln!(
                told,
                "acts.txt:{line}: {text}\n    {}",
                wrong.join("\n    ")
            );
            told
        });
    assert!(
        failed.is_empty(),
        "{} of {}:\n{told}",
        failed.len(),
        examples.len()
    );
}
