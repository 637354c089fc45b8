//! Rules held together against what a call is about.

use super::{Argument, Asker, Condition, Reading, ToolRule, truth};
use crate::matching::acts::{self, Act, Met};
use crate::matching::call::{self, Item, Subject};
use crate::matching::connections::Connection;
use crate::matching::hosts::{Fits, HostPattern, Peer};
use crate::matching::located::Where;
use crate::matching::paths;
use crate::matching::shell::{self, CommandRule, Judgement, Located, Script};
use crate::matching::{Facts, ToolNaming, Truth, Untold, globbed, patience};
use hookwire_base::support::visible::safe;
use smallvec::SmallVec;
use std::cell::Cell;
use std::mem::discriminant;

/// Rules that are held together. Mostly they are few, and every event has some held against it.
type Rules<'r> = SmallVec<[&'r ToolRule; 4]>;
type Commands<'r> = SmallVec<[&'r CommandRule; 4]>;

/// Whether any of `rules` holds for an event and `unless` doesn't take it away.
pub fn holds<'r>(
    rules: impl Iterator<Item = &'r ToolRule>,
    unless: impl Iterator<Item = &'r ToolRule>,
    facts: &'r Facts,
    asker: Asker,
    reading: Reading,
) -> Truth {
    Asked {
        rules: rules.collect(),
        unless: unless.collect(),
        located: None,
        facts,
        asker,
    }
    .holds(reading)
}

/// Rules and their exceptions, asked about one event.
#[derive(Clone)]
pub(super) struct Asked<'r> {
    rules: Rules<'r>,
    unless: Rules<'r>,
    /// Where what the rules name has to be.
    located: Option<&'r Where>,
    facts: &'r Facts,
    asker: Asker,
}

