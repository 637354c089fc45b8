//! What the shell does itself: builtins that run text, change how later words are read, or where
//! they run.

use super::super::expand::output;
use super::super::expand::{Openness, Word, is_number, is_variable};
use super::super::programs::{Names, running};
use super::super::word::without_expansions;
use super::super::{Role, RunFile, Shell, Span, grammar, programs};
use super::expansion::as_operand;
use super::simple::is_own_name;
use super::state::Later;
use super::{
    Awaited, By, COMPLETED, Directories, Facts, Input, MAX_COMMANDS, MAX_FILES, Passed, TOO_LARGE,
    Walk, base_name, looks_expandable, tail,
};
use std::rc::Rc;

/// Options of `set -o` that don't change how the shell reads.
static PLAIN_OPTIONS: Names = Names::new("set-o");

const SETS_VARIABLES: &str = "a builtin that sets variables";

/// What a script is run by, as its first line says: `#!/usr/bin/env -S git push` does it with the
/// script's own words behind.
fn interpreter_of(text: &str) -> Option<Vec<Word>> {
    let line = text
        .lines()
        .next()
        .and_then(|line| line.strip_prefix("#!"))?;
    let words = line
        .split_whitespace()
        .skip_while(|word| base_name(word) == "env" || word.starts_with('-'));
    Some(words.map(Word::constant).collect())
}

/// A text in which `${1}` and the like are what the caller of this shell has given it; nothing if
/// there are none.
fn with_callers_words(text: &str) -> Option<String> {
    let mut made = String::new();
    for (at, piece) in text.split("${").enumerate() {
        let is_given = piece.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '@' | '*'));
        let name_end = piece
            .find(|c: char| !c.is_alphanumeric())
            .unwrap_or(piece.len())
            .max(usize::from(is_given));
        match (at, is_given) {
            (0, _) => made.push_str(piece),
            (_, false) => made.extend(["${", piece]),
            (_, true) => made.extend(["${of_caller", &piece[name_end..]]),
        }
    }
    (made != text).then_some(made)
}

/// Whether a file that is sourced is one of the user's own, or sets up an environment: such leave
/// the directory as it is.
fn is_of_user(file: &Word) -> bool {
    file.home
        || base_name(&file.text) == "activate"
        || file.openness.from() == Some(0)
        || file.text.starts_with('/')
}

/// Whether nothing of the word is known.
fn begins_open(word: &Word) -> bool {
    matches!(
        word.openness,
        Openness::Operand(0) | Openness::Computed(0, _)
    )
}

/// Whether the word is computed from its beginning.
fn begins_computed(word: &Word) -> bool {
    matches!(word.openness, Openness::Computed(0, _))
}

/// Which word of `read -rp 'Go on? [y/N] ' x` is the prompt, which no shell but zsh takes for a
/// name.
fn prompt_of_read(name: &str, args: &[Word]) -> Option<usize> {
    let letters = |word: &Word| {
        word.as_constant()?
            .strip_prefix('-')
            .filter(|it| !it.is_empty())
            .map(str::to_string)
    };
    let is_flags = |text: &str| text.bytes().all(|byte| b"ers".contains(&byte));
    let n_flags = args
        .iter()
        .map_while(letters)
        .take_while(|it| is_flags(it))
        .count();
    let option = args.get(n_flags).and_then(letters)?;
    let asks = option.strip_suffix('p').is_some_and(is_flags);
    (name == "read" && asks && args.len() > n_flags + 1).then_some(n_flags + 1)
}

