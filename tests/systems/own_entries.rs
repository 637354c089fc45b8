//! `install`, `uninstall` and `doctor` touch what is hookwire's own and nothing else: whatever only
//! speaks of hookwire is a person's, or came with a clone.

use super::installed::{Project, files};
use hookwire::agents::{AGENTS, Agent, Form};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Output;

/// Commands that speak of hookwire and aren't its own. `AGENT` is the agent's name.
const SPEAK: &[&str] = &[
    "touch OWNED; : hookwire hook AGENT",
    "hookwire hook AGENT; touch OWNED",
    "hookwire hook AGENT && touch OWNED",
    "hookwire hook AGENT || touch OWNED",
    "hookwire hook AGENT || exit 2; touch OWNED",
    "hookwire hook AGENT || exit 0",
    "hookwire hook AGENT || echo '{\"systemMessage\": \"mine\"}'",
    "hookwire hook AGENT & touch OWNED",
    "hookwire hook AGENT | tee OWNED",
    "hookwire hook AGENT > OWNED",
    "hookwire hook AGENT $(touch OWNED)",
    "hookwire hook AGENT `touch OWNED`",
    "hookwire hook AGENT\ntouch OWNED",
    "touch OWNED # hookwire hook AGENT",
    "./hookwire hook AGENT",
    "../project/hookwire hook AGENT",
    "sh -c 'hookwire hook AGENT'",
    "sh ./hookwire hook AGENT",
    "A=b hookwire hook AGENT",
    "env PATH=. hookwire hook AGENT",
    "$PWD/hookwire hook AGENT",
    "hookwire hook AGENT --no-self-defense",
    "hookwire hook AGENT --root",
    "hookwire hook AGENT more",
    "hookwire  --isolated hook AGENT",
    "hookwire-touch hook AGENT",
    "./scripts/audit.sh && hookwire hook AGENT",
    "echo 'docs: hookwire hook AGENT' >> log",
];

/// A program of the project's own, by the program's name, that leaves a mark when it runs.
const MARKING: &str = "#!/bin/sh\ntouch OWNED\n";

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
}

/// A project with programs of its own, in a repository of git: some agents run hooks nowhere else.
fn project() -> Project {
    let project = Project::new();
    fs::create_dir(project.root().join(".git")).unwrap();
    write(&project.root().join("hookwire"), MARKING);
    project
}

/// Runs a command as a person does on whose `PATH` the program is.
fn run(project: &Project, args: &[&str]) -> Output {
    let bin = Path::new(env!("CARGO_BIN_EXE_hookwire-host"))
        .parent()
        .unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    project.command(args).env("PATH", path).output().unwrap()
}

fn said(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

/// Where an agent is told, and the option that has `install` write there.
fn place(project: &Project, agent: &Agent) -> (PathBuf, Option<&'static str>) {
    match agent.project.entry.is_empty() {
        true => (
            project.0.path().join("home").join(&agent.place(true).entry),
            Some("--user"),
        ),
        false => (project.root().join(&agent.project.entry), None),
    }
}

fn args<'a>(verb: &'a str, agent: &'a Agent, option: Option<&'a str>) -> Vec<&'a str> {
    [Some(verb), Some(agent.name), option]
        .into_iter()
        .flatten()
        .collect()
}

/// What `install` writes for an agent, by the files of it.
fn installed(agent: &Agent) -> Vec<(PathBuf, String)> {
    let project = project();
    let (path, option) = place(&project, agent);
    let output = run(&project, &args("install", agent, option));
    assert!(output.status.success(), "{output:?}");
    match agent.form {
        Form::Programs => files(&path),
        Form::File(_) | Form::Plugin => vec![(path.clone(), fs::read_to_string(&path).unwrap())],
    }
}

