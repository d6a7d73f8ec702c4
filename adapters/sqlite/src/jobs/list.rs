//! Jobs in pages, newest first: keyset only, never an offset (D24).

use super::{job_columns, read_job};
use crate::{
    database::Database,
    failure::Failure,
    page::{Filling, List, Room},
    sql::{self, Columns, Go},
};
use owl_domain::{
    conversation::{Page, PageError, Paged},
    job::{Job, JobState},
    ports::JobFilter,
    text::ProjectName,
};
use rusqlite::{Connection, params};

/// Ends each statement: after the last Job of the page before.
macro_rules! page {
    ($where:literal) => {
        concat!("SELECT ", job_columns!(), " FROM jobs j WHERE ", $where, " AND j.id < ?1 ORDER BY j.id DESC")
    };
}

const ALL: &str = page!("?2 IS NULL AND ?3 IS NULL");
const IN_STATE: &str = page!("j.state = ?3 AND (?2 IS NULL OR j.project = ?2)");
const OF_PROJECT: &str = page!("j.project = ?2 AND ?3 IS NULL");

/// Each list, how many parameters it takes, and the index that it must be read from.
#[cfg(test)]
pub(crate) const PLANS: [(&str, usize, &str); 3] = [
    (ALL, 3, "SEARCH j USING INTEGER PRIMARY KEY (rowid<?)"),
    (IN_STATE, 3, "SEARCH j USING INDEX jobs_by_state (state=? AND id<?)"),
    (OF_PROJECT, 3, "SEARCH j USING INDEX jobs_by_project (project=? AND id<?)"),
];

/// Returns a page of Jobs.
pub(super) async fn list(database: &Database, filter: JobFilter, page: Page) -> Result<Paged<Job>, PageError> {
    let list = List::of("jobs").by(filter.project.as_ref()).by(filter.state.map(JobState::name));
    let [before, _] = list.keys(&page)?.unwrap_or([i64::MAX, 0]);
    Ok(database.read(move |db| listed(db, &filter, &list, before, page.limit)).await?)
}

fn listed(db: &Connection, filter: &JobFilter, list: &List, before: i64, limit: u32) -> Result<Paged<Job>, Failure> {
    let mut filling = Filling::new(limit);
    let add = |row: &mut Columns<'_>| {
        let job = read_job(row)?;
        // Beside the prompt a Job's texts are short.
        const REST: usize = 4_096;
        let (keys, size) = ([job.id.number(), 0], REST + job.prompt.as_str().len());
        Ok(match filling.add(job, keys, size) {
            Room::Left => Go::On,
            Room::None => Go::Stop,
        })
    };
    let sql = match (filter.state, &filter.project) {
        (Some(_), _) => IN_STATE,
        (None, Some(_)) => OF_PROJECT,
        (None, None) => ALL,
    };
    let (project, state) = (filter.project.as_ref().map(ProjectName::as_str), filter.state.map(JobState::name));
    sql::each(db, sql, params![before, project, state], add)?;
    Ok(filling.end(list))
}
