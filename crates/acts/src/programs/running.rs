//! What makes a program run code, write a file or read its settings elsewhere: no `*` of a rule
//! that allows covers it.

use super::super::names::base_name;
use super::super::word::{Openness, Word, behind_expansions};
use super::files::Kind;
use super::options::{Does, Row, Style, Takes};
use super::parsed::{Given, Item};
use super::{
    Names, Parsed, git_verb, is_harmless_setting, is_harmless_ssh_option, is_plain_sed,
    is_plain_setting, may_configure_program, options, skip_delimited, skip_regex,
};

/// Options of what finds a program by its name and runs it that leave open nothing of what is run.
pub(in super::super) static PLAIN_RUNNER_OPTIONS: Names = Names::new("runner-options");

/// What a `find` comes across, as patterns of which each path fits one: `./**/build` of `find .
/// -name build`, two of `find . \( -name build -o -name dist \)`. Nothing if it says more than
/// names.
pub(in super::super) fn found_by(words: &[Word]) -> Option<Vec<Word>> {
    const MOST: usize = 16;
    static TESTS: Names = Names::new("find-tests");
    let texts: Vec<&str> = words.iter().map(Word::as_constant).collect::<Option<_>>()?;
    let [_, start, rest @ ..] = texts.as_slice() else {
        return None;
    };
    // Behind a link, `..` is another directory.
    if start.is_empty()
        || start.split('/').any(|part| part == "..")
        || start.starts_with(['-', '(', '!', '~'])
        || start.contains(['*', '?', '[', '\\'])
    {
        return None;
    }
    // The names of the alternatives in parentheses, and of the one that is read; outside of them
    // there is one.
    let (mut names, mut name, mut in_group) = (Vec::new(), None, false);
    let mut rest = rest.iter();
    while let Some(test) = rest.next() {
        match *test {
            "(" if !in_group && names.is_empty() => in_group = true,
            "-o" | "-or" if in_group => names.push(name.take()?),
            ")" if in_group => {
                names.push(name.take()?);
                in_group = false;
            }
            "-empty" | "-xdev" | "-a" | "-and" => {}
            "-print0" | "-prune" | "-depth" | "-print" if !in_group => {}
            // What follows is what is done with it; whatever stands there takes nothing away from
            // what was found.
            "-exec" | "-ok" if !in_group => break,
            "-name" => name = Some(*rest.next()?),
            test if TESTS.has(test) => {
                rest.next()?;
            }
            _ => return None,
        }
    }
    // Behind an action, another test may begin anew.
    if in_group || rest.any(|word| matches!(*word, "-o" | "-or" | "," | "!" | "-not" | "(")) {
        return None;
    }
    if names.is_empty() {
        names.extend(name);
    }
    let is_plain = |name: &&str| !name.is_empty() && !name.contains(['/', '\\']);
    if names.is_empty() || names.len() > MOST || !names.iter().all(is_plain) {
        return None;
    }
    let start = start.trim_end_matches('/');
    let found = |name: &str| Word {
        text: format!("{start}/**/{name}").into(),
        openness: Openness::Files(start.len() + 1),
        found: true,
        ..Word::default()
    };
    Some(names.into_iter().map(found).collect())
}

/// Whether a `find` ends each path that it prints with NUL, which no path holds, and prints none
/// before it has tested it.
pub(in super::super) fn prints_with_nul(words: &[Word]) -> bool {
    let Some((last, rest)) = words.split_last() else {
        return false;
    };
    last.as_constant() == Some("-print0")
        && !rest.iter().any(|word| {
            word.text.starts_with("-print") || matches!(word.text.as_str(), "-ls" | "-exec" | "-ok")
        })
}

/// Programs that print what a shell is to set, with the words by which they do.
static PRINT_SETTINGS: Names = Names::new("print-settings");

/// Whether a command prints what a shell is to set, as its manual says to be evaluated.
pub(in super::super) fn prints_settings(words: &[Word]) -> bool {
    let Some(mut words) = words
        .iter()
        .map(Word::as_constant)
        .collect::<Option<Vec<_>>>()
    else {
        return false;
    };
    words
        .iter_mut()
        .take(1)
        .for_each(|name| *name = base_name(name));
    let begins = |it: &str| {
        let mut words = words.iter();
        it.split('+').all(|part| words.next() == Some(&part))
    };
    PRINT_SETTINGS.words().any(begins)
}

