//! The calls of shells that were judged lately, so that a program that starts is known to belong to
//! one.

use hookwire_base::event::{ASKED, Event};
use hookwire_base::support::shell_word;
use hookwire_base::verdict::{Decision, Outcome};
use hookwire_rules::matching::shell::text_of_shell;
use lru::LruCache;
use parking_lot::Mutex;
use serde_json::Value;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// So many are remembered.
const MOST: NonZeroUsize = NonZeroUsize::new(256).unwrap();
/// Longer texts aren't.
const LONGEST: usize = 16 * 1024;

/// See the module. Empty as long as nobody tells of programs that start.
#[derive(Debug)]
pub(super) struct Calls {
    is_watched: AtomicBool,
    by_text: Mutex<LruCache<Box<str>, Call>>,
}

#[derive(Clone, Debug)]
struct Call {
    event: Arc<str>,
    /// Its text as it is given to another shell, if it is more than a word: kept, because each
    /// start is held against it.
    quoted: Option<Box<str>>,
    /// The hooks for which a person was asked, who has not said no, as far as is known here: the
    /// client may be the one who asks.
    asked: Box<[Arc<str>]>,
}

impl Default for Calls {
    fn default() -> Calls {
        Calls {
            is_watched: AtomicBool::new(false),
            by_text: Mutex::new(LruCache::new(MOST)),
        }
    }
}

impl Calls {
    /// From now on programs that start are told.
    pub(super) fn watch(&self) {
        self.is_watched.store(true, Ordering::Relaxed);
    }

    /// Remembers a call that wasn't denied.
    pub(super) fn note_call(&self, event: &Event, outcomes: &[Outcome]) {
        if !self.is_watched.load(Ordering::Relaxed) || event.spec.start {
            return;
        }
        let text = event
            .tool_input()
            .and_then(|input| input.get("command"))
            .and_then(Value::as_str);
        if let Some(text) = text.filter(|text| !text.is_empty() && text.len() <= LONGEST) {
            let asked = outcomes
                .iter()
                .filter(|it| it.decision == Some(Decision::Ask))
                .map(|it| it.hook.clone())
                .collect();
            let quoted = text
                .contains(' ')
                .then(|| shell_word::argument(text).into());
            self.by_text.lock().put(
                text.into(),
                Call {
                    event: event.id.clone(),
                    quoted,
                    asked,
                },
            );
        }
    }

    /// The start of a program with the call that it belongs to, if it doesn't say that itself: the
    /// one whose text a shell that it comes from was told to run, as it is or quoted for another
    /// shell. That a word says it proves nothing: whoever is below may write words.
    pub(super) fn join(&self, start: &mut Arc<Event>) {
        if !start.spec.start || !self.is_watched.load(Ordering::Relaxed) {
            return;
        }
        let call = match start.text("/exec/toolCall") {
            Some(id) => self
                .by_text
                .lock()
                .iter()
                .map(|(_, call)| call)
                .find(|call| *call.event == *id)
                .cloned(),
            None => self.of(start),
        };
        let Some(call) = call else { return };
        Arc::make_mut(start).change(|data| {
            if let Some(exec) = data.get_mut("exec").and_then(Value::as_object_mut) {
                exec.insert("toolCall".into(), call.event.as_ref().into());
                exec.insert(
                    ASKED.into(),
                    call.asked.iter().map(|hook| Value::from(&**hook)).collect(),
                );
            }
        });
    }

    fn of(&self, start: &Event) -> Option<Call> {
        let parents = start
            .at("/exec/parents")
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        let own = start.at("/exec/argv").and_then(Value::as_array);
        let argvs = parents
            .filter_map(|parent| parent.get("argv")?.as_array())
            .chain(own);
        let texts: Vec<&str> = argvs
            .filter_map(|argv| Some(text_of_shell(&words(argv))?.1))
            .collect();
        let calls = self.by_text.lock();
        let is_of = |text: &str, call: &Call| {
            let is_within = |word: &str| {
                call.quoted
                    .as_deref()
                    .is_some_and(|quoted| word.contains(quoted))
            };
            texts.iter().any(|it| *it == text || is_within(it))
        };
        calls
            .iter()
            .find(|(text, call)| is_of(text, call))
            .map(|(_, call)| call.clone())
    }
}

/// The words of a program; one that is no text is none.
fn words(argv: &[Value]) -> Vec<&str> {
    argv.iter()
        .map(|word| word.as_str().unwrap_or_default())
        .collect()
}
