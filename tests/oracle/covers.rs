//! What an `allow` covers, held against real shells: a text that it covers runs nothing but
//! programs that its rules name, and writes no file but those that they name.

use crate::generate::{Maker, Random, quoted};
use crate::judge::Judge;
use crate::shells::{Done, Watch, Worker, put};
use crate::{SHOWN, n_workers, setting, shares, smallest};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{LazyLock, Mutex};

/// A list of rules, and what they name in other words.
struct Grant {
    rules: &'static [&'static str],
    /// How the commands begin that they name; `*` at the end of a word is any end.
    commands: &'static [&'static [&'static str]],
    /// The files, and the directories with a slash at their ends.
    files: &'static [&'static str],
    /// Commands for texts: each is covered.
    spellings: &'static [&'static str],
}

static GRANTS: &[Grant] = &[
    Grant {
        rules: &["Bash(git status*)", "Bash(ls *)"],
        commands: &[&["git", "status*"], &["ls"]],
        files: &[],
        spellings: &[
            "ls a",
            "ls -l a x",
            "git status",
            "git status -s",
            "ls 'a b'",
            "ls \"$HOME\"",
            "ls *",
        ],
    },
    Grant {
        rules: &[
            "Bash(ls *)",
            "Bash(cat *)",
            "Write(out.txt)",
            "Write(build/**)",
        ],
        commands: &[&["ls"], &["cat"]],
        files: &["out.txt", "build/"],
        spellings: &[
            "ls a",
            "cat a",
            "cat <<< x",
            "ls a > out.txt",
            "cat a >> build/a",
            "ls x 2> build/b",
        ],
    },
    Grant {
        rules: &["Bash(git commit *)", "Bash(git status*)", "Write(out.txt)"],
        commands: &[&["git", "commit"], &["git", "status*"]],
        files: &["out.txt"],
        spellings: &[
            "git commit -m x",
            "git commit -m 'a b' -q",
            "git status > out.txt",
            "git commit -m \"$(echo a)\"",
        ],
    },
    Grant {
        rules: &[
            "Bash(ls *)",
            "Bash(env *)",
            "Bash(timeout *)",
            "Bash(xargs *)",
            "Bash(nohup *)",
            "Bash(sudo *)",
        ],
        commands: &[
            &["ls"],
            &["env"],
            &["timeout"],
            &["xargs"],
            &["nohup"],
            &["sudo"],
        ],
        files: &[],
        spellings: &[
            "ls a",
            "env ls a",
            "timeout 5 ls a",
            "echo a | xargs ls",
            "nohup ls a",
            "sudo ls a",
            "env A=1 ls a",
        ],
    },
    Grant {
        rules: &["Bash(find *)", "Bash(grep *)", "Write(out.txt)"],
        commands: &[&["find"], &["grep"]],
        files: &["out.txt"],
        spellings: &[
            "find x -name a",
            "grep x a",
            "grep -c x a > out.txt",
            "find . -type f",
            "grep x a | head -1",
        ],
    },
];

/// What is there where a text runs. What stands in `bin` is no program that a rule names.
const FILES: &[(&str, &str)] = &[
    ("f", "touch pwned\n"),
    ("x/a", ""),
    ("build/a", "x\n"),
    ("build/up", "-> .."),
    ("up.txt", "-> f"),
    ("bin/ls", "#!/bin/sh\ntouch pwned\n"),
    ("bin/git", "#!/bin/sh\ntouch pwned\n"),
    ("bin/cat", "#!/bin/sh\ntouch pwned\n"),
    ("bin/echo", "#!/bin/sh\ntouch pwned\n"),
    ("bin/true", "#!/bin/sh\ntouch pwned\n"),
];

/// The rules of one of the lists.
pub fn rules(number: u64) -> &'static [&'static str] {
    GRANTS[number as usize % GRANTS.len()].rules
}

/// The lines of a section of `covers.txt`.
fn section(name: &str) -> Vec<String> {
    let all = include_str!("covers.txt")
        .split("\n# ")
        .skip(1)
        .find_map(|part| part.strip_prefix(name)?.strip_prefix('\n'));
    all.expect(name)
        .lines()
        .filter(|line| !line.is_empty())
        .map(|line| line.replace('␤', "\n"))
        .collect()
}

/// What texts are made of.
struct Parts {
    /// Commands that no list here names.
    others: Vec<String>,
    /// Where output may go: what a list names, and what none does.
    files: Vec<String>,
    redirections: Vec<String>,
    /// Settings before commands.
    settings: Vec<String>,
    templates: Vec<String>,
    /// Those that only zsh reads so.
    of_zsh: Vec<String>,
}

static PARTS: LazyLock<Parts> = LazyLock::new(|| Parts {
    others: section("others"),
    files: section("files"),
    redirections: section("redirections"),
    settings: section("settings"),
    templates: section("templates"),
    of_zsh: section("of zsh"),
});

