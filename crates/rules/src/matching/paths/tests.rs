use super::*;
use hookwire_testing::rows;
use std::fs::{create_dir_all, hard_link, write};
use std::os::unix::fs::symlink;

fn fixture() -> (tempfile::TempDir, PathBuf) {
    let guard = tempfile::tempdir().unwrap();
    let top = guard.path().canonicalize().unwrap();
    let root = top.join("proj");
    for directory in [
        "proj/src/lib/deep",
        "proj/docs",
        "proj/SRC",
        "proj/srcx",
        "outside/src",
    ] {
        create_dir_all(top.join(directory)).unwrap();
    }
    for file in [
        "src/a.ts",
        "src/lib/b.ts",
        "src/lib/deep/c.ts",
        "src/caf\u{e9}.ts",
        "SRC/a.ts",
    ] {
        write(root.join(file), "").unwrap();
    }
    write(top.join("outside/x.ts"), "").unwrap();
    write(top.join("outside/src/a.ts"), "").unwrap();
    hard_link(root.join("src/a.ts"), root.join("docs/hard.ts")).unwrap();
    let absolute = root.join("src");
    for (name, target) in [
        ("proj/src/link_out", "../../outside"),
        ("proj/src/dangling.ts", "nowhere.txt"),
        ("proj/src/loop", "loop"),
        ("proj/src/round", "../docs/round"),
        ("proj/docs/round", "../src/round"),
        ("proj/src/spiral", "spiral/x"),
        ("proj/docs/link_in", "../src"),
        ("proj/notes.md", "src/a.ts"),
        ("proj/abs_in", absolute.to_str().unwrap()),
        ("projlink", "proj"),
    ] {
        symlink(target, top.join(name)).unwrap();
    }
    (guard, root)
}

/// The views of a path. In a hurry they are the same, or there are none.
fn views(path: &str, base: &Path) -> PathViews {
    let look = || super::views(path, &Base::new(base));
    let views = look();
    if let Some(quick) = patience::quickly(look) {
        assert_eq!(quick, views, "{path}");
    }
    views
}

/// What is at hand needs no time: what is there, what isn't, and what would wait if it were opened.
#[test]
#[cfg(target_os = "linux")]
fn names_that_the_kernel_has_at_hand() {
    let (_guard, root) = fixture();
    let pipe = root.join("pipe");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    )
    .unwrap();
    for (path, is_at_hand) in [
        ("src/a.ts", true),
        ("src/../src/a.ts", true),
        ("pipe", true),
        ("pipe/x", false),
        ("new/x.ts", true),
        ("new/../x.ts", false),
        ("docs/link_in/a.ts", false),
        ("src/loop", false),
        ("/proc/self/cwd/x", false),
        ("/proc/1/../x", false),
    ] {
        // Whoever looks first has the kernel remember it.
        let slow = views(path, &root);
        let quick = patience::quickly(|| super::views(path, &Base::new(&*root)));
        assert_eq!(quick, is_at_hand.then_some(slow), "{path}");
    }
    for (path, is_directory) in [
        ("src", true),
        ("docs/link_in", true),
        ("pipe", false),
        ("new", false),
    ] {
        let found = patience::quickly(|| super::is_directory(&root.join(path)));
        assert_eq!(found, Some(is_directory), "{path}");
    }
    let link = root.parent().unwrap().join("projlink");
    for base in [&root, &link] {
        let forms = || Base::new(&**base).forms().to_vec();
        let slow = forms();
        assert_eq!(patience::quickly(forms), Some(slow));
    }
}

#[test]
fn corpus() {
    let (_guard, root) = fixture();
    rows::compare("corpora/path_conditions.jsonl", |row: serde_json::Value| {
        let field = |name: &str| {
            row[name]
                .as_str()
                .unwrap()
                .replace("${ROOT}", root.to_str().unwrap())
        };
        let rule = field("rule");
        let pattern = rule
            .split_once('(')
            .and_then(|(_, rest)| rest.strip_suffix(')'))
            .unwrap();
        let pattern = PathPattern::new(pattern).unwrap();
        let views = views(&field("path"), Path::new(&field("cwd")));
        let found = (pattern.matches_any(&views), pattern.matches_all(&views));
        (found, (field("deny") == "match", field("allow") == "match"))
    });
}

