//! `self-defence`: what an agent may not do to the host that judges it without a person's word: change definitions,
//! what was trusted, or the settings that make the agent ask; and answer for the person.
//!
//! It judges what a call names. Code that computes a path is a matter for a sandbox.

use super::super::call::Call;
use super::super::compile::{Compile, Mistake};
use super::super::error::HandlerError;
use super::super::kind::Kind;
use super::guard_kind::{GuardKind, gates};
use crate::event::EventSpec;
use crate::matching::Truth;
use crate::matching::call::{self, Subject, Thing};
use crate::matching::paths::{PathPattern, PathViews, home, normalise};
use crate::matching::rule::{Condition, Reading, ToolRule};
use crate::matching::shell::{Command, Script};
use crate::matching::tools::{self, Found};
use crate::support::places;
use crate::verdict::{Answer, Decision};
use schemars::JsonSchema;
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// Paths that tools must not change, and commands that only a person gives.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(rename = "SelfDefence")]
pub(crate) struct RawSelfDefence {
    /// Paths beside the guard's own, as in `Write(...)`: `~/notes/**`.
    paths: Vec<String>,
    /// Rules for shell commands beside the guard's own: `Bash(systemctl stop hookwire*)`.
    commands: Vec<String>,
}

#[derive(Debug)]
pub(crate) struct SelfDefence {
    paths: Vec<Protected>,
    commands: Condition,
}

#[derive(Debug)]
struct Protected {
    pattern: PathPattern,
    /// What every path that the pattern is for has in it.
    core: String,
    /// The directory itself, if the pattern names one place: a command on what holds it is one on it.
    place: Option<PathBuf>,
}

/// Definitions, what was trusted, sockets, and the settings of agents that name the hook.
const PATHS: &[&str] = &[
    "**/.hookwire/**",
    "~/.config/hookwire/**",
    "~/.local/share/hookwire/**",
    "/etc/hookwire/**",
    "**/.claude/settings*.json",
    "**/.codex/hooks.json",
    "**/.codex/config.toml",
    "**/.gemini/settings.json",
    "**/.qwen/settings.json",
    "**/.github/hooks/**",
    "**/.copilot/**",
    "**/.cline/hooks/**",
    "**/.opencode/plugin/**",
    "~/.config/opencode/**",
];

/// What only a person says.
const COMMANDS: &[&str] = &[
    "Bash(hookwire trust*)",
    // Its language server has definitions trusted, too.
    "Bash(hookwire serve*)",
    "Bash(hookwire approve*)",
    "Bash(hookwire deny*)",
    "Bash(hookwire uninstall*)",
    "Bash(hookwire install*)",
    "Bash(hookwire import*)",
    "Bash(hookwire state set*)",
    "Bash(hookwire state increment*)",
    "Bash(hookwire state compare-and-set*)",
    "Bash(hookwire state delete*)",
];

/// What shows and asks nothing of anybody.
const HARMLESS: &[&str] = &["Bash(hookwire trust list)", "Bash(hookwire trust show*)"];

/// Programs that only read, whatever their options.
const READERS: &[&str] = &[
    "bat",
    "cat",
    "cd",
    "cmp",
    "cut",
    "diff",
    "du",
    "echo",
    "egrep",
    "false",
    "fgrep",
    "file",
    "grep",
    "head",
    "jq",
    "ls",
    "md5sum",
    "nl",
    "od",
    "printf",
    "pwd",
    "readlink",
    "realpath",
    "rg",
    "sha256sum",
    "stat",
    "tail",
    "test",
    "[",
    "tr",
    "tree",
    "true",
    "uniq",
    "wc",
    "which",
    "xxd",
];

/// The same, with this as their first word.
const READING: &[(&str, &[&str])] = &[
    ("git", &["add", "blame", "commit", "diff", "grep", "log", "ls-files", "show", "status"]),
    (
        "hookwire",
        &["approvals", "check", "dispatch", "docs", "explain", "list", "replay", "schema", "tail", "test", "trust"],
    ),
];

/// Tools that only read.
const READING_FAMILIES: &[&str] = &["Read", "Grep", "Glob", "LS", "WebFetch", "WebSearch"];

impl GuardKind for SelfDefence {
    const EVENTS: &'static [&'static str] = &["PreToolUse"];

    fn acts_at(spec: &EventSpec) -> bool {
        gates(spec)
    }
}

impl Kind for SelfDefence {
    type Raw = RawSelfDefence;

