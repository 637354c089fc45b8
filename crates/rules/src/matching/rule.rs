//! `if` and `unless`: which tools, and what their main, or a named, argument must look like.
//!
//! A rule is `Bash`, `Write|Edit`, `mcp__pay__*` or `Tools(pattern)`. For shell tools the pattern
//! is held against every command that the text would run, for file tools it is a glob on the path,
//! for URLs it is matched part by part, otherwise it is a glob on the argument's text.
//!
//! A list is read in one of two ways, [`Reading`].

mod explain;
mod judge;
#[cfg(test)]
mod tests;

pub use super::Reading;
use super::acts::Act;
use super::call::{self, Names, Subject, Thing};
use super::connections::Connection;
use super::hosts::{Fits, HostPattern, Peer};
use super::located::Where;
use super::paths::{self, Base, PathPattern};
use super::shell::{Access, CommandRule};
use super::text_glob as glob;
use super::tools::{self, ArgumentKind};
use super::urls::{self, UrlPattern};
use super::{Asker, Facts, Truth};
use globset::GlobMatcher;
use judge::short;
use serde_json::Value;
use smallvec::SmallVec;

pub use judge::declaration;

pub use explain::{Finding, uncovered};
pub use judge::holds;

/// `if` and `unless` of a hook.
#[derive(Debug, Default)]
pub struct Condition {
    /// Any of them is enough; with none, every event fits.
    pub rules: Vec<ToolRule>,
    /// They take away what they match.
    pub unless: Vec<ToolRule>,
    /// Where what the rules name has to be.
    pub located: Option<Where>,
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
    /// The hosts of `Connect(...)`.
    Hosts(Box<HostPattern>),
}

/// The name of the rules over what a call connects to by any means.
pub const CONNECT: &str = "Connect";

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

