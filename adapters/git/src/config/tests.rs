use super::*;

/// Composes from entries as `git config -z --list` prints them.
fn text(entries: &[&str]) -> String {
    composed(entries).unwrap().text
}

fn composed(entries: &[&str]) -> Result<Config, GitFailed> {
    compose(entries.iter().flat_map(|entry| [entry.as_bytes(), b"\0"].concat()).collect::<Vec<_>>().as_slice())
}

#[test]
fn nothing_becomes_a_configuration_of_a_repository_with_a_work_tree() {
    assert_eq!(text(&[]), "[core]\n\tbare = false\n\tuntrackedcache = false\n\tmultipackindex = false\n");
}

#[test]
fn what_makes_git_read_the_repository_right_is_copied_by_value() {
    let entries = [
        "core.repositoryformatversion\n1",
        "core.filemode\nfalse",
        "core.ignorecase\ntrue",
        "core.bare\nfalse",
        "core.autocrlf\ninput",
        "extensions.objectformat\nsha256",
        "extensions.refstorage\nreftable",
        "branch.main.remote\norigin",
        "branch.main.merge\nrefs/heads/main",
        "remote.origin.url\nhttps://jane:secret@example.invalid/x.git",
        "remote.origin.fetch\n+refs/heads/*:refs/remotes/origin/*",
        "remote.origin.fetch\n+refs/notes/*:refs/notes/*",
    ];
    assert_eq!(
        text(&entries),
        "[core]\n\tbare = false\n\tuntrackedcache = false\n\tmultipackindex = false\n\trepositoryformatversion = \"1\"\n\tfilemode = \"false\"\n\tignorecase = \"true\"\n\t\
         autocrlf = \"input\"\n[extensions]\n\tobjectformat = \"sha256\"\n\trefstorage = \"reftable\"\n\
         [branch \"main\"]\n\tremote = \"origin\"\n[branch \"main\"]\n\tmerge = \"refs/heads/main\"\n\
         [remote \"origin\"]\n\tfetch = \"+refs/heads/*:refs/remotes/origin/*\"\n\
         [remote \"origin\"]\n\tfetch = \"+refs/notes/*:refs/notes/*\"\n"
    );
}

#[test]
fn nothing_else_is_copied() {
    for entry in [
        "core.fsmonitor\n/bin/evil",
        "core.hookspath\n/evil",
        "core.pager\nevil",
        "core.worktree\n/elsewhere",
        "core.attributesfile\n/evil",
        "core.alternaterefscommand\nevil",
        "core.gitproxy\nevil",
        "core.sshcommand\nevil",
        "core.editor\nevil",
        "include.path\n/evil",
        "includeif.gitdir:/.path\n/evil",
        "alias.log\n!evil",
        "filter.x.clean\nevil",
        "diff.x.textconv\nevil",
        "diff.external\nevil",
        "merge.x.driver\nevil",
        "gpg.program\nevil",
        "hook.x.command\nevil",
        "credential.helper\nevil",
        "log.showsignature\ntrue",
        "format.pretty\n%G?",
        "branch.sort\nsignature",
        "branch.main.description\ntext",
        "branch.main.pushremote\norigin",
        "remote.origin.url\nhttps://jane:secret@example.invalid",
        "remote.origin.pushurl\nhttps://jane:secret@example.invalid",
        "remote.origin.uploadpack\nevil",
        "remote.origin.promisor\ntrue",
        "extensions.partialclone\norigin",
        "extensions.worktreeconfig\ntrue",
        "submodule.x.update\n!evil",
        "url.ext::evil.insteadof\nhttps://",
        "fetch\nx",
    ] {
        assert_eq!(text(&[entry]), text(&[]), "{entry}");
    }
}

#[test]
fn an_address_in_the_place_of_a_remotes_name_is_not_copied() {
    for entry in [
        "branch.main.remote\nhttps://jane:secret@example.invalid/x.git",
        "branch.main.remote\ngit@example.invalid:x.git",
        "remote.https://jane:secret@example.invalid/x.git.fetch\n+refs/*:refs/*",
    ] {
        assert_eq!(text(&[entry]), text(&[]), "{entry}");
    }
    assert!(text(&["branch.main.remote\n."]).contains("remote = \".\""));
}

