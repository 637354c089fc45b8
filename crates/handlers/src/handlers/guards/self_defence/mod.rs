//! `self-defense`: what an agent may not do to the host that judges it without a person's word:
//! change definitions, what was trusted, or the settings that make the agent ask; and answer for
//! the person.
//!
//! It judges what a call names. Code that computes a path is a matter for a sandbox.

mod code;
mod found;
mod git;
mod ground;
mod ignored;
mod names;
mod places;
mod processes;
mod shell;
mod tools;

use self::ground::Ground;
use self::names::base_name;
use self::places::{Named, Places, What, both};
use self::shell::{Hit, Text};
use super::super::call::Call;
use super::super::compile::{Compile, Mistake};
use super::super::error::HandlerError;
use super::super::kind::Kind;
use super::guard_kind::{GuardKind, gates};
use hookwire_base::event::EventSpec;
use hookwire_base::support::places as user;
use hookwire_base::syntax::source::Layer;
use hookwire_base::verdict::{Answer, Decision};
use hookwire_rules::agents::{self, AGENTS, LOADING};
use hookwire_rules::matching;
use hookwire_rules::matching::call::{self, Item, Subject, Thing};
use hookwire_rules::matching::noted::Inquirer;
use hookwire_rules::matching::paths::{self, PathPattern, PathViews};
use hookwire_rules::matching::rule::{Condition, Reading, ToolRule};
use hookwire_rules::matching::shell::{
    Command, Ends, Judgement, Script, Shell, Word, text_of_shell,
};
use hookwire_rules::matching::tools::Found;
use hookwire_rules::matching::{Asker, Facts, Truth};
use regex::Regex;
use schemars::JsonSchema;
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

/// Paths that tools must not change, and commands that only a person gives.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(rename = "SelfDefense")]
pub struct RawSelfDefense {
    /// Paths beside the guard's own, as in `Write(...)`: `~/notes/**`.
    paths: Vec<String>,
    /// Rules for shell commands beside the guard's own: `Bash(systemctl stop hookwire*)`.
    commands: Vec<String>,
}

#[derive(Debug)]
pub struct SelfDefense(Arc<Guarded>);

/// What is guarded.
#[derive(Debug)]
struct Guarded {
    inquirer: Inquirer,
    places: Places,
    paths: Vec<Protected>,
    /// Where hookwire's own files are. They are no patterns, whatever characters their names have.
    directories: Vec<PathBuf>,
    commands: Condition,
    /// Commands that give an agent more that runs inside it or beside it.
    extending: Condition,
}

/// A call that is judged.
#[derive(Clone, Copy)]
struct Judged<'a> {
    facts: &'a Facts,
    asker: Asker,
    layer: Layer,
    /// The project's.
    root: &'a Path,
}

#[derive(Debug)]
struct Protected {
    pattern: PathPattern,
    /// What every path that the pattern is for has in it.
    core: String,
}

/// Definitions, and what was trusted. The settings of agents come with [`AGENTS`].
const PATHS: &[&str] = &[
    "**/.hookwire/**",
    "~/.config/hookwire/**",
    "~/.local/share/hookwire/**",
    "/etc/hookwire/**",
];

/// What only a person has hookwire do, by its first words. Its language server has definitions
/// trusted, too.
const COMMANDS: &str = "\
    trust|init|serve|host stop|approvals approve|approvals deny|inspect|uninstall|install|import|state set|state increment|\
    state compare-and-set|state delete|check --fix|doctor --fix|check --migrate|test --update|fleet publish|fleet init|fleet key";

/// What shows and asks nothing of anybody.
const HARMLESS: &[&str] = &["trust list", "trust show*", "init --list"];

/// Files that a user's shell reads when it starts: what they set is so for the agent, too.
const STARTING: &str = "\
    .bashrc|.bash_profile|.bash_login|.bash_aliases|.profile|.zshrc|.zshenv|.zprofile|.zlogin|.kshrc|\
    config.fish|environment|/etc/profile|.envrc";

/// Variables that say where hookwire keeps its files.
const MOVING: &[&str] = &["XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR"];

/// Why a person is asked before what only a person says.
const ANSWERS: &str = "this answers or decides for you";

/// Why a person is asked before an agent gets more than it has.
const EXTENDS: &str = "this adds to an agent what may run before its hooks do";

