use super::*;

#[test]
fn what_git_tells_of_linked_worktrees_is_read() {
    let id = "0123456789abcdef0123456789abcdef01234567";
    let printed = format!(
        "worktree /p\0HEAD {id}\0branch refs/heads/main\0\0worktree /w\nodd\0HEAD {id}\0detached\0locked\0\0\
         worktree /x\0HEAD {}\0branch refs/heads/feature/x\0locked on a stick\0prunable gone\0\0",
        "0".repeat(40)
    );
    let branch = |name: &str| Some(BranchName::new(name).unwrap());
    let head = CommitId::new(id).ok();
    assert_eq!(
        read(printed.as_bytes()),
        [
            Told { path: "/w\nodd".into(), branch: None, head, locked: true },
            Told { path: "/x".into(), branch: branch("feature/x"), head: None, locked: true },
        ]
    );
    assert_eq!(read(b""), []);
}
