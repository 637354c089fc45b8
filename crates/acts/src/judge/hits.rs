//! Hits: whether some command of a text does what a rule names, or may.

use super::super::{Files, Judgement, Script};
use super::covers::is_excepted;
use super::named::named_somewhere;
use super::*;
use std::cell::RefCell;

impl Stage {
    /// Whether the command does what the pattern says, if its program is the pattern's as it is
    /// written: any reading of it is enough.
    pub(super) fn hits(&self, command: &Command, piped: bool) -> Held {
        if !piped && self.is_of_another_program(command) || !self.is_written_there(command) {
            return Held::No;
        }
        self.does(command, piped)
    }

    /// Whether the command does what the pattern says, if its program is the pattern's file: by
    /// whichever path, through a link, or as a script that a shell is given.
    pub(super) fn hits_file(&self, command: &Command, place: &Place) -> Held {
        let Some(head) = command.words.first() else {
            return Held::No;
        };
        let is_it = self.is_its_file(head, command, place);
        if is_it == Held::No {
            return Held::No;
        }
        // By the name that the rule has for it.
        let named = command.with(Word::constant(self.program.as_str()).before(&command.words[1..]));
        let from_here = || path::from_here(&named, place).filter(|_| self.names_path());
        let held = match self.does(&named, false) {
            Held::Yes => Held::Yes,
            held => from_here().map_or(held, |named| held.max(self.does(&named, false))),
        };
        held.min(is_it)
    }

    fn is_its_file(&self, head: &Word, command: &Command, place: &Place) -> Held {
        let by_name = self.is_named_by(head);
        // A bare name is found on PATH: `ls` is none of `scripts/*`.
        if !head.text.contains('/') && !head.home {
            let is_any = self.directory.is_some() && self.program.trim_matches('*').is_empty();
            return to_held(by_name && !is_any);
        }
        match &self.directory {
            None if by_name => Held::Yes,
            None => path::led_by_link(&self.program, head, command, place),
            Some(directory) => {
                let pattern = format!("{directory}/{}", self.program);
                // The system's programs are these in each of its directories.
                match programs::is_system_path(&pattern) {
                    true => to_held(by_name),
                    false => path::may_be_program(&pattern, head, by_name, command, place),
                }
            }
        }
    }

