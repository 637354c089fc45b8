use super::parse::{MAX_LENGTH, MAX_NESTING, MAX_OPERATORS};
use super::*;
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
    let cases = [
        // Literals.
        ("0x1F + 1", "32"),
        ("-9223372036854775808", "-9223372036854775808"),
        ("9223372036854775808", "0: the number doesn't fit into 64 bits"),
        ("18446744073709551615u", "18446744073709551615"),
        ("1e3 + .5", "1000.5"),
        (r"'a\n\x41\u00e9\101' == 'a' + '\n' + 'AéA'", "true"),
        (r"r'a\n' == 'a\\n'", "true"),
        ("'''a\n'b''' == \"a\\n'b\"", "true"),
        ("b'a' + b'\\xff' == b'\\141\\377'", "true"),
        ("size('né')", "2"),
        ("// nothing\n true // more", "true"),
        // Numbers of all kinds are compared by what they are worth.
        ("step == 3.0 && step == 3u && big > step && rate < 1", "true"),
        ("big == 18446744073709551615.0", "false"),
        ("9007199254740993 > 9007199254740992.0", "true"),
        ("big + 1u", "a number doesn't fit into 64 bits"),
        ("step + 1 - 2 * 2 / 4 % 3", "3"),
        ("-7 / 2 == -3 && -7 % 2 == -1", "true"),
        ("1 / 0", "division by zero"),
        ("1 + 1.0", "`+` can't be applied to int and double"),
        ("1 == 'a' || [1] == {}", "false"),
        ("'a' < 'b' && b'a' < b'b' && false < true", "true"),
        ("'a' < 1", "`<` can't be applied to string and int"),
        // Members.
        ("tool.input.amount", "1200"),
        ("tool['name'] + tool.input.`odd-name`.x", "`.` can't be applied to int"),
        ("string(tool.input.`odd-name`)", "\"1\""),
        ("tool.input.nothing", "missing tool.input.nothing"),
        ("prompt.length", "missing prompt.length"),
        ("has(tool.input.amount) && !has(tool.input.x) && has(tool.name)", "true"),
        ("has(1)", "0: `has()` takes a member, such as `has(tool.input.path)`"),
        ("has(tool) && !has(nobody)", "true"),
        ("prompt", "null"),
        ("nobody", "there is no variable `nobody`"),
        (".step == 3", "true"),
        ("messages[1].role", "\"agent\""),
        ("messages[5]", "missing messages[5]"),
        ("list[1.0] + {'a': 1, 2: 3}[2u]", "5"),
        // Logic: an error on one side doesn't matter if the other decides.
        ("nobody == 1 || true", "true"),
        ("false && nobody == 1", "false"),
        ("nobody == 1 && true", "there is no variable `nobody`"),
        ("1 || false", "`||` can't be applied to int"),
        ("flag ? 'a' : nobody", "\"a\""),
        ("true ? false ? 1 : 2 : 3", "2"),
        ("!flag == false", "true"),
        // Macros.
        ("messages.all(m, m.n > 0) && messages.exists(m, m.role == 'user')", "true"),
        ("messages.exists_one(m, m.n == 2) && !list.existsOne(n, n > 1)", "true"),
        ("messages.exists(m, m.x == 1)", "missing m.x"),
        ("[1, 'a'].exists(x, x > 0)", "true"),
        ("list.map(n, n * 2) == [2, 4, 6] && list.filter(n, n > 1) == [2, 3]", "true"),
        ("list.map(n, n > 1, n + step)", "list"),
        ("list.map(n, n > 1, n + step) == [5, 6]", "true"),
        ("tool.all(key, key in ['name', 'input'])", "true"),
        ("[1].all(x, [2].all(x, x == 2))", "true"),
        ("list.all(1, true)", "9: `all()` takes a name for the item first"),
        ("list.all(n)", "10: unexpected `)`"),
        // Functions.
        ("'abc'.contains('b') && 'abc'.startsWith('a') && 'abc'.endsWith('c') && 'abc'.size() == 3", "true"),
        ("'abc'.matches('^a.c$') && matches('abc', 'b' + '')", "true"),
        ("'a'.matches('(' + '')", "bad regex `(`"),
        ("'a'.matches('(')", "13: bad regex `(`: unclosed group"),
        ("int('12') + int(2.9) + int(1u)", "15"),
        ("int('x')", "`x` can't be read as int"),
        ("int(1e19)", "a number doesn't fit into 64 bits"),
        ("uint(-1)", "a number doesn't fit into 64 bits"),
        ("double('1.5') + double(1)", "2.5"),
        ("string(1.5) + string(true) + string(b'a')", "\"1.5truea\""),
        ("bool('true') && type(1) == int && type(type(1)) == type && type(null) == null_type", "true"),
        ("size(tool) + size(list)", "5"),
        ("dyn(1) == 1", "true"),
        ("lenght('a')", "0: there is no function `lenght`"),
        ("'a'.startswith('a')", "4: there is no method `startswith`; did you mean `startsWith`?"),
        ("size()", "0: `size()` has the wrong number of arguments"),
        // Optionals.
        ("tool.?input.?path.orValue('none')", "\"none\""),
        ("tool.?input.amount.orValue(0) + list[?7].orValue(1)", "1201"),
        ("optional.of(1).hasValue() && !optional.none().hasValue()", "true"),
        ("[?tool.?x, 1, ?optional.of(2)] == [1, 2] && {?'a': tool.?x, 'b': 1} == {'b': 1}", "true"),
        ("optional.none().or(optional.of(2)).value()", "2"),
        ("has(optional.of(tool).name)", "true"),
        // Mistakes of the grammar, in words.
        ("", "0: it ends too early"),
        ("step >", "6: it ends too early"),
        ("step = 3", "5: unexpected `=`; did you mean `==`?"),
        ("flag and true", "5: unexpected `and`; did you mean `&&`?"),
        ("not flag", "4: unexpected `flag`"),
        ("tool.name == && x", "13: unexpected `&&`"),
        ("(step", "5: it ends too early"),
        ("'abc", "0: the text in quotes doesn't end"),
        ("'a\nb'", "0: the text in quotes doesn't end on its line"),
        (r"'\q'", r"1: unknown escape; a backslash itself is written `\\`"),
        ("12ab", "0: `12ab` is not a number"),
        ("if", "0: `if` is a reserved word of CEL"),
        ("a.in", "2: unexpected `in`"),
        ("é == 1", "0: unexpected `é`"),
        ("1 2", "2: unexpected `2`"),
        ("{'a': 1, 'a': 2}", "a map has a key twice"),
    ];
    let wrong = cases.iter().filter(|(source, expected)| outcome(source) != *expected);
    let wrong: Vec<_> = wrong.map(|(source, expected)| (source, expected, outcome(source))).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// On a thread as small as those that hooks run on.
