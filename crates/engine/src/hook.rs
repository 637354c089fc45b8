//! The compiled hook: a definition that can't be wrong any more. `definitions` makes it from what
//! was written, `engine` runs it.

use globset::GlobMatcher;
use hookwire_base::event::{Event, On, PRE_EXEC, PRE_TOOL_USE, Phase};
use hookwire_base::syntax::source::Source;
use hookwire_base::verdict::Decision;
use hookwire_handlers::handlers::approved::Approved;
use hookwire_handlers::handlers::{Handler, HookView};
use hookwire_rules::contract::{Contract, Fail, NATIVE, TOOL_NAME, Target};
use hookwire_rules::matching::rule::{
    self, Condition as ToolCondition, Finding, Reading, ToolRule,
};
use hookwire_rules::matching::when::When;
use hookwire_rules::matching::{Asker, Facts, Matcher, Truth, Untold};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;
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
    /// `if` and `unless`.
    pub tools: ToolCondition,
    /// A CEL expression.
    pub when: Option<Arc<When>>,
    /// Which agents, by name; empty means all.
    pub agents: Vec<GlobMatcher>,
    /// How it is carried out.
    pub handler: Handler,
    /// Its order within the layer; what the number means depends on the composition.
    pub priority: Option<i64>,
    /// For one run.
    pub timeout: Duration,
    /// What it says itself of a failure.
    pub fail: Option<Fail>,
    /// What its file's defaults say, which is about gates.
    pub default_fail: Option<Fail>,
    /// The decision where a command would run code that isn't shown; `None`: such code is no match.
    pub delegates: Option<Decision>,
    /// It says that what a command runs in turn is no matter of it.
    pub ignores_delegates: bool,
    /// It judges, and its outcome says what it would have done; nothing of that counts.
    pub observe: bool,
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
    /// Names all that is written of it, with its file's defaults and the files that were read with
    /// it.
    pub definition: Option<[u8; 16]>,
    /// It says that its rules over files are held against what a call does by any means.
    pub reaches_acts: bool,
    /// It uses the path of the file that a call is about.
    pub names_path: bool,
    /// The approved copy that it is read from. People know the files by their places in the
    /// project.
    pub copy: Option<Arc<Approved>>,
}

/// The priority of what stands in for a broken definition: no hook of its layer can end the chain
/// before.
pub(crate) const BEFORE_ALL: i64 = i64::MIN;

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
    /// `if` holds, and `unless` doesn't take it away.
    Rule,
    /// Its CEL expression holds.
    When,
}

/// Why it can't be told whether a hook applies; it is selected all the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doubt {
    /// What can't be told.
    pub why: Untold,
    /// What the hook's `delegates` decides, where that is the reason.
    pub delegates: Option<Decision>,
}

/// Why a hook doesn't run at an event, in words: the first condition that fails.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Miss {
    /// The definition's field.
    pub test: Cow<'static, str>,
    /// Why, for people.
    pub why: String,
    /// Why it may be otherwise for something that the call does but doesn't show.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unseen: Option<String>,
}

impl fmt::Display for Miss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.test, self.why)?;
        self.unseen
            .iter()
            .try_for_each(|unseen| write!(f, "; not shown: {unseen}"))
    }
}

impl Hook {
    /// Whether it stands in for a definition that is broken.
    pub fn is_broken(&self) -> bool {
        matches!(self.handler, Handler::Broken(_))
    }

    /// Whether it stands in for a definition of which nothing can be told, so that no tool is
    /// called.
    pub(crate) fn denies_every_call(&self) -> bool {
        self.is_broken() && self.priority == Some(BEFORE_ALL)
    }

    /// Whether its fixed deny holds for each call of an event's tool, whatever the input.
    pub(crate) fn denies_every_call_of(&self, facts: &Facts) -> bool {
        let decision = self.handler.fixed().map(|(decision, _)| decision);
        let is_for_all = self.tools.unless.is_empty()
            && self.tools.rules.iter().all(|rule| rule.is_for_all_calls())
            && self.when.is_none();
        decision == Some(Decision::Deny)
            && is_for_all
            && !self.detached
            && !self.observe
            && !self.once
            && self.applies(facts) == Ok(None)
    }

