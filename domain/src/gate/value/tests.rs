use super::*;

#[test]
fn values_are_of_their_type() {
    let good = |value: Value, texts: &[&str]| {
        texts.iter().for_each(|text| assert!(check(value, text).is_ok(), "{value:?} {text}"));
    };
    let bad = |value: Value, texts: &[&str]| {
        texts.iter().for_each(|text| assert!(check(value, text).is_err(), "{value:?} {text}"));
    };
    good(Value::Text, &["", "anything", "-x", "a\nb", "%G?"]);
    good(Value::Number, &["0", "5", "9999999999"]);
    bad(Value::Number, &["", "-1", "+1", "x", "1k", "1.5", "99999999999", "٣"]);
    good(Value::Count, &["5", "-5", "1K", "1k", "2MB", "1MiB", "4b", "1kB", "3G"]);
    bad(Value::Count, &["", "+5", "-", "--5", "x", "5x", "5KK", "K", "5B", "5iB", "-+5", "5Ki"]);
    good(Value::CountFrom, &["5", "-5", "+5", "+1K"]);
    bad(Value::CountFrom, &["++5", "+-5", "+", "5+"]);
    good(Value::Glob, &["*", ".git", "{a,b}", "a b"]);
    bad(Value::Glob, &[""]);
    good(Value::Include, &["*.rs", ".g*", ".gitignore"]);
    bad(Value::Include, &["", ".git", ".GIT", ".git."]);
    good(Value::Score, &["90", "90%", "5"]);
    bad(Value::Score, &["", "%", "x", "90%%", "-5"]);
    good(Value::Scores, &["50", "50%/60%", "/60"]);
    bad(Value::Scores, &["", "/", "50/", "50/60/70"]);
    good(Value::Widths, &["80", "80,40", "80,40,10"]);
    bad(Value::Widths, &["", ",", "80,", "1,2,3,4", "x"]);
    good(Value::Dirstat, &["changes", "lines,10", "files,2.5,cumulative", "noncumulative"]);
    bad(Value::Dirstat, &["", "x", "10,", "1.2.3", ".5"]);
    good(Value::Filter, &["A", "AM", "acdmrtuxb", "A*"]);
    bad(Value::Filter, &["", "Z", "A M", "-A"]);
    good(Value::Encoding, &["UTF-8", "latin1", "iso8859-1"]);
    bad(Value::Encoding, &["", "a/b", "a b"]);
    good(Value::BlockSize, &["1", "1K", "1MB", "human-readable", "si"]);
    bad(Value::BlockSize, &["", "x", "'1", "-1", "human"]);
    good(Value::TimeStyle, &["iso", "full-iso", "long-iso", "locale", "+%Y", "+"]);
    bad(Value::TimeStyle, &["", "posix-iso", "x"]);
}

#[test]
fn the_path_in_a_value_is_given_back_to_be_looked_up() {
    assert_eq!(check(Value::Path, "src/x"), Ok(Some("src/x")));
    assert_eq!(check(Value::Lines, "1,5:src/lib.rs"), Ok(Some("src/lib.rs")));
    assert_eq!(check(Value::Lines, "/a\\/b:,/,+3:x"), Ok(Some("x")));
    assert_eq!(check(Value::Lines, ":main:src/main.rs"), Ok(Some("src/main.rs")));
    assert_eq!(check(Value::Lines, "1,-3:x"), Ok(Some("x")));
    for text in ["/x", "../x", ".git", ""] {
        assert!(matches!(check(Value::Path, text), Err(Wrong::Path(_))), "{text}");
        assert!(matches!(check(Value::Lines, &alloc::format!("1,2:{text}")), Err(Wrong::Path(_))), "{text}");
    }
    for text in ["1:x", "1,2", "1,2:a:b", "x,2:a", ",2:a", "1,:a", "/a,2:b", "::a", ":f", "1,+:a", "1,2:a:.git/config"]
    {
        assert_eq!(check(Value::Lines, text), Err(Wrong::Expected(expected(Value::Lines))), "{text}");
    }
}
