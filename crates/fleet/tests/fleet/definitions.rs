//! From a publisher's directory to what is in force on a host, on real servers.

use crate::common::{LONG, Servers, manifest, until};
use async_nats::HeaderMap;
use hookwire_fleet::bundle::{Files, Manifest, Stage};
use hookwire_fleet::digest::Sha256;
use hookwire_fleet::envelope::Signers;
use hookwire_fleet::follow::{Follower, Judge, Pins, Status};
use hookwire_fleet::hosts::{self, Report, unix_now};
use hookwire_fleet::key::SecretKey;
use hookwire_fleet::name::Identity;
use hookwire_fleet::publish::{self, Became, Channel, PublishError, Reports, Sent};
use hookwire_fleet::server::{PATIENCE, Server};
use hookwire_fleet::streams::{self, MAX_MANIFEST};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tokio::sync::watch;

/// Refuses definitions that say so.
struct Simple;

impl Judge for Simple {
    fn check(&self, _: &Files, dir: &Path) -> Result<(), String> {
        let text = fs::read_to_string(dir.join("guard.yaml")).unwrap_or_default();
        if text.contains("bad") {
            Err("guard.yaml doesn't compile".into())
        } else {
            Ok(())
        }
    }

    fn permits(&self, files: &Files, dir: &Path) -> Result<(), String> {
        self.check(files, dir)
    }

    fn version(&self) -> &str {
        "0.3.1"
    }
}

/// A publisher with its key, and the channel `main`.
struct Team {
    server: Server,
    key: SecretKey,
}

impl Team {
    async fn new(servers: &Servers) -> Team {
        Team {
            server: servers.connect("publisher").await,
            key: SecretKey::generate().unwrap(),
        }
    }

    fn pins(&self) -> Pins {
        Pins {
            channel: "main".parse().unwrap(),
            signers: Signers::new([self.key.public()], 1).unwrap(),
        }
    }

    async fn seen(&self) -> Channel {
        Channel::read_from(&self.server, &self.pins().channel, &self.pins().signers)
            .await
            .unwrap()
    }

    async fn manifest(&self, files: &Files) -> Manifest {
        manifest(
            &self.pins().channel,
            self.seen().await.next_revision().unwrap(),
            files,
            unix_now() + 3600,
        )
    }

    async fn publish(&self, files: &Files) -> (Manifest, Sent) {
        let manifest = self.manifest(files).await;
        let sent = self.send(&manifest, files).await.unwrap();
        (manifest, sent)
    }

    async fn send(&self, manifest: &Manifest, files: &Files) -> Result<Sent, PublishError> {
        publish::publish_bundle(
            &self.server,
            manifest,
            files,
            &[&self.key],
            &self.seen().await,
        )
        .await
    }

    /// Puts bytes into the channel as they are.
    async fn put_raw(&self, bytes: Vec<u8>) {
        let subject = streams::channel_key(&self.pins().channel);
        self.server
            .publish(&subject, HeaderMap::new(), bytes.into(), PATIENCE)
            .await
            .unwrap();
    }
}

fn files(text: &str) -> Files {
    let dir = TempDir::new().unwrap();
    fs::write(dir.path().join("guard.yaml"), text).unwrap();
    fs::create_dir(dir.path().join("lib")).unwrap();
    fs::write(dir.path().join("lib/common.yaml"), "the same in all").unwrap();
    Files::read_dir(dir.path()).unwrap()
}

/// A host that follows, as long as it is there.
struct Host {
    dir: TempDir,
    status: watch::Receiver<Status>,
    task: tokio::task::JoinHandle<()>,
}

impl Host {
    fn start(servers: &Servers, team: &Team) -> Host {
        Host::in_dir(TempDir::new().unwrap(), servers, team)
    }

    fn in_dir(dir: TempDir, servers: &Servers, team: &Team) -> Host {
        let server = Server::connect_in_background(&servers.settings("host-a")).unwrap();
        let follower = Follower::open(dir.path(), team.pins(), Arc::new(Simple)).unwrap();
        let status = follower.status();
        Host {
            dir,
            status,
            task: tokio::spawn(follower.run(server)),
        }
    }

    async fn wait(&self, what: impl FnMut(&Status) -> bool) -> Status {
        let mut status = self.status.clone();
        let found = tokio::time::timeout(LONG, status.wait_for(what)).await;
        found
            .unwrap_or_else(|_| panic!("it didn't come: {:?}", self.status.borrow()))
            .unwrap()
            .clone()
    }

