//! `hookwire test --update`: what came out becomes what is expected, and nothing else in the file
//! changes.

use hookwire_base::syntax::formats::{self, Format};
use hookwire_base::syntax::node::Step;
use hookwire_base::syntax::writer::{At, Op, rewritten};
use hookwire_engine::definitions::cases::{self, CameOut};
use serde_json::{Map, Value};
use std::path::Path;

/// A file of cases in which each of these cases, by its position, expects what came out.
pub(super) fn update_cases(
    file: &str,
    text: &str,
    news: &[(usize, CameOut)],
) -> Result<String, String> {
    let format = Format::from_path(Path::new(file)).unwrap_or_default();
    let by_hand = || "what came out can't be written into it; change the cases by hand".to_string();
    let root = formats::parse(text, format).map_err(|_| by_hand())?;
    let items = cases::items(&root).ok_or_else(by_hand)?;
    let mut ops = Vec::new();
    for (position, came_out) in news {
        let case = [Step::Key("cases"), Step::Index(*position)];
        // A new member stands behind `expect`, or behind the member that was written before it.
        let mut at = if items
            .get(*position)
            .is_some_and(|items| items.get("expect").is_some())
        {
            At::Behind("expect")
        } else {
            At::End
        };
        for (key, value) in expected_members(came_out) {
            let path = [&case[..], &[Step::Key(key)]].concat();
            match value {
                Some(value) => {
                    ops.push((path, Op::Set(value, at)));
                    at = At::Behind(key);
                }
                None if root.at(&path).is_some() => ops.push((path, Op::Remove)),
                None => {}
            }
        }
    }
    let updated = rewritten(text, format, &ops).ok_or_else(by_hand)?;
    // The file may be written in many ways, so the edited text is read again: it must mean what
    // came out.
    let (cases, _) = cases::read_unfinished(file, &updated).map_err(|_| by_hand())?;
    if news.iter().all(|(position, news)| {
        cases
            .cases
            .get(*position)
            .is_some_and(|cases| cases.expects(news))
    }) {
        Ok(updated)
    } else {
        Err(by_hand())
    }
}

/// The members with which a case expects what came out.
fn expected_members(news: &CameOut) -> [(&'static str, Option<Value>); 5] {
    let outcomes: Map<String, Value> = news
        .outcomes
        .iter()
        .map(|(hook, part)| (hook.clone(), part.as_str().into()))
        .collect();
    [
        ("expect", Some(news.expected.to_value())),
        ("reason", news.reason.as_deref().map(Value::from)),
        ("failure", news.failure.as_deref().map(Value::from)),
        ("outcomes", (!outcomes.is_empty()).then(|| outcomes.into())),
        ("observed", news.observed.map(|would| would.as_str().into())),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use hookwire_engine::definitions::cases::Expected;

    #[test]
    fn only_what_is_expected_changes() {
        let deny = || CameOut {
            expected: Expected::Deny,
            reason: Some("Off: no.".into()),
            failure: None,
            outcomes: [].into(),
            observed: None,
        };
        let allow = || CameOut {
            expected: Expected::Allow,
            reason: None,
            failure: None,
            outcomes: [].into(),
            observed: None,
        };
        let command = || CameOut {
            expected: Expected::Command("pnpm i".into()),
            reason: None,
            failure: None,
            outcomes: [].into(),
            observed: None,
        };
        for (file, before, news, after) in [
            (
                "a.yaml",
                "cases: # all\n  - { bash: ls, expect: allow } # one\n",
                deny(),
                "cases: # all\n  - { bash: ls, expect: deny, reason: \"Off: no.\" } # one\n",
            ),
            (
                "a.yaml",
                "cases:\n  - { reason: x, bash: ls, expect: deny }\n",
                allow(),
                "cases:\n  - { bash: ls, expect: allow }\n",
            ),
            (
                "a.yaml",
                "cases:\n  - { bash: ls, expect: deny, reason: x }\n",
                allow(),
                "cases:\n  - { bash: ls, expect: allow }\n",
            ),
            (
                "a.yaml",
                "cases: [{ bash: ls }]",
                allow(),
                "cases: [{ bash: ls, expect: allow }]",
            ),
            (
                "a.yaml",
                "cases:\n  - bash: ls # list\n    expect: allow # no\n    # why\n    before:\n      - bash: a\n",
                deny(),
                "cases:\n  - bash: ls # list\n    expect: deny # no\n    reason: \"Off: no.\"\n    # why\n    before:\n      - bash: a\n",
            ),
            (
                "a.yaml",
                "cases:\n  - bash: |\n      ls\n    # last\n  - { bash: a, expect: deny }\n",
                CameOut {
                    expected: Expected::Ask,
                    reason: None,
                    failure: Some("status 503".into()),
                    outcomes: [].into(),
                    observed: None,
                },
                "cases:\n  - bash: |\n      ls\n    expect: ask\n    failure: status 503\n    # last\n  - { bash: a, expect: deny }\n",
            ),
            (
                "a.yaml",
                "cases:\n  - reason: x\n    bash: ls\n    expect: deny\n",
                allow(),
                "cases:\n  - bash: ls\n    expect: allow\n",
            ),
            (
                "a.yaml",
                "cases:\n  - bash: ls\n    reason: x # y\n    expect: deny\n",
                command(),
                "cases:\n  - bash: ls\n    expect: { command: pnpm i }\n",
            ),
            (
                "a.json",
                "{\"cases\": [{\"bash\": \"ls\", \"expect\": \"deny\", // b\n\"reason\": \"x\"}]}",
                allow(),
                "{\"cases\": [{\"bash\": \"ls\", \"expect\": \"allow\" // b\n}]}",
            ),
            (
                "a.toml",
                "[[cases]]\nbash = \"ls\"\nexpect = \"allow\"\n",
                deny(),
                "[[cases]]\nbash = \"ls\"\nexpect = \"deny\"\nreason = \"Off: no.\"\n",
            ),
            (
                "a.toml",
                "cases = [{ bash = \"ls\", expect = \"allow\" }]",
                command(),
                "cases = [{ bash = \"ls\", expect = { command = \"pnpm i\" } }]",
            ),
        ] {
            assert_eq!(
                update_cases(file, before, &[(0, news)]).as_deref(),
                Ok(after),
                "{before}"
            );
        }
        let folded = "cases:\n  - bash: ls\n    expect: deny\n    reason: >-\n      a\n      b\n";
        let written = "cases:\n  - bash: ls\n    expect: deny\n    reason: >-\n      Off: no.\n";
        assert_eq!(
            update_cases("a.yaml", folded, &[(0, deny())]).as_deref(),
            Ok(written)
        );
        let shared = "all: &r x\ncases:\n  - bash: ls\n    expect: deny\n    reason: &x a\n  - bash: a\n    expect: deny\n    reason: *x\n";
        assert!(
            update_cases("a.yaml", shared, &[(0, deny())])
                .is_err_and(|error| error.contains("by hand"))
        );
    }
}
