//! What passes between a client and a server, and what waits for a verdict.
//!
//! Every request is known by its id until it is answered, so a response is always held to the call
//! that it answers: one to nothing that was asked goes no further.

use super::ends::{Ends, Settings, Side};
use super::message::{Bad, Id, Kind, Message, check_names, messages_of, place_of, spliced};
use super::methods::{self, About, Method};
use super::pins::{self, Look};
use super::replies::{self, error, refusal, tool_result};
use super::tools::{self, Listed};
use super::verdict::Verdict;
use hookwire_base::support::visible::{cut, safe};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::{Duration, Instant};

/// Requests that may be unanswered at once.
pub const MAX_REQUESTS: usize = 10_000;
/// Bytes of messages that may wait for a verdict at once.
pub const MAX_HELD: usize = 64 << 20;
/// Tasks whose calls are known.
const MAX_TASKS: usize = 1000;
/// The longest input that is remembered of them, in bytes.
const MAX_TASK: usize = 16 * 1024;
/// The tool that reads resources, as agents that have it call it.
const READ_RESOURCE: &str = "ReadMcpResourceTool";
/// The agent's name until the client says it.
const UNNAMED: &str = "mcp";
/// The hook that asks before a changed tool is called.
pub const PINS: &str = "mcp-pins";
/// How much of a name or a text of the other side's is told.
const TOLD: usize = 200;

/// See the module.
pub struct Gateway {
    settings: Settings,
    agent: String,
    elicits: bool,
    requests: HashMap<(Side, Id), Request>,
    asked: HashMap<u64, (Side, Id)>,
    last_ticket: u64,
    held: usize,
    tasks: VecDeque<(String, Call)>,
    questions: HashMap<Id, Value>,
    n_questions: u64,
    /// What the server says now of tools that it has changed.
    changed: BTreeMap<String, String>,
    /// What was told of the tools, once.
    told: Vec<String>,
    /// The client has a list of tools, and the server has said that it may change.
    list_may_change: bool,
    has_list: bool,
}

/// A request that isn't answered yet.
struct Request {
    /// What is judged of it.
    call: Option<Call>,
    stage: Stage,
    /// For the model, with the result.
    context: Vec<String>,
}

/// Where a request is on its way.
enum Stage {
    /// Its sender has sent it, and the host is asked.
    Judged { ticket: u64, line: String },
    /// The other side has it.
    Sent { since: Instant },
    /// The other side has answered, and the host is asked.
    Answered { ticket: u64, line: String },
}

/// What is judged of a request.
#[derive(Clone)]
struct Call {
    method: &'static Method,
    /// The tool's name, or that of a prompt.
    name: String,
    /// The input, as JSON.
    input: String,
    /// The client wants a task made of it.
    is_task: bool,
}

impl Request {
    fn size(&self) -> usize {
        let line = match &self.stage {
            Stage::Judged { line, .. } | Stage::Answered { line, .. } => line.len(),
            Stage::Sent { .. } => 0,
        };
        line + self.call.as_ref().map_or(0, |call| call.input.len())
    }

    fn about(&self) -> Option<About> {
        self.call.as_ref().map(|call| call.method.about)
    }

    fn ticket(&self) -> Option<u64> {
        match self.stage {
            Stage::Judged { ticket, .. } | Stage::Answered { ticket, .. } => Some(ticket),
            Stage::Sent { .. } => None,
        }
    }
}

impl Gateway {
    /// A gateway through which nothing has gone yet.
    pub fn new(settings: Settings) -> Gateway {
        Gateway {
            settings,
            agent: UNNAMED.into(),
            elicits: false,
            requests: HashMap::new(),
            asked: HashMap::new(),
            last_ticket: 0,
            held: 0,
            tasks: VecDeque::new(),
            questions: HashMap::new(),
            n_questions: 0,
            changed: BTreeMap::new(),
            told: Vec::new(),
            list_may_change: false,
            has_list: false,
        }
    }

    /// Whether requests of a side haven't reached the other side yet.
    pub fn holds_requests_of(&self, side: Side) -> bool {
        let mut all = self.requests.iter();
        all.any(|((from, _), request)| {
            *from == side && matches!(request.stage, Stage::Judged { .. })
        })
    }

    /// Whether responses to a side are being judged.
    pub fn holds_responses_to(&self, side: Side) -> bool {
        let mut all = self.requests.iter();
        all.any(|((from, _), request)| {
            *from == side && matches!(request.stage, Stage::Answered { .. })
        })
    }

