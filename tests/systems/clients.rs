//! The clients against a real host, with nothing installed but the languages themselves.

use crate::support::*;
use serde_json::{Value, json};
use std::process::{Command, Output};

fn run(program: &str, arguments: &[&str]) -> Output {
    let dir = tempfile::tempdir().unwrap();
    in_our_world(Command::new(program))
        .args(arguments)
        .current_dir(repo("clients"))
        .env("HOOKWIRE", env!("CARGO_BIN_EXE_hookwire-host"))
        .env("XDG_CONFIG_HOME", dir.path())
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .unwrap()
}

fn passes(program: &str, arguments: &[&str]) {
    let Output {
        status,
        stdout,
        stderr,
    } = run(program, arguments);
    assert!(
        status.success(),
        "{}{}",
        String::from_utf8_lossy(&stdout),
        String::from_utf8_lossy(&stderr)
    );
}

#[test]
fn the_python_client() {
    if is_there("python3") {
        passes(
            "python3",
            &[
                "-W",
                "error::ResourceWarning",
                "python/tests/test_client.py",
            ],
        );
    }
}

/// `.ci/frameworks` runs it with any Node, after it has compiled it.
#[test]
fn the_typescript_client() {
    const AS_IT_IS: [&str; 2] = ["--experimental-strip-types", "--no-warnings"];
    if !is_there("node") {
        return;
    }
    if run("node", &[AS_IT_IS[0], AS_IT_IS[1], "--eval", "0"])
        .status
        .success()
    {
        passes(
            "node",
            &[
                AS_IT_IS[0],
                AS_IT_IS[1],
                "--test",
                "typescript/test/client.test.ts",
            ],
        );
    } else {
        tried_elsewhere("this Node runs no TypeScript; .ci/frameworks compiles it");
    }
}

/// A framework's own tool may be a shell: a rule about commands is in doubt until a file says so,
/// and the log says once what to write.
#[test]
fn a_tool_that_may_be_a_shell() {
    const GUARD: &str =
        "hooks: [{ name: guard, on: PreToolUse, if: Bash(git push -f), deny: Off. }]\n";
    let dir = hooks(&[("guard.yaml", GUARD)]);
    let log = tempfile::NamedTempFile::new().unwrap();
    let mut host = TestHost::start(
        serve(dir.path())
            .arg("--poll")
            .stderr(log.reopen().unwrap()),
    );
    host.request(
        "initialize",
        json!({"capabilities": {"hooks": {"decisions": ["allow", "deny", "ask"]}}}),
    );
    let call = |host: &mut TestHost, tool: &str, input: Value| {
        brief(&host.dispatch(
            json!({"event": "PreToolUse", "session": "s", "tool": {"name": tool, "input": input}}),
        ))
    };
    let push = || json!({"command": "cd x && git push --force"});
    let doubt = "ask by guard: hook `guard` can't tell whether `Bash(git push -f)` holds: `run_shell` isn't known and may be a \
                 shell; if it is one, a file should say `tools: { Bash: run_shell }`";
    for _ in 0..2 {
        assert_eq!(call(&mut host, "run_shell", push()), doubt);
    }
    for (tool, input) in [
        ("run_shell", json!({"command": "git push"})),
        ("search", json!({"query": "git push -f"})),
        ("calculator", json!({"expression": "1 + 1"})),
        ("sql", json!({"query": "select 1"})),
    ] {
        assert_eq!(call(&mut host, tool, input), "allow", "{tool}");
    }
    let told = std::fs::read_to_string(log.path()).unwrap();
    assert_eq!(
        told.matches("tools: { Bash: run_shell }").count(),
        1,
        "{told}"
    );
    replace(
        &dir.path().join("guard.yaml"),
        &format!("tools: {{ Bash: run_shell }}\n{GUARD}"),
    );
    host.request("hooks/reload", json!({}));
    assert_eq!(call(&mut host, "run_shell", push()), "deny by guard: Off.");
}

/// A release takes its version from `Cargo.toml`; npm's packages name it themselves.
#[test]
fn npm_has_the_version_of_the_program() {
    let text = std::fs::read_to_string(repo("clients/typescript/package.json")).unwrap();
    let package: serde_json::Value = serde_json::from_str(&text).unwrap();
    let programs = package["optionalDependencies"].as_object().unwrap();
    for version in programs.values().chain([&package["version"]]) {
        assert_eq!(version, env!("CARGO_PKG_VERSION"));
    }
}

/// `clients/types` writes them.
#[test]
fn the_types_are_those_of_the_schema() {
    if is_there("python3") {
        passes("python3", &["types", "--check"]);
    }
}
