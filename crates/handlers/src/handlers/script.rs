//! `script`: JavaScript in process.
//!
//! The text is the body of a function that sees the event as frozen data and returns the answer. It
//! reaches no file, network or process: see [`realms`](super::realms).

use super::call::Call;
use super::compile::{Compile, Mistake};
use super::digits::{self, Language};
use super::error::HandlerError;
use super::kind::{Kind, TextKind};
use super::means::{Means, Obstacle};
use super::realms::job::{DEFAULT_MEMORY, Done, MIN_MEMORY, Program, RunRequest};
use super::realms::pool::{self, OnTheSpot};
use super::realms::realm;
use crate::handlers::call::HookView;
use crate::services::state::Scope;
use hookwire_base::event::On;
use hookwire_base::syntax::values::{schema_of, text_or_map};
use hookwire_base::verdict::Answer;
use hookwire_rules::contract::NATIVE;
use hookwire_rules::matching::paths::normalise;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::Visitor;
use serde_json::{Map, Value, json};
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;
use tokio::sync::Semaphore;

/// The body of a function, or where it is and what it may use.
pub struct RawScript(RawLong);

#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RawLong {
    /// The body of a function: `event`, `args`, `state`, `log` and `hook` are in scope; what it
    /// returns is the answer, nothing is no opinion.
    code: Option<String>,
    /// A file that holds it; a relative path starts at the definition's file.
    file: Option<String>,
    /// The most memory that the script may use: bytes, or a text such as `64MiB`. Default 32 MiB.
    memory: Option<RawMemory>,
    /// What the script sees as `args`.
    #[serde(default)]
    args: Map<String, Value>,
}

struct RawMemory(usize);

const MAX_MEMORY: usize = 1024 * 1024 * 1024;
/// The longest script, in bytes.
const MAX_CODE: usize = 256 * 1024;
/// Runs of one script at once: one that hangs must not take every thread.
const MAX_RUNS: usize = pool::MAX_THREADS / 2;

text_or_map!(
    RawScript(RawLong),
    "Script",
    "JavaScript or a map with `code` or `file`",
    "The body of a JavaScript function, or a map with `code` or `file`.",
    |code| RawLong {
        code: Some(code),
        ..RawLong::default()
    }
);

impl<'de> Deserialize<'de> for RawMemory {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MemoryVisitor;
        impl Visitor<'_> for MemoryVisitor {
            type Value = RawMemory;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a number of bytes or a text such as `64MiB`")
            }

            fn visit_u64<E: serde::de::Error>(self, bytes: u64) -> Result<RawMemory, E> {
                match usize::try_from(bytes) {
                    Ok(bytes) if (MIN_MEMORY..=MAX_MEMORY).contains(&bytes) => Ok(RawMemory(bytes)),
                    _ => Err(E::custom(format_args!(
                        "a script has between {} MiB and {} MiB of memory",
                        MIN_MEMORY >> 20,
                        MAX_MEMORY >> 20
                    ))),
                }
            }

            fn visit_i64<E: serde::de::Error>(self, bytes: i64) -> Result<RawMemory, E> {
                self.visit_u64(u64::try_from(bytes).unwrap_or(0))
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<RawMemory, E> {
                let (number, unit) = text.split_at(
                    text.find(|c: char| !c.is_ascii_digit())
                        .unwrap_or(text.len()),
                );
                let factor = match unit.trim() {
                    "" | "B" => 1,
                    "KiB" => 1 << 10,
                    "MiB" => 1 << 20,
                    "GiB" => 1 << 30,
                    _ => {
                        return Err(E::custom(format_args!(
                            "`{text}` is no size; write `64MiB`"
                        )));
                    }
                };
                match number
                    .parse::<u64>()
                    .ok()
                    .and_then(|number| number.checked_mul(factor))
                {
                    Some(bytes) => self.visit_u64(bytes),
                    None => Err(E::custom(format_args!(
                        "`{text}` is no size; write `64MiB`"
                    ))),
                }
            }
        }
        deserializer.deserialize_any(MemoryVisitor)
    }
}

schema_of! { RawMemory, "Memory", _ => {
    "description": "A number of bytes, or a text such as `64MiB`.",
    "anyOf": [{ "type": "string", "pattern": "^[0-9]+ *([KMG]iB|B)?$" }, { "type": "integer", "minimum": MIN_MEMORY }],
} }

