//! The `Repositories` port: puts the parts of this crate together, the slow ones on threads that may wait.

use crate::{
    base,
    config::{self, Config},
    git::{At, Git, GitFailed},
    index::Indexes,
    inspect,
    lenders::{Refused, first_lender, lenders},
    links,
    owned::{Borrowed, Owned, Wanted},
    pins::check,
    read::{Stamp, read_small},
    worktrees,
};
use async_trait::async_trait;
use owl_domain::{
    ports::{BaseFile, GitHome, InspectError, Inspected, Repositories, RepositoryError},
    project::{Pin, Pins, Project, Workdir, Worktree},
    text::{AbsPath, BranchName, ProjectName},
};
use owl_process::Spawner;
use std::{
    collections::HashMap,
    fs, io,
    ops::DerefMut,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};

mod jobs;

pub use jobs::GitJobs;

/// What stands before the name of a directory that only an inspection uses. No Project's name begins with a dot.
const INSPECTION: &str = ".inspect";

/// The most that is read of the configuration that Owl wrote itself.
const CONFIG_BYTES: u64 = 64 * 1024 * 1024;

/// git repositories of this host.
#[derive(Debug)]
pub struct GitRepositories {
    git: Git,
    /// Where the owned directories are.
    state: PathBuf,
    owned: Mutex<HashMap<ProjectName, Arc<AsyncMutex<Owned>>>>,
    inspections: AtomicU64,
    indexes: Arc<Indexes>,
}

impl GitRepositories {
    /// Takes git's absolute path, as it was found at start, and Owl's state directory, which is private.
    pub fn new(spawner: Spawner, git: &AbsPath, state: &AbsPath) -> Self {
        Self {
            git: Git::new(spawner, git),
            state: Path::new(state.as_str()).join("git"),
            owned: Mutex::default(),
            inspections: AtomicU64::default(),
            indexes: Arc::default(),
        }
    }

    /// Returns the owned directory of a Project, held by the caller alone.
    async fn owned(&self, project: &ProjectName) -> OwnedMutexGuard<Owned> {
        let owned = {
            let mut all = self.owned.lock().unwrap_or_else(PoisonError::into_inner);
            let path = || self.state.join(project.as_str());
            Arc::clone(all.entry(project.clone()).or_insert_with(|| Arc::new(AsyncMutex::new(Owned::at(path())))))
        };
        owned.lock_owned().await
    }

    /// Brings a Project's owned directory up to date; returns where git works there.
    async fn at(&self, project: &ProjectName, pins: &Pins, borrowed: Borrowed) -> Result<At, GitFailed> {
        let owned = self.owned(project).await;
        let (owned, _) = self.bring_up_to_date(owned, pins.common_dir.path.as_str().into(), borrowed).await?;
        Ok(At {
            git_dir: pins.git_dir.path.as_str().into(),
            work_tree: pins.work_tree.path.as_str().into(),
            common_dir: owned.path().into(),
        })
    }

    /// Returns the configuration too when it had to be read.
    async fn bring_up_to_date<O>(
        &self,
        mut owned: O,
        common_dir: PathBuf,
        borrowed: Borrowed,
    ) -> Result<(O, Option<Config>), GitFailed>
    where
        O: DerefMut<Target = Owned> + Send + 'static,
    {
        let common = common_dir.clone();
        let (owned, wanted) = waiting(move || {
            let wanted = refresh(&mut owned, &common, &borrowed);
            (owned, wanted)
        })
        .await;
        match wanted? {
            Wanted::Nothing => Ok((owned, None)),
            Wanted::Config(stamp) => {
                let (owned, config) = self.configure(owned, common_dir, stamp).await?;
                Ok((owned, Some(config)))
            }
        }
    }

    /// Has git read the configuration, and puts Owl's own in place. `stamp` is that of the file before it is read.
    async fn configure<O>(
        &self,
        mut owned: O,
        common_dir: PathBuf,
        stamp: Option<Stamp>,
    ) -> Result<(O, Config), GitFailed>
    where
        O: DerefMut<Target = Owned> + Send + 'static,
    {
        let config = config::read(&self.git, owned.path(), &common_dir).await?;
        let set = move || owned.set_config(stamp, &config).map(|()| (owned, config));
        waiting(set).await.map_err(GitFailed)
    }

