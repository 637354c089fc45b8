//! From a text's syntax to the commands that it would run: expansions followed, functions called,
//! wrappers taken off, texts for other shells read in turn.

mod builtins;
mod expansion;
mod git;
mod redirects;
mod runners;
mod simple;
mod state;
mod xargs;

use super::directories::Directories;
use super::expand::output::Output;
use super::expand::{Openness, Resolved, Variables, Word, is_number, is_positional, names_in};
use super::grammar::{
    self, Change, Joint, List, Node, Part, Pipeline, Redirect, RedirectKind, Stage, Word as Written,
};
use super::names::base_name;
use super::word::{Globs, tail, without_expansions};
use super::{
    Command, Doubt, Environment, Role, Script, Shell, Span, UNKNOWN_SHELL, Writes, is_plain,
    meeting, programs,
};
use compact_str::CompactString;
use state::{Later, SetNames, State};
use std::collections::HashSet;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

/// What a command reads from its standard input, as far as the text says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Input {
    /// What the whole text reads.
    #[default]
    Outer,
    Text(Rc<str>),
    /// A text that variables of the caller, paths or numbers complete. They stand in it as what
    /// they are.
    Completed(Rc<str>),
    /// Paths, names, numbers.
    Operands,
    /// What find prints, ended by NUL: each fits one of these.
    Found(Rc<[Word]>),
    Computed,
    File(CompactString),
    /// The text that the shell is reading.
    OwnText,
    /// What a command has left of it.
    Rest,
}

impl Input {
    /// What is read from what a word names.
    fn of_files(files: &[Word]) -> Input {
        match files {
            [file] if file.openness == Openness::Constant => Input::File(file.path().into()),
            _ => Input::Computed,
        }
    }
}

/// A function's body, with the here-documents of the text that defines it.
#[derive(Clone)]
struct Function {
    body: Rc<Stage>,
    documents: Documents,
}

/// The here-documents of a text; most have none.
type Documents = Option<Rc<[Written]>>;

/// A file that the text writes.
#[derive(PartialEq, Eq)]
struct WrittenFile {
    name: String,
    content: Option<Rc<str>>,
}

impl WrittenFile {
    /// Whether it may be meant by a name: its own, a pattern, or one that a command prints.
    fn may_be(&self, name: &str) -> bool {
        // What nobody has set leaves nothing behind: `s$x` is `s`.
        let (own, other) = (without_expansions(&self.name), without_expansions(name));
        let is_same = self.name == name || own == other && !own.is_empty();
        is_same
            || self.name == "*"
            || name.contains("$(…)")
            || name.contains(['*', '?', '[', '('])
                && (self.name.contains(['$', '…']) || meeting::may_be(name, &self.name))
    }
}

/// A file that the text starts.
struct Awaited {
    path: String,
    args: Vec<Word>,
    by: By,
    at: Span,
}

/// What runs a file.
#[derive(Clone, Copy, Debug)]
enum By {
    /// What its first line says.
    Itself,
    Shell(Shell),
    /// The shell that reads the text, as a part of it.
    Source,
}

