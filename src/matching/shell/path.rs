//! Operands as paths: whether a word stays within what a pattern names.

use super::commands::Directory;
use super::expand::{Openness, Word};
use super::{Place, rule};

/// Whether the word, taken as a path where its command runs, is certain to match the pattern, which is taken
/// against the directory where the text begins. `**` is any number of directories.
pub(super) fn is_within(pattern: &str, word: &Word, directory: &Directory, place: &Place) -> bool {
    let text = match word.openness {
        Openness::Constant => word.text.as_str(),
        // A pattern of file names stays in the directory that it names.
        Openness::Files(_) => word.text.as_str(),
        Openness::Operand(_) | Openness::Computed(..) => return false,
    };
    let Some(cwd) = place.cwd.to_str() else { return false };
    let home = place.home.and_then(|home| home.to_str());
    let Some(base) = rule::base(directory, place) else { return false };
    let Some(path) = absolute(text, word.home, &base, home) else { return false };
    let (text, at_home) = pattern.strip_prefix('~').map_or((pattern, false), |rest| (rest, true));
    let Some(pattern) = absolute(text, at_home, cwd, home) else { return false };
    let hidden = |part: &&str| part.starts_with('.') && part.contains(['*', '?', '[']);
    if matches!(word.openness, Openness::Files(_)) && path.iter().any(|part| hidden(&part.as_str())) {
        return false;
    }
    let pattern: Vec<&str> = pattern.iter().map(String::as_str).collect();
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    matches(&pattern, &path)
}

/// The parts of a path without `.` and `..`; nothing if it leads above the root or the home isn't known.
fn absolute(text: &str, at_home: bool, base: &str, home: Option<&str>) -> Option<Vec<String>> {
    let whole = match (at_home, text.starts_with('/')) {
        (true, _) => format!("{}/{text}", home?),
        (false, true) => text.to_string(),
        (false, false) => format!("{base}/{text}"),
    };
    let mut parts: Vec<String> = Vec::new();
    for part in whole.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                // What a pattern stands for isn't known, so neither is what is above it.
                if parts.pop()?.contains(['*', '?', '[']) {
                    return None;
                }
            }
            part => parts.push(part.to_string()),
        }
    }
    Some(parts)
}

fn matches(pattern: &[&str], path: &[&str]) -> bool {
    match pattern {
        [] => path.is_empty(),
        ["**"] => true,
        ["**", rest @ ..] => (0..=path.len()).any(|skip| matches(rest, &path[skip..])),
        [first, rest @ ..] => match path {
            [part, after @ ..] => {
                (rule::glob(first, part) && (*first == "*" || !part.contains(['*', '?']) || first == part))
                    && matches(rest, after)
            }
            [] => false,
        },
    }
}
