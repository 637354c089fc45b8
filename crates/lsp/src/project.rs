//! All that the language server asks of hookwire's host: a project's definitions in force, a run of
//! one hook, and what the connection's own host has judged.
//!
//! A language server in a crate of its own needs these functions. Beside them it uses what is plain
//! data or a pure function of a text (`event`, `verdict`, `contract`, `syntax`, `matching`,
//! `template`, `dialects`, the tables of `handlers`, `definitions::{check, compile, schema}`), the
//! connection to the editor (`services::client`), and of running hosts `journal`, `running` and
//! `transport::socket`.

use hookwire_base::event::Event;
use hookwire_base::syntax::diagnostic::Diagnostic;
use hookwire_base::syntax::source::Layer;
use hookwire_base::transport::socket;
use hookwire_base::verdict::Verdict;
use hookwire_dialects as dialects;
use hookwire_engine::definitions::approved::DEFINITIONS;
use hookwire_engine::definitions::layer_dir::LayerDir;
use hookwire_engine::definitions::scan::is_about_trust;
use hookwire_engine::engine::{self, Engine, HooksInForce, Question};
use hookwire_engine::hook::Hook;
use hookwire_engine::hook_set::HookSet;
use hookwire_engine::host::{Changed, Host, HostOptions, LastGood, Published, Purpose};
use hookwire_engine::journal::Journal;
use hookwire_handlers::handlers::Means;
use hookwire_handlers::services::client::Client;
use hookwire_handlers::services::state::Store;
use hookwire_rules::contract::Honours;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::runtime::Handle;
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;

/// A project with its definitions.
#[derive(Clone)]
pub(super) struct Project(Arc<Host>);

/// Opens projects for an editor, each with a host of its own.
pub(super) struct Opener(HostOptions);

impl Opener {
    /// Projects are opened with the options of the connection's host, but each loads its own
    /// definitions.
    pub(super) fn new(connection: &Project) -> Opener {
        // What a hook that is run from the editor counts and remembers stays apart from the
        // agent's.
        let options = connection.0.options.clone();
        // Only what judges an agent is kept as last good.
        let last_good = if options.last_good == LastGood::Kept {
            LastGood::Used
        } else {
            options.last_good
        };
        let projects = options.projects.reviewed();
        Opener(HostOptions {
            projects,
            state: Store::default(),
            last_good,
            ..options
        })
    }

    pub(super) fn open_project(&self, root: &Path) -> Project {
        Project(Host::new(HostOptions {
            root: root.to_path_buf(),
            ..self.0.clone()
        }))
    }
}

impl Project {
    /// The project of the connection's own host.
    pub(super) fn new(host: &Arc<Host>) -> Project {
        Project(host.clone())
    }

    pub(super) fn root(&self) -> &Path {
        self.0.root()
    }

    /// The key under which running hosts of the project can be found.
    pub(super) fn key(&self) -> String {
        key_of_root(self.0.root())
    }

    /// What hooks of the project can use on this machine; interpreters may be asked.
    pub(super) fn means(&self) -> Means {
        Means {
            may_start: true,
            ..self.0.options.means()
        }
    }

    /// Loads the definitions again whenever they change on disk, and tries their cases.
    pub(super) fn watch(&self) -> std::io::Result<()> {
        self.0.watch()?;
        if let Ok(runtime) = Handle::try_current()
            && !self.runs_no_hook()
        {
            self.0.follow_cases(&runtime);
        }
        Ok(())
    }

    /// Says whenever other definitions are in force.
    pub(super) fn changes(&self) -> broadcast::Receiver<Changed> {
        self.0.changes()
    }

    /// The definitions in force, with what is wrong in their files.
    pub(super) fn published(&self) -> Published {
        self.0.published()
    }

    /// What keeps the project's own definitions out of force as they are, if something does.
    pub(super) fn distrust(&self) -> Option<Diagnostic> {
        let home = home_of(self.root());
        let published = self.0.published();
        published
            .diagnostics
            .iter()
            .find(|diagnostic| is_about_trust(diagnostic) && Path::new(&diagnostic.file) == home)
            .cloned()
    }

    /// The hooks in force.
    pub(super) fn hooks(&self) -> Arc<HookSet> {
        self.0.hooks()
    }

    /// The layer of a definition file; `None` if it is in no directory that is loaded.
    pub(super) fn layer_of(&self, file: &Path) -> Option<Layer> {
        self.0.layer_of(file)
    }

    /// The directories that are loaded, in order.
    pub(super) fn dirs(&self) -> Vec<LayerDir> {
        self.0.dirs()
    }

    /// Whether the host was started so that no hook runs.
    pub(super) fn runs_no_hook(&self) -> bool {
        matches!(self.0.options.purpose, Purpose::PassThrough)
    }

    /// What the host has judged.
    pub(super) fn journal(&self) -> &Journal {
        &self.0.journal
    }

    /// Runs one hook on an event that is over, with nothing else in force. With `from_zero`, a
    /// guard counts as if it had seen no event before.
    pub(super) async fn run_alone(
        &self,
        hook: Arc<Hook>,
        event: &Event,
        from_zero: bool,
        person: Arc<dyn Client>,
    ) -> Verdict {
        // A copy of the engine, because what sessions remember of other runs, such as `once`, must
        // not stop this one.
        let mut services = self.0.engine.services.clone();
        let mut again = event.clone();
        // The deadline of the real event has passed.
        again.change(|data| {
            drop(
                data.as_object_mut()
                    .and_then(|data| data.remove("deadlineMs")),
            )
        });
        if from_zero {
            // A guard counts an event once: of an event with the same id it would repeat what it
            // said before.
            services.state = Store::default();
            again.id = format!(
                "{} run {}",
                event.id,
                N_RUNS.fetch_add(1, Ordering::Relaxed)
            )
            .into();
        }
        let engine = Engine::new(services);
        let question = Question {
            event: Arc::new(again),
            deadline: None,
            hooks: HooksInForce {
                files: Arc::new(HookSet::new(vec![hook], 0, "".into(), Vec::new())),
                session: None,
            },
            contract: &dialects::native().contract,
            // The editor shows what the hook would ask, defer or rewrite.
            honours: Honours {
                ask: true,
                defer: true,
                rewrite: true,
                withhold: true,
            },
            client: Some(person),
            early_deadline: CancellationToken::new(),
        };
        let mut verdict = engine::decide(&engine, question).await;
        verdict.event_id = event.id.clone();
        verdict
    }
}

static N_RUNS: AtomicU64 = AtomicU64::new(0);

/// Where a project has its own definitions.
pub(super) fn home_of(root: &Path) -> PathBuf {
    root.join(DEFINITIONS)
}

/// The key of a project by its root, the same for every path that leads to that directory.
pub(super) fn key_of_root(root: &Path) -> String {
    socket::key(root)
}
