//! The event: one lifecycle moment with its data.
//!
//! The data is the JSON object that came over the wire, since hooks see, test and rewrite it as
//! JSON. The table [`EVENTS`] says what each canonical moment is: its phase and where its subject
//! lives. Which events other systems know, under which names, is the dialects' matter.

mod on;
mod shape;

pub use on::On;
use shape::check_shape;
pub use shape::{EventShape, drop_misfits};

use crate::support::nearest::{UnknownName, closest};
use crate::support::shell_word;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::any::Any;
use std::borrow::Cow;
use std::sync::Arc;
use std::time::SystemTime;

/// What hooks may do at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// Before something happens: hooks may block it and rewrite its subject.
    Gate,
    /// After it happened: hooks may rewrite or augment the result.
    After,
    /// Hooks only observe.
    Note,
}

/// One row of the event table.
#[derive(Debug, PartialEq, Eq)]
pub struct EventSpec {
    /// The canonical name.
    pub name: &'static str,
    /// What hooks may do.
    pub phase: Phase,
    /// JSON pointer of the subject: the value that hooks may rewrite.
    pub subject: Option<&'static str>,
    /// It is about one call of a tool, which it names in `tool.name`.
    pub tool: bool,
    /// The agent wants to rest: a deny sends it back to work.
    pub rest: bool,
    /// It closes what another event opened: an onion runs its hooks from within there.
    pub closes: bool,
    /// It is about a program that starts, which rules take for a call of a shell with one command.
    pub start: bool,
    /// One line for `--help`, hover and the README.
    pub about: &'static str,
}

impl EventSpec {
    const fn new(
        phase: Phase,
        name: &'static str,
        subject: Option<&'static str>,
        about: &'static str,
    ) -> EventSpec {
        EventSpec {
            name,
            phase,
            subject,
            tool: false,
            rest: false,
            closes: false,
            start: false,
            about,
        }
    }

    const fn tool(self) -> EventSpec {
        EventSpec { tool: true, ..self }
    }

    /// JSON pointer of what went wrong, for an event that tells it beside its subject: the model
    /// reads both.
    pub fn error(&self) -> Option<&'static str> {
        (self.tool && self.phase == Phase::After).then_some("/tool/error")
    }

    /// Whether it must name its tool.
    fn needs_tool(&self) -> bool {
        self.tool && self.phase != Phase::Note
    }

    const fn rest(self) -> EventSpec {
        EventSpec { rest: true, ..self }
    }

    const fn closes(self) -> EventSpec {
        EventSpec {
            closes: true,
            ..self
        }
    }

    const fn start(self) -> EventSpec {
        EventSpec {
            start: true,
            ..self
        }
    }
}

const fn gate(name: &'static str, subject: Option<&'static str>, about: &'static str) -> EventSpec {
    EventSpec::new(Phase::Gate, name, subject, about)
}
const fn after(
    name: &'static str,
    subject: Option<&'static str>,
    about: &'static str,
) -> EventSpec {
    EventSpec::new(Phase::After, name, subject, about).closes()
}
const fn note(name: &'static str, about: &'static str) -> EventSpec {
    EventSpec::new(Phase::Note, name, None, about)
}

/// The event that the kernel tells of.
pub const PRE_EXEC: &str = "PreExec";
/// The event before a tool's call, whose rules are held against programs that start, too.
pub const PRE_TOOL_USE: &str = "PreToolUse";
/// The member of `exec` that names the hooks which have had a person asked about the tool call; no
/// client can say it.
pub const ASKED: &str = "asked";
/// The tool that a program's start is taken for.
const SHELL: &str = "Bash";

