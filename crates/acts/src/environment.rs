//! What a text is given by whoever has it run: the values of the few variables that every process
//! has, and where users live.

use compact_str::CompactString;
use std::fmt;

/// The variables of which an environment may say the value.
pub const GIVEN: &[&str] = &[
    "HOME",
    "USER",
    "LOGNAME",
    "UID",
    "TMPDIR",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
    "XDG_STATE_HOME",
];

/// Says where a user lives, by the name; nothing if there is no such user.
pub type HomeOf = dyn Fn(&str) -> Option<String> + Send + Sync;

/// What whoever runs a text gives to it. By default nothing is known of it.
#[derive(Default)]
pub struct Environment {
    values: Vec<(&'static str, CompactString)>,
    home_of: Option<Box<HomeOf>>,
}

impl Environment {
    /// An environment with the value of each of the [`GIVEN`] variables that is known.
    pub fn new(value: impl Fn(&str) -> Option<String>, home_of: Box<HomeOf>) -> Environment {
        let values = GIVEN
            .iter()
            .filter_map(|name| Some((*name, value(name)?.into())));
        Environment {
            values: values.collect(),
            home_of: Some(home_of),
        }
    }

    /// The value of a variable, if it is known.
    pub fn value(&self, name: &str) -> Option<&str> {
        // All of these are in capitals, and hardly any other variable is as short or as long.
        let is_one = matches!(
            name.as_bytes().first(),
            Some(b'H' | b'U' | b'L' | b'T' | b'X')
        );
        self.values
            .iter()
            .find(|(own, _)| is_one && *own == name)
            .map(|(_, value)| value.as_str())
    }

    /// Where a user lives; nothing if there is no such user, or users aren't known.
    pub(super) fn home_of(&self, user: &str) -> Option<String> {
        self.home_of.as_ref()?(user)
    }

    /// Whether it says the same of every variable.
    pub(super) fn is_same(&self, other: &Environment) -> bool {
        self.values == other.values
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.values.fmt(f)
    }
}
