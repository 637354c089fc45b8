//! From a text's syntax to the commands that it would run: expansions followed, functions called,
//! wrappers taken off, texts for other shells read in turn.

use super::expand::{Openness, Resolved, Variables, Word, is_variable, join};
use super::grammar::{
    self, Assign, Change, List, Node, Part, Pipeline, Redirect, RedirectKind, Stage, Value, Word as Written,
};
use super::output::{self, Output};
use super::programs::{self, Wrapper};
use super::{Command, Gap, Shell, Span};
use std::ops::Range;
use std::rc::Rc;

/// What a command reads from its standard input, as far as the text says.
#[derive(Clone, Debug)]
enum Input {
    /// What the whole text reads.
    Outer,
    Text(Rc<str>),
    /// Paths, names, numbers.
    Operands,
    Computed,
    File(String),
}

/// A function's body, with the here-documents of the text that defines it.
#[derive(Clone)]
struct Function {
    body: Rc<Stage>,
    documents: Rc<Vec<Written>>,
}

/// A file that the text writes.
struct WrittenFile {
    name: String,
    content: Option<Rc<str>>,
}

/// The walk through a text and the texts within it.
pub(super) struct Walk {
    pub(super) commands: Vec<Command>,
    /// What could run and can't be told.
    pub(super) gaps: Vec<Gap>,
    /// Code runs that the text doesn't show.
    pub(super) unseen: Option<Gap>,
    /// What else the text does than its commands say: a rule that allows must not overlook it.
    pub(super) beside: Option<Gap>,
    /// Constants that may end up as code.
    pub(super) texts: Vec<(String, Span)>,
    /// What flows from one to the next: for each pipe, the commands of its stages.
    pub(super) flows: Vec<Vec<Range<usize>>>,
    /// Scripts by their path, to be looked into by whoever has the files.
    pub(super) scripts: Vec<String>,
    variables: Variables,
    functions: Vec<(String, Function)>,
    calling: Vec<String>,
    files: Vec<WrittenFile>,
    documents: Rc<Vec<Written>>,
    positional: Option<Rc<Vec<Word>>>,
    input: Input,
    shell: Shell,
    depth: usize,
    /// Where a nested text stands in the outermost one.
    place: Option<Span>,
    work: usize,
    directory: Directory,
    aliases: bool,
    flowing_into: usize,
    /// Output is read by somebody: a substitution, a pipe.
    captured: bool,
    /// What the last process substitution prints.
    process: Option<Input>,
    zero: Option<Word>,
    named: Vec<(String, Option<String>)>,
    /// `PATH` is set.
    paths: bool,
}

/// Where commands run, against where the text began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Directory {
    Same,
    In(String),
    Unknown,
}

const MAX_COMMANDS: usize = 20_000;
const MAX_ALTERNATIVES: usize = 16;
const MAX_WORK: usize = 400_000;
const TOO_LARGE: &str = "it is nested too deeply or too large";

impl Walk {
    pub(super) fn new(shell: Shell) -> Walk {
        Walk {
            commands: Vec::with_capacity(4),
            gaps: Vec::new(),
            unseen: None,
            beside: None,
            texts: Vec::new(),
            flows: Vec::new(),
            scripts: Vec::new(),
            variables: Variables::default(),
            functions: Vec::new(),
            calling: Vec::new(),
            files: Vec::new(),
            documents: Rc::default(),
            positional: None,
            input: Input::Outer,
            shell,
            depth: 0,
            place: None,
            work: 0,
            directory: Directory::Same,
            aliases: false,
            flowing_into: 0,
            captured: false,
            process: None,
            zero: None,
            named: Vec::new(),
            paths: false,
        }
    }

    fn at(&self, span: &Span) -> Span {
        self.place.clone().unwrap_or_else(|| span.clone())
    }

    fn gap(&mut self, why: &'static str, span: &Span) {
        let at = self.at(span);
        if self.gaps.len() < 16 {
            self.gaps.push(Gap { why, at });
        }
    }

    fn unseen(&mut self, why: &'static str, span: &Span) {
        if self.unseen.is_none() {
            self.unseen = Some(Gap { why, at: self.at(span) });
        }
    }

    fn beside(&mut self, why: &'static str, span: &Span) {
        if self.beside.is_none() {
            self.beside = Some(Gap { why, at: self.at(span) });
        }
    }

    fn text(&mut self, text: &str, span: &Span) {
        if text.len() > 2 {
            let at = self.at(span);
            self.texts.push((text.to_string(), at));
        }
    }

    fn spend(&mut self, work: usize) -> bool {
        self.work += work;
        self.work <= MAX_WORK
    }

    /// Reads a text and walks it.
    pub(super) fn read(&mut self, text: &str) {
        self.walk_text(text, &(0..text.len()));
    }

    /// A text within the text: of this shell if it is `eval`'s.
    fn nested(&mut self, text: &str, shell: Shell, span: &Span) {
        if self.depth >= grammar::MAX_DEPTH || !self.spend(text.len() * 8) {
            return self.gap(TOO_LARGE, span);
        }
        let place = self.at(span);
        let outer = (self.place.replace(place), std::mem::replace(&mut self.shell, shell));
        self.depth += 1;
        self.walk_text(text, span);
        self.depth -= 1;
        (self.place, self.shell) = outer;
    }

    fn walk_text(&mut self, text: &str, span: &Span) {
        match grammar::read(text, self.shell, self.depth) {
            Ok(syntax) => {
                self.variables.collect(&syntax.list);
                syntax.documents.iter().for_each(|document| self.variables.collect_document(document));
                let documents = std::mem::replace(&mut self.documents, Rc::new(syntax.documents));
                self.list(&syntax.list);
                self.documents = documents;
            }
            Err(outside) => {
                let at = if self.place.is_some() { span.clone() } else { outside.at };
                self.gap(outside.why, &at);
            }
        }
    }

    fn list(&mut self, list: &List) {
        for pipeline in &list.0 {
            let before = pipeline.conditional.then(|| self.directory.clone());
            self.pipeline(pipeline);
            if before.is_some_and(|before| before != self.directory) && pipeline.stages.len() != 1 {
                self.directory = Directory::Unknown;
            }
        }
    }

    fn pipeline(&mut self, pipeline: &Pipeline) {
        if let [stage] = pipeline.stages.as_slice() {
            self.stage(stage, false);
            return;
        }
        let outer = self.input.clone();
        let directory = self.directory.clone();
        let mut ranges = Vec::with_capacity(pipeline.stages.len());
        for (at, stage) in pipeline.stages.iter().enumerate() {
            let from = self.commands.len();
            let printed = self.stage(stage, at + 1 < pipeline.stages.len());
            ranges.push(from..self.commands.len());
            self.input = printed;
        }
        self.input = outer;
        if self.directory != directory {
            self.directory = Directory::Unknown;
        }
        self.flows.push(ranges);
    }

