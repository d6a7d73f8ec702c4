use super::*;
use crate::{
    gate::{self, Program, Verb},
    testing::{decided, path, peer, pending, shown},
};
use alloc::{
    collections::BTreeSet,
    string::{String, ToString},
};

#[test]
fn a_grant_says_what_it_covers_before_it_is_given() {
    assert_eq!(Scope::of(&shown("grep x README.md")).what(), "grep in /home/u/shop");
    assert_eq!(Scope::of(&shown("git log -n 3")).what(), "git log in /home/u/shop");
    assert_eq!(
        Scope::of(&shown("git log -n 3")).sentence(),
        "git log in /home/u/shop, in this conversation, until revoked"
    );
}

#[test]
fn a_directory_in_the_sentence_cannot_look_like_another() {
    let mut shown = shown("cat README.md");
    shown.workdir = path("/home/u/\u{202e}pohs\n, in every conversation");
    assert_eq!(Scope::of(&shown).what(), r#"cat in "/home/u/\u{202e}pohs\n, in every conversation""#);
}

#[test]
fn a_grant_covers_its_program_and_verb_in_its_directory_and_nothing_else() {
    let granted = Scope::of(&shown("git status"));
    assert_eq!(Scope::of(&shown("git status --short")), granted);
    for line in ["git log", "git show", "git diff", "git branch", "cat README.md", "grep status README.md"] {
        assert_ne!(Scope::of(&shown(line)), granted, "{line}");
    }
    let mut elsewhere = shown("git status");
    for workdir in ["/home/u/shop2", "/home/u", "/home/u/shop/src", "/home/u/Shop"] {
        elsewhere.workdir = path(workdir);
        assert_ne!(Scope::of(&elsewhere), granted, "{workdir}");
    }
}

#[test]
fn a_directory_has_as_many_kinds_of_grant_as_the_table_has_rows() {
    let scopes: BTreeSet<Scope> = gate::rows()
        .iter()
        .map(|row| Scope { program: row.program, verb: row.verb, workdir: path("/home/u/shop") })
        .collect();
    assert_eq!(scopes.len(), 11);
    let sentences: BTreeSet<String> = scopes.iter().map(Scope::sentence).collect();
    assert_eq!(sentences.len(), 11, "each says something else");
    for scope in &scopes {
        assert_eq!(scope.verb.is_some(), scope.program == Program::Git, "{}", scope.what());
    }
    assert_eq!(scopes.iter().filter_map(|scope| scope.verb).collect::<BTreeSet<_>>(), BTreeSet::from(Verb::ALL));
}

#[test]
fn outcomes_are_named_and_read_back() {
    let names = ["allowed", "denied", "expired", "cancelled"];
    assert_eq!(Outcome::ALL.map(Outcome::name), names);
    for outcome in Outcome::ALL {
        assert_eq!(Outcome::from_name(outcome.name()), Some(outcome));
        assert_eq!(decided(1, outcome).state(), outcome.name());
    }
    assert_eq!(pending(1).state(), "pending");
    for other in ["", "pending", "Allowed", "allow"] {
        assert_eq!(Outcome::from_name(other), None, "{other}");
    }
}

#[test]
fn who_decided_is_named_and_only_a_peer_has_a_process() {
    let desktop = peer("owl-desktop");
    for (by, name, of) in [
        (By::Client(desktop.clone()), "client", Some(&desktop)),
        (By::Turn(desktop.clone()), "turn", Some(&desktop)),
        (By::Grant, "grant", None),
        (By::Owl, "owl", None),
    ] {
        assert_eq!((by.name(), by.peer()), (name, of));
    }
    assert_eq!(pending(3).id.to_string(), "p_3");
}
