//! What a substitution prints, where the text says so.

use super::grammar::{List, Node, Part, Word};

/// What a list of commands prints.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Output {
    /// This text.
    Constant(String),
    /// Something that is no option and no program's text: paths, names, numbers.
    Operands,
    Anything,
}

/// The output of the commands in `$( … )`.
pub(super) fn of(list: &List) -> Output {
    let [pipeline] = list.0.as_slice() else {
        // `cd x && pwd`: the last one prints.
        let quiet = |it: &super::grammar::Pipeline| {
            matches!(it.stages.as_slice(), [stage]
            if matches!(&stage.node, Node::Simple { words, .. } if words.first().and_then(Word::plain) == Some("cd")))
        };
        return match list.0.split_last() {
            Some((last, rest)) if rest.iter().all(quiet) && matches!(last.stages.as_slice(), [_]) => of_pipeline(last),
            _ => Output::Anything,
        };
    };
    of_pipeline(pipeline)
}

fn of_pipeline(pipeline: &super::grammar::Pipeline) -> Output {
    let mut stages = pipeline.stages.iter();
    let Some(first) = stages.next() else { return Output::Anything };
    let mut output = of_stage(&first.node, &first.redirects);
    for stage in stages {
        let Node::Simple { words, .. } = &stage.node else { return Output::Anything };
        let name = words.first().and_then(Word::plain).unwrap_or_default();
        output = match (output, name) {
            // Counts, whatever they read.
            (_, "wc" | "nproc" | "md5sum" | "sha256sum" | "sha1sum" | "cksum") => Output::Operands,
            (Output::Operands, "head" | "tail" | "sort" | "uniq" | "grep" | "xargs") if name != "xargs" => {
                Output::Operands
            }
            (Output::Constant(text), "cat" | "tee") => Output::Constant(text),
            _ => Output::Anything,
        };
    }
    output
}

fn of_stage(node: &Node, redirects: &[super::grammar::Redirect]) -> Output {
    let Node::Simple { assigns, words } = node else { return Output::Anything };
    let texts: Option<Vec<&str>> = words.iter().map(constant).collect();
    let first = words.first().and_then(Word::plain).unwrap_or_default();
    if !redirects.is_empty() {
        let harmless = redirects.iter().all(|redirect| redirect.fd == Some(2));
        if !harmless {
            return Output::Anything;
        }
    }
    if let Some(texts) = &texts
        && let Some(text) = printed(texts, false)
    {
        return Output::Constant(text.trim_end_matches('\n').to_string());
    }
    if !assigns.is_empty() {
        return Output::Anything;
    }
    let second = words.get(1).and_then(Word::plain).unwrap_or_default();
    let third = words.get(2).and_then(Word::plain).unwrap_or_default();
    match (first, second, third) {
        ("which", name, "") | ("command", "-v", name) | ("type", "-p" | "-P", name) if !name.is_empty() => {
            // Where programs are: a rule takes any such place for the same.
            let place = if name.contains('/') { "" } else { "/usr/bin/" };
            Output::Constant(format!("{place}{name}"))
        }
        ("date", ..) => match words.iter().skip(1).all(|word| constant(word).is_none_or(|text| !text.contains(" -"))) {
            true => Output::Operands,
            false => Output::Anything,
        },
        (
            "pwd" | "whoami" | "nproc" | "hostname" | "mktemp" | "tty" | "id" | "uname" | "arch" | "logname" | "seq"
            | "wc" | "du" | "pgrep" | "pidof" | "find" | "nproc " | "realpath" | "stat" | "getconf" | "tput" | "md5sum"
            | "sha256sum" | "lsof" | "dirname" | "uuidgen" | "readlink" | "free" | "uptime" | "groups",
            ..,
        ) => {
            // What they print can be told to be something else.
            let told = words.iter().skip(1).any(|word| {
                constant(word)
                    .is_none_or(|text| text.contains("printf") || text.starts_with("-exec") || text.contains(" -"))
                    && first == "find"
                    || constant(word).is_some_and(|text| {
                        text.contains(" -") || text == "-f" || text == "-c" || text.starts_with("--format")
                    }) && matches!(first, "seq" | "stat")
            });
            if told { Output::Anything } else { Output::Operands }
        }
        ("git", "branch", "--show-current") | ("git", "rev-parse", _) | ("git", "merge-base", _) => Output::Operands,
        ("git", "symbolic-ref" | "describe" | "rev-list" | "ls-files" | "hash-object" | "write-tree", _) => {
            Output::Operands
        }
        // The ids of what they make.
        ("docker" | "podman", "create", _) => Output::Operands,
        ("docker" | "podman", "run", "-d" | "-dit" | "-itd" | "-dt" | "--detach") => Output::Operands,
        ("docker" | "podman", "build", "-q" | "--quiet") => Output::Operands,
        ("docker" | "podman", "compose", _) if has_word(words, &["ps"]) && has_word(words, &["-q", "--quiet"]) => {
            Output::Operands
        }
        ("docker" | "podman", "ps" | "images", _)
        | ("docker" | "podman", "container", "ls")
        | ("kubectl", "get", _) => {
            let is_told = |word: &Word| {
                constant(word)
                    .is_none_or(|text| ["format", "template", "--force", " -"].iter().any(|it| text.contains(it)))
            };
            if words.iter().any(is_told) { Output::Anything } else { Output::Operands }
        }
        ("brew", "--prefix", _) | ("go", "env", _) | ("npm", "bin" | "root" | "prefix", _) => Output::Operands,
        _ => Output::Anything,
    }
}

