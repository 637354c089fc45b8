//! Hooks of the program that embeds the host, compiled as those of a file are.

use super::compile::{CompiledFile, compile};
use super::origin::Origin;
use crate::hook::Hook;
use hookwire_base::syntax::diagnostic::{Diagnostic, LineIndex, Range, Severity};
use hookwire_base::syntax::node::Node;
use hookwire_base::syntax::source::{Layer, Source};
use hookwire_handlers::handlers::Handler;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;

/// A tool that no agent has: what is asked about it is denied, to show that a deny arrives.
pub const PROBE: &str = "hookwire_probe";
/// Why.
pub const PROBE_DENIED: &str = "hookwire denies this probe, as it is to.";

/// Where the hooks of hookwire itself are said to be written.
pub const BUILT_IN: &str = "built-in";

/// The hooks that installed agents have outside of all others: the guard that keeps an agent from
/// undoing them, and what shows that they are asked.
///
/// # Errors
/// The first mistake, which would be one of hookwire's.
pub(crate) fn own_hooks() -> Result<Vec<Hook>, String> {
    let definitions = json!([
        {
            "name": "self-defense",
            "description": "Definitions, what was trusted and agents' settings are changed by people.",
            "guard": "self-defense",
            "fail": "closed",
        },
        { "name": "probe", "on": "PreToolUse", "matcher": PROBE, "deny": PROBE_DENIED },
    ]);
    let compiled = compile_json(BUILT_IN, Layer::Managed, &definitions);
    match compiled.problems.into_iter().next() {
        Some(problem) => Err(problem.message),
        None => Ok(compiled
            .hooks
            .into_iter()
            .filter_map(|it| it.hook)
            .filter_map(Arc::into_inner)
            .collect()),
    }
}

/// Where the hooks of a program are said to be written.
const PROGRAM: &str = "program";

/// Compiles hooks that stand in no file and name none.
pub(super) fn compile_json(file: &str, layer: Layer, hooks: &Value) -> CompiledFile {
    let read = |_: &Path| Err(String::new());
    let root = Node::from_json(&json!({ "hooks": hooks }));
    compile(
        &root,
        &Origin::new(file, Path::new("/"), layer, &read),
        &LineIndex::new(""),
    )
}

/// A hook of the program: what a file's definition would say of it, without a handler, and its
/// handler.
///
/// With it come warnings: such a hook is in force, as one of a file would be.
///
/// # Errors
/// The first mistake, with what to do.
pub fn embedded(
    mut definition: Value,
    handler: Handler,
    position: usize,
) -> Result<(Hook, Vec<Diagnostic>), String> {
    definition["allow"] = "".into();
    let compiled = compile_json(PROGRAM, Layer::Hooks, &json!([definition]));
    let mut warnings = Vec::new();
    for problem in compiled.problems {
        if problem.severity == Severity::Error {
            let help = problem
                .help
                .map(|help| format!(" ({help})"))
                .unwrap_or_default();
            return Err(format!("{}{help}", problem.message));
        }
        let warning = problem.into_diagnostic(PROGRAM, Range::default());
        let name = warning.hook.as_deref().unwrap_or_default();
        let message = format!("hook `{name}`: {}", warning.message);
        // There is no text that a place could be in.
        warnings.push(Diagnostic {
            message,
            span: 0..0,
            ..warning
        });
    }
    let hook = compiled
        .hooks
        .into_iter()
        .find_map(|it| it.hook)
        .and_then(Arc::into_inner);
    let hook = hook.ok_or("the definition is empty")?;
    // No two closures are equal.
    let fingerprint = position as u64;
    let source = Source {
        line: 0,
        column: 0,
        position,
        ..hook.source
    };
    Ok((
        Hook {
            handler,
            fingerprint,
            source,
            ..hook
        },
        warnings,
    ))
}
