//! Why an evaluation comes to no value.

/// Why an expression has no value. The text finishes the sentence "`when` failed: ...".
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum EvalError {
    /// A map hasn't this member, or the value that should is null; as the expression names it.
    Missing(String),
    /// No variable has this name.
    Undeclared(String),
    /// The result doesn't fit into 64 bits.
    Overflow,
    /// The expression takes too many steps on this event.
    OverBudget,
    /// Anything else.
    Other(String),
}

impl std::fmt::Display for EvalError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            EvalError::Missing(path) => write!(f, "`{path}` is missing"),
            EvalError::Undeclared(name) => write!(f, "there is no variable `{name}`"),
            EvalError::Overflow => f.write_str("a number doesn't fit into 64 bits"),
            EvalError::OverBudget => f.write_str("it takes too long on this event"),
            EvalError::Other(problem) => f.write_str(problem),
        }
    }
}
