//! Turns as rows (ADR-0022, D16): each step of a Turn is one change with its events.

mod begin;
mod close;
mod load;
mod steps;

use crate::{change::Change, database::Database, failure::Failure, items::Place, rows, sql};
use async_trait::async_trait;
use owl_domain::{
    conversation::Part,
    ids::{ConversationId, ItemId, TurnId},
    ports::{BeginError, Begun, Earlier, Judged, Moved, NewTurn, Once, StoreError, Turns},
    provider::{Retrying, Usage, WholeReply},
    time::Timestamp,
    turn::{CallRef, Ending, StoredTurn, Told, Turn},
};
use rusqlite::params;

pub(crate) use steps::{is_unjudged, tell};

const NEWEST: &str =
    concat!("SELECT ", rows::turn_columns!(), " FROM turns t WHERE t.conversation = ?1 ORDER BY t.id DESC LIMIT 1");
const TEXTS: &str =
    concat!("SELECT ", rows::grown!("text"), " FROM items i WHERE i.turn = ?1 AND i.kind = 'assistant' ORDER BY i.seq");
const UNFINISHED: &str = "SELECT conversation FROM turns WHERE id = ?1 AND finished_at IS NULL";
/// Adds what was used to a row. A sum beyond 64 bits is a REAL to SQLite, which the column does not take: it stays at
/// ?7, also where a row already holds more.
macro_rules! add_usage {
    ($table:literal) => {
        concat!(
            "UPDATE ",
            $table,
            " SET input_tokens = min(input_tokens + ?2, ?7), output_tokens = min(output_tokens + ?3, ?7),
              cache_read_tokens = min(cache_read_tokens + ?4, ?7), cache_write_tokens = min(cache_write_tokens + ?5, ?7),
              cost_usd = iif(?6 IS NULL, cost_usd, ifnull(cost_usd, 0.0) + ?6) WHERE id = ?1"
        )
    };
}

const ADD_USAGE: &str = add_usage!("turns");
const ADD_USAGE_TO_CONVERSATION: &str = add_usage!("conversations");

/// The Turns port over the database.
pub(crate) struct SqliteTurns(pub(crate) Database);

#[async_trait]
impl Turns for SqliteTurns {
    async fn repeated(&self, conversation: ConversationId, once: Once) -> Result<Option<Begun>, BeginError> {
        self.0.read(move |db| begin::repeated(db, conversation, &once)).await?
    }

    async fn begin(&self, new: NewTurn, now: Timestamp) -> Result<Begun, BeginError> {
        self.0.write(now, move |change| begin::begin(change, &new)).await?
    }

    async fn get(&self, id: TurnId) -> Result<Option<Turn>, StoreError> {
        self.0.read(move |db| rows::turn(db, id)).await
    }

    async fn newest(&self, conversation: ConversationId) -> Result<Option<Turn>, StoreError> {
        self.0.read(move |db| sql::one(db, NEWEST, [conversation.number()], rows::read_turn)).await
    }

    async fn text(&self, id: TurnId) -> Result<String, StoreError> {
        let texts = self.0.read(move |db| sql::all(db, TEXTS, [id.number()], |row| row.next::<String>())).await?;
        Ok(texts.join("\n\n"))
    }

    async fn load(&self, id: TurnId) -> Result<Option<StoredTurn>, StoreError> {
        self.0.read(move |db| load::load(db, id)).await
    }

    async fn earlier(&self, turn: TurnId, most_bytes: usize) -> Result<Earlier, StoreError> {
        self.0.read(move |db| load::earlier(db, turn, most_bytes)).await
    }

    async fn open_text(&self, turn: TurnId, now: Timestamp) -> Result<ItemId, StoreError> {
        self.0.write(now, move |change| steps::open_text(change, turn)).await
    }

    fn append(&self, item: ItemId, part: Part, text: &str) {
        self.0.append(item, part, text);
    }

    async fn record(
        &self,
        turn: TurnId,
        item: Option<ItemId>,
        reply: WholeReply,
        left_out: u32,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.0.write(now, move |change| steps::record(change, turn, item, &reply, left_out)).await?;
        if let Some(item) = item {
            self.0.forget(item);
        }
        Ok(())
    }

    async fn retrying(&self, turn: TurnId, retrying: Retrying, now: Timestamp) -> Result<(), StoreError> {
        self.0.write(now, move |change| steps::retrying(change, turn, retrying)).await
    }

    async fn settle(&self, call: CallRef, judged: Judged, told: Told, now: Timestamp) -> Result<Moved, StoreError> {
        self.0.write(now, move |change| steps::settle(change, call, &judged, &told)).await
    }

    async fn close(&self, turn: TurnId, ending: Ending, usage: Usage, now: Timestamp) -> Result<Moved, StoreError> {
        let (moved, texts) = self.0.write(now, move |change| close::close(change, turn, &ending, usage)).await?;
        for item in texts {
            self.0.forget(item);
        }
        Ok(moved)
    }

    async fn cancel(
        &self,
        conversation: ConversationId,
        turn: Option<TurnId>,
        now: Timestamp,
    ) -> Result<Option<TurnId>, StoreError> {
        self.0.write(now, move |change| close::cancel(change, conversation, turn)).await
    }

    async fn recover(&self, now: Timestamp) -> Result<Vec<TurnId>, StoreError> {
        let unfinished = self.0.read(close::unfinished).await?;
        let mut remaining = Vec::new();
        // One change each: a start that finds many of them holds no long lock, and a failure leaves the rest as it is.
        for turn in unfinished {
            if self.0.write(now, move |change| close::recover(change, turn)).await? == close::Recovered::Remains {
                remaining.push(turn);
            }
        }
        Ok(remaining)
    }
}

/// Returns where the Items of a Turn that is not finished belong.
fn open_place(change: &Change<'_>, turn: TurnId) -> Result<Option<Place>, Failure> {
    let conversation = sql::one(change.db(), UNFINISHED, [turn.number()], |row| row.id(ConversationId::new))?;
    Ok(conversation.map(|conversation| Place { conversation, turn }))
}

/// Likewise, for a step that only a Turn at work can take.
fn sure_place(change: &Change<'_>, turn: TurnId) -> Result<Place, Failure> {
    open_place(change, turn)?.ok_or(Failure::Gone { what: "this turn, unfinished" })
}

/// Adds what was used to the Turn and to its Conversation.
fn add_usage(change: &Change<'_>, place: Place, usage: Usage) -> Result<(), Failure> {
    for (sql, id) in [(ADD_USAGE, place.turn.number()), (ADD_USAGE_TO_CONVERSATION, place.conversation.number())] {
        let added = params![
            id,
            sql::whole(usage.input_tokens),
            sql::whole(usage.output_tokens),
            sql::whole(usage.cache_read_tokens),
            sql::whole(usage.cache_write_tokens),
            usage.cost_usd,
            sql::whole(Usage::MOST_TOKENS),
        ];
        sql::must(change.db(), sql, added, "this turn")?;
    }
    Ok(())
}
