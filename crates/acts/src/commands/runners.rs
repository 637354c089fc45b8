//! Programs that run others: shells, interpreters, wrappers, and options that are commands.

use super::super::expand::{Openness, Word, join};
use super::super::programs::files::{Kind, Uses};
use super::super::programs::options::Takes;
use super::super::programs::parsed::{Given, Item};
use super::super::programs::running::{self, ShellWords};
use super::super::programs::{self, Does, Known, Names, Parsed, Wrapper};
use super::super::word::{behind_expansions, without_expansions};
use super::super::{Command, Role, Shell, Span, grammar};
use super::expansion::as_operand;
use super::xargs::{Ends, with_item};
use super::{By, COMPLETED, Directories, Facts, Input, Passed, TOO_LARGE, Walk, base_name, tail};
use compact_str::format_compact;

/// Files that shells read before what they are given.
static READ_FIRST: Names = Names::new("read-first");

impl Walk {
    pub(super) fn shell(&mut self, name: &str, words: &[Word], span: &Span, facts: &Facts) {
        self.emit(words, span, facts, Role::Plain);
        let emitted = self.script.commands.len() - 1;
        let shell = match Shell::named(name) {
            Shell::Unknown => Shell::Other,
            shell => shell,
        };
        if running::only_looks(words) {
            return;
        }
        if matches!(name, "pwsh" | "powershell") {
            return self.powershell(name, words, span);
        }
        self.text_options(&programs::known(name), words, span);
        let ShellWords {
            command,
            from_input,
            reads_first,
            at,
        } = match running::words_of_shell(words) {
            Ok(Some(words)) => words,
            Ok(None) => return,
            Err(why) => return self.gap_of_code(why, span),
        };
        if let Some(first) = reads_first {
            self.beside("a shell that reads a file first", span);
            if let Some(file) = words.get(first) {
                self.script(file, &[], shell, span);
            }
        }
        if let Some(command) = self.script.commands.get_mut(emitted) {
            command.shell_text = true;
        }
        let rest = words.get(at..).unwrap_or_default();
        // What it reads first: `ENV` may name any file.
        let mut files: Vec<String> = READ_FIRST.words().map(String::from).collect();
        files.extend(
            self.variables
                .values("ENV")
                .into_iter()
                .map(|value| value.text.into()),
        );
        for name in files {
            if self.files.iter().any(|file| file.name == base_name(&name)) {
                self.started(&name, &[Word::computed()], span, By::Shell(shell));
            }
        }
        let is_shown = match rest.first() {
            Some(word) if command => {
                // Where `$0` becomes several words, they are its arguments too.
                let has_more = rest.get(1).is_some_and(Word::spreads);
                let arguments = rest.get(if has_more { 1 } else { 2 }..).unwrap_or_default();
                let outer = (
                    self.positional.replace(Passed::new(arguments)),
                    std::mem::replace(&mut self.zero, rest.get(1).cloned()),
                );
                self.text_of(
                    std::slice::from_ref(word),
                    shell,
                    "a shell is given computed text",
                    span,
                );
                (self.positional, self.zero) = outer;
                true
            }
            None if command => false,
            Some(script) if !from_input => {
                // A script may run its arguments.
                self.script.commands[emitted].runs_words = true;
                self.script(script, &rest[1..], shell, span)
            }
            _ => {
                let outer = self.positional.replace(Passed::new(rest));
                let is_shown = self.input_text(shell, span);
                self.positional = outer;
                is_shown
            }
        };
        if is_shown && (words[0].text == name || programs::is_system_path(&words[0].text)) {
            self.script.commands[emitted].role = Role::Transparent;
        }
    }

    /// PowerShell: its options are words in any letters, cut short, and what follows `-Command` is
    /// one text.
    fn powershell(&mut self, name: &str, words: &[Word], span: &Span) {
        let mut at = 1;
        while let Some(word) = words.get(at) {
            let option = word.beginning().to_ascii_lowercase();
            let option = option
                .strip_prefix(['-', '/'])
                .filter(|option| !option.is_empty());
            let begins = |long: &str| {
                option.is_some_and(|option| long.starts_with(option.trim_start_matches('-')))
            };
            at += 1;
            match option {
                _ if begins("command") => {
                    return self.text_for_shell(
                        &words[at..],
                        Shell::Other,
                        "a shell is given computed text",
                        span,
                    );
                }
                // Only of Windows' own a bare word begins a text.
                None if name == "powershell" => {
                    return self.text_for_shell(
                        &words[at - 1..],
                        Shell::Other,
                        "a shell is given computed text",
                        span,
                    );
                }
                None | Some("f" | "fi" | "fil" | "file") => {
                    let script = if option.is_none() {
                        word
                    } else {
                        words.get(at).unwrap_or(word)
                    };
                    self.script(
                        script,
                        words.get(at..).unwrap_or_default(),
                        Shell::Other,
                        span,
                    );
                    return;
                }
                Some(
                    "executionpolicy" | "ex" | "ep" | "version" | "windowstyle" | "w"
                    | "workingdirectory" | "wd",
                ) => at += 1,
                _ if [
                    "noprofile",
                    "nologo",
                    "noninteractive",
                    "noexit",
                    "mta",
                    "sta",
                    "login",
                ]
                .iter()
                .any(|it| begins(it)) => {}
                Some(_) => return self.gap("an unknown option of a shell", span),
            }
        }
        self.input_text(Shell::Other, span);
    }

