//! Jobs' worktrees in real repositories, with real git.

use super::*;
use crate::testing::{Host, abs};
use owl_domain::job::Changes;
use owl_testkit::repo::{Git, Hostile, TempRepo};
use std::os::unix::fs::symlink;
use tempfile::TempDir;

/// Owl's own directory of worktrees, and a Project in a repository.
struct World {
    jobs: GitJobs,
    project: Project,
    own: PathBuf,
    _directory: TempDir,
    _host: TempDir,
}

impl World {
    async fn of(root: &Path) -> Self {
        let host = Host::new();
        let project = host.register("shop", root).await;
        let (repositories, kept) = host.parts();
        let directory = TempDir::new().unwrap();
        let own = directory.path().canonicalize().unwrap();
        let jobs = GitJobs::new(Arc::new(repositories), abs(&own));
        Self { jobs, project, own, _directory: directory, _host: kept }
    }

    fn new_place(&self) -> NewPlace {
        NewPlace { worktree: self.jobs.worktree(JobId::new(7)), branch: BranchName::new("owl/job-7").unwrap() }
    }

    fn place(&self, base_commit: CommitId) -> JobPlace {
        let NewPlace { worktree, branch } = self.new_place();
        JobPlace { project: self.project.clone(), worktree, branch, base_commit }
    }

    async fn made(&self) -> JobPlace {
        let commit = self.jobs.make(&self.project, &self.new_place(), Arc::new(Flag(false))).await.unwrap();
        self.place(commit)
    }

    fn tree(&self) -> PathBuf {
        self.own.join("j_7")
    }
}

struct Flag(bool);

#[async_trait]
impl Stop for Flag {
    fn is_stopped(&self) -> bool {
        self.0
    }

    async fn stopped(&self) {
        if !self.0 {
            std::future::pending::<()>().await;
        }
    }
}

fn repo() -> TempRepo {
    let repo = TempRepo::new();
    repo.commit_file("kept.txt", "one\ntwo\n");
    repo.commit_file("src/gone.txt", "gone\n");
    repo.commit_file(".gitignore", "ignored/\n");
    repo
}

fn commit_all(tree: &Path) {
    let git = Git::at(tree);
    git.run(["add", "--all"]);
    git.run(["commit", "--quiet", "--message", "work"]);
}

#[tokio::test]
async fn a_worktree_is_made_at_the_tip_of_the_base_branch_and_is_the_repositorys_own() {
    let repo = repo();
    let world = World::of(repo.root()).await;
    let place = world.made().await;
    assert_eq!(place.base_commit.as_str(), repo.git(["rev-parse", "main"]));
    assert_eq!(repo.git(["rev-parse", "owl/job-7"]), place.base_commit.as_str());
    assert_eq!(fs::read_to_string(world.tree().join("src/gone.txt")).unwrap(), "gone\n");
    let git = Git::at(&world.tree());
    assert_eq!(git.run(["status", "--porcelain"]), "");
    assert_eq!(git.run(["symbolic-ref", "HEAD"]), "refs/heads/owl/job-7");
    let common = repo.root().join(".git").display().to_string();
    assert_eq!(git.run(["rev-parse", "--path-format=absolute", "--git-common-dir"]), common);
    let named = fs::read_to_string(world.tree().join(".git")).unwrap();
    assert_eq!(named, format!("gitdir: {common}/worktrees/j_7\n"), "not by way of Owl's own directory");
    assert_eq!(repo.git(["worktree", "list"]).lines().count(), 2);
    assert!(world.jobs.stands(&place).await);
    let (worktree, branch) = (&place.worktree, &place.branch);
    assert_eq!(world.jobs.made_at(&world.project, worktree, branch).await, Some(place.base_commit.clone()));
    let other = BranchName::new("owl/job-8").unwrap();
    assert_eq!(world.jobs.made_at(&world.project, worktree, &other).await, None);
}