    /// Takes a line of a side, without its end.
    pub fn receive(&mut self, from: Side, line: &[u8], ends: &mut impl Ends) {
        match messages_of(line) {
            Ok(messages) => messages
                .into_iter()
                .for_each(|text| self.receive_one(from, text, ends)),
            Err(bad) => self.refuse(from, &bad, ends),
        }
    }

    fn receive_one(&mut self, from: Side, text: &str, ends: &mut impl Ends) {
        let message = match Message::read(text) {
            Ok(message) => message,
            Err(bad) => return self.refuse(from, &bad, ends),
        };
        match message.kind.clone() {
            Kind::Request { id, method } => self.receive_request(from, &message, id, &method, ends),
            Kind::Notification { method } if method == "notifications/cancelled" => {
                self.receive_cancellation(from, &message, ends);
            }
            Kind::Notification { .. } => ends.send(from.other(), text),
            Kind::Response {
                id: Some(id),
                is_error,
            } => {
                self.receive_response(from, &message, id, is_error, ends);
            }
            // The other side couldn't read a message, and says so.
            Kind::Response { id: None, .. } => ends.send(from.other(), text),
        }
    }

    /// Says of a line that it is no message. What a server answers wrongly is an error for whoever
    /// waits for it.
    pub fn refuse(&mut self, from: Side, bad: &Bad, ends: &mut impl Ends) {
        let problem = safe(&cut(&bad.problem, TOLD));
        let who = match from {
            Side::Client => "client",
            Side::Server => "server",
        };
        ends.tell(&format!("a message of the {who} was dropped: it {problem}"));
        if from == Side::Client {
            let code = match bad.is_unreadable {
                true => replies::PARSE,
                false => replies::INVALID_REQUEST,
            };
            return ends.send(
                from,
                &error(bad.id.as_ref(), code, &format!("the message {problem}")),
            );
        }
        // Without an id it is whatever a program writes beside its messages.
        let Some(key) = bad.id.clone().map(|id| (from.other(), id)) else {
            return;
        };
        if let Some(request) = self.take_request(&key, ends) {
            let reason = hookwire_ask::refusal(&format!("the server's answer {problem}"));
            let about = request.call.map_or(About::Tools, |call| call.method.about);
            ends.send(key.0, &refusal(about, &key.1, &reason));
        }
    }

    fn receive_request(
        &mut self,
        from: Side,
        message: &Message<'_>,
        id: Id,
        method: &str,
        ends: &mut impl Ends,
    ) {
        let key = (from, id);
        let id = &key.1;
        if self.requests.contains_key(&key) || self.questions.contains_key(id) {
            let problem = "the id is that of another request, which isn't answered yet";
            return ends.send(from, &error(Some(id), replies::INVALID_REQUEST, problem));
        }
        if self.requests.len() >= MAX_REQUESTS {
            let problem = format!("more than {MAX_REQUESTS} requests aren't answered yet");
            return ends.send(from, &error(Some(id), replies::DENIED, &problem));
        }
        if method == "initialize" && from == Side::Client {
            self.meet_client(message, ends);
        }
        let call = match methods::find(from, method) {
            Some(method) => match self.read_call(method, message) {
                Ok(call) => Some(call),
                Err(problem) => {
                    return ends.send(from, &error(Some(id), replies::INVALID_PARAMS, &problem));
                }
            },
            None => None,
        };
        let before = call
            .as_ref()
            .and_then(|call| Some((call.method.before?, call)));
        let Some((event, call)) = before else {
            self.keep(
                key,
                call,
                Stage::Sent {
                    since: Instant::now(),
                },
            );
            return ends.send(from.other(), message.text);
        };
        let size = message.text.len() + call.input.len();
        if self.held.saturating_add(size) > MAX_HELD {
            let reason = hookwire_ask::refusal("too much waits for a verdict already");
            return ends.send(from, &refusal(call.method.about, id, &reason));
        }
        let event = self.event(event, call, &subject_before(call, id));
        if self.settings.observes {
            self.keep(
                key,
                Some(call.clone()),
                Stage::Sent {
                    since: Instant::now(),
                },
            );
            ends.send(from.other(), message.text);
            self.last_ticket += 1;
            return ends.ask(self.last_ticket, &event);
        }
        let call = Some(call.clone());
        let ticket = self.new_ticket(key.clone());
        self.keep(
            key,
            call,
            Stage::Judged {
                ticket,
                line: message.text.into(),
            },
        );
        ends.ask(ticket, &event);
    }

