#![expect(clippy::indexing_slicing, reason = "a test that reads past an end is to fail")]

use super::*;
use alloc::vec;

fn texts(line: &str) -> Result<Vec<String>, Fault> {
    read(line).map(|words| words.into_iter().map(|word| word.text).collect())
}

#[test]
fn blanks_separate_and_quotes_group() {
    let check = |line: &str, expected: &[&str]| {
        assert_eq!(texts(line), Ok(expected.iter().map(|word| (*word).into()).collect()), "{line}");
    };
    check("cat a b", &["cat", "a", "b"]);
    check(" \t cat\t\ta ", &["cat", "a"]);
    check("'a b' \"c d\" e\\ f", &["a b", "c d", "e f"]);
    check("a'b'\"c\"d", &["abcd"]);
    check("'' \"\"", &["", ""]);
    check("'a\\b' \"a\\b\" a\\b", &["a\\b", "a\\b", "ab"]);
    check("\"\\$ \\` \\\" \\\\ \\x\"", &["$ ` \" \\ \\x"]);
    check("a\\\nb \"c\\\nd\" 'e\\\nf'", &["ab", "cd", "e\\\nf"]);
    check("a\u{a0}b", &["a\u{a0}b"]);
    check("\\'", &["'"]);
    check("a\\\n b", &["a", "b"]);
}

#[test]
fn each_character_knows_whether_it_was_quoted() {
    let word = &read("a'b'{\"c\"\\d,e}").unwrap_or_default()[0];
    assert_eq!(word.text, "ab{cd,e}");
    assert_eq!(word.quoted, vec![1..2, 3..5]);
    let lists = |line: &str| read(line).unwrap()[0].has_bare_brace_list();
    assert!(lists("{a,b}") && lists("a{1..3}b") && lists("{a,'b'}") && lists("{{a,b}}") && lists("{a,{b}}"));
    assert!(!lists("'{a,b}'") && !lists("{a','b}") && !lists("\\{a,b}") && !lists("{a,b'}'"));
    assert!(
        !lists("HEAD@{1}")
            && !lists("a{1}..b{2}")
            && !lists("a{2}")
            && !lists("{}")
            && !lists("{a.b}")
            && !lists("}a,b{")
    );
}

#[test]
fn the_first_reason_in_the_order_is_told() {
    let fault = |line: &str| read(line).expect_err(line);
    assert_eq!(fault(""), Fault::Empty);
    assert_eq!(fault(" \t"), Fault::Empty);
    assert_eq!(fault("\\\n"), Fault::Empty);
    assert_eq!(fault(&"a".repeat(8_193)), Fault::TooManyBytes);
    assert_eq!(fault(&"a ".repeat(65)), Fault::TooManyWords);
    assert_eq!(fault(&format!("\0 {} 'x", "a ".repeat(65))), Fault::TooManyWords);
    assert_eq!(fault("a \0 ; 'b"), Fault::Nul);
    assert_eq!(fault("a ; 'b"), Fault::OpenQuote { at: 4 });
    assert_eq!(fault("a ; \"b"), Fault::OpenQuote { at: 4 });
    assert_eq!(fault("a ; b\\"), Fault::LoneBackslash { at: 5 });
    assert_eq!(fault("\\"), Fault::LoneBackslash { at: 0 });
    assert_eq!(fault("'"), Fault::OpenQuote { at: 0 });
    assert_eq!(fault("a b; c|d"), Fault::Sign { at: 3 });
    assert_eq!(read(&"a".repeat(8_192)).map(|words| words.len()), Ok(1));
    assert_eq!(read(&"a ".repeat(64)).map(|words| words.len()), Ok(64));
}

#[test]
fn every_sign_of_a_shell_is_one_outside_quotes_and_text_inside() {
    for sign in [
        ";", "&", "|", "<", ">", "(", ")", "`", "$a", "$_", "$1", "$(", "${", "$'", "$\"", "$@", "$*", "$#", "$?",
        "$!", "$$", "$-",
    ] {
        assert!(matches!(read(&format!("x {sign}' '")), Err(Fault::Sign { .. } | Fault::OpenQuote { .. })), "{sign}");
        assert!(read(&format!("x 'a {sign}'").replace("$''", "$'")).is_ok() || sign.contains('\''), "{sign}");
    }
    for control in (1..0x20_u8).chain([0x7f]).filter(|byte| !b"\t".contains(byte)) {
        let control = char::from(control);
        assert_eq!(read(&format!("x {control}")), Err(Fault::Sign { at: 2 }), "{control:?}");
        assert!(read(&format!("x '{control}' \"{control}\"")).is_ok(), "{control:?}");
    }
    for text in
        ["a~b", "a#b", "foo$", "a$ b", "a$.b", "a$/", "!x", "^x", "a=b", "%", ":", "@", "]", "}", "{", "*", "?", "["]
    {
        assert!(read(text).is_ok(), "{text}");
    }
    for first in ["~", "#", "~x", "#x", "a ~", "a #b"] {
        assert!(matches!(read(first), Err(Fault::Sign { .. })), "{first}");
    }
    assert!(read("''~ ''# \\~ \\# '~' \"#\"").is_ok());
    assert!(matches!(read("\"a `b`\""), Err(Fault::Sign { at: 3 })));
    assert!(matches!(read("\"a $(b)\""), Err(Fault::Sign { at: 3 })));
    assert!(read("\"a \\`b\\` \\$(c) $d ${e}\"").is_ok());
}

#[test]
fn a_sign_in_a_path_is_found_however_it_was_quoted() {
    for path in [
        "a;b", "a&b", "a|b", "a<b", "a>b", "a(b", "a)b", "a`b", "$HOME", "a${b}", "~", "~/x", "#x", "a*", "a?", "a[b",
        "{a,b}", "{1..2}", "a\nb", "a\u{1b}b",
    ] {
        assert!(shell_sign(path).is_some(), "{path}");
    }
    for path in ["a b", "it's", "a~", "a#b", "a$", "a]", "a{b}", "a,b", "a..b", "a!b", "a%b", "ünï", "a\\b", "\"a\""]
    {
        assert!(shell_sign(path).is_none(), "{path}");
    }
}
