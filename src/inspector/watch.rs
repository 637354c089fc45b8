//! Watches the running hosts and tells the pages: what is judged, what waits for a person, which
//! hosts there are.

use super::feed::Feed;
use super::kept::Kept;
use super::shown::{describe_host, run_id, shown_record};
use crate::rpc::protocol::ApprovalList;
use hookwire_base::transport::client::Client;
use hookwire_base::transport::socket;
use hookwire_engine::running;
use hookwire_engine::running::follow::{Following, News, Run, Take, notices_of_questions};
use hookwire_handlers::handlers::guards::without_secrets;
use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::io::Result;
use std::ops::ControlFlow;
use std::sync::Arc;

/// Watches from now on, on threads of its own.
///
/// # Errors
/// No thread could be started.
pub(super) fn start_watching(feed: &Arc<Feed>, kept: &Arc<Kept>) -> Result<()> {
    let hosts = Hosts {
        feed: feed.clone(),
        kept: kept.clone(),
        here: Mutex::default(),
    };
    let take: Arc<Take<'static>> = Arc::new(move |run: &Run, news: News<'_>| {
        hosts.take_news(run, &news);
        ControlFlow::Continue(())
    });
    std::thread::Builder::new()
        .name("look".into())
        .spawn(move || Following::new().follow(|| socket::of_projects(&[]), &take, || false))?;
    let (notices, feed) = (notices_of_questions()?, feed.clone());
    std::thread::Builder::new()
        .name("approvals".into())
        .spawn(move || {
            let mut told = Vec::new();
            for () in notices {
                let found = all_questions().unwrap_or_default();
                if found != told {
                    feed.tell_pages(
                        "approvals",
                        Map::from_iter([("approvals".to_string(), Value::Array(found.clone()))]),
                    );
                    told = found;
                }
            }
        })
        .map(drop)
}

/// The hosts that are followed.
struct Hosts {
    feed: Arc<Feed>,
    kept: Arc<Kept>,
    here: Mutex<BTreeMap<String, Value>>,
}

impl Hosts {
    fn take_news(&self, run: &Run, news: &News<'_>) {
        let id = run_id(run);
        let of_host = |more: Value| {
            let mut message = Map::from_iter([("host".to_string(), Value::from(id.clone()))]);
            message.extend(more.as_object().cloned().unwrap_or_default());
            message
        };
        match news {
            News::Here(recent) => {
                self.kept.begin_run(
                    &id,
                    recent.total,
                    recent.records.iter().map(|record| record.seq),
                );
                self.change_list(|here| drop(here.insert(id.clone(), describe_host(recent))));
            }
            News::Gone => self.change_list(|here| drop(here.remove(&id))),
            News::Judged(record) => {
                let Ok(record) = serde_json::to_value(record) else {
                    return;
                };
                let mut message = shown_record(record);
                let root = self
                    .here
                    .lock()
                    .get(&id)
                    .map(|it| it["root"].clone())
                    .unwrap_or_default();
                self.kept
                    .take_record(&id, root.as_str().unwrap_or_default(), &message["record"]);
                message.insert("host".into(), id.into());
                self.feed.tell_pages("verdict", message);
            }
            News::Ended(ended) => {
                self.feed.tell_pages(
                    "ended",
                    of_host(json!({ "ended": without_secrets(json!(ended)) })),
                );
            }
            News::Lost(count) => {
                self.kept.lose_events(&id, *count);
                self.feed
                    .tell_pages("lost", of_host(json!({ "count": count })));
            }
            News::Changed(changed) => {
                self.feed
                    .tell_pages("definitions", of_host(json!({ "changed": changed })));
                self.change_list(|here| {
                    let Some(host) = here.get_mut(&id) else {
                        return;
                    };
                    (host["generation"], host["hash"]) =
                        (json!(changed.generation), json!(changed.hash));
                    host["notDenied"] = match changed.not_denied.is_empty() {
                        true => Value::Null,
                        false => json!(changed.not_denied),
                    };
                });
            }
            News::Standing(_) | News::Questions => {}
        }
    }

    /// Changes the list, and tells it.
    fn change_list(&self, change: impl FnOnce(&mut BTreeMap<String, Value>)) {
        let mut here = self.here.lock();
        change(&mut here);
        let hosts = here.values().cloned().collect();
        self.feed.tell_pages(
            "hosts",
            Map::from_iter([("hosts".to_string(), Value::Array(hosts))]),
        );
    }
}

/// The questions that wait in a host. Nothing is taken out of them: nobody can mean what they
/// haven't seen.
fn waiting_questions(id: &str, client: &mut Client) -> Result<Vec<Value>> {
    let list: ApprovalList = serde_json::from_value(client.request("approvals/list", &json!({}))?)?;
    Ok(list
        .approvals
        .iter()
        .map(|approval| {
            let mut question = json!(approval);
            (question["host"], question["root"]) = (id.into(), list.root.as_str().into());
            question
        })
        .collect())
}

/// The questions that wait in all hosts.
pub(super) fn all_questions() -> Result<Vec<Value>> {
    let mut found = Vec::new();
    for mut host in running::find(None)? {
        // One that doesn't answer keeps no other's questions back.
        let run = host.run();
        found.extend(
            run.and_then(|run| waiting_questions(&run_id(&run), &mut host.client))
                .unwrap_or_default(),
        );
    }
    Ok(found)
}
