use super::*;

#[test]
fn matchers() {
    use MatcherRule::{ListOrSearch, Search, SearchOnly, WholeName};
    for (rule, pattern, name, expected) in [
        (WholeName, "Bash", "Bash", true),
        (WholeName, "Bash", "BashOutput", false),
        (WholeName, "Write|Edit", "Edit", true),
        (WholeName, "Write|Edit", "MultiEdit", false),
        (WholeName, "mcp__pay__.*", "mcp__pay__send", true),
        (WholeName, "mcp__pay__.*", "x_mcp__pay__send", false),
        (WholeName, "mcp__pay__.*", "mcp__pay__", true),
        (WholeName, "mcp__pay__.*", "mcp__pay__a\nb", false),
        (WholeName, ".*", "Bash", true),
        (WholeName, "Edit, Bash", "Bash", false),
        (ListOrSearch, "Edit, Bash", "Bash", true),
        (ListOrSearch, "Bas", "Bash", false),
        (ListOrSearch, "^Ba", "Bash", true),
        (ListOrSearch, "as.", "Bash", true),
        (ListOrSearch, "mcp__mini", "mcp__mini__gate", false),
        (Search, "Bash", "BashOutput", true),
        (Search, "^Bash$", "BashOutput", false),
        (SearchOnly, "tool*", "PreToolCall:too", true),
    ] {
        let matcher = Matcher::new(pattern, rule).unwrap().unwrap();
        assert_eq!(matcher.matches(name), expected, "{pattern} on {name}");
    }
    for everything in ["", "*"] {
        assert!(Matcher::new(everything, WholeName).unwrap().is_none());
    }
    assert!(Matcher::new("*", SearchOnly).is_err());
    assert_eq!(
        Matcher::new("Ba[", WholeName).unwrap_err(),
        "unclosed character class"
    );
}

#[test]
fn literal_prefixes() {
    for (pattern, expected) in [
        ("mcp__a__.*", "mcp__a__"),
        ("ab*", "a"),
        ("a|b.*", ""),
        ("(x)", ""),
        ("abc", "abc"),
        (".*", ""),
    ] {
        assert_eq!(literal_prefix(pattern), expected, "{pattern}");
    }
}
