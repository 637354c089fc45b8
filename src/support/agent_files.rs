//! Where coding agents keep their settings: what `hookwire install` writes, and what self-defence guards.

use super::places;
use std::path::{Path, PathBuf};

/// The files of one agent.
#[derive(Debug)]
pub struct AgentFiles {
    /// The agent's name.
    pub agent: &'static str,
    /// What people start.
    pub program: &'static str,
    /// What `install` writes, below a project's root and below the user's home: a file, or a directory with a program for
    /// each event.
    pub project: &'static str,
    /// See `project`.
    pub user: &'static str,
    /// What moves the user's folder: a variable, and the part of `user` that it stands for.
    pub moved_by: Option<(&'static str, &'static str)>,
    /// The folders that are the agent's own, wherever they stand.
    pub folders: &'static [&'static str],
    /// What decides which hooks the agent asks, as patterns of paths: at any depth, from the home or from the root.
    pub settings: &'static [&'static str],
}

/// Claude Code.
pub static CLAUDE_CODE: AgentFiles = AgentFiles {
    agent: "claude-code",
    program: "claude",
    // Not settings.json: that is shared with others, for whom the program is elsewhere.
    project: ".claude/settings.local.json",
    user: ".claude/settings.json",
    moved_by: Some(("CLAUDE_CONFIG_DIR", ".claude")),
    folders: &[".claude"],
    settings: &["**/.claude/settings*.json", "/etc/claude-code/**"],
};

/// Codex.
pub static CODEX: AgentFiles = AgentFiles {
    agent: "codex",
    program: "codex",
    project: ".codex/hooks.json",
    user: ".codex/hooks.json",
    moved_by: Some(("CODEX_HOME", ".codex")),
    folders: &[".codex"],
    settings: &["**/.codex/hooks.json", "**/.codex/config.toml", "/etc/codex/**"],
};

/// Gemini CLI.
pub static GEMINI: AgentFiles = AgentFiles {
    agent: "gemini",
    program: "gemini",
    project: ".gemini/settings.json",
    user: ".gemini/settings.json",
    moved_by: None,
    folders: &[".gemini"],
    settings: &["**/.gemini/settings.json", "**/.gemini/trustedFolders.json", "/etc/gemini-cli/**"],
};

/// Qwen Code.
pub static QWEN: AgentFiles = AgentFiles {
    agent: "qwen",
    program: "qwen",
    project: ".qwen/settings.json",
    user: ".qwen/settings.json",
    moved_by: None,
    folders: &[".qwen"],
    settings: &["**/.qwen/settings.json", "**/.qwen/trustedFolders.json", "/etc/qwen-code/**"],
};

/// Copilot.
pub static COPILOT: AgentFiles = AgentFiles {
    agent: "copilot",
    program: "copilot",
    project: ".github/hooks/hookwire.json",
    user: ".copilot/hooks/hookwire.json",
    moved_by: None,
    folders: &[".github/hooks", ".copilot"],
    settings: &["**/.github/hooks/**", "**/.copilot/**"],
};

/// Cline.
pub static CLINE: AgentFiles = AgentFiles {
    agent: "cline",
    program: "cline",
    project: ".cline/hooks",
    user: ".cline/hooks",
    moved_by: None,
    folders: &[".cline"],
    settings: &["**/.cline/hooks/**", "**/.clinerules/hooks/**"],
};

/// OpenCode.
pub static OPENCODE: AgentFiles = AgentFiles {
    agent: "opencode",
    program: "opencode",
    project: ".opencode/plugin/hookwire.js",
    user: ".config/opencode/plugin/hookwire.js",
    moved_by: None,
    folders: &[".opencode", ".config/opencode"],
    settings: &[
        "**/.opencode/plugin/**",
        "**/.opencode/plugins/**",
        "**/opencode.json",
        "**/opencode.jsonc",
        "~/.config/opencode/**",
    ],
};

/// Every agent that hookwire can be installed for.
pub static AGENT_FILES: &[&AgentFiles] = &[&CLAUDE_CODE, &CODEX, &GEMINI, &QWEN, &COPILOT, &CLINE, &OPENCODE];

impl AgentFiles {
    /// What `install --user` writes; nothing without a home.
    pub fn of_user(&self) -> Option<PathBuf> {
        match self.moved() {
            Some((dir, folder)) => {
                let rest = self.user.strip_prefix(folder).unwrap_or(self.user);
                Some(dir.join(rest.trim_start_matches('/')))
            }
            None => Some(places::home()?.join(self.user)),
        }
    }

    /// Where a variable has moved the user's folder to, and which folder that is.
    pub fn moved(&self) -> Option<(PathBuf, &'static str)> {
        let (variable, folder) = self.moved_by?;
        let moved = std::env::var_os(variable).filter(|it| !it.is_empty())?;
        Some((Path::new(&moved).to_path_buf(), folder))
    }
}
