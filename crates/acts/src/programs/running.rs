//! What makes a program run code, write a file or read its settings elsewhere: no `*` of a rule that allows covers it.

use super::super::expand::{Openness, Word, is_of_name};
use super::{
    Given, git_verb, is_harmless_setting, is_harmless_ssh_option, is_plain_sed, is_plain_setting, options,
    skip_delimited, skip_regex, text_option, text_options,
};
use std::borrow::Cow;

/// Options of programs, or of one of their commands, in the table's spelling.
static CODE_OPTIONS: &[(&str, &[&str])] = &[
    ("curl", &["-K", "--config", "--libcurl", "--trace", "--trace-ascii"]),
    ("wget", &["-e", "--execute", "--config", "--use-askpass"]),
    ("kubectl", &["-s", "--server", "--kubeconfig", "--kuberc", "--cache-dir", "--profile-output"]),
    ("man", &["-C", "--config-file", "--config"]),
    ("docker", &["-H", "--host", "--config", "-c", "--context"]),
    ("podman", &["--connection", "-c", "--url", "--module"]),
    ("pip", &["--python", "--editor"]),
    ("pip3", &["--python", "--editor"]),
    ("tar", &["--index-file", "--volno-file"]),
    ("sort", &["-o", "--output"]),
    ("git archive", &["-o", "--output"]),
    ("git format-patch", &["-o", "--output-directory"]),
    ("git fetch-pack", &["--exec", "--upload-pack"]),
    ("git send-pack", &["--exec", "--receive-pack"]),
    ("git clone", &["-c", "--config", "--template"]),
    ("git init", &["--template"]),
    ("git send-email", &["--smtp-server"]),
    ("git checkout-index", &["--prefix"]),
    ("git credential-store", &["--file"]),
    (
        "node",
        &[
            "-r",
            "--require",
            "--import",
            "--loader",
            "--experimental-loader",
            "-e",
            "--eval",
            "-p",
            "--print",
            "--test-reporter",
            "--env-file",
            "--openssl-config",
        ],
    ),
    ("perl", &["-e", "-E", "-M", "-m", "-I", "-x", "-d"]),
    ("ruby", &["-e", "-r", "-I", "-x"]),
    ("php", &["-r", "-B", "-E", "-R", "-F", "-d", "-c"]),
];

/// The same of programs without a table, as they are written: with a `*`, whatever begins so.
static WRITTEN_OPTIONS: &[(&str, &str)] = &[
    (
        "go",
        "-exec --exec -toolexec --toolexec -vettool --vettool -C* -overlay --overlay -modfile --modfile -ldflags --ldflags \
        -gcflags --gcflags -asmflags --asmflags -pkgdir --pkgdir -o* --o",
    ),
    ("gcc", "-wrapper -fplugin* -B* @*"),
    ("g++", "-wrapper -fplugin* -B* @*"),
    ("cc", "-wrapper -fplugin* -B* @*"),
    ("rustc", "-C* --codegen -Z* @*"),
    ("cargo", "--config --manifest-path -C* -Z*"),
    (
        "make",
        "-f* --file --makefile -C* --directory -E* --eval -I* --include-dir SHELL=* .SHELLFLAGS=* MAKEFLAGS=* MAKEFILES=*",
    ),
    (
        "pytest",
        "-p* -c* --config-file --rootdir --pyargs --confcutdir --override-ini -o* -W* --pythonwarnings --basetemp --junitxml --junit-xml --log-file --debug",
    ),
    ("mypy", "--python-executable --config-file --install-types --junit-xml --cache-dir"),
    ("flake8", "--config --append-config --output-file"),
    ("psql", "-f* --file -o* --output -L* --log-file"),
    ("sqlite3", "-init"),
    ("mvn", "-f* --file -s* --settings -D*"),
    ("gradle", "-I* --init-script -c* -b* -p* --project-dir"),
    ("eslint", "-c* --config --rulesdir --plugin --resolve-plugins-relative-to -o* --output-file"),
    ("jest", "-c* --config --globalSetup --globalTeardown --setupFiles --testRunner --runner --transform"),
    ("mocha", "-r* --require --config -R* --reporter"),
    ("pylint", "--init-hook --rcfile --load-plugins"),
    ("pandoc", "-F* --filter -L* --lua-filter -o* --output"),
    ("helm", "--post-renderer --kubeconfig"),
    ("tree", "-o*"),
    ("vim", "-c* --cmd +* -S* -s* -u* -w* -W*"),
    (
        "npm",
        "--script-shell --shell --prefix -C* --userconfig --globalconfig --editor --node-options --viewer --browser --git",
    ),
    ("cmake", "-E -P*"),
    ("less", "+* -k* --lesskey* -o* -O* --log-file --LOG-FILE"),
    ("more", "+*"),
    ("openssl", "-engine -out -provider-path -provider"),
    ("find", "-exec -execdir -ok -okdir -fprint -fprint0 -fprintf -fls -delete"),
    ("git", "--output --ext-diff --textconv --export-marks --httpd --access-hook"),
    ("zip", "-T* --unzip*"),
];

