//! Rules held against calls.

use super::*;
use crate::matching::ToolNaming;
use hookwire_base::event::Event;
use hookwire_base::syntax::source::Layer;
use hookwire_testing::rows;
use serde::Deserialize;
use serde_json::json;
use std::fs;
use std::iter::{empty, once};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;

fn word(truth: Truth) -> &'static str {
    match truth {
        Truth::Yes => "yes",
        Truth::No => "no",
        Truth::Opaque(_) | Truth::Delegates(_) => "opaque",
    }
}

const ASKER: Asker = Asker {
    layer: Layer::Project,
    naming: ToolNaming::Canonical,
    guesses: true,
    acts: false,
    any_depth: false,
};

fn facts(cwd: &Path, tool: &str, input: &Value) -> Facts {
    let event = json!({"event": "PreToolUse", "cwd": cwd, "tool": {"name": tool, "input": input}});
    Facts::new(Arc::new(Event::from_json(event).unwrap()), Path::new("/"))
}

fn judge(
    rules: &[String],
    unless: &[String],
    tool: &str,
    input: &Value,
) -> (&'static str, &'static str) {
    judge_in("/p", rules, unless, tool, input)
}

fn judge_in(
    cwd: &str,
    rules: &[String],
    unless: &[String],
    tool: &str,
    input: &Value,
) -> (&'static str, &'static str) {
    let compiled = |rules: &[String]| {
        rules
            .iter()
            .map(|rule| ToolRule::new(rule).unwrap())
            .collect()
    };
    let condition = Condition {
        rules: compiled(rules),
        unless: compiled(unless),
        located: None,
    };
    let facts = facts(Path::new(cwd), tool, input);
    let holds = |reading| word(condition.holds(&facts, ASKER, reading));
    (holds(Reading::Hits), holds(Reading::Covers))
}

#[test]
fn a_working_directory_that_a_shell_would_split_is_no_certain_place() {
    for (cwd, hits) in [
        ("/p", "no"),
        ("/p/a-1", "no"),
        ("/p q", "yes"),
        ("/p*", "yes"),
        ("/p\n", "yes"),
    ] {
        for command in ["rm $PWD/build", "rm \"$(pwd)/build\""] {
            let (rules, unless) = (["Bash(rm *)".into()], ["Bash(rm ./**/build)".into()]);
            let judged = judge_in(cwd, &rules, &unless, "Bash", &json!({ "command": command }));
            assert_eq!(judged.0, hits, "{command} in {cwd:?}");
        }
    }
}

/// What rules say of a call: whether they hit it, and whether they cover it.
#[test]
fn rules_are_about_calls() {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Row {
        rules: Vec<String>,
        #[serde(default)]
        unless: Vec<String>,
        tool: String,
        input: Value,
        hits: String,
        covers: String,
    }
    rows::compare("rules/calls.jsonl", |row: Row| {
        let (hits, covers) = judge(&row.rules, &row.unless, &row.tool, &row.input);
        (
            (hits.to_string(), covers.to_string()),
            (row.hits, row.covers),
        )
    });
}

#[test]
fn a_tool_that_may_be_a_shell_is_in_doubt_where_it_is_not_read() {
    let rule = ToolRule::new("Bash(git push*)").unwrap();
    for (tool, input, expected) in [
        ("run_shell", json!({"command": "ls"}), "opaque"),
        ("search", json!({"query": "ls"}), "no"),
    ] {
        let facts = facts(Path::new("/p"), tool, &input).unread("it takes too long");
        assert_eq!(
            word(holds(once(&rule), empty(), &facts, ASKER, Reading::Hits)),
            expected,
            "{tool}"
        );
    }
}

