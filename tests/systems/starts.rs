//! Programs that start: the rules over commands and files say of them what they say of a shell's
//! call.

use super::support::{TestHost, definitions, hooks, hookwire, repo};
use serde::Deserialize;
use serde_json::{Value, json};
use std::fs;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    /// Each is a definition of a hook, or of a file if it has `policy`.
    hooks: Vec<Value>,
    argv: Vec<String>,
    expect: String,
    /// Whether whoever watches asks about a program of this name, and not about `unnamed-program`.
    named: bool,
}

fn start(argv: &[String]) -> Value {
    json!({ "event": "PreExec", "cwd": "/p", "exec": { "argv": argv, "parents": [] } })
}

fn host(texts: &[Value]) -> (TestHost, tempfile::TempDir) {
    let (files, own): (Vec<_>, Vec<_>) = texts.iter().partition(|it| it.get("policy").is_some());
    let own: Vec<Value> = own.into_iter().cloned().collect();
    let files: Vec<String> = files
        .iter()
        .map(|it| it.to_string())
        .chain([definitions(&own)])
        .collect();
    let names: Vec<String> = (0..files.len()).map(|n| format!("{n}.yaml")).collect();
    let files: Vec<(&str, &str)> = names
        .iter()
        .map(|it| &**it)
        .zip(files.iter().map(|it| &**it))
        .collect();
    let dir = hooks(&files);
    let mut host = TestHost::start(
        hookwire()
            .args([
                "serve",
                "--isolated",
                "--no-share",
                "--root",
                "/",
                "--hooks",
            ])
            .arg(dir.path()),
    );
    host.request(
        "initialize",
        json!({ "capabilities": { "hooks": { "decisions": ["allow", "deny", "ask"] } } }),
    );
    // The definitions go before the host does.
    host.may_leave_unread = true;
    (host, dir)
}

