//! The hook set in force: immutable, in order of running, indexed so that cost hardly grows with
//! the number of hooks that don't apply.
//!
//! The index only proposes candidates; [`Hook::applies`] decides. It may propose too many, never
//! too few: a property test holds it to the plain walk over all hooks.

use crate::hook::{Condition, Doubt, Hook};
use foldhash::HashMap;
use hookwire_base::event::{Event, On};
use hookwire_base::syntax::source::Layer;
use hookwire_base::verdict::Decision;
use hookwire_handlers::handlers::Moment;
use hookwire_rules::contract::{Composition, NATIVE};
use hookwire_rules::matching::call::Call;
use hookwire_rules::matching::noted::Inquirer;
use hookwire_rules::matching::paths::{Links, PathViews};
use hookwire_rules::matching::rule::Key;
use hookwire_rules::matching::tools::ToolNames;
use hookwire_rules::matching::{Facts, Matcher, patience};
use hookwire_rules::policy::Policy;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use std::path::Path;
use std::sync::Arc;

/// The event after a tool's call.
const AFTER_TOOL: &str = "PostToolUse";

/// An ordered, indexed collection of hooks.
#[derive(Debug, Default)]
pub struct HookSet {
    /// In order of running: layer, order within the layer, file, position.
    pub hooks: Vec<Arc<Hook>>,
    /// Counts the published sets.
    pub generation: u64,
    /// Names the content.
    pub hash: Arc<str>,
    /// Definitions that are not in force as written; every verdict lists them.
    pub broken: Arc<[String]>,
    /// What else a person should know of the definitions when a session begins.
    pub notices: Arc<[String]>,
    /// What a person should know at every event: which definitions are broken, and judged by what
    /// an earlier host has kept or stood in for by a deny.
    pub told: Arc<[String]>,
    /// What becomes of calls in other projects that nobody has trusted, if somebody says that.
    pub untrusted: Option<UntrustedRule>,
    /// The real directory of what a fleet has published, if the set has it as a whole.
    pub published_in: Option<Arc<Path>>,
    /// Policies judge tool calls before any hook runs; outermost layer first.
    pub policies: Vec<Arc<Policy>>,
    /// Names of tools that files add.
    pub tool_names: Arc<ToolNames>,
    inquirer: Inquirer,
    /// Some hook has rules about what a call says, so that its text is read.
    reads_texts: bool,
    /// Hooks that run for each file that a shell's call has written.
    followers: Vec<u32>,
    by_event: HashMap<Arc<str>, EventIndex>,
    /// For events that no hook names: the hooks for every event.
    other: EventIndex,
}

/// What becomes of tool calls in a project whose own definitions nobody has trusted, or that changed
/// since.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Untrusted {
    /// A person is told, once in a session.
    Tell,
    /// A person is asked before each tool call.
    Ask,
    /// Each tool call is denied.
    Deny,
}

/// What a file outside of all projects says of them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UntrustedRule {
    /// What becomes of tool calls.
    pub how: Untrusted,
    /// Which file says so.
    pub file: Arc<str>,
}

/// A hook that applies to an event.
#[derive(Clone, Debug)]
pub struct Selected {
    /// The hook.
    pub hook: Arc<Hook>,
    /// Why its condition could be neither held nor refuted.
    pub doubt: Option<Doubt>,
    /// What it is to judge, if that isn't the event itself: that a file was written.
    pub about: Option<Arc<Moment>>,
}

impl Selected {
    /// Whether it denies for certain, without a look at more than its conditions.
    pub fn is_certain_deny(&self) -> bool {
        let is_deny = self
            .hook
            .handler
            .fixed()
            .is_some_and(|(decision, _)| decision == Decision::Deny);
        is_deny && self.doubt.is_none() && !self.hook.detached && !self.hook.observe
    }
}

