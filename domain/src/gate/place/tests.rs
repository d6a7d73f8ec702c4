use super::*;

#[test]
fn paths_are_judged_by_components() {
    for path in [
        "a",
        "./a",
        "a/../b",
        "a/..",
        "a/../",
        ".",
        "..a",
        "...",
        "a..",
        "a/..b/c",
        ".gitignore",
        ".github/x",
        "a.git/b",
        "x/.gitmodules",
        "a//b",
        "a/b/../../c",
        "git",
        "git~2",
    ] {
        assert_eq!(as_written(path), AsWritten::Fine, "{path}");
    }
    for path in ["..", "../a", "a/../..", "a/../../b", "./..", "no/such/../../../x", ".git/../.."] {
        assert_eq!(as_written(path), AsWritten::Climbs, "{path}");
    }
    for path in ["/", "/a", "//a", "/.git"] {
        assert_eq!(as_written(path), AsWritten::Absolute, "{path}");
    }
    for path in [".git", ".git/config", "a/.GIT/b", ".git/../README.md", "GIT~1", "a/.git.", ".git "] {
        assert!(matches!(as_written(path), AsWritten::Git(_)), "{path}");
    }
    assert_eq!(as_written(""), AsWritten::Empty);
}
