//! `hookwire demo --fleet`: five hosts and a server between them, of which some are killed.
//!
//! All of it is real: the server is a nats-server with the accounts of `examples/fleet`, each host
//! is this binary as `serve --fleet`, and the publisher and the approver type the commands that are
//! printed. What is printed is what they said, or what the stream of verdicts has.

mod machine;
mod server;

use super::{WIDTH, print_detail, wrap_text};
use crate::cli::ending;
use crate::cli::output::{Output, Tone, shorten_text};
use crate::cli::scratch::scratch_dir;
use crate::cli::{Failure, Finding};
use futures_util::future::join_all;
use hookwire_base::verdict::{Decision, Verdict};
use hookwire_engine::fleet::settings::Settings;
use hookwire_fleet::asks;
use hookwire_fleet::hosts::{self, Report};
use hookwire_fleet::publish::Reports;
use hookwire_fleet::server::Server;
use hookwire_fleet::verdicts::{From, Reader, Stored};
use machine::Machine;
use rustix::process::{Pid, Signal, kill_process_group};
use server::BusServer;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant, SystemTime};
use tokio::process::Command;

/// What a host without rules gets, and what is published at first.
const GUARD: &str = "hooks:
  - name: no-force-push
    on: PreToolUse
    if: Bash(git push --force*)
    deny: Force pushes are off.
";
const CASES: &str = "cases:
  - { bash: git push --force, expect: deny }
  - { bash: git status, expect: allow }
";
/// A hook that runs code, which these hosts permit nobody.
const RUNS_CODE: &str = "  - { name: notify, on: PostToolUse, command: ./notify.sh }
";
/// What counts for all hosts together.
const SHARED: &str = "  - name: deploys
    on: PreToolUse
    if: Bash(make deploy*)
    fail: closed
    guard: { rate-limit: { max: 3, within: 1h, per: fleet, quota: deploys } }
  - name: merges
    on: PreToolUse
    if: Bash(gh pr merge*)
    fail: closed
    guard: { approval: { message: Merge this?, wait: 60s } }
";
const HOSTS: usize = 5;
/// The host that is killed, and the one that asks a person.
const KILLED: usize = 2;
const ASKING: usize = 1;
/// The asks of all hosts together for what three may have.
const ASKS: usize = 10;
const ADMITTED: usize = 3;
/// The calls that each host judges while the server is away, and those after which one is killed.
const CALLS: u64 = 20;
/// How long each step may take.
const LIMIT: Duration = Duration::from_secs(30);

pub(super) fn run(nats: Option<&Path>, out: &mut Output) -> Result<Finding, Failure> {
    let program = server::find_program(nats)?;
    ending::run_to_end(async |_| {
        let place = scratch_dir("demo")?;
        // Ends with its processes before the directory goes, be it here or because a signal has
        // come.
        let mut stage = Stage::set(&program, place.path()).await?;
        stage.play_scenes(out).await
    })
}

/// Who plays.
struct Stage {
    root: PathBuf,
    machines: Vec<Machine>,
    server: BusServer,
    /// What hosts say of themselves, as a publisher hears it.
    reports: Reports,
    publisher: Server,
    approver: Server,
    auditor: Server,
}