/// Every event that is known by name; the first block is the canonical list, the second block is
/// added by dialects. `custom:Anything` is understood beside them.
pub static EVENTS: &[EventSpec] = &[
    gate("SessionStart", None, "a session begins or resumes"),
    note("SessionEnd", "a session is over").closes(),
    gate(
        "UserPromptSubmit",
        Some("/prompt"),
        "a person's prompt, before the model reads it",
    ),
    gate("RunStart", Some("/prompt"), "one prompt's run begins"),
    after("RunEnd", Some("/result"), "a run has its result"),
    after(
        "RunError",
        Some("/result"),
        "a run failed; a hook may supply a result",
    ),
    gate("StepStart", None, "one iteration of the agent loop begins"),
    after(
        "StepEnd",
        Some("/lastMessage"),
        "one iteration of the agent loop ended",
    ),
    gate(
        "PreModelCall",
        Some("/model/request"),
        "before a model call",
    ),
    after(
        "PostModelCall",
        Some("/model/response"),
        "after a model call",
    ),
    after(
        "ModelCallError",
        None,
        "a model call failed; a hook may decide on a retry",
    ),
    gate("PreToolUse", Some("/tool/input"), "before a tool runs").tool(),
    after(
        "PostToolUse",
        Some("/tool/output"),
        "after a tool succeeded",
    )
    .tool(),
    after(
        "PostToolUseFailure",
        Some("/tool/output"),
        "after a tool failed",
    )
    .tool(),
    gate(
        "PermissionRequest",
        Some("/tool/input"),
        "a permission would be asked of a person",
    )
    .tool(),
    note("PermissionDenied", "a permission was refused").tool(),
    gate(
        "SubagentStart",
        Some("/prompt"),
        "a sub-agent or sub-workflow begins",
    ),
    gate(
        "SubagentStop",
        Some("/lastMessage"),
        "a sub-agent wants to stop; a deny sends it back to work",
    )
    .rest(),
    gate(
        "PreCompact",
        Some("/compaction"),
        "before the context is compacted",
    ),
    note("PostCompact", "after the context was compacted").closes(),
    note("Checkpoint", "the agent saved a checkpoint"),
    note("Notification", "the agent told its user something"),
    gate(
        "Stop",
        Some("/lastMessage"),
        "the agent wants to stop; a deny sends it back to work",
    )
    .rest(),
    // Known through dialects.
    note("Setup", "a project is set up"),
    note("InstructionsLoaded", "an instruction file was loaded"),
    gate(
        "UserPromptExpansion",
        Some("/prompt"),
        "a slash command expanded into a prompt",
    ),
    gate(
        "PreSkillShellCommand",
        Some("/tool/input"),
        "a skill or a slash command is about to run a shell text",
    )
    .tool(),
    gate(
        "PostToolBatch",
        None,
        "a batch of tool calls is done, before the next model call",
    ),
    after(
        "MessageDisplay",
        Some("/lastMessage"),
        "a message is about to be shown",
    ),
    note("StopFailure", "a turn ended in an error"),
    gate("TaskCreated", None, "a task was created"),
    gate("TaskCompleted", None, "a task is about to be completed"),
    gate(
        "TeammateIdle",
        None,
        "a teammate is about to go idle; a deny sends it back to work",
    )
    .rest(),
    gate("PreModelSwitch", None, "before the model is switched"),
    note("PostModelSwitch", "after the model was switched"),
    gate("ConfigChange", None, "a configuration file changed"),
    note("CwdChanged", "the working directory changed"),
    note("DirectoryAdded", "a directory joined the session"),
    note("FileChanged", "a watched file changed"),
    gate("WorktreeCreate", None, "a worktree is about to be created"),
    note("WorktreeRemove", "a worktree was removed"),
    gate("Elicitation", None, "a server asks the user for input"),
    gate(
        "ElicitationResult",
        None,
        "a user's answer goes back to a server",
    ),
    // Told by the kernel, and by no agent.
    gate(
        PRE_EXEC,
        None,
        "a program is about to start, anywhere below `hookwire run`",
    )
    .tool()
    .start(),
];

static CUSTOM: EventSpec = gate(
    "custom",
    Some("/data"),
    "an event that only its agent knows",
);

/// The prefix of events that only their agent knows.
pub const CUSTOM_PREFIX: &str = "custom:";

/// The table row for a canonical name, or for `custom:Anything`.
pub fn spec(name: &str) -> Option<&'static EventSpec> {
    if name
        .strip_prefix(CUSTOM_PREFIX)
        .is_some_and(|rest| !rest.is_empty())
    {
        return Some(&CUSTOM);
    }
    EVENTS.iter().find(|spec| spec.name == name)
}

/// Whether an event of this name may be about a tool: only its agent knows what a custom event is
/// about.
pub fn may_be_about_a_tool(name: &str) -> bool {
    name.starts_with(CUSTOM_PREFIX) || spec(name).is_none_or(|spec| spec.tool)
}

