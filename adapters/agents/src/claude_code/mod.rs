//! The Driver of Claude Code (ADR-0035, D20-D22). What it must know of the tool was tried with 2.1.197 and 2.1.332.

mod agent;
mod argv;
mod stream;
mod version;

pub use agent::Bounds;

use crate::environment::Environment;
use agent::{ClaudeCodeAtWork, Either, Names};
use async_trait::async_trait;
use owl_domain::{
    ids::RunId,
    job::brief::Brief,
    limits,
    ports::{AgentAtWork, AgentNotStarted, ArgvError, Driver, NewAgent, Stop, Tool, ToolError},
    provider::Redaction,
};
use owl_process::{AgentSpec, Mark, Spawner};
use std::{
    ffi::OsString,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};
use stream::Stream;
use version::Stamp;

/// Where the Account's token goes: the only secret that Owl puts into any environment, and only into this one.
const TOKEN: &str = "CLAUDE_CODE_OAUTH_TOKEN";
const CONFIG_DIR: &str = "CLAUDE_CONFIG_DIR";
/// The `CLAUDE.md` of the worktree's root is read, although none of the worktree's settings is.
const CLAUDE_MD: &str = "CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD";
const NO_UPDATES: &str = "DISABLE_AUTOUPDATER";

/// Operates Claude Code on this host.
#[derive(Debug)]
pub struct ClaudeCode {
    spawner: Spawner,
    configured: Option<PathBuf>,
    environment: Environment,
    home: String,
    bounds: Bounds,
    asked: Mutex<Option<(Stamp, Tool)>>,
}

impl ClaudeCode {
    /// Takes the binary that is configured, if any, the daemon's environment, its data directory to mark what is
    /// started, and when Agents are ended.
    pub fn new(
        spawner: Spawner,
        configured: Option<PathBuf>,
        environment: Environment,
        home: impl Into<String>,
        bounds: Bounds,
    ) -> Self {
        Self { spawner, configured, environment, home: home.into(), bounds, asked: Mutex::default() }
    }

    fn asked(&self, stamp: &Stamp) -> Option<Tool> {
        let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.as_ref().filter(|(of, _)| of == stamp).map(|(_, tool)| tool.clone())
    }

    fn variables(&self, agent: &NewAgent) -> (Vec<(OsString, OsString)>, Names) {
        let mut set: Vec<(&str, String)> =
            vec![(CONFIG_DIR, agent.config_dir.as_str().into()), (CLAUDE_MD, "1".into()), (NO_UPDATES, "1".into())];
        if let Some(token) = &agent.token {
            set.push((TOKEN, token.expose().into()));
        }
        let mut env = self.environment.kept().to_vec();
        env.retain(|(kept, _)| !set.iter().any(|(name, _)| kept == name));
        let mut names: Vec<String> = set.iter().map(|(name, _)| (*name).into()).collect();
        names.extend(Mark::NAMES.map(Into::into));
        names.sort_unstable();
        env.extend(set.into_iter().map(|(name, value)| (name.into(), value.into())));
        (env, Names { set: names, removed: self.environment.removed().to_vec() })
    }
}

#[async_trait]
impl Driver for ClaudeCode {
    async fn tool(&self) -> Result<Tool, ToolError> {
        let stamp = version::find(self.configured.as_deref(), &self.environment)?;
        if let Some(tool) = self.asked(&stamp) {
            return Ok(tool);
        }
        let tool = version::ask(&self.spawner, &self.environment, &stamp).await?;
        *self.asked.lock().unwrap_or_else(PoisonError::into_inner) = Some((stamp, tool.clone()));
        Ok(tool)
    }

    fn argv(&self, tool: &Tool, brief: &Brief) -> Result<Vec<String>, ArgvError> {
        argv::argv(tool.prompts_off, brief)
    }

    async fn start(
        &self,
        tool: &Tool,
        agent: NewAgent,
        stop: Arc<dyn Stop>,
    ) -> Result<Box<dyn AgentAtWork>, AgentNotStarted> {
        let (env, names) = self.variables(&agent);
        let spec = AgentSpec {
            program: tool.program.as_str().into(),
            argv: agent.argv.iter().map(Into::into).collect(),
            env,
            cwd: agent.worktree.as_str().into(),
            mark: Mark { run: agent.run.to_string(), home: self.home.clone() },
            deadline: self.bounds.timeout,
            grace: limits::AGENT_GRACE,
            line_bytes: limits::AGENT_LINE_BYTES,
        };
        let stop = Either::new(stop);
        let started = self.spawner.spawn_agent(spec, Arc::clone(&stop) as Arc<dyn Stop>).await;
        let started = started.map_err(|error| AgentNotStarted { reason: error.to_string() })?;
        let stream = Stream::new(&agent.worktree, tool.prompts_off);
        let redaction = Redaction::of(agent.token);
        Ok(Box::new(ClaudeCodeAtWork::new(started, stream, stop, self.bounds, names, redaction)))
    }

    async fn end_leftovers(&self) -> Vec<RunId> {
        // No Run is active when a daemon starts.
        let ended = self.spawner.end_leftovers(self.home.clone(), |_| false).await;
        let runs: Vec<RunId> = ended.iter().filter_map(|run| run.parse().ok()).collect();
        for run in &runs {
            tracing::warn!(%run, "ended what a run had left running");
        }
        runs
    }
}