impl Stage {
    /// Starts the server, makes its streams and the keys, and starts the hosts.
    async fn set(program: &Path, root: &Path) -> Result<Stage, Failure> {
        for dir in ["team", "project", "user"] {
            std::fs::create_dir(root.join(dir))?;
        }
        let names: Vec<String> = (1..=HOSTS).map(|n| format!("web-{n}")).collect();
        let mut server = BusServer::new(program, &root.join("nats"), &names)?;
        server.start().await?;
        server.write_settings(&root.join("admin.conf"), "admin", "")?;
        let quota = format!("--quota deploys={ADMITTED}/1h");
        let init = format!("fleet init --fleet admin.conf --audit-bytes 67108864 {quota}");
        expect_success(run_hookwire(root, &init).await?)?;
        let team = public_key(root, "team.key").await?;
        let alice = public_key(root, "alice.key").await?;
        let pins = format!("[definitions]\nkeys = [{team:?}]\n");
        server.write_settings(&root.join("publisher.conf"), "publisher", &pins)?;
        for user in ["approver", "auditor"] {
            server.write_settings(&root.join(format!("{user}.conf")), user, "")?;
        }
        let pins = format!("{pins}[approvals]\napprovers = {{ alice = {alice:?} }}\n");
        let publisher = connect_as(root, "publisher").await?;
        let mut reports = Reports::listen(&publisher).await?;
        let mut machines = Vec::new();
        for name in &names {
            server.write_settings(&root.join(format!("{name}.conf")), name, &pins)?;
            machines.push(Machine::start(name, root)?);
        }
        wait_for_all(&mut reports, &names, "join", |_| true).await?;
        let (approver, auditor) = (
            connect_as(root, "approver").await?,
            connect_as(root, "auditor").await?,
        );
        Ok(Stage {
            root: root.into(),
            machines,
            server,
            reports,
            publisher,
            approver,
            auditor,
        })
    }

    async fn play_scenes(&mut self, out: &mut Output) -> Result<Finding, Failure> {
        let head = "Five hosts, each as on a machine of its own, and one NATS server between them.";
        out.line(&out.tone(Tone::Strong, head));
        let about = format!(
            "nats-server {} at {}, with the accounts of examples/fleet.",
            self.auditor.version(),
            self.server.address()
        );
        out.line(&out.tone(Tone::Dim, &about));
        self.publish_guard(out).await?;
        self.publish_what_is_refused(out).await?;
        self.count_together(out).await?;
        self.answer_question(out).await?;
        self.lose_the_server(out).await?;
        self.find_it_again(out).await?;
        self.take_account(out).await
    }

    /// A guard comes into force on all hosts.
    async fn publish_guard(&mut self, out: &mut Output) -> Result<(), Failure> {
        print_scene("You publish a guard.", out);
        self.write_file("guard.yaml", GUARD)?;
        self.write_file("guard.test.yaml", CASES)?;
        let began = Instant::now();
        self.type_command(PUBLISH, 0, out).await?;
        self.in_force(1).await?;
        let verdict = self.all_deny("git push --force").await?;
        let took = began.elapsed().as_secs_f64();
        print_asked("web-1 … web-5", "git push --force", &verdict, out);
        print_detail(
            out,
            "",
            Tone::Dim,
            &format!("All five deny it {took:.1} s after you began to publish."),
        );
        Ok(())
    }

    /// What isn't sound doesn't leave the publisher; what hosts don't permit is refused by each of
    /// them.
    async fn publish_what_is_refused(&mut self, out: &mut Output) -> Result<(), Failure> {
        print_scene("You publish a typo, and then a hook that runs code.", out);
        self.write_file("guard.yaml", &GUARD.replace("deny:", "den:"))?;
        self.type_command(PUBLISH, 2, out).await?;
        self.write_file("guard.yaml", &format!("{GUARD}{RUNS_CODE}"))?;
        self.type_command(PUBLISH, 1, out).await?;
        // The first has been heard by the publisher; a host that reports again says it again.
        self.wait_everywhere("refuse it", |report| {
            report
                .refused
                .as_ref()
                .is_some_and(|refused| refused.revision == Some(2))
                && report
                    .in_force
                    .as_ref()
                    .is_some_and(|in_force| in_force.revision == 1)
        })
        .await?;
        let verdict = self.all_deny("git push --force").await?;
        print_asked("web-1 … web-5", "git push --force", &verdict, out);
        print_detail(
            out,
            "",
            Tone::Dim,
            "All five refuse revision 2 and go on with revision 1.",
        );
        Ok(())
    }

