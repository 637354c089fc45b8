//! What guards count on all hosts of a fleet together: quotas and budgets. A host that is in no
//! fleet has none, and a guard that needs one fails; what that means is up to its `fail`.
//!
//! Where nothing happens really, such as in tests of definitions and in a replay, guards count in
//! this host instead.

use hookwire_base::support::digest;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// How long one exchange with the servers may take, at most.
const PATIENCE: Duration = Duration::from_secs(2);

/// The way to what a fleet counts. Cheap to clone; clones share it.
#[derive(Clone, Default)]
pub struct FleetCounts(Arc<Shared>);

#[derive(Default)]
struct Shared {
    /// Whether hosts of a fleet are only pretended: then a guard counts here.
    is_pretended: OnceLock<()>,
    #[cfg(feature = "fleet")]
    joined: OnceLock<Joined>,
}

/// A quota: at most so many in so long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quota {
    /// Its name.
    pub name: String,
    /// How many.
    pub limit: u32,
    /// In how long: whole seconds.
    pub window: Duration,
}

/// A budget in a period.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Its name.
    pub name: String,
    /// The period: each has a counter of its own.
    pub period: String,
    /// What may be spent, in the unit that is counted.
    pub max: i64,
}

/// How a budget stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Whether this host may spend.
    pub may_spend: bool,
    /// What is counted on all hosts: spent, or given to hosts to spend.
    pub counted: i64,
}

impl FleetCounts {
    /// Guards count in this host from now on, as if it were the fleet.
    pub fn pretend(&self) {
        let _ = self.0.is_pretended.set(());
    }

    /// Whether guards count in this host.
    pub fn is_pretended(&self) -> bool {
        self.0.is_pretended.get().is_some()
    }
}

/// Why a name can't be one of a quota, a budget or a period; for people. They stand in subjects of
/// the bus.
pub fn bad_name(name: &str) -> Option<String> {
    let is_name = !name.is_empty()
        && name.len() <= MAX_NAME
        && name
            .bytes()
            .all(|it| it.is_ascii_alphanumeric() || it == b'_' || it == b'-');
    (!is_name).then(|| {
        format!(
            "a name has 1 to {MAX_NAME} of the characters A-Z, a-z, 0-9, _ and -, found `{name}`"
        )
    })
}

/// The longest name: with the limits behind it, it must still be a name of the bus.
const MAX_NAME: usize = 40;

/// The part of a quota that a value of `by` counts in: the values themselves don't go to the bus.
pub fn key_of(by: &str) -> String {
    if by.is_empty() {
        "all".into()
    } else {
        digest::hex(&digest::of_texts(&[by]))
            .chars()
            .take(32)
            .collect()
    }
}

#[cfg(feature = "fleet")]
pub use joined::Joined;

#[cfg(feature = "fleet")]
mod joined {
    use super::*;
    use hookwire_fleet::name::Name;
    use hookwire_fleet::quota::{self, Take};
    use hookwire_fleet::server::{Server, ServerError};
    use hookwire_fleet::spend::{self, Spender};

    /// A fleet that this host is in.
    pub struct Joined {
        server: Server,
        spender: Spender,
        /// Begins the ids of this process's takes.
        process: String,
    }

    impl FleetCounts {
        /// Guards count in the fleet of this server from now on.
        ///
        /// # Errors
        /// The system gives no random numbers.
        pub fn join(&self, server: &Server) -> std::io::Result<()> {
            let spender = Spender::new(server.clone())?;
            let process = format!(
                "{}:{:x}:{:x}",
                server.host(),
                std::process::id(),
                millis_now()
            );
            // A host joins one fleet.
            let _ = self.0.joined.set(Joined {
                server: server.clone(),
                spender,
                process,
            });
            Ok(())
        }

        fn joined(&self) -> Result<&Joined, String> {
            self.0
                .joined
                .get()
                .ok_or_else(|| "this host is in no fleet; start it with `--fleet`".into())
        }

