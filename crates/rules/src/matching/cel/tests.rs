use super::parse::{MAX_LENGTH, MAX_NESTING, MAX_OPERATORS};
use super::*;
use hookwire_testing::rows;
use serde::Deserialize;
use serde_json::json;

fn event() -> Json {
    json!({
        "event": "PreToolUse", "step": 3, "big": 18_446_744_073_709_551_615_u64, "rate": 0.5, "none": null, "flag": true,
        "tool": {"name": "Bash", "input": {"command": "git push", "amount": 1200, "odd-name": 1}},
        "messages": [{"role": "user", "n": 1}, {"role": "agent", "n": 2}], "list": [1, 2, 3],
    })
}

/// What an expression comes to, in short.
fn outcome(source: &str) -> String {
    let program = match Program::new(source) {
        Ok(program) => program,
        Err(error) => return format!("{}: {}", error.at.start, error.message),
    };
    match program.run(&event(), &["prompt"]) {
        Ok(Outcome::Bool(it)) => it.to_string(),
        Ok(Outcome::Text(it)) => format!("{it:?}"),
        Ok(Outcome::Number(it)) => it,
        Ok(Outcome::Nothing) => "null".into(),
        Ok(Outcome::Other(name)) => name.into(),
        Err(Failure::Missing(path)) => format!("missing {path}"),
        Err(Failure::Other(problem)) => problem,
    }
}

#[test]
fn expressions_come_to_what_the_language_says() {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Row {
        expression: String,
        outcome: String,
    }
    rows::compare("rules/cel.jsonl", |row: Row| {
        (outcome(&row.expression), row.outcome)
    });
}

/// On a thread as small as those that hooks run on.
#[test]
fn no_expression_fills_the_stack() {
    let around = |n: usize| format!("{}true{}", "(".repeat(n), ")".repeat(n));
    let nested =
        |open: &str, n: usize, close: &str| format!("{}1{} == 1", open.repeat(n), close.repeat(n));
    let fine = [
        around(MAX_NESTING),
        nested("size([", MAX_NESTING / 2, "])"),
        format!("1{} > 0", "+1".repeat(MAX_OPERATORS - 2)),
        format!("tool{} == 1", ".a".repeat(MAX_OPERATORS - 2)),
        format!("{}true", "!".repeat(MAX_OPERATORS)),
        format!("true{}", " ? true : true".repeat(MAX_NESTING)),
        format!("true{}", " && true".repeat(MAX_OPERATORS)),
        format!(
            "{}true{}",
            "[1].all(x, ".repeat(MAX_NESTING / 2),
            ")".repeat(MAX_NESTING / 2)
        ),
    ];
    let refused = [
        around(MAX_NESTING + 1),
        around(20_000),
        format!("1{}", "+1".repeat(MAX_OPERATORS + 1)),
        format!("'{}'", "a".repeat(MAX_LENGTH)),
        format!("{}true", "!".repeat(MAX_OPERATORS + 1)),
        format!("true{}", " ? true : true".repeat(MAX_NESTING + 1)),
    ];
    let work = move || {
        for source in fine {
            let program = Program::new(&source).unwrap();
            let _ = program.run(&event(), &[]);
            program.references();
        }
        for source in refused {
            Program::new(&source).unwrap_err();
        }
    };
    std::thread::Builder::new()
        .stack_size(1 << 20)
        .spawn(work)
        .unwrap()
        .join()
        .unwrap();
}

/// What an event holds can't keep a host busy: macros inside one another, long texts, growing
/// lists.
#[test]
fn an_evaluation_has_a_budget() {
    let messages: Vec<_> = (0..3000)
        .map(|n| json!({"n": n, "text": "x".repeat(1000)}))
        .collect();
    let data = json!({"messages": messages, "long": "x".repeat(1 << 20)});
    for source in [
        "messages.exists(a, messages.exists(b, a.n == -b.n - 1))",
        "messages.all(a, messages.all(b, a.text == b.text))",
        "messages.map(a, messages.map(b, a.text + b.text)).size() == 0",
        "messages.all(a, messages == messages)",
        "messages.all(a, messages.all(b, !(a.text + b.text).matches('y$')))",
        "[long].all(a, messages.all(b, a <= long && b.n > -1))",
        "[bytes(long)].all(a, messages.all(b, a == bytes(long)))",
        "messages.all(b, !'x'.contains(long))",
    ] {
        let outcome = Program::new(source).unwrap().run(&data, &[]);
        assert_eq!(
            outcome,
            Err(Failure::Other("it takes too long on this event".into())),
            "{source}"
        );
    }
    // A made text is shared by all that name it: 3,000 copies of a million bytes would be felt.
    let outcome = Program::new("[long + 'y'].all(t, messages.all(m, t != m))")
        .unwrap()
        .run(&data, &[]);
    assert_eq!(outcome, Ok(Outcome::Bool(true)));
    let outcome = Program::new("messages.exists(a, a.n == 2999 && a.text.endsWith('x'))")
        .unwrap()
        .run(&data, &[]);
    assert_eq!(outcome, Ok(Outcome::Bool(true)));
}

proptest::proptest! {
    #[test]
    fn no_text_makes_it_panic(source in r#"[a-z0-9 .,?:!&|=<>+*/%()\[\]{}'"`\\é_-]{0,40}"#) {
        if let Ok(program) = Program::new(&source) {
            let _ = program.run(&event(), &[]);
            program.references();
        }
    }

    #[test]
    fn a_cut_expression_is_no_panic(end in 0..120_usize) {
        let whole = r#"has(tool.input.x) && messages.exists(m, m.role == "a\u00e9\x41") ? [1, 2.5e3, 0xffu][0] in {'k': -1} : b'\377' != r"\d""#;
        if whole.is_char_boundary(end.min(whole.len())) {
            let _ = Program::new(&whole[..end.min(whole.len())]);
        }
    }
}
