//! A table beside that of programs, with one column: a line for each program and sub-command of which
//! something special is known.

use super::super::word::{Word, tail};
use super::clause::{Clause, OfColumn};
use super::parsed::Parsed;
use super::{ByName, options};
use std::sync::Arc;

/// The lines by the names of their programs.
pub(super) struct Sheet<K>(ByName<Vec<Arc<Line<K>>>>);

struct Line<K> {
    /// The sub-commands, each with its names; none for the program itself.
    path: Vec<Vec<&'static str>>,
    clauses: Arc<[Clause<K>]>,
}

/// What a sheet says of a command.
pub(super) struct Found<'s, 'w, K> {
    pub(super) given: Parsed<'w>,
    pub(super) clause: &'s Clause<K>,
    /// What the values of options are, with those of the program above a sub-command.
    options: Vec<&'s (&'static str, K)>,
    /// So many operands are sub-commands that the table of programs lacks.
    skipped: usize,
}

impl<K: OfColumn> Sheet<K> {
    pub(super) fn new(text: &'static str) -> Sheet<K> {
        let mut table = ByName::<Vec<Arc<Line<K>>>>::default();
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        for (path, column) in lines.filter_map(|line| line.split_once('\t')) {
            let mut names = path.split(' ').map(|names| names.split('|').collect());
            let programs: Vec<&str> = names.next().unwrap_or_default();
            let line = Arc::new(Line {
                path: names.collect(),
                clauses: Clause::all(column),
            });
            for program in programs {
                table.entry(program).or_default().push(line.clone());
            }
        }
        Sheet(table)
    }

    /// Whether it has a program by this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    pub(super) fn programs(&self) -> impl Iterator<Item = &'static str> {
        self.0.keys().copied()
    }

    /// What it says of a program's words.
    pub(super) fn find<'w>(&self, name: &str, args: &'w [Word]) -> Option<Found<'_, 'w, K>> {
        let known = options::known(name);
        let lines = self.0.get(name).or_else(|| self.0.get(known.main_name()))?;
        let given = Parsed::new(args, known.any_row());
        // The names of the sub-commands, as far as the table of programs knows them.
        let commands: Vec<&[&str]> = given.rows.iter().skip(1).map(|row| &*row.names).collect();
        let written: Vec<[&str; 1]> = given
            .operands
            .iter()
            .map_while(|item| item.word.as_constant().map(|name| [name]))
            .collect();
        let is_at = |at: usize, names: &Vec<&str>| {
            let own: &[&str] = match commands.get(at) {
                Some(own) => own,
                // One that the table of programs lacks.
                None => written.get(at).map_or(&[], |own| own),
            };
            own.iter().any(|name| names.contains(name))
        };
        let holds = |line: &&Arc<Line<K>>| {
            let mut path = line.path.iter().enumerate();
            path.all(|(at, names)| is_at(at, names))
        };
        let mut found: Vec<&Arc<Line<K>>> = lines.iter().filter(holds).collect();
        found.sort_by_key(|line| line.path.len());
        let line = found.last()?;
        let names: Vec<&str> = [name]
            .into_iter()
            .chain(commands.iter().flat_map(|names| names.iter().copied()))
            .collect();
        let meets = |clause: &&Clause<K>| given.meets(&clause.conditions, &names);
        let clause = line.clauses.iter().find(meets)?;
        let outer = found.iter().rev().skip(1).flat_map(|line| &*line.clauses);
        let of_outer = outer.flat_map(|clause| &clause.options);
        Some(Found {
            clause,
            options: clause.options.iter().chain(of_outer).collect(),
            skipped: line.path.len().saturating_sub(commands.len()),
            given,
        })
    }
}

impl<K: OfColumn> Found<'_, '_, K> {
    /// Each word that the clause says something of, or the value in it.
    pub(super) fn each(&self, mut add: impl FnMut(K, &Word)) {
        for option in self.given.given() {
            let names = &option.option.names;
            let kind = self.options.iter().find(|(name, _)| names.contains(name));
            if let (Some((_, kind)), Some(value)) = (kind, &option.value) {
                add(*kind, value);
            }
        }
        // Options of a program whose own ones aren't known.
        for item in self.given.options.iter().filter(|item| !item.known) {
            let text = item.word.beginning();
            let attached = self.options.iter().find_map(|(name, kind)| {
                let value = text.strip_prefix(name)?.strip_prefix('=')?;
                Some((*kind, tail(item.word, item.word.text.len() - value.len())))
            });
            if let Some((kind, value)) = attached {
                add(kind, &value);
            }
        }
        let operands: Vec<&Word> = self.given.operand_words().skip(self.skipped).collect();
        for (at, word) in operands.iter().enumerate() {
            match self.clause.key(word, at) {
                Some((length, kind)) => add(kind, &tail(word, length)),
                None => add(self.clause.kind_at(at, operands.len()), word),
            }
        }
    }
}
