//! A simple command: its words, what it prints, and what it runs in turn.

use super::super::expand::output;
use super::super::expand::{
    Openness, Word, declares_array, is_positional, is_variable, join, names_what_it_sets,
    own_default,
};
use super::super::grammar::{
    Assign, Change, Node, Part, Redirect, RedirectKind, Stage, Value, Word as Written,
};
use super::super::programs::options::Row;
use super::super::programs::parsed::Given;
use super::super::programs::{Does, Known, Parsed, running};
use super::super::word::behind_expansions;
use super::super::{Command, Role, Shell, Span, Writes, grammar, programs};
use super::{
    By, Facts, Function, Input, MAX_ALTERNATIVES, MAX_COMMANDS, MAX_KEPT, TOO_LARGE, Walk,
    base_name, is_settings_of_git, without_vanishing,
};
use compact_str::format_compact;
use smallvec::SmallVec;
use std::rc::Rc;

/// What the words of a command may become; mostly one thing.
type Alternatives = SmallVec<[Vec<Word>; 1]>;

/// Whether a program is one of GNU's compilers, for another machine too: `aarch64-linux-gnu-gcc`,
/// `g++-13`.
fn is_compiler(name: &str) -> bool {
    let name = name.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '-' | '.'));
    ["gcc", "g++", "cc", "c++", "gfortran"].iter().any(|it| {
        name.strip_suffix(it)
            .is_some_and(|machine| machine.is_empty() || machine.ends_with('-'))
    })
}

/// Whether a program or builtin runs what it is given by other ways than a wrapper does.
fn is_runner(name: &str) -> bool {
    matches!(
        name,
        "xargs" | "find" | "parallel" | "eval" | "." | "source" | "trap" | "awk" | "sed" | "su"
    )
}

/// Whether a command may take some lines of what it reads and leave the others to what comes next.
fn takes_some_lines(words: &[Word]) -> bool {
    let mut n_asked = 0;
    let takes = |at: usize| {
        let name = base_name(&words[at].text);
        // How many operands it has beside its files.
        let beside = match name {
            "read" | "mapfile" | "readarray" => return true,
            "head" | "dd" => 0,
            "sed" | "gsed" | "grep" | "egrep" | "fgrep" | "awk" | "gawk" | "mawk" | "nawk" => 1,
            _ => return false,
        };
        // Behind a wrapper each of the words may be the program: of many, one is taken to do it.
        n_asked += 1;
        let row = programs::options::row(name);
        n_asked > MAX_KEPT
            || row
                .is_none_or(|row| Parsed::new(&words[at + 1..], Some(row)).operands.len() <= beside)
    };
    let wraps = |head: &Word| {
        programs::wrapper_of(&programs::known(base_name(&head.text)), words).is_some()
    };
    let is_wrapped = words.first().is_some_and(wraps);
    (0..words.len())
        .take(if is_wrapped { usize::MAX } else { 1 })
        .any(takes)
}

/// Whether a redirection reads a file, which `$(< file)` prints.
fn reads_file(redirect: &Redirect) -> bool {
    matches!(&redirect.kind, RedirectKind::Read(word) if word.plain() != Some("/dev/null"))
}

/// Whether nothing but the text itself uses a variable of that name: to no standard program do
/// lower-case names mean anything (POSIX, Environment Variables), and to bash and dash none that
/// matters to a text that nobody types.
pub(super) fn is_own_name(name: &str, shell: Shell) -> bool {
    let is_lower = name
        .bytes()
        .all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_'));
    // Zsh ties `path` to PATH, and has more such names.
    is_lower
        && !name.is_empty()
        && shell != Shell::Zsh
        && !["proxy", "npm_", "yarn_"]
            .iter()
            .any(|it| name.contains(it))
}

/// Whether a part holds what a function or a text is given.
pub(super) fn is_given(part: &Part) -> bool {
    match part {
        Part::Variable { name, .. } => is_positional(name),
        Part::Command { list, .. } => list.0.iter().flat_map(|pipeline| &*pipeline.stages).any(|stage| {
            matches!(&stage.node, Node::Simple { words, .. } if words.iter().flat_map(|word| &word.parts).any(is_given))
        }),
        _ => false,
    }
}

/// An assignment as a word, `NAME=value`.
fn setting(assign: &Assign, value: Option<&Word>) -> Word {
    let is_whole =
        !assign.append && assign.element.is_none() && matches!(assign.value, Value::One(_));
    let at = assign.name.len() + 1;
    let known = value.filter(|_| is_whole);
    let openness = match known {
        // `X=~/a` is a path of the home.
        Some(value) if !value.home => value.openness,
        _ => Openness::Computed(0, false),
    };
    Word {
        text: format_compact!("{}={}", assign.name, known.map_or("", |value| &value.text)),
        openness: join(at, Openness::Constant, openness),
        ..Word::default()
    }
}