/// Whether a command behind a pipe does nothing but pass on some of what it reads.
pub(in super::super) fn is_filter(words: &[Word]) -> bool {
    let Some(name) = words.first().and_then(Word::as_constant) else {
        return false;
    };
    let runs = options::runs(name);
    // How many operands aren't files.
    let Some(n_operands) = ["filter", "filter+1", "filter+2"]
        .iter()
        .position(|word| runs.has(word))
    else {
        return false;
    };
    let Some(row) = options::any_row(name).filter(|_| words.iter().all(Word::is_constant)) else {
        return false;
    };
    let given = Parsed::new(&words[1..], Some(row));
    let is_refused = |it: &str| match it.starts_with('-') {
        true => given.has(it),
        false => words.iter().any(|word| word.text.contains(it)),
    };
    // `grep -e x` takes its pattern so, and `sed -e x` its script.
    let n_taken = usize::from(name != "jq" && given.has("-e"));
    given.operands.len() + n_taken <= n_operands
        && !runs.of("but:").any(is_refused)
        && !script_runs_code(name, words)
}

/// Whether a command behind a pipe passes on whole lines of what it reads, and nothing else.
pub(in super::super) fn passes_lines(words: &[Word]) -> bool {
    let name = words.first().map_or("", |word| word.text.as_str());
    // `grep -o`, `tail -c`: the end of a line may be an option.
    let parts: &[&str] = match name {
        "cat" | "sort" | "uniq" | "tac" => &[],
        "head" | "tail" => &["-c"],
        "grep" => &["-o", "--label"],
        _ => return false,
    };
    let Some(row) = options::row(name) else {
        return false;
    };
    let given = Parsed::new(&words[1..], Some(row));
    is_filter(words) && !parts.iter().any(|option| given.has(option))
}

/// Which word of an interpreter is the file that it runs; none if it is given code or a module, or
/// only looks at the file.
pub(in super::super) fn script_of_interpreter(name: &str, words: &[Word]) -> Option<usize> {
    let row = options::any_row(name)?;
    let given = Parsed::new(words.get(1..)?, Some(row));
    let is_instead = |Given { option, .. }: Given| {
        // Others than python check the script with `-c`, and php with `-l`.
        let only_checks = option.names.contains(&"-c") && option.value == Takes::Nothing;
        option.kind == Kind::Code || only_checks || name == "php" && option.names.contains(&"-l")
    };
    let mut options = given.options.iter().flat_map(Item::given);
    if super::python_module(words).is_some() || options.any(is_instead) {
        return None;
    }
    let first = given.operands.first()?;
    let script = match row.child(&first.word.text) {
        Some(_) if first.word.text == "run" => given.operands.get(1)?,
        Some(_) => return None,
        None => first,
    };
    Some(script.at + 1)
}

/// What a shell is told by its words.
#[derive(Default)]
pub(in super::super) struct ShellWords {
    /// It is given a text: `-c`.
    pub(in super::super) command: bool,
    pub(in super::super) from_input: bool,
    /// Which word is a file that it reads before all else.
    pub(in super::super) reads_first: Option<usize>,
    /// Where its options end.
    pub(in super::super) at: usize,
}

/// Reads the words of a shell; why they can't be told, or nothing if it runs nothing.
pub(in super::super) fn words_of_shell(words: &[Word]) -> Result<Option<ShellWords>, &'static str> {
    static PLAIN: Names = Names::new("shell-options");
    let mut read = ShellWords {
        at: 1,
        ..ShellWords::default()
    };
    while let Some(word) = words.get(read.at) {
        let Some(option) = word.as_constant() else {
            let beginning = word.beginning();
            // `*.sh` names no option, none of which has a dot.
            let is_file = matches!(word.openness, Openness::Files(_)) && word.text.contains('.');
            let begins_otherwise = !beginning.is_empty() && !beginning.starts_with(['-', '+']);
            let is_operand =
                is_file || matches!(word.openness, Openness::Operand(0)) || begins_otherwise;
            return match is_operand {
                true => Ok(Some(read)),
                false if read.command => Err("the text that a shell is to run is computed"),
                false => Err("a shell's options are computed"),
            };
        };
        if !option.starts_with(['-', '+']) || option == "+" {
            break;
        }
        read.at += 1;
        match option {
            "--" | "-" => break,
            "--version" | "--help" => return Ok(None),
            "--rcfile" | "--init-file" | "-rcfile" | "-init-file" => {
                read.reads_first = Some(read.at);
                read.at += 1;
            }
            _ if option
                .strip_prefix("--")
                .or(option.strip_prefix('-'))
                .is_some_and(|it| PLAIN.has(it)) => {}
            _ if option.starts_with("--") => return Err("an unknown option of a shell"),
            _ => {
                for letter in option.chars().skip(1) {
                    match letter {
                        'c' => read.command = true,
                        's' => read.from_input = true,
                        'o' | 'O' => read.at += 1,
                        _ if "abefhiklmnprtuvxBCEHPT".contains(letter) => {}
                        _ => return Err("an unknown option of a shell"),
                    }
                }
            }
        }
    }
    Ok(Some(read))
}

