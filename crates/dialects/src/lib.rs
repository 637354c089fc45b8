//! Other systems' vocabularies. A dialect is mostly a table, read by the one translator in this
//! file; what no table can say is a function in the dialect's own file.
//!
//! A new dialect is one new file and one line in [`DIALECTS`]; see `sample.rs`.

// These docs are for those who work on hookwire: a link may lead to what is private.
#![allow(rustdoc::private_intra_doc_links)]
// stdout belongs to the protocol, input never panics, and no file of anybody's is waited for
// (`clippy.toml`).
#![cfg_attr(
    not(test),
    warn(
        clippy::disallowed_methods,
        clippy::print_stdout,
        clippy::print_stderr,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic
    )
)]

pub mod asked;
mod claude_code;
mod cline;
mod codex;
mod copilot;
mod decisive;
mod described;
mod files;
mod gemini;
mod native;
mod opencode;
mod qwen;
pub mod recorded;
mod replies;
#[cfg(test)]
mod sample;
mod settings;
#[cfg(feature = "systems")]
pub mod systems;
#[cfg(test)]
mod tests;

use hookwire_ask::said::Said;
use hookwire_base::event::{
    CUSTOM_PREFIX, Event, MEMBERS, NotAnEvent, Original, Phase, drop_misfits, lacks_tool, no_tool,
    set_pointer, spec, unknown_event,
};
use hookwire_base::support::nearest::{UnknownName, closest};
use hookwire_base::syntax::node::Node;
use hookwire_base::syntax::problem::Problem;
use hookwire_base::verdict::{Decision, Verdict};
use hookwire_rules::agents::{self, Agent};
use hookwire_rules::contract::Honours;
use hookwire_rules::contract::{Contract, TOOL_NAME};
use hookwire_rules::matching::tools;
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

use asked::Moment;

pub use hookwire_rules::contract::NATIVE;
pub use native::CONTRACT;
pub use settings::in_one_form;

/// The event in the params of a `hooks/dispatch` that was judged in a dialect.
pub fn read_sent_event(mut params: Value, dialect: &str) -> Option<Event> {
    if let Value::Array(items) = &mut params {
        params = items.pop().filter(|_| items.is_empty())?;
    }
    let Some(payload) = params.get_mut("payload").map(Value::take) else {
        return Event::from_json(params).ok();
    };
    let mut event = by_name(dialect).ok()?.read_event(payload).ok()?;
    if let Some(deadline) = params
        .get_mut("deadlineMs")
        .map(Value::take)
        .filter(|it| !it.is_null())
    {
        event.change(|data| data["deadlineMs"] = deadline);
    }
    Some(event)
}

/// The dialect whose hooks have a field that hookwire's own haven't, and how a file says that it is
/// written for it.
pub fn with_field(field: &str) -> Option<(&'static str, String)> {
    let found = files().find(|(_, files)| files.marks.contains(&field));
    found.map(|(dialect, _)| dialect.with_how_to_write())
}

/// The field of another system's hooks that is written so but for its letter case and `_`.
pub fn mark_like(field: &str) -> Option<&'static str> {
    let plain = |name: &str| name.replace('_', "").to_ascii_lowercase();
    files()
        .flat_map(|(_, files)| files.marks)
        .copied()
        .find(|mark| plain(mark) == plain(field))
}

/// What a dialect calls the event of this name; the name itself if it has none.
pub fn own_name(dialect: &str, canonical: &'static str) -> &'static str {
    let row = by_name(dialect)
        .ok()
        .and_then(|it| it.events.iter().find(|row| row.canonical == canonical));
    row.map_or(canonical, |row| row.name)
}

/// The dialects with definition files of their own.
fn files() -> impl Iterator<Item = (&'static Dialect, &'static Files)> {
    built_in().filter_map(|dialect| Some((dialect, dialect.files.as_ref()?)))
}

/// The members of its own that a dialect's files have beside hookwire's.
pub fn members_of(dialect: &str) -> &'static [&'static str] {
    let found = files().find(|(of, _)| of.name() == dialect);
    found.map_or(&[], |(_, files)| files.members)
}

/// The dialect whose files have a member that hookwire's own haven't, and how a file says that it
/// is written for it.
pub fn with_member(member: &str) -> Option<(&'static str, String)> {
    let (dialect, _) = files().find(|(_, files)| files.members.contains(&member))?;
    Some((dialect.name(), at_the_top(dialect.name())))
}

/// The dialect whose matchers name events, if this one names an event of it as no tool is called,
/// and how a file says that it is written for it.
pub fn with_matcher(matcher: &str) -> Option<(&'static str, String)> {
    let (first, has_more) = matcher
        .split_once(':')
        .map_or((matcher, false), |(first, _)| (first, true));
    let words = || first.split(|c: char| !c.is_ascii_alphanumeric());
    // A tool may be called as one of hookwire's own events is.
    let names = |row: &EventRow| {
        words().any(|word| word == row.name) && (has_more || spec(row.name).is_none())
    };
    let has = |dialect: &&Dialect| {
        dialect.contract.matcher_names_events && dialect.events.iter().any(names)
    };
    built_in().find(has).map(Dialect::with_how_to_write)
}

