//! What is kept, and what several changes share: telling events, deciding a Proposal, closing a Turn.

use owl_domain::{
    consent::{By, Decision, Grant, Outcome, Proposal, Scope},
    conversation::{CommandItem, CommandOutcome, Item, ItemBody, Part},
    ids::{ConversationId, GrantId, ItemId, ProposalId, Seq, TurnId},
    ports::{Begun, Moved},
    provider::{Block, Call, Usage, WholeReply},
    time::Timestamp,
    turn::{
        About, CallProgress, CallRef, Ended, Ending, Event, EventBody, Step, StoredCall, StoredReply, StoredTurn, Told,
        Turn, TurnState, outcome_at_close,
    },
};
use std::collections::BTreeMap;

#[derive(Debug, Default)]
pub(super) struct Rows {
    pub(super) conversations: Vec<ConversationId>,
    pub(super) turns: BTreeMap<TurnId, TurnRow>,
    pub(super) items: BTreeMap<ItemId, Item>,
    pub(super) proposals: BTreeMap<ProposalId, ProposalRow>,
    pub(super) grants: BTreeMap<GrantId, Grant>,
    pub(super) keys: BTreeMap<(ConversationId, String), (String, Begun)>,
    pub(super) events: Vec<Event>,
    /// Appended and not yet written.
    texts: BTreeMap<ItemId, (String, String)>,
}

#[derive(Debug)]
pub(super) struct TurnRow {
    pub(super) turn: Turn,
    pub(super) question: String,
    pub(super) sent_by: owl_domain::consent::Peer,
    pub(super) cancelling: bool,
    pub(super) replies: Vec<ReplyRow>,
}

#[derive(Debug)]
pub(super) struct ReplyRow {
    pub(super) item: Option<ItemId>,
    pub(super) whole: Option<WholeReply>,
    pub(super) calls: Vec<CallRow>,
}

#[derive(Debug)]
pub(super) struct CallRow {
    pub(super) call: Call,
    pub(super) item: Option<ItemId>,
    pub(super) proposal: Option<ProposalId>,
    pub(super) told: Option<Told>,
}

#[derive(Debug)]
pub(super) struct ProposalRow {
    pub(super) proposal: Proposal,
    pub(super) call: CallRef,
}

fn next(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX).saturating_add(1)
}

impl Rows {
    pub(super) fn add_conversation(&mut self) -> ConversationId {
        let id = ConversationId::new(next(self.conversations.len()));
        self.conversations.push(id);
        id
    }

    pub(super) fn next_turn(&self) -> TurnId {
        TurnId::new(next(self.turns.len()))
    }

    pub(super) fn next_proposal(&self) -> ProposalId {
        ProposalId::new(next(self.proposals.len()))
    }

    pub(super) fn next_grant(&self) -> GrantId {
        GrantId::new(next(self.grants.len()))
    }

    /// Writes an event.
    pub(super) fn tell(&mut self, about: About, now: Timestamp, body: EventBody) {
        let seq = Seq(next(self.events.len()));
        let conversation = |about: About| match about {
            About::Conversation(conversation, _) => Some(conversation),
            About::Job(_) => None,
        };
        let before = self.events.iter().rev().find(|event| conversation(event.about) == conversation(about));
        let prev = before.map(|event| event.seq);
        self.events.push(Event { seq, prev, at: now, about, body });
    }

    /// Makes an Item that is open, and tells it only when it is not whole at once.
    pub(super) fn add_item(&mut self, turn: TurnId, now: Timestamp, body: ItemBody) -> Option<ItemId> {
        let conversation = self.turns.get(&turn)?.turn.conversation;
        let id = ItemId::new(next(self.items.len()));
        let seq = Seq(next(self.events.len()));
        let item = Item { id, conversation, turn, seq, created_at: now, completed_at: None, body };
        self.items.insert(id, item);
        Some(id)
    }

    pub(super) fn tell_started(&mut self, id: ItemId, now: Timestamp) {
        if let Some(item) = self.items.get(&id).cloned() {
            self.tell(About::Conversation(item.conversation, Some(item.turn)), now, EventBody::ItemStarted(item));
        }
    }

