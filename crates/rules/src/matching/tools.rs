//! The table of tool families: the one name that a kind of tool has here, the names that agents
//! have for it, and which argument is a shell text, a path or a URL.
//!
//! A tool that isn't here is judged by its own name and the shape of its input. A definition file
//! may add names ([`ToolNames`]), never take one away.

use super::shell::Shell;
use crate::agents::AGENTS;
use foldhash::HashMap;
use hookwire_base::support::shell_word;
use hookwire_base::syntax::source::Layer;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::sync::LazyLock;

/// How a tool's main argument is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgumentKind {
    /// Text for a shell, or a list of words.
    Shell,
    /// A file path, or a list of them.
    Path,
    /// A URL, or a text that holds some.
    Url,
    /// Plain text: a query, a prompt.
    Text,
}

/// One family: its name, how its main argument is read, and the names that both go by.
#[derive(Debug)]
pub struct Tool {
    /// The canonical name.
    pub name: &'static str,
    /// How the main argument is read.
    pub kind: ArgumentKind,
    /// The argument's names, in any letter case, with `_` and `-` or without. An agent uses one of
    /// them; if several are given, all are judged.
    pub arguments: &'static [&'static str],
    /// What several agents and frameworks call the tool. The names that one agent alone has are
    /// among [its facts](AGENTS).
    pub names: &'static [&'static str],
}

static PATH: LazyLock<Vec<&str>> = LazyLock::new(|| {
    words(
        "file_path path notebook_path absolute_path filePath target_file relative_workspace_path dir_path dirPath \
         target_directory TargetFile AbsolutePath DirectoryPath paths",
    )
});

/// Lists of parts of a call, each with the members of a call of its own.
const PARTS: &[&str] = &[
    "replacements",
    "edits",
    "files",
    "file",
    "operations",
    "requests",
    "changes",
];

/// The members of a search that say where it looks.
static PLACES: LazyLock<Vec<&str>> = LazyLock::new(|| {
    words(
        "path paths dir_path directory directory_path target_directory target_directories search_path search_directory \
         file_path files folder root cwd uri",
    )
});

fn words(text: &'static str) -> Vec<&'static str> {
    text.split(' ').collect()
}

/// Every family, as the table `tools.txt` has it.
pub static TOOLS: LazyLock<Vec<Tool>> = LazyLock::new(|| {
    let mut tools: Vec<Tool> = Vec::new();
    for line in include_str!("tools.txt")
        .lines()
        .filter(|line| !line.starts_with('#'))
    {
        let [name, kind, arguments, names] = line.split('\t').collect::<Vec<_>>()[..] else {
            continue;
        };
        let Some(kind) = ArgumentKind::named(kind) else {
            continue;
        };
        let same = tools
            .iter()
            .find(|tool| tool.name == arguments)
            .map(|tool| tool.arguments);
        let arguments = same.unwrap_or_else(|| words(arguments).leak());
        tools.push(Tool {
            name,
            kind,
            arguments,
            names: words(names).leak(),
        });
    }
    tools
});

/// The tool whose argument is a patch: each file in it is written or edited.
pub const PATCH: &str = "apply_patch";
/// What others call it.
const PATCH_NAMES: &[&str] = &[PATCH, "patch"];
/// What that argument may be called.
pub const PATCH_ARGUMENTS: &[&str] = &["input", "patch", "patchText", "patch_text", "command"];

/// The tools that type into a program that runs already, with the argument that holds the keys.
const TYPING: &[(&str, &str)] = &[("write_bash", "input"), ("send_to_terminal", "command")];

/// The tools that take URLs out of their prompt.
const PROMPTED: &[&str] = &["web_fetch"];

/// The families of an edit that makes the file, as `command: create` has it.
const CREATING: &[&str] = PATCH_FAMILIES;

/// The tools that take every path for a pattern of file names, where no file has that very name.
const EXPANDING: &[&str] = &["read_many_files"];

/// Which of a tool's paths it takes for patterns of file names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expands {
    /// All of them, and upper case for lower case.
    All,
    /// The texts that look like a pattern.
    Patterns,
}

/// The families of what a patch does.
pub const PATCH_FAMILIES: &[&str] = &["Write", "Edit"];
/// The programs that a shell text runs to apply a patch.
pub const PATCH_PROGRAMS: [&str; 2] = [PATCH, "applypatch"];

/// Where a command's arguments may stand beside it.
static ARGUMENTS_BESIDE: [&str; 3] = ["args", "arguments", "argv"];

/// The argument of a shell tool that holds several texts, each for a shell of its own.
const COMMANDS: &str = "commands";

/// What most shells call their text.
const COMMAND: &str = "command";

/// The members of a shell call that don't say what it does.
pub const REMARKS: &[&str] = &["description", "timeout", "run_in_background"];

/// The members that hold a text or an argument list for a shell in the input of many a tool that
/// nobody knows, beside those that shells have here.
const LIKE_COMMANDS: &[&str] = &[
    "shell_command",
    "bash_command",
    "shell",
    "bash",
    "argv",
    "code",
];

/// Tools that are known to use one shell.
static SHELLS: &[(&str, Shell)] = &[
    ("Bash", Shell::Bash),
    ("bash", Shell::Bash),
    ("execute_bash", Shell::Bash),
    ("run_shell_command", Shell::Bash),
    ("PowerShell", Shell::Other),
    ("powershell", Shell::Other),
    ("pwsh", Shell::Other),
];

/// The members of an unknown tool that hold a text for a shell.
const COMMANDS_BY_SHAPE: &[&str] = &["command", "cmd"];

