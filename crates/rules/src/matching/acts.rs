//! Rules over files held against what a call does, however it does it: `cat .env` of a shell reads
//! the file as the Read tool would, and so may a search tool or one of an MCP server.

use super::Reading;
use super::call::{self, Subject, Thing};
use super::globbed::{NamePattern, Sight, Sought};
use super::located::Where;
use super::paths::{self, Base, PathPattern, PathViews, Standing};
use super::shell::Located;
use super::shell::{self, Access, Certainty, FileAct, Named, Reach, Shell};
use super::{Asker, Facts, ToolNaming, noted, patience, tools};
use hookwire_ask::look::Look;
use hookwire_base::syntax::source::Layer;
use rustix::io::Errno;
use serde_json::Value;
use std::ffi::OsStr;
use std::fs::ReadDir;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How many acts of one call are looked at. Behind them, whatever a rule may be about is in doubt.
const MOST_ACTS: usize = 512;
/// Of a text with more commands, what these do to files isn't found out in a hurry.
const QUICK_COMMANDS: usize = 64;
/// How much of what a call says is kept with each act, in characters: many acts may be of one long
/// text.
const MOST_CAUSE: usize = 100;
/// How many files a pattern of file names is taken for.
const MOST_FILES: usize = 256;
/// How many entries of directories are looked at for one act.
const MOST_ENTRIES: usize = 4096;
/// How long a walk below a directory may take: what so many entries take on a slow disk.
const LONGEST_WALK: Duration = Duration::from_millis(200);
/// What a walk leaves out: what others made, and made again.
const NOT_WALKED: &[&str] = &[".git", "node_modules", "target"];
/// Why an act may be about more than was found.
const UNLISTED: &str = "a directory can't be listed, or holds more than is looked through";
/// Who asks for all definitions.
const AS_OTHERS: Asker = Asker {
    layer: Layer::Session,
    naming: ToolNaming::Canonical,
    guesses: false,
    acts: true,
    any_depth: false,
};
/// Stands for a name that only the run tells.
const ANY_NAME: &str = "\u{1a}";
const BY_A_SCRIPT: &str = "a script that runs may do it";

/// An act with the paths that it may be about.
#[derive(Debug)]
pub(super) struct Act {
    pub(super) access: Access,
    reach: Reach,
    /// Why it is in doubt whether it happens.
    doubt: Option<&'static str>,
    /// Each path that it is about.
    paths: Vec<PathViews>,
    /// Why it may be about more than its paths.
    and_more: Option<&'static str>,
    /// They are what a pattern of file names stands for.
    are_found: bool,
    /// Patterns of file names that it is about, whichever files these name.
    patterns: Vec<NamePattern>,
    /// Files that a search reads by their names, whichever are there.
    sought: Vec<Sought>,
    /// A script in another language than a shell's that runs: it may do something with what it
    /// names.
    code: Option<Code>,
    /// Paths that only the run tells: each path with a sign for the part that isn't told.
    open: Vec<PathViews>,
    /// The run tells nothing but the name: the directory is known.
    is_open_in_name: bool,
    /// How a path ends that begins in a directory that isn't told.
    /// The directory that relative patterns count from stands behind it.
    tail: Option<(PathBuf, Base)>,
    /// What the call says, or its beginning: a word of the text, or the value of a member.
    pub(super) cause: String,
    /// It is one of a shell's text.
    pub(super) of_shell: bool,
}

/// The text of a script that runs, and where.
#[derive(Debug)]
struct Code {
    text: String,
    here: PathBuf,
    base: Base,
}

/// What an act has to do with a pattern.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Met {
    No,
    /// It may be about what the pattern names.
    Perhaps(&'static str, String),
    /// It is.
    Yes(String),
}

impl Facts {
    /// What the call does to files by other means than a tool for files of the same kind, as a
    /// definition reads it. Nothing where there is no time to look.
    pub(super) fn file_acts(&self, asker: Asker) -> Option<&[Act]> {
        let known = &self.file_acts[usize::from(self.declared(asker.layer).is_some())];
        if let Some((acts, grounds)) = known.get() {
            grounds.note();
            return Some(acts);
        }
        // Of a call that isn't read, the disk isn't asked either: it may be what has hung.
        let found = (self.unread.is_none())
            .then(|| noted::found_by(|| self.look_for_acts(asker)))
            .filter(|_| patience::was_enough())?;
        Some(&known.get_or_init(|| found).0)
    }

    /// What the call does to files, and which hosts it connects to, for people: `reads /p/.env`.
    pub fn acts_told(&self) -> Vec<String> {
        const MOST: usize = 64;
        let acts = self.file_acts(AS_OTHERS).unwrap_or_default().iter();
        let told = acts.flat_map(|act| {
            let perhaps = act
                .doubt
                .map_or(String::new(), |why| format!(" (perhaps: {why})"));
            // Of what may be a path, what is there is one.
            let is_told = |path: &&PathViews| act.doubt.is_none() || path.lexical.exists();
            let paths = act.paths.iter().filter(is_told).chain(&act.open);
            paths.map(move |path| {
                format!(
                    "{} {}{perhaps}",
                    act.does(),
                    path.lexical.display().to_string().replace(ANY_NAME, "…")
                )
            })
        });
        let connections = self.connections_told(AS_OTHERS).into_iter();
        let connections = connections.map(|peer| format!("connects to {peer}"));
        told.chain(connections).take(MOST).collect()
    }

