//! Finds secrets in texts by the rules of [`super::secret_rules`].
//!
//! One pass over a text tells which rules have a keyword in it; only their regexes are run. All of
//! it is compiled when the first text is looked at: a host without these guards pays nothing.

use super::super::text::{self, Place};
use super::secret_rules::{Form, RULES, Rule};
use regex::{Regex, RegexBuilder, RegexSet, RegexSetBuilder};
use serde_json::Value;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

/// What is to become of secrets.
#[derive(Debug)]
pub(super) struct Redaction {
    /// Secrets that stay.
    pub(super) allow: Vec<Regex>,
    /// Stands in for the others.
    pub(super) replacement: String,
}

/// A key longer than this says nothing about its value.
const LONGEST_KEY: usize = 64;

/// The value without secrets, those in keys included, and the names of the rules that found some; `None` if there are none.
pub(super) fn redact(value: &Value, redaction: &Redaction) -> Option<(Value, Vec<&'static str>)> {
    let mut found = BTreeSet::new();
    let redacted = text::rewrite(value, &mut |place, text| {
        // What makes a text a password is often only the key that it stands under.
        let key = match place {
            Place::Value(key) => key.filter(|key| key.len() <= LONGEST_KEY),
            Place::Key => None,
        };
        let named = key.map(|key| format!("{key}={text}"));
        let offset = key.map_or(0, |key| key.len() + 1);
        let mut spans = find(named.as_deref().unwrap_or(text), redaction, &mut found);
        spans.retain(|span| span.start >= offset);
        if spans.is_empty() {
            return None;
        }
        let mut clean = String::with_capacity(text.len());
        let mut rest = 0;
        for Range { start, end } in spans {
            clean.push_str(&text[rest..start - offset]);
            clean.push_str(&redaction.replacement);
            rest = end - offset;
        }
        clean.push_str(&text[rest..]);
        Some(clean)
    })?;
    Some((redacted, found.into_iter().collect()))
}

/// The value with `[redacted]` in place of every secret.
pub fn without_secrets(value: Value) -> Value {
    let redaction = Redaction { allow: Vec::new(), replacement: "[redacted]".into() };
    redact(&value, &redaction).map_or(value, |(clean, _)| clean)
}

/// The places of secrets in a text, in order and apart; `found` gets the names of their rules.
fn find(text: &str, redaction: &Redaction, found: &mut BTreeSet<&'static str>) -> Vec<Range<usize>> {
    let mut spans = Vec::new();
    for index in KEYWORDS.matches(text) {
        let rule = &RULES[index];
        let Some(regex) = COMPILED[index].get_or_init(|| compile(rule)) else { continue };
        for captures in regex.captures_iter(text) {
            let Some(secret) = captures.get(1).or_else(|| captures.get(0)) else { continue };
            // What was redacted already isn't again; what stands around it still may be a secret.
            let rest = match &*redaction.replacement {
                "" => secret.as_str().to_string(),
                replacement => secret.as_str().replace(replacement, ""),
            };
            let is_done = rest.is_empty() || rest.len() < secret.len() && !is_random(&rest, rule);
            let stays = is_done || redaction.allow.iter().any(|allow| allow.is_match(secret.as_str()));
            if is_random(secret.as_str(), rule) && !stays {
                spans.push(secret.range());
                found.insert(rule.name);
            }
        }
    }
    spans.sort_by_key(|span| (span.start, span.end));
    let mut apart: Vec<Range<usize>> = Vec::with_capacity(spans.len());
    for span in spans {
        match apart.last_mut() {
            Some(last) if span.start < last.end => last.end = last.end.max(span.end),
            _ => apart.push(span),
        }
    }
    apart
}

