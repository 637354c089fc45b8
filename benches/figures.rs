//! The figures that hookwire is held to, as ratios to a floor measured in the same run.
//!
//! `cargo bench --profile dist --bench figures` prints one table in about two minutes, and fails
//! when a figure misses its "at least". After `--`: names of rows to measure, `--quick` for a rough
//! look, `--host PATH` for another binary than the one of this build.
//!
//! The floor is this program itself, started with `--floor`: a blocking loop that does the least a
//! host could do. Host and floor take turns in short blocks, so that a busy machine hits both.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_macros,
    reason = "a measuring program: stdout is its report, and whatever fails ends it"
)]

use serde_json::{Value, json};
use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// A row of the table.
struct Row {
    name: &'static str,
    what: &'static str,
    unit: Unit,
    target: Target,
    measure: fn(&Bench) -> Figure,
}

/// What a figure must reach, and what it aims at.
enum Target {
    /// Times the floor, or less.
    Ratio(f64, f64),
    /// This part of the floor, or more.
    Share(f64, f64),
    /// So many times faster than the floor, or more.
    Faster(f64, f64),
    /// The figure itself, or less.
    Most(f64, f64),
}

#[derive(Clone, Copy)]
enum Unit {
    Micros,
    Millis,
    PerSecond,
    Mebibytes,
    /// Of one core's time.
    Percent,
}

/// What was measured.
struct Figure {
    measured: f64,
    floor: Option<f64>,
    /// What the worst figure was chosen from, and how it was measured.
    notes: Vec<String>,
}

const ROWS: [Row; 23] = [
    Row {
        name: "latency",
        what: "dispatch over stdio, one in flight, p50",
        unit: Unit::Micros,
        target: Target::Ratio(1.15, 1.1),
        measure: latency,
    },
    Row {
        name: "throughput",
        what: "dispatch over stdio, 64 in flight",
        unit: Unit::PerSecond,
        target: Target::Share(0.5, 0.7),
        measure: throughput,
    },
    Row {
        name: "known",
        what: "a known command beside the rules that people have, one in flight, p50",
        unit: Unit::Micros,
        target: Target::Ratio(1.2, 1.1),
        measure: |bench| alone(bench, &known_commands()),
    },
    Row {
        name: "known-many",
        what: "the same, 64 in flight",
        unit: Unit::PerSecond,
        target: Target::Share(0.5, 0.7),
        measure: |bench| in_flight(bench, &known_commands()),
    },
    Row {
        name: "new",
        what: "a new command beside the rules that people have, one in flight, p50",
        unit: Unit::Micros,
        target: Target::Ratio(1.35, 1.2),
        measure: |bench| alone(bench, &new_commands()),
    },
    Row {
        name: "new-many",
        what: "the same, 64 in flight",
        unit: Unit::PerSecond,
        target: Target::Share(0.3, 0.5),
        measure: |bench| in_flight(bench, &new_commands()),
    },
    Row {
        name: "files",
        what: "an edit and files of 4 and 200 KB beside the rules that people have, one in flight, p50",
        unit: Unit::Micros,
        target: Target::Ratio(1.35, 1.2),
        measure: |bench| alone(bench, &file_calls()),
    },
    Row {
        name: "files-many",
        what: "the same, 64 in flight",
        unit: Unit::PerSecond,
        target: Target::Share(0.3, 0.5),
        measure: |bench| in_flight(bench, &file_calls()),
    },
    Row {
        name: "many-hooks",
        what: "10,000 hooks of which one applies, against 10",
        unit: Unit::Micros,
        target: Target::Ratio(1.1, 1.02),
        measure: many_hooks,
    },
    Row {
        name: "command",
        what: "`command` hook against a bare spawn, p50",
        unit: Unit::Micros,
        target: Target::Ratio(1.1, 1.05),
        measure: command,
    },
    Row {
        name: "callable",
        what: "warm Python `callable` against starting `python3 hook.py`, p50",
        unit: Unit::Micros,
        target: Target::Faster(100.0, 300.0),
        measure: callable,
    },
    Row {
        name: "script",
        what: "`script` hook, added to a dispatch of a fixed one, p50",
        unit: Unit::Micros,
        target: Target::Most(25.0, 8.0),
        measure: script,
    },
    Row {
        name: "edit",
        what: "one edit among 1,000 files until it is in force, p50",
        unit: Unit::Millis,
        target: Target::Most(30.0, 10.0),
        measure: edit,
    },
    Row {
        name: "keystroke",
        what: "a keystroke in a definition file of 1,000 lines until its diagnostics are sent, p50",
        unit: Unit::Millis,
        target: Target::Most(50.0, 10.0),
        measure: keystroke,
    },
    Row {
        name: "hook",
        what: "`hookwire-run hook AGENT` with a warm host, start to exit, against `sh -c true`, p50",
        unit: Unit::Micros,
        target: Target::Ratio(2.2, 1.5),
        measure: |bench| hook_denies(bench, &bench.host.with_file_name("hookwire-run")),
    },
    Row {
        name: "hook-usual",
        what: "`hookwire-run hook AGENT` beside the usual rules, which let the call pass",
        unit: Unit::Micros,
        target: Target::Ratio(2.2, 1.5),
        measure: hook_usual,
    },
    Row {
        name: "hook-large",
        what: "`hookwire-host hook AGENT`, the same",
        unit: Unit::Micros,
        target: Target::Ratio(3.0, 1.5),
        measure: |bench| hook_denies(bench, &bench.host),
    },
    Row {
        name: "http",
        what: "`POST /hook/AGENT` on a connection of its own, against a bare exchange of the same bytes, p50",
        unit: Unit::Micros,
        target: Target::Ratio(4.0, 2.0),
        measure: http,
    },
    Row {
        name: "start",
        what: "start until the reply to initialize, 100 hooks, p50",
        unit: Unit::Millis,
        target: Target::Most(10.0, 5.0),
        measure: start,
    },
    Row {
        name: "mcp",
        what: "`hookwire mcp`, added to a call of a tool",
        unit: Unit::Micros,
        target: Target::Most(300.0, 150.0),
        measure: mcp,
    },
    Row {
        name: "memory",
        what: "idle memory with 1,000 hooks",
        unit: Unit::Mebibytes,
        target: Target::Most(20.0, 12.0),
        measure: memory,
    },
    Row {
        name: "idle",
        what: "idle time of a core, beside programs that start and files that are written",
        unit: Unit::Percent,
        target: Target::Most(0.05, 0.001),
        measure: idle,
    },
    Row {
        name: "soak",
        what: "memory after mixed load with reloads",
        unit: Unit::Mebibytes,
        target: Target::Most(150.0, 60.0),
        measure: soak,
    },
];

struct Bench {
    host: PathBuf,
    quick: bool,
    /// How many requests `soak` sends.
    soak: usize,
    cpus: Vec<usize>,
}