/// A program that only passes on some of what it reads.
struct Filter {
    name: &'static str,
    /// How many operands aren't files.
    n_operands: usize,
    /// Options that name a file, or a program.
    refused: &'static [&'static str],
    /// What a script of its own says to read something else: another file, the environment.
    reads_other: &'static [&'static str],
}

const fn filter(name: &'static str, n_operands: usize, refused: &'static [&'static str]) -> Filter {
    Filter { name, n_operands, refused, reads_other: &[] }
}

const fn awk(name: &'static str) -> Filter {
    Filter { reads_other: &["ARG", "ENVIRON", "PROCINFO"], ..filter(name, 1, &[]) }
}

static FILTERS: &[Filter] = &[
    filter("cat", 0, &[]),
    filter("head", 0, &[]),
    filter("tail", 0, &["-f", "-F", "--follow", "--pid"]),
    filter("wc", 0, &["--files0-from"]),
    filter("sort", 0, &["-o", "--output", "--compress-program", "--files0-from", "-T", "--random-source"]),
    filter("uniq", 0, &[]),
    filter("cut", 0, &[]),
    filter("tr", 2, &[]),
    filter("nl", 0, &[]),
    filter("tac", 0, &[]),
    filter("rev", 0, &[]),
    filter("fold", 0, &[]),
    filter("column", 0, &[]),
    filter("grep", 1, GREP_FILES),
    filter("egrep", 1, GREP_FILES),
    filter("fgrep", 1, GREP_FILES),
    filter("rg", 1, &["-f", "--files", "--pre", "--hostname-bin", "--ignore-file", "-z"]),
    filter("md5sum", 0, &["-c"]),
    filter("sha1sum", 0, &["-c"]),
    filter("sha256sum", 0, &["-c"]),
    filter("sed", 1, &["-i"]),
    awk("awk"),
    awk("gawk"),
    awk("mawk"),
    Filter { reads_other: &["import", "include", "modulemeta", "env", "ENV"], ..filter("jq", 1, &["-f", "-L"]) },
];

const GREP_FILES: &[&str] = &["-f", "--file", "-r", "-R", "--recursive", "--exclude-from"];

/// Programs that find another one by what they are told, and run it.
pub(in super::super) const RUNNERS: [&str; 10] =
    ["npx", "bunx", "pnpx", "uvx", "uv", "poetry", "pdm", "hatch", "pipx", "bundle"];

/// Their options that leave open nothing of what is run.
pub(in super::super) const PLAIN_RUNNER_OPTIONS: [&str; 17] = [
    "--yes",
    "-y",
    "--no",
    "--no-install",
    "--offline",
    "--prefer-offline",
    "-q",
    "--quiet",
    "-s",
    "--silent",
    "--frozen",
    "--locked",
    "--no-sync",
    "--bun",
    "-v",
    "--verbose",
    "--",
];

/// What a `find` comes across, as patterns of which each path fits one: `./**/build` of `find . -name build`, two of
/// `find . \( -name build -o -name dist \)`. Nothing if it says more than names.
pub(in super::super) fn found_by(words: &[Word]) -> Option<Vec<Word>> {
    const MOST: usize = 16;
    const TESTS: [&str; 14] = [
        "-type",
        "-name",
        "-maxdepth",
        "-mindepth",
        "-mtime",
        "-mmin",
        "-atime",
        "-ctime",
        "-newer",
        "-size",
        "-user",
        "-group",
        "-perm",
        "-xdev",
    ];
    let texts: Vec<&str> = words.iter().map(Word::as_constant).collect::<Option<_>>()?;
    let [_, start, rest @ ..] = texts.as_slice() else { return None };
    // Behind a link, `..` is another directory.
    if start.is_empty()
        || start.split('/').any(|part| part == "..")
        || start.starts_with(['-', '(', '!', '~'])
        || start.contains(['*', '?', '[', '\\'])
    {
        return None;
    }
    // The names of the alternatives in parentheses, and of the one that is read; outside of them there is one.
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
            // What follows is what is done with it; whatever stands there takes nothing away from what was found.
            "-exec" | "-ok" if !in_group => break,
            "-name" => name = Some(*rest.next()?),
            test if TESTS.contains(&test) => {
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

/// Whether a `find` ends each path that it prints with NUL, which no path holds, and prints none before it has tested it.
pub(in super::super) fn prints_with_nul(words: &[Word]) -> bool {
    let Some((last, rest)) = words.split_last() else { return false };
    last.as_constant() == Some("-print0")
        && !rest
            .iter()
            .any(|word| word.text.starts_with("-print") || matches!(word.text.as_str(), "-ls" | "-exec" | "-ok"))
}

/// Whether a command behind a pipe does nothing but pass on some of what it reads.
pub(in super::super) fn is_filter(words: &[Word]) -> bool {
    let Some(name) = words.first().and_then(Word::as_constant) else { return false };
    let Some(filter) = FILTERS.iter().find(|filter| filter.name == name) else { return false };
    let Some(row) = options::row(name).filter(|_| words.iter().all(Word::is_constant)) else { return false };
    let given = Given::new(&row, &words[1..]);
    let is_refused = |option: &&str| given.has(option);
    let reads_other = |word: &Word| filter.reads_other.iter().any(|it| word.text.contains(it));
    // `grep -e x` takes its pattern so, and `sed -e x` its script.
    let n_taken = usize::from(name != "jq" && given.has("-e"));
    given.operands.len() + n_taken <= filter.n_operands
        && !filter.refused.iter().any(is_refused)
        && !words.iter().any(reads_other)
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
    let Some(row) = options::row(name) else { return false };
    let given = Given::new(&row, &words[1..]);
    is_filter(words) && !parts.iter().any(|option| given.has(option))
}

/// Whether a shell only looks for mistakes in a script: `bash -n x.sh`, and nothing that could undo the `-n`.
pub(in super::super) fn only_looks(words: &[Word]) -> bool {
    let second = words.get(1).and_then(Word::as_constant);
    let begins_option = |word: &Word| word.beginning().starts_with(['-', '+']) || !word.is_constant();
    second == Some("-n") && !words.iter().skip(2).any(begins_option)
}

/// Whether all of a word is written, but for how the commands before it ended: `"exit: $?"`.
fn is_shown(word: &Word) -> bool {
    let behind = || word.text[word.beginning().len()..].replace("${?}", "").replace("${PIPESTATUS}", "");
    match word.openness {
        Openness::Constant => !word.home,
        Openness::Operand(_) => !behind().contains(['$', '`', '…']),
        Openness::Files(_) | Openness::Computed(..) => false,
    }
}

/// Whether what `export` is given sets a variable that no program takes code or a path from.
pub(in super::super) fn is_plain_export(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, value)| is_plain_setting(name, value))
}

/// Whether a command has no effect but to print a text that says nothing of the machine but the time and the place, to
/// wait, to compare, or to end the text.
pub(in super::super) fn only_prints(words: &[Word]) -> bool {
    let Some((head, rest)) = words.split_first() else { return false };
    let are_plain = || rest.iter().all(Word::is_constant);
    match head.as_constant() {
        Some("exit" | "wait" | "break" | "continue" | "pwd" | "sleep") => are_plain(),
        Some("date") => rest.iter().all(|word| word.as_constant().is_some_and(|it| it == "-u" || it.starts_with('+'))),
        Some("set") => {
            let is_harmless = |it: &str| {
                matches!(it, "-e" | "-u" | "-x" | "-eu" | "-ex" | "-eux" | "-o" | "pipefail")
                    || matches!(it, "-euo" | "-eo" | "-uo" | "-euxo" | "-exo")
            };
            !rest.is_empty() && rest.iter().all(|word| word.as_constant().is_some_and(is_harmless))
        }
        Some("[" | "test") => {
            let is_operand = |word: &Word| {
                !matches!(word.openness, Openness::Computed(..)) && !matches!(word.text.as_str(), "-v" | "-R")
            };
            rest.iter().all(is_operand)
        }
        Some("export") => !rest.is_empty() && rest.iter().all(|word| word.as_constant().is_some_and(is_plain_export)),
        Some("true" | ":" | "false" | "echo") => rest.iter().all(is_shown),
        Some("printf") => rest.iter().all(is_shown) && rest.first().is_some_and(|it| !it.beginning().starts_with('-')),
        _ => false,
    }
}

/// The program, or git's command: what the options belong to.
fn path_of(name: &str, words: &[Word]) -> (String, usize) {
    let verb = if name == "git" { git_verb(words).0 } else { None };
    match verb.and_then(|at| words.get(at)) {
        Some(word) => (format!("git {}", word.text), verb.unwrap_or(0)),
        None => (name.to_string(), 0),
    }
}

/// The program that a project's own starter of it runs.
fn without_starter(name: &str) -> &str {
    match name {
        "gradlew" => "gradle",
        "mvnw" => "mvn",
        name => name,
    }
}

/// Whether a command is given an option, or a script, by which it runs other code than its own.
pub(in super::super) fn has_code_options(name: &str, words: &[Word]) -> bool {
    let code = code_options(name, words);
    let row = options::row(name);
    let is_code =
        |word: &Word| code.iter().any(|option| super::super::rule::denotes(&word.text, option, row.as_deref()));
    !running_options(name, words).is_empty() || script_runs_code(name, words) || words.iter().skip(1).any(is_code)
}

/// The names of the options of a command that make it run code, if the table spells them.
pub(in super::super) fn code_options(name: &str, words: &[Word]) -> Vec<&'static str> {
    let name = without_starter(name);
    let (path, _) = path_of(name, words);
    let name = name.trim_start_matches('g');
    let is_its = |program: &str| program == path || program == "tar" && name == "tar";
    CODE_OPTIONS
        .iter()
        .filter(|(program, _)| is_its(program))
        .flat_map(|(_, options)| options.iter().copied())
        .collect()
}

