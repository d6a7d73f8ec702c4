//! `owl jobs`: what Agents are to do, unattended, and what they were allowed and denied (ADR-0035, D22).

use super::{
    Failed, Out,
    output::{columns, counted, items, text},
    socket,
};
use crate::config::places::Places;
use clap::Subcommand;
use owl_domain::show::visible;
use serde_json::{Value, json};
use std::io::Read as _;

#[derive(Debug, Subcommand)]
pub(super) enum Jobs {
    /// Add a Job; it is not started
    Add {
        /// The Project it works on
        #[arg(long)]
        project: String,
        /// The Account whose Agent does it; the Project's own when left out
        #[arg(long)]
        account: Option<String>,
        /// Its title; made of the prompt when left out
        #[arg(long)]
        title: Option<String>,
        /// What is to be done; read from standard input when it is a dash
        prompt: String,
    },
    /// List Jobs, newest first
    List {
        /// Those of one Project
        #[arg(long)]
        project: Option<String>,
        /// Those in one state: pending, active, blocked, review, done or cancelled
        #[arg(long)]
        state: Option<String>,
    },
    /// Show one Job: its Runs, what each was allowed, and what it was denied
    Show {
        /// Its id
        job: String,
        /// With the difference to where it began
        #[arg(long)]
        diff: bool,
    },
    /// Start a Run of a Job
    Start {
        /// Its id
        job: String,
    },
    /// Cancel a Job; a Run at work is ended, its branch stays
    Cancel {
        /// Its id
        job: String,
    },
    /// Accept a Job's work: its branch stays for you to merge
    Accept {
        /// Its id
        job: String,
    },
    /// Remove a Job's worktree and branch
    Drop {
        /// Its id
        job: String,
        /// Even when work would be lost
        #[arg(long)]
        discard: bool,
    },
}

pub(super) async fn run(command: Jobs, places: &Places, out: &mut Out) -> Result<(), Failed> {
    let client = socket::connect(places).await?;
    match command {
        Jobs::Add { project, account, title, prompt } => {
            let prompt = if prompt == "-" { prompt_from_stdin()? } else { prompt };
            let mut params = json!({ "project": project, "prompt": prompt });
            for (name, value) in [("account", account), ("title", title)] {
                if let Some(value) = value {
                    params[name] = value.into();
                }
            }
            let job = socket::call(&client, "jobs.create", params).await?;
            out.answer(&job, |j| format!("{} is added; start it: owl jobs start {}", text(j, "id"), text(j, "id")))
        }
        Jobs::List { project, state } => {
            let mut params = json!({ "limit": 200 });
            for (name, value) in [("project", project), ("state", state)] {
                if let Some(value) = value {
                    params[name] = value.into();
                }
            }
            let list = socket::call(&client, "jobs.list", params).await?;
            out.answer(&list, |list| {
                let row = |j: &Value| vec![text(j, "id"), text(j, "state"), text(j, "project"), text(j, "title")];
                let rows: Vec<_> = items(list).iter().map(row).collect();
                if rows.is_empty() {
                    "There is no Job.".into()
                } else {
                    columns(&["JOB", "STATE", "PROJECT", "TITLE"], &rows)
                }
            })
        }
        Jobs::Show { job, diff } => {
            let job = socket::call(&client, "jobs.get", json!({ "job_id": job, "diff": diff })).await?;
            out.answer(&job, shown)
        }
        Jobs::Start { job } => {
            let started = socket::call(&client, "jobs.start", json!({ "job_id": job })).await?;
            out.answer(&started, |s| {
                let run = text(s, "run.id");
                format!("{run} of {job} is at work; watch it: owl logs {run} -f")
            })
        }
        Jobs::Cancel { job } => {
            let cancelled = socket::call(&client, "jobs.cancel", json!({ "job_id": job })).await?;
            out.answer(&cancelled, |j| {
                format!("{} is {}; its branch {} stays", text(j, "id"), text(j, "state"), text(j, "branch"))
            })
        }
        Jobs::Accept { job } => {
            let accepted = socket::call(&client, "jobs.accept", json!({ "job_id": job })).await?;
            out.answer(&accepted, taken)
        }
        Jobs::Drop { job, discard } => {
            let dropped = socket::call(&client, "jobs.drop", json!({ "job_id": job, "discard": discard })).await?;
            out.answer(&dropped, |j| {
                let number = |name: &str| j["discarded"][name].as_u64().unwrap_or_default();
                let lost = format!("{}, {}", counted(number("files"), "file"), counted(number("commits"), "commit"));
                format!("{}'s worktree and branch are removed ({lost} discarded)", text(j, "id"))
            })
        }
    }
}

