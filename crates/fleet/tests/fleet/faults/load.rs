//! What two hosts, a publisher and two approvers do while something breaks, and the account of it
//! afterwards.

use crate::common::{self, LONG, Servers, Sound, manifest, until};
use hookwire_fleet::asks::{self, Answered, Asker, Decision, Question};
use hookwire_fleet::bundle::Files;
use hookwire_fleet::envelope::Signers;
use hookwire_fleet::follow::{Follower, Pins, Status};
use hookwire_fleet::hosts::unix_now;
use hookwire_fleet::key::{PublicKey, SecretKey};
use hookwire_fleet::name::Name;
use hookwire_fleet::publish::{self, Channel};
use hookwire_fleet::quota::{self, Take};
use hookwire_fleet::server::{Server, ServerError};
use hookwire_fleet::spend::{Budget, Spender};
use hookwire_fleet::spool::{Limits, Spool};
use hookwire_fleet::streams::{self, Plan, Quota};
use hookwire_fleet::verdicts::{Outbound, spool_limits};
use serde_json::value::to_raw_value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Asks again and again, for so long at most, though no server answers for longer than a test waits
/// elsewhere. It is a macro, because the future of an async closure can't be sent to another
/// thread.
macro_rules! again {
    ($most:expr, $ask:expr) => {{
        let end = Instant::now() + $most;
        loop {
            if let Some(answer) = $ask {
                break answer;
            }
            assert!(Instant::now() < end, "no server answers");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }};
}

/// What one call costs, in millionths.
pub const COST: i64 = 3000;
/// How long one try of a gate may take.
const TRY: Duration = Duration::from_secs(2);

pub fn name(text: &str) -> Name {
    text.parse().unwrap()
}

/// The number of a record, in it.
fn record(n: u64, bytes: usize) -> Vec<u8> {
    format!("{{\"n\":{n},\"text\":\"{}\"}}", "x".repeat(bytes)).into_bytes()
}

/// What a row of the matrix found.
#[derive(Default)]
pub struct Account {
    /// Verdicts that were kept, and how many of them aren't in the stream, or are there more than
    /// once.
    pub kept: u64,
    pub lost: u64,
    pub doubled: u64,
    /// The longest that a gate waited for its quota and budget.
    pub longest: Duration,
    /// What doesn't hold.
    pub broken: Vec<String>,
    /// What else is worth telling.
    pub note: String,
}

/// The largest lease is a hundredth of a budget; two hosts may lose two each.
const LEASES: i64 = 25;

/// How much may be taken and spent.
#[derive(Clone, Copy)]
pub struct Amounts {
    pub limit: u32,
    pub max: i64,
}

/// What gates of other processes have done.
#[derive(Default)]
pub struct Elsewhere {
    pub processes: i64,
    pub gates: u64,
    pub admitted: u64,
    pub spent: i64,
}

/// A host at work.
pub struct Worker {
    pub server: Server,
    pub outbound: Outbound,
    user: &'static str,
    dir: TempDir,
    kept: Arc<AtomicU64>,
    /// How many gates it has passed.
    gates: watch::Receiver<u64>,
    definitions: watch::Receiver<Status>,
    tasks: Vec<JoinHandle<()>>,
    /// Ends when the work is over, once what it has counted is kept.
    keeping: JoinHandle<()>,
    gate: JoinHandle<(u64, i64)>,
}

impl Worker {
    /// Keeps records beside those that it keeps anyway.
    pub async fn keep(&self, times: u64, bytes: usize) {
        keep(&self.outbound, &self.kept, times, bytes).await;
    }

    /// How many it has kept so far.
    pub fn n_kept(&self) -> u64 {
        self.kept.load(Ordering::Relaxed)
    }

    /// Waits until the server has all that is kept by now, though more is kept meanwhile.
    pub async fn sent_so_far(&self) {
        let (end, mut progress) = (self.n_kept(), self.outbound.progress());
        let sent = progress.wait_for(|it| self.n_kept().saturating_sub(it.waiting) >= end);
        let sent = tokio::time::timeout(LONG * 2, sent).await;
        assert!(
            sent.is_ok(),
            "{:?} after {end}",
            self.outbound.progress().borrow()
        );
    }

    /// Leaves so many numbers to another process of this host; gives the first.
    pub fn reserve(&self, times: u64) -> u64 {
        self.kept.fetch_add(times, Ordering::Relaxed) + 1
    }
}

/// Keeps records with these numbers.
pub fn keep_from(outbound: &Outbound, first: u64, times: u64) {
    let records: Vec<_> = (first..first + times).map(|n| record(n, 100)).collect();
    assert_eq!(outbound.keep_records(&records).unwrap(), 0);
}

/// The disk may be slow, so it is waited for elsewhere.
async fn keep(outbound: &Outbound, kept: &Arc<AtomicU64>, times: u64, bytes: usize) {
    let (outbound, kept) = (outbound.clone(), kept.clone());
    tokio::task::spawn_blocking(move || {
        for _ in 0..times {
            // Numbered by whoever keeps, so that the order of two who keep at once doesn't matter.
            let n = kept.fetch_add(1, Ordering::Relaxed) + 1;
            assert_eq!(outbound.keep_records(&[record(n, bytes)]).unwrap(), 0);
        }
    })
    .await
    .unwrap();
}

/// All that is at work.
pub struct Load {
    pub servers: Servers,
    pub admin: Server,
    pub hosts: Vec<Worker>,
    pub quota: Name,
    pub auditor: Server,
    pub elsewhere: Elsewhere,
    amounts: Amounts,
    budget: Budget,
    pins: Pins,
    team: Server,
    is_over: watch::Sender<bool>,
    longest: Arc<AtomicU64>,
    publishing: JoinHandle<u64>,
    asking: JoinHandle<Option<asks::Answer>>,
    answering: Option<JoinHandle<Vec<(PublicKey, Answered)>>>,
    approver: Server,
    keys: Arc<[SecretKey; 2]>,
}

impl Load {
    /// Makes the streams, and starts everybody. With `home`, host-a begins at this server and
    /// everybody else at others.
    pub async fn start(servers: Servers, amounts: Amounts, home: Option<usize>) -> Load {
        let all: Vec<usize> = (0..servers.len()).collect();
        let others: Vec<usize> = all.iter().copied().filter(|it| Some(*it) != home).collect();
        let connect = async |user: &str, nodes: &[usize]| {
            let settings = servers.settings_at(user, nodes);
            until(async || Server::connect(&settings, LONG).await.ok()).await
        };
        let admin = connect("admin", &others).await;
        until(async || admin.jetstream(TRY).query_account().await.ok()).await;
        let window = Duration::from_secs(3600);
        let quota = quota::full_name(&name("deploys"), amounts.limit, window).unwrap();
        let quotas = vec![Quota {
            name: quota.clone(),
            limit: amounts.limit,
            window,
        }];
        let plan = Plan {
            replicas: servers.len(),
            quotas,
            ..Plan::default()
        };
        until(async || streams::init_streams(&admin, &plan, false).await.ok()).await;
        let (signing, keys) = (
            SecretKey::generate().unwrap(),
            [(), ()].map(|()| SecretKey::generate().unwrap()),
        );
        let pins = Pins {
            channel: name("main"),
            signers: Signers::new([signing.public()], 1).unwrap(),
        };
        let budget = Budget {
            name: name("team"),
            period: name("p"),
            max: amounts.max,
        };
        let (is_over, longest) = (watch::Sender::new(false), Arc::new(AtomicU64::new(0)));
        let mut hosts = Vec::new();
        for user in ["host-a", "host-b"] {
            let at = home
                .filter(|_| user == "host-a")
                .map_or(others.clone(), |home| vec![home]);
            let server = connect(user, &at).await;
            let gate = Gate {
                server,
                quota: quota.clone(),
                budget: budget.clone(),
                longest: longest.clone(),
                user,
            };
            hosts.push(gate.start(&pins, &is_over));
        }
        let team = connect("publisher", &others).await;
        let publishing = tokio::spawn(publish_on(
            team.clone(),
            signing,
            pins.clone(),
            is_over.subscribe(),
        ));
        let approvers: Vec<PublicKey> = keys.iter().map(SecretKey::public).collect();
        let asker = Asker::new(hosts[0].server.clone(), name("p1"), approvers, &[]).unwrap();
        let asking = tokio::spawn(async move {
            let question = to_raw_value(&serde_json::json!({ "message": "Push?" })).unwrap();
            asker.ask(&question, LONG * 3, |_| {}).await.unwrap()
        });
        let (approver, auditor) = (
            connect("approver", &others).await,
            connect("auditor", &others).await,
        );
        let (answering, keys) = (None, Arc::new(keys));
        #[rustfmt::skip]
        let load = Load {
            servers, admin, hosts, quota, auditor, elsewhere: Elsewhere::default(), amounts, budget, pins, team, is_over,
            longest, publishing, asking, answering, approver, keys,
        };
        load.moves(5).await;
        load
    }

    /// Waits until this host has passed so many gates more.
    pub async fn moves_at(&self, host: usize, gates: u64) {
        let mut passed = self.hosts[host].gates.clone();
        let before = *passed.borrow();
        let moved = passed.wait_for(|it| *it >= before + gates);
        let moved = tokio::time::timeout(LONG * 2, moved).await;
        assert!(
            moved.is_ok_and(|it| it.is_ok()),
            "host {host} doesn't go on"
        );
    }

    /// Waits until each host has passed so many gates more.
    pub async fn moves(&self, gates: u64) {
        for host in 0..self.hosts.len() {
            self.moves_at(host, gates).await;
        }
    }

    /// Two approvers answer at once, and don't agree.
    pub fn answer(&mut self) {
        let (approver, keys) = (self.approver.clone(), self.keys.clone());
        self.answering = Some(tokio::spawn(async move {
            let question = again!(LONG * 2, open_question(&approver).await);
            let answers = tokio::join!(
                answer(&approver, &question, Decision::Approve, &keys[0]),
                answer(&approver, &question, Decision::Deny, &keys[1])
            );
            vec![answers.0, answers.1]
        }));
    }

    /// Ends the work, and takes account of it.
    pub async fn account(mut self) -> Account {
        let mut found = Account::default();
        self.is_over.send_replace(true);
        self.check_answer(&mut found).await;
        self.check_definitions(&mut found).await;
        let Elsewhere {
            processes,
            mut gates,
            mut admitted,
            mut spent,
        } = std::mem::take(&mut self.elsewhere);
        // Each may have one call on its way when the budget ends.
        let most = self.amounts.max + (processes + self.hosts.len() as i64) * COST;
        let mut kept = BTreeMap::new();
        for host in std::mem::take(&mut self.hosts) {
            let (of_quota, of_budget) = host.gate.await.unwrap();
            (admitted, spent, gates) = (
                admitted + of_quota,
                spent + of_budget,
                gates + *host.gates.borrow(),
            );
            host.keeping.await.unwrap();
            if !host.outbound.wait_until_drained(LONG).await {
                found.broken.push(format!(
                    "{}: {:?}",
                    host.user,
                    host.outbound.progress().borrow()
                ));
            }
            host.tasks.iter().for_each(JoinHandle::abort);
            kept.insert(name(host.user), host.kept.load(Ordering::Relaxed));
            drop(host.dir);
        }
        found.kept = kept.values().sum();
        // A replica may be behind; what isn't there in the end is lost.
        let whole = settled(
            async || stored(&self.auditor).await,
            |stored| {
                kept.iter()
                    .all(|(host, kept)| stored.get(host).is_some_and(|it| it.len() as u64 >= *kept))
            },
        );
        let stored = whole.await;
        for (host, kept) in kept {
            let found_of = stored.get(&host).cloned().unwrap_or_default();
            let different: BTreeSet<u64> = found_of.iter().copied().collect();
            found.lost += (1..=kept).filter(|it| !different.contains(it)).count() as u64;
            found.doubled += (found_of.len() - different.len()) as u64;
        }
        if spent > most {
            found.broken.push(format!("{spent} of {most} was spent"));
        }
        self.check_counts(&mut found, gates, admitted, spent).await;
        found.longest = Duration::from_millis(self.longest.load(Ordering::Relaxed));
        found
    }

    async fn check_answer(&mut self, found: &mut Account) {
        if self.answering.is_none() {
            self.answer();
        }
        let answers = self.answering.take().unwrap().await.unwrap();
        let first: Vec<_> = answers
            .iter()
            .filter(|answer| answer.1 == Answered::First)
            .map(|answer| answer.0)
            .collect();
        let heard = (&mut self.asking).await.unwrap().map(|asking| asking.by);
        if first.len() != 1 || heard != first.first().copied() {
            found
                .broken
                .push(format!("{answers:?}, and the host heard of {heard:?}"));
        }
    }

    /// Each host has what was published last, and nothing that was acknowledged is gone.
    async fn check_definitions(&mut self, found: &mut Account) {
        let acknowledged = (&mut self.publishing).await.unwrap();
        let last = async || {
            until(async || {
                Channel::read_from(&self.team, &self.pins.channel, &self.pins.signers)
                    .await
                    .ok()
            })
            .await
            .all
            .published
            .map_or(0, |published| published.manifest.revision)
        };
        let last = settled(last, |last| *last >= acknowledged).await;
        if last < acknowledged || acknowledged < 2 {
            found.broken.push(format!(
                "revision {acknowledged} was acknowledged, the last is {last}"
            ));
        }
        for host in &mut self.hosts {
            let waited = tokio::time::timeout(
                LONG,
                host.definitions.wait_for(|status| {
                    status
                        .in_force
                        .as_ref()
                        .is_some_and(|in_force| in_force.revision == last)
                }),
            )
            .await
            .is_ok();
            if !waited {
                found.broken.push(format!(
                    "{} has {:?}, not {last}",
                    host.user,
                    host.definitions.borrow().in_force
                ));
            }
        }
        found.note = format!("{last} revisions");
    }

    /// While a stream has no leader, each server answers for it with what it has itself. So a count
    /// that doesn't fit is read again: what is acknowledged is there in the end.
    async fn check_counts(&self, found: &mut Account, gates: u64, admitted: u64, spent: i64) {
        let Amounts { limit, max } = self.amounts;
        let stream = streams::quota_stream(&self.quota);
        let in_stream = async || {
            let stream = self.admin.jetstream(TRY).get_stream(&stream).await.ok()?;
            Some(stream.cached_info().state.messages)
        };
        // A gate that the end came upon has asked, too. And an admission of which the answer was
        // lost may be told as a refusal when it is asked for again.
        let expected = gates.min(limit.into())..=(gates + 2).min(limit.into());
        let fits = |in_stream: &u64| expected.contains(in_stream) && admitted <= *in_stream;
        let in_stream = settled(async || until(in_stream).await, fits).await;
        if !fits(&in_stream) {
            found.broken.push(format!(
                "{in_stream} in the quota, {admitted} admitted of {gates}, limit {limit}"
            ));
        }
        let subject = streams::spend_subject(&self.budget.name, &self.budget.period);
        let counted = async || {
            let stream = self
                .admin
                .jetstream(TRY)
                .get_stream(streams::SPEND)
                .await
                .ok()?;
            let last = stream
                .get_last_raw_message_by_subject(&subject)
                .await
                .ok()?;
            let value: serde_json::Value = serde_json::from_slice(&last.payload).ok()?;
            value.get("val")?.as_str()?.parse::<i64>().ok()
        };
        // An addition whose outcome isn't known counts and allows nothing: a lease may stay
        // counted, never the reverse.
        let fits = |counted: &i64| (0..=max / LEASES).contains(&(counted - spent));
        let counted = settled(async || until(counted).await, fits).await;
        if !fits(&counted) {
            found
                .broken
                .push(format!("{counted} is counted, {spent} was spent"));
        }
        let unused = counted - spent;
        let percent = 100 * spent / max;
        found.note = format!(
            "{}, {in_stream} of {limit} taken, {percent} % of the budget spent, {unused} counted and not spent",
            found.note
        );
    }
}

/// What a host does for one event: it takes of a quota, and spends of a budget.
struct Gate {
    server: Server,
    quota: Name,
    budget: Budget,
    longest: Arc<AtomicU64>,
    user: &'static str,
}

impl Gate {
    fn start(self, pins: &Pins, is_over: &watch::Sender<bool>) -> Worker {
        let (server, user) = (self.server.clone(), self.user);
        let dir = TempDir::new().unwrap();
        let spool = dir.path().join("spool");
        let spool = Spool::claim(
            &spool,
            Limits {
                batch: (4096, 50),
                ..spool_limits()
            },
        )
        .unwrap();
        let outbound = Outbound::new(spool);
        let kept = Arc::new(AtomicU64::new(0));
        let follower = Follower::open(
            &dir.path().join("definitions"),
            pins.clone(),
            Arc::new(Sound),
        )
        .unwrap();
        let definitions = follower.status();
        let (passed, gates) = watch::channel(0);
        let draining = {
            let (outbound, server) = (outbound.clone(), server.clone());
            tokio::spawn(async move { outbound.drain_to(&server, None).await })
        };
        let keeping = {
            let (outbound, kept, mut is_over) =
                (outbound.clone(), kept.clone(), is_over.subscribe());
            tokio::spawn(async move {
                while !pause(&mut is_over, Duration::from_millis(10)).await {
                    keep(&outbound, &kept, 1, 100).await;
                }
            })
        };
        let following = tokio::spawn(follower.run(server.clone()));
        let gate = tokio::spawn(self.pass(passed, is_over.subscribe()));
        let tasks = vec![draining, following];
        Worker {
            server,
            outbound,
            user,
            dir,
            kept,
            gates,
            definitions,
            tasks,
            keeping,
            gate,
        }
    }

    async fn pass(
        self,
        passed: watch::Sender<u64>,
        mut is_over: watch::Receiver<bool>,
    ) -> (u64, i64) {
        let Gate {
            server,
            quota,
            budget,
            longest,
            user,
        } = self;
        let spender = Spender::new(server.clone()).unwrap();
        let (mut admitted, mut spent) = (0, 0);
        while !pause(&mut is_over, Duration::from_millis(5)).await {
            let n = *passed.borrow() + 1;
            let begun = Instant::now();
            let stands = |error: &ServerError| {
                if begun.elapsed() > LONG / 2 {
                    eprintln!(
                        "{user} has no answer for gate {n} after {:.0?}: {error}",
                        begun.elapsed()
                    );
                }
            };
            // A take that nobody answered is asked again, and counts once.
            let id = format!("{user}:{n}");
            let take = again!(
                LONG * 2,
                quota::take_one(&server, &quota, &name("all"), &id, TRY)
                    .await
                    .inspect_err(stands)
                    .ok()
            );
            admitted += u64::from(take == Take::Admitted);
            let standing = again!(
                LONG * 2,
                spender
                    .check_budget(&budget, TRY)
                    .await
                    .inspect_err(stands)
                    .ok()
            );
            if standing.may_spend {
                // What can't be counted now is counted later.
                let _ = spender.spend(&budget, COST, TRY).await;
                spent += COST;
            }
            let took = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
            longest.fetch_max(took, Ordering::Relaxed);
            passed.send_replace(n);
        }
        // As a host that ends in good order: what it owes is counted, what it has left goes back.
        again!(LONG, spender.spend(&budget, 0, TRY).await.ok());
        spender.give_back(true, LONG).await;
        (admitted, spent)
    }
}

/// The question that waits, if it can be read now.
async fn open_question(approver: &Server) -> Option<Question> {
    asks::waiting_questions(approver)
        .await
        .ok()?
        .into_iter()
        .find(|question| question.who.instance == name("p1"))
}

async fn answer(
    server: &Server,
    question: &Question,
    decision: Decision,
    key: &SecretKey,
) -> (PublicKey, Answered) {
    (
        key.public(),
        again!(
            LONG * 2,
            asks::answer_question(server, question, decision, None, key)
                .await
                .ok()
        ),
    )
}

/// Asks until the answer is as it should be, or for so long that it won't be: an answer may itself
/// be long in coming, so the time is that since the first.
async fn settled<T>(mut ask: impl AsyncFnMut() -> T, is_as_it_should: impl Fn(&T) -> bool) -> T {
    let mut end = None;
    loop {
        let answer = ask().await;
        if is_as_it_should(&answer)
            || Instant::now() > *end.get_or_insert_with(|| Instant::now() + LONG / 3)
        {
            return answer;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// The pace of the work. Says whether it is over.
async fn pause(is_over: &mut watch::Receiver<bool>, pause: Duration) -> bool {
    tokio::time::timeout(pause, is_over.wait_for(|it| *it))
        .await
        .is_ok()
}

/// Publishes revision after revision; gives the last that was acknowledged.
async fn publish_on(
    team: Server,
    key: SecretKey,
    pins: Pins,
    mut is_over: watch::Receiver<bool>,
) -> u64 {
    let mut acknowledged = 0;
    while !pause(&mut is_over, Duration::from_millis(300)).await || acknowledged < 2 {
        let dir = TempDir::new().unwrap();
        std::fs::write(dir.path().join("guard.yaml"), format!("# {acknowledged}")).unwrap();
        let files = Files::read_dir(dir.path()).unwrap();
        acknowledged = again!(LONG * 2, publish_once(&team, &key, &pins, &files).await);
    }
    acknowledged
}

async fn publish_once(team: &Server, key: &SecretKey, pins: &Pins, files: &Files) -> Option<u64> {
    let seen = Channel::read_from(team, &pins.channel, &pins.signers)
        .await
        .ok()?;
    let manifest = manifest(
        &pins.channel,
        seen.next_revision().ok()?,
        files,
        unix_now() + 3600,
    );
    publish::publish_bundle(team, &manifest, files, &[key], &seen)
        .await
        .ok()?;
    Some(manifest.revision)
}

/// The numbers in the records that the stream has of each host.
pub async fn stored(auditor: &Server) -> BTreeMap<Name, Vec<u64>> {
    let mut all: BTreeMap<Name, Vec<u64>> = BTreeMap::new();
    for verdict in common::stored(auditor).await {
        let record: serde_json::Value = serde_json::from_slice(&verdict.record).unwrap();
        all.entry(verdict.host)
            .or_default()
            .push(record["n"].as_u64().unwrap());
    }
    all
}