/// The walk through a text and the texts within it.
#[derive(Default)]
pub(super) struct Walk {
    /// What was found.
    pub(super) script: Script,
    variables: Variables,
    set_names: SetNames,
    functions: Vec<(String, Function)>,
    calling: Vec<String>,
    files: Vec<WrittenFile>,
    /// Files that are started before the text writes any by that name.
    awaited: Vec<Awaited>,
    /// What is open under a number.
    numbers: Vec<(u32, Input)>,
    documents: Documents,
    positional: Option<Passed>,
    input: Input,
    shell: Shell,
    depth: usize,
    /// Where a nested text stands in the outermost one.
    place: Option<Span>,
    work: usize,
    max_work: usize,
    directories: Directories,
    /// What a `cd` leads to isn't told: CDPATH is set, or an option of the shell.
    odd_directories: bool,
    /// A pattern that fits no file is no word.
    nulls_patterns: bool,
    /// What else a pattern stands for.
    globs: Globs,
    /// The directory was changed.
    has_moved: bool,
    /// A trap changes it at any time.
    is_anywhere: bool,
    /// A trap sets what is given at any time.
    is_given_anything: bool,
    /// What comes next may be passed over: an error throws the rest of a line away, or a trap
    /// returns.
    may_skip: bool,
    /// Variables that can't be set again.
    read_only: HashSet<String>,
    /// What runs when something happens.
    later: Vec<Later>,
    /// What was known where `return`, `break` or `continue` has left what is read.
    left: Option<State>,
    /// What each function that runs has declared as its own variables.
    locals: Vec<Vec<String>>,
    /// What the command at hand sets is known beforehand.
    is_told: bool,
    aliases: bool,
    flowing_into: usize,
    /// What the last simple command is, and what it runs in turn; what its words and redirections
    /// run stands before.
    ran: Range<usize>,
    relinked: bool,
    /// The text makes a file whose name begins as an option does, or as a refspec that forces: `*`
    /// may be one, and a variable.
    makes_option: bool,
    /// Output is read by somebody: a substitution, a pipe.
    captured: bool,
    /// What the last process substitution prints.
    process: Option<Input>,
    zero: Option<Word>,
    named: Vec<(String, Option<String>)>,
    /// `PATH` is set.
    paths: bool,
    /// What git's settings that the text makes have a push do: refspecs, or `--mirror`.
    configured_pushes: Vec<Word>,
    /// The files of plans to destroy that the text makes.
    plans_to_destroy: Vec<String>,
    /// What a shell has read from its input, or has run as a file: all of it was read as that
    /// shell's text.
    read_texts: Vec<Rc<str>>,
    /// A command names the branch that is checked out.
    names_branch: bool,
    /// A word would be an option or a name without the expansion in it: `-exec"$@"`, `pu${x}sh`.
    glued: bool,
    /// Such expansions are taken for empty.
    empties: bool,
}

/// What a function or a text is given.
#[derive(Clone, PartialEq, Eq)]
struct Passed {
    words: Rc<[Word]>,
    /// The words without those that vanish if nothing has set them; `None` if no word does.
    set: Option<Rc<[Word]>>,
    /// `shift` may have taken any number of the first ones away.
    shifted: bool,
}

impl Passed {
    fn new(words: &[Word]) -> Passed {
        // Where none is left, none moves to another's place.
        let set = without_vanishing(words)
            .filter(|set| !set.is_empty())
            .map(Rc::from);
        Passed {
            words: words.into(),
            set,
            shifted: false,
        }
    }

    /// What isn't told.
    fn unknown() -> Passed {
        Passed::new(&[Word::computed()])
    }

    /// What `$@` may be.
    fn all(&self) -> impl Iterator<Item = &[Word]> {
        std::iter::once(&self.words)
            .chain(&self.set)
            .flat_map(|words| {
                let last = if self.shifted { words.len() } else { 0 };
                (0..=last).map(|from| &words[from..])
            })
    }

    /// What `$1` and the like may be; nothing where there are fewer words. What several words may
    /// come of leaves open what stands behind it.
    fn nth(&self, at: usize) -> impl Iterator<Item = Option<Word>> {
        let mut found: Vec<Option<Word>> = Vec::new();
        let is_several =
            |word: &Word| word.spreads() || matches!(word.openness, Openness::Files(_));
        for words in self.all() {
            let word = match words.get(at - 1) {
                Some(word) if word.spreads() => Some(Word::computed()),
                _ if words.iter().take(at - 1).any(is_several) => Some(Word::computed()),
                word => word.cloned(),
            };
            if !found.contains(&word) {
                found.push(word);
            }
        }
        found.into_iter()
    }
}

/// Words without those that the shell makes none of if nothing has set them; nothing if there are
/// no such.
fn without_vanishing(words: &[Word]) -> Option<Vec<Word>> {
    words.iter().any(|word| word.vanishes).then(|| {
        words
            .iter()
            .filter(|word| !word.vanishes)
            .cloned()
            .collect()
    })
}

const MAX_COMMANDS: usize = 20_000;
const MAX_ALTERNATIVES: usize = 16;
/// Files that a text writes and numbers that it opens, as far as they are told apart.
const MAX_FILES: usize = 256;
/// Pushes that a text configures, and plans to destroy that it makes. Beyond it, any may be meant.
const MAX_KEPT: usize = 16;
const TOO_LARGE: &str = "it is nested too deeply or too large";
// An allow is for what is certain: a file may be called `; rm x`.
const COMPLETED: &str = "a shell is given a text that a variable or a file's name completes";

