//! Variables that are set before a command: `GH_TOKEN=* gh *`, `MERGE_OK=1 git merge *`.

use super::super::Script;
use super::super::names::is_of_name;
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
        let is_plain = |word: &Word| {
            programs::is_plain_word(word) && !programs::minds(&command.words, parts(word).0)
        };
        // Of several, the last one counts; each has to fit.
        let is_set = |setting: &Setting| {
            let mut named = given.iter().filter(|word| setting.names(word)).peekable();
            named.peek().is_some() && named.all(|word| setting.held_by(word) == Held::Yes)
        };
        given.iter().all(|word| is_named(word) || is_plain(word))
            && self.settings.iter().all(is_set)
    }

    /// Whether the text says anything of the variables that the pattern names.
    pub(super) fn may_be_set(&self, script: &Script) -> bool {
        self.settings
            .iter()
            .all(|setting| script.sets(&setting.name))
    }

    /// Whether what the pattern names is set for a command, or may be by what the text does before.
    pub(super) fn settings_held(&self, script: &Script, command: &Command) -> Held {
        let held = |setting: &Setting| {
            let before = command.settings.iter().flat_map(|given| given.iter());
            let own = before.map(|word| setting.held_by(word)).max();
            let exports = |other: &Command| {
                let head = other.words.first().and_then(Word::as_constant);
                matches!(head, Some("export" | "declare" | "typeset"))
            };
            let exported = || {
                let earlier = script.commands.iter().filter(|other| exports(other));
                let words = earlier.flat_map(|other| other.words.iter().skip(1));
                words.map(|word| setting.held_by(word)).max()
            };
            let held = own.or_else(exported).unwrap_or(Held::No);
            match held {
                Held::No if own.is_none() && script.sets(&setting.name) => {
                    Held::Doubt("a variable that the text sets may be set for the command")
                }
                held => held,
            }
        };
        self.settings.iter().map(held).min().unwrap_or(Held::Yes)
    }
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
