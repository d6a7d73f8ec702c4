//! Starts a Job: everything is found out and recorded before the Agent begins, in this order: the terms of the base
//! branch, the tool, the Account's list, the worktree, the record (ADR-0035, D20, D22). What cannot be started stays as
//! it was, without a Run.

use super::{Job, JobMove, JobService, Run, Terms, brief};
use crate::{
    ids::JobId,
    permissions::{AccountList, Permissions},
    ports::{
        Claim, ClaimError, CredentialName, JobPlace, LogNote, NewPlace, NewRun, SettingsError, Stop, StoreError,
        ToolError, WorktreeError,
    },
    project::{FileError, Project},
    text::{AbsPath, AccountName, CommitId},
};
use alloc::{
    boxed::Box,
    format,
    string::{String, ToString},
    sync::Arc,
};

/// Why a Job was not started.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StartError {
    /// There is none of that id, its state does not allow it, or too many are at work.
    #[error(transparent)]
    Claim(#[from] ClaimError),
    /// Something that it needs is not there or not as it should be. The Job is as it was, and there is no Run.
    #[error(transparent)]
    CannotStart(#[from] Box<CannotStart>),
    /// The Job was cancelled in the meantime. There is no Run and no worktree.
    #[error("{} was cancelled while it was being started", job.id)]
    Cancelled {
        /// The Job as it is.
        job: Box<Job>,
    },
}

impl From<StoreError> for StartError {
    fn from(error: StoreError) -> Self {
        Self::Claim(error.into())
    }
}

/// What keeps a Job from being started.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct CannotStart {
    /// Which of its parts.
    pub reason: CannotStartReason,
    /// What is wrong and what to do.
    pub message: String,
    /// The file, when it is about one.
    pub file: Option<String>,
    /// The line in it, from 1.
    pub line: Option<u64>,
    /// The column in it, from 1.
    pub column: Option<u64>,
}

/// Which part keeps a Job from being started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CannotStartReason {
    /// Its Account is gone.
    Account,
    /// There is no coding tool.
    ToolMissing,
    /// The coding tool is none that Owl can operate.
    ToolVersion,
    /// The Account's settings file is none that the tool would read.
    SettingsUnreadable,
    /// The default could not be put in place.
    SettingsUnwritable,
    /// The Project's own file is refused.
    ProjectConfig,
    /// The worktree could not be made, or is not there any more.
    Worktree,
    /// The Project, the Account's token or the tool is out of reach.
    NotAvailable,
}

impl CannotStartReason {
    /// Returns its name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Account => "account",
            Self::ToolMissing => "tool_missing",
            Self::ToolVersion => "tool_version",
            Self::SettingsUnreadable => "settings_unreadable",
            Self::SettingsUnwritable => "settings_unwritable",
            Self::ProjectConfig => "project_config",
            Self::Worktree => "worktree",
            Self::NotAvailable => "not_available",
        }
    }
}

fn cannot(reason: CannotStartReason, message: impl Into<String>) -> StartError {
    let place = CannotStart { reason, message: message.into(), file: None, line: None, column: None };
    Box::new(place).into()
}

impl JobService {
    /// Starts a new attempt of a Job: prepares and records it, and has it carried on.
    ///
    /// # Errors
    /// [`StartError`]; then there is no Run.
    pub async fn start(&self, id: JobId, stop: Arc<dyn Stop>) -> Result<(Job, Run), StartError> {
        let claim = self.ports.jobs.claim(id).await?;
        let started = self.prepare(&claim, stop).await;
        match started {
            Ok((job, run)) => {
                self.say_what_it_was_told(&run).await;
                self.ports.legs.wake(run.id);
                Ok((job, run))
            }
            Err(error) => {
                self.ports.jobs.release(claim).await?;
                Err(error)
            }
        }
    }

    /// Says in the Run's log what a person should know of its permissions: that the file is theirs from now on, and what
    /// takes the list's meaning away.
    async fn say_what_it_was_told(&self, run: &Run) {
        let account = &run.permissions.account;
        let seeded = account.seeded.then(|| {
            format!(
                "Owl created {} with the default list; from now on the file is yours, and Owl only reads it. The list is \
                 a starting point and not a boundary.",
                account.file
            )
        });
        for text in seeded.into_iter().chain(run.permissions.warnings()) {
            self.note(run.id, LogNote::Said { text }).await;
        }
    }

    async fn prepare(&self, claim: &Claim, stop: Arc<dyn Stop>) -> Result<(Job, Run), StartError> {
        let job = &claim.job;
        let (project, terms) = self.terms_of(job).await?;
        self.account_is_there(&job.account).await?;
        let tool = self.ports.driver.tool().await.map_err(|error| match &error {
            ToolError::Missing { .. } => cannot(CannotStartReason::ToolMissing, error.to_string()),
            ToolError::Version { .. } => cannot(CannotStartReason::ToolVersion, error.to_string()),
        })?;
        let account = self.settings_of(&job.account).await?;
        let worktree = job.worktree.clone().unwrap_or_else(|| self.worktree_of(job.id));
        // Before a worktree is made: what cannot be a command line needs none.
        let brief = brief::of_job(job, worktree.clone(), &terms);
        let argv = self.ports.driver.argv(&tool, &brief);
        let argv = argv.map_err(|error| cannot(CannotStartReason::ProjectConfig, error.to_string()))?;
        let made = self.worktree(job, &project, &worktree, stop).await?;
        let permissions = Permissions { account, project: terms.list(), reported: None };
        let new = NewRun {
            claim: claim.clone(),
            worktree: worktree.clone(),
            base_commit: made.clone(),
            terms,
            permissions,
            argv,
            tool_version: tool.version,
        };
        let begun = self.ports.runs.begin(new, self.now()).await;
        if let Ok(Some(begun)) = begun {
            return Ok(begun);
        }
        if let Some(base_commit) = made {
            self.unmake(JobPlace { project, worktree, branch: job.branch.clone(), base_commit }).await;
        }
        // What was stored is not known only when the store failed.
        begun?;
        match self.ports.jobs.get(job.id).await? {
            Some(job) => Err(StartError::Cancelled { job: job.into() }),
            None => Err(ClaimError::NotFound.into()),
        }
    }

