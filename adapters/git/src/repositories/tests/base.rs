use crate::testing::Host;
use owl_domain::ports::{Repositories as _, RepositoryError};
use owl_testkit::repo::TempRepo;
use std::os::unix::fs::symlink;

const FILE: &str = ".coding-owl.yaml";

#[tokio::test]
async fn a_file_is_read_from_the_base_branch_and_never_from_a_working_tree() {
    let repo = TempRepo::with_commit();
    let commit = repo.commit_file(FILE, "on main\n");
    repo.git(["checkout", "--quiet", "-b", "other"]);
    repo.commit_file(FILE, "on other\n");
    repo.write(FILE, "in the work tree\n");
    let host = Host::new();
    let project = host.register_on("p", repo.root(), "main").await;
    let file = host.repositories.read_base(&project, FILE).await.unwrap().unwrap();
    assert_eq!((file.commit.as_str(), file.text.as_str()), (commit.as_str(), "on main\n"));
    let next = repo.git(["commit-tree", "-p", "main", "-m", "next", "other^{tree}"]);
    repo.git(["update-ref", "refs/heads/main", &next]);
    let file = host.repositories.read_base(&project, FILE).await.unwrap().unwrap();
    assert_eq!((file.commit.as_str(), file.text.as_str()), (next.as_str(), "on other\n"));
}

#[tokio::test]
async fn a_file_that_is_not_there_is_none_and_names_are_no_patterns() {
    let repo = TempRepo::with_commit();
    repo.commit_file("src/main.rs", "");
    let host = Host::new();
    let project = host.register("p", repo.root()).await;
    for name in [FILE, "*", "READ*", "src/*.rs", ":(top)README.md", "-l", "../README.md", "README.md/x"] {
        assert_eq!(host.repositories.read_base(&project, name).await.ok().flatten(), None, "{name}");
    }
    assert!(host.repositories.read_base(&project, "src/main.rs").await.unwrap().is_some());
}

#[tokio::test]
async fn what_is_no_file_of_a_bearable_size_is_refused() {
    let repo = TempRepo::with_commit();
    symlink("README.md", repo.root().join("link")).unwrap();
    repo.commit_file("link", "");
    repo.git(["rm", "--quiet", "--cached", "link"]);
    std::fs::remove_file(repo.root().join("link")).unwrap();
    symlink("/etc/passwd", repo.root().join("link")).unwrap();
    repo.git(["add", "link"]);
    repo.git(["commit", "--quiet", "--message", "a link"]);
    repo.commit_file("dir/x", "");
    repo.commit_file("latin", b"\xff\xfe");
    repo.commit_file("fits", vec![b'x'; 1_048_576]);
    repo.commit_file("big", vec![b'x'; 1_048_577]);
    let host = Host::new();
    let project = host.register("p", repo.root()).await;
    for (name, reason) in [("link", "is a link"), ("dir", "is no file"), ("latin", "not UTF-8"), ("big", "more than")] {
        let Err(RepositoryError::Failed { reason: said }) = host.repositories.read_base(&project, name).await else {
            panic!("`{name}` was read");
        };
        assert!(said.contains(reason), "{name}: {said}");
    }
    assert!(host.repositories.read_base(&project, "fits").await.unwrap().is_some());
}

#[tokio::test]
async fn names_are_listed_at_the_root_and_in_a_directory() {
    let repo = TempRepo::with_commit();
    repo.commit_file(".config/coding-owl.yml", "");
    repo.commit_file(".config/ünïcode", "");
    repo.commit_file(".config/deeper/x", "");
    repo.write("untracked", "");
    let host = Host::new();
    let project = host.register("p", repo.root()).await;
    assert_eq!(host.repositories.list_base(&project, "").await.unwrap(), [".config", "README.md"]);
    let inside = ["coding-owl.yml", "deeper", "ünïcode"];
    assert_eq!(host.repositories.list_base(&project, ".config").await.unwrap(), inside);
    assert_eq!(host.repositories.list_base(&project, "nothing").await.unwrap(), Vec::<String>::new());
    assert_eq!(host.repositories.list_base(&project, "README.md").await.unwrap(), Vec::<String>::new());
}

#[tokio::test]
async fn a_replacement_does_not_change_what_the_base_branch_says() {
    let repo = TempRepo::with_commit();
    repo.commit_file(FILE, "the terms\n");
    let old = repo.git(["rev-parse", &format!("HEAD:{FILE}")]);
    repo.write("evil", "other terms\n");
    let evil = repo.git(["hash-object", "-w", "evil"]);
    repo.git(["replace", &old, &evil]);
    assert_eq!(repo.git(["cat-file", "blob", &format!("main:{FILE}")]), "other terms");
    let host = Host::new();
    let project = host.register("p", repo.root()).await;
    assert_eq!(host.repositories.read_base(&project, FILE).await.unwrap().unwrap().text, "the terms\n");
}

#[tokio::test]
async fn a_branch_or_a_repository_that_is_gone_is_told() {
    let repo = TempRepo::with_commit();
    repo.git(["branch", "base"]);
    let host = Host::new();
    let project = host.register_on("p", repo.root(), "base").await;
    repo.git(["branch", "-D", "base"]);
    let expected = RepositoryError::Failed { reason: "there is no branch `base`".into() };
    assert_eq!(host.repositories.read_base(&project, FILE).await, Err(expected));
    std::fs::rename(repo.root(), repo.beside("moved")).unwrap();
    let gone = host.repositories.list_base(&project, "").await;
    assert!(matches!(gone, Err(RepositoryError::NotAsRegistered { .. })), "{gone:?}");
}