    /// Walks one stage; what it prints.
    fn stage(&mut self, stage: &Stage, piped: bool) -> Input {
        if self.depth >= 2 * grammar::MAX_DEPTH || !self.spend(8) || self.commands.len() > MAX_COMMANDS {
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
        let (_, writes) = self.redirects(&stage.redirects, &stage.span, None, false);
        if writes {
            self.beside("a redirection to a file", &stage.span);
        }
        let directory = self.directory.clone();
        let mut printed = Input::Computed;
        match &stage.node {
            Node::Simple { .. } => {}
            Node::Group(list) => {
                self.list(list);
                if let [pipeline] = list.0.as_slice()
                    && let Output::Constant(text) = output::of(list)
                    && pipeline.stages.len() == 1
                {
                    printed = Input::Text(format!("{text}\n").into());
                }
            }
            Node::Subshell(list) => {
                self.list(list);
                if let Output::Constant(text) = output::of(list) {
                    printed = Input::Text(format!("{text}\n").into());
                }
                self.directory = directory;
            }
            Node::Branches(lists) => {
                lists.iter().for_each(|list| self.list(list));
                self.forget_directory(directory);
            }
            Node::For { words, body, .. } => {
                for word in words {
                    self.expand(word);
                }
                self.list(body);
                self.forget_directory(directory);
            }
            Node::Case { subject, patterns, arms } => {
                self.expand(subject);
                for pattern in patterns {
                    self.expand(pattern);
                }
                arms.iter().for_each(|list| self.list(list));
                self.forget_directory(directory);
            }
            Node::Test { words, numbers } => {
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
            }
            Node::Arithmetic(parts) => {
                self.beside("arithmetic, which may set variables", &stage.span);
                self.walk_parts(parts, &stage.span);
                self.check_numbers(parts, &stage.span);
            }
            Node::Function { name, body } => {
                self.beside("a function", &stage.span);
                if matches!(name.as_str(), "command" | "builtin" | "cd" | "eval" | "exec" | "[" | "unset") {
                    self.gap("a function with a builtin's name", &stage.span);
                }
                let function = Function { body: Rc::clone(body), documents: Rc::clone(&self.documents) };
                self.functions.push((name.clone(), function.clone()));
                if name.contains("_handle")
                    || name.starts_with("TRAP")
                    || matches!(name.as_str(), "precmd" | "preexec" | "chpwd" | "zshexit")
                {
                    self.call(name, &function, &[Word::constant(name.as_str())], &stage.span);
                }
            }
        }
        self.input = outer;
        printed
    }

    fn forget_directory(&mut self, before: Directory) {
        if self.directory != before {
            self.directory = Directory::Unknown;
        }
    }

    /// Reads redirections: sets what the command reads, and says whether its output goes to a file.
    fn redirects(&mut self, redirects: &[Redirect], span: &Span, prints: Option<&Input>, inert: bool) -> (bool, bool) {
        let (mut output, mut writes) = (false, false);
        for redirect in redirects {
            match &redirect.kind {
                RedirectKind::Read(word) => {
                    let input = match word.parts.as_slice() {
                        [Part::Process { list, reads: true }] => {
                            let from = self.commands.len();
                            self.inner_list(list, &word.span, false);
                            self.flowing_into = from;
                            match output::of(list) {
                                Output::Constant(text) => Input::Text(format!("{text}\n").into()),
                                Output::Operands => Input::Operands,
                                Output::Anything => Input::Computed,
                            }
                        }
                        _ => match self.one(word) {
                            Some(word) if word.openness == Openness::Constant => Input::File(word.text),
                            _ => Input::Computed,
                        },
                    };
                    if redirect.fd.is_none_or(|fd| fd == 0) {
                        self.input = input;
                    } else if !matches!(input, Input::File(_)) {
                        self.beside("a file that is open under a number", span);
                    }
                }
                RedirectKind::HereString(word) => {
                    let words = self.one(word);
                    if let Some(word) = &words {
                        let text = word.beginning().to_string();
                        self.text(&text, span);
                    }
                    if redirect.fd.is_none_or(|fd| fd == 0) {
                        self.input = match words {
                            Some(word) if word.openness == Openness::Constant => {
                                Input::Text(format!("{}\n", word.text).into())
                            }
                            Some(word) if matches!(word.openness, Openness::Operand(_)) => Input::Operands,
                            _ => Input::Computed,
                        };
                    }
                }
                RedirectKind::HereDocument(at) => {
                    let documents = Rc::clone(&self.documents);
                    let Some(word) = documents.get(*at) else {
                        self.gap(TOO_LARGE, span);
                        continue;
                    };
                    let input = match word.parts.as_slice() {
                        [] => Input::Text("".into()),
                        [Part::Text { text, .. }] => {
                            if !inert {
                                self.text(text, &word.span);
                            }
                            Input::Text(text.as_str().into())
                        }
                        parts => {
                            // Its places are those of the body.
                            let place = self.at(&word.span);
                            let outer = self.place.replace(place);
                            self.walk_parts(parts, &word.span);
                            self.place = outer;
                            let mut text = String::new();
                            let mut constant = true;
                            for part in parts {
                                match part {
                                    Part::Text { text: piece, .. } => text.push_str(piece),
                                    Part::Variable { name, change: Change::None, .. } => {
                                        match self.variables.values(name).as_slice() {
                                            [Resolved { text: value, openness: Openness::Constant }] => {
                                                text.push_str(value)
                                            }
                                            _ => {
                                                constant = false;
                                                text.push('…');
                                            }
                                        }
                                    }
                                    _ => {
                                        constant = false;
                                        text.push('…');
                                    }
                                }
                            }
                            if !inert {
                                self.text(&text, &word.span);
                            }
                            if constant { Input::Text(text.into()) } else { Input::Computed }
                        }
                    };
                    if redirect.fd.is_none_or(|fd| fd == 0) {
                        self.input = input;
                    }
                }
                RedirectKind::Write(word) | RedirectKind::ReadWrite(word) => {
                    let target = match word.parts.as_slice() {
                        [Part::Process { list, .. }] => {
                            self.inner_list(list, &word.span, true);
                            None
                        }
                        _ => self.one(word),
                    };
                    let path = target.as_ref().filter(|word| word.openness == Openness::Constant);
                    match path.map(|word| word.text.as_str()) {
                        Some("/dev/null" | "/dev/stdout" | "/dev/stderr" | "/dev/tty") => {}
                        Some(path) => {
                            let content = match prints {
                                Some(Input::Text(text)) if redirect.fd.is_none_or(|fd| fd == 1) => {
                                    Some(Rc::clone(text))
                                }
                                _ => None,
                            };
                            self.wrote(path, content);
                            writes = true;
                        }
                        None => writes = true,
                    }
                    output |= redirect.fd.is_none_or(|fd| fd == 1);
                }
                RedirectKind::Duplicate(_) => {
                    output |= redirect.fd.is_none_or(|fd| fd == 1);
                }
            }
        }
        (output, writes)
    }

    fn wrote(&mut self, path: &str, content: Option<Rc<str>>) {
        let name = base_name(path).to_string();
        if self.files.len() > 256 {
            return;
        }
        if matches!(name.as_str(), "config" | ".gitconfig" | "gitconfig") || path.contains(".git/") {
            self.aliases = true;
        }
        self.files.push(WrittenFile { name, content });
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
    fn inner_list(&mut self, list: &List, span: &Span, writes: bool) -> Range<usize> {
        let from = self.commands.len();
        let outer = (self.input.clone(), self.directory.clone(), std::mem::replace(&mut self.captured, true));
        if writes {
            self.input = Input::Computed;
        }
        if self.depth >= 2 * grammar::MAX_DEPTH {
            self.gap(TOO_LARGE, span);
        } else {
            self.depth += 1;
            self.list(list);
            self.depth -= 1;
        }
        (self.input, self.directory, self.captured) = outer;
        from..self.commands.len()
    }

    /// Walks what parts hold, whatever they give.
    fn walk_parts(&mut self, parts: &[Part], span: &Span) {
        for part in parts {
            match part {
                Part::Command { list, moved, span, .. } => {
                    let outer = self.place.clone();
                    if *moved {
                        self.place = Some(self.at(span));
                    }
                    self.inner_list(list, span, false);
                    self.place = outer;
                }
                Part::Process { list, reads } => {
                    self.inner_list(list, span, !reads);
                    if *reads {
                        self.process = Some(match output::of(list) {
                            Output::Constant(text) => Input::Text(format!("{text}\n").into()),
                            _ => Input::Computed,
                        });
                    }
                }
                Part::Arithmetic { parts } => {
                    self.check_numbers(parts, span);
                    self.walk_parts(parts, span);
                }
                Part::Variable { change, .. } => match change {
                    Change::Other(parts) => self.walk_parts(parts, span),
                    Change::Assign(parts) => {
                        self.beside("an expansion that sets a variable", span);
                        self.walk_parts(parts, span);
                    }
                    Change::Cut { operands, numbers } => {
                        self.walk_parts(operands, span);
                        if *numbers {
                            self.check_numbers(operands, span);
                        }
                    }
                    Change::None | Change::Element(_) | Change::Length => {}
                },
                Part::Brace(alternatives) => alternatives.iter().for_each(|parts| self.walk_parts(parts, span)),
                Part::Text { .. } | Part::Tilde | Part::Glob(_) | Part::Range(_) => {}
            }
        }
    }

    /// Arithmetic evaluates what its names hold, and runs a substitution in a subscript of that.
    fn check_numbers(&mut self, parts: &[Part], span: &Span) {
        let mut odd = false;
        for part in parts {
            match part {
                Part::Text { text, .. } => {
                    odd |= looks_expandable(text);
                    for name in text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')) {
                        odd |= self.variables.is_odd(name);
                    }
                }
                Part::Variable { name, .. } => odd |= self.variables.is_odd(name),
                _ => {}
            }
        }
        if odd {
            self.gap("text that arithmetic may expand again", span);
        }
        if parts
            .iter()
            .any(|part| matches!(part, Part::Text { text, .. } if text.contains(|c: char| c.is_alphabetic())))
        {
            self.beside("arithmetic, which may set variables", span);
        }
    }

    /// What a word may become: several alternatives, each of several words.
    fn expand(&mut self, word: &Written) -> Vec<Vec<Word>> {
        let span = if self.place.is_none() { Some(word.span.clone()) } else { None };
        if let [Part::Text { text, quoted }] = word.parts.as_slice() {
            return vec![vec![Word { text: text.clone(), span, quoted: *quoted, ..Word::default() }]];
        }
        self.walk_parts(&word.parts, &word.span);
        let mut lists: Vec<Vec<&Part>> = vec![Vec::new()];
        if !spread(&word.parts, &mut lists) {
            return vec![vec![Word { span, ..Word::computed() }]];
        }
        let single = lists.len() == 1;
        // Brace expansion gives all of its words at once.
        let mut alternatives: Vec<Vec<Word>> = vec![Vec::new()];
        for parts in lists {
            let made = self.build(&parts, if single { span.clone() } else { None });
            if alternatives.len() * made.len() > MAX_ALTERNATIVES {
                return vec![vec![Word { span, ..Word::computed() }]];
            }
            alternatives = alternatives
                .iter()
                .flat_map(|before| made.iter().map(move |words| before.iter().chain(words).cloned().collect()))
                .collect();
        }
        alternatives
    }

    fn build(&mut self, parts: &[&Part], span: Option<Span>) -> Vec<Vec<Word>> {
        let mut builds = vec![Build::default()];
        for (at, part) in parts.iter().enumerate() {
            let nexts: Vec<Next> = match part {
                Part::Text { text, quoted } => vec![Next::Text(text.clone(), *quoted)],
                Part::Tilde => vec![Next::Home],
                Part::Glob(c) => vec![Next::Open(c.to_string(), Openness::Files(0))],
                Part::Range(text) => {
                    vec![Next::Open(format!("{{{text}}}"), Openness::Operand(0))]
                }
                Part::Brace(_) => vec![Next::Open("{…}".into(), Openness::Computed(0, true))],
                Part::Arithmetic { .. } => vec![Next::Open("$((…))".into(), Openness::Operand(0))],
                Part::Process { .. } => vec![Next::Open("/dev/fd/…".into(), Openness::Operand(8))],
                Part::Command { list, quoted, .. } => match output::of(list) {
                    Output::Constant(text) => vec![Next::Value(text, *quoted)],
                    Output::Operands => vec![Next::Open("$(…)".into(), Openness::Operand(0))],
                    Output::Anything => match self.resolved_output(list) {
                        Some(text) => vec![Next::Value(text, *quoted)],
                        None => vec![Next::Open("$(…)".into(), Openness::Computed(0, !quoted))],
                    },
                },
                // `$HOME/x` is `~/x`, unless the text sets it.
                Part::Variable { name, change: Change::None, .. }
                    if name == "HOME"
                        && at == 0
                        && self.variables.values(name).is_empty()
                        && parts
                            .get(1)
                            .is_none_or(|next| matches!(next, Part::Text { text, .. } if text.starts_with('/'))) =>
                {
                    vec![Next::Home]
                }
                Part::Variable { name, change, quoted } => self.variable(name, change, *quoted),
            };
            if builds.len() * nexts.len() > MAX_ALTERNATIVES {
                return vec![vec![Word { span, ..Word::computed() }]];
            }
            let splits = self.variables.separators;
            builds = builds
                .iter()
                .flat_map(|build| {
                    nexts.iter().map(move |next| {
                        let mut build = build.clone();
                        build.add(next, splits);
                        build
                    })
                })
                .collect();
        }
        builds.into_iter().map(|build| build.finish(span.clone())).collect()
    }

    /// `$(echo $x)` with variables that are constant.
    fn resolved_output(&mut self, list: &List) -> Option<String> {
        let [pipeline] = list.0.as_slice() else { return None };
        let [stage] = pipeline.stages.as_slice() else { return None };
        let Node::Simple { assigns, words } = &stage.node else { return None };
        if !assigns.is_empty() || !stage.redirects.is_empty() {
            return None;
        }
        let name = words.first().and_then(Written::plain)?;
        if !matches!(name, "echo" | "printf") {
            return None;
        }
        let constant = |word: &Written| -> Option<String> {
            let mut text = String::new();
            for part in &word.parts {
                match part {
                    Part::Text { text: piece, .. } => text.push_str(piece),
                    Part::Variable { name, change: Change::None, .. } => match self.variables.values(name).as_slice() {
                        [Resolved { text: value, openness: Openness::Constant }] => text.push_str(value),
                        _ => return None,
                    },
                    _ => return None,
                }
            }
            Some(text)
        };
        let texts: Vec<String> = words.iter().map(constant).collect::<Option<_>>()?;
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        output::printed(&texts, self.shell != Shell::Bash).map(|text| text.trim_end_matches('\n').to_string())
    }

    fn variable(&mut self, name: &str, change: &Change, quoted: bool) -> Vec<Next> {
        let open = |openness| vec![Next::Open(format!("${name}"), openness)];
        let values = |values: Vec<Resolved>| -> Vec<Next> {
            values
                .into_iter()
                .map(|value| match value.openness {
                    Openness::Constant => Next::Value(value.text, quoted),
                    Openness::Computed(at, _) => Next::Open(value.text, Openness::Computed(at, !quoted)),
                    openness => Next::Open(value.text, openness),
                })
                .collect()
        };
        if matches!(name, "@" | "*") || name.bytes().all(|byte| byte.is_ascii_digit()) {
            return match &self.positional {
                // What the whole text was given is an operand; nobody but the caller sets it.
                None => open(Openness::Operand(0)),
                Some(words) if matches!(change, Change::None) => match name.parse::<usize>() {
                    Ok(0) => match &self.zero {
                        Some(word) => vec![Next::Words(vec![word.clone()], quoted)],
                        None => open(Openness::Operand(0)),
                    },
                    Ok(at) => match words.get(at - 1) {
                        Some(word) => vec![Next::Words(vec![word.clone()], quoted)],
                        None => vec![Next::Value(String::new(), quoted)],
                    },
                    Err(_) => vec![Next::Words(words.to_vec(), quoted && name == "@")],
                },
                Some(_) => open(Openness::Computed(0, !quoted)),
            };
        }
        if !is_variable(name) {
            return open(Openness::Operand(0));
        }
        if name == "IFS" && matches!(change, Change::None) && !self.variables.is_set(name) {
            return vec![Next::Value(" \t\n".into(), quoted)];
        }
        match change {
            Change::Length => open(Openness::Operand(0)),
            Change::Element(element) => match (element.as_str(), self.variables.elements(name)) {
                ("@" | "*", Some(elements)) => {
                    let words = elements.into_iter().map(|value| Word {
                        text: value.text,
                        openness: value.openness,
                        quoted: true,
                        ..Word::default()
                    });
                    vec![Next::Words(words.collect(), quoted)]
                }
                (index, Some(elements)) => match index.parse::<usize>().ok().and_then(|at| elements.get(at)) {
                    Some(value) => values(vec![value.clone()]),
                    None => open(Openness::Operand(0)),
                },
                (_, None) if self.variables.is_set(name) => open(Openness::Computed(0, true)),
                (_, None) => open(Openness::Operand(0)),
            },
            Change::None if self.shell == Shell::Zsh && self.variables.is_array(name) => {
                match self.variables.elements(name) {
                    Some(elements) => {
                        let words = elements.into_iter().map(|value| Word {
                            text: value.text,
                            openness: value.openness,
                            quoted: true,
                            ..Word::default()
                        });
                        vec![Next::Words(words.collect(), true)]
                    }
                    None => open(Openness::Computed(0, true)),
                }
            }
            Change::None => match self.variables.values(name) {
                found if self.shell == Shell::Zsh && !found.is_empty() => {
                    // Zsh doesn't split.
                    let whole = |next| match next {
                        Next::Value(text, _) => Next::Value(text, true),
                        next => next,
                    };
                    values(found).into_iter().map(whole).collect()
                }
                none if none.is_empty() => open(Openness::Operand(0)),
                found => values(found),
            },
            Change::Other(parts) | Change::Assign(parts) => {
                let mut nexts = match self.variables.values(name) {
                    none if none.is_empty() => open(Openness::Operand(0)),
                    found => values(found),
                };
                let parts: Vec<&Part> = parts.iter().collect();
                for words in self.build(&parts, None) {
                    nexts.push(Next::Words(words, quoted));
                }
                nexts
            }
            Change::Cut { .. } => {
                let values = self.variables.values(name);
                let dashes = |value: &Resolved| {
                    matches!(value.openness, Openness::Computed(..))
                        || value.text.contains('-')
                        || value.text.contains(' ')
                };
                if values.iter().any(dashes) {
                    open(Openness::Computed(0, !quoted))
                } else {
                    open(Openness::Operand(0))
                }
            }
        }
    }

    fn simple(&mut self, stage: &Stage, assigns: &[Assign], words: &[Written], piped: bool) -> Input {
        let mut declared = Vec::new();
        for assign in assigns {
            let value = self.assign(assign);
            if assign.argument {
                let at = assign.name.len() + 1;
                let value = value.unwrap_or_default();
                let openness = join(at, Openness::Constant, value.openness);
                let span = if self.place.is_none() { Some(assign.span.clone()) } else { None };
                declared.push(Word {
                    text: format!("{}={}", assign.name, value.text),
                    span,
                    openness,
                    ..Word::default()
                });
            }
        }
        let mut alternatives: Vec<Vec<Word>> = vec![Vec::with_capacity(words.len())];
        let from = self.commands.len();
        for word in words {
            if let ([Part::Text { text, quoted }], [words]) = (word.parts.as_slice(), alternatives.as_mut_slice()) {
                let span = if self.place.is_none() { Some(word.span.clone()) } else { None };
                words.push(Word { text: text.clone(), span, quoted: *quoted, ..Word::default() });
                continue;
            }
            let made = self.expand(word);
            if let ([words], [_]) = (alternatives.as_mut_slice(), made.as_slice()) {
                words.extend(made.into_iter().flatten());
                continue;
            }
            if alternatives.len() * made.len() > MAX_ALTERNATIVES {
                alternatives.iter_mut().for_each(|words| words.push(Word::computed()));
                continue;
            }
            alternatives = alternatives
                .iter()
                .flat_map(|before| made.iter().map(move |words| before.iter().chain(words).cloned().collect()))
                .collect();
        }
        alternatives.iter_mut().for_each(|words| words.extend(declared.iter().cloned()));
        let inner = from..self.commands.len();
        let outer = self.input.clone();
        // What it prints decides what a file holds that it writes, so redirections of input come first.
        let mut printed = Input::Computed;
        let (output, writes) = if stage.redirects.is_empty() {
            (false, false)
        } else {
            let constant = match alternatives.as_slice() {
                [words] => self.prints(words),
                _ => None,
            };
            let constant = constant.map(|text| Input::Text(text.into())).or_else(|| self.copied(words, stage));
            self.flowing_into = usize::MAX;
            let inert = self.reads_prose(words, stage, piped);
            let result = self.redirects(&stage.redirects, &stage.span, constant.as_ref(), inert);
            if self.flowing_into != usize::MAX {
                let (from, end) = (self.flowing_into, self.commands.len());
                self.flows.push(vec![from..end, end..end + 1]);
            }
            result
        };
        if words.is_empty() && !assigns.is_empty() {
            self.beside("an assignment", &stage.span);
        }
        let facts = Facts { assigns: !assigns.is_empty(), writes, data: !piped && !output && !self.captured };
        for words in &alternatives {
            let own = self.commands.len();
            self.run(words, &stage.span, &facts);
            if let Some(text) = self.prints(words) {
                if !facts.data {
                    self.text(&text, &stage.span);
                }
                printed = Input::Text(text.into());
            } else if let Some(name) = words.first().and_then(Word::as_constant) {
                printed = match (base_name(name), &self.input) {
                    ("cat" | "tee", Input::Text(text)) if words.len() == 1 || base_name(name) == "tee" => {
                        Input::Text(Rc::clone(text))
                    }
                    ("cat", _)
                        if words.len() == 2 && words[1].as_constant().is_some_and(|path| !path.starts_with('-')) =>
                    {
                        Input::File(words[1].text.clone())
                    }
                    ("find" | "fd" | "pgrep" | "seq" | "pidof" | "lsof", _) => Input::Operands,
                    ("git", _)
                        if words.get(1).is_some_and(|word| matches!(word.text.as_str(), "ls-files" | "rev-list")) =>
                    {
                        Input::Operands
                    }
                    ("head" | "tail" | "sort" | "uniq" | "grep" | "egrep", Input::Operands) => Input::Operands,
                    _ => Input::Computed,
                };
            }
            // What an argument's substitution prints flows into the command.
            if !inner.is_empty() && own < self.commands.len() {
                self.flows.push(vec![inner.clone(), own..self.commands.len()]);
            }
        }
        let is_exec = words.len() == 1 && words[0].plain() == Some("exec");
        if !is_exec {
            self.input = outer;
        }
        if output { Input::Text("".into()) } else { printed }
    }

    /// Whether what the command reads can't end up as code: it is shown, or written into prose.
    fn reads_prose(&self, words: &[Written], stage: &Stage, piped: bool) -> bool {
        let name = words.first().and_then(Written::plain).unwrap_or_default();
        if piped || self.captured || !matches!(name, "cat" | "tee" | "grep" | "wc" | "head" | "tail" | "git" | "gh") {
            return false;
        }
        let is_prose = |path: &str| {
            [".md", ".txt", ".rst", ".html", ".csv", ".log", ".adoc"].iter().any(|end| path.ends_with(end))
        };
        let written = stage.redirects.iter().filter_map(|redirect| match &redirect.kind {
            RedirectKind::Write(word) | RedirectKind::ReadWrite(word) if redirect.fd != Some(2) => {
                Some(word.plain().unwrap_or_default())
            }
            _ => None,
        });
        let mut operands =
            words.iter().skip(1).map(|word| word.plain().unwrap_or_default()).filter(|word| !word.starts_with('-'));
        written.chain(operands.by_ref().filter(|_| name == "tee")).all(is_prose)
    }

    /// `cat <<E > file`: what a copying command writes.
    fn copied(&mut self, words: &[Written], stage: &Stage) -> Option<Input> {
        let name = words.first().and_then(Written::plain)?;
        if !matches!(name, "cat" | "tee") || words.len() > 2 {
            return None;
        }
        let from_document = stage.redirects.iter().find_map(|redirect| match &redirect.kind {
            RedirectKind::HereDocument(at) => match self.documents.get(*at)?.parts.as_slice() {
                [Part::Text { text, .. }] => Some(Input::Text(text.as_str().into())),
                _ => None,
            },
            RedirectKind::HereString(word) => word.plain().map(|text| Input::Text(text.into())),
            _ => None,
        });
        from_document.or_else(|| match &self.input {
            Input::Text(text) if words.len() == 1 => Some(Input::Text(Rc::clone(text))),
            _ => None,
        })
    }

    /// What `echo` and `printf` print with these words.
    fn prints(&self, words: &[Word]) -> Option<String> {
        if !matches!(words.first()?.text.as_str(), "echo" | "printf") {
            return None;
        }
        let texts: Vec<&str> = words.iter().map(Word::as_constant).collect::<Option<_>>()?;
        output::printed(&texts, self.shell != Shell::Bash)
    }

    /// What an assignment sets a variable to.
    fn assign(&mut self, assign: &Assign) -> Option<Word> {
        if assign.element.as_ref().is_some_and(|name| self.variables.is_odd(name.trim_start_matches('$'))) {
            self.gap("text that arithmetic may expand again", &assign.span);
        }
        let words: &[Written] = match &assign.value {
            Value::One(word) => std::slice::from_ref(word),
            Value::Array(words) => words,
        };
        let mut value = None;
        for word in words {
            for it in self.expand(word).into_iter().flatten() {
                let text = it.beginning().to_string();
                self.text(&text, &assign.span);
                value = Some(it);
            }
        }
        let constant = value.as_ref().and_then(Word::as_constant);
        match programs::hazard(&assign.name, constant) {
            programs::Hazard::None => {}
            programs::Hazard::Unseen => {
                self.unseen("it sets a variable that decides which code runs", &assign.span);
                let text = value.as_ref().map(|word| word.text.clone()).unwrap_or_default();
                self.code_paths(&assign.name, &text);
            }
            programs::Hazard::Shell => self.gap("it sets a variable that changes how the shell reads", &assign.span),
            programs::Hazard::Text => match (constant, value.as_ref()) {
                (Some(text), _) => {
                    let text = text.to_string();
                    self.unseen("it sets a variable that decides which code runs", &assign.span);
                    self.nested(&text, Shell::Unknown, &assign.span);
                }
                (None, Some(word)) if matches!(word.openness, Openness::Computed(..)) => {
                    self.gap("it sets a variable that a later program runs", &assign.span);
                }
                _ => self.unseen("it sets a variable that decides which code runs", &assign.span),
            },
        }
        value
    }

    /// Files that a variable makes a later program run.
    fn code_paths(&mut self, name: &str, value: &str) {
        self.paths |= name == "PATH";
        for piece in value
            .split([' ', ':', '=', ','])
            .filter(|piece| !piece.is_empty() && !piece.starts_with(['$', '-']))
            .take(16)
        {
            self.scripts.push(piece.to_string());
            if name == "PYTHONPATH" {
                self.scripts.push(format!("{piece}/sitecustomize.py"));
                self.scripts.push(format!("{piece}/usercustomize.py"));
            }
        }
    }

    fn emit(&mut self, words: &[Word], span: &Span, facts: &Facts, role: super::Role) {
        let at = self.at(span);
        self.work += words.len();
        self.commands.push(Command {
            words: words.to_vec(),
            span: at,
            role,
            assigns: facts.assigns,
            writes: facts.writes,
            data: false,
            directory: self.directory.clone(),
            shell_text: false,
        });
    }

    /// One simple command, or what it runs in turn.
    fn run(&mut self, words: &[Word], span: &Span, facts: &Facts) {
        let Some(head) = words.first() else { return };
        if self.depth >= 2 * grammar::MAX_DEPTH || !self.spend(words.len() + 4) || self.commands.len() > MAX_COMMANDS {
            return self.gap(TOO_LARGE, span);
        }
        let name = match head.openness.from() {
            None if head.home => base_name(&head.text),
            None => base_name(&head.text),
            Some(at) => {
                // `"$HOME/bin/git"` is git, wherever home is.
                let slash = head.text.rfind('/').map_or(0, |at| at + 1);
                let name = &head.text[slash..];
                let plain = slash > at && !name.is_empty() && !name.contains(['$', '*', '?', '[', '…', '{', '}']);
                if !plain || matches!(head.openness, Openness::Computed(_, true)) {
                    self.emit(words, span, facts, super::Role::Plain);
                    let elsewhere = slash > 0 && slash <= at && !programs::is_system_path(&head.text);
                    if matches!(head.openness, Openness::Files(_)) && elsewhere {
                        return self.unseen("the program is one of several files", span);
                    }
                    // Its beginning may rule a rule's program out: the rule knows.
                    if matches!(head.openness, Openness::Operand(at) if at > 0 && !head.text[..at].contains('/')) {
                        return self.unseen("a program whose name a variable ends", span);
                    }
                    return self.gap("the program's name is computed", span);
                }
                name
            }
        };
        if name.is_empty() {
            if !head.text.is_empty() {
                self.gap("the program's name is unclear", span);
            }
            return;
        }
        let name = name.to_string();
        self.depth += 1;
        self.dispatch(&name, words, span, facts);
        self.depth -= 1;
    }

    fn dispatch(&mut self, name: &str, words: &[Word], span: &Span, facts: &Facts) {
        if let Some((_, function)) = self.functions.iter().rev().find(|(it, _)| it == name).cloned()
            && words[0].text == name
        {
            self.emit(words, span, facts, super::Role::Plain);
            return self.call(name, &function, words, span);
        }
        if let Some((_, value)) = self.named.iter().rev().find(|(it, _)| it == name).cloned()
            && !self.calling.iter().any(|it| it == name)
        {
            // Whether it is expanded depends on the shell: both readings are listed.
            self.calling.push(name.to_string());
            let rest: Vec<String> =
                words[1..].iter().map(|word| format!("'{}'", word.text.replace('\'', "'\\''"))).collect();
            match value {
                Some(value) if value.ends_with([' ', '\t']) && self.named.len() > 1 => {
                    self.gap("an alias after which the next word may be one", span);
                }
                Some(value) => self.nested(&format!("{value} {}", rest.join(" ")), self.shell, span),
                None => self.gap("an alias that is computed", span),
            }
            self.calling.pop();
        }
        // `git-push` in git's own directory is `git push`.
        if let Some(verb) = name.strip_prefix("git-").filter(|verb| !verb.is_empty()) {
            let mut spelt = vec![Word::constant("git"), Word::constant(verb)];
            spelt.extend_from_slice(&words[1..]);
            return self.run(&spelt, span, facts);
        }
        if programs::SHELLS.has(name) {
            return self.shell(name, words, span, facts);
        }
        if let Some((wrapper, at)) = programs::wrapper_of(name, words) {
            self.emit(words, span, facts, super::Role::Plain);
            return self.unwrap(wrapper, &words[at..], span);
        }
        let args = &words[1..];
        let first = args.first();
        match name {
            "eval" => {
                self.emit(words, span, facts, super::Role::Transparent);
                let skip = usize::from(first.is_some_and(|word| word.text == "--"));
                self.text_of(&args[skip..], self.shell, "`eval` is given computed text", span);
            }
            "." | "source" => {
                self.emit(words, span, facts, super::Role::Plain);
                match first {
                    Some(file) => self.source(file, span),
                    None => self.gap("`source` without a file", span),
                }
            }
            "trap" => {
                self.emit(words, span, facts, super::Role::Plain);
                let action = args.iter().find(|word| word.text != "--");
                match action {
                    Some(word) if word.as_constant().is_some_and(|text| text.starts_with('-') || text.is_empty()) => {}
                    Some(word) => {
                        self.text_of(std::slice::from_ref(word), self.shell, "`trap` is given computed text", span)
                    }
                    None => {}
                }
            }
            "alias" => {
                self.emit(words, span, facts, super::Role::Plain);
                for word in args {
                    let text = word.text.as_str();
                    let Some((name, value)) = text.split_once('=') else {
                        if text.starts_with('-') && text != "-p" || word.as_constant().is_none() {
                            self.gap("an alias changes what later words mean", span);
                        }
                        continue;
                    };
                    let plain = name.bytes().all(|byte| {
                        byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b':' | b'+' | b'%' | b'@')
                    });
                    if !plain || name.is_empty() || grammar::is_keyword(name) {
                        self.gap("an alias changes what later words mean", span);
                    }
                    self.named.push((name.to_string(), word.as_constant().map(|_| value.to_string())));
                }
            }
            "hash" | "enable" | "bind" | "complete" | "compgen" | "compopt" | "fc" => {
                self.emit(words, span, facts, super::Role::Plain);
                let harmless = args.iter().all(|word| {
                    matches!(word.text.as_str(), "-r" | "-l" | "-c" | "-v" | "--") && name != "compgen" && name != "fc"
                }) || (name == "compgen"
                    && args.iter().all(|word| {
                        matches!(word.text.as_str(), "-c" | "-b" | "-a" | "-k" | "-A" | "-u" | "-g" | "function")
                    }))
                    || (name == "bind"
                        && args.iter().all(|word| {
                            word.as_constant().is_some_and(|text| !(text.starts_with('-') && text.contains('x')))
                        }))
                    || (name == "hash"
                        && args.iter().all(|word| word.as_constant().is_some_and(|text| !text.starts_with('-'))));
                if !harmless {
                    self.gap("a builtin that changes what later words mean", span);
                }
            }
            "start-stop-daemon" => {
                self.emit(words, span, facts, super::Role::Plain);
                self.gap("a program that starts another one", span);
            }
            "set" => self.set(words, span, facts),
            "shopt" => {
                self.emit(words, span, facts, super::Role::Plain);
                if args.iter().any(|word| {
                    matches!(word.openness, Openness::Computed(..))
                        || matches!(word.text.as_str(), "-o" | "-so" | "-os")
                }) {
                    self.gap("an option that changes how the shell reads", span);
                }
            }
            "mapfile" | "readarray" => {
                self.emit(words, span, facts, super::Role::Plain);
                for (at, word) in args.iter().enumerate() {
                    let text = match word.as_constant() {
                        None => continue,
                        Some(option) if option.starts_with('-') && option.contains('C') => {
                            match &option[option.find('C').unwrap_or(0) + 1..] {
                                "" => args.get(at + 1).cloned(),
                                value => Some(Word::constant(value)),
                            }
                        }
                        Some(_) => None,
                    };
                    if let Some(text) = text {
                        self.text_of(&[text], self.shell, "`mapfile` is given computed text", span);
                    }
                }
                self.guard_subscripts(args, span);
            }
            "jobs" if first.is_some_and(|word| word.text == "-x") => {
                self.emit(words, span, facts, super::Role::Plain);
                self.run(&args[1..], span, facts);
            }
            "let" | "declare" | "typeset" | "local" | "export" | "readonly" | "read" | "unset" | "wait" | "test"
            | "[" | "printf" | "getopts" => {
                self.emit(words, span, facts, super::Role::Plain);
                self.guard_subscripts(args, span);
                self.declares(name, args, span);
                if name == "printf" || name == "test" || name == "[" {
                    self.mark_data(facts);
                }
            }
            "cd" | "pushd" | "popd" => {
                self.emit(words, span, facts, super::Role::Plain);
                self.change_directory(name, args);
            }
            "exit" | "return" | "true" | "false" | ":" => {
                self.emit(words, span, facts, super::Role::Plain);
                self.mark_data(facts);
            }
            "find" => self.find(words, span, facts),
            "xargs" => self.xargs(words, span, facts),
            "parallel" => self.parallel(words, span, facts),
            "su" | "runuser" | "script" | "sg" | "newgrp" => self.switch_user(name, words, span, facts),
            "awk" | "gawk" | "mawk" | "nawk" | "sed" | "gsed" => {
                self.emit(words, span, facts, super::Role::Plain);
                let program = args.iter().filter(|word| !word.text.starts_with('-') || word.text.len() > 2);
                let computed = args.iter().any(|word| matches!(word.openness, Openness::Computed(0, _)));
                for (at, word) in args.iter().enumerate() {
                    if matches!(word.text.as_str(), "-f" | "--file")
                        && let Some(path) = args.get(at + 1)
                    {
                        self.scripts.push(path.text.clone());
                    }
                }
                let plain = match name.contains("sed") {
                    true => program.clone().take(1).all(|word| word.as_constant().is_some_and(programs::is_plain_sed)),
                    false => false,
                };
                if plain && !computed {
                    self.mark_data(facts);
                } else {
                    self.unseen("a program of its own is run by awk or sed", span);
                }
            }
            _ if programs::is_interpreter(name) => self.interpreter(name, words, span, facts),
            "git" => self.git(words, span, facts),
            _ => {
                self.emit(words, span, facts, super::Role::Plain);
                if self.text_options(name, words, span) {
                    self.unseen("an option runs a program", span);
                    return;
                }
                self.copies(name, args);
                if programs::DATA.has(name) {
                    self.mark_data(facts);
                } else if !programs::INERT.has(name) {
                    let slashes = words[0].text.contains('/');
                    if self.paths && !slashes {
                        self.scripts.push(name.to_string());
                    }
                    if slashes && !programs::is_system_path(&words[0].text) {
                        self.started(&words[0].text.clone(), span, false);
                    }
                    self.unseen("a program runs code that the text doesn't show", span);
                    if let Some(last) = self.commands.last_mut() {
                        last.role = if programs::is_known(name) { super::Role::Plain } else { super::Role::Unknown };
                    }
                }
                if programs::RUNS_INPUT.has(name) {
                    match self.input.clone() {
                        Input::Text(text) => self.text(&text, span),
                        Input::Computed => self.unseen("a program runs code that the text doesn't show", span),
                        _ => {}
                    }
                }
            }
        }
    }