/// How an argument of an unknown tool is read, by its name; the kind of the first one that is there
/// counts.
static BY_SHAPE: &[(ArgumentKind, &[&str])] = &[
    (ArgumentKind::Shell, COMMANDS_BY_SHAPE),
    (
        ArgumentKind::Path,
        &[
            "file_path",
            "filePath",
            "path",
            "absolute_path",
            "target_file",
            "notebook_path",
        ],
    ),
    (ArgumentKind::Url, &["url", "urls", "uri", "link", "href"]),
    (ArgumentKind::Text, &["query", "pattern", "prompt"]),
];

/// The families by the names that several have. Most calls have one of them, and then nothing is
/// read of any agent.
static BY_NAME: LazyLock<HashMap<&'static str, &'static Tool>> = LazyLock::new(|| {
    let names = |tool: &'static Tool| {
        tool.names
            .iter()
            .copied()
            .chain([tool.name])
            .map(move |name| (name, tool))
    };
    TOOLS.iter().flat_map(names).collect()
});

/// The families by the names that one agent alone has.
static BY_NAME_OF_AGENTS: LazyLock<HashMap<&'static str, &'static Tool>> = LazyLock::new(|| {
    let names = |tool: &'static Tool| of_agents(tool.name).map(move |name| (name, tool));
    TOOLS.iter().flat_map(names).collect()
});

/// The names of a family that only one agent has.
fn of_agents(family: &str) -> impl Iterator<Item = &'static str> {
    let tools = AGENTS.iter().flat_map(|agent| &agent.tools);
    tools
        .filter(move |(name, _)| name == family)
        .flat_map(|(_, names)| names.split(' '))
}

/// The family of a tool, by any of its names.
pub fn known(name: &str) -> Option<&'static Tool> {
    BY_NAME
        .get(name)
        .or_else(|| BY_NAME_OF_AGENTS.get(name))
        .copied()
}

/// Whether a tool's argument is a patch.
pub fn is_patch(name: &str) -> bool {
    PATCH_NAMES.contains(&name)
        || !BY_NAME.contains_key(name) && of_agents(PATCH).any(|it| it == name)
}

/// The family of a canonical name.
pub fn family(name: &str) -> Option<&'static Tool> {
    TOOLS.iter().find(|tool| tool.name == name)
}

/// What the name of a tool begins with whose MCP server is a plug-in's:
/// `mcp__plugin_PLUGIN_SERVER__TOOL`.
const OF_PLUGIN: &str = "mcp__plugin_";

/// Whether a tool is one of a plug-in's MCP server.
pub fn is_of_plugin(name: &str) -> bool {
    name.starts_with(OF_PLUGIN)
}

/// The name that a tool of a plug-in's MCP server would have if the server were a person's own:
/// `mcp__SERVER__TOOL`. The name of a plug-in has no underscore, so what follows its first one is
/// the server's.
pub fn without_plugin(name: &str) -> Option<String> {
    let (_, server) = name.strip_prefix(OF_PLUGIN)?.split_once('_')?;
    let (server, tool) = server.split_once("__")?;
    (!server.is_empty() && !tool.is_empty()).then(|| format!("mcp__{server}__{tool}"))
}

/// Names that definition files add to families.
#[derive(Clone, Debug, Default)]
pub struct ToolNames(pub Vec<DeclaredTool>);

/// A name that a definition file adds to a family, for its layer and inner ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeclaredTool {
    /// The layer of the file.
    pub layer: Layer,
    /// The tool's own name.
    pub name: String,
    /// Its family's canonical name.
    pub family: &'static str,
    /// Its main argument, where that has a name of its own.
    pub argument: Option<String>,
}

impl ArgumentKind {
    /// The kind of argument that a member is by its name, whatever the tool.
    pub fn of_member(name: &str) -> Option<ArgumentKind> {
        BY_SHAPE
            .iter()
            .find(|(_, names)| names.contains(&name))
            .map(|(kind, _)| *kind)
    }

    fn named(name: &str) -> Option<ArgumentKind> {
        Some(match name {
            "shell" => ArgumentKind::Shell,
            "path" => ArgumentKind::Path,
            "url" => ArgumentKind::Url,
            "text" => ArgumentKind::Text,
            _ => return None,
        })
    }
}

impl ToolNames {
    /// What the outermost file says of a tool.
    pub fn get(&self, name: &str) -> Option<&DeclaredTool> {
        self.0
            .iter()
            .filter(|it| it.name == name)
            .min_by_key(|it| it.layer)
    }
}

/// How a tool is read: as one of the table, as a file declares it, or by the shape of its input.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    name: &'a str,
    tool: Option<&'static Tool>,
    argument: Option<&'a str>,
}

/// Where a search looks.
#[derive(Debug)]
pub struct Search<'v> {
    /// It is for texts in files, so that its pattern says nothing of a place.
    pub is_text: bool,
    /// Its pattern may lead out of the place.
    pub leaves: bool,
    /// The places.
    pub places: Vec<&'v Value>,
}

