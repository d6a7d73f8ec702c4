//! The words of titles, messages and commands, for [`crate::conversations`] to find. The index holds words and no text:
//! what was put in is taken out by giving it the same text again.

use crate::{
    failure::Failure,
    rows,
    sql::{self, Go, must, run},
};
use owl_domain::{
    conversation::{CommandOutcome, Item, ItemBody},
    ids::{ConversationId, ItemId},
};
use rusqlite::{Connection, params};

const ADD: &str = "INSERT INTO search (rowid, text) VALUES (?1, ?2)";
const REMOVE: &str = "INSERT INTO search (search, rowid, text) VALUES ('delete', ?1, ?2)";
const TITLE: &str = "SELECT title FROM conversations WHERE id = ?1";
const EMPTY: &str = "INSERT INTO search (search) VALUES ('delete-all')";
/// How much is to be taken out, and how much would have to be put in again.
const SIZES: &str = "SELECT ifnull((SELECT item_count FROM conversations WHERE id = ?1), 0),
    ifnull((SELECT sum(item_count) FROM conversations WHERE id <> ?1), 0)";
const TITLES: &str = "SELECT id, title FROM conversations WHERE id <> ?1";
const ITEMS_OF: &str =
    concat!(rows::select_items!(), "WHERE i.conversation = ?1 AND i.completed_at IS NOT NULL AND i.kind <> 'lookup'");
const ITEMS_OF_OTHERS: &str =
    concat!(rows::select_items!(), "WHERE i.conversation <> ?1 AND i.completed_at IS NOT NULL AND i.kind <> 'lookup'");

/// Taking one text out costs as much as putting in so many: each of its words is looked up and wiped.
const DEARER: u64 = 50;

/// What a row of the index stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    /// An Item.
    Item(ItemId),
    /// A Conversation's title.
    Title(ConversationId),
}

impl Found {
    /// Returns what a row stands for.
    pub(crate) fn of(row: i64) -> Self {
        match row & 1 {
            0 => Self::Item(ItemId::new(row >> 1)),
            _ => Self::Title(ConversationId::new(row >> 1)),
        }
    }

    fn row(self) -> i64 {
        match self {
            Self::Item(id) => id.number() << 1,
            Self::Title(id) => id.number() << 1 | 1,
        }
    }
}

/// Returns what of an Item can be found; none when nothing can.
pub(crate) fn searched(body: &ItemBody) -> Option<String> {
    match body {
        ItemBody::User { text } | ItemBody::Assistant { text, .. } => Some(text.clone()),
        ItemBody::Lookup(_) => None,
        ItemBody::Command(command) => {
            let mut text = command.requested.clone();
            if let Some(CommandOutcome::Ran(result)) = &command.outcome {
                for part in [&result.stdout.head, &result.stdout.tail, &result.stderr.head, &result.stderr.tail] {
                    text.push('\n');
                    text.push_str(part);
                }
            }
            Some(text)
        }
    }
}

/// Adds a completed Item.
pub(crate) fn add_item(db: &Connection, item: &Item) -> Result<(), Failure> {
    match searched(&item.body) {
        Some(text) => add(db, Found::Item(item.id), &text),
        None => Ok(()),
    }
}

/// Adds a title.
pub(crate) fn add_title(db: &Connection, id: ConversationId, title: &str) -> Result<(), Failure> {
    add(db, Found::Title(id), title)
}

/// Takes a title out.
pub(crate) fn remove_title(db: &Connection, id: ConversationId, title: &str) -> Result<(), Failure> {
    remove(db, Found::Title(id), title)
}

fn add(db: &Connection, found: Found, text: &str) -> Result<(), Failure> {
    if text.is_empty() {
        return Ok(());
    }
    must(db, ADD, params![found.row(), spaced(text)], "the words of a text")
}

fn remove(db: &Connection, found: Found, text: &str) -> Result<(), Failure> {
    if text.is_empty() {
        return Ok(());
    }
    let _how_many = run(db, REMOVE, params![found.row(), spaced(text)])?;
    Ok(())
}

/// Takes all of a Conversation out, so that no word of it stays in the file: one text after the other, or by making the
/// index anew, whichever is less work. To be called while its rows are still there.
pub(crate) fn remove_conversation(db: &Connection, id: ConversationId) -> Result<(), Failure> {
    let (of_it, of_others) = sql::sure(db, SIZES, [id.number()], |row| Ok((row.count()?, row.count()?)))?;
    if of_it.saturating_mul(DEARER) > of_others {
        return make_anew(db, id);
    }
    let title = sql::one(db, TITLE, [id.number()], |row| row.next::<String>())?.unwrap_or_default();
    remove_title(db, id, &title)?;
    sql::each(db, ITEMS_OF, [id.number()], |row| {
        let item = rows::read_item(row)?;
        if let Some(text) = searched(&item.body) {
            remove(db, Found::Item(item.id), &text)?;
        }
        Ok(Go::On)
    })
}

/// Makes the index anew, without one Conversation.
fn make_anew(db: &Connection, without: ConversationId) -> Result<(), Failure> {
    let _all = run(db, EMPTY, [])?;
    sql::each(db, TITLES, [without.number()], |row| {
        let id = row.id(ConversationId::new)?;
        add_title(db, id, &row.next::<String>()?)?;
        Ok(Go::On)
    })?;
    sql::each(db, ITEMS_OF_OTHERS, [without.number()], |row| {
        add_item(db, &rows::read_item(row)?)?;
        Ok(Go::On)
    })
}

/// Sets characters that are words of their own apart: Chinese and Japanese are written without blanks, and would be
/// found by their first word only.
pub(crate) fn spaced(text: &str) -> String {
    let mut spaced = String::with_capacity(text.len());
    for c in text.chars() {
        if stands_alone(c) {
            spaced.push(' ');
            spaced.push(c);
            spaced.push(' ');
        } else {
            spaced.push(c);
        }
    }
    spaced
}

/// Hiragana, Katakana, the ideographs with their extensions, and Thai to Khmer, which have no blanks between words.
fn stands_alone(c: char) -> bool {
    matches!(u32::from(c),
        0x0E00..=0x0EFF | 0x1000..=0x109F | 0x1780..=0x17FF | 0x3040..=0x30FF | 0x31F0..=0x31FF | 0x3400..=0x4DBF
        | 0x4E00..=0x9FFF | 0xF900..=0xFAFF | 0xFF66..=0xFF9F | 0x20000..=0x3FFFF)
}
