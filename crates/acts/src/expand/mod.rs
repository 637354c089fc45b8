//! From a word to what it may become: quotes and constants resolved, the rest marked with how open
//! it is.

pub(super) mod output;

use super::grammar::{
    self, Assign, Change, Edit, List, Node, Part, RedirectKind, Stage, Syntax, Tilde, Value,
    Word as Written,
};
use super::meeting::{self, Token};
use super::names::{is_of_name, tells_what_ran};
use super::programs::{self, Names};
use super::word::{BRANCH, DIRECTORY, SCRATCH};
pub(super) use super::word::{Openness, Word, join};
use super::{Environment, GIVEN, Shell};
use compact_str::{CompactString, format_compact};
use output::{Known, Output};
use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;

/// Where a variable's value comes from.
#[derive(Clone, Debug)]
pub(super) enum Source {
    /// Constant pieces and other variables, one after another.
    Pieces(Vec<Piece>),
    /// Anything.
    Computed,
    /// Numbers, file names, programs that print no options.
    Operand,
    /// A value with what isn't known as it is written.
    Open(Resolved),
}

#[derive(Clone, Debug)]
pub(super) enum Piece {
    Text(CompactString),
    Variable(String),
    Operand,
    Computed,
    /// What a substitution prints.
    Output(Rc<List>, Shell),
    /// A line of what so many stages of a pipeline print.
    Line(Rc<[Stage]>, usize, Shell),
    /// An element of an array.
    Element(String),
    /// What is left of a variable without what fits the pattern.
    Cut(String, String, Edit),
    /// A variable, or this where nothing has set it.
    Default(String, Vec<Piece>),
    /// What is made of a variable otherwise.
    Changed(String),
    /// `~`
    Home,
    /// `~name`
    User(String),
    /// A sign of a pattern of file names.
    Glob(char),
}

/// Everything that the text assigns to a name, wherever it stands.
#[derive(Clone, Debug, Default)]
pub(super) struct Variable {
    sources: Vec<Source>,
    /// The elements of the one array that is assigned.
    array: Option<Vec<Source>>,
    /// Some element is assigned by itself, or an array more than once.
    elements: bool,
    /// Which element is at which place isn't known: a word of the array may be none or several.
    is_uneven: bool,
    /// Arithmetic would run what its value holds.
    odd: bool,
    /// A loop goes over the words that the shell makes of its values.
    splits: bool,
}

/// The variables of a text.
#[derive(Debug, Default)]
pub(super) struct Variables {
    by_name: HashMap<String, Variable>,
    /// `IFS` is set, so what a value is split into isn't known.
    pub(super) separators: bool,
    /// How often IFS is set for a builtin that splits nothing but what it reads.
    harmless_separators: usize,
    /// How many values were collected.
    pub(super) n_values: usize,
    /// The working directory may become another one.
    moves: bool,
    /// Names of variables are computed: any may be set.
    pub(super) any: bool,
    /// The pipeline that the stage at hand reads from, and how many of its stages stand before.
    reads_from: Option<(Rc<[Stage]>, usize)>,
    /// Some `[` stands in the text where arithmetic could meet it.
    pub(super) brackets: bool,
    /// Functions and aliases: by these names it runs no program.
    redefined: HashSet<String>,
    /// The shell of the text that is collected.
    pub(super) shell: Shell,
    /// Variables that are being resolved.
    resolving: RefCell<Vec<String>>,
    /// Sources that were looked at: variables that are made of each other would take forever.
    looked: Cell<usize>,
    /// What the text is given.
    environment: Arc<Environment>,
    asks_environment: Cell<bool>,
}

/// One value that a variable may have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Resolved {
    pub(super) text: CompactString,
    pub(super) openness: Openness,
}

const MAX_VALUES: usize = 8;
const MAX_CHAIN: usize = 6;
const MAX_SOURCES: usize = 16;
const MAX_LOOKED: usize = 20_000;

impl Variable {
    /// Adds what it had before with this behind it: one of the values that it may have.
    fn append(&mut self, source: &Source, name: &str) {
        const MOST_PIECES: usize = 32;
        let is_made = |it: &&Source| matches!(it, Source::Pieces(_));
        if let (Source::Pieces(more), Some(Source::Pieces(before))) =
            (source, self.sources.iter().rfind(is_made))
            && before.len() + more.len() <= MOST_PIECES
        {
            let whole = before.iter().chain(more).cloned().collect();
            self.push(Source::Pieces(whole), name);
        }
    }

    /// Adds a source. A variable that is made of itself, or of too many sources, may be anything.
    fn push(&mut self, source: Source, name: &str) {
        let of_itself = matches!(&source, Source::Pieces(pieces)
        if pieces.iter().any(|piece| match piece {
            Piece::Variable(other) | Piece::Cut(other, ..) | Piece::Default(other, _) => other == name,
            Piece::Home => name == "HOME",
            _ => false,
        }));
        if self.sources.len() < MAX_SOURCES {
            self.sources
                .push(if of_itself { Source::Computed } else { source });
        } else if self.sources.len() == MAX_SOURCES {
            self.sources.push(Source::Computed);
        }
    }
}

fn is_odd(text: &str) -> bool {
    text.contains(['[', '`']) || text.contains("$(")
}

pub(super) fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Builtins that set the variables they are given by name.
fn sets_names(name: &str) -> bool {
    static SETTERS: Names = Names::new("setters");
    SETTERS.has(name)
}

impl Variables {
    /// Nothing is set by the text so far.
    pub(super) fn given(environment: Arc<Environment>) -> Variables {
        Variables {
            environment,
            ..Variables::default()
        }
    }

    /// Whether anything was asked that another environment may say otherwise.
    pub(super) fn asks_environment(&self) -> bool {
        self.asks_environment.get()
    }

    /// The value that a variable has when the text begins; none if it isn't known. Dash doesn't set
    /// UID by itself.
    pub(super) fn values_given(&self, name: &str) -> Vec<Resolved> {
        let Some(value) = self.environment.value(name) else {
            return Vec::new();
        };
        self.asks_environment.set(true);
        let is_by_shell = name == "UID" && self.shell.may_be_dash();
        let unset = is_by_shell.then(|| Resolved::operand(format_compact!("${name}")));
        [Resolved::constant(value)]
            .into_iter()
            .chain(unset)
            .collect()
    }

