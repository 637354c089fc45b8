//! A file's `policy` becomes one that tool calls are held against.

use super::origin::Origin;
use super::rules::{Vocabulary, lint, of_several};
use super::written::{Mistakes, RawLimits, RawPolicy};
use hookwire_base::syntax::diagnostic::{LineIndex, Position};
use hookwire_base::syntax::node::{Entry, Node};
use hookwire_base::syntax::problem::Problem;
use hookwire_base::syntax::source::Source;
use hookwire_base::syntax::values::{OneOrMany, RawDuration};
use hookwire_rules::matching::rule::{Reading, ToolRule};
use hookwire_rules::matching::shell::CommandRule;
use hookwire_rules::matching::tools::{self, DeclaredTool};
use hookwire_rules::matching::urls::host_of_url;
use hookwire_rules::matching::when::When;
use hookwire_rules::policy::Policy;
use std::num::NonZeroU64;

/// A policy with a mistake allows nothing until it is fixed.
pub(super) fn policy(
    entry: &Entry,
    origin: &Origin<'_>,
    lines: &LineIndex<'_>,
    declared: &[DeclaredTool],
    mistakes: &mut Mistakes,
) -> Policy {
    let Position { line, column } = lines.position(entry.key_span.start);
    let source = Source {
        layer: origin.layer,
        file: origin.file.into(),
        line,
        column,
        position: 0,
    };
    let before = mistakes.found.len();
    let RawPolicy {
        deny,
        allow,
        limits,
        sandbox,
        reason,
    } = RawPolicy::read(entry, mistakes);
    let mut policy = Policy::at(source);
    if allow.is_some() {
        policy = policy.allow_nothing_else();
    }
    let node = |key| entry.value.get(key).unwrap_or(&entry.value);
    let denied = rules(deny.as_ref(), node("deny"), mistakes);
    let allowed = rules(allow.as_ref(), node("allow"), mistakes);
    let mistake = mistakes
        .found
        .get(before)
        .map(|problem| problem.message.clone());
    if mistake.is_none() {
        let vocabulary = Vocabulary {
            is_shared: true,
            declared,
        };
        lint(&denied, node("deny"), vocabulary, Reading::Hits, mistakes);
        lint(
            &allowed,
            node("allow"),
            vocabulary,
            Reading::Covers,
            mistakes,
        );
    }
    policy = denied.into_iter().fold(policy, Policy::deny_rule);
    policy = allowed.into_iter().fold(policy, Policy::allow_rule);
    let RawLimits {
        max_calls,
        timeout,
        max_output_bytes,
    } = limits;
    policy = max_calls
        .map(NonZeroU64::get)
        .into_iter()
        .fold(policy, Policy::max_calls);
    policy = timeout
        .map(RawDuration::get)
        .into_iter()
        .fold(policy, Policy::timeout);
    policy = max_output_bytes
        .into_iter()
        .fold(policy, Policy::max_output_bytes);
    policy = sandbox.into_iter().fold(policy, Policy::sandbox);
    policy = reason.into_iter().fold(policy, Policy::reason);
    match mistake {
        Some(message) => policy.broken(message),
        None => policy,
    }
}

/// The rules of one field, each mistake at its own place.
pub(super) fn rules(
    written: Option<&OneOrMany>,
    node: &Node,
    mistakes: &mut Mistakes,
) -> Vec<ToolRule> {
    let mut rules = Vec::new();
    for (n, text) in written.into_iter().flat_map(OneOrMany::iter).enumerate() {
        match ToolRule::new(text) {
            Ok(rule) => rules.push(rule),
            Err(message) => {
                let item = node.items().get(n);
                if let Some(slip) = of_several(text) {
                    mistakes.push(slip.problem(&item.unwrap_or(node).span, item.is_none()));
                    continue;
                }
                let says_all = message.contains("Tool(pattern)");
                let message = if says_all {
                    message
                } else {
                    format!("bad pattern: {message}")
                };
                let problem = Problem::error(&item.unwrap_or(node).span, "bad-rule", message);
                mistakes.push(match is_negated(text) {
                    true => problem.help("write what is left out under `unless`"),
                    false if is_condition(text) => {
                        problem.help("a condition over the event stands under `when`")
                    }
                    false => problem.did_you_mean(text, meant(text).as_deref()),
                });
            }
        }
    }
    rules.shrink_to_fit();
    rules
}

fn is_negated(text: &str) -> bool {
    let rest = text.strip_prefix('!').or_else(|| text.strip_prefix("not "));
    rest.is_some_and(|rule| ToolRule::new(rule).is_ok())
}

/// Whether a text compares what an event has, as `when` does.
fn is_condition(text: &str) -> bool {
    let compares = ["==", "!=", " in ", ">", "<", "&&", "||", ".contains("]
        .iter()
        .any(|sign| text.contains(sign));
    compares && When::new(text).is_ok()
}

/// The rule that was probably meant by a text that is none: one whose bracket isn't closed, a URL
/// behind `domain:`, a command without its tool, a tool and its pattern without brackets.
fn meant(text: &str) -> Option<String> {
    if let Some((before, host)) = text.split_once("domain:") {
        let host = host_of_url(host.strip_suffix(')')?)?;
        return Some(format!("{before}domain:{host})"));
    }
    if text.contains('(') && !text.ends_with(')') {
        let n = |bracket| text.matches(bracket).count();
        let closed = format!("{text})");
        return (!text.ends_with('(') && n('(') > n(')') && ToolRule::new(&closed).is_ok())
            .then_some(closed);
    }
    let (first, rest) = text.split_once([' ', ':'])?;
    let written = match tools::family(first) {
        Some(_) => format!("{first}({})", rest.trim()),
        None if CommandRule::knows(first) => format!("Bash({text})"),
        None => return None,
    };
    ToolRule::new(&written).is_ok().then_some(written)
}
