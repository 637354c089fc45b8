//! What the handlers of a host share.

use super::kept::Pool;
#[cfg(feature = "script")]
use super::realms::pool::Pool as ScriptPool;
#[cfg(feature = "mcp")]
use super::servers::Server;
use super::workers::worker::Worker;
use crate::services::approvals::Approvals;
use crate::services::aside::Aside;
use crate::services::egress::HostPort;
#[cfg(feature = "http")]
use crate::services::egress::{Egress, EgressByLayer};
use crate::services::emit::EventSender;
use crate::services::fakes::Fakes;
use crate::services::fleet::FleetCounts;
use crate::services::models::ModelRef;
use crate::services::state::Store;
use crate::services::state::runs::Runs;
#[cfg(feature = "http")]
use hookwire_base::syntax::source::Layer;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// What handlers share.
#[derive(Clone)]
pub struct Services {
    /// The project root: where commands run when the event has no usable `cwd`.
    pub root: Arc<Path>,
    /// The values that hooks share.
    pub state: Store,
    /// The listeners of the events that hooks emit.
    pub events: EventSender,
    /// Which run an event counts towards.
    pub runs: Arc<Runs>,
    /// Questions to a person.
    pub approvals: Approvals,
    /// What guards count on all hosts of a fleet.
    pub fleet: FleetCounts,
    /// The host's socket, for the commands of hooks.
    pub socket: Arc<OnceLock<PathBuf>>,
    /// The model of hooks and files that name none.
    pub model: Option<Arc<ModelRef>>,
    /// Where work is done that takes time.
    pub aside: Aside,
    /// What stands for all that is outside while hooks are tested.
    pub(super) fakes: Option<Arc<Fakes>>,
    /// MCP servers that stay up between events.
    #[cfg(feature = "mcp")]
    pub(super) servers: Arc<Pool<Server>>,
    #[cfg(feature = "script")]
    pub(super) scripts: Arc<ScriptPool>,
    /// What hooks of a layer may reach.
    #[cfg(feature = "http")]
    pub(super) egress: EgressByLayer,
    /// Warm worker processes.
    pub(super) workers: Arc<Pool<Worker>>,
}

impl Services {
    /// Services for hooks of a project.
    pub fn new(root: PathBuf, grants: Vec<HostPort>) -> Services {
        #[cfg(not(feature = "http"))]
        let _ = grants;
        Services {
            root: root.into(),
            state: Store::default(),
            events: EventSender::default(),
            runs: Arc::default(),
            approvals: Approvals::default(),
            fleet: FleetCounts::default(),
            socket: Arc::default(),
            model: None,
            aside: Aside::default(),
            fakes: None,
            #[cfg(feature = "mcp")]
            servers: Arc::default(),
            #[cfg(feature = "script")]
            scripts: Arc::default(),
            #[cfg(feature = "http")]
            egress: EgressByLayer::new(grants),
            workers: Arc::default(),
        }
    }

    /// The way out for what is of a layer.
    #[cfg(feature = "http")]
    pub fn egress(&self, layer: Layer) -> &Egress {
        self.egress.for_layer(layer)
    }

    /// Services for trials: nobody is asked, nobody hears of events that hooks emit, and what is
    /// remembered and counted is forgotten with them.
    pub fn scratch(&self) -> Services {
        let fleet = FleetCounts::default();
        fleet.pretend();
        Services {
            state: Store::default(),
            events: EventSender::default(),
            runs: Arc::default(),
            approvals: Approvals::of_replay(),
            fleet,
            aside: Aside::default(),
            ..self.clone()
        }
    }

    /// These services, with nobody to ask but the fakes of a test.
    pub fn faked(self, fakes: &Arc<Fakes>) -> Services {
        self.fleet.pretend();
        Services {
            approvals: Approvals::faked(fakes.clone()),
            #[cfg(feature = "http")]
            egress: EgressByLayer::faked(fakes.clone()),
            fakes: Some(fakes.clone()),
            ..self
        }
    }
}