    /// Where a user lives. A name that no user has stays what it is; to zsh it may be a variable's,
    /// too.
    pub(super) fn home_of(&self, user: &str) -> Vec<Resolved> {
        let home = self
            .environment
            .home_of(user)
            .unwrap_or_else(|| format!("~{user}"));
        let named = if self.shell == Shell::Zsh {
            self.values(user)
        } else {
            Vec::new()
        };
        [Resolved::constant(&home)]
            .into_iter()
            .chain(named)
            .collect()
    }

    /// Whether the text leaves a variable as it is given, and that is known.
    pub(super) fn is_as_given(&self, name: &str) -> bool {
        !self.is_set(name) && self.environment.value(name).is_some()
    }

    pub(super) fn is_set(&self, name: &str) -> bool {
        self.any || self.by_name.contains_key(name)
    }

    /// Whether the text has a function or an alias by that name.
    pub(super) fn redefines(&self, name: &str) -> bool {
        self.redefined.contains(name)
    }

    /// Whether what a shell splits values at is another than it begins with.
    pub(super) fn splits_oddly(&self) -> bool {
        self.separators || self.is_set("IFS")
    }

    /// Whether the working directory is everywhere the one that the text begins in, as far as it
    /// can be told beforehand.
    fn stays(&self) -> bool {
        !self.moves && !self.splits_oddly()
    }

    /// Whether arithmetic over this name could run text.
    pub(super) fn is_odd(&self, name: &str) -> bool {
        self.is_odd_in(name, 0)
    }

    fn is_odd_in(&self, name: &str, chain: usize) -> bool {
        if self.any && self.brackets {
            return true;
        }
        let Some(variable) = self.by_name.get(name) else {
            return false;
        };
        if self.is_tired() {
            return self.brackets;
        }
        let mentions = |source: &Source| match source {
            Source::Pieces(pieces) => pieces.iter().any(|piece| match piece {
                Piece::Variable(other)
                | Piece::Element(other)
                | Piece::Cut(other, ..)
                | Piece::Default(other, _) => {
                    chain >= MAX_CHAIN || self.is_odd_in(other, chain + 1)
                }
                // A name is evaluated in turn.
                Piece::Text(text) => {
                    chain < MAX_CHAIN && text != name && self.is_odd_in(text, chain + 1)
                }
                Piece::Operand
                | Piece::Computed
                | Piece::Changed(_)
                | Piece::Output(..)
                | Piece::Glob(_) => false,
                Piece::Home | Piece::User(_) => false,
                Piece::Line(..) => self.brackets,
            }),
            Source::Computed => self.brackets,
            Source::Operand | Source::Open(_) => false,
        };
        variable.odd
            || variable
                .sources
                .iter()
                .chain(variable.array.iter().flatten())
                .any(mentions)
    }

    /// Whether the output of commands could be text that arithmetic would run.
    pub(super) fn output_is_odd(&self, list: &List) -> bool {
        let is_odd_part = |part: &Part| match part {
            Part::Text { text, .. } => text.len() > 1 && is_odd(text),
            Part::Variable { name, .. } => self.is_odd(name),
            Part::Command { list, .. } => self.output_is_odd(list),
            _ => false,
        };
        list.0
            .iter()
            .flat_map(|pipeline| &*pipeline.stages)
            .any(|stage| match &stage.node {
                Node::Simple { words, .. } => {
                    words.iter().flat_map(|word| &word.parts).any(is_odd_part)
                }
                _ => self.brackets,
            })
    }

    /// Whether zsh's text sets what it or a function is given: `1=x`, `argv=(x)`.
    pub(super) fn sets_given(&self, shell: Shell) -> bool {
        shell == Shell::Zsh
            && self
                .by_name
                .keys()
                .any(|name| name == "argv" || is_number(name))
    }

    /// Whether the text gives it nothing but numbers.
    pub(super) fn is_number(&self, name: &str) -> bool {
        let is_digits =
            |it: &Resolved| matches!(it.openness, Openness::Constant) && is_number(&it.text);
        let values = self.values(name);
        !values.is_empty() && values.iter().all(is_digits)
    }

    /// Whether the text sets it to an array, as a whole or in part.
    pub(super) fn is_array(&self, name: &str) -> bool {
        self.by_name
            .get(name)
            .is_some_and(|variable| variable.array.is_some() || variable.elements)
    }

    /// Adds what a text assigns. Where it names IFS otherwise than for a `read`, that may be set:
    /// `((IFS=1))`.
    pub(super) fn collect_text(&mut self, text: &str, list: &List) {
        let before = self.harmless_separators;
        self.collect(list);
        let bytes = text.as_bytes();
        let named = memchr::memchr_iter(b'I', bytes)
            .filter(|at| bytes[*at..].starts_with(b"IFS"))
            .count();
        self.separators |= named > self.harmless_separators - before;
    }

    /// What is expanded in a here-document's body.
    pub(super) fn collect_document(&mut self, word: &Written) {
        self.collect_parts(&word.parts);
    }

    /// Adds what a list assigns, in nested lists too.
    pub(super) fn collect(&mut self, list: &List) {
        for pipeline in &list.0 {
            let outer = self.reads_from.clone();
            for (at, stage) in pipeline.stages.iter().enumerate() {
                if pipeline.stages.len() > 1 {
                    self.reads_from = (at > 0).then(|| (Rc::clone(&pipeline.stages), at));
                }
                self.collect_stage(stage);
            }
            self.reads_from = outer;
        }
    }

