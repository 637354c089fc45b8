//! Operands as paths: whether a word stays within what a pattern names.

use super::directories::{Directories, tidied};
use super::judged::{Held, to_held};
use super::meeting::{self, glob};
use super::names::base_name;
use super::programs::is_system_path;
use super::word::{DIRECTORY, Openness, Word};
use super::{Command, Files, Place, Writes};
use compact_str::{CompactString, format_compact};

/// Whether a text is written as a path.
pub(super) fn is_path(text: &str) -> bool {
    text.contains('/') || text.starts_with(['.', '~'])
}

/// Whether a word is written as a path, as far as it is known.
pub(super) fn is_written_as_path(word: &Word) -> bool {
    word.home || is_path(word.beginning())
}

/// The command with its paths as they are from the directory that patterns count from; nothing if
/// they are that already.
pub(super) fn from_here(command: &Command, place: &Place) -> Option<Command> {
    let here = place.patterns.to_str().filter(|here| here.len() > 1)?;
    let (cwd, home) = (
        place.cwd.to_str()?,
        place.home.and_then(|home| home.to_str()),
    );
    let inside = |path: &str| {
        let rest = path.strip_prefix(here)?;
        if rest.is_empty() {
            Some(".")
        } else {
            rest.strip_prefix('/')
        }
        .map(CompactString::from)
    };
    let from_here = |text: &str, at_home: bool| {
        let whole = match (at_home, text.starts_with("..")) {
            (true, _) => format_compact!("{}{text}", home?),
            (false, true) => tidied(&format!("{cwd}/{text}"))?,
            (false, false) => CompactString::from(text),
        };
        inside(&whole).or_else(|| text.starts_with("..").then_some(whole))
    };
    let moved = |word: &Word| {
        // Nothing sets the variable, or the word would be another.
        if word.openness == Openness::Operand(0) {
            let rest = word
                .text
                .strip_prefix(DIRECTORY)
                .filter(|rest| rest.is_empty() || rest.starts_with('/'))?;
            return Some(Word {
                text: format_compact!(".{rest}"),
                openness: Openness::Constant,
                ..word.clone()
            });
        }
        let known = word.beginning();
        let path = from_here(known, word.home)?;
        let text = format_compact!("{path}{}", &word.text[known.len()..]);
        Some(Word {
            text,
            openness: word.openness.behind(path.len()),
            home: false,
            ..word.clone()
        })
    };
    let words: Vec<_> = command.words.iter().skip(1).map(moved).collect();
    let directories: Vec<_> = command
        .directories
        .all()
        .map(|directory| match directory.strip_prefix('~') {
            Some(rest) => from_here(rest, true),
            None => from_here(directory, false),
        })
        .collect();
    if words.iter().all(Option::is_none) && directories.iter().all(Option::is_none) {
        return None;
    }
    let mut own = command.clone();
    own.words
        .iter_mut()
        .skip(1)
        .zip(words)
        .for_each(|(own, word)| *own = word.unwrap_or_else(|| own.clone()));
    if !directories.is_empty() {
        let all = command.directories.all().zip(directories);
        own.directories = Directories::Some(
            all.map(|(own, moved)| moved.unwrap_or_else(|| own.into()))
                .collect(),
        );
    }
    Some(own)
}

/// A pattern for paths in the form that [`could_be`] takes; none if it is a URL.
pub(super) fn tidied_pattern(pattern: &str) -> Option<String> {
    tidied(pattern)
        .filter(|_| !pattern.contains("://"))
        .map(String::from)
}

