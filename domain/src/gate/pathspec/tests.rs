use super::*;

#[test]
fn magic_is_taken_off() {
    for (spec, path) in [
        ("src", "src"),
        ("*.rs", "*.rs"),
        (":!docs", "docs"),
        (":^docs", "docs"),
        (":/docs", "docs"),
        (":/", ""),
        (":!/docs", "docs"),
        (":/:docs", "docs"),
        (":(top)docs", "docs"),
        (":(exclude,icase)a b", "a b"),
        (":(glob)**/x", "**/x"),
        (":(literal)a*", "a*"),
        (":(top)../x", "../x"),
        (":/../x", "../x"),
        (":(exclude)", ""),
    ] {
        assert_eq!(path_of(spec), Some(path), "{spec}");
    }
}

#[test]
fn magic_that_is_not_known_is_none() {
    for spec in [
        ":",
        ":x",
        "::x",
        ":(attr:a)x",
        ":(prefix:1)x",
        ":(foo)x",
        ":(top",
        ":(top exclude)x",
        ":()x",
        ":(TOP)x",
        ":(top,)x",
        ":-x",
    ] {
        assert_eq!(path_of(spec), None, "{spec}");
    }
}
