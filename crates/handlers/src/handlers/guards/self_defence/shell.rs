//! What a shell text does to the places: each of its acts on files is held against them where its
//! command runs.

use super::code;
use super::git;
use super::ground::{Ground, behind_open};
use super::names::{base_name, has_part};
use super::places::{Change, Named, What};
use hookwire_ask::programs;
use hookwire_rules::matching::patience;
use hookwire_rules::matching::shell::{Access, Certainty, Command, FileAct, Reach, Script, Word};
use std::borrow::Cow;
use std::fmt;
use std::path::{Path, PathBuf};

/// Programs whose writing leaves a directory as it is.
const FOR_FILES: &[&str] = &["mkdir", "rm", "touch"];
/// Programs that make another file of what they read.
const COPYING: &[&str] = &[
    "cp", "cat", "dd", "install", "rsync", "scp", "tar", "base64", "ln", "zip", "xxd",
];
/// Programs that change who may use files. For a whole project, people do it to be able to work
/// there.
const OWNING: &[&str] = &["chown", "chgrp", "chattr", "chcon", "setfacl"];
/// Parts of options' names whose values choose or say something.
const CHOOSING: &str =
    "clude|ignore|glob|pattern|regex|message|grep|body|title|format|filter|-I|-E";
/// Programs that tell where others are.
const TELLING: &[&str] = &["which", "command", "type", "whereis"];

/// So many words of texts are looked at.
const MOST_TOKENS: usize = 256;
/// So many directories are taken for those in which a command may run.
const MOST_ANCHORS: usize = 16;

/// A place that a text may change.
#[derive(Debug)]
pub(super) struct Hit {
    /// How the text names it.
    word: String,
    /// Where it is, as far as that can be told.
    place: Option<PathBuf>,
}

impl Hit {
    pub(super) fn of(word: impl Into<String>) -> Hit {
        Hit {
            word: word.into(),
            place: None,
        }
    }
}

impl fmt::Display for Hit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "`{}`", self.word)?;
        match &self.place {
            Some(place) if !place.ends_with(self.word.trim_start_matches("./")) => {
                write!(out, " (`{}`)", place.display())
            }
            _ => Ok(()),
        }
    }
}

/// A text with what it does to files.
pub(super) struct Text<'a> {
    script: &'a Script,
    acts: Cow<'a, [FileAct]>,
    ground: &'a Ground<'a>,
}

impl<'a> Text<'a> {
    pub(super) fn new(script: &'a Script, ground: &'a Ground<'a>) -> Text<'a> {
        Text {
            script,
            acts: script.file_acts().into(),
            ground,
        }
    }

    /// What a shell that runs it does itself: a program that it starts is asked about when that
    /// starts.
    pub(super) fn of_shell(mut self) -> Text<'a> {
        self.acts.to_mut().retain(|act| !act.is_by_code());
        self
    }

    /// Whether nothing in it can change a file.
    pub(super) fn only_shows(&self) -> bool {
        self.script.is_readable()
            && self.acts.iter().all(|act| act.access == Access::Read)
            && !self.script.commands().iter().any(Command::may_run_unseen)
    }

    /// What is said where it can't be told what is done with it: the words of programs that aren't
    /// known.
    pub(super) fn unclear(&self) -> impl Iterator<Item = &str> {
        let doubtful = self
            .acts
            .iter()
            .filter(|act| act.certainty != Certainty::Certain && act.by.is_some());
        doubtful
            .map(|act| act.word.text.as_str())
            .filter(|text| code::is_code(text))
    }

    /// The first place that it may change.
    pub(super) fn changed(&self) -> Option<Hit> {
        let is_left = || patience::is_left();
        let by_act = || {
            self.acts
                .iter()
                .take_while(|_| is_left())
                .find_map(|act| self.hit(act))
        };
        let commands = || self.script.commands().iter().take_while(|_| is_left());
        let by_command = || commands().find_map(|command| self.hit_by(command));
        by_act()
            .or_else(by_command)
            .or_else(|| self.handed_on())
            .or_else(|| self.in_code())
    }