/// Settings with other commands in the places of hookwire's, one after the other.
fn with_commands(text: &str, is_toml: bool, agent: &str, commands: &[String]) -> String {
    fn each(value: &mut Value, is_own: &dyn Fn(&str) -> bool, next: &mut dyn FnMut() -> String) {
        match value {
            Value::String(text) if is_own(text) => *text = next(),
            Value::Array(items) => items.iter_mut().for_each(|it| each(it, is_own, next)),
            Value::Object(members) => {
                if let Some(Value::Array(args)) = members.remove("args") {
                    let args = args.iter().map(|it| it.as_str().unwrap());
                    let words = [members["command"].as_str().unwrap()]
                        .into_iter()
                        .chain(args);
                    members["command"] = words.collect::<Vec<_>>().join(" ").into();
                }
                members.values_mut().for_each(|it| each(it, is_own, next));
            }
            _ => {}
        }
    }
    let mut left = commands.iter().cycle().cloned();
    let is_own = |text: &str| text.contains(&format!(" hook {agent} "));
    let mut settings = value_of(text, is_toml);
    each(&mut settings, &is_own, &mut || left.next().unwrap());
    if is_toml {
        toml::to_string(&settings).unwrap()
    } else {
        serde_json::to_string_pretty(&settings).unwrap()
    }
}

fn value_of(text: &str, is_toml: bool) -> Value {
    if is_toml {
        toml::from_str(text).unwrap()
    } else {
        serde_json::from_str(text).unwrap()
    }
}

/// Whether settings have a command of hookwire's, for a shell or without one.
fn asks(text: &str, agent: &Agent) -> bool {
    let name = agent.name;
    text.contains(&format!(" hook {name}")) || text.contains(&format!("\"{name}\""))
}

/// How often each command stands in settings.
fn counts(text: &str, is_toml: bool, commands: &[String]) -> Vec<usize> {
    fn texts(value: &Value) -> Vec<&str> {
        match value {
            Value::String(text) => vec![text],
            Value::Array(items) => items.iter().flat_map(texts).collect(),
            Value::Object(members) => members.values().flat_map(texts).collect(),
            _ => Vec::new(),
        }
    }
    let settings = value_of(text, is_toml);
    let all = texts(&settings);
    commands
        .iter()
        .map(|command| all.iter().filter(|it| *it == command).count())
        .collect()
}

/// The texts of an agent's files in which other commands stand in the places of hookwire's; each
/// file may hold several.
fn others(agent: &Agent, commands: &[String]) -> Vec<Vec<(PathBuf, String)>> {
    let [(path, text), ..] = &installed(agent)[..] else {
        panic!("{}: nothing is installed", agent.name)
    };
    let below = |path: &Path| {
        path.iter()
            .skip_while(|it| *it != "project" && *it != "home")
            .collect::<PathBuf>()
    };
    let one = |command: &String| match &agent.form {
        Form::Programs => format!("#!/bin/sh\n{command}\n"),
        Form::File(_) => with_commands(
            text,
            path.extension().is_some_and(|it| it == "toml"),
            agent.name,
            std::slice::from_ref(command),
        ),
        Form::Plugin => {
            let line = text
                .lines()
                .find(|it| it.starts_with("const COMMAND"))
                .unwrap();
            let words: Vec<&str> = command.split(' ').collect();
            text.replace(
                line,
                &format!(
                    "const COMMAND = {};",
                    serde_json::to_string(&words).unwrap()
                ),
            )
        }
    };
    let gate = match agent.form {
        Form::Programs => below(path).with_file_name("PreToolUse"),
        Form::File(_) | Form::Plugin => below(path),
    };
    commands
        .iter()
        .map(|command| vec![(gate.clone(), one(command))])
        .collect()
}

fn put(project: &Project, files: &[(PathBuf, String)]) {
    files
        .iter()
        .for_each(|(path, text)| write(&project.0.path().join(path), text));
}

fn of_agent(name: &str) -> &'static Agent {
    AGENTS.iter().find(|agent| agent.name == name).unwrap()
}

