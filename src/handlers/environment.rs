//! What child processes get of the host's environment, and what of it must not be read elsewhere.

use super::compile::Mistake;
use std::collections::BTreeMap;

/// What a command gets of the host's environment without being asked for.
pub(super) const DEFAULT_ENV: [&str; 7] = ["PATH", "HOME", "USER", "LANG", "TZ", "TMPDIR", "SHELL"];

/// What a program gets of the host's environment, with what its definition sets.
pub(super) fn environment(set: BTreeMap<String, String>, inherit: &[String]) -> Result<Vec<(String, String)>, Mistake> {
    for name in set.keys().chain(inherit) {
        if name.is_empty() || name.contains(['=', '\0']) {
            return Err(Mistake::new("env", format!("`{name}` can't be the name of a variable")));
        }
    }
    let inherited = std::env::vars_os().filter_map(|(name, value)| {
        let (name, value) = (name.into_string().ok()?, value.into_string().ok()?);
        let wanted = DEFAULT_ENV.contains(&name.as_str()) || name.starts_with("LC_") || inherit.contains(&name);
        wanted.then_some((name, value))
    });
    let mut env: BTreeMap<String, String> = inherited.collect();
    env.extend(set);
    Ok(env.into_iter().collect())
}

/// The variables of a program's environment that it doesn't have from the host's.
pub(super) fn changed(env: &[(String, String)]) -> Vec<String> {
    let is_host = |(name, value): &&(String, String)| std::env::var(name).is_ok_and(|it| it == *value);
    env.iter().filter(|it| !is_host(it)).map(|(name, _)| name.clone()).collect()
}

/// Values that must not be in a log or an error.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Secrets(Vec<String>);

/// A shorter value is no secret, and masking `1` would leave nothing to read.
const SHORTEST_SECRET: usize = 4;

impl Secrets {
    /// The lines of these values, since a log is read by lines.
    fn new<'a>(values: impl Iterator<Item = &'a str>) -> Secrets {
        let lines = values.flat_map(str::lines).map(str::trim).filter(|line| line.len() >= SHORTEST_SECRET);
        let mut lines: Vec<String> = lines.map(str::to_string).collect();
        // One that contains another goes first.
        lines.sort_by_key(|line| std::cmp::Reverse(line.len()));
        lines.dedup();
        Secrets(lines)
    }

    /// The values that a definition sets or takes over by name.
    pub(super) fn from_definition(
        env: &[(String, String)],
        set: &BTreeMap<String, String>,
        inherit: &[String],
    ) -> Secrets {
        let is_named = |name: &str| set.contains_key(name) || inherit.iter().any(|it| it == name);
        let named = env.iter().filter(|(name, _)| is_named(name) && !DEFAULT_ENV.contains(&name.as_str()));
        Secrets::new(named.map(|(_, value)| value.as_str()))
    }

    /// The text without them.
    pub(super) fn mask(&self, text: &str) -> String {
        self.0.iter().fold(text.to_string(), |text, secret| {
            if text.contains(secret) { text.replace(secret, "[masked]") } else { text }
        })
    }
}