impl Walk {
    /// Reads a builtin that matters; false if it's none.
    pub(super) fn builtin(
        &mut self,
        name: &str,
        words: &[Word],
        span: &Span,
        facts: &Facts,
    ) -> bool {
        let args = &words[1..];
        let first = args.first();
        // Zsh takes their arguments for arithmetic.
        if self.shell == Shell::Zsh
            && matches!(
                name,
                "shift" | "exit" | "return" | "break" | "continue" | "bye" | "logout"
            )
        {
            self.guard_subscripts(args, span);
            args.iter()
                .for_each(|word| self.check_subscript(&word.text, span));
        }
        match name {
            "eval" => {
                self.emit(words, span, facts, Role::Transparent);
                let skip = usize::from(first.is_some_and(|word| word.text == "--"));
                let is_substitution = matches!(&args[skip..], [word] if begins_computed(word));
                if !is_substitution || !self.takes_environment(span) {
                    self.text_of(
                        &args[skip..],
                        self.shell,
                        "`eval` is given computed text",
                        span,
                    );
                }
            }
            "." | "source" => {
                self.emit(words, span, facts, Role::Plain);
                // Without a file it is an error in every shell.
                if let Some(file) = first {
                    self.source(file, &args[1..], span);
                    if !is_of_user(file) {
                        self.forget_state();
                    }
                }
            }
            "trap" => {
                self.emit(words, span, facts, Role::Plain);
                let action = args.iter().find(|word| word.text != "--");
                match action {
                    Some(word)
                        if word.as_constant().is_some_and(|text| {
                            text.starts_with('-') && !text.contains(' ') || text.is_empty()
                        }) => {}
                    Some(word) => {
                        if let Some(trap) = self.script.commands.last_mut() {
                            trap.shell_text = true;
                        }
                        self.at_any_time(Later::Text(word.clone(), self.shell, span.clone()));
                    }
                    None => {}
                }
            }
            "alias" => {
                self.emit(words, span, facts, Role::Plain);
                for word in args {
                    let text = word.text.as_str();
                    let Some((name, value)) = text.split_once('=') else {
                        let is_other = self.shell == Shell::Other;
                        // To bash that is an error, and to dash a name.
                        if text == "-g" && self.shell.is_bash_or_dash() {
                            continue;
                        }
                        if is_other
                            || text.starts_with('-') && text != "-p"
                            || word.as_constant().is_none()
                        {
                            self.gap("an alias changes what later words mean", span);
                        }
                        continue;
                    };
                    let plain = name.bytes().all(|byte| {
                        byte.is_ascii_alphanumeric()
                            || matches!(byte, b'_' | b'-' | b'.' | b':' | b'+' | b'%' | b'@')
                    });
                    if !plain || name.is_empty() || grammar::is_keyword(name) {
                        self.gap("an alias changes what later words mean", span);
                    }
                    self.variables.redefine(name);
                    self.named.push((
                        name.to_string(),
                        word.as_constant().map(|_| value.to_string()),
                    ));
                }
            }
            "hash" | "enable" | "bind" | "complete" | "compgen" | "compopt" | "fc" => {
                self.emit(words, span, facts, Role::Plain);
                let is = |word: &Word, all: &str| all.split(' ').any(|it| it == word.text);
                let known =
                    |word: &Word, test: &dyn Fn(&str) -> bool| word.as_constant().is_some_and(test);
                let harmless = match name {
                    "compgen" => args
                        .iter()
                        .all(|word| is(word, "-c -b -a -k -A -u -g function")),
                    // `fc -l -20` only lists; without `-l`, `fc` runs a command again.
                    "fc" => {
                        let is_place = |it: &str| is_number(it.trim_start_matches('-'));
                        first.is_some_and(|word| word.text == "-l")
                            && args[1..].iter().all(|it| known(it, &is_place))
                    }
                    _ if args.iter().all(|word| is(word, "-r -l -c -v --")) => true,
                    "bind" => args.iter().all(|word| {
                        word.as_constant_path()
                            .is_some_and(|text| !(text.starts_with('-') && text.contains('x')))
                    }),
                    "hash" => args
                        .iter()
                        .all(|it| known(it, &|it| !it.starts_with('-') && !it.contains('='))),
                    _ => false,
                };
                if !harmless {
                    self.gap("a builtin that changes what later words mean", span);
                }
            }
            "start-stop-daemon" | "zargs" => {
                self.emit(words, span, facts, Role::Plain);
                self.gap("a program that starts another one", span);
            }
            "set" => self.set(words, span, facts),
            "shopt" => {
                self.emit(words, span, facts, Role::Plain);
                self.odd_directories = true;
                self.nulls_patterns |= args.iter().any(|word| word.text == "nullglob");
                self.may_skip |= args.iter().any(|word| word.text == "failglob");
                self.globs.hidden |= args.iter().any(|word| word.text == "dotglob");
                self.globs.caseless |= args.iter().any(|word| word.text == "nocaseglob");
                if args.iter().any(|word| {
                    matches!(word.openness, Openness::Computed(..))
                        || matches!(
                            word.text.as_str(),
                            "-o" | "-so" | "-os" | "nocaseglob" | "xpg_echo"
                        )
                }) {
                    self.gap("an option that changes how the shell reads", span);
                }
            }
            "mapfile" | "readarray" => {
                self.emit(words, span, facts, Role::Plain);
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
                        let text = [text];
                        self.repeatedly(|this| {
                            this.text_of(
                                &text,
                                this.shell,
                                "`mapfile` is given computed text",
                                span,
                            );
                        });
                    }
                }
                self.guard_subscripts(args, span);
                self.beside(SETS_VARIABLES, span);
                self.may_set(args);
                self.sets_all(args, "", span);
            }
            "jobs" if first.is_some_and(|word| word.text == "-x") => {
                self.emit(words, span, facts, Role::Plain);
                self.run(&args[1..], span, facts);
            }
            "let" | "declare" | "typeset" | "local" | "export" | "readonly" | "read" | "unset"
            | "wait" | "test" | "[" | "printf" | "getopts" => {
                self.emit(words, span, facts, Role::Plain);
                match prompt_of_read(name, args).filter(|_| self.shell != Shell::Zsh) {
                    Some(at) => {
                        self.guard_subscripts(&args[..at], span);
                        self.guard_subscripts(&args[at + 1..], span);
                    }
                    None => self.guard_subscripts(args, span),
                }
                self.declares(name, args, span);
                if name == "printf" || name == "test" || name == "[" {
                    self.mark_data(facts);
                }
            }
            "integer" | "float" if self.shell != Shell::Posix => {
                self.emit(words, span, facts, Role::Plain);
                self.beside(SETS_VARIABLES, span);
                args.iter()
                    .for_each(|word| self.variables.set_number(&word.text));
            }
            "cd" | "chdir" | "pushd" | "popd" => {
                self.emit(words, span, facts, Role::Plain);
                self.change_directory(name, args);
            }
            "shift" => {
                self.emit(words, span, facts, Role::Plain);
                self.mark_data(facts);
                self.positional
                    .iter_mut()
                    .for_each(|given| given.shifted = true);
                // Zsh shifts arrays, too.
                args.iter()
                    .for_each(|word| self.variables.set_by_builtin(&word.text));
            }
            "exit" | "return" | "break" | "continue" | "true" | "false" | ":" => {
                self.emit(words, span, facts, Role::Plain);
                self.mark_data(facts);
                if matches!(name, "return" | "break" | "continue") {
                    self.leaves();
                }
            }
            _ => return false,
        }
        true
    }

    /// Whether what the builtin is given was printed by a program for that; then it is delegated to
    /// it.
    fn takes_environment(&mut self, span: &Span) -> bool {
        let takes = self
            .script
            .commands
            .iter()
            .rev()
            .nth(1)
            .is_some_and(|it| running::prints_settings(&it.words));
        if takes {
            self.beside(SETS_VARIABLES, span);
            self.unseen("a program says what the shell sets", span);
        }
        takes
    }

    /// A builtin may set the variables that its words name, to anything. Where it is known
    /// beforehand what it sets, what it sets that to is known better.
    fn may_set(&mut self, names: &[Word]) {
        if !self.is_told {
            names
                .iter()
                .for_each(|word| self.variables.set_by_builtin(&word.text));
        }
        // `unset x_*`: files may have such names.
        if names
            .iter()
            .any(|word| matches!(word.openness, Openness::Files(_)))
        {
            self.variables.any = true;
            self.set_names.unset_all();
        }
    }

    /// A builtin sets the variables that its words name.
    fn sets_all(&mut self, names: &[Word], value: &str, span: &Span) {
        for name in names.iter().filter(|name| is_variable(&name.text)) {
            self.sets(&name.text, value, span);
        }
    }

    /// Words that are joined and read as shell text.
    pub(super) fn text_of(&mut self, words: &[Word], shell: Shell, why: &'static str, span: &Span) {
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
                    self.beside(COMPLETED, span);
                    text.push_str(&as_operand(&word.text))
                }
                _ => constant = false,
            }
        }
        if constant {
            self.nested(&text, shell, span);
            if words
                .iter()
                .any(|word| matches!(word.openness, Openness::Operand(_)))
            {
                // `$1` of this shell is another one than that of the text.
                if let Some(text) = with_callers_words(&text) {
                    self.nested(&text, shell, span);
                }
                // In quotes of the text, what stands for an expansion of this shell would be a text
                // of its own.
                if text.contains('\'') {
                    self.nested(&without_expansions(&text), shell, span);
                }
            }
        } else {
            // Where its open places are operands, it can be read all the same.
            words.iter().for_each(|word| self.text(&word.text, span));
            self.gap_of_code(why, span);
        }
    }

    fn source(&mut self, file: &Word, args: &[Word], span: &Span) {
        if file.text.starts_with("/dev/fd/") || matches!(file.text.as_str(), "/dev/stdin" | "-") {
            return match self.device_input(&file.text) {
                Some(Input::Text(text)) => self.sourced(&text, args, span),
                // `source <(kubectl completion bash)`
                _ if self.takes_environment(span) => {}
                _ => self.gap_of_code("`source` is given computed text", span),
            };
        }
        self.runs_file(file, args.len(), span);
        match file.as_constant() {
            Some(path) => {
                let path = path.to_string();
                if !self.started(&path, args, span, By::Source) {
                    self.unseen("a script runs that the text doesn't show", span);
                }
            }
            None if self.has_written(&file.text) => {
                self.started(&file.text, args, span, By::Source);
            }
            None if matches!(file.openness, Openness::Operand(_)) || file.home => {
                self.unseen("a script runs that the text doesn't show", span);
            }
            None => self.gap("`source` is given a computed file", span),
        }
    }

    /// A text that is sourced has what its caller has, unless it is given something. To dash that
    /// is nothing.
    fn sourced(&mut self, text: &str, args: &[Word], span: &Span) {
        let has_own: &[bool] = match self.shell {
            _ if args.is_empty() => &[false],
            Shell::Posix => &[false],
            Shell::Unknown => &[true, false],
            Shell::Bash | Shell::Zsh | Shell::Other => &[true],
        };
        self.either(has_own, |this, has_own| {
            if !has_own {
                return this.nested(text, this.shell, span);
            }
            // To bash, what it sets itself stays.
            let sets = this.giving(args, |this| this.nested(text, this.shell, span));
            if sets {
                this.positional = Some(Passed::unknown());
            }
        });
    }

    /// A file is run as a script, which is given so many of its command's last words.
    pub(super) fn runs_file(&mut self, file: &Word, n_args: usize, span: &Span) {
        if self.script.run_files.len() > MAX_COMMANDS {
            return self.gap(TOO_LARGE, span);
        }
        self.script.run_files.push(RunFile {
            file: file.clone(),
            n_args,
            span: self.at(span),
            directories: self.directories.clone(),
            relinked: self.relinked,
        });
    }

    /// A script that the text doesn't show, to be looked into where it is at hand.
    pub(super) fn keep_script(&mut self, path: &str) {
        const MOST: usize = 32;
        if self.script.scripts.len() >= MOST {
            return;
        }
        self.script.scripts.push(path.to_string());
        if matches!(self.directories, Directories::Some(_)) && !path.starts_with(['/', '~']) {
            let places = self.directories.all().filter(|it| !it.is_empty());
            self.script
                .moved_scripts
                .extend(places.map(|it| format!("{}/{path}", it.trim_end_matches('/'))));
        }
    }

    /// A file is run with arguments: text that the same text wrote into it is read. Whether that is
    /// all that it can be.
    pub(super) fn started(&mut self, path: &str, args: &[Word], span: &Span, by: By) -> bool {
        let name = base_name(path);
        let mut texts: Vec<Option<Rc<str>>> = Vec::new();
        for file in self.files.iter().filter(|file| file.may_be(name)) {
            texts.push(file.content.clone());
        }
        if self.files.len() > MAX_FILES {
            texts.push(None);
        }
        if texts.is_empty() {
            let at = self.at(span);
            if self.awaited.len() < MAX_FILES {
                self.awaited.push(Awaited {
                    path: path.to_string(),
                    args: args.to_vec(),
                    by,
                    at,
                });
            }
            self.keep_script(path);
        }
        let mut is_read = !texts.is_empty();
        for text in texts {
            let Some(text) = text else {
                self.gap_of_code("it runs a file that it has written itself", span);
                continue;
            };
            let interpreter = interpreter_of(&text);
            let name = interpreter
                .as_ref()
                .and_then(|words| words.first())
                .map(|word| base_name(&word.text));
            let is_plain = interpreter.is_none();
            let shell = match (by, name) {
                (By::Source, _) => Some(self.shell),
                (By::Shell(shell), _) => Some(shell),
                (By::Itself, None) => is_plain.then_some(Shell::Unknown),
                (By::Itself, Some(name)) => programs::is_shell(name).then(|| Shell::named(name)),
            };
            if let Some(shell) = shell {
                match by {
                    By::Source => self.sourced(&text, args, span),
                    By::Shell(_) | By::Itself => self.nested_with(&text, args, shell, span),
                }
                self.read_texts.push(text);
                continue;
            }
            is_read = false;
            let is_program = name.is_some_and(|name| !programs::is_interpreter(name));
            if let Some(words) = interpreter.filter(|_| is_program) {
                let script = std::iter::once(Word::constant(path));
                let words: Vec<Word> = words
                    .into_iter()
                    .chain(script)
                    .chain(args.iter().cloned())
                    .collect();
                self.run(&words, span, &Facts::default());
            }
        }
        is_read
    }

    fn set(&mut self, words: &[Word], span: &Span, facts: &Facts) {
        self.emit(words, span, facts, Role::Plain);
        let mut at = 1;
        while let Some(word) = words.get(at) {
            let Some(option) = word.as_constant() else {
                if !word.beginning().is_empty() && !word.beginning().starts_with(['-', '+'])
                    || matches!(word.openness, Openness::Operand(0))
                {
                    self.positional = Some(self.passed(&words[at..]));
                    return;
                }
                return self.gap("`set` is given what is computed", span);
            };
            // `set -` takes nothing away.
            if option == "-" && words.len() == at + 1 {
                return;
            }
            if option == "--" || option == "-" || !option.starts_with(['-', '+']) {
                let rest = if option.starts_with('-') { at + 1 } else { at };
                self.positional = Some(self.passed(&words[rest..]));
                return;
            }
            let names_it = words
                .get(at + 1)
                .is_some_and(|word| word.text == "allexport");
            if option.contains('a') || option.ends_with('o') && names_it {
                self.set_names.export_all(option.starts_with('-'));
            }
            for letter in option.chars().skip(1) {
                self.odd_directories |= letter == 'P';
                match letter {
                    'o' => {
                        at += 1;
                        let named = words.get(at).and_then(Word::as_constant);
                        self.odd_directories |= named == Some("physical");
                        let keeps_none = option.starts_with('+') && named == Some("history");
                        let plain = keeps_none || named.is_none_or(|name| PLAIN_OPTIONS.has(name));
                        if !plain {
                            return self.gap("an option that changes how the shell reads", span);
                        }
                    }
                    'e' | 'u' | 'x' | 'v' | 'f' | 'C' | 'a' | 'b' | 'h' | 'm' | 'E' | 'T' | 'P'
                    | 'B' | 'H' => {}
                    _ => return self.gap("an option that changes how the shell reads", span),
                }
            }
            at += 1;
        }
    }

    /// Arithmetic expands a subscript again, so text that looks like one with a substitution may
    /// run.
    fn guard_subscripts(&mut self, args: &[Word], span: &Span) {
        // `test -v "$x"`: a variable of that name.
        let names = args.iter().any(|word| word.text.starts_with("-v"));
        let is_name = |word: &Word| match word.openness {
            Openness::Constant => false,
            Openness::Computed(..) => self.variables.any || names,
            Openness::Operand(_) | Openness::Files(_) => self.variables.any,
        };
        let any = self.variables.brackets && args.iter().any(is_name);
        if any || args.iter().any(|word| looks_expandable(&word.text)) {
            self.gap("text that arithmetic may expand again", span);
        }
        // `unset x[n]`
        let subscripts = args.iter().filter_map(|word| word.text.split_once('['));
        subscripts.for_each(|(_, subscript)| self.check_subscript(subscript, span));
    }

    fn declares(&mut self, name: &str, args: &[Word], span: &Span) {
        let numbers = name == "let"
            || (matches!(
                name,
                "declare" | "typeset" | "local" | "readonly" | "export"
            ) && args
                .iter()
                .any(|word| word.text.starts_with('-') && word.text.contains(['i', 'n'])));
        if numbers
            && (self.variables.brackets
                || name == "let" && args.iter().any(|word| word.openness != Openness::Constant))
        {
            self.gap("text that arithmetic may expand again", span);
        }
        let is_own = |word: &Word| {
            word.as_constant()
                .is_some_and(|it| it == "-r" || is_own_name(it, self.shell))
        };
        let is_plain = |word: &Word| word.as_constant().is_some_and(running::is_plain_export);
        if name == "let"
            || matches!(
                name,
                "declare" | "typeset" | "local" | "readonly" | "unset" | "getopts"
            )
            || name == "export" && !args.iter().all(is_plain)
            || name == "read" && !args.iter().all(is_own)
        {
            self.beside(SETS_VARIABLES, span);
        }
        // `printf -v PATH`, `wait -p PATH`: one whose first word is computed may have the option.
        let names_variable = match name {
            "printf" => args
                .first()
                .is_some_and(|word| word.text.starts_with("-v") || begins_computed(word)),
            "wait" => args
                .iter()
                .any(|word| word.text.starts_with('-') && word.text.contains('p')),
            _ => false,
        };
        if names_variable {
            self.beside(SETS_VARIABLES, span);
        }
        let (variables, text): (&[Word], &[Word]) = match (name, args) {
            ("read" | "getopts", _) => (args, &[]),
            ("printf", [option, variable, text @ ..]) if option.text == "-v" => {
                (std::slice::from_ref(variable), text)
            }
            ("printf", [option, text @ ..]) if option.text.starts_with("-v") => {
                (&[tail(option, 2)], text)
            }
            _ => (&[], &[]),
        };
        self.sets_known(name, variables, text);
        let text: Vec<&str> = text.iter().map(|word| word.text.as_str()).collect();
        self.sets_all(variables, &text.join(" "), span);
        let may_set = match name {
            "read" | "getopts" | "unset" | "let" | "wait" => args,
            _ => variables,
        };
        self.may_set(may_set);
        self.text(&text.join(" "), span);
        if !matches!(
            name,
            "declare" | "typeset" | "local" | "export" | "readonly"
        ) {
            return;
        }
        // Other names for a variable, or other letters in its value.
        let changes_meaning = |word: &Word| {
            !word.assigned
                && word.text.starts_with('-')
                && word.text.contains(['n', 'l', 'u', 'c', 'T'])
        };
        if matches!(name, "declare" | "typeset" | "local") && args.iter().any(changes_meaning) {
            self.gap("a declaration that changes what a variable means", span);
        }
        let attributes: String = args
            .iter()
            .filter_map(|word| word.text.strip_prefix('-'))
            .collect();
        if name == "readonly" || attributes.contains('r') {
            for name in args
                .iter()
                .filter_map(|word| word.text.split('=').next())
                .filter(|name| is_variable(name))
            {
                self.read_only.insert(name.to_string());
            }
        }
        for word in args.iter().filter(|word| word.is_constant()) {
            // A name without a value isn't set in a function. What is an integer is a number.
            if name != "export" && name != "readonly" && !word.text.contains('=') {
                self.variables.set_empty(&word.text);
            }
            if let Some((name, value)) = word
                .text
                .split_once('=')
                .filter(|_| attributes.contains(['l', 'u']))
            {
                let changed = if attributes.contains('l') {
                    value.to_ascii_lowercase()
                } else {
                    value.to_ascii_uppercase()
                };
                self.variables
                    .set_word(name, &Word::constant(changed), false);
            }
            // It is another name for a variable.
            if name != "export" && attributes.contains('n') {
                self.variables.set_by_builtin(&word.text);
            }
            if attributes.contains(['i', 'L', 'R', 'Z', 'E', 'F']) {
                self.variables
                    .set_number(word.text.split('=').next().unwrap_or_default());
            }
        }
        if name == "export" && attributes.contains('n') {
            self.set_names.export_none();
        }
        let exports = name == "export" && !attributes.contains('n')
            || args
                .iter()
                .any(|word| word.text.starts_with('-') && word.text.contains('x'));
        for name in args
            .iter()
            .filter_map(|word| word.text.split('=').next())
            .filter(|_| exports)
        {
            self.set_names.export(name);
        }
        for word in args {
            // `export $(cat .env | xargs)`: what a file says that the text doesn't show, and no
            // name that runs anything.
            if name == "export" && begins_open(word) {
                self.unseen("variables are set by what the text doesn't show", span);
                continue;
            }
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
            if !word.assigned {
                self.gap("a declaration that is quoted or made by an expansion", span);
            }
        }
    }

    /// What `read` and `printf -v` set variables to, where the text says so.
    fn sets_known(&mut self, name: &str, variables: &[Word], text: &[Word]) {
        const MOST_LINES: usize = 4;
        match (name, variables) {
            ("printf", [variable]) => {
                let words: Option<Vec<&str>> = text.iter().map(Word::as_constant).collect();
                let words = words.map(|words| [&["printf"], &*words].concat());
                if let Some(value) = words.and_then(|words| output::printed(&words, self.shell)) {
                    self.variables
                        .set_word(&variable.text, &Word::constant(value), false);
                }
            }
            ("read", _) => {
                let Input::Text(read) = self.input.clone() else {
                    return;
                };
                let is_name = |word: &&Word| word.as_constant().is_some_and(is_variable);
                let names: Vec<&Word> = variables.iter().filter(is_name).collect();
                let separators = match self.variables.values("IFS").as_slice() {
                    [] => " \t".to_string(),
                    [value] if value.openness == Openness::Constant => value.text.to_string(),
                    _ => return,
                };
                for line in read.lines().take(MOST_LINES) {
                    let mut rest =
                        line.trim_matches(|c: char| c.is_whitespace() && separators.contains(c));
                    for (at, name) in names.iter().enumerate() {
                        let is_last = at + 1 == names.len();
                        let (field, behind) = rest
                            .split_once(|c| separators.contains(c))
                            .unwrap_or((rest, ""));
                        let value = if is_last { rest } else { field };
                        self.variables
                            .set_word(&name.text, &Word::constant(value), false);
                        rest = behind.trim_start_matches(|c: char| {
                            c.is_whitespace() && separators.contains(c)
                        });
                    }
                }
            }
            _ => {}
        }
    }

    /// Whether a word is all of a directory's name. In a text for another shell these signs may
    /// stand for what only the run tells, in quotes too.
    fn tells_directory(&self, word: &Word) -> bool {
        word.openness == Openness::Constant
            && (self.place.is_none() || !word.text.contains(['$', '`', '…']))
    }

    /// Where `cd` without a word leads.
    fn home_directories(&self) -> Directories {
        let mut homes = self
            .values_here("HOME")
            .into_iter()
            .map(|home| match home.openness {
                Openness::Constant if home.text.starts_with('/') => {
                    self.directories.changed(&home.text)
                }
                _ => Directories::Unknown,
            });
        let Some(mut all) = homes.next() else {
            return self.directories.changed("~");
        };
        homes.for_each(|home| all.join(&home));
        all
    }

    /// Where a relative path of `cd` may lead that is looked for in the directories of CDPATH.
    fn below_cdpath(&self, path: &Word) -> Vec<Word> {
        const MOST: usize = 4;
        let mut all = vec![path.clone()];
        for value in self.values_here("CDPATH") {
            match value.openness {
                Openness::Constant => {
                    let places = value
                        .text
                        .split(':')
                        .filter(|place| !place.is_empty())
                        .take(MOST);
                    all.extend(places.map(|place| Word::constant(place).holding(path)));
                }
                _ => all.push(Word::from(value).holding(path)),
            }
        }
        all
    }

    fn change_directory(&mut self, name: &str, args: &[Word]) {
        let odd = self.odd_directories
            || ["CDPATH", "cdpath"]
                .iter()
                .any(|it| self.variables.is_set(it));
        let operands = match args {
            [first, rest @ ..] if first.text == "--" => rest,
            args => args,
        };
        self.has_moved = true;
        if self.is_anywhere {
            return;
        }
        let before = self.directories.clone();
        self.directories = match operands {
            [word]
                if name != "popd"
                    && self.tells_directory(word)
                    && !word.text.starts_with(['-', '+', '~']) =>
            {
                let path = word.path();
                // These are looked for nowhere else.
                let is_plain = ["/", "~", "./", "../"]
                    .iter()
                    .any(|it| path.starts_with(it));
                match odd && !is_plain && path != ".." {
                    true => self.directories.named(&self.below_cdpath(word)),
                    false => self.directories.changed(&path),
                }
            }
            [word] if name != "popd" && word.text == "-" => {
                let known = self
                    .values_here("OLDPWD")
                    .into_iter()
                    .filter(|_| self.variables.is_set("OLDPWD"));
                let words: Vec<Word> = known.map(Word::from).collect();
                self.directories.named(&words)
            }
            [word] if name != "popd" && !word.text.starts_with(['-', '+', '~']) => self
                .directories
                .named(&[word.with_directory().unwrap_or_else(|| word.clone())]),
            [] if matches!(name, "cd" | "chdir") => self.home_directories(),
            _ => Directories::Unknown,
        };
        if self.may_skip {
            self.directories.join(&before);
        }
    }
}
