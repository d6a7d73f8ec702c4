//! The port of Turns.

use super::{
    MemoryTurns,
    rows::{ReplyRow, Rows, TurnRow, calls_of, command},
};
use owl_domain::{
    conversation::{CommandOutcome, ItemBody, Part},
    ids::{ConversationId, ItemId, Seq, TurnId},
    ports::{BeginError, Begun, Earlier, Judged, Moved, NewTurn, Once, StoreError, Turns},
    provider::{Retrying, Usage, WholeReply},
    time::Timestamp,
    turn::{About, CallRef, Ending, EventBody, Step, StoredTurn, Told, Turn, TurnState},
};

impl Rows {
    fn repeated(&self, conversation: ConversationId, once: &Once) -> Result<Option<Begun>, BeginError> {
        match self.keys.get(&(conversation, once.key.as_str().into())) {
            None => Ok(None),
            Some((parameters, begun)) if *parameters == once.parameters => {
                Ok(Some(Begun { duplicate: true, ..begun.clone() }))
            }
            Some(_) => Err(BeginError::Mismatch),
        }
    }

    fn running(&self, conversation: ConversationId) -> Option<TurnId> {
        let mut turns = self.turns.values().filter(|row| row.turn.conversation == conversation);
        turns.find(|row| !row.turn.is_finished()).map(|row| row.turn.id)
    }

    fn begin(&mut self, new: NewTurn, now: Timestamp) -> Result<Begun, BeginError> {
        if !self.conversations.contains(&new.conversation) {
            return Err(BeginError::NotFound);
        }
        if let Some(once) = &new.once
            && let Some(begun) = self.repeated(new.conversation, once)?
        {
            return Ok(begun);
        }
        if let Some(turn) = self.running(new.conversation) {
            return Err(BeginError::Busy { turn });
        }
        let id = self.next_turn();
        let turn = Turn {
            id,
            conversation: new.conversation,
            state: TurnState::Running,
            workdir: new.workdir,
            model: new.model,
            on_consent: new.on_consent,
            tools: new.tools,
            rounds: 0,
            started_at: now,
            usage: Usage::default(),
            left_out: 0,
        };
        let question = String::from(new.question.as_str());
        let row = TurnRow {
            turn: turn.clone(),
            question: question.clone(),
            sent_by: new.sent_by,
            cancelling: false,
            replies: Vec::new(),
        };
        self.turns.insert(id, row);
        self.tell(About::Conversation(new.conversation, Some(id)), now, EventBody::TurnStarted(turn));
        let item = self.add_item(id, now, ItemBody::User { text: question }).unwrap_or(ItemId::new(0));
        self.complete(item, now, |_| {});
        let seq = self.events.last().map(|event| event.seq).unwrap_or(Seq(0));
        let begun = Begun { turn: id, item, seq, duplicate: false };
        if let Some(once) = new.once {
            let key = (new.conversation, once.key.as_str().into());
            self.keys.insert(key, (once.parameters, begun.clone()));
        }
        Ok(begun)
    }

    fn open_text(&mut self, turn: TurnId, now: Timestamp) -> ItemId {
        let body = ItemBody::Assistant { text: String::new(), reasoning: String::new(), complete: false };
        let item = self.add_item(turn, now, body);
        if let (Some(item), Some(row)) = (item, self.turns.get_mut(&turn)) {
            row.replies.push(ReplyRow { item: Some(item), whole: None, calls: Vec::new() });
            self.tell_started(item, now);
        }
        item.unwrap_or(ItemId::new(0))
    }

    fn record(&mut self, turn: TurnId, item: Option<ItemId>, whole: WholeReply, left_out: u32, now: Timestamp) {
        if !self.is_open(turn) {
            return;
        }
        if let Some(item) = item {
            self.complete(item, now, |body| {
                if let ItemBody::Assistant { complete, .. } = body {
                    *complete = true;
                }
            });
        }
        let Some(row) = self.turns.get_mut(&turn) else {
            return;
        };
        row.turn.rounds += 1;
        row.turn.usage = row.turn.usage.plus(whole.usage);
        row.turn.left_out = left_out;
        let calls = calls_of(&whole);
        match row.replies.last_mut().filter(|reply| reply.whole.is_none() && reply.item == item) {
            Some(reply) => (reply.whole, reply.calls) = (Some(whole), calls),
            None => row.replies.push(ReplyRow { item, whole: Some(whole), calls }),
        }
    }

    fn settle(&mut self, at: CallRef, judged: Judged, told: Told, now: Timestamp) -> Moved {
        let unjudged = self.is_open(at.turn) && self.call_mut(at).is_some_and(|call| call.item.is_none());
        if !unjudged {
            return Moved::Lost;
        }
        let body = match judged {
            Judged::Lookup(lookup) => ItemBody::Lookup(lookup),
            Judged::Denied { requested, workdir, denial } => {
                let mut denied = command(requested, workdir);
                denied.outcome = Some(CommandOutcome::GateDenied(denial));
                ItemBody::Command(Box::new(denied))
            }
        };
        let item = self.add_item(at.turn, now, body);
        if let Some(call) = self.call_mut(at) {
            (call.item, call.told) = (item, Some(told));
        }
        if let Some(item) = item {
            self.complete(item, now, |_| {});
        }
        Moved::Won
    }

