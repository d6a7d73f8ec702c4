//! The `JobRepositories` port (D22): a worktree and a branch for each Job, made by a git that knows nothing of the
//! repository's configuration, so that no hook, filter or signing program starts. What is in the way is never touched, and
//! nothing is removed but below Owl's own directory of worktrees.

mod remove;
mod survey;

use super::{GitRepositories, waiting};
use crate::{
    git::{At, GitFailed, How},
    inspect::{HEADS, commit_of},
    pins::{GIT_FILE, Identity, leads_back},
    read::read_path,
};
use async_trait::async_trait;
use owl_domain::{
    ids::JobId,
    ports::{
        AtRisk, Beyond, JobDiff, JobPlace, JobRepositories, NewPlace, RepositoryError, Stop, Survey, WorktreeError,
    },
    project::Project,
    text::{AbsPath, BranchName, CommitId},
};
use remove::remove;
use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, atomic::AtomicU64},
    time::Duration,
};
use tokio::sync::Mutex as AsyncMutex;

/// How long it may take to write a worktree's files, or to read them all: a big repository on a slow disk.
const FILES: Duration = Duration::from_secs(10 * 60);

/// git on behalf of Jobs.
#[derive(Debug)]
pub struct GitJobs {
    repositories: Arc<GitRepositories>,
    worktrees: AbsPath,
    surveys: AtomicU64,
    /// Held while git writes down a worktree: another git that lists them then stops at an entry that is half there.
    entries: AsyncMutex<()>,
}

impl GitJobs {
    /// Takes the directory of Owl's own in which worktrees are made, resolved.
    pub fn new(repositories: Arc<GitRepositories>, worktrees: AbsPath) -> Self {
        survey::tidy(&repositories.state);
        Self { repositories, worktrees, surveys: AtomicU64::default(), entries: AsyncMutex::default() }
    }