/// Says where an accepted Job's work is. A branch that does not hold it is not offered for a merge.
fn taken(job: &Value) -> String {
    let (id, branch) = (text(job, "id"), text(job, "branch"));
    let kept = job["kept_because"].as_str().map(one_line);
    let kept = kept.map(|why| format!("its worktree {} stays: {why}", text(job, "worktree")));
    match (job["branch_is_there"].as_bool(), kept) {
        (Some(false), None) => format!("{id} is done; its branch {branch} is gone, and its worktree too"),
        (Some(false), Some(kept)) => format!("{id} is done, and {branch} does not hold its work; {kept}"),
        (_, None) => format!("{id} is done; merge it when you like: git merge {branch}"),
        (_, Some(kept)) => format!("{id} is done; look there before you merge {branch}: {kept}"),
    }
}

fn prompt_from_stdin() -> Result<String, Failed> {
    let most = u64::try_from(owl_domain::limits::PROMPT_BYTES).unwrap_or(u64::MAX) + 1;
    let mut prompt = String::new();
    let read = std::io::stdin().lock().take(most).read_to_string(&mut prompt);
    read.map_err(|error| Failed::Refused(format!("the prompt on standard input cannot be read: {error}")))?;
    Ok(prompt)
}

fn shown(job: &Value) -> String {
    let mut lines = vec![
        format!("{}  {}", text(job, "id"), one_line(&text(job, "title"))),
        format!("state     {}", text(job, "state")),
    ];
    if let Some(reason) = job["reason"].as_str() {
        lines.push(format!("reason    {}", one_line(reason)));
    }
    lines.push(format!("project   {} (from {})", text(job, "project"), text(job, "base_branch")));
    lines.push(format!("account   {}", text(job, "account")));
    lines.push(format!("branch    {}", text(job, "branch")));
    if let Some(worktree) = job["worktree"].as_str() {
        lines.push(format!("worktree  {worktree}"));
    }
    let changes = &job["changes"];
    if !changes.is_null() {
        let number = |name: &str| changes[name].as_u64().unwrap_or_default();
        let (files, commits) = (counted(number("files"), "file"), counted(number("commits"), "commit"));
        let (insertions, deletions) = (number("insertions"), number("deletions"));
        lines.push(format!("changes   {files}, +{insertions} -{deletions}, {commits}"));
    }
    for run in job["runs"].as_array().into_iter().flatten() {
        lines.push(String::new());
        lines.extend(run_lines(run));
    }
    if let Some(diff) = job["diff"]["text"].as_str() {
        lines.push(String::new());
        lines.push(diff.trim_end().to_owned());
    }
    lines.join("\n")
}

