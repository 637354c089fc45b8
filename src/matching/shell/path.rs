//! Operands as paths: whether a word stays within what a pattern names.

use super::commands::Directory;
use super::expand::{Openness, Word};
use super::{Files, Place, rule};

/// Whether the word, taken as a path where its command runs, is certain to match the pattern, which is taken
/// against the directory where the text begins. `**` is any number of directories.
pub(super) fn is_within(pattern: &str, word: &Word, directory: &Directory, place: &Place) -> bool {
    let text = match word.openness {
        Openness::Constant => word.text.as_str(),
        Openness::Operand(0) => match below_current(word, directory) {
            Some(text) => text,
            None => return false,
        },
        // A pattern of file names stays in the directory that it names.
        Openness::Files(_) => word.text.as_str(),
        Openness::Operand(_) | Openness::Computed(..) => return false,
    };
    let Some(cwd) = place.patterns.to_str() else { return false };
    let home = place.home.and_then(|home| home.to_str());
    let Some(base) = rule::base(directory, place) else { return false };
    let Some(path) = absolute(text, word.home, &base, home) else { return false };
    let (text_of_pattern, at_home) = pattern.strip_prefix('~').map_or((pattern, false), |rest| (rest, true));
    let Some(pattern) = absolute(text_of_pattern, at_home, cwd, home) else { return false };
    let hidden = |part: &&str| part.starts_with('.') && part.contains(['*', '?', '[']);
    // What a list of patterns stands for isn't told: `!(a)`.
    let is_open = |part: &String| hidden(&part.as_str()) || part.contains('(');
    if matches!(word.openness, Openness::Files(_)) && path.iter().any(is_open) {
        return false;
    }
    let fits = |pattern: &[String], path: &[String]| {
        let [pattern, path] = [pattern, path].map(|parts| parts.iter().map(String::as_str).collect::<Vec<_>>());
        matches(&pattern, &path)
    };
    if !fits(&pattern, &path) {
        return false;
    }
    let Some(links) = place.links else { return true };
    // Links below the directory that a relative pattern counts from are for the path to follow: who may write there may
    // put one.
    let is_relative = !at_home && !text_of_pattern.starts_with('/');
    let known = if is_relative { absolute("", false, cwd, home).map_or(0, |it| it.len()) } else { fixed(&pattern) };
    let lead = |parts: &[String], known: usize| lead(parts, known, links);
    let (Some(pattern), Some(resolved)) = (lead(&pattern, known), lead(&path, fixed(&path))) else { return false };
    // A directory that the word's own pattern comes across may be a link: `build/*/x`.
    let stays = || match (place.linked, word.openness) {
        (Some(linked), Openness::Files(_)) if !word.found => {
            let found = linked(&path.iter().map(String::as_str).collect::<Vec<_>>());
            found.is_some_and(|found| found.iter().all(|path| fits(&pattern, &parts_of(path))))
        }
        _ => true,
    };
    fits(&pattern, &resolved) && stays()
}

/// `"$PWD/build"` as a path in the directory where the text begins, if it stays there: then it is where the word was
/// expanded, too. Nothing sets the variable, or the word would be another.
fn below_current<'w>(word: &'w Word, directory: &Directory) -> Option<&'w str> {
    let rest = word.text.strip_prefix("${PWD}/").filter(|_| *directory == Directory::Same)?;
    rest.chars().all(|c| c.is_alphanumeric() || "._-+@/".contains(c)).then_some(rest)
}

/// How many parts a pattern has before its first wildcard.
fn fixed(parts: &[String]) -> usize {
    parts.iter().position(|part| part.contains(['*', '?', '['])).unwrap_or(parts.len())
}

/// The path with its first parts resolved.
fn lead(parts: &[String], known: usize, links: &Files<'_>) -> Option<Vec<String>> {
    let (known, rest) = parts.split_at(known.min(parts.len()));
    let mut resolved = parts_of(&links(&format!("/{}", known.join("/")))?);
    resolved.extend_from_slice(rest);
    Some(resolved)
}

fn parts_of(path: &str) -> Vec<String> {
    path.split('/').filter(|part| !part.is_empty()).map(str::to_string).collect()
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
                // `**` is more than one name.
                (rule::glob(first, part)
                    && (*first == "*" && *part != "**" || !part.contains(['*', '?']) || first == part))
                    && matches(rest, after)
            }
            [] => false,
        },
    }
}