/// One lifecycle moment. Immutable and shared; a rewrite makes a new one.
#[derive(Clone, Debug)]
pub struct Event {
    /// The name as the table has it, or `custom:Anything`.
    pub name: Arc<str>,
    /// What the table says of it.
    pub spec: &'static EventSpec,
    /// Identifies the event in logs and verdicts.
    pub id: Arc<str>,
    data: Value,
    /// What `data` says, for those who ask at every event: to look it up takes time.
    brief: Brief,
    /// The payload as the client's dialect had it, for hooks that speak the same dialect.
    pub original: Option<Arc<Original>>,
    /// What the program that embeds the host hands its own hooks along with it.
    pub attached: Option<Attached>,
    /// When it happens in a test; everywhere else it happens now.
    pub time: Option<SystemTime>,
}

#[derive(Clone, Debug)]
struct Brief {
    tool: Option<Arc<str>>,
    has_cwd: bool,
    has_shell: bool,
    has_deadline: bool,
}

/// A value of whatever type; it is on no wire.
#[derive(Clone)]
pub struct Attached(pub Arc<dyn Any + Send + Sync>);

impl std::fmt::Debug for Attached {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Attached")
    }
}

/// A payload in a dialect's own vocabulary.
#[derive(Debug)]
pub struct Original {
    /// The dialect's name.
    pub dialect: &'static str,
    /// The payload, untouched.
    pub payload: Value,
    /// Another event whose hooks are meant at this one: its dialect has no moment of its own for
    /// it, or calls a moment by this name too.
    pub near: Option<Cow<'static, str>>,
    /// Nobody knows what the agent asks here, but it asks before a tool is called: see
    /// [`Event::unknown_gate`].
    pub is_unknown_gate: bool,
    /// What rules may call the tool, beside its own name.
    pub tool: Option<Box<str>>,
    /// Whether a person can be asked where the agent runs, if that is known and not in the payload.
    pub attended: Option<bool>,
    /// The user who has asked, where every user of the machine may ask: what is counted and kept is
    /// that user's alone.
    pub asker: Option<u32>,
}

/// The session in which an agent's entry is asked only to see what it answers.
pub const PROBE_SESSION: &str = "hookwire-doctor";

/// Why a JSON value is not an event.
#[derive(Debug, PartialEq, Eq)]
pub struct NotAnEvent(pub String);

impl std::fmt::Display for NotAnEvent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NotAnEvent {}

impl Event {
    /// The user who has asked, where every user of the machine may.
    pub fn asker(&self) -> Option<u32> {
        self.original.as_ref()?.asker
    }

    /// Takes a native event apart.
    ///
    /// # Errors
    /// Names the member that is missing or has the wrong type, and for an unknown event name the
    /// nearest known one.
    pub fn from_json(data: Value) -> Result<Event, NotAnEvent> {
        Event::from_data(data, false)
    }

    /// The same; an event about a tool `may_lack_tool`, if whoever judges it looks whether a hook
    /// asks for the tool.
    pub fn from_data(mut data: Value, may_lack_tool: bool) -> Result<Event, NotAnEvent> {
        let Some(object) = data.as_object_mut() else {
            return Err(NotAnEvent("an event is a JSON object".into()));
        };
        let mut glance = Glance::at(object);
        if glance.has_blocked {
            object.remove(BLOCKED);
            glance = Glance::at(object);
        }
        if glance.event.and_then(Value::as_str) == Some(PRE_EXEC) {
            take_for_call(object)?;
            glance = Glance::at(object);
        }
        let Glance {
            event,
            tool,
            tool_name,
            is_plain,
            ..
        } = glance;
        let brief = glance.brief();
        let name = match event {
            Some(Value::String(name)) => name.as_str(),
            Some(_) => return Err(NotAnEvent("`event` is a string".into())),
            None if object.contains_key("hook_event_name") => {
                return Err(NotAnEvent(
                    "`event` is missing: with `hook_event_name`, this is an agent's own payload, which needs its `dialect`, such \
                     as claude-code"
                        .into(),
                ));
            }
            None => {
                return Err(NotAnEvent(
                    "`event` is missing: the name of the moment; an agent's own payload needs its `dialect`".into(),
                ));
            }
        };
        let Some(spec) = spec(name) else {
            return Err(NotAnEvent(unknown_event(name).to_string()));
        };
        if !may_lack_tool
            && spec.needs_tool()
            && tool_name.is_none_or(str::is_empty)
            && names_no_tool(tool)
        {
            return Err(no_tool("tool.name"));
        }
        let name = Arc::from(name);
        if !is_plain {
            check_shape(&data)?;
        }
        Ok(Event {
            name,
            spec,
            id: next_id(),
            data,
            brief,
            original: None,
            attached: None,
            time: None,
        })
    }

