//! One script in a QuickJS of its own, which one thread at a time runs.
//!
//! The runtime has a memory limit, a stack limit and an interrupt handler that reads the job's
//! stop flag. Its global object is made and frozen by `realm.js`, so that a run leaves nothing
//! behind and the realm serves the next one. After a run that was ended from outside, or that
//! failed for memory, the realm is not used again.

use super::job::{Done, Job, Program};
use crate::handlers::digits::{self, Handed, Language};
use crate::services::state::{Scope, StateError};
use hookwire_base::support::visible::first_line_cut;
use parking_lot::Mutex;
use rquickjs::context::{EvalOptions, intrinsic};
use rquickjs::function::Opt;
use rquickjs::{
    CatchResultExt, CaughtError, Context, Ctx, Exception, Function, Object, Persistent, Runtime,
    Value,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// What scripts have of the language. No proxies: whatever takes an array could be told another
/// length each time. No buffers, no weak references: they tell when memory is collected.
type Intrinsics = (
    intrinsic::Eval,
    intrinsic::Date,
    intrinsic::RegExpCompiler,
    intrinsic::RegExp,
    intrinsic::Json,
    intrinsic::MapSet,
    intrinsic::Promise,
);

/// For QuickJS, of the thread's stack (see [`super::pool::STACK`]).
const MAX_STACK: usize = 1024 * 1024;
/// For the parser, on threads that other things run on.
const MAX_PARSER_STACK: usize = 256 * 1024;
/// For the parser.
const PARSER_MEMORY: usize = 64 * 1024 * 1024;
/// The largest answer, as JSON in bytes.
const MAX_ANSWER: usize = 1024 * 1024;
/// Lines that one run may log.
const MAX_LOG_LINES: usize = 50;
/// Characters of a line in the log, and of an exception's message.
const MAX_TEXT: usize = 1000;
/// Values that one `state.list` gives.
const MAX_LISTED: usize = 1000;
/// What frames of the script are called in stack traces.
const SCRIPT: &str = "<hook>";
/// What comes before the script's own first line.
const HEAD: &str = "(function (event, args, state, log, console, hook) {\n";
const TAIL: &str = "\n})";

/// A mistake in a script's text.
pub(in crate::handlers) struct SyntaxMistake {
    /// Counted from 1.
    pub line: usize,
    /// In bytes, counted from 1.
    pub column: usize,
    pub message: String,
}

/// Parses a script; nothing of it is run.
pub(in crate::handlers) fn check(code: &str) -> Result<(), SyntaxMistake> {
    let unplaced = |message: &str| SyntaxMistake {
        line: 1,
        column: 1,
        message: message.into(),
    };
    let runtime = Runtime::new().map_err(|_| unplaced("there is no memory to parse it"))?;
    runtime.set_memory_limit(PARSER_MEMORY);
    runtime.set_max_stack_size(MAX_PARSER_STACK);
    let context = Context::custom::<Intrinsics>(&runtime)
        .map_err(|_| unplaced("there is no memory to parse it"))?;
    context.with(|ctx| {
        // A module can be compiled without being run.
        let text = format!("export default {HEAD}{code}{TAIL}");
        match rquickjs::Module::declare(ctx.clone(), SCRIPT, text).catch(&ctx) {
            Ok(_) => Ok(()),
            Err(CaughtError::Exception(exception)) => {
                let (line, column) = place(&exception).unwrap_or((1, 1));
                Err(SyntaxMistake {
                    line,
                    column,
                    message: message(&exception),
                })
            }
            Err(CaughtError::Error(_) | CaughtError::Value(_)) => {
                Err(unplaced("it can't be parsed"))
            }
        }
    })
}

/// Line and column in the script where an exception comes from.
fn place(exception: &Exception<'_>) -> Option<(usize, usize)> {
    let stack = exception.stack()?;
    let mut frames = stack.split(SCRIPT).skip(1);
    frames.find_map(|after| {
        let mut numbers = after
            .strip_prefix(':')?
            .split(|c: char| !c.is_ascii_digit());
        let line = numbers.next()?.parse::<usize>().ok()?.checked_sub(1)?;
        let column = numbers.next().and_then(|it| it.parse().ok()).unwrap_or(1);
        Some((line.max(1), column))
    })
}

fn message(exception: &Exception<'_>) -> String {
    clip(&exception.message().unwrap_or_default())
}

fn clip(text: &str) -> String {
    first_line_cut(text, MAX_TEXT)
}

/// See the module.
pub(super) struct Realm {
    // Values go before what they live in.
    script: Kept<Function<'static>>,
    run: Kept<Function<'static>>,
    context: Context,
    runtime: Runtime,
    current: Arc<Current>,
}

/// A value of QuickJS that goes with its realm from thread to thread.
struct Kept<T>(Persistent<T>);

#[allow(
    unsafe_code,
    reason = "a value of QuickJS is a pointer, which Rust keeps on its thread"
)]
// SAFETY: what it points to belongs to the runtime of the same realm, which moves with it. Only
// `Realm::run`, in which the runtime is locked, and the drop of the realm use it; neither lets
// another thread in.
unsafe impl<T> Send for Kept<T> {}

