//! The folders that the editor works in, and what would be in force in each: unsaved texts left
//! out, and without a part in judging events.

use super::project::{Opener, Project, home_of};
use hookwire_base::transport::socket;
use hookwire_engine::definitions::approved::DEFINITIONS;
use parking_lot::Mutex;
use std::path::{Path, PathBuf};
use tokio_util::sync::CancellationToken;

/// Folders that one editor may work in; each has a thread that watches it.
const MAX_FOLDERS: usize = 32;

/// A folder.
#[derive(Clone)]
pub(super) struct Workspace {
    /// Loads and watches its definitions.
    pub(super) project: Project,
    /// Cancelled when the editor leaves it.
    pub(super) left: CancellationToken,
}

/// See the module.
pub(super) struct Workspaces {
    opener: Opener,
    open: Mutex<Vec<Workspace>>,
}

impl Workspaces {
    /// None yet.
    pub(super) fn new(connection: &Project) -> Workspaces {
        Workspaces {
            opener: Opener::new(connection),
            open: Mutex::default(),
        }
    }

    /// The project of each.
    pub(super) fn projects(&self) -> Vec<Project> {
        self.open
            .lock()
            .iter()
            .map(|it| it.project.clone())
            .collect()
    }

    /// The sockets of other processes' hosts of the projects.
    pub(super) fn hosts(&self) -> std::io::Result<Vec<PathBuf>> {
        socket::others(&self.projects().iter().map(Project::key).collect::<Vec<_>>())
    }

    /// All of them.
    pub(super) fn all(&self) -> Vec<Workspace> {
        self.open.lock().clone()
    }

    /// The project that a file is in: the innermost, else the first.
    pub(super) fn project_around(&self, file: &Path) -> Option<Project> {
        let open = self.open.lock();
        let around = open.iter().filter(|it| file.starts_with(it.project.root()));
        let innermost = around.max_by_key(|around| around.project.root().components().count());
        innermost.or(open.first()).map(|it| it.project.clone())
    }

    /// Enters a folder; `None` if it is open already, or too many are.
    pub(super) fn enter_folder(&self, root: &Path) -> Option<Workspace> {
        let mut open = self.open.lock();
        if open.iter().any(|it| it.project.root() == root) {
            return None;
        }
        if open.len() >= MAX_FOLDERS {
            tracing::warn!(root = %root.display(), "A folder was left alone: {MAX_FOLDERS} are open.");
            return None;
        }
        let workspace = Workspace {
            project: self.opener.open_project(root),
            left: CancellationToken::new(),
        };
        open.push(workspace.clone());
        Some(workspace)
    }

    /// Leaves every folder but those.
    pub(super) fn retain(&self, is_wanted: impl Fn(&Path) -> bool) {
        self.open.lock().retain(|open| {
            let stays = is_wanted(open.project.root());
            if !stays {
                open.left.cancel();
            }
            stays
        });
    }
}

/// The projects that a folder of the editor's is about: itself, and the one around it if only that
/// has definitions.
pub(super) fn projects_of_folder(folder: &Path) -> Vec<PathBuf> {
    let home = |dir: &&Path| home_of(dir).is_dir();
    let around = folder
        .ancestors()
        .skip(1)
        .find(home)
        .filter(|_| !home(&folder));
    std::iter::once(folder)
        .chain(around)
        .map(Path::to_path_buf)
        .collect()
}

/// The project that a definition file is of, by where it is.
pub(super) fn project_of(file: &Path) -> Option<&Path> {
    file.ancestors()
        .find(|dir| dir.file_name().is_some_and(|name| name == DEFINITIONS))?
        .parent()
}