impl HookSet {
    /// Orders and indexes hooks.
    pub fn new(
        mut hooks: Vec<Arc<Hook>>,
        generation: u64,
        hash: Arc<str>,
        broken: Vec<String>,
    ) -> HookSet {
        // The sort is stable: hooks come in order of file and position. Priorities of other
        // vocabularies order only the hooks within their block, so they don't count here.
        let priority = |hook: &Hook| hook.priority.filter(|_| hook.contract.dialect == NATIVE);
        hooks.sort_by_key(|hook| {
            (
                hook.source.layer,
                Composition::Onion.order_key(priority(hook)),
            )
        });
        let mut set = HookSet {
            generation,
            hash,
            broken: broken.into(),
            ..HookSet::default()
        };
        for name in hooks.iter().filter_map(|hook| match &hook.on {
            On::Names(names) => Some(names),
            On::Every => None,
        }) {
            for name in name {
                set.by_event.entry(name.clone()).or_default();
            }
        }
        for (id, hook) in hooks.iter().enumerate() {
            let id = u32::try_from(id).unwrap_or(u32::MAX);
            if hook.enabled && hook.follows_files() && hook.on.includes(AFTER_TOOL) {
                set.followers.push(id);
            }
            let mut rules = hook.tools.rules.iter().chain(&hook.tools.unless);
            set.reads_texts |= hook.enabled && rules.any(|rule| !rule.is_for_all_calls());
            match &hook.on {
                On::Names(names) => {
                    for name in names {
                        set.by_event
                            .entry(name.clone())
                            .or_default()
                            .insert(id, hook, name);
                    }
                }
                On::Every => {
                    set.other.insert(id, hook, "*");
                    for (name, index) in &mut set.by_event {
                        index.insert(id, hook, name);
                    }
                }
            }
        }
        set.hooks = hooks;
        set
    }

    /// The hooks that apply to an event, in order, as far as patience goes.
    pub fn select(&self, facts: &Facts) -> Vec<Selected> {
        let walk = || self.walk(&self.candidates(facts), facts);
        let mut selected = if !self.reads_texts {
            walk().0
        } else if let Some(left) = facts.recall(self.inquirer) {
            self.walk(&left, facts).0
        } else {
            let left = |(_, left): &(Vec<Selected>, Vec<u32>)| Some(left[..].into());
            facts.note(self.inquirer, walk, left).0
        };
        selected.extend(self.for_files_written(facts));
        selected
    }

    /// Those of the hooks that apply, and those that may apply to another event with the same
    /// text: not the ones whose rules about the text don't hold.
    fn walk(&self, ids: &[u32], facts: &Facts) -> (Vec<Selected>, Vec<u32>) {
        let (mut selected, mut left) = (Vec::new(), Vec::new());
        for (n, id) in ids.iter().enumerate() {
            if !patience::was_enough() || n % 8 == 7 && !patience::is_left() {
                break;
            }
            let Some(hook) = self.hooks.get(*id as usize) else {
                continue;
            };
            match hook.applies(facts) {
                Err(Condition::Rule) if !hook.tools.names_arguments() => continue,
                Err(_) => {}
                Ok(doubt) => selected.push(Selected {
                    hook: hook.clone(),
                    doubt,
                    about: None,
                }),
            }
            left.push(*id);
        }
        (selected, left)
    }

    /// The hooks for each file that a shell's call has written, with an event that says so.
    fn for_files_written(&self, facts: &Facts) -> Vec<Selected> {
        if &*facts.event.name != AFTER_TOOL || self.followers.is_empty() {
            return Vec::new();
        }
        let files = facts.files_written();
        let moments = files.into_iter().map(|file| {
            let mut event = Event::clone(&facts.event);
            event.original = None;
            event.change(|data| {
                data["tool"] = json!({ "name": "Write", "input": { "path": file } })
            });
            Arc::new(Moment::of(facts.rewritten(Arc::new(event))))
        });
        let moments: Vec<Arc<Moment>> = moments.collect();
        let mut selected = Vec::new();
        for hook in self
            .followers
            .iter()
            .filter_map(|id| self.hooks.get(*id as usize))
        {
            let doubts = moments
                .iter()
                .filter_map(|about| Some((about, hook.applies(&about.facts).ok()?)));
            selected.extend(doubts.map(|(about, doubt)| Selected {
                hook: hook.clone(),
                doubt,
                about: Some(about.clone()),
            }));
        }
        selected
    }

