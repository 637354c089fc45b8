//! What a command gives its program, as the table reads it: options with their values, and operands.

use super::super::commands::tail;
use super::super::expand::Word;
use super::files::Kind;
use super::options::{Row, Style, Takes};

/// A command's words behind the program's name, told apart.
#[derive(Debug, Default)]
pub(in super::super) struct Given<'w> {
    /// Their names, their values, and what these are.
    pub(super) options: Vec<(Vec<&'static str>, Option<Word>, Kind)>,
    pub(in super::super) operands: Vec<&'w Word>,
    /// The words of options that the row doesn't have.
    pub(super) unknown: Vec<&'w Word>,
    /// How many operands stand before a `--`.
    pub(super) dashes: Option<usize>,
}

impl<'w> Given<'w> {
    /// Reads `words`, which begin behind the program or sub-command that the row is of.
    pub(in super::super) fn new(row: &Row, words: &'w [Word]) -> Given<'w> {
        Given::read(row, words, false).0
    }

    /// The same of a program's words, with its row and those of its sub-commands that the words name.
    pub(super) fn of_program<'r>(row: &'r Row, words: &'w [Word]) -> (Given<'w>, Vec<&'r Row>) {
        Given::read(row, words, true)
    }

    fn read<'r>(mut row: &'r Row, words: &'w [Word], goes_down: bool) -> (Given<'w>, Vec<&'r Row>) {
        let mut given = Given::default();
        let mut rows = vec![row];
        let (mut at, mut ended) = (0, false);
        while let Some(word) = words.get(at) {
            at += 1;
            let text = word.beginning();
            let has_options = !goes_down || row.style != Style::None;
            if ended || text.len() < 2 || !text.starts_with('-') || !has_options {
                let child = word.as_constant().filter(|_| goes_down && row.has_commands).and_then(|it| row.child(it));
                if let Some(child) = child.filter(|_| given.operands.is_empty()) {
                    row = child;
                    rows.push(row);
                    continue;
                }
                ended |= row.stops;
                given.operands.push(word);
                continue;
            }
            if word.text == "--" {
                ended = true;
                given.dashes.get_or_insert(given.operands.len());
                continue;
            }
            let takes_next = match text.starts_with("--") || !row.clusters() || row.option(text).is_some() {
                true => given.add_name(row, word, text),
                false => given.add_cluster(row, word, text),
            };
            if takes_next {
                if let (Some((_, value, _)), Some(next)) = (given.options.last_mut(), words.get(at)) {
                    *value = Some(next.clone());
                }
                at += 1;
            }
        }
        (given, rows)
    }

    /// Adds an option that fills its word; whether the next word is its value.
    fn add_name(&mut self, row: &Row, word: &'w Word, text: &str) -> bool {
        let (name, value) = match text.split_once('=') {
            Some((name, _)) => (name, Some(tail(word, name.len() + 1))),
            None => (text, None),
        };
        let is_it = |it: &str| match row.style {
            Style::Go => it.trim_start_matches('-') == name.trim_start_matches('-'),
            _ => it == name,
        };
        let begins = |it: &str| row.abbreviates() && name.len() > 2 && it.starts_with(name);
        let mut found = row.options.iter().filter(|option| option.names.iter().any(|it| is_it(it)));
        let mut near = row.options.iter().filter(|option| option.names.iter().any(|it| begins(it)));
        let Some(option) = found.next().or_else(|| near.next()) else {
            self.unknown.push(word);
            return false;
        };
        let takes_next = option.value == Takes::Value && value.is_none();
        self.options.push((option.names.clone(), value, option.kind));
        takes_next
    }

    /// Adds the letters of a word; whether the next word is the last one's value.
    fn add_cluster(&mut self, row: &Row, word: &Word, text: &str) -> bool {
        for (at, letter) in text.char_indices().skip(1) {
            let Some(option) = row.option(&format!("-{letter}")) else { continue };
            let end = at + letter.len_utf8();
            if option.value == Takes::Nothing {
                self.options.push((option.names.clone(), None, option.kind));
                continue;
            }
            let attached = end < word.text.len();
            self.options.push((option.names.clone(), attached.then(|| tail(word, end)), option.kind));
            return option.value == Takes::Value && !attached;
        }
        false
    }

    /// The values that an option is given, by any of its names.
    pub(in super::super) fn values(&self, name: &str) -> impl Iterator<Item = &Word> {
        self.options.iter().filter(move |(names, ..)| names.contains(&name)).filter_map(|(_, value, _)| value.as_ref())
    }

    pub(in super::super) fn has(&self, name: &str) -> bool {
        self.options.iter().any(|(names, ..)| names.contains(&name))
    }
}
