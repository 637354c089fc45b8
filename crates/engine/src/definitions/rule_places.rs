//! Warnings of rules over files in directories that aren't there, where another one is nearly
//! called so.
//!
//! A rule may be about what is yet to be made, so a strange name alone is no mistake.

use super::written::Mistakes;
use crate::hook::Hook;
use hookwire_base::support::nearest::closest;
use hookwire_base::syntax::node::{Node, NodeValue};
use hookwire_base::syntax::problem::Problem;
use hookwire_base::syntax::source::Layer;
use hookwire_rules::matching::rule::ToolRule;
use std::path::Path;

/// Warns of the rules of a hook that was made of `node`, in a project with this root. The user's
/// own hooks are for all projects, so nothing is said of them.
pub(super) fn lint(hook: &Hook, node: &Node, root: &Path, mistakes: &mut Mistakes) {
    if !matches!(hook.source.layer, Layer::Project | Layer::Hooks) {
        return;
    }
    for (key, rules) in [("if", &hook.tools.rules), ("unless", &hook.tools.unless)] {
        node.get(key)
            .into_iter()
            .for_each(|written| of_rules(rules, written, root, mistakes));
    }
}

/// Warns of rules as they are written in `node`, one or a list.
fn of_rules(rules: &[ToolRule], node: &Node, root: &Path, mistakes: &mut Mistakes) {
    let items = match &node.value {
        NodeValue::Seq(items) => &items[..],
        _ => std::slice::from_ref(node),
    };
    for (rule, item) in rules
        .iter()
        .zip(items)
        .filter(|(rule, _)| rule.is_about_files())
    {
        let Some(Slip {
            message,
            wrong,
            right,
        }) = rule.pattern().and_then(|pattern| slip(pattern, root))
        else {
            continue;
        };
        let problem = Problem::warning(&item.span, "unknown-name", message);
        mistakes.push(problem.did_you_mean(&wrong, Some(&right)));
    }
}

struct Slip {
    message: String,
    wrong: String,
    right: String,
}

fn slip(pattern: &str, root: &Path) -> Option<Slip> {
    let is_absolute = pattern.starts_with('/');
    let bare = pattern.strip_prefix("./").unwrap_or(pattern);
    let (first, rest) = bare.strip_prefix('/').unwrap_or(bare).split_once('/')?;
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    if first.len() < 3 || !first.chars().all(is_name) || first.starts_with("..") {
        return None;
    }
    if is_absolute {
        let is_of_project = root.join(first).is_dir() && !Path::new("/").join(first).exists();
        return is_of_project.then(|| Slip {
            message: format!(
                "there is no `/{first}`; the project's own directory is named without `/` before it"
            ),
            wrong: pattern.into(),
            right: format!("{first}/{rest}"),
        });
    }
    if root.join(first).exists() {
        return None;
    }
    let entries = std::fs::read_dir(root)
        .ok()?
        .flatten()
        .take(MAX_ENTRIES)
        .filter(|it| it.path().is_dir());
    let names: Vec<String> = entries
        .filter_map(|it| it.file_name().into_string().ok())
        .collect();
    let near = closest(first, names.iter().map(String::as_str))
        .filter(|it| strsim::osa_distance(it, first) == 1)?;
    Some(Slip {
        message: format!("the project has no directory `{first}`"),
        wrong: format!("{first}/"),
        right: format!("{near}/"),
    })
}

/// The most entries of a project's directory that are looked at.
const MAX_ENTRIES: usize = 1000;
