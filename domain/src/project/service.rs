//! Registers Projects, and turns a path into a [`Workdir`]: the one place where that authority is made (ADR-0022).

use super::{Project, ProjectFile, Workdir, Worktree, WorktreeKind};
use crate::{
    ids::JobId,
    ports::{AddError, Clock, InspectError, Paths, Projects, Repositories, RepositoryError, StoreError, Terms},
    text::{AbsPath, BranchName, ProjectName},
};
use alloc::{string::String, sync::Arc, vec::Vec};

/// Registers Projects and knows the directories in which commands may run.
pub struct ProjectService {
    projects: Arc<dyn Projects>,
    repositories: Arc<dyn Repositories>,
    paths: Arc<dyn Paths>,
    terms: Arc<dyn Terms>,
    clock: Arc<dyn Clock>,
    /// Owl's own directories, resolved: where keys and conversations are kept.
    own: Vec<AbsPath>,
    /// Where the worktrees of Jobs are, resolved.
    worktrees: Option<AbsPath>,
}

/// A Project with what is known of it right now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectView {
    /// The Project.
    pub project: Project,
    /// Its own file.
    pub file: ProjectFile,
    /// Whether its directory is there and is still this repository.
    pub available: bool,
}

/// What is to be registered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewProject {
    /// Where it is.
    pub path: AbsPath,
    /// Its name; made of the directory's when none is given.
    pub name: Option<ProjectName>,
    /// Its base branch; the one that is checked out when none is given.
    pub base_branch: Option<BranchName>,
}

/// Why a Project was not registered.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RegisterError {
    /// There is no repository that can be registered.
    #[error("`{path}` cannot be registered: {reason}")]
    Inspect {
        /// Where.
        path: AbsPath,
        /// Why.
        reason: InspectError,
    },
    /// One of that name or root is, or the store failed.
    #[error(transparent)]
    Add(#[from] AddError),
    /// No name can be made of the directory's.
    #[error("no name can be made of `{path}`; give one")]
    Name {
        /// Where.
        path: AbsPath,
    },
}

/// Why a directory is none that commands may run in.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WorkdirError {
    /// It is none, or no longer one.
    #[error("`{workdir}` {}", reason.sentence())]
    Invalid {
        /// As it was given.
        workdir: String,
        /// Why.
        reason: NoWorkdir,
        /// Those that there are, at most 100.
        known: Vec<(AbsPath, ProjectName)>,
        /// How many there are.
        known_total: usize,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why a path is no workdir.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoWorkdir {
    /// It does not begin with a slash.
    NotAbsolute,
    /// It leads to none.
    NotKnown,
    /// Nothing is there.
    Gone,
}

impl NoWorkdir {
    /// Returns its name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NotAbsolute => "not_absolute",
            Self::NotKnown => "not_known",
            Self::Gone => "gone",
        }
    }

    const fn sentence(self) -> &'static str {
        match self {
            Self::NotAbsolute => "is not an absolute path",
            Self::NotKnown => "is not a Project's root nor one of its worktrees",
            Self::Gone => "is not there",
        }
    }
}

const KNOWN_LISTED: usize = 100;

impl ProjectService {
    /// Makes the service of its ports.
    pub fn new(
        projects: Arc<dyn Projects>,
        repositories: Arc<dyn Repositories>,
        paths: Arc<dyn Paths>,
        terms: Arc<dyn Terms>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { projects, repositories, paths, terms, clock, own: Vec::new(), worktrees: None }
    }

    /// Names Owl's own directories, resolved: no repository that holds one is registered.
    #[must_use]
    pub fn keeping_out_of(mut self, own: Vec<AbsPath>) -> Self {
        self.own = own;
        self
    }

    /// Names the directory of Owl's own, resolved, in which each Job has its worktree, called by the Job's id.
    #[must_use]
    pub fn with_worktrees_in(mut self, worktrees: AbsPath) -> Self {
        self.worktrees = Some(worktrees);
        self
    }

    /// Registers the repository at a path, pinned as it is now.
    ///
    /// # Errors
    /// [`RegisterError`].
    pub async fn add(&self, new: NewProject) -> Result<ProjectView, RegisterError> {
        let path = new.path;
        let inspected = self
            .repositories
            .inspect(&path, new.base_branch)
            .await
            .map_err(|reason| RegisterError::Inspect { path: path.clone(), reason })?;
        if let Some(own) = self.own_in(&inspected.pins.work_tree.path) {
            let reason = alloc::format!("it holds Owl's own directory {own}, where keys are kept");
            return Err(RegisterError::Inspect { path, reason: InspectError::NotGit { reason } });
        }
        let name = match new.name {
            Some(name) => name,
            None => name_of(&inspected.pins.work_tree.path).ok_or(RegisterError::Name { path })?,
        };
        let project =
            Project { name, base_branch: inspected.base_branch, pins: inspected.pins, added_at: self.clock.now() };
        self.projects.add(project.clone()).await?;
        Ok(self.view(project).await)
    }