    /// The names under which commands of the text put the file that the pattern names: `ln -s
    /// ship.sh go`.
    fn made_of_its_file<'s>(&self, script: &'s Script) -> Vec<&'s str> {
        let puts = |command: &&Command| {
            let name = command.words.first().and_then(Word::as_constant);
            matches!(name.map(base_name), Some("ln" | "cp" | "mv" | "install"))
        };
        let is_its = |word: &Word| glob(&self.program, base_name(&word.text));
        let target = |command: &'s Command| {
            let (last, others) = command.words.get(1..)?.split_last()?;
            others.iter().any(is_its).then(|| base_name(&last.text))
        };
        let all = script.commands.iter().filter(puts);
        all.filter_map(target).collect()
    }

    fn does(&self, command: &Command, piped: bool) -> Held {
        if self.row.is_some() && only_helps(&command.words) {
            return Held::No;
        }
        match self.hits_words(command, piped) {
            Held::Yes => Held::Yes,
            held => {
                let held = self
                    .twins(command)
                    .fold(held, |held, twin| held.max(self.hits_words(&twin, piped)));
                held.max(self.hits_without_vanishing(command, piped))
            }
        }
    }

    /// Whether the program may be in the directory that the pattern names, as both are written.
    fn is_written_there(&self, command: &Command) -> bool {
        let (Some(directory), Some(head)) = (&self.directory, command.words.first()) else {
            return true;
        };
        let Some((written, _)) = head.text.rsplit_once('/') else {
            return true;
        };
        glob(directory, written)
            || head.text.starts_with('.')
            || programs::is_system_path(&head.text)
            || !directory.starts_with('.')
    }

    /// Whether the command is another program's by its name alone, as most commands are. A twin may
    /// be another program. Not for pipes: a shell may run what flows in.
    fn is_of_another_program(&self, command: &Command) -> bool {
        let head = command.words.first().filter(|_| !self.has_twins);
        head.is_some_and(|head| !self.is_named_by(head))
    }

    /// `git -C $x . push`: if nothing has set a variable, the next word stands in its place.
    pub(super) fn hits_without_vanishing(&self, command: &Command, piped: bool) -> Held {
        // Behind the last word, nothing moves.
        let mut from_vanishing = command
            .words
            .iter()
            .skip(1)
            .skip_while(|word| !word.vanishes);
        if from_vanishing.all(|word| word.vanishes) || !self.is_program(command) {
            return Held::No;
        }
        let words = command
            .words
            .iter()
            .enumerate()
            .filter(|(at, word)| *at == 0 || !word.vanishes);
        let rest = command.with(words.map(|(_, word)| word.clone()).collect());
        self.hits_words(&rest, piped).min(Held::Doubt(
            "a word may be another one's value if a variable is empty",
        ))
    }

    pub(super) fn hits_words(&self, command: &Command, piped: bool) -> Held {
        if command.words.is_empty() {
            return to_held(self.is_everything());
        }
        let flows_in = piped.then(|| runs_what_flows_in(command));
        // A shell with a script or a text of its own takes it for data.
        if flows_in == Some(false) && programs::is_shell(&self.program) {
            return Held::No;
        }
        let is_shell = flows_in == Some(true) && self.program == "sh";
        if !is_shell && !self.is_program(command) {
            return Held::No;
        }
        if let Some(whole) = &self.whole {
            return to_held(glob(whole, &command.normal()));
        }
        let parsed = Reading::new(
            &command.words[1..],
            self.row,
            &self.operands[..self.commands],
            &command.directories,
        );
        // A sub-command that a variable gives may bring options of its own.
        for (wanted, item) in self
            .operands
            .iter()
            .take(self.commands)
            .zip(&parsed.operands)
        {
            match wanted.could_be_item(item, parsed.directories) {
                Held::No => break,
                Held::Doubt(_) => return Held::Doubt("the sub-command is computed"),
                Held::Yes => {}
            }
        }
        let mut held = self.parsed_hits(&parsed, 0);
        if held == Held::No && self.begins_with_any() {
            // `grep -e x /etc/passwd`: an option takes the place of an operand.
            let left = programs::files::operands_left_out(&command.words);
            held = (1..=left).fold(held, |held, n| held.max(self.parsed_hits(&parsed, n)));
        }
        if held != Held::No && self.is_about_act() && self.only_shows(command, &parsed) {
            return Held::No;
        }
        if self.dashes
            && !command
                .words
                .iter()
                .any(|word| word.as_constant() == Some("--"))
        {
            held = held.min(parsed.open.map_or(Held::No, Held::Doubt));
        }
        let ends_open = |head: &Word| {
            matches!(head.openness, Openness::Operand(_)) && is_part_of_name(head.beginning())
        };
        if command.words.first().is_some_and(ends_open) {
            held = held.min(Held::Doubt("the program's name is computed"));
        }
        if command.words.first().is_some_and(is_one_of_files) && self.program != "*" {
            held = held.min(Held::Doubt("the program is one of several files"));
        }
        match held {
            Held::No if self.program == "git" => self.git_doubt(command),
            held => held,
        }
    }

    /// Whether the pattern is about what a program does, and not about the program.
    fn is_about_act(&self) -> bool {
        self.operands.iter().any(|it| it.glob != "*")
            || self.row.is_some_and(|row| !row.has_commands)
    }

    /// Whether a command is certain to do nothing but show what it would do, by an option that the
    /// pattern doesn't name.
    fn only_shows(&self, command: &Command, parsed: &Reading) -> bool {
        static SHOWING: programs::Names = programs::Names::new("only-shows");
        let program = command.words.first().and_then(Word::as_constant);
        let Some(program) = program.map(base_name).filter(|_| parsed.open.is_none()) else {
            return false;
        };
        let verb = parsed.operands.first().and_then(|it| it.word.as_constant());
        let shows = |option: &str| {
            let of = |owner: &str| SHOWING.has(&format!("{owner}:{option}"));
            of(program) || verb.is_some_and(|verb| of(&format!("{program}.{verb}")))
        };
        let words = command.words.get(1..).unwrap_or_default();
        let ends = words
            .iter()
            .position(|word| word.as_constant() == Some("--"))
            .unwrap_or(words.len());
        // The last one of several counts, and some programs have a word for its opposite.
        let is_undone = |item: &Item, name: &str| {
            let plain = name.trim_start_matches('-');
            let others = parsed.options.iter().filter(|it| it.at != item.at);
            let mut beginnings = others.map(|it| it.word.beginning().trim_start_matches('-'));
            let next = words.get(item.at + 1).map(|it| it.text.as_str());
            beginnings.any(|it| it.strip_prefix("no-").unwrap_or(it).starts_with(plain))
                || matches!(next, Some("false" | "0" | "no" | "off" | "none" | "null"))
        };
        // Behind an option that isn't known, it may be that one's value.
        let is_value = |item: &Item| {
            let before = item.at.checked_sub(1).and_then(|at| words.get(at));
            item.unsure && before.is_some_and(|word| word.beginning().starts_with('-'))
        };
        parsed.options.iter().any(|item| {
            let Some(text) = item.word.as_constant() else {
                return false;
            };
            let given = item.given();
            let letters = given.iter().filter(|it| it.value.is_none());
            let mut names = letters.flat_map(|it| it.option.names.iter().copied());
            let Some(text) = std::iter::once(text)
                .filter(|text| shows(text))
                .chain(names.find(|name| shows(name) && !text.contains('=')))
                .next()
            else {
                return false;
            };
            let name = text.split('=').next().unwrap_or_default();
            item.at < ends
                && !is_value(item)
                && !is_undone(item, name)
                && !self.options.iter().any(|it| it.is(name, self.deepest()))
        })
    }

    /// Git does another command's work by its settings, aliases and plumbing.
    pub(super) fn git_doubt(&self, command: &Command) -> Held {
        let (verb, settings) = programs::git_verb(&command.words);
        let Some(verb) = verb.and_then(|at| command.words.get(at)) else {
            return Held::No;
        };
        // Of most of them no word is another command: `git lfs pull`, but `git lfs push`.
        let says = |name: &str| {
            let may_be = |word: &Word| match word.openness {
                Openness::Constant => word.text.contains(name),
                // `*.patch` doesn't become `commit`.
                Openness::Files(_) if !word.text.contains(['?', '[', '(', '$']) => {
                    glob(&word.text, name)
                }
                _ => true,
            };
            command.words.iter().any(may_be)
        };
        let gives = |option: &OptionPattern| {
            let may_be = |word: &Word| match word.openness {
                Openness::Constant => {
                    option.is(&word.text, self.deepest())
                        || word.text.contains(' ')
                        || option.operands.iter().any(|it| glob(it, &word.text))
                }
                Openness::Files(_) => false,
                _ => true,
            };
            !option.together.is_empty() || command.words.iter().skip(1).any(may_be)
        };
        let is_said = || {
            let is_named = |operand: &Operand| match operand.is_optional
                || operand.glob.contains(['?', '[', '\\'])
            {
                true => true,
                false => operand.glob.split('*').all(&says),
            };
            self.operands.iter().all(is_named) && self.options.iter().all(gives)
        };
        let runs = programs::git_runs(&verb.text);
        if runs.has("instead") || runs.has("named") && is_said() {
            return Held::Doubt("a command of git that does another one's work");
        }
        // `git all push`: it hands the words behind it to git again.
        if verb.is_constant()
            && runs.has("again")
            && self
                .operands
                .first()
                .is_some_and(|operand| says(&operand.glob))
        {
            let behind = command
                .words
                .iter()
                .position(|word| std::ptr::eq(word, verb))
                .unwrap_or(0);
            let again = command.words[behind..]
                .iter()
                .position(|word| self.operands[0].glob == word.text);
            let rest = again.map_or(&[][..], |again| &command.words[behind + again..]);
            let parsed = Reading::new(
                rest,
                self.row,
                &self.operands[..self.commands],
                &command.directories,
            );
            if self.parsed_hits(&parsed, 0) != Held::No {
                return Held::Doubt("a command of git that may run another one");
            }
        }
        let own = self
            .operands
            .first()
            .is_some_and(|operand| glob(&operand.glob, &verb.text));
        if settings && (own || !runs.has("own")) {
            return Held::Doubt("a setting of git that changes what it does");
        }
        Held::No
    }

    /// Whether its first operand behind sub-commands may be anything, and others follow.
    fn begins_with_any(&self) -> bool {
        let own = self.operands.get(self.commands..).unwrap_or_default();
        own.len() > 1 && own[0].glob == "*"
    }

    /// `left_out`: so many of its first operands the command has otherwise.
    fn parsed_hits(&self, parsed: &Reading, left_out: usize) -> Held {
        let with = |held: Held, option| {
            if held == Held::No {
                held
            } else {
                held.min(parsed.has(option))
            }
        };
        self.options
            .iter()
            .fold(self.operands_hit(parsed, left_out), with)
    }

    fn operands_hit(&self, parsed: &Reading, left_out: usize) -> Held {
        let is_open = self.open || !self.options.is_empty();
        let mut held = Held::Yes;
        let mut at = 0;
        let is_left_out = |index: usize, operand: &Operand| {
            (self.commands..self.commands + left_out).contains(&index) && operand.glob == "*"
        };
        for (index, operand) in self.operands.iter().enumerate() {
            if is_left_out(index, operand) {
                continue;
            }
            let is_command = index < self.commands
                || index == 0 && self.row.is_some_and(|row| row.habits.has("first"));
            if operand.is_optional {
                let next = self.operands.get(index + 1).zip(parsed.operands.get(at));
                if next.is_none_or(|(next, item)| {
                    next.could_be_item(item, parsed.directories) == Held::Yes
                }) {
                    continue;
                }
            }
            let (from, mut has_passed) = (at, false);
            let mut found = Held::No;
            while let Some(item) = parsed.operands.get(at) {
                let this = operand.could_be_item(item, parsed.directories);
                if !item.word.spreads() {
                    at += 1;
                }
                if this > Held::No && !(has_passed && item.leaf) {
                    found = this;
                    break;
                }
                if item.word.spreads() {
                    at += 1;
                    continue;
                }
                // A sub-command stands where it stands, unless an option before it isn't known.
                let is_any =
                    index > 0 && self.operands[index - 1].is_any_verb() && !item.names.is_empty();
                has_passed |= is_any;
                if !item.unsure && (is_command || !is_open) && !is_any && !operand.spans() {
                    break;
                }
            }
            if found == Held::No && parsed.options.iter().any(|item| operand.is_within(item)) {
                (at, found) = (from, Held::Yes);
            }
            if found == Held::No {
                return Held::No;
            }
            held = held.min(found);
        }
        if is_open {
            return held;
        }
        // An exact pattern names all operands, and every option.
        let is_more = |item: &Item| !item.unsure && !item.word.spreads();
        let is_other = |option: &Item| {
            option.depth >= self.commands || self.row.is_none() && self.program != "*"
        };
        let names_all =
            !parsed.operands[at..].iter().any(is_more) && !parsed.options.iter().any(is_other);
        if names_all { held } else { Held::No }
    }
}