pub struct Script {
    program: Arc<Program>,
    /// What the script sees as `hook`: known once it runs.
    about: OnceLock<Arc<str>>,
    turns: Semaphore,
    /// The last run took long: whoever asks for another doesn't wait on the spot.
    is_slow: AtomicBool,
    /// Quick runs in a row, on a thread.
    quick_runs: AtomicU32,
}

impl std::fmt::Debug for Script {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Script")
            .field("code", &self.program.code)
            .finish_non_exhaustive()
    }
}

/// Whether a text is a path of a script, and no script.
fn is_path(code: &str) -> bool {
    let code = code.trim();
    [".js", ".mjs", ".cjs", ".ts"]
        .iter()
        .any(|ending| code.ends_with(ending))
        && !code.contains(['\n', ' ', '(', ';'])
}

impl Kind for Script {
    type Raw = RawScript;

    const TEXTS: &'static [(&'static str, TextKind)] = &[("file", TextKind::File)];

    fn compile(RawScript(raw): RawScript, cx: &Compile<'_>) -> Result<Self, Mistake> {
        let (code, name, field) = match (raw.code, raw.file) {
            (Some(_), Some(_)) => {
                return Err(Mistake::new(
                    "file",
                    "a script has `code` or `file`, this has both",
                ));
            }
            (None, None) => return Err(Mistake::whole("a script needs `code` or `file`")),
            (Some(code), None) => (code, "the script".to_string(), "code"),
            (None, Some(file)) => {
                let path = cx.dir.join(&file);
                let code = (cx.read)(&path);
                let missing = |problem: String| {
                    // Where it is looked for is said once.
                    let problem = problem
                        .split(" (os error ")
                        .next()
                        .unwrap_or_default()
                        .to_lowercase();
                    Mistake::new("file", format!("can't read the script {file}: {problem}")).help(
                        format!("it is looked for at {}", normalise(&path).display()),
                    )
                };
                let name = Path::new(&file)
                    .file_name()
                    .unwrap_or_default()
                    .to_string_lossy()
                    .into_owned();
                (code.map_err(missing)?, name, "file")
            }
        };
        if code.trim().is_empty() {
            return Err(Mistake::new(field, "the script is empty"));
        }
        if code.len() > MAX_CODE {
            return Err(Mistake::new(
                field,
                format!("the script is larger than {} KiB", MAX_CODE >> 10),
            ));
        }
        let is_inline = field == "code";
        realm::check(&code).map_err(|mistake| {
            let realm::SyntaxMistake {
                line,
                column,
                message,
            } = mistake;
            // A mistake may be placed behind the script, in text that its author didn't write.
            let n_lines = code.trim_end().lines().count();
            let last = code
                .trim_end()
                .char_indices()
                .last()
                .map_or(0, |(at, _)| at);
            let (line, at, message) = match line > n_lines {
                true => (n_lines, last, "it ends too early".to_string()),
                false => (line, offset(&code, line, column), message),
            };
            match is_inline {
                // A path is no JavaScript.
                true if is_path(&code) => {
                    Mistake::new(field, format!("not valid JavaScript: {message}")).help(format!(
                        "to name a file, write `script: {{ file: {} }}`",
                        code.trim()
                    ))
                }
                true => Mistake {
                    at: Some(at..code.len().min(at + 1)),
                    ..Mistake::new(field, format!("not valid JavaScript: {message}"))
                },
                false => Mistake::new(
                    field,
                    format!("{name}:{line}: not valid JavaScript: {message}"),
                ),
            }
        })?;
        let lines = if is_inline {
            (cx.lines)(field)
        } else {
            Vec::new()
        };
        let args = Value::Object(raw.args).to_string();
        let memory = raw.memory.map_or(DEFAULT_MEMORY, |memory| memory.0);
        Ok(Script {
            program: Arc::new(Program {
                code,
                args,
                memory,
                name,
                lines,
            }),
            about: OnceLock::new(),
            turns: Semaphore::new(MAX_RUNS),
            is_slow: AtomicBool::new(false),
            quick_runs: AtomicU32::new(0),
        })
    }

    fn obstacle(&self, hook: &HookView<'_>, _: &Means) -> Option<Obstacle> {
        let code = &self.program.code;
        let replies: &[&str] = if hook.contract.dialect == NATIVE {
            &["deny(", "ask("]
        } else {
            &[]
        };
        // A file's code is no text of the definition: there, the place is the whole handler.
        let obstacle = |message, part| {
            Some(
                Obstacle::new("never-decides", message)
                    .at("code")
                    .within(part),
            )
        };
        if let Some(at) = dropped_reply(code, replies) {
            let message = format!(
                "`{}` is made and not returned: to return nothing is to agree",
                &code[at.clone()]
            );
            return Some(obstacle(message, at)?.help("write `return` before it"));
        }
        let (at, reply) = replies
            .iter()
            .find_map(|reply| Some((calls(code, reply).next()?, reply)))?;
        (returns(code) == Some(false)).then_some(())?;
        let reply = reply.trim_end_matches('(');
        let message = format!(
            "it returns nothing, so its `{reply}` is lost: the text is the body of a function itself"
        );
        Some(
            obstacle(message, at..at + reply.len())?
                .help("write `return`; call a function that is in it: `return check(event)`"),
        )
    }

    fn awaited(&self, _: &On) -> Option<&'static str> {
        let decides = ["return deny(", "return ask("]
            .iter()
            .any(|it| self.program.code.contains(it));
        decides.then_some("verdict")
    }

    fn has_effects(&self) -> bool {
        false
    }

    async fn run(&self, call: &Call<'_>) -> Result<Answer, HandlerError> {
        let event = call.moment.event();
        Language::JavaScript
            .reaches(event.data())
            .map_err(|error| HandlerError(format!("read the event: {error}")))?;
        let request = RunRequest {
            program: self.program.clone(),
            event: call.moment.payload(call.hook.contract),
            hook: call.hook.name.clone(),
            about: self.about.get_or_init(|| about(call.hook)).clone(),
            is_native: call.hook.contract.dialect == hookwire_rules::contract::NATIVE,
            scope: Scope::of(event.text("/session")),
            store: call.services.state.clone(),
            occasion: call.occasion(),
        };
        // Only hooks of trusted layers may run here: others could be quick until they are trusted,
        // and slow then.
        let is_vouched_for = call.hook.source.layer.is_trusted();
        let is_quick = is_vouched_for && self.quick_runs.load(Ordering::Relaxed) >= pool::ENOUGH;
        let at_once = if is_quick {
            call.services.scripts.on_the_spot(&request)
        } else {
            OnTheSpot::NotTried
        };
        let done = match at_once {
            OnTheSpot::Done(done) => done,
            OnTheSpot::NotTried => self.on_a_thread(call, request).await?,
            OnTheSpot::GivenUp => {
                self.quick_runs.store(0, Ordering::Relaxed);
                self.on_a_thread(call, request).await?
            }
        };
        let quick = done.took <= pool::QUICK && !done.changed;
        let runs = if quick {
            self.quick_runs.load(Ordering::Relaxed).saturating_add(1)
        } else {
            0
        };
        self.quick_runs.store(runs, Ordering::Relaxed);
        if done.changed {
            call.services
                .state
                .saved()
                .await
                .map_err(|error| HandlerError(error.0))?;
        }
        let Some(answer) = done.answer else {
            return Ok(Answer::default());
        };
        let answer = digits::read(&answer, Language::JavaScript, event, &done.handed);
        let answer = answer.map_err(|error| HandlerError(format!("read the answer: {error}")))?;
        (call.hook.contract.reply)(event, answer).map_err(HandlerError)
    }
}

