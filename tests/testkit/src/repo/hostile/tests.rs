//! The traps are armed: plain git springs them.

use super::Hostile;

#[test]
fn plain_git_springs_the_traps_of_a_repository() {
    let hostile = Hostile::armed();
    let (mut sprung, mut named) = (std::collections::BTreeSet::new(), Vec::new());
    for (words, name) in [
        (&["diff", "HEAD"][..], "hook-post-index-change"),
        (&["status"], "fsmonitor"),
        (&["diff", "--stat"], "clean"),
        (&["diff", "--stat"], "process"),
        (&["diff", "HEAD~5", "HEAD"], "external-diff"),
        (&["log", "-p", "--no-ext-diff"], "textconv"),
        (&["log", "-p", "--no-ext-diff"], "hook-reference-transaction"),
        (&["log", "-1"], "gpg-x509"),
        (&["show", "--format=%G?", "HEAD~2"], "gpg"),
        (&["log", "-3", "--format=%GS"], "gpg-ssh"),
        (&["log", "--remerge-diff", "--no-ext-diff"], "merge-driver"),
        (&["branch", "--edit-description"], "editor"),
        (&["lg"], "alias"),
    ] {
        sprung.extend(hostile.spring(words));
        named.push(name);
    }
    // Not each by its own line: what git asks for depends on what its index already knows.
    for name in named {
        assert!(sprung.contains(name), "{name} is not among {sprung:?}");
    }
}

#[test]
fn plain_git_springs_the_traps_of_a_submodule() {
    let hostile = Hostile::with_armed_submodule();
    let sprung = hostile.spring(&["status"]);
    assert!(sprung.iter().any(|name| name == "fsmonitor"), "{sprung:?}");
}

#[test]
fn plain_git_fetches_what_a_partial_clone_lacks() {
    let hostile = Hostile::partial();
    assert_eq!(hostile.spring(&["show", "HEAD~1:old.md"]), ["fetch"]);
}
