//! A host whose clock is wrong: another process of this program, under `faketime`.

use super::load::{Account, COST, Elsewhere, Load, keep_from, name};
use super::{FEW, program_is_there};
use crate::common::{LONG, Servers, Sound, manifest, until};
use hookwire_fleet::asks::{self, Asker, Decision};
use hookwire_fleet::bundle::Files;
use hookwire_fleet::envelope::Signers;
use hookwire_fleet::follow::{Follower, Pins, Status, stale_since};
use hookwire_fleet::hosts::unix_now;
use hookwire_fleet::key::{PublicKey, SecretKey};
use hookwire_fleet::name::Name;
use hookwire_fleet::publish::{self, Channel};
use hookwire_fleet::quota::{self, Take};
use hookwire_fleet::server::{PATIENCE, Server, Settings};
use hookwire_fleet::spend::{Budget, Spender};
use hookwire_fleet::spool::Spool;
use hookwire_fleet::streams::{self, Plan, Quota};
use hookwire_fleet::verdicts::{Outbound, spool_limits};
use serde::{Deserialize, Serialize};
use serde_json::value::to_raw_value;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{ChildStdout, Command};

/// Tells the process what it is.
const ENVIRONMENT: &str = "HOOKWIRE_FAULTS_HOST";
const WINDOW: Duration = Duration::from_secs(2);
const TIMES: u64 = 10;

/// What the host is told.
#[derive(Serialize, Deserialize)]
struct Told {
    settings: Settings,
    signer: String,
    approver: String,
    quota: Name,
    window: Name,
    budget: i64,
    first: u64,
}

/// What it found.
#[derive(Serialize, Deserialize)]
struct Found {
    admitted: u64,
    spent: i64,
    /// How long after a take of one in [`WINDOW`] the next was admitted.
    window: Duration,
    answer: Option<Decision>,
    /// Whether it holds what is in force for expired.
    is_stale: bool,
}

/// A host with a wrong clock beside two with the right one: bundles expire by its own clock; what
/// counts for all goes by the servers' clock.
pub async fn row(program: &Path, seconds: i64) -> Option<Account> {
    if !program_is_there("faketime") {
        crate::skipped::skip("a wrong clock needs faketime (`apt-get install faketime`)");
        return None;
    }
    let mut load = Load::start(Servers::without_streams(program, 1), FEW, None).await;
    let window = quota::full_name(&name("skewed"), 1, WINDOW).unwrap();
    let quotas = vec![Quota {
        name: window.clone(),
        limit: 1,
        window: WINDOW,
    }];
    streams::init_streams(
        &load.admin,
        &Plan {
            quotas,
            ..Plan::default()
        },
        false,
    )
    .await
    .unwrap();
    let [signer, approver] = [(), ()].map(|()| SecretKey::generate().unwrap());
    let told = Told {
        settings: load.servers.settings("host-b"),
        signer: signer.public().to_string(),
        approver: approver.public().to_string(),
        quota: load.quota.clone(),
        window,
        budget: FEW.max,
        first: load.hosts[1].reserve(TIMES),
    };
    let is_ahead = seconds > 0;
    // Expired by the one clock, and not by the other.
    publish(
        &load.servers,
        &signer,
        1,
        if is_ahead {
            unix_now() + 1800
        } else {
            unix_now() - 600
        },
    )
    .await;
    let mut host = Command::new("faketime")
        .args(["-f", &format!("{seconds:+}s")])
        .arg(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "faults::skew::a_host_with_another_clock",
            "--ignored",
            "--nocapture",
        ])
        .env(ENVIRONMENT, serde_json::to_string(&told).unwrap())
        // What waits is measured by another clock, which is right.
        .envs([
            ("FAKETIME_DONT_FAKE_MONOTONIC", "1"),
            ("DONT_FAKE_MONOTONIC", "1"),
        ])
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(host.stdout.take().unwrap()).lines();
    let first = line(&mut lines, "definitions ").await;
    if is_ahead {
        assert!(first.contains("expired before it came"), "{first}");
        publish(&load.servers, &signer, 2, unix_now() + 7200).await;
        line(&mut lines, "definitions ").await;
    } else {
        assert_eq!(first, "revision 1");
    }
    let client = load.servers.connect("approver").await;
    let question = until(async || {
        asks::waiting_questions(&client)
            .await
            .ok()?
            .into_iter()
            .find(|question| question.who.instance == name("p2"))
    });
    let question = question.await;
    asks::answer_question(&client, &question, Decision::Approve, None, &approver)
        .await
        .unwrap();
    let found: Found = serde_json::from_str(&line(&mut lines, "found ").await).unwrap();
    host.wait().await.unwrap();
    load.elsewhere = Elsewhere {
        processes: 1,
        gates: TIMES,
        admitted: found.admitted,
        spent: found.spent,
    };
    load.moves(5).await;
    let mut account = load.account().await;
    if found.window < WINDOW || found.answer != Some(Decision::Approve) || found.is_stale {
        let Found {
            window,
            answer,
            is_stale,
            ..
        } = found;
        account.broken.push(format!(
            "window {window:?}, answer {answer:?}, stale {is_stale}"
        ));
    }
    Some(Account {
        note: format!(
            "first: {first}; a window of 2 s took {:.1?}; {}",
            found.window, account.note
        ),
        ..account
    })
}

