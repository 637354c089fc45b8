//! What the packages bring for shells and `man`.

use super::support::*;
use std::process::Command;

#[test]
fn each_command_has_a_man_page_and_each_shell_a_script_that_it_reads() {
    let dir = tempfile::tempdir().unwrap();
    let share = dir.path().join("usr/share");
    assert!(
        hookwire()
            .args(["generate", "share"])
            .arg(&share)
            .status()
            .unwrap()
            .success()
    );
    let help = String::from_utf8(hookwire().arg("--help").output().unwrap().stdout).unwrap();
    let commands = help
        .split("Start:\n")
        .nth(1)
        .unwrap()
        .split("Global options:\n")
        .next()
        .unwrap()
        .lines();
    let commands = commands.filter_map(|line| line.strip_prefix("  ")?.split_once(' '));
    let commands: Vec<_> = commands
        .filter(|(name, _)| name.starts_with(|c: char| c.is_ascii_lowercase()))
        .collect();
    assert!(commands.len() >= 20, "{help}");
    for (command, about) in commands {
        let page =
            std::fs::read_to_string(share.join(format!("man/man1/hookwire-{command}.1"))).unwrap();
        let page = page.replace("\\-", "-").replace("\\*(Aq", "'");
        assert!(
            page.contains(&format!("hookwire-{command} - {}", about.trim())),
            "{about}: {page}"
        );
        let help = hookwire().args([command, "--help"]).output().unwrap();
        assert!(
            String::from_utf8(help.stdout)
                .unwrap()
                .starts_with(about.trim()),
            "{command}"
        );
    }
    let serve = std::fs::read_to_string(share.join("man/man1/hookwire-serve.1")).unwrap();
    assert!(serve.contains("\\-\\-idle\\-exit"), "{serve}");
    for (shell, script) in [
        ("bash", "bash-completion/completions/hookwire"),
        ("zsh", "zsh/site-functions/_hookwire"),
        ("fish", "fish/vendor_completions.d/hookwire.fish"),
    ] {
        let script = share.join(script);
        let text = std::fs::read_to_string(&script).unwrap();
        assert!(text.contains("idle-exit"), "{shell}: {text}");
        if is_there(shell) {
            assert!(
                Command::new(shell)
                    .arg("-n")
                    .arg(&script)
                    .status()
                    .unwrap()
                    .success(),
                "{shell}"
            );
        }
        let said = hookwire()
            .args(["generate", "completions", shell])
            .output()
            .unwrap();
        assert_eq!(String::from_utf8(said.stdout).unwrap(), text, "{shell}");
    }
}
