//! What running a hook would do to the world, in words.
