//! Which run an event counts towards: one prompt until the agent rests, sub-agents included.

use crate::event::Event;
use parking_lot::{Mutex, MutexGuard};
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, LazyLock};
use std::time::{SystemTime, UNIX_EPOCH};

/// Runs and sessions that are remembered at once; the oldest is forgotten first.
const MAX_REMEMBERED: usize = 10_000;
/// Runs within runs.
const MAX_DEPTH: usize = 16;

/// What is known of runs.
#[derive(Default)]
pub struct Runs(Mutex<Known>);

#[derive(Default)]
struct Known {
    /// Run to the run that started it, each with its session; an outermost one to itself.
    parents: Remembered,
    /// Agent to the session of its latest run, for events that don't name their session.
    agents: Remembered,
    /// The latest prompt of a session, for agents that don't name their runs. No two have one number.
    prompts: HashMap<String, u64>,
    order: VecDeque<(String, u64)>,
    n_prompts: u64,
}

#[derive(Default)]
struct Remembered {
    map: HashMap<Arc<str>, Arc<str>>,
    order: VecDeque<Arc<str>>,
}

impl Remembered {
    fn insert(&mut self, key: Arc<str>, value: Arc<str>) {
        if self.map.insert(key.clone(), value).is_none() {
            self.order.push_back(key);
        }
        if self.order.len() > MAX_REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.map.remove(&oldest);
        }
    }

    fn outermost(&self, run: &Arc<str>) -> Arc<str> {
        let mut run = run;
        for _ in 0..MAX_DEPTH {
            match self.map.get(run) {
                Some(parent) if parent != run => run = parent,
                Some(_) | None => break,
            }
        }
        run.clone()
    }
}

impl Runs {
    /// Learns from an event, before it is judged.
    pub fn note(&self, event: &Event) {
        let begins = matches!(&*event.name, "UserPromptSubmit" | "RunStart");
        match (event.text("/run"), event.text("/parentRun")) {
            (Some(run), parent) => {
                let session = event.session();
                let run = key(session, run);
                let known = &mut self.known().parents;
                // What was said first sticks, also that there is no parent: a run whose limit is reached
                // can't move to another one.
                if known.map.contains_key(&run) {
                    return;
                }
                let parent = parent.map(|parent| key(event.text("/parentSession").unwrap_or(session), parent));
                let parent = parent.filter(|parent| known.outermost(parent) != run).unwrap_or_else(|| run.clone());
                known.insert(run, parent);
            }
            (None, _) if begins && event.text("/agent/parent").is_none() => {
                let known = &mut *self.known();
                if let Some(agent) = event.text("/agent/name") {
                    known.agents.insert(agent.into(), event.session().into());
                }
                known.n_prompts += 1;
                let prompt = (event.session().to_string(), known.n_prompts);
                known.prompts.insert(prompt.0.clone(), prompt.1);
                known.order.push_back(prompt);
                // The session whose latest prompt is oldest is forgotten first.
                if known.order.len() > MAX_REMEMBERED
                    && let Some((session, number)) = known.order.pop_front()
                    && known.prompts.get(&session) == Some(&number)
                {
                    known.prompts.remove(&session);
                }
            }
            _ => {}
        }
    }

    /// The outermost run that an event belongs to. Without a run in the event, what lies between
    /// two prompts of a session is one; without a session either, it is the latest run of its agent.
    pub fn of(&self, event: &Event) -> Arc<str> {
        let session = event.session();
        let known = self.known();
        let Some(run) = event.text("/run") else {
            let latest = || known.agents.map.get(event.text("/agent/name")?).map(|it| &**it);
            let session = Some(session).filter(|it| !it.is_empty()).or_else(latest).unwrap_or_default();
            let prompts = known.prompts.get(session).copied().unwrap_or_default();
            return format!("{session}\n#{prompts}").into();
        };
        known.parents.outermost(&key(session, run))
    }

    /// The same by a name that no other process gives: for counts that outlive this one.
    pub fn durable(&self, event: &Event) -> String {
        static PROCESS: LazyLock<u128> =
            LazyLock::new(|| SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos());
        let run = self.of(event);
        if event.text("/run").is_some() {
            return run.to_string();
        }
        format!("{run}\n{}-{}", *PROCESS, std::process::id())
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock()
    }
}

fn key(session: &str, run: &str) -> Arc<str> {
    format!("{session}\n{run}").into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn sub_agents_belong_to_the_run_that_started_them() {
        let runs = Runs::default();
        let of = |event: serde_json::Value| {
            let event = Event::from_json(event).unwrap();
            runs.note(&event);
            runs.of(&event).to_string()
        };
        for (event, expected) in [
            (json!({"event": "StepStart", "session": "s", "run": "r1"}), "s\nr1"),
            (json!({"event": "RunStart", "session": "s", "run": "r2", "parentRun": "r1"}), "s\nr1"),
            (json!({"event": "RunStart", "session": "s", "run": "r3", "parentRun": "r2"}), "s\nr1"),
            (json!({"event": "StepStart", "session": "s", "run": "r3"}), "s\nr1"),
            (json!({"event": "StepStart", "session": "t", "run": "r3"}), "t\nr3"),
            // Nobody moves to another run later, and nobody is its own ancestor.
            (json!({"event": "StepStart", "session": "s", "run": "r1", "parentRun": "zz"}), "s\nr1"),
            (json!({"event": "StepStart", "session": "s", "run": "r2", "parentRun": "zz"}), "s\nr1"),
            (json!({"event": "StepStart", "session": "v", "run": "a", "parentRun": "b"}), "v\nb"),
            (json!({"event": "StepStart", "session": "v", "run": "b", "parentRun": "a"}), "v\nb"),
            (
                json!({"event": "StepStart", "session": "w", "run": "r9", "parentRun": "r3", "parentSession": "s"}),
                "s\nr1",
            ),
            (json!({"event": "StepStart", "session": "u"}), "u\n#0"),
            (json!({"event": "UserPromptSubmit", "session": "u", "prompt": "p"}), "u\n#1"),
            (
                json!({"event": "RunStart", "session": "u", "prompt": "p", "agent": {"name": "b", "parent": "a"}}),
                "u\n#1",
            ),
            (json!({"event": "Stop", "session": "u"}), "u\n#1"),
            (json!({"event": "StepStart", "agent": {"name": "c"}}), "\n#0"),
            (json!({"event": "RunStart", "session": "v", "agent": {"name": "c"}}), "v\n#2"),
            (json!({"event": "StepStart", "agent": {"name": "c"}}), "v\n#2"),
            (json!({"event": "StepStart", "session": "u", "agent": {"name": "c"}}), "u\n#1"),
            (json!({"event": "RunStart", "session": "w", "agent": {"name": "c"}}), "w\n#3"),
            (json!({"event": "StepStart", "agent": {"name": "c"}}), "w\n#3"),
            (json!({"event": "StepStart", "agent": {"name": "d"}}), "\n#0"),
        ] {
            assert_eq!(of(event.clone()), expected, "{event}");
        }
    }
}