/// What stands where a tool's main argument is looked for.
#[derive(Debug, PartialEq)]
pub enum Found<'v> {
    /// The values that the tool may take, without repetition; mostly one.
    Values(ArgumentKind, Vec<&'v Value>),
    /// The texts of patches; mostly one.
    Patch(Vec<&'v str>),
    /// No such argument.
    Nothing,
}

impl<'a> Row<'a> {
    /// As the table has it.
    pub fn of(name: &'a str) -> Row<'a> {
        Row::found(name, known(name))
    }

    /// The row of a tool for which the table was asked before.
    pub fn found(name: &'a str, tool: Option<&'static Tool>) -> Row<'a> {
        let typing = tool
            .filter(|it| it.kind == ArgumentKind::Shell)
            .and_then(|_| keys_of(name));
        Row {
            name,
            tool,
            argument: typing,
        }
    }

    /// As a file has it.
    pub fn declared(it: &'a DeclaredTool) -> Row<'a> {
        Row {
            name: &it.name,
            tool: family(it.family),
            argument: it.argument.as_deref(),
        }
    }

    /// An unknown tool as if a file had declared it to be a shell, if its input has an argument
    /// that a shell's has: `run_shell(command)` of a framework.
    pub fn as_shell(name: &'a str, input: &'a Value) -> Option<Row<'a>> {
        let tool = family("Bash")?;
        let input = input.as_object()?;
        let is_among = |names: &[&str], key: &str| names.iter().any(|name| is_same_name(name, key));
        let like = || {
            input
                .keys()
                .find(|key| is_among(LIKE_COMMANDS, key))
                .map(String::as_str)
        };
        match input
            .keys()
            .any(|key| is_among(tool.arguments, key) || key == COMMANDS)
        {
            true => Some(Row {
                name,
                tool: Some(tool),
                argument: None,
            }),
            false => like().map(|key| Row {
                name,
                tool: Some(tool),
                argument: Some(key),
            }),
        }
    }

    /// Whether it types into a program that runs already, which need be no shell.
    pub fn types(&self) -> bool {
        keys_of(self.name).is_some()
    }

    /// The canonical names for a call with this input.
    pub fn families_of(&self, input: Option<&Value>) -> &'static [&'static str] {
        let is_edit = self.tool.is_some_and(|tool| tool.name == "Edit");
        let creates =
            || input.is_some_and(|input| input.get("command").is_some_and(|it| it == "create"));
        if is_edit && creates() {
            CREATING
        } else {
            self.families()
        }
    }

    /// Whether its argument is a patch.
    fn is_patch(&self) -> bool {
        self.tool.is_none() && is_patch(self.name)
    }

    /// Whether it runs commands.
    pub fn is_shell(&self) -> bool {
        self.families().contains(&"Bash")
    }

    /// Whether it takes a value of its input for a pattern of file names. One that reads several
    /// files may: who reads one takes `app/[id]/page.tsx` as it is.
    pub fn expands(&self, value: &Value, input: &Value) -> Option<Expands> {
        self.tool
            .filter(|tool| matches!(tool.name, "Read" | "LS"))?;
        let is_list = value.is_array() || input.get("include") == Some(value);
        if EXPANDING.contains(&self.name) {
            Some(Expands::All)
        } else {
            is_list.then_some(Expands::Patterns)
        }
    }

    /// Whether it is one of the shells.
    pub fn runs_text(&self) -> bool {
        self.tool
            .is_some_and(|tool| tool.kind == ArgumentKind::Shell)
    }

    /// The canonical names.
    pub fn families(&self) -> &'static [&'static str] {
        match self.tool {
            _ if self.is_patch() => PATCH_FAMILIES,
            Some(tool) => std::slice::from_ref(&tool.name),
            None => &[],
        }
    }

    /// The shell that the tool uses, if the event doesn't say.
    pub fn shell(&self) -> Shell {
        SHELLS
            .iter()
            .find(|(name, _)| *name == self.name)
            .map_or(Shell::Unknown, |(_, shell)| *shell)
    }

    /// The main argument in a call's input.
    pub fn find<'v>(&self, input: &'v Value) -> Found<'v> {
        let Some(input) = input.as_object() else {
            return Found::Nothing;
        };
        if self.is_patch() {
            let patches: Vec<&str> = members(input, PATCH_ARGUMENTS)
                .into_iter()
                .flat_map(|(_, value)| patch_texts(value))
                .collect();
            return if patches.is_empty() {
                Found::Nothing
            } else {
                Found::Patch(patches)
            };
        }
        let of_tool = |tool: &'static Tool| {
            let listed = members(
                input,
                if tool.kind == ArgumentKind::Shell {
                    &[COMMANDS]
                } else {
                    &[]
                },
            );
            let listed = listed.into_iter().flat_map(|(_, it)| {
                it.as_array()
                    .map_or(std::slice::from_ref(it), Vec::as_slice)
            });
            let parts = members(input, parts(tool))
                .into_iter()
                .flat_map(|(_, it)| of_parts(it, tool.arguments));
            (
                tool.kind,
                self.direct(tool, input)
                    .chain(listed)
                    .chain(parts)
                    .collect(),
            )
        };
        let (kind, mut found): (_, Vec<&Value>) = match self.tool {
            Some(tool) => of_tool(tool),
            None => match by_shape(input).find(|(_, value)| texts(value).is_some()) {
                // The texts of one call are for different things.
                Some((ArgumentKind::Text, value)) => (ArgumentKind::Text, vec![value]),
                Some((kind, _)) => (
                    kind,
                    by_shape(input)
                        .filter(|(it, _)| *it == kind)
                        .map(|(_, value)| value)
                        .collect(),
                ),
                None => (ArgumentKind::Text, only_text(input).into_iter().collect()),
            },
        };
        // Gemini's names its URLs within a prompt, also beside another.
        let names_url = |it: &&Value| it.as_str().is_some_and(|text| text.contains("://"));
        if kind == ArgumentKind::Url && (found.is_empty() || PROMPTED.contains(&self.name)) {
            let is_only = found.is_empty();
            found.extend(input.get("prompt").filter(|it| is_only || names_url(it)));
        }
        let distinct = distinct(found);
        if distinct.is_empty() {
            Found::Nothing
        } else {
            Found::Values(kind, distinct)
        }
    }

    /// The command of a shell call that has nothing else: of most calls. What may hold a patch
    /// isn't one.
    pub fn only_command<'v>(&self, input: &'v Value) -> Option<&'v str> {
        let members = input
            .as_object()
            .filter(|_| self.runs_text() && !self.types() && self.argument.is_none())?;
        let command = members.get(COMMAND)?.as_str()?;
        let is_plain = members
            .keys()
            .all(|key| key == COMMAND || REMARKS.contains(&&**key))
            && !may_hold_patch(input);
        is_plain.then_some(command)
    }

    /// The values of a known tool's main argument that aren't parts of a list.
    fn direct<'v>(
        &self,
        tool: &'static Tool,
        input: &'v Map<String, Value>,
    ) -> impl Iterator<Item = &'v Value> {
        let own = self.argument.and_then(|key| input.get(key));
        // What is looked into as parts is no argument by itself.
        let is_part = |key: &str| parts(tool).iter().any(|name| is_same_name(name, key));
        let arguments = members(input, tool.arguments).into_iter();
        own.into_iter().chain(
            arguments
                .filter(move |(key, it)| !(is_part(key) && is_parts(it)))
                .map(|(_, value)| value),
        )
    }

    /// Whether a call's main argument is a list of parts or commands and nothing else, so that the
    /// tool does all of it.
    pub fn has_parts_only(&self, input: &Value) -> bool {
        let (Some(tool), Some(input)) = (self.tool, input.as_object()) else {
            return false;
        };
        self.direct(tool, input).all(Value::is_null)
    }

    /// What a search says beside what it looks for.
    pub fn search<'v>(&self, input: &'v Value) -> Option<Search<'v>> {
        let tool = self
            .tool
            .filter(|tool| matches!(tool.name, "Glob" | "Grep"))?;
        let is_text = tool.name == "Grep";
        let input = input.as_object()?;
        // Braces can spell `..`, too.
        let leaves = |text: &str| {
            text.contains("..")
                || text.contains('{') && ["{.", ",.", ".,", ".}"].iter().any(|it| text.contains(it))
        };
        let patterns = members(input, tool.arguments);
        let leaves = !is_text
            && patterns
                .into_iter()
                .any(|(_, value)| value.as_str().is_some_and(leaves));
        let places = members(input, &PLACES)
            .into_iter()
            .map(|(_, value)| value)
            .filter(|it| !it.is_null())
            .collect();
        Some(Search {
            is_text,
            leaves,
            places,
        })
    }

    /// What else an unknown tool may take for its main argument: nobody knows which member counts.
    pub fn others<'v>(&self, input: &'v Value) -> Vec<(ArgumentKind, &'v Value)> {
        let Some(input) = input
            .as_object()
            .filter(|_| self.tool.is_none() && !self.is_patch())
        else {
            return Vec::new();
        };
        let main = by_shape(input).find(|(_, value)| texts(value).is_some());
        let is_other = |it: &(ArgumentKind, &Value)| {
            !it.1.is_null()
                && main.is_some_and(|main| {
                    it.0 != main.0 || it.0 == ArgumentKind::Text && it.1 != main.1
                })
        };
        by_shape(input).filter(is_other).collect()
    }

    /// The texts of a call that are paths by their names, and none that its table lists:
    /// `new_path`, or the names of `{"edits": {"/etc/x": []}}`. Nobody knows what an unknown tool
    /// does with its members, so all of them are looked through. `None`: there are too many.
    pub fn beside<'v>(&self, input: &'v Value) -> Option<Vec<&'v str>> {
        const MAX: usize = 4096;
        let listed: &[&str] = match self.tool {
            _ if self.is_patch() => PATCH_ARGUMENTS,
            Some(tool) if tool.kind == ArgumentKind::Path => tool.arguments,
            Some(_) => return Some(Vec::new()),
            None => &[],
        };
        let is_among = |names: &[&str], key: &str| names.iter().any(|name| is_same_name(name, key));
        let is_other = |key: &str| {
            let is_place = WORKING_DIRECTORIES.contains(&key);
            (is_end(key) || names_path(key))
                && !is_place
                && self.argument != Some(key)
                && !is_among(listed, key)
        };
        let mut found = Vec::new();
        if self.tool.is_none() && !self.is_patch() {
            walk(input, false, &mut |key, text, is_path| {
                let is_way = !is_path && matches!(key, "from" | "to") && text.contains('/');
                let is_file = file_of_url(text).is_some();
                if (is_path || is_way || is_file) && (is_file || !text.contains("://")) {
                    found.push(text);
                }
            });
        }
        for (key, value) in input
            .as_object()
            .into_iter()
            .flatten()
            .filter(|_| self.tool.is_some() || self.is_patch())
        {
            if is_other(key) {
                found.extend(texts(value).unwrap_or_default());
            }
            if !is_among(PARTS, key) {
                continue;
            }
            let parts = value
                .as_array()
                .map_or(std::slice::from_ref(value), Vec::as_slice);
            for (key, value) in parts.iter().filter_map(Value::as_object).flatten() {
                if is_other(key) {
                    found.extend(texts(value).unwrap_or_default());
                } else if key.contains(['/', '.']) || key.starts_with('~') {
                    found.push(key);
                }
            }
        }
        // Others are contents.
        found.retain(|text| !text.is_empty() && text.len() < MAX && !text.trim().contains('\n'));
        (found.len() <= MAX_VALUES).then_some(found)
    }

    /// The arguments that could be the command, by the name of each, where they differ or aren't
    /// texts: the tool may run another one than a guard reads.
    pub fn unclear_command<'v>(&self, input: &'v Value) -> Option<Vec<&'v str>> {
        let has_some = matches!(self.find(input), Found::Values(ArgumentKind::Shell, _));
        (has_some && self.main_command(input) == MainArgument::Unclear).then(|| self.given(input))
    }

    /// The command that a call is about, whatever the argument's name.
    pub fn main_command<'v>(&self, input: &'v Value) -> MainArgument<'v> {
        let is_shell = self
            .tool
            .is_some_and(|tool| tool.kind == ArgumentKind::Shell);
        match self.find(input) {
            Found::Values(ArgumentKind::Shell, values) => match values[..] {
                [Value::String(text)] if arguments_beside(input).is_none() => {
                    MainArgument::Is(text.into())
                }
                _ => MainArgument::Unclear,
            },
            Found::Values(..) | Found::Patch(_) | Found::Nothing if is_shell => {
                MainArgument::Unclear
            }
            Found::Values(..) | Found::Patch(_) | Found::Nothing => MainArgument::Absent,
        }
    }

    /// What a member stands for that may be the main argument, whatever the argument's name is in
    /// this call. `None`: it is none of those, and stands for itself.
    pub fn main_by_name<'v>(&self, name: &str, input: &'v Value) -> Option<MainArgument<'v>> {
        let is_among = |names: &[&str]| names.iter().any(|it| is_same_name(it, name));
        let main = match self.tool {
            Some(tool) if tool.kind == ArgumentKind::Shell && is_among(tool.arguments) => {
                self.main_command(input)
            }
            Some(tool) if tool.kind == ArgumentKind::Path && is_among(tool.arguments) => {
                self.main_path(input)
            }
            None if name == "command" || name == "cmd" => self.main_command(input),
            _ => return None,
        };
        (main != MainArgument::Absent).then_some(main)
    }

    /// The path that a call is about, whatever the argument's name.
    pub fn main_path<'v>(&self, input: &'v Value) -> MainArgument<'v> {
        let values = match self.find(input) {
            Found::Patch(patches) => {
                let readings = readings_of_patches(&patches);
                let mut files: Vec<&str> = readings
                    .into_iter()
                    .flatten()
                    .map(|(_, file)| file)
                    .collect();
                files.dedup();
                return match files[..] {
                    [file] => MainArgument::Is(file.into()),
                    _ => MainArgument::Unclear,
                };
            }
            Found::Values(ArgumentKind::Path, values) if self.tool.is_some() => values,
            Found::Nothing if !(input.is_object() || input.is_null()) && self.tool.is_some() => {
                return MainArgument::Unclear;
            }
            Found::Values(..) | Found::Nothing => {
                distinct(PATH.iter().filter_map(|key| input.get(*key)))
            }
        };
        match &values[..] {
            [] => MainArgument::Absent,
            [value] => match texts(value).as_deref() {
                Some([path]) => match file_of_url(path) {
                    None => MainArgument::Is((*path).into()),
                    Some(file) => {
                        file.map_or(MainArgument::Unclear, |file| MainArgument::Is(file.into()))
                    }
                },
                _ => MainArgument::Unclear,
            },
            _ => MainArgument::Unclear,
        }
    }
}