    /// A rate that all hosts share.
    async fn count_together(&mut self, out: &mut Output) -> Result<(), Failure> {
        print_scene(
            "You publish what counts for all: three deploys an hour, and a question.",
            out,
        );
        self.write_file("guard.yaml", &format!("{GUARD}{SHARED}"))?;
        self.type_command(PUBLISH, 0, out).await?;
        self.in_force(3).await?;
        let agents = self
            .machines
            .iter()
            .map(|machine| &machine.agent)
            .cycle()
            .take(ASKS);
        let asks = agents.map(|agent| async { agent.ask_about("make deploy").await });
        let verdicts = join_all(asks)
            .await
            .into_iter()
            .collect::<Result<Vec<Verdict>, Failure>>()?;
        let (allowed, denied): (Vec<_>, Vec<_>) = verdicts
            .iter()
            .partition(|verdict| verdict.decision == Decision::Allow);
        if allowed.len() != ADMITTED {
            return Err(demo_defect(&format!(
                "{} of {ASKS} were admitted, and not {ADMITTED}",
                allowed.len()
            )));
        }
        if let Some(denied) = denied.first() {
            print_asked(
                "web-1 … web-5",
                "make deploy, twice each, at once",
                denied,
                out,
            );
        }
        print_detail(
            out,
            "",
            Tone::Dim,
            &format!(
                "Of {ASKS} asks, {} pass and {} don't.",
                allowed.len(),
                denied.len()
            ),
        );
        Ok(())
    }

    /// A question is answered from elsewhere.
    async fn answer_question(&mut self, out: &mut Output) -> Result<(), Failure> {
        print_scene("web-2 asks a person. You answer from your desk.", out);
        let mut notices = asks::question_notices(&self.approver);
        notices.subscribe_anew().await;
        let agent = self.machine(ASKING)?.agent.clone();
        let asking = tokio::spawn(async move { agent.ask_about("gh pr merge 7").await });
        let until = Instant::now() + LIMIT;
        while asks::waiting_questions(&self.approver).await?.is_empty() {
            if Instant::now() > until {
                return Err(Failure("the question isn't on the server in time".into()));
            }
            notices.wait_at_most(Duration::from_secs(1)).await;
        }
        self.type_command(
            "approvals approve --fleet approver.conf --key alice.key --yes",
            0,
            out,
        )
        .await?;
        let verdict = asking.await??;
        print_asked("web-2", "gh pr merge 7", &verdict, out);
        expect_decision(&verdict, Decision::Allow)
    }

    /// The server ends; hosts go on, and one of them is killed.
    async fn lose_the_server(&mut self, out: &mut Output) -> Result<(), Failure> {
        print_scene("The server is killed.", out);
        self.server.stop();
        let work = join_all(
            self.machines
                .iter()
                .map(|machine| machine.agent.ask_many(CALLS)),
        )
        .await;
        let n: u64 = work.into_iter().sum::<Result<u64, Failure>>()?;
        let verdict = self.all_deny("git push --force").await?;
        print_asked("web-1 … web-5", "git push --force", &verdict, out);
        let gate = self.machine(0)?.agent.ask_about("make deploy").await?;
        expect_decision(&gate, Decision::Deny)?;
        print_asked("web-1", "make deploy", &gate, out);
        print_detail(
            out,
            "",
            Tone::Dim,
            &format!("{n} more calls are judged; the verdicts wait on five disks."),
        );
        print_scene(
            "web-3 is killed (kill -9) while it is asked, and starts again.",
            out,
        );
        let agent = self.machine(KILLED)?.agent.clone();
        let waiting = tokio::spawn(async move { agent.ask_about("gh pr merge 8").await });
        let machine = self
            .machines
            .get_mut(KILLED)
            .ok_or_else(|| Failure("no host is to be killed".into()))?;
        let on_disk = machine.kill_host(waiting).await?;
        let verdict = machine.agent.ask_about("git push --force").await?;
        expect_decision(&verdict, Decision::Deny)?;
        print_asked("web-3", "git push --force", &verdict, out);
        print_detail(
            out,
            "",
            Tone::Dim,
            &format!("{on_disk} verdicts were on its disk."),
        );
        Ok(())
    }

