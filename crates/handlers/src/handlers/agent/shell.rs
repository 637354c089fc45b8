//! Which command a text is, when it may be nothing more than one program with plain words.

use hookwire_base::support::shell_word::words;
use hookwire_rules::matching::shell::{self, CommandRule, Judgement, Place, Shell};
use std::path::Path;

/// Programs and arguments that may be run.
#[derive(Debug)]
pub(super) struct AllowList {
    patterns: Vec<Pattern>,
}

#[derive(Debug)]
struct Pattern {
    /// As it was written.
    text: String,
    /// Its words, if it is one command and nothing else.
    exact: Option<Vec<String>>,
    pattern: CommandRule,
}

impl AllowList {
    /// Compiles patterns as in `if: Bash(pattern)`.
    pub(super) fn new(patterns: Vec<String>) -> Result<AllowList, String> {
        if patterns.is_empty() {
            return Err("`run_command` allows nothing: list patterns such as `cargo test*`".into());
        }
        let compile = |text: String| match CommandRule::new(&text) {
            Ok(pattern) => Ok(Pattern {
                exact: words(&text).ok(),
                text,
                pattern,
            }),
            Err(error) => Err(format!("`{text}`: {error}")),
        };
        Ok(AllowList {
            patterns: patterns
                .into_iter()
                .map(compile)
                .collect::<Result<_, _>>()?,
        })
    }

    /// The patterns as they were written.
    pub(super) fn texts(&self) -> Vec<&str> {
        self.patterns.iter().map(|it| it.text.as_str()).collect()
    }

    /// The words of a text, if it is one plain command that a pattern allows.
    pub(super) fn admit(&self, text: &str) -> Result<Vec<String>, String> {
        let words = words(text)?;
        // Word for word what the author wrote, whatever it does.
        if self
            .patterns
            .iter()
            .any(|it| it.exact.as_ref() == Some(&words))
        {
            return Ok(words);
        }
        // A second reader, which also knows programs that run others.
        let read = shell::read(text, Shell::Unknown);
        let rules: Vec<&CommandRule> = self.patterns.iter().map(|it| &it.pattern).collect();
        match shell::covers(&rules, &[], &read, &Place::at(Path::new("/"))) {
            // A shell whose text would be allowed is itself another program.
            Judgement::Yes(_)
                if read
                    .commands()
                    .first()
                    .is_some_and(|it| rules.iter().any(|rule| rule.fits(it))) => {}
            Judgement::Doubt(doubt) => {
                let why = doubt.why;
                return Err(format!(
                    "`{text}` is not allowed: {why}; only a pattern without `*` could allow it"
                ));
            }
            Judgement::Yes(_) | Judgement::No | Judgement::Delegates(_) => {
                return Err(format!(
                    "`{text}` is not on the list of allowed commands: {}",
                    self.texts().join(", ")
                ));
            }
        }
        Ok(words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_listed_and_plain() {
        let list = AllowList::new(
            [
                "cargo test *",
                "npm run lint",
                "git log*",
                "./check",
                "sh -c 'make it'",
            ]
            .map(String::from)
            .to_vec(),
        )
        .unwrap();
        for (text, expected) in [
            ("cargo test", "cargo|test"),
            (
                "  cargo   test --lib 'a b' \"c d\" ",
                "cargo|test|--lib|a b|c d",
            ),
            ("cargo test 'a;b'", "cargo|test|a;b"),
            ("npm run lint", "npm|run|lint"),
            ("./check", "./check"),
            ("git log --oneline", "git|log|--oneline"),
            ("npm run lint:fix", "not on the list"),
            (
                "cargo build",
                "not on the list of allowed commands: cargo test *, npm run lint, git log*, ./check, sh",
            ),
            ("sh -c \"make it\"", "sh|-c|make it"),
            ("sh -c make it", "not on the list"),
            (
                "cargo test --config a.b=c",
                "not allowed: an option that runs code",
            ),
            ("rm -rf /", "not on the list"),
            ("cargo test; rm -rf /", "`;` is not allowed"),
            ("cargo test && rm x", "`&` is not allowed"),
            ("cargo test | sh", "`|` is not allowed"),
            ("cargo test > /etc/passwd", "`>` is not allowed"),
            ("cargo test < x", "`<` is not allowed"),
            ("cargo test $(rm x)", "`$` is not allowed"),
            ("cargo test `rm x`", "``` is not allowed"),
            ("cargo test \"$(rm x)\"", "`$` is not allowed"),
            ("cargo test $HOME", "`$` is not allowed"),
            ("cargo test *", "`*` is not allowed"),
            ("cargo test {a,b}", "`{` is not allowed"),
            ("cargo test ~", "`~` is not allowed"),
            ("cargo test #x", "`#` is not allowed"),
            ("cargo test \\;", "`\\` is not allowed"),
            ("cargo test\nrm x", "`\\n` is not allowed"),
            ("cargo test 'x\ny'", "`\\n` is not allowed"),
            ("cargo test\u{a0}x", "is not allowed"),
            ("PATH=/tmp cargo test", "a command begins with its program"),
            ("'' cargo test", "a command begins with its program"),
            ("cargo test 'x", "a quote is not closed"),
            ("sh -c 'cargo test'", "not on the list"),
            ("env cargo test", "not on the list"),
            ("sudo cargo test", "not on the list"),
            ("/tmp/cargo test", "not on the list"),
            ("git log -c 'core.pager=rm x'", "git|log|-c|core.pager=rm x"),
            ("git -c core.pager=x log", "not "),
            (" ", "the command is empty"),
        ] {
            match list.admit(text) {
                Ok(words) => assert_eq!(words.join("|"), expected, "{text}"),
                Err(error) => assert!(error.contains(expected), "{text}: {error}"),
            }
        }
        assert!(AllowList::new(Vec::new()).is_err());
    }
}
