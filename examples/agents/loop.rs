//! An agent loop that sends every event to hookwire and obeys the verdicts: cargo run --example
//! loop -- --hooks DIR

mod wire;
mod world;

use serde_json::{Value, json};
use wire::{Agent, Fault, joined, user};
use world::{ALLOWED, BUDGET, SUMMARISE, argument, call_model, failure, list, prompts};
use world::{save, show, text, tried, use_tool, waited};

impl Agent<'_> {
    fn session(&mut self) -> Result<(), Fault> {
        self.fire("SessionStart", json!({}))?;
        for (run, prompt) in prompts() {
            self.begin(Some(run));
            let answer = tried(|| self.run(prompt))["output"].take(); // or why there is none; the session continues
            show(&[], &answer);
            self.fire("Notification", json!({"message": answer}))?;
        }
        self.begin(None);
        self.fire("SessionEnd", json!({})).map(drop)
    }

    /// Works on one prompt until the agent stops. Every started run ends with RunEnd or RunError.
    fn run(&mut self, prompt: Value) -> Result<Value, Fault> {
        let first = if self.parent.is_some() {
            "SubagentStart"
        } else {
            "UserPromptSubmit"
        };
        let prompt = self.fire(first, json!({"prompt": prompt}))?["prompt"].take();
        let prompt = self.fire("RunStart", json!({"prompt": prompt}))?["prompt"].take();
        self.add([user(prompt)]);
        let result = match self.work() {
            Ok(result) => result,
            Err(Fault::Refused(no)) => json!(no), // a refusal is an answer, not a failure
            Err(Fault::Failed(error)) => {
                let mut verdict =
                    self.fire("RunError", json!({"error": error, "usage": self.usage}))?;
                // A hook's result replaces the error.
                return Some(verdict["subject"].take())
                    .filter(|it| !it.is_null())
                    .ok_or(Fault::Failed(error));
            }
        };
        Ok(self.fire("RunEnd", json!({"result": result, "usage": self.usage}))?["result"].take())
    }

    fn work(&mut self) -> Result<Value, Fault> {
        let rest = if self.parent.is_some() {
            "SubagentStop"
        } else {
            "Stop"
        };
        let mut stop_active = false;
        loop {
            self.fire("StepStart", json!({}))?;
            // Between steps every tool call has its result, so here the conversation can be
            // changed.
            if self.tokens > BUDGET
                && let Err(Fault::Failed(error)) = self.compact()
            {
                return Err(Fault::Failed(error)); // if refused, the conversation isn't compacted
            }
            self.add_notes();
            let mut reply = self.ask(self.messages(), json!("large"), 1)?;
            let calls = list(&reply["calls"]);
            let results = calls
                .iter()
                .map(|call| self.tool(call))
                .collect::<Result<Vec<_>, _>>()?;
            let message = self.fire("StepEnd", json!({"lastMessage": reply["content"].take()}))?["lastMessage"].take();
            self.add([json!({"role": "assistant", "content": message, "calls": calls})]);
            self.add(results);
            let path = save(self)?;
            self.fire("Checkpoint", json!({"path": path}))?;
            if calls.is_empty() {
                match self.fire(
                    rest,
                    json!({"lastMessage": message, "stopActive": stop_active}),
                ) {
                    // Back to work, with the reason; hookwire limits how often hooks do this.
                    Err(Fault::Refused(no)) => self.notes.push(no),
                    rested => return Ok(rested?["lastMessage"].take()),
                }
                stop_active = true;
            }
        }
    }

    /// Asks the model. Each attempt fires PreModelCall again, because the model may be another one.
    fn ask(&mut self, messages: Vec<Value>, name: Value, attempt: u64) -> Result<Value, Fault> {
        let request = json!({"systemPrompt": self.context["systemPrompt"], "messages": messages});
        let data = json!({"model": {"name": name, "request": request}});
        let model = self.fire("PreModelCall", data)?["model"].take();
        match call_model(&model) {
            Ok(reply) => {
                self.count(&reply["usage"]);
                let data = json!({"model": joined(model, reply)});
                Ok(self.fire("PostModelCall", data)?["model"]["response"].take())
            }
            Err(error) => {
                let data =
                    json!({"model": joined(model, json!({"error": error, "attempt": attempt}))});
                let retry = self.fire("ModelCallError", data)?["retry"].take();
                if !waited(&retry, attempt) {
                    return Err(failure(&error));
                }
                self.ask(
                    messages,
                    retry.get("model").cloned().unwrap_or(name),
                    attempt + 1,
                )
            }
        }
    }

    /// Runs a tool call, if permitted, and returns the model's message with the output or the
    /// refusal.
    fn tool(&mut self, call: &Value) -> Result<Value, Fault> {
        let output = match self.judged(call) {
            Err(Fault::Refused(no)) => json!(format!("refused: {no}")),
            other => other?,
        };
        show(&[&self.name, text(&call["name"])], &output);
        Ok(json!({"role": "tool", "callId": call["callId"], "content": output}))
    }

    fn judged(&mut self, call: &Value) -> Result<Value, Fault> {
        let tool = self.permitted(call)?;
        let is_task = tool["name"] == "Task" && self.parent.is_none();
        let done = tried(|| {
            if is_task {
                self.task(&tool)
            } else {
                use_tool(&tool)
            }
        });
        let event = if done.get("error").is_some() {
            "PostToolUseFailure"
        } else {
            "PostToolUse"
        };
        Ok(self.fire(event, json!({"tool": joined(tool, done)}))?["tool"]["output"].take())
    }

    fn permitted(&mut self, call: &Value) -> Result<Value, Fault> {
        let mut verdict = self.fire("PreToolUse", json!({"tool": call}))?;
        let tool = verdict["tool"].take();
        // An allow is a permission only if a hook decided it; otherwise no hook had an opinion.
        if ALLOWED.contains(&text(&tool["name"])) || verdict.get("decidedBy").is_some() {
            return Ok(tool);
        }
        let asked = self.fire("PermissionRequest", json!({"tool": tool}));
        if let Err(Fault::Refused(no)) = &asked {
            self.fire("PermissionDenied", json!({"tool": tool, "reason": no}))?;
        }
        Ok(asked?["tool"].take())
    }

    fn task(&self, tool: &Value) -> Result<Value, Fault> {
        self.child(argument(tool, "agent")?, text(&tool["callId"]))
            .run(json!(argument(tool, "prompt")?))
    }

    /// Replaces the conversation by a summary.
    fn compact(&mut self) -> Result<(), Fault> {
        let mut messages = self.messages();
        let data = json!({"compaction": SUMMARISE, "messages": messages, "budget": BUDGET});
        messages.push(user(self.fire("PreCompact", data)?["compaction"].take()));
        let summary = self.ask(messages, json!("large"), 1)?["content"].take();
        let removed = self.messages().len();
        self.context["messages"] = json!([user(summary.clone())]);
        self.fire(
            "PostCompact",
            json!({"removedCount": removed, "summary": summary}),
        )
        .map(drop)
    }
}

fn main() -> std::process::ExitCode {
    world::start(|agent| agent.session())
}