#[test]
fn no_expression_fills_the_stack() {
    let around = |n: usize| format!("{}true{}", "(".repeat(n), ")".repeat(n));
    let nested = |open: &str, n: usize, close: &str| format!("{}1{} == 1", open.repeat(n), close.repeat(n));
    let fine = [
        around(MAX_NESTING),
        nested("size([", MAX_NESTING / 2, "])"),
        format!("1{} > 0", "+1".repeat(MAX_OPERATORS - 2)),
        format!("tool{} == 1", ".a".repeat(MAX_OPERATORS - 2)),
        format!("{}true", "!".repeat(MAX_OPERATORS)),
        format!("true{}", " ? true : true".repeat(MAX_NESTING)),
        format!("true{}", " && true".repeat(MAX_OPERATORS)),
        format!("{}true{}", "[1].all(x, ".repeat(MAX_NESTING / 2), ")".repeat(MAX_NESTING / 2)),
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
    std::thread::Builder::new().stack_size(1 << 20).spawn(work).unwrap().join().unwrap();
}

/// What an event holds can't keep a host busy: macros inside one another, long texts, growing lists.
#[test]
fn an_evaluation_has_a_budget() {
    let messages: Vec<_> = (0..3000).map(|n| json!({"n": n, "text": "x".repeat(1000)})).collect();
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
        assert_eq!(outcome, Err(Failure::Other("it takes too long on this event".into())), "{source}");
    }
    // A made text is shared by all that name it: 3,000 copies of a million bytes would be felt.
    let outcome = Program::new("[long + 'y'].all(t, messages.all(m, t != m))").unwrap().run(&data, &[]);
    assert_eq!(outcome, Ok(Outcome::Bool(true)));
    let outcome = Program::new("messages.exists(a, a.n == 2999 && a.text.endsWith('x'))").unwrap().run(&data, &[]);
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
