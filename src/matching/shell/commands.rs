//! From words to the commands they run: wrappers taken off, texts for other shells read in turn.

use super::*;

impl Parser<'_> {
    /// Lists one simple command, or what its wrappers run.
    pub(super) fn run(&mut self, words: &[Word], input: &Input) {
        let Some(head) = words.first() else {
            return;
        };
        if self.depth >= MAX_DEPTH {
            self.opaque(DEEP);
            return;
        }
        let Some(path) = head.as_literal() else {
            self.opaque("the program's name is not literal");
            return;
        };
        if path.is_empty() {
            return;
        }
        let name = base_name(path).to_string();
        if name.is_empty() || name.starts_with('-') || name.starts_with('~') {
            self.opaque("the program's name is unclear");
            return;
        }
        self.found.started.insert(name.clone());
        let directory = &path[..path.len() - name.len()];
        if !directory.is_empty() && !is_system_directory(directory) {
            self.found.started_by_path = true;
            self.emit(path, &words[1..]);
        }
        self.guard_words(&words[1..]);
        self.depth += 1;
        self.dispatch(&name, words, input);
        self.depth -= 1;
    }

    pub(super) fn dispatch(&mut self, name: &str, words: &[Word], input: &Input) {
        // `git-push` in git's own directory is `git push`.
        if let Some(verb) = name.strip_prefix("git-")
            && !verb.is_empty()
        {
            let mut spelt = vec![Word::literal("git"), Word::literal(verb)];
            spelt.extend_from_slice(&words[1..]);
            return self.git(&spelt);
        }
        if SHELLS.has(name) {
            return self.shell(name, words, input);
        }
        // `docker exec`, `npm exec`, …: a wrapper named by two words.
        if let Some(verb) = words.get(1).and_then(Word::as_literal)
            && let Some(wrapper) = wrapper_of(name, verb)
        {
            self.emit(name, &words[1..]);
            return self.unwrap(wrapper, &words[1..], input);
        }
        if let Some(wrapper) = wrapper_of(name, "") {
            if wrapper.listed {
                self.emit(name, &words[1..]);
            }
            return self.unwrap(wrapper, words, input);
        }
        match name {
            "git" => self.git(words),
            "eval" => {
                self.emit(name, &words[1..]);
                let skip = if words.get(1).is_some_and(|word| word.text == "--") { 2 } else { 1 };
                self.text_of(words.get(skip..).unwrap_or_default());
            }
            "trap" => {
                self.emit(name, &words[1..]);
                let action = words[1..].iter().find(|word| word.text != "--");
                match action {
                    Some(word) if word.is_literal() && word.text.starts_with('-') => {}
                    Some(word) => self.text_of(std::slice::from_ref(word)),
                    None => {}
                }
            }
            "su" | "runuser" | "script" | "sg" | "newgrp" => self.switch_user(name, words, input),
            "find" => self.find(words),
            _ => self.program(name, words, input),
        }
    }

    /// Words that are joined and read as shell text.
    pub(super) fn text_of(&mut self, words: &[Word]) {
        let texts: Option<Vec<&str>> = words.iter().map(Word::as_literal).collect();
        match texts {
            Some(texts) => self.nested(&texts.join(" ")),
            None => self.opaque("a shell is given text that is not literal"),
        }
    }

    pub(super) fn emit(&mut self, name: &str, arguments: &[Word]) {
        // White space inside a name would make one word look like two.
        let mut command = name.replace([' ', '\t', '\n'], "\\ ");
        for word in arguments {
            command.push(' ');
            command.push_str(&word.text);
        }
        self.found.allowance = self.found.allowance.saturating_sub(command.len());
        self.found.push(command);
    }

    pub(super) fn guard_words(&mut self, arguments: &[Word]) {
        let mut message = false;
        for word in arguments {
            if !message {
                self.guard_subscript(&word.text);
            }
            message = MESSAGE_OPTIONS.has(word.text.as_str());
        }
    }

    pub(super) fn reads_commands_from(&mut self, input: &Input) {
        if let Some(word) = &input.here_string {
            self.text_of(std::slice::from_ref(word));
        } else if !input.here_documents.is_empty() {
            self.hand_documents_to(input, Reader::Shell);
        } else {
            self.opaque("a shell or interpreter reads its commands from its input");
        }
    }

    pub(super) fn hand_documents_to(&mut self, input: &Input, reader: Reader) {
        for document in self.here.get_mut(input.here_documents.clone()).into_iter().flatten() {
            document.reader = reader;
        }
    }

    pub(super) fn shell(&mut self, name: &str, words: &[Word], input: &Input) {
        self.emit(name, &words[1..]);
        let (mut at, mut command, mut from_input) = (1, false, false);
        while let Some(word) = words.get(at) {
            let Some(option) = word.as_literal() else {
                return self.opaque("a shell's options are not literal");
            };
            at += 1;
            match option {
                "--" | "-" => break,
                "--norc" | "--noprofile" | "--login" | "--posix" | "--verbose" | "--noediting" => {}
                "--version" | "--help" => return,
                _ if option.starts_with("--") => {
                    return self.opaque("an unknown option of a shell");
                }
                _ if option.len() > 1 && option.starts_with(['-', '+']) => {
                    for letter in option.chars().skip(1) {
                        match letter {
                            'c' => command = true,
                            's' => from_input = true,
                            'o' | 'O' => at += 1,
                            _ if "abefhiklmnprtuvxBCEHPT".contains(letter) => {}
                            _ => return self.opaque("an unknown option of a shell"),
                        }
                    }
                }
                _ => {
                    at -= 1;
                    break;
                }
            }
        }
        if !POSIX_SHELLS.has(name) {
            self.opaque("a shell with another syntax");
        }
        match words.get(at) {
            Some(word) if command => self.text_of(std::slice::from_ref(word)),
            None if command => {}
            Some(_) if !from_input => self.opaque("a shell runs a script that can't be seen"),
            _ => self.reads_commands_from(input),
        }
    }

    pub(super) fn switch_user(&mut self, name: &str, words: &[Word], input: &Input) {
        self.emit(name, &words[1..]);
        for (at, word) in words.iter().enumerate().skip(1) {
            let Some(option) = word.as_literal() else {
                continue;
            };
            let text = match option {
                "-c" | "--command" | "--session-command" => words.get(at + 1).cloned(),
                _ if option.starts_with("--command=") => option.get(10..).map(Word::literal),
                _ if option.starts_with("-c") => option.get(2..).map(Word::literal),
                // `script -qc TEXT`, `su -lc TEXT`
                _ if option.starts_with('-') && !option.starts_with("--") && option.ends_with('c') => {
                    words.get(at + 1).cloned()
                }
                _ => None,
            };
            if let Some(text) = text {
                return self.text_of(&[text]);
            }
        }
        let user = words.iter().position(|word| word.text == "-u" || word.text == "--user");
        match user {
            Some(at) if name == "runuser" => {
                let rest = words.get(at + 2..).unwrap_or_default();
                let skip = usize::from(rest.first().is_some_and(|word| word.text == "--"));
                if rest.get(skip).is_some_and(|word| word.text.starts_with('-')) {
                    self.opaque("an unknown option of a wrapper");
                }
                self.run(&rest[skip..], input);
            }
            _ => self.opaque("a shell or interpreter reads its commands from its input"),
        }
    }

    pub(super) fn unwrap(&mut self, wrapper: &Wrapper, words: &[Word], input: &Input) {
        let mut at = 1;
        let mut replace = None;
        while let Some(word) = words.get(at) {
            let Some(option) = word.as_literal() else {
                if wrapper.assigns && word.assign.is_some() {
                    break;
                }
                return self.opaque("a wrapper's options are not literal");
            };
            if option == "--" {
                at += 1;
                break;
            }
            if option == "-" && wrapper.name == "env" {
                at += 1;
                continue;
            }
            let Some(letters) = option.strip_prefix('-').filter(|letters| !letters.is_empty()) else {
                break;
            };
            at += 1;
            if let Some(long) = letters.strip_prefix('-') {
                let (name, value) = match long.split_once('=') {
                    Some((name, value)) => (name, Some(value)),
                    None => (long, None),
                };
                if wrapper.name == "env" && name == "split-string" {
                    let text = value.map(Word::literal).or_else(|| words.get(at).cloned());
                    let skip = usize::from(value.is_none());
                    return self.split_string(text, words.get(at + skip..).unwrap_or_default());
                } else if wrapper.name == "xargs" && name == "replace" {
                    replace = Some(value.unwrap_or("{}").to_string());
                } else if listed(wrapper.valued_long, name) {
                    at += usize::from(value.is_none());
                } else if !listed(wrapper.long, name) {
                    return self.opaque("an unknown option of a wrapper");
                }
                continue;
            }
            if wrapper.name == "nice" && letters.bytes().all(|b| b.is_ascii_digit() || b == b'-') {
                continue;
            }
            for (n, letter) in letters.char_indices() {
                let value = &letters[n + letter.len_utf8()..];
                if wrapper.text_letter == Some(letter) {
                    let text = if value.is_empty() { words.get(at).cloned() } else { Some(Word::literal(value)) };
                    let skip = usize::from(value.is_empty());
                    return self.split_string(text, words.get(at + skip..).unwrap_or_default());
                } else if wrapper.valued.contains(letter) {
                    let value = match value {
                        "" => {
                            at += 1;
                            words.get(at - 1).and_then(Word::as_literal).unwrap_or("$")
                        }
                        value => value,
                    };
                    match wrapper.name {
                        "xargs" if letter == 'I' => replace = Some(value.to_string()),
                        "ssh" if !is_harmless_ssh_option(letter, value) => {
                            self.opaque("an option of ssh may run text");
                        }
                        _ => {}
                    }
                    break;
                } else if wrapper.name == "xargs" && letter == 'i' {
                    replace = Some(if value.is_empty() { "{}" } else { value }.to_string());
                    break;
                } else if wrapper.shows.contains(letter) {
                    return self.emit(wrapper.name, &words[1..]);
                } else if !wrapper.flags.contains(letter) {
                    return self.opaque("an unknown option of a wrapper");
                }
            }
        }
        while let Some(word) = words.get(at).filter(|_| wrapper.assigns) {
            let Some(equals) = word.assign.or_else(|| word.as_literal().and_then(|text| text.find('='))) else {
                break;
            };
            self.assignment(word, equals);
            at += 1;
        }
        for _ in 0..wrapper.positionals {
            if words.get(at).is_some_and(|word| word.split || word.brace || word.glob) {
                return self.opaque("a wrapper's arguments are not literal");
            }
            at += 1;
            if wrapper.name == "flock"
                && words.get(at).is_some_and(|word| matches!(word.text.as_str(), "-c" | "--command"))
            {
                return self.text_of(words.get(at + 1..).unwrap_or_default());
            }
        }
        if wrapper.positionals > 0 && words.get(at).is_some_and(|word| word.text == "--") {
            at += 1;
        }
        let mut rest = words.get(at..).unwrap_or_default().to_vec();
        if rest.is_empty() {
            match wrapper.name {
                "xargs" => {}
                _ if wrapper.bare_shell => self.opaque("it opens a shell that reads its input"),
                _ if !wrapper.listed => self.emit(wrapper.name, &words[1..]),
                _ => {}
            }
            return;
        }
        if wrapper.name == "xargs" {
            match replace {
                Some(mark) => fill_in(&mut rest, &mark),
                None => rest.push(Word::unknown()),
            }
        }
        if wrapper.joins {
            return self.text_of(&rest);
        }
        self.run(&rest, input);
    }

    pub(super) fn split_string(&mut self, text: Option<Word>, rest: &[Word]) {
        let mut words: Vec<Word> = text.into_iter().collect();
        words.extend_from_slice(rest);
        if words.iter().any(|word| word.text.contains(['\\', '$'])) {
            self.opaque("text for env -S with escapes or variables");
        }
        self.text_of(&words);
    }

    pub(super) fn find(&mut self, words: &[Word]) {
        self.emit("find", &words[1..]);
        self.arguments("find", &words[1..], false);
        let mut at = 1;
        while let Some(word) = words.get(at) {
            at += 1;
            if word.dynamic_at == Some(0) && word.split {
                self.opaque("find may be given an action that can't be seen");
            }
            if !matches!(word.text.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir") {
                continue;
            }
            let length = words[at..].iter().position(|word| word.text == ";" || word.text == "+");
            let end = at + length.unwrap_or(words.len() - at);
            let mut slice = words[at..end].to_vec();
            if slice.first().is_some_and(|word| word.text.contains("{}")) {
                self.opaque("the program's name is not literal");
            } else if slice.get(1).is_some_and(|word| word.text == "{}") && self.is_open_to_verbs(&slice[0]) {
                slice[1].dynamic_at = Some(0);
            }
            let text = slice.iter().skip(1).any(|word| word.text.contains("{}") && word.text != "{}");
            if text && SHELLS.has(base_name(&slice[0].text)) {
                self.opaque("a shell is given text that is not literal");
            }
            self.run(&slice, &Input::default());
            at = end;
        }
    }

    /// A path found by `find` starts with its start path, so it can be no option, but it may be a verb.
    pub(super) fn is_open_to_verbs(&self, head: &Word) -> bool {
        let name = base_name(&head.text);
        !INERT.has(name) && !FILE_TOOLS.has(name)
    }

    pub(super) fn git(&mut self, words: &[Word]) {
        let mut at = 1;
        let mut aliased = false;
        while let Some(word) = words.get(at) {
            let Some(option) = word.as_literal() else {
                return self.opaque("git's command is not literal");
            };
            if !option.starts_with('-') {
                break;
            }
            at += 1;
            let name = option.split_once('=').map_or(option, |(name, _)| name);
            match name {
                "-c" => {
                    let setting = words.get(at);
                    let key = setting.map_or("", |word| word.text.as_str());
                    let prefix = setting.and_then(|word| word.dynamic_at).unwrap_or(key.len());
                    let key = key.get(..prefix).unwrap_or_default();
                    let (name, value) = key.split_once('=').unwrap_or((key, ""));
                    if name.to_ascii_lowercase().starts_with("alias.") {
                        aliased = true;
                    } else if setting.is_none_or(|word| word.split) || !is_harmless_setting(name, value) {
                        self.opaque("a git setting that may run a program");
                    }
                    at += 1;
                }
                "-C" | "--git-dir" | "--work-tree" | "--namespace" | "--super-prefix" | "--attr-source" => {
                    if name == option {
                        if words.get(at).is_some_and(|word| word.split || word.glob || word.brace) {
                            self.opaque("git's options are not literal");
                        }
                        at += 1;
                    }
                }
                "--exec-path" if name != option => self.opaque("git's programs come from elsewhere"),
                "--config-env" => self.opaque("a git setting that may run a program"),
                "-p"
                | "-P"
                | "--paginate"
                | "--no-pager"
                | "--no-replace-objects"
                | "--bare"
                | "--literal-pathspecs"
                | "--glob-pathspecs"
                | "--noglob-pathspecs"
                | "--icase-pathspecs"
                | "--no-optional-locks"
                | "--no-lazy-fetch"
                | "--no-advice" => {}
                "-v" | "--version" | "-h" | "--help" | "--exec-path" | "--html-path" | "--man-path" | "--info-path"
                | "--list-cmds" => {
                    return self.emit("git", &words[1..]);
                }
                _ => return self.opaque("an unknown option of git"),
            }
        }
        let Some(verb) = words.get(at) else {
            return self.emit("git", &[]);
        };
        let mut arguments = words[at..].to_vec();
        arguments[0].text = verb.text.replace([' ', '\t', '\n'], "\\ ");
        self.emit("git", &arguments);
        let Some(verb) = verb.as_literal() else {
            return self.opaque("git's command is not literal");
        };
        let arguments = &words[at + 1..];
        // A longer unknown verb is a program or an alias by a name of its own, as `./build.sh` is; a very
        // short one is mostly an everyday verb in disguise.
        let short = verb.len() <= 4 && verb.bytes().all(|b| b.is_ascii_lowercase());
        if GIT_PLUMBING.has(verb) || (!GIT_COMMANDS.has(verb) && (aliased || short)) {
            self.opaque("a git command that may be an alias or another name for one");
        }
        self.arguments("git", arguments, false);
        let literal = |word: &&Word| word.as_literal().is_some();
        let operands: Vec<&Word> =
            arguments.iter().filter(literal).filter(|word| !word.text.starts_with('-')).collect();
        let first = operands.first().map_or("", |word| word.text.as_str());
        match verb {
            "bisect" if first == "run" => {
                if let Some(at) = arguments.iter().position(|word| word.text == "run") {
                    self.run(&arguments[at + 1..], &Input::default());
                }
            }
            "submodule" if first == "foreach" => {
                if let Some(at) = arguments.iter().position(|word| word.text == "foreach") {
                    let text: Vec<Word> =
                        arguments[at + 1..].iter().skip_while(|word| word.text.starts_with('-')).cloned().collect();
                    self.text_of(&text);
                }
            }
            "rebase" => self.rebase(arguments),
            "config" => {
                let shows = arguments.iter().any(|word| {
                    matches!(word.text.as_str(), "--get" | "--get-all" | "--list" | "-l" | "get" | "list" | "--unset")
                });
                let dotted = operands.iter().position(|word| word.text.contains('.'));
                let sets = dotted.is_some_and(|at| at + 1 < operands.len());
                let harmless = dotted.is_some_and(|at| {
                    is_harmless_setting(&operands[at].text, operands.get(at + 1).map_or("", |word| &word.text))
                });
                let edits = arguments.iter().any(|word| matches!(word.text.as_str(), "-e" | "--edit" | "edit"));
                let vague = !shows && arguments.iter().any(|word| !word.is_literal()) && !harmless;
                if edits || vague || (sets && !shows && !harmless) {
                    self.opaque("a git setting that may run a program");
                }
            }
            "remote" if first == "set-url" || first == "add" => {}
            "clone" | "apply" | "am" | "checkout" | "archive" => self.found.writes_unknown |= verb != "checkout",
            _ => {}
        }
        for word in arguments {
            let text = word.text.as_str();
            let runs = (text.starts_with("--up") && matches!(verb, "clone" | "fetch" | "pull" | "ls-remote"))
                || (text.starts_with("--rec") && text.contains('=') && matches!(verb, "push"))
                || (text.starts_with("--exec") && verb != "rebase")
                || (text.starts_with("--ext") && verb == "difftool")
                || (text.starts_with("-x") && matches!(verb, "difftool"))
                || (text.starts_with("-u") && verb == "clone")
                || (text.starts_with("-c") && verb == "clone")
                || (text.starts_with("--co") && verb == "clone")
                || ((text.starts_with("-O") || text.starts_with("--open")) && verb == "grep")
                || text.starts_with("ext::")
                || text.contains("=ext::");
            if runs {
                self.opaque("an option of git that runs text");
            }
        }
    }

    pub(super) fn rebase(&mut self, arguments: &[Word]) {
        for (at, word) in arguments.iter().enumerate() {
            let text = match word.text.as_str() {
                "-x" | "--exec" | "--exe" | "--ex" => arguments.get(at + 1).cloned(),
                other => other.strip_prefix("--exec=").or_else(|| other.strip_prefix("-x")).map(Word::literal),
            };
            if word.dynamic_at.is_some() && word.text.starts_with('-') {
                self.opaque("an option of git that runs text");
            } else if let Some(text) = text {
                self.text_of(&[text]);
            }
        }
    }

    /// A program that is neither a wrapper nor a shell.
    pub(super) fn program(&mut self, name: &str, words: &[Word], input: &Input) {
        let arguments = &words[1..];
        if name == "rm" {
            // An option inside a file name is no option.
            let shown: Vec<Word> = arguments
                .iter()
                .map(|word| Word { text: word.text.replace([' ', '\t', '\n'], "\\ "), ..word.clone() })
                .collect();
            self.emit(name, &shown);
        } else {
            self.emit(name, arguments);
        }
        self.record_files(name, arguments);
        if RUNS_TEXT.has(name) {
            return self.opaque("a program that runs commands from its arguments or input");
        }
        if is_interpreter(name) {
            return self.interpreter(name, arguments);
        }
        if matches!(name, "awk" | "gawk" | "mawk" | "nawk" | "sed" | "gsed") {
            return self.filter_program(name, arguments);
        }
        let inert = INERT.has(name);
        self.arguments(name, arguments, inert);
        let first = arguments.first().map_or("", |word| word.text.as_str());
        let has = |wanted: &[&str]| arguments.iter().any(|word| wanted.contains(&word.text.as_str()));
        match name {
            "." | "source" => self.opaque("it reads commands from a file"),
            "alias" if !arguments.is_empty() => self.opaque("an alias"),
            "enable" | "bind" | "complete" | "compgen" | "fc" | "unalias" => self.opaque("it changes the shell itself"),
            "shopt" if has(&["expand_aliases"]) => self.opaque("an alias"),
            "hash" if first.starts_with('-') && first.contains('p') => self.opaque("it redefines a command"),
            "mapfile" | "readarray" | "read" => {
                self.hand_documents_to(input, Reader::Variable);
                if arguments.iter().any(|word| word.text.starts_with("-C")) {
                    self.opaque("a callback");
                }
                self.check_names(arguments);
            }
            "export" | "declare" | "typeset" | "local" | "readonly" | "unset" | "getopts" => {
                self.check_names(arguments)
            }
            "printf" if first.starts_with("-v") => self.check_names(arguments),
            "npm" | "pnpm" | "yarn" | "bun" | "corepack"
                if has(&[
                    "exec",
                    "x",
                    "dlx",
                    "explore",
                    "config",
                    "set",
                    "set-script",
                    "--script-shell",
                    "create",
                    "init",
                ]) || arguments.iter().any(|word| word.text.starts_with("--script-shell")) =>
            {
                self.opaque("a package manager runs a program");
            }
            "make" | "gmake" | "just" => {
                for word in arguments {
                    let text = word.text.as_str();
                    let (variable, value) = text.split_once('=').unwrap_or((text, ""));
                    let special =
                        matches!(variable, "SHELL" | ".SHELLFLAGS" | "MAKEFLAGS" | "MAKE" | "--eval" | "--shell");
                    if special || value.contains([' ', '$', '`', ';']) || matches!(text, "-f-" | "-" | "/dev/stdin") {
                        self.opaque("make is given commands to run");
                    }
                }
            }
            _ => {}
        }
        for (program, options) in RUNNING_OPTIONS {
            if *program == name
                && arguments
                    .iter()
                    .any(|word| options.split_ascii_whitespace().any(|option| word.text.starts_with(option)))
            {
                self.opaque("an option that runs text");
            }
        }
        if matches!(name, "tar" | "bsdtar" | "gtar")
            && first.trim_start_matches('-').contains(['I', 'F'])
            && !first.starts_with("--")
        {
            self.opaque("an option that runs text");
        }
        if !inert && !PLAIN.has(name) && !FILE_TOOLS.has(name) {
            self.suspect(arguments);
        }
    }

    /// Arguments whose value only the run will tell. For a program that only prints or reads they
    /// don't matter, for others they may be the option or the verb that a rule is about.
    pub(super) fn arguments(&mut self, _name: &str, arguments: &[Word], inert: bool) {
        if inert {
            return;
        }
        let (mut previous, mut operands_only) = ("", false);
        for (at, word) in arguments.iter().enumerate() {
            let literal_start = word.dynamic_at.is_some_and(|dynamic| {
                let start = word.text.get(..dynamic).unwrap_or_default();
                !start.is_empty() && (!start.starts_with('-') || (start.starts_with("--") && start.contains('=')))
            });
            let unclear = if word.split || word.brace {
                true
            } else if word.dynamic_at.is_some() {
                !literal_start && !operands_only && !MESSAGE_OPTIONS.has(previous)
            } else if word.glob && !operands_only {
                let named = word.text.contains(['.', '/']);
                !named && (at == 0 || word.text.starts_with(['*', '?', '[', '-']))
            } else {
                false
            };
            if unclear {
                self.opaque("an argument that may be an option or a verb is not literal");
            }
            operands_only |= word.text == "--";
            previous = &word.text;
        }
    }

    pub(super) fn check_names(&mut self, arguments: &[Word]) {
        for word in arguments {
            let at = word.assign.or_else(|| word.text.find('=')).unwrap_or(word.text.len());
            if word.dynamic_at.is_some_and(|dynamic| dynamic < at) {
                self.opaque("the name of a variable is not literal");
            }
            let name = word.text.get(..at).unwrap_or_default();
            let value = word.as_literal().and_then(|text| text.get(at + 1..));
            self.check_variable(name, value);
        }
    }

    /// An unknown program that is given the name of a known one, or text that starts with one, may be a
    /// wrapper.
    pub(super) fn suspect(&mut self, arguments: &[Word]) {
        for word in arguments {
            let pieces = word.text.split(['\n', ';', '|', '&', '(', ')', '`', '!', '\'', '"', '=', ':', '{']);
            for piece in pieces {
                let name = base_name(piece.split_whitespace().next().unwrap_or_default());
                let known = [&FILE_TOOLS, &PLAIN, &SHELLS, &RUNS_TEXT, &INERT].iter().any(|names| names.has(name))
                    || wrapper_of(name, "").is_some()
                    || is_interpreter(name)
                    || matches!(name, "git" | "find" | "su" | "runuser" | "awk" | "sed");
                if known && !COMMON_VERBS.has(name) {
                    self.opaque("a program that isn't known is given the name of another one");
                }
            }
        }
    }

    pub(super) fn interpreter(&mut self, name: &str, arguments: &[Word]) {
        let family = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
        let mut at = 0;
        while let Some(word) = arguments.get(at) {
            let Some(option) = word.as_literal() else {
                return self.opaque("an interpreter's arguments are not literal");
            };
            at += 1;
            let Some(letters) = option.strip_prefix('-').filter(|letters| !letters.is_empty()) else {
                at -= 1;
                break;
            };
            if matches!(option, "--version" | "--help" | "-V" | "-v" | "-h") {
                return;
            }
            let python = matches!(family, "python" | "pypy");
            let known = match family {
                "node" | "nodejs" => {
                    option.starts_with("--")
                        && !["--eval", "--print", "--input", "--import", "--require", "--loader", "--exp", "-r"]
                            .iter()
                            .any(|bad| option.starts_with(bad))
                }
                "python" | "pypy" => letters.chars().all(|c| "uBEIOsSqbmWX".contains(c)),
                "perl" | "ruby" => letters.chars().all(|c| "wTtU".contains(c)),
                _ => false,
            };
            if !known || option == "--" {
                return self.opaque("an interpreter is given text or unknown options");
            }
            if python && letters.ends_with('m') {
                if arguments.get(at).is_some_and(|module| {
                    matches!(module.text.as_str(), "timeit" | "pdb" | "code" | "cProfile" | "trace")
                }) {
                    self.opaque("an interpreter is given text or unknown options");
                }
                break;
            }
            at += usize::from(python && letters.ends_with(['W', 'X']));
        }
        match arguments.get(at).map(Word::as_literal) {
            Some(Some(script)) if script != "-" && !script.starts_with("/dev/") && !script.starts_with("/proc/") => {
                self.found.started.insert(base_name(script).to_string());
                self.found.started_by_path = true;
                self.suspect(&arguments[at + 1..]);
            }
            Some(_) => self.opaque("an interpreter's script is not literal"),
            None => self.opaque("a shell or interpreter reads its commands from its input"),
        }
    }

    /// `awk` and `sed` can run commands from their little programs.
    pub(super) fn filter_program(&mut self, name: &str, arguments: &[Word]) {
        let sed = name.ends_with("sed");
        let mut scripts = Vec::new();
        let mut operands = Vec::new();
        let mut at = 0;
        let mut given = false;
        while let Some(word) = arguments.get(at) {
            at += 1;
            let text = word.text.as_str();
            if !given && operands.is_empty() && word.dynamic_at == Some(0) {
                return self.opaque("the program of awk or sed is not literal");
            }
            match text {
                "-e" | "--expression" if sed => {
                    scripts.extend(arguments.get(at));
                    given = true;
                    at += 1;
                }
                "-n" | "-E" | "-r" | "-z" | "-u" | "-s" | "-nE" | "-nr" | "-En" | "--quiet" | "--silent"
                | "--regexp-extended" | "--null-data" | "--posix" | "--sandbox"
                    if sed => {}
                _ if sed && (text.starts_with("-i") || text.starts_with("--in-place")) => {
                    // `-ie` is a suffix to sed and a mistake to most people; `-i -e` is how it is meant.
                    if text.contains(['E', 'n', 'r']) && text.len() > 4 {
                        self.opaque("an unknown option of sed");
                    }
                }
                "-F" | "-v" if !sed => at += 1,
                "--" => {}
                _ if !sed && (text.starts_with("-F") || text.starts_with("-v")) => {}
                _ if text.starts_with('-') && text.len() > 1 => {
                    return self.opaque("an unknown option of awk or sed");
                }
                _ => operands.push(word),
            }
        }
        if !given {
            match operands.first() {
                Some(word) => scripts.push(word),
                None => return,
            }
        }
        for script in scripts {
            let safe = match script.as_literal() {
                Some(text) if sed => is_plain_sed(text),
                Some(text) => !text.contains(['|', '@']) && !text.contains("system") && !text.contains("getline"),
                None => false,
            };
            if !safe {
                self.opaque("the program of awk or sed may run commands");
            }
        }
    }

    /// Notes which files a command writes or starts, as far as that lets it run what it has written.
    pub(super) fn record_files(&mut self, name: &str, arguments: &[Word]) {
        let has = |wanted: &str| arguments.iter().any(|word| word.text.starts_with(wanted));
        match name {
            "cp" | "mv" | "ln" | "install" | "tee" | "chmod" | "touch" => {
                for word in arguments {
                    match word.as_literal() {
                        Some(path) if path.starts_with('-') => {}
                        Some(path) => self.found.wrote(path),
                        None => self.found.writes_unknown = true,
                    }
                }
            }
            "wget" | "tar" | "unzip" | "dd" | "patch" | "rsync" | "scp" | "gunzip" | "7z" | "split" => {
                self.found.writes_unknown = true;
            }
            "curl" if arguments.iter().any(|word| word.text.starts_with('-') && word.text.contains(['o', 'O'])) => {
                self.found.writes_unknown = true;
            }
            "sed" if has("-i") || has("--in-place") => self.found.writes_unknown = true,
            "make" | "gmake" => {
                for file in ["Makefile", "makefile", "GNUmakefile"] {
                    self.found.started.insert(file.to_string());
                }
                for word in arguments {
                    self.found.started.insert(base_name(word.text.trim_start_matches("-f")).to_string());
                }
            }
            "npm" | "pnpm" | "yarn" | "bun" => {
                self.found.started.insert("package.json".to_string());
            }
            _ => {}
        }
    }
}

