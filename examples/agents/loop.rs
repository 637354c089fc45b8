//! An agent that tells hookwire of every moment, and obeys: cargo run --example loop -- --hooks DIR
//!
//! The arguments are those of `hookwire serve`. What the user and the model say is in session.json; what
//! the tools do, in the current directory, is real.

mod wire;

use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use wire::{Fault, Host, merge, settled};

/// Other tools need a permission.
const ALLOWED: [&str; 3] = ["Read", "Write", "Task"];
/// Tokens that the model may read before its context is compacted.
const BUDGET: u64 = 1000;
/// Of one model call, whatever hooks say.
const ATTEMPTS: u32 = 5;
const SUMMARISE: &str = "Summarise this conversation so that the work can go on from your summary alone.";

struct Agent<'a> {
    host: &'a Host,
    model: &'a Model,
    name: String,
    run_id: Option<String>,
    /// Name and run of the agent that started this one.
    parent: Option<(String, Option<String>)>,
    /// What hooks may change.
    context: Value,
    /// What hooks have to say to the model.
    notes: Vec<Value>,
    /// Why a hook ended the run.
    ending: Option<String>,
    step: u64,
    tokens: u64,
    usage: Value,
}

impl<'a> Agent<'a> {
    fn new(host: &'a Host, model: &'a Model, name: &str) -> Agent<'a> {
        let context = json!({"metadata": {}, "systemPrompt": format!("You are {name}."), "messages": []});
        let name = name.to_string();
        let (run_id, parent, ending) = (None, None, None);
        Agent {
            host,
            model,
            name,
            run_id,
            parent,
            context,
            notes: vec![],
            ending,
            step: 0,
            tokens: 0,
            usage: json!({}),
        }
    }

    /// Tells of a moment. What holds at every moment is obeyed here, the rest where the moment is.
    fn fire(&mut self, name: &str, data: Value) -> Value {
        let (parent, parent_run) = self.parent.clone().unzip();
        let mut event = json!({
            "event": name,
            "session": format!("s{}", std::process::id()),
            "run": self.run_id,
            "parentRun": parent_run,
            "step": (self.step > 0).then_some(self.step),
            "agent": {"name": self.name, "parent": parent},
            "cwd": std::env::current_dir().unwrap_or_default(),
            "metadata": self.context["metadata"],
        });
        if let (Value::Object(event), Value::Object(data)) = (&mut event, data) {
            event.extend(data);
        }
        let mut verdict = self.host.judge(&event);
        for text in verdict["userMessages"].as_array().into_iter().flatten() {
            println!("[hook] {}", plain(text));
        }
        self.notes.extend(verdict["additionalContext"].as_array().cloned().unwrap_or_default());
        if let Some(patch) = verdict.get("context") {
            for (member, value) in self.context.as_object_mut().into_iter().flatten() {
                patch.get(member).into_iter().for_each(|patch| merge(value, patch));
            }
            merge(&mut event, patch);
        }
        verdict["tool"] = event["tool"].take();
        if let Some(reason) = verdict["stop"].as_str().map(String::from) {
            // A no to this act, and to what the run would do next.
            (verdict["decision"], verdict["reason"]) = (json!("deny"), json!(reason));
            self.ending = Some(reason);
        }
        verdict
    }

    /// One prompt, until the agent rests: its result. Each run that has begun ends in RunEnd or RunError.
    fn run(&mut self, prompt: Value) -> Result<Value, Fault> {
        (self.ending, self.usage) = (None, json!({"inputTokens": 0, "outputTokens": 0}));
        let prompt = settled(&self.fire("RunStart", json!({"prompt": prompt})), prompt)?;
        self.add(json!({"role": "user", "content": prompt}));
        let result = match self.work() {
            Ok(result) => result,
            Err(Fault::Refused(no)) => json!(no),
            Err(Fault::Failed(error)) => {
                let verdict = self.fire("RunError", json!({"error": error, "usage": self.usage}));
                return verdict.get("subject").filter(|it| !it.is_null()).cloned().ok_or(Fault::Failed(error));
            }
        };
        settled(&self.fire("RunEnd", json!({"result": result, "usage": self.usage})), result)
    }

    fn work(&mut self) -> Result<Value, Fault> {
        let rest = if self.parent.is_some() { "SubagentStop" } else { "Stop" };
        let mut stop_active = false;
        while self.ending.is_none() {
            self.step += 1;
            settled(&self.fire("StepStart", json!({})), Value::Null)?;
            // Between steps every tool call has its result: here the conversation can be cut and added to.
            self.compact()?;
            for note in std::mem::take(&mut self.notes) {
                self.add(json!({"role": "user", "content": note}));
            }
            let response = self.complete(self.context["messages"].clone())?;
            let calls = response["calls"].as_array().cloned().unwrap_or_default();
            let mut results = Vec::new();
            for call in &calls {
                results.push(json!({"role": "tool", "callId": call["id"], "content": self.tool(call)?}));
            }
            let message = response["content"].clone();
            let message = settled(&self.fire("StepEnd", json!({"lastMessage": message})), message)?;
            self.add(json!({"role": "assistant", "content": message, "calls": calls}));
            results.into_iter().for_each(|result| self.add(result));
            self.checkpoint()?;
            if !calls.is_empty() || self.ending.is_some() {
                continue;
            }
            let verdict = self.fire(rest, json!({"lastMessage": message, "stopActive": stop_active}));
            if verdict["decision"] == "allow" {
                return settled(&verdict, message);
            }
            // Back to work, knowing why. hookwire lets no hook do this for ever.
            self.notes.push(verdict["reason"].clone());
            stop_active = true;
        }
        Ok(json!(self.ending))
    }

    fn add(&mut self, message: Value) {
        match &mut self.context["messages"] {
            Value::Array(messages) => messages.push(message),
            other => *other = json!([message]),
        }
    }

    /// What the model says. Each attempt passes the gate, since another model is another question.
    fn complete(&mut self, messages: Value) -> Result<Value, Fault> {
        let mut name = json!("large");
        let mut attempt = 1;
        loop {
            let request = json!({"systemPrompt": self.context["systemPrompt"], "messages": messages});
            let model = json!({"name": name, "request": request});
            let request = settled(&self.fire("PreModelCall", json!({"model": model})), request)?;
            let mut model = json!({"name": name, "request": request});
            match self.model.complete(&name, &request) {
                Ok(reply) => {
                    let usage = &reply["usage"];
                    self.tokens = usage["inputTokens"].as_u64().unwrap_or(0);
                    for kind in ["inputTokens", "outputTokens"] {
                        self.usage[kind] =
                            json!(self.usage[kind].as_u64().zip(usage[kind].as_u64()).map(|(a, b)| a + b));
                    }
                    let response = json!({"content": reply["content"], "calls": reply["calls"]});
                    model["response"] = response.clone();
                    model["usage"] = usage.clone();
                    model["finishReason"] = reply["finishReason"].clone();
                    return settled(&self.fire("PostModelCall", json!({"model": model})), response);
                }
                Err(error) => {
                    (model["error"], model["attempt"]) = (error.clone(), json!(attempt));
                    let retry = self.fire("ModelCallError", json!({"model": model}))["retry"].take();
                    let may_retry = retry["action"] == "retry" || retry["action"] == "fallback";
                    if !may_retry || attempt == ATTEMPTS || self.ending.is_some() {
                        return Err(Fault::Failed(format!("{} {}", error["status"], plain(&error["message"]))));
                    }
                    std::thread::sleep(Duration::from_millis(retry["afterMs"].as_u64().unwrap_or(0)));
                    name = retry.get("model").cloned().unwrap_or(name);
                    attempt += 1;
                }
            }
        }
    }

    /// What a tool call comes to, for the model. A refused call is told and not run.
    fn tool(&mut self, call: &Value) -> Result<Value, Fault> {
        let output = match self.ending.clone() {
            Some(reason) => json!(format!("not run: {reason}")),
            None => match self.judged(call) {
                Err(Fault::Refused(no)) => json!(format!("refused: {no}")),
                other => other?,
            },
        };
        println!("{}: {}: {}", self.name, plain(&call["name"]), output.as_str().unwrap_or(&output.to_string()).trim());
        Ok(output)
    }

    fn judged(&mut self, call: &Value) -> Result<Value, Fault> {
        let tool = json!({"name": call["name"], "callId": call["id"], "input": call["input"]});
        let mut verdict = self.fire("PreToolUse", json!({"tool": tool}));
        let mut tool = verdict["tool"].take();
        tool["input"] = settled(&verdict, tool["input"].take())?;
        // A hook's allow is an approval; an allow that nobody decided only stands in nobody's way.
        if !ALLOWED.iter().any(|allowed| tool["name"] == *allowed) && verdict.get("decidedBy").is_none() {
            tool["input"] = self.permission(&tool)?;
        }
        let started = Instant::now();
        let (event, output) = match self.use_tool(&tool) {
            Ok(output) => ("PostToolUse", output),
            Err(Fault::Failed(error)) => {
                tool["error"] = json!(error);
                ("PostToolUseFailure", json!(format!("failed: {error}")))
            }
            Err(refused) => return Err(refused),
        };
        tool["durationMs"] = json!(started.elapsed().as_secs_f64() * 1000.0);
        tool["output"] = output.clone();
        settled(&self.fire(event, json!({"tool": tool})), output)
    }

    fn permission(&mut self, tool: &Value) -> Result<Value, Fault> {
        let verdict = self.fire("PermissionRequest", json!({"tool": tool}));
        let allowed = settled(&verdict, tool["input"].clone()).and_then(|input| match verdict.get("decidedBy") {
            Some(_) => Ok(input),
            // Where your agent would ask its user.
            None => Err(Fault::Refused("nobody has allowed it".into())),
        });
        if let Err(Fault::Refused(no)) = &allowed {
            self.fire("PermissionDenied", json!({"tool": tool, "reason": no}));
        }
        allowed
    }

    fn use_tool(&mut self, tool: &Value) -> Result<Value, Fault> {
        let name = plain(&tool["name"]);
        let argument = |key: &str| match tool["input"][key].as_str() {
            Some(text) => Ok(text),
            None => Err(Fault::Failed(format!("{name} needs `{key}`"))),
        };
        let failed = |error: std::io::Error| Fault::Failed(error.to_string());
        match name {
            "Read" => std::fs::read_to_string(argument("path")?).map(|text| json!(text)).map_err(failed),
            "Write" => {
                std::fs::write(argument("path")?, argument("content")?).map(|()| json!("written")).map_err(failed)
            }
            "Delete" => std::fs::remove_file(argument("path")?).map(|()| json!("deleted")).map_err(failed),
            // Sub-agents have no Task, or they would start others without end.
            "Task" if self.parent.is_none() => {
                let mut child = Agent::new(self.host, self.model, argument("agent")?);
                child.parent = Some((self.name.clone(), self.run_id.clone()));
                child.run_id = self.run_id.as_ref().map(|run| format!("{run}.{}", plain(&tool["callId"])));
                let prompt = json!(argument("prompt")?);
                let prompt = settled(&child.fire("SubagentStart", json!({"prompt": prompt})), prompt)?;
                child.run(prompt)
            }
            _ => Err(Fault::Failed(format!("no such tool: {name}"))),
        }
    }

    /// Puts a summary in the conversation's place, once the model reads more than it should.
    fn compact(&mut self) -> Result<(), Fault> {
        if self.tokens <= BUDGET {
            return Ok(());
        }
        match self.summary() {
            Ok(summary) => {
                let messages = json!([{"role": "user", "content": summary}]);
                let removed = std::mem::replace(&mut self.context["messages"], messages);
                let count = removed.as_array().map_or(0, Vec::len);
                self.fire("PostCompact", json!({"removedCount": count, "summary": summary}));
                Ok(())
            }
            // The conversation stays whole.
            Err(Fault::Refused(_)) if self.ending.is_none() => Ok(()),
            Err(fault) => Err(fault),
        }
    }

    fn summary(&mut self) -> Result<Value, Fault> {
        let mut messages = self.context["messages"].clone();
        let data = json!({"compaction": SUMMARISE, "messages": messages, "budget": BUDGET});
        let hint = settled(&self.fire("PreCompact", data), json!(SUMMARISE))?;
        if let Value::Array(messages) = &mut messages {
            messages.push(json!({"role": "user", "content": hint}));
        }
        Ok(self.complete(messages)?["content"].take())
    }

    fn checkpoint(&mut self) -> Result<(), Fault> {
        let path = format!("checkpoint-{}.json", self.name);
        let mut state = self.context.clone();
        (state["run"], state["step"]) = (json!(self.run_id), json!(self.step));
        std::fs::write(&path, state.to_string()).map_err(|error| Fault::Failed(error.to_string()))?;
        self.fire("Checkpoint", json!({"path": path}));
        Ok(())
    }

    fn tell(&mut self, text: &str) {
        println!("{text}");
        self.fire("Notification", json!({"message": text}));
    }
}