    /// The words of the command that does something, and its program's name.
    fn command(&self, act: &FileAct) -> (&[Word], &str) {
        let command = act.by.and_then(|n| self.script.commands().get(n));
        let words = command.map_or(&[][..], |command| &command.words);
        (
            words,
            words.first().map_or("", |word| base_name(&word.text)),
        )
    }

    /// What an act does with what it names; nothing if that leaves a place as it is.
    fn change(&self, act: &FileAct) -> Option<Change> {
        let (words, name) = self.command(act);
        let is_harmless = match name {
            "chmod" => mode_of(words).is_some_and(keeps_owner),
            // Its owner is whoever works there.
            "chown" => words
                .iter()
                .find(|it| !it.text.starts_with('-') && it.text != name)
                .is_some_and(Word::may_be_pattern),
            // Which files are git's is looked at apart.
            "git" => {
                !has(words, "rm")
                    && !has(words, "mv")
                    && matches!(act.word.text.trim_end_matches('/'), "." | ":")
            }
            // `remount` gives a file system other options and hides nothing.
            "mount" => words.iter().any(|word| word.text.contains("remount")),
            // What it comes across is looked for on the disk.
            "find" => act.reach == Reach::All,
            // What mktemp has just made was none of these before.
            _ => act.word.is_scratch(),
        };
        match (act.access, act.reach) {
            _ if is_harmless => None,
            // A link to a place is another name of it.
            (Access::Read, _) if name == "ln" => Some(Change::Taken),
            (Access::Read, _) => Some(Change::Shown),
            // Who can't enter a directory has nothing of what it holds.
            (_, Reach::File | Reach::Perhaps) if name == "chmod" => Some(Change::Taken),
            _ if OWNING.contains(&name) => Some(Change::Filled),
            (_, Reach::File | Reach::Perhaps | Reach::Begun) => Some(Change::File),
            (_, Reach::Below) if self.tells_below(act) => Some(Change::File),
            (_, Reach::Below) => Some(Change::Filled),
            (_, Reach::All | Reach::Any) => Some(Change::Taken),
            // Nothing is written so.
            (_, Reach::Sought) => None,
        }
    }

    /// Whether a copy gets a name that is told if the path is a directory: `cp -r nvim ~/.config`.
    fn tells_below(&self, act: &FileAct) -> bool {
        let is_below = |it: &FileAct| {
            let rest = it
                .word
                .text
                .strip_prefix(act.word.text.trim_end_matches('/'));
            rest.is_some_and(|rest| rest.len() > 1 && rest.starts_with('/'))
        };
        // `rsync -a x/ y`: what the directory holds comes by names that aren't told.
        let is_content = |it: &FileAct| it.access != Access::Write && it.word.text.ends_with('/');
        let mut own = self
            .acts
            .iter()
            .filter(|it| act.by.is_some() && it.by == act.by);
        own.clone().any(is_below) && !own.any(is_content)
    }

