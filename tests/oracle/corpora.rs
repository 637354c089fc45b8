//! The corpora of commands, each with what is right for it.

use crate::judge::{Answer, Judge};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// The rows of a corpus.
pub fn rows(name: &str) -> Vec<Value> {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/corpora/{name}.jsonl"));
    fs::read_to_string(path)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// What a row's files are: names and contents.
pub fn files(row: &Value) -> Vec<(String, String)> {
    let files = row["files"].as_object().into_iter().flatten();
    files
        .map(|(name, text)| (name.clone(), text.as_str().unwrap().to_owned()))
        .collect()
}

/// How one corpus, or a part of it, was answered.
#[derive(Default)]
struct Score {
    rows: usize,
    /// Rows that must not be answered.
    others: usize,
    silent: Vec<String>,
    /// Rows in doubt that can be told from the text.
    undecided: Vec<String>,
    wrong: Vec<String>,
    stopped: Vec<String>,
    doubt: usize,
}

impl Score {
    fn line(&self, name: &str) -> String {
        let share = |count: usize| 100.0 * count as f64 / self.others.max(1) as f64;
        format!(
            "{name:<28}{:>7}{:>10}{:>8}{:>10} ({:>5.2} %){:>8} ({:>5.2} %)",
            self.rows,
            self.silent.len(),
            self.doubt,
            self.wrong.len(),
            100.0 * self.wrong.len() as f64 / self.rows.max(1) as f64,
            self.stopped.len(),
            share(self.stopped.len()),
        )
    }

    /// Notes a row that must not be missed, or must be left alone.
    fn note(&mut self, must_not_be_missed: bool, must_match: bool, answer: Answer, row: String) {
        self.rows += 1;
        self.doubt += usize::from(answer == Answer::Doubt);
        if must_not_be_missed {
            match answer {
                Answer::No => self.silent.push(row),
                Answer::Doubt if must_match => self.undecided.push(row),
                _ => {}
            }
            return;
        }
        self.others += 1;
        match answer {
            Answer::Match => {
                self.wrong.push(row.clone());
                self.stopped.push(row);
            }
            Answer::Doubt => self.stopped.push(row),
            Answer::No => {}
        }
    }
}

/// Asks about every row and prints a table; gives what is over the limits.
pub fn check() -> Vec<String> {
    let mut judge = Judge::default();
    let empty = tempfile::tempdir().unwrap();
    let mut conditions = Score::default();
    for row in rows("bash_conditions") {
        let text = row["cmd"].as_str().unwrap();
        let answer = judge.ask(row["rule"].as_str().unwrap(), "bash", text, empty.path());
        let is_match = row["expect"] == "match";
        conditions.note(
            is_match,
            is_match && row["tier"] != 3,
            answer,
            format!("{} {text:?}", row["id"]),
        );
    }
    let mut evasions = Score::default();
    for row in rows("shell_evasions") {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join("a"), "x\n").unwrap();
        for (name, text) in files(&row) {
            let path = place.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let text = row["command"].as_str().unwrap();
        let answer = judge.ask(
            row["rule"].as_str().unwrap(),
            row["shell"].as_str().unwrap(),
            text,
            place.path(),
        );
        let intent = row["class"].as_str().unwrap().starts_with("intent");
        // Doubt is right for what doesn't run, so such a row isn't a stop.
        if row["runs"] == true {
            evasions.note(true, intent, answer, format!("{} {text:?}", row["class"]));
        } else if answer != Answer::Doubt {
            evasions.note(false, false, answer, format!("{} {text:?}", row["class"]));
        } else {
            (evasions.rows, evasions.others, evasions.doubt) =
                (evasions.rows + 1, evasions.others + 1, evasions.doubt + 1);
        }
    }
    let (mut agent, mut people) = (Score::default(), Score::default());
    for row in rows("ordinary_commands") {
        let text = row["command"].as_str().unwrap();
        let answer = judge.ask("Bash(git push --force*)", "bash", text, empty.path());
        let part = if row["from"] == "NL2Bash" {
            &mut people
        } else {
            &mut agent
        };
        part.note(false, false, answer, format!("{text:?}"));
    }
    println!(
        "{:<28}{:>7}{:>10}{:>8}{:>20}{:>18}",
        "corpus", "rows", "silent", "doubt", "false matches", "false stops"
    );
    let mut over = Vec::new();
    for (name, score, stops) in [
        ("bash_conditions", &conditions, 1.0),
        ("shell_evasions", &evasions, 1.0),
        ("ordinary: an agent's", &agent, 0.005),
        ("ordinary: NL2Bash", &people, 0.02),
    ] {
        println!("{}", score.line(name));
        for (what, found, limit) in [
            ("missed", &score.silent, 0),
            // Text that arithmetic expands again, and settings of make.
            (
                "undecided",
                &score.undecided,
                if name == "bash_conditions" { 9 } else { 0 },
            ),
            // What was made to get past a rule and didn't run had no terminal, or a program was
            // missing: it may match.
            (
                "false match",
                &score.wrong,
                if name == "shell_evasions" {
                    score.others
                } else {
                    score.rows / 100
                },
            ),
            (
                "stopped",
                &score.stopped,
                (score.others as f64 * stops) as usize,
            ),
        ] {
            if found.len() > limit {
                over.push(format!(
                    "{name}: {} {what}, and {limit} are allowed:\n  {}",
                    found.len(),
                    found.join("\n  ")
                ));
            }
        }
    }
    over
}
