//! Budgets: an amount that all hosts together may spend in a period, such as a day.
//!
//! The server counts what is given out. A host takes a lease: it adds an amount to the counter and
//! may then spend that much without asking, so that most gates cost no exchange with the server. Of
//! what it added beyond the budget's end, it spends nothing and gives it back. So what all leases
//! together allow is never more than the budget.
//!
//! What something costs is known only when it has been spent. So a host may go over its lease by
//! the cost of what is on its way when its lease ends, and adds that to the counter at once. That
//! is the slack: for each host, what it has on its way when the budget ends.
//!
//! A host that is killed leaves its lease counted as spent, at most a hundredth of the budget; one
//! that ends in good order and one that is idle give theirs back. An addition of which no
//! acknowledgement comes counts as made and allows nothing; when it comes late, the lease goes
//! back.

use crate::name::Name;
use crate::retry::{INCREMENT, publish_surely};
use crate::server::{Server, ServerError};
use crate::spool::new_id;
use crate::streams;
use async_nats::HeaderMap;
use async_nats::header::NATS_MESSAGE_ID;
use bytes::Bytes;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The largest amount, so that no sum of some leaves 64 bits.
pub const MAX_AMOUNT: i64 = 1 << 53;
/// A lease is at most this part of the budget, and this part of what is left of it, but at least
/// the smallest.
const PART: i64 = 100;
const PART_OF_REST: i64 = 64;
const SMALLEST_PART: i64 = 10_000;
/// How long "there is no more" is believed without asking again.
const BELIEVED: Duration = Duration::from_secs(1);
/// How long a lease may lie idle.
const IDLE: Duration = Duration::from_secs(60);
/// How long an addition of which no acknowledgement came is tried again: less than the stream knows
/// it by its id.
const TRIED: Duration = Duration::from_secs(300);
/// The budgets that a host knows at once.
const MAX_BUDGETS: usize = 1000;

/// A budget in a period.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Its name.
    pub name: Name,
    /// The period, such as a day: each has a counter of its own.
    pub period: Name,
    /// What may be spent, in the smallest unit that is counted: millionths of a currency, or
    /// tokens.
    pub max: i64,
}

/// How a budget stands, as far as this host knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Whether this host may spend.
    pub may_spend: bool,
    /// What is counted on all hosts: spent or given out.
    pub counted: i64,
}

/// What this host may spend of budgets.
pub struct Spender {
    server: Server,
    /// Begins the ids of this process's additions.
    process: String,
    n_added: AtomicU64,
    leases: Mutex<HashMap<String, Arc<tokio::sync::Mutex<Lease>>>>,
}

impl std::fmt::Debug for Spender {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Spender")
            .field("server", &self.server)
            .finish_non_exhaustive()
    }
}

/// What is left of a lease.
#[derive(Debug, Default)]
struct Lease {
    /// Negative: spent and not yet counted.
    left: i64,
    /// The counter when it was last known.
    counted: i64,
    /// When there was no more.
    ended: Option<Instant>,
    used: Option<Instant>,
    /// Additions of which no acknowledgement has come; the oldest first.
    doubtful: Vec<Addition>,
}

#[derive(Clone, Debug)]
struct Addition {
    id: String,
    amount: i64,
    /// How much of it is a lease, which goes back if the server's word comes too late to use it.
    lease: i64,
    begun: Instant,
}

impl Spender {
    /// Nothing is leased yet.
    ///
    /// # Errors
    /// The system gives no random numbers.
    pub fn new(server: Server) -> std::io::Result<Spender> {
        Ok(Spender {
            server,
            process: new_id()?,
            n_added: AtomicU64::new(0),
            leases: Mutex::default(),
        })
    }

    /// Whether this host may spend of a budget. Asks the server only if its lease has ended.
    ///
    /// # Errors
    /// The server doesn't answer in that time.
    pub async fn check_budget(
        &self,
        budget: &Budget,
        within: Duration,
    ) -> Result<Standing, ServerError> {
        let (subject, lease) = self.lease_of(budget)?;
        let mut lease = lease.lock().await;
        lease.used = Some(Instant::now());
        if lease.left <= 0 && !lease.has_ended() {
            self.settle_lease(&subject, &mut lease, budget, within)
                .await?;
        }
        Ok(Standing {
            may_spend: lease.left > 0,
            counted: lease.counted,
        })
    }

