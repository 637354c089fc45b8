//! Where a definition file is, and what is known there.

use hookwire_base::syntax::source::Layer;
use hookwire_handlers::handlers::Means;
use hookwire_handlers::handlers::approved::Approved;
use hookwire_handlers::services::client::Client;
use std::path::Path;
use std::sync::Arc;

/// Where a file is and who wrote it.
pub struct Origin<'a> {
    /// As people know it.
    pub file: &'a str,
    /// Relative paths start here.
    pub dir: &'a Path,
    /// The approved state of the project, if the file is read from its copy.
    pub approved: Option<&'a Arc<Approved>>,
    /// Where the file really is, if a link leads to it.
    pub real_dir: Option<&'a Path>,
    /// The layer.
    pub layer: Layer,
    /// The connection that registers the hooks, if they come over the wire.
    pub client: Option<&'a Arc<dyn Client>>,
    /// The host's means to run hooks; `None` where they aren't known.
    pub means: Option<&'a Means>,
    /// Reads a file that a hook names; the error is for people.
    pub read: &'a dyn Fn(&Path) -> Result<String, String>,
}

impl<'a> Origin<'a> {
    /// A file of which nothing else is known.
    pub fn new(
        file: &'a str,
        dir: &'a Path,
        layer: Layer,
        read: &'a dyn Fn(&Path) -> Result<String, String>,
    ) -> Origin<'a> {
        Origin {
            file,
            dir,
            layer,
            read,
            approved: None,
            real_dir: None,
            client: None,
            means: None,
        }
    }
}
