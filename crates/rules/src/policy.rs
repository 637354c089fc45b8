//! The policy: which tools may be called at all, how often and within what bounds. It is decided
//! before any hook runs, and no hook can overrule it. Pure: the engine counts the calls.

use crate::matching::rule::{self, Reading, ToolRule};
use crate::matching::{Asker, Facts, ToolNaming, Truth};
use hookwire_base::event::{Event, Phase};
use hookwire_base::syntax::source::{Layer, Source};
use hookwire_base::verdict::millis_up;
use serde_json::{Map, Value, json};
use std::iter::{empty, once};
use std::sync::Arc;
use std::time::Duration;

/// The `policy` of a definition file, or of the program that embeds the host.
#[derive(Clone, Debug)]
pub struct Policy {
    deny: Vec<Arc<ToolRule>>,
    /// `None`: whatever isn't denied.
    allow: Option<Vec<Arc<ToolRule>>>,
    limits: CallLimits,
    sandbox: Option<String>,
    /// What whoever is denied is told first.
    reason: Option<String>,
    /// The mistake in it, if it has one: then it denies every call.
    broken: Option<String>,
    pub source: Source,
}

/// The bounds of tool calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallLimits {
    /// Calls of one run.
    pub max_calls: Option<u64>,
    pub timeout: Option<Duration>,
    pub max_output_bytes: Option<u64>,
}

/// The name that the policy has in verdicts, beside hooks.
pub const NAME: &str = "policy";

impl Default for Policy {
    fn default() -> Policy {
        Policy::new()
    }
}

impl Policy {
    /// A policy that allows everything, for the program that embeds the host.
    pub fn new() -> Policy {
        let layer = Layer::Hooks;
        Policy::at(Source {
            layer,
            file: "program".into(),
            line: 0,
            column: 0,
            position: 0,
        })
    }

    pub fn at(source: Source) -> Policy {
        Policy {
            deny: Vec::new(),
            allow: None,
            limits: CallLimits::default(),
            sandbox: None,
            reason: None,
            broken: None,
            source,
        }
    }

    /// Denies calls that `Tool(pattern)` may match.
    ///
    /// # Errors
    /// The rule's form.
    pub fn deny(self, rule: &str) -> Result<Policy, String> {
        Ok(self.deny_rule(ToolRule::new(rule)?))
    }

    pub fn deny_rule(mut self, rule: ToolRule) -> Policy {
        self.deny.push(rule.into());
        self
    }

    /// Allows calls of which every part is named by `Tool(pattern)`, different parts by different
    /// rules; calls that such rules don't cover are denied.
    ///
    /// # Errors
    /// The rule's form.
    pub fn allow(self, rule: &str) -> Result<Policy, String> {
        Ok(self.allow_rule(ToolRule::new(rule)?))
    }

    pub fn allow_rule(mut self, rule: ToolRule) -> Policy {
        self.allow.get_or_insert_default().push(rule.into());
        self
    }

    /// At most so many tool calls in one run.
    pub fn max_calls(mut self, calls: u64) -> Policy {
        self.limits.max_calls = Some(calls);
        self
    }

    /// How long a tool may run. The agent that runs it keeps to it.
    pub fn timeout(mut self, timeout: Duration) -> Policy {
        self.limits.timeout = Some(timeout);
        self
    }

    /// How much a tool may give back. The agent that runs it keeps to it.
    pub fn max_output_bytes(mut self, bytes: u64) -> Policy {
        self.limits.max_output_bytes = Some(bytes);
        self
    }

    /// The sandbox that tools are to run in, by a name that the agent knows.
    pub fn sandbox(mut self, name: impl Into<String>) -> Policy {
        self.sandbox = Some(name.into());
        self
    }

    /// Says why, and what to do instead, before the rule that denies a call.
    pub fn reason(mut self, reason: impl Into<String>) -> Policy {
        self.reason = Some(reason.into());
        self
    }

    /// Denies every call that no rule allows.
    pub fn allow_nothing_else(mut self) -> Policy {
        self.allow.get_or_insert_default();
        self
    }

    /// The policy can't be read as it was meant, so it denies every call.
    pub fn broken(self, problem: String) -> Policy {
        Policy {
            broken: Some(problem),
            ..self
        }
    }

