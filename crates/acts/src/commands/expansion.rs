//! What words become: the shell's expansions, several alternatives where the text leaves a choice.

use super::super::expand::output::{self, Known, Output};
use super::super::expand::{
    Openness, Resolved, Word, begins_option_if_cut, cutting_work, edit_of, is_positional,
    is_short_constant, is_variable, join, puts_in_more_than_a_name,
};
use super::super::grammar::{
    self, Change, List, Node, Part, Pipeline, Redirect, RedirectKind, Tilde, Word as Written,
};
use super::super::names::tells_what_ran;
use super::super::word::{BRANCH, DIRECTORY, Globs, SCRATCH};
use super::super::{Shell, Span};
use super::{Directories, Input, MAX_ALTERNATIVES, Walk};
use compact_str::{CompactString, format_compact};
use std::rc::Rc;

impl Walk {
    /// What a word may become: several alternatives, each of several words.
    pub(super) fn expand(&mut self, word: &Written) -> Vec<Vec<Word>> {
        let span = if self.place.is_none() {
            Some(word.span.clone())
        } else {
            None
        };
        if let [Part::Text { text, quoted }] = word.parts.as_slice() {
            return vec![vec![Word {
                text: text.clone(),
                span,
                quoted: *quoted,
                ..Word::default()
            }]];
        }
        if !self.empties {
            self.walk_parts(&word.parts, &word.span);
        }
        let mut lists: Vec<Vec<&Part>> = vec![Vec::new()];
        if !spread(&word.parts, &mut lists) {
            return vec![vec![Word {
                span,
                ..Word::computed()
            }]];
        }
        let single = lists.len() == 1;
        // Brace expansion gives all of its words at once.
        let mut alternatives: Vec<Vec<Word>> = vec![Vec::new()];
        for parts in lists {
            let made = self.build(&parts, if single { span.clone() } else { None }, false);
            if alternatives.len() * made.len() > MAX_ALTERNATIVES {
                return vec![vec![Word {
                    span,
                    ..Word::computed()
                }]];
            }
            alternatives = alternatives
                .iter()
                .flat_map(|before| {
                    made.iter()
                        .map(move |words| before.iter().chain(words).cloned().collect())
                })
                .collect();
        }
        let has_braces = word
            .parts
            .iter()
            .any(|part| matches!(part, Part::Brace(_) | Part::Range(_)));
        if has_braces && !matches!(self.shell, Shell::Bash | Shell::Zsh) {
            match as_written(&word.parts) {
                Some(text) => alternatives.push(vec![Word {
                    span,
                    ..Word::constant(text)
                }]),
                None => self.gap(
                    "syntax that only bash knows, and the shell may be another",
                    &word.span,
                ),
            }
        }
        alternatives
    }

