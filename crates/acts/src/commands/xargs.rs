//! `xargs`: the command that it is given, with the words that it reads.

use super::super::expand::{Openness, Word, join};
use super::super::programs::parsed::{Given, Item};
use super::super::programs::{self, Parsed};
use super::super::{Role, Span};
use super::{Facts, Input, Walk};

/// What ends an item of what `xargs` reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ends {
    Blanks,
    /// The end of a line, where blanks and quotes may stand for something else than themselves.
    Line,
    /// This character and nothing else.
    At(char),
    Unknown,
}

/// How many items one command is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Batch {
    All,
    Words(usize),
    /// So many lines, or as many as fit.
    Unknown,
}

/// What the options of `xargs` say.
struct Options {
    /// What stands for an item: `-I{}`.
    mark: Option<String>,
    from_file: bool,
    ends: Ends,
    batch: Batch,
    /// Where its command begins.
    at: usize,
}

/// Items that are told apart; of more, any may be.
const MAX_ITEMS: usize = 32;

const MAX_ITEM_TEXT: usize = 4096;

impl Ends {
    pub(super) fn at(delimiter: Option<&Word>) -> Ends {
        let Some(text) = delimiter.and_then(Word::as_constant) else {
            return Ends::Unknown;
        };
        let mut chars = text.chars();
        match (text, chars.next(), chars.next()) {
            ("\\n", ..) => Ends::At('\n'),
            ("\\t", ..) => Ends::At('\t'),
            ("\\0", ..) => Ends::At('\0'),
            (_, Some(c), None) => Ends::At(c),
            _ => Ends::Unknown,
        }
    }
}

impl Batch {
    fn of(number: Option<&Word>) -> Batch {
        let number = number
            .and_then(Word::as_constant)
            .and_then(|text| text.parse().ok());
        number
            .filter(|number| *number > 0)
            .map_or(Batch::Unknown, Batch::Words)
    }
}

impl Options {
    /// Reads the options; why they can't be told, or nothing if it is an error to any xargs, which
    /// ends it.
    fn new(words: &[Word]) -> Result<Options, Option<&'static str>> {
        let parsed = Parsed::new(&words[1..], programs::options::row("xargs"));
        let at = parsed
            .operands
            .first()
            .map_or(words.len(), |item| item.at + 1);
        if words
            .get(at)
            .is_some_and(|word| matches!(word.openness, Openness::Computed(0, _)))
        {
            return Err(Some("the program's name is computed"));
        }
        let mut options = Options {
            mark: None,
            from_file: false,
            ends: Ends::Blanks,
            batch: Batch::All,
            at,
        };
        let is_unknown =
            |item: &&Item| !item.known && (item.word.is_constant() || item.given().is_empty());
        if let Some(word) = parsed.options.iter().find(is_unknown).map(|item| item.word) {
            return Err(match word.text.starts_with("--") {
                _ if matches!(word.openness, Openness::Computed(0, _)) => {
                    Some("the program's name is computed")
                }
                true => Some("an unknown option of xargs"),
                // GNU's, the BSDs', illumos' and busybox' have all letters of the row and no other.
                false => None,
            });
        }
        for Given { option, value } in parsed.given() {
            let mark = || {
                value
                    .as_ref()
                    .map_or_else(|| "{}".to_string(), |word| word.text.to_string())
            };
            match option.letter() {
                Some('0') => options.ends = Ends::At('\0'),
                Some('d') => options.ends = Ends::at(value.as_ref()),
                Some('I' | 'J' | 'i') => options.mark = Some(mark()),
                Some('a') => options.from_file = true,
                Some('n') => options.batch = Batch::of(value.as_ref()),
                Some('L' | 's' | 'l') => options.batch = Batch::Unknown,
                _ if option.names.contains(&"--max-lines") => options.batch = Batch::Unknown,
                _ => {}
            }
        }
        Ok(options)
    }

    /// The items of each command that it runs.
    fn batches(&self, items: &[Word]) -> Vec<Vec<Word>> {
        match self.batch {
            Batch::Words(n) if items.len() > n && items.len() <= MAX_ITEMS => {
                items.chunks(n).map(<[Word]>::to_vec).collect()
            }
            // It may begin anew with any of them.
            Batch::Unknown if (2..=MAX_ITEMS).contains(&items.len()) => (0..items.len())
                .map(|from| items[from..].to_vec())
                .collect(),
            Batch::Words(_) | Batch::Unknown if items.len() > MAX_ITEMS => {
                vec![vec![Word::computed()]]
            }
            Batch::All | Batch::Words(_) | Batch::Unknown => vec![items.to_vec()],
        }
    }
}

