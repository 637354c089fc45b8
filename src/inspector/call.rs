//! What a page may ask: some methods of a running host, and those of its own.

use super::covered::covering_cases;
use super::kept::{Against, Kept, Record, Search};
use super::problem::{Answer, Problem};
use super::saved::Save;
use super::shown::{self, describe_host};
use super::tried::Try;
use super::watch::all_questions;
use crate::always::{self, Always, Trusting};
use hookwire_ask::said::Said;
use hookwire_base::support::file;
use hookwire_base::verdict::Verdict;
use hookwire_dialects::{self as dialects, asked};
use hookwire_engine::definitions::approved;
use hookwire_engine::journal::Via;
use hookwire_engine::running::{self, Running, told};
use hookwire_engine::trust;
use hookwire_engine::trust::shown::{shown as lines_of, summary};
use hookwire_handlers::handlers::guards::without_secrets;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// The methods of a host that are passed on to it. None changes a definition, and none judges an
/// event.
const OF_HOST: &[&str] = &[
    "hooks/list",
    "hooks/explain",
    "hooks/check",
    "hooks/recent",
    "approvals/list",
    "approvals/answer",
    "approvals/always",
    "host/unasked",
];

/// A request.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Call {
    method: String,
    #[serde(default)]
    params: Value,
    #[serde(default)]
    host: Option<String>,
}

/// Params that hold nothing.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Nothing {}

/// A file of definitions.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OfFile {
    file: PathBuf,
}

/// An event that a host has judged.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OfEvent {
    seq: u64,
}

/// An event that a host has judged, or its record as a page has it: of one that the host has
/// forgotten.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OfReply {
    #[serde(default)]
    seq: Option<u64>,
    #[serde(default)]
    record: Option<Value>,
}

/// A question that is answered for always, and what the person has seen of that.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OfAlways {
    id: String,
    digest: String,
}

impl Call {
    /// Answers it; waits for hosts.
    pub(super) fn answer(self, kept: &Kept) -> Answer {
        match &*self.method {
            method if OF_HOST.contains(&method) => self.pass_on(),
            "inspect/hosts" => self.params::<Nothing>().and_then(|_| list_hosts()),
            "inspect/approvals" => {
                self.params::<Nothing>()?;
                Ok(json!({ "approvals": all_questions()? }))
            }
            "inspect/explain" => self.explain_event(),
            "inspect/cases" => self.cases(),
            "inspect/definition" => self.definition(),
            "inspect/trust" => self.trust(),
            "inspect/reply" => self.agent_reply(),
            "inspect/history" => kept.search_history(&self.params::<Search>()?),
            "inspect/record" => kept.find_record(&self.params::<Record>()?),
            "inspect/suggest" => self.params::<Nothing>().and_then(|_| kept.suggest()),
            "inspect/against" => kept.judge_against(&self.params::<Against>()?, &self.root()?),
            "inspect/save" => {
                let save = self.params::<Save>()?;
                let recent = self
                    .running()?
                    .client
                    .request("hooks/recent", &json!({ "limit": 0 }))?
                    .to_string();
                save.answer(&serde_json::from_str(&recent)?)
            }
            "inspect/always" => self.write_always(),
            "inspect/try" => self.params::<Try>()?.answer(&self.root()?),
            method => Err(Problem::unknown(method)),
        }
    }

    #[cfg(feature = "fleet")]
    pub(super) fn method(&self) -> &str {
        &self.method
    }

    pub(super) fn params<T: DeserializeOwned>(&self) -> Answer<T> {
        let params = if self.params.is_null() {
            json!({})
        } else {
            self.params.clone()
        };
        serde_json::from_value(params)
            .map_err(|error| Problem::params(format!("`params`: {error}")))
    }

    /// The host that it is for.
    fn running(&self) -> Answer<Running> {
        let id = self
            .host
            .as_deref()
            .ok_or_else(|| Problem::params("`host` is missing: the id of a running host"))?;
        let run = shown::run_named(id)
            .ok_or_else(|| Problem::params("`host` is not the id of a host"))?;
        Ok(running::of_run(&run)?)
    }

    /// The project of that host.
    fn root(&self) -> Answer<PathBuf> {
        let (_, root, _) = self.running()?.process()?;
        Ok(root.into())
    }

    /// An answer for always: the exception that the person has seen is written, then the question is
    /// answered with yes.
    fn write_always(&self) -> Answer {
        let OfAlways { id, digest } = self.params()?;
        let (mut host, root) = (self.running()?, self.root()?);
        let proposed = host
            .client
            .request("approvals/always", &json!({ "id": id }))?;
        let always: Always = serde_json::from_value(proposed)?;
        if always.digest != digest {
            let problem = "something else would be written now than what was shown; look again";
            return Err(Problem::params(problem));
        }
        let written = always::write(&always, &root, Trusting::Left)?;
        let reply = json!({ "id": id, "reply": { "decision": "approve" } });
        host.client.request("approvals/answer", &reply)?;
        Ok(json!({ "files": written.files, "notes": written.notes }))
    }

    fn pass_on(&self) -> Answer {
        let params = if self.params.is_null() {
            json!({})
        } else {
            self.params.clone()
        };
        let result = self.running()?.client.request(&self.method, &params)?;
        Ok(if self.method == "hooks/recent" {
            without_secrets(result)
        } else {
            result
        })
    }

