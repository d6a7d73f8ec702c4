use super::*;
use std::os::unix::fs::symlink;
use tempfile::TempDir;

fn git_dir() -> TempDir {
    let made = TempDir::new().unwrap();
    for directory in [
        "logs",
        "refs/heads",
        "rebase-merge",
        "worktrees/other/rebase-merge",
        "objects/ab",
        "objects/pack",
        "objects/info",
    ] {
        fs::create_dir_all(made.path().join(directory)).unwrap();
    }
    fs::write(made.path().join("HEAD"), "ref: refs/heads/main\n").unwrap();
    made
}

#[test]
fn a_link_that_git_would_follow_is_refused() {
    for name in [
        "index",
        "MERGE_HEAD",
        "BISECT_START",
        "some-state-of-a-newer-git",
        "rebase-apply",
        "rebase-merge/done",
        "rebase-merge/git-rebase-todo",
        "logs/HEAD",
        "refs/stash",
        "worktrees/linked",
        "worktrees/other/gitdir",
        "worktrees/other/rebase-merge/done",
        "refs/heads/spy",
        "refs/heads/deep/er/spy",
        "logs/refs/heads/spy",
        "reftable",
        "reftable/x.ref",
        "worktrees/other/refs/bisect/bad",
        "info/sparse-checkout",
        "worktrees/other/info/sparse-checkout",
    ] {
        let git_dir = git_dir();
        fs::create_dir_all(git_dir.path().join(name).parent().unwrap()).unwrap();
        assert!(refuse_in_state(git_dir.path()).is_ok());
        symlink("/etc/hostname", git_dir.path().join(name)).unwrap();
        let refused = refuse_in_state(git_dir.path()).unwrap_err().to_string();
        assert!(refused.contains(name), "{refused}");
    }
}

#[test]
fn a_pipe_at_which_git_would_wait_is_refused() {
    for name in ["HEAD", "packed-refs", "refs/heads/p", "logs/HEAD"] {
        let git_dir = git_dir();
        let path = git_dir.path().join(name);
        drop(fs::remove_file(&path));
        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert!(refuse_in_state(git_dir.path()).unwrap_err().to_string().contains(name), "{name}");
    }
}

#[test]
fn a_list_of_tables_names_only_what_lies_beside_it() {
    let git_dir = git_dir();
    fs::create_dir(git_dir.path().join("reftable")).unwrap();
    for (line, is_fine) in
        [("0x000000000001-0x000000000002-abcdef01.ref", true), ("../../x.ref", false), ("/x.ref", false)]
    {
        fs::write(git_dir.path().join("reftable/tables.list"), format!("{line}\n")).unwrap();
        assert_eq!(refuse_in_state(git_dir.path()).is_ok(), is_fine, "{line}");
    }
}

#[test]
fn a_link_that_git_is_not_let_near_is_not_refused() {
    let git_dir = git_dir();
    for name in UNREAD {
        symlink("/etc/hostname", git_dir.path().join(name)).unwrap();
    }
    assert!(refuse_in_state(git_dir.path()).is_ok());
}

#[test]
fn patterns_of_a_sparse_checkout_lie_behind_no_link() {
    let (git_dir, elsewhere) = (git_dir(), TempDir::new().unwrap());
    fs::write(elsewhere.path().join("sparse-checkout"), "/a/\n").unwrap();
    symlink(elsewhere.path(), git_dir.path().join("info")).unwrap();
    assert!(refuse_in_state(git_dir.path()).unwrap_err().to_string().contains("info` is a link"));
}

#[test]
fn a_head_may_be_a_link_to_a_branch_and_to_nothing_else() {
    for (target, may_be) in [("refs/heads/main", true), ("refs/heads/../../../x", false), ("/etc/hostname", false)] {
        let git_dir = git_dir();
        fs::remove_file(git_dir.path().join("HEAD")).unwrap();
        symlink(target, git_dir.path().join("HEAD")).unwrap();
        assert_eq!(refuse_in_state(git_dir.path()).is_ok(), may_be, "{target}");
    }
}

#[test]
fn an_object_that_is_a_link_is_refused_whenever_it_came() {
    for name in [
        "objects/ab/cdef",
        "objects/EF/cdef",
        "objects/cd",
        "objects/pack/pack-1.pack",
        "objects/info/commit-graph",
        "objects/info/commit-graphs",
        "objects/info/commit-graphs/graph-1.graph",
    ] {
        let git_dir = git_dir();
        fs::create_dir_all(git_dir.path().join(name).parent().unwrap()).unwrap();
        let objects = git_dir.path().join("objects");
        let mut looked = Objects::default();
        looked.refuse_links(&objects).unwrap();
        symlink("/etc/hostname", git_dir.path().join(name)).unwrap();
        assert!(looked.refuse_links(&objects).is_err(), "{name}");
        assert!(looked.refuse_links(&objects).is_err(), "{name}: again");
        fs::remove_file(git_dir.path().join(name)).unwrap();
        assert!(looked.refuse_links(&objects).is_ok(), "{name}");
    }
}

#[test]
fn what_is_no_directory_among_the_worktrees_is_none() {
    let git_dir = git_dir();
    fs::write(git_dir.path().join("worktrees/.DS_Store"), "x").unwrap();
    assert!(refuse_in_state(git_dir.path()).is_ok());
}
