use super::*;

const AS_GIT_WRITES: &str = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\
     \tlogallrefupdates = true\n\tworktree = ../../../lib\n\
     [remote \"origin\"]\n\turl = https://example.invalid/lib.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n\
     [branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n";

#[test]
fn what_git_writes_for_a_submodule_keeps_no_secret() {
    for text in [
        "",
        AS_GIT_WRITES,
        "[remote \"origin\"]\n\turl = git@example.invalid:org/lib.git\n",
        "[remote \"origin\"]\n\turl = ssh://git@example.invalid/org/lib.git\n",
        "[submodule \"x\"]\n\tactive\n\turl = ../x\n[index]\n\tsparse = true\n",
        "[extensions]\n\tworktreeConfig = true\n",
    ] {
        assert!(keeps_no_secret(text), "{text}");
    }
}

#[test]
fn a_credential_and_whatever_may_hold_one_is_a_secret() {
    for line in [
        "[remote \"origin\"]\n\turl = https://jane:token@example.invalid/x.git",
        "[remote \"origin\"]\n\turl = https://token@example.invalid/x.git",
        "[remote \"origin\"]\n\turl = \"https://jane:token@example.invalid/x.git\"",
        "[remote \"origin\"]\n\turl = https://jane:token\\",
        "[remote \"https://jane:token@example.invalid\"]\n\tfetch = x",
        "[remote \"origin\"]\n\tpushurl = x",
        "[remote \"origin\"] url = x",
        "[branch \"main\"]\n\tremote = https://jane:token@example.invalid/x.git",
        "[http]\n\textraHeader = x",
        "[http \"https://example.invalid\"]\n\textraHeader = x",
        "[credential]\n\thelper = store",
        "[include]\n\tpath = x",
        "[core]\n\tsshCommand = x",
        "[core]\n\tfilemode = true # token",
        "# token",
        "; token",
        "filemode = true",
        "[core",
    ] {
        let text = format!("{AS_GIT_WRITES}{line}\n");
        assert!(!keeps_no_secret(&text), "{line}");
    }
}
