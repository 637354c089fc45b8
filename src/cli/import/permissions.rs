//! An agent's permission rules as definitions of hookwire's own, and what is said of each.

use super::proof::{Judged, Proof, Standing, prove, tell_proofs};
use super::{ImportArgs, InstallArgs, Target, show_unwritten};
use crate::cli::output::{Output, Tone, safe};
use crate::cli::written::{Written, tell_written, write_new};
use crate::cli::{Failure, Finding};
use crate::permissions::claude_code::{self, Level};
use crate::permissions::gemini::{self, Tier};
use crate::permissions::{Permission, Permissions, codex, cursor, opencode};
use hookwire_base::support::file::read_named;
use hookwire_base::syntax::diagnostic::{LineIndex, Severity};
use hookwire_base::syntax::formats::{self, Format};
use hookwire_base::syntax::node::Node;
use hookwire_base::syntax::quoting::{Within, inline, word};
use hookwire_base::syntax::source::Layer;
use hookwire_base::verdict::Decision;
use hookwire_engine::definitions::check::check;
use hookwire_rules::matching::rule::ToolRule;
use serde_json::json;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The hooks that are written for permissions.
pub(super) struct Group {
    pub(super) name: String,
    pub(super) decision: Decision,
    reason: String,
    when: Option<String>,
    unless: Vec<String>,
    /// Each with the permission that it is of.
    rules: Vec<(usize, String)>,
}

impl ImportArgs {
    /// Carries the agent's permissions over. `None`: the agent has none, or none that can be read.
    pub(super) fn carry_permissions(
        &self,
        target: &Target<'_>,
        out: &mut Output,
    ) -> Result<Option<Finding>, Failure> {
        let Some(mut permissions) = self.read_permissions()? else {
            return Ok(None);
        };
        if permissions.rules.is_empty() && permissions.asides.is_empty() {
            return Ok(None);
        }
        keep_sayable(&mut permissions);
        let base = format!("{}-permissions", self.base_name());
        let path = target.dir.join(format!("{base}.yaml"));
        let (groups, text) = loop {
            let groups = group(&permissions, &self.agent.title, self.agent.name);
            let (text, places) = self.write_permissions(&permissions, &groups);
            // Without the rules that `check` calls wrong, it is another text.
            if !note_diagnostics(&mut permissions, &path, &text, &places) {
                break (groups, text);
            }
        };
        let proofs = match groups.is_empty() {
            true => Vec::new(),
            false => prove(&permissions, groups.len(), &text)?,
        };
        for rule in &permissions.rules {
            tell_permission(rule, out);
        }
        for aside in &permissions.asides {
            tell_aside(&aside.text, &aside.place, &aside.why, out);
        }
        let title = &self.agent.title;
        tell_proofs(&proofs, &permissions, title, self.is_by_description(), out);
        let is_looser = proofs
            .iter()
            .any(|proof| [Standing::Looser, Standing::NotTried].contains(&proof.standing()));
        let is_whole = permissions.asides.is_empty()
            && permissions
                .rules
                .iter()
                .all(|rule| !rule.said.rules.is_empty());
        let finding = if is_whole && !is_looser {
            Finding::Fine
        } else {
            Finding::Found
        };
        if groups.is_empty() {
            return Ok(Some(finding));
        }
        let cases = write_cases(&proofs, &groups, title);
        let cases_path = target.dir.join(format!("{base}.test.yaml"));
        if self.dry_run {
            if !out.json {
                show_unwritten(&path, &text, out);
                show_unwritten(&cases_path, &cases, out);
            }
            return Ok(Some(finding));
        }
        let mut differs = false;
        for (path, text) in [(&path, &text), (&cases_path, &cases)] {
            let written = write_new(path, target.root, text, 0o666)
                .map_err(|error| Failure(format!("{}: {error}", path.display())))?;
            tell_written(path, written, out);
            differs |= written == Written::Differs;
        }
        if !out.json && !differs {
            if !self.user {
                out.line("They are not in force yet: `hookwire trust` shows what there is and puts it in force.");
            }
            out.line(&format!(
                "{title} keeps its own permissions as well: a call has to pass both."
            ));
        }
        Ok(Some(if differs { Finding::Found } else { finding }))
    }