    /// The hosts that the call certainly connects to, as a rule for no others has them.
    pub fn hosts_told(&self) -> Vec<String> {
        let all = self.connections(AS_OTHERS).unwrap_or_default().iter();
        all.filter_map(|it| it.peer.pattern()).collect()
    }

    /// The paths that the call certainly does something with, as a rule for no others has them.
    pub fn paths_told(&self) -> Vec<String> {
        let acts = self
            .file_acts(AS_OTHERS)
            .unwrap_or_default()
            .iter()
            .filter(|act| act.doubt.is_none());
        let paths = acts.flat_map(|act| &act.paths).map(|views| {
            match views.lexical.strip_prefix(self.base()) {
                Ok(path) if path.as_os_str().is_empty() => ".".into(),
                Ok(path) => path.display().to_string(),
                Err(_) => views.lexical.display().to_string(),
            }
        });
        paths.collect()
    }

    /// What the call reads with all that is below, where nothing is looked for that a rule may
    /// name, for people.
    pub(super) fn read_from_above(&self, asker: Asker) -> Option<String> {
        let acts = self
            .file_acts(asker)?
            .iter()
            .filter(|act| act.doubt.is_none() && act.access == Access::Read);
        acts.filter(|act| act.reach != Reach::File)
            .find_map(Act::first_path)
    }

    /// The paths that the call's acts are about; `None` if they may be about others, too.
    pub fn paths_of_acts(&self) -> Option<Vec<&PathViews>> {
        let known = |act: &Act| {
            act.reach == Reach::File
                && act.and_more.is_none()
                && act.patterns.is_empty()
                && act.code.is_none()
        };
        let acts = self
            .file_acts(AS_OTHERS)
            .filter(|acts| acts.iter().all(known))?;
        // Outer definitions don't see what inner ones say of a tool.
        let is_read_alike = self.declared(Layer::Session).is_none();
        is_read_alike.then(|| {
            acts.iter()
                .flat_map(|act| act.paths.iter().chain(&act.open))
                .collect()
        })
    }

    /// The files that a shell call has written, by constant names and as far as they are there, in
    /// the order of the text.
    pub fn files_written(&self) -> Vec<PathBuf> {
        const MOST: usize = 16;
        let asker = AS_OTHERS;
        let mut files: Vec<PathBuf> = Vec::new();
        if !self.families(asker).contains(&"Bash") {
            return files;
        }
        for act in self.file_acts(asker).unwrap_or_default() {
            let is_written = act.of_shell && act.access != Access::Read && act.reach != Reach::All;
            for views in act
                .paths
                .iter()
                .filter(|_| is_written && act.doubt.is_none() && !act.are_found)
            {
                if files.len() < MOST
                    && !files.contains(&views.lexical)
                    && patience::allows_slow()
                    && views.lexical.is_file()
                {
                    files.push(views.lexical.clone());
                }
            }
        }
        files
    }

    fn look_for_acts(&self, asker: Asker) -> Vec<Act> {
        let Some(input) = self.event.tool_input() else {
            return Vec::new();
        };
        let families = self.families(asker);
        let mut acts = Vec::new();
        // What the text of a shell that starts may do is done by what it starts, and each of those
        // is a start of its own.
        let program = self.event.argv().and_then(|argv| argv.first().copied());
        let starts_shell = program.is_some_and(|it| Shell::named(it) != Shell::Other);
        let calls = [Some(self.call(asker.layer)), self.as_shell(asker.layer)];
        for (place, call) in calls
            .into_iter()
            .enumerate()
            .filter_map(|(place, call)| Some((place, call?)))
        {
            for subject in call.alternatives.iter().chain(&call.others) {
                if let Subject::Shell { text, script } = subject {
                    if script.commands().len() > QUICK_COMMANDS && !patience::allows_slow() {
                        return Vec::new();
                    }
                    // Of a longer text all is in doubt already, and its words would take much more
                    // memory than it does.
                    let named = match !script.names_all() && text.len() <= shell::MAX_TEXT {
                        true => shell::named_in_shell_text(text),
                        false => Vec::new(),
                    };
                    let mut found: Vec<&FileAct> =
                        script.file_acts().iter().chain(&named).collect();
                    if starts_shell {
                        found.retain(|act| act.certainty == Certainty::Certain);
                    }
                    found.sort_by_key(|act| act.at.start);
                    let is_guess = place > 0 || !families.contains(&"Bash");
                    acts.extend(
                        found
                            .iter()
                            .take(MOST_ACTS)
                            .enumerate()
                            .take_while(|(n, _)| n % 16 != 15 || patience::is_left())
                            .map(|(_, act)| self.of_shell(act, text, is_guess)),
                    );
                    acts.extend((found.len() > MOST_ACTS).then(Act::too_many));
                    acts.extend(self.by_patches(script, &found, text));
                    if !starts_shell {
                        acts.extend(self.by_scripts(script));
                    }
                }
            }
        }
        let directories: Vec<String> = tools::directories_of_paths(input)
            .map(str::to_string)
            .collect();
        let named = of_tool(families, self.tool().unwrap_or_default(), input);
        for (access, reach, doubt, text) in named.iter().take(MOST_ACTS) {
            let things = call::path_or_url(text, self.base(), &directories).unwrap_or_default();
            // A text that may be taken in several ways is several acts, so that an exception takes
            // away one of them.
            let views = things.into_iter().filter_map(|it| {
                if let Thing::Path(views) = it {
                    Some(views)
                } else {
                    None
                }
            });
            let act = |views| Act {
                paths: vec![views],
                doubt: *doubt,
                ..Act::new(*access, *reach, text)
            };
            acts.extend(views.map(act));
        }
        acts.extend((named.len() > MOST_ACTS).then(Act::too_many));
        if searches(families, self.tool().unwrap_or_default()) {
            acts.extend(self.sought_by_tool(input));
        }
        acts
    }

