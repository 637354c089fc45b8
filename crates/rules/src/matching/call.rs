//! A tool call as rules see it: the commands, paths or URLs that its main argument holds.

use super::globbed::{NamePattern, WILDCARDS};
use super::paths::{self, Base, PathViews};
use super::patience;
use super::recent::{self, ReadText};
use super::shell::{Script, Shell};
use super::tools::{self, ArgumentKind, Expands, Found, Row};
use super::urls;
use serde_json::Value;
use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;
use url::Url;

/// What a call is about. Where several arguments could be the main one and differ, it is about one
/// of several things; where the argument is a list of parts or commands, about all of them.
#[derive(Debug)]
pub struct Call {
    /// Mostly one; never empty.
    pub alternatives: Vec<Subject>,
    /// They are parts of one list, and the tool does something with each.
    pub does_all: bool,
    /// What else an unknown tool may do something with: one that a rule names is enough.
    pub others: Vec<Subject>,
    /// A search that looks at another place than its pattern says: for Grep, outside of the event's
    /// directory.
    pub is_elsewhere: bool,
    /// The paths that a file tool or an unknown one may do something with beside its main argument:
    /// to allow, a rule must name them, too.
    pub beside: Vec<Subject>,
    /// The patches in a shell text. Agents read them out of it and apply them themselves.
    pub patch: Vec<Subject>,
}

/// What the main argument holds.
#[derive(Debug)]
pub enum Subject {
    /// A shell text.
    Shell {
        /// The text.
        text: Arc<str>,
        /// What it would run.
        script: Arc<ReadText>,
    },
    /// Paths, URLs or a text, each of which is judged.
    Items(Vec<Item>),
    /// There is no main argument, or it can't be read; why, for people.
    Unclear(String),
}

/// One thing that a call is about.
#[derive(Debug)]
pub struct Item {
    /// What is done to it, where a call does several things: the family's canonical name.
    pub family: Option<&'static str>,
    /// The thing.
    pub value: Thing,
}

/// A value that a pattern is held against.
#[derive(Debug)]
pub enum Thing {
    /// A path.
    Path(PathViews),
    /// The paths that a pattern of the tool's own names.
    Names(Names),
    /// A URL.
    Url(Url),
    /// A text.
    Text(String),
}

/// What a tool reads that expands patterns of file names by itself.
#[derive(Debug)]
pub struct Names {
    /// The pattern.
    pub pattern: NamePattern,
    /// The paths behind links that it comes across; `None` if that can't be told.
    pub linked: Option<Vec<PathViews>>,
}

const UNKNOWN_HEADER: &str = "the patch has a header that isn't known";

/// A text up to this length is read at once.
const QUICK_TEXT: usize = 4096;

impl Call {
    /// A call of which nothing is known, for this reason.
    pub fn unclear(why: String) -> Call {
        Call::about(Subject::Unclear(why))
    }

    /// Reads the input of a call. `shell`: what reads its commands. Where there's no [patience] for
    /// it, the call is unclear, and must not be kept.
    pub fn read(
        row: Row<'_>,
        tool: &str,
        input: Option<&Value>,
        base: &Base,
        shell: Shell,
    ) -> Call {
        match input.and_then(|input| Call::only_text(row, input)) {
            Some(text) => Call::of_command(text.into(), shell),
            None => Call::read_members(row, tool, input, base, shell),
        }
    }

    /// The text of a shell's call that is given nothing else, if it is read at once.
    pub fn only_text<'v>(row: Row<'_>, input: &'v Value) -> Option<&'v str> {
        row.only_command(input)
            .filter(|text| text.len() <= QUICK_TEXT)
    }

    /// The start of a program, taken for a shell's call of one command, which is that text. Without
    /// words it is one of none.
    pub fn of_program(argv: Vec<&str>, text: Arc<str>) -> Call {
        let script = Arc::new(Script::of_program(argv, 0..text.len()).into());
        Call::about(Subject::Shell { text, script })
    }