    fn candidates(&self, facts: &Facts) -> Vec<u32> {
        // Where it can't be told, each hook's own conditions decide.
        let all = |_| (0..).take(self.hooks.len()).collect();
        facts
            .ask("index", || self.indexed(facts))
            .unwrap_or_else(all)
    }

    fn indexed(&self, facts: &Facts) -> Vec<u32> {
        let mut ids = Ids::default();
        for name in facts.event.names() {
            let index = self.by_event.get(name).unwrap_or(&self.other);
            index.no_tool.collect(facts, &mut ids);
            if facts.tool().is_some() {
                index.by_acts.collect_by_acts(facts, &mut ids);
            }
            for tool in facts.all_names() {
                if let Some(bucket) = index.by_tool.get(tool) {
                    bucket.collect(facts, &mut ids);
                }
                index
                    .by_tool_prefix
                    .visit(tool, |bucket| bucket.collect(facts, &mut ids));
            }
        }
        // Nobody sees what was broken off, and it may be the ids of all hooks.
        if patience::was_enough() {
            ids.settle();
        }
        ids.found
    }
}

/// The hooks that are found for an event. A text may name what a hook is for any number of times,
/// and there may be thousands of hooks for each.
#[derive(Default)]
struct Ids {
    found: Vec<u32>,
    /// So many are looked through for those that are there twice.
    most: usize,
}

impl Ids {
    const FEW: usize = 1024;

    fn extend(&mut self, ids: &[u32]) {
        self.found.extend_from_slice(ids);
        if self.found.len() > self.most.max(Ids::FEW) {
            self.settle();
            self.most = 2 * self.found.len();
        }
    }

    fn settle(&mut self) {
        self.found.sort_unstable();
        self.found.dedup();
    }
}

#[derive(Debug, Default)]
struct EventIndex {
    /// Hooks that name no tool.
    no_tool: Bucket,
    by_tool: HashMap<Box<str>, Bucket>,
    by_tool_prefix: PrefixMap<Bucket>,
    /// Hooks with rules over files or hosts, which any tool may read, write or connect to.
    by_acts: Bucket,
}

impl EventIndex {
    fn insert(&mut self, id: u32, hook: &Hook, event: &str) {
        if !hook.enabled {
            return;
        }
        // At other events a matcher is held against something else than the tool's name.
        let about_tool = (hook.contract.matched)(event).is_tool();
        let matcher = hook.matcher.as_ref().filter(|_| about_tool);
        // Any of the rules is enough.
        for rule in hook
            .tools
            .rules
            .iter()
            .filter(|rule| hook.judges_acts() && rule.is_about_files())
        {
            self.by_acts.insert(
                id,
                rule.files_prefix(hook.is_verdict())
                    .map_or(Key::None, Key::PathPrefix),
            );
        }
        if hook.tools.rules.iter().any(|rule| rule.is_about_hosts()) {
            self.by_acts.insert(id, Key::None);
        }
        for rule in hook
            .tools
            .rules
            .iter()
            .filter(|rule| !rule.is_about_hosts())
        {
            for (tool, prefix) in rule.tools() {
                let bucket = match prefix {
                    Some(prefix) => self.by_tool_prefix.entry(prefix),
                    None => self.by_tool.entry(tool.into()).or_default(),
                };
                // What a call delegates to may be any program.
                let is_anywhere =
                    hook.is_verdict() && rule.is_about_files() && rule.files_prefix(true).is_none();
                let is_open = hook.delegates.is_some() || is_anywhere;
                bucket.insert(id, if is_open { Key::None } else { rule.key() });
            }
        }
        match matcher {
            _ if !hook.tools.rules.is_empty() => {}
            Some(Matcher::Names(names)) => {
                for name in names {
                    self.by_tool
                        .entry(name.as_str().into())
                        .or_default()
                        .insert(id, Key::None);
                }
            }
            Some(Matcher::Prefix(prefix) | Matcher::Pattern { prefix, .. }) => {
                self.by_tool_prefix.entry(prefix).insert(id, Key::None);
            }
            None => self.no_tool.insert(id, Key::None),
        }
    }
}

