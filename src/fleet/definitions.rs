//! Published definitions on this host: whether they are sound and may be in force, the layer that they are, and what the
//! host reports of them.

use super::Member;
use super::settings::{Followed, Settings};
use crate::definitions::cases::{self, is_cases_file};
use crate::definitions::layer_dir::{Kept, LayerDir};
use crate::definitions::load::{Loader, Look};
use crate::handlers::{Effect, Handler, Means};
use crate::hook::Hook;
use crate::host::{Host, Published};
use crate::support::file::read_text;
use crate::syntax::diagnostic::Severity;
use crate::syntax::source::Layer;
use hookwire_fleet::follow::{Follower, Judge, Status, report_pause, stale_since};
use hookwire_fleet::hosts::{self, Report};
use hookwire_fleet::server::Link;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::sync::watch;

/// How often a host of a canary reports.
pub(crate) const CANARY_PAUSE: Duration = Duration::from_secs(5);

/// Tries the cases of the definitions in a directory. The error says which one isn't as expected.
pub(crate) type TryCases = fn(&Path) -> Result<(), String>;

/// Whether definitions are sound, and may be in force on this machine.
pub(crate) struct Soundness {
    /// They may start programs, run code and write files.
    pub(crate) code: bool,
    /// How cases are tried.
    pub(crate) cases: TryCases,
}

impl Judge for Soundness {
    fn check(&self, files: &Path) -> Result<(), String> {
        // The loader's paths are whole ones.
        let files = &std::path::absolute(files).map_err(|error| error.to_string())?;
        let known = |text: String| text.replace(&format!("{}/", files.display()), "");
        check(files, self.code).map_err(known)?;
        match has_cases(files) {
            true => (self.cases)(files).map_err(known),
            false => Ok(()),
        }
    }

    fn stand_in(&self, problem: &str) -> (String, String) {
        let message = format!(
            "the fleet's definitions on this machine are broken: {problem}; they come again as soon as a server is reached"
        );
        let gates = ["PreToolUse", "PermissionRequest"];
        let hook = json!({ "name": "broken-fleet", "on": gates, "deny": message });
        ("broken-fleet.json".into(), json!({ "hooks": [hook] }).to_string())
    }

    fn version(&self) -> &str {
        env!("CARGO_PKG_VERSION")
    }
}

/// Whether the definitions in a directory compile, and have no code if they may not.
fn check(files: &Path, code: bool) -> Result<(), String> {
    let dir = LayerDir { layer: Layer::Fleet, path: files.to_path_buf(), kept: Kept::AsItIs };
    // A bundle knows no project, and one that is broken doesn't come into force.
    let means = Means { root: files.to_path_buf(), is_trial: true, ..Means::default() };
    let loaded = Loader::new(vec![dir], means).load(Look::Now);
    let mut errors = loaded.diagnostics.iter().filter(|it| it.severity == Severity::Error);
    if let Some(first) = errors.next() {
        let more = match errors.count() {
            0 => String::new(),
            n => format!(", and {n} more"),
        };
        return Err(format!("{}{more}", first.one_line()));
    }
    if code {
        return Ok(());
    }
    let running = loaded.hooks.hooks.iter().filter(|hook| runs_code(&hook.handler)).collect::<Vec<_>>();
    if let Some(first) = running.first() {
        let Hook { name, handler, source, .. } = &***first;
        let more = match running.len() {
            1 => String::new(),
            n => format!(" and {} more hooks", n - 1),
        };
        return Err(format!(
            "{}:{}: {name} ({}){more} would run code or write files here; `code = true` under [definitions] in the \
             machine's fleet.conf permits that",
            source.file,
            source.line,
            handler.key(),
        ));
    }
    match case_files(files).find(|file| sets_the_scene(file)) {
        None => Ok(()),
        Some(file) => Err(format!(
            "{}: `setup` of its cases would run a command here; `code = true` under [definitions] in the machine's \
             fleet.conf permits that",
            file.display()
        )),
    }
}

/// Whether carrying a hook out runs what the definition brings, or writes where it says.
fn runs_code(handler: &Handler) -> bool {
    if ["command", "callable", "agent", "mcp", "script"].contains(&handler.key()) || handler.writes().is_some() {
        return true;
    }
    match handler.effect() {
        Some(
            Effect::Command(_) | Effect::Worker(..) | Effect::Agent(_) | Effect::McpTool { .. } | Effect::Appends(_),
        ) => true,
        Some(Effect::Post(_) | Effect::Model(_) | Effect::Person) | None => false,
    }
}

/// Whether there is anything to try in a directory.
pub(crate) fn has_cases(files: &Path) -> bool {
    case_files(files).next().is_some()
}

/// The files of cases in a directory of a bundle, whose depth is bounded.
fn case_files(dir: &Path) -> impl Iterator<Item = PathBuf> {
    let mut found = Vec::new();
    let mut dirs = vec![dir.to_path_buf()];
    while let Some(dir) = dirs.pop() {
        for entry in std::fs::read_dir(&dir).into_iter().flatten().flatten() {
            let path = entry.path();
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => dirs.push(path),
                Ok(kind) if kind.is_file() && is_cases_file(&path) => found.push(path),
                Ok(_) | Err(_) => {}
            }
        }
    }
    found.sort();
    found.into_iter()
}

