//! `owl project`: registers the repositories that may be looked at.

use super::{
    Failed, Out,
    output::{columns, items, text},
    socket,
};
use crate::config::places::Places;
use clap::Subcommand;
use serde_json::{Value, json};
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub(super) enum Project {
    /// Register the git repository at a directory
    Add {
        /// Its root
        path: PathBuf,
        /// Its name; the directory's when left out
        #[arg(long)]
        name: Option<String>,
        /// The branch its own file is read from; the one that is checked out when left out
        #[arg(long, value_name = "BRANCH")]
        base_branch: Option<String>,
    },
    /// List what is registered
    List,
    /// Show one Project, its own file and its directories
    Show {
        /// Its name
        name: String,
    },
    /// Forget one Project; its repository is not touched
    Remove {
        /// Its name
        name: String,
    },
}

pub(super) async fn run(command: Project, places: &Places, out: &mut Out) -> Result<(), Failed> {
    match command {
        Project::Add { path, name, base_branch } => {
            let path = std::path::absolute(&path)
                .map_err(|error| Failed::Usage(format!("{} is no path: {error}", path.display())))?;
            let path = path.to_str().ok_or_else(|| Failed::Refused("the path is not UTF-8".into()))?;
            let mut params = json!({ "path": path });
            if let Some(name) = name {
                params["name"] = name.into();
            }
            if let Some(branch) = base_branch {
                params["base_branch"] = branch.into();
            }
            let added = socket::one(places, "projects.add", params).await?;
            out.answer(&added, |p| {
                format!("{} is registered, at {} on {}", text(p, "name"), text(p, "path"), text(p, "base_branch"))
            })
        }
        Project::List => {
            let list = socket::one(places, "projects.list", json!({})).await?;
            out.answer(&list, |list| {
                let row = |p: &Value| vec![text(p, "name"), text(p, "base_branch"), available(p), text(p, "path")];
                let rows: Vec<_> = items(list).iter().map(row).collect();
                if rows.is_empty() {
                    return "No Project is registered. Register one: owl project add PATH".into();
                }
                columns(&["NAME", "BASE BRANCH", "STATE", "PATH"], &rows)
            })
        }
        Project::Show { name } => show(places, out, name).await,
        Project::Remove { name } => {
            let removed = socket::one(places, "projects.remove", json!({ "project": name })).await?;
            out.answer(&removed, |r| format!("{} is forgotten; its repository was not touched", text(r, "project")))
        }
    }
}

async fn show(places: &Places, out: &mut Out, name: String) -> Result<(), Failed> {
    let client = socket::connect(places).await?;
    let mut project = socket::call(&client, "projects.get", json!({ "project": name })).await?;
    let worktrees = socket::call(&client, "worktrees.list", json!({ "project": name })).await?;
    project["worktrees"] = worktrees["items"].clone();
    out.answer(&project, |p| {
        let mut lines = vec![
            format!("name         {}", text(p, "name")),
            format!("path         {}", text(p, "path")),
            format!("base branch  {}", text(p, "base_branch")),
            format!("state        {}", available(p)),
            format!("own file     {}", own_file(p)),
        ];
        for miss in p["config_near_misses"].as_array().into_iter().flatten() {
            let miss = miss.as_str().unwrap_or_default();
            lines.push(format!("             {miss} is not read: the name must be .coding-owl.yaml"));
        }
        for worktree in p["worktrees"].as_array().into_iter().flatten() {
            let branch = text(worktree, "branch");
            lines.push(format!("directory    {}  {}  {branch}", text(worktree, "path"), text(worktree, "kind")));
        }
        lines.join("\n")
    })
}

fn available(project: &Value) -> String {
    match project["available"].as_bool() {
        Some(true) => "available".into(),
        _ => "gone or replaced".into(),
    }
}

fn own_file(project: &Value) -> String {
    let error = &project["config_error"];
    if !error.is_null() {
        let line = error["line"].as_u64().map(|line| format!(":{line}")).unwrap_or_default();
        return format!("{}{line} is refused: {}", text(error, "file"), text(error, "message"));
    }
    match project["config_file"].as_str() {
        Some(file) => format!("{file} at {}", text(project, "config_commit")),
        None => "none on the base branch".into(),
    }
}