impl Walk {
    pub(super) fn simple<'a>(
        &mut self,
        stage: &Stage,
        assigns: &'a [Assign],
        words: &[Written],
        piped: bool,
    ) -> Input {
        let (mut declared, mut settings) = (Vec::new(), Vec::new());
        let is_for_command = !words.is_empty() && assigns.iter().any(|assign| !assign.argument);
        let names_before = is_for_command.then(|| self.state().names);
        let head = words.first().and_then(Written::plain);
        let exports = head == Some("export");
        // dash has none of these, so that they set nothing there.
        let may_set_nothing =
            self.shell.may_be_dash() && matches!(head, Some("declare" | "typeset"));
        let declares_array = assigns.iter().any(|assign| assign.argument) && declares_array(words);
        for assign in assigns {
            let value = self.assign(assign, declares_array);
            if !(assign.argument && may_set_nothing) {
                if assign.argument
                    && head != Some("export")
                    && !self.set_names.has(&assign.name)
                    && let Some(locals) = self.locals.last_mut()
                {
                    locals.push(assign.name.clone());
                }
                self.has_set(&assign.name);
            }
            if exports || is_for_command {
                self.set_names.export(&assign.name);
            }
            if words.is_empty() && self.script.assigned.len() > MAX_COMMANDS {
                self.gap(TOO_LARGE, &assign.span);
            } else if words.is_empty() {
                self.script.assigned.push(assign.name.as_str().into());
            }
            if is_for_command && !assign.argument {
                settings.push(setting(assign, value.as_ref()));
            }
            if assign.argument {
                let at = assign.name.len() + 1;
                let value = value.unwrap_or_default();
                let openness = join(at, Openness::Constant, value.openness);
                let span = if self.place.is_none() {
                    Some(assign.span.clone())
                } else {
                    None
                };
                declared.push(Word {
                    text: format_compact!("{}={}", assign.name, value.text),
                    span,
                    openness,
                    assigned: true,
                    ..Word::default()
                });
            }
        }
        // `x=1 git$x`: the command has it, its words don't.
        let names_within = names_before
            .as_ref()
            .map(|before| std::mem::replace(&mut self.set_names, before.clone()));
        let from = self.script.commands.len();
        // A substitution in a word has commands of its own.
        let outer = std::mem::take(&mut self.glued);
        let mut alternatives = self.expand_all(words);
        // What nobody has set is empty.
        if self.glued {
            self.empties = true;
            alternatives.extend(self.expand_all(words));
            self.empties = false;
        }
        self.glued = outer;
        // `${DOCKER:-docker} ps`: what nobody has set is its default.
        if let Some(
            [
                Part::Variable {
                    name,
                    change: Change::Default(default),
                    ..
                },
            ],
        ) = words.first().map(|it| &*it.parts)
            && is_variable(name)
            && default.iter().all(|part| matches!(part, Part::Text { .. }))
            && !self.variables.is_set(name)
            && !programs::is_shells_own(name, self.shell)
        {
            self.beside("a program that a variable may name", &stage.span);
            let is_default = |words: &Vec<Word>| words.first().is_some_and(Word::is_constant);
            if alternatives.iter().any(is_default) {
                alternatives.retain(|words| is_default(words));
            }
        }
        alternatives
            .iter_mut()
            .for_each(|words| words.extend(declared.iter().cloned()));
        let inner = from..self.script.commands.len();
        let outer = self.input.clone();
        // Its words are expanded before its redirections make files.
        let made_option = self.makes_option;
        // What it prints decides what a file holds that it writes, so redirections of input come
        // first.
        let mut printed: Option<Input> = None;
        let (output, writes) = if stage.redirects.is_empty() {
            (false, Writes::Nothing)
        } else {
            let constant = match alternatives.as_slice() {
                [words] => self.prints(words),
                _ => None,
            };
            let constant = constant
                .map(|text| Input::Text(text.into()))
                .or_else(|| self.copied(words, stage));
            self.flowing_into = usize::MAX;
            let inert = self.reads_prose(words, stage, piped);
            let result = self.redirects(&stage.redirects, &stage.span, constant.as_ref(), inert);
            if self.flowing_into != usize::MAX {
                let (from, end) = (self.flowing_into, self.script.commands.len());
                self.script.flows.push(vec![from..end, end..end + 1]);
            }
            result
        };
        let one = |it: &'a Assign| match &it.value {
            Value::One(word) if !it.append && it.element.is_none() => Some(word),
            _ => None,
        };
        let is_own = |it: &'a Assign| one(it).is_some() && is_own_name(&it.name, self.shell);
        let is_plain = |it: &'a Assign| {
            let value = one(it).and_then(output::constant);
            value.is_some_and(|value| programs::is_plain_setting(&it.name, value))
        };
        if words.is_empty() && !assigns.iter().all(|it| is_own(it) || is_plain(it)) {
            self.beside("an assignment", &stage.span);
        }
        // No command of the list says that a file is read.
        if alternatives.iter().any(Vec::is_empty) && stage.redirects.iter().any(reads_file) {
            self.beside("a redirection without a command", &stage.span);
        }
        let facts = Facts {
            assigns: !assigns.iter().all(is_plain),
            settings: (is_for_command && declared.is_empty()).then(|| settings.into()),
            writes,
            data: !piped && !output && !self.captured,
        };
        let makes_option = std::mem::replace(&mut self.makes_option, made_option);
        if let Some(names) = names_within {
            self.set_names = names;
        }
        let is_told = names_what_it_sets(words);
        let from_own = self.script.commands.len();
        self.either(&alternatives, |this, words| {
            let own = this.script.commands.len();
            this.is_told = is_told;
            this.run(words, &stage.span, &facts);
            this.list_writes(own, facts.writes.clone(), &stage.span);
            let prints = if let Some(text) = this.prints(words) {
                if !facts.data {
                    this.text(&text, &stage.span);
                }
                Input::Text(text.into())
            } else if let Some(name) = words.first().and_then(Word::as_constant) {
                if !facts.data
                    && let Some(text) = this.nearly_prints(words)
                {
                    this.text(&text, &stage.span);
                }
                match (base_name(name), &this.input) {
                    ("cat" | "tee", Input::Text(text))
                        if words.len() == 1 || base_name(name) == "tee" =>
                    {
                        Input::Text(Rc::clone(text))
                    }
                    ("cat", _)
                        if words.len() == 2
                            && words[1]
                                .as_constant()
                                .is_some_and(|path| !path.starts_with('-')) =>
                    {
                        Input::File(words[1].text.clone())
                    }
                    ("find", _) if running::prints_with_nul(words) => running::found_by(words)
                        .map_or(Input::Operands, |found| Input::Found(found.into())),
                    (_, Input::Operands) if running::passes_lines(words) => Input::Operands,
                    _ if piped
                        && !this.variables.redefines(name)
                        && output::are_operands(words) =>
                    {
                        Input::Operands
                    }
                    _ => Input::Computed,
                }
            } else {
                Input::Computed
            };
            // Which of several it is isn't told.
            let is_same = printed.as_ref().is_none_or(|other| *other == prints);
            printed = Some(if is_same { prints } else { Input::Computed });
            // What an argument's substitution prints flows into the command.
            if !inner.is_empty() && own < this.script.commands.len() {
                this.script
                    .flows
                    .push(vec![inner.clone(), own..this.script.commands.len()]);
            }
        });
        self.ran = from_own..self.script.commands.len();
        self.makes_option |= makes_option;
        if let Some(before) = names_before {
            // `x=1 return`: what is set for it alone is set no more where it leads.
            if let Some(left) = self
                .left
                .as_mut()
                .filter(|_| matches!(head, Some("return" | "break" | "continue")))
            {
                left.names.join(&before);
            }
            assigns
                .iter()
                .filter(|it| !before.has(&it.name))
                .for_each(|it| self.set_names.unset(&it.name));
            assigns
                .iter()
                .filter(|it| !before.exports(&it.name))
                .for_each(|it| self.set_names.unexport(&it.name));
        }
        if self.input != Input::Outer && alternatives.iter().any(|words| takes_some_lines(words)) {
            self.takes_lines(&stage.span);
        }
        let is_exec = words.len() == 1 && words[0].plain() == Some("exec");
        if !is_exec {
            self.input = self.left_of(outer, stage);
        }
        // What is redirected may go into the pipe all the same: `>&1`, `> /dev/stdout`, zsh's
        // second output.
        printed.unwrap_or(Input::Computed)
    }

    /// What a command's words may become.
    fn expand_all(&mut self, words: &[Written]) -> Alternatives {
        let mut alternatives = Alternatives::new();
        alternatives.push(Vec::with_capacity(words.len()));
        for word in words {
            if let ([Part::Text { text, quoted }], [words]) =
                (word.parts.as_slice(), alternatives.as_mut_slice())
            {
                let span = if self.place.is_none() {
                    Some(word.span.clone())
                } else {
                    None
                };
                words.push(Word {
                    text: text.clone(),
                    span,
                    quoted: *quoted,
                    ..Word::default()
                });
                continue;
            }
            let made = self.expand(word);
            if let ([words], [_]) = (alternatives.as_mut_slice(), made.as_slice()) {
                words.extend(made.into_iter().flatten());
                continue;
            }
            if alternatives.len() * made.len() > MAX_ALTERNATIVES {
                alternatives
                    .iter_mut()
                    .for_each(|words| words.push(Word::computed()));
                continue;
            }
            alternatives = alternatives
                .iter()
                .flat_map(|before| {
                    made.iter()
                        .map(move |words| before.iter().chain(words).cloned().collect())
                })
                .collect();
        }
        alternatives
    }

    /// Whether what the command reads can't end up as code: it is shown, or written into prose.
    fn reads_prose(&self, words: &[Written], stage: &Stage, piped: bool) -> bool {
        let name = words.first().and_then(Written::plain).unwrap_or_default();
        if piped
            || self.captured
            || !matches!(
                name,
                "cat" | "tee" | "grep" | "wc" | "head" | "tail" | "git" | "gh"
            )
        {
            return false;
        }
        let is_prose = |path: &str| {
            [".md", ".txt", ".rst", ".html", ".csv", ".log", ".adoc"]
                .iter()
                .any(|end| path.ends_with(end))
        };
        let written = stage
            .redirects
            .iter()
            .filter_map(|redirect| match &redirect.kind {
                RedirectKind::Write(word) | RedirectKind::ReadWrite(word)
                    if redirect.fd != Some(2) =>
                {
                    Some(word.plain().unwrap_or_default())
                }
                _ => None,
            });
        let mut operands = words
            .iter()
            .skip(1)
            .map(|word| word.plain().unwrap_or_default())
            .filter(|word| !word.starts_with('-'));
        written
            .chain(operands.by_ref().filter(|_| name == "tee"))
            .all(is_prose)
    }

    /// `cat <<E > file`: what a copying command writes.
    fn copied(&mut self, words: &[Written], stage: &Stage) -> Option<Input> {
        let name = words.first().and_then(Written::plain)?;
        if !matches!(name, "cat" | "tee") || words.len() > 2 {
            return None;
        }
        let last = stage.redirects.iter().rfind(|redirect| redirect.reads());
        match last.map(|redirect| &redirect.kind) {
            Some(RedirectKind::HereDocument(at)) => {
                Some(self.document(&self.documents.as_deref()?.get(*at)?.parts).0)
            }
            Some(RedirectKind::HereString(word)) => {
                output::constant(word).map(|text| Input::Text(format!("{text}\n").into()))
            }
            Some(_) => None,
            None => match &self.input {
                Input::Text(text) if words.len() == 1 => Some(Input::Text(Rc::clone(text))),
                _ => None,
            },
        }
    }

    /// What `echo` and `printf` print with these words.
    pub(super) fn prints(&self, words: &[Word]) -> Option<String> {
        let name = words.first()?.text.as_str();
        if !matches!(name, "echo" | "printf") || self.variables.redefines(name) {
            return None;
        }
        let texts: Vec<&str> = words.iter().map(Word::as_constant).collect::<Option<_>>()?;
        output::printed(&texts, self.shell)
    }

    /// What the words print, as near as it can be told, if that may end up as code.
    fn nearly_prints(&self, words: &[Word]) -> Option<String> {
        let texts: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
        output::nearly_printed(&texts, self.shell)
    }

    /// Whether a part is a variable that nothing may have set yet, and that something may set
    /// later: a text that is run as code, which is read when it is come to.
    fn is_set_later(&self, part: &Part, is_element: bool) -> bool {
        let Part::Variable { name, change, .. } = part else {
            return false;
        };
        let may_be = !is_element && matches!(change, Change::None) && is_variable(name);
        (may_be || self.variables.is_set(name)) && !self.set_names.has(name)
    }

    /// What an assignment sets a variable to.
    fn assign(&mut self, assign: &Assign, declares_array: bool) -> Option<Word> {
        if assign.name == "options" && self.shell == Shell::Zsh {
            self.gap("an option that changes how the shell reads", &assign.span);
        }
        if let Some(subscript) = &assign.element {
            self.check_subscript(subscript, &assign.span);
        }
        if let Value::One(word) = &assign.value
            && own_default(&assign.name, word).is_some()
        {
            self.beside("an expansion that sets a variable", &assign.span);
        }
        let words: &[Written] = match &assign.value {
            Value::One(word) => std::slice::from_ref(word),
            Value::Array(words) => words,
        };
        // What an integer is set to is arithmetic.
        if programs::is_integer(&assign.name, self.shell) {
            words
                .iter()
                .for_each(|word| self.check_numbers(&word.parts, &assign.span));
        }
        let mut value = None;
        let is_element = matches!(assign.value, Value::Array(_));
        for word in words {
            let is_own_default = own_default(&assign.name, word).is_some();
            let is_known_here = self.positional.is_some() && word.parts.iter().any(is_given)
                || !is_own_default
                    && word
                        .parts
                        .iter()
                        .any(|part| self.is_set_later(part, is_element));
            for it in self.expand(word).into_iter().flatten() {
                self.text(&it.text, &assign.span);
                if assign.argument && !is_element {
                    self.elements_in_value(assign, &it, declares_array);
                }
                if is_known_here {
                    self.variables.set_word(&assign.name, &it, is_element);
                }
                value = Some(it);
            }
        }
        let constant = value.as_ref().and_then(Word::as_constant);
        // A prompt is expanded again each time that it is shown.
        let prompt = value
            .as_ref()
            .filter(|_| assign.name.starts_with("PS"))
            .map(|word| word.text.as_str());
        // `ENV=<(curl x)`
        let prompt = prompt.or(value
            .as_ref()
            .filter(|_| assign.name == "ENV")
            .map(Word::beginning));
        let name = self.untied(&assign.name);
        match programs::hazard(name, constant.or(prompt)) {
            programs::Hazard::None => {}
            programs::Hazard::Unseen => {
                self.unseen(
                    "it sets a variable that decides which code runs",
                    &assign.span,
                );
                let text = value
                    .as_ref()
                    .map(|word| word.beginning().to_string())
                    .unwrap_or_default();
                self.code_paths(name, &text);
            }
            programs::Hazard::Shell => self.gap(
                "it sets a variable that changes how the shell reads",
                &assign.span,
            ),
            programs::Hazard::Text => match (constant, value.as_ref()) {
                (Some(text), _) => {
                    let text = text.to_string();
                    self.unseen(
                        "it sets a variable that decides which code runs",
                        &assign.span,
                    );
                    self.nested(&text, Shell::Unknown, &assign.span);
                }
                (None, Some(word)) if matches!(word.openness, Openness::Computed(..)) => {
                    self.gap("it sets a variable that a later program runs", &assign.span);
                }
                _ => self.unseen(
                    "it sets a variable that decides which code runs",
                    &assign.span,
                ),
            },
        }
        value
    }

    /// A declaration takes a value in parentheses for the elements of an array, and expands them:
    /// `declare -a x='($(ls))'`.
    fn elements_in_value(&mut self, assign: &Assign, value: &Word, declares_array: bool) {
        let may_be_array = declares_array || self.variables.is_array(&assign.name);
        if !may_be_array || !matches!(self.shell, Shell::Bash | Shell::Unknown) {
            return;
        }
        let begins_open = match value.openness {
            Openness::Operand(0) => declares_array,
            openness => openness.from() == Some(0),
        };
        match value.as_constant() {
            Some(text) if text.starts_with('(') => {
                let sign = if assign.append { "+=" } else { "=" };
                self.nested(
                    &format!("{}{sign}{text}", assign.name),
                    self.shell,
                    &assign.span,
                );
            }
            None if begins_open || value.text.starts_with('(') => {
                self.gap("the elements of an array are computed", &assign.span);
            }
            _ => {}
        }
    }

    /// Files that a variable makes a later program run.
    pub(super) fn code_paths(&mut self, name: &str, value: &str) {
        self.paths |= name == "PATH";
        for piece in value
            .split([' ', ':', '=', ','])
            .filter(|piece| !piece.is_empty() && !piece.starts_with(['$', '-']))
            .take(16)
        {
            self.script.scripts.push(piece.to_string());
            if name == "PYTHONPATH" {
                self.script
                    .scripts
                    .push(format!("{piece}/sitecustomize.py"));
                self.script
                    .scripts
                    .push(format!("{piece}/usercustomize.py"));
            }
        }
    }

    pub(super) fn emit(&mut self, words: &[Word], span: &Span, facts: &Facts, role: Role) {
        let at = self.at(span);
        self.work += words.len();
        let mut own = words.to_vec();
        if self.makes_option {
            let may_be_file = |word: &&mut Word| {
                matches!(word.openness, Openness::Files(0) | Openness::Operand(0))
            };
            own.iter_mut()
                .filter(may_be_file)
                .for_each(|word| word.openness = Openness::Computed(0, true));
        }
        self.script.commands.push(Command {
            words: own,
            span: at,
            role,
            assigns: facts.assigns,
            settings: facts.settings.clone(),
            writes: facts.writes.clone(),
            data: false,
            directories: self.directories.clone(),
            relinked: self.relinked,
            shell_text: false,
            runs_words: false,
            builds_code: false,
        });
        self.names_branch |= words.iter().any(Word::is_branch);
        for word in words
            .iter()
            .filter(|word| word.text.bytes().any(|byte| byte == b'/'))
        {
            self.aliases |= [".git/", ".husky/"]
                .iter()
                .any(|place| word.text.contains(place));
            // `sort -o ./-f a`
            self.makes_option |= base_name(&word.text).starts_with('-');
        }
        let program = words
            .first()
            .and_then(Word::as_constant)
            .map_or("", base_name);
        // `sed -i s/fetch/push/ .git/config`
        if program != "git"
            && words
                .iter()
                .skip(1)
                .any(|word| is_settings_of_git(&word.text))
            && !programs::runs(program).has("data")
            && !programs::is_shell(program)
        {
            self.writes_settings_of_git(None);
        }
        self.relinked |= matches!(program, "ln" | "mv" | "mount");
    }

    /// Whether it is `$SHELL`, and nothing in the text sets that.
    fn is_users_shell(&self, head: &Word) -> bool {
        head.text == "${SHELL}"
            && head.openness == Openness::Operand(0)
            && !self.variables.is_set("SHELL")
    }

    /// Reads what `$SHELL` is given as any of them may.
    fn users_shell(&mut self, words: &[Word], span: &Span, facts: &Facts) {
        for name in ["bash", "sh", "zsh"] {
            self.run(&Word::constant(name).before(&words[1..]), span, facts);
        }
    }

    /// One simple command, or what it runs in turn.
    pub(super) fn run(&mut self, words: &[Word], span: &Span, facts: &Facts) {
        let Some(head) = words.first() else { return };
        if self.depth >= 2 * grammar::MAX_DEPTH
            || !self.spend(words.len() + 4)
            || self.script.commands.len() > MAX_COMMANDS
        {
            return self.gap(TOO_LARGE, span);
        }
        let name = match head.openness.from() {
            None => base_name(&head.text),
            Some(at) => {
                // `"$HOME/bin/git"` is git, wherever home is.
                let slash = head.text.rfind('/').map_or(0, |at| at + 1);
                let name = &head.text[slash..];
                // If nothing is found, the next word is the program.
                let plain = slash > at
                    && !name.is_empty()
                    && !name.contains(['$', '*', '?', '[', '…', '{', '}'])
                    && !head.text.starts_with(output::FOUND);
                if !plain || matches!(head.openness, Openness::Computed(_, true)) {
                    self.emit(words, span, facts, Role::Plain);
                    self.runs_words();
                    // `nohup$x git push` runs git if `x` is empty.
                    let (prefix, open) =
                        (head.beginning(), head.text.get(at..).unwrap_or_default());
                    if !prefix.is_empty()
                        && !prefix.ends_with('/')
                        && behind_expansions(open).is_empty()
                    {
                        let words = Word::constant(prefix).before(&words[1..]);
                        self.depth += 1;
                        self.dispatch(base_name(prefix), &words, span, facts);
                        self.depth -= 1;
                    }
                    let elsewhere =
                        slash > 0 && slash <= at && !programs::is_system_path(&head.text);
                    if matches!(head.openness, Openness::Files(_)) && elsewhere {
                        if self.has_written(&head.text) {
                            self.started(&head.text, &words[1..], span, By::Itself);
                        }
                        return self.unseen("the program is one of several files", span);
                    }
                    // `./"$f"` is a file of that directory, as `./*` is.
                    let below = head.text.starts_with("./")
                        && matches!(head.openness, Openness::Operand(2..));
                    let is_here = !self.directories.is_unknown()
                        && !self
                            .directories
                            .all()
                            .any(|directory| directory.starts_with(['/', '~']));
                    if below && is_here && slash <= at && !head.text[slash..].contains("..") {
                        return self.unseen("the program is one of several files", span);
                    }
                    // Its beginning may rule a rule's program out: the rule knows.
                    if matches!(head.openness, Openness::Operand(_))
                        && !prefix.is_empty()
                        && !prefix.contains('/')
                    {
                        return self.unseen("a program whose name a variable ends", span);
                    }
                    if self.is_users_shell(head) {
                        return self.users_shell(words, span, facts);
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
        self.depth += 1;
        self.dispatch(name, words, span, facts);
        self.depth -= 1;
    }

    fn dispatch(&mut self, name: &str, words: &[Word], span: &Span, facts: &Facts) {
        // Which of several is the one isn't told: each may stand in a branch, or in a shell of its
        // own.
        let functions: Vec<Function> = match words[0].text == name {
            true => self
                .functions
                .iter()
                .filter(|(it, _)| it == name)
                .map(|(_, function)| function.clone())
                .collect(),
            false => Vec::new(),
        };
        if functions.is_empty() {
            return self.dispatch_own(name, words, span, facts);
        }
        self.emit(words, span, facts, Role::Plain);
        if functions.len() > MAX_ALTERNATIVES {
            return self.gap(TOO_LARGE, span);
        }
        let before = self.state();
        self.either(&functions, |this, function| {
            this.call(name, function, words, span)
        });
        // Nor whether there is one at all: then it is what else has that name.
        let called = self.state();
        self.restore(before);
        let is_alias = self.named.iter().any(|(it, _)| it == name);
        let program = programs::known(name);
        let runs_others = program.is_shell() || program.is_interpreter() || is_runner(name);
        let is_other =
            match is_alias || runs_others || programs::wrapper_of(&program, words).is_some() {
                true => {
                    self.dispatch_own(name, words, span, facts);
                    true
                }
                false => self.builtin(name, words, span, facts),
            };
        match is_other {
            true => self.join(&called),
            false => self.restore(called),
        }
    }

    /// What isn't a function of the text.
    fn dispatch_own(&mut self, name: &str, words: &[Word], span: &Span, facts: &Facts) {
        if let Some((_, value)) = self.named.iter().rev().find(|(it, _)| it == name).cloned()
            && !self.calling.iter().any(|it| it == name)
        {
            // Whether it is expanded depends on the shell: both readings are listed.
            self.calling.push(name.to_string());
            let rest: Vec<String> = words[1..]
                .iter()
                .map(|word| format!("'{}'", word.text.replace('\'', "'\\''")))
                .collect();
            match value {
                Some(value) if value.ends_with([' ', '\t']) && self.named.len() > 1 => {
                    self.gap("an alias after which the next word may be one", span);
                }
                Some(value) => {
                    self.nested(&format!("{value} {}", rest.join(" ")), self.shell, span)
                }
                None => self.gap("an alias that is computed", span),
            }
            self.calling.pop();
        }
        if let Some(short) = programs::in_short(name, words) {
            return self.run(&short, span, facts);
        }
        let program = programs::known(name);
        if program.is_shell() {
            self.with_exported(|this| this.shell(name, words, span, facts));
            // `sh $x -c 'git push'`: if nothing has set `x`, what follows stands in its place.
            let is_known = matches!(
                self.input,
                Input::Text(_) | Input::Completed(_) | Input::File(_)
            );
            if let Some(set) = without_vanishing(words).filter(|set| set.len() > 1 || is_known) {
                self.with_exported(|this| this.shell(name, &set, span, facts));
            }
            return;
        }
        if let Some(wrapper) = programs::wrapper_of(&program, words) {
            self.emit(words, span, facts, Role::Plain);
            if !wrapper.runs.has("partly") {
                self.reads_words();
            }
            self.settings_behind_vanishing(wrapper.row, words, span);
            // What it sets is set for its command, and what it takes away isn't.
            let clears =
                wrapper.runs.has("clears") && wrapper.options(words.len()).next().is_some();
            return match wrapper.runs.has("sets") || clears {
                true => self.in_subshell(|this| {
                    if clears {
                        this.set_names.export_none();
                    }
                    this.unwrap(&wrapper, words, span);
                }),
                false => self.unwrap(&wrapper, words, span),
            };
        }
        if !self.builtin(name, words, span, facts) {
            self.program(&program, words, span, facts);
        }
    }

    /// `ssh $x h -o ProxyCommand='git push'`: if nothing has set `x`, the host is the next word.
    fn settings_behind_vanishing(&mut self, row: &'static Row, words: &[Word], span: &Span) {
        let has_settings = || {
            row.options
                .iter()
                .any(|option| option.does == Does::Setting)
        };
        let Some(set) = without_vanishing(words).filter(|_| has_settings()) else {
            return;
        };
        let behind = set
            .iter()
            .skip(1)
            .position(|word| !word.text.starts_with('-'))
            .unwrap_or(0)
            + 1;
        for from in [1, behind + 1, behind + 2] {
            let parsed = Parsed::new(set.get(from..).unwrap_or_default(), Some(row));
            // A host `tail` mostly stands before a `-F` of tail's.
            parsed
                .values("-o")
                .for_each(|setting| self.setting_of_ssh('o', &setting, span));
        }
    }

    /// The settings of ssh that a command is given.
    fn settings(&mut self, parsed: &Parsed, span: &Span) {
        for Given { option, value } in parsed.given() {
            if let (Does::Setting, Some(value)) = (option.does, &value) {
                self.setting_of_ssh(option.letter().unwrap_or('o'), value, span);
            }
        }
    }

    /// A program that isn't part of the shell.
    fn program(&mut self, program: &Known<'_>, words: &[Word], span: &Span, facts: &Facts) {
        let name = program.name;
        match program.main_name() {
            "find" => self.find(words, span, facts),
            "xargs" => self.xargs(words, span, facts),
            "parallel" => self.parallel(words, span, facts),
            // A project's own script; the program that writes down a session is installed.
            "script" if self.is_file_beside(&words[0]) => {
                self.other(program, words, span, facts);
                self.runs_words();
            }
            "su" | "runuser" | "script" | "sg" | "newgrp" => {
                match words
                    .iter()
                    .any(|word| matches!(word.text.as_str(), "-" | "-l" | "--login"))
                {
                    true => self.elsewhere(|this| this.switch_user(name, words, span, facts)),
                    false => self.switch_user(name, words, span, facts),
                }
            }
            "awk" | "gawk" | "mawk" | "nawk" | "sed" => self.awk(name, words, span, facts),
            _ if program.is_interpreter() => {
                self.interpreter(name, words, span, facts);
                // `perl $x s.pl`
                if let Some(set) = without_vanishing(words).filter(|set| set.len() > 1) {
                    self.interpreter(name, &set, span, facts);
                }
            }
            "git" => self.git(program, words, span, facts),
            _ => self.other(program, words, span, facts),
        }
    }

    /// Whether a program is a file of the project that the text hasn't made.
    fn is_file_beside(&self, head: &Word) -> bool {
        let path = head.text.as_str();
        path.contains('/')
            && !programs::is_system_path(path)
            && !self.relinked
            && !self.has_written(path)
    }

    fn other(&mut self, program: &Known<'_>, words: &[Word], span: &Span, facts: &Facts) {
        let name = program.name;
        self.emit(words, span, facts, Role::Plain);
        if self.text_options(program, words, span) {
            self.unseen("an option runs a program", span);
            return;
        }
        self.copies(name, &words[1..]);
        match program.main_name() {
            "just" => {
                let at = words
                    .iter()
                    .position(|word| matches!(word.text.as_str(), "-c" | "--command"));
                if let Some(command) = at.and_then(|at| words.get(at + 1..)) {
                    return self.run(command, span, &Facts::default());
                }
            }
            "scp" | "sftp" => {
                let parsed = Parsed::new(&words[1..], programs::options::row(name));
                self.settings(&parsed, span);
            }
            "make" => self.shell_of_make(words, span),
            "tmux" => self.typed(&words[1..], span),
            // `docker service create IMAGE COMMAND`
            "docker" if words.iter().any(|word| word.text == "service") => {
                self.runs_words();
                self.unseen("it runs elsewhere", span);
            }
            "gdb" | "lldb" => self.debugged(words, span),
            "terraform" | "tofu" | "terragrunt" => self.plan_to_destroy(words, span, facts),
            // A file of commands for later.
            "at" | "batch" => {
                let row = programs::options::row(name);
                let file = Parsed::new(&words[1..], row).values("-f").next();
                if let Some(file) = file {
                    self.script(&file, &[], Shell::Posix, span);
                }
            }
            _ if is_compiler(name) => self.wrapper_of_compiler(words, span),
            _ => {}
        }
        if self.aliases && matches!(name, "cargo" | "gh" | "glab" | "aws" | "hg") {
            self.gap("it may have aliases that the text has written", span);
        }
        if matches!(name, "gh" | "glab") && words.iter().any(|word| word.text == "alias") {
            self.aliases = true;
        }
        // `gh codespace ssh -- CMD`
        let passes_on = matches!(name, "gh" | "glab") && words.iter().any(|word| word.text == "--");
        let runs = program.runs();
        if runs.has("data") && !passes_on {
            self.mark_data(facts);
        } else if !runs.has("files") {
            let slashes = words[0].text.contains('/');
            if self.paths && !slashes {
                self.script.scripts.push(name.to_string());
            }
            // One reading of a wrapper's words may begin with a URL.
            if slashes
                && !words[0].text.contains("://")
                && !programs::is_system_path(&words[0].text)
                && self.with_exported(|this| {
                    this.started(&words[0].text, &words[1..], span, By::Itself)
                })
            {
                return;
            }
            // It writes into package.json, which what comes later may run.
            if name == "npm" && words.get(1).is_some_and(|word| word.text == "pkg") {
                return;
            }
            self.unseen("a program runs code that the text doesn't show", span);
            if !runs.has("own") {
                self.runs_words();
            }
        }
        if runs.has("input") {
            match self.input.clone() {
                Input::Text(text) => self.text(&text, span),
                Input::Computed => {
                    self.unseen("a program runs code that the text doesn't show", span);
                    // `(crontab -l; echo ...) | crontab -`: what was printed before may be what it
                    // reads.
                    self.script
                        .commands
                        .iter_mut()
                        .for_each(|command| command.data = false);
                }
                _ => {}
            }
        }
    }

    /// `tmux send-keys git Space push Enter`: what a shell of tmux may read.
    fn typed(&mut self, args: &[Word], span: &Span) {
        let Some(verb) = args.iter().position(|word| word.text.starts_with("send")) else {
            return;
        };
        let Some(row) = programs::options::row("tmux") else {
            return;
        };
        let Some(row) = row.child("send-keys") else {
            return;
        };
        let given = Parsed::new(&args[verb + 1..], Some(row));
        let typed = given.operand_words().map(|word| match word.text.as_str() {
            "Space" => " ",
            "Enter" | "C-m" | "C-j" | "KPEnter" => "\n",
            key => key,
        });
        let typed: String = typed.collect();
        self.text(&typed, span);
        // `-H 67 69 74`
        let by_number = given
            .operand_words()
            .filter_map(|word| u8::from_str_radix(&word.text, 16).ok());
        let typed: String = by_number.map(char::from).collect();
        if !typed.is_empty() {
            self.text(&typed, span);
        }
    }

    /// `gdb -ex 'run push -f' git`: what a debugger starts by its commands.
    fn debugged(&mut self, words: &[Word], span: &Span) {
        const MOST: usize = 16;
        let (mut programs, mut wrappers, mut arguments) = (Vec::new(), Vec::new(), Vec::new());
        let mut texts: Vec<Rc<str>> = words[1..]
            .iter()
            .map(|word| Rc::from(word.text.as_str()))
            .collect();
        // `gdb -x file`
        for word in &words[1..] {
            let written = self
                .files
                .iter()
                .filter(|file| file.may_be(base_name(&word.text)));
            texts.extend(written.filter_map(|file| file.content.clone()));
        }
        for word in &words[1..] {
            if !word.text.contains(' ') && word.is_constant() && !word.text.starts_with('-') {
                programs.push(word.text.to_string());
            }
        }
        for text in &texts {
            for line in text.lines() {
                let mut line = line.trim_start_matches([' ', '-', '=']).splitn(2, ' ');
                let (verb, rest) = (
                    line.next().unwrap_or_default(),
                    line.next().unwrap_or_default().trim(),
                );
                match (verb, rest.split_once(' ').unwrap_or((rest, ""))) {
                    ("file" | "exec-file" | "target", (_, "")) => programs.push(rest.to_string()),
                    ("target", ("create", program)) => programs.push(program.to_string()),
                    ("set", ("exec-wrapper", wrapper)) => wrappers.push(wrapper.to_string()),
                    ("set", ("args", given)) => arguments.push(given.to_string()),
                    ("process", ("launch", given)) => {
                        arguments.push(given.trim_start_matches(['-', ' ']).to_string());
                    }
                    ("r" | "run" | "start" | "starti", _) if !rest.is_empty() => {
                        arguments.push(rest.to_string())
                    }
                    _ => {}
                }
            }
        }
        if programs.len() * arguments.len() > MOST * MOST || wrappers.len() > MOST {
            return self.gap(TOO_LARGE, span);
        }
        // It starts them by a shell.
        let started = programs
            .iter()
            .flat_map(|program| arguments.iter().map(move |it| format!("{program} {it}")));
        let texts: Vec<String> = wrappers.into_iter().chain(started).collect();
        for text in texts {
            self.text_for_shell(
                &[Word::constant(text)],
                Shell::Posix,
                "an argument is computed and run",
                span,
            );
        }
    }

    /// `make SHELL=git .SHELLFLAGS='push -f'`: what each line of a recipe is given to.
    fn shell_of_make(&mut self, words: &[Word], span: &Span) {
        let set = |name: &str| {
            words
                .iter()
                .find_map(|word| word.text.strip_prefix(name))
                .unwrap_or_default()
        };
        let shell = set("SHELL=")
            .split_whitespace()
            .chain(set(".SHELLFLAGS=").split_whitespace());
        let mut given: Vec<Word> = shell.map(Word::constant).collect();
        if given
            .first()
            .is_some_and(|word| !programs::is_shell(base_name(&word.text)))
        {
            given.push(Word {
                text: "…".into(),
                openness: Openness::Operand(0),
                ..Word::default()
            });
            self.run(&given, span, &Facts::default());
        }
    }

    /// `gcc -wrapper git,push`: what the compiler runs its own programs by.
    fn wrapper_of_compiler(&mut self, words: &[Word], span: &Span) {
        let Some(at) = words.iter().position(|word| word.text == "-wrapper") else {
            return;
        };
        let Some(wrapper) = words.get(at + 1) else {
            return;
        };
        let Some(text) = wrapper.as_constant() else {
            return self.gap("the program's name is computed", span);
        };
        let wrapped: Vec<Word> = text.split(',').map(Word::constant).collect();
        self.run(&wrapped, span, &Facts::default());
    }

    /// `terraform plan -destroy -out=f; terraform apply f`: applying such a plan destroys.
    fn plan_to_destroy(&mut self, words: &[Word], span: &Span, facts: &Facts) {
        let is_option = |word: &Word, name: &str| {
            word.beginning().trim_start_matches('-') == name && word.text.starts_with('-')
        };
        let Some(verb) = words
            .iter()
            .position(|word| matches!(word.text.as_str(), "plan" | "apply"))
        else {
            return;
        };
        // `TF_CLI_ARGS_apply=-destroy`: words that stand behind the sub-command.
        for name in [
            "TF_CLI_ARGS".to_string(),
            format!("TF_CLI_ARGS_{}", words[verb].text),
        ] {
            for value in self.variables.values(&name).iter().take(MAX_KEPT) {
                let given = value
                    .text
                    .split_whitespace()
                    .map(|text| match value.openness {
                        Openness::Constant => Word::constant(text),
                        _ => Word::computed(),
                    });
                let (before, behind) = words.split_at(verb + 1);
                let all: Vec<Word> = before
                    .iter()
                    .cloned()
                    .chain(given)
                    .chain(behind.iter().cloned())
                    .collect();
                self.emit(&all, span, facts, Role::Plain);
            }
        }
        if words[verb].text == "plan" {
            let destroys =
                |word: &Word| is_option(word, "destroy") || is_option(word, "destroy=true");
            let file = words.iter().enumerate().find_map(|(at, word)| {
                let attached = ["-out=", "--out="]
                    .iter()
                    .find_map(|start| word.text.strip_prefix(start));
                attached.map(str::to_string).or_else(|| {
                    is_option(word, "out")
                        .then(|| words.get(at + 1).map(|it| it.text.to_string()))
                        .flatten()
                })
            });
            let plan = file
                .filter(|_| words.iter().any(destroys))
                .map(|file| base_name(&file).to_string());
            match plan.filter(|plan| !self.plans_to_destroy.contains(plan)) {
                Some(_) if self.plans_to_destroy.len() >= MAX_KEPT => self.gap(TOO_LARGE, span),
                plan => self.plans_to_destroy.extend(plan),
            }
            return;
        }
        let is_plan = |word: &Word| {
            self.plans_to_destroy
                .iter()
                .any(|plan| plan == base_name(&word.text))
        };
        if words[verb + 1..].iter().any(is_plan) {
            let mut destroys = words.to_vec();
            destroys[verb] = Word::constant("destroy");
            self.emit(&destroys, span, facts, Role::Plain);
        }
    }

    /// What the programs that copy or keep texts write where.
    fn copies(&mut self, name: &str, args: &[Word]) {
        let input = match &self.input {
            Input::Text(text) => Some(Rc::clone(text)),
            _ => None,
        };
        let operands = || {
            args.iter()
                .map(|word| word.text.as_str())
                .filter(|text| !text.starts_with('-'))
        };
        if matches!(
            name,
            "touch" | "mkdir" | "mkfifo" | "mknod" | "cp" | "mv" | "ln" | "install" | "tee"
        ) {
            let end = args
                .iter()
                .position(|word| word.text == "--")
                .unwrap_or(args.len());
            let is_option = |(at, word): (usize, &Word)| {
                let name = base_name(&word.text);
                let is_dashed = name.starts_with('-')
                    && word.text != "--"
                    && (at > end || word.text.contains('/'));
                is_dashed || name.starts_with('+')
            };
            self.makes_option |= args.iter().enumerate().any(is_option);
        }
        match name {
            "curl" | "wget" => programs::downloads(name, args)
                .iter()
                .for_each(|path| self.wrote(path, None)),
            // `-s` keeps any text for it.
            "history"
                if args
                    .iter()
                    .any(|it| it.text.starts_with('-') && it.text.contains(['w', 'a'])) =>
            {
                operands().for_each(|path| self.wrote(path, None));
                self.wrote(".bash_history", None);
            }
            "tee" | "sponge" => operands().for_each(|path| self.wrote(path, input.clone())),
            "dd" => {
                for path in operands().filter_map(|word| word.strip_prefix("of=")) {
                    self.wrote(path, input.clone());
                }
            }
            "cp" | "mv" | "ln" | "install" => {
                let mut from = operands();
                let Some(to) = from.next_back() else { return };
                let copied: Vec<Option<Rc<str>>> = from
                    .flat_map(|path| {
                        self.files
                            .iter()
                            .filter(|file| file.name == base_name(path))
                    })
                    .map(|file| file.content.clone())
                    .collect();
                for content in copied {
                    self.wrote(to, content.clone());
                }
            }
            _ => {}
        }
    }

    /// The last command may run its own words as another one.
    pub(super) fn runs_words(&mut self) {
        if let Some(last) = self.script.commands.last_mut() {
            last.runs_words = true;
        }
    }

    /// All that the last command runs of its words is read.
    pub(super) fn reads_words(&mut self) {
        if let Some(last) = self.script.commands.last_mut() {
            last.shell_text = true;
        }
    }

    pub(super) fn mark_data(&mut self, facts: &Facts) {
        if facts.data
            && let Some(last) = self.script.commands.last_mut()
        {
            last.data = true;
        }
    }

    pub(super) fn call(&mut self, name: &str, function: &Function, words: &[Word], span: &Span) {
        if self.calling.iter().any(|it| it == name) || self.calling.len() > 8 {
            return self.gap("a function that calls itself", span);
        }
        self.calling.push(name.to_string());
        self.locals.push(Vec::new());
        let documents = std::mem::replace(&mut self.documents, function.documents.clone());
        let place = self.at(span);
        let outer = self.place.replace(place);
        let left = self.left.take();
        self.giving(&words[1..], |this| {
            this.until_left(|this| {
                this.stage(&function.body, false);
            });
        });
        self.left = left;
        self.place = outer;
        self.documents = documents;
        self.locals
            .pop()
            .unwrap_or_default()
            .iter()
            .for_each(|name| self.set_names.unset(name));
        self.calling.pop();
    }
}