struct Text {
    grant: usize,
    text: String,
    number: u64,
}

/// Text `number` of those for `shell`.
fn text(shell: &'static str, seed: u64, number: u64) -> Text {
    let mut random = Random::new(seed ^ 0x00C0_FFEE ^ number.rotate_left(20));
    let grant = random.below(GRANTS.len());
    // What a list names where another command could stand, or something that none does.
    let others = [0, 0, 0, 40][random.below(4)];
    let depth = 1 + random.below(3);
    let mut made = Covered {
        random,
        shell,
        grant: &GRANTS[grant],
        others,
    };
    let mut text = made.list(depth);
    if made.random.chance(8) {
        text = Maker {
            random: made.random,
            shell,
            rule: 0,
            tricks: 0,
        }
        .mutated(&text);
    }
    Text {
        grant,
        text: text.replace('\0', ""),
        number,
    }
}

struct Covered {
    random: Random,
    shell: &'static str,
    grant: &'static Grant,
    /// How often, in per cent, a command is one that no list names.
    others: usize,
}

impl Covered {
    fn list(&mut self, depth: usize) -> String {
        if depth == 0 {
            return match self.random.chance(self.others) {
                true => self.any(&PARTS.others),
                false => self.random.pick(self.grant.spellings).to_owned(),
            };
        }
        let is_of_zsh = self.shell == "zsh" && self.random.chance(25);
        let templates = if is_of_zsh {
            &PARTS.of_zsh
        } else {
            &PARTS.templates
        };
        let mut template = &templates[self.random.below(templates.len())];
        // Most texts are to be covered.
        if template.contains("@x") && self.random.chance(50) {
            template = &templates[self.random.below(templates.len())];
        }
        self.fill(template, depth - 1)
    }

    fn any(&mut self, of: &[String]) -> String {
        let template = &of[self.random.below(of.len())];
        self.fill(template, 0)
    }

    fn fill(&mut self, template: &str, depth: usize) -> String {
        let mut pieces = template.split('@');
        let mut text = pieces.next().unwrap_or_default().to_owned();
        while let Some(piece) = pieces.next() {
            let Some(hole) = piece.chars().next() else {
                // `@@`: what follows is no hole.
                text.push('@');
                text.push_str(pieces.next().unwrap_or_default());
                continue;
            };
            let made = match hole {
                'L' => {
                    let depth = if self.random.chance(40) { depth } else { 0 };
                    self.list(depth)
                }
                'c' => self.random.pick(self.grant.spellings).to_owned(),
                'x' => self.any(&PARTS.others),
                'w' => self.any(&PARTS.redirections),
                'p' => self.any(&PARTS.settings),
                'q' => quoted(&self.list(0)),
                // Where nothing else is asked for, most files are the list's.
                'f' if !self.random.chance(20 + self.others / 2) => match self.grant.files {
                    [] => "/dev/null".to_owned(),
                    _ => self
                        .random
                        .pick(&["out.txt", "out.txt", "./out.txt", "'out.txt'"])
                        .to_owned(),
                },
                'f' => self.any(&PARTS.files),
                other => format!("@{other}"),
            };
            text.push_str(&made);
            text.push_str(&piece[hole.len_utf8()..]);
        }
        text
    }
}

/// Programs that need no rule: they only print, or pass on what flows in, or are what runs a text.
const NEED_NONE: &[&str] = &["bash", "sh", "dash", "zsh"];
/// Settings that change nothing of what runs.
const PLAIN: &[&str] = &["CI", "LANG", "LC_ALL", "NO_COLOR", "TZ"];
const FILTERS: &[&str] = &["cat", "grep", "head", "sort", "wc", "sed"];

/// What a text did that its list doesn't name.
fn beyond(grant: &Grant, done: &Done) -> Option<String> {
    let is_word = |(own, word): (&&str, &String)| match own.strip_suffix('*') {
        Some(begin) => word.starts_with(begin),
        None => own == word,
    };
    let is_named = |argv: &[String]| {
        let begins = |command: &&[&str]| {
            command.len() <= argv.len() && command.iter().zip(argv).all(is_word)
        };
        let needs_none = |names: &[&str]| {
            argv.first()
                .is_some_and(|name| names.contains(&name.as_str()))
        };
        let reads_no_file = || {
            argv.iter()
                .skip(1)
                .all(|word| !["a", "f", "x", "n"].contains(&word.as_str()))
        };
        grant.commands.iter().any(begins)
            || needs_none(NEED_NONE)
            || needs_none(FILTERS) && reads_no_file()
    };
    // `env LC_ALL=C command` does what `LC_ALL=C command` does.
    let is_plain = |word: &&String| {
        let name = word.split_once('=').map(|(name, _)| name);
        name.is_some_and(|name| PLAIN.contains(&name))
    };
    let is_named_behind = |argv: &[String]| match argv.split_first() {
        Some((env, rest)) if env == "env" => {
            let command = &rest[rest.iter().take_while(is_plain).count()..];
            command.len() < rest.len() && is_named(command)
        }
        _ => false,
    };
    if let Some(argv) = done
        .ran
        .iter()
        .find(|argv| !is_named(argv) && !is_named_behind(argv))
    {
        return Some(format!("ran {argv:?}"));
    }
    let may_write = |file: &&String| {
        grant.files.iter().any(|own| match own.strip_suffix('/') {
            Some(directory) => file.starts_with(own) || *file == directory,
            None => file == own,
        })
    };
    done.wrote
        .iter()
        .find(|file| !may_write(file))
        .map(|file| format!("wrote {file:?}"))
}

