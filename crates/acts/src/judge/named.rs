//! Whether code that the text doesn't show may be what its constants say: where they name what a
//! rule names.

use super::super::names::is_of_name;
use super::super::programs::Names;
use super::super::{RunFile, Script, Shell, Span, read};
use super::covers::is_excepted;
use super::*;
use std::cell::OnceCell;
use std::collections::HashMap;

impl Stage {
    /// Whether a command that may run its words, or what they say, names what the pattern names:
    /// `gosu root sh`, `awk '{ print | "sh" }'`.
    pub(super) fn may_be_run_by(&self, command: &Command) -> bool {
        let is_text = |word: &Word| word.text.contains([' ', ':', '"', '|', '(']);
        // `-s sh` is an option's value.
        let is_place = |before: &str| before == "--" || !before.starts_with('-');
        let names = |at: usize| {
            let (word, before) = (&command.words[at], &command.words[at - 1]);
            let may_start =
                word.is_constant() && is_place(&before.text) && self.may_begin_with(word, true);
            is_text(word) && self.is_named_in(&word.text, Some(&[]))
                || may_start && self.hits(&command.from(at), true) != Held::No
        };
        let is_many = || {
            command
                .words
                .iter()
                .filter(|word| self.may_begin_with(word, true))
                .count()
                > MAX_STARTS
        };
        command.runs_words
            && !command.shell_text
            && !self.program.contains('*')
            && (is_many() || (1..command.words.len()).any(names))
            || command.builds_code && self.program == "sh"
    }

    /// Whether a text that may end up as code names what the pattern names, in order. `beside`:
    /// constants that the code may be given.
    pub(super) fn is_named_in(&self, text: &str, beside: Option<&[&str]>) -> bool {
        // What it is given beside its own words.
        let beside: Option<Vec<&str>> = beside.map(|beside| {
            beside
                .iter()
                .copied()
                .filter(|it| !it.contains(text))
                .collect()
        });
        let is_named = |text: &str| self.is_named_as_written(text, beside.as_deref());
        let is_read_as = |text: &str| {
            is_named(text) || without_inner_quotes(text).is_some_and(|text| is_named(&text))
        };
        let is_expanded_to = |text: &str| {
            let expands = text.contains(['$', '`']);
            let beside = beside.as_deref().unwrap_or_default();
            expands && (is_read_as(&expanded(text, beside)) || is_read_as(&with_nothing_set(text)))
        };
        // What reads it may take backslashes away: TAR_OPTIONS, a second shell.
        let bare = |text: &str| text.replace("\\\n", "").replace('\\', "");
        let taken_off = text.contains('\\').then(|| bare(text));
        // `"git\tpush"` of another language; what prints a text so is beside it as well.
        let decoded = || bare(&text.replace("\\t", "\t").replace("\\n", "\n"));
        let has_blanks = ["\\t", "\\n"].iter().any(|it| text.contains(it));
        std::iter::once(text)
            .chain(taken_off.as_deref())
            .any(|text| is_read_as(text) || is_expanded_to(text))
            || has_blanks && self.is_named_as_written(&decoded(), Some(&[]))
    }

    pub(super) fn is_named_as_written(&self, text: &str, beside: Option<&[&str]>) -> bool {
        if self.program.contains('*') {
            return false;
        }
        named_at(text, &self.program).any(|at| {
            let rest = &text[at + self.program.len()..];
            !is_prose(text, at)
                && (self.rest_is_named_in(rest) || self.is_put_together_in(text, at, beside))
        })
    }

    /// Whether a script of awk or sed names the program and its sub-commands and runs them with
    /// what its input gives.
    pub(super) fn is_built_in(&self, text: &str) -> bool {
        let ends_open = |before: &str, rest: &str| match rest.find('"') {
            // A string of awk is joined with whatever stands behind it.
            Some(_) if before.matches('"').count().is_multiple_of(2) => false,
            Some(end) => {
                let behind = rest[end + 1..].trim_start();
                behind.starts_with(|c: char| c.is_alphanumeric() || "_$\"(".contains(c))
            }
            // The command of a sed is the line that it has made.
            None => true,
        };
        named_at(text, &self.program).any(|at| {
            let rest = &text[at + self.program.len()..];
            !follows_command_of_sed(text[..at].trim_end())
                && ends_open(&text[..at], rest)
                && self.sub_commands_named_in(rest).is_some()
        })
    }

