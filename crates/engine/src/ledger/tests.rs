use super::*;
use hookwire_base::event::Event;
use serde_json::json;

#[test]
fn a_line_is_short_and_says_nothing_of_the_call() {
    let event = Event::from_json(json!({
        "event": "PreToolUse", "session": "a-session-that-is-named", "cwd": "/p",
        "tool": { "name": "Bash", "callId": "toolu_0123456789", "input": { "command": "cat secret.txt" } },
    }));
    let answered = Answered::new("claude-code", &std::sync::Arc::new(event.unwrap()), None);
    let record = answered.unwrap().to_record(1_796_009_571_808);
    let text = serde_json::to_string(&record).unwrap();
    for word in ["secret", "Bash", "session-that", "toolu"] {
        assert!(!text.contains(word), "{text}");
    }
    assert!(text.len() < 140, "{text}");
    assert_eq!(serde_json::from_str::<Record>(&text).unwrap(), record);
}

#[test]
fn a_call_is_the_same_in_whatever_order_its_members_stand() {
    let one = json!({ "command": "ls", "timeout": 1.50 });
    let other: Value = serde_json::from_str(r#"{"timeout":1.5,"command":"ls"}"#).unwrap();
    assert_eq!(
        Short::of_call("Bash", Some(&one)),
        Short::of_call("Bash", Some(&other))
    );
    assert_ne!(
        Short::of_call("Bash", Some(&one)),
        Short::of_call("Bas", Some(&one))
    );
}
