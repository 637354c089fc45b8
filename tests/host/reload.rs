//! Every way in which definitions change on a real file system, seen in the verdict.

use crate::support::*;
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet, VecDeque};
use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// One hook that denies every tool call with this reason.
fn guard(reason: &str) -> String {
    format!("hooks: [{{ name: guard, on: PreToolUse, deny: {reason} }}]\n")
}

/// An empty directory `hooks` in a directory of the test's own.
fn scratch() -> (tempfile::TempDir, PathBuf) {
    let root = tempfile::tempdir().unwrap();
    let hooks = root.path().join("hooks");
    fs::create_dir(&hooks).unwrap();
    (root, hooks)
}

/// A host that tells of every change.
fn listening(command: &mut Command) -> (TestHost, Value) {
    let mut host = TestHost::start(command);
    let capabilities = json!({"hooks": {"notifications": ["hooks/changed"]}});
    let mut initialized = host.request("initialize", json!({ "capabilities": capabilities }));
    host.may_leave_unread = true;
    (host, initialized["hooks"].take())
}

/// The params of the next `hooks/changed`.
fn changed(host: &mut TestHost) -> Value {
    host.receive_where(|message| message["method"] == "hooks/changed")["params"].clone()
}

fn reason(verdict: &Value) -> String {
    verdict["reason"].as_str().unwrap_or_default().to_string()
}

fn errors(verdict: &Value) -> Vec<String> {
    let errors = verdict["errors"].as_array().cloned().unwrap_or_default();
    errors
        .iter()
        .map(|error| error.as_str().unwrap().to_string())
        .collect()
}

/// Waits until verdicts have this reason.
fn in_force(host: &mut TestHost, expected: &str) -> Value {
    eventually(&format!("`{expected}` is in force"), || {
        Some(host.bash("ls")).filter(|verdict| reason(verdict) == expected)
    })
}

/// The same for a change that is atomic in the file system: the guard is on all the while.
fn in_force_without_a_gap(host: &mut TestHost, before: &str, expected: &str) {
    eventually(&format!("`{expected}` is in force"), || {
        let verdict = host.bash("ls");
        assert!(
            [before, expected].contains(&&*reason(&verdict)),
            "{verdict}"
        );
        assert_eq!(errors(&verdict), [""; 0]);
        (reason(&verdict) == expected).then_some(())
    });
}

fn replace_link(link: &Path, target: impl AsRef<Path>) {
    let new = link.with_file_name(".new-link");
    symlink(target, &new).unwrap();
    fs::rename(&new, link).unwrap();
}

fn dir_with(path: &Path, text: &str) {
    fs::create_dir_all(path).unwrap();
    fs::write(path.join("guard.yaml"), text).unwrap();
}

/// Lays the files out with one text and gives what changes them to another.
type Edit = fn(&Path, &str) -> Box<dyn FnMut(&str)>;

fn check_edits(edits: &[(&str, Edit)], mut await_it: impl FnMut(&mut TestHost, &str, &str)) {
    for (name, edit) in edits {
        eprintln!("{name}");
        let (root, hooks) = scratch();
        let mut edit = edit(root.path(), &guard("v0"));
        let mut host = TestHost::serve(&hooks);
        assert_eq!(reason(&host.bash("ls")), "v0");
        // More than once: a watch that is lost in an edit shows at the next.
        for (before, after) in [("v0", "v1"), ("v1", "v2"), ("v2", "v3")] {
            edit(&guard(after));
            await_it(&mut host, before, after);
        }
    }
}

#[test]
fn atomic_edits_are_in_force_without_a_gap() {
    let edits: &[(&str, Edit)] = &[
        ("rename over", |root, text| {
            let file = root.join("hooks/guard.yaml");
            fs::write(&file, text).unwrap();
            Box::new(move |text| {
                let new = file.with_extension("tmp");
                fs::write(&new, text).unwrap();
                fs::rename(new, &file).unwrap();
            })
        }),
        ("rename over from another directory", |root, text| {
            let (file, new) = (root.join("hooks/guard.yaml"), root.join("new.yaml"));
            fs::write(&file, text).unwrap();
            Box::new(move |text| {
                fs::write(&new, text).unwrap();
                fs::rename(&new, &file).unwrap();
            })
        }),
        ("a hard link in place", |root, text| {
            let (file, new) = (root.join("hooks/guard.yaml"), root.join("hooks/.new"));
            fs::write(&file, text).unwrap();
            Box::new(move |text| {
                let linked = file.with_file_name(".linked");
                fs::write(&new, text).unwrap();
                fs::hard_link(&new, &linked).unwrap();
                fs::rename(&linked, &file).unwrap();
                fs::remove_file(&new).unwrap();
            })
        }),
        ("symlink swap of a file", |root, text| {
            let (link, root) = (root.join("hooks/guard.yaml"), root.to_path_buf());
            fs::write(root.join("0.conf"), text).unwrap();
            symlink("../0.conf", &link).unwrap();
            let mut version = 0;
            Box::new(move |text| {
                version += 1;
                fs::write(root.join(format!("{version}.conf")), text).unwrap();
                replace_link(&link, format!("../{version}.conf"));
            })
        }),
        ("the target of a symlink is renamed over", |root, text| {
            let target = root.join("elsewhere.conf");
            fs::write(&target, text).unwrap();
            symlink(&target, root.join("hooks/guard.yaml")).unwrap();
            Box::new(move |text| {
                let new = target.with_extension("new");
                fs::write(&new, text).unwrap();
                fs::rename(&new, &target).unwrap();
            })
        }),
        ("symlink swap of a directory inside", |root, text| {
            let (link, root) = (root.join("hooks/sub"), root.to_path_buf());
            dir_with(&root.join("0"), text);
            symlink("../0", &link).unwrap();
            let mut version = 0;
            Box::new(move |text| {
                version += 1;
                dir_with(&root.join(version.to_string()), text);
                replace_link(&link, format!("../{version}"));
            })
        }),
        ("symlink swap of the directory itself", |root, text| {
            let root = root.to_path_buf();
            fs::remove_dir(root.join("hooks")).unwrap();
            dir_with(&root.join("0"), text);
            symlink("0", root.join("hooks")).unwrap();
            let mut version = 0;
            Box::new(move |text| {
                version += 1;
                dir_with(&root.join(version.to_string()), text);
                replace_link(&root.join("hooks"), version.to_string());
            })
        }),
        (
            "swap of a symlink in the middle of a chain",
            |root, text| {
                let root = root.to_path_buf();
                fs::remove_dir(root.join("hooks")).unwrap();
                fs::create_dir(root.join("deep")).unwrap();
                dir_with(&root.join("0"), text);
                symlink("deep/current", root.join("hooks")).unwrap();
                symlink("../0", root.join("deep/current")).unwrap();
                let mut version = 0;
                Box::new(move |text| {
                    version += 1;
                    dir_with(&root.join(version.to_string()), text);
                    replace_link(&root.join("deep/current"), format!("../{version}"));
                })
            },
        ),
        ("a Kubernetes volume", |root, text| {
            let hooks = root.join("hooks");
            dir_with(&hooks.join("..v0"), text);
            symlink("..v0", hooks.join("..data")).unwrap();
            symlink("..data/guard.yaml", hooks.join("guard.yaml")).unwrap();
            let mut version = 0;
            Box::new(move |text| {
                version += 1;
                dir_with(&hooks.join(format!("..v{version}")), text);
                replace_link(&hooks.join("..data"), format!("..v{version}"));
                fs::remove_dir_all(hooks.join(format!("..v{}", version - 1))).unwrap();
            })
        }),
    ];
    check_edits(edits, in_force_without_a_gap);
}

