//! Published definitions on this host: whether they are sound and may be in force, the layer that
//! they are, and what the host reports of them.

use super::Member;
use super::settings::{self, CHANNEL, Settings};
use crate::definitions::cases::{self, is_cases_file};
use crate::definitions::layer_dir::{Kept, LayerDir};
use crate::definitions::load::{Loaded, Loader, Look};

use crate::definitions::signed::{Signed, SignedSet, Standing};
use crate::hook::Hook;
use crate::host::{Host, Published};
use crate::ledger::LastDay;
use hookwire_base::syntax::diagnostic::Severity;
use hookwire_base::syntax::source::Layer;
use hookwire_fleet::bundle::Files;
use hookwire_fleet::follow::{Follower, Judge, Status, report_pause, stale_since};
use hookwire_fleet::hosts::{Report, Unasked};
use hookwire_fleet::name::Name;
use hookwire_fleet::server::Link;
use hookwire_handlers::handlers::{Effect, Handler, Means};
use hookwire_rules::matching::rule::ToolRule;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::sync::watch;

/// How long a host that has nothing to judge by waits for its fleet before it judges the first
/// event.
const FIRST_LOOK: Duration = Duration::from_secs(2);

/// How much of the digest of keys names a directory, and how many of these are looked at.
const N_DIGITS: usize = 12;
const MAX_LOOKED: usize = 64;

/// How old a report's count of calls may be that nobody was asked about.
const COUNT_AGE: Duration = Duration::from_secs(600);

/// How often a host of a canary reports.
pub const CANARY_PAUSE: Duration = Duration::from_secs(5);

/// Tries the cases of the definitions in a directory. The error says which one isn't as expected.
pub(crate) type TryCases = fn(&Path) -> Result<(), String>;

/// Whether definitions are sound, and may be in force on this machine.
pub struct Soundness {
    /// They may start programs, run code and write files.
    pub code: bool,
    /// How cases are tried.
    pub cases: TryCases,
}

impl Judge for Soundness {
    fn check(&self, files: &Files, dir: &Path) -> Result<(), String> {
        self.permits(files, dir)?;
        match has_cases(files) {
            true => (self.cases)(dir).map_err(|problem| below(&problem, dir)),
            false => Ok(()),
        }
    }

    fn permits(&self, files: &Files, dir: &Path) -> Result<(), String> {
        // The loader's paths are whole ones.
        let dir = std::path::absolute(dir).map_err(|error| error.to_string())?;
        check(files, &dir, self.code).map_err(|problem| below(&problem, &dir))
    }

    fn version(&self) -> &str {
        env!("CARGO_PKG_VERSION")
    }
}

/// A text with the paths of a bundle's files as its publisher knows them.
fn below(text: &str, dir: &Path) -> String {
    text.replace(&format!("{}/", dir.display()), "")
}

/// The files of a bundle, for the loader.
fn signed_set(digest: String, files: &Files, dir: &Path) -> Arc<SignedSet> {
    let digests = files.entries.iter().map(|it| it.sha256.to_string());
    let files = files
        .iter()
        .zip(digests)
        .map(|((path, content), digest)| (path, content, digest));
    Arc::new(SignedSet::new(digest, dir, files))
}

/// What this version reads in definitions that others may not: a host says so in its report, because
/// one that doesn't know a word denies every call by it.
const READS: [&str; 7] = [
    "where",
    "act",
    "Connect",
    "policy.reason",
    "NAME=value",
    "[-o value]",
    "$(mktemp)",
];

