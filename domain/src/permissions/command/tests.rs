#![expect(clippy::indexing_slicing, reason = "a test that finds too few has to end")]

use super::*;
use proptest::prelude::*;

fn texts(line: &str) -> Result<Vec<String>, Unsplit> {
    Ok(CommandLine::read(line)?.parts.into_iter().map(|part| part.text).collect())
}

#[test]
fn a_line_is_split_outside_quotes_and_what_needs_no_rule_is_dropped() {
    let check = |line: &str, parts: &[&str]| assert_eq!(texts(line).unwrap(), parts, "{line}");
    check("", &[]);
    check("a b && c || d; e | f", &["a b", "c", "d", "e", "f"]);
    check("a 'b && c' \"d | e\" f\\;g", &["a b && c d | e f;g"]);
    check("a 2>&1 >&2 2>/dev/null &> /dev/null < in", &["a"]);
    check("timeout -k 1 -s KILL 5 nice -n 3 nohup time a b", &["a b"]);
    check("FOO=1 a", &["FOO=1 a"]);
    check("NODE_ENV=test a", &["a"]);
    check("NODE_ENV=test FOO=1 a", &["NODE_ENV=test FOO=1 a"]);
    check("a;", &["a"]);
    check("a # b && c", &["a"]);
}

#[test]
fn a_redirect_into_a_file_is_kept_apart() {
    let line = CommandLine::read("make x >> build.log 2>&1 | tee out").unwrap();
    assert_eq!(line.parts[0].writes, ["build.log"]);
    assert_eq!(line.parts[0].text, "make x");
    assert_eq!(line.parts[1].writes, [""; 0]);
    assert_eq!(CommandLine::read("a 2>errors").unwrap().parts[0].writes, ["errors"]);
}

#[test]
fn what_only_a_shell_understands_is_not_split() {
    for line in [
        "a\nb",
        "echo $(a)",
        "echo \"$(a)\"",
        "echo `a`",
        "echo \"`a`\"",
        "diff <(a) b",
        "a > >(b)",
        "cat <<E",
        "a &",
        "a & b",
        "'a",
        "\"a",
        "for i in 1; do a; done",
        "if a; then b; fi",
        "{ a; }",
        "(a)",
        "a >",
    ] {
        assert!(texts(line).is_err(), "{line}");
    }
    assert!(texts("echo '$(a)' '`'").is_ok());
}

proptest! {
    #[test]
    fn no_line_makes_it_panic(line in "[a-z'\"$`(){}<>|&;#=\\\\ \n/.0-9-]{0,60}") {
        let _either = CommandLine::read(&line).is_ok();
    }
}
