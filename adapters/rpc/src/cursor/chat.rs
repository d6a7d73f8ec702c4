//! `chat.subscribe`: the durable events of one Conversation, and the text of its open Items as it grows. All pieces of
//! one part, joined, are the text that is stored in the end.

use super::{End, Never, Rows, last_words, still_open, tell};
use crate::{
    caller::{Caller, Phase},
    live::{LiveTexts, PIECE_BYTES, Watching},
    outlet::Outlet,
    table::Feed,
    wire::{StreamLive, TextEvent},
};
use async_trait::async_trait;
use owl_domain::{
    conversation::{ConversationService, Part},
    ids::{ConversationId, ItemId, Seq, TurnId},
    limits,
    ports::{EventScope, Events, Standing, StoredEvent, Window},
    text::cut_bytes,
    turn::About,
};
use serde::Deserialize;
use std::{borrow::Cow, collections::BTreeMap, sync::Arc};

pub(crate) struct ChatFeed {
    caller: Arc<Caller>,
    conversations: Arc<ConversationService>,
    conversation: ConversationId,
    rows: Rows,
    /// The number of the newest event of this Conversation that is known.
    last_seq: Option<Seq>,
    texts: Option<Texts>,
}

/// What was told of the Items that are open.
struct Texts {
    watching: Watching,
    open: BTreeMap<ItemId, Told>,
}

struct Told {
    turn: TurnId,
    offsets: [usize; Part::ALL.len()],
    /// Whether it was open before this subscription was up to date. Then the client may hold some of it from before,
    /// and the first piece of a part takes the place of that.
    from_before: bool,
}

impl ChatFeed {
    /// Makes the feed of one Conversation. `last_seq` is its newest number as of now; `live` brings text as it grows.
    pub(crate) fn new(
        caller: Arc<Caller>,
        events: Arc<dyn Events>,
        conversations: Arc<ConversationService>,
        conversation: ConversationId,
        (after, last_seq): (Seq, Option<Seq>),
        live: Option<&Arc<LiveTexts>>,
    ) -> Self {
        let texts = live.map(|live| Texts { watching: live.watch(conversation), open: BTreeMap::new() });
        let rows = Rows::new(events, EventScope::Conversation(conversation), after);
        Self { caller, conversations, conversation, rows, last_seq, texts }
    }

    /// Sends rows up to now, snapshots of what is open, and that the client is up to date.
    async fn replay(&mut self, out: &mut Outlet) -> Result<(), End> {
        while let Some(row) = self.rows.next().await? {
            still_open(&self.caller)?;
            self.send(&row, out).await?;
        }
        let standing = self.rows.standing().await?;
        while let Some(row) = self.rows.next_until(standing.newest).await? {
            self.send(&row, out).await?;
        }
        self.snapshots(&standing, out).await?;
        tell(out, &StreamLive::new(Some(self.conversation), self.last_seq, &standing)).await
    }

    async fn send(&mut self, row: &StoredEvent, out: &mut Outlet) -> Result<(), End> {
        out.push(row.seq.0, &row.text).await?;
        self.last_seq = self.last_seq.max(Some(row.seq));
        if row.name == "conversation.deleted" {
            out.flush().await?;
            return Err(End::Deleted);
        }
        Ok(())
    }

    /// Which Items were open at that moment is the store's to say; how far they have grown is in memory.
    async fn snapshots(&mut self, standing: &Standing, out: &mut Outlet) -> Result<(), End> {
        let Some(texts) = &mut self.texts else { return Ok(()) };
        let growing = texts.watching.open();
        if growing.is_empty() || standing.turn.is_none() {
            return Ok(());
        }
        let newest = self.conversations.items(self.conversation, Window::Newest, limits::PAGE_ITEMS).await?;
        for item in newest.into_iter().flat_map(|page| page.items) {
            let was_open = item.completed_at.is_none() && item.seq <= standing.newest;
            if was_open && growing.iter().any(|(id, _)| *id == item.id) {
                let told = Told { turn: item.turn, offsets: Default::default(), from_before: true };
                texts.open.insert(item.id, told);
                texts.first_pieces(self.conversation, item.id, out).await?;
            }
        }
        Ok(())
    }