#[test]
fn more_paths() {
    let (_guard, root) = fixture();
    let alias = root.parent().unwrap().join("projlink");
    let long = format!("src/{}.ts", "a".repeat(256));
    let deep = format!("src/{}a.ts", "d/".repeat(2100));
    for (pattern, path, base, any, all) in [
        ("src/**/*.ts", "src/a.ts", &alias, true, true),
        ("src/**/*.ts", "src/link_out/x.ts", &alias, true, false),
        ("src/**", "src", &root, false, false),
        ("**/*.md", "notes.md", &root, true, false),
        ("**", "docs/new/../x", &root, true, true),
        ("**/a.ts", "../x/a.ts", &root, true, false),
        ("**/a.ts", "/x/a.ts/b", &root, true, false),
        ("**/*.ts", "../a.ts", &root, true, false),
        ("./**/a.ts", "src/a.ts", &root, true, true),
        ("./**", "../a.ts", &root, false, false),
        ("src/{,lib/}*.ts", "src/a.ts", &root, true, true),
        ("src/a{,.d}.ts", "src/a.ts", &root, true, true),
        ("src/", "src/lib/b.ts", &root, true, true),
        ("./src//*.ts", "src/a.ts", &root, true, true),
        ("/etc/**", "/etc/passwd", &root, true, true),
        (
            "/etc/**",
            "../../../../../../../../etc/passwd",
            &root,
            true,
            true,
        ),
        ("/etc/**", "src/a.ts", &root, false, false),
        (
            "src/**/*.ts",
            "nonexist/../docs/link_in/a.ts",
            &root,
            true,
            false,
        ),
        ("src/**/*.ts", "nonexist/../src/a.ts", &root, true, true),
        ("src/**/*.ts", "src/a.ts/x.ts", &root, true, true),
        ("src/**/*.ts", &long, &root, true, false),
        ("src/**/*.ts", &deep, &root, true, false),
        // A link that leads to itself is a file by itself; what only leads further and further may
        // lead anywhere.
        ("docs/**", "src/loop", &root, false, false),
        ("src/**", "src/loop", &root, true, false),
        ("src/**", "src/round", &root, true, false),
        ("docs/**", "src/round/../../docs/x", &root, true, false),
        ("docs/**", "src/spiral", &root, true, false),
        // Tools take `..` away by the names, or leave it to the kernel.
        (
            "/**/outside/**",
            "src/link_out/../link_out/x.ts",
            &root,
            true,
            false,
        ),
        (
            "src/**",
            "src/link_out/../link_out/x.ts",
            &root,
            true,
            false,
        ),
        ("src/**", "src/lib/../lib/b.ts", &root, true, true),
        ("docs/**", "/dev/fd/3", &root, true, false),
        ("docs/**", "/dev/stdin", &root, true, false),
        ("docs/**", "/proc/self/root", &root, true, false),
        ("docs/**", "/proc/self/cwd/src/a.ts", &root, false, false),
        (
            "src/**",
            "/proc/self/task/1/cwd/src/a.ts",
            &root,
            true,
            false,
        ),
        // Another process is somewhere else.
        ("docs/**", "/proc/1/cwd/etc/passwd", &root, true, false),
        ("docs/**", "/proc/1/task/1/cwd/src/a.ts", &root, true, false),
        (
            "docs/**",
            "/proc/self/../1/cwd/src/a.ts",
            &root,
            true,
            false,
        ),
        ("src/**", "/proc/1/cwd/src/a.ts", &root, true, false),
        ("/proc/**", "/proc/self/status", &root, true, false),
        ("/proc/**", "/proc/cpuinfo", &root, true, true),
    ] {
        let views = views(path, base);
        let pattern = PathPattern::new(pattern).unwrap();
        let found = (pattern.matches_any(&views), pattern.matches_all(&views));
        assert_eq!(found, (any, all), "{path} {views:?}");
    }
}

