//! What is known of coding agents: one file each, which `install`, `uninstall`, `doctor`, `import`,
//! self-defense, the dialects, the tables of the book and the tests read. How an agent's events and
//! replies are translated is its dialect's, which has the same name.
//!
//! A new agent is one new file and a row in `FILES`. Its dialect is made of its [`Speech`], unless
//! it has one of its own.

mod managed;
mod speech;

use globset::Glob;
use hookwire_base::event::Original;
use hookwire_base::support::{places, shell_word};
use hookwire_base::syntax::node::Node;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::LazyLock;

pub use managed::{Left, Managed};
pub use speech::{Mcp, Moment, Pair, Reply, Say, Speech};

/// The name of each agent, its file, and the text of its plug-in, which has the command in the line
/// that begins with `const COMMAND = `.
const FILES: &[(&str, &str, &str)] = &[
    ("claude-code", include_str!("claude_code.toml"), ""),
    ("codex", include_str!("codex.toml"), ""),
    ("gemini", include_str!("gemini.toml"), ""),
    ("qwen", include_str!("qwen.toml"), ""),
    ("copilot", include_str!("copilot.toml"), ""),
    ("cline", include_str!("cline.toml"), ""),
    (
        "opencode",
        include_str!("opencode.toml"),
        concat!(include_str!("plugin.js"), include_str!("opencode.js")),
    ),
    ("cursor", include_str!("cursor.toml"), ""),
    ("antigravity", include_str!("antigravity.toml"), ""),
    ("kiro", include_str!("kiro.toml"), ""),
    ("droid", include_str!("droid.toml"), ""),
    ("grok", include_str!("grok.toml"), ""),
    ("kimi", include_str!("kimi.toml"), ""),
    (
        "amp",
        include_str!("amp.toml"),
        concat!(include_str!("plugin.js"), include_str!("amp.js")),
    ),
    (
        "pi",
        include_str!("pi.toml"),
        concat!(include_str!("plugin.js"), include_str!("pi.js")),
    ),
    ("windsurf", include_str!("windsurf.toml"), ""),
];

/// The agents whose dialects are made of their facts.
pub const DESCRIBED: [&str; 9] = [
    "cursor",
    "antigravity",
    "kiro",
    "droid",
    "grok",
    "kimi",
    "amp",
    "pi",
    "windsurf",
];

/// Variables with which a program's loader puts code into an agent, or into a hook's shell.
pub const LOADING: [&str; 3] = ["LD_PRELOAD", "LD_AUDIT", "NODE_OPTIONS"];

/// Every coding agent.
pub static AGENTS: LazyLock<Vec<Agent>> = LazyLock::new(|| {
    let read = |(name, text, plugin): &(&'static str, &str, &'static str)| {
        Some(Agent {
            name,
            plugin,
            ..toml::from_str(text).ok()?
        })
    };
    FILES.iter().filter_map(read).collect()
});

