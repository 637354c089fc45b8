//! What a rule says of an event, and why, for people.

use super::judge::{self, Asked, place, short};
use super::{Argument, Asker, Condition, Reading, ToolRule, glob};
use crate::matching::call::{Item, Subject, Thing};
use crate::matching::shell::{self, CommandRule, Judgement, Script};
use crate::matching::{Facts, Truth};
use serde_json::Value;

/// What one rule says of an event, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Whether it holds; `None`: it can't be told.
    pub holds: Option<bool>,
    /// The command, path or word that made or broke the match.
    pub why: String,
    /// Why the rule may hold all the same for something that the call does but doesn't show.
    pub unseen: Option<String>,
}

impl Finding {
    fn new(holds: impl Into<Option<bool>>, why: impl Into<String>) -> Finding {
        Finding {
            holds: holds.into(),
            why: why.into(),
            unseen: None,
        }
    }
}

/// Why a shell call may do more than is told of it.
fn untold(facts: &Facts, asker: Asker) -> Option<String> {
    facts
        .call(asker.layer)
        .alternatives
        .iter()
        .find_map(|subject| match subject {
            Subject::Shell { text, script } => script.untold().map(|doubt| judge::why(doubt, text)),
            Subject::Items(_) | Subject::Unclear(_) => None,
        })
}

impl Condition {
    /// What each rule says of an event, and why: those of `if`, and those of `unless` behind them.
    pub fn explain(
        &self,
        facts: &Facts,
        asker: Asker,
        reading: Reading,
    ) -> (Vec<Finding>, Vec<Finding>) {
        let rules = self
            .rules
            .iter()
            .map(|rule| rule.explain(facts, asker, reading))
            .collect();
        let unless = self.unless.iter().map(|rule| match reading {
            Reading::Hits => rule.explain_exception(self, facts, asker),
            // An exception of what allows is enough if it hits.
            Reading::Covers => rule.explain(facts, asker, Reading::Hits),
        });
        (rules, unless.collect())
    }

    /// Which commands of a shell text are hit, each with the first rule that names it.
    pub fn hit_commands(
        &self,
        script: &Script,
        facts: &Facts,
        asker: Asker,
    ) -> Vec<(usize, &CommandRule)> {
        let Some(tool) = facts.tool() else {
            return Vec::new();
        };
        let is_about = |rule: &&ToolRule| rule.names_tool(tool, facts, asker);
        let unless: Vec<_> = self
            .unless
            .iter()
            .filter(is_about)
            .flat_map(ToolRule::commands)
            .collect();
        let place = place(facts, None);
        let mut hits: Vec<(usize, &CommandRule)> = Vec::new();
        for rule in self
            .rules
            .iter()
            .filter(is_about)
            .flat_map(ToolRule::commands)
        {
            if let Judgement::Yes(commands) = shell::hits(&[rule], &unless, script, &place) {
                // A redirection by itself has no words to change.
                let has_words = |at: &usize| {
                    script
                        .commands()
                        .get(*at)
                        .is_some_and(|it| !it.words.is_empty())
                };
                let is_new = |at: &usize| has_words(at) && hits.iter().all(|(it, _)| it != at);
                let new: Vec<usize> = commands.into_iter().filter(is_new).collect();
                hits.extend(new.into_iter().map(|at| (at, rule)));
            }
        }
        hits
    }
}

/// What of a call none of the rules covers, and the rule that comes nearest to it, for people.
pub fn uncovered<'r>(
    rules: impl Iterator<Item = &'r ToolRule>,
    facts: &'r Facts,
    asker: Asker,
) -> Option<String> {
    let tool = facts.tool()?;
    let asked = Asked::together(rules.collect(), facts, asker);
    let found = facts.ask("explain", || {
        let mut subjects = facts.call(asker.layer).alternatives.iter();
        subjects.find_map(|subject| match subject {
            Subject::Shell { script, .. } => asked.uncovered(script),
            Subject::Items(items) => {
                let is_left = |item: &&Item| {
                    let mut rules = asked.of_tool(tool);
                    !rules.any(|rule| rule.fits(&item.value, Reading::Covers, false) == Truth::Yes)
                };
                let left = items.iter().find(is_left)?;
                Some((quoted_thing(&left.value), asked.of_tool(tool).next()))
            }
            Subject::Unclear(_) => None,
        })
    });
    let (part, nearest) = found.ok()??;
    let nearest = nearest.map(|rule| format!("; the nearest is `{}`", rule.text()));
    Some(format!(
        "no `allow` covers {part}{}",
        nearest.unwrap_or_default()
    ))
}

impl ToolRule {
    /// What the rule says of an event by itself, and why.
    pub fn explain(&self, facts: &Facts, asker: Asker, reading: Reading) -> Finding {
        let doubt = |why: &str| Finding::new(None, why);
        facts
            .ask("explain", || self.find(facts, asker, reading))
            .unwrap_or_else(doubt)
    }