    fn collect_stage(&mut self, stage: &Stage) {
        use RedirectKind::{Duplicate, HereDocument, HereString, Read, ReadWrite, Write};
        let outer = self.reads_from.clone();
        if !stage.redirects.iter().all(|it| matches!(it.kind, Write(_))) {
            self.reads_from = None;
        }
        match &stage.node {
            Node::Simple { assigns, words } => {
                let declares_array =
                    assigns.iter().any(|assign| assign.argument) && declares_array(words);
                for assign in assigns {
                    match self.elements_in_value(assign, declares_array) {
                        Some(syntax) => self.collect(&syntax.list),
                        None => self.collect_assign(assign),
                    }
                    if assign.name == "IFS" {
                        let reads = builtin(words).is_some_and(|(name, _)| {
                            matches!(&*name, "read" | "mapfile" | "readarray")
                        });
                        match reads && !assign.argument {
                            true => self.harmless_separators += 1,
                            false => self.separators = true,
                        }
                    }
                }
                // Another separator may cut a name in two.
                if !assigns
                    .iter()
                    .all(|it| matches!(&it.value, Value::One(word) if word.parts.is_empty()))
                {
                    self.reads_from = None;
                }
                self.collect_builtin(words);
                words.iter().for_each(|word| self.collect_word(word));
            }
            Node::Group(list) | Node::Subshell(list) => self.collect(list),
            Node::Branches(lists) => lists.iter().for_each(|list| self.collect(list)),
            Node::Loop { condition, body } => {
                self.collect(condition);
                self.collect(body);
            }
            Node::For { name, words, body } => {
                for word in words {
                    match word.parts.as_slice() {
                        [
                            Part::Variable {
                                name: from,
                                change: Change::Element(which),
                                ..
                            },
                        ] if which == "@" => {
                            self.add(name, Source::Pieces(vec![Piece::Element(from.clone())]));
                        }
                        _ => sources_of_word(word, self.shell)
                            .into_iter()
                            .for_each(|source| self.add(name, source)),
                    }
                    if word.parts.iter().any(is_split) {
                        self.by_name.entry(name.clone()).or_default().splits = true;
                    }
                    self.collect_word(word);
                }
                self.by_name.entry(name.clone()).or_default().odd |=
                    words.iter().any(|it| parts_are_odd(&it.parts));
                self.collect(body);
            }
            Node::Case {
                subject,
                patterns,
                arms,
            } => {
                self.collect_word(subject);
                patterns.iter().for_each(|word| self.collect_word(word));
                arms.iter().for_each(|arm| self.collect(&arm.list));
            }
            Node::Test { words, .. } => {
                words.iter().for_each(|word| self.collect_word(word));
                // `=~` sets BASH_REMATCH, by a fixed name.
                if words.iter().any(|word| word.plain() == Some("=~")) {
                    self.add("BASH_REMATCH", Source::Computed);
                }
            }
            Node::Arithmetic(parts) => self.collect_numbers(parts),
            Node::Function { name, body } => {
                self.redefined.insert(name.clone());
                self.collect_stage(body);
            }
        }
        for redirect in &stage.redirects {
            match &redirect.kind {
                Read(word) | Write(word) | ReadWrite(word) | Duplicate(word) | HereString(word) => {
                    self.collect_word(word)
                }
                HereDocument(_) => {}
            }
        }
        self.reads_from = outer;
    }

    /// Names in arithmetic may be assigned there; numbers are operands.
    fn collect_numbers(&mut self, parts: &[Part]) {
        for part in parts {
            if let Part::Text { text, .. } = part {
                for name in names_in(text)
                    .filter(|name| name.starts_with(|c: char| c.is_alphabetic() || c == '_'))
                {
                    if let Some(variable) = self.by_name.get_mut(name) {
                        variable.push(Source::Operand, name);
                    }
                }
            }
        }
        self.collect_parts(parts);
    }

    fn collect_assign(&mut self, assign: &Assign) {
        match &assign.value {
            Value::One(word) => {
                self.collect_word(word);
                let odd = parts_are_odd(&word.parts);
                let mut source = match own_default(&assign.name, word) {
                    Some(parts) => default_of(&assign.name, parts, self.shell),
                    None => source_of(&word.parts, self.shell),
                };
                self.n_values += 1;
                let variable = self.by_name.entry(assign.name.clone()).or_default();
                variable.odd |= odd;
                if assign.append || assign.element.is_some() {
                    variable.append(&source, &assign.name);
                    source = Source::Computed;
                }
                variable.push(source, &assign.name);
                if assign.append || assign.element.is_some() {
                    variable.array = None;
                    variable.elements |= assign.element.is_some();
                }
            }
            Value::Array(words) => {
                words.iter().for_each(|word| self.collect_word(word));
                let odd = words.iter().any(|word| parts_are_odd(&word.parts));
                let elements: Vec<Source> = words
                    .iter()
                    .flat_map(|word| sources_of_word(word, self.shell))
                    .collect();
                self.n_values += 1;
                let variable = self.by_name.entry(assign.name.clone()).or_default();
                variable.odd |= odd;
                let is_several = |part: &Part| is_split(part) || matches!(part, Part::Glob(_));
                variable.is_uneven |= words.iter().any(|word| word.parts.iter().any(is_several));
                match (
                    &variable.array,
                    variable.sources.is_empty(),
                    assign.append || assign.element.is_some(),
                ) {
                    (None, true, false) => variable.array = Some(elements),
                    _ => {
                        variable.array = None;
                        variable.elements = true;
                        variable.push(Source::Computed, &assign.name);
                    }
                }
            }
        }
    }

    /// The elements that a declaration finds in a value in parentheses: `declare -a x='(a b)'`.
    fn elements_in_value(&self, assign: &Assign, declares_array: bool) -> Option<Syntax> {
        let Value::One(word) = &assign.value else {
            return None;
        };
        let may_be_array = declares_array || self.is_array(&assign.name);
        if !assign.argument || !may_be_array || assign.element.is_some() || self.shell == Shell::Zsh
        {
            return None;
        }
        let text = spelt(word).filter(|text| text.starts_with('('))?;
        let sign = if assign.append { "+=" } else { "=" };
        grammar::read(
            &format!("{}{sign}{text}", assign.name),
            Shell::Bash,
            grammar::MAX_DEPTH / 2,
        )
        .ok()
    }