    /// What the programs that copy write where.
    fn copies(&mut self, name: &str, args: &[Word]) {
        let input = match &self.input {
            Input::Text(text) => Some(Rc::clone(text)),
            _ => None,
        };
        let operands: Vec<String> =
            args.iter().filter(|word| !word.text.starts_with('-')).map(|word| word.text.clone()).collect();
        match name {
            "tee" => operands.iter().for_each(|path| self.wrote(path, input.clone())),
            "dd" => {
                for path in operands.iter().filter_map(|word| word.strip_prefix("of=")) {
                    self.wrote(path, input.clone());
                }
            }
            "cp" | "mv" | "ln" | "install" => {
                let Some((to, from)) = operands.split_last() else { return };
                let copied: Vec<Option<Rc<str>>> = from
                    .iter()
                    .flat_map(|path| self.files.iter().filter(|file| file.name == base_name(path)))
                    .map(|file| file.content.clone())
                    .collect();
                for content in copied {
                    self.wrote(to, content.clone());
                }
            }
            _ => {}
        }
    }

    fn mark_data(&mut self, facts: &Facts) {
        if facts.data
            && let Some(last) = self.commands.last_mut()
        {
            last.data = true;
        }
    }

    fn call(&mut self, name: &str, function: &Function, words: &[Word], span: &Span) {
        if self.calling.iter().any(|it| it == name) || self.calling.len() > 8 {
            return self.gap("a function that calls itself", span);
        }
        self.calling.push(name.to_string());
        let documents = std::mem::replace(&mut self.documents, Rc::clone(&function.documents));
        let positional = self.positional.replace(Rc::new(words[1..].to_vec()));
        let place = self.at(span);
        let outer = self.place.replace(place);
        self.stage(&function.body, false);
        self.place = outer;
        self.positional = positional;
        self.documents = documents;
        self.calling.pop();
    }

