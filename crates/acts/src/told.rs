//! A command's words as its program reads them, for whoever asks about one program in particular.

use super::names::base_name;
use super::programs::parsed::{Given, Parsed};
use super::programs::{Names, is_interpreter, options};
use super::{Command, Word};

/// A command's words as its program reads them.
pub struct Told<'c> {
    /// The first names of the program and of the sub-commands that the words name.
    pub names: Vec<&'static str>,
    /// What stands behind them and is no option.
    pub operands: Vec<&'c Word>,
    /// How many operands stand before a `--`.
    pub dashes: Option<usize>,
    options: Vec<Given>,
}

impl Command {
    /// Its words as its program reads them; nothing if the program isn't known.
    pub fn told(&self) -> Option<Told<'_>> {
        let (program, args) = self.words.split_first()?;
        let row = options::any_row(base_name(program.as_constant()?))?;
        let parsed = Parsed::new(args, Some(row));
        let names: Vec<_> = parsed
            .rows
            .iter()
            .filter_map(|row| row.names.first().copied())
            .collect();
        let dashes = parsed
            .dashes
            .map(|n| n.saturating_sub(names.len().saturating_sub(1)));
        Some(Told {
            operands: parsed.operand_words().collect(),
            options: parsed.given().collect(),
            names,
            dashes,
        })
    }
}

/// What a program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ends {
    /// Processes by their numbers.
    Numbers,
    /// Processes by what they are called.
    Names,
    /// Services.
    Services,
    /// Installed programs.
    Installed,
    /// All processes.
    All,
}

impl Command {
    /// What it may end: its program is there for that, and of those that do other things as well, a
    /// word says so.
    pub fn ends(&self) -> Option<Ends> {
        static NUMBERS: Names = Names::new("ends-by-number");
        static NAMES: Names = Names::new("ends-by-name");
        static ALL: Names = Names::new("ends-all");
        static SERVICES: Names = Names::new("services");
        static ENDING: Names = Names::new("ending-services");
        static INSTALLERS: Names = Names::new("installers");
        static UNINSTALLING: Names = Names::new("uninstalling");
        let name = base_name(&self.words.first()?.text);
        let says = |verbs: &'static Names| self.words[1..].iter().any(|word| verbs.has(&word.text));
        match name {
            _ if ALL.has(name) => Some(Ends::All),
            _ if NAMES.has(name) => Some(Ends::Names),
            _ if NUMBERS.has(name) => Some(Ends::Numbers),
            _ if SERVICES.has(name) && says(&ENDING) => Some(Ends::Services),
            _ if INSTALLERS.has(name) && says(&UNINSTALLING) => Some(Ends::Installed),
            _ => None,
        }
    }

    /// Whether it carries out code that is no shell's.
    pub fn takes_code(&self) -> bool {
        static OTHERS: Names = Names::new("takes-code");
        let name = self.words.first().map_or("", |word| base_name(&word.text));
        OTHERS.has(name) || is_interpreter(name)
    }
}

impl Told<'_> {
    /// Whether an option is given, by any of its names.
    pub fn has(&self, name: &str) -> bool {
        self.options
            .iter()
            .any(|it| it.option.names.contains(&name))
    }

    /// The values that an option is given, by any of its names.
    pub fn values(&self, name: &str) -> impl Iterator<Item = &Word> {
        self.options
            .iter()
            .filter(move |it| it.option.names.contains(&name))
            .filter_map(|it| it.value.as_ref())
    }
}