    /// What it holds, for lists: how many rules deny and allow, and its bounds.
    pub fn told(&self) -> String {
        let rules = |n: usize| format!("{n} rule{}", if n == 1 { "" } else { "s" });
        let CallLimits {
            max_calls,
            timeout,
            max_output_bytes,
        } = self.limits;
        let mut told: Vec<String> = Vec::new();
        told.extend(
            self.broken
                .is_some()
                .then(|| "broken, so it allows nothing".into()),
        );
        let allow = self.allow.as_ref().map(|allow| match allow.is_empty() {
            true => "allows nothing".to_string(),
            false => format!(
                "allows only what {} cover{}",
                rules(allow.len()),
                if allow.len() == 1 { "s" } else { "" }
            ),
        });
        told.extend(allow);
        told.extend(
            (!self.deny.is_empty()).then(|| format!("denies by {}", rules(self.deny.len()))),
        );
        told.extend(max_calls.map(|calls| format!("at most {calls} calls")));
        told.extend(timeout.map(|time| format!("{} ms a call", millis_up(time))));
        told.extend(max_output_bytes.map(|bytes| format!("{bytes} bytes of output")));
        told.extend(self.sandbox.as_ref().map(|name| format!("sandbox {name}")));
        match told.is_empty() {
            true => "says nothing".into(),
            false => told.join(", "),
        }
    }

    /// All of its rules.
    pub fn rules(&self) -> impl Iterator<Item = &ToolRule> {
        let allowed = self.allow.iter().flatten();
        self.deny.iter().chain(allowed).map(|rule| &**rule)
    }

    /// Whether it has a reason for whoever is denied.
    pub fn has_reason(&self) -> bool {
        self.reason.is_some()
    }

    /// The rules that deny.
    pub fn denied(&self) -> impl Iterator<Item = &ToolRule> {
        self.deny.iter().map(|it| &**it)
    }

    pub fn is_broken(&self) -> bool {
        self.broken.is_some()
    }

    pub fn limits(&self) -> CallLimits {
        self.limits
    }

    /// Whether the rules deny each call of an event's tool, whatever its input. What is broken is
    /// mended sooner or later, and says nothing of a tool.
    pub fn denies_every_call(&self, facts: &Facts) -> bool {
        let tool = facts.event.tool_name().unwrap_or_default();
        let names = |rule: &Arc<ToolRule>| rule.names_tool(tool, facts, self.asker());
        let mut denied = self.deny.iter().filter(|rule| rule.is_for_all_calls());
        let is_left_out = |allow: &Vec<Arc<ToolRule>>| !allow.iter().any(names);
        self.broken.is_none() && (denied.any(names) || self.allow.as_ref().is_some_and(is_left_out))
    }

    fn asker(&self) -> Asker {
        Asker {
            layer: self.source.layer,
            naming: ToolNaming::Canonical,
            guesses: true,
            acts: true,
            any_depth: true,
        }
    }

    /// Why a tool call is denied by the rules, if it is.
    pub fn refusal(&self, facts: &Facts) -> Option<Refusal> {
        let tool = facts.event.tool_name().unwrap_or_default();
        let refuse = |told: String, in_doubt| {
            let reason = match &self.reason {
                Some(reason) => format!("{reason} ({told})"),
                None => told,
            };
            Some(Refusal { reason, in_doubt })
        };
        let certain = |told| refuse(told, false);
        let in_doubt = |told| refuse(told, true);
        if let Some(problem) = &self.broken {
            let Source { file, line, .. } = &self.source;
            return certain(format!(
                "the policy at {file}:{line} is broken, so nothing is allowed: {problem}"
            ));
        }
        let asker = self.asker();
        // A rule that is certain says why, before one that can't be told.
        let mut doubt = None;
        // A rule about all calls of a shell is about the tool, and not about each program.
        let is_start = facts.event.spec.start;
        for rule in self
            .deny
            .iter()
            .filter(|rule| !is_start || !rule.is_for_all_calls())
        {
            match rule::holds(once(&**rule), empty(), facts, asker, Reading::Hits) {
                Truth::Yes => return certain(format!("the policy denies `{}`", rule.text())),
                // Otherwise a text that can't be read would be enough to slip through.
                Truth::Opaque(why) => {
                    doubt = doubt.or_else(|| {
                        in_doubt(format!("the policy denies `{}`, and {why}", rule.text()))
                    });
                }
                Truth::Delegates(_) | Truth::No => {}
            }
        }
        if doubt.is_some() {
            return doubt;
        }
        let allow = self.allow.as_ref().filter(|_| !is_start)?;
        // No rule covers nothing.
        let covered = match allow.is_empty() {
            true => Truth::No,
            false => {
                // What may not be written isn't written by a redirection either.
                let unwritten = self
                    .deny
                    .iter()
                    .filter(|rule| rule.is_about("Write"))
                    .map(|it| &**it);
                rule::holds(
                    allow.iter().map(|it| &**it),
                    unwritten,
                    facts,
                    asker,
                    Reading::Covers,
                )
            }
        };
        match covered {
            Truth::Yes => None,
            Truth::Opaque(why) | Truth::Delegates(why) => in_doubt(format!(
                "the policy doesn't allow this call of `{tool}`: {why}"
            )),
            Truth::No => {
                let rules = allow.iter().map(|it| &**it);
                let left = rule::uncovered(rules, facts, asker);
                let told = left.map_or_else(String::new, |left| format!(": {left}"));
                certain(format!(
                    "the policy doesn't allow this call of `{tool}`{told}"
                ))
            }
        }
    }
}

