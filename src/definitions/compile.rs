//! A spanned tree becomes hooks. Pure: no clock, and no file but those that a hook names, which its
//! [`Origin`] reads.
//!
//! Each hook stands by itself: a mistake in one leaves the others of its file in force, and every
//! mistake is found in one pass.

use super::names;
use crate::contract::{Contract, Fail};
use crate::dialects;
use crate::event::On;
use crate::event::{CUSTOM_PREFIX, Phase};
use crate::handlers::{self, Compile, CompileError, Handler, KINDS};
use crate::hook::Hook;
use crate::matching::Matcher;
use crate::matching::rule::ToolRule;
use crate::matching::when::When;
use crate::matching::when::in_words;
use crate::policy::Policy;
use crate::services::client::Client;
use crate::services::models::{ModelRef, RawModel};
use crate::support::nearest::closest;
use crate::syntax::diagnostic::{Diagnostic, LineIndex, Range, Severity};
use crate::syntax::node::{DecodeError, Entry, Node, NodeValue, Span, decode};
use crate::syntax::problem::Problem;
use crate::syntax::source::{Layer, Source};
use crate::syntax::values::COMMON_FIELDS;
use crate::syntax::values::OneOrMany;
use crate::syntax::values::RawDuration;
use globset::{Glob, GlobMatcher};
use schemars::JsonSchema;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::num::NonZeroU64;
use std::path::Path;
use std::sync::Arc;

/// A hook as the file names it.
pub struct Compiled {
    /// The name, when it can be read.
    pub name: Option<Arc<str>>,
    /// Where its name, or the hook, is written.
    pub span: Span,
    /// Where the hook is written; of a TOML table, its header.
    pub whole: Span,
    /// The hook; `None` when its definition is broken.
    pub hook: Option<Arc<Hook>>,
    /// Stands in for a broken definition that is readable as a gate that fails closed.
    pub stand_in: Option<Arc<Hook>>,
    /// Names the definition as written, what the file says for all its hooks and the content of the
    /// files that it names included.
    pub digest: [u8; 16],
    /// Its mistakes, as a range of the file's.
    pub problems: std::ops::Range<usize>,
}

/// What a file holds.
pub struct CompiledFile {
    /// In order.
    pub hooks: Vec<Compiled>,
    /// Every mistake; those outside of the hooks come first.
    pub problems: Vec<Problem>,
    /// There is a mistake outside of the hooks: they are not what the author means.
    pub is_broken: bool,
    /// What tool calls must keep to before any hook is asked.
    pub policy: Option<Policy>,
    /// Names the content of the files that the hook names which is being compiled.
    named: Vec<u8>,
    /// What the reader of another system's file said of hooks that are not compiled yet.
    told: Vec<Problem>,
}

/// Where a file is and who wrote it.
pub struct Origin<'a> {
    /// As people know it.
    pub file: &'a str,
    /// Relative paths start here.
    pub dir: &'a Path,
    /// The layer.
    pub layer: Layer,
    /// The connection that registers the hooks, if they come over the wire.
    pub client: Option<&'a Arc<dyn Client>>,
    /// Reads a file that a hook names; the error is for people.
    pub read: &'a dyn Fn(&Path) -> Result<String, String>,
}

/// What every hook may say; beside it stands exactly one handler key.
#[derive(Default, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Hook")]
#[allow(dead_code, reason = "the schema comes from this struct, the reading is field by field")]
pub(super) struct RawHook {
    /// Names the hook in verdicts, logs and diagnostics.
    name: String,
    /// For people.
    #[schemars(default)]
    description: Option<String>,
    /// One event or a list; `'*'` is every event. Any dialect's name for it is understood. May be left out
    /// where `matcher` names events (workflow-framework).
    on: Option<OneOrMany>,
    /// A regex that must match the tool's whole name; absent, '' and '*' match all.
    #[schemars(default)]
    matcher: Option<String>,
    /// `Tool(pattern)`: shell tools by the commands they would run, file tools by path.
    #[schemars(default)]
    r#if: Option<String>,
    /// A CEL expression over the event.
    #[schemars(default)]
    when: Option<String>,
    /// Lower runs earlier (default 100); reversed for after-events.
    #[schemars(default)]
    priority: Option<i64>,
    /// For one run; else what the file's defaults say, else 30 s. A sub-agent has 2 minutes and an approval
    /// its `wait` unless it is said here.
    #[schemars(default)]
    timeout: Option<RawDuration>,
    /// What a failure of the hook means.
    #[schemars(default)]
    fail: Option<Fail>,
    /// Start it and don't wait: it can't decide anything.
    #[schemars(default)]
    r#async: Option<bool>,
    /// Run it side by side with its parallel neighbours.
    #[schemars(default)]
    parallel: Option<bool>,
    /// At most once per session.
    #[schemars(default)]
    once: Option<bool>,
    /// `false` switches it off.
    #[schemars(default)]
    enabled: Option<bool>,
    /// Only for these agents; globs on the name.
    #[schemars(default)]
    agents: Option<OneOrMany>,
    /// The vocabulary that the hook is written for.
    #[schemars(default)]
    dialect: Option<String>,
    /// For people and tools.
    #[schemars(default)]
    tags: Option<OneOrMany>,
}

