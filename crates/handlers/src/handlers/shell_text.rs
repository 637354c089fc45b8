//! What is wrong with a text for `sh`, as far as that can be told without running it.
//!
//! A shell ends with 2 where it can't read its text, and 2 means deny, whatever `fail` says.

use super::asked::{self, Stream};
use super::means::Obstacle;
use hookwire_base::syntax::fix::Fix;
use lru::LruCache;
use parking_lot::Mutex;
use std::num::NonZeroUsize;
use std::process::Command;
use std::sync::LazyLock;
use std::time::Duration;

/// How long a shell may take to read a text.
const TIME: Duration = Duration::from_secs(1);
/// A shell may repeat a line of the text, in bytes.
const MAX_SAID: u64 = 2 * MAX_TEXT as u64;
/// What a program's argument may have; a longer text isn't read.
const MAX_TEXT: usize = 64 * 1024;
/// How many answers are kept.
const N_KEPT: NonZeroUsize = NonZeroUsize::new(512).unwrap();
/// What is longer, with its question, isn't kept, in bytes.
const MAX_KEPT: usize = 4096;

/// The mistake of a text. `may_start`: `sh` may be asked to read it.
pub(super) fn mistake(text: &str, may_start: bool) -> Option<Obstacle> {
    foreign_placeholder(text).or_else(|| {
        if may_start {
            unreadable(text).or_else(|| test_of_bash(text))
        } else {
            None
        }
    })
}

/// What hookwire calls the main argument of a call, elsewhere.
const MAIN_ARGUMENTS: [&str; 3] = ["path", "command", "url"];

/// `${tool.input.command}`, which no shell has, and `${path}`, which is a variable there that
/// nobody sets.
fn foreign_placeholder(text: &str) -> Option<Obstacle> {
    let is_quoted = quoted(text);
    let found = text
        .match_indices("${")
        .filter(|(at, _)| is_quoted[*at] != Some('\'') && !text[..*at].ends_with('\\'));
    let path = found.filter_map(|(at, _)| Some((at, text[at + 2..].split_once('}')?.0)));
    let is_step = |step: &str| {
        !step.is_empty()
            && step.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            && !step.starts_with(|c: char| c.is_ascii_digit())
    };
    let is_unset = |name: &str| {
        let sets = [
            format!("{name}="),
            format!("read {name}"),
            format!("read -r {name}"),
            format!("for {name} "),
        ];
        MAIN_ARGUMENTS.contains(&name) && !sets.iter().any(|it| text.contains(it))
    };
    let is_foreign =
        |path: &str| path.contains('.') && path.split('.').all(is_step) || is_unset(path);
    let (at, path) = path.into_iter().find(|(_, path)| is_foreign(path))?;
    let written = format!("${{{path}}}");
    let (variable, why) = match path.contains('.') {
        true => (format!("${}", path.replace('.', "_")), "`sh` can't read it"),
        false => (
            format!("$tool_input_{path}"),
            "it is a variable of `sh` there, and nothing sets it",
        ),
    };
    let meant = if is_quoted[at].is_some() {
        variable
    } else {
        format!("\"{variable}\"")
    };
    let obstacle = Obstacle::new(
        "bad-shell-text",
        format!("`{written}` isn't for shell texts: {why}"),
    );
    Some(
        obstacle
            .within(at..at + written.len())
            .help(format!("write `{meant}`"))
            .fix(Fix::replace(&written, &meant)),
    )
}

/// For each byte of a text the quote that it is in.
fn quoted(text: &str) -> Vec<Option<char>> {
    let (mut quote, mut is_escaped, mut found) = (None, false, Vec::with_capacity(text.len()));
    for c in text.chars() {
        found.extend(std::iter::repeat_n(quote, c.len_utf8()));
        match (quote, c) {
            _ if is_escaped => is_escaped = false,
            (None | Some('"'), '\\') => is_escaped = true,
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), c) if open == c => quote = None,
            _ => {}
        }
    }
    found
}

