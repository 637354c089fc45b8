//! What the book and the drives say of coding agents is what `crates/rules/src/agents` has.

use crate::support::repo;
use hookwire::agents::{AGENTS, Agent, Form, Unit};
use std::fs;

/// The files with generated parts: from a line with `generated: NAME` to one with `end of NAME`.
const FILES: [&str; 4] = [
    "docs/agents.md",
    "docs/managed.md",
    "docs/teams.md",
    ".ci/agents",
];

fn list<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> String {
    texts
        .into_iter()
        .map(|it| format!("`{}`", it.as_ref()))
        .collect::<Vec<_>>()
        .join(", ")
}

/// A table with a row for each agent, or several.
fn table<const N: usize>(head: [&str; N], rows: impl Fn(&Agent) -> Vec<[String; N]>) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | ").replace("|  |", "| |"));
    let mut text = line(&head.map(String::from)) + &"|---".repeat(N) + "|\n";
    for row in AGENTS.iter().flat_map(rows) {
        text.push_str(&line(&row));
    }
    text.replace("|  |", "| |")
}

fn title(agent: &Agent) -> String {
    agent.title.clone()
}

fn is_read(agent: &Agent) -> [String; 3] {
    let (place, plugins) = (&agent.project, agent.plugins.as_ref());
    let (read, timeouts) = match &agent.form {
        Form::Programs => {
            let copies = format!(".hookwire/{}", agent.name);
            let read = format!(
                "the programs in `{}`, one an event; they are copied into `{copies}`",
                place.entry
            );
            (read, "")
        }
        Form::Plugin => ("nothing: its hooks are code that runs within it".into(), ""),
        Form::File(file) => {
            let plugins = plugins
                .map(|it| format!(", plugins' `{}`", it.hooks))
                .unwrap_or_default();
            let timeouts = match &file.unit {
                Unit::Seconds => "seconds",
                Unit::Millis => "milliseconds",
                Unit::ByAmount(since) => &format!(
                    "seconds below 1000, milliseconds from there on, as since {since}; `import` and `check` say where that \
                     was guessed"
                ),
            };
            let place = if place.hooks.is_empty() {
                agent.place(true)
            } else {
                place
            };
            return [title(agent), list(&place.hooks) + &plugins, timeouts.into()];
        }
    };
    [title(agent), read, timeouts.into()]
}

fn gone(agent: &Agent) -> [String; 3] {
    let switch = agent
        .file()
        .and_then(|file| file.fails_closed.as_ref())
        .map(|closed| {
            let value = closed.value.to_string();
            format!(
                "`{}: {}`, since {}",
                closed.member,
                value.trim_matches('"'),
                closed.since
            )
        });
    let none = match (agent.goes_on_without(), agent.package.is_some()) {
        (false, _) => "",
        (true, true) => "with `--user` or `--require`, a command that denies then",
        (true, false) => "with `--require`, a command that denies then",
    };
    [
        title(agent),
        agent.gone.clone(),
        switch.unwrap_or_else(|| none.into()),
    ]
}

fn mcp(agent: &Agent) -> [String; 3] {
    let (name, is_known) = &agent.mcp;
    [title(agent), list([name]), is_known.clone()]
}

fn written(agent: &Agent) -> [String; 5] {
    let also = agent
        .also_reads
        .iter()
        .map(|name| title(hookwire::agents::by_name(name).unwrap()));
    let moved = agent
        .moved_by
        .iter()
        .map(|(variable, folder)| match folder.as_str() {
            "" => format!("`{variable}`: the home"),
            folder => format!("`{variable}`: `~/{folder}`"),
        });
    [
        title(agent),
        list(Some(&agent.project.entry).filter(|it| !it.is_empty())),
        list(
            Some(agent.place(true))
                .filter(|it| !it.entry.is_empty())
                .map(|it| format!("~/{}", it.entry)),
        ),
        moved.collect::<Vec<_>>().join("; "),
        also.collect::<Vec<_>>().join(", "),
    ]
}

fn own(agent: &Agent) -> [String; 5] {
    let off = agent
        .switches
        .iter()
        .map(|(member, off)| match off.is_boolean() {
            true => format!("`{member}: {off}`"),
            false => format!("the hook's name in `{member}`"),
        });
    let others = agent
        .without_hooks
        .iter()
        .map(|it| it.trim_end_matches('*'))
        .map(|it| list([it]));
    let off: Vec<String> = off
        .chain(others)
        .chain(agent.variables.iter().map(|it| list([it])))
        .collect();
    [
        title(agent),
        list(&agent.settings),
        off.join(", "),
        list(&agent.writes),
        list(&agent.hosts),
    ]
}