/// The words of [`READS`] that definitions use.
///
/// # Errors
/// The directory has no whole path.
pub fn words_needed(files: &Files, dir: &Path) -> std::io::Result<Vec<&'static str>> {
    let loaded = load(files, &std::path::absolute(dir)?);
    let (hooks, policies) = (&loaded.hooks.hooks, &loaded.hooks.policies);
    let rules = || {
        let of_hooks = hooks
            .iter()
            .flat_map(|hook| hook.tools.rules.iter().chain(&hook.tools.unless));
        of_hooks.chain(policies.iter().flat_map(|policy| policy.rules()))
    };
    let any_pattern = |is_one: fn(&str) -> bool| {
        let mut patterns = rules().filter(|rule| rule.is_about("Bash"));
        patterns.any(|rule| rule.pattern().is_some_and(is_one))
    };
    let uses = |word: &&str| match *word {
        "where" => hooks.iter().any(|hook| hook.tools.located.is_some()),
        "act" => hooks
            .iter()
            .filter_map(|hook| hook.when.as_ref())
            .any(|when| when.is_about_acts()),
        "Connect" => rules().any(ToolRule::is_about_hosts),
        "policy.reason" => policies.iter().any(|policy| policy.has_reason()),
        "NAME=value" => any_pattern(|pattern| {
            let first = pattern.split_whitespace().next().unwrap_or_default();
            let name = first.split_once('=').map_or("", |(name, _)| name);
            !name.is_empty()
                && name
                    .chars()
                    .all(|c| c.is_alphanumeric() || c == '_' || c == '*')
        }),
        "[-o value]" => any_pattern(|pattern| pattern.contains(" [-")),
        _ => any_pattern(|pattern| pattern.contains("$(mktemp)")),
    };
    Ok(READS.into_iter().filter(uses).collect())
}

fn load(files: &Files, dir: &Path) -> Loaded {
    let layer_dir = LayerDir {
        layer: Layer::Fleet,
        path: dir.into(),
        kept: Kept::Signed(signed(files, dir)),
    };
    // A bundle knows no project, and one that is broken doesn't come into force.
    let means = Means {
        root: dir.into(),
        is_trial: true,
        ..Means::default()
    };
    Loader::new(vec![layer_dir], means).load(Look::Now)
}

