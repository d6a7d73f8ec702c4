//! What this crate's tests share: real repositories, and real git.

use crate::{GitRepositories, git::At};
use owl_domain::{
    ports::{GitHome, Repositories},
    project::{Project, Workdir},
    text::{AbsPath, BranchName, ProjectName},
    time::Timestamp,
};
use owl_process::Spawner;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Repositories with a state directory of their own.
pub(crate) struct Host {
    pub(crate) repositories: GitRepositories,
    pub(crate) state: PathBuf,
    _state: TempDir,
}

impl Host {
    pub(crate) fn new() -> Self {
        let made = TempDir::new().unwrap();
        let state = made.path().canonicalize().unwrap();
        let repositories = GitRepositories::new(Spawner::new(), &git(), &abs(&state));
        Self { repositories, state, _state: made }
    }

    /// Gives away what it has, for what is built of it.
    pub(crate) fn parts(self) -> (GitRepositories, TempDir) {
        (self.repositories, self._state)
    }

    /// Registers what lies at a path.
    pub(crate) async fn register(&self, name: &str, root: &Path) -> Project {
        let inspected = self.repositories.inspect(&abs(root), None).await.unwrap();
        project(name, inspected)
    }

    /// Registers it with a branch that is named.
    pub(crate) async fn register_on(&self, name: &str, root: &Path, base: &str) -> Project {
        let base = BranchName::new(base).unwrap();
        project(name, self.repositories.inspect(&abs(root), Some(base)).await.unwrap())
    }

    pub(crate) async fn home(&self, project: &Project) -> GitHome {
        let registered = std::slice::from_ref(project);
        self.repositories.home(&workdir(project), registered).await.unwrap()
    }
}

fn project(name: &str, inspected: owl_domain::ports::Inspected) -> Project {
    Project {
        name: ProjectName::new(name).unwrap(),
        base_branch: inspected.base_branch,
        pins: inspected.pins,
        added_at: Timestamp::default(),
    }
}

pub(crate) fn workdir(project: &Project) -> Workdir {
    Workdir { project: project.name.clone(), pins: project.pins.clone() }
}

pub(crate) fn abs(path: &Path) -> AbsPath {
    AbsPath::new(path.to_str().unwrap()).unwrap()
}

pub(crate) fn at(home: &GitHome) -> At {
    At {
        git_dir: home.git_dir.as_str().into(),
        work_tree: home.work_tree.as_str().into(),
        common_dir: home.owned_common_dir.as_str().into(),
    }
}

/// The git of this host.
pub(crate) fn git() -> AbsPath {
    let path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/bin:/bin".into());
    let found = std::env::split_paths(&path).map(|directory| directory.join("git")).find(|git| git.is_file());
    abs(&found.unwrap_or_else(|| panic!("git is not installed")))
}
