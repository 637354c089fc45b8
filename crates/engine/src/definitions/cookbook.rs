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

    /// The definition file with hooks that only observe.
    pub fn observing(&self) -> String {
        const DEFAULTS: &str = "\ndefaults: { ";
        const HOOKS: &str = "\nhooks:\n";
        let (before, after) = if self.text.contains(DEFAULTS) {
            (DEFAULTS, format!("{DEFAULTS}observe: true, "))
        } else {
            (HOOKS, format!("\ndefaults: {{ observe: true }}{HOOKS}"))
        };
        self.text.replacen(before, &after, 1)
    }

    /// Whether one of its rules is about commands that begin so.
    pub fn names(&self, beginning: &str) -> bool {
        self.text.contains(&format!("Bash({beginning} "))
    }

    /// Whether one of its cases with these words is denied or asked about.
    pub fn stops_a_case_with(&self, words: &[&str]) -> bool {
        let is_end = |c: char| c.is_whitespace() || "'\",;&|".contains(c);
        self.cases
            .lines()
            .filter(|line| line.contains("expect: deny") || line.contains("expect: ask"))
            .any(|line| {
                let found: Vec<&str> = line.split(is_end).collect();
                words.iter().all(|word| found.contains(word))
            })
    }

    /// Its cases.
    pub fn cases(&self) -> &'static str {
        self.cases
    }

    /// Whether a text is what a set has of it, whichever set.
    pub fn is_own_text(&self, text: &str) -> bool {
        text == self.text || text == self.cases || text == self.observing()
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
    "no-deletes-outside",
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
    "ask-before-sudo",
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

/// What a set's rules do beside what they are written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Force {
    /// They stop and ask.
    Guards,
    /// They judge, and nothing changes.
    Observes,
}

/// Rules that go together, for who doesn't choose.
pub struct Set {
    /// What `--set` takes.
    pub name: &'static str,
    /// What it is for, in a line.
    pub about: &'static str,
    /// The names of its rules, in the order in which they are shown.
    rules: &'static [&'static str],
    force: Force,
}

/// The usual protections. Of what people and agents ordinarily run, they deny one command in 300.
const RECOMMENDED: &[&str] = &[
    "no-force-push",
    "no-lost-work",
    "no-deletes-outside",
    "no-env-read",
    "no-credentials",
    "no-secrets",
    "no-curl-sh",
    "ask-before-sudo",
    "no-disk-writes",
    "ask-before-deploy",
];

/// The sets; the first one is what people get who say nothing.
pub static SETS: &[Set] = &[
    Set {
        name: "recommended",
        about: "forced pushes, lost work, deletes outside of the project, secrets, downloads into a shell, sudo, disks, publishing",
        rules: RECOMMENDED,
        force: Force::Guards,
    },
    Set {
        name: "strict",
        about: "more is stopped: any rm -r of sources, sudo, writes outside of the project, commits on main, deletions in the cloud",
        rules: &[
            "no-force-push",
            "protect-main",
            "no-lost-work",
            "no-hook-bypass",
            "no-amend-pushed",
            "no-rm-rf",
            "no-writes-outside",
            "no-env-read",
            "no-credentials",
            "no-secrets",
            "no-curl-sh",
            "no-sudo",
            "no-chmod-777",
            "no-disk-writes",
            "no-docker-prune",
            "ask-before-deploy",
            "ask-before-destroy",
            "ask-before-cloud-delete",
            "sql-needs-where",
        ],
        force: Force::Guards,
    },
    Set {
        name: "watch",
        about: "the recommended rules only observe: what they would stop is noted, and nothing is stopped",
        rules: RECOMMENDED,
        force: Force::Observes,
    },
];

impl Set {
    /// The set of this name.
    pub fn by_name(name: &str) -> Option<&'static Set> {
        SETS.iter().find(|set| set.name == name)
    }

    /// Its rules.
    pub fn rules(&self) -> impl Iterator<Item = &'static Rule> {
        self.rules
            .iter()
            .filter_map(|name| RULES.iter().find(|rule| rule.name == *name))
    }

    /// Whether it has a rule.
    pub fn has(&self, rule: &Rule) -> bool {
        self.rules.contains(&rule.name)
    }

    /// Whether its rules only observe.
    pub fn observes(&self) -> bool {
        self.force == Force::Observes
    }

    /// The files of a rule in this set: their names and texts. Cases say what a rule does that
    /// guards, so one that observes has none.
    pub fn files_of(&self, rule: &Rule) -> Vec<(String, String)> {
        match self.force {
            Force::Guards => rule
                .files()
                .map(|(name, text)| (name, text.to_string()))
                .into(),
            Force::Observes => vec![(format!("{}.yaml", rule.name), rule.observing())],
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_name_rules_that_are_there_and_a_rule_can_observe() {
        for set in SETS {
            assert_eq!(set.rules().count(), set.rules.len(), "{}", set.name);
            for rule in set.rules() {
                let files = set.files_of(rule);
                let observes = files[0]
                    .1
                    .contains("\ndefaults: { observe: true }\nhooks:\n");
                assert_eq!(observes, set.observes(), "{}: {}", set.name, rule.name);
                assert!(files.iter().all(|(_, text)| rule.is_own_text(text)));
            }
        }
        for rule in RULES {
            let text = rule.observing();
            assert_eq!(text.matches("observe: true").count(), 1, "{}", rule.name);
            assert_eq!(text.matches("\ndefaults:").count(), 1, "{}", rule.name);
        }
    }
}
