//! The kinds of texts in a definition file, by the keys that lead to them. Completion, hover,
//! colours and "go to definition" all ask this table. What the texts of a handler are, the handlers
//! say themselves (`handlers::text_kind`, `handlers::templates`).

use super::context::Here;
use hookwire_base::syntax::node::Step;
use hookwire_handlers::handlers;

/// The kind of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TextKind {
    /// The name of a hook.
    HookName,
    /// The name of an event, or `*`.
    Event,
    /// The name of a guard that needs no settings.
    Guard,
    /// The name of a vocabulary.
    Dialect,
    /// The name of an agent.
    Agent,
    /// A hook's `matcher`: a regex or names, as the vocabulary has it.
    Matcher,
    /// A regex of a handler.
    Regex,
    /// `Tool(pattern)`.
    Rule,
    /// A CEL expression.
    Condition,
    /// A header of a request, which may name values of the event and variables.
    Header,
    /// A text for the shell.
    Shell,
    /// A file, from the definition's directory.
    File,
    /// `module:function` or `file.py:function`.
    PythonFunction,
    /// `file.mjs#export`.
    NodeFunction,
    /// A word of a program with its arguments: its place in the list, and where the program runs.
    Word(usize, RunsIn),
}

/// Where a program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RunsIn {
    /// In the project root.
    Root,
    /// In the definition's directory.
    Definition,
    /// Where the member of the hook under these keys says, else in the project root.
    Member(&'static [&'static str]),
}

/// The kind of a text of a hook, by its path within the hook.
pub(super) fn in_hook(path: &[Step<'_>]) -> Option<TextKind> {
    use Step::{Index, Key};
    Some(match path {
        [Key("name")] => TextKind::HookName,
        [Key("on")] | [Key("on"), Index(_)] => TextKind::Event,
        [Key("matcher")] => TextKind::Matcher,
        [Key("if" | "unless")] | [Key("if" | "unless"), Index(_)] => TextKind::Rule,
        [Key("when")] => TextKind::Condition,
        [Key("agents")] | [Key("agents"), Index(_)] => TextKind::Agent,
        [Key("dialect")] => TextKind::Dialect,
        [Key("guard")] => TextKind::Guard,
        [Key("callable"), Key("python")] => TextKind::PythonFunction,
        [Key("callable"), Key("node")] => TextKind::NodeFunction,
        [Key("command")] | [Key("command"), Key("run")] => TextKind::Shell,
        [Key("command"), Index(n)] | [Key("command"), Key("run"), Index(n)] => {
            TextKind::Word(*n, RunsIn::Member(&["command", "cwd"]))
        }
        [Key("callable"), Key("command"), Index(n)] => TextKind::Word(*n, RunsIn::Definition),
        [Key("mcp"), Key("server"), Key("command"), Index(n)] => {
            TextKind::Word(*n, RunsIn::Member(&["mcp", "server", "cwd"]))
        }
        [
            Key("agent"),
            Key("tools"),
            Index(_),
            Key("mcp"),
            Key("server"),
            Key("command"),
            Index(n),
        ] => TextKind::Word(*n, RunsIn::Root),
        _ => return of_handler(path),
    })
}

/// The kind of a text of a handler's definition, as the handler itself has it.
fn of_handler(path: &[Step<'_>]) -> Option<TextKind> {
    let (Step::Key(handler), path) = path.split_first()? else {
        return None;
    };
    let path = path.iter().map(|step| match step {
        Step::Key(key) => key,
        Step::Index(0) => "0",
        Step::Index(_) => "#",
    });
    Some(
        match handlers::text_kind(handler, &path.collect::<Vec<_>>())? {
            handlers::TextKind::Expression => TextKind::Condition,
            handlers::TextKind::Regex => TextKind::Regex,
            handlers::TextKind::NativeTemplate => TextKind::Header,
            handlers::TextKind::File => TextKind::File,
            handlers::TextKind::Template => return None,
        },
    )
}

/// The kind of the text at a place.
pub(super) fn kind_at(here: &Here<'_>) -> Option<TextKind> {
    if here.hook.is_some() {
        in_hook(here.path_in_hook())
    } else {
        in_file(&here.path)
    }
}

/// The kind of a text outside of hooks, by its path in the file.
pub(super) fn in_file(path: &[Step<'_>]) -> Option<TextKind> {
    use Step::Key;
    match path {
        [Key("policy"), Key("allow" | "deny"), ..] => Some(TextKind::Rule),
        [Key("defaults"), Key("agents"), ..] => Some(TextKind::Agent),
        [Key("dialect")] => Some(TextKind::Dialect),
        [Key("$schema" | "INHERIT"), ..] => Some(TextKind::File),
        _ => None,
    }
}