/// What a file says for all its hooks.
#[derive(Clone, Default, JsonSchema)]
#[schemars(deny_unknown_fields, default)]
#[schemars(rename = "Defaults")]
pub(super) struct RawDefaults {
    /// How long one run may take, for hooks that don't say.
    timeout: Option<RawDuration>,
    /// What a failure means, for hooks that don't say.
    fail: Option<Fail>,
    /// The priority of hooks that don't say: lower runs earlier, reversed for after-events.
    priority: Option<i64>,
    /// Hooks that don't say are only for these agents; globs on the name.
    agents: Option<OneOrMany>,
    /// The model of hooks that ask one and don't say which.
    model: Option<RawModel>,
}

const DEFAULTS_FIELDS: [&str; 5] = ["timeout", "fail", "priority", "agents", "model"];

/// Which tools may be called at all, how often and within what bounds: decided before any hook runs,
/// and by every layer.
#[derive(Default, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(rename = "Policy")]
pub(super) struct RawPolicy {
    /// `Tool(pattern)`: denied, also where it can't be told.
    deny: Option<OneOrMany>,
    /// `Tool(pattern)`: where this is given, whatever isn't on it is denied. A command line must fit one
    /// entry as a whole.
    allow: Option<OneOrMany>,
    /// The bounds of tool calls.
    limits: RawLimits,
    /// The sandbox that tools are to run in, by a name that whoever runs them knows. hookwire passes it
    /// on in the grant.
    sandbox: Option<String>,
}

#[derive(Default, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(rename = "PolicyLimits")]
struct RawLimits {
    /// Tool calls of one run.
    max_calls: Option<NonZeroU64>,
    /// How long a tool may run. Passed on in the grant.
    timeout: Option<RawDuration>,
    /// How much a tool may give back. Passed on in the grant.
    max_output_bytes: Option<u64>,
}

const POLICY_FIELDS: [&str; 4] = ["deny", "allow", "limits", "sandbox"];
const LIMITS_FIELDS: [&str; 3] = ["maxCalls", "timeout", "maxOutputBytes"];
const FILE_FIELDS: [&str; 5] = ["policy", "defaults", "hooks", "dialect", "$schema"];

/// The dialect that a file is written for and, where that has files of its own kind, the tree that
/// hookwire reads it as, each value where its original is written.
pub fn native(root: &Node, told: &mut Vec<Problem>) -> (&'static str, Option<Node>) {
    let written_for = match root.get("dialect").map(|node| &node.value) {
        Some(NodeValue::String(name)) => dialects::by_name(name).ok(),
        Some(_) => None,
        None => dialects::DIALECTS.iter().copied().find(|it| it.files.as_ref().is_some_and(|files| (files.are)(root))),
    };
    let read = written_for.and_then(|it| it.files.as_ref()).map(|files| (files.read)(root, told));
    (written_for.map_or(dialects::NATIVE, dialects::Dialect::name), read)
}

/// Compiles a file's tree; `lines` are those of its text.
pub fn compile(root: &Node, origin: &Origin<'_>, lines: &LineIndex<'_>) -> CompiledFile {
    let mut file = CompiledFile {
        hooks: Vec::new(),
        problems: Vec::new(),
        is_broken: false,
        policy: None,
        named: Vec::new(),
        told: Vec::new(),
    };
    let NodeValue::Map(entries) = &root.value else {
        let help = match root.value {
            NodeValue::Seq(_) => "write `hooks:` above the list",
            _ => "write `hooks:` and a list below it",
        };
        let message = format!("a definition file is a map with `hooks`, found {}", root.kind());
        file.push(root.span.clone(), Severity::Error, "wrong-type", message, Some(help.into()), None);
        file.is_broken = true;
        return file;
    };
    let mut told = Vec::new();
    let (mut dialect, read) = native(root, &mut told);
    let entries = match read.as_ref().map(|root| &root.value) {
        Some(NodeValue::Map(entries)) => entries,
        Some(_) | None => entries,
    };
    let mut defaults = RawDefaults::default();
    let mut hooks: &[Node] = &[];
    for entry in entries {
        match (entry.key.as_str(), &entry.value.value) {
            ("defaults", _) => defaults = file.defaults(entry),
            ("policy", _) => file.policy(entry, origin, lines),
            ("dialect", _) => dialect = file.dialect(entry, None).unwrap_or(dialects::NATIVE),
            ("hooks", NodeValue::Seq(items)) => hooks = items,
            ("hooks", NodeValue::Null) | ("$schema", _) => {}
            ("hooks", _) => {
                let message = format!("`hooks` is a list, found {}", entry.value.kind());
                file.push(entry.value.span.clone(), Severity::Error, "wrong-type", message, None, None);
            }
            (unknown, _) => file.unknown_field(entry, closest(unknown, FILE_FIELDS), None),
        }
    }
    // What is wrong with one hook is told with it and leaves the others in force.
    let of_hook = |problem: &Problem| hooks.iter().any(|hook| is_about(problem, hook));
    let (of_hooks, of_file) = told.into_iter().partition(of_hook);
    file.told = of_hooks;
    file.problems.extend::<Vec<_>>(of_file);
    file.is_broken = file.errors() > 0;
    let context = format!(
        "{dialect}\0{}\0",
        read.as_ref().unwrap_or(root).get("defaults").map(Node::to_json).unwrap_or_default()
    );
    for (position, item) in hooks.iter().enumerate() {
        let start = file.problems.len();
        file.named.clear();
        let compiled = hook(&mut file, item, origin, &defaults, dialect, position, lines);
        file.problems[start..].sort_by_key(|problem| problem.span.start);
        let digest = Sha256::new_with_prefix(&context).chain_update(item.to_json().to_string());
        let digest = digest.chain_update(&file.named).finalize();
        let digest = digest.first_chunk().copied().unwrap_or_default();
        file.hooks.push(Compiled { digest, problems: start..file.problems.len(), ..compiled });
    }
    file
}

