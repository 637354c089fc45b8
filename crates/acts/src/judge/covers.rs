//! Covers: whether all that a text does is certain, and named by a rule.

use super::super::programs::parsed::Given;
use super::super::{Judgement, Role, Script};
use super::*;

impl Stage {
    /// Whether the pattern names all of the command; what runs code it must name itself.
    pub(super) fn covers(&self, command: &Command, place: &Place) -> Held {
        let held = self.covers_words(command, place);
        let name = command
            .words
            .first()
            .map_or("", |head| base_name(&head.text));
        let names_all = || {
            let parsed = Reading::new(&command.words[1..], self.row, &[], &command.directories);
            let names = |item: &Item| {
                let is_it = |pattern: &OptionPattern| pattern.is(&item.word.text, item.row);
                self.options.iter().any(|pattern| {
                    is_it(pattern) && pattern.value_fits(item, parsed.directories) == Held::Yes
                })
            };
            // Who allows an interpreter whole allows its code.
            let is_whole = self.leading.is_empty() && programs::is_interpreter(name);
            let counts = |word: &&Word| !is_whole || !word.is_constant();
            running::code_words(name, &command.words)
                .into_iter()
                .filter(counts)
                .all(|word| {
                    match parsed
                        .options
                        .iter()
                        .find(|item| std::ptr::eq(item.word, word))
                    {
                        Some(item) => names(item),
                        None => self.names_option(&word.text),
                    }
                })
        };
        match held {
            Held::Yes if !names_all() => Held::Doubt("an option that runs code"),
            Held::Yes if running::script_runs_code(name, &command.words) => {
                Held::Doubt("a script that may run code or write a file")
            }
            Held::Yes if programs::is_interpreter(name) && !self.leads(command) => {
                Held::Doubt("what an interpreter runs comes before what the rule names")
            }
            Held::Yes
                if programs::runs(name).has("runner")
                    && !self.leads_behind_plain_options(command) =>
            {
                Held::Doubt("an option of a runner before what the rule names")
            }
            held => held,
        }
    }

    /// Whether the command begins as the pattern does, word for word; an option may be spelt
    /// otherwise.
    pub(super) fn leads(&self, command: &Command) -> bool {
        let is_option = |wanted: &str, word: &str| {
            wanted.starts_with('-') && spellings(wanted, self.row).iter().any(|name| name == word)
        };
        let mut words = command.words.iter().skip(1).map(Word::as_constant);
        let mut is_next = |wanted: &String| {
            words
                .next()
                .flatten()
                .is_some_and(|word| glob(wanted, word) || is_option(wanted, word))
        };
        self.leading.iter().all(&mut is_next)
    }

    /// Whether the words lead a command, if the options that stand in between only say how a runner
    /// finds what it runs by itself.
    pub(super) fn leads_behind_plain_options(&self, command: &Command) -> bool {
        let is_plain = |word: &Word| running::PLAIN_RUNNER_OPTIONS.has(&word.text);
        let behind = command
            .words
            .iter()
            .enumerate()
            .filter(|(at, word)| *at == 0 || !is_plain(word));
        self.leads(&command.with(behind.map(|(_, word)| word.clone()).collect()))
    }

    pub(super) fn covers_words(&self, command: &Command, place: &Place) -> Held {
        match self.covers_these(command, place) {
            Held::Yes => Held::Yes,
            held => self
                .twins(command)
                .fold(held, |held, twin| held.max(self.covers_these(&twin, place))),
        }
    }

