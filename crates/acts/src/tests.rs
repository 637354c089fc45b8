use super::*;
use hookwire_testing::rows;
use serde::Deserialize;
use std::path::Path;

/// A place where nobody has a home, and nothing is known of files and links.
fn bare() -> Place<'static> {
    Place::at(Path::new("/p"))
}

fn judgement(pattern: &str, text: &str) -> Judgement {
    judgement_in(Shell::Bash, pattern, text)
}

fn judgement_in(shell: Shell, pattern: &str, text: &str) -> Judgement {
    let rule = CommandRule::new(pattern).unwrap();
    let place = Place {
        home: Some(Path::new("/home/u")),
        ..bare()
    };
    hits(&[&rule], &[], &read(text, shell), &place)
}

/// What a rule means: `hit` is certain, `stopped` is hit or in doubt, and all else has `passed`.
#[test]
fn rules_mean_the_act() {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Row {
        rule: String,
        command: String,
        judged: String,
        /// Bash without it.
        shell: Option<String>,
    }
    rows::compare("rules/shell.jsonl", |row: Row| {
        let shell = row.shell.as_deref().map_or(Shell::Bash, Shell::named);
        let found = match judgement_in(shell, &row.rule, &row.command) {
            Judgement::Yes(_) if row.judged == "hit" => "hit",
            Judgement::Yes(_) | Judgement::Doubt(_) => "stopped",
            Judgement::No | Judgement::Delegates(_) => "passed",
        };
        (found.to_string(), row.judged)
    });
}

/// What hides in a lot of text is in doubt.
#[test]
fn a_long_text_hides_no_option_of_code() {
    let long = "x".repeat(64 * 1024);
    for text in [
        "foo LONG; echo 'x: ; git push $(F)' > f; make -f f F=-f",
        "python3 -c 'import os, sys; os.system(\"git push \" + sys.argv[1])' LONG -f",
    ] {
        for filled in [text.replace("LONG", "y"), text.replace("LONG", &long)] {
            assert!(
                matches!(judgement("git push --force*", &filled), Judgement::Doubt(_)),
                "{text}"
            );
        }
    }
}

/// Whatever it is given, it ends soon and without a panic.
#[test]
fn hostile_texts_end() {
    for piece in [
        "(",
        "((",
        "$(",
        "$((",
        "${",
        "\"${",
        "`",
        "\\",
        "\\`",
        "<(",
        "case x in x) ",
        "<<A ",
        "\\\n",
        "{1",
        "a[",
        "$[",
        "eval ",
        "bash -c ",
        "sudo ",
        "a;",
        "$'",
        "[[ ",
        "x=(",
        "echo $((1+",
        "é$(",
        "<<<",
        "if ",
        "f() ",
        "\"$(",
    ] {
        for n in [1, 7, 30, 1000, 15_000 / piece.len()] {
            judgement("git push --force*", &piece.repeat(n));
        }
    }
    // Words that an unknown program is given may each begin a command.
    for (begin, word, end) in [
        ("x=\"", "a $y ", "\"; git $x"),
        ("nope ", "git ", ""),
        ("ls | nope ", "sh ", ""),
        ("ls | env ", "head ", ""),
    ] {
        judgement(
            "git push --force*",
            &format!("{begin}{}{end}", word.repeat(15_000)),
        );
    }
    let long = judgement("git push", &"a;".repeat(MAX_TEXT));
    assert_eq!(
        long,
        Judgement::Doubt(Doubt {
            why: "the text is too long",
            at: 0..0
        })
    );
    let pieces: Vec<char> = "$(){}[]<>|&;'\"`\\ \n#=*ag1é!-".chars().collect();
    let mut seed = 1u64;
    for _ in 0..20_000 {
        let mut text = String::new();
        for _ in 0..24 {
            seed = seed
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            text.push(pieces[(seed >> 33) as usize % pieces.len()]);
        }
        judgement("git push --force*", &text);
    }
}