    fn cancel(&mut self, conversation: ConversationId, turn: Option<TurnId>, now: Timestamp) -> Option<TurnId> {
        let running = self.running(conversation).filter(|running| turn.is_none_or(|named| named == *running))?;
        let row = self.turns.get_mut(&running).filter(|row| !row.cancelling)?;
        row.cancelling = true;
        self.cancel_pending(running, now);
        Some(running)
    }

    fn recover(&mut self, now: Timestamp) -> Vec<TurnId> {
        let open = |rows: &Self| rows.turns.keys().copied().filter(|id| rows.is_open(*id)).collect::<Vec<_>>();
        for id in open(self) {
            let step = self.stored(id).map(|stored| stored.next());
            // The model is never asked again by itself, and what was executing is never run again.
            if matches!(step, Some(Step::Ask | Step::Close(Ending::Interrupted))) {
                let _closed_by_this = self.close(id, Ending::Interrupted, Usage::default(), now);
            }
        }
        open(self)
    }
}

#[async_trait::async_trait]
impl Turns for MemoryTurns {
    async fn repeated(&self, conversation: ConversationId, once: Once) -> Result<Option<Begun>, BeginError> {
        self.read(|rows| rows.repeated(conversation, &once)).await
    }

    async fn begin(&self, new: NewTurn, now: Timestamp) -> Result<Begun, BeginError> {
        self.change(|rows| rows.begin(new, now)).await?
    }

    async fn get(&self, id: TurnId) -> Result<Option<Turn>, StoreError> {
        Ok(self.read(|rows| rows.told(id)).await)
    }

    async fn newest(&self, conversation: ConversationId) -> Result<Option<Turn>, StoreError> {
        let newest = |rows: &Rows| {
            let mut turns = rows.turns.values().rev().filter(|row| row.turn.conversation == conversation);
            turns.next().and_then(|row| rows.told(row.turn.id))
        };
        Ok(self.read(newest).await)
    }

    async fn text(&self, id: TurnId) -> Result<String, StoreError> {
        let texts = |rows: &Rows| {
            let texts = rows.items_of(id).into_iter().filter_map(|item| match item.body {
                ItemBody::Assistant { text, .. } if !text.is_empty() => Some(text),
                _ => None,
            });
            texts.collect::<Vec<_>>().join("\n\n")
        };
        Ok(self.read(texts).await)
    }

    async fn load(&self, id: TurnId) -> Result<Option<StoredTurn>, StoreError> {
        Ok(self.read(|rows| rows.stored(id)).await)
    }

    async fn earlier(&self, turn: TurnId, _most_bytes: usize) -> Result<Earlier, StoreError> {
        let earlier = |rows: &Rows| {
            let conversation = rows.turns.get(&turn).map(|row| row.turn.conversation);
            let before = rows.turns.range(..turn).filter(|(_, row)| Some(row.turn.conversation) == conversation);
            before.filter_map(|(id, _)| rows.stored(*id)).collect()
        };
        Ok(Earlier { turns: self.read(earlier).await, left_out: 0 })
    }

    async fn open_text(&self, turn: TurnId, now: Timestamp) -> Result<ItemId, StoreError> {
        self.change(|rows| rows.open_text(turn, now)).await
    }

    fn append(&self, item: ItemId, part: Part, text: &str) {
        self.rows().append(item, part, text);
    }

    async fn record(
        &self,
        turn: TurnId,
        item: Option<ItemId>,
        reply: WholeReply,
        left_out: u32,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.change(|rows| rows.record(turn, item, reply, left_out, now)).await
    }

    async fn retrying(&self, turn: TurnId, retrying: Retrying, now: Timestamp) -> Result<(), StoreError> {
        let tell = |rows: &mut Rows| {
            if let Some(row) = rows.turns.get(&turn) {
                let about = About::Conversation(row.turn.conversation, Some(turn));
                let body = EventBody::ProviderRetrying { model: row.turn.model.clone(), retrying };
                rows.tell(about, now, body);
            }
        };
        self.change(tell).await
    }

    async fn settle(&self, call: CallRef, judged: Judged, told: Told, now: Timestamp) -> Result<Moved, StoreError> {
        self.change(|rows| rows.settle(call, judged, told, now)).await
    }

    async fn close(&self, turn: TurnId, ending: Ending, usage: Usage, now: Timestamp) -> Result<Moved, StoreError> {
        self.change(|rows| rows.close(turn, ending, usage, now)).await
    }

    async fn cancel(
        &self,
        conversation: ConversationId,
        turn: Option<TurnId>,
        now: Timestamp,
    ) -> Result<Option<TurnId>, StoreError> {
        self.change(|rows| rows.cancel(conversation, turn, now)).await
    }

    async fn recover(&self, now: Timestamp) -> Result<Vec<TurnId>, StoreError> {
        self.change(|rows| rows.recover(now)).await
    }
}