/// Whether a command only prints how it is called: nothing but sub-commands stands before the
/// option that asks for that.
pub(super) fn only_helps(words: &[Word]) -> bool {
    let Some(([program, commands @ ..], last)) =
        words.split_last().map(|(last, rest)| (rest, last))
    else {
        return false;
    };
    let Some(last) = last
        .as_constant()
        .filter(|it| it.ends_with('h') || it.ends_with("help"))
    else {
        return false;
    };
    let Some(row) = program
        .as_constant()
        .and_then(|name| options::row(base_name(name)))
    else {
        return false;
    };
    let mut leaf = row;
    let is_switch = |row: &Row, word: &str| {
        row.option(word)
            .is_some_and(|it| it.value == Takes::Nothing)
    };
    for command in commands {
        if command
            .as_constant()
            .is_some_and(|word| is_switch(leaf, word))
        {
            continue;
        }
        let Some(child) = command.as_constant().and_then(|name| leaf.child(name)) else {
            return false;
        };
        leaf = child;
    }
    let is_help = |option: &options::Opt| {
        option
            .names
            .iter()
            .any(|name| name.trim_start_matches('-') == "help")
    };
    let asks = |row: &Row| row.option(last).is_some_and(is_help);
    last == "--help" || last.starts_with('-') && (asks(leaf) || asks(row))
}

