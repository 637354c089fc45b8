//! Definitions that a person may want, from what was judged: a question that always gets the same
//! answer needn't be asked again, and what many sessions try and nobody looks at may be worth a
//! guard. Nothing of it is in force by itself.

use hookwire_engine::definitions::cases;
use hookwire_engine::definitions::cookbook::{self, RULES, Rule};
use hookwire_engine::running::told;
use hookwire_handlers::services::approval::DENIED;
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// So many times yes, and never no, is a habit.
const HABIT: usize = 5;
/// So many sessions are no accident.
const SESSIONS: usize = 3;
/// Commands that are counted, calls whose end is waited for, and examples of each command.
const MAX_COUNTED: usize = 10_000;
const MAX_OPEN: usize = 1_000;
const MAX_EXAMPLES: usize = 3;
/// The longest command that is an example, in bytes.
const MAX_COMMAND: usize = 200;

/// Programs of which the first words say nothing of what they do.
const OPAQUE: &[&str] = &[
    "sh", "bash", "zsh", "dash", "fish", "env", "sudo", "doas", "xargs", "timeout", "nohup",
    "nice", "time", "python", "python3", "node", "deno", "bun", "ruby", "perl", "php", "eval",
    "exec", "command", "ssh", "find", "awk",
];
/// Words for what isn't taken back.
const FINAL: &[&str] = &[
    "destroy",
    "delete",
    "drop",
    "purge",
    "publish",
    "wipe",
    "prune",
    "--force",
    "--hard",
    "--no-verify",
    "-rf",
    "-fr",
];

/// A definition that a person may want.
#[derive(Debug, PartialEq, Serialize)]
pub struct Proposal {
    /// The name of its hook, or of the hook that it changes.
    pub name: String,
    /// Why; for people.
    pub reason: String,
    /// The hook that it is a line of; absent: it is a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hook: Option<String>,
    /// The rule of the cookbook that it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<&'static str>,
    /// The text.
    pub definition: String,
    /// The cases that belong to it, a file.
    pub cases: String,
    /// Commands that it is about.
    pub examples: Vec<String>,
    /// How many events speak for it.
    pub events: usize,
}

/// See the module. Events are taken in the order in which they were judged.
#[derive(Default)]
pub struct Suggestions {
    /// By the hook that asks, and the first words of the command.
    asked: BTreeMap<(String, String), Asked>,
    /// By the first words of the command.
    tried: BTreeMap<String, Tried>,
    /// Calls that an agent asks its person about, by session and call.
    open: HashMap<(String, String), (String, String)>,
}

#[derive(Default)]
struct Asked {
    n_yes: usize,
    n_no: usize,
    examples: BTreeSet<String>,
    /// Some commands aren't among the examples.
    has_others: bool,
}

#[derive(Default)]
struct Tried {
    n: usize,
    /// Whether a rule or a person has looked at it.
    is_looked_at: bool,
    sessions: BTreeSet<String>,
    examples: BTreeSet<String>,
}

/// The entry of a key, unless there are too many.
fn bounded_entry<K: Ord, V: Default>(map: &mut BTreeMap<K, V>, key: K) -> Option<&mut V> {
    (map.len() < MAX_COUNTED || map.contains_key(&key)).then(|| map.entry(key).or_default())
}

fn add_example(examples: &mut BTreeSet<String>, command: &str) {
    if examples.len() < MAX_EXAMPLES && command.len() <= MAX_COMMAND {
        examples.insert(command.to_string());
    }
}

