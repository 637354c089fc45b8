//! The contract of a vocabulary: how hooks that are written in it are called, understood and
//! combined. Dialects provide contracts; engine and handlers keep to them.

use crate::matching::{MatcherRule, ToolNaming};
use hookwire_base::event::Event;
use hookwire_base::template::Placeholders;
#[cfg(doc)]
use hookwire_base::verdict::Outcome;
use hookwire_base::verdict::{Answer, Decision};
use hookwire_base::words;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::Path;
use std::time::Duration;

words! {
    /// What a hook's failure means.
    pub enum Fail {
        /// A non-blocking error: logged, counted, listed in the verdict.
        Open = "open",
        /// Denies a gate, withholds an after-event's subject.
        Closed = "closed",
        /// Asks a person at a gate; like `closed` elsewhere.
        Ask = "ask",
    }
}

/// The rule by which outcomes become a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Composition {
    /// Priority ascending, reversed for after-events; a deny stops the chain. (AgentHook trait.)
    Onion,
    /// Order of registration, unless hooks have priorities: then ascending. A deny stops, the last
    /// rewrite wins. (workflow-framework.)
    Pipeline,
    /// Order of registration, all run; the reasons of all denies are collected. (hooks-article.)
    Veto,
    /// Priority descending; a deny stands, but the other hooks still run. (instructor.)
    Middleware,
    /// All at once on the same snapshot, combined in list order. (Claude Code family, agentpool.)
    Parallel,
}

impl Composition {
    /// Smaller runs earlier. A block of another dialect enters with `None`.
    pub fn order_key(self, priority: Option<i64>) -> i64 {
        match self {
            Composition::Onion | Composition::Pipeline => priority.unwrap_or(100),
            Composition::Middleware => priority.unwrap_or(0).saturating_neg(),
            Composition::Veto | Composition::Parallel => 0,
        }
    }
}

/// How hooks of one vocabulary are called, understood and combined. Dialects provide these.
#[derive(Debug)]
pub struct Contract {
    /// The dialect's name.
    pub dialect: &'static str,
    /// How its hooks combine.
    pub composition: Composition,
    /// Whether its system knows one list of hooks: those that are given with `--hooks`, the
    /// project's and registered ones are then ordered as one. The managed and the user layer stay
    /// outside.
    pub has_one_list: bool,
    /// The event's name in its words.
    pub event_name: fn(&Event) -> &str,
    /// Whether a "no" of its hooks means something at an event of this name.
    pub takes_no: fn(&str) -> bool,
    /// Whether it means something to clients of other vocabularies, where its own system passes it
    /// over.
    pub takes_no_elsewhere: fn(&str) -> bool,
    /// Whether the error of a function says that the function isn't there: then it has judged
    /// nothing, and a gate is denied unless the hook or its file says otherwise.
    pub is_unfound: fn(&str) -> bool,
    /// Whether equal definitions run once (Claude Code family).
    pub runs_equal_hooks_once: bool,
    /// How a matcher is held against a text.
    pub matcher: MatcherRule,
    /// Which names of a tool its conditions know.
    pub tool_naming: ToolNaming,
    /// Tools that its matchers tell from the others of their family.
    pub tools_apart: &'static [&'static str],
    /// The part of an event of this name that a matcher is held against.
    pub matched: fn(&str) -> Target,
    /// Whether matchers name events too: a hook may then leave out `on`, and is for every event.
    pub matcher_names_events: bool,
    /// Where an event about a tool may lack the tool's name: whether a matcher is for other events
    /// than this one. Without it such an event is refused, because every guard of a tool would pass
    /// it by.
    pub is_for_others: Option<fn(&str, &Event) -> bool>,
    /// Whether programs that people write in it may send events that no table has: they are
    /// `custom:` and the name.
    pub takes_other_events: bool,
    /// How long a run may take, unless the hook or its file says.
    pub timeout: Duration,
    /// What a failure means at a gate, unless the hook or its file says; elsewhere it is open.
    pub gates_fail: Fail,
    /// The decisions that its clients know beside allow and deny.
    pub decisions: &'static [Decision],
    /// Whether its clients go on working when they want to rest and a hook has a text for the
    /// model.
    pub context_resumes: bool,
    /// The members of an answer's `context` that its clients can take.
    pub context: &'static [&'static str],
    /// The event as its hooks read it.
    pub payload: fn(&Event) -> Value,
    /// The same for commands, where they read less than others.
    pub stdin: Option<fn(&Event) -> Value>,
    /// Variables that its commands have beside those of the event; the path is their working
    /// directory.
    pub environment: fn(&Event, &Path) -> Vec<(String, String)>,
    /// Variables that hold the project's root, which its agent sets for commands; of
    /// [`PROJECT_VARIABLES`].
    pub project_variables: &'static [&'static str],
    /// How its texts name what the event says.
    pub placeholders: Placeholders,
    /// How its prompts are answered.
    pub judgement: Judgement,
    /// Whether prompts that name no model have a small one, where neither the file, nor the host,
    /// nor the agent has one.
    pub has_small_model: bool,
    /// Reads a JSON reply.
    pub reply: Reader,
    /// Reads a function's result, if other values than objects have a meaning.
    pub returned: Option<Reader>,
    /// The reply that a failed run counts as ([`Outcome::said`]), by the kind of its handler and
    /// the error. It is not asked for a run that was out of time.
    pub failed: fn(&str, &str) -> Option<Value>,
    /// Reads a command's exit.
    pub exit: fn(&Event, &Exit<'_>) -> Result<Answer, String>,
    /// The answer to a command that can't be started: its program, and the reason for people.
    pub unstarted: fn(&str, String) -> Result<Answer, String>,
    /// A merge patch on the event that shows an answer to later hooks of the chain, besides its own
    /// changes. For systems whose hooks see that another one denied.
    pub trace: Option<fn(&Event, &Answer) -> Option<Value>>,
    /// The counts of a run that its agents send themselves, for guards to read. With such agents,
    /// guards that end a run only signal it and deny nothing.
    pub tally: Option<fn(&Event) -> Tally>,
    /// Every hook belongs to an agent. At an event that names no agent the hooks of all agents run,
    /// because the right one isn't known.
    pub belongs_to_agents: bool,
}

