//! Findings in the forms that code hosting reads: annotations of a workflow, and SARIF.

use hookwire_base::syntax::codes::{self, Code};
use hookwire_base::syntax::diagnostic::{Diagnostic, Position, Range, Severity};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// One finding of `check` or `test`.
pub(super) struct Finding {
    pub(super) file: String,
    pub(super) range: Range,
    pub(super) severity: Severity,
    /// The kind of finding: a diagnostic's code.
    pub(super) code: String,
    pub(super) message: String,
}

impl Finding {
    pub(super) fn from_diagnostic(diagnostic: &Diagnostic) -> Finding {
        let help = diagnostic
            .help
            .as_deref()
            .map(|help| format!(" ({help})"))
            .unwrap_or_default();
        let hook = diagnostic
            .hook
            .as_deref()
            .map(|hook| format!("hook `{hook}`: "))
            .unwrap_or_default();
        Finding {
            file: diagnostic.file.clone(),
            range: diagnostic.range,
            severity: diagnostic.severity,
            code: diagnostic.code.clone(),
            message: format!("{hook}{}{help}", diagnostic.message),
        }
    }

    /// About a whole line.
    pub(super) fn at_line(file: &str, line: usize, code: &str, message: String) -> Finding {
        let at = Position { line, column: 1 };
        let (file, code) = (file.to_string(), code.to_string());
        Finding {
            file,
            range: Range { start: at, end: at },
            severity: Severity::Error,
            code,
            message,
        }
    }
}

/// A line each, as workflows on GitHub read them from the output of a step.
pub(super) fn write_github(findings: &[Finding]) -> String {
    let mut text = String::new();
    for Finding {
        file,
        range: Range { start, end },
        severity,
        code,
        message,
    } in findings
    {
        let level = match severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Hint => "notice",
        };
        // GitHub takes columns only where both ends are on one line.
        let place = match start.line == end.line {
            true => format!(
                "line={},col={},endColumn={}",
                start.line, start.column, end.column
            ),
            false => format!("line={},endLine={}", start.line, end.line),
        };
        // Writing to a string can't fail.
        let _ = writeln!(
            text,
            "::{level} file={},{place},title={}::{}",
            escape_property(file),
            escape_property(&format!("hookwire {code}")),
            escape_data(message)
        );
    }
    text
}

/// A text where it ends with the line.
fn escape_data(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

/// A text among others.
fn escape_property(text: &str) -> String {
    escape_data(text).replace(':', "%3A").replace(',', "%2C")
}

/// SARIF 2.1.0, of one run. Each kind of finding says what it means and how it is mended.
pub(super) fn write_sarif(findings: &[Finding]) -> Value {
    let mut codes: Vec<&str> = findings.iter().map(|finding| &*finding.code).collect();
    codes.sort_unstable();
    codes.dedup();
    let rule = |code: &&str| match codes::find(code) {
        Some(Code { meaning, fix, .. }) => {
            json!({ "id": code, "shortDescription": { "text": meaning }, "help": { "text": fix } })
        }
        None => json!({ "id": code }),
    };
    let result = |Finding {
                      file,
                      range: Range { start, end },
                      severity,
                      code,
                      message,
                  }: &Finding| {
        let level = match severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Hint => "note",
        };
        json!({
            "ruleId": code,
            "level": level,
            "message": { "text": message },
            "locations": [{ "physicalLocation": {
                "artifactLocation": { "uri": path_uri(file) },
                "region": {
                    "startLine": start.line, "startColumn": start.column,
                    "endLine": end.line, "endColumn": end.column,
                },
            } }],
        })
    };
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "hookwire",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": codes.iter().map(rule).collect::<Vec<_>>(),
            } },
            // Columns count characters, not the units of UTF-16.
            "columnKind": "unicodeCodePoints",
            "results": findings.iter().map(result).collect::<Vec<_>>(),
        }],
    })
}

/// A path as a reference: what isn't allowed in one is escaped.
fn path_uri(path: &str) -> String {
    let mut uri = if path.starts_with('/') {
        "file://".to_string()
    } else {
        String::new()
    };
    for byte in path.trim_start_matches("./").bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => {
                uri.push(char::from(byte))
            }
            _ => {
                let _ = write!(uri, "%{byte:02X}");
            }
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_is_one_line_whatever_is_in_it() {
        let finding = Finding::at_line("a,b:c.yaml", 3, "bad-rule", "100%\nno\r".into());
        assert_eq!(
            write_github(&[finding]),
            "::error file=a%2Cb%3Ac.yaml,line=3,col=1,endColumn=1,title=hookwire bad-rule::100%25%0Ano%0D\n"
        );
    }

    #[test]
    fn a_path_is_a_reference() {
        for (path, expected) in [
            ("./.hookwire/a b.yaml", ".hookwire/a%20b.yaml"),
            ("/p/ä.yaml", "file:///p/%C3%A4.yaml"),
            ("a#b?.yaml", "a%23b%3F.yaml"),
        ] {
            assert_eq!(path_uri(path), expected);
        }
    }
}
