//! `if` and `unless`: which tools, and what their main, or a named, argument must look like.
//!
//! A rule is `Bash`, `Write|Edit`, `mcp__pay__*` or `Tools(pattern)`. For shell tools the pattern is held
//! against every command that the text would run, for file tools it is a glob on the path, for URLs it
//! is matched part by part, otherwise it is a glob on the argument's text.
//!
//! A list is read in one of two ways, [`Reading`].

use super::acts::{self, Met};
use super::call::{self, Item, Names, Subject, Thing};
use super::paths::{self, PathPattern};
use super::shell::{self, Access, CommandRule, Judgement, Script};
use super::text_glob as glob;
use super::tools::{self, ArgumentKind};
use super::urls::{self, UrlPattern};
use super::{Facts, ToolNaming, Truth, globbed, patience};
use crate::support::visible::safe;
use crate::syntax::source::Layer;
use globset::GlobMatcher;
use serde_json::Value;
use smallvec::SmallVec;
use std::iter::{empty, once};
use std::path::Path;

/// How a list of rules is held against what a call is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// One command or path that matches is enough, and doubt counts: for deny, ask and every handler that runs.
    Hits,
    /// Every command and path must be named, and certain: for whatever allows.
    Covers,
}

/// `if` and `unless` of a hook.
#[derive(Debug, Default)]
pub struct Condition {
    /// Any of them is enough; with none, every event fits.
    pub rules: Vec<ToolRule>,
    /// They take away what they match.
    pub unless: Vec<ToolRule>,
}

/// Who asks: what a tool is called depends on it.
#[derive(Clone, Copy, Debug)]
pub struct Asker {
    /// The layer of the definition.
    pub layer: Layer,
    /// Whether its vocabulary knows canonical names.
    pub naming: ToolNaming,
    /// Whether its rules about commands are held against a tool that nobody knows, too, if that may be a shell.
    pub guesses: bool,
    /// Whether its rules about files are held against what a call does by any other means: a shell's command, a search.
    pub acts: bool,
    /// Whether a pattern without `/` is for files of that name in any directory.
    pub any_depth: bool,
}

/// A compiled rule.
#[derive(Debug)]
pub struct ToolRule {
    text: String,
    tools: Vec<ToolName>,
    pattern: Option<String>,
    argument: Argument,
}

#[derive(Debug)]
struct ToolName {
    text: String,
    /// For a name with `*`, which stands for any characters.
    glob: Option<GlobMatcher>,
}

#[derive(Debug)]
enum Argument {
    /// Whatever it is.
    Any,
    /// The main argument.
    Main(Box<Forms>),
    /// `name=pattern`.
    Named(Box<Named>),
}

/// What a rule over files is about.
#[derive(Clone, Copy, Debug)]
struct Deeds {
    reads: bool,
    writes: bool,
    edits: bool,
}

impl Deeds {
    /// Whether it is about an act. To change a file in its place is to read and to write it.
    fn has(self, access: Access) -> bool {
        match access {
            Access::Read => self.reads,
            Access::Write => self.writes,
            Access::Either => self.reads || self.writes || self.edits,
        }
    }
}

/// A pattern in the forms that the main argument may have. One is missing where the pattern doesn't fit it, or
/// where no tool of the rule has it.
#[derive(Debug)]
struct Forms {
    /// One for each alternative in braces.
    commands: Vec<CommandRule>,
    path: Option<PathPattern>,
    /// The same for a file of that name in any directory, where the pattern has no `/`.
    anywhere: Option<PathPattern>,
    url: Option<UrlPattern>,
    text: Option<GlobMatcher>,
}

#[derive(Debug)]
struct Named {
    name: String,
    text: GlobMatcher,
    /// For a value that is a URL.
    url: Option<UrlPattern>,
    /// By its name, it holds a path.
    is_path: bool,
}

