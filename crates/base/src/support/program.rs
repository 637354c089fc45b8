//! The program that runs: which build of hookwire it is, and how it was started.

use super::amounts::rfc3339;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::LazyLock;

/// A program of hookwire's, as a running host tells of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Program {
    /// Its version.
    pub version: String,
    /// Where it was when it started.
    pub path: PathBuf,
    /// When that file was written: RFC 3339, in UTC, to the millisecond.
    pub modified: String,
    /// How long that file is, in bytes.
    pub bytes: u64,
    /// What it was started with, its own name left out.
    pub arguments: Vec<String>,
}

static OWN: LazyLock<Program> = LazyLock::new(|| {
    let arguments = std::env::args_os()
        .skip(1)
        .map(|it| it.to_string_lossy().into_owned())
        .collect();
    let (version, path) = (
        env!("CARGO_PKG_VERSION").to_string(),
        std::env::current_exe().unwrap_or_default(),
    );
    let about = std::fs::metadata(&path).ok();
    let modified = about
        .as_ref()
        .and_then(|it| it.modified().ok())
        .map(rfc3339)
        .unwrap_or_default();
    Program {
        version,
        path,
        modified,
        bytes: about.map_or(0, |it| it.len()),
        arguments,
    }
});

impl Program {
    /// The program of this process. The first call is the one that looks at its file, which an
    /// upgrade may replace later.
    pub fn own() -> &'static Program {
        &OWN
    }

    /// What it was started with, for people. Of a host that a hook has started, the path of its
    /// socket is left out.
    pub fn command_line(&self) -> String {
        let arguments = self.arguments.iter().take_while(|it| *it != "--inherit");
        arguments.map(String::as_str).collect::<Vec<_>>().join(" ")
    }

    /// Whether both are one build at one place.
    pub fn is_same_build(&self, other: &Program) -> bool {
        (&self.path, &self.modified, self.bytes) == (&other.path, &other.modified, other.bytes)
    }

    /// Whether this one is in the place of another, or of a later version.
    pub fn supersedes(&self, other: &Program) -> bool {
        if self.path == other.path || !other.path.exists() {
            return !self.is_same_build(other);
        }
        self.numbers() > other.numbers()
    }

    fn numbers(&self) -> Vec<u64> {
        self.version
            .split(|c: char| !c.is_ascii_digit())
            .filter_map(|it| it.parse().ok())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_supersedes_what_it_replaced_and_nothing_newer() {
        let of = |path: &str, version: &str, bytes| Program {
            path: path.into(),
            version: version.into(),
            bytes,
            ..Program::default()
        };
        for (own, other, expected) in [
            (of("/bin/sh", "0.2.0", 1), of("/bin/sh", "0.2.0", 1), false),
            (of("/bin/sh", "0.2.0", 1), of("/bin/sh", "0.2.0", 2), true),
            (of("/bin/sh", "0.2.0", 1), of("/bin/sh", "0.3.0", 2), true),
            (of("/bin/sh", "0.2.0", 1), of("/nowhere", "0.3.0", 1), true),
            (of("/bin/sh", "0.10.0", 1), of("/bin/cat", "0.9.1", 1), true),
            (of("/bin/sh", "0.9.1", 1), of("/bin/cat", "0.9.1", 2), false),
            (
                of("/bin/sh", "0.9.1", 1),
                of("/bin/cat", "0.10.0", 1),
                false,
            ),
        ] {
            assert_eq!(own.supersedes(&other), expected, "{own:?} {other:?}");
        }
    }
}