/// Whether a list has this name. Lists are texts with one blank between names: one line then holds a
/// dozen.
pub(super) fn listed(list: &str, name: &str) -> bool {
    let list = list.as_bytes();
    let is_edge = |at: Option<usize>| at.and_then(|at| list.get(at)).is_none_or(|byte| *byte == b' ');
    !name.is_empty()
        && !name.contains(' ')
        && memchr::memmem::find_iter(list, name).any(|at| is_edge(at.checked_sub(1)) && is_edge(Some(at + name.len())))
}

/// Marks where `xargs -I` puts what it reads.
pub(super) fn fill_in(words: &mut [Word], mark: &str) {
    for word in words {
        if mark.is_empty() || mark == "$" {
            word.dynamic_at = Some(0);
        } else if let Some(at) = word.text.find(mark) {
            word.dynamic_at = Some(word.dynamic_at.map_or(at, |before| before.min(at)));
        }
    }
}

pub(super) fn is_system_directory(directory: &str) -> bool {
    matches!(
        directory,
        "/bin/" | "/usr/bin/" | "/usr/local/bin/" | "/sbin/" | "/usr/sbin/" | "/usr/local/sbin/" | "/opt/homebrew/bin/"
    )
}

pub(super) fn is_interpreter(name: &str) -> bool {
    INTERPRETERS.has(name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.'))
}

pub(super) fn is_harmless_ssh_option(letter: char, value: &str) -> bool {
    let value = value.to_ascii_lowercase();
    match letter {
        'o' => !value.contains("command") && !value.contains("exec") && !value.contains("include") && value != "$",
        'F' => false,
        _ => true,
    }
}

/// Variables that make a program started later run text or code of the caller's choice.
pub(super) fn is_hazardous_variable(name: &str, value: Option<&str>) -> bool {
    let name = name.strip_suffix('+').unwrap_or(name);
    let name = name.split('[').next().unwrap_or(name);
    let harmless = matches!(value, Some("" | "cat" | "true" | ":"));
    if harmless && (name.ends_with("PAGER") || name.ends_with("EDITOR")) {
        return false;
    }
    let git = name.starts_with("GIT_")
        && !["GIT_AUTHOR_", "GIT_COMMITTER_", "GIT_TERMINAL_PROMPT", "GIT_TRACE", "GIT_MERGE_AUTOEDIT", "GIT_LFS_SKIP"]
            .iter()
            .any(|prefix| name.starts_with(prefix));
    let lower = name.to_ascii_lowercase();
    git || HAZARDOUS_VARIABLES.has(name)
        || ["LD_", "DYLD_", "BASH_", "npm_config_", "NPM_CONFIG_"].iter().any(|prefix| name.starts_with(prefix))
        || ["editor", "pager", "_command", "_askpass", "_wrapper", "_rsh", "_shell", "_runner"]
            .iter()
            .any(|suffix| lower.ends_with(suffix))
}

/// Settings that can't make git start a program. Everything else may.
pub(super) fn is_harmless_setting(key: &str, value: &str) -> bool {
    let key = key.to_ascii_lowercase();
    if matches!(key.as_str(), "core.pager" | "core.editor" | "sequence.editor") {
        return matches!(value, "" | "cat" | "true" | ":");
    }
    HARMLESS_SETTINGS
        .split_ascii_whitespace()
        .any(|name| if name.ends_with('.') { key.starts_with(name) } else { key == name })
}

/// Whether a sed script holds only commands that edit and print. Anything not understood isn't plain.
pub(super) fn is_plain_sed(script: &str) -> bool {
    let mut rest = script.chars().peekable();
    loop {
        while rest.next_if(|c| c.is_whitespace() || matches!(c, ';' | '{' | '}')).is_some() {}
        // The address.
        loop {
            match rest.peek() {
                Some(c) if c.is_ascii_digit() || matches!(c, '$' | ',' | '+' | '~' | '!' | ' ') => {
                    rest.next();
                }
                Some('/') => {
                    rest.next();
                    if !skip_delimited(&mut rest, '/') {
                        return false;
                    }
                    while rest.next_if(|c| matches!(c, 'I' | 'M')).is_some() {}
                }
                _ => break,
            }
        }
        match rest.next() {
            None => return true,
            Some('{' | '}') => continue,
            Some('p' | 'P' | 'd' | 'D' | '=' | 'n' | 'N' | 'h' | 'H' | 'g' | 'G' | 'x' | 'F' | 'z') => {}
            Some('q' | 'Q') => while rest.next_if(char::is_ascii_digit).is_some() {},
            Some('a' | 'i' | 'c') => {
                // The text ends with the line; a backslash carries it on.
                while let Some(c) = rest.next() {
                    match c {
                        '\\' => drop(rest.next()),
                        '\n' => break,
                        _ => {}
                    }
                }
                continue;
            }
            Some(command @ ('s' | 'y')) => {
                let Some(delimiter) = rest.next().filter(|c| !c.is_alphanumeric() && !matches!(c, '\\' | '\n')) else {
                    return false;
                };
                if !skip_delimited(&mut rest, delimiter) || !skip_delimited(&mut rest, delimiter) {
                    return false;
                }
                let flags = |c: &char| c.is_ascii_digit() || matches!(c, 'g' | 'p' | 'i' | 'I' | 'M' | 'm');
                while command == 's' && rest.next_if(flags).is_some() {}
            }
            Some(_) => return false,
        }
        while rest.next_if(|c| *c == ' ').is_some() {}
        match rest.peek() {
            None | Some(';' | '\n' | '}') => {}
            Some(_) => return false,
        }
    }
}

pub(super) fn skip_delimited(rest: &mut impl Iterator<Item = char>, delimiter: char) -> bool {
    while let Some(c) = rest.next() {
        match c {
            '\\' => drop(rest.next()),
            _ if c == delimiter => return true,
            _ => {}
        }
    }
    false
}