    /// Whether code that names the program puts its words together from what it holds elsewhere:
    /// `["git", *args]`, `f"git push {option}"`, `git push $(FLAGS)`; or from what it may be given.
    pub(super) fn is_put_together_in(
        &self,
        text: &str,
        at: usize,
        beside: Option<&[&str]>,
    ) -> bool {
        let behind = &text[at + self.program.len()..];
        let line = behind.find('\n').map_or(behind, |end| &behind[..end]);
        let is_literal = behind.starts_with(['"', '\'']) && text[..at].ends_with(['"', '\'']);
        // A string that ends in a blank is the beginning of a longer one.
        let goes_on = line.contains(['$', '{', '%', '@'])
            || [" \"", " '"].iter().any(|end| line.contains(end));
        let is_open = is_literal || goes_on;
        let Some(beside) = beside.filter(|_| text.len() <= MAX_CODE) else {
            return is_open;
        };
        // What runs a line may give it more: npm what follows `--`. It doesn't give it the other
        // lines.
        let own = if is_open { text } else { line };
        let words = || {
            let is_end = |c: char| c.is_whitespace() || "\"',[]();`{}".contains(c);
            let texts = std::iter::once(&own)
                .chain(beside)
                .flat_map(move |text| text.split(is_end));
            texts
                .flat_map(|word| word.split('='))
                .filter(|word| word.len() > 1)
        };
        let is_there = |operand: &Operand| {
            let names = operand.names.iter().copied().chain([operand.glob.as_str()]);
            operand.glob.contains('*') && is_open
                || names
                    .into_iter()
                    .any(|name| words().any(|word| glob(name, word)))
        };
        let n_parts = self.commands.min(self.operands.len()) + self.options.len();
        n_parts > 0
            && self.operands.iter().take(self.commands).all(is_there)
            && self.options.iter().all(|option| {
                words().any(|word| {
                    word.starts_with('-') && option.is(word, self.deepest())
                        || option.operands.iter().any(|operand| glob(operand, word))
                })
            })
    }

    /// What follows the pattern's sub-commands, if a text names them.
    pub(super) fn sub_commands_named_in<'t>(&self, rest: &'t str) -> Option<&'t str> {
        let mut end = rest.len().min(2048);
        while !rest.is_char_boundary(end) {
            end -= 1;
        }
        let mut rest = &rest[..end];
        for operand in self
            .operands
            .iter()
            .filter(|operand| operand.glob != "*")
            .take(self.commands.max(1))
        {
            if operand.glob.contains('*') {
                let is_end = |c: char| !(c.is_alphanumeric() || "-_.:/+".contains(c));
                if !rest.split(is_end).any(|word| glob(&operand.glob, word)) {
                    return None;
                }
                continue;
            }
            let names: Vec<&str> = if operand.names.is_empty() {
                vec![operand.glob.as_str()]
            } else {
                operand.names.clone()
            };
            let next = names.iter().filter_map(|name| {
                memchr::memmem::find_iter(rest.as_bytes(), name)
                    .map(|at| (at, at + name.len()))
                    .find(|(at, end)| is_whole(rest, *at, *end))
            });
            match next.min() {
                Some((at, end)) if at <= 96 => rest = &rest[end..],
                _ => return None,
            }
        }
        Some(rest)
    }

    pub(super) fn rest_is_named_in(&self, rest: &str) -> bool {
        let Some(rest) = self.sub_commands_named_in(rest) else {
            return false;
        };
        let mut end = rest.len().min(400);
        while !rest.is_char_boundary(end) {
            end -= 1;
        }
        let words: Vec<&str> = rest[..end]
            .split(|c: char| c.is_whitespace() || "\"',[]{}();`<>|&".contains(c))
            .filter(|word| !word.is_empty())
            .collect();
        self.options.iter().all(|option| {
            words.iter().any(|word| {
                word.len() > 1 && word.starts_with('-') && option.is(word, self.deepest())
                    || option
                        .operands
                        .iter()
                        .any(|operand| word.len() > 1 && glob(operand, word))
            })
        })
    }
}

/// Variables that make sets for each rule.
pub(super) const AUTOMATIC_NAMES: [&str; 6] = ["@", "*", "<", "^", "+", "?"];