/// What an index can use: a necessary condition for a rule to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key<'a> {
    /// Nothing is known.
    None,
    /// Some command of the shell text runs this program, or may.
    Program(&'a str),
    /// The path, relative to the event's directory, begins with this in one of its views.
    PathPrefix(&'a str),
}

impl ToolRule {
    /// Compiles `Tool`, `Tool|Other`, `Tool(pattern)` or `Tool(name=pattern)`.
    ///
    /// # Errors
    /// What is wrong, with an example where the form is.
    pub fn new(text: &str) -> Result<ToolRule, String> {
        let form = || "a rule is written `Tool(pattern)`, such as `Bash(git push*)`".to_string();
        let text = text.trim();
        let (names, pattern) = match text.split_once('(') {
            None => (text, None),
            Some((names, rest)) => (names.trim(), Some(rest.strip_suffix(')').ok_or_else(form)?)),
        };
        let mut tools = Vec::new();
        for name in names.split('|').map(str::trim) {
            if name.is_empty() || name.starts_with('!') || name.contains(|c: char| c.is_whitespace() || c == ')') {
                return Err(form());
            }
            let glob = if name.contains('*') { Some(glob(name)?) } else { None };
            tools.push(ToolName { text: name.to_string(), glob });
        }
        let argument = match pattern {
            None | Some("" | "*") => Argument::Any,
            Some(pattern) => Argument::new(&tools, pattern)?,
        };
        Ok(ToolRule { text: text.to_string(), tools, pattern: pattern.map(str::to_string), argument })
    }

    /// The rule as written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether it is for all calls of its tools.
    pub fn is_for_all_calls(&self) -> bool {
        matches!(self.argument, Argument::Any)
    }

    /// What stands in the parentheses.
    pub fn pattern(&self) -> Option<&str> {
        self.pattern.as_deref()
    }

    /// The tools as written, each with the text that a name begins with where it holds a `*`.
    pub fn tools(&self) -> impl Iterator<Item = (&str, Option<&str>)> {
        let prefix = |text| str::split(text, ['*', '?', '[', '{', '\\']).next();
        self.tools.iter().map(move |it| (&*it.text, it.glob.as_ref().and_then(|_| prefix(&it.text))))
    }

    /// The tools' names, if all of them are plain.
    pub fn literal_tools(&self) -> Option<Vec<&str>> {
        self.tools.iter().map(|it| it.glob.is_none().then_some(&*it.text)).collect()
    }

    /// Whether it is held against a text as it is, and not against where a path leads; the text must begin so.
    pub fn is_about_text(&self, start: &str) -> bool {
        let pattern = self.pattern().unwrap_or_default();
        match &self.argument {
            Argument::Named(named) => !named.is_path && pattern[named.name.len() + 1..].starts_with(start),
            Argument::Main(forms) => forms.path.is_none() && forms.commands.is_empty() && pattern.starts_with(start),
            Argument::Any => false,
        }
    }

    /// Whether it is about a tool of this name.
    pub fn is_about(&self, tool: &str) -> bool {
        self.names_any(tool, tools::Row::of(tool).families())
    }

    /// Whether it is about a tool, by its own name or a family's.
    fn names_any(&self, own: &str, families: &[&str]) -> bool {
        self.tools.iter().any(|tool| match &tool.glob {
            Some(glob) => glob.is_match(own) || families.iter().any(|name| glob.is_match(name)),
            None => tool.text == own || families.contains(&&*tool.text),
        })
    }

    /// The same of an event's tool, under every name that the asker may call it by.
    fn names_tool(&self, tool: &str, facts: &Facts, asker: Asker) -> bool {
        self.names_any(tool, facts.families(asker))
            || facts.mcp_name(asker).is_some_and(|name| self.names_any(name, &[]))
    }

    /// Whether it is about what a patch in a shell text does.
    fn names_patch(&self, families: &[&str]) -> bool {
        !families.is_empty() && self.names_any("", families)
    }

    /// What it is about where it is about files: what its tools do with them, and which they are.
    fn files(&self, any_depth: bool) -> Option<(Deeds, SmallVec<[&PathPattern; 2]>)> {
        let Argument::Main(forms) = &self.argument else { return None };
        let anywhere = forms.anywhere.as_ref().filter(|_| any_depth);
        let patterns: SmallVec<[&PathPattern; 2]> = anywhere.into_iter().chain(&forms.path).collect();
        if patterns.is_empty() {
            return None;
        }
        let named = |family: &str| self.names_any("", &[family]);
        let deeds = Deeds { reads: named("Read"), writes: named("Write"), edits: named("Edit") };
        (deeds.reads || deeds.writes || deeds.edits).then_some((deeds, patterns))
    }

    /// Whether it is held against what a call does to files by any means.
    pub fn is_about_files(&self) -> bool {
        self.files(false).is_some()
    }

    /// The text before the first wildcard of the files that it is about, from the event's directory, if it is about none
    /// elsewhere.
    pub fn files_prefix(&self, any_depth: bool) -> Option<&str> {
        self.files(any_depth)?.1.first()?.literal_prefix()
    }

    /// A necessary condition for an index.
    pub fn key(&self) -> Key<'_> {
        // Only where it is certain how the argument is read.
        let Argument::Main(forms) = &self.argument else { return Key::None };
        match &**forms {
            Forms { commands, path: None, url: None, text: None, .. } => {
                let mut programs = commands.iter().map(CommandRule::program);
                let first = programs.next().flatten().filter(|first| programs.all(|it| it == Some(first)));
                first.map_or(Key::None, Key::Program)
            }
            Forms { commands, path: Some(path), url: None, text: None, .. } if commands.is_empty() => {
                path.literal_prefix().map_or(Key::None, Key::PathPrefix)
            }
            Forms { .. } => Key::None,
        }
    }

    /// Whether one thing fits. A form that the pattern doesn't fit is in doubt.
    fn fits(&self, thing: &Thing, reading: Reading, any_depth: bool) -> Truth {
        let Argument::Main(forms) = &self.argument else {
            return truth(matches!(self.argument, Argument::Any));
        };
        let Forms { path, anywhere, url, text, .. } = &**forms;
        let path = path.as_ref();
        let anywhere = anywhere.as_ref().filter(|_| any_depth && reading == Reading::Hits);
        if let (Some(anywhere), Thing::Path(views)) = (anywhere, thing)
            && anywhere.matches_any(views)
        {
            return Truth::Yes;
        }
        let path = if matches!(thing, Thing::Names(_)) { anywhere.or(path) } else { path };
        let fits = match (thing, reading) {
            (Thing::Path(views), Reading::Hits) => path.map(|it| it.matches_any(views)),
            (Thing::Path(views), Reading::Covers) => path.map(|it| it.matches_all(views)),
            (Thing::Names(names), reading) => match path {
                Some(path) => return self.fits_names(path, names, reading),
                None => None,
            },
            (Thing::Url(it), Reading::Hits) => url.as_ref().map(|url| url.hits(it)),
            (Thing::Url(it), Reading::Covers) => url.as_ref().map(|url| url.covers(it)),
            (Thing::Text(it), _) => return self.fits_text(it, text.as_ref(), url.as_ref(), reading),
        };
        fits.map_or_else(|| self.doubt("the pattern doesn't fit such an argument"), truth)
    }

    /// Whether what a tool's own pattern names fits. Which files there are isn't looked at, so that what may be hit is in
    /// doubt.
    fn fits_names(&self, path: &PathPattern, names: &Names, reading: Reading) -> Truth {
        let linked = names.linked.as_deref();
        match reading {
            Reading::Hits => {
                let is_hit = linked.unwrap_or_default().iter().any(|it| path.matches_any(it));
                match is_hit || names.pattern.may_meet(path) {
                    true => self.doubt(&format!("the pattern `{}` may name such a path", short(&names.pattern.text))),
                    false => Truth::No,
                }
            }
            Reading::Covers => truth(
                names.pattern.is_within(path) && linked.is_some_and(|it| it.iter().all(|it| path.matches_all(it))),
            ),
        }
    }

    /// Whether a text fits, which is judged as URLs by a pattern over them.
    fn fits_text(&self, value: &str, text: Option<&GlobMatcher>, url: Option<&UrlPattern>, reading: Reading) -> Truth {
        let is_match = text.is_some_and(|text| text.is_match(value));
        let Some(pattern) = url.filter(|url| !url.is_text()) else {
            return if text.is_some() {
                truth(is_match)
            } else {
                self.doubt("the pattern doesn't fit such an argument")
            };
        };
        match (urls::urls(value), reading) {
            (Some(urls), Reading::Covers) => truth(urls.iter().all(|url| pattern.covers(url))),
            (None, Reading::Covers) => Truth::No,
            (Some(urls), Reading::Hits) => truth(is_match || urls.iter().any(|url| pattern.hits(url))),
            (None, Reading::Hits) if is_match || !value.contains("://") => truth(is_match),
            (None, Reading::Hits) => self.doubt("the argument holds a URL that can't be read"),
        }
    }

    /// What the rule says of a call as a whole, beside what it says of its commands and items.
    fn of_whole(&self, subject: &Subject, facts: &Facts, reading: Reading) -> Truth {
        match (&self.argument, subject) {
            // Each item may be a matter of another tool.
            (Argument::Any, Subject::Items(_)) => Truth::No,
            (Argument::Any, _) => Truth::Yes,
            (Argument::Named(named), _) => {
                let Named { name, text, url, is_path } = &**named;
                let input = facts.event.tool_input().unwrap_or(&Value::Null);
                match input.get(name) {
                    Some(Value::String(value)) if *is_path && url.is_none() => {
                        self.fits_named_path(text, name, value, input, facts.base(), reading)
                    }
                    Some(Value::String(value)) => self.fits_text(value, Some(text), url.as_ref(), reading),
                    Some(value @ (Value::Number(_) | Value::Bool(_))) => truth(text.is_match(value.to_string())),
                    Some(Value::Null) | None => Truth::No,
                    Some(_) => self.doubt(&format!("argument `{name}` is not plain text")),
                }
            }
            (Argument::Main(_), Subject::Unclear(why)) => self.doubt(why),
            (Argument::Main(forms), Subject::Shell { .. }) if forms.commands.is_empty() => {
                self.doubt("the pattern doesn't fit a command")
            }
            (Argument::Main(_), Subject::Shell { .. } | Subject::Items(_)) => Truth::No,
        }
    }

    /// Whether a named argument that is a path fits, as it is written and where it leads. Its pattern is one over a text,
    /// so `*` crosses slashes.
    fn fits_named_path(
        &self,
        text: &GlobMatcher,
        name: &str,
        value: &str,
        input: &Value,
        base: &Path,
        reading: Reading,
    ) -> Truth {
        if value.contains("://") && tools::file_of_url(value).is_none() {
            return truth(text.is_match(value));
        }
        if reading == Reading::Hits && text.is_match(value) {
            return Truth::Yes;
        }
        let Some(things) = call::path_or_url(value, base, &[]) else {
            return self.doubt(&format!("it can't be told where argument `{name}` leads"));
        };
        let views = things.iter().filter_map(|thing| if let Thing::Path(views) = thing { Some(views) } else { None });
        let mut forms = views.map(|views| views.forms());
        let fits = |forms: &Vec<String>| forms.iter().any(|it| text.is_match(it));
        match reading {
            Reading::Hits => truth(forms.any(|views| views.is_none_or(|views| views.iter().any(fits)))),
            // The tool may take another member for the path.
            Reading::Covers => truth(
                tools::has_one_path(input, value) && forms.all(|it| it.is_some_and(|views| views.iter().all(fits))),
            ),
        }
    }

    /// The rules over the commands of a shell text, one for each alternative in braces and for the home by its path; none
    /// if it has no such pattern.
    pub fn commands(&self) -> &[CommandRule] {
        match &self.argument {
            Argument::Main(forms) => &forms.commands,
            Argument::Any | Argument::Named(_) => &[],
        }
    }

    fn doubt(&self, why: &str) -> Truth {
        Truth::Opaque(format!("can't tell whether `{}` holds: {why}", self.text).into())
    }
}