/// A pattern in the forms that the main argument may have. One is missing where the pattern doesn't
/// fit it, or where no tool of the rule has it. Most rules have one form, so each takes memory of
/// its own.
#[derive(Debug)]
struct Forms {
    /// One for each alternative in braces.
    commands: Vec<CommandRule>,
    path: Option<Box<PathPattern>>,
    /// The pattern for a file of that name in any directory, where the pattern has no `/`.
    anywhere: Option<Box<PathPattern>>,
    url: Option<Box<UrlPattern>>,
    text: Option<Box<GlobMatcher>>,
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
            if name.is_empty()
                || name.starts_with('!')
                || name.contains(|c: char| c.is_whitespace() || c == ')')
            {
                return Err(form());
            }
            let glob = if name.contains('*') {
                Some(glob(name)?)
            } else {
                None
            };
            tools.push(ToolName {
                text: name.to_string(),
                glob,
            });
        }
        tools.shrink_to_fit();
        if tools.len() > 1 && tools.iter().any(|tool| tool.text == CONNECT) {
            return Err("`Connect` stands alone: it is about hosts, whatever the tool".into());
        }
        let argument = match pattern {
            _ if tools.iter().all(|tool| tool.text == CONNECT) => {
                let pattern = HostPattern::new(pattern.unwrap_or("*"))?;
                Argument::Hosts(Box::new(pattern))
            }
            None | Some("" | "*") => Argument::Any,
            Some(pattern) => Argument::new(&tools, pattern)?,
        };
        Ok(ToolRule {
            text: text.to_string(),
            tools,
            pattern: pattern.map(str::to_string),
            argument,
        })
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
        self.tools
            .iter()
            .map(move |it| (&*it.text, it.glob.as_ref().and_then(|_| prefix(&it.text))))
    }

    /// The tools' names, if all of them are plain.
    pub fn literal_tools(&self) -> Option<Vec<&str>> {
        self.tools
            .iter()
            .map(|it| it.glob.is_none().then_some(&*it.text))
            .collect()
    }

    /// Whether it is held against a text as it is, and not against where a path leads; the text
    /// must begin so.
    pub fn is_about_text(&self, start: &str) -> bool {
        let pattern = self.pattern().unwrap_or_default();
        match &self.argument {
            Argument::Named(named) => {
                !named.is_path && pattern[named.name.len() + 1..].starts_with(start)
            }
            Argument::Main(forms) => {
                forms.path.is_none() && forms.commands.is_empty() && pattern.starts_with(start)
            }
            Argument::Any | Argument::Hosts(_) => false,
        }
    }

    /// The hosts that it is about, if it is about any.
    fn hosts(&self) -> Option<&HostPattern> {
        match &self.argument {
            Argument::Hosts(hosts) => Some(hosts),
            Argument::Any | Argument::Main(_) | Argument::Named(_) => None,
        }
    }

    /// The host that it is about where it is about tools for the web alone.
    pub fn host_of_web_tools(&self) -> Option<&str> {
        let Argument::Main(forms) = &self.argument else {
            return None;
        };
        let is_alone = self.tools.iter().all(|tool| tool.text == "WebFetch");
        forms.url.as_ref().filter(|_| is_alone)?.host()
    }

    /// Whether it is held against what a call connects to by any means.
    pub fn is_about_hosts(&self) -> bool {
        self.hosts().is_some()
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

    /// Whether the rule names an event's tool, under any name that the asker may call it by.
    pub(crate) fn names_tool(&self, tool: &str, facts: &Facts, asker: Asker) -> bool {
        self.names_any(tool, facts.families(asker))
            || facts
                .mcp_name(asker)
                .is_some_and(|name| self.names_any(name, &[]))
    }

    /// Whether it is about what a patch in a shell text does.
    fn names_patch(&self, families: &[&str]) -> bool {
        !families.is_empty() && self.names_any("", families)
    }

    /// What it is about where it is about files: what its tools do with them, and which they are.
    fn files(&self, any_depth: bool) -> Option<(Deeds, SmallVec<[&PathPattern; 2]>)> {
        let Argument::Main(forms) = &self.argument else {
            return None;
        };
        let anywhere = forms.anywhere.as_deref().filter(|_| any_depth);
        let patterns: SmallVec<[&PathPattern; 2]> =
            anywhere.into_iter().chain(forms.path.as_deref()).collect();
        if patterns.is_empty() {
            return None;
        }
        let named = |family: &str| self.names_any("", &[family]);
        let deeds = Deeds {
            reads: named("Read"),
            writes: named("Write"),
            edits: named("Edit"),
        };
        (deeds.reads || deeds.writes || deeds.edits).then_some((deeds, patterns))
    }

    /// Whether all that an act is about is what it names as an exception.
    fn takes_away(&self, act: &Act) -> bool {
        let files = self.files(false);
        files.is_some_and(|(deeds, all)| {
            deeds.has(act.access) && all.iter().any(|it| act.is_within(it))
        })
    }

    /// Whether a connection is what it names as an exception.
    fn excepts(&self, connection: &Connection) -> bool {
        self.hosts()
            .is_some_and(|hosts| hosts.covers(&connection.peer))
    }

    /// Whether it is held against what a call does to files by any means.
    pub fn is_about_files(&self) -> bool {
        self.files(false).is_some()
    }

    /// The text before the first wildcard of the files that it is about, from the event's
    /// directory, if it is about none elsewhere.
    pub fn files_prefix(&self, any_depth: bool) -> Option<&str> {
        self.files(any_depth)?.1.first()?.literal_prefix()
    }

    /// A necessary condition for an index.
    pub fn key(&self) -> Key<'_> {
        // Only where it is certain how the argument is read.
        let Argument::Main(forms) = &self.argument else {
            return Key::None;
        };
        match &**forms {
            Forms {
                commands,
                path: None,
                url: None,
                text: None,
                ..
            } => {
                let mut programs = commands.iter().map(CommandRule::program);
                let first = programs
                    .next()
                    .flatten()
                    .filter(|first| programs.all(|it| it == Some(first)));
                first.map_or(Key::None, Key::Program)
            }
            Forms {
                commands,
                path: Some(path),
                url: None,
                text: None,
                ..
            } if commands.is_empty() => path.literal_prefix().map_or(Key::None, Key::PathPrefix),
            Forms { .. } => Key::None,
        }
    }

    /// Whether one thing fits. A form that the pattern doesn't fit is in doubt.
    fn fits(&self, thing: &Thing, reading: Reading, any_depth: bool) -> Truth {
        let forms = match &self.argument {
            Argument::Main(forms) => forms,
            Argument::Hosts(hosts) => return fits_hosts(hosts, thing, reading),
            Argument::Any | Argument::Named(_) => {
                return truth(matches!(self.argument, Argument::Any));
            }
        };
        let Forms {
            path,
            anywhere,
            url,
            text,
            ..
        } = &**forms;
        let path = path.as_ref();
        let anywhere = anywhere
            .as_ref()
            .filter(|_| any_depth && reading == Reading::Hits);
        if let (Some(anywhere), Thing::Path(views)) = (anywhere, thing)
            && anywhere.matches_any(views)
        {
            return Truth::Yes;
        }
        let path = if matches!(thing, Thing::Names(_)) {
            anywhere.or(path)
        } else {
            path
        };
        let fits = match (thing, reading) {
            (Thing::Path(views), Reading::Hits) => path.map(|it| it.matches_any(views)),
            (Thing::Path(views), Reading::Covers) => path.map(|it| it.matches_all(views)),
            (Thing::Names(names), reading) => match path {
                Some(path) => return self.fits_names(path, names, reading),
                None => None,
            },
            (Thing::Url(it), Reading::Hits) => url.as_ref().map(|url| url.hits(it)),
            (Thing::Url(it), Reading::Covers) => url.as_ref().map(|url| url.covers(it)),
            (Thing::Text(it), _) => {
                return self.fits_text(it, text.as_deref(), url.as_deref(), reading);
            }
        };
        fits.map_or_else(
            || self.doubt("the pattern doesn't fit such an argument"),
            truth,
        )
    }

    /// Whether what a tool's own pattern names fits. Which files there are isn't looked at, so that
    /// what may be hit is in doubt.
    fn fits_names(&self, path: &PathPattern, names: &Names, reading: Reading) -> Truth {
        let linked = names.linked.as_deref();
        match reading {
            Reading::Hits => {
                let is_hit = linked
                    .unwrap_or_default()
                    .iter()
                    .any(|it| path.matches_any(it));
                match is_hit || names.pattern.may_meet(path) {
                    true => self.doubt(&format!(
                        "the pattern `{}` may name such a path",
                        short(&names.pattern.text)
                    )),
                    false => Truth::No,
                }
            }
            Reading::Covers => truth(
                names.pattern.is_within(path)
                    && linked.is_some_and(|it| it.iter().all(|it| path.matches_all(it))),
            ),
        }
    }

    /// Whether a text fits, which is judged as URLs by a pattern over them.
    fn fits_text(
        &self,
        value: &str,
        text: Option<&GlobMatcher>,
        url: Option<&UrlPattern>,
        reading: Reading,
    ) -> Truth {
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
            (Some(urls), Reading::Hits) => {
                truth(is_match || urls.iter().any(|url| pattern.hits(url)))
            }
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
            (Argument::Hosts(_), _) => Truth::No,
            (Argument::Named(named), _) => {
                let Named {
                    name,
                    text,
                    url,
                    is_path,
                } = &**named;
                let input = facts.event.tool_input().unwrap_or(&Value::Null);
                match input.get(name) {
                    Some(Value::String(value)) if *is_path && url.is_none() => {
                        self.fits_named_path(text, name, value, input, facts.base(), reading)
                    }
                    Some(Value::String(value)) => {
                        self.fits_text(value, Some(text), url.as_ref(), reading)
                    }
                    Some(value @ (Value::Number(_) | Value::Bool(_))) => {
                        truth(text.is_match(value.to_string()))
                    }
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

    /// Whether a named argument that is a path fits, as it is written and where it leads. Its
    /// pattern is one over a text, so `*` crosses slashes.
    fn fits_named_path(
        &self,
        text: &GlobMatcher,
        name: &str,
        value: &str,
        input: &Value,
        base: &Base,
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
        let views = things.iter().filter_map(|thing| {
            if let Thing::Path(views) = thing {
                Some(views)
            } else {
                None
            }
        });
        let mut forms = views.map(|views| views.forms());
        let fits = |forms: &Vec<String>| forms.iter().any(|it| text.is_match(it));
        match reading {
            Reading::Hits => {
                truth(forms.any(|views| views.is_none_or(|views| views.iter().any(fits))))
            }
            // The tool may take another member for the path.
            Reading::Covers => truth(
                tools::has_one_path(input, value)
                    && forms.all(|it| it.is_some_and(|views| views.iter().all(fits))),
            ),
        }
    }

    /// The rules over the commands of a shell text, one for each alternative in braces and for the
    /// home by its path; none if it has no such pattern.
    pub fn commands(&self) -> &[CommandRule] {
        match &self.argument {
            Argument::Main(forms) => &forms.commands,
            Argument::Any | Argument::Named(_) | Argument::Hosts(_) => &[],
        }
    }

    fn doubt(&self, why: &str) -> Truth {
        Truth::in_doubt(self.text.to_string(), why.to_string())
    }
}

impl Argument {
    fn new(tools: &[ToolName], pattern: &str) -> Result<Argument, String> {
        let is_word = |word: &str| {
            !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        };
        let known: Vec<_> = tools
            .iter()
            .map(|it| tools::known(&it.text).filter(|_| it.glob.is_none()))
            .collect();
        let is_patch = |tool: &ToolName| tools::is_patch(&tool.text);
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
                known
                    .is_some_and(|it| it.kind != ArgumentKind::Text && it.arguments.contains(&name))
            };
            if !known.iter().all(is_main) {
                let url = if rest.contains("://") {
                    Some(UrlPattern::new(rest)?)
                } else {
                    None
                };
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
        ) -> Result<Option<Box<T>>, String> {
            match may.then(|| compile(pattern)).transpose() {
                Err(problem) if must => Err(problem),
                compiled => Ok(compiled.ok().flatten().map(Box::new)),
            }
        }
        let commands = |pattern: &str| {
            let mut patterns = paths::alternatives(pattern, paths::Braces::OfCommand)?;
            patterns.extend(
                patterns
                    .iter()
                    .flat_map(|it| paths::with_home(it))
                    .collect::<Vec<_>>(),
            );
            patterns
                .iter()
                .map(|it| CommandRule::new(it))
                .collect::<Result<Vec<_>, _>>()
        };
        use ArgumentKind::{Path, Shell, Text, Url};
        Ok(Argument::Main(Box::new(Forms {
            commands: form(may_be(Shell), must_be(Shell), commands, pattern)?
                .map(|it| *it)
                .unwrap_or_default(),
            path: form(
                may_be(Path),
                must_be(Path),
                PathPattern::new,
                pattern.trim(),
            )?,
            anywhere: form(
                may_be(Path) && is_name(pattern.trim()),
                false,
                of_any_directory,
                pattern.trim(),
            )?,
            url: form(may_be(Url), must_be(Url), UrlPattern::new, pattern)?,
            text: form(
                may_be(Text),
                must_be(Text) || kinds.contains(&None),
                glob,
                pattern,
            )?,
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

    /// Whether a rule of it names another argument than the main one.
    pub fn names_arguments(&self) -> bool {
        let is_named = |rule: &ToolRule| matches!(rule.argument, Argument::Named(_));
        self.rules.iter().chain(&self.unless).any(is_named)
    }

    /// Whether it holds for an event, in one of two readings.
    pub fn holds(&self, facts: &Facts, asker: Asker, reading: Reading) -> Truth {
        judge::Asked::of(self, facts, asker).holds(reading)
    }
}

/// Whether a thing that a call is about is at these hosts.
fn fits_hosts(hosts: &HostPattern, thing: &Thing, reading: Reading) -> Truth {
    let peers = match thing {
        Thing::Url(url) => vec![Peer::of_url(url.as_str())],
        Thing::Text(text) => match urls::urls(text) {
            Some(urls) => urls.iter().map(|url| Peer::of_url(url.as_str())).collect(),
            None => return Truth::No,
        },
        Thing::Path(_) | Thing::Names(_) => return Truth::No,
    };
    truth(match reading {
        Reading::Hits => peers.iter().any(|peer| hosts.hits(peer) == Fits::Yes),
        Reading::Covers => !peers.is_empty() && peers.iter().all(|peer| hosts.covers(peer)),
    })
}

fn truth(holds: bool) -> Truth {
    if holds { Truth::Yes } else { Truth::No }
}