fn run_lines(run: &Value) -> Vec<String> {
    let outcome = run["outcome"].as_str().or_else(|| run["state"].as_str()).unwrap_or_default();
    let mut lines = vec![format!("run {}  attempt {}  {outcome}", text(run, "id"), text(run, "attempt"))];
    if let Some(reason) = run["reason"].as_str() {
        lines.push(format!("  reason    {}", one_line(reason)));
    }
    let account = &run["permissions"]["account"];
    lines.push(format!("  allowed by the Account {} ({})", text(account, "name"), text(account, "file")));
    for (member, word) in [("allow", "allow"), ("ask", "ask  "), ("deny", "deny ")] {
        lines.extend(rules(&account[member], &account["ignored"]).map(|rule| format!("    {word}  {rule}")));
    }
    if account["allow"].as_array().is_some_and(Vec::is_empty) {
        lines.push("    NOTHING is allowed by this Account's list".into());
    }
    let project = &run["permissions"]["project"];
    let extra: Vec<String> = rules(&project["allowed_tools"], &project["ignored"]).collect();
    if !extra.is_empty() {
        lines.push(format!("  allowed by the Project ({} at {})", text(project, "file"), text(project, "commit")));
        lines.extend(extra.into_iter().map(|rule| format!("    allow  {rule}")));
    }
    let mode = account["default_mode"].as_str();
    let reported = run["permissions"]["reported"]["permission_mode"].as_str();
    for mode in mode.into_iter().chain(reported) {
        if !["default", "dontAsk"].contains(&mode) {
            lines.push(format!("  NOTE: mode {mode}: the lists above do not mean what they say"));
        }
    }
    if run["settings_changed"].as_bool() == Some(true) {
        let file = text(account, "file");
        lines.push(format!("  NOTE: {file} changed during the Run: the list above is what it was when the Run began"));
    }
    if let Some(reported) = reported {
        let version = text(run, "permissions.reported.tool_version");
        lines.push(format!("  the tool reported mode {reported}, version {version}"));
    }
    let argv: Vec<String> =
        run["argv"].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect();
    if !never_started(run) {
        lines.push(format!("  started as {}", owl_domain::show::quote_argv(&argv)));
    }
    for denial in run["denials"].as_array().into_iter().flatten() {
        lines.push(format!(
            "  denied {}× {}: {}",
            text(denial, "count"),
            text(denial, "tool"),
            one_line(&text(denial, "input_summary"))
        ));
        match denial["rule_to_add"].as_str() {
            Some(rule) => {
                lines.push(format!("    to allow it add {}", one_line(rule)));
                for place in denial["where"].as_array().into_iter().flatten() {
                    lines.push(format!("      to {} in {}", text(place, "key"), text(place, "file")));
                }
            }
            None => lines.push(format!("    no line allows it: {}", text(denial, "why"))),
        }
    }
    for check in run["verification"].as_array().into_iter().flatten() {
        lines.push(format!("  {} {}: {}", text(check, "kind"), text(check, "name"), text(check, "state")));
        if let Some(message) = check["message"].as_str() {
            lines.push(format!("    {}", one_line(message)));
        }
        if let Some(output) = check["output"]["head"].as_str() {
            lines.extend(quoted(output));
        }
    }
    if let Some(last) = run["result_text"].as_str() {
        lines.push("  the Agent's last words".into());
        lines.extend(quoted(last));
    }
    lines
}

/// Says whether a Run ended before its Agent began, such as by a setup that failed. Of one that was interrupted it is not
/// known.
fn never_started(run: &Value) -> bool {
    let ended = ["blocked", "cancelled"].contains(&run["outcome"].as_str().unwrap_or_default());
    let nothing_of_it = [&run["exit_code"], &run["signal"], &run["permissions"]["reported"]];
    ended && nothing_of_it.into_iter().all(Value::is_null)
}

fn rules<'v>(list: &'v Value, ignored: &'v Value) -> impl Iterator<Item = String> + 'v {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).map(move |rule| {
        let found = ignored.as_array().into_iter().flatten().find(|entry| entry["rule"].as_str() == Some(rule));
        match found {
            Some(entry) => format!("{}   IGNORED by the tool: {}", one_line(rule), text(entry, "why")),
            None => one_line(rule),
        }
    })
}

/// What somebody else wrote, marked on each line, so that none of it passes for a line of Owl's.
fn quoted(text: &str) -> impl Iterator<Item = String> {
    visible(text).split('\n').map(|line| format!("    | {line}")).collect::<Vec<_>>().into_iter()
}

/// One rule a line, and nothing that would not print as itself.
fn one_line(rule: &str) -> String {
    visible(rule).replace('\n', "\\n").replace('\t', "\\t")
}