fn main() -> ExitCode {
    let mut bench = Bench {
        host: env!("CARGO_BIN_EXE_hookwire-host").into(),
        quick: false,
        soak: 1_000_000,
        cpus: affinity::available(),
    };
    let mut chosen = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--floor" => {
                floor(&arguments.collect::<Vec<_>>());
                return ExitCode::SUCCESS;
            }
            "--quick" => bench.quick = true,
            "--soak" => bench.soak = arguments.next().unwrap().parse().unwrap(),
            "--host" => bench.host = arguments.next().unwrap().into(),
            // Given by cargo.
            "--bench" => {}
            name if ROWS.iter().any(|row| row.name == name) => chosen.push(argument),
            other => {
                let names: Vec<_> = ROWS.iter().map(|row| row.name).collect();
                eprintln!("no row `{other}`; there are {}", names.join(", "));
                return ExitCode::from(2);
            }
        }
    }
    match bench.cpus.len() {
        0 | 1 => println!("one CPU: client and server share it, scheduling decides latency\n"),
        n => println!(
            "{n} CPUs; client and server are pinned to different ones for latency, throughput and many-hooks\n"
        ),
    }
    println!(
        "{:<11} {:>12} {:>12} {:>7} {:>9} {:>9}  {:<7} what",
        "row", "measured", "floor", "ratio", "at least", "aim", ""
    );
    let mut missed = false;
    for row in ROWS
        .iter()
        .filter(|row| chosen.is_empty() || chosen.iter().any(|name| name == row.name))
    {
        let figure = (row.measure)(&bench);
        affinity::pin(&bench.cpus);
        missed |= row.print(&figure) == Standing::Missed;
    }
    ExitCode::from(u8::from(missed))
}

#[derive(PartialEq, Eq)]
enum Standing {
    Missed,
    Met,
    AimMet,
}

impl Row {
    fn print(&self, figure: &Figure) -> Standing {
        let ratio = figure.floor.map(|floor| match self.target {
            Target::Faster(..) => floor / figure.measured,
            Target::Ratio(..) | Target::Share(..) | Target::Most(..) => figure.measured / floor,
        });
        let judged = match self.target {
            Target::Ratio(..) | Target::Share(..) | Target::Faster(..) => ratio.unwrap_or(f64::NAN),
            Target::Most(..) => figure.measured,
        };
        let (at_least, aim, reaches): (f64, f64, fn(f64, f64) -> bool) = match self.target {
            Target::Ratio(at_least, aim) | Target::Most(at_least, aim) => {
                (at_least, aim, |figure, bar| figure <= bar)
            }
            Target::Share(at_least, aim) | Target::Faster(at_least, aim) => {
                (at_least, aim, |figure, bar| figure >= bar)
            }
        };
        let standing = match (reaches(judged, at_least), reaches(judged, aim)) {
            (_, true) => Standing::AimMet,
            (true, false) => Standing::Met,
            (false, false) => Standing::Missed,
        };
        let bar = |value: f64| match self.target {
            Target::Ratio(..) | Target::Faster(..) => format!("{value}x"),
            Target::Share(..) => format!("{value}"),
            Target::Most(..) => self.unit.show(value),
        };
        println!(
            "{:<11} {:>12} {:>12} {:>7} {:>9} {:>9}  {:<7} {}",
            self.name,
            self.unit.show(figure.measured),
            figure
                .floor
                .map(|floor| self.unit.show(floor))
                .unwrap_or_default(),
            ratio.map(|ratio| format!("{ratio:.2}")).unwrap_or_default(),
            bar(at_least),
            bar(aim),
            match standing {
                Standing::Missed => "MISSED",
                Standing::Met => "met",
                Standing::AimMet => "aim met",
            },
            self.what
        );
        for note in &figure.notes {
            println!("{:<11} {note}", "");
        }
        standing
    }
}

impl Unit {
    fn show(self, value: f64) -> String {
        match self {
            Unit::Micros => format!("{value:.1} µs"),
            Unit::Millis => format!("{value:.1} ms"),
            Unit::PerSecond => format!("{value:.0}/s"),
            Unit::Mebibytes => format!("{value:.1} MiB"),
            Unit::Percent => format!("{value:.3} %"),
        }
    }
}

// The rows.

fn latency(bench: &Bench) -> Figure {
    let figures = judged_by().map(|(name, events)| {
        let hooks = ten_hooks();
        Pair::new(bench, hooks.path(), &events).time(bench.times(40), 500, name.into())
    });
    Against::worst(&figures)
}

fn throughput(bench: &Bench) -> Figure {
    let figures = judged_by().map(|(name, events)| {
        let hooks = ten_hooks();
        Pair::new(bench, hooks.path(), &events).flood(bench.times(25), 10_000, name.into())
    });
    Against::worst(&figures).per_second()
}

/// Calls beside each of the [`RULE_SETS`].
fn alone(bench: &Bench, calls: &[Calls]) -> Figure {
    beside_rules(bench, calls, |pair, size, name| {
        pair.time(bench.times(20), 1 + 500 / size, name)
    })
}

/// The same with 64 in flight.
fn in_flight(bench: &Bench, calls: &[Calls]) -> Figure {
    beside_rules(bench, calls, |pair, size, name| {
        pair.flood(bench.times(15), IN_FLIGHT + 5_000 / size, name)
    })
    .per_second()
}

/// The figure is the worst one up to the usual rules.
fn beside_rules(
    bench: &Bench,
    calls: &[Calls],
    measure: impl Fn(&mut Pair, usize, String) -> Against,
) -> Figure {
    let project = project();
    let (mut held, mut notes) = (Vec::new(), Vec::new());
    for rules in &RULE_SETS {
        let hooks = rules.hooks();
        for (name, call) in calls {
            let mut host = Command::new(&bench.host);
            host.args(["serve", "--isolated", "--root"])
                .arg(project.path())
                .arg("--hooks")
                .arg(hooks.path().join("hooks"));
            if rules.defends_itself {
                host.arg("--self-defense");
            }
            let events: Vec<Value> = call(project.path());
            let size = 1 + events[0].to_string().len() / 4096;
            let mut pair = Pair::of(bench, bench.pinned(&mut host), ring(&events));
            let against = measure(&mut pair, size, format!("{}; {name}", rules.name));
            notes.push(against.note.clone());
            held.extend((!matches!(rules.rules, Rules::All)).then_some(against));
        }
    }
    Figure {
        notes,
        ..Against::worst(&held)
    }
}

