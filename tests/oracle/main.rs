//! Command rules held against real shells: whatever text makes a shell do a rule's act must match
//! the rule or be in doubt.
//!
//! | variable | meaning |
//! |---|---|
//! | `HOOKWIRE_ORACLE` | how many texts; without it 100, 500 for `panics`, and 500 that are covered for `covers`. `.ci/run` asks for more |
//! | `HOOKWIRE_ORACLE_SEED` | which texts; 1 without it |
//! | `HOOKWIRE_ORACLE_SHELLS` | for which shells: `bash,dash,zsh` without it, and bash gets twice as many |
//! | `HOOKWIRE_ORACLE_RECORD` | a file for what the shells did, a JSON object a line; hookwire isn't asked |
//! | `HOOKWIRE_ORACLE_READER` | ask the reader in this directory, compiled by itself, and not hookwire |
//! | `HOOKWIRE_ORACLE_ALLOWED` | set: run only what hookwire lets pass. It finds the same misses in less time, but how many of the other texts run isn't known |
//! | `HOOKWIRE_ORACLE_OUTCOMES` | a file that keeps what the shells did with each text, so that a text that ran before isn't run again |
//! | `HOOKWIRE_ORACLE_PLANTED` | set: put bugs into the reader and see whether the texts find them |
//!
//! Planted bugs take some minutes: `HOOKWIRE_ORACLE_PLANTED=1 HOOKWIRE_ORACLE=5000 cargo test
//! --test oracle planted`.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod acts;
mod corpora;
mod covers;
mod generate;
mod grammar;
mod judge;
mod outcomes;
mod planted;
#[path = "../support/random.rs"]
mod random;
mod reader;
mod shells;
#[path = "../support/skipped.rs"]
mod skipped;
mod state;