    /// Words that are joined and read as shell text.
    fn text_of(&mut self, words: &[Word], shell: Shell, why: &'static str, span: &Span) {
        let mut text = String::new();
        let mut constant = true;
        for (at, word) in words.iter().enumerate() {
            if at > 0 {
                text.push(' ');
            }
            match word.openness {
                Openness::Constant => {
                    constant &= !word.home;
                    text.push_str(&word.text);
                }
                // What a variable of the caller's holds is an operand of the text, too.
                Openness::Operand(_) => {
                    text.push_str(&word.text.replace("$((…))", "0").replace("$(…)", "operand").replace('…', "operand"))
                }
                _ => constant = false,
            }
        }
        if constant {
            self.nested(&text, shell, span);
        } else {
            self.open_text(words, why, span);
        }
    }

    /// A text with open places: where they are operands of it, it can be read all the same.
    fn open_text(&mut self, words: &[Word], why: &'static str, span: &Span) {
        for word in words {
            let text = word.beginning().to_string();
            self.text(&text, span);
        }
        self.gap(why, span);
    }

    fn source(&mut self, file: &Word, span: &Span) {
        if file.text.starts_with("/dev/fd/") || matches!(file.text.as_str(), "/dev/stdin" | "-") {
            let input = if file.text == "/dev/fd/…" { self.process.clone() } else { Some(self.input.clone()) };
            return match input {
                Some(Input::Text(text)) => self.nested(&text, self.shell, span),
                _ => self.gap("`source` is given computed text", span),
            };
        }
        match file.as_constant() {
            Some(path) => {
                let path = path.to_string();
                self.started(&path, span, true);
                self.unseen("a script runs that the text doesn't show", span);
            }
            None if matches!(file.openness, Openness::Operand(_)) || file.home => {
                self.unseen("a script runs that the text doesn't show", span);
            }
            None => self.gap("`source` is given a computed file", span),
        }
    }

