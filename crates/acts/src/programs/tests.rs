use super::Names;
use super::inline::starts_nothing;
use super::options::{BY_NAME, TABLE};

/// The words of the columns that the top of the table explains.
const HABITS: &str = "\
    getopt posix git go cobra clap argparse npm word none - sub stop stop+1 deep short bundle each number through \
    needs first scripts toolchain";
const MARKS: &str =
    "command text until words program setting config unit pipe moves joined shows code";
const RUNS: &str = "\
    data files own shell code input decodes runner client entry stays instead named again rest rest+1 optional sets \
    clears bare joined here itself elsewhere unseen package flake environment image partly filter filter+1 filter+2";

/// A word that nothing reads is a slip of the pen.
#[test]
fn every_word_of_the_table_is_read() {
    let is_one = |all: &str, word: &str| all.split_whitespace().any(|it| it == word);
    let mut paths = std::collections::HashSet::new();
    for line in TABLE.lines().filter(|line| !line.starts_with('#')) {
        let columns: Vec<&str> = line.split('\t').collect();
        let column = |at: usize| {
            columns
                .get(at)
                .copied()
                .unwrap_or_default()
                .split(' ')
                .filter(|it| !it.is_empty())
        };
        assert!(columns.len() <= 7, "{line}");
        assert!(
            columns[1]
                .split(',')
                .all(|it| it.is_empty() || is_one(HABITS, it)),
            "{line}"
        );
        for option in column(2) {
            let (names, marks) = option.split_once('!').unwrap_or((option, ""));
            assert!(
                marks
                    .split('!')
                    .all(|it| it.is_empty() || is_one(MARKS, it)),
                "{option} in {line}"
            );
            assert!(
                names.split(',').all(|it| it.len() > 1),
                "{option} in {line}"
            );
        }
        let is_known = |it: &str| {
            is_one(RUNS, it)
                || ["code:", "but:", "minds:"]
                    .iter()
                    .any(|of| it.starts_with(of))
        };
        assert!(column(4).all(is_known), "{line}");
        // A shell finds its builtins behind what it runs where it is.
        let is_precommand = |name: &str| Names::new("precommands").has(name);
        assert!(
            column(4).all(|it| it != "here") || columns[0].split('|').all(is_precommand),
            "{line}"
        );
        for act in column(5).filter_map(|it| it.strip_prefix("as:").or(it.strip_prefix("name:"))) {
            let program = act.split(' ').next().unwrap_or_default();
            assert!(BY_NAME.contains_key(program), "{line}");
        }
        let (before, last) = columns[0].rsplit_once(' ').unwrap_or(("", columns[0]));
        for name in last.split('|') {
            assert!(paths.insert((before, name)), "{name} has two lines: {line}");
        }
    }
}

#[test]
fn code_that_starts_nothing() {
    for (interpreter, code, expected) in [
        (
            "python3",
            "import json\nd = json.load(open('p'))\nd['scripts']['x'] = 'rm -rf dist'",
            true,
        ),
        ("python", "print('git push')", true),
        (
            "python3.11",
            "from pathlib import Path\nPath('a').write_text('git push')",
            true,
        ),
        ("python3", "import os; os.system('git push')", false),
        (
            "python3",
            "import os; os . execvp('git', ['git', 'push'])",
            false,
        ),
        ("python3", "import plumbum", false),
        ("python3", "import json, sh", false),
        ("python3", "if 1: import sh", false),
        ("python3", "import os; o = os.__dict__", false),
        ("python3", "import os\nos.\u{17f}ystem('x')", false),
        (
            "python3",
            "import os, operator; operator.attrgetter('sys' + 'tem')(os)('x')",
            false,
        ),
        (
            "python3",
            "import os, string; string.Formatter().get_field('0.sys' + 'tem', [os], {})[0]('x')",
            false,
        ),
        ("python3", "import os; vars (os)['sys' + 'tem']('x')", false),
        (
            "python3",
            "import sys; sys._getframe().f_builtins['ev' + 'al']('x')",
            false,
        ),
        (
            "python3",
            "# coding: unicode_escape\nimport os; os.s\\x79stem('x')",
            false,
        ),
        ("node", "require('child_' + 'process')", false),
        ("node", "[]['con' + 'structor']", false),
        ("perl", "print 1", false),
    ] {
        assert_eq!(starts_nothing(interpreter, code), expected, "{code}");
    }
}
