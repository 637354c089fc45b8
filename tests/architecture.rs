//! What the code promises of itself: which module may know which.

mod support;
use std::collections::BTreeMap;
use std::path::Path;
use support::repo;

/// Who may use whom. Plain data may be used by everybody; types that handlers and definitions share
/// (the spanned tree) belong to it.
const ARROWS: &[(&str, &[&str])] = &[
    ("event", &["definitions"]),
    ("verdict", &[]),
    ("json", &[]),
    ("digest", &[]),
    ("sync", &[]),
    ("emit", &[]),
    ("client", &[]),
    ("approvals", &["client", "digest", "event", "json", "state", "verdict"]),
    ("egress", &[]),
    ("state", &["event"]),
    ("models", &["client", "digest", "egress", "json", "definitions"]),
    ("matching", &["event"]),
    ("template", &["event"]),
    ("policy", &["event", "hook", "matching", "verdict"]),
    ("hook", &["event", "verdict", "matching", "handlers", "template"]),
    ("hook_set", &["hook", "matching", "policy"]),
    (
        "handlers",
        &[
            "event",
            "verdict",
            "hook",
            "matching",
            "json",
            "definitions",
            "client",
            "egress",
            "models",
            "state",
            "approvals",
            "digest",
            "emit",
            "sync",
            "template",
        ],
    ),
    (
        "engine",
        &[
            "event",
            "verdict",
            "hook",
            "hook_set",
            "handlers",
            "matching",
            "client",
            "state",
            "approvals",
            "digest",
            "policy",
        ],
    ),
    (
        "definitions",
        &["client", "digest", "event", "hook", "hook_set", "handlers", "matching", "models", "dialects", "policy"],
    ),
    ("dialects", &["event", "verdict", "hook", "matching", "json", "definitions", "template"]),
    (
        "lsp",
        &[
            "client",
            "definitions",
            "dialects",
            "engine",
            "event",
            "handlers",
            "hook",
            "hook_set",
            "host",
            "journal",
            "json",
            "matching",
            "policy",
            "state",
            "sync",
            "template",
            "transport",
            "verdict",
        ],
    ),
    ("transport", &["digest", "rpc"]),
    (
        "host",
        &["client", "definitions", "engine", "handlers", "hook", "hook_set", "journal", "models", "policy", "state"],
    ),
    ("journal", &["event", "hook", "sync", "verdict"]),
    (
        "agent_hook",
        &[
            "definitions",
            "dialects",
            "embed",
            "emit",
            "engine",
            "event",
            "handlers",
            "hook",
            "host",
            "state",
            "verdict",
        ],
    ),
    (
        "embed",
        &[
            "client",
            "definitions",
            "dialects",
            "emit",
            "engine",
            "event",
            "handlers",
            "hook",
            "host",
            "models",
            "policy",
            "state",
            "verdict",
        ],
    ),
];

/// Files by the top-level module that they belong to.
fn sources(dir: &Path, module: Option<&str>, out: &mut BTreeMap<String, Vec<String>>) {
    for entry in std::fs::read_dir(dir).unwrap().map(Result::unwrap) {
        let path = entry.path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_string();
        let module = module.unwrap_or(&name);
        if path.is_dir() {
            sources(&path, Some(module), out);
        } else if path.extension().is_some_and(|it| it == "rs") && name != "tests" {
            let text = std::fs::read_to_string(&path).unwrap();
            // Tests may look anywhere.
            let code = text.split("#[cfg(test)]\nmod tests").next().unwrap();
            out.entry(module.to_string()).or_default().push(code.to_string());
        }
    }
}

#[test]
fn arrows_point_one_way() {
    let mut files = BTreeMap::new();
    sources(&repo("src"), None, &mut files);
    for (module, allowed) in ARROWS {
        for text in &files[*module] {
            for part in text.split("crate::").skip(1) {
                let used: String = part.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
                let known = used == *module || allowed.contains(&used.as_str()) || !files.contains_key(&used);
                assert!(known, "`{module}` uses `{used}`");
            }
        }
    }
}
