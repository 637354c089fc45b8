//! The host: the published hook set, the engine, the reload loop. The only long-lived state.

mod cases;

use crate::canaries::{Canaries, FailedCase, Tried};
use crate::definitions::approved::{self, DEFINITIONS};
use crate::definitions::embedded;
pub use crate::definitions::last_good::LastGood;
use crate::definitions::layer_dir::{Kept, LayerDir};
use crate::definitions::load::{Changes, Loaded, Loader, Look};
use crate::definitions::neighbours::Neighbours;
use crate::definitions::published_sets::PublishedSets;
use crate::definitions::signed::Signed;
use crate::definitions::watch::{self, Watching};
use crate::engine::{Effects, Engine, HooksInForce, Interceptor, PassThrough, Trial};
use crate::hook::Hook;
use crate::hook_set::HookSet;
use crate::journal::Journal;
use crate::ledger::{LastDay, Ledger};
use hookwire_base::event::Event;
use hookwire_base::support::places;
use hookwire_base::syntax::diagnostic::{Diagnostic, Diagnostics, Severity};
use hookwire_base::syntax::source::Layer;
use hookwire_base::verdict::{Outcome, Verdict};
use hookwire_dialects::Dialect;
use hookwire_handlers::handlers::{HostPort, Means, Services};
use hookwire_handlers::services::approvals::Approvals;
use hookwire_handlers::services::client::Client;
use hookwire_handlers::services::fakes::Fakes;
use hookwire_handlers::services::models::ModelRef;
use hookwire_handlers::services::state::Store;
use hookwire_rules::contract::Honours;
use hookwire_rules::policy::Policy;
use parking_lot::{Mutex, MutexGuard};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};
use tokio::sync::{broadcast, watch as cell};
use tokio_util::sync::CancellationToken;

/// The options that a host is started with.
#[derive(Clone, Debug, Default)]
pub struct HostOptions {
    /// The project root; definitions of a project are in `<root>/.hookwire`.
    pub root: PathBuf,
    /// Directories of definitions that the user who starts the host vouches for.
    pub hooks: Vec<PathBuf>,
    /// The projects whose definitions are loaded beside these.
    pub projects: Projects,
    /// Load the machine's and the user's definitions.
    pub system: bool,
    /// The machine's own host judges by what is the machine's and a fleet's: leave both out.
    pub without_machine: bool,
    /// What a fleet has published, between the machine's and the user's.
    pub fleet: Option<Signed>,
    /// Whether a definition that is broken when the host starts is judged by what an earlier host
    /// has kept of it.
    pub last_good: LastGood,
    /// Hosts and ports that `http` hooks may reach beyond the public internet.
    pub allow_hosts: Vec<HostPort>,
    /// The values that hooks share.
    pub state: Store,
    /// How long an `ask` that the client can't put to a person waits for one at another terminal.
    pub ask_elsewhere: Option<Duration>,
    /// The model of hooks and files that name none.
    pub model: Option<ModelRef>,
    /// Ask a person before a tool changes hookwire's own files, as the outermost guard.
    pub self_defense: bool,
    /// Look at the definitions regularly instead of asking the kernel.
    pub poll: bool,
    /// What the host is for.
    pub purpose: Purpose,
}

/// The projects whose definitions a host loads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Projects {
    /// None.
    #[default]
    None,
    /// The one at the root, as it is.
    Root,
    /// Those that somebody has trusted: at the root, around it, and where events happen.
    Trusted,
    /// The one at the root as it is, and the trusted ones where events happen.
    RootAndTrusted,
    /// Like `Trusted`, but the one at the root as it is, with a word on what of it nobody has
    /// trusted.
    Reviewed,
}

impl Projects {
    /// The same for whoever looks at the definitions at the root or edits them.
    pub fn reviewed(self) -> Projects {
        match self {
            Projects::None | Projects::Root => Projects::Root,
            Projects::Trusted | Projects::Reviewed => Projects::Reviewed,
            Projects::RootAndTrusted => Projects::RootAndTrusted,
        }
    }

    /// Whether trusted projects judge what happens in them.
    fn has_trusted(self) -> bool {
        match self {
            Projects::None | Projects::Root => false,
            Projects::Trusted | Projects::RootAndTrusted | Projects::Reviewed => true,
        }
    }
}