/// Whether a shell only looks for mistakes in a script: `bash -n x.sh`, and nothing that could undo
/// the `-n`.
pub(in super::super) fn only_looks(words: &[Word]) -> bool {
    let second = words.get(1).and_then(Word::as_constant);
    let begins_option =
        |word: &Word| word.beginning().starts_with(['-', '+']) || !word.is_constant();
    second == Some("-n") && !words.iter().skip(2).any(begins_option)
}

/// Whether all of a word is written, but for how the commands before it ended: `"exit: $?"`.
fn is_shown(word: &Word) -> bool {
    let behind = || {
        word.text[word.beginning().len()..]
            .replace("${?}", "")
            .replace("${PIPESTATUS}", "")
    };
    match word.openness {
        Openness::Constant => !word.home,
        Openness::Operand(_) => !behind().contains(['$', '`', '…']),
        Openness::Files(_) | Openness::Computed(..) => false,
    }
}

/// Whether what `export` is given sets a variable that no program takes code or a path from.
pub(in super::super) fn is_plain_export(word: &str) -> bool {
    word.split_once('=')
        .is_some_and(|(name, value)| is_plain_setting(name, value))
}

/// Whether a command has no effect but to print a text that says nothing of the machine but the
/// time and the place, to wait, to compare, or to end the text.
pub(in super::super) fn only_prints(words: &[Word]) -> bool {
    let Some((head, rest)) = words.split_first() else {
        return false;
    };
    let are_plain = || rest.iter().all(Word::is_constant);
    match head.as_constant() {
        Some("exit" | "wait" | "break" | "continue" | "pwd" | "sleep") => are_plain(),
        Some("date") => rest.iter().all(|word| {
            word.as_constant()
                .is_some_and(|it| it == "-u" || it.starts_with('+'))
        }),
        Some("set") => {
            let is_harmless = |it: &str| {
                matches!(
                    it,
                    "-e" | "-u" | "-x" | "-eu" | "-ex" | "-eux" | "-o" | "pipefail"
                ) || matches!(it, "-euo" | "-eo" | "-uo" | "-euxo" | "-exo")
            };
            !rest.is_empty()
                && rest
                    .iter()
                    .all(|word| word.as_constant().is_some_and(is_harmless))
        }
        Some("[" | "test") => {
            let is_operand = |word: &Word| {
                !matches!(word.openness, Openness::Computed(..))
                    && !matches!(word.text.as_str(), "-v" | "-R")
            };
            rest.iter().all(is_operand)
        }
        Some("export") => {
            !rest.is_empty()
                && rest
                    .iter()
                    .all(|word| word.as_constant().is_some_and(is_plain_export))
        }
        Some("true" | ":" | "false" | "echo") => rest.iter().all(is_shown),
        Some("printf") => {
            rest.iter().all(is_shown)
                && rest
                    .first()
                    .is_some_and(|it| !it.beginning().starts_with('-'))
        }
        _ => false,
    }
}

/// Whether a command is given an option, or a script, by which it runs other code than its own.
pub(in super::super) fn has_code_options(name: &str, words: &[Word]) -> bool {
    !code_words(name, words).is_empty() || script_runs_code(name, words)
}

