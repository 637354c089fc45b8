//! How a run ends, and what is left of it.

use super::support::{Jail, User, await_that, end, run, times, users};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

#[test]
fn codes_and_signals_are_the_commands() {
    let Some(jail) = Jail::new() else { return };
    let _host = jail.host(&[]);
    for user in users() {
        for (text, code) in [
            ("exit 3", 3),
            ("kill -TERM $$", 143),
            ("kill -SEGV $$", 139),
            ("exec true", 0),
        ] {
            assert_eq!(jail.sh(*user, &[], text).code, code, "{text} {user:?}");
        }
    }
    for (words, code, says) in [
        (
            &["no-such-program"][..],
            127,
            "no-such-program: No such file",
        ),
        (&["/etc/passwd"], 126, "/etc/passwd: Permission denied"),
    ] {
        let ran = run(jail.held(User::Own, &[], words));
        assert!(ran.code == code && ran.stderr.contains(says), "{ran:?}");
    }
}

/// What a program that is held sees of itself is what it would see without.
#[test]
fn signals_and_descriptors_are_as_without() {
    let Some(jail) = Jail::new() else { return };
    let _host = jail.host(&[]);
    let text = "grep -E 'SigBlk|SigIgn|TracerPid|Groups' /proc/self/status; ls /proc/self/fd; id -u; ulimit -a";
    let (held, bare) = (
        jail.sh(User::Own, &[], text),
        run(jail.bare(User::Own, &["/bin/sh", "-c", text])),
    );
    assert_eq!(held.output, bare.output);
}

#[test]
fn a_signal_to_the_run_reaches_the_command() {
    let Some(jail) = Jail::new() else { return };
    let _host = jail.host(&[]);
    for signal in [
        Signal::SIGTERM,
        Signal::SIGINT,
        Signal::SIGHUP,
        Signal::SIGUSR1,
    ] {
        if is_ignored(signal) {
            crate::skipped::skip(format_args!(
                "whoever started it ignores {signal}, so no shell below can trap that"
            ));
            continue;
        }
        let name = &signal.as_str()[3..];
        let text = format!("trap 'exit 7' {name}; echo on; while :; do sleep 0.01; done");
        let mut command = jail.held(User::Own, &[], &["sh", "-c", &text]);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut String::new())
            .unwrap();
        kill(Pid::from_raw(child.id() as i32), signal).unwrap();
        assert_eq!(end(&mut child, &command), 7, "{name}");
    }
}

/// Whether this process was started with a signal ignored, as `nohup` and a background job of a
/// script are.
fn is_ignored(signal: Signal) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .unwrap();
    u64::from_str_radix(mask.trim(), 16).unwrap() >> (signal as i32 - 1) & 1 == 1
}

/// Editors and agents stop themselves at Ctrl-Z: the shell above must see it.
#[test]
fn a_command_that_stops_itself_stops_the_run() {
    let Some(jail) = Jail::new() else { return };
    let _host = jail.host(&[]);
    let mut command = jail.held(User::Own, &[], &["sh", "-c", "kill -STOP $$; exit 4"]);
    let mut child = command.spawn().unwrap();
    let pid = Pid::from_raw(child.id() as i32);
    assert!(matches!(
        waitpid(pid, Some(WaitPidFlag::WUNTRACED)),
        Ok(WaitStatus::Stopped(..))
    ));
    kill(pid, Signal::SIGCONT).unwrap();
    assert_eq!(end(&mut child, &command), 4);
}

/// Ctrl-C at a terminal, which sends the signal to the whole process group once.
#[test]
fn an_interrupt_from_the_terminal_comes_once() {
    let Some(jail) = Jail::new() else { return };
    let _host = jail.host(&[]);
    if !super::support::has("script") {
        return;
    }
    if is_ignored(Signal::SIGINT) {
        return crate::skipped::skip(
            "whoever started it ignores SIGINT, so no shell below can trap that",
        );
    }
    let held = "./hookwire-run --socket socket -- sh -c 'trap \"echo int\" INT; echo on; sleep 0.5; sleep 0.2; exit 130'";
    let text = format!(
        "(sleep 0.3; printf '\\003'; sleep 1) | script -qec \"{}\" /dev/null",
        held.replace('"', "\\\"")
    );
    let ran = run(jail.bare(User::Own, &["bash", "-c", &text]));
    assert_eq!(ran.output.matches("int").count(), 1, "{ran:?}");
}