#[test]
fn other_edits_are_in_force() {
    let edits: &[(&str, Edit)] = &[
        ("truncate and write", |root, text| {
            let file = root.join("hooks/guard.yaml");
            fs::write(&file, text).unwrap();
            Box::new(move |text| fs::write(&file, text).unwrap())
        }),
        ("write in place without truncating", |root, text| {
            let file = root.join("hooks/guard.yaml");
            fs::write(&file, text).unwrap();
            Box::new(move |text| {
                let mut open = fs::File::options().write(true).open(&file).unwrap();
                open.write_all(text.as_bytes()).unwrap();
            })
        }),
        ("vim with a backup", |root, text| {
            let file = root.join("hooks/guard.yaml");
            fs::write(&file, text).unwrap();
            Box::new(move |text| {
                let backup = file.with_file_name("guard.yaml~");
                fs::write(file.with_file_name("4913"), "").unwrap();
                fs::remove_file(file.with_file_name("4913")).unwrap();
                fs::rename(&file, &backup).unwrap();
                fs::write(&file, text).unwrap();
                fs::remove_file(&backup).unwrap();
            })
        }),
        ("remove and write", |root, text| {
            let file = root.join("hooks/guard.yaml");
            fs::write(&file, text).unwrap();
            Box::new(move |text| {
                fs::remove_file(&file).unwrap();
                fs::write(&file, text).unwrap();
            })
        }),
        ("the target of a symlink is written", |root, text| {
            let target = root.join("elsewhere.conf");
            fs::write(&target, text).unwrap();
            symlink(&target, root.join("hooks/guard.yaml")).unwrap();
            Box::new(move |text| fs::write(&target, text).unwrap())
        }),
        ("a symlink is removed and made anew", |root, text| {
            let (link, root) = (root.join("hooks/sub"), root.to_path_buf());
            dir_with(&root.join("0"), text);
            symlink("../0", &link).unwrap();
            let mut version = 0;
            Box::new(move |text| {
                version += 1;
                dir_with(&root.join(version.to_string()), text);
                fs::remove_file(&link).unwrap();
                symlink(format!("../{version}"), &link).unwrap();
            })
        }),
        ("a sub-folder is removed and made anew", |root, text| {
            let sub = root.join("hooks/a/b");
            dir_with(&sub, text);
            Box::new(move |text| {
                fs::remove_dir_all(sub.parent().unwrap()).unwrap();
                dir_with(&sub, text);
            })
        }),
        (
            "the directory itself is swapped by renames",
            |root, text| {
                let root = root.to_path_buf();
                dir_with(&root.join("hooks"), text);
                Box::new(move |text| {
                    dir_with(&root.join("new"), text);
                    fs::rename(root.join("hooks"), root.join("old")).unwrap();
                    fs::rename(root.join("new"), root.join("hooks")).unwrap();
                    fs::remove_dir_all(root.join("old")).unwrap();
                })
            },
        ),
        ("a file of another name and format", |root, text| {
            let hooks = root.join("hooks");
            fs::write(hooks.join("0.yaml"), text).unwrap();
            let mut version = 0;
            Box::new(move |text| {
                let reason = &text[text.find("deny: ").unwrap() + 6..text.find(" }").unwrap()];
                let toml =
                    format!("[[hooks]]\nname = 'guard'\non = 'PreToolUse'\ndeny = '{reason}'\n");
                fs::write(hooks.join(format!("{}.toml", version + 1)), toml).unwrap();
                fs::remove_file(hooks.join(format!(
                    "{version}.{}",
                    if version == 0 { "yaml" } else { "toml" }
                )))
                .unwrap();
                version += 1;
            })
        }),
    ];
    check_edits(edits, |host, _, after| drop(in_force(host, after)));
}

#[test]
fn sub_folders_come_deepen_and_go() {
    let (_root, dir) = scratch();
    let (mut host, in_force_at_start) = listening(&mut serve(&dir));
    assert_eq!(in_force_at_start["watching"], "events");
    assert_eq!(brief(&host.bash("ls")), "allow");

    dir_with(&dir.join("a/b/c"), &guard("deep"));
    in_force(&mut host, "deep");
    fs::write(dir.join("a/b/c/guard.yaml"), guard("deeper")).unwrap();
    in_force(&mut host, "deeper");
    fs::write(
        dir.join("a/first.yaml"),
        "hooks: [{ name: first, on: PreToolUse, deny: first }]",
    )
    .unwrap();
    in_force(&mut host, "deeper");
    fs::rename(dir.join("a"), dir.join("z")).unwrap();
    fs::remove_dir_all(dir.join("z/b")).unwrap();
    in_force(&mut host, "first");
    fs::remove_dir_all(dir.join("z")).unwrap();
    in_force(&mut host, "");
}