/// Whether a command starts an agent that can be extended.
fn is_agent(command: &Command) -> bool {
    let Some(program) = command.words.first() else {
        return false;
    };
    let name = base_name(&program.text);
    AGENTS
        .iter()
        .any(|agent| agent.program == name && !agent.extends.is_empty())
}

/// What an agent's entry has a shell do when hookwire fails: it says so.
const SAYING: [&str; 2] = ["echo", "exit"];

/// So many of the files that a text runs are looked into.
const MOST_FILES: usize = 8;

/// Steps that reading a text of an unknown tool may take.
const MOST_WORK: usize = 50_000;

/// Tools that only read.
const READING_FAMILIES: &[&str] = &["Read", "Grep", "Glob", "LS", "WebFetch", "WebSearch"];

impl GuardKind for SelfDefense {
    const EXAMPLE: &'static str = "{ paths: [ci/**] }";

    const EVENTS: &'static [&'static str] = &["PreToolUse"];
    const MAY_OBSERVE: bool = false;

    fn acts_at(spec: &EventSpec) -> bool {
        gates(spec)
    }
}

impl Kind for SelfDefense {
    type Raw = RawSelfDefense;

    fn judges_starts(&self) -> bool {
        true
    }

    fn compile(raw: RawSelfDefense, _: &Compile<'_>) -> Result<Self, Mistake> {
        // Where the user has moved them to, as the environment and the command line may write it in
        // many ways.
        let sockets = user::runtime();
        let moved = user::user_dirs()
            .iter()
            .chain(user::data_dirs())
            .chain([&sockets]);
        let directories: Vec<PathBuf> = moved.flat_map(|dir| both(dir)).collect();
        let given = |path: &str| {
            protected(path).map_err(|problem| Mistake::new("paths", format!("`{path}`: {problem}")))
        };
        let settings = AGENTS
            .iter()
            .flat_map(|it| &it.settings)
            .map(String::as_str);
        let own = PATHS.iter().copied().chain(settings);
        let paths = own.chain(raw.paths.iter().map(String::as_str)).map(given);
        let paths = paths.collect::<Result<Vec<Protected>, _>>()?;
        let rule = |text: &str| {
            let rule = ToolRule::new(text)
                .map_err(|problem| Mistake::new("commands", format!("`{text}`: {problem}")))?;
            match rule.commands() {
                [_, ..] => Ok(rule),
                [] => Err(Mistake::new(
                    "commands",
                    format!("`{text}` is no rule for shell commands"),
                )
                .help("write `Bash(systemctl stop hookwire*)`")),
            }
        };
        let of_hookwire = COMMANDS
            .split('|')
            .map(|it| format!("Bash(hookwire {it}*)"));
        let of_agents = AGENTS
            .iter()
            .flat_map(|it| &it.without_hooks)
            .map(|it| format!("Bash({it})"));
        let extending: Vec<String> = AGENTS
            .iter()
            .flat_map(|it| &it.extends)
            .map(|it| format!("Bash({it})"))
            .collect();
        let own: Vec<String> = of_hookwire.chain(of_agents).collect();
        let rules = own
            .iter()
            .chain(&raw.commands)
            .map(|text| rule(text))
            .collect::<Result<_, _>>()?;
        let extending = Condition {
            rules: extending
                .iter()
                .map(|text| rule(text))
                .collect::<Result<_, _>>()?,
            ..Condition::default()
        };
        let unless = HARMLESS
            .iter()
            .map(|it| rule(&format!("Bash(hookwire {it})")))
            .collect::<Result<_, _>>()?;
        let commands = Condition {
            rules,
            unless,
            located: None,
        };
        let places = Places::new(&raw.paths);
        Ok(SelfDefense(Arc::new(Guarded {
            inquirer: Inquirer::default(),
            places,
            paths,
            directories,
            commands,
            extending,
        })))
    }

    fn has_effects(&self) -> bool {
        false
    }

    async fn run(&self, call: &Call<'_>) -> Result<Answer, HandlerError> {
        let (guarded, asker, layer) = (self.0.clone(), call.hook.asker(), call.hook.source.layer);
        let root = call.services.root.clone();
        let harm = move |facts: &Facts| {
            if facts.recall(guarded.inquirer).is_some() {
                return None;
            }
            let judge = || {
                guarded.harm(Judged {
                    facts,
                    asker,
                    layer,
                    root: &root,
                })
            };
            let harmless = |harm: &Option<String>| harm.is_none().then(|| [].into());
            facts.note(guarded.inquirer, judge, harmless)
        };
        Ok(match call.compute(harm).await? {
            Some(harm) if is_unasked(call, &harm) => {
                let why = "only a person may say so, and the agent would ask nobody";
                Answer::decide(Decision::Deny, format!("{harm}; {why}"))
            }
            Some(harm) => {
                Answer::decide(Decision::Ask, format!("{harm}; only a person may say so"))
            }
            None => Answer::default(),
        })
    }
}