    /// Completes an Item that is open.
    pub(super) fn complete(&mut self, id: ItemId, now: Timestamp, change: impl FnOnce(&mut ItemBody)) {
        let written = self.texts.remove(&id);
        let Some(item) = self.items.get_mut(&id).filter(|item| item.completed_at.is_none()) else {
            return;
        };
        if let (ItemBody::Assistant { text, reasoning, .. }, Some(more)) = (&mut item.body, written) {
            text.push_str(&more.0);
            reasoning.push_str(&more.1);
        }
        change(&mut item.body);
        item.completed_at = Some(now);
        let item = item.clone();
        self.tell(About::Conversation(item.conversation, Some(item.turn)), now, EventBody::ItemCompleted(item));
    }

    pub(super) fn append(&mut self, id: ItemId, part: Part, text: &str) {
        let is_open = self.items.get(&id).is_some_and(|item| item.completed_at.is_none());
        let texts = self.texts.entry(id).or_default();
        match part {
            Part::Text if is_open => texts.0.push_str(text),
            Part::Reasoning if is_open => texts.1.push_str(text),
            Part::Text | Part::Reasoning | Part::Stdout | Part::Stderr => {}
        }
    }

    pub(super) fn forget_texts(&mut self) {
        self.texts.clear();
    }

    pub(super) fn call_mut(&mut self, at: CallRef) -> Option<&mut CallRow> {
        let turn = self.turns.get_mut(&at.turn)?;
        let reply = turn.replies.get_mut(usize::try_from(at.reply).ok()?)?;
        reply.calls.get_mut(usize::try_from(at.position).ok()?)
    }

    /// Decides a Proposal that is pending, and tells it. The caller has seen that it is.
    pub(super) fn decide(&mut self, id: ProposalId, decision: Decision) {
        let Some(row) = self.proposals.get_mut(&id) else {
            return;
        };
        let now = decision.at;
        row.proposal.decision = Some(decision.clone());
        let proposal = &row.proposal;
        let about = About::Conversation(proposal.conversation, Some(proposal.turn));
        let body = EventBody::ProposalResolved { proposal: id, item: proposal.item, decision };
        self.tell(about, now, body);
    }

    pub(super) fn pending_of(&self, turn: TurnId) -> Vec<ProposalId> {
        let rows = self.proposals.values().map(|row| &row.proposal);
        rows.filter(|proposal| proposal.turn == turn && proposal.decision.is_none()).map(|p| p.id).collect()
    }

    pub(super) fn cancel_pending(&mut self, turn: TurnId, now: Timestamp) {
        for id in self.pending_of(turn) {
            self.decide(id, by_owl(Outcome::Cancelled, now));
        }
    }

    pub(super) fn covering(&self, conversation: ConversationId, scope: &Scope) -> Option<GrantId> {
        let grants = self.grants.values();
        let mut live = grants.filter(|grant| grant.conversation == conversation && grant.revoked_at.is_none());
        live.find(|grant| grant.scope == *scope).map(|grant| grant.id)
    }

    pub(super) fn is_open(&self, turn: TurnId) -> bool {
        self.turns.get(&turn).is_some_and(|row| !row.turn.is_finished())
    }

    pub(super) fn close(&mut self, id: TurnId, ending: Ending, usage: Usage, now: Timestamp) -> Moved {
        if !self.is_open(id) {
            return Moved::Lost;
        }
        self.cancel_pending(id, now);
        let open = self.items.values().filter(|item| item.turn == id && item.completed_at.is_none());
        for item in open.map(|item| item.id).collect::<Vec<_>>() {
            let proposal = self.proposals.values().find(|row| row.proposal.item == item);
            let outcome = proposal.map(|row| outcome_at_close(&row.proposal));
            self.complete(item, now, |body| {
                if let ItemBody::Command(command) = body {
                    command.outcome = outcome;
                }
            });
        }
        if let Some(row) = self.turns.get_mut(&id) {
            row.turn.usage = row.turn.usage.plus(usage);
            row.turn.state = TurnState::Finished(Ended { ending, at: now });
        }
        if let Some(turn) = self.told(id) {
            self.tell(About::Conversation(turn.conversation, Some(id)), now, EventBody::TurnFinished(turn));
        }
        Moved::Won
    }