#[test]
fn the_last_of_doubled_keys_counts_and_a_key_alone_means_yes() {
    assert_eq!(
        text(&["core.filemode\nfalse", "core.filemode", "core.symlinks\n"]),
        "[core]\n\tbare = false\n\tuntrackedcache = false\n\tmultipackindex = false\n\tfilemode = \"true\"\n\tsymlinks = \"\"\n"
    );
}

#[test]
fn a_yes_or_no_is_read_as_git_reads_it() {
    for (value, expected) in [
        (&b"true"[..], Some(true)),
        (b"Yes", Some(true)),
        (b"2", Some(true)),
        (b"-1", Some(true)),
        (b"1k", Some(true)),
        (b"", Some(false)),
        (b"OFF", Some(false)),
        (b"00", Some(false)),
        (b"perhaps", None),
        (b"1x", None),
        (b"\xff", None),
    ] {
        assert_eq!(truth(value), expected);
    }
    assert!(composed(&["extensions.worktreeconfig\n2"]).unwrap().has_one_per_worktree);
    assert!(text(&["core.eol\nCRLF"]).contains("CRLF"));
}

#[test]
fn a_value_that_owl_does_not_know_is_refused() {
    for entry in [
        "core.repositoryformatversion\n2",
        "core.filemode\nperhaps",
        "core.eol\nlf\n[core]\n\tfsmonitor = evil",
        "extensions.objectformat\nsha3",
        "extensions.refstorage\nfiles; evil",
    ] {
        assert!(composed(&[entry]).is_err(), "{entry}");
    }
}

#[test]
fn no_name_and_no_value_breaks_out_of_its_place() {
    let text = text(&[
        "branch.a\"]\u{1}[core] fsmonitor=evil\\.merge\nrefs/heads/a\"\n[core]\n\tfsmonitor = \\evil\\",
        "branch.two\nlines.merge\nrefs/heads/x",
    ]);
    assert_eq!(
        text,
        "[core]\n\tbare = false\n\tuntrackedcache = false\n\tmultipackindex = false\n[branch \"a\\\"]\u{1}[core] fsmonitor=evil\\\\\"]\n\tmerge = \
         \"refs/heads/a\\\"\\n[core]\\n\\tfsmonitor = \\\\evil\\\\\"\n"
    );
}

#[test]
fn a_bare_repository_and_a_work_tree_elsewhere_are_noticed() {
    let config = composed(&["core.bare\nTrue", "core.worktree\n../../sub"]).unwrap();
    assert_eq!((config.is_bare, config.work_tree.as_deref()), (true, Some(b"../../sub".as_slice())));
}

#[test]
fn what_a_worktree_sets_for_itself_wins_and_says_nothing_of_the_format() {
    let common = composed(&["core.bare\ntrue", "core.worktree\n../a", "extensions.worktreeconfig"]).unwrap();
    assert!(
        common.has_one_per_worktree && !composed(&["extensions.worktreeconfig\nfalse"]).unwrap().has_one_per_worktree
    );
    let entries = [
        "core.repositoryformatversion\n1",
        "core.bare\nfalse",
        "core.worktree\n../b",
        "core.sparsecheckout\ntrue",
        "core.filemode\nfalse",
        "core.fsmonitor\n/bin/evil",
        "extensions.objectformat\nsha256",
        "sparse.expectfilesoutsideofpatterns\ntrue",
        "remote.origin.fetch\nx",
    ];
    let listed: Vec<u8> = entries.iter().flat_map(|entry| [entry.as_bytes(), b"\0"].concat()).collect();
    let own = compose_of_worktree(&listed).unwrap();
    let settings: Vec<_> = own.settings.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    let expected =
        [("core.filemode", "false"), ("core.sparsecheckout", "true"), ("sparse.expectfilesoutsideofpatterns", "true")];
    assert_eq!(settings, expected);
    let both = common.clone().in_worktree(own);
    assert_eq!((both.is_bare, both.work_tree.as_deref()), (false, Some(b"../b".as_slice())));
    assert_eq!(common.clone().in_worktree(OfWorktree::default()), common);
    assert!(compose_of_worktree(b"core.filemode\nperhaps\0").is_err());
}
