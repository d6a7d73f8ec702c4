//! What a model may read of Jobs, Runs, their logs and diffs: Owl's own rows and files, and git's answer about a worktree
//! of Owl's own (D15). Nothing here starts, moves or allows anything, and what an Agent wrote is material like all else.

use super::look::{Found, Looker, cut_end};
use crate::{
    conversation::{Page, PageError},
    ids::{JobId, RunId},
    job::{Job, JobState, Run, VerificationState},
    limits,
    ports::{JobFilter, StoreError},
    provider::Argument,
    show::visible,
    text::ProjectName,
};
use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};

/// What is shown of a check that did not pass.
const CHECK_BYTES: usize = 2_048;

impl Looker<'_> {
    pub(super) async fn list_jobs(&self, arguments: &[(String, Argument)]) -> Result<Found, StoreError> {
        let project = match text(arguments, "project").map(|given| given.map(ProjectName::new)) {
            Err(wrong) => return Ok(wrong),
            Ok(Some(Err(_))) => return Ok(Found::Failed("There is no Project of that name.".into())),
            Ok(Some(Ok(name))) => Some(name),
            Ok(None) => None,
        };
        let state = match text(arguments, "state") {
            Err(wrong) => return Ok(wrong),
            Ok(None) => None,
            Ok(Some(name)) => match JobState::from_name(name) {
                Some(state) => Some(state),
                None => {
                    let names: Vec<&str> = JobState::ALL.iter().map(|state| state.name()).collect();
                    return Ok(Found::Failed(format!("`state` must be one of {}.", names.join(", "))));
                }
            },
        };
        let page = Page { limit: limits::PAGE_ITEMS, cursor: None };
        let found = match self.jobs.list(JobFilter { project, state }, page).await {
            Ok(found) => found,
            Err(PageError::Store(error)) => return Err(error),
            Err(PageError::Cursor) => return Ok(Found::Failed("The list could not be read.".into())),
        };
        let mut lines: Vec<String> = found.items.iter().map(one_line).collect();
        if lines.is_empty() {
            lines.push("There is no such Job.".into());
        }
        if found.next.is_some() {
            lines.push(format!("[the newest {}; there are more]", found.items.len()));
        }
        Ok(Found::Text(lines.join("\n")))
    }

    pub(super) async fn get_job(&self, arguments: &[(String, Argument)]) -> Result<Found, StoreError> {
        let job = match self.job(arguments).await? {
            Ok(job) => job,
            Err(wrong) => return Ok(wrong),
        };
        let Some(view) = self.jobs.get(job.id).await? else { return Ok(gone("job_id")) };
        let mut lines = alloc::vec![one_line(&view.job)];
        lines.push(format!("project {}, account {}", view.job.project, view.job.account));
        lines.push(format!(
            "branch {} from {}",
            visible(view.job.branch.as_str()),
            visible(view.job.base_branch.as_str())
        ));
        if let Some(changes) = view.job.changes {
            lines.push(format!(
                "changes: {} files, +{} -{}, {} commits",
                changes.files, changes.insertions, changes.deletions, changes.commits
            ));
        }
        lines.push(format!("prompt: {}", visible(view.job.prompt.as_str())));
        for run in &view.runs {
            lines.push(String::new());
            of_run(run, &mut lines);
        }
        let hidden = usize::try_from(view.runs_total).unwrap_or(usize::MAX).saturating_sub(view.runs.len());
        if hidden > 0 {
            lines.push(format!("[{hidden} older Runs are not shown]"));
        }
        Ok(Found::Text(lines.join("\n")))
    }

    pub(super) async fn get_job_diff(&self, arguments: &[(String, Argument)]) -> Result<Found, StoreError> {
        let job = match self.job(arguments).await? {
            Ok(job) => job,
            Err(wrong) => return Ok(wrong),
        };
        match self.jobs.diff(&job).await {
            Ok(diff) if diff.text.is_empty() => Ok(Found::Text(format!("{} changed nothing.", job.id))),
            Ok(diff) => Ok(Found::Text(visible(&diff.text))),
            Err(error) => Ok(Found::Failed(format!("The diff could not be read: {error}."))),
        }
    }

    pub(super) async fn read_run_log(&self, arguments: &[(String, Argument)]) -> Result<Found, StoreError> {
        let id = match id(arguments, "run_id", RunId::new) {
            Ok(id) => id,
            Err(wrong) => return Ok(wrong),
        };
        if self.jobs.run(id).await?.is_none() {
            return Ok(gone("run_id"));
        }
        match self.jobs.log_end(id, limits::LOOKUP_BYTES).await {
            Ok(end) if end.lines.is_empty() && end.size == 0 => Ok(Found::Text(format!("The log of {id} is empty."))),
            Ok(end) => {
                let lines: Vec<String> = end.lines.iter().map(|(_, line)| visible(line)).collect();
                Ok(Found::Text(cut_end(&lines.join("\n"), end.size)))
            }
            Err(error) => Ok(Found::Failed(format!("The log could not be read: {error}."))),
        }
    }

    async fn job(&self, arguments: &[(String, Argument)]) -> Result<Result<Job, Found>, StoreError> {
        let id: JobId = match id(arguments, "job_id", JobId::new) {
            Ok(id) => id,
            Err(wrong) => return Ok(Err(wrong)),
        };
        Ok(self.jobs.get(id).await?.map(|view| view.job).ok_or_else(|| gone("job_id")))
    }
}