/// Whether the word, taken as a path where its command runs, may be what a pattern names, however
/// it is written. What names all in a directory names the directory.
pub(super) fn could_be(pattern: &str, word: &Word, directories: &Directories) -> Held {
    let directory = pattern.strip_suffix("/**");
    let is_known = |text: &str| !text.contains(['$', '…']);
    let (text, doubt) = match word.openness {
        Openness::Constant => (word.text.as_str(), None),
        Openness::Files(_) if is_known(&word.text) => {
            (word.text.as_str(), Some("a pattern of file names"))
        }
        Openness::Files(_) => (word.beginning(), Some("a pattern of file names")),
        Openness::Computed(..) => (word.beginning(), Some("a computed word")),
        Openness::Operand(_) => (word.beginning(), Some("a variable's value")),
    };
    // Who names a file by a variable or a pattern doesn't mean the directory.
    if text.is_empty() && !word.home || pattern.is_empty() && doubt.is_some() {
        return Held::No;
    }
    // From the root, from the home or neither: `*` may be either.
    let root = |path: &str| {
        path.chars()
            .next()
            .filter(|first| matches!(first, '/' | '~'))
    };
    let may_be = |path: &str| pattern.starts_with('*') || root(path) == root(pattern);
    let fits = |path: &str| match word.openness {
        _ if !may_be(path) => false,
        Openness::Constant => glob(pattern, path) || directory == Some(path),
        Openness::Files(_) if text.len() == word.text.len() => {
            meeting::may_be(path, pattern)
                || directory.is_some_and(|directory| meeting::may_be(path, directory))
        }
        _ => {
            let literal = pattern.split('*').next().unwrap_or_default();
            literal.starts_with(path) || pattern.contains('*') && path.starts_with(literal)
        }
    };
    let located = |directory: &str| {
        let whole = match (word.home, text.starts_with(['/', '~'])) {
            (true, _) => format_compact!("~/{text}"),
            (false, false) if !directory.is_empty() => format_compact!("{directory}/{text}"),
            (false, _) => CompactString::from(text),
        };
        // The name that isn't known may go on.
        match whole
            .rsplit_once('/')
            .filter(|_| text.len() < word.text.len())
        {
            None => tidied(&whole),
            Some((above, name)) => match tidied(&format!("{above}/"))?.as_str() {
                "" => Some(name.into()),
                above => Some(format_compact!("{}/{name}", above.trim_end_matches('/'))),
            },
        }
    };
    let rooted = (word.home || text.starts_with(['/', '~'])).then_some("");
    let directories = rooted
        .into_iter()
        .chain(directories.all().filter(|_| rooted.is_none()));
    // A pattern of file names within the rule's own names nothing else: its signs stand where the
    // rule has a `*`.
    let names = |path: &str| match word.openness {
        Openness::Files(_) if text.len() == word.text.len() && glob(pattern, path) => Held::Yes,
        _ => doubt.map_or(Held::Yes, Held::Doubt),
    };
    let held = |directory| {
        located(directory)
            .filter(|path| fits(path))
            .map_or(Held::No, |path| names(&path))
    };
    directories.map(held).max().unwrap_or(Held::No)
}

/// Whether the word, taken as a path where its command runs, is certain to match the pattern, which
/// is taken against the directory where the text begins. `**` is any number of directories.
pub(super) fn is_within(
    pattern: &str,
    word: &Word,
    directories: &Directories,
    place: &Place,
) -> bool {
    let text = match word.openness {
        // In a text that another shell is given, these stand for what only the run tells, in quotes
        // too. `~root` is that user's home.
        _ if word.text.starts_with('~') => return false,
        Openness::Constant | Openness::Files(_) if word.text.contains(['$', '…']) => {
            return false;
        }
        // A pattern of file names stays in the directory that it names.
        Openness::Constant | Openness::Files(_) => word.text.as_str(),
        Openness::Operand(0) => match below_current(word, directories, place) {
            Some(text) => text,
            None => return false,
        },
        Openness::Operand(_) | Openness::Computed(..) => return false,
    };
    let is_within = |directory: &str| is_within_from(pattern, word, text, directory, place);
    !directories.is_unknown() && directories.all().all(is_within)
}

/// Whether the word that names a program is certain to be the file that a pattern names, taken as
/// [`is_within`] takes an operand. Where links lead doesn't count: who names
/// `./node_modules/.bin/eslint` means what that leads to. Only what a wildcard of the pattern has
/// come across is followed.
pub(super) fn is_program(pattern: &str, head: &Word, command: &Command, place: &Place) -> bool {
    let directories = &command.directories;
    // A bare name is looked for on PATH. Of several files, the others are the program's operands.
    if matches!(head.openness, Openness::Files(_)) || !head.text.contains('/') {
        return false;
    }
    let is_among_others = pattern
        .rsplit_once('/')
        .is_some_and(|(directory, _)| directory.contains(['*', '?', '[']));
    if is_among_others {
        return !command.relinked && is_within(pattern, head, directories, place);
    }
    let by_name = Place {
        links: None,
        linked: None,
        ..*place
    };
    // A link that the text has just made may stand on the way.
    let is_as_written = || *directories == Directories::First && !head.text.contains("..");
    is_within(pattern, head, directories, &by_name)
        && (!command.relinked || is_as_written())
        && directories
            .all()
            .all(|directory| goes_up_as_written(head, directory, place))
}

/// Why it can't be told whether a program is the file that a rule names.
const UNKNOWN_PLACE: &str = "the directory that the program is in can't be told";
const UNKNOWN_LINK: &str = "where the program's path leads can't be told";

