//! The systems whose clients and hooks are served, and programs that have a host within them.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod agent_hook;
mod agentpool;
mod agents;
#[cfg(feature = "history")]
mod always;
mod begin;
mod broken;
mod claude_code;
mod clients;
mod coding_agents;
mod cold_start;
mod driven;
mod embed;
mod examples;
mod file_rules;
#[cfg(feature = "fleet")]
mod fleet;
#[cfg(feature = "fleet")]
mod fleet_acts;
#[cfg(feature = "fleet")]
mod fleet_demo;
#[cfg(feature = "fleet")]
mod fleet_hostile;
#[cfg(feature = "fleet")]
mod fleet_page;
#[cfg(feature = "fleet")]
mod fleet_pool;
#[cfg(feature = "fleet")]
mod fleet_publish;
mod generate;
mod hooks_article;
mod import;
mod inspector;
mod installed;
mod instructor;
mod located;
mod managed;
mod mcp_gateway;
mod no_silence;
mod own_entries;
mod permissions;
mod places;
mod policy;
mod promises;
mod readable;
mod self_defence;
mod standing;
mod starts;
mod together;
mod trust;
mod trust_races;
mod unasked;
mod under_a_clock;
mod watched;
mod workflow_framework;

#[path = "../support/mod.rs"]
mod support;

// The servers of a fleet, which are that crate's tests' own, say by it what is missing.
#[cfg(feature = "fleet")]
use support::skipped;