/// Whether definitions compile, and have no code if they may not. Those in memory are looked at,
/// not the directory's.
fn check(files: &Files, dir: &Path, code: bool) -> Result<(), String> {
    let loaded = load(files, dir);
    let mut errors = loaded
        .diagnostics
        .iter()
        .filter(|it| it.severity == Severity::Error);
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
    let running = loaded
        .hooks
        .hooks
        .iter()
        .filter(|hook| runs_code(&hook.handler))
        .collect::<Vec<_>>();
    if let Some(first) = running.first() {
        let Hook {
            name,
            handler,
            source,
            ..
        } = &***first;
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
    match case_files(files).find(|(file, content)| sets_the_scene(file, content)) {
        None => Ok(()),
        Some((file, _)) => Err(format!(
            "{file}: `setup` of its cases would run a command here; `code = true` under [definitions] in the machine's \
             fleet.conf permits that"
        )),
    }
}

/// Whether carrying a hook out runs what the definition brings, or writes where it says.
fn runs_code(handler: &Handler) -> bool {
    if ["command", "callable", "agent", "mcp", "script"].contains(&handler.key())
        || handler.writes().is_some()
    {
        return true;
    }
    match handler.effect() {
        Some(
            Effect::Command(_)
            | Effect::Worker(..)
            | Effect::Agent(_)
            | Effect::McpTool { .. }
            | Effect::Appends(_),
        ) => true,
        Some(Effect::Post(_) | Effect::Model(_) | Effect::Person) | None => false,
    }
}

/// Whether there is anything to try in a bundle.
pub fn has_cases(files: &Files) -> bool {
    case_files(files).next().is_some()
}

fn case_files(files: &Files) -> impl Iterator<Item = (&str, &[u8])> {
    files
        .iter()
        .filter(|(path, _)| is_cases_file(Path::new(path)))
}

/// Whether a file of cases has a `setup`. One that can't be read is told when its cases are tried.
fn sets_the_scene(file: &str, content: &[u8]) -> bool {
    cases::read(file, &String::from_utf8_lossy(content)).is_ok_and(|it| it.setup.is_some())
}

/// Opens what is kept of the channel that is followed, verified. `None`: none is.
///
/// # Errors
/// It can't be kept; for people.
fn open(settings: &Settings, cases: TryCases) -> Result<Option<Follower>, String> {
    let Some(settings::Followed { pins, code }) = &settings.definitions else {
        return Ok(None);
    };
    // Other keys are another fleet: what was in force by these says nothing of those. And what one
    // host has found sound with code isn't so for one that permits none.
    let keys: Vec<String> = pins.signers.keys().map(ToString::to_string).collect();
    let digest =
        hookwire_base::support::digest::of_bytes(format!("{} {code}", keys.join(" ")).as_bytes());
    let dir = super::data()?.join(format!(
        "{}-{}",
        pins.channel,
        digest.get(..N_DIGITS).unwrap_or_default()
    ));
    let judge = Arc::new(Soundness { code: *code, cases });
    let mut follower = Follower::open(&dir, pins.clone(), judge)
        .map_err(|error| format!("{}: {error}", dir.display()))?;
    follower.adopt_newest(&of_other_keys(&dir, &pins.channel));
    Ok(Some(follower))
}

/// Where this user's hosts keep what they have of the same channel by other keys.
fn of_other_keys(dir: &Path, channel: &Name) -> Vec<PathBuf> {
    let start = format!("{channel}-");
    let is_of_channel = |path: &PathBuf| {
        let rest = path
            .file_name()
            .and_then(|name| name.to_str()?.strip_prefix(&*start));
        path != dir && rest.is_some_and(|rest| rest.len() == N_DIGITS)
    };
    let entries = dir
        .parent()
        .and_then(|parent| std::fs::read_dir(parent).ok());
    entries
        .into_iter()
        .flatten()
        .flatten()
        .map(|it| it.path())
        .filter(is_of_channel)
        .take(MAX_LOOKED)
        .collect()
}

/// A bundle for a host that is to judge by it, in force or not.
pub fn signed(files: &Files, dir: &Path) -> Signed {
    Signed::new(
        dir.into(),
        Standing::Set(signed_set(String::new(), files, dir)),
    )
}

/// What a host judges by of what was published, as its follower has it.
pub struct Followed {
    follower: Follower,
    pub signed: Signed,
}

impl Followed {
    /// From what is kept on this machine.
    ///
    /// # Errors
    /// See `open`.
    pub fn open(settings: &Settings, cases: TryCases) -> Result<Option<Followed>, String> {
        let Some(follower) = open(settings, cases)? else {
            return Ok(None);
        };
        let standing = standing(&follower.status().borrow(), settings);
        let signed = Signed::new(follower.files(), standing);
        Ok(Some(Followed { follower, signed }))
    }

    /// Gives the fleet a moment if there is nothing to judge by.
    pub async fn first_look(&mut self, member: &Member) {
        if self.follower.status().borrow().bundle.is_none() {
            self.follower.first_look(&member.server, FIRST_LOOK).await;
        }
        self.take(member);
    }

    /// Has the next load take what is in force; says whether it is something else than before.
    fn take(&self, member: &Member) -> bool {
        take(&self.signed, &self.follower.status().borrow(), member)
    }
}

fn take(signed: &Signed, status: &Status, member: &Member) -> bool {
    member.known.note(status);
    if status
        .bundle
        .as_ref()
        .is_some_and(|it| signed.has(&it.in_force().digest.to_string(), &it.dir))
    {
        return false;
    }
    signed.replace(standing(status, &member.settings))
}

/// What there is to judge by. Where keys are pinned, nothing that can be believed is no reason to
/// let anything pass.
fn standing(status: &Status, settings: &Settings) -> Standing {
    if let Some(bundle) = &status.bundle {
        return Standing::Set(signed_set(
            bundle.in_force().digest.to_string(),
            &bundle.files,
            &bundle.dir,
        ));
    }
    let channel = settings
        .definitions
        .as_ref()
        .map_or(CHANNEL, |it| it.pins.channel.as_str());
    let why = match (&status.broken, &status.refused, &status.unread) {
        (_, Some(refused), _) => format!("what is published is refused: {}", refused.reason),
        (Some(broken), ..) => format!("what this machine had kept is broken: {broken}"),
        (.., Some(unread)) => format!("nothing is kept on this machine, and {unread}"),
        (None, None, None) => "nothing is published there yet".into(),
    };
    Standing::Nothing(format!(
        "{} pins keys, and nothing of the fleet's channel {channel} can be believed, so every tool call is denied: {why}. \
         It ends as soon as signed definitions come; ask whoever publishes to {channel}",
        settings.place()
    ))
}

/// Follows the channel for a host, and reports what is in force, until the host is gone. Needs a
/// tokio runtime.
pub async fn follow(host: Weak<Host>, member: Arc<Member>, followed: Option<Followed>) {
    let nothing = watch::Sender::new(Status::default());
    let mut status = followed
        .as_ref()
        .map_or_else(|| nothing.subscribe(), |it| it.follower.status());
    let signed = followed.as_ref().map(|it| it.signed.clone());
    let _following = followed.map(|it| Task(tokio::spawn(it.follower.run(member.server.clone()))));
    let Some(mut changes) = host.upgrade().map(|it| it.changes()) else {
        return;
    };
    let mut link = member.server.link();
    let (mut is_stale, mut trouble) = (false, None);
    // The first connection takes a moment, which is no trouble.
    let mut is_late = false;
    loop {
        let now = status.borrow_and_update().clone();
        let Some(host) = host.upgrade() else { return };
        if signed
            .as_ref()
            .is_some_and(|signed| take(signed, &now, &member))
        {
            let reloaded = host.clone();
            // Its own change of the set is no news any more.
            let _ = tokio::task::spawn_blocking(move || reloaded.reload()).await;
            changes = host.changes();
        }
        let stale = now.in_force.as_ref().and_then(stale_since).is_some();
        if stale && !is_stale {
            tracing::warn!(
                "The fleet's definitions have expired. They stay in force until newer ones are published."
            );
        }
        is_stale = stale;
        let report = Report {
            unasked: unasked_calls(&host),
            ..report(
                &now,
                &member,
                &host.published(),
                signed.as_ref().map(Signed::place),
            )
        };
        drop(host);
        let is_up = matches!(*link.borrow_and_update(), Link::Up(_));
        if is_up {
            let _ = member.server.wait_until_ready(Duration::from_secs(5)).await;
        }
        // While the server is away, this says so at once.
        let problem = member.report(report).await.err().map(|it| it.to_string());
        // Said once, not twice a minute.
        if trouble.is_none()
            && let Some(problem) = &problem
            && (is_up || is_late)
        {
            tracing::warn!(
                "This host can't report to its fleet, and judges by what it has: {problem}"
            );
        }
        trouble = problem.filter(|_| is_up || is_late);
        // Whoever watches a canary waits for it, and it is few hosts.
        let is_canary = now.in_force.as_ref().is_some_and(|it| it.canary);
        let pause = if is_canary {
            CANARY_PAUSE
        } else {
            report_pause()
        };
        tokio::select! {
            changed = status.changed() => if changed.is_err() && signed.is_some() { return },
            changed = link.changed() => if changed.is_err() { return },
            _ = changes.recv() => {}
            () = tokio::time::sleep(pause) => is_late = true,
        }
    }
}

/// What was counted last of calls that nobody was asked about. Where that is old, it is counted
/// anew meanwhile, for a later report: it reads files for seconds.
fn unasked_calls(host: &Arc<Host>) -> Vec<Unasked> {
    let last_day = host.last_day.get();
    if last_day.is_some_and(|last_day| last_day.is_due(COUNT_AGE)) {
        let host = host.clone();
        let count = move || {
            let last_day = host.last_day.get();
            last_day.map(|last_day| last_day.not_older(COUNT_AGE).len())
        };
        drop(tokio::task::spawn_blocking(count));
    }
    let known = last_day.and_then(LastDay::known);
    let counted = known.iter().flat_map(|(_, counted)| counted.iter());
    counted
        .filter(|it| it.calls > 0)
        .map(|it| Unasked {
            agent: it.agent.clone(),
            calls: it.calls as u64,
            would_be_denied: it.would_be_denied as u64,
        })
        .collect()
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
    let errors = published
        .diagnostics
        .iter()
        .filter(|it| it.severity == Severity::Error && of_bundle(&it.file));
    let errors =
        errors.map(|it| files.map_or_else(|| it.one_line(), |files| below(&it.one_line(), files)));
    let errors = errors.filter(|_| status.bundle.is_some());
    let changed = status.changed.as_ref().map(|changed| {
        format!(
            "somebody has changed the published files on this machine, and what was signed stays in force: {changed}"
        )
    });
    Report {
        version: env!("CARGO_PKG_VERSION").into(),
        reads: READS.map(str::to_string).to_vec(),
        channel: member
            .settings
            .definitions
            .as_ref()
            .map(|it| it.pins.channel.clone()),
        in_force: status.in_force.clone(),
        refused: status.refused.clone(),
        stale_since: status.in_force.as_ref().and_then(stale_since),
        generation: published.hooks.generation,
        hash: published.hooks.hash.to_string(),
        errors: status
            .broken
            .iter()
            .cloned()
            .chain(changed)
            .chain(errors)
            .collect(),
        judged: member.tally.counted(),
        lost: member.lost(),
        unasked: Vec::new(),
        ended: false,
    }
}