    /// Returns a Turn as it is told.
    pub(super) fn told(&self, id: TurnId) -> Option<Turn> {
        let mut turn = self.turns.get(&id)?.turn.clone();
        if !turn.is_finished() && self.stored(id)?.next() == Step::Wait {
            turn.state = TurnState::AwaitingConsent;
        }
        Some(turn)
    }

    pub(super) fn stored(&self, id: TurnId) -> Option<StoredTurn> {
        let row = self.turns.get(&id)?;
        let replies = (0..).zip(&row.replies).map(|(at, reply)| self.reply(row, id, at, reply)).collect();
        let turn = row.turn.clone();
        Some(StoredTurn { turn, question: row.question.clone(), cancelling: row.cancelling, replies })
    }

    fn reply(&self, row: &TurnRow, turn: TurnId, at: u32, reply: &ReplyRow) -> StoredReply {
        let calls = (0..).zip(&reply.calls).map(|(position, call)| StoredCall {
            at: CallRef { turn, reply: at, position },
            call: call.call.clone(),
            progress: self.progress(call),
        });
        let text = match reply.item.and_then(|item| self.items.get(&item)).map(|item| &item.body) {
            Some(ItemBody::Assistant { text, .. }) => text.clone(),
            _ => String::new(),
        };
        StoredReply {
            model: row.turn.model.clone(),
            text,
            blocks: reply.whole.as_ref().map(|whole| whole.blocks.clone()).unwrap_or_default(),
            stop: reply.whole.as_ref().map(|whole| whole.stop.clone()),
            calls: calls.collect(),
        }
    }

    fn progress(&self, call: &CallRow) -> CallProgress {
        if let Some(told) = &call.told {
            return CallProgress::Told(told.clone());
        }
        match call.item.and_then(|item| self.items.get(&item)).map(|item| (&item.body, item.completed_at)) {
            Some((ItemBody::Command(command), Some(_))) => {
                CallProgress::Closed(command.outcome.clone().unwrap_or(CommandOutcome::Interrupted))
            }
            _ => match call.proposal.and_then(|id| self.proposal(id)) {
                Some(proposal) => CallProgress::Proposed(proposal),
                None => CallProgress::Unjudged,
            },
        }
    }

    pub(super) fn items_of(&self, turn: TurnId) -> Vec<Item> {
        self.items.values().filter(|item| item.turn == turn).cloned().collect()
    }

    pub(super) fn proposal(&self, id: ProposalId) -> Option<Proposal> {
        self.proposals.get(&id).map(|row| row.proposal.clone())
    }

    pub(super) fn proposals(&self) -> Vec<Proposal> {
        self.proposals.values().map(|row| row.proposal.clone()).collect()
    }

    pub(super) fn grants(&self) -> Vec<Grant> {
        self.grants.values().cloned().collect()
    }
}

/// A decision of Owl's own.
pub(super) fn by_owl(outcome: Outcome, at: Timestamp) -> Decision {
    Decision { outcome, by: By::Owl, at, reason: None, grant: None }
}

/// Returns the calls of a reply, unjudged.
pub(super) fn calls_of(reply: &WholeReply) -> Vec<CallRow> {
    let calls = reply.blocks.iter().filter_map(|block| match block {
        Block::Call(call) if reply.stop.carries_out_calls() => Some(call.clone()),
        Block::Call(_) | Block::Text(_) | Block::Raw(_) => None,
    });
    calls.map(|call| CallRow { call, item: None, proposal: None, told: None }).collect()
}

/// A command's Item that says only what was asked for.
pub(super) fn command(requested: String, workdir: Option<owl_domain::text::AbsPath>) -> CommandItem {
    CommandItem {
        requested,
        workdir,
        shown: None,
        proposal: None,
        grant: None,
        started_at: None,
        finished_at: None,
        outcome: None,
    }
}