/// The argument of a tool that types into a program.
fn keys_of(name: &str) -> Option<&'static str> {
    TYPING
        .iter()
        .find(|(tool, _)| *tool == name)
        .map(|(_, argument)| *argument)
}

/// The path or the command that a call is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MainArgument<'v> {
    /// This one.
    Is(Cow<'v, str>),
    /// It is about several, or several arguments could be it and differ: the tool may take another
    /// one than a guard would.
    Unclear,
    /// It names none.
    Absent,
}

/// The members that may be the main argument of an unknown tool, in their order.
fn by_shape(input: &Map<String, Value>) -> impl Iterator<Item = (ArgumentKind, &Value)> {
    let of_kind = |kind, keys: &'static [&'static str]| keys.iter().map(move |key| (kind, *key));
    let keys = BY_SHAPE
        .iter()
        .flat_map(move |(kind, keys)| of_kind(*kind, keys));
    keys.filter_map(|(kind, key)| Some((kind, input.get(key)?)))
}

/// The values that say something, each once. Beyond [`MAX_VALUES`], one that nobody can read.
fn distinct<'v>(values: impl IntoIterator<Item = &'v Value>) -> Vec<&'v Value> {
    static TOO_MANY: Value = Value::Bool(true);
    let mut distinct: Vec<&Value> = Vec::new();
    for value in values.into_iter().filter(|it| !it.is_null()) {
        if !distinct.contains(&value) {
            if distinct.len() == MAX_VALUES {
                distinct.push(&TOO_MANY);
                break;
            }
            distinct.push(value);
        }
    }
    distinct
}