#[tokio::test]
async fn what_a_worktree_holds_is_seen_committed_or_not_known_to_git_or_hidden() {
    let repo = repo();
    let world = World::of(repo.root()).await;
    let place = world.made().await;
    let untouched = world.jobs.survey(&place).await.unwrap();
    assert_eq!(untouched.changes, Changes::default());
    assert_eq!(world.jobs.survey(&place).await.unwrap(), untouched, "looking changes nothing");
    assert_eq!(world.jobs.at_risk(&place).await.unwrap(), AtRisk::default());

    let tree = world.tree();
    fs::create_dir(tree.join("ignored")).unwrap();
    fs::write(tree.join("ignored/cache"), "x").unwrap();
    assert_eq!(world.jobs.survey(&place).await.unwrap(), untouched, "what the repository ignores does not count");

    fs::write(tree.join("committed.txt"), "a\nb\n").unwrap();
    commit_all(&tree);
    let git = Git::at(&tree);
    git.run(["update-index", "--assume-unchanged", "kept.txt"]);
    git.run(["update-index", "--skip-worktree", "src/gone.txt"]);
    fs::write(tree.join("kept.txt"), "one\n2\n").unwrap();
    fs::remove_file(tree.join("src/gone.txt")).unwrap();
    fs::write(tree.join("new.bin"), [0, 1, 2]).unwrap();
    let seen = world.jobs.survey(&place).await.unwrap();
    assert_ne!(seen.name, untouched.name);
    assert_eq!(seen.changes, Changes { files: 4, insertions: 3, deletions: 2, commits: 1 });
    let diff = world.jobs.diff(&place).await.unwrap();
    let files: Vec<_> = diff.files.iter().map(|file| (file.path.as_str(), file.status)).collect();
    assert_eq!(files, [("committed.txt", 'A'), ("kept.txt", 'M'), ("new.bin", 'A'), ("src/gone.txt", 'D')]);
    assert!(diff.text.contains("-two\n+2\n") && !diff.truncated, "{}", diff.text);
    assert_eq!((diff.files_total, diff.bytes), (4, diff.text.len() as u64));
    assert_eq!(world.jobs.at_risk(&place).await.unwrap(), AtRisk { files: 2, commits: 1 });
    repo.git(["branch", "elsewhere", "owl/job-7"]);
    assert_eq!(world.jobs.at_risk(&place).await.unwrap(), AtRisk { files: 2, commits: 0 });
    assert_eq!(git.run(["ls-files", "-v", "kept.txt"]), "h kept.txt", "the worktree's index is as it was");
    assert_eq!(fs::read_dir(world.jobs.repositories.state.as_path()).unwrap().count(), 1, "nothing stays behind");
}

#[tokio::test]
async fn a_long_diff_is_cut_at_a_lines_end_and_tells_its_size() {
    let repo = repo();
    let world = World::of(repo.root()).await;
    let place = world.made().await;
    fs::write(world.tree().join("long.txt"), "a line of twenty-one\n".repeat(20_000)).unwrap();
    let diff = world.jobs.diff(&place).await.unwrap();
    assert!(diff.truncated && diff.bytes > 400_000, "{}", diff.bytes);
    let most = owl_domain::limits::DIFF_BYTES;
    assert!(diff.text.len() <= most && diff.text.len() > most - 100 && diff.text.ends_with("twenty-one\n"));
}

#[tokio::test]
async fn when_the_worktree_is_gone_the_branch_tells() {
    let repo = repo();
    let world = World::of(repo.root()).await;
    let place = world.made().await;
    fs::write(world.tree().join("a.txt"), "a\n").unwrap();
    commit_all(&world.tree());
    world.jobs.remove_worktree(&place).await.unwrap();
    assert!(!world.tree().exists() && !world.jobs.stands(&place).await);
    assert_eq!(repo.git(["worktree", "list"]).lines().count(), 1);
    let seen = world.jobs.survey(&place).await.unwrap();
    assert_eq!(seen.changes, Changes { files: 1, insertions: 1, deletions: 0, commits: 1 });
    assert_eq!(world.jobs.at_risk(&place).await.unwrap(), AtRisk { files: 0, commits: 1 });
    world.jobs.remove_branch(&place).await.unwrap();
    assert_eq!(repo.git(["branch", "--list", "owl/*"]), "");
    assert_eq!(world.jobs.at_risk(&place).await.unwrap(), AtRisk::default());
    // What is gone is no error.
    world.jobs.remove_worktree(&place).await.unwrap();
    world.jobs.remove_branch(&place).await.unwrap();
}