    pub(super) fn covers_these(&self, command: &Command, place: &Place) -> Held {
        let Some(head) = command.words.first() else {
            return Held::No;
        };
        if let Some(whole) = &self.whole {
            return to_held(glob(whole, &command.normal()));
        }
        if self.program == "*"
            && self.operands.is_empty()
            && self.options.is_empty()
            && self.directory.is_none()
        {
            return Held::Yes;
        }
        let is_there = match &self.directory {
            Some(directory) => path::is_program(
                &format!("{directory}/{}", self.program),
                head,
                command,
                place,
            ),
            // By its bare name, or where the system's programs are.
            None => head.as_constant().is_some_and(|text| {
                glob(&self.program, base_name(text))
                    && (!text.contains('/') || programs::is_system_path(text))
            }),
        };
        if !is_there {
            return Held::No;
        }
        let parsed = Reading::new(&command.words[1..], self.row, &[], &command.directories);
        let everything =
            self.operands.is_empty() && self.open && self.commands == 0 && self.options.is_empty();
        if everything {
            return Held::Yes;
        }
        // Options: each of the rule's is there, and none that it doesn't name.
        for option in &self.options {
            if parsed.has(option) != Held::Yes
                || parsed.takes_back(option, self.adds_up(option))
                || self.is_undone(option, &command.words)
            {
                return Held::No;
            }
        }
        // The value of an option may be a path as well: `cp -t /etc ./build/a`.
        let has_paths = self
            .operands
            .iter()
            .skip(self.commands)
            .any(Operand::is_path);
        for option in &parsed.options {
            let is_it = |pattern: &&OptionPattern| pattern.is(&option.word.text, option.row);
            let fits = |pattern: &OptionPattern| {
                pattern.value_fits(option, parsed.directories) == Held::Yes
            };
            // Of those that may be there, no other value may.
            let mut optional = self.optional.iter().filter(is_it).peekable();
            if optional.peek().is_some() {
                if !optional.any(|pattern| fits(pattern) && pattern.stays(option, command, place)) {
                    return Held::No;
                }
                continue;
            }
            let named = self.options.iter().filter(is_it).any(fits) || self.names_cluster(option);
            let has_value = (option.value.is_some() || option.word.text.contains('='))
                && !self.is_plain_value(option);
            let after =
                option.depth >= self.commands.min(1) && self.open && !(has_paths && has_value);
            if !named && !after {
                return Held::No;
            }
        }
        let mut at = 0;
        for (index, operand) in self.operands.iter().enumerate() {
            let is_last = index + 1 == self.operands.len();
            let Some(item) = parsed.operands.get(at) else {
                return Held::No;
            };
            if item.unsure || !operand.is(item, command, place) {
                return Held::No;
            }
            at += 1;
            // Of files, `build*` names each: in `rm build /`, it doesn't name the second.
            if is_last
                && operand.begins_file()
                && self.row.is_some_and(|row| row.habits.has("each"))
            {
                let files = &parsed.operands[at - 1..];
                return to_held(
                    files
                        .iter()
                        .all(|item| operand.is_beginning_of(item.word, command, place)),
                );
            }
            if is_last && index >= self.commands && operand.is_path() {
                // A path stands for all that follow: each is judged.
                if !parsed.operands[at..]
                    .iter()
                    .all(|item| operand.is(item, command, place))
                {
                    return Held::No;
                }
                at = parsed.operands.len();
            }
        }
        to_held(parsed.operands.len() <= at || self.open)
    }

    /// Whether the values of an option's places add up, so that the first one says what the
    /// command is called: the subject of `git commit -m subject -m body`.
    fn adds_up(&self, option: &OptionPattern) -> bool {
        static ADDING: programs::Names = programs::Names::new("adding-options");
        let verb = self.operands.first().filter(|_| self.commands > 0);
        let is_it = |words: &str| {
            let mut words = words.split('+');
            words.next() == Some(self.program.as_str())
                && words.next() == verb.map(|verb| verb.glob.as_str())
                && words
                    .next()
                    .is_some_and(|name| option.names.iter().any(|own| own == name))
        };
        verb.is_some() && ADDING.words().any(is_it)
    }

    /// Whether an option's value is no file and no place, whatever it says: `curl -H 'Accept: x'`.
    fn is_plain_value(&self, option: &Item) -> bool {
        static PLAIN: programs::Names = programs::Names::new("plain-values");
        let is_plain = |given: &Given| match &given.value {
            None => true,
            Some(value) => {
                let names = given.option.names.iter();
                let known = value.beginning();
                names
                    .into_iter()
                    .any(|name| PLAIN.has(&format!("{}+{name}", self.program)))
                    && !known.is_empty()
                    && !known.starts_with('@')
            }
        };
        let given = option.given();
        option.known && !given.is_empty() && given.iter().all(is_plain)
    }

    /// Whether another option of the command undoes one that the rule names.
    pub(super) fn is_undone(&self, option: &OptionPattern, words: &[Word]) -> bool {
        let row = self.deepest();
        let undoing: Vec<String> = self
            .acts()
            .undone_by(&option.names)
            .flat_map(|it| spellings(it, row))
            .collect();
        let is_other = |word: &Word| undoing.iter().any(|it| denotes(&word.text, it, row));
        !undoing.is_empty() && words.iter().skip(1).any(is_other)
    }

    /// Whether the rule writes this option.
    pub(super) fn names_option(&self, word: &str) -> bool {
        self.options
            .iter()
            .any(|option| option.is(word, self.deepest()))
    }

