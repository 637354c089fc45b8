//! How hooks are carried out. One file a kind, one line in the table below.
//!
//! A kind owns what its definition may say (`Raw`), turns it into something that can't be wrong
//! (`compile`) and runs it. Time limits, cancellation, panics and failure directions are the
//! engine's: a handler that is dropped must leave nothing behind.

#[cfg(feature = "models")]
mod agent;
pub mod approved;
mod asked;
mod call;
mod callable;
mod callback;
mod closure;
mod command;
mod compile;
mod digits;
mod effect;
mod environment;
mod error;
mod fixed;
mod flow;
pub mod guards;
#[cfg(feature = "http")]
mod headers;
#[cfg(feature = "http")]
mod http;
mod kept;
mod kind;
#[cfg(feature = "mcp")]
mod mcp;
mod means;
pub mod members;
mod named_files;
mod output_log;
mod pattern;
mod pins;
pub mod process;
pub mod process_tree;
pub mod programs;
#[cfg(feature = "models")]
mod prompt;
#[cfg(feature = "script")]
mod realms;
pub mod rewrite;
pub mod said;
#[cfg(test)]
mod sample;
#[cfg(feature = "script")]
mod script;
#[cfg(feature = "mcp")]
mod servers;
mod services;
mod shell_text;
mod starts;
mod text;
mod workers;

use hookwire_base::event::On;
use hookwire_base::syntax::node::{Node, decode};
use hookwire_base::template::{PATHS, Placeholders, Style, Template};
use hookwire_base::verdict::{Answer, Decision};
use kind::{Kind, each_text};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use crate::services::egress::HostPort;
pub use call::{Call, HookView, Judge, Moment, Transcript};
pub use callable::{node_file, python_files};
pub use callback::CallbackCall;
pub use closure::Closure;
pub use closure::depth;
pub use closure::{HookError, HookEvent, IntoAnswer};
pub use compile::{Compile, CompileError, Mistake};
pub use effect::{Effect, Program};
pub use error::HandlerError;
pub use kind::TextKind;
pub use means::{Means, Obstacle};
pub use services::Services;