/// A rule about a command hits those that do the same in other words, and no `*` of an allow covers
/// what does more.
#[test]
fn rules_are_about_commands() {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Row {
        rules: Vec<String>,
        command: String,
        hits: Option<bool>,
        covers: Option<bool>,
    }
    rows::compare("rules/commands.jsonl", |row: Row| {
        let (hits, covers) = judge(&row.rules, &[], "Bash", &json!({ "command": row.command }));
        assert!(
            row.hits.is_some() || row.covers.is_some(),
            "{}: the row expects nothing",
            row.command
        );
        let found = (
            row.hits.map(|_| hits == "yes"),
            row.covers.map(|_| covers == "yes"),
        );
        (found, (row.hits, row.covers))
    });
}

/// A rule that names a script means that file, by whichever path and in whichever shell it runs, and
/// one that names a variable the commands for which it is set.
#[test]
fn rules_know_which_file_runs_with_what_settings() {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Row {
        rule: String,
        command: String,
        #[serde(default)]
        unless: Vec<String>,
        says: Option<String>,
        covers: Option<bool>,
    }
    let scene = tempfile::tempdir().unwrap();
    let cwd = scene.path().canonicalize().unwrap();
    for directory in ["sub", "tools"] {
        fs::create_dir(cwd.join(directory)).unwrap();
    }
    for file in [
        "ship.sh",
        "drop.sh",
        "other.sh",
        "sub/ship.sh",
        "tools/deploy.py",
    ] {
        fs::write(cwd.join(file), "echo hi").unwrap();
    }
    for (link, to) in [
        ("link", "ship.sh"),
        ("dl", "drop.sh"),
        ("d", "sub"),
        ("sub/up", "../ship.sh"),
    ] {
        symlink(to, cwd.join(link)).unwrap();
    }
    let judge = |row: Row| {
        let compiled = |rules: &[String]| {
            let rules = rules.iter().map(|rule| ToolRule::new(rule).unwrap());
            rules.collect()
        };
        let condition = Condition {
            rules: compiled(&[row.rule]),
            unless: compiled(&row.unless),
            located: None,
        };
        let command = row.command.replace("{cwd}", cwd.to_str().unwrap());
        let facts = facts(&cwd, "Bash", &json!({ "command": command }));
        let holds = |reading| condition.holds(&facts, ASKER, reading);
        let says = match holds(Reading::Hits) {
            Truth::Yes => "yes",
            Truth::Opaque(_) => "doubt",
            Truth::No | Truth::Delegates(_) => "no",
        };
        let found = (
            row.says.as_ref().map(|_| says.to_string()),
            row.covers.map(|_| holds(Reading::Covers) == Truth::Yes),
        );
        (found, (row.says, row.covers))
    };
    rows::compare("rules/script_files.jsonl", judge);
    rows::compare("rules/settings.jsonl", judge);
    rows::compare("rules/optional_options.jsonl", judge);
}

#[test]
fn the_home_is_one_place_however_it_is_written() {
    let file = paths::home().unwrap().join(".ssh/id");
    let commands = [
        "cat ~/.ssh/id".into(),
        "cat \"$HOME\"/.ssh/id".into(),
        format!("cat -n {}", file.display()),
    ];
    for rule in [
        "cat ~/.ssh/*",
        "cat $HOME/.ssh/*",
        "cat \"${HOME}/.ssh/\"*",
        "cat -n '~/.ssh/id'",
    ] {
        let rules = [format!("Bash({rule})")];
        let hits = |command: &String| judge(&rules, &[], "Bash", &json!({ "command": command })).0;
        let expected = if rule.contains("-n") {
            ["no", "no", "yes"]
        } else {
            ["yes"; 3]
        };
        assert_eq!(commands.each_ref().map(hits), expected, "{rule}");
    }
    let read = judge(
        &["Read($HOME/.ssh/*)".into()],
        &[],
        "Read",
        &json!({ "file_path": file }),
    );
    assert_eq!(read.0, "yes");
}

#[test]
fn what_is_no_rule() {
    for bad in [
        "",
        "Bash(x",
        "Ba sh(x)",
        "(x)",
        "WebFetch(https://[)",
        "Write|(x)",
        "Write|Edit([)",
    ] {
        assert!(ToolRule::new(bad).is_err(), "{bad}");
    }
}

