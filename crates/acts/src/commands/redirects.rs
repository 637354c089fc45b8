//! Redirections: what a command reads, and which files it writes.

use super::super::act::{Access, Redirected};
use super::super::expand::output::Output;
use super::super::expand::{Openness, Word};
use super::super::grammar::{Part, Redirect, RedirectKind};
use super::super::{Command, Role, Shell, Span, Writes};
use super::{
    COMPLETED, Facts, Input, MAX_COMMANDS, MAX_FILES, TOO_LARGE, Walk, WrittenFile, base_name,
    is_settings_of_git, opens_connection,
};
use std::rc::Rc;
use std::sync::Arc;

impl Walk {
    /// Reads redirections: sets what the command reads, and says whether its output goes nowhere
    /// else than to a file, and whether it writes one.
    pub(super) fn redirects(
        &mut self,
        redirects: &[Redirect],
        span: &Span,
        prints: Option<&Input>,
        inert: bool,
    ) -> (bool, Writes) {
        let (mut output, mut writes) = (false, Writes::Nothing);
        if self.shell == Shell::Zsh && redirects.iter().filter(|it| it.reads()).count() > 1 {
            self.gap("zsh gives a command all that is redirected to it", span);
        }
        for redirect in redirects {
            match &redirect.kind {
                RedirectKind::Read(word) => {
                    let input = match word.parts.as_slice() {
                        [Part::Process { list, reads: true }] => {
                            let from = self.script.commands.len();
                            self.inner_list(list, &word.span, false);
                            self.flowing_into = from;
                            match self.output(list) {
                                Output::Constant(text) => Input::Text(format!("{text}\n").into()),
                                Output::Operands
                                | Output::Branch
                                | Output::Directory
                                | Output::Scratch => Input::Operands,
                                Output::Perhaps(_) | Output::Anything => Input::Computed,
                            }
                        }
                        _ => {
                            let files = self.expand(word);
                            self.redirected(files.iter().flatten(), Access::Read, &word.span);
                            if files.iter().flatten().any(opens_connection) {
                                writes = writes.and(Writes::Anything(Arc::default()));
                            }
                            match files.as_slice() {
                                [files] => Input::of_files(files),
                                _ => Input::Computed,
                            }
                        }
                    };
                    if redirect.fd.is_some_and(|fd| fd > 0) && !matches!(input, Input::File(_)) {
                        self.beside("a file that is open under a number", span);
                    }
                    self.opened(redirect.fd, input);
                }
                RedirectKind::HereString(word) => {
                    let words = self.one(word);
                    if let Some(word) = &words {
                        // What stands open in it may be nothing.
                        self.text(&word.text, span);
                    }
                    let input = match words {
                        Some(word) if word.openness == Openness::Constant => {
                            Input::Text(format!("{}\n", word.text).into())
                        }
                        Some(word) if matches!(word.openness, Openness::Operand(_)) => {
                            Input::Operands
                        }
                        _ => Input::Computed,
                    };
                    self.opened(redirect.fd, input);
                }
                RedirectKind::HereDocument(at) => {
                    let documents = self.documents.clone();
                    let Some(word) = documents.as_deref().and_then(|it| it.get(*at)) else {
                        self.gap(TOO_LARGE, span);
                        continue;
                    };
                    if word
                        .parts
                        .iter()
                        .any(|part| !matches!(part, Part::Text { .. }))
                    {
                        // Its places are those of the body.
                        let place = self.at(&word.span);
                        let outer = self.place.replace(place);
                        self.walk_parts(&word.parts, &word.span);
                        self.place = outer;
                    }
                    let (input, text) = self.document(&word.parts);
                    if !inert {
                        self.text(&text, &word.span);
                    }
                    self.opened(redirect.fd, input);
                }
                // Without a number it's the input that is opened for both.
                RedirectKind::ReadWrite(word) if redirect.fd != Some(1) => {
                    let files: Vec<Word> = self.expand(word).into_iter().flatten().collect();
                    self.redirected(files.iter(), Access::Either, &word.span);
                    files.iter().for_each(|file| self.wrote(&file.text, None));
                    writes = writes.and(Writes::Anything(files.as_slice().into()));
                    self.opened(redirect.fd, Input::of_files(&files));
                }
                RedirectKind::Write(word) | RedirectKind::ReadWrite(word) => {
                    let targets = match word.parts.as_slice() {
                        [Part::Process { list, .. }] => {
                            self.inner_list(list, &word.span, true);
                            Vec::new()
                        }
                        _ => self.expand(word),
                    };
                    let is_device = |word: &Word| {
                        word.openness == Openness::Constant
                            && matches!(
                                word.text.as_str(),
                                "/dev/null" | "/dev/stdout" | "/dev/stderr" | "/dev/tty"
                            )
                    };
                    let content = match prints {
                        Some(Input::Text(text)) if redirect.fd.is_none_or(|fd| fd == 1) => {
                            Some(Rc::clone(text))
                        }
                        Some(Input::Completed(text)) if redirect.fd.is_none_or(|fd| fd == 1) => {
                            self.beside(COMPLETED, span);
                            Some(Rc::clone(text))
                        }
                        _ => None,
                    };
                    self.redirected(targets.iter().flatten(), Access::Write, &word.span);
                    for target in targets.iter().flatten().filter(|target| !is_device(target)) {
                        self.wrote(&target.text, content.clone());
                    }
                    let one = |words: &Vec<Word>| match words.as_slice() {
                        [word] => (word.openness == Openness::Constant && !opens_connection(word))
                            .then(|| word.clone()),
                        _ => None,
                    };
                    if targets.is_empty() || !targets.iter().flatten().all(is_device) {
                        let files: Option<Vec<Word>> = targets.iter().map(one).collect();
                        let files = files.filter(|files| !files.is_empty());
                        let anything =
                            || Writes::Anything(targets.iter().flatten().cloned().collect());
                        writes = writes
                            .and(files.map_or_else(anything, |files| Writes::Files(files.into())));
                    }
                    // What a process substitution prints goes on: `> >(cat) | sh`.
                    output |= redirect.fd.is_none_or(|fd| fd == 1) && !targets.is_empty();
                }
                RedirectKind::Duplicate(word) => {
                    output |= redirect.fd.is_none_or(|fd| fd == 1);
                    let number = word.plain().and_then(|text| text.parse::<u32>().ok());
                    if let (Some(number), Some(fd)) =
                        (number, redirect.fd.filter(|fd| *fd == 0 || *fd > 2))
                    {
                        let input = self.open_under(number);
                        self.opened(Some(fd), input);
                    }
                }
            }
        }
        (output, writes)
    }

