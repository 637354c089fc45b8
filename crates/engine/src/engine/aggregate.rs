//! How answers become a verdict: pure, no clock, no I/O.
//!
//! A deny absorbs everything else in every composition; what differs is which hooks still run after
//! it, whose reasons are kept and how rewrites combine.

use hookwire_base::event::Phase;
use hookwire_base::verdict::{Answer, Decision, Retry, StopSignal};
use hookwire_rules::contract::Composition;
use serde_json::{Map, Value};
use std::mem::take;
use std::sync::Arc;

/// The result of a chain of answers so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Folded {
    /// The strongest decision so far.
    pub decision: Option<Decision>,
    /// The first hook that gave it; of several blocks of a middleware chain, the last.
    pub decided_by: Option<Arc<str>>,
    /// Its reason, and the reasons of others that gave the same where the composition collects.
    pub reasons: Vec<String>,
    /// It couldn't tell whether it applies.
    pub in_doubt: bool,
    /// The subject's value after all rewrites.
    pub subject: Option<Value>,
    /// A hook replaced what would have happened.
    pub replaced: bool,
    /// An after-event's subject is withheld: no later rewrite brings it back.
    pub withheld: bool,
    /// The first reason to end the run.
    pub stop: Option<String>,
    /// For the person.
    pub user_messages: Vec<String>,
    /// For the model.
    pub additional_context: Vec<String>,
    /// The combined merge patch.
    pub context: Option<Value>,
    /// The way to go on after a failed model call.
    pub retry: Option<Retry>,
    /// Every signal to end the run, in order.
    pub signals: Vec<StopSignal>,
}

impl Folded {
    /// Takes one more answer in. `in_doubt`: of a hook that couldn't tell whether it applies.
    pub fn add(
        &mut self,
        composition: Composition,
        phase: Phase,
        hook: &Arc<str>,
        answer: Answer,
        in_doubt: bool,
    ) {
        // At a note the thing has happened, and no decision can stop it.
        let decision = if phase == Phase::Note {
            None
        } else {
            answer.decision
        };
        if let Some(decision) = decision {
            let is_second_deny = decision == Decision::Deny && self.decision == Some(decision);
            // Of two denies the certain one says why.
            let is_surer = is_second_deny && self.in_doubt && !in_doubt;
            // A second block replaces the first one's message. (instructor.)
            let replaces = is_second_deny
                && composition == Composition::Middleware
                && self.in_doubt == in_doubt;
            if self.decision.is_none_or(|strongest| decision > strongest) || replaces || is_surer {
                let earlier = take(&mut self.reasons);
                let collected = earlier
                    .into_iter()
                    .filter(|_| is_surer && collects(composition));
                self.reasons = answer.reason.into_iter().chain(collected).collect();
                self.decision = Some(decision);
                self.decided_by = Some(hook.clone());
                self.in_doubt = in_doubt;
            } else if self.decision == Some(decision)
                && decision != Decision::Allow
                && collects(composition)
            {
                self.reasons.extend(answer.reason);
            }
        }
        if let Some(subject) = answer.subject
            && !self.withheld
        {
            self.subject = Some(subject);
        }
        self.replaced |= answer.replace;
        self.stop = self.stop.take().or(answer.stop);
        self.user_messages.extend(answer.user_messages);
        self.additional_context.extend(answer.additional_context);
        if let Some(patch) = answer.context {
            self.context = Some(match self.context.take() {
                Some(earlier) => combine_patches(earlier, patch),
                None => patch,
            });
        }
        // In an onion the outer hook's retry stands, as its value does.
        self.retry = match composition {
            Composition::Onion => answer.retry.or(self.retry.take()),
            Composition::Pipeline
            | Composition::Veto
            | Composition::Middleware
            | Composition::Parallel => self.retry.take().or(answer.retry),
        };
        self.signals.extend(answer.signals);
    }

    /// The whole as the answer of one hook: what a block is to the composition around it.
    pub fn into_answer(mut self) -> Answer {
        let reason = self.take_reason();
        Answer {
            decision: self.decision,
            reason,
            subject: self.subject,
            patch: None,
            replace: self.replaced,
            stop: self.stop,
            user_messages: self.user_messages,
            additional_context: self.additional_context,
            context: self.context,
            retry: self.retry,
            remarks: Vec::new(),
            signals: self.signals,
            said: None,
        }
    }