/// Whether the agent, as it was started, puts questions about its own settings to nobody.
fn is_unasked(call: &Call<'_>, harm: &str) -> bool {
    let event = call.moment.event();
    let Some(original) = &event.original else {
        return false;
    };
    let Ok(agent) = agents::by_name(original.dialect) else {
        return false;
    };
    if !agent.is_asking_nobody(original, true) {
        return false;
    }
    let input = event
        .at("/tool/input")
        .map(ToString::to_string)
        .unwrap_or_default();
    agent
        .folders
        .iter()
        .any(|folder| harm.contains(folder.as_str()) || input.contains(folder.as_str()))
}

fn protected(text: &str) -> Result<Protected, String> {
    let pattern = PathPattern::new(text)?;
    let core = text
        .trim_start_matches("**/")
        .trim_start_matches('~')
        .trim_end_matches("/**");
    let core = core
        .split(['*', '?', '[', '{'])
        .next()
        .unwrap_or_default()
        .to_string();
    if core.trim_matches('/').is_empty() {
        return Err("it names no directory".into());
    }
    Ok(Protected { pattern, core })
}

impl Guarded {
    /// What a call would do that it must not, for people.
    fn harm(&self, judged: Judged<'_>) -> Option<String> {
        let Judged {
            facts,
            asker,
            layer,
            root,
        } = judged;
        let families = facts.families(asker);
        let ground = Ground::new(&self.places, facts.runs_in(), root);
        let read = facts.call(layer);
        let argv = facts.event.argv().unwrap_or_default();
        // What a shell does itself when it starts is what its text says, as for a call.
        let told = text_of_shell(&argv)
            .map(|(shell, text)| (text, matching::shell::read_within(text, shell, MOST_WORK).0));
        if asks(&argv, told.as_ref().map(|(_, script)| script), &ground) {
            return None;
        }
        let (mut is_hidden, mut starts_agent) = (false, false);
        // Agents apply the patches of a shell text themselves.
        for subject in read
            .alternatives
            .iter()
            .chain(&read.others)
            .chain(&read.beside)
            .chain(&read.patch)
        {
            match subject {
                Subject::Items(items) => {
                    if let Some(harm) = items
                        .iter()
                        .find_map(|item| self.harm_of_item(item, families, facts))
                    {
                        return Some(harm);
                    }
                }
                Subject::Shell { text, script } => {
                    let (text, script) = told
                        .as_ref()
                        .map_or((&**text, &***script), |(text, script)| (text, script));
                    let harm = self.harm_of_text(text, script, &ground);
                    if let Some(harm) =
                        harm.or_else(|| self.harm_of_files(script, told.is_some(), facts, &ground))
                    {
                        return Some(harm);
                    }
                    is_hidden |= speaks_of_it(text);
                    starts_agent |= script.commands().iter().any(is_agent);
                }
                Subject::Unclear(_) => is_hidden = true,
            }
        }
        if let Some(what) = self.headed(judged) {
            return Some(format!(
                "it can't be told whether this patch changes `{what}`"
            ));
        }
        if families.is_empty() {
            return self.harm_of_tool(facts, &ground);
        }
        if !families.contains(&"Bash") {
            return None;
        }
        // There are many, and most texts start no agent.
        if starts_agent && self.extending.holds(facts, asker, Reading::Hits) == Truth::Yes {
            return Some(EXTENDS.into());
        }
        match self.commands.holds(facts, asker, Reading::Hits) {
            Truth::Yes => Some(ANSWERS.into()),
            Truth::Opaque(why) if is_hidden => Some(format!(
                "it can't be told whether this answers for you: {why}"
            )),
            Truth::No | Truth::Delegates(_) | Truth::Opaque(_) => None,
        }
    }