/// A coding agent. Paths of the user's are below the home.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Agent {
    /// The name that it has in commands and files, and that its dialect has.
    #[serde(skip)]
    pub name: &'static str,
    /// The text of its plug-in.
    #[serde(skip)]
    pub plugin: &'static str,
    /// Its name for people.
    pub title: String,
    /// What people start.
    pub program: String,
    /// The version that is known.
    pub version: String,
    /// The npm package with which hookwire was tried.
    pub package: Option<String>,
    /// What hookwire goes by, where the agent wasn't tried.
    pub by_description: Option<String>,
    /// How it says which settings it passes over.
    pub says_invalid: Option<SaysInvalid>,
    /// How it is told of a hook.
    pub form: Form,
    /// Where hooks stand in a project.
    pub project: Place,
    /// Where they stand for all projects of a user, if not at the same paths.
    user: Option<Place>,
    /// The variables that move what is below the user's home: each with the part of a path that it
    /// stands for. Of several that are set the first counts.
    pub moved_by: Vec<(String, String)>,
    /// Where its plug-ins have hooks, if such hooks are like its own.
    pub plugins: Option<Plugins>,
    /// The agents whose hooks it runs, too, by their names.
    pub also_reads: Vec<String>,
    /// What a tool call does when the program of a hook is missing or killed, and nothing else is
    /// said.
    pub gone: String,
    /// What comes of it for whoever hasn't got hookwire that a team's entry names it, as it was
    /// seen; empty where nobody has looked.
    pub missing: String,
    /// What the person has to know or do after `install`.
    pub then: String,
    /// It runs a project's hooks only in a repository of git.
    pub only_in_git: bool,
    /// The directory whose settings are the project's to it, by the one it is started in.
    pub looks_in: LooksIn,
    /// Where it keeps which folders it trusts, if it passes over the hooks of others.
    pub trust: Option<Trust>,
    /// The arguments with which it answers JSON-RPC over stdin and stdout, if `hooks/list` says
    /// there which hooks it runs.
    pub lists_hooks: Vec<String>,
    /// The events that `install` doesn't register, by its own names, and why.
    pub unasked: Vec<(String, String)>,
    /// Families of tools, each with the names that no other agent has for a tool of the family.
    pub tools: Vec<(String, String)>,
    /// Its name of the tool `send` of an MCP server `pay`, and whether rules know that as
    /// `mcp__pay__send`.
    pub mcp: (String, String),
    /// The files with its MCP servers, below a project's root or the user's home.
    pub servers: Vec<String>,
    /// Its folders, wherever they stand.
    pub folders: Vec<String>,
    /// What decides which hooks it asks, as patterns of paths: at any depth, from the home or from
    /// the root.
    pub settings: Vec<String>,
    /// Where it writes for itself.
    pub writes: Vec<String>,
    /// The hosts of its maker that it connects to. The model may be elsewhere.
    pub hosts: Vec<String>,
    /// The members of its settings that switch hooks off, with `.` between the names on the way,
    /// and the value that does. Of a list it is a part of a name in it; after `!` it is the path
    /// of what isn't loaded if a pattern in the list that begins with `!` or `-` fits it.
    pub switches: Vec<(String, Value)>,
    /// Those of a machine's settings that switch the hooks of a person or a project off.
    pub system_switches: Vec<(String, Value)>,
    /// How it is started without hooks, as rules have it.
    pub without_hooks: Vec<String>,
    /// How it gets more that runs inside it or beside it, as rules have it: plug-ins, extensions,
    /// servers. Some of those stand before its hooks.
    pub extends: Vec<String>,
    /// Variables that do so, or say what else is in its settings.
    pub variables: Vec<String>,
    /// When it puts to nobody what a hook answers with a question.
    pub asks_nobody: Vec<AsksNobody>,
    /// Members that its payloads have and those of agents whose hooks it also runs haven't.
    pub known_by: Vec<String>,
    /// Members that its payloads never have and those of agents whose hooks it also runs mostly do.
    pub lacks: Vec<String>,
    /// How it speaks, if it has no dialect of its own.
    pub speaks: Option<Speech>,
    /// Where it writes down the calls that it makes, below the user's home: files, of which a `*`
    /// stands for any characters of one name.
    pub transcripts: Vec<String>,
    /// Its slash commands whose files may have a shell in them, if it asks no hook before that runs.
    pub slash_commands: Option<SlashCommands>,
    /// The member of its settings with the command whose output it shows below, if it has one.
    pub status_line: Option<String>,
    /// Tools before which it asks no hook at all.
    pub silent_tools: Vec<String>,
    /// It asks no hook about what its sub-agents do.
    pub silent_subagents: bool,
    /// How it runs one prompt against a model on this machine, if it can.
    pub headless: Option<Headless>,
    /// Its settings of a machine.
    pub managed: Managed,
}

/// How an agent runs one prompt. In the texts, `${url}` is the model's address and `${prompt}` the
/// prompt. Nothing of it has the agent trust what the person hasn't let it trust.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Headless {
    /// The arguments of a start before, which tells it of the model.
    pub before: Vec<String>,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// The arguments of each of its modes in which it runs commands without a person, the most
    /// cautious first. Without them there is one.
    pub modes: Vec<Vec<String>>,
    /// Its variables.
    pub environment: Vec<(String, String)>,
    /// Its files below the home, each with the members that it has beside those that are there.
    pub files: Vec<(String, String)>,
}

/// How an agent says which settings it passes over because something in them is wrong.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SaysInvalid {
    /// The arguments. No model is asked.
    pub arguments: Vec<String>,
    /// The line after which they are told, one a line after `- `, until one that isn't.
    pub heading: String,
}

