//! What a person reads before they approve: the same lines on a terminal and in an editor.

use super::line_diff::{Fate, line_diff};
use super::{Change, Review};
use crate::definitions::cases::is_cases_file;
use crate::definitions::cookbook;
use hookwire_base::support::amounts::number_of;
use hookwire_base::support::visible::safe;
use serde_json::{Value, json};
use std::path::Path;

/// What a line is, which decides how it looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// The name of a file, and what has become of it.
    Head,
    /// It is new.
    Added,
    /// It is gone.
    Removed,
    /// It stands beside what has changed.
    Beside,
    /// A guard stops less than before, or than it seems to.
    Loosened,
    /// Something else to know.
    Plain,
    /// A mistake.
    Mistake,
}

impl Look {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Look::Head => "head",
            Look::Added => "added",
            Look::Removed => "removed",
            Look::Beside => "beside",
            Look::Loosened => "loosened",
            Look::Plain => "plain",
            Look::Mistake => "mistake",
        }
    }
}

/// What is to be approved, for programs.
pub fn summary(review: &Review) -> Value {
    let changes = review.changes();
    let path = |change: &Change<'_>| json!({ "path": change.path, "was": change.old.is_some(), "is": change.new.is_some() });
    json!({
        "root": review.root,
        "isTrusted": review.is_as_before(),
        "changes": changes.iter().map(path).collect::<Vec<_>>(),
        "hooks": review.hooks.iter().map(|hook| &*hook.name).collect::<Vec<_>>(),
        "loosened": review.observers().map(|(hook, _)| &*hook.name).collect::<Vec<_>>(),
        "runs": review.record.named,
    })
}

/// What is to be approved, line by line. Nothing in a line can hide or reorder others.
pub fn shown(review: &Review) -> Vec<(Look, String)> {
    if review.is_as_before() {
        let root = safe(&review.root.to_string_lossy());
        return vec![(
            Look::Plain,
            format!(
                "{root}: trusted as it is, {}.",
                number_of(review.hooks.len(), "hook")
            ),
        )];
    }
    let broken = review.broken.iter().map(|it| {
        (
            Look::Mistake,
            safe(&format!("what was trusted is broken: {it}")),
        )
    });
    // What is to be in force comes before what only tests it.
    let (cases, rules): (Vec<_>, Vec<_>) = review
        .changes()
        .into_iter()
        .partition(|it| is_cases_file(it.path));
    let mut lines: Vec<_> = broken
        .chain(
            rules
                .iter()
                .chain(&cases)
                .flat_map(|change| of_file(review, change)),
        )
        .collect();
    for (path, is_there) in review.named_changes() {
        let what = if is_there {
            "runs, as it is now"
        } else {
            "would run; there is no such file"
        };
        lines.push((
            Look::Plain,
            format!("{what}: {}", safe(&path.to_string_lossy())),
        ));
    }
    for (name, place) in review.program_changes() {
        let (name, place) = (safe(name), safe(&place.to_string_lossy()));
        lines.push((
            Look::Plain,
            format!("runs, as it is now: {place}, for `{name}`"),
        ));
    }
    for (hook, enforced) in review.observers() {
        let what = if enforced {
            "enforces no more, only observes"
        } else {
            "only observes, and stops nothing"
        };
        lines.push((Look::Loosened, format!("{what}: `{}`", safe(&hook.name))));
    }
    lines.extend(
        review
            .errors()
            .map(|it| (Look::Mistake, safe(&it.one_line()))),
    );
    let passed_over = review
        .diagnostics
        .iter()
        .filter(|it| review.is_empty && it.code == "not-definitions");
    lines.extend(passed_over.map(|it| (Look::Mistake, safe(&it.one_line()))));
    let names: Vec<&str> = review.hooks.iter().map(|hook| &*hook.name).collect();
    lines.push((
        Look::Plain,
        format!(
            "{}: {}",
            number_of(names.len(), "hook"),
            safe(&names.join(", "))
        ),
    ));
    lines
}

/// The rule of the cookbook that a file is, if to name it says all that the file does.
///
/// A file that takes the place of another is shown whole, because what it takes away decides. So is
/// one whose hooks run, change or write something, because what that does depends on the project:
/// `npm test` is whatever the clone says it is. A file without hooks in force, such as definitions
/// that are named like cases, guards nothing.
fn rule_of(review: &Review, change: &Change<'_>) -> Option<&'static str> {
    const JUDGE_ONLY: [&str; 4] = ["ask", "deny", "guard", "script"];
    let Change {
        path,
        old: None,
        new: Some(bytes),
    } = change
    else {
        return None;
    };
    let rule = cookbook::rule_of(path, bytes)?;
    let full = review.root.join(path);
    let mut hooks = review
        .hooks
        .iter()
        .filter(|hook| Path::new(&*hook.source.file) == full)
        .peekable();
    let is_as_named = is_cases_file(path) || hooks.peek().is_some();
    let judges_only =
        hooks.all(|it| JUDGE_ONLY.contains(&it.handler.key()) && it.handler.writes().is_none());
    (is_as_named && judges_only).then_some(rule.name)
}

fn of_file(review: &Review, change: &Change<'_>) -> Vec<(Look, String)> {
    if let Some(rule) = rule_of(review, change) {
        let path = safe(&change.path.to_string_lossy());
        return vec![(
            Look::Head,
            format!("{path} (new, as in the cookbook: {rule})"),
        )];
    }
    let what = match (&change.old, change.new) {
        (None, _) => "new",
        (_, None) => "gone",
        _ => "changed",
    };
    let mut lines = vec![(
        Look::Head,
        format!("{} ({what})", safe(&change.path.to_string_lossy())),
    )];
    let (old, new) = (
        change.old.as_deref().unwrap_or_default(),
        change.new.unwrap_or_default(),
    );
    let (Ok(old), Ok(new)) = (std::str::from_utf8(old), std::str::from_utf8(new)) else {
        lines.push((
            Look::Plain,
            format!("  {} bytes that are not text", new.len()),
        ));
        return lines;
    };
    lines.extend(line_diff(old, new).into_iter().map(|(fate, text)| {
        let look = match fate {
            Fate::Added => Look::Added,
            Fate::Removed => Look::Removed,
            Fate::Same | Fate::Gap => Look::Beside,
        };
        (look, format!("  {text}"))
    }));
    lines
}
