//! What the gateway stands between, and what it speaks through.

use super::pins::Pins;
use serde_json::Value;
use std::time::Duration;

/// An end of the gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// The MCP client.
    Client,
    /// The MCP server.
    Server,
}

impl Side {
    pub(crate) fn other(self) -> Side {
        match self {
            Side::Client => Side::Server,
            Side::Server => Side::Client,
        }
    }
}

/// What the gateway says to whom. Nothing here waits.
pub trait Ends {
    /// A message, without its end of line.
    fn send(&mut self, to: Side, message: &str);
    /// An event for the host, whose verdict comes by [`judged`](crate::Gateway::judged).
    fn ask(&mut self, ticket: u64, event: &str);
    /// The same for which of these tools may be called at all.
    fn ask_callable(&mut self, ticket: u64, agent: &str, tools: &[String]);
    /// An event that the host is told of, without a verdict.
    fn note(&mut self, event: &str);
    /// The host is to ask [`pin_opinion`](crate::Gateway::pin_opinion) before each call of a tool of this server.
    fn ask_before_calls(&mut self, server: &str);
    /// What is pinned is to be kept.
    fn keep(&mut self, pins: &Pins);
    /// A verdict is no longer wanted.
    fn withdraw(&mut self, ticket: u64);
    /// The client has said who it is, and whether it can ask a person.
    fn meet(&mut self, name: &str, elicits: bool);
    /// The answer to a question of the host's, or why there is none.
    fn answer(&mut self, question: &Value, answer: Result<Value, String>);
    /// For whoever runs this.
    fn tell(&mut self, text: &str);
}

/// The names of tools, by their servers.
pub type ToolsOfServers = Vec<(String, Vec<String>)>;

/// What is fixed from the start.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The server's name, as the client's configuration has it.
    pub server: String,
    /// The session of the events.
    pub session: String,
    /// The directory that the client works in.
    pub cwd: String,
    /// How long an event may take.
    pub time_limit: Duration,
    /// What can't be judged passes.
    pub fails_open: bool,
    /// Everything passes, and is judged beside it.
    pub observes: bool,
    /// What was pinned of the server.
    pub pins: Pins,
    /// The names of other servers' tools.
    pub others: ToolsOfServers,
}