impl Argument {
    fn new(tools: &[ToolName], pattern: &str) -> Result<Argument, String> {
        let is_word = |word: &str| !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        let known: Vec<_> = tools.iter().map(|it| tools::known(&it.text).filter(|_| it.glob.is_none())).collect();
        let is_patch = |tool: &ToolName| tools::PATCH_NAMES.contains(&&*tool.text);
        // How the argument may have to be read.
        let mut kinds = Vec::new();
        for (tool, known) in tools.iter().zip(&known) {
            match known {
                Some(known) => kinds.push(Some(known.kind)),
                None if is_patch(tool) => kinds.push(Some(ArgumentKind::Path)),
                None => kinds.push(None),
            }
        }
        let may_be = |kind| kinds.iter().any(|it| it.is_none_or(|it| it == kind));
        let must_be = |kind| kinds.contains(&Some(kind));
        let with_tilde = paths::with_tilde(pattern);
        let mut pattern = &*with_tilde;
        if let Some((name, rest)) = pattern.split_once('=')
            && is_word(name)
            && !must_be(ArgumentKind::Shell)
        {
            let is_main = |known: &Option<&tools::Tool>| {
                known.is_some_and(|it| it.kind != ArgumentKind::Text && it.arguments.contains(&name))
            };
            if !known.iter().all(is_main) {
                let url = if rest.contains("://") { Some(UrlPattern::new(rest)?) } else { None };
                return Ok(Argument::Named(Box::new(Named {
                    name: name.to_string(),
                    text: glob(rest)?,
                    url,
                    is_path: tools::names_path(name),
                })));
            }
            pattern = rest;
        }
        // A form that no tool of the rule has isn't compiled: that would be most of a start.
        fn form<T>(
            may: bool,
            must: bool,
            compile: impl FnOnce(&str) -> Result<T, String>,
            pattern: &str,
        ) -> Result<Option<T>, String> {
            match may.then(|| compile(pattern)).transpose() {
                Err(problem) if must => Err(problem),
                compiled => Ok(compiled.ok().flatten()),
            }
        }
        let commands = |pattern: &str| {
            let mut patterns = paths::alternatives(pattern, paths::Braces::OfCommand)?;
            patterns.extend(patterns.iter().flat_map(|it| paths::with_home(it)).collect::<Vec<_>>());
            patterns.iter().map(|it| CommandRule::new(it)).collect::<Result<Vec<_>, _>>()
        };
        use ArgumentKind::{Path, Shell, Text, Url};
        Ok(Argument::Main(Box::new(Forms {
            commands: form(may_be(Shell), must_be(Shell), commands, pattern)?.unwrap_or_default(),
            path: form(may_be(Path), must_be(Path), PathPattern::new, pattern.trim())?,
            anywhere: form(may_be(Path) && is_name(pattern.trim()), false, of_any_directory, pattern.trim())?,
            url: form(may_be(Url), must_be(Url), UrlPattern::new, pattern)?,
            text: form(may_be(Text), must_be(Text) || kinds.contains(&None), glob, pattern)?,
        })))
    }
}

/// Whether a pattern is that of a name, and not of a path.
fn is_name(pattern: &str) -> bool {
    !pattern.contains('/') && !pattern.starts_with('~')
}

fn of_any_directory(name: &str) -> Result<PathPattern, String> {
    PathPattern::new(&format!("**/{name}"))
}

impl Condition {
    /// Whether it says nothing.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty() && self.unless.is_empty()
    }

    /// Whether it holds for an event, in one of two readings.
    pub fn holds(&self, facts: &Facts, asker: Asker, reading: Reading) -> Truth {
        holds(self.rules.iter(), self.unless.iter(), facts, asker, reading)
    }
}

impl Condition {
    /// What each rule says of an event, and why: those of `if`, and those of `unless` behind them.
    pub fn explain(&self, facts: &Facts, asker: Asker, reading: Reading) -> (Vec<Finding>, Vec<Finding>) {
        let rules = self.rules.iter().map(|rule| rule.explain(facts, asker, reading)).collect();
        let unless = self.unless.iter().map(|rule| match reading {
            Reading::Hits => rule.explain_exception(self, facts, asker),
            // An exception of what allows is enough if it hits.
            Reading::Covers => rule.explain(facts, asker, Reading::Hits),
        });
        (rules, unless.collect())
    }

    /// Which commands of a shell text are hit, each with the first rule that names it.
    pub fn hit_commands(&self, script: &Script, facts: &Facts, asker: Asker) -> Vec<(usize, &CommandRule)> {
        let Some(tool) = facts.tool() else { return Vec::new() };
        let is_about = |rule: &&ToolRule| rule.names_tool(tool, facts, asker);
        let unless: Vec<_> = self.unless.iter().filter(is_about).flat_map(ToolRule::commands).collect();
        let place = place(facts, None);
        let mut hits: Vec<(usize, &CommandRule)> = Vec::new();
        for rule in self.rules.iter().filter(is_about).flat_map(ToolRule::commands) {
            if let Judgement::Yes(commands) = shell::hits(&[rule], &unless, script, &place) {
                // A redirection by itself has no words to change.
                let has_words = |at: &usize| script.commands().get(*at).is_some_and(|it| !it.words.is_empty());
                let is_new = |at: &usize| has_words(at) && hits.iter().all(|(it, _)| it != at);
                let new: Vec<usize> = commands.into_iter().filter(is_new).collect();
                hits.extend(new.into_iter().map(|at| (at, rule)));
            }
        }
        hits
    }
}

/// What one rule says of an event, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Whether it holds; `None`: it can't be told.
    pub holds: Option<bool>,
    /// The command, path or word that made or broke the match.
    pub why: String,
}

impl ToolRule {
    /// What the rule says of an event by itself, and why.
    pub fn explain(&self, facts: &Facts, asker: Asker, reading: Reading) -> Finding {
        let doubt = |why: &str| Finding { holds: None, why: why.to_string() };
        facts.ask("explain", || self.find(facts, asker, reading)).unwrap_or_else(doubt)
    }