    /// A script that a shell is given; whether the text shows all that it does.
    pub(super) fn script(
        &mut self,
        script: &Word,
        args: &[Word],
        shell: Shell,
        span: &Span,
    ) -> bool {
        let path = script.text.replace("/./", "/").replace("//", "/");
        if ["/dev/stdin", "/dev/fd/", "/proc/"]
            .iter()
            .any(|start| path.starts_with(start))
        {
            match self.device_input(&path) {
                Some(Input::Text(text)) => {
                    self.nested_with(&text, args, shell, span);
                    return true;
                }
                _ => self.gap_of_code("a shell is given computed text", span),
            };
            return false;
        }
        self.runs_file(script, args.len(), span);
        match script.as_constant() {
            Some(path) => {
                let path = path.to_string();
                if self.started(&path, args, span, By::Shell(shell)) {
                    return true;
                }
                self.unseen("a script runs that the text doesn't show", span);
            }
            None if self.has_written(&script.text) => {
                return self.started(&script.text, args, span, By::Shell(shell));
            }
            None if matches!(script.openness, Openness::Computed(0, _)) => {
                self.gap("a shell is given a computed script", span)
            }
            None => {
                self.keep_pattern(script);
                self.unseen("a script runs that the text doesn't show", span);
            }
        }
        false
    }

    /// `bash *.sh`, `bash s$x.sh`: the files at hand that it names are looked into.
    fn keep_pattern(&mut self, script: &Word) {
        let pattern = without_expansions(&script.text);
        if matches!(script.openness, Openness::Files(_) | Openness::Operand(_))
            && !pattern.is_empty()
        {
            self.keep_script(&pattern);
        }
    }

    /// What is read from `/dev/stdin`, `/dev/fd/3` and the like.
    pub(super) fn device_input(&self, path: &str) -> Option<Input> {
        if path == "/dev/fd/…" {
            return self.process.clone();
        }
        match path.rsplit('/').next().unwrap_or_default() {
            "stdin" | "-" => Some(self.input.clone()),
            number => number.parse().ok().map(|number| self.open_under(number)),
        }
    }

    /// A shell that reads its commands from its input; whether the text shows them.
    fn input_text(&mut self, shell: Shell, span: &Span) -> bool {
        match self.input.clone() {
            Input::Text(text) => {
                self.own_text(&text, shell, span);
                self.read_texts.push(text);
                return true;
            }
            Input::Completed(text) => {
                self.beside(COMPLETED, span);
                self.own_text(&text, shell, span);
                return true;
            }
            Input::Outer => self.unseen("a shell reads what it is given", span),
            Input::File(path) => {
                let n_args = self
                    .positional
                    .as_ref()
                    .map_or(0, |given| given.words.len());
                self.runs_file(&Word::path_of(&path), n_args, span);
                if self.started(&path, &[], span, By::Shell(shell)) {
                    return true;
                }
                self.unseen("a script runs that the text doesn't show", span);
            }
            Input::Operands | Input::Found(_) | Input::Computed => {
                self.gap_of_code("a shell reads computed text", span)
            }
            Input::OwnText | Input::Rest => self.gap("a shell reads computed text", span),
        }
        false
    }

    /// A text that a shell reads from its input, where its commands read, too.
    fn own_text(&mut self, text: &str, shell: Shell, span: &Span) {
        self.input = Input::OwnText;
        self.nested(text, shell, span);
        self.input = Input::Rest;
    }

