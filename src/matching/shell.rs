//! What shell texts do, and rules over it: the crate `hookwire-acts`, by the name that it has here.

pub use hookwire_acts::*;