/// The options that make the command run code, whatever its table says, and words that may be such options.
pub(in super::super) fn running_options<'w>(name: &str, words: &'w [Word]) -> Vec<&'w Word> {
    let name = without_starter(name);
    let args = words.get(1..).unwrap_or_default();
    // What follows an option may be its value: `find -name -- -delete`.
    let ends =
        |at: &usize| args[*at].text == "--" && !at.checked_sub(1).is_some_and(|it| args[it].text.starts_with('-'));
    let end = (0..args.len()).find(ends).filter(|_| name != "find").unwrap_or(args.len());
    let own = args[..end].iter();
    let mut found: Vec<&Word> = Vec::new();
    let written = WRITTEN_OPTIONS.iter().find(|(program, _)| *program == name);
    if let Some((_, options)) = written {
        let is_one = |word: &&Word| options.split_whitespace().any(|option| is_written(option, &word.text));
        found.extend(own.clone().filter(is_one));
        // Git and npm take the beginning of a name.
        let row = options::row(name).filter(|row| row.abbreviates());
        let is_short = |word: &&Word| {
            let text = word.text.split('=').next().unwrap_or_default();
            let is_other = row.as_ref().is_some_and(|row| row.knows(text));
            let is_long = text.len() > 4 && text.starts_with("--");
            is_long && !is_other && options.split_whitespace().any(|option| option.starts_with(text))
        };
        found.extend(own.clone().filter(|word| row.is_some() && is_short(word)));
    }
    let (path, verb) = path_of(name, words);
    let with_text = text_options(&path);
    if let Some((letters, names)) = with_text {
        let own = words.get(verb + 1..).unwrap_or_default();
        found.extend(own.iter().filter(|word| text_option(word.beginning(), letters, names).is_some()));
        // `tar xIf sh`: its first word may be letters without a dash.
        let bare = own.first().filter(|word| name.ends_with("tar") && !word.text.starts_with('-'));
        found.extend(bare.filter(|word| word.text.contains(|c| letters.contains(c))));
    }
    match name {
        "git" => {
            found.extend(git_settings(words, git_verb(words).0));
            found.extend(git_configured(words));
        }
        "zip" => found.extend(own.clone().filter(|word| word.text.starts_with('-') && word.text[1..].contains('T'))),
        // They write into their second operand.
        "uniq" | "xxd" => found.extend(args.iter().filter(|word| !word.text.starts_with('-')).nth(1)),
        // `V!=touch x` and `V=$(shell touch x)` run a shell.
        "make" | "gmake" => found
            .extend(args.iter().filter(|word| {
                word.text.contains('=') && (word.text.contains("!=") || word.text.contains(['$', '`']))
            })),
        "sqlite3" | "psql" | "mysql" | "mariadb" => found.extend(args.iter().filter(|word| runs_in_client(word))),
        "ssh" | "scp" | "sftp" => found.extend(ssh_settings(name, args)),
        _ => {}
    }
    if written.is_some() || with_text.is_some() || !code_options(name, words).is_empty() {
        found.extend(own.filter(|word| may_be_option(word)));
    }
    found
}