impl Suggestions {
    /// Takes the record of an event.
    pub fn take_record(&mut self, record: &Value) {
        let Some(event) = told::event(record) else {
            return;
        };
        let call = (
            event.session().to_string(),
            event.text("/tool/callId").unwrap_or_default().to_string(),
        );
        if record["event"] == "PostToolUse" {
            // The agent's person has said yes.
            if let Some(key) = self.open.remove(&call)
                && let Some(asked) = self.asked.get_mut(&key)
            {
                asked.n_yes += 1;
            }
            return;
        }
        let command = event
            .text("/tool/input/command")
            .filter(|_| record["event"] == "PreToolUse");
        let Some((command, words)) =
            command.and_then(|command| Some((command, first_words(command)?)))
        else {
            return;
        };
        let verdict = &record["verdict"];
        let by = verdict["outcomes"]
            .as_array()
            .into_iter()
            .flatten()
            .find(|it| it["decision"] == "ask");
        let by = by.and_then(|it| it["hook"].as_str());
        let is_plain = verdict["decision"] == "allow" && by.is_none();
        if let Some(tried) = bounded_entry(&mut self.tried, words.clone()) {
            tried.n += 1;
            tried.is_looked_at |= !is_plain;
            if tried.sessions.len() < SESSIONS && !event.session().is_empty() {
                tried.sessions.insert(event.session().to_string());
            }
            add_example(&mut tried.examples, command);
        }
        let Some(hook) = by else { return };
        let key = (hook.to_string(), words);
        let Some(asked) = bounded_entry(&mut self.asked, key.clone()) else {
            return;
        };
        add_example(&mut asked.examples, command);
        asked.has_others |= !asked.examples.contains(command);
        let reason = verdict["reason"].as_str().unwrap_or_default();
        match verdict["decision"].as_str() {
            Some("allow") => asked.n_yes += 1,
            Some("deny") if reason.contains(DENIED) => asked.n_no += 1,
            Some("ask") if !call.1.is_empty() && self.open.len() < MAX_OPEN => {
                drop(self.open.insert(call, key))
            }
            _ => {}
        }
    }

    /// What comes of it: what most events speak for first.
    pub fn proposals(self) -> Vec<Proposal> {
        let habits = self
            .asked
            .into_iter()
            .filter(|(_, it)| it.n_yes >= HABIT && it.n_no == 0);
        let mut proposals: Vec<Proposal> = habits
            .filter_map(|((hook, words), asked)| propose_exception(hook, &words, asked))
            .collect();
        let risks = self.tried.into_iter().filter(|(words, tried)| {
            !tried.is_looked_at && tried.sessions.len() >= SESSIONS && is_final(words)
        });
        for (words, tried) in risks {
            let guard = match fitting_rule(&words, &tried) {
                Some(rule) => propose_rule(rule, &words, tried),
                None => propose_guard(&words, tried),
            };
            // Several words may lead to one rule.
            if !proposals
                .iter()
                .any(|it| it.rule.is_some() && it.rule == guard.rule)
            {
                proposals.push(guard);
            }
        }
        proposals.sort_by_key(|proposal| std::cmp::Reverse(proposal.events));
        proposals
    }
}

/// Whether words are about what isn't taken back. A dry run does nothing.
fn is_final(words: &str) -> bool {
    let mut each = words.split(' ');
    each.clone().any(|word| FINAL.contains(&word)) && !each.any(|word| word == "--dry-run")
}

/// A question that needn't be asked: a line for the hook that asks, because an `allow` overrules no
/// other hook's `ask`.
///
/// Of what isn't taken back, only the very commands are let pass that were approved: `rm -rf build`
/// says nothing of `rm -rf src`. If those are too many to be named, nothing is proposed.
fn propose_exception(hook: String, words: &str, asked: Asked) -> Option<Proposal> {
    let examples: Vec<String> = asked.examples.into_iter().collect();
    let (what, rules) = match is_final(words) {
        true if asked.has_others => return None,
        true => (
            format!("`{}`", examples.join("`, `")),
            examples.iter().map(|it| format!("Bash({it})")).collect(),
        ),
        false => (format!("`{words}*`"), vec![format!("Bash({words}*)")]),
    };
    let definition = match &rules[..] {
        [rule] => format!("unless: {}\n", quote_yaml(rule)),
        rules => {
            let lines = rules.iter().map(|it| format!("  - {}\n", quote_yaml(it)));
            format!("unless:\n{}", lines.collect::<String>())
        }
    };
    Some(Proposal {
        reason: format!(
            "you said yes {} times to {what}, and never no: ask no more?",
            asked.n_yes
        ),
        definition,
        cases: write_cases(&examples, "allow"),
        name: hook.clone(),
        hook: Some(hook),
        rule: None,
        examples,
        events: asked.n_yes,
    })
}