/// A character of several bytes may stand anywhere, and must not be cut.
#[test]
fn characters_of_several_bytes_are_no_panic() {
    #[derive(Deserialize)]
    struct Command {
        command: String,
    }
    judgement("rm -rf *", "printf '%s' o rm -rf x  '\u{a0}sh rm -rf'");
    let rules =
        ["git push --force*", "rm -rf *", "curl * | sh"].map(|it| CommandRule::new(it).unwrap());
    let texts = ["corpora/shell_evasions.jsonl", "corpora/covers.jsonl"]
        .into_iter()
        .flat_map(rows::rows::<Command>);
    for text in texts.map(|(_, row)| row.command) {
        let ends = text.char_indices().map(|(at, c)| at..at + c.len_utf8());
        let places: Vec<_> = ends
            .filter(|it| !text[it.clone()].starts_with(char::is_alphanumeric))
            .collect();
        for (number, at) in places
            .iter()
            .enumerate()
            .step_by(places.len().div_ceil(24).max(1))
        {
            let sign = ["\u{a0}", "é", "…", "\u{3000}"][number % 4];
            let text = format!("{}{sign}{}", &text[..at.start], &text[at.end..]);
            for shell in [Shell::Bash, Shell::Posix] {
                let script = read(&text, shell);
                hits(
                    &[&rules[0], &rules[1], &rules[2]],
                    &[&rules[1]],
                    &script,
                    &bare(),
                );
                covers(&[&rules[0], &rules[1]], &[&rules[2]], &script, &bare());
            }
        }
    }
}

/// What a rule that allows covers, and what no `*` of it does.
#[test]
fn covers_what_it_names() {
    #[derive(Deserialize)]
    struct Row {
        rule: String,
        command: String,
        covers: bool,
    }
    rows::compare("corpora/covers.jsonl", |row: Row| {
        let rule = CommandRule::new(&row.rule).unwrap();
        let judged = covers(&[&rule], &[], &read(&row.command, Shell::Bash), &bare());
        (matches!(judged, Judgement::Yes(_)), row.covers)
    });
}

/// Whoever asks what a text writes by redirections finds all of it at its commands.
#[test]
fn every_redirection_that_writes_is_listed() {
    for (text, written) in [
        ("ls", ""),
        ("> f", "f"),
        ("ls > f 2>> g < h", "f g"),
        ("\"\" > f; '' > g; ~ > h; $HOME > i", "f g h i"),
        ("{ cd x && ls > a; } > f", "f x/a"),
        ("cd y; > g", ",y/g"),
        ("(cd x && ls > a); > ~/g; > /h", "x/a ~/g /h"),
        (
            "for i in a; do ls; done > f; while ls; do ls; done > g; if ls; then ls; fi > h",
            "f g h",
        ),
        (
            "[[ x ]] > f; ((1)) > g; case x in x) ls;; esac > h; exec > i",
            "f g h i",
        ),
        ("f() { ls; } > f; f", "f"),
        ("ls $(> f) \"`> g`\" <(> h); a=$(ls > i)", "f g h i"),
        ("> $f; ls > *; cd $x; > g", "? ? ?/g"),
        ("bash -c '> f'; eval '> g'; trap '> h' EXIT", "f g ?/h ?/h"),
    ] {
        let script = read(text, Shell::Bash);
        let listed = script
            .commands()
            .iter()
            .filter(|command| command.writes())
            .flat_map(|command| {
                let Some(files) = command.files_written() else {
                    return vec!["?".to_string()];
                };
                let directories = command.directories().map(|it| it.collect::<Vec<_>>());
                let from = |file: &Word| match (&directories, &*file.path()) {
                    (_, path) if path.starts_with(['/', '~']) => path.to_string(),
                    (None, path) => format!("?/{path}"),
                    (Some(all), path) => format!("{}/{path}", all.join(","))
                        .trim_start_matches('/')
                        .to_string(),
                };
                files.iter().map(from).collect::<Vec<_>>()
            });
        assert_eq!(listed.collect::<Vec<_>>().join(" "), written, "{text}");
    }
}

/// One environment says where the home is, and the password database another.
fn given() -> [Arc<Environment>; 2] {
    let home_of = |user: &str| (user == "root").then(|| "/root".to_string());
    let environment = |home: &'static str| {
        let value = move |name: &str| match name {
            "HOME" => Some(home.to_string()),
            "USER" => Some("u".into()),
            "UID" => Some("7".into()),
            _ => None,
        };
        Arc::new(Environment::new(value, Box::new(home_of)))
    };
    ["/home/u", "/app/v"].map(environment)
}

