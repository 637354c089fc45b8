//! A command's words as its program reads them: the one parser of options, operands and
//! sub-commands.

use super::super::word::{Openness, Word, behind_expansions, tail};
use super::options::{Does, Opt, Row, Style, Takes};
use smallvec::SmallVec;

/// A command's words behind its program's name, told apart.
#[derive(Debug, Default)]
pub(in super::super) struct Parsed<'w> {
    pub(in super::super) options: Vec<Item<'w>>,
    /// The sub-commands among them.
    pub(in super::super) operands: Vec<Item<'w>>,
    /// Why computed words could be options, if some could.
    pub(in super::super) open: Option<&'static str>,
    /// How many operands stand before a `--`.
    pub(in super::super) dashes: Option<usize>,
    /// The rows of the program and of the sub-commands that the words name.
    pub(in super::super) rows: SmallVec<[&'static Row; 4]>,
}

/// A word of a command: an operand, or an option with its value.
#[derive(Debug)]
pub(in super::super) struct Item<'w> {
    pub(in super::super) word: &'w Word,
    /// Its place among the words.
    pub(in super::super) at: usize,
    /// A value that follows an option as a word of its own.
    pub(in super::super) value: Option<&'w Word>,
    /// The names of the sub-command that it is.
    pub(in super::super) names: &'static [&'static str],
    /// Names of sub-commands that it may be short for.
    pub(in super::super) perhaps: Vec<&'static str>,
    pub(in super::super) depth: usize,
    pub(in super::super) row: Option<&'static Row>,
    /// It stands behind a word that has no sub-commands.
    pub(in super::super) leaf: bool,
    /// An option before it isn't known, so it may be that one's value.
    pub(in super::super) unsure: bool,
    /// It is an option of the row.
    pub(in super::super) known: bool,
}

/// An option that a word gives, alone or as one letter of several.
pub(in super::super) struct Given {
    pub(in super::super) option: &'static Opt,
    pub(in super::super) value: Option<Word>,
}

/// The sub-command that a word which isn't constant may be: its row, if it has one.
pub(in super::super) type Wanted<'f> =
    &'f dyn Fn(&'static Row, usize, &Item<'_>) -> Option<Option<&'static Row>>;

impl<'w> Item<'w> {
    fn new(
        word: &'w Word,
        at: usize,
        depth: usize,
        row: Option<&'static Row>,
        (leaf, unsure): (bool, bool),
    ) -> Item<'w> {
        let names: &'static [&'static str] = &[];
        Item {
            word,
            at,
            value: None,
            names,
            perhaps: Vec::new(),
            depth,
            row,
            leaf,
            unsure,
            known: false,
        }
    }

    /// Whether a word that gives no option of the row begins as a long one does that has this mark.
    pub(in super::super) fn may_begin(&self, does: Does) -> bool {
        let name = self.word.beginning().split('=').next().unwrap_or_default();
        let begins = |option: &Opt| {
            option.does == does && option.names.iter().any(|it| it.starts_with(name))
        };
        !self.known
            && name.len() > 2
            && name.starts_with("--")
            && self.row.is_some_and(|row| row.options.iter().any(begins))
    }

    /// What is attached to a long option.
    pub(in super::super) fn value_of_beginning(&self) -> Option<Word> {
        self.word
            .beginning()
            .find('=')
            .map(|at| tail(self.word, at + 1))
    }

    /// The options that the word gives. Letters that the row doesn't have are left out.
    pub(in super::super) fn given(&self) -> SmallVec<[Given; 2]> {
        let mut all = SmallVec::<[Given; 2]>::new();
        let (Some(row), text) = (self.row, self.word.beginning()) else {
            return all;
        };
        let value_of = |option: &Opt, end: usize| match option.value {
            Takes::Nothing => None,
            _ if end < self.word.text.len() => Some(tail(self.word, end)),
            Takes::Value => self.value.cloned(),
            Takes::Attached => None,
        };
        if text.starts_with("--") || !row.clusters() || row.option(text).is_some() {
            let name = text.split('=').next().unwrap_or_default();
            if let Some((end, option)) = row.attached(text) {
                all.push(Given {
                    option,
                    value: Some(tail(self.word, end)),
                });
            } else if let Some(option) = row.spelt(name) {
                let is_attached = name.len() < text.len();
                let end = if is_attached {
                    name.len() + 1
                } else {
                    self.word.text.len()
                };
                // `-x$proxy`
                let is_open = !is_attached && text.len() < self.word.text.len();
                let value = if is_attached {
                    Some(tail(self.word, end))
                } else if is_open && option.value != Takes::Nothing {
                    Some(tail(self.word, text.len()))
                } else {
                    value_of(option, end)
                };
                all.push(Given { option, value });
            }
            return all;
        }
        for (end, option) in row.letters(text) {
            let Some(option) = option else { continue };
            all.push(Given {
                option,
                value: value_of(option, end),
            });
            if option.value != Takes::Nothing {
                break;
            }
        }
        all
    }
}