/// So many values of one call are told apart.
const MAX_VALUES: usize = 256;

/// The patterns of file names by which a search leaves out all other files, and the directories
/// that it looks below.
pub fn sought(input: &Value) -> (Vec<&str>, Vec<&str>) {
    const NAMES: &[&str] = &[
        "glob",
        "globs",
        "include",
        "includes",
        "include_pattern",
        "include_patterns",
        "file_pattern",
        "file_glob",
    ];
    let Some(input) = input.as_object() else {
        return (Vec::new(), Vec::new());
    };
    let of = |names: &[&str]| {
        members(input, names)
            .into_iter()
            .filter_map(|(_, value)| texts(value))
            .flatten()
    };
    let patterns: Vec<&str> = of(NAMES).flat_map(each_pattern).collect();
    if patterns.is_empty() {
        return (patterns, Vec::new());
    }
    (patterns, of(&PLACES).collect())
}

/// The patterns of a list with blanks or commas between them, of which braces may hold some.
fn each_pattern(list: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0_usize;
    let is_end = move |c: char| {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c.is_whitespace() || c == ',' && depth == 0
    };
    list.split(is_end)
        .filter(|it| !it.is_empty() && !it.starts_with('!'))
}

/// The members that go by one of these names, exact ones first. Mostly there are a few members: to
/// look at each once is quicker than to search for each name.
fn members<'v>(input: &'v Map<String, Value>, names: &[&str]) -> Vec<(&'v str, &'v Value)> {
    let place = |key: &str| {
        let alike = || {
            names
                .iter()
                .any(|name| is_same_name(name, key))
                .then_some(names.len())
        };
        names.iter().position(|name| *name == key).or_else(alike)
    };
    let named = input
        .iter()
        .filter_map(|(key, value)| Some((place(key)?, (key.as_str(), value))));
    let mut named: Vec<_> = named.collect();
    named.sort_by_key(|(place, _)| *place);
    named.into_iter().map(|(_, member)| member).collect()
}