fn hook(
    file: &mut CompiledFile,
    node: &Node,
    origin: &Origin<'_>,
    defaults: &RawDefaults,
    file_dialect: &'static str,
    position: usize,
    lines: &LineIndex<'_>,
) -> Compiled {
    let name_node = node.get("name");
    let span = name_node.map_or(node.span.clone(), |it| it.span.clone());
    let whole = node.span.clone();
    let compiled =
        |name, hook, stand_in| Compiled { name, span, whole, hook, stand_in, digest: [0; 16], problems: 0..0 };
    let NodeValue::Map(entries) = &node.value else {
        let message = format!("a hook is a map, found {}", node.kind());
        file.push(node.span.clone(), Severity::Error, "wrong-type", message, None, None);
        return compiled(None, None, None);
    };
    let errors_before = file.errors();
    let told = file.told.extract_if(.., |problem| is_about(problem, node));
    file.problems.extend(told);
    // Who was told in another system's words isn't told again in hookwire's.
    let is_told = file.errors() > errors_before;
    let name = file.name(name_node, node);
    let scope = name.as_deref();

    let mut raw = RawHook::default();
    let mut keys: Vec<&Entry> = Vec::new();
    let mut misspelt_handler = false;
    for entry in entries {
        match entry.key.as_str() {
            "name" => {}
            "description" => raw.description = file.field(entry, scope),
            "on" => raw.on = file.field(entry, scope),
            "matcher" => raw.matcher = file.field::<Option<String>>(entry, scope).flatten(),
            "if" => raw.r#if = file.field(entry, scope),
            "when" => raw.when = file.field(entry, scope),
            "priority" => raw.priority = file.field(entry, scope),
            "timeout" => raw.timeout = file.field(entry, scope),
            "fail" => raw.fail = file.field(entry, scope),
            "async" => raw.r#async = file.field(entry, scope),
            "parallel" => raw.parallel = file.field(entry, scope),
            "once" => raw.once = file.field(entry, scope),
            "enabled" => raw.enabled = file.field(entry, scope),
            "agents" => raw.agents = file.field(entry, scope),
            "dialect" => raw.dialect = file.dialect(entry, scope).map(str::to_string),
            "tags" => raw.tags = file.field(entry, scope),
            key if KINDS.iter().any(|kind| kind.key == key) => keys.push(entry),
            unknown => {
                let known = COMMON_FIELDS.into_iter().chain(KINDS.iter().map(|kind| kind.key));
                let nearest = closest(unknown, known);
                misspelt_handler |= nearest.is_some_and(|key| !COMMON_FIELDS.contains(&key));
                file.unknown_field(entry, nearest, scope);
            }
        }
    }

    let dialect = raw.dialect.as_deref().unwrap_or(file_dialect);
    let contract = dialects::by_name(dialect).map_or_else(|_| &dialects::DIALECTS[0].contract, |it| &it.contract);
    let at = |key: &str| node.get(key).map_or(node.span.clone(), |it| it.span.clone());

    let on = if is_told && node.get("on").is_none() { None } else { file.on(raw.on, node, contract, scope) };
    let matcher = raw.matcher.as_deref().and_then(|text| match Matcher::new(text, contract.matcher) {
        Ok(matcher) => matcher,
        Err(message) => {
            let help = text.starts_with('*').then(|| "a matcher is a regex: for any text write `.*`".to_string());
            file.push(at("matcher"), Severity::Error, "bad-regex", format!("bad regex: {message}"), help, scope);
            None
        }
    });
    let rule = raw.r#if.as_deref().and_then(|text| match ToolRule::new(text) {
        Ok(rule) => Some(rule),
        Err(message) => {
            let message = if message.contains("Tool(pattern)") { message } else { format!("bad pattern: {message}") };
            file.push(at("if"), Severity::Error, "bad-rule", message, None, scope);
            None
        }
    });
    let when = raw.when.as_deref().and_then(|text| match When::new(text) {
        Ok(when) => Some(when),
        Err(error) => {
            let value = node.get("when").unwrap_or(node);
            file.push(
                value.part(&(error.offset..text.len()), lines.text()),
                Severity::Error,
                "bad-when",
                format!("`when` is not valid CEL: {}", in_words(&error.message)),
                None,
                scope,
            );
            None
        }
    });
    let agents = file.globs(raw.agents.or_else(|| defaults.agents.clone()), &at("agents"), scope);
    // Whoever misspelt the handler's key has been told so.
    let model = defaults.model.as_ref();
    let handler = if keys.is_empty() && (misspelt_handler || is_told) {
        None
    } else {
        file.handler(&keys, node, origin, lines, (model, contract), scope)
    };

    let fail = raw.fail.or(defaults.fail);
    let crate::syntax::diagnostic::Position { line, column } = lines.position(node.span.start);
    let source = Source { layer: origin.layer, file: origin.file.into(), line, column, position };
    let make = |name: Arc<str>, on: On, handler: Handler, fail| {
        let fingerprint = fingerprint(keys.first());
        // What takes its time by nature isn't cut short by what the file says for all.
        let timeout = raw.timeout.map(RawDuration::get).or(handler.default_timeout());
        let timeout = timeout.or(defaults.timeout.map(RawDuration::get)).unwrap_or(contract.timeout);
        Arc::new(Hook {
            name,
            description: raw.description.clone(),
            on,
            matcher,
            rule,
            when,
            agents,
            handler,
            priority: raw.priority.or(defaults.priority),
            timeout,
            fail,
            detached: raw.r#async.unwrap_or(false),
            parallel: raw.parallel.unwrap_or(false),
            once: raw.once.unwrap_or(false),
            enabled: raw.enabled.unwrap_or(true),
            tags: raw.tags.clone().map(|tags| tags.0).unwrap_or_default(),
            contract,
            source: source.clone(),
            fingerprint,
        })
    };
    if file.errors() > errors_before {
        let why = file.problems[..].iter().rev().find(|it| it.severity == Severity::Error);
        let why = why.map(|it| it.message.clone()).unwrap_or_default();
        let closed = fail.unwrap_or(contract.gates_fail) == Fail::Closed
            && raw.enabled != Some(false)
            && raw.r#async != Some(true);
        let stand_in = match (closed, on) {
            (true, Some(on)) => {
                let label = name.clone().unwrap_or_else(|| format!("{}#{position}", origin.file).into());
                let problem = format!("run: its definition at {}:{line}:{column} is broken: {why}", origin.file);
                Some(make(label, on, Handler::Broken(problem), fail)).filter(|hook| hook.on.includes_a_gate())
            }
            _ => None,
        };
        return compiled(name, None, stand_in);
    }
    let (Some(hook_name), Some(on), Some(handler)) = (name.clone(), on, handler) else {
        return compiled(name, None, None);
    };
    let hook = make(hook_name, on, handler, fail);
    file.lint(&hook, node, raw.matcher.as_deref(), lines.text());
    compiled(name, Some(hook), None)
}