/// The options that make a command run code, read its settings elsewhere or write a file, operands
/// that do so, and words that may be such options.
pub(in super::super) fn code_words<'w>(name: &str, words: &'w [Word]) -> Vec<&'w Word> {
    let mut found: Vec<&Word> = Vec::new();
    let args = words.get(1..).unwrap_or_default();
    let Some(row) = options::any_row(name) else {
        return found;
    };
    let parsed = Parsed::new(args, Some(row));
    let is_code = |item: &Item| {
        let is_own = |Given { option, value }: Given| match (option.does, value) {
            (Does::Config, value) => may_configure_program(&Given { option, value }),
            (Does::Setting, Some(value)) => {
                !is_harmless_ssh_option(option.letter().unwrap_or('o'), &value)
            }
            _ => option.is_code,
        };
        item.given().into_iter().any(is_own)
            || item.may_begin(Does::Command)
            || !item.known && may_be_one_of(item.word.beginning(), row)
    };
    found.extend(
        parsed
            .options
            .iter()
            .filter(|item| is_code(item))
            .map(|item| item.word),
    );
    // npm and go read options behind their sub-command's operands, too.
    let reads_behind = row.has_commands && parsed.rows.iter().all(|row| row.runs.rest().is_none());
    let own = parsed.dashes.unwrap_or(parsed.operands.len());
    let behind = parsed.operands[..own]
        .iter()
        .map(|item| item.word)
        .take_while(|word| word.text != "--");
    let behind = behind.filter(|_| reads_behind);
    found.extend(
        behind.filter(|word| word.text.starts_with('-') && may_be_one_of(word.beginning(), row)),
    );
    // `tar xIf sh`: its first word may be letters without a dash.
    let holds_code = |word: &&Word| {
        let letters = format!("-{}", word.text);
        !word.text.starts_with('-')
            && row
                .letters(&letters)
                .any(|(_, option)| option.is_some_and(|it| it.is_code))
    };
    found.extend(
        args.first()
            .filter(|word| row.habits.has("bundle") && holds_code(word)),
    );
    let begins = |word: &&Word| {
        row.runs
            .of("code:")
            .any(|start| word.text.starts_with(start))
    };
    found.extend(args.iter().filter(begins));
    match options::same_program(name).unwrap_or(name) {
        "git" => found.extend(git_configured(words)),
        // They write into their second operand.
        "uniq" | "xxd" => found.extend(parsed.operand_words().nth(1)),
        // `V!=touch x` and `V=$(shell touch x)` run a shell.
        "make" => found.extend(args.iter().filter(|word| {
            word.text.contains('=') && (word.text.contains("!=") || word.text.contains(['$', '`']))
        })),
        _ if row.runs.has("client") => {
            found.extend(args.iter().filter(|word| runs_in_client(word)))
        }
        _ => {}
    }
    if !row.code_options.is_empty() {
        found.extend(args.iter().filter(|word| may_be_option(word)));
    }
    found
}

/// Whether an option that a program isn't known to have where it stands may be one that runs code:
/// written in full, with its value, or cut short.
fn may_be_one_of(text: &str, row: &Row) -> bool {
    let name = text.split('=').next().unwrap_or_default();
    let is_cut_short =
        |option: &str| row.abbreviates() && name.len() > 4 && option.starts_with(name);
    row.code_options.iter().any(|option| match row.style {
        Style::Go => option.trim_start_matches('-') == name.trim_start_matches('-'),
        _ if option.starts_with("--") => *option == name || is_cut_short(option),
        // A value may be written behind it.
        Style::Word => text.starts_with(option),
        _ if !row.clusters() => *option == name,
        _ => text.starts_with(option) || !text.starts_with("--") && text.contains(&option[1..]),
    })
}

/// Whether a word that isn't constant has what makes it an option: its dash, and then anything.
/// `$X` alone, and `--name=$X`, have not.
pub(in super::super) fn may_be_option(word: &Word) -> bool {
    let beginning = word.beginning();
    match word.openness {
        Openness::Constant => false,
        Openness::Files(_) => word.text.starts_with('-'),
        Openness::Operand(_) | Openness::Computed(..) if !beginning.is_empty() => {
            // The value of a letter, a number or a path mostly: `-n$N`, `-C"$DIR/x"`.
            let behind = behind_expansions(word.text.get(beginning.len()..).unwrap_or_default());
            beginning.starts_with('-')
                && !beginning.contains('=')
                && !behind.is_empty()
                && !behind.starts_with('/')
        }
        Openness::Operand(_) | Openness::Computed(..) => {
            let behind = behind_expansions(&word.text);
            // `${PATH/*/-exec}` puts it there itself.
            behind.starts_with('-') || word.text.starts_with("${") && word.text.contains("/-")
        }
    }
}