    pub(super) fn interpreter(&mut self, name: &str, words: &[Word], span: &Span, facts: &Facts) {
        self.emit(words, span, facts, Role::Plain);
        let code = match (words.get(1..).unwrap_or_default(), &self.input) {
            ([option, code], _) if matches!(option.text.as_str(), "-c" | "-e") => {
                code.as_constant()
            }
            ([], Input::Text(text)) => Some(&**text),
            ([dash], Input::Text(text)) if dash.text == "-" => Some(&**text),
            _ => None,
        };
        // A module of that name beside it would be another one.
        let is_inert = code.is_some_and(|code| programs::inline::starts_nothing(name, code))
            && !self
                .files
                .iter()
                .any(|file| file.name.ends_with(".py") || file.name == "*");
        if is_inert {
            return self.delegates("an interpreter runs code", span);
        }
        self.runs_words();
        self.unseen("an interpreter runs code", span);
        self.code_of_input(name, words, span);
        // `python -m pip` is pip.
        if let Some(module) = programs::python_module(words) {
            self.emit(&module, span, facts, Role::Plain);
            self.runs_words();
        }
        let script = words
            .iter()
            .skip(1)
            .position(|word| !word.text.starts_with('-'))
            .map(|at| at + 1);
        // `node npm-cli.js publish`, `deno run npm:npm publish`: nothing that isn't known starts
        // with these.
        let is_run = script.is_some_and(|at| words[at].text == "run");
        let program = script.map(|at| at + usize::from(is_run)).and_then(|at| {
            let at = at
                + words[at..]
                    .iter()
                    .take_while(|word| is_run && word.text.starts_with('-'))
                    .count();
            let text = &words.get(at)?.text;
            let package = text
                .strip_prefix("npm:")
                .map(|it| it.split('@').next().unwrap_or(it));
            let program = package.or_else(|| programs::program_of_file(base_name(text)))?;
            Some(Word::constant(program).before(&words[at + 1..]))
        });
        if let Some(program) = program {
            self.run(&program, span, &Facts::default());
        }
        if let Some(at) = running::script_of_interpreter(name, words) {
            self.runs_file(&words[at], words.len() - at - 1, span);
        }
        match script.map(|at| &words[at]) {
            Some(word) => {
                self.keep_pattern(word);
                if let Some(path) = word.as_constant()
                    && !path.contains(['\n', ' ', '(', ';'])
                {
                    self.keep_script(path);
                }
            }
            None => match self.input.clone() {
                Input::Text(text) => self.text(&text, span),
                Input::Computed if is_decoded(&self.script.commands, name) => {
                    self.gap("an interpreter reads text that is decoded", span);
                }
                _ => {}
            },
        }
    }

    /// `curl U | python3 -c 'os.system(sys.stdin.read())'`: what inline code reads from its input
    /// is a text for a shell.
    fn code_of_input(&mut self, name: &str, words: &[Word], span: &Span) {
        if matches!(self.input, Input::Outer | Input::OwnText | Input::Rest) {
            return;
        }
        let is_each_line = |option: &str| {
            matches!(name, "perl" | "ruby")
                && !option.starts_with("--")
                && option.contains(['n', 'p'])
        };
        let mut options = words
            .iter()
            .skip(1)
            .map(|word| word.beginning())
            .take_while(|it| it.starts_with('-'));
        let reads_lines = options.any(is_each_line);
        let uses = Uses::of(words);
        let code = uses.words.iter().filter(|it| it.kind == Kind::Code);
        if !code
            .into_iter()
            .any(|it| programs::inline::runs_what_it_reads(name, &it.word.text, reads_lines))
        {
            return;
        }
        if let Some(last) = self.script.commands.last_mut() {
            last.builds_code = true;
        }
        match self.input.clone() {
            Input::Text(text) | Input::Completed(text) => {
                self.in_another_shell(|this| this.nested(&text, Shell::Posix, span));
            }
            Input::File(path) => self.keep_script(&path),
            _ => {}
        }
    }

    pub(super) fn awk(&mut self, name: &str, words: &[Word], span: &Span, facts: &Facts) {
        self.emit(words, span, facts, Role::Plain);
        let computed = words[1..]
            .iter()
            .any(|word| matches!(word.openness, Openness::Computed(0, _)));
        self.runs_words();
        if let Some(row) =
            programs::options::row(if name.ends_with("sed") { "sed" } else { "gawk" })
        {
            let given = Parsed::new(&words[1..], Some(row));
            self.script
                .scripts
                .extend(given.values("-f").map(|path| path.text.to_string()));
            // What it puts into a file may be run.
            let scripts: Vec<Word> = given
                .values("-e")
                .chain(given.operand_words().take(1).cloned())
                .collect();
            scripts
                .iter()
                .filter(|_| given.has("-i"))
                .for_each(|it| self.text(written_by_sed(&it.text), span));
            // `w ./-f` makes a file.
            let makes_option = |text: &str| {
                text.contains('w') && [" -", "/-", " +", "/+"].iter().any(|it| text.contains(it))
            };
            self.makes_option |= scripts.iter().any(|script| makes_option(&script.text));
            if name.ends_with("sed") && running::script_runs_code(name, words) {
                for script in &scripts {
                    let Some(run) = run_by_sed(&script.text) else {
                        self.gap(TOO_LARGE, span);
                        continue;
                    };
                    for (text, is_command) in run {
                        // sed takes one backslash of two away, and some seds don't.
                        let taken = text
                            .contains('\\')
                            .then(|| grammar::without_backslashes(text, |_| true));
                        for text in std::iter::once(text).chain(taken.as_deref()) {
                            self.text(text, span);
                            if is_command {
                                self.in_another_shell(|this| this.nested(text, Shell::Posix, span));
                            }
                        }
                    }
                }
            }
        }
        if !computed && !running::script_runs_code(name, words) {
            self.mark_data(facts);
        } else {
            self.unseen("a program of its own is run by awk or sed", span);
            if let Some(last) = self.script.commands.last_mut() {
                last.builds_code = true;
            }
        }
    }