/// What a host is for.
#[derive(Clone, Debug, Default)]
pub enum Purpose {
    /// To judge events as they happen.
    #[default]
    Judge,
    /// To allow every event and run no hook.
    PassThrough,
    /// To judge events that happened elsewhere or before: scripts that calls run aren't at hand.
    Replay,
    /// The same for what others have sent: hooks that start something or count are skipped. What
    /// they would start is not for a comparison to start, and what counts knows only the time in
    /// which it runs.
    Rejudge,
    /// To judge one event that another host has and doesn't answer: hooks that do more than answer
    /// may have run there, so they count as failed.
    #[doc(hidden)]
    AfterLost,
    /// To say what definitions would decide about an event that happens now, without doing
    /// anything: hooks that start something or count are skipped.
    Try,
    /// To find mistakes: interpreters are started while definitions are read, because they know
    /// whether they find what hooks name.
    Check,
    /// To test definitions. What a test says must not depend on how busy the machine is, so an
    /// event's deadline is for its hooks only, and its conditions may take longer.
    #[doc(hidden)]
    Test {
        /// What answers instead of models, web services and people.
        fakes: Arc<Fakes>,
        /// Where programs of hooks put temporary files, instead of where the environment says.
        temporary: PathBuf,
    },
}

impl HostOptions {
    /// The directories of definitions, outermost first.
    pub fn dirs(&self) -> Vec<LayerDir> {
        let mut dirs = Vec::new();
        let mut add = |layer, path: PathBuf, kept| {
            dirs.push(LayerDir {
                layer,
                path: std::path::absolute(&path).unwrap_or(path),
                kept,
            })
        };
        let outer = |signed: &Option<Signed>| signed.clone().filter(|_| !self.without_machine);
        if self.system && !self.without_machine {
            add(Layer::Managed, places::MACHINE.into(), Kept::AsItIs);
        }
        if let Some(signed) = outer(&self.fleet) {
            add(
                Layer::Fleet,
                signed.place().into(),
                Kept::Signed(signed.clone()),
            );
        }
        if self.system {
            for dir in places::user_dirs() {
                add(Layer::User, dir.clone(), Kept::AsItIs);
            }
        }
        for path in &self.hooks {
            add(Layer::Hooks, path.clone(), Kept::AsItIs);
        }
        let stores = approved::stores();
        match self.projects {
            Projects::None => {}
            // Without a user, nothing can be trusted.
            Projects::Trusted if stores.is_empty() => {}
            Projects::Reviewed if stores.is_empty() => {
                add(Layer::Project, self.root.join(DEFINITIONS), Kept::AsItIs)
            }
            Projects::Root | Projects::RootAndTrusted => {
                add(Layer::Project, self.root.join(DEFINITIONS), Kept::AsItIs);
            }
            Projects::Trusted | Projects::Reviewed => {
                let own = std::fs::canonicalize(&self.root).unwrap_or_else(|_| self.root.clone());
                let full = |path: &PathBuf| std::fs::canonicalize(path).ok();
                let is_named = |home: &PathBuf| {
                    home.exists() && self.hooks.iter().any(|it| full(it) == full(home))
                };
                // Whoever works in a part of a project works in the project.
                for root in approved::around(&own) {
                    let states = approved::currents(&stores, &root);
                    let home = root.join(DEFINITIONS);
                    match self.projects == Projects::Reviewed {
                        // They would be there twice.
                        true if is_named(&home) => {}
                        true if root == own => add(
                            Layer::Project,
                            self.root.join(DEFINITIONS),
                            Kept::Compared(states),
                        ),
                        _ => add(Layer::Project, home, Kept::Approved(states)),
                    }
                }
            }
        }
        dirs
    }

    /// What the host can do for its hooks.
    pub fn means(&self) -> Means {
        let root = std::path::absolute(&self.root).unwrap_or_else(|_| self.root.clone());
        let (grants, model) = (self.allow_hosts.clone(), self.model.clone());
        let (may_start, temporary) = match &self.purpose {
            Purpose::Judge
            | Purpose::AfterLost
            | Purpose::PassThrough
            | Purpose::Replay
            | Purpose::Rejudge
            | Purpose::Try => (false, None),
            Purpose::Check => (true, None),
            Purpose::Test { temporary, .. } => (false, Some(temporary.clone())),
        };
        let is_trial = matches!(self.purpose, Purpose::Test { .. });
        Means {
            root,
            grants,
            model,
            client_has_model: false,
            may_start,
            temporary,
            is_trial,
        }
    }
}