impl<'r> Asked<'r> {
    /// One rule by itself.
    pub(super) fn alone(rule: &'r ToolRule, facts: &'r Facts, asker: Asker) -> Asked<'r> {
        Asked {
            rules: [rule].into_iter().collect(),
            unless: Rules::new(),
            located: None,
            facts,
            asker,
        }
    }

    /// Several rules without a condition.
    pub(super) fn together(rules: Rules<'r>, facts: &'r Facts, asker: Asker) -> Asked<'r> {
        Asked {
            rules,
            unless: Rules::new(),
            located: None,
            facts,
            asker,
        }
    }

    /// The rules that are about a tool.
    pub(super) fn of_tool(&self, tool: &str) -> impl Iterator<Item = &'r ToolRule> {
        let is_about = move |rule: &&ToolRule| rule.names_tool(tool, self.facts, self.asker);
        self.rules.iter().copied().filter(is_about)
    }

    /// The rules of a hook's conditions.
    pub(super) fn of(condition: &'r Condition, facts: &'r Facts, asker: Asker) -> Asked<'r> {
        Asked {
            rules: condition.rules.iter().collect(),
            unless: condition.unless.iter().collect(),
            located: condition.located.as_ref(),
            facts,
            asker,
        }
    }

    /// The rules that are about something.
    fn about(&self, is_about: impl Fn(&ToolRule) -> bool) -> Asked<'r> {
        let about = |rules: &Rules<'r>| {
            rules
                .iter()
                .copied()
                .filter(|rule| is_about(rule))
                .collect()
        };
        Asked {
            rules: about(&self.rules),
            unless: about(&self.unless),
            ..*self
        }
    }

    /// Whether any of the rules holds and no exception takes it away.
    pub(super) fn holds(&self, reading: Reading) -> Truth {
        let first = || {
            self.rules
                .iter()
                .chain(&self.unless)
                .next()
                .map_or("if", |rule| rule.text())
        };
        self.facts.holds(first, || self.holds_with_patch(reading))
    }

    /// Whether the rules hold, with what patches are about. The caller catches panics.
    fn holds_with_patch(&self, reading: Reading) -> Truth {
        let own = self.holds_for_call(reading);
        let own = match reading {
            Reading::Hits => own.or(|| self.if_shell()).or(|| self.by_other_means().0),
            Reading::Covers => own,
        };
        let own = match reading {
            // Few rules are about hosts.
            _ if !self
                .rules
                .iter()
                .chain(&self.unless)
                .any(|rule| rule.is_about_hosts()) =>
            {
                own
            }
            Reading::Hits => own.or(|| self.by_connections().0),
            Reading::Covers => own
                .or(|| self.covers_connections())
                .and(|| self.excepted_by_connections().not()),
        };
        let patched = self.facts.patched(self.asker);
        if patched.is_empty() {
            return own;
        }
        let of_patch = self.about(|rule| rule.names_patch(patched));
        let hits = |asked| {
            let judge = Judge::of_families("", asked);
            let patch = self.facts.call(self.asker.layer).patch.iter();
            patch.fold(Truth::No, |all, subject| {
                all.or(|| judge.subject(subject, Reading::Hits))
            })
        };
        match reading {
            Reading::Hits if !of_patch.rules.is_empty() => own.or(|| hits(of_patch)),
            Reading::Covers if !of_patch.unless.is_empty() => {
                let unless = of_patch.unless;
                own.and(|| {
                    hits(Asked {
                        rules: unless,
                        unless: Rules::new(),
                        ..*self
                    })
                    .not()
                })
            }
            Reading::Hits | Reading::Covers => own,
        }
    }

    /// What rules about commands say of a tool that nobody knows, if it is a shell: they are in
    /// doubt where its text does, or names, what they name. Nothing else about it is in doubt,
    /// because most tools are no shell.
    pub(super) fn if_shell(&self) -> Truth {
        let Asked { facts, asker, .. } = *self;
        if !asker.guesses {
            return Truth::No;
        }
        let (Some(tool), Some(call)) = (facts.tool(), facts.as_shell(asker.layer)) else {
            return Truth::No;
        };
        let is_about_shells = |rule: &ToolRule| rule.names_any("", &["Bash"]);
        let asked = self.about(|rule| is_about_shells(rule) || rule.names_tool(tool, facts, asker));
        for rule in asked
            .rules
            .iter()
            .filter(|rule| !rule.commands().is_empty() && is_about_shells(rule))
        {
            let judge = Judge::of_families(
                tool,
                Asked {
                    unless: asked.unless.clone(),
                    ..Asked::alone(rule, facts, asker)
                },
            );
            let is_named = |subject: &Subject| match subject {
                Subject::Shell { text, .. } => match judge.subject(subject, Reading::Hits) {
                    Truth::Yes => true,
                    Truth::No => false,
                    // It may be a text for something else than a shell.
                    Truth::Opaque(_) | Truth::Delegates(_) => {
                        rule.commands().iter().any(|it| it.is_named_in(text))
                    }
                },
                // Of a call that takes too long to read, everything is in doubt.
                Subject::Unclear(_) => facts.why_unread().is_some(),
                Subject::Items(_) => false,
            };
            if call.alternatives.iter().chain(&call.others).any(is_named) {
                facts.note_taken_for_shell();
                let tool = short(tool);
                return rule.doubt(&format!(
                    "`{tool}` isn't known and may be a shell; {}",
                    declaration(&tool)
                ));
            }
        }
        Truth::No
    }

    /// What rules over files say of what the call does to files by other means than the tools that
    /// they name, and the act that decides.
    pub(super) fn by_other_means(&self) -> (Truth, Option<String>) {
        let Asked { facts, asker, .. } = *self;
        let Some(tool) = facts.tool().filter(|_| asker.acts) else {
            return (Truth::No, None);
        };
        let mut doubt = None;
        for rule in &self.rules {
            let Some((deeds, patterns)) = rule.files(asker.any_depth) else {
                continue;
            };
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
            let named: Vec<Act> = acts
                .iter()
                .flat_map(|act| act.named_in_code(&patterns))
                .collect();
            let may_be_own = |act: &&Act| deeds.has(act.access) && (act.of_shell || !is_own);
            for act in acts.iter().chain(&named).filter(may_be_own) {
                let only_reads = !deeds.writes && !deeds.edits;
                let met = patterns
                    .iter()
                    .map(|it| act.meets(it, only_reads))
                    .max()
                    .unwrap_or(Met::No);
                if met == Met::No || self.unless.iter().any(|rule| rule.takes_away(act)) {
                    continue;
                }
                let met = match self.located.map(|located| act.is_located(located, facts)) {
                    None | Some(Located::Here) => met,
                    Some(Located::Elsewhere) => continue,
                    Some(Located::Unclear(why)) => match met {
                        Met::Yes(path) => Met::Perhaps(why, path),
                        met => met,
                    },
                };
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

    /// What rules over hosts say of what the call connects to, and the connection that decides.
    pub(super) fn by_connections(&self) -> (Truth, Option<String>) {
        let Asked { facts, asker, .. } = *self;
        if facts.tool().is_none() {
            return (Truth::No, None);
        }
        let rules = self.rules.iter().filter(|rule| rule.is_about_hosts());
        let rules: Rules<'_> = rules.copied().collect();
        let Some(first) = rules.first() else {
            return (Truth::No, None);
        };
        let Some(connections) = facts.connections(asker) else {
            let why = facts.why_unread().unwrap_or("it takes too long");
            return (first.doubt(why), Some(why.to_string()));
        };
        let mut doubt = None;
        for connection in connections {
            let fits = |rule: &&&ToolRule| {
                rule.hosts()
                    .map_or(Fits::No, |hosts| hosts.hits(&connection.peer))
            };
            let Some(rule) = rules.iter().max_by_key(fits) else {
                continue;
            };
            let is_excepted = || self.unless.iter().any(|rule| rule.excepts(connection));
            let may_be_excepted = || {
                self.unless
                    .iter()
                    .filter_map(|rule| rule.hosts())
                    .any(|hosts| {
                        matches!(connection.peer, Peer::Unclear(_) | Peer::Below(_))
                            && hosts.hits(&connection.peer) != Fits::No
                    })
            };
            let fits = fits(&rule);
            if fits == Fits::No || is_excepted() || self.command_is_excepted(connection) {
                continue;
            }
            let located = self
                .located
                .map_or(Located::Here, |located| match connection.by {
                    Some((n, at)) => match facts.shell_texts(asker).nth(n) {
                        Some(text) => located.has_command(facts, text, at, Reading::Hits),
                        None => Located::Elsewhere,
                    },
                    None => located.has_directory(facts, facts.runs_in(), Reading::Hits),
                });
            let cause = short(&connection.cause);
            let told = format!("connects to {}, at `{cause}`", connection.peer);
            let why = match located {
                Located::Elsewhere => continue,
                Located::Unclear(why) => Some(why),
                Located::Here => connection.doubt,
            };
            let why = match (why, &connection.peer) {
                (Some(why), _) => why,
                (None, _) if fits == Fits::Yes && !may_be_excepted() => {
                    return (Truth::Yes, Some(told));
                }
                (None, Peer::Unclear(why)) => why,
                (None, _) => "it may connect to another host",
            };
            if doubt.is_none() {
                let told = format!("{why}, at `{cause}`");
                doubt = Some((rule.doubt(&told), Some(told)));
            }
        }
        doubt.unwrap_or_else(|| match self.delegated() {
            Some(why) => (
                Truth::Delegates(Untold {
                    condition: first.text.clone().into(),
                    why: why.into(),
                }),
                None,
            ),
            None => (Truth::No, None),
        })
    }

    /// Why the call may connect to more than it shows.
    fn delegated(&self) -> Option<String> {
        let mut texts = self.facts.shell_texts(self.asker);
        texts.find_map(|(script, text)| {
            let unread = script.untold().map(|doubt| why(doubt, text));
            let unseen = || {
                let mut commands = script.commands().iter();
                let command = commands.find(|command| command.may_run_unseen())?;
                Some(format!(
                    "what `{}` runs isn't shown",
                    short(&command.normal())
                ))
            };
            unread.or_else(unseen)
        })
    }

    /// Whether the command that makes a connection is one of those that another exception names.
    fn command_is_excepted(&self, connection: &Connection) -> bool {
        let Asked { facts, asker, .. } = *self;
        let mut commands = self
            .unless
            .iter()
            .flat_map(|rule| rule.commands())
            .peekable();
        let Some((n, at)) = connection.by.filter(|_| commands.peek().is_some()) else {
            return false;
        };
        let place = place(facts, None);
        facts
            .shell_texts(asker)
            .nth(n)
            .and_then(|(script, _)| script.commands().get(at))
            .is_some_and(|command| commands.any(|rule| shell::excepts(rule, command, &place)))
    }

    /// To allow: whether the call is one of a tool for the web, and rules over hosts name all that
    /// it connects to.
    fn covers_connections(&self) -> Truth {
        let Asked { facts, asker, .. } = *self;
        let mut rules = self
            .rules
            .iter()
            .filter(|rule| rule.is_about_hosts())
            .peekable();
        if rules.peek().is_none() || !facts.families(asker).contains(&"WebFetch") {
            return Truth::No;
        }
        let rules: Rules<'_> = rules.copied().collect();
        let connections = facts.connections(asker).unwrap_or_default();
        let is_named = |connection| rules.iter().any(|rule| rule.excepts(connection));
        truth(!connections.is_empty() && connections.iter().all(is_named))
    }

    /// To allow: whether the call connects to a host that an exception names.
    fn excepted_by_connections(&self) -> Truth {
        let unless: Rules<'_> = self
            .unless
            .iter()
            .copied()
            .filter(|rule| rule.is_about_hosts())
            .collect();
        match unless.is_empty() {
            true => Truth::No,
            false => {
                let alone = Asked {
                    rules: unless,
                    unless: Rules::new(),
                    located: None,
                    ..*self
                };
                alone.by_connections().0
            }
        }
    }

    /// Whether they hold, without what a patch in a shell text does.
    fn holds_for_call(&self, reading: Reading) -> Truth {
        let Asked { facts, asker, .. } = *self;
        let has_none = self.rules.is_empty();
        let Some(tool) = facts.tool() else {
            return truth(has_none);
        };
        let families = facts.families(asker);
        let mut asked = self.about(|rule| rule.names_tool(tool, facts, asker));
        if facts.is_of_plugin() {
            let loosening = match reading {
                Reading::Hits => &mut asked.unless,
                Reading::Covers => &mut asked.rules,
            };
            loosening.retain(|rule| rule.names_any(tool, families));
        }
        if asked.rules.is_empty() && !has_none {
            return Truth::No;
        }
        // What a call connects to may be an exception, whatever the tool.
        if reading == Reading::Hits {
            let of_hosts = self.unless.iter().filter(|rule| rule.is_about_hosts());
            asked.unless.extend(of_hosts.copied());
        }
        // A redirection is no call, and its file is named by the rules over what is written.
        let is_of_files = reading == Reading::Covers && asker.naming == ToolNaming::Canonical;
        let files = self.about(|rule| is_of_files && rule.is_about("Write"));
        let mut judge = Judge {
            tool,
            asked,
            fits_all: has_none,
            files,
            has_families: !families.is_empty(),
        };
        // What a call is about is costly to tell, and most rules of a tool without a pattern don't
        // need it.
        let mut all = judge.asked.rules.iter().chain(&judge.asked.unless);
        if families.len() < 2
            && judge.asked.located.is_none()
            && all.all(|rule| matches!(rule.argument, Argument::Any | Argument::Named(_)))
        {
            return judge.subject(&Subject::Unclear(String::new()), reading);
        }
        let call = facts.call(asker.layer);
        if call.is_elsewhere {
            // A pattern over what a search looks for names no other place than the event's
            // directory.
            let names_place = |rule: &mut &ToolRule| !matches!(rule.argument, Argument::Main(_));
            match reading {
                Reading::Hits => judge.asked.unless.retain(names_place),
                Reading::Covers => judge.asked.rules.retain(names_place),
            }
        }
        let mut truths = call
            .alternatives
            .iter()
            .map(|subject| judge.subject(subject, reading));
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
                        let is_same = |truth: Truth| discriminant(&truth) == discriminant(&first);
                        let differ = || {
                            let mut all = judge.asked.rules.iter().chain(&judge.asked.unless);
                            let rule = all.next().map_or("", |rule| &*rule.text);
                            Truth::in_doubt(
                                rule.to_string(),
                                format!("the main arguments of `{tool}` differ"),
                            )
                        };
                        if truths.all(is_same) { first } else { differ() }
                    }
                };
                call.beside.iter().fold(holds, |all, other| {
                    all.and(|| judge.subject(other, reading))
                })
            }
        }
    }
}

