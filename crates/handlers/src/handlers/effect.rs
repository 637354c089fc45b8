//! What carrying a hook out does to the world.

use std::path::PathBuf;

/// What carrying a hook out does to the world, to be shown before it is done. Holds no secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Starts a program.
    Command(Program),
    /// Starts a worker in a runtime, and calls what it names.
    Worker(&'static str, Program),
    /// Sends something to this URL.
    Post(String),
    /// Asks a model; `None`: the one that is the default where it runs.
    Model(Option<String>),
    /// Lets a model use these tools.
    Agent(Vec<String>),
    /// Calls a tool of an MCP server.
    McpTool {
        /// The tool.
        tool: String,
        /// The server, where it is somewhere else.
        server: String,
        /// What is started to have one.
        starts: Option<Program>,
    },
    /// Appends to this file.
    Appends(PathBuf),
    /// Asks a person, and waits.
    Person,
}

/// A program that a definition has started, as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// A shell text, a program with its arguments, or a function.
    pub text: String,
    /// The variables that have another value than in the host's own environment.
    pub sets: Vec<String>,
    /// The working directory, if the definition names one.
    pub cwd: Option<PathBuf>,
}