/// Hooks of one tool, by what their condition needs.
#[derive(Debug, Default)]
struct Bucket {
    always: Vec<u32>,
    by_program: HashMap<Box<str>, Vec<u32>>,
    by_path: PrefixMap<Vec<u32>>,
    links: Links,
}

impl Bucket {
    fn insert(&mut self, id: u32, key: Key<'_>) {
        match key {
            Key::None => self.always.push(id),
            Key::Program(program) => self.by_program.entry(program.into()).or_default().push(id),
            Key::PathPrefix(prefix) => self.by_path.entry(prefix).push(id),
        }
    }

    fn collect(&self, facts: &Facts, ids: &mut Ids) {
        ids.extend(&self.always);
        // A call that takes time to read is read apart, and all is found again there. Most events
        // have one call, and to look at the clock takes as long as much of the rest.
        let has_time = |(n, _): &(usize, &Call)| {
            if *n == 0 {
                patience::was_enough()
            } else {
                patience::is_left()
            }
        };
        let calls = || {
            facts
                .all_calls()
                .enumerate()
                .take_while(has_time)
                .map(|(_, call)| call)
        };
        // Where a call can't be read, each hook's own conditions decide.
        if !self.by_program.is_empty() && facts.as_shell(Layer::Managed).is_some() {
            // What an unknown tool's text names in any language is in doubt.
            self.by_program.values().for_each(|found| ids.extend(found));
        } else if !self.by_program.is_empty() {
            for programs in calls().map(Call::programs) {
                match programs {
                    Some(mut programs) => {
                        programs.sort_unstable();
                        programs.dedup();
                        programs
                            .into_iter()
                            .filter_map(|it| self.by_program.get(it))
                            .for_each(|it| ids.extend(it))
                    }
                    None => self.by_program.values().for_each(|found| ids.extend(found)),
                }
            }
        }
        if !self.by_path.is_empty() {
            calls()
                .map(Call::paths)
                .for_each(|paths| self.collect_by_paths(paths, ids));
        }
    }

    /// The hooks whose rules over files may hold for what a call does.
    fn collect_by_acts(&self, facts: &Facts, ids: &mut Ids) {
        ids.extend(&self.always);
        if !self.by_path.is_empty() {
            self.collect_by_paths(facts.paths_of_acts(), ids);
        }
    }

    fn collect_by_paths(&self, paths: Option<Vec<&PathViews>>, ids: &mut Ids) {
        if !patience::was_enough() {
            return;
        }
        let relative = paths.as_ref().and_then(|all| {
            all.iter()
                .map(|it| it.relative())
                .collect::<Option<Vec<_>>>()
        });
        let mut found = |found: &Vec<u32>| ids.extend(found);
        let (Some(paths), Some(relative)) = (paths, relative) else {
            return self.by_path.all(found);
        };
        relative
            .into_iter()
            .flatten()
            .for_each(|it| self.by_path.visit(it, &mut found));
        for views in paths {
            self.links.to(views, self.by_path.keys(), |it| {
                self.by_path.map.get(it).into_iter().for_each(&mut found)
            });
        }
    }
}