static KEYWORDS: LazyLock<RegexSet> = LazyLock::new(|| {
    let alternatives = |rule: &Rule| rule.keywords.split(' ').map(regex::escape).collect::<Vec<_>>().join("|");
    // Tests compile it; without it there would be no guard, which a log line would not make good.
    RegexSetBuilder::new(RULES.iter().map(alternatives))
        .case_insensitive(true)
        .unicode(false)
        .size_limit(64 << 20)
        .build()
        .unwrap_or_else(|error| {
            tracing::error!(%error, "The keywords of secrets don't compile; this is a bug in hookwire.");
            RegexSet::empty()
        })
});

static COMPILED: [OnceLock<Option<Regex>>; RULES.len()] = [const { OnceLock::new() }; RULES.len()];

/// Letters and digits of a text go on: no token ends here.
const END: &str = r"(?:[^A-Za-z0-9_-]|$)";
/// A token begins here: after no letter or digit, but for the `n` of an escaped line break.
const START: &str = r"(?:(?-u:\b)|\\[nrt]|_)";
/// From a name to its value, as code, configuration, JSON (also within a text) and headers have it.
const ASSIGNED: &str = r#"[A-Za-z0-9_.-]{0,30}[\\"'`\]]{0,3}[ \t]{0,3}(?::=|=>|==|=|:)[ \t]{0,3}[\\"'`]{0,3}"#;
const VALUE_END: &str = r#"(?:["'`\s\\;,)\[\]}&<|]|$)"#;

fn compile(rule: &Rule) -> Option<Regex> {
    let source = match rule.form {
        Form::Token(token) => format!("{START}({token}){END}"),
        Form::Assigned { name, value } => format!("(?i:{name}){ASSIGNED}({value}){VALUE_END}"),
        Form::Whole(regex) => regex.to_string(),
    };
    let regex = RegexBuilder::new(&source).size_limit(8 << 20).build();
    let failed = |error: &regex::Error| {
        tracing::error!(%error, rule = rule.name, "A rule for secrets doesn't compile; this is a bug in hookwire.");
    };
    regex.inspect_err(failed).ok()
}

/// Whether a secret is as random as its rule asks: what stands in documentation seldom is.
fn is_random(secret: &str, rule: &Rule) -> bool {
    let has = |is: fn(&u8) -> bool| secret.as_bytes().iter().any(is);
    (!rule.mixed || has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic)) && entropy(secret) >= rule.entropy
}

