//! Changes of commands within a shell text: only the words in question are written anew, everything
//! else keeps its quoting, its comments and its blanks.
//!
//! What can't be changed with certainty is an error, which finishes the sentence "failed to ...",
//! and nothing is changed.

use hookwire_base::support::shell_word;
use hookwire_rules::matching::shell::{self, Command, CommandRule, OptionPlace, Script, Shell};
use std::collections::BTreeMap;
use std::ops::Range;

/// A change of a command.
#[derive(Clone, Debug)]
pub enum Change {
    /// Another program, other options.
    Parts {
        program: Option<String>,
        options: BTreeMap<String, OptionChange>,
    },
    /// These words instead of those that the rule names.
    Command(Vec<String>),
}

/// What becomes of an option.
#[derive(Clone, Debug)]
pub enum OptionChange {
    /// Another stands in its place, with its value.
    Replace(String),
    /// It is removed, with its value.
    Remove,
    /// It is added, unless it is there.
    Add,
}

/// Changes commands of a text: those with these numbers, each hit by a rule. `None` if everything
/// is as it should be already.
///
/// # Errors
/// What is to be changed isn't written in the text as a word, can't be told, or the new text would
/// do something else than what was meant.
pub(super) fn change(
    text: &str,
    shell: Shell,
    script: &Script,
    hits: &[(usize, &CommandRule)],
    change: &Change,
) -> Result<Option<String>, String> {
    let mut edits: Vec<(Range<usize>, String)> = Vec::new();
    let mut words = BTreeMap::new();
    for (at, rule) in hits {
        let Some(command) = script.commands().get(*at) else {
            continue;
        };
        let mut draft = Draft {
            text,
            command,
            rule,
            edits: Vec::new(),
            words: Vec::new(),
        };
        draft.words = command
            .words
            .iter()
            .map(|word| vec![word.text.to_string()])
            .collect();
        match change {
            Change::Parts { program, options } => {
                if let Some(program) = program {
                    draft.replace(0, std::slice::from_ref(program))?;
                }
                draft.options(options)?;
            }
            Change::Command(with) => draft.command(with)?,
        }
        edits.extend(draft.edits);
        words.insert(*at, draft.words.concat());
    }
    edits.sort_by_key(|(at, _)| (at.start, at.end));
    // A command that is run in two ways is written once.
    edits.dedup();
    if edits.windows(2).any(|pair| pair[0].0.end > pair[1].0.start) {
        return Err("change the command: two changes are of the same word".into());
    }
    let mut new = String::with_capacity(text.len());
    let mut rest = 0;
    for (at, word) in &edits {
        new.push_str(&text[rest..at.start]);
        new.push_str(word);
        rest = at.end;
    }
    new.push_str(&text[rest..]);
    if new == text {
        return Ok(None);
    }
    // The new text is read again: it must run what was meant, and nothing else may have changed.
    let read = shell::read(&new, shell);
    let is_within =
        |outer: &Range<usize>, at: &Range<usize>| outer.start <= at.start && at.end <= outer.end;
    let is_as_meant = |(n, (old, new)): (usize, (&Command, &Command))| {
        let found = || new.words.iter().map(|word| &word.text);
        match words.get(&n) {
            Some(meant) => found().eq(meant),
            // A command that runs a changed one has other words, too.
            None => {
                found().eq(old.words.iter().map(|word| &word.text))
                    || edits.iter().any(|(at, _)| is_within(&old.span, at))
            }
        }
    };
    let pairs = script.commands().iter().zip(read.commands());
    match script.commands().len() == read.commands().len() && pairs.enumerate().all(is_as_meant) {
        true => Ok(Some(new)),
        false => Err("change the command: the new text would not run what was meant".into()),
    }
}

/// The changes of one command.
struct Draft<'a> {
    text: &'a str,
    command: &'a Command,
    rule: &'a CommandRule,
    edits: Vec<(Range<usize>, String)>,
    /// What stands in the place of each word, and behind it.
    words: Vec<Vec<String>>,
}