impl Script {
    async fn on_a_thread(
        &self,
        call: &Call<'_>,
        request: RunRequest,
    ) -> Result<Done, HandlerError> {
        let turn = self
            .turns
            .acquire()
            .await
            .map_err(|_| HandlerError("run the script".into()))?;
        let mut running = call.services.scripts.start(request).await?;
        let at_once = if self.is_slow.load(Ordering::Relaxed) {
            None
        } else {
            running.wait_briefly()
        };
        let done = match at_once {
            Some(done) => done?,
            None => {
                let started = Instant::now();
                let done = running.await?;
                self.is_slow
                    .store(started.elapsed() > pool::BRIEFLY, Ordering::Relaxed);
                done
            }
        };
        drop(turn);
        Ok(done)
    }
}

/// Where a line and column, counted from 1, are in a text; columns are bytes, as QuickJS has them.
fn offset(text: &str, line: usize, column: usize) -> usize {
    let start = match line {
        0 | 1 => 0,
        _ => text
            .match_indices('\n')
            .nth(line - 2)
            .map_or(text.len(), |(at, _)| at + 1),
    };
    let rest = &text[start..];
    let end = rest.find('\n').unwrap_or(rest.len());
    start
        + (0..=end.min(column.saturating_sub(1)))
            .rev()
            .find(|at| rest.is_char_boundary(*at))
            .unwrap_or(0)
}