fn has_word(words: &[Word], texts: &[&str]) -> bool {
    words.iter().filter_map(constant).any(|word| texts.contains(&word))
}

/// A word's text if it is constant.
pub(super) fn constant(word: &Word) -> Option<&str> {
    match word.parts.as_slice() {
        [Part::Text { text, .. }] => Some(text),
        _ => None,
    }
}

/// What `echo` or `printf` prints; `escapes`: this shell's `echo` reads backslashes.
pub(super) fn printed(words: &[&str], escapes: bool) -> Option<String> {
    spelt(words, escapes).filter(|text| text.exact).map(|text| text.text)
}

/// The same, where shells differ or more is needed to tell it: as near as it can be told.
pub(super) fn nearly_printed(words: &[&str], escapes: bool) -> Option<String> {
    spelt(words, escapes).map(|text| text.text)
}

struct Text {
    text: String,
    /// All shells print it so.
    exact: bool,
}

fn spelt(words: &[&str], escapes: bool) -> Option<Text> {
    match words {
        ["echo", rest @ ..] => {
            let (mut rest, mut newline, mut decodes) = (rest, true, escapes);
            while let [option, after @ ..] = rest
                && option.len() > 1
                && option.starts_with('-')
                && option[1..].bytes().all(|letter| matches!(letter, b'n' | b'e' | b'E'))
            {
                newline &= !option.contains('n');
                if option.contains('e') {
                    decodes = true;
                } else if option.contains('E') {
                    decodes = false;
                }
                rest = after;
            }
            let text = rest.join(" ");
            let mut text = if decodes { decoded(&text, false) } else { Text { text, exact: true } };
            text.text.extend(newline.then_some('\n'));
            Some(text)
        }
        ["printf", "--", format, rest @ ..] | ["printf", format, rest @ ..] if !format.starts_with('-') => {
            let Text { text: format, mut exact } = decoded(format, true);
            let pieces: Vec<&str> = format.split("%s").collect();
            exact &= !pieces.iter().any(|piece| piece.contains('%'));
            let places = pieces.len() - 1;
            let mut text = String::new();
            let mut rest = rest;
            loop {
                for (at, piece) in pieces.iter().enumerate() {
                    text.push_str(piece);
                    if at < places
                        && let [argument, after @ ..] = rest
                    {
                        text.push_str(argument);
                        rest = after;
                    }
                }
                if rest.is_empty() || places == 0 || text.len() > 64 * 1024 {
                    return Some(Text { text, exact });
                }
            }
        }
        _ => None,
    }
}

/// Backslashes read as `printf` does, or as `echo -e`, which keeps the one before a quote.
fn decoded(text: &str, format: bool) -> Text {
    let mut read = Text { text: String::with_capacity(text.len()), exact: true };
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        if c != '\\' {
            read.text.push(c);
            continue;
        }
        let Some(escape) = rest.next() else {
            read.text.push('\\');
            break;
        };
        let read_as = match escape {
            'n' => '\n',
            't' => '\t',
            '\\' => '\\',
            '"' if format => '"',
            '"' => {
                read.text.push('\\');
                escape
            }
            _ => {
                read.exact = false;
                let (radix, digits, first) = match escape {
                    'x' => (16, 2, None),
                    'u' => (16, 4, None),
                    'U' => (16, 8, None),
                    // `\0` may have three more digits.
                    _ => (8, if escape == '0' { 3 } else { 2 }, escape.to_digit(8)),
                };
                let mut value = first.unwrap_or(0);
                for _ in 0..digits {
                    let digit = rest.peek().and_then(|c| c.to_digit(radix));
                    let Some(digit) = digit.filter(|_| radix == 16 || first.is_some()) else { break };
                    value = value.wrapping_mul(radix) + digit;
                    rest.next();
                }
                char::from_u32(value).filter(|c| *c != '\0').unwrap_or(' ')
            }
        };
        read.text.push(read_as);
    }
    read
}