    /// The directories that something runs in. Where that isn't told, it may be one that the text
    /// names.
    fn directories<'d>(&self, told: Option<impl Iterator<Item = &'d str>>) -> Vec<PathBuf> {
        let ground = self.ground;
        ground.directories(told).unwrap_or_else(|| {
            let here = [ground.base.to_path_buf()];
            let of_commands = self
                .script
                .commands()
                .iter()
                .flat_map(|command| &command.words);
            let opened = self
                .acts
                .iter()
                .filter(|act| act.by.is_none())
                .map(|act| &act.word);
            let may_be = |word: &&Word| ground.places.may_be_in(&word.text) || is_glob(word);
            let named = of_commands
                .chain(opened)
                .filter(may_be)
                .take(MOST_ANCHORS)
                .flat_map(|word| ground.named(word, &here));
            let directories = named
                .flat_map(|named| ground.expanded(&named))
                .take(MOST_ANCHORS);
            directories.chain(here.clone()).collect()
        })
    }

    /// The place that an act changes, or shows where nobody is to see it.
    fn hit(&self, act: &FileAct) -> Option<Hit> {
        let (ground, word) = (self.ground, &act.word);
        let change = self.change(act)?;
        // What find comes across is looked for by itself.
        if word.is_found() || word.text.contains("{}") {
            return None;
        }
        let directories = match behind_open(&word.text) {
            Some(_) => self.directories(None::<std::iter::Empty<&str>>),
            None => self.directories(act.directories()),
        };
        let may_lead = change > Change::Shown
            && (word.may_be_pattern() || word.text.contains('/') || change > Change::File);
        let may_be_in = || {
            ground.is_near
                || ground.places.may_be_in(&word.text)
                || directories.iter().any(|it| is_close(ground, it))
        };
        if !may_lead && !may_be_in() {
            return None;
        }
        let is_one = |named: &Named| self.is_changed(named, act, change);
        let mut all = ground.named(word, &directories);
        if word.is_unknown() && change > Change::Shown {
            // Whichever file of the directory it is: `cd .claude; ls | xargs rm`.
            let is_own = |it: &Named| ground.places.receives(it) || ground.places.at(it).is_some();
            all.extend(directories.iter().map(|it| Named::path(it)).filter(is_own));
        }
        if change == Change::Taken && is_glob(word) && self.finds_hidden() {
            all.extend(directories.iter().map(|it| {
                Named::path(&it.join(word.path().rsplit_once('/').map_or("", |it| it.0)))
            }));
        }
        let named = all.iter().find(|it| is_one(it)).cloned();
        let named = named.or_else(|| {
            let mut resolved = all
                .iter()
                .filter(|_| may_lead)
                .filter_map(|it| ground.resolved(it));
            resolved.find(|it| is_one(it))
        })?;
        Some(Hit {
            word: word.path().into_owned(),
            place: ground.place_of(&named),
        })
    }

    /// Whether a shell is told that patterns of file names fit hidden files, too: `shopt -s
    /// dotglob`.
    fn finds_hidden(&self) -> bool {
        let tells = |command: &Command| {
            command
                .words
                .iter()
                .any(|it| matches!(it.text.as_str(), "dotglob" | "globdots"))
        };
        self.script.commands().iter().any(tells)
    }

    fn is_changed(&self, named: &Named, act: &FileAct, change: Change) -> bool {
        let (ground, places) = (self.ground, &self.ground.places);
        let at = places.at(named);
        let is_certain = act.certainty == Certainty::Certain;
        match change {
            Change::Shown => match at {
                Some(What::Program) => COPYING.contains(&self.command(act).1),
                at => at == Some(What::Sockets),
            },
            _ if named.is_open => places.may_open_to(named, change == Change::Taken),
            _ if at.is_some() || act.word.may_be_pattern() && ground.stands(named) => true,
            Change::File => {
                // A file can't be written where a folder is: it is put into it, or the folder
                // itself is changed.
                let may_be = match act.by {
                    Some(_) => {
                        is_certain
                            && act.access == Access::Write
                            && !FOR_FILES.contains(&self.command(act).1)
                    }
                    None => !is_certain,
                };
                (may_be || act.word.is_unknown())
                    && places.is_folder(named)
                    && ground.is_in_use(named)
            }
            Change::Filled => places.receives(named) && ground.is_in_use(named),
            Change::Taken => ground.holds(named) || places.receives(named),
        }
    }

    /// What a command changes that doesn't name it: what git keeps, what find comes across, what
    /// code says.
    fn hit_by(&self, command: &Command) -> Option<Hit> {
        let ground = self.ground;
        let words = &command.words;
        let path = match base_name(&words.first()?.text) {
            "find" => {
                let own: Vec<&FileAct> = self
                    .acts
                    .iter()
                    .filter(|act| is_by_find(act, command))
                    .collect();
                let deletes = words.iter().any(|it| it.text == "-delete");
                let removes = deletes || own.iter().any(|act| self.removes(act));
                let acts = own.into_iter().filter_map(|act| self.found(act)).max();
                let change = acts
                    .max(deletes.then_some(Change::Taken))
                    .filter(|it| *it > Change::Shown)?;
                ground.found(
                    &command.finds()?,
                    &self.directories(command.directories()),
                    change,
                    removes,
                )
            }
            "git" => git::changes(command, ground, &self.directories(command.directories())),
            _ => None,
        };
        if let Some(path) = path {
            return Some(Hit::of(path.display().to_string()));
        }
        let directories = self.directories(command.directories());
        let is_own =
            |named: &Named| ground.places.at(named).is_some() || ground.places.receives(named);
        let is_work_tree = |word: &Word| ground.named(word, &directories).iter().any(is_own);
        if let Some(word) = git::work_trees(command).into_iter().find(is_work_tree) {
            return Some(Hit::of(word.path()));
        }
        // `docker save -o`: few options are known to take the name of a file that they write.
        let is_at = |named: &Named| ground.places.at(named).is_some();
        let is_place =
            |named: &Named| is_at(named) || ground.resolved(named).is_some_and(|it| is_at(&it));
        let is_file = |name: &str, word: &Word| {
            let may_be = word.text.contains('/') || ground.places.may_be_in(&word.text);
            may_be
                && !has_part(name, CHOOSING)
                && ground.named(word, &directories).iter().any(is_place)
        };
        if let Some((_, word)) = command
            .other_values()
            .iter()
            .find(|(name, word)| is_file(name, word))
        {
            return Some(Hit::of(word.path()));
        }
        if command.is_read_on() || !command.takes_code() {
            return None;
        }
        let is_near = ground.is_near || directories.iter().any(|it| is_close(ground, it));
        let mut codes = words[1..]
            .iter()
            .map(|word| word.text.as_str())
            .filter(|text| code::is_code(text));
        codes
            .find_map(|text| code::names(text, ground, &directories, is_near))
            .map(Hit::of)
    }

    /// What is done to each file that find comes across.
    fn found(&self, act: &FileAct) -> Option<Change> {
        let change = self.change(act)?;
        Some(match self.command(act).1 {
            _ if self.removes(act) => Change::Taken,
            // Who can't enter a directory has nothing of what it holds, and what is moved is gone.
            "chmod" | "mv" => change.max(Change::Taken),
            _ => change.min(Change::File),
        })
    }

    fn removes(&self, act: &FileAct) -> bool {
        matches!(self.command(act).1, "rm" | "shred" | "unlink" | "rmdir")
    }

    /// What code names that a program reads from elsewhere than its words.
    fn in_code(&self) -> Option<Hit> {
        if !self.script.commands().iter().any(Command::takes_code) {
            return None;
        }
        let here = [self.ground.base.to_path_buf()];
        let named = |text: &'a str| code::names(text, self.ground, &here, self.ground.is_near);
        self.script.texts().find_map(named).map(Hit::of)
    }

    /// What one command names and another takes from it: `ls .claude | xargs rm -r`.
    fn handed_on(&self) -> Option<Hit> {
        let ground = self.ground;
        let is_of_find = |act: &FileAct| {
            self.script
                .commands()
                .iter()
                .any(|command| is_by_find(act, command))
        };
        let own = self.acts.iter().filter(|act| act.by.is_some());
        let changes = own.filter_map(|act| match act.word.is_found() {
            true => self.found(act).filter(|_| !is_of_find(act)),
            false => self.change(act).filter(|_| act.word.is_unknown()),
        });
        let change = changes.max().filter(|it| *it > Change::Shown)?;
        let is_one = |named: &Named| {
            ground.places.at(named).is_some()
                || ground.places.is_folder(named)
                || change == Change::Taken && (ground.holds(named) || ground.places.receives(named))
        };
        let changes = |n: usize| {
            self.acts
                .iter()
                .any(|act| act.by == Some(n) && act.access != Access::Read)
        };
        let named = self
            .script
            .commands()
            .iter()
            .enumerate()
            .find_map(|(n, command)| {
                let name = base_name(&command.words.first()?.text);
                let directories = || self.directories(command.directories());
                if let Some(finds) = command.finds() {
                    let met = ground.found(&finds, &directories(), change, false);
                    return met.map(|path| Hit::of(path.display().to_string()));
                }
                if TELLING.contains(&name) {
                    return programs::NAMES
                        .into_iter()
                        .find(|name| has(&command.words, name))
                        .map(Hit::of);
                }
                if changes(n) || command.may_run_unseen() || name == "cd" {
                    return None;
                }
                let may_be = |word: &&Word| ground.places.may_be_in(&word.text) || is_glob(word);
                let mut words = command.words.iter().skip(1).filter(may_be).peekable();
                words.peek()?;
                let directories = directories();
                words.find_map(|word| {
                    let place = ground.named(word, &directories).into_iter().find(is_one)?;
                    Some(Hit {
                        word: word.path().into_owned(),
                        place: ground.place_of(&place),
                    })
                })
            });
        // `while read x; do rm $x; done <<< .claude`
        let here = [ground.base.to_path_buf()];
        let tokens = self
            .script
            .texts()
            .flat_map(str::split_whitespace)
            .filter(|it| ground.places.may_be_in(it));
        let in_text = |token: &&str| {
            ground
                .spelled(&ground.with_values(token), true, &here)
                .iter()
                .any(is_one)
        };
        named.or_else(|| tokens.take(MOST_TOKENS).find(in_text).map(Hit::of))
    }
}