/// The rule of the cookbook that is about what was tried: each command is its act, and it stops the
/// same program with the same word.
fn fitting_rule(words: &str, tried: &Tried) -> Option<&'static Rule> {
    let program = words.split(' ').next()?;
    let is_about = |rule: &&Rule| {
        let act = cases::read(rule.name, rule.cases())
            .ok()
            .and_then(|cases| cases.act);
        // One that is there to stop everything says nothing of this.
        act.is_some_and(|act| !act.is_match("") && tried.examples.iter().all(|it| act.is_match(it)))
    };
    let finals: Vec<&str> = words
        .split(' ')
        .filter(|word| FINAL.contains(word))
        .collect();
    let stops = |rule: &&Rule| {
        let mut finals = finals.iter();
        finals.any(|word| rule.stops_a_case_with(&[program, word]))
    };
    RULES
        .iter()
        .find(|rule| rule.names(program) && stops(rule) && is_about(rule))
}

fn propose_rule(rule: &'static Rule, words: &str, tried: Tried) -> Proposal {
    let [(_, definition), (_, cases)] = rule.files();
    Proposal {
        reason: format!(
            "{SESSIONS} sessions or more tried `{words}`, {} times, and no rule looked at it: the cookbook has `{}`: {}",
            tried.n,
            rule.name,
            rule.about()
        ),
        definition: definition.to_string(),
        cases: cases.to_string(),
        name: rule.name.to_string(),
        hook: None,
        rule: Some(rule.name),
        examples: tried.examples.into_iter().collect(),
        events: tried.n,
    }
}

fn propose_guard(words: &str, tried: Tried) -> Proposal {
    let examples: Vec<String> = tried.examples.into_iter().collect();
    let name: String = words
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() {
                c.to_ascii_lowercase()
            } else {
                '-'
            }
        })
        .collect();
    let name = name
        .split('-')
        .filter(|it| !it.is_empty())
        .collect::<Vec<_>>()
        .join("-");
    let name = format!("no-{name}");
    // A file of this name would be taken for the cookbook's.
    let name = match cookbook::find(&name) {
        Ok(_) => format!("{name}-here"),
        Err(_) => name,
    };
    let (rule, why) = (
        quote_yaml(&format!("Bash({words}*)")),
        quote_yaml(&format!(
            "`{words}` isn't taken back; ask a person to do it."
        )),
    );
    Proposal {
        reason: format!(
            "{SESSIONS} sessions or more tried `{words}`, {} times, and no rule looked at it: deny it?",
            tried.n
        ),
        definition: format!(
            "hooks:\n  - name: {name}\n    on: PreToolUse\n    if: {rule}\n    deny: {why}\n"
        ),
        cases: write_cases(&examples, "deny"),
        name,
        hook: None,
        rule: None,
        examples,
        events: tried.n,
    }
}

fn write_cases(examples: &[String], expected: &str) -> String {
    let cases: String = examples
        .iter()
        .map(|text| format!("  - {{ bash: {}, expect: {expected} }}\n", quote_yaml(text)))
        .collect();
    format!("cases:\n{cases}")
}

/// A text as YAML has it: JSON is YAML.
fn quote_yaml(text: &str) -> String {
    json!(text).to_string()
}