    async fn follow(&mut self, out: &mut Outlet) -> Result<Never, End> {
        self.replay(out).await?;
        let caller = self.caller.clone();
        loop {
            let last = caller.server.phase() == Phase::Closing;
            self.rows_so_far(out).await?;
            if let Some(texts) = &mut self.texts {
                texts.grown(self.conversation, out).await?;
            }
            out.flush().await?;
            if last {
                return Err(End::Stopping);
            }
            let grown = async {
                match &mut self.texts {
                    Some(texts) => texts.watching.grown().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                _ = self.rows.newer() => {}
                () = grown => {}
                () = caller.closing() => {}
            }
        }
    }

    async fn rows_so_far(&mut self, out: &mut Outlet) -> Result<(), End> {
        let newest = self.rows.events.newest();
        while let Some(row) = self.rows.next().await? {
            if let (Some(texts), Some(item)) = (&mut self.texts, row.item) {
                match row.name {
                    "item.started" => texts.begins(item, &row),
                    "item.completed" => texts.ends(self.conversation, item, &row, out).await?,
                    _ => {}
                }
            }
            self.send(&row, out).await?;
        }
        // Rows of other Conversations up to there need not be looked for again.
        self.rows.is_at(newest);
        Ok(())
    }
}

#[async_trait]
impl Feed for ChatFeed {
    async fn run(mut self: Box<Self>, out: &mut Outlet) -> Option<String> {
        out.starts_after(self.rows.after.0);
        let Err(end) = self.follow(out).await;
        last_words(end, Some(self.conversation), out.next_after())
    }
}

impl Texts {
    fn begins(&mut self, item: ItemId, row: &StoredEvent) {
        if let About::Conversation(_, Some(turn)) = row.about {
            self.open.insert(item, Told { turn, offsets: Default::default(), from_before: false });
        }
    }

    /// Sends one piece of each part of an Item, in place of what the client may hold of it.
    async fn first_pieces(&mut self, at: ConversationId, item: ItemId, out: &mut Outlet) -> Result<(), End> {
        let Some(told) = self.open.get_mut(&item) else { return Ok(()) };
        for part in Part::ALL {
            if let Some(piece) = self.watching.piece(item, part, 0) {
                told.piece((at, item), part, &piece, out).await?;
            }
        }
        Ok(())
    }

    /// Sends what all open Items have grown by.
    async fn grown(&mut self, at: ConversationId, out: &mut Outlet) -> Result<(), End> {
        for (item, told) in &mut self.open {
            for part in Part::ALL {
                while let Some(piece) = self.watching.piece(*item, part, told.offset(part)) {
                    told.piece((at, *item), part, &piece, out).await?;
                }
            }
        }
        Ok(())
    }

    /// Sends what is missing of an Item that is whole now, taken from the event that says so: its text in memory is
    /// gone by then, or soon.
    async fn ends(&mut self, at: ConversationId, item: ItemId, row: &StoredEvent, out: &mut Outlet) -> Result<(), End> {
        let Ok(Completed { item: whole }) = serde_json::from_str::<Completed<'_>>(&row.text) else {
            return Ok(());
        };
        let before = self.open.remove(&item);
        let mut told = match (before, row.about) {
            (Some(told), _) => told,
            // One that is whole at once has no pieces.
            (None, _) if whole.seq == row.seq.0 => return Ok(()),
            (None, About::Conversation(_, Some(turn))) => Told { turn, offsets: Default::default(), from_before: true },
            (None, _) => return Ok(()),
        };
        for part in Part::ALL {
            let text = whole.part(part);
            while let Some(rest) = text.get(told.offset(part)..).filter(|rest| !rest.is_empty()) {
                told.piece((at, item), part, cut_bytes(rest, PIECE_BYTES), out).await?;
            }
        }
        Ok(())
    }
}

impl Told {
    fn offset(&self, part: Part) -> usize {
        self.offsets.get(part as usize).copied().unwrap_or_default()
    }

    async fn piece(
        &mut self,
        (conversation, item): (ConversationId, ItemId),
        part: Part,
        text: &str,
        out: &mut Outlet,
    ) -> Result<(), End> {
        let at = (conversation, self.turn, item);
        let offset = self.offset(part);
        let replaces = self.from_before && offset == 0;
        let event =
            if replaces { TextEvent::snapshot(at, part, text) } else { TextEvent::delta(at, part, offset, text) };
        if let Some(told) = self.offsets.get_mut(part as usize) {
            *told += text.len();
        }
        tell(out, &event).await
    }
}

/// As much of an `item.completed` as is told in pieces.
#[derive(Deserialize)]
struct Completed<'a> {
    #[serde(borrow)]
    item: Whole<'a>,
}

#[derive(Deserialize)]
struct Whole<'a> {
    seq: i64,
    #[serde(borrow, default)]
    text: Cow<'a, str>,
    #[serde(borrow, default)]
    reasoning: Cow<'a, str>,
    #[serde(borrow, default)]
    result: Option<Printed<'a>>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Printed<'a> {
    Command {
        #[serde(borrow)]
        stdout: Head<'a>,
        #[serde(borrow)]
        stderr: Head<'a>,
    },
    /// A lookup's.
    Other(serde::de::IgnoredAny),
}

#[derive(Deserialize)]
struct Head<'a> {
    #[serde(borrow)]
    head: Cow<'a, str>,
}

impl Whole<'_> {
    fn part(&self, part: Part) -> &str {
        match (part, &self.result) {
            (Part::Text, _) => &self.text,
            (Part::Reasoning, _) => &self.reasoning,
            (Part::Stdout, Some(Printed::Command { stdout, .. })) => &stdout.head,
            (Part::Stderr, Some(Printed::Command { stderr, .. })) => &stderr.head,
            (Part::Stdout | Part::Stderr, _) => "",
        }
    }
}
