//! Projects that an editor comes to and leaves.

use crate::support::editor::{Editor, abilities, uri};
use crate::support::eventually;
use serde_json::{Value, json};

/// The threads of a process that watch definitions.
#[cfg(target_os = "linux")]
fn watchers(pid: u32) -> usize {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task"))
        .unwrap()
        .flatten();
    threads
        .filter(|it| {
            std::fs::read_to_string(it.path().join("comm")).is_ok_and(|name| name == "watch\n")
        })
        .count()
}

#[test]
fn a_project_that_is_left_takes_its_mistakes_and_its_watcher_along() {
    let mut editor = Editor::with(abilities(), &[]);
    editor.execute("hookwire.status", json!({}));
    // The project's and the user's own. A thread has its name only when it runs.
    #[cfg(target_os = "linux")]
    let watchers_before = eventually("both are watched", || {
        Some(watchers(editor.pid())).filter(|n| *n == 2)
    });
    let other = tempfile::tempdir().unwrap();
    let home = other.path().join(".hookwire");
    std::fs::create_dir(&home).unwrap();
    std::fs::write(home.join("a.yaml"), "hooks: []\n").unwrap();
    std::fs::write(
        home.join("b.yaml"),
        "hooks:\n- {name: b, on: Stpo, deny: x}\n",
    )
    .unwrap();
    let (folder, a, b) = (
        uri(other.path()),
        uri(&home.join("a.yaml")),
        uri(&home.join("b.yaml")),
    );
    let folders = |added: &[&str], removed: &[&str]| {
        let named = |folders: &[&str]| {
            folders
                .iter()
                .map(|uri| json!({ "uri": uri, "name": "x" }))
                .collect::<Value>()
        };
        json!({ "event": { "added": named(added), "removed": named(removed) } })
    };
    let opened = json!({ "textDocument": { "uri": a, "languageId": "yaml", "version": 1, "text": "hooks: []\n" } });
    let closed = json!({ "textDocument": { "uri": a } });
    let (open, close) = ("textDocument/didOpen", "textDocument/didClose");
    let change = "workspace/didChangeWorkspaceFolders";
    for (enter, leave) in [
        (
            &[(change, folders(&[&folder], &[]))][..],
            &[(change, folders(&[], &[&folder]))][..],
        ),
        // A project around a folder is entered with it, and left with it.
        (
            &[(change, folders(&[&format!("{folder}/src")], &[]))],
            &[(change, folders(&[], &[&format!("{folder}/src")]))],
        ),
        (&[(open, opened.clone())], &[(close, closed.clone())]),
        // A document keeps its project.
        (
            &[(change, folders(&[&folder], &[])), (open, opened.clone())],
            &[(change, folders(&[], &[&folder])), (close, closed.clone())],
        ),
    ] {
        for (is_here, messages) in [(true, enter), (false, leave)] {
            messages
                .iter()
                .for_each(|(method, params)| editor.notify(method, params.clone()));
            editor.receive_where(|message| {
                let told = &message["params"];
                let is_told = told["diagnostics"]
                    .as_array()
                    .is_some_and(|it| !it.is_empty());
                message["method"] == "textDocument/publishDiagnostics"
                    && told["uri"] == b
                    && is_told == is_here
            });
            #[cfg(target_os = "linux")]
            eventually("watchers come and go", || {
                let now = watchers(editor.pid());
                (if is_here {
                    now > watchers_before
                } else {
                    now == watchers_before
                })
                .then_some(())
            });
        }
    }
}