impl Asked<'_> {
    /// Whether rules over files let a redirection write a file.
    fn may_write(&self, path: &str) -> bool {
        let any_depth = self.asker.any_depth;
        call::path(path, self.facts.base()).is_some_and(|file| {
            self.rules
                .iter()
                .any(|rule| rule.fits(&file, Reading::Covers, false) == Truth::Yes)
                && self
                    .unless
                    .iter()
                    .all(|rule| rule.fits(&file, Reading::Hits, any_depth) == Truth::No)
        })
    }

    /// What of a shell text no rule covers, and the rule that comes nearest.
    pub(super) fn uncovered(&self, script: &Script) -> Option<(String, Option<&ToolRule>)> {
        let files = self.about(|rule| rule.is_about("Write"));
        let may_write = |path: &str| files.may_write(path);
        let place = shell::Place {
            may_write: Some(&may_write),
            ..place(self.facts, None)
        };
        let all = self.rules.iter().flat_map(|rule| {
            let commands = rule.commands().iter();
            commands.map(move |command| (*rule, command))
        });
        let (rules, commands): (Vec<&ToolRule>, Vec<&CommandRule>) = all.unzip();
        let left = shell::uncovered(&commands, script, &place)?;
        let part = match left.stops_at_slash {
            true => format!("{} (a `*` stops at `/`, and `**` doesn't)", left.part),
            false => left.part,
        };
        Some((part, left.nearest.map(|at| rules[at])))
    }
}