#[test]
fn what_only_speaks_of_hookwire_is_left_alone() {
    for (n, agent) in AGENTS.iter().enumerate() {
        let mut commands: Vec<String> = SPEAK
            .iter()
            .map(|it| it.replace("AGENT", agent.name))
            .collect();
        // Each agent begins with others.
        commands.rotate_left(n * 7 % SPEAK.len());
        let is_first = agent.name == "claude-code";
        let project = project();
        let (path, option) = place(&project, agent);
        let gate = if matches!(agent.form, Form::Programs) {
            path.join("PreToolUse")
        } else {
            path.clone()
        };
        // All of them in one file where there is room, else the worst of them.
        let all = match &agent.form {
            Form::File(_) => {
                let [(_, text)] = &installed(agent)[..] else {
                    panic!("{}: one file", agent.name)
                };
                let is_toml = path.extension().is_some_and(|it| it == "toml");
                let halves = commands
                    .chunks(commands.len() / 2)
                    .take(if is_first { 2 } else { 1 });
                halves
                    .map(|it| with_commands(text, is_toml, agent.name, it))
                    .collect::<Vec<_>>()
            }
            Form::Programs | Form::Plugin => {
                let worst = [
                    format!("./hookwire hook {}", agent.name),
                    format!("A=b hookwire hook {}", agent.name),
                ];
                others(agent, &worst)
                    .into_iter()
                    .map(|files| files[0].1.clone())
                    .collect()
            }
        };
        for before in all {
            write(&gate, &before);
            let told = said(&run(&project, &["doctor", agent.name]));
            assert!(
                told.contains("left alone and not tried"),
                "{}: {told}",
                agent.name
            );
            let told = said(&run(&project, &args("uninstall", agent, option)));
            assert!(
                told.contains("left alone, because it isn't hookwire's own entry"),
                "{}: {told}",
                agent.name
            );
            assert_eq!(
                fs::read_to_string(&gate).unwrap(),
                before,
                "{}: uninstall",
                agent.name
            );
            let output = run(&project, &args("install", agent, option));
            let installed = fs::read_to_string(&gate).unwrap();
            if matches!(agent.form, Form::File(_)) {
                assert!(output.status.success(), "{}: {output:?}", agent.name);
                let is_toml = path.extension().is_some_and(|it| it == "toml");
                let [kept, there] =
                    [&installed, &before].map(|text| counts(text, is_toml, &commands));
                assert!(
                    kept == there && kept.iter().filter(|n| **n > 0).count() > 1,
                    "{}: {installed}",
                    agent.name
                );
                if is_first {
                    // Both are there now, and hookwire's own is run.
                    let told = said(&run(&project, &["doctor", agent.name]));
                    assert!(
                        told.contains("a probe was denied after"),
                        "{}: {told}",
                        agent.name
                    );
                }
            } else {
                assert!(
                    output.status.code() == Some(2) && installed == before,
                    "{}: {output:?}",
                    agent.name
                );
            }
            run(&project, &args("uninstall", agent, option));
            assert_eq!(
                fs::read_to_string(&gate).unwrap(),
                before,
                "{}: back",
                agent.name
            );
        }
        assert!(
            !project.root().join("OWNED").exists(),
            "{}: something of the project's ran",
            agent.name
        );
    }
}

/// An entry in the very form that `install` writes may have come with a clone, too.
#[test]
fn a_doctor_runs_no_program_and_no_definitions_that_a_clone_brings() {
    const EVIL: &str =
        "hooks: [{ name: evil, on: '*', command: 'touch \"$HOOKWIRE_PROJECT_DIR\"/OWNED' }]\n";
    for (at, agent) in ["claude-code", "copilot", "cline", "opencode", "kiro"]
        .map(of_agent)
        .into_iter()
        .enumerate()
    {
        let rows = [
            (
                "ROOT/hookwire hook AGENT",
                "is a program of the project, and not this one",
            ),
            (
                "ROOT/hookwire-run hook AGENT --root ROOT",
                "is a program of the project, and not this one",
            ),
            (
                "/nowhere/hookwire hook AGENT",
                "a probe was not denied, because /nowhere/hookwire isn't there",
            ),
            (
                "ELSEWHERE/hookwire hook AGENT",
                "is neither this program nor a hookwire on your PATH",
            ),
            (
                "hookwire hook AGENT --live",
                "`--live` has definitions count that you haven't vouched for",
            ),
            (
                "hookwire hook AGENT --hooks evil",
                "`--hooks evil` has definitions count that you haven't vouched for",
            ),
            (
                "hookwire hook AGENT --user-dir ROOT/evil",
                "has definitions count that you haven't vouched for",
            ),
            (
                "hookwire hook AGENT --data-dir ROOT/evil",
                "has definitions count that you haven't vouched for",
            ),
            (
                "hookwire hook AGENT --connect unix:evil.sock",
                "has definitions count that you haven't vouched for",
            ),
        ];
        // All of them for the first agent.
        for (_, (command, why)) in rows
            .iter()
            .enumerate()
            .filter(|(n, _)| at == 0 || (n + at) % 3 == 0)
        {
            let project = project();
            let elsewhere = project.0.path().join("elsewhere");
            let mark = project.root().join("OWNED");
            for program in [
                project.root().join("hookwire-run"),
                elsewhere.join("hookwire"),
            ] {
                write(&program, &format!("#!/bin/sh\ntouch {}\n", mark.display()));
            }
            for file in [".hookwire/evil.yaml", "evil/evil.yaml"] {
                write(&project.root().join(file), EVIL);
            }
            let command = command
                .replace("AGENT", agent.name)
                .replace("ROOT", project.root().to_str().unwrap());
            let command = command.replace("ELSEWHERE", elsewhere.to_str().unwrap());
            put(&project, &others(agent, std::slice::from_ref(&command))[0]);
            let told = said(&run(&project, &["doctor", agent.name]));
            assert!(
                told.contains(why) && !told.contains("a probe was denied after"),
                "{command}: {told}"
            );
            assert!(!mark.exists(), "{command}: something of the project's ran");
            if at > 0 {
                continue;
            }
            // It is hookwire's own all the same, so it is written anew, and that one is run.
            assert!(
                run(&project, &["install", agent.name]).status.success(),
                "{command}"
            );
            let told = said(&run(&project, &["doctor", agent.name]));
            assert!(
                told.contains("a probe was denied after") && !told.contains("wasn't tried"),
                "{command}: {told}"
            );
            assert!(!mark.exists(), "{command}: something of the project's ran");
        }
        // What a person has vouched for on this machine is tried.
        let project = project();
        fs::create_dir(project.root().join("mine")).unwrap();
        for option in [&["--live"][..], &["--hooks", "mine"]] {
            assert!(
                run(&project, &[&["install", agent.name], option].concat())
                    .status
                    .success()
            );
            let told = said(&run(&project, &["doctor", agent.name]));
            assert!(
                told.contains("a probe was denied after"),
                "{} {option:?}: {told}",
                agent.name
            );
        }
    }
}