    /// What is judged of a request.
    fn read_call(&self, method: &'static Method, message: &Message<'_>) -> Result<Call, String> {
        let text_of = |name: &str| {
            let text = message.text_at(&format!("/params/{name}"));
            text.map(str::to_string)
                .ok_or_else(|| format!("`params.{name}` isn't a text"))
        };
        if let Some(Value::Object(params)) = message.get("/params") {
            check_names(
                params,
                &["name", "arguments", "uri", "task", "taskId", "messages"],
            )
            .map_err(|problem| format!("`params` {problem}"))?;
        }
        // What is judged must be what is sent.
        let written = |path: &[&str]| {
            let written = message.written_at(path).map(str::to_string);
            written.ok_or_else(|| format!("`{}` can't be found in the message", path.join(".")))
        };
        let call = |name: String, input: String| Call {
            method,
            name,
            input,
            is_task: message.get("/params/task").is_some(),
        };
        Ok(match method.about {
            About::Tool => {
                let input = match message.get("/params/arguments") {
                    None | Some(Value::Null) => "{}".into(),
                    Some(Value::Object(_)) => written(&["params", "arguments"])?,
                    Some(_) => return Err("`params.arguments` isn't an object".into()),
                };
                call(self.tool_name(&text_of("name")?), input)
            }
            About::Task => {
                let task = text_of("taskId")?;
                let known = self.tasks.iter().find(|(id, _)| *id == task);
                match known {
                    Some((_, known)) => Call {
                        method,
                        is_task: false,
                        ..known.clone()
                    },
                    None => call(
                        self.tool_name("tasks/result"),
                        json!({ "taskId": task }).to_string(),
                    ),
                }
            }
            About::Resource => {
                let input = json!({ "server": self.settings.server, "uri": text_of("uri")? });
                call(READ_RESOURCE.into(), input.to_string())
            }
            About::Prompt => call(text_of("name")?, "{}".into()),
            About::Sampling | About::Elicitation => {
                if !message.get("/params").is_some_and(Value::is_object) {
                    return Err("`params` isn't an object".into());
                }
                call(String::new(), written(&["params"])?)
            }
            About::Roots | About::Tools => call(String::new(), String::new()),
        })
    }

    fn tool_name(&self, tool: &str) -> String {
        format!("mcp__{}__{tool}", self.settings.server)
    }

    fn meet_client(&mut self, message: &Message<'_>, ends: &mut impl Ends) {
        let name = message
            .text_at("/params/clientInfo/name")
            .filter(|name| !name.is_empty());
        if let Some(name) = name {
            self.agent = cut(name, TOLD);
        }
        // Without a mode it is the form, as it was before there were modes.
        let elicits = message
            .get("/params/capabilities/elicitation")
            .and_then(Value::as_object);
        self.elicits = elicits.is_some_and(|modes| modes.is_empty() || modes.contains_key("form"))
            && !self.settings.observes;
        ends.meet(&self.agent, self.elicits);
    }

    fn receive_cancellation(&mut self, from: Side, message: &Message<'_>, ends: &mut impl Ends) {
        let id = message.get("/params/requestId");
        let known = id.and_then(|id| {
            let number = id.as_i64().map(|_| Id::Number(id.to_string()));
            number.or_else(|| Some(Id::Text(id.as_str()?.into())))
        });
        let key = known.map(|id| (from, id));
        let has_reached = key.as_ref().is_none_or(|key| {
            let request = self.requests.get(key);
            request.is_none_or(|request| matches!(request.stage, Stage::Sent { .. }))
        });
        if let Some(key) = key {
            self.take_request(&key, ends);
        }
        if has_reached {
            ends.send(from.other(), message.text);
        }
    }