/// With 64 in flight, since waking up would hide the difference that is looked for.
fn many_hooks(bench: &Bench) -> Figure {
    type Shape = (&'static str, fn(usize) -> String, Value);
    let shapes: [Shape; 5] = [
        (
            "matcher: ToolN",
            |n| format!("matcher: Tool{n}"),
            tool("Tool7", json!({"x": 1})),
        ),
        (
            "matcher: a regex with prefix",
            |n| format!("matcher: mcp__s{n}__.*"),
            tool("mcp__s7__run", json!({"x": 1})),
        ),
        (
            "if: Bash(cmdN *)",
            |n| format!("if: Bash(cmd{n} *)"),
            tool("Bash", json!({"command": "cmd7 x | less"})),
        ),
        (
            "if: Write(dirN/**)",
            |n| format!("if: Write(dir{n}/**)"),
            tool("Write", json!({"file_path": "dir7/a.txt"})),
        ),
        (
            "on: another event",
            |n| match n {
                7 => "matcher: Bash".into(),
                _ => "if: Bash(x)\n    tags: [other]".into(),
            },
            tool("Bash", json!({"command": "ls"})),
        ),
    ];
    let figures = shapes.map(|(name, condition, event)| {
        let serve = |count| {
            let dir = definitions(count, 100, |n| {
                format!("on: PreToolUse\n    {}\n    deny: not here", condition(n))
            });
            let mut host = bench.host(dir.path());
            let reply = host.ask(&dispatch(1, &event));
            assert_eq!(
                reply["result"]["outcomes"].as_array().map(Vec::len),
                Some(1),
                "{name}: {reply}"
            );
            (dir, host)
        };
        let (_many_dir, mut many) = serve(10_000);
        let (_few_dir, mut few) = serve(10);
        let requests = ring(&[event]);
        let (mut with_many, mut with_few) = (Vec::new(), Vec::new());
        for _ in 0..bench.times(20) {
            with_many.push(many.flood(&requests, 5_000));
            with_few.push(few.flood(&requests, 5_000));
        }
        Against::new(&mut with_many, &mut with_few, name.into())
    });
    Against::worst(&figures)
}

/// The floor spawns the same command for each request, so the wire weighs the same on both sides.
/// Not pinned: children would inherit it.
fn command(bench: &Bench) -> Figure {
    let commands = [
        ("[/bin/true]", &["/bin/true"][..]),
        ("'true'", &["/bin/sh", "-c", "true"]),
    ];
    let figures = commands.map(|(definition, argv)| {
        let hooks = definitions(1, 1, |_| {
            format!("on: PreToolUse\n    command: {definition}\n    fail: open")
        });
        let event = push();
        let mut host = bench.host(hooks.path());
        let reply = host.ask(&dispatch(1, &event));
        assert_eq!(
            reply["result"]["outcomes"][0]["status"], "success",
            "{reply}"
        );
        let mut floor = bench.floor(&reply, argv);
        affinity::pin(&bench.cpus);
        host.unpin(&bench.cpus);
        floor.unpin(&bench.cpus);
        let request = dispatch(1, &event);
        let (mut with_host, mut with_floor) = (Vec::new(), Vec::new());
        for _ in 0..bench.times(60) {
            host.time(std::slice::from_ref(&request), 15, &mut with_host);
            floor.time(std::slice::from_ref(&request), 15, &mut with_floor);
        }
        let (p90, p90_floor) = (
            quantile(&mut with_host, 0.9),
            quantile(&mut with_floor, 0.9),
        );
        let note = format!("command: {definition}, p90 {p90:.0} µs against {p90_floor:.0} µs");
        Against::new(&mut with_host, &mut with_floor, note)
    });
    Against::worst(&figures)
}

/// The same rule as a function in a warm worker and as a program of its own, which is started with
/// the interpreter itself: what stands before it on PATH, such as pyenv's shims, is not our merit.
fn callable(bench: &Bench) -> Figure {
    let rule = "def review(event):\n    if 'push --force' in event['tool']['input']['command']:\n        return {'decision': 'deny', 'reason': 'no force'}\n";
    let main = "import json, sys\nfrom rule import review\nprint(json.dumps(review(json.load(sys.stdin)) or {}))\n";
    let dir = definitions(1, 1, |_| {
        "on: PreToolUse\n    callable: { python: \"rule:review\" }\n    fail: closed".into()
    });
    fs::write(dir.path().join("rule.py"), rule).unwrap();
    let program = dir.path().join("hook.py").to_string_lossy().into_owned();
    fs::write(&program, main).unwrap();
    let which = Command::new("python3")
        .args(["-c", "import sys; print(sys.executable)"])
        .output()
        .unwrap();
    let python = String::from_utf8(which.stdout).unwrap();
    let event = push();
    let mut host = bench.host(dir.path());
    let request = dispatch(1, &event);
    let reply = host.ask(&request);
    assert_eq!(reply["result"]["reason"], "no force", "{reply}");
    let mut floor = bench.floor(&reply, &[python.trim(), &program]);
    affinity::pin(&bench.cpus);
    host.unpin(&bench.cpus);
    floor.unpin(&bench.cpus);
    let (mut with_host, mut with_floor) = (Vec::new(), Vec::new());
    for _ in 0..bench.times(40) {
        host.time(std::slice::from_ref(&request), 200, &mut with_host);
        floor.time(std::slice::from_ref(&request), 5, &mut with_floor);
    }
    let (p90, p90_floor) = (
        quantile(&mut with_host, 0.9),
        quantile(&mut with_floor, 0.9),
    );
    let note = format!(
        "p90 {p90:.0} µs against {p90_floor:.0} µs; {}",
        python.trim()
    );
    Figure {
        measured: p50(&mut with_host),
        floor: Some(p50(&mut with_floor)),
        notes: vec![note],
    }
}

/// Quick ones are run on the spot, one that changes something on a thread. What waking a thread on
/// another CPU costs, these figures leave out: host and client have one CPU each.
fn script(bench: &Bench) -> Figure {
    const SCRIPTS: [(&str, &str); 3] = [
        (
            "one pattern",
            "if (/push --force/.test(event.tool.input.command)) return deny('not here');",
        ),
        (
            "three statements",
            "if (['ls', 'cat'].includes(event.tool.name)) return; return { decision: 'deny', reason: 'not here', userMessages: [`${event.tool.name} asked`] };",
        ),
        (
            "a counter, on a thread",
            "state.increment('pushes'); return deny('not here');",
        ),
    ];
    let request = dispatch(1, &push());
    let fixed = definitions(1, 1, |_| "on: PreToolUse\n    deny: not here".into());
    let mut figures = Vec::new();
    for (name, script) in SCRIPTS {
        let scripted = definitions(1, 1, |_| {
            format!("on: PreToolUse\n    fail: closed\n    script: |\n      {script}")
        });
        let (mut host, mut floor) = (bench.host(scripted.path()), bench.host(fixed.path()));
        let reply = host.ask(&request);
        assert_eq!(reply["result"]["reason"], "not here", "{reply}");
        let (mut with, mut without) = (Vec::new(), Vec::new());
        for _ in 0..bench.times(40) {
            host.time(std::slice::from_ref(&request), 250, &mut with);
            floor.time(std::slice::from_ref(&request), 250, &mut without);
        }
        let note = format!("{name}: p90 {:.1} µs", quantile(&mut with, 0.9));
        figures.push((p50(&mut with) - p50(&mut without), note));
    }
    let notes = figures
        .iter()
        .map(|(added, note)| format!("{added:.1} µs: {note}"))
        .collect();
    Figure {
        measured: figures.iter().map(|it| it.0).fold(0.0, f64::max),
        floor: None,
        notes,
    }
}

fn edit(bench: &Bench) -> Figure {
    let text = |n: usize, reason: &str| {
        format!(
            "hooks:\n  - name: h{n}\n    on: PreToolUse\n    matcher: Tool{n}\n    deny: {reason}\n"
        )
    };
    let dir = tempfile::tempdir().unwrap();
    for n in 0..1000 {
        fs::write(dir.path().join(format!("{n}.yaml")), text(n, "first")).unwrap();
    }
    let mut host = bench.host(dir.path());
    affinity::pin(&bench.cpus);
    host.unpin(&bench.cpus);
    // Files that were just written are read again with each load; a directory in use has none.
    std::thread::sleep(Duration::from_millis(2500));
    let request = dispatch(1, &tool("Tool7", json!({"x": 1})));
    let (mut written, mut renamed) = (Vec::new(), Vec::new());
    for round in 0..=bench.times(30) {
        for (by_rename, times) in [(false, &mut written), (true, &mut renamed)] {
            let reason = format!("round {round} {by_rename}");
            let (file, beside) = (dir.path().join("7.yaml"), dir.path().join("7.yaml.tmp"));
            let started = Instant::now();
            if by_rename {
                fs::write(&beside, text(7, &reason)).unwrap();
                fs::rename(&beside, &file).unwrap();
            } else {
                fs::write(&file, text(7, &reason)).unwrap();
            }
            while host.ask(&request)["result"]["reason"] != reason {
                assert!(
                    started.elapsed() < Duration::from_secs(10),
                    "the edit never came into force"
                );
                std::thread::sleep(Duration::from_micros(300));
            }
            // The first round reads every file once more; it is not what an edit costs.
            if round > 0 {
                times.push(started.elapsed().as_secs_f64() * 1e3);
            }
            std::thread::sleep(Duration::from_millis(40));
        }
    }
    let figures = [
        ("written in place", &mut written),
        ("renamed over", &mut renamed),
    ]
    .map(|(name, times)| (name, p50(times), quantile(times, 0.9)));
    let notes = figures
        .iter()
        .map(|(name, p50, p90)| format!("{name}: p50 {p50:.1} ms, p90 {p90:.1} ms"))
        .collect();
    Figure {
        measured: figures.iter().map(|it| it.1).fold(0.0, f64::max),
        floor: None,
        notes,
    }
}

fn keystroke(bench: &Bench) -> Figure {
    let dir = mixed(300, 300);
    let file = dir.path().join("000.yaml");
    let text = fs::read_to_string(&file).unwrap();
    let n_lines = text.lines().count();
    let uri = format!("file://{}", file.display());
    let mut host = bench.host(dir.path());
    affinity::pin(&bench.cpus);
    host.unpin(&bench.cpus);
    let editor = json!({"capabilities": {"textDocument": {}}, "rootUri": format!("file://{}", dir.path().display())});
    host.ask(&line(
        &json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": editor}),
    ));
    let tell = |host: &mut Server, method: &str, params: Value| {
        host.send(&line(
            &json!({"jsonrpc": "2.0", "method": method, "params": params}),
        ));
    };
    tell(&mut host, "initialized", json!({}));
    let document = json!({"uri": uri, "languageId": "yaml", "version": 1, "text": text});
    tell(
        &mut host,
        "textDocument/didOpen",
        json!({ "textDocument": document }),
    );
    host.told("\"version\":1}");
    // In the middle of the file a letter of `on` comes and goes: one hook breaks and is mended.
    let middle = n_lines / 2
        + text
            .lines()
            .skip(n_lines / 2)
            .position(|line| line.starts_with("    on:"))
            .unwrap();
    let place = |column: usize| json!({"line": middle, "character": column});
    let (mut broken, mut mended) = (Vec::new(), Vec::new());
    for version in (2..).step_by(2).take(bench.times(200)) {
        for (version, range, letter, times) in [
            (
                version,
                json!({"start": place(5), "end": place(5)}),
                "x",
                &mut broken,
            ),
            (
                version + 1,
                json!({"start": place(5), "end": place(6)}),
                "",
                &mut mended,
            ),
        ] {
            let change = json!({
                "textDocument": {"uri": uri, "version": version},
                "contentChanges": [{"range": range, "text": letter}],
            });
            let started = Instant::now();
            tell(&mut host, "textDocument/didChange", change);
            let told = host.told(&format!("\"version\":{version}}}"));
            times.push(started.elapsed().as_secs_f64() * 1e3);
            assert_eq!(told.contains("unknown field"), letter == "x", "{told}");
        }
    }
    let figures = [
        ("a hook breaks", &mut broken),
        ("it is mended", &mut mended),
    ]
    .map(|(name, times)| (name, p50(times), quantile(times, 0.9)));
    let mut notes = vec![format!("{n_lines} lines, 300 hooks")];
    notes.extend(
        figures
            .iter()
            .map(|(name, p50, p90)| format!("{name}: p50 {p50:.1} ms, p90 {p90:.1} ms")),
    );
    Figure {
        measured: figures.iter().map(|it| it.1).fold(0.0, f64::max),
        floor: None,
        notes,
    }
}

/// What an agent waits for at each event, against the least that it could start.
fn hook_denies(bench: &Bench, program: &Path) -> Figure {
    let hooks = ten_hooks();
    let push = "git push --force origin main";
    hook(bench, program, hooks.path(), hooks.path(), push, "a deny")
}

fn hook_usual(bench: &Bench) -> Figure {
    let program = bench.host.with_file_name("hookwire-run");
    let usual = RULE_SETS.iter().find(|it| it.name == "the usual rules");
    let (hooks, project) = (usual.unwrap().hooks(), project());
    let command = "git status --short && sed -n 1,80p src/main.rs";
    let hooks = &hooks.path().join("hooks");
    hook(bench, &program, hooks, project.path(), command, "a pass")
}

fn hook(
    bench: &Bench,
    program: &Path,
    hooks: &Path,
    project: &Path,
    command: &str,
    what: &str,
) -> Figure {
    let runtime = tempfile::tempdir().unwrap();
    let payload = json!({
        "session_id": "s", "cwd": project, "hook_event_name": "PreToolUse", "tool_name": "Bash",
        "tool_input": { "command": command },
    });
    assert!(
        program.is_file(),
        "{} is missing: build the whole workspace",
        program.display()
    );
    let mut hook = Command::new(program);
    hook.args(["hook", "claude-code", "--isolated", "--hooks"])
        .arg(hooks)
        .arg("--root")
        .arg(project);
    for place in ["--user-dir", "--data-dir"] {
        hook.arg(place).arg(runtime.path().join(place));
    }
    hook.current_dir(project)
        .env("XDG_RUNTIME_DIR", runtime.path());
    let mut floor = Command::new("sh");
    floor.args(["-c", "true"]);
    let run = |command: &mut Command| {
        let started = Instant::now();
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        // The floor doesn't read.
        let _ = child
            .stdin
            .take()
            .unwrap()
            .write_all(payload.to_string().as_bytes());
        let output = child.wait_with_output().unwrap();
        (started.elapsed().as_secs_f64() * 1e6, output)
    };
    let (_, first) = run(&mut hook);
    let is_denied = String::from_utf8_lossy(&first.stdout).contains("\"deny\"");
    assert!(
        first.status.success() && is_denied == (what == "a deny"),
        "{first:?}"
    );
    let (mut with_hook, mut with_floor) = (Vec::new(), Vec::new());
    for _ in 0..bench.times(300) {
        with_hook.push(run(&mut hook).0);
        with_floor.push(run(&mut floor).0);
    }
    Against::worst(&[Against::new(
        &mut with_hook,
        &mut with_floor,
        format!("claude-code, {what}"),
    )])
}

/// The same for an agent whose hooks ask over HTTP.
fn http(bench: &Bench) -> Figure {
    let hooks = ten_hooks();
    let token = "0123456789abcdef0123456789abcdef";
    let mut command = bench.host_command(hooks.path());
    command
        .args(["--no-share", "--listen", "http://127.0.0.1:0"])
        .env("HOOKWIRE_TOKEN", token);
    let mut host = command
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = String::new();
    BufReader::new(host.stderr.take().unwrap())
        .read_line(&mut said)
        .unwrap();
    let address = said
        .split("http://")
        .nth(1)
        .unwrap()
        .split(';')
        .next()
        .unwrap()
        .to_string();
    let payload = json!({
        "session_id": "s", "cwd": hooks.path(), "hook_event_name": "PreToolUse", "tool_name": "Bash",
        "tool_input": { "command": "git push --force origin main" },
    });
    let body = payload.to_string();
    let request = format!(
        "POST /hook/claude-code HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let exchange = |address: &str| {
        let started = Instant::now();
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut reply = Vec::new();
        stream.read_to_end(&mut reply).unwrap();
        (started.elapsed().as_secs_f64() * 1e6, reply)
    };
    let (_, reply) = exchange(&address);
    assert!(
        String::from_utf8_lossy(&reply).contains("\"deny\""),
        "{said}"
    );
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (bare, length) = (listener.local_addr().unwrap().to_string(), request.len());
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let _ = stream
                .read_exact(&mut vec![0; length])
                .and_then(|()| stream.write_all(&reply));
        }
    });
    let (mut over_http, mut with_floor) = (Vec::new(), Vec::new());
    for _ in 0..bench.times(3000) {
        over_http.push(exchange(&address).0);
        with_floor.push(exchange(&bare).0);
    }
    host.kill().unwrap();
    host.wait().unwrap();
    Against::worst(&[Against::new(
        &mut over_http,
        &mut with_floor,
        "claude-code, a deny".into(),
    )])
}