/// Whether the agents of a dialect that knows tools by their own names call them as hookwire does.
pub fn has_canonical_tools(dialect: &str) -> bool {
    files().any(|(of, files)| of.name() == dialect && files.has_canonical_tools)
}

/// Whether a file's `dialect` names one of these, or nearly: a file of another tool may have a
/// `dialect` too.
pub fn is_meant(root: &Node) -> bool {
    let name = root.get("dialect").and_then(Node::text);
    name.is_some_and(|name| {
        by_name(name).map_or_else(|unknown| unknown.nearest.is_some(), |_| true)
    })
}

fn at_the_top(dialect: &str) -> String {
    format!("write `dialect: {dialect}` at the top of the file")
}

/// What a map of events to lists of hooks looks like, and what to do about it, where a file says no
/// dialect.
pub fn looks_like(hooks: &Node) -> Option<(&'static str, String)> {
    let found = files().find(|(dialect, files)| (files.has_such_lists)(dialect, hooks));
    found.map(|(dialect, _)| dialect.with_how_to_write())
}

/// Whether a hook in such a list has a field.
fn have_field(hooks: &Node, field: &str) -> bool {
    let mut all = hooks.entries().iter().flat_map(|event| event.value.items());
    all.any(|hook| hook.get(field).is_some())
}

/// The member of a reply that a command prints as it is.
const PRINTED: &str = "printed";

/// Where an event has its canonical name.
const EVENT: &str = "/event";

/// hookwire's own.
pub fn native() -> &'static Dialect {
    &native::DIALECT
}

/// Every dialect.
pub static DIALECTS: LazyLock<Vec<&'static Dialect>> =
    LazyLock::new(|| built_in().chain(described::all_described()).collect());

/// The dialects that have a file of their own here.
fn built_in() -> impl Iterator<Item = &'static Dialect> {
    #[cfg(feature = "systems")]
    let systems = &systems::DIALECTS;
    #[cfg(not(feature = "systems"))]
    let systems: &[&Dialect] = &[];
    BUILT_IN.iter().chain(systems).copied()
}

static BUILT_IN: &[&Dialect] = &[
    &native::DIALECT,
    &claude_code::DIALECT,
    &codex::DIALECT,
    &gemini::DIALECT,
    &qwen::DIALECT,
    &copilot::DIALECT,
    &cline::DIALECT,
    &opencode::DIALECT,
    #[cfg(test)]
    &sample::DIALECT,
];

/// A vocabulary.
#[derive(Debug)]
pub struct Dialect {
    /// The system, for people; of an agent what is to be said beside its name.
    pub about: &'static str,
    /// How its hooks are spoken to. Holds the dialect's name.
    pub contract: Contract,
    /// Its events.
    pub events: &'static [EventRow],
    /// JSON pointer of the event's name in a payload.
    pub event_name: &'static str,
    /// Where members live: JSON pointers, theirs and ours. An event's own pairs come first. A pair
    /// with `/event` is another place of the event's name, which then counts before `event_name`.
    pub members: &'static [(&'static str, &'static str)],
    /// Completes the native event with what the tables can't say, given the payload and the event.
    /// An error says what is wrong with the payload.
    pub complete: fn(&Value, &mut Value) -> Result<(), String>,
    /// A verdict in its words at an event that it knows: what a hook of that system would have
    /// replied.
    reply: fn(&Event, &Verdict) -> Value,
    /// How its own definition files become hookwire's, if it has such.
    pub files: Option<Files>,
    /// What is special about its clients, if they are a coding agent.
    pub agent: Option<CodingAgent>,
}

/// A coding agent: people use it as it is, and it runs each hook as a command. Nobody at hand wrote
/// its payloads, so what isn't known of them is no mistake. What else is known of it is in
/// `agents`.
#[derive(Debug)]
pub struct CodingAgent {
    /// How a command tells it no.
    pub refusal: Refusal,
    /// Whether it keeps a result that is denied from the model at an event where it takes no other
    /// value.
    pub withholds: bool,
    /// Where it says of a call which MCP server it goes to, if it doesn't name tools as
    /// `mcp__SERVER__TOOL`.
    pub mcp: Option<McpNames>,
}

/// An event's turn, where an agent asks a person at one event of a call and not at another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// A question is left to the later event.
    Leaves,
    /// What was left is asked.
    Asks,
}

/// How a command that can't give a verdict tells an agent no.
#[derive(Debug)]
pub enum Refusal {
    /// With exit code 2 and the reason on stderr; but at these events, by their canonical names,
    /// with a reply.
    ExitCode(&'static [&'static str]),
    /// With a reply on stdout and exit code 0.
    Reply,
}