impl<'w> Parsed<'w> {
    /// Reads `words`, which begin behind the program or sub-command that the row is of.
    pub(in super::super) fn new(words: &'w [Word], row: Option<&'static Row>) -> Parsed<'w> {
        Parsed::wanting(words, row, &|_, _, _| None)
    }

    /// Reads the options before the first operand, and that one.
    pub(in super::super) fn leading(words: &'w [Word], row: Option<&'static Row>) -> Parsed<'w> {
        Parsed::read(words, row, &|_, _, _| None, true)
    }

    /// Reads words for a rule, which says what sub-command a word may be that isn't constant.
    pub(in super::super) fn wanting(
        words: &'w [Word],
        row: Option<&'static Row>,
        wanted: Wanted<'_>,
    ) -> Parsed<'w> {
        Parsed::read(words, row, wanted, false)
    }

    fn read(
        words: &'w [Word],
        row: Option<&'static Row>,
        wanted: Wanted<'_>,
        only_first: bool,
    ) -> Parsed<'w> {
        let mut parsed = Parsed {
            options: Vec::with_capacity(if only_first { 0 } else { 2 }),
            operands: Vec::with_capacity(if only_first { 1 } else { words.len() }),
            rows: row.into_iter().collect(),
            ..Parsed::default()
        };
        let mut node = row;
        let (mut depth, mut unsure, mut ended, mut at) = (0, false, false, 0);
        let mut leaf = false;
        // `cargo +nightly publish`
        let has_sign = words.first().is_some_and(|it| it.text.starts_with('+'));
        if has_sign && row.is_some_and(|row| row.habits.has("toolchain")) {
            at += 1;
        }
        while let Some(word) = words
            .get(at)
            .filter(|_| !only_first || parsed.operands.is_empty())
        {
            at += 1;
            let beginning = word.beginning();
            let is_option = beginning.len() > 1 && beginning.starts_with('-')
                || beginning == "-" && word.openness.from().is_some();
            let no_options = node.is_some_and(|row| row.style == Style::None);
            if is_option && !no_options && (!ended || unsure) {
                if word.text == "--" {
                    ended = !node.is_some_and(|row| row.has_commands || row.habits.has("through"));
                    parsed.dashes.get_or_insert(parsed.operands.len());
                    continue;
                }
                let (known, value) = takes_value(word, node);
                let mut item = Item::new(word, at - 1, depth, node, (leaf, unsure));
                item.known = known;
                if value {
                    item.value = words.get(at);
                    // What comes after an unknown option may be an option though it stands where a
                    // value does.
                    if !unsure || !words.get(at).is_some_and(|word| word.text.starts_with('-')) {
                        at += 1;
                    }
                }
                unsure |= !known;
                // `-o $(x)`: its first word is the value, and others follow.
                if item.value.is_some_and(Word::spreads) {
                    parsed.open = parsed.open.or(Some("a computed word may be an option"));
                }
                parsed.options.push(item);
                continue;
            }
            let mut item = Item::new(word, at - 1, depth, node, (leaf, unsure));
            if !ended || unsure {
                parsed.open = parsed.open.or(may_be_option(word, node));
            }
            match node.filter(|row| row.has_commands) {
                Some(parent) if depth == parsed.operands.len() || unsure => {
                    let short_for = word
                        .as_constant()
                        .map(|name| parent.abbreviated(name))
                        .unwrap_or_default();
                    let is_first = |(_, child): &(_, &Row)| std::ptr::eq(*child, short_for[0].1);
                    let clear = short_for
                        .first()
                        .map(|(_, child)| *child)
                        .filter(|_| short_for.iter().all(is_first));
                    item.perhaps = short_for.iter().map(|(name, _)| *name).collect();
                    if let Some(child) = word
                        .as_constant()
                        .and_then(|name| parent.child(name))
                        .or(clear.filter(|_| !unsure))
                    {
                        item.names = &child.names;
                        leaf = !child.has_commands;
                        node = Some(child);
                        depth += 1;
                        parsed.rows.push(child);
                        parsed.operands.push(item);
                        continue;
                    }
                    leaf |= word.is_constant() && item.perhaps.is_empty();
                    // A name that isn't constant may be the one that the rule wants.
                    if (word.openness != Openness::Constant || !item.perhaps.is_empty())
                        && let Some(child) = wanted(parent, depth, &item)
                    {
                        node = child;
                        depth += 1;
                        parsed.operands.push(item);
                        continue;
                    }
                    if !unsure {
                        depth += 1;
                        // What an unknown sub-command takes isn't known either.
                        node = None;
                    }
                }
                _ => {
                    let n_before = parsed.operands.len()
                        - (parsed.rows.len().saturating_sub(1)).min(parsed.operands.len());
                    ended |= node
                        .and_then(|row| row.stops)
                        .is_some_and(|stops| n_before >= stops);
                }
            }
            parsed.operands.push(item);
        }
        // If the one operand were an option, the program would have nothing to do it to.
        if let [only] = parsed.operands.as_slice()
            && only.word.openness == Openness::Computed(0, false)
            && row.is_some_and(|row| row.habits.has("needs"))
        {
            parsed.open = None;
        }
        parsed
    }

    /// Whether all of these conditions hold, of each of which one word is enough: an option, `0` for
    /// no operand, `@name` for a program or a sub-command of one of these names.
    pub(in super::super) fn meets(&self, conditions: &[Vec<&str>], names: &[&str]) -> bool {
        let is_one = |it: &&str| match (*it, it.strip_prefix('@')) {
            ("0", _) => self.operand_words().next().is_none(),
            (_, Some(name)) => names.contains(&name),
            (option, None) => self.has(option),
        };
        conditions.iter().all(|any| any.iter().any(is_one))
    }

    /// The options with their values.
    pub(in super::super) fn given(&self) -> impl Iterator<Item = Given> {
        self.options.iter().flat_map(Item::given)
    }

    /// The values that an option is given, by any of its names.
    pub(in super::super) fn values(&self, name: &str) -> impl Iterator<Item = Word> {
        self.given()
            .filter(move |it| it.option.names.contains(&name))
            .filter_map(|it| it.value)
    }

    pub(in super::super) fn has(&self, name: &str) -> bool {
        self.given().any(|it| it.option.names.contains(&name))
    }

    /// The options with their values, each with how many operands stand before it.
    pub(in super::super) fn placed(&self) -> impl Iterator<Item = (usize, Given)> {
        self.options.iter().flat_map(|item| {
            item.given()
                .into_iter()
                .map(|given| (self.place_of(item), given))
        })
    }

    /// The words that hold an option which the rows don't have, each with how many operands stand
    /// before it.
    pub(in super::super) fn unknown(&self) -> impl Iterator<Item = (usize, &'w Word)> {
        let is_unknown =
            |item: &&Item| !item.known && (item.word.is_constant() || item.given().is_empty());
        self.options
            .iter()
            .filter(is_unknown)
            .map(|item| (self.place_of(item), item.word))
    }

    fn place_of(&self, option: &Item) -> usize {
        self.operands
            .iter()
            .filter(|item| item.names.is_empty() && item.at < option.at)
            .count()
    }

    /// The words of the operands, without those of the sub-commands.
    pub(in super::super) fn operand_words(&self) -> impl Iterator<Item = &'w Word> {
        self.operands
            .iter()
            .filter(|item| item.names.is_empty())
            .map(|item| item.word)
    }
}