/// Members of replies that say what is decided.
const DECIDING: [&str; 7] = [
    "decision",
    "Decision",
    "action",
    "blocked",
    "isToolExecutionBlocked",
    "permissionDecision",
    "state",
];

/// Where the beginning of a reply is that is a statement of its own. Only its place is looked at,
/// so one that an expression hides isn't seen.
fn dropped_reply(code: &str, calls_of: &[&str]) -> Option<Range<usize>> {
    let is_map = |rest: &str| {
        let word = rest
            .trim_start_matches(['{', '"', '\''])
            .trim_start()
            .trim_start_matches(['"', '\'']);
        let deciding = DECIDING.iter().find_map(|key| word.strip_prefix(key));
        deciding.is_some_and(|rest| {
            rest.trim_start_matches(['"', '\''])
                .trim_start()
                .starts_with(':')
        })
    };
    let made = code.match_indices(['H', '{']).map(|(at, _)| at);
    let made = made.filter(|at| {
        code[*at..].starts_with("HookResult.")
            || code[*at..].starts_with('{') && is_map(&code[*at..])
    });
    let made = made.chain(calls_of.iter().flat_map(|name| calls(code, name)));
    let dropped = |at: &usize| {
        let before = code[..*at].trim_end();
        // An expression in brackets is where they are.
        let (before, at) = before
            .strip_suffix('(')
            .map_or((before, *at), |it| (it.trim_end(), it.len()));
        let begins_line = code[before.len()..at].contains('\n');
        match before.chars().next_back() {
            None | Some(';' | '}' | ')') => true,
            Some('{') => !before.ends_with("${"),
            Some(c) => {
                before.ends_with("else")
                    || begins_line && (c.is_alphanumeric() || "'\"`]".contains(c))
            }
        }
    };
    let at = made.into_iter().find(dropped)?;
    let line = code[at..].split(['\n', ';']).next()?;
    let shown = line
        .split_at_checked(60)
        .map_or(line, |(start, _)| start)
        .trim_end();
    Some(at..at + shown.len())
}

/// Where a function of the host's is called, by its name with the bracket. A script may have
/// another of its own.
fn calls<'c>(code: &'c str, name: &'c str) -> impl Iterator<Item = usize> + 'c {
    let bare = name.trim_end_matches('(');
    let is_own = [
        format!("function {name}"),
        format!("{bare} ="),
        format!("{bare}="),
    ]
    .iter()
    .any(|it| code.contains(it));
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '.' | '"' | '\'' | '`');
    code.match_indices(name)
        .map(|(at, _)| at)
        .filter(move |at| !is_own && !code[..*at].ends_with(is_part))
}

/// Whether a script returns something, itself and not only a function in it. `None` if that can't
/// be told.
fn returns(code: &str) -> Option<bool> {
    // What stands before the brackets that are open, and whether these are of a function's body.
    let mut open: Vec<(&str, bool)> = Vec::new();
    let (mut rest, mut before_last) = (code, "");
    while let Some(c) = rest.chars().next() {
        let at = code.len() - rest.len();
        let before = code[..at].trim_end();
        let mut length = c.len_utf8();
        match c {
            '/' if rest.starts_with("//") => length = rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => length = rest.find("*/")? + 2,
            // What a `/` is depends on more than this looks at.
            '/' if !before.ends_with(|c: char| c.is_alphanumeric() || c == ')' || c == ']') => {
                return None;
            }
            '"' | '\'' | '`' => {
                let inner = &rest[1..];
                let mut escaped = false;
                let end = inner.find(|it| {
                    let is_end = it == c && !escaped;
                    escaped = it == '\\' && !escaped;
                    is_end
                })?;
                if c == '`' && inner[..end].contains("${") {
                    return None;
                }
                length = end + 2;
            }
            '(' | '[' | '{' => {
                let word = before
                    .rsplit(|c: char| !(c.is_alphanumeric() || c == '_'))
                    .next()
                    .unwrap_or_default();
                let is_block =
                    ["if", "for", "while", "switch", "catch", "with"].contains(&before_last);
                open.push((
                    word,
                    c == '{' && (before.ends_with("=>") || before.ends_with(')') && !is_block),
                ));
            }
            ')' | ']' | '}' => before_last = open.pop()?.0,
            'r' if !before_is_word(code, at) && rest.starts_with("return") => {
                let is_word =
                    !rest[6..].starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == '$');
                if is_word && open.iter().all(|(_, is_function)| !is_function) {
                    return Some(true);
                }
            }
            _ => {}
        }
        rest = &rest[length..];
    }
    open.is_empty().then_some(false)
}

