//! Registered Projects as rows, with what they were on that day. Looks at no directory.

use crate::{
    change::Change,
    database::Database,
    failure::Failure,
    sql::{self, Columns, must, run, text},
    writer::Writing,
};
use async_trait::async_trait;
use owl_domain::{
    ports::{AddError, Projects, StoreError},
    project::{Pin, Pins, Project},
    text::{AbsPath, BranchName, ProjectName},
    time::Timestamp,
};
use rusqlite::params;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The columns of a Project.
macro_rules! columns {
    () => {
        "name, base_branch, added_at, root, root_device, root_inode, git_dir, git_dir_device, git_dir_inode,
         common_dir, common_dir_device, common_dir_inode"
    };
}

const LIST: &str = concat!("SELECT ", columns!(), " FROM projects ORDER BY name");
const GET: &str = concat!("SELECT ", columns!(), " FROM projects WHERE name = ?1");
const EXISTING: &str =
    concat!("SELECT ", columns!(), " FROM projects WHERE name = ?1 OR root = ?2 ORDER BY name <> ?1 LIMIT 1");
const INSERT: &str =
    concat!("INSERT INTO projects (", columns!(), ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)");
const REMOVE: &str = "DELETE FROM projects WHERE name = ?1";

/// The Projects port over the database.
pub(crate) struct SqliteProjects {
    database: Database,
    listed: Arc<Listed>,
}

/// All Projects, in memory: each command asks for them twice, and they change when a person says so.
#[derive(Default)]
pub(crate) struct Listed(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    /// How often they changed: a list that was read before a change is not kept after it.
    changes: u64,
    list: Option<Vec<Project>>,
}

impl Listed {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the list, or how often it changed so far.
    fn get(&self) -> Result<Vec<Project>, u64> {
        let kept = self.kept();
        kept.list.clone().ok_or(kept.changes)
    }

    fn keep(&self, changes: u64, list: &[Project]) {
        let mut kept = self.kept();
        if kept.changes == changes {
            kept.list = Some(list.to_vec());
        }
    }

    fn changed(&self) {
        let mut kept = self.kept();
        kept.changes += 1;
        kept.list = None;
    }
}

impl SqliteProjects {
    pub(crate) fn new(database: Database, listed: Arc<Listed>) -> Self {
        Self { database, listed }
    }

    /// Makes a change. Whoever waits for it may leave: what is in memory is forgotten all the same.
    async fn change<T: Send + 'static>(
        &self,
        change: impl FnOnce(&Change<'_>) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, StoreError> {
        let listed = self.listed.clone();
        let work = move |writing: &mut Writing| {
            let changed = writing.change(Timestamp::default(), |under_way| change(under_way));
            listed.changed();
            changed
        };
        self.database.work(work).await
    }
}

#[async_trait]
impl Projects for SqliteProjects {
    async fn add(&self, project: Project) -> Result<(), AddError> {
        self.change(move |change| add(change, &project)).await?
    }

    async fn list(&self) -> Result<Vec<Project>, StoreError> {
        let changes = match self.listed.get() {
            Ok(list) => return Ok(list),
            Err(changes) => changes,
        };
        let list = self.database.read(|db| sql::all(db, LIST, [], read)).await?;
        self.listed.keep(changes, &list);
        Ok(list)
    }

    async fn get(&self, name: ProjectName) -> Result<Option<Project>, StoreError> {
        self.database.read(move |db| sql::one(db, GET, [name.as_str()], read)).await
    }

    async fn remove(&self, name: ProjectName) -> Result<bool, StoreError> {
        self.change(move |change| Ok(run(change.db(), REMOVE, [name.as_str()])? > 0)).await
    }
}

fn add(change: &Change<'_>, project: &Project) -> Result<Result<(), AddError>, Failure> {
    let asked = [project.name.as_str(), project.root().as_str()];
    if let Some(existing) = sql::one(change.db(), EXISTING, asked, read)? {
        return Ok(Err(AddError::Exists { existing: Box::new(existing) }));
    }
    let Pins { work_tree, git_dir, common_dir } = &project.pins;
    let row = params![
        project.name.as_str(),
        project.base_branch.as_str(),
        project.added_at.millis(),
        work_tree.path.as_str(),
        work_tree.device.cast_signed(),
        work_tree.inode.cast_signed(),
        git_dir.path.as_str(),
        git_dir.device.cast_signed(),
        git_dir.inode.cast_signed(),
        common_dir.path.as_str(),
        common_dir.device.cast_signed(),
        common_dir.inode.cast_signed(),
    ];
    must(change.db(), INSERT, row, "this project").map(Ok)
}

fn read(row: &mut Columns<'_>) -> Result<Project, Failure> {
    Ok(Project {
        name: text(row.next()?, ProjectName::new, "a project's name")?,
        base_branch: text(row.next()?, BranchName::new, "a branch's name")?,
        added_at: row.time()?,
        pins: Pins { work_tree: read_pin(row)?, git_dir: read_pin(row)?, common_dir: read_pin(row)? },
    })
}

fn read_pin(row: &mut Columns<'_>) -> Result<Pin, Failure> {
    let path = text(row.next()?, AbsPath::new, "a path")?;
    Ok(Pin { path, device: row.next::<i64>()?.cast_unsigned(), inode: row.next::<i64>()?.cast_unsigned() })
}
