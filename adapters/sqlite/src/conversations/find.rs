//! Text is found in titles, messages and commands: the index tells where words begin so, and the text itself whether
//! it holds them as they were written.

use crate::{
    database::Database,
    failure::Failure,
    page::{Filling, Keys, List, Room},
    rows,
    search::{Found, searched, spaced},
    sql::{self, Go},
};
use owl_domain::{
    conversation::{ItemBody, Page, PageError, Paged},
    ids::{ConversationId, ItemId},
    ports::Match,
    time::Timestamp,
};
use rusqlite::{Connection, params};

/// Best first, then newest. What `bm25` gives is the smaller the better, and the same for the same index.
const BY_WORDS: &str = "SELECT rowid, rank FROM search
    WHERE search MATCH ?1 AND (rank > ?2 OR (rank = ?2 AND rowid < ?3)) ORDER BY rank, rowid DESC";
/// For what no indexed word begins with: newest first.
const BY_LOOKING: &str = "SELECT row FROM
    (SELECT id << 1 AS row FROM items WHERE kind <> 'lookup' AND completed_at IS NOT NULL
     UNION ALL SELECT id << 1 | 1 FROM conversations)
    WHERE row < ?1 ORDER BY row DESC";
const TITLE: &str = "SELECT title, updated_at FROM conversations WHERE id = ?1";

/// The longest piece of text around what was found, in characters.
const PIECE: usize = 200;
/// How much text is looked through for what is in no index: some tenths of a second.
const LOOKED_THROUGH: usize = 64 * 1024 * 1024;
/// Texts of a match are short: a title and a piece.
const SIZE: usize = 4_096;
/// Stands in a cursor where a rank would, when the page was found by looking.
const LOOKED: f64 = f64::INFINITY;

/// Returns a page of what holds every word of the query, whatever its case.
pub(super) async fn find(database: &Database, query: String, page: Page) -> Result<Paged<Match>, PageError> {
    let list = List::of("search").by(Some(&query));
    let after = list.keys(&page)?;
    let words: Vec<Vec<char>> = query.split_whitespace().map(folded).collect();
    if words.is_empty() {
        return Ok(Filling::new(page.limit).end(&list));
    }
    let indexed = in_index(&query);
    Ok(database.read(move |db| found(db, indexed.as_deref(), &words, &list, after, page.limit)).await?)
}

/// Returns what the index is asked for: each word that holds letters or digits, or begins with them. The index itself
/// leaves out words that it does not know as such.
fn in_index(query: &str) -> Option<String> {
    let query = query.replace('\0', " ");
    let words = query.split_whitespace().filter(|word| word.chars().any(char::is_alphanumeric));
    let quoted: Vec<String> = words.map(|word| format!("\"{}\"*", spaced(word).replace('"', "\"\""))).collect();
    (!quoted.is_empty()).then(|| quoted.join(" "))
}

/// Asks the index; what it has nothing for may still stand inside a longer word, or hold no letter, and is looked for.
fn found(
    db: &Connection,
    indexed: Option<&str>,
    words: &[Vec<char>],
    list: &List,
    after: Option<Keys>,
    limit: u32,
) -> Result<Paged<Match>, Failure> {
    let mut filling = Filling::new(limit);
    let after = after.map(|[rank, row]| (f64::from_bits(rank.cast_unsigned()), row));
    let was_looked_for = after.is_some_and(|(rank, _)| rank == LOOKED);
    if let Some(indexed) = indexed
        && !was_looked_for
    {
        let (rank, row) = after.unwrap_or((f64::NEG_INFINITY, i64::MAX));
        sql::each(db, BY_WORDS, params![indexed, rank, row], |row| {
            let number = row.next()?;
            let rank: f64 = row.next()?;
            let place = place(db, Found::of(number))?;
            Ok(add(&mut filling, place, words, [rank.to_bits().cast_signed(), number]))
        })?;
        if after.is_some() || !filling.is_empty() {
            return Ok(filling.end(list));
        }
    }
    let mut looked_through = 0;
    sql::each(db, BY_LOOKING, [after.map_or(i64::MAX, |(_, row)| row)], |row| {
        let number = row.next()?;
        let place = place(db, Found::of(number))?;
        looked_through += place.as_ref().map_or(0, |place| place.text.len());
        if looked_through > LOOKED_THROUGH {
            return Ok(Go::Stop);
        }
        Ok(add(&mut filling, place, words, [LOOKED.to_bits().cast_signed(), number]))
    })?;
    Ok(filling.end(list))
}

