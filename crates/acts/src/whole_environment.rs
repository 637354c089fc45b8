//! Reading the whole environment: `env`, `export -p`, `print(os.environ)`. It is told as the reading
//! of the file that Linux shows it in, so that rules over files name every way.

use super::Command;
use super::names::base_name;
use super::programs::files::{Kind, Uses};

/// The file that holds a process's environment, for the process itself.
pub const ENVIRONMENT_FILE: &str = "/proc/self/environ";

/// What interpreters call all of it.
const NAMES: &[&str] = &[
    "environ",
    "process.env",
    "ENVIRON",
    "%ENV",
    "ENV",
    "env.toObject",
    "$_ENV",
    "getenv()",
    "Environ()",
];

/// Whether a command shows or hands on the whole environment.
pub(super) fn is_read_by(command: &Command, uses: &Uses<'_>) -> bool {
    let mut words = command.words.iter().map(|word| &*word.text);
    let head = words.next().unwrap_or_default();
    // Most commands are none of these, and each of every text comes by here.
    let head = match head.ends_with(['v', 't', 'e', 'y']) {
        true => base_name(head),
        false => "",
    };
    let is_option = |word: &&str| word.starts_with('-');
    match head {
        "env" => {
            let is_kept = |word: &str| !matches!(word, "-" | "-i" | "--ignore-environment");
            let mut is_value = false;
            // Behind anything else stands a command, which is told by itself.
            words.all(|word| {
                let takes_value = matches!(word, "-u" | "--unset" | "-C" | "--chdir");
                let is_own = is_option(&word) || word.contains('=');
                let is_read = is_kept(word) && (is_own || is_value);
                is_value = takes_value;
                is_read
            })
        }
        "printenv" => words.all(|word| is_option(&word)),
        "export" | "declare" | "typeset" | "readonly" | "set" => match words.next() {
            None => true,
            Some("-p" | "-x" | "-xp" | "-px") => words.next().is_none() && head != "set",
            Some(_) => false,
        },
        _ => uses
            .words
            .iter()
            .filter(|it| matches!(it.kind, Kind::Code | Kind::Awk))
            .any(|it| is_read_in_code(&it.word.text)),
    }
}

/// Whether code names the whole environment. A variable of it by name is another matter.
pub fn is_read_in_code(code: &str) -> bool {
    let is_of_name = |c: char| c.is_alphanumeric() || c == '_';
    NAMES.iter().any(|name| {
        code.match_indices(name).any(|(at, _)| {
            let (before, behind) = (&code[..at], &code[at + name.len()..]);
            let is_part = before.ends_with(is_of_name) || behind.starts_with(is_of_name);
            // `$ENV{PATH}`, `$ENV`; `RAILS.ENV` is another's.
            let is_anothers = before.ends_with('$') && !name.starts_with('$')
                || *name == "ENV" && before.ends_with('.');
            !is_part && !is_anothers && !is_one(behind)
        })
    })
}

/// Whether what stands behind the environment's name takes one variable of it.
fn is_one(behind: &str) -> bool {
    const TAKING: &[&str] = &[
        "get",
        "fetch",
        "pop",
        "setdefault",
        "has",
        "has_key?",
        "key?",
        "delete",
        "putenv",
        "getenv",
    ];
    let is_quoted = |text: &str| text.trim_start().starts_with(['"', '\'', '`']);
    let behind = behind.trim_start_matches(['?', '!']);
    if let Some(index) = behind.strip_prefix(['[', '{']) {
        return is_quoted(index)
            || index.starts_with(|c: char| c.is_alphabetic() || c == '_')
                && behind.starts_with('{');
    }
    let Some(member) = behind.strip_prefix('.') else {
        return false;
    };
    let end = member.find(|c: char| !c.is_alphanumeric() && c != '_' && c != '?');
    let (name, rest) = member.split_at(end.unwrap_or(member.len()));
    // `process.env.HOME`
    let is_variable =
        !rest.starts_with('(') && name.starts_with(|c: char| c.is_uppercase() || c == '_');
    is_variable || TAKING.contains(&name) && rest.strip_prefix('(').is_some_and(is_quoted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_names_all_of_it_or_one() {
        for code in [
            "import os; print(os.environ)",
            "import os\nfor k, v in os.environ.items(): print(k, v)",
            "print(dict(os.environ))",
            "console.log(process.env)",
            "JSON.stringify(process.env)",
            "console.log({...process.env})",
            "process.env[k]",
            "BEGIN { for (k in ENVIRON) print k, ENVIRON[k] }",
            "print %ENV",
            "p ENV.to_h",
            "puts ENV.inspect",
            "print_r($_ENV);",
            "print_r(getenv());",
            "open('/proc/self/environ').read()",
        ] {
            assert!(is_read_in_code(code), "{code}");
        }
        for code in [
            "print(os.environ['HOME'])",
            "os.environ.get(\"HOME\")",
            "os.environ.setdefault('A', 'b')",
            "console.log(process.env.HOME)",
            "process.env['HOME']",
            "process.env?.HOME",
            "BEGIN { print ENVIRON[\"HOME\"] }",
            "print $ENV{PATH}",
            "puts ENV['HOME']",
            "puts ENV.fetch('HOME')",
            "RAILS_ENV = 1",
            "my_environ = 1",
            "environment",
            "getenv('HOME')",
        ] {
            assert!(!is_read_in_code(code), "{code}");
        }
    }
}