    /// The server starts again, and what waited arrives.
    async fn find_it_again(&mut self, out: &mut Output) -> Result<(), Failure> {
        print_scene("The server starts again.", out);
        let began = Instant::now();
        self.server.start().await?;
        self.auditor.wait_until_ready(LIMIT).await?;
        let mut reader = Reader::start(&self.auditor, &whole_stream()).await?;
        let owed: BTreeMap<&str, u64> = self
            .machines
            .iter()
            .map(|machine| (&*machine.name, machine.owed()))
            .collect();
        let mut stream = Stream::default();
        let all = async {
            while owed
                .iter()
                .any(|(host, owed)| stream.counted_of(host).different < *owed)
            {
                stream.add_stored(reader.next().await?);
            }
            Ok::<(), Failure>(())
        };
        let arrived = match tokio::time::timeout(LIMIT, all).await {
            Ok(arrived) => arrived.map(|()| "What was spooled has arrived")?,
            // The table says what is missing.
            Err(_) => "Something that was spooled has not arrived",
        };
        print_detail(
            out,
            "",
            Tone::Dim,
            &format!("{arrived} after {:.1} s.", began.elapsed().as_secs_f64()),
        );
        Ok(())
    }

    /// What each host has judged, and what of it the stream has.
    async fn take_account(&mut self, out: &mut Output) -> Result<Finding, Failure> {
        let mut reader = Reader::start(&self.auditor, &whole_stream()).await?;
        let mut stream = Stream::default();
        while let Some(stored) = reader.next_stored().await {
            stream.add_stored(stored?);
        }
        // Each connection comes again by itself.
        self.publisher.wait_until_ready(LIMIT).await?;
        let (reported, _) = hosts::all_hosts(&self.publisher).await?;
        let in_force = |name: &str| {
            let report = reported.iter().find(|it| it.who.host.as_str() == name)?;
            Some(report.report.in_force.as_ref()?.revision.to_string())
        };
        out.line("");
        let head = format!(
            "{:<8} {:>8} {:>9} {:>12} {:>15} {:>7} {:>7}",
            "host", "in force", "answers", "on its disk", "in the stream", "lost", "twice"
        );
        out.line(&out.tone(Tone::Strong, &head));
        let mut wrong = 0;
        for machine in &self.machines {
            let Counted { different, twice } = stream.counted_of(&machine.name);
            let lost = machine.owed().saturating_sub(different);
            wrong += lost + twice;
            let tone = if lost + twice == 0 {
                Tone::Good
            } else {
                Tone::Bad
            };
            let verdict = out.tone(tone, &format!("{lost:>7} {twice:>7}"));
            let (name, judged, on_disk) = (&machine.name, machine.judged(), machine.on_disk()?);
            out.line(&format!(
                "{name:<8} {:>8} {judged:>9} {on_disk:>12} {different:>15} {verdict}",
                in_force(name).unwrap_or_else(|| "nothing".into())
            ));
        }
        if wrong > 0 {
            return Err(demo_defect("verdicts are lost, or there twice"));
        }
        out.line("");
        out.line("Now yours. The servers, accounts and keys, step by step:");
        out.line("  hookwire docs fleet                   (ten lines to start)");
        out.line("  hookwire docs fleet-state             (verdicts, budgets, approvals)");
        Ok(Finding::Fine)
    }