/// What a shell's texts came to.
#[derive(Default)]
struct Counts {
    made: AtomicU64,
    covered: AtomicU64,
    misses: Mutex<Vec<(Text, String)>>,
}

/// Holds what lists cover against the shells and prints a table; gives what is over the limits.
pub fn check() -> Vec<String> {
    if let Err(error) = Worker::start(Watch::All) {
        crate::skipped::skip(format_args!(
            "texts can't be run apart from this machine: {error}"
        ));
        return Vec::new();
    }
    let files: Vec<(String, String)> = FILES
        .iter()
        .map(|(name, text)| ((*name).into(), (*text).into()))
        .collect();
    let mut over = Vec::new();
    println!("{:<6}{:>9}{:>9}{:>9}", "shell", "made", "covered", "MISSES");
    for (shell, count) in shares(setting("", 500)) {
        let counts = Counts::default();
        let failure = Mutex::new(None);
        std::thread::scope(|scope| {
            for _ in 0..n_workers(count, 64, 2) {
                scope.spawn(|| {
                    if let Err(error) = hold(shell, count, &files, &counts) {
                        *failure.lock().unwrap() = Some(error);
                    }
                });
            }
        });
        over.extend(failure.into_inner().unwrap());
        let mut misses = counts.misses.into_inner().unwrap();
        let [made, covered] = [counts.made, counts.covered].map(AtomicU64::into_inner);
        println!("{shell:<6}{made:>9}{covered:>9}{:>9}", misses.len());
        misses.sort_by_key(|(text, _)| text.text.len());
        if misses.len() > SHOWN {
            over.push(format!(
                "{shell}: {} misses; the shortest {SHOWN} of them:",
                misses.len()
            ));
        }
        for (
            Text {
                grant,
                text,
                number,
            },
            what,
        ) in misses.into_iter().take(SHOWN)
        {
            over.push(format!(
                "{shell}: list {grant} covers {text:?} (number {number}), which {what}"
            ));
        }
    }
    over
}

/// Makes texts, asks what is covered, and runs that, until so many were.
fn hold(
    shell: &'static str,
    count: u64,
    files: &[(String, String)],
    counts: &Counts,
) -> Result<(), String> {
    let seed = setting("_SEED", 1);
    let mut judge = Judge::default();
    let mut worker = Worker::start(Watch::All)?;
    let place = tempfile::tempdir().map_err(|error| error.to_string())?;
    for (name, text) in files {
        put(place.path(), name, text).map_err(|error| error.to_string())?;
    }
    put(place.path(), "a", "x\n").map_err(|error| error.to_string())?;
    while counts.covered.load(Ordering::Relaxed) < count {
        let number = counts.made.fetch_add(1, Ordering::Relaxed);
        let text = text(shell, seed, number);
        let grant = &GRANTS[text.grant];
        let mut is_covered = |text: &str| judge.is_covered(grant.rules, shell, text, place.path());
        if !is_covered(&text.text) {
            continue;
        }
        counts.covered.fetch_add(1, Ordering::Relaxed);
        let mut miss = |text: &str| does_more(&mut worker, grant, shell, text, files);
        let Some(what) = miss(&text.text) else {
            continue;
        };
        // Where most are missed, a few are enough to see why.
        let is_shown = counts.misses.lock().unwrap().len() < SHOWN;
        let small = smallest(&text.text, |text| {
            is_shown && is_covered(text) && miss(text).is_some()
        });
        let what = miss(&small).unwrap_or(what);
        counts.misses.lock().unwrap().push((
            Text {
                text: small,
                ..text
            },
            what,
        ));
    }
    Ok(())
}

fn does_more(
    worker: &mut Worker,
    grant: &Grant,
    shell: &str,
    text: &str,
    files: &[(String, String)],
) -> Option<String> {
    match worker.run(shell, text, files) {
        Ok(done) => beyond(grant, &done),
        Err(error) => {
            println!("a worker ended ({error}) at {text:?}");
            *worker = Worker::start(Watch::All).unwrap();
            None
        }
    }
}