/// The directory whose settings are a project's to an agent.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum LooksIn {
    /// Nobody has looked.
    #[default]
    Unknown,
    /// The one that it is started in, and no other.
    Here,
    /// The root of the work tree.
    WorkTree,
    /// The root of the main work tree, if it is started in another one of the repository.
    MainWorkTree,
}

/// Where an agent keeps which folders a person has let it trust. What counts is the nearest one
/// upwards that is there.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Trust {
    /// The file, below the user's home.
    pub file: String,
    /// The member that has a member for each folder; empty if the file is that.
    pub at: String,
    /// The member of a folder that says it; empty if its value does.
    pub said_by: String,
    /// The values that say yes.
    pub yes: Vec<Value>,
    /// The value that says yes of the folder above.
    pub above: Option<Value>,
    /// The user's settings, below the home.
    pub settings: String,
    /// The members of those, each with the value with which it trusts every folder.
    pub unless: Vec<(String, Value)>,
    /// The member of those without which it trusts every folder, if there is such.
    pub only_with: Option<String>,
    /// Variables, each with the value with which it trusts the folder it is started in.
    pub variables: Vec<(String, String)>,
    /// How a person lets it trust a folder.
    pub how: String,
}

/// A condition on an agent's promise to ask: where it holds, the agent asks nobody.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct AsksNobody {
    /// How it was started then, for people.
    pub started: String,
    /// What a question comes to, for people.
    pub does: String,
    /// Members of its payload, each with its value, any of which says so.
    pub members: Vec<(String, Value)>,
    /// It is so where no person can be asked, which its payload doesn't say.
    pub unattended: bool,
    /// It is so only of questions about the agent's own settings.
    pub of_settings: bool,
}

/// Where hooks stand.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// What `install` writes: a file, or a directory with a program for each event. It is empty
    /// where the agent has no hooks.
    pub entry: String,
    /// The file that a team commits, where `entry` is a file of each person's own.
    #[serde(default)]
    pub shared: Option<String>,
    /// What may hold the person's own hooks. `*.json` is every such file of a directory.
    pub hooks: Vec<String>,
    /// Other settings, in which switches may stand.
    #[serde(default, rename = "switched-in")]
    pub switched_in: Vec<String>,
}

/// How an agent is told of a hook.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// As a member of a JSON file.
    File(Box<HookFile>),
    /// As an executable for each event, which has the event's name.
    Programs,
    /// As a plug-in.
    Plugin,
}

/// A JSON or TOML file with `{EVENT: [HANDLER]}`, `{EVENT: [{hooks: [HANDLER]}]}` or `[HANDLER]` at
/// one of its members.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct HookFile {
    /// The member.
    pub at: String,
    /// The members beside it that the file must have. All of such a file is hookwire's.
    pub own: Option<Map<String, Value>>,
    /// The members beside it that a file must have which holds others' settings, too.
    pub beside: Map<String, Value>,
    /// Handlers are in groups with a matcher.
    pub has_groups: bool,
    /// The events whose handlers are in none.
    pub without_groups: Vec<String>,
    /// The member of a handler that names its event. Then all handlers are in one list.
    pub event: Option<String>,
    /// The members that each handler has beside those that are named here.
    pub handler: Map<String, Value>,
    /// The member of a handler that is its command, with `/` between the names on the way.
    pub command: String,
    /// The command says the event, because the payload doesn't.
    pub names_event: bool,
    /// The member of a handler that is its timeout.
    pub timeout: String,
    /// The timeout's unit.
    pub unit: Unit,
    /// The events at which it waits no longer than so many seconds, whatever the timeout says.
    pub waits: Vec<(String, u64)>,
    /// How a handler names a program and its arguments, which no shell starts.
    pub exec_form: Option<ExecForm>,
    /// What in a handler keeps a call from running when the hook's program is missing or killed.
    pub fails_closed: Option<FailsClosed>,
    /// What the names of variables begin with that the agent alone sets for its hooks.
    pub sets: String,
}

/// What a number is as a timeout.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// Seconds.
    Seconds,
    /// Milliseconds.
    Millis,
    /// Seconds below 1000, milliseconds from there on; before this version of the agent always
    /// milliseconds. A file doesn't say which version reads it.
    ByAmount(String),
}

/// How a handler is written that no shell starts: its command is the program then.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExecForm {
    /// The member with the arguments.
    pub member: String,
    /// The first version that knows it. An older one starts the program without arguments.
    pub since: String,
}

