//! What a kind knows while it compiles a definition, and the mistakes that it finds.

use super::approved::Approved;
use super::programs::host_path;
use crate::services::client::Client;
#[cfg(feature = "models")]
use crate::services::models::ModelRef;
use crate::services::models::RawModel;
use hookwire_base::syntax::fix::Fix;
use hookwire_base::syntax::node::DecodeError;
use hookwire_base::syntax::source::Layer;
use hookwire_base::template::Placeholders;
use hookwire_rules::matching::paths::normalise;
use hookwire_rules::matching::rule::ToolRule;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What is known where a definition is compiled.
pub struct Compile<'a> {
    /// The directory of the definition's file: relative paths start here.
    pub dir: &'a Path,
    /// The project's root, where that is known.
    pub root: Option<&'a Path>,
    /// Where programs put temporary files, if not where the host does.
    pub temporary: Option<&'a Path>,
    /// What a person has approved of the project, if the definition is read from that.
    pub approved: Option<&'a Arc<Approved>>,
    /// Where the file really is, if a link leads to it.
    pub real_dir: Option<&'a Path>,
    /// Where the definition came from.
    pub layer: Layer,
    /// The connection that registers the hook, if it comes over the wire.
    pub client: Option<&'a Arc<dyn Client>>,
    /// The hook's `if`; `None` if it holds a mistake.
    pub rules: Option<&'a [ToolRule]>,
    /// The model that the file's `defaults` name.
    pub model: Option<&'a RawModel>,
    /// Agents of the hook's vocabulary count by themselves, and guards only tell them to stop: see
    /// [`Contract::tally`](hookwire_rules::contract::Contract::tally).
    pub signals_stops: bool,
    /// How the hook's vocabulary names what an event says.
    pub placeholders: &'static Placeholders,
    /// Reads a file that the definition names, and has it watched: a change of it compiles the
    /// definition again. The error is for people.
    pub read: &'a dyn Fn(&Path) -> Result<String, String>,
    /// For each line of a member's text, the line of the definition's file where it is written, as
    /// far as the text is written without escapes. For a definition that is a single text, the
    /// member is ignored.
    pub lines: &'a dyn Fn(&str) -> Vec<usize>,
}

impl Compile<'_> {
    /// The `PATH` of what the definition starts, unless it sets one.
    pub(super) fn path(&self) -> Option<String> {
        let approved = self.approved.and_then(|approved| approved.path());
        approved.or_else(|| host_path(self.root))
    }

    /// The place of a program that a definition names by a path and that runs where it is, not from
    /// the copy.
    pub(super) fn program_in_place(&self, program: &str) -> Option<String> {
        let approved = self.approved.filter(|_| program.contains('/'))?;
        let path = approved.original(&normalise(&self.dir.join(program)));
        approved
            .named
            .get(&path)?
            .as_ref()
            .map(|_| path.to_string_lossy().into_owned())
    }

    /// The directory of the definition's file as people know it: what is written and worked in
    /// starts here.
    pub(super) fn place(&self) -> PathBuf {
        self.approved.map_or_else(
            || self.dir.to_path_buf(),
            |approved| approved.original(self.dir),
        )
    }
}

#[cfg(feature = "models")]
impl Compile<'_> {
    /// The model that the hook names with `model`, else the file's; `None` leaves it to the host.
    pub(super) fn model(&self, raw: Option<RawModel>) -> Result<Option<ModelRef>, Mistake> {
        let model = raw
            .or_else(|| self.model.cloned())
            .map(ModelRef::new)
            .transpose();
        model.map_err(|bad| Mistake {
            help: bad.help,
            fix: bad.fix,
            ..Mistake::new("model", bad.message)
        })
    }
}

/// A mistake in a handler's definition.
#[derive(Debug, PartialEq, Eq)]
pub struct Mistake {
    /// The member that `field` is within, if not the value itself.
    pub within: Option<&'static str>,
    /// The member it is about, if not the whole.
    pub field: Option<&'static str>,
    /// The part of the field's text that it is about, in bytes, where the text is written as it is.
    pub at: Option<std::ops::Range<usize>>,
    /// Lowercase, no full stop.
    pub message: String,
    /// What to do.
    pub help: Option<String>,
    /// The edit that corrects it.
    pub fix: Option<Box<Fix>>,
}

impl Mistake {
    /// A mistake in the value as a whole.
    pub(super) fn whole(message: impl Into<String>) -> Mistake {
        Mistake {
            within: None,
            field: None,
            at: None,
            message: message.into(),
            help: None,
            fix: None,
        }
    }

    /// With what to do about it.
    pub(super) fn help(self, help: impl Into<String>) -> Mistake {
        Mistake {
            help: Some(help.into()),
            ..self
        }
    }

    pub(super) fn new(field: &'static str, message: impl Into<String>) -> Mistake {
        Mistake {
            field: Some(field),
            ..Mistake::whole(message)
        }
    }

    /// With the name that a wrong one was probably meant to be.
    #[cfg(feature = "models")]
    pub(super) fn did_you_mean(self, wrong: &str, right: &str) -> Mistake {
        self.help(format!("did you mean `{right}`?"))
            .fix(Fix::replace(wrong, right))
    }

    /// With the edit that corrects it.
    pub(super) fn fix(self, fix: Fix) -> Mistake {
        Mistake {
            fix: Some(Box::new(fix)),
            ..self
        }
    }
}

/// Why a handler's definition doesn't compile.
pub enum CompileError {
    /// It hasn't the right form.
    Form(DecodeError),
    /// It has the right form, but no sense.
    Meaning(Mistake),
}