/// Whether the word that names a program may be the file that a pattern names: as it is written, or
/// where links lead. `by_name`: its last part is as the pattern has it.
pub(super) fn may_be_program(
    pattern: &str,
    head: &Word,
    by_name: bool,
    command: &Command,
    place: &Place,
) -> Held {
    let doubt = |why| if by_name { Held::Doubt(why) } else { Held::No };
    let home = place.home.and_then(|home| home.to_str());
    let (own, at_home) = pattern
        .strip_prefix('~')
        .map_or((pattern, false), |rest| (rest, true));
    let from = place.patterns.to_str();
    let wanted = from.and_then(|from| absolute(own, at_home, from, home));
    let Some(wanted) = wanted else {
        return doubt(UNKNOWN_PLACE);
    };
    let here = head.with_directory();
    let head = here.as_ref().unwrap_or(head);
    if head.openness != Openness::Constant || head.text.contains(['$', '…']) {
        let known = head
            .beginning()
            .rsplit_once('/')
            .map_or("", |(known, _)| known);
        let is_elsewhere = (head.home || known.starts_with('/'))
            && !head.text[known.len()..].contains("..")
            && absolute(known, head.home, "", home)
                .is_some_and(|known| !may_lie_in(&wanted, &known));
        return if is_elsewhere {
            Held::No
        } else {
            doubt(UNKNOWN_PLACE)
        };
    }
    let is_rooted = head.home || head.text.starts_with('/');
    let is_relative = !at_home && !own.starts_with('/');
    let is_written_so = || by_name && tidied(&head.text) == tidied(pattern);
    if command.directories.is_unknown() && !is_rooted {
        return if is_written_so() {
            Held::Yes
        } else {
            doubt(UNKNOWN_PLACE)
        };
    }
    // Whoever runs `../x` may be below the directory that the rule was written for.
    let goes_up = head.text.starts_with("../") && command.directories == Directories::First;
    let behind = head.text.trim_start_matches("../");
    if by_name && is_relative && goes_up && tidied(behind) == tidied(pattern) {
        return Held::Yes;
    }
    let is_plain = fixed(&wanted) == wanted.len();
    let led_pattern = || match place.links.filter(|_| is_plain) {
        Some(links) => links(&joined(&wanted)),
        None => None,
    };
    let from_directory = |directory: &str| {
        let Some(base) = base(directory, place) else {
            return doubt(UNKNOWN_PLACE);
        };
        let path = absolute(&head.text, head.home, &base, home);
        if path.is_some_and(|path| fits(&wanted, &path)) {
            return Held::Yes;
        }
        let Some(links) = place.links else {
            return Held::No;
        };
        match links(&unresolved(head, &base, home)) {
            Some(led) => to_held(fits(&wanted, &parts_of(&led)) || led_pattern() == Some(led)),
            None => Held::Doubt(UNKNOWN_LINK),
        }
    };
    let rooted = is_rooted.then_some("");
    let directories = rooted
        .into_iter()
        .chain(command.directories.all().filter(|_| rooted.is_none()));
    directories.map(from_directory).max().unwrap_or(Held::No)
}

/// Whether a program that is named by a path leads, as a link, to a file of another name, which a
/// pattern names.
pub(super) fn led_by_link(pattern: &str, head: &Word, command: &Command, place: &Place) -> Held {
    let here = head.with_directory();
    let head = here.as_ref().unwrap_or(head);
    let is_open = head.openness != Openness::Constant || head.text.contains(['$', '…']);
    let home = place.home.and_then(|home| home.to_str());
    let Some(links) = place
        .links
        .filter(|_| !is_open && !is_system_path(&head.text))
    else {
        return Held::No;
    };
    let rooted = (head.home || head.text.starts_with('/')).then_some("");
    let directories = rooted
        .into_iter()
        .chain(command.directories.all().filter(|_| rooted.is_none()));
    let led = directories
        .filter_map(|directory| base(directory, place))
        .map(|base| match links(&unresolved(head, &base, home)) {
            Some(led) => to_held(glob(pattern, base_name(&led))),
            None => Held::Doubt(UNKNOWN_LINK),
        });
    led.max().unwrap_or(Held::No)
}

/// A constant word as an absolute path, with its `..` for the links before them.
fn unresolved(word: &Word, base: &str, home: Option<&str>) -> String {
    match (word.home, word.text.starts_with('/')) {
        (true, _) => format!("{}/{}", home.unwrap_or_default(), word.text),
        (false, true) => word.text.to_string(),
        (false, false) => format!("{base}/{}", word.text),
    }
}

fn joined(parts: &[String]) -> String {
    format!("/{}", parts.join("/"))
}