use acts::RULES;
use generate::{Kind, Sample, Seeds};
use judge::{Answer, Judge};
use outcomes::Outcomes;
use serde_json::{Value, json};
use shells::{Watch, Worker};
use std::io::Write;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// A name, and what gives the lines that say what is over the limits.
type Test = (&'static str, fn() -> Vec<String>);

/// How many misses are made small and shown, and how many doubts are shown; the others are only
/// counted.
const SHOWN: usize = 100;

fn main() -> ExitCode {
    if std::env::var_os(shells::INSIDE).is_some() {
        shells::work().unwrap();
        return ExitCode::SUCCESS;
    }
    let program = std::env::current_exe().unwrap();
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    if !name.starts_with("oracle") {
        shells::stand_in(&name);
        return ExitCode::SUCCESS;
    }
    if let Some(file) = std::env::var_os("HOOKWIRE_ORACLE_RECORD") {
        record(std::fs::File::create(file).unwrap());
        return ExitCode::SUCCESS;
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let tests: &[Test] = if std::env::var_os("HOOKWIRE_ORACLE_PLANTED").is_some() {
        &[("planted", planted)]
    } else {
        &[
            ("places", misplaced),
            ("corpora", corpora::check),
            ("panics", panics),
            ("covers", covers::check),
            ("shells", check),
        ]
    };
    if arguments.iter().any(|argument| argument == "--list") {
        // None is ignored.
        if !arguments.iter().any(|argument| argument == "--ignored") {
            tests.iter().for_each(|(name, _)| println!("{name}: test"));
        }
        return ExitCode::SUCCESS;
    }
    let filters: Vec<&String> = arguments
        .iter()
        .filter(|argument| !argument.starts_with('-'))
        .collect();
    let mut good = true;
    for (name, test) in tests {
        if filters.is_empty() || filters.iter().any(|filter| name.contains(filter.as_str())) {
            let over = test();
            over.iter().for_each(|line| println!("{line}"));
            good &= over.is_empty();
        }
    }
    judge::PROGRAM.lock().unwrap().take();
    if good {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn setting<T: std::str::FromStr>(name: &str, default: T) -> T {
    std::env::var(format!("HOOKWIRE_ORACLE{name}"))
        .ok()
        .and_then(|value| value.parse().ok())
        .unwrap_or(default)
}

/// The corpora's texts, for the generator to change.
fn seeds() -> Vec<generate::Seed> {
    let mut seeds = Vec::new();
    for name in ["bash_conditions", "shell_evasions", "ordinary_commands"] {
        for row in &corpora::rows(name) {
            let text = row
                .get("cmd")
                .or(row.get("command"))
                .and_then(Value::as_str)
                .unwrap();
            if text.len() > 1500 {
                continue;
            }
            let rule = row["rule"].as_str().unwrap_or_default();
            // A push that isn't forced is no act of a rule here, so it becomes one.
            let text = if rule.starts_with("Bash(git push") && !text.contains("--force") {
                text.replace("git push", "git push --force")
            } else {
                text.to_owned()
            };
            let rule = RULES.iter().position(|it| rule.starts_with(&it.text[..8]));
            let shell = row["shell"].as_str().unwrap_or("bash").to_owned();
            seeds.push(generate::Seed {
                shell,
                rule,
                text,
                files: corpora::files(row),
            });
        }
    }
    seeds
}

/// The shells that are asked for and there, each with its share of so many texts.
fn shares(count: u64) -> Vec<(&'static str, u64)> {
    let wanted = setting("_SHELLS", "bash,dash,zsh".to_owned());
    let mut shells = Vec::new();
    for shell in ["bash", "dash", "zsh", "ksh"]
        .into_iter()
        .filter(|shell| wanted.split(',').any(|name| name == *shell))
    {
        if std::process::Command::new(shell)
            .args(["-c", ":"])
            .status()
            .is_ok()
        {
            shells.push((shell, if shell == "bash" { 2 } else { 1 }));
        } else {
            skipped::skip(format_args!("{shell} is missing"));
        }
    }
    let parts = shells.iter().map(|(_, parts)| parts).sum::<u64>();
    shells
        .iter()
        .map(|(shell, share)| (*shell, count * share / parts.max(1)))
        .collect()
}

/// How many workers take so many texts: so many a processor at most, and none that has less than
/// `share` of them to do. To make one, with its mounts, takes as long as some ten texts.
fn n_workers(count: u64, share: u64, a_processor: usize) -> u64 {
    let most = a_processor * std::thread::available_parallelism().map_or(2, usize::from);
    count.div_ceil(share).clamp(1, most as u64)
}

/// Makes `count` samples, and hands each to `each` with a worker to run it.
fn run(
    shell: &'static str,
    count: u64,
    seeds: &Seeds,
    each: impl Fn(&mut Worker, &mut Judge, Sample) + Sync,
) -> Result<(), String> {
    let seed = setting("_SEED", 1);
    let next = AtomicU64::new(0);
    let failure = Mutex::new(None);
    std::thread::scope(|scope| {
        // A text mostly waits: for its shell to start and to end.
        for _ in 0..n_workers(count, 16, 4) {
            scope.spawn(|| {
                let mut judge = Judge::default();
                let mut worker = match Worker::start(Watch::Acts) {
                    Ok(worker) => worker,
                    Err(error) => return *failure.lock().unwrap() = Some(error),
                };
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= count {
                        return;
                    }
                    each(
                        &mut worker,
                        &mut judge,
                        generate::sample(shell, seed, number, seeds),
                    );
                }
            });
        }
    });
    failure.into_inner().unwrap().map_or(Ok(()), Err)
}

/// Whether a text, in the place of the sample's own, does the act.
fn happens(worker: &mut Worker, sample: &Sample, text: &str) -> bool {
    match worker.run(sample.shell, text, &sample.files) {
        Ok(done) => acts::happened(&RULES[sample.rule], &done.ran),
        Err(error) => {
            println!("a worker ended ({error}) at {text:?}");
            *worker = Worker::start(Watch::Acts).unwrap();
            false
        }
    }
}

/// Writes what the shells did.
fn record(file: std::fs::File) {
    let out = Mutex::new(std::io::BufWriter::new(file));
    let seeds = seeds();
    for (shell, count) in shares(setting("", 100)) {
        let each = |worker: &mut Worker, _: &mut Judge, sample: Sample| {
            let runs = happens(worker, &sample, &sample.text);
            let mut row = json!({"shell": sample.shell, "text": sample.text, "runs": runs, "rule": RULES[sample.rule].text,
                "kind": format!("{:?}", sample.kind).to_lowercase(), "harmless": sample.kind == Kind::Harmless});
            if !sample.files.is_empty() {
                row["files"] = sample
                    .files
                    .into_iter()
                    .map(|(name, text)| (name, json!(text)))
                    .collect();
            }
            writeln!(out.lock().unwrap(), "{row}").unwrap();
        };
        run(shell, count, &seeds, each).unwrap();
    }
}

/// Asks about the generators' texts and about others that are made of them, and runs none: a judge
/// that panics ends this.
fn panics() -> Vec<String> {
    /// Parts of words: open ones, places for others, and characters of several bytes.
    const PARTS: &[&str] = &[
        "{}", "{}", "{1}", "$x", "$x", "${x}", "$(a)", "*", "é", "…", "\u{3000}", "-", "+", "=",
        "~", "a",
    ];
    const RUNNERS: &[&str] = &[
        "parallel",
        "parallel",
        "xargs -I{}",
        "xargs",
        "find {} -exec",
        "fd -x",
        "env -S",
        "bash -c",
        "eval",
        "sudo",
        "git",
        "ssh h",
        "make",
        "printf",
        "awk",
        "sed -e",
        "docker run",
        "su -c",
        "trap",
    ];
    let (seeds, seed) = (seeds(), setting("_SEED", 1));
    for (shell, count) in shares(setting("", 500)) {
        let next = AtomicU64::new(0);
        let ask_all = || {
            let (mut judge, place) = (Judge::default(), tempfile::tempdir().unwrap());
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= count {
                    return;
                }
                let sample = generate::sample(shell, seed, number, &seeds);
                let mut random = generate::Random::new(seed ^ number.rotate_left(40));
                let word = |random: &mut generate::Random| {
                    (0..1 + random.below(3))
                        .map(|_| random.pick(PARTS))
                        .collect::<String>()
                };
                let mut text = sample.text.clone();
                if random.chance(60) {
                    let words: Vec<String> = (0..1 + random.below(4))
                        .map(|_| word(&mut random))
                        .collect();
                    let given = random.pick(&["", "", " ::: …", " ::: a $x", " < a"]);
                    text = format!(
                        "{} {}{given}\n{text}",
                        random.pick(RUNNERS),
                        words.join(" ")
                    );
                } else {
                    let mut places = text.char_indices().map(|(at, _)| at);
                    let at = places
                        .nth(random.below(text.len() + 1))
                        .unwrap_or(text.len());
                    text.insert_str(at, &word(&mut random));
                }
                judge.ask(RULES[sample.rule].text, shell, &text, place.path());
                judge.is_covered(covers::rules(number), shell, &text, place.path());
            }
        };
        std::thread::scope(|scope| {
            (0..std::thread::available_parallelism().map_or(2, usize::from))
                .for_each(|_| drop(scope.spawn(ask_all)));
        });
    }
    Vec::new()
}

/// Where the reader's source is.
fn source() -> std::path::PathBuf {
    setting(
        "_READER",
        concat!(env!("CARGO_MANIFEST_DIR"), "/crates/acts/src").to_owned(),
    )
    .into()
}

/// Gives the bugs that can't be put into the reader as it is now.
fn misplaced() -> Vec<String> {
    planted::misplaced(&source())
}

/// Puts bugs into the reader; gives those that the shells don't find.
fn planted() -> Vec<String> {
    let recorded = Mutex::new(Vec::new());
    let seeds = seeds();
    for (shell, count) in shares(setting("", 100)) {
        let each = |worker: &mut Worker, _: &mut Judge, sample: Sample| {
            let ran = happens(worker, &sample, &sample.text);
            recorded.lock().unwrap().push((sample, ran));
        };
        run(shell, count, &seeds, each).unwrap();
    }
    planted::check(&source(), &recorded.into_inner().unwrap())
}

/// What one shell's texts came to.
#[derive(Default)]
struct Counts {
    texts: usize,
    ran: usize,
    matched: usize,
    doubt: usize,
    missed: usize,
    harmless: usize,
    decided: usize,
    false_matches: usize,
    notes: Vec<String>,
}

/// Holds the rules against the shells and prints a table; gives what is over the limits.
fn check() -> Vec<String> {
    if let Err(error) = Worker::start(Watch::Acts) {
        skipped::skip(format_args!(
            "texts can't be run apart from this machine: {error}"
        ));
        return Vec::new();
    }
    let seeds = seeds();
    let outcomes = std::env::var_os("HOOKWIRE_ORACLE_OUTCOMES")
        .map(|file| Outcomes::open(file.as_ref()).unwrap());
    let mut over = Vec::new();
    println!(
        "{:<6}{:>9}{:>9}{:>9}{:>9}{:>15}{:>10}{:>10}{:>15}",
        "shell",
        "texts",
        "ran",
        "matched",
        "doubt",
        "SILENT MISSES",
        "harmless",
        "decided",
        "false matches"
    );
    for (shell, count) in shares(setting("", 100)) {
        let counts = Mutex::new(Counts::default());
        let each = |worker: &mut Worker, judge: &mut Judge, sample: Sample| {
            note(&counts, outcomes.as_ref(), worker, judge, &sample);
        };
        run(shell, count, &seeds, each).unwrap();
        let mut it = counts.into_inner().unwrap();
        let decided = 100.0 * it.decided as f64 / it.harmless.max(1) as f64;
        println!(
            "{shell:<6}{:>9}{:>9}{:>9}{:>9}{:>15}{:>10}{decided:>8.1} %{:>15}",
            it.texts, it.ran, it.matched, it.doubt, it.missed, it.harmless, it.false_matches
        );
        if it.missed + it.false_matches > 0 || decided < 95.0 {
            it.notes.sort_by_key(String::len);
            println!("  {}", it.notes.join("\n  "));
            over.push(format!(
                "{shell}: {} missed, {} false matches, {decided:.1} % decided",
                it.missed, it.false_matches
            ));
        }
    }
    over
}

fn note(
    counts: &Mutex<Counts>,
    outcomes: Option<&Outcomes>,
    worker: &mut Worker,
    judge: &mut Judge,
    sample: &Sample,
) {
    let place = tempfile::tempdir().unwrap();
    for (name, text) in [("a".to_owned(), "x\n".to_owned())]
        .iter()
        .chain(&sample.files)
    {
        let path = place.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let rule = RULES[sample.rule].text;
    let mut ask = |text: &str| judge.ask(rule, sample.shell, text, place.path());
    let answer = ask(&sample.text);
    let is_run = answer == Answer::No || std::env::var_os("HOOKWIRE_ORACLE_ALLOWED").is_none();
    let mut runs = || happens(worker, sample, &sample.text);
    let happened = is_run
        && match outcomes {
            Some(outcomes) => outcomes.known_or(sample, &mut runs),
            None => runs(),
        };
    let missed = happened && answer == Answer::No;
    let shown = {
        let mut counts = counts.lock().unwrap();
        counts.texts += 1;
        if happened {
            counts.ran += 1;
            *match answer {
                Answer::Match => &mut counts.matched,
                Answer::Doubt => &mut counts.doubt,
                Answer::No => &mut counts.missed,
            } += 1;
        } else if sample.kind == Kind::Harmless {
            counts.harmless += 1;
            counts.decided += usize::from(answer == Answer::No);
            counts.false_matches += usize::from(answer == Answer::Match);
            if answer != Answer::No && counts.notes.len() < SHOWN {
                counts
                    .notes
                    .push(format!("{answer:?} for {rule}: {:?}", sample.text));
            }
        }
        counts.missed <= SHOWN
    };
    if missed && shown {
        let small = smallest(&sample.text, |text| {
            ask(text) == Answer::No && happens(worker, sample, text)
        });
        // At once, since a run of a million takes hours and may be ended.
        println!(
            "  missed by {rule}: {small:?}, number {} from {:?}",
            sample.number, sample.text
        );
    }
}

/// The text without what it doesn't need to `fail`, first by halves, at last by single tokens.
fn smallest(text: &str, mut fails: impl FnMut(&str) -> bool) -> String {
    let mut tokens = generate::tokens(text);
    let mut size = tokens.len() / 2;
    while size > 0 {
        let mut at = 0;
        while at + size <= tokens.len() {
            let mut fewer = tokens.clone();
            fewer.drain(at..at + size);
            if fails(&fewer.concat()) {
                tokens = fewer;
            } else {
                at += size;
            }
        }
        size /= 2;
    }
    tokens.concat()
}