    /// A file is run: text that the same text wrote into it is read.
    fn started(&mut self, path: &str, span: &Span, shell: bool) {
        let name = base_name(path);
        let mut texts: Vec<Option<Rc<str>>> = Vec::new();
        for file in self.files.iter().filter(|file| file.name == name) {
            texts.push(file.content.clone());
        }
        if texts.is_empty() && self.scripts.len() < 32 {
            self.scripts.push(path.to_string());
        }
        for text in texts {
            match text {
                Some(text)
                    if shell
                        || !text.starts_with("#!")
                        || text.lines().next().is_some_and(|line| line.contains("sh")) =>
                {
                    self.nested(&text, Shell::Unknown, span)
                }
                Some(_) => {}
                None => self.gap("it runs a file that it has written itself", span),
            }
        }
    }

    fn set(&mut self, words: &[Word], span: &Span, facts: &Facts) {
        self.emit(words, span, facts, super::Role::Plain);
        let mut at = 1;
        while let Some(word) = words.get(at) {
            let Some(option) = word.as_constant() else {
                if !word.beginning().is_empty() && !word.beginning().starts_with(['-', '+'])
                    || matches!(word.openness, Openness::Operand(0))
                {
                    self.positional = Some(Rc::new(words[at..].to_vec()));
                    return;
                }
                return self.gap("`set` is given what is computed", span);
            };
            if option == "--" || option == "-" || !option.starts_with(['-', '+']) {
                let rest = if option.starts_with('-') { at + 1 } else { at };
                self.positional = Some(Rc::new(words[rest..].to_vec()));
                return;
            }
            for letter in option.chars().skip(1) {
                match letter {
                    'o' => {
                        at += 1;
                        let named = words.get(at).and_then(Word::as_constant);
                        let plain = matches!(
                            named,
                            None | Some(
                                "errexit"
                                    | "nounset"
                                    | "pipefail"
                                    | "xtrace"
                                    | "noglob"
                                    | "noclobber"
                                    | "errtrace"
                                    | "functrace"
                                    | "verbose"
                                    | "allexport"
                                    | "monitor"
                                    | "notify"
                                    | "vi"
                                    | "emacs"
                                    | "physical"
                                    | "hashall"
                            )
                        );
                        if !plain {
                            return self.gap("an option that changes how the shell reads", span);
                        }
                    }
                    'e' | 'u' | 'x' | 'v' | 'f' | 'C' | 'a' | 'b' | 'h' | 'm' | 'E' | 'T' | 'P' | 'B' | 'H' => {}
                    _ => return self.gap("an option that changes how the shell reads", span),
                }
            }
            at += 1;
        }
    }

    /// Arithmetic expands a subscript again, so text that looks like one with a substitution may run.
    fn guard_subscripts(&mut self, args: &[Word], span: &Span) {
        let any = self.variables.any
            && self.variables.brackets
            && args.iter().any(|word| word.openness != Openness::Constant);
        if any || args.iter().any(|word| looks_expandable(&word.text)) {
            self.gap("text that arithmetic may expand again", span);
        }
    }

    fn declares(&mut self, name: &str, args: &[Word], span: &Span) {
        let numbers = name == "let"
            || (matches!(name, "declare" | "typeset" | "local" | "readonly" | "export")
                && args.iter().any(|word| word.text.starts_with('-') && word.text.contains(['i', 'n'])));
        if numbers
            && (self.variables.brackets || name == "let" && args.iter().any(|word| word.openness != Openness::Constant))
        {
            self.gap("text that arithmetic may expand again", span);
        }
        if name == "let"
            || matches!(name, "declare" | "typeset" | "local" | "export" | "readonly" | "read" | "unset" | "getopts")
        {
            self.beside("a builtin that sets variables", span);
        }
        if !matches!(name, "declare" | "typeset" | "local" | "export" | "readonly") {
            return;
        }
        for word in args {
            let Some((variable, _)) = word.text.split_once('=') else {
                if word.openness.from().is_some() {
                    self.gap("the name of a variable is computed", span);
                }
                continue;
            };
            if word.openness.from().is_some_and(|at| at <= variable.len()) {
                self.gap("the name of a variable is computed", span);
                continue;
            }
            // A quoted declaration sets a variable that the grammar doesn't see as an assignment.
            if word.quoted || !self.variables.is_set(variable) {
                self.gap("a declaration that is quoted", span);
            }
        }
    }