    /// Returns all Projects, by name.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn list(&self) -> Result<Vec<ProjectView>, StoreError> {
        let mut views = Vec::new();
        for project in self.projects.list().await? {
            views.push(self.view(project).await);
        }
        Ok(views)
    }

    /// Returns one Project.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn get(&self, name: ProjectName) -> Result<Option<ProjectView>, StoreError> {
        match self.projects.get(name).await? {
            Some(project) => Ok(Some(self.view(project).await)),
            None => Ok(None),
        }
    }

    /// Removes one Project; its repository is not touched. False when there is none of that name.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn remove(&self, name: ProjectName) -> Result<bool, StoreError> {
        self.projects.remove(name).await
    }

    /// Returns the registered Projects without looking at their repositories.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn registered(&self) -> Result<Vec<Project>, StoreError> {
        self.projects.list().await
    }

    /// Returns the directories of one Project, or of all: each root first, then by path. None when there is no Project
    /// of that name.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn worktrees(&self, name: Option<ProjectName>) -> Result<Option<Vec<Worktree>>, StoreError> {
        let projects = match name {
            None => self.projects.list().await?,
            Some(name) => match self.projects.get(name).await? {
                Some(project) => alloc::vec![project],
                None => return Ok(None),
            },
        };
        let mut all = Vec::new();
        for project in &projects {
            all.extend(self.directories(project).await);
        }
        Ok(Some(all))
    }

    /// Turns a path into a workdir: both sides are resolved through links and compared.
    ///
    /// # Errors
    /// [`WorkdirError`] names the directories that there are.
    pub async fn workdir(&self, given: &str) -> Result<Workdir, WorkdirError> {
        let projects = self.projects.list().await?;
        let Ok(path) = AbsPath::new(given) else {
            return Err(self.invalid(given, NoWorkdir::NotAbsolute, &projects).await);
        };
        // A root that was moved away is told as what it is when a command is to run there; here its name is enough.
        let resolved = self.paths.resolve(&path).await;
        if let Some(project) = projects.iter().find(|p| p.root() == resolved.as_ref().unwrap_or(&path)) {
            if resolved.is_none() {
                return Err(self.invalid(given, NoWorkdir::Gone, &projects).await);
            }
            return Ok(Workdir { project: project.name.clone(), pins: project.pins.clone() });
        }
        let Some(resolved) = resolved else {
            return Err(self.invalid(given, NoWorkdir::Gone, &projects).await);
        };
        for project in &projects {
            let mut directories = self.repositories.workdirs(project).await.into_iter();
            match directories.find(|workdir| *workdir.path() == resolved) {
                // A linked worktree may have been made where no Project could be registered.
                Some(found) if self.own_in(found.path()).is_none() => return Ok(found),
                Some(_) | None => {}
            }
        }
        Err(self.invalid(given, NoWorkdir::NotKnown, &projects).await)
    }

    /// Returns the workdir at a place that was one when it was proposed. A root is found by its name alone: whoever runs
    /// something there has the gate look at what stands there now.
    ///
    /// # Errors
    /// [`WorkdirError`] when it is one no more.
    pub async fn workdir_at(&self, place: &AbsPath) -> Result<Workdir, WorkdirError> {
        match self.projects.list().await?.into_iter().find(|project| project.root() == place) {
            Some(project) => Ok(Workdir { project: project.name, pins: project.pins }),
            None => self.workdir(place.as_str()).await,
        }
    }

    /// Returns a directory of Owl's own that lies in another: a home directory as a repository, say. A chat that looks
    /// there would look at the keys.
    fn own_in(&self, directory: &AbsPath) -> Option<&AbsPath> {
        let (root, below) = (directory.as_str(), [directory.as_str(), "/"].concat());
        self.own.iter().find(|own| own.as_str() == root || own.as_str().starts_with(&below))
    }

    async fn invalid(&self, given: &str, reason: NoWorkdir, projects: &[Project]) -> WorkdirError {
        let mut known = Vec::new();
        for project in projects {
            let directories = self.repositories.workdirs(project).await;
            known.extend(directories.into_iter().map(|workdir| (workdir.path().clone(), workdir.project)));
        }
        let known_total = known.len();
        known.truncate(KNOWN_LISTED);
        WorkdirError::Invalid { workdir: given.into(), reason, known, known_total }
    }

    /// A Project whose repository cannot be read has no directories to run in, and `available` says so.
    async fn directories(&self, project: &Project) -> Vec<Worktree> {
        let listed: Result<Vec<Worktree>, RepositoryError> = self.repositories.worktrees(project).await;
        let mut worktrees = listed.unwrap_or_default();
        for worktree in &mut worktrees {
            if let Some(job) = self.job_of(worktree.workdir.path()) {
                worktree.kind = WorktreeKind::Job(job);
            }
        }
        worktrees
    }

    fn job_of(&self, worktree: &AbsPath) -> Option<JobId> {
        let below = worktree.as_str().strip_prefix(self.worktrees.as_ref()?.as_str())?;
        below.strip_prefix('/')?.parse().ok()
    }

    async fn view(&self, project: Project) -> ProjectView {
        let available = self.repositories.is_as_registered(&project).await;
        let file = if available { self.terms.file(&project).await } else { ProjectFile::default() };
        ProjectView { project, file, available }
    }
}

impl WorktreeKind {
    /// Returns its name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Root => "root",
            Self::Linked => "worktree",
            Self::Job(_) => "job",
        }
    }
}

/// Makes a name of the directory's, with `-` for whatever a name may not hold.
fn name_of(root: &AbsPath) -> Option<ProjectName> {
    let last = root.as_str().rsplit('/').next().unwrap_or_default();
    let fits = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let name: String = last.chars().map(|c| if fits(c) { c } else { '-' }).collect();
    let begins = name.trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
    ProjectName::new(crate::text::cut_bytes(begins, 64)).ok()
}