/// In bytes.
const BALLAST: usize = 64 * 1024;

/// The run that the realm's functions act for.
#[derive(Default)]
struct Current {
    job: Mutex<Option<Arc<Job>>>,
    lines: AtomicUsize,
    changed: AtomicBool,
    handed: Mutex<Handed>,
    /// Memory to end the script with: where there is none left, QuickJS has none for the error that
    /// can't be caught, and the script would catch another one and go on.
    ballast: Mutex<Option<Kept<rquickjs::String<'static>>>>,
}

/// Why there is no answer.
pub(super) struct Failure {
    /// Finishes "failed to ...".
    pub text: String,
    /// The realm must not be used again.
    pub is_fatal: bool,
}

impl Current {
    fn is_stopped(&self) -> bool {
        self.job.lock().as_ref().is_none_or(|job| job.is_stopped())
    }

    fn log(&self, level: &str, text: &str) {
        let lines = self.lines.fetch_add(1, Ordering::Relaxed);
        let Some(job) = self.job.lock().clone() else {
            return;
        };
        let hook = &*job.request.hook;
        let text = clip(text);
        match level {
            _ if lines == MAX_LOG_LINES => {
                tracing::warn!(
                    hook,
                    "The script logs more; the rest of this run is left out."
                )
            }
            _ if lines > MAX_LOG_LINES => {}
            "debug" => tracing::debug!(hook, "{text}"),
            "info" => tracing::info!(hook, "{text}"),
            "warn" => tracing::warn!(hook, "{text}"),
            _ => tracing::error!(hook, "{text}"),
        }
    }

