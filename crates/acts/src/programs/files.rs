//! What a program does with the files that it is given, as the last column of the table says.

use super::super::names::base_name;
use super::super::word::{Openness, Word, tail};
pub(in super::super) use super::clause::Kind;
use super::options::{self, Opt};
use super::parsed::{Given, Parsed};
use std::borrow::Cow;

/// So many words behind an option that isn't known may be its values: `jq --slurpfile x f`.
const MOST_VALUES: usize = 2;

/// What a command does with one of its words.
#[derive(Clone, Debug)]
pub(in super::super) struct Use<'w> {
    pub(in super::super) word: Cow<'w, Word>,
    pub(in super::super) kind: Kind,
    /// It stands behind `--`.
    pub(in super::super) is_file: bool,
    /// From how many of the directories, one from the other, it counts.
    pub(in super::super) directories: usize,
    /// It is an option's value.
    pub(in super::super) of_option: bool,
}

/// What a command does with its words.
#[derive(Debug, Default)]
pub(in super::super) struct Uses<'w> {
    pub(in super::super) words: Vec<Use<'w>>,
    /// The directories that it goes to, one from the other.
    pub(in super::super) directories: Vec<Word>,
    /// Values of options of which the table doesn't say that they are files, by the longest names
    /// of these.
    pub(in super::super) texts: Vec<(&'static str, Word)>,
    /// It changes the files that a patch names, whose paths lose so many of their first parts, if
    /// that is told.
    pub(in super::super) patches: bool,
    pub(in super::super) stripped: Option<usize>,
    /// It speaks find's language.
    pub(in super::super) finds: bool,
    /// What it is given or reads may be code.
    pub(in super::super) may_run: bool,
}

/// How many of its first operands a command is given by an option instead, as grep its pattern by
/// `-e`.
pub(in super::super) fn operands_left_out(words: &[Word]) -> usize {
    let found = || {
        let (program, args) = words.split_first()?;
        let name = base_name(program.as_constant()?);
        let given = Parsed::new(args, Some(options::any_row(name)?));
        let clauses = given.rows.iter().rev().find_map(|row| row.files.as_ref())?;
        let own = clauses
            .iter()
            .find(|it| given.meets(&it.conditions, &[name]))?;
        let usual = clauses.last()?;
        usual.before.len().checked_sub(own.before.len())
    };
    found().unwrap_or(0)
}

