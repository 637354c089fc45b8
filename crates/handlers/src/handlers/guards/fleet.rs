//! What guards have in common that count on all hosts of a fleet.

use super::super::call::Call;
use super::super::compile::Mistake;
use super::super::error::HandlerError;
use super::memory::{Memory, PerOrFleet, now};
use super::refusal::Refusal;
use crate::services::fleet::{self, Budget, Standing};
use schemars::JsonSchema;
use serde::Deserialize;
use std::time::{Duration, UNIX_EPOCH};

/// After what time a budget begins anew, by the clock in UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, serde::Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Period {
    /// An hour.
    Hour,
    /// A day.
    #[default]
    Day,
    /// A month.
    Month,
    /// Never.
    Never,
}

/// A budget that all hosts spend of together.
#[derive(Debug)]
pub(super) struct SharedBudget {
    name: String,
    period: Period,
    /// In the unit that is counted.
    max: i64,
}

/// The name of what all hosts share, which is given with `per: fleet` and only then.
pub(super) fn shared_name(
    setting: &'static str,
    name: Option<String>,
    per: PerOrFleet,
) -> Result<Option<String>, Mistake> {
    match (name, per == PerOrFleet::Fleet) {
        (Some(name), true) => match fleet::bad_name(&name) {
            Some(problem) => Err(Mistake::new(setting, problem)),
            None => Ok(Some(name)),
        },
        (None, false) => Ok(None),
        (Some(_), false) => Err(Mistake::new(
            setting,
            format!("a `{setting}` is for `per: fleet`"),
        )
        .help("add `per: fleet`, or leave it out")),
        (None, true) => Err(Mistake::new(
            "per",
            format!("with `per: fleet`, `{setting}` names what all hosts share"),
        )
        .help(format!("add e.g. `{setting}: team-a`"))),
    }
}

impl SharedBudget {
    /// The budget of a guard's settings, if it counts on all hosts.
    pub(super) fn compile(
        name: Option<String>,
        period: Option<Period>,
        per: PerOrFleet,
        max: i64,
    ) -> Result<Option<SharedBudget>, Mistake> {
        if period.is_some() && per != PerOrFleet::Fleet {
            return Err(Mistake::new("period", "a `period` is for `per: fleet`")
                .help("add `per: fleet`, or leave it out"));
        }
        let name = shared_name("budget", name, per)?;
        Ok(name.map(|name| SharedBudget {
            name,
            period: period.unwrap_or_default(),
            max,
        }))
    }

    /// Counts what an event has cost, or asks whether more may be spent; says what stands against
    /// the event. `refused` makes the refusal of what is counted.
    pub(super) async fn judge(
        &self,
        call: &Call<'_>,
        memory: &Memory,
        cost: Option<i64>,
        refused: impl FnOnce(i64, &str) -> Refusal,
    ) -> Result<Option<Refusal>, HandlerError> {
        let at = humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_millis(now(call)))
            .to_string();
        let period = match self.period {
            Period::Hour => at.get(..13),
            Period::Day => at.get(..10),
            Period::Month => at.get(..7),
            Period::Never => Some("all"),
        };
        let period = period.unwrap_or("all").to_string();
        let budget = Budget {
            name: self.name.clone(),
            period,
            max: self.max,
        };
        let (fleet, within) = (&call.services.fleet, call.hook.timeout);
        let judge = async |_: &str| {
            let standing = match cost {
                Some(cost) => fleet.spend(&budget, cost, within).await,
                None => fleet.ask(&budget, within).await,
            };
            let Standing { may_spend, counted } = standing.map_err(HandlerError)?;
            let of = format!(
                "on all hosts, of the budget `{}` for {}",
                budget.name, budget.period
            );
            let of = if self.period == Period::Never {
                of.trim_end_matches(" for all").to_string()
            } else {
                of
            };
            Ok((!may_spend).then(|| refused(counted, &of)))
        };
        memory.judge_elsewhere(call, judge).await
    }
}
