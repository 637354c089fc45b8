//! "Did you mean": the known name that is nearest to an unknown one.

use std::fmt;

/// The candidate that `word` was probably meant to be, if one is near enough.
///
/// Letter case doesn't count, and swapped neighbours are one mistake: `prioirty` → `priority`.
pub fn closest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let n_chars = word.chars().take(65).count();
    if n_chars > 64 {
        return None;
    }
    let allowed = (n_chars / 3).max(1);
    let word = word.to_lowercase();
    let candidates: Vec<&str> = candidates.into_iter().collect();
    let distance = |candidate: &str| strsim::osa_distance(&word, &candidate.to_lowercase());
    let near = candidates.iter().map(|it| (distance(it), *it));
    let nearest = near
        .filter(|(distance, candidate)| {
            // At least one letter must survive.
            *distance <= allowed && *distance < candidate.chars().count()
        })
        .min_by_key(|(distance, _)| *distance);
    // The beginning of just one: `claude` → `claude-code`.
    let mut begun = candidates
        .iter()
        .filter(|it| n_chars >= 3 && it.to_lowercase().starts_with(&word));
    let begun = begun.next().copied().filter(|_| begun.next().is_none());
    match (nearest, begun) {
        // What is long enough is more of a beginning than of another word with some letters wrong.
        (Some((distance, _)), Some(begun)) if distance > 1 && n_chars > 4 => Some(begun),
        (Some((_, nearest)), _) => Some(nearest),
        (None, begun) => begun,
    }
}

/// The end of a message about an unknown name: nothing if no name is near.
pub fn did_you_mean(nearest: Option<impl fmt::Display>) -> String {
    nearest
        .map(|nearest| format!("; did you mean `{nearest}`?"))
        .unwrap_or_default()
}

/// `error` and `errors`: another name, which is no slip.
pub fn differ_in_number(a: &str, b: &str) -> bool {
    a.strip_suffix('s') == Some(b) || b.strip_suffix('s') == Some(a)
}

/// A name that no table has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownName {
    /// What is wrong: "unknown event `x`".
    pub message: String,
    /// The nearest name that there is.
    pub nearest: Option<&'static str>,
    /// What to do if no name is near.
    pub otherwise: String,
}

impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.nearest {
            Some(nearest) => write!(f, "{}; did you mean `{nearest}`?", self.message),
            None => write!(f, "{}; {}", self.message, self.otherwise),
        }
    }
}