/// Whether two names of a member differ in letter case and word joints alone.
fn is_same_name(one: &str, other: &str) -> bool {
    fn letters(name: &str) -> impl Iterator<Item = u8> {
        name.bytes()
            .filter(|byte| !matches!(byte, b'_' | b'-'))
            .map(|byte| byte.to_ascii_lowercase())
    }
    let first = |name: &str| name.bytes().next().map(|byte| byte.to_ascii_lowercase());
    let may_be = first(one) == first(other) || other.starts_with(['_', '-']);
    may_be && other.len() <= 64 && letters(one).eq(letters(other))
}

/// Whether a member holds a path, by the last word of its name: `new_path`, `imagePaths`.
pub fn names_path(name: &str) -> bool {
    static LAST: LazyLock<Vec<&str>> = LazyLock::new(|| {
        words(
            "path paths filepath pathname file files filename filenames dir directory directories folder destination dest uri",
        )
    });
    let is_joint = |(at, c): &(usize, char)| {
        matches!(c, '_' | '-')
            || c.is_ascii_uppercase() && name[..*at].ends_with(|c: char| c.is_ascii_lowercase())
    };
    let last = name
        .char_indices()
        .rfind(is_joint)
        .map_or(name, |(at, _)| &name[at..]);
    LAST.iter()
        .any(|it| last.trim_start_matches(['_', '-']).eq_ignore_ascii_case(it))
}

/// Whether a member is one end of what is copied or moved, by its whole name.
fn is_end(name: &str) -> bool {
    ["source", "target", "src", "dst"]
        .iter()
        .any(|it| it.eq_ignore_ascii_case(name))
}

/// The paths in a text that is a list in JSON, as some agents write one into a member for a text.
pub fn paths_of_json(text: &str) -> Vec<String> {
    let text = text.trim();
    let is_list = text.starts_with('[') && text.ends_with(']');
    let Some(list) = is_list
        .then(|| serde_json::from_str::<Value>(text).ok())
        .flatten()
    else {
        return Vec::new();
    };
    let mut found = Vec::new();
    walk(&list, true, &mut |_, text, is_path| {
        if is_path {
            found.push(text.to_string());
        }
    });
    found
}

/// Every text of a value with the name of the member that holds it, and whether it is a path by
/// that name; the names of members that look like a path, too.
pub(super) fn walk<'v>(
    value: &'v Value,
    is_path: bool,
    found: &mut impl FnMut(&'v str, &'v str, bool),
) {
    walk_member("", value, is_path, found);
}

fn walk_member<'v>(
    key: &'v str,
    value: &'v Value,
    is_path: bool,
    found: &mut impl FnMut(&'v str, &'v str, bool),
) {
    match value {
        Value::String(text) => found(key, text, is_path),
        Value::Array(items) => items
            .iter()
            .for_each(|item| walk_member(key, item, is_path, found)),
        Value::Object(members) => {
            for (key, value) in members {
                if key.contains('/') {
                    found(key, key, true);
                }
                let is_path = (is_end(key) || names_path(key))
                    && !WORKING_DIRECTORIES.contains(&key.as_str());
                walk_member(key, value, is_path, found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The texts of a call that may be paths, whatever their members are called: none of several lines,
/// and of those with blanks only such as begin like a path.
pub fn texts_like_paths(input: &Value) -> Vec<&str> {
    let begins_like_one = |text: &str| {
        ["/", "./", "../", "~/"]
            .iter()
            .any(|start| text.starts_with(start))
    };
    let mut found = Vec::new();
    walk(input, false, &mut |_, text, is_path| {
        let text = text.trim();
        let is_whole = is_path || begins_like_one(text) || !text.contains(char::is_whitespace);
        let is_place = file_of_url(text).is_some()
            || !text.contains("://") && text.contains(['/', '.']) && is_whole;
        if is_place && text.len() < 4096 && !text.contains('\n') {
            found.push(text);
        }
    });
    found
}

/// Whether no member that goes by a path's name has another value.
pub fn has_one_path(input: &Value, path: &str) -> bool {
    let others = input
        .as_object()
        .map_or_else(Vec::new, |input| members(input, &PATH));
    others
        .into_iter()
        .all(|(_, value)| value.is_null() || value == path)
}

/// The members of a tool that hold parts of a call.
fn parts(tool: &Tool) -> &'static [&'static str] {
    if matches!(tool.kind, ArgumentKind::Path | ArgumentKind::Url) {
        PARTS
    } else {
        &[]
    }
}

/// Whether a value is a list of parts of a call, or one.
fn is_parts(value: &Value) -> bool {
    match value {
        Value::Object(_) => true,
        Value::Array(items) => items.iter().any(Value::is_object),
        _ => false,
    }
}

/// The values by these names in the parts of a call. A text among parts is a value by itself.
fn of_parts<'v>(value: &'v Value, names: &'static [&'static str]) -> Vec<&'v Value> {
    if !is_parts(value) {
        return Vec::new();
    }
    let parts = value
        .as_array()
        .map_or(std::slice::from_ref(value), Vec::as_slice);
    let of_part = |part: &'v Value| match part {
        Value::Object(part) => members(part, names)
            .into_iter()
            .map(|(_, value)| value)
            .collect(),
        other => vec![other],
    };
    parts.iter().flat_map(of_part).collect()
}

/// The members that say where a call happens.
const WORKING_DIRECTORIES: &[&str] = &["workdir", "cwd", "working_directory", "workingDirectory"];

/// The directory that a shell call names to run in.
pub fn working_directory(input: &Value) -> Option<&str> {
    working_directories(input, true).next()
}

