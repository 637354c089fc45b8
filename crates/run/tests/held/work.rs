//! Ordinary work goes on.

use super::support::{Jail, User, has, users};
use std::fs;

#[test]
fn ordinary_work_goes_on() {
    let Some(jail) = Jail::new() else { return };
    let _host = jail.host(&["argecho push", "git push", "rm -rf"]);
    fs::write(
        jail.path("Makefile"),
        "all: a b\na b:\n\t@./argecho okay\n\t@-./argecho push\n",
    )
    .unwrap();
    fs::write(jail.path("script"), "#!/bin/sh\n./argecho okay\n").unwrap();
    for (needs, text, output) in [
        ("sh", "echo a | cat | tr a b", "b\n"),
        (
            "sh",
            "(sleep 0.05; echo late) & echo early; wait",
            "early\nlate\n",
        ),
        (
            "sh",
            "sh script; ./argecho okay; ulimit -t 10; ./argecho okay",
            "ok\nok\nok\n",
        ),
        (
            "sh",
            "for n in 1 2 3; do ./no-such 2> /dev/null; done; echo $?",
            "127\n",
        ),
        ("make", "make -s -j2 2> /dev/null", "ok\nok\n"),
        (
            "perl",
            "perl -e 'system(\"./argecho okay\"); print system(\"./argecho push\")' 2> /dev/null",
            "ok\n-1",
        ),
        (
            "python3",
            "python3 -c 'import subprocess as s; print(s.run([\"./argecho\", \"okay\"]).returncode)'",
            "ok\n0\n",
        ),
        (
            "node",
            "node -e 'console.log(require(\"child_process\").execSync(\"./argecho okay\") + \"\")'",
            "ok\n\n",
        ),
        ("setpriv", "setpriv --no-new-privs ./argecho okay", "ok\n"),
        ("unshare", "unshare -Ur ./argecho okay", "ok\n"),
        (
            "bwrap",
            "bwrap --dev-bind / / --unshare-all ./argecho okay",
            "ok\n",
        ),
        (
            "bwrap",
            "bwrap --dev-bind / / --unshare-all --bind . /mnt sh -c '/mnt/argecho push; echo $?'",
            "126\n",
        ),
        ("gdb", "gdb --version | grep -c ^GNU", "1\n"),
    ] {
        if !has(needs) {
            continue;
        }
        for user in users() {
            // A program of root's own home isn't everybody's.
            if *user == User::Nobody
                && matches!(needs, "python3" | "node")
                && jail.sh(*user, &[], &format!("{needs} --version")).code != 0
            {
                continue;
            }
            let ran = jail.sh(*user, &[], text);
            assert_eq!(ran.stdout, output, "{text} as {user:?}: {ran:?}");
        }
    }
}
