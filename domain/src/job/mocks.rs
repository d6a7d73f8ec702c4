//! A service of mocks, for tests of whatever holds one.

use super::{JobPorts, JobService};
use crate::{
    ports::{
        Clock, MockAccountSettings, MockAccounts, MockChecks, MockCredentials, MockDriver, MockJobRepositories,
        MockJobs, MockRunLegs, MockRunLogs, MockRuns, MockTerms, MockVerdicts,
    },
    project::ProjectService,
};
use alloc::sync::Arc;

impl JobPorts {
    /// Makes ports that a test has to script where they are asked.
    #[must_use]
    pub fn mocked(projects: Arc<ProjectService>, clock: Arc<dyn Clock>) -> Self {
        Self {
            jobs: Arc::new(MockJobs::new()),
            runs: Arc::new(MockRuns::new()),
            accounts: Arc::new(MockAccounts::new()),
            settings: Arc::new(MockAccountSettings::new()),
            credentials: Arc::new(MockCredentials::new()),
            terms: Arc::new(MockTerms::new()),
            repositories: Arc::new(MockJobRepositories::new()),
            driver: Arc::new(MockDriver::new()),
            checks: Arc::new(MockChecks::new()),
            verdicts: Arc::new(MockVerdicts::new()),
            logs: Arc::new(MockRunLogs::new()),
            legs: Arc::new(MockRunLegs::new()),
            clock,
            projects,
        }
    }
}

impl JobService {
    /// Makes a service that nothing may be asked of.
    #[must_use]
    pub fn mocked(projects: Arc<ProjectService>, clock: Arc<dyn Clock>) -> Self {
        Self::new(JobPorts::mocked(projects, clock))
    }
}
