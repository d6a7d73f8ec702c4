//! The traps are armed: plain git springs them.

use super::Hostile;

#[test]
fn plain_git_springs_the_traps_of_a_repository() {
    let hostile = Hostile::armed();
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
        (&["log", "-m", "--no-ext-diff"], "merge-driver"),
        (&["branch", "--edit-description"], "editor"),
        (&["lg"], "alias"),
    ] {
        let sprung = hostile.spring(words);
        assert!(sprung.iter().any(|sprung| sprung == name), "git {words:?} sprang only {sprung:?}");
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