/// Where a call's MCP server and its tool are in an event.
#[derive(Debug)]
pub struct McpNames {
    /// The agent's tool that all such calls are of; `None`: only they have the other two.
    pub caller: Option<&'static str>,
    /// JSON pointer of the server's name.
    pub server: &'static str,
    /// JSON pointer of the tool's name on the server.
    pub tool: &'static str,
    /// What stands before the server in a name that has both, and what between the two. Where that
    /// name is, is the server's place; without one it is the call's own.
    pub within: Option<(&'static str, &'static str)>,
}

/// The name of a call's tool as rules have it, if the tool is one of an MCP server.
fn mcp_name(names: Option<&McpNames>, data: &Value) -> Option<Box<str>> {
    let text = |pointer: &str| data.pointer(pointer)?.as_str().filter(|it| !it.is_empty());
    let Some(names) = names else {
        return Some(tools::without_plugin(text(TOOL_NAME)?)?.into());
    };
    if names
        .caller
        .is_some_and(|caller| text(TOOL_NAME) != Some(caller))
    {
        return None;
    }
    if let Some((before, between)) = names.within {
        let place = if names.server.is_empty() {
            TOOL_NAME
        } else {
            names.server
        };
        let (server, tool) = text(place)?.strip_prefix(before)?.split_once(between)?;
        return Some(format!("mcp__{}__{}", plain_name(server), plain_name(tool)).into());
    }
    Some(
        format!(
            "mcp__{}__{}",
            plain_name(text(names.server)?),
            plain_name(text(names.tool)?)
        )
        .into(),
    )
}

/// A name as it is within that of an MCP tool.
fn plain_name(name: &str) -> String {
    name.chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || c == '_' || c == '-' {
                c
            } else {
                '_'
            }
        })
        .collect()
}

/// Definition files as another system writes them.
#[derive(Debug)]
pub struct Files {
    /// Whether a file that names no dialect is written for that system.
    pub recognises: fn(&Node) -> bool,
    /// Fields of a hook that only that system has.
    pub marks: &'static [&'static str],
    /// Members of a file that only that system has.
    pub members: &'static [&'static str],
    /// Whether a map of events to lists of hooks is written for that system, where a file says no
    /// dialect.
    pub has_such_lists: fn(&Dialect, &Node) -> bool,
    /// How a file is written for it, if not by its dialect's name.
    pub form: Option<&'static str>,
    /// Its agents call tools as hookwire does, although it knows them by their own names.
    pub has_canonical_tools: bool,
    /// The same file as hookwire's own would be: `hooks` with native fields, each value where its
    /// original is written. What is native already stays as it is. A problem that names a hook, by
    /// the `name` that it has in the result, breaks that hook alone.
    pub read: fn(&Dialect, &Node, OwnKeys, &mut Vec<Problem>) -> Node,
}

/// The keys that hookwire's own hooks may have beside their handler. Most have their meaning in
/// hooks of another system's files, too.
pub type OwnKeys = &'static [&'static str];

/// What no other system's files have.
const NO_FILES: Files = Files {
    recognises: |_| false,
    marks: &[],
    members: &[],
    has_such_lists: |_, _| false,
    form: None,
    has_canonical_tools: false,
    read: |_, root, _, _| root.clone(),
};

/// An event of a dialect.
#[derive(Debug)]
pub struct EventRow {
    /// Its name there.
    pub name: &'static str,
    /// Other names of it, in definitions and payloads.
    pub also: &'static [&'static str],
    /// Whether a payload is of this row, where several rows have the same name.
    pub picks: Option<fn(&Value) -> bool>,
    /// Its canonical name. Of several rows with the same one, an event from elsewhere is of the
    /// first.
    pub canonical: &'static str,
    /// The event for which people write hooks that are meant here too, where other agents have a
    /// moment of its own for it. They run at this one. The row's own name is for hooks that are
    /// meant here alone, where its canonical name is for more.
    pub near: Option<&'static str>,
    /// A deny is obeyed there.
    pub blocks: bool,
    /// To a command, only an exit code is a deny there.
    pub denies_by_exit: bool,
    /// A rewritten subject is obeyed there.
    pub rewrites: bool,
    /// What a command prints there is a text for the model, and nothing else.
    pub prints_context: bool,
    /// Members that live elsewhere in this event.
    pub members: &'static [(&'static str, &'static str)],
}

/// An event that has its canonical name.
const fn canonical_row(name: &'static str) -> EventRow {
    EventRow::new(name, name)
}

/// An event with other names beside its own.
const fn named_row(
    name: &'static str,
    also: &'static [&'static str],
    canonical: &'static str,
) -> EventRow {
    EventRow {
        also,
        ..EventRow::new(name, canonical)
    }
}

impl EventRow {
    /// An event with one name, which the row alone has, and members where the dialect has them.
    const fn new(name: &'static str, canonical: &'static str) -> EventRow {
        EventRow {
            name,
            also: &[],
            picks: None,
            canonical,
            near: None,
            blocks: false,
            denies_by_exit: false,
            rewrites: false,
            prints_context: false,
            members: &[],
        }
    }

    /// Only such payloads are of this row.
    const fn picks(self, picks: fn(&Value) -> bool) -> EventRow {
        EventRow {
            picks: Some(picks),
            ..self
        }
    }