/// Where a hook is told that something is missing: its name, else its first key.
fn head(hook: &Node) -> &Span {
    let first = match &hook.value {
        NodeValue::Map(entries) => entries.first().map(|entry| &entry.key_span),
        _ => None,
    };
    let name = hook.get("name").filter(|name| matches!(name.value, NodeValue::String(_))).map(|name| &name.span);
    name.or(first).unwrap_or(&hook.span)
}

/// Whether a reader meant this hook.
fn is_about(problem: &Problem, hook: &Node) -> bool {
    matches!((hook.get("name").map(|it| &it.value), &problem.hook), (Some(NodeValue::String(name)), Some(hook)) if name == hook)
}

/// A hook of the program that embeds the host: what a file's definition would say of it, without a
/// handler, and its handler.
///
/// With it, what is odd about it: such a hook is in force, as one of a file would be.
///
/// # Errors
/// The first mistake, with what to do.
pub(crate) fn embedded(
    mut definition: Value,
    handler: Handler,
    position: usize,
) -> Result<(Hook, Vec<Diagnostic>), String> {
    definition["allow"] = "".into();
    let read = |_: &Path| Err(String::new());
    let origin = Origin { file: "program", dir: Path::new("/"), layer: Layer::Hooks, client: None, read: &read };
    let compiled = compile(&Node::from_json(&json!({ "hooks": [definition] })), &origin, &LineIndex::new(""));
    let mut remarks = Vec::new();
    for Problem { severity, code, message, help, hook, .. } in compiled.problems {
        if severity == Severity::Error {
            let help = help.map(|help| format!(" ({help})")).unwrap_or_default();
            return Err(format!("{message}{help}"));
        }
        let name = hook.as_deref().unwrap_or_default();
        let message = format!("hook `{name}`: {message}");
        let (file, code, range) = (origin.file.into(), code.into(), Range::default());
        remarks.push(Diagnostic { file, severity, code, message, help, hook, range, span: 0..0 });
    }
    let hook = compiled.hooks.into_iter().find_map(|it| it.hook).and_then(Arc::into_inner);
    let hook = hook.ok_or("the definition is empty")?;
    // No two closures are equal.
    let fingerprint = position as u64;
    let source = Source { line: 0, column: 0, position, ..hook.source };
    Ok((Hook { handler, fingerprint, source, ..hook }, remarks))
}

/// A hash of the handler: what makes two definitions equal where equal ones run once.
fn fingerprint(handler: Option<&&Entry>) -> u64 {
    let mut hasher = DefaultHasher::new();
    if let Some(entry) = handler {
        entry.key.hash(&mut hasher);
        entry.value.to_json().to_string().hash(&mut hasher);
    }
    hasher.finish()
}

impl CompiledFile {
    fn push(
        &mut self,
        span: Span,
        severity: Severity,
        code: &'static str,
        message: String,
        help: Option<String>,
        hook: Option<&str>,
    ) {
        self.problems.push(Problem { span, severity, code, message, help, hook: hook.map(str::to_string) });
    }

    fn errors(&self) -> usize {
        self.problems.iter().filter(|it| it.severity == Severity::Error).count()
    }

