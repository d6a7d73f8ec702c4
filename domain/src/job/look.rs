//! What others ask of Jobs without moving them: which need a Project, and the end of a Run's log (D15).

use super::{JobService, JobState};
use crate::{
    conversation::{Page, PageError},
    ids::{JobId, RunId},
    limits,
    ports::{JobFilter, LogError, LogLines},
    text::ProjectName,
};
use alloc::vec::Vec;

impl JobService {
    /// Returns the Jobs of a Project that are neither done nor cancelled, oldest first.
    ///
    /// # Errors
    /// [`PageError`].
    pub async fn needing(&self, project: &ProjectName) -> Result<Vec<JobId>, PageError> {
        let mut needing = Vec::new();
        let mut cursor = None;
        loop {
            let filter = JobFilter { project: Some(project.clone()), state: None };
            let page = self.ports.jobs.list(filter, Page { limit: limits::PAGE_ITEMS, cursor }).await?;
            let open = page.items.iter().filter(|job| match job.state {
                JobState::Pending | JobState::Active | JobState::Blocked | JobState::Review => true,
                JobState::Done | JobState::Cancelled => false,
            });
            needing.extend(open.map(|job| job.id));
            cursor = page.next;
            if cursor.is_none() {
                needing.reverse();
                return Ok(needing);
            }
        }
    }

    /// Returns the last complete lines of a Run's log, about that many bytes of them, with where they begin.
    ///
    /// # Errors
    /// [`LogError`].
    pub async fn log_end(&self, run: RunId, most_bytes: usize) -> Result<LogLines, LogError> {
        let size = self.ports.logs.size(run).await;
        let after = size.saturating_sub(u64::try_from(most_bytes).unwrap_or(u64::MAX));
        self.ports.logs.read(run, after, most_bytes).await
    }
}
