//! Changes of commands within a shell text: only the words in question are written anew, everything else
//! keeps its quoting, its comments and its blanks.
//!
//! Pure. It takes the commands of a text with the places of their words. What can't be changed with certainty
//! is an error, which finishes the sentence "failed to ...", and nothing is changed.

use std::collections::BTreeMap;
use std::ops::Range;

/// A simple command of a text.
pub(super) struct Command {
    /// Its argv: the program first.
    pub(super) words: Vec<Word>,
}

/// One word of a command.
#[derive(Clone)]
pub(super) struct Word {
    /// What the shell makes of it.
    pub(super) text: String,
    /// Where it is written, in bytes of the text; `None` if it isn't written there as a word.
    pub(super) span: Option<Range<usize>>,
}

/// A change of a command.
pub(super) enum Change {
    /// Another program, other options.
    Parts { program: Option<String>, options: BTreeMap<String, OptionChange> },
    /// These words instead of those that the pattern names.
    Command(Vec<String>),
}

/// What becomes of an option.
pub(super) enum OptionChange {
    /// Another stands in its place, with the value that is attached to it.
    Replace(String),
    /// It is removed, with the value that is attached to it.
    Remove,
    /// It is added, unless it is there.
    Add,
}

/// A text with its changes.
#[derive(Debug, PartialEq)]
pub(super) struct Changed {
    pub(super) text: String,
    /// The words that each changed command is to have, in the order of the commands. Whoever reads the new
    /// text finds them there, or the change must not be made.
    pub(super) words: Vec<Vec<String>>,
}

/// Changes commands of a text that a pattern matches. The words of the pattern, without a last `*`, are
/// `pattern`; the program comes first. `None` if everything is as it should be already.
///
/// # Errors
/// A word isn't written in the text as a word, or an option of the pattern can't be found.
pub(super) fn change(
    text: &str,
    commands: &[&Command],
    pattern: &[&str],
    change: &Change,
) -> Result<Option<Changed>, String> {
    let mut edits: Vec<(Range<usize>, String)> = Vec::new();
    let mut words = Vec::with_capacity(commands.len());
    for command in commands {
        let mut draft = Draft { text, command, edits: Vec::new(), words: Vec::new() };
        draft.words = command.words.iter().map(|word| vec![word.text.clone()]).collect();
        match change {
            Change::Parts { program, options } => {
                if let Some(program) = program {
                    draft.replace(0, std::slice::from_ref(program))?;
                }
                draft.options(options, pattern)?;
            }
            Change::Command(with) => draft.command(with, pattern)?,
        }
        edits.extend(draft.edits);
        words.push(draft.words.concat());
    }
    edits.sort_by_key(|(at, _)| (at.start, at.end));
    // A command that is run in two ways is written once.
    edits.dedup();
    if edits.windows(2).any(|pair| pair[0].0.end > pair[1].0.start) {
        return Err("change the command: one that is to be changed is within another".into());
    }
    let mut new = String::with_capacity(text.len());
    let mut rest = 0;
    for (at, word) in &edits {
        new.push_str(&text[rest..at.start]);
        new.push_str(word);
        rest = at.end;
    }
    new.push_str(&text[rest..]);
    Ok((new != text).then_some(Changed { text: new, words }))
}

/// The changes of one command.
struct Draft<'a> {
    text: &'a str,
    command: &'a Command,
    edits: Vec<(Range<usize>, String)>,
    /// What stands in the place of each word, and behind it.
    words: Vec<Vec<String>>,
}

