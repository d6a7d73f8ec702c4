//! What clients ask of Jobs: add, show, cancel, accept, drop (D22). Starting is in `start.rs`, carrying a Run on in
//! `work.rs`. Owl merges and pushes nothing, and deletes nothing of a person's.

use super::{Job, JobMove, JobState, Run, Terms};
use crate::{
    conversation::{Page, PageError, Paged},
    ids::{JobId, RunId},
    limits,
    ports::{
        AccountSettings, Accounts, AddJobError, AddedJob, AtRisk, Checks, Clock, Credentials, Driver, JobDiff,
        JobFilter, JobPlace, JobRepositories, Jobs, Made, NewJob, Once, RepositoryError, RunLegs, RunLogs, Runs,
        StoreError, Terms as TermsPort, Verdicts,
    },
    project::{Project, ProjectService},
    text::{AbsPath, AccountName, ProjectName, Prompt, Title, cut_chars},
    time::Timestamp,
};
use alloc::{string::String, sync::Arc, vec::Vec};

/// Holds Jobs and carries their Runs on.
pub struct JobService {
    pub(super) ports: JobPorts,
}

/// What the service needs.
pub struct JobPorts {
    /// Jobs as rows.
    pub jobs: Arc<dyn Jobs>,
    /// Runs as rows.
    pub runs: Arc<dyn Runs>,
    /// Accounts as rows.
    pub accounts: Arc<dyn Accounts>,
    /// Accounts' settings files.
    pub settings: Arc<dyn AccountSettings>,
    /// Accounts' tokens.
    pub credentials: Arc<dyn Credentials>,
    /// Projects' own files.
    pub terms: Arc<dyn TermsPort>,
    /// Worktrees, branches and diffs.
    pub repositories: Arc<dyn JobRepositories>,
    /// Operates the coding tool.
    pub driver: Arc<dyn Driver>,
    /// Projects' shell commands.
    pub checks: Arc<dyn Checks>,
    /// Verifiers' verdicts.
    pub verdicts: Arc<dyn Verdicts>,
    /// Runs' logs.
    pub logs: Arc<dyn RunLogs>,
    /// Has Runs carried on.
    pub legs: Arc<dyn RunLegs>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Registered Projects.
    pub projects: Arc<ProjectService>,
}

/// A Job that a client wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WantedJob {
    /// In which Project.
    pub project: ProjectName,
    /// What is to be done.
    pub prompt: Prompt,
    /// Whose Agents work on it; the one that the Project's file names, or the only one, when left out.
    pub account: Option<AccountName>,
    /// What it is called; the prompt's first line when left out.
    pub title: Option<Title>,
    /// The client's key.
    pub once: Option<Once>,
}

/// Why a Job was not made. Nothing was stored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WantError {
    /// There is no such Project.
    #[error("there is no Project `{0}`")]
    NoProject(ProjectName),
    /// There is no such Account.
    #[error("there is no account `{0}`; add it: owl account add {0}")]
    NoAccount(AccountName),
    /// None was named and none can be chosen.
    #[error("no account was named, and {}", if known.is_empty() { "there is none: owl account add NAME" } else { "there are several: name one, or set `account` in .coding-owl.yaml" })]
    AccountNeeded {
        /// Those that there are.
        known: Vec<AccountName>,
    },
    /// The client's key was used otherwise, or the store failed.
    #[error(transparent)]
    Add(#[from] AddJobError),
}

impl From<StoreError> for WantError {
    fn from(error: StoreError) -> Self {
        Self::Add(error.into())
    }
}

/// A Job with its newest Runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobView {
    /// The Job.
    pub job: Job,
    /// Its Runs, newest first.
    pub runs: Vec<Run>,
    /// How many it had.
    pub runs_total: u32,
}