    /// What is done to one thing that a file tool names.
    fn harm_of_item(&self, item: &Item, families: &[&str], facts: &Facts) -> Option<String> {
        let Thing::Path(views) = &item.value else {
            return None;
        };
        let reads = item
            .family
            .or(families.first().copied())
            .is_some_and(|it| READING_FAMILIES.contains(&it));
        let all = [
            Some(&views.lexical),
            views.resolved.as_ref(),
            views.tidied.as_ref(),
        ]
        .into_iter()
        .flatten();
        let what = all
            .clone()
            .find_map(|path| self.places.at(&Named::path(path)));
        if reads && what == Some(What::Sockets) {
            return Some(format!(
                "this shows what hosts are spoken to with, `{}`",
                views.lexical.display()
            ));
        }
        if reads {
            return None;
        }
        if families.is_empty() && facts.tool().is_some_and(tools::only_reads) {
            return None;
        }
        if what.is_some() || self.is_protected(views) {
            return Some(format!("this would change `{}`", views.lexical.display()));
        }
        let starts = all
            .map(|path| path.to_string_lossy())
            .any(|path| STARTING.split('|').any(|it| path.ends_with(it)));
        let input = facts.event.at("/tool/input").filter(|_| starts)?;
        moves(&input.to_string(), true)
            .map(|what| format!("this sets `{what}`, and an agent goes by that"))
    }

    /// What a shell text does to a place, to hosts and to where agents look for their settings.
    fn harm_of_text(&self, text: &str, script: &Script, ground: &Ground<'_>) -> Option<String> {
        // Quotes within a name are no part of it.
        let bare: String = text
            .chars()
            .filter(|c| !matches!(c, '\'' | '"' | '\\'))
            .collect();
        let read = Text::new(script, ground);
        // What can't be read, or is said to a program that isn't known, may do anything.
        let unclear = read
            .unclear()
            .chain(Some(&*bare).filter(|_| !script.names_all()));
        if let Some(what) = unclear.into_iter().find_map(|text| self.mentioned(text)) {
            return Some(format!(
                "this names `{what}` in a command that may change it"
            ));
        }
        let speaks_of_it = bare.contains("hookwire");
        if let Some(command) = script
            .commands()
            .iter()
            .find(|it| processes::ends_host(it, speaks_of_it))
        {
            return Some(match command.ends() {
                Some(Ends::Installed) => "this takes hookwire away".into(),
                _ => "this may end a host of hookwire".into(),
            });
        }
        if processes::starts_elsewhere(script, &bare) {
            return Some("this starts an agent that looks for its settings elsewhere".into());
        }
        let starts = STARTING.split('|').any(|it| bare.contains(it));
        if let Some(what) = moves(&bare, starts).filter(|_| !read.only_shows()) {
            return Some(format!("this sets `{what}`, and an agent goes by that"));
        }
        if let Some(name) = loads_code(&bare, script, starts).filter(|_| !read.only_shows()) {
            return Some(format!("this sets `{name}`, which puts code into an agent"));
        }
        if let Some(hit) = read.changed() {
            return Some(format!(
                "this names {hit} in a command that may change it or what it holds"
            ));
        }
        let answers = |command: &Command| {
            let Some(program) = command.words.first() else {
                return false;
            };
            let rest: Vec<&str> = command.words[1..]
                .iter()
                .map_while(Word::as_constant)
                .take(3)
                .collect();
            let rest = rest.join(" ");
            COMMANDS.split('|').any(|it| rest.starts_with(it))
                && !HARMLESS
                    .iter()
                    .any(|it| rest.starts_with(it.trim_end_matches('*')))
                && processes::may_be_hookwire(&program.text, ground)
        };
        script
            .commands()
            .iter()
            .any(answers)
            .then(|| ANSWERS.into())
    }

