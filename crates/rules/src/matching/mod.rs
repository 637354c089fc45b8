//! Whether a hook applies to an event: matcher, `Tool(pattern)`, CEL. Takes values and returns
//! values; the one look at the outside is that of [`paths`], which asks the kernel where a path
//! leads.
//!
//! The answer may be *opaque*: neither match nor no match can be established. What follows from it
//! is the engine's decision.

mod acts;
mod at_hand;
pub mod call;
mod caught;
pub mod cel;
mod connections;
pub mod globbed;
pub mod hosts;
pub mod located;
mod matcher;
mod named;
pub mod noted;
pub mod paths;
pub mod patience;
pub mod recent;
mod repository;
pub mod rule;
pub mod shell;
pub mod tools;
pub mod urls;
pub mod when;

use call::{Call, Subject};
use caught::{PANICKED, caught};
use globset::{GlobBuilder, GlobMatcher};
use hookwire_ask::look::Look;
use hookwire_base::event::Event;
use hookwire_base::support::digest;
use hookwire_base::syntax::source::Layer;
use hookwire_base::verdict::LookedInto;
use noted::{Asked, Grounds, Inquirer};
use parking_lot::Mutex;
use paths::Base;
use recent::ReadText;
use serde_json::Value;
use shell::Shell;
use std::borrow::Cow;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, OnceLock};
use tools::{DeclaredTool, Row, Tool, ToolNames};

pub use matcher::last_line;
pub use matcher::{Matcher, MatcherRule};

/// A glob over text that is no path: `*` crosses slashes.
fn text_glob(pattern: &str) -> Result<GlobMatcher, String> {
    let glob = GlobBuilder::new(pattern)
        .literal_separator(false)
        .backslash_escape(true)
        .empty_alternates(true)
        .build();
    glob.map(|glob| glob.compile_matcher())
        .map_err(|error| error.kind().to_string())
}

/// Why it can't be told whether a condition holds. It reads as a sentence without its beginning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Untold {
    /// What the condition is called: `when`, or a rule's text.
    pub condition: Cow<'static, str>,
    /// The reason.
    pub why: Cow<'static, str>,
}

impl Untold {
    /// How a sentence ends that begins with "the hook failed to".
    pub fn failure(&self) -> String {
        format!("tell whether `{}` holds: {}", self.condition, self.why)
    }
}

impl fmt::Display for Untold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "can't {}", self.failure())
    }
}

/// How a list of rules is held against what a call is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// One command or path that matches is enough, and doubt counts: for deny, ask and every
    /// handler that runs.
    Hits,
    /// Every command and path must be named, and certain: for whatever allows.
    Covers,
}

/// Whether a condition holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Truth {
    /// It doesn't.
    No,
    /// What would run isn't shown, for this reason; what is shown doesn't hold.
    Delegates(Untold),
    /// Neither can be established, for this reason.
    Opaque(Untold),
    /// It does.
    Yes,
}

impl Truth {
    /// That it can't be told of a condition, and why.
    pub fn in_doubt(
        condition: impl Into<Cow<'static, str>>,
        why: impl Into<Cow<'static, str>>,
    ) -> Truth {
        Truth::Opaque(Untold {
            condition: condition.into(),
            why: why.into(),
        })
    }

    /// One of both is enough. The other is looked at only if it can change something.
    fn or(self, other: impl FnOnce() -> Truth) -> Truth {
        let strength = |truth: &Truth| match truth {
            Truth::No => 0,
            Truth::Delegates(_) => 1,
            Truth::Opaque(_) => 2,
            Truth::Yes => 3,
        };
        if self == Truth::Yes {
            return self;
        }
        let other = other();
        if strength(&other) > strength(&self) {
            other
        } else {
            self
        }
    }

    /// It takes both. The other is looked at only if it can change something.
    fn and(self, other: impl FnOnce() -> Truth) -> Truth {
        if self == Truth::No {
            return self;
        }
        match (self, other()) {
            (_, Truth::No) => Truth::No,
            (Truth::Yes, other) | (Truth::Delegates(_), other @ Truth::Opaque(_)) => other,
            (this, _) => this,
        }
    }

    /// Whether an exception leaves what it would take away. One that holds only for what isn't
    /// shown takes nothing.
    fn not(self) -> Truth {
        match self {
            Truth::Yes => Truth::No,
            Truth::No | Truth::Delegates(_) => Truth::Yes,
            Truth::Opaque(untold) => Truth::Opaque(untold),
        }
    }
}

