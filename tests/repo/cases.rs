//! `hookwire test`: cases beside definitions, what they reach, and what answers instead of what is
//! outside.

use crate::support::*;
use serde_json::json;
use std::fs::{read_to_string, write};
use std::io::{BufRead, BufReader};
use std::process::Stdio;

#[test]
fn cases_tell_what_is_not_as_expected() {
    let guard = "hooks:\n  - { name: guard, on: PreToolUse, if: Bash(git push --force*), deny: Off. }\n  - { name: other, on: Stop, deny: x }\n";
    let dir = hooks(&[
        ("guard.yaml", guard),
        (
            "other.yaml",
            "hooks: [{ name: all, on: PreToolUse, if: Bash(ls), deny: Not here. }]",
        ),
        (
            "guard.test.yaml",
            "cases:\n  - { bash: git push -f, expect: deny }\n  - { bash: 'ls <a & \"b\"', expect: deny }\n  - { bash: ls, expect: allow }\n",
        ),
        // All definitions of the directory.
        (
            "all.test.yaml",
            "cases: [{ bash: ls, expect: deny, reason: Not here }]",
        ),
        ("bad/x.test.yaml", "cases: [{ bash: ls }]"),
        ("none/x.txt", ""),
        (
            "parted/cases/guard.test.yaml",
            "cases: [{ bash: ls, expect: allow }]",
        ),
    ]);
    for (args, code, says) in [
        (
            &["guard.test.yaml"][..],
            1,
            "guard.test.yaml: 2 of 3 as expected\n  guard.test.yaml:3: ls <a & \"b\": deny expected, found allow\n  no case reaches other\n",
        ),
        (
            &["guard.test.yaml", "--filter", "push"],
            0,
            "guard.test.yaml: 1 of 1 as expected",
        ),
        (
            &["all.test.yaml"],
            0,
            "all.test.yaml: 1 of 1 as expected\n  no case reaches guard, other\n",
        ),
        (&["."], 2, "x.test.yaml:1:9: `expect` is missing"),
        (&["none"], 2, "none: no cases"),
        (
            &["guard.yaml"],
            2,
            "guard.yaml: these are definitions; their cases are in `guard.test.yaml`",
        ),
        (
            &["parted"],
            2,
            "parted/cases/guard.test.yaml: no definitions judge its cases",
        ),
        (
            &["guard.test.yaml", "--filter", "nosuch"],
            2,
            "--filter nosuch: no case is called so",
        ),
        (
            &["missing"],
            2,
            "missing: no such file or directory; .hookwire has no cases either",
        ),
        (
            &["guard.test.yaml", "--format", "tap"],
            1,
            "1..3\nok 1 - guard.test.yaml:2: git push -f\nnot ok 2 - ",
        ),
        (
            &["guard.test.yaml", "--format", "junit"],
            1,
            r#"name="ls &lt;a &amp; &quot;b&quot;" file="guard.test.yaml" line="3" time="#,
        ),
        (
            &["guard.test.yaml", "--format", "github"],
            1,
            "::error file=guard.test.yaml,line=3,col=1,endColumn=1,title=hookwire unexpected-verdict::ls <a & \"b\": deny expected, found allow\n",
        ),
        (
            &["guard.test.yaml", "--format", "json"],
            1,
            r#""passed":true"#,
        ),
    ] {
        let output = hookwire()
            .current_dir(dir.path())
            .arg("test")
            .args(args)
            .output()
            .unwrap();
        let text =
            String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.code() == Some(code) && text.contains(says),
            "{args:?}: {text}"
        );
    }
    // What isn't there may be meant otherwise.
    std::fs::create_dir(dir.path().join(".hookwire")).unwrap();
    std::fs::copy(
        dir.path().join("all.test.yaml"),
        dir.path().join(".hookwire/guard.test.yaml"),
    )
    .unwrap();
    for (name, says) in [
        ("guad", "did you mean .hookwire/guard.test.yaml?"),
        ("mine", "there is .hookwire/guard.test.yaml"),
    ] {
        let output = hookwire()
            .current_dir(dir.path())
            .args(["test", name])
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(
            text.contains(&format!("{name}: no such file or directory; {says}")),
            "{text}"
        );
    }
}

