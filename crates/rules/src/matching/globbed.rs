//! What a call's own pattern of file names may name: `cat li*/x` of a shell, `**/*.env` of a tool
//! that reads many files.
//!
//! A rule is a pattern, too, so two questions are asked: whether any path may fit both
//! ([`NamePattern::may_meet`]), and where links lead that the pattern comes across on the disk
//! ([`through_links`]). Both answer on the careful side: what isn't understood meets everything.

use super::paths::{self, Base, PathPattern, PathViews};
use super::shell::meeting::{Token, characters_meet, meet, tokens};
use hookwire_ask::look::Look;
use std::path::{Path, PathBuf};

/// The characters that a pattern of file names is told by.
pub const WILDCARDS: [char; 4] = ['*', '?', '[', '{'];

/// How many names of directories are looked at for one pattern.
const MAX_LOOKED_AT: usize = 20_000;

/// How many paths behind links are kept for one pattern.
const MAX_LINKED: usize = 256;

/// How many parts of two patterns are held against each other.
const MAX_COMPARED: usize = 200_000;

/// Whether a name fits one part of a shell's pattern. Classes and groups fit every name.
fn may_fit(part: &str, name: &str) -> bool {
    part.contains(['[', '(', '{', '\\'])
        || characters_meet(
            &tokens(part),
            &name.chars().map(Token::Is).collect::<Vec<_>>(),
        )
}

/// Where an absolute pattern leads if it goes through symbolic links: the resolved paths, with all
/// names. `None`: too much would have to be looked at, or a link can't be resolved. Like bash, `**`
/// doesn't go through links.
pub fn through_links(parts: &[&str]) -> Option<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut budget = MAX_LOOKED_AT;
    let mut pending = vec![(PathBuf::from("/"), 0, false)];
    while let Some((at, next, is_linked)) = pending.pop() {
        budget = budget.checked_sub(1)?;
        let Some(part) = parts.get(next) else {
            if is_linked && !found.contains(&at) {
                found.push(at);
            }
            if found.len() > MAX_LINKED {
                return None;
            }
            continue;
        };
        if !part.contains(WILDCARDS) && !part.contains('(') {
            let path = at.join(part);
            let about = Look::of_io(std::fs::symlink_metadata(&path))
                .or_closed()
                .known()
                .ok()?;
            match about.is_some_and(|it| it.is_symlink()) {
                true => pending.push((paths::resolved(&path)?, next + 1, true)),
                false => pending.push((path, next + 1, is_linked)),
            }
            continue;
        }
        let is_any_depth = *part == "**";
        let is_last = next + 1 == parts.len();
        if is_any_depth {
            pending.push((at.clone(), next + 1, is_linked));
        }
        // What isn't there or can't be listed, the shell can't list either.
        let entries = Look::of_io(std::fs::read_dir(&at))
            .or_closed()
            .known()
            .ok()?;
        for entry in entries.into_iter().flatten() {
            budget = budget.checked_sub(1)?;
            let entry = entry.ok()?;
            let Some(kind) = Look::of_io(entry.file_type()).known().ok()? else {
                continue;
            };
            let fits = is_any_depth
                || entry
                    .file_name()
                    .to_str()
                    .is_none_or(|name| may_fit(part, name));
            if !fits {
                continue;
            }
            let path = entry.path();
            if kind.is_symlink() {
                if !is_any_depth || is_last {
                    pending.push((paths::resolved(&path)?, next + 1, true));
                }
            } else if is_any_depth && kind.is_dir() {
                pending.push((path, next, is_linked));
            } else if !is_any_depth && (is_last && is_linked || !is_last && kind.is_dir()) {
                pending.push((path, next + 1, is_linked));
            }
        }
    }
    Some(found)
}

/// A pattern of file names that a tool expands by itself.
#[derive(Debug)]
pub struct NamePattern {
    /// As the call has it.
    pub text: String,
    /// It, and each alternative in braces, from the root. `None`: it may name anything.
    alternatives: Option<Vec<String>>,
    /// From where relative patterns of rules count.
    views: PathViews,
}

impl NamePattern {
    /// Reads a pattern, relative to `base`.
    pub fn new(text: &str, base: &Path, views: PathViews) -> NamePattern {
        let alternatives = alternatives_of(text, base);
        NamePattern {
            text: text.to_string(),
            alternatives,
            views,
        }
    }

    /// Whether some path may be named by this and by a rule's pattern.
    pub fn may_meet(&self, pattern: &PathPattern) -> bool {
        pattern
            .absolute(&self.views)
            .is_none_or(|patterns| self.may_meet_any(&patterns))
    }

    fn may_meet_any(&self, patterns: &[String]) -> bool {
        let Some(alternatives) = &self.alternatives else {
            return true;
        };
        patterns
            .iter()
            .any(|pattern| alternatives.iter().any(|own| patterns_meet(pattern, own)))
    }

    /// Whether each path that this names is one that a rule's pattern names, as far as the names
    /// tell.
    pub fn is_within(&self, pattern: &PathPattern) -> bool {
        pattern
            .absolute(&self.views)
            .is_some_and(|patterns| self.is_within_any(&patterns))
    }

    fn is_within_any(&self, patterns: &[String]) -> bool {
        let within = |own: &String| {
            let own: Vec<&str> = names(own).collect();
            patterns
                .iter()
                .any(|pattern| contains(&names(pattern).collect::<Vec<_>>(), &own, &mut 1000))
        };
        self.alternatives
            .as_ref()
            .is_some_and(|alternatives| alternatives.iter().all(within))
    }

    /// The paths behind links that it comes across; `None` if that can't be told.
    pub fn through_links(&self) -> Option<Vec<PathBuf>> {
        let mut found = Vec::new();
        for alternative in self.alternatives.as_ref()? {
            found.extend(through_links(&names(alternative).collect::<Vec<_>>())?);
        }
        Some(found)
    }
}