    /// The whole event as a JSON object in the native vocabulary.
    pub fn data(&self) -> &Value {
        &self.data
    }

    /// Changes the event as JSON; its name stays what it is.
    pub fn change(&mut self, change: impl FnOnce(&mut Value)) {
        change(&mut self.data);
        self.brief = self
            .data
            .as_object()
            .map(Glance::at)
            .unwrap_or_default()
            .brief();
    }

    /// The value that hooks may rewrite, if the moment has one.
    pub fn subject(&self) -> Option<&Value> {
        self.spec.subject.and_then(|pointer| self.at(pointer))
    }

    /// The tool that the event is about.
    pub fn tool_name(&self) -> Option<&str> {
        self.brief.tool.as_deref()
    }

    /// What the tool is given.
    pub fn tool_input(&self) -> Option<&Value> {
        self.tool()?.get("input")
    }

    fn tool(&self) -> Option<&Map<String, Value>> {
        self.member("tool")?.as_object()
    }

    fn member(&self, name: &str) -> Option<&Value> {
        self.data.as_object()?.get(name)
    }

    /// Whether it is about a tool that it doesn't name.
    pub fn lacks_tool(&self) -> bool {
        self.spec.needs_tool() && self.tool_name().is_none_or(str::is_empty)
    }

    /// A member, by JSON pointer of plain keys.
    pub fn at(&self, pointer: &str) -> Option<&Value> {
        at_pointer(&self.data, pointer)
    }

    /// A string member, by JSON pointer of plain keys.
    pub fn text(&self, pointer: &str) -> Option<&str> {
        self.at(pointer).and_then(Value::as_str)
    }

    /// The event at which its agent wants to rest, if this is such a moment: a deny sends the agent
    /// back to work.
    pub fn rest(&self) -> Option<&str> {
        if self.spec.rest {
            return Some(&self.name);
        }
        self.names()
            .skip(1)
            .find(|name| spec(name).is_some_and(|spec| spec.rest))
    }

    /// The name, and that of another event whose hooks are meant here too.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let near = self.original.as_ref().and_then(|it| it.near.as_deref());
        let near = if self.spec.start {
            Some(PRE_TOOL_USE)
        } else {
            near
        };
        [&*self.name].into_iter().chain(near)
    }

    /// The words of the program that starts, in PreExec.
    pub fn argv(&self) -> Option<Vec<&str>> {
        let words = self
            .member("exec")
            .filter(|_| self.spec.start)?
            .get("argv")?
            .as_array()?;
        words.iter().map(Value::as_str).collect()
    }

    /// Whether this hook has had a person asked about the tool call that the program belongs to.
    pub fn was_asked_by(&self, hook: &str) -> bool {
        let asked = self
            .member("exec")
            .and_then(|exec| exec.get(ASKED)?.as_array());
        asked.is_some_and(|hooks| hooks.iter().any(|it| it == hook))
    }

    /// The name of an event that its agent alone knows, where it looks like one before a call of a
    /// tool. It is judged as such, but nothing more is known of it than that the agent may be told
    /// no: there is nobody to ask, no rewrite is taken, and the call may be asked about once more
    /// under a name that is known, so nothing is counted.
    pub fn unknown_gate(&self) -> Option<&str> {
        self.original
            .as_ref()
            .filter(|it| it.is_unknown_gate)?
            .near
            .as_deref()
    }

    /// The directory that it says it happens in.
    pub fn cwd(&self) -> Option<&str> {
        if self.brief.has_cwd {
            self.member("cwd")?.as_str()
        } else {
            None
        }
    }

    /// The shell that it says reads its text.
    pub fn shell(&self) -> Option<&str> {
        if self.brief.has_shell {
            self.member("shell")?.as_str()
        } else {
            None
        }
    }

    /// How long it may take, in milliseconds.
    pub fn deadline_ms(&self) -> Option<u64> {
        if self.brief.has_deadline {
            self.member("deadlineMs")?.as_u64()
        } else {
            None
        }
    }

    /// The session, or the empty string for events without one.
    pub fn session(&self) -> &str {
        self.member("session")
            .and_then(Value::as_str)
            .unwrap_or_default()
    }

    /// The run of an agent that it belongs to.
    pub fn run(&self) -> Option<&str> {
        self.member("run")?.as_str()
    }

    /// The same moment with another subject.
    pub fn with_subject(&self, subject: Value) -> Event {
        let mut next = self.clone();
        if let Some(pointer) = self.spec.subject {
            next.change(|data| set_pointer(data, pointer, subject));
        }
        next
    }

    /// The same moment with a JSON merge patch (RFC 7396) applied to what else hooks may change.
    pub fn with_context(&self, patch: &Value) -> Event {
        let mut next = self.clone();
        next.change(|data| merge_patch(data, patch));
        next
    }
}

