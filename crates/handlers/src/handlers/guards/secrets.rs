//! Finds secrets in texts by the rules of [`super::secret_rules`].
//!
//! One pass over a text tells which rules have a keyword in it; only their regexes are run. All of
//! it is compiled when it is needed first: a host without these guards pays nothing.

use super::super::text::{self, Abandoned, Place};
use super::secret_rules::{Form, RULES, Rule};
use aho_corasick::{AhoCorasick, AhoCorasickKind};
use regex::{Regex, RegexBuilder};
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

/// No rule finds a shorter secret, in bytes.
const SHORTEST: usize = 3;

/// The value without secrets, those in keys included, and the names of the rules that found some;
/// `None` if there are none.
pub(super) fn redact(
    value: &Value,
    redaction: &Redaction,
    abandoned: &Abandoned,
) -> Option<(Value, Vec<&'static str>)> {
    let mut found = BTreeSet::new();
    let redacted = text::rewrite(value, &mut |place, text| {
        if text.len() < SHORTEST || abandoned.is_set() {
            return None;
        }
        // What makes a text a password is often only the key that it stands under.
        let key = match place {
            Place::Value(key) => key.filter(|key| key.len() <= LONGEST_KEY),
            Place::Key => None,
        };
        let named = key.map(|key| format!("{key}={text}"));
        let offset = key.map_or(0, |key| key.len() + 1);
        let mut spans = find(
            named.as_deref().unwrap_or(text),
            redaction,
            abandoned,
            &mut found,
        );
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
    let redaction = Redaction {
        allow: Vec::new(),
        replacement: "[redacted]".into(),
    };
    redact(&value, &redaction, &Abandoned::default()).map_or(value, |(clean, _)| clean)
}

/// The places of secrets in a text, in order and apart; `found` gets the names of their rules.
fn find(
    text: &str,
    redaction: &Redaction,
    abandoned: &Abandoned,
    found: &mut BTreeSet<&'static str>,
) -> Vec<Range<usize>> {
    let mut spans = Vec::new();
    for index in candidates(text) {
        if abandoned.is_set() {
            break;
        }
        let rule = &RULES[index];
        let Some(regex) = COMPILED[index].get_or_init(|| compile(rule)) else {
            continue;
        };
        for captures in regex.captures_iter(text) {
            let Some(secret) = captures.get(1).or_else(|| captures.get(0)) else {
                continue;
            };
            // What was redacted already isn't again; what stands around it still may be a secret.
            let rest = match &*redaction.replacement {
                "" => secret.as_str().to_string(),
                replacement => secret.as_str().replace(replacement, ""),
            };
            let is_done = rest.is_empty() || rest.len() < secret.len() && !is_random(&rest, rule);
            let stays = is_done
                || redaction
                    .allow
                    .iter()
                    .any(|allow| allow.is_match(secret.as_str()));
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

/// The rules that have a keyword in a text; all of them, if the keywords couldn't be compiled.
fn candidates(text: &str) -> impl Iterator<Item = usize> {
    let mut candidates = [KEYWORDS.is_none(); RULES.len()];
    if let Some((keywords, rules)) = &*KEYWORDS {
        for keyword in keywords.find_overlapping_iter(text) {
            candidates[rules[keyword.pattern()]] = true;
        }
    }
    (0..RULES.len()).filter(move |index| candidates[*index])
}

/// The keywords of all rules, and the rule of each.
static KEYWORDS: LazyLock<Option<(AhoCorasick, Vec<usize>)>> = LazyLock::new(|| {
    let keywords = |(index, rule): (usize, &'static Rule)| {
        rule.keywords.split(' ').map(move |word| (word, index))
    };
    let (keywords, rules): (Vec<_>, Vec<_>) = RULES.iter().enumerate().flat_map(keywords).unzip();
    // The kind that is built most quickly, because an event may wait for it.
    let kind = Some(AhoCorasickKind::NoncontiguousNFA);
    let automaton = AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .kind(kind)
        .build(keywords);
    let failed = |error: &_| tracing::error!(%error, "The keywords of secrets don't compile; this is a bug in hookwire.");
    Some((automaton.inspect_err(failed).ok()?, rules))
});

static COMPILED: [OnceLock<Option<Regex>>; RULES.len()] = [const { OnceLock::new() }; RULES.len()];

/// Letters and digits of a text go on: no token ends here.
const END: &str = r"(?:[^A-Za-z0-9_-]|$)";
/// A token begins here: after no letter or digit, but for the `n` of an escaped line break.
const START: &str = r"(?:(?-u:\b)|\\[nrt]|_)";
/// From a name to its value, as code, configuration, JSON (also within a text) and headers have it.
const ASSIGNED: &str =
    r#"[A-Za-z0-9_.-]{0,30}[\\"'`\]]{0,3}[ \t]{0,3}(?::=|=>|==|=|:)[ \t]{0,3}[\\"'`]{0,3}"#;
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
    (!rule.mixed || has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic))
        && !(rule.word && is_no_password(secret))
        && entropy(secret) >= rule.entropy
}

/// Whether a word is one that stands behind `password` where nobody has written one: types,
/// placeholders, what a form or a message says.
fn is_no_password(word: &str) -> bool {
    const PARTS: [&str; 21] = [
        "pass",
        "pwd",
        "secret",
        "token",
        "example",
        "placeholder",
        "your",
        "string",
        "redact",
        "mask",
        "hidden",
        "required",
        "optional",
        "credential",
        "prompt",
        "input",
        "environ",
        "config",
        "param",
        "value",
        "field",
    ];
    const WORDS: [&str; 47] = [
        "true",
        "false",
        "null",
        "none",
        "text",
        "bytes",
        "bool",
        "undefined",
        "boolean",
        "object",
        "number",
        "integer",
        "unknown",
        "varchar",
        "missing",
        "invalid",
        "incorrect",
        "expired",
        "changed",
        "updated",
        "correct",
        "forgot",
        "forgotten",
        "disabled",
        "enabled",
        "default",
        "username",
        "account",
        "request",
        "response",
        "result",
        "private",
        "public",
        "protected",
        "readonly",
        "encrypted",
        "hashed",
        "plaintext",
        "keyring",
        "option",
        "options",
        "confirm",
        "accepted",
        "rejected",
        "failed",
        "success",
        "nullable",
    ];
    let word = word.to_ascii_lowercase();
    PARTS.iter().any(|part| word.contains(part)) || WORDS.contains(&word.as_str())
}

/// Shannon's, in bits a byte.
fn entropy(text: &str) -> f64 {
    let mut counts = [0_u32; 256];
    for byte in text.bytes() {
        counts[usize::from(byte)] += 1;
    }
    let length = text.len() as f64;
    let share = |count: &u32| f64::from(*count) / length;
    -counts
        .iter()
        .filter(|count| **count > 0)
        .map(share)
        .map(|share| share * share.log2())
        .sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::strategy::{Strategy, ValueTree};
    use proptest::test_runner::TestRunner;
    use serde_json::json;

    fn redaction() -> Redaction {
        Redaction {
            allow: Vec::new(),
            replacement: "[redacted]".into(),
        }
    }

    /// The value without secrets, by whoever waits for it.
    fn redact(value: &Value, redaction: &Redaction) -> Option<(Value, Vec<&'static str>)> {
        super::redact(value, redaction, &Abandoned::default())
    }

    fn first_word(words: &str) -> &str {
        words.split(' ').next().unwrap_or_default()
    }

    fn rules_for(text: &str) -> Vec<&'static str> {
        redact(&json!(text), &redaction())
            .map(|(_, rules)| rules)
            .unwrap_or_default()
    }

    /// Secrets are made when the test runs, so that none stands in the repository.
    #[test]
    fn every_rule_finds_what_it_describes_and_leaves_nothing_of_it() {
        let rules = &KEYWORDS.as_ref().expect("they compile").1;
        assert!((0..RULES.len()).all(|rule| rules.contains(&rule)));
        let mut runner = TestRunner::deterministic();
        let mut n_tried = 0;
        for rule in RULES {
            assert!(compile(rule).is_some(), "{}", rule.name);
            let (pattern, before) = match rule.form {
                Form::Token(token) => (token, String::new()),
                // The name as a person writes it: the keyword.
                Form::Assigned { value, .. } => {
                    (value, format!("{}_key = \"", first_word(rule.keywords)))
                }
                Form::Whole(_) => continue,
            };
            let strategy = proptest::string::string_regex(pattern).unwrap();
            let mut samples =
                std::iter::repeat_with(|| strategy.new_tree(&mut runner).unwrap().current());
            let sample = samples
                .by_ref()
                .take(200)
                .find(|sample| is_random(sample, rule));
            let sample =
                sample.unwrap_or_else(|| panic!("{}: no sample is random enough", rule.name));
            for (left, right) in [
                ("", ""),
                ("x ", " y"),
                ("{\\\"k\\\": \\\"", "\\\"}"),
                ("a\\n", "\\nb"),
                ("(", "),"),
            ] {
                let text = format!(
                    "{left}{before}{sample}{}{right}",
                    if before.is_empty() { "" } else { "\"" }
                );
                let (clean, rules) = redact(&json!(text), &redaction())
                    .unwrap_or_else(|| panic!("{} doesn't find its own in {text}", rule.name));
                assert!(
                    rules.contains(&rule.name),
                    "{}: {rules:?} in {text}",
                    rule.name
                );
                assert!(
                    !clean.as_str().unwrap().contains(&sample),
                    "{}: {clean}",
                    rule.name
                );
                assert_eq!(
                    redact(&clean, &redaction()),
                    None,
                    "{}: found again in {clean}",
                    rule.name
                );
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
                rule.keywords
                    .split(' ')
                    .all(|word| word.len() > 1 && word.to_lowercase() == word),
                "{}",
                rule.name
            );
        }
    }

    #[test]
    fn finds_what_people_paste() {
        let pem = |kind: &str, line: &str| {
            let body =
                ["MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"; 3].join(line);
            format!("-----BEGIN {kind}-----{line}{body}{line}-----END {kind}-----")
        };
        for (text, rule) in [
            (
                ["AK", "IA", "Z7VRSQ5TJN2XMPLE"].concat(),
                "aws-access-key-id",
            ),
            (
                [
                    "aws_secret_access_key = ",
                    "wJalrXUtnFEMIK7MDENG",
                    "bPxRfiCYzEXAMPLEKEYa",
                ]
                .concat(),
                "aws-secret-key",
            ),
            (
                ["ghp", "_", "16C7e42F292c6912E7710c838347Ae178B4a"].concat(),
                "github-token",
            ),
            (
                ["https://", "bob:", "s3cr3tpass", "@db.example.com/x"].concat(),
                "url-password",
            ),
            (
                ["Authorization: ", "Bearer ", "abcDEF123456ghiJKL7890"].concat(),
                "authorization-header",
            ),
            (
                ["curl -u ", "admin:", "hunter2hunter3 ", "https://x"].concat(),
                "curl-user",
            ),
            (
                ["DB_PASS", "WORD=", "tr0ub4dor&3xYz"].concat(),
                "generic-credential",
            ),
            (["pass", "word=", "hunter2"].concat(), "short-password"),
            (
                ["{\"pass", "word\": \"hunter2\"}"].concat(),
                "short-password",
            ),
            (["pass", "word: dragonfly"].concat(), "plain-password"),
            (["DB_PASS", "WORD=letmein"].concat(), "plain-password"),
            (
                ["a: 1\npass", "word: correcthorse\nb: 2"].concat(),
                "plain-password",
            ),
            (
                ["{\"pass", "word\": \"dragonfly\"}"].concat(),
                "quoted-password",
            ),
            (["{\"pass", "word\":12345678}"].concat(), "number-password"),
            (
                ["{\"pass", "word2\": \"s3cr3tpw\"}"].concat(),
                "short-password",
            ),
            (
                ["{\"pass", "words\": [\"s3cr3tpw\"]}"].concat(),
                "short-password",
            ),
            (
                ["{\\\\\\\"pass", "word\\\\\\\": \\\\\\\"s3cr3tpw\\\\\\\"}"].concat(),
                "short-password",
            ),
            (
                ["{\"name\": \"DB_PASS", "WORD\", \"value\": \"s3cr3tpw\"}"].concat(),
                "named-password",
            ),
            (
                ["<add key=\"pass", "word\" value=\"s3cr3tpw\"/>"].concat(),
                "named-password",
            ),
            (
                ["- name: API_TO", "KEN\n  value: \"s3cr3tpw\""].concat(),
                "named-password",
            ),
            (
                ["<key>pass", "word</key>\n <string>s3cr3tpw</string>"].concat(),
                "plist-password",
            ),
            (
                ["<pass", "word><![CDATA[s3cr3tpw]]></pass", "word>"].concat(),
                "xml-password",
            ),
            (["pass", "word:\n  s3cr3tpw\n"].concat(), "password-below"),
            (
                ["mysql -u root -p", "s3cr3tpw shop"].concat(),
                "mysql-password",
            ),
            (["sshpass -p ", "s3cr3tpw ssh x"].concat(), "login-password"),
            (
                ["docker login -u bob -p ", "s3cr3tpw"].concat(),
                "login-password",
            ),
            (
                ["wget --http-pass", "word s3cr3tpw x"].concat(),
                "option-password",
            ),
            (["set -x PASS", "WORD s3cr3tpw"].concat(), "shell-password"),
            (
                ["CREATE USER x IDENTIFIED ", "BY 's3cr3tpw'"].concat(),
                "sql-password",
            ),
            (
                ["mysqldump --pass", "word swordfish shop"].concat(),
                "option-password",
            ),
            (
                ["x --to", "ken='correct.horse'"].concat(),
                "option-password",
            ),
            (
                ["<pass", "word>swordfish</pass", "word>"].concat(),
                "xml-password",
            ),
            (
                ["<ns:pass", "word type=\"text\"> hunter2 </ns:pass", "word>"].concat(),
                "xml-password",
            ),
            (
                ["machine example.com login bob pass", "word abc123"].concat(),
                "netrc-password",
            ),
            (
                ["machine example.com\n  login bob\n  pass", "word abc123"].concat(),
                "netrc-password",
            ),
            (
                ["default login bob pass", "word abc123"].concat(),
                "netrc-password",
            ),
            (
                ["machine h login u pass", "word p"].concat(),
                "netrc-password",
            ),
            (
                [
                    "echo \"machine h login u pass",
                    "word hunter2\" >> ~/.netrc",
                ]
                .concat(),
                "netrc-password",
            ),
            (
                ["a\\nmachine h account a login u pass", "wd p\\nb"].concat(),
                "netrc-password",
            ),
            (
                ["machine h pass", "word hunter2 login u"].concat(),
                "netrc-password-first",
            ),
            (
                ["printf 'machine h pass", "word hunter2' > x"].concat(),
                "netrc-password-first",
            ),
            (
                ["a: 1\ndb_pass", "word: Dragonfly\nb: 2"].concat(),
                "holder-password",
            ),
            (["  db_pass: Dragonfly # mine"].concat(), "holder-password"),
            (
                ["smtp.auth.pass", "word: \"Dragonfly.9x\""].concat(),
                "holder-password",
            ),
            (
                ["docker run -e DB_PASS", "WORD=Dragonfly x"].concat(),
                "holder-password-assigned",
            ),
            (["DB_PASS", "=hunter2"].concat(), "holder-password-assigned"),
            (
                ["export MYSQL_ROOT_PASS", "WORD='Kx.9'"].concat(),
                "holder-password-assigned",
            ),
            (
                ["{\"db_pass", "\": \"Kx.9\"}"].concat(),
                "holder-password-assigned",
            ),
            (
                ["{\\\"db_pass", "\\\": \\\"Kx.9\\\"}"].concat(),
                "holder-password-assigned",
            ),
            (
                ["spring.datasource.pass", "word=Dragonfly"].concat(),
                "holder-password-assigned",
            ),
            (
                ["SK", "1f0e5c3b9a7d4e2f8c6b0a9d7e5f3c1b"].concat(),
                "twilio-api-key",
            ),
            (
                [
                    "Cook",
                    "ie: theme=dark; sessionid=8xk2m9q4z7w1p5v3; lang=de",
                ]
                .concat(),
                "cookie-header",
            ),
            (
                [
                    "{\"Set-Cook",
                    "ie\": \"auth_token=8xk2m9q4z7w1p5v3; Path=/\"}",
                ]
                .concat(),
                "cookie-header",
            ),
            (
                ["curl -b 'sess", "ionid=8xk2m9q4z7w1p5v3' https://x"].concat(),
                "cookie-header",
            ),
            (
                ["curl --cook", "ie \"sid=8xk2m9q4z7w1p5v3\" https://x"].concat(),
                "cookie-header",
            ),
            (
                ["GET /;jsess", "ionid=8XK2M9Q4Z7W1P5V3AB"].concat(),
                "session-cookie",
            ),
            (
                "db.example.com:5432:shop:bob:s3cr3tpw".to_string(),
                "pgpass-password",
            ),
            (
                "# mine\n*:*:*:postgres:swordfish\n".to_string(),
                "pgpass-password",
            ),
            (
                ["x = \".~", "a3Q~W6X7m1DK2CHrLOGidO3LSwvN0b4Tq9zRk\""].concat(),
                "azure-client-secret",
            ),
            (pem("PRIVATE KEY", "\n"), "private-key"),
            (pem("RSA PRIVATE KEY", "\\n"), "private-key"),
            (pem("OPENSSH PRIVATE KEY", "\r\n"), "private-key"),
            (
                [
                    "eyJhbGciOiJIUzI1NiJ9",
                    "eyJzdWIiOiIxMjM0NTY3ODkwIn0",
                    "dozjgNryP4J3jVmNHl0w5N",
                ]
                .join("."),
                "jwt",
            ),
        ] {
            assert!(
                rules_for(&text).contains(&rule),
                "{rule}: {:?} in {text}",
                rules_for(&text)
            );
        }
    }

    #[test]
    fn a_key_tells_what_its_value_is() {
        let (clean, _) = redact(&json!({"db": {"password": "hunter2"}}), &redaction()).unwrap();
        assert_eq!(clean, json!({"db": {"password": "[redacted]"}}));
        for (value, is_secret) in [
            (json!({"password": "dragonfly"}), true),
            (json!({"password2": "hunter22"}), true),
            (json!({"passwords": ["hunter22"]}), true),
            (json!({"password": {"value": "hunter22"}}), true),
            (json!({"name": "DB_PASSWORD", "value": "hunter22"}), true),
            (json!([{"Key": "password", "Value": "dragonfly"}]), true),
            (
                json!({"password": {"type": "string", "default": ""}, "name": "password", "value": "$PASSWORD"}),
                false,
            ),
            (json!({"name": "color", "value": "hunter22"}), false),
        ] {
            let clean = redact(&value, &redaction())
                .map(|(clean, _)| clean.to_string())
                .unwrap_or_default();
            assert_eq!(clean.contains("[redacted]"), is_secret, "{value}: {clean}");
        }
        let secret = ["q7Zt", "P3xV", "9mLk", "2Ws8"].concat();
        let (clean, rules) =
            redact(&json!({"cmd": "x", "apiKey": secret, "n": 1}), &redaction()).unwrap();
        assert_eq!(
            (clean, rules),
            (
                json!({"cmd": "x", "apiKey": "[redacted]", "n": 1}),
                vec!["generic-credential"]
            )
        );
    }

    #[test]
    fn a_key_may_be_a_secret_itself() {
        let secret = |n: u32| {
            [
                "ghp",
                "_",
                "16C7e42F292c6912E7710c838347Ae178B4",
                &n.to_string(),
            ]
            .concat()
        };
        let (clean, _) = redact(
            &json!({secret(1): 1, secret(2): {secret(3): "a"}, "b": 2}),
            &redaction(),
        )
        .unwrap();
        assert_eq!(
            clean,
            json!({"[redacted]": 1, "[redacted] 2": {"[redacted]": "a"}, "b": 2})
        );
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
            "the machine account password policy says so; default login user passwords are set elsewhere",
            "class Config:\n    db_password: str\n    db_pass: bytes\n    smtp_password: Optional[str] = None\n",
            "type T = {\n  dbPassword: string\n  userPass: boolean\n}\nuser_password: required\n",
            "db_password: ${DB_PASSWORD}\nDB_PASSWORD=$PASS docker run -e DB_PASSWORD=\"$PASS\" -e DB_PASSWORD x",
            "db_password: !vault |\ndb_password_file: /run/secrets/db\nDB_PASSWORD=<yours>",
            "connect(user=user, db_password=db_password, app_pass=args.app_pass)",
            "document.cookie = \"token=\" + token; Cookie: session=$SESSION; Set-Cookie: theme=dark; Path=/; Max-Age=1",
            "cookies: { sessionId: id }, Cookie: <session cookie>, a cookie: name=value; expires=Thu",
            "app_pass = first_pass + 1\nfirst_pass: 12 passed\ncompass=northwest bypass=enabled",
            "login(user=user, password=password, token=token)\nself.password = secrets\npassword=args.password",
            "{\"password\": {\"type\": \"string\"}, \"password\": \"required\", \"pwd\": \"/home/me/project\"}",
            "interface X { password: string; passwords: string[] }\npassword: Optional[str] = None\npassword: String,",
            "Enter password: then press return. Wrong password: try again, password: incorrect\nPWD=/home/me",
            "User { name, password: hashed, .. } password: credentials\n  password:\n    type: string\n",
            "mysql -p shop -u root -h db; mkdir -p /srv/data; docker login -u bob --password-stdin",
            "- name: API_TOKEN\n  valueFrom: {secretKeyRef: {name: x}}\n{\"name\": \"token\", \"value\": \"${TOKEN}\"}",
            "<input type=\"password\" name=\"password\" value=\"\"> autocomplete=\"current-password\"",
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
        let of =
            |text: &str| redact(&Value::String(text.into()), &redaction()).map(|(clean, _)| clean);
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
        assert_eq!(
            redact(
                &json!(secret),
                &Redaction {
                    allow,
                    replacement: "x".into()
                }
            ),
            None
        );
    }
}
