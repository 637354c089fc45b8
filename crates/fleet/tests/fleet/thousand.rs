//! How long an edit takes to be in force on a thousand hosts, and what a host costs: real
//! connections to a real server, many hosts in one process.
//!
//! `cargo test --release -p hookwire-fleet --test fleet -- thousand --ignored --nocapture`; HOSTS
//! says how many.

use crate::common::{LONG, Servers, Sound, manifest};
use hookwire_fleet::bundle::Files;
use hookwire_fleet::envelope::Signers;
use hookwire_fleet::follow::{Follower, Pins, Status};
use hookwire_fleet::hosts::unix_now;
use hookwire_fleet::key::SecretKey;
use hookwire_fleet::publish::{Channel, publish_bundle};
use hookwire_fleet::server::Server;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tokio::sync::watch;

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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a measurement: it takes minutes, and the machine for itself"]
async fn an_edit_is_in_force_on_all_hosts() {
    let Some(servers) = Servers::start(1).await else {
        return;
    };
    let n: usize = std::env::var("HOSTS")
        .ok()
        .and_then(|it| it.parse().ok())
        .unwrap_or(1000);
    let (team, key) = (
        servers.connect("publisher").await,
        SecretKey::generate().unwrap(),
    );
    let pins = Pins {
        channel: "main".parse().unwrap(),
        signers: Signers::new([key.public()], 1).unwrap(),
    };
    let dir = TempDir::new().unwrap();
    let before = memory();
    let mut hosts: Vec<watch::Receiver<Status>> = Vec::new();
    for at in 0..n {
        let server = Server::connect_in_background(&servers.settings("host-a")).unwrap();
        let follower = Follower::open(
            &dir.path().join(at.to_string()),
            pins.clone(),
            Arc::new(Sound),
        )
        .unwrap();
        hosts.push(follower.status());
        server.wait_until_ready(LONG).await.unwrap();
        tokio::spawn(follower.run(server));
    }
    println!(
        "{n} hosts: {} KiB each",
        (memory().saturating_sub(before)) / n as u64
    );
    for round in 1..=5 {
        let files = TempDir::new().unwrap();
        std::fs::write(
            files.path().join("guard.yaml"),
            format!("# {round}\n{}", "x".repeat(20_000)),
        )
        .unwrap();
        let files = Files::read_dir(files.path()).unwrap();
        let seen = Channel::read_from(&team, &pins.channel, &pins.signers)
            .await
            .unwrap();
        let manifest = manifest(
            &pins.channel,
            seen.next_revision().unwrap(),
            &files,
            unix_now() + 3600,
        );
        let began = Instant::now();
        let waits = hosts.iter().cloned().map(|mut status| {
            let revision = manifest.revision;
            tokio::spawn(async move {
                let waited = tokio::time::timeout(
                    LONG,
                    status.wait_for(|status| {
                        status
                            .in_force
                            .as_ref()
                            .is_some_and(|in_force| in_force.revision == revision)
                    }),
                )
                .await;
                waited.is_ok().then(|| began.elapsed())
            })
        });
        let waits: Vec<_> = waits.collect();
        publish_bundle(&team, &manifest, &files, &[&key], &seen)
            .await
            .unwrap();
        let mut took: Vec<Duration> = Vec::new();
        for wait in waits {
            took.push(wait.await.unwrap().expect("a host didn't take it"));
        }
        took.sort();
        let at = |part: f64| took[((took.len() - 1) as f64 * part) as usize];
        println!(
            "round {round}: p50 {:?}, p99 {:?}, all {:?}",
            at(0.5),
            at(0.99),
            at(1.0)
        );
    }
}