    /// The call of a shell that is given nothing but a text.
    pub fn of_command(text: Arc<str>, shell: Shell) -> Call {
        let script = recent::read_shared(&text, shell);
        Call::about(Subject::Shell { text, script })
    }

    fn about(subject: Subject) -> Call {
        Call {
            alternatives: vec![subject],
            does_all: false,
            others: Vec::new(),
            is_elsewhere: false,
            beside: Vec::new(),
            patch: Vec::new(),
        }
    }

    fn read_members(
        row: Row<'_>,
        tool: &str,
        input: Option<&Value>,
        base: &Base,
        shell: Shell,
    ) -> Call {
        let unclear = |why: String| Subject::Unclear(why);
        let nothing = || {
            unclear(format!(
                "the input of `{tool}` has no main argument that is a text"
            ))
        };
        let found = input.map_or(Found::Nothing, |input| row.find(input));
        let alternatives: Vec<Subject> = match found {
            Found::Nothing => vec![nothing()],
            Found::Patch(patches) => {
                let subject = |files: Vec<_>| match files.is_empty() {
                    true => unclear(format!("the patch of `{tool}` names no file")),
                    false => items_of_patch(&files, base, &[]).map_or_else(nothing, Subject::Items),
                };
                let readings = tools::readings_of_patches(&patches)
                    .into_iter()
                    .map(subject);
                let unknown = patches
                    .iter()
                    .filter_map(|patch| tools::unknown_headers(patch).next());
                readings
                    .chain(unknown.map(|_| unclear(UNKNOWN_HEADER.into())))
                    .collect()
            }
            Found::Values(kind, values) => {
                let input = input.unwrap_or(&Value::Null);
                let subjects = |value| {
                    subjects(kind, value, row, input, base, shell)
                        .unwrap_or_else(|| vec![nothing()])
                };
                values.into_iter().flat_map(subjects).collect()
            }
        };
        let others = input.into_iter().flat_map(|input| {
            let subjects = |(kind, value)| {
                subjects(kind, value, row, input, base, shell).unwrap_or_else(|| vec![nothing()])
            };
            row.others(input)
                .into_iter()
                .flat_map(subjects)
                .collect::<Vec<_>>()
        });
        let is_elsewhere = input.is_some_and(|input| is_elsewhere(row, input, base));
        let may_hold_patch = |input: &&Value| row.runs_text() && tools::may_hold_patch(input);
        let patch = input.filter(may_hold_patch).map_or_else(Vec::new, |input| {
            let directory = tools::working_directory(input).unwrap_or(".");
            alternatives
                .iter()
                .flat_map(|it| patch_of_shell(it, base, directory))
                .collect()
        });
        let beside = input.map_or(Some(Vec::new()), |input| row.beside(input));
        let items = |texts: Vec<&str>| {
            let directories: Vec<String> = input
                .into_iter()
                .flat_map(tools::directories_of_paths)
                .map(str::to_string)
                .collect();
            let things = texts
                .iter()
                .map(|it| path_or_url(it, base, &directories))
                .collect::<Option<Vec<_>>>();
            let items = |things: Vec<Vec<Thing>>| {
                things
                    .into_iter()
                    .flatten()
                    .map(|it| Item::new(None, it))
                    .collect()
            };
            things.map_or_else(nothing, |things| Subject::Items(items(things)))
        };
        let beside = match beside {
            None => vec![unclear(format!(
                "the input of `{tool}` names too many paths"
            ))],
            Some(texts) if texts.is_empty() => Vec::new(),
            Some(texts) => vec![items(texts)],
        };
        let does_all = input.is_some_and(|input| row.has_parts_only(input));
        Call {
            alternatives,
            does_all,
            others: others.collect(),
            is_elsewhere,
            beside,
            patch,
        }
    }

