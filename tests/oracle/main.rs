//! Command rules held against real shells: whatever text makes a shell do a rule's act must match the rule or be
//! in doubt.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod acts;
mod generate;
mod grammar;
mod shells;

use generate::{Kind, Sample, Seeds};
use serde_json::{Value, json};
use shells::Worker;
use std::io::Write;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

fn main() {
    if std::env::var_os(shells::INSIDE).is_some() {
        shells::work().unwrap();
        return;
    }
    let program = std::env::current_exe().unwrap();
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    if !name.starts_with("oracle") {
        shells::stand_in(&name);
        return;
    }
    record();
}

fn setting<T: std::str::FromStr>(name: &str, default: T) -> T {
    std::env::var(format!("HOOKWIRE_ORACLE{name}")).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

/// The rows of a corpus.
pub fn corpus(name: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/corpora").join(name);
    std::fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The corpora's texts, for the generator to change.
fn seeds() -> Vec<(String, usize, String, Vec<(String, String)>)> {
    let mut seeds = Vec::new();
    for name in ["bash_conditions.jsonl", "shell_evasions.jsonl", "ordinary_commands.jsonl"] {
        for row in &corpus(name) {
            let text = row.get("cmd").or(row.get("command")).and_then(Value::as_str).unwrap();
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
            let rule = acts::RULES.iter().position(|it| rule.starts_with(&it.text[..8])).unwrap_or(usize::MAX);
            let files = row["files"].as_object().into_iter().flatten();
            let files = files.map(|(name, text)| (name.clone(), text.as_str().unwrap().to_owned())).collect();
            seeds.push((row["shell"].as_str().unwrap_or("bash").to_owned(), rule, text, files));
        }
    }
    seeds
}

/// Makes `count` samples and runs each in its shell; `each` gets them with whether the act happened.
fn run(shell: &'static str, seed: u64, count: u64, seeds: &Seeds, each: impl Fn(Sample, bool) + Sync) -> Result<(), String> {
    let next = AtomicU64::new(0);
    let failure = Mutex::new(None);
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(|| {
                let mut worker = match Worker::start() {
                    Ok(worker) => worker,
                    Err(error) => return *failure.lock().unwrap() = Some(error),
                };
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= count {
                        return;
                    }
                    let sample = generate::sample(shell, seed, number, seeds);
                    let Ok(ran) = worker.run(shell, &sample.text, &sample.files) else {
                        eprintln!("a worker died at seed {seed} number {number}: {:?}", sample.text);
                        match Worker::start() {
                            Ok(another) => worker = another,
                            Err(error) => return *failure.lock().unwrap() = Some(error),
                        }
                        continue;
                    };
                    let happened = acts::happened(&acts::RULES[sample.rule], &ran);
                    each(sample, happened);
                }
            });
        }
    });
    failure.into_inner().unwrap().map_or(Ok(()), Err)
}

/// Writes what the shells did as JSON lines to standard output.
fn record() {
    let shells = setting("_SHELLS", "bash".to_owned());
    let out = Mutex::new(std::io::BufWriter::new(std::io::stdout()));
    for shell in ["bash", "dash", "zsh", "ksh"].into_iter().filter(|shell| shells.split(',').any(|named| named == *shell)) {
        run(shell, setting("_SEED", 1), setting("", 300), &seeds(), |sample, runs| {
            let mut row = json!({"shell": sample.shell, "text": sample.text, "runs": runs, "rule": acts::RULES[sample.rule].text,
                "kind": format!("{:?}", sample.kind).to_lowercase(), "harmless": sample.kind == Kind::Harmless});
            if !sample.files.is_empty() {
                row["files"] = sample.files.into_iter().map(|(name, text)| (name, json!(text))).collect();
            }
            writeln!(out.lock().unwrap(), "{row}").unwrap();
        })
        .unwrap();
    }
}