    /// What is done to the files that a patch names which a command reads, if it is at hand.
    fn by_patches(&self, script: &shell::Script, found: &[&FileAct], text: &str) -> Vec<Act> {
        const MOST: usize = 4;
        if !script.takes_patch() {
            return Vec::new();
        }
        let read = found
            .iter()
            .filter(|it| it.access == Access::Read && it.certainty == Certainty::Certain);
        let files = read.filter_map(|it| match (it.named(), it.directories()) {
            (Named::Path(path), Some(directories)) => Some(
                directories
                    .map(|from| at(&path, &at(from, self.runs_in())))
                    .collect::<Vec<_>>(),
            ),
            _ => None,
        });
        let mut acts = Vec::new();
        for file in files.flatten().take(MOST) {
            match file
                .to_str()
                .map_or(Look::Nothing, |file| self.script(file))
            {
                Look::Found(patch) => {
                    let patched = script.acts_of_patch(&patch).into_iter().take(MOST_ACTS);
                    acts.extend(patched.map(|act| self.of_shell(&act, text, false)));
                }
                Look::Nothing => {}
                Look::Failed(_) => acts.push(Act::of_any_file(
                    "a patch that it applies can't be looked into",
                )),
            }
        }
        acts.truncate(MOST_ACTS);
        acts
    }

    /// What the scripts may do that a text runs, as far as they are at hand.
    fn by_scripts(&self, script: &shell::Script) -> Vec<Act> {
        const MOST: usize = 16;
        let (mut acts, mut left) = (Vec::new(), MOST);
        for path in script.scripts_at_hand() {
            match self.script(path) {
                Look::Found(_) if left == 0 => {
                    acts.push(Act::too_many());
                    break;
                }
                Look::Found(text) => {
                    left -= 1;
                    acts.extend(self.by_script(path, text));
                }
                Look::Nothing => {}
                Look::Failed(_) => acts.push(Act::of_any_file(
                    "a script that it runs can't be looked into",
                )),
            }
        }
        acts
    }

    /// What a script may do: each is in doubt, because nobody knows whether it comes to that.
    fn by_script(&self, path: &str, text: String) -> Vec<Act> {
        let by_name = |text: String| {
            let code = Code {
                text,
                here: self.runs_in().to_path_buf(),
                base: self.base().clone(),
            };
            Act {
                code: Some(code),
                doubt: Some(BY_A_SCRIPT),
                of_shell: true,
                ..Act::new(Access::Either, Reach::File, path)
            }
        };
        let Some(shell) = shell_of_script(path, &text) else {
            return vec![by_name(text)];
        };
        let script = shell::read(&text, shell);
        let found = script.file_acts();
        let acts = found
            .iter()
            .take(MOST_ACTS)
            .map(|act| self.of_shell(act, &text, false));
        let mut acts: Vec<Act> = acts
            .map(|act| Act {
                doubt: Some(BY_A_SCRIPT),
                cause: path.into(),
                ..act
            })
            .collect();
        if !script.names_all() || found.len() > MOST_ACTS {
            acts.push(by_name(text));
        }
        acts
    }

    /// What a tool that searches reads by the patterns of file names that it is given beside its
    /// place.
    fn sought_by_tool(&self, input: &Value) -> Vec<Act> {
        let (patterns, places) = tools::sought(input);
        let base = self.base();
        let starts = if places.is_empty() {
            vec![base.to_path_buf()]
        } else {
            places.iter().map(|it| at(it, base)).collect()
        };
        let said = patterns
            .into_iter()
            .filter(|it| it.contains(|c: char| is_said(c) && c != '/'))
            .take(MOST_ACTS);
        let act = |pattern: &str| {
            let sought = starts
                .iter()
                .map(|start| Sought::new(pattern, start.clone(), base, base))
                .collect();
            Act {
                sought,
                ..Act::new(Access::Read, Reach::Sought, pattern)
            }
        };
        said.map(act).collect()
    }