#[tokio::test]
async fn what_a_worktree_holds_beyond_its_branch_is_seen_wherever_its_head_is() {
    let repo = repo();
    let world = World::of(repo.root()).await;
    let place = world.made().await;
    let (tree, other) = (world.tree(), BranchName::new("feature").ok());
    let there = Beyond {
        branch_is_there: true,
        worktree_is_there: true,
        checked_out: Some(place.branch.clone()),
        ..<_>::default()
    };
    fs::write(tree.join("a.txt"), "a\n").unwrap();
    commit_all(&tree);
    assert_eq!(world.jobs.beyond(&place).await.unwrap(), there, "what its branch holds is no more than that");
    let git = Git::at(&tree);
    git.run(["checkout", "--quiet", "--detach"]);
    assert_eq!(world.jobs.beyond(&place).await.unwrap(), Beyond { checked_out: None, ..there.clone() });
    fs::write(tree.join("b.txt"), "b\n").unwrap();
    commit_all(&tree);
    fs::write(tree.join("c.txt"), "c\n").unwrap();
    let detached = Beyond { commits: 1, files: 1, checked_out: None, ..there.clone() };
    assert_eq!(world.jobs.beyond(&place).await.unwrap(), detached);
    git.run(["switch", "--quiet", "-c", "feature"]);
    assert_eq!(world.jobs.beyond(&place).await.unwrap(), Beyond { checked_out: other.clone(), ..detached });
    // Renamed: no branch of the Job's name holds anything.
    git.run(["branch", "-D", "owl/job-7"]);
    let renamed = Beyond { branch_is_there: false, commits: 2, files: 1, checked_out: other, ..there };
    assert_eq!(world.jobs.beyond(&place).await.unwrap(), renamed);
    fs::write(tree.join(".git"), "gitdir: /nowhere\n").unwrap();
    let foreign = world.jobs.beyond(&place).await.unwrap_err().to_string();
    assert!(foreign.contains("is not the worktree that Owl made"), "{foreign}");
    fs::remove_dir_all(&tree).unwrap();
    assert_eq!(world.jobs.beyond(&place).await.unwrap(), Beyond::default());
}

#[tokio::test]
async fn what_is_in_the_way_is_named_and_stays() {
    for way in ["branch", "directory", "link", "entry"] {
        let repo = repo();
        let world = World::of(repo.root()).await;
        match way {
            "branch" => drop(repo.git(["branch", "owl/job-7"])),
            "directory" => fs::create_dir(world.tree()).unwrap(),
            "link" => symlink("/nowhere", world.tree()).unwrap(),
            _ => {
                world.made().await;
                fs::remove_dir_all(world.tree()).unwrap();
                repo.git(["update-ref", "-d", "refs/heads/owl/job-7"]);
            }
        }
        let refused = world.jobs.make(&world.project, &world.new_place(), Arc::new(Flag(false))).await;
        assert!(matches!(refused, Err(WorktreeError::InTheWay { .. })), "{way}: {refused:?}");
        let there = [
            !repo.git(["branch", "--list", "owl/job-7"]).is_empty(),
            fs::symlink_metadata(world.tree()).is_ok(),
            repo.root().join(".git/worktrees/j_7").exists(),
        ];
        let expected = ["branch", "directory", "entry"].map(|one| one == way || (one == "directory" && way == "link"));
        assert_eq!(there, expected, "{way}");
    }
}

#[tokio::test]
async fn one_that_is_stopped_or_fails_leaves_nothing() {
    let repo = repo();
    let world = World::of(repo.root()).await;
    // Wherever git is when it is stopped, a process of its own that is killed in the middle of it included.
    let lock = repo.root().join(".git").join(format!("refs/heads/{}.lock", world.new_place().branch));
    fs::create_dir_all(lock.parent().unwrap()).unwrap();
    fs::write(&lock, "").unwrap();
    let stopped = world.jobs.make(&world.project, &world.new_place(), Arc::new(Flag(true))).await;
    assert_eq!(stopped, Err(WorktreeError::Stopped));
    assert!(!lock.exists());
    // `owl` as a branch is in the way of any `owl/…`.
    repo.git(["branch", "owl"]);
    let failed = world.jobs.make(&world.project, &world.new_place(), Arc::new(Flag(false))).await;
    let Err(WorktreeError::Repository(failed)) = failed else { panic!("{failed:?}") };
    // git says first what it is about to do.
    assert!(failed.to_string().starts_with("git: ") && failed.to_string().contains("'refs/heads/owl"), "{failed}");
    assert!(!world.tree().exists());
    assert_eq!(repo.git(["worktree", "list"]).lines().count(), 1);
    assert_eq!(repo.git(["for-each-ref", "--format=%(refname)"]), "refs/heads/main\nrefs/heads/owl");
}