    /// Hooks on that event are meant here too.
    const fn near(self, event: &'static str) -> EventRow {
        EventRow {
            near: Some(event),
            ..self
        }
    }

    /// The event that hooks are for which name this row.
    pub fn meant(&self) -> &'static str {
        self.near
            .filter(|near| *near == self.name)
            .unwrap_or(self.canonical)
    }

    /// Whether hooks on this event run there.
    pub fn is_for(&self, event: &str) -> bool {
        self.canonical == event || self.near == Some(event)
    }

    /// A deny is obeyed there.
    const fn blocks(self) -> EventRow {
        EventRow {
            blocks: true,
            ..self
        }
    }

    /// To a command, only an exit code is a deny there.
    const fn denies_by_exit(self) -> EventRow {
        EventRow {
            denies_by_exit: true,
            ..self
        }
    }

    /// A rewritten subject is obeyed there.
    const fn rewrites(self) -> EventRow {
        EventRow {
            rewrites: true,
            ..self
        }
    }

    /// Members that live elsewhere in this event.
    const fn members(self, members: &'static [(&'static str, &'static str)]) -> EventRow {
        EventRow { members, ..self }
    }
}

impl Dialect {
    /// The name.
    pub fn name(&self) -> &'static str {
        self.contract.dialect
    }

    /// The name, and how a file says that it is written for this dialect.
    fn with_how_to_write(&self) -> (&'static str, String) {
        let form = self.files.as_ref().and_then(|files| files.form);
        let name = self.name();
        (name, form.map_or_else(|| at_the_top(name), Into::into))
    }

    /// The system, with the version of an agent.
    pub fn titled(&self) -> String {
        let agent = self
            .facts()
            .map(|agent| format!("{} {}", agent.title, agent.version));
        agent.unwrap_or_default() + self.about
    }

    /// What is known of the agent that speaks it.
    pub fn facts(&self) -> Option<&'static Agent> {
        self.agent
            .as_ref()
            .and_then(|_| agents::by_name(self.name()).ok())
    }

    /// The decisions that its clients honour at an event.
    pub fn honours(&self, event: &Event) -> Honours {
        let (rewrite, withhold) = (self.takes_rewrites(event), self.withholds(event));
        let honours = Honours::from_contract(&self.contract, event, rewrite, withhold);
        Honours {
            ask: honours.ask && !self.asks_nobody(event),
            ..honours
        }
    }

    /// Whether its agent, as it was started, puts what is answered with a question to nobody.
    fn asks_nobody(&self, event: &Event) -> bool {
        let original = event.original.as_ref();
        original
            .filter(|original| original.dialect == self.name())
            .is_some_and(|original| {
                self.facts()
                    .is_some_and(|agent| agent.is_asking_nobody(original, false))
            })
    }

    /// What tells a moment from others, if its payload alone doesn't: several entries of an agent may
    /// ask about one in other words.
    pub fn moment(&self, event: &Event) -> Option<String> {
        match self.name() {
            "copilot" => copilot::moment(event),
            _ => None,
        }
    }

    /// What an event has to do with a question that its agent is asked at one event of a call and
    /// not at another, and what tells the call from others.
    pub fn turn(&self, event: &Event) -> Option<(Turn, String)> {
        let turn = described::question_turn(self.name(), event)?;
        Some((turn, event.at("/tool/input/command")?.as_str()?.to_string()))
    }

    /// Whether it has an event of this name.
    fn has_event(&self, name: &str) -> bool {
        self.rows_named(name).next().is_some()
    }

    /// The members at the top of a payload that name the event.
    fn naming_members(&self) -> impl Iterator<Item = &'static str> {
        let others = self
            .members
            .iter()
            .filter(|(_, ours)| *ours == EVENT)
            .map(|(theirs, _)| *theirs);
        others
            .chain([self.event_name])
            .filter_map(|place| place.strip_prefix('/'))
    }

    /// The rows that a text names.
    fn rows_named<'a>(&self, name: &'a str) -> impl Iterator<Item = &'static EventRow> + use<'a> {
        self.events
            .iter()
            .filter(move |row| row.name == name || row.also.contains(&name))
    }

    /// The row of an event, by its canonical name.
    pub fn row(&self, canonical: &str) -> Option<&'static EventRow> {
        self.events.iter().find(|row| row.canonical == canonical)
    }

    /// The row that an event was read by, else that of its canonical name.
    fn row_of(&self, event: &Event) -> Option<&'static EventRow> {
        if event.unknown_gate().is_some() {
            return self.row(&event.name);
        }
        let read = self
            .original_payload(event)
            .and_then(|payload| self.identify_event(payload).ok());
        read.map_or_else(|| self.row(&event.name), |(row, _)| row)
    }

    /// Whether a client that speaks it takes a rewritten subject. An agent doesn't at events that
    /// it alone knows.
    pub fn takes_rewrites(&self, event: &Event) -> bool {
        event.unknown_gate().is_none()
            && self
                .row_of(event)
                .map_or(self.agent.is_none(), |row| row.rewrites)
    }

    /// Why an agent isn't told to ask hookwire at an event of this name, if it isn't.
    pub fn why_unasked(&self, name: &str) -> Option<&'static str> {
        self.facts()?
            .unasked
            .iter()
            .find(|(event, _)| event == name)
            .map(|(_, why)| &**why)
    }

    /// The names of the events at which an agent is told to ask hookwire, each once.
    pub fn asked_events(&self) -> Vec<&'static str> {
        let mut names: Vec<&str> = self
            .events
            .iter()
            .map(|row| row.name)
            .filter(|name| self.why_unasked(name).is_none())
            .collect();
        names.dedup();
        names
    }

    /// Whether an agent asks before a call of a tool, at an event that nobody knows: its payload
    /// names the tool and has its input, nothing in it has come of a call, and the name doesn't say
    /// that something has happened.
    pub fn is_unknown_gate(&self, payload: &Value) -> bool {
        self.identify_event(payload).is_ok_and(|(row, canonical)| {
            row.is_none() && self.gate_like(&canonical, payload).is_some()
        })
    }

    /// Whether an event of this name, of which no more is known, may be one before a call of a
    /// tool.
    fn may_be_gate(&self, name: &str) -> bool {
        self.agent.is_some()
            && !name.is_empty()
            && !self.has_event(name)
            && self
                .other_event(name)
                .is_ok_and(|canonical| is_before(&canonical))
    }

    /// The members at the top of a payload that name the tool before a call and hold its input, as
    /// far as one form of it goes.
    fn tool_members(&self) -> impl Iterator<Item = &'static str> {
        let rows = self
            .row("PreToolUse")
            .map_or(&[][..], |row| row.members)
            .iter()
            .chain(self.members);
        [TOOL_NAME, "/tool/input"]
            .into_iter()
            .filter_map(move |wanted| {
                rows.clone()
                    .find(|(_, ours)| *ours == wanted)?
                    .0
                    .split('/')
                    .nth(1)
            })
    }

    /// The row of events before calls of tools, if an event that has no row looks like one.
    fn gate_like(&self, canonical: &str, payload: &Value) -> Option<&'static EventRow> {
        let row = self
            .row("PreToolUse")
            .filter(|_| is_before(canonical) && self.agent.is_some())?;
        let pairs = row.members.iter().chain(self.members);
        let find = |ours: &str| {
            let places = pairs
                .clone()
                .filter(move |(_, pair)| *pair == ours)
                .map(|(theirs, _)| *theirs);
            places
                .filter_map(|place| payload.pointer(place))
                .find(|it| !it.is_null())
        };
        find(TOOL_NAME)?.as_str().filter(|name| !name.is_empty())?;
        find("/tool/input")?;
        let words = ["result", "response", "output", "error", "duration"];
        let of_rows = self
            .events
            .iter()
            .flat_map(|row| row.members)
            .chain(self.members);
        let mut results =
            of_rows.filter(|(_, ours)| ["/tool/output", "/tool/error"].contains(ours));
        let has_result =
            results.any(|(theirs, _)| payload.pointer(theirs).is_some_and(|it| !it.is_null()));
        (!has_result
            && !payload.as_object()?.iter().any(|(key, value)| {
                !value.is_null()
                    && words
                        .iter()
                        .any(|word| key.to_ascii_lowercase().contains(word))
            }))
        .then_some(row)
    }

    /// Whether a result that is denied at an event is kept from the model: an agent that takes no
    /// other value may show it.
    pub fn withholds(&self, event: &Event) -> bool {
        self.agent.as_ref().is_none_or(|agent| agent.withholds) || self.takes_rewrites(event)
    }

    /// The name of an event there; its canonical one, or what an agent calls it, if it has none.
    fn name_of<'a>(&self, event: &'a Event) -> &'a str {
        self.row_of(event).map_or_else(
            || {
                event
                    .name
                    .strip_prefix(CUSTOM_PREFIX)
                    .unwrap_or(&event.name)
            },
            |row| row.name,
        )
    }

    /// What a command says at an event to an agent that is to obey a failure as a "no": nothing
    /// where the event can't be blocked, and nothing where the agent wants to rest, because it
    /// would be sent back to work for ever. The event goes by the agent's name or the canonical
    /// one; empty if it isn't known.
    pub fn refuse(&self, reason: &str, moment: &Moment) -> Said {
        if moment.is_unknown_gate {
            return Said::no_by_exit(reason);
        }
        let (Some(agent), Some(row)) = (&self.agent, self.refusable_row(&moment.name)) else {
            return Said::default();
        };
        match agent.refusal {
            Refusal::ExitCode(but_at) if !but_at.contains(&row.canonical) => {
                Said::no_by_exit(reason)
            }
            Refusal::ExitCode(_) | Refusal::Reply => {
                let reply = self
                    .refusing_reply(reason, moment)
                    .map(|reply| reply.to_string());
                Said {
                    stdout: reply.unwrap_or_default(),
                    ..Said::default()
                }
            }
        }
    }

    /// What a command says that got this reply for an event, by the agent's name; nothing if hooks
    /// have nothing to say.
    pub fn say_reply(&self, reply: &Value, event: &str) -> Said {
        let is_deny = reply
            .get("decision")
            .is_some_and(|decision| decision == "block");
        if let Some(text) = reply
            .get(PRINTED)
            .filter(|_| self.rows_named(event).any(|row| row.prints_context))
        {
            return Said {
                stdout: text.as_str().unwrap_or_default().into(),
                ..Said::default()
            };
        }
        // Of an event that isn't known nothing else is known to be a "no".
        let is_unknown = !event.is_empty() && !self.has_event(event);
        if is_deny && (is_unknown || self.rows_named(event).any(|row| row.denies_by_exit)) {
            return Said::no_by_exit(
                reply
                    .get("reason")
                    .and_then(Value::as_str)
                    .unwrap_or_default(),
            );
        }
        Said {
            stdout: asked::text_for_agent(reply),
            ..Said::default()
        }
    }

    /// The reply to an event, by the agent's name, that lets all pass and has a message for the
    /// person, if its replies have a place for one.
    pub fn telling_reply(&'static self, event: &str, message: &str) -> Option<Value> {
        let mut payload = json!({ "hook_event_name": event, "prompt": "", "source": "startup" });
        payload["hookName"] = event.into();
        let event = self.read_event(payload).ok()?;
        let mut verdict = Verdict::silent(Decision::Allow, 0, "".into(), event.id.clone());
        verdict.user_messages.push(message.to_string());
        let reply = self.reply_to(&event, &verdict);
        reply.to_string().contains(message).then_some(reply)
    }

    /// A verdict in its words. A coding agent shows people what it is told as it is, so that is
    /// made readable.
    pub fn reply_to(&self, event: &Event, verdict: &Verdict) -> Value {
        let mut verdict = verdict.without_observers();
        if self.agent.is_some() {
            verdict.to_mut().make_readable();
        }
        let verdict = &*verdict;
        if event.unknown_gate().is_none() || self.original_payload(event).is_none() {
            return (self.reply)(event, verdict);
        }
        match (verdict.decision, &verdict.stop) {
            (Decision::Allow, None) => json!({}),
            (Decision::Allow, Some(stop)) => unknown_no(stop),
            (Decision::Ask | Decision::Defer | Decision::Deny, _) => {
                unknown_no(verdict.reason.as_deref().unwrap_or_default())
            }
        }
    }

    /// The same as a reply, for agents that ask otherwise than by a command; nothing where `refuse`
    /// says nothing.
    pub fn refusing_reply(&self, reason: &str, moment: &Moment) -> Option<Value> {
        if moment.is_unknown_gate {
            return Some(unknown_no(reason));
        }
        let row = self.refusable_row(&moment.name)?;
        let event =
            Event::from_json(json!({"event": row.canonical, "tool": {"name": "unknown"}})).ok()?;
        let mut verdict = Verdict::silent(Decision::Deny, 0, "".into(), event.id.clone());
        verdict.reason = Some(reason.into());
        Some((self.reply)(&event, &verdict))
    }

    /// The row of an event that may be refused; see [`Dialect::refuse`].
    fn refusable_row(&self, event: &str) -> Option<&'static EventRow> {
        let event = if event.is_empty() {
            "PreToolUse"
        } else {
            event
        };
        let row = self.rows_named(event).next().or_else(|| self.row(event));
        row.filter(|row| {
            self.agent.is_some()
                && row.blocks
                && !spec(row.canonical).is_some_and(|spec| spec.rest || spec.closes && !spec.tool)
        })
    }

    /// The payload that an event was read from, if it came in this vocabulary.
    fn original_payload<'a>(&self, event: &'a Event) -> Option<&'a Value> {
        event
            .original
            .as_ref()
            .filter(|original| original.dialect == self.name())
            .map(|original| &original.payload)
    }

    /// Translates a payload.
    ///
    /// # Errors
    /// Says what is missing, and the nearest name for an unknown event.
    pub fn read_event(&'static self, payload: Value) -> Result<Event, NotAnEvent> {
        if self.name() == NATIVE {
            return Event::from_json(payload);
        }
        let Some(object) = payload.as_object() else {
            return Err(NotAnEvent(format!(
                "a {} payload is a JSON object",
                self.name()
            )));
        };
        let (row, name) = self.identify_event(&payload)?;
        let gate = if row.is_none() {
            self.gate_like(&name, &payload)
        } else {
            None
        };
        let near = row
            .and_then(|row| row.near)
            .map(Cow::Borrowed)
            .or(gate.map(|_| Cow::Owned(name.clone())));
        let mut data = Value::Object(Map::new());
        set_pointer(
            &mut data,
            EVENT,
            Value::String(gate.map_or(name, |row| row.canonical.to_string())),
        );
        let own = row.or(gate).map_or(&[][..], |row| row.members);
        let mut taken = vec![self.event_name];
        let mut placed: Vec<(&str, &str)> = Vec::new();
        for (theirs, ours) in own.iter().chain(self.members) {
            let Some(value) = payload.pointer(theirs).filter(|_| !taken.contains(theirs)) else {
                continue;
            };
            taken.push(theirs);
            match placed.iter().find(|(_, it)| it == ours) {
                _ if *ours == EVENT => {}
                // Null is as good as absent.
                None => {
                    set_pointer(&mut data, ours, value.clone());
                    placed.extend((!value.is_null()).then_some((*theirs, *ours)));
                }
                Some(first)
                    if value.is_null()
                        || data.pointer(ours) == Some(value)
                        || own.contains(first) => {}
                // An agent that says two things but of its tool isn't kept from it by that.
                Some(_) if self.agent.is_some() && !ours.starts_with("/tool/") => {}
                Some((first, _)) => return Err(two_values(first, theirs)),
            }
        }
        // Members that the table lacks pass through under their own names, but for those that
        // hookwire would take for its own.
        if let Some(data) = data.as_object_mut() {
            for (key, value) in object {
                let is_taken = taken
                    .iter()
                    .any(|pointer| pointer.strip_prefix('/') == Some(key));
                if !is_taken && !MEMBERS.contains(&key.as_str()) && !data.contains_key(key) {
                    data.insert(key.clone(), value.clone());
                }
            }
        }
        (self.complete)(&payload, &mut data).map_err(NotAnEvent)?;
        if self.agent.is_some() {
            drop_misfits(&mut data);
        }
        let may_lack_tool = self.contract.is_for_others.is_some();
        if lacks_tool(&data)
            && !may_lack_tool
            && let Some((theirs, _)) = self.members.iter().rfind(|(_, ours)| *ours == TOOL_NAME)
        {
            return Err(no_tool(&describe_pointer(theirs)));
        }
        let tool = self
            .agent
            .as_ref()
            .and_then(|agent| mcp_name(agent.mcp.as_ref(), &data));
        let mut event = Event::from_data(data, may_lack_tool)?;
        let is_unknown_gate = gate.is_some();
        event.original = Some(Arc::new(Original {
            dialect: self.name(),
            payload,
            near,
            is_unknown_gate,
            tool,
            attended: None,
            asker: None,
        }));
        Ok(event)
    }

    /// The row of a payload's event, if the table has it, and the event's canonical name.
    fn identify_event(
        &self,
        payload: &Value,
    ) -> Result<(Option<&'static EventRow>, String), NotAnEvent> {
        let others = self
            .members
            .iter()
            .filter(|(_, ours)| *ours == EVENT)
            .map(|(theirs, _)| *theirs);
        let mut found: Option<(&str, Option<&'static EventRow>, String)> = None;
        for place in others.chain([self.event_name]) {
            let name = match payload.pointer(place) {
                None | Some(Value::Null) => continue,
                Some(Value::String(name)) => name.clone(),
                Some(Value::Number(number)) => number.to_string(),
                Some(_) if self.agent.is_some() => continue,
                Some(_) => {
                    return Err(NotAnEvent(format!(
                        "`{}`: the name of the event is a string",
                        describe_pointer(place)
                    )));
                }
            };
            let row = self
                .rows_named(&name)
                .find(|row| row.picks.is_none_or(|picks| picks(payload)));
            let canonical = || {
                row.map_or_else(
                    || self.other_event(&name),
                    |row| Ok(row.canonical.to_string()),
                )
            };
            match &found {
                // An agent may have two names for a moment, of which the first is what it runs
                // hooks by.
                Some(_) if self.agent.is_some() => {}
                // Claude Code's FileChanged says under `event` what happened to the file.
                Some((_, Some(_), _))
                    if row.is_none()
                        && spec(&name).is_none()
                        && self.contract.takes_other_events => {}
                Some((first, _, earlier)) => {
                    if canonical()? != *earlier {
                        return Err(two_values(first, place));
                    }
                }
                None => found = Some((place, row, canonical()?)),
            }
        }
        found
            .map(|(_, row, canonical)| (row, canonical))
            .ok_or_else(|| {
                NotAnEvent(format!(
                    "`{}` is missing: the name of the event",
                    describe_pointer(self.event_name)
                ))
            })
    }

    /// The canonical name of an event that the table lacks. Where people write clients, a misspelt
    /// name of one that it has is an error.
    fn other_event(&self, name: &str) -> Result<String, NotAnEvent> {
        let nearest =
            closest(name, self.events.iter().map(|row| row.name)).filter(|_| self.agent.is_none());
        let takes_others = self.contract.takes_other_events || self.agent.is_some();
        match nearest {
            Some(nearest) => Err(NotAnEvent(format!(
                "unknown {} event `{name}`; did you mean `{nearest}`?",
                self.name()
            ))),
            None if !takes_others || name.is_empty() => Err(NotAnEvent(format!(
                "unknown {} event `{name}`",
                self.name()
            ))),
            None if spec(name).is_some() => Ok(name.to_string()),
            None => Ok(format!("{CUSTOM_PREFIX}{name}")),
        }
    }

    /// An event as a hook of this dialect reads it: the payload that it was read from, as far as
    /// nothing has changed.
    fn write_event(&self, event: &Event) -> Value {
        let own = self.row_of(event).map_or(&[][..], |row| row.members);
        let pairs = || own.iter().chain(self.members);
        let original = self.original_payload(event);
        let mut payload = original
            .cloned()
            .unwrap_or_else(|| Value::Object(Map::new()));
        // An agent's hooks read the name that it uses itself, unless they wouldn't know it.
        if original.is_none() || self.agent.is_none() || event.unknown_gate().is_some() {
            set_pointer(&mut payload, self.event_name, self.name_of(event).into());
        }
        let mut given: Vec<&str> = vec![EVENT];
        for (theirs, ours) in pairs() {
            let Some(value) = event.data().pointer(ours).filter(|_| !given.contains(ours)) else {
                continue;
            };
            given.push(ours);
            let places = pairs()
                .filter(|(_, pair)| pair == ours)
                .map(|(theirs, _)| *theirs);
            let mut there: Vec<&str> = places
                .filter(|place| payload.pointer(place).is_some_and(|it| !it.is_null()))
                .collect();
            if there.first().and_then(|it| payload.pointer(it)) == Some(value) {
                continue;
            }
            if there.is_empty() {
                there.push(theirs);
            }
            for place in there {
                set_pointer(&mut payload, place, value.clone());
            }
        }
        payload
    }
}

