//! Git: what its commands run, what a push does by its settings, and which branch is checked out.

use super::super::expand::Word;
use super::super::programs::files::Uses;
use super::super::programs::{self, Known, running};
use super::super::{Role, Shell, Span};
use super::{Directories, Facts, Input, MAX_KEPT, TOO_LARGE, Walk, base_name};

impl Walk {
    pub(super) fn git(&mut self, program: &Known<'_>, words: &[Word], span: &Span, facts: &Facts) {
        self.emit(words, span, facts, Role::Plain);
        // A patch names files.
        if let Input::Text(text) = self.input.clone()
            && Uses::of(words).patches
        {
            self.text(&text, span);
        }
        let (verb, settings) = programs::git_verb(words);
        if settings {
            self.unseen("a setting of git that may run a program", span);
        }
        match verb
            .and_then(|at| words.get(at))
            .map(|word| (word.as_constant(), word))
        {
            None => {}
            Some((None, _)) => self.unseen("git is given a computed command", span),
            Some((Some("config"), _)) => {
                self.configures_push(words, span);
                let is_alias = |word: &Word| word.text.to_ascii_lowercase().starts_with("alias.");
                let risky = words.iter().any(is_alias) || running::git_configured(words).is_some();
                if risky && words.len() > verb.unwrap_or(0) + 2 {
                    self.aliases = true;
                    self.unseen("a setting of git that may run a program", span);
                }
            }
            // It runs a script of the repository, as a commit or a push does.
            Some((Some("hook"), _)) => {
                self.unseen("git runs a hook", span);
                if self.aliases {
                    self.gap("git has settings or hooks that the text has written", span);
                }
            }
            Some((Some("bisect"), _)) if words.iter().any(|word| word.text == "run") => {
                let at = words
                    .iter()
                    .position(|word| word.text == "run")
                    .unwrap_or(0);
                // At the top of the repository.
                self.elsewhere(|this| this.run(&words[at + 1..], span, facts));
            }
            Some((Some("submodule"), _)) if words.iter().any(|word| word.text == "foreach") => {
                let at = words
                    .iter()
                    .position(|word| word.text == "foreach")
                    .unwrap_or(0);
                let skip = words[at + 1..]
                    .iter()
                    .take_while(|word| word.text.starts_with('-'))
                    .count();
                let text = &words[at + 1 + skip..];
                self.elsewhere(|this| {
                    this.text_for_shell(text, Shell::Posix, "git is given computed text", span)
                });
            }
            Some((Some(name), _)) if programs::git_runs(name).has("own") => {
                if matches!(name, "remote" | "push") {
                    self.configured_push(words, verb.unwrap_or(0), span, facts);
                }
                let transport = words.iter().any(|word| {
                    word.text.bytes().any(|it| it == b':') && word.text.contains("ext::")
                });
                let configures = name == "clone"
                    && words.iter().any(|word| {
                        let text = word.text.as_str();
                        text.starts_with("--config")
                            || text.starts_with('-')
                                && !text.starts_with("--")
                                && text.contains('c')
                    });
                if transport {
                    // Its URL is a command line with escapes of its own.
                    self.gap("a URL of git that runs a program", span);
                } else if self.text_options(program, words, span) {
                    self.unseen("an option of git runs a program", span);
                } else if self.aliases {
                    self.unseen("git has settings or hooks that the text has written", span);
                } else if configures {
                    self.unseen("an option of git runs a program", span);
                } else if !settings {
                    self.mark_data(facts);
                }
            }
            Some((Some(_), _)) => {
                // `git xargs git push`
                self.runs_words();
                self.unseen("git may have an alias by that name", span);
                if self.aliases {
                    self.gap("git is given an alias that the text has set", span);
                }
            }
        }
    }

    /// `git config remote.origin.push +main`: what a later push does without being told.
    pub(super) fn configures_push(&mut self, words: &[Word], span: &Span) {
        let key = words.iter().position(|word| {
            let key = word.beginning().to_ascii_lowercase();
            key.starts_with("remote.") && (key.ends_with(".push") || key.ends_with(".mirror"))
        });
        let Some((at, value)) = key.and_then(|at| Some((at, words.get(at + 1)?))) else {
            return;
        };
        let is_off = matches!(value.text.as_str(), "false" | "no" | "off" | "0");
        match words[at].text.to_ascii_lowercase().ends_with(".mirror") {
            true if is_off => {}
            true => self.keep_configured_push(Word::constant("--mirror"), span),
            false => self.keep_configured_push(value.clone(), span),
        }
    }

