//! What the host is asked, and what its answers do.

use super::support::{Host, Jail, User, await_that, end, has, run};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::Stdio;
use std::time::Instant;

#[test]
fn the_host_is_told_what_starts() {
    let Some(jail) = Jail::new() else { return };
    let host = jail.host(&["argecho push"]);
    let text = "mkdir d; cd d; ../argecho 'a b' \"$(printf '\\377')\"; true";
    let ran = jail.sh(User::Own, &["--for", "e1", "--session", "s1"], text);
    assert_eq!((ran.code, ran.output.as_str()), (0, "ok\n"));
    let asked = host.asked();
    assert_eq!(asked.len(), 1, "{asked:?}");
    let (event, exec) = (&asked[0], &asked[0]["exec"]);
    assert_eq!(
        (&event["event"], &event["session"]),
        (&"PreExec".into(), &"s1".into())
    );
    let directory = fs::canonicalize(jail.path("d")).unwrap();
    assert_eq!(event["cwd"], directory.to_str().unwrap());
    assert_eq!(
        exec["argv"],
        serde_json::json!(["../argecho", "a b", "\u{fffd}"])
    );
    assert_eq!(
        (&exec["path"], &exec["toolCall"]),
        (&"../argecho".into(), &"e1".into())
    );
    assert_eq!(
        exec["realPath"],
        directory.with_file_name("argecho").to_str().unwrap()
    );
    let parents = exec["parents"].as_array().unwrap();
    assert_eq!(parents.len(), 1, "{parents:?}");
    assert_eq!(parents[0]["argv"], serde_json::json!(["sh", "-c", text]));
}

/// A link is asked about as the program that it is.
#[test]
fn another_name_is_asked_about_as_the_program() {
    let Some(jail) = Jail::new() else { return };
    let host = jail.host(&["argecho push"]);
    assert_eq!(jail.sh(User::Own, &[], "ln argecho x; ./x okay").code, 0);
    let exec = &host.asked()[0]["exec"];
    let real = jail.path("argecho");
    assert_eq!(
        (&exec["argv"][0], &exec["path"]),
        (&real.to_str().unwrap().into(), &"./x".into())
    );
}

#[test]
fn only_named_programs_are_asked_about() {
    let Some(jail) = Jail::new() else { return };
    let host = jail.host(&["argecho push"]);
    assert_eq!(
        jail.sh(
            User::Own,
            &[],
            "ls > /dev/null; ./argslow okay; ./argecho okay"
        )
        .code,
        0
    );
    assert_eq!(host.asked().len(), 1);
    let host = Host::start(&jail.path("socket"), &["argecho push"]).asks_about_every_program();
    assert_eq!(
        jail.sh(
            User::Own,
            &[],
            "ls > /dev/null; ./argslow okay; ./argecho okay"
        )
        .code,
        0
    );
    assert_eq!(host.asked().len(), 3);
}

#[test]
fn a_reason_is_said_once_on_the_programs_own_stderr() {
    let Some(jail) = Jail::new() else { return };
    let _host = jail.host(&["argecho push"]);
    // A shell that is refused one tries the next along the PATH.
    let ran = jail.sh(
        User::Own,
        &[],
        "mkdir second; cp argecho second; PATH=.:second:$PATH; argecho push 2> said; echo $?",
    );
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("126\n", ""));
    let said = fs::read_to_string(jail.path("said")).unwrap();
    assert_eq!(
        said.matches("hookwire: argecho push: no argecho push\n")
            .count(),
        1,
        "{said}"
    );
}

#[test]
fn other_rules_hold_once_the_supervisor_has_them() {
    let Some(jail) = Jail::new() else { return };
    let host = jail.host(&["argecho push"]);
    let mut command = jail.held(
        User::Own,
        &[],
        &[
            "sh",
            "-c",
            "while read x; do ./argecho push; ./argslow push; done",
        ],
    );
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    host.await_watcher();
    host.change(&["argslow push"]);
    child.stdin.take().unwrap().write_all(b"go\n").unwrap();
    let mut output = String::new();
    child
        .stdout
        .take()
        .unwrap()
        .read_to_string(&mut output)
        .unwrap();
    end(&mut child, &command);
    assert_eq!(output, "EVADED\n");
}