    /// Runs a command as somebody types it, and shows what it says.
    async fn type_command(&self, line: &str, code: i32, out: &mut Output) -> Result<(), Failure> {
        let shown = line
            .replace(" --fleet publisher.conf", "")
            .replace(" --fleet approver.conf", "");
        out.line(&out.tone(Tone::Strong, &format!("    $ hookwire {shown}")));
        let ran = run_hookwire(&self.root, line).await?;
        // What stops a command is on stderr; what is there beside is said again by the hosts.
        let said = if code == 2 { &ran.stderr } else { &ran.stdout };
        for said in said.lines().filter(|line| !line.trim().is_empty()) {
            let (head, rest) = wrap_text(said.trim(), WIDTH - 6);
            std::iter::once(head)
                .chain(rest)
                .for_each(|it| out.line(&format!("      {it}")));
        }
        match ran.code == Some(code) {
            true => Ok(()),
            false => Err(Failure(format!(
                "`hookwire {line}` has ended with {:?}, and not {code}: {}",
                ran.code, ran.stderr
            ))),
        }
    }

    fn write_file(&self, file: &str, text: &str) -> Result<(), Failure> {
        Ok(std::fs::write(self.root.join("team").join(file), text)?)
    }

    fn machine(&self, n: usize) -> Result<&Machine, Failure> {
        self.machines
            .get(n)
            .ok_or_else(|| Failure(format!("there is no host {n}")))
    }

    /// Waits until all hosts say that a revision is in force.
    async fn in_force(&mut self, revision: u64) -> Result<(), Failure> {
        self.wait_everywhere(&format!("have revision {revision}"), |report| {
            report
                .in_force
                .as_ref()
                .is_some_and(|in_force| in_force.revision == revision)
        })
        .await
    }

    async fn wait_everywhere(
        &mut self,
        what: &str,
        is_so: impl Fn(&Report) -> bool,
    ) -> Result<(), Failure> {
        let names: Vec<String> = self
            .machines
            .iter()
            .map(|machine| machine.name.clone())
            .collect();
        wait_for_all(&mut self.reports, &names, what, is_so).await
    }

    /// Asks all hosts about a command that each of them must deny; gives the last verdict.
    async fn all_deny(&self, command: &str) -> Result<Verdict, Failure> {
        let asks = join_all(
            self.machines
                .iter()
                .map(|machine| machine.agent.ask_about(command)),
        )
        .await;
        let mut last = None;
        for verdict in asks {
            let verdict = verdict?;
            expect_decision(&verdict, Decision::Deny)?;
            last = Some(verdict);
        }
        last.ok_or_else(|| Failure("there are no hosts".into()))
    }
}

const PUBLISH: &str = "fleet publish team --key team.key --fleet publisher.conf";

/// Waits until each host has reported something.
async fn wait_for_all(
    reports: &mut Reports,
    names: &[String],
    what: &str,
    is_so: impl Fn(&Report) -> bool,
) -> Result<(), Failure> {
    let mut missing: BTreeSet<&str> = names.iter().map(String::as_str).collect();
    let all = async {
        while !missing.is_empty() {
            let (who, report) = reports
                .next_report()
                .await
                .ok_or_else(|| Failure("no reports come any more".into()))?;
            if is_so(&report) {
                missing.remove(who.host.as_str());
            }
        }
        Ok(())
    };
    match tokio::time::timeout(LIMIT, all).await {
        Ok(done) => done,
        Err(_) => Err(Failure(format!(
            "after {} s these hosts don't {what}: {missing:?}",
            LIMIT.as_secs()
        ))),
    }
}

/// What the stream has.
#[derive(Default)]
struct Stream(BTreeMap<String, BTreeMap<(String, u64), u64>>);

/// The verdicts of a host in the stream, and how many of them are there more than once.
struct Counted {
    different: u64,
    twice: u64,
}

impl Stream {
    fn add_stored(&mut self, stored: Stored) {
        let of_host = self.0.entry(stored.host.to_string()).or_default();
        *of_host
            .entry((stored.spool.to_string(), stored.number))
            .or_default() += 1;
    }