    /// The reasons as one text.
    pub fn take_reason(&mut self) -> Option<String> {
        match &self.reasons[..] {
            [] | [_] => self.reasons.pop(),
            reasons => Some(reasons.join("; ")),
        }
    }
}

/// Whether an answer ends the chain: no further hook of its layer or of an inner one is to run.
pub fn ends(composition: Composition, phase: Phase, answer: &Answer) -> bool {
    let denied = answer.decision == Some(Decision::Deny);
    match composition {
        Composition::Onion => {
            denied && phase != Phase::Note || answer.replace || answer.stop.is_some()
        }
        // Even where a deny decides nothing.
        Composition::Pipeline => denied,
        Composition::Veto | Composition::Middleware | Composition::Parallel => false,
    }
}

fn collects(composition: Composition) -> bool {
    match composition {
        Composition::Veto | Composition::Parallel | Composition::Middleware => true,
        Composition::Onion | Composition::Pipeline => false,
    }
}

/// Combines rewrites of one snapshot in list order: members that only one hook changed are all
/// taken; where two changed the same one differently, the later in the list stands and the conflict
/// is reported, so that the time at which a hook finishes never decides.
pub fn combine_rewrites(
    snapshot: Option<&Value>,
    rewrites: &[(&str, &Value)],
) -> (Option<Value>, Vec<String>) {
    let [first, rest @ ..] = rewrites else {
        return (None, Vec::new());
    };
    let all_objects = snapshot.is_some_and(Value::is_object)
        && rewrites.iter().all(|(_, value)| value.is_object());
    let mut conflicts = Vec::new();
    if !all_objects {
        let mut standing = first;
        for later in rest {
            if later.1 != standing.1 {
                conflicts.push(conflict(standing.0, later.0, "the subject"));
            }
            standing = later;
        }
        return (Some(standing.1.clone()), conflicts);
    }
    let empty = Map::new();
    let before = snapshot.and_then(Value::as_object).unwrap_or(&empty);
    let mut combined = before.clone();
    let mut changed_by: Vec<(&str, &str, Option<&Value>)> = Vec::new();
    for (hook, value) in rewrites {
        let Value::Object(after) = *value else {
            continue;
        };
        let gone = before
            .keys()
            .filter(|key| !after.contains_key(*key))
            .map(|key| (key, None));
        let set = after
            .iter()
            .filter(|(key, value)| before.get(*key) != Some(value))
            .map(|(key, value)| (key, Some(value)));
        for (key, value) in gone.chain(set) {
            if let Some((_, other, _)) = changed_by
                .iter()
                .find(|(name, _, theirs)| name == key && *theirs != value)
            {
                conflicts.push(conflict(other, hook, &format!("`{key}`")));
            }
            changed_by.push((key, hook, value));
            match value {
                Some(value) => combined.insert(key.clone(), value.clone()),
                None => combined.remove(key),
            };
        }
    }
    (Some(Value::Object(combined)), conflicts)
}

fn conflict(earlier: &str, later: &str, what: &str) -> String {
    format!(
        "hooks `{earlier}` and `{later}` both rewrote {what}; the value of `{later}` stands, by their order"
    )
}

