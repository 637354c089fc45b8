//! How things stand: which hosts are attached, and how many hooks and mistakes there are.

use super::live::{Live, LiveHost};
use super::plain_text::escape_markdown;
use super::project::Project;
use super::workspaces::Workspaces;
use hookwire_base::support::amounts::number_of;
use hookwire_base::syntax::diagnostic::Severity;
use hookwire_engine::definitions::scan::is_about_trust;
use serde::Serialize;
use serde_json::Value;
use std::collections::HashSet;

/// The result of `hookwire.status`.
#[derive(Serialize)]
struct Standing {
    version: &'static str,
    hosts: Vec<LiveHost>,
    hooks: usize,
    errors: usize,
    warnings: usize,
    events: u64,
    /// The numbers in a line.
    summary: String,
    /// The most important numbers, in a few words.
    brief: String,
    /// All of it, in Markdown.
    tooltip: String,
}

/// Which hosts are attached, and how the definitions stand.
pub(super) fn workspace_status(workspaces: &Workspaces, live: &Live) -> Value {
    let published: Vec<_> = workspaces
        .projects()
        .iter()
        .map(Project::published)
        .collect();
    // Folders have the machine's and the user's definitions in common.
    let hooks: HashSet<_> = published
        .iter()
        .flat_map(|it| &it.hooks.hooks)
        .map(|hook| (&hook.source.file, hook.source.position))
        .collect();
    let mut diagnostics = HashSet::new();
    let (mut errors, mut warnings) = (0, 0);
    for it in published.iter().flat_map(|it| it.diagnostics.iter()) {
        // A lens on the first line of the definitions tells it.
        if !is_about_trust(it)
            && diagnostics.insert((&it.file, it.span.start, &it.code, &it.message))
        {
            match it.severity {
                Severity::Error => errors += 1,
                Severity::Warning => warnings += 1,
                Severity::Hint => {}
            }
        }
    }
    let mut standing = Standing {
        version: env!("CARGO_PKG_VERSION"),
        hosts: live.hosts(),
        hooks: hooks.len(),
        errors,
        warnings,
        events: live.total(),
        summary: String::new(),
        brief: String::new(),
        tooltip: String::new(),
    };
    standing.summary = standing.in_a_line();
    standing.brief = standing.in_brief();
    standing.tooltip = standing.in_markdown();
    serde_json::to_value(standing).unwrap_or_default()
}

impl Standing {
    /// `2 hooks, 1 running host, 1 error`
    fn in_a_line(&self) -> String {
        let mut parts = vec![
            number_of(self.hooks, "hook"),
            number_of(self.hosts.len(), "running host"),
        ];
        parts.extend((self.errors > 0).then(|| number_of(self.errors, "error")));
        parts.extend((self.warnings > 0).then(|| number_of(self.warnings, "warning")));
        parts.join(", ")
    }

    /// `1 host · 14 hooks`, or how many problems there are.
    fn in_brief(&self) -> String {
        match self.errors + self.warnings {
            0 => format!(
                "{} · {}",
                number_of(self.hosts.len(), "host"),
                number_of(self.hooks, "hook")
            ),
            problems => number_of(problems, "problem"),
        }
    }

    fn in_markdown(&self) -> String {
        let [hooks, errors, warnings] = [
            (self.hooks, "hook"),
            (self.errors, "error"),
            (self.warnings, "warning"),
        ]
        .map(|(n, it)| number_of(n, it));
        let attached = if self.hosts.is_empty() {
            "no host attached: no agent runs `hookwire serve --live` here".into()
        } else {
            let hosts: Vec<_> = self
                .hosts
                .iter()
                .map(|host| {
                    format!(
                        "- {}: process {}, generation {}",
                        escape_markdown(&host.root),
                        host.pid,
                        host.generation
                    )
                })
                .collect();
            let events = number_of(self.events.try_into().unwrap_or(usize::MAX), "event");
            format!(
                "{} attached, {events} seen\n{}",
                number_of(self.hosts.len(), "host"),
                hosts.join("\n")
            )
        };
        let version = escape_markdown(self.version);
        format!(
            "**hookwire {version}**\n\n{hooks}, {errors}, {warnings} in definitions\n\n{attached}"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problems_come_before_anything_else() {
        let host = LiveHost {
            pid: 1,
            root: "/a*b".into(),
            generation: 2,
        };
        let mut standing = Standing {
            version: "0.1.0",
            hosts: vec![host],
            hooks: 14,
            errors: 0,
            warnings: 0,
            events: 3,
            summary: String::new(),
            brief: String::new(),
            tooltip: String::new(),
        };
        assert_eq!(
            (&*standing.in_a_line(), &*standing.in_brief()),
            ("14 hooks, 1 running host", "1 host · 14 hooks")
        );
        let tooltip = "**hookwire 0\\.1\\.0**\n\n14 hooks, 0 errors, 0 warnings in definitions\n\n1 host attached, 3 events seen\n- /a\\*b: process 1, generation 2";
        assert_eq!(standing.in_markdown(), tooltip);
        (standing.errors, standing.warnings) = (1, 1);
        assert_eq!(standing.in_brief(), "2 problems");
        assert_eq!(
            standing.in_a_line(),
            "14 hooks, 1 running host, 1 error, 1 warning"
        );
    }
}