/// Whether a path is what a pattern names.
fn fits(pattern: &[String], path: &[String]) -> bool {
    let [pattern, path] =
        [pattern, path].map(|parts| parts.iter().map(String::as_str).collect::<Vec<_>>());
    matches(&pattern, &path)
}

/// Whether a path that a pattern names may lie in a directory.
fn may_lie_in(pattern: &[String], directory: &[String]) -> bool {
    for (at, part) in directory.iter().enumerate() {
        match pattern.get(at) {
            Some(wanted) if wanted.contains("**") => return true,
            Some(wanted) if glob(wanted, part) => {}
            _ => return false,
        }
    }
    true
}

/// Whether each `..` of a word leads where its name says, from a directory of its command.
fn goes_up_as_written(word: &Word, directory: &str, place: &Place) -> bool {
    let home = place
        .home
        .and_then(|home| home.to_str())
        .filter(|_| word.home);
    match (place.links, base(directory, place)) {
        (Some(links), Some(base)) if word.text.contains("..") => {
            let base = if word.text.starts_with('/') {
                ""
            } else {
                home.unwrap_or(&base)
            };
            goes_up_by_name(&word.text, base, links)
        }
        (_, base) => base.is_some(),
    }
}

fn is_within_from(pattern: &str, word: &Word, text: &str, directory: &str, place: &Place) -> bool {
    let Some(cwd) = place.patterns.to_str() else {
        return false;
    };
    let home = place.home.and_then(|home| home.to_str());
    let Some(base) = base(directory, place) else {
        return false;
    };
    let Some(path) = absolute(text, word.home, &base, home) else {
        return false;
    };
    let (text_of_pattern, at_home) = pattern
        .strip_prefix('~')
        .map_or((pattern, false), |rest| (rest, true));
    let Some(pattern) = absolute(text_of_pattern, at_home, cwd, home) else {
        return false;
    };
    // The names of the directories that they count from are no patterns.
    let n_data = match (at_home, text_of_pattern.starts_with('/')) {
        (true, _) => n_of_directory(&pattern, home.unwrap_or_default()),
        (false, true) => 0,
        (false, false) => n_of_directory(&pattern, cwd),
    };
    // A shell may have put the pattern into a variable, and made names of it before.
    let is_pattern = text.contains(['*', '?', '[']);
    // What a list of patterns stands for isn't told: `!(a)`.
    let is_open = |part: &String| {
        part.contains('(') || part.starts_with('.') && part.contains(['*', '?', '['])
    };
    let is_deep = |part: &String| part.contains("**") && !word.found;
    if is_pattern && path.iter().any(|part| is_open(part) || is_deep(part)) {
        return false;
    }
    let fits = |(pattern, n_data): (&[String], usize), path: &[String]| {
        let [pattern, path] =
            [pattern, path].map(|parts| parts.iter().map(String::as_str).collect::<Vec<_>>());
        path.len() >= n_data
            && path[..n_data] == pattern[..n_data]
            && matches(&pattern[n_data..], &path[n_data..])
    };
    if !fits((&pattern, n_data), &path) {
        return false;
    }
    let Some(links) = place.links else {
        return true;
    };
    // Behind a link, `..` isn't where the link stands.
    let from = match (home.filter(|_| word.home), text.starts_with('/')) {
        (Some(home), _) => home,
        (None, true) => "",
        (None, false) => &base,
    };
    if !goes_up_by_name(text, from, links) {
        return false;
    }
    // Links below the directory that a relative pattern counts from are for the path to follow: who
    // may write there may put one.
    let is_relative = !at_home && !text_of_pattern.starts_with('/');
    let fixed = |parts: &[String], n_data: usize| n_data + fixed(&parts[n_data..]);
    let known = if is_relative {
        parts_of(cwd).len()
    } else {
        fixed(&pattern, n_data)
    };
    let known_of_path = fixed(&path, n_of_directory(&path, from));
    let lead = |parts: &[String], known: usize| lead(parts, known, links);
    let (Some(led), Some(resolved)) = (lead(&pattern, known), lead(&path, known_of_path)) else {
        return false;
    };
    // What links lead to is no pattern either.
    let n_known = (led.len() + known.min(pattern.len())).saturating_sub(pattern.len());
    let pattern = (led.as_slice(), n_known);
    // A directory that the word's own pattern comes across may be a link: `build/*/x`. Where a name
    // has a blank, a shell may have made two of it.
    let stays = || match place.linked {
        Some(linked) if is_pattern && !word.found => {
            let found = linked(&path.iter().map(String::as_str).collect::<Vec<_>>());
            let is_one = |path: &String| {
                fits(pattern, &parts_of(path)) && !path.contains(char::is_whitespace)
            };
            found.is_some_and(|found| found.iter().all(is_one))
        }
        _ => true,
    };
    fits(pattern, &resolved) && stays()
}