/// One merge patch that does what two do one after the other. Recursion is bounded by the depth
/// limit of the parser that read them.
fn combine_patches(earlier: Value, later: Value) -> Value {
    match (earlier, later) {
        (Value::Object(mut earlier), Value::Object(later)) => {
            for (key, value) in later {
                let value = match earlier.remove(&key) {
                    Some(before) => combine_patches(before, value),
                    None => value,
                };
                earlier.insert(key, value);
            }
            Value::Object(earlier)
        }
        (_, later) => later,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    const COMPOSITIONS: [Composition; 5] = [
        Composition::Onion,
        Composition::Pipeline,
        Composition::Veto,
        Composition::Middleware,
        Composition::Parallel,
    ];

    fn answers() -> impl Strategy<Value = Vec<Answer>> {
        let decision = prop::option::of(prop::sample::select(vec![
            Decision::Allow,
            Decision::Ask,
            Decision::Defer,
            Decision::Deny,
        ]));
        let answer = (decision, prop::option::of(0..3_u8), any::<bool>()).prop_map(
            |(decision, value, message)| Answer {
                decision,
                reason: decision.map(|it| it.as_str().to_string()),
                subject: value.map(|value| json!({"v": value})),
                user_messages: if message { vec!["m".into()] } else { vec![] },
                ..Answer::default()
            },
        );
        prop::collection::vec(answer, 0..8)
    }

    /// As the engine folds: a chain stops where its composition says so.
    fn fold(composition: Composition, answers: &[Answer]) -> Folded {
        let mut folded = Folded::default();
        for (n, answer) in answers.iter().enumerate() {
            folded.add(
                composition,
                Phase::Gate,
                &Arc::from(format!("h{n}")),
                answer.clone(),
                false,
            );
            if ends(composition, Phase::Gate, answer) {
                break;
            }
        }
        folded
    }

    proptest! {
        #[test]
        fn deny_absorbs(answers in answers()) {
            for composition in COMPOSITIONS {
                let denied = answers.iter().any(|answer| answer.decision == Some(Decision::Deny));
                prop_assert_eq!(fold(composition, &answers).decision == Some(Decision::Deny), denied);
            }
        }

        #[test]
        fn the_strongest_decision_wins_in_any_order(answers in answers(), seed in any::<prop::sample::Index>()) {
            let mut turned = answers.clone();
            if !turned.is_empty() {
                turned.rotate_left(seed.index(answers.len()));
            }
            let strongest = answers.iter().filter_map(|answer| answer.decision).max();
            for composition in COMPOSITIONS {
                prop_assert_eq!(fold(composition, &answers).decision, strongest);
                prop_assert_eq!(fold(composition, &turned).decision, strongest);
            }
        }

        #[test]
        fn every_reason_of_a_veto_is_kept(answers in answers()) {
            let denies = answers.iter().filter(|answer| answer.decision == Some(Decision::Deny)).count();
            let folded = fold(Composition::Veto, &answers);
            prop_assert!(denies == 0 || folded.reasons.len() == denies);
        }

        #[test]
        fn rewrites_of_a_snapshot_combine_without_order_unless_they_conflict(values in prop::collection::vec((0..4_u8, 0..3_u8), 0..5)) {
            let snapshot = json!({"k0": 9, "k1": 9, "k2": 9, "k3": 9});
            let rewrites: Vec<(String, Value)> = values.iter().enumerate().map(|(n, (key, value))| {
                let mut rewritten = snapshot.clone();
                rewritten[format!("k{key}")] = json!(value);
                (format!("h{n}"), rewritten)
            }).collect();
            let rewrites: Vec<(&str, &Value)> = rewrites.iter().map(|(hook, value)| (&**hook, value)).collect();
            let reversed: Vec<_> = rewrites.iter().rev().copied().collect();
            let (forward, conflicts) = combine_rewrites(Some(&snapshot), &rewrites);
            let (backward, _) = combine_rewrites(Some(&snapshot), &reversed);
            prop_assert!(!conflicts.is_empty() || forward == backward);
        }
    }

    #[test]
    fn conflicts_are_named() {
        let hook = |name: &'static str, value: Value| (name, value);
        for (rewrites, expected, conflicts) in [
            (
                vec![
                    hook("a", json!({"x": 2, "y": 1})),
                    hook("b", json!({"x": 1, "y": 2})),
                ],
                json!({"x": 2, "y": 2}),
                0,
            ),
            (
                vec![
                    hook("a", json!({"x": 2, "y": 1})),
                    hook("b", json!({"x": 3, "y": 1})),
                ],
                json!({"x": 3, "y": 1}),
                1,
            ),
            (
                vec![
                    hook("a", json!({"y": 1})),
                    hook("b", json!({"x": 1, "y": 1, "z": 1})),
                ],
                json!({"y": 1, "z": 1}),
                0,
            ),
            (
                vec![hook("a", json!("s")), hook("b", json!({"x": 1}))],
                json!({"x": 1}),
                1,
            ),
        ] {
            let rewrites: Vec<_> = rewrites
                .iter()
                .map(|(hook, value)| (*hook, value))
                .collect();
            let (combined, found) = combine_rewrites(Some(&json!({"x": 1, "y": 1})), &rewrites);
            assert_eq!((combined, found.len()), (Some(expected), conflicts));
        }
    }

    #[test]
    fn patches_combine() {
        let combined = combine_patches(
            json!({"a": {"b": 1, "c": 1}, "d": 1}),
            json!({"a": {"b": null}, "d": {"e": 1}}),
        );
        assert_eq!(combined, json!({"a": {"b": null, "c": 1}, "d": {"e": 1}}));
    }
}