impl Walk {
    pub(super) fn new(shell: Shell, max_work: usize, given: Arc<Environment>) -> Walk {
        let mut walk = Walk {
            variables: Variables::given(given),
            ..Walk::default()
        };
        (walk.shell, walk.max_work) = (shell, max_work);
        walk.script.commands.reserve(4);
        walk
    }

    fn at(&self, span: &Span) -> Span {
        self.place.clone().unwrap_or_else(|| span.clone())
    }

    fn gap(&mut self, why: &'static str, span: &Span) {
        let at = self.at(span);
        if self.script.gaps.len() < 16 {
            self.script.gaps.push(Doubt { why, at });
        }
    }

    /// Code runs that the text computes: nothing that it may do is told.
    fn gap_of_code(&mut self, why: &'static str, span: &Span) {
        self.gap(why, span);
        if self.script.computed.is_none() {
            self.script.computed = Some(Doubt {
                why,
                at: self.at(span),
            });
        }
    }

    fn unseen(&mut self, why: &'static str, span: &Span) {
        self.script.runs_constants = true;
        self.delegates(why, span);
    }

    /// Code runs that the text doesn't show, and that none of its constants can be.
    fn delegates(&mut self, why: &'static str, span: &Span) {
        if self.script.unseen.is_none() {
            self.script.unseen = Some(Doubt {
                why,
                at: self.at(span),
            });
        }
    }

    fn beside(&mut self, why: &'static str, span: &Span) {
        if self.script.beside.is_none() {
            self.script.beside = Some(Doubt {
                why,
                at: self.at(span),
            });
        }
    }

    fn text(&mut self, text: &str, span: &Span) {
        if text.len() > 1 {
            let at = self.at(span);
            self.script.texts.push((text.to_string(), at));
        }
    }

    /// A variable is set otherwise than by an assignment: a later program may run its value.
    fn sets(&mut self, name: &str, value: &str, span: &Span) {
        if programs::is_integer(name, self.shell) && !is_number(value) {
            self.gap("text that arithmetic may expand again", span);
        }
        match programs::hazard(self.untied(name), None) {
            programs::Hazard::None => {}
            programs::Hazard::Shell => {
                self.gap("it sets a variable that changes how the shell reads", span)
            }
            programs::Hazard::Text | programs::Hazard::Unseen => {
                self.beside("it sets a variable that decides which code runs", span);
                self.unseen("it sets a variable that decides which code runs", span);
                self.text(value, span);
            }
        }
    }

