//! `owl policy`: what the gate lets through, and what it says to one line. Runs nothing.

use super::{Failed, Out, output::text, socket};
use crate::config::places::Places;
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct Policy {
    #[command(subcommand)]
    command: Option<PolicyCommand>,
}

#[derive(Debug, Subcommand)]
enum PolicyCommand {
    /// Say what the gate makes of one command line, running nothing
    Explain {
        /// The line, as one argument: 'git log --oneline -n 5'
        command: String,
        /// The directory it would run in
        #[arg(long = "in", value_name = "DIR", default_value = ".")]
        directory: PathBuf,
    },
}

pub(super) async fn run(policy: Policy, places: &Places, out: &mut Out) -> Result<(), Failed> {
    match policy.command {
        None => {
            let list = socket::one(places, "policy.list", json!({})).await?;
            out.answer(&list, |list| text(list, "text"))
        }
        Some(PolicyCommand::Explain { command, directory }) => {
            let directory = std::path::absolute(&directory)
                .map_err(|error| Failed::Usage(format!("{} is no directory: {error}", directory.display())))?;
            let workdir = directory.to_str().ok_or_else(|| Failed::Usage("the directory is not UTF-8".into()))?;
            let params = json!({ "command": command, "workdir": workdir });
            let verdict = socket::one(places, "policy.explain", params).await?;
            let denied = verdict["verdict"].as_str() == Some("denied");
            out.answer(&verdict, explained)?;
            // A denial is an answer to the question; the exit code says which, for scripts.
            if denied { Err(Failed::Told("the gate denies this line".into())) } else { Ok(()) }
        }
    }
}

fn explained(verdict: &Value) -> String {
    if verdict["verdict"].as_str() == Some("denied") {
        let mut lines = vec![format!("denied: {} ({})", text(verdict, "denial.message"), text(verdict, "denial.kind"))];
        if let Some(hint) = verdict["denial"]["hint"].as_str() {
            lines.push(format!("instead: {hint}"));
        }
        return lines.join("\n");
    }
    let mut lines = vec![
        "would be proposed to a person".to_owned(),
        format!("runs      {}", text(verdict, "display")),
        format!("program   {}", text(verdict, "program")),
        format!("in        {}", text(verdict, "workdir")),
        format!("a grant   would cover {}", text(verdict, "grant_covers")),
        format!("digest    {}", text(verdict, "digest")),
        "environment".to_owned(),
    ];
    for (name, value) in verdict["env"].as_object().into_iter().flatten() {
        lines.push(format!("  {name}={}", value.as_str().unwrap_or_default()));
    }
    lines.join("\n")
}
