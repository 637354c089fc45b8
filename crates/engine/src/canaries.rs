//! Canaries: cases that are to be denied, tried by the hooks in force. A guard that denies its own
//! case no more is one that nobody would miss until it is needed.
//!
//! A trial runs nothing that has effects, so it isn't `hookwire test`: a case that takes place in a
//! world of its own, or that only such a hook would judge, is not tried.

use crate::definitions::cases::{self, Case, CaseFile, Reach, Scene, case_files, directory, reach};
use crate::definitions::layer_dir::LayerDir;
use crate::engine::{Engine, HooksInForce, Trial};
use crate::hook::Hook;
use crate::hook_set::HookSet;
use hookwire_base::support::places;
use hookwire_base::syntax::diagnostic::{Diagnostic, LineIndex};
use hookwire_base::syntax::problem::Problem;
use hookwire_base::verdict::Decision;
use hookwire_handlers::services::fakes::time_of_cases;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The code of the diagnostic of a case that is denied no more.
pub const NOT_DENIED: &str = "not-denied";

/// How long all cases may take, and how many are tried; the rest isn't.
const BUDGET: Duration = Duration::from_secs(5);
const MAX_TRIED: usize = 2000;
/// So many cases that are denied no more are named.
const MAX_NAMED: usize = 50;
/// The longest name of a case that is told, in characters.
const MAX_NAME: usize = 200;
/// The session in which cases take place.
const SESSION: &str = "hookwire-canary";

/// What became of the cases that are to be denied.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Canaries {
    /// How many are denied.
    pub denied: usize,
    /// How many weren't tried: they take place in a world of their own, only a hook that starts
    /// something or counts would judge them, or there was no time.
    pub not_tried: usize,
    /// How many aren't denied, though they are to be.
    pub not_denied: usize,
    /// The first of those that aren't.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<FailedCase>,
}

/// A case that is to be denied, and isn't.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FailedCase {
    /// The file of cases.
    pub file: String,
    /// The line on which the case begins, counted from 1.
    pub line: usize,
    /// Its name, else its command, path or event.
    pub name: String,
    /// What the hooks in force say instead.
    pub decision: Decision,
}

impl FailedCase {
    /// In a line, for people.
    pub fn describe(&self) -> String {
        let (file, line, name) = (&self.file, self.line, &self.name);
        format!(
            "{file}:{line}: `{name}` is to be denied, and {}",
            self.instead()
        )
    }

    fn instead(&self) -> &'static str {
        match self.decision {
            Decision::Allow | Decision::Deny => "isn't",
            Decision::Ask => "a person is asked instead",
            Decision::Defer => "it is left to the agent",
        }
    }
}

/// What a trial of all cases came to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tried {
    /// In numbers.
    pub canaries: Canaries,
    /// A warning for each case that is named.
    pub diagnostics: Vec<Arc<Diagnostic>>,
    /// The texts that the warnings point into, by file.
    pub sources: HashMap<String, Arc<str>>,
}

/// What became of one case.
enum Came {
    Denied,
    NotTried,
    Otherwise(Decision),
}

/// Tries the cases beside the definitions of these directories with the hooks in force. `None`: it
/// `is_over` before the end.
pub async fn try_cases(
    engine: &Engine,
    hooks: &Arc<HookSet>,
    dirs: &[LayerDir],
    is_over: impl Fn() -> bool,
) -> Option<Tried> {
    let began = Instant::now();
    let (mut tried, mut n_tried) = (Tried::default(), 0);
    for file in case_files(dirs) {
        // `check` and `test` tell what can't be read.
        let name = file.path.display().to_string();
        let Some(text) = &file.text else { continue };
        let Ok((read, _)) = cases::read_unfinished(&name, text) else {
            continue;
        };
        let has_world = read.setup.is_some();
        for case in read.cases.iter().filter(|case| case.is_deny()) {
            if is_over() {
                return None;
            }
            let may_try = !has_world && n_tried < MAX_TRIED && began.elapsed() < BUDGET;
            let came = match may_try {
                true => try_case(engine, hooks, &file, case).await,
                false => Came::NotTried,
            };
            n_tried += usize::from(may_try);
            match came {
                Came::Denied => tried.canaries.denied += 1,
                Came::NotTried => tried.canaries.not_tried += 1,
                Came::Otherwise(decision) => tried.add_failed(&name, text, case, decision),
            }
        }
    }
    Some(tried)
}

async fn try_case(engine: &Engine, hooks: &Arc<HookSet>, file: &CaseFile, case: &Case) -> Came {
    let home = places::home().unwrap_or_else(|| PathBuf::from("/"));
    let scene = Scene {
        dir: &engine.services.root,
        home: &home,
        files: directory(&file.path),
        session: SESSION,
    };
    let happened = case.is_single().then(|| case.happenings(&scene));
    let Some(Ok(mut happenings)) = happened else {
        return Came::NotTried;
    };
    let Some(mut happening) = happenings.pop() else {
        return Came::NotTried;
    };
    // As in a test, what a hook says doesn't depend on the time of day.
    happening.event.time = Some(time_of_cases());
    let in_force = HooksInForce {
        files: hooks.clone(),
        session: None,
    };
    let trial = engine
        .try_event(in_force, happening.dialect, &happening.event)
        .await;
    match trial.verdict.decision {
        Decision::Deny => Came::Denied,
        _ if depends_on_more(&trial, hooks, file, case, &scene) => Came::NotTried,
        decision => Came::Otherwise(decision),
    }
}

