//! Whether a program that ran was the act of a rule. It judges an argument list as the program
//! itself would, and shares nothing with the code under test.

/// A rule and the act that it means.
pub struct Rule {
    pub text: &'static str,
    pub is_act: fn(&[String]) -> bool,
    /// Spellings of the act, as argument lists.
    pub spellings: &'static [&'static [&'static str]],
}

pub static RULES: &[Rule] = &[
    Rule {
        text: "Bash(git push --force*)",
        is_act: forced_push,
        spellings: &[
            &["git", "push", "--force"],
            &["git", "push", "--force"],
            &["git", "push", "--force"],
            &["git", "push", "-f"],
            &["git", "push", "-uf", "origin", "main"],
            &["git", "push", "-fu", "origin", "main"],
            &["git", "push", "-q", "--force"],
            &["git", "push", "origin", "+main"],
            &["git", "push", "origin", "main", "--force"],
            &["git", "push", "--force-with-lease"],
            &["git", "push", "--force-with-lease=main", "origin"],
            &["git", "push", "--mirror", "origin"],
            &["git", "push", "--set-upstream", "origin", "main", "-f"],
            &["git", "push", "-o", "ci.skip", "--force"],
            &["git", "push", "--push-option", "--force", "-f"],
            &["git", "push", "origin", "--", "+main"],
            &["git", "-C", ".", "push", "--forc"],
            &["git", "-c", "user.name=x", "push", "--force"],
            &["git", "--git-dir=.git", "--no-pager", "push", "--force"],
            &["/usr/bin/git", "push", "--force"],
        ],
    },
    Rule {
        text: "Bash(rm -rf *)",
        is_act: forced_removal,
        spellings: &[
            &["rm", "-rf", "x"],
            &["rm", "-fr", "x"],
            &["rm", "-r", "-f", "x"],
            &["rm", "x", "-rf"],
            &["rm", "-Rvf", "--", "x"],
            &["rm", "--recursive", "--force", "x"],
            &["rm", "--rec", "x", "--fo"],
            &["/bin/rm", "-rf", "/x"],
        ],
    },
    Rule {
        text: "Bash(curl *)",
        is_act: |argv| argv.first().is_some_and(|name| name == "curl"),
        spellings: &[
            &["curl", "x"],
            &["curl", "-s", "http://x/"],
            &["/usr/bin/curl", "x"],
            &["curl"],
        ],
    },
];

/// Whether one of the programs that ran was the act.
pub fn happened(rule: &Rule, ran: &[Vec<String>]) -> bool {
    ran.iter().any(|argv| (rule.is_act)(argv))
}

/// Whether `option` is `--name`, cut short no further than to `shortest`, with or without a value.
fn is_option(option: &str, name: &str, shortest: &str) -> bool {
    let written = option.split('=').next().unwrap_or_default();
    written.len() >= shortest.len() && name.starts_with(written)
}

fn forced_push(argv: &[String]) -> bool {
    let mut words = argv.iter().map(String::as_str);
    if words.next() != Some("git") {
        return false;
    }
    let mut aliases = Vec::new();
    let command = loop {
        match words.next() {
            Some("-c") => aliases.extend(
                words
                    .next()
                    .and_then(|setting| setting.strip_prefix("alias.")),
            ),
            Some(
                "-C" | "--git-dir" | "--work-tree" | "--namespace" | "--exec-path"
                | "--super-prefix" | "--config-env" | "--attr-source",
            ) => {
                words.next();
            }
            Some(option) if option.starts_with('-') => {}
            Some(command) => break command,
            None => return false,
        }
    };
    let rest: Vec<&str> = words.collect();
    if command == "push" {
        return forces(&rest);
    }
    aliases
        .iter()
        .filter_map(|setting| setting.split_once('='))
        .any(|(name, meaning)| {
            let mut meaning = meaning.split_whitespace();
            name == command
                && meaning.next() == Some("push")
                && forces(&meaning.chain(rest.iter().copied()).collect::<Vec<_>>())
        })
}

/// Whether the arguments of `git push` ask for a forced push.
fn forces(arguments: &[&str]) -> bool {
    let mut arguments = arguments.iter().copied();
    let (mut forced, mut refspecs) = (false, false);
    while let Some(argument) = arguments.next() {
        if refspecs || !argument.starts_with('-') || argument == "-" {
            forced |= argument.starts_with('+');
        } else if argument == "--" {
            refspecs = true;
        } else if !argument.starts_with("--") {
            for (at, letter) in argument.char_indices().skip(1) {
                // Git refuses to run with an option that it doesn't know.
                if !"46dfnoquv".contains(letter) {
                    return false;
                }
                forced |= letter == 'f';
                if letter == 'o' {
                    if at + 1 == argument.len() {
                        arguments.next();
                    }
                    break;
                }
            }
        } else if argument.contains('=')
            && (is_option(argument, "--force", "--for") || is_option(argument, "--mirror", "--m"))
        {
            // Git refuses a value for an option that takes none.
            return false;
        } else if argument.starts_with("--force")
            || is_option(argument, "--force", "--for")
            || is_option(argument, "--mirror", "--m")
        {
            forced = true;
        } else if argument == "--no-force" {
            forced = false;
        } else if argument == "--help" || argument == "--help-all" {
            // Git says how it is used, and does nothing else.
            return false;
        } else if !argument.contains('=')
            && [
                ("--push-option", "--pu"),
                ("--repo", "--rep"),
                ("--receive-pack", "--rece"),
                ("--exec", "--e"),
                ("--recurse-submodules", "--recu"),
            ]
            .iter()
            .any(|(name, shortest)| is_option(argument, name, shortest))
        {
            arguments.next();
        }
    }
    forced
}

fn forced_removal(argv: &[String]) -> bool {
    let Some((name, arguments)) = argv.split_first() else {
        return false;
    };
    let options = || {
        arguments
            .iter()
            .take_while(|argument| *argument != "--")
            .filter(|argument| argument.starts_with('-'))
    };
    let has = |letters: &[char], name: &str, shortest: &str| {
        options().any(|option| {
            if option.starts_with("--") {
                is_option(option, name, shortest)
            } else {
                option.contains(letters)
            }
        })
    };
    // With an option that it doesn't know, rm removes nothing.
    let is_known = |option: &&String| {
        option.starts_with("--") || option[1..].bytes().all(|it| b"dfiIrRv".contains(&it))
    };
    name == "rm"
        && options().all(|option| is_known(&option))
        && has(&['r', 'R'], "--recursive", "--r")
        && has(&['f'], "--force", "--f")
}
