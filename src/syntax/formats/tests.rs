use super::Format::{Json, Toml, Yaml};
use super::*;

/// `line:column message (help)`, one problem a line; the tree as JSON if there is none.
fn outcome(text: &str, format: Format) -> String {
    let index = LineIndex::new(text);
    let problems = match parse(text, format) {
        Ok(node) => return node.to_json().to_string(),
        Err(problems) => problems,
    };
    let lines = problems.iter().map(|problem| {
        let start = index.position(problem.span.start);
        let help = problem.help.as_ref().map(|help| format!(" ({help})"));
        let help = help.unwrap_or_default();
        format!("{}:{} {}{help}", start.line, start.column, problem.message)
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn check(format: Format, cases: &[(&str, &str)]) {
    for (text, expected) in cases {
        assert_eq!(outcome(text, format), *expected, "{format:?} {text:?}");
    }
}

#[test]
fn yaml_mistakes() {
    check(
        Yaml,
        &[
            ("a: 1\nb: é\na: 2\n", "3:1 the key `a` is given twice (it was first given at line 1, column 1)"),
            ("a: {b: 1, b: 2}", "1:11 the key `b` is given twice (it was first given at line 1, column 5)"),
            ("\u{feff}é: 1\r\né: 2", "2:1 the key `é` is given twice (it was first given at line 1, column 1)"),
            ("a:\n\t- b\n", "2:1 a tab can't indent (indent with spaces)"),
            ("a:\n  b: 1\n\tc: 2\n", "3:1 a tab can't indent (indent with spaces)"),
            ("é: # don't\n  \"x\nb: 3", "2:3 the quote that opens here isn't closed"),
            ("a: 'x", "1:4 the quote that opens here isn't closed"),
            ("a: [1, 2\nb: 3\n", "2:2 a `:` can't stand here (look whether a `[` or `{` before this isn't closed)"),
            ("a: {b: 1\n", "1:4 the `{` isn't closed"),
            (
                "a: 1\n  b: 2\n",
                "2:4 a `key: value` can't stand here (text that holds `: ` needs quotes; else look at the indentation)",
            ),
            ("a: 1\nb\n", "2:1 a `:` is expected after the key (look at the indentation here and on the line before)"),
            (
                "a:\r\n  - b\r\n - c\r\n",
                "3:2 while parsing a block mapping, did not find expected key (look at the indentation here and on the line before)",
            ),
            (
                "---\na: 1\n---\nb: 1\n",
                "3:1 a definition file holds one document, this starts a second (put it into a file of its own)",
            ),
            ("ä: [*x, *y]", "1:5 nothing before this is anchored as `&x`\n1:9 nothing before this is anchored as `&y`"),
            ("a: &x [*x]", "1:8 this alias stands inside the very value it refers to"),
            ("a: {{x}}", "1:5 a key can't be a map (put the text in quotes if it is meant as text)"),
            ("a: @x", "1:4 unquoted text can't start with `@` (put the text in quotes)"),
            ("a: !ruby/x y", "1:12 the tag `!ruby/x` doesn't go with this value"),
            ("<<: 3", "1:5 only a map or a list of maps can be merged with `<<`"),
            (": x", "1:1 a key is missing here"),
            ("!!str : x", "1:6 a key is missing here"),
            ("a: 99999999999999999999", "1:4 the number is too large (put it in quotes if it is meant as text)"),
        ],
    );
}

#[test]
fn yaml_values() {
    check(
        Yaml,
        &[
            ("", "{}"),
            ("# nothing\n", "{}"),
            ("---\n", "{}"),
            ("on: yes\noff: no\ny: [on, True, false]", r#"{"off":"no","on":"yes","y":["on",true,false]}"#),
            ("a: 017\nb: 0o17\nc: 0x1F\nd: 1_0\ne: 12:30", r#"{"a":17,"b":15,"c":31,"d":"1_0","e":"12:30"}"#),
            ("[1e3, .5, +1., -.5e-1, inf, 1e, ., +1]", r#"[1000.0,0.5,1.0,-0.05,"inf","1e",".",1]"#),
            ("18446744073709551615: ~\ntrue: '1'", r#"{"18446744073709551615":null,"true":"1"}"#),
            ("[!!str 1, !!float 1, ! 2, '~', !!str ]", r#"["1",1.0,"2","~",""]"#),
            ("a: |\n  x\n  y\n\nb: >-\n  x\n  y\n", r#"{"a":"x\ny\n","b":"x y"}"#),
            (
                "a: &a {x: 1, y: 1}\nb: {<<: *a, x: 2}\nc: {<<: [{x: 3}, *a]}",
                r#"{"a":{"x":1,"y":1},"b":{"x":2,"y":1},"c":{"x":3,"y":1}}"#,
            ),
            ("&k a: 1\nb: *k\n*k : 2\n", "3:1 the key `a` is given twice (it was first given at line 1, column 4)"),
        ],
    );
}

#[test]
fn toml_mistakes_and_values() {
    check(
        Toml,
        &[
            ("", "{}"),
            ("# nothing\n", "{}"),
            ("é = 1", "1:1 invalid unquoted key, expected letters, numbers, `-`, `_`"),
            ("\"é\" = 'ü'\r\n\"é\" = 2", "2:1 the key `\"é\"` is given twice (it was first given at line 1, column 1)"),
            ("[a]\nx = 1\n[b]\n[a]\n", "4:2 the key `a` is given twice (it was first given at line 1, column 2)"),
            (
                "[[h]]\nn = 1\n[[h]]\nn = 1\nn = 2",
                "5:1 the key `n` is given twice (it was first given at line 4, column 1)",
            ),
            (
                "a = [{x = 1}, {x = 1, x = 2}]",
                "1:23 the key `x` is given twice (it was first given at line 1, column 16)",
            ),
            ("x.n = 1\nn = 2\nx.n = 3", "3:3 the key `n` is given twice (it was first given at line 1, column 3)"),
            ("a = 'ü\"\nb = \"x\n", "1:5 the quote that opens here isn't closed"),
            ("a = \"\"\"x\n\ny", "1:5 the quote that opens here isn't closed"),
            ("a = \n", "1:5 a value is missing"),
            ("a = on\n", "1:5 text as a value must be in quotes"),
            ("a = 017", "1:5 unexpected leading zero"),
            ("[a\n", "1:3 unclosed table, expected `]`"),
            ("a = [1, 2\nb = 3\n", "2:1 missing comma between array elements, expected `,`"),
            ("a = 1\na.b = 2\n", "2:1 cannot extend value of type integer with a dotted key"),
            ("a = 1e999", "1:5 the number is too large (put it in quotes if it is meant as text)"),
            (
                "a = 2020-01-01T10:00:00Z\nb = 0o17\nc = 0xffffffffffffffff",
                r#"{"a":"2020-01-01T10:00:00Z","b":15,"c":18446744073709551615}"#,
            ),
        ],
    );
}

#[test]
fn json_mistakes_and_values() {
    check(
        Json,
        &[
            ("", "{}"),
            ("// nothing\n/* at all */", "{}"),
            ("\u{feff}{\"é\": [1, 2.5, -3,], /* x */ \"b\": null, // y\n}", r#"{"b":null,"é":[1,2.5,-3]}"#),
            ("{\"é\": 1,\r\n \"é\": 2}", "2:2 the key `é` is given twice (it was first given at line 1, column 2)"),
            ("{\"é\": \"x\n, \"b\": 1}", "1:7 the quote that opens here isn't closed on its line"),
            ("{\"a\": \"\\", "1:7 the quote that opens here isn't closed on its line"),
            ("{\"a\": 1 \"b\": 2}", "1:8 expected comma"),
            ("{a: 1}", "1:2 expected string for object property"),
            ("{\"é\": 'x'}", "1:7 single-quoted strings are not allowed"),
            ("{\"a\": 1", "1:1 unterminated object"),
            ("{} {}", "1:4 text cannot contain more than one JSON value"),
            ("/* x", "1:1 unterminated comment block"),
            ("[1e999]", "1:2 the number is too large (put it in quotes if it is meant as text)"),
        ],
    );
}

#[test]
fn hostile_texts_are_refused() {
    let deep = "more than 64 lists and maps are inside one another";
    let n = 10_000;
    let keys = "a.".repeat(60);
    let steps = (0..n).map(|at| format!("{}a:\n", " ".repeat(at % 100)));
    let layer = |at: usize| format!("a{at}: &a{at} [{}x]\n", format!("*a{}, ", at - 1).repeat(9));
    let bomb = "a0: &a0 x\n".to_owned() + &(1..20).map(layer).collect::<String>();
    let layer = |at: usize| format!("a{at}: &a{at} {}*a{}{}\n", "[".repeat(30), at - 1, "]".repeat(30));
    let tower = "a0: &a0 x\n".to_owned() + &(1..200).map(layer).collect::<String>();
    let cases = [
        (Yaml, "[".repeat(n), format!("1:65 {deep}")),
        (Yaml, "- ".repeat(n), format!("1:129 {deep}")),
        (Yaml, "{a: ".repeat(n), format!("1:257 {deep}")),
        (Yaml, steps.collect(), format!("65:65 {deep}")),
        (Yaml, tower, format!("4:39 {deep}")),
        (Yaml, bomb, "7:10 the anchors and aliases of this file expand to too much".into()),
        (Yaml, "[".to_owned() + &"x,".repeat(300_000), "1:400002 the file has more than 200000 values".into()),
        (Toml, format!("a = {}", "[".repeat(n)), format!("1:68 {deep}")),
        (Toml, format!("a = {}", "{a = ".repeat(n)), format!("1:320 {deep}")),
        (Toml, format!("{}a = 1", "a.".repeat(n)), format!("1:129 {deep}")),
        (Toml, format!("[{}a]", "a.".repeat(n)), format!("1:130 {deep}")),
        (Toml, format!("[{keys}a]\n{keys}a = {}", format!("{{{keys}a = ").repeat(70)), format!("2:7 {deep}")),
        (Json, "[".repeat(n), format!("1:65 {deep}")),
        (Json, "{\"a\":".repeat(n), format!("1:321 {deep}")),
        (Json, " ".repeat(MAX_BYTES + 1), "1:1 the file is larger than 4 MiB".into()),
    ];
    for (format, text, expected) in cases {
        assert_eq!(outcome(&text, format), expected, "{format:?} {:.40}", text);
    }
}

/// Every key and every scalar is found in the text where its span says.
#[test]
fn spans_are_exact() {
    fn walk(text: &str, node: &Node, out: &mut Vec<String>) {
        let written = |span: &Span| text[span.clone()].to_owned();
        match &node.value {
            NodeValue::Seq(items) => items.iter().for_each(|item| walk(text, item, out)),
            NodeValue::Map(entries) => {
                for entry in entries {
                    out.push(written(&entry.key_span));
                    walk(text, &entry.value, out);
                }
            }
            _ => out.push(written(&node.span)),
        }
    }
    let cases = [
        (Yaml, "\u{feff}ä: 'ü'\r\n\"on\":\r\n  - |\r\n    é\r\n\r\n  - é # x\r\n", "ä 'ü' \"on\" é é"),
        (Toml, "\u{feff}\"ä\" = 'ü'\r\n[x.y]\r\nz = [1, \"é\"] # x\r\n", "\"ä\" 'ü' x y z 1 \"é\""),
        (Json, "\u{feff}{\"ä\": \"ü\", // ö\r\n \"b\": [1, true]}", "\"ä\" \"ü\" \"b\" 1 true"),
    ];
    for (format, text, expected) in cases {
        let mut out = Vec::new();
        walk(text, &parse(text, format).expect("no problem"), &mut out);
        assert_eq!(out.join(" "), expected);
    }
    let node = parse("a:\n  b: 1\n  c: [2]\n\n# x\nd: 1", Yaml).expect("no problem");
    assert_eq!(node.get("a").map(|it| it.span.clone()), Some(5..18), "blanks don't count");
}

#[test]
fn format_comes_from_the_extension() {
    let cases = [
        ("x/a.yaml", Some(Yaml)),
        ("a.YML", Some(Yaml)),
        ("a.toml", Some(Toml)),
        ("a.b.json", Some(Json)),
        ("a.jsonc", None),
        ("yaml", None),
    ];
    for (path, expected) in cases {
        assert_eq!(Format::from_path(Path::new(path)), expected, "{path}");
    }
}