    fn find(&self, facts: &Facts, asker: Asker, reading: Reading) -> Finding {
        let no = |why: &str| Finding { holds: Some(false), why: why.to_string() };
        let Some(tool) = facts.tool() else { return no("the event names no tool") };
        if !self.names_tool(tool, facts, asker) && !self.names_patch(facts.patched(asker)) {
            if reading == Reading::Hits {
                match by_other_means(once(self), empty(), facts, asker) {
                    (Truth::Yes, Some(why)) => return Finding { holds: Some(true), why },
                    (Truth::Opaque(why), _) => return Finding { holds: None, why: why.into_owned() },
                    _ => {}
                }
            }
            let is_asked = reading == Reading::Hits && asker.acts && self.is_about_files();
            return match if_shell(once(self), empty(), facts, asker) {
                Truth::Opaque(why) if reading == Reading::Hits => Finding { holds: None, why: why.into_owned() },
                _ if is_asked => no(&match facts.read_from_above(asker).filter(|_| self.is_about("Read")) {
                    Some(path) => format!("the call reads {path} and what is below, where no such file is looked for"),
                    None => "as far as it is told, the call does nothing with such a file".into(),
                }),
                _ => no(&format!("another tool, `{tool}`")),
            };
        }
        let mut unseen = None;
        let holds = match holds(once(self), empty(), facts, asker, reading) {
            Truth::Yes => true,
            Truth::No => false,
            Truth::Delegates(why) => {
                unseen = why.split_once("holds: ").map(|(_, why)| format!("; not shown: {why}"));
                false
            }
            Truth::Opaque(why) => return Finding { holds: None, why: why.into_owned() },
        };
        if matches!(self.argument, Argument::Any) {
            return Finding { holds: Some(holds), why: format!("any call of `{tool}`") };
        }
        if let Argument::Named(named) = &self.argument {
            let name = &named.name;
            let value = facts.event.at("/tool/input").and_then(|input| input.get(name));
            let why =
                value.map_or_else(|| format!("no `{name}`"), |value| format!("`{name}` is {}", quoted_value(value)));
            return Finding { holds: Some(holds), why };
        }
        let call = facts.call(asker.layer);
        let mut subjects = call.alternatives.iter().chain(&call.patch);
        let told = subjects.find_map(|subject| self.decisive(subject, holds, reading, asker.any_depth));
        Finding { holds: Some(holds), why: told.unwrap_or_default() + &unseen.unwrap_or_default() }
    }

    /// What the rule says as an exception of a condition that is read for hits, and why: it covers the call, or one command
    /// or path of several that the condition's rules hit.
    fn explain_exception(&self, condition: &Condition, facts: &Facts, asker: Asker) -> Finding {
        let mut whole = self.explain(facts, asker, Reading::Covers);
        if let Some(path) = self.act_taken(facts, asker) {
            return Finding { holds: Some(true), why: path };
        }
        let is_about = |tool: &str| self.names_tool(tool, facts, asker);
        if !facts.tool().is_some_and(is_about) {
            return whole;
        }
        let call = facts.call(asker.layer);
        for subject in &call.alternatives {
            let taken = match subject {
                Subject::Shell { script, .. } => {
                    let place = place(facts, None);
                    let is_hit = |command: &&shell::Command| {
                        let mut rules = condition.rules.iter().flat_map(ToolRule::commands).peekable();
                        rules.peek().is_none() || rules.any(|rule| rule.may_hit(command))
                    };
                    let mut commands = script.commands().iter().filter(is_hit).peekable();
                    if let (Some(false), Some(hit)) = (whole.holds, commands.peek()) {
                        whole.why = format!("`{}` doesn't fit", hit.normal());
                    }
                    let is_excepted = |command: &&shell::Command| {
                        self.commands().iter().any(|own| shell::excepts(own, command, &place))
                    };
                    commands.find(is_excepted).map(|it| format!("`{}`", it.normal()))
                }
                Subject::Items(items) => {
                    let fits = |item: &&Item| self.fits(&item.value, Reading::Covers, false) == Truth::Yes;
                    items.iter().find(fits).map(|item| quoted_thing(&item.value))
                }
                Subject::Unclear(_) => None,
            };
            if let Some(why) = taken {
                return Finding { holds: Some(true), why };
            }
        }
        whole
    }

    /// The file of an act that the rule takes away as an exception.
    fn act_taken(&self, facts: &Facts, asker: Asker) -> Option<String> {
        let (deeds, patterns) = self.files(false).filter(|_| asker.acts)?;
        let is_taken = |act: &&acts::Act| deeds.has(act.access) && patterns.iter().any(|it| act.is_within(it));
        facts.file_acts(asker)?.iter().find(is_taken)?.first_path()
    }

    /// The part of a call that decides whether the rule holds.
    fn decisive(&self, subject: &Subject, holds: bool, reading: Reading, any_depth: bool) -> Option<String> {
        match subject {
            Subject::Shell { script, .. } => {
                let first = self.commands().first()?;
                let fits = |it: &&shell::Command| self.commands().iter().any(|own| own.fits(it));
                // A rule that holds does so for one command, or for all that are to be covered.
                if holds {
                    // By its paths from where it runs, the program's own name fits only.
                    let found = || script.commands().iter().find(|it| is_of_program(first, it));
                    return script.commands().iter().find(fits).or_else(found).map(|it| format!("`{}`", it.normal()));
                }
                if reading == Reading::Covers {
                    let other = script.commands().iter().find(|it| !fits(it));
                    return Some(
                        other.map_or("there is no command".into(), |it| format!("`{}` doesn't fit", it.normal())),
                    );
                }
                Some(self.missing_word(first, script))
            }
            Subject::Items(items) => {
                let item =
                    items.iter().find(|item| (self.fits(&item.value, reading, any_depth) == Truth::Yes) == holds);
                // What holds may do so for another part of the call.
                let item = if holds && reading == Reading::Hits { item } else { item.or(items.first()) };
                let shown = quoted_thing(&item?.value);
                Some(if holds { shown } else { format!("{shown} doesn't fit") })
            }
            Subject::Unclear(why) => Some(why.clone()),
        }
    }

    /// The word of a command rule that no command has.
    fn missing_word(&self, rule: &CommandRule, script: &Script) -> String {
        let Some(command) = script.commands().iter().find(|it| is_of_program(rule, it)) else {
            return format!("no command runs `{}`", rule.program().unwrap_or_default());
        };
        let wanted = self.pattern().unwrap_or_default().split_whitespace().skip(1);
        let is_there = |word: &str| {
            let pattern = word.strip_suffix(":*").unwrap_or(word);
            glob(pattern).is_ok_and(|glob| command.words.iter().skip(1).any(|it| glob.is_match(&it.text)))
        };
        let missing = wanted.into_iter().find(|word| *word != "*" && !is_there(word));
        match missing {
            Some(word) => format!("in `{}`, nothing fits `{word}`", command.normal()),
            None => format!("`{}` doesn't fit", command.normal()),
        }
    }
}

/// Whether a command is one of the program that a rule names, if it names one.
fn is_of_program(rule: &CommandRule, command: &shell::Command) -> bool {
    let name = command.words.first().map_or("", |word| word.text.as_str());
    rule.program().is_none_or(|program| name.rsplit('/').next() == Some(program))
}

fn quoted_thing(thing: &Thing) -> String {
    match thing {
        Thing::Path(views) => match views.resolved.as_ref().filter(|resolved| **resolved != views.lexical) {
            Some(resolved) => format!("`{}`, which is `{}`", views.lexical.display(), resolved.display()),
            None => format!("`{}`", views.lexical.display()),
        },
        Thing::Names(names) => format!("the pattern `{}`", short(&names.pattern.text)),
        Thing::Url(url) => format!("`{}`", short(url.as_str())),
        Thing::Text(text) => format!("`{}`", short(text)),
    }
}

