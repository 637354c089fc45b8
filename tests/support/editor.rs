//! An editor that keeps to LSP, as far as tests need one.

use super::{Framing, TestHost, hookwire};
use serde_json::{Value, json};
use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};

/// The built binary as a language server, with a project of its own.
pub struct Editor {
    host: TestHost,
    /// The project.
    pub root: tempfile::TempDir,
    /// What `initialize` answered.
    pub initialized: Value,
}

impl Deref for Editor {
    type Target = TestHost;

    fn deref(&self) -> &TestHost {
        &self.host
    }
}

impl DerefMut for Editor {
    fn deref_mut(&mut self) -> &mut TestHost {
        &mut self.host
    }
}

/// What most editors can do.
pub fn abilities() -> Value {
    json!({
        "general": { "positionEncodings": ["utf-8", "utf-16"] },
        "textDocument": {
            "completion": { "completionItem": { "snippetSupport": true, "documentationFormat": ["markdown"] } },
            "hover": { "contentFormat": ["markdown"] },
        },
        "workspace": { "codeLens": { "refreshSupport": false } },
    })
}

impl Editor {
    /// With these definition files on disk, in `.hookwire` of the project.
    pub fn start(files: &[(&str, &str)]) -> Editor {
        Editor::with(abilities(), files)
    }

    /// An editor with these capabilities.
    pub fn with(capabilities: Value, files: &[(&str, &str)]) -> Editor {
        Editor::within(tempfile::tempdir().unwrap(), capabilities, files)
    }

    /// The same in a project that is there already, whose runtime directory is the project too.
    pub fn within(root: tempfile::TempDir, capabilities: Value, files: &[(&str, &str)]) -> Editor {
        let home = root.path().join(".hookwire");
        std::fs::create_dir_all(&home).unwrap();
        for (name, text) in files {
            std::fs::write(home.join(name), text).unwrap();
        }
        let mut command = hookwire();
        command
            .args(["serve", "--isolated"])
            .current_dir(root.path())
            .env("XDG_RUNTIME_DIR", root.path());
        let mut host = TestHost::framed(&mut command, Framing::Headers);
        // Diagnostics and lenses are told whether a test looks at them or not.
        host.may_leave_unread = true;
        let params = json!({
            "processId": std::process::id(),
            "rootUri": uri(root.path()),
            "capabilities": capabilities,
        });
        let initialized = host.request("initialize", params);
        host.notify("initialized", json!({}));
        Editor {
            host,
            root,
            initialized,
        }
    }

    /// A definition file of the project.
    pub fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(".hookwire").join(name)
    }

    /// Its name for the editor.
    pub fn uri(&self, name: &str) -> String {
        uri(&self.path(name))
    }

    /// Opens a text, saved or not, as its first version.
    pub fn open(&mut self, name: &str, text: &str) {
        let uri = self.uri(name);
        let language = name.rsplit('.').next().unwrap_or_default();
        let document = json!({ "uri": uri, "languageId": language, "version": 1, "text": text });
        self.notify("textDocument/didOpen", json!({ "textDocument": document }));
    }

    /// Makes the text another one.
    pub fn retype(&mut self, name: &str, version: i32, text: &str) {
        let uri = self.uri(name);
        let params = json!({ "textDocument": { "uri": uri, "version": version }, "contentChanges": [{ "text": text }] });
        self.notify("textDocument/didChange", params);
    }

    /// The diagnostics of a version: `line:column-line:column code: message`, counted from 0.
    pub fn diagnostics(&mut self, name: &str, version: i32) -> Vec<String> {
        let uri = self.uri(name);
        let is_it = |message: &Value| {
            let params = &message["params"];
            message["method"] == "textDocument/publishDiagnostics"
                && params["uri"] == uri
                && params["version"] == version
        };
        let told = self.receive_where(is_it);
        told["params"]["diagnostics"]
            .as_array()
            .unwrap()
            .iter()
            .map(line)
            .collect()
    }

    /// Asks about a place: `|` in the text, which is opened without it.
    pub fn at(&mut self, method: &str, name: &str, text: &str) -> Value {
        let position = self.mark(name, text);
        let uri = self.uri(name);
        self.request(
            method,
            json!({ "textDocument": { "uri": uri }, "position": position }),
        )
    }

    /// Opens a text with a `|` without it, and gives the place.
    pub fn mark(&mut self, name: &str, text: &str) -> Value {
        let (before, after) = text.split_once('|').expect("a mark");
        self.open(name, &format!("{before}{after}"));
        let line = before.matches('\n').count();
        // utf-8 was agreed on.
        json!({ "line": line, "character": before.len() - before.rfind('\n').map_or(0, |at| at + 1) })
    }

    /// Runs a command and gives its result.
    pub fn execute(&mut self, command: &str, arguments: Value) -> Value {
        self.request(
            "workspace/executeCommand",
            json!({ "command": command, "arguments": [arguments] }),
        )
    }
}

/// The URI of a path.
pub fn uri(path: &Path) -> String {
    url::Url::from_file_path(path).unwrap().into()
}

fn line(diagnostic: &Value) -> String {
    let place = |end: &str| {
        let position = &diagnostic["range"][end];
        format!("{}:{}", position["line"], position["character"])
    };
    let text = |key: &str| diagnostic[key].as_str().unwrap_or_default();
    format!(
        "{}-{} {}: {}",
        place("start"),
        place("end"),
        text("code"),
        text("message")
    )
}
