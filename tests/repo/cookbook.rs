//! The rules of the cookbook do what their cases say, and leave ordinary work alone.

use crate::support::*;
use hookwire::cases::{self, Cases};
use hookwire::{Decision, Event, Host};
use serde_json::{Value, json};
use std::fs::{read_dir, read_to_string, write};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A rule of the cookbook, in force by itself, with its cases.
struct Rule {
    name: String,
    text: String,
    /// The names of its hooks.
    hooks: Vec<String>,
    cases: Cases,
    host: Arc<Host>,
    /// `hooks` with the rule, and `work`, in which everything takes place.
    _dir: tempfile::TempDir,
}

/// The rules' names, in order.
fn names() -> Vec<String> {
    let files = read_dir(repo("examples/cookbook"))
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let files = files.filter(|path| cases::is_definition_file(path));
    let mut names: Vec<_> = files
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_string())
        .collect();
    names.sort();
    names
}

fn rule(name: String) -> Rule {
    let cases_file = format!("examples/cookbook/{name}.test.yaml");
    let cases = cases::read(&cases_file, &read_to_string(repo(&cases_file)).unwrap());
    let cases = cases.unwrap_or_else(|problems| panic!("{}", problems[0].one_line()));
    let text = read_to_string(repo(&format!("examples/cookbook/{name}.yaml"))).unwrap();
    let dir = hooks(&[(&format!("hooks/{name}.yaml"), &text)]);
    let work = dir.path().join("work");
    std::fs::create_dir_all(&work).unwrap();
    if let Some(setup) = &cases.setup {
        let status = Command::new("sh")
            .args(["-euc", setup])
            .current_dir(&work)
            .status()
            .unwrap();
        assert!(status.success(), "{cases_file}: setup: {status}");
    }
    let host = Host::builder()
        .root(work)
        .hooks(dir.path().join("hooks"))
        .system(false)
        .obeys([Decision::Ask]);
    let named = |line: &str| {
        line.trim_start_matches([' ', '-'])
            .strip_prefix("name: ")
            .map(str::to_string)
    };
    let hooks = text.lines().filter_map(named).collect();
    Rule {
        name,
        text,
        hooks,
        cases,
        host: host.build().unwrap(),
        _dir: dir,
    }
}

impl Rule {
    /// Whether a command gets anything but an allow as it is.
    async fn stops(&self, command: &str) -> bool {
        let verdict = self.host.dispatch(bash(command)).await;
        verdict.decision != Decision::Allow || verdict.subject.is_some()
    }

    fn is_act(&self, command: &str) -> bool {
        self.cases
            .act
            .as_ref()
            .is_some_and(|act| act.is_match(command))
    }

    /// Whether it judges commands one by one: others are about other tools, count, or stop all but
    /// a few.
    fn judges_commands(&self) -> bool {
        let is_about = |it: &&str| self.text.contains(it);
        ["Bash", "Read|"].iter().any(is_about) && !self.is_act("")
    }
}

/// A command in a session of its own, for the rules that count.
fn bash(command: &str) -> Event {
    static SESSIONS: AtomicUsize = AtomicUsize::new(0);
    let session = format!("ordinary-{}", SESSIONS.fetch_add(1, Ordering::Relaxed));
    let event = json!({"event": "PreToolUse", "session": session, "tool": {"name": "Bash", "input": {"command": command}}});
    Event::from_json(event).unwrap()
}

/// Of so many ordinary commands, `cargo test` tries one.
const SAMPLE: usize = 8;

/// How many more a rule may stop in a sample, because the few that it stops of all may be in it.
fn by_chance() -> usize {
    if is_full() { 0 } else { 2 }
}

/// For each command, the rules by their place that stop it. One host with all rules says which are
/// concerned, because most commands concern none; each of these is then asked by itself.
fn stopped_by(rules: &Arc<Vec<Rule>>, commands: Vec<String>) -> Vec<Vec<usize>> {
    let files: Vec<_> = rules
        .iter()
        .map(|rule| (format!("{}.yaml", rule.name), rule.text.clone()))
        .collect();
    let files: Vec<_> = files
        .iter()
        .map(|(name, text)| (&**name, &**text))
        .collect();
    let dir = hooks(&files);
    let host = Host::builder()
        .root(dir.path())
        .hooks(dir.path())
        .system(false)
        .obeys([Decision::Ask])
        .build()
        .unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let tasks: Vec<_> = commands
            .chunks(commands.len().div_ceil(2))
            .map(|commands| {
                let (commands, rules, host) = (commands.to_vec(), rules.clone(), host.clone());
                tokio::spawn(async move {
                    let mut found = Vec::new();
                    for command in commands {
                        let verdict = host.dispatch(bash(&command)).await;
                        let mut stopping = Vec::new();
                        for (at, rule) in rules.iter().enumerate() {
                            let is_concerned = verdict
                                .outcomes
                                .iter()
                                .any(|it| rule.hooks.iter().any(|hook| **hook == *it.hook));
                            if is_concerned && rule.stops(&command).await {
                                stopping.push(at);
                            }
                        }
                        found.push(stopping);
                    }
                    found
                })
            })
            .collect();
        let mut found = Vec::new();
        for task in tasks {
            found.extend(task.await.unwrap());
        }
        found
    })
}