    /// The name of a variable that a lower-case one is tied to: to set zsh's `path` is to set
    /// `PATH`.
    fn untied<'n>(&self, name: &'n str) -> &'n str {
        match name {
            "path" if self.shell == Shell::Zsh => "PATH",
            "fpath" if self.shell == Shell::Zsh => "FPATH",
            name => name,
        }
    }

    fn spend(&mut self, work: usize) -> bool {
        self.work += work;
        self.has_work_left()
    }

    /// Whether all of the text was walked, as far as the work that it may take goes.
    pub(super) fn has_work_left(&self) -> bool {
        self.work <= self.max_work
    }

    /// Whether what the text does depends on what it is given.
    pub(super) fn asks_environment(&self) -> bool {
        self.variables.asks_environment()
    }

    /// Reads a text and walks it.
    pub(super) fn read(&mut self, text: &str) {
        self.walk_text(text, &(0..text.len()));
        // A file may be started before it is written: in a loop, or beside what writes it.
        for Awaited { path, args, by, at } in std::mem::take(&mut self.awaited) {
            if self.has_written(&path) {
                self.started(&path, &args, &at, by);
            }
        }
        // What has been set since may be set by then.
        for later in std::mem::take(&mut self.later) {
            self.read_later(&later);
        }
        self.settle_branch();
        self.forget_read_texts();
    }

    /// What a shell has read needn't be looked for names, unless another program may have run the
    /// same: one that reads code, or that isn't known.
    fn forget_read_texts(&mut self) {
        if self.read_texts.is_empty() {
            return;
        }
        let may_run = |command: &Command| {
            let name = command
                .words
                .first()
                .map_or("", |word| base_name(&word.text));
            let is_other = command.runs_words || programs::runs(name).has("input");
            is_other && !command.data && !command.shell_text && !programs::is_shell(name)
        };
        if self.script.commands.iter().any(may_run) {
            return;
        }
        for text in std::mem::take(&mut self.read_texts) {
            if !self.spend(self.script.commands.len()) {
                return;
            }
            let is_it = |other: &str| other.trim_end() == text.trim_end();
            self.script.texts.retain(|(other, _)| !is_it(other));
            for at in 0..self.script.commands.len() {
                let printed = self.prints(&self.script.commands[at].words);
                self.script.commands[at].data |= printed.is_some_and(|printed| is_it(&printed));
            }
        }
    }

    /// A text within the text: of this shell if it is `eval`'s.
    fn nested(&mut self, text: &str, shell: Shell, span: &Span) {
        if self.depth >= grammar::MAX_DEPTH || !self.spend(text.len() * 8) {
            return self.gap(TOO_LARGE, span);
        }
        let place = self.at(span);
        let outer = (
            self.place.replace(place),
            std::mem::replace(&mut self.shell, shell),
        );
        self.depth += 1;
        self.until_left(|this| this.walk_text(text, span));
        self.depth -= 1;
        (self.place, self.shell) = outer;
    }

    /// A text that is run with arguments.
    fn nested_with(&mut self, text: &str, args: &[Word], shell: Shell, span: &Span) {
        self.giving(args, |this| this.nested(text, shell, span));
    }

    fn walk_text(&mut self, text: &str, span: &Span) {
        match grammar::read(text, self.shell, self.depth) {
            Ok(syntax) => {
                // What is listed of it is what another shell would do: that may be, and isn't all.
                if self.shell == Shell::Other && !is_plain(text) {
                    let at = self.at(span);
                    self.script.refused.get_or_insert(Doubt {
                        why: UNKNOWN_SHELL,
                        at,
                    });
                    // To fish `\x2d` is a dash, to others these begin a program's name.
                    if text.contains(['\\', '^', '@']) {
                        self.gap(UNKNOWN_SHELL, span);
                    }
                }
                self.variables.shell = self.shell;
                self.variables.collect_text(text, &syntax.list);
                syntax
                    .documents
                    .iter()
                    .for_each(|document| self.variables.collect_document(document));
                let own = if syntax.documents.is_empty() {
                    None
                } else {
                    Some(syntax.documents.into())
                };
                let documents = std::mem::replace(&mut self.documents, own);
                if self.depth > 0 {
                    self.list(&syntax.list);
                } else {
                    // Nothing comes behind the whole text.
                    self.list_to_end(&syntax.list);
                }
                self.documents = documents;
            }
            Err(outside) => {
                let at = if self.place.is_some() {
                    span.clone()
                } else {
                    outside.at
                };
                self.gap(outside.why, &at);
            }
        }
    }

    fn list(&mut self, list: &List) {
        if let Some(ends) = self.list_to_end(list) {
            self.join(&ends.state());
        }
    }

    /// Runs a list. Gives where the last chain of `&&` and `||` may have ended before its last
    /// pipeline, not joined yet.
    fn list_to_end<'l>(&mut self, list: &'l List) -> Option<Ends<'l>> {
        let (mut begins, mut ends) = (None::<State>, None::<Ends>);
        for (at, pipeline) in list.0.iter().enumerate() {
            if pipeline.joint == Joint::Next
                && let Some(ends) = ends.take()
            {
                self.join(&ends.state());
            }
            let next = list.0.get(at + 1).map_or(Joint::Next, |next| next.joint);
            let before = self.state();
            self.pipeline(pipeline);
            if pipeline.timed && self.shell.may_be_dash() {
                self.join(&before);
            }
            let success = self.state();
            if next == Joint::Next {
                let begins = begins.take();
                if pipeline.background {
                    // It runs beside what comes then.
                    ends = None;
                    self.restore(begins.unwrap_or(before));
                } else if pipeline.joint == Joint::Or
                    && exits(pipeline)
                    && !self.variables.redefines("exit")
                {
                    // `cd x || exit`
                    if let Some(ends) = ends.take() {
                        self.restore(ends.state());
                    }
                } else if before != success {
                    self.restore(failed(pipeline, before, success));
                }
                continue;
            }
            if begins.is_none() {
                begins = Some(before.clone());
            }
            // Where it goes on behind `&&`, that is known here.
            let (goes_on, end) = match (next, pipeline.negated) {
                (Joint::And, false) => (None, Ends::Failed(pipeline, before, success)),
                (Joint::Or, false) => (
                    Some(failed(pipeline, before, success.clone())),
                    Ends::At(success),
                ),
                // What has failed goes on, and the other way round.
                (_, _) => {
                    let failure = failed(pipeline, before, success);
                    (Some(failure.clone()), Ends::At(failure))
                }
            };
            ends = Some(match ends.take() {
                Some(ends) => {
                    let mut state = ends.state();
                    state.join(&end.state());
                    Ends::At(state)
                }
                None => end,
            });
            if let Some(goes_on) = goes_on {
                self.restore(goes_on);
            }
        }
        ends
    }

    fn pipeline(&mut self, pipeline: &Pipeline) {
        if let [stage] = &*pipeline.stages {
            self.stage(stage, false);
            return;
        }
        let mut outer = self.input.clone();
        let mut ranges = Vec::with_capacity(pipeline.stages.len());
        for (at, stage) in pipeline.stages.iter().enumerate() {
            let from = self.script.commands.len();
            if at > 0 && self.shell == Shell::Zsh && stage.redirects.iter().any(Redirect::reads) {
                self.gap(
                    "zsh gives a command what flows in and what is redirected",
                    &stage.span,
                );
            }
            let before = self.state();
            let is_last = at + 1 == pipeline.stages.len();
            let printed = self.stage(stage, !is_last);
            // Zsh runs the last one itself.
            match is_last {
                true => self.join(&before),
                false => self.restore(before),
            }
            ranges.push(from..self.script.commands.len());
            if at == 0 {
                outer = self.left_of(outer, stage);
            }
            self.input = printed;
        }
        self.input = outer;
        self.script.flows.push(ranges);
    }

    /// Walks one stage; what it prints.
    fn stage(&mut self, stage: &Stage, piped: bool) -> Input {
        if self.depth >= 2 * grammar::MAX_DEPTH
            || !self.spend(8)
            || self.script.commands.len() > MAX_COMMANDS
        {
            self.gap(TOO_LARGE, &stage.span);
            return Input::Computed;
        }
        self.depth += 1;
        let printed = self.node(stage, piped);
        self.depth -= 1;
        printed
    }

    fn node(&mut self, stage: &Stage, piped: bool) -> Input {
        if let Node::Simple { assigns, words } = &stage.node {
            return self.simple(stage, assigns, words, piped);
        }
        let outer = self.input.clone();
        let before = self.state();
        let from = self.script.commands.len();
        let (_, writes) = self.redirects(&stage.redirects, &stage.span, None, false);
        self.list_writes(from, writes, &stage.span);
        let mut printed = Input::Computed;
        match &stage.node {
            Node::Simple { .. } => {}
            Node::Group(list) => {
                self.list(list);
                if matches!(list.0.as_slice(), [pipeline] if pipeline.stages.len() == 1) {
                    printed = self.printed_by(list);
                }
            }
            Node::Subshell(list) => {
                self.in_subshell(|this| this.list(list));
                printed = self.printed_by(list);
            }
            Node::Branches(lists) => self.branches(lists),
            Node::Loop { condition, body } => {
                self.repeatedly(|this| {
                    this.list(condition);
                    this.list(body);
                });
            }
            Node::For { name, words, body } => {
                self.sets(name, "", &stage.span);
                for word in words {
                    let values: Vec<Word> = self.expand(word).into_iter().flatten().collect();
                    values
                        .iter()
                        .for_each(|value| self.sets(name, &value.text, &stage.span));
                    if self.positional.is_some() && word.parts.iter().any(simple::is_given) {
                        values
                            .iter()
                            .for_each(|value| self.variables.set_word(name, value, false));
                    }
                }
                // Without any word it isn't set.
                let before = self.state();
                self.has_set(name);
                self.repeatedly(|this| this.list(body));
                self.join(&before);
            }
            Node::Case {
                subject,
                patterns,
                arms,
            } => {
                self.expand(subject);
                for pattern in patterns {
                    self.expand(pattern);
                }
                let before = self.state();
                let mut ends = before.clone();
                for (at, arm) in arms.iter().enumerate() {
                    // Where the arm before goes on, this one may begin as that has ended.
                    match at > 0 && arms[at - 1].goes_on {
                        true => self.join(&before),
                        false => self.restore(before.clone()),
                    }
                    self.list(&arm.list);
                    ends.join(&self.state());
                }
                self.restore(ends);
            }
            Node::Test { words, numbers } => {
                let before = self.state();
                for word in words {
                    let expanded = self.expand(word);
                    for it in expanded.iter().flatten() {
                        let odd = looks_expandable(&it.text);
                        if odd {
                            self.gap("text that arithmetic may expand again", &word.span);
                        }
                    }
                    if *numbers {
                        self.check_numbers(&word.parts, &word.span);
                    }
                }
                // What stands behind `&&` may not be looked at.
                self.join(&before);
            }
            Node::Arithmetic(parts) => {
                self.beside("arithmetic, which may set variables", &stage.span);
                self.walk_parts(parts, &stage.span);
                self.check_numbers(parts, &stage.span);
            }
            Node::Function { name, body } => {
                self.beside("a function", &stage.span);
                if matches!(
                    name.as_str(),
                    "command" | "builtin" | "cd" | "eval" | "exec" | "[" | "unset"
                ) {
                    self.gap("a function with a builtin's name", &stage.span);
                }
                let function = Function {
                    body: Rc::clone(body),
                    documents: self.documents.clone(),
                };
                self.functions.push((name.clone(), function.clone()));
                if name.contains("_handle")
                    || name.starts_with("TRAP")
                    || matches!(name.as_str(), "precmd" | "preexec" | "chpwd" | "zshexit")
                {
                    // The shell calls it, with words that aren't known.
                    self.at_any_time(Later::Call(name.clone(), function, stage.span.clone()));
                }
            }
        }
        // A redirection may fail.
        if !stage.redirects.is_empty() {
            self.join(&before);
        }
        self.input = self.left_of(outer, stage);
        printed
    }

    /// What there is to read behind a stage.
    fn left_of(&self, outer: Input, stage: &Stage) -> Input {
        // What is open under another number is read there, too.
        let is_own = |redirect: &Redirect| {
            redirect.reads() && !matches!(redirect.kind, RedirectKind::Duplicate(_))
        };
        if stage.redirects.iter().any(is_own) {
            outer
        } else {
            self.left(outer)
        }
    }

    /// What there is to read outside of what has the same input: what was read of it is gone.
    fn left(&self, outer: Input) -> Input {
        if self.input == Input::Rest {
            Input::Rest
        } else {
            outer
        }
    }

    /// A command takes some lines of what it reads.
    fn takes_lines(&mut self, span: &Span) {
        if self.input == Input::OwnText {
            self.gap(
                "a command reads lines of the text that its shell is reading",
                span,
            );
        }
        self.input = Input::Rest;
        self.numbers
            .iter_mut()
            .for_each(|(_, input)| *input = Input::Rest);
    }

    /// `if`: each condition, what runs if it holds, and perhaps what runs if none does.
    fn branches(&mut self, lists: &[List]) {
        let mut ends: Option<State> = None;
        let (pairs, otherwise) = lists.as_chunks::<2>();
        for [condition, then] in pairs {
            let before = self.state();
            self.list(condition);
            let holds = self.state();
            self.list(then);
            self.state().join_into(&mut ends);
            self.restore(holds);
            self.join(&before);
        }
        otherwise.iter().for_each(|list| self.list(list));
        if let Some(ends) = ends {
            self.join(&ends);
        }
    }

    /// What a list prints, if the text says so.
    fn printed_by(&self, list: &List) -> Input {
        match self.output(list) {
            Output::Constant(text) => Input::Text(format!("{text}\n").into()),
            _ => Input::Computed,
        }
    }

    fn one(&mut self, word: &Written) -> Option<Word> {
        let mut alternatives = self.expand(word);
        match (alternatives.pop(), alternatives.is_empty()) {
            (Some(mut words), true) if words.len() == 1 => words.pop(),
            (Some(words), true) if words.is_empty() => Some(Word::constant("")),
            _ => None,
        }
    }

    /// The list of a substitution: it runs in a shell of its own.
    fn inner_list(&mut self, list: &List, span: &Span, writes: bool) {
        self.ran = 0..0;
        let outer = (
            self.input.clone(),
            std::mem::replace(&mut self.captured, true),
        );
        if writes {
            self.input = Input::Computed;
        }
        if self.depth >= 2 * grammar::MAX_DEPTH {
            self.gap(TOO_LARGE, span);
        } else {
            self.depth += 1;
            self.in_subshell(|this| this.list(list));
            self.depth -= 1;
        }
        let (input, captured) = outer;
        self.captured = captured;
        self.input = if writes { input } else { self.left(input) };
    }

    /// Whether it is one command that prints a constant text and does nothing else.
    fn is_text(&self, list: &List) -> bool {
        let [Pipeline { stages, .. }] = list.0.as_slice() else {
            return false;
        };
        let [stage] = &**stages else { return false };
        matches!(
            stage.redirects.as_slice(),
            [] | [Redirect {
                kind: RedirectKind::HereDocument(_),
                ..
            }]
        ) && matches!(self.output(list), Output::Constant(_))
    }

    /// Walks what parts hold, whatever they give.
    fn walk_parts(&mut self, parts: &[Part], span: &Span) {
        for part in parts {
            match part {
                Part::Command {
                    list, moved, span, ..
                } => {
                    let outer = self.place.clone();
                    if *moved {
                        self.place = Some(self.at(span));
                    }
                    self.inner_list(list, span, false);
                    self.place = outer;
                    // `"$(cat <<'EOF' ...)"` is a way to write a text: what prints it does nothing
                    // else.
                    if self.is_text(list)
                        && self.functions.is_empty()
                        && !self.aliases
                        && let [printer] = &mut self.script.commands[self.ran.clone()]
                    {
                        printer.role = Role::Transparent;
                    }
                }
                Part::Process { list, reads } => {
                    self.inner_list(list, span, !reads);
                    if *reads {
                        self.process = Some(self.printed_by(list));
                    }
                }
                Part::Arithmetic { parts } => {
                    self.check_numbers(parts, span);
                    self.walk_parts(parts, span);
                }
                Part::Variable { name, change, .. } => match change {
                    Change::Default(parts) | Change::Other(parts) | Change::Replace(parts) => {
                        // It may not come to that.
                        let before = self.state();
                        self.walk_parts(parts, span);
                        self.join(&before);
                    }
                    Change::Assign(parts) => {
                        self.beside("an expansion that sets a variable", span);
                        let text = |part: &Part| match part {
                            Part::Text { text, .. } => Some(text.clone()),
                            _ => None,
                        };
                        let text: String = parts.iter().filter_map(text).collect();
                        self.sets(name, &text, span);
                        self.walk_parts(parts, span);
                        self.has_set(name);
                    }
                    Change::Cut {
                        operands, numbers, ..
                    } => {
                        self.walk_parts(operands, span);
                        if *numbers {
                            self.check_numbers(operands, span);
                        }
                    }
                    Change::Element(subscript) => self.check_subscript(subscript, span),
                    Change::None | Change::Length => {}
                },
                Part::Brace(alternatives) => alternatives
                    .iter()
                    .for_each(|parts| self.walk_parts(parts, span)),
                Part::Text { .. } | Part::Tilde(_) | Part::Glob(_) | Part::Range(_) => {}
            }
        }
    }

    /// A subscript is arithmetic, unless the array is one of names.
    fn check_subscript(&mut self, subscript: &str, span: &Span) {
        let mut given = self.positional.iter().flat_map(|given| given.words.iter());
        let is_odd_given = subscript.contains('$') && given.any(may_expand);
        if is_odd_given || names_in(subscript).any(|name| self.variables.is_odd(name)) {
            self.gap("text that arithmetic may expand again", span);
        }
    }

    /// Arithmetic evaluates what its names hold and what is expanded in it, and runs a substitution
    /// in a subscript of that.
    fn check_numbers(&mut self, parts: &[Part], span: &Span) {
        // Whether a text could run another one, and whether it could set a variable.
        let look_at = |text: &str, variables: &Variables| {
            let is_odd =
                looks_expandable(text) || names_in(text).any(|name| variables.is_odd(name));
            (is_odd, text.contains(char::is_alphabetic))
        };
        let (mut odd, mut sets) = (false, false);
        for part in parts {
            let (is_odd, may_set) = match part {
                Part::Text { text, .. } => look_at(text, &self.variables),
                Part::Variable { name, change, .. } => {
                    // Names of one character are numbers, or operands: `$#`, `$?`, `$1`.
                    let is_special = name.len() == 1
                        && !name.starts_with(|c: char| c.is_alphabetic() || c == '_');
                    let is_number = is_special
                        || matches!(change, Change::Length)
                        || self.variables.is_number(name);
                    let mut given = self.positional.iter().flat_map(|given| given.words.iter());
                    let is_odd =
                        is_positional(name) && given.any(may_expand) || self.variables.is_odd(name);
                    (is_odd, !is_number)
                }
                Part::Command { list, .. } => match self.output(list) {
                    Output::Constant(text) => look_at(&text, &self.variables),
                    _ => (self.variables.output_is_odd(list), true),
                },
                _ => continue,
            };
            odd |= is_odd;
            sets |= may_set;
            self.may_skip |=
                matches!(part, Part::Text { text, .. } if may_be_no_number(text, &self.variables));
        }
        if odd {
            self.gap("text that arithmetic may expand again", span);
        }
        if sets {
            self.beside("arithmetic, which may set variables", span);
        }
    }
}

