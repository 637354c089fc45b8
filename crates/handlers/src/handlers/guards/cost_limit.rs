//! `cost-limit`: ends a run whose model calls have cost an amount, by a price list in the
//! definition. As with tokens, the call that crosses the limit has been paid for.

use super::super::call::Call;
use super::super::compile::{Compile, Mistake};
use super::super::error::HandlerError;
use super::super::kind::Kind;
use super::fleet::{Period, SharedBudget};
use super::guard_kind::{GuardKind, decides, reports};
use super::memory::{Memory, PerOrFleet};
use super::refusal::{Refusal, end_run};
use super::usage::{model_name, tells_usage, usage};
use globset::{Glob, GlobMatcher};
use hookwire_base::event::EventSpec;
use hookwire_base::verdict::{Answer, StopReason};
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;

/// Adds up what model calls cost, and denies at gates once the limit is reached. On no gate at all,
/// it ends the run at PostModelCall.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "CostLimitGuard")]
pub struct RawCostLimit {
    /// The amount, in the currency of the prices.
    max: f64,
    /// What a million tokens cost, by globs on the model's name; of several, the longest counts.
    prices: BTreeMap<String, RawPrice>,
    /// What a model without a price means: an error of the hook, or nothing to count.
    #[serde(default)]
    unknown_model: UnknownModel,
    /// What is counted together.
    #[serde(default)]
    per: PerOrFleet,
    /// With `per: fleet`, the budget that all hosts spend of.
    budget: Option<String>,
    /// With `per: fleet`, when the budget begins anew: a day if not said.
    period: Option<Period>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Price")]
struct RawPrice {
    /// A million tokens that the model reads.
    input: f64,
    /// A million tokens that the model writes.
    output: f64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, serde::Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum UnknownModel {
    /// The hook fails: what that means is up to its `fail`.
    #[default]
    Fail,
    /// Its calls cost nothing.
    Ignore,
}

#[derive(Debug)]
pub struct CostLimit {
    max: f64,
    /// The longest glob first.
    prices: Vec<(GlobMatcher, Price)>,
    unknown_model: UnknownModel,
    memory: Memory,
    /// That of all hosts, in millionths, unless it counts in this one.
    budget: Option<SharedBudget>,
}

#[derive(Clone, Copy, Debug)]
struct Price {
    input: f64,
    output: f64,
}

const MILLION: f64 = 1_000_000.0;

impl GuardKind for CostLimit {
    const EXAMPLE: &'static str = "{ max: 5, prices: { \"*\": { input: 3, output: 15 } } }";

    const EVENTS: &'static [&'static str] = &["PostModelCall", "PreModelCall"];

    fn acts_at(spec: &EventSpec) -> bool {
        decides(spec)
    }

    const LEARNS_AT: Option<fn(&EventSpec) -> bool> = Some(reports);
}

impl Kind for CostLimit {
    type Raw = RawCostLimit;

    fn compile(raw: RawCostLimit, _: &Compile<'_>) -> Result<Self, Mistake> {
        if !(raw.max.is_finite() && raw.max > 0.0) {
            return Err(Mistake::new(
                "max",
                format!("an amount is more than 0, found `{}`", raw.max),
            ));
        }
        let mut prices = Vec::new();
        for (glob, RawPrice { input, output }) in raw.prices {
            let bad = |message: String| Mistake::new("prices", message);
            if ![input, output]
                .iter()
                .all(|price| price.is_finite() && *price >= 0.0)
            {
                return Err(bad(format!(
                    "a price of `{glob}` is less than 0 or no number"
                )));
            }
            let matcher = Glob::new(&glob)
                .map_err(|error| bad(format!("bad glob `{glob}`: {}", error.kind())))?;
            prices.push((matcher.compile_matcher(), Price { input, output }));
        }
        if prices.is_empty() {
            return Err(Mistake::new("prices", "without a price, nothing can be counted")
                .help("add one such as `\"some-model-*\": { input: 3, output: 15 }`, for a million tokens each"));
        }
        prices.sort_by_key(|(glob, _)| std::cmp::Reverse(glob.glob().glob().len()));
        let memory = Memory::new("cost-limit", raw.per.here());
        let budget = SharedBudget::compile(raw.budget, raw.period, raw.per, millionths(raw.max))?;
        Ok(CostLimit {
            max: raw.max,
            prices,
            unknown_model: raw.unknown_model,
            memory,
            budget,
        })
    }

    async fn run(&self, call: &Call<'_>) -> Result<Answer, HandlerError> {
        let event = call.moment.event();
        let mut cost = 0.0;
        if tells_usage(event) {
            let name = model_name(event);
            if let Some(price) = self.price(name)? {
                let (input, output) = usage(event)?;
                cost = (input as f64 * price.input + output as f64 * price.output) / MILLION;
            }
        } else if let Some(name) = model_name(event) {
            // Told before the money is spent.
            self.price(Some(name))?;
        }
        let max = self.max;
        let reached = |spent: f64, of: &str| {
            let facts = [("cost", spent.into()), ("maxCost", max.into())];
            Refusal::new(
                format!("Cost limit reached: {}/{}{of}", amount(spent), amount(max)),
                facts,
            )
        };
        let shared = self
            .budget
            .as_ref()
            .filter(|_| !call.services.fleet.is_pretended());
        let refusal = match shared {
            Some(budget) => {
                let cost = tells_usage(event).then(|| millionths(cost));
                let reached =
                    |counted: i64, of: &str| reached(counted as f64 / MILLION, &format!(" {of}"));
                budget.judge(call, &self.memory, cost, reached).await?
            }
            None => {
                let judged = self.memory.judge(call, |spent: &mut f64| {
                    *spent += cost;
                    (*spent >= max).then(|| reached(*spent, ""))
                });
                judged.await?
            }
        };
        let refusal = refusal.filter(|_| !tells_usage(event) || !call.hook.on.includes_a_gate());
        Ok(refusal.map_or_else(Answer::default, |refusal| {
            end_run(call, StopReason::StopRequested, refusal)
        }))
    }

    fn counts(&self) -> bool {
        true
    }
}

impl CostLimit {
    fn price(&self, model: Option<&str>) -> Result<Option<Price>, HandlerError> {
        let found = model.and_then(|name| self.prices.iter().find(|(glob, _)| glob.is_match(name)));
        match (found, self.unknown_model, model) {
            (Some((_, price)), _, _) => Ok(Some(*price)),
            (None, UnknownModel::Ignore, _) => Ok(None),
            (None, UnknownModel::Fail, Some(name)) => Err(HandlerError(format!(
                "price the model `{name}`: no glob of `prices` matches it; add one, or set `unknownModel: ignore`"
            ))),
            (None, UnknownModel::Fail, None) => Err(HandlerError(
                "price the call: the event has no model.name; have the agent send it, or set `unknownModel: ignore`"
                    .into(),
            )),
        }
    }
}

/// An amount in millionths, rounded up; one that doesn't fit is as large as can be.
fn millionths(amount: f64) -> i64 {
    (amount * MILLION).ceil() as i64
}

/// Two decimals, and as many more as a small amount needs.
fn amount(value: f64) -> String {
    let text = format!("{value:.6}");
    let trimmed = text.trim_end_matches('0');
    let decimals = trimmed.len() - trimmed.find('.').map_or(trimmed.len(), |point| point + 1);
    format!("{value:.*}", decimals.max(2))
}
