use super::*;

fn pattern(text: &str) -> NamePattern {
    let base = Base::new(Path::new("/p"));
    NamePattern::new(text, &base, paths::views("x", &base))
}

#[test]
fn patterns_that_may_name_the_same() {
    for (rule, own, may_meet) in [
        (".env", "**/*", true),
        (".env", "*.env", true),
        (".env", ".e[n]v", true),
        (".env", "{a,.env}", true),
        (".env", ".ENV*", true),
        (".env", "**/*.ts", false),
        (".env", "src/**", false),
        (".env", "src/*/../../.env", true),
        (".env", "**/.env", true),
        (".env", "@(.env)", true),
        (".env", "./", true),
        ("**/.env", "src/", true),
        ("**/.env", "src/**", true),
        ("**/.env", "src/**/*.{ts,tsx}", false),
        ("**/*.pem", "keys/*", true),
        ("**/*.pem", "keys/*.p?m", true),
        ("**/*.pem", "**/*.md", false),
        ("**/*.{pem,key}", "**/*.key", true),
        ("**/*.{pem,key}", "docs/**/*.md", false),
        ("/etc/**", "**/*.md", false),
        ("/etc/**", "/e*/hosts", true),
        ("/etc/**", "../e*/hosts", true),
        ("/etc/**", "app/[id]/page.tsx", false),
    ] {
        let rule = PathPattern::new(rule).unwrap();
        assert_eq!(pattern(own).may_meet(&rule), may_meet, "{rule:?} {own}");
    }
}

#[test]
fn patterns_within_others() {
    for (rule, own, is_within) in [
        ("src/**", "src/**/*.ts", true),
        ("src/**", "src/*", true),
        ("src/**", "src/{a,b}/*", true),
        ("src/**", "src/{..,b}/*", false),
        ("src/**", "src/*/../x", false),
        ("src/**", "s*/x", false),
        ("src/*", "src/*.ts", true),
        ("src/*", "src/**", false),
        ("src/*.ts", "src/*", false),
        ("**", "**/*", true),
        ("src/**/*.ts", "src/**/*.ts", true),
        ("src/**/*.ts", "src/a/*", false),
    ] {
        let rule = PathPattern::new(rule).unwrap();
        assert_eq!(pattern(own).is_within(&rule), is_within, "{rule:?} {own}");
    }
}

#[test]
fn patterns_that_are_long() {
    let long = "*a".repeat(1500);
    let rule = PathPattern::new(&format!("/{}", "?*".repeat(1500))).unwrap();
    assert!(pattern(&long).may_meet(&rule));
    assert!(pattern(&"**/".repeat(1000)).may_meet(&PathPattern::new("**/.env").unwrap()));
    let many = "{a,b}".repeat(30);
    assert!(pattern(&many).may_meet(&PathPattern::new("x").unwrap()));
}

#[test]
fn links_that_a_pattern_comes_across() {
    let guard = tempfile::tempdir().unwrap();
    let top = guard.path().canonicalize().unwrap();
    for directory in ["p/build/sub/deep", "p/build/plain", "out/deep"] {
        std::fs::create_dir_all(top.join(directory)).unwrap();
    }
    std::fs::write(top.join("out/x"), "").unwrap();
    std::os::unix::fs::symlink("../../out", top.join("p/build/link")).unwrap();
    std::os::unix::fs::symlink("../../../out/x", top.join("p/build/sub/file")).unwrap();
    std::os::unix::fs::symlink("loop", top.join("p/loop")).unwrap();
    for (own, expected) in [
        ("p/build/*/x", Some(&["out/x"][..])),
        ("p/build/li*/x", Some(&["out/x"])),
        ("p/build/p*/x", Some(&[])),
        ("p/build/*/*", Some(&["out/deep", "out/x"])),
        ("p/build/**/file", Some(&["out/x"])),
        ("p/build/link/d*", Some(&["out/deep"])),
        ("p/build/*", Some(&["out"])),
        ("p/none/*", Some(&[])),
        ("p/l*", None),
    ] {
        let whole = top.join(own);
        let found = through_links(&names(whole.to_str().unwrap()).collect::<Vec<_>>());
        let mut found = found.map(|it| {
            it.iter()
                .map(|it| it.strip_prefix(&top).unwrap().to_path_buf())
                .collect()
        });
        found.iter_mut().for_each(|it: &mut Vec<PathBuf>| it.sort());
        assert_eq!(
            found,
            expected.map(|it| it.iter().map(PathBuf::from).collect()),
            "{own}"
        );
    }
}