    /// Returns what a worktree's own configuration sets beside the common one; in most repositories there is none.
    async fn settings<O>(&self, mut owned: O, git_dir: PathBuf) -> Result<(O, Vec<(String, String)>), GitFailed>
    where
        O: DerefMut<Target = Owned> + Send + 'static,
    {
        if !owned.has_one_per_worktree() {
            return Ok((owned, Vec::new()));
        }
        let file = config::of_worktree(&git_dir);
        let stamp = waiting(move || Stamp::of(&file)).await.map_err(|error| GitFailed(error.to_string()))?;
        if let Some(own) = owned.of_worktree(&git_dir, stamp) {
            let settings = own.settings.clone();
            return Ok((owned, settings));
        }
        let own = config::read_of_worktree(&self.git, owned.path(), &git_dir).await?;
        let settings = own.settings.clone();
        owned.keep_of_worktree(git_dir, stamp, own);
        Ok((owned, settings))
    }

    /// Returns where git may read the objects of a Project's base branch.
    async fn at_base(&self, project: &Project) -> Result<At, RepositoryError> {
        let pins = project.pins.clone();
        let lender = waiting(move || check(&pins).map(|()| first_lender(Path::new(pins.common_dir.path.as_str()))))
            .await
            .map_err(|reason| RepositoryError::NotAsRegistered { reason })?;
        let at = self.at(&project.name, &project.pins, Borrowed::AsBefore).await?;
        match lender {
            // Only a command's own home, which is told all Projects, lets anybody lend.
            Some(lender) if !at.common_dir.join("objects/info/alternates").exists() => {
                Err(RepositoryError::Borrows { lender })
            }
            Some(_) | None => Ok(at),
        }
    }
}

#[async_trait]
impl Repositories for GitRepositories {
    async fn inspect(&self, path: &AbsPath, base: Option<BranchName>) -> Result<Inspected, InspectError> {
        let path = PathBuf::from(path.as_str());
        let candidate = waiting(move || inspect::look(&path)).await?;
        let name = format!("{INSPECTION}-{}-{}", std::process::id(), self.inspections.fetch_add(1, Ordering::Relaxed));
        let inspection = Inspection(self.state.join(name));
        let owned = Box::new(Owned::at(inspection.0.clone()));
        let common_dir = candidate.parts.common_dir.clone();
        let (_, config) = self.bring_up_to_date(owned, common_dir, Borrowed::AsBefore).await?;
        let mut config = config.unwrap_or_default();
        if config.has_one_per_worktree {
            let own = config::read_of_worktree(&self.git, &inspection.0, &candidate.parts.git_dir).await?;
            config = config.in_worktree(own);
        }
        candidate.believe(&config)?;
        let at = candidate.at(inspection.0.clone());
        candidate.base(&self.git, &at, base).await
    }

    async fn is_as_registered(&self, project: &Project) -> bool {
        let pins = project.pins.clone();
        waiting(move || check(&pins)).await.is_ok()
    }

    async fn workdirs(&self, project: &Project) -> Vec<Workdir> {
        let project = project.clone();
        waiting(move || if check(&project.pins).is_ok() { worktrees::workdirs(&project) } else { Vec::new() }).await
    }

    async fn worktrees(&self, project: &Project) -> Result<Vec<Worktree>, RepositoryError> {
        if !self.is_as_registered(project).await {
            return Ok(Vec::new());
        }
        let at = self.at(&project.name, &project.pins, Borrowed::AsBefore).await?;
        let root = worktrees::told_of(&self.git, &at).await?;
        let linked = worktrees::told_of_linked(&self.git, &at).await?;
        let project = project.clone();
        let mut worktrees = waiting(move || worktrees::worktrees(&project, &root, &linked)).await;
        for worktree in &mut worktrees {
            worktrees::ask_again(&self.git, &at.common_dir, worktree).await;
        }
        Ok(worktrees)
    }