    /// One operation on the shared values; values are JSON.
    fn store(
        &self,
        scope: &str,
        operation: &str,
        key: &str,
        value: Option<String>,
        ttl: Option<f64>,
        expected: Option<String>,
    ) -> Result<Option<String>, StateError> {
        let Some(job) = self.job.lock().clone() else {
            return Ok(None);
        };
        // The run was given up, so it may not change anything.
        if self.is_stopped() {
            return Err(StateError("use the state: the run was ended".into()));
        }
        let scope = if scope == "global" {
            &Scope::Global
        } else {
            &job.request.scope
        };
        let store = &job.request.store;
        let read = |text: &str| {
            let unreadable = |error: String| StateError(format!("read a value: {error}"));
            let mut value = hookwire_base::support::json::parse(text)
                .map_err(|error| unreadable(error.to_string()))?;
            let (event, handed, before) = (
                &job.request.event,
                self.handed.lock(),
                store.get(scope, key),
            );
            digits::restore(
                &mut value,
                Language::JavaScript,
                event,
                &handed,
                before.as_ref(),
            )
            .map_err(unreadable)?;
            Ok(value)
        };
        let hand = |value: &serde_json::Value| {
            self.handed
                .lock()
                .add(Language::JavaScript, value)
                .map_err(StateError)?;
            Ok(value.to_string())
        };
        let value = value.as_deref().map(read).transpose()?.unwrap_or_default();
        let ttl = ttl.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        if matches!(operation, "set" | "increment" | "compareAndSet" | "delete") {
            self.changed.store(true, Ordering::Relaxed);
            if job.until.is_some() {
                return Err(StateError("change the state on the spot".into()));
            }
        }
        Ok(match operation {
            "get" => store
                .get(scope, key)
                .map(|value| hand(&value))
                .transpose()?,
            "set" => {
                store.set(scope, key, value, ttl)?;
                None
            }
            "increment" => {
                let by = value.as_number().cloned().unwrap_or_else(|| 1.into());
                Some(hand(
                    &store
                        .increment_once(scope, key, &by, ttl, &job.request.occasion)?
                        .into(),
                )?)
            }
            "compareAndSet" => {
                let expected = expected.as_deref().map(read).transpose()?;
                Some(
                    store
                        .compare_and_set(scope, key, expected.as_ref(), value, ttl)?
                        .0
                        .to_string(),
                )
            }
            "delete" => Some(store.delete(scope, key).to_string()),
            _ => {
                let items = store.list(scope, key, MAX_LISTED + 1);
                if items.len() > MAX_LISTED {
                    return Err(StateError(format!(
                        "list the keys from `{key}`: there are more than {MAX_LISTED}"
                    )));
                }
                for item in &items {
                    hand(&item.value)?;
                }
                serde_json::to_string(&items).ok()
            }
        })
    }
}

impl Realm {
    /// Makes the realm of a script. Bounded like a run: it ends when the job is stopped.
    pub(super) fn new(program: &Program, job: &Arc<Job>) -> Result<Realm, Failure> {
        let no_memory = |_| Failure {
            text: "run the script: there is no memory for it".into(),
            is_fatal: true,
        };
        let runtime = Runtime::new().map_err(no_memory)?;
        runtime.set_memory_limit(program.memory);
        runtime.set_max_stack_size(MAX_STACK);
        let current = Arc::<Current>::default();
        *current.job.lock() = Some(job.clone());
        let interrupted = current.clone();
        runtime.set_interrupt_handler(Some(Box::new(move || {
            let is_stopped = interrupted.is_stopped();
            if is_stopped {
                drop(interrupted.ballast.lock().take());
            }
            is_stopped
        })));
        let context = Context::custom::<Intrinsics>(&runtime).map_err(no_memory)?;
        let (script, run, ballast) = context.with(|ctx| {
            let made = || {
                let ballast = rquickjs::String::from_str(ctx.clone(), &"-".repeat(BALLAST))?;
                let (script, run) = functions(&ctx, program, job, &current)?;
                Ok((script, run, Kept(Persistent::save(&ctx, ballast))))
            };
            made()
                .catch(&ctx)
                .map_err(|error| failure(program, job, &error))
        })?;
        *current.ballast.lock() = Some(ballast);
        Ok(Realm {
            script,
            run,
            context,
            runtime,
            current,
        })
    }