/// A text as make and others expand it: each of its variables is what the text, or a constant
/// beside it, sets that to, and nothing if neither does; a function is what it is given.
pub(super) fn expanded(text: &str, beside: &[&str]) -> String {
    let mut settings: HashMap<&str, String> = HashMap::new();
    let has_automatic = text
        .as_bytes()
        .windows(2)
        .any(|pair| pair[0] == b'$' && b"@*<^+?".contains(&pair[1]));
    for line in std::iter::once(&text)
        .chain(beside)
        .flat_map(|text| text.lines())
    {
        // `$@` is the target of a rule, `$^` what it is made of.
        if let Some((targets, parts)) = line.split_once(':').filter(|_| has_automatic) {
            let parts = parts.split(';').next().unwrap_or_default();
            AUTOMATIC_NAMES.iter().for_each(|name| {
                settings
                    .entry(name)
                    .or_default()
                    .extend([" ", targets, " ", parts])
            });
        }
        let Some((before, value)) = line.split_once('=') else {
            continue;
        };
        let before = before.trim_end_matches([':', '+', '?', ' ', '\t']);
        let name = before.rsplit(|c| !is_of_name(c)).next().unwrap_or_default();
        if !name.is_empty() {
            let known = settings.entry(name).or_default();
            known.extend([" ", value.trim().trim_matches(['"', '\''])]);
        }
    }
    let mut expanded = text.to_string();
    // A value holds variables in turn.
    for _ in 0..3 {
        if !expanded.contains('$') || expanded.len() > 2 * MAX_CODE {
            break;
        }
        expanded = expanded_once(&expanded, &settings);
    }
    expanded
}

/// A text as a shell expands it in which nothing is set, and whose substitutions print nothing.
pub(super) fn with_nothing_set(text: &str) -> String {
    let outside = text
        .split('`')
        .enumerate()
        .filter(|(at, _)| at % 2 == 0)
        .map(|(_, piece)| piece);
    // What stands in `$(…)` runs.
    let opened = outside.collect::<String>().replace("$(", "(");
    expanded_once(&opened, &HashMap::new())
}

pub(super) fn expanded_once(text: &str, settings: &HashMap<&str, String>) -> String {
    let mut pieces = text.split('$');
    let mut made = pieces.next().unwrap_or_default().to_string();
    let set = |name: &str| settings.get(name).map_or("", |value| value.trim_start());
    for piece in pieces {
        // `$$x` is the shell's `$x`.
        let Some(first) = piece.chars().next().filter(|_| made.len() < 2 * MAX_CODE) else {
            continue;
        };
        let close = match first {
            '(' => ')',
            '{' => '}',
            _ => {
                let name = piece
                    .find(|c| !is_of_name(c))
                    .map_or(piece, |end| &piece[..end]);
                let name = if settings.contains_key(name) {
                    name
                } else {
                    &piece[..first.len_utf8()]
                };
                made.push_str(set(name));
                made.push_str(&piece[name.len()..]);
                continue;
            }
        };
        let inner = &piece[1..];
        let (inner, rest) = inner.split_once(close).unwrap_or((inner, ""));
        let name_end = inner.find(|c| !is_of_name(c)).unwrap_or(inner.len());
        let default = inner[name_end..]
            .trim_start_matches(':')
            .strip_prefix(['-', '=', '+']);
        match (inner.split_once(' '), default) {
            // A shell's `${x:-git}`
            (_, Some(default)) if first == '{' => made.push_str(default),
            (Some((_, given)), _) => made.push_str(&given.replace(',', " ")),
            (None, _) => made.push_str(set(inner)),
        }
        made.push_str(rest);
    }
    made
}

/// A text without the quotes in its words, as a shell reads it: `push` for `pu""sh`. Nothing if
/// there are none.
pub(super) fn without_inner_quotes(text: &str) -> Option<String> {
    let is_quote = |c: char| matches!(c, '"' | '\'');
    let is_of_word = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '+');
    let mut made = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let begins_inside = made.ends_with(is_of_word)
            && rest
                .peek()
                .is_some_and(|next| is_of_word(*next) || is_quote(*next));
        if !(is_quote(c) && begins_inside) {
            made.push(c);
        }
    }
    (made.len() < text.len()).then_some(made)
}

/// Where a name stands as a word of its own.
pub(super) fn named_at<'t>(text: &'t str, name: &'t str) -> impl Iterator<Item = usize> {
    memchr::memmem::find_iter(text.as_bytes(), name)
        .filter(move |at| is_whole(text, *at, *at + name.len()))
}

pub(super) fn is_whole(text: &str, from: usize, to: usize) -> bool {
    let is_part =
        |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    let bytes = text.as_bytes();
    let begins = !is_part(from.checked_sub(1).and_then(|at| bytes.get(at)))
        || follows_command_of_sed(&text[..from]);
    begins && !is_part(bytes.get(to))
}

/// Whether a name stands in a sentence: `# Try to find it`. What runs a program is called
/// otherwise.
pub(super) fn is_prose(text: &str, at: usize) -> bool {
    static BEFORE: Names = Names::new("sentence");
    let before = text[..at].trim_end_matches([' ', '\t']);
    let word = before
        .rsplit(|c: char| !c.is_alphanumeric())
        .next()
        .unwrap_or_default();
    before.len() < at && BEFORE.has(word)
}