#[tokio::test]
async fn nothing_that_a_repository_names_is_started() {
    let hostile = Hostile::armed();
    let world = World::of(&hostile.root()).await;
    let before = hostile.marks();
    let place = world.made().await;
    fs::write(world.tree().join("old.md"), "changed\n").unwrap();
    fs::write(world.tree().join("new.md"), "new\n").unwrap();
    world.jobs.survey(&place).await.unwrap();
    world.jobs.diff(&place).await.unwrap();
    assert_eq!(world.jobs.at_risk(&place).await.unwrap().commits, 0);
    world.jobs.remove_worktree(&place).await.unwrap();
    world.jobs.remove_branch(&place).await.unwrap();
    assert_eq!(hostile.marks(), before);
    assert!(!hostile.spring(&["status"]).is_empty(), "the traps work");
}

#[tokio::test]
async fn nothing_but_owls_own_is_removed() {
    let repo = repo();
    let world = World::of(repo.root()).await;
    let place = world.made().await;
    let elsewhere = JobPlace { worktree: abs(repo.root()), ..place.clone() };
    assert!(world.jobs.remove_worktree(&elsewhere).await.is_err());
    for path in [format!("{}/j_7/../../x", world.own.display()), format!("{}/a/b", world.own.display())] {
        let elsewhere = JobPlace { worktree: AbsPath::new(path).unwrap(), ..place.clone() };
        assert!(world.jobs.remove_worktree(&elsewhere).await.is_err());
    }
    // A link that an Agent left in the place of its worktree goes; what it leads to stays.
    let precious = repo.beside("precious");
    fs::create_dir(&precious).unwrap();
    fs::write(precious.join("file"), "x").unwrap();
    fs::remove_dir_all(world.tree()).unwrap();
    symlink(&precious, world.tree()).unwrap();
    assert!(!world.jobs.stands(&place).await);
    world.jobs.remove_worktree(&place).await.unwrap();
    assert!(fs::symlink_metadata(world.tree()).is_err() && precious.join("file").exists());
}

#[tokio::test]
async fn a_branch_that_somebody_has_checked_out_stays() {
    let repo = repo();
    let world = World::of(repo.root()).await;
    let place = world.made().await;
    world.jobs.remove_worktree(&place).await.unwrap();
    repo.git(["switch", "--quiet", "owl/job-7"]);
    assert!(world.jobs.remove_branch(&place).await.is_err());
    assert_eq!(repo.git(["branch", "--show-current"]), "owl/job-7");
}

#[tokio::test]
async fn of_a_worktree_that_its_agent_moved_it_is_said_where_it_is_and_a_gone_one_holds_no_branch() {
    let repo = repo();
    let world = World::of(repo.root()).await;
    let place = world.made().await;
    let moved = repo.beside("moved");
    repo.git(["worktree", "move", world.tree().to_str().unwrap(), moved.to_str().unwrap()]);
    world.jobs.remove_worktree(&place).await.unwrap();
    let refused = world.jobs.remove_branch(&place).await.unwrap_err().to_string();
    let said = format!("the branch `owl/job-7` is checked out in `{}`", moved.display());
    assert!(refused.starts_with(&said), "{refused}");
    assert!(moved.join("kept.txt").exists());
    fs::remove_dir_all(&moved).unwrap();
    world.jobs.remove_branch(&place).await.unwrap();
    assert_eq!(repo.git(["branch", "--list", "owl/*"]), "");
    assert_eq!(repo.git(["worktree", "list"]).lines().count(), 1);
}

#[tokio::test]
async fn a_worktree_that_names_another_repository_does_not_stand() {
    let (repo, other) = (repo(), repo());
    let world = World::of(repo.root()).await;
    let place = world.made().await;
    fs::write(world.tree().join(".git"), format!("gitdir: {}\n", other.root().join(".git").display())).unwrap();
    assert!(!world.jobs.stands(&place).await);
    // What is looked at is still the Project's own repository.
    assert_eq!(world.jobs.survey(&place).await.unwrap().changes, Changes::default());
}
