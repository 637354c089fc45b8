//! The verdict stream on real servers: nothing lost, nothing twice, whoever is killed meanwhile.

use crate::common::{self, LONG, Servers, until};
use hookwire_fleet::name::Name;
use hookwire_fleet::quota::{self, Take};
use hookwire_fleet::server::{PATIENCE, Server, ServerError};
use hookwire_fleet::spend::{Budget, Spender};
use hookwire_fleet::spool::{Limits, Spool};
use hookwire_fleet::streams::{self, Plan, Quota};
use hookwire_fleet::verdicts::{Backwards, Before, From, Outbound, Reader, spool_limits};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};
use tokio::task::JoinHandle;

fn name(text: &str) -> Name {
    text.parse().unwrap()
}

fn record(n: u64) -> Vec<u8> {
    format!(
        "{{\"n\":{n},\"text\":\"{}\"}}",
        "x".repeat((n % 300) as usize)
    )
    .into_bytes()
}

/// A host that spools and drains.
struct Host {
    outbound: Outbound,
    draining: JoinHandle<()>,
    spool: PathBuf,
}

impl Host {
    fn start(server: &Server, dir: &Path) -> Host {
        Host::start_beside(server, dir, None)
    }

    /// With a spool of its own, and another one that nobody holds any more when it looks for such.
    fn start_beside(server: &Server, dir: &Path, held: Option<Spool>) -> Host {
        // Small batches, so that many are on their way.
        let spool = Spool::claim(
            dir,
            Limits {
                batch: (4096, 50),
                segment: 1 << 16,
                ..spool_limits()
            },
        )
        .unwrap();
        drop(held);
        let here = dir.join(spool.id());
        let outbound = Outbound::new(spool);
        let (draining, server, dir) = (outbound.clone(), server.clone(), dir.to_path_buf());
        let draining = tokio::spawn(async move { draining.drain_to(&server, Some(dir)).await });
        Host {
            outbound,
            draining,
            spool: here,
        }
    }

    fn keep(&self, numbers: std::ops::RangeInclusive<u64>) {
        assert_eq!(
            self.outbound
                .keep_records(&numbers.map(record).collect::<Vec<_>>())
                .unwrap(),
            0
        );
    }

    /// As a process that is killed: its tasks end wherever they are, and the kernel unlocks its
    /// spool.
    async fn kill(self) {
        let Host {
            outbound,
            draining,
            spool,
        } = self;
        draining.abort();
        let _ = draining.await;
        drop(outbound);
        // A thread may still be at the disk.
        until(async || Spool::open(&spool, spool_limits()).unwrap()).await;
    }
}

/// What the stream has of each host and spool, in its order.
async fn stored(auditor: &Server) -> BTreeMap<(Name, Name), Vec<(u64, Vec<u8>)>> {
    let mut all: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for verdict in common::stored(auditor).await {
        all.entry((verdict.host, verdict.spool))
            .or_default()
            .push((verdict.number, verdict.record.to_vec()));
    }
    all
}