    /// Makes branch and worktree; the caller takes away what is left of a failure.
    async fn add(&self, at: &At, project: &Project, place: &NewPlace, how: &How) -> Result<CommitId, GitFailed> {
        let git = &self.repositories.git;
        let tip = commit_of(git, at, &project.base_branch).await?.and_then(|hash| CommitId::new(hash).ok());
        let tip = tip.ok_or_else(|| GitFailed(format!("there is no branch `{}`", project.base_branch)))?;
        // The link to it leads to nothing as long as there is none.
        let entries = Path::new(project.pins.common_dir.path.as_str()).join("worktrees");
        waiting(move || match fs::create_dir(&entries) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                Err(GitFailed(format!("`{}`: {error}", entries.display())))
            }
            Ok(()) | Err(_) => Ok(()),
        })
        .await?;
        let (branch, worktree) = (place.branch.as_str(), place.worktree.as_str());
        // A log of a ref would be made by way of a link that may lead to nothing; the Agent's own git makes it.
        let quiet = ["-c", "core.logAllRefUpdates=false"];
        let add = ["worktree", "add", "--no-checkout", "--no-track", "--no-guess-remote", "-b", branch, "--", worktree];
        let words: Vec<&str> = quiet.into_iter().chain(add).chain([tip.as_str()]).collect();
        let written_down = self.entries.lock().await;
        git.run_as(at, &words, how).await?.succeeded()?;
        let at = self.lead_back(at, project, &place.worktree).await?;
        drop(written_down);
        let reset: Vec<&str> = quiet.into_iter().chain(["reset", "--quiet", "--hard"]).collect();
        git.run_as(&at, &reset, how).await?.succeeded()?;
        Ok(tip)
    }

    /// Has a new worktree name its repository itself: git wrote down the directory that it was given in its place.
    async fn lead_back(&self, at: &At, project: &Project, worktree: &AbsPath) -> Result<At, GitFailed> {
        let common = PathBuf::from(project.pins.common_dir.path.as_str());
        let tree = PathBuf::from(worktree.as_str());
        let work_tree = tree.clone();
        let entry = waiting(move || {
            let entry = entry_of(&common, &tree).ok_or_else(|| GitFailed("git made no worktree".into()))?;
            let text = format!("{GIT_FILE}{}\n", entry.display());
            let written = fs::write(tree.join(".git"), text);
            written.map_err(|error| GitFailed(format!("`{}`: {error}", tree.display())))?;
            Ok::<_, GitFailed>(entry)
        })
        .await?;
        Ok(At { git_dir: entry, work_tree, common_dir: at.common_dir.clone() })
    }

    /// Takes away what [`add`](Self::add) left of a failure. What was there before is not reached: the branch and the
    /// directory were looked for.
    async fn take_away(&self, at: &At, project: &Project, place: &NewPlace) {
        if let Err(error) = self.remove_directory(project, &place.worktree).await {
            tracing::warn!(%error, worktree = %place.worktree, "what is left of a worktree could not be removed");
        }
        if let Err(error) = self.delete(at, project, &place.branch).await {
            tracing::warn!(%error, branch = %place.branch, "what is left of a branch could not be removed");
        }
    }

    async fn delete(&self, at: &At, project: &Project, branch: &BranchName) -> Result<(), RepositoryError> {
        if commit_of(&self.repositories.git, at, branch).await?.is_none() {
            return Ok(());
        }
        // git refuses one that is checked out; of the main worktree it would name Owl's own directory.
        let common = PathBuf::from(project.pins.common_dir.path.as_str());
        let main = waiting(move || read_path(&common.join("HEAD"), "ref: ")).await;
        let here = self.repositories.git.run(at, &["symbolic-ref", "--quiet", "HEAD"]).await?.stdout;
        let name = format!("{HEADS}{branch}");
        if main.is_some_and(|head| head == Path::new(&name)) || here.trim_ascii_end() == name.as_bytes() {
            let reason = format!("the branch `{branch}` is checked out in the repository; switch to another one first");
            return Err(RepositoryError::Failed { reason });
        }
        self.let_go(project, branch).await?;
        let _nothing_is_half_there = self.entries.lock().await;
        let words = ["branch", "--quiet", "-D", "--", branch.as_str()];
        self.repositories.git.run(at, &words).await?.succeeded()?;
        Ok(())
    }

    /// Removes the entries that hold a branch for a worktree that is not there any more; of one that an Agent moved
    /// elsewhere it is said where it is, since Owl removes nothing outside of its own directory.
    async fn let_go(&self, project: &Project, branch: &BranchName) -> Result<(), RepositoryError> {
        let (common, name) = (PathBuf::from(project.pins.common_dir.path.as_str()), format!("{HEADS}{branch}"));
        let branch = branch.clone();
        let let_go = waiting(move || {
            for entry in entries_on(&common, Path::new(&name)) {
                let dot_git = read_path(&entry.join("gitdir"), "").map(|named| entry.join(named)).unwrap_or_default();
                let tree = dot_git.parent().unwrap_or(&dot_git).display();
                if fs::symlink_metadata(&dot_git).is_ok() || entry.join("locked").exists() {
                    return Err(format!(
                        "the branch `{branch}` is checked out in `{tree}`, which is not Owl's to remove; remove it first: \
                         git worktree remove --force {tree}"
                    ));
                }
                remove(&entry).map_err(|error| format!("`{}`: {error}", entry.display()))?;
            }
            Ok(())
        });
        let_go.await.map_err(|reason| RepositoryError::Failed { reason })
    }

    async fn remove_directory(&self, project: &Project, worktree: &AbsPath) -> Result<(), RepositoryError> {
        let (own, worktree) = (PathBuf::from(self.worktrees.as_str()), PathBuf::from(worktree.as_str()));
        let common = PathBuf::from(project.pins.common_dir.path.as_str());
        let removed = waiting(move || {
            if worktree.parent() != Some(&own) {
                return Err(format!("`{}` is not in Owl's own directory", worktree.display()));
            }
            let failed = |error: io::Error| format!("`{}`: {error}", worktree.display());
            let entries = entries_of(&common, &worktree);
            remove(&worktree).map_err(failed)?;
            entries.iter().try_for_each(|entry| remove(entry)).map_err(failed)
        });
        removed.await.map_err(|reason| RepositoryError::Failed { reason })
    }

    /// Returns where git works in a Job's worktree; none when that is gone.
    async fn at_worktree(&self, at: &At, place: &JobPlace) -> Option<At> {
        let common = PathBuf::from(place.project.pins.common_dir.path.as_str());
        let work_tree = PathBuf::from(place.worktree.as_str());
        let tree = work_tree.clone();
        let git_dir = waiting(move || is_directory(&tree).then(|| entry_of(&common, &tree)).flatten()).await?;
        Some(At { git_dir, work_tree, common_dir: at.common_dir.clone() })
    }
}