    /// Every program that the call could run, by the names that
    /// [`CommandRule::program`](super::shell::CommandRule::program) has; `None` if it may be any.
    pub fn programs(&self) -> Option<Vec<&str>> {
        if let ([Subject::Shell { script, .. }], []) = (&*self.alternatives, &*self.others) {
            return script.programs();
        }
        let mut all = Vec::new();
        for subject in self.alternatives.iter().chain(&self.others) {
            match subject {
                Subject::Shell { script, .. } => all.extend(script.programs()?),
                Subject::Items(_) => {}
                Subject::Unclear(_) => return None,
            }
        }
        Some(all)
    }

    /// Every path that the call is about; `None` if there may be more.
    pub fn paths(&self) -> Option<Vec<&PathViews>> {
        let mut all = Vec::new();
        for subject in self
            .alternatives
            .iter()
            .chain(&self.others)
            .chain(&self.beside)
            .chain(&self.patch)
        {
            match subject {
                Subject::Shell { .. } => {}
                Subject::Items(items) => {
                    for item in items {
                        match &item.value {
                            Thing::Path(views) => all.push(views),
                            Thing::Names(_) => return None,
                            Thing::Url(_) | Thing::Text(_) => {}
                        }
                    }
                }
                Subject::Unclear(_) => return None,
            }
        }
        Some(all)
    }
}

impl Item {
    fn new(family: Option<&'static str>, value: Thing) -> Item {
        Item { family, value }
    }
}

/// A path with where it leads on the disk, if there is time to look.
pub(super) fn path(path: &str, base: &Base) -> Option<Thing> {
    let views = paths::views(path, base);
    patience::was_enough().then_some(Thing::Path(views))
}

/// What a path or a URL stands for: a `file:` URL may be taken for the file that it names, `~` for
/// the home directory, and blanks at the ends for none, too. It may count from other `directories`
/// as well.
pub fn path_or_url(text: &str, base: &Base, directories: &[String]) -> Option<Vec<Thing>> {
    let trimmed = text.trim_matches(tools::is_blank);
    let file = match tools::file_of_url(trimmed) {
        Some(file) => Some(file?),
        None => paths::of_home(trimmed),
    };
    // Without blanks there is nothing left of some names, and a tool takes them as they are.
    let trimmed = Some(trimmed).filter(|it| *it != text && !it.is_empty());
    let mut things = Vec::new();
    for name in file.as_deref().into_iter().chain(trimmed).chain([text]) {
        things.push(path(name, base)?);
        for directory in directories.iter().filter(|_| !name.starts_with('/')) {
            things.push(path(&format!("{directory}/{name}"), base)?);
        }
    }
    Some(things)
}

/// The paths that a text names as a pattern, if a tool takes it for one.
fn names(text: &str, expands: Expands, base: &Base, directories: &[String]) -> Option<Vec<Thing>> {
    let is_pattern = expands == Expands::All || text.contains(WILDCARDS) || text.contains('(');
    if !is_pattern || !patience::allows_slow() {
        return None;
    }
    // A directory may stand for all that it holds.
    let is_directory = expands == Expands::All && base.join(text).is_dir();
    let text = if is_directory && !text.ends_with('/') {
        &format!("{text}/")
    } else {
        text
    };
    let bases = directories
        .iter()
        .filter(|_| !text.starts_with('/'))
        .map(|it| base.join(it))
        .chain([base.to_path_buf()]);
    let names = |from: PathBuf| {
        let pattern = NamePattern::new(text, &from, paths::views(text, base));
        let linked = pattern.through_links();
        let linked = linked.map(|it| {
            it.iter()
                .map(|path| paths::views(&path.to_string_lossy(), base))
                .collect()
        });
        Thing::Names(Names { pattern, linked })
    };
    Some(bases.map(names).collect())
}