    /// Keeps the settings that a text writes into git's file; where the text doesn't show what it
    /// writes there, a later push may be told anything.
    pub(super) fn writes_settings_of_git(&mut self, text: Option<&str>) {
        const NOWHERE: Span = 0..0;
        let Some(text) = text else {
            return self.keep_configured_push(Word::computed(), &NOWHERE);
        };
        for line in text.lines() {
            // `[remote "origin"] push = +main`
            let setting = line.rsplit_once(']').map_or(line, |(_, setting)| setting);
            let (key, value) = setting.split_once('=').unwrap_or((setting, "true"));
            let value = value.trim().trim_matches('"');
            match key.trim().to_ascii_lowercase().as_str() {
                "mirror" if !matches!(value, "false" | "no" | "off" | "0") => {
                    self.keep_configured_push(Word::constant("--mirror"), &NOWHERE);
                }
                "push" => self.keep_configured_push(Word::constant(value), &NOWHERE),
                "path" => self.keep_configured_push(Word::computed(), &NOWHERE),
                _ => {}
            }
        }
    }

    pub(super) fn keep_configured_push(&mut self, told: Word, span: &Span) {
        if self
            .configured_pushes
            .iter()
            .any(|it| it.text == told.text && it.openness == told.openness)
        {
            return;
        }
        if self.configured_pushes.len() >= MAX_KEPT {
            return self.gap(TOO_LARGE, span);
        }
        self.configured_pushes.push(told);
    }

    /// A push by what the text has configured: it is listed as if it were told so.
    pub(super) fn configured_push(
        &mut self,
        words: &[Word],
        verb: usize,
        span: &Span,
        facts: &Facts,
    ) {
        if words[verb].text == "remote" {
            let is_mirror =
                |word: &Word| matches!(word.text.as_str(), "--mirror" | "--mirror=push");
            let adds = words.get(verb + 1).is_some_and(|word| word.text == "add")
                && words.iter().any(is_mirror);
            if adds {
                self.keep_configured_push(Word::constant("--mirror"), span);
            }
            return;
        }
        if self.configured_pushes.is_empty() {
            return;
        }
        let configured = self.configured_pushes.clone();
        // A refspec of the command's own stands for those of the settings.
        let n_operands = words[verb + 1..]
            .iter()
            .filter(|word| !word.text.starts_with('-'))
            .count();
        for it in configured
            .into_iter()
            .filter(|it| n_operands < 2 || it.text == "--mirror")
        {
            let remote = (n_operands == 0).then(|| Word::constant("origin"));
            let all: Vec<Word> = words.iter().cloned().chain(remote).chain([it]).collect();
            self.emit(&all, span, facts, Role::Plain);
        }
    }

    /// `git push origin "$(git branch --show-current)"` is `git push origin HEAD`, if the text
    /// moves to no other branch. Where it begins one, that may be meant too. Elsewhere the word may
    /// be any.
    pub(super) fn settle_branch(&mut self) {
        if !std::mem::take(&mut self.names_branch) {
            return;
        }
        let mut begun = Vec::new();
        let mut stays = true;
        for command in &self.script.commands {
            let is_git = command
                .words
                .first()
                .is_some_and(|head| base_name(&head.text) == "git");
            let verb = programs::git_verb(&command.words).0.filter(|_| is_git);
            let rest = verb.map_or(&[][..], |at| &command.words[at..]);
            let texts: Vec<&str> = rest.iter().map(|word| word.text.as_str()).collect();
            match (texts.as_slice(), rest) {
                (["checkout", "-b", ..] | ["switch", "-c", ..], [_, _, name, ..])
                    if name.is_constant() =>
                {
                    begun.push(name.clone());
                }
                ([verb, ..], _) if programs::git_runs(verb).has("stays") => {}
                (["branch", "--show-current"] | ["symbolic-ref", "--short", "HEAD"] | [], _) => {}
                _ => stays = false,
            }
        }
        let mut pushes = Vec::new();
        for command in self
            .script
            .commands
            .iter_mut()
            .filter(|it| it.words.iter().any(Word::is_branch))
        {
            // In another repository it is another branch.
            let is_push = command.words[0].text == "git"
                && command.words.get(1).is_some_and(|word| word.text == "push");
            if stays && is_push && !command.assigns && command.directories == Directories::First {
                for name in &begun {
                    let words = command
                        .words
                        .iter()
                        .map(|word| if word.is_branch() { name } else { word });
                    pushes.push(command.with(words.cloned().collect()));
                }
            } else {
                command
                    .words
                    .iter_mut()
                    .filter(|word| word.is_branch())
                    .for_each(Word::forget_branch);
            }
        }
        self.script.commands.extend(pushes);
    }
}