#[test]
fn cases_are_as_expected_and_reach_everything() {
    if !is_there("git") {
        return;
    }
    let output = hookwire()
        .args(["test", "--coverage"])
        .arg(repo("examples/cookbook"))
        .output()
        .unwrap();
    let (text, errors) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(output.status.success(), "{text}{errors}");
    let last = text.lines().last().unwrap();
    assert!(
        last.ends_with(&format!(
            " cases in {} files, 0 not as expected",
            names().len()
        )),
        "{last}"
    );
    let counted = text
        .lines()
        .filter(|line| line.ends_with(" rules, sides and failures reached"))
        .count();
    let unreached: Vec<_> = text
        .lines()
        .filter(|line| line.contains("no case reaches"))
        .collect();
    assert!(
        counted == names().len() && unreached.is_empty(),
        "{counted} files: {unreached:#?}"
    );
}

/// Homes are at other places, too: in containers, and where a build has one of its own.
#[test]
fn cases_are_as_expected_in_any_home() {
    let home = tempfile::tempdir().unwrap();
    let is_about_home = |name: &String| {
        let of =
            |ending| read_to_string(repo(&format!("examples/cookbook/{name}{ending}"))).unwrap();
        of(".yaml").contains("~/") || of(".test.yaml").contains("~/")
    };
    let files = names()
        .into_iter()
        .filter(is_about_home)
        .map(|it| repo(&format!("examples/cookbook/{it}.test.yaml")));
    let output = hookwire()
        .arg("test")
        .args(files)
        .env("HOME", home.path())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stdout)
    );
}

#[test]
fn every_rule_has_enough_cases() {
    // They decide nothing.
    let observers = ["audit-log", "notify-on-stop"];
    for name in names() {
        let text = read_to_string(repo(&format!("examples/cookbook/{name}.test.yaml"))).unwrap();
        let n_allow = text.matches("expect: allow").count();
        let n_other = text.matches("expect: ").count() - n_allow;
        assert!(
            n_allow >= 6 && (n_other >= 6 || observers.contains(&&*name)),
            "{name}: {n_other}, {n_allow}"
        );
    }
}

