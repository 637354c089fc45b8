//! The history of a fleet: what the servers have stored, the newest first, in parts.

use super::Fleet;
#[cfg(feature = "history")]
use super::{Part, verdicts::judged_members};
use crate::inspector::kept::Search;
use crate::inspector::problem::{Answer, Problem};

#[cfg(feature = "history")]
mod bounds {
    use std::time::Duration;

    /// Verdicts that one call looks through, and how long it may take.
    pub(super) const MAX_LOOKED: usize = 20_000;
    pub(super) const LOOK_TIME: Duration = Duration::from_secs(5);
    /// The verdicts that end a call, if it finds so many, or so many bytes of them.
    pub(super) const ON_PAGE: usize = 100;
    pub(super) const MAX_ON_PAGE: usize = 500;
    pub(super) const MAX_BYTES: usize = 8 << 20;
}

impl Fleet {
    /// `inspect/history`. A call may find nothing and say where the next one goes on.
    #[cfg(feature = "history")]
    pub(super) async fn search_history(
        &self,
        Search {
            query,
            before,
            limit,
        }: &Search,
    ) -> Answer {
        use crate::history::{Order, query_span, sift_records};
        use bounds::*;
        use hookwire_engine::fleet::stream::{self, SKEW};
        use hookwire_fleet::verdicts::{Backwards, Before};
        use serde_json::{Value, json};

        let span = query_span(query).map_err(Problem::params)?;
        let until = span.until.and_then(|until| until.checked_add(SKEW));
        let before = match before {
            Some(before) => Before::Sequence(
                before
                    .parse()
                    .map_err(|_| Problem::params("`before` is no cursor"))?,
            ),
            None => until.map_or(Before::End, Before::Time),
        };
        let since = span
            .since
            .and_then(|it| it.checked_sub(SKEW))
            .map(hookwire_base::support::amounts::rfc3339);
        let limit = limit.unwrap_or(ON_PAGE).clamp(1, MAX_ON_PAGE);
        let host = self.only_machine(&span.hosts);
        let started = std::time::Instant::now();
        let problem = |error| Problem::refused(Part::Verdicts.problem(&error));
        let mut reading = Backwards::start(&self.source.server, host.as_ref(), before)
            .await
            .map_err(problem)?;
        let (mut events, mut n_looked, mut n_bytes) = (Vec::new(), 0, 0);
        let (mut looked_back, mut is_over) = (Value::Null, false);
        while !is_over
            && events.len() < limit
            && n_bytes < MAX_BYTES
            && n_looked < MAX_LOOKED
            && started.elapsed() < LOOK_TIME
        {
            let Some(part) = reading.read_part().await.map_err(problem)? else {
                is_over = true;
                break;
            };
            let records = part
                .into_iter()
                .filter_map(|it| stream::record(it.ok()?).ok());
            // The end of an `async` hook, or what was lost, is no verdict.
            let records = records.filter(|record| record.get("verdict").is_some());
            let records: Vec<_> = records
                .map(|record| (stream::name(&record), record))
                .collect();
            if let Some((_, oldest)) = records.first() {
                looked_back = oldest["of"]["storedAt"].clone();
                is_over = since
                    .as_deref()
                    .zip(looked_back.as_str())
                    .is_some_and(|(since, oldest)| oldest < since);
            }
            n_looked += records.len();
            for record in sift_records(query, &records, Order::Newest).map_err(Problem::params)? {
                let event = Value::Object(judged_members(record).unwrap_or_default());
                if event.get("record").is_some() {
                    n_bytes += event.to_string().len();
                    events.push(event);
                }
            }
        }
        let mut answer = json!({ "events": events, "looked": n_looked, "lookedBack": looked_back });
        if !is_over && reading.before() > 1 {
            answer["next"] = reading.before().to_string().into();
        }
        Ok(answer)
    }

    /// The machine that a query names, if it names one: then the others aren't read. Letter case
    /// makes no difference.
    #[cfg(feature = "history")]
    fn only_machine(&self, hosts: &[String]) -> Option<hookwire_fleet::name::Name> {
        let [host] = hosts else { return None };
        let known = self.known.lock();
        let mut all = known
            .reports
            .iter()
            .map(|report| &report.who.host)
            .chain(&known.machines);
        all.find(|it| it.as_str().eq_ignore_ascii_case(host))
            .cloned()
    }

    /// `inspect/history`.
    #[cfg(not(feature = "history"))]
    pub(super) async fn search_history(&self, _: &Search) -> Answer {
        Err(Problem::refused(
            "this hookwire was built without `history`, which reads queries",
        ))
    }
}