/// The counts of a run, as its agent sends them with an event.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tally {
    /// Completed steps.
    pub steps: Option<u64>,
    /// Tokens of all model calls.
    pub tokens: Option<u64>,
    /// When the run began, in milliseconds since 1970.
    pub started_ms: Option<u64>,
    /// When the event happened, in milliseconds since 1970.
    pub now_ms: Option<u64>,
}

/// Turns a JSON reply into an answer; the error is for people.
pub type Reader = fn(&Event, Value) -> Result<Answer, String>;

/// The part of an event that a matcher is held against.
#[derive(Clone, Copy, Debug)]
pub enum Target {
    /// A matcher means nothing here and is passed over.
    Nothing,
    /// A member of the event, by JSON pointer; mostly [`TOOL_NAME`].
    Member(&'static str),
    /// Any of these texts.
    Texts(fn(&Event) -> Vec<String>),
}

impl Target {
    /// Whether it is the tool's name alone.
    pub fn is_tool(self) -> bool {
        matches!(self, Target::Member(TOOL_NAME))
    }
}

/// How a model answers a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// With a verdict in hookwire's form.
    Verdict,
    /// The same, but a person can't be asked. (agentpool.)
    AllowOrDeny,
    /// The same, but to a question the answer YES is a deny. (hooks-article.)
    YesDenies,
    /// With a text, in which one of these words is a deny, in whatever case. Without one of them it
    /// is an allow if a word begins with the other, and else an error. (workflow-framework.)
    Words {
        /// In lower case, anywhere in the text.
        deny: &'static [&'static str],
        /// In lower case, where a word begins.
        allow: &'static str,
    },
}

/// The native dialect's name.
pub const NATIVE: &str = "native";

/// Variables that hold the project's root for commands: hookwire's own, and those of agents.
pub const PROJECT_VARIABLES: [&str; 4] = [
    "HOOKWIRE_PROJECT_DIR",
    "CLAUDE_PROJECT_DIR",
    "GEMINI_PROJECT_DIR",
    "QWEN_PROJECT_DIR",
];

/// Where an event names its tool.
pub const TOOL_NAME: &str = "/tool/name";

impl PartialEq for Contract {
    fn eq(&self, other: &Contract) -> bool {
        self.dialect == other.dialect
    }
}

/// How a command ended.
pub struct Exit<'a> {
    /// The exit code; absent when a signal ended it.
    pub code: Option<i32>,
    /// How the definition names the command.
    pub command: &'a str,
    /// Its standard output.
    pub stdout: &'a str,
    /// Its standard error.
    pub stderr: &'a str,
}

/// The decisions that a client can honour; any other becomes a deny.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Honours {
    /// It can ask a person.
    pub ask: bool,
    /// It can put an act off.
    pub defer: bool,
    /// It can take a rewritten subject.
    pub rewrite: bool,
    /// Where an act has happened, it keeps its result from the model if that is denied.
    pub withhold: bool,
}

impl Honours {
    /// The decisions that a vocabulary knows at an event, which every client that speaks it can
    /// honour.
    pub fn from_contract(
        contract: &Contract,
        event: &Event,
        rewrite: bool,
        withhold: bool,
    ) -> Honours {
        let knows =
            |decision| contract.decisions.contains(&decision) && event.unknown_gate().is_none();
        Honours {
            ask: knows(Decision::Ask),
            defer: knows(Decision::Defer),
            rewrite,
            withhold,
        }
    }
}

impl Default for Honours {
    fn default() -> Self {
        Honours {
            ask: false,
            defer: false,
            rewrite: true,
            withhold: true,
        }
    }
}