    fn compile(raw: RawSelfDefence, _: &Compile<'_>) -> Result<Self, Mistake> {
        // Where the user has moved them to.
        let sockets = places::runtime();
        let moved = places::user_dirs().iter().chain(places::data_dirs()).chain([&sockets]);
        let moved: Vec<String> = moved.map(|dir| format!("{}/**", dir.display())).collect();
        let given =
            |path: &str| protected(path).map_err(|problem| Mistake::new("paths", format!("`{path}`: {problem}")));
        let paths = PATHS.iter().copied().chain(moved.iter().map(String::as_str)).map(given);
        let paths = paths.chain(raw.paths.iter().map(|path| given(path)));
        let mut paths = paths.collect::<Result<Vec<Protected>, _>>()?;
        // Sockets come and go: a host that is gone is started again, and people clean up temporary directories.
        for it in &mut paths {
            it.place = it.place.take().filter(|place| *place != sockets);
        }
        let rule = |text: &str| {
            let rule =
                ToolRule::new(text).map_err(|problem| Mistake::new("commands", format!("`{text}`: {problem}")))?;
            match rule.commands() {
                [_, ..] => Ok(rule),
                [] => Err(Mistake::new("commands", format!("`{text}` is no rule for shell commands"))
                    .help("write `Bash(systemctl stop hookwire*)`")),
            }
        };
        let own = COMMANDS.iter().copied().chain(raw.commands.iter().map(String::as_str));
        let rules = own.map(rule).collect::<Result<_, _>>()?;
        let unless = HARMLESS.iter().map(|text| rule(text)).collect::<Result<_, _>>()?;
        Ok(SelfDefence { paths, commands: Condition { rules, unless } })
    }

    async fn run(&self, call: &Call<'_>) -> Result<Answer, HandlerError> {
        Ok(match self.harm(call) {
            Some(harm) => Answer::decide(Decision::Ask, format!("{harm}; only a person may say so")),
            None => Answer::default(),
        })
    }
}

fn protected(text: &str) -> Result<Protected, String> {
    let pattern = PathPattern::new(text)?;
    let core = text.trim_start_matches("**/").trim_start_matches('~').trim_end_matches("/**");
    let core = core.split(['*', '?', '[', '{']).next().unwrap_or_default().to_string();
    if core.trim_matches('/').is_empty() {
        return Err("it names no directory".into());
    }
    let directory = text.strip_suffix("/**").filter(|text| !text.contains(['*', '?', '[', '{']));
    let place = directory.and_then(|text| match text.strip_prefix("~/") {
        Some(rest) => home().map(|home| home.join(rest)),
        None => Some(PathBuf::from(text)).filter(|path| path.is_absolute()),
    });
    Ok(Protected { pattern, core, place })
}

impl SelfDefence {
    /// What a call would do that it must not, for people.
    fn harm(&self, call: &Call<'_>) -> Option<String> {
        let facts = &call.moment.facts;
        let (asker, layer) = (call.hook.asker(), call.hook.source.layer);
        let families = facts.families(asker);
        let only_reads = |family: &str| READING_FAMILIES.contains(&family);
        let read = facts.call(layer);
        // Agents apply the patches of a shell text themselves.
        for subject in read.alternatives.iter().chain(&read.others).chain(&read.beside).chain(&read.patch) {
            match subject {
                Subject::Items(items) => {
                    for item in items {
                        let Thing::Path(views) = &item.value else { continue };
                        let reads = item.family.is_some_and(only_reads)
                            || item.family.is_none() && families.first().is_some_and(|family| only_reads(family));
                        if !reads && self.is_protected(views) {
                            return Some(format!("this would change `{}`", views.lexical.display()));
                        }
                    }
                }
                Subject::Shell { text, script } => {
                    let named = self.named(text, script, facts.runs_in());
                    if let Some(what) = named.filter(|_| !only_shows(script)) {
                        return Some(format!("this names `{what}` in a command that may change it"));
                    }
                }
                Subject::Unclear(_) => {}
            }
        }
        if let Some(what) = self.headed(call) {
            return Some(format!("it can't be told whether this patch changes `{what}`"));
        }
        if families.is_empty()
            && let Some(path) = self.protected_text(call)
        {
            return Some(format!("this would change `{path}`"));
        }
        if !families.contains(&"Bash") {
            return None;
        }
        match self.commands.holds(facts, asker, Reading::Hits) {
            Truth::Yes => Some("this answers or decides for you".into()),
            Truth::Opaque(why) if speaks_of_it(read) => {
                Some(format!("it can't be told whether this answers for you: {why}"))
            }
            Truth::No | Truth::Delegates(_) | Truth::Opaque(_) => None,
        }
    }

    fn is_protected(&self, views: &PathViews) -> bool {
        self.paths.iter().any(|it| it.pattern.matches_any(views))
    }

    /// What a text has in it of a protected path.
    fn mentioned(&self, text: &str) -> Option<&str> {
        let mut cores = self.paths.iter().map(|it| it.core.as_str());
        cores.find(|core| text.contains(core.trim_end_matches('/')))
    }

    /// The protected path that a line of a patch names which looks like a header, and is none that is known.
    fn headed(&self, call: &Call<'_>) -> Option<&str> {
        let facts = &call.moment.facts;
        let Found::Patch(patches) = facts.row(call.hook.source.layer).find(facts.event.at("/tool/input")?) else {
            return None;
        };
        patches.into_iter().flat_map(tools::unknown_headers).find_map(|line| self.mentioned(line))
    }