    /// Runs the script once.
    pub(super) fn run(&self, program: &Program, job: &Arc<Job>) -> Result<Done, Failure> {
        *self.current.job.lock() = Some(job.clone());
        self.current.lines.store(0, Ordering::Relaxed);
        *self.current.handed.lock() = Handed::default();
        self.current.changed.store(false, Ordering::Relaxed);
        let result = self.context.with(|ctx| {
            let call = || -> rquickjs::Result<Option<String>> {
                let (script, run) = (
                    self.script.0.clone().restore(&ctx)?,
                    self.run.0.clone().restore(&ctx)?,
                );
                let event = std::str::from_utf8(&job.request.event)?;
                let answer: Option<rquickjs::String<'_>> = run.call((script, event))?;
                answer.map(|answer| answer.to_string()).transpose()
            };
            call()
                .catch(&ctx)
                .map_err(|error| failure(program, job, &error))
        });
        // Callbacks that the script put off run now, because none may run on into the next run.
        while self.runtime.is_job_pending() {
            if self.current.is_stopped() {
                return Err(ended());
            }
            if self.runtime.execute_pending_job().is_err() {
                // A rejected promise is no such error: this is a callback, or the memory.
                let text = "run the script: what it put off until later failed".to_string();
                return Err(Failure {
                    text,
                    is_fatal: true,
                });
            }
        }
        // A script that ran on past its end may have caught the error that ended it, so its answer
        // doesn't count.
        if self.current.is_stopped() {
            return Err(ended());
        }
        *self.current.job.lock() = None;
        let answer = result?;
        if answer
            .as_ref()
            .is_some_and(|answer| answer.len() > MAX_ANSWER)
        {
            let text = format!(
                "use the script's answer: it is larger than {} MiB",
                MAX_ANSWER >> 20
            );
            return Err(Failure {
                text,
                is_fatal: false,
            });
        }
        let handed = std::mem::take(&mut *self.current.handed.lock());
        let changed = self.current.changed.load(Ordering::Relaxed);
        Ok(Done {
            answer,
            handed,
            changed,
            took: Duration::ZERO,
        })
    }
}

impl Drop for Realm {
    fn drop(&mut self) {
        // A value must not outlive its runtime, which doesn't end before `current`.
        drop(self.current.ballast.lock().take());
    }
}

fn ended() -> Failure {
    // This text is not shown, because the caller that stopped the run says why.
    Failure {
        text: "finish the script: it was ended".into(),
        is_fatal: true,
    }
}

type Functions = (Kept<Function<'static>>, Kept<Function<'static>>);

/// The script as a function, and the function that runs it.
fn functions<'js>(
    ctx: &Ctx<'js>,
    program: &Program,
    job: &Arc<Job>,
    current: &Arc<Current>,
) -> rquickjs::Result<Functions> {
    let file = |name: &str| {
        let mut options = EvalOptions::default();
        options.filename = Some(name.to_string());
        options
    };
    let native = Object::new(ctx.clone())?;
    let it = current.clone();
    native.set(
        "stopped",
        Function::new(ctx.clone(), move || it.is_stopped())?,
    )?;
    let it = current.clone();
    let log = move |level: String, text: rquickjs::String<'_>| {
        it.log(
            &level,
            &text
                .to_string()
                .unwrap_or_else(|_| "(text that is not Unicode)".into()),
        );
    };
    native.set("log", Function::new(ctx.clone(), log)?)?;
    let it = current.clone();
    let store = move |ctx: Ctx<'_>,
                      scope: String,
                      operation: String,
                      key: String,
                      value: Opt<Option<String>>,
                      ttl: Opt<Option<f64>>,
                      expected: Opt<Option<String>>| {
        it.store(
            &scope,
            &operation,
            &key,
            value.0.flatten(),
            ttl.0.flatten(),
            expected.0.flatten(),
        )
        .map_err(|error| Exception::throw_message(&ctx, &format!("failed to {error}")))
    };
    native.set("store", Function::new(ctx.clone(), store)?)?;
    let make: Function<'js> = ctx.eval_with_options(include_str!("realm.js"), file("<realm>"))?;
    let realm: Object<'js> = make.call((
        native,
        &*job.request.about,
        &*program.args,
        job.request.is_native,
    ))?;
    let text = format!("{HEAD}{}{TAIL}", program.code);
    // The parentheses make it an expression and aren't part of the function's text.
    let whole = text[1..text.len() - 1].to_string();
    let script: Value<'js> = ctx.eval_with_options(text, file(SCRIPT))?;
    let is_whole: Function<'js> = realm.get("isWhole")?;
    if !is_whole.call::<_, bool>((script.clone(), whole))? {
        return Err(Exception::throw_syntax(
            ctx,
            "the script is not the body of a function: it closes a brace too many",
        ));
    }
    let script = script
        .try_into_function()
        .map_err(|_| rquickjs::Error::Unknown)?;
    let run: Function<'js> = realm.get("run")?;
    Ok((
        Kept(Persistent::save(ctx, script)),
        Kept(Persistent::save(ctx, run)),
    ))
}

