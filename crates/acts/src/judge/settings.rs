//! Variables that are set before a command: `GH_TOKEN=* gh *`, `MERGE_OK=1 git merge *`.

use super::super::Script;
use super::super::names::is_of_name;
use super::covers::quoted;
use super::*;

/// A variable that a pattern names, with what it has to be.
#[derive(Debug, Clone)]
pub(super) struct Setting {
    /// With `*` for any characters.
    name: String,
    value: String,
}

/// The variables that a pattern's words begin with, and the words behind them.
pub(super) fn before(words: &[String]) -> Result<(Vec<Setting>, &[String]), String> {
    let setting = |word: &String| {
        let (name, value) = word.split_once('=')?;
        let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| is_of_name(c) || c == '*');
        is_name.then(|| Setting {
            name: name.to_string(),
            value: value.to_string(),
        })
    };
    let settings: Vec<Setting> = words.iter().map_while(setting).collect();
    let rest = &words[settings.len()..];
    if rest.is_empty() && !settings.is_empty() {
        return Err("a pattern names a command behind its variables; `*` is any".to_string());
    }
    Ok((settings, rest))
}

/// The name and the value of a word `NAME=value`.
fn parts(word: &Word) -> (&str, &str) {
    word.text.split_once('=').unwrap_or((&word.text, ""))
}

impl Setting {
    fn names(&self, word: &Word) -> bool {
        glob(&self.name, parts(word).0)
    }

    /// Whether a word sets the variable to what the pattern says.
    fn held_by(&self, word: &Word) -> Held {
        if !self.names(word) {
            return Held::No;
        }
        match word.as_constant() {
            _ if self.value == "*" => Held::Yes,
            Some(_) => to_held(glob(&self.value, parts(word).1)),
            None => Held::Doubt("a variable's value is computed"),
        }
    }

    /// Whether it names the variable itself, or one that runs nothing: `GIT_*=*` isn't about
    /// `GIT_SSH_COMMAND`.
    fn may_allow(&self, word: &Word) -> bool {
        let (name, value) = parts(word);
        let is_harmless = || programs::hazard(name, Some(value)) == programs::Hazard::None;
        !self.name.contains('*') || is_harmless()
    }
}

impl Stage {
    /// Whether the pattern covers all that is set before a command, and what it names is set so.
    pub(super) fn covers_settings(&self, command: &Command) -> bool {
        let Some(given) = &command.settings else {
            return !command.assigns && self.settings.is_empty();
        };
        let is_named = |word: &Word| {
            let mut own = self.settings.iter().filter(|setting| setting.names(word));
            own.any(|setting| setting.held_by(word) == Held::Yes && setting.may_allow(word))
        };
        // Of several, the last one counts; each has to fit.
        let is_set = |setting: &Setting| {
            let mut named = given.iter().filter(|word| setting.names(word)).peekable();
            named.peek().is_some() && named.all(|word| setting.held_by(word) == Held::Yes)
        };
        given
            .iter()
            .all(|word| is_named(word) || self.is_plain(word, command))
            && self.settings.iter().all(is_set)
    }

    /// What the pattern doesn't cover of the variables that are set before a command, which is
    /// `named` so, for people.
    pub(super) fn unnamed_setting(&self, command: &Command, named: &str) -> Option<String> {
        if self.covers_settings(command) {
            return None;
        }
        let given = || command.settings.iter().flat_map(|given| given.iter());
        let is_set = |own: &&Setting| given().any(|word| own.names(word));
        if let Some(own) = self.settings.iter().find(|own| !is_set(own)) {
            return Some(format!("{named} without `{}={}`", own.name, own.value));
        }
        let is_named = |word: &&Word| {
            let mut own = self.settings.iter();
            own.any(|own| own.held_by(word) == Held::Yes) || self.is_plain(word, command)
        };
        let left = given().find(|word| !is_named(word)).or(given().next());
        let told = left.map_or("an assignment".into(), |word| quoted(&word.text));
        Some(format!("{told} before {named}"))
    }

    /// Whether a variable that is set before a command changes nothing of what runs.
    fn is_plain(&self, word: &Word, command: &Command) -> bool {
        let is_minded = || programs::minded(&command.words).any(|name| name == parts(word).0);
        programs::is_plain_word(word) && !is_minded()
    }

    /// Whether the text says anything of the variables that the pattern names.
    pub(super) fn may_be_set(&self, script: &Script) -> bool {
        self.settings
            .iter()
            .all(|setting| script.sets(&setting.name))
    }

    /// Whether what the pattern names is set for a command, or may be by what the text does
    /// elsewhere, which is told once for all commands of a text.
    pub(super) fn settings_held(&self, elsewhere: &[Held], command: &Command) -> Held {
        let held = |(setting, elsewhere): (&Setting, &Held)| {
            let before = command.settings.iter().flat_map(|given| given.iter());
            let own = before.filter(|word| setting.names(word));
            own.map(|word| setting.held_by(word))
                .max()
                .unwrap_or(*elsewhere)
        };
        let settings = self.settings.iter().zip(elsewhere);
        settings.map(held).min().unwrap_or(Held::Yes)
    }

    /// Whether a text sets each variable of the pattern by itself, for commands that don't.
    pub(super) fn set_elsewhere(&self, script: &Script) -> Vec<Held> {
        let exported = |setting: &Setting| {
            let words = script.commands.iter().filter(|it| exports(it));
            let words = words.flat_map(|other| other.words.iter().skip(1));
            words.map(|word| setting.held_by(word)).max()
        };
        let held = |setting: &Setting| match exported(setting).unwrap_or(Held::No) {
            Held::No if script.sets(&setting.name) => {
                Held::Doubt("a variable that the text sets may be set for the command")
            }
            held => held,
        };
        self.settings.iter().map(held).collect()
    }
}

/// Whether a command gives variables to the commands behind it.
pub(in super::super) fn exports(command: &Command) -> bool {
    let head = command.words.first().and_then(Word::as_constant);
    matches!(head, Some("export" | "declare" | "typeset"))
}

impl Script {
    /// Whether a word of the text, or a text within it, sets a variable or may.
    fn sets(&self, name: &str) -> bool {
        let literal = name.split('*').next().unwrap_or_default();
        let others = self.commands.iter().flat_map(|command| &command.words);
        let given = self
            .commands
            .iter()
            .flat_map(|command| command.settings.iter());
        let all = others.chain(given.flat_map(|given| given.iter()));
        all.map(|word| word.text.as_str())
            .chain(self.texts())
            .chain(self.assigned.iter().map(|name| name.as_str()))
            .any(|text| text.contains(literal))
    }
}