fn one_line(job: &Job) -> String {
    let reason = job.reason.as_deref().map(|reason| format!("  {}", visible(reason))).unwrap_or_default();
    let title = visible(job.title.as_str());
    format!("{}  {}  {title}  attempts {}{reason}", job.id, job.state.name(), job.attempts)
}

fn of_run(run: &Run, lines: &mut Vec<String>) {
    let ending = run.state.ending();
    let outcome = ending.map_or(run.state.name(), |ending| ending.outcome.name());
    lines.push(format!("{}  attempt {}  {outcome}", run.id, run.attempt));
    lines.extend(
        ending.and_then(|ending| ending.reason.as_deref()).map(|reason| format!("reason: {}", visible(reason))),
    );
    for denied in &run.denials {
        let rule = denied.rule_to_add.as_deref().map(|rule| format!("; the line to add: {}", visible(rule)));
        let rule = rule.unwrap_or_default();
        lines.push(format!("denied {}x {}: {}{rule}", denied.count, denied.tool, denied.input_summary));
    }
    for judged in run.verification.iter().filter(|judged| judged.state != VerificationState::Passed) {
        lines.push(format!("{}: {}", visible(&judged.name), judged.state.name()));
        lines.extend(judged.message.as_deref().map(visible));
        if let Some(output) = &judged.output {
            let head = crate::text::cut_bytes(&output.head, CHECK_BYTES);
            lines.push(visible(head));
        }
    }
    lines.extend(run.result_text.as_deref().map(|words| format!("last words: {}", visible(words))));
}

fn gone(what: &str) -> Found {
    Found::Failed(format!("`{what}` names nothing."))
}

fn text<'a>(arguments: &'a [(String, Argument)], wanted: &str) -> Result<Option<&'a str>, Found> {
    match arguments.iter().find(|(name, _)| name == wanted) {
        None => Ok(None),
        Some((_, Argument::Text(text))) => Ok(Some(text)),
        Some((_, Argument::Whole(_) | Argument::Other(_))) => Err(Found::Failed(format!("`{wanted}` must be a text."))),
    }
}

/// Reads an id as `"j_7"`, `"7"` or `7`.
fn id<T: core::str::FromStr>(arguments: &[(String, Argument)], wanted: &str, new: fn(i64) -> T) -> Result<T, Found> {
    let whole = |number: i64| if number > 0 { Ok(new(number)) } else { Err(gone(wanted)) };
    match arguments.iter().find(|(name, _)| name == wanted) {
        None => Err(Found::Failed(format!("`{wanted}` is missing."))),
        Some((_, Argument::Whole(number))) => whole(*number),
        Some((_, Argument::Text(text))) => match text.parse::<T>() {
            Ok(id) => Ok(id),
            Err(_) => match text.parse::<i64>().ok().filter(|number| number.to_string() == *text) {
                Some(number) => whole(number),
                None => Err(gone(wanted)),
            },
        },
        Some((_, Argument::Other(kind))) => Err(Found::Failed(format!("`{wanted}` must be an id, and is {kind}."))),
    }
}

#[cfg(test)]
mod tests;
