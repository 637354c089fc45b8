//! Whatever breaks, a call that is denied doesn't run: agent by agent, by the agent's own rule for
//! what its hook has said, and with its entry as `install` writes it. Nor is an agent ever kept from
//! its rest. The table is tests/data/agents/broken.txt; `tests/clients/agents.py --broken` makes the
//! same of the real agents.

use super::no_silence::{Installed, running};
use crate::support::*;
use hookwire::agents::{AGENTS, Agent, Form};
use hookwire::event::{EVENTS, Phase};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Output;

const COLUMNS: [&str; 12] = [
    "agent",
    "fine",
    "host killed",
    "host stopped",
    "broken",
    "broken, host killed",
    "removed",
    "removed, host killed",
    "no runtime directory",
    "large program gone",
    "and an event that can't be told",
    "and at all events",
];

/// Whether an agent obeys what its hook has said as a "no".
fn is_no(agent: &Agent, output: &Output) -> bool {
    let reply: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let (code, specific) = (output.status.code(), &reply["hookSpecificOutput"]);
    let fails_closed = |agent: &Agent| {
        let closed = agent.file().and_then(|file| file.fails_closed.as_ref());
        closed.is_some() || agent.name == "copilot"
    };
    let by_exit = match agent.name {
        "cline" | "antigravity" => false,
        "gemini" => !matches!(code, Some(0 | 1)),
        _ if matches!(agent.form, Form::Plugin) || fails_closed(agent) => code != Some(0),
        _ => code == Some(2),
    };
    let words = [
        &reply["decision"],
        &reply["permission"],
        &reply["permissionDecision"],
        &reply["behavior"],
        &specific["permissionDecision"],
        &specific["decision"]["behavior"],
    ];
    let by_reply = match agent.name {
        "cline" => reply["cancel"] == true,
        "kiro" | "windsurf" => false,
        _ if matches!(agent.form, Form::Plugin) => reply["deny"].is_string(),
        _ => {
            reply["continue"] == false || words.into_iter().any(|it| it == "deny" || it == "block")
        }
    };
    by_exit || by_reply
}

/// The events at which an agent asks, each with its canonical name and whether a failure is a "no"
/// there. Other tests hold the list to the dialects.
fn moments(agent: &str) -> Vec<(&'static str, &'static str, bool)> {
    static MOMENTS: &str = include_str!("../data/agents/moments.txt");
    let mut found: Vec<(&str, &str, bool)> = Vec::new();
    let mut is_its = false;
    for line in MOMENTS.lines() {
        match (line.strip_prefix("    "), line.split_once(" = ")) {
            (Some(said), _) if is_its => {
                if let (Some(words), Some(last)) =
                    (said.strip_prefix("failure: "), found.last_mut())
                {
                    last.2 = words != "-";
                }
            }
            (None, Some((names, canonical))) => {
                let (of, name) = names.split_once(' ').unwrap();
                is_its = of == agent;
                found.extend(is_its.then_some((name, canonical, false)));
            }
            _ => {}
        }
    }
    found
}

