//! Variables whose setting changes nothing of what runs: the table `settings.txt`.

use super::super::names::base_name;
use super::super::word::{Openness, Word};
use super::options;
use std::collections::HashMap;
use std::sync::LazyLock;

/// What the value of a harmless setting must be.
#[derive(Clone, Copy)]
enum Value {
    Plain,
    Zone,
    Number,
    Flag,
    Any,
    Local,
    /// One of these, with `|` between them.
    OneOf(&'static str),
}

impl Value {
    fn named(word: &'static str) -> Value {
        match word {
            "plain" => Value::Plain,
            "zone" => Value::Zone,
            "number" => Value::Number,
            "flag" => Value::Flag,
            "any" => Value::Any,
            "local" => Value::Local,
            values => Value::OneOf(values),
        }
    }

    fn is(self, value: &str) -> bool {
        let all = |signs: &[u8]| {
            let is_sign = |byte: u8| byte.is_ascii_alphanumeric() || signs.contains(&byte);
            value.bytes().all(is_sign)
        };
        match self {
            Value::Plain => all(b"_-.,:=+*"),
            Value::Zone => {
                all(b"_-.,+/") && !value.starts_with(['/', '.']) && !value.contains("..")
            }
            Value::Number => value.len() <= 6 && value.bytes().all(|byte| byte.is_ascii_digit()),
            Value::Flag => {
                const FLAGS: [&str; 9] = ["", "0", "1", "true", "false", "yes", "no", "on", "off"];
                FLAGS.iter().any(|flag| value.eq_ignore_ascii_case(flag))
            }
            // make reads `$(shell x)` in a value.
            Value::Any => !value.contains(['$', '`', '\n']),
            Value::Local => is_local(value),
            Value::OneOf(values) => values.split('|').any(|it| it == value),
        }
    }
}

/// A URL whose host is this machine, with nothing behind that could name another.
fn is_local(value: &str) -> bool {
    let Some((scheme, rest)) = value.split_once("://") else {
        return false;
    };
    let (authority, behind) = rest.split_once('/').unwrap_or((rest, ""));
    let host = authority
        .rsplit_once('@')
        .map_or(authority, |(_, host)| host);
    let name = host.split_once(':').map_or(host, |(name, _)| name);
    let is_plain = |text: &str, signs: &str| {
        text.chars()
            .all(|c| c.is_ascii_alphanumeric() || signs.contains(c))
    };
    matches!(
        scheme,
        "postgres" | "postgresql" | "mysql" | "mariadb" | "redis" | "mongodb"
    ) && matches!(name, "localhost" | "127.0.0.1")
        && is_plain(authority, "_-.:@")
        && authority.matches('@').count() < 2
        && is_plain(behind, "_-")
}

static SETTINGS: LazyLock<HashMap<&str, Value>> = LazyLock::new(|| {
    let mut settings = HashMap::new();
    let lines = include_str!("settings.txt").lines();
    for line in lines.filter(|line| !line.starts_with('#')) {
        let mut columns = line.split('\t');
        let (names, value) = (columns.next(), columns.next());
        for name in names.unwrap_or_default().split(' ') {
            settings.insert(name, Value::named(value.unwrap_or_default()));
        }
    }
    settings
});

/// Whether to set a variable so changes nothing of what runs.
pub(in super::super) fn is_plain_setting(name: &str, value: &str) -> bool {
    SETTINGS.get(name).is_some_and(|wanted| wanted.is(value))
}

/// Whether a word `NAME=value` is such a setting.
pub(in super::super) fn is_plain_word(word: &Word) -> bool {
    let Some((name, value)) = word.text.split_once('=') else {
        return false;
    };
    match SETTINGS.get(name) {
        // Whoever computes a token runs commands of its own.
        Some(Value::Any) if word.openness != Openness::Constant => true,
        Some(wanted) => word.as_constant().is_some() && wanted.is(value),
        None => false,
    }
}

/// The variables on which it depends what a command does, by the rows of the programs that it
/// names.
pub(in super::super) fn minded(words: &[Word]) -> impl Iterator<Item = &'static str> {
    let programs = words.iter().filter_map(Word::as_constant).map(base_name);
    programs.flat_map(|program| options::runs(program).of("minds:"))
}

#[test]
fn every_line_is_read() {
    for line in include_str!("settings.txt")
        .lines()
        .filter(|line| !line.starts_with('#'))
    {
        assert_eq!(line.split('\t').count(), 3, "{line}");
    }
    for (name, value, expected) in [
        ("TZ", "America/Sao_Paulo", true),
        ("TZ", "EST5EDT,M3.2.0,M11.1.0", true),
        ("TZ", ":/etc/passwd", false),
        ("TZ", "../../etc/passwd", false),
        ("TZ", "a/../../b", false),
        ("TZ", "/etc/passwd", false),
        ("LC_ALL", "../x", false),
        ("DATABASE_URL", "postgres://u:p@localhost:5432/x", true),
        ("DATABASE_URL", "postgres://localhost/x?host=evil", false),
        ("DATABASE_URL", "postgres://localhost@evil/x", false),
        ("DATABASE_URL", "postgres://localhost,evil/x", false),
        ("NODE_ENV", "production", false),
        ("PAGER", "less", false),
        ("LD_PRELOAD", "1", false),
    ] {
        assert_eq!(is_plain_setting(name, value), expected, "{name}={value}");
    }
}