        /// Takes one of a quota; says whether it was admitted. `id` names what takes, so that it
        /// counts once.
        ///
        /// # Errors
        /// Finishes "failed to ...".
        pub async fn take(
            &self,
            quota: &Quota,
            key: &str,
            id: &str,
            within: Duration,
        ) -> Result<bool, String> {
            let failed = |problem: String| {
                format!("take one of the fleet's quota `{}`: {problem}", quota.name)
            };
            let joined = self.joined().map_err(failed)?;
            let name = quota.name.parse().ok();
            let name =
                name.and_then(|name: Name| quota::full_name(&name, quota.limit, quota.window));
            let name = name.ok_or_else(|| failed("it has no name that the bus takes".into()))?;
            let key: Name = key.parse().map_err(|error| failed(format!("{error}")))?;
            let id = format!("{}:{id}", joined.process);
            match quota::take_one(&joined.server, &name, &key, &id, within.min(PATIENCE)).await {
                Ok(take) => Ok(take == Take::Admitted),
                Err(ServerError::NoStream(_)) => {
                    let window = humantime::format_duration(quota.window);
                    Err(failed(format!(
                        "it isn't there, or has no leader now; an administrator makes it by `hookwire fleet init --quota \
                         {}={}/{}`",
                        quota.name,
                        quota.limit,
                        window.to_string().replace(' ', "")
                    )))
                }
                Err(error) => Err(failed(error.to_string())),
            }
        }

        /// Whether this host may spend of a budget.
        ///
        /// # Errors
        /// Finishes "failed to ...".
        pub async fn ask(&self, budget: &Budget, within: Duration) -> Result<Standing, String> {
            let failed = |problem: String| {
                format!(
                    "ask for a part of the fleet's budget `{}`: {problem}",
                    budget.name
                )
            };
            let joined = self.joined().map_err(failed)?;
            let asked = joined
                .spender
                .check_budget(&of_bus(budget).map_err(failed)?, within.min(PATIENCE))
                .await;
            asked
                .map(standing)
                .map_err(|error| failed(error.to_string()))
        }

        /// Counts what was spent of a budget.
        ///
        /// # Errors
        /// Finishes "failed to ...". It counts all the same, as soon as a server is reached.
        pub async fn spend(
            &self,
            budget: &Budget,
            amount: i64,
            within: Duration,
        ) -> Result<Standing, String> {
            let failed = |problem: String| {
                format!(
                    "count what the fleet's budget `{}` has paid: {problem}",
                    budget.name
                )
            };
            let joined = self.joined().map_err(failed)?;
            let spent = joined
                .spender
                .spend(
                    &of_bus(budget).map_err(failed)?,
                    amount,
                    within.min(PATIENCE),
                )
                .await;
            spent
                .map(standing)
                .map_err(|error| failed(error.to_string()))
        }

        /// Gives back what budgets have left that are idle; all of them if the host ends.
        pub async fn give_back(&self, all: bool, within: Duration) {
            if let Some(joined) = self.0.joined.get() {
                joined.spender.give_back(all, within).await;
            }
        }
    }

    fn of_bus(budget: &Budget) -> Result<spend::Budget, String> {
        let name = |text: &str| text.parse::<Name>().map_err(|error| error.to_string());
        let max = budget.max.min(spend::MAX_AMOUNT);
        Ok(spend::Budget {
            name: name(&budget.name)?,
            period: name(&budget.period)?,
            max,
        })
    }

    fn standing(it: spend::Standing) -> Standing {
        Standing {
            may_spend: it.may_spend,
            counted: it.counted,
        }
    }

    fn millis_now() -> u128 {
        std::time::SystemTime::now()
            .duration_since(std::time::SystemTime::UNIX_EPOCH)
            .unwrap_or_default()
            .as_millis()
    }
}

#[cfg(not(feature = "fleet"))]
impl FleetCounts {
    /// There is no fleet.
    ///
    /// # Errors
    /// Always.
    pub async fn take(&self, _: &Quota, _: &str, _: &str, _: Duration) -> Result<bool, String> {
        Err(NONE.into())
    }

    /// There is no fleet.
    ///
    /// # Errors
    /// Always.
    pub async fn ask(&self, _: &Budget, _: Duration) -> Result<Standing, String> {
        Err(NONE.into())
    }

    /// There is no fleet.
    ///
    /// # Errors
    /// Always.
    pub async fn spend(&self, _: &Budget, _: i64, _: Duration) -> Result<Standing, String> {
        Err(NONE.into())
    }
}

#[cfg(not(feature = "fleet"))]
const NONE: &str = "count in a fleet: this hookwire was built without `fleet`";
