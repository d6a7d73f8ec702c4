//! What one worktree sets beside the repository's configuration.

use crate::testing::{Host, workdir};
use owl_domain::{ports::Repositories as _, project::Project};
use owl_testkit::repo::TempRepo;
use std::{fs, os::unix::fs::symlink};

async fn refused(host: &Host, project: &Project) -> String {
    let registered = std::slice::from_ref(project);
    host.repositories.home(&workdir(project), registered).await.unwrap_err().to_string()
}

#[tokio::test]
async fn what_a_worktree_sets_for_itself_is_read_when_it_changed_and_nothing_is_followed() {
    let repo = TempRepo::with_commit();
    let linked = repo.beside("linked");
    repo.git(["worktree", "add", "--quiet", "-b", "linked", linked.to_str().unwrap()]);
    let own = repo.root().join(".git/config.worktree");
    fs::write(&own, "[core]\n\tfilemode = false\n").unwrap();
    let host = Host::new();
    let project = host.register("shop", repo.root()).await;
    assert_eq!(host.home(&project).await.settings, [], "without the extension git does not read it");
    repo.git(["config", "extensions.worktreeConfig", "true"]);
    let set = |key: &str, value: &str| [(key.to_owned(), value.to_owned())];
    assert_eq!(host.home(&project).await.settings, set("core.filemode", "false"));
    fs::write(&own, "[core]\n\tsparseCheckout\n\tfsmonitor = /bin/evil\n[include]\n\tpath = /dev/stdin\n").unwrap();
    for _ in 0..2 {
        assert_eq!(host.home(&project).await.settings, set("core.sparsecheckout", "true"));
    }
    let registered = std::slice::from_ref(&project);
    let worktree = host.repositories.worktrees(&project).await.unwrap().remove(1).workdir;
    assert_eq!(host.repositories.home(&worktree, registered).await.unwrap().settings, []);
    for (content, said) in [("[core]\n\tfilemode = perhaps\n", "core.filemode"), ("[core\n", "bad config")] {
        fs::write(&own, content).unwrap();
        assert!(refused(&host, &project).await.contains(said), "{content}");
    }
    fs::remove_file(&own).unwrap();
    symlink("/dev/zero", &own).unwrap();
    assert!(refused(&host, &project).await.contains("is no regular file"));
    assert!(host.repositories.home(&worktree, registered).await.is_ok());
}
