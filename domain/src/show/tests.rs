use super::*;
use alloc::vec::Vec;
use proptest::prelude::*;

fn quoted(words: &[&str]) -> String {
    let argv: Vec<String> = words.iter().map(|word| (*word).into()).collect();
    quote_argv(&argv)
}

#[test]
fn plain_words_stand_as_they_are() {
    assert_eq!(quoted(&["git", "log", "--format=%h", "a_b@c+d:e,f./-"]), "git log --format=%h a_b@c+d:e,f./-");
}

#[test]
fn every_other_word_is_quoted_and_escaped() {
    assert_eq!(quoted(&["cat", "a b", "x\u{202e}y"]), r#"cat "a b" "x\u{202e}y""#);
    assert_eq!(quoted(&[""]), r#""""#);
    assert_eq!(quoted(&["a\"b\\c"]), r#""a\"b\\c""#);
    assert_eq!(quoted(&["a\nb\rc\td"]), r#""a\nb\rc\td""#);
    assert_eq!(quoted(&["\u{1b}[2K", "\u{7f}"]), r#""\u{1b}[2K" "\u{7f}""#);
    assert_eq!(quoted(&["ünïcode-名前"]), "\"ünïcode-名前\"");
}

#[test]
fn what_is_invisible_or_moves_others_is_never_printed() {
    for c in [
        '\u{a0}',
        '\u{ad}',
        '\u{34f}',
        '\u{61c}',
        '\u{115f}',
        '\u{17b4}',
        '\u{180e}',
        '\u{200b}',
        '\u{200d}',
        '\u{2028}',
        '\u{2029}',
        '\u{202e}',
        '\u{2060}',
        '\u{2065}',
        '\u{2069}',
        '\u{3000}',
        '\u{3164}',
        '\u{2800}',
        '\u{1d159}',
        '\u{e000}',
        '\u{fe0f}',
        '\u{feff}',
        '\u{ffa0}',
        '\u{fff0}',
        '\u{1bca0}',
        '\u{1d173}',
        '\u{e0001}',
        '\u{e0100}',
        '\u{10ffff}',
        '\u{85}',
    ] {
        let expected = alloc::format!("\"\\u{{{:x}}}\"", u32::from(c));
        assert_eq!(quote_argv(&[String::from(c)]), expected);
        assert_eq!(visible(&String::from(c)), expected.trim_matches('"'));
    }
}

#[test]
fn running_text_keeps_its_lines_and_its_quotes() {
    assert_eq!(visible("a \"b\" \\ c\n\td\r\u{202e}"), "a \"b\" \\ c\n\td\\r\\u{202e}");
}

proptest! {
    #[test]
    fn two_different_argv_never_look_alike(
        a in prop::collection::vec("[a \"\\\\\n\u{202e}u{}0-9]{0,5}", 0..4),
        b in prop::collection::vec("[a \"\\\\\n\u{202e}u{}0-9]{0,5}", 0..4),
    ) {
        prop_assert_eq!(a == b, quote_argv(&a) == quote_argv(&b));
    }

    #[test]
    fn a_shown_line_is_one_line_without_controls(argv in prop::collection::vec(".{0,8}", 0..4)) {
        prop_assert!(quote_argv(&argv).chars().all(|c| !c.is_control()));
    }
}
