//! Each attack is stopped, as root and as a user without rights.

use super::support::{DATA, Jail, User, run, times, users};

/// An attack, and what shows that it was tried and stopped.
const ATTACKS: &[(&str, &str)] = &[
    ("./race $TIMES fork", "race fork: evaded=0"),
    ("./race $TIMES posix", "race posix: evaded=0"),
    ("./int80 ./argecho", "int80 execve refused: -13"),
    ("./dump", "dump: refused: Permission denied"),
    ("./traced", "traced: refused: Permission denied"),
    ("./longarg 100", "longarg: refused: Permission denied"),
    ("./memfd", "memfd: refused: Permission denied"),
    ("./untraced", "untraced: refused: Permission denied"),
    (
        "./nested",
        "second listener refused: Device or resource busy",
    ),
    ("./ufd x", "ufd: refused: Bad address"),
    ("./mapped argecho", "no argecho push"),
    (
        "./limits $PPID; cp argecho y; bash -c 'exec -a ls ./y push'; rm -f y",
        "limits: refused: Operation not permitted",
    ),
    (
        "cp argecho y; chmod 111 y; ./y push; rm -f y",
        "no argecho push",
    ),
    (
        "ln -s \"$(command -v git)\" git-push; ./git-push --force; rm git-push",
        "no git push",
    ),
    ("bash -c 'exec -a git-push git --force'", "no git push"),
    (
        "./typed",
        "typed: refused: Operation not permitted, Operation not permitted",
    ),
    (
        "mkdir -p secret other; ./moves $TIMES other secret",
        "moves: tried",
    ),
    ("kill -9 $PPID; ./argecho push", "no argecho push"),
    ("kill -STOP $PPID; ./argecho push", "no argecho push"),
];

/// Without the supervisor these get through, so that the table above says something.
const GET_THROUGH: &[&str] = &[
    "./dump",
    "./int80 ./argecho",
    "./traced",
    "./memfd",
    "./untraced",
];

const RULES: &[&str] = &[
    "argecho push",
    "argslow push",
    "git push",
    "scripted push",
    "moves in @secret",
];

