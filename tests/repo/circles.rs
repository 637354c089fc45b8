//! No circles: of the modules in one folder, none uses another that comes back to it, in Rust and
//! in the Python client.
//!
//! A folder's own file (`mod.rs`, `__init__.py`) is its front and no module beside the others: it
//! may use all of them, and they may use what it says of the folder as a whole. A name that it only
//! passes on counts as the module's that has it.

use crate::architecture::code;
use crate::support::repo;
use regex::{Captures, Regex};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::LazyLock;

/// A path from the root of a crate or package: of a module, or of something in one.
type Place = Vec<String>;

/// The folders in which circles are left.
const LEFT: &[&str] = &[];

/// What the modules of a crate or package say.
#[derive(Default)]
struct Modules {
    /// The code of each.
    code: BTreeMap<Place, String>,
    /// What the names stand for that a module has from elsewhere.
    imported: BTreeMap<Place, Place>,
}

impl Modules {
    fn read(root: &Path) -> Modules {
        let mut modules = Modules::default();
        modules.add(root, &Place::new());
        for (module, code) in &modules.code {
            for (path, name) in paths(code) {
                if let Some(place) = modules.place(module, &path) {
                    modules.imported.insert(child(module, &name), place);
                }
            }
        }
        modules
    }

    fn add(&mut self, dir: &Path, module: &Place) {
        for entry in std::fs::read_dir(dir).unwrap().map(Result::unwrap) {
            let path = entry.path();
            let name = path.file_stem().unwrap().to_str().unwrap();
            if path.is_dir() {
                self.add(&path, &child(module, name));
                continue;
            }
            let is_front = ["mod", "lib", "__init__"].contains(&name);
            let code = match path.extension().and_then(|it| it.to_str()) {
                Some("rs") if name != "tests" && name != "main" => code(&path),
                Some("py") => in_rust(&std::fs::read_to_string(&path).unwrap(), is_front),
                _ => continue,
            };
            self.code.insert(
                if is_front {
                    module.clone()
                } else {
                    child(module, name)
                },
                code,
            );
        }
    }

    /// The place that a path in a module leads to; `None` if that is in another crate.
    fn place(&self, module: &Place, path: &[String]) -> Option<Place> {
        let (first, mut rest) = path.split_first()?;
        let mut place = match first.as_str() {
            "crate" => Place::new(),
            "self" => module.clone(),
            "super" => module.split_last()?.1.to_vec(),
            child_of_it if self.code.contains_key(&child(module, child_of_it)) => {
                child(module, child_of_it)
            }
            _ => return None,
        };
        while let Some(("super", after)) = rest
            .split_first()
            .map(|(first, after)| (first.as_str(), after))
        {
            place.pop();
            rest = after;
        }
        place.extend_from_slice(rest);
        Some(place)
    }

    /// The place of what a name stands for, however often it is passed on.
    fn origin(&self, mut place: Place) -> Place {
        for _ in 0..8 {
            let passed_on = (1..=place.len()).rev().find_map(|n| {
                let origin = self
                    .imported
                    .get(&place[..n])
                    .filter(|_| !self.code.contains_key(&place[..n]))?;
                Some([origin, &place[n..]].concat())
            });
            match passed_on {
                Some(origin) => place = origin,
                None => break,
            }
        }
        place
    }

    /// Which module of a folder uses which other one, with an example of each.
    fn uses(&self) -> BTreeMap<Use, String> {
        let mut uses = BTreeMap::new();
        for (module, code) in &self.code {
            for place in paths(code)
                .iter()
                .filter_map(|(path, _)| self.place(module, path))
            {
                let place = self.origin(place);
                let n = module
                    .iter()
                    .zip(&place)
                    .take_while(|(ours, theirs)| ours == theirs)
                    .count();
                if n < module.len() && n < place.len() && self.code.contains_key(&place[..=n]) {
                    let each = Use {
                        folder: module[..n].to_vec(),
                        by: module[n].clone(),
                        used: place[n].clone(),
                    };
                    uses.insert(each, format!("{} {}", module.join("::"), place.join("::")));
                }
            }
        }
        uses
    }
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Use {
    folder: Place,
    by: String,
    used: String,
}

/// The uses that are part of a circle or lie between circles.
fn circles(root: &Path) -> Vec<String> {
    let mut uses = Modules::read(root).uses();
    loop {
        let by: BTreeSet<_> = uses
            .keys()
            .map(|it| (it.folder.clone(), it.by.clone()))
            .collect();
        let used: BTreeSet<_> = uses
            .keys()
            .map(|it| (it.folder.clone(), it.used.clone()))
            .collect();
        let n = uses.len();
        // In a circle, everything uses something and is used.
        uses.retain(|it, _| {
            by.contains(&(it.folder.clone(), it.used.clone()))
                && used.contains(&(it.folder.clone(), it.by.clone()))
        });
        if uses.len() == n {
            break;
        }
    }
    let told = |(it, example): (Use, String)| {
        let folder: String = it.folder.iter().map(|name| format!("/{name}")).collect();
        format!("{folder}: {} uses {} ({example})", it.by, it.used)
    };
    uses.into_iter().map(told).collect()
}

fn child(module: &[String], name: &str) -> Place {
    [module, &[name.to_string()]].concat()
}

/// Where a path begins.
static BEGINS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\buse (?<of_use>\w+)|(?:^|[^\w:])(?<alone>(?:crate|super|self)::)").unwrap()
});