fn start(bench: &Bench) -> Figure {
    let hooks = mixed(100, 10);
    affinity::pin(&bench.cpus);
    let initialize =
        line(&json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}));
    let reply = bench.host(hooks.path()).ask(&initialize);
    assert_eq!(reply["result"]["hooks"]["hooks"], 100, "{reply}");
    affinity::pin(&bench.cpus);
    let (mut host, mut floor) = (Vec::new(), Vec::new());
    let time = |mut command: Command, times: &mut Vec<f64>| {
        let started = Instant::now();
        let mut server = Server::spawn(&mut command);
        server.round_trip(&initialize);
        times.push(started.elapsed().as_secs_f64() * 1e3);
    };
    for _ in 0..bench.times(60) {
        time(bench.host_command(hooks.path()), &mut host);
        time(bench.floor_command(&reply, &[]), &mut floor);
    }
    let notes = vec![format!(
        "p90 {:.1} ms, floor {:.1} ms; 10 files of 10 hooks",
        quantile(&mut host, 0.9),
        quantile(&mut floor, 0.9)
    )];
    Figure {
        measured: p50(&mut host),
        floor: Some(p50(&mut floor)),
        notes,
    }
}

/// A call of a tool with the gateway between, its event and its result judged by a host that runs,
/// against the same server alone.
fn mcp(bench: &Bench) -> Figure {
    let hooks = ten_hooks();
    let socket = hooks.path().join("socket");
    let address = format!("unix:{}", socket.display());
    let mut host = bench.host_command(hooks.path());
    let mut host = host
        .args(["--no-share", "--listen", &address])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    while !socket.exists() {
        std::thread::sleep(Duration::from_millis(5));
    }
    let result = json!({"result": {"content": [{"type": "text", "text": "two files"}]}});
    let mut server = bench.floor_command(&result, &[]);
    let mut gateway = Command::new(&bench.host);
    gateway.arg("--data-dir").arg(hooks.path().join("data"));
    gateway.args(["mcp", "--server", "files", "--connect", &address, "--"]);
    gateway.arg(server.get_program()).args(server.get_args());
    let (mut gateway, mut server) = (bench.pinned(&mut gateway), bench.pinned(&mut server));
    let requests: Vec<Vec<u8>> = (0..IN_FLIGHT)
        .map(|n| {
            let params = json!({"name": "list_directory", "arguments": {"path": "src"}});
            line(&json!({"jsonrpc": "2.0", "id": n, "method": "tools/call", "params": params}))
        })
        .collect();
    let (mut between, mut alone) = (Vec::new(), Vec::new());
    for _ in 0..bench.times(50) {
        gateway.time(&requests, 100, &mut between);
        server.time(&requests, 100, &mut alone);
    }
    host.kill().unwrap();
    host.wait().unwrap();
    let note = format!(
        "{:.0} µs against {:.0} µs alone, p90 {:.0} µs against {:.0} µs",
        p50(&mut between),
        p50(&mut alone),
        quantile(&mut between, 0.9),
        quantile(&mut alone, 0.9)
    );
    Figure {
        measured: p50(&mut between) - p50(&mut alone),
        floor: None,
        notes: vec![note],
    }
}

