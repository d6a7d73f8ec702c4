//! The gate with its facts: gathers through the ports what the pure gate wants to know, and asks it. Judges nothing
//! itself (ADR-0022).

use crate::{
    gate::{self, Checked, Cleared, Denial, Facts, Shown},
    ports::{Commands, Paths, Repositories, StoreError},
    project::{ProjectService, Workdir},
};
use alloc::{string::ToString, sync::Arc};

/// Judges lines: the gate with its facts.
pub struct Judge {
    paths: Arc<dyn Paths>,
    repositories: Arc<dyn Repositories>,
    commands: Arc<dyn Commands>,
    projects: Arc<ProjectService>,
}

/// Why there is no command.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JudgeError {
    /// The gate said no.
    #[error(transparent)]
    Denied(#[from] Denial),
    /// The store failed, so nothing was judged.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Judge {
    /// Makes it of its ports.
    pub fn new(
        paths: Arc<dyn Paths>,
        repositories: Arc<dyn Repositories>,
        commands: Arc<dyn Commands>,
        projects: Arc<ProjectService>,
    ) -> Self {
        Self { paths, repositories, commands, projects }
    }

    /// Judges a line. Nothing is run or stored.
    ///
    /// # Errors
    /// [`JudgeError`].
    pub async fn propose(&self, line: &str, workdir: &Workdir) -> Result<Shown, JudgeError> {
        let checked = gate::check_in(line, workdir.path())?;
        let facts = self.facts(&checked, workdir).await?;
        Ok(gate::propose(checked, &facts)?)
    }

    /// Passes what was shown through the whole gate again, with facts of this moment.
    ///
    /// # Errors
    /// [`JudgeError`].
    pub async fn clear(&self, shown: &Shown, workdir: &Workdir) -> Result<Cleared, JudgeError> {
        let checked = gate::check_in(&shown.requested, workdir.path())?;
        let facts = self.facts(&checked, workdir).await?;
        Ok(gate::clear(shown, facts)?)
    }

    async fn facts(&self, checked: &Checked, workdir: &Workdir) -> Result<Facts, JudgeError> {
        let located = self.paths.locate(workdir, checked.looks()).await.map_err(|error| Denial::from_locate(&error))?;
        let git = if checked.needs_git() {
            let registered = self.projects.registered().await?;
            let home = self.repositories.home(workdir, &registered).await;
            Some(home.map_err(|error| Denial::from_repository(&error))?)
        } else {
            None
        };
        Ok(Facts {
            workdir: workdir.clone(),
            program: self.commands.program(checked.program()),
            wall: self.commands.wall(),
            located,
            git,
        })
    }
}

impl From<crate::project::WorkdirError> for JudgeError {
    /// A directory that is none is denied like any other part of a command, with those that there are.
    fn from(error: crate::project::WorkdirError) -> Self {
        use crate::{gate::DenialKind, project::WorkdirError, show::visible};
        match error {
            WorkdirError::Store(error) => Self::Store(error),
            WorkdirError::Invalid { ref workdir, ref known, .. } => {
                let denial = Denial::about(DenialKind::Workdir, workdir.clone(), visible(&error.to_string()));
                Self::Denied(match known.split_first() {
                    None => denial,
                    Some(((first, _), rest)) => {
                        let mut hint = alloc::format!("name one of these directories: {}", visible(first.as_str()));
                        for (path, _) in rest.iter().take(9) {
                            hint.push_str(", ");
                            hint.push_str(&visible(path.as_str()));
                        }
                        denial.instead(hint)
                    }
                })
            }
        }
    }
}