    /// `splits`: the parts stand within an expansion, whose text is split where it isn't quoted.
    fn build(&mut self, parts: &[&Part], span: Option<Span>, splits: bool) -> Vec<Vec<Word>> {
        let mut builds = vec![Build::default()];
        let mut is_glued = None;
        for (at, part) in parts.iter().enumerate() {
            let nexts: Vec<Next> = match part {
                Part::Text {
                    text,
                    quoted: false,
                } if splits => vec![Next::Value(text.clone(), false)],
                Part::Text { text, quoted } => vec![Next::Text(text.clone(), *quoted)],
                Part::Tilde(tilde) => self.tilde(tilde),
                Part::Glob(c) => vec![Next::Open(
                    CompactString::from_iter([*c]),
                    Openness::Files(0),
                )],
                Part::Range(text) => {
                    vec![Next::Open(
                        format_compact!("{{{text}}}"),
                        Openness::Operand(0),
                    )]
                }
                Part::Brace(_) => vec![Next::Open("{…}".into(), Openness::Computed(0, true))],
                Part::Arithmetic { .. } => vec![Next::Open("$((…))".into(), Openness::Operand(0))],
                Part::Process { .. } => vec![Next::Open("/dev/fd/…".into(), Openness::Operand(8))],
                Part::Command { list, quoted, .. } => self.substitution(list, *quoted),
                // Where the home isn't known, `$HOME/x` is `~/x`.
                Part::Variable {
                    name,
                    change: Change::None,
                    ..
                } if name == "HOME"
                    && at == 0
                    && self.variables.values(name).is_empty()
                    && parts.get(1).is_none_or(
                        |next| matches!(next, Part::Text { text, .. } if text.starts_with('/')),
                    ) =>
                {
                    vec![Next::Home]
                }
                Part::Variable {
                    name,
                    change,
                    quoted,
                } => self.variable(name, change, *quoted),
            };
            if builds.len() * nexts.len() > MAX_ALTERNATIVES {
                return vec![vec![Word {
                    span,
                    ..Word::computed()
                }]];
            }
            let is_open_word = |word: &Word| {
                matches!(word.openness, Openness::Operand(_) | Openness::Computed(..))
            };
            let is_open = |next: &Next| match next {
                Next::Open(_, openness) => {
                    matches!(openness, Openness::Operand(_) | Openness::Computed(..))
                }
                Next::Words(words, _) => words.iter().any(is_open_word),
                _ => false,
            };
            let nexts = if nexts.iter().any(is_open)
                && *is_glued.get_or_insert_with(|| self.is_glued(parts))
            {
                self.glued = true;
                let emptied = |next| match next {
                    Next::Words(mut words, whole) => {
                        words.retain(|word| !is_open_word(word));
                        Next::Words(words, whole)
                    }
                    next if is_open(&next) => Next::Text(CompactString::default(), false),
                    next => next,
                };
                if self.empties {
                    nexts.into_iter().map(emptied).collect()
                } else {
                    nexts
                }
            } else {
                nexts
            };
            let splits = self.variables.separators;
            let vanishes = may_vanish(part);
            builds = builds
                .iter()
                .flat_map(|build| {
                    nexts.iter().map(move |next| {
                        let mut build = build.clone();
                        build.is_kept = !vanishes;
                        build.add(next, splits);
                        build.stays |= build.is_kept;
                        build
                    })
                })
                .collect();
        }
        let mut made: Vec<Vec<Word>> = builds
            .into_iter()
            .map(|build| build.finish(span.clone()))
            .collect();
        for word in made
            .iter_mut()
            .flatten()
            .filter(|word| matches!(word.openness, Openness::Files(_)))
        {
            word.vanishes |= self.nulls_patterns;
            // To zsh, a pattern that fits no file is an error.
            self.may_skip |= self.shell == Shell::Zsh;
        }
        let globs = Globs {
            hidden: self.globs.hidden || self.variables.is_set("GLOBIGNORE"),
            ..self.globs
        };
        if globs != Globs::default() {
            let is_pattern = |word: &Word| match word.openness {
                Openness::Files(_) => true,
                Openness::Operand(at) => word
                    .text
                    .get(at..)
                    .is_some_and(|text| text.starts_with(['*', '?', '['])),
                _ => false,
            };
            for words in made.iter_mut() {
                let also = words
                    .iter()
                    .filter(|word| is_pattern(word))
                    .flat_map(|word| globs.also(word));
                words.extend(also.collect::<Vec<_>>());
            }
        }
        made
    }

    /// What a `~` stands for: never several words.
    fn tilde(&mut self, tilde: &Tilde) -> Vec<Next> {
        let whole = |it: Resolved| Next::Value(it.text, true);
        match tilde {
            Tilde::Home
                if !self.variables.is_set("HOME") && !self.variables.is_as_given("HOME") =>
            {
                vec![Next::Home]
            }
            Tilde::Home => self.variable("HOME", &Change::None, true),
            Tilde::User(name) => self
                .variables
                .home_of(name)
                .into_iter()
                .map(whole)
                .collect(),
            Tilde::Here => self.variable("PWD", &Change::None, true),
            Tilde::Before => self.variable("OLDPWD", &Change::None, true),
        }
    }

    /// What a substitution may give.
    fn substitution(&self, list: &List, quoted: bool) -> Vec<Next> {
        vec![match self.output(list) {
            Output::Constant(text) => Next::Value(text.into(), quoted),
            Output::Perhaps(text) => {
                return vec![
                    Next::Value(text.into(), quoted),
                    Next::Value(CompactString::default(), quoted),
                ];
            }
            Output::Operands => {
                let text = output::found_name(list)
                    .map(|name| format_compact!("{}/{name}", output::FOUND));
                Next::Open(text.unwrap_or_else(|| "$(…)".into()), Openness::Operand(0))
            }
            Output::Branch => Next::Open(BRANCH.into(), Openness::Operand(0)),
            // Where a shell splits at other signs, it is more than one name.
            Output::Scratch if !self.variables.splits_oddly() => {
                Next::Open(SCRATCH.into(), Openness::Operand(0))
            }
            Output::Scratch => Next::Open("$(…)".into(), Openness::Operand(0)),
            // Where it is another directory, the path isn't told.
            Output::Directory => {
                let is_first =
                    self.directories == Directories::First && !self.variables.splits_oddly();
                let text = if is_first { DIRECTORY } else { "$(…)" };
                Next::Open(text.into(), Openness::Operand(0))
            }
            Output::Anything => Next::Open("$(…)".into(), Openness::Computed(0, !quoted)),
        }]
    }