#[test]
fn a_deletion_is_told_by_name() {
    let (root, dir) = scratch();
    let two = "hooks:\n  - { name: one, on: PreToolUse, deny: one }\n  - { name: two, on: PreToolUse, deny: two }\n";
    fs::write(dir.join("a.yaml"), two).unwrap();
    fs::write(dir.join("b.yaml"), guard("last")).unwrap();
    let log = root.path().join("log");
    let (mut host, start) = listening(serve(&dir).stderr(fs::File::create(&log).unwrap()));
    assert_eq!(
        (&start["generation"], &start["hooks"], &start["diagnostics"]),
        (&json!(1), &json!(3), &json!(0))
    );

    replace(
        &dir.join("a.yaml"),
        "hooks:\n  - { name: two, on: PreToolUse, deny: zwei }\n",
    );
    let change = changed(&mut host);
    assert_eq!(
        (
            &change["generation"],
            &change["added"],
            &change["removed"],
            &change["changed"]
        ),
        (&json!(2), &json!([]), &json!(["one"]), &json!(["two"]))
    );
    assert_eq!(reason(&host.bash("ls")), "zwei");

    // Moved to another file: nothing is gone, nothing has changed.
    fs::rename(dir.join("a.yaml"), dir.join("c.yaml")).unwrap();
    let change = changed(&mut host);
    assert_eq!(
        (&change["added"], &change["removed"], &change["changed"]),
        (&json!([]), &json!([]), &json!([]))
    );

    fs::remove_file(dir.join("b.yaml")).unwrap();
    let change = changed(&mut host);
    assert_eq!(
        (&change["generation"], &change["removed"]),
        (&json!(4), &json!(["guard"]))
    );
    assert_eq!(host.bash("ls")["hash"], change["hash"]);
    let log = fs::read_to_string(&log).unwrap();
    let removed: Vec<_> = log
        .lines()
        .filter(|line| line.contains("Hook removed"))
        .collect();
    assert!(
        removed.len() == 2 && removed[0].contains("one") && removed[1].contains("guard"),
        "{log}"
    );
}

#[test]
fn a_comment_changes_the_hash_and_no_hook() {
    let (_root, dir) = scratch();
    fs::write(dir.join("a.yaml"), guard("x")).unwrap();
    let (mut host, start) = listening(&mut serve(&dir));
    replace(&dir.join("a.yaml"), &format!("# why\n{}", guard("x")));
    let change = changed(&mut host);
    assert_eq!(
        (&change["added"], &change["removed"], &change["changed"]),
        (&json!([]), &json!([]), &json!([]))
    );
    assert_ne!(change["hash"], start["hash"]);
    assert_eq!(
        host.request("hooks/list", json!({}))["hooks"][0]["source"]["line"],
        2
    );
}

#[test]
fn a_hash_names_the_content_wherever_and_whenever_it_is() {
    let hash = |dir: &Path| listening(&mut serve(dir)).1["hash"].clone();
    let files = [
        ("b/two.yaml", guard("2")),
        ("one.toml", "hooks = []".into()),
    ];
    let files: Vec<_> = files
        .iter()
        .map(|(name, text)| (*name, text.as_str()))
        .collect();
    let (first, second) = (hooks(&files), hooks(&files));
    assert_eq!(hash(first.path()), hash(first.path()));
    assert_eq!(hash(first.path()), hash(second.path()));
    fs::write(second.path().join("one.toml"), "hooks = [] ").unwrap();
    assert_ne!(hash(first.path()), hash(second.path()));
}