    fn find(&self, facts: &Facts, asker: Asker, reading: Reading) -> Finding {
        let no = |why: &str| Finding::new(false, why);
        let Some(tool) = facts.tool() else {
            return no("the event names no tool");
        };
        if self.is_about_hosts() {
            return self.find_connection(facts, asker, reading);
        }
        if !self.names_tool(tool, facts, asker) && !self.names_patch(facts.patched(asker)) {
            if reading == Reading::Hits {
                match Asked::alone(self, facts, asker).by_other_means() {
                    (Truth::Yes, Some(why)) => return Finding::new(true, why),
                    (Truth::Opaque(untold), _) => return Finding::new(None, untold.why),
                    _ => {}
                }
            }
            let is_asked = reading == Reading::Hits && asker.acts && self.is_about_files();
            return match Asked::alone(self, facts, asker).if_shell() {
                Truth::Opaque(untold) if reading == Reading::Hits => Finding::new(None, untold.why),
                _ if is_asked => {
                    let why = match facts
                        .read_from_above(asker)
                        .filter(|_| self.is_about("Read"))
                    {
                        Some(path) => {
                            format!(
                                "the call reads {path} and what is below, where no such file is looked for"
                            )
                        }
                        None => {
                            "as far as it is told, the call does nothing with such a file".into()
                        }
                    };
                    Finding {
                        unseen: untold(facts, asker),
                        ..no(&why)
                    }
                }
                _ => no(&format!("another tool, `{tool}`")),
            };
        }
        let mut unseen = None;
        let holds = match Asked::alone(self, facts, asker).holds(reading) {
            Truth::Yes => true,
            Truth::No => false,
            Truth::Delegates(untold) => {
                unseen = Some(untold.why.into_owned());
                false
            }
            Truth::Opaque(untold) => return Finding::new(None, untold.why),
        };
        if matches!(self.argument, Argument::Any) {
            return Finding::new(holds, format!("any call of `{tool}`"));
        }
        if let Argument::Named(named) = &self.argument {
            let name = &named.name;
            let value = facts
                .event
                .at("/tool/input")
                .and_then(|input| input.get(name));
            let why = value.map_or_else(
                || format!("no `{name}`"),
                |value| format!("`{name}` is {}", quoted_value(value)),
            );
            return Finding::new(holds, why);
        }
        let call = facts.call(asker.layer);
        let mut subjects = call.alternatives.iter().chain(&call.patch);
        let told =
            subjects.find_map(|subject| self.decisive(subject, holds, reading, (facts, asker)));
        Finding {
            unseen,
            ..Finding::new(holds, told.unwrap_or_default())
        }
    }

    /// What a rule over hosts says of what the call connects to.
    fn find_connection(&self, facts: &Facts, asker: Asker, reading: Reading) -> Finding {
        let asked = Asked::alone(self, facts, asker);
        let (truth, why) = match reading {
            Reading::Hits => asked.by_connections(),
            Reading::Covers => (asked.holds(reading), None),
        };
        let told = || match facts.connections_told(asker) {
            told if told.is_empty() => "as far as it is told, the call connects to no host".into(),
            told => format!("the call connects to {}", told.join(", ")),
        };
        match truth {
            Truth::Yes => Finding::new(true, why.unwrap_or_else(told)),
            Truth::No => Finding::new(false, told()),
            Truth::Opaque(untold) => Finding::new(None, untold.why),
            Truth::Delegates(untold) => Finding {
                unseen: Some(untold.why.into_owned()),
                ..Finding::new(false, told())
            },
        }
    }

