//! The proof of rules that were carried over: the same examples, judged as the agent does by its
//! documents and by hookwire with the definitions that would be written.

use crate::cli::ending;
use crate::cli::output::{Output, Tone, safe, shorten_text};
use crate::cli::scratch::scratch_dir;
use crate::cli::{Failure, Finding};
use crate::permissions::{Example, Permissions, strictness};
use hookwire_base::event::Event;
use hookwire_base::support::amounts::number_of;
use hookwire_base::support::places;
use hookwire_base::verdict::{Decision, Verdict};
use hookwire_engine::host::Host;
use serde_json::json;
use std::time::{Duration, Instant};

/// How long the examples may take, and how many are judged.
const BUDGET: Duration = Duration::from_secs(30);
const MAX_EXAMPLES: usize = 10_000;
/// So many differences of a kind are shown to people.
const MAX_SHOWN: usize = 3;
/// The widest example in a table, in characters.
const WIDTH: usize = 48;

/// An example, judged twice.
pub(super) struct Proof<'p> {
    pub(super) example: &'p Example,
    /// The permission that it was made for.
    pub(super) of: usize,
    /// What the agent decides; `None`: its mode does.
    pub(super) agent: Option<Decision>,
    /// What it decides about the same act in plain words, if the example has others.
    agent_on_act: Option<Option<Decision>>,
    pub(super) here: Judged,
}

/// What hookwire says.
pub(super) enum Judged {
    Decided(Here),
    /// There was no time.
    NotTried,
}

pub(super) struct Here {
    /// `None`: no rule names the call.
    pub(super) decision: Option<Decision>,
    pub(super) is_in_doubt: bool,
    /// The hooks that were asked.
    pub(super) selected: Vec<String>,
}

/// How hookwire stands to the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    Same,
    Stricter,
    /// Hookwire decides as about the same act in plain words.
    Wider,
    Looser,
    /// There was no time.
    NotTried,
}

impl Proof<'_> {
    pub(super) fn standing(&self) -> Standing {
        let Judged::Decided(here) = &self.here else {
            return Standing::NotTried;
        };
        match strictness(here.decision).cmp(&strictness(self.agent)) {
            std::cmp::Ordering::Less
                if self
                    .agent_on_act
                    .is_some_and(|agent| strictness(here.decision) >= strictness(agent)) =>
            {
                Standing::Wider
            }
            std::cmp::Ordering::Less => Standing::Looser,
            std::cmp::Ordering::Equal => Standing::Same,
            std::cmp::Ordering::Greater => Standing::Stricter,
        }
    }

    pub(super) fn agent_says(&self) -> &'static str {
        say(self.agent)
    }

    fn here_says(&self) -> String {
        match &self.here {
            Judged::NotTried => "not tried".into(),
            Judged::Decided(here) if here.is_in_doubt => {
                format!("{}, in doubt", say(here.decision))
            }
            Judged::Decided(here) => say(here.decision).into(),
        }
    }
}

/// A decision for people.
fn say(decision: Option<Decision>) -> &'static str {
    decision.map_or("no rule", Decision::as_str)
}

/// Judges the examples of all permissions that were carried over, by definitions of so many hooks.
pub(super) fn prove<'p>(
    permissions: &'p Permissions,
    n_hooks: usize,
    definitions: &str,
) -> Result<Vec<Proof<'p>>, Failure> {
    let scratch = scratch_dir("import")?;
    let (project, hooks) = (scratch.path().join("project"), scratch.path().join("hooks"));
    std::fs::create_dir(&project)?;
    std::fs::create_dir(&hooks)?;
    std::fs::write(hooks.join("permissions.yaml"), definitions)?;
    let built = Host::builder()
        .root(&project)
        .hooks(&hooks)
        .system(false)
        .obeys([Decision::Ask])
        .build();
    let host = built.map_err(|problem| Failure(problem.to_string()))?;
    if host.hooks().hooks.len() != n_hooks {
        let problems = host.diagnostics().join("; ");
        return Err(Failure(format!("the rules can't be proven: {problems}")));
    }
    let carried = |n: usize| {
        let rules = permissions.rules.iter().enumerate();
        rules
            .filter(|(_, rule)| !rule.said.rules.is_empty())
            .filter_map(move |(of, rule)| Some((of, rule.examples.get(n)?)))
    };
    let most = permissions
        .rules
        .iter()
        .map(|rule| rule.examples.len())
        .max();
    // Where the time isn't enough for all, each rule has some.
    let examples = (0..most.unwrap_or_default()).flat_map(carried);
    let mut proofs: Vec<Proof<'p>> = examples
        .map(|(of, example)| Proof {
            example,
            of,
            agent: None,
            agent_on_act: None,
            here: Judged::NotTried,
        })
        .collect();
    let home = places::home().unwrap_or_default();
    let home = home.to_string_lossy();
    let began = Instant::now();
    let mut failed = None;
    ending::run_to_end(async |_| {
        for proof in proofs.iter_mut().take(MAX_EXAMPLES) {
            if began.elapsed() > BUDGET {
                break;
            }
            let example = proof.example;
            proof.agent = permissions.decide(&example.call);
            proof.agent_on_act = example
                .same_as
                .as_ref()
                .map(|call| permissions.decide(call));
            let (tool, input) = example.call.tool_in(&home);
            let event = json!({
                "event": "PreToolUse", "cwd": project, "tool": { "name": tool, "input": input },
            });
            match Event::from_json(event) {
                Ok(event) => proof.here = Judged::Decided(here(&host.dispatch(event).await)),
                Err(problem) => failed = Some(problem.to_string()),
            }
        }
        Ok(Finding::Fine)
    })?;
    match failed {
        Some(problem) => Err(Failure(problem)),
        None => Ok(proofs),
    }
}

