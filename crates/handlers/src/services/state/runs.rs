//! Which run an event counts towards: one prompt until the agent rests, sub-agents included.

use hookwire_base::event::Event;
use lru::LruCache;
use parking_lot::{Mutex, MutexGuard};
use std::num::NonZeroUsize;
use std::sync::{Arc, LazyLock};
use std::time::{SystemTime, UNIX_EPOCH};

/// Runs, agents and sessions that are remembered, each; those that no event is about for longest
/// are forgotten first.
const MAX_REMEMBERED: NonZeroUsize = NonZeroUsize::new(10_000).unwrap();
/// Runs within runs.
const MAX_DEPTH: usize = 16;

/// What is known of runs.
#[derive(Default)]
pub struct Runs(Mutex<Known>);

struct Known {
    /// Run to the run that started it, each with its session; an outermost one to itself.
    parents: LruCache<Arc<str>, Arc<str>>,
    /// Agent to the session of its latest run, for events that don't name their session.
    agents: LruCache<Arc<str>, Arc<str>>,
    /// The latest prompt of a session, for agents that don't name their runs. No two have one
    /// number.
    prompts: LruCache<String, u64>,
    n_prompts: u64,
    /// The run of the event before, which is among `parents`: mostly the next event is of the same
    /// run.
    latest: Option<Arc<str>>,
}

impl Default for Known {
    fn default() -> Known {
        Known {
            parents: LruCache::new(MAX_REMEMBERED),
            agents: LruCache::new(MAX_REMEMBERED),
            prompts: LruCache::new(MAX_REMEMBERED),
            n_prompts: 0,
            latest: None,
        }
    }
}

impl Known {
    /// The outermost run that a run is in. All on the way there count as used.
    fn outermost(&mut self, run: Arc<str>) -> Arc<str> {
        let mut run = run;
        for _ in 0..MAX_DEPTH {
            match self.parents.get(&run) {
                Some(parent) if *parent != run => run = parent.clone(),
                Some(_) | None => break,
            }
        }
        run
    }
}

impl Runs {
    /// Learns from an event, before it is judged.
    pub fn note(&self, event: &Event) {
        let begins = matches!(&*event.name, "UserPromptSubmit" | "RunStart");
        match event.run() {
            Some(run) => {
                let session = event.session();
                let mut known = self.known();
                if known
                    .latest
                    .as_deref()
                    .is_some_and(|latest| is_key(latest, session, run))
                {
                    return;
                }
                let run: Arc<str> = key(session, run).into();
                known.latest = Some(run.clone());
                // What was said first sticks, also that there is no parent: a run whose limit is
                // reached can't move to another one.
                if known.parents.get(&*run).is_some() {
                    return;
                }
                let parent = event.text("/parentRun");
                let parent = parent.map(|parent| {
                    key(event.text("/parentSession").unwrap_or(session), parent).into()
                });
                let parent =
                    parent.filter(|parent: &Arc<str>| known.outermost(parent.clone()) != run);
                known.parents.put(run.clone(), parent.unwrap_or(run));
            }
            None if begins && event.text("/agent/parent").is_none() => {
                let mut known = self.known();
                if let Some(agent) = event.text("/agent/name") {
                    known.agents.put(agent.into(), event.session().into());
                }
                known.n_prompts += 1;
                let number = known.n_prompts;
                known.prompts.put(event.session().to_string(), number);
            }
            None => {}
        }
    }

    /// The outermost run that an event belongs to. Without a run in the event, what lies between
    /// two prompts of a session is one; without a session either, it is the latest run of its
    /// agent.
    pub fn outermost(&self, event: &Event) -> Arc<str> {
        let session = event.session();
        let mut known = self.known();
        let Some(run) = event.run() else {
            let agent = event.text("/agent/name").filter(|_| session.is_empty());
            let latest = agent.and_then(|agent| known.agents.get(agent).cloned());
            let session = latest.as_deref().unwrap_or(session);
            let prompts = known.prompts.get(session).copied().unwrap_or_default();
            return format!("{session}\n#{prompts}").into();
        };
        known.outermost(key(session, run).into())
    }

    /// The same by a name that no other process gives: for counts that outlive this one.
    pub fn durable(&self, event: &Event) -> String {
        static PROCESS: LazyLock<u128> = LazyLock::new(|| {
            SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .unwrap_or_default()
                .as_nanos()
        });
        let run = self.outermost(event);
        if event.run().is_some() {
            return run.to_string();
        }
        format!("{run}\n{}-{}", *PROCESS, std::process::id())
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock()
    }
}