    /// Options whose value is a command line: it is read. Whether there are any.
    pub(super) fn text_options(
        &mut self,
        program: &Known<'_>,
        words: &[Word],
        span: &Span,
    ) -> bool {
        let mut found = false;
        for (at, skip) in programs::text_operands(program.name, words) {
            found = true;
            let text = tail(&words[at], skip);
            self.text_for_shell(
                std::slice::from_ref(&text),
                Shell::Posix,
                "an argument is computed and run",
                span,
            );
        }
        let row = program
            .any_row()
            .filter(|row| words[1..].iter().any(|it| row.may_run_code(it)));
        let Some(row) = row else { return found };
        let parsed = Parsed::new(&words[1..], Some(row));
        for item in &parsed.options {
            // `man --pag=x`: the beginning of a name, which some parsers take and others don't.
            if let Some(text) = item
                .value_of_beginning()
                .or_else(|| words.get(item.at + 2).cloned())
                && item.may_begin(Does::Command)
            {
                self.text_of_option(text, span);
                found = true;
            }
            for Given { option, value } in item.given() {
                // Behind a letter that isn't known, it isn't told whose value a word is.
                let next = || {
                    words
                        .get(item.at + 2)
                        .filter(|_| option.value == Takes::Value)
                        .cloned()
                };
                match (option.does, value.or_else(next)) {
                    (Does::Until, None) => {
                        self.run_until(&words[item.at + 2..], span);
                        return true;
                    }
                    (Does::Command | Does::Until, Some(text)) => self.text_of_option(text, span),
                    (Does::Command, None) => {}
                    _ => continue,
                }
                found = true;
            }
        }
        found
    }

    fn text_of_option(&mut self, text: Word, span: &Span) {
        let text = match text.text.strip_prefix("exec=") {
            Some(_) => tail(&text, 5),
            None => text,
        };
        if text.text.contains('/')
            && !text.text.contains(' ')
            && !programs::is_system_path(&text.text)
        {
            self.gap("an option runs a program that isn't at hand", span);
        }
        self.text_for_shell(
            &[text],
            Shell::Unknown,
            "an option's value is computed and run",
            span,
        );
    }

    /// Reads what stands behind an option, up to a `;`, with what was found.
    fn run_until(&mut self, rest: &[Word], span: &Span) {
        let end = rest
            .iter()
            .position(|word| word.text == ";")
            .unwrap_or(rest.len());
        let mut given = rest[..end].to_vec();
        let mut is_placed = false;
        for word in given.iter_mut().filter(|word| word.is_constant()) {
            if let Some(mark) = ["{}", "{/}", "{//}", "{.}", "{/.}"]
                .iter()
                .find_map(|it| word.text.find(it))
            {
                word.openness = Openness::Operand(mark);
                is_placed = true;
            }
        }
        if !is_placed {
            given.push(Word {
                openness: Openness::Operand(0),
                ..Word::constant("{}")
            });
        }
        self.run(&given, span, &Facts::default());
    }

    pub(super) fn find(&mut self, words: &[Word], span: &Span, facts: &Facts) {
        self.emit(words, span, facts, Role::Plain);
        let emitted = self.script.commands.len() - 1;
        let mut at = 1;
        let mut runs = false;
        let start = match &words[1..] {
            [start, then, ..] if then.text.starts_with('-') => start
                .as_constant()
                .filter(|start| !start.starts_with(['-', '(', '!']))
                .map(|it| it.trim_end_matches('/')),
            _ => None,
        };
        // A path that is found is one of these.
        let found: Vec<Option<Word>> = match running::found_by(words) {
            Some(found) => found.into_iter().map(Some).collect(),
            None => vec![None],
        };
        while let Some(word) = words.get(at) {
            at += 1;
            if matches!(word.openness, Openness::Computed(0, true)) || running::may_be_option(word)
            {
                self.gap("find may be given an action that is computed", span);
            }
            if !matches!(word.text.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir") {
                if word.text.starts_with("-fprint") || word.text == "-fls" {
                    runs = true;
                }
                continue;
            }
            let length = words[at..]
                .iter()
                .position(|word| word.text == ";" || word.text == "+");
            let end = at + length.unwrap_or(words.len() - at);
            let is_elsewhere = word.text.ends_with("dir");
            for found in if is_elsewhere {
                &[None]
            } else {
                found.as_slice()
            } {
                let mut slice = words[at..end].to_vec();
                for it in &mut slice {
                    if let (Some("{}"), Some(found)) = (it.as_constant(), found) {
                        it.clone_from(found);
                    } else if it.openness == Openness::Constant
                        && let Some(mark) = it.text.find("{}")
                    {
                        it.openness = Openness::Operand(mark);
                        // Every path begins as its starting point does.
                        if let Some(start) = start.filter(|_| mark == 0 && !is_elsewhere) {
                            it.openness = Openness::Operand(start.len());
                            it.text.insert_str(0, start);
                        }
                    }
                }
                let inner = Facts {
                    data: false,
                    ..facts.clone()
                };
                match is_elsewhere {
                    true => self.elsewhere(|this| this.run(&slice, span, &inner)),
                    false => self.run(&slice, span, &inner),
                }
            }
            at = end;
        }
        if runs {
            self.unseen("find writes a file", span);
        } else {
            self.script.commands[emitted].data |= facts.data;
        }
    }