fn is_written(option: &str, word: &str) -> bool {
    match option.strip_suffix('*') {
        Some(start) => word.starts_with(start),
        None => word == option || word.strip_prefix(option).is_some_and(|rest| rest.starts_with('=')),
    }
}

/// Whether a word that isn't constant has what makes it an option: its dash, and then anything. `$X` alone, and `--name=$X`,
/// have not.
pub(in super::super) fn may_be_option(word: &Word) -> bool {
    let beginning = word.beginning();
    match word.openness {
        Openness::Constant => false,
        Openness::Files(_) => word.text.starts_with('-'),
        Openness::Operand(_) | Openness::Computed(..) if !beginning.is_empty() => {
            // The value of a letter, a number or a path mostly: `-n$N`, `-C"$DIR/x"`.
            let behind = behind_expansions(word.text.get(beginning.len()..).unwrap_or_default());
            beginning.starts_with('-') && !beginning.contains('=') && !behind.is_empty() && !behind.starts_with('/')
        }
        Openness::Operand(_) | Openness::Computed(..) => {
            let behind = behind_expansions(&word.text);
            // `${PATH/*/-exec}` puts it there itself.
            behind.starts_with('-') || word.text.starts_with("${") && word.text.contains("/-")
        }
    }
}

/// What follows the expansions that a text begins with.
pub(in super::super) fn behind_expansions(text: &str) -> &str {
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches('"');
        let Some(name) = rest.strip_prefix('$') else { return rest };
        let end = match name.as_bytes().first() {
            Some(b'{') => name.find('}').map(|at| at + 1),
            Some(b'(') => name.rfind(')').map(|at| at + 1),
            _ => Some(name.find(|c| !is_of_name(c)).unwrap_or(name.len())),
        };
        match end {
            Some(end) if end > 0 => rest = &name[end..],
            _ => return rest,
        }
    }
}