    /// The failure direction in force, for a moment of this phase.
    pub fn fail_at(&self, phase: Phase) -> Fail {
        self.said_fail(phase).unwrap_or(if phase == Phase::Gate {
            self.contract.gates_fail
        } else {
            Fail::Open
        })
    }

    /// What the hook says of a failure, or its file for all gates.
    pub fn said_fail(&self, phase: Phase) -> Option<Fail> {
        // What isn't taken out must not be passed on.
        let of_kind = self.handler.is_redacting().then_some(Fail::Closed);
        self.fail
            .or(of_kind)
            .or(self.default_fail.filter(|_| phase == Phase::Gate))
    }

    /// Whether it takes something out of what passes.
    pub fn redacts(&self) -> bool {
        self.handler.is_redacting() && !self.observe
    }

    /// Whether an allow of the hook's handler counts: `if` must cover the whole call.
    pub fn covers(&self, facts: &Facts) -> bool {
        self.tools.is_empty()
            || self.tools.holds(facts, self.asker(), Reading::Covers) == Truth::Yes
    }

    fn asker(&self) -> Asker {
        self.view().asker()
    }

    /// Holds every condition against an event, cheapest first: why one is in doubt, if
    /// any, or the first condition that fails. The index only ever saves calls of this.
    ///
    /// # Errors
    /// The first condition that fails.
    pub fn applies(&self, facts: &Facts) -> Result<Option<Doubt>, Condition> {
        let event = &facts.event;
        if !self.enabled {
            return Err(Condition::Enabled);
        }
        if !event.names().any(|name| self.on.includes(name)) {
            return Err(Condition::Event);
        }
        if event
            .unknown_gate()
            .is_some_and(|own| !self.on.includes(own) && !self.may_stop())
        {
            return Err(Condition::Event);
        }
        if event.spec.start && !self.on.is_for(PRE_EXEC) && !self.judges_start(event) {
            return Err(Condition::Event);
        }
        let mut doubt = None;
        if !self.agents.is_empty() {
            let agent = agent_name(event);
            if agent.is_empty() && self.contract.belongs_to_agents {
                let why = Untold {
                    condition: "agents".into(),
                    why: "the event names no agent".into(),
                };
                doubt = Some(Doubt {
                    why,
                    delegates: None,
                });
            } else if !self.agents.iter().any(|glob| glob.is_match(agent)) {
                return Err(Condition::Agent);
            }
        }
        if let Some(matcher) = &self.matcher {
            let matches = match (self.contract.matched)(&event.name) {
                Target::Nothing => true,
                Target::Member(TOOL_NAME) => {
                    let allows = self.reading() == Reading::Covers;
                    let mcp_name = facts
                        .mcp_name(self.asker())
                        .filter(|_| !(allows && facts.is_of_plugin()));
                    facts.tool().is_some_and(|tool| matcher.matches(tool))
                        || self.matches_family(matcher, facts)
                        || mcp_name.is_some_and(|it| matcher.matches(it))
                }
                Target::Member(pointer) => event
                    .text(pointer)
                    .is_some_and(|text| matcher.matches(text)),
                Target::Texts(texts) => texts(event).iter().any(|text| matcher.matches(text)),
            };
            if !matches {
                return Err(Condition::Matcher);
            }
        }
        if !self.tools.is_empty() {
            match self.tools.holds(facts, self.asker(), self.reading()) {
                Truth::Yes => {}
                Truth::Opaque(why) => {
                    doubt = Some(Doubt {
                        why,
                        delegates: None,
                    })
                }
                Truth::Delegates(why) if self.delegates.is_some() => {
                    doubt = Some(Doubt {
                        why,
                        delegates: self.delegates,
                    });
                }
                Truth::No | Truth::Delegates(_) => return Err(Condition::Rule),
            }
        }
        // What is about acts, `if` has asked.
        if let Some(when) = self.when.as_ref().filter(|when| !when.is_about_acts()) {
            let holds = match facts.why_unread() {
                Some(why) => Truth::in_doubt("when", why),
                None => facts.holds(|| "when", || when.holds(event.data())),
            };
            match holds {
                Truth::Yes => {}
                Truth::Opaque(why) | Truth::Delegates(why) => {
                    doubt = doubt.or(Some(Doubt {
                        why,
                        delegates: None,
                    }));
                }
                Truth::No => return Err(Condition::When),
            }
        }
        Ok(doubt)
    }