/// Describes an error for the script's author.
fn failure(program: &Program, job: &Job, error: &CaughtError<'_>) -> Failure {
    if job.is_stopped() {
        return ended();
    }
    let (what, line) = match error {
        CaughtError::Exception(exception) => {
            let name: String = exception
                .as_object()
                .get("name")
                .unwrap_or_else(|_| "Error".into());
            let message = message(exception);
            let joint = if message.is_empty() { "" } else { ": " };
            (
                format!("{}{joint}{message}", clip(&name)),
                place(exception).map(|(line, _)| line),
            )
        }
        CaughtError::Value(value) => match value.as_string().and_then(|text| text.to_string().ok())
        {
            Some(text) => (clip(&text), None),
            None => (
                format!("it threw {}, which is not an error", value.type_name()),
                None,
            ),
        },
        CaughtError::Error(error) => (clip(&error.to_string()), None),
    };
    let at = line
        .map(|line| format!(" at {}", program.place(line)))
        .unwrap_or_default();
    // QuickJS says so when it has reached the limit; the realm has little room left.
    let is_fatal = what.contains("out of memory") || matches!(error, CaughtError::Error(_));
    Failure {
        text: format!("run the script: {what}{at}"),
        is_fatal,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::services::state::Store;
    use serde_json::{Value, json};
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Instant;

    /// A call that is silent for this long is ended.
    const SILENT: Duration = Duration::from_millis(40);
    /// The most that a call may take to end, on a busy machine and with C that isn't optimised.
    const LATE: Duration = Duration::from_secs(3);

    /// Everything that a script can reach, called with what no built-in expects: each call ends
    /// soon after it is told to, and nothing crashes. `HOOKWIRE_HOSTILE=1` makes every call instead
    /// of one in 9973, or in 997 with `HOOKWIRE_FULL`.
    #[test]
    fn nothing_that_can_be_reached_holds_a_thread() {
        let every = every();
        let program = Arc::new(Program::bare(include_str!("hostile.js")));
        let count = {
            let job = Job::bare(&program, &json!({"count": true}), Store::default());
            let realm = Realm::new(&program, &job).unwrap_or_else(|error| panic!("{}", error.text));
            let done = realm
                .run(&program, &job)
                .unwrap_or_else(|error| panic!("{}", error.text));
            serde_json::from_str::<Value>(&done.answer.unwrap()).unwrap()["count"]
                .as_u64()
                .unwrap()
        };
        assert!(count > 300, "the walk has found only {count} functions");
        let (next, slowest) = (
            AtomicUsize::new(0),
            std::sync::Mutex::new((Duration::ZERO, Value::Null)),
        );
        std::thread::scope(|scope| {
            for _ in 0..2 {
                std::thread::Builder::new()
                    .stack_size(super::super::pool::STACK)
                    .spawn_scoped(scope, || {
                        let mut realm = None;
                        loop {
                            let callable = next.fetch_add(1, Ordering::Relaxed) as u64;
                            if callable >= count {
                                return;
                            }
                            let mut from = 0;
                            while let Some((at, late, place)) =
                                sweep(&program, &mut realm, callable, from, every)
                            {
                                from = at;
                                let mut slowest = slowest.lock().unwrap();
                                if late > slowest.0 {
                                    *slowest = (late, place);
                                }
                            }
                        }
                    })
                    .unwrap();
            }
        });
        let (late, place) = slowest.into_inner().unwrap();
        println!("the last to end took {late:?}: {place}");
        assert!(late < LATE, "{late:?}: {place}");
    }

    /// Everything that a script can reach, and what the language does by itself, when there is
    /// hardly any memory left: QuickJS may fail, but not crash. Takes what `HOOKWIRE_HOSTILE` says,
    /// too.
    #[test]
    fn nothing_that_fails_for_memory_ends_the_process() {
        let bare = Program::bare(include_str!("brim.js"));
        let program = Arc::new(Program {
            memory: crate::handlers::realms::job::MIN_MEMORY,
            ..bare
        });
        let run = |event: Value| {
            let job = Job::bare(&program, &event, Store::default());
            let (watched, (done, is_done)) = (job.clone(), std::sync::mpsc::channel::<()>());
            let watchdog = std::thread::spawn(move || {
                let _ = is_done.recv_timeout(Duration::from_secs(5));
                watched.stop.store(true, Ordering::Relaxed);
            });
            let realm = Realm::new(&program, &job).unwrap_or_else(|error| panic!("{}", error.text));
            let answer = realm.run(&program, &job).ok().and_then(|done| done.answer);
            drop(done);
            watchdog.join().unwrap();
            serde_json::from_str::<Value>(&answer.unwrap_or_default()).unwrap_or_default()
        };
        let count = run(json!({}))["count"].as_u64().unwrap();
        let step = match every() {
            1 => 1,
            ..=OFTEN => 37,
            _ => 211,
        };
        for from in (0..count).step_by(step) {
            run(json!({"from": from}));
        }
    }

    /// One call in so many is made by `.ci/run`.
    const OFTEN: u64 = 997;

    fn every() -> u64 {
        let usual = if std::env::var_os("HOOKWIRE_FULL").is_some() {
            OFTEN
        } else {
            9973
        };
        std::env::var("HOOKWIRE_HOSTILE")
            .ok()
            .and_then(|it| it.parse().ok())
            .unwrap_or(usual)
    }

    /// Makes the calls of one function until one has to be ended: which, and how long that took.
    fn sweep(
        program: &Arc<Program>,
        realm: &mut Option<Realm>,
        callable: u64,
        from: u64,
        every: u64,
    ) -> Option<(u64, Duration, Value)> {
        let store = Store::default();
        let event = json!({"every": every, "from": {"callable": callable, "at": from}});
        let job = Job::bare(program, &event, store.clone());
        let at = || {
            store
                .get(&Scope::Global, "at")
                .unwrap_or(json!({"at": from}))
        };
        let (done, is_done) = std::sync::mpsc::channel::<()>();
        let stopped = std::thread::scope(|scope| {
            let (is_done, at, job) = (is_done, &at, &job);
            let watchdog = scope.spawn(move || {
                let mut last = (at(), Instant::now());
                while is_done
                    .recv_timeout(SILENT / 8)
                    .is_err_and(|it| it == std::sync::mpsc::RecvTimeoutError::Timeout)
                {
                    let now = at();
                    if now != last.0 {
                        last = (now, Instant::now());
                    } else if last.1.elapsed() > SILENT {
                        job.stop.store(true, Ordering::Relaxed);
                        let stopped = Instant::now();
                        while is_done
                            .recv_timeout(Duration::from_secs(20))
                            .is_err_and(|it| it == std::sync::mpsc::RecvTimeoutError::Timeout)
                        {
                            println!("still inside after {:?}: {}", stopped.elapsed(), at());
                        }
                        return Some((stopped, at()));
                    }
                }
                None
            });
            let taken = realm.take().map_or_else(|| Realm::new(program, job), Ok);
            let result = taken.and_then(|taken| taken.run(program, job).map(|_| taken));
            drop(done);
            *realm = result.ok();
            watchdog.join().unwrap()
        });
        let (stopped, place) = stopped?;
        Some((
            place["at"].as_u64().unwrap_or(from) + 1,
            stopped.elapsed(),
            place,
        ))
    }
}