/// Whether what stands in arithmetic may be an error: a division by nothing, `08`, a name whose
/// value is no number.
fn may_be_no_number(text: &str, variables: &Variables) -> bool {
    let is_no_number = |value: &Resolved| {
        value.openness == Openness::Constant && !value.text.is_empty() && !is_number(&value.text)
    };
    text.contains(['/', '%', '#'])
        || text.contains("**")
        || names_in(text).any(|word| match is_number(word) {
            true => word.len() > 1 && word.starts_with('0'),
            false => variables.values(word).iter().any(is_no_number),
        })
}

/// Where a chain of `&&` and `||` may have ended before its last pipeline.
enum Ends<'l> {
    /// Where this one has failed: what was known before it, and where it does as it should.
    Failed(&'l Pipeline, State, State),
    At(State),
}

impl Ends<'_> {
    fn state(self) -> State {
        match self {
            Ends::Failed(pipeline, before, success) => failed(pipeline, before, success),
            Ends::At(state) => state,
        }
    }
}

/// What is known where a pipeline has failed, or may have. A command whose redirection fails does
/// nothing, and where a `cd` leads isn't told; what else a command sets is set, and compound
/// commands see to their own.
fn failed(pipeline: &Pipeline, mut before: State, success: State) -> State {
    match &*pipeline.stages {
        [stage] if !stage.redirects.is_empty() => {
            before.join(&success);
            before
        }
        [
            Stage {
                node: Node::Simple { .. },
                ..
            },
        ] if before.directories != success.directories => {
            before.directories.join(&success.directories);
            State {
                directories: before.directories,
                ..success
            }
        }
        _ => success,
    }
}