    fn of_shell(&self, act: &FileAct, text: &str, is_guess: bool) -> Act {
        let (here, base) = (self.runs_in(), self.base());
        let directories: Option<Vec<PathBuf>> = act
            .directories()
            .map(|it| it.map(|from| at(from, here)).collect());
        let is_lost = directories.is_none();
        let directories = directories.unwrap_or_else(|| vec![here.to_path_buf()]);
        // What is about no part of the text is about all of it.
        let cause = text
            .get(act.at.clone())
            .filter(|cause| !cause.is_empty())
            .unwrap_or(text);
        let mut own = Act::new(act.access, act.reach, cause);
        own.of_shell = true;
        own.doubt = match act.certainty {
            _ if is_guess => Some("the tool isn't known and may be a shell"),
            Certainty::Doubt(why) => Some(why),
            Certainty::Certain => is_lost.then_some("the directory isn't told"),
        };
        if act.reach == Reach::Any {
            own.and_more = own.doubt;
            return own;
        }
        let views = |path: &Path| paths::views(&path.to_string_lossy(), base);
        let named = act.named();
        // Who says `*` means all that is there, as who reads a directory from above; `se*` says
        // more.
        own.are_found = match &named {
            Named::Path(_) => false,
            Named::Pattern(pattern) => !pattern
                .split('/')
                .any(|it| it.contains(is_wild) && it.contains(is_said)),
            Named::Found(pattern) => !pattern
                .rsplit('/')
                .next()
                .is_some_and(|name| name.contains(is_said)),
            Named::Open { .. } | Named::Nothing => true,
        };
        let tail = match &named {
            Named::Open { before, after } if before.is_empty() => {
                after.strip_prefix('/').map(tail_of)
            }
            Named::Path(path) if act.is_by_code() && path.contains('/') => Some(tail_of(path)),
            _ => None,
        };
        own.tail = tail.map(|tail| (tail, base.clone()));
        match named {
            Named::Path(path) => {
                own.paths = directories
                    .iter()
                    .map(|from| views(&at(&path, from)))
                    .collect()
            }
            // In the directory, wherever a link of its name leads.
            Named::Pattern(pattern) if act.reach == Reach::Begun => {
                let (above, name) = pattern.rsplit_once('/').unwrap_or((".", &pattern));
                let above = if above.is_empty() { "/" } else { above };
                for from in &directories {
                    let views = views(&at(above, from));
                    let resolved = [&views.resolved, &views.tidied].into_iter().flatten();
                    let made = [&views.lexical].into_iter().chain(resolved);
                    own.patterns.extend(
                        made.map(|it| NamePattern::new(name, it, paths::lexical(base, base))),
                    );
                }
            }
            Named::Pattern(pattern) => {
                // The directory's own name is no pattern.
                let pattern = paths::of_home(&pattern).unwrap_or(pattern);
                let from =
                    |from: &PathBuf| NamePattern::new(&pattern, from, paths::lexical(base, base));
                own.patterns = directories.iter().map(from).collect();
                let mut found = Found::default();
                let makes = act.access != Access::Read;
                directories
                    .iter()
                    .for_each(|from| found.expand(from, &pattern, makes));
                own.and_more = found.and_more;
                own.paths = found.paths.iter().map(|it| views(it)).collect();
                // What fits no file stays what it is, and `[id]` doesn't fit `[id]`.
                if own.paths.is_empty() && pattern.contains('[') {
                    own.paths = directories
                        .iter()
                        .map(|from| views(&from.join(&pattern)))
                        .collect();
                }
            }
            Named::Found(pattern) if act.reach == Reach::Sought => {
                let (start, name) = pattern.split_once("/**/").unwrap_or((".", &pattern));
                own.sought = directories
                    .iter()
                    .map(|from| Sought::new(name, at(start, from), from, base))
                    .collect();
            }
            Named::Found(pattern) => {
                let (start, name) = pattern.split_once("/**/").unwrap_or((".", &pattern));
                for from in &directories {
                    let (found, is_seen) = below(&at(start, from), &fits(name));
                    own.paths.extend(found.iter().map(|it| views(it)));
                    own.and_more = own.and_more.or((!is_seen).then_some(UNLISTED));
                }
            }
            Named::Open { before, after } => {
                own.is_open_in_name = before.contains('/') && !after.contains('/');
                let name = format!("{before}{ANY_NAME}{after}");
                let all = directories.iter().map(|from| at(&name, from));
                own.open = all.map(|it| paths::lexical(&it, base)).collect();
            }
            Named::Nothing => {}
        }
        own
    }
}

/// The shell that reads a script, if one does: as its first line says, or its name.
fn shell_of_script(path: &str, text: &str) -> Option<Shell> {
    const OTHERS: &[&str] = &[
        ".py", ".js", ".mjs", ".cjs", ".ts", ".rb", ".pl", ".php", ".lua", ".awk", ".sed", ".ps1",
        ".fish",
    ];
    let Some(line) = text.strip_prefix("#!") else {
        return (!OTHERS.iter().any(|end| path.ends_with(end))).then_some(Shell::Unknown);
    };
    let mut words = line.lines().next().unwrap_or_default().split_whitespace();
    let program = words.find(|it| !it.starts_with('-') && !it.ends_with("/env"))?;
    match Shell::named(program) {
        Shell::Other => None,
        shell => Some(shell),
    }
}

