use super::*;
use proptest::prelude::*;

fn is_length<T>(result: Result<T, TextError>) -> bool {
    matches!(result, Err(TextError::Length { .. }))
}

fn is_value<T>(result: Result<T, TextError>) -> bool {
    matches!(result, Err(TextError::Value { .. }))
}

#[test]
fn a_question_says_something_and_has_a_bound() {
    for blank in ["", " ", "\n\t \r\n", "\u{a0}\u{3000}\u{2003}"] {
        assert!(is_length(Question::new(blank)), "{blank:?}");
    }
    assert_eq!(Question::new("  why?\n").unwrap().as_str(), "  why?\n", "kept as it came");
    let most = "x".repeat(limits::TEXT_BYTES);
    assert!(Question::new(most.as_str()).is_ok());
    assert!(is_length(Question::new(most + "x")));
    assert!(is_length(Question::new("ü".repeat(limits::TEXT_BYTES / 2) + "x")), "bytes are counted");
    assert!(is_length(Prompt::new("x".repeat(limits::PROMPT_BYTES + 1))));
    assert!(Prompt::new("x".repeat(limits::PROMPT_BYTES)).is_ok());
    assert!(is_value(Prompt::new("a\0b")), "it becomes a word of a command line");
}

#[test]
fn a_title_is_one_line() {
    assert!(is_length(Title::new("")));
    assert!(Title::new("ü".repeat(limits::TITLE_CHARS)).is_ok(), "characters are counted");
    assert!(is_length(Title::new("ü".repeat(limits::TITLE_CHARS + 1))));
    for text in ["a\nb", "a\rb", "a\tb", "\u{1b}[2K", "a\u{85}b", "a\u{2028}b", "a\u{2029}b", "\0"] {
        assert!(is_value(Title::new(text)), "{text:?}");
    }
}

#[test]
fn a_reason_may_be_empty_and_has_a_bound() {
    assert!(Reason::new("").is_ok());
    assert!(Reason::new("x".repeat(limits::REASON_BYTES)).is_ok());
    assert!(is_length(Reason::new("x".repeat(limits::REASON_BYTES + 1))));
}

#[test]
fn a_clients_key_is_printable_and_short() {
    assert!(ClientKey::new("!".repeat(64)).is_ok());
    assert!(is_length(ClientKey::new("!".repeat(65))));
    assert!(is_length(ClientKey::new("")));
    for text in ["a b", "ü", "a\n", "\u{7f}"] {
        assert!(is_value(ClientKey::new(text)), "{text:?}");
    }
}

#[test]
fn names_are_as_their_pattern_says() {
    for text in ["a", "Z9", "my-app", "a._-", "0"] {
        assert!(ProjectName::new(text).is_ok(), "{text}");
    }
    for text in ["", "-a", ".a", "_a", "a b", "a/b", "ü", "aü", "a\n", &"a".repeat(65)] {
        assert!(is_value(ProjectName::new(text)), "{text:?}");
    }
    for text in ["work", "0", "a_b-c"] {
        assert!(AccountName::new(text).is_ok(), "{text}");
    }
    for text in ["", "Work", "_a", "a.b", "..", "a/b", &"a".repeat(65)] {
        assert!(is_value(AccountName::new(text)), "{text:?}");
    }
}

#[test]
fn a_models_id_holds_no_blank() {
    assert!(ModelId::new("anthropic/claude-x:free").is_ok());
    assert!(is_length(ModelId::new("")));
    assert!(is_length(ModelId::new("x".repeat(201))));
    for text in ["a b", "ü", "a\u{7f}"] {
        assert!(is_value(ModelId::new(text)), "{text:?}");
    }
}

#[test]
fn a_path_is_absolute_a_branch_is_no_option_and_a_commit_is_a_hash() {
    assert!(AbsPath::new("/").is_ok());
    for text in ["", "a/b", "~/a", "./a", "/a\0b"] {
        assert!(is_value(AbsPath::new(text)), "{text:?}");
    }
    assert!(BranchName::new("feature/x").is_ok());
    for text in ["", "-D", "a\0"] {
        assert!(is_value(BranchName::new(text)), "{text:?}");
    }
    assert!(CommitId::new("0123456789abcdef0123456789abcdef01234567").is_ok());
    assert!(CommitId::new("a".repeat(64)).is_ok());
    for text in ["", "HEAD", &"A".repeat(40), &"a".repeat(41), &"g".repeat(40)] {
        assert!(is_value(CommitId::new(text)), "{text:?}");
    }
}

#[test]
fn characters_are_cut_with_a_sign() {
    assert_eq!(cut_chars("äöü", 3), "äöü");
    assert_eq!(cut_chars("äöüß", 3), "äö…");
    assert_eq!(cut_chars("ab", 1), "…");
    assert_eq!(cut_chars("", 1), "");
}

proptest! {
    #[test]
    fn bytes_are_cut_on_characters(text in ".{0,12}", most in 0usize..20) {
        let cut = cut_bytes(&text, most);
        prop_assert!(text.starts_with(cut) && cut.len() <= most);
        let next = text[cut.len()..].chars().next().map_or(0, char::len_utf8);
        prop_assert!(cut.len() == text.len() || cut.len() + next > most, "as long as it may be");
    }

    #[test]
    fn a_cut_text_has_the_characters_it_may_have(text in ".{0,12}", most in 1usize..8) {
        let cut = cut_chars(&text, most);
        prop_assert_eq!(cut.chars().count(), text.chars().count().min(most));
    }
}