/// Whether an event may come before something, by its canonical name.
fn is_before(canonical: &str) -> bool {
    let name = canonical
        .strip_prefix(CUSTOM_PREFIX)
        .unwrap_or(canonical)
        .to_ascii_lowercase();
    let is_after = name.starts_with("post") || name.starts_with("after");
    !is_after && spec(canonical).is_some_and(|spec| spec.phase == Phase::Gate)
}

/// A "no" at an event that isn't known, in the words that mostly are one.
fn unknown_no(reason: &str) -> Value {
    json!({ "decision": "block", "reason": replies::text_or(reason, replies::BLOCKED) })
}

/// A place in a payload, as people write it.
fn describe_pointer(pointer: &str) -> String {
    pointer.trim_start_matches('/').replace('/', ".")
}

/// A payload that gives two values for one member: hooks could judge the one that the client
/// doesn't use.
fn two_values(first: &str, second: &str) -> NotAnEvent {
    NotAnEvent(format!(
        "`{}` and `{}` differ: send one of them",
        describe_pointer(first),
        describe_pointer(second)
    ))
}

/// The names of all.
pub fn dialect_names() -> impl Iterator<Item = &'static str> + Clone {
    DIALECTS.iter().map(|dialect| dialect.name())
}

/// The dialect of this name.
///
/// # Errors
/// Names the nearest one.
pub fn by_name(name: &str) -> Result<&'static Dialect, UnknownName> {
    let found = built_in().find(|dialect| dialect.name() == name);
    if let Some(dialect) = found.or_else(|| described::by_name(name)) {
        return Ok(dialect);
    }
    Err(UnknownName {
        message: format!("unknown dialect `{name}`"),
        nearest: closest(name, dialect_names()),
        otherwise: format!(
            "there are {}",
            dialect_names().collect::<Vec<_>>().join(", ")
        ),
    })
}