/// A member of a handler.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FailsClosed {
    /// The member.
    pub member: String,
    /// Its value.
    pub value: Value,
    /// The first version that knows it.
    pub since: String,
}

/// Files of slash commands, and of skills that are entered as such. What a shell in them says
/// becomes part of the prompt.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlashCommands {
    /// Their directories, in a project.
    pub project: Vec<String>,
    /// Those below the user's home.
    pub user: Vec<String>,
    /// What stands before a text for the shell.
    pub mark: String,
}

/// Where plug-ins of an agent have hooks.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plugins {
    /// What says which plug-ins are installed, beside the user's entry.
    pub installed: String,
    /// The hooks, in a plug-in's directory.
    pub hooks: String,
    /// The variable that names that directory.
    pub root: String,
    /// The member beside the hooks that names the plug-in's code which runs inside the agent. Such
    /// code is asked before hooks are, and can keep them from being run.
    pub modules: String,
}

impl Default for Form {
    fn default() -> Form {
        Form::File(Box::default())
    }
}

impl Default for HookFile {
    /// What most agents have.
    fn default() -> HookFile {
        let [at, command, timeout] = ["hooks", "command", "timeout"].map(String::from);
        let (own, exec_form, fails_closed, sets) = (None, None, None, String::new());
        HookFile {
            at,
            own,
            beside: Map::new(),
            has_groups: true,
            without_groups: Vec::new(),
            event: None,
            handler: speech::of_type_command(),
            command,
            names_event: false,
            timeout,
            unit: Unit::Seconds,
            waits: Vec::new(),
            exec_form,
            fails_closed,
            sets,
        }
    }
}

/// Their names.
pub fn names() -> impl Iterator<Item = &'static str> {
    FILES.iter().map(|(name, ..)| *name)
}

/// Whether there is an agent of a name. Its facts aren't read for it, because each of an agent's
/// events asks.
///
/// # Errors
/// There is none; names those that there are.
pub fn check(name: &str) -> Result<(), String> {
    let is_one = names().any(|it| it == name);
    if is_one {
        Ok(())
    } else {
        Err(format!("one of {}", names().collect::<Vec<_>>().join(", ")))
    }
}

/// The agent of a name.
///
/// # Errors
/// There is none; names those that there are.
pub fn by_name(name: &str) -> Result<&'static Agent, String> {
    check(name)?;
    AGENTS
        .iter()
        .find(|agent| agent.name == name)
        .ok_or_else(|| format!("the facts of {name} can't be read"))
}

impl HookFile {
    /// Whether an event's handlers are in groups with a matcher.
    pub fn groups(&self, event: &str) -> bool {
        self.has_groups && self.event.is_none() && !self.without_groups.iter().any(|it| it == event)
    }

    /// Whether a file has `{hooks: {EVENT: [..]}}`, where each hook says its type.
    pub fn is_plain(&self) -> bool {
        self.at == "hooks"
            && self.event.is_none()
            && self.handler.contains_key("type")
            && self.beside.is_empty()
    }

    /// The command of a handler, as a shell has it.
    pub fn command_in<'v>(&self, handler: &'v Value) -> Cow<'v, str> {
        let command = handler
            .pointer(&format!("/{}", self.command))
            .and_then(Value::as_str)
            .unwrap_or_default();
        match self.arguments_in(handler) {
            Some(arguments) => {
                let arguments = arguments.iter().map(|it| it.as_str().unwrap_or_default());
                shell_word::command([command].into_iter().chain(arguments)).into()
            }
            None => command.into(),
        }
    }

    /// The arguments of a handler that no shell starts.
    pub fn arguments_in<'v>(&self, handler: &'v Value) -> Option<&'v [Value]> {
        let form = self.exec_form.as_ref()?;
        Some(handler.get(&form.member)?.as_array()?)
    }
}

impl Place {
    /// The files that are known by name.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        let others = self
            .hooks
            .iter()
            .filter(|file| **file != self.entry && !file.contains('*'));
        others
            .chain([&self.entry])
            .map(String::as_str)
            .filter(|file| !file.is_empty())
    }
}