/// Each record of a host is there once, in order.
fn check_whole(found: &[(u64, Vec<u8>)], n: u64) {
    let numbers: Vec<u64> = found.iter().map(|(number, _)| *number).collect();
    assert_eq!(numbers, (1..=n).collect::<Vec<_>>());
    assert!(
        found
            .iter()
            .all(|(number, bytes)| *bytes == record(*number))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn verdicts_survive_servers_and_hosts_that_are_killed() {
    let Some(mut servers) = Servers::start(1).await else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let server = Server::connect_in_background(&servers.settings("host-a")).unwrap();
    let mut host = Host::start(&server, dir.path());
    let mut last = 0;
    let mut more = |host: &Host, n: u64| {
        host.keep(last + 1..=last + n);
        last += n;
        last
    };
    more(&host, 10);
    assert!(host.outbound.wait_until_drained(LONG).await);
    // The server is away.
    servers.kill(0);
    more(&host, 500);
    host.outbound
        .progress()
        .wait_for(|it| it.trouble.is_some())
        .await
        .unwrap();
    servers.restart(0);
    assert!(host.outbound.wait_until_drained(LONG).await);
    // Server and host are killed in the middle of a batch, again and again.
    for round in 0..6 {
        let waiting = host.outbound.progress();
        more(&host, 1000);
        let mut begun = waiting.clone();
        begun.wait_for(|it| it.waiting < 900).await.unwrap();
        if round % 2 == 0 {
            servers.kill(0);
        }
        if round % 3 != 1 {
            host.kill().await;
            host = Host::start(&server, dir.path());
        }
        if round % 2 == 0 {
            more(&host, 5);
            servers.restart(0);
        }
    }
    assert!(
        host.outbound.wait_until_drained(LONG).await,
        "{:?}",
        host.outbound.progress().borrow()
    );
    let auditor = servers.connect("auditor").await;
    let all = stored(&auditor).await;
    assert_eq!(all.len(), 1, "one spool at a time needs one name");
    check_whole(all.values().next().unwrap(), last);
}

#[tokio::test(flavor = "multi_thread")]
async fn verdicts_are_read_as_they_come_and_what_processes_leave_is_sent() {
    let Some(servers) = Servers::start(1).await else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    // A process that never reached a server.
    let left = Outbound::new(Spool::claim(dir.path(), spool_limits()).unwrap());
    left.keep_records(&[record(1), record(2)]).unwrap();
    drop(left);
    let held = Spool::claim(dir.path(), spool_limits()).unwrap();
    let (a, b) = (
        servers.connect("host-a").await,
        servers.connect("host-b").await,
    );
    let auditor = servers.connect("auditor").await;
    let from = From {
        host: Some(name("host-b")),
        ..From::default()
    };
    let mut tail = Reader::start(&auditor, &from).await.unwrap();
    let other = tempfile::tempdir().unwrap();
    let (host_a, host_b) = (
        Host::start_beside(&a, dir.path(), Some(held)),
        Host::start(&b, other.path()),
    );
    host_b.keep(1..=3);
    for n in 1..=3 {
        let verdict = tokio::time::timeout(LONG, tail.next())
            .await
            .unwrap()
            .unwrap();
        assert_eq!(
            (verdict.host, verdict.number, verdict.record.to_vec()),
            (name("host-b"), n, record(n))
        );
    }
    // A spool that is put back from a copy goes on under another name, because its numbers are
    // taken.
    host_a.keep(1..=2);
    assert!(host_a.outbound.wait_until_drained(LONG).await);
    until(async || (stored(&auditor).await.len() == 3).then_some(())).await;
    host_a.kill().await;
    let drained: Vec<_> = std::fs::read_dir(dir.path())
        .unwrap()
        .map(|it| it.unwrap().path())
        .collect();
    drained
        .iter()
        .for_each(|it| std::fs::write(it.join("sent"), "0").unwrap());
    for spool in &drained {
        for segment in std::fs::read_dir(spool)
            .unwrap()
            .map(|it| it.unwrap().path())
        {
            if segment.extension().is_some() {
                std::fs::remove_file(segment).unwrap();
            }
        }
    }
    let again = Host::start(&a, dir.path());
    again.keep(1..=1);
    assert!(again.outbound.wait_until_drained(LONG).await);
    let all = stored(&auditor).await;
    let of_a: Vec<_> = all
        .iter()
        .filter(|((host, _), _)| *host == name("host-a"))
        .collect();
    assert_eq!(of_a.len(), 3, "{of_a:?}");
    for (_, found) in of_a {
        check_whole(found, found.len() as u64);
    }
    // Only the auditor reads, and only what a host's own name allows is written.
    let error = Reader::start(
        &b,
        &From {
            host: Some(name("host-a")),
            ..From::default()
        },
    )
    .await
    .err()
    .unwrap();
    assert!(matches!(error, ServerError::NotPermitted(_)), "{error}");
}

/// The numbers that a reading backwards gives, part by part.
async fn backwards(mut reading: Backwards) -> Vec<Vec<u64>> {
    let mut parts = Vec::new();
    while let Some(part) = reading.read_part().await.unwrap() {
        parts.push(part.into_iter().map(|it| it.unwrap().number).collect());
    }
    parts
}

#[tokio::test(flavor = "multi_thread")]
async fn the_stream_is_read_backwards_in_parts() {
    let Some(servers) = Servers::start(1).await else {
        return;
    };
    let (a, b) = (
        servers.connect("host-a").await,
        servers.connect("host-b").await,
    );
    let auditor = servers.connect("auditor").await;
    let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    assert!(
        backwards(Backwards::start(&auditor, None, Before::End).await.unwrap())
            .await
            .is_empty()
    );
    let (host_a, host_b) = (Host::start(&a, dir.path()), Host::start(&b, other.path()));
    host_b.keep(1..=2);
    assert!(host_b.outbound.wait_until_drained(LONG).await);
    let between = SystemTime::now();
    // More messages than a part has.
    for n in 1..=300 {
        host_a.keep(n..=n);
        assert!(host_a.outbound.wait_until_drained(LONG).await);
    }
    host_b.keep(3..=3);
    assert!(host_b.outbound.wait_until_drained(LONG).await);
    let of_a = name("host-a");
    let parts = backwards(
        Backwards::start(&auditor, Some(&of_a), Before::End)
            .await
            .unwrap(),
    )
    .await;
    let whole: Vec<u64> = parts.iter().rev().flatten().copied().collect();
    assert_eq!(whole, (1..=300).collect::<Vec<_>>());
    assert!(parts.len() > 1);
    // Few among many are found without asking for each message.
    let of_b = name("host-b");
    let parts = backwards(
        Backwards::start(&auditor, Some(&of_b), Before::End)
            .await
            .unwrap(),
    )
    .await;
    assert_eq!(parts.concat(), [3, 1, 2]);
    let parts = backwards(
        Backwards::start(&auditor, Some(&of_b), Before::Time(between))
            .await
            .unwrap(),
    )
    .await;
    assert_eq!(parts.concat(), [1, 2]);
    // It goes on elsewhere where it was left.
    let mut first = Backwards::start(&auditor, None, Before::End).await.unwrap();
    let newest = first.read_part().await.unwrap().unwrap();
    let rest = backwards(
        Backwards::start(&auditor, None, Before::Sequence(first.before()))
            .await
            .unwrap(),
    )
    .await;
    assert_eq!(newest.len() + rest.concat().len(), 303);
    // A tail may begin with the last messages.
    let mut tail = Reader::start(
        &auditor,
        &From {
            back: 1,
            ..From::default()
        },
    )
    .await
    .unwrap();
    let last = tokio::time::timeout(LONG, tail.next())
        .await
        .unwrap()
        .unwrap();
    assert_eq!((last.host, last.number), (of_b, 3));
}

/// What two hosts do while the leaders of their streams are killed.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "a minute, and servers that are killed: `.ci/run` runs it"]
async fn three_servers_lose_their_leaders_and_nothing_else() {
    const LIMIT: u32 = 300;
    const MAX: i64 = 1_000_000;
    let Some(mut servers) = Servers::start(3).await else {
        return;
    };
    let admin = servers.admin().await;
    let quota = quota::full_name(&name("deploys"), LIMIT, Duration::from_secs(3600)).unwrap();
    let wanted = Quota {
        name: quota.clone(),
        limit: LIMIT,
        window: Duration::from_secs(3600),
    };
    let plan = Plan {
        replicas: 3,
        quotas: vec![wanted],
        ..Plan::default()
    };
    until(async || streams::init_streams(&admin, &plan, false).await.ok()).await;
    let is_over = Arc::new(AtomicU64::new(0));
    let mut hosts = Vec::new();
    for user in ["host-a", "host-b"] {
        let (server, dir) = (servers.connect(user).await, tempfile::tempdir().unwrap());
        let host = Host::start(&server, dir.path());
        let (outbound, over, quota) = (host.outbound.clone(), is_over.clone(), quota.clone());
        let work = tokio::spawn(async move {
            let spender = Spender::new(server.clone()).unwrap();
            let budget = Budget {
                name: name("team"),
                period: name("p"),
                max: MAX,
            };
            let (mut n, mut taken, mut spent) = (0, 0, 0);
            while over.load(Ordering::Relaxed) == 0 {
                n += 1;
                outbound.keep_records(&[record(n)]).unwrap();
                // A take that nobody answered is asked again, and counts once.
                let id = format!("{user}:{n}");
                let take = loop {
                    if let Ok(take) =
                        quota::take_one(&server, &quota, &name("all"), &id, PATIENCE).await
                    {
                        break take;
                    }
                };
                taken += u64::from(take == Take::Admitted);
                if spender
                    .check_budget(&budget, PATIENCE)
                    .await
                    .is_ok_and(|budget| budget.may_spend)
                {
                    // What can't be counted now is counted later.
                    let _ = spender.spend(&budget, 3000, PATIENCE).await;
                    spent += 3000;
                }
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
            (n, taken, spent)
        });
        hosts.push((user, host, dir, work));
    }
    let streams = [
        streams::AUDIT.to_string(),
        streams::quota_stream(&quota),
        streams::SPEND.to_string(),
    ];
    for round in 0..5 {
        let stream = &streams[round % streams.len()];
        let leader = servers.leader(&admin, stream).await;
        servers.kill(leader);
        // The hosts go on with the two others before it comes back.
        let (_, host, ..) = &hosts[round % 2];
        let before = host.outbound.progress().borrow().waiting;
        eprintln!("round {round}: killed {leader} of {stream}, {before} wait");
        let begun = std::time::Instant::now();
        let moved = host
            .outbound
            .progress()
            .wait_for(|it| it.waiting < before.max(1))
            .await
            .is_ok();
        assert!(moved && host.outbound.wait_until_drained(LONG).await);
        eprintln!("round {round}: went on after {:?}", begun.elapsed());
        servers.restart(leader);
    }
    is_over.store(1, Ordering::Relaxed);
    let (mut taken, mut spent) = (0, 0);
    let mut expected = BTreeMap::new();
    for (user, host, _dir, work) in hosts {
        let (n, of_quota, of_budget) = work.await.unwrap();
        assert!(host.outbound.wait_until_drained(LONG).await);
        (taken, spent) = (taken + of_quota, spent + of_budget);
        expected.insert(name(user), n);
        assert!(n > 100, "{user} did {n} rounds");
    }
    let auditor = servers.connect("auditor").await;
    let all = until(async || {
        Some(stored(&auditor).await).filter(|all| {
            // A replica may be behind, and while a stream has no leader each server answers with what it
            // has.
            all.len() == 2
                && all.iter().all(|((host, _), found): (&(Name, Name), _)| {
                    found.len() >= (expected[host] as usize)
                })
        })
    })
    .await;
    for ((host, _), found) in &all {
        check_whole(found, expected[host]);
    }
    let tried: u64 = expected.values().sum();
    let in_stream = until(async || {
        let stored = admin.jetstream(PATIENCE).get_stream(streams::quota_stream(&quota)).await.ok()?;
        let in_stream = stored.cached_info().state.messages;
        eprintln!("{tried} verdicts, {taken} of {LIMIT} taken, {in_stream} in the stream; {spent} of {MAX} spent");
        Some(in_stream).filter(|it| *it == tried.min(LIMIT.into()))
    })
    .await;
    // An admission of which the answer was lost may be told as a refusal when it is asked for
    // again.
    assert!(taken <= in_stream && taken + 20 >= in_stream);
    // Two hosts, each with one call on its way.
    assert!(spent <= MAX + 2 * 3000);
}

/// The disk takes nothing for a while: what was lost is counted, and the stream says so as soon as
/// it can.
#[tokio::test(flavor = "multi_thread")]
async fn what_the_disk_does_not_take_leaves_a_mark() {
    let Some(servers) = Servers::start(1).await else {
        return;
    };
    let (server, auditor) = (
        servers.connect("host-a").await,
        servers.connect("auditor").await,
    );
    let dir = tempfile::TempDir::new().unwrap();
    let host = Host::start(&server, dir.path());
    host.keep(1..=2);
    assert!(host.outbound.wait_until_drained(LONG).await);
    // Nothing can be made in a directory that is a file.
    let away = dir.path().join("away");
    std::fs::rename(&host.spool, &away).unwrap();
    std::fs::write(&host.spool, "").unwrap();
    for _ in 0..10 {
        assert!(host.outbound.keep_records(&[record(3), record(3)]).is_err());
    }
    host.outbound.count_lost(5);
    assert_eq!(host.outbound.progress().borrow().lost, 25);
    std::fs::remove_file(&host.spool).unwrap();
    std::fs::rename(&away, &host.spool).unwrap();
    let records = async || {
        let found = stored(&auditor)
            .await
            .into_values()
            .flatten()
            .map(|(_, record)| record);
        found.collect::<Vec<_>>()
    };
    // Without another record, too.
    let found = until(async || Some(records().await).filter(|it| it.len() > 2)).await;
    assert_eq!(found, [record(1), record(2), b"{\"lost\":25}".to_vec()]);
    host.keep(3..=3);
    let found = until(async || Some(records().await).filter(|it| it.len() > 3)).await;
    assert_eq!(found.last(), Some(&record(3)));
    assert_eq!(host.outbound.progress().borrow().lost, 25);
}