/// Whether a text ends as a command of sed does that runs or writes the rest: `1egit push`, `$agit
/// push`.
pub(super) fn follows_command_of_sed(text: &str) -> bool {
    let before = text
        .strip_suffix(['e', 'i', 'a', 'c'])
        .and_then(|address| address.chars().next_back());
    before.is_some_and(|c| c.is_ascii_digit() || "/$!,~".contains(c))
}

/// Of each word of a command, whether it is only kept: by the program itself, or by one of those
/// that it runs.
fn kept_words(command: &Command, later: &[Command]) -> Vec<bool> {
    let mut kept = programs::kept(&command.words);
    kept.resize(command.words.len(), false);
    // `npx vitest -t 'blocks rm -rf'`
    for inner in later.iter().take(MAX_STARTS) {
        let Some(start) = command.words.len().checked_sub(inner.words.len()) else {
            continue;
        };
        if start > 0 && command.words[start..] == inner.words[..] {
            let of_inner = programs::kept(&inner.words);
            for (at, _) in of_inner.iter().enumerate().filter(|(_, kept)| **kept) {
                kept[start + at] = true;
            }
        }
    }
    kept
}

/// Where a constant names what the pattern names, if it may end up as code.
pub(super) fn named_somewhere(
    stage: &Stage,
    later: &[Stage],
    unless: &[&CommandRule],
    script: &Script,
    place: &Place,
) -> Option<Span> {
    // What `kubectl exec x -- curl` prints reaches no shell if no word of the text could be one.
    let is_end = |c: char| !(c.is_alphanumeric() || "_-.+".contains(c));
    let may_start = |word: &Word, next: &Stage| {
        let is_next = |name: &str| match next.program.as_str() {
            "sh" => programs::is_shell(name) || matches!(name, "eval" | "source" | "."),
            program => program.contains('*') || name == program,
        };
        !word.is_constant() || word.text.split(is_end).any(is_next)
    };
    let words = || script.commands.iter().flat_map(|command| &command.words);
    let flows_on = later
        .iter()
        .all(|next| words().any(|word| may_start(word, next)));
    let beside = given_to_code(script);
    let builds_code = script.commands.iter().any(|command| command.builds_code);
    let is_named = |text: &str| {
        stage.is_named_in(text, beside.as_deref()) || builds_code && stage.is_built_in(text)
    };
    let is_named_in = |text: &str| {
        is_named(text) && (unless.is_empty() || is_named(&without_excepted(text, unless, place)))
    };
    for (text, at) in &script.texts {
        if is_named_in(text) {
            return Some(at.clone());
        }
    }
    for path in script.scripts_at_hand() {
        if let Some(text) = place.files.and_then(|files| files(path))
            && is_named_in(&text)
        {
            return Some(script.unseen.as_ref().map_or(0..0, |gap| gap.at.clone()));
        }
    }
    for (n, command) in script.commands.iter().enumerate() {
        if command.data {
            continue;
        }
        let kept = OnceCell::new();
        let is_kept = |at: usize| {
            let kept = kept.get_or_init(|| kept_words(command, &script.commands[n + 1..]));
            kept.get(at) == Some(&true)
        };
        if !command.shell_text
            && command.words.iter().enumerate().skip(1).any(|(at, word)| {
                word.text.len() > stage.program.len()
                    && word.text.contains([' ', '\n', '\t', '"', '('])
                    && (stage.is_named_in(&word.text, beside.as_deref())
                        || command.builds_code && stage.is_built_in(&word.text))
                    && !is_kept(at)
            })
        {
            return Some(command.span.clone());
        }
        // `src/*` is what it works on, `/usr/bin/gi?` may be the program.
        let may_be_found = |word: &Word| {
            let name = base_name(&word.text);
            name.contains(|c: char| c.is_ascii_alphanumeric())
                && meeting::may_be(name, &stage.program)
        };
        // A copy of the program under another name; `$(which git)` is where it is.
        let head = command
            .words
            .first()
            .map(|head| base_name(&head.text))
            .unwrap_or_default();
        let is_the_program = |word: &Word| match word.openness {
            Openness::Computed(..) => named_at(&word.text, &stage.program).next().is_some(),
            Openness::Files(_) => may_be_found(word),
            _ => word.text.contains('/') && base_name(&word.text) == stage.program,
        };
        if matches!(
            head,
            "cp" | "ln" | "mv" | "install" | "dd" | "rsync" | "scp"
        ) && command.words.iter().skip(1).any(is_the_program)
        {
            return Some(command.span.clone());
        }
        // An unknown program that is given a command line may run it, and a known one what follows
        // `--`.
        let starts = match command.runs_words {
            true => 1..command.words.len(),
            false => {
                let end = command.words.iter().position(|word| word.text == "--");
                end.map_or(0..0, |end| end + 1..command.words.len().min(end + 2))
            }
        };
        // A script that a shell is given is told by its path.
        let is_told = |word: &Word| {
            let is_it = |file: &RunFile| {
                let [own, file] = [word, &file.file].map(|it| it.text.trim_start_matches("./"));
                own == file
            };
            let mut files = script.run_files.iter();
            stage.directory.is_some() && files.any(|it| it.span == command.span && is_it(it))
        };
        let may_start = |word: &Word| {
            (!matches!(word.openness, Openness::Files(_)) || may_be_found(word))
                && stage.may_begin_with(word, false)
                && !is_told(word)
        };
        let starts = starts.filter(|at| {
            !stage.program.contains('*')
                && flows_on
                && may_start(&command.words[*at])
                && !is_kept(*at)
        });
        for (n_asked, at) in starts.enumerate() {
            let own = command.from(at);
            let held = match stage.directory {
                Some(_) => stage.hits_file(&own, place),
                None => stage.hits(&own, false),
            };
            if n_asked >= MAX_STARTS || held != Held::No {
                return Some(command.span.clone());
            }
        }
    }
    None
}