impl Installed {
    /// What comes of the call that is denied; one that isn't goes on.
    fn call_is(&self) -> &'static str {
        let ask = |call: &Value| self.ask(self.place(), self.gate(), call.to_string().as_bytes());
        let allowed = ask(&running(&self.call, "ls"));
        let is_allowed = !is_no(self.agent, &allowed);
        assert!(is_allowed, "{}: {allowed:?}", self.agent.name);
        self.denied_is()
    }

    fn denied_is(&self) -> &'static str {
        let call = self.call.to_string();
        let said = self.ask(self.place(), self.gate(), call.as_bytes());
        if is_no(self.agent, &said) {
            "held"
        } else {
            "RUNS"
        }
    }

    /// Puts the small program alone in the place of the program.
    fn leave_alone(&self) {
        let alone = self.project.0.path().join("alone");
        fs::create_dir(&alone).unwrap();
        let small = super::installed::small();
        let program = alone.join(small.file_name().unwrap());
        copy_program(&small, &program);
        fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
        let path = self.path(self.place());
        let files = match &self.agent.form {
            Form::Programs => fs::read_dir(path)
                .unwrap()
                .map(|it| it.unwrap().path())
                .collect(),
            Form::File(_) | Form::Plugin => vec![path],
        };
        for file in files {
            let entry = fs::read_to_string(&file).unwrap();
            let moved = entry.replace(small.to_str().unwrap(), program.to_str().unwrap());
            assert_ne!(entry, moved, "{}", file.display());
            fs::write(file, moved).unwrap();
        }
    }

    /// At which events the small program alone says no: at those before something happens.
    fn alone_at_all_events(&self) -> String {
        let members = [
            "hook_event_name",
            "hookEventName",
            "agent_action_name",
            "event",
        ];
        let member = members.iter().find(|it| self.call.get(**it).is_some());
        let (mut n_denied, mut n_silent, mut wrong) = (0, 0, Vec::new());
        for (name, canonical, fails) in moments(self.agent.name) {
            let payload = json!({ *member.unwrap_or(&"none"): name }).to_string();
            let said = self.ask(self.place(), name, payload.as_bytes());
            let is_ahead = EVENTS
                .iter()
                .any(|it| it.name == canonical && it.phase == Phase::Gate && !it.rest);
            let is_denied = is_no(self.agent, &said);
            // Who is told nothing goes on, and a person finds the reason.
            let is_quiet = said.status.success() && said.stdout.is_empty();
            if is_denied != (fails && is_ahead) || is_denied == is_quiet {
                wrong.push(format!("{name}: {said:?}"));
            }
            if is_denied {
                n_denied += 1
            } else {
                n_silent += 1
            }
        }
        assert!(wrong.is_empty(), "{}: {wrong:?}", self.agent.name);
        format!("no at {n_denied}, nothing at {n_silent}")
    }

    fn broken_row(&self) -> [String; 12] {
        let definitions = self.project.root().join(".hookwire/guard.yaml");
        let text = fs::read_to_string(&definitions).unwrap();
        let fine = self.call_is();
        self.project.kill_host();
        let killed = self.call_is();
        self.project.signal(rustix::process::Signal::STOP);
        let stopped = self.denied_is();
        self.project.kill_host();
        fs::write(&definitions, "hooks: [{").unwrap();
        self.call_is();
        let broken = self.call_is();
        self.project.kill_host();
        let broken_cold = self.call_is();
        fs::write(&definitions, &text).unwrap();
        self.call_is();
        fs::remove_file(&definitions).unwrap();
        let removed = self.call_is();
        self.project.kill_host();
        let removed_cold = self.call_is();
        self.project.kill_host();
        let runtime = self.project.0.path().join("run");
        fs::remove_dir_all(&runtime).unwrap();
        fs::write(&runtime, "").unwrap();
        let no_runtime = self.denied_is();
        self.leave_alone();
        let alone = self.denied_is();
        let names_event = self.entry_names_event();
        let untold = self.ask(self.place(), self.gate(), b"\0");
        let untold = match is_no(self.agent, &untold) {
            _ if names_event => "can't be: the entry names it",
            true => "held",
            false => "RUNS",
        };
        let cells = [
            self.agent.name,
            fine,
            killed,
            stopped,
            broken,
            broken_cold,
            removed,
            removed_cold,
            no_runtime,
            alone,
            untold,
        ];
        let cells = cells.map(String::from).into_iter();
        let all: Vec<String> = cells.chain([self.alone_at_all_events()]).collect();
        all.try_into().unwrap()
    }
}

/// `UPDATE_EXPECT=1` writes the table anew.
#[test]
fn whatever_breaks_a_denied_call_does_not_run() {
    let mut rows = vec![COLUMNS.map(String::from)];
    rows.extend(std::thread::scope(|scope| {
        let of_some = |agents: &'static [Agent]| {
            scope.spawn(|| {
                let rows = agents
                    .iter()
                    .map(|agent| Installed::new(agent).broken_row());
                rows.collect::<Vec<_>>()
            })
        };
        let threads: Vec<_> = AGENTS.chunks(2).map(of_some).collect();
        threads
            .into_iter()
            .flat_map(|it| it.join().unwrap())
            .collect::<Vec<_>>()
    }));
    let width = |at: usize| rows.iter().map(|row| row[at].len()).max().unwrap();
    let line = |row: &[String; 12]| {
        let cells = row
            .iter()
            .enumerate()
            .map(|(at, cell)| format!("{cell:<0$}", width(at)));
        cells.collect::<Vec<_>>().join(" | ").trim_end().to_string() + "\n"
    };
    let table: String = rows.iter().map(line).collect();
    let path = repo("tests/data/agents/broken.txt");
    match std::env::var_os("UPDATE_EXPECT") {
        Some(_) => fs::write(path, &table).unwrap(),
        None => assert_eq!(fs::read_to_string(path).unwrap(), table),
    }
    assert!(!table.contains("RUNS"), "{table}");
}
