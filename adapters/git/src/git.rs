//! One git call on Owl's own behalf: disarmed, bounded, with paths behind `--`. Nothing else here makes an argv.

use owl_domain::{
    ports::{EndedBy, Stop},
    text::AbsPath,
};
use owl_process::{OwnCommand, OwnOutput, Spawner};
use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

/// How long one call may take: a repository on a slow disk, not one that is stuck.
const DEADLINE: Duration = Duration::from_secs(30);
/// The most that is taken of what a call prints: worktrees and branches by the thousand.
const OUTPUT_BYTES: usize = 4 * 1024 * 1024;
/// What is told of git's own words.
const SAID_CHARS: usize = 300;

/// Set for every call, whatever else is asked.
const OVERRIDES: [&str; 17] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.attributesFile=/dev/null",
    "core.excludesFile=/dev/null",
    "core.untrackedCache=false",
    // An Agent's worktree has every file, also where the person's own checkout is sparse.
    "core.sparseCheckout=false",
    "credential.helper=",
    "commit.gpgSign=false",
    "tag.gpgSign=false",
    "gpg.program=/dev/null",
    "gpg.ssh.program=/dev/null",
    "gpg.x509.program=/dev/null",
    "log.showSignature=false",
    "diff.autoRefreshIndex=false",
    "submodule.recurse=false",
    "gc.auto=0",
    "maintenance.auto=false",
];

/// The whole environment of every call, but for where the repository is.
const ENVIRONMENT: [(&str, &str); 19] = [
    ("PATH", "/usr/bin:/bin"),
    ("HOME", "/nonexistent"),
    ("XDG_CONFIG_HOME", "/nonexistent"),
    ("LC_ALL", "C.UTF-8"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_SYSTEM", "/dev/null"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_NO_LAZY_FETCH", "1"),
    // A replacement would put another file in the place of the one that the base branch names.
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_ALLOW_PROTOCOL", ""),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_ASKPASS", "/dev/null"),
    ("SSH_ASKPASS", "/dev/null"),
    ("GIT_SSH_COMMAND", "/dev/null"),
    ("GIT_EDITOR", ":"),
    ("GIT_SEQUENCE_EDITOR", ":"),
    ("GIT_PAGER", "cat"),
];

/// git, found once at start.
#[derive(Debug, Clone)]
pub(crate) struct Git {
    spawner: Spawner,
    program: PathBuf,
}

/// Where a call works: the pinned directories, and the one that stands in for the common one.
#[derive(Debug, Clone)]
pub(crate) struct At {
    pub(crate) git_dir: PathBuf,
    pub(crate) work_tree: PathBuf,
    pub(crate) common_dir: PathBuf,
}

/// What git said in place of an answer, for people.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct GitFailed(pub(crate) String);

/// How a call ended by itself.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) exit_code: i32,
    pub(crate) stdout: Vec<u8>,
    /// How much it printed, kept or not.
    pub(crate) stdout_bytes: u64,
    stderr: Vec<u8>,
}

/// In which way a call is run.
pub(crate) struct How {
    /// What its environment has beside the usual.
    pub(crate) env: Vec<(OsString, OsString)>,
    /// How long it may take.
    pub(crate) deadline: Duration,
    /// The most that is taken of what it prints.
    pub(crate) max_bytes: usize,
    /// Whether more than that is no failure.
    pub(crate) may_cut: bool,
    /// What stops it.
    pub(crate) stop: Arc<dyn Stop>,
}

impl Default for How {
    fn default() -> Self {
        let (deadline, max_bytes) = (DEADLINE, OUTPUT_BYTES);
        Self { env: Vec::new(), deadline, max_bytes, may_cut: false, stop: Arc::new(Unstopped) }
    }
}

impl Answer {
    /// Takes what it printed when it succeeded.
    pub(crate) fn succeeded(self) -> Result<Vec<u8>, GitFailed> {
        if self.exit_code == 0 {
            return Ok(self.stdout);
        }
        let said = String::from_utf8_lossy(&self.stderr);
        let mut lines = said.lines().map(str::trim).filter(|line| !line.is_empty());
        // What it was doing may stand before what went wrong.
        let wrong =
            |line: &str| ["fatal: ", "error: "].iter().find_map(|word| line.strip_prefix(word).map(str::to_owned));
        let line = lines.clone().find_map(wrong).or_else(|| lines.next().map(str::to_owned));
        let line = line.unwrap_or_else(|| "it did not say why".into());
        Err(GitFailed(format!("git: {}", owl_domain::text::cut_chars(&line, SAID_CHARS))))
    }
}