/// A chain notes this on an event that a hook has blocked. A client can't send it, because it would
/// count as a hook's decision.
pub const BLOCKED: &str = "hookwire:blocked";

/// The members that a hook's `context` may patch.
pub const CONTEXT_MEMBERS: [&str; 8] = [
    "metadata",
    "messages",
    "systemPrompt",
    "responseFormat",
    "tool",
    "errors",
    "eventMetadata",
    "state",
];

/// The members that mean something to hookwire at the top of an event, those first that people ask
/// for most. Another system's member of the same name is something else.
///
/// The one list of them. `when` may name each, whether or not an event has it; a program's
/// environment and a hook's `context` have a choice of them.
pub const MEMBERS: [&str; 32] = [
    "event",
    "session",
    "run",
    "step",
    "agent",
    "tool",
    "exec",
    "model",
    "prompt",
    "result",
    "error",
    "lastMessage",
    "stopActive",
    "compaction",
    "cwd",
    "messages",
    "metadata",
    "systemPrompt",
    "responseFormat",
    "parentRun",
    "parentSession",
    "grant",
    "shell",
    "deadlineMs",
    "errors",
    "eventMetadata",
    "state",
    "data",
    "summary",
    "usage",
    "removedCount",
    "budget",
];

/// The error for an event's name that the table lacks.
pub fn unknown_event(name: &str) -> UnknownName {
    UnknownName {
        message: format!("unknown event `{name}`"),
        nearest: closest(name, EVENTS.iter().map(|spec| spec.name)),
        otherwise: format!("an event that only your agent knows is written `custom:{name}`"),
    }
}

/// Whether an event about a tool call names no tool. It is refused, because every guard of a tool
/// would pass it by; a note may lack the name, because nothing is decided there.
pub fn lacks_tool(data: &Value) -> bool {
    let event = data
        .get("event")
        .and_then(Value::as_str)
        .unwrap_or_default();
    spec(event).is_some_and(EventSpec::needs_tool)
        && data
            .as_object()
            .is_some_and(|data| names_no_tool(data.get("tool")))
}

/// Whether what an event says of its tool doesn't name it.
fn names_no_tool(tool: Option<&Value>) -> bool {
    match tool {
        None | Some(Value::Null) => true,
        Some(Value::Object(tool)) => tool
            .get("name")
            .is_none_or(|name| name.is_null() || name == ""),
        // The check of the shape refuses it and says its type.
        Some(_) => false,
    }
}

pub fn no_tool(member: &str) -> NotAnEvent {
    NotAnEvent(format!("`{member}` is missing: the event is about a tool"))
}

/// What one look at each member of an event tells. Every event is looked at on its way.
#[derive(Default)]
struct Glance<'e> {
    event: Option<&'e Value>,
    tool: Option<&'e Value>,
    tool_name: Option<&'e str>,
    has_cwd: bool,
    has_shell: bool,
    has_deadline: bool,
    has_blocked: bool,
    /// Each member has its type. If not, [`check_shape`] says whether something is wrong, because
    /// null is often allowed.
    is_plain: bool,
}

