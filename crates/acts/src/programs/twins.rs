//! Commands that do the same under other words: `docker rm` and `docker container rm`, `kill -9`
//! and `kill -s KILL`.

use super::super::names::base_name;
use super::super::word::Word;
use super::files::unbundled;
use super::in_place_of;
use super::options::{self, Known, Same};
use super::parsed::{Given, Item, Parsed};

const SIGNALS: [(&str, &str); 7] = [
    ("HUP", "1"),
    ("INT", "2"),
    ("QUIT", "3"),
    ("KILL", "9"),
    ("TERM", "15"),
    ("CONT", "18"),
    ("STOP", "19"),
];

/// Whether a rule about the program must look at the twins of a command.
pub(in super::super) fn has_twins(program: &str) -> bool {
    has_own_twins(program) || !options::known(program).ways().is_empty()
}

fn has_own_twins(program: &str) -> bool {
    matches!(
        program,
        "kill" | "killall" | "pkill" | "tar" | "gtar" | "bsdtar"
    )
}

/// Other programs whose commands may be this one's.
pub(in super::super) fn other_programs(
    program: &Known<'_>,
) -> impl Iterator<Item = &'static str> + use<> {
    program
        .ways()
        .iter()
        .flat_map(|same| [first(same.path), first(same.words)])
}

/// The program of a path.
fn first(path: &'static str) -> &'static str {
    path.split([' ', '|']).next().unwrap_or_default()
}

/// Other commands that mean what these words mean.
pub(in super::super) fn twins(words: &[Word]) -> Vec<Vec<Word>> {
    const MOST: usize = 8;
    let mut all: Vec<Vec<Word>> = of(words);
    let mut at = 0;
    // Twins may have twins in turn.
    while let Some(twin) = all.get(at).filter(|_| all.len() < MOST) {
        let is_new = |it: &Vec<Word>| {
            let is_same = |other: &[Word]| {
                other
                    .iter()
                    .map(|word| &word.text)
                    .eq(it.iter().map(|word| &word.text))
            };
            !is_same(words) && !all.iter().any(|other| is_same(other))
        };
        let more: Vec<Vec<Word>> = of(twin).into_iter().filter(is_new).collect();
        all.extend(more);
        at += 1;
    }
    all
}

fn of(words: &[Word]) -> Vec<Vec<Word>> {
    let Some(name) = words.first().and_then(Word::as_constant).map(base_name) else {
        return Vec::new();
    };
    let own = match name {
        _ if !has_own_twins(name) => None,
        "kill" | "killall" | "pkill" => kill(words),
        _ => tar(words),
    };
    let program = options::known(name);
    let same = program.ways();
    if same.is_empty() {
        return own.into_iter().collect();
    }
    let parsed = Parsed::new(&words[1..], program.any_row());
    let told = |same: &Same| {
        let ways = [
            retold(words, &parsed, same.path, same.words),
            retold(words, &parsed, same.words, same.path),
        ];
        ways.into_iter().flatten()
    };
    own.into_iter().chain(same.iter().flat_map(told)).collect()
}

/// The words of a command with those of another path in place of its own; nothing if its own is
/// another.
fn retold(words: &[Word], parsed: &Parsed, from: &str, to: &str) -> Option<Vec<Word>> {
    let name = base_name(&words[0].text);
    let (mut from, mut to) = (from.split(' '), to.split(' '));
    let programs = from.next()?;
    if !programs.split('|').any(|it| it == name) {
        return None;
    }
    let mut operands = parsed.operands.iter();
    let mut taken = Vec::new();
    for part in from {
        let at = match part.starts_with('-') {
            true => {
                let is_no =
                    |value: &Option<Word>| value.as_ref().is_some_and(|value| value.text != "true");
                let is_it = |it: &Given| it.option.names.contains(&part) && !is_no(&it.value);
                parsed
                    .options
                    .iter()
                    .find(|item| item.given().iter().any(is_it))?
                    .at
            }
            false => {
                let text = |item: &&Item| {
                    item.word
                        .as_constant()
                        .is_some_and(|it| part.split('|').any(|name| name == it))
                };
                operands.next().filter(text)?.at
            }
        };
        taken.push(at + 1);
    }
    // Options of the program itself stay in front.
    let verb = taken.first().copied().unwrap_or(1);
    let program = to.next()?;
    let is_same = program
        .split('|')
        .any(|it| programs.split('|').any(|name| name == it));
    let (head, before) = match is_same {
        true => (words[0].clone(), 1..verb),
        false => (in_place_of(&words[0], program), 1..1),
    };
    let own = to.map(|part| Word::constant(part.split('|').next().unwrap_or(part)));
    let rest = (before.end..words.len())
        .filter(|at| !taken.contains(at))
        .map(|at| words[at].clone());
    Some(
        std::iter::once(head)
            .chain(words[before].iter().cloned())
            .chain(own)
            .chain(rest)
            .collect(),
    )
}

/// The words with others in place of some.
fn replaced(words: &[Word], at: std::ops::Range<usize>, by: &[&str]) -> Vec<Word> {
    let (before, after) = (
        words.get(..at.start).unwrap_or_default(),
        words.get(at.end..).unwrap_or_default(),
    );
    let by = by.iter().map(|text| Word::constant(*text));
    before
        .iter()
        .cloned()
        .chain(by)
        .chain(after.iter().cloned())
        .collect()
}

/// A signal as `-9`.
fn kill(words: &[Word]) -> Option<Vec<Word>> {
    let text = words.get(1)?.as_constant()?;
    let next = || words.get(2).and_then(Word::as_constant);
    let (signal, end) = match text {
        "-s" | "-n" | "--signal" => (next()?, 3),
        _ => match text
            .strip_prefix("--signal=")
            .or_else(|| text.strip_prefix("-s"))
        {
            Some(signal) => (signal, 2),
            None => (text.strip_prefix('-')?, 2),
        },
    };
    let name = signal.to_ascii_uppercase();
    let name = name.strip_prefix("SIG").unwrap_or(&name);
    let number = SIGNALS
        .iter()
        .find(|(known, number)| *known == name || *number == name)
        .map(|(_, number)| *number)?;
    let short = format!("-{number}");
    (text != short).then(|| replaced(words, 1..end, &[&short]))
}

/// `tar xf a` as `tar -x -f a`: the values of the letters follow in their order.
fn tar(words: &[Word]) -> Option<Vec<Word>> {
    let bundle = words.get(1)?.as_constant()?;
    if bundle.is_empty() || !bundle.bytes().all(|byte| byte.is_ascii_alphabetic()) {
        return None;
    }
    Some(words[0].clone().before(&unbundled(&words[1..])?))
}