#[test]
fn every_attack_is_stopped() {
    let Some(jail) = Jail::new() else { return };
    let _host = jail.host(RULES);
    let mut wrong = Vec::new();
    for user in users() {
        for (attack, sign) in ATTACKS {
            let ran = jail.sh(
                *user,
                &["--end-tree"],
                &attack.replace("$TIMES", &times(20).to_string()),
            );
            let is_stopped = !ran.output.contains("EVADED") && ran.output.contains(sign);
            eprintln!(
                "{attack:45} {user:?} {}",
                if is_stopped { "stopped" } else { "NOT STOPPED" }
            );
            if !is_stopped {
                let lines: Vec<&str> = ran.output.lines().rev().take(5).collect();
                wrong.push(format!("{attack} as {user:?}: {} {lines:?}", ran.code));
            }
        }
        // No exec rule holds it, and whether it comes in time is chance: only the table has it.
        let poke = jail.sh(*user, &[], "./poke");
        let came_through = poke.output.contains("EVADED");
        eprintln!(
            "{:45} {user:?} {}",
            "./poke",
            if came_through { "through" } else { "too late" }
        );
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn unheld_attacks_get_through() {
    let Some(jail) = Jail::new() else { return };
    for attack in GET_THROUGH {
        let ran = run(jail.bare(User::Own, &["sh", "-c", attack]));
        // 32-bit calls and memory files may be switched off here.
        assert!(
            ran.output.contains("EVADED") || ran.output.contains("refused"),
            "{attack}: {ran:?}"
        );
    }
}

/// The tracer of a second start of the same process would sleep until the first is over, and the
/// first waits for it.
#[test]
fn threads_that_start_something_at_once_hang_nothing() {
    let Some(jail) = Jail::new() else { return };
    let _host = jail.host(RULES);
    for user in users() {
        let ran = run(jail.held(*user, &[], &["./mtexec", &times(20).to_string(), "push"]));
        let last = ran.stderr.lines().last().unwrap_or_default();
        let ok = format!(
            "mtexec: evaded=0 ok={} killed=0 stuck-or-refused=0",
            times(20)
        );
        assert_eq!(last, ok, "{user:?}");
    }
}

/// A process that hangs in its own start, because nobody pages its arguments in, holds up nobody
/// else.
#[test]
fn a_start_that_never_comes_holds_up_no_other() {
    let Some(jail) = Jail::new() else { return };
    let _host = jail.host(RULES);
    let ran = jail.sh(
        User::Own,
        &["--end-tree"],
        "./ufd & for n in 1 2 3 4 5 6 7 8; do ./argecho okay; done",
    );
    assert_eq!(
        (ran.code, ran.stdout.matches("ok").count()),
        (0, 8),
        "{ran:?}"
    );
}

/// So many that no thread is left for others: they are refused and don't wait.
#[test]
fn starts_that_never_come_hold_up_no_other() {
    let Some(jail) = Jail::new() else { return };
    let _host = jail.host(RULES);
    let ran = jail.sh(
        User::Own,
        &["--end-tree"],
        "./ufd many; ./argecho okay; echo end",
    );
    assert_eq!(
        (ran.code, ran.stdout.trim_start_matches("ok\n")),
        (0, "end\n"),
        "{ran:?}"
    );
}

/// Every name and form under which the program can be started.
#[test]
fn a_program_is_known_by_what_its_file_is() {
    let Some(jail) = Jail::new() else { return };
    std::fs::write(jail.path("scripted"), "#!/bin/sh\necho EVADED\n").unwrap();
    std::fs::set_permissions(
        jail.path("scripted"),
        std::os::unix::fs::PermissionsExt::from_mode(0o755),
    )
    .unwrap();
    let _host = jail.host(RULES);
    for (prepare, start) in [
        ("ln argecho x", "./x push"),
        ("ln -s argecho x", "./x push"),
        ("cp argecho x", "./x push"),
        ("cp argecho ../x-$$ && mv ../x-$$ x", "./x push"),
        ("true", "bash -c 'exec -a ls ./argecho push'"),
        ("true", "cd / && PATH=$OLDPWD && argecho push"),
        ("mv argecho x", "./x push; mv x argecho"),
        (
            "cp argecho x && cp argecho kept && rm argecho",
            "./x push; mv kept argecho",
        ),
        (
            "cp argecho x && cp argecho kept && cp argslow argecho",
            "./x push; mv kept argecho",
        ),
        ("true", "/lib64/ld-linux-x86-64.so.2 ./argecho push"),
        (
            "true",
            "/lib64/ld-linux-x86-64.so.2 --argv0 ls ./argecho push",
        ),
        ("cp /lib64/ld-linux-x86-64.so.2 x", "./x ./argecho push"),
        ("printf '#!./argecho push\\n' > x && chmod +x x", "./x"),
        (
            "printf '#!/bin/sh\\nexec ./argecho push\\n' > x && chmod +x x",
            "./x",
        ),
        ("true", "unshare -Ur ./argecho push"),
        // A script, by paths that only the process itself can follow.
        ("cp scripted x", "./x push"),
        ("cp scripted x", "/proc/self/cwd/x push"),
        ("cp scripted x", "/proc/thread-self/root$PWD/x push"),
        ("cp scripted x", "exec 7< x; /proc/self/fd/7 push"),
        ("cp scripted x", "exec 7< x; /dev/../dev/fd/7 push"),
        ("cp scripted x", "exec 7< x; cd /proc/self; ./fd/7 push"),
        ("cp scripted x", "sh -c 'exec 7< x; /proc/$$/fd/7 push'"),
        ("cp scripted y; ln -sf /proc/self/cwd/y x", "./x push"),
        (
            "cp scripted x",
            "unshare -Urpf --mount-proc /proc/self/cwd/x push",
        ),
    ] {
        let text = format!("rm -f x; {prepare} || exit 9; ({start}); echo code $?");
        let ran = jail.sh(User::Own, &[], &text);
        let is_refused =
            ran.stderr.contains("no argecho push") || ran.stderr.contains("no scripted push");
        assert!(
            is_refused && !ran.stdout.contains("EVADED"),
            "{prepare}; {start}: {ran:?}"
        );
    }
    for (prepare, start) in [
        // Another program of the same size.
        (
            "cp argecho x && printf X | dd of=x bs=1 seek=9 conv=notrunc status=none",
            "./x push",
        ),
        ("true", "./argecho okay"),
        // What can't be read has another size.
        ("cp failed x && chmod 111 x", "./x"),
        (
            "ln -s \"$(command -v git)\" git-version",
            "./git-version; rm git-version",
        ),
    ] {
        let ran = jail.sh(
            User::Own,
            &[],
            &format!("rm -f x; {prepare} || exit 9; {start}"),
        );
        assert!(
            !ran.stderr.contains("hookwire: "),
            "{prepare}; {start}: {ran:?}"
        );
    }
}

/// A program of many names goes by the one that it was installed under.
#[test]
fn a_name_of_a_shared_file_speaks_for_itself() {
    let Some(jail) = Jail::new() else { return };
    std::os::unix::fs::symlink("argecho", jail.path("one")).unwrap();
    std::os::unix::fs::symlink("argecho", jail.path("two")).unwrap();
    let _host = jail.host(&["one push"]);
    for (start, is_refused) in [
        ("one push", true),
        ("two push", false),
        ("ln -s argecho later; ./later push", true),
    ] {
        // The names must be older than the command, by the clock of the file system.
        std::thread::sleep(std::time::Duration::from_millis(20));
        let ran = jail.sh(User::Own, &[], start);
        assert_eq!(
            ran.stderr.contains("no one push"),
            is_refused,
            "{start}: {ran:?}"
        );
    }
}

/// A name along the PATH is a program's own if all that leads from it to the file was there before,
/// and no tree has put it there.
#[test]
fn a_name_that_the_tree_has_put_there_is_none() {
    let Some(jail) = Jail::new() else { return };
    let _host = jail.host(RULES);
    let link = |to: &str, name: &str| std::os::unix::fs::symlink(to, jail.path(name)).unwrap();
    for directory in ["share/v1", "put/bin", "put/old"] {
        std::fs::create_dir_all(jail.path(directory)).unwrap();
    }
    link("../../failed", "share/v1/tool");
    link("v1", "share/current");
    link("../../share/current/tool", "put/bin/tool");
    link("../../argecho", "put/bin/other");
    link("../../argecho", "put/old/moved");
    for directory in ["share", "share/v1", "put", "put/bin", "put/old"] {
        std::fs::set_permissions(
            jail.path(directory),
            std::os::unix::fs::PermissionsExt::from_mode(0o777),
        )
        .unwrap();
    }
    for user in users() {
        for (start, is_refused) in [
            ("other push", false),
            (
                "mkdir share/v2; ln -s ../../argecho share/v2/tool; ln -sfn v2 share/current; tool push",
                true,
            ),
            ("tool push; rm -r share/v2; ln -sfn v1 share/current", true),
            (
                "cd put/bin; ln -s ../../argecho put; cp ../../argecho copied",
                false,
            ),
            ("put push; rm put/bin/put", true),
            ("copied push; rm -f put/bin/copied", true),
            ("other push", false),
            ("cd put; mv bin was; mv old bin; moved push", true),
            ("moved push; cd put; mv bin old; mv was bin", true),
        ] {
            // Names must be older than the command, by the clock of the file system.
            std::thread::sleep(std::time::Duration::from_millis(20));
            let ran = jail.sh(*user, &[], start);
            assert_eq!(
                ran.stderr.contains("no argecho push"),
                is_refused,
                "{start} {user:?}: {ran:?}"
            );
        }
        // Other users can't read what is kept, and a supervisor keeps its last times after its
        // command has ended.
        jail.await_supervisors();
        for kept in std::fs::read_dir(jail.path(DATA)).unwrap() {
            std::fs::remove_file(kept.unwrap().path()).unwrap();
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

/// A supervisor that can open no file any more refuses what it can't look at, and knows the file
/// again afterwards.
#[test]
fn a_supervisor_without_files_lets_nothing_through() {
    let Some(jail) = Jail::new() else { return };
    let _host = jail.host(RULES);
    for user in users() {
        let starts =
            "n=0; while [ $n -lt 60 ]; do ./y push & n=$((n+1)); done; wait; ./y push; rm -f y";
        let text = format!(
            "ulimit -n 24; exec ./hookwire-run --socket socket --end-tree -- sh -c 'cp argecho y; {starts}; echo end'"
        );
        let ran = run(jail.bare(*user, &["sh", "-c", &text]));
        assert!(!ran.output.contains("EVADED"), "{user:?}: {ran:?}");
        assert!(
            ran.stdout.contains("end") && ran.stderr.contains("no argecho push"),
            "{user:?}: {ran:?}"
        );
    }
}

/// Whoever listens in the host's place is not obeyed, whether the process that listens is there or
/// has ended.
#[test]
fn nobody_else_is_obeyed_in_the_hosts_place() {
    let Some(jail) = Jail::new() else { return };
    for user in users() {
        for take in [
            "./fakehost socket",
            "./fakehost socket stays & while ! [ -S socket-aside ]; do :; done",
        ] {
            let _host = jail.host(RULES);
            let starts = "n=0; while [ $n -lt 20 ]; do ./argecho push & p=\"$p $!\"; n=$((n+1)); done; wait $p; ./argecho push";
            let ran = jail.sh(
                *user,
                &["--end-tree"],
                &format!("{take}; {starts}; ./failed"),
            );
            assert!(
                ran.stdout.contains("fakehost: listens"),
                "{take} {user:?}: {ran:?}"
            );
            assert!(!ran.output.contains("EVADED"), "{take} {user:?}: {ran:?}");
            assert_eq!(
                ran.stderr.matches("hookwire: ").count(),
                21,
                "{take} {user:?}: {ran:?}"
            );
        }
    }
}

/// Limits of the tree's own are its own matter.
#[test]
fn the_tree_sets_its_own_limits() {
    let Some(jail) = Jail::new() else { return };
    let _host = jail.host(RULES);
    for user in users() {
        let ran = jail.sh(
            *user,
            &[],
            "./limits 0; sleep 10 & ./limits $!; kill $!; ulimit -n 64; ulimit -n",
        );
        assert_eq!(
            ran.stdout, "limits: set\nlimits: set\n64\n",
            "{user:?}: {ran:?}"
        );
    }
}

#[test]
fn a_killed_supervisor_lets_nothing_through() {
    let Some(jail) = Jail::new() else { return };
    let _host = jail.host(RULES);
    for user in users() {
        let ran = run(jail.held(*user, &["--end-tree"], &["./midkill"]));
        let told = std::fs::read_to_string(jail.path("midkill.out")).unwrap();
        std::fs::remove_file(jail.path("midkill.out")).unwrap();
        assert_eq!(told, "evaded 0 of 200\n", "{user:?} {ran:?}");
    }
}