    fn receive_response(
        &mut self,
        from: Side,
        message: &Message<'_>,
        id: Id,
        is_error: bool,
        ends: &mut impl Ends,
    ) {
        if from == Side::Client
            && let Some(question) = self.questions.remove(&id)
        {
            return ends.answer(&question, answer_of(message, is_error));
        }
        let key = (from.other(), id);
        let Some(Request {
            stage: Stage::Sent { since },
            ..
        }) = self.requests.get(&key)
        else {
            let id = safe(&cut(&key.1.to_json().to_string(), TOLD));
            return ends.tell(&format!(
                "a response was dropped: nothing with the id {id} was asked"
            ));
        };
        let since = *since;
        let Some(mut request) = self.remove(&key) else {
            return;
        };
        if request
            .call
            .as_ref()
            .is_some_and(|call| call.method.about == About::Tools)
        {
            return self.receive_list(key, request, message, ends);
        }
        let tools = message.get("/result/capabilities/tools/listChanged");
        self.list_may_change |= from == Side::Server && tools == Some(&Value::Bool(true));
        let after = request.call.as_ref().and_then(|call| call.method.after);
        let (Some(call), Some((succeeded, failed))) = (request.call.take(), after) else {
            return ends.send(from.other(), message.text);
        };
        if let Some(task) = message
            .text_at("/result/task/taskId")
            .filter(|_| call.is_task)
        {
            self.tasks.truncate(MAX_TASKS - 1);
            let input = Some(call.input).filter(|input| input.len() <= MAX_TASK);
            let input = input.unwrap_or_else(|| "{}".into());
            self.tasks
                .push_front((cut(task, TOLD), Call { input, ..call }));
            return ends.send(from.other(), message.text);
        }
        let is_failed = is_error || message.get("/result/isError") == Some(&Value::Bool(true));
        let event = match failed.filter(|_| is_failed) {
            Some(failed) => failed,
            // An error tells the model nothing that the server hasn't said elsewhere.
            None if is_error => return ends.send(from.other(), message.text),
            None => succeeded,
        };
        let place = if is_error { "error" } else { "result" };
        let Some(output) = message.written_at(&[place]) else {
            let reason = hookwire_ask::refusal("the answer can't be found in the message");
            return ends.send(key.0, &refusal(call.method.about, &key.1, &reason));
        };
        let subject = subject_after(&call, &key.1, message, output, since.elapsed());
        let event = self.event(event, &call, &subject);
        if self.settings.observes {
            ends.send(from.other(), message.text);
            self.last_ticket += 1;
            return ends.ask(self.last_ticket, &event);
        }
        if self.held.saturating_add(message.text.len()) > MAX_HELD {
            let reason = hookwire_ask::refusal("too much waits for a verdict already");
            return ends.send(key.0, &refusal(call.method.about, &key.1, &reason));
        }
        let ticket = self.new_ticket(key.clone());
        let stage = Stage::Answered {
            ticket,
            line: message.text.into(),
        };
        let request = Request {
            call: Some(call),
            stage,
            ..request
        };
        self.held += request.size();
        self.requests.insert(key, request);
        ends.ask(ticket, &event);
    }

    /// Takes the verdict on an event, or why there is none.
    pub fn judged(&mut self, ticket: u64, sent: Result<Value, String>, ends: &mut impl Ends) {
        let Some(key) = self.asked.remove(&ticket) else {
            return;
        };
        let Some(request) = self.remove(&key) else {
            return;
        };
        if let (Some(About::Tools), Stage::Answered { line, .. }) =
            (request.about(), &request.stage)
        {
            let line = callable_only(&self.tool_name(""), line, sent, ends);
            return ends.send(key.0, &line);
        }
        let verdict = match sent.and_then(Verdict::read) {
            Ok(verdict) => Ok(verdict),
            Err(problem) if self.settings.fails_open => {
                ends.tell(&format!("this passes unjudged: {problem}"));
                Ok(Verdict {
                    decision: "allow".into(),
                    ..Verdict::default()
                })
            }
            Err(problem) => Err(hookwire_ask::refusal(&safe(&problem))),
        };
        let Request {
            call: Some(call),
            stage,
            context,
        } = request
        else {
            return;
        };
        let about = call.method.about;
        let done = verdict.and_then(|verdict| {
            self.agree_to_change(&call, &stage, &verdict, ends)?;
            let texts = verdict.user_messages.iter();
            texts.for_each(|text| ends.tell(text.strip_prefix("hookwire: ").unwrap_or(text)));
            if !verdict.allows() {
                return Err(verdict.reason().to_string());
            }
            match stage {
                Stage::Judged { line, .. } => self.hand_on(&key, call, line, verdict, ends),
                Stage::Answered { line, .. } => {
                    let line = rewrite_response(about, line, context, verdict)?;
                    ends.send(key.0, &line);
                    Ok(())
                }
                Stage::Sent { .. } => Ok(()),
            }
        });
        if let Err(reason) = done {
            ends.send(key.0, &refusal(about, &key.1, &reason));
        }
    }