    /// Whether a word would be an option or a plain name if the expansions in it were empty:
    /// `--exec$x`, `pu${x}sh`. An option's value isn't asked for: `--since=$x` says the same.
    fn is_glued(&self, parts: &[&Part]) -> bool {
        if parts.len() < 2 {
            return false;
        }
        let (mut rest, mut begins_open) = (String::new(), false);
        for part in parts {
            match part {
                Part::Text { text, .. } => rest.push_str(text),
                // Which element stands where isn't known.
                Part::Variable { name, .. } if self.variables.is_uneven(name) => return true,
                Part::Variable { name, .. } => match self.variables.values(name).as_slice() {
                    [value, ..]
                        if value.openness == Openness::Constant && self.set_names.has(name) =>
                    {
                        rest.push_str(&value.text);
                    }
                    _ => begins_open |= rest.is_empty(),
                },
                Part::Command { .. } => begins_open |= rest.is_empty(),
                _ => return false,
            }
        }
        let is_name = || {
            rest.bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
        };
        // `$dir-old` is a name with an end, and no program has so many letters in one word.
        let is_option =
            rest.starts_with("--") || rest.starts_with('-') && (!begins_open || rest.len() < 4);
        rest.len() > 1 && !rest.ends_with('=') && (is_option || !rest.starts_with('-') && is_name())
    }

    /// What the commands of a substitution print.
    pub(super) fn output(&self, list: &List) -> Output {
        if let Some(text) = self.shown_document(list) {
            return Output::Constant(text);
        }
        let values = |name: &str| match is_positional(name) {
            true => self.given(name),
            false if tells_what_ran(name) => vec![Resolved::computed()],
            false => self.values_here(name),
        };
        output::of(
            list,
            Known {
                shell: self.shell,
                variables: &self.variables,
                values: &values,
            },
        )
    }

    /// What `cat` prints that is given a here-document and nothing else.
    fn shown_document(&self, list: &List) -> Option<String> {
        let [Pipeline { stages, .. }] = list.0.as_slice() else {
            return None;
        };
        let [stage] = &**stages else { return None };
        let Node::Simple { assigns, words } = &stage.node else {
            return None;
        };
        let (
            [name],
            [
                Redirect {
                    kind: RedirectKind::HereDocument(at),
                    ..
                },
            ],
        ) = (&**words, &*stage.redirects)
        else {
            return None;
        };
        let is_cat =
            assigns.is_empty() && name.plain() == Some("cat") && !self.variables.redefines("cat");
        match self
            .document(
                &self
                    .documents
                    .as_deref()?
                    .get(*at)
                    .filter(|_| is_cat)?
                    .parts,
            )
            .0
        {
            Input::Text(text) => Some(text.trim_end_matches('\n').to_string()),
            _ => None,
        }
    }