/// The paths that a text has, each with the name that it has there.
fn paths(code: &str) -> Vec<(Place, String)> {
    let mut found = Vec::new();
    for begin in BEGINS.captures_iter(code) {
        let start = begin
            .name("of_use")
            .or(begin.name("alone"))
            .unwrap()
            .start();
        read_path(&code[start..], &mut Place::new(), &mut found);
    }
    found
}

/// Reads the path at the beginning of a text, of which some is read already, and gives the rest of
/// the text.
fn read_path<'t>(mut text: &'t str, path: &mut Place, found: &mut Vec<(Place, String)>) -> &'t str {
    let n = path.len();
    if let Some(list) = text.strip_prefix('{') {
        text = list;
        while let Some(item) = text
            .trim_start_matches(|c: char| c == ',' || c.is_whitespace())
            .strip_prefix(is_of_path)
        {
            let item = &text[text.len() - item.len() - 1..];
            text = read_path(item, path, found);
        }
        let end = text.trim_start_matches(|c: char| c == ',' || c.is_whitespace());
        return end.strip_prefix('}').unwrap_or(end);
    }
    let end = text.find(|c: char| !is_of_path(c)).unwrap_or(text.len());
    let (word, rest) = text.split_at(end);
    if word.is_empty() {
        return text;
    }
    if word != "self" || n == 0 {
        path.push(word.to_string());
    }
    text = match rest.strip_prefix("::") {
        Some(rest) => read_path(rest, path, found),
        None => {
            let alias = rest
                .strip_prefix(" as ")
                .map(|it| &it[..it.find(|c| !is_of_path(c)).unwrap_or(it.len())]);
            found.push((
                path.clone(),
                alias.unwrap_or(path.last().unwrap().as_str()).to_string(),
            ));
            alias.map_or(rest, |alias| &rest[" as ".len() + alias.len()..])
        }
    };
    path.truncate(n);
    text
}

fn is_of_path(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '*'
}

/// What a Python module has from others of its package, as Rust would say it.
fn in_rust(code: &str, is_front: bool) -> String {
    let import =
        Regex::new(r"(?m)^\s*from (?<dots>\.+)(?<module>\w*) import (?<names>[\w, ]*)").unwrap();
    let said = |import: Captures<'_>| {
        let up = vec!["super"; import["dots"].len()].join("::");
        let up = if is_front {
            format!("self::{up}").replacen("::super", "", 1)
        } else {
            up
        };
        let what = if import["module"].is_empty() {
            format!("{{{}}}", &import["names"])
        } else {
            import["module"].to_string()
        };
        format!("use {up}::{what};\n")
    };
    import.captures_iter(code).map(said).collect()
}

#[test]
fn no_folder_has_a_circle() {
    let mut roots: Vec<String> = vec!["src".into(), "clients/python/src/hookwire".into()];
    let crates = std::fs::read_dir(repo("crates")).unwrap();
    roots.extend(
        crates.map(|it| format!("crates/{}/src", it.unwrap().file_name().to_str().unwrap())),
    );
    let found = roots.iter().flat_map(|root| {
        circles(&repo(root))
            .into_iter()
            .map(move |it| format!("{root}{it}"))
    });
    let (left, new): (Vec<String>, _) =
        found.partition(|it| LEFT.iter().any(|left| is_in(it, left)));
    assert!(new.is_empty(), "{}", new.join("\n"));
    let gone = LEFT
        .iter()
        .find(|folder| !left.iter().any(|it| is_in(it, folder)));
    assert_eq!(gone, None, "this folder has no circle any more");
}

fn is_in(found: &str, folder: &str) -> bool {
    found
        .strip_prefix(folder)
        .is_some_and(|rest| rest.starts_with(':'))
}

#[test]
fn a_planted_circle_is_found() {
    let planted = [
        ("lib.rs", "mod a;\npub use a::{x, A as Alias};"),
        ("a.rs", "use super::b::{self, One};"),
        ("b/mod.rs", "mod inner;"),
        (
            "b/inner.rs",
            "use crate::{\n    c::{Two, three},\n    std,\n};",
        ),
        (
            "c.rs",
            "// super::d\nfn f() { super::Alias::new() }\n#[cfg(test)]\nmod tests { use super::super::d; }",
        ),
        ("d.rs", "use crate::a;"),
        ("p/__init__.py", "from .one import One"),
        ("p/one.py", "from .two import Two, other\n"),
        ("p/two.py", "def late():\n    from . import one\n"),
        ("p/q/__init__.py", ""),
        ("p/q/three.py", "from ..one import One"),
    ];
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in planted {
        let path = dir.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let expected = [
        ": a uses b (a b::One)",
        ": b uses c (b::inner c::three)",
        ": c uses a (c a::A::new)",
        "/p: one uses two (p::one p::two)",
        "/p: two uses one (p::two p::one)",
    ];
    assert_eq!(circles(dir.path()), expected);
}