/// The definitions in force, swapped as a whole.
#[derive(Clone)]
pub struct Published {
    /// The hooks.
    pub hooks: Arc<HookSet>,
    /// The mistakes in the definitions, and the cases that are denied no more.
    pub diagnostics: Diagnostics,
    /// The texts that the diagnostics point into.
    pub sources: Arc<HashMap<String, Arc<str>>>,
    /// The mistakes and the texts of the definitions alone.
    loaded: (Diagnostics, Arc<HashMap<String, Arc<str>>>),
    /// What became of the cases, once they were tried. Those of the last generation count until
    /// this one's are.
    tried: Option<Arc<Tried>>,
}

impl Published {
    fn new(loaded: &Loaded, tried: Option<Arc<Tried>>) -> Published {
        let (diagnostics, sources) = (loaded.diagnostics.clone(), Arc::new(loaded.sources.clone()));
        Published {
            hooks: loaded.hooks.clone(),
            diagnostics: diagnostics.clone(),
            sources: sources.clone(),
            loaded: (diagnostics, sources),
            tried: None,
        }
        .with_tried(tried)
    }

    /// The same definitions with what became of their cases.
    fn with_tried(self, tried: Option<Arc<Tried>>) -> Published {
        let (diagnostics, sources) = self.loaded.clone();
        let failed = tried.as_ref().filter(|it| !it.diagnostics.is_empty());
        let (diagnostics, sources) = match failed {
            None => (diagnostics, sources),
            Some(failed) => {
                let mut all = (*sources).clone();
                all.extend(failed.sources.clone());
                (diagnostics.with(&failed.diagnostics), Arc::new(all))
            }
        };
        Published {
            diagnostics,
            sources,
            tried,
            ..self
        }
    }

    /// What became of the cases that are to be denied, once they were tried.
    pub fn canaries(&self) -> Option<&Canaries> {
        self.tried.as_ref().map(|tried| &tried.canaries)
    }
}

/// The news that another hook set is in force, or that diagnostics changed.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Changed {
    /// The generation in force.
    pub generation: u64,
    /// The content hash in force.
    pub hash: Arc<str>,
    /// Hooks that are new.
    pub added: Vec<Arc<str>>,
    /// Hooks that are gone.
    pub removed: Vec<Arc<str>>,
    /// Hooks with another definition.
    pub changed: Vec<Arc<str>>,
    /// How many errors and warnings there are.
    pub diagnostics: usize,
    /// Cases beside the definitions that are to be denied, and aren't; the first of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_denied: Vec<FailedCase>,
}

impl Changed {
    fn new(published: &Published, changes: Changes) -> Changed {
        let Changes {
            added,
            removed,
            changed,
        } = changes;
        Changed {
            generation: published.hooks.generation,
            hash: published.hooks.hash.clone(),
            added,
            removed,
            changed,
            diagnostics: published.diagnostics.n_mistakes(),
            not_denied: published
                .canaries()
                .map(|canaries| canaries.failed.clone())
                .unwrap_or_default(),
        }
    }
}