fn plain(text: &Value) -> &str {
    text.as_str().unwrap_or_default()
}

/// Says what a script has, reply by reply; yours would call a provider.
struct Model {
    replies: RefCell<VecDeque<Value>>,
}

impl Model {
    fn complete(&self, _name: &Value, _request: &Value) -> Result<Value, Value> {
        let next = self.replies.borrow_mut().pop_front();
        let said = next.unwrap_or_else(|| json!({"error": {"status": 500, "message": "the script is over"}}));
        let mut reply = json!({"content": "", "calls": [], "finishReason": "stop"});
        merge(&mut reply, &said);
        match said.get("error") {
            Some(error) => Err(error.clone()),
            None => Ok(reply),
        }
    }
}

fn session(agent: &mut Agent, prompts: &[Value]) -> Result<(), Fault> {
    settled(&agent.fire("SessionStart", json!({})), Value::Null)?;
    for (n, prompt) in prompts.iter().enumerate() {
        (agent.run_id, agent.step) = (Some(format!("r{}", n + 1)), 0);
        println!("> {}", plain(prompt));
        let verdict = agent.fire("UserPromptSubmit", json!({"prompt": prompt}));
        match settled(&verdict, prompt.clone()).and_then(|prompt| agent.run(prompt)) {
            Ok(result) => agent.tell(result.as_str().unwrap_or(&result.to_string())),
            Err(Fault::Refused(no)) => agent.tell(&format!("refused: {no}")),
            // Of the run; the session goes on.
            Err(Fault::Failed(error)) => agent.tell(&format!("failed: {error}")),
        }
    }
    Ok(())
}

fn main() -> Result<ExitCode, serde_json::Error> {
    let mut script: Value = serde_json::from_str(include_str!("session.json"))?;
    let replies = RefCell::new(script["replies"].as_array().cloned().unwrap_or_default().into());
    let prompts = script["prompts"].take();
    let (host, model) = (Host::start(std::env::args().skip(1)), Model { replies });
    let mut agent = Agent::new(&host, &model, "coder");
    if let Err(Fault::Refused(no)) = session(&mut agent, prompts.as_array().map_or(&[], Vec::as_slice)) {
        println!("refused: {no}");
    }
    (agent.run_id, agent.step) = (None, 0);
    agent.fire("SessionEnd", json!({}));
    let problem = host.stop();
    problem.iter().for_each(|problem| eprintln!("{problem}"));
    Ok(if problem.is_some() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