    fn change_directory(&mut self, name: &str, args: &[Word]) {
        let operands: Vec<&Word> =
            args.iter().filter(|word| !matches!(word.text.as_str(), "--" | "-P" | "-L" | "-n")).collect();
        self.directory = match (name, operands.as_slice()) {
            ("cd" | "pushd", [word]) if word.openness == Openness::Constant && word.text != "-" => {
                let path = if word.home { format!("~{}", word.text) } else { word.text.clone() };
                match (&self.directory, path.starts_with(['/', '~'])) {
                    (_, true) => Directory::In(path),
                    (Directory::Same, false) => Directory::In(path),
                    (Directory::In(before), false) => Directory::In(format!("{before}/{path}")),
                    (Directory::Unknown, false) => Directory::Unknown,
                }
            }
            ("cd", []) => Directory::In("~".into()),
            _ => Directory::Unknown,
        };
    }

    fn shell(&mut self, name: &str, words: &[Word], span: &Span, facts: &Facts) {
        let plain = words[0].text == name || programs::is_system_path(&words[0].text);
        self.emit(words, span, facts, if plain { super::Role::Transparent } else { super::Role::Plain });
        let emitted = self.commands.len() - 1;
        let shell = match Shell::named(name) {
            Shell::Unknown => Shell::Other,
            shell => shell,
        };
        let (mut at, mut command, mut from_input) = (1, false, false);
        while let Some(word) = words.get(at) {
            let Some(option) = word.as_constant() else {
                let beginning = word.beginning();
                if matches!(word.openness, Openness::Operand(0))
                    || !beginning.is_empty() && !beginning.starts_with(['-', '+'])
                {
                    break;
                }
                return self.gap("a shell's options are computed", span);
            };
            at += 1;
            match option {
                "--" | "-" => break,
                "--norc" | "--noprofile" | "--login" | "--posix" | "--verbose" | "--noediting" | "--restricted" => {}
                "--version" | "--help" => return,
                "--rcfile" | "--init-file" | "-rcfile" | "-init-file" => {
                    self.beside("a shell that reads a file first", span);
                    if let Some(file) = words.get(at).cloned() {
                        self.script(&file, shell, span);
                    }
                    at += 1;
                }
                "-norc" | "-noprofile" | "-login" | "-posix" | "-verbose" | "-noediting" | "-restricted" => {}
                _ if option.starts_with("--") => return self.gap("an unknown option of a shell", span),
                _ if option.len() > 1 && option.starts_with(['-', '+']) => {
                    for letter in option.chars().skip(1) {
                        match letter {
                            'c' => command = true,
                            's' => from_input = true,
                            'o' | 'O' => at += 1,
                            _ if "abefhiklmnprtuvxBCEHPT".contains(letter) => {}
                            _ => return self.gap("an unknown option of a shell", span),
                        }
                    }
                }
                _ => {
                    at -= 1;
                    break;
                }
            }
        }
        if let Some(command) = self.commands.get_mut(emitted) {
            command.shell_text = true;
        }
        for name in [".profile", ".bashrc", ".bash_profile", ".bash_login", ".zshenv", ".zshrc", ".zprofile", ".kshrc"]
        {
            if self.files.iter().any(|file| file.name == name) {
                self.started(name, span, true);
            }
        }
        let rest = words.get(at..).unwrap_or_default();
        match rest.first() {
            Some(word) if command => {
                let arguments = rest.get(2..).unwrap_or_default().to_vec();
                let outer = (
                    self.positional.replace(Rc::new(arguments)),
                    std::mem::replace(&mut self.zero, rest.get(1).cloned()),
                );
                self.text_of(std::slice::from_ref(word), shell, "a shell is given computed text", span);
                (self.positional, self.zero) = outer;
            }
            None if command => {}
            Some(script) if !from_input => self.script(script, shell, span),
            _ => {
                let outer = self.positional.replace(Rc::new(rest.to_vec()));
                self.input_text(shell, span);
                self.positional = outer;
            }
        }
    }

    fn script(&mut self, script: &Word, shell: Shell, span: &Span) {
        let path = script.text.replace("/./", "/").replace("//", "/");
        if ["/dev/stdin", "/dev/fd/", "/proc/"].iter().any(|start| path.starts_with(start)) {
            let input = if script.text == "/dev/fd/…" { self.process.clone() } else { Some(self.input.clone()) };
            return match input {
                Some(Input::Text(text)) => self.nested(&text, shell, span),
                _ => self.gap("a shell is given computed text", span),
            };
        }
        match script.as_constant() {
            Some(path) => {
                let path = path.to_string();
                self.started(&path, span, true);
                self.unseen("a script runs that the text doesn't show", span);
            }
            None if matches!(script.openness, Openness::Computed(0, _)) => {
                self.gap("a shell is given a computed script", span)
            }
            None => self.unseen("a script runs that the text doesn't show", span),
        }
    }

    /// A shell that reads its commands from its input.
    fn input_text(&mut self, shell: Shell, span: &Span) {
        match self.input.clone() {
            Input::Text(text) => self.nested(&text, shell, span),
            Input::Outer => self.unseen("a shell reads what it is given", span),
            Input::File(path) => {
                self.started(&path, span, true);
                self.unseen("a script runs that the text doesn't show", span);
            }
            Input::Operands | Input::Computed => self.gap("a shell reads computed text", span),
        }
    }

    fn interpreter(&mut self, name: &str, words: &[Word], span: &Span, facts: &Facts) {
        self.emit(words, span, facts, super::Role::Plain);
        self.unseen("an interpreter runs code", span);
        // `python -m pip` is pip.
        let module = words.iter().skip(1).position(|word| !word.text.starts_with('-') || word.text == "-m");
        if let Some(at) = module.filter(|at| words[at + 1].text == "-m" && name.starts_with("py"))
            && words.get(at + 2).is_some()
        {
            self.emit(&words[at + 2..], span, facts, super::Role::Transparent);
        }
        let script = words.iter().skip(1).find(|word| !word.text.starts_with('-'));
        match script {
            Some(word) => {
                if let Some(path) = word.as_constant()
                    && !path.contains(['\n', ' ', '(', ';'])
                {
                    let path = path.to_string();
                    if self.scripts.len() < 32 {
                        self.scripts.push(path);
                    }
                }
            }
            None => match self.input.clone() {
                Input::Text(text) => self.text(&text, span),
                Input::Computed if is_decoded(&self.commands, name) => {
                    self.gap("an interpreter reads text that is decoded", span);
                }
                _ => {}
            },
        }
    }

    fn git(&mut self, words: &[Word], span: &Span, facts: &Facts) {
        self.emit(words, span, facts, super::Role::Plain);
        let (verb, settings) = programs::git_verb(words);
        if settings {
            self.unseen("a setting of git that may run a program", span);
        }
        match verb.and_then(|at| words.get(at)).map(|word| (word.as_constant(), word)) {
            None => {}
            Some((None, _)) => self.unseen("git is given a computed command", span),
            Some((Some("config"), _)) => {
                let risky = words.iter().any(|word| {
                    let text = word.text.to_ascii_lowercase();
                    text.starts_with("alias.") || !programs::is_harmless_setting(&text, "") && text.contains('.')
                });
                if risky && words.len() > verb.unwrap_or(0) + 2 {
                    self.aliases = true;
                    self.unseen("a setting of git that may run a program", span);
                }
            }
            Some((Some("bisect"), _)) if words.iter().any(|word| word.text == "run") => {
                let at = words.iter().position(|word| word.text == "run").unwrap_or(0);
                self.run(&words[at + 1..], span, facts);
            }
            Some((Some("submodule"), _)) if words.iter().any(|word| word.text == "foreach") => {
                let at = words.iter().position(|word| word.text == "foreach").unwrap_or(0);
                let skip = words[at + 1..].iter().take_while(|word| word.text.starts_with('-')).count();
                self.text_of(&words[at + 1 + skip..], Shell::Posix, "git is given computed text", span);
            }
            Some((Some(name), _)) if programs::GIT_COMMANDS.has(name) => {
                let name = format!("git {name}");
                let transport = words.iter().any(|word| word.text.contains("ext::"));
                let configures = name == "git clone"
                    && words.iter().any(|word| {
                        let text = word.text.as_str();
                        text.starts_with("--config")
                            || text.starts_with('-') && !text.starts_with("--") && text.contains('c')
                    });
                if self.text_options(&name, words, span) {
                    self.unseen("an option of git runs a program", span);
                } else if self.aliases {
                    self.unseen("git has settings or hooks that the text has written", span);
                } else if transport || configures {
                    self.unseen("an option of git runs a program", span);
                } else if !settings {
                    self.mark_data(facts);
                }
            }
            Some((Some(_), _)) => {
                self.unseen("git may have an alias by that name", span);
                if self.aliases {
                    self.gap("git is given an alias that the text has set", span);
                }
            }
        }
    }

    /// Options whose value is a command line: it is read. Whether there are any.
    fn text_options(&mut self, program: &str, words: &[Word], span: &Span) -> bool {
        let Some((_, letters, names)) = programs::TEXT_OPTIONS.iter().find(|(name, ..)| *name == program) else {
            return false;
        };
        let mut found = false;
        for (at, word) in words.iter().enumerate().skip(1) {
            let option = word.beginning();
            let next = words.get(at + 1).cloned();
            let texts: Vec<Word> = if let Some(long) = option.strip_prefix("--") {
                let (name, attached) = long.split_once('=').map_or((long, false), |(name, _)| (name, true));
                if name.is_empty() || !names.iter().any(|it| it.starts_with(name)) {
                    continue;
                }
                if attached { vec![tail(word, name.len() + 3)] } else { next.into_iter().collect() }
            } else if option.starts_with('-') && option.len() > 1 {
                let Some(letter) = option[1..].find(|c| letters.contains(c)) else { continue };
                let skip = letter + 2;
                if word.text.len() > skip { vec![tail(word, skip)] } else { next.into_iter().collect() }
            } else {
                continue;
            };
            found = true;
            for text in texts {
                let text = match text.text.strip_prefix("exec=") {
                    Some(_) => tail(&text, 5),
                    None => text,
                };
                if text.text.contains('/') && !text.text.contains(' ') && !programs::is_system_path(&text.text) {
                    self.gap("an option runs a program that isn't at hand", span);
                }
                self.text_of(
                    std::slice::from_ref(&text),
                    Shell::Unknown,
                    "an option's value is computed and run",
                    span,
                );
            }
        }
        found
    }

