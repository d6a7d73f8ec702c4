//! Accounts, Jobs and Runs as rows: what comes back, who wins, what is told, and what a daemon that died leaves.

mod moves;
mod runs;

use super::{Owl, page, path};
use owl_domain::{
    account::Account,
    ids::{JobId, RunId},
    job::{
        AgentEnded, AgentEndedBy, AgentResult, Changes, Check, Exit, Job, JobState, Run, Terms, Verification,
        VerificationKind, VerificationState, Work,
    },
    permissions::{AccountList, DeniedCall, Ignored, McpServer, Permissions, ProjectList, Reported},
    ports::{AgentWork, Claim, JobFilter, NewJob, NewRun, Once},
    text::{AccountName, BranchName, ClientKey, Clipped, CommitId, ProjectName, Prompt, Title},
    time::Timestamp,
};
use std::time::Duration;

pub(super) fn name(text: &str) -> AccountName {
    AccountName::new(text).unwrap()
}

pub(super) fn account(text: &str) -> Account {
    let directory = path(&format!("/data/accounts/{text}"));
    Account { name: name(text), directory, seeded_at: None, created_at: Timestamp::from_millis(7) }
}

pub(super) fn commit(digit: &str) -> CommitId {
    CommitId::new(digit.repeat(40)).unwrap()
}

pub(super) fn new_job(prompt: &str) -> NewJob {
    NewJob {
        project: ProjectName::new("my-app").unwrap(),
        account: name("work"),
        title: Title::new("Fix it").unwrap(),
        prompt: Prompt::new(prompt).unwrap(),
        branch_prefix: "owl/job-".into(),
        base_branch: BranchName::new("main").unwrap(),
        once: None,
    }
}

pub(super) fn once(key: &str, parameters: &str) -> Once {
    Once::new(ClientKey::new(key).unwrap(), parameters)
}

/// Everything that can be told of an Agent, so that a column that is lost is seen.
pub(super) fn permissions() -> Permissions {
    let ignored = vec![Ignored { rule: "Bash(*".into(), why: "it is not closed".into() }];
    Permissions {
        account: AccountList {
            name: name("work"),
            file: path("/data/accounts/work/settings.json"),
            seeded: true,
            allow: vec!["Edit".into(), "Bash(a, b:*)".into()],
            deny: vec!["Bash(rm:*)".into()],
            ask: vec!["WebFetch".into()],
            default_mode: Some("acceptEdits".into()),
            sha256: "ab".repeat(32),
            ignored: ignored.clone(),
        },
        project: ProjectList {
            allowed_tools: vec!["Bash(just:*)".into()],
            file: Some(".coding-owl.yaml".into()),
            commit: Some(commit("4")),
            ignored,
        },
        reported: None,
    }
}

pub(super) fn reported() -> Reported {
    Reported {
        permission_mode: Some("default".into()),
        tools: vec!["Bash".into()],
        mcp_servers: vec![McpServer { name: "x".into(), status: "failed".into() }],
        tool_version: Some("2.1.332".into()),
        api_key_source: Some("none".into()),
    }
}

pub(super) fn terms() -> Terms {
    Terms {
        account: Some(name("work")),
        branch_prefix: Some("team/".into()),
        setup: vec!["npm ci".into()],
        checks: vec![Check { name: "test".into(), run: "just test".into(), timeout: Duration::from_millis(1_500) }],
        verification_agent: true,
        allowed_tools: vec!["Bash(just:*)".into()],
        unattended_clauses: vec!["Write tests.".into()],
        file: Some(".coding-owl.yaml".into()),
        commit: Some(commit("4")),
    }
}

pub(super) fn new_run(claim: Claim) -> NewRun {
    NewRun {
        worktree: path(&format!("/data/worktrees/{}", claim.job.id)),
        base_commit: Some(commit("1")),
        claim,
        terms: terms(),
        permissions: permissions(),
        argv: vec!["claude".into(), "--".into(), "Fix it\nnow".into()],
        tool_version: "2.1.332".into(),
    }
}

pub(super) fn changes() -> Changes {
    Changes { files: 2, insertions: 30, deletions: 4, commits: 1 }
}

pub(super) fn work() -> AgentWork {
    AgentWork {
        ended: AgentEnded {
            ended_by: AgentEndedBy::Silence(Duration::from_millis(900_000)),
            exit: Exit::Signal("SIGTERM".into()),
            result: Some(AgentResult { is_error: true, subtype: "success".into(), text: Some("I stop.".into()) }),
            stderr_tail: "oops".into(),
            overlong_line: Some(9_000_000),
            work: Work::Unknown("git could not".into()),
        },
        denials: vec![DeniedCall {
            tool: "Bash".into(),
            input_summary: "curl x".into(),
            count: 3,
            rule_to_add: Some("Bash(curl:*)".into()),
            why: None,
        }],
        settings_changed: Some(true),
        changes: Some(changes()),
    }
}

pub(super) fn check() -> Verification {
    Verification {
        name: "test".into(),
        kind: VerificationKind::Check { command: "just test".into() },
        state: VerificationState::Failed,
        exit_code: Some(1),
        duration: Duration::from_millis(8_120),
        output: Some(Clipped {
            head: "1 failed".into(),
            tail: "end".into(),
            bytes: 99,
            omitted_bytes: 9,
            replaced_bytes: 1,
        }),
        message: None,
    }
}

impl Owl {
    pub(super) async fn job(&self) -> Job {
        self.store.jobs().add(new_job("Fix the failing test"), self.now).await.unwrap().job
    }

    pub(super) async fn get(&self, id: JobId) -> Job {
        self.store.jobs().get(id).await.unwrap().unwrap()
    }

    pub(super) async fn began(&self, id: JobId) -> (Job, Run) {
        let claim = self.store.jobs().claim(id).await.unwrap();
        self.store.runs().begin(new_run(claim), self.now).await.unwrap().unwrap()
    }

    pub(super) async fn run_of(&self, id: RunId) -> Run {
        self.store.runs().get(id).await.unwrap().unwrap()
    }

    pub(super) async fn states(&self) -> Vec<(JobId, JobState)> {
        let jobs = self.store.jobs().list(JobFilter::default(), page(200)).await.unwrap().items;
        jobs.iter().map(|job| (job.id, job.state)).collect()
    }
}
