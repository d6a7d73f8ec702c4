use super::*;

#[test]
fn what_git_takes_for_a_revision_is_one() {
    for word in [
        "HEAD",
        "@",
        "main",
        "feature/x",
        "v1.0",
        "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
        "HEAD~",
        "HEAD~3",
        "HEAD^",
        "HEAD^2",
        "HEAD^^",
        "HEAD~2^3~1",
        "HEAD^!",
        "HEAD^@",
        "HEAD^-",
        "HEAD^-2",
        "HEAD^{}",
        "HEAD^{commit}",
        "HEAD^{tree}",
        "HEAD^{/fix..}",
        "@{u}",
        "@{-1}",
        "@{2 days ago}",
        "main@{1}",
        "stash@{0}^{commit}",
        "v1.0-3-gabcdef0",
        "^main",
        "main..dev",
        "main...dev",
        "..dev",
        "main..",
        "main...",
        "^HEAD~2",
        "v1.0..v2.0",
        "HEAD@{1}..HEAD@{0}",
        ":/retry",
        ":/a..b",
        ":README.md",
        ":0:README.md",
        ":2:src/lib.rs",
        "HEAD:README.md",
        "HEAD:",
        "HEAD:src/../README.md",
        "HEAD:a b",
        "HEAD:a[b]*",
        "v1.0:docs/it's.md",
        "main..HEAD:x",
        "refs/heads/main",
        "origin/main",
        "bugfix/issue-42",
        "ünï",
        "a.b",
        "feat{x}",
        "feat{x}..main~2",
        "@{upstream}..HEAD",
    ] {
        assert_eq!(read(word), Revision::Good, "{word}");
    }
}

#[test]
fn what_git_would_not_take_is_none() {
    for word in [
        "",
        "^",
        "..",
        "...",
        "/x",
        "x/",
        "a//b",
        ".x",
        "a/.x",
        "x.",
        "x.lock",
        "a b",
        "a\\b",
        "a*",
        "a?",
        "a[b",
        "x^{foo}",
        "x^{",
        "x@{",
        "x@{}",
        "x~y",
        "x^y",
        "-x",
        "a..b..c",
        "a...b...c",
        "a..-x",
        "{a,b}",
        "a{1..2}",
        "a{1,2}",
        "a{1",
        "x\u{1}",
        "^^x",
        ":",
        "::x",
        ":(top)x",
        ":!x",
        ":^x",
        "..x/",
        "a~1x",
    ] {
        assert_eq!(read(word), Revision::None, "{word}");
    }
}

#[test]
fn the_path_in_a_revision_is_judged_as_written() {
    for word in [
        "HEAD:../x",
        "HEAD:/x",
        "HEAD:.git/config",
        "HEAD:src/.GIT",
        ":../x",
        ":0:../x",
        ":.git/config",
        "a..HEAD:../x",
        "HEAD~2^{tree}:a/../../b",
    ] {
        assert!(matches!(read(word), Revision::BadPath(_)), "{word}");
    }
}

#[test]
fn a_single_revision_is_no_range() {
    assert!(is_single("main") && is_single("HEAD~2^{commit}") && is_single("v1.0:README.md"));
    assert!(
        !is_single("a..b")
            && !is_single("..b")
            && !is_single("")
            && !is_single("-x")
            && !is_single("^x")
            && !is_single("HEAD:../x")
    );
}