/// A hook host: definitions in force, the engine that judges events by them, the values that hooks
/// share.
///
/// [`Host::builder`] makes one for a Rust program. It judges an event with [`Host::dispatch`], one
/// in another system's words with [`Host::dispatch_as`], and an agent's turn through
/// [`Host::chain`]; [`Host::watch`] keeps edits of definition files in force, [`Host::add`] adds a
/// hook at any time. All of them need a tokio runtime with time. Every event is judged by the hooks
/// that were in force when it came; a host is shared as an `Arc`, and dropping the last one ends
/// the watch.
pub struct Host {
    /// Runs hooks.
    pub engine: Engine,
    /// Judges events: the engine, unless the program gave another interceptor.
    pub interceptor: Arc<dyn Interceptor>,
    /// The options that it was started with.
    pub options: HostOptions,
    /// The program that embeds the host, as the client of its own events.
    pub asker: Asker,
    /// The last events that came over a connection.
    pub journal: Arc<Journal>,
    /// What agents were told before calls, if that is kept on the disk.
    pub ledger: OnceLock<Ledger>,
    /// Counts the calls that nobody was asked about, if the program that started the host can.
    pub last_day: OnceLock<LastDay>,
    /// Cancelled when the host is to give its place to another; set if it can.
    pub retires: OnceLock<CancellationToken>,
    /// The name of each client that is connected, once it has said it.
    pub clients: Mutex<Vec<Weak<OnceLock<Arc<str>>>>>,
    published: cell::Sender<Published>,
    /// Counts how often the definitions were looked at.
    looks: cell::Sender<u64>,
    /// By which bundle of a fleet its generations have judged.
    pub(crate) published_sets: Arc<PublishedSets>,
    /// Unless only the host's own project counts.
    neighbours: Option<Neighbours>,
    loader: Mutex<Loader>,
    watching: cell::Sender<Watching>,
    watcher: OnceLock<watch::Watcher>,
    changes: broadcast::Sender<Changed>,
}

/// A program that embeds the host, as a client.
#[derive(Clone, Default)]
pub struct Asker {
    pub honours: Honours,
    pub client: Option<Arc<dyn Client>>,
}

/// The hooks and settings of a program that embeds the host, beside the definition files.
#[derive(Default)]
pub struct Own {
    pub hooks: Vec<(Hook, Vec<Diagnostic>)>,
    pub policies: Vec<Policy>,
    pub asker: Asker,
    /// Makes the interceptor that judges events, given the one that would judge otherwise.
    pub interceptor: Option<Intercept>,
}

pub(crate) type Intercept = Box<dyn FnOnce(Arc<dyn Interceptor>) -> Arc<dyn Interceptor> + Send>;

impl std::fmt::Debug for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let generation = self.hooks().generation;
        f.debug_struct("Host")
            .field("options", &self.options)
            .field("generation", &generation)
            .finish_non_exhaustive()
    }
}

impl Host {
    /// Judges an event as a client of that vocabulary would have it judged, whom nobody can be
    /// asked through; with how long that took.
    pub async fn judge_as(&self, dialect: &'static Dialect, event: &Event) -> (Verdict, Duration) {
        // Without anybody to ask, an `ask` stays an `ask`.
        let honours = dialect.honours(event);
        let honours = Honours {
            ask: honours.ask && self.options.ask_elsewhere.is_none(),
            ..honours
        };
        let started = Instant::now();
        let verdict = self
            .judge(Arc::new(event.clone()), &dialect.contract, honours, None)
            .await;
        (verdict, started.elapsed())
    }

    /// Tries an event with the hooks that are in force when this is called: no second look at their
    /// files. A [trial](Trial) does nothing but answer: hooks with effects are left out, nothing is
    /// counted, kept or told, and an interceptor of the program isn't asked.
    pub async fn try_event(&self, dialect: &'static Dialect, event: &Event) -> Trial {
        let hooks = HooksInForce {
            files: self.joined(self.hooks(), event),
            session: None,
        };
        self.engine.try_event(hooks, dialect, event).await
    }

    /// The deny of a probe by the hooks in force, as [`Engine::answer_probe`] has it.
    pub async fn answer_probe(&self, dialect: &'static Dialect, event: &Event) -> Option<Verdict> {
        let hooks = HooksInForce {
            files: self.joined(self.hooks(), event),
            session: None,
        };
        self.engine.answer_probe(&hooks, dialect, event).await
    }

    /// Loads the definitions. Nothing is watched yet.
    pub fn new(options: HostOptions) -> Arc<Host> {
        Host::embedded(options, Own::default())
    }