/// Which names of a tool a vocabulary's conditions know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolNaming {
    /// The tool's own name only.
    Own,
    /// The tool's own name and that of its [family](tools::TOOLS).
    Canonical,
}

/// Who asks: what a tool is called depends on it.
#[derive(Clone, Copy, Debug)]
pub struct Asker {
    /// The layer of the definition.
    pub layer: Layer,
    /// Whether its vocabulary knows canonical names.
    pub naming: ToolNaming,
    /// Whether its rules about commands are held against a tool that nobody knows, too, if that may
    /// be a shell.
    pub guesses: bool,
    /// Whether its rules about files are held against what a call does by any other means: a
    /// shell's command, a search.
    pub acts: bool,
    /// Whether a pattern without `/` is for files of that name in any directory.
    pub any_depth: bool,
}

/// The facts that conditions are held against: one version of an event with what is derived from
/// it. Each fact that is costly is derived once, when the first condition asks for it.
pub struct Facts {
    /// The event.
    pub event: Arc<Event>,
    base: Base,
    working_directory: Option<PathBuf>,
    names: Arc<ToolNames>,
    known: Option<&'static Tool>,
    families: &'static [&'static str],
    /// The text of a shell call that has nothing else.
    command: Option<Arc<str>>,
    has_scripts: bool,
    scripts: Mutex<Vec<LookedInto>>,
    unread: Option<&'static str>,
    call: OnceLock<Call>,
    declared: OnceLock<Call>,
    as_shell: OnceLock<Option<Call>>,
    taken_for_shell: OnceLock<()>,
    may_hold_patch: OnceLock<bool>,
    /// Without and with what definition files say of the tool.
    file_acts: [OnceLock<(Vec<acts::Act>, Grounds)>; 2],
    connections: [OnceLock<(Vec<connections::Connection>, Grounds)>; 2],
    has_panicked: AtomicBool,
}

impl Facts {
    /// `root` stands in for an event without `cwd`.
    pub fn new(event: Arc<Event>, root: &Path) -> Facts {
        Facts::within(event, &root.into(), Arc::default(), false)
    }

    /// Facts with the `names` of tools that definition files add. `has_scripts`: scripts that a
    /// call runs may be looked into, which happens when a condition asks.
    pub fn within(
        event: Arc<Event>,
        root: &Arc<Path>,
        names: Arc<ToolNames>,
        has_scripts: bool,
    ) -> Facts {
        let base = match event.cwd() {
            Some(cwd) => Base::new(root.join(cwd)),
            None => Base::new(root.clone()),
        };
        Facts::at(base, event, names, has_scripts)
    }

    /// These facts with the names of tools that definition files add.
    pub fn with_names(self, names: &Arc<ToolNames>) -> Facts {
        Facts {
            names: names.clone(),
            ..self
        }
    }

    /// This moment, with nothing known of its call, for this reason: every condition on it is in
    /// doubt.
    pub fn unread(&self, why: &'static str) -> Facts {
        Facts {
            unread: Some(why),
            ..Facts::at(
                self.base.clone(),
                self.event.clone(),
                self.names.clone(),
                false,
            )
        }
    }

