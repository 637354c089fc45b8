//! The expectations of a case, how a verdict differs from them, and the expectations that it would
//! meet.

use super::Case;
use hookwire_base::syntax::values::forms;
use hookwire_base::verdict::{Decision, Outcome, Status, Verdict, Would};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The verdict that a case expects.
#[derive(Clone, Debug, PartialEq)]
pub enum Expected {
    Deny,
    Ask,
    /// Nobody objects, changes or adds anything.
    Allow,
    /// A hook can't tell whether it applies, and says so.
    Doubt,
    /// Allowed as this command.
    Command(String),
    /// Allowed with this subject.
    Subject(Value),
    /// Allowed, and the model is told this.
    Context(String),
}

/// A hook's part in a verdict. More than one may be true of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Part {
    /// It failed, and its direction decided.
    Failed,
    /// It can't tell whether it applies.
    Doubt,
    /// It changed the subject or the context.
    Rewrote,
    Allow,
    Ask,
    Defer,
    Deny,
    /// It was selected and not run, or not waited for.
    Skipped,
    Ran,
    /// It wasn't selected.
    Absent,
}

impl Part {
    /// The most telling first.
    const ALL: [(Part, &str); 10] = [
        (Part::Failed, "failed"),
        (Part::Doubt, "doubt"),
        (Part::Rewrote, "rewrote"),
        (Part::Allow, "allow"),
        (Part::Ask, "ask"),
        (Part::Defer, "defer"),
        (Part::Deny, "deny"),
        (Part::Skipped, "skipped"),
        (Part::Ran, "ran"),
        (Part::Absent, "absent"),
    ];

    /// As a case has it.
    pub fn as_str(self) -> &'static str {
        Part::ALL
            .iter()
            .find(|(part, _)| *part == self)
            .map_or("", |(_, word)| word)
    }

    /// Whether it is true of a hook in a verdict.
    fn holds(self, hook: &str, verdict: &Verdict) -> bool {
        let mut outcomes = verdict.outcomes.iter().filter(|it| *it.hook == *hook);
        let mut has = |is_so: fn(&Outcome) -> bool| outcomes.any(is_so);
        match self {
            Part::Failed => has(|it| it.error.is_some() && it.opaque.is_none()),
            Part::Doubt => has(|it| it.opaque.is_some()),
            Part::Rewrote => has(|it| it.rewrote),
            Part::Allow => has(|it| it.decision == Some(Decision::Allow)),
            Part::Ask => has(|it| it.decision == Some(Decision::Ask)),
            Part::Defer => has(|it| it.decision == Some(Decision::Defer)),
            Part::Deny => has(|it| it.decision == Some(Decision::Deny)),
            Part::Skipped => has(|it| it.status == Status::Skipped),
            Part::Ran => has(|it| it.status != Status::Skipped),
            Part::Absent => !has(|_| true),
        }
    }

    /// The most telling word that is true of a hook in a verdict.
    fn of(hook: &str, verdict: &Verdict) -> Part {
        Part::ALL
            .into_iter()
            .map(|(part, _)| part)
            .find(|part| part.holds(hook, verdict))
            .unwrap_or(Part::Absent)
    }
}

/// The expectations with which a case would be as expected.
#[derive(Debug, PartialEq)]
pub struct CameOut {
    pub expected: Expected,
    pub reason: Option<String>,
    pub failure: Option<String>,
    /// Of the hooks that the case names.
    pub outcomes: BTreeMap<String, Part>,
    /// If the case says something of it.
    pub observed: Option<Would>,
}

pub(super) enum RawExpected {
    Word(String),
    More(RawMore),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawMore {
    command: Option<String>,
    subject: Option<Value>,
    context: Option<String>,
}

forms! { RawExpected, "deny, ask, allow, doubt, or a map with `command`, `subject` or `context`",
    text(word) => Ok(RawExpected::Word(word)),
    map(more: RawMore) => Ok(RawExpected::More(more)),
}

impl Expected {
    pub(super) fn new(raw: &RawExpected) -> Result<Expected, String> {
        match raw {
            RawExpected::Word(word) => match word.as_str() {
                "deny" => Ok(Expected::Deny),
                "ask" => Ok(Expected::Ask),
                "allow" => Ok(Expected::Allow),
                "doubt" => Ok(Expected::Doubt),
                _ => Err(format!(
                    "expected deny, ask, allow or doubt, found `{word}`"
                )),
            },
            RawExpected::More(RawMore {
                command,
                subject,
                context,
            }) => match (command, subject, context) {
                (Some(command), None, None) => Ok(Expected::Command(command.clone())),
                (None, Some(subject), None) => Ok(Expected::Subject(subject.clone())),
                (None, None, Some(context)) => Ok(Expected::Context(context.clone())),
                _ => Err("expected one of `command`, `subject` and `context`".into()),
            },
        }
    }