/// What a command does, by its first words: the program, what it is to do, and the options behind
/// that. `None` where these say little.
fn first_words(command: &str) -> Option<String> {
    const MOST: usize = 2;
    if !command
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || " -_./:=,@+%".contains(c))
    {
        return None;
    }
    let is_name = |text: &str| {
        text.chars()
            .all(|c| c.is_ascii_alphanumeric() || "-_".contains(c))
            && !text.is_empty()
    };
    let words: Vec<&str> = command.split_whitespace().collect();
    let (program, rest) = words
        .split_first()
        .filter(|(it, _)| is_name(it) && !OPAQUE.contains(*it))?;
    let verbs: Vec<&str> = rest
        .iter()
        .take(MOST)
        .take_while(|text| is_name(text) && text.starts_with(|c: char| c.is_ascii_lowercase()))
        .copied()
        .collect();
    let options: Vec<&str> = rest
        .iter()
        .skip(verbs.len())
        .take(MOST)
        .take_while(|text| is_name(text) && text.starts_with('-') && text.len() > 1)
        .copied()
        .collect();
    if verbs.is_empty() && options.is_empty() {
        return None;
    }
    Some([&[*program], &verbs[..], &options[..]].concat().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hookwire_base::syntax::source::Layer;
    use hookwire_engine::definitions::check::check;

    fn record(event: &str, session: &str, command: &str, verdict: Value) -> Value {
        json!({
            "event": event, "tool": "Bash", "dialect": "native", "verdict": verdict,
            "params": { "event": event, "session": session,
                "tool": { "name": "Bash", "callId": command, "input": { "command": command } } },
        })
    }

    fn proposals(records: &[Value]) -> Vec<Proposal> {
        let mut suggestions = Suggestions::default();
        records
            .iter()
            .for_each(|record| suggestions.take_record(record));
        suggestions.proposals()
    }

    #[test]
    fn the_first_words_say_what_is_done() {
        for (command, words) in [
            (
                "pnpm publish --dry-run ./packages/a",
                Some("pnpm publish --dry-run"),
            ),
            (
                "terraform destroy -auto-approve",
                Some("terraform destroy -auto-approve"),
            ),
            ("git push origin main", Some("git push origin")),
            ("rm -rf target/x", Some("rm -rf")),
            ("git commit --message=x", Some("git commit")),
            ("ls", None),
            ("bash -c x", None),
            ("/tmp/git push", None),
            ("git push; rm -rf /", None),
            ("git push $(x)", None),
            ("A=b git push", None),
        ] {
            assert_eq!(first_words(command).as_deref(), words, "{command}");
        }
    }

    #[test]
    fn a_habit_becomes_an_exception() {
        let asks = json!([{ "hook": "careful", "decision": "ask" }]);
        let yes =
            json!({ "decision": "allow", "reason": "approved by a person", "outcomes": asks });
        let no =
            json!({ "decision": "deny", "reason": "Sure? (denied by a person)", "outcomes": asks });
        let open = json!({ "decision": "ask", "outcomes": asks });
        let call = |n: usize| format!("pnpm publish --dry-run ./a{n}");
        let mut records: Vec<Value> = (0..HABIT - 1)
            .map(|n| record("PreToolUse", "s", &call(n), yes.clone()))
            .collect();
        assert_eq!(proposals(&records), []);
        // The agent's own person has said yes where the call was carried out.
        records.push(record("PreToolUse", "s", &call(9), open));
        assert_eq!(proposals(&records), []);
        records.push(record(
            "PostToolUse",
            "s",
            &call(9),
            json!({ "decision": "allow" }),
        ));
        let found = proposals(&records);
        assert_eq!(
            (found.len(), found[0].hook.as_deref(), found[0].events),
            (1, Some("careful"), HABIT)
        );
        assert_eq!(
            found[0].definition,
            "unless: \"Bash(pnpm publish --dry-run*)\"\n"
        );
        let file = format!(
            "hooks:\n  - name: careful\n    on: PreToolUse\n    if: Bash(pnpm publish*)\n    ask: Sure?\n    {}",
            found[0].definition
        );
        assert!(
            check("a.yaml", &file, Layer::Hooks, None)
                .diagnostics
                .is_empty()
        );
        records.push(record("PreToolUse", "s", &call(1), no));
        assert_eq!(proposals(&records), []);
    }

    #[test]
    fn what_many_sessions_try_becomes_a_guard() {
        let allow = json!({ "decision": "allow", "outcomes": [] });
        let tries = |command: &str, verdict: &Value| -> Vec<Value> {
            (0..SESSIONS)
                .map(|n| record("PreToolUse", &n.to_string(), command, verdict.clone()))
                .collect()
        };
        let found = proposals(&tries("nomad job purge web", &allow));
        assert_eq!(
            (found.len(), found[0].name.as_str(), found[0].rule),
            (1, "no-nomad-job-purge", None)
        );
        assert_eq!(
            check("a.yaml", &found[0].definition, Layer::Hooks, None)
                .diagnostics
                .len(),
            0,
            "{}",
            found[0].definition
        );
        assert_eq!(
            check("a.test.yaml", &found[0].cases, Layer::Hooks, None)
                .diagnostics
                .len(),
            0,
            "{}",
            found[0].cases
        );
        assert_eq!(proposals(&tries("terraform plan", &allow)), []);
        assert_eq!(
            proposals(&tries("terraform destroy", &json!({ "decision": "deny" }))),
            []
        );
        assert_eq!(
            proposals(&tries("terraform destroy", &allow)[..SESSIONS - 1]),
            []
        );
    }

    /// Each row: what three sessions tried, and the rule of the cookbook that is proposed.
    #[test]
    fn where_the_cookbook_has_a_rule_it_is_proposed() {
        let allow = json!({ "decision": "allow", "outcomes": [] });
        for (commands, expected) in [
            (
                &["rm -rf node_modules", "rm -rf dist build", "rm -rf .venv"][..],
                Some("no-rm-rf"),
            ),
            (&["git push --force"], Some("no-force-push")),
            (&["git reset --hard"], Some("no-lost-work")),
            (&["git commit --no-verify"], Some("no-hook-bypass")),
            (&["terraform destroy prod"], Some("ask-before-destroy")),
            (&["docker system prune"], Some("no-docker-prune")),
            (&["npm publish"], Some("ask-before-deploy")),
            (&["nomad job purge web"], None),
        ] {
            let tries = (0..SESSIONS).flat_map(|n| {
                let session = n.to_string();
                let records = commands
                    .iter()
                    .map(|it| record("PreToolUse", &session, it, allow.clone()));
                records.collect::<Vec<_>>()
            });
            let found = proposals(&tries.collect::<Vec<_>>());
            assert_eq!(found.len(), 1, "{commands:?}: {found:?}");
            assert_eq!(found[0].rule, expected, "{commands:?}");
            // What is proposed as a file is the cookbook's, to the byte, or has another name.
            match cookbook::find(&found[0].name) {
                Ok(rule) => assert!(rule.is_own_text(&found[0].definition)),
                Err(_) => assert_eq!(expected, None),
            }
            assert!(!found[0].definition.contains("\"Bash(rm -rf*)\""));
        }
    }

    /// A yes to `rm -rf build` is none to `rm -rf src`.
    #[test]
    fn what_isnt_taken_back_is_let_pass_word_for_word() {
        let asks = json!([{ "hook": "careful", "decision": "ask" }]);
        let yes =
            json!({ "decision": "allow", "reason": "approved by a person", "outcomes": asks });
        let of = |names: &[&str]| -> Vec<Value> {
            (0..HABIT)
                .map(|n| format!("rm -rf {}", names[n % names.len()]))
                .map(|command| record("PreToolUse", "s", &command, yes.clone()))
                .collect()
        };
        let found = proposals(&of(&["build", "dist"]));
        assert_eq!(
            found[0].definition,
            "unless:\n  - \"Bash(rm -rf build)\"\n  - \"Bash(rm -rf dist)\"\n"
        );
        assert_eq!(
            proposals(&of(&["build"]))[0].definition,
            "unless: \"Bash(rm -rf build)\"\n"
        );
        assert_eq!(proposals(&of(&["a", "b", "c", "d", "e"])), []);
    }
}