    /// Counts what has been spent of a budget. Asks the server only if it is more than the lease,
    /// or if the server hasn't said yet whether it has counted what came before.
    ///
    /// # Errors
    /// The server doesn't answer in that time. It is counted all the same, as soon as the server
    /// answers.
    pub async fn spend(
        &self,
        budget: &Budget,
        amount: i64,
        within: Duration,
    ) -> Result<Standing, ServerError> {
        let (subject, lease) = self.lease_of(budget)?;
        let mut lease = lease.lock().await;
        lease.used = Some(Instant::now());
        lease.left = lease
            .left
            .saturating_sub(amount.clamp(0, MAX_AMOUNT))
            .max(-MAX_AMOUNT);
        if lease.left < 0 || !lease.doubtful.is_empty() {
            self.settle_lease(&subject, &mut lease, budget, within)
                .await?;
        }
        Ok(Standing {
            may_spend: lease.left > 0,
            counted: lease.counted,
        })
    }

    /// Gives back what idle budgets have left of their leases; all of them if the host ends. Tries
    /// until the time is up.
    pub async fn give_back(&self, all: bool, within: Duration) {
        let until = Instant::now() + within;
        let leases: Vec<_> = self
            .leases()
            .iter()
            .map(|(subject, lease)| (subject.clone(), lease.clone()))
            .collect();
        for (subject, lease) in leases {
            let mut lease = lease.lock().await;
            let is_idle = lease.used.is_none_or(|it| it.elapsed() >= IDLE);
            if all || is_idle {
                let left = until.saturating_duration_since(Instant::now());
                if let Err(error) = self.try_again(&subject, &mut lease, left).await {
                    tracing::debug!(%error, subject, "It isn't known yet what is counted.");
                }
            }
            if lease.left > 0 && (all || is_idle) {
                let amount = std::mem::take(&mut lease.left);
                let left = until.saturating_duration_since(Instant::now());
                if let Err(error) = self
                    .add_to_counter(&subject, &mut lease, -amount, 0, left)
                    .await
                {
                    tracing::debug!(%error, subject, "A lease wasn't given back.");
                }
            }
            if is_idle && lease.left == 0 && lease.doubtful.is_empty() {
                self.leases().remove(&subject);
            }
        }
    }

    /// Counts what was spent beyond the lease, and takes another lease.
    async fn settle_lease(
        &self,
        subject: &str,
        lease: &mut Lease,
        budget: &Budget,
        within: Duration,
    ) -> Result<(), ServerError> {
        let until = Instant::now() + within;
        self.try_again(subject, lease, within).await?;
        let debt = lease.left.min(0).abs();
        let wish = lease.next_lease(budget.max);
        if debt + wish == 0 {
            return Ok(());
        }
        let before = lease.left;
        // What is in doubt counts, so it is no debt any more; and it allows nothing.
        lease.left = 0;
        let left = until.saturating_duration_since(Instant::now());
        let counted = match self
            .add_to_counter(subject, lease, debt + wish, wish, left)
            .await
        {
            Ok(Some(counted)) => counted,
            // The server had it, and doesn't say what the counter was then. So the lease isn't
            // used.
            Ok(None) => return self.return_amount(subject, lease, wish, until).await,
            Err(error) => {
                if lease.doubtful.is_empty() {
                    lease.left = before;
                }
                return Err(error);
            }
        };
        let granted = budget.max.saturating_sub(counted - wish).clamp(0, wish);
        lease.left = granted;
        lease.ended = (granted == 0).then(Instant::now);
        if granted < wish {
            self.return_amount(subject, lease, wish - granted, until)
                .await
        } else {
            Ok(())
        }
    }

    /// Gives an amount back. If the server doesn't answer, that is tried later, and the budget
    /// seems smaller meanwhile.
    async fn return_amount(
        &self,
        subject: &str,
        lease: &mut Lease,
        amount: i64,
        until: Instant,
    ) -> Result<(), ServerError> {
        let left = until.saturating_duration_since(Instant::now());
        if let Err(error) = self.add_to_counter(subject, lease, -amount, 0, left).await {
            tracing::debug!(%error, subject, "A part of a lease wasn't given back yet.");
        }
        Ok(())
    }