/// Whether a file of cases has a `setup`. One that can't be read is told when its cases are tried.
fn sets_the_scene(file: &Path) -> bool {
    let text = read_text(file).unwrap_or_default();
    cases::read(&file.display().to_string(), &text).is_ok_and(|it| it.setup.is_some())
}

/// Opens what is kept of the channel that is followed, verified. `None`: none is.
///
/// # Errors
/// It can't be kept; for people.
pub(crate) fn open(settings: &Settings, cases: TryCases) -> Result<Option<Follower>, String> {
    let Some(Followed { pins, code }) = &settings.definitions else { return Ok(None) };
    // Other keys are another fleet: what was in force by these says nothing of those. And what one host has found sound
    // with code isn't so for one that permits none.
    let keys: Vec<String> = pins.signers.keys().map(ToString::to_string).collect();
    let digest = crate::support::digest::of_bytes(format!("{} {code}", keys.join(" ")).as_bytes());
    let dir = super::data()?.join(format!("{}-{}", pins.channel, digest.get(..12).unwrap_or_default()));
    let judge = Arc::new(Soundness { code: *code, cases });
    let follower = Follower::open(&dir, pins.clone(), judge);
    follower.map(Some).map_err(|error| format!("{}: {error}", dir.display()))
}

/// Follows the channel for a host, and reports what is in force, until the host is gone. Needs a tokio runtime.
pub(crate) async fn follow(host: Weak<Host>, member: Arc<Member>, follower: Option<Follower>) {
    let nothing = watch::Sender::new(Status::default());
    let mut status = follower.as_ref().map_or_else(|| nothing.subscribe(), Follower::status);
    let files = follower.as_ref().map(Follower::files);
    let _following = follower.map(|it| Task(tokio::spawn(it.run(member.server.clone()))));
    let Some(mut changes) = host.upgrade().map(|it| it.changes()) else { return };
    let mut link = member.server.link();
    let (mut swaps, mut is_stale, mut trouble) = (0, false, None);
    // The first connection takes a moment, which is no trouble.
    let mut is_late = false;
    loop {
        let now = status.borrow_and_update().clone();
        let Some(host) = host.upgrade() else { return };
        if now.swaps != swaps {
            swaps = now.swaps;
            let reloaded = host.clone();
            // Its own change of the set is no news any more.
            let _ = tokio::task::spawn_blocking(move || reloaded.reload()).await;
            changes = host.changes();
        }
        let stale = now.in_force.as_ref().and_then(stale_since).is_some();
        if stale && !is_stale {
            tracing::warn!("The fleet's definitions have expired. They stay in force until newer ones are published.");
        }
        is_stale = stale;
        let report = report(&now, &member, &host.published(), files.as_deref());
        drop(host);
        let is_up = matches!(*link.borrow_and_update(), Link::Up(_));
        if is_up {
            let _ = member.server.ready(Duration::from_secs(5)).await;
        }
        // While the server is away, this says so at once.
        let problem = hosts::put(&member.server, member.who(), report).await.err().map(|it| it.to_string());
        // Said once, not twice a minute.
        if trouble.is_none()
            && let Some(problem) = &problem
            && (is_up || is_late)
        {
            tracing::warn!("This host can't report to its fleet, and judges by what it has: {problem}");
        }
        trouble = problem.filter(|_| is_up || is_late);
        // Whoever watches a canary waits for it, and it is few hosts.
        let is_canary = now.in_force.as_ref().is_some_and(|it| it.canary);
        let pause = if is_canary { CANARY_PAUSE } else { report_pause() };
        tokio::select! {
            changed = status.changed() => if changed.is_err() && files.is_some() { return },
            changed = link.changed() => if changed.is_err() { return },
            _ = changes.recv() => {}
            () = tokio::time::sleep(pause) => is_late = true,
        }
    }
}

/// Ends with the value.
struct Task(tokio::task::JoinHandle<()>);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

fn report(status: &Status, member: &Member, published: &Published, files: Option<&Path>) -> Report {
    let of_bundle = |file: &str| files.is_some_and(|files| Path::new(file).starts_with(files));
    let errors = published.diagnostics.iter().filter(|it| it.severity == Severity::Error && of_bundle(&it.file));
    let below = |text: String| match files {
        Some(files) => text.replace(&format!("{}/", files.display()), ""),
        None => text,
    };
    let broken = status.broken.iter().cloned();
    Report {
        version: env!("CARGO_PKG_VERSION").into(),
        channel: member.settings.definitions.as_ref().map(|it| it.pins.channel.clone()),
        in_force: status.in_force.clone(),
        refused: status.refused.clone(),
        stale_since: status.in_force.as_ref().and_then(stale_since),
        generation: published.hooks.generation,
        hash: published.hooks.hash.to_string(),
        errors: broken.chain(errors.map(|it| below(it.one_line()))).collect(),
        judged: member.tally.counted(),
    }
}
