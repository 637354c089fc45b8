//! The page of a fleet: the verdicts of all hosts, what they ask and what is in force there, as the
//! servers have it. It asks no host: what only a host can tell, the page of that host's machine
//! has.

mod past;
mod questions;
mod verdicts;

use super::call::{Call, Nothing};
use super::feed::Feed;
use super::problem::{Answer, Problem};
use hookwire_engine::fleet::settings::Followed;
use hookwire_engine::fleet::standing::state;
use hookwire_fleet::asks::Question;
use hookwire_fleet::hosts::{self, Reported};
use hookwire_fleet::key::SecretKey;
use hookwire_fleet::name::Name;
use hookwire_fleet::publish::Channel;
use hookwire_fleet::server::{Link, Server, ServerError};
use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::Notify;

/// How often hosts' reports are read; a host writes one every half minute.
const REPORTS: Duration = Duration::from_secs(10);
/// How often it is told at most that there are more machines.
const MOMENT: Duration = Duration::from_millis(500);
/// How long nothing is asked after it has failed, unless there is another connection.
const PAUSE: Duration = Duration::from_secs(5);
/// Machines that are known, and told.
const MAX_MACHINES: usize = 2000;

/// Which fleet, as whom.
pub struct Source {
    /// The connection, which may be away.
    pub server: Server,
    /// As a person has named it.
    pub given: String,
    /// What the settings pin, to know the newest revision.
    pub(crate) followed: Option<Followed>,
    /// What answers are signed with. It stays in this process.
    pub key: Option<SecretKey>,
}

/// What an account may or may not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Verdicts,
    Questions,
    Reports,
}

impl Part {
    fn name(self) -> &'static str {
        match self {
            Part::Verdicts => "verdicts",
            Part::Questions => "questions",
            Part::Reports => "reports",
        }
    }

    /// Why it can't be read, for people.
    fn problem(self, error: &ServerError) -> String {
        match error {
            ServerError::NotPermitted(_) => format!("this account may not read {}", self.name()),
            error => error.to_string(),
        }
    }
}

/// See the module.
pub(super) struct Fleet {
    source: Source,
    feed: Arc<Feed>,
    runtime: Handle,
    known: Mutex<Known>,
    /// There is a new machine.
    met: Notify,
}

#[derive(Default)]
struct Known {
    /// Whose verdicts have come.
    machines: BTreeSet<Name>,
    reports: Vec<Reported>,
    /// The revision of the channel that the settings follow.
    newest: Option<u64>,
    /// The questions that pages were told.
    questions: Vec<Question>,
    problems: BTreeMap<Part, String>,
    told: Option<Value>,
}

impl Fleet {
    /// Reads the fleet from now on.
    pub(super) fn start(source: Source, feed: &Arc<Feed>, runtime: &Handle) -> Arc<Fleet> {
        let (feed, runtime) = (feed.clone(), runtime.clone());
        let fleet = Arc::new(Fleet {
            source,
            feed,
            runtime,
            known: Mutex::default(),
            met: Notify::new(),
        });
        fleet.tell_pages();
        fleet
            .runtime
            .spawn(verdicts::follow_verdicts(fleet.clone()));
        fleet
            .runtime
            .spawn(questions::follow_questions(fleet.clone()));
        fleet.runtime.spawn(fleet.clone().read_reports());
        fleet.runtime.spawn(fleet.clone().watch_link());
        fleet.runtime.spawn(fleet.clone().tell_of_machines());
        fleet
    }

    /// Answers a call; waits for servers.
    pub(super) fn answer_call(&self, call: &Call) -> Answer {
        match call.method() {
            "inspect/hosts" => call
                .params::<Nothing>()
                .map(|_| self.describe_fleet(&self.known.lock())),
            "inspect/approvals" => {
                call.params::<Nothing>()?;
                Ok(json!({ "approvals": self.questions() }))
            }
            "approvals/answer" => self.runtime.block_on(self.answer_question(call.params()?)),
            "inspect/history" => self.runtime.block_on(self.search_history(&call.params()?)),
            "inspect/reply" => call.agent_reply(),
            method => Err(Problem::of_host(method)),
        }
    }

    /// Says how the connection is, whenever that changes.
    async fn watch_link(self: Arc<Self>) {
        let mut link = self.source.server.link();
        while link.changed().await.is_ok() {
            if matches!(*link.borrow_and_update(), Link::Up(_)) {
                // The server's version comes a moment later.
                let _ = self.source.server.wait_until_ready(PAUSE).await;
            }
            self.tell_pages();
        }
    }