/// Whether the script that a program is given does more than edit and print; so does one that isn't
/// known.
pub(in super::super) fn script_runs_code(name: &str, words: &[Word]) -> bool {
    let (table, files, is_plain): (_, &[&str], fn(&str) -> bool) =
        match options::same_program(name).unwrap_or(name) {
            "sed" => ("sed", &["-f"], is_plain_sed),
            "awk" | "gawk" | "mawk" | "nawk" => ("gawk", &["-f", "-i", "-l", "-E"], is_plain_awk),
            _ => return false,
        };
    let Some(row) = options::row(table) else {
        return true;
    };
    let args = words.get(1..).unwrap_or_default();
    let given = Parsed::new(args, Some(row));
    // `-W exec` is mawk's `-f`, and gawk writes what it parsed.
    let is_awk = table == "gawk";
    let writes = |word: &Word| {
        is_awk
            && ["-W", "-o", "-p", "-d", "-D", "--p", "--d"]
                .iter()
                .any(|it| word.text.starts_with(it))
    };
    let is_open =
        |word: &Word| word.beginning().starts_with('-') && !word.is_constant() || writes(word);
    // `awk -v $x a=1 'BEGIN …'`: if nothing has set `x`, the script is another word.
    let script = given.operands.first().map(|script| script.at);
    let may_move = || {
        args.iter()
            .take(script.unwrap_or(args.len()))
            .any(|word| word.vanishes)
    };
    if args.iter().any(is_open) || may_move() || files.iter().any(|option| given.has(option)) {
        return true;
    }
    // The scripts of `-e`, else the first operand.
    let is_plain = |word: &Word| word.as_constant().is_some_and(is_plain);
    match given.has("-e") {
        true => {
            given.values("-e").next().is_none() || !given.values("-e").all(|word| is_plain(&word))
        }
        false => given
            .operands
            .first()
            .is_some_and(|script| !is_plain(script.word)),
    }
}

fn begins_regex(before: char) -> bool {
    matches!(
        before,
        '(' | ',' | '~' | '!' | '{' | '}' | ';' | '&' | '|' | '\n'
    )
}

/// Whether a program of awk runs nothing, reads no other command's output and writes into no file.
/// Anything not understood isn't plain.
fn is_plain_awk(program: &str) -> bool {
    if ["system", "getline", "@"]
        .iter()
        .any(|it| program.contains(it))
    {
        return false;
    }
    let mut rest = program.chars().peekable();
    // Where a `/` begins a regex, and whether a `>` writes.
    let (mut before, mut prints, mut depth) = (';', false, 0usize);
    let mut word = String::new();
    const BEFORE_REGEX: [&str; 6] = ["print", "printf", "return", "in", "case", "exit"];
    while let Some(c) = rest.next() {
        if c.is_alphanumeric() || c == '_' {
            word.push(c);
        } else {
            prints |= word.starts_with("print");
            // A `/` behind a word of the language begins a regex, as behind a sign.
            if BEFORE_REGEX.contains(&word.as_str()) {
                before = ';';
            }
            word.clear();
        }
        match c {
            '#' => {
                while rest.next_if(|c| *c != '\n').is_some() {}
                continue;
            }
            // The line goes on.
            '\\' => return false,
            '"' if !skip_delimited(&mut rest, '"') => return false,
            '/' if begins_regex(before) && !skip_regex(&mut rest, '/', false) => return false,
            '|' if rest.next_if_eq(&'|').is_none() => return false,
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            // In brackets it compares.
            '>' if prints && depth == 0 => return false,
            ';' | '}' => prints = false,
            '\n' if before != ',' => prints = false,
            _ => {}
        }
        if c != ' ' && c != '\t' {
            before = if c == '"' { 'x' } else { c };
        }
    }
    true
}

/// Whether a word holds a command of a database's client itself, which may run a program or write a
/// file.
fn runs_in_client(word: &Word) -> bool {
    const HARMLESS: &str = ".tables .schema .headers .mode .width .indexes .databases .dump ./";
    let text = word.text.trim_start();
    let is_dot = text
        .lines()
        .map(str::trim_start)
        .any(|line| line.starts_with('.') && !HARMLESS.split(' ').any(|it| line.starts_with(it)));
    let lower = text.to_ascii_lowercase();
    const NAMES: &str =
        r"\!|\o|\g|\w|\copy|\i|writefile|load_extension|outfile|program|edit(|vacuum into";
    // Back-quotes in a command of psql's own run a shell, and a server writes a file as well.
    let is_more = lower.contains('\\') && lower.contains('`')
        || lower.contains("copy") && lower.contains(" to '");
    let begins = ["system", "source", "tee", "pager"]
        .iter()
        .any(|it| lower.starts_with(it));
    is_dot || begins || is_more || NAMES.split('|').any(|it| lower.contains(it))
}

/// A setting that `git config` makes and that may have a later command run a program.
pub(in super::super) fn git_configured(words: &[Word]) -> Option<&Word> {
    let verb = git_verb(words).0.filter(|at| words[*at].text == "config")?;
    let rest = words.get(verb + 1..)?;
    let is_key = |word: &&Word| word.text.contains('.') && !word.text.starts_with('-');
    let key = rest.iter().position(|word| is_key(&word))?;
    let value = rest.get(key + 1)?;
    let is_harmless = value
        .as_constant()
        .is_some_and(|value| is_harmless_setting(&rest[key].text, value));
    (!is_harmless).then_some(&rest[key])
}