impl<'e> Glance<'e> {
    fn at(members: &'e Map<String, Value>) -> Glance<'e> {
        let mut glance = Glance {
            is_plain: true,
            ..Glance::default()
        };
        for (key, value) in members {
            glance.is_plain &= match key.as_str() {
                "event" => {
                    glance.event = Some(value);
                    value.is_string()
                }
                "tool" => {
                    glance.tool = Some(value);
                    value
                        .as_object()
                        .is_some_and(|tool| glance.look_at_tool(tool))
                }
                "cwd" => {
                    glance.has_cwd = true;
                    value.is_string()
                }
                "shell" => {
                    glance.has_shell = true;
                    value.is_string()
                }
                "deadlineMs" => {
                    glance.has_deadline = true;
                    value.is_u64()
                }
                "session" | "run" | "parentRun" | "parentSession" | "systemPrompt" => {
                    value.is_string()
                }
                "step" => value.is_u64(),
                "stopActive" => value.is_boolean(),
                "agent" | "model" | "messages" | "metadata" | "exec" => false,
                BLOCKED => {
                    glance.has_blocked = true;
                    true
                }
                _ => true,
            };
        }
        glance
    }

    /// Whether each member of the tool has its type.
    fn look_at_tool(&mut self, tool: &'e Map<String, Value>) -> bool {
        let mut is_plain = true;
        for (key, value) in tool {
            is_plain &= match key.as_str() {
                "name" => {
                    self.tool_name = value.as_str();
                    true
                }
                "callId" => value.is_string(),
                "durationMs" => value.is_u64(),
                _ => true,
            };
        }
        is_plain && self.tool_name.is_some()
    }

    fn brief(&self) -> Brief {
        let Glance {
            tool_name,
            has_cwd,
            has_shell,
            has_deadline,
            ..
        } = *self;
        Brief {
            tool: tool_name.map(Arc::from),
            has_cwd,
            has_shell,
            has_deadline,
        }
    }
}

/// Adds to a program's start what a shell's call of that one command says, for whatever looks at
/// calls.
fn take_for_call(event: &mut Map<String, Value>) -> Result<(), NotAnEvent> {
    let Some(Value::Object(exec)) = event.get_mut("exec") else {
        return Err(NotAnEvent(
            "`exec` is missing: the program that starts".into(),
        ));
    };
    exec.remove(ASKED);
    let words = exec
        .get("argv")
        .and_then(Value::as_array)
        .filter(|words| !words.is_empty());
    let words = words.and_then(|words| {
        words
            .iter()
            .map(Value::as_str)
            .collect::<Option<Vec<&str>>>()
    });
    let words = words
        .ok_or_else(|| NotAnEvent("`exec.argv` is the words of the program that starts".into()))?;
    let command = shell_word::command(words);
    event.insert(
        "tool".into(),
        json!({ "name": SHELL, "input": { "command": command } }),
    );
    Ok(())
}

/// Unique within the machine's lifetime for all practical purposes: start time, process, counter.
fn next_id() -> Arc<str> {
    use std::sync::LazyLock;
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(1);
    static PREFIX: LazyLock<String> = LazyLock::new(|| {
        let started = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        format!(
            "{:x}-{:x}-",
            started.map_or(0, |it| it.as_millis()),
            std::process::id()
        )
    });
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let mut id = String::with_capacity(PREFIX.len() + 16);
    id.push_str(&PREFIX);
    // In hexadecimal; what formats any number takes longer than all else here.
    let n_digits = (u64::BITS - number.leading_zeros()).div_ceil(4);
    id.extend(
        (0..n_digits)
            .rev()
            .filter_map(|at| char::from_digit((number >> (4 * at)) as u32 & 0xf, 16)),
    );
    Arc::from(id)
}

/// The value at a JSON pointer of plain keys. `Value::pointer` allocates for each key.
pub fn at_pointer<'v>(value: &'v Value, pointer: &str) -> Option<&'v Value> {
    let Some(mut rest) = pointer.strip_prefix('/') else {
        return Some(value);
    };
    let mut at = value;
    // Keys are short: looking at each byte is quicker than `split`.
    while let Some(end) = rest.bytes().position(|byte| byte == b'/') {
        at = at.as_object()?.get(&rest[..end])?;
        rest = &rest[end + 1..];
    }
    at.as_object()?.get(rest)
}