/// The directories that a call names to happen in; `directory` is one only of a shell, because
/// other tools are about one.
pub fn working_directories(input: &Value, is_shell: bool) -> impl Iterator<Item = &str> {
    const SHELL: &[&str] = &["directory", "dir_path"];
    let of = move |names: &'static [&'static str]| named(input, names).filter_map(Value::as_str);
    let directories = of(WORKING_DIRECTORIES).chain(of(if is_shell { SHELL } else { &[] }));
    directories.filter(|directory| !directory.is_empty())
}

/// The members by these names, in the order of the names. Mostly there is none, and to look at each
/// member once is quicker than to search for each name.
fn named<'v>(input: &'v Value, names: &'static [&'static str]) -> impl Iterator<Item = &'v Value> {
    let input = input
        .as_object()
        .filter(|input| input.keys().any(|key| names.contains(&key.as_str())));
    input
        .into_iter()
        .flat_map(|input| names.iter().filter_map(|name| input.get(*name)))
}

/// The directories that a relative path of a file tool's call may count from.
pub fn directories_of_paths(input: &Value) -> impl Iterator<Item = &str> {
    const MORE: &[&str] = &[
        "directory",
        "dir",
        "folder",
        "root",
        "base_path",
        "basePath",
        "base_dir",
        "root_dir",
    ];
    let more = MORE
        .iter()
        .filter_map(|name| input.get(name)?.as_str())
        .filter(|directory| !directory.is_empty());
    working_directories(input, false).chain(more)
}

/// Whether a shell call brings variables along.
pub fn has_environment(input: &Value) -> bool {
    let is_filled = |value: &Value| match value {
        Value::Object(members) => !members.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::String(text) => !text.is_empty(),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    };
    named(input, &["env", "environment", "envs"]).any(is_filled)
}

/// The file that a `file:` URL names, if a path is one; within, `None` if it names none.
pub fn file_of_url(path: &str) -> Option<Option<String>> {
    path.get(..5)
        .filter(|scheme| scheme.eq_ignore_ascii_case("file:"))?;
    let file = url::Url::parse(path)
        .ok()
        .and_then(|url| url.to_file_path().ok());
    Some(file.and_then(|file| file.into_os_string().into_string().ok()))
}

impl Row<'_> {
    /// The JSON pointers of what holds a shell text: of one argument, of several that are equal, or
    /// of each text of a list of them.
    ///
    /// # Errors
    /// Several could be the command and differ, or it isn't all of the command.
    pub fn shell_arguments(&self, input: &Value) -> Result<Vec<String>, String> {
        let Found::Values(ArgumentKind::Shell, values) = self.find(input) else {
            return Ok(Vec::new());
        };
        let names = self.given(input);
        let listed = input
            .get(COMMANDS)
            .filter(|it| names.is_empty() && it.is_array())
            .and_then(Value::as_array);
        if arguments_beside(input).is_some() {
            return Err(format!(
                "the arguments of `{}` stand beside its command",
                self.name
            ));
        }
        match (listed, &values[..]) {
            (Some(items), _) => Ok((0..items.len())
                .map(|at| format!("/{COMMANDS}/{at}"))
                .collect()),
            (None, [_]) if names.is_empty() => Ok(vec![format!("/{COMMANDS}")]),
            (None, [_]) => Ok(names.into_iter().map(|name| format!("/{name}")).collect()),
            (None, _) => Err(format!("the main arguments of `{}` differ", self.name)),
        }
    }

    /// The members of a call that may be its command, by name.
    fn given<'v>(&self, input: &'v Value) -> Vec<&'v str> {
        let Some(input) = input.as_object() else {
            return Vec::new();
        };
        let names = self.tool.map_or(COMMANDS_BY_SHAPE, |tool| tool.arguments);
        let own = self
            .argument
            .and_then(|name| input.get_key_value(name))
            .map(|(name, _)| name.as_str());
        let mut names: Vec<&str> = own
            .into_iter()
            .chain(members(input, names).into_iter().map(|it| it.0))
            .collect();
        names.dedup();
        names
    }
}

/// A patch as text, or as a word of a command.
fn patch_texts(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(words) => words
            .iter()
            .filter_map(Value::as_str)
            .filter(|word| word.contains("*** "))
            .collect(),
        _ => Vec::new(),
    }
}

fn only_text(input: &Map<String, Value>) -> Option<&Value> {
    let mut texts = input.values().filter(|value| value.is_string());
    let first = texts.next()?;
    texts.next().is_none().then_some(first)
}

/// Whether some text of a value may hold a patch.
pub fn may_hold_patch(value: &Value) -> bool {
    match value {
        // Hardly any text has a star, and making a search for several bytes ready takes longer than
        // looking for one.
        Value::String(text) => memchr::memchr(b'*', text.as_bytes())
            .is_some_and(|at| memchr::memmem::find(&text.as_bytes()[at..], b"*** ").is_some()),
        Value::Array(items) => items.iter().any(may_hold_patch),
        Value::Object(members) => members.values().any(may_hold_patch),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Whether a shell takes every here-document of a text as it is.
pub fn quotes_documents(text: &str) -> bool {
    let is_quoted = |rest: &str| {
        rest.trim_start_matches(['-', ' ', '\t'])
            .starts_with(['\'', '"', '\\'])
    };
    text.split("<<").skip(1).all(is_quoted)
}

/// The files of patches, each with the family that its change belongs to: mostly one reading. Tools
/// differ in what ends a line: to some, a form feed within a header or a text does.
pub fn readings_of_patches<'p>(patches: &[&'p str]) -> Vec<Vec<(&'static str, &'p str)>> {
    let read = |of: fn(&'p str) -> Vec<(&'static str, &'p str)>| {
        patches.iter().flat_map(|it| of(it)).collect()
    };
    let mut readings: Vec<_> = vec![
        read(files_of_patch),
        read(|it| files_of_lines(it.split(ends_line))),
    ];
    readings.dedup();
    readings
}