impl Walk {
    pub(super) fn xargs(&mut self, words: &[Word], span: &Span, facts: &Facts) {
        self.emit(words, span, facts, Role::Plain);
        let options = match Options::new(words) {
            Ok(options) => options,
            Err(Some(why)) => return self.gap(why, span),
            // A project's own xargs may have more options.
            Err(None) if words[0].text.contains('/') => {
                return self.gap("an unknown option of xargs", span);
            }
            Err(None) => return,
        };
        let command = words.get(options.at..).unwrap_or_default();
        if command.is_empty() {
            return;
        }
        let ends = if options.mark.is_some() && options.ends == Ends::Blanks {
            Ends::Line
        } else {
            options.ends
        };
        let mut items = self.read_items(options.from_file, ends);
        if options.batch == Batch::Words(1) {
            items.iter_mut().for_each(stay_whole);
        }
        let mut made: Vec<Vec<Word>> = match &options.mark {
            Some(mark) if items.len() <= MAX_ITEMS => items
                .iter()
                .map(|item| put_in(command, mark, item))
                .collect(),
            Some(mark) => vec![put_in(command, mark, &Word::computed())],
            None => Vec::new(),
        };
        // Where both are asked for, which one counts depends on their order and on the program.
        if options.mark.is_none() || !matches!(options.batch, Batch::All | Batch::Words(1)) {
            // Each path that is found is one of these.
            let given = match &self.input {
                Input::Found(_) => items.chunks(1).map(<[Word]>::to_vec).collect(),
                _ => options.batches(&items),
            };
            made.extend(
                given
                    .into_iter()
                    .map(|items| command.iter().cloned().chain(items).collect()),
            );
        }
        if made.is_empty() {
            made.push(command.to_vec());
        }
        let inner = Facts {
            data: false,
            ..facts.clone()
        };
        let outer = std::mem::replace(&mut self.input, Input::Outer);
        made.iter().for_each(|words| self.run(words, span, &inner));
        self.input = outer;
    }

    /// The items that a command reads from its input, or from a file.
    pub(super) fn read_items(&self, from_file: bool, ends: Ends) -> Vec<Word> {
        let computed = || vec![Word::computed()];
        let operand = || {
            vec![Word {
                text: "…".into(),
                openness: Openness::Operand(0),
                ..Word::default()
            }]
        };
        match (&self.input, ends) {
            _ if from_file => computed(),
            (Input::Text(text), Ends::At(end)) if text.len() < MAX_ITEM_TEXT => text
                .strip_suffix(end)
                .unwrap_or(text)
                .split(end)
                .map(Word::constant)
                .collect(),
            (Input::Text(text), Ends::Blanks | Ends::Line)
                if text.len() < MAX_ITEM_TEXT && !text.contains(['\'', '"', '\\']) =>
            {
                let lines = text
                    .split('\n')
                    .map(str::trim_start)
                    .filter(|line| !line.is_empty());
                match ends {
                    Ends::Line => lines.map(Word::constant).collect(),
                    _ => text.split_whitespace().map(Word::constant).collect(),
                }
            }
            (Input::Found(words), Ends::At('\0')) => words.to_vec(),
            (
                Input::Operands | Input::Found(_),
                Ends::Blanks | Ends::Line | Ends::At('\n' | '\0'),
            ) => operand(),
            _ => computed(),
        }
    }
}

/// A command with an item in the place of its mark.
fn put_in(command: &[Word], mark: &str, item: &Word) -> Vec<Word> {
    command
        .iter()
        .map(|word| {
            if mark.is_empty() {
                word.clone()
            } else {
                with_item(word, mark, item)
            }
        })
        .collect()
}

pub(super) fn with_item(word: &Word, mark: &str, item: &Word) -> Word {
    let Some(found) = word.text.find(mark) else {
        return word.clone();
    };
    let before = word.openness.from().unwrap_or(word.text.len());
    let openness = match (item.openness, word.openness) {
        (Openness::Constant, Openness::Constant) => Openness::Constant,
        (Openness::Operand(_), _) if before > found => {
            join(found, Openness::Constant, Openness::Operand(0))
        }
        // What stands open in the word may stand behind the item.
        _ => Openness::Computed(before.min(found), false),
    };
    let text = if item.is_constant() {
        word.text.replace(mark, &item.text).into()
    } else {
        word.text.clone()
    };
    Word {
        text,
        openness,
        ..word.clone()
    }
}

/// Makes one word of a computed item that stands alone.
fn stay_whole(item: &mut Word) {
    if item.openness == Openness::Computed(0, true) {
        item.openness = Openness::Computed(0, false);
    }
}
