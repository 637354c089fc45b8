//! Cases that are to be denied, judged by what is in force. A guard that denies its own case no more
//! is one that nobody would miss until it is needed.

use super::{Health, Report};
use crate::cli::Failure;
use crate::cli::ending::make_runtime;
use hookwire_base::support::amounts::number_of;
use hookwire_base::support::{file, places};
use hookwire_base::verdict::Decision;
use hookwire_engine::definitions::cases::{self, Case, Reach, Scene, beside, reach};
use hookwire_engine::engine::PROBE_SESSION;
use hookwire_engine::hook::Hook;
use hookwire_engine::host::{Host, HostOptions, Purpose};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long all cases may take; the rest isn't tried then.
const BUDGET: Duration = Duration::from_secs(5);

/// So many cases that are denied no more are named.
const MAX_TOLD: usize = 5;

/// What became of the cases.
#[derive(Debug, Default)]
struct Tried {
    n_denied: usize,
    n_untried: usize,
    /// Those that are to be denied and aren't, each with its place.
    passed: Vec<String>,
}

/// Tries the cases beside the definitions that count here, and says which are denied no more. It
/// runs nothing: what only a hook with effects would say isn't tried.
pub(super) fn check_canaries(own: &Host, report: &mut Report<'_>) -> Result<(), Failure> {
    let host = Host::new(HostOptions {
        purpose: Purpose::Try,
        state: Default::default(),
        ..own.options.clone()
    });
    let runtime = make_runtime()?;
    let tried = runtime.block_on(async {
        let began = Instant::now();
        let mut tried = Tried::default();
        let dirs = host.dirs().into_iter().map(|dir| dir.path);
        for dir in dirs.filter(|dir| dir.is_dir()) {
            for found in beside(&dir) {
                // `check` and `test` tell what can't be read.
                let Ok(cases) = &found.cases else { continue };
                // Its cases take place in a world of their own.
                let has_own_world = needs_setup(&found.path);
                for case in cases.iter().filter(|case| case.is_deny()) {
                    if has_own_world || began.elapsed() > BUDGET {
                        tried.n_untried += 1;
                    } else {
                        tried.add_case(&host, &found.path, case).await;
                    }
                }
            }
        }
        tried
    });
    runtime.shutdown_background();
    let Tried {
        n_denied,
        n_untried,
        passed,
    } = tried;
    if n_denied + n_untried + passed.len() == 0 {
        return Ok(());
    }
    report.begin_section("cases that are to be denied");
    for place in passed.iter().take(MAX_TOLD) {
        report.say_health(Health::Bad, &format!("{place} is to be denied, and isn't"));
    }
    if let Some(n_more) = passed.len().checked_sub(MAX_TOLD).filter(|n| *n > 0) {
        let more = number_of(n_more, "case");
        report.say_health(
            Health::Bad,
            &format!("{more} more are to be denied, and aren't"),
        );
    }
    report.say_health(
        Health::Fine,
        &format!("{} denied", number_of(n_denied, "case")),
    );
    if n_untried > 0 {
        let why = "they take place elsewhere, or only hooks that do something judge them: `hookwire test` tries them";
        report.say_health(
            Health::Fine,
            &format!("{} not tried: {why}", number_of(n_untried, "case")),
        );
    }
    Ok(())
}

/// Whether a file of cases makes the directory in which they take place.
fn needs_setup(path: &Path) -> bool {
    let name = path.display().to_string();
    let read = file::read_text(path).ok();
    let read = read.and_then(|text| cases::read(&name, &text).ok());
    read.is_none_or(|cases| cases.setup.is_some())
}

impl Tried {
    async fn add_case(&mut self, host: &Host, file: &Path, case: &Case) {
        let home = places::home().unwrap_or_else(|| PathBuf::from("/"));
        let root = host.root().to_path_buf();
        let scene = Scene {
            dir: &root,
            home: &home,
            files: cases::directory(file),
            session: PROBE_SESSION,
        };
        let Ok([happening]) = case
            .happenings(&scene)
            .map(<[_; 1]>::try_from)
            .and_then(|one| one.map_err(|_| String::new()))
        else {
            self.n_untried += 1;
            return;
        };
        let (verdict, _) = host.judge_as(happening.dialect, &happening.event).await;
        if verdict.decision == Decision::Deny {
            self.n_denied += 1;
            return;
        }
        let published = host.hooks();
        let hooks: Vec<&Arc<Hook>> = published.hooks.iter().collect();
        let reached = reach(case, &scene, &published.tool_names, &hooks);
        let is_left_out = reached
            .iter()
            .zip(&hooks)
            .any(|(reach, hook)| *reach != Reach::No && hook.handler.has_effects());
        if is_left_out {
            self.n_untried += 1;
        } else {
            let (place, line) = (file.display(), case.line);
            self.passed.push(format!("{place}:{line}: `{}`", case.name));
        }
    }
}