    fn find(&mut self, words: &[Word], span: &Span, facts: &Facts) {
        self.emit(words, span, facts, super::Role::Plain);
        let mut at = 1;
        let mut runs = false;
        let start = match &words[1..] {
            [start, then, ..] if then.text.starts_with('-') => start
                .as_constant()
                .filter(|start| !start.starts_with(['-', '(', '!']))
                .map(|it| it.trim_end_matches('/')),
            _ => None,
        };
        while let Some(word) = words.get(at) {
            at += 1;
            if matches!(word.openness, Openness::Computed(0, true)) {
                self.gap("find may be given an action that is computed", span);
            }
            if !matches!(word.text.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir") {
                if word.text.starts_with("-fprint") || word.text == "-fls" {
                    runs = true;
                }
                continue;
            }
            let length = words[at..].iter().position(|word| word.text == ";" || word.text == "+");
            let end = at + length.unwrap_or(words.len() - at);
            let mut slice = words[at..end].to_vec();
            for it in &mut slice {
                if it.openness == Openness::Constant
                    && let Some(mark) = it.text.find("{}")
                {
                    it.openness = Openness::Operand(mark);
                    // Every path begins as its starting point does.
                    if let Some(start) = start.filter(|_| mark == 0 && matches!(word.text.as_str(), "-exec" | "-ok")) {
                        it.openness = Openness::Operand(start.len());
                        it.text.insert_str(0, start);
                    }
                }
            }
            let inner = Facts { data: false, ..*facts };
            self.run(&slice, span, &inner);
            at = end;
        }
        if runs {
            self.unseen("find writes a file", span);
        } else {
            let at = self
                .commands
                .iter()
                .rposition(|command| command.words.first().is_some_and(|word| base_name(&word.text) == "find"));
            if let Some(at) = at
                && facts.data
            {
                self.commands[at].data = true;
            }
        }
    }

    fn xargs(&mut self, words: &[Word], span: &Span, facts: &Facts) {
        self.emit(words, span, facts, super::Role::Plain);
        let mut at = 1;
        let (mut mark, mut file, mut unsure, mut lines, mut single) = (None::<String>, false, false, false, false);
        while let Some(word) = words.get(at) {
            let Some(option) = word.as_constant() else {
                if matches!(word.openness, Openness::Computed(0, _)) {
                    return self.gap("the program's name is computed", span);
                }
                break;
            };
            if !option.starts_with('-') || option.len() < 2 {
                break;
            }
            at += 1;
            if option == "--" {
                break;
            }
            if let Some(long) = option.strip_prefix("--") {
                let (name, value) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
                match name {
                    "replace" => mark = Some(value.unwrap_or("{}").to_string()),
                    "arg-file" => {
                        file = true;
                        at += usize::from(value.is_none());
                    }
                    "delimiter" => {
                        lines = true;
                        at += usize::from(value.is_none());
                    }
                    "max-args" | "max-procs" | "max-chars" | "process-slot-var" => at += usize::from(value.is_none()),
                    "null" => lines = true,
                    "no-run-if-empty" | "verbose" | "interactive" | "exit" | "open-tty" | "max-lines" | "eof"
                    | "show-limits" => {}
                    _ => unsure = true,
                }
                continue;
            }
            let letters = &option[1..];
            for (n, letter) in letters.char_indices() {
                let value = &letters[n + letter.len_utf8()..];
                match letter {
                    'I' | 'J' => {
                        let text = if value.is_empty() {
                            at += 1;
                            words.get(at - 1).map_or("{}", |word| word.text.as_str())
                        } else {
                            value
                        };
                        mark = Some(text.to_string());
                        break;
                    }
                    'i' => {
                        mark = Some(if value.is_empty() { "{}" } else { value }.to_string());
                        break;
                    }
                    'a' => {
                        file = true;
                        at += usize::from(value.is_empty());
                        break;
                    }
                    'L' | 'n' | 'P' | 's' | 'd' | 'E' | 'R' | 'S' => {
                        lines |= letter == 'd';
                        single |= letter == 'n' || letter == 'L';
                        at += usize::from(value.is_empty());
                        break;
                    }
                    'l' | 'e' => break,
                    '0' => lines = true,
                    'p' | 'r' | 't' | 'x' | 'o' => {}
                    _ => unsure = true,
                }
            }
        }
        let rest = words.get(at.min(words.len())..).unwrap_or_default();
        let mut readings = vec![rest.to_vec()];
        if unsure {
            readings.push(rest.get(1..).unwrap_or_default().to_vec());
        }
        let given: Vec<Word> = match (&self.input, file) {
            (Input::Text(text), false) if text.len() < 4096 && !text.contains(['\'', '"', '\\']) => {
                if lines || mark.is_some() {
                    text.split(['\n', '\0']).filter(|line| !line.is_empty()).map(Word::constant).collect()
                } else {
                    text.split_whitespace().map(Word::constant).collect()
                }
            }
            (Input::Operands, false) => {
                vec![Word { text: "…".into(), openness: Openness::Operand(0), ..Word::default() }]
            }
            _ => vec![Word::computed()],
        };
        let inner = Facts { data: false, ..*facts };
        for mut reading in readings {
            if reading.is_empty() {
                continue;
            }
            match &mark {
                Some(mark) => {
                    let constant: Option<Vec<&str>> = given.iter().map(Word::as_constant).collect();
                    let constant = constant.map(|words| words.join(" "));
                    for word in &mut reading {
                        let Some(found) = word.text.find(mark.as_str()).filter(|_| !mark.is_empty()) else { continue };
                        match (&constant, given.first().map(|word| word.openness)) {
                            (Some(text), _) => word.text = word.text.replace(mark.as_str(), text),
                            (None, Some(Openness::Operand(_))) => {
                                word.openness = join(found, Openness::Constant, Openness::Operand(0))
                            }
                            _ => {
                                word.openness =
                                    Openness::Computed(word.openness.from().map_or(found, |at| at.min(found)), false)
                            }
                        }
                    }
                }
                None => {
                    if single {
                        for word in given.iter().take(16) {
                            let mut each = reading.clone();
                            each.push(word.clone());
                            self.run(&each, span, &inner);
                        }
                    }
                    reading.extend(given.iter().cloned());
                }
            }
            let outer = std::mem::replace(&mut self.input, Input::Outer);
            self.run(&reading, span, &inner);
            self.input = outer;
        }
    }

    fn parallel(&mut self, words: &[Word], span: &Span, facts: &Facts) {
        self.emit(words, span, facts, super::Role::Plain);
        let mark = words.iter().position(|word| matches!(word.text.as_str(), ":::" | ":::+" | "::::"));
        let template = &words[1..mark.unwrap_or(words.len())];
        let given = mark.map(|at| &words[at + 1..]).unwrap_or_default();
        let start = template.iter().position(|word| !word.text.starts_with('-')).unwrap_or(template.len());
        self.unseen("a program runs code that the text doesn't show", span);
        // Which options take a value isn't known here: every beginning is read.
        for at in start..template.len().min(start + 3) {
            let mut texts = template[at..].to_vec();
            if given.is_empty() {
                texts.push(Word { text: "…".into(), openness: Openness::Operand(0), ..Word::default() });
                self.run(&texts, span, facts);
            } else {
                for value in given.iter().take(32) {
                    let mut words = texts.clone();
                    words.push(value.clone());
                    let text: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
                    let text = text.join(" ").replace("{}", &value.text);
                    self.nested(&text, Shell::Posix, span);
                }
            }
        }
        if start == template.len() {
            for value in given.iter().take(64) {
                self.text_of(std::slice::from_ref(value), Shell::Posix, "`parallel` is given computed text", span);
            }
            if given.is_empty() {
                self.input_text(Shell::Posix, span);
            }
        }
    }

    fn switch_user(&mut self, name: &str, words: &[Word], span: &Span, facts: &Facts) {
        self.emit(words, span, facts, super::Role::Plain);
        let mut given = false;
        for (at, word) in words.iter().enumerate().skip(1) {
            let option = word.beginning();
            let text = match option {
                _ if word.as_constant().is_none() && !option.starts_with('-') => continue,
                _ if "--command".starts_with(option) && option.len() > 3
                    || "--session-command".starts_with(option) && option.len() > 3 =>
                {
                    words.get(at + 1).cloned()
                }
                _ if option.starts_with("--") => match option.split_once('=') {
                    Some((long, _)) if "--command".starts_with(long) || "--session-command".starts_with(long) => {
                        let skip = long.len() + 1;
                        Some(tail(word, skip))
                    }
                    _ => None,
                },
                _ if option.starts_with('-') && option.contains('c') => {
                    let skip = option.find('c').unwrap_or(0) + 1;
                    if word.text.len() > skip { Some(tail(word, skip)) } else { words.get(at + 1).cloned() }
                }
                _ => None,
            };
            if let Some(text) = text {
                given = true;
                self.text_of(&[text], Shell::Unknown, "a shell is given computed text", span);
            }
        }
        if name == "sg"
            && let Some(text) = words.get(2)
            && !given
        {
            given = true;
            self.text_of(std::slice::from_ref(text), Shell::Posix, "a shell is given computed text", span);
        }
        if name == "runuser" {
            for at in 1..words.len() {
                if words[at].text.starts_with('-') {
                    continue;
                }
                self.run(&words[at..], span, facts);
                given = true;
            }
        }
        if !given {
            self.input_text(Shell::Unknown, span);
        }
    }