impl Draft<'_> {
    /// Where a word is written.
    fn span(&self, n: usize) -> Result<Range<usize>, String> {
        let word = &self.command.words[n];
        let span = word
            .span
            .clone()
            .filter(|at| self.text.get(at.clone()).is_some_and(|it| !it.is_empty()));
        span.ok_or_else(|| {
            format!(
                "change `{}`: it is not written as a word of the command",
                word.text
            )
        })
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
        let words = with.iter().map(String::as_str);
        let written = match n {
            0 => shell_word::command(words),
            _ => words
                .map(shell_word::argument)
                .collect::<Vec<_>>()
                .join(" "),
        };
        self.edits.push((at, written));
        self.words[n] = with.to_vec();
        Ok(())
    }

    fn options(&mut self, options: &BTreeMap<String, OptionChange>) -> Result<(), String> {
        for (name, change) in options {
            let places = match (self.rule.option_places(self.command, name), change) {
                (Ok(places), _) => places,
                // Where it can't be told whether the option is there, adding it makes sure that it
                // is.
                (Err(_), OptionChange::Add) => Vec::new(),
                (Err(why), _) => return Err(why),
            };
            match change {
                OptionChange::Add if places.is_empty() => self.add(name)?,
                OptionChange::Add => {}
                OptionChange::Replace(with) => self.each(name, &places, Some(with))?,
                OptionChange::Remove => self.each(name, &places, None)?,
            }
        }
        Ok(())
    }

    /// Adds an option behind the last word that says what the command does: the program, or a
    /// sub-command.
    fn add(&mut self, name: &str) -> Result<(), String> {
        let sub_commands = self
            .rule
            .operand_words(self.command)
            .into_iter()
            .take(self.rule.sub_commands());
        let head = sub_commands.max().unwrap_or(0);
        let end = self.span(head)?.end;
        self.edits
            .push((end..end, format!(" {}", shell_word::argument(name))));
        self.words[head].push(name.to_string());
        Ok(())
    }

    /// Changes an option wherever the command has it; without another one it is removed.
    fn each(
        &mut self,
        name: &str,
        places: &[OptionPlace],
        with: Option<&String>,
    ) -> Result<(), String> {
        // The command matches the rule, so it has the rule's options, if not where they are looked
        // for.
        if places.is_empty() && self.rule.options().any(|it| it == name) {
            return Err(format!(
                "change `{name}`: the command has it in another spelling"
            ));
        }
        for place in places {
            let word = &self.command.words[place.word];
            let (before, behind) = (&word.text[..place.name.start], &word.text[place.name.end..]);
            if !word.is_constant() || place.name.start == 0 && place.has_value {
                // What is attached to the name stays as it is written.
                let at = self.span(place.word)?;
                let old = &word.text[place.name.clone()];
                if let Some(with) = with
                    && place.name.start == 0
                    && self.text[at.clone()].starts_with(old)
                {
                    self.edits
                        .push((at.start..at.start + old.len(), shell_word::argument(with)));
                    self.words[place.word] = vec![format!("{with}{behind}")];
                    continue;
                }
                if with.is_some() && !word.is_constant() {
                    return Err(format!(
                        "change `{name}`: it is quoted together with its value"
                    ));
                }
            }
            let mut words = Vec::new();
            words.extend((place.name.start > 1).then(|| before.to_string()));
            words.extend(with.map(|with| {
                match behind.starts_with('=') || !with.starts_with("--") {
                    _ if !place.has_value => with.clone(),
                    true => format!("{with}{behind}"),
                    false => format!("{with}={behind}"),
                }
            }));
            words.extend((!place.has_value && !behind.is_empty()).then(|| format!("-{behind}")));
            self.replace(place.word, &words)?;
            if let Some(value) = place.value.filter(|_| with.is_none()) {
                self.replace(value, &[])?;
            }
        }
        Ok(())
    }

    /// Writes words in the place of those that the rule names: of the program and what follows it,
    /// and of options wherever they stand.
    fn command(&mut self, with: &[String]) -> Result<(), String> {
        self.replace(0, with)?;
        for (n, at) in self
            .rule
            .operand_words(self.command)
            .into_iter()
            .enumerate()
        {
            // What stands between would stand behind the new words, where it may mean something
            // else.
            if at != n + 1 {
                let word = &self.command.words[at].text;
                return Err(format!(
                    "change `{word}`: it does not stand where the pattern has it"
                ));
            }
            self.replace(at, &[])?;
        }
        for name in self.rule.options().map(str::to_string).collect::<Vec<_>>() {
            let places = self.rule.option_places(self.command, &name)?;
            self.each(&name, &places, None)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hookwire_base::event::Event;
    use hookwire_base::syntax::source::Layer;
    use hookwire_rules::matching::Asker;
    use hookwire_rules::matching::Facts;
    use hookwire_rules::matching::ToolNaming;
    use hookwire_rules::matching::rule::{Condition, ToolRule};
    use serde_json::json;
    use std::path::Path;

    /// The text after the change of the commands that a rule hits.
    fn changed(text: &str, pattern: &str, what: &Change) -> Result<String, String> {
        let event =
            json!({"event": "PreToolUse", "tool": {"name": "Bash", "input": {"command": text}}});
        let facts = Facts::new(Event::from_json(event).unwrap().into(), Path::new("/p"));
        let rules = vec![ToolRule::new(&format!("Bash({pattern})")).unwrap()];
        let condition = Condition {
            rules,
            ..Condition::default()
        };
        let script = shell::read(text, Shell::Bash);
        let layer = Layer::Project;
        let asker = Asker {
            layer,
            naming: ToolNaming::Canonical,
            guesses: true,
            acts: false,
            any_depth: false,
        };
        let hits = condition.hit_commands(&script, &facts, asker);
        assert!(!hits.is_empty(), "{text}");
        Ok(change(text, Shell::Bash, &script, &hits, what)?.unwrap_or_else(|| text.to_string()))
    }

    fn program(name: &str) -> Change {
        Change::Parts {
            program: Some(name.into()),
            options: BTreeMap::new(),
        }
    }

    fn options(changes: &[(&str, &str)]) -> Change {
        let change = |word: &str| match word {
            "" => OptionChange::Remove,
            "+" => OptionChange::Add,
            word => OptionChange::Replace(word.into()),
        };
        let options = changes
            .iter()
            .map(|(name, word)| (name.to_string(), change(word)))
            .collect();
        Change::Parts {
            program: None,
            options,
        }
    }

    fn command(words: &[&str]) -> Change {
        Change::Command(words.iter().map(|word| word.to_string()).collect())
    }

    #[test]
    fn changes_stay_within_their_words() {
        let pnpm = || program("pnpm");
        let lease = || options(&[("--force", "--force-with-lease")]);
        let mut wrong = Vec::new();
        let (add, force) = (|| command(&["pnpm", "add"]), "git push --force");
        for (text, pattern, change, expected) in [
            ("cd x && npm i y", "npm *", pnpm(), "cd x && pnpm i y"),
            (
                "npm i;  npm  run 'a  b' # npm",
                "npm *",
                pnpm(),
                "pnpm i;  pnpm  run 'a  b' # npm",
            ),
            ("/usr/bin/npm i", "npm *", pnpm(), "pnpm i"),
            ("'npm' i", "npm *", pnpm(), "pnpm i"),
            (
                "X=1 timeout 5 npm t 2>&1 | tail",
                "npm *",
                pnpm(),
                "X=1 timeout 5 pnpm t 2>&1 | tail",
            ),
            ("echo $(npm bin)", "npm *", pnpm(), "echo $(pnpm bin)"),
            (
                "for d in a b; do npm i $d; done",
                "npm *",
                pnpm(),
                "for d in a b; do pnpm i $d; done",
            ),
            ("P=npm; $P i", "npm *", pnpm(), "P=npm; pnpm i"),
            ("npm i", "npm *", program("npm"), "npm i"),
            ("npm i", "npm *", program("my tool's"), r"'my tool'\''s' i"),
            ("npm i", "npm *", program("a=b"), "'a=b' i"),
            (
                "git push --force",
                force,
                lease(),
                "git push --force-with-lease",
            ),
            (
                "git push -f o m",
                force,
                lease(),
                "git push --force-with-lease o m",
            ),
            (
                "git push  '--force'  o",
                force,
                lease(),
                "git push  --force-with-lease  o",
            ),
            (
                "git push -uf o",
                force,
                lease(),
                "git push -u --force-with-lease o",
            ),
            (
                "git push -fu o",
                force,
                lease(),
                "git push --force-with-lease -u o",
            ),
            (
                "git push -qfu o",
                force,
                lease(),
                "git push -q --force-with-lease -u o",
            ),
            (
                "git push -f --force o",
                force,
                lease(),
                "git push --force-with-lease --force-with-lease o",
            ),
            ("git push o", "git push *", lease(), "git push o"),
            (
                "git push o -- --force",
                "git push *",
                lease(),
                "git push o -- --force",
            ),
            (
                "sort -n --parallel='a b'",
                "sort *",
                options(&[("--parallel", "--x")]),
                "sort -n --x='a b'",
            ),
            (
                "head -n5 f",
                "head *",
                options(&[("-n", "--lines")]),
                "head --lines=5 f",
            ),
            (
                "head --lines=5 f",
                "head *",
                options(&[("-n", "--lines")]),
                "head --lines=5 f",
            ),
            (
                "head -n 5 f",
                "head *",
                options(&[("--lines", "")]),
                "head f",
            ),
            (
                "head -qn5 f",
                "head *",
                options(&[("--lines", "")]),
                "head -q f",
            ),
            (
                "own -q -x=1 b",
                "own *",
                options(&[("-q", ""), ("-x", "")]),
                "own b",
            ),
            ("own -q", "own *", options(&[("-q", "")]), "own"),
            (
                "own --x=$Y b",
                "own *",
                options(&[("--x", "--z")]),
                "own --z=$Y b",
            ),
            (
                "git -C d push o",
                "git push *",
                options(&[("--dry-run", "+")]),
                "git -C d push --dry-run o",
            ),
            (
                "git push -n",
                "git push *",
                options(&[("--dry-run", "+")]),
                "git push -n",
            ),
            (
                "own b",
                "own *",
                options(&[("--x=y z", "+")]),
                "own '--x=y z' b",
            ),
            (
                "npm install 'a b' c",
                "npm install *",
                add(),
                "pnpm add 'a b' c",
            ),
            (
                "npm i && npm install x",
                "npm install *",
                add(),
                "pnpm add && pnpm add x",
            ),
            (
                "git push o --force m",
                force,
                command(&["git", "pp"]),
                "git pp o m",
            ),
            (
                "git push -uf o",
                force,
                command(&["git", "pp"]),
                "git pp -u o",
            ),
        ] {
            let found = changed(text, pattern, &change);
            if found.as_deref() != Ok(expected) {
                wrong.push(format!("{text}\n  expected {expected}\n  found {found:?}"));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn what_is_not_certain_stays() {
        let pnpm = || program("pnpm");
        let lease = || options(&[("--force", "--force-with-lease")]);
        let mut wrong = Vec::new();
        let not_a_word = "change `npm`: it is not written as a word of the command";
        let not_meant = "change the command: the new text would not run what was meant";
        let force = "git push --force";
        for (text, pattern, change, expected) in [
            ("sh -c 'npm i'", "npm *", pnpm(), not_a_word),
            ("C='npm i'; $C x", "npm *", pnpm(), not_a_word),
            (
                "for p in npm yarn; do $p i; done",
                "npm *",
                pnpm(),
                not_meant,
            ),
            (
                "git push origin +main -f",
                force,
                lease(),
                "change `--force`: `+main` says the same",
            ),
            (
                "git push --mirror -f",
                force,
                lease(),
                "change `--force`: `--mirror` says the same",
            ),
            (
                "git push --forc",
                force,
                lease(),
                "change `--force`: `--forc` may be another option too",
            ),
            (
                "git push --new -f",
                force,
                lease(),
                "change `--force`: an option before `-f` isn't known, so this may be that one's value",
            ),
            (
                "git push -f $(x)",
                force,
                lease(),
                "change `--force`: a computed word may be an option",
            ),
            (
                "git push -f -$(x)",
                force,
                lease(),
                "change `--force`: it can't be told whether `-$(…)` is it",
            ),
            (
                "own '--x='$Y b",
                "own *",
                options(&[("--x", "--z")]),
                "change `--x`: it is quoted together with its value",
            ),
            (
                "git push -uf",
                force,
                options(&[("--force", ""), ("-u", "")]),
                "change the command: two changes are of the same word",
            ),
            (
                "npm -C d install",
                "npm install *",
                command(&["pnpm", "add"]),
                "change `install`: it does not stand where the pattern has it",
            ),
        ] {
            let found = changed(text, pattern, &change);
            if found.as_ref().err().map(String::as_str) != Some(expected) {
                wrong.push(format!("{text}\n  expected {expected}\n  found {found:?}"));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}
