//! What lies at a path that a person wants to register, and why it may not be (D12, D14).

use crate::{
    config::Config,
    git::{At, Git, GitFailed},
    layout::{Layout, Parts, layout},
    pins::{Identity, NoPin, pin},
};
use owl_domain::{
    ports::{InspectError, Inspected},
    project::Pins,
    text::{AbsPath, BranchName},
};
use std::{
    ffi::OsStr,
    fs, io,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

/// Where branches are.
pub(crate) const HEADS: &str = "refs/heads/";

impl From<GitFailed> for InspectError {
    fn from(GitFailed(reason): GitFailed) -> Self {
        Self::Git { reason }
    }
}

/// A directory that has a repository's parts; its configuration is still to be read.
#[derive(Debug)]
pub(crate) struct Candidate {
    pub(crate) pins: Pins,
    pub(crate) parts: Parts,
    must_lead_back: bool,
}

/// Looks at a path without starting git.
pub(crate) fn look(path: &Path) -> Result<Candidate, InspectError> {
    let missing = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => InspectError::Missing,
        _ => InspectError::NotGit { reason: error.to_string() },
    };
    let directory = fs::canonicalize(path).map_err(missing)?;
    if !fs::symlink_metadata(&directory).map_err(missing)?.is_dir() {
        return Err(InspectError::Missing);
    }
    if directory.to_str().is_none() {
        return Err(InspectError::NotUtf8);
    }
    let (parts, must_lead_back) = match layout(&directory) {
        Layout::Root(parts) => (parts, false),
        Layout::Submodule(parts) => (parts, true),
        Layout::Bare => return Err(InspectError::Bare),
        Layout::Inside(root) => return Err(inside(&root)),
        Layout::No(reason) => return Err(InspectError::NotGit { reason }),
    };
    let pinned = |path: &Path| {
        pin(path).map_err(|error| match error {
            NoPin::NotUtf8 => InspectError::NotUtf8,
            NoPin::Failed(reason) => InspectError::NotGit { reason },
        })
    };
    let pins = Pins {
        work_tree: pinned(&parts.work_tree)?,
        git_dir: pinned(&parts.git_dir)?,
        common_dir: pinned(&parts.common_dir)?,
    };
    Ok(Candidate { pins, parts, must_lead_back })
}

fn inside(root: &Path) -> InspectError {
    match root.to_str().map(AbsPath::new) {
        Some(Ok(root)) => InspectError::NotRoot { root },
        Some(Err(_)) | None => InspectError::NotUtf8,
    }
}

impl Candidate {
    /// Judges what only the repository's configuration tells.
    pub(crate) fn believe(&self, config: &Config) -> Result<(), InspectError> {
        if config.is_bare && self.parts.git_dir == self.parts.common_dir {
            return Err(InspectError::Bare);
        }
        let leads_back = || {
            let named = self.parts.git_dir.join(OsStr::from_bytes(config.work_tree.as_deref()?));
            Identity::of(&fs::metadata(named).ok()?).eq(&Identity::pinned(&self.pins.work_tree)).then_some(())
        };
        if self.must_lead_back && leads_back().is_none() {
            let named = self.parts.git_dir.display();
            let reason = format!("its `.git` file leads to `{named}`, which does not lead back to it");
            return Err(InspectError::NotGit { reason });
        }
        Ok(())
    }

    pub(crate) fn at(&self, common_dir: PathBuf) -> At {
        At { git_dir: self.parts.git_dir.clone(), work_tree: self.parts.work_tree.clone(), common_dir }
    }

    /// Finds the branch that was named, or the one that is checked out.
    pub(crate) async fn base(self, git: &Git, at: &At, named: Option<BranchName>) -> Result<Inspected, InspectError> {
        let base_branch = match named {
            Some(branch) => branch,
            None => checked_out(git, at).await?,
        };
        if commit_of(git, at, &base_branch).await?.is_some() {
            return Ok(Inspected { pins: self.pins, base_branch });
        }
        // A branch that is checked out and does not exist is one before its first commit.
        let any = git.run(at, &["for-each-ref", "--count=1", "--format=%(refname)", HEADS]).await?.succeeded()?;
        if any.is_empty() {
            return Err(InspectError::NoCommit);
        }
        Err(InspectError::NoSuchBranch { branch: base_branch.as_str().into() })
    }
}

async fn checked_out(git: &Git, at: &At) -> Result<BranchName, InspectError> {
    let answer = git.run(at, &["symbolic-ref", "--quiet", "HEAD"]).await?;
    if answer.exit_code == 1 {
        return Err(InspectError::Detached);
    }
    let name = String::from_utf8(answer.succeeded()?).map_err(|_| InspectError::NotUtf8)?;
    let branch = name.trim_end_matches('\n').strip_prefix(HEADS).and_then(|name| BranchName::new(name).ok());
    branch.ok_or(InspectError::Detached)
}

/// Returns the hash that a branch names; none when there is no branch of exactly that name.
pub(crate) async fn commit_of(git: &Git, at: &At, branch: &BranchName) -> Result<Option<String>, GitFailed> {
    let name = format!("{HEADS}{branch}");
    let printed =
        git.run(at, &["for-each-ref", "--format=%(objectname) %(refname)", "--", &name]).await?.succeeded()?;
    let printed = String::from_utf8_lossy(&printed);
    let found = printed.lines().filter_map(|line| line.split_once(' ')).find(|(_, found)| *found == name);
    Ok(found.map(|(hash, _)| hash.into()))
}