    /// The event that is asked about, as the host has kept it, and that host.
    fn find_record(&self, seq: u64) -> Answer<(Running, Value)> {
        let mut host = self.running()?;
        let mut recent = host
            .client
            .request("hooks/recent", &json!({ "after": seq.saturating_sub(1) }))?;
        let records = recent["records"]
            .as_array_mut()
            .map(std::mem::take)
            .unwrap_or_default();
        let record = records.into_iter().find(|record| record["seq"] == seq);
        let record =
            record.ok_or_else(|| Problem::params("the host has kept newer events only"))?;
        if record["params"].is_null() {
            return Err(Problem::params("the event was too large to be kept"));
        }
        Ok((host, record))
    }

    /// What the hooks in force say of an event as it was sent, secrets and all, which the page
    /// doesn't have.
    fn explain_event(&self) -> Answer {
        let OfEvent { seq } = self.params()?;
        let (mut host, mut record) = self.find_record(seq)?;
        let mut params = record["params"].take();
        if params.get("payload").is_some() && params.get("dialect").is_none() {
            // The client had said so when it connected.
            params["dialect"] = record["dialect"].take();
        }
        Ok(without_secrets(
            host.client.request("hooks/explain", &params)?,
        ))
    }

    /// What the agent got, in its own words: what the command that it ran said, or the body of the
    /// reply to its http hook, or the reply to the client that asked for it.
    pub(super) fn agent_reply(&self) -> Answer {
        let mut record = match self.params()? {
            OfReply {
                record: Some(record),
                seq: None,
            } => record,
            OfReply {
                seq: Some(seq),
                record: None,
            } => self.find_record(seq)?.1,
            _ => return Err(Problem::params("one of `seq` and `record` is wanted")),
        };
        let event = told::event(&record).ok_or("the event can't be read")?;
        let dialect = dialects::by_name(record["dialect"].as_str().unwrap_or_default())?;
        let verdict: Verdict = serde_json::from_value(record["verdict"].take())?;
        let reply = without_secrets(dialect.reply_to(&event, &verdict));
        let via: Option<Via> = record
            .get_mut("via")
            .map(Value::take)
            .map(serde_json::from_value)
            .transpose()?;
        Ok(match via {
            Some(Via::Command) => {
                let Said {
                    stdout,
                    stderr,
                    exit,
                } = asked::said_of(dialect, &record["params"]["payload"], reply);
                json!({ "stdout": stdout, "stderr": stderr, "exit": exit })
            }
            Some(Via::Http) => json!({ "body": asked::text_for_agent(&reply) }),
            None => json!({ "reply": reply }),
        })
    }

    /// The cases that reach the hooks of the host.
    fn cases(&self) -> Answer {
        self.params::<Nothing>()?;
        let listed = self.running()?.client.request("hooks/list", &json!({}))?;
        covering_cases(&listed, &self.root()?)
    }

    /// The text of a file of definitions that the host has read.
    fn definition(&self) -> Answer {
        let OfFile { file } = self.params()?;
        let mut host = self.running()?;
        let hooks = host.client.request("hooks/list", &json!({}))?;
        let checked = host.client.request("hooks/check", &json!({}))?;
        let named = |list: &Value, at: &str| {
            let mut all = list.as_array().into_iter().flatten();
            all.any(|record| {
                record
                    .pointer(at)
                    .and_then(Value::as_str)
                    .is_some_and(|it| Path::new(it) == file)
            })
        };
        if !file.is_absolute()
            || !named(&hooks["hooks"], "/source/file") && !named(&checked["diagnostics"], "/file")
        {
            return Err(Problem::params("`file` is no definition file of that host"));
        }
        let (text, _) =
            file::read(&file).map_err(|unread| format!("{}: {unread}", file.display()))?;
        Ok(json!({ "text": text }))
    }

    /// What there is to approve in the host's project. It isn't approved here: that is said in a
    /// terminal or an editor.
    fn trust(&self) -> Answer {
        let Nothing {} = self.params()?;
        let root = self.root()?;
        let store = approved::store(&root)
            .ok_or("there is no home directory in which it is kept what was trusted")?;
        let review = trust::review(&store, &root).map_err(|refusal| refusal.0)?;
        let mut told = summary(&review);
        told["lines"] = lines_of(&review)
            .iter()
            .map(|(look, text)| json!({ "look": look.as_str(), "text": text }))
            .collect();
        Ok(told)
    }
}

/// The running hosts, with what only they know.
fn list_hosts() -> Answer {
    let mut hosts = Vec::new();
    for mut running in running::find(None)? {
        let socket = running.socket.clone();
        let recent = running
            .client
            .request("hooks/recent", &json!({ "limit": 0 }))
            .map(|request| request.to_string());
        let about = running.about();
        hosts.push(match (recent, about) {
            (Ok(recent), Ok(about)) => {
                let mut host = describe_host(&serde_json::from_str(&recent)?);
                host["clients"] = json!(about.clients);
                host["notInForce"] = json!(about.not_in_force);
                host["hooks"] = json!(about.n_hooks);
                host["socket"] = json!(socket);
                host
            }
            (Err(error), _) | (_, Err(error)) => {
                json!({ "socket": socket, "error": error.to_string() })
            }
        });
    }
    Ok(json!({ "hosts": hosts }))
}
