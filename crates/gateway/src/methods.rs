//! The methods that are judged: a row each. All others pass.

use super::ends::Side;

/// What a method is about, which decides what becomes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    /// A call of a tool.
    Tool,
    /// The result of a tool's call that was made a task.
    Task,
    /// A resource is read.
    Resource,
    /// A prompt of the server's.
    Prompt,
    /// The server asks the client's model.
    Sampling,
    /// The server asks the person.
    Elicitation,
    /// The server asks where the client works.
    Roots,
    /// The tools that there are.
    Tools,
}

/// A method that is judged.
#[derive(Debug)]
pub struct Method {
    /// Its name.
    pub name: &'static str,
    /// Who sends it.
    pub from: Side,
    /// What it is about.
    pub about: About,
    /// The event before it reaches the other side.
    pub before: Option<&'static str>,
    /// The event before its result goes back, and the one where it has failed.
    pub after: Option<(&'static str, Option<&'static str>)>,
}

const AFTER_TOOL: Option<(&str, Option<&str>)> = Some(("PostToolUse", Some("PostToolUseFailure")));

/// The table; `docs/protocol.md` shows it.
pub static METHODS: &[Method] = &[
    row(
        "tools/call",
        Side::Client,
        About::Tool,
        Some("PreToolUse"),
        AFTER_TOOL,
    ),
    row("tasks/result", Side::Client, About::Task, None, AFTER_TOOL),
    row(
        "resources/read",
        Side::Client,
        About::Resource,
        Some("PreToolUse"),
        AFTER_TOOL,
    ),
    row(
        "prompts/get",
        Side::Client,
        About::Prompt,
        None,
        Some(("UserPromptExpansion", None)),
    ),
    row(
        "sampling/createMessage",
        Side::Server,
        About::Sampling,
        Some("PreModelCall"),
        Some(("PostModelCall", None)),
    ),
    row(
        "elicitation/create",
        Side::Server,
        About::Elicitation,
        Some("Elicitation"),
        Some(("ElicitationResult", None)),
    ),
    row(
        "roots/list",
        Side::Server,
        About::Roots,
        None,
        Some(("custom:McpRoots", None)),
    ),
    row("tools/list", Side::Client, About::Tools, None, None),
];

const fn row(
    name: &'static str,
    from: Side,
    about: About,
    before: Option<&'static str>,
    after: Option<(&'static str, Option<&'static str>)>,
) -> Method {
    Method {
        name,
        from,
        about,
        before,
        after,
    }
}

/// The row of a method that a side has sent.
pub fn find(from: Side, name: &str) -> Option<&'static Method> {
    METHODS
        .iter()
        .find(|method| method.from == from && method.name == name)
}