async fn publish(servers: &Servers, key: &SecretKey, revision: u64, expires: u64) {
    let team = servers.connect("publisher").await;
    let dir = TempDir::new().unwrap();
    std::fs::write(dir.path().join("guard.yaml"), format!("# {revision}")).unwrap();
    let files = Files::read_dir(dir.path()).unwrap();
    let signers = Signers::new([key.public()], 1).unwrap();
    let seen = Channel::read_from(&team, &name("skewed"), &signers)
        .await
        .unwrap();
    let manifest = manifest(&name("skewed"), revision, &files, expires);
    publish::publish_bundle(&team, &manifest, &files, &[key], &seen)
        .await
        .unwrap();
}

/// The rest of the next line that begins so.
async fn line(lines: &mut Lines<BufReader<ChildStdout>>, begin: &str) -> String {
    let found = async {
        loop {
            let line = lines
                .next_line()
                .await
                .unwrap()
                .expect("the host has ended");
            // The test's own name may stand before it.
            if let Some((_, rest)) = line.split_once(&format!("# {begin}")) {
                return rest.to_string();
            }
        }
    };
    tokio::time::timeout(LONG, found)
        .await
        .unwrap_or_else(|_| panic!("the host doesn't say {begin}"))
}

#[tokio::test]
#[ignore = "the fault matrix starts it under another clock"]
async fn a_host_with_another_clock() {
    let Ok(told) = std::env::var(ENVIRONMENT) else {
        return;
    };
    let Told {
        settings,
        signer,
        approver,
        quota,
        window,
        budget,
        first,
    } = serde_json::from_str(&told).unwrap();
    let server = until(async || Server::connect(&settings, LONG).await.ok()).await;
    let dir = TempDir::new().unwrap();
    let signer: PublicKey = signer.parse().unwrap();
    let pins = Pins {
        channel: name("skewed"),
        signers: Signers::new([signer], 1).unwrap(),
    };
    let follower = Follower::open(&dir.path().join("definitions"), pins, Arc::new(Sound)).unwrap();
    let mut status = follower.status();
    tokio::spawn(follower.run(server.clone()));
    loop {
        let has_come = status
            .wait_for(|status: &Status| status.in_force.is_some() || status.refused.is_some());
        let now = tokio::time::timeout(LONG, has_come)
            .await
            .unwrap()
            .unwrap()
            .clone();
        if let Some(in_force) = &now.in_force {
            println!("# definitions revision {}", in_force.revision);
            break;
        }
        println!("# definitions {}", now.refused.unwrap().reason);
        status.wait_for(|it| it.in_force.is_some()).await.unwrap();
    }
    let in_force = status.borrow().in_force.clone().unwrap();
    let (mut admitted, mut spent) = (0, 0);
    let spender = Spender::new(server.clone()).unwrap();
    let budget = Budget {
        name: name("team"),
        period: name("p"),
        max: budget,
    };
    for n in 0..TIMES {
        let take = quota::take_one(
            &server,
            &quota,
            &name("all"),
            &format!("skewed:{n}"),
            PATIENCE,
        )
        .await
        .unwrap();
        admitted += u64::from(take == Take::Admitted);
        if spender
            .check_budget(&budget, PATIENCE)
            .await
            .unwrap()
            .may_spend
        {
            spender.spend(&budget, COST, PATIENCE).await.unwrap();
            spent += COST;
        }
    }
    spender.give_back(true, PATIENCE).await;
    let outbound = Outbound::new(Spool::claim(&dir.path().join("spool"), spool_limits()).unwrap());
    keep_from(&outbound, first, TIMES);
    tokio::select! {
        () = outbound.drain_to(&server, None) => {}
        drained = outbound.wait_until_drained(LONG) => assert!(drained),
    }
    let approver: PublicKey = approver.parse().unwrap();
    let asker = Asker::new(server.clone(), name("p2"), [approver], &[]).unwrap();
    let question = to_raw_value(&serde_json::json!({ "message": "Push?" })).unwrap();
    let answer = asker
        .ask(&question, LONG / 2, |_| {})
        .await
        .unwrap()
        .map(|ask| ask.decision);
    let mut begun = None;
    let mut n = 0;
    let window = until(async || {
        n += 1;
        let take = quota::take_one(
            &server,
            &window,
            &name("all"),
            &format!("window:{n}"),
            PATIENCE,
        )
        .await
        .unwrap();
        let is_first = begun.is_none();
        let since: &Instant = begun.get_or_insert_with(Instant::now);
        (take == Take::Admitted && !is_first).then(|| since.elapsed())
    })
    .await;
    let found = Found {
        admitted,
        spent,
        window,
        answer,
        is_stale: stale_since(&in_force).is_some(),
    };
    println!("# found {}", serde_json::to_string(&found).unwrap());
}