/// A project may bring what is called like an agent, where `PATH` has a directory of the project's.
#[test]
fn a_doctor_runs_no_agent_that_a_clone_brings() {
    for (n, at) in ["node_modules/.bin", "../outside"].into_iter().enumerate() {
        let project = project();
        let bin = project.root().join(at);
        let mark = project.0.path().join("RAN");
        for agent in AGENTS.iter() {
            write(
                &bin.join(&agent.program),
                &format!("#!/bin/sh\ntouch {}\necho 1.2.3\n", mark.display()),
            );
        }
        // What leads out of the project was chosen by the project all the same.
        let linked = bin.join("claude");
        fs::rename(&linked, project.0.path().join("claude")).unwrap();
        symlink(project.0.path().join("claude"), &linked).unwrap();
        let mut command = project.command(&["doctor"]);
        let path = std::env::var("PATH").unwrap();
        let told = said(
            &command
                .env("PATH", format!("{}:{path}", bin.display()))
                .output()
                .unwrap(),
        );
        let n_told = told
            .matches("which is in the project: it was not run")
            .count();
        assert_eq!(
            (n_told, told.contains("version 1.2.3")),
            if n == 0 {
                (AGENTS.len(), false)
            } else {
                (0, true)
            },
            "{at}: {told}"
        );
        // One that runs does so apart.
        assert!(!mark.exists(), "{at}: {told}");
    }
}