    /// Tells of new machines, all of a moment at once.
    async fn tell_of_machines(self: Arc<Self>) {
        loop {
            self.met.notified().await;
            self.tell_pages();
            tokio::time::sleep(MOMENT).await;
        }
    }

    async fn read_reports(self: Arc<Self>) {
        let mut link = self.source.server.link();
        loop {
            match hosts::all_hosts(&self.source.server).await {
                Ok((reports, _)) => {
                    let newest = self.newest().await;
                    self.take_reports(reports, newest);
                    let _ = tokio::time::timeout(REPORTS, link.changed()).await;
                }
                Err(error) => self.note_failed(Part::Reports, &error).await,
            }
        }
    }

    fn take_reports(&self, reports: Vec<Reported>, newest: Option<u64>) {
        let mut known = self.known.lock();
        (known.reports, known.newest) = (reports, newest);
        known.problems.remove(&Part::Reports);
        drop(known);
        self.tell_pages();
    }

    /// The newest revision, as the pinned keys have signed it.
    async fn newest(&self) -> Option<u64> {
        let Followed { pins, .. } = self.source.followed.as_ref()?;
        let channel = Channel::read_from(&self.source.server, &pins.channel, &pins.signers)
            .await
            .ok()?;
        channel
            .all
            .published
            .map(|published| published.manifest.revision)
    }

    /// A part can be read.
    fn note_works(&self, part: Part) {
        if self.known.lock().problems.remove(&part).is_some() {
            self.tell_pages();
        }
    }

    /// Says that a part can't be read and why, and waits until it makes sense to try again. What
    /// isn't permitted may be so for another connection only: the server would log each attempt.
    async fn note_failed(&self, part: Part, error: &ServerError) {
        // That no server is reached is said once for all.
        if !matches!(error, ServerError::Away { .. }) {
            self.known.lock().problems.insert(part, part.problem(error));
        }
        self.tell_pages();
        let mut link = self.source.server.link();
        link.borrow_and_update();
        let connected = async {
            while link.changed().await.is_ok() {
                if matches!(*link.borrow_and_update(), Link::Up(_)) {
                    return;
                }
            }
            std::future::pending().await
        };
        match error {
            ServerError::NotPermitted(_) => connected.await,
            _ => drop(tokio::time::timeout(PAUSE, connected).await),
        }
    }

    /// Tells pages which hosts there are and how the fleet is, if that has changed.
    fn tell_pages(&self) {
        let mut known = self.known.lock();
        let now = self.describe_fleet(&known);
        if known.told.as_ref() == Some(&now) {
            return;
        }
        self.feed
            .tell_pages("hosts", now.as_object().cloned().unwrap_or_default());
        known.told = Some(now);
    }

    fn describe_fleet(&self, known: &Known) -> Value {
        let Source {
            server, given, key, ..
        } = &self.source;
        let mut machines: BTreeMap<&Name, Vec<Value>> = known
            .machines
            .iter()
            .map(|machine| (machine, Vec::new()))
            .collect();
        for it in &known.reports {
            machines
                .entry(&it.who.host)
                .or_default()
                .push(self.describe_report(it, known.newest));
        }
        let n_more = machines.len().saturating_sub(MAX_MACHINES);
        let hosts: Vec<Value> = machines
            .into_iter()
            .take(MAX_MACHINES)
            .map(|(name, reports)| json!({ "id": name, "root": "", "reports": reports }))
            .collect();
        let problems: Map<String, Value> = known
            .problems
            .iter()
            .map(|(part, problem)| (part.name().to_string(), problem.as_str().into()))
            .collect();
        let mut fleet = json!({
            "servers": server.servers(), "given": given, "problems": problems, "more": n_more,
            "newest": known.newest, "key": key.as_ref().map(|it| it.public().id()),
        });
        if let Err(error) = server.usable() {
            fleet["away"] = error.to_string().into();
        }
        json!({ "hosts": hosts, "fleet": fleet })
    }

    /// What a host reports, in words that `hookwire fleet status` has, too.
    fn describe_report(&self, reported: &Reported, newest: Option<u64>) -> Value {
        let Reported { who, report, .. } = reported;
        let followed = self
            .source
            .followed
            .as_ref()
            .map(|followed| &followed.pins.channel);
        // Other channels have other revisions.
        let newest = newest.filter(|_| report.channel.as_ref() == followed);
        let state = state(reported, newest);
        json!({
            "instance": who.instance, "version": report.version, "channel": report.channel,
            "words": state.words, "isWrong": state.is_wrong,
        })
    }
}
