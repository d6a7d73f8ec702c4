//! What a Job's worktree holds, uncommitted work and files that git does not know included. It is written down as a tree
//! with an index and objects of Owl's own, which are removed again: neither the repository's objects nor the worktree's
//! index is touched, and nothing that is hidden in that index stays hidden.

use super::{FILES, GitJobs};
use crate::{
    git::{At, GitFailed, How},
    inspect::{HEADS, commit_of},
    repositories::waiting,
};
use owl_domain::{
    job::Changes,
    limits,
    ports::{AtRisk, Beyond, DiffFile, JobDiff, JobPlace, RepositoryError},
    text::BranchName,
};
use std::{
    collections::HashMap,
    ffi::OsString,
    fs::{self, DirBuilder},
    io,
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
    sync::atomic::Ordering,
};

/// Names and numbers of every file of a big repository.
const LIST_BYTES: usize = 64 * 1024 * 1024;
/// What stands before the name of a directory that only a survey uses. No Project's name begins with a dot.
const SURVEY: &str = ".survey";

/// What was seen: a commit, and the tree of everything that lies above it.
pub(super) struct Seen {
    at: At,
    head: String,
    tree: String,
    /// Where the objects are that the repository does not have.
    scratch: Option<Scratch>,
}

impl Seen {
    /// Returns a name that is equal only when commit and content are.
    pub(super) fn name(&self) -> String {
        format!("{} {}", self.head, self.tree)
    }

    fn how(&self) -> How {
        let env = self.scratch.as_ref().map(|scratch| scratch.env(&self.at)).unwrap_or_default();
        How { env, deadline: FILES, max_bytes: LIST_BYTES, ..How::default() }
    }
}

/// A directory with an index and objects that lives as long as it is looked at.
struct Scratch(PathBuf);

impl Scratch {
    fn make(path: PathBuf) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(path.join("objects"))?;
        Ok(Self(path))
    }

    fn env(&self, at: &At) -> Vec<(OsString, OsString)> {
        vec![
            ("GIT_INDEX_FILE".into(), self.0.join("index").into()),
            ("GIT_OBJECT_DIRECTORY".into(), self.0.join("objects").into()),
            ("GIT_ALTERNATE_OBJECT_DIRECTORIES".into(), at.common_dir.join("objects").into()),
        ]
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(path = %self.0.display(), %error, "a survey's directory stays behind");
        }
    }
}

impl GitJobs {
    /// Looks at the worktree, or at the branch when that is gone.
    pub(super) async fn see(&self, place: &JobPlace) -> Result<Seen, RepositoryError> {
        let base = self.repositories.at_base(&place.project).await?;
        match self.at_worktree(&base, place).await {
            Some(at) => Ok(self.see_worktree(at).await?),
            None => Ok(self.see_branch(base, &place.branch).await?),
        }
    }

    async fn see_branch(&self, at: At, branch: &BranchName) -> Result<Seen, GitFailed> {
        let git = &self.repositories.git;
        let head = commit_of(git, &at, branch).await?;
        let head = head.ok_or_else(|| GitFailed(format!("the worktree is gone, and the branch `{branch}` too")))?;
        let tree = line(&git.run(&at, &["rev-parse", "--verify", &format!("{head}^{{tree}}")]).await?.succeeded()?);
        Ok(Seen { at, head, tree, scratch: None })
    }

    async fn see_worktree(&self, at: At) -> Result<Seen, GitFailed> {
        let git = &self.repositories.git;
        let head = line(&git.run(&at, &["rev-parse", "--verify", "HEAD^{commit}"]).await?.succeeded()?);
        let number = self.surveys.fetch_add(1, Ordering::Relaxed);
        let path = self.repositories.state.join(format!("{SURVEY}-{}-{number}", std::process::id()));
        let made = waiting(move || Scratch::make(path)).await;
        let scratch = made.map_err(|error| GitFailed(format!("what lies there cannot be written down: {error}")))?;
        let mut seen = Seen { at, head, tree: String::new(), scratch: Some(scratch) };
        let how = seen.how();
        git.run_as(&seen.at, &["read-tree", &seen.head], &how).await?.succeeded()?;
        git.run_as(&seen.at, &["add", "--all", "--", "."], &how).await?.succeeded()?;
        seen.tree = line(&git.run_as(&seen.at, &["write-tree"], &how).await?.succeeded()?);
        Ok(seen)
    }

    /// Counts what differs from the commit that the Job began at.
    pub(super) async fn changes(&self, seen: &Seen, place: &JobPlace) -> Result<Changes, GitFailed> {
        let files = self.numbers(seen, place.base_commit.as_str()).await?;
        let range = format!("{}..{}", place.base_commit, seen.head);
        let commits = self.repositories.git.run_as(&seen.at, &["rev-list", "--count", &range], &seen.how()).await?;
        let sum = |each: fn(&Numbers) -> u64| files.iter().map(each).fold(0, u64::saturating_add);
        Ok(Changes {
            files: u64::try_from(files.len()).unwrap_or(u64::MAX),
            insertions: sum(|one| one.insertions),
            deletions: sum(|one| one.deletions),
            commits: number(&commits.succeeded()?),
        })
    }