/// Whatever stands in a file before hookwire comes, stands there when it has gone: each byte, the
/// file, the directory.
#[test]
fn what_was_there_before_is_there_again() {
    const JSON: &[&str] = &[
        "",
        "{}",
        "{ }\n",
        "{\"hooks\":{}}",
        "{\"hooks\": {\"PreToolUse\": []}}\n",
        "{\"hooks\": null}",
        "{\r\n\t\"a\": 1,\r\n\t// mine\r\n\t\"b\": [ 1,2 ],\r\n}",
        "\u{feff}{\"version\": 1, \"hooks\": {\"Stop\": []}, \"z\": {}}",
    ];
    const TOML: &[&str] = &[
        "",
        "# mine\n\n\n",
        "model=\"x\"\n[[hooks]]\nevent=\"Stop\"\ncommand=\"true\"",
        "model = \"x\"\r\n\r\n[[hooks]]\r\nevent = \"Stop\"\r\ncommand = \"true\"\r\n",
        "[a]\nb = 1\n\n\n[c]\nd = 2",
    ];
    for (at, agent) in AGENTS
        .iter()
        .filter(|agent| matches!(agent.form, Form::File(_)))
        .enumerate()
    {
        let is_toml = agent
            .place(agent.project.entry.is_empty())
            .entry
            .ends_with(".toml");
        let all = if is_toml { TOML } else { JSON };
        // All of them for the first agent, and for the one whose file is another one.
        for (_, before) in all
            .iter()
            .enumerate()
            .filter(|(n, _)| at == 0 || is_toml || (n + at) % 4 == 0)
        {
            let project = project();
            let (path, option) = place(&project, agent);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, before).unwrap();
            fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
            let is_installed = run(&project, &args("install", agent, option))
                .status
                .success();
            assert!(
                is_installed || before.contains("hooks"),
                "{} {before:?}",
                agent.name
            );
            run(
                &project,
                &[
                    &args("install", agent, option)[..],
                    &["--timeout", "3m", "--require"],
                ]
                .concat(),
            );
            let now = fs::read_to_string(&path).unwrap();
            assert!(
                asks(&now, agent) == is_installed,
                "{} {before:?}",
                agent.name
            );
            run(&project, &args("uninstall", agent, option));
            let after = fs::read_to_string(&path).ok();
            assert_eq!(after.as_deref(), Some(*before), "{}", agent.name);
            assert_eq!(
                path.metadata().unwrap().permissions().mode() & 0o777,
                0o600,
                "{}",
                agent.name
            );
        }
    }
}

/// What a person writes while hookwire is installed stays, and what `install` hasn't made is never
/// deleted.
#[test]
fn what_is_written_meanwhile_stays() {
    let before = "{\n  // mine\n  \"model\": \"opus\"\n}\n";
    for (at, agent) in AGENTS
        .iter()
        .filter(|agent| !agent.project.entry.is_empty())
        .enumerate()
    {
        let Form::File(file) = &agent.form else {
            continue;
        };
        for before in [None, Some(before)]
            .into_iter()
            .skip(at % 2)
            .take(if at == 0 { 2 } else { 1 })
        {
            let project = project();
            let (path, _) = place(&project, agent);
            if let Some(before) = before {
                write(&path, before);
            }
            run(&project, &["install", agent.name]);
            let installed = fs::read_to_string(&path).unwrap();
            write(
                &path,
                &installed.replacen('{', "{\n  \"added\": [ 1,2 ],", 1),
            );
            // Again, with other options, over what a person has changed.
            run(&project, &["install", agent.name, "--timeout", "2m"]);
            run(&project, &["uninstall", agent.name]);
            let after = fs::read_to_string(&path).unwrap();
            assert!(
                after.contains("\"added\": [ 1,2 ]"),
                "{}: {after}",
                agent.name
            );
            assert!(!after.contains(" hook "), "{}: {after}", agent.name);
            assert_eq!(
                after.contains("// mine"),
                before.is_some(),
                "{}: {after}",
                agent.name
            );
        }
        // A team's file came with the clone, and only hookwire's entries are in it.
        let text = installed(agent).remove(0).1;
        let project = project();
        let (path, _) = place(&project, agent);
        write(&path, &text);
        run(&project, &["uninstall", agent.name]);
        let after = fs::read_to_string(&path).unwrap_or_default();
        assert!(!after.contains(" hook "), "{}: {after}", agent.name);
        // All of some files is hookwire's.
        assert_eq!(path.exists(), file.own.is_none(), "{}", agent.name);
        assert!(
            path.parent().unwrap().is_dir(),
            "{}: install hasn't made it",
            agent.name
        );
    }
}