    /// What a here-document with these parts gives to read, and its text, in which `…` is what only
    /// the run tells.
    pub(super) fn document(&self, parts: &[Part]) -> (Input, Rc<str>) {
        let mut made = Resolved::empty();
        let known = |text: &str, openness| Resolved {
            text: text.into(),
            openness,
        };
        for part in parts {
            let value = match part {
                Part::Text { text, .. } => known(text, Openness::Constant),
                Part::Arithmetic { .. } => known("0", Openness::Operand(0)),
                Part::Command { list, .. } => match self.output(list) {
                    Output::Constant(text) => known(&text, Openness::Constant),
                    Output::Operands | Output::Branch | Output::Directory | Output::Scratch => {
                        known(OPERAND, Openness::Operand(0))
                    }
                    Output::Perhaps(_) | Output::Anything => Resolved::computed(),
                },
                Part::Variable {
                    name,
                    change: Change::None,
                    ..
                } if is_variable(name) && !tells_what_ran(name) => {
                    match self.variables.values(name).as_slice() {
                        [] if name == "HOME" => known("$HOME", Openness::Operand(0)),
                        // The text that is made may set the same name to something else.
                        [] => known(&format!("${{outer_{name}}}"), Openness::Operand(0)),
                        [value] if value.openness == Openness::Constant => value.clone(),
                        [
                            Resolved {
                                openness: Openness::Operand(_),
                                text,
                            },
                        ] => known(&as_operand(text), Openness::Operand(0)),
                        _ => Resolved::computed(),
                    }
                }
                _ => Resolved::computed(),
            };
            made = made.then(&value);
        }
        let text: Rc<str> = made.text.into();
        let input = match made.openness {
            Openness::Constant => Input::Text(Rc::clone(&text)),
            Openness::Operand(_) => Input::Completed(Rc::clone(&text)),
            _ => Input::Computed,
        };
        (input, text)
    }

    /// The values that a name may have where the walk is: before the text sets it, it is what the
    /// caller has set.
    pub(super) fn values_here(&self, name: &str) -> Vec<Resolved> {
        let mut values = self.variables.values(name);
        if self.variables.is_set(name) && !self.set_names.has(name) {
            let given = self.variables.values_given(name);
            if !given.is_empty() {
                values.extend(
                    given
                        .into_iter()
                        .filter(|it| !values.contains(it))
                        .collect::<Vec<_>>(),
                );
                return values;
            }
        }
        if self.variables.is_as_given(name) {
            return values;
        }
        let begins_known = |value: &Resolved| {
            value.openness.from() != Some(0)
                || value.text.starts_with(DIRECTORY)
                || value.text.starts_with(SCRATCH)
        };
        if !values.is_empty() && !self.set_names.has(name) && values.iter().all(begins_known) {
            values.push(Resolved::operand(format_compact!("${{{name}}}")));
        }
        values
    }

    /// The values of `$1`, `$@` and the like; none if the caller of the whole text gives them.
    fn given(&self, name: &str) -> Vec<Resolved> {
        if self.variables.sets_given(self.shell) {
            return vec![Resolved::computed()];
        }
        let Some(given) = &self.positional else {
            return Vec::new();
        };
        let resolved = |word: &Word| Resolved {
            text: word.text.clone(),
            openness: word.openness,
        };
        match name.parse::<usize>() {
            Ok(0) => self.zero.iter().map(resolved).collect(),
            Ok(at) => given
                .nth(at)
                .map(|word| word.as_ref().map_or_else(Resolved::empty, resolved))
                .collect(),
            Err(_) => match given
                .all()
                .map(|words| <[Word; 1]>::try_from(words.to_vec()))
                .collect()
            {
                Ok::<Vec<_>, _>(single) => single.iter().map(|[word]| resolved(word)).collect(),
                Err(_) => vec![Resolved::computed()],
            },
        }
    }

    /// `"$*"`: one word of several, with blanks in between.
    fn joined(&self, words: &[Word]) -> Next {
        let (mut text, mut openness) = (CompactString::default(), Openness::Constant);
        for (at, word) in words.iter().enumerate() {
            if at > 0 {
                text.push(' ');
            }
            openness = join(text.len(), openness, word.openness);
            text.push_str(&word.text);
        }
        match openness {
            _ if self.variables.separators => Next::Open(text, Openness::Computed(0, false)),
            Openness::Constant => Next::Value(text, true),
            openness => Next::Open(text, openness),
        }
    }

    fn joined_elements(&self, name: &str, elements: Vec<Resolved>) -> Next {
        // An empty expansion leaves no blank in the word.
        match self.variables.is_uneven(name) {
            true => Next::Open(format_compact!("${{{name}}}"), Openness::Computed(0, false)),
            false => self.joined(&whole(elements)),
        }
    }

    /// The elements of an array, and those that are left where a pattern that fits no file has
    /// become none.
    fn all_elements(&self, elements: Vec<Resolved>, quoted: bool) -> Vec<Next> {
        let is_pattern = |element: &Resolved| matches!(element.openness, Openness::Files(_));
        let left = (self.nulls_patterns && elements.iter().any(is_pattern)).then(|| {
            elements
                .iter()
                .filter(|it| !is_pattern(it))
                .cloned()
                .collect()
        });
        std::iter::once(elements)
            .chain(left)
            .map(|elements| self.words(whole(elements), quoted))
            .collect()
    }