pub(super) fn may_run_what_flows_in(name: &str) -> bool {
    programs::is_shell(name) || matches!(name, "eval" | "." | "source" | "at" | "batch")
}

/// Whether a command runs what flows into it as a shell does.
pub(super) fn runs_what_flows_in(command: &Command) -> bool {
    let Some(head) = command.words.first() else {
        return false;
    };
    match base_name(&head.text) {
        name if !may_run_what_flows_in(name) => false,
        "eval" => true,
        "." | "source" => {
            let is_input =
                |file: &Word| file.text.starts_with("/dev/") || file.text.starts_with("/proc/");
            command.words.get(1).is_some_and(is_input)
        }
        // They keep it for a shell.
        "at" | "batch" => !command
            .words
            .iter()
            .any(|word| matches!(word.text.as_str(), "-f" | "-l" | "-r" | "-d" | "-c")),
        _ => reads_its_input(&command.words),
    }
}

/// Whether a shell reads its commands from its input, or is given a text or a file that isn't
/// constant.
pub(super) fn reads_its_input(words: &[Word]) -> bool {
    if running::only_looks(words) {
        return false;
    }
    let read = match running::words_of_shell(words) {
        Ok(Some(read)) => read,
        Ok(None) => return true,
        Err(_) => return !words.iter().all(Word::is_constant),
    };
    match words
        .get(read.at)
        .filter(|_| !read.from_input)
        .map(Word::as_constant)
    {
        Some(Some(text)) => {
            !read.command && (text.starts_with("/dev/") || text.starts_with("/proc/"))
        }
        Some(None) | None => true,
    }
}