/// A whole copy is kept before each write, where nobody but the person looks, and not for ever.
#[test]
fn a_copy_is_kept_before_each_write() {
    let project = project();
    let path = project.root().join(".claude/settings.local.json");
    let entries = project.0.path().join("home/.local/share/hookwire/entries");
    let mine = "{ \"model\": \"opus\", \"env\": { \"TOKEN\": \"secret\" } }\n";
    write(&path, mine);
    let told = said(&run(&project, &["install", "claude-code"]));
    let copies: Vec<_> = files(&entries)
        .into_iter()
        .filter(|(path, _)| path.to_str().unwrap().contains("/copies/"))
        .collect();
    let [(copy, text)] = &copies[..] else {
        panic!("{copies:?}")
    };
    assert!(
        text == mine
            && told.contains(&format!(
                "a copy of it as it was is kept in {}",
                copy.display()
            )),
        "{told}"
    );
    assert_eq!(copy.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(
        copy.parent()
            .unwrap()
            .metadata()
            .unwrap()
            .permissions()
            .mode()
            & 0o777,
        0o700
    );
    for n in 0..20 {
        run(
            &project,
            &[
                "install",
                "claude-code",
                "--timeout",
                &format!("{}s", 60 + n),
            ],
        );
    }
    let copies = fs::read_dir(copy.parent().unwrap()).unwrap().count();
    assert!((2..=9).contains(&copies), "{copies}");
    run(&project, &["uninstall", "claude-code"]);
    assert_eq!(
        fs::read_to_string(&path).unwrap(),
        mine,
        "the first one is the last to go"
    );
}

/// What is edited in a file of TOML while hookwire is in it, stays as it would have been without:
/// no line more.
#[test]
fn no_blank_lines_are_left_in_toml() {
    let agent = of_agent("kimi");
    for before in [
        "# top\n[[hooks]]\nevent = 'Stop'\ncommand = 'x'\n",
        "a = 1\r\n[[hooks]]\r\nevent = 'Stop'\r\ncommand = 'x'\r\n",
    ] {
        let project = project();
        let path = project.0.path().join("home").join(&agent.place(true).entry);
        write(&path, before);
        run(&project, &["install", "kimi", "--user"]);
        let more = "\n# mine\n[mine]\nx = 1\n";
        write(&path, &(fs::read_to_string(&path).unwrap() + more));
        run(&project, &["uninstall", "kimi", "--user"]);
        assert_eq!(
            fs::read_to_string(&path).unwrap(),
            format!("{before}{more}")
        );
    }
}

/// Where no copy can be kept nothing is written, and the place of the copies is told.
#[test]
fn a_place_without_room_for_copies_is_named() {
    let project = project();
    write(
        &project.0.path().join("home/.local/share/hookwire"),
        "a file",
    );
    let told = said(&run(&project, &["install", "claude-code"]));
    let place = project.0.path().join("home/.local/share/hookwire/entries");
    assert!(
        told.contains(&format!(
            "a copy of it can't be kept in {}",
            place.display()
        )),
        "{told}"
    );
    assert!(!project.root().join(".claude").exists());
}

/// A file of hookwire's alone takes the place of a link for as long as it is there.
#[test]
fn a_link_is_there_again() {
    for agent in ["copilot", "grok", "opencode"].map(of_agent) {
        let project = project();
        let (path, _) = place(&project, agent);
        let outside = project.0.path().join("outside");
        write(&outside, "mine");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(&outside, &path).unwrap();
        assert!(
            run(&project, &["install", agent.name]).status.success(),
            "{}",
            agent.name
        );
        assert!(fs::read_link(&path).is_err(), "{}", agent.name);
        assert!(
            run(&project, &["uninstall", agent.name]).status.success(),
            "{}",
            agent.name
        );
        assert_eq!(
            (
                fs::read_link(&path).unwrap(),
                fs::read_to_string(&outside).unwrap()
            ),
            (outside, "mine".into())
        );
    }
}

/// To carry over a hook that asks hookwire would make it ask for ever.
#[test]
fn a_hook_that_asks_hookwire_isnt_carried_over() {
    let project = project();
    let hook =
        |command: &str| format!(r#"{{"hooks": [{{"type": "command", "command": "{command}"}}]}}"#);
    let hooks = [
        hook("./audit.sh && hookwire hook claude-code"),
        hook("./mine.sh"),
        hook("hookwire hook claude-code"),
    ];
    write(&project.root().join("audit.sh"), "#!/bin/sh\n");
    write(&project.root().join("mine.sh"), "#!/bin/sh\n");
    let settings = format!(r#"{{"hooks": {{"PreToolUse": [{}]}}}}"#, hooks.join(", "));
    write(&project.root().join(".claude/settings.json"), &settings);
    let told = said(&run(&project, &["import", "claude-code"]));
    assert!(told.contains("it would ask for ever"), "{told}");
    let text = fs::read_to_string(project.root().join(".hookwire/claude-code.yaml")).unwrap();
    assert!(
        text.contains("mine.sh") && !text.contains("hookwire hook"),
        "{text}"
    );
    assert!(
        text.contains("# Not carried over: ") && text.matches("- name").count() == 1,
        "{text}"
    );
}