#[test]
fn files_of_a_layer_run_in_the_order_of_their_paths() {
    let hook = |name: &str| format!("hooks: [{{ name: {name}, on: PreToolUse, allow: x }}]");
    let names = [
        "10.yaml",
        "20/a.json",
        "20/b.yml",
        "30.toml",
        "a/x.yaml",
        "b.yaml",
    ];
    let text = |name: &str| match name.rsplit('.').next().unwrap() {
        "toml" => format!("[[hooks]]\nname = '{name}'\non = 'PreToolUse'\nallow = 'x'"),
        "json" => {
            format!(r#"{{"hooks": [{{"name": "{name}", "on": "PreToolUse", "allow": "x"}}]}}"#)
        }
        _ => hook(name),
    };
    let files: Vec<_> = names.iter().rev().map(|name| (*name, text(name))).collect();
    let files: Vec<_> = files
        .iter()
        .map(|(name, text)| (*name, text.as_str()))
        .collect();
    let (first, second) = (hooks(&files), hooks(&[("0.yaml", &*hook("second"))]));
    let mut host = TestHost::start(serve(first.path()).arg("--hooks").arg(second.path()));
    let order: Vec<_> = names
        .iter()
        .copied()
        .chain(["second"])
        .map(|name| format!("{name} success"))
        .collect();
    assert_eq!(outcomes(&host.bash("ls")), order);
}

#[test]
fn a_directory_that_is_moved_away_stays_in_force_and_comes_back() {
    let (root, dir) = scratch();
    fs::write(dir.join("guard.yaml"), guard("here")).unwrap();
    let mut host = TestHost::serve(&dir);
    in_force(&mut host, "here");
    for _ in 0..2 {
        fs::rename(&dir, root.path().join("away")).unwrap();
        let verdict = eventually("the loss is told", || {
            Some(host.bash("ls")).filter(|it| !errors(it).is_empty())
        });
        assert_eq!(reason(&verdict), "here");
        let expected = format!(
            "{}: the directory doesn't exist; its last good hooks stay in force",
            dir.display()
        );
        assert_eq!(errors(&verdict), [expected]);
        fs::rename(root.path().join("away"), &dir).unwrap();
        eventually("it is back", || {
            errors(&host.bash("ls")).is_empty().then_some(())
        });
    }
    fs::write(dir.join("guard.yaml"), guard("edited")).unwrap();
    in_force(&mut host, "edited");
}

#[test]
fn a_slow_writer_never_shows_its_half() {
    let (root, dir) = scratch();
    let text = format!(
        "{}{}",
        "hooks:\n  - { name: half, on: PreToolUse, ", "deny: v1 }\n"
    );
    fs::write(dir.join("slow.yaml"), &text).unwrap();
    let mut host = TestHost::serve(&dir);
    assert_eq!(reason(&host.bash("ls")), "v1");

    let whole = "hooks:\n  - { name: half, on: PreToolUse, allow: half }\n  - { name: rest, on: PreToolUse, deny: v2 }\n";
    let (first, rest) = whole.split_at(whole.find("  - { name: rest").unwrap());
    for (file, before) in [("slow.yaml", "v1"), ("new.yaml", "v1"), ("link.yaml", "v2")] {
        let target = if file == "link.yaml" {
            root.path().join("target")
        } else {
            dir.join(file)
        };
        if file == "link.yaml" {
            fs::write(&target, "hooks: []").unwrap();
            symlink(&target, dir.join(file)).unwrap();
        }
        let mut open = fs::File::create(&target).unwrap();
        open.write_all(first.as_bytes()).unwrap();
        // A pause of the writer, in which others are edited and take effect.
        let until = Instant::now() + Duration::from_millis(400);
        let mut n_edits = 0;
        while Instant::now() < until {
            n_edits += 1;
            let note = format!(
                "hooks: [{{ name: other-{n_edits}, on: PreToolUse, priority: 1, allow: x }}]"
            );
            fs::write(dir.join("other.yaml"), note).unwrap();
            eventually("the other file is in force", || {
                let verdict = host.bash("ls");
                let seen = outcomes(&verdict);
                assert!(
                    file == "link.yaml" || !seen.contains(&"half success".to_string()),
                    "{file}: {verdict}"
                );
                assert_eq!(reason(&verdict), before, "{file}: {verdict}");
                seen.contains(&format!("other-{n_edits} success"))
                    .then_some(())
            });
        }
        open.write_all(rest.as_bytes()).unwrap();
        drop(open);
        in_force(&mut host, "v2");
        if file == "new.yaml" {
            fs::remove_file(dir.join("new.yaml")).unwrap();
        }
        if file == "slow.yaml" {
            fs::write(dir.join(file), &text).unwrap();
            in_force(&mut host, "v1");
        } else if file == "new.yaml" {
            in_force(&mut host, "v1");
            fs::write(dir.join("slow.yaml"), guard("v2").replace("guard", "rest")).unwrap();
            in_force(&mut host, "v2");
        }
    }
}

/// Writes the file anew, reloads, and gives the verdict on `ls`.
fn after(host: &mut TestHost, file: &Path, text: &str) -> Value {
    fs::write(file, text).unwrap();
    host.request("hooks/reload", json!({}));
    host.bash("ls")
}

#[test]
fn what_is_broken_keeps_its_last_good_form() {
    let (_root, dir) = scratch();
    let file = dir.join("guard.yaml");
    let good = "hooks:\n  - { name: one, on: PreToolUse, allow: one }\n  - { name: two, on: PreToolUse, deny: two }\n";
    fs::write(&file, good).unwrap();
    let mut host = TestHost::serve(&dir);
    in_force(&mut host, "two");
    let both = ["one success", "two blocking"];
    let name = file.display();
    let kept_file = "its last good hooks stay in force";
    for (text, place, error) in [
        ("hooks:\n  - { name: one, on: [", ":2:", kept_file),
        ("", "", kept_file),
        ("  \n", "", kept_file),
        (
            "- { name: one, on: PreToolUse, allow: x }",
            ":1:1",
            kept_file,
        ),
        (
            "hoks:\n  - { name: one, on: PreToolUse, allow: x }",
            ":1:1",
            kept_file,
        ),
        ("hooks: none", ":1:8", kept_file),
        (
            &good.replace("hooks:", "defaults: { fail: shut }\nhooks:"),
            ":1:19",
            kept_file,
        ),
        (
            &good.replace("PreToolUse, deny", "PreTolUse, deny"),
            ":3:22",
            "its last good form stays in force",
        ),
        (
            &good.replace("allow: one", "alow: one"),
            ":2:34",
            "its last good form stays in force",
        ),
    ] {
        let verdict = after(&mut host, &file, text);
        assert_eq!(outcomes(&verdict), both, "{text}");
        let errors = errors(&verdict);
        assert!(
            errors[0].starts_with(&format!("{name}{place}")),
            "{text}: {errors:?}"
        );
        assert!(
            errors.iter().any(|it| it.contains(error)),
            "{text}: {errors:?}"
        );
        // What was only read is no reason for another generation.
        assert_eq!(
            host.request("hooks/reload", json!({}))["generation"],
            verdict["generation"]
        );
        let verdict = after(&mut host, &file, good);
        assert_eq!(
            (outcomes(&verdict), errors_of(&verdict)),
            (both.map(String::from).to_vec(), 0),
            "{text}"
        );
    }
    // A hook that the broken file no longer names is gone, one beside the broken one is edited. Of
    // one that was never good nobody knows what it would say.
    let one = "hooks:\n  - { name: two, on: PreToolUse, deny: zwei }\n";
    for (three, expected, n_errors) in [
        (
            "{ name: three, on: PreToolUse, alow: x, fail: open }",
            &["two blocking"][..],
            1,
        ),
        ("{ name: three, on: Stop, alow: x }", &["two blocking"], 1),
        (
            "{ name: three, on: PostToolUse, alow: x }",
            &["two blocking"],
            1,
        ),
        ("{ name: three }", &["three blocking", "two skipped"], 2),
    ] {
        let verdict = after(&mut host, &file, &format!("{one}  - {three}\n"));
        assert_eq!(
            (&*outcomes(&verdict), errors_of(&verdict)),
            (
                &*expected.iter().map(|it| it.to_string()).collect::<Vec<_>>(),
                n_errors
            )
        );
    }
    // Comments alone are a way of switching everything off.
    let verdict = after(&mut host, &file, "# hooks: nothing for now\n");
    assert_eq!((outcomes(&verdict).len(), errors_of(&verdict)), (0, 0));
}

fn errors_of(verdict: &Value) -> usize {
    errors(verdict).len()
}

#[test]
fn a_cold_start_denies_what_a_broken_guard_would_have_judged() {
    let closed = "hooks:\n  - { name: guard, on: [PreToolUse, Stop], matcher: 'Ba[', fail: closed, command: x }\n";
    let (mut host, dir) = TestHost::with(closed);
    let file = dir.path().join("hooks.yaml");
    let verdict = host.bash("ls");
    assert_eq!(
        (&verdict["decision"], &verdict["decidedBy"]),
        (&json!("deny"), &json!("guard")),
        "{verdict}"
    );
    assert!(
        reason(&verdict).contains("unclosed character class"),
        "{verdict}"
    );
    let fate = "until it is fixed, every tool call is denied";
    assert!(errors(&verdict)[0].contains(fate), "{verdict}");
    let prompt = json!({"event": "UserPromptSubmit", "prompt": "hello"});
    assert_eq!(host.dispatch(prompt)["decision"], "allow");

    // Broken otherwise: it has had no good form yet.
    let verdict = after(&mut host, &file, &closed.replace("'Ba['", "'Ba('"));
    assert!(
        errors(&verdict)[0].contains(fate) && reason(&verdict).contains("unclosed group"),
        "{verdict}"
    );

    let verdict = after(&mut host, &file, &closed.replace("closed", "open"));
    assert_eq!(verdict["decision"], "allow");
    assert!(
        errors(&verdict)[0].contains("; the hook is not in force"),
        "{verdict}"
    );
    // `defaults` counts, and a mistake in them counts as closed.
    for defaults in ["fail: closed", "fail: closd"] {
        let text = closed
            .replace(" fail: closed,", "")
            .replace("hooks:", &format!("defaults: {{ {defaults} }}\nhooks:"));
        fs::write(&file, text).unwrap();
        let mut fresh = TestHost::serve(dir.path());
        let by = if defaults == "fail: closed" {
            "guard"
        } else {
            "hooks.yaml"
        };
        assert_eq!(fresh.bash("ls")["decidedBy"], by, "{defaults}");
    }
    let verdict = after(&mut host, &file, &guard("mended"));
    assert_eq!(
        (reason(&verdict), errors_of(&verdict)),
        ("mended".into(), 0)
    );
}

#[test]
fn what_cant_be_read_is_an_error_and_keeps_the_hooks() {
    type Maker = fn(&Path);
    let makers: &[(&str, Maker)] = &[
        ("it is a directory", |path| fs::create_dir(path).unwrap()),
        ("it is not a regular file", |path| {
            assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
        }),
        ("too many levels of symbolic links", |path| {
            symlink(path.file_name().unwrap(), path).unwrap()
        }),
        ("no such file or directory", |path| {
            symlink("nowhere", path).unwrap()
        }),
        ("line 2 is not UTF-8 text", |path| {
            fs::write(path, b"# fine\n\xff\n").unwrap()
        }),
        ("it is larger than 4 MiB", |path| {
            fs::write(path, vec![b'#'; 5 << 20]).unwrap()
        }),
    ];
    for (expected, make) in makers {
        // At a cold start.
        let (_root, dir) = scratch();
        make(&dir.join("odd.yaml"));
        fs::write(dir.join("guard.yaml"), guard("on")).unwrap();
        let mut host = TestHost::serve(&dir);
        let verdict = host.bash("ls");
        let file = dir.join("odd.yaml");
        assert_eq!(verdict["decidedBy"], "odd.yaml");
        let place = if expected.contains("UTF-8") {
            ":2:1"
        } else {
            ""
        };
        let said = format!(
            "{}{place}: failed to read the file: {expected}",
            file.display()
        );
        assert!(errors(&verdict)[0].starts_with(&said), "{verdict}");
        assert!(
            errors(&verdict)[0].ends_with("; until it is fixed, every tool call is denied"),
            "{verdict}"
        );
        fs::remove_dir(&file)
            .or_else(|_| fs::remove_file(&file))
            .unwrap();
        eventually("it is gone", || {
            (errors_of(&host.bash("ls")) == 0).then_some(())
        });

        // In place of a good file, and mended. In one step: while no file is there, its hooks are
        // gone.
        let file = dir.join("guard.yaml");
        let beside = tempfile::tempdir_in(dir.parent().unwrap()).unwrap();
        let other = beside.path().join("guard.yaml");
        make(&other);
        let exchange = || {
            use rustix::fs::{CWD, RenameFlags, renameat_with};
            renameat_with(CWD, &other, CWD, &file, RenameFlags::EXCHANGE).unwrap();
        };
        for _ in 0..2 {
            exchange();
            let verdict = eventually("the error shows", || {
                Some(host.bash("ls")).filter(|it| errors_of(it) == 1)
            });
            assert_eq!(reason(&verdict), "on");
            let error = &errors(&verdict)[0];
            assert!(
                error.contains(expected) && error.ends_with("; its last good hooks stay in force"),
                "{error}"
            );
            exchange();
            eventually("it is mended", || {
                (errors_of(&host.bash("ls")) == 0).then_some(())
            });
        }
    }
}

#[test]
fn symlink_loops_of_directories_are_walked_once() {
    let (_root, dir) = scratch();
    dir_with(&dir.join("a"), &guard("once"));
    symlink("..", dir.join("a/up")).unwrap();
    symlink("a", dir.join("b")).unwrap();
    let mut host = TestHost::serve(&dir);
    let verdict = host.bash("ls");
    assert_eq!(
        (outcomes(&verdict), errors_of(&verdict)),
        (vec!["guard blocking".to_string()], 0)
    );
    assert_eq!(
        host.request("hooks/list", json!({}))["hooks"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

#[test]
fn a_checkout_of_500_files_is_one_reload() {
    let (_root, dir) = scratch();
    let name = |i: usize| dir.join(format!("team-{}/{i}.yaml", i % 7));
    let text = |i: usize, version: &str| {
        format!(
            "hooks: [{{ name: h{i}, description: {version}, on: PreToolUse, matcher: T{i}, deny: {version} }}]"
        )
    };
    for i in 0..500 {
        fs::create_dir_all(name(i).parent().unwrap()).unwrap();
        fs::write(name(i), text(i, "v0")).unwrap();
    }
    let (mut host, start) = listening(&mut serve(&dir));
    assert_eq!(start["generation"], 1);
    let (mut generation, mut n_coalesced) = (1, 0);
    // A machine that is busy with something else may stretch a checkout over several reloads, but
    // not every one.
    for version in (1..=20).map(|n| format!("v{n}")) {
        if n_coalesced == 2 {
            break;
        }
        // As git does: removed and written anew, one after the other.
        for i in 0..500 {
            fs::remove_file(name(i)).unwrap();
            fs::write(name(i), text(i, &version)).unwrap();
        }
        let list = eventually("all files are in force", || {
            let list = host.request("hooks/list", json!({}));
            let is_new = |hook: &Value| hook["description"] == *version;
            list["hooks"]
                .as_array()
                .unwrap()
                .iter()
                .all(is_new)
                .then_some(list)
        });
        assert_eq!(list["hooks"].as_array().unwrap().len(), 500);
        let now = list["generation"].as_u64().unwrap();
        n_coalesced += u32::from(now - generation <= 2);
        generation = now;
    }
    assert_eq!(n_coalesced, 2, "{generation} generations");
}

#[test]
fn a_storm_of_writes_does_not_put_off_the_others() {
    let (_root, dir) = scratch();
    fs::write(dir.join("guard.yaml"), guard("v0")).unwrap();
    let mut host = TestHost::serve(&dir);
    in_force(&mut host, "v0");
    fs::write(dir.join("guard.yaml"), guard("v1")).unwrap();
    // Faster than any quiet window, until the edit is in force.
    let mut n = 0;
    eventually("the edit is in force", || {
        for _ in 0..5 {
            n += 1;
            fs::write(dir.join("noise.yaml"), format!("# {n}\n")).unwrap();
        }
        (reason(&host.bash("ls")) == "v1").then_some(())
    });
}

#[test]
fn polling_when_asked_and_when_watching_fails() {
    let ask = |dir: &Path| {
        let mut command = serve(dir);
        command.arg("--poll");
        command
    };
    let no_watches = |dir: &Path| {
        let mut command = serve(dir);
        command.env("HOOKWIRE_FAIL", "watch=1..");
        command
    };
    let no_more_watches = |dir: &Path| {
        let mut command = serve(dir);
        command.env("HOOKWIRE_FAIL", "watch=3..");
        command
    };
    type Serve<'a> = &'a dyn Fn(&Path) -> Command;
    let commands: [(&str, Serve<'_>); 3] = [
        ("polling", &ask),
        ("polling", &no_watches),
        ("events", &no_more_watches),
    ];
    for (watching, command) in commands {
        let (root, dir) = scratch();
        fs::write(dir.join("guard.yaml"), guard("v0")).unwrap();
        let log = root.path().join("log");
        let (mut host, start) = listening(command(&dir).stderr(fs::File::create(&log).unwrap()));
        assert_eq!(start["watching"], watching);
        replace(&dir.join("guard.yaml"), &guard("v1"));
        assert_eq!(changed(&mut host)["changed"], json!(["guard"]));
        assert_eq!(reason(&host.bash("ls")), "v1");
        fs::write(dir.join("new"), guard("v2")).unwrap();
        fs::rename(dir.join("new"), dir.join("guard.yaml")).unwrap();
        changed(&mut host);
        assert_eq!(reason(&host.bash("ls")), "v2");
        dir_with(
            &dir.join("sub"),
            "hooks: [{ name: sub, on: PreToolUse, priority: 1, deny: sub }]",
        );
        changed(&mut host);
        assert_eq!(reason(&host.bash("ls")), "sub");
        fs::remove_dir_all(dir.join("sub")).unwrap();
        assert_eq!(changed(&mut host)["removed"], json!(["sub"]));
        let log = fs::read_to_string(&log).unwrap();
        let is_forced = log.lines().count() == 1;
        assert!(
            is_forced || log.contains("looking at them twice a second instead"),
            "{log}"
        );
    }
}

/// 10 files that say A and 10 that say B, flipped together by one symlink; 200 requests wait in a
/// callback all the while.
#[test]
fn nothing_is_lost_or_torn_in_reloads_with_many_in_flight() {
    let (n_reloads, n_in_flight) = if is_full() { (1000, 200) } else { (150, 100) };
    let (root, dir) = scratch();
    for letter in ["A", "B"] {
        for i in 0..10 {
            let path = root.path().join(letter).join(format!("{i}.yaml"));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            let text = format!("hooks: [{{ name: {letter}{i}, on: PreToolUse, allow: {letter} }}]");
            fs::write(path, text).unwrap();
        }
    }
    let link = dir.join("live");
    symlink("../A", &link).unwrap();
    let mut host = TestHost::serve(&dir);
    host.request(
        "hooks/register",
        json!({"hooks": [{"name": "hold", "on": "PreToolUse", "callback": "hold"}]}),
    );

    let mut waiting: VecDeque<(u64, Value)> = VecDeque::new();
    let mut expected: HashMap<u64, (&str, Value, Value)> = HashMap::new();
    let mut sets: HashMap<u64, Value> = HashMap::new();
    let mut hashes: HashMap<String, HashSet<&str>> = HashMap::new();
    let mut n_replies = 0;
    for i in 0..n_reloads {
        let letter = ["B", "A"][i % 2];
        replace_link(&link, format!("../{letter}"));
        let reload = host.ask("hooks/reload", json!({}));
        // Pipelined: it is judged by what the reload before it put in force.
        let id = host.ask("hooks/dispatch", bash("ls"));
        let reloaded = host.reply(reload)["result"].clone();
        let (generation, hash) = (reloaded["generation"].clone(), reloaded["hash"].clone());
        assert_eq!(reloaded["diagnostics"], json!([]));
        hashes
            .entry(hash.as_str().unwrap().into())
            .or_default()
            .insert(letter);
        assert!(
            sets.insert(generation.as_u64().unwrap(), hash.clone())
                .is_none_or(|it| it == hash)
        );
        expected.insert(id, (letter, generation, hash));
        let invoked =
            host.receive_where(|message| message["method"] == "hooks/invoke")["id"].clone();
        waiting.push_back((id, invoked));
        if waiting.len() > n_in_flight || i + 1 == n_reloads {
            let n_due = if i + 1 == n_reloads { waiting.len() } else { 1 };
            for (id, invoked) in waiting.drain(..n_due) {
                host.send(&json!({"jsonrpc": "2.0", "id": invoked, "result": {}}));
                let verdict = host.reply(id)["result"].clone();
                n_replies += 1;
                let (letter, generation, hash) = &expected[&id];
                assert_eq!(
                    (&verdict["generation"], &verdict["hash"]),
                    (generation, hash),
                    "{verdict}"
                );
                assert_eq!(
                    (&verdict["decision"], &*reason(&verdict)),
                    (&json!("allow"), *letter),
                    "{verdict}"
                );
                let mut outcomes = outcomes(&verdict);
                assert_eq!(outcomes.pop().as_deref(), Some("hold success"));
                let all: Vec<_> = (0..10).map(|i| format!("{letter}{i} success")).collect();
                assert_eq!(outcomes, all);
            }
        }
    }
    assert_eq!(n_replies, n_reloads);
    assert_eq!(sets.len(), n_reloads);
    assert_eq!(hashes.len(), 2);
    assert!(
        hashes.values().all(|letters| letters.len() == 1),
        "{hashes:?}"
    );
}

/// Directories `..A` and `..B` of ten files each, whose hooks allow with that letter.
fn two_versions(dir: &Path) {
    for letter in ["A", "B"] {
        let version = dir.join(format!("..{letter}"));
        fs::create_dir(&version).unwrap();
        for i in 0..10 {
            let text = format!("hooks: [{{ name: {letter}{i}, on: PreToolUse, allow: {letter} }}]");
            fs::write(version.join(format!("{i}.yaml")), text).unwrap();
        }
    }
}

/// The same without anybody asking for a reload: whatever the watcher finds is one of the two.
#[test]
fn the_watcher_never_finds_a_mix() {
    let (root, dir) = scratch();
    two_versions(&dir);
    symlink("..A", dir.join("..data")).unwrap();
    for i in 0..10 {
        symlink(format!("..data/{i}.yaml"), dir.join(format!("{i}.yaml"))).unwrap();
    }
    let mut host = TestHost::serve(&dir);
    let mut n_changes = 0;
    let mut last = String::from("A");
    let mut n_flips = 0;
    let n_wanted = if is_full() { 20 } else { 6 };
    while n_changes < n_wanted {
        replace_link(&dir.join("..data"), ["..B", "..A"][n_flips % 2]);
        n_flips += 1;
        // Some flips come in the middle of a load, some after it.
        for _ in 0..n_flips % 30 {
            let verdict = host.bash("ls");
            let letter = reason(&verdict);
            let all: Vec<_> = (0..10).map(|i| format!("{letter}{i} success")).collect();
            assert_eq!((outcomes(&verdict), errors_of(&verdict)), (all, 0));
            n_changes += usize::from(letter != last);
            last = letter;
            // Asked without a pause, the host would judge thousands of events before it loads
            // anything.
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    drop(host);
    drop(root);
}

/// Definitions and scripts behind one link, which is swapped without a pause while they are read.
#[test]
fn a_load_sees_one_state_of_a_link_that_never_rests() {
    let (_root, dir) = scratch();
    let data = dir.join("..data");
    two_versions(&dir);
    for (letter, i) in ["A", "B"]
        .into_iter()
        .flat_map(|letter| (0..10).map(move |i| (letter, i)))
    {
        let code = format!("return {{ additionalContext: ['{letter}'] }}");
        fs::write(dir.join(format!("..{letter}/{i}.js")), code).unwrap();
    }
    replace_link(&data, "..A");
    for i in 0..10 {
        symlink(format!("..data/{i}.yaml"), dir.join(format!("{i}.yaml"))).unwrap();
        let text = format!(
            "hooks: [{{ name: script{i}, on: PreToolUse, fail: closed, script: {{ file: ..data/{i}.js }} }}]"
        );
        fs::write(dir.join(format!("script{i}.yaml")), text).unwrap();
    }
    let mut host = TestHost::serve(&dir);
    let is_on = Arc::new(());
    let swaps = Arc::downgrade(&is_on);
    let swapping = std::thread::spawn(move || {
        for target in ["..B", "..A"]
            .iter()
            .cycle()
            .take_while(|_| swaps.strong_count() > 0)
        {
            replace_link(&data, target);
        }
    });
    let mut seen = [0, 0];
    let n_wanted = if is_full() { 20 } else { 5 };
    while seen.iter().any(|n_seen| *n_seen < n_wanted) {
        assert_eq!(
            host.request("hooks/reload", json!({}))["diagnostics"],
            json!([])
        );
        let verdict = host.bash("ls");
        let letter = reason(&verdict);
        let hooks = (0..10).map(|i| format!("{letter}{i} success"));
        let scripts = (0..10).map(|i| format!("script{i} success"));
        assert_eq!(
            (outcomes(&verdict), errors_of(&verdict)),
            (hooks.chain(scripts).collect(), 0)
        );
        assert_eq!(
            verdict["additionalContext"],
            json!(vec![letter.as_str(); 10]),
            "{verdict}"
        );
        seen[usize::from(letter == "B")] += 1;
    }
    drop(is_on);
    swapping.join().unwrap();
}

#[test]
fn the_watcher_ends_with_its_host() {
    let threads = || {
        let tasks = fs::read_dir("/proc/self/task").unwrap().flatten();
        let names = tasks.filter_map(|task| fs::read_to_string(task.path().join("comm")).ok());
        names
            .filter(|name| matches!(name.trim(), "watch" | "changes"))
            .count()
    };
    if !cfg!(target_os = "linux") {
        return;
    }
    let (_root, dir) = scratch();
    let options = |poll| hookwire::HostOptions {
        root: dir.clone(),
        hooks: vec![dir.clone()],
        poll,
        ..hookwire::HostOptions::default()
    };
    for (poll, n_threads) in [(false, 2), (true, 1)] {
        let host = hookwire::Host::new(options(poll));
        host.watch().unwrap();
        eventually("the threads are there", || {
            (threads() == n_threads).then_some(())
        });
        drop(host);
        eventually("the threads are gone", || (threads() == 0).then_some(()));
    }
}

/// `cargo test --release --test host reload -- --ignored --nocapture`
#[test]
#[ignore = "a measurement"]
fn edit_to_effect_with_1000_files() {
    let (_root, dir) = scratch();
    for i in 0..1000 {
        let text = format!(
            "defaults: {{ fail: closed }}\nhooks:\n  - name: h{i}\n    on: PreToolUse\n    if: Bash(tool-{i} *)\n    deny: no\n  \
             - {{ name: c{i}, on: PostToolUse, matcher: T{i}, command: 'true' }}\n"
        );
        let path = dir.join(format!("{}/{i}.yaml", i % 20));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    for (how, settle) in [("fresh files", false), ("files at rest", true)] {
        let (mut host, _) = listening(&mut serve(&dir));
        if settle {
            std::thread::sleep(Duration::from_secs(3));
            host.request("hooks/reload", json!({}));
        }
        let mut times: Vec<Duration> = (0..60)
            .map(|n| {
                let text = format!("hooks: [{{ name: edited, on: PreToolUse, deny: edit {n} }}]");
                let new = dir.join("5/.new");
                fs::write(&new, text).unwrap();
                let start = Instant::now();
                fs::rename(&new, dir.join("5/5.yaml")).unwrap();
                changed(&mut host);
                assert_eq!(reason(&host.bash("ls")), format!("edit {n}"));
                start.elapsed()
            })
            .collect();
        times.sort();
        eprintln!(
            "{how}: p50 {:?}, p90 {:?}, max {:?}",
            times[30], times[54], times[59]
        );
        fs::remove_file(dir.join("5/5.yaml")).unwrap();
    }
}

/// What each definition is known as, and what is told of the directories.
fn loaded(root: &Path, project: bool, hooks: &[&str]) -> (Vec<String>, Vec<String>) {
    let hooks = hooks.iter().map(|path| root.join(path)).collect();
    let host = hookwire::Host::new(hookwire::HostOptions {
        root: root.into(),
        projects: if project {
            hookwire::Projects::Root
        } else {
            hookwire::Projects::None
        },
        hooks,
        ..hookwire::HostOptions::default()
    });
    let published = host.published();
    let short = |text: &str| text.replace(&format!("{}/", root.display()), "");
    let hooks = published.hooks.hooks.iter();
    let hooks = hooks.map(|hook| format!("{:?} {}", hook.source.layer, short(&hook.source.file)));
    let told = published
        .diagnostics
        .iter()
        .filter(|it| it.code == "loaded-twice");
    (
        hooks.collect(),
        told.map(|it| short(&it.one_line())).collect(),
    )
}

#[test]
fn what_is_reached_twice_is_loaded_once_and_told() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path().canonicalize().unwrap();
    dir_with(&root.join(".hookwire"), &guard("once"));
    dir_with(&root.join("outer/inner"), &guard("once"));
    fs::create_dir(root.join("linked")).unwrap();
    for (link, target) in [
        ("link", ".hookwire"),
        ("linked/a.yaml", "../.hookwire/guard.yaml"),
        ("linked/b.yaml", "../.hookwire/guard.yaml"),
    ] {
        symlink(target, root.join(link)).unwrap();
    }
    let same = |what: &str, path: &str, other: &str| {
        format!("{path}: this is the {what} {other}, which counts: its hooks run once")
    };
    for (project, hooks, expected, told) in [
        (
            false,
            &[".hookwire"][..],
            "Hooks .hookwire/guard.yaml",
            None,
        ),
        (true, &[], "Project .hookwire/guard.yaml", None),
        (
            false,
            &["link", ".hookwire"],
            "Hooks link/guard.yaml",
            Some(same("directory", ".hookwire", "link")),
        ),
        (
            true,
            &["link"],
            "Hooks link/guard.yaml",
            Some(same("directory", ".hookwire", "link")),
        ),
        (
            true,
            &[".hookwire"],
            "Hooks .hookwire/guard.yaml",
            Some(
                ".hookwire: this directory is named twice; it counts once, in the outer layer"
                    .into(),
            ),
        ),
        (
            false,
            &["outer", "outer/inner"],
            "Hooks outer/inner/guard.yaml",
            Some(
                "outer/inner: this directory is named twice; it counts once, in the outer layer"
                    .into(),
            ),
        ),
        (
            false,
            &["link/guard.yaml", ".hookwire"],
            "Hooks link/guard.yaml",
            Some(same("file", ".hookwire/guard.yaml", "link/guard.yaml")),
        ),
        (
            false,
            &["linked"],
            "Hooks linked/a.yaml",
            Some(same("file", "linked/b.yaml", "linked/a.yaml")),
        ),
    ] {
        let expected = (vec![expected.to_string()], Vec::from_iter(told));
        assert_eq!(
            loaded(&root, project, hooks),
            expected,
            "{project} {hooks:?}"
        );
    }
}

/// Two hooks, of which the last one denies.
fn two_hooks(version: usize) -> [String; 3] {
    [
        "hooks:\n".into(),
        "  - { name: note, on: PreToolUse, allow: note }\n".into(),
        format!("  - {{ name: guard, on: PreToolUse, deny: v{version} }}\n"),
    ]
}

fn append(path: &Path, text: &str) {
    fs::File::options()
        .create(true)
        .append(true)
        .open(path)
        .unwrap()
        .write_all(text.as_bytes())
        .unwrap();
}

#[test]
fn a_file_that_is_written_in_pieces_never_opens_a_gap() {
    // What the docs promise.
    const STANDS: Duration = Duration::from_millis(500);
    type Begin = fn(&Path);
    let begins: [(&str, Begin); 4] = [
        ("truncates", |file| drop(fs::File::create(file).unwrap())),
        ("removes", |file| fs::remove_file(file).unwrap()),
        ("renames", |file| {
            fs::rename(file, file.with_extension("old")).unwrap()
        }),
        ("removes the directory", |file| {
            fs::remove_dir_all(file.parent().unwrap()).unwrap()
        }),
    ];
    for (name, begin) in begins {
        let (_root, dir) = scratch();
        let file = dir.join("sub/guard.yaml");
        dir_with(&dir.join("sub"), &two_hooks(0).concat());
        let mut host = TestHost::serve(&dir);
        in_force(&mut host, "v0");
        // With pauses that a load doesn't miss, and without one.
        for (pause, n) in [
            (Duration::from_millis(60), 2),
            (Duration::ZERO, if is_full() { 150 } else { 40 }),
        ] {
            let mut n_judged = 0;
            for version in 1..=n {
                let since = Instant::now();
                let mut judge = |host: &mut TestHost| {
                    let paused = Instant::now();
                    loop {
                        let verdict = host.bash("ls");
                        // A machine that is too busy for this writer says nothing.
                        if since.elapsed() < STANDS {
                            assert_eq!(verdict["decision"], "deny", "{name}: {verdict}");
                            n_judged += 1;
                        }
                        if paused.elapsed() >= pause {
                            return;
                        }
                        std::thread::sleep(Duration::from_millis(1));
                    }
                };
                begin(&file);
                judge(&mut host);
                fs::create_dir_all(file.parent().unwrap()).unwrap();
                for piece in two_hooks(version) {
                    append(&file, &piece);
                    judge(&mut host);
                }
            }
            assert!(n_judged > n, "{name}: the machine is too busy");
            in_force(&mut host, &format!("v{n}"));
        }
        // What stands counts, and at once for whoever asks.
        fs::remove_file(&file).unwrap();
        in_force(&mut host, "");
        append(&file, &two_hooks(0).concat());
        in_force(&mut host, "v0");
        assert_eq!(
            reason(&after(&mut host, &file, "")),
            "v0",
            "an emptied file keeps its hooks"
        );
        assert_eq!(reason(&after(&mut host, &file, "hooks:\n")), "");
        append(&file, &two_hooks(0)[2]);
        in_force(&mut host, "v0");
        fs::remove_file(&file).unwrap();
        host.request("hooks/reload", json!({}));
        assert_eq!(reason(&host.bash("ls")), "");
    }
}

/// How often each thread of a process has gone to sleep.
fn sleeps(pid: u32) -> HashMap<PathBuf, u64> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task"))
        .unwrap()
        .flatten()
        .map(|task| task.path());
    let count = |status: String| {
        let count = status
            .lines()
            .find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
        count.trim().parse().ok()
    };
    tasks
        .filter_map(|task| {
            Some((
                task.clone(),
                count(fs::read_to_string(task.join("status")).ok()?)?,
            ))
        })
        .collect()
}

#[test]
fn an_idle_host_doesnt_wake_for_others() {
    if !cfg!(target_os = "linux") {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    for named in [false, true] {
        let project = root.path().join(if named { "named" } else { "project" });
        dir_with(&project.join(".hookwire"), &guard("on"));
        let mut command = hookwire();
        command
            .args(["serve", "--no-share", "--root"])
            .arg(&project);
        if named {
            command.arg("--hooks").arg(project.join(".hookwire"));
        }
        for (variable, name) in [
            ("HOME", "home"),
            ("XDG_CONFIG_HOME", "config"),
            ("XDG_DATA_HOME", "data"),
        ] {
            fs::create_dir_all(root.path().join(name)).unwrap();
            command.env(variable, root.path().join(name));
        }
        let mut host = TestHost::start(&mut command);
        host.request("hooks/reload", json!({}));
        let mut before = sleeps(host.pid());
        eventually("the host is idle", || {
            std::thread::sleep(Duration::from_millis(100));
            let earlier = std::mem::replace(&mut before, sleeps(host.pid()));
            (earlier == before).then_some(())
        });
        const N: u64 = 200;
        for _ in 0..N {
            assert!(
                Command::new("sh")
                    .args(["-c", "cat /etc/passwd; true"])
                    .stdout(std::process::Stdio::null())
                    .status()
                    .unwrap()
                    .success()
            );
            drop(tempfile::tempfile().unwrap());
            drop(tempfile::NamedTempFile::new().unwrap());
            fs::write(root.path().join("home/unrelated"), "x").unwrap();
            fs::write(project.join("unrelated"), "x").unwrap();
            fs::read(project.join(".hookwire/guard.yaml")).unwrap();
        }
        let n_sleeps: u64 = sleeps(host.pid())
            .iter()
            .map(|(task, now)| now - before.get(task).copied().unwrap_or_default())
            .sum();
        assert!(
            n_sleeps < N / 10,
            "named {named}: {n_sleeps} sleeps for {N} programs and files"
        );
    }
}