/// Whether every file that the redirections of a command write is known and may be written.
pub(super) fn may_write(command: &Command, place: &Place) -> bool {
    let words = match &command.writes {
        Writes::Nothing => return true,
        Writes::Files(words) if !command.relinked && !command.directories.is_unknown() => words,
        Writes::Files(_) | Writes::Anything(_) => return false,
    };
    let may_write_from = |word: &Word, directory: &str| {
        let directory = match (word.home, word.text.starts_with('/')) {
            (true, _) => place
                .home
                .and_then(|home| home.to_str())
                .map(str::to_string),
            (false, true) => Some(String::new()),
            (false, false) => base(directory, place),
        };
        let path = directory.map(|directory| format!("{directory}/{}", word.text));
        path.zip(place.may_write)
            .is_some_and(|(path, may_write)| may_write(&path))
    };
    words.iter().all(|word| {
        let is_known = !word.text.starts_with('~') && !word.text.contains(['$', '…']);
        is_known
            && command
                .directories
                .all()
                .all(|directory| may_write_from(word, directory))
    })
}

/// A directory of a command as a path.
fn base(directory: &str, place: &Place) -> Option<String> {
    let cwd = place.cwd.to_str()?;
    match directory.strip_prefix('~') {
        Some(rest) => Some(format!("{}{rest}", place.home?.to_str()?)),
        None if directory.starts_with('/') => Some(directory.to_string()),
        None if directory.is_empty() => Some(cwd.to_string()),
        None => Some(format!("{cwd}/{directory}")),
    }
}

/// Whether each `..` of a path leads where the path without it and the name before it does: that
/// name is no link.
fn goes_up_by_name(text: &str, base: &str, links: &Files<'_>) -> bool {
    let mut path = base.to_string();
    text.split('/')
        .filter(|part| !matches!(*part, "" | "."))
        .all(|part| {
            if part != ".." {
                path = format!("{path}/{part}");
                return true;
            }
            let (above, name) = path.rsplit_once('/').unwrap_or_default();
            let root = |path: &str| links(if path.is_empty() { "/" } else { path });
            let goes_up = match (root(&path), root(above)) {
                (Some(path), Some(above)) => {
                    path.trim_start_matches('/')
                        == format!("{above}/{name}").trim_start_matches('/')
                }
                _ => false,
            };
            path = above.to_string();
            goes_up
        })
}

/// `$PWD/build` as a path in the directory where the text begins, if it stays there: then it is
/// where the word was expanded, too. Nothing sets the variable, or the word would be another.
/// Without quotes, a shell would make several words of a directory's name with a blank in it, and
/// `$(pwd)` loses the end of a line.
fn below_current<'w>(word: &'w Word, directories: &Directories, place: &Place) -> Option<&'w str> {
    let rest = word
        .text
        .strip_prefix(DIRECTORY)?
        .strip_prefix('/')
        .filter(|_| *directories == Directories::First)?;
    let is_plain = |path: &str| {
        path.chars()
            .all(|c| c.is_alphanumeric() || "._-+@/".contains(c))
    };
    (is_plain(rest) && place.cwd.to_str().is_some_and(is_plain)).then_some(rest)
}

/// How many parts of a path are those of the directory that it counts from.
fn n_of_directory(path: &[String], directory: &str) -> usize {
    path.iter()
        .zip(parts_of(directory))
        .take_while(|(own, of)| *own == of)
        .count()
}

/// How many parts a pattern has before its first wildcard.
fn fixed(parts: &[String]) -> usize {
    parts
        .iter()
        .position(|part| part.contains(['*', '?', '[']))
        .unwrap_or(parts.len())
}

/// The path with its first parts resolved.
fn lead(parts: &[String], known: usize, links: &Files<'_>) -> Option<Vec<String>> {
    let (known, rest) = parts.split_at(known.min(parts.len()));
    let mut resolved = parts_of(&links(&format!("/{}", known.join("/")))?);
    resolved.extend_from_slice(rest);
    Some(resolved)
}

fn parts_of(path: &str) -> Vec<String> {
    path.split('/')
        .filter(|part| !part.is_empty())
        .map(str::to_string)
        .collect()
}

/// The parts of a path without `.` and `..`; nothing if it leads above the root or the home isn't
/// known.
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
                (glob(first, part)
                    && (*first == "*" && *part != "**"
                        || !part.contains(['*', '?'])
                        || first == part))
                    && matches(rest, after)
            }
            [] => false,
        },
    }
}