#[test]
fn the_directories_of_a_pattern_are_resolved() {
    let (_guard, root) = fixture();
    let top = root.parent().unwrap().to_str().unwrap();
    for (pattern, path, any, all) in [
        ("TOP/projlink/src/**", "TOP/proj/src/a.ts", true, true),
        ("TOP/projlink/src/**", "TOP/projlink/src/a.ts", true, true),
        ("TOP/projlink/docs/link_in/*.ts", "src/a.ts", true, true),
        ("TOP/proj/abs_in/**", "TOP/proj/src/lib/b.ts", true, true),
        ("TOP/projlink/docs/**", "TOP/proj/src/a.ts", false, false),
        (
            "TOP/projlink/src/link_out/**",
            "TOP/outside/x.ts",
            true,
            true,
        ),
        // A link below the pattern's stars is for the path to follow.
        ("TOP/*link/src/**", "TOP/proj/src/a.ts", false, false),
        // Each alternative in braces is looked up.
        (
            "TOP/{none,projlink}/src/**",
            "TOP/proj/src/a.ts",
            true,
            true,
        ),
        (
            "TOP/{a{b,c},proj{x,link}}/src/**",
            "TOP/proj/src/a.ts",
            true,
            true,
        ),
        (
            "TOP/projlink/{docs,src}/*.{js,ts}",
            "TOP/proj/src/a.ts",
            true,
            true,
        ),
        ("{docs,src}/link_out/**", "TOP/outside/x.ts", true, false),
        (
            "TOP/{none,projlink}/docs/**",
            "TOP/proj/src/a.ts",
            false,
            false,
        ),
        // Relative ones, where the path doesn't go through the link; the agent may have made that.
        ("src/link_out/**", "TOP/outside/x.ts", true, false),
        ("src/link_out", "TOP/outside", true, false),
        ("abs_in/**", "src/lib/b.ts", true, false),
        ("notes.md", "src/a.ts", true, false),
        ("notes.md", "src/a.tsx", false, false),
        ("src/link_out/src/*.ts", "../outside/src/a.ts", true, false),
        ("src/**", "TOP/outside/x.ts", false, false),
        ("src/missing/**", "TOP/outside/x.ts", false, false),
    ] {
        let (pattern, path) = (pattern.replace("TOP", top), path.replace("TOP", top));
        let views = views(&path, &root);
        let compiled = PathPattern::new(&pattern).unwrap();
        assert_eq!(
            (compiled.matches_any(&views), compiled.matches_all(&views)),
            (any, all),
            "{pattern} {views:?}"
        );
    }
    if std::fs::read_link("/bin").is_ok_and(|to| to == Path::new("usr/bin")) {
        let views = views("/usr/bin/x", &root);
        assert!(PathPattern::new("/bin/**").unwrap().matches_all(&views));
    }
}

#[test]
fn the_home_directory() {
    let (_guard, root) = fixture();
    let homes: &'static [PathBuf] =
        Box::leak(both_forms(&root.parent().unwrap().join("projlink")).into());
    for (pattern, path, any, all) in [
        ("~/src/**", "src/a.ts", true, true),
        ("~/src/**", "notes.md", true, false),
        ("~/docs/**", "docs/link_in/a.ts", true, false),
        ("~", "docs/x", true, true),
        ("~/", "/etc/passwd", false, false),
        // A path is data.
        ("~/src/**", "~/src/a.ts", false, false),
        ("./~/src/**", "~/src/a.ts", true, true),
    ] {
        let views = PathViews {
            homes,
            ..views(path, &root)
        };
        let compiled = PathPattern::new(pattern).unwrap();
        assert_eq!(
            (compiled.matches_any(&views), compiled.matches_all(&views)),
            (any, all),
            "{pattern} {views:?}"
        );
    }
}

#[test]
fn prefixes_and_mistakes() {
    for (pattern, expected) in [
        ("src/**/*.ts", Some(Some("src/"))),
        ("/etc/**", Some(None)),
        ("~/.ssh/**", Some(None)),
        ("~", Some(None)),
        ("./~/x", Some(Some("~/x"))),
        ("src/a*/b.ts", Some(Some("src/"))),
        ("*.ts", Some(Some(""))),
        ("src/a.ts", Some(Some("src/a.ts"))),
        ("", None),
        ("~root/x", None),
        ("../x", None),
        ("~/../x", None),
        ("src/[", None),
        ("/{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}/x", None),
        ("*{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}/x", Some(Some(""))),
    ] {
        let pattern = PathPattern::new(pattern).ok();
        assert_eq!(pattern.as_ref().map(PathPattern::literal_prefix), expected);
    }
}