/// What its event is, a case says before it says what is expected.
#[test]
fn an_unfinished_case_reaches_its_hook() {
    let dir = hooks(&[
        (
            ".hookwire/guard.yaml",
            "hooks: [{ name: a, on: PreToolUse, if: Bash(rm *), deny: Not here. }]",
        ),
        (".hookwire/guard.test.yaml", "cases: [{ bash: rm x }]"),
    ]);
    let output = hookwire()
        .current_dir(dir.path())
        .args(["check", "--isolated", "--live"])
        .output()
        .unwrap();
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "1 hook in force, 0 errors, 0 warnings\n"
    );
}

/// What another guard of the file can't tell changes nothing beside a certain deny, and doesn't
/// give the reason.
#[test]
fn two_guards_in_one_file() {
    let guards = "defaults: { fail: closed }\nhooks:\n  - { name: no-rm, on: PreToolUse, if: Bash(rm -rf *), deny: No removals. }\n  - { name: no-curl-sh, on: PreToolUse, if: 'Bash(curl * | sh)', deny: No downloads. }\n";
    let cases = "cases:\n  - { bash: curl x | sh, expect: deny, reason: No downloads., outcomes: { no-rm: doubt } }\n  - { bash: $X, expect: doubt }\n";
    let dir = hooks(&[("guards.yaml", guards), ("guards.test.yaml", cases)]);
    let output = hookwire()
        .current_dir(dir.path())
        .args(["test", "guards.test.yaml"])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(text, "guards.test.yaml: 2 of 2 as expected\n");
    let output = hookwire().args(["test", "--hoks", "."]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(
        text.contains("unexpected argument '--hoks'") && !text.contains("-- --hoks"),
        "{text}"
    );
}

/// It is told once, not for each case.
#[test]
fn no_case_counts_beside_a_broken_definition() {
    let dir = hooks(&[
        ("x.yaml", "hooks: [{ name: a, on: Stopp, deny: x }]"),
        (
            "x.test.yaml",
            "cases: [{ bash: ls, expect: allow }, { bash: rm x, expect: deny }]",
        ),
    ]);
    let output = hookwire()
        .current_dir(dir.path())
        .args(["test", "x.test.yaml"])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        text.starts_with("x.test.yaml: 0 of 2 as expected\n  broken, so that no case counts: "),
        "{text}"
    );
    assert_eq!(
        (output.status.code(), text.matches("unknown event").count()),
        (Some(1), 1),
        "{text}"
    );
    // What the file would do in force is another matter.
    assert!(!text.contains("every tool call is denied"), "{text}");
}

#[test]
fn a_failure_says_what_it_did() {
    for (fields, did) in [
        ("fail: closed", "`fail: closed` made it a deny"),
        ("fail: ask", "`fail: ask` made it an ask"),
        ("fail: open", "the hook fails open, so it stopped nothing"),
        (
            "fail: closed, observe: true",
            "the hook only observes, so it stopped nothing",
        ),
    ] {
        let guard = format!("hooks: [{{ name: a, on: PreToolUse, {fields}, command: exit 1 }}]");
        let dir = hooks(&[
            ("x.yaml", &guard),
            ("x.test.yaml", "cases: [{ bash: ls, expect: allow }]"),
        ]);
        let output = hookwire()
            .current_dir(dir.path())
            .args(["test", "x.test.yaml"])
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(
            text.contains(&format!("({did}; mend the hook")),
            "{fields}: {text}"
        );
    }
}