/// Shannon's, in bits a byte.
fn entropy(text: &str) -> f64 {
    let mut counts = [0_u32; 256];
    for byte in text.bytes() {
        counts[usize::from(byte)] += 1;
    }
    let length = text.len() as f64;
    let share = |count: &u32| f64::from(*count) / length;
    -counts.iter().filter(|count| **count > 0).map(share).map(|share| share * share.log2()).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::strategy::{Strategy, ValueTree};
    use proptest::test_runner::TestRunner;
    use serde_json::json;

    fn redaction() -> Redaction {
        Redaction { allow: Vec::new(), replacement: "[redacted]".into() }
    }

    fn first_word(words: &str) -> &str {
        words.split(' ').next().unwrap_or_default()
    }

    fn rules_for(text: &str) -> Vec<&'static str> {
        redact(&json!(text), &redaction()).map(|(_, rules)| rules).unwrap_or_default()
    }

    /// Secrets are made when the test runs, so that none stands in the repository.
    #[test]
    fn every_rule_finds_what_it_describes_and_leaves_nothing_of_it() {
        assert_eq!(KEYWORDS.len(), RULES.len());
        let mut runner = TestRunner::deterministic();
        let mut n_tried = 0;
        for rule in RULES {
            assert!(compile(rule).is_some(), "{}", rule.name);
            let (pattern, before) = match rule.form {
                Form::Token(token) => (token, String::new()),
                // The name as a person writes it: the keyword.
                Form::Assigned { value, .. } => (value, format!("{}_key = \"", first_word(rule.keywords))),
                Form::Whole(_) => continue,
            };
            let strategy = proptest::string::string_regex(pattern).unwrap();
            let mut samples = std::iter::repeat_with(|| strategy.new_tree(&mut runner).unwrap().current());
            let sample = samples.by_ref().take(200).find(|sample| is_random(sample, rule));
            let sample = sample.unwrap_or_else(|| panic!("{}: no sample is random enough", rule.name));
            for (left, right) in [("", ""), ("x ", " y"), ("{\\\"k\\\": \\\"", "\\\"}"), ("a\\n", "\\nb"), ("(", "),")]
            {
                let text = format!("{left}{before}{sample}{}{right}", if before.is_empty() { "" } else { "\"" });
                let (clean, rules) = redact(&json!(text), &redaction())
                    .unwrap_or_else(|| panic!("{} doesn't find its own in {text}", rule.name));
                assert!(rules.contains(&rule.name), "{}: {rules:?} in {text}", rule.name);
                assert!(!clean.as_str().unwrap().contains(&sample), "{}: {clean}", rule.name);
                assert_eq!(redact(&clean, &redaction()), None, "{}: found again in {clean}", rule.name);
                n_tried += 1;
            }
        }
        assert!(n_tried >= 500, "{n_tried}");
    }

    #[test]
    fn names_are_unique_and_keywords_are_lowercase() {
        let names: BTreeSet<_> = RULES.iter().map(|rule| rule.name).collect();
        assert_eq!(names.len(), RULES.len());
        assert!(RULES.len() >= 100, "{}", RULES.len());
        for rule in RULES {
            assert!(
                rule.keywords.split(' ').all(|word| word.len() > 1 && word.to_lowercase() == word),
                "{}",
                rule.name
            );
        }
    }

    #[test]
    fn finds_what_people_paste() {
        let pem = |kind: &str, line: &str| {
            let body = ["MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"; 3].join(line);
            format!("-----BEGIN {kind}-----{line}{body}{line}-----END {kind}-----")
        };
        for (text, rule) in [
            (["AK", "IA", "Z7VRSQ5TJN2XMPLE"].concat(), "aws-access-key-id"),
            (["aws_secret_access_key = ", "wJalrXUtnFEMIK7MDENG", "bPxRfiCYzEXAMPLEKEYa"].concat(), "aws-secret-key"),
            (["ghp", "_", "16C7e42F292c6912E7710c838347Ae178B4a"].concat(), "github-token"),
            (["https://", "bob:", "s3cr3tpass", "@db.example.com/x"].concat(), "url-password"),
            (["Authorization: ", "Bearer ", "abcDEF123456ghiJKL7890"].concat(), "authorization-header"),
            (["curl -u ", "admin:", "hunter2hunter3 ", "https://x"].concat(), "curl-user"),
            (["DB_PASS", "WORD=", "tr0ub4dor&3xYz"].concat(), "generic-credential"),
            (["pass", "word=", "hunter2"].concat(), "short-password"),
            (["{\"pass", "word\": \"hunter2\"}"].concat(), "short-password"),
            (["mysqldump --pass", "word swordfish shop"].concat(), "option-password"),
            (["x --to", "ken='correct.horse'"].concat(), "option-password"),
            (["<pass", "word>swordfish</pass", "word>"].concat(), "xml-password"),
            (["<ns:pass", "word type=\"text\"> hunter2 </ns:pass", "word>"].concat(), "xml-password"),
            (["machine example.com login bob pass", "word abc123"].concat(), "netrc-password"),
            (["machine example.com\n  login bob\n  pass", "word abc123"].concat(), "netrc-password"),
            (["default login bob pass", "word abc123"].concat(), "netrc-password"),
            (pem("PRIVATE KEY", "\n"), "private-key"),
            (pem("RSA PRIVATE KEY", "\\n"), "private-key"),
            (pem("OPENSSH PRIVATE KEY", "\r\n"), "private-key"),
            (["eyJhbGciOiJIUzI1NiJ9", "eyJzdWIiOiIxMjM0NTY3ODkwIn0", "dozjgNryP4J3jVmNHl0w5N"].join("."), "jwt"),
        ] {
            assert!(rules_for(&text).contains(&rule), "{rule}: {:?} in {text}", rules_for(&text));
        }
    }

    #[test]
    fn a_key_tells_what_its_value_is() {
        let (clean, _) = redact(&json!({"db": {"password": "hunter2"}}), &redaction()).unwrap();
        assert_eq!(clean, json!({"db": {"password": "[redacted]"}}));
        let secret = ["q7Zt", "P3xV", "9mLk", "2Ws8"].concat();
        let (clean, rules) = redact(&json!({"cmd": "x", "apiKey": secret, "n": 1}), &redaction()).unwrap();
        assert_eq!((clean, rules), (json!({"cmd": "x", "apiKey": "[redacted]", "n": 1}), vec!["generic-credential"]));
    }

    #[test]
    fn a_key_may_be_a_secret_itself() {
        let secret = |n: u32| ["ghp", "_", "16C7e42F292c6912E7710c838347Ae178B4", &n.to_string()].concat();
        let (clean, _) = redact(&json!({secret(1): 1, secret(2): {secret(3): "a"}, "b": 2}), &redaction()).unwrap();
        assert_eq!(clean, json!({"[redacted]": 1, "[redacted] 2": {"[redacted]": "a"}, "b": 2}));
        assert_eq!(redact(&clean, &redaction()), None, "and not again");
    }

    #[test]
    fn leaves_ordinary_text_alone() {
        for text in [
            "git commit -m 'Add token refresh' && git push origin main",
            "commit 5ab9904c2d1f6e7a8b9c0d1e2f3a4b5c6d7e8f90",
            "max_tokens: 4096, secret: ${{ secrets.GITHUB_TOKEN }}",
            "password = getpass.getpass('Password: ')",
            "API_KEY=your-api-key-here",
            "usage: x [--password PASSWORD] [--token $TOKEN] --password-stdin --token <token>",
            "<password>${env.DB_PASSWORD}</password> <token/> Vec<token::Token>",
            "the password is asked for; password: string, password=$PASS, password = prompt()",
            "a machine with a default password policy",
            "token = os.environ[\"GITHUB_TOKEN\"]",
            "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
            "https://example.com:8080/path@x and user@example.com",
            "Authorization: Bearer $TOKEN",
            "let key = format!(\"{}:{}\", self.guard, hex(&digest.finalize()));",
            "sk-learn and sklearn.linear_model, task-id 550e8400-e29b-41d4-a716-446655440000",
        ] {
            assert_eq!(rules_for(text), Vec::<&str>::new(), "{text}");
        }
        let source = include_str!("../command.rs");
        assert_eq!(rules_for(source), Vec::<&str>::new());
    }

    #[test]
    fn what_is_redacted_in_part_is_redacted_whole() {
        let of = |text: &str| redact(&Value::String(text.into()), &redaction()).map(|(clean, _)| clean);
        let password = format!("pass{}=Zk38fjQ2xx9qWm4Tb7Lp0Rs5", "word");
        assert!(of(&password).is_some());
        let clean = of(&format!("{password}[redacted]")).unwrap();
        assert!(!clean.to_string().contains("Zk38"), "{clean}");
        assert_eq!(of(clean.as_str().unwrap()), None, "and not again");
        let key = [
            "-----BEGIN RSA PRIVATE KEY-----",
            "[redacted]",
            &"MIIEpAIBAAKCAQEA7bq9Xz".repeat(4),
            "-----END RSA PRIVATE KEY-----",
        ];
        assert!(!of(&key.join("\n")).unwrap().to_string().contains("MIIE"));
    }

    #[test]
    fn secrets_that_are_allowed_stay() {
        let secret = ["ghp", "_", "16C7e42F292c6912E7710c838347Ae178B4a"].concat();
        let allow = vec![Regex::new("^ghp_16C7").unwrap()];
        assert_eq!(redact(&json!(secret), &Redaction { allow, replacement: "x".into() }), None);
    }
}
