//! The terms that a Project's Agents work under, as its own file on the base branch says (D2, D3).

use crate::{
    permissions::{ProjectList, sort},
    text::{AccountName, CommitId},
};
use alloc::{string::String, vec::Vec};
use core::time::Duration;

/// What a Job's branch begins with unless the Project says otherwise.
pub const BRANCH_PREFIX: &str = "owl/job-";

/// The terms of a Project. Without a file all of them are as [`Default`] has them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Terms {
    /// The Account whose Agents work on it.
    pub account: Option<AccountName>,
    /// What the names of Jobs' branches begin with.
    pub branch_prefix: Option<String>,
    /// Shell commands for a fresh worktree, in order.
    pub setup: Vec<String>,
    /// Shell commands that judge a Run's work, in order.
    pub checks: Vec<Check>,
    /// Whether a fresh Agent reviews the work.
    pub verification_agent: bool,
    /// What this Project's Agents may do on top of their Account's list.
    pub allowed_tools: Vec<String>,
    /// Sentences that are added to Owl's standing contract.
    pub unattended_clauses: Vec<String>,
    /// The file; none when there is none.
    pub file: Option<String>,
    /// The commit it was read from.
    pub commit: Option<CommitId>,
}

/// A shell command of a Project that judges a Run's work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// What it is called.
    pub name: String,
    /// The command.
    pub run: String,
    /// How long it may take.
    pub timeout: Duration,
}

impl Terms {
    /// Returns what the names of Jobs' branches begin with.
    #[must_use]
    pub fn branch_prefix(&self) -> &str {
        self.branch_prefix.as_deref().unwrap_or(BRANCH_PREFIX)
    }

    /// Returns what is recorded of the rules that they add.
    #[must_use]
    pub fn list(&self) -> ProjectList {
        ProjectList {
            allowed_tools: self.allowed_tools.clone(),
            file: self.file.clone(),
            commit: self.commit.clone(),
            ignored: sort(&self.allowed_tools).1,
        }
    }
}