/// What commands of a text do of what rules name.
struct Found<'a> {
    matching: Vec<usize>,
    doubt: Option<Doubt>,
    unless: &'a [&'a CommandRule],
    place: &'a Place<'a>,
}

impl Found<'_> {
    /// Adds what a rule comes to for a command, unless an exception takes that away. A file that a
    /// shell is given is a command by itself.
    fn add(&mut self, held: Held, script: &Script, at: usize, command: Option<&Command>) {
        let Found { unless, place, .. } = *self;
        let is_taken = |command| is_excepted(unless, command, place);
        match place.held_there(held, script, at) {
            Held::No => {}
            _ if command.is_some_and(is_taken) => {}
            Held::Yes if self.matching.contains(&at) => {}
            Held::Yes => self.matching.push(at),
            Held::Doubt(why) => {
                let at = script.commands[at].span.clone();
                self.doubt.get_or_insert(Doubt { why, at });
            }
        }
    }
}

/// Why a command may be a file of another name.
const MADE: &str = "the text may have given the file another name";

/// Whether the program of a command has one of these names.
fn is_one_of(names: &[&str], command: &Command) -> bool {
    let head = command.words.first();
    head.is_some_and(|head| names.contains(&base_name(&head.text)))
}

/// Where links lead a path, looked at once for all rules, and for so many paths at most: a text may
/// name thousands.
fn led_once(path: &str, led: &RefCell<Led>, place: &Place) -> Option<String> {
    const MOST: usize = 256;
    if let Some((_, known)) = led.borrow().iter().find(|(known, _)| known == path) {
        return known.clone();
    }
    if led.borrow().len() >= MOST {
        return None;
    }
    let leads = place.links.and_then(|links| links(path));
    led.borrow_mut().push((path.to_string(), leads.clone()));
    leads
}

type Led = Vec<(String, Option<String>)>;

