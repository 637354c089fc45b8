//! Every code of a diagnostic: its example has it, and the page of all codes is the table of them.

use crate::pages::{Checkout, said};
use crate::support::repo;
use hookwire::codes::{CODES, Code, Example};
use std::collections::BTreeSet;

/// The codes of what `check --format json` printed.
fn codes_in(printed: &str) -> BTreeSet<String> {
    let told: serde_json::Value =
        serde_json::from_str(printed).unwrap_or_else(|error| panic!("{error}: {printed}"));
    let told = told["diagnostics"].as_array().unwrap();
    told.iter()
        .map(|it| it["code"].as_str().unwrap().to_string())
        .collect()
}

#[test]
fn each_example_has_its_code_and_no_other() {
    let mut wrong = Vec::new();
    for Code { name, example, .. } in CODES {
        let checkout = Checkout::empty();
        let script = match example {
            Example::File(text) => {
                let ending = if text.starts_with('{') {
                    "json"
                } else {
                    "yaml"
                };
                let check = "hookwire check --format json --isolated";
                format!("cat > example.{ending} <<'END'\n{text}END\n{check} example.{ending}")
            }
            Example::Project(script) => script.to_string(),
        };
        let output = checkout.bash(&format!("{script} || true"));
        let printed = String::from_utf8_lossy(&output.stdout);
        let found = match printed.lines().last() {
            Some(line) => codes_in(line),
            None => BTreeSet::new(),
        };
        if found != BTreeSet::from([name.to_string()]) {
            wrong.push(format!("{name}: {found:?}\n{script}\n{}", said(&output)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// The page of all codes.
fn page() -> String {
    let mut page = String::from(
        "# Diagnostics\n\n\
         What `hookwire check` and editors say of definitions has a code, which never changes. This page has each code with its\n\
         meaning, an example that has it, and the fix. `hookwire docs CODE` shows one.\n",
    );
    for Code {
        name,
        meaning,
        example,
        fix,
    } in CODES
    {
        let (what, text) = match example {
            Example::File(text) => ("the definitions are wrong on purpose", *text),
            Example::Project(script) => ("it makes a project that is wrong on purpose", *script),
        };
        let text = text.trim_end();
        page.push_str(&format!(
            "\n## {name}\n\n{meaning}\n\n<!-- not run: {what}; the test of the codes runs it -->\n```text\n{text}\n```\n\n{fix}\n"
        ));
    }
    page
}

#[test]
fn the_page_is_the_table() {
    let path = repo("docs/diagnostics.md");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&path, page()).unwrap();
    }
    assert_eq!(
        std::fs::read_to_string(path).unwrap_or_default(),
        page(),
        "UPDATE_EXPECT=1 writes it"
    );
}