    /// What a verdict comes to; `None` if a case can't say it.
    pub fn of(verdict: &Verdict) -> Option<Expected> {
        if !verdict.errors.is_empty() {
            return None;
        }
        Some(
            match (
                verdict.decision,
                &verdict.subject,
                verdict.additional_context.first(),
            ) {
                _ if verdict.doubts().next().is_some() => Expected::Doubt,
                (Decision::Deny, ..) => Expected::Deny,
                (Decision::Ask, ..) => Expected::Ask,
                (Decision::Defer, ..) => return None,
                (Decision::Allow, Some(subject), _) => match subject["command"].as_str() {
                    Some(command) => Expected::Command(command.to_string()),
                    None => Expected::Subject(subject.clone()),
                },
                (Decision::Allow, None, Some(context)) => Expected::Context(context.clone()),
                (Decision::Allow, None, None) => Expected::Allow,
            },
        )
    }

    /// As a case has it.
    pub fn to_value(&self) -> Value {
        match self {
            Expected::Command(command) => json!({ "command": command }),
            Expected::Subject(subject) => json!({ "subject": subject }),
            Expected::Context(context) => json!({ "context": context }),
            Expected::Deny | Expected::Ask | Expected::Allow | Expected::Doubt => {
                self.to_string().into()
            }
        }
    }

    /// Whether a reason may be expected, too.
    pub(super) fn has_reason(&self) -> bool {
        matches!(self, Expected::Deny | Expected::Ask | Expected::Doubt)
    }
}

impl Case {
    /// Whether this is what it expects.
    pub fn expects(&self, came_out: &CameOut) -> bool {
        let CameOut {
            expected,
            reason,
            failure,
            outcomes,
            observed,
        } = came_out;
        (self.expected.as_ref(), &self.reason, &self.failure) == (Some(expected), reason, failure)
            && (&self.outcomes, self.observed) == (outcomes, *observed)
    }

    /// How a verdict on the last event differs from what is expected; `None` if it doesn't.
    pub fn mismatch(&self, verdict: &Verdict) -> Option<String> {
        let Some(expected) = &self.expected else {
            return Some("nothing is expected yet".into());
        };
        let is_named = |hook: &str, part| self.outcomes.get(hook) == Some(&part);
        let mut doubts = verdict.doubts();
        let doubt = doubts
            .clone()
            .find(|(hook, _)| !is_named(hook, Part::Doubt));
        let failed = failure(verdict);
        let other = self
            .outcomes
            .iter()
            .find(|(hook, part)| !part.holds(hook, verdict));
        let command = verdict
            .subject
            .as_ref()
            .and_then(|subject| subject["command"].as_str());
        let found = if let Some(error) = verdict.errors.first() {
            format!("a broken definition: {error}")
        } else if let Some((hook, error)) = failed.filter(|(hook, error)| match &self.failure {
            Some(part) => !error.contains(part),
            None => !is_named(hook, Part::Failed),
        }) {
            let mend = mend_failure(hook, self, verdict);
            return Some(format!(
                "{expected} expected{}, found a failure of `{hook}`: {error}{mend}",
                self.further()
            ));
        } else if self.failure.is_some() && failed.is_none() {
            format!("no failure: {}", describe(verdict))
        } else if let (Some((hook, why)), true) = (doubt, *expected != Expected::Doubt) {
            format!("`{hook}` in doubt: {why}")
        } else {
            let is_plain = verdict.subject.is_none() && verdict.additional_context.is_empty();
            let is_allowed = verdict.decision == Decision::Allow;
            let says = |part: &str| {
                verdict
                    .reason
                    .as_deref()
                    .is_some_and(|reason| reason.contains(part))
            };
            let fits = match expected {
                Expected::Deny => verdict.decision == Decision::Deny,
                Expected::Ask => verdict.decision == Decision::Ask,
                Expected::Allow => is_allowed && is_plain,
                Expected::Doubt => doubts.next().is_some(),
                Expected::Command(expected) => is_allowed && command == Some(expected.as_str()),
                Expected::Subject(expected) => {
                    is_allowed && verdict.subject.as_ref() == Some(expected)
                }
                Expected::Context(part) => {
                    let told = verdict
                        .additional_context
                        .iter()
                        .any(|text| text.contains(part.as_str()));
                    is_allowed && told
                }
            };
            match other {
                _ if !fits => describe(verdict),
                _ if !self.reason.as_deref().is_none_or(says) => {
                    return Some(format!(
                        "the reason doesn't say `{}`: {}",
                        self.reason.as_deref().unwrap_or_default(),
                        describe(verdict)
                    ));
                }
                Some((hook, part)) => {
                    let found = Part::of(hook, verdict).as_str();
                    return Some(format!(
                        "of `{hook}`, {} expected, found {found}",
                        part.as_str()
                    ));
                }
                None => {
                    let (wanted, found) = (self.observed?, strongest_observed(verdict));
                    return (wanted != found).then(|| {
                        format!(
                            "observed {} expected, found {}",
                            wanted.as_str(),
                            observed_in(verdict, found)
                        )
                    });
                }
            }
        };
        Some(format!(
            "{expected} expected{}, found {found}",
            self.further()
        ))
    }

