//! What stands around a document that is asked about: the other documents, its project, and what
//! running hosts of that project have judged.

use super::document::Documents;
use super::editor::Abilities;
use super::live::Live;
use super::past::Past;
use super::project::{Project, home_of};
use hookwire_base::event::Event;
use hookwire_base::syntax::diagnostic::Diagnostic;
use hookwire_base::syntax::source::Layer;
use std::path::Path;
use std::sync::Arc;

/// The most events that completion and hover look into.
const MAX_EVENTS: usize = 50;

/// See the module.
pub(super) struct Surroundings<'s> {
    /// All open documents.
    pub(super) documents: &'s Documents,
    /// The abilities of the editor.
    pub(super) abilities: &'s Abilities,
    /// The project that the document is in.
    pub(super) project: Option<Project>,
    /// The events and counts of running hosts.
    pub(super) live: &'s Live,
}

impl Surroundings<'_> {
    /// The key of the project; empty if there is none.
    pub(super) fn key(&self) -> String {
        self.project.as_ref().map(Project::key).unwrap_or_default()
    }

    /// The layer of a file in the project.
    pub(super) fn layer_of(&self, file: &Path) -> Option<Layer> {
        self.project.as_ref()?.layer_of(file)
    }

    /// What keeps a file of the project's own definitions out of force as it is, if something does.
    pub(super) fn distrust(&self, file: &Path) -> Option<Diagnostic> {
        let project = self
            .project
            .as_ref()
            .filter(|project| file.starts_with(home_of(project.root())))?;
        project.distrust()
    }

    /// The project's last events, newest first.
    pub(super) fn events(&self) -> Vec<Arc<Event>> {
        self.live
            .recent_events(&self.key())
            .iter()
            .take(MAX_EVENTS)
            .map(|event| event.event.clone())
            .collect()
    }

    /// The project's last events with what conditions read of them, newest first.
    pub(super) fn past(&self) -> Vec<Past> {
        Past::of_project(self.live, self.project.as_ref())
    }
}