fn quoted_value(value: &Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_string);
    format!("`{}`", short(&text))
}

/// Rules that are held together. Mostly they are few, and every event has some held against it.
type Rules<'r> = SmallVec<[&'r ToolRule; 4]>;
type Commands<'r> = SmallVec<[&'r CommandRule; 4]>;

/// Whether any of `rules` holds for an event and `unless` doesn't take it away.
pub fn holds<'r>(
    rules: impl Iterator<Item = &'r ToolRule> + Clone,
    unless: impl Iterator<Item = &'r ToolRule> + Clone,
    facts: &'r Facts,
    asker: Asker,
    reading: Reading,
) -> Truth {
    let first = || rules.clone().chain(unless.clone()).next().map_or("if", ToolRule::text);
    facts.holds(first, || holds_with_patch(rules.clone(), unless.clone(), facts, asker, reading))
}

/// The same, unless it panics.
fn holds_with_patch<'r>(
    rules: impl Iterator<Item = &'r ToolRule> + Clone,
    unless: impl Iterator<Item = &'r ToolRule> + Clone,
    facts: &'r Facts,
    asker: Asker,
    reading: Reading,
) -> Truth {
    let own = holds_for_call(rules.clone(), unless.clone(), facts, asker, reading);
    let own = match reading {
        Reading::Hits => own
            .or(|| if_shell(rules.clone(), unless.clone(), facts, asker))
            .or(|| by_other_means(rules.clone(), unless.clone(), facts, asker).0),
        Reading::Covers => own,
    };
    let patched = facts.patched(asker);
    if patched.is_empty() {
        return own;
    }
    let is_of_patch = |rule: &&ToolRule| rule.names_patch(patched);
    let (rules, unless): (Rules, Rules) = (rules.filter(is_of_patch).collect(), unless.filter(is_of_patch).collect());
    let hits = |rules, unless| {
        let (files, no_files) = (Rules::new(), Rules::new());
        let judge = Judge {
            tool: "",
            rules: Some(rules),
            unless,
            files,
            no_files,
            has_families: true,
            any_depth: asker.any_depth,
            facts,
        };
        let patch = facts.call(asker.layer).patch.iter();
        patch.fold(Truth::No, |all, subject| all.or(|| judge.subject(subject, Reading::Hits)))
    };
    match reading {
        Reading::Hits if !rules.is_empty() => own.or(|| hits(rules, unless)),
        Reading::Covers if !unless.is_empty() => own.and(|| hits(unless, Rules::new()).not()),
        Reading::Hits | Reading::Covers => own,
    }
}

/// What rules about commands say of a tool that nobody knows, if it is a shell: they are in doubt where its text does,
/// or names, what they name. Nothing else about it is in doubt, because most tools are no shell.
fn if_shell<'r>(
    rules: impl Iterator<Item = &'r ToolRule> + Clone,
    unless: impl Iterator<Item = &'r ToolRule> + Clone,
    facts: &'r Facts,
    asker: Asker,
) -> Truth {
    if !asker.guesses {
        return Truth::No;
    }
    let (Some(tool), Some(call)) = (facts.tool(), facts.as_shell(asker.layer)) else { return Truth::No };
    let is_about_shells = |rule: &&ToolRule| rule.names_any("", &["Bash"]);
    let is_exception = |rule: &&ToolRule| is_about_shells(rule) || rule.names_tool(tool, facts, asker);
    let unless: Rules = unless.filter(is_exception).collect();
    for rule in rules.filter(|rule| !rule.commands().is_empty() && is_about_shells(rule)) {
        let (files, no_files, only) = (Rules::new(), Rules::new(), Some(once(rule).collect()));
        let judge = Judge {
            tool,
            rules: only,
            unless: unless.clone(),
            files,
            no_files,
            has_families: true,
            any_depth: asker.any_depth,
            facts,
        };
        let is_named = |subject: &Subject| match subject {
            Subject::Shell { text, .. } => match judge.subject(subject, Reading::Hits) {
                Truth::Yes => true,
                Truth::No => false,
                // It may be a text for something else than a shell.
                Truth::Opaque(_) | Truth::Delegates(_) => rule.commands().iter().any(|it| it.is_named_in(text)),
            },
            // Of a call that takes too long to read, everything is in doubt.
            Subject::Unclear(_) => facts.why_unread().is_some(),
            Subject::Items(_) => false,
        };
        if call.alternatives.iter().chain(&call.others).any(is_named) {
            facts.note_taken_for_shell();
            let tool = short(tool);
            return rule.doubt(&format!("`{tool}` isn't known and may be a shell; {}", declaration(&tool)));
        }
    }
    Truth::No
}

/// What rules over files say of what the call does to files by other means than the tools that they name, and the act that
/// decides.
fn by_other_means<'r>(
    rules: impl Iterator<Item = &'r ToolRule>,
    unless: impl Iterator<Item = &'r ToolRule> + Clone,
    facts: &'r Facts,
    asker: Asker,
) -> (Truth, Option<String>) {
    let Some(tool) = facts.tool().filter(|_| asker.acts) else { return (Truth::No, None) };
    let mut doubt = None;
    for rule in rules {
        let Some((deeds, patterns)) = rule.files(asker.any_depth) else { continue };
        let is_own = rule.names_tool(tool, facts, asker);
        if is_own && !facts.families(asker).contains(&"Bash") {
            continue;
        }
        // What a tool for files does is told by its name, however its input is read.
        if acts::access_of(facts.families(asker)).is_some_and(|access| !deeds.has(access)) {
            continue;
        }
        let Some(acts) = facts.file_acts(asker) else {
            let why = facts.why_unread().unwrap_or("it takes too long");
            return (rule.doubt(why), Some(why.to_string()));
        };
        for act in acts.iter().filter(|act| deeds.has(act.access) && (act.of_shell || !is_own)) {
            let only_reads = !deeds.writes && !deeds.edits;
            let met = patterns.iter().map(|it| act.meets(it, only_reads)).max().unwrap_or(Met::No);
            let excepted = |rule: &ToolRule| {
                rule.files(false)
                    .is_some_and(|(own, all)| own.has(act.access) && all.iter().any(|it| act.is_within(it)))
            };
            if met == Met::No || unless.clone().any(excepted) {
                continue;
            }
            match met {
                Met::Yes(path) => return (Truth::Yes, Some(act.told(&path))),
                Met::Perhaps(why, path) if doubt.is_none() => {
                    let told = format!("{why}: {path}, at `{}`", short(&act.cause));
                    doubt = Some((rule.doubt(&told), Some(told)));
                }
                Met::Perhaps(..) | Met::No => {}
            }
        }
    }
    doubt.unwrap_or((Truth::No, None))
}

/// What a person writes to make certain that a tool is a shell.
pub(crate) fn declaration(tool: &str) -> String {
    format!("if it is one, a file should say `tools: {{ Bash: {tool} }}`")
}

