//! How an agent speaks, where its facts say all of it: its events, where members of its payloads
//! live, and where in a reply each part of a verdict goes. `dialects::described` makes its dialect
//! of them.

use hookwire_base::verdict::Decision;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// A pair of JSON pointers, the agent's and hookwire's.
pub type Pair = (String, String);

/// A vocabulary. Pointers are JSON pointers.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Speech {
    /// What is said of it beside its name.
    pub about: String,
    /// Where a payload names its event. A command that is told the event adds it there.
    pub event_name: String,
    /// Other places of the event's name. They count first.
    pub event_names: Vec<String>,
    /// Where members live in every payload, theirs and ours.
    pub members: Vec<Pair>,
    /// Where the working directory is if the member for it is missing or empty.
    pub cwd: Vec<String>,
    /// Members of ours that come as a text which holds JSON.
    pub texts: Vec<String>,
    /// Members of ours that come as a list of parts. Their texts count.
    pub parts: Vec<String>,
    /// How long a hook may take there, in seconds.
    pub timeout: u64,
    /// Whether equal hooks run once there.
    pub runs_equal_hooks_once: bool,
    /// Replies are Claude Code's, and the table of replies isn't needed.
    pub replies_as_claude_code: bool,
    /// A command that can't give a verdict says no with a reply. Otherwise it exits with 2.
    pub refuses_by_reply: bool,
    /// A result that is denied is kept from the model.
    pub withholds: bool,
    /// A text for the model keeps an agent at work that wants to rest.
    pub context_resumes: bool,
    /// Where it says of a call which MCP server it goes to.
    pub mcp: Option<Mcp>,
    /// Its events.
    pub events: Vec<Moment>,
    /// Its replies, by the names that events have for them.
    pub replies: BTreeMap<String, Reply>,
}

/// Where a call's MCP server and its tool are in an event.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Mcp {
    /// The agent's tool that all such calls are of.
    pub caller: Option<String>,
    /// The server's name.
    pub server: String,
    /// The tool's name on the server.
    pub tool: String,
    /// What stands before the server in a name that has both, and what between the two. Where that
    /// name is, is the server's place; without one it is the call's own.
    pub within: Option<Pair>,
}

/// An event.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Moment {
    /// Its name there.
    pub name: String,
    /// Other names of it.
    pub also: Vec<String>,
    /// Its canonical name; without one it is the same.
    pub is: Option<String>,
    /// The event for which people write hooks that are meant here too.
    pub near: Option<String>,
    /// A deny is obeyed.
    pub blocks: bool,
    /// To a command, only an exit code is a deny.
    pub denies_by_exit: bool,
    /// A rewritten subject is obeyed.
    pub rewrites: bool,
    /// What a command prints is a text for the model, and nothing else.
    pub prints_context: bool,
    /// The name of the tool, where payloads of the event don't say it.
    pub tool: Option<String>,
    /// What its matchers are held against, where that isn't the tool's name.
    pub matcher: Option<String>,
    /// Members that live elsewhere in this event.
    pub members: Vec<Pair>,
    /// The name of its reply.
    pub says: Option<String>,
}

/// Where in a reply each part of a verdict goes. A part without a place isn't said: an `ask` is a
/// deny then, and so are a rewrite and the end of the run.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Reply {
    /// A "no".
    pub deny: Option<Say>,
    /// A question to the person.
    pub ask: Option<Say>,
    /// An approval.
    pub allow: Option<Say>,
    /// The tools, by its own names, of whose calls another event comes later that can ask. A
    /// question is left to that.
    pub asks_later: Vec<String>,
    /// Other words that its hooks have in the place of these, each with what it decides.
    pub also: Vec<(String, Decision)>,
    /// The end of the run.
    pub stop: Option<Say>,
    /// What is said if no hook has an opinion.
    pub silence: Vec<(String, Value)>,
    /// A new subject.
    pub rewrite: Option<String>,
    /// A new subject's members are set, and one that is gone stays.
    pub merges: bool,
    /// A text for the model.
    pub context: Option<String>,
    /// The texts for the model are a list.
    pub lists_context: bool,
    /// A text for the person.
    pub message: Option<String>,
}

/// One part of a verdict.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Say {
    /// Members and their values.
    pub set: Vec<(String, Value)>,
    /// Where the reason goes.
    pub reason: Vec<String>,
}

/// What a form adds to each handler, if nothing else is said.
pub(super) fn of_type_command() -> Map<String, Value> {
    Map::from_iter([("type".to_string(), "command".into())])
}