/// So many words of a command may each begin one that a rule is about; with more, one is taken to
/// do it.
pub(super) const MAX_STARTS: usize = 64;

/// So much code is looked through for words that could be put together; in more, any may be.
pub(super) const MAX_CODE: usize = 64 * 1024;

/// The constants that code of a text may be given: values, what it reads, and the words of what may
/// run code. Nothing if they are too many to look through.
pub(super) fn given_to_code(script: &Script) -> Option<Vec<&str>> {
    let runs_code = |command: &&Command| {
        let name = command
            .words
            .first()
            .map_or("", |head| base_name(&head.text));
        !programs::runs(name).has("data") && !programs::runs(name).has("files")
    };
    let words = script
        .commands
        .iter()
        .filter(runs_code)
        .flat_map(|command| command.words.iter().skip(1));
    let texts = script
        .texts
        .iter()
        .map(|(text, _)| text.as_str())
        .chain(words.map(|word| word.text.as_str()));
    let texts: Vec<&str> = texts.collect();
    (texts.iter().map(|text| text.len()).sum::<usize>() <= MAX_CODE).then_some(texts)
}

/// A text that may run, without the commands in it that an exception takes away wherever they run:
/// a Dockerfile without its `rm -rf /var/lib/apt/lists/*`. A text that isn't all read as a shell's
/// keeps them.
pub(super) fn without_excepted(text: &str, unless: &[&CommandRule], place: &Place) -> String {
    // A Dockerfile's RUN stands before the words of a command.
    let script = read(&text.replace("\nRUN ", "\n    "), Shell::Posix);
    if !script.names_all() {
        return text.to_string();
    }
    // Where it runs isn't known.
    let is_anywhere = |word: &Word| !word.home && word.beginning().starts_with(['-', '/']);
    let is_taken = |command: &&Command| {
        command.words.iter().skip(1).all(is_anywhere) && is_excepted(unless, command, place)
    };
    let (taken, others): (Vec<&Command>, Vec<&Command>) = script
        .commands
        .iter()
        .filter(|command| !command.is_transparent())
        .partition(is_taken);
    let mut rest = text.as_bytes().to_vec();
    for command in &taken {
        if let Some(own) = rest.get_mut(command.span.clone()) {
            own.fill(b' ');
        }
    }
    // The commands of one text for a shell stand in one place.
    for command in others {
        // Of a wrapper its name stays: what it runs is a command of its own.
        let wraps = |head: &&Word| {
            programs::wrapper_of(&programs::known(&head.text), &command.words).is_some()
        };
        let head = command.words.first().filter(wraps);
        let name = head.and_then(|head| head.span.clone());
        let is_within = taken.iter().any(|it| it.span == command.span);
        let span = name
            .filter(|_| is_within)
            .unwrap_or_else(|| command.span.clone());
        if let (Some(own), Some(text)) = (rest.get_mut(span.clone()), text.as_bytes().get(span)) {
            own.copy_from_slice(text);
        }
    }
    String::from_utf8(rest).unwrap_or_else(|_| text.to_string())
}