/// Why a move was not made. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MoveError {
    /// There is none of that id.
    #[error("there is no such job")]
    NotFound,
    /// Its state does not allow it.
    #[error("{} is {}", job.id, job.state.name())]
    WrongState {
        /// The Job as it is.
        job: alloc::boxed::Box<Job>,
        /// What was asked.
        wanted: JobMove,
    },
    /// Work would be lost, and nobody said that it may be.
    #[error("{} files and {} commits would be lost", at_risk.files, at_risk.commits)]
    WouldBeLost {
        /// What.
        at_risk: AtRisk,
    },
    /// git could not.
    #[error(transparent)]
    Repository(#[from] RepositoryError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Whether a drop may lose work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Discard {
    /// It may not.
    No,
    /// A person said that it may.
    Yes,
}

impl JobService {
    /// Makes the service.
    pub fn new(ports: JobPorts) -> Self {
        Self { ports }
    }

    /// Makes a Job, `pending`; starts nothing.
    ///
    /// # Errors
    /// [`WantError`].
    pub async fn add(&self, wanted: WantedJob) -> Result<AddedJob, WantError> {
        if let Some(once) = &wanted.once
            && let Some(job) = self.ports.jobs.repeated(once.clone()).await?
        {
            return Ok(AddedJob { job, duplicate: true });
        }
        let project = self.project(&wanted.project).await?.ok_or(WantError::NoProject(wanted.project))?;
        // A file that is refused is told when the Job is started; making one needs nothing of it.
        let terms = self.ports.terms.terms(&project).await.unwrap_or_default();
        let account = self.account(wanted.account, &terms).await?;
        let title = wanted.title.unwrap_or_else(|| title_of(&wanted.prompt));
        let new = NewJob {
            branch_prefix: terms.branch_prefix().into(),
            base_branch: project.base_branch,
            project: project.name,
            account,
            title,
            prompt: wanted.prompt,
            once: wanted.once,
        };
        Ok(self.ports.jobs.add(new, self.now()).await?)
    }

    async fn account(&self, named: Option<AccountName>, terms: &Terms) -> Result<AccountName, WantError> {
        match named.or_else(|| terms.account.clone()) {
            Some(name) => match self.ports.accounts.get(name.clone()).await? {
                Some(account) => Ok(account.name),
                None => Err(WantError::NoAccount(name)),
            },
            None => {
                let mut known: Vec<AccountName> =
                    self.ports.accounts.list().await?.into_iter().map(|account| account.name).collect();
                match (known.pop(), known.is_empty()) {
                    (Some(only), true) => Ok(only),
                    (last, _) => {
                        known.extend(last);
                        Err(WantError::AccountNeeded { known })
                    }
                }
            }
        }
    }

    /// Returns a page of Jobs, newest first.
    ///
    /// # Errors
    /// [`PageError`].
    pub async fn list(&self, filter: JobFilter, page: Page) -> Result<Paged<Job>, PageError> {
        self.ports.jobs.list(filter, page).await
    }

