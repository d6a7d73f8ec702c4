//! The record of every command that a model asked for, run or not (D8, D16).

use crate::{
    database::Database,
    failure::Failure,
    items,
    page::{Filling, List, Room},
    rows,
    sql::{self, Columns, Go},
};
use owl_domain::{
    conversation::{Page, PageError, Paged},
    ids::{ConversationId, ItemId, TurnId},
    ports::{CommandFilter, Recorded},
    text::ProjectName,
};
use rusqlite::{Connection, ToSql};

/// Columns, and where they come from; each filter adds a condition that an index of its own serves.
const SELECT: &str = concat!(
    "SELECT k.item, k.conversation, k.turn, k.project, i.created_at, ",
    rows::command_columns!(),
    " FROM commands k JOIN items i ON i.id = k.item LEFT JOIN proposals p ON p.item = k.item WHERE k.item < ?1"
);
const ORDER: &str = " ORDER BY k.item DESC";

/// Returns a page of the record, newest first.
pub(super) async fn list(database: &Database, filter: CommandFilter, page: Page) -> Result<Paged<Recorded>, PageError> {
    let list = List::of("commands")
        .by(filter.conversation)
        .by(filter.project.as_ref())
        .by(filter.workdir.as_ref())
        .by(filter.outcome);
    let before = list.keys(&page)?.map_or(i64::MAX, |[item, _]| item);
    Ok(database.read(move |db| listed(db, &filter, &list, before, page.limit)).await?)
}

fn listed(
    db: &Connection,
    filter: &CommandFilter,
    list: &List,
    before: i64,
    limit: u32,
) -> Result<Paged<Recorded>, Failure> {
    let conversation = filter.conversation.map(ConversationId::number);
    let project = filter.project.as_ref().map(ProjectName::as_str);
    let conditions: [(&str, Option<&dyn ToSql>); 4] = [
        (" AND k.conversation = ?", conversation.as_ref().map(|value| value as _)),
        (" AND k.project = ?", project.as_ref().map(|value| value as _)),
        (" AND k.workdir = ?", filter.workdir.as_ref().map(|value| value as _)),
        (" AND k.outcome = ?", filter.outcome.as_ref().map(|value| value as _)),
    ];
    let mut sql = String::from(SELECT);
    let mut values: Vec<&dyn ToSql> = vec![&before];
    for (condition, value) in conditions {
        if let Some(value) = value {
            sql.push_str(condition);
            values.push(value);
        }
    }
    sql.push_str(ORDER);

    let mut filling = Filling::new(limit);
    sql::each(db, &sql, values.as_slice(), |row| {
        let recorded = read(row)?;
        let (keys, size) = ([recorded.item.number(), 0], items::command_size(&recorded.command));
        Ok(match filling.add(recorded, keys, size) {
            Room::Left => Go::On,
            Room::None => Go::Stop,
        })
    })?;
    Ok(filling.end(list))
}

fn read(row: &mut Columns<'_>) -> Result<Recorded, Failure> {
    let item = row.id(ItemId::new)?;
    let conversation = row.id(ConversationId::new)?;
    let turn = row.id(TurnId::new)?;
    let project = row.maybe_project()?;
    let created_at = row.time()?;
    let (command, decision) = rows::read_command(row)?;
    Ok(Recorded { item, conversation, turn, project, command, decision, created_at })
}