/// Sets the value at a JSON pointer of plain keys, making objects on the way.
pub fn set_pointer(target: &mut Value, pointer: &str, value: Value) {
    let mut at = target;
    for key in pointer.split('/').skip(1) {
        if !at.is_object() {
            *at = Value::Object(Map::new());
        }
        let Value::Object(object) = at else { return };
        at = object.entry(key).or_insert(Value::Null);
    }
    *at = value;
}

/// JSON merge patch, RFC 7396. Recursion is bounded by the parser's depth limit on the patch.
pub fn merge_patch(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Value::Object(object) = target else {
        return;
    };
    for (key, value) in patch {
        if value.is_null() {
            object.remove(key);
        } else {
            merge_patch(object.entry(key.clone()).or_insert(Value::Null), value);
        }
    }
}

/// The merge patch that turns one object into another. `None` if no merge patch does, because null
/// in a patch removes a member; and if a member is gone, because its name may be what was to go.
/// Recursion is bounded by the parser's depth limit on the values.
pub fn patch_between(before: &Value, after: &Value) -> Option<Value> {
    let (before, after) = (before.as_object()?, after.as_object()?);
    if !before.keys().all(|key| after.contains_key(key)) {
        return None;
    }
    let mut patch = Map::new();
    for (key, value) in after {
        let change = match before.get(key) {
            Some(earlier) if earlier == value => continue,
            Some(earlier @ Value::Object(_)) if value.is_object() => patch_between(earlier, value)?,
            _ if sets_null(value) => return None,
            _ => value.clone(),
        };
        patch.insert(key.clone(), change);
    }
    Some(Value::Object(patch))
}

