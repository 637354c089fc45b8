//! Code that a call holds as a text: `python3 -c`, what a here-document gives to node. Its
//! constants are looked through for places; code that computes a path is a matter for a sandbox.

use super::ground::Ground;
use super::names::has_part;
use std::path::PathBuf;

/// Parts of words by which code takes files away, moves or changes them, or ends processes.
const CHANGING: &str = "\
    rmtree|rmdir|unlink|remove|rename|replace|move|rmSync|rm_r|rm_f|rm(|rm |delete|chmod|chown|truncate|symlink|\
    link|copy|cp |mv |write|'w|\"w|'a'|\"a\"|kill|system|extract|mkdir|dump|File.open|spawn|exec|subprocess|\
    popen";

/// What only code says that speaks to a socket.
const CONNECTING: &str =
    ".sock|AF_UNIX|UNIXSocket|UNIX-|createConnection|connect|unix://|XDG_RUNTIME_DIR|/run/user";

/// Whether a word of a command is code: more than a name.
pub(super) fn is_code(text: &str) -> bool {
    text.contains(['(', '\'', '"', ';']) || text.contains(char::is_whitespace)
}

/// The first guarded place, or directory of some, that code names. `is_near`: any name may be a
/// place's.
pub(super) fn names<'t>(
    text: &'t str,
    ground: &Ground<'_>,
    directories: &[PathBuf],
    is_near: bool,
) -> Option<&'t str> {
    let has = |parts: &str| has_part(text, parts);
    let changes = has(CHANGING);
    let is_path = |c: char| c.is_alphanumeric() || "._-/~*?[]".contains(c);
    if is_near || ground.places.may_be_in(text) {
        if text.contains("hookwire") && (changes || has(CONNECTING)) {
            return Some("hookwire");
        }
        for token in text
            .split(|c| !is_path(c))
            .filter(|it| is_near || ground.places.may_be_in(it))
        {
            let named = ground.spelled(token, true, directories);
            if named
                .iter()
                .any(|it| ground.places.at(it).is_some() || ground.places.is_folder(it))
            {
                return Some(token);
            }
        }
    }
    if !changes {
        return None;
    }
    // Files that are looked for by their names: `rglob('settings*.json')`.
    if has("glob|walk|readdir|listdir|scandir") {
        let is_one = |token: &&str| {
            token
                .split('.')
                .next()
                .is_some_and(|it| it.contains(char::is_alphanumeric))
                && ground.is_name_of_one(token)
        };
        if let Some(token) = text.split(|c| !is_path(c)).find(is_one) {
            return Some(token);
        }
    }
    // A directory that holds a place, as a text of the code's own.
    let takes_away = has("rmtree|rmdir|rmSync|rm_r|rename|move|unlink|delete|remove");
    let is_of_home = has("HOME|home|expanduser");
    let literals = text
        .split(['\'', '"', '`'])
        .filter(|it| !it.is_empty() && it.len() < 256 && !it.contains(char::is_whitespace));
    literals
        .filter(|it| it.starts_with(['/', '~', '.']))
        .find(|literal| {
            let mut named = ground.spelled(literal, false, directories);
            if is_of_home {
                named.extend(ground.spelled(
                    &format!("~/{}", literal.trim_start_matches('/')),
                    false,
                    directories,
                ));
            }
            let is_some = literal.len() > 2 && literal.contains(char::is_alphanumeric);
            named
                .iter()
                .any(|it| ground.places.receives(it) || takes_away && is_some && ground.holds(it))
        })
}

/// The first guarded place that a program's file names, if it changes files at all.
pub(super) fn changes<'t>(text: &'t str, ground: &Ground<'_>) -> Option<&'t str> {
    let is_path = |c: char| c.is_alphanumeric() || "._-/~*".contains(c);
    if !has_part(text, CHANGING) {
        return None;
    }
    let mut tokens = text
        .split(|c| !is_path(c))
        .filter(|it| it.contains('/') && ground.places.may_be_in(it));
    let here = [ground.base.to_path_buf()];
    tokens.find(|token| {
        ground
            .spelled(token, true, &here)
            .iter()
            .any(|it| ground.places.at(it).is_some())
    })
}