/// A text as it is if whatever is expanded in it is empty: `s.sh` of `s$x.sh`.
pub(in super::super) fn without_expansions(text: &str) -> Cow<'_, str> {
    let Some((first, rest)) = text.split_once('$') else { return text.into() };
    let mut made = first.to_string();
    let mut rest = &text[text.len() - rest.len() - 1..];
    while let Some(at) = rest.find('$') {
        made.push_str(&rest[..at]);
        let behind = behind_expansions(&rest[at..]);
        // A dollar sign that expands nothing.
        let is_sign = behind.len() == rest.len() - at;
        made.push_str(if is_sign { "$" } else { "" });
        rest = if is_sign { &rest[at + 1..] } else { behind };
    }
    made.push_str(rest);
    made.into()
}

/// Whether the script that a program is given does more than edit and print; so does one that isn't known.
pub(in super::super) fn script_runs_code(name: &str, words: &[Word]) -> bool {
    let (table, files, is_plain): (_, &[&str], fn(&str) -> bool) = match name {
        "sed" | "gsed" => ("sed", &["-f"], is_plain_sed),
        "awk" | "gawk" | "mawk" | "nawk" => ("gawk", &["-f", "-i", "-l", "-E"], is_plain_awk),
        _ => return false,
    };
    let Some(row) = options::row(table) else { return true };
    let args = words.get(1..).unwrap_or_default();
    let given = Given::new(&row, args);
    // `-W exec` is mawk's `-f`, and gawk writes what it parsed.
    let is_awk = table == "gawk";
    let writes =
        |word: &Word| is_awk && ["-W", "-o", "-p", "-d", "-D", "--p", "--d"].iter().any(|it| word.text.starts_with(it));
    let is_open = |word: &Word| word.beginning().starts_with('-') && !word.is_constant() || writes(word);
    // `awk -v $x a=1 'BEGIN …'`: if nothing has set `x`, the script is another word.
    let script = given.operands.first().and_then(|script| args.iter().position(|word| std::ptr::eq(word, *script)));
    let may_move = || args.iter().take(script.unwrap_or(args.len())).any(|word| word.vanishes);
    if args.iter().any(is_open) || may_move() || files.iter().any(|option| given.has(option)) {
        return true;
    }
    // Those of `-e`, else the first operand.
    let is_plain = |word: &Word| word.as_constant().is_some_and(is_plain);
    match given.has("-e") {
        true => given.values("-e").next().is_none() || !given.values("-e").all(is_plain),
        false => given.operands.first().is_some_and(|word| !is_plain(word)),
    }
}