    /// Whether its answer can keep something from happening, without a count of what happened
    /// before.
    fn may_stop(&self) -> bool {
        !self.detached && !self.handler.counts() && self.handler.writes().is_none()
    }

    /// Whether a matcher names the family of the event's tool, instead of the tool.
    fn matches_family(&self, matcher: &Matcher, facts: &Facts) -> bool {
        let families = facts.families(self.asker());
        let is_apart = || {
            self.contract
                .tools_apart
                .contains(&facts.tool().unwrap_or_default())
        };
        // What allows a patch says nothing of the commands beside it.
        let patched = if self.reading() == Reading::Hits {
            facts.patched(self.asker())
        } else {
            &[]
        };
        !families.is_empty()
            && !is_apart()
            && families
                .iter()
                .chain(patched)
                .any(|name| matcher.matches(name))
    }

    /// Whether it can't be told without the name of the event's tool whether the hook is for the
    /// event, and what it says counts.
    pub fn asks_for_tool(&self, event: &Event) -> bool {
        let is_by_matcher = |matcher: &Matcher| match (self.contract.matched)(&event.name) {
            Target::Nothing => false,
            Target::Member(pointer) => pointer == TOOL_NAME,
            Target::Texts(texts) => {
                let is_for_others = match (matcher, self.contract.is_for_others) {
                    (Matcher::Pattern { regex, .. }, Some(is_for_others)) => {
                        is_for_others(regex.as_str(), event)
                    }
                    _ => false,
                };
                !is_for_others && !texts(event).iter().any(|text| matcher.matches(text))
            }
        };
        self.enabled
            && !self.observe
            && event.names().any(|name| self.on.includes(name))
            && (!self.tools.is_empty()
                || self.matcher.as_ref().is_some_and(is_by_matcher)
                || self
                    .when
                    .as_ref()
                    .is_some_and(|when| when.source().contains("tool")))
    }

    /// Puts a condition that fails at an event into words, as `explain` and editors show it.
    pub fn miss(&self, failed: Condition, facts: &Facts) -> Miss {
        let event = &facts.event;
        let (test, why) = match failed {
            Condition::Enabled => ("enabled", "switched off".into()),
            Condition::Event => match event.unknown_gate() {
                Some(own) => (
                    "on",
                    format!("not for {own}, which isn't known: only hooks that can deny it run"),
                ),
                None => ("on", format!("not for {}", event.name)),
            },
            Condition::Agent => (
                "agents",
                format!("agent `{}` is not listed", agent_name(event)),
            ),
            Condition::Matcher => ("matcher", self.matcher_miss(event)),
            Condition::Rule => return self.rule_miss(facts),
            Condition::When => (
                "when",
                format!(
                    "`{}` is false",
                    self.when.as_ref().map_or("", |when| when.source())
                ),
            ),
        };
        Miss {
            test: test.into(),
            why,
            unseen: None,
        }
    }

    /// What each rule of `if` and `unless` says of an event: the field, the rule, the finding.
    pub fn rules(&self, facts: &Facts) -> Vec<(&'static str, &ToolRule, Finding)> {
        let (rules, unless) = self.tools.explain(facts, self.asker(), self.reading());
        let of_if = self
            .tools
            .rules
            .iter()
            .zip(rules)
            .map(|(rule, found)| ("if", rule, found));
        let of_unless = self
            .tools
            .unless
            .iter()
            .zip(unless)
            .map(|(rule, found)| ("unless", rule, found));
        of_if.chain(of_unless).collect()
    }

    /// Whether the call passes if more exceptions are made.
    pub fn passes_with(&self, exceptions: &[&ToolRule], facts: &Facts) -> bool {
        let ToolCondition { rules, unless, .. } = &self.tools;
        let unless = unless.iter().chain(exceptions.iter().copied());
        match rule::holds(rules.iter(), unless, facts, self.asker(), self.reading()) {
            Truth::No => true,
            Truth::Delegates(_) => self.delegates.is_none(),
            Truth::Yes | Truth::Opaque(_) => false,
        }
    }

