//! `projects.*` and `worktrees.list`.

use super::{Api, fields};
use crate::{
    error::{self, RpcError},
    params::checked,
    table::{NoParams, Table},
    wire::{Listed, Project, RemovedProject, Worktree},
};
use owl_domain::{
    project::NewProject,
    text::{AbsPath, BranchName, ProjectName},
};
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AddParams {
    /// Where the repository is: an absolute path.
    path: String,
    /// Its name; made of the directory's when left out.
    name: Option<String>,
    /// Its base branch; the one that is checked out when left out.
    base_branch: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ProjectParams {
    /// Its name.
    project: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct WorktreesParams {
    /// Those of one Project; of all when left out.
    project: Option<String>,
}

pub(super) fn add(table: &mut Table, api: &Arc<Api>) {
    let at = api.clone();
    table.read("projects.list", "Lists the registered Projects, by name.", &[], move |_, NoParams {}| {
        let api = at.clone();
        async move {
            let items = api.projects.list().await?.into_iter().map(Project::from).collect();
            Ok(Listed { items })
        }
    });

    let at = api.clone();
    let errors = &[&error::NOT_A_REPOSITORY, &error::ALREADY_EXISTS];
    table.change("projects.add", "Registers a git repository.", errors, move |_, given: AddParams| {
        let api = at.clone();
        async move {
            let new = NewProject {
                path: checked("path", AbsPath::new(given.path))?,
                name: given.name.map(|name| checked("name", ProjectName::new(name))).transpose()?,
                base_branch: given
                    .base_branch
                    .map(|branch| checked("base_branch", BranchName::new(branch)))
                    .transpose()?,
            };
            Ok(Project::from(api.projects.add(new).await?))
        }
    });

    let at = api.clone();
    table.read("projects.get", "Returns one Project.", &[&error::NOT_FOUND], move |_, given: ProjectParams| {
        let api = at.clone();
        async move {
            let view = api.projects.get(fields::project(&given.project)?).await?;
            view.map(Project::from).ok_or_else(|| RpcError::not_found("project", given.project))
        }
    });

    let at = api.clone();
    let summary = "Removes a Project. Its repository is not touched.";
    let errors = &[&error::NOT_FOUND, &error::IN_USE];
    table.change("projects.remove", summary, errors, move |_, given: ProjectParams| {
        let api = at.clone();
        async move {
            let name = fields::project(&given.project)?;
            let by: Vec<String> = api.jobs.needing(&name).await?.iter().map(ToString::to_string).collect();
            if !by.is_empty() {
                let message = format!("the Project `{name}` is needed by {}", by.join(", "));
                let data = serde_json::json!({ "what": "project", "name": given.project, "by": by });
                return Err(RpcError::new(&error::IN_USE, message, data));
            }
            if !api.projects.remove(name).await? {
                return Err(RpcError::not_found("project", given.project));
            }
            Ok(RemovedProject { project: given.project, removed: true })
        }
    });

    let at = api.clone();
    let summary = "Lists the directories in which commands may run.";
    table.read("worktrees.list", summary, &[&error::NOT_FOUND], move |_, given: WorktreesParams| {
        let api = at.clone();
        async move {
            let name = given.project.as_deref().map(fields::project).transpose()?;
            match api.projects.worktrees(name).await? {
                Some(all) => Ok(Listed { items: all.into_iter().map(Worktree::from).collect() }),
                None => Err(RpcError::not_found("project", given.project.unwrap_or_default())),
            }
        }
    });
}
