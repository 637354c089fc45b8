//! What a command gives its program, as the table reads it: options with their values, and operands.

use super::super::commands::tail;
use super::super::expand::Word;
use super::files::Kind;
use super::options::{Opt, Row, Style, Takes};

/// A command's words behind the program's name, told apart.
#[derive(Debug, Default)]
pub(in super::super) struct Given<'w> {
    pub(super) options: Vec<GivenOption>,
    pub(in super::super) operands: Vec<&'w Word>,
    /// The words of options that the row doesn't have, each with how many operands stand before it.
    pub(super) unknown: Vec<(&'w Word, usize)>,
    /// How many operands stand before a `--`.
    pub(super) dashes: Option<usize>,
}

/// An option as it is given.
#[derive(Debug)]
pub(super) struct GivenOption {
    /// All of its names.
    pub(super) names: Vec<&'static str>,
    pub(super) value: Option<Word>,
    /// What the value is.
    pub(super) kind: Kind,
    /// How many operands stand before it.
    pub(super) place: usize,
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
                if let (Some(option), Some(next)) = (given.options.last_mut(), words.get(at)) {
                    option.value = Some(next.clone());
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
            // `-ofile`
            let takes_value = |it: &&Opt| row.style == Style::Word && it.value != Takes::Nothing;
            let attached = row.options.iter().filter(takes_value).flat_map(|option| {
                let begins = option.names.iter().filter(|it| !it.starts_with("--") && text.starts_with(**it));
                begins.map(move |name| (name.len(), option))
            });
            if let Some((length, option)) = attached.max_by_key(|(length, _)| *length) {
                self.add(option, Some(tail(word, length)));
                return false;
            }
            self.unknown.push((word, self.operands.len()));
            return false;
        };
        let takes_next = option.value == Takes::Value && value.is_none();
        self.add(option, value);
        takes_next
    }

    /// Adds the letters of a word; whether the next word is the last one's value.
    fn add_cluster(&mut self, row: &Row, word: &'w Word, text: &str) -> bool {
        for (at, letter) in text.char_indices().skip(1) {
            let Some(option) = row.option(&format!("-{letter}")) else {
                self.unknown.push((word, self.operands.len()));
                continue;
            };
            let end = at + letter.len_utf8();
            if option.value == Takes::Nothing {
                self.add(option, None);
                continue;
            }
            let attached = end < word.text.len();
            self.add(option, attached.then(|| tail(word, end)));
            return option.value == Takes::Value && !attached;
        }
        false
    }

    fn add(&mut self, option: &Opt, value: Option<Word>) {
        let place = self.operands.len();
        self.options.push(GivenOption { names: option.names.clone(), value, kind: option.kind, place });
    }

    /// The values that an option is given, by any of its names.
    pub(in super::super) fn values(&self, name: &str) -> impl Iterator<Item = &Word> {
        self.options.iter().filter(move |it| it.names.contains(&name)).filter_map(|it| it.value.as_ref())
    }

    pub(in super::super) fn has(&self, name: &str) -> bool {
        self.options.iter().any(|it| it.names.contains(&name))
    }
}