fn before_is_word(code: &str, at: usize) -> bool {
    code[..at].ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '.'))
}

fn about(hook: HookView<'_>) -> Arc<str> {
    let about = json!({
        "name": hook.name,
        "dialect": hook.contract.dialect,
        "tags": hook.tags,
        "file": hook.source.file,
    });
    about.to_string().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_that_nobody_gets() {
        for (code, expected) in [
            (
                "HookResult.DenyResult('no')",
                Some("HookResult.DenyResult('no')"),
            ),
            (
                "({action: 'Reject', reason: 'x'})",
                Some("{action: 'Reject', reason: 'x'})"),
            ),
            (
                "{ \"decision\": \"deny\" }",
                Some("{ \"decision\": \"deny\" }"),
            ),
            (
                "if (event.x) HookResult.DenyResult('no'); return;",
                Some("HookResult.DenyResult('no')"),
            ),
            (
                "if (event.x) { HookResult.DenyResult('no') }",
                Some("HookResult.DenyResult('no') }"),
            ),
            (
                "const x = 1\nHookResult.DenyResult('no')",
                Some("HookResult.DenyResult('no')"),
            ),
            (
                "return\nHookResult.DenyResult('no')",
                Some("HookResult.DenyResult('no')"),
            ),
            (
                "if (a) return; else HookResult.DenyResult('é')",
                Some("HookResult.DenyResult('é')"),
            ),
            ("return HookResult.DenyResult('no')", None),
            (
                "return event.x\n  ? HookResult.DenyResult('no')\n  : HookResult.AllowResult()",
                None,
            ),
            ("return (\n  {decision: 'deny'}\n)", None),
            (
                "const deny = (why) => ({decision: 'deny', reason: why}); return deny('x')",
                None,
            ),
            ("const reply = {decision: 'deny'}; return reply", None),
            ("log.info({action: 1})", None),
            ("log.info(`${HookResult.x}`)", None),
            ("({decision} = event)", None),
            ("console.log('x')", None),
            ("deny('x')", Some("deny('x')")),
            (
                "if (event.x) deny('x'); return allow('y')",
                Some("deny('x')"),
            ),
            ("const x = deny('x'); return x", None),
            ("return event.x ? deny('x') : undefined", None),
            ("list.deny('x'); log.warn('deny(x)')", None),
        ] {
            assert_eq!(
                dropped_reply(code, &["deny("]).map(|at| &code[at]),
                expected,
                "{code}"
            );
        }
    }

    #[test]
    fn scripts_that_return_nothing() {
        for (code, expected) in [
            ("deny('x')", Some(false)),
            ("return deny('x')", Some(true)),
            ("if (event.x) { return deny('x') }", Some(true)),
            (
                "for (const x of [1]) { if (x) return deny('x') }",
                Some(true),
            ),
            ("function check(event) { return deny('x') }", Some(false)),
            (
                "function check(event) { return deny('x') }\nreturn check(event)",
                Some(true),
            ),
            ("(event) => deny('x')", Some(false)),
            ("const f = (x) => { return x }; f(1)", Some(false)),
            ("// return\n'return'; /* return */", Some(false)),
            ("event.returned = 1; x.return", Some(false)),
            ("const x = /return/; deny('x')", None),
            ("`${x}`", None),
            ("{", None),
            ("'", None),
        ] {
            assert_eq!(returns(code), expected, "{code}");
        }
    }
}
