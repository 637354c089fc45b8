//! The loop's surroundings: a scripted model, tools that change real files, a terminal. Replace
//! this file.

use crate::wire::{Agent, Fault, Host};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::process::ExitCode;
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Other tools need a permission.
pub(crate) const ALLOWED: [&str; 3] = ["Read", "Write", "Task"];
/// Tokens that the model may read before its context is compacted.
pub(crate) const BUDGET: u64 = 1000;
pub(crate) const SUMMARISE: &str =
    "Summarise this conversation so that the work can go on from your summary alone.";
/// Attempts at one model call, whatever hooks say.
const ATTEMPTS: u64 = 5;

static SESSION: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(include_str!("session.json")).unwrap_or_default());
static REPLIES: LazyLock<Mutex<VecDeque<Value>>> =
    LazyLock::new(|| Mutex::new(list(&SESSION["replies"]).into()));

/// Returns the script's next reply or error; yours would call a provider.
pub(crate) fn call_model(_model: &Value) -> Result<Value, Value> {
    let next = REPLIES
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .pop_front();
    let mut said =
        next.unwrap_or_else(|| json!({"error": {"status": 500, "message": "the script is over"}}));
    match said["error"].take() {
        Value::Null => Ok(json!({
            "response": {"content": text(&said["content"]), "calls": list(&said["calls"])},
            "usage": said["usage"],
            "finishReason": said["finishReason"].as_str().unwrap_or("stop"),
        })),
        error => Err(error),
    }
}

pub(crate) fn failure(error: &Value) -> Fault {
    Fault::Failed(format!("{} {}", error["status"], text(&error["message"])))
}

/// Waits as long as hooks ask for; returns whether to try again.
pub(crate) fn waited(retry: &Value, attempt: u64) -> bool {
    let again = (retry["action"] == "retry" || retry["action"] == "fallback") && attempt < ATTEMPTS;
    if again {
        std::thread::sleep(Duration::from_millis(
            retry["afterMs"].as_u64().unwrap_or(0),
        ));
    }
    again
}

pub(crate) fn argument<'a>(tool: &'a Value, key: &str) -> Result<&'a str, Fault> {
    let missing = || Fault::Failed(format!("{} needs `{key}`", text(&tool["name"])));
    tool["input"][key].as_str().ok_or_else(missing)
}

pub(crate) fn use_tool(tool: &Value) -> Result<Value, Fault> {
    let path = argument(tool, "path");
    match text(&tool["name"]) {
        "Read" => Ok(std::fs::read_to_string(path?)?.into()),
        "Write" => {
            Ok(std::fs::write(path?, argument(tool, "content")?).map(|()| "written".into())?)
        }
        "Delete" => Ok(std::fs::remove_file(path?).map(|()| "deleted".into())?),
        name => Err(Fault::Failed(format!("no such tool: {name}"))),
    }
}

/// Runs an act; returns its output or error, and how long it took.
pub(crate) fn tried(act: impl FnOnce() -> Result<Value, Fault>) -> Value {
    let started = Instant::now();
    let mut outcome = match act() {
        Ok(output) => json!({"output": output}),
        Err(Fault::Refused(no)) => json!({"error": no, "output": format!("refused: {no}")}),
        Err(Fault::Failed(error)) => json!({"error": error, "output": format!("failed: {error}")}),
    };
    outcome["durationMs"] = json!(started.elapsed().as_secs_f64() * 1000.0);
    outcome
}

pub(crate) fn save(agent: &Agent) -> Result<String, Fault> {
    let path = format!("checkpoint-{}.json", agent.name);
    let mut state = agent.context.clone();
    (state["run"], state["step"]) = (json!(agent.run_id), json!(agent.step));
    std::fs::write(&path, state.to_string())?;
    Ok(path)
}

pub(crate) fn show(before: &[&str], last: &Value) {
    let before: String = before.iter().map(|word| format!("{word}: ")).collect();
    println!(
        "{before}{}",
        last.as_str().unwrap_or(&last.to_string()).trim()
    );
}

/// The user's prompts; each begins a new run.
pub(crate) fn prompts() -> impl Iterator<Item = (String, Value)> {
    list(&SESSION["prompts"])
        .into_iter()
        .zip(1..)
        .map(|(prompt, n)| {
            println!("> {}", text(&prompt));
            (format!("r{n}"), prompt)
        })
}

pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

pub(crate) fn list(value: &Value) -> Vec<Value> {
    value.as_array().cloned().unwrap_or_default()
}

pub(crate) fn start(session: fn(&mut Agent) -> Result<(), Fault>) -> ExitCode {
    let host = Host::start(std::env::args().skip(1));
    match session(&mut Agent::new(&host, "coder")) {
        Ok(()) => {}
        Err(Fault::Refused(no)) => println!("refused: {no}"),
        Err(Fault::Failed(error)) => println!("failed: {error}"),
    }
    match host.stop() {
        None => ExitCode::SUCCESS,
        Some(problem) => {
            eprintln!("{problem}");
            ExitCode::FAILURE
        }
    }
}