    /// Words that an expansion gives. Zsh splits none of them, and makes no word of nothing.
    fn words(&self, mut words: Vec<Word>, quoted: bool) -> Next {
        if self.shell != Shell::Zsh || quoted {
            return Next::Words(words, quoted);
        }
        words.retain(|word| !word.is_constant() || !word.text.is_empty());
        Next::Words(words, true)
    }

    /// What `${name%pattern}` and the like make of a value, if all that the name may be and the
    /// operand are known.
    fn edited(&mut self, name: &str, change: &Change, quoted: bool) -> Option<Vec<Resolved>> {
        let is_given = self.variables.is_as_given(name);
        let is_known = is_variable(name)
            && !tells_what_ran(name)
            && (self.shell.is_bash_or_dash() || is_given);
        if !is_known || !(is_given || self.set_names.has(name)) || self.variables.is_array(name) {
            return None;
        }
        let (operand, edit) = edit_of(change, quoted)?;
        let values = self.variables.values(name);
        let work = values.iter().map(|it| cutting_work(it, &operand)).sum();
        if !values.iter().all(is_short_constant) || !self.spend(work) {
            return None;
        }
        values
            .into_iter()
            .map(|it| it.edited(&operand, edit))
            .collect()
    }

    fn variable(&mut self, name: &str, change: &Change, quoted: bool) -> Vec<Next> {
        let left = match change {
            Change::Cut { edit: Some(_), .. } | Change::Replace(_) => {
                self.edited(name, change, quoted)
            }
            _ => None,
        };
        // What is left of a path is another one: only `$PWD` itself is the directory, and `$SHELL`
        // a shell.
        let is_part = match name {
            "PWD" => self.variables.splits_oddly() || !matches!(change, Change::None),
            "SHELL" => !matches!(change, Change::None),
            // What is made of it may be any directory.
            _ => !matches!(change, Change::None) && self.variables.is_as_given(name),
        };
        let mark = if is_part { "#" } else { "" };
        let open = |openness| vec![Next::Open(format_compact!("${{{name}{mark}}}"), openness)];
        let values = |values: Vec<Resolved>| -> Vec<Next> {
            values
                .into_iter()
                .map(|value| match value.openness {
                    Openness::Constant => Next::Value(value.text, quoted),
                    Openness::Operand(_)
                        if !quoted && self.shell != Shell::Zsh && value.text.contains(BLANKS) =>
                    {
                        Next::Words(cut(&value.text), false)
                    }
                    Openness::Computed(at, _) => {
                        Next::Open(value.text, Openness::Computed(at, !quoted))
                    }
                    // A name with a blank in it becomes two words.
                    Openness::Files(at) if !quoted && self.shell != Shell::Zsh => {
                        Next::Open(value.text, Openness::Operand(at))
                    }
                    openness => Next::Open(value.text, openness),
                })
                .collect()
        };
        // Whatever has a name may have a default: `${1:---force}`.
        if let Change::Default(parts) | Change::Other(parts) | Change::Assign(parts) = change {
            let mut nexts = self.variable(name, &Change::None, quoted);
            let parts: Vec<&Part> = parts.iter().collect();
            nexts.extend(
                self.build(&parts, None, true)
                    .into_iter()
                    .map(|words| Next::Words(words, true)),
            );
            return nexts;
        }
        if let Some(left) = left {
            return values(left);
        }
        if let Change::Replace(parts) = change
            && puts_in_more_than_a_name(parts)
        {
            return vec![Next::Open(
                format_compact!("${{{name}/-…}}"),
                Openness::Computed(0, !quoted),
            )];
        }
        let name = if name == "argv" && self.shell == Shell::Zsh && self.positional.is_some() {
            "@"
        } else {
            name
        };
        if is_positional(name) && self.shell != Shell::Other {
            return match &self.positional {
                _ if self.variables.sets_given(self.shell) => open(Openness::Computed(0, true)),
                // What the whole text was given is an operand; nobody but the caller sets it.
                None => open(Openness::Operand(0)),
                Some(given) if matches!(change, Change::None) => match name.parse::<usize>() {
                    Ok(0) => match &self.zero {
                        Some(word) => vec![Next::Words(vec![word.clone()], quoted)],
                        None => open(Openness::Operand(0)),
                    },
                    Ok(at) => given
                        .nth(at)
                        .map(|word| match word {
                            Some(word) => self.words(vec![word], quoted),
                            None => Next::Value(CompactString::default(), quoted),
                        })
                        .collect(),
                    Err(_) if quoted && name == "*" => {
                        given.all().map(|words| self.joined(words)).collect()
                    }
                    Err(_) => given
                        .all()
                        .map(|words| self.words(words.to_vec(), quoted))
                        .collect(),
                },
                Some(_) => open(Openness::Computed(0, !quoted)),
            };
        }
        // How it sets one isn't known: `set x --force`.
        if tells_what_ran(name) || self.shell == Shell::Other {
            return open(Openness::Computed(0, !quoted));
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
                ("*", Some(elements)) if quoted => vec![self.joined_elements(name, elements)],
                ("@" | "*", Some(elements)) => {
                    let mut found = self.all_elements(elements, quoted);
                    if !self.set_names.has(name) {
                        found.push(Next::Words(Vec::new(), quoted));
                    }
                    found
                }
                // Zsh counts from one.
                (index, Some(_)) => match index.parse::<usize>() {
                    Ok(0) if self.shell == Shell::Zsh => open(Openness::Computed(0, true)),
                    Ok(at) => match self
                        .variables
                        .element(name, at - usize::from(self.shell == Shell::Zsh))
                    {
                        none if none.is_empty() => open(Openness::Operand(0)),
                        found => {
                            let mut found = values(found);
                            if !self.set_names.has(name) {
                                found.extend(open(Openness::Operand(0)));
                            }
                            found
                        }
                    },
                    Err(_) => open(Openness::Computed(0, true)),
                },
                ("@" | "*" | grammar::KEYS, None) if self.variables.is_set(name) => {
                    open(Openness::Computed(0, true))
                }
                (_, None) if self.variables.is_set(name) => open(Openness::Computed(0, !quoted)),
                (_, None) => open(Openness::Operand(0)),
            },
            Change::None if self.shell == Shell::Zsh && self.variables.is_array(name) => {
                match self.variables.elements(name) {
                    Some(elements) if quoted => vec![self.joined_elements(name, elements)],
                    Some(elements) => self.all_elements(elements, false),
                    None => open(Openness::Computed(0, true)),
                }
            }
            Change::Default(_) | Change::Other(_) | Change::Assign(_) => {
                open(Openness::Computed(0, !quoted))
            }
            Change::None => match self.values_here(name) {
                found if self.shell == Shell::Zsh && !found.is_empty() => {
                    // Zsh doesn't split, and makes no word of nothing.
                    let whole = |next| match next {
                        Next::Value(text, stays) => {
                            let stays = stays || !text.is_empty();
                            Next::Value(text, stays)
                        }
                        next => next,
                    };
                    values(found).into_iter().map(whole).collect()
                }
                none if none.is_empty() => open(Openness::Operand(0)),
                found => values(found),
            },
            Change::Replace(_) | Change::Cut { .. } if self.variables.is_array(name) => {
                open(Openness::Computed(0, true))
            }
            Change::Replace(_) | Change::Cut { .. } => {
                let is_given = self.variables.is_as_given(name);
                match !is_given && self.variables.values(name).iter().any(begins_option_if_cut) {
                    true => open(Openness::Computed(0, !quoted)),
                    false => open(Openness::Operand(0)),
                }
            }
        }
    }
}