/// Removes the lock of a branch that was just being made: a process of git's own that is killed with its group leaves it,
/// and nobody could make that branch again.
async fn unlock(project: &Project, branch: &BranchName) {
    let lock = Path::new(project.pins.common_dir.path.as_str()).join(format!("{HEADS}{branch}.lock"));
    waiting(move || match fs::remove_file(&lock) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            tracing::warn!(%error, lock = %lock.display(), "what is left of a branch could not be removed");
        }
        Ok(()) | Err(_) => {}
    })
    .await;
}

#[async_trait]
impl JobRepositories for GitJobs {
    async fn make(&self, project: &Project, place: &NewPlace, stop: Arc<dyn Stop>) -> Result<CommitId, WorktreeError> {
        let at = self.repositories.at_base(project).await?;
        let git = &self.repositories.git;
        if commit_of(git, &at, &place.branch).await.map_err(RepositoryError::from)?.is_some() {
            return Err(WorktreeError::InTheWay { what: format!("the branch `{}`", place.branch) });
        }
        let (tree, common) = (place.worktree.clone(), project.pins.common_dir.path.clone());
        let taken = waiting(move || {
            let tree = Path::new(tree.as_str());
            fs::symlink_metadata(tree).is_ok() || entry_of(Path::new(common.as_str()), tree).is_some()
        });
        if taken.await {
            return Err(WorktreeError::InTheWay { what: format!("`{}`", place.worktree) });
        }
        let how = How { deadline: FILES, stop: Arc::clone(&stop), ..How::default() };
        match self.add(&at, project, place, &how).await {
            Ok(tip) => Ok(tip),
            Err(failed) => {
                if stop.is_stopped() {
                    unlock(project, &place.branch).await;
                }
                self.take_away(&at, project, place).await;
                if stop.is_stopped() {
                    return Err(WorktreeError::Stopped);
                }
                Err(RepositoryError::from(failed).into())
            }
        }
    }

    async fn stands(&self, place: &JobPlace) -> bool {
        let common = PathBuf::from(place.project.pins.common_dir.path.as_str());
        let tree = PathBuf::from(place.worktree.as_str());
        waiting(move || stands(&common, &tree)).await
    }

    async fn made_at(&self, project: &Project, worktree: &AbsPath, branch: &BranchName) -> Option<CommitId> {
        let at = self.repositories.at_base(project).await.ok()?;
        let (common, tree) = (project.pins.common_dir.path.clone(), worktree.clone());
        let entry = waiting(move || entry_of(Path::new(common.as_str()), Path::new(tree.as_str()))).await?;
        let head = waiting(move || read_path(&entry.join("HEAD"), "ref: ")).await?;
        if head != Path::new(&format!("{HEADS}{branch}")) {
            return None;
        }
        let hash = commit_of(&self.repositories.git, &at, branch).await.ok()??;
        CommitId::new(hash).ok()
    }

    async fn survey(&self, place: &JobPlace) -> Result<Survey, RepositoryError> {
        let seen = self.see(place).await?;
        Ok(Survey { name: seen.name(), changes: self.changes(&seen, place).await? })
    }

