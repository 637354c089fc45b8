//! Quotas, budgets and answers on a real server: exact, however many ask at once, and whoever is
//! killed.

use crate::common::{self, LONG, Servers};
use futures_util::future::join_all;
use hookwire_fleet::asks::{self, Answered, Asker, Decision};
use hookwire_fleet::envelope;
use hookwire_fleet::key::SecretKey;
use hookwire_fleet::name::{Identity, Name};
use hookwire_fleet::quota::{self, Take};
use hookwire_fleet::server::{PATIENCE, ServerError};
use hookwire_fleet::spend::{Budget, Spender};
use hookwire_fleet::state::{self, Change};
use hookwire_fleet::streams::{self, Plan, Quota};
use serde_json::Value;
use serde_json::value::to_raw_value;
use std::time::{Duration, Instant};

fn name(text: &str) -> Name {
    text.parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_quota_admits_its_limit_of_all_who_ask_at_once() {
    let Some(servers) = Servers::start(1).await else {
        return;
    };
    let admin = servers.admin().await;
    let made = |text: &str, limit, seconds| {
        let window = Duration::from_secs(seconds);
        Quota {
            name: quota::full_name(&name(text), limit, window).unwrap(),
            limit,
            window,
        }
    };
    let (hour, second) = (made("hour", 50, 3600), made("second", 1, 1));
    let plan = Plan {
        quotas: vec![hour.clone(), second.clone()],
        ..Plan::default()
    };
    streams::init_streams(&admin, &plan, false).await.unwrap();
    let hosts = [
        servers.connect("host-a").await,
        servers.connect("host-b").await,
    ];
    let take = async |quota: &Quota, n: usize, key: &str, id: &str| {
        quota::take_one(&hosts[n % 2], &quota.name, &name(key), id, PATIENCE)
            .await
            .unwrap()
    };
    let ids: Vec<String> = (0..800).map(|n| format!("event {n}")).collect();
    let taken = join_all(
        ids.iter()
            .enumerate()
            .map(|(n, id)| take(&hour, n, "all", id)),
    )
    .await;
    let admitted: Vec<&String> = ids
        .iter()
        .zip(&taken)
        .filter(|(_, it)| **it == Take::Admitted)
        .map(|(id, _)| id)
        .collect();
    assert_eq!(admitted.len(), 50);
    // Another key counts apart. A repeated id is told the same and isn't charged twice.
    for id in ["one", "one", "one"] {
        assert_eq!(take(&hour, 0, "other", id).await, Take::Admitted);
    }
    let more = join_all((1..60).map(|n| async move { n.to_string() })).await;
    let more = join_all(more.iter().map(|id| take(&hour, 1, "other", id))).await;
    assert_eq!(more.iter().filter(|it| **it == Take::Admitted).count(), 49);
    // A place is free again when the window is over.
    assert_eq!(take(&second, 0, "all", "a").await, Take::Admitted);
    let begun = Instant::now();
    let mut n = 0;
    while take(&second, 1, "all", &format!("b{n}")).await == Take::Refused {
        n += 1;
        assert!(begun.elapsed() < LONG);
    }
    assert!(
        n > 0 && begun.elapsed() > Duration::from_millis(900),
        "free after {:?}",
        begun.elapsed()
    );
    // Nobody is held to limits that weren't meant.
    let other = quota::full_name(&name("hour"), 51, Duration::from_secs(3600)).unwrap();
    let missing = quota::take_one(
        &hosts[0],
        &other,
        &name("all"),
        "x",
        Duration::from_millis(300),
    )
    .await;
    assert!(
        matches!(missing, Err(ServerError::NoStream(_))),
        "{missing:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_budget_holds_on_all_hosts_though_one_is_killed() {
    const MAX: i64 = 1_000_000;
    const COST: i64 = 700;
    let Some(mut servers) = Servers::start(1).await else {
        return;
    };
    let budget = Budget {
        name: name("team"),
        period: name("2026-11-28"),
        max: MAX,
    };
    // Spends until it may not any more, or so often.
    let spend = async |spender: &Spender, times: usize| {
        let mut spent = 0;
        for _ in 0..times {
            if !spender
                .check_budget(&budget, PATIENCE)
                .await
                .unwrap()
                .may_spend
            {
                break;
            }
            spender.spend(&budget, COST, PATIENCE).await.unwrap();
            spent += COST;
        }
        spent
    };
    let (a, b) = (
        servers.connect("host-a").await,
        servers.connect("host-b").await,
    );
    // Killed: what it has left of its lease, at most a hundredth, is lost to the others.
    let killed = Spender::new(a.clone()).unwrap();
    let mut spent = spend(&killed, 5).await;
    drop(killed);
    let (first, second) = (
        Spender::new(a.clone()).unwrap(),
        Spender::new(b.clone()).unwrap(),
    );
    let begun = Instant::now();
    let both = tokio::join!(spend(&first, usize::MAX), spend(&second, usize::MAX));
    spent += both.0 + both.1;
    eprintln!("{spent} of {MAX} spent in {:?}", begun.elapsed());
    assert!(
        spent <= MAX + 2 * COST,
        "{spent}: over by more than what was on its way on two hosts"
    );
    assert!(
        spent >= MAX - MAX / 100 - 2 * COST,
        "{spent}: more than one lease was lost"
    );
    // One who spends all the same is counted.
    let counted = first.spend(&budget, 50_000, PATIENCE).await.unwrap();
    assert!(
        !counted.may_spend && counted.counted >= MAX + 50_000 - COST,
        "{counted:?}"
    );
    // A host that ends gives back what it has left.
    let small = Budget {
        name: name("other"),
        ..budget.clone()
    };
    assert!(
        first
            .check_budget(&small, PATIENCE)
            .await
            .unwrap()
            .may_spend
    );
    assert_eq!(
        first.spend(&small, 1, PATIENCE).await.unwrap().counted,
        MAX / 100
    );
    first.give_back(true, PATIENCE).await;
    assert_eq!(
        second.check_budget(&small, PATIENCE).await.unwrap().counted,
        1 + MAX / 100,
        "1 spent, and this lease"
    );
    // While the server is away it can't be counted, and is counted afterwards.
    servers.kill(0);
    second
        .spend(&small, MAX / 100 + 5000, Duration::from_millis(300))
        .await
        .unwrap_err();
    second
        .check_budget(&small, Duration::from_millis(300))
        .await
        .unwrap_err();
    servers.restart(0);
    b.wait_until_ready(LONG).await.unwrap();
    let standing = common::until(async || second.spend(&small, 0, PATIENCE).await.ok()).await;
    assert!(
        standing.counted > MAX / 100 + 5000 && standing.counted <= 1 + 2 * (MAX / 100) + 5000,
        "{standing:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn values_are_shared_and_no_count_is_lost() {
    let Some(servers) = Servers::start(1).await else {
        return;
    };
    let hosts = [
        servers.connect("host-a").await,
        servers.connect("host-b").await,
    ];
    let key = name("pushes");
    let count = |n: usize, ttl| {
        state::update_value(&hosts[n % 2], &key, LONG, move |present| {
            Ok(Change::Count(
                (present.and_then(Value::as_u64).unwrap_or(0) + 1).into(),
                ttl,
            ))
        })
    };
    let counted = join_all((0..40).map(|n| count(n, None))).await;
    assert!(counted.iter().all(Result::is_ok), "{counted:?}");
    assert_eq!(
        state::get(&hosts[1], &key, PATIENCE).await.unwrap(),
        Some(40.into())
    );
    // To count doesn't prolong a life, and what is removed begins anew.
    state::update_value(&hosts[0], &key, PATIENCE, |_| Ok(Change::Remove))
        .await
        .unwrap();
    assert_eq!(state::get(&hosts[1], &key, PATIENCE).await.unwrap(), None);
    let begun = Instant::now();
    let life = Duration::from_millis(1500);
    count(0, Some(life)).await.unwrap();
    while let Some(value) = state::get(&hosts[1], &key, PATIENCE).await.unwrap() {
        assert!(value.as_u64() > Some(0) && begun.elapsed() < LONG);
        // It may have ended just now, and begins anew then.
        count(1, Some(life)).await.unwrap();
    }
    assert!(begun.elapsed() >= life, "{:?}", begun.elapsed());
    let large = state::update_value(&hosts[0], &key, PATIENCE, |_| {
        Ok(Change::Set("x".repeat(70_000).into(), None))
    })
    .await;
    assert!(large.unwrap_err().to_string().contains("at most"));
    let refused = state::update_value(&hosts[0], &key, PATIENCE, |_| Err("no number".into())).await;
    assert_eq!(refused, Err(ServerError::Other("no number".into())));
}

#[tokio::test(flavor = "multi_thread")]
async fn one_answer_wins_and_only_an_approvers_counts() {
    let Some(servers) = Servers::start(1).await else {
        return;
    };
    let (host, approver) = (
        servers.connect("host-a").await,
        servers.connect("approver").await,
    );
    let keys: Vec<SecretKey> = (0..16).map(|_| SecretKey::generate().unwrap()).collect();
    let own = SecretKey::generate().unwrap();
    let asker = Asker::new(
        host.clone(),
        name("p1"),
        keys[1..]
            .iter()
            .map(SecretKey::public)
            .chain([own.public()]),
        &[own.public()],
    )
    .unwrap();
    assert!(
        Asker::new(host.clone(), name("p1"), [own.public()], &[own.public()]).is_err(),
        "its own key is no approver's"
    );
    let question = to_raw_value(&serde_json::json!({ "message": "Push?" })).unwrap();
    let waiting = async || {
        common::until(async || asks::waiting_questions(&approver).await.unwrap().pop()).await
    };
    let ask = async |within| {
        let mut names = Vec::new();
        let answer = asker
            .ask(&question, within, |it| names.push(it.clone()))
            .await;
        if let Some(last) = names.last() {
            asker.close_question(last, "a test").await.unwrap();
        }
        (answer, names)
    };

    // Fifteen of sixteen who answer at once are too late; the host doesn't believe the first key.
    let answers = async {
        let question = waiting().await;
        assert_eq!(question.question.get(), "{\"message\":\"Push?\"}");
        let refused =
            asks::answer_question(&approver, &question, Decision::Approve, None, &keys[0])
                .await
                .unwrap_err();
        assert!(refused.to_string().contains("doesn't believe"), "{refused}");
        let all = join_all((0..16).map(|n| {
            asks::answer_question(
                &approver,
                &question,
                Decision::Approve,
                Some("fine"),
                &keys[(n % 15 + 1).max(1)],
            )
        }))
        .await;
        let first: Vec<usize> = (0..16)
            .filter(|n| matches!(all[*n], Ok(Answered::First)))
            .map(|n| n % 15 + 1)
            .collect();
        assert!(all.iter().all(Result::is_ok));
        // The one key that answers twice has the same answer twice.
        assert!(first.iter().all(|it| *it == first[0]), "{first:?}");
        first[0]
    };
    let ((answer, names), winner) = tokio::join!(ask(LONG), answers);
    let answer = answer.unwrap().unwrap();
    assert_eq!(
        (answer.decision, answer.reason.as_deref(), answer.by),
        (Decision::Approve, Some("fine"), keys[winner].public())
    );
    assert_eq!(names.len(), 1);
    assert!(asks::waiting_questions(&approver).await.unwrap().is_empty());

    // The host's account can't answer.
    let who = Identity {
        host: name("host-a"),
        instance: name("p1"),
    };
    let forged = |ask: &Name, key: &SecretKey, digest: &str| {
        let payload = serde_json::json!({
            "host": "host-a", "instance": "p1", "ask": ask, "digest": digest, "decision": "approve",
        });
        envelope::sign_payload(
            "application/vnd.hookwire.answer+json",
            payload.to_string().as_bytes(),
            &[key],
        )
    };
    let no_digest = "0".repeat(64);
    let publish = async |from: &hookwire_fleet::server::Server, ask: &Name, bytes: Vec<u8>| {
        from.publish(
            &streams::answer_subject(&who, ask),
            Default::default(),
            bytes.into(),
            Duration::from_secs(2),
        )
        .await
    };
    let attacks = async {
        let question = waiting().await;
        let denied = publish(
            &host,
            &question.ask,
            forged(&question.ask, &own, &no_digest),
        )
        .await
        .unwrap_err();
        assert!(matches!(denied, ServerError::NotPermitted(_)), "{denied}");
        // One who may publish, with a key that nobody has pinned, or for another question: it takes
        // the answer's place, and the question is asked again.
        publish(
            &approver,
            &question.ask,
            forged(&question.ask, &own, &no_digest),
        )
        .await
        .unwrap();
        let again = common::until(async || {
            asks::waiting_questions(&approver)
                .await
                .unwrap()
                .pop()
                .filter(|it| it.ask != question.ask)
        })
        .await;
        publish(
            &approver,
            &again.ask,
            forged(&again.ask, &keys[1], &no_digest),
        )
        .await
        .unwrap();
        let last = common::until(async || {
            asks::waiting_questions(&approver)
                .await
                .unwrap()
                .pop()
                .filter(|it| ![&question.ask, &again.ask].contains(&&it.ask))
        })
        .await;
        asks::answer_question(&approver, &last, Decision::Deny, None, &keys[2])
            .await
            .unwrap()
    };
    let ((answer, names), done) = tokio::join!(ask(LONG), attacks);
    assert_eq!(
        (answer.unwrap().unwrap().decision, names.len(), done),
        (Decision::Deny, 3, Answered::First)
    );

    // Nobody answers.
    let (answer, _) = ask(Duration::from_millis(400)).await;
    assert_eq!(answer.unwrap(), None);
    // A question that nobody could read whole isn't asked.
    let long = to_raw_value(&"x".repeat(streams::MAX_ASK)).unwrap();
    assert!(
        asker
            .ask(&long, LONG, |_| {})
            .await
            .unwrap_err()
            .to_string()
            .contains("at most")
    );
}