    fn field<T: serde::de::DeserializeOwned>(&mut self, entry: &Entry, hook: Option<&str>) -> Option<T> {
        decode(&entry.value).map_err(|error| self.misfit(entry, error, hook)).ok()
    }

    /// A value that hasn't the form of its key.
    fn misfit(&mut self, entry: &Entry, error: DecodeError, hook: Option<&str>) {
        let joint = if error.path.is_empty() || error.path.starts_with('[') { "" } else { "." };
        let code = if error.message.starts_with("unknown field") { "unknown-field" } else { "wrong-type" };
        let message = format!("`{}{joint}{}`: {}", entry.key, error.path, error.message);
        let help = error.suggestion.map(|it| format!("did you mean `{it}`?"));
        self.push(error.span, Severity::Error, code, message, help, hook);
    }

    fn name(&mut self, written: Option<&Node>, hook: &Node) -> Option<Arc<str>> {
        let (at, code, message) = match written.map(|it| (it, &it.value)) {
            Some((_, NodeValue::String(name))) if !name.trim().is_empty() => return Some(name.as_str().into()),
            Some((at, NodeValue::String(_) | NodeValue::Null)) => {
                (&at.span, "missing-name", "`name` is empty".to_string())
            }
            Some((at, _)) => (&at.span, "wrong-type", format!("`name`: expected a string, found {}", at.kind())),
            None => (head(hook), "missing-name", "a hook needs a `name`".to_string()),
        };
        let help = Some("verdicts, logs and diagnostics call the hook by its `name`".to_string());
        self.push(at.clone(), Severity::Error, code, message, help, None);
        None
    }

    /// Field by field: a mistake in one doesn't lose the others.
    fn defaults(&mut self, entry: &Entry) -> RawDefaults {
        let mut defaults = RawDefaults::default();
        let entries = if entry.value.value == NodeValue::Null { &[] } else { self.members(entry) };
        for entry in entries {
            match entry.key.as_str() {
                "timeout" => defaults.timeout = self.field(entry, None),
                // Whoever says anything here doesn't want the open that silence means.
                "fail" => {
                    defaults.fail = decode(&entry.value).unwrap_or_else(|mut error| {
                        error.message.push_str("; until it is mended, the file's hooks fail closed");
                        self.misfit(entry, error, None);
                        Some(Fail::Closed)
                    });
                }
                "priority" => defaults.priority = self.field(entry, None),
                "agents" => {
                    let errors = self.errors();
                    let agents: Option<OneOrMany> = self.field(entry, None);
                    self.globs(agents.clone(), &entry.value.span, None);
                    // Said once, not for every hook.
                    defaults.agents = agents.filter(|_| self.errors() == errors);
                }
                "model" => {
                    let model: Option<RawModel> = self.field(entry, None);
                    if let Some(Err(problem)) = model.clone().map(ModelRef::new) {
                        let span = entry.value.span.clone();
                        self.push(span, Severity::Error, "bad-model", problem.message, problem.help, None);
                    } else {
                        defaults.model = model;
                    }
                }
                unknown => {
                    let nearest = closest(unknown, DEFAULTS_FIELDS);
                    if nearest == Some("fail") {
                        defaults.fail = Some(Fail::Closed);
                    }
                    self.unknown_field(entry, nearest, None);
                }
            }
        }
        defaults
    }

    /// A policy with a mistake allows nothing until it is mended.
    fn policy(&mut self, entry: &Entry, origin: &Origin<'_>, lines: &LineIndex<'_>) {
        let crate::syntax::diagnostic::Position { line, column } = lines.position(entry.key_span.start);
        let source = Source { layer: origin.layer, file: origin.file.into(), line, column, position: 0 };
        let before = self.problems.len();
        let RawPolicy { deny, allow, limits, sandbox } = self.raw_policy(entry);
        let mut policy = Policy::at(source);
        if allow.is_some() {
            policy = policy.allow_nothing_else();
        }
        type Add = fn(Policy, &str) -> Result<Policy, String>;
        for (key, rules, add) in [("deny", deny, Policy::deny as Add), ("allow", allow, Policy::allow)] {
            let node = entry.value.get(key).unwrap_or(&entry.value);
            for (n, rule) in rules.iter().flat_map(OneOrMany::iter).enumerate() {
                policy = match (ToolRule::new(rule), &node.value) {
                    (Ok(_), _) => add(policy, rule).unwrap_or_else(|problem| Policy::new().broken(problem)),
                    (Err(message), value) => {
                        let item = if let NodeValue::Seq(items) = value { items.get(n) } else { None };
                        let span = item.unwrap_or(node).span.clone();
                        self.push(span, Severity::Error, "bad-rule", message, None, None);
                        policy
                    }
                };
            }
        }
        let RawLimits { max_calls, timeout, max_output_bytes } = limits;
        policy = max_calls.map(NonZeroU64::get).into_iter().fold(policy, Policy::max_calls);
        policy = timeout.map(RawDuration::get).into_iter().fold(policy, Policy::timeout);
        policy = max_output_bytes.into_iter().fold(policy, Policy::max_output_bytes);
        policy = sandbox.into_iter().fold(policy, Policy::sandbox);
        if let Some(problem) = self.problems.get(before) {
            policy = policy.broken(problem.message.clone());
        }
        self.policy = Some(policy);
    }

