use super::*;
use owl_domain::{ids::RunId, ports::EndedBy, text::AbsPath};
use std::{path::Path, time::Duration};
use tempfile::TempDir;

struct Never;

#[async_trait]
impl Stop for Never {
    fn is_stopped(&self) -> bool {
        false
    }

    async fn stopped(&self) {
        std::future::pending::<()>().await;
    }
}

async fn ran(command: &str, worktree: &Path, timeout: Duration) -> CheckRan {
    let variables = [("PATH", "/usr/bin:/bin"), ("ANTHROPIC_API_KEY", "secret"), ("MINE", "kept")];
    let environment = Environment::of(variables.map(|(name, value)| (name.into(), value.into())));
    let checks = ShellChecks::new(Spawner::new(), environment, worktree.to_str().unwrap());
    let worktree = AbsPath::new(worktree.to_str().unwrap()).unwrap();
    let command = ShellCommand { run: RunId::new(9), command: command.into(), worktree, timeout };
    checks.run(command, Arc::new(Never)).await.unwrap()
}

const MINUTE: Duration = Duration::from_secs(60);

#[tokio::test]
async fn a_shell_command_runs_in_the_worktree_and_both_streams_are_one() {
    let home = TempDir::new().unwrap();
    let ran =
        ran("pwd; echo wrong >&2; echo \"$MINE-$ANTHROPIC_API_KEY-$OWL_RUN_ID\" | cat; exit 3", home.path(), MINUTE)
            .await;
    assert_eq!((ran.ended_by, ran.exit_code), (EndedBy::Exit, Some(3)));
    let at = home.path().canonicalize().unwrap();
    assert_eq!(ran.output.head, format!("{}\nwrong\nkept--r_9\n", at.display()));
}

#[tokio::test]
async fn one_that_takes_too_long_is_ended_with_what_it_started() {
    let home = TempDir::new().unwrap();
    let left = home.path().join("left");
    let command = format!(
        "setsid sh -c 'echo $$ > {0}; exec sleep 1000' & while ! test -s {0}; do :; done; sleep 1000",
        left.display()
    );
    let ran = ran(&command, home.path(), Duration::from_secs(2)).await;
    assert_eq!(ran.ended_by, EndedBy::Timeout);
    let pid = std::fs::read_to_string(left).unwrap();
    let alive = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).is_ok_and(|stat| !stat.contains(") Z "));
    assert!(!alive, "its child in a session of its own is gone too");
}