    fn collect_builtin(&mut self, words: &[Written]) {
        let Some((name, words)) = builtin(words) else {
            self.moves |= !words.is_empty();
            return;
        };
        let name = &*name;
        self.moves |= matches!(
            name,
            "cd" | "chdir" | "pushd" | "popd" | "eval" | "." | "source" | "trap"
        );
        if name == "export" {
            let is_open = |word: &Written| {
                matches!(
                    word.parts.first(),
                    Some(Part::Variable { .. } | Part::Command { .. })
                )
            };
            self.any |= words.iter().any(is_open);
        }
        if name == "alias" {
            let names = words
                .iter()
                .filter_map(|word| Some(spelt(word)?.split('=').next()?.to_string()));
            self.redefined.extend(names);
        }
        let declares = matches!(
            name,
            "declare" | "typeset" | "local" | "readonly" | "export"
        );
        if declares
            && words
                .iter()
                .any(|word| spelt(word).is_some_and(|text| is_array_option(&text)))
        {
            let names = words
                .iter()
                .filter_map(spelt)
                .filter(|name| is_variable(name));
            names.for_each(|name| {
                self.by_name
                    .entry(leading_name(&name).to_string())
                    .or_default()
                    .elements = true
            });
        }
        if !sets_names(name) {
            return;
        }
        match name {
            "printf" => {
                for (at, word) in words.iter().enumerate() {
                    match spelt(word).as_deref() {
                        Some("-v") => self.set_by_name(words.get(at + 1)),
                        Some(option) if option.starts_with("-v") => {
                            self.add(leading_name(&option[2..]), Source::Computed);
                        }
                        _ => {}
                    }
                }
            }
            _ => {
                // `read -r name`: a whole line. With another name behind it, the second word of a
                // line may be anything.
                if let ("read", Some((stages, at)), [rest @ .., variable]) = (name, &self.reads_from, words)
                    && let Some(variable) = variable.plain().filter(|it| is_variable(it))
                    // `-d ''` ends a name with NUL.
                    && rest.iter().all(|word| matches!(word.plain(), Some("-r" | "-d" | "-rd" | "")))
                {
                    let line = Piece::Line(Rc::clone(stages), *at, self.shell);
                    return self.add(variable, Source::Pieces(vec![line]));
                }
                let mut value = false;
                for word in words {
                    if std::mem::take(&mut value) {
                        continue;
                    }
                    match spelt(word).as_deref() {
                        Some("-p" | "-d" | "-n" | "-N" | "-t" | "-u" | "-i") if name == "read" => {
                            value = true
                        }
                        Some(option) if option.starts_with('-') => {}
                        _ => self.set_by_name(Some(word)),
                    }
                }
                self.add("REPLY", Source::Computed);
                self.add("MAPFILE", Source::Computed);
                self.add("OPTARG", Source::Computed);
            }
        }
    }

    fn set_by_name(&mut self, word: Option<&Written>) {
        match word.and_then(spelt) {
            // Zsh sets what is given, too.
            Some(text) if is_number(&text) => self.add(&text, Source::Computed),
            Some(text) => self.add(leading_name(&text), Source::Computed),
            None => {
                let names = word.is_some_and(|word| {
                    word.parts
                        .iter()
                        .any(|part| matches!(part, Part::Variable { .. } | Part::Command { .. }))
                });
                // Quoted text that isn't a name sets nothing that a `$name` could give.
                self.any |= names;
            }
        }
    }

    /// A builtin may set the variable whose name a word begins with, to anything or nothing.
    pub(super) fn set_by_builtin(&mut self, text: &str) {
        self.add(leading_name(text), Source::Computed);
    }

    /// A declaration may leave a variable without a value.
    pub(super) fn set_empty(&mut self, text: &str) {
        self.add(leading_name(text), Source::Pieces(Vec::new()));
    }

    /// A variable's value may be a number, whatever it is set to.
    pub(super) fn set_number(&mut self, name: &str) {
        self.add(leading_name(name), Source::Operand);
    }

    /// By that name the text runs no program any more.
    pub(super) fn redefine(&mut self, name: &str) {
        self.redefined.insert(name.to_string());
    }

    /// A wrapper sets a variable for what it runs.
    pub(super) fn set_constant(&mut self, name: &str, value: Option<&str>) {
        let source = value.map_or(Source::Computed, |value| {
            Source::Pieces(vec![Piece::Text(value.into())])
        });
        self.add(name, source);
    }

    /// A word that the walk came to is assigned.
    pub(super) fn set_word(&mut self, name: &str, word: &Word, is_element: bool) {
        let source = match word.as_constant() {
            Some(text) if !is_element => Source::Pieces(vec![Piece::Text(text.into())]),
            None if matches!(word.openness, Openness::Operand(_)) => Source::Open(Resolved {
                text: word.text.clone(),
                openness: word.openness,
            }),
            _ => Source::Computed,
        };
        // A loop comes to it again.
        let known = self.values(name);
        if is_element
            || !self
                .resolve_source(&source, 0)
                .iter()
                .all(|value| known.contains(value))
        {
            self.add(name, source);
        }
    }

    fn add(&mut self, name: &str, source: Source) {
        self.separators |= name == "IFS";
        if !name.is_empty() {
            self.n_values += 1;
            self.by_name
                .entry(name.to_string())
                .or_default()
                .push(source, name);
        }
    }

    fn collect_word(&mut self, word: &Written) {
        if !matches!(word.parts.as_slice(), [Part::Text { quoted: false, .. }]) {
            self.collect_parts(&word.parts);
        }
    }

    fn collect_parts(&mut self, parts: &[Part]) {
        for part in parts {
            match part {
                Part::Text { text, .. } => self.brackets |= is_odd(text),
                Part::Brace(alternatives) => alternatives
                    .iter()
                    .for_each(|parts| self.collect_parts(parts)),
                Part::Variable { name, change, .. } => match change {
                    Change::Default(parts)
                    | Change::Other(parts)
                    | Change::Replace(parts)
                    | Change::Cut {
                        operands: parts, ..
                    } => self.collect_parts(parts),
                    Change::Assign(parts) => {
                        self.collect_parts(parts);
                        let source = default_of(name, parts, self.shell);
                        let odd = parts_are_odd(parts);
                        let variable = self.by_name.entry(name.clone()).or_default();
                        variable.odd |= odd;
                        variable.push(source, name);
                    }
                    Change::None | Change::Element(_) | Change::Length => {}
                },
                Part::Command { list, .. } | Part::Process { list, .. } => self.collect(list),
                Part::Arithmetic { parts } => self.collect_numbers(parts),
                Part::Tilde(_) | Part::Glob(_) | Part::Range(_) => {}
            }
        }
    }

    /// The values that a name may have; none if the text doesn't set it and isn't given any that is
    /// known.
    pub(super) fn values(&self, name: &str) -> Vec<Resolved> {
        self.values_in(name, 0)
    }

    fn values_in(&self, name: &str, chain: usize) -> Vec<Resolved> {
        if self.any {
            return vec![Resolved::computed()];
        }
        let Some(variable) = self.by_name.get(name) else {
            return self.values_given(name);
        };
        if programs::is_set_by_shells(name) {
            return vec![Resolved::computed()];
        }
        // `d=$(dirname $d)` is an operand if what it began with is one.
        if self.resolving.borrow().iter().any(|it| it == name) {
            return vec![Resolved::operand("…")];
        }
        self.resolving.borrow_mut().push(name.to_string());
        let values = self.resolve(variable, chain);
        self.resolving.borrow_mut().pop();
        values
    }