/// Whether the shell ends with a pipeline.
fn exits(pipeline: &Pipeline) -> bool {
    matches!(&*pipeline.stages, [stage] if stage.redirects.is_empty()
        && matches!(&stage.node, Node::Simple { assigns, words } if assigns.is_empty()
            && words.first().and_then(Written::plain) == Some("exit")))
}

/// What surrounds a command.
#[derive(Clone, Default)]
struct Facts {
    assigns: bool,
    /// Each assignment before the command, as `NAME=value`; none if it declares some as well.
    settings: Option<Arc<[Word]>>,
    writes: Writes,
    /// Its output goes to no file and no other command.
    data: bool,
}

/// Whether to read from there opens a connection.
fn opens_connection(file: &Word) -> bool {
    let known = file.beginning();
    ["/dev/tcp/", "/dev/udp/"]
        .iter()
        .any(|place| match file.openness {
            Openness::Constant | Openness::Files(_) | Openness::Operand(0) => {
                known.starts_with(place)
            }
            Openness::Operand(_) | Openness::Computed(..) => {
                known.starts_with(place) || place.starts_with(known)
            }
        })
}

/// Whether a path is that of a file with settings of git.
fn is_settings_of_git(path: &str) -> bool {
    [".gitconfig", "git/config", ".git/config.worktree"]
        .iter()
        .any(|end| path.ends_with(end))
}

/// Text that arithmetic would run: a subscript with a substitution in it.
fn looks_expandable(text: &str) -> bool {
    match text.find('[') {
        Some(at) => {
            let rest = &text[at..];
            rest.contains('`') || rest.contains("$(") || rest.contains("<(") || rest.contains("${")
        }
        None => false,
    }
}

/// Whether a word may be such text.
fn may_expand(word: &Word) -> bool {
    looks_expandable(&word.text) || matches!(word.openness, Openness::Computed(..))
}