    /// Takes a wrapper off. Where an option isn't known, every reading of the rest is listed.
    fn unwrap(&mut self, wrapper: &Wrapper, words: &[Word], span: &Span) {
        let facts = Facts { assigns: false, writes: false, data: false };
        let mut at = 1;
        let mut unsure = false;
        while let Some(word) = words.get(at) {
            let option = word.beginning();
            if !option.starts_with('-') {
                if matches!(word.openness, Openness::Computed(0, _)) {
                    return self.gap("a wrapper's arguments are computed", span);
                }
                break;
            }
            if word.text == "--" {
                at += 1;
                break;
            }
            if word.text == "-" {
                if wrapper.name == "env" {
                    at += 1;
                    continue;
                }
                break;
            }
            at += 1;
            let letters = option[1..].to_string();
            if let Some(long) = letters.strip_prefix('-') {
                let (name, value) = long
                    .split_once('=')
                    .map_or((long, None), |(name, _)| (name, Some(tail(word, name_end(&word.text)))));
                let known = |list: &str| {
                    list.split(' ')
                        .filter(|it| !it.is_empty())
                        .any(|it| it == name || (name.len() > 1 && it.starts_with(name)))
                };
                if (wrapper.name == "env"
                    && "split-string".starts_with(name)
                    && !name.is_empty()
                    && name.starts_with('s')
                    && name != "s")
                    || wrapper.text_long.split(' ').any(|it| !it.is_empty() && it.starts_with(name) && !name.is_empty())
                {
                    let skip = usize::from(value.is_none());
                    let text = value.or_else(|| words.get(at).cloned());
                    let mut all: Vec<Word> = text.into_iter().collect();
                    if wrapper.name == "env" {
                        all.extend_from_slice(words.get(at + skip..).unwrap_or_default());
                        return self.split_string(&all, span);
                    }
                    self.text_of(&all, Shell::Posix, "a shell is given computed text", span);
                    at += skip;
                } else if known(wrapper.valued_long) {
                    at += usize::from(value.is_none());
                } else if !known(wrapper.long) {
                    unsure = true;
                }
                continue;
            }
            if wrapper.name == "nice" && letters.bytes().all(|b| b.is_ascii_digit() || b == b'-') {
                continue;
            }
            for (n, letter) in letters.char_indices() {
                let skip = 1 + n + letter.len_utf8();
                let attached = word.text.len() > skip;
                if wrapper.text_letter == Some(letter) {
                    let text = if attached { Some(tail(word, skip)) } else { words.get(at).cloned() };
                    let next = at + usize::from(!attached);
                    let mut texts: Vec<Word> = text.into_iter().collect();
                    if wrapper.name == "env" {
                        texts.extend_from_slice(words.get(next..).unwrap_or_default());
                        return self.split_string(&texts, span);
                    }
                    self.text_of(&texts, Shell::Posix, "a shell is given computed text", span);
                    at = next;
                    break;
                } else if wrapper.valued.contains(letter) {
                    let value = if attached { Some(tail(word, skip)) } else { words.get(at).cloned() };
                    at += usize::from(!attached);
                    if let Some(command) = value.as_ref().and_then(|value| value.text.strip_prefix(['|', '!']))
                        && matches!(wrapper.name, "strace" | "ltrace")
                    {
                        let command = command.to_string();
                        self.nested(&command, Shell::Posix, span);
                    }
                    if wrapper.name == "ssh"
                        && let Some(value) = value
                        && !programs::is_harmless_ssh_option(letter, &value)
                    {
                        let text = value.text.clone();
                        self.text(&text, span);
                        if let Some((_, command)) = text.split_once(['=', ' ']) {
                            self.nested(command, Shell::Posix, span);
                        }
                        if letter == 'F' {
                            self.gap("ssh is given settings that may run a program", span);
                        }
                        self.unseen("an option of ssh runs a program", span);
                    }
                    break;
                } else if wrapper.shows.contains(letter) {
                    return;
                } else if !wrapper.flags.contains(letter) {
                    unsure = true;
                }
            }
        }
        while let Some(word) = words.get(at).filter(|_| wrapper.assigns) {
            let Some((name, value)) = word.text.split_once('=') else { break };
            if word.openness.from().is_some_and(|at| at <= name.len()) {
                self.gap("the name of a variable is computed", span);
            }
            let constant = word.as_constant().map(|_| value.to_string());
            self.variables.set_constant(name, constant.as_deref());
            let text = value.to_string();
            self.text(&text, span);
            match programs::hazard(name, constant.as_deref()) {
                programs::Hazard::None => {}
                programs::Hazard::Shell => self.gap("it sets a variable that changes how the shell reads", span),
                programs::Hazard::Text | programs::Hazard::Unseen => {
                    self.unseen("it sets a variable that decides which code runs", span);
                    let (name, text) = (name.to_string(), value.to_string());
                    self.code_paths(&name, &text);
                    if matches!(word.openness, Openness::Computed(..)) && name != "PATH" {
                        self.gap("it sets a variable that a later program runs", span);
                    }
                }
            }
            self.beside("a wrapper that sets variables", span);
            at += 1;
        }
        let mut rest = words.get(at..).unwrap_or_default();
        for _ in 0..wrapper.positionals {
            rest = rest.get(1..).unwrap_or_default();
            if wrapper.name == "flock"
                && rest.first().is_some_and(|word| matches!(word.text.as_str(), "-c" | "--command"))
            {
                return self.text_of(&rest[1..], Shell::Posix, "a shell is given computed text", span);
            }
        }
        if rest.first().is_some_and(|word| word.text == "--") {
            rest = &rest[1..];
        }
        if rest.is_empty() {
            if wrapper.bare_shell {
                self.input_text(Shell::Unknown, span);
            }
            return;
        }
        if wrapper.remote {
            self.unseen("it runs elsewhere", span);
        }
        let mut readings = vec![rest];
        if unsure {
            self.beside("an option of a wrapper that isn't known", span);
            readings.extend((1..rest.len().min(4)).map(|skip| &rest[skip..]));
        }
        for reading in readings {
            if wrapper.joins {
                self.text_of(reading, Shell::Posix, "a shell is given computed text", span);
            } else {
                self.run(reading, span, &facts);
            }
        }
    }

    fn split_string(&mut self, words: &[Word], span: &Span) {
        if words.iter().any(|word| word.text.contains(['\\', '$'])) {
            self.gap("text for `env -S` with escapes or variables", span);
        }
        let mut all = vec![Word::constant("env")];
        for (at, word) in words.iter().enumerate() {
            match (at, word.as_constant()) {
                (0, Some(text)) => all.extend(
                    text.split([' ', '\t', '\n'])
                        .filter(|it| !it.is_empty())
                        .map(|it| Word::constant(it.trim_matches(['"', '\'']))),
                ),
                (0, None) => return self.gap("text for `env -S` that is computed", span),
                _ => all.push(word.clone()),
            }
        }
        if words.first().is_some_and(|word| word.text.contains(['"', '\''])) {
            // Quotes are read as a shell does, nearly.
            let text: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
            return self.nested(&text.join(" "), Shell::Posix, span);
        }
        let facts = Facts { assigns: false, writes: false, data: false };
        self.run(&all, span, &facts);
    }
}

/// What surrounds a command.
#[derive(Clone, Copy)]
struct Facts {
    assigns: bool,
    writes: bool,
    /// Its output goes to no file and no other command.
    data: bool,
}

/// A word under construction.
#[derive(Clone, Default)]
struct Build {
    done: Vec<Word>,
    text: String,
    openness: Openness,
    started: bool,
    quoted: bool,
    home: bool,
}

/// The next piece of a word.
enum Next {
    Text(String, bool),
    Home,
    /// A constant value, split unless quoted.
    Value(String, bool),
    Open(String, Openness),
    /// Several words; `true`: each stays whole.
    Words(Vec<Word>, bool),
}

impl Build {
    fn add(&mut self, next: &Next, separators: bool) {
        match next {
            Next::Text(text, quoted) => {
                self.text.push_str(text);
                self.quoted |= quoted;
                self.started = true;
            }
            Next::Home => {
                self.home = true;
                self.started = true;
            }
            Next::Open(text, openness) => {
                self.openness = join(self.text.len(), self.openness, *openness);
                self.text.push_str(text);
                self.started = true;
            }
            Next::Value(text, true) => {
                self.text.push_str(text);
                self.quoted = true;
                self.started = true;
            }
            Next::Value(text, false) => {
                if separators {
                    self.openness = join(self.text.len(), self.openness, Openness::Computed(0, true));
                    self.text.push_str(text);
                    self.started = true;
                    return;
                }
                if text.starts_with([' ', '\t', '\n']) {
                    self.flush();
                }
                let mut pieces = text.split([' ', '\t', '\n']).filter(|piece| !piece.is_empty()).peekable();
                while let Some(piece) = pieces.next() {
                    if let Some(at) = piece.find(['*', '?', '[']) {
                        self.openness = join(self.text.len(), self.openness, Openness::Files(at));
                    }
                    self.text.push_str(piece);
                    self.started = true;
                    if pieces.peek().is_some() {
                        self.flush();
                    }
                }
                if text.ends_with([' ', '\t', '\n']) {
                    self.flush();
                }
            }
            Next::Words(words, whole) => {
                for (at, word) in words.iter().enumerate() {
                    if at > 0 {
                        self.flush();
                    }
                    match word.openness {
                        Openness::Constant => self.add(&Next::Value(word.text.clone(), *whole), separators),
                        openness => self.add(&Next::Open(word.text.clone(), openness), separators),
                    }
                    self.home |= word.home;
                }
            }
        }
    }

    fn flush(&mut self) {
        let is_something = !self.text.is_empty() || self.quoted || self.openness != Openness::Constant || self.home;
        if self.started && is_something {
            self.done.push(Word {
                text: std::mem::take(&mut self.text),
                span: None,
                openness: std::mem::take(&mut self.openness),
                home: std::mem::take(&mut self.home),
                quoted: std::mem::take(&mut self.quoted),
            });
        }
        self.started = false;
    }

    fn finish(mut self, span: Option<Span>) -> Vec<Word> {
        self.flush();
        if let [word] = self.done.as_mut_slice() {
            word.span = span;
        }
        self.done
    }
}

/// Brace expansion: the lists of parts that a word becomes; false if there are too many.
fn spread<'p>(parts: &'p [Part], lists: &mut Vec<Vec<&'p Part>>) -> bool {
    for part in parts {
        match part {
            Part::Brace(alternatives) => {
                let mut made = Vec::new();
                for list in lists.iter() {
                    for alternative in alternatives {
                        let mut inner: Vec<Vec<&Part>> = vec![list.clone()];
                        if !spread(alternative, &mut inner) {
                            return false;
                        }
                        made.append(&mut inner);
                        if made.len() > 64 {
                            return false;
                        }
                    }
                }
                *lists = made;
            }
            other => lists.iter_mut().for_each(|list| list.push(other)),
        }
    }
    true
}

pub(super) fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
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

/// A word without its first `skip` bytes.
fn tail(word: &Word, skip: usize) -> Word {
    let openness = match word.openness {
        Openness::Constant => Openness::Constant,
        Openness::Operand(at) => Openness::Operand(at.saturating_sub(skip)),
        Openness::Files(at) => Openness::Files(at.saturating_sub(skip)),
        Openness::Computed(at, splits) => Openness::Computed(at.saturating_sub(skip), splits),
    };
    Word {
        text: word.text.get(skip..).unwrap_or_default().to_string(),
        span: None,
        openness,
        home: false,
        quoted: word.quoted,
    }
}

fn name_end(text: &str) -> usize {
    text.find('=').map_or(text.len(), |at| at + 1)
}

/// Whether what an interpreter reads was decoded by the command before it.
fn is_decoded(commands: &[Command], interpreter: &str) -> bool {
    commands
        .iter()
        .rev()
        .skip_while(|command| command.words.first().is_some_and(|word| base_name(&word.text) == interpreter))
        .take(2)
        .any(|command| command.words.first().is_some_and(|word| programs::DECODERS.has(base_name(&word.text))))
}