impl Draft<'_> {
    /// Where a word is written.
    fn span(&self, n: usize) -> Result<Range<usize>, String> {
        let word = &self.command.words[n];
        let span = word.span.clone().filter(|at| self.text.get(at.clone()).is_some_and(|it| !it.is_empty()));
        span.ok_or_else(|| format!("change `{}`: it is not written as a word of the command", word.text))
    }

    /// Writes words in the place of one; none removes it with the blanks before it.
    fn replace(&mut self, n: usize, with: &[String]) -> Result<(), String> {
        if matches!(with, [word] if *word == self.command.words[n].text) {
            return Ok(());
        }
        let mut at = self.span(n)?;
        if with.is_empty() {
            at.start = self.text[..at.start].trim_end_matches([' ', '\t']).len();
        }
        let written: Vec<_> = with.iter().enumerate().map(|(i, word)| quoted(word, n == 0 && i == 0)).collect();
        self.edits.push((at, written.join(" ")));
        self.words[n] = with.to_vec();
        Ok(())
    }

    /// The place of the last word that says what the command does: the program, or a sub-command.
    fn head(&self, pattern: &[&str]) -> usize {
        let mut head = 0;
        for word in pattern.iter().skip(1).take_while(|word| !word.starts_with('-') && !word.contains('*')) {
            match (head + 1..self.command.words.len()).find(|n| self.command.words[*n].text == *word) {
                Some(n) => head = n,
                None => break,
            }
        }
        head
    }

    /// The options: the words behind the program up to `--`.
    fn option_words(&self) -> impl Iterator<Item = (usize, &Word)> {
        let words = self.command.words.iter().enumerate().skip(1);
        words.take_while(|(_, word)| word.text != "--").filter(|(_, word)| word.text.starts_with('-'))
    }

    fn options(&mut self, options: &BTreeMap<String, OptionChange>, pattern: &[&str]) -> Result<(), String> {
        let mut found = false;
        for (name, change) in options {
            let is_it = |word: &Word| word.text.strip_prefix(name.as_str()).is_some_and(is_end_of_name);
            let places: Vec<usize> = self.option_words().filter(|(_, word)| is_it(word)).map(|(n, _)| n).collect();
            if let OptionChange::Add = change {
                if places.is_empty() {
                    let head = self.head(pattern);
                    let end = self.span(head)?.end;
                    self.edits.push((end..end, format!(" {}", quoted(name, false))));
                    self.words[head].push(name.clone());
                }
                continue;
            }
            if let Some((_, word)) = self.option_words().find(|(_, word)| may_hold(&word.text, name)) {
                return Err(format!("change `{name}`: `{}` may be several options in one", word.text));
            }
            found |= !places.is_empty();
            for n in places {
                match change {
                    OptionChange::Replace(with) => self.rename(n, name, with)?,
                    OptionChange::Remove | OptionChange::Add => self.replace(n, &[])?,
                }
            }
        }
        // The command matches the pattern, so the option is there: as a prefix, or in its other spelling.
        let changes = |name: &&&str| options.get(**name).is_some_and(|it| !matches!(it, OptionChange::Add));
        match pattern.iter().find(changes) {
            Some(name) if !found => Err(format!("change `{name}`: the command has it in another spelling")),
            Some(_) | None => Ok(()),
        }
    }

    /// Another name for an option; what is attached to it stays as it is written.
    fn rename(&mut self, n: usize, name: &str, with: &str) -> Result<(), String> {
        let word = &self.command.words[n].text;
        let Some(value) = word.strip_prefix(name).filter(|value| !value.is_empty()) else {
            return self.replace(n, &[with.to_string()]);
        };
        let at = self.span(n)?;
        if !self.text[at.clone()].starts_with(name) {
            return Err(format!("change `{name}`: it is quoted together with its value"));
        }
        self.edits.push((at.start..at.start + name.len(), quoted(with, false)));
        self.words[n] = vec![format!("{with}{value}")];
        Ok(())
    }

    /// Writes words in the place of those that the pattern names: of the program and what follows it, and of
    /// options wherever they stand.
    fn command(&mut self, with: &[String], pattern: &[&str]) -> Result<(), String> {
        self.replace(0, with)?;
        let mut next = 1;
        for name in pattern.iter().skip(1) {
            let words = &self.command.words;
            let n = match name.starts_with('-') {
                true => self.option_words().find(|(_, word)| word.text == *name).map(|(n, _)| n),
                false => Some(next).filter(|n| words.get(*n).is_some_and(|word| word.text == *name)),
            };
            let n = n.ok_or_else(|| format!("change `{name}`: it does not stand where the pattern has it"))?;
            next += usize::from(n == next);
            self.replace(n, &[])?;
        }
        Ok(())
    }
}

/// Whether what follows an option's name in a word ends it.
fn is_end_of_name(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with('=')
}