    /// Sends a request that was allowed on, as it was or as it was changed.
    fn hand_on(
        &mut self,
        key: &(Side, Id),
        mut call: Call,
        mut line: String,
        verdict: Verdict,
        ends: &mut impl Ends,
    ) -> Result<(), String> {
        if let Some(subject) = verdict.subject {
            line = rewrite_request(&mut call, &line, &subject)
                .map_err(|problem| hookwire_ask::refusal(&problem))?;
        }
        let since = Instant::now();
        let request = Request {
            call: Some(call),
            stage: Stage::Sent { since },
            context: verdict.additional_context,
        };
        self.held += request.size();
        self.requests.insert(key.clone(), request);
        ends.send(key.0.other(), &line);
        Ok(())
    }

    /// A list of tools: each is held to its pin, and those that may not be called are left out.
    fn receive_list(
        &mut self,
        key: (Side, Id),
        request: Request,
        message: &Message<'_>,
        ends: &mut impl Ends,
    ) {
        let (mut listed, values) = match Listed::read(message) {
            Some(read) => read,
            None if message.get("/result/tools").is_none() => {
                return ends.send(key.0, message.text);
            }
            None => {
                let reason = hookwire_ask::refusal("the list of tools can't be read");
                return ends.send(key.0, &refusal(About::Tools, &key.1, &reason));
            }
        };
        self.has_list = true;
        self.hold_to_pins(&mut listed, values, ends);
        let shown = if self.settings.observes {
            None
        } else {
            listed.put_into(message.text)
        };
        let line = shown.unwrap_or_else(|| message.text.into());
        let names = listed.tools.iter().filter_map(|(name, _)| name.as_deref());
        let names: Vec<String> = names.map(|name| self.tool_name(name)).collect();
        let has_room = self.held.saturating_add(line.len()) <= MAX_HELD;
        if names.is_empty() || self.settings.observes || !has_room {
            return ends.send(key.0, &line);
        }
        let ticket = self.new_ticket(key.clone());
        let request = Request {
            stage: Stage::Answered { ticket, line },
            ..request
        };
        self.held += request.size();
        self.requests.insert(key, request);
        ends.ask_callable(ticket, &self.agent, &names);
    }

    /// Pins tools that are new, and shows those that have changed as they were.
    fn hold_to_pins(&mut self, listed: &mut Listed, values: &[Value], ends: &mut impl Ends) {
        let definitions: Vec<String> = values.iter().map(pins::definition_of).collect();
        let named = listed.tools.iter().zip(&definitions);
        let named: Vec<(&str, &str)> = named
            .filter_map(|((name, _), definition)| Some((name.as_deref()?, definition.as_str())))
            .collect();
        let mut told = pins::oddities(&named, &self.settings.others);
        let is_first = self.settings.pins.tools.is_empty();
        let (mut new, mut changed) = (Vec::new(), Vec::new());
        for (at, definition) in definitions.iter().enumerate() {
            let Some((Some(name), _)) = listed.tools.get(at).cloned() else {
                continue;
            };
            match self.settings.pins.look(&name, definition) {
                Look::Same => drop(self.changed.remove(&name)),
                Look::New => match self.settings.pins.pin(&name, definition) {
                    true => new.push(format!("`{}`", safe(&cut(&name, TOLD)))),
                    false => told.push(format!(
                        "the tool `{}` isn't pinned: it is too large, or there are too many",
                        safe(&cut(&name, TOLD))
                    )),
                },
                Look::Changed(pin) => {
                    told.push(format!(
                        "{}; until a person agrees at a call, the model is shown it as it was",
                        pins::describe_change(&name, pin, definition)
                    ));
                    changed.push((at, name, pin.definition.clone(), definition.clone()));
                }
            }
        }
        if !new.is_empty() {
            let server = &self.settings.server;
            told.push(match is_first {
                true => format!(
                    "the tools of `{server}` are pinned as they are now: {}",
                    new.join(", ")
                ),
                false => format!(
                    "`{server}` has new tools, which are pinned: {}",
                    new.join(", ")
                ),
            });
            ends.keep(&self.settings.pins);
        }
        if !changed.is_empty() && self.changed.is_empty() && !self.settings.observes {
            ends.ask_before_calls(&self.settings.server);
        }
        for (at, name, before, now) in changed {
            listed.show(at, &before);
            let now = Some(now).filter(|now| now.len() <= pins::MAX_DEFINITION);
            self.changed.insert(name, now.unwrap_or_default());
        }
        for text in told {
            self.tell_once(text, ends);
        }
    }