/// Values by a prefix of the text that they are for.
#[derive(Debug)]
struct PrefixMap<V> {
    map: HashMap<Box<str>, V>,
    /// The lengths that occur, ascending: a text is looked up once per length.
    lengths: Vec<usize>,
}

impl<V> Default for PrefixMap<V> {
    fn default() -> Self {
        PrefixMap {
            map: HashMap::default(),
            lengths: Vec::new(),
        }
    }
}

impl<V: Default> PrefixMap<V> {
    fn entry(&mut self, prefix: &str) -> &mut V {
        if let Err(at) = self.lengths.binary_search(&prefix.len()) {
            self.lengths.insert(at, prefix.len());
        }
        self.map.entry(prefix.into()).or_default()
    }

    fn is_empty(&self) -> bool {
        self.map.is_empty()
    }

    fn keys(&self) -> impl Iterator<Item = &str> {
        self.map.keys().map(|it| &**it)
    }

    fn visit(&self, text: &str, mut found: impl FnMut(&V)) {
        for length in &self.lengths {
            match text.get(..*length).and_then(|prefix| self.map.get(prefix)) {
                Some(value) => found(value),
                None if *length > text.len() => break,
                None => {}
            }
        }
    }

    fn all(&self, found: impl FnMut(&V)) {
        self.map.values().for_each(found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definitions::compile::compile;
    use crate::definitions::origin::Origin;
    use hookwire_base::event::Event;
    use hookwire_base::support::file::read_named;
    use hookwire_base::syntax::diagnostic::LineIndex;
    use hookwire_base::syntax::node::Node;
    use hookwire_rules::matching::tools::DeclaredTool;
    use proptest::prelude::*;
    use proptest::sample::select;
    use serde_json::{Value, json};
    use std::path::Path;

    const EVENTS: &[&str] = &[
        "PreToolUse",
        "PostToolUse",
        "Stop",
        "UserPromptSubmit",
        "custom:x",
    ];
    const TOOLS: &[&str] = &[
        "Bash",
        "Write",
        "Read",
        "mcp__a__b",
        "mcp__a__c",
        "shell",
        "Bashful",
        "bash",
        "é",
        "write_file",
        "mine",
    ];
    const MATCHERS: &[&str] = &[
        "*",
        "Bash",
        "Write|Edit",
        "mcp__a__.*",
        "mcp__.*__c",
        "Bas.*",
        "Bash?.*",
        "B+ash",
        "(?i)bash",
        "sh.ll|é",
        ".",
        "Bash|Ba.*",
        "é",
        "mcp__a__[bc]",
    ];
    const RULES: &[&str] = &[
        "Bash",
        "Bash(*)",
        "Bash(git push*)",
        "Bash(git:*)",
        "Bash(ls)",
        "Bash(* -f)",
        "Bash(g*)",
        "Write(src/**)",
        "Write(/p/src/*.ts)",
        "Write(**/*.ts)",
        "Read(/etc/**)",
        "Read(*)",
        "mcp__*(to=bob*)",
        "mcp__a__b(x*)",
        "*(git*)",
        "shell(git push*)",
        "é(é*)",
        "Write|Edit(src/**)",
        "b*|Write(src/**)",
        "mcp__a__*",
        "Write(~/x/**)",
    ];
    const WHENS: &[&str] = &[
        "has(tool.name)",
        "tool.input.to == 'bob'",
        "step > 2",
        "event == 'Stop'",
    ];
    const COMMANDS: &[&str] = &[
        "git push -f",
        "git",
        "npm test",
        "ls",
        "ls && git push",
        "",
        "$X",
        "sudo git push",
        "echo 'git push'",
        "(",
        "é",
        "g",
        "l\\s",
    ];
    const PATHS: &[&str] = &[
        "src/a.ts",
        "/p/src/a.ts",
        "a.ts",
        "../x",
        "src/../../etc/passwd",
        "/etc/passwd",
        "",
        "./src//b.ts",
        "é/é.ts",
    ];

    fn maybe(texts: &'static [&'static str]) -> impl Strategy<Value = Option<&'static str>> {
        prop::option::of(select(texts))
    }