#[test]
fn nothing_outlives_a_command_whose_tree_is_to_end() {
    let Some(jail) = Jail::new() else { return };
    let _host = jail.host(&[]);
    for user in users() {
        for n in 0..times(10) {
            let name = format!("hostile-{}-{n}", std::process::id());
            fs::hard_link(jail.path("forkers"), jail.path(&name)).unwrap();
            let ran = run(jail.held(*user, &["--end-tree"], &[&format!("./{name}")]));
            assert_eq!(
                (ran.code, survivors(&name)),
                (5, vec![]),
                "{user:?}, the {n}th"
            );
            fs::remove_file(jail.path(&name)).unwrap();
        }
    }
}

fn survivors(name: &str) -> Vec<i32> {
    let processes = fs::read_dir("/proc")
        .unwrap()
        .filter_map(|it| it.unwrap().file_name().to_str()?.parse().ok());
    processes
        .filter(|pid| {
            let arguments = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&arguments).starts_with(&format!("./{name}"))
        })
        .collect()
}

/// What goes on in the background stays held, and keeps nobody waiting.
#[test]
fn what_is_left_behind_stays_held() {
    let Some(jail) = Jail::new() else { return };
    let _host = jail.host(&["argecho push"]);
    for user in users() {
        let left = "while ! [ -e go ]; do sleep 0.01; done; ./argecho push; echo $? > done";
        let ran = jail.sh(
            *user,
            &[],
            &format!("setsid sh -c '{left}' < /dev/null > /dev/null 2>&1 & exit 6"),
        );
        // A run that waited for it would never end: it waits for what is written only now.
        assert_eq!(ran.code, 6, "{ran:?}");
        fs::write(jail.path("go"), "").unwrap();
        await_that("the background ends", || {
            fs::read_to_string(jail.path("done")).is_ok_and(|it| it == "126\n")
        });
        fs::remove_file(jail.path("go")).unwrap();
        fs::remove_file(jail.path("done")).unwrap();
    }
}

/// Who kills what the caller started means the command.
#[test]
fn a_killed_front_takes_the_command_along() {
    let Some(jail) = Jail::new() else { return };
    let _host = jail.host(&[]);
    let mut child = jail
        .held(User::Own, &[], &["sh", "-c", "echo $$; exec sleep 100"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut pid = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut pid)
        .unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    await_that("the command ends", || {
        !fs::exists(format!("/proc/{}", pid.trim())).unwrap()
    });
}

/// Without its supervisor nothing starts any more, and what runs goes on.
#[test]
fn a_supervisor_that_is_killed_is_missed() {
    let Some(jail) = Jail::new() else { return };
    let _host = jail.host(&[]);
    let mut command = jail.held(
        User::Own,
        &[],
        &[
            "sh",
            "-c",
            "echo on; read x; ./argecho okay; echo $?; exit 3",
        ],
    );
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap())
        .lines()
        .map(Result::unwrap);
    assert_eq!(lines.next().as_deref(), Some("on"));
    let front = child.id();
    let supervisor = fs::read_to_string(format!("/proc/{front}/task/{front}/children")).unwrap();
    kill(
        Pid::from_raw(supervisor.trim().parse().unwrap()),
        Signal::SIGKILL,
    )
    .unwrap();
    child.stdin.take().unwrap().write_all(b"go\n").unwrap();
    assert_eq!(
        (
            lines.collect::<String>().as_str(),
            end(&mut child, &command)
        ),
        ("126", 3)
    );
    let said = std::io::read_to_string(child.stderr.take().unwrap()).unwrap();
    assert!(
        said.contains("the supervisor was killed") && said.contains("Function not implemented"),
        "{said}"
    );
}

/// A start that fails for the kernel's reasons leaves nothing traced.
#[test]
fn a_failed_start_leaves_nothing_traced() {
    let Some(jail) = Jail::new() else { return };
    let _host = jail.host(&[]);
    for user in users() {
        assert_eq!(
            jail.sh(*user, &[], "./failed").output,
            "TracerPid:\t0\n",
            "{user:?}"
        );
    }
}
