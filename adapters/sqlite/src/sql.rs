//! The few ways in which rows are asked for, with cached statements. Knows no table.

use crate::failure::Failure;
use owl_domain::{
    text::{AbsPath, ModelId, ProjectName, TextError},
    time::Timestamp,
};
use rusqlite::{Connection, Params, Row, types::FromSql};

/// Returns the row that a statement finds; none when it finds none.
pub(crate) fn one<T>(
    db: &Connection,
    sql: &str,
    params: impl Params,
    read: impl FnOnce(&mut Columns<'_>) -> Result<T, Failure>,
) -> Result<Option<T>, Failure> {
    let mut statement = db.prepare_cached(sql)?;
    let mut rows = statement.query(params)?;
    match rows.next()? {
        Some(row) => read(&mut Columns::of(row)).map(Some),
        None => Ok(None),
    }
}

/// Returns the one row that a statement always finds.
pub(crate) fn sure<T>(
    db: &Connection,
    sql: &str,
    params: impl Params,
    read: impl FnOnce(&mut Columns<'_>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    one(db, sql, params, read)?.ok_or(Failure::Sql(rusqlite::Error::QueryReturnedNoRows))
}

/// Returns every row that a statement finds, which the caller knows to be few.
pub(crate) fn all<T>(
    db: &Connection,
    sql: &str,
    params: impl Params,
    mut read: impl FnMut(&mut Columns<'_>) -> Result<T, Failure>,
) -> Result<Vec<T>, Failure> {
    let mut found = Vec::new();
    each(db, sql, params, |columns| {
        found.push(read(columns)?);
        Ok(Go::On)
    })?;
    Ok(found)
}

/// Whether further rows are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Go {
    /// They are.
    On,
    /// Enough.
    Stop,
}

/// Hands on one row after the other until they end or are enough, holding none.
pub(crate) fn each(
    db: &Connection,
    sql: &str,
    params: impl Params,
    mut read: impl FnMut(&mut Columns<'_>) -> Result<Go, Failure>,
) -> Result<(), Failure> {
    let mut statement = db.prepare_cached(sql)?;
    let mut rows = statement.query(params)?;
    while let Some(row) = rows.next()? {
        if read(&mut Columns::of(row))? == Go::Stop {
            break;
        }
    }
    Ok(())
}

/// Runs a statement and returns how many rows it changed.
pub(crate) fn run(db: &Connection, sql: &str, params: impl Params) -> Result<usize, Failure> {
    Ok(db.prepare_cached(sql)?.execute(params)?)
}

/// Runs a statement that must change a row; `what` names it for the error.
pub(crate) fn must(db: &Connection, sql: &str, params: impl Params, what: &'static str) -> Result<(), Failure> {
    match run(db, sql, params)? {
        0 => Err(Failure::Gone { what }),
        _ => Ok(()),
    }
}

/// The columns of one row, taken from left to right: the order in which a struct is written is the order of its
/// `SELECT`, and no name is looked up.
pub(crate) struct Columns<'r> {
    row: &'r Row<'r>,
    at: usize,
}

impl<'r> Columns<'r> {
    fn of(row: &'r Row<'r>) -> Self {
        Self { row, at: 0 }
    }

    /// Returns the next column.
    pub(crate) fn next<T: FromSql>(&mut self) -> Result<T, Failure> {
        let value = self.row.get(self.at)?;
        self.at += 1;
        Ok(value)
    }

    /// Returns the next column, an id.
    pub(crate) fn id<T>(&mut self, new: fn(i64) -> T) -> Result<T, Failure> {
        Ok(new(self.next()?))
    }

    /// Returns the next column, an id or nothing.
    pub(crate) fn maybe_id<T>(&mut self, new: fn(i64) -> T) -> Result<Option<T>, Failure> {
        Ok(self.next::<Option<i64>>()?.map(new))
    }

    /// Returns the next column, a moment.
    pub(crate) fn time(&mut self) -> Result<Timestamp, Failure> {
        self.id(Timestamp::from_millis)
    }

    /// Returns the next column, a moment or nothing.
    pub(crate) fn maybe_time(&mut self) -> Result<Option<Timestamp>, Failure> {
        self.maybe_id(Timestamp::from_millis)
    }

    /// Returns the next column, a number that cannot be negative.
    pub(crate) fn count(&mut self) -> Result<u64, Failure> {
        u64::try_from(self.next::<i64>()?).map_err(|_| Failure::Unreadable { what: "a negative count" })
    }

    /// Returns the next column, a small number that cannot be negative.
    pub(crate) fn small(&mut self) -> Result<u32, Failure> {
        u32::try_from(self.next::<i64>()?).map_err(|_| Failure::Unreadable { what: "a number out of its range" })
    }

    /// Returns the next column, a path.
    pub(crate) fn path(&mut self) -> Result<AbsPath, Failure> {
        text(self.next()?, AbsPath::new, "a path")
    }

    /// Returns the next column, a path or nothing.
    pub(crate) fn maybe_path(&mut self) -> Result<Option<AbsPath>, Failure> {
        self.maybe_text(AbsPath::new, "a path")
    }

    /// Returns the next column, a Project's name.
    pub(crate) fn project(&mut self) -> Result<ProjectName, Failure> {
        text(self.next()?, ProjectName::new, "a project's name")
    }

    /// Returns the next column, a Project's name or nothing.
    pub(crate) fn maybe_project(&mut self) -> Result<Option<ProjectName>, Failure> {
        self.maybe_text(ProjectName::new, "a project's name")
    }

    /// Returns the next column, a model's id or nothing.
    pub(crate) fn maybe_model(&mut self) -> Result<Option<ModelId>, Failure> {
        self.maybe_text(ModelId::new, "a model's id")
    }

    /// Returns the next column, a checked text or nothing.
    pub(crate) fn maybe_text<T>(
        &mut self,
        new: fn(String) -> Result<T, TextError>,
        what: &'static str,
    ) -> Result<Option<T>, Failure> {
        self.next::<Option<String>>()?.map(|value| text(value, new, what)).transpose()
    }

    /// Returns the next column, one of a closed list of names.
    pub(crate) fn named<T>(&mut self, find: impl Fn(&str) -> Option<T>, what: &'static str) -> Result<T, Failure> {
        find(&self.next::<String>()?).ok_or(Failure::Unreadable { what })
    }

    /// Returns the next column, one of a closed list of names or nothing.
    pub(crate) fn maybe_named<T>(
        &mut self,
        find: impl Fn(&str) -> Option<T>,
        what: &'static str,
    ) -> Result<Option<T>, Failure> {
        self.next::<Option<String>>()?.map(|name| find(&name).ok_or(Failure::Unreadable { what })).transpose()
    }
}

/// Makes a checked text of one that was checked before it was stored.
pub(crate) fn text<T>(
    value: String,
    new: fn(String) -> Result<T, TextError>,
    what: &'static str,
) -> Result<T, Failure> {
    new(value).map_err(|_| Failure::Unreadable { what })
}

/// Returns a number as SQLite keeps it; the greatest it can keep when that overflows.
pub(crate) fn whole(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