fn memory(bench: &Bench) -> Figure {
    let hooks = mixed(1000, 100);
    let mut host = bench.host(hooks.path());
    host.ask(&dispatch(1, &push()));
    std::thread::sleep(Duration::from_secs(1));
    let note = format!(
        "resident: {:.1} MiB of its own, {:.1} MiB of files, mostly the program; {} threads",
        host.status("RssAnon:") / 1024.0,
        host.status("RssFile:") / 1024.0,
        host.status("Threads:")
    );
    Figure {
        measured: host.status("VmRSS:") / 1024.0,
        floor: None,
        notes: vec![note],
    }
}

/// A host of a project as it stands beside a busy build: programs start, and files come and go in
/// the project's root, in the user's home and where temporary ones are.
fn idle(bench: &Bench) -> Figure {
    let root = tempfile::tempdir().unwrap();
    let project = root.path().join("project");
    fs::create_dir_all(project.join(".hookwire")).unwrap();
    fs::write(
        project.join(".hookwire/guard.yaml"),
        "hooks: [{ name: guard, on: PreToolUse, deny: no }]",
    )
    .unwrap();
    let mut command = Command::new(&bench.host);
    command
        .args(["serve", "--no-share", "--root"])
        .arg(&project);
    for (variable, name) in [
        ("HOME", "home"),
        ("XDG_CONFIG_HOME", "config"),
        ("XDG_DATA_HOME", "data"),
    ] {
        fs::create_dir(root.path().join(name)).unwrap();
        command.env(variable, root.path().join(name));
    }
    let mut host = Server::spawn(&mut command);
    host.ask(&dispatch(1, &push()));
    // Threads that have had something to do at the start end after 10 s without.
    std::thread::sleep(Duration::from_secs(12));
    let before = host.scheduled();
    let began = Instant::now();
    let mut n = 0;
    while began.elapsed() < Duration::from_secs(if bench.quick { 3 } else { 20 }) {
        Command::new("sh").args(["-c", "true"]).status().unwrap();
        drop(tempfile::NamedTempFile::new().unwrap());
        fs::write(root.path().join("home/file"), "x").unwrap();
        fs::write(project.join("file"), "x").unwrap();
        n += 1;
    }
    let after = host.scheduled();
    let seconds = (after.0 - before.0) / 1e9;
    let note = format!(
        "{n} programs, {} wake-ups in {:.1} s",
        after.1 - before.1,
        began.elapsed().as_secs_f64()
    );
    Figure {
        measured: seconds / began.elapsed().as_secs_f64() * 100.0,
        floor: None,
        notes: vec![note],
    }
}