/// Whether what didn't run, or the answer of a person, could still deny a case. Only the hooks
/// count that the file of cases is about: others would be no guard of its own.
fn depends_on_more(
    trial: &Trial,
    hooks: &HookSet,
    file: &CaseFile,
    case: &Case,
    scene: &Scene<'_>,
) -> bool {
    if trial.verdict.decision == Decision::Ask && case.fakes.has_person() {
        return true;
    }
    let own: Vec<&Arc<Hook>> = hooks
        .hooks
        .iter()
        .filter(|hook| file.is_about(Path::new(&*hook.source.file)))
        .collect();
    let is_cut_off = |hook: &Hook| trial.cut_off().any(|name| *name == hook.name);
    let decides = |hook: &Hook| hook.handler.has_effects() && !hook.detached && !hook.observe;
    reach(case, scene, &hooks.tool_names, &own)
        .into_iter()
        .zip(&own)
        .any(|(reach, hook)| reach != Reach::No && (decides(hook) || is_cut_off(hook)))
}

impl Tried {
    fn add_failed(&mut self, file: &str, text: &str, case: &Case, decision: Decision) {
        self.canaries.not_denied += 1;
        if self.canaries.failed.len() >= MAX_NAMED {
            return;
        }
        let failed = FailedCase {
            file: file.to_string(),
            line: case.line,
            name: case.name.chars().take(MAX_NAME).collect(),
            decision,
        };
        let lines = LineIndex::new(text);
        let start = lines.offset_of_utf8(case.line - 1, 0);
        let end = lines.offset_of_utf8(case.line - 1, usize::MAX);
        let line = text.get(start..end).unwrap_or_default();
        let start = start + (line.len() - line.trim_start().len());
        let message = format!(
            "`{}` is to be denied, and {}",
            failed.name,
            failed.instead()
        );
        let warning = Problem::warning(&(start..end), NOT_DENIED, message)
            .help("`hookwire test` on this file shows which hook it reaches")
            .to_diagnostic(file, &lines);
        self.diagnostics.push(warning.into());
        self.sources
            .entry(file.to_string())
            .or_insert_with(|| text.into());
        self.canaries.failed.push(failed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::{Host, HostOptions};
    use std::fs;

    const GUARD: &str = "hooks: [{ name: a, on: PreToolUse, if: Bash(rm *), deny: no }]";
    const DENIED: &str = "cases: [{ bash: rm x, expect: deny }]";
    const PASSES: &str = "cases: [{ bash: ls, expect: deny }]";
    const LOG: &str = "hooks: [{ name: log, on: '*', fail: open, command: [touch, ran] }]";

    /// How many cases are denied, not tried, and not denied.
    async fn counts(dir: &Path) -> [usize; 3] {
        let host = Host::new(HostOptions {
            root: dir.into(),
            hooks: vec![dir.join("hooks")],
            ..HostOptions::default()
        });
        let tried = host.try_cases().await;
        assert_eq!(tried.diagnostics.len(), tried.canaries.not_denied);
        let Canaries {
            denied,
            not_tried,
            not_denied,
            ..
        } = tried.canaries;
        [denied, not_tried, not_denied]
    }

    #[tokio::test]
    async fn what_the_hooks_in_force_let_pass_is_told() {
        let hook = |fields: &str| format!("hooks: [{{ name: a, on: PreToolUse, {fields} }}]");
        let case = |fields: &str| format!("cases: [{{ bash: rm x, expect: deny, {fields} }}]");
        for (guard, cases, expected) in [
            (GUARD, DENIED, [1, 0, 0]),
            (GUARD, PASSES, [0, 0, 1]),
            (GUARD, "cases: [{ bash: ls, expect: allow }]", [0, 0, 0]),
            (GUARD, "cases: [", [0, 0, 0]),
            // What a trial can't have.
            (GUARD, &format!("setup: touch x\n{DENIED}"), [0, 1, 0]),
            (GUARD, &case("before: [{ bash: ls }]"), [0, 1, 0]),
            (GUARD, &case("wait: 1s"), [0, 1, 0]),
            (
                &hook("fail: closed, command: [touch, ran]"),
                DENIED,
                [0, 1, 0],
            ),
            (
                &hook("guard: { step-limit: { max: 1 } }"),
                DENIED,
                [0, 1, 0],
            ),
            (
                &hook("ask: sure?"),
                &case("fakes: { person: deny }"),
                [0, 1, 0],
            ),
            // What denies nothing.
            (&hook("ask: sure?"), DENIED, [0, 0, 1]),
            (&hook("observe: true, deny: no"), DENIED, [0, 0, 1]),
            (
                &hook("async: true, command: [touch, ran]"),
                DENIED,
                [0, 0, 1],
            ),
            (&hook("enabled: false, deny: no"), DENIED, [0, 0, 1]),
        ] {
            let dir = tempfile::tempdir().unwrap();
            let hooks = dir.path().join("hooks");
            for place in [hooks.clone(), hooks.join("below")] {
                fs::create_dir_all(&place).unwrap();
                fs::write(
                    place.join("guard.yaml"),
                    guard.replace("name: a", "name: b"),
                )
                .unwrap();
            }
            fs::write(hooks.join("below/guard.test.yaml"), cases).unwrap();
            // A hook of another file doesn't keep a case from being one that passes.
            fs::write(hooks.join("log.yaml"), LOG).unwrap();
            assert_eq!(counts(dir.path()).await, expected, "{guard}\n{cases}");
            assert!(!dir.path().join("ran").exists(), "{guard}");
        }
    }
}
