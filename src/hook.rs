//! The compiled hook: a definition that can't be wrong any more. `definitions` makes it from what
//! was written, `engine` runs it.

use crate::contract::{Contract, Fail, TOOL_NAME, Target};
use crate::event::{On, Phase};
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

/// The first test that kept a hook out of an event.
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
    /// any, or the first test that fails. The index only ever saves calls of this.
    ///
    /// # Errors
    /// The first test that fails.
    pub fn applies(&self, facts: &Facts) -> Result<Option<Cow<'static, str>>, Miss> {
        let miss = |test: &'static str, why: String| Err(Miss { test: test.into(), why });
        let event = &facts.event;
        if !self.enabled {
            return miss("enabled", "switched off".into());
        }
        if !self.on.includes(&event.name) {
            return miss("on", format!("not for {}", event.name));
        }
        let mut opaque = None;
        if !self.agents.is_empty() {
            let agent = event.text("/agent/name").unwrap_or_default();
            if agent.is_empty() && self.contract.belongs_to_agents {
                opaque = Some("the event names no agent".into());
            } else if !self.agents.iter().any(|glob| glob.is_match(agent)) {
                return miss("agents", format!("agent `{agent}` is not listed"));
            }
        }
        match (&self.matcher, (self.contract.matched)(&event.name)) {
            (None, _) | (Some(_), Target::Nothing) => {}
            (Some(matcher), Target::Member(pointer)) => {
                let what = if pointer == TOOL_NAME { "tool" } else { pointer.trim_start_matches('/') };
                match event.text(pointer) {
                    Some(text) if matcher.matches(text) => {}
                    Some(text) => return miss("matcher", format!("doesn't match {what} `{text}`")),
                    None => return miss("matcher", format!("the event has no {what}")),
                }
            }
            (Some(matcher), Target::Texts(texts)) => {
                let texts = texts(event);
                if !texts.iter().any(|text| matcher.matches(text)) {
                    return miss("matcher", format!("doesn't match `{}`", texts.join("` or `")));
                }
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
                Truth::No => return miss("if", "the pattern doesn't match the call".into()),
            }
        }
        if let Some(when) = &self.when {
            match when.holds(&event.data) {
                Truth::Yes => {}
                Truth::Opaque(reason) => opaque = opaque.or(Some(reason)),
                Truth::No => return miss("when", format!("`{}` is false", when.source())),
            }
        }
        Ok(opaque)
    }

    /// What its handler knows of it.
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