    /// What the files at hand do that a text runs or applies. `has_started`: it is a shell's that
    /// runs already.
    fn harm_of_files(
        &self,
        script: &Script,
        has_started: bool,
        facts: &Facts,
        ground: &Ground<'_>,
    ) -> Option<String> {
        for path in script.scripts().iter().take(MOST_FILES) {
            let text = match facts.script(path).known() {
                Ok(Some(text)) => text,
                Ok(None) => continue,
                Err(_) => return Some(format!("`{path}` can't be looked into")),
            };
            let is_shell = path.ends_with("sh")
                || text
                    .lines()
                    .next()
                    .is_some_and(|it| it.starts_with("#!") && it.ends_with("sh"));
            let what = match is_shell {
                true => {
                    let inner = matching::shell::read_within(&text, Shell::Unknown, MOST_WORK).0;
                    let speaks_of_it = text.contains("hookwire");
                    if inner
                        .commands()
                        .iter()
                        .any(|it| processes::ends_host(it, speaks_of_it))
                    {
                        return Some(format!("`{path}` may end a host of hookwire"));
                    }
                    let read = Text::new(&inner, ground);
                    if has_started { read.of_shell() } else { read }.changed()
                }
                false => code::changes(&text, ground).map(Hit::of),
            };
            if let Some(hit) = what {
                return Some(format!("`{path}` names {hit} and may change it"));
            }
        }
        let patches = script
            .commands()
            .iter()
            .filter(|command| applies_patch(&command.words));
        let files = patches
            .flat_map(|command| &command.words[1..])
            .filter_map(Word::as_constant);
        files
            .filter(|it| !it.starts_with('-'))
            .take(MOST_FILES)
            .find_map(|path| {
                let text = facts.script(path).known().ok()??;
                let mut headers = text.lines().filter(|line| {
                    ["+++ ", "--- ", "diff ", "rename "]
                        .iter()
                        .any(|it| line.starts_with(it))
                });
                let what = headers.find_map(|line| self.mentioned(line))?;
                Some(format!("the patch `{path}` changes `{what}`"))
            })
    }

    /// What a tool that isn't known would do.
    fn harm_of_tool(&self, facts: &Facts, ground: &Ground<'_>) -> Option<String> {
        let (name, input) = (facts.tool()?, facts.event.at("/tool/input")?);
        for text in tools::commands(input) {
            let script = matching::shell::read_within(&text, Shell::Unknown, MOST_WORK).0;
            let rules: Vec<_> = self
                .commands
                .rules
                .iter()
                .flat_map(ToolRule::commands)
                .collect();
            let except: Vec<_> = self
                .commands
                .unless
                .iter()
                .flat_map(ToolRule::commands)
                .collect();
            let place = matching::shell::Place {
                home: paths::home(),
                ..matching::shell::Place::at(ground.base)
            };
            if matches!(
                matching::shell::hits(&rules, &except, &script, &place),
                Judgement::Yes(_)
            ) {
                return Some(ANSWERS.into());
            }
            if let Some(harm) = self.harm_of_text(&text, &script, ground) {
                return Some(harm);
            }
        }
        if tools::only_reads(name) {
            return None;
        }
        let is_guarded = |text: &str| {
            let things = call::path_or_url(text, facts.base(), &[]).unwrap_or_default();
            things
                .iter()
                .any(|thing| matches!(thing, Thing::Path(views) if self.is_protected(views)))
        };
        let what = tools::named(name, input, ground, is_guarded)?;
        Some(format!("this would change `{what}`"))
    }

    fn is_protected(&self, views: &PathViews) -> bool {
        let mut all = [
            Some(&views.lexical),
            views.resolved.as_ref(),
            views.tidied.as_ref(),
        ]
        .into_iter()
        .flatten();
        self.paths.iter().any(|it| it.pattern.matches_any(views))
            || all.any(|path| self.directories.iter().any(|dir| path.starts_with(dir)))
    }

    /// What a text has in it of a protected path.
    fn mentioned(&self, text: &str) -> Option<&str> {
        let directories = self.directories.iter().filter_map(|dir| dir.to_str());
        let mut cores = self
            .paths
            .iter()
            .map(|it| it.core.as_str())
            .chain(directories);
        cores.find(|core| text.contains(core.trim_end_matches('/')))
    }

    /// The protected path that a line of a patch names which looks like a header, and is none that
    /// is known.
    fn headed(&self, judged: Judged<'_>) -> Option<&str> {
        let Judged { facts, layer, .. } = judged;
        let Found::Patch(patches) = facts.row(layer).find(facts.event.at("/tool/input")?) else {
            return None;
        };
        patches
            .into_iter()
            .flat_map(matching::tools::unknown_headers)
            .find_map(|line| self.mentioned(line))
    }
}