/// A generated part, by its name.
fn generated(name: &str) -> String {
    match name {
        "unasked" => table(["agent", "isn't told to ask at", "because"], |agent| {
            let row =
                |(event, why): &(String, String)| [list([agent.name]), list([event]), why.clone()];
            agent.unasked.iter().map(row).collect()
        }),
        "asked" => table(
            [
                "agent",
                "started",
                "then a question",
                "hookwire's answer to a question",
            ],
            |agent| {
                agent
                    .asks_nobody
                    .iter()
                    .map(|it| {
                        let answer = if it.of_settings {
                            "about these settings: deny; else it asks"
                        } else {
                            "deny"
                        };
                        [
                            title(agent),
                            it.started.clone(),
                            it.does.clone(),
                            answer.into(),
                        ]
                    })
                    .collect()
            },
        ),
        "import" => table(["agent", "is read", "its timeouts"], |agent| {
            vec![is_read(agent)]
        }),
        "gone" => table(
            [
                "agent",
                "then the tool",
                "what `install` sets so that it doesn't run",
            ],
            |agent| vec![gone(agent)],
        ),
        "missing" => table(["agent", "without hookwire"], |agent| {
            let seen = Some(&agent.missing).filter(|seen| !seen.is_empty());
            seen.map(|seen| [title(agent), format!("it {seen}")])
                .into_iter()
                .collect()
        }),
        "mcp" => table(
            [
                "agent",
                "its name of the tool `send` of `pay`",
                "is `mcp__pay__send`",
            ],
            |agent| vec![mcp(agent)],
        ),
        "managed" => table(
            ["agent", "file", "broken, it", "closed to users, it"],
            |agent| {
                let managed = Some(&agent.managed).filter(|it| it.is_there());
                let row = managed.map(|it| {
                    [
                        title(agent),
                        list([&it.file]),
                        it.broken.clone(),
                        it.unreadable.clone(),
                    ]
                });
                row.into_iter().collect()
            },
        ),
        "described" => table(["agent", "by"], |agent| {
            agent
                .by_description
                .iter()
                .map(|by| [title(agent), by.clone()])
                .collect()
        }),
        "written" => table(
            [
                "agent",
                "in the project",
                "with `--user`",
                "moved by",
                "it also runs the hooks of",
            ],
            |it| vec![written(it)],
        ),
        "own" => table(
            [
                "agent",
                "guarded",
                "switches its hooks off",
                "it writes",
                "it connects to",
            ],
            |it| vec![own(it)],
        ),
        "packages" => {
            let package =
                |agent: &Agent| Some(format!("{}@{}", agent.package.as_ref()?, agent.version));
            format!(
                "packages=\"node@24.21.0 {}\"\n",
                AGENTS
                    .iter()
                    .filter_map(package)
                    .collect::<Vec<_>>()
                    .join(" ")
            )
        }
        _ => panic!("nothing is generated by the name `{name}`"),
    }
}

/// `UPDATE_EXPECT=1` writes them anew.
#[test]
fn tables_of_agents_have_what_is_known_of_them() {
    for file in FILES {
        let path = repo(file);
        let text = fs::read_to_string(&path).unwrap();
        let (mut fresh, mut lines) = (String::new(), text.lines());
        while let Some(line) = lines.next() {
            fresh.push_str(&format!("{line}\n"));
            let Some((_, name)) = line.split_once(" generated: ") else {
                continue;
            };
            let name = name.trim_end_matches("-->").trim();
            let end = lines
                .find(|line| line.contains(&format!(" end of {name}")))
                .expect("the part has an end");
            fresh.push_str(&format!("{}{end}\n", generated(name)));
        }
        assert!(fresh.contains(" generated: "), "{file}");
        match std::env::var_os("UPDATE_EXPECT") {
            Some(_) => fs::write(&path, fresh).unwrap(),
            None => {
                assert!(
                    fresh == text,
                    "{file} isn't what crates/rules/src/agents says: UPDATE_EXPECT=1 writes it anew\n{fresh}"
                )
            }
        }
    }
}

/// A file that can't be read would be an agent that nobody guards.
#[test]
fn every_file_of_an_agent_is_read() {
    let files = fs::read_dir(repo("crates/rules/src/agents"))
        .unwrap()
        .map(|it| it.unwrap().path());
    let files = files
        .filter(|path| path.extension().is_some_and(|it| it == "toml"))
        .count();
    let read = AGENTS.iter().filter(|it| {
        ![&it.title, &it.version, &it.program, &it.gone]
            .iter()
            .any(|it| it.is_empty())
    });
    assert_eq!(read.count(), files);
    // Each was tried, or it is said what hookwire goes by.
    assert!(
        AGENTS
            .iter()
            .all(|it| it.package.is_some() != it.by_description.is_some())
    );
    // Whoever wants it guarded by the machine is told where, or why not.
    for agent in AGENTS.iter() {
        let managed = &agent.managed;
        assert!(
            managed.is_there() == managed.instead.is_empty(),
            "{}",
            agent.name
        );
        let is_tried = !managed.held.is_empty() && !managed.left.is_empty();
        assert_eq!(managed.is_there(), is_tried, "{}", agent.name);
    }
}

/// Pages that list all agents.
#[test]
fn pages_name_every_agent() {
    for (page, part) in [
        ("README.md", "hookwire install claude-code"),
        ("docs/tutorial.md", "write the name of yours"),
    ] {
        let text = fs::read_to_string(repo(page)).unwrap();
        let list = text
            .split(part)
            .nth(1)
            .unwrap_or_else(|| panic!("{page}: {part}"));
        let list: String = list.lines().take(3).collect();
        for agent in AGENTS.iter() {
            assert!(text.contains(&agent.title), "{page}: {}", agent.title);
            assert!(
                agent.name == "claude-code" || list.contains(agent.name),
                "{page}: {}",
                agent.name
            );
        }
    }
    let text = fs::read_to_string(repo("docs/agents.md")).unwrap();
    for agent in AGENTS.iter().filter(|agent| agent.package.is_some()) {
        let row = format!("| {} {}", agent.title, agent.version);
        assert!(
            text.contains(&row),
            "docs/agents.md says nothing of what {row} really did"
        );
    }
}