    async fn revision(&self, revision: u64) -> Status {
        self.wait(|status| {
            status
                .in_force
                .as_ref()
                .is_some_and(|in_force| in_force.revision == revision)
        })
        .await
    }

    async fn refusal(&self, reason: &str) -> Status {
        self.wait(|status| {
            status
                .refused
                .as_ref()
                .is_some_and(|refused| refused.reason.contains(reason))
        })
        .await
    }

    fn text(&self) -> String {
        fs::read_to_string(self.dir.path().join("current/files/guard.yaml")).unwrap()
    }

    /// Ends it as `kill -9` does: nothing more is written. What it has on disk stays.
    async fn stop(self) -> TempDir {
        self.task.abort();
        let _ = self.task.await;
        self.dir
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_published_is_in_force_and_reported() {
    let Some(servers) = Servers::start(1).await else {
        return;
    };
    let team = Team::new(&servers).await;
    let host = Host::start(&servers, &team);
    let mut reports = Reports::listen(&team.server).await.unwrap();
    let mut soonest = LONG;
    for n in 1..=3u64 {
        let began = Instant::now();
        let (manifest, sent) = team.publish(&files(&format!("guard {n}"))).await;
        let status = host.revision(n).await;
        soonest = soonest.min(began.elapsed());
        assert_eq!((manifest.revision, host.text()), (n, format!("guard {n}")));
        let who = Identity {
            host: "host-a".parse().unwrap(),
            instance: "p1".parse().unwrap(),
        };
        let report = Report {
            channel: Some(team.pins().channel),
            in_force: status.in_force,
            ..Report::default()
        };
        hosts::put_report(&servers.connect("host-a").await, &who, report.clone())
            .await
            .unwrap();
        let became = reports.next(&team.pins().channel, &sent, LONG).await;
        assert_eq!(
            became,
            Some(Became::InForce(who.clone(), Box::new(report.clone())))
        );
        let (all, unread) = hosts::all_hosts(&team.server).await.unwrap();
        assert_eq!(
            (all.len(), unread, &all[0].who, &all[0].report),
            (1, 0, &who, &report)
        );
    }
    // Far below the half minute after which it would be found without a notice. A busy machine may
    // keep one of them.
    assert!(soonest < Duration::from_secs(10), "{soonest:?}");
    let history =
        publish::channel_history(&team.server, &team.pins().channel, &team.pins().signers)
            .await
            .unwrap();
    assert_eq!(
        history
            .iter()
            .map(|it| it.manifest.revision)
            .collect::<Vec<_>>(),
        [1, 2, 3]
    );
    let again = publish::files_of(&team.server, &history[0].manifest)
        .await
        .unwrap();
    assert_eq!(again, files("guard 1"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_sound_is_refused_and_the_last_good_stays() {
    let Some(servers) = Servers::start(1).await else {
        return;
    };
    let team = Team::new(&servers).await;
    let stranger = SecretKey::generate().unwrap();
    let host = Host::start(&servers, &team);
    let good = files("good");
    team.publish(&good).await;
    host.revision(1).await;
    let base = team.manifest(&good).await;
    let signed = |manifest: &Manifest, key: &SecretKey| {
        hookwire_fleet::envelope::sign_payload(
            hookwire_fleet::bundle::KIND,
            &manifest.to_payload(),
            &[key],
        )
    };
    let late = Manifest {
        expires: unix_now() - 1,
        ..base.clone()
    };
    let other = Manifest {
        channel: "other".parse().unwrap(),
        ..base.clone()
    };
    let canary = Manifest {
        stage: Stage::Canary { permille: 999 },
        ..base.clone()
    };
    let newer = Manifest {
        min_host: Some("0.4.0".into()),
        ..base.clone()
    };
    let same = Manifest {
        revision: 1,
        message: Some("another one".into()),
        ..base.clone()
    };
    let old = Manifest {
        revision: 0,
        ..base.clone()
    };
    for (bytes, reason) in [
        (signed(&base, &stranger), "0 of the pinned keys"),
        (b"not json".to_vec(), "no signed envelope"),
        (vec![b'['; MAX_MANIFEST], "no signed envelope"),
        (signed(&late, &team.key), "expired before it came"),
        (signed(&other, &team.key), "for the channel other"),
        (signed(&canary, &team.key), "another stage"),
        (signed(&newer, &team.key), "needs hookwire 0.4.0"),
        (signed(&same, &team.key), "another revision 1 was in force"),
        (signed(&old, &team.key), "older than revision 1"),
    ] {
        team.put_raw(bytes).await;
        let status = host.refusal(reason).await;
        assert_eq!(
            (status.in_force.unwrap().revision, host.text()),
            (1, "good".into()),
            "{reason}"
        );
    }
    // The next that is sound comes after all of them.
    let files = files("better");
    let manifest = Manifest {
        revision: 2,
        files: files.entries.clone(),
        ..base.clone()
    };
    publish::publish_bundle(
        &team.server,
        &manifest,
        &files,
        &[&team.key],
        &team.seen().await,
    )
    .await
    .unwrap();
    let status = host
        .wait(|status| {
            status.refused.is_none()
                && status
                    .in_force
                    .as_ref()
                    .is_some_and(|in_force| in_force.revision == 2)
        })
        .await;
    assert_eq!((status.unread, host.text()), (None, "better".into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_does_not_compile_is_in_force_nowhere() {
    let Some(servers) = Servers::start(1).await else {
        return;
    };
    let team = Team::new(&servers).await;
    let host = Host::start(&servers, &team);
    team.publish(&files("good")).await;
    host.revision(1).await;
    team.publish(&files("bad")).await;
    let status = host.refusal("doesn't compile").await;
    assert_eq!(status.refused.unwrap().revision, Some(2));
    assert_eq!(host.text(), "good");
    // Old files come back under a new revision.
    team.publish(&files("good")).await;
    host.revision(3).await;
}

/// Whoever may write files on the bus puts other bytes under a digest first.
#[tokio::test(flavor = "multi_thread")]
async fn a_file_with_other_bytes_is_refused() {
    let Some(servers) = Servers::start(1).await else {
        return;
    };
    let team = Team::new(&servers).await;
    let host = Host::start(&servers, &team);
    let files = files("good");
    for (bytes, problem) in [("gooe", "other bytes"), ("good and more", "bytes, not 4")] {
        let text = format!("good{}", problem.len());
        let mut wanted = files.clone();
        let sha256 = Sha256::of_bytes(text.as_bytes());
        wanted.entries[0].sha256 = sha256;
        wanted.entries[0].size = 4;
        let subject = streams::blob_key(&sha256);
        team.server
            .publish(&subject, HeaderMap::new(), bytes.into(), PATIENCE)
            .await
            .unwrap();
        let manifest = team.manifest(&wanted).await;
        let refused = publish::publish_bundle(
            &team.server,
            &manifest,
            &wanted,
            &[&team.key],
            &team.seen().await,
        )
        .await;
        // The publisher's own files are these, so only the manifest is there to mislead.
        assert!(refused.is_ok(), "{refused:?}");
        host.refusal(problem).await;
        assert!(host.status.borrow().in_force.is_none());
        // Nobody can change a file that is there, and a publisher who has it sees that.
        let mut honest = files.clone();
        honest.contents = [(sha256, text.into_bytes())].into();
        let error = team.send(&manifest, &honest).await.unwrap_err();
        assert!(matches!(error, PublishError::OtherBytes(_)), "{error}");
        let again = team
            .server
            .publish(&subject, HeaderMap::new(), "x".into(), PATIENCE)
            .await;
        assert!(again.is_err());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_publishers_at_once_do_not_overwrite_each_other() {
    let Some(servers) = Servers::start(1).await else {
        return;
    };
    let team = Team::new(&servers).await;
    let (one, other) = (files("one"), files("other"));
    let (seen, manifest) = (team.seen().await, team.manifest(&one).await);
    let rival = Manifest {
        files: other.entries.clone(),
        ..manifest.clone()
    };
    let send = async |manifest, files| {
        publish::publish_bundle(&team.server, manifest, files, &[&team.key], &seen).await
    };
    let (first, second) = tokio::join!(send(&manifest, &one), send(&rival, &other));
    let conflicts = [&first, &second].map(|it| matches!(it, Err(PublishError::Meanwhile(_))));
    assert!(conflicts[0] != conflicts[1], "{first:?} {second:?}");
    // The same one again is no conflict.
    let (manifest, files) = if conflicts[1] {
        (&manifest, &one)
    } else {
        (&rival, &other)
    };
    assert!(send(manifest, files).await.is_ok());
}

/// The server is killed and back: the host goes on with what it has, also through a start of its
/// own, and takes what is published then. What was changed on its disk meanwhile is not believed.
#[tokio::test(flavor = "multi_thread")]
async fn without_a_server_the_last_good_stays() {
    let Some(mut servers) = Servers::start(1).await else {
        return;
    };
    let team = Team::new(&servers).await;
    let host = Host::start(&servers, &team);
    team.publish(&files("one")).await;
    host.revision(1).await;
    servers.kill(0);
    host.wait(|it| it.unread.is_some()).await;
    assert_eq!(host.text(), "one");
    let host = Host::in_dir(host.stop().await, &servers, &team);
    assert_eq!(
        host.status.borrow().in_force.as_ref().map(|it| it.revision),
        Some(1)
    );
    // Somebody edits what is on the disk, and the host starts again.
    let dir = host.stop().await;
    fs::write(dir.path().join("current/files/guard.yaml"), "mine").unwrap();
    let host = Host::in_dir(dir, &servers, &team);
    let status = host.status.borrow().clone();
    // Which file it was is told by whoever looks first, which may be the host that was just
    // stopped.
    assert!(status.broken.is_some(), "{status:?}");
    assert!(
        status.in_force.is_none() && status.bundle.is_none(),
        "{status:?}"
    );
    servers.restart(0);
    // What was signed comes again as soon as the server does, and what is published then.
    let status = host.revision(1).await;
    assert_eq!((status.broken, host.text()), (None, "one".into()));
    until(async || team.server.usable().ok()).await;
    team.publish(&files("two")).await;
    host.revision(2).await;
    // An old state of the disk doesn't open the door to old revisions: the link is gone, the
    // highest revision is not.
    let dir = host.stop().await;
    fs::remove_file(dir.path().join("current")).unwrap();
    let host = Host::in_dir(dir, &servers, &team);
    host.revision(2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_canary_comes_first_and_a_promotion_to_all() {
    let Some(servers) = Servers::start(1).await else {
        return;
    };
    let team = Team::new(&servers).await;
    let host = Host::start(&servers, &team);
    team.publish(&files("one")).await;
    host.revision(1).await;
    let two = files("two");
    let place = |permille| Manifest {
        channel: "main".parse().unwrap(),
        revision: 0,
        stage: Stage::Canary { permille },
        created: 0,
        expires: 0,
        min_host: None,
        message: None,
        files: Vec::new(),
    };
    let smallest = (1..1000).find(|it| place(*it).is_for("host-a")).unwrap();
    // A canary without this host: the next look finds it, and the host stays.
    let without = Manifest {
        stage: Stage::Canary {
            permille: smallest - 1,
        },
        ..team.manifest(&two).await
    };
    if smallest > 1 {
        team.send(&without, &two).await.unwrap();
    }
    let with = Manifest {
        stage: Stage::Canary { permille: smallest },
        ..team.manifest(&two).await
    };
    team.send(&with, &two).await.unwrap();
    let status = host.revision(with.revision).await;
    assert!(
        status.in_force.as_ref().unwrap().canary && host.text() == "two",
        "{status:?}"
    );
    assert_eq!(status.swaps, 2);
    let (manifest, _) = team.publish(&two).await;
    let promoted = host.revision(manifest.revision).await.in_force.unwrap();
    assert!(!promoted.canary && promoted.content == status.in_force.unwrap().content);
}

/// Three servers, and the leader of the definitions is killed: what was acknowledged is there, and
/// what is published then comes.
#[tokio::test(flavor = "multi_thread")]
async fn with_three_servers_one_may_die() {
    let Some(mut servers) = Servers::start(3).await else {
        return;
    };
    let team = Team::new(&servers).await;
    let admin = servers.admin().await;
    let host = Host::start(&servers, &team);
    for n in 1..=3u64 {
        let (before, _) = team.publish(&files(&format!("guard {n}"))).await;
        host.revision(before.revision).await;
        let leader = servers.leader(&admin, streams::DEFS).await;
        servers.kill(leader);
        let text = format!("guard {n} again");
        let next = files(&text);
        let revision = until(async || {
            let seen = Channel::read_from(&team.server, &team.pins().channel, &team.pins().signers)
                .await
                .ok()?;
            let last = seen.all.published.as_ref()?.manifest.clone();
            assert!(
                last.revision >= before.revision,
                "an acknowledged revision was lost"
            );
            let manifest = Manifest {
                revision: seen.next_revision().ok()?,
                files: next.entries.clone(),
                ..before.clone()
            };
            publish::publish_bundle(&team.server, &manifest, &next, &[&team.key], &seen)
                .await
                .ok()?;
            Some(manifest.revision)
        });
        let revision = revision.await;
        host.revision(revision).await;
        assert_eq!(host.text(), text);
        servers.restart(leader);
    }
}
