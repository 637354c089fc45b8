//! Questions that wait for a person, asked on the bus as well. The first answer counts, from here
//! or from anywhere.

use bytes::Bytes;
use hookwire_fleet::asks::{Answer, Asker, Decision};
use hookwire_fleet::key::PublicKey;
use hookwire_fleet::name::Name;
use hookwire_handlers::handlers::guards::without_secrets;
use hookwire_handlers::services::approval::{Approval, ApprovalReply, ApprovalRequest};
use hookwire_handlers::services::approvals::{Answered, Approvals};
use hookwire_handlers::services::egress::Egress;
use http::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use parking_lot::Mutex;
use serde_json::json;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::{CancellationToken, DropGuard};

/// How long the chat that is told of a question may take to answer, and how much of its answer is
/// read.
const TELL: Duration = Duration::from_secs(10);
const MAX_REPLY: usize = 64 * 1024;
/// The longest text that a chat is told, in characters.
const MAX_TOLD: usize = 300;

/// Whose answers count, and who is told that a question waits.
pub struct Asks {
    asker: Asker,
    host: Name,
    /// The names of approvers, by their keys.
    names: HashMap<PublicKey, String>,
    /// A chat's address, which may itself be a secret, and the way to it.
    webhook: Option<(String, Egress)>,
    project: String,
}

impl Asks {
    pub fn new(
        asker: Asker,
        host: Name,
        approvers: impl IntoIterator<Item = (String, PublicKey)>,
        webhook: Option<(String, Egress)>,
        project: String,
    ) -> Asks {
        let names = approvers
            .into_iter()
            .map(|(name, key)| (key, name))
            .collect();
        Asks {
            asker,
            host,
            names,
            webhook,
            project,
        }
    }

    /// Asks what waits, for as long as the host lives.
    pub async fn run(self, approvals: Approvals) {
        let this = Arc::new(self);
        let mut changes = approvals.changes();
        // Dropping a guard takes the question back.
        let mut asking: HashMap<String, DropGuard> = HashMap::new();
        loop {
            changes.borrow_and_update();
            let waiting = approvals.list();
            asking.retain(|id, _| waiting.iter().any(|it| it.id == *id));
            for request in waiting {
                let id = request.id.clone();
                if asking.contains_key(&id) {
                    continue;
                }
                let over = CancellationToken::new();
                asking.insert(id, over.clone().drop_guard());
                let (this, approvals) = (this.clone(), approvals.clone());
                tokio::spawn(async move { this.ask(&approvals, request, over).await });
            }
            if changes.changed().await.is_err() {
                return;
            }
        }
    }

    /// Asks one question, until it is answered here, there or not at all.
    async fn ask(&self, approvals: &Approvals, request: ApprovalRequest, over: CancellationToken) {
        let id = request.id.clone();
        let within = Duration::from_millis(request.timeout_ms);
        let names = Arc::new(Mutex::new(Vec::<Name>::new()));
        let (told, shown) = (names.clone(), request.clone());
        let asked = |name: &Name| {
            let is_first = told.lock().is_empty();
            told.lock().push(name.clone());
            if is_first {
                self.tell(&shown, name);
            }
        };
        let mut question = json!(request);
        question["project"] = json!(self.project);
        let question = serde_json::value::to_raw_value(&without_secrets(question));
        let why = match question {
            Err(error) => {
                tracing::warn!(%error, "A question isn't asked in the fleet.");
                return;
            }
            Ok(question) => tokio::select! {
                () = over.cancelled() => "answered on its host, or taken back".to_string(),
                answered = self.asker.ask(&question, within, asked) => match answered {
                    Ok(Some(answer)) => self.take(approvals, &id, answer),
                    Ok(None) => "expired".into(),
                    Err(error) => {
                        tracing::warn!(id, %error, "A question can't be answered from the fleet; it still waits here.");
                        "it can't be answered".into()
                    }
                },
            },
        };
        // All but the last were taken back before.
        let last = names.lock().last().cloned();
        if let Some(name) = last
            && let Err(error) = self.asker.close_question(&name, &why).await
        {
            tracing::debug!(%error, "A question is shown in the fleet until it expires.");
        }
    }

    /// Answers a question of this host with what has come from the fleet.
    fn take(&self, approvals: &Approvals, id: &str, answer: Answer) -> String {
        let Answer {
            decision,
            reason,
            by,
        } = answer;
        let decision = match decision {
            Decision::Approve => Approval::Approve,
            Decision::Deny => Approval::Deny,
        };
        let name = self.names.get(&by).map_or("", String::as_str);
        let by = format!("{name} (key {})", by.id());
        let reply = ApprovalReply {
            decision,
            reason,
            subject: None,
            remember: false,
        };
        match approvals.answer(
            id,
            Answered {
                reply,
                by: Some(by.clone()),
            },
        ) {
            Ok(()) => format!("answered by {by}"),
            Err(_) => "answered on its host".into(),
        }
    }

    /// Tells a chat that a question waits. Nothing that it says is an answer.
    fn tell(&self, request: &ApprovalRequest, name: &Name) {
        let Some((url, egress)) = self.webhook.clone() else {
            return;
        };
        let short = |text: &str| hookwire_base::support::visible::cut(text, MAX_TOLD).to_string();
        let what = request.tool.as_deref().unwrap_or(&request.event);
        let text = format!(
            "{} asks: {} ({what}). `hookwire approvals list --fleet …` shows it, `hookwire approvals approve {name} --fleet … --key …` answers.",
            self.host,
            short(&request.message)
        );
        let body = without_secrets(json!({
            "text": text, "host": self.host.as_str(), "ask": name.as_str(), "hook": request.hook,
            "message": short(&request.message), "tool": request.tool, "agent": request.agent,
            "expiresInMs": request.timeout_ms,
        }));
        tokio::spawn(async move {
            let headers = HeaderMap::from_iter([(
                CONTENT_TYPE,
                HeaderValue::from_static("application/json"),
            )]);
            let posted = egress.post(&url, headers, Bytes::from(body.to_string()), MAX_REPLY);
            // The address isn't logged: whoever has it can write into the chat.
            match tokio::time::timeout(TELL, posted).await {
                Ok(Ok(response)) if response.status < 300 => {}
                Ok(Ok(response)) => tracing::warn!(
                    status = response.status,
                    "The chat takes no word of a question."
                ),
                Ok(Err(error)) => tracing::warn!(%error, "The chat isn't told of a question."),
                Err(_) => tracing::warn!("The chat isn't told of a question: it doesn't answer."),
            }
        });
    }
}