    fn hook() -> impl Strategy<Value = Value> {
        let on = prop_oneof![
            4 => prop::collection::vec(select(EVENTS), 1..3).prop_map(|names| json!(names)),
            1 => Just(json!("*")),
        ];
        let rules = prop::collection::vec(select(RULES), 0..3);
        let conditions = (on, maybe(MATCHERS), rules.clone(), rules, maybe(WHENS));
        let others = (
            maybe(&["coder", "c*"]),
            select(&["allow", "deny", "ask"][..]),
            any::<bool>(),
            -2..2i64,
            any::<bool>(),
        );
        let dialect = select(&["native", "claude-code"][..]);
        (conditions, others, dialect).prop_map(
            |(
                (on, matcher, rules, unless, when),
                (agents, handler, enabled, priority, delegates),
                dialect,
            )| {
                let mut hook =
                    json!({"on": on, "enabled": enabled, "priority": priority, "dialect": dialect});
                hook[handler] = "x".into();
                if delegates && dialect == "native" {
                    hook["delegates"] = "deny".into();
                }
                for (key, rules) in [("if", rules), ("unless", unless)] {
                    if !rules.is_empty() {
                        hook[key] = rules.into();
                    }
                }
                for (key, value) in [("matcher", matcher), ("when", when), ("agents", agents)] {
                    if let Some(value) = value {
                        hook[key] = value.into();
                    }
                }
                hook
            },
        )
    }

    fn event() -> impl Strategy<Value = Value> {
        let input = prop_oneof![
            select(COMMANDS).prop_map(|command| json!({ "command": command })),
            select(PATHS).prop_map(|path| json!({ "file_path": path })),
            Just(json!({"to": "bob", "x": 1})),
            Just(json!({"command": 3})),
            Just(json!({})),
        ];
        let tool = prop::option::of((select(TOOLS), prop::option::of(input)));
        (
            select(EVENTS),
            tool,
            maybe(&["coder", "other"]),
            prop::option::of(0..5u64),
        )
            .prop_map(|(event, tool, agent, step)| {
                let mut event = json!({"event": event, "cwd": "/p"});
                if let Some((name, input)) = tool {
                    event["tool"] = json!({ "name": name });
                    if let Some(input) = input {
                        event["tool"]["input"] = input;
                    }
                } else if hookwire_base::event::lacks_tool(&event) {
                    event["event"] = "Stop".into();
                }
                if let Some(agent) = agent {
                    event["agent"] = json!({ "name": agent });
                }
                if let Some(step) = step {
                    event["step"] = step.into();
                }
                event
            })
    }

    fn compiled(mut hooks: Vec<Value>) -> Vec<Arc<Hook>> {
        for (position, hook) in hooks.iter_mut().enumerate() {
            hook["name"] = format!("h{position}").into();
        }
        let origin = Origin::new("f", Path::new("/p"), Layer::Hooks, &read_named);
        let file = compile(
            &Node::from_json(&json!({ "hooks": hooks })),
            &origin,
            &LineIndex::new(""),
        );
        file.hooks
            .into_iter()
            .map(|it| it.hook.unwrap_or_else(|| panic!("{:?}", file.problems)))
            .collect()
    }