    /// `-rf` where the rule says `-r` and `-f`.
    pub(super) fn names_cluster(&self, option: &Item) -> bool {
        let text = option.word.text.as_str();
        text.len() > 1
            && !text.starts_with("--")
            && option.word.openness == Openness::Constant
            && text[1..].chars().all(|letter| {
                let short = format!("-{letter}");
                self.options
                    .iter()
                    .any(|pattern| pattern.names.contains(&short))
            })
    }
}

impl Stage {
    /// Whether a path of the command fits one of the pattern only if a `*` holds a `/`.
    fn would_cross(&self, command: &Command) -> bool {
        let patterns = self.operands.iter().map(|operand| operand.glob.as_str());
        let mut patterns = patterns.filter(|glob| glob.contains('/') && !glob.contains("**"));
        patterns.any(|pattern| {
            let crosses = |word: &Word| {
                let n_slashes = |text: &str| text.matches('/').count();
                glob(pattern, &word.text) && n_slashes(&word.text) > n_slashes(pattern)
            };
            pattern.contains('*') && command.words.iter().skip(1).any(crosses)
        })
    }

    /// How many words of the pattern a command has, from the first on.
    fn names_words_of(&self, command: &Command) -> usize {
        let words = command.words.iter().skip(1);
        let same = self.leading.iter().zip(words);
        same.take_while(|(wanted, word)| glob(wanted, &word.text))
            .count()
    }
}

/// Whether an exception takes a command away from what other rules hit.
pub fn excepts(rule: &CommandRule, command: &Command, place: &Place) -> bool {
    is_excepted(&[rule], command, place)
}

pub(super) fn is_excepted(unless: &[&CommandRule], command: &Command, place: &Place) -> bool {
    // No rule names a redirection to a file.
    let is_covered = |command: &Command| {
        unless.iter().filter_map(|rule| rule.stage()).any(|stage| {
            stage.covers_settings(command) && stage.covers(command, place) == Held::Yes
        })
    };
    !command.writes()
        && !unless.is_empty()
        && (is_covered(command)
            || one_by_one(command).is_some_and(|each| each.iter().all(is_covered))
            || options_behind(command).is_some_and(|command| is_covered(&command)))
}

/// `kubectl -n x apply` is `kubectl apply -n x`: the same command with its first options behind the
/// sub-command, if its program takes them there, and without those of git that only say how it
/// prints.
pub(super) fn options_behind(command: &Command) -> Option<Command> {
    let (head, words) = command.words.split_first()?;
    let name = base_name(head.as_constant()?);
    let row = options::row(name).filter(|row| row.deep || name == "git")?;
    let parsed = Reading::new(words, Some(row), &[], &command.directories);
    let verb = parsed.operands.first()?;
    let (before, behind) = words.split_at(
        words
            .iter()
            .position(|word| std::ptr::eq(word, verb.word))?,
    );
    let is_of_printing = |word: &Word| {
        matches!(
            word.as_constant(),
            Some("--no-pager" | "-P" | "--no-optional-locks")
        )
    };
    let before = match name {
        "git" if before.iter().all(is_of_printing) => &[],
        "git" => return None,
        _ => before,
    };
    let (verb, rest) = behind
        .split_first()
        .filter(|_| !verb.unsure && behind.len() < command.words.len() - 1)?;
    Some(
        command.with(
            [head, verb]
                .into_iter()
                .chain(before)
                .chain(rest)
                .cloned()
                .collect(),
        ),
    )
}

/// `rm a b` is `rm a` and `rm b`: the same command for each of its operands, if its program takes
/// them so.
pub(super) fn one_by_one(command: &Command) -> Option<Vec<Command>> {
    const MOST: usize = 64;
    let name = command.words.first().and_then(Word::as_constant)?;
    let row = options::row(base_name(name)).filter(|row| row.habits.has("each"))?;
    let parsed = Reading::new(&command.words[1..], Some(row), &[], &command.directories);
    let count = parsed.operands.len();
    if !(2..=MOST).contains(&count)
        || parsed.open.is_some()
        || parsed.operands.iter().any(|item| item.unsure)
    {
        return None;
    }
    let is_operand = |word: &Word| {
        parsed
            .operands
            .iter()
            .any(|item| std::ptr::eq(item.word, word))
    };
    let with = |item: &Item| {
        let words = command
            .words
            .iter()
            .filter(|word| std::ptr::eq(*word, item.word) || !is_operand(word));
        command.with(words.cloned().collect())
    };
    Some(parsed.operands.iter().map(with).collect())
}

/// Whether every command of the text is certain and covered by one of `rules`, and none is hit by
/// `unless`.
pub fn covers(
    rules: &[&CommandRule],
    unless: &[&CommandRule],
    script: &Script,
    place: &Place,
) -> Judgement {
    covers_but(rules, unless, script, place, &mut None)
}

