//! Words that a program only keeps, searches, sends or prints, as the table `kept.txt` says.

use super::super::names::base_name;
use super::super::word::Word;
use super::clause::OfColumn;
use super::sheet::Sheet;
use std::sync::LazyLock;

words_of_table! {
    /// What becomes of a word.
    enum Keeps {
        None = "none",
        Kept = "kept",
        Sql = "sql",
        Redis = "redis",
    }
}

impl OfColumn for Keeps {
    const NOTHING: Keeps = Keeps::None;

    fn of_column(word: &str) -> Option<Keeps> {
        let keeps = Keeps::named(word);
        debug_assert!(keeps.is_some(), "{word}");
        keeps
    }
}

static SHEET: LazyLock<Sheet<Keeps>> = LazyLock::new(|| Sheet::new(include_str!("kept.txt")));

/// Of each word of a command, whether it is only kept; none if nothing is.
pub(in super::super) fn kept(words: &[Word]) -> Vec<bool> {
    let none = Vec::new();
    let Some((program, args)) = words.split_first() else {
        return none;
    };
    let name = base_name(program.as_constant().unwrap_or_default());
    let Some(found) = SHEET.find(name, args) else {
        return none;
    };
    let (mut texts, mut runs_code) = (Vec::new(), false);
    found.each(|keeps, word| {
        let is_kept = match keeps {
            Keeps::None => false,
            Keeps::Kept => !runs_code,
            Keeps::Sql => is_plain_sql(&word.text),
            Keeps::Redis => {
                runs_code = !word.is_constant() || runs_on_redis(&word.text);
                !runs_code
            }
        };
        if is_kept {
            texts.push(word.text.to_string());
        }
    });
    let mut kept = vec![false; words.len()];
    for text in &texts {
        let of_text = |word: &Word| {
            word.text == *text || word.text.starts_with('-') && word.text.ends_with(&**text)
        };
        let places: Vec<usize> = (1..words.len()).filter(|at| of_text(&words[*at])).collect();
        // The same text in another place may be more than kept.
        if places.len() == texts.iter().filter(|it| *it == text).count() {
            places.into_iter().for_each(|at| kept[at] = true);
        }
    }
    kept
}

/// Whether a statement has nothing by which a client or a server runs a program.
fn is_plain_sql(text: &str) -> bool {
    const RUNNING: [&str; 14] = [
        "\\",
        "program",
        "language",
        "system",
        "shell",
        "!",
        "load",
        "edit(",
        "xp_",
        "sys_exec",
        "create function",
        "sp_",
        "outfile",
        "dumpfile",
    ];
    let text = text.to_ascii_lowercase();
    !text.trim_start().starts_with(['.', ':']) && !RUNNING.iter().any(|word| text.contains(word))
}

/// Whether a command of Redis runs code, or changes where it writes.
fn runs_on_redis(command: &str) -> bool {
    let command = command.to_ascii_lowercase();
    let running = [
        "eval",
        "evalsha",
        "eval_ro",
        "fcall",
        "fcall_ro",
        "function",
        "script",
        "module",
        "config",
        "debug",
        "slaveof",
        "replicaof",
    ];
    running.contains(&&*command)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Shell, read};

    #[test]
    fn words_that_are_only_kept_are_known() {
        for (text, expected) in [
            ("pytest -k 'rm -rf' tests", "rm -rf"),
            ("pytest tests 'rm -rf'", ""),
            ("psql -c \"select 'rm -rf x'\"", "select 'rm -rf x'"),
            ("psql -c \"copy t from program 'rm -rf x'\"", ""),
            ("psql -c '\\! rm -rf x'", ""),
            ("sqlite3 db \"select 'rm -rf'\"", "select 'rm -rf'"),
            ("sqlite3 db '.shell rm -rf x'", ""),
            ("sqlite3 db \"select edit('a','rm -rf x')\"", ""),
            ("redis-cli set k 'rm -rf x'", "set k rm -rf x"),
            ("redis-cli eval 'rm -rf x' 0", ""),
            ("go test -run 'rm -rf' ./...", "rm -rf"),
            ("cargo test 'rm -rf'", "rm -rf"),
            (
                "jest --testNamePattern='rm -rf'",
                "--testNamePattern=rm -rf",
            ),
            ("mail -s 'rm -rf x' a@b.example", "rm -rf x a@b.example"),
            ("claude -p 'never run rm -rf'", "never run rm -rf"),
            ("tmux send-keys 'rm -rf x' Enter", ""),
            ("tmux rename-window 'rm -rf'", "rm -rf"),
            ("unheard-of 'rm -rf x'", ""),
        ] {
            let script = read(text, Shell::Bash);
            let words = &script.commands()[0].words;
            let kept = kept(words);
            let shown: Vec<&str> = words
                .iter()
                .zip(&kept)
                .filter(|(_, kept)| **kept)
                .map(|(word, _)| word.text.as_str())
                .collect();
            assert_eq!(shown.join(" "), expected, "{text}");
        }
    }
}