/// A path from a directory; `~` is the home.
fn at(path: &str, from: &Path) -> PathBuf {
    match paths::of_home(path) {
        Some(path) => path.into(),
        None => from.join(path),
    }
}

/// The names that a path ends with.
fn tail_of(path: &str) -> PathBuf {
    let is_name = |part: &&str| !matches!(*part, "" | "." | ".." | "~");
    path.split('/').skip_while(|part| !is_name(part)).collect()
}

/// A sign of a pattern of file names.
fn is_wild(c: char) -> bool {
    matches!(c, '*' | '?' | '[')
}

/// A character that says something of a name.
fn is_said(c: char) -> bool {
    !is_wild(c) && !matches!(c, '.' | ']')
}

/// What a tool for files does, by the canonical names of its family.
pub(super) fn access_of(families: &[&str]) -> Option<Access> {
    match families.first().copied() {
        Some("Read" | "Grep") => Some(Access::Read),
        Some("Write" | "Edit") => Some(Access::Write),
        _ => None,
    }
}

/// Whether a tool looks for a text in files.
fn searches(families: &[&str], tool: &str) -> bool {
    families.contains(&"Grep")
        || families.is_empty() && by_verb(tool) == Some(Some((Access::Read, Reach::Below)))
}

/// What a tool that is no shell does to the files that its input names.
fn of_tool<'v>(
    families: &[&str],
    tool: &str,
    input: &'v Value,
) -> Vec<(Access, Reach, Option<&'static str>, &'v str)> {
    let (access, reach, doubt) = match (access_of(families), by_verb(tool)) {
        (Some(access), _) if families.contains(&"Grep") => (access, Reach::Below, None),
        (Some(access), _) => (access, Reach::File, None),
        (None, _) if !families.is_empty() => return Vec::new(),
        (None, Some(None)) => return Vec::new(),
        (None, Some(Some((access, reach)))) => (access, reach, None),
        (None, None) => (
            Access::Either,
            Reach::File,
            Some("it isn't known what the tool does with the file"),
        ),
    };
    let mut found = Vec::new();
    tools::walk(input, false, &mut |name, path, is_path| {
        let is_way = !is_path && matches!(name, "from" | "to") && path.contains('/');
        // What a tool for files is given beside its paths is contents.
        let is_url =
            || families.is_empty() && !path.contains('\n') && tools::file_of_url(path).is_some();
        if !is_path && !is_way && !is_url() {
            return;
        }
        let access = match name.to_ascii_lowercase().as_str() {
            "source" | "src" | "from" => Access::Either,
            "destination" | "dest" | "dst" | "target" | "to" if access == Access::Either => {
                Access::Write
            }
            _ => access,
        };
        found.push((access, reach, doubt, path));
    });
    found
}

/// What a tool does to files, by the words of its name: `mcp__files__read_text_file`. One that
/// lists shows that a file is there, and nothing of what it holds.
fn by_verb(tool: &str) -> Option<Option<(Access, Reach)>> {
    const READING: &[&str] = &[
        "read", "get", "view", "cat", "open", "load", "show", "head", "tail",
    ];
    const SEARCHING: &[&str] = &["search", "grep", "find"];
    const LOOKING: &[&str] = &["list", "ls", "tree", "stat", "info", "exists"];
    const WRITING: &[&str] = &[
        "write", "edit", "create", "append", "save", "update", "insert", "replace", "patch", "put",
        "set", "make",
    ];
    const REMOVING: &[&str] = &["delete", "remove", "rm", "unlink"];
    const MOVING: &[&str] = &["move", "rename", "mv", "copy", "cp"];
    let name = tool.rsplit("__").next().unwrap_or(tool);
    let mut spaced = String::with_capacity(name.len() + 8);
    for c in name.chars() {
        if c.is_ascii_uppercase() {
            spaced.push(' ');
        }
        spaced.push(c.to_ascii_lowercase());
    }
    let has = |verbs: &[&str]| {
        spaced
            .split(|c: char| !c.is_alphanumeric())
            .any(|word| verbs.contains(&word))
    };
    Some(Some(match () {
        () if has(MOVING) => (Access::Either, Reach::All),
        () if has(REMOVING) => (Access::Write, Reach::All),
        () if has(WRITING) => (Access::Write, Reach::File),
        () if has(READING) => (Access::Read, Reach::File),
        () if has(SEARCHING) => (Access::Read, Reach::Below),
        () if has(LOOKING) => return Some(None),
        () => return None,
    }))
}

impl Act {
    fn new(access: Access, reach: Reach, cause: &str) -> Act {
        Act {
            access,
            reach,
            doubt: None,
            paths: Vec::new(),
            and_more: None,
            are_found: false,
            patterns: Vec::new(),
            sought: Vec::new(),
            code: None,
            open: Vec::new(),
            is_open_in_name: false,
            tail: None,
            cause: cause.chars().take(MOST_CAUSE).collect(),
            of_shell: false,
        }
    }

