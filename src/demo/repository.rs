//! The repository that the demo looks at: the one it stands in, or a small one that it makes.

use super::stage::Stage;
use crate::cli::Failed;
use anyhow::Context as _;
use owl_domain::{gate::disarmed_git_environment, ports::Stop};
use owl_process::{OwnCommand, Spawner};
use serde_json::{Value, json};
use std::{path::Path, sync::Arc, time::Duration};

/// Registers a repository and returns its root.
pub(super) async fn register(stage: &mut Stage<'_>, home: &Path) -> Result<Value, Failed> {
    stage.say("A repository is registered: only there may a chat look.")?;
    let here = std::env::current_dir().ok().and_then(|here| here.to_str().map(str::to_owned));
    if let Some(here) = here {
        match stage.try_call("projects.add", json!({ "path": here })).await? {
            Ok(project) => return Ok(project["path"].clone()),
            // It stands in a subdirectory: the daemon says where the root is.
            Err(error) if error["data"]["reason"] == "not_root" => {
                let root = json!({ "path": error["data"]["root"] });
                if let Ok(project) = stage.try_call("projects.add", root).await? {
                    return Ok(project["path"].clone());
                }
            }
            Err(_) => {}
        }
    }
    stage.say("This is no repository that can be looked at, so the demo makes a small one.")?;
    let made = make(&home.join("hello")).await?;
    let project = stage.call("projects.add", json!({ "path": made })).await?;
    Ok(project["path"].clone())
}

async fn make(root: &Path) -> Result<String, Failed> {
    let broken =
        |what: &'static str| move |error: std::io::Error| Failed::Broken(anyhow::Error::new(error).context(what));
    std::fs::create_dir_all(root.join("src")).map_err(broken("the demo's repository"))?;
    std::fs::write(root.join("README.md"), "# Hello\n\nTODO: say hello to more people.\n")
        .map_err(broken("README.md"))?;
    std::fs::write(root.join("src/main.rs"), "fn main() {\n    println!(\"hello\");\n}\n")
        .map_err(broken("main.rs"))?;
    let spawner = Spawner::new();
    let author = ["-c", "user.name=Owl", "-c", "user.email=owl@localhost", "-c", "commit.gpgSign=false"];
    let init = ["init", "-q", "-b", "main"];
    let add = ["add", "."];
    let commit: Vec<&str> = author.into_iter().chain(["commit", "-q", "-m", "Say hello"]).collect();
    for words in [&init[..], &add, &commit] {
        git(&spawner, root, words).await?;
    }
    let root = root.canonicalize().map_err(broken("the demo's repository"))?;
    Ok(root.to_string_lossy().into_owned())
}

async fn git(spawner: &Spawner, root: &Path, words: &[&str]) -> Result<(), Failed> {
    let command = OwnCommand {
        program: "/usr/bin/git".into(),
        argv: std::iter::once("git").chain(words.iter().copied()).map(Into::into).collect(),
        env: disarmed_git_environment().into_iter().map(|(name, value)| (name.into(), value.into())).collect(),
        cwd: root.into(),
        deadline: Duration::from_secs(30),
        max_bytes: 64 * 1024,
    };
    let output = spawner.run_own(command, Arc::new(Never)).await.context("git").map_err(Failed::Broken)?;
    if !output.succeeded() {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(Failed::Refused(format!("git {} failed: {said}", words.join(" "))));
    }
    Ok(())
}

/// The demo is not told to stop: it ends with its process.
struct Never;

#[async_trait::async_trait]
impl Stop for Never {
    fn is_stopped(&self) -> bool {
        false
    }

    async fn stopped(&self) {
        std::future::pending::<()>().await;
    }
}