/// The same, without what a patch in a shell text does.
fn holds_for_call<'r>(
    rules: impl Iterator<Item = &'r ToolRule> + Clone,
    unless: impl Iterator<Item = &'r ToolRule> + Clone,
    facts: &'r Facts,
    asker: Asker,
    reading: Reading,
) -> Truth {
    let has_none = rules.clone().next().is_none();
    let Some(tool) = facts.tool() else { return truth(has_none) };
    let families = facts.families(asker);
    let is_about = |rule: &&ToolRule| rule.names_tool(tool, facts, asker);
    let (all_rules, all_unless) = (rules.clone(), unless.clone());
    let (rules, unless): (Rules, Rules) = (rules.filter(is_about).collect(), unless.filter(is_about).collect());
    if rules.is_empty() && !has_none {
        return Truth::No;
    }
    // A redirection is no call, and its file is named by the rules over what is written.
    let is_of_files = |rule: &&ToolRule| {
        reading == Reading::Covers && asker.naming == ToolNaming::Canonical && rule.is_about("Write")
    };
    let mut judge = Judge {
        files: all_rules.filter(is_of_files).collect(),
        no_files: all_unless.filter(is_of_files).collect(),
        tool,
        rules: if has_none { None } else { Some(rules) },
        unless,
        has_families: !families.is_empty(),
        any_depth: asker.any_depth,
        facts,
    };
    // What a call is about is costly to tell, and most rules of a tool without a pattern don't need it.
    let mut all = judge.rules.iter().flatten().chain(&judge.unless);
    if families.len() < 2 && all.all(|rule| matches!(rule.argument, Argument::Any | Argument::Named(_))) {
        return judge.subject(&Subject::Unclear(String::new()), reading);
    }
    let call = facts.call(asker.layer);
    if call.is_elsewhere {
        // A pattern over what a search looks for names no other place than the event's directory.
        let names_place = |rule: &mut &ToolRule| !matches!(rule.argument, Argument::Main(_));
        match (reading, &mut judge.rules) {
            (Reading::Hits, _) => judge.unless.retain(names_place),
            (Reading::Covers, Some(rules)) => rules.retain(names_place),
            (Reading::Covers, None) => {}
        }
    }
    let mut truths = call.alternatives.iter().map(|subject| judge.subject(subject, reading));
    match reading {
        // Whichever argument counts, a hit is one.
        Reading::Hits => {
            let holds = truths.fold(Truth::No, |all, truth| all.or(|| truth));
            let others = call.others.iter().chain(&call.beside);
            others.fold(holds, |all, other| all.or(|| judge.subject(other, reading)))
        }
        Reading::Covers => {
            let holds = match call.does_all {
                true => truths.fold(Truth::Yes, |all, truth| all.and(|| truth)),
                false => {
                    let first = truths.next().unwrap_or(Truth::No);
                    let is_same = |truth: Truth| std::mem::discriminant(&truth) == std::mem::discriminant(&first);
                    let why = || format!("can't tell which argument counts: the main ones of `{tool}` differ");
                    if truths.all(is_same) { first } else { Truth::Opaque(why().into()) }
                }
            };
            call.beside.iter().fold(holds, |all, other| all.and(|| judge.subject(other, reading)))
        }
    }
}

/// A call that rules are held against.
struct Judge<'a> {
    tool: &'a str,
    /// Those that are about the tool; `None`: every call fits.
    rules: Option<Rules<'a>>,
    unless: Rules<'a>,
    /// To allow: what rules say of the files that redirections write.
    files: Rules<'a>,
    no_files: Rules<'a>,
    has_families: bool,
    any_depth: bool,
    facts: &'a Facts,
}

impl Judge<'_> {
    fn subject(&self, subject: &Subject, reading: Reading) -> Truth {
        let rules = self.rules.as_deref();
        match reading {
            Reading::Hits => self.hits(rules, &self.unless, subject),
            Reading::Covers => {
                let covered = self.covers(rules, subject);
                match self.unless.is_empty() {
                    true => covered,
                    false => covered.and(|| self.hits(Some(&self.unless), &[], subject).not()),
                }
            }
        }
    }

    /// Whether some part of the call matches a rule and isn't covered by `unless`.
    fn hits(&self, rules: Option<&[&ToolRule]>, unless: &[&ToolRule], subject: &Subject) -> Truth {
        let whole = self.whole(rules, subject, Reading::Hits);
        let rules = rules.unwrap_or_default();
        let hit = match subject {
            Subject::Shell { text, script } => {
                let is_left = || self.commands(unless, &[], script, text, Reading::Covers).not();
                whole.and(is_left).or(|| self.commands(rules, unless, script, text, Reading::Hits))
            }
            Subject::Items(items) => {
                let hit = |item: &Item| {
                    let matches = whole.clone().or(|| self.item(rules, item, Reading::Hits));
                    matches.and(|| self.item(unless, item, Reading::Covers).not())
                };
                let start = if items.is_empty() { whole.clone() } else { Truth::No };
                items.iter().fold(start, |all, item| all.or(|| hit(item)))
            }
            Subject::Unclear(_) => whole,
        };
        hit.and(|| self.whole(Some(unless), subject, Reading::Covers).not())
    }

    /// Whether every part of the call is named by a rule.
    fn covers(&self, rules: Option<&[&ToolRule]>, subject: &Subject) -> Truth {
        let whole = self.whole(rules, subject, Reading::Covers);
        let rules = rules.unwrap_or_default();
        match subject {
            Subject::Shell { text, script } => {
                whole.or(|| self.commands(rules, &self.unless, script, text, Reading::Covers))
            }
            Subject::Items(items) if !items.is_empty() => {
                let covered = |item| whole.clone().or(|| self.item(rules, item, Reading::Covers));
                items.iter().fold(Truth::Yes, |all, item| all.and(|| covered(item)))
            }
            Subject::Items(_) | Subject::Unclear(_) => whole,
        }
    }

    /// What rules say of the call as a whole.
    fn whole(&self, rules: Option<&[&ToolRule]>, subject: &Subject, reading: Reading) -> Truth {
        let Some(rules) = rules else { return Truth::Yes };
        rules.iter().fold(Truth::No, |all, rule| all.or(|| rule.of_whole(subject, self.facts, reading)))
    }

    /// Whether any rule is about one thing of several.
    fn item(&self, rules: &[&ToolRule], item: &Item, reading: Reading) -> Truth {
        let family = item.family.as_slice();
        let is_about = |rule: &&&ToolRule| {
            family.is_empty() || rule.names_any(self.tool, if self.has_families { family } else { &[] })
        };
        rules
            .iter()
            .filter(is_about)
            .fold(Truth::No, |all, rule| all.or(|| rule.fits(&item.value, reading, self.any_depth)))
    }

    /// What command rules say of a shell text.
    fn commands<'r>(
        &self,
        rules: &[&'r ToolRule],
        unless: &[&'r ToolRule],
        script: &Script,
        text: &str,
        reading: Reading,
    ) -> Truth {
        let of_rules = |rules: &[&'r ToolRule]| rules.iter().flat_map(|rule| rule.commands()).collect();
        let (commands, except): (Commands, Commands) = (of_rules(rules), of_rules(unless));
        if commands.is_empty() {
            return Truth::No;
        }
        let script_at = |path: &str| self.facts.script(path);
        let may_write = |path: &str| {
            call::path(path, self.facts.base()).is_some_and(|file| {
                self.files.iter().any(|rule| rule.fits(&file, Reading::Covers, false) == Truth::Yes)
                    && self.no_files.iter().all(|rule| rule.fits(&file, Reading::Hits, self.any_depth) == Truth::No)
            })
        };
        let place = shell::Place { may_write: Some(&may_write), ..place(self.facts, Some(&script_at)) };
        let judge = |rules: &[&CommandRule]| match reading {
            Reading::Hits => shell::hits(rules, &except, script, &place),
            Reading::Covers => shell::covers(rules, &except, script, &place),
        };
        let judgement = judge(&commands);
        let (Judgement::Doubt(doubt) | Judgement::Delegates(doubt)) = &judgement else {
            return truth(matches!(judgement, Judgement::Yes(_)));
        };
        // The rule that can't be told.
        let is_same = |rule: &&&ToolRule| {
            let alone = judge(&rule.commands().iter().collect::<Vec<_>>());
            std::mem::discriminant(&alone) == std::mem::discriminant(&judgement)
        };
        let of_commands = || rules.iter().filter(|rule| !rule.commands().is_empty());
        let rule = of_commands().find(is_same).or(of_commands().next()).map_or("", |rule| &*rule.text);
        let at = quoted(text, doubt.at.clone());
        let told = format!("can't tell whether `{rule}` holds: {}, at `{at}`", doubt.why);
        match judgement {
            Judgement::Delegates(_) => Truth::Delegates(told.into()),
            _ => Truth::Opaque(told.into()),
        }
    }
}

/// Where the text of a shell call runs.
fn place<'a>(facts: &'a Facts, files: Option<&'a shell::Files<'a>>) -> shell::Place<'a> {
    shell::Place {
        cwd: facts.runs_in(),
        patterns: facts.base(),
        home: paths::home(),
        may_write: None,
        files,
        links: Some(&links),
        linked: Some(&linked),
    }
}