/// How an operand that isn't known stands in the text for another shell. In quotes it is a constant
/// there, and no path.
const OPERAND: &str = "operand…";

/// A text as code for a shell in which what is open is an operand.
pub(super) fn as_operand(text: &str) -> String {
    let whole = text
        .replace(output::FOUND, "…")
        .replace("$((…))", "0")
        .replace("$(…)", "…");
    whole.replace('…', OPERAND)
}

/// What a shell cuts values at, unless the text sets IFS.
const BLANKS: [char; 3] = [' ', '\t', '\n'];

/// The words that the shell makes of a value in which what isn't constant stands as it is written.
/// The first or the last is empty if the value begins or ends with a blank.
fn cut(text: &str) -> Vec<Word> {
    let (begins, ends) = (text.starts_with(BLANKS), text.ends_with(BLANKS));
    let pieces = text.split(BLANKS).filter(|piece| !piece.is_empty());
    let word = |text: &str| {
        let openness = text
            .find(['$', '…', '*', '?', '['])
            .map_or(Openness::Constant, Openness::Operand);
        Word {
            text: text.into(),
            openness,
            ..Word::default()
        }
    };
    let empty = |is_there: bool| is_there.then(Word::default);
    empty(begins)
        .into_iter()
        .chain(pieces.map(word))
        .chain(empty(ends))
        .collect()
}

