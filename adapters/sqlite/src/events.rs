//! Stored events, read after a number (D7). A subscription is a cursor over them, and nothing of it is kept here.

use crate::{
    database::Database,
    failure::Failure,
    rows,
    sql::{self, Columns, Go},
};
use async_trait::async_trait;
use owl_domain::{
    ids::{ConversationId, ItemId, JobId, Seq, TurnId},
    limits,
    ports::{EventScope, Events, Standing, StoreError, StoredEvent},
    turn::{About, EventBody},
};
use rusqlite::{Connection, Params, params};

/// The columns of an event.
macro_rules! event_columns {
    () => {
        "e.seq, e.conversation, e.turn, e.job, e.name, e.item, e.text"
    };
}

const AFTER: &str = concat!("SELECT ", event_columns!(), " FROM events e WHERE e.seq > ?1 ORDER BY e.seq LIMIT ?2");
const AFTER_OF: &str = concat!(
    "SELECT ",
    event_columns!(),
    " FROM events e WHERE e.seq > ?1 AND e.conversation = ?3 ORDER BY e.seq LIMIT ?2"
);
const NEWEST: &str = "SELECT ifnull(max(seq), 0) FROM events";
const OPEN_TURN: &str = "SELECT id FROM turns WHERE conversation = ?1 AND finished_at IS NULL";
const PENDING: &str =
    concat!("SELECT ", rows::proposal_columns!(), " FROM proposals p WHERE p.state = 'pending' ORDER BY p.id LIMIT ?1");
const PENDING_OF: &str = concat!(
    "SELECT ",
    rows::proposal_columns!(),
    " FROM proposals p WHERE p.state = 'pending' AND p.conversation = ?2 ORDER BY p.id LIMIT ?1"
);
const COUNT: &str = "SELECT count(*) FROM proposals WHERE state = 'pending'";
const COUNT_OF: &str = "SELECT count(*) FROM proposals WHERE state = 'pending' AND conversation = ?1";

/// How many Proposals that wait are told at once; their number is told too.
const PENDING_TOLD: i64 = 100;

/// Each list, how many parameters it takes, and the index that it must be read from.
#[cfg(test)]
pub(crate) const PLANS: [(&str, usize, &str); 2] = [
    (AFTER, 2, "SEARCH e USING INTEGER PRIMARY KEY (rowid>?)"),
    (AFTER_OF, 3, "SEARCH e USING INDEX events_by_conversation (conversation=? AND seq>?)"),
];

/// The Events port over the database.
pub(crate) struct SqliteEvents(pub(crate) Database);

#[async_trait]
impl Events for SqliteEvents {
    fn newest(&self) -> Seq {
        *self.0.newest().borrow()
    }

    async fn newer_than(&self, seq: Seq) -> Seq {
        let mut newest = self.0.newest();
        let newer = newest.wait_for(|newest| *newest > seq).await.map(|newest| *newest);
        match newer {
            Ok(newer) => newer,
            // The store was closed: nothing newer comes, and whoever waits is stopped by whoever stops the daemon.
            Err(_closed) => std::future::pending().await,
        }
    }

    async fn after(&self, seq: Seq, scope: EventScope, most: usize) -> Result<Vec<StoredEvent>, StoreError> {
        if let Some(recent) = self.0.recent().after(seq, &scope, most) {
            return Ok(recent);
        }
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        self.0
            .read(move |db| match scope {
                EventScope::All => some(db, AFTER, [seq.0, most]),
                EventScope::Conversation(of) => some(db, AFTER_OF, [seq.0, most, of.number()]),
            })
            .await
    }

    async fn standing(&self, scope: EventScope) -> Result<Standing, StoreError> {
        self.0.read(move |db| standing(db, &scope)).await
    }
}

/// Reads rows until they are as large as one subscription may hold: an event may be a command's whole output.
fn some(db: &Connection, sql: &str, params: impl Params) -> Result<Vec<StoredEvent>, Failure> {
    let (mut found, mut bytes) = (Vec::new(), 0);
    sql::each(db, sql, params, |row| {
        let event = read(row)?;
        bytes += event.text.len();
        found.push(event);
        Ok(if bytes < limits::EVENTS_AHEAD_BYTES { Go::On } else { Go::Stop })
    })?;
    Ok(found)
}

fn read(row: &mut Columns<'_>) -> Result<StoredEvent, Failure> {
    let seq = row.id(Seq)?;
    let conversation = row.maybe_id(ConversationId::new)?;
    let turn = row.maybe_id(TurnId::new)?;
    let job = row.maybe_id(JobId::new)?;
    let about = match (conversation, job) {
        (Some(conversation), _) => About::Conversation(conversation, turn),
        (None, Some(job)) => About::Job(job),
        (None, None) => return Err(Failure::Unreadable { what: "an event about nothing" }),
    };
    let known = |name: &str| EventBody::NAMES.into_iter().find(|known| *known == name);
    Ok(StoredEvent {
        seq,
        about,
        name: row.named(known, "an event's name")?,
        item: row.maybe_id(ItemId::new)?,
        text: row.next()?,
    })
}

fn standing(db: &Connection, scope: &EventScope) -> Result<Standing, Failure> {
    let newest = sql::sure(db, NEWEST, [], |row| row.id(Seq))?;
    match scope {
        EventScope::All => Ok(Standing {
            newest,
            state: None,
            turn: None,
            pending: sql::all(db, PENDING, [PENDING_TOLD], rows::read_proposal)?,
            pending_total: sql::sure(db, COUNT, [], |row| row.count())?,
        }),
        EventScope::Conversation(id) => Ok(Standing {
            newest,
            state: Some(rows::conversation_state(db, *id)?),
            turn: sql::one(db, OPEN_TURN, [id.number()], |row| row.id(TurnId::new))?,
            pending: sql::all(db, PENDING_OF, params![PENDING_TOLD, id.number()], rows::read_proposal)?,
            pending_total: sql::sure(db, COUNT_OF, [id.number()], |row| row.count())?,
        }),
    }
}
