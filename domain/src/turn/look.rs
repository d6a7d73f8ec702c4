//! The tools that only read what Owl knows: no consent, no file and no process but Owl's own (D15).

use super::{Told, tools};
use crate::{
    conversation::Lookup,
    job::JobService,
    limits,
    ports::{Judged, StoreError},
    project::{ProjectService, WorktreeKind},
    provider::{Argument, Call},
    show::visible,
    text::{ProjectName, cut_bytes},
};
use alloc::{format, string::String, vec::Vec};

/// Answers calls of the reading tools.
pub(super) struct Looker<'a> {
    pub(super) projects: &'a ProjectService,
    pub(super) jobs: &'a JobService,
}

/// What a reading tool found, or why it could not.
pub(super) enum Found {
    Text(String),
    Failed(String),
}

impl Looker<'_> {
    /// Answers a call that is not `run_command`.
    pub(super) async fn answer(
        &self,
        call: &Call,
        arguments: Result<Vec<(String, Argument)>, String>,
    ) -> Result<(Judged, Told), StoreError> {
        // What came is kept only when it is an object: whoever reads it takes it for one.
        let input = match &arguments {
            Ok(_) if !call.arguments.trim().is_empty() => call.arguments.clone(),
            Ok(_) | Err(_) => String::from("{}"),
        };
        let found = self.find(&call.name, arguments).await?;
        Ok(lookup(&call.name, input, found))
    }

    async fn find(&self, tool: &str, arguments: Result<Vec<(String, Argument)>, String>) -> Result<Found, StoreError> {
        match tool {
            tools::LIST_PROJECTS => match members(tool, arguments, &[]) {
                Ok(_none) => self.projects().await.map(Found::Text),
                Err(wrong) => Ok(Found::Failed(wrong)),
            },
            tools::LIST_WORKTREES => match members(tool, arguments, &["project"]) {
                Ok(arguments) => self.worktrees(&arguments).await,
                Err(wrong) => Ok(Found::Failed(wrong)),
            },
            tools::LIST_JOBS => match members(tool, arguments, &["project", "state"]) {
                Ok(arguments) => self.list_jobs(&arguments).await,
                Err(wrong) => Ok(Found::Failed(wrong)),
            },
            tools::GET_JOB => match members(tool, arguments, &["job_id"]) {
                Ok(arguments) => self.get_job(&arguments).await,
                Err(wrong) => Ok(Found::Failed(wrong)),
            },
            tools::GET_JOB_DIFF => match members(tool, arguments, &["job_id"]) {
                Ok(arguments) => self.get_job_diff(&arguments).await,
                Err(wrong) => Ok(Found::Failed(wrong)),
            },
            tools::READ_RUN_LOG => match members(tool, arguments, &["run_id"]) {
                Ok(arguments) => self.read_run_log(&arguments).await,
                Err(wrong) => Ok(Found::Failed(wrong)),
            },
            unknown => {
                let names: Vec<&str> = tools::offered().iter().map(|tool| tool.name).collect();
                let unknown = visible(unknown);
                Ok(Found::Failed(format!("There is no tool `{unknown}`; there are {}.", names.join(", "))))
            }
        }
    }

    async fn projects(&self) -> Result<String, StoreError> {
        let lines: Vec<String> = self
            .projects
            .registered()
            .await?
            .iter()
            .map(|project| {
                let root = visible(project.root().as_str());
                let branch = visible(project.base_branch.as_str());
                format!("{}  {root}  base branch {branch}", project.name)
            })
            .collect();
        Ok(if lines.is_empty() { String::from("No Project is registered.") } else { lines.join("\n") })
    }

    async fn worktrees(&self, arguments: &[(String, Argument)]) -> Result<Found, StoreError> {
        let name = match arguments.iter().find(|(name, _)| name == "project") {
            None => None,
            Some((_, Argument::Text(text))) => match ProjectName::new(text.as_str()) {
                Ok(name) => Some(name),
                Err(_) => return Ok(Found::Failed(format!("There is no Project `{}`.", visible(text)))),
            },
            Some((_, Argument::Whole(_) | Argument::Other(_))) => {
                return Ok(Found::Failed(String::from("`project` must be a text.")));
            }
        };
        let Some(worktrees) = self.projects.worktrees(name.clone()).await? else {
            let name = name.map(|name| format!(" `{name}`")).unwrap_or_default();
            return Ok(Found::Failed(format!("There is no Project{name}.")));
        };
        let lines: Vec<String> = worktrees
            .iter()
            .map(|worktree| {
                let branch = match &worktree.branch {
                    Some(branch) => format!("branch {}", visible(branch.as_str())),
                    None => String::from("no branch"),
                };
                let path = visible(worktree.workdir.path().as_str());
                let kind = match worktree.kind {
                    WorktreeKind::Job(job) => format!("Job {job}"),
                    WorktreeKind::Root | WorktreeKind::Linked => worktree.kind.name().into(),
                };
                format!("{path}  {}  {branch}  {kind}", worktree.workdir.project)
            })
            .collect();
        Ok(Found::Text(if lines.is_empty() { String::from("There is no directory.") } else { lines.join("\n") }))
    }
}

/// Answers a call without looking at anything: it is refused as it stands.
pub(super) fn refused(tool: &str, why: String) -> (Judged, Told) {
    lookup(tool, String::from("{}"), Found::Failed(why))
}

fn lookup(tool: &str, input: String, found: Found) -> (Judged, Told) {
    let (text, failed) = match found {
        Found::Text(text) => (bounded(&text), false),
        Found::Failed(text) => (text, true),
    };
    let lookup = Lookup { tool: visible(tool), input, result: text.clone(), failed };
    (Judged::Lookup(lookup), Told { text, is_error: failed })
}

/// Refuses arguments that are none, and members that a tool does not have: nothing is guessed.
fn members(
    tool: &str,
    arguments: Result<Vec<(String, Argument)>, String>,
    known: &[&str],
) -> Result<Vec<(String, Argument)>, String> {
    let arguments = arguments.map_err(|wrong| format!("The arguments of {tool} are wrong: {}.", visible(&wrong)))?;
    match arguments.iter().find(|(name, _)| !known.contains(&name.as_str())) {
        None => Ok(arguments),
        Some((name, _)) => Err(format!("There is no parameter `{}`.", visible(name))),
    }
}

/// Cuts a result at a line's end and says how much there was.
fn bounded(text: &str) -> String {
    if text.len() <= limits::LOOKUP_BYTES {
        return text.into();
    }
    let note = 64;
    let cut = cut_bytes(text, limits::LOOKUP_BYTES - note);
    let cut = cut.rfind('\n').and_then(|end| cut.get(..end)).unwrap_or(cut);
    format!("{cut}\n[first {} of {} bytes]", cut.len(), text.len())
}

/// Cuts lines to their end, at a line's beginning, and says how much there was of the whole.
pub(super) fn cut_end(text: &str, bytes: u64) -> String {
    let most = limits::LOOKUP_BYTES - 64;
    let mut from = text.len().saturating_sub(most);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    let end = text.get(from..).unwrap_or_default();
    let end = if from == 0 { end } else { end.find('\n').and_then(|at| end.get(at + 1..)).unwrap_or(end) };
    let kept = u64::try_from(end.len()).unwrap_or(u64::MAX);
    if kept >= bytes { end.into() } else { format!("[last {kept} of {bytes} bytes]\n{end}") }
}