    /// Field by field: all mistakes are told at once.
    fn raw_policy(&mut self, entry: &Entry) -> RawPolicy {
        let mut raw = RawPolicy::default();
        for entry in self.members(entry) {
            match entry.key.as_str() {
                "deny" => raw.deny = self.field(entry, None).flatten(),
                "allow" => raw.allow = self.field(entry, None).flatten(),
                "sandbox" => raw.sandbox = self.field(entry, None).flatten(),
                "limits" => {
                    for entry in self.members(entry) {
                        match entry.key.as_str() {
                            "maxCalls" => raw.limits.max_calls = self.field(entry, None).flatten(),
                            "timeout" => raw.limits.timeout = self.field(entry, None).flatten(),
                            "maxOutputBytes" => raw.limits.max_output_bytes = self.field(entry, None).flatten(),
                            unknown => self.unknown_field(entry, closest(unknown, LIMITS_FIELDS), None),
                        }
                    }
                }
                unknown => self.unknown_field(entry, closest(unknown, POLICY_FIELDS), None),
            }
        }
        raw
    }

    /// The members of what is to be a map.
    fn members<'n>(&mut self, entry: &'n Entry) -> &'n [Entry] {
        if let NodeValue::Map(entries) = &entry.value.value {
            return entries;
        }
        let message = format!("`{}` is a map, found {}", entry.key, entry.value.kind());
        self.push(entry.value.span.clone(), Severity::Error, "wrong-type", message, None, None);
        &[]
    }

    fn unknown_field(&mut self, entry: &Entry, nearest: Option<&str>, hook: Option<&str>) {
        let help = nearest.map(|it| format!("did you mean `{it}`?"));
        self.push(
            entry.key_span.clone(),
            Severity::Error,
            "unknown-field",
            format!("unknown field `{}`", entry.key),
            help,
            hook,
        );
    }

    fn dialect(&mut self, entry: &Entry, hook: Option<&str>) -> Option<&'static str> {
        let name: String = self.field(entry, hook)?;
        match dialects::by_name(&name) {
            Ok(dialect) => Some(dialect.name()),
            Err(message) => {
                let (message, help) = with_help(message);
                self.push(entry.value.span.clone(), Severity::Error, "unknown-dialect", message, help, hook);
                None
            }
        }
    }

    fn on(
        &mut self,
        raw: Option<OneOrMany>,
        node: &Node,
        contract: &'static Contract,
        hook: Option<&str>,
    ) -> Option<On> {
        let Some(value) = node.get("on") else {
            if let Some(guard) = node.get("guard") {
                // Who misspelt the guard is told so.
                return handlers::guards::natural_events(guard);
            }
            if contract.matcher_names_events {
                return Some(On::Every);
            }
            let help = Some("add `on: PreToolUse`, a list, or `on: '*'` for every event".to_string());
            self.push(
                head(node).clone(),
                Severity::Error,
                "missing-on",
                "a hook needs `on`: the events it is for".into(),
                help,
                hook,
            );
            return None;
        };
        let OneOrMany(words) = raw?;
        if words.is_empty() {
            self.push(value.span.clone(), Severity::Error, "missing-on", "`on` is empty".into(), None, hook);
            return None;
        }
        if words.iter().any(|word| word == "*") {
            return Some(On::Every);
        }
        let spans: Vec<&Span> = match &value.value {
            NodeValue::Seq(items) => items.iter().map(|item| &item.span).collect(),
            _ => vec![&value.span],
        };
        let mut names = Vec::new();
        for (word, span) in words.iter().zip(spans) {
            match dialects::canonical(word, contract.dialect) {
                Ok(found) => names.extend(found),
                Err(message) => {
                    let (message, help) = with_help(message);
                    self.push(span.clone(), Severity::Error, "unknown-event", message, help, hook);
                }
            }
        }
        // What can be read stays, for a stand-in.
        (!names.is_empty()).then_some(On::Names(names))
    }

    fn globs(&mut self, raw: Option<OneOrMany>, span: &Span, hook: Option<&str>) -> Vec<GlobMatcher> {
        let Some(OneOrMany(texts)) = raw else { return Vec::new() };
        let mut globs = Vec::new();
        for text in texts {
            match Glob::new(&text) {
                Ok(glob) => globs.push(glob.compile_matcher()),
                Err(error) => self.push(
                    span.clone(),
                    Severity::Error,
                    "bad-glob",
                    format!("bad glob `{text}`: {}", error.kind()),
                    None,
                    hook,
                ),
            }
        }
        globs
    }

    fn handler(
        &mut self,
        keys: &[&Entry],
        node: &Node,
        origin: &Origin<'_>,
        lines: &LineIndex<'_>,
        (model, contract): (Option<&RawModel>, &'static Contract),
        hook: Option<&str>,
    ) -> Option<Handler> {
        let entry = match keys {
            [] => {
                let possible = KINDS.iter().filter(|kind| kind.in_files || origin.client.is_some());
                let kinds: Vec<_> = possible.map(|kind| kind.key).collect();
                let help = Some(format!("add one of {}", kinds.join(", ")));
                self.push(
                    head(node).clone(),
                    Severity::Error,
                    "missing-handler",
                    "a hook needs a handler".into(),
                    help,
                    hook,
                );
                return None;
            }
            [entry] => entry,
            [first, second, ..] => {
                let message = format!("a hook has one handler, this has `{}` and `{}`", first.key, second.key);
                self.push(second.key_span.clone(), Severity::Error, "several-handlers", message, None, hook);
                return None;
            }
        };
        let kind = KINDS.iter().find(|kind| kind.key == entry.key)?;
        let named = std::cell::RefCell::new(Sha256::new());
        let read = |path: &Path| {
            let text = (origin.read)(path);
            named.borrow_mut().update(Sha256::digest(text.as_deref().unwrap_or_default()));
            text
        };
        let member_lines = |field: &str| {
            let places = entry.value.get(field).unwrap_or(&entry.value).line_places(lines.text());
            places.into_iter().map(|place| lines.position(place).line).collect()
        };
        let cx = Compile {
            dir: origin.dir,
            layer: origin.layer,
            client: origin.client,
            read: &read,
            lines: &member_lines,
            model,
            placeholders: &contract.placeholders,
        };
        let compiled = (kind.compile)(&entry.value, &cx);
        self.named = named.into_inner().finalize().to_vec();
        match compiled {
            Ok(handler) => Some(handler),
            Err(CompileError::Form(error)) => {
                self.misfit(entry, error, hook);
                None
            }
            Err(CompileError::Meaning(handlers::Mistake { within, field, at, message, help })) => {
                let outer = within.map_or(Some(&entry.value), |within| entry.value.get(within));
                let node = outer.and_then(|outer| field.map_or(Some(outer), |field| outer.get(field)));
                let node = node.unwrap_or(&entry.value);
                let span = at.map_or(node.span.clone(), |at| node.part(&at, lines.text()));
                self.push(span, Severity::Error, "bad-handler", message, help, hook);
                None
            }
        }
    }

    /// Tells the members of the event that conditions and placeholders misspell, and gives them.
    fn slips(&mut self, hook: &Hook, node: &Node, text: &str, events: &[Arc<str>]) -> Vec<String> {
        // Nobody knows what these say.
        if events.iter().any(|name| name.starts_with(CUSTOM_PREFIX)) {
            return Vec::new();
        }
        let is_about_tool = !events.is_empty() && events.iter().all(|name| has_tool(name));
        let condition = |node: &Node| match &node.value {
            NodeValue::String(source) => When::new(source).map(|when| when.references()).unwrap_or_default(),
            _ => Vec::new(),
        };
        // It is compiled already, which is what takes time.
        let when = node.get("when").zip(hook.when.as_ref()).map(|(node, when)| (node, when.references()));
        let mut named: Vec<_> = when.into_iter().collect();
        let kind = hook.handler.key();
        if let Some(definition) = node.get(kind) {
            named.extend(handlers::expressions(kind, definition).map(|it| (it, condition(it))));
            let paths = handlers::paths(kind, definition, &hook.contract.placeholders).into_iter();
            // What a placeholder may say besides.
            let is_event =
                |(path, _): &(String, _)| !matches!(&**path, "hook" | "timestamp") && !path.starts_with("env.");
            named.extend(paths.map(|(node, paths)| (node, paths.into_iter().filter(is_event).collect())));
        }
        let mut slips = Vec::new();
        for (node, paths) in named {
            for (path, at) in paths {
                let Some((wrong, meant)) = names::slip(&path, is_about_tool) else { continue };
                let message = format!("no event has `{wrong}`");
                let help = Some(format!("did you mean `{meant}`?"));
                let span = node.part(&at, text);
                self.push(span, Severity::Warning, "unknown-name", message, help, Some(&hook.name));
                slips.push(wrong);
            }
        }
        slips
    }

    /// What is well-formed but can hardly be meant.
    fn lint(&mut self, hook: &Hook, node: &Node, matcher: Option<&str>, text: &str) {
        let name = Some(&*hook.name);
        let at = |key: &str| node.get(key).map_or(node.span.clone(), |it| it.span.clone());
        let names = match &hook.on {
            On::Names(names) => &names[..],
            On::Every => &[],
        };
        if let Handler::Guard(guard) = &hook.handler
            && let Some(row) = guard.row()
        {
            let acts = |name: &str| crate::event::spec(name).is_none_or(row.acts_at);
            let idle: Vec<_> = names.iter().filter(|name| !acts(name)).map(|name| format!("`{name}`")).collect();
            if !idle.is_empty() {
                let message = format!("`{}` can do nothing at {}", row.name, idle.join(" and "));
                let help = format!("leave out `on` for {}", row.events.join(", "));
                self.push(at("on"), Severity::Warning, "idle-guard", message, Some(help), name);
            }
        }
        let toolless = !names.is_empty() && names.iter().all(|name| !has_tool(name));
        let never = |file: &mut CompiledFile, key: &str, message: String, help: Option<String>| {
            file.push(at(key), Severity::Warning, "never-matches", message, help, name);
        };
        if toolless {
            let about_tool = names.iter().all(|name| (hook.contract.matched)(name).is_tool());
            for (key, present) in [("matcher", hook.matcher.is_some() && about_tool), ("if", hook.rule.is_some())] {
                if present {
                    let are = if names.len() == 1 { "is" } else { "are" };
                    let message = format!("`{key}` can never match: {} {are} not about a tool", names.join(" and "));
                    never(self, key, message, Some(format!("remove `{key}`, or write the condition as `when`")));
                }
            }
        }
        if let Some(Matcher::Names(tools)) = &hook.matcher {
            for tool in tools {
                let known = crate::matching::tools::TOOLS.iter().find(|known| known.name.eq_ignore_ascii_case(tool));
                if let Some(known) = known.filter(|known| known.name != tool) {
                    never(
                        self,
                        "matcher",
                        format!("`{tool}` never matches: tool names are case-sensitive"),
                        Some(format!("did you mean `{}`?", known.name)),
                    );
                }
                if tool.starts_with("mcp__") && tool.matches("__").count() == 1 {
                    never(
                        self,
                        "matcher",
                        format!("`{tool}` never matches: an MCP tool's name has a server and a tool"),
                        Some(format!("did you mean `{tool}__.*`?")),
                    );
                }
            }
            if let Some(tool) = hook.rule.as_ref().and_then(|rule| rule.literal_tool())
                && !tools.iter().any(|it| it == tool)
            {
                never(self, "if", format!("`if` is about `{tool}`, which `matcher` leaves out"), None);
            }
        }
        if hook.contract.matcher_names_events {
            let words = matcher.unwrap_or_default().split(|c: char| !c.is_ascii_alphanumeric());
            let there = |word: &str| dialects::by_name(hook.contract.dialect).ok()?.row(word);
            if let Some((word, row)) =
                words.filter_map(|word| Some((word, there(word)?))).find(|(it, row)| row.name != *it)
            {
                let message = format!("`matcher` names `{word}`, which is `{}` in {}", row.name, hook.contract.dialect);
                never(self, "matcher", message, Some(format!("did you mean `{}`?", row.name)));
            }
        }
        if let (Some(Matcher::Pattern { .. }), Some(text)) = (&hook.matcher, matcher)
            && text.ends_with(')')
            && crate::matching::tools::TOOLS.iter().any(|tool| text.starts_with(&format!("{}(", tool.name)))
        {
            never(
                self,
                "matcher",
                "a matcher is a regex on the tool's name; this is the form of `if`".into(),
                Some(format!("write `if: {text}`")),
            );
        }
        if let Some(rule) = &hook.rule
            && let Some(tool) = rule.literal_tool()
            && let Some(known) =
                crate::matching::tools::TOOLS.iter().find(|known| known.name.eq_ignore_ascii_case(tool))
            && known.name != tool
        {
            never(
                self,
                "if",
                format!("`{tool}` never matches: tool names are case-sensitive"),
                Some(format!("did you mean `{}`?", known.name)),
            );
        }
        let slips = self.slips(hook, node, text, names);
        if let Some(when) = &hook.when {
            let is_slip =
                |path: &String| slips.iter().any(|slip| path == slip || path.starts_with(&format!("{slip}.")));
            let unguarded: Vec<_> = when.unguarded().into_iter().filter(|path| !is_slip(path)).collect();
            if !unguarded.is_empty() {
                // In scripts `event` is the whole event.
                let help = Some(match unguarded[0].strip_prefix("event.") {
                    Some(member) => format!("`event` is the event's name; write `{member}`"),
                    None => format!("ask first: `has({}) && ...`", unguarded[0]),
                });
                let message = format!(
                    "{} may be absent, which makes `when` undecidable",
                    unguarded.iter().map(|it| format!("`{it}`")).collect::<Vec<_>>().join(", ")
                );
                self.push(at("when"), Severity::Warning, "unguarded-when", message, help, name);
            }
        }
        let decides = hook.handler.fixed().is_some();
        if decides && hook.detached {
            self.push(
                at("async"),
                Severity::Warning,
                "never-decides",
                "an async hook isn't waited for: its verdict can't count".into(),
                None,
                name,
            );
        }
        let is_note = |name: &Arc<str>| {
            let is_obeyed = dialects::DIALECTS.iter().any(|it| it.row(name).is_some_and(|row| row.blocks));
            crate::event::spec(name).is_some_and(|spec| spec.phase == Phase::Note) && !is_obeyed
        };
        if matches!(hook.handler, Handler::Deny(_) | Handler::Ask(_)) && !names.is_empty() && names.iter().all(is_note)
        {
            let are = if names.len() == 1 { "is only told" } else { "are only told" };
            let message = format!("nothing to {}: {} {are}", hook.handler.key(), names.join(" and "));
            let help = Some("choose an event that happens before what is to be blocked".into());
            self.push(at("on"), Severity::Warning, "never-decides", message, help, name);
        }
        // Other systems say themselves what a failure means.
        let is_native = hook.contract.dialect == dialects::NATIVE;
        if is_native && !decides && !hook.detached && hook.fail.is_none() && hook.on.includes_a_gate() {
            let help = Some(
                "add `fail: closed` for a guard, `fail: open` for an observer, or set it in the file's `defaults`"
                    .into(),
            );
            self.push(
                at("name"),
                Severity::Warning,
                "no-fail-direction",
                "a hook that can fail at a gate doesn't say what its failure means".into(),
                help,
                name,
            );
        }
    }
}

/// What is wrong, and what to do about it.
fn with_help(message: String) -> (String, Option<String>) {
    match message.split_once("; ") {
        Some((message, help)) => (message.to_string(), Some(help.to_string())),
        None => (message, None),
    }
}

fn has_tool(event: &str) -> bool {
    event.contains("Tool") || event.starts_with("Permission") || event.starts_with(CUSTOM_PREFIX)
}