    async fn home(&self, workdir: &Workdir, registered: &[Project]) -> Result<GitHome, RepositoryError> {
        let owned = self.owned(&workdir.project).await;
        let (pins, registered, indexes) = (workdir.pins.clone(), registered.to_vec(), Arc::clone(&self.indexes));
        // All of it in one go where the configuration did not change, which is nearly always: each way to another thread
        // and back is time that a person waits.
        let (owned, lenders, next) = waiting(move || -> Result<_, RepositoryError> {
            let mut owned = owned;
            check(&pins).map_err(|reason| RepositoryError::NotAsRegistered { reason })?;
            let common_dir = Path::new(pins.common_dir.path.as_str());
            let lenders = lenders(common_dir, &registered)?;
            let wanted = refresh(&mut owned, common_dir, &Borrowed::From(lenders.clone()))?;
            let next = match wanted {
                Wanted::Nothing => Next::Nothing(look_at_index(&owned, &pins, &indexes)?),
                Wanted::Config(stamp) => Next::Config(stamp),
            };
            Ok((owned, lenders, next))
        })
        .await?;
        let (owned, indexed) = match next {
            Next::Nothing(indexed) => (owned, indexed),
            Next::Config(stamp) => {
                let (owned, _) = self.configure(owned, workdir.pins.common_dir.path.as_str().into(), stamp).await?;
                let (pins, indexes) = (workdir.pins.clone(), Arc::clone(&self.indexes));
                waiting(move || look_at_index(&owned, &pins, &indexes).map(|indexed| (owned, indexed))).await?
            }
        };
        let (owned, settings) = self.settings(owned, workdir.pins.git_dir.path.as_str().into()).await?;
        let own = |path: &Path| path.to_str().and_then(|path| AbsPath::new(path).ok());
        let not_text = || failed("Owl's state directory is not UTF-8".into());
        Ok(GitHome {
            git_dir: workdir.pins.git_dir.path.clone(),
            work_tree: workdir.pins.work_tree.path.clone(),
            real_common_dir: workdir.pins.common_dir.path.clone(),
            owned_common_dir: own(owned.path()).ok_or_else(not_text)?,
            index: own(&indexed.copy).ok_or_else(not_text)?,
            lenders,
            readable: indexed.readable,
            settings,
        })
    }

    async fn read_base(&self, project: &Project, file: &str) -> Result<Option<BaseFile>, RepositoryError> {
        let at = self.at_base(project).await?;
        Ok(base::read(&self.git, &at, &project.base_branch, file).await?)
    }

    async fn list_base(&self, project: &Project, directory: &str) -> Result<Vec<String>, RepositoryError> {
        let at = self.at_base(project).await?;
        Ok(base::list(&self.git, &at, &project.base_branch, directory).await?)
    }
}

/// A directory that lives as long as an inspection.
#[derive(Debug)]
struct Inspection(PathBuf);

impl Drop for Inspection {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(path = %self.0.display(), %error, "an inspection's directory stays behind");
        }
    }
}

/// Brings an owned directory up to date but for its configuration.
fn refresh(owned: &mut Owned, common_dir: &Path, borrowed: &Borrowed) -> Result<Wanted, GitFailed> {
    links::refuse_in_state(common_dir).map_err(|error| GitFailed(error.to_string()))?;
    owned.bring_up_to_date(common_dir, borrowed).map_err(GitFailed)
}

/// What is still to be done for a home.
enum Next {
    /// Nothing but what the configuration is not needed for.
    Nothing(Indexed),
    /// The configuration, of this stamp, is to be read first.
    Config(Option<Stamp>),
}

/// What was found out about a worktree's index.
struct Indexed {
    copy: PathBuf,
    readable: Vec<Pin>,
}

/// Refuses an index that names what git must not be led to, and copies it.
fn look_at_index(owned: &Owned, pins: &Pins, indexes: &Indexes) -> Result<Indexed, RepositoryError> {
    let [common_dir, git_dir] = [&pins.common_dir, &pins.git_dir].map(|pin| Path::new(pin.path.as_str()));
    let copy = owned.index(common_dir, git_dir);
    let looked = read_small(&owned.path().join("config"), CONFIG_BYTES)
        .and_then(|config| indexes.look(pins, config::hash_of(&config.unwrap_or_default()), &copy));
    looked.map(|readable| Indexed { copy, readable }).map_err(|error| failed(error.to_string()))
}

impl From<GitFailed> for RepositoryError {
    fn from(GitFailed(reason): GitFailed) -> Self {
        Self::Failed { reason }
    }
}

impl From<Refused> for RepositoryError {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::NotRegistered(lender) => Self::Borrows { lender },
            Refused::Unreadable(reason) => Self::Failed { reason },
        }
    }
}

const fn failed(reason: String) -> RepositoryError {
    RepositoryError::Failed { reason }
}

/// Runs what may wait for a disk away from the threads that serve.
async fn waiting<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The runtime itself is going, and this future with it.
            Err(_) => std::future::pending().await,
        },
    }
}

#[cfg(test)]
mod tests;