/// Whether a word such as `-uf` may hold an option such as `-f`, and more.
fn may_hold(word: &str, name: &str) -> bool {
    let letters = |text: &str| text.strip_prefix('-').filter(|it| !it.starts_with('-')).map(str::to_string);
    match (letters(word), letters(name)) {
        (Some(word), Some(letter)) => {
            letter.chars().count() == 1
                && word.contains(&letter)
                && !word.strip_prefix(&letter).is_some_and(is_end_of_name)
        }
        _ => false,
    }
}

/// Words that mean something to a shell where a program is expected.
const RESERVED: [&str; 17] = [
    "if", "then", "else", "elif", "fi", "do", "done", "case", "esac", "while", "until", "for", "in", "select",
    "function", "time", "coproc",
];

/// A word as every shell of the Bourne family reads it.
fn quoted(word: &str, is_program: bool) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-+:,./@%".contains(c);
    // `a=b` in the place of the program is an assignment, and in front of anything zsh looks `=a` up.
    let may_assign = !word.starts_with('-') && word.contains('=');
    let plain = !word.is_empty() && word.chars().all(|c| is_plain(c) || c == '=') && !may_assign;
    if plain && !(is_program && RESERVED.contains(&word)) {
        return word.to_string();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The commands of a text without nesting. `\` before a blank and single quotes keep a word together; a
    /// word with `$` isn't written as a word.
    fn commands(text: &str) -> Vec<Command> {
        let (mut commands, mut words, mut word, mut start) = (Vec::new(), Vec::new(), String::new(), None);
        let (mut in_quotes, mut is_escaped) = (false, false);
        for (at, c) in text.char_indices().chain([(text.len(), ';')]) {
            let is_end = !in_quotes && !is_escaped && (c.is_whitespace() || ";&|".contains(c));
            match c {
                _ if is_end => {
                    if let Some(start) = start.take() {
                        let span = Some(start..at).filter(|_| !word.contains('$'));
                        words.push(Word { text: std::mem::take(&mut word), span });
                    }
                    if !c.is_whitespace() && !words.is_empty() {
                        commands.push(Command { words: std::mem::take(&mut words) });
                    }
                    continue;
                }
                '\'' if !is_escaped => in_quotes = !in_quotes,
                '\\' if !in_quotes && !is_escaped => is_escaped = true,
                c => {
                    is_escaped = false;
                    word.push(c);
                }
            }
            start = start.or(Some(at));
        }
        commands
    }

    /// The text after the change of its commands that run the pattern's program; what a reader of the new text
    /// finds must be what is promised.
    fn changed(text: &str, pattern: &str, what: &Change) -> Result<String, String> {
        let pattern: Vec<&str> = pattern.split(' ').collect();
        let all = commands(text);
        let is_matched = |it: &&Command| it.words[0].text.rsplit('/').next() == Some(pattern[0]);
        let matched: Vec<&Command> = all.iter().filter(is_matched).collect();
        assert!(!matched.is_empty(), "{text}");
        let places: Vec<usize> = (0..all.len()).filter(|n| is_matched(&&all[*n])).collect();
        let Some(new) = change(text, &matched, &pattern, what)? else { return Ok(text.to_string()) };
        let read: Vec<Vec<String>> =
            commands(&new.text).into_iter().map(|it| it.words.into_iter().map(|word| word.text).collect()).collect();
        assert_eq!(read.len(), all.len(), "{}", new.text);
        let found: Vec<_> = places.iter().map(|n| read[*n].clone()).collect();
        assert_eq!(found, new.words, "{}", new.text);
        Ok(new.text)
    }

    fn program(name: &str) -> Change {
        Change::Parts { program: Some(name.into()), options: BTreeMap::new() }
    }

    fn options(changes: &[(&str, &str)]) -> Change {
        let change = |word: &str| match word {
            "" => OptionChange::Remove,
            "+" => OptionChange::Add,
            word => OptionChange::Replace(word.into()),
        };
        let options = changes.iter().map(|(name, word)| (name.to_string(), change(word))).collect();
        Change::Parts { program: None, options }
    }

    fn command(words: &[&str]) -> Change {
        Change::Command(words.iter().map(|word| word.to_string()).collect())
    }

    #[test]
    fn changes_stay_within_their_words() {
        let lease = || options(&[("--force", "--force-with-lease"), ("-f", "--force-with-lease")]);
        let other = "change `--force`: the command has it in another spelling";
        for (text, pattern, change, expected) in [
            ("cd x && npm i y", "npm", program("pnpm"), Ok("cd x && pnpm i y")),
            ("npm i;  npm  run 'a  b' # npm", "npm", program("pnpm"), Ok("pnpm i;  pnpm  run 'a  b' # npm")),
            ("/usr/bin/npm i", "npm", program("pnpm"), Ok("pnpm i")),
            ("'npm' i", "npm", program("pnpm"), Ok("pnpm i")),
            ("npm i", "npm", program("npm"), Ok("npm i")),
            ("npm i", "npm", program("my tool's"), Ok(r"'my tool'\''s' i")),
            ("npm i", "npm", program("a=b"), Ok("'a=b' i")),
            ("npm i", "npm", program("time"), Ok("'time' i")),
            ("git push --force", "git push --force", lease(), Ok("git push --force-with-lease")),
            ("git push -f o m", "git push --force", lease(), Ok("git push --force-with-lease o m")),
            ("git push  '--force'  o", "git push --force", lease(), Ok("git push  --force-with-lease  o")),
            ("git push --force='a b'", "git push --force", lease(), Ok("git push --force-with-lease='a b'")),
            (
                "git push '--force=a b'",
                "git push --force",
                lease(),
                Err("change `--force`: it is quoted together with its value"),
            ),
            ("git push -uf", "git push --force", lease(), Err("change `-f`: `-uf` may be several options in one")),
            ("git push --forc", "git push --force", lease(), Err(other)),
            ("git push -- --force", "git push --force", lease(), Err(other)),
            ("git push $F", "git push --force", lease(), Err(other)),
            ("git status", "git", lease(), Ok("git status")),
            ("a -q -x=1 b", "a", options(&[("-q", ""), ("-x", "")]), Ok("a b")),
            ("a -q", "a", options(&[("-q", "")]), Ok("a")),
            ("git -C d push o", "git push", options(&[("--dry-run", "+")]), Ok("git -C d push --dry-run o")),
            ("git push --dry-run", "git push", options(&[("--dry-run", "+")]), Ok("git push --dry-run")),
            ("a b", "a *", options(&[("--x=y z", "+")]), Ok("a '--x=y z' b")),
            ("npm install 'a b' c", "npm install", command(&["pnpm", "add"]), Ok("pnpm add 'a b' c")),
            ("npm install && npm install x", "npm install", command(&["pnpm", "add"]), Ok("pnpm add && pnpm add x")),
            ("git push o --force m", "git push --force", command(&["git", "pp"]), Ok("git pp o m")),
            (
                "npm -C d install",
                "npm install",
                command(&["pnpm", "add"]),
                Err("change `install`: it does not stand where the pattern has it"),
            ),
        ] {
            let found = changed(text, pattern, &change);
            assert_eq!(found, expected.map(str::to_string).map_err(str::to_string), "{text}");
        }
    }

    #[test]
    fn what_is_not_written_as_a_word_stays() {
        let word = |text: &str, span| Word { text: text.into(), span };
        let nested = Command { words: vec![word("npm", None), word("i", None)] };
        let text = "sh -c 'npm i'";
        let error = change(text, &[&nested], &["npm"], &program("pnpm"));
        assert_eq!(error, Err("change `npm`: it is not written as a word of the command".into()));
        // Places that are no places of the text.
        for span in [0..99, 5..5, 13..13] {
            let astray = Command { words: vec![word("npm", Some(span))] };
            assert!(change(text, &[&astray], &["npm"], &program("pnpm")).is_err());
        }
        // One within the other: the outer one's word is not what it was.
        let text = "npm $(npm i)";
        let (outer, inner) = (
            Command { words: vec![word("npm", Some(0..3)), word("$(npm i)", Some(4..12))] },
            Command { words: vec![word("npm", Some(6..9)), word("i", Some(10..11))] },
        );
        let both = change(text, &[&outer, &inner], &["npm"], &program("pnpm")).unwrap().unwrap();
        assert_eq!(both.text, "pnpm $(pnpm i)");
        let overlapping = Command { words: vec![word("npm", Some(4..12))] };
        assert!(change(text, &[&overlapping, &inner], &["npm"], &program("pnpm")).is_err());
    }
}