    /// Whether what is said of the agent's permissions was held against the agent.
    fn is_by_description(&self) -> bool {
        ["cursor", "qwen"].contains(&self.agent.name)
    }

    /// What the agent's files say; `None`: its permissions aren't read.
    fn read_permissions(&self) -> Result<Option<Permissions>, Failure> {
        let mut found = match self.agent.name {
            "claude-code" => return self.read_claude_code().map(Some),
            "qwen" => Permissions {
                known_by: "the documentation of Qwen Code",
                ..claude_code::none()
            },
            "cursor" => cursor::none(),
            "codex" => codex::none(),
            "gemini" => gemini::none(),
            "opencode" => opencode::none(),
            _ => return Ok(None),
        };
        let level = if self.user {
            Level::User
        } else {
            Level::Project
        };
        let tier = if self.user {
            Tier::User
        } else {
            Tier::Workspace
        };
        for path in self.permission_files()? {
            let shown = self.shown_path(&path);
            let is_machines = path.starts_with("/etc");
            if self.agent.name == "codex" {
                let text = read_named(&path)
                    .map_err(|problem| Failure(format!("{}: {problem}", path.display())))?;
                codex::take(&mut found, &text, &shown);
                continue;
            }
            let is_toml = path.extension().is_some_and(|it| it == "toml");
            with_parsed(&path, |root, lines| match self.agent.name {
                "qwen" => claude_code::take(&mut found, root, &shown, lines, level),
                "cursor" => cursor::take(&mut found, root, &shown, lines),
                "gemini" if is_toml => {
                    let tier = if is_machines { Tier::Machine } else { tier };
                    gemini::take(&mut found, root, &shown, lines, tier);
                }
                "gemini" => gemini::take_settings(&mut found, root, &shown, lines),
                _ => opencode::take(&mut found, root, &shown, lines),
            })?;
        }
        Ok(Some(found))
    }

    /// The files with the agent's permissions, those that are there. A directory is all of its
    /// files of one kind.
    fn permission_files(&self) -> Result<Vec<PathBuf>, Failure> {
        let kind = match self.agent.name {
            "codex" => "rules",
            _ => "toml",
        };
        if let Some(from) = &self.from {
            let path = from
                .canonicalize()
                .map_err(|error| Failure(format!("--from {}: {error}", from.display())))?;
            return files_of(&path, kind);
        }
        let place = InstallArgs::for_agent(self.agent, self.user, &self.root);
        let own = |path: &str| place.path_at(path);
        let named: &[&str] = match (self.agent.name, self.user) {
            ("codex", _) => &[".codex/rules"],
            ("gemini", _) => &[".gemini/settings.json", ".gemini/policies"],
            ("qwen", _) => &[".qwen/settings.json"],
            ("cursor", false) => &[".cursor/cli.json"],
            ("cursor", true) => &[".cursor/cli-config.json"],
            ("opencode", false) => &["opencode.json", "opencode.jsonc", ".opencode/opencode.json"],
            ("opencode", true) => &[
                ".config/opencode/opencode.json",
                ".config/opencode/opencode.jsonc",
            ],
            _ => &[],
        };
        let mut found = Vec::new();
        for path in named {
            found.extend(files_of(&own(path)?, kind)?);
        }
        let machines = match self.agent.name {
            "codex" => "/etc/codex/rules",
            "gemini" => "/etc/gemini-cli/policies",
            _ => "",
        };
        if self.user && !machines.is_empty() {
            found.extend(files_of(Path::new(machines), kind)?);
        }
        Ok(found)
    }

    fn read_claude_code(&self) -> Result<Permissions, Failure> {
        let mut permissions = claude_code::none();
        let mut files: Vec<(PathBuf, Level)> = Vec::new();
        let level = if self.user {
            Level::User
        } else {
            Level::Project
        };
        let own = self.settings()?;
        files.extend(
            own.into_iter()
                .filter(|settings| settings.plugin.is_none())
                .map(|settings| (settings.path, level)),
        );
        let is_machines = |path: &Path| path.starts_with("/etc");
        if self.user && self.from.is_none() {
            let machines = machine_files("/etc/claude-code")?;
            files.extend(machines.into_iter().map(|path| (path, Level::User)));
        }
        let mut is_machine_alone = false;
        for (path, level) in &files {
            let shown = self.shown_path(path);
            with_parsed(path, |root, lines| {
                is_machine_alone |= is_machines(path)
                    && root
                        .get("allowManagedPermissionRulesOnly")
                        .is_some_and(|it| it.to_json() == true);
                claude_code::take(&mut permissions, root, &shown, lines, *level);
            })?;
        }
        if is_machine_alone {
            for rule in &mut permissions.rules {
                if !rule.place.starts_with("/etc") {
                    let note = "Claude Code passes over it on this machine (allowManagedPermissionRulesOnly). Here it holds";
                    rule.notes.push(note.into());
                    rule.reads = Box::new(|_| false);
                }
            }
        }
        Ok(permissions)
    }