/// The files of a patch, each with the family that its change belongs to.
fn items_of_patch(
    files: &[(&'static str, &str)],
    base: &Base,
    directories: &[String],
) -> Option<Vec<Item>> {
    let mut items = Vec::new();
    for (family, file) in files {
        items.extend(
            path_or_url(file, base, directories)?
                .into_iter()
                .map(|it| Item::new(Some(family), it)),
        );
    }
    Some(items)
}

/// What the patches in a shell text are about, and what can't be told of them. `directory`: where
/// the text runs.
fn patch_of_shell(subject: &Subject, base: &Base, directory: &str) -> Vec<Subject> {
    const MAX: usize = 256;
    let Subject::Shell { text, script } = subject else {
        return Vec::new();
    };
    let bare = text.replace(['\'', '"', '\\'], "");
    if !tools::PATCH_PROGRAMS.iter().any(|name| bare.contains(name)) {
        return Vec::new();
    }
    // The text shows here-documents as they are, words stand for the rest.
    let words = script
        .commands()
        .iter()
        .flat_map(|command| &command.words)
        .filter(|it| it.text.contains("*** "));
    let sources = words.map(|word| (&*word.text, word.is_constant()));
    // What can't be read may write a patch in other words.
    let (mut files, mut is_open) = (Vec::new(), !script.names_all() && text.contains("*** "));
    for (source, is_constant) in sources.chain([(&**text, tools::quotes_documents(text))]) {
        for (family, file) in tools::readings_of_patches(&[source]).into_iter().flatten() {
            is_open |= !is_constant && file.contains(['$', '`', '…']) || files.len() >= MAX;
            if files.len() < MAX && !files.contains(&(family, file)) {
                files.push((family, file));
            }
        }
    }
    let has_unknown = tools::unknown_headers(text).next().is_some();
    if files.is_empty() && !is_open && !has_unknown {
        return Vec::new();
    }
    let mut directories = vec![directory.to_string()];
    for command in script.commands() {
        let Some((program, operands)) = command.words.split_first() else {
            continue;
        };
        if !matches!(program.as_constant(), Some("cd" | "pushd")) {
            continue;
        }
        for operand in operands {
            let to = operand
                .as_constant_path()
                .filter(|_| directories.len() < 16);
            let to = to.map(|to| paths::of_home(&to).unwrap_or_else(|| to.to_string()));
            let from = |from: &String, to: &String| {
                if to.starts_with('/') {
                    to.clone()
                } else {
                    format!("{from}/{to}")
                }
            };
            match (to, directories.last()) {
                // The one before may be that of a subshell.
                (Some(to), Some(last)) => {
                    directories.extend([from(&directory.to_string(), &to), from(last, &to)])
                }
                _ => is_open |= files.iter().any(|(_, file)| !file.starts_with('/')),
            }
        }
    }
    let unclear =
        || Subject::Unclear("the patch in the command names a file that is computed".into());
    let items = items_of_patch(&files, base, &directories).map_or_else(unclear, Subject::Items);
    let unknown = || Subject::Unclear(UNKNOWN_HEADER.into());
    [items]
        .into_iter()
        .chain(is_open.then(unclear))
        .chain(has_unknown.then(unknown))
        .collect()
}

/// Whether a call happens at another place than its main argument tells, or in an environment of
/// its own.
fn is_elsewhere(row: Row<'_>, input: &Value, base: &Base) -> bool {
    let mut directories = tools::working_directories(input, row.is_shell());
    let is_moved = match row.is_shell() {
        // One is where the text runs.
        true => directories
            .next()
            .is_some_and(|first| directories.any(|other| other != first)),
        false => directories
            .any(|directory| paths::normalise(&base.join(directory)) != paths::normalise(base)),
    };
    if is_moved || row.types() || row.is_shell() && tools::has_environment(input) {
        return true;
    }
    let Some(search) = row.search(input) else {
        return false;
    };
    let is_here = |value: &Value| {
        let Some(places) = tools::texts(value) else {
            return false;
        };
        let is_here = |place: &str| paths::views(place, base).is_in_base(search.is_text);
        places.into_iter().all(is_here)
    };
    search.leaves || !search.places.into_iter().all(is_here)
}

/// Whether reading a value takes time, because it is long.
fn is_long(value: &Value) -> bool {
    let length = match value {
        Value::String(text) => text.len(),
        Value::Array(words) => words.iter().filter_map(Value::as_str).map(str::len).sum(),
        _ => 0,
    };
    length > QUICK_TEXT
}

/// What a value of a call's input may stand for; mostly one thing.
fn subjects(
    kind: ArgumentKind,
    value: &Value,
    row: Row<'_>,
    input: &Value,
    base: &Base,
    shell: Shell,
) -> Option<Vec<Subject>> {
    if is_long(value) && !patience::allows_slow() {
        return None;
    }
    let items = |values: Vec<Thing>| {
        Subject::Items(values.into_iter().map(|it| Item::new(None, it)).collect())
    };
    Some(vec![match kind {
        ArgumentKind::Shell => {
            let texts = tools::shell_texts(value, input)?;
            if texts.iter().map(|it| it.len()).sum::<usize>() > QUICK_TEXT
                && !patience::allows_slow()
            {
                return None;
            }
            let read = |text: Cow<'_, str>| {
                // The name of a key in Copilot's tool.
                let text: Arc<str> = if row.types() {
                    text.replace("{enter}", "\n").into()
                } else {
                    text.into()
                };
                let script = recent::read_shared(&text, shell);
                Subject::Shell { text, script }
            };
            return Some(texts.into_iter().map(read).collect());
        }
        ArgumentKind::Path => {
            let directories: Vec<String> = tools::directories_of_paths(input)
                .map(str::to_string)
                .collect();
            let things = |text| path_or_url(text, base, &directories);
            let texts = tools::texts(value)?;
            let listed: Vec<String> = texts
                .iter()
                .flat_map(|text| tools::paths_of_json(text))
                .collect();
            let all = texts
                .iter()
                .copied()
                .chain(listed.iter().map(String::as_str));
            let mut found = all.map(things).collect::<Option<Vec<_>>>()?;
            let expands = row.expands(value, input);
            found.push(
                texts
                    .into_iter()
                    .filter_map(|text| names(text, expands?, base, &directories))
                    .flatten()
                    .collect(),
            );
            items(found.into_iter().flatten().collect())
        }
        ArgumentKind::Url => {
            let texts = tools::texts(value)?;
            let found: Option<Vec<Vec<Url>>> = texts.into_iter().map(urls::urls).collect();
            match found {
                Some(found) => items(found.into_iter().flatten().map(Thing::Url).collect()),
                None => Subject::Unclear("no URL can be read from the argument".into()),
            }
        }
        ArgumentKind::Text => items(vec![Thing::Text(value.as_str()?.to_string())]),
    }])
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_plain_call_of_a_shell_is_read_as_any_other() {
        for tool in [
            "Bash",
            "run_shell_command",
            "run_in_terminal",
            "write_bash",
            "execute_command",
        ] {
            let row = Row::of(tool);
            let base = &Base::new(std::path::Path::new("/p"));
            let read = |read: fn(Row<'_>, &str, Option<&Value>, &Base, Shell) -> Call,
                        input: &Value| {
                format!("{:?}", read(row, tool, Some(input), base, Shell::Bash))
            };
            for command in ["git push; ls > x", "", " ", "x{enter}y"] {
                let mut input = json!({ "command": command });
                assert_eq!(
                    row.only_command(&input).is_some(),
                    tool != "write_bash",
                    "{tool}"
                );
                assert_eq!(
                    read(Call::read, &input),
                    read(Call::read_members, &input),
                    "{tool} {input}"
                );
                for remark in tools::REMARKS {
                    for value in [
                        json!("cd /x"),
                        json!(3),
                        json!(true),
                        json!(["a"]),
                        json!({"a": "b"}),
                        json!(null),
                    ] {
                        input[remark] = value;
                        assert_eq!(
                            read(Call::read, &input),
                            read(Call::read_members, &input),
                            "{tool} {input}"
                        );
                    }
                }
            }
        }
    }
}
