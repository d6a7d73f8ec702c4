//! What a caller is told when an Account, a Job or a Run is not as it was asked to be.

use super::{ALREADY_EXISTS, CANNOT_START, IN_USE, LIMIT_REACHED, RpcError, STORAGE, WORK_WOULD_BE_LOST, WRONG_STATE};
use crate::params::{Reason, invalid};
use owl_domain::{
    account::{AddAccountError, DropAccountError},
    job::{CannotStart, Job, JobMove, JobState, MoveError, StartError, WantError},
    limits,
    ports::{AddJobError, AtRisk, ClaimError, RemoveAccountError, RepositoryError, SettingsError},
};
use serde_json::{Value, json};

impl From<AddAccountError> for RpcError {
    fn from(error: AddAccountError) -> Self {
        let message = error.to_string();
        match error {
            AddAccountError::Exists { existing } => {
                let data = json!({
                    "what": "account", "name": existing.name.as_str(), "path": existing.directory.as_str(),
                });
                Self::new(&ALREADY_EXISTS, message, data)
            }
            AddAccountError::Directory(error) => error.into(),
            AddAccountError::Credential(error) => error.into(),
            AddAccountError::Store(error) => error.into(),
        }
    }
}

impl From<SettingsError> for RpcError {
    fn from(error: SettingsError) -> Self {
        let message = error.to_string();
        let (SettingsError::Unreadable { file, .. } | SettingsError::Unwritable { file, .. }) = error;
        Self::new(&STORAGE, message, json!({ "file": file }))
    }
}

impl From<RepositoryError> for RpcError {
    fn from(error: RepositoryError) -> Self {
        // It is git's repository that could not be read or written, and nothing was done.
        Self::new(&STORAGE, error.to_string(), json!({ "file": "the repository" }))
    }
}

impl RpcError {
    /// Tells why the Account of that name was not removed.
    pub(crate) fn drop_account(error: DropAccountError, name: &str) -> Self {
        let message = error.to_string();
        match error {
            DropAccountError::Remove(RemoveAccountError::InUse { by }) => {
                let by: Vec<String> = by.iter().map(ToString::to_string).collect();
                let message = format!("the account `{name}` is needed by {}", by.join(", "));
                Self::new(&IN_USE, message, json!({ "what": "account", "name": name, "by": by }))
            }
            DropAccountError::Remove(RemoveAccountError::Store(error)) | DropAccountError::Store(error) => error.into(),
            DropAccountError::Credential(error) => {
                Self::new(&super::CREDENTIAL_STORE, message, json!({ "store": error.store }))
            }
        }
    }

    /// Tells why a Job was not made. `client_key` is the caller's.
    pub(crate) fn want(error: WantError, client_key: Option<&str>) -> Self {
        let message = error.to_string();
        match error {
            WantError::NoProject(name) => Self::not_found("project", name),
            WantError::NoAccount(name) => Self { message, ..Self::not_found("account", name) },
            WantError::AccountNeeded { .. } => invalid("account", Reason::Missing, message),
            WantError::Add(AddJobError::Mismatch) => Self::mismatch(client_key),
            WantError::Add(AddJobError::Store(error)) => error.into(),
        }
    }

    /// Tells why the Job of that id was not moved.
    pub(crate) fn move_job(error: MoveError, id: &str) -> Self {
        match error {
            MoveError::NotFound => Self::not_found("job", id),
            MoveError::WrongState { job, wanted } => wrong_state(&job, wanted),
            MoveError::WouldBeLost { at_risk: AtRisk { files, commits } } => {
                let message = format!(
                    "{files} files that no commit has and {commits} commits that are on no other branch would be lost; \
                     `discard` allows it"
                );
                Self::new(&WORK_WOULD_BE_LOST, message, json!({ "files": files, "commits": commits }))
            }
            MoveError::Repository(error) => error.into(),
            MoveError::Store(error) => error.into(),
        }
    }

    /// Tells why the Job of that id was not started.
    pub(crate) fn start(error: StartError, id: &str) -> Self {
        if let Some((job, wanted)) = error.wrong_state() {
            return match error {
                StartError::Claim(ClaimError::Held { .. }) => {
                    let message = format!("{} is being started already", job.id);
                    Self { message, ..wrong_state(job, wanted) }
                }
                StartError::Claim(_) | StartError::Cancelled { .. } | StartError::CannotStart(_) => {
                    wrong_state(job, wanted)
                }
            };
        }
        match error {
            StartError::Claim(ClaimError::Limit) => {
                let message = format!("{} Runs are at work, and no more may", limits::RUNS_ACTIVE);
                Self::new(&LIMIT_REACHED, message, json!({ "limit": "runs_active", "max": limits::RUNS_ACTIVE }))
            }
            StartError::Claim(ClaimError::Store(error)) => error.into(),
            StartError::Claim(ClaimError::NotFound | ClaimError::WrongState { .. } | ClaimError::Held { .. })
            | StartError::Cancelled { .. } => Self::not_found("job", id),
            StartError::CannotStart(why) => {
                let CannotStart { reason, message, file, line, column } = *why;
                let data = json!({
                    "reason": reason.name(), "message": message, "file": file, "line": line, "column": column,
                });
                Self::new(&CANNOT_START, message, data)
            }
        }
    }
}

fn wrong_state(job: &Job, wanted: JobMove) -> RpcError {
    let allowed: Vec<&str> = wanted.allowed_from().iter().copied().map(JobState::name).collect();
    let (id, state) = (job.id.to_string(), job.state.name());
    let message = format!("{id} is {state}; this is possible from {}", allowed.join(", "));
    let data: Value = json!({ "what": "job", "id": id, "state": state, "allowed_from": allowed });
    RpcError::new(&WRONG_STATE, message, data)
}