/// What `sh` itself says of a text that it reads and doesn't run.
fn unreadable(text: &str) -> Option<Obstacle> {
    let said = ask(&["-n", "-c", text])?;
    let said = said.lines().next()?.trim();
    // `sh: 1: Syntax error: ...`, `sh: -c: line 1: syntax error ...`
    let (before, what) = said
        .match_indices(": ")
        .map(|(at, _)| (&said[..at], &said[at + 2..]))
        .find(|(_, rest)| {
            let rest = rest.to_ascii_lowercase();
            !rest.starts_with("-c")
                && !rest.starts_with("line ")
                && !rest.starts_with(|c: char| c.is_ascii_digit())
        })?;
    let number: String = before
        .rsplit(|c: char| !c.is_ascii_digit())
        .next()
        .unwrap_or_default()
        .into();
    let n_lines = text.lines().count();
    let line = number
        .parse::<usize>()
        .unwrap_or(1)
        .clamp(1, n_lines.max(1))
        - 1;
    let start = text
        .split_inclusive('\n')
        .take(line)
        .map(str::len)
        .sum::<usize>();
    let length = text[start..].lines().next().map_or(0, str::len);
    let obstacle = Obstacle::new(
        "bad-shell-text",
        format!("`sh` can't read this text: {what}"),
    );
    let obstacle = obstacle.within(start..start + length);
    Some(obstacle.help("then it ends with 2, which is a deny whatever `fail` says"))
}

/// `[[ ... ]]` where `sh` is a shell that has no such word.
fn test_of_bash(text: &str) -> Option<Obstacle> {
    let is_quoted = quoted(text);
    let at = text.match_indices("[[ ").map(|(at, _)| at).find(|at| {
        let before = text[..*at].trim_end_matches([' ', '\t', '!']);
        is_quoted[*at].is_none()
            && (before.is_empty() || before.ends_with([';', '&', '|', '\n', '(', '{']))
            || ["if", "while", "until", "elif", "then", "do"]
                .iter()
                .any(|word| before.ends_with(word))
                && is_quoted[*at].is_none()
    })?;
    // It says what it knows the word as.
    ask(&["-c", "command -v '[[' >/dev/null || echo no >&2"])?;
    let obstacle = Obstacle::new(
        "bad-shell-text",
        "`[[` is a word of bash, and `sh` runs this text: it never holds",
    );
    Some(
        obstacle
            .within(at..at + 2)
            .help("write `[ ... ]` or `case`, or run `[bash, -c, ...]`"),
    )
}

/// What `sh` says on stderr, if that is anything. Each edit of a file has all of its texts read
/// again, so the last answers are kept.
fn ask(arguments: &[&str]) -> Option<String> {
    static KEPT: LazyLock<Mutex<LruCache<String, Option<String>>>> =
        LazyLock::new(|| Mutex::new(LruCache::new(N_KEPT)));
    if arguments
        .iter()
        .any(|it| it.len() > MAX_TEXT || it.contains('\0'))
    {
        return None;
    }
    let question = arguments.join("\0");
    if let Some(said) = KEPT.lock().get(&question) {
        return said.clone();
    }
    let mut shell = Command::new("/bin/sh");
    shell.args(arguments).env_clear().current_dir("/");
    let (_, said) = asked::ask(shell, Stream::Stderr, MAX_SAID, TIME)?;
    let said = Some(said).filter(|said| !said.trim().is_empty());
    if question.len() + said.as_ref().map_or(0, String::len) <= MAX_KEPT {
        KEPT.lock().put(question, said.clone());
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistakes_of_texts() {
        for (text, expected) in [
            ("if true; then exit 2", Some("`sh` can't read this text: ")),
            (
                "true\necho \"$x | grep y",
                Some("`sh` can't read this text: "),
            ),
            (
                "echo ${tool.input.command}",
                Some("`${tool.input.command}` isn't for shell texts"),
            ),
            (
                "echo \"${tool.input.command}\"",
                Some("`${tool.input.command}` isn't for shell texts"),
            ),
            (
                "cat ${path}",
                Some(
                    "`${path}` isn't for shell texts: it is a variable of `sh` there, and nothing sets it",
                ),
            ),
            ("path=x; cat ${path}", None),
            ("while read -r url; do echo ${url}; done", None),
            ("jq '.${a.b}'", None),
            ("echo \\${a.b} ${x%.b} ${x:-a.b}", None),
            ("case x in a) echo x ;; esac", None),
            ("echo '[[ a' \"[[ b\"; grep [[:alpha:]] x", None),
            ("nothing-like-it \"é", Some("`sh` can't read this text: ")),
            ("", None),
        ] {
            let found = mistake(text, true).map(|it| it.message);
            let is_so = match expected {
                Some(expected) => found.as_deref().is_some_and(|it| it.starts_with(expected)),
                None => found.is_none(),
            };
            assert!(is_so, "{text}: {found:?}");
        }
        let fix = mistake("echo ${tool.name}", false).and_then(|it| it.fix);
        assert_eq!(
            fix.map(|it| *it),
            Some(Fix::replace("${tool.name}", "\"$tool_name\""))
        );
    }
}
