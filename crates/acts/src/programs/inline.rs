//! Code that an interpreter is given within a text: whether it shows that it starts no other program.

use super::Names;

/// What Python code must not hold: names that start programs, and ways to reach them by a name that is put together or
/// written in another encoding.
static STARTERS: Names = Names::new("python-starters");

/// Modules by which nothing is started, and no member is reached by the text of its name.
static MODULES: Names = Names::new("python-modules");

/// Whether code starts no program, whatever its texts say. Code that isn't plain, or imports what isn't known, may; so may
/// other languages than Python, where a member is reached by any text.
pub(in super::super) fn starts_nothing(interpreter: &str, code: &str) -> bool {
    let is_python = interpreter.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.') == "python";
    let lower = code.to_ascii_lowercase();
    is_python && code.is_ascii() && !STARTERS.words().any(|name| lower.contains(name)) && imports_known(&lower)
}

/// Whether every `import` of python's code names modules that start nothing by themselves.
fn imports_known(code: &str) -> bool {
    let is_known = |name: &str| {
        let module = name.split_whitespace().next().unwrap_or_default().split('.').next().unwrap_or_default();
        MODULES.has(module)
    };
    let mut imports = 0;
    for statement in code.split(['\n', ';']).map(str::trim) {
        let known = match (statement.strip_prefix("from "), statement.strip_prefix("import ")) {
            (Some(rest), _) => is_known(rest),
            (None, Some(rest)) => rest.split(',').all(is_known),
            (None, None) => continue,
        };
        if !known {
            return false;
        }
        imports += 1;
    }
    // `importlib`, or an import that stands elsewhere.
    code.matches("import").count() == imports
}
