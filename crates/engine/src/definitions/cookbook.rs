//! The rules of `examples/cookbook`, which `hookwire init NAME` writes and `hookwire trust` knows
//! again.

use hookwire_base::support::nearest::closest;

/// A rule that people ask for: one definition file.
pub struct Rule {
    /// Also of the file, without its extension.
    pub name: &'static str,
    /// The definition file.
    text: &'static str,
    /// The file of its cases.
    cases: &'static str,
}

impl Rule {
    /// A line that says what the rule does: the first one of its file.
    pub fn about(&self) -> &'static str {
        self.text
            .lines()
            .next()
            .unwrap_or_default()
            .trim_start_matches("# ")
    }

    /// The files that hold it and its cases: their names and texts.
    pub fn files(&self) -> [(String, &'static str); 2] {
        [
            (format!("{}.yaml", self.name), self.text),
            (format!("{}.test.yaml", self.name), self.cases),
        ]
    }
}

macro_rules! rules {
    ($($name:literal,)*) => {
        /// In the order in which they are listed: by what they are about.
        pub static RULES: &[Rule] = &[
            $(Rule {
                name: $name,
                text: include_str!(concat!("../../cookbook/", $name, ".yaml")),
                cases: include_str!(concat!("../../cookbook/", $name, ".test.yaml")),
            },)*
        ];
    };
}

rules! {
    // git
    "no-force-push",
    "protect-main",
    "ask-before-push",
    "no-lost-work",
    "no-hook-bypass",
    "no-amend-pushed",
    // files
    "no-rm-rf",
    "no-writes-outside",
    "no-lock-file-edits",
    "no-migration-edits",
    "no-workflow-edits",
    "readonly",
    // secrets
    "no-secrets",
    "no-env-read",
    "no-credentials",
    // the network
    "no-curl-sh",
    "web-allowlist",
    "only-these-hosts",
    // packages
    "pnpm-only",
    "use-pnpm",
    "no-global-installs",
    // the machine
    "no-sudo",
    "no-chmod-777",
    "no-disk-writes",
    "no-docker-prune",
    // production
    "ask-before-deploy",
    "ask-before-destroy",
    "ask-before-cloud-delete",
    "no-prod-kubectl",
    "sql-needs-where",
    "db-select-only",
    "ask-before-payment",
    // the run
    "tests-before-stop",
    "format-after-write",
    "budget",
    "step-limit",
    "rate-limit",
    "loop-detector",
    "audit-log",
    "notify-on-stop",
}

/// The rule of this name.
///
/// # Errors
/// The name that was probably meant, if one is near.
pub fn find(name: &str) -> Result<&'static Rule, String> {
    RULES.iter().find(|rule| rule.name == name).ok_or_else(|| {
        let nearest = closest(name, RULES.iter().map(|rule| rule.name));
        let hint = nearest.map_or("`hookwire init --list` lists them".into(), |it| {
            format!("did you mean `{it}`?")
        });
        format!("no rule of the cookbook is called `{name}`; {hint}")
    })
}

/// The rule whose definitions, or whose cases if the path is that of cases, are these bytes.
#[cfg(feature = "review")]
pub(crate) fn rule_of(path: &std::path::Path, bytes: &[u8]) -> Option<&'static Rule> {
    let is_cases = super::cases::is_cases_file(path);
    RULES
        .iter()
        .find(|rule| if is_cases { rule.cases } else { rule.text }.as_bytes() == bytes)
}
