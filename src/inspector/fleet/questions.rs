//! The questions of a fleet that wait, and the answers to them.

use super::{Fleet, Part};
use crate::inspector::problem::{Answer, Problem};
use hookwire_engine::fleet::asked::Shown;
use hookwire_fleet::asks::{self, Answered, Decision, Question, Waiting};
use hookwire_fleet::hosts::unix_now;
use hookwire_handlers::services::approval::{Approval, ApprovalReply};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::time::Duration;

/// How often is looked which questions are over, beside each notice.
const LOOK: Duration = Duration::from_secs(5);

/// An answer from a page.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Reply {
    id: String,
    /// The question that the page showed; see [`question_handle`].
    question: String,
    reply: ApprovalReply,
}

/// Tells pages what waits, whenever that changes.
pub(super) async fn follow_questions(fleet: Arc<Fleet>) {
    let mut notices = asks::question_notices(&fleet.source.server);
    let mut waiting = Waiting::new(&fleet.source.server);
    loop {
        if notices.subscribe_anew().await {
            // Behind another connection may be a stream that was made anew.
            waiting = Waiting::new(&fleet.source.server);
        }
        match waiting.read_waiting().await {
            Ok(found) => {
                fleet.note_works(Part::Questions);
                fleet.tell_questions(found);
                notices.wait_at_most(LOOK).await;
            }
            Err(error) => fleet.note_failed(Part::Questions, &error).await,
        }
    }
}

/// What names a question and all that it says: its bytes' digest is what an answer is signed over.
fn question_handle(question: &Question) -> String {
    let Question { who, ask, .. } = question;
    format!("{who}.{ask}.{}", question.digest())
}

impl Fleet {
    /// The questions that wait, as pages know them.
    pub(super) fn questions(&self) -> Vec<Value> {
        self.known
            .lock()
            .questions
            .iter()
            .map(|question| self.describe_question(question))
            .collect()
    }

    fn tell_questions(&self, waiting: Vec<Question>) {
        let mut known = self.known.lock();
        let names = |all: &[Question]| all.iter().map(question_handle).collect::<Vec<_>>();
        if names(&known.questions) == names(&waiting) {
            return;
        }
        known.questions = waiting;
        let approvals = known
            .questions
            .iter()
            .map(|question| self.describe_question(question))
            .collect();
        self.feed.tell_pages(
            "approvals",
            Map::from_iter([("approvals".to_string(), Value::Array(approvals))]),
        );
    }

    /// A question with all that it says.
    fn describe_question(&self, question: &Question) -> Value {
        let Shown {
            asked,
            project,
            request,
        } = Shown::of(question);
        let mut shown = match request {
            Some(request) => json!(request),
            // Nothing of it is left out, because whoever answers is to see the whole.
            None => json!({
                "id": question.ask, "hook": "another version of hookwire", "message": "This hookwire can't read the question.",
                "event": "", "subject": asked,
            }),
        };
        let key = self
            .source
            .key
            .as_ref()
            .map(hookwire_fleet::key::SecretKey::public);
        shown["host"] = json!(question.who.host);
        shown["root"] = project.into();
        shown["question"] = question_handle(question).into();
        // By the server's clock, because a host's may be wrong.
        shown["askedAt"] = question.at.into();
        shown["timeoutMs"] = question.expires.saturating_sub(question.at).into();
        shown["isBelieved"] = key
            .is_some_and(|key| question.approvers.contains(&key))
            .into();
        shown
    }

    /// Answers a question in a person's name, by a signature over the very one that the page has
    /// shown.
    pub(super) async fn answer_question(
        &self,
        Reply {
            id,
            question: shown,
            reply,
        }: Reply,
    ) -> Answer {
        let ApprovalReply {
            decision,
            reason,
            subject,
            remember,
        } = reply;
        if subject.is_some() || remember {
            return Err(Problem::params(
                "an answer in a fleet is yes or no, with a reason; it carries nothing else",
            ));
        }
        let Some(key) = &self.source.key else {
            let given = &self.source.given;
            return Err(Problem::refused(format!(
                "this page has no approver's key; answer by `hookwire approvals approve {id} --fleet {given} --key FILE`, or start \
                 `hookwire inspect` with --key"
            )));
        };
        let found = self
            .known
            .lock()
            .questions
            .iter()
            .find(|question| question_handle(question) == shown)
            .cloned();
        // The answer would be stored, and nobody would wait for it.
        let question = found.filter(|question| question.expires / 1000 >= unix_now()).ok_or_else(|| {
            Problem::refused(format!(
                "the question `{id}` waits no more; it was answered, taken back or ran out of time"
            ))
        })?;
        let decision = match decision {
            Approval::Approve => Decision::Approve,
            Approval::Deny => Decision::Deny,
        };
        let answered = asks::answer_question(
            &self.source.server,
            &question,
            decision,
            reason.as_deref(),
            key,
        )
        .await?;
        let left = self
            .known
            .lock()
            .questions
            .iter()
            .filter(|question| question_handle(question) != shown)
            .cloned()
            .collect();
        self.tell_questions(left);
        match answered {
            Answered::First => Ok(Value::Null),
            Answered::TooLate => Err(Problem::refused(format!(
                "somebody else has answered `{id}` before"
            ))),
        }
    }
}