/// What ends a line to some program: the set of Python's `splitlines`.
fn ends_line(c: char) -> bool {
    matches!(
        c,
        '\n' | '\r' | '\x0b' | '\x0c' | '\x1c'..='\x1e' | '\u{85}' | '\u{2028}' | '\u{2029}'
    )
}

/// The files of a patch, each with the family that its change belongs to.
pub fn files_of_patch(patch: &str) -> Vec<(&'static str, &str)> {
    files_of_lines(patch.lines())
}

fn files_of_lines<'p>(lines: impl Iterator<Item = &'p str>) -> Vec<(&'static str, &'p str)> {
    // Some agents take a header without a blank behind it.
    const HEADERS: [(&str, &str); 4] = [
        ("*** Add File:", "Write"),
        ("*** Update File:", "Edit"),
        ("*** Delete File:", "Edit"),
        ("*** Move to:", "Write"),
    ];
    let file = |line| {
        HEADERS
            .iter()
            .find_map(|(header, family)| Some((*family, str::strip_prefix(line, header)?.trim())))
    };
    lines
        .map(|line| line.trim_start_matches(is_blank))
        .filter_map(file)
        .collect()
}

/// The lines of a patch that look like a header, and are none that is known. The lines of files
/// begin with another character.
pub fn unknown_headers(patch: &str) -> impl Iterator<Item = &str> {
    const OTHERS: [&str; 4] = [
        "*** Begin Patch",
        "*** End Patch",
        "*** End of File",
        "*** Environment ID:",
    ];
    let is_known = |line: &str| {
        OTHERS.iter().any(|it| line.starts_with(it)) || !files_of_patch(line).is_empty()
    };
    patch
        .lines()
        .filter(move |line| line.starts_with("*** ") && !is_known(line))
}

/// Whether some agent takes a character at the end of a text for a blank: to JavaScript, a byte
/// order mark is one.
pub fn is_blank(c: char) -> bool {
    c.is_whitespace() || c.is_control() || c == '\u{feff}'
}

/// The options behind which a shell of the Bourne family takes the text that it runs.
pub const SHELL_OPTIONS: [&str; 3] = ["-c", "-lc", "-ic"];

/// A value as a text for a shell: words of a list are quoted where a shell would act upon them.
pub fn shell_text(value: &Value) -> Option<Cow<'_, str>> {
    match value {
        Value::String(text) => Some(text.into()),
        Value::Array(words) => {
            let words: Option<Vec<&str>> = words.iter().map(Value::as_str).collect();
            words
                .filter(|words| !words.is_empty())
                .map(|words| shell_word::command(words).into())
        }
        _ => None,
    }
}

/// The arguments of a command that stand beside it: `{"command": "git", "args": ["push"]}`.
fn arguments_beside(input: &Value) -> Option<&Value> {
    let is_there = |value: &&Value| match value {
        Value::Null => false,
        Value::String(text) => !text.trim().is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(members) => !members.is_empty(),
        Value::Bool(_) | Value::Number(_) => true,
    };
    named(input, &ARGUMENTS_BESIDE).find(is_there)
}

/// The texts for a shell that a command of a call may be, with the arguments that stand beside it.
/// `None` if these can't be read.
pub fn shell_texts<'v>(command: &'v Value, input: &Value) -> Option<Vec<Cow<'v, str>>> {
    let text = shell_text(command)?;
    let arguments = match arguments_beside(input).filter(|it| !std::ptr::eq(*it, command)) {
        None => return Some(vec![text]),
        Some(Value::String(arguments)) => arguments.clone(),
        Some(Value::Array(words)) => {
            let word = |word: &Value| match word {
                Value::String(word) => Some(shell_word::argument(word)),
                Value::Number(number) => Some(number.to_string()),
                _ => None,
            };
            words
                .iter()
                .map(word)
                .collect::<Option<Vec<_>>>()?
                .join(" ")
        }
        Some(_) => return None,
    };
    Some(
        match command
            .as_str()
            .map(|program| (program, shell_word::program(program)))
        {
            // More than a name may be a text for a shell, with the arguments or without, or a
            // program after all.
            Some((text, program)) if program != text => {
                vec![
                    text.into(),
                    format!("{text} {arguments}").into(),
                    format!("{program} {arguments}").into(),
                ]
            }
            _ => vec![format!("{text} {arguments}").into()],
        },
    )
}

/// The texts of a value that is one text or a list of them.
pub fn texts(value: &Value) -> Option<Vec<&str>> {
    match value {
        Value::String(text) => Some(vec![text]),
        Value::Array(items) => items
            .iter()
            .map(Value::as_str)
            .collect::<Option<Vec<_>>>()
            .filter(|it| !it.is_empty()),
        _ => None,
    }
}

/// The main argument of a call and how to read it, for people. `None` too where several could be it
/// and differ: the tool may take another one than a guard would.
pub fn main_argument<'v>(tool: &str, input: &'v Value) -> Option<(ArgumentKind, Cow<'v, str>)> {
    match Row::of(tool).find(input) {
        Found::Values(kind, values) => match &values[..] {
            [value] => match kind {
                ArgumentKind::Shell => match &shell_texts(value, input)?[..] {
                    [text] => Some((kind, text.clone())),
                    _ => None,
                },
                _ => Some((kind, value.as_str()?.into())),
            },
            _ => None,
        },
        Found::Patch(_) => match Row::of(tool).main_path(input) {
            MainArgument::Is(file) => Some((ArgumentKind::Path, file)),
            MainArgument::Unclear | MainArgument::Absent => None,
        },
        Found::Nothing => None,
    }
}

#[cfg(test)]
mod tests;