    /// The file of definitions, and for each line with a rule the permission that it is of.
    fn write_permissions(
        &self,
        permissions: &Permissions,
        groups: &[Group],
    ) -> (String, Vec<(usize, usize)>) {
        let agent = self.agent.name;
        let title = &self.agent.title;
        let mut text = format!(
            "# Permissions of {title}, carried over by `hookwire import {agent}`. Each rule has above it what it was there.\n"
        );
        for rule in permissions
            .rules
            .iter()
            .filter(|rule| rule.said.rules.is_empty())
        {
            let (what, place) = (safe(&rule.text), safe(&rule.place));
            let decision = rule.decision.as_str();
            let why = rule
                .notes
                .first()
                .map(|note| safe(note))
                .unwrap_or_default();
            text.push_str(&format!(
                "# Not carried over: {decision} {what} ({place}): {why}\n"
            ));
        }
        for aside in &permissions.asides {
            let (what, place, why) = (safe(&aside.text), safe(&aside.place), safe(&aside.why));
            text.push_str(&format!("# Not carried over: {what} ({place}): {why}\n"));
        }
        text.push_str("hooks:\n");
        let mut places = Vec::new();
        let yaml = |text: &str| word(text, Format::Yaml, Within::Line);
        for group in groups {
            text.push_str(&format!(
                "  - name: {}\n    on: PreToolUse\n    if:\n",
                group.name
            ));
            let mut before = None;
            for (of, rule) in &group.rules {
                let permission = &permissions.rules[*of];
                if before != Some(*of) {
                    let (what, place) = (safe(&permission.text), safe(&permission.place));
                    text.push_str(&format!("      # {place}  {what}\n"));
                    for note in &permission.notes {
                        text.push_str(&format!("      # {}\n", safe(note)));
                    }
                }
                before = Some(*of);
                places.push((text.lines().count() + 1, *of));
                text.push_str(&format!("      - {}\n", yaml(rule)));
            }
            if !group.unless.is_empty() {
                text.push_str("    unless:\n");
                for rule in &group.unless {
                    text.push_str(&format!("      - {}\n", yaml(rule)));
                }
            }
            if let Some(when) = &group.when {
                text.push_str(&format!("    when: {}\n", yaml(when)));
            }
            let (decision, reason) = (group.decision.as_str(), yaml(&group.reason));
            text.push_str(&format!("    {decision}: {reason}\n"));
        }
        (text, places)
    }
}

/// A file that is there, or the files of a kind in a directory, by their names.
fn files_of(path: &Path, kind: &str) -> Result<Vec<PathBuf>, Failure> {
    let failed = |error: std::io::Error| Failure(format!("{}: {error}", path.display()));
    let entries = match std::fs::read_dir(path) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) if error.kind() == ErrorKind::NotADirectory => {
            return Ok(vec![path.to_path_buf()]);
        }
        Err(error) => return Err(failed(error)),
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.map_err(failed)?.path();
        files.extend(
            path.extension()
                .is_some_and(|it| it == kind)
                .then_some(path),
        );
    }
    files.sort();
    Ok(files)
}

/// The files of settings of the machine's.
fn machine_files(dir: &str) -> Result<Vec<PathBuf>, Failure> {
    let dir = Path::new(dir);
    let mut files = files_of(&dir.join("managed-settings.json"), "json")?;
    files.extend(files_of(&dir.join("managed-settings.d"), "json")?);
    Ok(files)
}

