use super::*;
use serde_json::json;

#[test]
fn holds_or_not_or_opaque() {
    let data = json!({"event": "PreToolUse", "tool": {"name": "pay", "input": {"amount": 1200, "to": "bob"}}});
    for (source, expected) in [
        ("tool.input.amount > 1000", "yes"),
        (
            "has(tool.input.amount) && double(tool.input.amount) > 1000.0",
            "yes",
        ),
        ("tool.input.to.matches('^b')", "yes"),
        ("tool.input.to.startsWith('c')", "no"),
        ("has(tool.input.missing)", "no"),
        ("prompt == null", "yes"),
        ("parentRun == null", "yes"),
        ("has(tool) && !has(metadata) && !has(prompt)", "yes"),
        ("tool.input.missing > 3", "opaque"),
        ("tool.input.amount", "opaque"),
        ("nobody > 3", "opaque"),
    ] {
        let truth = When::new(source).unwrap().holds(&data);
        let word = match truth {
            Truth::Yes => "yes",
            Truth::No => "no",
            Truth::Opaque(_) | Truth::Delegates(_) => "opaque",
        };
        assert_eq!(word, expected, "{source}");
    }
}

#[test]
fn each_member_of_an_event_may_be_lacking() {
    for member in MEMBERS {
        let when = When::new(&format!("{member} == null")).unwrap();
        assert!(matches!(when.holds(&json!({})), Truth::Yes), "{member}");
    }
}

#[test]
fn mistakes_are_placed() {
    for (source, offset) in [("tool.input.amount >", 19), ("tool.name.matches('[')", 19)] {
        assert_eq!(When::new(source).unwrap_err().at.start, offset, "{source}");
    }
}

#[test]
fn paths_are_placed() {
    for (source, expected) in [
        ("tol.name == 'tol.name'", vec![("tol.name", 0)]),
        (
            "'\\\'a.b' == a.b && has(c.d.e)",
            vec![("a.b", 11), ("c.d.e", 22)],
        ),
        (
            "tool.name.startsWith('x') || size(xs) > 1",
            vec![("tool.name", 0), ("xs", 34)],
        ),
        (
            "messages.exists(m, m.role == x) && ys.map(y, [y, z])[0]",
            vec![("messages", 0), ("x", 29), ("ys", 35), ("z", 49)],
        ),
        ("tool['input'].a", vec![("tool", 0)]),
        ("aa.b == 1 || a.b", vec![("a.b", 13), ("aa.b", 0)]),
    ] {
        let found = When::new(source).unwrap().references();
        let found: Vec<_> = found
            .iter()
            .map(|(path, at)| (path.as_str(), at.start))
            .collect();
        assert_eq!(found, expected, "{source}");
    }
}

#[test]
fn flags_members_read_without_has() {
    for (source, expected) in [
        ("tool.input.amount > 3", vec!["tool.input.amount"]),
        ("has(tool.input.amount) && tool.input.amount > 3", vec![]),
        ("tool.name == 'x'", vec![]),
        ("has(metadata.x)", vec!["metadata"]),
        ("has(metadata) && has(metadata.x) && metadata.x > 1", vec![]),
    ] {
        assert_eq!(When::new(source).unwrap().unguarded(), expected, "{source}");
    }
}
