//! `if` and `unless`: which tools, and what their main, or a named, argument must look like.
//!
//! A rule is `Bash`, `Write|Edit`, `mcp__pay__*` or `Tools(pattern)`. For shell tools the pattern is held
//! against every command that the text would run, for file tools it is a glob on the path, for URLs it
//! is matched part by part, otherwise it is a glob on the argument's text.
//!
//! A list is read in one of two ways, [`Reading`].

use super::call::{self, Item, Names, Subject, Thing};
use super::paths::{self, PathPattern};
use super::shell::{self, CommandRule, Judgement, Script};
use super::tools::{self, ArgumentKind};
use super::urls::{self, UrlPattern};
use super::{Facts, ToolNaming, Truth, globbed, patience};
use crate::syntax::source::Layer;
use globset::{GlobBuilder, GlobMatcher};
use serde_json::Value;
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

/// A pattern in the forms that the main argument may have. One is missing where the pattern doesn't fit it, or
/// where no tool of the rule has it.
#[derive(Debug)]
struct Forms {
    /// One for each alternative in braces.
    commands: Vec<CommandRule>,
    path: Option<PathPattern>,
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
            if name.is_empty() || name.contains(|c: char| c.is_whitespace() || c == ')') {
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

    /// A necessary condition for an index.
    pub fn key(&self) -> Key<'_> {
        // Only where it is certain how the argument is read.
        let Argument::Main(forms) = &self.argument else { return Key::None };
        match &**forms {
            Forms { commands, path: None, url: None, text: None } => {
                let mut programs = commands.iter().map(CommandRule::program);
                let first = programs.next().flatten().filter(|first| programs.all(|it| it == Some(first)));
                first.map_or(Key::None, Key::Program)
            }
            Forms { commands, path: Some(path), url: None, text: None } if commands.is_empty() => {
                path.literal_prefix().map_or(Key::None, Key::PathPrefix)
            }
            Forms { .. } => Key::None,
        }
    }