    /// Tells people, where they watch, and hooks.
    fn tell_once(&mut self, text: String, ends: &mut impl Ends) {
        const MOST: usize = 1000;
        if self.told.contains(&text) || self.told.len() >= MOST {
            return;
        }
        ends.tell(&text);
        let Settings {
            server,
            session,
            cwd,
            ..
        } = &self.settings;
        let event = json!({
            "event": "Notification",
            "session": session,
            "agent": { "name": self.agent },
            "message": text,
            "cwd": cwd,
            "metadata": { "mcp": { "server": server, "method": "tools/list" } },
        });
        ends.note(&event.to_string());
        self.told.push(text);
    }

    /// What is to be said of a call of a tool: a changed one is a question.
    pub fn pin_opinion(&self, tool: &str) -> Value {
        let name = tool.strip_prefix(&self.tool_name("")).unwrap_or_default();
        let change = self
            .changed
            .get(name)
            .zip(self.settings.pins.tools.get(name));
        match change {
            Some((now, pin)) => json!({
                "decision": "ask",
                "reason": format!("{}. Agree to the change, and to this call?", pins::describe_change(name, pin, now)),
            }),
            None => json!({}),
        }
    }

    /// A person's yes to the call of a changed tool is one to the change.
    fn agree_to_change(
        &mut self,
        call: &Call,
        stage: &Stage,
        verdict: &Verdict,
        ends: &mut impl Ends,
    ) -> Result<(), String> {
        let prefix = self.tool_name("");
        let name = call.name.strip_prefix(&prefix).unwrap_or_default();
        let is_call = call.method.about == About::Tool && matches!(stage, Stage::Judged { .. });
        let Some(now) = self
            .changed
            .get(name)
            .filter(|_| is_call && verdict.allows())
        else {
            return Ok(());
        };
        if self.settings.fails_open && verdict.outcomes.is_empty() {
            return Ok(());
        }
        if !verdict.was_asked_by(PINS) {
            return Err(hookwire_ask::refusal(
                "nobody could be asked about the change of the tool",
            ));
        }
        let (name, now) = (name.to_string(), now.clone());
        // What can't be pinned is a question each time.
        if !self.settings.pins.pin(&name, &now) {
            return Ok(());
        }
        self.changed.remove(&name);
        ends.keep(&self.settings.pins);
        ends.tell(&format!(
            "a person has agreed to the change of the tool `{}`",
            safe(&name)
        ));
        ends.send(Side::Client, replies::LIST_CHANGED);
        Ok(())
    }

    /// Other definitions are in force: other tools may be callable.
    pub fn definitions_changed(&mut self, ends: &mut impl Ends) {
        if self.list_may_change && self.has_list && !self.settings.observes {
            ends.send(Side::Client, replies::LIST_CHANGED);
        }
    }

    /// Asks the person before the client, for the host.
    pub fn question(&mut self, question: Value, request: &Value, ends: &mut impl Ends) {
        if !self.elicits {
            return ends.answer(&question, Err("the client can't ask a person".into()));
        }
        self.n_questions += 1;
        let id = format!("hookwire-{}-{}", self.settings.session, self.n_questions);
        let asked = replies::elicitation(&id, request);
        self.questions.insert(Id::Text(id), question);
        ends.send(Side::Client, &asked);
    }

    /// The host no longer waits for an answer.
    pub fn question_withdrawn(&mut self, question: &Value, ends: &mut impl Ends) {
        let found = self.questions.iter().find(|(_, asked)| *asked == question);
        if let Some(id) = found.map(|(id, _)| id.clone()) {
            self.questions.remove(&id);
            ends.send(Side::Client, &replies::cancellation(&id));
        }
    }

    /// The server has ended: what it hasn't answered it never will.
    pub fn server_gone(&mut self, why: &str, ends: &mut impl Ends) {
        let left = self.requests.iter();
        let left = left
            .filter(|((from, _), request)| {
                *from == Side::Client && !matches!(request.stage, Stage::Answered { .. })
            })
            .map(|(key, _)| key.clone())
            .collect::<Vec<_>>();
        for key in left {
            if self.take_request(&key, ends).is_some() {
                ends.send(Side::Client, &error(Some(&key.1), replies::DENIED, why));
            }
        }
    }