fn here(verdict: &Verdict) -> Here {
    let selected = verdict.outcomes.iter().map(|it| it.hook.to_string());
    let is_granted = verdict.decided_by.is_some();
    Here {
        decision: (verdict.decision != Decision::Allow || is_granted).then_some(verdict.decision),
        is_in_doubt: verdict.outcomes.iter().all(|it| {
            let is_certain = it.decision == Some(verdict.decision) && it.opaque.is_none();
            !is_certain
        }) && verdict.outcomes.iter().any(|it| it.opaque.is_some()),
        selected: selected.collect(),
    }
}

/// Says what the proofs came to, and shows what differs.
pub(super) fn tell_proofs(
    proofs: &[Proof<'_>],
    permissions: &Permissions,
    title: &str,
    is_by_description: bool,
    out: &mut Output,
) {
    if out.json {
        for proof in proofs {
            let rule = &permissions.rules[proof.of];
            let differs = match proof.standing() {
                Standing::Same => None,
                Standing::Stricter => Some("stricter"),
                Standing::Wider => Some("same act"),
                Standing::Looser => Some("looser"),
                Standing::NotTried => Some("not tried"),
            };
            let (member, value) = proof.example.call.as_case();
            let tool = proof.example.call.tool().0.to_string();
            out.json(&json!({
                "proof": { member: value }, "tool": tool, "how": proof.example.how,
                "permission": rule.text, "agent": proof.agent_says(), "here": proof.here_says(),
                "differs": differs,
            }));
        }
        return;
    }
    if proofs.is_empty() {
        return;
    }
    let count = |standing| proofs.iter().filter(|it| it.standing() == standing).count();
    let (stricter, wider) = (count(Standing::Stricter), count(Standing::Wider));
    let looser = count(Standing::Looser);
    let known_by = match is_by_description {
        true => format!("{} (nobody has run it beside this)", permissions.known_by),
        false => permissions.known_by.to_string(),
    };
    out.line("");
    out.line(&format!(
        "{} judged by {known_by}, and by hookwire: {} alike, {stricter} stricter here, {wider} the same act in other words, {looser} looser here.",
        number_of(proofs.len(), "example"),
        count(Standing::Same),
    ));
    let not_tried = count(Standing::NotTried);
    if not_tried > 0 {
        let text = format!(
            "{} not tried: there are too many for the time.",
            number_of(not_tried, "example")
        );
        let text = out.tone(Tone::Warn, &text);
        out.line(&text);
    }
    if stricter + wider + looser == 0 {
        return;
    }
    let head = format!("  {:<WIDTH$}  {title:<12}  here", "example");
    let head = out.tone(Tone::Dim, &head);
    out.line(&head);
    for (standing, tone) in [
        (Standing::Looser, Tone::Bad),
        (Standing::Wider, Tone::Dim),
        (Standing::Stricter, Tone::Warn),
    ] {
        let mut kinds: Vec<(&str, String, Vec<&Proof<'_>>)> = Vec::new();
        for proof in proofs.iter().filter(|proof| proof.standing() == standing) {
            let said = format!("{:<12}  {}", proof.agent_says(), proof.here_says());
            let how = proof.example.how;
            match kinds.iter_mut().find(|it| it.0 == how && it.1 == said) {
                Some((_, _, alike)) => alike.push(proof),
                None => kinds.push((how, said, vec![proof])),
            }
        }
        for (how, said, alike) in kinds {
            for proof in alike.iter().take(MAX_SHOWN) {
                let call = shorten_text(&safe(&proof.example.call.shown()), WIDTH);
                let said = out.tone(tone, &said);
                let how = out.tone(Tone::Dim, how);
                out.line(&format!("  {call:<WIDTH$}  {said}  {how}"));
            }
            if alike.len() > MAX_SHOWN {
                let more = alike.len() - MAX_SHOWN;
                let text = format!("  … {more} more of this kind; `--format json` has all");
                let text = out.tone(Tone::Dim, &text);
                out.line(&text);
            }
        }
    }
}