    async fn terms_of(&self, job: &Job) -> Result<(Project, Terms), StartError> {
        let Some(project) = self.project(&job.project).await? else {
            let message = format!("the Project `{}` is no longer registered", job.project);
            return Err(cannot(CannotStartReason::NotAvailable, message));
        };
        let refused = |error: FileError| {
            let key = error.key.map(|key| format!("`{key}`: ")).unwrap_or_default();
            StartError::from(Box::new(CannotStart {
                reason: CannotStartReason::ProjectConfig,
                message: format!("the Project's own file is refused: {key}{}", error.message),
                file: Some(error.file),
                line: error.line,
                column: error.column,
            }))
        };
        let terms = self.ports.terms.terms(&project).await.map_err(refused)?;
        Ok((project, terms))
    }

    async fn account_is_there(&self, name: &AccountName) -> Result<(), StartError> {
        if self.ports.accounts.get(name.clone()).await?.is_none() {
            let message = format!("the account `{name}` is gone; add it again: owl account add {name}");
            return Err(cannot(CannotStartReason::Account, message));
        }
        // Read again when the Agent starts; a store that cannot be read is told here, where nothing has begun.
        let token = self.ports.credentials.get(CredentialName::Account(name.clone())).await;
        token.map(drop).map_err(|error| cannot(CannotStartReason::NotAvailable, error.to_string()))
    }

    async fn settings_of(&self, name: &AccountName) -> Result<AccountList, StartError> {
        let list = self.ports.settings.read_or_seed(name).await.map_err(|error| {
            let message = error.to_string();
            Box::new(match error {
                SettingsError::Unreadable { file, line, column, .. } => CannotStart {
                    reason: CannotStartReason::SettingsUnreadable,
                    message,
                    file: Some(file),
                    line,
                    column,
                },
                SettingsError::Unwritable { file, .. } => CannotStart {
                    reason: CannotStartReason::SettingsUnwritable,
                    message,
                    file: Some(file),
                    line: None,
                    column: None,
                },
            })
        })?;
        if list.seeded {
            self.ports.accounts.seeded(name.clone(), self.now()).await?;
        }
        Ok(list)
    }

    /// Makes the worktree of a Job that has none, and returns the commit it was made at; else sees that it stands.
    async fn worktree(
        &self,
        job: &Job,
        project: &Project,
        worktree: &AbsPath,
        stop: Arc<dyn Stop>,
    ) -> Result<Option<CommitId>, StartError> {
        if job.worktree.is_none() {
            let place = NewPlace { worktree: worktree.clone(), branch: job.branch.clone() };
            let made = self.ports.repositories.make(project, &place, stop).await;
            return made.map(Some).map_err(|error| match &error {
                WorktreeError::Stopped => cannot(CannotStartReason::NotAvailable, "the daemon is stopping"),
                WorktreeError::InTheWay { .. } | WorktreeError::Repository(_) => {
                    cannot(CannotStartReason::Worktree, error.to_string())
                }
            });
        }
        match self.place(job).await? {
            Some(place) if self.ports.repositories.stands(&place).await => Ok(None),
            Some(_) | None => {
                let message = format!("the worktree {worktree} is gone, or is not the one that Owl made; drop the Job");
                Err(cannot(CannotStartReason::Worktree, message))
            }
        }
    }

    /// Takes away a worktree that was made for nothing, unless something of value came into it.
    async fn unmake(&self, place: JobPlace) {
        let repositories = &self.ports.repositories;
        if !repositories.stands(&place).await || !repositories.at_risk(&place).await.is_ok_and(|it| it.is_nothing()) {
            return;
        }
        // What cannot be removed is in the way of the next start, which says so.
        if repositories.remove_worktree(&place).await.is_ok() {
            repositories.remove_branch(&place).await.unwrap_or_default();
        }
    }

    /// At start, before anybody is served: what was at work becomes interrupted and what it left running is ended, its
    /// Jobs are pending, a worktree that was made and not recorded goes, and nothing starts by itself.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn recover(&self) -> Result<(), StoreError> {
        self.ports.driver.end_leftovers().await;
        self.ports.runs.recover(self.now()).await?;
        for job in self.ports.jobs.recover().await? {
            let Some(project) = self.project(&job.project).await? else { continue };
            let worktree = self.worktree_of(job.id);
            if let Some(base_commit) = self.ports.repositories.made_at(&project, &worktree, &job.branch).await {
                self.unmake(JobPlace { project, worktree, branch: job.branch, base_commit }).await;
            }
        }
        Ok(())
    }
}

impl StartError {
    /// Returns the Job whose state did not allow it, for the edge.
    #[must_use]
    pub fn wrong_state(&self) -> Option<(&Job, JobMove)> {
        match self {
            Self::Claim(ClaimError::WrongState { job } | ClaimError::Held { job }) | Self::Cancelled { job } => {
                Some((job, JobMove::Start))
            }
            Self::Claim(ClaimError::NotFound | ClaimError::Limit | ClaimError::Store(_)) | Self::CannotStart(_) => None,
        }
    }
}