/// As [`covers`]; says which command isn't covered, if it is one.
fn covers_but(
    rules: &[&CommandRule],
    unless: &[&CommandRule],
    script: &Script,
    place: &Place,
    left: &mut Option<usize>,
) -> Judgement {
    if !unless.is_empty() {
        let anywhere = Place {
            located: None,
            ..*place
        };
        match hits(unless, &[], script, &anywhere) {
            Judgement::No | Judgement::Delegates(_) => {}
            Judgement::Doubt(doubt) => return Judgement::Doubt(doubt),
            Judgement::Yes(_) => return Judgement::No,
        }
        // Paths are the same however they are written: `cd /etc; cat x` is `cat /etc/x`.
        let is_named = |command: &Command| {
            unless
                .iter()
                .filter_map(|rule| rule.stage())
                .any(|stage| stage.covers(command, place) != Held::No)
        };
        if script.commands.iter().any(is_named) {
            return Judgement::No;
        }
    }
    if rules
        .iter()
        .filter_map(|rule| rule.stage())
        .any(Stage::is_everything)
    {
        return everywhere(script, place);
    }
    if let Some(gap) = script.gaps.first() {
        return Judgement::Doubt(gap.clone());
    }
    if script.commands.is_empty() {
        return Judgement::No;
    }
    // What follows a pipe reads what a command writes that a rule names.
    let piped: Vec<usize> = script
        .flows
        .iter()
        .flat_map(|flow| flow.iter().skip(1).cloned().flatten())
        .collect();
    // That may look at the disk.
    let may_write: Vec<bool> = script
        .commands
        .iter()
        .map(|command| path::may_write(command, place))
        .collect();
    let is_beside = |at: usize, command: &Command| {
        let is_plain = may_write[at] && !command.assigns;
        let is_filter = || piped.contains(&at) && running::is_filter(&command.words);
        // Where no command is, what is written is all that is done.
        is_plain
            && (command.words.is_empty() || running::only_prints(&command.words) || is_filter())
    };
    if (0..)
        .zip(&script.commands)
        .all(|(at, command)| is_beside(at, command))
    {
        // Alone it is what the call is about.
        return covers_each(rules, script, place, &may_write, &|_, _| false, left);
    }
    covers_each(rules, script, place, &may_write, &is_beside, left)
}

/// That all commands are covered, where each is.
fn everywhere(script: &Script, place: &Place) -> Judgement {
    for (at, command) in script.commands.iter().enumerate() {
        match place.held_there(Held::Yes, script, at) {
            Held::Yes => {}
            Held::No => return Judgement::No,
            Held::Doubt(why) => {
                let at = command.span.clone();
                return Judgement::Doubt(Doubt { why, at });
            }
        }
    }
    Judgement::Yes((0..script.commands.len()).collect())
}

/// Whether some rule covers each command, but for those that need none.
pub(super) fn covers_each(
    rules: &[&CommandRule],
    script: &Script,
    place: &Place,
    may_write: &[bool],
    needs_none: &dyn Fn(usize, &Command) -> bool,
    left: &mut Option<usize>,
) -> Judgement {
    for (at, command) in script.commands.iter().enumerate() {
        *left = Some(at);
        if needs_none(at, command)
            || is_named_by_wrapper(rules, &script.commands[..at], command, place)
        {
            continue;
        }
        // A shell that is given a text is what the text does.
        let is_all_named = may_write[at] && !command.assigns;
        if command.role == Role::Transparent && script.commands.len() > 1 && is_all_named {
            continue;
        }
        let covered = rules
            .iter()
            .filter_map(|rule| rule.stage())
            .filter(|stage| stage.covers_settings(command))
            .map(|stage| stage.covers(command, place));
        // No rule over commands names a redirection to a file.
        let covered = covered.max();
        match covered.map(|held| place.held_there(held, script, at)) {
            Some(Held::Yes | Held::Doubt(_)) if !may_write[at] => return Judgement::No,
            Some(Held::Yes) if is_minded(script, command) => {
                return Judgement::Doubt(Doubt {
                    why: "a variable that the text exports changes what the program does",
                    at: command.span.clone(),
                });
            }
            Some(Held::Yes) => {}
            Some(Held::Doubt(why)) => {
                return Judgement::Doubt(Doubt {
                    why,
                    at: command.span.clone(),
                });
            }
            Some(Held::No) | None => return Judgement::No,
        }
    }
    *left = None;
    if let Some(gap) = &script.beside {
        return Judgement::Doubt(gap.clone());
    }
    Judgement::Yes((0..script.commands.len()).collect())
}

