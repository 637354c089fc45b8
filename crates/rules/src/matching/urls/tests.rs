use super::*;

#[test]
fn part_by_part() {
    for (pattern, url, hits, covers) in [
        (
            "https://*.example.com/*",
            "https://a.example.com/x?y",
            true,
            true,
        ),
        (
            "https://*.example.com/*",
            "https://A.EXAMPLE.com:443/",
            true,
            true,
        ),
        (
            "https://*.example.com/*",
            "https://a.example.com./",
            true,
            true,
        ),
        (
            "https://*.example.com/*",
            "http://a.example.com/",
            false,
            false,
        ),
        (
            "https://*.example.com/*",
            "https://evil.com/?x=https://a.example.com/",
            false,
            false,
        ),
        (
            "https://*.example.com/*",
            "https://evil.com/.example.com/",
            false,
            false,
        ),
        (
            "https://*.example.com/*",
            "https://evil.com#.example.com/",
            false,
            false,
        ),
        (
            "https://*.example.com/*",
            "https://a.example.com@evil.com/",
            false,
            false,
        ),
        (
            "https://*.example.com/*",
            "https://u@a.example.com/",
            true,
            false,
        ),
        (
            "https://*.example.com/*",
            "https://a.example.com:8443/",
            true,
            false,
        ),
        (
            "https://example.com:443/*",
            "https://example.com/x",
            true,
            true,
        ),
        (
            "https://example.com:8443/*",
            "https://example.com:8443/x",
            true,
            true,
        ),
        (
            "https://example.com:8443/*",
            "https://example.com/x",
            false,
            false,
        ),
        (
            "https://example.com:*/*",
            "https://example.com:1/x",
            true,
            true,
        ),
        (
            "HTTPS://Example.com/Docs",
            "https://example.com/Docs",
            true,
            true,
        ),
        (
            "https://example.com/docs",
            "https://example.com/docs?x=1",
            true,
            false,
        ),
        (
            "https://example.com/docs/*",
            "https://example.com/docs/../etc",
            false,
            false,
        ),
        ("https://example.com", "https://example.com/x", true, false),
        ("https://example.com", "https://example.com", true, true),
        ("http://*", "http://a.b/c", true, true),
        ("http*://127.0.0.1/*", "http://0x7f.1/", true, true),
        ("http://[::1]/*", "http://[0:0::1]/x", true, true),
        (
            "https://bücher.example/*",
            "https://xn--bcher-kva.example/",
            true,
            true,
        ),
        (
            "domain:example.com",
            "https://EXAMPLE.com:8443/x?y",
            true,
            true,
        ),
        (
            "domain:example.com",
            "https://www.example.com/",
            false,
            false,
        ),
        (
            "domain:*.example.com",
            "https://www.example.com/",
            true,
            true,
        ),
        (
            "http://169.254.169.254/*",
            "http://[::ffff:169.254.169.254]/x",
            true,
            false,
        ),
        ("*example*", "https://www.example.com/", true, true),
        // What a server may take the path for.
        ("https://a.b/admin/*", "https://a.b/%61dmin/x", true, false),
        (
            "https://a.b/admin/*",
            "https://a.b/%2561dmin/x",
            true,
            false,
        ),
        ("https://a.b/admin/*", "https://a.b//admin/x?y", true, false),
        (
            "https://a.b/admin/*",
            "https://a.b/x/..%2fadmin/x",
            true,
            false,
        ),
        ("https://a.b/x/*", "https://a.b/x/..%2fadmin/x", true, false),
        ("https://a.b/x/*", "https://a.b/x/a%20b/?c=%2F", true, true),
        ("https://a.b/x/*", "https://a.b/x/", true, true),
        ("https://a.b/x/c%2Fd/*", "https://a.b/x/c%2Fd/e", true, true),
        ("https://a.b/x", "https://a.b/%y%4/x", false, false),
    ] {
        let (compiled, url) = (UrlPattern::new(pattern).unwrap(), &urls(url).unwrap()[0]);
        assert_eq!(
            (compiled.hits(url), compiled.covers(url)),
            (hits, covers),
            "{pattern} on {url}"
        );
    }
    for bad in [
        "https:///x",
        "https://u@x/",
        "https://x:y/",
        "https://a b/",
        "domain:",
        "https://x/[",
    ] {
        assert!(UrlPattern::new(bad).is_err(), "{bad}");
    }
}

#[test]
fn urls_of_texts() {
    for (text, expected) in [
        ("https://a.b/c", Some("https://a.b/c")),
        (
            "sum up https://a.b/c, (and http://d.e)",
            Some("https://a.b/c http://d.e/"),
        ),
        ("nothing", None),
        // A browser drops the break, and others read two words.
        (
            "https://a.b\t@evil.c/",
            Some("https://a.b/ https://a.b@evil.c/"),
        ),
        ("https://ev\til.c/", Some("https://ev/ https://evil.c/")),
        (
            "https://a.b @evil.c/",
            Some("https://a.b/ https://a.b%20@evil.c/"),
        ),
        ("https://a.b\\@evil.c/", None),
        ("https://a.b\\.c/", None),
        ("https://u@a.b@evil.c/", None),
        ("https://u@a.b/?x=@@", Some("https://u@a.b/?x=@@")),
        ("localhost:8080/admin", None),
        ("evil.c:443/", None),
        ("view-source:https://evil.c/", None),
        ("blob:https://evil.c/1", None),
        ("file:///etc/passwd", Some("file:///etc/passwd")),
        ("see http:// and https://a.b", None),
    ] {
        let found =
            urls(text).map(|urls| urls.iter().map(Url::as_str).collect::<Vec<_>>().join(" "));
        assert_eq!(found.as_deref(), expected, "{text}");
    }
}