/// What a person writes to make certain that a tool is a shell.
pub fn declaration(tool: &str) -> String {
    format!("if it is one, a file should say `tools: {{ Bash: {tool} }}`")
}

/// A call that rules are held against.
struct Judge<'a> {
    tool: &'a str,
    /// The rules that are about the tool.
    asked: Asked<'a>,
    /// There are no rules but exceptions, so that every call fits.
    fits_all: bool,
    /// To allow: what rules say of the files that redirections write.
    files: Asked<'a>,
    has_families: bool,
}

impl<'a> Judge<'a> {
    /// A call of a tool of some family, which isn't allowed by rules over files.
    fn of_families(tool: &'a str, asked: Asked<'a>) -> Judge<'a> {
        let files = asked.about(|_| false);
        Judge {
            tool,
            asked,
            fits_all: false,
            files,
            has_families: true,
        }
    }

    fn subject(&self, subject: &Subject, reading: Reading) -> Truth {
        let unless = &self.asked.unless;
        let rules = (!self.fits_all).then_some(&*self.asked.rules);
        match reading {
            Reading::Hits => self.hits(rules, unless, subject, self.asked.located),
            Reading::Covers if unless.is_empty() => self.covers(rules, subject),
            Reading::Covers => self
                .covers(rules, subject)
                .and(|| self.hits(Some(unless), &[], subject, None).not()),
        }
    }

    /// Whether some part of the call matches a rule and isn't covered by `unless`.
    fn hits(
        &self,
        rules: Option<&[&ToolRule]>,
        unless: &[&ToolRule],
        subject: &Subject,
        located: Option<&Where>,
    ) -> Truth {
        let whole = self.whole(rules, subject, Reading::Hits, located);
        let rules = rules.unwrap_or_default();
        let hit = match subject {
            Subject::Shell { text, script } => {
                let is_left = || {
                    self.commands(unless, &[], script, text, Reading::Covers, None)
                        .not()
                };
                whole
                    .and(is_left)
                    .or(|| self.commands(rules, unless, script, text, Reading::Hits, located))
            }
            Subject::Items(items) => {
                let hit = |item: &Item| {
                    let matches = whole.clone().or(|| {
                        self.item(rules, item, Reading::Hits)
                            .and(|| self.item_is_located(item, Reading::Hits, located))
                    });
                    matches.and(|| self.item(unless, item, Reading::Covers).not())
                };
                let start = if items.is_empty() {
                    whole.clone()
                } else {
                    Truth::No
                };
                items.iter().fold(start, |all, item| all.or(|| hit(item)))
            }
            Subject::Unclear(_) => whole,
        };
        hit.and(|| {
            self.whole(Some(unless), subject, Reading::Covers, None)
                .not()
        })
    }

    /// Whether every part of the call is named by a rule.
    fn covers(&self, rules: Option<&[&ToolRule]>, subject: &Subject) -> Truth {
        let located = self.asked.located;
        let whole = self.whole(rules, subject, Reading::Covers, located);
        let rules = rules.unwrap_or_default();
        match subject {
            Subject::Shell { text, script } => whole.or(|| {
                let unless = &self.asked.unless;
                self.commands(rules, unless, script, text, Reading::Covers, located)
            }),
            Subject::Items(items) if !items.is_empty() => {
                let covered = |item| {
                    whole.clone().or(|| {
                        self.item(rules, item, Reading::Covers)
                            .and(|| self.item_is_located(item, Reading::Covers, located))
                    })
                };
                items
                    .iter()
                    .fold(Truth::Yes, |all, item| all.and(|| covered(item)))
            }
            Subject::Items(_) | Subject::Unclear(_) => whole,
        }
    }

    /// What rules say of the call as a whole.
    fn whole(
        &self,
        rules: Option<&[&ToolRule]>,
        subject: &Subject,
        reading: Reading,
        located: Option<&Where>,
    ) -> Truth {
        let Some(rules) = rules else {
            return Truth::Yes;
        };
        let whole = rules.iter().fold(Truth::No, |all, rule| {
            all.or(|| rule.of_whole(subject, self.asked.facts, reading))
        });
        whole.and(|| match located {
            Some(located) => is_located(located.has_subject(self.asked.facts, subject, reading)),
            None => Truth::Yes,
        })
    }

    /// Whether one thing of several is where the rules have to hold.
    fn item_is_located(&self, item: &Item, reading: Reading, located: Option<&Where>) -> Truth {
        located.map_or(Truth::Yes, |located| {
            is_located(located.has_thing(self.asked.facts, &item.value, reading))
        })
    }

    /// Whether any rule is about one thing of several.
    fn item(&self, rules: &[&ToolRule], item: &Item, reading: Reading) -> Truth {
        let family = item.family.as_slice();
        let is_about = |rule: &&&ToolRule| {
            family.is_empty()
                || rule.names_any(self.tool, if self.has_families { family } else { &[] })
        };
        rules.iter().filter(is_about).fold(Truth::No, |all, rule| {
            all.or(|| rule.fits(&item.value, reading, self.asked.asker.any_depth))
        })
    }

    /// What command rules say of a shell text.
    fn commands<'r>(
        &self,
        rules: &[&'r ToolRule],
        unless: &[&'r ToolRule],
        script: &Script,
        text: &str,
        reading: Reading,
        located: Option<&Where>,
    ) -> Truth {
        let of_rules =
            |rules: &[&'r ToolRule]| rules.iter().flat_map(|rule| rule.commands()).collect();
        let (commands, except): (Commands, Commands) = (of_rules(rules), of_rules(unless));
        if commands.is_empty() {
            return Truth::No;
        }
        let is_unseen = Cell::new(false);
        let script_at = |path: &str| {
            let text = self.asked.facts.script(path).known();
            is_unseen.set(is_unseen.get() || text.is_err());
            text.ok().flatten()
        };
        let may_write = |path: &str| self.files.may_write(path);
        let facts = self.asked.facts;
        let hosts: SmallVec<[&HostPattern; 4]> = match reading {
            Reading::Hits => unless.iter().filter_map(|rule| rule.hosts()).collect(),
            Reading::Covers => SmallVec::new(),
        };
        let is_there = (located.is_some() || !hosts.is_empty()).then_some({
            let hosts = &hosts;
            move |script: &Script, at: usize| match located {
                _ if connects_only_to(facts, script, at, hosts) => Located::Elsewhere,
                Some(located) => located.has_command(facts, (script, text), at, reading),
                None => Located::Here,
            }
        });
        let place = shell::Place {
            may_write: Some(&may_write),
            located: is_there.as_ref().map(|it| it as &shell::Locator<'_>),
            ..place(self.asked.facts, Some(&script_at))
        };
        let judge = |rules: &[&CommandRule]| match reading {
            Reading::Hits => shell::hits(rules, &except, script, &place),
            Reading::Covers => shell::covers(rules, &except, script, &place),
        };
        let judgement = judge(&commands);
        if is_unseen.get() && reading == Reading::Hits && !matches!(judgement, Judgement::Yes(_)) {
            let condition = rules
                .iter()
                .find(|rule| !rule.commands().is_empty())
                .map_or("", |rule| &*rule.text);
            return Truth::in_doubt(
                condition.to_string(),
                "a script that it runs can't be looked into",
            );
        }
        let (Judgement::Doubt(doubt) | Judgement::Delegates(doubt)) = &judgement else {
            return truth(matches!(judgement, Judgement::Yes(_)));
        };
        // The rule that can't be told.
        let is_same = |rule: &&&ToolRule| {
            let alone = judge(&rule.commands().iter().collect::<Vec<_>>());
            discriminant(&alone) == discriminant(&judgement)
        };
        let of_commands = || rules.iter().filter(|rule| !rule.commands().is_empty());
        let rule = of_commands()
            .find(is_same)
            .or(of_commands().next())
            .map_or("", |rule| &*rule.text);
        let told = Untold {
            condition: rule.to_string().into(),
            why: why(doubt, text).into(),
        };
        match judgement {
            Judgement::Delegates(_) => Truth::Delegates(told),
            _ => Truth::Opaque(told),
        }
    }
}

/// Whether a command connects to these hosts and to no other one.
fn connects_only_to(facts: &Facts, script: &Script, at: usize, hosts: &[&HostPattern]) -> bool {
    if hosts.is_empty() {
        return false;
    }
    let own = script.connections().iter().filter(|it| it.by == Some(at));
    let mut peers = own.flat_map(|it| facts.peers(script, it)).peekable();
    let is_named = |peer| hosts.iter().any(|hosts| hosts.covers(&peer));
    peers.peek().is_some() && peers.all(is_named)
}

/// Where the text of a shell call runs.
pub(super) fn place<'a>(facts: &'a Facts, files: Option<&'a shell::Files<'a>>) -> shell::Place<'a> {
    shell::Place {
        cwd: facts.runs_in(),
        patterns: facts.base(),
        home: paths::home(),
        may_write: None,
        files,
        links: Some(&links),
        linked: Some(&linked),
        located: None,
    }
}

