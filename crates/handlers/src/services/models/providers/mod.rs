//! The providers of models: one file and one row each.

mod anthropic;
mod gemini;
mod ollama;
mod openai;
mod wire;

pub(super) use wire::Provider;
#[cfg(feature = "models")]
pub(super) use wire::{Asked, Post, Service};

/// Every provider that a definition may name.
pub(super) static PROVIDERS: [&Provider; 5] = [
    &openai::PROVIDER,
    &anthropic::PROVIDER,
    &gemini::PROVIDER,
    &ollama::PROVIDER,
    &CLIENT,
];

/// Small models, for hooks of systems that judge by one where none is named: the first whose key is
/// there.
#[cfg(feature = "models")]
pub(super) static SMALL: [(&Provider, &str); 3] = [
    (&openai::PROVIDER, "gpt-4o-mini"),
    (&anthropic::PROVIDER, "claude-haiku-4-5"),
    (&gemini::PROVIDER, "gemini-2.5-flash"),
];

/// The agent's own model.
pub(super) static CLIENT: Provider = Provider {
    name: "client",
    example: "client",
    service: None,
};