    /// A link in the working directory is found by where it leads, for every prefix and no other.
    #[test]
    fn rules_about_links_are_selected_by_where_those_lead() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        for directory in ["p/src", "out/deep"] {
            std::fs::create_dir_all(top.join(directory)).unwrap();
        }
        std::os::unix::fs::symlink("../out", top.join("p/link")).unwrap();
        std::os::unix::fs::symlink("src/a", top.join("p/file")).unwrap();
        let rules = ["link/**", "link/deep/*", "file", "src/*", "none/**"];
        let hooks = rules
            .map(|rule| json!({"on": "PreToolUse", "if": format!("Write({rule})"), "deny": "no"}));
        let set = HookSet::new(compiled(hooks.into()), 1, "".into(), Vec::new());
        for (path, expected) in [
            ("../out/x", &["link/**"][..]),
            ("../out/deep/x", &["link/**", "link/deep/*"]),
            ("link/deep/x", &["link/**", "link/deep/*"]),
            ("src/a", &["file", "src/*"]),
            ("file", &["file", "src/*"]),
            ("src/b", &["src/*"]),
            ("../outer", &[]),
        ] {
            let event = json!({"event": "PreToolUse", "cwd": top.join("p"), "tool": {"name": "Write", "input": {"file_path": path}}});
            let facts = Facts::new(Arc::new(Event::from_json(event).unwrap()), Path::new("/"));
            let selected = set
                .select(&facts)
                .iter()
                .map(|it| it.hook.tools.rules[0].pattern().unwrap().to_string())
                .collect::<Vec<_>>();
            assert_eq!(selected, expected, "{path}");
        }
    }

    /// What was found for a text counts for the same text only: another argument, or a file that
    /// leads elsewhere by now, is looked at.
    #[test]
    fn a_text_that_comes_again_is_judged_as_it_stands() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        let set = HookSet::new(
            compiled(vec![
                json!({"on": "PreToolUse", "if": "Read(.env)", "deny": "no"}),
                json!({"on": "PreToolUse", "if": "*(description=push*)", "deny": "no"}),
                json!({"on": "PreToolUse", "if": "Bash(git push*)", "deny": "no"}),
            ]),
            1,
            "".into(),
            Vec::new(),
        );
        let selected = |description: &str| {
            let input = json!({"command": "cat notes", "description": description});
            let event = json!({"event": "PreToolUse", "cwd": top, "tool": {"name": "Bash", "input": input}});
            let event = Arc::new(Event::from_json(event).unwrap());
            let select = || set.select(&Facts::new(event.clone(), Path::new("/")));
            let slow = select();
            let names = |all: &[Selected]| -> Vec<String> {
                all.iter().map(|it| it.hook.name.to_string()).collect()
            };
            // Twice: the first one leaves what it found to the second.
            for quick in (0..2).filter_map(|_| patience::quickly(select)) {
                assert_eq!(names(&quick), names(&slow), "{description}");
            }
            names(&slow)
        };
        let notes = top.join("notes");
        std::fs::write(&notes, "").unwrap();
        assert_eq!(selected("look"), [""; 0]);
        assert_eq!(selected("push"), ["h1"]);
        std::fs::remove_file(&notes).unwrap();
        assert_eq!(selected("look"), [""; 0]);
        std::os::unix::fs::symlink(".env", &notes).unwrap();
        assert_eq!(selected("look"), ["h0"]);
        assert_eq!(selected("push"), ["h0", "h1"]);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(100) })]

        #[test]
        fn selecting_is_a_walk_over_all_hooks(hooks in prop::collection::vec(hook(), 0..12), events in prop::collection::vec(event(), 1..12)) {
            let set = HookSet::new(compiled(hooks), 1, "".into(), Vec::new());
            let mine = DeclaredTool { layer: Layer::Hooks, name: "mine".into(), family: "Bash", argument: None };
            let names = Arc::new(ToolNames(vec![mine]));
            for event in events {
                let facts = Facts::new(Arc::new(Event::from_json(event).unwrap()), Path::new("/p")).with_names(&names);
                let selected: Vec<_> = set.select(&facts).iter().map(|it| (it.hook.name.clone(), it.doubt.clone())).collect();
                let walked = set.hooks.iter().filter_map(|hook| Some((hook.name.clone(), hook.applies(&facts).ok()?)));
                prop_assert_eq!(&selected, &walked.collect::<Vec<_>>());
                let event = facts.event.clone();
                let again = || set.select(&Facts::new(event.clone(), Path::new("/p")).with_names(&names));
                for quick in (0..2).filter_map(|_| patience::quickly(again)) {
                    let quick: Vec<_> = quick.iter().map(|it| (it.hook.name.clone(), it.doubt.clone())).collect();
                    prop_assert_eq!(&quick, &selected);
                }
            }
        }
    }

    #[test]
    fn a_vocabulary_knows_families_or_only_own_names() {
        for (dialect, key, text, tool, expected) in [
            ("native", "matcher", "Bash", "run_shell_command", true),
            ("native", "matcher", "run_.*", "run_shell_command", true),
            ("native", "matcher", "Write", "apply_patch", true),
            ("native", "matcher", "Bash", "BashOutput", false),
            ("native", "if", "Edit", "MultiEdit", true),
            ("claude-code", "matcher", "Edit", "replace", true),
            ("claude-code", "matcher", "Edit", "MultiEdit", false),
            ("claude-code", "if", "Edit", "MultiEdit", true),
            ("hooks-article", "matcher", "Bash", "shell", false),
            ("hooks-article", "if", "Bash", "shell", false),
            ("agentpool", "matcher", "^Bash$", "shell", false),
        ] {
            let hook = json!({"on": "PreToolUse", "dialect": dialect, key: text, "deny": "x"});
            let set = HookSet::new(compiled(vec![hook]), 1, "".into(), Vec::new());
            let event = json!({"event": "PreToolUse", "tool": {"name": tool}});
            let facts = Facts::new(Arc::new(Event::from_json(event).unwrap()), Path::new("/p"));
            assert_eq!(
                set.select(&facts).len() == 1,
                expected,
                "{dialect} {key} {text} {tool}"
            );
        }
    }

    /// A rule of several, and what `unless` takes away.
    #[test]
    fn a_miss_names_the_rule() {
        for (conditions, expected) in [
            (
                json!({"if": ["Read", "Bash(rm *)"], "unless": "Bash(rm ./x)"}),
                "unless `Bash(rm ./x)`: `rm ./x`",
            ),
            (
                json!({"if": ["Read", "Bash(git *)"]}),
                "if `Bash(git *)`: no command runs `git`",
            ),
            (json!({"if": "Read"}), "if `Read`: another tool, `Bash`"),
            (
                json!({"unless": "Bash"}),
                "unless `Bash`: any call of `Bash`",
            ),
        ] {
            let mut hook = json!({"on": "PreToolUse", "deny": "x"});
            hook.as_object_mut()
                .unwrap()
                .extend(conditions.as_object().unwrap().clone());
            let hook = compiled(vec![hook]).remove(0);
            let event = json!({"event": "PreToolUse", "tool": {"name": "Bash", "input": {"command": "true && rm ./x"}}});
            let event = if expected.contains("any call") {
                json!({"event": "PreToolUse", "tool": {"name": "Bash"}})
            } else {
                event
            };
            let facts = Facts::new(Arc::new(Event::from_json(event).unwrap()), Path::new("/p"));
            let miss = hook.miss(hook.applies(&facts).unwrap_err(), &facts);
            assert_eq!(format!("{} {}", miss.test, miss.why), expected);
        }
    }

    #[test]
    fn most_hooks_that_do_not_apply_are_not_even_looked_at() {
        let hook =
            |i: usize| json!({"on": "PreToolUse", "if": format!("Bash(tool-{i} *)"), "deny": "x"});
        let set = HookSet::new(
            compiled((0..1000).map(hook).collect()),
            1,
            "".into(),
            Vec::new(),
        );
        let event = json!({"event": "PreToolUse", "tool": {"name": "Bash", "input": {"command": "tool-7 x"}}});
        let facts = Facts::new(Arc::new(Event::from_json(event).unwrap()), Path::new("/p"));
        assert_eq!(set.candidates(&facts).len(), 1);
    }
}
