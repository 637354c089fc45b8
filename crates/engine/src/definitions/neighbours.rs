//! Other projects than the host's own, in which an event may happen: an agent changes its
//! directory, and the definitions of both projects judge then. Only those that somebody has trusted
//! count; of the others, what is said of such projects does.

use super::approved::{self, DEFINITIONS};
use super::layer_dir::{Kept, LayerDir};
use super::load::{Loader, Look};
use super::untrusted;
use super::worktrees;
use crate::hook_set::{HookSet, Untrusted};
use hookwire_base::syntax::source::Layer;
use hookwire_handlers::handlers::Means;
use hookwire_rules::matching::tools::ToolNames;
use parking_lot::Mutex;
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How many sets are kept: an agent works in few projects at a time.
const MAX_KEPT: usize = 8;

/// See the module.
pub struct Neighbours {
    stores: Vec<PathBuf>,
    /// The host's own root, without symlinks, and the projects around it, which it loads itself.
    root: PathBuf,
    own: Vec<PathBuf>,
    means: Means,
    /// Sets that were joined lately; the one that was asked for last is at the end.
    kept: Mutex<Vec<Joined>>,
}

/// The host's own set together with that of other projects.
struct Joined {
    own: Arc<HookSet>,
    states: Vec<State>,
    set: Arc<HookSet>,
}

/// A project's root, and where the link to its approved state leads. A state never changes.
#[derive(Clone, PartialEq, Eq)]
struct State {
    root: PathBuf,
    /// Nothing if nobody has approved anything of it.
    approved: Option<(PathBuf, PathBuf)>,
    /// The definitions aren't in force as they are: whether they were, and have changed since.
    has_changed: Option<bool>,
}

impl Neighbours {
    /// The neighbours of a project, as far as these stores know them.
    pub fn new(root: &Path, stores: Vec<PathBuf>, means: Means) -> Neighbours {
        let root = std::fs::canonicalize(root).unwrap_or_else(|_| root.to_path_buf());
        Neighbours {
            stores,
            own: approved::around(&root),
            root,
            means,
            kept: Mutex::default(),
        }
    }

    /// A host's own set, and the hooks of the other projects that a directory lies in.
    pub fn join(&self, own: Arc<HookSet>, cwd: Option<&str>) -> Arc<HookSet> {
        let states = match cwd.map(Path::new) {
            Some(cwd) if cwd.is_absolute() && cwd != self.root => self.states(cwd, &own),
            _ => Vec::new(),
        };
        if states.is_empty() {
            return own;
        }
        let mut kept = self.kept.lock();
        let joined = match kept
            .iter()
            .position(|it| it.states == states && Arc::ptr_eq(&it.own, &own))
        {
            Some(at) => kept.remove(at),
            None => Joined {
                set: self.joined(&own, &states),
                own,
                states,
            },
        };
        if kept.len() >= MAX_KEPT {
            kept.remove(0);
        }
        let set = joined.set.clone();
        kept.push(joined);
        set
    }

    /// The approved states of the projects that a directory lies in, broken or not, and those that
    /// aren't in force as they are, if anything becomes of that.
    fn states(&self, cwd: &Path, own: &HookSet) -> Vec<State> {
        let is_strict = own
            .untrusted
            .as_ref()
            .is_some_and(|rule| rule.how > Untrusted::Tell);
        let roots = approved::around(cwd)
            .into_iter()
            .filter(|root| !self.own.contains(root));
        let state = |root: PathBuf| {
            let mut links = approved::currents(&self.stores, &root).into_iter();
            let approved =
                links.find_map(|link| std::fs::read_link(&link).ok().map(|to| (link, to)));
            let has_changed = if is_strict {
                let link = approved.as_ref().map(|(link, _)| &**link);
                approved::is_distrusted(&root, link)
            } else {
                None
            };
            (approved.is_some() || has_changed.is_some()).then_some(State {
                root,
                approved,
                has_changed,
            })
        };
        roots.filter_map(state).collect()
    }

    fn joined(&self, own: &HookSet, states: &[State]) -> Arc<HookSet> {
        let mut hooks = own.hooks.clone();
        let mut policies = own.policies.clone();
        let mut tools = own.tool_names.0.to_vec();
        let (mut broken, mut notices) = (own.broken.to_vec(), own.notices.to_vec());
        let mut hash = Sha256::new();
        hash.update(&*own.hash);
        for State {
            root,
            approved,
            has_changed,
        } in states
        {
            hash.update(root.as_os_str().as_encoded_bytes());
            if let Some((rule, has_changed)) = own.untrusted.as_ref().zip(*has_changed) {
                hooks.extend(untrusted::hooks(rule, root, has_changed));
                hash.update([u8::from(has_changed)]);
            }
            let Some((link, _)) = approved else {
                continue;
            };
            let kept = Kept::Approved(vec![link.clone()]);
            let dir = LayerDir {
                layer: Layer::Project,
                path: root.join(DEFINITIONS),
                kept,
            };
            let mut loader = Loader::new(
                vec![dir],
                Means {
                    root: root.clone(),
                    ..self.means.clone()
                },
            );
            let set = loader.load(Look::Now).hooks;
            hooks.extend(set.hooks.iter().cloned());
            policies.extend(set.policies.iter().cloned());
            tools.extend(set.tool_names.0.iter().cloned());
            broken.extend(set.broken.iter().cloned());
            notices.extend(set.notices.iter().cloned());
            hash.update(&*set.hash);
        }
        worktrees::leave_out_twins(&mut hooks);
        policies.sort_by_key(|policy| policy.source.layer);
        let hash = hookwire_base::support::digest::hex(&hash.finalize()[..16]).into();
        let mut set = HookSet::new(hooks, own.generation, hash, broken);
        set.policies = policies;
        set.notices = notices.into();
        set.tool_names = Arc::new(ToolNames(tools));
        set.untrusted = own.untrusted.clone();
        Arc::new(set)
    }
}