/// An exception for a directory is for what lies in it, wherever links lead and commands run.
#[test]
fn an_exception_is_for_what_lies_in_the_directory() {
    let dir = tempfile::tempdir().unwrap();
    let top = dir.path();
    for name in ["build/x", "outside"] {
        std::fs::create_dir_all(top.join(name)).unwrap();
    }
    std::os::unix::fs::symlink(top.join("outside"), top.join("build/leads-out")).unwrap();
    std::os::unix::fs::symlink(top.join("build"), top.join("leads-in")).unwrap();
    std::os::unix::fs::symlink(top, top.join("here")).unwrap();
    let compiled = |rule: &str| vec![ToolRule::new(rule).unwrap()];
    let condition = Condition {
        rules: compiled("Bash(rm -rf *)"),
        unless: compiled("Bash(rm -rf ./build/**)"),
        located: None,
    };
    for (cwd, command, is_excepted) in [
        ("", "rm -rf ./build/x", true),
        ("", "rm -rf build/x build/new", true),
        ("here", "rm -rf ./build/x", true),
        ("", "rm -rf ./build/x/*", true),
        ("", "sudo rm -rf build/x", true),
        ("", "env A=1 timeout 5 rm -rf build/x", true),
        ("", "ls && rm -rf build/x && ln -s a b", true),
        ("", "rm -rf ./build/leads-out/x", false),
        ("", "rm -rf ./build/le*/x", false),
        ("", "rm -rf ./build/*/x", false),
        ("", "rm -rf ./build/[l]eads-out/x", false),
        ("", "rm -rf ./build/x*/*", true),
        ("", "rm -rf leads-in/x", false),
        ("", "ln -sfn .. build/l; rm -rf ./build/l/x", false),
        ("", "mv build b2; ln -s . build; rm -rf ./build/x", false),
        ("", "cd /; rm -rf ./build/x", false),
        ("", "env -C / rm -rf ./build/x", false),
        ("", "env --chdir=/ rm -rf ./build/x", false),
        ("", "sudo -D / rm -rf ./build/x", false),
        ("", "sudo -i rm -rf ./build/x", false),
        ("", "unshare --wd=/ rm -rf ./build/x", false),
        (
            "",
            "systemd-run --working-directory=/ rm -rf ./build/x",
            false,
        ),
        ("", "ssh h rm -rf ./build/x", false),
        ("", "docker exec c rm -rf ./build/x", false),
        ("", "chroot /x rm -rf ./build/x", false),
        ("", "pnpm -C / exec rm -rf ./build/x", false),
        ("", "uv run --directory / rm -rf ./build/x", false),
        ("", "su - u -c 'rm -rf ./build/x'", false),
        ("", "git submodule foreach 'rm -rf ./build/x'", false),
        ("", "find / -execdir rm -rf ./build/x \\;", false),
    ] {
        let facts = facts(&top.join(cwd), "Bash", &json!({ "command": command }));
        let holds = word(condition.holds(&facts, ASKER, Reading::Hits));
        assert_eq!(holds == "no", is_excepted, "{command}: {holds}");
    }
}