/// A row of the handler table, for the loader, the schema and the docs.
pub struct Row {
    /// The definition's key.
    pub key: &'static str,
    /// One line.
    pub about: &'static str,
    /// Whether a file may have it.
    pub in_files: bool,
    /// Whether it may only run where its hook certainly applies: see `Kind::NEEDS_CERTAINTY`.
    pub needs_certainty: bool,
    /// What a text of the key's value is, by the way to it: see `Kind::text_kind`.
    pub text_kind: fn(&[&str]) -> Option<TextKind>,
    /// Compiles the key's value.
    pub compile: fn(&Node, &Compile<'_>) -> Result<Handler, CompileError>,
    /// The JSON Schema of the key's value.
    pub schema: fn(&mut schemars::SchemaGenerator) -> schemars::Schema,
}

macro_rules! handlers {
    ($($(#[$attribute:meta])* $key:literal, $about:literal => $variant:ident($kind:ty);)*) => {
        /// How a hook is carried out.
        #[derive(Debug)]
        pub enum Handler {
            $($(#[$attribute])* #[doc = $about] #[allow(private_interfaces, reason = "handlers are opaque outside")] $variant($kind),)*
            /// A closure of the program that embeds the host: nothing that a file could say.
            #[allow(private_interfaces, reason = "handlers are opaque outside")]
            Closure(Closure),
            /// A definition that is broken but says that it fails closed: always fails.
            Broken(String),
        }

        /// Every kind that a definition may name.
        pub static KINDS: &[Row] = &[$($(#[$attribute])* Row {
            key: $key,
            about: $about,
            in_files: <$kind as Kind>::IN_FILES,
            needs_certainty: <$kind as Kind>::NEEDS_CERTAINTY,
            text_kind: <$kind as Kind>::text_kind,
            compile: |node, cx| {
                let raw = decode(node).map_err(CompileError::Form)?;
                <$kind as Kind>::compile(raw, cx).map(Handler::$variant).map_err(CompileError::Meaning)
            },
            schema: |generator| generator.subschema_for::<<$kind as Kind>::Raw>(),
        },)*];

        impl Handler {
            /// The definition's key.
            pub fn key(&self) -> &'static str {
                match self {
                    $($(#[$attribute])* Handler::$variant(_) => $key,)*
                    Handler::Closure(_) => "closure",
                    Handler::Broken(_) => "broken",
                }
            }

            pub async fn run(&self, call: &Call<'_>) -> Result<Answer, HandlerError> {
                match self {
                    $($(#[$attribute])* Handler::$variant(it) => it.run(call).await,)*
                    Handler::Closure(it) => it.run(call).await,
                    Handler::Broken(problem) => Err(HandlerError(problem.clone())),
                }
            }

            /// Whether a run does anything beyond its answer.
            pub fn has_effects(&self) -> bool {
                match self {
                    $($(#[$attribute])* Handler::$variant(it) => it.has_effects(),)*
                    Handler::Closure(_) => true,
                    Handler::Broken(_) => false,
                }
            }

            /// What a run does beyond looking at the event, to be shown.
            pub fn effect(&self) -> Option<Effect> {
                match self {
                    $($(#[$attribute])* Handler::$variant(it) => it.effect(),)*
                    Handler::Closure(_) | Handler::Broken(_) => None,
                }
            }

            /// The files that a run starts or loads, as far as the definition names them; a
            /// relative one starts where the hook runs. `root` is the project's.
            pub fn files(&self, root: &Path) -> Vec<PathBuf> {
                match self {
                    $($(#[$attribute])* Handler::$variant(it) => it.files(root),)*
                    Handler::Closure(_) | Handler::Broken(_) => Vec::new(),
                }
            }

            /// The programs that a run looks for by name.
            pub fn programs(&self) -> Vec<String> {
                match self {
                    $($(#[$attribute])* Handler::$variant(it) => it.programs(),)*
                    Handler::Closure(_) | Handler::Broken(_) => Vec::new(),
                }
            }

            /// The file that a run writes.
            pub fn writes(&self) -> Option<&Path> {
                match self {
                    $($(#[$attribute])* Handler::$variant(it) => it.writes(),)*
                    Handler::Closure(_) | Handler::Broken(_) => None,
                }
            }

            /// What is known to keep a run from working, with these means.
            pub fn obstacle(&self, hook: &HookView<'_>, means: &Means) -> Option<Obstacle> {
                match self {
                    $($(#[$attribute])* Handler::$variant(it) => it.obstacle(hook, means),)*
                    Handler::Closure(_) | Handler::Broken(_) => None,
                }
            }

            /// What of its answers counts only if somebody waits for it.
            pub fn awaited(&self, on: &On) -> Option<&'static str> {
                match self {
                    $($(#[$attribute])* Handler::$variant(it) => it.awaited(on),)*
                    Handler::Closure(_) | Handler::Broken(_) => None,
                }
            }

            /// How long a run may take where neither the hook nor its file says, if longer than
            /// others.
            pub fn default_timeout(&self) -> Option<Duration> {
                match self {
                    $($(#[$attribute])* Handler::$variant(it) => it.default_timeout(),)*
                    Handler::Closure(_) | Handler::Broken(_) => None,
                }
            }

            /// Whether its own rewrite leaves it nothing to rewrite.
            pub fn is_idempotent(&self) -> bool {
                match self {
                    $($(#[$attribute])* Handler::$variant(it) => it.is_idempotent(),)*
                    Handler::Closure(_) | Handler::Broken(_) => false,
                }
            }

            /// Whether it takes something out of what passes: then a failure must not let it pass.
            pub fn is_redacting(&self) -> bool {
                self.redactor().is_some()
            }

            /// What it takes out of what passes.
            pub fn redactor(&self) -> Option<said::Redactor> {
                match self {
                    $($(#[$attribute])* Handler::$variant(it) => it.redactor(),)*
                    Handler::Closure(_) | Handler::Broken(_) => None,
                }
            }

            /// Whether it may only run where its hook certainly applies.
            pub fn needs_certainty(&self) -> bool {
                match self {
                    $($(#[$attribute])* Handler::$variant(_) => <$kind as Kind>::NEEDS_CERTAINTY,)*
                    Handler::Closure(_) | Handler::Broken(_) => false,
                }
            }

            /// Whether its answer depends on what it has counted or seen before.
            pub fn counts(&self) -> bool {
                match self {
                    $($(#[$attribute])* Handler::$variant(it) => it.counts(),)*
                    Handler::Closure(_) | Handler::Broken(_) => false,
                }
            }

            /// Whether its rules over files are held against what a call does by any means.
            pub fn judges_acts(&self) -> bool {
                match self {
                    $($(#[$attribute])* Handler::$variant(it) => it.judges_acts(),)*
                    Handler::Closure(_) | Handler::Broken(_) => false,
                }
            }

            /// Whether it is asked about programs that start, below a tool's call.
            pub fn judges_starts(&self) -> bool {
                match self {
                    $($(#[$attribute])* Handler::$variant(it) => it.judges_starts(),)*
                    Handler::Closure(_) | Handler::Broken(_) => false,
                }
            }

            /// Takes the secrets of its definition out of an answer or an error. It is done when a
            /// run has ended, because what a reply means must not depend on what a secret happens
            /// to be.
            pub fn mask<'r>(&self, result: Result<&'r mut Answer, &'r mut String>) {
                let secrets = match self {
                    $($(#[$attribute])* Handler::$variant(it) => it.secrets(),)*
                    Handler::Closure(_) | Handler::Broken(_) => Vec::new(),
                };
                match result {
                    Ok(answer) => secrets.iter().for_each(|secrets| secrets.mask_answer(answer)),
                    Err(error) => secrets.iter().for_each(|secrets| *error = secrets.mask(error)),
                }
            }

            /// The decision and reason of a fixed verdict.
            pub fn fixed(&self) -> Option<(Decision, &str)> {
                match self {
                    $($(#[$attribute])* Handler::$variant(it) => it.fixed(),)*
                    Handler::Closure(_) | Handler::Broken(_) => None,
                }
            }
        }
    };
}

handlers! {
    "allow", "a fixed allow, with its reason" => Allow(fixed::Allow);
    "deny", "a fixed deny, with its reason" => Deny(fixed::Deny);
    "ask", "ask a person, with this reason" => Ask(fixed::Ask);
    "command", "a shell text or a program with arguments; the event on its stdin" => Command(command::Command);
    "callable", "a function in a warm worker process: Python, Node or any program" => Callable(callable::Callable);
    #[cfg(feature = "http")]
    "http", "a POST to a service, through guarded egress" => Http(http::Http);
    #[cfg(feature = "models")]
    "prompt", "a question to a language model about the event; its verdict is the hook's" => Prompt(prompt::Prompt);
    #[cfg(feature = "models")]
    "agent", "a bounded sub-agent with an allow-list of tools" => Agent(agent::Agent);
    "callback", "a call back into the client that registered the hook" => Callback(callback::Callback);
    #[cfg(feature = "script")]
    "script", "JavaScript in the definition or a file: no file, network or process" => Script(script::Script);
    "guard", "a built-in guard that needs no code: limits, patterns, secrets, audit" => Guard(guards::Guard);
    "rewrite", "a declared change of the subject: a merge patch, a regex on a text, or other words for a command" => Rewrite(rewrite::Rewrite);
    #[cfg(feature = "mcp")]
    "mcp", "a tool of an MCP server that stays up between events" => Mcp(mcp::Mcp);
    #[cfg(test)]
    "sample", "the commented sample: see sample.rs" => Sample(sample::Sample);
}

/// What a text of a handler's definition is, by the way to it: see `Kind::text_kind`.
pub fn text_kind(key: &str, path: &[&str]) -> Option<TextKind> {
    KINDS
        .iter()
        .find(|row| row.key == key)
        .and_then(|row| (row.text_kind)(path))
}

/// The texts of a handler's definition that are something else than a plain text.
fn texts<'n>(key: &str, definition: &'n Node) -> Vec<(&'n Node, TextKind)> {
    let mut texts = Vec::new();
    each_text(definition, &mut Vec::new(), &mut |path, node| {
        texts.extend(text_kind(key, path).map(|kind| (node, kind)));
    });
    texts
}

/// The CEL expressions of a handler's definition.
pub fn expressions<'n>(key: &str, definition: &'n Node) -> impl Iterator<Item = &'n Node> {
    texts(key, definition)
        .into_iter()
        .filter(|(_, kind)| *kind == TextKind::Expression)
        .map(|(node, _)| node)
}

/// The texts of a handler's definition that name files.
pub fn files<'n>(key: &str, definition: &'n Node) -> impl Iterator<Item = &'n Node> {
    texts(key, definition)
        .into_iter()
        .filter(|(_, kind)| *kind == TextKind::File)
        .map(|(node, _)| node)
}

/// The texts of a handler's definition that are filled in with what the event says, each with how
/// its placeholders are written; `own` is the way of the hook's vocabulary.
pub fn templates<'n>(
    key: &str,
    definition: &'n Node,
    own: &'static Placeholders,
) -> impl Iterator<Item = (&'n Node, &'static Placeholders)> {
    texts(key, definition)
        .into_iter()
        .filter_map(move |(node, kind)| match kind {
            TextKind::Template => Some((node, own)),
            TextKind::NativeTemplate => Some((node, &PATHS)),
            TextKind::Expression | TextKind::Regex | TextKind::File => None,
        })
}

/// The texts of a handler's definition that are used as they are, and are in no language of their
/// own.
pub fn plain_texts<'n>(key: &str, definition: &'n Node) -> Vec<&'n Node> {
    let row = KINDS
        .iter()
        .find(|row| row.key == key)
        .filter(|row| !["script", "rewrite"].contains(&row.key));
    let mut found = Vec::new();
    each_text(definition, &mut Vec::new(), &mut |path, node| {
        let is_shell = key == "command" && matches!(path, [] | ["run"]);
        if row.is_some_and(|row| (row.text_kind)(path).is_none_or(|kind| kind == TextKind::File))
            && !is_shell
        {
            found.push(node);
        }
    });
    found
}

/// A text and the paths that it names, each with where it is written, in bytes of the text.
pub type Named<'n> = (&'n Node, Vec<(String, Range<usize>)>);

/// The paths of hookwire's own vocabulary that a handler's definition names, by the text that they
/// are in.
pub fn paths<'n>(key: &str, definition: &'n Node, own: &'static Placeholders) -> Vec<Named<'n>> {
    let named = |(node, placeholders): (&'n Node, &'static Placeholders)| {
        let template = Template::new(node.text()?, placeholders).ok()?;
        Some((
            node,
            template
                .places()
                .map(|(path, at)| (path.to_string(), at.clone()))
                .collect(),
        ))
    };
    let templates = templates(key, definition, own);
    templates
        .filter(|(_, placeholders)| placeholders.style == Style::Paths)
        .filter_map(named)
        .collect()
}