    /// Notes files that a redirection opens.
    pub(super) fn redirected<'w>(
        &mut self,
        files: impl Iterator<Item = &'w Word>,
        access: Access,
        span: &Span,
    ) {
        let (at, directories) = (self.at(span), self.directories.clone());
        let left = MAX_COMMANDS.saturating_sub(self.script.redirected.len());
        let one = |word: &Word| Redirected {
            word: word.clone(),
            access,
            directories: directories.clone(),
            at: at.clone(),
        };
        self.script.redirected.extend(files.take(left).map(one));
    }

    /// To write a file is an act, whatever is run for it: where no command from `from` on is listed
    /// with what redirections write, one without words is.
    pub(super) fn list_writes(&mut self, from: usize, writes: Writes, span: &Span) {
        let is_listed = |command: &Command| command.writes == writes;
        if writes != Writes::Nothing && !self.script.commands[from..].iter().any(is_listed) {
            self.emit(
                &[],
                span,
                &Facts {
                    writes,
                    ..Facts::default()
                },
                Role::Plain,
            );
        }
    }

    /// Notes what is read under a number, or as the input.
    pub(super) fn opened(&mut self, fd: Option<u32>, input: Input) {
        match fd {
            None | Some(0) => self.input = input,
            Some(fd) if self.numbers.len() < MAX_FILES => self.numbers.push((fd, input)),
            Some(_) => {}
        }
    }

    /// What is read from a number: computed unless the text says so once.
    pub(super) fn open_under(&self, number: u32) -> Input {
        let mut found = self
            .numbers
            .iter()
            .filter(|(fd, _)| *fd == number)
            .map(|(_, input)| input);
        match (number, found.next()) {
            (0, _) => self.input.clone(),
            (_, Some(input)) if found.all(|other| other == input) => input.clone(),
            _ => Input::Computed,
        }
    }

    /// Whether the text writes a file that a path may lead to.
    pub(super) fn has_written(&self, path: &str) -> bool {
        self.files.len() > MAX_FILES || self.files.iter().any(|file| file.may_be(base_name(path)))
    }

    /// Notes a file that is written. What the text leaves open of its path stands in it as it is
    /// written.
    pub(super) fn wrote(&mut self, path: &str, content: Option<Rc<str>>) {
        let name = base_name(path).to_string();
        if self.files.len() > MAX_FILES {
            return;
        }
        if is_settings_of_git(path) {
            self.writes_settings_of_git(content.as_deref());
        }
        let holds_aliases = [".git/", ".husky/", ".cargo/", ".aws/cli/"]
            .iter()
            .any(|place| path.contains(place));
        if matches!(name.as_str(), "config" | ".gitconfig" | "gitconfig") || holds_aliases {
            self.aliases = true;
        }
        self.makes_option |= name.len() > 1 && name.starts_with(['-', '+']);
        // What is appended may go on with the line.
        let before = self
            .files
            .iter()
            .rfind(|file| file.name == name)
            .and_then(|file| file.content.clone());
        let content = match (
            before.filter(|it| !it.ends_with('\n') || it.ends_with("\\\n")),
            content,
        ) {
            (Some(before), Some(after)) => {
                self.files.push(WrittenFile {
                    name: name.clone(),
                    content: Some(Rc::clone(&after)),
                });
                Some(format!("{before}{after}").into())
            }
            (_, content) => content,
        };
        // By its name, another program may be run from now on.
        self.variables.redefine(&name);
        self.files.push(WrittenFile { name, content });
    }
}