    /// What isn't looked at any more.
    fn too_many() -> Act {
        Act::of_any_file("the call names too many files")
    }

    /// What may be done to any file, for this reason.
    fn of_any_file(why: &'static str) -> Act {
        Act {
            and_more: Some(why),
            of_shell: true,
            ..Act::new(Access::Either, Reach::File, "…")
        }
    }

    /// Whether all that it is about is named by a pattern that takes it away.
    pub(super) fn is_within(&self, pattern: &PathPattern) -> bool {
        let is_file =
            |views: &PathViews| self.reach == Reach::File || !paths::is_directory(&views.lexical);
        if !self.patterns.is_empty() {
            return matches!(self.reach, Reach::File | Reach::Begun)
                && self.patterns.iter().all(|it| it.is_within(pattern));
        }
        if !self.sought.is_empty() {
            return self.sought.iter().all(|it| it.is_within(pattern));
        }
        let is_told =
            self.and_more.is_none() && self.open.is_empty() && self.paths.iter().all(is_file);
        is_told && !self.paths.is_empty() && self.paths.iter().all(|it| pattern.matches_all(it))
    }

    /// What it does with a path, for people.
    pub(super) fn told(&self, path: &str) -> String {
        format!("it {} {path}", self.does())
    }

    fn does(&self) -> &'static str {
        match (self.access, self.reach) {
            (Access::Read, _) => "reads",
            (Access::Write, Reach::All) => "changes or removes",
            (Access::Write, _) => "writes",
            (Access::Either, _) => "reads or writes",
        }
    }

    /// Its first path, for people.
    pub(super) fn first_path(&self) -> Option<String> {
        self.paths
            .first()
            .map(|views| format!("`{}`", views.lexical.display()))
    }

    fn met(&self, path: String) -> Met {
        match self.doubt {
            Some(why) => Met::Perhaps(why, path),
            None => Met::Yes(path),
        }
    }

    /// Whether what it is about is where a rule is to hold.
    pub(super) fn is_located(&self, located: &Where, facts: &Facts) -> Located {
        let paths = self.paths.iter().map(|views| &*views.lexical);
        located.has_files(facts, paths, Reading::Hits)
    }

    /// What it has to do with what a pattern names, for a rule that is about what is read only or
    /// not.
    pub(super) fn meets(&self, pattern: &PathPattern, only_reads: bool) -> Met {
        // Who reads a whole directory from above means none of its files.
        let reach = if only_reads && self.reach == Reach::All {
            Reach::Below
        } else {
            self.reach
        };
        let shown = |views: &PathViews| format!("`{}`", views.lexical.display());
        for views in &self.paths {
            let told = match reach {
                _ if pattern.matches_any(views) => Some(shown(views)),
                Reach::File | Reach::Sought | Reach::Begun | Reach::Any => None,
                Reach::Below | Reach::Perhaps => {
                    let is_within = !self.are_found && pattern.stands(views) == Standing::Within;
                    (is_within && (reach == Reach::Below || paths::is_directory(&views.lexical)))
                        .then(|| shown(views))
                }
                Reach::All => match pattern.stands(views) {
                    Standing::Within | Standing::Above => Some(shown(views)),
                    Standing::Near => {
                        let base = Base::new(&*views.lexical);
                        let is_named = |path: &Path| {
                            pattern.matches_any(&paths::views(&path.to_string_lossy(), &base))
                        };
                        let (found, is_seen) = below(&views.lexical, &is_named);
                        if found.is_empty() && !is_seen {
                            return Met::Perhaps(UNLISTED, shown(views));
                        }
                        found.first().map(|path| format!("`{}`", path.display()))
                    }
                    Standing::Apart => None,
                },
            };
            if let Some(told) = told {
                return self.met(told);
            }
        }
        if let Some(views) = self.patterns.iter().find(|it| it.is_within(pattern)) {
            return self.met(format!("`{}`", views.text));
        }
        if reach == Reach::Begun
            && let Some(made) = self.patterns.iter().find(|it| it.may_meet(pattern))
        {
            return Met::Perhaps(
                "files are made whose names begin so",
                format!("`{}`", made.text),
            );
        }
        let sights = self.sought.iter().map(|it| (it.sees(pattern), it));
        match sights.max_by_key(|(sight, _)| *sight) {
            Some((Sight::Within, it)) => return self.met(format!("`{}`", it.name)),
            Some((Sight::Perhaps, it)) => {
                return Met::Perhaps(
                    "a pattern of file names may name it",
                    format!("`{}`", it.name),
                );
            }
            // A name without a wildcard is one that may be looked for.
            Some((Sight::Above, it)) if !it.name.contains(is_wild) && !it.name.contains('{') => {
                let is_named = |path: &Path| {
                    path.file_name().is_some_and(|name| *name == *it.name)
                        && pattern.matches_any(&paths::views(&path.to_string_lossy(), &it.base))
                };
                let (found, is_seen) = below(&it.start, &is_named);
                if let Some(path) = found.first() {
                    return self.met(format!("`{}`", path.display()));
                }
                if !is_seen {
                    return Met::Perhaps(UNLISTED, format!("`{}`", it.name));
                }
            }
            Some((Sight::Above | Sight::Apart, _)) | None => {}
        }
        if let Some(views) = self.open.iter().find(|it| pattern.matches_any(it)) {
            if self.is_open_in_name {
                return self.met(shown(views).replace(ANY_NAME, "…"));
            }
            return Met::Perhaps(
                "the run tells which file it is",
                shown(views).replace(ANY_NAME, "…"),
            );
        }
        if self
            .tail
            .as_ref()
            .is_some_and(|(tail, base)| ends_in(pattern, tail, base))
        {
            return Met::Perhaps(
                "the run tells which file it is",
                format!("`{}`", self.cause),
            );
        }
        self.and_more.map_or(Met::No, |why| {
            Met::Perhaps(why, format!("`{}`", self.cause))
        })
    }
}