    /// The elements of an array, each with one value.
    pub(super) fn elements(&self, name: &str) -> Option<Vec<Resolved>> {
        self.elements_in(name, 0)
    }

    /// Whether it isn't known which element of an array stands where.
    pub(super) fn is_uneven(&self, name: &str) -> bool {
        self.by_name
            .get(name)
            .is_some_and(|variable| variable.is_uneven)
    }

    /// What may be the element at a place.
    pub(super) fn element(&self, name: &str, at: usize) -> Vec<Resolved> {
        let elements = self.elements(name).unwrap_or_default();
        match self.is_uneven(name) {
            true => elements,
            false => elements.into_iter().skip(at).take(1).collect(),
        }
    }

    fn elements_in(&self, name: &str, chain: usize) -> Option<Vec<Resolved>> {
        let variable = self.by_name.get(name)?;
        if !variable.sources.is_empty() || self.any || variable.is_uneven && self.splits_oddly() {
            return None;
        }
        let one = |source: &Source| {
            // What an expansion leaves empty is no element, and a file's name may be several.
            let is_expanded = |piece: &Piece| {
                !matches!(
                    piece,
                    Piece::Text(_) | Piece::Glob(_) | Piece::Home | Piece::User(_)
                )
            };
            let is_cut = variable.is_uneven
                && matches!(source, Source::Pieces(pieces) if pieces.iter().any(is_expanded));
            match self.resolve_source(source, chain).as_slice() {
                [value]
                    if is_cut
                        && (value.text.is_empty()
                            || matches!(value.openness, Openness::Files(_))) =>
                {
                    None
                }
                [value] => Some(value.clone()),
                _ => None,
            }
        };
        variable.array.as_ref()?.iter().map(one).collect()
    }

    fn resolve(&self, variable: &Variable, chain: usize) -> Vec<Resolved> {
        // An array without a subscript is its first element.
        let n_first = if variable.is_uneven { usize::MAX } else { 1 };
        let sources = variable
            .sources
            .iter()
            .chain(variable.array.iter().flatten().take(n_first));
        let mut values: Vec<Resolved> = Vec::new();
        for source in sources {
            let mut found = self.resolve_source(source, chain);
            // Only `for` splits it.
            if variable.splits {
                let pieces: Vec<Resolved> =
                    found.iter().cloned().flat_map(Resolved::split).collect();
                found.extend(pieces);
            }
            for value in found {
                if !values.contains(&value) {
                    values.push(value);
                }
            }
            if values.len() > MAX_VALUES {
                return vec![Resolved::computed()];
            }
        }
        if values.is_empty() {
            values.push(Resolved::empty());
        }
        values
    }

    fn is_tired(&self) -> bool {
        self.is_tired_by(1)
    }

    fn is_tired_by(&self, steps: usize) -> bool {
        self.looked.set(self.looked.get().saturating_add(steps));
        self.looked.get() > MAX_LOOKED
    }

    fn resolve_source(&self, source: &Source, chain: usize) -> Vec<Resolved> {
        let computed = || vec![Resolved::computed()];
        let operand = || vec![Resolved::operand("…")];
        match source {
            Source::Computed => computed(),
            Source::Operand => operand(),
            Source::Open(value) => vec![value.clone()],
            Source::Pieces(_) if chain > MAX_CHAIN || self.is_tired() => computed(),
            Source::Pieces(pieces) => {
                let mut values = vec![Resolved::empty()];
                for piece in pieces {
                    let nexts = match piece {
                        Piece::Text(text) => vec![Resolved::constant(text)],
                        Piece::Operand => operand(),
                        Piece::Computed => computed(),
                        // How it stands says that it may be any directory.
                        Piece::Changed(name) if self.is_as_given(name) => {
                            vec![Resolved::astray(name)]
                        }
                        Piece::Changed(_) => computed(),
                        Piece::Output(list, _) if self.is_tired_by(output::steps(list)) => {
                            computed()
                        }
                        Piece::Output(list, shell) => {
                            let values = |name: &str| self.values_in(name, chain + 1);
                            let known = Known {
                                shell: *shell,
                                variables: self,
                                values: &values,
                            };
                            match output::of(list, known) {
                                Output::Perhaps(text) => {
                                    vec![Resolved::constant(&text), Resolved::empty()]
                                }
                                Output::Constant(text) => vec![Resolved::constant(&text)],
                                Output::Operands => operand(),
                                Output::Directory if self.stays() => vec![Resolved::directory()],
                                Output::Directory => operand(),
                                Output::Branch => vec![Resolved::operand(BRANCH)],
                                Output::Scratch if !self.splits_oddly() => {
                                    vec![Resolved::operand(SCRATCH)]
                                }
                                Output::Scratch => operand(),
                                Output::Anything => computed(),
                            }
                        }
                        Piece::Line(stages, at, _)
                            if self.is_tired_by(output::steps_of(&stages[..*at])) =>
                        {
                            computed()
                        }
                        Piece::Line(stages, at, shell) => {
                            let values = |name: &str| self.values_in(name, chain + 1);
                            let known = Known {
                                shell: *shell,
                                variables: self,
                                values: &values,
                            };
                            match output::of_stages(&stages[..*at], known) {
                                Output::Operands => operand(),
                                Output::Constant(_)
                                | Output::Perhaps(_)
                                | Output::Branch
                                | Output::Directory
                                | Output::Scratch
                                | Output::Anything => computed(),
                            }
                        }
                        Piece::Element(name) => {
                            self.elements_in(name, chain + 1).unwrap_or_else(computed)
                        }
                        Piece::Glob(c) => {
                            vec![Resolved {
                                text: CompactString::from_iter([*c]),
                                openness: Openness::Files(0),
                            }]
                        }
                        Piece::Home if !self.is_set("HOME") && !self.is_as_given("HOME") => {
                            vec![Resolved::constant("~")]
                        }
                        Piece::Home => self.resolve_name("HOME", chain + 1),
                        Piece::User(name) => self.home_of(name),
                        Piece::Variable(name) => self.resolve_name(name, chain + 1),
                        Piece::Cut(name, pattern, edit) => {
                            let all = self.resolve_name(name, chain + 1);
                            let work = all.iter().map(|it| cutting_work(it, pattern)).sum();
                            let is_known =
                                all.iter().all(is_short_constant) && !self.is_tired_by(work);
                            let made: Option<Vec<_>> = all
                                .into_iter()
                                .map(|it| it.edited(pattern, *edit))
                                .collect();
                            match made.filter(|_| is_known) {
                                Some(made) => made,
                                None if self.is_as_given(name) => vec![Resolved::astray(name)],
                                None => computed(),
                            }
                        }
                        Piece::Default(name, other) => {
                            let mut all = self.resolve_name(name, chain + 1);
                            let others =
                                self.resolve_source(&Source::Pieces(other.clone()), chain + 1);
                            all.extend(
                                others
                                    .into_iter()
                                    .filter(|it| !all.contains(it))
                                    .collect::<Vec<_>>(),
                            );
                            all
                        }
                    };
                    if values.len() * nexts.len() > MAX_VALUES {
                        return computed();
                    }
                    values = values
                        .iter()
                        .flat_map(|value| nexts.iter().map(|next| value.then(next)))
                        .collect();
                }
                values
            }
        }
    }
}