    async fn diff(&self, place: &JobPlace) -> Result<JobDiff, RepositoryError> {
        let seen = self.see(place).await?;
        Ok(self.difference(&seen, place).await?)
    }

    async fn at_risk(&self, place: &JobPlace) -> Result<AtRisk, RepositoryError> {
        let at = self.repositories.at_base(&place.project).await?;
        let branch = commit_of(&self.repositories.git, &at, &place.branch).await?;
        if branch.is_none() && self.at_worktree(&at, place).await.is_none() {
            return Ok(AtRisk::default());
        }
        let seen = self.see(place).await?;
        Ok(self.lost(&seen, &place.branch, branch.is_some()).await?)
    }

    async fn beyond(&self, place: &JobPlace) -> Result<Beyond, RepositoryError> {
        let at = self.repositories.at_base(&place.project).await?;
        let branch = commit_of(&self.repositories.git, &at, &place.branch).await?;
        let tree = PathBuf::from(place.worktree.as_str());
        if !waiting(move || is_directory(&tree)).await {
            return Ok(Beyond { branch_is_there: branch.is_some(), ..Beyond::default() });
        }
        if !self.stands(place).await {
            let reason = format!("`{}` is not the worktree that Owl made", place.worktree);
            return Err(RepositoryError::Failed { reason });
        }
        Ok(self.held_alone(place, branch.as_deref()).await?)
    }

    async fn remove_worktree(&self, place: &JobPlace) -> Result<(), RepositoryError> {
        self.remove_directory(&place.project, &place.worktree).await
    }

    async fn remove_branch(&self, place: &JobPlace) -> Result<(), RepositoryError> {
        let at = self.repositories.at_base(&place.project).await?;
        self.delete(&at, &place.project, &place.branch).await
    }

    fn worktree(&self, job: JobId) -> AbsPath {
        let path = format!("{}/{job}", self.worktrees);
        #[expect(clippy::expect_used, reason = "an absolute path and a plain name make an absolute path")]
        // NOTE(unwrap): `worktrees` is an absolute path, and a Job's id has letters, digits and `_` only.
        AbsPath::new(path).expect("a name below an absolute path is one")
    }
}

/// Returns the entries in a repository that are of a worktree at this path.
fn entries_of(common: &Path, worktree: &Path) -> Vec<PathBuf> {
    let dot_git = worktree.join(".git");
    let Ok(entries) = fs::read_dir(common.join("worktrees")) else { return Vec::new() };
    let all = entries.filter_map(|entry| Some(entry.ok()?.path()));
    all.filter(|entry| read_path(&entry.join("gitdir"), "").is_some_and(|named| entry.join(named) == dot_git)).collect()
}

/// Returns the entries in a repository in which this ref is checked out.
fn entries_on(common: &Path, name: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(common.join("worktrees")) else { return Vec::new() };
    let all = entries.filter_map(|entry| Some(entry.ok()?.path()));
    all.filter(|entry| read_path(&entry.join("HEAD"), "ref: ").is_some_and(|head| head == name)).collect()
}

/// Returns the one entry that is; none when there are several, of which one would be forged.
fn entry_of(common: &Path, worktree: &Path) -> Option<PathBuf> {
    let mut entries = entries_of(common, worktree);
    let entry = entries.pop().filter(|_| entries.is_empty())?;
    is_directory(&entry).then_some(entry)
}

/// Says whether repository and worktree name each other.
fn stands(common: &Path, worktree: &Path) -> bool {
    let dot_git = worktree.join(".git");
    let Some(entry) = is_directory(worktree).then(|| entry_of(common, worktree)).flatten() else { return false };
    let named = read_path(&dot_git, GIT_FILE).and_then(|named| Identity::at(&worktree.join(named)).ok());
    named.is_some() && named == Identity::at(&entry).ok() && leads_back(&entry, common, &dot_git)
}

fn is_directory(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|there| there.is_dir())
}

#[cfg(test)]
mod tests;
