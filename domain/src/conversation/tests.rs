use super::*;
use proptest::prelude::*;

#[test]
fn a_title_is_the_first_line_of_the_question() {
    for (question, title) in [
        ("Any TODOs left?", "Any TODOs left?"),
        ("  Any TODOs left?  \nin src", "Any TODOs left?"),
        ("\n \t\r\nwhat is this?\r\nno", "what is this?"),
        ("a\tb\u{7}c", "a b c"),
        ("one\rtwo", "one two"),
        ("\u{1}\u{2}\nwhat?", "what?"),
        ("\u{1}what?\u{2}", "what?"),
        ("名前は何ですか", "名前は何ですか"),
        ("\u{3000}全角\u{3000}", "全角"),
        ("\u{1}", ""),
    ] {
        assert_eq!(automatic_title(question), title, "{question:?}");
    }
}

#[test]
fn a_long_title_is_cut_on_a_character() {
    let most = limits::AUTO_TITLE_CHARS;
    assert_eq!(automatic_title(&"名".repeat(most)), "名".repeat(most));
    assert_eq!(automatic_title(&"名".repeat(most + 1)), "名".repeat(most - 1) + "…");
    assert_eq!(automatic_title(&"👩‍🚀".repeat(most)).chars().count(), most);
}

#[test]
fn states_are_named_and_read_back() {
    for name in ["idle", "running", "awaiting_consent"] {
        assert_eq!(ConversationState::from_name(name).map(ConversationState::name), Some(name));
    }
    assert_eq!(ConversationState::from_name("Idle"), None);
}

proptest! {
    #[test]
    fn a_title_is_one_line_of_bounded_length(question in "\\PC{0,5}[\\s\\x00-\\x1f]{0,3}.{0,100}") {
        let title = automatic_title(&question);
        prop_assert!(title.chars().count() <= limits::AUTO_TITLE_CHARS);
        prop_assert!(!title.chars().any(char::is_control));
        prop_assert_eq!(title.trim(), title.as_str());
    }
}