impl Git {
    pub(crate) fn new(spawner: Spawner, program: &AbsPath) -> Self {
        Self { spawner, program: program.as_str().into() }
    }

    /// Runs a call in a repository whose own configuration it cannot see.
    pub(crate) async fn run<W: AsRef<OsStr>>(&self, at: &At, words: &[W]) -> Result<Answer, GitFailed> {
        self.run_as(at, words, &How::default()).await
    }

    /// Likewise, in its own way.
    pub(crate) async fn run_as<W: AsRef<OsStr>>(&self, at: &At, words: &[W], how: &How) -> Result<Answer, GitFailed> {
        let mut env = environment(at.work_tree.parent().unwrap_or(&at.work_tree));
        for (name, value) in
            [("GIT_DIR", &at.git_dir), ("GIT_WORK_TREE", &at.work_tree), ("GIT_COMMON_DIR", &at.common_dir)]
        {
            env.push((name.into(), value.into()));
        }
        env.extend(how.env.iter().cloned());
        self.call(env, at.work_tree.clone(), words, how).await
    }

    /// Runs a call that belongs to no repository, in a directory of Owl's own.
    pub(crate) async fn run_outside<W: AsRef<OsStr>>(&self, cwd: &Path, words: &[W]) -> Result<Answer, GitFailed> {
        self.call(environment(cwd.parent().unwrap_or(cwd)), cwd.into(), words, &How::default()).await
    }

    async fn call<W: AsRef<OsStr>>(
        &self,
        env: Vec<(OsString, OsString)>,
        cwd: PathBuf,
        words: &[W],
        how: &How,
    ) -> Result<Answer, GitFailed> {
        let mut argv: Vec<OsString> = vec!["git".into(), "--no-pager".into(), "--literal-pathspecs".into()];
        argv.extend(OVERRIDES.iter().flat_map(|pair| ["-c".into(), pair.into()]));
        argv.extend(words.iter().map(Into::into));
        let program = self.program.clone();
        let command = OwnCommand { program, argv, env, cwd, deadline: how.deadline, max_bytes: how.max_bytes };
        let output = self.spawner.run_own(command, Arc::clone(&how.stop)).await;
        let output = output.map_err(|error| GitFailed(error.to_string()))?;
        match (output.ended_by, output.exit_code) {
            (EndedBy::Exit, Some(_)) if output.is_cut() && !how.may_cut => {
                Err(GitFailed("git printed too much".into()))
            }
            (EndedBy::Exit, Some(exit_code)) => {
                let OwnOutput { stdout, stdout_bytes, stderr, .. } = output;
                Ok(Answer { exit_code, stdout, stdout_bytes, stderr })
            }
            (EndedBy::Timeout, _) => Err(GitFailed(format!("git took more than {} s", how.deadline.as_secs()))),
            (EndedBy::Stopped, _) => Err(GitFailed("git was stopped".into())),
            (EndedBy::Exit | EndedBy::Signal, _) => {
                let signal = output.signal.unwrap_or_else(|| "a signal".into());
                Err(GitFailed(format!("git was ended by {signal}")))
            }
        }
    }
}

fn environment(ceiling: &Path) -> Vec<(OsString, OsString)> {
    let mut env: Vec<(OsString, OsString)> =
        ENVIRONMENT.iter().map(|(name, value)| (name.into(), value.into())).collect();
    env.push(("GIT_CEILING_DIRECTORIES".into(), ceiling.into()));
    env
}

/// Nobody stops such a call: it ends with its future, or at its deadline.
#[derive(Debug)]
struct Unstopped;

#[async_trait::async_trait]
impl Stop for Unstopped {
    fn is_stopped(&self) -> bool {
        false
    }

    async fn stopped(&self) {
        std::future::pending::<()>().await;
    }
}
