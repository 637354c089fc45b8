//! The compiled hook: a definition that can't be wrong any more. `definitions` makes it from what
//! was written, `engine` runs it.

use crate::contract::{Contract, Fail, TOOL_NAME, Target};
use crate::event::{Event, On, Phase};
use crate::handlers::{Handler, HookView};
use crate::matching::rule::{ToolRule, Views};
use crate::matching::when::When;
use crate::matching::{Facts, Matcher, Truth};
use crate::syntax::source::Source;
use crate::verdict::Decision;
use globset::GlobMatcher;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

/// A hook in force.
#[derive(Debug)]
pub struct Hook {
    /// Names it in verdicts, logs and diagnostics.
    pub name: Arc<str>,
    /// For people.
    pub description: Option<String>,
    /// Which events.
    pub on: On,
    /// Which tools.
    pub matcher: Option<Matcher>,
    /// `if: Tool(pattern)`.
    pub rule: Option<ToolRule>,
    /// A CEL expression.
    pub when: Option<When>,
    /// Which agents, by name; empty means all.
    pub agents: Vec<GlobMatcher>,
    /// How it is carried out.
    pub handler: Handler,
    /// Its order within the layer; what the number means depends on the composition.
    pub priority: Option<i64>,
    /// For one run.
    pub timeout: Duration,
    /// `None` when neither the hook nor its file's defaults say: open.
    pub fail: Option<Fail>,
    /// Started and forgotten.
    pub detached: bool,
    /// Runs beside its parallel neighbours.
    pub parallel: bool,
    /// At most once per session.
    pub once: bool,
    /// Switched off with `enabled: false`: listed, never selected.
    pub enabled: bool,
    /// For people and tools.
    pub tags: Vec<String>,
    /// The vocabulary it is written for.
    pub contract: &'static Contract,
    /// Where it is written.
    pub source: Source,
    /// A hash of the definition: equal definitions have equal ones.
    pub fingerprint: u64,
}

/// A condition of a hook. They are held against an event in this order.
///
/// Most hooks miss most events, and few people ask why, so a failed condition is no more than this;
/// [`Hook::miss`] puts it into words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// It is switched on.
    Enabled,
    /// It is for events of this name.
    Event,
    /// It is for this agent.
    Agent,
    /// Its matcher matches.
    Matcher,
    /// `if: Tool(pattern)` holds.
    Rule,
    /// Its CEL expression holds.
    When,
}

/// Why a hook doesn't run at an event, in words: the first condition that fails.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Miss {
    /// The definition's field.
    pub test: Cow<'static, str>,
    /// Why, for people.
    pub why: String,
}

impl Hook {
    /// The failure direction in force, for a moment of this phase.
    pub fn fail_at(&self, phase: Phase) -> Fail {
        self.fail.unwrap_or(if phase == Phase::Gate { self.contract.gates_fail } else { Fail::Open })
    }

    /// Holds every condition against an event, cheapest first: the reason why one is opaque, if
    /// any, or the first condition that fails. The index only ever saves calls of this.
    ///
    /// # Errors
    /// The first condition that fails.
    pub fn applies(&self, facts: &Facts) -> Result<Option<Cow<'static, str>>, Condition> {
        let event = &facts.event;
        if !self.enabled {
            return Err(Condition::Enabled);
        }
        if !self.on.includes(&event.name) {
            return Err(Condition::Event);
        }
        let mut opaque = None;
        if !self.agents.is_empty() {
            let agent = agent_name(event);
            if agent.is_empty() && self.contract.belongs_to_agents {
                opaque = Some("the event names no agent".into());
            } else if !self.agents.iter().any(|glob| glob.is_match(agent)) {
                return Err(Condition::Agent);
            }
        }
        if let Some(matcher) = &self.matcher {
            let matches = match (self.contract.matched)(&event.name) {
                Target::Nothing => true,
                Target::Member(pointer) => event.text(pointer).is_some_and(|text| matcher.matches(text)),
                Target::Texts(texts) => texts(event).iter().any(|text| matcher.matches(text)),
            };
            if !matches {
                return Err(Condition::Matcher);
            }
        }
        if let Some(rule) = &self.rule {
            let views = match self.handler.fixed() {
                Some((Decision::Allow, _)) => Views::All,
                _ => Views::Any,
            };
            match rule.holds(facts, views) {
                Truth::Yes => {}
                Truth::Opaque(reason) => opaque = Some(reason),
                Truth::No => return Err(Condition::Rule),
            }
        }
        if let Some(when) = &self.when {
            match when.holds(&event.data) {
                Truth::Yes => {}
                Truth::Opaque(reason) => opaque = opaque.or(Some(reason)),
                Truth::No => return Err(Condition::When),
            }
        }
        Ok(opaque)
    }

    /// Puts a condition that fails at an event into words, as `explain` and editors show it.
    pub fn miss(&self, failed: Condition, event: &Event) -> Miss {
        let (test, why) = match failed {
            Condition::Enabled => ("enabled", "switched off".into()),
            Condition::Event => ("on", format!("not for {}", event.name)),
            Condition::Agent => ("agents", format!("agent `{}` is not listed", agent_name(event))),
            Condition::Matcher => ("matcher", self.matcher_miss(event)),
            Condition::Rule => ("if", "the pattern doesn't match the call".into()),
            Condition::When => ("when", format!("`{}` is false", self.when.as_ref().map_or("", |when| when.source()))),
        };
        Miss { test: test.into(), why }
    }

    fn matcher_miss(&self, event: &Event) -> String {
        match (self.contract.matched)(&event.name) {
            Target::Nothing => String::new(),
            Target::Member(pointer) => {
                let what = if pointer == TOOL_NAME { "tool" } else { pointer.trim_start_matches('/') };
                match event.text(pointer) {
                    Some(text) => format!("doesn't match {what} `{text}`"),
                    None => format!("the event has no {what}"),
                }
            }
            Target::Texts(texts) => format!("doesn't match `{}`", texts(event).join("` or `")),
        }
    }

    /// The part of the hook that its handler sees.
    pub fn view(&self) -> HookView<'_> {
        HookView {
            name: &self.name,
            description: self.description.as_deref(),
            on: &self.on,
            timeout: self.timeout,
            tags: &self.tags,
            contract: self.contract,
            source: &self.source,
        }
    }
}

/// The agent that an event comes from; empty if it names none.
fn agent_name(event: &Event) -> &str {
    event.text("/agent/name").unwrap_or_default()
}