    /// Returns what differs, with its text.
    pub(super) async fn difference(&self, seen: &Seen, place: &JobPlace) -> Result<JobDiff, GitFailed> {
        let base = place.base_commit.as_str();
        let numbers = self.numbers(seen, base).await?;
        let statuses = self.statuses(seen, base, &[]).await?;
        let files_total = u64::try_from(numbers.len()).unwrap_or(u64::MAX);
        let file = |one: Numbers| DiffFile {
            status: statuses.get(&one.path).copied().unwrap_or('M'),
            path: one.path,
            insertions: one.insertions,
            deletions: one.deletions,
        };
        let files = numbers.into_iter().take(limits::DIFF_FILES).map(file).collect();
        let how = How { max_bytes: limits::DIFF_BYTES, may_cut: true, ..seen.how() };
        let words =
            [&["diff-tree", "--patch", "--no-color", "--full-index"], &DISARMED[..], &[base, &seen.tree]].concat();
        let printed = self.repositories.git.run_as(&seen.at, &words, &how).await?;
        let bytes = printed.stdout_bytes;
        let mut kept = printed.succeeded()?;
        let truncated = u64::try_from(kept.len()).is_ok_and(|kept| kept < bytes);
        if truncated {
            let end = kept.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
            kept.truncate(end);
        }
        let text = String::from_utf8_lossy(&kept).into_owned();
        Ok(JobDiff { files, files_total, text, bytes, truncated })
    }

    /// Counts what nothing would hold any more without worktree and branch.
    pub(super) async fn lost(&self, seen: &Seen, branch: &BranchName, is_there: bool) -> Result<AtRisk, GitFailed> {
        let changed = self.statuses(seen, &seen.head, &["--diff-filter=d"]).await?;
        let (name, excluded) = (format!("{HEADS}{branch}"), format!("--exclude={branch}"));
        let mut words = vec!["rev-list", "--count", seen.head.as_str()];
        if is_there {
            words.push(&name);
        }
        words.extend(["--not", &excluded, "--branches", "--remotes"]);
        let commits = self.repositories.git.run_as(&seen.at, &words, &seen.how()).await?.succeeded()?;
        Ok(AtRisk { files: u64::try_from(changed.len()).unwrap_or(u64::MAX), commits: number(&commits) })
    }

    /// Counts what a worktree holds that the branch does not: an Agent may have left it, or renamed it.
    pub(super) async fn held_alone(&self, place: &JobPlace, branch: Option<&str>) -> Result<Beyond, RepositoryError> {
        let seen = self.see(place).await?;
        let files = self.statuses(&seen, &seen.head, &["--diff-filter=d"]).await?;
        let held = branch.unwrap_or(place.base_commit.as_str());
        let git = &self.repositories.git;
        let commits = git.run_as(&seen.at, &["rev-list", "--count", &seen.head, "--not", held], &seen.how()).await?;
        let checked_out = git.run(&seen.at, &["symbolic-ref", "--quiet", "HEAD"]).await?.stdout;
        Ok(Beyond {
            branch_is_there: branch.is_some(),
            worktree_is_there: true,
            files: u64::try_from(files.len()).unwrap_or(u64::MAX),
            commits: number(&commits.succeeded()?),
            checked_out: line(&checked_out).strip_prefix(HEADS).and_then(|name| BranchName::new(name).ok()),
        })
    }

    async fn numbers(&self, seen: &Seen, from: &str) -> Result<Vec<Numbers>, GitFailed> {
        let words = [&["diff-tree", "-z", "--numstat"], &DISARMED[..], &[from, &seen.tree]].concat();
        let printed = self.repositories.git.run_as(&seen.at, &words, &seen.how()).await?.succeeded()?;
        let entries = printed.split(|byte| *byte == 0).filter(|entry| !entry.is_empty());
        Ok(entries.filter_map(|entry| Numbers::read(&String::from_utf8_lossy(entry))).collect())
    }

    async fn statuses(&self, seen: &Seen, from: &str, more: &[&str]) -> Result<HashMap<String, char>, GitFailed> {
        let words = [&["diff-tree", "-z", "--name-status"], &DISARMED[..], more, &[from, &seen.tree]].concat();
        let printed = self.repositories.git.run_as(&seen.at, &words, &seen.how()).await?.succeeded()?;
        let mut words = printed.split(|byte| *byte == 0).map(String::from_utf8_lossy);
        let mut statuses = HashMap::new();
        while let (Some(status), Some(path)) = (words.next(), words.next()) {
            statuses.extend(status.chars().next().map(|status| (path.into_owned(), status)));
        }
        Ok(statuses)
    }
}

/// Nothing that a repository names has a say in what a difference is.
const DISARMED: [&str; 5] = ["-r", "--no-renames", "--no-ext-diff", "--no-textconv", "--ignore-submodules=none"];

/// One file that differs, and by how much.
struct Numbers {
    path: String,
    insertions: u64,
    deletions: u64,
}

impl Numbers {
    /// Reads `insertions`, a tab, `deletions`, a tab and the path. A binary file has dashes.
    fn read(entry: &str) -> Option<Self> {
        let mut words = entry.splitn(3, '\t');
        let (insertions, deletions) = (words.next()?.parse().unwrap_or(0), words.next()?.parse().unwrap_or(0));
        Some(Self { path: words.next()?.into(), insertions, deletions })
    }
}

fn line(printed: &[u8]) -> String {
    String::from_utf8_lossy(printed).trim_end().to_owned()
}

fn number(printed: &[u8]) -> u64 {
    line(printed).parse().unwrap_or(0)
}

/// Removes what surveys of a daemon that died left behind.
pub(super) fn tidy(state: &Path) {
    let Ok(entries) = fs::read_dir(state) else { return };
    for entry in entries.flatten().filter(|entry| entry.file_name().to_string_lossy().starts_with(SURVEY)) {
        if let Err(error) = fs::remove_dir_all(entry.path()) {
            tracing::warn!(path = %entry.path().display(), %error, "a survey's directory stays behind");
        }
    }
}