    fn new_ticket(&mut self, key: (Side, Id)) -> u64 {
        self.last_ticket += 1;
        self.asked.insert(self.last_ticket, key);
        self.last_ticket
    }

    fn keep(&mut self, key: (Side, Id), call: Option<Call>, stage: Stage) {
        let request = Request {
            call,
            stage,
            context: Vec::new(),
        };
        self.held += request.size();
        self.requests.insert(key, request);
    }

    fn remove(&mut self, key: &(Side, Id)) -> Option<Request> {
        let request = self.requests.remove(key)?;
        self.held = self.held.saturating_sub(request.size());
        Some(request)
    }

    /// Forgets a request, and the question to the host about it.
    fn take_request(&mut self, key: &(Side, Id), ends: &mut impl Ends) -> Option<Request> {
        let request = self.remove(key)?;
        if let Some(ticket) = request.ticket() {
            self.asked.remove(&ticket);
            ends.withdraw(ticket);
        }
        Some(request)
    }

    /// An event, with what it is about.
    fn event(&self, name: &str, call: &Call, subject: &str) -> String {
        let Settings {
            server,
            session,
            cwd,
            time_limit,
            ..
        } = &self.settings;
        let mcp = match call.method.about {
            About::Prompt => {
                json!({ "server": server, "method": call.method.name, "name": call.name })
            }
            _ => json!({ "server": server, "method": call.method.name }),
        };
        let limit = u64::try_from(time_limit.as_millis()).unwrap_or(u64::MAX);
        format!(
            r#"{{"event":{},"session":{},"agent":{{"name":{}}},{subject},"cwd":{},"metadata":{{"mcp":{mcp}}},"deadlineMs":{limit}}}"#,
            json!(name),
            json!(session),
            json!(self.agent),
            json!(cwd),
        )
    }
}

/// The response with the tools that may be called, or with all if that can't be told: each call is
/// judged anyway.
fn callable_only(
    prefix: &str,
    line: &str,
    sent: Result<Value, String>,
    ends: &mut impl Ends,
) -> String {
    let callable: Result<Vec<String>, String> = sent.and_then(|mut sent| {
        serde_json::from_value(sent["callable"].take()).map_err(|error| error.to_string())
    });
    match callable {
        Ok(callable) => {
            let keeps = |name: &str| {
                callable
                    .iter()
                    .any(|it| it.strip_prefix(prefix) == Some(name))
            };
            tools::without(line, keeps).unwrap_or_else(|| line.into())
        }
        Err(problem) => {
            ends.tell(&format!(
                "the list of tools is shown in full: {}",
                safe(&problem)
            ));
            line.into()
        }
    }
}

