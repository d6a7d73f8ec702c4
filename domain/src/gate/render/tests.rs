use super::*;

#[test]
fn every_option_and_every_word_of_owls_is_printed() {
    let text = render();
    for rule in POLICY {
        assert!(text.contains(rule.because), "{}", rule.covers());
        for name in rule.options().flat_map(Opt::names) {
            assert!(text.split([' ', '|', '=', '[', '\n']).any(|word| word == *name), "{} {name}", rule.covers());
        }
        for word in rule.adds() {
            assert!(text.contains(word), "{word}");
        }
    }
}

#[test]
fn what_only_owl_writes_is_not_offered() {
    assert!(!render().contains("--ignore "));
    assert!(POLICY.iter().flat_map(Rule::options).all(|opt| opt.stands != Stands::OwlsOwn));
}
