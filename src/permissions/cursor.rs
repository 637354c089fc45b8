//! Cursor's permissions for its command line: `allow` and `deny` of `cli.json`. They are read as
//! its documents say them.

use super::claude_code::{self, Level};
use super::{Aside, Permissions};
use hookwire_base::syntax::diagnostic::LineIndex;
use hookwire_base::syntax::node::Node;
use hookwire_base::verdict::Decision;

/// No rules yet.
pub fn none() -> Permissions {
    Permissions {
        known_by: "the documentation of Cursor",
        ..claude_code::none()
    }
}

/// Takes the permissions of a file of settings.
pub fn take(permissions: &mut Permissions, settings: &Node, file: &str, lines: &LineIndex<'_>) {
    let Some(found) = settings.get("permissions") else {
        return;
    };
    for (key, decision) in [("allow", Decision::Allow), ("deny", Decision::Deny)] {
        for item in found.get(key).map(Node::items).unwrap_or_default() {
            let place = format!("{file}:{}", lines.position(item.span.start).line);
            let Some(text) = item.text() else { continue };
            match in_other_words(text.trim()) {
                Some(said) => {
                    let pushed =
                        claude_code::add(permissions, &said, decision, place, Level::Project);
                    if let Some(rule) = pushed {
                        rule.text = text.into();
                    }
                }
                None => permissions.asides.push(Aside {
                    text: text.chars().take(60).collect(),
                    place,
                    why: "what it is about isn't known".into(),
                }),
            }
        }
    }
}

/// The same rule as Claude Code writes it.
fn in_other_words(text: &str) -> Option<String> {
    let (tool, pattern) = text.strip_suffix(')')?.split_once('(')?;
    Some(match tool {
        "Shell" => match pattern.split_once(':') {
            Some((program, arguments)) => format!("Bash({program} {arguments})"),
            None if pattern == "*" => "Bash".into(),
            None => format!("Bash({pattern} *)"),
        },
        "Read" => format!("Read({pattern})"),
        "Write" => format!("Edit({pattern})"),
        "WebFetch" => format!("WebFetch(domain:{pattern})"),
        "Mcp" => {
            let (server, name) = pattern.split_once(':')?;
            format!("mcp__{server}__{name}")
        }
        _ => return None,
    })
}