impl Variables {
    /// What a name stands for in a value.
    fn resolve_name(&self, name: &str, chain: usize) -> Vec<Resolved> {
        match self.by_name.get(name) {
            // To zsh that is all of its elements.
            Some(variable) if variable.array.is_some() && self.shell == Shell::Zsh => {
                vec![Resolved::computed()]
            }
            // Where it is asked for, the text may not have come to set it yet.
            Some(variable) => {
                let mut values = self.resolve(variable, chain);
                let given = self
                    .values_given(name)
                    .into_iter()
                    .filter(|it| !values.contains(it))
                    .collect::<Vec<_>>();
                values.extend(given);
                values
            }
            None if is_number(name) && self.sets_given(self.shell) => vec![Resolved::computed()],
            None if name == "PWD" && self.stays() => vec![Resolved::directory()],
            None => match self.values_given(name) {
                none if none.is_empty() => vec![Resolved::operand(format_compact!("${name}"))],
                given => given,
            },
        }
    }
}

/// A longer value isn't cut, because each character of it is held against each of the pattern.
const LONGEST_CUT: usize = 256;

/// Whether a value may be cut.
pub(super) fn is_short_constant(value: &Resolved) -> bool {
    value.openness == Openness::Constant && value.text.len() <= LONGEST_CUT
}

/// Some hundred comparisons take as long as another step.
pub(super) fn cutting_work(value: &Resolved, pattern: &str) -> usize {
    value.text.len() * pattern.len() / 128
}

/// What an expansion makes of a value, and the operand that says how; nothing if it isn't all
/// known.
pub(super) fn edit_of(change: &Change, in_quotes: bool) -> Option<(String, Edit)> {
    match change {
        Change::Cut {
            operands,
            edit: Some(edit),
            ..
        } => Some((plain_pattern(operands, in_quotes)?, *edit)),
        Change::Replace(parts) => {
            // A slash in quotes ends no pattern.
            let is_cut = |part: &Part| matches!(part, Part::Text { quoted: false, text } if !text.contains(['*', '?']));
            let is_plain = in_quotes && parts.len() == 1 || parts.iter().all(is_cut);
            let operand = plain_pattern(parts, in_quotes)
                .filter(|it| is_plain && !it.contains(['*', '?', '&', '$']))?;
            Some((operand, Edit::Replace))
        }
        _ => None,
    }
}

/// `${x:from:length}`, by numbers.
fn slice<'t>(text: &'t str, operand: &str) -> Option<&'t str> {
    let (from, length) = operand
        .split_once(':')
        .map_or((operand, None), |(from, length)| (from, Some(length)));
    let number = |text: &str| {
        if text.trim().is_empty() {
            Some(0)
        } else {
            text.trim().parse::<isize>().ok()
        }
    };
    let at = |number: isize, start: usize| match usize::try_from(number) {
        Ok(number) => Some(start.saturating_add(number).min(text.len())),
        Err(_) => text.len().checked_sub(number.unsigned_abs()),
    };
    let from = at(number(from)?, 0)?;
    let end = length.map_or(Some(text.len()), |length| at(number(length)?, from))?;
    text.get(from..end)
}

/// `${x/pattern/with}`, by plain characters.
fn replaced(text: &str, operand: &str) -> Option<String> {
    let (place, operand) = match operand.split_at_checked(1) {
        Some((sign @ ("/" | "#" | "%"), rest)) => (sign, rest),
        _ => ("", operand),
    };
    let (pattern, with) = operand.split_once('/').unwrap_or((operand, ""));
    Some(match place {
        _ if pattern.is_empty() => return None,
        "/" => text.replace(pattern, with),
        "#" => text
            .strip_prefix(pattern)
            .map_or_else(|| text.to_string(), |rest| format!("{with}{rest}")),
        "%" => text
            .strip_suffix(pattern)
            .map_or_else(|| text.to_string(), |rest| format!("{rest}{with}")),
        _ => text.replacen(pattern, with, 1),
    })
}

/// A pattern of `*`, `?` and plain characters; nothing if it may be another one. In double quotes
/// it isn't told whether a character by itself is quoted.
pub(super) fn plain_pattern(parts: &[Part], in_quotes: bool) -> Option<String> {
    let mut pattern = String::new();
    for part in parts {
        let Part::Text { text, quoted } = part else {
            return None;
        };
        let is_plain = !text.contains(['*', '?'])
            || if in_quotes {
                parts.len() == 1 && text.len() > 1
            } else {
                !quoted
            };
        if !is_plain || text.contains(['[', '\\', '(', '~']) {
            return None;
        }
        pattern.push_str(text);
    }
    Some(pattern)
}

impl From<Resolved> for Word {
    fn from(value: Resolved) -> Word {
        let word = Word {
            text: value.text,
            openness: value.openness,
            ..Word::default()
        };
        word.with_directory().unwrap_or(word)
    }
}