#[test]
fn declared_names_hold_for_their_layer_and_inner_ones() {
    use crate::matching::tools::{DeclaredTool, ToolNames};
    let declared = |layer, name: &str, family, argument: Option<&str>| DeclaredTool {
        layer,
        name: name.into(),
        family,
        argument: argument.map(str::to_string),
    };
    let names = Arc::new(ToolNames(vec![
        declared(Layer::Project, "mine", "Read", None),
        declared(Layer::User, "mine", "Bash", Some("line")),
        declared(Layer::Managed, "write_file", "Read", None),
    ]));
    for (layer, rule, tool, input, expected) in [
        (
            Layer::User,
            "Bash(git push*)",
            "mine",
            json!({"line": "git push"}),
            "yes",
        ),
        (
            Layer::Project,
            "Bash(git push*)",
            "mine",
            json!({"line": "git push"}),
            "yes",
        ),
        (
            Layer::Project,
            "Read",
            "mine",
            json!({"line": "git push"}),
            "no",
        ),
        (
            Layer::Managed,
            "Bash(git push*)",
            "mine",
            json!({"line": "git push"}),
            "no",
        ),
        (Layer::Project, "Write", "write_file", json!({}), "yes"),
        (Layer::Project, "Read", "write_file", json!({}), "no"),
    ] {
        let event = json!({"event": "PreToolUse", "tool": {"name": tool, "input": input}});
        let facts = Facts::new(Arc::new(Event::from_json(event).unwrap()), Path::new("/"))
            .with_names(&names);
        let rule = ToolRule::new(rule).unwrap();
        for (naming, expected) in [(ToolNaming::Canonical, expected), (ToolNaming::Own, "no")] {
            let holds = holds(
                once(&rule),
                empty(),
                &facts,
                Asker {
                    layer,
                    naming,
                    guesses: false,
                    acts: false,
                    any_depth: false,
                },
                Reading::Hits,
            );
            assert_eq!(word(holds), expected, "{layer:?} {} {tool}", rule.text());
        }
    }
}

#[test]
fn a_rule_says_what_made_or_broke_the_match() {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Row {
        rule: String,
        tool: String,
        input: Value,
        reading: String,
        holds: Option<bool>,
        why: String,
        #[serde(default)]
        unseen: Option<String>,
        #[serde(default)]
        acts: bool,
    }
    rows::compare("rules/explained.jsonl", |row: Row| {
        let reading = match &*row.reading {
            "hits" => Reading::Hits,
            "covers" => Reading::Covers,
            other => panic!("{other}"),
        };
        let facts = facts(Path::new("/p"), &row.tool, &row.input);
        let found = ToolRule::new(&row.rule).unwrap().explain(
            &facts,
            Asker {
                acts: row.acts,
                ..ASKER
            },
            reading,
        );
        (
            (found.holds, found.why, found.unseen),
            (row.holds, row.why, row.unseen),
        )
    });
}

#[test]
fn an_exception_says_which_command_it_is_asked_for() {
    let rules = |text: &str| vec![ToolRule::new(text).unwrap()];
    let condition = Condition {
        rules: rules("Bash(rm -rf *)"),
        unless: rules("Bash(rm -rf ./build/**)"),
        located: None,
    };
    for (command, holds, why) in [
        ("cd src; rm -rf lib", false, "`rm -rf lib` doesn't fit"),
        (
            "ls; rm -rf build/x ../y",
            false,
            "`rm -rf build/x ../y` doesn't fit",
        ),
        ("ls; rm -rf build/x; rm -rf lib", true, "`rm -rf build/x`"),
        (
            "for f in build/*.o; do rm -rf \"$f\"; done",
            true,
            "`rm -rf build/*.o`",
        ),
    ] {
        let facts = facts(Path::new("/p"), "Bash", &json!({"command": command}));
        let (_, unless) = condition.explain(&facts, ASKER, Reading::Hits);
        let told: Vec<_> = unless
            .into_iter()
            .map(|it| (it.holds, it.why, it.unseen))
            .collect();
        assert_eq!(told, [(Some(holds), why.to_string(), None)], "{command}");
    }
}

#[test]
fn doubt_says_which_rule_and_where() {
    let facts = facts(Path::new("/p"), "Bash", &json!({"command": "$CMD push"}));
    let rule = ToolRule::new("Bash(git push --force*)").unwrap();
    let Truth::Opaque(told) = holds(once(&rule), empty(), &facts, ASKER, Reading::Hits) else {
        panic!()
    };
    assert!(
        told.to_string()
            .starts_with("can't tell whether `Bash(git push --force*)` holds: "),
        "{told}"
    );
    assert!(told.to_string().ends_with(", at `$CMD push`"), "{told}");
}