/// Whether a command is a find that does something itself to what it comes across.
fn is_by_find(act: &FileAct, command: &Command) -> bool {
    let is_find = command
        .words
        .first()
        .is_some_and(|word| base_name(&word.text) == "find");
    let is_within = command.span.start <= act.at.start && act.at.end <= command.span.end;
    let is_found = act.word.is_found() || act.word.text.contains("{}");
    is_find && is_within && is_found && act.certainty == Certainty::Certain
}

fn has(words: &[Word], text: &str) -> bool {
    words.iter().any(|word| word.text == text)
}

/// Whether a word is a pattern of file names that is told.
fn is_glob(word: &Word) -> bool {
    let is_told =
        |text: &str| text.contains(['*', '?', '[']) && !text.contains(['$', '`', '…', '{']);
    word.may_be_pattern() && !word.is_found() && is_told(&word.text)
}

/// Whether a directory is one in which a plain name may be a place's.
fn is_close(ground: &Ground<'_>, directory: &Path) -> bool {
    ground.places.may_be_in(&directory.to_string_lossy())
        || ground.places.receives(&Named::path(directory))
}

/// The mode that chmod is given, which may look like an option: `chmod -x`.
fn mode_of(words: &[Word]) -> Option<&str> {
    let is_option = |text: &str| {
        text.starts_with('-') && text.contains(['R', 'v', 'f', 'c', 'h', 'P', 'L', 'H'])
    };
    words[1..]
        .iter()
        .map(|word| word.text.as_str())
        .find(|text| !is_option(text))
}

/// Whether a mode leaves the owner's rights as they are or gives all, and others none to write.
fn keeps_owner(mode: &str) -> bool {
    let digits = mode.trim_start_matches('0');
    if !digits.is_empty() && digits.chars().all(|c| c.is_digit(8)) {
        let mut last = digits.chars().rev();
        let (other, group, owner) = (last.next(), last.next(), last.next());
        let is_safe = |c: Option<char>| c.is_none_or(|c| !"2367".contains(c));
        return owner.is_some_and(|c| "67".contains(c)) && is_safe(group) && is_safe(other);
    }
    mode.split(',').all(|clause| match clause.split_once('+') {
        Some((who, rights)) => {
            !rights.contains('w') || who.contains(['u', 'g']) && !who.contains('o')
        }
        None => {
            clause
                .strip_prefix("u=")
                .is_some_and(|rights| rights.contains("rw"))
                || clause
                    .split_once('-')
                    .is_some_and(|(who, _)| !who.is_empty() && !who.contains(['u', 'a']))
        }
    })
}