    /// Returns a Job with its newest Runs; none when there is none of that id.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn get(&self, id: JobId) -> Result<Option<JobView>, StoreError> {
        let Some(job) = self.ports.jobs.get(id).await? else {
            return Ok(None);
        };
        let (runs, runs_total) = self.ports.runs.of_job(id, limits::RUNS_SHOWN).await?;
        Ok(Some(JobView { job, runs, runs_total }))
    }

    /// Returns a Run; none when there is none of that id.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn run(&self, id: RunId) -> Result<Option<Run>, StoreError> {
        self.ports.runs.get(id).await
    }

    /// Returns what a Job changed, against the commit that it began at: empty before its first Run and once it was
    /// dropped.
    ///
    /// # Errors
    /// [`MoveError::Repository`] or [`MoveError::Store`].
    pub async fn diff(&self, job: &Job) -> Result<JobDiff, MoveError> {
        match self.place(job).await? {
            Some(place) if job.worktree.is_some() || job.state == JobState::Done => {
                Ok(self.ports.repositories.diff(&place).await?)
            }
            Some(_) | None => Ok(JobDiff::default()),
        }
    }

    /// Gives a Job up. A Run at work is stopped first: when this returns, nothing of it is left.
    ///
    /// # Errors
    /// [`MoveError`].
    pub async fn cancel(&self, id: JobId) -> Result<Job, MoveError> {
        loop {
            match self.ports.jobs.make(id, JobMove::Cancel, self.now()).await? {
                Made::Won(job) => return Ok(*job),
                Made::NotFound => return Err(MoveError::NotFound),
                Made::Lost(job) if job.state != JobState::Active => {
                    return Err(MoveError::WrongState { job, wanted: JobMove::Cancel });
                }
                Made::Lost(_) => {}
            }
            // None: it ended between the two, and the next look sees what it ended as.
            if let Some(run) = self.ports.jobs.cancel_run(id).await? {
                self.ports.legs.stop(run);
                self.ports.legs.idle(run).await;
            }
        }
    }

    /// Removes a Job's worktree and branch; with work that would be lost only when that was said. Returns what was lost.
    ///
    /// # Errors
    /// [`MoveError`].
    pub async fn drop(&self, id: JobId, discard: Discard) -> Result<(Job, AtRisk), MoveError> {
        let job = self.ports.jobs.get(id).await?.ok_or(MoveError::NotFound)?;
        if !JobMove::Drop.allowed_from().contains(&job.state) {
            return Err(MoveError::WrongState { job: job.into(), wanted: JobMove::Drop });
        }
        let place = self.place(&job).await?;
        let at_risk = match (&place, discard) {
            (None, _) => AtRisk::default(),
            (Some(place), Discard::No) => self.ports.repositories.at_risk(place).await?,
            // What cannot be counted may go too: a person said so.
            (Some(place), Discard::Yes) => self.ports.repositories.at_risk(place).await.unwrap_or_default(),
        };
        if discard == Discard::No && !at_risk.is_nothing() {
            return Err(MoveError::WouldBeLost { at_risk });
        }
        let job = self.make(id, JobMove::Drop).await?;
        let Some(place) = place else {
            return Ok((job, at_risk));
        };
        // From here on nobody starts it. A Run may have come and gone since the count; what it left is not lost either.
        if discard == Discard::No {
            let at_risk = self.ports.repositories.at_risk(&place).await?;
            if !at_risk.is_nothing() {
                return Err(MoveError::WouldBeLost { at_risk });
            }
        }
        self.ports.repositories.remove_worktree(&place).await?;
        self.ports.repositories.remove_branch(&place).await?;
        self.ports.jobs.worktree_removed(id, self.now()).await?;
        Ok((self.ports.jobs.get(id).await?.unwrap_or(job), at_risk))
    }

    pub(super) async fn make(&self, id: JobId, wanted: JobMove) -> Result<Job, MoveError> {
        match self.ports.jobs.make(id, wanted, self.now()).await? {
            Made::Won(job) => Ok(*job),
            Made::Lost(job) => Err(MoveError::WrongState { job, wanted }),
            Made::NotFound => Err(MoveError::NotFound),
        }
    }

    /// Returns a Job's worktree and branch; none before its first Run, and when its Project is gone.
    pub(super) async fn place(&self, job: &Job) -> Result<Option<JobPlace>, StoreError> {
        let (Some(base_commit), Some(project)) = (&job.base_commit, self.project(&job.project).await?) else {
            return Ok(None);
        };
        let worktree = match &job.worktree {
            Some(worktree) => worktree.clone(),
            None => self.worktree_of(job.id),
        };
        Ok(Some(JobPlace { project, worktree, branch: job.branch.clone(), base_commit: base_commit.clone() }))
    }

    pub(super) fn worktree_of(&self, job: JobId) -> AbsPath {
        self.ports.repositories.worktree(job)
    }

    pub(super) async fn project(&self, name: &ProjectName) -> Result<Option<Project>, StoreError> {
        Ok(self.ports.projects.registered().await?.into_iter().find(|project| project.name == *name))
    }

    pub(super) fn now(&self) -> Timestamp {
        self.ports.clock.now()
    }
}

/// Makes a title of the first line that is not blank.
fn title_of(prompt: &Prompt) -> Title {
    let line = prompt.as_str().lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let plain: String = line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let cut = cut_chars(&plain, limits::AUTO_TITLE_CHARS);
    #[expect(clippy::expect_used, reason = "a prompt is not blank, so it has a line that makes a title")]
    // NOTE(unwrap): one to 80 characters, none of them a control character.
    Title::new(cut).expect("the first line that is not blank is a title")
}
