//! Which hosts a text would connect to, as the table of [programs](super::programs) says.

use super::programs::{self, To};
use super::word::Openness;
use super::{Doubt, Script, Span};
use std::fmt;
use std::sync::OnceLock;

/// So many connections of one text are told apart.
const MOST: usize = 256;

/// A connection that a text would make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connection {
    /// Where to.
    pub to: To,
    /// Where in the text, in bytes.
    pub at: Span,
    /// Which of the text's commands makes it; nothing for a redirection and for what isn't read.
    pub by: Option<usize>,
}

/// The connections of a script, once somebody has asked for them.
#[derive(Default)]
pub(super) struct FoundConnections(OnceLock<Vec<Connection>>);

/// Two readings of a text are the same whatever they were asked.
impl fmt::Debug for FoundConnections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FoundConnections")
    }
}

impl Script {
    /// The hosts that the text would connect to. Programs of which nothing is known aren't among
    /// them: they may connect to any.
    pub fn connections(&self) -> &[Connection] {
        self.connections.0.get_or_init(|| self.find_connections())
    }

    fn find_connections(&self) -> Vec<Connection> {
        let mut all: Vec<Connection> = Vec::new();
        for redirected in &self.redirected {
            let device = ["/dev/tcp/", "/dev/udp/"]
                .iter()
                .find_map(|device| redirected.word.beginning().strip_prefix(device));
            let Some(rest) = device else { continue };
            let is_all = redirected.word.openness == Openness::Constant;
            all.push(Connection {
                to: match rest.split_once('/') {
                    Some((host, port)) if is_all && port.parse::<u16>().is_ok() => {
                        To::Host(format!("{host}:{port}"))
                    }
                    Some((host, _)) => To::Host(host.to_string()),
                    None if is_all => To::Host(rest.to_string()),
                    None => To::Unclear("the host that it connects to is computed"),
                },
                at: redirected.at.clone(),
                by: None,
            });
        }
        for (n, command) in self.commands.iter().enumerate() {
            if all.len() >= MOST {
                all.push(Connection {
                    to: To::Unclear("it connects to too many hosts"),
                    at: command.span.clone(),
                    by: Some(n),
                });
                break;
            }
            let found = programs::connects(&command.words).into_iter();
            all.extend(found.map(|to| Connection {
                to,
                at: command.span.clone(),
                by: Some(n),
            }));
        }
        // What isn't read, or is computed for a shell, may connect to any.
        if let Some(Doubt { why, at }) = self.refused.as_ref().or(self.computed.as_ref()) {
            all.push(Connection {
                to: To::Unclear(why),
                at: at.clone(),
                by: None,
            });
        }
        all
    }
}
