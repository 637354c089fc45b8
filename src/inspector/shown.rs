//! Hosts and events as pages know them.

use hookwire_base::support::visible::{cut, safe};
use hookwire_engine::journal::Recent;
use hookwire_engine::running::follow::Run;
use hookwire_engine::running::told;
use hookwire_handlers::handlers::guards::without_secrets;
use serde_json::{Map, Value, json};

/// The longest text that says what an event is about, in characters.
const MAX_ABOUT: usize = 2000;

/// What names one run of a host.
pub(super) fn run_id(run: &Run) -> String {
    format!("{}@{}", run.pid, run.started)
}

/// The run that has a name.
pub(super) fn run_named(id: &str) -> Option<Run> {
    let (pid, started) = id.split_once('@')?;
    Some(Run {
        pid: pid.parse().ok()?,
        started: started.to_string(),
    })
}

/// A host as pages know it.
pub(super) fn describe_host(recent: &Recent<'_>) -> Value {
    json!({
        "id": run_id(&Run::of(recent)), "root": recent.root, "pid": recent.pid, "startedAt": recent.started,
        "total": recent.total, "generation": recent.generation, "hash": recent.hash,
        "version": recent.program.as_ref().map(|it| &it.version),
        "notDenied": recent.canaries.as_ref().map(|it| &it.failed).filter(|it| !it.is_empty()),
    })
}

/// A record without its secrets, and what people are told of it.
pub(super) fn shown_record(record: Value) -> Map<String, Value> {
    kept_record(without_secrets(record))
}

/// The same of a record that has no secrets any more: to look for them takes most of the time of a
/// page of results.
pub(super) fn kept_record(record: Value) -> Map<String, Value> {
    let event = told::event_in_part(&record);
    let text = |at: &str| event.as_ref().and_then(|event| event.text(at)).map(safe);
    let said = told::about(&record, event.as_ref()).map(|it| safe(&cut(&it, MAX_ABOUT)));
    let tree = event
        .as_ref()
        .filter(|event| event.spec.start)
        .map(told::tree);
    let tree = tree.map(|tree| {
        tree.iter()
            .map(|(depth, line)| "  ".repeat(*depth) + &safe(&cut(line, MAX_ABOUT)))
            .collect::<Vec<_>>()
    });
    let session = event
        .as_ref()
        .map(|event| safe(event.session()))
        .filter(|it| !it.is_empty());
    let about = [
        ("session", json!(session)),
        (
            "run",
            json!(event.as_ref().and_then(|it| it.run()).map(safe)),
        ),
        ("parentRun", json!(text("/parentRun"))),
        ("agent", json!(safe(&told::sender(&record, event.as_ref())))),
        ("cwd", json!(text("/cwd"))),
        ("text", json!(said)),
        ("subject", json!(event.as_ref().and_then(|it| it.subject()))),
        ("tree", json!(tree)),
    ];
    let about = about
        .into_iter()
        .filter(|(_, value)| !value.is_null())
        .map(|(name, value)| (name.to_string(), value));
    let about = Value::Object(about.collect());
    Map::from_iter([("record".to_string(), record), ("about".to_string(), about)])
}
