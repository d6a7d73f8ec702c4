//! The command tree. Each command is one call, or a few, to the daemon's socket; there is no chat here (ADR-0022, D5).

mod account;
mod completions;
mod daemon;
mod jobs;
mod logs;
mod models;
mod output;
mod policy;
mod project;
mod provider;
mod rpc;
mod socket;

use crate::{config::places::Places, demo};
use clap::{Parser, Subcommand};
pub(crate) use output::{Out, note};
use std::process::ExitCode;
use tempfile::TempDir;

/// How a command ended that did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failed {
    /// It was refused, or something broke.
    #[error("{0}")]
    Refused(String),
    /// It was refused, and with `--json` standard output has been told what there is to tell.
    #[error("{0}")]
    Told(String),
    /// It was used wrongly.
    #[error("{0}")]
    Usage(String),
    /// Nobody listens.
    #[error("{0}")]
    NoDaemon(String),
    /// Something else broke.
    #[error("{0:#}")]
    Broken(#[from] anyhow::Error),
}

impl Failed {
    fn code(&self) -> ExitCode {
        match self {
            Self::Refused(_) | Self::Told(_) | Self::Broken(_) => ExitCode::from(1),
            Self::Usage(_) => ExitCode::from(2),
            Self::NoDaemon(_) => ExitCode::from(3),
        }
    }
}

/// Owl: a local daemon that looks at your repositories with you, and never acts alone.
#[derive(Debug, Parser)]
#[command(name = "owl", version, arg_required_else_help = true, disable_help_subcommand = true)]
pub(crate) struct Owl {
    /// Print JSON alone.
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show one whole conversation: offline, in a temporary home, with every line that crosses the socket
    Demo(demo::Demo),
    /// Run the daemon, or ask how it is
    #[command(subcommand)]
    Daemon(daemon::Daemon),
    /// Register the repositories that may be looked at
    #[command(subcommand)]
    Project(project::Project),
    /// Configure where a chat's model comes from
    #[command(subcommand)]
    Provider(provider::Provider),
    /// List the models there are
    Models(models::Models),
    /// Keep the Accounts whose Agents work unattended
    #[command(subcommand)]
    Account(account::Account),
    /// Give Agents work, and see what they were allowed and denied
    #[command(subcommand)]
    Jobs(jobs::Jobs),
    /// Print what a Run's Agent printed
    Logs(logs::Logs),
    /// Show what the gate lets through, or what it says to one line
    Policy(policy::Policy),
    /// Call any method of the daemon
    Rpc(rpc::Rpc),
    /// Print completions for a shell
    Completions(completions::Completions),
}

/// Runs the command that was asked for.
pub(crate) fn main() -> ExitCode {
    let owl = match Owl::try_parse() {
        Ok(owl) => owl,
        Err(error) => {
            // Help and version are no errors; clap knows where each belongs.
            let code = if error.use_stderr() { 2 } else { 0 };
            return if error.print().is_ok() { ExitCode::from(code) } else { ExitCode::from(1) };
        }
    };
    let mut out = Out::new(owl.json);
    // Outlives the runtime: what a stopped demo leaves at work still writes in its home until then.
    let mut home = None;
    let ended = match tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build() {
        Ok(runtime) => runtime.block_on(run(owl.command, &mut out, &mut home)),
        Err(error) => Err(Failed::Broken(anyhow::Error::new(error).context("no runtime could be made"))),
    };
    drop(home);
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(failed) => {
            out.failed(&failed);
            failed.code()
        }
    }
}

async fn run(command: Command, out: &mut Out, home: &mut Option<TempDir>) -> Result<(), Failed> {
    // Completions need no place at all; everything else does.
    let places = || Places::from_environment().map_err(|error| Failed::Usage(format!("{error:#}")));
    match command {
        Command::Demo(demo) => demo::run(&demo, out, home).await,
        Command::Daemon(command) => daemon::run(command, places()?, out).await,
        Command::Project(command) => project::run(command, &places()?, out).await,
        Command::Provider(command) => provider::run(command, &places()?, out).await,
        Command::Models(command) => models::run(command, &places()?, out).await,
        Command::Account(command) => account::run(command, &places()?, out).await,
        Command::Jobs(command) => jobs::run(command, &places()?, out).await,
        Command::Logs(command) => logs::run(command, &places()?, out).await,
        Command::Policy(command) => policy::run(command, &places()?, out).await,
        Command::Rpc(command) => rpc::run(command, &places()?, out).await,
        Command::Completions(command) => completions::run(&command, out),
    }
}