    pub(super) fn parallel(&mut self, all: &[Word], span: &Span, facts: &Facts) {
        self.emit(all, span, facts, Role::Plain);
        let mark = all
            .iter()
            .position(|word| matches!(word.text.as_str(), ":::" | ":::+" | "::::"));
        let own = &all[1..mark.unwrap_or(all.len())];
        let why = "`parallel` is given computed text";
        let row = programs::options::row("parallel");
        let options = Parsed::new(own, row);
        // `parallel 'git push {}'` is the same in one word.
        let words = &own[options.operands.first().map_or(own.len(), |it| it.at)..];
        let (template, beginnings) = match words {
            [text] if text.is_constant() => (
                text.text.split_whitespace().map(Word::constant).collect(),
                1,
            ),
            words => (words.to_vec(), words.len().min(3)),
        };
        let ends = match options.values("-d").last() {
            Some(delimiter) => Ends::at(Some(&delimiter)),
            None if options.has("-0") => Ends::At('\0'),
            None => Ends::Line,
        };
        let given = match mark {
            Some(at) => all[at + 1..].to_vec(),
            None => self.read_items(options.has("-a"), ends),
        };
        self.unseen("a program runs code that the text doesn't show", span);
        if template.is_empty() {
            for value in given.iter().take(64).filter(|_| mark.is_some()) {
                self.text_for_shell(std::slice::from_ref(value), Shell::Posix, why, span);
            }
            if mark.is_none() {
                self.input_text(Shell::Posix, span);
            }
            return;
        }
        // `{1}` is one of all that it is given.
        let place = |word: &Word| {
            word.text.match_indices('{').find_map(|(at, _)| {
                let next = word.text[at + 1..].chars().next()?;
                (next == '}' || next.is_ascii_digit()).then_some((at, next == '}'))
            })
        };
        let is_place = |word: &Word| place(word).is_some();
        // An option that isn't known may take a value: every beginning is read.
        for at in (0..beginnings).filter(|at| *at == 0 || !is_place(&template[*at])) {
            for value in given.iter().take(32) {
                let value_of = |word: &Word| match (place(word), value.openness) {
                    (Some((_, true)), Openness::Constant) => with_item(word, "{}", value),
                    (Some((at, is_whole)), openness) => {
                        let openness = if is_whole {
                            openness
                        } else {
                            Openness::Computed(0, false)
                        };
                        // What stands open in the word itself stands before the place or behind it.
                        let (before, behind) = match word.openness.from() {
                            Some(from) if from < at => (word.openness, Openness::Constant),
                            _ => (Openness::Constant, word.openness.behind(0)),
                        };
                        Word {
                            text: format_compact!("{}…", &word.text[..at]),
                            openness: join(at, before, join(0, openness, behind)),
                            ..word.clone()
                        }
                    }
                    (None, _) => word.clone(),
                };
                let own = template[at..].iter().map(value_of);
                let last = (!template[at..].iter().any(is_place)).then(|| value.clone());
                let made: Vec<Word> = own.chain(last).collect();
                match made
                    .iter()
                    .all(|word| matches!(word.openness, Openness::Constant | Openness::Operand(_)))
                {
                    false => self.run(&made, span, facts),
                    true => self.text_for_shell(&made, Shell::Posix, why, span),
                }
            }
        }
    }