/// Whether a value, in a merge patch, would have members removed. A list is taken as it is.
fn sets_null(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(members) => members.values().any(sets_null),
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn refuses_what_is_not_an_event() {
        for (data, expected) in [
            (json!([]), "an event is a JSON object"),
            (
                json!({}),
                "`event` is missing: the name of the moment; an agent's own payload needs its `dialect`",
            ),
            (json!({"event": 3}), "`event` is a string"),
            (
                json!({"event": "PreTolUse"}),
                "unknown event `PreTolUse`; did you mean `PreToolUse`?",
            ),
            (
                json!({"event": "Stop", "step": "x"}),
                "`step`: invalid type: string \"x\", expected a whole number",
            ),
            (
                json!({"event": "Stop", "tool": {}}),
                "`tool`: missing field `name`",
            ),
            (
                json!({"event": "PostToolUse", "tool": {}}),
                "`tool.name` is missing: the event is about a tool",
            ),
            (
                json!({"event": "PreToolUse", "tool": {"name": ""}}),
                "`tool.name` is missing: the event is about a tool",
            ),
            (
                json!({"event": "PreToolUse", "tool": 3}),
                "`tool`: invalid type: number, expected an object with `name`",
            ),
        ] {
            assert_eq!(Event::from_json(data).unwrap_err().0, expected);
        }
    }

    #[test]
    fn every_member_of_the_shape_is_known() {
        let shape = schemars::schema_for!(EventShape);
        let of_shape = shape.as_value()["properties"]
            .as_object()
            .unwrap()
            .keys()
            .cloned();
        let subjects = EVENTS
            .iter()
            .chain([&CUSTOM])
            .filter_map(|spec| spec.subject?.split('/').nth(1));
        for name in of_shape.chain(subjects.chain(CONTEXT_MEMBERS).map(str::to_string)) {
            assert!(MEMBERS.contains(&&*name), "{name}");
        }
    }

    /// What passes at a glance would pass the check.
    #[test]
    fn a_plain_event_has_the_shape() {
        let values = [
            json!(null),
            json!(true),
            json!("x"),
            json!(1),
            json!(-1),
            json!(1.5),
            json!([]),
            json!({}),
            json!({"name": "x"}),
            json!({"name": 1}),
            json!({"name": "x", "callId": 1}),
            json!({"name": "x", "callId": "c", "input": 1, "durationMs": 2}),
            json!({"name": "x", "durationMs": "2"}),
        ];
        let mut plain = 0;
        for (name, value) in MEMBERS
            .iter()
            .flat_map(|name| values.iter().map(move |value| (*name, value)))
        {
            let mut data = json!({"event": "Stop"});
            data[name] = value.clone();
            if Glance::at(data.as_object().unwrap()).is_plain {
                plain += 1;
                assert!(check_shape(&data).is_ok(), "{data}");
            }
        }
        assert!(plain > MEMBERS.len(), "{plain}");
    }

    #[test]
    fn what_does_not_fit_is_taken_out() {
        for (mut data, expected) in [
            (
                json!({"event": "Stop", "step": "x", "cwd": "/a"}),
                json!({"event": "Stop", "cwd": "/a"}),
            ),
            (
                json!({"event": "Stop", "tool": {"callId": "c"}}),
                json!({"event": "Stop"}),
            ),
            (
                json!({"event": "Stop", "model": "m", "agent": []}),
                json!({"event": "Stop"}),
            ),
            (
                json!({"event": "PreToolUse", "tool": {"name": "t", "callId": 3, "durationMs": "x", "input": 4}}),
                json!({"event": "PreToolUse", "tool": {"name": "t", "input": 4}}),
            ),
            (
                json!({"event": "PreToolUse", "tool": {"name": 5}}),
                json!({"event": "PreToolUse"}),
            ),
        ] {
            drop_misfits(&mut data);
            assert_eq!(data, expected);
        }
    }

    #[test]
    fn rewrites_make_a_new_event() {
        let event = Event::from_json(
            json!({"event": "PreToolUse", "tool": {"name": "Bash", "input": {"command": "ls"}}}),
        )
        .unwrap();
        let next = event.with_subject(json!({"command": "pwd"}));
        assert_eq!(next.text("/tool/input/command"), Some("pwd"));
        assert_eq!(event.text("/tool/input/command"), Some("ls"));
        let next = event.with_context(&json!({"metadata": {"a": 1, "b": null}}));
        assert_eq!(next.data["metadata"], json!({"a": 1}));
        assert_eq!(
            (next.tool_name(), next.cwd(), next.deadline_ms()),
            (Some("Bash"), None, None)
        );
        let next = next.with_context(
            &json!({"tool": {"name": "Write"}, "cwd": "/a", "shell": "zsh", "deadlineMs": 3}),
        );
        let brief = (
            next.tool_name(),
            next.cwd(),
            next.shell(),
            next.deadline_ms(),
        );
        assert_eq!(brief, (Some("Write"), Some("/a"), Some("zsh"), Some(3)));
    }

    #[test]
    fn a_patch_between_two_values_makes_the_one_of_the_other() {
        for (before, after, expected) in [
            (
                json!({"a": 1, "b": 2}),
                json!({"a": 1, "b": 3}),
                Some(json!({"b": 3})),
            ),
            (
                json!({"a": {"b": 1}}),
                json!({"a": {"b": 1, "d": {}}, "e": 2}),
                Some(json!({"a": {"d": {}}, "e": 2})),
            ),
            (
                json!({"a": 1}),
                json!({"a": {"b": [null]}}),
                Some(json!({"a": {"b": [null]}})),
            ),
            (
                json!({"a": {"b": 1}}),
                json!({"a": []}),
                Some(json!({"a": []})),
            ),
            (
                json!({"a": null}),
                json!({"a": null, "b": 1}),
                Some(json!({"b": 1})),
            ),
            // What a merge patch can't say, or had better not.
            (json!({"a": 1, "b": 2}), json!({"a": 1}), None),
            (json!({"a": {"b": 1}}), json!({"a": {}}), None),
            (json!({"a": 1}), json!({"a": null}), None),
            (json!({}), json!({"a": {"b": null}}), None),
            (json!("a"), json!("b"), None),
            (json!({}), json!([]), None),
        ] {
            let patch = patch_between(&before, &after);
            assert_eq!(patch, expected, "{before} {after}");
            if let Some(patch) = patch {
                let mut patched = before;
                merge_patch(&mut patched, &patch);
                assert_eq!(patched, after, "{patch}");
            }
        }
    }
}
