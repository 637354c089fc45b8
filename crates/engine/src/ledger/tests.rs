use super::read::Kept;
use super::write::{Place, append_at};
use super::*;
use hookwire_base::event::Event;
use serde_json::json;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

fn answered(command: &str) -> Answered {
    let event = Event::from_json(json!({
        "event": "PreToolUse", "session": "a-session-that-is-named", "cwd": "/p",
        "tool": { "name": "Bash", "callId": "toolu_0123456789", "input": { "command": command } },
    }));
    Answered::new("claude-code", &Arc::new(event.unwrap()), None).unwrap()
}

struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Home {
        Home(tempfile::tempdir().unwrap())
    }

    fn dir(&self) -> PathBuf {
        self.0.path().join("ledger/p")
    }

    fn ledger(&self) -> Ledger {
        Ledger::at(self.place())
    }

    fn place(&self) -> Place {
        Place {
            root: "/p".into(),
            dir: Some(self.dir()),
        }
    }

    fn read(&self) -> Kept {
        let mut kept = Kept::default();
        kept.read_dir(&self.dir(), SystemTime::UNIX_EPOCH, &mut (1 << 30));
        kept
    }

    fn files(&self) -> Vec<PathBuf> {
        let files = fs::read_dir(self.dir()).unwrap();
        files.map(|it| it.unwrap().path()).collect()
    }

    /// A host, whose calls are these, that ends in good order.
    fn host(&self, commands: &[&str]) {
        let ledger = self.ledger();
        for command in commands {
            ledger.note(answered(command), 10);
        }
        ledger.finish();
    }
}

#[test]
fn a_line_is_short_and_says_nothing_of_the_call() {
    let record = answered("cat secret.txt").to_record(1_796_009_571_808);
    let text = serde_json::to_string(&record).unwrap();
    for word in ["secret", "Bash", "session-that", "toolu"] {
        assert!(!text.contains(word), "{text}");
    }
    assert!(text.len() < 140, "{text}");
    assert_eq!(serde_json::from_str::<Record>(&text).unwrap(), record);
}

#[test]
fn a_call_is_the_same_in_whatever_order_its_members_stand() {
    let one = json!({ "command": "ls", "timeout": 1.5 });
    let other: Value = serde_json::from_str(r#"{"timeout":1.5,"command":"ls"}"#).unwrap();
    let digest = Short::of_call("Bash", Some(&one));
    assert_eq!(digest, Short::of_call("Bash", Some(&other)));
    assert_ne!(digest, Short::of_call("Bas", Some(&one)));
}

#[test]
fn what_was_answered_is_read_by_whoever_looks() {
    let home = Home::new();
    home.host(&["ls", "pwd"]);
    home.host(&["id"]);
    append_at(&home.place(), Some(&answered("make"))).unwrap();
    append_at(&home.place(), Some(&answered("cc"))).unwrap();
    let kept = home.read();
    for command in ["ls", "pwd", "id", "make", "cc"] {
        let digest = Short::of_call("Bash", Some(&json!({ "command": command })));
        assert!(kept.records.iter().any(|it| it.call == digest), "{command}");
    }
    assert_eq!((kept.gaps.len(), kept.problems.len()), (0, 0));
    assert!(kept.begun.is_some());
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert!(home.files().iter().all(|path| mode(path) == 0o600));
    assert_eq!(mode(&home.dir()), 0o700);
}

#[test]
fn what_is_missing_is_a_gap() {
    // A process that was killed, and one that couldn't write any more.
    for (extension, is_long) in [(WHOLE, false), (TORN, true)] {
        let home = Home::new();
        home.host(&["ls"]);
        let path = home.files().remove(0);
        let text = fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        fs::remove_file(&path).unwrap();
        let cut = lines[..lines.len() - 1].join("\n") + "\n{\"call\":{\"t\":1";
        fs::write(path.with_extension(extension), cut).unwrap();
        let kept = home.read();
        assert_eq!((kept.records.len(), kept.gaps.len()), (1, 1), "{extension}");
        let gap = kept.gaps[0];
        assert!(gap.from >= kept.records[0].at && gap.calls.is_none());
        assert!(gap.until >= gap.from && (is_long || gap.until <= gap.from + 5_000));
    }
    // A call that was answered without a verdict.
    let home = Home::new();
    let ledger = home.ledger();
    ledger.note_failure();
    ledger.note(answered("ls"), 10);
    ledger.finish();
    ledger.note(answered("too late"), 10);
    let kept = home.read();
    assert_eq!((kept.records.len(), kept.gaps.len()), (1, 1));
    assert_eq!(kept.gaps[0].calls, Some(1));
}

#[test]
fn a_host_that_runs_leaves_no_gap() {
    let home = Home::new();
    let ledger = home.ledger();
    ledger.note(answered("ls"), 10);
    while home.read().records.is_empty() {
        std::thread::yield_now();
    }
    assert_eq!(home.read().gaps, []);
    ledger.finish();
    assert_eq!(home.read().gaps, []);
}

#[test]
fn what_was_changed_is_told() {
    for change in ["drop", "edit", "rubbish"] {
        let home = Home::new();
        home.host(&["ls", "pwd", "id"]);
        let path = home.files().remove(0);
        let text = fs::read_to_string(&path).unwrap();
        let mut lines: Vec<String> = text.lines().map(str::to_string).collect();
        match change {
            "drop" => drop(lines.remove(2)),
            "edit" => lines[2] = lines[2].replace("claude-code", "codex"),
            _ => lines[2] = "{]\u{1b}".into(),
        }
        fs::write(&path, lines.join("\n") + "\n").unwrap();
        assert_eq!(home.read().problems.len(), 1, "{change}");
    }
}

#[test]
fn what_can_not_be_written_or_waits_too_long_is_lost_and_delays_nothing() {
    let home = Home::new();
    let ledger = Ledger::at(Place {
        dir: Some("/dev/null/ledger".into()),
        ..home.place()
    });
    ledger.note(answered("ls"), 10);
    ledger.finish();
    // More bytes than may wait.
    let ledger = home.ledger();
    ledger.note(answered("ls"), 1 << 30);
    ledger.finish();
    let kept = home.read();
    assert_eq!((kept.records.len(), kept.gaps[0].calls), (0, Some(1)));
}