/// A mistake in a case is a finding at its own place, for `test` and for the check of its
/// definitions.
#[test]
fn mistakes_in_cases_have_their_places() {
    let cases = "cases:\n  - { bash: ls, expect: allow }\n  - { bash: x, expec: deny }\n  - { bsh: x, expect: deny }\n";
    let dir = hooks(&[
        (
            ".hookwire/a.yaml",
            "hooks: [{ name: a, on: PreToolUse, if: Bash(ls), deny: x }]",
        ),
        (".hookwire/a.test.yaml", cases),
    ]);
    let json = r#""line":3,"#;
    for (args, code, says) in [
        (
            &["test", "--format", "github"][..],
            2,
            [".test.yaml,line=3,col=16,", ".test.yaml,line=4,col=7,"],
        ),
        (
            &["test", "--format", "sarif"],
            2,
            [
                r#""startColumn":16,"startLine":3"#,
                r#""startColumn":7,"startLine":4"#,
            ],
        ),
        (&["test", "--format", "json"], 2, [json, r#""line":4,"#]),
        (
            &["check", "--isolated", "--live"],
            1,
            [".hookwire/a.test.yaml:3:16", ".hookwire/a.test.yaml:4:7"],
        ),
        (
            &["check", "--hooks", ".hookwire/a.yaml"],
            1,
            [".hookwire/a.test.yaml:3:16", "2 errors"],
        ),
    ] {
        let mut command = hookwire();
        let output = command
            .current_dir(dir.path())
            .env("HOME", dir.path())
            .args(args)
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        let is_said =
            says.iter().all(|it| text.contains(it)) && !text.contains("unexpected-verdict");
        assert!(
            output.status.code() == Some(code) && is_said,
            "{args:?}: {text}"
        );
    }
}

#[test]
fn coverage_names_what_no_case_reaches() {
    let guard = "
hooks:
  - name: guard
    on: PreToolUse
    if: [Bash(rm *), Bash(dd *)]
    unless: Bash(rm ./build)
    when: '!has(metadata.x)'
    deny: Off.
  - { name: code, on: PreToolUse, if: Bash(ls), fail: closed, command: exit 2 }
";
    // The second may run dd, which isn't to have tried it.
    let cases = "cases: [{ bash: rm a, expect: deny }, { bash: d$X a, expect: doubt }]";
    let dir = hooks(&[("guard.yaml", guard), ("guard.test.yaml", cases)]);
    let output = hookwire()
        .current_dir(dir.path())
        .args(["test", "--coverage", "."])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let expected = "  no case reaches code
  3 of 9 rules, sides and failures reached
  no case reaches guard if: Bash(dd *)
  no case reaches guard if: none holds
  no case reaches guard unless: Bash(rm ./build)
  no case reaches guard when: false
";
    assert!(text.ends_with(expected), "{text}");
}

/// An exception is read as at a dispatch: it takes away what it covers of what is hit.
#[test]
fn coverage_reads_exceptions_as_a_dispatch_does() {
    let guard = "
hooks:
  - name: guard
    on: PreToolUse
    if: Bash(rm *)
    unless: [Bash(rm ./build), Bash(rm -v *), Bash(ls)]
    deny: Off.
";
    // The first covers one command of two, the third the call. The second doesn't: that program is
    // in another directory.
    let cases = "cases: [{ bash: rm ./build; rm x, expect: deny }, { bash: ./rm -v x, expect: deny }, { bash: ls, expect: allow }]";
    let dir = hooks(&[("guard.yaml", guard), ("guard.test.yaml", cases)]);
    let output = hookwire()
        .current_dir(dir.path())
        .args(["test", "--coverage", "."])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let expected = "  4 of 5 rules, sides and failures reached
  no case reaches guard unless: Bash(rm -v *)
";
    assert!(text.ends_with(expected), "{text}");
}

/// With `--watch`, a change is tried at once.
#[test]
fn a_change_is_tried_again() {
    let dir = hooks(&[(
        "guard.yaml",
        "hooks: [{ name: guard, on: PreToolUse, if: Bash(rm *), deny: Off. }]",
    )]);
    let cases = dir.path().join("guard.test.yaml");
    write(&cases, "cases: [{ bash: rm a, expect: deny }]").unwrap();
    // What is written beside the cases about them is no change: the log of this run, or a report.
    let log = std::fs::File::create(dir.path().join("output")).unwrap();
    let mut command = hookwire();
    command
        .current_dir(dir.path())
        .args(["test", "--watch", "."])
        .stdout(Stdio::piped())
        .stderr(log);
    let mut watching = command.spawn().unwrap();
    let mut lines = BufReader::new(watching.stdout.take().unwrap()).lines();
    assert!(
        lines
            .next()
            .unwrap()
            .unwrap()
            .ends_with("1 of 1 as expected")
    );
    write(dir.path().join("report.xml"), "<testsuites/>").unwrap();
    write(
        &cases,
        "cases: [{ bash: rm a, expect: deny }, { bash: ls, expect: deny }]",
    )
    .unwrap();
    let second = lines.next().unwrap().unwrap();
    watching.kill().unwrap();
    watching.wait().unwrap();
    assert!(second.ends_with("1 of 2 as expected"), "{second}");
}

/// Nobody outside is asked in a test: fakes answer, and a question that none answers fails its
/// case.
#[test]
fn fakes_answer_instead_of_what_is_outside() {
    let hooks_text = "
hooks:
  - { name: judge, on: PreToolUse, if: Bash(psql *), fail: closed, prompt: { text: Does it drop data?, cache: 1h } }
  - { name: finder, on: PreToolUse, if: Bash(make *), fail: closed, agent: Is there a test for it? }
  - { name: service, on: PreToolUse, if: Bash(deploy *), fail: closed, http: { url: 'https://policy.invalid/v1' } }
  - { name: audit, on: PreToolUse, if: Bash(ls), async: true, http: { url: 'http://192.168.0.9/audit' } }
  - { name: push, on: PreToolUse, if: Bash(git push*), ask: Push? }
  - { name: publish, on: PreToolUse, if: Bash(npm publish*), guard: { approval: { message: Publish? } } }
  - { name: rate, on: PreToolUse, if: Bash(curl *), guard: { rate-limit: { max: 1, within: 60s } } }
  - { name: stamp, on: PreToolUse, if: Bash(stamp), rewrite: { patch: { note: 'at ${timestamp}' } } }
  - { name: late, on: PreToolUse, if: Bash(sleep *), guard: { time-limit: { max: 10m } } }
  - name: recent
    on: PreToolUse
    if: Bash(date)
    script: |
      if (state.get('told')) return { decision: 'deny', reason: 'again' };
      state.set('told', true, { ttl: 60 });
";
    let cases = [
        (
            "bash: psql -c x, fakes: { models: { judge: { decision: deny, reason: It drops data. } } }, expect: deny, reason: It drops",
            "",
        ),
        ("bash: psql -c x, expect: allow", ""),
        (
            "bash: stamp, expect: { subject: { command: stamp, note: 'at 2026-01-01T00:00:00.000Z' } }",
            "",
        ),
        (
            "bash: stamp, wait: 61s, expect: { subject: { command: stamp, note: 'at 2026-01-01T00:01:01.000Z' } }",
            "",
        ),
        (
            "bash: psql -c x, fakes: { models: { judge: Sure! } }, expect: deny, failure: not one JSON object",
            "",
        ),
        (
            "bash: psql -c x, fakes: { models: { jugde: Sure! } }, expect: deny",
            "no hook is called so; did you mean `judge`?",
        ),
        (
            "bash: make x, fakes: { models: { finder: [{ calls: [{ name: list_dir, input: { path: . } }] }, { decision: deny, reason: None. }] } }, expect: deny, reason: None",
            "",
        ),
        (
            "bash: make x, fakes: { models: { finder: [{ calls: [{ name: list_dir, input: { path: . } }] }] } }, expect: deny",
            "the model of `finder`: nothing is asked in a test, and no fake answers",
        ),
        (
            "bash: deploy x, fakes: { http: { 'https://policy.invalid/v1': { body: { decision: deny, reason: Frozen. } } } }, expect: deny, reason: Frozen",
            "",
        ),
        (
            "bash: deploy x, fakes: { http: { 'https://policy.invalid/v1': { status: 503 } } }, expect: deny, failure: status 503",
            "",
        ),
        (
            "bash: deploy x, fakes: { http: { 'https://policy.invalid/v2': {} } }, expect: deny",
            "https://policy.invalid/v1: nothing is asked in a test",
        ),
        (
            "bash: ls, expect: allow",
            "http://192.168.0.9/audit: nothing is asked in a test",
        ),
        ("bash: git push, expect: ask, reason: Push", ""),
        (
            "bash: git push, expect: ask, outcomes: { push: ask, publish: absent }",
            "",
        ),
        (
            "bash: git push, expect: ask, outcomes: { push: deny }",
            "of `push`, deny expected, found ask",
        ),
        (
            "bash: git push, expect: ask, outcomes: { psuh: deny }",
            "`outcomes` names `psuh`, but no hook is called so; did you mean `push`?",
        ),
        (
            "bash: git push, fakes: { person: approve }, expect: allow",
            "",
        ),
        (
            "bash: git push, fakes: { person: { decision: deny, reason: Not on Fridays } }, expect: deny, reason: Fridays",
            "",
        ),
        (
            "bash: npm publish, fakes: { person: approve }, expect: allow",
            "",
        ),
        (
            "bash: npm publish, fakes: { person: silent }, expect: deny, reason: nobody answered within 5m",
            "",
        ),
        (
            "bash: npm publish, expect: deny",
            "a person, asked by `publish`: nothing is asked in a test",
        ),
        ("bash: curl a, before: [{ bash: curl b }], expect: deny", ""),
        (
            "bash: date, wait: 59s, before: [{ bash: date }], expect: deny, reason: again",
            "",
        ),
        (
            "bash: date, wait: 61s, before: [{ bash: date }], expect: allow",
            "",
        ),
        (
            "bash: curl a, wait: 61s, before: [{ bash: curl b }], expect: allow",
            "",
        ),
        (
            "bash: sleep 1, wait: 9m, before: [{ bash: sleep 2 }], expect: allow",
            "",
        ),
        (
            "bash: sleep 1, wait: 9m, before: [{ bash: sleep 2 }, { bash: sleep 3, wait: 2m }], expect: deny",
            "",
        ),
    ];
    let lines: String = cases
        .iter()
        .map(|(case, _)| format!("  - {{ {case} }}\n"))
        .collect();
    let file = format!("fakes: {{ models: {{ judge: {{ decision: allow }} }} }}\ncases:\n{lines}");
    let dir = hooks(&[("guard.yaml", hooks_text), ("guard.test.yaml", &file)]);
    let output = hookwire()
        .current_dir(dir.path())
        .args(["test", ".", "--format", "json"])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let rows: Vec<serde_json::Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(
        rows.len(),
        cases.len(),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    for ((case, says), row) in cases.iter().zip(&rows) {
        let mismatch = row["mismatch"].as_str().unwrap_or_default();
        assert!(
            mismatch.contains(says) && mismatch.is_empty() == says.is_empty(),
            "{case}: {mismatch}"
        );
    }
}

/// With `--update`, what came out is what is expected from then on.
#[test]
fn cases_are_updated_and_nothing_else_in_the_file() {
    let guard = "hooks: [{ name: guard, on: PreToolUse, if: Bash(rm *), deny: Off. }]";
    let before = "# Removing\ncases:\n  - { bash: rm a } # one\n  - { bash: ls, expect: allow }\n  - bash: rm b # two\n    expect: ask\n";
    let after = "# Removing\ncases:\n  - { bash: rm a, expect: deny, reason: Off. } # one\n  - { bash: ls, expect: allow }\n  - bash: rm b # two\n    expect: deny\n    reason: Off.\n";
    let dir = hooks(&[("guard.yaml", guard), ("guard.test.yaml", before)]);
    for (args, code, says) in [
        (
            &["test", "."][..],
            2,
            "`hookwire test --update` writes what comes out",
        ),
        (
            &["test", ".", "--update"],
            0,
            "1 of 3 as expected, 2 updated",
        ),
        (&["test", "."], 0, "3 of 3 as expected"),
    ] {
        let output = hookwire()
            .current_dir(dir.path())
            .args(args)
            .output()
            .unwrap();
        let text =
            String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.code() == Some(code) && text.contains(says),
            "{args:?}: {text}"
        );
    }
    assert_eq!(
        read_to_string(dir.path().join("guard.test.yaml")).unwrap(),
        after
    );
}

/// `check` names hooks and files that no case is about, where there are cases.
#[test]
fn hooks_without_cases_are_named_where_others_have_some() {
    let guard = |name: &str| format!("# Rests.\nhooks: [{{ name: {name}, on: Stop, deny: x }}]");
    let (a, b) = (guard("a"), guard("b"));
    let stop = "cases: [{ event: { event: Stop }, expect: deny }]";
    let call = "cases: [{ bash: ls, expect: allow }]";
    let no_file = &["no case tries its hooks", "b.yaml:1:1"][..];
    for (extra, case, says) in [
        ("x.txt", stop, &[][..]),
        ("a.test.yaml", stop, no_file),
        ("all.test.yaml", stop, &[]),
        (
            "all.test.yaml",
            call,
            &[
                "no case reaches `a`",
                "a.yaml:2:1",
                "no case reaches `b`",
                "2 | hooks: [{ name: b",
            ],
        ),
    ] {
        let dir = hooks(&[("a.yaml", &a), ("b.yaml", &b), (extra, case)]);
        let output = hookwire()
            .args(["check", "--strict", "--isolated", "--hooks"])
            .arg(dir.path())
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{text}");
        assert!(says.iter().all(|it| text.contains(it)), "{extra}: {text}");
        assert_eq!(
            text.matches("no-cases").count(),
            says.len() / 2,
            "{extra}: {text}"
        );
    }
}

/// Hooks run in a copy of the project, and each file of cases finds it as it is.
#[test]
fn hooks_change_nothing_of_the_project() {
    let hook = r#"
        read -r x < ../src/a; echo "$x" >&2
        echo changed > ../src/a; echo changed > ../new; rm -rf ../gone; mkdir ../made; echo changed > ../made/x
        echo changed > ../inner/b; echo changed > ../outer/c; echo changed > ../../beside; echo changed > beside
        echo changed > "$HOOKWIRE_PROJECT_DIR/y"; echo changed > "$TMPDIR/left"; echo changed > ../../../up; pwd > where
        cd ..; echo changed > z; git -C . init 2> /dev/null > /dev/null
        exit 2"#;
    let guard =
        json!({"hooks": [{"name": "guard", "on": "PreToolUse", "command": {"run": hook, "cwd": "."}}]}).to_string();
    let cases = "cases: [{ bash: ls, expect: deny, reason: real }]";
    let dir = hooks(&[
        ("deep/project/.hookwire/guard.json", &guard),
        ("deep/project/.hookwire/guard.test.yaml", cases),
        ("deep/project/.hookwire/again.json", &guard),
        ("deep/project/.hookwire/again.test.yaml", cases),
        ("deep/project/src/a", "real\n"),
        ("deep/project/gone/d", "real\n"),
        ("deep/project/.git/HEAD", ""),
        ("elsewhere/c", "real\n"),
        ("tmp/x", ""),
    ]);
    let project = dir.path().join("deep/project");
    std::os::unix::fs::symlink("src", project.join("inner")).unwrap();
    std::os::unix::fs::symlink(dir.path().join("elsewhere"), project.join("outer")).unwrap();
    let large = std::fs::File::create(project.join("large")).unwrap();
    large.set_len(65 << 20).unwrap();
    let (before, runtime) = (files(dir.path()), tempfile::tempdir().unwrap());
    for (filter, code, says) in [("", 0, "as expected"), ("--filter=ls", 0, "as expected")] {
        let mut test = hookwire();
        test.arg("test")
            .args(Some(filter).filter(|it| !it.is_empty()))
            .current_dir(&project);
        // Where sockets are, other files stay.
        test.env("TMPDIR", dir.path().join("tmp"))
            .env("XDG_RUNTIME_DIR", runtime.path());
        let output = test.output().unwrap();
        let text =
            String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.code() == Some(code) && text.contains(says),
            "{text}"
        );
        assert_eq!(text.matches("1 of 1 as expected").count(), 2, "{text}");
        assert_eq!(files(dir.path()), before, "{text}");
    }
    // What isn't in the copy is told where that may be why something failed.
    write(
        project.join(".hookwire/again.test.yaml"),
        "cases: [{ bash: ls, expect: allow }]",
    )
    .unwrap();
    let output = hookwire()
        .arg("test")
        .current_dir(&project)
        .env("TMPDIR", dir.path().join("tmp"))
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(
        text.contains("not in the copy of the project that hooks run in, because too large: large"),
        "{text}"
    );
}

/// All that a directory holds, with what is in the files.
fn files(dir: &std::path::Path) -> std::collections::BTreeMap<std::path::PathBuf, String> {
    let mut found = std::collections::BTreeMap::new();
    for entry in std::fs::read_dir(dir).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if entry.file_type().unwrap().is_dir() {
            found.insert(path.clone(), "(a directory)".into());
            found.extend(files(&path));
        } else if entry.metadata().unwrap().len() < 1 << 20 {
            let text = std::fs::read_link(&path).map(|it| it.display().to_string());
            found.insert(
                path.clone(),
                text.unwrap_or_else(|_| read_to_string(&path).unwrap()),
            );
        }
    }
    found
}

/// git tells its hooks of the repository that somebody commits to. A setup makes its own, and
/// leaves that one alone.
#[test]
fn a_setup_below_a_hook_of_git_leaves_its_repository_alone() {
    if !is_there("git") {
        return;
    }
    let cases = "setup: git init --quiet . && test -d .git\ncases: [{ event: { event: Stop }, expect: deny }]\n";
    let dir = hooks(&[
        ("a.yaml", "hooks: [{ name: a, on: Stop, deny: no }]"),
        ("a.test.yaml", cases),
    ]);
    let foreign = dir.path().join("foreign");
    let tested = hookwire()
        .arg("test")
        .arg(dir.path().join("a.test.yaml"))
        .env("GIT_DIR", &foreign)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&tested.stdout) + String::from_utf8_lossy(&tested.stderr);
    assert!(tested.status.success() && !foreign.exists(), "{text}");
}
