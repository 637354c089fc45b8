//! The files that a script finds beside itself: it runs from a copy, so that they have to be there,
//! too.

use hookwire_rules::matching::paths::normalise;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The endings of Node's files.
pub(super) const OF_NODE: [&str; 4] = ["js", "mjs", "cjs", "ts"];
/// The endings of files that hold code.
const OF_CODE: [&str; 14] = [
    "sh", "bash", "zsh", "py", "js", "mjs", "cjs", "ts", "json", "rb", "pl", "pm", "php", "lua",
];
/// The most words of a script that are looked at.
const MAX_WORDS: usize = 5_000;

/// The files that a script's text names, below `within`. They are looked for beside the script and
/// in `dirs`, where the script that was started is. Whatever is there under a name that the text
/// has counts: one file too many is kept rather than one too few.
pub(super) fn named_beside(
    script: &Path,
    text: &str,
    dirs: &[PathBuf],
    within: &Path,
) -> BTreeSet<PathBuf> {
    let ending = script
        .extension()
        .and_then(OsStr::to_str)
        .unwrap_or_default();
    let is_python = ending == "py"
        || text
            .lines()
            .next()
            .is_some_and(|line| line.contains("python"));
    let own = script.parent().map(Path::to_path_buf);
    let dirs: BTreeSet<&PathBuf> = own.iter().chain(dirs).collect();
    let mut found = BTreeSet::new();
    let mut add = |path: PathBuf| {
        let path = normalise(&path);
        let is_code = path
            .extension()
            .and_then(OsStr::to_str)
            .is_some_and(|it| OF_CODE.contains(&it));
        // What lies in the root itself is the project's, not the script's.
        let counts = path.starts_with(within)
            && path != script
            && (is_code || path.parent() != Some(within));
        if counts && path.is_file() {
            found.insert(path);
        }
    };
    let is_part = |c: char| c.is_alphanumeric() || "._-/".contains(c);
    let words = text
        .split(|c: char| !is_part(c))
        .map(|word| word.trim_start_matches('/').trim_end_matches(['.', '/']));
    // `$HERE/lib.sh` is `lib.sh`.
    let words = words
        .flat_map(|word| [Some(word), word.split_once('/').map(|(_, rest)| rest)])
        .flatten();
    let words: BTreeSet<&str> = words
        .filter(|word| (1..=200).contains(&word.len()))
        .take(MAX_WORDS)
        .collect();
    for dir in dirs {
        for word in &words {
            add(dir.join(word));
            let endings: &[&str] = if is_python {
                &["py"]
            } else if OF_NODE.contains(&ending) {
                &OF_NODE
            } else {
                &["sh"]
            };
            for ending in endings {
                add(dir.join(format!("{word}.{ending}")));
            }
            if OF_NODE.contains(&ending) {
                add(dir.join(word).join("index.js"));
            }
        }
        if is_python {
            for module in modules(text) {
                let path = dir.join(module.replace('.', "/"));
                add(path.with_extension("py"));
                // A package is loaded from the top.
                for package in path
                    .ancestors()
                    .take_while(|it| it.starts_with(dir) && *it != dir.as_path())
                {
                    add(package.join("__init__.py"));
                    add(package.join("__main__.py"));
                }
            }
        }
    }
    if OF_NODE.contains(&ending) {
        // It says what kind of module a file is.
        let package = script
            .ancestors()
            .skip(1)
            .take_while(|dir| dir.starts_with(within));
        found.extend(
            package
                .map(|dir| dir.join("package.json"))
                .find(|it| it.is_file()),
        );
    }
    found
}

/// The modules that a Python text may import; relative ones as if they began where the text is.
fn modules(text: &str) -> BTreeSet<String> {
    let mut modules = BTreeSet::new();
    for line in text.lines().map(str::trim_start).take(MAX_WORDS) {
        let names = |names: &str| -> Vec<String> {
            let names = names
                .split([',', '(', ')'])
                .filter_map(|name| name.split_whitespace().next());
            names
                .map(|name| name.trim_matches('.').to_string())
                .filter(|name| !name.is_empty())
                .collect()
        };
        if let Some((module, imported)) = line
            .strip_prefix("from ")
            .and_then(|rest| rest.split_once(" import "))
        {
            let module = module.trim().trim_start_matches('.');
            modules.insert(module.to_string());
            let dot = if module.is_empty() { "" } else { "." };
            modules.extend(
                names(imported)
                    .into_iter()
                    .map(|name| format!("{module}{dot}{name}")),
            );
        } else if let Some(imported) = line.strip_prefix("import ") {
            modules.extend(names(imported));
        }
    }
    modules.remove("");
    modules
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn what_a_script_finds_beside_itself() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        for file in [
            "scripts/lib.sh",
            "scripts/words.txt",
            "scripts/rules.py",
            "scripts/pkg/__init__.py",
            "scripts/pkg/deep.py",
            "scripts/util.js",
            "lib/common.sh",
            "package.json",
            "README.md",
        ] {
            fs::create_dir_all(root.join(file).parent().unwrap()).unwrap();
            fs::write(root.join(file), "x").unwrap();
        }
        for (script, text, expected) in [
            (
                "scripts/a.sh",
                ". \"$(dirname \"$0\")/lib.sh\"\n",
                &["scripts/lib.sh"][..],
            ),
            (
                "scripts/a.sh",
                "source \"$HERE/../lib/common.sh\"; cat README.md\n",
                &["lib/common.sh"],
            ),
            (
                "scripts/a.sh",
                "grep -f \"${0%/*}/words.txt\"\n",
                &["scripts/words.txt"],
            ),
            ("scripts/a.py", "import os, rules\n", &["scripts/rules.py"]),
            (
                "scripts/a.py",
                "from pkg.deep import x\n",
                &["scripts/pkg/__init__.py", "scripts/pkg/deep.py"],
            ),
            (
                "scripts/a.py",
                "from pkg import deep\n",
                &["scripts/pkg/__init__.py", "scripts/pkg/deep.py"],
            ),
            (
                "scripts/a.js",
                "require('./util')\n",
                &["package.json", "scripts/util.js"],
            ),
            (
                "check.sh",
                "cat README.md; . lib/common.sh\n",
                &["lib/common.sh"],
            ),
        ] {
            let script = root.join(script);
            let dirs = [script.parent().unwrap().to_path_buf()];
            let found = named_beside(&script, text, &dirs, root);
            let found: Vec<_> = found
                .iter()
                .map(|it| it.strip_prefix(root).unwrap().to_str().unwrap())
                .collect();
            assert_eq!(found, expected, "{text}");
        }
    }
}
