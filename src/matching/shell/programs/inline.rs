//! Code that an interpreter is given within a text: whether it shows that it starts no other program.

/// What code of a language must not hold: names that start programs, or that reach them by a name put together.
const STARTERS: [&str; 25] = [
    "system",
    "run(",
    "popen",
    "subprocess",
    "spawn",
    "exec",
    "fork",
    "eval",
    "compile",
    "pty",
    "ctypes",
    "cffi",
    "__",
    "getattr",
    "setattr",
    "globals",
    "locals",
    "vars(",
    "breakpoint",
    "runpy",
    "startfile",
    "binding",
    "function(",
    "constructor",
    "`",
];

const PYTHON_MODULES: [&str; 37] = [
    "argparse",
    "ast",
    "base64",
    "collections",
    "configparser",
    "copy",
    "csv",
    "datetime",
    "decimal",
    "difflib",
    "fnmatch",
    "fractions",
    "functools",
    "glob",
    "gzip",
    "hashlib",
    "html",
    "io",
    "itertools",
    "json",
    "math",
    "operator",
    "os",
    "pathlib",
    "pprint",
    "random",
    "re",
    "shlex",
    "statistics",
    "string",
    "sys",
    "textwrap",
    "time",
    "tomllib",
    "typing",
    "urllib",
    "uuid",
];

const NODE_MODULES: [&str; 8] = ["fs", "path", "os", "util", "url", "crypto", "assert", "readline"];

/// Whether code starts no program, whatever its texts say. Code that isn't plain, or imports what isn't known, may.
pub(in super::super) fn starts_nothing(interpreter: &str, code: &str) -> bool {
    let lower = code.to_ascii_lowercase();
    if !code.is_ascii() || STARTERS.iter().any(|name| lower.contains(name)) {
        return false;
    }
    match interpreter.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.') {
        "python" => imports_known(&lower),
        "node" => requires_known(&lower),
        _ => false,
    }
}

/// Whether every `import` of python's code names modules that start nothing by themselves.
fn imports_known(code: &str) -> bool {
    let is_known = |name: &str| {
        let module = name.split_whitespace().next().unwrap_or_default().split('.').next().unwrap_or_default();
        PYTHON_MODULES.contains(&module)
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

/// The same of Node's `require("fs")`.
fn requires_known(code: &str) -> bool {
    let is_known = |rest: &str| {
        let name = rest.strip_prefix(['"', '\'']).and_then(|rest| rest.split(['"', '\'']).next());
        name.is_some_and(|name| NODE_MODULES.contains(&name.strip_prefix("node:").unwrap_or(name)))
    };
    !code.contains("import")
        && code.matches("require").count() == code.split("require(").skip(1).filter(|it| is_known(it)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_that_starts_nothing() {
        for (interpreter, code, expected) in [
            ("python3", "import json\nd = json.load(open('p'))\nd['scripts']['x'] = 'rm -rf dist'", true),
            ("python", "print('git push')", true),
            ("python3.11", "from pathlib import Path\nPath('a').write_text('git push')", true),
            ("python3", "import os; os.system('git push')", false),
            ("python3", "import os; os . execvp('git', ['git', 'push'])", false),
            ("python3", "import plumbum", false),
            ("python3", "import json, sh", false),
            ("python3", "if 1: import sh", false),
            ("python3", "import os; o = os.__dict__", false),
            ("python3", "import os\nos.\u{17f}ystem('x')", false),
            ("node", "const fs=require('fs'); fs.writeFileSync('p', 'npm publish')", true),
            ("node", "require('child_' + 'process')", false),
            ("node", "const r = require; r('x')", false),
            ("node", "process.binding('spawn_sync')", false),
            ("perl", "print 1", false),
        ] {
            assert_eq!(starts_nothing(interpreter, code), expected, "{code}");
        }
    }
}