/// Reads a file in the format that its name tells, JSON without one.
pub(super) fn with_parsed<T>(
    path: &Path,
    take: impl FnOnce(&Node, &LineIndex<'_>) -> T,
) -> Result<T, Failure> {
    let file = path.display().to_string();
    let text = read_named(path).map_err(|problem| Failure(format!("{file}: {problem}")))?;
    let lines = LineIndex::new(&text);
    let format = Format::from_path(path).unwrap_or(Format::Json);
    let root = formats::parse(&text, format).map_err(|problems| {
        let first = problems
            .first()
            .map(|problem| problem.to_diagnostic(&file, &lines).one_line());
        Failure(first.unwrap_or_else(|| format!("{file}: it can't be read")))
    })?;
    Ok(take(&root, &lines))
}

/// Takes out what hookwire has no such rule for, and says so.
fn keep_sayable(permissions: &mut Permissions) {
    for rule in &mut permissions.rules {
        let wrong = rule
            .said
            .rules
            .iter()
            .find_map(|text| ToolRule::new(text).err());
        if let Some(wrong) = wrong {
            rule.said.rules.clear();
            rule.notes.insert(0, wrong);
        }
    }
}

/// The hooks for permissions: one for each decision, and for what else is the same.
fn group(permissions: &Permissions, title: &str, agent: &str) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for decision in [Decision::Deny, Decision::Ask, Decision::Allow] {
        let of_decision = permissions.rules.iter().enumerate();
        for (n, rule) in of_decision.filter(|(_, rule)| rule.decision == decision) {
            if rule.said.rules.is_empty() {
                continue;
            }
            let unless = exceptions(permissions, rule);
            let said = match decision {
                Decision::Deny => "deny this",
                Decision::Ask | Decision::Defer => "ask about this",
                Decision::Allow => "allow this",
            };
            let reason = rule.reason.clone();
            let reason = reason.unwrap_or_else(|| format!("The permissions of {title} {said}."));
            let rules = rule.said.rules.iter().map(|text| (n, text.clone()));
            let is_same = |group: &&mut Group| {
                group.decision == decision
                    && group.reason == reason
                    && group.unless == unless
                    && group.when == rule.said.when
            };
            if let Some(group) = groups.iter_mut().find(is_same) {
                group.rules.extend(rules);
                continue;
            }
            let n_before = groups.iter().filter(|it| it.decision == decision).count();
            let number = match n_before {
                0 => String::new(),
                n => format!("-{}", n + 1),
            };
            groups.push(Group {
                name: format!("{agent}-{}{number}", decision.as_str()),
                decision,
                reason,
                when: rule.said.when.clone(),
                unless,
                rules: rules.collect(),
            });
        }
    }
    groups
}

/// The rules that take away from a permission what weaker ones decide before it does.
fn exceptions(permissions: &Permissions, of: &Permission) -> Vec<String> {
    let tools = |rule: &str| -> Vec<String> {
        let names = rule.split('(').next().unwrap_or_default();
        names.split('|').map(String::from).collect()
    };
    let own: Vec<String> = of.said.rules.iter().flat_map(|rule| tools(rule)).collect();
    let is_any = |name: &String| name.contains('*');
    let meets = |rule: &String| {
        let others = tools(rule);
        own.iter().any(is_any) || others.iter().any(|name| is_any(name) || own.contains(name))
    };
    let weaker = permissions.exceptions(of).into_iter();
    // A condition over the event can't be an exception: without it more is stopped, not less.
    let weaker = weaker.filter(|rule| rule.said.when.is_none());
    let mut found: Vec<String> = Vec::new();
    for rule in weaker
        .flat_map(|rule| &rule.said.rules)
        .filter(|rule| meets(rule))
    {
        if !found.contains(rule) {
            found.push(rule.clone());
        }
    }
    found
}