/// The elements of an array as words that stay whole.
fn whole(elements: Vec<Resolved>) -> Vec<Word> {
    let word = |it: Resolved| Word {
        text: it.text,
        openness: it.openness,
        quoted: true,
        ..Word::default()
    };
    elements.into_iter().map(word).collect()
}

/// Whether nothing is left of a part whose value is empty.
fn may_vanish(part: &Part) -> bool {
    match part {
        Part::Variable { name, quoted, .. } => {
            (is_variable(name) || is_positional(name)) && !quoted || name == "@"
        }
        Part::Command { quoted, .. } => !quoted,
        Part::Text { .. }
        | Part::Tilde(_)
        | Part::Glob(_)
        | Part::Brace(_)
        | Part::Range(_)
        | Part::Process { .. }
        | Part::Arithmetic { .. } => false,
    }
}

/// A word under construction.
#[derive(Clone, Default)]
struct Build {
    done: Vec<Word>,
    text: CompactString,
    openness: Openness,
    started: bool,
    quoted: bool,
    home: bool,
    found: bool,
    /// Whatever is expanded in it, it is a word.
    stays: bool,
    /// The part that is being added keeps it one.
    is_kept: bool,
}

/// The next piece of a word.
enum Next {
    Text(CompactString, bool),
    Home,
    /// A constant value, split unless quoted.
    Value(CompactString, bool),
    Open(CompactString, Openness),
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
                    self.openness =
                        join(self.text.len(), self.openness, Openness::Computed(0, true));
                    self.text.push_str(text);
                    self.started = true;
                    return;
                }
                if text.starts_with(BLANKS) {
                    self.flush();
                }
                let mut pieces = text
                    .split(BLANKS)
                    .filter(|piece| !piece.is_empty())
                    .peekable();
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
                if text.ends_with(BLANKS) {
                    self.flush();
                }
            }
            Next::Words(words, whole) => {
                for (at, word) in words.iter().enumerate() {
                    if at > 0 {
                        self.flush();
                    }
                    match word.openness {
                        Openness::Constant => {
                            self.add(&Next::Value(word.text.clone(), *whole), separators)
                        }
                        Openness::Operand(_) if !whole && word.text.contains(BLANKS) => {
                            self.add(&Next::Words(cut(&word.text), false), separators);
                        }
                        // A name with a blank in it becomes two words.
                        Openness::Files(at) if !whole => {
                            self.add(
                                &Next::Open(word.text.clone(), Openness::Operand(at)),
                                separators,
                            );
                        }
                        openness => self.add(&Next::Open(word.text.clone(), openness), separators),
                    }
                    self.home |= word.home;
                    self.found |= word.found;
                }
            }
        }
    }

    fn flush(&mut self) {
        let stays = std::mem::take(&mut self.stays) || self.is_kept;
        let is_something = !self.text.is_empty()
            || self.quoted
            || self.openness != Openness::Constant
            || self.home;
        if self.started && is_something {
            let is_open = self.openness.from() == Some(0);
            self.done.push(Word {
                text: std::mem::take(&mut self.text),
                span: None,
                openness: std::mem::take(&mut self.openness),
                home: std::mem::take(&mut self.home),
                quoted: std::mem::take(&mut self.quoted),
                vanishes: is_open && !stays,
                assigned: false,
                found: std::mem::take(&mut self.found),
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

/// A word as a shell reads it that knows no braces: they are plain signs. Nothing if more than text
/// stands beside them.
fn as_written(parts: &[Part]) -> Option<String> {
    let mut word = String::new();
    for part in parts {
        match part {
            Part::Text { text, .. } => word.push_str(text),
            Part::Range(text) => word.extend(["{", text, "}"]),
            Part::Brace(alternatives) => {
                let texts: Option<Vec<String>> =
                    alternatives.iter().map(|parts| as_written(parts)).collect();
                word.extend(["{", &texts?.join(","), "}"]);
            }
            _ => return None,
        }
    }
    Some(word)
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