#[test]
fn a_rule_holds_for_a_program_that_starts() {
    let text = fs::read_to_string(repo("tests/data/rules/starts.jsonl")).unwrap();
    let mut wrong = Vec::new();
    for (line, text) in text.lines().enumerate() {
        let row: Row = serde_json::from_str(text)
            .unwrap_or_else(|error| panic!("starts.jsonl:{}: {error}", line + 1));
        let (mut host, _dir) = host(&row.hooks);
        let verdict = host.dispatch(start(&row.argv));
        let named = host.request("programs/named", json!({}));
        let name = row.argv[0].rsplit('/').next().unwrap();
        let is_named =
            named["every"] == true || named["names"].as_array().unwrap().contains(&json!(name));
        if verdict["decision"] != *row.expect || is_named != row.named {
            wrong.push(format!(
                "starts.jsonl:{}: {text}: {verdict}, named: {is_named}",
                line + 1
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What a command of git starts as a step of its own was decided with that command; what it is told
/// to start wasn't.
#[test]
fn a_step_of_a_command_is_not_asked_about_again() {
    let deny = json!({ "name": "x", "on": "PreToolUse", "if": ["Bash(git reset --hard*)", "Bash(git push --force*)"], "deny": "no" });
    let (mut host, _dir) = host(&[deny]);
    let mut judge = |parents: Value, started: &str| {
        let words = |text: &str| text.split(' ').map(str::to_string).collect::<Vec<_>>();
        let mut event = start(&words(started));
        event["exec"]["parents"] = parents;
        for parent in event["exec"]["parents"].as_array_mut().unwrap() {
            if let Some(text) = parent["argv"].as_str() {
                parent["argv"] = json!(words(text));
            }
        }
        host.dispatch(event)["decision"]
            .as_str()
            .unwrap()
            .to_string()
    };
    let reset = "/usr/lib/git-core/git reset --hard -q";
    for (by, same, started, expect) in [
        ("git stash", true, reset, "allow"),
        ("git -C x -c a.b=c stash push -u", true, reset, "allow"),
        ("git worktree add x", true, reset, "allow"),
        // Not one of its steps; whoever calls itself so.
        ("git submodule--helper update", true, reset, "deny"),
        ("git stash", false, reset, "deny"),
        ("stash", true, reset, "deny"),
        // An alias, and what it is told to start.
        ("git p", true, "git push --force", "deny"),
        (
            "git submodule--helper foreach git push --force",
            true,
            "git push --force",
            "deny",
        ),
        (
            "git bisect run git reset --hard",
            true,
            "git reset --hard",
            "deny",
        ),
        ("sh -c stash", true, reset, "deny"),
        // What git was told to start by its settings: `GIT_EXTERNAL_DIFF=git`.
        ("git stash show -p", true, "git reset --hard", "deny"),
        ("git stash push -p", true, "git reset --hard x", "deny"),
        ("git log -p", true, reset, "deny"),
    ] {
        let parents = json!([{ "pid": 7, "argv": by, "sameProgram": same }]);
        assert_eq!(judge(parents, started), expect, "{by}: {started}");
    }
    // Over HTTP, programs of their own push and fetch for it.
    let send = "git send-pack --stateless-rpc --stdin x";
    let helper = |file: &str| json!({ "argv": "git-remote-https origin x", "realPath": file });
    let git = |words: &str, same: bool| json!({ "argv": words, "sameProgram": same });
    let own = "/usr/libexec/git-core/git-remote-https";
    let script = json!({ "argv": "/bin/sh /usr/lib/git-core/git-submodule update" });
    let shell = json!({ "argv": ["sh", "-c", "git-upload-pack 'x'"] });
    for (parents, started, expect) in [
        (
            json!([git("git clone x", true)]),
            "git remote-https origin x",
            "allow",
        ),
        (
            json!([git("sh -c x", false), git("git clone x", true)]),
            "git remote-https origin x",
            "ask",
        ),
        (
            json!([git("git stash", true)]),
            "git remote-https origin x",
            "ask",
        ),
        (json!([git("sh -c x", false)]), "git-upload-pack x", "ask"),
        (
            json!([shell, git("git clone x", true)]),
            "git-upload-pack x",
            "allow",
        ),
        (
            json!([shell, git("sh hook", false), git("git clone x", true)]),
            "git-upload-pack x",
            "ask",
        ),
        (
            json!([shell, git("git clone x", true)]),
            "git-upload-pack y",
            "ask",
        ),
        (
            json!([{ "argv": "x", "realPath": "/usr/lib/git-core/git-http-backend" }]),
            "git upload-pack .",
            "allow",
        ),
        (
            json!([{ "argv": "x", "realPath": "/usr/lib/git-core/git-http-backend" }]),
            "git receive-pack .",
            "ask",
        ),
        (
            json!([
                helper(own),
                git("git remote-https origin x", true),
                git("git push", true)
            ]),
            send,
            "allow",
        ),
        (
            json!([
                helper(own),
                git("git remote-https origin x", true),
                git("sh hook", false),
                git("git push", true)
            ]),
            send,
            "ask",
        ),
        (json!([helper(own), git("git push", true)]), send, "ask"),
        (
            json!([script, git("git submodule update", true)]),
            "git submodule--helper update --",
            "allow",
        ),
        (
            json!([script, git("sh x", false)]),
            "git submodule--helper update --",
            "ask",
        ),
        (json!([helper(own), git("git push", false)]), send, "ask"),
        (json!([helper(own), git("git fetch", true)]), send, "ask"),
        (
            json!([
                helper("/tmp/git-core/git-remote-https"),
                git("git push", true)
            ]),
            send,
            "ask",
        ),
        (json!([]), send, "ask"),
    ] {
        assert_eq!(
            judge(parents.clone(), started),
            expect,
            "{parents}: {started}"
        );
    }
}

/// Who watches starts hears of other names before the reload has its reply, and of none that it can
/// miss.
#[test]
fn other_definitions_are_told_to_who_watches_starts() {
    let deny = |rule: &str| json!({ "name": "x", "on": "PreToolUse", "if": rule, "deny": "no" });
    let (mut host, dir) = host(&[deny("Bash(git push*)")]);
    let first = host.request("programs/named", json!({}));
    assert!(
        first["names"].as_array().unwrap().contains(&json!("git")),
        "{first}"
    );
    fs::write(
        dir.path().join("0.yaml"),
        definitions(&[deny("Bash(curl *)")]),
    )
    .unwrap();
    let told =
        host.receive_where(|message| message["method"] == "programs/changed")["params"].clone();
    assert!(
        told["names"].as_array().unwrap().contains(&json!("curl")),
        "{told}"
    );
    assert!(
        !told["names"].as_array().unwrap().contains(&json!("git")),
        "{told}"
    );
    assert!(told["generation"].as_u64() > first["generation"].as_u64());
    host.request("programs/have", json!({ "generation": told["generation"] }));
}

/// A person who was asked about the call isn't asked about the program that does it; without that,
/// it is asked.
#[test]
fn nobody_is_asked_again_below_a_call_that_was_asked_about() {
    let ask = |name: &str, rule: &str| json!({ "name": name, "on": "PreToolUse", "if": rule, "ask": "Sure?" });
    let (mut host, _dir) = host(&[ask("x", "Bash(git push*)"), ask("y", "Bash(rm *)")]);
    host.request("programs/named", json!({}));
    let push = |parent: &str| {
        let parents = json!([{ "pid": 7, "argv": ["bash", "-c", parent] }]);
        json!({ "event": "PreExec", "cwd": "/p", "exec": { "argv": ["git", "push", "-f"], "parents": parents } })
    };
    assert_eq!(host.dispatch(push("git push -f && ls"))["decision"], "ask");
    let asked = host.bash("git push -f && ls");
    assert_eq!(asked["decision"], "ask");
    for parent in ["git push -f && ls", "eval 'git push -f && ls' < /dev/null"] {
        assert_eq!(host.dispatch(push(parent))["decision"], "allow", "{parent}");
    }
    assert_eq!(host.dispatch(push("git push -f"))["decision"], "ask");
    // A word of another program is no shell's text.
    let mut word = push("");
    word["exec"]["parents"][0]["argv"] = json!(["python3", "x.py", "git push -f && ls"]);
    assert_eq!(host.dispatch(word)["decision"], "ask");
    let mut claimed = push("other");
    claimed["exec"]["asked"] = json!(true);
    assert_eq!(host.dispatch(claimed)["decision"], "ask");
    // Another hook has another question.
    let mut removal = push("git push -f && ls");
    removal["exec"]["argv"] = json!(["rm", "-rf", "x"]);
    assert_eq!(host.dispatch(removal)["decision"], "ask");
    let mut by_id = push("other");
    by_id["exec"]["toolCall"] = asked["eventId"].clone();
    assert_eq!(host.dispatch(by_id)["decision"], "allow");
}

#[test]
fn a_start_has_words() {
    let (mut host, _dir) = host(&[]);
    for exec in [
        json!({}),
        json!({ "argv": [] }),
        json!({ "argv": [1] }),
        json!({ "argv": "git" }),
    ] {
        let error = host.refused(
            "hooks/dispatch",
            json!({ "event": "PreExec", "exec": exec }),
        );
        assert!(error.to_string().contains("exec.argv"), "{error}");
    }
}

/// Nothing is held by definitions that aren't there, so nothing is run.
#[test]
fn a_run_begins_with_definitions_that_are_there() {
    for (flag, said) in [
        ("--hooks", "no such file or directory"),
        ("--root", "there is no such directory"),
    ] {
        let ran = hookwire()
            .args(["run", flag, "/nowhere", "--", "echo", "ran"])
            .output()
            .unwrap();
        assert_eq!(
            (ran.status.code(), &*ran.stdout),
            (Some(2), &b""[..]),
            "{flag}"
        );
        assert_eq!(
            String::from_utf8_lossy(&ran.stderr),
            format!("hookwire: {flag} /nowhere: {said}\n")
        );
    }
}
