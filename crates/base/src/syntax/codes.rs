//! Every code of a diagnostic: what it means, an example, and the fix. The page
//! `docs/diagnostics.md` is made of this table, and a test runs each example.

/// A kind of remark.
#[derive(Debug)]
pub struct Code {
    /// As diagnostics have it.
    pub name: &'static str,
    /// Whole sentences.
    pub meaning: &'static str,
    /// What has this remark and no other.
    pub example: Example,
    /// What to do: whole sentences.
    pub fix: &'static str,
}

/// What has a remark.
#[derive(Clone, Copy, Debug)]
pub enum Example {
    /// A definition file.
    File(&'static str),
    /// A project: a shell makes it, and the last line checks it.
    Project(&'static str),
}

use Example::{File, Project};

/// The row of a code.
pub fn find(name: &str) -> Option<&'static Code> {
    CODES.iter().find(|code| code.name == name)
}

macro_rules! codes {
    ($($name:literal: $meaning:literal, $example:expr, $fix:literal;)*) => {
        /// In the order of the alphabet.
        pub static CODES: &[Code] = &[$(Code { name: $name, meaning: $meaning, example: $example, fix: $fix },)*];
    };
}

codes! {
    "bad-glob": "A pattern of names can't be read, so nobody knows whom it is for.",
        File("hooks:\n  - { name: a, on: PreToolUse, agents: 'a{', deny: Not here. }\n"),
        "Close the bracket, or write `[{]` for a bracket that is meant as it stands.";
    "bad-handler": "The handler's own definition can't work as it is written.",
        File("hooks:\n  - { name: a, on: PreToolUse, fail: closed, command: '' }\n"),
        "The message says what is wrong with it. The page of the handler, such as `hookwire docs command`, has its form.";
    "bad-mode": "A hook in the form of the hooks article has no `mode`, or one that there isn't.",
        File("dialect: hooks-article\nhooks:\n  - { event: PreToolUse, mode: comand, command: 'true' }\n"),
        "Write one of the modes that the message names.";
    "bad-model": "A model is named in a way that says no provider.",
        File("defaults: { model: 'antropic:small' }\nhooks: []\n"),
        "Write `PROVIDER:NAME`, such as `anthropic:claude-haiku-4-5`.";
    "bad-regex": "A `matcher` is a regular expression on the tool's name, and this one can't be read.",
        File("hooks:\n  - { name: a, on: PreToolUse, matcher: '[', deny: Not here. }\n"),
        "Correct the expression. For every tool, leave `matcher` out.";
    "bad-rule": "A rule of `if`, `unless` or `policy` isn't one.",
        File("hooks:\n  - { name: a, on: PreToolUse, if: 'git push', deny: Not here. }\n"),
        "Write `Tool(pattern)`, such as `Bash(git push *)`. See `hookwire docs rules`.";
    "bad-shell-text": "A text for `sh` has a placeholder or a form that `sh` can't read.",
        File("hooks:\n  - { name: a, on: PreToolUse, fail: closed, command: 'grep x ${tool.input.command}' }\n"),
        "Write the variable that the message names. In quotes it stays one word: `\"$tool_input_command\"`.";
    "bad-when": "`when` is no valid CEL expression.",
        File("hooks:\n  - { name: a, on: PreToolUse, when: 'tool.name ==', deny: Not here. }\n"),
        "Correct it at the place that is shown. See `hookwire docs definitions`.";
    "bad-where": "`where` has a pattern that can't be read, or no `if` that it belongs to.",
        File("hooks:\n  - { name: a, on: PreToolUse, where: { branch: main }, deny: Not here. }\n"),
        "Say in `if` what it is about. See `hookwire docs definitions`.";
    "broken-fleet": "Keys of a fleet are pinned, and nothing that it has published can be believed, so every tool call is denied.",
        Project("mkdir user\nprintf 'servers = [\"nats://127.0.0.1:1\"]\\n[definitions]\\nkeys = [\"ed25519:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\"]\\n' > user/fleet.conf\nchmod 600 user/fleet.conf\nhookwire --user-dir user --data-dir data check --format json"),
        "The message says why. It ends as soon as signed definitions come. See `hookwire docs fleet`.";
    "broken-trust": "What was trusted of a project can't be read, so nothing of it is in force.",
        Project("mkdir .hookwire\nprintf 'hooks: [{ name: a, on: Stop, deny: Not here. }]' > .hookwire/guard.yaml\nhookwire --data-dir data trust --yes > /dev/null\nfind data/trust -type f | while read -r it; do chmod u+w \"$it\"; printf x > \"$it\"; done\nhookwire --data-dir data check --format json"),
        "`hookwire trust` in the project makes it anew.";
    "case": "A file of cases (`guard.test.yaml`) has something that no case has.",
        Project("printf 'cases: [{ bash: ls }]' > guard.test.yaml\nhookwire check --format json guard.test.yaml"),
        "The message says what is missing or unknown. `hookwire docs testing` has the form.";
    "changed-since-trusted": "A project's definitions have changed since somebody trusted them. The older ones are in force.",
        Project("hookwire init no-force-push > /dev/null\nprintf '\\n# Edited.\\n' >> .hookwire/no-force-push.yaml\nhookwire check --format json"),
        "`hookwire trust` shows what is new, and puts it in force if you say yes.";
    "contradiction": "Two fields say the same thing in different ways.",
        File("dialect: agent-hook-trait\nhooks:\n  - { name: a, on: pre_tool_call, fail: open, fail_open: false, command: 'true' }\n"),
        "Leave one of them out.";
    "duplicate-name": "Two hooks have one name. Both run, but verdicts and logs don't say which of them spoke.",
        File("hooks:\n  - { name: a, on: PreToolUse, if: Bash(rm *), deny: Not here. }\n  - { name: a, on: PreToolUse, if: Bash(dd *), deny: Not here. }\n"),
        "Give one of them another name.";
    "empty-file": "A definition file is empty. It may be half saved, so its last good hooks stay in force.",
        Project("mkdir d\nprintf 'hooks: [{ name: a, on: Stop, deny: Not here. }]' > d/guard.yaml\nhookwire --data-dir data serve --hooks d < /dev/null\n: > d/guard.yaml\nhookwire --data-dir data check --format json --hooks d"),
        "Write definitions into it, or remove the file.";
    "empty-if": "`if` names no rule, so the hook is for every call.",
        File("hooks:\n  - { name: a, on: PreToolUse, if: [], deny: Not here. }\n"),
        "Write a rule, or leave `if` out.";
    "exact-command": "A rule with nothing behind the command holds only for that command without any argument.",
        File("hooks:\n  - { name: a, on: PreToolUse, if: Bash(terraform), deny: Not here. }\n"),
        "Write ` *` behind it, as in `Bash(terraform *)`, for the command with anything.";
    "idle-guard": "A built-in guard can do nothing at the events of the hook.",
        File("hooks:\n  - { name: a, on: Notification, fail: closed, guard: { step-limit: { max: 3 } } }\n"),
        "Leave `on` out: the guard then runs at the events that it needs.";
    "idle-observe": "`observe` changes nothing, because what the hook says never decides.",
        File("hooks:\n  - { name: a, on: PreToolUse, observe: true, guard: { audit-log: { file: /tmp/audit.jsonl } }, fail: open }\n"),
        "Leave `observe` out.";
    "idle-priority": "`priority` changes nothing, because hooks of that dialect have an order of their own.",
        File("hooks:\n  - { name: a, on: PreToolUse, dialect: claude-code, priority: 1, deny: Not here. }\n"),
        "Leave `priority` out.";
    "idle-reach": "`reach` changes nothing: no rule of the hook is about files, or the hook judges acts whatever it says.",
        File("hooks:\n  - { name: a, on: PreToolUse, if: Write(vendor/**), reach: tool, deny: Not here. }\n"),
        "Leave `reach` out, or write a rule over files, such as `Read(.env)`.";
    "idle-rewrite": "A `rewrite` changes nothing, or something that isn't there.",
        File("hooks:\n  - { name: a, on: PreToolUse, fail: closed, rewrite: { patch: {} } }\n"),
        "Write what is to change: a member of the event's subject.";
    "known-tool": "`tools` declares a name that is a known tool's already.",
        File("tools:\n  Read: [run_command]\nhooks: []\n"),
        "Leave the name out.";
    "last-good": "The last good state of the definitions can't be kept or read. If a file breaks before the next start, its hooks aren't in force.",
        Project("mkdir d\nprintf 'hooks: [{ name: a, on: Stop, deny: Not here. }]' > d/guard.yaml\nhookwire --data-dir data serve --hooks d < /dev/null\nfor it in data/last-good/*; do printf x > \"$it\"; done\nhookwire --data-dir data check --format json --hooks d"),
        "Look at the file that is named: who owns it, and whether the disk is full.";
    "literal-placeholder": "A text has what looks like a placeholder, but nothing is put in there.",
        File("hooks:\n  - { name: a, on: PreToolUse, deny: 'Not ${tool.name}.' }\n"),
        "Say it in other words, or take a handler that can: `script` or `command`.";
    "loaded-twice": "A file or directory is named twice. It counts once.",
        Project("mkdir d\nprintf 'hooks: []' > d/guard.yaml\nhookwire check --format json --isolated --hooks d --hooks d"),
        "Name it once.";
    "missing-directory": "A directory of definitions isn't there.",
        Project("hookwire check --format json --isolated --live"),
        "`hookwire init` makes one with a rule to start with.";
    "missing-event": "A hook in the form of the hooks article has no `event`.",
        File("dialect: hooks-article\nhooks:\n  - { mode: command, command: 'true' }\n"),
        "Add `event: PreToolUse`, or another one.";
    "missing-field": "A hook in the form of the hooks article lacks a field that its `mode` needs.",
        File("dialect: hooks-article\nhooks:\n  - { event: PreToolUse, mode: http }\n"),
        "Add the field that the message names.";
    "missing-handler": "A hook doesn't say what it does.",
        File("hooks:\n  - { name: a, on: PreToolUse }\n"),
        "Add a handler, such as `deny: Not here.` or `command: ./check.sh`.";
    "missing-name": "A hook has no name, so no verdict could say that it spoke.",
        File("hooks:\n  - { on: PreToolUse, deny: Not here. }\n"),
        "Add a `name`.";
    "missing-on": "A hook doesn't say which events it is for.",
        File("hooks:\n  - { name: a, deny: Not here. }\n"),
        "Add `on: PreToolUse`, a list, or `on: '*'` for every event.";
    "never-asked": "A hook is in force, but the agents that ask in this project never ask about it.",
        Project("hookwire install claude-code > /dev/null\nmkdir .hookwire\nprintf 'hooks: [{ name: a, on: WorktreeCreate, deny: Not here. }]' > .hookwire/guard.yaml\nhookwire check --format json --live"),
        "Choose an event that the agent has, or run `hookwire install` again.";
    "never-decides": "What the hook says can't count: nothing waits for it, or the event is only told.",
        File("hooks:\n  - { name: a, on: SessionEnd, deny: Not here. }\n"),
        "Choose an event that happens before what is to be blocked, such as `PreToolUse`.";
    "never-matches": "A rule, `matcher` or condition holds for nothing that can happen.",
        File("hooks:\n  - { name: a, on: PreToolUse, matcher: 'mcp__pay', deny: Not here. }\n"),
        "Write what the message proposes. `hookwire check --fix` does so where only one thing can be meant.";
    "never-observes": "`self-defense` can't only observe, because it guards the guards.",
        File("hooks:\n  - { name: a, on: PreToolUse, observe: true, fail: closed, guard: self-defense }\n"),
        "Leave `observe` out.";
    "no-cases": "A definition file has no cases, or no case reaches a hook of it, though cases are written here.",
        Project("mkdir .hookwire\nprintf 'hooks: [{ name: a, on: PreToolUse, if: Bash(rm *), deny: Not here. }]' > .hookwire/guard.yaml\nprintf 'cases: [{ bash: ls, expect: allow }]' > .hookwire/guard.test.yaml\nhookwire check --format json --isolated --live"),
        "Write a case that the hook is for: `{ bash: rm x, expect: deny }`. See `hookwire docs testing`.";
    "no-directory": "A directory that the hook needs isn't there.",
        File("hooks:\n  - { name: a, on: PreToolUse, fail: closed, command: { run: 'true', cwd: /nothing/like/it } }\n"),
        "Make the directory, or name another one.";
    "no-fail-direction": "A hook that can fail before an act doesn't say whether the act then happens.",
        File("hooks:\n  - { name: a, on: PreToolUse, command: 'true' }\n"),
        "Add `fail: closed` for a guard, or `fail: open` for an observer; or set it once under `defaults`.";
    "no-hooks": "Empty `hooks` take the place of hooks that would be inherited.",
        File("agents:\n  base: { hooks: { pre_run: [] } }\n  other: { inherits: base, hooks: null }\n"),
        "Leave `hooks` out to inherit them, or write `hooks: {}` to have none.";
    "no-key": "A key that the hook needs isn't set where hookwire runs.",
        File("hooks:\n  - { name: a, on: PreToolUse, fail: closed, http: { url: 'https://example.com/', inheritEnv: [NOTHING_LIKE_IT], headers: { a: '${env.NOTHING_LIKE_IT}' } } }\n"),
        "Set the variable where hookwire is started.";
    "no-model": "No model is named for a hook that asks one.",
        File("hooks:\n  - { name: a, on: PreToolUse, fail: closed, prompt: Is this safe? }\n"),
        "Write `model: anthropic:claude-haiku-4-5` in the hook or in the file, or start with `--model`.";
    "no-module": "A function that the hook calls isn't there.",
        File("hooks:\n  - { name: a, on: PreToolUse, fail: closed, callable: { python: 'nothing_like_it:check' } }\n"),
        "Correct the name, or install the module where hooks find it. See `hookwire docs callable`.";
    "no-program": "A program or script that the hook starts isn't there.",
        File("hooks:\n  - { name: a, on: PreToolUse, fail: closed, command: ./nope.sh }\n"),
        "Correct the path. A relative one starts where the event happens, usually in the project's root.";
    "not-definitions": "A file among the definitions holds none, so nothing of it is in force.",
        Project("mkdir .hookwire\nprintf 'hooks: [{ name: a, on: Stop, deny: Not here. }]' > .hookwire/guard.yaml\nprintf 'version: 3' > .hookwire/notes.yaml\nhookwire check --format json --isolated --live"),
        "Move it elsewhere, or write definitions below `hooks`. Their files end in .yaml, .yml, .toml or .json.";
    "not-denied": "A case is to be denied, and the hooks in force don't deny it.",
        Project("mkdir .hookwire\nprintf 'hooks: [{ name: a, on: PreToolUse, if: Bash(rm -r *), deny: Not here. }]' > .hookwire/guard.yaml\nprintf 'cases: [{ bash: rm -r x, expect: deny }, { bash: rm x, expect: deny }]' > .hookwire/guard.test.yaml\nhookwire check --format json --isolated --live"),
        "Mend the hook, or say in the case what is expected now. `hookwire test` tries it again.";
    "not-read": "A file or a part of it is passed over, so the hooks in it aren't in force.",
        File("INHERIT: base.yml\nagents:\n  a: { hooks: { pre_run: [] } }\n"),
        "Put that file among the definitions too, or write the hooks where they are read.";
    "not-trusted": "A project has definitions that nobody has trusted, so they aren't in force.",
        Project("mkdir .hookwire\nprintf 'hooks: [{ name: a, on: PreToolUse, if: Bash(rm *), deny: Not here. }]' > .hookwire/guard.yaml\nhookwire check --format json"),
        "`hookwire trust` shows them, and puts them in force if you say yes.";
    "one-name": "A tool is written with the name that one agent has for it, so the rule is for that agent alone.",
        File("hooks:\n  - { name: a, on: PreToolUse, matcher: bash, deny: Not here. }\n"),
        "Write the name of the family, such as `Bash`, which is that of every agent.";
    "open-statement": "A rule lets a statement pass by how it begins, so what follows passes, too.",
        File("hooks:\n  - { name: a, on: PreToolUse, matcher: run_sql, unless: run_sql(SELECT *), deny: Only SELECT. }\n"),
        "Read the whole statement: `hookwire init db-select-only` writes a rule that does.";
    "path-as-option": "A path that begins with `-` would be read as an option.",
        File("hooks:\n  - { name: a, on: PreToolUse, matcher: Write, fail: closed, command: 'cat \"$tool_input_path\"' }\n"),
        "Write `--` before it.";
    "plugin-server": "A rule that allows names an MCP server, and a plug-in's server of that name isn't meant by it.",
        File("hooks:\n  - { name: a, on: PreToolUse, if: mcp__pay__send, allow: Fine. }\n"),
        "Name the plug-in, too, if its server is meant: `mcp__plugin_PLUGIN_pay__send`.";
    "quoted-variable": "A name of the event is in single quotes, where its value doesn't come.",
        File("dialect: hooks-article\nhooks:\n  - { event: PreToolUse, mode: command, command: \"test -f '$tool_input_path' && exit 2\" }\n"),
        "Write double quotes, if no shell reads what comes of it.";
    "several-handlers": "A hook has two handlers, and nobody knows which one is meant.",
        File("hooks:\n  - { name: a, on: PreToolUse, fail: closed, deny: Not here., command: 'true' }\n"),
        "Make two hooks of it.";
    "short-timeout": "The hook's `timeout` ends it before what it waits for.",
        File("hooks:\n  - { name: a, on: PreToolUse, timeout: 5s, fail: closed, guard: { approval: { message: Go on?, wait: 10m } } }\n"),
        "Give it a longer `timeout`, or none.";
    "small-model": "A hook of another system names no model, so the small one of the provider whose key is set is asked.",
        Project("printf 'dialect: hooks-article\\nhooks: [{ event: PreToolUse, mode: prompt, prompt: Is this safe? }]' > guard.yaml\nANTHROPIC_API_KEY=x hookwire check --format json --isolated guard.yaml"),
        "Name the model that you have tried: `model: anthropic:claude-haiku-4-5`, or start with `--model`.";
    "syntax": "The text is no YAML, TOML or JSON. The file's last good hooks stay in force.",
        File("hooks:\n  - { name: a, on: [PreToolUse, deny: Not here. }\n"),
        "Look at the place, and at brackets and quotes that are open before it.";
    "too-deep": "Directories are nested too deep, so what is in there isn't read.",
        Project("mkdir -p .hookwire/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17/18\nhookwire check --format json --isolated --live"),
        "Put the files further up.";
    "too-many-files": "There are more definition files than are read.",
        Project("mkdir .hookwire\nseq 20002 | sed 's|.*|.hookwire/&.yaml|' | xargs touch\nhookwire check --format json --isolated --live | grep -o '\"code\":\"too-many-files\"' | sed 's/.*/{\"diagnostics\":[{&}]}/'"),
        "Write several hooks into one file.";
    "unclear-unit": "A number is read as seconds or milliseconds by different versions of the agent.",
        File("{\"dialect\": \"qwen\", \"hooks\": {\"PreToolUse\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"true\", \"timeout\": 10}]}]}}\n"),
        "Update the agent, or write a number from 1000 on, which is milliseconds in all versions.";
    "undecidable-when": "`when` can't be decided: it asks a value for what such a value doesn't have.",
        File("hooks:\n  - { name: a, on: PreToolUse, when: tool.name, deny: Not here. }\n"),
        "Compare the value itself. `hookwire docs protocol` has the members of each event.";
    "unexpanded-home": "`~` stays as it is, because no shell reads this text.",
        File("hooks:\n  - { name: a, on: PreToolUse, fail: open, guard: { audit-log: { file: '~/a.jsonl' } } }\n"),
        "Write the whole path.";
    "unguarded-when": "`when` asks for a member that the event may lack, which makes it undecidable.",
        File("hooks:\n  - { name: a, on: PreToolUse, when: tool.input.amount > 3, deny: Not here. }\n"),
        "Ask first: `has(tool.input.amount) && tool.input.amount > 3`.";
    "unknown-agent": "`inherits` names an agent that the file doesn't have, or leads in a circle.",
        File("agents:\n  base: { hooks: { pre_run: [] } }\n  other: { inherits: bas }\n"),
        "Name an agent of this file.";
    "unknown-dialect": "`dialect` names a vocabulary that there isn't.",
        File("dialect: claude\nhooks: []\n"),
        "Take one of those that the message names. See `hookwire docs dialects`.";
    "unknown-event": "`on` names an event that there isn't.",
        File("hooks:\n  - { name: a, on: PreTolUse, deny: Not here. }\n"),
        "Correct it. An event that only your agent knows is written `custom:Name`.";
    "unknown-field": "A field that nothing knows. What it was to say isn't said, so the hook may be no guard.",
        File("hooks:\n  - { name: a, on: PreToolUse, mathcer: Bash, deny: Not here. }\n"),
        "Correct its name. `hookwire docs definitions` has all fields.";
    "unknown-name": "A condition, a rule or a placeholder names what isn't there.",
        File("hooks:\n  - { name: a, on: PreToolUse, when: tol.name == 'Bash', deny: Not here. }\n"),
        "Write what the message proposes. `hookwire docs protocol` has the members of each event.";
    "unknown-tool": "A rule names a tool that no agent is known to have.",
        File("hooks:\n  - { name: a, on: PreToolUse, if: Wriet(x), deny: Not here. }\n"),
        "Correct it. A tool of your own agent is declared under `tools`.";
    "unquoted-variable": "A variable in a shell text has no quotes: a value with blanks becomes several words.",
        File("hooks:\n  - { name: a, on: PreToolUse, matcher: Write, fail: closed, command: 'cat -- $tool_input_path' }\n"),
        "Write it in quotes.";
    "unreachable": "The hook's address is private, and hooks reach the public internet only.",
        File("hooks:\n  - { name: a, on: PreToolUse, fail: closed, http: { url: 'http://10.0.0.1/' } }\n"),
        "Start hookwire with `--allow-host HOST:PORT`; `hookwire install` takes it, too.";
    "unreadable": "A file can't be read. Its last good hooks stay in force.",
        Project("mkdir .hookwire\nprintf 'a: \\377' > .hookwire/guard.yaml\nhookwire check --format json --isolated --live"),
        "Look who may read it, and whether it is text in UTF-8.";
    "unset-variable": "A command of an agent's own settings uses a variable that only that agent sets.",
        File("{\"hooks\": {\"PreToolUse\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"echo $CLAUDE_ENV_FILE\"}]}]}}\n"),
        "Set it with `env`, or carry the hooks over with `hookwire import`.";
    "web-tools-alone": "A rule names a host of tools for the web alone, and a command such as `curl` may reach that host all the same.",
        File("hooks:\n  - { name: a, on: PreToolUse, if: 'WebFetch(domain:example.com)', deny: Not there. }\n"),
        "Write `Connect(example.com)`, which is about every way to that host. See `hookwire docs rules`.";
    "wrong-event": "A hook in the form of the hooks article has an `event` where the key above it is one.",
        File("dialect: hooks-article\nhooks:\n  PreToolUse:\n    - { event: Stop, mode: command, command: 'true' }\n"),
        "Leave it out.";
    "wrong-mode": "A field belongs to another `mode` than the hook has.",
        File("dialect: hooks-article\nhooks:\n  - { event: PreToolUse, mode: command, command: 'true', url: 'https://example.com' }\n"),
        "Leave it out, or change `mode`.";
    "wrong-type": "A value is of another kind than the field takes.",
        File("hooks:\n  - { name: a, on: 3, deny: Not here. }\n"),
        "Write what the message expects.";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_code_stands_once_and_says_all() {
        assert!(CODES.is_sorted_by(|a, b| a.name < b.name));
        for Code {
            name, meaning, fix, ..
        } in CODES
        {
            assert!(meaning.ends_with('.') && fix.ends_with('.'), "{name}");
        }
    }
}