impl Resolved {
    /// What an expansion makes of it; nothing if that isn't told.
    pub(super) fn edited(self, operand: &str, edit: Edit) -> Option<Resolved> {
        let text: CompactString = match edit {
            Edit::Cut { end, longest } => return Some(self.without(operand, end, longest)),
            _ if !self.text.is_ascii() => return None,
            Edit::Slice => slice(&self.text, operand)?.into(),
            Edit::Case { .. } if !operand.is_empty() => return None,
            Edit::Case { upper, all } => {
                let (first, rest) = self.text.split_at(if all {
                    self.text.len()
                } else {
                    self.text.len().min(1)
                });
                let changed = if upper {
                    first.to_ascii_uppercase()
                } else {
                    first.to_ascii_lowercase()
                };
                format_compact!("{changed}{rest}")
            }
            Edit::Replace => replaced(&self.text, operand)?.into(),
        };
        Some(Resolved { text, ..self })
    }

    /// What is left of it without the part that fits a pattern of `*`, `?` and plain characters.
    fn without(self, pattern: &str, end: bool, longest: bool) -> Resolved {
        let mut text: Vec<Token> = self.text.chars().map(Token::Is).collect();
        let mut pattern = meeting::tokens(pattern);
        if end {
            text.reverse();
            pattern.reverse();
        }
        let fitting = meeting::beginnings_that_fit(&pattern, &text);
        let n = if longest {
            fitting.iter().rposition(|it| *it)
        } else {
            fitting.iter().position(|it| *it)
        };
        let (n, n_all) = (n.unwrap_or(0), text.len());
        let (skipped, taken) = if end { (0, n_all - n) } else { (n, n_all) };
        Resolved {
            text: self.text.chars().take(taken).skip(skipped).collect(),
            ..self
        }
    }

    /// What is made of a variable that is given, in a way that isn't followed.
    fn astray(name: &str) -> Resolved {
        Resolved {
            text: format_compact!("${{{name}#}}"),
            ..Resolved::computed()
        }
    }

    pub(super) fn empty() -> Resolved {
        Resolved {
            text: CompactString::default(),
            openness: Openness::Constant,
        }
    }

    pub(super) fn constant(text: &str) -> Resolved {
        Resolved {
            text: text.into(),
            openness: Openness::Constant,
        }
    }

    pub(super) fn operand(text: impl Into<CompactString>) -> Resolved {
        Resolved {
            text: text.into(),
            openness: Openness::Operand(0),
        }
    }

    /// What may be anything.
    pub(super) fn computed() -> Resolved {
        Resolved {
            text: "…".into(),
            openness: Openness::Computed(0, false),
        }
    }

    /// The directory that the text begins in.
    fn directory() -> Resolved {
        Resolved::operand(DIRECTORY)
    }

    /// The words that a shell makes of it.
    fn split(self) -> Vec<Resolved> {
        match self.openness {
            Openness::Constant => self
                .text
                .split_whitespace()
                .map(Resolved::constant)
                .collect(),
            Openness::Operand(_) if self.text.replace(BRANCH, "").contains(char::is_whitespace) => {
                vec![Resolved::computed()]
            }
            _ => vec![self],
        }
    }

    pub(super) fn then(&self, next: &Resolved) -> Resolved {
        let mut text = self.text.clone();
        text.push_str(&next.text);
        Resolved {
            openness: join(self.text.len(), self.openness, next.openness),
            text,
        }
    }
}

/// The names and the numbers in arithmetic.
pub(super) fn names_in(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c| !is_of_name(c))
}

/// The name that a text begins with: of `x`, `x=1` and `x[0]`.
fn leading_name(text: &str) -> &str {
    let end = text.find(|c| !is_of_name(c)).unwrap_or(text.len());
    let name = &text[..end];
    if is_variable(name) { name } else { "" }
}

/// The builtin or program that words name, and what it is given; nothing if its name isn't all
/// text.
fn builtin(words: &[Written]) -> Option<(Cow<'_, str>, &[Written])> {
    static PRECOMMANDS: Names = Names::new("precommands");
    let mut is_wrapped = false;
    for (at, word) in words.iter().enumerate() {
        let name = spelt(word)?;
        match &*name {
            name if PRECOMMANDS.has(name) => is_wrapped = true,
            option if is_wrapped && option.starts_with('-') => {}
            _ => return Some((name, &words[at + 1..])),
        }
    }
    None
}

/// Whether words are a builtin that sets variables, and all that it is given is text: then it is
/// known what it may set.
pub(super) fn names_what_it_sets(words: &[Written]) -> bool {
    builtin(words).is_some_and(|(name, words)| {
        sets_names(&name) && words.iter().all(|word| spelt(word).is_some())
    })
}

/// Whether the words of a declaration make its names arrays, or may do so.
pub(super) fn declares_array(words: &[Written]) -> bool {
    words
        .iter()
        .any(|word| spelt(word).is_none_or(|text| is_array_option(&text)))
}

fn is_array_option(text: &str) -> bool {
    text.starts_with('-') && text.contains(['a', 'A'])
}

/// What a word of nothing but text is, however it is quoted.
fn spelt(word: &Written) -> Option<Cow<'_, str>> {
    match word.parts.as_slice() {
        [Part::Text { text, .. }] => Some(text.as_str().into()),
        parts => {
            let texts = parts.iter().map(|part| match part {
                Part::Text { text, .. } => Some(text.as_str()),
                _ => None,
            });
            texts.collect::<Option<String>>().map(Cow::Owned)
        }
    }
}

fn parts_are_odd(parts: &[Part]) -> bool {
    parts.iter().any(|part| match part {
        Part::Text { text, .. } => is_odd(text) || text.ends_with('$'),
        Part::Glob(c) => *c == '[',
        Part::Command { list, .. } => list.0.iter().flat_map(|it| &*it.stages).any(|stage| match &stage.node {
            Node::Simple { words, .. } => words.iter().any(|word| {
                word.parts.iter().any(|part| matches!(part, Part::Text { text, .. } if text.len() > 1 && is_odd(text)))
            }),
            _ => true,
        }),
        Part::Variable { change: Change::Default(parts) | Change::Other(parts) | Change::Assign(parts), .. } => {
            parts_are_odd(parts)
        }
        _ => false,
    })
}

/// Whether the shell makes several words of what it gives.
fn is_split(part: &Part) -> bool {
    matches!(
        part,
        Part::Variable { quoted: false, .. } | Part::Command { quoted: false, .. }
    )
}

