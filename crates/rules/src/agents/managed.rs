//! What is known of an agent's settings of a machine: where `install --managed` writes, and what
//! its users can do against that.

use serde::Deserialize;
use serde_json::Value;

/// An agent's settings of a machine, which only root can write.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Managed {
    /// The file that is written; empty where no file of the machine's guards the agent.
    pub file: String,
    /// Why it is empty, for people.
    pub instead: String,
    /// All of the file is hookwire's.
    pub own: bool,
    /// The members that hold the entry, with `.` between the names on the way, each with its value.
    pub members: Vec<(String, Value)>,
    /// The one of those with which no other hooks run but the machine's.
    pub silences: Option<String>,
    /// Other settings of the machine's; `*.json` is every such file of a directory.
    pub beside: Vec<String>,
    /// The members of those that undo the entry, each with the value that does.
    pub undone_by: Vec<(String, Value)>,
    /// What comes of it that the file is broken, for people.
    pub broken: String,
    /// What comes of it that the agent's user can't read the file, for people.
    pub unreadable: String,
    /// What a user can do against the entry and what comes to nothing, as it was tried.
    pub held: Vec<String>,
    /// What a user can do against the entry.
    pub left: Vec<Left>,
}

/// What ends the guard for one user, or goes around it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Left {
    /// What the user does.
    pub how: String,
    /// What closes it.
    pub closes: String,
    /// The user's file in which it stands, below the home.
    #[serde(default)]
    pub file: String,
    /// The names by which it is known there, or among the variables of the environment.
    #[serde(default)]
    pub names: Vec<String>,
}

impl Managed {
    /// Whether `install --managed` writes something for the agent.
    pub fn is_there(&self) -> bool {
        !self.file.is_empty()
    }

    /// The members that a file has which guards, or which only has hooks observe: those silence
    /// nobody's hooks.
    pub fn members_of(&self, observe: bool) -> impl Iterator<Item = &(String, Value)> {
        self.members
            .iter()
            .filter(move |(name, _)| !observe || self.silences.as_deref() != Some(name))
    }
}