    /// The same, with the hooks and settings of the program that embeds it.
    pub fn embedded(options: HostOptions, own: Own) -> Arc<Host> {
        let Own {
            hooks,
            policies,
            asker,
            interceptor,
        } = own;
        let client_has_model = asker
            .client
            .as_ref()
            .is_some_and(|client| client.answers().models);
        let means = Means {
            client_has_model,
            ..options.means()
        };
        let neighbours = options
            .projects
            .has_trusted()
            .then(|| Neighbours::new(&options.root, approved::stores(), means.clone()));
        let mut loader = Loader::new(options.dirs(), means).with_last_good(options.last_good);
        if options.self_defense {
            match embedded::own_hooks() {
                Ok(hooks) => hooks
                    .into_iter()
                    .for_each(|hook| loader.add(hook, Vec::new())),
                Err(error) => {
                    tracing::error!(%error, "No self-defense; this is a bug in hookwire.")
                }
            }
        }
        hooks
            .into_iter()
            .for_each(|(hook, remarks)| loader.add(hook, remarks));
        policies
            .into_iter()
            .for_each(|policy| loader.add_policy(policy));
        let loaded = loader.load(Look::Now);
        let root = std::path::absolute(&options.root).unwrap_or_else(|_| options.root.clone());
        let mut services = Services::new(root, options.allow_hosts.clone());
        if let Purpose::Test { fakes, .. } = &options.purpose {
            services = services.faked(fakes);
        }
        let is_past = matches!(options.purpose, Purpose::Replay | Purpose::Rejudge);
        let is_try = matches!(options.purpose, Purpose::Try);
        if is_past || is_try {
            services.approvals = Approvals::of_replay();
            services.fleet.pretend();
        }
        services.state = options.state.clone();
        services.model = options.model.clone().map(Arc::new);
        let mut engine = Engine::new(services);
        engine.ask_elsewhere = options.ask_elsewhere;
        engine.no_scripts = is_past;
        engine.effects = match options.purpose {
            Purpose::Rejudge | Purpose::Try => Effects::Skip,
            Purpose::AfterLost => Effects::Fail,
            Purpose::Judge
            | Purpose::PassThrough
            | Purpose::Replay
            | Purpose::Check
            | Purpose::Test { .. } => Effects::Happen,
        };
        engine.unhurried = matches!(options.purpose, Purpose::Test { .. });
        let judge: Arc<dyn Interceptor> = match options.purpose {
            Purpose::PassThrough => Arc::new(PassThrough),
            Purpose::Judge
            | Purpose::AfterLost
            | Purpose::Replay
            | Purpose::Rejudge
            | Purpose::Try
            | Purpose::Check
            | Purpose::Test { .. } => Arc::new(engine.clone()),
        };
        let journal = Arc::new(Journal::default());
        let ends = journal.clone();
        let write_end = move |event: &Event, outcome: &Outcome| ends.write_end(event, outcome);
        // Nobody can have set it before.
        let _ = engine.on_detached_end.set(Box::new(write_end));
        let interceptor = match interceptor {
            Some(interceptor) => interceptor(judge),
            None => judge,
        };
        let published_sets = Arc::new(PublishedSets::default());
        published_sets.note(&loaded.hooks);
        Arc::new(Host {
            interceptor,
            engine,
            published: cell::Sender::new(Published::new(&loaded, None)),
            looks: cell::Sender::new(0),
            published_sets,
            neighbours,
            loader: Mutex::new(loader),
            watching: cell::Sender::new(Watching::Off),
            watcher: OnceLock::new(),
            changes: broadcast::Sender::new(64),
            options,
            asker,
            journal,
            ledger: OnceLock::new(),
            last_day: OnceLock::new(),
            retires: OnceLock::new(),
            clients: Mutex::default(),
        })
    }

    /// Watches the definitions from now on, until the host is dropped. Mistakes that they have
    /// already go to the log.
    ///
    /// # Errors
    /// No thread could be started.
    pub fn watch(self: &Arc<Host>) -> std::io::Result<()> {
        self.published().diagnostics.iter().for_each(log);
        let first = self.loader().watch().clone();
        // The watcher's thread must not keep the host alive.
        let (host, notified) = (Arc::downgrade(self), Arc::downgrade(self));
        let watcher = watch::spawn(
            first,
            self.options.poll,
            move |look| Some(host.upgrade()?.load(look)),
            move |watching| {
                if let Some(host) = notified.upgrade() {
                    host.watching.send_replace(watching);
                }
            },
        )?;
        // On a second call the first watcher stays.
        let _ = self.watcher.set(watcher);
        Ok(())
    }