fn key(session: &str, run: &str) -> String {
    [session, "\n", run].concat()
}

/// Whether a text is the [`key`] of a run.
fn is_key(text: &str, session: &str, run: &str) -> bool {
    text.strip_prefix(session)
        .and_then(|rest| rest.strip_prefix('\n'))
        == Some(run)
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
            runs.outermost(&event).to_string()
        };
        for (event, expected) in [
            (
                json!({"event": "StepStart", "session": "s", "run": "r1"}),
                "s\nr1",
            ),
            (
                json!({"event": "RunStart", "session": "s", "run": "r2", "parentRun": "r1"}),
                "s\nr1",
            ),
            (
                json!({"event": "RunStart", "session": "s", "run": "r3", "parentRun": "r2"}),
                "s\nr1",
            ),
            (
                json!({"event": "StepStart", "session": "s", "run": "r3"}),
                "s\nr1",
            ),
            (
                json!({"event": "StepStart", "session": "t", "run": "r3"}),
                "t\nr3",
            ),
            // No run moves to another one later, and none is its own ancestor.
            (
                json!({"event": "StepStart", "session": "s", "run": "r1", "parentRun": "zz"}),
                "s\nr1",
            ),
            (
                json!({"event": "StepStart", "session": "s", "run": "r2", "parentRun": "zz"}),
                "s\nr1",
            ),
            (
                json!({"event": "StepStart", "session": "v", "run": "a", "parentRun": "b"}),
                "v\nb",
            ),
            (
                json!({"event": "StepStart", "session": "v", "run": "b", "parentRun": "a"}),
                "v\nb",
            ),
            (
                json!({"event": "StepStart", "session": "w", "run": "r9", "parentRun": "r3", "parentSession": "s"}),
                "s\nr1",
            ),
            (json!({"event": "StepStart", "session": "u"}), "u\n#0"),
            (
                json!({"event": "UserPromptSubmit", "session": "u", "prompt": "p"}),
                "u\n#1",
            ),
            (
                json!({"event": "RunStart", "session": "u", "prompt": "p", "agent": {"name": "b", "parent": "a"}}),
                "u\n#1",
            ),
            (json!({"event": "Stop", "session": "u"}), "u\n#1"),
            (
                json!({"event": "StepStart", "agent": {"name": "c"}}),
                "\n#0",
            ),
            (
                json!({"event": "RunStart", "session": "v", "agent": {"name": "c"}}),
                "v\n#2",
            ),
            (
                json!({"event": "StepStart", "agent": {"name": "c"}}),
                "v\n#2",
            ),
            (
                json!({"event": "StepStart", "session": "u", "agent": {"name": "c"}}),
                "u\n#1",
            ),
            (
                json!({"event": "RunStart", "session": "w", "agent": {"name": "c"}}),
                "w\n#3",
            ),
            (
                json!({"event": "StepStart", "agent": {"name": "c"}}),
                "w\n#3",
            ),
            (
                json!({"event": "StepStart", "agent": {"name": "d"}}),
                "\n#0",
            ),
        ] {
            assert_eq!(of(event.clone()), expected, "{event}");
        }
    }

    #[test]
    fn what_is_active_is_remembered() {
        let runs = Runs::default();
        let outermost = |event: &serde_json::Value| {
            let event = Event::from_json(event.clone()).unwrap();
            runs.note(&event);
            runs.outermost(&event).to_string()
        };
        let step = json!({"event": "StepStart", "session": "s", "run": "child"});
        let anonymous = json!({"event": "StepStart", "agent": {"name": "a"}});
        outermost(&json!({"event": "RunStart", "session": "s", "run": "parent"}));
        outermost(
            &json!({"event": "RunStart", "session": "s", "run": "child", "parentRun": "parent"}),
        );
        outermost(&json!({"event": "RunStart", "session": "t", "agent": {"name": "a"}}));
        for n in 0..MAX_REMEMBERED.get() {
            let session = format!("s{n}");
            outermost(&json!({"event": "RunStart", "session": session, "run": "r"}));
            outermost(
                &json!({"event": "RunStart", "session": session, "agent": {"name": session}}),
            );
            if n % 1000 == 0 {
                assert_eq!(
                    (&*outermost(&step), &*outermost(&anonymous)),
                    ("s\nparent", "t\n#1"),
                    "{n}"
                );
            }
        }
        assert_eq!(
            (&*outermost(&step), &*outermost(&anonymous)),
            ("s\nparent", "t\n#1")
        );
    }
}