/// Rules, scripts, guards and values of ever new sessions, 64 in flight, while the definitions are
/// edited.
fn soak(bench: &Bench) -> Figure {
    const STEPS: usize = 10;
    const RELOADS: usize = 20;
    let requests = bench.times(bench.soak) / STEPS / RELOADS;
    let define = |dir: &Path, edit: usize| {
        let mut text = "hooks:\n".to_string();
        for n in 0..10 {
            let _ = writeln!(
                text,
                "  - {{ name: s{n}, on: PreToolUse, matcher: Script, script: 'return {{ reason: \"{edit} {n}\" }}' }}"
            );
            let _ = writeln!(
                text,
                "  - {{ name: r{n}, on: PreToolUse, if: Bash(tool{n} --edit-{edit}*), deny: not here }}"
            );
        }
        let _ = writeln!(
            text,
            "  - {{ name: rate, on: PreToolUse, matcher: Rate, guard: {{ rate-limit: {{ max: 5, by: session }} }} }}"
        );
        let _ = writeln!(
            text,
            "  - {{ name: once, on: PreToolUse, matcher: Once, once: true, ask: sure? }}"
        );
        fs::write(dir.join("hooks.yaml"), text).unwrap();
    };
    let dir = tempfile::tempdir().unwrap();
    define(dir.path(), 0);
    let mut host = bench.host(dir.path());
    let reload = line(&json!({"jsonrpc": "2.0", "id": 0, "method": "hooks/reload"}));
    let mut notes = Vec::new();
    let started = Instant::now();
    for step in 0..STEPS {
        for edit in 0..RELOADS {
            define(dir.path(), step * RELOADS + edit);
            host.ask(&reload);
            let request = |id: usize| {
                let session = format!("{step}-{edit}-{id}");
                match id % 8 {
                    0 => line(
                        &json!({"jsonrpc": "2.0", "id": id, "method": "state/set", "params": {"session": session, "key": "k", "value": "v"}}),
                    ),
                    1 => dispatch(
                        id,
                        &json!({"event": "PreToolUse", "session": session, "tool": {"name": "Rate", "input": {}}}),
                    ),
                    2 => dispatch(
                        id,
                        &json!({"event": "PreToolUse", "session": session, "tool": {"name": "Once", "input": {}}}),
                    ),
                    3 => dispatch(id, &tool("Script", json!({"n": id}))),
                    n => dispatch(
                        id,
                        &tool(
                            "Bash",
                            json!({"command": format!("cd app; tool{n} -x {session} | cat {}", "y".repeat(id * 50))}),
                        ),
                    ),
                }
            };
            host.flood(&(0..IN_FLIGHT).map(request).collect::<Vec<_>>(), requests);
        }
        let (done, seconds) = ((step + 1) * RELOADS * requests, started.elapsed().as_secs());
        notes.push(format!(
            "{:.1} MiB after {done} requests and {} reloads, {seconds} s",
            host.status("VmRSS:") / 1024.0,
            (step + 1) * RELOADS
        ));
    }
    Figure {
        measured: host.status("VmRSS:") / 1024.0,
        floor: None,
        notes,
    }
}

/// One case of a row: medians of the host and of what it is held against, in microseconds.
struct Against {
    measured: f64,
    floor: f64,
    note: String,
}

impl Figure {
    /// Requests a second, of microseconds a request.
    fn per_second(self) -> Figure {
        Figure {
            measured: 1e6 / self.measured,
            floor: self.floor.map(|floor| 1e6 / floor),
            ..self
        }
    }
}

impl Against {
    fn new(measured: &mut [f64], floor: &mut [f64], note: String) -> Against {
        let (measured, floor) = (p50(measured), p50(floor));
        let note = format!(
            "{:.2}x: {measured:.2} µs against {floor:.2} µs: {note}",
            measured / floor
        );
        Against {
            measured,
            floor,
            note,
        }
    }

    /// A row is as good as its worst case.
    fn worst(cases: &[Against]) -> Figure {
        let ratio = |it: &&Against| it.measured / it.floor;
        let worst = cases
            .iter()
            .max_by(|a, b| ratio(a).total_cmp(&ratio(b)))
            .unwrap();
        let notes = cases.iter().map(|it| it.note.clone()).collect();
        Figure {
            measured: worst.measured,
            floor: Some(worst.floor),
            notes,
        }
    }
}

// Definitions and events.

/// Events of which one of [`ten_hooks`] denies each, and by what it is found. What is judged. The
/// host remembers the commands that it read last, so some come again and some never do.
fn judged_by() -> [(&'static str, Vec<Value>); 3] {
    let new = |n| {
        tool(
            "Bash",
            json!({"command": format!("cd app && git push --force origin branch-{n:04}")}),
        )
    };
    [
        (
            "one of 10 hooks denies, by `matcher`",
            vec![tool(
                "Write",
                json!({"file_path": "src/main.rs", "content": "fn main() {}"}),
            )],
        ),
        (
            "one of 10 hooks denies, by `if: Bash(...)`, a command that was judged before",
            vec![push()],
        ),
        (
            "one of 10 hooks denies, by `if: Bash(...)`, a command that is new",
            (0..16 * IN_FLIGHT).map(new).collect(),
        ),
    ]
}

/// Rules as people have them.
struct RuleSet {
    name: &'static str,
    rules: Rules,
    /// As in a host that `hookwire hook` starts.
    defends_itself: bool,
}

enum Rules {
    These(&'static str),
    /// Of the cookbook.
    Named(&'static [&'static str]),
    /// All of the cookbook.
    All,
}

const RULE_SETS: [RuleSet; 5] = [
    RuleSet {
        name: "no rule",
        rules: Rules::Named(&[]),
        defends_itself: false,
    },
    RuleSet {
        name: "a command rule",
        rules: Rules::Named(&["no-force-push"]),
        defends_itself: false,
    },
    RuleSet {
        name: "a file rule",
        rules: Rules::These("if: Write(/etc/**)\n    deny: Not the machine's settings."),
        defends_itself: false,
    },
    RuleSet {
        name: "the usual rules",
        rules: Rules::Named(&[
            "ask-before-push",
            "no-credentials",
            "no-curl-sh",
            "no-env-read",
            "no-force-push",
            "no-lock-file-edits",
            "no-lost-work",
            "no-rm-rf",
            "no-sudo",
            "protect-main",
        ]),
        defends_itself: true,
    },
    RuleSet {
        name: "all of the cookbook",
        rules: Rules::All,
        defends_itself: true,
    },
];

impl RuleSet {
    /// A directory that has them in `hooks`.
    fn hooks(&self) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        let hooks = dir.path().join("hooks");
        fs::create_dir(&hooks).unwrap();
        let cookbook = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/cookbook");
        let take = |name: &str| {
            let file = format!("{name}.yaml");
            fs::copy(cookbook.join(&file), hooks.join(&file)).unwrap();
        };
        match self.rules {
            Rules::These(rule) => {
                let text = format!("hooks:\n  - name: rule\n    on: PreToolUse\n    {rule}\n");
                fs::write(hooks.join("rule.yaml"), text).unwrap();
            }
            Rules::Named(names) => names.iter().for_each(|name| take(name)),
            Rules::All => {
                for entry in fs::read_dir(&cookbook).unwrap() {
                    let name = entry.unwrap().file_name().into_string().unwrap();
                    let name = name.strip_suffix(".yaml");
                    name.filter(|name| !name.ends_with(".test"))
                        .into_iter()
                        .for_each(take);
                }
            }
        }
        dir
    }
}

/// A project with the files that the calls name.
fn project() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (path, text) in [
        ("src/main.rs", "fn main() {}\n"),
        ("Cargo.toml", "[package]\n"),
        (".env", "KEY=1\n"),
        (".git/HEAD", "ref: refs/heads/topic\n"),
    ] {
        let path = dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    dir
}

