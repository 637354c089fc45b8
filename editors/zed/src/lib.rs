//! Finds `hookwire` and starts it as the language server of definition files. It leaves other YAML,
//! TOML and JSON files alone by itself.

use zed_extension_api::settings::LspSettings;
use zed_extension_api::{Command, Extension, LanguageServerId, Result, Worktree, register_extension};

struct Hookwire;

impl Extension for Hookwire {
    fn new() -> Hookwire {
        Hookwire
    }

    fn language_server_command(&mut self, server: &LanguageServerId, worktree: &Worktree) -> Result<Command> {
        let settings = LspSettings::for_worktree(server.as_ref(), worktree)?.binary;
        let (path, arguments, set) = match settings {
            Some(binary) => (binary.path, binary.arguments, binary.env),
            None => (None, None, None),
        };
        let command = path.or_else(|| worktree.which("hookwire"));
        let command =
            command.ok_or("`hookwire` is not in PATH: `cargo install hookwire`, or set lsp.hookwire.binary.path")?;
        let mut env = worktree.shell_env();
        env.extend(set.into_iter().flatten());
        Ok(Command { command, args: arguments.unwrap_or_else(|| vec!["serve".into()]), env })
    }
}

register_extension!(Hookwire);