    /// What the rule says as an exception of a condition that is read for hits, and why: it covers
    /// the call, or one command or path of several that the condition's rules hit.
    fn explain_exception(&self, condition: &Condition, facts: &Facts, asker: Asker) -> Finding {
        if self.is_about_hosts() {
            let connections = facts.connections(asker).unwrap_or_default();
            return match connections.iter().find(|it| self.excepts(it)) {
                Some(it) => Finding::new(true, format!("connects to {}", it.peer)),
                None => self.find_connection(facts, asker, Reading::Hits),
            };
        }
        let mut whole = self.explain(facts, asker, Reading::Covers);
        if let Some(path) = self.act_taken(facts, asker) {
            return Finding::new(true, path);
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
                        let mut rules = condition
                            .rules
                            .iter()
                            .flat_map(ToolRule::commands)
                            .peekable();
                        rules.peek().is_none() || rules.any(|rule| rule.may_hit(command))
                    };
                    let mut commands = script.commands().iter().filter(is_hit).peekable();
                    if let (Some(false), Some(hit)) = (whole.holds, commands.peek()) {
                        whole = Finding::new(false, format!("`{}` doesn't fit", hit.normal()));
                    }
                    let is_excepted = |command: &&shell::Command| {
                        self.commands()
                            .iter()
                            .any(|own| shell::excepts(own, command, &place))
                    };
                    commands
                        .find(is_excepted)
                        .map(|it| format!("`{}`", it.normal()))
                }
                Subject::Items(items) => {
                    let fits =
                        |item: &&Item| self.fits(&item.value, Reading::Covers, false) == Truth::Yes;
                    items
                        .iter()
                        .find(fits)
                        .map(|item| quoted_thing(&item.value))
                }
                Subject::Unclear(_) => None,
            };
            if let Some(why) = taken {
                return Finding::new(true, why);
            }
        }
        whole
    }

    /// The file of an act that the rule takes away as an exception.
    fn act_taken(&self, facts: &Facts, asker: Asker) -> Option<String> {
        let acts = (asker.acts && self.is_about_files()).then(|| facts.file_acts(asker))??;
        acts.iter().find(|act| self.takes_away(act))?.first_path()
    }

    /// The part of a call that decides whether the rule holds.
    fn decisive(
        &self,
        subject: &Subject,
        holds: bool,
        reading: Reading,
        (facts, asker): (&Facts, Asker),
    ) -> Option<String> {
        let any_depth = asker.any_depth;
        match subject {
            Subject::Shell { script, .. } => {
                let first = self.commands().first()?;
                let fits = |it: &&shell::Command| self.commands().iter().any(|own| own.fits(it));
                // A rule that holds does so for one command, or for all that are to be covered.
                if holds {
                    // By its paths from where it runs, the program's own name fits only.
                    let found = || script.commands().iter().find(|it| is_of_program(first, it));
                    return script
                        .commands()
                        .iter()
                        .find(fits)
                        .or_else(found)
                        .map(|it| format!("`{}`", it.normal()));
                }
                if reading == Reading::Covers {
                    let asked = Asked::alone(self, facts, asker);
                    let left = asked.uncovered(script);
                    let none = || match script.commands().is_empty() {
                        true => "there is no command".to_string(),
                        false => {
                            "no command of the text is left out, but what it does beside them is"
                                .into()
                        }
                    };
                    return Some(
                        left.map_or_else(none, |(part, _)| format!("{part} isn't covered")),
                    );
                }
                Some(self.missing_word(first, script))
            }
            Subject::Items(items) => {
                let item = items.iter().find(|item| {
                    (self.fits(&item.value, reading, any_depth) == Truth::Yes) == holds
                });
                // What holds may do so for another part of the call.
                let item = if holds && reading == Reading::Hits {
                    item
                } else {
                    item.or(items.first())
                };
                let shown = quoted_thing(&item?.value);
                Some(if holds {
                    shown
                } else {
                    format!("{shown} doesn't fit")
                })
            }
            Subject::Unclear(why) => Some(why.clone()),
        }
    }

    /// The word of a command rule that no command has.
    fn missing_word(&self, rule: &CommandRule, script: &Script) -> String {
        let Some(command) = script.commands().iter().find(|it| is_of_program(rule, it)) else {
            return format!("no command runs `{}`", rule.program().unwrap_or_default());
        };
        let wanted = self
            .pattern()
            .unwrap_or_default()
            .split_whitespace()
            .skip(1);
        let is_there = |word: &str| {
            let pattern = word.strip_suffix(":*").unwrap_or(word);
            glob(pattern).is_ok_and(|glob| {
                command
                    .words
                    .iter()
                    .skip(1)
                    .any(|it| glob.is_match(&it.text))
            })
        };
        let missing = wanted
            .into_iter()
            .find(|word| *word != "*" && !is_there(word));
        match missing {
            Some(word) => format!("in `{}`, nothing fits `{word}`", command.normal()),
            None => format!("`{}` doesn't fit", command.normal()),
        }
    }
}

/// Whether a command is one of the program that a rule names, if it names one.
fn is_of_program(rule: &CommandRule, command: &shell::Command) -> bool {
    let name = command.words.first().map_or("", |word| word.text.as_str());
    rule.program()
        .is_none_or(|program| name.rsplit('/').next() == Some(program))
}

fn quoted_thing(thing: &Thing) -> String {
    match thing {
        Thing::Path(views) => match views
            .resolved
            .as_ref()
            .filter(|resolved| **resolved != views.lexical)
        {
            Some(resolved) => format!(
                "`{}`, which is `{}`",
                views.lexical.display(),
                resolved.display()
            ),
            None => format!("`{}`", views.lexical.display()),
        },
        Thing::Names(names) => format!("the pattern `{}`", short(&names.pattern.text)),
        Thing::Url(url) => format!("`{}`", short(url.as_str())),
        Thing::Text(text) => format!("`{}`", short(text)),
    }
}

fn quoted_value(value: &Value) -> String {
    let text = value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_string);
    format!("`{}`", short(&text))
}
