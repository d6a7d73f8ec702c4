//! The Checks port: shell commands of a Project's own file, run in a worktree (D22). They have a shell because their file
//! is a person's, from the base branch; nothing that a model wrote comes here.

use crate::environment::Environment;
use async_trait::async_trait;
use owl_domain::ports::{CheckNotRun, CheckRan, Checks, ShellCommand, Stop};
use owl_process::{Mark, OwnCommand, Spawner};
use std::sync::Arc;

const SHELL: &str = "/bin/sh";

/// Runs Projects' shell commands on this host.
#[derive(Debug)]
pub struct ShellChecks {
    spawner: Spawner,
    environment: Environment,
    home: String,
}

impl ShellChecks {
    /// Takes the daemon's environment, and its data directory to mark what is started.
    pub fn new(spawner: Spawner, environment: Environment, home: impl Into<String>) -> Self {
        Self { spawner, environment, home: home.into() }
    }
}

#[async_trait]
impl Checks for ShellChecks {
    async fn run(&self, command: ShellCommand, stop: Arc<dyn Stop>) -> Result<CheckRan, CheckNotRun> {
        // Both streams become one, so that what is shown stands in the order it was printed in.
        let script = format!("exec 2>&1\n{}", command.command);
        let own = OwnCommand {
            program: SHELL.into(),
            argv: vec!["sh".into(), "-c".into(), script.into()],
            env: self.environment.kept().to_vec(),
            cwd: command.worktree.as_str().into(),
            deadline: command.timeout,
            max_bytes: 0,
        };
        let mark = Mark { run: command.run.to_string(), home: self.home.clone() };
        let ran = self.spawner.run_check(own, mark, stop).await;
        let ran = ran.map_err(|error| CheckNotRun { reason: error.to_string() })?;
        Ok(CheckRan {
            ended_by: ran.ended_by,
            exit_code: ran.exit_code,
            signal: ran.signal,
            duration: ran.duration,
            output: ran.stdout,
        })
    }
}

#[cfg(test)]
mod tests;