    /// The definitions in force now.
    pub fn published(&self) -> Published {
        self.published.borrow().clone()
    }

    /// The hooks in force now.
    pub fn hooks(&self) -> Arc<HookSet> {
        self.published.borrow().hooks.clone()
    }

    /// The hooks that judge an event, given the host's own: where it happens in another trusted
    /// project, those of that project judge too.
    pub fn joined(&self, own: Arc<HookSet>, event: &Event) -> Arc<HookSet> {
        match &self.neighbours {
            Some(neighbours) => neighbours.join(own, event.cwd()),
            None => own,
        }
    }

    /// Loads the files that have changed; when this returns, they are in force.
    pub fn reload(&self) -> Published {
        self.load(Look::Now);
        self.published()
    }

    /// How changes are noticed.
    pub fn watching(&self) -> Watching {
        *self.watching.borrow()
    }

    /// Every change from now on. A listener that falls behind loses the oldest.
    pub fn changes(&self) -> broadcast::Receiver<Changed> {
        self.changes.subscribe()
    }

    pub fn loader(&self) -> MutexGuard<'_, Loader> {
        self.loader.lock()
    }

    fn load(&self, look: Look<'_>) -> Loaded {
        let loaded = self.load_and_publish(look);
        // The cases beside the definitions may have changed, be it that nothing else has.
        self.looks.send_modify(|n| *n = n.wrapping_add(1));
        loaded
    }

    fn load_and_publish(&self, look: Look<'_>) -> Loaded {
        let mut loader = self.loader();
        let loaded = loader.load(look);
        let before = self.published();
        let news = loaded.diagnostics != before.loaded.0;
        if before.hooks.generation == loaded.hooks.generation && !news {
            return loaded;
        }
        self.published_sets.note(&loaded.hooks);
        let published = Published::new(&loaded, before.tried.clone());
        self.published.send_replace(published.clone());
        // Still under the loader's lock: announcements come in the order of the generations.
        announce(&loaded, &before);
        let _ = self
            .changes
            .send(Changed::new(&published, loaded.changes.clone()));
        loaded
    }

    /// The directories of its definitions, outermost first.
    pub fn dirs(&self) -> Vec<LayerDir> {
        self.options.dirs()
    }

    /// The layer of a definition file, by where it is: the outermost that reaches it.
    pub fn layer_of(&self, file: &Path) -> Option<Layer> {
        self.dirs()
            .into_iter()
            .find(|dir| file.starts_with(&dir.path))
            .map(|dir| dir.layer)
    }

    /// The project root.
    pub fn root(&self) -> &Path {
        &self.engine.services.root
    }
}

fn announce(loaded: &Loaded, before: &Published) {
    let Changes {
        added,
        removed,
        changed,
    } = &loaded.changes;
    let generation = loaded.hooks.generation;
    if generation != before.hooks.generation {
        let (hash, broken) = (&loaded.hooks.hash, loaded.hooks.broken.len());
        if added.len() + changed.len() + removed.len() > 0 {
            tracing::info!(generation, %hash, added = added.len(), changed = changed.len(), removed = removed.len(), broken, "Definitions reloaded.");
        } else if let Some(first) = loaded
            .hooks
            .broken
            .iter()
            .find(|it| !before.hooks.broken.contains(it))
        {
            tracing::warn!(generation, %hash, broken, "A definition broke; the same hooks stay in force: {first}");
        } else {
            tracing::info!(generation, %hash, broken, "Definitions reloaded; the same hooks are in force.");
        }
    }
    for name in removed {
        // A deleted guard is an event, not a silent change.
        tracing::warn!(hook = %name, generation, "Hook removed.");
    }
    if loaded.hooks.policies.len() < before.hooks.policies.len() {
        tracing::warn!(generation, "Policy removed.");
    }
    for diagnostic in loaded
        .diagnostics
        .iter()
        .filter(|it| before.diagnostics.iter().all(|old| old != *it))
    {
        log(diagnostic);
    }
}

fn log(diagnostic: &Diagnostic) {
    if diagnostic.severity == Severity::Hint {
        return tracing::info!(code = %diagnostic.code, "{}", diagnostic.one_line());
    }
    tracing::warn!(code = %diagnostic.code, "{}", diagnostic.one_line());
}