/// Whether a path that ends so may be what a pattern names: where the path goes on with the names
/// of the pattern's own directories, from some directory above. Below the last of these, it might
/// be any path.
fn ends_in(pattern: &PathPattern, tail: &Path, base: &Base) -> bool {
    let Some(first) = tail.components().next() else {
        return false;
    };
    let here = paths::lexical(base, base);
    let all = pattern.absolute(&here).unwrap_or_default();
    all.iter().any(|whole| {
        let fixed = whole.split(['*', '?', '[', '{']).next().unwrap_or_default();
        let named: Vec<_> = Path::new(fixed).components().collect();
        (1..named.len()).filter(|at| named[*at] == first).any(|at| {
            let path = named[..at].iter().collect::<PathBuf>().join(tail);
            pattern.matches_any(&paths::lexical(&path, base))
        })
    })
}

impl Act {
    /// What a script may do with what it names, as far as one of the patterns may be about it. Most
    /// name nothing of that, and aren't taken apart.
    pub(super) fn named_in_code(&self, patterns: &[&PathPattern]) -> Vec<Act> {
        let Some(code) = &self.code else {
            return Vec::new();
        };
        let environment = shell::ENVIRONMENT_FILE;
        let views = || paths::lexical(Path::new(environment), &code.base);
        if patterns.iter().any(|it| it.matches_any(&views())) && shell::is_read_in_code(&code.text)
        {
            return vec![Act {
                paths: vec![views()],
                doubt: self.doubt,
                of_shell: self.of_shell,
                ..Act::new(Access::Read, Reach::File, &self.cause)
            }];
        }
        let literals: Vec<&str> = patterns.iter().map(|it| it.literal()).collect();
        let is_about = |text: &str| literals.iter().any(|literal| text.contains(literal));
        if !is_about(&code.text) {
            return Vec::new();
        }
        let named = code
            .text
            .lines()
            .filter(|line| is_about(line))
            .flat_map(shell::named_in_text);
        let acts = named
            .filter(|act| is_about(&act.word.text))
            .take(MOST_ACTS)
            .filter_map(|act| match act.named() {
                Named::Path(path) => {
                    let views = paths::views(&at(&path, &code.here).to_string_lossy(), &code.base);
                    let own = Act::new(act.access, act.reach, &self.cause);
                    Some(Act {
                        paths: vec![views],
                        doubt: self.doubt,
                        of_shell: self.of_shell,
                        ..own
                    })
                }
                _ => None,
            });
        acts.collect()
    }
}

/// The files that a pattern of file names stands for.
struct Found {
    paths: Vec<PathBuf>,
    left: usize,
    /// Why it may stand for others, too.
    and_more: Option<&'static str>,
}

impl Default for Found {
    fn default() -> Found {
        Found {
            paths: Vec::new(),
            left: MOST_ENTRIES,
            and_more: None,
        }
    }
}

impl Found {
    /// `makes`: what is named behind the pattern may be made in what fits it.
    fn expand(&mut self, from: &Path, pattern: &str, makes: bool) {
        // How much there is to list isn't known.
        if !patience::allows_slow() {
            return;
        }
        let mut ways = vec![from.to_path_buf()];
        for part in Path::new(pattern).iter() {
            let name = part.to_string_lossy();
            if !name.contains(['*', '?', '[']) {
                ways.iter_mut().for_each(|way| way.push(part));
                continue;
            }
            let (mut next, fits) = (Vec::new(), fits(&name));
            for way in &ways {
                let Ok(entries) = listed(way) else {
                    self.and_more = Some(UNLISTED);
                    continue;
                };
                for entry in entries.into_iter().flatten() {
                    if self.left == 0 || next.len() >= MOST_FILES {
                        self.and_more = Some("a pattern of file names stands for too many files");
                        break;
                    }
                    self.left -= 1;
                    let Ok(entry) = entry else {
                        self.and_more = Some(UNLISTED);
                        break;
                    };
                    let entry = entry.path();
                    let is_hidden = entry
                        .file_name()
                        .is_some_and(|it| it.as_encoded_bytes().starts_with(b"."));
                    if (!is_hidden || name.starts_with('.')) && fits(&entry) {
                        next.push(entry);
                    }
                }
            }
            ways = next;
        }
        let is_made = makes
            && !pattern
                .rsplit('/')
                .next()
                .is_some_and(|name| name.contains(is_wild));
        let is_there = |path: &PathBuf| {
            let path = path.parent().filter(|_| is_made).unwrap_or(path);
            Look::of_io(path.symlink_metadata()).or_closed().map(drop) != Look::Nothing
        };
        self.paths.extend(ways.into_iter().filter(is_there));
    }
}