    /// Whether one thing fits. A form that the pattern doesn't fit is in doubt.
    fn fits(&self, thing: &Thing, reading: Reading) -> Truth {
        let Argument::Main(forms) = &self.argument else {
            return truth(matches!(self.argument, Argument::Any));
        };
        let Forms { path, url, text, .. } = &**forms;
        let fits = match (thing, reading) {
            (Thing::Path(views), Reading::Hits) => path.as_ref().map(|it| it.matches_any(views)),
            (Thing::Path(views), Reading::Covers) => path.as_ref().map(|it| it.matches_all(views)),
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
    fn of_whole(&self, subject: &Subject, input: &Value, base: &Path, reading: Reading) -> Truth {
        match (&self.argument, subject) {
            // Each item may be a matter of another tool.
            (Argument::Any, Subject::Items(_)) => Truth::No,
            (Argument::Any, _) => Truth::Yes,
            (Argument::Named(named), _) => {
                let Named { name, text, url, is_path } = &**named;
                match input.get(name) {
                    Some(Value::String(value)) if *is_path && url.is_none() => {
                        self.fits_named_path(text, name, value, input, base, reading)
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

    /// The rules over the commands of a shell text, one for each alternative in braces; none if it has no such pattern.
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
        let mut pattern = pattern;
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
            let patterns = paths::alternatives(pattern, paths::Braces::OfCommand)?;
            patterns.iter().map(|it| CommandRule::new(it)).collect::<Result<Vec<_>, _>>()
        };
        use ArgumentKind::{Path, Shell, Text, Url};
        Ok(Argument::Main(Box::new(Forms {
            commands: form(may_be(Shell), must_be(Shell), commands, pattern)?.unwrap_or_default(),
            path: form(may_be(Path), must_be(Path), PathPattern::new, pattern.trim())?,
            url: form(may_be(Url), must_be(Url), UrlPattern::new, pattern)?,
            text: form(may_be(Text), must_be(Text) || kinds.contains(&None), glob, pattern)?,
        })))
    }
}

impl Condition {
    /// Whether it says nothing.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty() && self.unless.is_empty()
    }

    /// Whether it holds for an event, in one of two readings.
    pub fn holds(&self, facts: &Facts, asker: Asker, reading: Reading) -> Truth {
        let (rules, unless): (Vec<_>, Vec<_>) = (self.rules.iter().collect(), self.unless.iter().collect());
        holds(&rules, &unless, facts, asker, reading)
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
                let is_new = |at: &usize| hits.iter().all(|(it, _)| it != at);
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
        let no = |why: &str| Finding { holds: Some(false), why: why.to_string() };
        let Some(tool) = facts.tool() else { return no("the event names no tool") };
        if !self.names_tool(tool, facts, asker) && !self.names_patch(facts.patched(asker)) {
            return no(&format!("another tool, `{tool}`"));
        }
        let holds = match holds(&[self], &[], facts, asker, reading) {
            Truth::Yes => true,
            Truth::No | Truth::Delegates(_) => false,
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
        let told = subjects.find_map(|subject| self.decisive(subject, holds, reading));
        Finding { holds: Some(holds), why: told.unwrap_or_default() }
    }

    /// What the rule says as an exception of a condition that is read for hits, and why: it covers the call, or one command
    /// or path of several that the condition's rules hit.
    fn explain_exception(&self, condition: &Condition, facts: &Facts, asker: Asker) -> Finding {
        let whole = self.explain(facts, asker, Reading::Covers);
        let is_about = |tool: &str| self.names_tool(tool, facts, asker);
        if whole.holds == Some(true) || !facts.tool().is_some_and(is_about) {
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
                    let mut commands = script.commands().iter().filter(is_hit);
                    let is_excepted = |command: &&shell::Command| {
                        self.commands().iter().any(|own| shell::excepts(own, command, &place))
                    };
                    commands.find(is_excepted).map(|it| format!("`{}`", it.normal()))
                }
                Subject::Items(items) => {
                    let fits = |item: &&Item| self.fits(&item.value, Reading::Covers) == Truth::Yes;
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

    /// The part of a call that decides whether the rule holds.
    fn decisive(&self, subject: &Subject, holds: bool, reading: Reading) -> Option<String> {
        match subject {
            Subject::Shell { script, .. } => {
                let first = self.commands().first()?;
                let fits = |it: &&shell::Command| self.commands().iter().any(|own| own.fits(it));
                // A rule that holds does so for one command, or for all that are to be covered.
                if holds {
                    return script.commands().iter().find(fits).map(|it| format!("`{}`", it.normal()));
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
                let item = items.iter().find(|item| (self.fits(&item.value, reading) == Truth::Yes) == holds);
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
        let name = |command: &&shell::Command| command.words.first().map(|word| word.text.clone()).unwrap_or_default();
        let is_program = |command: &&shell::Command| {
            rule.program().is_none_or(|program| name(command).rsplit('/').next() == Some(program))
        };
        let Some(command) = script.commands().iter().find(is_program) else {
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

/// Whether any of `rules` holds for an event and `unless` doesn't take it away.
pub fn holds(rules: &[&ToolRule], unless: &[&ToolRule], facts: &Facts, asker: Asker, reading: Reading) -> Truth {
    let own = holds_for_call(rules, unless, facts, asker, reading);
    let patched = facts.patched(asker);
    fn of_patch<'r>(rules: &[&'r ToolRule], families: &[&str]) -> Vec<&'r ToolRule> {
        rules.iter().filter(|rule| rule.names_patch(families)).copied().collect()
    }
    let (rules, unless) = (of_patch(rules, patched), of_patch(unless, patched));
    let hits = |rules, unless| {
        let input = facts.event.tool().1.unwrap_or(&Value::Null);
        let judge = Judge { tool: "", rules: Some(rules), unless, has_families: true, facts, input };
        let patch = facts.call(asker.layer).patch.iter();
        patch.fold(Truth::No, |all, subject| all.or(|| judge.subject(subject, Reading::Hits)))
    };
    match reading {
        Reading::Hits if !rules.is_empty() => own.or(|| hits(rules, unless)),
        Reading::Covers if !unless.is_empty() => own.and(|| hits(unless, Vec::new()).not()),
        Reading::Hits | Reading::Covers => own,
    }
}

/// The same, without what a patch in a shell text does.
fn holds_for_call(rules: &[&ToolRule], unless: &[&ToolRule], facts: &Facts, asker: Asker, reading: Reading) -> Truth {
    let has_none = rules.is_empty();
    let Some(tool) = facts.tool() else { return truth(has_none) };
    let families = facts.families(asker);
    let is_about = |rule: &&&ToolRule| rule.names_tool(tool, facts, asker);
    let rules: Vec<&ToolRule> = rules.iter().filter(is_about).copied().collect();
    let unless: Vec<&ToolRule> = unless.iter().filter(is_about).copied().collect();
    if rules.is_empty() && !has_none {
        return Truth::No;
    }
    let mut judge = Judge {
        tool,
        rules: if has_none { None } else { Some(rules) },
        unless,
        has_families: !families.is_empty(),
        facts,
        input: facts.event.tool().1.unwrap_or(&Value::Null),
    };
    // What a call is about is costly to tell, and most rules of a tool without a pattern don't need it.
    let mut all = judge.rules.iter().flatten().chain(&judge.unless);
    if families.len() < 2 && all.all(|rule| matches!(rule.argument, Argument::Any | Argument::Named(_))) {
        return judge.subject(&Subject::Unclear(String::new()), reading);
    }
    let call = facts.call(asker.layer);
    if call.is_elsewhere {
        // A pattern over what a search looks for names no other place than the event's directory.
        let names_place = |rule: &&ToolRule| !matches!(rule.argument, Argument::Main(_));
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
    rules: Option<Vec<&'a ToolRule>>,
    unless: Vec<&'a ToolRule>,
    has_families: bool,
    facts: &'a Facts,
    input: &'a Value,
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
        rules
            .iter()
            .fold(Truth::No, |all, rule| all.or(|| rule.of_whole(subject, self.input, self.facts.base(), reading)))
    }

    /// Whether any rule is about one thing of several.
    fn item(&self, rules: &[&ToolRule], item: &Item, reading: Reading) -> Truth {
        let family = item.family.as_slice();
        let is_about = |rule: &&&ToolRule| {
            family.is_empty() || rule.names_any(self.tool, if self.has_families { family } else { &[] })
        };
        rules.iter().filter(is_about).fold(Truth::No, |all, rule| all.or(|| rule.fits(&item.value, reading)))
    }

    /// What command rules say of a shell text.
    fn commands(
        &self,
        rules: &[&ToolRule],
        unless: &[&ToolRule],
        script: &Script,
        text: &str,
        reading: Reading,
    ) -> Truth {
        let commands: Vec<_> = rules.iter().flat_map(|rule| rule.commands()).collect();
        let except: Vec<_> = unless.iter().flat_map(|rule| rule.commands()).collect();
        if commands.is_empty() {
            return Truth::No;
        }
        let script_at = |path: &str| self.facts.script(path);
        let place = place(self.facts, Some(&script_at));
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
    let mut short: String = part.chars().take(MAX).map(|c| if c.is_control() { ' ' } else { c }).collect();
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

/// A glob over text that is no path: `*` crosses slashes.
fn glob(pattern: &str) -> Result<GlobMatcher, String> {
    let glob = GlobBuilder::new(pattern).literal_separator(false).backslash_escape(true).build();
    glob.map(|glob| glob.compile_matcher()).map_err(|error| error.kind().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Event;
    use serde_json::json;
    use std::sync::Arc;

    fn word(truth: Truth) -> &'static str {
        match truth {
            Truth::Yes => "yes",
            Truth::No => "no",
            Truth::Opaque(_) | Truth::Delegates(_) => "opaque",
        }
    }

    fn judge(rules: &[&str], unless: &[&str], tool: &str, input: Value) -> (&'static str, &'static str) {
        let event =
            Event::from_json(json!({"event": "PreToolUse", "cwd": "/p", "tool": {"name": tool, "input": input}}))
                .unwrap();
        let compiled = |rules: &[&str]| rules.iter().map(|rule| ToolRule::new(rule).unwrap()).collect();
        let condition = Condition { rules: compiled(rules), unless: compiled(unless) };
        let facts = Facts::new(Arc::new(event), Path::new("/"));
        let asker = Asker { layer: Layer::Project, naming: ToolNaming::Canonical };
        let holds = |reading| word(condition.holds(&facts, asker, reading));
        (holds(Reading::Hits), holds(Reading::Covers))
    }

    #[test]
    fn one_rule() {
        let command = |text: &str| json!({ "command": text });
        for (rule, tool, input, hits, covers) in [
            ("Bash", "Bash", json!({}), "yes", "yes"),
            ("Bash(*)", "Bash", command("x"), "yes", "yes"),
            ("Bash(git push*)", "Bash", command("npm test && git push -f"), "yes", "no"),
            ("Bash(git push*)", "Bash", command("git push && git push -f"), "yes", "yes"),
            ("Bash(git push*)", "Bash", command("echo 'git push'"), "no", "no"),
            ("Bash(git push*)", "Bash", command("$X"), "opaque", "opaque"),
            ("Bash(git push*)", "Bash", json!({"command": 3}), "opaque", "opaque"),
            ("Bash(git push*)", "Write", command("git push"), "no", "no"),
            ("Write(src/**/*.ts)", "Write", json!({"file_path": "/p/src/a/b.ts"}), "yes", "yes"),
            ("Write(src/**/*.ts)", "Write", json!({"path": "other/a.ts"}), "no", "no"),
            ("Write(path=src/**)", "Write", json!({"file_path": "/p/src/x"}), "yes", "yes"),
            ("Write|Edit(src/**)", "Edit", json!({"path": "src/a.ts"}), "yes", "yes"),
            ("Write | Edit(src/**)", "Write", json!({"path": "src/a.ts"}), "yes", "yes"),
            ("Write|Edit", "Read", json!({"path": "src/a.ts"}), "no", "no"),
            (
                "WebFetch(https://*.example.com/*)",
                "WebFetch",
                json!({"url": "https://a.example.com/x/y"}),
                "yes",
                "yes",
            ),
            (
                "WebFetch(https://*.example.com/*)",
                "WebFetch",
                json!({"url": "https://b.c/?x=https://a.example.com/"}),
                "no",
                "no",
            ),
            (
                "WebFetch(url=https://*.example.com/*)",
                "WebFetch",
                json!({"url": "https://a.example.com@b.c/"}),
                "no",
                "no",
            ),
            ("WebFetch(https://*.example.com/*)", "WebFetch", json!({"url": "a.example.com"}), "opaque", "opaque"),
            ("mcp__web__get(https://*.b.c/*)", "mcp__web__get", json!({"uri": "https://evil/.b.c/"}), "no", "no"),
            ("mcp__web__get(https://*.b.c/*)", "mcp__web__get", json!({"query": "https://evil/.b.c/"}), "yes", "no"),
            ("mcp__web__get(https://*.b.c/*)", "mcp__web__get", json!({"link": "https://a.b.c/"}), "yes", "yes"),
            ("mcp__web__get(https://b.c/*)", "mcp__web__get", json!({"uri": "HTTPS://u@B.c:443/x"}), "yes", "no"),
            ("WebFetch(domain:localhost)", "WebFetch", json!({"url": "localhost:8080/x"}), "opaque", "opaque"),
            (
                "Edit(/etc/**)",
                "MultiEdit",
                json!({"path": "ok", "replacements": [{"filePath": "/etc/x"}]}),
                "yes",
                "opaque",
            ),
            ("Edit(/etc/**)", "MultiEdit", json!({"replacements": [{"filePath": "/etc/x"}]}), "yes", "yes"),
            ("Read(/etc/**)", "Read", json!({"path": "ok", "uri": "file:///etc/passwd"}), "yes", "no"),
            ("Read(/etc/**)", "Read", json!({"paths": ["ok"], "include": ["/etc/passwd"]}), "yes", "opaque"),
            ("Read(/p/**)", "Read", json!({"file_path": "a", "FilePath": "/etc/passwd"}), "yes", "opaque"),
            ("Bash(git push*)", "Bash", json!({"command": "ls", "Command": "git push"}), "yes", "opaque"),
            // A tool that reads many files expands patterns by itself.
            ("Read(.env)", "read_many_files", json!({"paths": ["**/*.env"]}), "opaque", "no"),
            ("Read(.env)", "read_many_files", json!({"include": ["*"]}), "opaque", "no"),
            ("Read(.env)", "read_many_files", json!({"paths": [".ENV"]}), "opaque", "no"),
            ("Read(.env)", "read_many_files", json!({"paths": [".env", "a"]}), "yes", "no"),
            ("Read(.env)", "read_many_files", json!({"paths": ["src/**/*.ts", "README.md"]}), "no", "no"),
            ("Read(**/*.pem)", "read_many_files", json!({"paths": ["keys/"]}), "opaque", "no"),
            ("Read(**/*.pem)", "read_many_files", json!({"paths": ["docs/**/*.md"]}), "no", "no"),
            ("Read(**/.env)", "Read", json!({"paths": ["{a,.env}"]}), "opaque", "no"),
            ("Read(**/.env)", "Read", json!({"file_path": "app/[id]/page.tsx"}), "no", "no"),
            ("Read(/p/app/i/**)", "Read", json!({"file_path": "app/[id]/page.tsx"}), "no", "no"),
            ("Read(src/**)", "read_many_files", json!({"paths": ["src/**/*.ts", "src/a.ts"]}), "yes", "yes"),
            ("Read(src/**)", "read_many_files", json!({"paths": ["src/{..,a}/x"]}), "yes", "no"),
            ("Read(src/**)", "read_many_files", json!({"paths": ["s*/x"]}), "opaque", "no"),
            ("Write(/etc/**)", "Write", json!({"directory": "/etc", "filename": "x"}), "yes", "no"),
            ("Write(/p/**)", "Write", json!({"folder": "a", "filename": "x"}), "yes", "yes"),
            ("Glob(src/**)", "Glob", json!({"pattern": "src/**/*.rs"}), "yes", "yes"),
            ("Glob(src/**)", "Glob", json!({"pattern": "src/../../etc/*"}), "yes", "no"),
            ("Glob(src/**)", "Glob", json!({"pattern": "src/**", "path": "/etc"}), "yes", "no"),
            ("Glob(src/**)", "Glob", json!({"pattern": "src/**", "path": "/p"}), "yes", "yes"),
            ("Grep(TODO*)", "Grep", json!({"pattern": "TODO", "path": "src/a"}), "yes", "yes"),
            ("Grep(TODO*)", "Grep", json!({"pattern": "TODO", "path": "src/../../etc"}), "yes", "no"),
            ("Grep", "Grep", json!({"pattern": "TODO", "path": "/etc"}), "yes", "yes"),
            // An unknown tool may do something with every path that it is given.
            ("mcp__fs__*(src/**)", "mcp__fs__w", json!({"path": "src/a", "destination": "/etc/x"}), "yes", "no"),
            ("mcp__fs__*(src/**)", "mcp__fs__w", json!({"path": "src/a", "to": "/etc/x"}), "yes", "no"),
            ("mcp__fs__*(src/**)", "mcp__fs__w", json!({"path": "src/a", "to": "bob"}), "yes", "yes"),
            ("mcp__fs__*(src/**)", "mcp__fs__w", json!({"path": "src/a", "destination": "src/b"}), "yes", "yes"),
            ("mcp__fs__*(src/**)", "mcp__fs__w", json!({"path": "src/a", "content": "/etc/x"}), "yes", "yes"),
            ("mcp__fs__*(/etc/**)", "mcp__fs__w", json!({"path": "src/a", "destination": "/etc/x"}), "yes", "no"),
            ("mcp__fs__*(/etc/**)", "mcp__fs__w", json!({"source": "a", "destination": "/etc/x"}), "yes", "no"),
            (
                "mcp__fs__*(/etc/**)",
                "mcp__fs__w",
                json!({"relative_path": "../etc/x", "content": "a"}),
                "yes",
                "opaque",
            ),
            ("mcp__fs__*(/etc/**)", "mcp__fs__w", json!({"uri": "file:///etc/x"}), "yes", "no"),
            ("mcp__fs__*(/etc/**)", "mcp__fs__w", json!({"files": [{"path": "a"}, {"path": "/etc/x"}]}), "yes", "no"),
            ("mcp__fs__*(/etc/**)", "mcp__fs__w", json!({"path": "a", "edits": {"/etc/x": []}}), "yes", "no"),
            ("mcp__web__get(https://a.b/*)", "mcp__web__get", json!({"uri": "https://a.b/c"}), "yes", "yes"),
            ("mcp__pay__*", "mcp__pay__send", json!({}), "yes", "yes"),
            ("mcp__pay__*(to=bob*)", "mcp__pay__send", json!({"to": "bobby"}), "yes", "yes"),
            ("mcp__pay__*(to=bob*)", "mcp__pay__send", json!({"to": "al"}), "no", "no"),
            // A named argument that is a path by its name.
            ("mcp__fs__put(path=src/*)", "mcp__fs__put", json!({"path": "src/a/b"}), "yes", "yes"),
            ("mcp__fs__put(path=src/*)", "mcp__fs__put", json!({"path": "src/../key"}), "yes", "no"),
            ("mcp__fs__put(path=src/*)", "mcp__fs__put", json!({"path": "src/a", "file_path": "/etc/x"}), "yes", "no"),
            ("mcp__fs__put(path=key/*)", "mcp__fs__put", json!({"path": "./src/../key/a"}), "yes", "yes"),
            ("mcp__fs__put(path=key/*)", "mcp__fs__put", json!({"path": "/p/key/a"}), "yes", "yes"),
            ("mcp__fs__move(new_path=/etc/*)", "mcp__fs__move", json!({"new_path": "../etc/x"}), "yes", "yes"),
            ("mcp__fs__put(path=~/x/*)", "mcp__fs__put", json!({"path": "~/x/a"}), "yes", "yes"),
            ("mcp__fs__put(path=*)", "mcp__fs__put", json!({"path": "/etc/x"}), "yes", "yes"),
            ("mcp__fs__put(path=key/*)", "mcp__fs__put", json!({"path": "src/a"}), "no", "no"),
            ("Grep(path=key/**)", "Grep", json!({"pattern": "x", "path": "./key/a"}), "yes", "yes"),
            ("mcp__pay__*(amount=1??)", "mcp__pay__send", json!({"amount": 150}), "yes", "yes"),
            ("shell(rm *)", "shell", json!({"cmd": "ls; rm x"}), "yes", "no"),
            ("unknown(a*)", "unknown", json!({"x": 1}), "opaque", "opaque"),
            // Which of two the tool takes can't be told, so both are judged.
            ("Write(/etc/**)", "Write", json!({"file_path": "ok", "path": "/etc/passwd"}), "yes", "opaque"),
            ("Write(/etc/**)", "Write", json!({"file_path": "ok", "path": "fine"}), "no", "no"),
            ("Write(/p/**)", "Write", json!({"file_path": "ok", "path": "ok"}), "yes", "yes"),
            ("shell(rm *)", "shell", json!({"command": "ls", "cmd": "rm x"}), "yes", "opaque"),
            // All parts of a call are carried out.
            ("Read(.env)", "read_files", json!({"files": [{"path": "a.ts"}, {"path": ".env"}]}), "yes", "no"),
            (
                "Edit(src/**)",
                "multi_replace_string_in_file",
                json!({"replacements": [{"filePath": "ok"}, {"filePath": "src/x"}]}),
                "yes",
                "no",
            ),
            ("Bash(git push*)", "run_commands", json!({"commands": ["ls", "git push --force"]}), "yes", "no"),
            ("Bash(git *)", "run_commands", json!({"commands": ["git log", "git push"]}), "yes", "yes"),
            ("Bash(git push*)", "run_commands", json!({"commands": ["ls", "$X"]}), "opaque", "no"),
        ] {
            assert_eq!(judge(&[rule], &[], tool, input.clone()), (hits, covers), "{rule} on {input}");
        }
        for bad in ["", "Bash(x", "Ba sh(x)", "(x)", "WebFetch(https://[)", "Write|(x)", "Write|Edit([)"] {
            assert!(ToolRule::new(bad).is_err(), "{bad}");
        }
    }

    /// A rule about a command is about those that do the same in other words.
    #[test]
    fn twins() {
        for (rule, same, others) in [
            (
                "Bash(docker rm *)",
                &["docker container rm x", "docker --context a container rm -f x", "docker container remove x"][..],
                &["docker image rm x", "docker compose rm x", "docker-compose rm x", "docker rmi x"][..],
            ),
            ("Bash(docker container rm *)", &["docker rm x"], &["docker rmi x"]),
            ("Bash(docker rmi *)", &["docker image rm x", "docker image remove x"], &["docker rm x"]),
            ("Bash(docker ps)", &["docker container ls", "docker container list"], &["docker image ls"]),
            (
                "Bash(docker compose down --volumes)",
                &["docker-compose down -v", "docker-compose -f x down -v"],
                &["docker-compose down"],
            ),
            ("Bash(docker-compose down *)", &["docker compose down", "docker compose -f x down"], &["docker down"]),
            ("Bash(podman rm --force)", &["podman container rm -f x"], &["podman container rm x"]),
            (
                "Bash(terraform destroy *)",
                &["terraform apply -destroy", "terraform -chdir=x apply -auto-approve --destroy"],
                &["terraform apply", "terraform apply -destroy=false", "terraform plan -destroy"],
            ),
            ("Bash(tofu apply -destroy)", &["tofu destroy"], &["tofu apply"]),
            (
                "Bash(kill -9 *)",
                &["kill -s 9 1", "kill -SIGKILL 1", "kill -KILL 1", "kill -n 9 1", "kill -s sigkill 1"],
                &["kill 1", "kill -15 1", "kill -s TERM 9"],
            ),
            ("Bash(kill -KILL *)", &["kill -9 1", "kill -s KILL 1"], &["kill -15 1"]),
            ("Bash(pkill -9 *)", &["pkill -KILL x", "pkill --signal KILL x", "pkill --signal=9 x"], &["pkill x"]),
            ("Bash(tar -x*)", &["tar xf a", "tar xzf a", "tar fx a"], &["tar cf x", "tar tf x"]),
            ("Bash(tar -x -C /*)", &["tar xfC a /"], &["tar xfC a b"]),
            ("Bash(rustup toolchain uninstall *)", &["rustup toolchain remove x"], &["rustup toolchain list"]),
        ] {
            for (texts, expected) in [(same, true), (others, false)] {
                for text in texts {
                    let (hits, _) = judge(&[rule], &[], "Bash", json!({ "command": text }));
                    assert_eq!(hits == "yes", expected, "{rule} on {text}: {hits}");
                }
            }
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
        let asker = Asker { layer: Layer::Project, naming: ToolNaming::Canonical };
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
            let event = json!({"event": "PreToolUse", "cwd": top.join(cwd), "tool": {"name": "Bash", "input": {"command": command}}});
            let facts = Facts::new(Arc::new(Event::from_json(event).unwrap()), Path::new("/"));
            let holds = word(condition.holds(&facts, asker, Reading::Hits));
            assert_eq!(holds == "no", is_excepted, "{command}: {holds}");
        }
    }

    /// What no `*` of an allow covers, however it is spelt.
    #[test]
    fn never_covered() {
        let (echo, git) = (&["Bash(echo *)", "Bash(printf *)", "Bash(cat *)", "Bash(ls*)"][..], &["Bash(git *)"][..]);
        let many = &["Bash(tar *)", "Bash(rg *)", "Bash(sort *)", "Bash(ssh *)", "Bash(man *)", "Bash(ls*)"][..];
        let named = &["Bash(tar --to-command=cat *)", "Bash(tar *)", "Bash(cat)", "Bash(ls)"][..];
        let dry =
            &["Bash(npm publish --dry-run *)", "Bash(kubectl apply --dry-run=client *)", "Bash(git push --dry-run *)"]
                [..];
        let programs = &[
            "Bash(find *)",
            "Bash(curl *)",
            "Bash(wget *)",
            "Bash(cargo *)",
            "Bash(git *)",
            "Bash(tar *)",
            "Bash(sort *)",
        ][..];
        let filters = &["Bash(sed *)", "Bash(awk *)"][..];
        let interpreters =
            &["Bash(python -m pytest *)", "Bash(node --test *)", "Bash(python3 run.py *)", "Bash(perl *)"][..];
        let verbs = &["Bash(npm run *)", "Bash(kubectl get *)", "Bash(./x.sh *)"][..];
        let mut wrong = Vec::new();
        for (rules, texts, expected) in [
            (
                dry,
                &[
                    "npm publish --dry-run=false",
                    "npm publish --dry-run=FALSE",
                    "npm publish --dry-run --no-dry-run",
                    "npm publish --dry-run --dry-run=false",
                    "npm publish --dry-run=$X",
                    "npm publish --dry-run $(cat f)",
                    "kubectl apply --dry-run=none -f x",
                    "kubectl apply --dry-run=client --dry-run=none -f x",
                    "git push --dry-run --no-dry",
                ][..],
                false,
            ),
            (
                dry,
                &[
                    "npm publish --dry-run",
                    "npm publish --dry-run --access public",
                    "npm publish --dry-run=true x",
                    "npm publish --dry-run --no-provenance",
                    "kubectl apply --dry-run=client -f x",
                ],
                true,
            ),
            (
                echo,
                &[
                    "echo x; > f",
                    "echo \"$(>f)\"",
                    "echo \"$(<a >b)\"",
                    "(>f); echo",
                    "{ >f; }; echo",
                    "echo <(>f)",
                    "echo x && >f",
                    "if >f; then echo; fi",
                    "echo \"$(< ~/.ssh/id_rsa)\"",
                    "echo $(<.env)",
                    "X=; $X >f; echo",
                    "echo x < /dev/tcp/1.2.3.4/80",
                    "echo \"$(> /dev/tcp/1.2.3.4/80)\"",
                    "f=/dev/tcp/1.2.3.4/80; cat < $f",
                    "for f in /dev/tcp/1.2.3.4/80 a; do cat < $f; done",
                    "printf -v PATH /tmp/evil; ls",
                    "printf -vPATH /tmp; ls",
                    "for PATH in /tmp/evil; do ls; done",
                    "cat < /dev/tcp/$HOST/80",
                ][..],
                false,
            ),
            (
                echo,
                &[
                    "echo x",
                    "cat < a",
                    "echo x > /dev/null",
                    "echo x 2>&1",
                    "for f in a b; do cat < $f; done",
                    "printf '%s' \"$USER\"",
                    "cat <<< x",
                ],
                true,
            ),
            (
                git,
                &[
                    "git -c alias.x='!sh' x",
                    "git -calias.x='!sh' x",
                    "git --config-env=core.pager=X log",
                    "git rebase -x sh",
                    "git rebase -ix sh",
                    "git rebase --exe=sh",
                    "git grep -O/bin/sh x",
                    "git --exec-path=/tmp status",
                    "git -C / status",
                    "git --git-dir=/tmp/x status",
                    "git difftool -x sh",
                    "git clone -u sh a b",
                    "git fetch --upload-pack=sh",
                    "git log --output=x",
                ],
                false,
            ),
            (
                git,
                &[
                    "git log -p -1",
                    "git rebase -i main",
                    "git -c user.name=x commit -m x",
                    "git grep -n x",
                    "git --no-pager log",
                    "git commit -m 'a -x b'",
                    "git clone https://a.test/x.git",
                ],
                true,
            ),
            (
                many,
                &[
                    "tar --to-command=sh -xf x",
                    "tar --to-comm sh -xf x",
                    "tar -I sh -xf x",
                    "tar xIf sh x",
                    "tar -xf x --checkpoint-action=exec=sh",
                    "rg --pre sh x",
                    "sort --compress-program=ls f",
                    "sort -o /etc/x f",
                    "man -P ls x",
                    "ssh -o ProxyCommand=ls x ls",
                    "ssh -oProxyCommand=ls x ls",
                    "ssh -vo ProxyCommand=ls x ls",
                    "ssh -F f x ls",
                    "ssh -I ./a.so x ls",
                ],
                false,
            ),
            (
                many,
                &[
                    "tar -xzf x",
                    "tar xzf x",
                    "tar -C /tmp -xf x",
                    "rg -n --pre-glob '*.gz' x",
                    "sort -u f",
                    "ssh -p 22 -o BatchMode=yes x ls",
                    "ssh x ls -F",
                ],
                true,
            ),
            (
                programs,
                &[
                    "find . $Y-exec mark {} +",
                    "find . -exe${Y}c mark {} +",
                    "find . -e\"$Y\"xec mark {} +",
                    "find . ${PATH/*/-exec} mark {} +",
                    "find . -delet?",
                    "git $Y-c core.fsmonitor=./x status",
                    "git fetch $Y--upload-pack=./x .",
                    "git log --out${Y}put=f",
                    "tar -x\"$Y\"I mark -f a.tar",
                    "sort $Y-o sw f",
                    "sort -$Y\"o\" sw f",
                    "curl -sK cfg",
                    "curl --confi cfg",
                    "curl $Y-Kcfg",
                    "curl --libcurl f u",
                    "wget -qe use_askpass=./ask u",
                    "wget --conf=wc u",
                    "git fetch-pack --exec=./x .",
                    "git send-pack --receive-pack=./x . main",
                    "git clone --template=./t . z",
                    "git archive -o f HEAD",
                    "git format-patch -o ../fp -1",
                    "tar --index-file=f -tvf a",
                    "cargo --config x build",
                ],
                false,
            ),
            (
                programs,
                &[
                    "find . -executable",
                    "find $DIR -name '*.rs' -maxdepth $N",
                    "find \"$DIR/my-x\" -newer a",
                    "git log --since=$D -n$N \"$B\"",
                    "git diff --output-indicator-new=+",
                    "git add \"$X/my-file\"",
                    "cargo run --bin x -- --config f",
                    "cargo test -- --config x",
                    "curl -s \"$URL\" -o \"out-$N\"",
                    "curl -sSL -H 'Key: x' https://a.test",
                    "tar -C\"$D/x\" -xf a.tar",
                    "sort -k2 -n$N f",
                ],
                true,
            ),
            (
                filters,
                &[
                    "sed -n '1e mark' f",
                    "sed 's/.*/mark/e' f",
                    "sed -f s.sed f",
                    "sed -n '1w out' f",
                    "sed -ne p -e '1e x' f",
                    "sed \"$S\" f",
                    "sed --expression='1e x' f",
                    "awk 'BEGIN{system(\"mark\")}'",
                    "awk '{print | \"mark\"}' f",
                    "awk 'BEGIN{\"mark\"|getline}'",
                    "awk 'BEGIN{print > \"f\"}'",
                    "awk -f x.awk f",
                    "awk \"$P\" f",
                ],
                false,
            ),
            (
                filters,
                &[
                    "sed -n '1,5p' f",
                    "sed -i.bak 's/a/b/g; s|x|y|' f",
                    "sed -i 's/e/w/' f",
                    "sed -E -e 's/a/b/' -e '/x/d' f g",
                    "sed ':a;N;$!ba;s/\\n/ /g' f",
                    "awk '{print $1}' f",
                    "awk -F: '$3 > 1000 {print $1}' /etc/passwd",
                    "awk -F'|' '$1 ~ /a|b/ {n++} END {print n / 2, (n > 1) || 0}' f",
                    "awk -v x=1 'NR==x' f",
                ],
                true,
            ),
            (
                interpreters,
                &[
                    "python -c x -m pytest",
                    "python -m x -m pytest",
                    "python -Ic pytest -m pytest x",
                    "node --test --require ./x",
                    "node --import=./x --test",
                    "python3 -c x run.py",
                    "python -m pytest -x tests -c p.ini",
                ],
                false,
            ),
            (
                interpreters,
                &["python -m pytest -x tests -k p", "node --test src", "python3 run.py -c x", "perl -ne print f"],
                true,
            ),
            (
                verbs,
                &[
                    "npm run t --script-shell=./x",
                    "npm run --script-shell ./x t",
                    "npm run t --userconfig=./urc",
                    "npm run t -C ../evil",
                    "npm run t --prefix ../evil",
                    "kubectl get pods --kubeconfig=kc",
                    "kubectl get pods -s http://x",
                    "x.sh a",
                    "/usr/bin/x.sh a",
                ],
                false,
            ),
            (
                verbs,
                &[
                    "npm run t -- --script-shell=./x -C y",
                    "npm run build --silent",
                    "kubectl get pods -n staging -o=jsonpath='{.items}'",
                    "kubectl get pods -l app=shop",
                    "./x.sh a",
                ],
                true,
            ),
            (
                &["Bash(npx eslint *)", "Bash(docker exec web ls *)", "Bash(uv run pytest *)", "Bash(npx)"],
                &["npx eslint .", "npx -y eslint --fix src", "docker exec -it web ls -la", "uv run pytest -x"],
                true,
            ),
            (
                &["Bash(npx eslint *)", "Bash(docker exec web ls *)", "Bash(uv run pytest *)", "Bash(npx *)"],
                &[
                    "npx rimraf eslint",
                    "npx rimraf x",
                    "docker exec web rm ls",
                    "docker exec db ls",
                    "uv run x",
                    "eslint .",
                ],
                false,
            ),
            (named, &["tar --to-command=cat -xf x"], true),
            (named, &["tar --to-command=ls -xf x", "tar --to-command=cat --to-command=ls -xf x"], false),
        ] {
            for text in texts {
                let (_, covers) = judge(rules, &[], "Bash", json!({ "command": text }));
                if (covers == "yes") != expected {
                    wrong.push(format!("{text}: {covers}"));
                }
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn lists() {
        let command = |text: &str| json!({ "command": text });
        let path = |path: &str| json!({ "file_path": path });
        let patch = |path: &str| command(&format!("apply_patch <<'E'\n*** Add File: {path}\nE"));
        for (rules, unless, tool, input, hits, covers) in [
            (&["Bash(git *)", "Bash(ls*)"][..], &[][..], "Bash", command("ls; git log"), "yes", "yes"),
            (&["Bash(git *)", "Bash(ls*)"], &[], "Bash", command("ls; rm x"), "yes", "no"),
            (&["Bash(git *)", "Write(src/**)"], &[], "Write", path("src/a"), "yes", "yes"),
            (&["Bash(git *)", "Write(src/**)"], &[], "Read", path("src/a"), "no", "no"),
            (&["Bash(rm *)"], &["Bash(rm ./build)"], "Bash", command("rm ./build"), "no", "no"),
            (&["Bash(rm *)"], &["Bash(rm ./build)"], "Bash", command("rm ./build; rm -rf /"), "yes", "no"),
            (&["Bash(git *)"], &["Bash(git push*)"], "Bash", command("git log"), "yes", "yes"),
            (&["Bash(git *)"], &["Bash(git push*)"], "Bash", command("git log; git push"), "yes", "no"),
            (&["Bash"], &["Bash(git *)"], "Bash", command("git log"), "no", "no"),
            (&["Bash"], &["Bash(git *)"], "Bash", command("ls"), "yes", "yes"),
            (&["Bash"], &["Bash(git *)"], "Bash", command("ls; git log"), "yes", "no"),
            (&["Bash"], &["Bash(git *)"], "Bash", command("$X"), "opaque", "opaque"),
            (&["Bash"], &["Bash"], "Bash", command("ls"), "no", "no"),
            (&[], &["Bash(git *)"], "Bash", command("git log"), "no", "no"),
            (&[], &["Bash(git *)"], "Read", path("x"), "yes", "yes"),
            (&["Write(src/**)"], &["Write(src/gen/**)"], "Write", path("src/gen/a"), "no", "no"),
            (&["Write(src/**)"], &["Write(src/gen/**)"], "Write", path("src/a"), "yes", "yes"),
            (&["mcp__pay__*"], &["mcp__pay__*(to=bob)"], "mcp__pay__send", json!({"to": "bob"}), "no", "no"),
            (&["Glob"], &["Glob(src/**)"], "Glob", json!({"pattern": "src/**", "path": "/etc"}), "yes", "no"),
            (&["Glob"], &["Glob(src/**)"], "Glob", json!({"pattern": "src/**"}), "no", "no"),
            (&["mcp__pay__*"], &["mcp__pay__list"], "mcp__pay__send", json!({"to": "bob"}), "yes", "yes"),
            // Where a call happens that names a directory, and what it brings along.
            (&["Bash(cat src/**)"], &[], "Bash", json!({"command": "cat src/x", "workdir": "/etc"}), "yes", "no"),
            (
                &["Bash(cat /etc/*)"],
                &["Bash(cat /etc/x)"],
                "Bash",
                json!({"command": "cat x", "cwd": "/etc"}),
                "no",
                "no",
            ),
            (
                &["Bash(cat src/**)"],
                &[],
                "run_shell_command",
                json!({"command": "cat x", "directory": "src"}),
                "no",
                "yes",
            ),
            (
                &["Bash(cat src/**)"],
                &[],
                "Bash",
                json!({"command": "cat src/x", "cwd": "/p", "workdir": "/etc"}),
                "yes",
                "no",
            ),
            (&["Write|Edit"], &["Write|Edit(src/**)"], "Bash", patch("src/a"), "no", "no"),
            (&["Write|Edit"], &["Write|Edit(src/**)"], "Bash", patch("src/../a"), "yes", "no"),
            (&["Bash(apply_patch *)"], &["Write(/etc/**)"], "Bash", patch("/etc/a"), "yes", "no"),
            (&["Bash(apply_patch *)"], &["Write(/etc/**)"], "Bash", patch("a"), "yes", "yes"),
            (&["Bash(ls*)"], &[], "Bash", json!({"command": "ls", "env": {"PATH": "/tmp/x"}}), "yes", "no"),
            (&["Bash(ls*)"], &[], "Bash", json!({"command": "ls", "env": {}, "cwd": ""}), "yes", "yes"),
            (&["Read(src/**)"], &[], "Read", json!({"file_path": "src/a", "cwd": "/etc"}), "yes", "no"),
            (&["Read(src/**)"], &[], "Read", json!({"file_path": "src/a", "cwd": "/p"}), "yes", "yes"),
            (&["Read(/etc/**)"], &[], "Read", json!({"file_path": "a", "cwd": "/etc"}), "yes", "no"),
            (&["Read(/p/b/**)"], &[], "Read", json!({"file_path": "a", "cwd": "b"}), "yes", "no"),
            (
                &["Bash(git commit *)"],
                &[],
                "Bash",
                command("git commit -m \"$(cat <<'EOF'\nfix: a\nEOF\n)\""),
                "yes",
                "yes",
            ),
            (&["Bash(git commit *)"], &[], "Bash", command("git commit -m \"$(echo x | tee f)\""), "yes", "no"),
            (
                &["Bash(git commit *)"],
                &[],
                "Bash",
                command("echo() { rm x; }; git commit -m \"$(echo x)\""),
                "yes",
                "no",
            ),
            (&["Bash(git commit *)"], &[], "Bash", command("git commit -m \"$(echo x > f)\""), "yes", "no"),
        ] {
            assert_eq!(judge(rules, unless, tool, input.clone()), (hits, covers), "{rules:?} {unless:?} on {input}");
        }
    }

    #[test]
    fn families() {
        let patch =
            json!({"input": "*** Begin Patch\n*** Add File: src/a\n+x\n*** Update File: /etc/b\n*** End Patch"});
        let heredoc = |file: &str| {
            let patch = format!("*** Begin Patch\n*** Add File: {file}\n+x\n*** End Patch");
            json!({ "command": format!("apply_patch <<'EOF'\n{patch}\nEOF") })
        };
        let split = |end: char| json!({ "input": format!("*** Update File: src/a{end}*** Add File: /etc/x\n") });
        for (rule, tool, input, hits, covers) in [
            ("Bash(git push*)", "run_shell_command", json!({"command": "cd x && git push"}), "yes", "no"),
            ("Bash(git push*)", "shell", json!({"command": ["bash", "-lc", "git push"]}), "yes", "yes"),
            ("run_shell_command(git push*)", "run_shell_command", json!({"command": "git push"}), "yes", "yes"),
            ("run_shell_command(git push*)", "Bash", json!({"command": "git push"}), "no", "no"),
            ("Edit(src/**)", "MultiEdit", json!({"file_path": "src/x"}), "yes", "yes"),
            ("Read(src/**)", "read_many_files", json!({"paths": ["src/x", "y"]}), "yes", "no"),
            (
                "WebFetch(https://a.b/*)",
                "web_fetch",
                json!({"prompt": "read https://a.b/x and https://c.d"}),
                "yes",
                "no",
            ),
            ("Write(src/**)", "apply_patch", patch.clone(), "yes", "no"),
            ("Write(/etc/**)", "apply_patch", patch.clone(), "no", "no"),
            ("Edit(/etc/**)", "apply_patch", patch.clone(), "yes", "no"),
            ("Write", "apply_patch", patch.clone(), "yes", "no"),
            ("apply_patch", "apply_patch", patch.clone(), "yes", "yes"),
            ("apply_patch(src/**)", "apply_patch", patch.clone(), "yes", "no"),
            ("Write(src/**)", "apply_patch", json!({"input": "?"}), "opaque", "opaque"),
            // A patch names files in every way in which an argument does.
            ("Write(~/.ssh/**)", "apply_patch", json!({"input": "*** Add File: ~/.ssh/x"}), "yes", "no"),
            ("Write(/etc/**)", "apply_patch", json!({"input": "*** Add File: file:///etc/x"}), "yes", "no"),
            // A blank is what any agent takes for one, or needs none.
            ("Edit(.env)", "apply_patch", json!({"input": "*** Update File: a\n*** Update File:.env"}), "yes", "no"),
            ("Edit(.env)", "apply_patch", json!({"input": "*** Update File: .env\u{feff}\n"}), "yes", "no"),
            ("Edit(.env)", "Bash", json!({"command": "apply_patch <<'E'\n*** Update File:.env\nE"}), "yes", "no"),
            (
                "Edit(.env)",
                "apply_patch",
                json!({"input": "*** Update File: a\n*** Copy File: .env"}),
                "opaque",
                "opaque",
            ),
            ("Edit(.env)", "Bash", json!({"command": "apply_patch <<'E'\n*** Copy File: .env\nE"}), "opaque", "no"),
            ("Edit(.env)", "Bash", json!({"command": "grep '*** a' apply_patch.txt"}), "no", "no"),
            // What Gemini's prompt names is fetched, too.
            (
                "WebFetch(domain:b.c)",
                "web_fetch",
                json!({"prompt": "Read https://b.c", "url": "https://d.e"}),
                "yes",
                "opaque",
            ),
            ("WebFetch(domain:d.e)", "web_fetch", json!({"prompt": "Sum up", "url": "https://d.e"}), "yes", "yes"),
            // A list in a text.
            ("Read(.env)", "Read", json!({"paths": "[\"a\", \".env\"]"}), "yes", "no"),
            ("Read(.env)", "Read", json!({"files": "[{\"path\": \".env\"}]"}), "yes", "no"),
            ("Read(src/**)", "Read", json!({"path": "src/[id]"}), "yes", "yes"),
            // To some programs these end a line.
            ("Write(/etc/**)", "apply_patch", split('\x0c'), "yes", "no"),
            ("Edit(src/**)", "apply_patch", split('\x0b'), "yes", "opaque"),
            ("Edit(src/**)", "apply_patch", split('\r'), "yes", "opaque"),
            ("Edit(src/**)", "apply_patch", split('\u{85}'), "yes", "opaque"),
            ("Edit(src/**)", "apply_patch", split('\u{2028}'), "yes", "opaque"),
            ("Read(/etc/**)", "read_files", json!({"files": [{"path": "/etc/x"}]}), "yes", "yes"),
            // What a table doesn't list, and is a path by its name.
            (
                "Edit(src/**)",
                "str_replace_based_edit_tool",
                json!({"path": "src/a", "new_path": "/etc/x"}),
                "yes",
                "no",
            ),
            (
                "Edit(src/**)",
                "str_replace_based_edit_tool",
                json!({"path": "src/a", "new_path": "src/b"}),
                "yes",
                "yes",
            ),
            ("Edit(/etc/**)", "str_replace_based_edit_tool", json!({"path": "a", "newPath": "/etc/x"}), "yes", "no"),
            ("Edit(src/**)", "Edit", json!({"path": "src/a", "edits": {"/etc/x": []}}), "yes", "no"),
            ("Read(src/**)", "fs_read", json!({"path": "src/a", "image_paths": ["/etc/x"]}), "yes", "no"),
            ("Write(src/**)", "Write", json!({"path": "src/a", "file_text": "/etc/x", "content": "/x"}), "yes", "yes"),
            ("Edit(src/**)", "NotebookEdit", json!({"notebook_path": "src/a", "new_source": "/etc/x"}), "yes", "yes"),
            ("Write(src/**)", "apply_patch", json!({"file": "/etc/x", "input": "*** Add File: src/a"}), "yes", "no"),
            ("Edit(src/**)", "editFiles", json!({"files": ["a", "src/b"]}), "yes", "no"),
            ("Bash(git push*)", "Monitor", json!({"command": "git push --force"}), "yes", "yes"),
            // Keys for a program that need be no shell.
            ("Bash(git push *)", "write_bash", json!({"sessionId": "1", "input": "git push{enter}"}), "yes", "no"),
            ("Bash(git push *)", "write_bash", json!({"sessionId": "1", "input": "ls{enter}"}), "no", "no"),
            ("Bash(git push *)", "send_to_terminal", json!({"id": "1", "command": "git push"}), "yes", "no"),
            (
                "Write(src/**)",
                "str_replace_based_edit_tool",
                json!({"command": "create", "path": "src/a"}),
                "yes",
                "yes",
            ),
            ("Write(src/**)", "str_replace_based_edit_tool", json!({"command": "insert", "path": "src/a"}), "no", "no"),
            (
                "Edit(src/**)",
                "str_replace_based_edit_tool",
                json!({"command": "create", "path": "src/a"}),
                "yes",
                "yes",
            ),
            ("WebFetch(domain:b.c)", "fetch_web_content", json!({"requests": [{"url": "https://b.c/"}]}), "yes", "yes"),
            ("Edit(.env)", "patch", json!({"patchText": "*** Update File: .env"}), "yes", "yes"),
            ("Read(/etc/**)", "view_image", json!({"path": "/etc/x"}), "yes", "yes"),
            // Some tools trim.
            ("Read(/etc/**)", "Read", json!({"file_path": " /etc/x\n"}), "yes", "no"),
            ("Read(src/.env)", "Read", json!({"file_path": "src/.env "}), "yes", "no"),
            ("Read(src/**)", "Read", json!({"file_path": "src/a b.ts"}), "yes", "yes"),
            // A patch in a shell text is the edit that it is.
            ("Write(/etc/**)", "Bash", heredoc("/etc/x"), "yes", "no"),
            ("Write(/etc/**)", "shell", json!({"command": ["bash", "-lc", heredoc("/etc/x")["command"]]}), "yes", "no"),
            ("Write(/etc/**)", "shell", json!({"command": ["apply_patch", "*** Add File: /etc/x\n+x"]}), "yes", "no"),
            (
                "Write(/etc/**)",
                "exec_command",
                json!({"cmd": "applypatch $'*** Add File: /etc/x\\n+x'"}),
                "opaque",
                "no",
            ),
            ("Write(/etc/**)", "Bash", json!({"command": "applypatch $'*** Add File: /etc/x\\n+x'"}), "yes", "no"),
            ("Write(/etc/**)", "Bash", heredoc("etc/x"), "no", "no"),
            ("Write(/etc/**)", "Bash", json!({"command": heredoc("x")["command"], "workdir": "/etc"}), "yes", "no"),
            (
                "Write(/etc/**)",
                "Bash",
                json!({"command": format!("cd /etc && {}", heredoc("x")["command"].as_str().unwrap())}),
                "yes",
                "no",
            ),
            ("Write(~/.ssh/**)", "Bash", heredoc("~/.ssh/x"), "yes", "no"),
            ("Write(/etc/**)", "Bash", heredoc("app/$id.tsx"), "no", "no"),
            ("Write(/etc/**)", "Bash", json!({"command": "apply_patch <<E\n*** Add File: $X/y\nE"}), "opaque", "no"),
            ("Edit(/etc/**)", "Bash", heredoc("/etc/x"), "no", "no"),
            ("Write(/etc/**)", "Bash", json!({"command": "cat <<'E'\n*** Add File: /etc/x\nE"}), "no", "no"),
            ("Write", "Bash", heredoc("x"), "yes", "no"),
            ("Bash(apply_patch*)", "Bash", heredoc("x"), "yes", "yes"),
            ("PowerShell(git push*)", "powershell", json!({"command": "git push"}), "yes", "yes"),
            ("PowerShell(git push*)", "powershell", json!({"command": "x; git push"}), "opaque", "opaque"),
        ] {
            assert_eq!(judge(&[rule], &[], tool, input.clone()), (hits, covers), "{rule} on {input}");
        }
        let both = judge(&["Write(src/**)", "Edit(/etc/**)"], &[], "apply_patch", patch);
        assert_eq!(both, ("yes", "yes"));
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
                let holds = holds(&[&rule], &[], &facts, Asker { layer, naming }, Reading::Hits);
                assert_eq!(word(holds), expected, "{layer:?} {} {tool}", rule.text());
            }
        }
    }

    #[test]
    fn a_rule_says_what_made_or_broke_the_match() {
        let command = |text: &str| json!({ "command": text });
        for (rule, tool, input, reading, holds, why) in [
            (
                "Bash(git push --force*)",
                "Bash",
                command("cd x && git push --force"),
                Reading::Hits,
                Some(true),
                "`git push --force`",
            ),
            (
                "Bash(git push --force*)",
                "Bash",
                command("git push origin"),
                Reading::Hits,
                Some(false),
                "in `git push origin`, nothing fits `--force*`",
            ),
            ("Bash(git push*)", "Bash", command("ls; make"), Reading::Hits, Some(false), "no command runs `git`"),
            ("Bash(git *)", "Bash", command("git log; ls"), Reading::Covers, Some(false), "`ls` doesn't fit"),
            ("Bash(git *)", "Read", json!({"path": "x"}), Reading::Hits, Some(false), "another tool, `Read`"),
            ("Bash", "Bash", json!({}), Reading::Hits, Some(true), "any call of `Bash`"),
            ("Read(src/**)", "Read", json!({"path": "x"}), Reading::Hits, Some(false), "`/p/x` doesn't fit"),
            (
                "WebFetch(domain:a.b)",
                "WebFetch",
                json!({"url": "https://A.b"}),
                Reading::Hits,
                Some(true),
                "`https://a.b/`",
            ),
            ("x(to=bob)", "x", json!({"to": "al"}), Reading::Hits, Some(false), "`to` is `al`"),
            (
                "Bash(git *)",
                "Bash",
                command("$X y"),
                Reading::Hits,
                None,
                "can't tell whether `Bash(git *)` holds: the program's name is computed, at `$X y`",
            ),
        ] {
            let event = json!({"event": "PreToolUse", "cwd": "/p", "tool": {"name": tool, "input": input}});
            let facts = Facts::new(Arc::new(Event::from_json(event).unwrap()), Path::new("/"));
            let asker = Asker { layer: Layer::Project, naming: ToolNaming::Canonical };
            let found = ToolRule::new(rule).unwrap().explain(&facts, asker, reading);
            assert_eq!((found.holds, &*found.why), (holds, why), "{rule}");
        }
    }

    #[test]
    fn doubt_says_which_rule_and_where() {
        let event = json!({"event": "PreToolUse", "tool": {"name": "Bash", "input": {"command": "$CMD push"}}});
        let facts = Facts::new(Arc::new(Event::from_json(event).unwrap()), Path::new("/"));
        let asker = Asker { layer: Layer::Project, naming: ToolNaming::Canonical };
        let rule = ToolRule::new("Bash(git push --force*)").unwrap();
        let Truth::Opaque(told) = holds(&[&rule], &[], &facts, asker, Reading::Hits) else { panic!() };
        assert!(told.starts_with("can't tell whether `Bash(git push --force*)` holds: "), "{told}");
        assert!(told.ends_with(", at `$CMD push`"), "{told}");
    }
}