/// What a text is given is known wherever a shell expands it, in each of the environments that it
/// may run in.
#[test]
fn what_a_text_is_given_is_known() {
    for (text, files) in [
        ("cat $HOME/x", "/home/u/x /app/v/x"),
        ("k=$HOME/x; cat \"$k\"", "/home/u/x /app/v/x"),
        ("a=~; b=$a/y; cat \"${b%y}x\"", "/home/u/x /app/v/x"),
        (
            "dd of=$HOME/x; dd of=~/y",
            "/home/u/x /home/u/y /app/v/x /app/v/y",
        ),
        (
            "cat ${HOME%/}/x; > ~/y",
            "/home/u/y /app/v/y /home/u/x /app/v/x",
        ),
        ("cat \"$(printenv HOME)/x\"", "/home/u/x /app/v/x"),
        ("cd && cat x; cd ~root && cat y", "/home/ux /rooty /app/vx"),
        (
            "cat ~root/x ~nobody/x '~root/x' \"~\"root/x",
            "/root/x ~nobody/x ~root/x ~root/x",
        ),
        ("x=a:~root/x; cat ${x#a:}; dd if=~root/y", "/root/x /root/y"),
        ("cat /srv/$USER/$UID", "/srv/u/7"),
        ("HOME=/h; cat $HOME/x ~/x", "/h/x /h/x"),
        ("HOME=/h cat ~/x", "/h/x /home/u/x /app/v/x"),
        ("[ a ] && HOME=/h; cat ~/x", "/h/x /home/u/x /app/v/x"),
        ("cat '$HOME/x' '$x'", "$HOME/x $x"),
        ("cat x", "x"),
    ] {
        let (script, _) = read_given(text, Shell::Bash, MAX_WORK, &given());
        assert!(script.names_all(), "{text}");
        let acts = script.file_acts();
        let certain = acts
            .iter()
            .filter(|act| act.certainty == Certainty::Certain);
        let named = certain.map(|act| match act.named() {
            Named::Path(path) => act
                .directories()
                .unwrap()
                .map(|it| format!("{it}{path}"))
                .collect::<String>(),
            other => format!("{other:?}"),
        });
        assert_eq!(named.collect::<Vec<_>>().join(" "), files, "{text}");
    }
}

/// To allow, what a text does must be named in each of the environments that it may run in.
#[test]
fn an_allow_names_both_homes() {
    let rules = ["cat /home/u/**", "cat /app/**"].map(|it| CommandRule::new(it).unwrap());
    for (text, first, both) in [
        ("cat $HOME/x", false, true),
        ("cat /home/u/x", true, true),
        ("ls | cat ~/x", false, false),
    ] {
        let (script, _) = read_given(text, Shell::Bash, MAX_WORK, &given());
        let is_covered = |rules: &[&CommandRule]| {
            matches!(covers(rules, &[], &script, &bare()), Judgement::Yes(_))
        };
        assert_eq!(
            (
                is_covered(&[&rules[0]]),
                is_covered(&[&rules[0], &rules[1]])
            ),
            (first, both),
            "{text}"
        );
        let one = hits(&[&rules[1]], &[], &script, &bare());
        assert_eq!(
            matches!(one, Judgement::Yes(_)),
            text != "cat /home/u/x",
            "{text}"
        );
    }
}

/// What another shell would make of a text isn't read, and files are in doubt as commands are.
#[test]
fn a_text_for_another_shell_is_in_doubt_for_files() {
    for (text, shell, is_read) in [
        ("cat .env", Shell::Other, true),
        ("cat .e*", Shell::Other, false),
        ("cat .e\"n\"v", Shell::Other, false),
        ("fish -c 'cat .e*'", Shell::Bash, false),
        ("fish -c 'cat .env'", Shell::Bash, true),
        ("cat $OLDPWD/x", Shell::Bash, false),
        ("cat ~-/x", Shell::Bash, false),
        ("d=$OLDPWD; cat $d/x", Shell::Bash, false),
        ("cat ${HOME/[a-c]/b}/x", Shell::Bash, false),
        ("cat $DIR/x", Shell::Bash, true),
    ] {
        let (script, _) = read_given(text, shell, MAX_WORK, &given());
        let is_any = |act: &FileAct| act.reach == Reach::Any && act.certainty != Certainty::Certain;
        assert_eq!(script.file_acts().iter().any(is_any), !is_read, "{text}");
    }
}