/// Whether what starts is what an agent's settings have it run to ask hookwire, or the shell that
/// is told nothing else but what to say if that fails. Its words name where definitions are, and it
/// only reads there.
fn asks(argv: &[&str], told: Option<&Script>, ground: &Ground<'_>) -> bool {
    let is_it =
        |program: &str, verb: &str| verb == "hook" && processes::is_hookwire(program, ground);
    match (told, argv) {
        (Some(script), _) => {
            let Some((asking, rest)) = script.commands().split_first() else {
                return false;
            };
            let words: Option<Vec<&str>> = asking.words.iter().map(Word::as_constant).collect();
            let Some(words) = words.filter(|words| words.len() > 1) else {
                return false;
            };
            let only_says = |command: &Command| {
                let name = command.words.first().and_then(Word::as_constant);
                name.is_some_and(|name| SAYING.contains(&name))
            };
            let is_alone =
                script.names_all() && script.file_acts().iter().all(|act| act.by.is_some());
            is_alone && is_it(words[0], words[1]) && rest.iter().all(only_says)
        }
        (None, [program, verb, ..]) => is_it(program, verb),
        (None, _) => false,
    }
}

/// Whether a command changes files as a patch says.
fn applies_patch(words: &[Word]) -> bool {
    match words.first().map_or("", |word| base_name(&word.text)) {
        "patch" => true,
        "git" => words
            .iter()
            .any(|word| matches!(word.text.as_str(), "apply" | "am")),
        _ => false,
    }
}

/// Whether a text has a word of those that only a person says. Most texts that can't be read have
/// nothing to do with hookwire.
fn speaks_of_it(text: &str) -> bool {
    let text = text.replace(['\'', '"', '\\'], "");
    ["hookwire", "trust", "approve", "uninstall"]
        .iter()
        .any(|word| text.contains(word))
}

/// What agents find their settings by, and what switches hooks off. Most texts name nothing of it,
/// and one look tells.
static SET_BY: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let names: Vec<String> = variables()
        .chain(switches())
        .chain(MOVING.iter().copied())
        .map(regex::escape)
        .collect();
    Regex::new(&names.join("|")).ok()
});

fn variables() -> impl Iterator<Item = &'static str> {
    AGENTS
        .iter()
        .flat_map(|it| it.moved_by.iter().map(|(it, _)| it).chain(&it.variables))
        .map(String::as_str)
}

fn switches() -> impl Iterator<Item = &'static str> {
    AGENTS
        .iter()
        .flat_map(|it| &it.switches)
        .map(|(it, _)| &**it)
}

/// The variable that puts code into programs which a text sets where it starts an agent, or where
/// shells read it when they start.
fn loads_code(text: &str, script: &Script, starts: bool) -> Option<&'static str> {
    let sets = |name: &&&str| text.contains(&format!("{name}="));
    // Most projects of Node say in it how much memory there is.
    let may_load =
        |name: &str| name != "NODE_OPTIONS" || NODE_LOADS.iter().any(|it| text.contains(it));
    let name = LOADING
        .iter()
        .filter(sets)
        .find(|name| may_load(name))
        .copied()?;
    let is_program = |word: &Word| {
        let name = base_name(&word.text);
        AGENTS.iter().any(|agent| agent.program == name)
    };
    let starts_agent = || {
        let mut commands = script.commands().iter();
        commands.any(|it| it.words.iter().any(is_program))
    };
    (starts || starts_agent()).then_some(name)
}

/// The options of Node that load code.
const NODE_LOADS: [&str; 5] = [
    "--require",
    "--import",
    "--loader",
    "--experimental-loader",
    "-r ",
];

/// What a text sets of what agents find their settings or programs by. `starts`: a shell reads it
/// when it starts.
fn moves(text: &str, starts: bool) -> Option<&'static str> {
    let is_set = |name: &&str| {
        let behind = text
            .match_indices(*name)
            .map(|(at, _)| &text[at + name.len()..]);
        let signs: &[char] = if starts {
            &['=', ' ', ':', '"']
        } else {
            &['=']
        };
        behind.into_iter().any(|rest| rest.starts_with(signs))
    };
    let hides = |name: &&str| {
        starts
            && ["alias NAME=", "NAME()", "function NAME "]
                .iter()
                .any(|it| text.contains(&it.replace("NAME", name)))
    };
    let hidden = || AGENTS.iter().map(|it| &*it.program).find(hides);
    if SET_BY.as_ref().is_some_and(|it| !it.is_match(text)) {
        return hidden();
    }
    let own = MOVING.iter().copied().filter(|_| starts);
    let moved = variables()
        .filter(|it| !MOVING.contains(it))
        .chain(own)
        .find(is_set);
    let switched = || switches().find(|it| text.contains(*it));
    moved.or_else(switched).or_else(hidden)
}