/// What `check` says of the rules that would be written, at the permissions that they are of.
/// Whether one of them is wrong and is taken out.
fn note_diagnostics(
    permissions: &mut Permissions,
    path: &Path,
    text: &str,
    places: &[(usize, usize)],
) -> bool {
    let checked = check(&path.display().to_string(), text, Layer::Project, None);
    let told = checked.diagnostics.iter().filter_map(|it| {
        let line = it.range.start.line;
        let (_, of) = places.iter().find(|(at, _)| *at == line)?;
        Some((*of, it))
    });
    let told: Vec<_> = told.collect();
    let is_wrong = |severity: Severity| severity == Severity::Error;
    let mut taken_out = false;
    for (of, diagnostic) in told.iter().filter(|(_, it)| is_wrong(it.severity)) {
        let Some(rule) = permissions.rules.get_mut(*of) else {
            continue;
        };
        taken_out |= !rule.said.rules.is_empty();
        rule.said.rules.clear();
        rule.notes.insert(0, diagnostic.message.clone());
    }
    if taken_out {
        return true;
    }
    for (of, diagnostic) in told {
        if let Some(rule) = permissions.rules.get_mut(of)
            && diagnostic.severity != Severity::Hint
            // The agent reads an exact command so, too.
            && diagnostic.code != "exact-command"
        {
            rule.notes.push(diagnostic.message.clone());
        }
    }
    false
}

fn tell_permission(rule: &Permission, out: &mut Output) {
    let is_carried = !rule.said.rules.is_empty();
    let decision = rule.decision.as_str();
    if out.json {
        let when = &rule.said.when;
        return out.json(&json!({
            "permission": rule.text, "decision": decision, "place": rule.place, "carried": is_carried,
            "rules": rule.said.rules, "when": when, "notes": rule.notes,
        }));
    }
    let word = match is_carried {
        true => out.tone(Tone::Good, "carried over"),
        false => out.tone(Tone::Bad, "not carried "),
    };
    let place = out.tone(Tone::Dim, &safe(&rule.place));
    out.line(&format!(
        "{word}  {decision:<5}  {}  {place}",
        safe(&rule.text)
    ));
    // The person knows the rule if it stays as it was.
    if is_carried && rule.said.rules != [rule.text.clone()] {
        let rules: Vec<String> = rule.said.rules.iter().map(|it| safe(it)).collect();
        out.line(&format!("    is {} here", rules.join(", ")));
    }
    if let Some(when) = &rule.said.when {
        out.line(&format!("    when {}", safe(when)));
    }
    for note in &rule.notes {
        out.line(&format!("    {}", safe(note)));
    }
}

fn tell_aside(text: &str, place: &str, why: &str, out: &mut Output) {
    if out.json {
        return out.json(&json!({
            "permission": text, "place": place, "carried": false, "rules": [], "notes": [why],
        }));
    }
    let word = out.tone(Tone::Bad, "not carried ");
    let place = out.tone(Tone::Dim, &safe(place));
    out.line(&format!("{word}         {}  {place}", safe(text)));
    out.line(&format!("    {}", safe(why)));
}

/// The most cases that are written.
const MAX_CASES: usize = 500;

/// The cases beside the definitions: what was judged, with what hookwire said.
fn write_cases(proofs: &[Proof<'_>], groups: &[Group], title: &str) -> String {
    let granting = groups
        .iter()
        .find(|group| group.decision == Decision::Allow);
    let mut text = format!(
        "# What `hookwire import` has judged to prove the rules beside it. Where {title} decides otherwise, the case says so.\ncases:\n"
    );
    let mut known = Vec::new();
    for proof in proofs {
        let call = proof.example.call.as_case();
        let Judged::Decided(here) = &proof.here else {
            continue;
        };
        if known.contains(&call) || known.len() >= MAX_CASES {
            continue;
        }
        let (member, value) = &call;
        let value = inline(value, Format::Yaml, Within::Map).unwrap_or_default();
        let expected = match (here.decision, here.is_in_doubt) {
            (_, true) => "doubt",
            (Some(Decision::Deny), _) => "deny",
            (Some(Decision::Ask | Decision::Defer), _) => "ask",
            (Some(Decision::Allow) | None, _) => "allow",
        };
        let outcome = match (here.decision, granting) {
            (Some(Decision::Allow), Some(group)) => {
                format!(", outcomes: {{ {}: allow }}", group.name)
            }
            (None, Some(group)) if !here.is_in_doubt && !here.selected.contains(&group.name) => {
                format!(", outcomes: {{ {}: absent }}", group.name)
            }
            _ => String::new(),
        };
        if proof.standing() != Standing::Same {
            text.push_str(&format!("  # {title}: {}\n", proof.agent_says()));
        }
        text.push_str(&format!(
            "  - {{ {member}: {value}, expect: {expected}{outcome} }}\n"
        ));
        known.push(call);
    }
    if known.is_empty() {
        text.push_str("  []\n");
    }
    text
}