/// Calls of one kind, by the project that they are made in.
type Calls = (&'static str, fn(&Path) -> Vec<Value>);

fn known_commands() -> [Calls; 3] {
    [
        ("a command that names no file", |project| {
            vec![command_in(project, "ls -la")]
        }),
        ("one that reads a file", |project| {
            vec![command_in(
                project,
                "git status --short && sed -n 1,80p src/main.rs",
            )]
        }),
        ("one that writes a file", |project| {
            vec![command_in(
                project,
                "cargo build --release > src/build.log 2>&1",
            )]
        }),
    ]
}

fn new_commands() -> [Calls; 2] {
    fn new(command: impl Fn(usize) -> String, project: &Path) -> Vec<Value> {
        let commands = (0..16 * IN_FLIGHT).map(command);
        commands
            .map(|command| command_in(project, &command))
            .collect()
    }
    [
        ("a new command that names no file", |project| {
            new(
                |n| format!("cargo test case_{n:04} 2>&1 | tail -20"),
                project,
            )
        }),
        ("one that reads a file", |project| {
            new(
                |n| format!("git log --oneline -5 && sed -n {n},+80p src/main.rs"),
                project,
            )
        }),
    ]
}

fn file_calls() -> [Calls; 3] {
    fn file(project: &Path, name: &str, input: Value) -> Vec<Value> {
        let mut event = tool(name, input);
        event["cwd"] = json!(project);
        event["tool"]["input"]["file_path"] = json!(project.join("src/main.rs"));
        vec![event]
    }
    fn written(project: &Path, lines: usize) -> Vec<Value> {
        let content = "    let total = items.iter().sum();\n".repeat(lines);
        file(project, "Write", json!({ "content": content }))
    }
    [
        ("an edit", |project| {
            let input = json!({"old_string": "fn main() {}", "new_string": "fn main() { run() }"});
            file(project, "Edit", input)
        }),
        ("a file of 4 KB", |project| written(project, 4096 / 35)),
        ("a file of 200 KB", |project| {
            written(project, 200 * 1024 / 35)
        }),
    ]
}

fn command_in(project: &Path, command: &str) -> Value {
    let mut event = tool("Bash", json!({ "command": command }));
    event["cwd"] = json!(project);
    event
}

/// What a small project has.
fn ten_hooks() -> tempfile::TempDir {
    definitions(10, 10, |n| {
        match n {
        0 => "on: PreToolUse\n    if: Bash(git push --force*)\n    deny: Force pushes are off; push a branch.".into(),
        1 => "on: PreToolUse\n    matcher: Write\n    deny: Files are written by the build; ask for a change.".into(),
        n => format!("on: PreToolUse\n    matcher: Tool{n}\n    deny: not here"),
    }
    })
}

/// Definitions of every common form, in several files.
fn mixed(count: usize, per_file: usize) -> tempfile::TempDir {
    definitions(count, per_file, |n| {
        match n % 5 {
        0 => format!("on: PreToolUse\n    if: Bash(tool{n} --force*)\n    deny: Not with force, says rule {n}."),
        1 => format!(
            "on: PostToolUse\n    if: Write(src/part{n}/**/*.ts)\n    command: eslint --fix \"$tool_input_path\""
        ),
        2 => format!("on: PreToolUse\n    matcher: mcp__server{n}__.*\n    ask: Is this meant, asks rule {n}?"),
        3 => format!(
            "on: PreToolUse\n    matcher: Pay{n}\n    when: has(tool.input.amount) && double(tool.input.amount) > {n}.0\n    deny: too much"
        ),
        _ => "on: [PostToolUse, PostToolUseFailure]\n    http: { url: \"http://127.0.0.1:9/audit\" }\n    async: true"
            .into(),
    }
    })
}

fn definitions(count: usize, per_file: usize, hook: impl Fn(usize) -> String) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let all: Vec<usize> = (0..count).collect();
    for (file, numbers) in all.chunks(per_file).enumerate() {
        let mut text = "hooks:\n".to_string();
        for n in numbers {
            let _ = writeln!(text, "  - name: h{n}\n    {}", hook(*n));
        }
        fs::write(dir.path().join(format!("{file:03}.yaml")), text).unwrap();
    }
    dir
}

fn push() -> Value {
    tool(
        "Bash",
        json!({"command": "cd app && git push --force origin main"}),
    )
}

fn tool(name: &str, input: Value) -> Value {
    json!({"event": "PreToolUse", "session": "s-1", "run": "r-1", "step": 3, "tool": {"name": name, "callId": "t-1", "input": input}})
}

fn dispatch(id: usize, event: &Value) -> Vec<u8> {
    line(&json!({"jsonrpc": "2.0", "id": id, "method": "hooks/dispatch", "params": event}))
}

/// Requests with ids of their own, for as many as are in flight.
fn ring(events: &[Value]) -> Vec<Vec<u8>> {
    let count = events.len().max(IN_FLIGHT);
    events
        .iter()
        .cycle()
        .take(count)
        .enumerate()
        .map(|(n, event)| dispatch(n % IN_FLIGHT, event))
        .collect()
}

const IN_FLIGHT: usize = 64;

fn line(message: &Value) -> Vec<u8> {
    format!("{message}\n").into_bytes()
}

// Servers and clients.

impl Bench {
    /// Rounds of a measurement.
    fn times(&self, rounds: usize) -> usize {
        if self.quick {
            rounds.div_ceil(10)
        } else {
            rounds
        }
    }

    fn host_command(&self, hooks: &Path) -> Command {
        let mut command = Command::new(&self.host);
        command
            .args(["serve", "--isolated", "--root", "/", "--hooks"])
            .arg(hooks);
        command
    }

    fn floor_command(&self, reply: &Value, argv: &[&str]) -> Command {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .arg("--floor")
            .arg(reply["result"].to_string())
            .args(argv);
        command
    }

    /// A host on a CPU of its own.
    fn host(&self, hooks: &Path) -> Server {
        self.pinned(&mut self.host_command(hooks))
    }

    fn floor(&self, reply: &Value, argv: &[&str]) -> Server {
        self.pinned(&mut self.floor_command(reply, argv))
    }

    /// Threads and children inherit the CPU of whoever starts them.
    fn pinned(&self, command: &mut Command) -> Server {
        let [first, .., last] = self.cpus[..] else {
            return Server::spawn(command);
        };
        affinity::pin(&[last]);
        let server = Server::spawn(command);
        affinity::pin(&[first]);
        server
    }
}

/// A host and a floor that answers as long.
struct Pair {
    host: Server,
    floor: Server,
    requests: Vec<Vec<u8>>,
}

impl Pair {
    /// A host that denies.
    fn new(bench: &Bench, hooks: &Path, events: &[Value]) -> Pair {
        let mut host = bench.host(hooks);
        let requests = ring(events);
        let reply = host.ask(&requests[0]);
        assert_eq!(reply["result"]["decision"], "deny", "{reply}");
        Pair::of(bench, host, requests)
    }

    fn of(bench: &Bench, mut host: Server, requests: Vec<Vec<u8>>) -> Pair {
        let reply = host.ask(&requests[0]);
        assert!(reply["result"]["decision"].is_string(), "{reply}");
        let floor = bench.floor(&reply, &[]);
        Pair {
            host,
            floor,
            requests,
        }
    }

