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

#[test]
fn ways_up_are_taken_out_by_the_text_as_git_does() {
    for path in ["a", "a/b", "./a", "a/", "..a/b", "a/...", ""] {
        assert_eq!(without_ways_up(path), None, "{path}");
    }
    for (path, straight) in [
        ("a/../b", "b"),
        ("nothing/../link/file", "link/file"),
        ("a/b/../../c/", "c/"),
        ("a/./b/..", "a/"),
        ("a/..", "."),
        ("a//../b", "b"),
    ] {
        assert_eq!(without_ways_up(path).as_deref(), Some(straight), "{path}");
    }
}