impl<'w> Uses<'w> {
    /// Reads a command's words.
    pub(in super::super) fn of(words: &'w [Word]) -> Uses<'w> {
        let Some((program, args)) = words.split_first() else {
            return Uses::default();
        };
        let name = base_name(program.as_constant().unwrap_or_default());
        let any = |word: &'w Word| Use {
            word: Cow::Borrowed(word),
            kind: Kind::Any,
            is_file: false,
            directories: 0,
            of_option: false,
        };
        let unknown = || Uses {
            words: args.iter().map(any).collect(),
            may_run: true,
            ..Uses::default()
        };
        let Some(row) = options::any_row(name) else {
            return unknown();
        };
        // A module that is known is a command by itself.
        if let Some([module, ..]) = super::python_module(words).as_deref()
            && options::row(&module.text).is_some()
        {
            return Uses::default();
        }
        let bundled = row.habits.has("bundle").then(|| unbundled(args)).flatten();
        let args = bundled.map_or(Cow::Borrowed(args), Cow::Owned);
        let given = Parsed::new(&args, Some(row));
        let rows = &given.rows;
        let Some(clauses) = rows.iter().rev().find_map(|row| row.files.as_ref()) else {
            return unknown();
        };
        let commands = rows[1..].iter().flat_map(|row| row.names.iter().copied());
        let names: Vec<&str> = [name].into_iter().chain(commands).collect();
        let Some(clause) = clauses
            .iter()
            .find(|it| given.meets(&it.conditions, &names))
        else {
            return unknown();
        };
        if clause.finds {
            return Uses {
                finds: true,
                ..Uses::default()
            };
        }
        let kinds = clause
            .before
            .iter()
            .chain(&clause.repeated)
            .chain(&clause.after);
        // Where a sub-command stands that the table doesn't have, it may be an extension's.
        let has_others = rows
            .last()
            .is_some_and(|row| row.has_commands && !row.habits.has("scripts"));
        let may_run = kinds
            .into_iter()
            .any(|kind| matches!(kind, Kind::Any | Kind::Code));
        let mut uses = Uses {
            may_run,
            patches: clause.patches,
            ..Uses::default()
        };
        let stripped = given.values("-p").last().filter(|_| clause.patches);
        uses.stripped = stripped.and_then(|it| it.as_constant()?.parse().ok());

        let kind_of = |option: &Opt| {
            let own = clause
                .options
                .iter()
                .find(|(name, _)| option.names.contains(name));
            own.map_or(option.kind, |(_, kind)| *kind)
        };
        let options: Vec<(usize, Given)> = given.placed().collect();
        let valued = options
            .iter()
            .filter_map(|(at, it)| Some((*at, it.value.as_ref()?, kind_of(it.option))));
        let is_text = |it: &Given| matches!(kind_of(it.option), Kind::Text | Kind::Any);
        let texts = options.iter().map(|(_, it)| it).filter(|it| is_text(it));
        let named = |it: &Given| {
            Some((
                *it.option.names.iter().max_by_key(|name| name.len())?,
                it.value.clone()?,
            ))
        };
        uses.texts = texts.filter_map(named).collect();
        let (directories, values): (Vec<_>, Vec<_>) =
            valued.partition(|(.., kind)| matches!(kind, Kind::Dir | Kind::From));
        uses.directories = directories
            .iter()
            .map(|(_, word, _)| (*word).clone())
            .collect();
        // Where it takes operands from is nothing to what stands before.
        let counts_from = |place| {
            directories
                .iter()
                .filter(|(it, _, kind)| *kind == Kind::Dir || *it <= place)
                .count()
        };
        let always = directories
            .iter()
            .filter(|(.., kind)| *kind == Kind::Dir)
            .count();
        for (_, value, kind) in values {
            uses.add(value, kind, false, always);
        }
        uses.words.iter_mut().for_each(|it| it.of_option = true);
        // What stands behind an option that isn't known may be a file.
        for (place, word) in given.unknown() {
            let values = given.operand_words().skip(place).take(MOST_VALUES);
            std::iter::once(word)
                .chain(values)
                .for_each(|word| uses.add(word, Kind::Any, false, always));
        }
        let key = |at: usize, word: &Word| clause.key(word, at);
        let (keyed, plain): (Vec<_>, Vec<_>) = given
            .operand_words()
            .enumerate()
            .partition(|(at, it)| key(*at, it).is_some());
        for (at, word) in keyed {
            let Some((length, kind)) = key(at, word) else {
                continue;
            };
            uses.add(&tail(word, length), kind, false, counts_from(at));
        }
        let n_commands = rows.len() - 1;
        let is_behind = |at: usize| given.dashes.is_some_and(|dashes| at + n_commands >= dashes);
        for (place, (at, word)) in plain.iter().enumerate() {
            let kind = if has_others {
                Kind::Any
            } else {
                clause.kind_at(place, plain.len())
            };
            uses.add(word, kind, is_behind(*at), counts_from(*at));
        }
        let everywhere = directories.len();
        if clause.is_here && plain.len() <= clause.before.len() {
            uses.add(
                &Word::constant("."),
                clause.repeated.unwrap_or(Kind::Any),
                true,
                everywhere,
            );
        }
        if clause.fills {
            uses.add(&Word::constant("."), Kind::Fill, true, everywhere);
        }
        for file in &clause.writes {
            uses.add(&Word::constant(*file), Kind::Write, true, everywhere);
        }
        if clause.lists {
            let listed = Word {
                openness: Openness::Computed(0, true),
                text: "…".into(),
                ..Word::default()
            };
            uses.add(&listed, Kind::Read, true, everywhere);
        }
        if clause.downloads {
            for file in super::downloads(name, &args) {
                uses.add(&Word::constant(file), Kind::Write, true, everywhere);
            }
        }
        uses
    }

    fn add(&mut self, word: &Word, kind: Kind, is_file: bool, directories: usize) {
        self.words.push(Use {
            word: Cow::Owned(word.clone()),
            kind,
            is_file,
            directories,
            of_option: false,
        });
    }

    /// The trees that it reads.
    pub(in super::super) fn trees(&self) -> impl Iterator<Item = &Word> {
        self.words
            .iter()
            .filter(|it| it.kind == Kind::ReadTree)
            .map(|it| &*it.word)
    }

    /// What is copied or moved into another place.
    pub(in super::super) fn sources(&self) -> impl Iterator<Item = &Use<'w>> {
        self.words.iter().filter(|it| it.kind.is_source())
    }
}

/// The words with the letters of the first one as options of their own, each with its value: `tar
/// xfC a d`.
pub(super) fn unbundled(args: &[Word]) -> Option<Vec<Word>> {
    let letters = args
        .first()?
        .as_constant()
        .filter(|text| !text.starts_with('-') && !text.is_empty())?;
    let row = options::any_row("tar")?;
    let mut values = args[1..].iter();
    let mut words = Vec::with_capacity(args.len() + letters.len());
    for letter in letters.chars() {
        let option = format!("-{letter}");
        let takes_value = row
            .option(&option)
            .is_some_and(|it| it.value == options::Takes::Value);
        words.push(Word::constant(option));
        words.extend(takes_value.then(|| values.next()).flatten().cloned());
    }
    words.extend(values.cloned());
    Some(words)
}