/// What no rule covers of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uncovered {
    /// The command, or what of it no rule names: a variable, the file of a redirection.
    pub part: String,
    /// Which of the rules comes nearest: one for the same program.
    pub nearest: Option<usize>,
    /// That rule would cover it if a `*` in it went on behind a `/`.
    pub stops_at_slash: bool,
}

/// The first part of a text that none of the rules covers; nothing if they cover all, or if what is
/// missing is no command.
pub fn uncovered(rules: &[&CommandRule], script: &Script, place: &Place) -> Option<Uncovered> {
    let mut left = None;
    if let Judgement::Yes(_) = covers_but(rules, &[], script, place, &mut left) {
        return None;
    }
    let command = script.commands.get(left?)?;
    let stages = || {
        let stages = rules.iter().enumerate();
        stages.filter_map(|(at, rule)| Some((at, rule.stage()?)))
    };
    // By its words alone a rule may cover it.
    let covering = stages().find(|(_, stage)| stage.covers(command, place) == Held::Yes);
    let of_program = || {
        let options = |stage: &Stage| stage.names_words_of(command);
        stages()
            .filter(|(_, stage)| stage.is_program(command) && stage.program != "*")
            .max_by_key(|(at, stage)| (options(stage), usize::MAX - at))
    };
    let nearest = covering.or_else(of_program).map(|(at, _)| at);
    let named = quoted(&command.normal());
    let unnamed = covering.and_then(|(_, stage)| stage.unnamed_setting(command, &named));
    let part = match (covering, unnamed) {
        (Some(_), Some(setting)) => setting,
        (Some(_), None) if !path::may_write(command, place) => {
            let files = command.written().iter().map(|word| quoted(&word.path()));
            let files: Vec<_> = files.collect();
            match files.is_empty() {
                true => format!("a redirection of {named}"),
                false => format!("the redirection of {named} to {}", files.join(", ")),
            }
        }
        _ => named,
    };
    // The rule's words, with what a `*` stands for in a text.
    let stops_at_slash =
        covering.is_none() && of_program().is_some_and(|(_, stage)| stage.would_cross(command));
    Some(Uncovered {
        part,
        nearest,
        stops_at_slash,
    })
}

/// A text between back-quotes, on one line and not long.
pub(super) fn quoted(text: &str) -> String {
    const MOST: usize = 80;
    let line = |c: char| if c.is_control() { ' ' } else { c };
    let mut short: String = text.chars().take(MOST).map(line).collect();
    if text.chars().nth(MOST).is_some() {
        short.push('…');
    }
    format!("`{short}`")
}

/// Whether the text exports a variable on which a command depends: `export CI=1; semantic-release`.
fn is_minded(script: &Script, command: &Command) -> bool {
    let words = || {
        let exports = script.commands.iter().filter(|it| settings::exports(it));
        exports.flat_map(|other| &other.words)
    };
    let mut minded = programs::minded(&command.words);
    minded.any(|name| {
        let mut set = words().filter_map(|word| word.text.split_once('='));
        set.any(|(set, _)| set == name)
    })
}

/// Whether a rule covers the wrapper of a command and names the command too, as `npx eslint *` does
/// `eslint`.
pub(super) fn is_named_by_wrapper(
    rules: &[&CommandRule],
    before: &[Command],
    command: &Command,
    place: &Place,
) -> bool {
    let Some(name) = command.words.first().and_then(Word::as_constant) else {
        return false;
    };
    let is_same =
        |(one, other): (&Word, &Word)| one.text == other.text && one.openness == other.openness;
    let wraps = |wrapper: &&Command| {
        let skipped = wrapper.words.len().saturating_sub(command.words.len());
        skipped > 0
            && wrapper.span == command.span
            && wrapper.words[skipped..]
                .iter()
                .zip(&command.words)
                .all(is_same)
    };
    let is_name = |word: &String| word != "*" && glob(word, name);
    let names = |stage: &Stage| {
        let is_whole = stage.leading.is_empty() && programs::is_interpreter(&stage.program);
        is_whole
            || stage.leading.iter().any(is_name)
            || stage.operands.iter().any(|operand| is_name(&operand.glob))
    };
    // What the wrapper's rule says nothing of.
    if running::has_code_options(base_name(name), &command.words) {
        return false;
    }
    before.iter().filter(wraps).any(|wrapper| {
        let covers = |stage: &Stage| {
            names(stage)
                && stage.covers_settings(wrapper)
                && stage.covers(wrapper, place) == Held::Yes
        };
        rules.iter().filter_map(|rule| rule.stage()).any(covers)
    })
}