    /// The first text of a call of an unknown tool that is a protected path, whatever its member is called.
    fn protected_text<'c>(&self, call: &'c Call<'_>) -> Option<&'c str> {
        const MAX: usize = 256;
        let facts = &call.moment.facts;
        let mut texts = tools::texts_like_paths(facts.event.at("/tool/input")?);
        // Links are looked up on the disk, so those that say what they are come first.
        texts.sort_by_key(|text| self.mentioned(text).is_none());
        let named = texts.partition_point(|text| self.mentioned(text).is_some());
        texts.truncate(named.max(MAX));
        let is_protected = |text: &&str| {
            let things = call::path_or_url(text, facts.base(), &[]).unwrap_or_default();
            things.iter().any(|thing| matches!(thing, Thing::Path(views) if self.is_protected(views)))
        };
        texts.into_iter().find(is_protected)
    }

    /// The first protected path that a shell text names, or what holds one.
    fn named(&self, text: &str, script: &Script, base: &Path) -> Option<String> {
        // Quotes within a name are no part of it.
        let bare: String = text.chars().filter(|c| !matches!(c, '\'' | '"' | '\\')).collect();
        if let Some(core) = self.mentioned(&bare) {
            return Some(core.to_string());
        }
        for command in script.commands() {
            let destroys = destroyed(command);
            for (at, word) in command.words.iter().enumerate() {
                // What find comes across by a name is mostly rubbish.
                let is_destroyed = destroys.contains(&at) && !word.is_found();
                let word = word.path();
                if self.mentioned(&word).is_some() || is_destroyed && self.holds_one(&word, base) {
                    return Some(word.into_owned());
                }
            }
        }
        None
    }

    /// Whether a word is a directory that holds a protected place, or a glob that such a place matches.
    fn holds_one(&self, word: &str, base: &Path) -> bool {
        let word = word.strip_suffix("/*").unwrap_or(word);
        if word.is_empty() || word.starts_with('-') {
            return false;
        }
        let path = match (word.strip_prefix('~'), home()) {
            (Some(rest), Some(home)) if rest.is_empty() || rest.starts_with('/') => home.join(rest.trim_matches('/')),
            _ => base.join(word),
        };
        let path = normalise(&path);
        let mut places = self.paths.iter().filter_map(|it| it.place.as_deref());
        if !word.contains(['*', '?', '[']) {
            return places.any(|place| place.starts_with(&path));
        }
        let own: Vec<PathBuf> = base.ancestors().map(|dir| dir.join(".hookwire")).collect();
        // The glob, or its beginning, may be the place or what holds it.
        let ways: Vec<&Path> = path.ancestors().filter(|it| it.to_string_lossy().contains(['*', '?', '['])).collect();
        let globs: Vec<PathPattern> =
            ways.iter().filter_map(|it| PathPattern::new(&it.to_string_lossy()).ok()).collect();
        let is_met = |place: &Path| {
            globs.iter().any(|it| it.is_at(place))
                || globs.first().is_some_and(|whole| place.ancestors().any(|it| whole.is_at(it)))
        };
        places.chain(own.iter().map(PathBuf::as_path)).any(is_met)
    }
}

/// Whether a text that can't be read has a word of those that only a person says. Most such texts have nothing to do
/// with hookwire.
fn speaks_of_it(call: &call::Call) -> bool {
    let words = ["hookwire", "trust", "approve", "uninstall"];
    let speaks = |text: &str| words.iter().any(|word| text.contains(word));
    call.alternatives.iter().any(|subject| match subject {
        Subject::Shell { text, .. } => speaks(&text.replace(['\'', '"', '\\'], "")),
        Subject::Items(_) | Subject::Unclear(_) => true,
    })
}

/// The words of a command that name what it takes away or moves, with all that they hold.
fn destroyed(command: &Command) -> std::ops::Range<usize> {
    let words: Vec<&str> = command.words.iter().map(|word| word.text.as_str()).collect();
    let name = words.first().map_or("", |name| name.rsplit('/').next().unwrap_or(name));
    let finds = || words.iter().any(|word| ["-delete", "rm", "mv", "chmod", "chown", "shred"].contains(word));
    match name {
        "rm" | "shred" | "chmod" | "chown" | "chgrp" | "unlink" | "rmdir" => 1..words.len(),
        "find" if finds() => 1..words.len(),
        // Where it is moved to stays.
        "mv" => 1..words.len() - 1,
        _ => 0..0,
    }
}

/// Whether nothing in a text can change a file.
fn only_shows(script: &Script) -> bool {
    script.is_readable() && script.commands().iter().all(is_reader)
}

fn is_reader(command: &Command) -> bool {
    let Some(name) = command.words.first().and_then(|word| word.as_constant()) else { return false };
    let name = name.rsplit('/').next().unwrap_or(name);
    let second = command.words.get(1).and_then(|word| word.as_constant()).unwrap_or_default();
    let reads = READING.iter().any(|(program, firsts)| *program == name && firsts.contains(&second));
    !command.writes() && (READERS.contains(&name) || reads || command.is_transparent())
}