/// Without a host, named programs are refused and others run; the host is started again.
#[test]
fn a_host_that_is_gone_is_started_again() {
    let Some(jail) = Jail::new() else { return };
    let host = jail.host(&["argecho push"]);
    let (other, starter) = (
        jail.path("other"),
        "echo >> started; while ! [ -S other ]; do sleep 0.01; done; realpath other",
    );
    let options = ["--host", "sh", "--host", "-c", "--host", starter];
    let text = "while read x; do ./argslow okay; ./argecho okay; echo .; done";
    let mut command = jail.held(User::Own, &options, &["sh", "-c", text]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut stdin = child.stdin.take().unwrap();
    let mut round = || {
        stdin.write_all(b"go\n").unwrap();
        lines
            .by_ref()
            .map(Result::unwrap)
            .take_while(|it| it != ".")
            .collect::<Vec<_>>()
    };
    host.await_watcher();
    assert_eq!(round(), ["ok", "ok"]);
    host.end();
    assert_eq!(round(), ["ok"]);
    await_that("a host is started", || jail.path("started").exists());
    let host = Host::start(&other, &["argecho push"]);
    host.await_watcher();
    assert_eq!(round(), ["ok", "ok"]);
    drop(stdin);
    end(&mut child, &command);
    let mut said = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut said)
        .unwrap();
    assert!(said.contains("hookwire's host is gone"), "{said}");
}

/// A question to a person may take minutes.
#[test]
fn an_answer_that_takes_long_holds_up_nobody_else() {
    let Some(jail) = Jail::new() else { return };
    let host = jail.host(&["argecho push"]);
    fs::hard_link(jail.path("argslow"), jail.path("asks")).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(20));
    let release = host.is_slow_about("asks");
    let mut command = jail.held(
        User::Own,
        &[],
        &[
            "sh",
            "-c",
            "./asks & ./argecho okay; ./argslow okay; echo done; wait",
        ],
    );
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap())
        .lines()
        .map(Result::unwrap);
    let before: Vec<String> = lines.by_ref().take(3).collect();
    release.send(()).unwrap();
    assert_eq!(
        (before.join(" "), lines.next()),
        ("ok ok done".into(), Some("ok".into()))
    );
    assert_eq!(end(&mut child, &command), 0);
}

#[test]
fn debuggers_need_to_be_allowed() {
    let Some(jail) = Jail::new() else { return };
    if !has("strace") {
        return;
    }
    let _host = jail.host(&["argecho push"]);
    let strace = "strace -f -o trace sh -c './argslow okay; true'";
    let ran = jail.sh(User::Own, &[], strace);
    assert!(
        ran.stderr.contains("a debugger traces the process") && !ran.stdout.contains("ok"),
        "{ran:?}"
    );
    let ran = jail.sh(User::Own, &["--allow-debuggers"], strace);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "ok\n"), "{ran:?}");
    // Judged before it starts all the same.
    let ran = jail.sh(
        User::Own,
        &["--allow-debuggers"],
        "strace -o trace ./argecho push",
    );
    assert!(ran.stderr.contains("no argecho push"), "{ran:?}");
}

#[test]
fn a_run_within_a_run_is_held_already() {
    let Some(jail) = Jail::new() else { return };
    let _host = jail.host(&["argecho push"]);
    let ran = jail.sh(
        User::Own,
        &[],
        "./hookwire-run --socket socket -- sh -c './argecho push; exit 7'",
    );
    assert_eq!(ran.code, 7, "{ran:?}");
    assert!(
        ran.stderr.contains("held already") && ran.stderr.contains("no argecho push"),
        "{ran:?}"
    );
}

#[test]
fn without_a_host_nothing_runs() {
    let Some(jail) = Jail::new() else { return };
    let begun = Instant::now();
    let ran = jail.sh(User::Own, &[], "echo ran");
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{ran:?}");
    assert!(ran.stderr.contains("nobody can be asked there"), "{ran:?}");
    let ran = run(jail.bare(User::Own, &["./hookwire-run", "--", "true"]));
    assert!(
        ran.code == 2 && ran.stderr.contains("hookwire isn't there"),
        "{ran:?}"
    );
    assert!(begun.elapsed().as_secs() < 5);
}

#[test]
fn where_nothing_can_be_held_nothing_runs_unless_that_is_wanted() {
    let Some(jail) = Jail::new() else { return };
    let _host = jail.host(&["argecho push"]);
    let words = |option| {
        [
            "./nolistener",
            "./hookwire-run",
            "--socket",
            "socket",
            option,
            "--",
            "sh",
            "-c",
            "echo ran; exit 4",
        ]
    };
    let ran = run(jail.bare(User::Own, &words("--end-tree")));
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{ran:?}");
    assert!(
        ran.stderr.contains(
            "not run, because nothing can be held: the kernel has no seccomp listener here"
        ),
        "{ran:?}"
    );
    let ran = run(jail.bare(User::Own, &words("--best-effort")));
    assert_eq!((ran.code, ran.stdout.as_str()), (4, "ran\n"), "{ran:?}");
    assert!(
        ran.stderr
            .contains("nothing is held: the kernel has no seccomp listener here"),
        "{ran:?}"
    );
    let ran = run(jail.bare(User::Own, &["./nolistener", "./hookwire-run", "--probe"]));
    assert!(
        ran.code == 1 && ran.stdout.contains(r#""listener":{"holds":false"#),
        "{ran:?}"
    );
}
