use super::*;
use alloc::format;

#[test]
fn every_placeholder_of_the_list_is_known() {
    for format in [
        "%%",
        "%x09",
        "%xFF",
        "%n%m%H%h%T%t%P%p",
        "%d%D%S%e%s%f%b%B%N",
        "%gD%gd%gs%gn%gN%ge%gE",
        "%Cred%Cgreen%Cblue%Creset",
        "%C(auto)",
        "%C(bold red)",
        "%w(72,2,2)",
        "%<(20)",
        "%<(20,trunc)",
        "%<|(30)",
        "%>(10)",
        "%>>(8)",
        "%><(9)",
        "%(trailers)",
        "%(trailers:key=A,separator=%x2C )",
        "%(decorate)",
        "%(decorate:prefix=,suffix=)",
        "%+b",
        "%-b",
        "% b",
        "oneline",
        "raw",
        "",
        "text",
        "100%%",
    ] {
        assert_eq!(check_commit_format(format), Ok(()), "{format}");
    }
    for letter in "nNeElLdDrtiIsh".chars() {
        assert_eq!(check_commit_format(&format!("%a{letter}%c{letter}")), Ok(()), "{letter}");
    }
}

#[test]
fn nothing_that_starts_a_program_hides_in_a_format() {
    for (format, part) in [
        ("%G?", "%G?"),
        ("a %GS b", "%GS"),
        ("% GS", "% GS"),
        ("%+GG", "%+GG"),
        ("%-GK", "%-GK"),
        ("%%%G?", "%G?"),
        ("%-%G?", "%-%"),
        ("%<(20)%GS", "%GS"),
        ("%C(%G?)", "%G?"),
        ("%w(%GS)", "%GS"),
        ("%(trailers:separator=%G?)", "%G?"),
        ("%(describe)", "%(describe)"),
        ("%(describe:tags)", "%(describe:tags)"),
        ("%(trailersx)", "%(trailersx)"),
        ("%(trailers", "%(trailers"),
        ("%", "%"),
        ("a%", "%"),
        ("%q", "%q"),
        ("%x2", "%x"),
        ("%xg0", "%x"),
        ("%a", "%a"),
        ("%aZ", "%aZ"),
        ("%C", "%C"),
        ("%Cpink", "%Cpink"),
        ("%C(red", "%C"),
        ("%<20", "%<"),
        ("%>|(20)%s", "%>|(20)"),
        ("%  h", "%  "),
        ("%ü", "%ü"),
        ("oneline %G?", "%G?"),
        ("format:%GS", "%GS"),
        ("%xüa", "%x"),
    ] {
        let range = check_commit_format(format).expect_err(format);
        assert_eq!(format.get(range), Some(part), "{format}");
    }
}

#[test]
fn a_format_of_branches_holds_known_fields_only() {
    for format in [
        "%(refname)",
        "%(refname:short)",
        "%(*objectname)",
        "%(HEAD)%00%%",
        "%(contents:subject)",
        "%(committerdate:format:%Y-%m)",
        "%(if)%(upstream)%(then)a%(else)b%(end)",
        "%(align:width=20,position=left)x%(end)",
        "%(ahead-behind:main)",
        "%(color:red)",
        "",
        "text",
        "%2c",
    ] {
        assert_eq!(check_ref_format(format), Ok(()), "{format}");
    }
    for format in [
        "%(signature)",
        "%(signature:key)",
        "%(*signature)",
        "%(describe)",
        "%(refname)%(signature)",
        "%(foo)",
        "%()",
        "%(*)",
        "%(refname",
        "%",
        "%h",
        "%(refnam)",
        "%( refname)",
        "%(**refname)",
        "%%%(signature)",
        "%(is-base:x)",
        "%gg",
    ] {
        assert!(check_ref_format(format).is_err(), "{format}");
    }
    // git reads `%%` first; what follows is text.
    assert_eq!(check_ref_format("%%(signature)"), Ok(()));
}

#[test]
fn a_sort_key_is_a_known_field() {
    for key in [
        "refname",
        "-committerdate",
        "refname:short",
        "version:refname",
        "-v:refname",
        "upstream:track,nobracket",
        "authordate:iso8601",
        "committeremail",
    ] {
        assert!(check_sort_key(key), "{key}");
    }
    for key in [
        "",
        "-",
        "signature",
        "-signature:key",
        "contents",
        "foo",
        "refname:",
        "refname:a b",
        "version:",
        "version:foo",
        "v:",
        "--refname",
        "version:refname:",
        "refname:%G",
    ] {
        assert!(!check_sort_key(key), "{key}");
    }
}
