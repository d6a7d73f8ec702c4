use super::spells_dot_git;
use alloc::string::String;

#[test]
fn every_spelling_of_dot_git_is_known() {
    for name in [
        ".git",
        ".GIT",
        ".Git",
        ".gIt",
        "git~1",
        "GIT~1",
        "Git~1",
        ".git.",
        ".git ",
        ".git. . .",
        ".git...   ",
        "git~1 .",
        ".git::$INDEX_ALLOCATION",
        ".GIT:stream",
        ".git ::$DATA",
        ".git\\config",
        "git~1\\..\\x",
        ".g\u{200c}it",
        "\u{feff}.git",
        ".git\u{feff}",
        ".git\u{206a}\u{200c}",
        ".git\u{200b}",
        ".gi\u{202e}T",
        ".git\u{200d}. ",
        ".git \u{200d}",
        ".\u{206f}g\u{200e}i\u{202a}t\u{200f}",
    ] {
        assert!(spells_dot_git(name.as_bytes()), "{name:?} was taken for an ordinary name");
    }
}

#[test]
fn names_that_only_resemble_dot_git_are_ordinary() {
    for name in [
        "",
        ".",
        "..",
        "...",
        "..notparent",
        "git",
        ".gi",
        ".gitignore",
        ".gitattributes",
        ".gitmodules",
        ".github",
        ".gitlab",
        ".git-credentials",
        ".git2",
        "docs.git",
        "mirror.git",
        "a.git",
        "git~",
        "git~2",
        "git~10",
        ".g it",
        " .git",
        "..git",
        ".git\u{2028}",
        ".gıt",
        "\u{200c}",
        ":.git",
        "\\.git",
        "x:.git",
    ] {
        assert!(!spells_dot_git(name.as_bytes()), "{name:?} was taken for .git");
    }
}

#[test]
fn a_name_that_is_not_utf8_is_compared_byte_by_byte() {
    assert!(spells_dot_git(b".git:\xff"));
    assert!(!spells_dot_git(b".git\xff"));
    assert!(!spells_dot_git(b".git\xe2\x80"));
    assert!(!spells_dot_git(&[0xe2, 0x80]));
}

#[test]
fn every_ignored_character_may_stand_anywhere() {
    let ignored = ('\u{200b}'..='\u{200f}')
        .chain('\u{202a}'..='\u{202e}')
        .chain('\u{206a}'..='\u{206f}')
        .chain(core::iter::once('\u{feff}'));
    for character in ignored {
        for at in 0..=4 {
            let mut name = String::from(".git");
            name.insert(at, character);
            assert!(spells_dot_git(name.as_bytes()), "{name:?}");
        }
    }
}