    fn counted_of(&self, host: &str) -> Counted {
        let all = self.0.get(host);
        let counts = || all.into_iter().flat_map(BTreeMap::values);
        Counted {
            different: counts().count() as u64,
            twice: counts().filter(|count| **count > 1).count() as u64,
        }
    }
}

/// The whole stream.
fn whole_stream() -> From {
    From {
        host: None,
        since: Some(SystemTime::UNIX_EPOCH),
        back: 0,
    }
}

async fn connect_as(root: &Path, user: &str) -> Result<Server, Failure> {
    let file = root.join(format!("{user}.conf"));
    let settings = Settings::given(&file.to_string_lossy()).map_err(Failure)?;
    Ok(Server::connect(&settings.server, LIMIT).await?)
}

/// What a command of this program has said.
struct Ran {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

/// Runs this program with arguments that are parted by spaces.
async fn run_hookwire(root: &Path, line: &str) -> Result<Ran, Failure> {
    let mut command = Command::new(std::env::current_exe()?);
    command
        .args(["--log", "error", "--color", "never", "--user-dir"])
        .arg(root.join("user"));
    command
        .arg("--data-dir")
        .arg(root.join("desk"))
        .args(line.split(' '));
    command
        .current_dir(root)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let child = command.process_group(0).kill_on_drop(true).spawn()?;
    let mut group = Group(child.id().and_then(|id| Pid::from_raw(id.cast_signed())));
    let ran = tokio::time::timeout(LIMIT, child.wait_with_output()).await;
    if ran.is_ok() {
        group.0 = None;
    }
    let ran = ran.map_err(|_| {
        Failure(format!(
            "`hookwire {line}` takes more than {} s",
            LIMIT.as_secs()
        ))
    })??;
    let [stdout, stderr] =
        [ran.stdout, ran.stderr].map(|it| String::from_utf8_lossy(&it).into_owned());
    Ok(Ran {
        code: ran.status.code(),
        stdout,
        stderr,
    })
}

/// What a command has started is killed with the value, unless the command has ended by itself.
struct Group(Option<Pid>);

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

fn expect_success(ran: Ran) -> Result<String, Failure> {
    match ran.code {
        Some(0) => Ok(ran.stdout),
        code => Err(Failure(format!(
            "a command of the demo has ended with {code:?}: {}",
            ran.stderr.trim()
        ))),
    }
}

/// Makes a key; gives its public half.
async fn public_key(root: &Path, file: &str) -> Result<String, Failure> {
    expect_success(run_hookwire(root, &format!("fleet key {file} --no-passphrase")).await?)?;
    let said = expect_success(run_hookwire(root, &format!("fleet key {file}")).await?)?;
    Ok(said.trim().to_string())
}

fn print_scene(what: &str, out: &mut Output) {
    out.line("");
    out.line(&out.tone(Tone::Strong, what));
}

/// Prints what was asked where, and the verdict.
fn print_asked(whom: &str, command: &str, verdict: &Verdict, out: &mut Output) {
    let word = out.tone(
        Tone::of_decision(verdict.decision),
        verdict.decision.as_str(),
    );
    out.line(&format!(
        "    {whom:<14} {:<50} {word}",
        shorten_text(command, 50)
    ));
    if let Some(hook) = &verdict.decided_by {
        let reason = verdict.reason.as_deref().unwrap_or_default();
        print_detail(out, hook, Tone::of_decision(verdict.decision), reason);
    }
}

fn expect_decision(verdict: &Verdict, decision: Decision) -> Result<(), Failure> {
    match verdict.decision == decision {
        true => Ok(()),
        false => Err(demo_defect(&format!(
            "the verdict is {} ({}), and not {}",
            verdict.decision.as_str(),
            verdict.reason.as_deref().unwrap_or("without a reason"),
            decision.as_str()
        ))),
    }
}

fn demo_defect(what: &str) -> Failure {
    Failure(format!(
        "{what}: this is a defect of hookwire, please report it"
    ))
}