/// Whether a condition on the place holds.
fn is_located(located: Located) -> Truth {
    match located {
        Located::Here => Truth::Yes,
        Located::Elsewhere => Truth::No,
        Located::Unclear(why) => Truth::in_doubt("where", why),
    }
}

/// Where links lead an absolute path.
fn links(path: &str) -> Option<String> {
    let resolved = paths::resolved(path.as_ref())?;
    resolved.into_os_string().into_string().ok()
}

/// Where links lead that a pattern of file names comes across.
fn linked(parts: &[&str]) -> Option<Vec<String>> {
    let found = patience::allows_slow()
        .then(|| globbed::through_links(parts))
        .flatten()?;
    found
        .into_iter()
        .map(|path| path.into_os_string().into_string().ok())
        .collect()
}

/// A doubt about a text, for people.
pub(super) fn why(doubt: &shell::Doubt, text: &str) -> String {
    format!("{}, at `{}`", doubt.why, quoted(text, doubt.at.clone()))
}

/// The place that a doubt is about, on one line and not long.
fn quoted(text: &str, at: std::ops::Range<usize>) -> String {
    const MAX: usize = 60;
    let part = text.get(at).unwrap_or(text).trim();
    let short: String = part
        .chars()
        .take(MAX)
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    let mut short = safe(&short);
    if part.chars().nth(MAX).is_some() {
        short.push('…');
    }
    short
}

/// A text on one line and not long.
pub(super) fn short(text: &str) -> String {
    quoted(text, 0..text.len())
}
