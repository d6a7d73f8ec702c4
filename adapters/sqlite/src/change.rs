//! One change: a transaction that writes rows and the events that tell of them, or neither (D16). Everything that
//! changes the database's conversations goes through here, on the writer's connection.

use crate::{failure::Failure, sql, texts::Texts};
use owl_domain::{
    ids::Seq,
    ports::{EventText, StoredEvent},
    time::Timestamp,
    turn::{About, Event, EventBody},
};
use rusqlite::{Connection, Transaction, TransactionBehavior, params};

const LAST_SEQ: &str = "SELECT seq FROM sqlite_sequence WHERE name = 'events'";
const PREV_OF_CONVERSATION: &str = "SELECT max(seq) FROM events WHERE conversation = ?1";
const PREV_OF_JOB: &str = "SELECT max(seq) FROM events WHERE job = ?1";
const INSERT: &str = "INSERT INTO events (seq, conversation, turn, job, name, item, at, text)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";

/// A transaction that is under way.
pub(crate) struct Change<'c> {
    tx: Transaction<'c>,
    text: &'c dyn EventText,
    texts: &'c Texts,
    now: Timestamp,
    last: Option<Seq>,
    told: Vec<StoredEvent>,
}

impl<'c> Change<'c> {
    /// Begins one. It takes the write lock at once, so that what it reads stays true until it writes.
    pub(crate) fn begin(
        connection: &'c mut Connection,
        text: &'c dyn EventText,
        texts: &'c Texts,
        now: Timestamp,
    ) -> Result<Self, Failure> {
        let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        Ok(Self { tx, text, texts, now, last: None, told: Vec::new() })
    }

    /// Returns the connection, inside the transaction.
    pub(crate) fn db(&self) -> &Connection {
        &self.tx
    }

    /// Returns the moment of the change.
    pub(crate) fn now(&self) -> Timestamp {
        self.now
    }

    /// Returns the moment of the change as it is stored.
    pub(crate) fn now_ms(&self) -> i64 {
        self.now.millis()
    }

    /// Returns the text that waits in memory.
    pub(crate) fn texts(&self) -> &'c Texts {
        self.texts
    }

    /// Returns the number that the next event gets.
    pub(crate) fn next_seq(&mut self) -> Result<Seq, Failure> {
        let last = match self.last {
            Some(last) => last,
            None => sql::one(&self.tx, LAST_SEQ, [], |row| row.id(Seq))?.unwrap_or_default(),
        };
        self.last = Some(last);
        Ok(Seq(last.0 + 1))
    }

    /// Writes an event, and returns its number.
    pub(crate) fn tell(&mut self, about: About, body: EventBody) -> Result<Seq, Failure> {
        let prev = self.newest_of(about)?;
        self.tell_after(prev, about, body)
    }

    /// Returns the newest event of a Conversation or Job.
    pub(crate) fn newest_of(&self, about: About) -> Result<Option<Seq>, Failure> {
        let (sql, id) = match about {
            About::Conversation(conversation, _) => (PREV_OF_CONVERSATION, conversation.number()),
            About::Job(job) => (PREV_OF_JOB, job.number()),
        };
        sql::sure(&self.tx, sql, [id], |row| row.maybe_id(Seq))
    }

    /// Writes an event behind another one.
    pub(crate) fn tell_after(&mut self, prev: Option<Seq>, about: About, body: EventBody) -> Result<Seq, Failure> {
        let seq = self.next_seq()?;
        let item = match &body {
            EventBody::ItemStarted(item) | EventBody::ItemCompleted(item) => Some(item.id),
            _ => None,
        };
        let (conversation, turn, job) = match about {
            About::Conversation(conversation, turn) => {
                (Some(conversation.number()), turn.map(owl_domain::ids::TurnId::number), None)
            }
            About::Job(job) => (None, None, Some(job.number())),
        };
        let event = Event { seq, prev, at: self.now, about, body };
        let text = self.text.encode(&event);
        let name = event.body.name();
        let item_id = item.map(owl_domain::ids::ItemId::number);
        sql::run(&self.tx, INSERT, params![seq.0, conversation, turn, job, name, item_id, self.now.millis(), text])?;
        self.last = Some(seq);
        self.told.push(StoredEvent { seq, about, name, item, text });
        Ok(seq)
    }

    /// Ends the change, and returns the events that it wrote.
    pub(crate) fn commit(self) -> Result<Vec<StoredEvent>, Failure> {
        self.tx.commit()?;
        Ok(self.told)
    }
}