/// Whether some command of the text matches one of `rules` and isn't covered by `unless`.
pub fn hits(
    rules: &[&CommandRule],
    unless: &[&CommandRule],
    script: &Script,
    place: &Place,
) -> Judgement {
    let led = RefCell::new(Vec::new());
    let links = |path: &str| led_once(path, &led, place);
    let place = &Place {
        links: place.links.map(|_| &links as &Files),
        ..*place
    };
    let mut found = Found {
        matching: Vec::new(),
        doubt: None,
        unless,
        place,
    };
    for rule in rules {
        let Some(stage) = rule.stage() else {
            for at in pipe_hits(&rule.stages, script, &mut found.doubt) {
                found.add(Held::Yes, script, at, None);
            }
            continue;
        };
        let names_path = stage.names_path();
        let is_of_another = |command| stage.is_of_another_program(command);
        let elsewhere = match stage.settings.is_empty() {
            true => Vec::new(),
            false => stage.set_elsewhere(script),
        };
        let settings_held = |held: Held, command: &Command| match held {
            Held::No => Held::No,
            held if elsewhere.is_empty() => held,
            held => held.min(stage.settings_held(&elsewhere, command)),
        };
        if stage.may_be_script {
            let made = stage.made_of_its_file(script);
            let held = |command: &Command| {
                let held = match stage.hits_file(command, place) {
                    Held::No if is_one_of(&made, command) => Held::Doubt(MADE),
                    held => held,
                };
                settings_held(held, command)
            };
            let files = script.run_files.iter();
            for (at, file) in files.filter_map(|file| file.as_command(script)) {
                found.add(held(&file), script, at, Some(&file));
            }
            for (at, command) in script.commands.iter().enumerate() {
                // What its name tells is kept below.
                if stage.directory.is_some() || !stage.is_program(command) {
                    found.add(held(command), script, at, Some(command));
                }
            }
        }
        // What is told by the names alone isn't worth keeping.
        if stage.directory.is_some() || !names_path && script.commands.iter().all(is_of_another) {
            continue;
        }
        let judge = || {
            script
                .commands
                .iter()
                .map(|command| stage.hits(command, false))
                .collect()
        };
        let held = script.judged.by(rule.id, judge);
        for (at, (command, held)) in script.commands.iter().zip(&*held).enumerate() {
            // Where the text runs is another place in another event.
            let from_here = || match names_path && *held != Held::Yes {
                true => path::from_here(command, place).map(|command| stage.hits(&command, false)),
                false => None,
            };
            let held = from_here().map_or(*held, |other| other.max(*held));
            let held = settings_held(held, command);
            found.add(held, script, at, Some(command));
        }
    }
    let Found {
        matching, doubt, ..
    } = found;
    if !matching.is_empty() {
        return Judgement::Yes(matching);
    }
    if let Some(doubt) = doubt {
        return Judgement::Doubt(doubt);
    }
    if let Some(gap) = script.gaps.first() {
        return Judgement::Doubt(gap.clone());
    }
    let Some(unseen) = &script.unseen else {
        return Judgement::No;
    };
    for rule in rules.iter().filter(|_| script.runs_constants) {
        let Some((stage, later)) = rule.stages.split_first() else {
            continue;
        };
        if !stage.may_be_set(script) {
            continue;
        }
        if let Some(at) = named_somewhere(stage, later, unless, script, place) {
            return Judgement::Doubt(Doubt {
                why: "code that the text doesn't show may run, and this names what the rule names",
                at,
            });
        }
    }
    Judgement::Delegates(unseen.clone())
}

pub(super) fn pipe_hits(
    stages: &[Stage],
    script: &Script,
    doubt: &mut Option<Doubt>,
) -> Vec<usize> {
    let mut found = Vec::new();
    for flow in &script.flows {
        // Each stage of the rule in a later part of the flow than the one before.
        let mut from = 0;
        let mut held = Held::Yes;
        let mut first = None;
        for stage in stages {
            let mut best = (Held::No, 0, 0);
            for (at, range) in flow.iter().enumerate().skip(from) {
                for index in range.clone() {
                    let Some(command) = script.commands.get(index) else {
                        continue;
                    };
                    let this = match stage.hits(command, true) {
                        Held::No if at > 0 && stage.may_be_run_by(command) => {
                            Held::Doubt("a program that may run it")
                        }
                        held => held,
                    };
                    if this > best.0 {
                        best = (this, at, index);
                    }
                }
                if best.0 == Held::Yes {
                    break;
                }
            }
            held = held.min(best.0);
            if best.0 == Held::No {
                break;
            }
            first.get_or_insert(best.2);
            from = best.1 + 1;
        }
        match (held, first) {
            (Held::Yes, Some(at)) => found.push(at),
            (Held::Doubt(why), Some(at)) => {
                doubt.get_or_insert(Doubt {
                    why,
                    at: script.commands[at].span.clone(),
                });
            }
            _ => {}
        }
    }
    found
}