/// The dialect of a definition file that names none but has the form of that system's own files.
pub fn recognise_file(root: &Node) -> Option<&'static Dialect> {
    // Gemini's files may have events of Claude Code's, too.
    let mut dialects = std::iter::once(&gemini::DIALECT).chain(built_in());
    dialects.find(|dialect| {
        let files = dialect.files.as_ref();
        files.is_some_and(|files| (files.recognises)(root))
    })
}

/// The canonical names for an event that a definition names in its own dialect's words, hookwire's
/// or any other's. Where others have one event for several of ours, they are all meant.
///
/// # Errors
/// Names the nearest one.
pub fn canonical_names(name: &str, own: &str) -> Result<Vec<Arc<str>>, UnknownName> {
    let events = |dialect: &&'static Dialect| {
        let names: Vec<Arc<str>> = dialect
            .rows_named(name)
            .map(|row| row.meant().into())
            .collect();
        (!names.is_empty()).then_some(names)
    };
    if let Some(names) = by_name(own).ok().and_then(|dialect| events(&dialect)) {
        return Ok(names);
    }
    if spec(name).is_some() {
        return Ok(vec![name.into()]);
    }
    // The number of an event in one system's enum means nothing in another system's file.
    let is_word = !name.bytes().all(|byte| byte.is_ascii_digit());
    DIALECTS
        .iter()
        .filter(|_| is_word)
        .find_map(events)
        .ok_or_else(|| {
            let rows = DIALECTS
                .iter()
                .filter(|dialect| dialect.name() == own)
                .flat_map(|dialect| dialect.events);
            let nearest = closest(
                name,
                rows.flat_map(|row| row.also.iter().copied().chain([row.name])),
            );
            let unknown = unknown_event(name);
            UnknownName {
                nearest: nearest.or(unknown.nearest),
                ..unknown
            }
        })
}
