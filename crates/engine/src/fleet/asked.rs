//! A question of a fleet as it is shown to whoever may answer.

use hookwire_base::support::json::parse;
use hookwire_fleet::asks::Question;
use hookwire_handlers::handlers::guards::without_secrets;
use hookwire_handlers::services::approval::ApprovalRequest;
use serde_json::Value;

/// See the module.
pub struct Shown {
    /// All that the host has asked, without secrets.
    pub asked: Value,
    /// The host's project.
    pub project: String,
    /// The request, under the question's name in the fleet. `None`: another version of hookwire
    /// asks.
    pub request: Option<ApprovalRequest>,
}

impl Shown {
    /// What a question says. It comes from a host, so it is any text.
    pub fn of(question: &Question) -> Shown {
        let asked = without_secrets(parse(question.question.get()).unwrap_or_default());
        let project = asked["project"].as_str().unwrap_or_default().to_string();
        let request: Option<ApprovalRequest> = serde_json::from_value(asked.clone()).ok();
        let request = request.map(|request| ApprovalRequest {
            id: question.ask.to_string(),
            ..request
        });
        Shown {
            asked,
            project,
            request,
        }
    }
}
