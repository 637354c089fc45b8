//! The fault matrix: on real servers, two hosts drain verdicts, take of a quota, spend of a budget,
//! follow definitions and ask a question, and something breaks. Afterwards nothing acknowledged is
//! lost, nothing counts twice, the budget holds, and the definitions in force are the last that
//! were published.
//!
//! `FLEET_KILLS` says how many leaders are killed, `FLEET_ROWS` which rows are tried (a part of
//! their names). `--nocapture` shows the table.

mod load;
mod place;
mod skew;

use crate::common::{LONG, Place, Servers, another_program, program, until};
use crate::skipped::skip;
use futures_util::future::LocalBoxFuture;
use futures_util::{FutureExt, StreamExt, stream};
use hookwire_fleet::server::Server;
use hookwire_fleet::streams;
use hookwire_fleet::verdicts::{From, Reader};
use load::{Account, Amounts, Load};
use place::{Disk, Network};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A row of the table.
struct Row {
    name: &'static str,
    /// `None`: skipped.
    account: Option<Account>,
    took: Duration,
}

const FEW: Amounts = Amounts {
    limit: 300,
    max: 1_000_000,
};

#[test]
#[ignore = "two minutes, and servers that are killed and cut off: `.ci/run` runs it"]
fn faults_are_survived() {
    let Some(program) = program() else { return };
    if !place::is_inside() {
        match place::run_inside("faults::faults_are_survived") {
            Some(held) => return assert!(held, "see the table above"),
            None => skip(
                "a partition and a full disk need the right to make namespaces (root, unshare, ip)",
            ),
        }
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let rows = runtime.block_on(try_all(&program));
    runtime.shutdown_timeout(Duration::from_secs(1));
    println!(
        "\n{:<44} held  lost  doubled  verdicts  longest wait  took",
        "row"
    );
    for Row {
        name,
        account,
        took,
    } in &rows
    {
        let Some(Account {
            kept,
            lost,
            doubled,
            longest,
            broken,
            note,
        }) = account
        else {
            println!("{name:<44} SKIPPED");
            continue;
        };
        let held = if *lost + *doubled == 0 && broken.is_empty() {
            "yes"
        } else {
            "NO"
        };
        println!(
            "{name:<44} {held:<4} {lost:>5} {doubled:>8} {kept:>9} {:>11.1} s {:>5.1} s",
            longest.as_secs_f64(),
            took.as_secs_f64()
        );
        println!("    {note}");
        broken.iter().for_each(|it| println!("    BROKEN: {it}"));
    }
    let held = |account: &Account| account.lost + account.doubled == 0 && account.broken.is_empty();
    assert!(
        rows.iter().all(|it| it.account.as_ref().is_none_or(held)),
        "not all rows hold"
    );
}

/// Three rows at once, because most of the time something is waited for.
async fn try_all(program: &Path) -> Vec<Row> {
    let wanted = std::env::var("FLEET_ROWS").unwrap_or_default();
    let tries: Vec<(&str, LocalBoxFuture<'_, Option<Account>>)> = vec![
        ("leaders killed", kills(program).boxed_local()),
        ("a tail that doesn't read", slow_tail(program).boxed_local()),
        ("disk full", full_disk(program).boxed_local()),
        (
            "one of three cut off from everybody",
            partition(program, true).boxed_local(),
        ),
        (
            "a host whose clock is an hour ahead",
            skew::row(program, 3600).boxed_local(),
        ),
        (
            "a host whose clock is an hour behind",
            skew::row(program, -3600).boxed_local(),
        ),
        (
            "one of three cut off from the others",
            partition(program, false).boxed_local(),
        ),
        ("upgrade 2.12.8 to 2.15.1", upgrade(program).boxed_local()),
    ];
    let rows = tries
        .into_iter()
        .filter(|it| it.0.contains(&wanted))
        .map(async |(name, tried)| {
            let begun = Instant::now();
            let account = tried.await;
            eprintln!("{name}: {:.1} s", begun.elapsed().as_secs_f64());
            Row {
                name,
                account,
                took: begun.elapsed(),
            }
        });
    stream::iter(rows).buffered(3).collect().await
}

/// One after another, the leaders of streams are killed, and come back.
async fn kills(program: &Path) -> Option<Account> {
    let n: u32 = std::env::var("FLEET_KILLS")
        .ok()
        .and_then(|it| it.parse().ok())
        .unwrap_or(5);
    let amounts = Amounts {
        limit: 60 * n,
        max: 200_000 * i64::from(n),
    };
    let mut load = Load::start(Servers::without_streams(program, 3), amounts, None).await;
    let quota = streams::quota_stream(&load.quota);
    let all = [
        streams::AUDIT,
        &quota,
        streams::SPEND,
        streams::DEFS,
        streams::ANSWER,
    ];
    for round in 0..n as usize {
        let stream = all[round % all.len()];
        let leader = load.servers.leader(&load.admin, stream).await;
        load.servers.kill(leader);
        eprintln!("kill {} of {n}: {leader}, which led {stream}", round + 1);
        if round == 1 {
            load.answer();
        }
        load.moves(3).await;
        load.servers.restart(leader);
        load.moves(3).await;
    }
    let account = load.account().await;
    Some(Account {
        note: format!("{n} kills, {}", account.note),
        ..account
    })
}

/// The server at which host-a is loses the others, and with `clients` everybody; then all is well
/// again.
async fn partition(program: &Path, clients: bool) -> Option<Account> {
    if !place::is_inside() {
        return None;
    }
    let network = if clients {
        Network::new(3, "all", 9)
    } else {
        Network::new(3, "some", 10)
    };
    let mut load = Load::start(Servers::placed(program, 3, &network.place()), FEW, Some(0)).await;
    network.cut(0, clients);
    load.answer();
    load.moves_at(1, 20).await;
    if clients {
        // It finds out and goes to another server.
        load.moves_at(0, 3).await;
    }
    network.heal(0);
    load.moves(20).await;
    Some(load.account().await)
}

/// The server has no room any more, and starts again when there is some.
async fn full_disk(program: &Path) -> Option<Account> {
    if !place::is_inside() {
        return None;
    }
    let dir = TempDir::new().unwrap();
    let disk = Disk::new(dir.path(), 64);
    let place = Place {
        store: Some(dir.path().into()),
        ..Place::default()
    };
    let mut load = Load::start(Servers::placed(program, 1, &place), FEW, None).await;
    disk.fill(256);
    for host in &load.hosts {
        host.keep(500, 2000).await;
    }
    for host in &load.hosts {
        let mut progress = host.outbound.progress();
        let is_stuck = progress.wait_for(|it| it.trouble.is_some() && it.waiting > 0);
        tokio::time::timeout(LONG, is_stuck)
            .await
            .expect("the disk wasn't full")
            .unwrap();
    }
    let trouble = load.hosts[0].outbound.progress().borrow().clone();
    load.servers.kill(0);
    disk.clear();
    load.servers.restart(0);
    load.answer();
    load.moves(5).await;
    let account = load.account().await;
    let trouble = trouble.trouble.unwrap_or_default();
    Some(Account {
        note: format!("while it was full: {trouble:?}; {}", account.note),
        ..account
    })
}

/// More comes than a subscription holds, and nobody reads it for a while.
async fn slow_tail(program: &Path) -> Option<Account> {
    const MANY: u64 = 1100;
    let load = Load::start(Servers::without_streams(program, 1), FEW, None).await;
    let mut tail = Reader::start(&load.auditor, &From::default())
        .await
        .unwrap();
    let first = tokio::time::timeout(LONG, tail.next())
        .await
        .expect("nothing comes")
        .unwrap();
    let before = memory();
    load.hosts[1].keep(MANY, 4000).await;
    load.hosts[1].sent_so_far().await;
    let grown = memory().saturating_sub(before);
    // What the tail read before it stopped is the beginning; the rest comes now, none left out.
    let (host, end) = (load::name("host-b"), load.hosts[1].n_kept());
    let mut last = BTreeMap::from([(first.host, first.number)]);
    let mut n_read = 1;
    while last.get(&host).is_none_or(|it| *it < end) {
        let verdict = tokio::time::timeout(LONG, tail.next())
            .await
            .expect("the tail stands still")
            .unwrap();
        n_read += 1;
        let before = last.insert(verdict.host.clone(), verdict.number);
        assert!(
            before.is_none_or(|it| it + 1 == verdict.number),
            "the tail has left some of {} out",
            verdict.host
        );
    }
    assert!(n_read > MANY, "{n_read}");
    let mut account = load.account().await;
    // Those on their way to the tail are at most as many as a subscription holds.
    if grown > 64 << 10 {
        account
            .broken
            .push(format!("the memory grew by {grown} KiB"));
    }
    Some(Account {
        note: format!(
            "{n_read} read afterwards, none left out, {grown} KiB more memory; {}",
            account.note
        ),
        ..account
    })
}

/// Whether the PATH has a program.
fn program_is_there(name: &str) -> bool {
    std::env::var_os("PATH")
        .is_some_and(|it| std::env::split_paths(&it).any(|dir| dir.join(name).is_file()))
}

/// The resident memory of this process, in KiB.
fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmRSS:"))
        .unwrap_or_default();
    line.split_whitespace()
        .nth(1)
        .and_then(|word| word.parse().ok())
        .unwrap_or_default()
}

/// Each server in its turn is replaced by a newer one.
async fn upgrade(program: &Path) -> Option<Account> {
    let old = another_program("NATS_SERVER_BEFORE", "2.12.8")?;
    let mut load = Load::start(Servers::without_streams(&old, 3), FEW, None).await;
    let versions = [
        load.hosts[0].server.version(),
        load.hosts[1].server.version(),
    ];
    for index in 0..3 {
        load.servers.replace(index, program);
        if index == 1 {
            load.answer();
        }
        load.moves(5).await;
    }
    let is_new = async |server: &Server| {
        until(async || Some(server.version()).filter(|it| !versions.contains(it))).await
    };
    let now = is_new(&load.hosts[0].server).await;
    is_new(&load.hosts[1].server).await;
    let account = load.account().await;
    Some(Account {
        note: format!("{} to {now}; {}", versions[0], account.note),
        ..account
    })
}
