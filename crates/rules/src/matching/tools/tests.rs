use super::*;
use hookwire_testing::rows;
use serde::Deserialize;
use serde_json::json;

#[test]
fn every_line_of_the_table_is_a_family() {
    let n_lines = include_str!("../tools.txt")
        .lines()
        .filter(|line| !line.starts_with('#'))
        .count();
    assert_eq!(TOOLS.len(), n_lines);
    assert!(
        TOOLS
            .iter()
            .all(|tool| !tool.arguments.contains(&"") && !tool.names.contains(&""))
    );
}

#[test]
fn a_name_has_one_family() {
    let names = |tool: &'static Tool| [tool.name].into_iter().chain(tool.names.iter().copied());
    let mut all: Vec<_> = TOOLS
        .iter()
        .flat_map(names)
        .chain(PATCH_NAMES.iter().copied())
        .collect();
    for (family, names) in AGENTS.iter().flat_map(|agent| &agent.tools) {
        assert!(
            super::family(family).is_some() || family == PATCH,
            "{family}"
        );
        all.extend(names.split(' '));
    }
    for name in &all {
        assert_eq!(all.iter().filter(|it| it == &name).count(), 1, "{name}");
    }
}

/// Whatever a coding agent calls a tool, a rule for its kind holds.
#[test]
fn tools_of_agents() {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Agent {
        #[serde(rename = "agent")]
        _name: String,
        family: String,
        names: Vec<String>,
    }
    rows::compare("rules/families.jsonl", |row: Agent| {
        let found: Vec<_> = row
            .names
            .iter()
            .map(|name| Row::of(name).families().to_vec())
            .collect();
        (
            found.iter().map(|it| it.join("|")).collect(),
            vec![row.family; row.names.len()],
        )
    });
    for member in [
        "file_path",
        "filePath",
        "absolute_path",
        "path",
        "dir_path",
        "dirPath",
    ] {
        let input = json!({ member: "/a" });
        assert_eq!(
            Row::of("read_file").main_path(&input),
            MainArgument::Is("/a".into()),
            "{member}"
        );
    }
}

/// What a call is about, where that is one argument, one path or one command.
#[test]
fn main_arguments() {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Input {
        tool: String,
        input: Value,
        argument: Option<String>,
        path: Option<String>,
        command: Option<String>,
    }
    let told = |found: MainArgument<'_>| match found {
        MainArgument::Is(text) => format!("is {text}"),
        MainArgument::Unclear => "unclear".into(),
        MainArgument::Absent => "absent".into(),
    };
    rows::compare("rules/main_arguments.jsonl", |row: Input| {
        let of = Row::of(&row.tool);
        let argument = || {
            main_argument(&row.tool, &row.input)
                .map_or(MainArgument::Unclear, |(_, it)| MainArgument::Is(it))
        };
        let found = [
            row.argument.as_ref().map(|_| told(argument())),
            row.path.as_ref().map(|_| told(of.main_path(&row.input))),
            row.command
                .as_ref()
                .map(|_| told(of.main_command(&row.input))),
        ];
        assert!(
            found.iter().any(Option::is_some),
            "{}: the row expects nothing",
            row.input
        );
        (found, [row.argument, row.path, row.command])
    });
}

#[test]
fn patches_name_files() {
    let patch = "*** Begin Patch\n*** Add File: a\n+*** Add File: no\n*** Update File: b\n*** Move to: c\n@@\n*** Delete File: d\n*** End Patch";
    assert_eq!(
        files_of_patch(patch),
        [("Write", "a"), ("Edit", "b"), ("Write", "c"), ("Edit", "d")]
    );
    assert_eq!(unknown_headers(patch).count(), 0);
    assert_eq!(
        files_of_patch("*** Update File:.env\n\u{feff}*** Add File: a"),
        [("Edit", ".env"), ("Write", "a")]
    );
    assert!(unknown_headers("*** Begin Patch\n+*** a\n*** Copy File: b").eq(["*** Copy File: b"]));
}
