//! Finds Claude Code and asks it what it is, before anything is made for a Run (D20). A version that knows neither way
//! to be told that nobody answers prompts is refused here, and not after its worktree was made.

use crate::environment::Environment;
use async_trait::async_trait;
use owl_domain::{
    ports::{PromptsOff, Stop, Tool, ToolError},
    text::{AbsPath, cut_chars},
};
use owl_process::{OwnCommand, OwnOutput, Spawner};
use std::{
    fs,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

const NAME: &str = "claude";
/// `--help` took 2 s at most; a slow disk may take more.
const DEADLINE: Duration = Duration::from_secs(30);
const OUTPUT_BYTES: usize = 256 * 1024;
const QUOTED_CHARS: usize = 200;
/// What `--version` prints behind the number.
const PRODUCT: &str = " (Claude Code)";

/// A file as it stands: as long as none of it changes, it is asked once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stamp {
    path: PathBuf,
    size: u64,
    modified: (i64, i64),
}

/// Finds the binary: the one that is configured, else the first in PATH, else the one in `~/.local/bin`.
///
/// # Errors
/// [`ToolError::Missing`] says where it was looked for.
pub(super) fn find(configured: Option<&Path>, environment: &Environment) -> Result<Stamp, ToolError> {
    if let Some(path) = configured {
        let missing =
            || ToolError::Missing { looked: format!("`claudePath` is {}, and no program is there", path.display()) };
        return stamp(path).ok_or_else(missing);
    }
    let path = environment.get("PATH").unwrap_or_default();
    let home = environment.get("HOME").map(|home| Path::new(home).join(".local/bin"));
    let places = std::env::split_paths(path).filter(|place| place.is_absolute()).chain(home);
    let found = places.map(|place| place.join(NAME)).find_map(|file| stamp(&file));
    found.ok_or_else(|| ToolError::Missing {
        looked: format!(
            "there is no `{NAME}` in the daemon's PATH ({}) nor in ~/.local/bin; install Claude Code, or set `claudePath`",
            path.display()
        ),
    })
}

fn stamp(file: &Path) -> Option<Stamp> {
    let there = fs::metadata(file).ok()?;
    let runs = there.is_file() && there.permissions().mode() & 0o111 != 0;
    let modified = (there.mtime(), there.mtime_nsec());
    runs.then(|| Stamp { path: file.into(), size: there.size(), modified })
}

/// Asks the binary for its version, and which way it knows.
///
/// # Errors
/// [`ToolError::Version`] quotes what was found.
pub(super) async fn ask(spawner: &Spawner, environment: &Environment, stamp: &Stamp) -> Result<Tool, ToolError> {
    let program = stamp.path.display().to_string();
    let refused = |reason: String| ToolError::Version { program: program.clone(), reason };
    let path = AbsPath::new(program.clone()).map_err(|error| refused(error.to_string()))?;
    let printed = run(spawner, environment, &stamp.path, "--version").await.map_err(refused)?;
    let Some(version) = version(&printed) else {
        return Err(refused(format!("`--version` prints {}, so it is no Claude Code", quoted(&printed))));
    };
    let help = run(spawner, environment, &stamp.path, "--help").await.map_err(refused)?;
    let Some(prompts_off) = prompts_off(&help) else {
        return Err(refused(format!(
            "version {version} knows neither --permission-prompts nor --permission-mode dontAsk, without which it would \
             wait for somebody who is not there; update it"
        )));
    };
    Ok(Tool { program: path, version: version.into(), prompts_off })
}

async fn run(spawner: &Spawner, environment: &Environment, program: &Path, flag: &str) -> Result<String, String> {
    let command = OwnCommand {
        program: program.into(),
        argv: vec![NAME.into(), flag.into()],
        env: environment.kept().to_vec(),
        cwd: "/".into(),
        deadline: DEADLINE,
        max_bytes: OUTPUT_BYTES,
    };
    let output: OwnOutput = spawner.run_own(command, Arc::new(Unstopped)).await.map_err(|error| error.to_string())?;
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.succeeded() {
        let how = match (&output.exit_code, &output.signal) {
            (Some(code), _) => format!("exits with {code}"),
            (None, Some(signal)) => format!("is ended by {signal}"),
            (None, None) => "ends, it is not known how".into(),
        };
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(format!("`{flag}` {how} and prints {}", quoted(if printed.is_empty() { &said } else { &printed })));
    }
    Ok(printed)
}

/// Reads `N.N.N (Claude Code)`.
fn version(printed: &str) -> Option<&str> {
    let version = printed.trim().strip_suffix(PRODUCT)?;
    let mut numbers = version.split('.');
    let number =
        |text: Option<&str>| text.is_some_and(|text| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()));
    let three = number(numbers.next()) && number(numbers.next()) && number(numbers.next());
    (three && numbers.next().is_none()).then_some(version)
}

fn prompts_off(help: &str) -> Option<PromptsOff> {
    let lists =
        |wanted: &str| help.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-')).any(|word| word == wanted);
    if lists("--permission-prompts") {
        return Some(PromptsOff::Flag);
    }
    (lists("--permission-mode") && lists("dontAsk")).then_some(PromptsOff::Mode)
}

fn quoted(text: &str) -> String {
    format!("`{}`", cut_chars(&owl_domain::show::visible(text.trim()), QUOTED_CHARS))
}

/// Nobody stops such a question: it ends with its future, or at its deadline.
#[derive(Debug)]
struct Unstopped;

#[async_trait]
impl Stop for Unstopped {
    fn is_stopped(&self) -> bool {
        false
    }

    async fn stopped(&self) {
        std::future::pending::<()>().await;
    }
}

#[cfg(test)]
mod tests;