/// What an event before a request is about.
fn subject_before(call: &Call, id: &Id) -> String {
    let input = &call.input;
    match call.method.about {
        About::Sampling => format!(r#""model":{{"request":{input}}}"#),
        About::Elicitation => format!(r#""elicitation":{input}"#),
        _ => format!(
            r#""tool":{{"name":{},"callId":{},"input":{input}}}"#,
            json!(call.name),
            json!(call_id(id))
        ),
    }
}

/// What an event after a request is about.
fn subject_after(
    call: &Call,
    id: &Id,
    message: &Message<'_>,
    output: &str,
    took: Duration,
) -> String {
    let Call { name, input, .. } = call;
    match call.method.about {
        About::Sampling => format!(r#""model":{{"request":{input},"response":{output}}}"#),
        About::Elicitation => format!(r#""elicitation":{output}"#),
        About::Roots => format!(r#""data":{output}"#),
        About::Prompt => format!(r#""prompt":{output}"#),
        About::Tool | About::Task | About::Resource | About::Tools => {
            let is_failed = message.get("/result/isError") == Some(&Value::Bool(true));
            let error = message.text_at("/error/message").or_else(|| {
                let first = message.text_at("/result/content/0/text");
                first.filter(|_| is_failed)
            });
            let error = error
                .map(|error| format!(r#","error":{}"#, json!(error)))
                .unwrap_or_default();
            format!(
                r#""tool":{{"name":{},"callId":{},"input":{input},"output":{output}{error},"durationMs":{}}}"#,
                json!(name),
                json!(call_id(id)),
                took.as_micros() as f64 / 1000.0
            )
        }
    }
}

fn call_id(id: &Id) -> &str {
    match id {
        Id::Number(text) | Id::Text(text) => text,
    }
}

/// A request with what hooks have made of its subject.
fn rewrite_request(call: &mut Call, line: &str, subject: &Value) -> Result<String, String> {
    let cannot = || "the changed input can't be put into the message".to_string();
    if !subject.is_object() {
        return Err("hooks have made an input that isn't an object".into());
    }
    let (path, new): (&[&str], String) = match call.method.about {
        About::Tool => (&["params", "arguments"], subject.to_string()),
        About::Sampling => (&["params"], subject.to_string()),
        About::Resource => match subject.get("uri") {
            Some(uri @ Value::String(_)) => (&["params", "uri"], uri.to_string()),
            _ => return Err("hooks have made an input without a `uri`".into()),
        },
        // Nothing in their events is to be changed.
        _ => return Ok(line.to_string()),
    };
    call.input = subject.to_string();
    match place_of(line, path) {
        Some(place) => spliced(line, place, &new).ok_or_else(cannot),
        // A call without arguments.
        None => {
            let params = place_of(line, &["params"]).ok_or_else(cannot)?;
            let start = params.start + 1;
            spliced(line, start..start, &format!(r#""arguments":{new},"#)).ok_or_else(cannot)
        }
    }
}

/// A response with what hooks have made of it, and what the model is to know.
fn rewrite_response(
    about: About,
    mut line: String,
    mut context: Vec<String>,
    verdict: Verdict,
) -> Result<String, String> {
    let cannot = || hookwire_ask::refusal("the changed result can't be put into the message");
    if let Some(subject) = verdict.subject.filter(|_| about != About::Elicitation) {
        let (place, new) = match place_of(&line, &["error"]) {
            Some(place) => (place, error_of(subject)),
            None => (
                place_of(&line, &["result"]).ok_or_else(cannot)?,
                result_of(about, subject)?,
            ),
        };
        line = spliced(&line, place, &new.to_string()).ok_or_else(cannot)?;
    }
    context.extend(verdict.additional_context);
    context.extend(verdict.stop.map(|reason| format!("Stop here: {reason}")));
    let is_tool = matches!(about, About::Tool | About::Task);
    if let Some(content) = place_of(&line, &["result", "content"]).filter(|_| is_tool)
        && !context.is_empty()
    {
        let list = line.get(content.clone()).ok_or_else(cannot)?;
        let is_empty = list.trim_start_matches('[').trim_ascii() == "]";
        let texts: Vec<String> = context
            .iter()
            .map(|text| json!({ "type": "text", "text": text }).to_string())
            .collect();
        let comma = if is_empty { "" } else { "," };
        let end = content.end.checked_sub(1).ok_or_else(cannot)?;
        line =
            spliced(&line, end..end, &format!("{comma}{}", texts.join(","))).ok_or_else(cannot)?;
    }
    Ok(line)
}

fn error_of(subject: Value) -> Value {
    match &subject {
        Value::Object(members)
            if members.contains_key("code") && members.contains_key("message") =>
        {
            subject
        }
        Value::String(text) => json!({ "code": replies::DENIED, "message": text }),
        _ => json!({ "code": replies::DENIED, "message": "withheld by hookwire" }),
    }
}

fn result_of(about: About, subject: Value) -> Result<Value, String> {
    match (about, subject) {
        (_, subject @ Value::Object(_)) => Ok(subject),
        (About::Tool | About::Task, Value::String(text)) => Ok(tool_result(&text, false)),
        (About::Tool | About::Task, subject) => Ok(tool_result(&subject.to_string(), false)),
        _ => Err(hookwire_ask::refusal(
            "hooks have made a result that isn't an object",
        )),
    }
}

/// What a person has said to a question.
fn answer_of(message: &Message<'_>, is_error: bool) -> Result<Value, String> {
    if is_error {
        let told = message
            .text_at("/error/message")
            .unwrap_or("it gives no reason");
        return Err(format!(
            "the client has asked nobody: {}",
            safe(&cut(told, TOLD))
        ));
    }
    let says_yes = message.text_at("/result/action") == Some("accept")
        && message.text_at("/result/content/answer") == Some(replies::ALLOW);
    let remember = message.get("/result/content/remember") == Some(&Value::Bool(true));
    Ok(match says_yes {
        true => json!({ "decision": "approve", "remember": remember }),
        false => json!({ "decision": "deny" }),
    })
}