/// Whether a path's last name fits a pattern of file names, or its last names one with slashes,
/// whose `*` stands for slashes, too.
fn fits(pattern: &str) -> impl Fn(&Path) -> bool {
    let is_of_path = pattern.contains('/');
    let glob = if is_of_path {
        super::text_glob(&format!("*/{pattern}"))
    } else {
        super::text_glob(pattern)
    }
    .ok();
    // What isn't understood fits.
    move |path| {
        let name = if is_of_path {
            path.to_str()
        } else {
            path.file_name().and_then(OsStr::to_str)
        };
        name.zip(glob.as_ref())
            .is_none_or(|(name, glob)| glob.is_match(name))
    }
}

/// What a directory holds, if it is there and may be listed: what this process may not list, a
/// shell may not list either.
fn listed(directory: &Path) -> Result<Option<ReadDir>, Errno> {
    Look::of_io(std::fs::read_dir(directory))
        .or_closed()
        .known()
}

/// The files and directories below a directory that are asked for, as far as a walk of bounded
/// length comes; and whether that is all that there is.
fn below(directory: &Path, is_asked: &dyn Fn(&Path) -> bool) -> (Vec<PathBuf>, bool) {
    if !patience::allows_slow() {
        return (Vec::new(), true);
    }
    let (start, mut is_seen) = (Instant::now(), true);
    let (mut left, mut found, mut pending) =
        (MOST_ENTRIES, Vec::new(), vec![directory.to_path_buf()]);
    while let Some(directory) = pending.pop() {
        let entries = listed(&directory);
        is_seen &= entries.is_ok();
        for entry in entries.ok().flatten().into_iter().flatten() {
            let Ok(entry) = entry else {
                is_seen = false;
                break;
            };
            let is_over = left == 0 || start.elapsed() > LONGEST_WALK || found.len() >= MOST_FILES;
            if is_over || !patience::is_left() {
                return (found, false);
            }
            left -= 1;
            let path = entry.path();
            let is_left_out = NOT_WALKED.iter().any(|name| entry.file_name() == *name);
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) && !is_left_out {
                pending.push(path.clone());
            }
            if is_asked(&path) {
                found.push(path);
            }
        }
    }
    (found, is_seen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hookwire_base::event::Event;
    use serde_json::json;
    use std::sync::Arc;

    /// However long a text is, what is kept of its acts is bounded, and each of them says where it
    /// is.
    #[test]
    fn acts_of_a_long_text_are_short() {
        let pattern = PathPattern::new("**/.env").unwrap();
        let long = "ls;".repeat(shell::MAX_TEXT / 2);
        let within = format!("eval \"$x\"; cat {}", "a/b ".repeat(2 * MOST_ACTS));
        for (command, n_most, why) in [
            (&long, 1, "the text is too long"),
            (&within, MOST_ACTS + 1, ""),
        ] {
            let call = json!({"event": "PreToolUse", "tool": {"name": "Bash", "input": {"command": command}}});
            let facts = Facts::new(Arc::new(Event::from_json(call).unwrap()), Path::new("/p"));
            let acts = facts.file_acts(AS_OTHERS).unwrap();
            assert!((1..=n_most).contains(&acts.len()), "{}", acts.len());
            assert!(
                acts.iter()
                    .all(|it| (1..=4 * MOST_CAUSE).contains(&it.cause.len())),
                "{why}"
            );
            let met = acts.iter().map(|it| it.meets(&pattern, true)).max();
            assert!(
                matches!(met, Some(Met::Perhaps(told, path)) if told.contains(why) && path != "``"),
                "{why}"
            );
        }
    }

    /// What is named may be among what isn't looked at.
    #[test]
    fn a_directory_that_holds_too_much_is_doubt() {
        let pattern = PathPattern::new("**/.env").unwrap();
        let root = tempfile::tempdir().unwrap();
        for (n_files, is_doubt) in [(2, false), (MOST_ENTRIES + 1, true)] {
            let directory = root.path().join(n_files.to_string());
            std::fs::create_dir(&directory).unwrap();
            for n in 0..n_files {
                std::fs::File::create(directory.join(n.to_string())).unwrap();
            }
            let command = format!("rm -r {}", directory.display());
            let call = json!({"event": "PreToolUse", "tool": {"name": "Bash", "input": {"command": command}}});
            let facts = Facts::new(Arc::new(Event::from_json(call).unwrap()), root.path());
            let acts = facts.file_acts(AS_OTHERS).unwrap();
            let met = acts.iter().map(|it| it.meets(&pattern, false)).max();
            assert_eq!(
                matches!(met, Some(Met::Perhaps(UNLISTED, _))),
                is_doubt,
                "{met:?}"
            );
        }
    }
}