fn begins_regex(before: char) -> bool {
    matches!(before, '(' | ',' | '~' | '!' | '{' | '}' | ';' | '&' | '|' | '\n')
}

/// Whether a program of awk runs nothing, reads no other command's output and writes into no file. Anything not understood
/// isn't plain.
fn is_plain_awk(program: &str) -> bool {
    if ["system", "getline", "@"].iter().any(|it| program.contains(it)) {
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

/// Whether a word holds a command of a database's client itself, which may run a program or write a file.
fn runs_in_client(word: &Word) -> bool {
    const HARMLESS: [&str; 8] =
        [".tables", ".schema", ".headers", ".mode", ".width", ".indexes", ".databases", ".dump"];
    let text = word.text.trim_start();
    let is_dot = text.lines().map(str::trim_start).any(|line| {
        line.starts_with('.') && !HARMLESS.iter().any(|it| line.starts_with(it)) && !line.starts_with("./")
    });
    let lower = text.to_ascii_lowercase();
    let names = [
        "\\!",
        "\\o",
        "\\g",
        "\\w",
        "\\copy",
        "\\i",
        "writefile",
        "load_extension",
        "outfile",
        "program",
        "edit(",
        "vacuum into",
    ];
    // Back-quotes in a command of psql's own run a shell, and a server writes a file as well.
    let is_more = lower.contains('\\') && lower.contains('`') || lower.contains("copy") && lower.contains(" to '");
    let begins = ["system", "source", "tee", "pager"].iter().any(|it| lower.starts_with(it));
    is_dot || begins || is_more || names.iter().any(|it| lower.contains(it))
}

/// A setting that `git config` makes and that may have a later command run a program.
pub(in super::super) fn git_configured(words: &[Word]) -> Option<&Word> {
    let verb = git_verb(words).0.filter(|at| words[*at].text == "config")?;
    let rest = words.get(verb + 1..)?;
    let is_key = |word: &&Word| word.text.contains('.') && !word.text.starts_with('-');
    let key = rest.iter().position(|word| is_key(&word))?;
    let value = rest.get(key + 1)?;
    let is_harmless = value.as_constant().is_some_and(|value| is_harmless_setting(&rest[key].text, value));
    (!is_harmless).then_some(&rest[key])
}

/// Git's global options that may have it run code: settings, and another repository with settings of its own.
fn git_settings(words: &[Word], verb: Option<usize>) -> impl Iterator<Item = &Word> {
    let global = words.get(1..verb.unwrap_or(words.len())).unwrap_or_default();
    let (_, has_settings) = git_verb(words);
    global.iter().filter(move |word| {
        let text = word.text.as_str();
        let sets = ["-c", "--config-env", "--exec-path="].iter().any(|start| text.starts_with(start));
        has_settings && sets
            || text.starts_with("-C")
            || text.starts_with("--git-dir")
            || text.starts_with("--work-tree")
    })
}

/// Options of ssh and its kin before its command that name a program, a library or a file with settings.
fn ssh_settings<'w>(name: &str, args: &'w [Word]) -> Vec<&'w Word> {
    const VALUED: &str = "BbcDEeFIiJLlmOoPpQRSWw";
    let (mut found, mut at, mut operands) = (Vec::new(), 0, 0);
    while let Some(word) = args.get(at).filter(|_| operands < 2 || name != "ssh") {
        at += 1;
        let text = word.beginning();
        let Some(letters) = text.strip_prefix('-').filter(|letters| !letters.is_empty()) else {
            operands += 1;
            continue;
        };
        let Some((place, letter)) = letters.char_indices().find(|(_, letter)| VALUED.contains(*letter)) else {
            continue;
        };
        let rest = &letters[place + letter.len_utf8()..];
        let attached = Word::constant(rest);
        let value = if rest.is_empty() { args.get(at) } else { Some(&attached) };
        at += usize::from(rest.is_empty());
        let is_code = letter == 'I'
            || letter == 'D' && name != "ssh"
            || value.is_some_and(|value| !is_harmless_ssh_option(letter, value));
        if is_code {
            found.push(word);
        }
    }
    found
}