    pub(super) fn switch_user(&mut self, name: &str, words: &[Word], span: &Span, facts: &Facts) {
        self.emit(words, span, facts, Role::Plain);
        // `runuser -u USER -- COMMAND`: there no shell is between.
        if let ("runuser", [_, option, _, dashes, command @ ..]) = (name, words)
            && matches!(option.as_constant(), Some("-u" | "--user"))
            && dashes.text == "--"
            && !command.is_empty()
        {
            return self.run(command, span, facts);
        }
        let parsed = Parsed::new(&words[1..], programs::options::any_row(name));
        let mut given =
            matches!(name, "su" | "runuser") && self.shell_of_user(&parsed, span, facts);
        for Given { value, .. } in parsed.given().filter(|it| it.option.does == Does::Command) {
            let Some(text) = value else { continue };
            given = true;
            self.text_for_shell(
                &[text],
                Shell::Unknown,
                "a shell is given computed text",
                span,
            );
        }
        if name == "sg"
            && let Some(text) = words.get(2)
            && !given
        {
            given = true;
            self.text_for_shell(
                std::slice::from_ref(text),
                Shell::Posix,
                "a shell is given computed text",
                span,
            );
        }
        // On a Mac a command follows the file: `script -q /dev/null git push`.
        if name == "script" {
            let file = words
                .iter()
                .skip(1)
                .position(|word| !word.text.starts_with('-'));
            let command = file
                .and_then(|file| words.get(file + 2..))
                .unwrap_or_default();
            self.run(command, span, facts);
            given |= !command.is_empty();
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

    /// `su -s PROGRAM USER ARGUMENT...`: any program may stand for the shell, which is given the
    /// arguments behind the user's name. Whether one was.
    fn shell_of_user(&mut self, parsed: &Parsed, span: &Span, facts: &Facts) -> bool {
        let (shell, mut text) = (parsed.values("-s").last(), parsed.values("-c").last());
        text = text.or_else(|| parsed.values("--session-command").last());
        // Where options end with the first operand, it is the shell's.
        let first = parsed
            .operands
            .iter()
            .find(|item| item.word.text != "-")
            .map_or(usize::MAX, |item| item.at);
        let has_value = |item: &Item| item.given().iter().any(|it| it.value.is_some());
        let behind = parsed
            .options
            .iter()
            .filter(|item| item.at > first && !has_value(item));
        let mut operands: Vec<&Item> = parsed
            .operands
            .iter()
            .filter(|item| item.word.text != "-")
            .chain(behind)
            .collect();
        operands.sort_by_key(|item| item.at);
        let operands = operands.into_iter().map(|item| item.word.clone());
        let Some(shell) = shell else { return false };
        // What the shells among them are given is read by the caller.
        if text.is_some()
            && shell
                .as_constant()
                .is_some_and(|it| programs::is_shell(base_name(it)))
        {
            return false;
        }
        let text = text
            .into_iter()
            .flat_map(|text| [Word::constant("-c"), text]);
        let words: Vec<Word> = std::iter::once(shell)
            .chain(text)
            .chain(operands.skip(1))
            .collect();
        self.run(&words, span, facts);
        true
    }

    /// Reads a text that another shell is given, with no words beside it.
    pub(super) fn text_for_shell(
        &mut self,
        words: &[Word],
        shell: Shell,
        why: &'static str,
        span: &Span,
    ) {
        self.in_another_shell(|this| this.text_of(words, shell, why, span));
    }

    /// Reads what another shell runs: it isn't given what this one was.
    fn in_another_shell(&mut self, read: impl FnOnce(&mut Self)) {
        let outer = (self.positional.replace(Passed::new(&[])), self.zero.take());
        self.with_exported(read);
        (self.positional, self.zero) = outer;
    }

    /// Reads what runs in a directory that the text doesn't tell.
    pub(super) fn elsewhere(&mut self, read: impl FnOnce(&mut Self)) {
        let outer = std::mem::replace(&mut self.directories, Directories::Unknown);
        read(self);
        self.directories = outer;
    }

    /// Takes a wrapper off. Where an option isn't known, every reading of the rest is listed.
    pub(super) fn unwrap(&mut self, wrapper: &Wrapper, words: &[Word], span: &Span) {
        // dash has no such builtin.
        if words[0].text == "builtin" && self.shell.may_be_dash() {
            let before = self.state();
            self.unwrap_any(wrapper, words, span);
            return self.join(&before);
        }
        self.unwrap_any(wrapper, words, span);
    }

    fn unwrap_any(&mut self, wrapper: &Wrapper, words: &[Word], span: &Span) {
        let mut facts = Facts::default();
        let (row, runs) = (wrapper.row, wrapper.runs);
        let wraps = self.script.commands.len().saturating_sub(1);
        let place = |n: usize| {
            wrapper
                .operands()
                .get(n)
                .map_or(words.len(), |item| item.at + 1)
        };
        let mut at = place(0);
        if words
            .get(at)
            .is_some_and(|word| matches!(word.openness, Openness::Computed(0, _)))
        {
            return self.gap("a wrapper's arguments are computed", span);
        }
        // Options may stand on either side of its own operands.
        let n_own = runs.rest().unwrap_or_default();
        let command = place(n_own);
        let unsure = wrapper.is_unsure(command - 1);
        let (mut moves, mut joins, mut entry_point) = (unsure, runs.has("joined"), None);
        for item in wrapper.options(command - 1) {
            let next = item.at + 2 + usize::from(item.value.is_some());
            for Given { option, value } in item.given() {
                if let Some(value) = &value {
                    self.sets_by_option(value);
                }
                match (option.does, value) {
                    (Does::Moves, _) => moves = true,
                    (Does::Joined, _) => joins = true,
                    (Does::Shows, _) => return,
                    (Does::Words, Some(text)) => {
                        let rest = words.get(next..).unwrap_or_default();
                        return self.split_string(&text.before(rest), span);
                    }
                    (Does::Command, text) => {
                        let texts: Vec<Word> = text.into_iter().collect();
                        self.text_for_shell(
                            &texts,
                            Shell::Posix,
                            "a shell is given computed text",
                            span,
                        );
                    }
                    (Does::Program, program) => entry_point = program,
                    (Does::Pipe, Some(value)) => self.traces_into(&value, span),
                    (Does::Unit, Some(value)) => self.property_of_unit(&value, span),
                    (Does::Setting, Some(value)) => {
                        // If nothing has set a variable, the next word is the value.
                        let next = words.get(next).filter(|_| value.vanishes);
                        let values = std::iter::once(&value).chain(next);
                        values.for_each(|value| {
                            self.setting_of_ssh(option.letter().unwrap_or('o'), value, span)
                        });
                    }
                    (
                        Does::Words
                        | Does::Pipe
                        | Does::Unit
                        | Does::Setting
                        | Does::Config
                        | Does::Until
                        | Does::Nothing,
                        _,
                    ) => {}
                }
            }
        }
        // `env - git push`
        if runs.has("sets") && words.get(at).is_some_and(|word| word.text == "-") {
            at += 1;
        }
        let n_set = at;
        while let Some(word) = words.get(at).filter(|_| runs.has("sets")) {
            let Some((name, value)) = word.text.split_once('=') else {
                break;
            };
            if word.openness.from().is_some_and(|at| at <= name.len()) {
                self.gap("the name of a variable is computed", span);
            }
            let constant = word.as_constant().map(|_| value.to_string());
            self.variables.set_constant(name, constant.as_deref());
            self.has_set(name);
            self.set_names.export(name);
            let text = value.to_string();
            self.text(&text, span);
            match programs::hazard(name, constant.as_deref()) {
                programs::Hazard::None => {}
                programs::Hazard::Shell => {
                    self.gap("it sets a variable that changes how the shell reads", span)
                }
                programs::Hazard::Text | programs::Hazard::Unseen => {
                    self.unseen("it sets a variable that decides which code runs", span);
                    let (name, text) = (name.to_string(), value.to_string());
                    self.code_paths(&name, &text);
                    if matches!(word.openness, Openness::Computed(..)) && name != "PATH" {
                        self.gap("it sets a variable that a later program runs", span);
                    }
                }
            }
            at += 1;
        }
        // `env A=b x` is `A=b x`.
        let only_sets = words[0]
            .as_constant()
            .is_some_and(|it| base_name(it) == "env")
            && n_set == 1
            && (words[0].text == "env" || programs::is_system_path(&words[0].text));
        if only_sets && at > n_set && at < words.len() {
            let settings = &words[n_set..at];
            facts.assigns = !settings.iter().all(programs::is_plain_word);
            facts.settings = Some(settings.into());
            if let Some(env) = self.script.commands.get_mut(wraps) {
                env.role = Role::Transparent;
            }
        } else if at > n_set {
            self.beside("a wrapper that sets variables", span);
        }
        let mut rest = words
            .get(
                if at > n_set || n_own == 0 {
                    at
                } else {
                    command
                }..,
            )
            .unwrap_or_default();
        // `flock file -c 'git push'`
        let is_text = |word: &Word| {
            row.spelt(&word.text)
                .is_some_and(|it| it.does == Does::Command)
        };
        if n_own > 0 && rest.first().is_some_and(is_text) {
            return self.text_for_shell(
                &rest[1..],
                Shell::Posix,
                "a shell is given computed text",
                span,
            );
        }
        if rest.first().is_some_and(|word| word.text == "--") {
            rest = &rest[1..];
        }
        // `docker run --entrypoint git image push` runs `git push`, and compose takes several words
        // there.
        let image = words.get(at);
        let entered: Option<Vec<Word>> = entry_point.map(|entry: Word| {
            let program = match entry.as_constant().filter(|text| text.contains(' ')) {
                Some(text) => text
                    .split_whitespace()
                    .map(|word| Word::constant(word.trim_matches(['"', '\''])))
                    .collect(),
                None => vec![entry],
            };
            program.into_iter().chain(rest.iter().cloned()).collect()
        });
        let rest = entered.as_deref().unwrap_or(rest);
        if rest.is_empty() {
            if runs.has("bare") {
                self.input_text(Shell::Unknown, span);
            }
            return;
        }
        if runs.has("unseen") {
            self.unseen("it runs elsewhere", span);
        }
        if runs.has("image")
            && let Some(program) = image
                .filter(|_| entered.is_none())
                .and_then(programs::entry_point)
        {
            self.run(&Word::constant(program).before(rest), span, &facts);
        }
        let versioned = programs::without_version(runs, rest);
        let mut readings = vec![versioned.as_deref().unwrap_or(rest)];
        if runs.has("optional") && at > 1 {
            readings.extend(words.get(at..));
        }
        if unsure {
            self.beside("an option of a wrapper that isn't known", span);
            readings.extend((1..rest.len().min(4)).map(|skip| &rest[skip..]));
        }
        let outer = self.directories.clone();
        if moves || runs.has("elsewhere") {
            self.directories = Directories::Unknown;
        }
        for reading in readings {
            if joins {
                self.text_for_shell(
                    reading,
                    Shell::Posix,
                    "a shell is given computed text",
                    span,
                );
            } else {
                self.run(reading, span, &facts);
            }
        }
        if !runs.has("here") {
            self.directories = outer;
        }
    }

    /// `ssh -o 'ProxyCommand git push'`
    pub(super) fn setting_of_ssh(&mut self, letter: char, value: &Word, span: &Span) {
        if programs::is_harmless_ssh_option(letter, value) {
            return;
        }
        self.text(&value.text, span);
        let is_end = |c: char| c == '=' || c.is_whitespace();
        if let Some((_, command)) = value.text.trim_start().split_once(is_end) {
            let command = with_places_of_ssh(command);
            self.in_another_shell(|this| this.nested(&command, Shell::Posix, span));
        }
        if letter == 'F' {
            self.gap("ssh is given settings that may run a program", span);
        }
        self.unseen("an option of ssh runs a program", span);
    }

    /// `strace -o '|git push'`
    fn traces_into(&mut self, value: &Word, span: &Span) {
        // What nobody has set before the sign is empty.
        if let Some(command) = behind_expansions(&value.text).strip_prefix(['|', '!']) {
            let command = as_operand(command);
            self.in_another_shell(|this| this.nested(&command, Shell::Posix, span));
        }
    }

    /// `systemd-run -p ExecStartPre='git push'`
    fn property_of_unit(&mut self, value: &Word, span: &Span) {
        if let Some((_, command)) = value
            .text
            .strip_prefix("Exec")
            .and_then(|rest| rest.split_once('='))
        {
            let command =
                as_operand(command.trim_start_matches(['-', '@', ':', '+', '!', '|', ' ']));
            self.in_another_shell(|this| this.nested(&command, Shell::Posix, span));
        }
    }

    /// `docker run -e X=--force`: what the command of a wrapper finds in its environment.
    fn sets_by_option(&mut self, value: &Word) {
        if let Some((name, text)) = value.as_constant().and_then(|value| value.split_once('=')) {
            self.variables.set_constant(name, Some(text));
            self.has_set(name);
            self.set_names.export(name);
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
        if words
            .first()
            .is_some_and(|word| word.text.contains(['"', '\'']))
        {
            // Quotes are read as a shell does, nearly.
            let text: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
            return self.nested(&text.join(" "), Shell::Posix, span);
        }
        let facts = Facts::default();
        self.run(&all, span, &facts);
    }
}

/// What a command of sed puts in place of something, or beside it.
fn written_by_sed(script: &str) -> &str {
    let is_address = |c: char| c.is_ascii_digit() || "$,~!".contains(c);
    let behind = script
        .rsplit('/')
        .next()
        .unwrap_or_default()
        .trim_start_matches(is_address);
    if let Some(text) = behind.strip_prefix(['i', 'a', 'c']) {
        return text.trim_start_matches(['\\', ' ']);
    }
    let substitution = script
        .split_once('s')
        .and_then(|(_, rest)| Some((rest, rest.chars().next()?)));
    let is_sign = |(_, sign): &(&str, char)| !sign.is_alphanumeric();
    substitution
        .filter(is_sign)
        .and_then(|(rest, sign)| rest.split(sign).nth(2))
        .unwrap_or_default()
}

/// What a script of sed may give a shell: what follows an `e`, which is a command, and what a
/// substitution puts in. `None` if there is too much of it.
fn run_by_sed(script: &str) -> Option<Vec<(&str, bool)>> {
    const MOST: usize = 32;
    let begins = |at: &usize| {
        !script[..*at].ends_with(|c: char| c.is_alphabetic() && !matches!(c, 'I' | 'M'))
    };
    let commands = || {
        script
            .match_indices(['e', 's'])
            .filter(|(at, _)| begins(at))
    };
    if commands().nth(MOST).is_some() {
        return None;
    }
    let texts = commands().filter_map(|(at, command)| {
        let rest = &script[at + 1..];
        let delimiter = rest.chars().next().filter(|c| !c.is_alphanumeric());
        match command {
            "e" => rest.lines().next().map(|text| (text.trim_start(), true)),
            _ => rest.split(delimiter?).nth(2).map(|text| (text, false)),
        }
    });
    Some(texts.collect())
}

/// A command of ssh's settings, in which `%h` is the host and `%r` the user: variables whose values
/// a shell doesn't know.
fn with_places_of_ssh(command: &str) -> String {
    let mut made = String::new();
    let mut rest = command.chars();
    while let Some(c) = rest.next() {
        match (c, if c == '%' { rest.next() } else { None }) {
            ('%', Some('%') | None) => made.push('%'),
            ('%', Some(letter)) => made.extend(["${of_ssh_", &letter.to_string(), "}"]),
            (c, _) => made.push(c),
        }
    }
    made
}

/// Whether what an interpreter reads was decoded by the command before it.
fn is_decoded(commands: &[Command], interpreter: &str) -> bool {
    commands
        .iter()
        .rev()
        .skip_while(|command| {
            command
                .words
                .first()
                .is_some_and(|word| base_name(&word.text) == interpreter)
        })
        .take(2)
        .any(|command| {
            command
                .words
                .first()
                .is_some_and(|word| programs::runs(base_name(&word.text)).has("decodes"))
        })
}