/// Whether an entry of a list of patterns keeps what has this path from being loaded.
fn leaves_out(entry: &str, path: &str) -> bool {
    entry.strip_prefix(['!', '-']).is_some_and(|pattern| {
        let anywhere = Glob::new(&format!("**/{}", pattern.trim_start_matches('/')));
        // A pattern that can't be read here may be one there.
        anywhere.map_or(true, |it| it.compile_matcher().is_match(path)) || pattern.ends_with(path)
    })
}

impl Agent {
    /// Where hooks stand, below the user's home or a project's root.
    pub fn place(&self, is_user: bool) -> &Place {
        self.user
            .as_ref()
            .filter(|_| is_user)
            .unwrap_or(&self.project)
    }

    /// How its files say hooks, if it has such.
    pub fn file(&self) -> Option<&HookFile> {
        match &self.form {
            Form::File(file) => Some(file),
            Form::Programs | Form::Plugin => None,
        }
    }

    /// Whether it puts to nobody what a hook answers with a question, as it was started;
    /// `of_settings`: a question about its own settings.
    pub fn is_asking_nobody(&self, original: &Original, of_settings: bool) -> bool {
        let has = |(member, value): &(String, Value)| original.payload.get(member) == Some(value);
        self.asks_nobody
            .iter()
            .filter(|it| {
                it.members.iter().any(has) || it.unattended && original.attended == Some(false)
            })
            .any(|it| of_settings || !it.of_settings)
    }

    /// Whether a tool runs when the program of a hook is missing or killed, and no member of an
    /// entry changes that.
    pub fn goes_on_without(&self) -> bool {
        self.gone.starts_with("runs") && self.file().is_none_or(|file| file.fails_closed.is_none())
    }

    /// The members of its settings that switch hooks off there. `is_system`: the settings are a
    /// machine's.
    pub fn switched_off<'s>(
        &'s self,
        settings: &'s Node,
        is_system: bool,
    ) -> impl Iterator<Item = &'s (String, Value)> {
        let of_system = self.system_switches.iter().filter(move |_| is_system);
        self.switches
            .iter()
            .chain(of_system)
            .filter(move |(member, off)| {
                let value = member
                    .split('.')
                    .try_fold(settings, |at, name| at.get(name))
                    .map(Node::to_json);
                let has = |name: &Value, part: &str| {
                    name.as_str()
                        .is_some_and(|name| match part.strip_prefix('!') {
                            Some(path) => leaves_out(name, path),
                            None => name.contains(part),
                        })
                };
                value.is_some_and(|value| match (&value, off) {
                    (Value::Array(names), Value::String(part)) => {
                        names.iter().any(|name| has(name, part))
                    }
                    (value, off) => value == off,
                })
            })
    }

    /// The file of a path of the user's; nothing without a home.
    pub fn of_user(&self, path: &str) -> Option<PathBuf> {
        let moved = self
            .moved()
            .find_map(|(dir, folder)| Some(dir.join(below(path, folder)?)));
        moved.or_else(|| Some(places::home()?.join(path)))
    }

    /// Where variables have moved parts of the user's home to.
    fn moved(&self) -> impl Iterator<Item = (PathBuf, &str)> {
        let set = |variable| std::env::var_os(variable).filter(|it| !it.is_empty());
        self.moved_by
            .iter()
            .filter_map(move |(variable, folder)| Some((PathBuf::from(set(variable)?), &**folder)))
    }

    /// The folders of its own that variables have moved, each with the patterns of its settings
    /// there.
    pub fn moved_folders(&self) -> Vec<(PathBuf, Vec<&str>)> {
        let settings = |own: &str| {
            let patterns = self
                .settings
                .iter()
                .filter_map(|it| it.strip_prefix("**/").or(it.strip_prefix("~/")));
            patterns.filter_map(|it| below(it, own)).collect()
        };
        let own = |(dir, folder): (PathBuf, &str)| {
            let all = self
                .folders
                .iter()
                .filter_map(|own| Some((dir.join(below(own, folder)?), settings(own))));
            all.collect::<Vec<_>>()
        };
        self.moved().flat_map(own).collect()
    }
}

/// What a path is below a folder; nothing if it isn't below.
fn below<'p>(path: &'p str, folder: &str) -> Option<&'p str> {
    let rest = path.strip_prefix(folder)?;
    if folder.is_empty() || rest.is_empty() {
        Some(rest)
    } else {
        rest.strip_prefix('/')
    }
}