/// Why an operand that isn't constant may be an option.
fn may_be_option(word: &Word, row: Option<&Row>) -> Option<&'static str> {
    match word.openness {
        // `"$(pyenv root)"/shims/x`: no option of such a program goes on with a `/`.
        Openness::Computed(0, false)
            if behind_expansions(&word.text)
                .trim_start_matches('…')
                .starts_with('/')
                && row.is_some_and(Row::has_only_switches) =>
        {
            None
        }
        Openness::Computed(at, splits) if at == 0 || splits => {
            Some("a computed word may be an option")
        }
        Openness::Files(0)
            if word.text.starts_with('?')
                || word.text.starts_with('[')
                    && word.text.contains('-')
                    && !["a-z", "0-9", "A-Z"]
                        .iter()
                        .any(|range| word.text.contains(range)) =>
        {
            Some("a pattern of file names may be an option")
        }
        _ => None,
    }
}

/// Whether the option is known, and takes the next word as its value.
pub(in super::super) fn takes_value(word: &Word, row: Option<&Row>) -> (bool, bool) {
    let Some(row) = row else {
        return (false, false);
    };
    let text = word.beginning();
    if word.openness != Openness::Constant && !text.contains('=') {
        return (false, false);
    }
    let (name, attached) = text
        .split_once('=')
        .map_or((text, false), |(name, _)| (name, true));
    let needs =
        |takes: Takes| takes == Takes::Value && !attached && word.openness == Openness::Constant;
    if let Some(option) = row.spelt(name) {
        return (true, needs(option.value));
    }
    if row.attached(text).is_some() {
        return (true, false);
    }
    // `head -5`, `nice --5`: a number that is no option of the row says how many, and nothing else.
    let number = name.trim_start_matches('-');
    if !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) {
        return (true, false);
    }
    if name.starts_with("--") || !row.clusters() {
        return (row.abbreviates() && name.starts_with("--no-"), false);
    }
    for (end, option) in row.letters(name) {
        let Some(option) = option else {
            // `tail -20f`
            if name[..end].ends_with(|letter: char| letter.is_ascii_digit()) {
                continue;
            }
            return (false, false);
        };
        if option.value != Takes::Nothing {
            let needs_next = option.value == Takes::Value
                && end == text.len()
                && word.openness == Openness::Constant;
            return (true, needs_next);
        }
    }
    (true, false)
}