    /// The rule that keeps the hook out: one that is about the tool, rather than one about another.
    fn rule_miss(&self, facts: &Facts) -> Miss {
        let rules = self.rules(facts);
        let of = |wanted: &'static str, holds| {
            let mut found = rules
                .iter()
                .filter(|(field, _, it)| *field == wanted && (it.holds == Some(true)) == holds);
            let first = found
                .clone()
                .find(|(_, _, it)| !it.why.starts_with("another tool"))
                .or(found.next());
            first.map(|(field, rule, it)| {
                let why = format!("`{}`: {}", rule.text(), it.why);
                Miss {
                    test: (*field).into(),
                    why,
                    unseen: it.unseen.clone(),
                }
            })
        };
        let is_hit = self.tools.rules.is_empty() || of("if", true).is_some();
        let taken = of("unless", true).filter(|_| is_hit);
        let other = || Miss {
            test: "unless".into(),
            why: "it takes the call away".into(),
            unseen: None,
        };
        if taken.is_none() && is_hit && self.tools.located.is_some() {
            let when = self.when.as_ref().filter(|when| when.is_about_acts());
            let (test, why) = match when {
                Some(when) => (
                    "when",
                    format!("`{}` is false for what `if` names", when.source()),
                ),
                None => ("where", "what `if` names happens elsewhere".into()),
            };
            return Miss {
                test: test.into(),
                why,
                unseen: None,
            };
        }
        taken.or(of("if", false)).unwrap_or_else(other)
    }

    /// How the hook's rules are read.
    pub fn reading(&self) -> Reading {
        match self.handler.fixed() {
            Some((Decision::Allow, _)) => Reading::Covers,
            _ => Reading::Hits,
        }
    }

    fn matcher_miss(&self, event: &Event) -> String {
        match (self.contract.matched)(&event.name) {
            Target::Nothing => String::new(),
            Target::Member(pointer) => {
                let what = if pointer == TOOL_NAME {
                    "tool"
                } else {
                    pointer.trim_start_matches('/')
                };
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
            tools: &self.tools,
            fingerprint: self.fingerprint,
            timeout: self.timeout,
            detached: self.detached,
            tags: &self.tags,
            contract: self.contract,
            source: &self.source,
            judges_acts: self.judges_acts(),
            is_verdict: self.is_verdict(),
            fail: self.fail,
        }
    }

    /// Whether its rules over files are held against what a call does by any means, and not against
    /// its tool alone.
    pub fn judges_acts(&self) -> bool {
        self.contract.dialect == NATIVE && (self.reaches_acts || self.handler.judges_acts())
    }

    /// Whether it runs after a shell's call for each file that the call has written, too.
    pub fn follows_files(&self) -> bool {
        self.contract.dialect == NATIVE && self.names_path && self.matcher.is_none()
    }

    /// Whether it is asked about programs that start, because it is about tools: rules say of the
    /// program's words what they say of a command.
    pub fn judges_starts(&self) -> bool {
        let is_about_words = !self.tools.rules.is_empty()
            && !self.tools.rules.iter().any(ToolRule::is_for_all_calls);
        let by_rules = self.is_verdict() && is_about_words;
        self.contract.dialect == NATIVE
            && self.on.is_for(PRE_TOOL_USE)
            && !self.ignores_delegates
            && (by_rules || self.handler.judges_starts())
    }

    /// The same of one program: a hook asks nobody again that had a person asked about the tool's
    /// call.
    fn judges_start(&self, event: &Event) -> bool {
        self.judges_starts() && !event.was_asked_by(&self.name)
    }

    /// Whether it is a fixed deny or ask.
    pub fn is_verdict(&self) -> bool {
        matches!(
            self.handler.fixed(),
            Some((Decision::Deny | Decision::Ask, _))
        )
    }
}

/// The agent that an event comes from; empty if it names none.
fn agent_name(event: &Event) -> &str {
    event.text("/agent/name").unwrap_or_default()
}