    /// Round trips in turn, some of each at a time.
    fn time(&mut self, rounds: usize, count: usize, name: String) -> Against {
        let (mut host, mut floor) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            self.host.time(&self.requests, count, &mut host);
            self.floor.time(&self.requests, count, &mut floor);
        }
        let (p90, p90_floor) = (quantile(&mut host, 0.9), quantile(&mut floor, 0.9));
        let note = format!("{name}, p90 {p90:.1} µs against {p90_floor:.1} µs");
        Against::new(&mut host, &mut floor, note)
    }

    /// The same with as many requests in flight as there may be.
    fn flood(&mut self, rounds: usize, count: usize, name: String) -> Against {
        let (mut host, mut floor) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            host.push(self.host.flood(&self.requests, count));
            floor.push(self.floor.flood(&self.requests, count));
        }
        Against::new(&mut host, &mut floor, name)
    }
}

struct Server {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: ChildStdout,
    buffer: Vec<u8>,
}

impl Server {
    fn spawn(command: &mut Command) -> Server {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take().unwrap());
        Server {
            child,
            stdin,
            stdout,
            buffer: vec![0; 64 * 1024],
        }
    }

    fn send(&mut self, bytes: &[u8]) {
        self.stdin.as_mut().unwrap().write_all(bytes).unwrap();
    }

    /// Sends a request and gives the bytes of the reply.
    fn round_trip(&mut self, request: &[u8]) -> &[u8] {
        self.send(request);
        let mut length = 0;
        loop {
            let read = self.stdout.read(&mut self.buffer[length..]).unwrap();
            assert_ne!(read, 0, "the server has ended");
            length += read;
            if self.buffer[length - 1] == b'\n' {
                return &self.buffer[..length];
            }
        }
    }

    fn ask(&mut self, request: &[u8]) -> Value {
        serde_json::from_slice(self.round_trip(request)).unwrap()
    }

    /// Reads until a message has this text in it, and gives that message.
    fn told(&mut self, part: &str) -> String {
        let mut unread = Vec::new();
        loop {
            let read = self.stdout.read(&mut self.buffer).unwrap();
            assert_ne!(read, 0, "the server has ended");
            unread.extend_from_slice(&self.buffer[..read]);
            while let Some(end) = memchr::memchr(b'\n', &unread) {
                let message: Vec<u8> = unread.drain(..=end).collect();
                let message = String::from_utf8(message).unwrap();
                if message.contains(part) {
                    return message;
                }
            }
        }
    }

    /// Adds the microseconds of each of so many round trips.
    fn time(&mut self, requests: &[Vec<u8>], count: usize, times: &mut Vec<f64>) {
        for request in requests
            .iter()
            .cycle()
            .skip(times.len() % requests.len())
            .take(count)
        {
            let started = Instant::now();
            self.round_trip(request);
            times.push(started.elapsed().as_secs_f64() * 1e6);
        }
    }

    /// Microseconds a request when so many are always in flight.
    fn flood(&mut self, requests: &[Vec<u8>], count: usize) -> f64 {
        let started = Instant::now();
        let (mut sent, mut answered) = (0, 0);
        let mut batch = Vec::new();
        while answered < count {
            batch.clear();
            while sent < count && sent - answered < IN_FLIGHT {
                batch.extend_from_slice(&requests[sent % requests.len()]);
                sent += 1;
            }
            if !batch.is_empty() {
                self.stdin.as_mut().unwrap().write_all(&batch).unwrap();
            }
            let read = self.stdout.read(&mut self.buffer).unwrap();
            assert_ne!(read, 0, "the server has ended");
            answered += memchr::memchr_iter(b'\n', &self.buffer[..read]).count();
        }
        started.elapsed().as_secs_f64() * 1e6 / count as f64
    }

    /// A number that the kernel knows of the server: memory is in KiB. Not a number where there is
    /// no /proc.
    fn status(&self, name: &str) -> f64 {
        let status =
            fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap_or_default();
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix(name))
            .unwrap_or_default();
        line.split_whitespace()
            .next()
            .and_then(|n| n.parse().ok())
            .unwrap_or(f64::NAN)
    }

    /// How long the server's threads have run, in nanoseconds, and how often they were started by
    /// the kernel.
    fn scheduled(&self) -> (f64, f64) {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.child.id()))
            .into_iter()
            .flatten()
            .flatten();
        let numbers = tasks.filter_map(|task| {
            let text = fs::read_to_string(task.path().join("schedstat")).ok()?;
            let mut numbers = text
                .split_whitespace()
                .map(|it| it.parse::<f64>().unwrap_or(f64::NAN));
            Some((numbers.next()?, numbers.nth(1)?))
        });
        numbers.fold((0.0, 0.0), |sum, it| (sum.0 + it.0, sum.1 + it.1))
    }

    /// Lets the server run anywhere.
    fn unpin(&self, cpus: &[usize]) {
        affinity::pin_process(self.child.id(), cpus);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stdin = None;
        let _ = self.child.wait();
    }
}

fn p50(values: &mut [f64]) -> f64 {
    quantile(values, 0.5)
}

fn quantile(values: &mut [f64], q: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    values[((values.len() - 1) as f64 * q) as usize]
}

// The floor.

/// Answers every request with the same result. With a command, runs it first, the event on its
/// stdin.
fn floor(arguments: &[String]) {
    let (result, argv) = arguments.split_first().unwrap();
    let file = |fd| fs::File::from(rustix::io::dup(fd).unwrap());
    let mut input = BufReader::with_capacity(64 * 1024, file(rustix::stdio::stdin()));
    let mut output = BufWriter::with_capacity(64 * 1024, file(rustix::stdio::stdout()));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let mut message = Vec::new();
    while input.read_until(b'\n', &mut message).unwrap() > 0 {
        let request: Value = serde_json::from_slice(&message).unwrap();
        if !argv.is_empty() {
            runtime
                .as_ref()
                .unwrap()
                .block_on(spawn(argv, request["params"].to_string().as_bytes()));
        }
        writeln!(
            output,
            r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#,
            request["id"]
        )
        .unwrap();
        if input.buffer().is_empty() {
            output.flush().unwrap();
        }
        message.clear();
    }
}

async fn spawn(argv: &[String], stdin: &[u8]) {
    use tokio::io::AsyncWriteExt;
    let mut child = tokio::process::Command::new(&argv[0])
        .args(&argv[1..])
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // It may have ended without reading.
    let _ = child.stdin.take().unwrap().write_all(stdin).await;
    assert!(child.wait_with_output().await.unwrap().status.success());
}

#[cfg(target_os = "linux")]
mod affinity {
    use rustix::process::Pid;
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

    pub(super) fn available() -> Vec<usize> {
        let set = sched_getaffinity(None).unwrap();
        (0..CpuSet::MAX_CPU)
            .filter(|cpu| set.is_set(*cpu))
            .collect()
    }

    fn set(cpus: &[usize]) -> CpuSet {
        let mut set = CpuSet::new();
        cpus.iter().for_each(|cpu| set.set(*cpu));
        set
    }

    pub(super) fn pin(cpus: &[usize]) {
        sched_setaffinity(None, &set(cpus)).unwrap();
    }

    pub(super) fn pin_process(pid: u32, cpus: &[usize]) {
        let threads = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
        for thread in threads.filter_map(|it| it.ok()?.file_name().to_str()?.parse().ok()) {
            let _ = sched_setaffinity(Pid::from_raw(thread), &set(cpus));
        }
    }
}

/// Nothing is pinned here; the scheduler has its say.
#[cfg(not(target_os = "linux"))]
mod affinity {
    pub(super) fn available() -> Vec<usize> {
        Vec::new()
    }

    pub(super) fn pin(_: &[usize]) {}

    pub(super) fn pin_process(_: u32, _: &[usize]) {}
}