    /// Adds to the counter, and gives what it is then; `None` if the server had the addition
    /// already. `of_lease` of the amount is for later.
    async fn add_to_counter(
        &self,
        subject: &str,
        lease: &mut Lease,
        amount: i64,
        of_lease: i64,
        within: Duration,
    ) -> Result<Option<i64>, ServerError> {
        let id = format!(
            "{}:{}:{}",
            self.server.host(),
            self.process,
            self.n_added.fetch_add(1, Ordering::Relaxed)
        );
        let addition = Addition {
            id,
            amount,
            lease: of_lease,
            begun: Instant::now(),
        };
        // Before it is sent, because whoever waits for it may cease to: a hook has a deadline.
        lease.doubtful.push(addition.clone());
        let added = self.send_addition(subject, &addition, within).await;
        let is_in_doubt = match &added {
            Ok(_) => false,
            Err(ServerError::TimedOut(_)) => true,
            // It surely doesn't count. What isn't given back would be lost, so that is tried again.
            Err(_) => amount < 0,
        };
        if !is_in_doubt {
            lease.doubtful.retain(|it| it.id != addition.id);
        }
        if let Ok(Some(counted)) = added {
            lease.counted = counted;
        }
        added
    }

    /// Tries again what is in doubt, with the same ids, so that it counts once. An addition counts
    /// then, and a lease within it goes back: nobody knows what the counter was when it was
    /// granted.
    async fn try_again(
        &self,
        subject: &str,
        lease: &mut Lease,
        within: Duration,
    ) -> Result<(), ServerError> {
        let until = Instant::now() + within;
        lease.doubtful.retain(|it| it.begun.elapsed() < TRIED);
        while let Some(addition) = lease.doubtful.first().cloned() {
            let left = until.saturating_duration_since(Instant::now());
            if let Some(counted) = self.send_addition(subject, &addition, left).await? {
                lease.counted = counted;
            }
            lease.doubtful.remove(0);
            if addition.lease > 0 {
                self.return_amount(subject, lease, addition.lease, until)
                    .await?;
            }
        }
        Ok(())
    }

    async fn send_addition(
        &self,
        subject: &str,
        addition: &Addition,
        within: Duration,
    ) -> Result<Option<i64>, ServerError> {
        let mut headers = HeaderMap::new();
        headers.insert(NATS_MESSAGE_ID, addition.id.as_str());
        headers.insert(INCREMENT, format!("{:+}", addition.amount));
        let ack = publish_surely(&self.server, subject, &headers, &Bytes::new(), within).await?;
        if ack.duplicate {
            return Ok(None);
        }
        let said = ack.value.unwrap_or_default();
        read_counter(&said).map(Some).ok_or_else(|| {
            let said: String = said
                .chars()
                .filter(|character| !character.is_control())
                .take(40)
                .collect();
            ServerError::Other(format!(
                "{subject} doesn't count what hosts have spent: it says {said:?}"
            ))
        })
    }

    fn lease_of(
        &self,
        budget: &Budget,
    ) -> Result<(String, Arc<tokio::sync::Mutex<Lease>>), ServerError> {
        let subject = streams::spend_subject(&budget.name, &budget.period);
        let mut leases = self.leases();
        if leases.len() >= MAX_BUDGETS && !leases.contains_key(&subject) {
            return Err(ServerError::Other(format!(
                "this host spends of {MAX_BUDGETS} budgets already"
            )));
        }
        let lease = leases.entry(subject.clone()).or_default().clone();
        Ok((subject, lease))
    }

    fn leases(&self) -> MutexGuard<'_, HashMap<String, Arc<tokio::sync::Mutex<Lease>>>> {
        self.leases.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a counter says. A server counts beyond 64 bits: one that is so large is a budget that is
/// used up. `None`: it is no sum of what hosts have spent. Below zero, somebody has given back more
/// than was given out, and each lease would be granted.
pub(crate) fn read_counter(text: &str) -> Option<i64> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().unwrap_or(i64::MAX))
}

impl Lease {
    fn has_ended(&self) -> bool {
        self.ended.is_some_and(|ended| ended.elapsed() < BELIEVED)
    }

    /// What the next lease is to be. The less is left, the smaller, so that few hosts don't hold
    /// the whole rest.
    fn next_lease(&self, max: i64) -> i64 {
        if self.has_ended() {
            return 0;
        }
        let smallest = (max / SMALLEST_PART).max(1);
        ((max - self.counted) / PART_OF_REST).clamp(smallest, (max / PART).max(smallest))
    }
}