/// What the words of an array or of `for` are made of that a shell makes of one: there, patterns of
/// file names are expanded.
fn sources_of_word(word: &Written, shell: Shell) -> Vec<Source> {
    let Some(words) = without_braces(&word.parts) else {
        return vec![Source::Computed];
    };
    let source = |parts: Vec<&Part>| {
        let mut source = source_of(parts.iter().copied(), shell);
        if let Source::Pieces(pieces) = &mut source {
            for (piece, part) in pieces.iter_mut().zip(parts) {
                if let Part::Glob(c) = part {
                    *piece = Piece::Glob(*c);
                }
            }
        }
        source
    };
    words.into_iter().map(source).collect()
}

/// What braces make of a word: `a{b,c}` is `ab` and `ac`. Nothing if it would be very many.
fn without_braces(parts: &[Part]) -> Option<Vec<Vec<&Part>>> {
    const MOST: usize = 64;
    let (mut done, mut pending) = (Vec::new(), vec![parts.iter().collect::<Vec<_>>()]);
    while let Some(parts) = pending.pop() {
        let braces = parts.iter().enumerate().find_map(|(at, part)| match part {
            Part::Brace(alternatives) => Some((at, alternatives)),
            _ => None,
        });
        let Some((at, alternatives)) = braces else {
            done.push(parts);
            continue;
        };
        if done.len() + pending.len() + alternatives.len() > MOST {
            return None;
        }
        let (before, after) = (&parts[..at], &parts[at + 1..]);
        pending.extend(
            alternatives
                .iter()
                .rev()
                .map(|it| [before, &it.iter().collect::<Vec<_>>(), after].concat()),
        );
    }
    Some(done)
}

/// The default of `x=${x:-default}`.
pub(super) fn own_default<'a>(name: &str, value: &'a Written) -> Option<&'a [Part]> {
    match value.parts.as_slice() {
        [
            Part::Variable {
                name: own,
                change: Change::Default(parts),
                ..
            },
        ] if own == name => Some(parts),
        _ => None,
    }
}

/// What a variable is that takes a default if nothing has set it: the default, unless a shell sets
/// it.
fn default_of(name: &str, parts: &[Part], shell: Shell) -> Source {
    if programs::is_shells_own(name, shell) {
        Source::Computed
    } else {
        source_of(parts, shell)
    }
}

/// What a value is made of.
fn source_of<'p>(parts: impl IntoIterator<Item = &'p Part>, shell: Shell) -> Source {
    let mut pieces = Vec::new();
    for part in parts {
        pieces.push(match part {
            Part::Text { text, .. } => Piece::Text(text.clone()),
            Part::Tilde(Tilde::Home) => Piece::Home,
            Part::Tilde(Tilde::User(name)) => Piece::User(name.to_string()),
            Part::Tilde(Tilde::Here) => Piece::Variable("PWD".into()),
            Part::Tilde(Tilde::Before) => Piece::Variable("OLDPWD".into()),
            Part::Glob(_) if pieces.is_empty() => Piece::Operand,
            Part::Glob(c) => Piece::Text(CompactString::from_iter([*c])),
            Part::Range(_) | Part::Arithmetic { .. } => Piece::Operand,
            Part::Variable {
                name,
                change: Change::None,
                ..
            } if tells_what_ran(name) => Piece::Computed,
            Part::Variable {
                name,
                change: Change::None,
                ..
            } if is_variable(name) => Piece::Variable(name.clone()),
            Part::Variable {
                name,
                change: Change::None,
                ..
            } if matches!(name.as_str(), "#" | "?" | "$" | "!") => Piece::Operand,
            Part::Variable {
                change: Change::Length,
                ..
            } => Piece::Operand,
            Part::Variable {
                name,
                change: Change::None,
                ..
            } if name.bytes().all(|byte| byte.is_ascii_digit()) => Piece::Variable(name.clone()),
            Part::Variable {
                name,
                change: change @ (Change::Cut { .. } | Change::Replace(_)),
                quoted,
            } if is_variable(name)
                && !tells_what_ran(name)
                && (shell.is_bash_or_dash() || GIVEN.contains(&name.as_str())) =>
            {
                match edit_of(change, *quoted) {
                    Some((operand, edit)) => Piece::Cut(name.clone(), operand, edit),
                    None => Piece::Changed(name.clone()),
                }
            }
            Part::Variable {
                name,
                change: Change::Default(parts),
                ..
            } if is_variable(name)
                && !tells_what_ran(name)
                && (!programs::is_shells_own(name, shell) || GIVEN.contains(&name.as_str())) =>
            {
                match source_of(parts, shell) {
                    Source::Pieces(other) => Piece::Default(name.clone(), other),
                    _ => Piece::Computed,
                }
            }
            Part::Variable {
                name,
                change: Change::Cut { .. } | Change::Replace(_),
                ..
            } => Piece::Changed(name.clone()),
            Part::Command { list, .. } => Piece::Output(Rc::clone(list), shell),
            Part::Brace(_) | Part::Variable { .. } | Part::Process { .. } => Piece::Computed,
        });
    }
    Source::Pieces(pieces)
}

/// Whether `${x/…}` may put in more than a part of a name: the sign that an operand or an option
/// begins with, a blank, or what is expanded in turn.
pub(super) fn puts_in_more_than_a_name(parts: &[Part]) -> bool {
    const EXPANSION: char = '\0';
    let mut text = String::new();
    for part in parts {
        match part {
            Part::Text { text: own, .. } => text.push_str(own),
            _ => text.push(EXPANSION),
        }
    }
    // `//`, `/#` and `/%` say where it is looked for, and behind a further slash stands what is put
    // in.
    let pattern = text.strip_prefix(['/', '#', '%']).unwrap_or(&text);
    let begins_more = |put_in: &str| {
        put_in.starts_with(['-', '+', EXPANSION]) || put_in.contains(char::is_whitespace)
    };
    pattern
        .match_indices('/')
        .any(|(at, _)| begins_more(&pattern[at + 1..]))
        || text.starts_with("#/")
}

/// Whether what is left of a value may begin with the sign of an option or an operand, or be
/// several words.
pub(super) fn begins_option_if_cut(value: &Resolved) -> bool {
    matches!(value.openness, Openness::Computed(..))
        || value.text.contains(['-', '+', ' ', '\t', '\n'])
}

/// Whether a name is one of what a function or a text is given: `1`, `@`.
pub(super) fn is_positional(name: &str) -> bool {
    matches!(name, "@" | "*") || name.bytes().all(|byte| byte.is_ascii_digit())
}

pub(super) fn is_variable(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
}