/// What agents and people really run: a rule stops only what it is there for.
#[test]
fn ordinary_commands_pass() {
    let rows = read_to_string(repo("tests/data/corpora/ordinary_commands.jsonl")).unwrap();
    let rows: Vec<(bool, String)> = rows
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .map(|row| {
            (
                row["from"].as_str().unwrap().contains("agent"),
                row["command"].as_str().unwrap().into(),
            )
        })
        .collect();
    let rows = sampled(rows, SAMPLE);
    let rules: Vec<Rule> = names()
        .into_iter()
        .map(rule)
        .filter(Rule::judges_commands)
        .collect();
    let rules = Arc::new(rules);
    let found = stopped_by(
        &rules,
        rows.iter().map(|(_, command)| command.clone()).collect(),
    );
    let mut failures = Vec::new();
    for (at, rule) in rules.iter().enumerate() {
        // In thousandths.
        for (of_agent, from, limit) in [(true, "the agent's", 5), (false, "NL2Bash's", 20)] {
            let n_rows = rows
                .iter()
                .filter(|(is_agent, _)| *is_agent == of_agent)
                .count();
            let stopped = rows
                .iter()
                .zip(&found)
                .filter(|((is_agent, command), stopping)| {
                    *is_agent == of_agent && stopping.contains(&at) && !rule.is_act(command)
                });
            let stopped: Vec<_> = stopped.map(|((_, command), _)| command).collect();
            println!(
                "{}: {} of {from} {n_rows} are stopped",
                rule.name,
                stopped.len()
            );
            if stopped.len() > n_rows * limit / 1000 + by_chance() {
                let examples: Vec<String> = stopped
                    .iter()
                    .map(|it| it.chars().take(160).collect())
                    .take(40)
                    .collect();
                failures.push(format!(
                    "{}: {} of {from}: {examples:#?}",
                    rule.name,
                    stopped.len()
                ));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// What people get who say nothing: of all that agents and people run, one command in 200 at most is
/// denied, and one in twenty asked about.
#[test]
fn the_recommended_set_denies_few() {
    let dir = tempfile::tempdir().unwrap();
    let (home, project) = (dir.path().join("home"), dir.path().join("project"));
    std::fs::create_dir_all(project.join(".git")).unwrap();
    std::fs::create_dir_all(&home).unwrap();
    let written = hookwire()
        .args(["init", "--yes", "--agents", "kimi"])
        .args(["--user-dir".into(), home.join("config")])
        .args(["--data-dir".into(), home.join("data")])
        .current_dir(&project)
        .env("HOME", &home)
        .output()
        .unwrap();
    let n_files = read_dir(project.join(".hookwire")).unwrap().count();
    assert_eq!(n_files, 20, "{}", String::from_utf8_lossy(&written.stderr));
    let host = Host::builder()
        .root(&project)
        .hooks(project.join(".hookwire"))
        .system(false)
        .obeys([Decision::Ask])
        .build()
        .unwrap();
    let rows = read_to_string(repo("tests/data/corpora/ordinary_commands.jsonl")).unwrap();
    let rows: Vec<Value> = rows
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let rows = sampled(rows, SAMPLE);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (mut denied, mut n_asked) = (Vec::new(), 0);
    for row in &rows {
        let command = row["command"].as_str().unwrap();
        match runtime.block_on(host.dispatch(bash(command))).decision {
            Decision::Deny => denied.push(command),
            Decision::Ask => n_asked += 1,
            Decision::Allow | Decision::Defer => {}
        }
    }
    println!(
        "{} denied and {n_asked} asked of {}",
        denied.len(),
        rows.len()
    );
    assert!(
        denied.len() <= rows.len() / 200 + by_chance(),
        "{denied:#?}"
    );
    assert!(n_asked <= rows.len() / 20 + 10 * by_chance(), "{n_asked}");
}

/// A use of a program that rules guard.
struct Use {
    file: String,
    /// The rules whose act it is.
    acts: Vec<String>,
    program: String,
    command: String,
}

impl Use {
    /// A line is `PROGRAM<TAB>command`, or `!RULE,RULE<TAB>PROGRAM<TAB>command` if the use is the
    /// act of these rules. In a line that begins with `$'`, `\n` is a line's end and `\\` is a
    /// backslash.
    fn from_line(file: &str, line: &str) -> Use {
        let decoded = line.strip_prefix("$'").map(|rest| {
            let parts: Vec<_> = rest
                .split(r"\\")
                .map(|part| part.replace(r"\n", "\n"))
                .collect();
            parts.join(r"\")
        });
        let line = decoded.as_deref().unwrap_or(line);
        let read = match line.strip_prefix('!') {
            Some(marked) => marked.split_once('\t'),
            None => Some(("", line)),
        };
        let read = read.and_then(|(acts, rest)| Some((acts, rest.split_once('\t')?)));
        let Some((acts, (program, command))) = read else {
            panic!("{file}: no use: {line}")
        };
        let acts = acts
            .split(',')
            .filter(|act| !act.is_empty())
            .map(str::to_string)
            .collect();
        Use {
            file: file.into(),
            acts,
            program: program.into(),
            command: command.into(),
        }
    }
}

fn ordinary_uses() -> Vec<Use> {
    let files = read_dir(repo("tests/data/ordinary_uses"))
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = files.collect();
    files.sort();
    let read = |path: &std::path::PathBuf| {
        let file = path.file_name().unwrap().to_str().unwrap().to_string();
        let text = read_to_string(path).unwrap();
        let lines = text
            .lines()
            .filter(|line| !line.is_empty() && !line.starts_with('#'));
        lines
            .map(|line| Use::from_line(&file, line))
            .collect::<Vec<_>>()
    };
    files.iter().flat_map(read).collect()
}

/// A rule stops its acts, and of other uses of its programs, and of other programs, at most one in
/// fifty.
#[test]
fn ordinary_uses_pass() {
    let uses = ordinary_uses();
    assert!(uses.len() >= 6000, "only {} uses", uses.len());
    let known = names();
    let strange: Vec<_> = uses
        .iter()
        .flat_map(|it| &it.acts)
        .filter(|act| !known.contains(act))
        .collect();
    assert!(strange.is_empty(), "no such rules: {strange:?}");

    let rules = Arc::new(
        known
            .into_iter()
            .map(rule)
            .filter(Rule::judges_commands)
            .collect::<Vec<_>>(),
    );
    let uses = sampled(uses, SAMPLE);
    let found = stopped_by(&rules, uses.iter().map(|it| it.command.clone()).collect());
    let mut failures = Vec::new();
    for (at, rule) in rules.iter().enumerate() {
        let mut n_acts = 0;
        // Uses of its programs, and of others.
        let (mut own, mut others) = ((0, Vec::new()), (0, Vec::new()));
        for (it, stopping) in uses.iter().zip(&found) {
            let stops = stopping.contains(&at);
            if it.acts.contains(&rule.name) {
                n_acts += 1;
                if !stops {
                    failures.push(format!(
                        "{}: {}: `{}` passes",
                        rule.name, it.file, it.command
                    ));
                }
                continue;
            }
            let is_guarded = rule.text.contains(&format!("Bash({} ", it.program));
            let (n_uses, stopped) = if is_guarded { &mut own } else { &mut others };
            *n_uses += 1;
            if stops {
                stopped.push(format!("{}: {}", it.file, it.command));
            }
        }
        println!(
            "{}: {n_acts} acts; stopped are {} of {} other uses of its programs ({:.1} %), and {} of {} of other programs",
            rule.name,
            own.1.len(),
            own.0,
            100.0 * own.1.len() as f64 / own.0.max(1) as f64,
            others.1.len(),
            others.0,
        );
        for (n_uses, stopped) in [&own, &others] {
            if stopped.len() > n_uses / 50 + by_chance() {
                failures.push(format!(
                    "{}: of {n_uses} uses these are stopped: {stopped:#?}",
                    rule.name
                ));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn init_writes_rules_and_never_over_a_file() {
    let dir = tempfile::tempdir().unwrap();
    let init = |args: &[&str]| {
        let output = hookwire()
            .current_dir(dir.path())
            .arg("init")
            .args(args)
            .output()
            .unwrap();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        (
            output.status.code().unwrap(),
            text(&output.stdout),
            text(&output.stderr),
        )
    };
    let file = dir.path().join(".hookwire/no-sudo.yaml");
    for (args, code, says) in [
        (
            &["no-such-rule"][..],
            2,
            "no rule of the cookbook is called `no-such-rule`",
        ),
        (&["no-sudo", "no-sodu"], 2, "did you mean `no-sudo`?"),
        (&["./hooks"], 2, "For a directory write --hooks DIR"),
        (
            &["no-sudo", "budget"],
            0,
            "Wrote .hookwire/no-sudo.yaml.\nWrote .hookwire/no-sudo.test.yaml.\nWrote .hookwire/budget.yaml.\n",
        ),
        (
            &["no-sudo", "readonly"],
            0,
            "no-sudo.test.yaml is there already, with the same text.\nWrote .hookwire/readonly.yaml.",
        ),
        (
            &["--hooks", ".hookwire/no-sudo.yaml", "budget"],
            2,
            "it is a file; name a directory",
        ),
        (
            &["--hooks", "other", "no-sudo"],
            0,
            "Wrote other/no-sudo.yaml.",
        ),
    ] {
        let (found, out, err) = init(args);
        assert!(
            found == code && format!("{out}{err}").contains(says),
            "{args:?}: {found} {out}{err}"
        );
        assert!(
            file.exists() || code == 2,
            "{args:?} wrote before it failed"
        );
    }
    assert_eq!(
        read_to_string(&file).unwrap(),
        read_to_string(repo("examples/cookbook/no-sudo.yaml")).unwrap()
    );
    write(&file, "hooks: []").unwrap();
    let (code, out, _) = init(&["no-sudo"]);
    assert!(
        code == 1 && out.contains("with another text; it was left as it is"),
        "{out}"
    );
    assert_eq!(read_to_string(&file).unwrap(), "hooks: []");
}

/// The list, the files and the table of the book are one.
#[test]
fn every_rule_is_listed() {
    let output = hookwire()
        .args(["init", "--list", "--format", "json"])
        .output()
        .unwrap();
    let listed: Vec<Value> = output
        .stdout
        .split(|b| *b == b'\n')
        .filter_map(|line| serde_json::from_slice(line).ok())
        .collect();
    let rows: Vec<_> = listed
        .iter()
        .map(|it| (it["name"].as_str().unwrap(), it["about"].as_str().unwrap()))
        .collect();
    let mut sorted: Vec<_> = rows.iter().map(|(name, _)| name.to_string()).collect();
    sorted.sort();
    assert_eq!(sorted, names());
    let page = read_to_string(repo("docs/cookbook.md")).unwrap();
    let table = |(name, about): &(&str, &str)| {
        format!("| [`{name}`](../examples/cookbook/{name}.yaml) | {about} |\n")
    };
    let expected: String = rows.iter().map(table).collect();
    assert!(
        page.contains(&expected),
        "docs/cookbook.md lacks this table:\n{expected}"
    );
    for (name, about) in rows {
        assert!(
            about.ends_with('.') && about.len() <= 110,
            "{name}: {about}"
        );
        let text = read_to_string(repo(&format!("examples/cookbook/{name}.yaml"))).unwrap();
        assert!(text.contains("\n# Limit: "), "{name} doesn't say its limit");
    }
}
