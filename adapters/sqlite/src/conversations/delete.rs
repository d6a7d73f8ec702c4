//! A Conversation is deleted: its rows, its events, its words in the search. One `conversation.deleted` stays.

use crate::{
    change::Change,
    failure::Failure,
    search,
    sql::{self, run},
};
use owl_domain::{
    ids::{ConversationId, ItemId},
    turn::{About, EventBody},
};

const EXISTS: &str = "SELECT 1 FROM conversations WHERE id = ?1";
const OPEN_ITEMS: &str = "SELECT i.id FROM turns t JOIN items i ON i.turn = t.id
    WHERE t.conversation = ?1 AND t.finished_at IS NULL AND i.completed_at IS NULL";
/// Takes Turns, Items, pieces of text, commands, replies, calls, Proposals, Grants and clients' keys with it.
const DELETE: &str = "DELETE FROM conversations WHERE id = ?1";
const DELETE_EVENTS: &str = "DELETE FROM events WHERE conversation = ?1";

/// Deletes one. None when there is none of that id; else the Items that were open, whose text may still be in memory.
pub(super) fn delete(change: &mut Change<'_>, id: ConversationId) -> Result<Option<Vec<ItemId>>, Failure> {
    let about = About::Conversation(id, None);
    if sql::one(change.db(), EXISTS, [id.number()], |_| Ok(()))?.is_none() {
        return Ok(None);
    }
    let open = sql::all(change.db(), OPEN_ITEMS, [id.number()], |row| row.id(ItemId::new))?;
    let prev = change.newest_of(about)?;
    search::remove_conversation(change.db(), id)?;
    let _one = run(change.db(), DELETE, [id.number()])?;
    let _how_many = run(change.db(), DELETE_EVENTS, [id.number()])?;
    change.tell_after(prev, about, EventBody::ConversationDeleted)?;
    Ok(Some(open))
}