    /// The reason and the failure that are expected, for people.
    fn further(&self) -> String {
        let reason = self
            .reason
            .as_ref()
            .map(|reason| format!(" ({reason})"))
            .unwrap_or_default();
        let failure = self
            .failure
            .as_ref()
            .map(|part| format!(" by a failure ({part})"))
            .unwrap_or_default();
        reason + &failure
    }
}

/// The first hook that failed, and how. A hook in doubt that sets `fail` has failed to tell: that
/// is its doubt.
fn failure(verdict: &Verdict) -> Option<(&str, &str)> {
    let mut decided = verdict
        .outcomes
        .iter()
        .filter(|outcome| outcome.opaque.is_none());
    decided.find_map(|outcome| Some((&*outcome.hook, outcome.error.as_deref()?)))
}

/// Says which decision a hook's failure was turned into, and what to change; stands behind the
/// error.
fn mend_failure(hook: &str, case: &Case, verdict: &Verdict) -> String {
    let outcome = verdict.outcomes.iter().find(|it| *it.hook == *hook);
    let did = match outcome.and_then(|it| it.decision) {
        _ if outcome.is_some_and(|it| it.observed.is_some()) => {
            "the hook only observes, so it stopped nothing"
        }
        Some(Decision::Deny) => "`fail: closed` made it a deny",
        Some(Decision::Ask) => "`fail: ask` made it an ask",
        Some(Decision::Allow | Decision::Defer) | None => {
            "the hook fails open, so it stopped nothing"
        }
    };
    let change = match &case.failure {
        Some(part) => {
            format!("the case expects another failure: change `failure: {part}`, or mend the hook")
        }
        None => format!(
            "mend the hook; if the case is about its failure, add `outcomes: {{ {hook}: failed }}`"
        ),
    };
    format!(" ({did}; {change})")
}

/// The strongest decision of the hooks that only observe.
fn strongest_observed(verdict: &Verdict) -> Would {
    verdict
        .outcomes
        .iter()
        .filter_map(Outcome::would)
        .max()
        .unwrap_or(Would::Allow)
}

/// That decision, with the hook that would have made it, and why.
fn observed_in(verdict: &Verdict, found: Would) -> String {
    let is_it = |it: &&Outcome| it.would() == Some(found);
    match verdict.outcomes.iter().find(is_it) {
        Some(it) => {
            let why = it.why().map(|why| format!(": {why}")).unwrap_or_default();
            format!("{} by `{}`{why}", found.as_str(), it.hook)
        }
        None => found.as_str().to_string(),
    }
}

fn describe(verdict: &Verdict) -> String {
    let mut found = verdict.decision.as_str().to_string();
    if let Some(reason) = &verdict.reason {
        found.push_str(&format!(": {reason}"));
    }
    if let Some(subject) = &verdict.subject {
        found.push_str(&match subject["command"].as_str() {
            Some(command) => format!(", as the command `{command}`"),
            None => format!(", as the subject {}", as_written(subject)),
        });
    }
    if !verdict.additional_context.is_empty() {
        found.push_str(&format!(
            ", with the context `{}`",
            verdict.additional_context.join("\n")
        ));
    }
    found
}

/// A value as a case has it, in a line.
fn as_written(value: &Value) -> String {
    let is_plain = |text: &str| {
        text.starts_with(|c: char| c.is_ascii_alphabetic())
            && text
                .chars()
                .all(|c| c.is_alphanumeric() || " _-./".contains(c))
            && !["true", "false", "null", "yes", "no"].contains(&text)
    };
    let text = |text: &str| {
        if is_plain(text) {
            text.to_string()
        } else {
            Value::from(text).to_string()
        }
    };
    match value {
        Value::String(it) => text(it),
        Value::Array(items) => format!(
            "[{}]",
            items.iter().map(as_written).collect::<Vec<_>>().join(", ")
        ),
        Value::Object(members) if members.is_empty() => "{}".into(),
        Value::Object(members) => {
            let members = members
                .iter()
                .map(|(key, value)| format!("{}: {}", text(key), as_written(value)));
            format!("{{ {} }}", members.collect::<Vec<_>>().join(", "))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

impl CameOut {
    /// The expectations that a verdict meets; `None` if a case can't say them.
    pub fn new(case: &Case, verdict: &Verdict) -> Option<CameOut> {
        let expected = Expected::of(verdict)?;
        let reason = verdict.reason.clone().filter(|_| expected.has_reason());
        let outcomes = case
            .outcomes
            .keys()
            .map(|hook| (hook.clone(), Part::of(hook, verdict)))
            .collect();
        let failure = failure(verdict).map(|(_, error)| error.to_string());
        let observed = case.observed.map(|_| strongest_observed(verdict));
        Some(CameOut {
            expected,
            reason,
            failure,
            outcomes,
            observed,
        })
    }
}

impl std::fmt::Display for Expected {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Expected::Deny => f.write_str("deny"),
            Expected::Ask => f.write_str("ask"),
            Expected::Allow => f.write_str("allow"),
            Expected::Doubt => f.write_str("doubt"),
            Expected::Command(command) => write!(f, "the command `{command}`"),
            Expected::Subject(subject) => write!(f, "the subject {}", as_written(subject)),
            Expected::Context(part) => write!(f, "a context with `{part}`"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::read;
    use super::*;

    #[test]
    fn a_verdict_is_held_to_what_is_expected() {
        let verdict = |extra: Value| -> Verdict {
            let mut value = json!({"decision": "allow", "outcomes": [], "generation": 1, "hash": "", "eventId": ""});
            value
                .as_object_mut()
                .unwrap()
                .extend(extra.as_object().unwrap().clone());
            serde_json::from_value(value).unwrap()
        };
        let beside = |decided: Value| {
            let in_doubt = json!({"hook": "d", "status": "blocking", "decision": "deny", "opaque": "why", "durationMicros": 1});
            json!({"decision": decided["decision"], "outcomes": [in_doubt, decided]})
        };
        let certain = |decision: &str| {
            beside(
                json!({"hook": "h", "status": "blocking", "decision": decision, "durationMicros": 1}),
            )
        };
        let outcome = |key: &str| json!({"decision": "ask", "outcomes": [{"hook": "h", "status": "blocking", key: "why", "durationMicros": 1}]});
        let observed = |observed: Value| json!({"outcomes": [{"hook": "h", "status": "success", "opaque": "why", "durationMicros": 1, "observed": observed}]});
        for (expected, extra, fits) in [
            ("allow", json!({}), true),
            ("deny", json!({}), false),
            ("deny", json!({"decision": "deny"}), true),
            ("deny", json!({"decision": "ask"}), false),
            (
                "deny, reason: off",
                json!({"decision": "deny", "reason": "pushes are off"}),
                true,
            ),
            (
                "deny, reason: off",
                json!({"decision": "deny", "reason": "no"}),
                false,
            ),
            ("ask", json!({"decision": "ask"}), true),
            ("ask", outcome("opaque"), false),
            ("ask", outcome("error"), false),
            ("doubt", outcome("opaque"), true),
            ("doubt", json!({"decision": "ask"}), false),
            // Nothing hangs on a doubt beside a certain deny.
            ("deny", certain("deny"), true),
            ("doubt", certain("deny"), false),
            (
                "deny, outcomes: { d: doubt, h: deny }",
                certain("deny"),
                true,
            ),
            ("ask", certain("ask"), false),
            ("doubt", certain("ask"), true),
            ("allow", json!({"subject": {"command": "a"}}), false),
            ("{ command: a }", json!({"subject": {"command": "a"}}), true),
            (
                "{ command: a }",
                json!({"subject": {"command": "b"}}),
                false,
            ),
            (
                "{ context: a }",
                json!({"additionalContext": ["cab"]}),
                true,
            ),
            ("{ context: a }", json!({}), false),
            ("allow", json!({"additionalContext": ["a"]}), false),
            ("allow", json!({"errors": ["broken"]}), false),
            ("{ subject: { a: 1 } }", json!({"subject": {"a": 1}}), true),
            ("{ subject: { a: 1 } }", json!({"subject": {"a": 2}}), false),
            ("ask, failure: wh", outcome("error"), true),
            ("ask, failure: wh", json!({"decision": "ask"}), false),
            ("ask, failure: who", outcome("error"), false),
            ("deny, failure: why", outcome("error"), false),
            ("ask, outcomes: { h: failed }", outcome("error"), true),
            ("ask, outcomes: { h: ask }", outcome("error"), false),
            ("ask, outcomes: { h: doubt }", outcome("opaque"), true),
            (
                "ask, outcomes: { h: ran, i: absent }",
                outcome("reason"),
                true,
            ),
            ("ask, outcomes: { h: skipped }", outcome("reason"), false),
            ("ask, outcomes: { i: ran }", outcome("reason"), false),
            ("allow", observed(json!({"decision": "deny"})), true),
            (
                "allow, observed: deny",
                observed(json!({"decision": "deny"})),
                true,
            ),
            (
                "allow, observed: ask",
                observed(json!({"decision": "deny"})),
                false,
            ),
            ("allow, observed: deny", json!({}), false),
            ("allow, observed: allow", json!({}), true),
            (
                "allow, observed: allow",
                observed(json!({"decision": "allow"})),
                true,
            ),
            (
                "allow, observed: rewrite",
                observed(json!({"decision": "allow", "rewrote": true})),
                true,
            ),
            (
                "deny, observed: deny",
                observed(json!({"decision": "deny"})),
                false,
            ),
            // Nothing hangs on the doubt of a hook that observes.
            (
                "allow, outcomes: { h: doubt }",
                observed(json!({"decision": "ask"})),
                true,
            ),
        ] {
            let text = format!("cases: [{{ bash: ls, expect: {expected} }}]");
            let case = read("a.test.yaml", &text).unwrap().cases.remove(0);
            let verdict = verdict(extra.clone());
            let mismatch = case.mismatch(&verdict);
            assert_eq!(
                mismatch.is_none(),
                fits,
                "{expected} against {extra}: {mismatch:?}"
            );
            // A failure is told with what it decided and what to change.
            for it in mismatch.iter().filter(|it| it.contains("a failure of")) {
                let did = [
                    "made it a deny; ",
                    "made it an ask; ",
                    "it stopped nothing; ",
                ];
                let change = [
                    "mend the hook; if the case is about its failure, add `outcomes: { h: failed }`",
                    "mend the hook)",
                ];
                let is_told = |parts: &[&str]| parts.iter().any(|part| it.contains(part));
                assert!(is_told(&did) && is_told(&change), "{it}");
            }
            // What came out is what would have been right.
            if let Some(CameOut {
                expected,
                reason,
                failure,
                outcomes,
                observed,
            }) = CameOut::new(&case, &verdict)
            {
                let case = Case {
                    expected: Some(expected),
                    reason,
                    failure,
                    outcomes,
                    observed,
                    ..case
                };
                assert_eq!(case.mismatch(&verdict), None, "{extra}");
            }
        }
    }
}