    /// Why nothing is known of the call, if that is so.
    pub fn why_unread(&self) -> Option<&'static str> {
        self.unread
    }

    /// A script that a call runs, if it is at hand.
    pub fn script(&self, path: &str) -> Look<String> {
        let is_at_hand = self.has_scripts && patience::allows_slow();
        let text = if is_at_hand {
            paths::script(path, self.runs_in())
        } else {
            Look::Nothing
        };
        if let Look::Found(text) = &text {
            let mut scripts = self.scripts.lock();
            if !scripts.iter().any(|it| it.path == path) {
                scripts.push(LookedInto {
                    path: path.to_string(),
                    sha256: digest::of_bytes(text.as_bytes()),
                });
            }
        }
        text
    }

    /// The scripts that conditions have looked into so far.
    pub fn scripts(&self) -> Vec<LookedInto> {
        self.scripts.lock().clone()
    }

    /// This moment with another value: hooks can't change where it happens.
    pub fn rewritten(&self, event: Arc<Event>) -> Facts {
        Facts::at(
            self.base.clone(),
            event,
            self.names.clone(),
            self.has_scripts,
        )
    }

    fn at(base: Base, event: Arc<Event>, names: Arc<ToolNames>, has_scripts: bool) -> Facts {
        let input = event.tool_input().filter(|_| !event.spec.start);
        let known = event.tool_name().and_then(tools::known);
        let row = event.tool_name().map(|name| Row::found(name, known));
        let families = row.as_ref().map_or(&[][..], |row| row.families_of(input));
        let (call, declared) = (OnceLock::new(), OnceLock::new());
        let shell_input = input.filter(|_| families.contains(&"Bash"));
        let command = shell_input
            .and_then(|input| Call::only_text(row?, input))
            .map(Arc::from);
        // Beside a command alone there is nothing to look for.
        let more = shell_input.filter(|_| command.is_none());
        let may_hold_patch = match (&command, more) {
            (Some(_), _) => false.into(),
            (None, Some(input)) => tools::may_hold_patch(input).into(),
            (None, None) => OnceLock::new(),
        };
        let working_directory = more
            .and_then(tools::working_directory)
            .map(|directory| base.join(directory));
        Facts {
            event,
            base,
            working_directory,
            names,
            known,
            families,
            command,
            has_scripts,
            scripts: Mutex::default(),
            unread: None,
            call,
            declared,
            as_shell: OnceLock::new(),
            taken_for_shell: OnceLock::new(),
            may_hold_patch,
            file_acts: Default::default(),
            connections: Default::default(),
            has_panicked: AtomicBool::new(false),
        }
    }

    /// Asks something about this moment. A panic is caught, and whatever is asked of the same
    /// moment after one can't be told either: it would mostly panic again.
    ///
    /// # Errors
    /// Why it can't be told.
    pub fn ask<T>(
        &self,
        point: &'static str,
        question: impl FnOnce() -> T,
    ) -> Result<T, &'static str> {
        if self.has_panicked.load(Ordering::Relaxed) {
            return Err(PANICKED);
        }
        caught(point, question).ok_or_else(|| {
            self.has_panicked.store(true, Ordering::Relaxed);
            PANICKED
        })
    }

    /// Whether a condition holds for this moment; `condition` is what it is called.
    pub fn holds<'c>(
        &self,
        condition: impl FnOnce() -> &'c str,
        holds: impl FnOnce() -> Truth,
    ) -> Truth {
        let doubt = |why| Truth::in_doubt(condition().to_string(), why);
        self.ask("condition", holds).unwrap_or_else(doubt)
    }

    /// The event's tool.
    pub fn tool(&self) -> Option<&str> {
        self.event.tool_name()
    }

    /// What a definition may call the event's tool, beside its own name: `mcp__SERVER__TOOL`.
    pub fn mcp_name(&self, asker: Asker) -> Option<&str> {
        let name = self.event.original.as_ref()?.tool.as_deref();
        name.filter(|_| asker.naming == ToolNaming::Canonical)
    }

    /// Whether that other name isn't the tool's alone: a plug-in may call its server as a person
    /// calls theirs. So whoever forbids it is heard, and whoever allows it isn't.
    pub fn is_of_plugin(&self) -> bool {
        self.tool().is_some_and(tools::is_of_plugin)
    }

    /// The directory that relative paths are taken against.
    pub fn base(&self) -> &Base {
        &self.base
    }

    /// The directory that a shell call runs in: the event's, if the call names none.
    pub fn runs_in(&self) -> &Path {
        self.working_directory.as_deref().unwrap_or(&self.base)
    }

    /// The canonical names of the event's tool, as far as a definition knows them.
    pub fn families(&self, asker: Asker) -> &'static [&'static str] {
        match (asker.naming, self.declared(asker.layer)) {
            (ToolNaming::Own, _) => &[],
            (ToolNaming::Canonical, Some(declared)) => Row::declared(declared).families(),
            (ToolNaming::Canonical, None) => self.families,
        }
    }

    /// The canonical names of what a patch in a shell text does, as far as a definition knows them.
    pub fn patched(&self, asker: Asker) -> &'static [&'static str] {
        match asker.naming {
            ToolNaming::Canonical if self.holds_patch(self.row(asker.layer)) => {
                tools::PATCH_FAMILIES
            }
            ToolNaming::Canonical | ToolNaming::Own => &[],
        }
    }

    fn holds_patch(&self, row: Row<'_>) -> bool {
        let is_there = || self.event.tool_input().is_some_and(tools::may_hold_patch);
        row.runs_text() && *self.may_hold_patch.get_or_init(is_there)
    }

    /// What the tool call is about, as a definition of a layer reads it.
    pub fn call(&self, layer: Layer) -> &Call {
        static NOT_READ: LazyLock<Call> =
            LazyLock::new(|| Call::unclear("it takes too long".into()));
        let call = if self.declared(layer).is_some() {
            &self.declared
        } else {
            &self.call
        };
        if let Some(call) = call.get() {
            return call;
        }
        // Read before it is kept: on a disk that hangs, this waits for ever, and nobody else must.
        let command = self
            .command
            .clone()
            .filter(|_| std::ptr::eq(call, &self.call) && self.unread.is_none());
        let read = caught("call", || match command {
            Some(command) => Call::of_command(command, self.shell(self.row(layer))),
            None => self.read(self.row(layer)),
        });
        let read = read.unwrap_or_else(|| Call::unclear(PANICKED.into()));
        if patience::was_enough() {
            call.get_or_init(|| read)
        } else {
            &NOT_READ
        }
    }

    /// What an inquirer had left to look at when the same text was in the same call, if nothing of
    /// what that depended on has changed.
    pub fn recall(&self, by: Inquirer) -> Option<Arc<[u32]>> {
        let (text, asked) = self.repeatable(by)?;
        text.notes.recall(&asked)
    }

    /// Finds out something about the call. Where it is nothing but a text, what is `left` to look
    /// at is kept for when that comes again.
    pub fn note<T>(
        &self,
        by: Inquirer,
        find: impl FnOnce() -> T,
        left: impl FnOnce(&T) -> Option<Arc<[u32]>>,
    ) -> T {
        // What was broken off is no answer.
        let left = |found: &T| patience::was_enough().then(|| left(found)).flatten();
        match self.repeatable(by) {
            Some((text, asked)) => text.notes.keep(&asked, find, left),
            None => find(),
        }
    }

    /// The text that the call is, if it says nothing else. Who has time looks again.
    fn repeatable(&self, by: Inquirer) -> Option<(&ReadText, Asked<'_>)> {
        let is_declared = self.declared(Layer::Session).is_some();
        let is_plain = self.command.is_some() && !is_declared && self.unread.is_none();
        if !is_plain || !patience::is_quick() {
            return None;
        }
        let Subject::Shell { script, .. } = self.call(Layer::Session).alternatives.first()? else {
            return None;
        };
        let original = self.event.original.as_ref();
        let names = [
            Some(&*self.event.name),
            original.and_then(|it| it.near.as_deref()),
            self.tool(),
            original.and_then(|it| it.tool.as_deref()),
        ];
        let base = self.runs_in();
        Some((script, Asked { by, names, base }))
    }

    /// The call of a tool that no table and no file knows, read as one of a shell, if its input
    /// looks like that.
    pub fn as_shell(&self, layer: Layer) -> Option<&Call> {
        if let Some(read) = self.as_shell.get() {
            return read.as_ref().filter(|_| self.declared(layer).is_none());
        }
        let read = self.read(self.row_as_shell(layer)?);
        // What isn't read now is read apart, and then all is held again.
        if patience::was_enough() {
            self.as_shell.get_or_init(|| Some(read)).as_ref()
        } else {
            None
        }
    }

    fn row_as_shell(&self, layer: Layer) -> Option<Row<'_>> {
        let is_unknown = self.families.is_empty() && self.declared(layer).is_none();
        let tool = self.tool().filter(|tool| is_unknown && !tool.is_empty())?;
        Row::as_shell(tool, self.event.tool_input()?)
    }

    /// Notes that a rule about commands is in doubt because an unknown tool may be a shell.
    fn note_taken_for_shell(&self) {
        let _ = self.taken_for_shell.set(());
    }

    /// Whether a rule about commands was in doubt because an unknown tool may be a shell.
    pub fn was_taken_for_shell(&self) -> bool {
        self.taken_for_shell.get().is_some()
    }

    /// How a definition of a layer reads the input of the event's tool.
    pub fn row(&self, layer: Layer) -> Row<'_> {
        match self.declared(layer) {
            Some(declared) => Row::declared(declared),
            None => Row::found(self.tool().unwrap_or_default(), self.known),
        }
    }

    /// The shell that reads the commands of the event's tool.
    pub fn shell(&self, row: Row<'_>) -> Shell {
        self.event.shell().map_or(row.shell(), Shell::named)
    }

    /// Every name that some definition may call the tool by.
    pub fn all_names(&self) -> impl Iterator<Item = &str> {
        let declared = self
            .declared(Layer::Session)
            .map_or(&[][..], |it| Row::declared(it).families());
        let patched = match self.tool().is_some() && self.holds_patch(self.row(Layer::Session)) {
            true => tools::PATCH_FAMILIES,
            false => &[],
        };
        let tool = self.tool();
        // Many are called as their family is.
        let others = self
            .families
            .iter()
            .chain(declared)
            .chain(patched)
            .copied()
            .filter(move |name| tool != Some(*name));
        let mcp = self
            .event
            .original
            .as_ref()
            .and_then(|it| it.tool.as_deref());
        let as_shell = self
            .row_as_shell(Layer::Managed)
            .map_or(&[][..], |row| row.families());
        tool.into_iter()
            .chain(others)
            .chain(mcp)
            .chain(as_shell.iter().copied())
    }

    /// The tool call in every way in which some definition may read it.
    pub fn all_calls(&self) -> impl Iterator<Item = &Call> {
        let declared = self
            .declared(Layer::Session)
            .map(|_| self.call(Layer::Session));
        [self.call(Layer::Managed)]
            .into_iter()
            .chain(declared)
            .chain(self.as_shell(Layer::Managed))
    }

    /// The files that the commands of a shell call run, as far as they name them.
    pub fn files_run(&self) -> Vec<PathBuf> {
        // Other calls are paths, which would be looked up.
        if self.all_names().all(|name| name != "Bash") {
            return Vec::new();
        }
        let subjects = self
            .all_calls()
            .flat_map(|call| call.alternatives.iter().chain(&call.others));
        let mut files = Vec::new();
        for subject in subjects {
            if let call::Subject::Shell { script, .. } = subject {
                files.extend(script.files().map(|file| {
                    paths::of_home(file).map_or(self.runs_in().join(file), PathBuf::from)
                }));
            }
        }
        files
    }

    /// The paths that a tool call may name, from the root and not looked up: every text of its
    /// input, and of a shell text every word, from each directory that it may count from. `None`:
    /// there are too many.
    pub fn paths_named(&self) -> Option<Vec<PathBuf>> {
        let Some(input) = self.event.tool_input().filter(|_| self.tool().is_some()) else {
            return Some(Vec::new());
        };
        let mut named = named::Named::new([self.base(), self.runs_in()]);
        tools::directories_of_paths(input).for_each(|directory| named.add_directory(directory));
        named.add_texts(input);
        if self.all_names().any(|name| name == "Bash") {
            for subject in self
                .all_calls()
                .flat_map(|call| call.alternatives.iter().chain(&call.others))
            {
                if let call::Subject::Shell { script, .. } = subject {
                    named.add_script(script);
                }
            }
        }
        named.paths()
    }

    fn read(&self, row: Row<'_>) -> Call {
        if let Some(why) = self.unread {
            return Call::unclear(why.into());
        }
        if self.event.spec.start {
            let unclear = || Call::unclear("the words of the program aren't texts".into());
            let text = self.event.text("/tool/input/command").unwrap_or_default();
            let Some(argv) = self.event.argv() else {
                return unclear();
            };
            let is_step = shell::is_step(&argv, || starters(&self.event));
            return Call::of_program(if is_step { Vec::new() } else { argv }, text.into());
        }
        let tool = self.tool().unwrap_or_default();
        Call::read(
            row,
            tool,
            self.event.tool_input(),
            &self.base,
            self.shell(row),
        )
    }

    /// What a definition file says of the tool, if a definition of this layer sees it.
    fn declared(&self, layer: Layer) -> Option<&DeclaredTool> {
        let declared = if self.names.0.is_empty() {
            None
        } else {
            self.names.get(self.tool()?)
        };
        declared.filter(|it| it.layer <= layer && self.families.is_empty())
    }
}

/// Who starts the program of a PreExec, the nearest first.
fn starters(event: &Event) -> Vec<shell::Starter<'_>> {
    let parents = event
        .at("/exec/parents")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    parents
        .map(|it| shell::Starter {
            argv: it
                .get("argv")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .collect(),
            is_same: it.get("sameProgram") == Some(&Value::Bool(true)),
            file: it.get("realPath").and_then(Value::as_str),
        })
        .collect()
}
