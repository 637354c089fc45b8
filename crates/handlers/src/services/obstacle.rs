//! What is known to be in the way of a hook before it runs: it is well-formed, and can't work here.

use super::egress::{Grants, check_url};
use hookwire_base::syntax::fix::Fix;
use std::ops::Range;

/// What keeps a hook from working.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Obstacle {
    /// What kind it is, for programs.
    pub code: &'static str,
    /// The member of the handler's definition that it is about, if not the whole.
    pub field: Option<&'static str>,
    /// Lowercase, no full stop.
    pub message: String,
    /// The part of that member's text, in bytes, if not the whole.
    pub part: Option<Range<usize>>,
    /// What to do.
    pub help: Option<String>,
    /// The edit that does it.
    pub fix: Option<Box<Fix>>,
}

impl Obstacle {
    /// An address that isn't granted.
    pub const UNREACHABLE: &'static str = "unreachable";
    /// What another host may have that is started otherwise.
    pub const DEPENDS_ON_HOST: [&'static str; 3] = ["no-model", "no-key", Obstacle::UNREACHABLE];

    pub fn new(code: &'static str, message: impl Into<String>) -> Obstacle {
        Obstacle {
            code,
            field: None,
            message: message.into(),
            part: None,
            help: None,
            fix: None,
        }
    }

    pub fn help(self, help: impl Into<String>) -> Obstacle {
        Obstacle {
            help: Some(help.into()),
            ..self
        }
    }

    pub fn within(self, part: Range<usize>) -> Obstacle {
        Obstacle {
            part: Some(part),
            ..self
        }
    }

    pub fn fix(self, fix: Fix) -> Obstacle {
        Obstacle {
            fix: Some(Box::new(fix)),
            ..self
        }
    }

    pub fn at(self, field: &'static str) -> Obstacle {
        Obstacle {
            field: Some(field),
            ..self
        }
    }

    /// A URL that requests with these grants never reach.
    pub(crate) fn from_url(url: &str, grants: &Grants) -> Option<Obstacle> {
        let error = check_url(url, grants)
            .err()
            .filter(|error| error.is_about_address())?
            .to_string();
        let (what, help) = error.split_once("; ").unwrap_or((&error, ""));
        let obstacle = Obstacle::new(Obstacle::UNREACHABLE, format!("the hook can't {what}"));
        Some(if help.is_empty() {
            obstacle
        } else {
            obstacle.help(format!("{help}, an option of `serve` and `install`"))
        })
    }
}