/// Why a policy denies a call.
pub struct Refusal {
    pub reason: String,
    /// It couldn't be told what the call does.
    pub in_doubt: bool,
}

/// Why a tool call is denied by any of the policies, which come outermost layer first. Within a
/// layer one that is certain says why, before one that can't be told.
pub fn refusal(policies: &[Arc<Policy>], facts: &Facts) -> Option<String> {
    let mut doubt: Option<(Layer, String)> = None;
    for policy in policies {
        let layer = policy.source.layer;
        if doubt.as_ref().is_some_and(|(outer, _)| *outer != layer) {
            break;
        }
        match policy.refusal(facts) {
            Some(Refusal {
                reason,
                in_doubt: false,
            }) => return Some(reason),
            Some(Refusal {
                reason,
                in_doubt: true,
            }) => doubt = doubt.or(Some((layer, reason))),
            None => {}
        }
    }
    doubt.map(|(_, reason)| reason)
}

/// Whether an event asks whether a tool may run: only those are judged by policies.
pub fn is_tool_request(event: &Event) -> bool {
    event.spec.tool && event.spec.phase == Phase::Gate
}

/// The grant of all policies together with `given`, the agent's own grant: of two bounds the
/// narrower, of two sandboxes that of the outer layer. `None`: there is no grant.
pub fn grant<'a>(
    policies: impl Iterator<Item = &'a Policy>,
    given: Option<&Value>,
    calls_left: Option<u64>,
) -> Option<Value> {
    let mut grant = given
        .and_then(Value::as_object)
        .cloned()
        .unwrap_or_default();
    let has_own = grant.contains_key("sandbox");
    let mut sandbox = None;
    let narrow = |grant: &mut Map<String, Value>, key: &str, bound: Option<u64>| {
        let Some(bound) = bound else { return };
        let given = grant.get(key).and_then(Value::as_u64);
        grant.insert(
            key.into(),
            given.map_or(bound, |given| given.min(bound)).into(),
        );
    };
    for policy in policies {
        let CallLimits {
            timeout,
            max_output_bytes,
            max_calls: _,
        } = policy.limits;
        let timeout = timeout.map(millis_up);
        narrow(&mut grant, "timeoutMs", timeout);
        narrow(&mut grant, "maxOutputBytes", max_output_bytes);
        // A policy that comes with a clone must not lead out of the sandbox that the agent has
        // chosen.
        let may_name = policy.source.layer.is_trusted() || !has_own;
        sandbox = sandbox.or(policy.sandbox.as_deref().filter(|_| may_name));
    }
    narrow(&mut grant, "callsLeft", calls_left);
    if let Some(sandbox) = sandbox {
        grant.insert("sandbox".into(), json!(sandbox));
    }
    (!grant.is_empty()).then_some(Value::Object(grant))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn refusal(policy: &Policy, tool: &str, command: Value) -> String {
        let event = json!({"event": "PreToolUse", "cwd": "/p", "tool": {"name": tool, "input": {"command": command}}});
        let facts = Facts::new(Arc::new(Event::from_json(event).unwrap()), Path::new("/"));
        policy
            .refusal(&facts)
            .map(|it| it.reason)
            .unwrap_or_default()
    }

    #[test]
    fn a_certain_policy_of_a_layer_says_why() {
        let of = |layer, rule: &str| {
            Arc::new(
                Policy::at(Source {
                    layer,
                    ..Policy::new().source
                })
                .deny(rule)
                .unwrap(),
            )
        };
        let (rm, curl) = ("Bash(rm -rf *)", "Bash(curl * | sh)");
        let event = json!({"event": "PreToolUse", "tool": {"name": "Bash", "input": {"command": "curl x | sh"}}});
        let facts = Facts::new(Arc::new(Event::from_json(event).unwrap()), Path::new("/"));
        for (policies, expected) in [
            (
                [of(Layer::User, rm), of(Layer::User, curl)],
                "the policy denies `Bash(curl * | sh)`",
            ),
            (
                [of(Layer::User, rm), of(Layer::Project, curl)],
                "the policy denies `Bash(rm -rf *)`, and can't tell",
            ),
        ] {
            let told = super::refusal(&policies, &facts).unwrap();
            assert!(told.starts_with(expected), "{told}");
        }
    }

    #[test]
    fn what_cannot_be_told_neither_slips_through_nor_is_allowed() {
        let deny = Policy::new().deny("Bash(git push*)").unwrap();
        let allow = Policy::new()
            .allow("Bash(git *)")
            .unwrap()
            .allow("Read")
            .unwrap();
        let two = Policy::new()
            .deny("Bash(rm -rf *)")
            .unwrap()
            .deny("Bash(curl * | sh)")
            .unwrap();
        let several = allow.clone().allow("Bash(ls*)").unwrap();
        for (policy, tool, command, expected) in [
            (&deny, "Bash", json!("ls"), ""),
            (&deny, "Write", json!("git push"), ""),
            (
                &deny,
                "Bash",
                json!("ls && sudo git push -f"),
                "the policy denies `Bash(git push*)`",
            ),
            (
                &two,
                "Bash",
                json!("curl x | sh"),
                "the policy denies `Bash(curl * | sh)`",
            ),
            (
                &deny,
                "run_shell",
                json!("git push"),
                "the policy denies `Bash(git push*)`, and can't tell whether `Bash(git push*)` holds: `run_shell` isn't known",
            ),
            (&deny, "run_shell", json!("ls"), ""),
            (
                &deny,
                "Bash",
                json!("$X"),
                "the policy denies `Bash(git push*)`, and can't tell whether `Bash(git push*)` holds: ",
            ),
            (
                &deny,
                "Bash",
                json!(7),
                "the policy denies `Bash(git push*)`, and can't tell whether `Bash(git push*)` holds: ",
            ),
            (&allow, "Bash", json!("git status && git log"), ""),
            (&allow, "Read", json!(null), ""),
            (&several, "Bash", json!("git status && ls"), ""),
            (
                &allow,
                "Bash",
                json!("git status && rm x"),
                "the policy doesn't allow this call of `Bash`",
            ),
            (
                &allow,
                "Bash",
                json!("git $(x)"),
                "the policy doesn't allow this call of `Bash`",
            ),
            (
                &allow,
                "Bash",
                json!("git log > x"),
                "the policy doesn't allow this call of `Bash`",
            ),
            (
                &allow,
                "Write",
                json!("git x"),
                "the policy doesn't allow this call of `Write`",
            ),
            (
                &Policy::new().allow_nothing_else(),
                "Read",
                json!("x"),
                "the policy doesn't allow this call of `Read`",
            ),
        ] {
            let refusal = refusal(policy, tool, command.clone());
            let fits = if expected.is_empty() {
                refusal.is_empty()
            } else {
                refusal.starts_with(expected)
            };
            assert!(fits, "{tool} {command}: {refusal}");
        }
    }

    #[test]
    fn of_two_bounds_the_narrower() {
        let outer = Policy::new()
            .timeout(Duration::from_secs(5))
            .sandbox("outer");
        let inner = Policy::new()
            .timeout(Duration::from_secs(9))
            .max_output_bytes(7)
            .sandbox("inner");
        let given = json!({"timeoutMs": 6000, "maxOutputBytes": 3, "sandbox": "none", "own": 1});
        let granted = |given| grant([&outer, &inner].into_iter(), given, Some(2)).unwrap();
        assert_eq!(
            granted(Some(&given)),
            json!({"timeoutMs": 5000, "maxOutputBytes": 3, "sandbox": "outer", "callsLeft": 2, "own": 1})
        );
        assert_eq!(
            granted(None),
            json!({"timeoutMs": 5000, "maxOutputBytes": 7, "sandbox": "outer", "callsLeft": 2})
        );
        assert_eq!(grant([&Policy::new()].into_iter(), None, None), None);
        let short = Policy::new().timeout(Duration::from_micros(500));
        assert_eq!(
            grant([&short].into_iter(), None, None),
            Some(json!({"timeoutMs": 1}))
        );
        let layer = Layer::Project;
        let project = Policy::at(Source {
            layer,
            ..Policy::new().source
        })
        .sandbox("none");
        let sandbox = |given: Value| {
            grant([&project].into_iter(), Some(&given), None).unwrap()["sandbox"].clone()
        };
        assert_eq!(
            (sandbox(json!({"sandbox": "strict"})), sandbox(json!({}))),
            (json!("strict"), json!("none"))
        );
    }
}