/// Adds a place that holds every word, while the page has room.
fn add(filling: &mut Filling<Match>, place: Option<Place>, words: &[Vec<char>], keys: Keys) -> Go {
    match place.and_then(|place| look(place, words)) {
        None => Go::On,
        Some(found) => match filling.add(found, keys, SIZE) {
            Room::Left => Go::On,
            Room::None => Go::Stop,
        },
    }
}

/// Looks whether a text holds every word, and cuts the piece around the first of them.
fn look(place: Place, words: &[Vec<char>]) -> Option<Match> {
    let (start, end) = first(&place.text, words)?;
    let (before, found, after) = piece(&place.text, start, end);
    Some(Match {
        conversation: place.conversation,
        item: place.item.map(|(item, _)| item),
        kind: place.item.map(|(_, kind)| kind),
        at: place.at,
        before: before.into(),
        found: found.into(),
        after: after.into(),
        title: place.title,
    })
}

struct Place {
    conversation: ConversationId,
    title: String,
    item: Option<(ItemId, &'static str)>,
    at: Timestamp,
    text: String,
}

fn place(db: &Connection, found: Found) -> Result<Option<Place>, Failure> {
    let titled =
        |id: ConversationId| sql::one(db, TITLE, [id.number()], |row| Ok((row.next::<String>()?, row.time()?)));
    match found {
        Found::Title(conversation) => Ok(titled(conversation)?.map(|(title, at)| {
            let text = title.clone();
            Place { conversation, title, item: None, at, text }
        })),
        Found::Item(id) => {
            let Some(item) = rows::item(db, id)? else {
                return Ok(None);
            };
            let title = titled(item.conversation)?.map(|(title, _)| title).unwrap_or_default();
            let kind = match &item.body {
                ItemBody::User { .. } => "user",
                ItemBody::Assistant { .. } => "assistant",
                ItemBody::Command(_) => "command",
                ItemBody::Lookup(_) => return Ok(None),
            };
            let text = searched(&item.body).unwrap_or_default();
            let item = (item.conversation, item.created_at);
            Ok(Some(Place { conversation: item.0, title, item: Some((id, kind)), at: item.1, text }))
        }
    }
}

fn folded(word: &str) -> Vec<char> {
    word.chars().flat_map(char::to_lowercase).collect()
}

/// Returns where the first of the words stands; none unless all are there.
fn first(text: &str, words: &[Vec<char>]) -> Option<(usize, usize)> {
    let mut first: Option<(usize, usize)> = None;
    for word in words {
        let at = position(text, word)?;
        first = Some(first.map_or(at, |first| first.min(at)));
    }
    first
}

/// Returns where a word stands first, as bytes of the text.
fn position(text: &str, word: &[char]) -> Option<(usize, usize)> {
    text.char_indices().find_map(|(start, _)| {
        let rest = text.get(start..)?;
        let mut wanted = word.iter();
        for (at, c) in rest.char_indices() {
            if wanted.as_slice().is_empty() {
                return Some((start, start + at));
            }
            if !c.to_lowercase().all(|c| wanted.next() == Some(&c)) {
                return None;
            }
        }
        wanted.as_slice().is_empty().then_some((start, text.len()))
    })
}

/// Cuts the piece around what was found: as much before as behind it, and more of one where the other has less.
fn piece(text: &str, start: usize, end: usize) -> (&str, &str, &str) {
    let (head, rest) = text.split_at(start);
    let (found, tail) = rest.split_at(end - start);
    let room = PIECE.saturating_sub(found.chars().count());
    let behind = tail.chars().take(room).count();
    let before = room - behind.min(room / 2);
    let head = match head.char_indices().rev().nth(before) {
        Some((at, cut)) => head.get(at + cut.len_utf8()..).unwrap_or_default(),
        None => head,
    };
    let room = room - head.chars().count();
    let tail = match tail.char_indices().nth(room) {
        Some((at, _)) => tail.get(..at).unwrap_or_default(),
        None => tail,
    };
    (head, found, tail)
}