/// Where links lead an absolute path.
fn links(path: &str) -> Option<String> {
    let resolved = patience::allows_slow().then(|| paths::resolved(path.as_ref())).flatten()?;
    resolved.into_os_string().into_string().ok()
}

/// Where links lead that a pattern of file names comes across.
fn linked(parts: &[&str]) -> Option<Vec<String>> {
    let found = patience::allows_slow().then(|| globbed::through_links(parts)).flatten()?;
    found.into_iter().map(|path| path.into_os_string().into_string().ok()).collect()
}

/// The place that a doubt is about, on one line and not long.
fn quoted(text: &str, at: std::ops::Range<usize>) -> String {
    const MAX: usize = 60;
    let part = text.get(at).unwrap_or(text).trim();
    let short: String = part.chars().take(MAX).map(|c| if c.is_control() { ' ' } else { c }).collect();
    let mut short = safe(&short);
    if part.chars().nth(MAX).is_some() {
        short.push('…');
    }
    short
}

/// A text on one line and not long.
fn short(text: &str) -> String {
    quoted(text, 0..text.len())
}

fn truth(holds: bool) -> Truth {
    if holds { Truth::Yes } else { Truth::No }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Event;
    use crate::support::rows;
    use serde::Deserialize;
    use serde_json::json;
    use std::sync::Arc;

    fn word(truth: Truth) -> &'static str {
        match truth {
            Truth::Yes => "yes",
            Truth::No => "no",
            Truth::Opaque(_) | Truth::Delegates(_) => "opaque",
        }
    }

    const ASKER: Asker =
        Asker { layer: Layer::Project, naming: ToolNaming::Canonical, guesses: true, acts: false, any_depth: false };

    fn facts(cwd: &Path, tool: &str, input: &Value) -> Facts {
        let event = json!({"event": "PreToolUse", "cwd": cwd, "tool": {"name": tool, "input": input}});
        Facts::new(Arc::new(Event::from_json(event).unwrap()), Path::new("/"))
    }

    fn judge(rules: &[String], unless: &[String], tool: &str, input: &Value) -> (&'static str, &'static str) {
        judge_in("/p", rules, unless, tool, input)
    }

    fn judge_in(
        cwd: &str,
        rules: &[String],
        unless: &[String],
        tool: &str,
        input: &Value,
    ) -> (&'static str, &'static str) {
        let compiled = |rules: &[String]| rules.iter().map(|rule| ToolRule::new(rule).unwrap()).collect();
        let condition = Condition { rules: compiled(rules), unless: compiled(unless) };
        let facts = facts(Path::new(cwd), tool, input);
        let holds = |reading| word(condition.holds(&facts, ASKER, reading));
        (holds(Reading::Hits), holds(Reading::Covers))
    }

    #[test]
    fn a_working_directory_that_a_shell_would_split_is_no_certain_place() {
        for (cwd, hits) in [("/p", "no"), ("/p/a-1", "no"), ("/p q", "yes"), ("/p*", "yes"), ("/p\n", "yes")] {
            for command in ["rm $PWD/build", "rm \"$(pwd)/build\""] {
                let (rules, unless) = (["Bash(rm *)".into()], ["Bash(rm ./**/build)".into()]);
                let judged = judge_in(cwd, &rules, &unless, "Bash", &json!({ "command": command }));
                assert_eq!(judged.0, hits, "{command} in {cwd:?}");
            }
        }
    }

    /// What rules say of a call: whether they hit it, and whether they cover it.
    #[test]
    fn rules_are_about_calls() {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Row {
            rules: Vec<String>,
            #[serde(default)]
            unless: Vec<String>,
            tool: String,
            input: Value,
            hits: String,
            covers: String,
        }
        rows::compare("rules/calls.jsonl", |row: Row| {
            let (hits, covers) = judge(&row.rules, &row.unless, &row.tool, &row.input);
            ((hits.to_string(), covers.to_string()), (row.hits, row.covers))
        });
    }

    #[test]
    fn a_tool_that_may_be_a_shell_is_in_doubt_where_it_is_not_read() {
        let rule = ToolRule::new("Bash(git push*)").unwrap();
        for (tool, input, expected) in
            [("run_shell", json!({"command": "ls"}), "opaque"), ("search", json!({"query": "ls"}), "no")]
        {
            let facts = facts(Path::new("/p"), tool, &input).unread("it takes too long");
            assert_eq!(word(holds(once(&rule), empty(), &facts, ASKER, Reading::Hits)), expected, "{tool}");
        }
    }

    /// A rule about a command hits those that do the same in other words, and no `*` of an allow covers what does more.
    #[test]
    fn rules_are_about_commands() {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Row {
            rules: Vec<String>,
            command: String,
            hits: Option<bool>,
            covers: Option<bool>,
        }
        rows::compare("rules/commands.jsonl", |row: Row| {
            let (hits, covers) = judge(&row.rules, &[], "Bash", &json!({ "command": row.command }));
            assert!(row.hits.is_some() || row.covers.is_some(), "{}: the row expects nothing", row.command);
            let found = (row.hits.map(|_| hits == "yes"), row.covers.map(|_| covers == "yes"));
            (found, (row.hits, row.covers))
        });
    }

    #[test]
    fn the_home_is_one_place_however_it_is_written() {
        let file = paths::home().unwrap().join(".ssh/id");
        let commands = ["cat ~/.ssh/id".into(), "cat \"$HOME\"/.ssh/id".into(), format!("cat -n {}", file.display())];
        for rule in ["cat ~/.ssh/*", "cat $HOME/.ssh/*", "cat \"${HOME}/.ssh/\"*", "cat -n '~/.ssh/id'"] {
            let rules = [format!("Bash({rule})")];
            let hits = |command: &String| judge(&rules, &[], "Bash", &json!({ "command": command })).0;
            let expected = if rule.contains("-n") { ["no", "no", "yes"] } else { ["yes"; 3] };
            assert_eq!(commands.each_ref().map(hits), expected, "{rule}");
        }
        let read = judge(&["Read($HOME/.ssh/*)".into()], &[], "Read", &json!({ "file_path": file }));
        assert_eq!(read.0, "yes");
    }

    #[test]
    fn what_is_no_rule() {
        for bad in ["", "Bash(x", "Ba sh(x)", "(x)", "WebFetch(https://[)", "Write|(x)", "Write|Edit([)"] {
            assert!(ToolRule::new(bad).is_err(), "{bad}");
        }
    }

    /// An exception for a directory is for what lies in it, wherever links lead and commands run.
    #[test]
    fn an_exception_is_for_what_lies_in_the_directory() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path();
        for name in ["build/x", "outside"] {
            std::fs::create_dir_all(top.join(name)).unwrap();
        }
        std::os::unix::fs::symlink(top.join("outside"), top.join("build/leads-out")).unwrap();
        std::os::unix::fs::symlink(top.join("build"), top.join("leads-in")).unwrap();
        std::os::unix::fs::symlink(top, top.join("here")).unwrap();
        let compiled = |rule: &str| vec![ToolRule::new(rule).unwrap()];
        let condition = Condition { rules: compiled("Bash(rm -rf *)"), unless: compiled("Bash(rm -rf ./build/**)") };
        for (cwd, command, is_excepted) in [
            ("", "rm -rf ./build/x", true),
            ("", "rm -rf build/x build/new", true),
            ("here", "rm -rf ./build/x", true),
            ("", "rm -rf ./build/x/*", true),
            ("", "sudo rm -rf build/x", true),
            ("", "env A=1 timeout 5 rm -rf build/x", true),
            ("", "ls && rm -rf build/x && ln -s a b", true),
            ("", "rm -rf ./build/leads-out/x", false),
            ("", "rm -rf ./build/le*/x", false),
            ("", "rm -rf ./build/*/x", false),
            ("", "rm -rf ./build/[l]eads-out/x", false),
            ("", "rm -rf ./build/x*/*", true),
            ("", "rm -rf leads-in/x", false),
            ("", "ln -sfn .. build/l; rm -rf ./build/l/x", false),
            ("", "mv build b2; ln -s . build; rm -rf ./build/x", false),
            ("", "cd /; rm -rf ./build/x", false),
            ("", "env -C / rm -rf ./build/x", false),
            ("", "env --chdir=/ rm -rf ./build/x", false),
            ("", "sudo -D / rm -rf ./build/x", false),
            ("", "sudo -i rm -rf ./build/x", false),
            ("", "unshare --wd=/ rm -rf ./build/x", false),
            ("", "systemd-run --working-directory=/ rm -rf ./build/x", false),
            ("", "ssh h rm -rf ./build/x", false),
            ("", "docker exec c rm -rf ./build/x", false),
            ("", "chroot /x rm -rf ./build/x", false),
            ("", "pnpm -C / exec rm -rf ./build/x", false),
            ("", "uv run --directory / rm -rf ./build/x", false),
            ("", "su - u -c 'rm -rf ./build/x'", false),
            ("", "git submodule foreach 'rm -rf ./build/x'", false),
            ("", "find / -execdir rm -rf ./build/x \\;", false),
        ] {
            let facts = facts(&top.join(cwd), "Bash", &json!({ "command": command }));
            let holds = word(condition.holds(&facts, ASKER, Reading::Hits));
            assert_eq!(holds == "no", is_excepted, "{command}: {holds}");
        }
    }

    #[test]
    fn declared_names_hold_for_their_layer_and_inner_ones() {
        use crate::matching::tools::{DeclaredTool, ToolNames};
        let declared = |layer, name: &str, family, argument: Option<&str>| DeclaredTool {
            layer,
            name: name.into(),
            family,
            argument: argument.map(str::to_string),
        };
        let names = Arc::new(ToolNames(vec![
            declared(Layer::Project, "mine", "Read", None),
            declared(Layer::User, "mine", "Bash", Some("line")),
            declared(Layer::Managed, "write_file", "Read", None),
        ]));
        for (layer, rule, tool, input, expected) in [
            (Layer::User, "Bash(git push*)", "mine", json!({"line": "git push"}), "yes"),
            (Layer::Project, "Bash(git push*)", "mine", json!({"line": "git push"}), "yes"),
            (Layer::Project, "Read", "mine", json!({"line": "git push"}), "no"),
            (Layer::Managed, "Bash(git push*)", "mine", json!({"line": "git push"}), "no"),
            (Layer::Project, "Write", "write_file", json!({}), "yes"),
            (Layer::Project, "Read", "write_file", json!({}), "no"),
        ] {
            let event = json!({"event": "PreToolUse", "tool": {"name": tool, "input": input}});
            let facts = Facts::new(Arc::new(Event::from_json(event).unwrap()), Path::new("/")).with_names(&names);
            let rule = ToolRule::new(rule).unwrap();
            for (naming, expected) in [(ToolNaming::Canonical, expected), (ToolNaming::Own, "no")] {
                let holds = holds(
                    once(&rule),
                    empty(),
                    &facts,
                    Asker { layer, naming, guesses: false, acts: false, any_depth: false },
                    Reading::Hits,
                );
                assert_eq!(word(holds), expected, "{layer:?} {} {tool}", rule.text());
            }
        }
    }

    #[test]
    fn a_rule_says_what_made_or_broke_the_match() {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Row {
            rule: String,
            tool: String,
            input: Value,
            reading: String,
            holds: Option<bool>,
            why: String,
        }
        rows::compare("rules/explained.jsonl", |row: Row| {
            let reading = match &*row.reading {
                "hits" => Reading::Hits,
                "covers" => Reading::Covers,
                other => panic!("{other}"),
            };
            let facts = facts(Path::new("/p"), &row.tool, &row.input);
            let found = ToolRule::new(&row.rule).unwrap().explain(&facts, ASKER, reading);
            ((found.holds, found.why.to_string()), (row.holds, row.why))
        });
    }

    #[test]
    fn an_exception_says_which_command_it_is_asked_for() {
        let rules = |text: &str| vec![ToolRule::new(text).unwrap()];
        let condition = Condition { rules: rules("Bash(rm -rf *)"), unless: rules("Bash(rm -rf ./build/**)") };
        for (command, holds, why) in [
            ("cd src; rm -rf lib", false, "`rm -rf lib` doesn't fit"),
            ("ls; rm -rf build/x ../y", false, "`rm -rf build/x ../y` doesn't fit"),
            ("ls; rm -rf build/x; rm -rf lib", true, "`rm -rf build/x`"),
            ("for f in build/*.o; do rm -rf \"$f\"; done", true, "`rm -rf build/*.o`"),
        ] {
            let facts = facts(Path::new("/p"), "Bash", &json!({"command": command}));
            let (_, unless) = condition.explain(&facts, ASKER, Reading::Hits);
            assert_eq!(unless, [Finding { holds: Some(holds), why: why.into() }], "{command}");
        }
    }

    #[test]
    fn doubt_says_which_rule_and_where() {
        let facts = facts(Path::new("/p"), "Bash", &json!({"command": "$CMD push"}));
        let rule = ToolRule::new("Bash(git push --force*)").unwrap();
        let Truth::Opaque(told) = holds(once(&rule), empty(), &facts, ASKER, Reading::Hits) else { panic!() };
        assert!(told.starts_with("can't tell whether `Bash(git push --force*)` holds: "), "{told}");
        assert!(told.ends_with(", at `$CMD push`"), "{told}");
    }
}
