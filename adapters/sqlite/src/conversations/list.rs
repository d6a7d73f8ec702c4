//! Conversations and Items in pages: keyset only, never an offset (D24).

use crate::{
    database::Database,
    failure::Failure,
    items,
    page::{Filling, Keys, List, Room},
    rows,
    sql::{self, Columns, Go},
};
use owl_domain::{
    conversation::{Conversation, ConversationState, Page, PageError, Paged},
    ids::ConversationId,
    ports::{ConversationFilter, Items, Window},
    text::ProjectName,
};
use rusqlite::{Connection, params};

const ROOT: &str = "SELECT root FROM projects WHERE name = ?1";

/// Ends each statement: after the keys of the page before, newest first.
macro_rules! page {
    ($where:literal) => {
        concat!(
            "SELECT ",
            rows::conversation_columns!(),
            " FROM conversations c WHERE ",
            $where,
            " AND c.archived = ?1 AND (c.updated_at, c.id) < (?2, ?3) ORDER BY c.updated_at DESC, c.id DESC"
        )
    };
}

const ALL: &str = page!("?4 IS NULL");
const OF_PROJECT: &str = page!("c.project_root = ?4");
/// Few Turns are at work: they are looked at first, and not every Conversation.
const AT_WORK: &str = page!(
    "(?4 IS NULL OR c.project_root = ?4) AND c.id IN (SELECT o.conversation FROM turns o WHERE o.finished_at IS NULL)"
);
const IDLE: &str = page!(
    "(?4 IS NULL OR c.project_root = ?4)
     AND NOT EXISTS (SELECT 1 FROM turns o WHERE o.conversation = c.id AND o.finished_at IS NULL)"
);

const NEWEST_ITEMS: &str = concat!(rows::select_items!(), "WHERE i.conversation = ?1 ORDER BY i.seq DESC");
const ITEMS_BEFORE: &str =
    concat!(rows::select_items!(), "WHERE i.conversation = ?1 AND i.seq < ?2 ORDER BY i.seq DESC");
const ITEMS_AFTER: &str = concat!(rows::select_items!(), "WHERE i.conversation = ?1 AND i.seq > ?2 ORDER BY i.seq");

/// Each list, how many parameters it takes, and the index that it must be read from.
#[cfg(test)]
pub(crate) const PLANS: [(&str, usize, &str); 6] = [
    (ALL, 4, "SEARCH c USING INDEX conversations_by_update (archived=? AND updated_at<?)"),
    (IDLE, 4, "SEARCH c USING INDEX conversations_by_update (archived=? AND updated_at<?)"),
    (OF_PROJECT, 4, "SEARCH c USING INDEX conversations_by_project (project_root=? AND archived=? AND updated_at<?)"),
    (NEWEST_ITEMS, 1, "SEARCH i USING INDEX items_by_seq (conversation=?)"),
    (ITEMS_BEFORE, 2, "SEARCH i USING INDEX items_by_seq (conversation=? AND seq<?)"),
    (ITEMS_AFTER, 2, "SEARCH i USING INDEX items_by_seq (conversation=? AND seq>?)"),
];

/// Returns a page of Conversations, the one that was spoken to last first.
pub(super) async fn list(
    database: &Database,
    filter: ConversationFilter,
    page: Page,
) -> Result<Paged<Conversation>, PageError> {
    let state = filter.state.map(ConversationState::name);
    let list = List::of("conversations").by(filter.project.as_ref()).by(Some(filter.archived)).by(state);
    let after = list.keys(&page)?.unwrap_or([i64::MAX, i64::MAX]);
    Ok(database.read(move |db| listed(db, &filter, &list, after, page.limit)).await?)
}

fn listed(
    db: &Connection,
    filter: &ConversationFilter,
    list: &List,
    [updated_at, id]: Keys,
    limit: u32,
) -> Result<Paged<Conversation>, Failure> {
    let mut filling = Filling::new(limit);
    let root = match &filter.project {
        None => None,
        Some(project) => match root(db, project)? {
            Some(root) => Some(root),
            // A Project that is not registered has no Conversations.
            None => return Ok(filling.end(list)),
        },
    };
    let add = |row: &mut Columns<'_>| {
        let conversation = rows::read_conversation(row)?;
        // A Turn at work may run or wait; which of the two is told by its rows.
        if filter.state.is_some_and(|state| state != conversation.state) {
            return Ok(Go::On);
        }
        let keys = [conversation.updated_at.millis(), conversation.id.number()];
        // Texts of a Conversation are short: a title, a path, names.
        const SIZE: usize = 8_192;
        Ok(match filling.add(conversation, keys, SIZE) {
            Room::Left => Go::On,
            Room::None => Go::Stop,
        })
    };
    let sql = match (filter.state, &root) {
        (Some(ConversationState::Idle), _) => IDLE,
        (Some(ConversationState::Running | ConversationState::AwaitingConsent), _) => AT_WORK,
        (None, Some(_)) => OF_PROJECT,
        (None, None) => ALL,
    };
    sql::each(db, sql, params![filter.archived, updated_at, id, root], add)?;
    Ok(filling.end(list))
}

fn root(db: &Connection, project: &ProjectName) -> Result<Option<String>, Failure> {
    sql::one(db, ROOT, [project.as_str()], |row| row.next())
}

/// Returns Items ascending.
pub(super) fn items(db: &Connection, id: ConversationId, window: Window, limit: u32) -> Result<Items, Failure> {
    let mut filling = Filling::new(limit);
    let add = |row: &mut Columns<'_>| {
        let item = rows::read_item(row)?;
        let (keys, size) = ([item.seq.0, 0], items::size(&item.body));
        Ok(match filling.add(item, keys, size) {
            Room::Left => Go::On,
            Room::None => Go::Stop,
        })
    };
    match window {
        Window::Newest => sql::each(db, NEWEST_ITEMS, [id.number()], add)?,
        Window::Before(seq) => sql::each(db, ITEMS_BEFORE, [id.number(), seq.0], add)?,
        Window::After(seq) => sql::each(db, ITEMS_AFTER, [id.number(), seq.0], add)?,
    }
    let (mut items, has_more) = filling.parts();
    match window {
        Window::Newest | Window::Before(_) => items.reverse(),
        Window::After(_) => {}
    }
    Ok(Items { items, has_more })
}
