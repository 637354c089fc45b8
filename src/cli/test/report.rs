//! How results are told: to people, to programs, in the forms that continuous integration reads.

use super::coverage::Coverage;
use super::{Tested, Tried};
use crate::cli::output::{Output, Tone, safe};
use crate::cli::reports::Finding;
use std::fmt::Write as _;

impl Tested {
    pub(super) fn print_json(&self, out: &mut Output) {
        for Tried {
            name,
            line,
            took,
            mismatch,
            is_updated,
            ..
        } in &self.results
        {
            out.json(&serde_json::json!({
                "file": self.file, "line": line, "name": name, "micros": took.as_micros() as u64,
                "passed": mismatch.is_none(), "mismatch": mismatch, "updated": is_updated,
            }));
        }
        if !self.untouched.is_empty() {
            out.json(&serde_json::json!({ "file": self.file, "untouched": self.untouched }));
        }
        for (hook, part) in self.coverage.iter().flat_map(Coverage::unreached) {
            out.json(&serde_json::json!({ "file": self.file, "hook": hook, "unreached": part }));
        }
    }
}

pub(super) fn print_text(tested: &[Tested], out: &mut Output) {
    let (mut n_cases, mut n_failed) = (0, 0);
    for Tested {
        file,
        results,
        broken,
        untouched,
        coverage,
    } in tested
    {
        let told: Vec<_> = results
            .iter()
            .filter_map(|result| Some((result, result.mismatch.as_ref()?)))
            .collect();
        let n_updated = told.iter().filter(|(it, _)| it.is_updated).count();
        let tone = if told.len() == n_updated {
            Tone::Good
        } else {
            Tone::Bad
        };
        n_cases += results.len();
        n_failed += told.len() - n_updated;
        let count = out.tone(
            tone,
            &format!("{} of {}", results.len() - told.len(), results.len()),
        );
        let updated = if n_updated > 0 {
            format!(", {n_updated} updated")
        } else {
            String::new()
        };
        out.line(&format!("{}: {count} as expected{updated}", safe(file)));
        for it in broken {
            let mark = out.tone(Tone::Bad, "broken");
            out.line(&format!("  {mark}, so that no case counts: {}", safe(it)));
        }
        for (
            Tried {
                name,
                line,
                is_updated,
                ..
            },
            mismatch,
        ) in told.into_iter().filter(|(it, _)| !it.is_broken)
        {
            let mark = if *is_updated {
                out.tone(Tone::Warn, "updated ")
            } else {
                String::new()
            };
            out.line(&format!(
                "  {}:{line}: {mark}{}: {}",
                safe(file),
                safe(name),
                safe(mismatch)
            ));
        }
        if !untouched.is_empty() {
            let names: Vec<_> = untouched
                .iter()
                .map(|name| safe(name).to_string())
                .collect();
            let names = out.tone(Tone::Warn, &names.join(", "));
            out.line(&format!("  no case reaches {names}"));
        }
        if let Some(coverage) = coverage {
            let n_unreached = coverage.unreached().count();
            let n_parts = coverage.0.len();
            out.line(&format!(
                "  {} of {n_parts} rules, sides and failures reached",
                n_parts - n_unreached
            ));
            // A hook that no case reaches is named above.
            for (hook, part) in coverage
                .unreached()
                .filter(|(hook, _)| !untouched.contains(hook))
            {
                let part = out.tone(Tone::Warn, &safe(part));
                out.line(&format!("  no case reaches {} {part}", safe(hook)));
            }
        }
    }
    if tested.len() > 1 {
        out.line(&format!(
            "{n_cases} cases in {} files, {n_failed} not as expected",
            tested.len()
        ));
    }
}

/// The cases that aren't as expected.
pub(super) fn case_findings(tested: &[Tested]) -> Vec<Finding> {
    let results = tested
        .iter()
        .flat_map(|it| it.results.iter().map(|result| (&it.file, result)));
    let failed = results.filter(|(_, tried)| tried.has_failed());
    failed
        .map(|(file, tried)| {
            if let Some(mistake) = &tried.mistake {
                return Finding::from_diagnostic(mistake);
            }
            let mismatch = tried.mismatch.as_deref().unwrap_or_default();
            Finding::at_line(
                file,
                tried.line,
                "unexpected-verdict",
                format!("{}: {mismatch}", tried.name),
            )
        })
        .collect()
}

pub(super) fn write_tap(tested: &[Tested]) -> String {
    let mut text = format!(
        "TAP version 14\n1..{}\n",
        tested.iter().map(|it| it.results.len()).sum::<usize>()
    );
    let results = tested
        .iter()
        .flat_map(|it| it.results.iter().map(|result| (&it.file, result)));
    for (n, (file, tried)) in results.enumerate() {
        let Tried { name, line, .. } = tried;
        let mismatch = tried.mismatch.as_ref().filter(|_| tried.has_failed());
        let not = if mismatch.is_some() { "not " } else { "" };
        let name = safe(name).replace('#', "\\#");
        let _ = writeln!(text, "{not}ok {} - {}:{line}: {name}", n + 1, safe(file));
        if let Some(mismatch) = mismatch {
            let _ = writeln!(
                text,
                "  ---\n  message: {}\n  ...",
                serde_json::Value::from(mismatch.as_str())
            );
        }
    }
    text
}

pub(super) fn write_junit(tested: &[Tested]) -> String {
    let mut text = String::from(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"hookwire\">\n",
    );
    for Tested { file, results, .. } in tested {
        let n_failed = results.iter().filter(|result| result.has_failed()).count();
        let file = escape_xml(file);
        let _ = writeln!(
            text,
            "  <testsuite name=\"{file}\" tests=\"{}\" failures=\"{n_failed}\">",
            results.len()
        );
        for tried in results {
            let Tried {
                name, line, took, ..
            } = tried;
            let mismatch = tried.mismatch.as_ref().filter(|_| tried.has_failed());
            let (name, time) = (escape_xml(name), took.as_secs_f64());
            let _ = write!(
                text,
                "    <testcase classname=\"{file}\" name=\"{name}\" file=\"{file}\" line=\"{line}\" time=\"{time:.6}\""
            );
            let _ = match mismatch {
                Some(it) => writeln!(
                    text,
                    "><failure message=\"{}\"/></testcase>",
                    escape_xml(it)
                ),
                None => writeln!(text, "/>"),
            };
        }
        text.push_str("  </testsuite>\n");
    }
    text + "</testsuites>\n"
}

/// A text for an attribute of XML. What no XML may hold becomes a question mark.
fn escape_xml(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' | '\t' => {
                let _ = write!(escaped, "&#{};", c as u32);
            }
            c if c.is_control() => escaped.push('?'),
            c => escaped.push(c),
        }
    }
    escaped
}
