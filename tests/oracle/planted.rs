//! Bugs that are put into the shell reader on purpose, one at a time: if the texts don't find them,
//! they wouldn't find a real one either.

use crate::acts::RULES;
use crate::generate::{Kind, Sample};
use crate::judge::Answer;
use crate::reader::{Patch, Program, Reader};
use std::path::Path;

const BUGS: &str = include_str!("planted.txt");

/// The bugs: `# name`, `file: name`, then the place between `<<<<` and `====` and its replacement
/// up to `>>>>`.
pub fn patches(text: &str) -> Vec<Patch> {
    let mut patches = Vec::new();
    let mut rest = text;
    while let Some((head, others)) = rest.split_once("\n<<<<\n") {
        let (find, others) = others.split_once("\n====\n").expect("==== after <<<<");
        let (replace, others) = if let Some(others) = others.strip_prefix(">>>>\n") {
            ("", others)
        } else {
            others.split_once("\n>>>>\n").expect(">>>> after ====")
        };
        let field = |key: &str| {
            head.lines()
                .rev()
                .find_map(|line| line.strip_prefix(key))
                .expect(key)
                .to_owned()
        };
        patches.push(Patch {
            name: field("# "),
            file: field("file: "),
            find: find.into(),
            replace: replace.into(),
        });
        rest = others;
    }
    patches
}

/// The bugs, each of which must have one place in the source as it is now, and the source must
/// compile by itself.
pub fn misplaced(source: &Path) -> Vec<String> {
    let problem = |patch: &Patch| {
        patch
            .apply(source)
            .err()
            .map(|error| format!("{}: {error}", patch.name))
    };
    let alone = Program::build(source, None)
        .err()
        .map(|error| format!("the reader by itself: {error}"));
    patches(BUGS)
        .iter()
        .filter_map(problem)
        .chain(alone)
        .collect()
}

/// Puts each bug in and holds the reader against what the shells did; gives the bugs that nothing
/// found.
pub fn check(source: &Path, recorded: &[(Sample, bool)]) -> Vec<String> {
    let wrong = |reader: &mut Reader, (sample, ran): &(Sample, bool)| match reader.ask(
        RULES[sample.rule].text,
        sample.shell,
        &sample.text,
        Path::new("/nonexistent"),
    ) {
        None => true,
        Some(Answer::No) => *ran,
        Some(_) => sample.kind == Kind::Harmless,
    };
    // It is there as long as its reader is.
    let program = Program::build(source, None).unwrap();
    let mut reader = program.start();
    // What fails without a bug can't show one.
    let good: Vec<&(Sample, bool)> = recorded
        .iter()
        .filter(|row| !wrong(&mut reader, row))
        .collect();
    let (mut found, mut over) = (0, Vec::new());
    let patches = patches(BUGS);
    for patch in &patches {
        let finder = match Program::build(source, Some(patch)) {
            Ok(program) => {
                let mut reader = program.start();
                good.iter().position(|row| wrong(&mut reader, row))
            }
            Err(error) => {
                over.push(format!("{}: {error}", patch.name));
                continue;
            }
        };
        match finder {
            Some(at) => {
                found += 1;
                println!(
                    "found      {} after {at} texts, by {:?}",
                    patch.name, good[at].0.text
                );
            }
            None => {
                println!("NOT FOUND  {}", patch.name);
                over.push(format!(
                    "{}: {} texts don't find it",
                    patch.name,
                    good.len()
                ));
            }
        }
    }
    println!("{found} of {} planted bugs were found", patches.len());
    over
}
