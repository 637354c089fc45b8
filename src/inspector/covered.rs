//! Which case reaches which hook of a host: so much of `hookwire test` as can be told without
//! starting anything.

use super::problem::Answer;
use hookwire_base::support::places;
use hookwire_engine::definitions::cases::{Beside, Case, Reach, Scene, beside, directory, reach};
use hookwire_engine::host::{Host, HostOptions, LastGood, Projects, Purpose};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Definition files that are looked at, and how long that may take.
const MAX_FILES: usize = 1000;
const LOOK_TIME: Duration = Duration::from_secs(10);
/// Cases that are named for a hook.
const MAX_CASES: usize = 100;

/// Gives for each hook of a host, as `hooks/list` has them, the cases beside its file that reach
/// it, and for each file where its cases are or would be. The files are read as they are now.
pub(super) fn covering_cases(listed: &Value, root: &Path) -> Answer {
    let mut files: BTreeMap<PathBuf, BTreeSet<&str>> = BTreeMap::new();
    for hook in listed["hooks"].as_array().into_iter().flatten() {
        let place = hook["source"]["file"]
            .as_str()
            .map(Path::new)
            .filter(|it| it.is_absolute());
        let (Some(file), Some(name)) = (place, hook["name"].as_str()) else {
            continue;
        };
        files.entry(file.to_path_buf()).or_default().insert(name);
    }
    let until = Instant::now() + LOOK_TIME;
    let is_cut = files.len() > MAX_FILES;
    let mut look = Look {
        root,
        until,
        is_partial: is_cut,
        beside: HashMap::new(),
        hooks: Vec::new(),
        files: Vec::new(),
    };
    for (file, names) in files.into_iter().take(MAX_FILES) {
        look.look_at(&file, &names);
    }
    Ok(json!({ "hooks": look.hooks, "files": look.files, "partial": look.is_partial }))
}

struct Look<'a> {
    root: &'a Path,
    until: Instant,
    /// Not everything was looked at.
    is_partial: bool,
    beside: HashMap<PathBuf, Vec<Beside>>,
    hooks: Vec<Value>,
    files: Vec<Value>,
}

impl Look<'_> {
    fn look_at(&mut self, file: &Path, names: &BTreeSet<&str>) {
        let dir = directory(file).to_path_buf();
        let all = self
            .beside
            .entry(dir.clone())
            .or_insert_with(|| beside(&dir));
        let about: Vec<&Beside> = all.iter().filter(|it| it.is_about(file)).collect();
        let problems: Vec<&String> = about
            .iter()
            .filter_map(|it| it.cases.as_ref().err())
            .collect();
        // The way to the first case: the file that is there, else the one that would be found.
        let own = about
            .first()
            .map(|about| about.path.clone())
            .unwrap_or_else(|| file.with_extension("test.yaml"));
        self.files.push(
            json!({ "file": file, "cases": own.to_string_lossy(), "isThere": !about.is_empty(), "problems": problems }),
        );
        if !about
            .iter()
            .any(|it| it.cases.as_ref().is_ok_and(|cases| !cases.is_empty()))
        {
            return;
        }
        let host = Host::new(HostOptions {
            root: self.root.into(),
            hooks: vec![file.to_path_buf()],
            projects: Projects::None,
            system: false,
            last_good: LastGood::Ignored,
            purpose: Purpose::Replay,
            ..HostOptions::default()
        });
        let set = host.hooks();
        let hooks: Vec<_> = set
            .hooks
            .iter()
            .filter(|hook| names.contains(&*hook.name) && Path::new(&*hook.source.file) == file)
            .collect();
        let home = places::home().unwrap_or_else(|| PathBuf::from("/"));
        let scene = Scene {
            dir: self.root,
            home: &home,
            files: &dir,
            session: "inspect",
        };
        let mut found = vec![Vec::new(); hooks.len()];
        for (path, case) in about
            .iter()
            .flat_map(|it| it.cases.iter().flatten().map(|case| (&it.path, case)))
        {
            if Instant::now() > self.until {
                self.is_partial = true;
                break;
            }
            for (found, reach) in found
                .iter_mut()
                .zip(reach(case, &scene, &set.tool_names, &hooks))
            {
                if reach != Reach::No && found.len() < MAX_CASES {
                    found.push(case_value(path, case, reach));
                }
            }
        }
        let told = hooks.iter().zip(found);
        self.hooks.extend(
            told.map(|(hook, cases)| json!({ "hook": hook.name, "file": file, "cases": cases })),
        );
    }
}

/// A case as pages know it.
fn case_value(path: &Path, case: &Case, reach: Reach) -> Value {
    let expect = case.expected().map(ToString::to_string);
    json!({ "file": path.to_string_lossy(), "line": case.line, "name": case.name, "expect": expect, "maybe": reach == Reach::Perhaps })
}