/// The files below a directory that a search reads by a pattern of their names: `grep -r x
/// --include=.env`, a Grep tool's `glob`.
#[derive(Debug)]
pub struct Sought {
    /// As the call has it.
    pub name: String,
    /// Where it looks.
    pub start: PathBuf,
    /// What the pattern may name, each a certain way of counting it.
    patterns: Vec<NamePattern>,
    /// Any name there, if the pattern says nothing of a directory.
    any: Option<NamePattern>,
    /// Where relative patterns of rules count from.
    pub base: Base,
}

/// What a search has to do with what a rule names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sight {
    /// Nothing.
    Apart,
    /// The rule names whatever lies in some directory, and the search says no more of that than
    /// that it is further below.
    Above,
    /// It may read what the rule names.
    Perhaps,
    /// Whatever it reads is what the rule names.
    Within,
}

impl Sought {
    /// Reads a pattern of names that counts from `start`, or from where the search is called.
    pub fn new(name: &str, start: PathBuf, called_in: &Path, base: &Base) -> Sought {
        let pattern =
            |text: &str, from: &Path| NamePattern::new(text, from, paths::lexical(base, base));
        let has_directory = name.trim_start_matches("**/").contains('/');
        let deep = pattern(&format!("**/{name}"), &start);
        let patterns = match has_directory {
            true => vec![pattern(name, &start), pattern(name, called_in), deep],
            false => vec![deep],
        };
        let any = (!has_directory).then(|| pattern("**/\u{1a}", &start));
        Sought {
            name: name.to_string(),
            start,
            patterns,
            any,
            base: base.clone(),
        }
    }

    /// What it has to do with what a rule names that stops it.
    pub fn sees(&self, pattern: &PathPattern) -> Sight {
        let Some(rules) = pattern.anywhere(&paths::lexical(&self.base, &self.base)) else {
            return Sight::Perhaps;
        };
        if self.patterns.iter().any(|own| own.is_within_any(&rules)) {
            return Sight::Within;
        }
        match self.patterns.iter().any(|own| own.may_meet_any(&rules)) {
            true if self
                .any
                .as_ref()
                .is_some_and(|any| any.may_meet_any(&rules)) =>
            {
                Sight::Above
            }
            true => Sight::Perhaps,
            false => Sight::Apart,
        }
    }
}

impl Sought {
    /// Whether all that it reads is what an exception names.
    pub fn is_within(&self, pattern: &PathPattern) -> bool {
        self.patterns.iter().all(|own| own.is_within(pattern))
    }
}

fn names(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|name| !name.is_empty())
}

/// A tool's pattern without braces, `..` and `.`, from the root.
fn alternatives_of(text: &str, base: &Path) -> Option<Vec<String>> {
    // To some, a backslash is a slash. A group may hold slashes.
    if text.contains(['\\', '(', '\0']) || text.len() > 4096 {
        return None;
    }
    // The names of the base are no patterns.
    let base = globset::escape(base.to_str().filter(|base| !base.contains('\\'))?);
    let mut all = Vec::new();
    for text in paths::alternatives(text, paths::Braces::OfPath).ok()? {
        let whole = if text.starts_with('/') {
            text
        } else {
            format!("{base}/{text}")
        };
        let mut parts: Vec<&str> = Vec::new();
        for part in whole.split('/') {
            match part {
                "" | "." => {}
                // What is above a name that isn't known isn't known either.
                ".." if parts.pop().is_some_and(|it| it.contains(WILDCARDS)) => return None,
                ".." => {}
                part => parts.push(part),
            }
        }
        // `docs/` is all that it holds.
        let rest = if whole.ends_with('/') { "/**" } else { "" };
        all.push(format!("/{}{rest}", parts.join("/")));
    }
    Some(all)
}

/// Whether every path of the second pattern is one of the first, as far as that can be told by name
/// and name.
fn contains(outer: &[&str], inner: &[&str], budget: &mut usize) -> bool {
    *budget = budget.saturating_sub(1);
    match (outer, inner) {
        _ if *budget == 0 => false,
        ([], inner) => inner.is_empty(),
        // Behind a slash, it names what is there, not the directory.
        (["**"], inner) => !inner.is_empty(),
        (["**", rest @ ..], inner) => {
            (0..=inner.len()).any(|skip| contains(rest, &inner[skip..], budget))
        }
        ([first, rest @ ..], [part, after @ ..]) => {
            let is_named = first == part || *first == "*" && *part != "**" || {
                !part.contains(WILDCARDS)
                    && !first.contains(['[', '{', '\\'])
                    && may_fit(first, part)
            };
            is_named && contains(rest, after, budget)
        }
        (_, []) => false,
    }
}

/// Whether some path may fit two patterns, both from the root. Letters are the same in upper and
/// lower case: to tools that read many files they often are.
fn patterns_meet(one: &str, other: &str) -> bool {
    let (one, other): (Vec<&str>, Vec<&str>) = (names(one).collect(), names(other).collect());
    let (one_tokens, other_tokens): (Vec<_>, Vec<_>) = (
        one.iter().map(|it| tokens(it)).collect(),
        other.iter().map(|it| tokens(it)).collect(),
    );
    let n_compared = one_tokens.iter().map(Vec::len).sum::<usize>()
        * other_tokens.iter().map(Vec::len).sum::<usize>();
    if n_compared > MAX_COMPARED {
        return true;
    }
    meet(
        &one,
        &other,
        |at| *at == "**",
        |i, j| characters_meet(&one_tokens[i], &other_tokens[j]),
    )
}

#[cfg(test)]
mod tests;
