//! The port of Proposals: one lock makes each decision a compare-and-set.

use super::{
    MemoryTurns,
    rows::{ProposalRow, Rows, by_owl, command},
};
use owl_domain::{
    consent::{Answer, Answered, By, Decision, Grant, Outcome, Proposal, Said, Scope},
    conversation::{CommandOutcome, ItemBody, Page, PageError, Paged},
    ids::{GrantId, ProposalId, TurnId},
    limits,
    ports::{
        AnswerError, Moved, NewProposal, OpenError, ProposalFilter, ProposalState, Proposals, Settled, StoreError,
    },
    time::Timestamp,
    turn::{About, CallRef, EventBody, OnConsent},
};

impl Rows {
    fn open(&mut self, new: NewProposal, now: Timestamp) -> Result<Proposal, OpenError> {
        let at = new.call;
        let unjudged = self.is_open(at.turn) && self.call_mut(at).is_some_and(|call| call.item.is_none());
        let Some(row) = self.turns.get(&at.turn).filter(|row| unjudged && !row.cancelling) else {
            return Err(OpenError::Lost);
        };
        let conversation = row.turn.conversation;
        let (on_consent, sent_by) = (row.turn.on_consent, row.sent_by.clone());
        let scope = Scope::of(&new.shown);
        let decide = |outcome, by, grant| Decision { outcome, by, at: now, reason: None, grant };
        let decision = match (self.covering(conversation, &scope), on_consent) {
            (Some(grant), _) => Some(decide(Outcome::Allowed, By::Grant, Some(grant))),
            (None, OnConsent::Deny) => Some(decide(Outcome::Denied, By::Turn(sent_by), None)),
            (None, OnConsent::Ask) => None,
        };
        let waits = self.proposals.values().map(|row| &row.proposal);
        let waits = waits.filter(|p| p.conversation == conversation && p.decision.is_none()).count();
        if decision.is_none() && waits >= limits::PROPOSALS_PENDING {
            return Err(OpenError::TooMany);
        }
        let id = self.next_proposal();
        let grant = decision.as_ref().and_then(|decision| decision.grant);
        let mut shown_command = command(new.shown.requested.clone(), Some(new.shown.workdir.clone()));
        shown_command.shown = Some(new.shown.clone());
        (shown_command.proposal, shown_command.grant) = (Some(id), grant);
        let item = self.add_item(at.turn, now, ItemBody::Command(Box::new(shown_command))).ok_or(OpenError::Lost)?;
        self.tell_started(item, now);
        let proposal = Proposal {
            id,
            conversation,
            turn: at.turn,
            item,
            created_at: now,
            expires_at: new.expires_at,
            shown: new.shown,
            project: new.workdir.project,
            decision: decision.clone(),
            started_at: None,
        };
        if let Some(call) = self.call_mut(at) {
            (call.item, call.proposal) = (Some(item), Some(id));
        }
        self.proposals.insert(id, ProposalRow { proposal: proposal.clone(), call: at });
        let about = About::Conversation(conversation, Some(at.turn));
        self.tell(about, now, EventBody::ProposalCreated(Box::new(proposal.clone())));
        if let Some(decision) = decision {
            self.decide(id, decision);
        }
        if let Some(grant) = grant.and_then(|id| self.grants.get_mut(&id)) {
            grant.uses += 1;
            grant.last_used_at = Some(now);
        }
        Ok(proposal)
    }

    fn answer(&mut self, answer: &Answer, by: By, now: Timestamp) -> Result<Answered, AnswerError> {
        let before = self.proposal(answer.proposal).ok_or(AnswerError::NotFound)?;
        let conversation = before.conversation;
        if answer.conversation.is_some_and(|named| named != conversation) {
            return Err(AnswerError::ConversationMismatch { conversation });
        }
        if answer.digest.as_ref().is_some_and(|digest| *digest != before.shown.digest) {
            return Err(AnswerError::Stale { digest: before.shown.digest });
        }
        let outcome = match answer.verdict {
            Said::AllowOnce | Said::AllowForConversation => Outcome::Allowed,
            Said::Deny(_) => Outcome::Denied,
        };
        if before.decision.is_none() && before.expires_at <= now {
            self.decide(before.id, by_owl(Outcome::Expired, now));
        } else if before.decision.is_none() {
            let reason = match &answer.verdict {
                Said::Deny(reason) => reason.clone(),
                Said::AllowOnce | Said::AllowForConversation => None,
            };
            let remembered = answer.verdict == Said::AllowForConversation;
            let known = self.covering(conversation, &Scope::of(&before.shown)).filter(|_| remembered);
            let new = remembered.then(|| self.next_grant()).filter(|_| known.is_none());
            let grant = known.or(new);
            self.decide(before.id, Decision { outcome, by: by.clone(), at: now, reason, grant });
            if let Some(id) = new {
                self.give(id, &before, by, now);
            }
            let proposal = self.proposal(before.id).ok_or(AnswerError::NotFound)?;
            let decision = proposal.decision.clone().ok_or(AnswerError::NotFound)?;
            return Ok(Answered { proposal, decision, won: true });
        }
        let proposal = self.proposal(before.id).ok_or(AnswerError::NotFound)?;
        let decision = proposal.decision.clone().ok_or(AnswerError::NotFound)?;
        match decision.outcome {
            Outcome::Allowed | Outcome::Denied if decision.outcome == outcome => {
                Ok(Answered { proposal, decision, won: false })
            }
            Outcome::Allowed | Outcome::Denied | Outcome::Expired | Outcome::Cancelled => {
                Err(AnswerError::AlreadyResolved { proposal: before.id, decision })
            }
        }
    }

    fn give(&mut self, id: GrantId, from: &Proposal, by: By, now: Timestamp) {
        let grant = Grant {
            id,
            conversation: from.conversation,
            scope: Scope::of(&from.shown),
            created_at: now,
            created_from: from.id,
            granted_by: by.clone(),
            uses: 0,
            last_used_at: None,
            revoked_at: None,
        };
        self.grants.insert(id, grant.clone());
        let about = About::Conversation(from.conversation, Some(from.turn));
        self.tell(about, now, EventBody::GrantCreated { grant, by });
    }

    fn expire_due(&mut self, now: Timestamp) -> Vec<TurnId> {
        let pending = self.proposals.values().map(|row| &row.proposal).filter(|p| p.decision.is_none());
        let due: Vec<_> = pending.filter(|p| p.expires_at <= now).map(|p| (p.id, p.turn)).collect();
        for (id, _) in &due {
            self.decide(*id, by_owl(Outcome::Expired, now));
        }
        let mut turns: Vec<_> = due.into_iter().map(|(_, turn)| turn).collect();
        turns.dedup();
        turns
    }

    fn start(&mut self, id: ProposalId, pid: u32, now: Timestamp) -> Moved {
        let turns = &self.turns;
        let goes_on = |turn: &TurnId| turns.get(turn).is_some_and(|row| !row.cancelling && !row.turn.is_finished());
        let is_allowed = |proposal: &Proposal| {
            proposal.decision.as_ref().is_some_and(|decision| decision.outcome == Outcome::Allowed)
        };
        let Some(row) = self.proposals.get_mut(&id).filter(|row| {
            is_allowed(&row.proposal) && row.proposal.started_at.is_none() && goes_on(&row.proposal.turn)
        }) else {
            return Moved::Lost;
        };
        row.proposal.started_at = Some(now);
        let proposal = row.proposal.clone();
        let mut grant = None;
        if let Some(ItemBody::Command(command)) = self.items.get_mut(&proposal.item).map(|item| &mut item.body) {
            command.started_at = Some(now);
            grant = command.grant;
        }
        let about = About::Conversation(proposal.conversation, Some(proposal.turn));
        let shown = Box::new(proposal.shown);
        let body = EventBody::CommandStarted { item: proposal.item, proposal: id, grant, pid, shown };
        self.tell(about, now, body);
        Moved::Won
    }

    fn settle_command(&mut self, id: ProposalId, at: CallRef, settled: Settled, now: Timestamp) -> Moved {
        let Some(row) = self.proposals.get(&id).filter(|row| row.call == at) else {
            return Moved::Lost;
        };
        let (item, about) =
            (row.proposal.item, About::Conversation(row.proposal.conversation, Some(row.proposal.turn)));
        if self.items.get(&item).is_none_or(|item| item.completed_at.is_some()) {
            return Moved::Lost;
        }
        if let CommandOutcome::Ran(result) = &settled.outcome {
            let result = Box::new(result.clone());
            self.tell(about, now, EventBody::CommandFinished { item, result });
        }
        if let Some(call) = self.call_mut(at) {
            call.told = Some(settled.told);
        }
        self.complete(item, now, |body| {
            if let ItemBody::Command(command) = body {
                command.finished_at = matches!(settled.outcome, CommandOutcome::Ran(_)).then_some(now);
                command.outcome = Some(settled.outcome);
            }
        });
        Moved::Won
    }
}

fn is_listed(proposal: &Proposal, filter: &ProposalFilter) -> bool {
    let outcome = proposal.decision.as_ref().map(|decision| decision.outcome);
    let in_state = match filter.state {
        ProposalState::Pending => outcome.is_none(),
        ProposalState::Decided(wanted) => outcome == Some(wanted),
        ProposalState::All => true,
    };
    in_state && filter.conversation.is_none_or(|conversation| conversation == proposal.conversation)
}

#[async_trait::async_trait]
impl Proposals for MemoryTurns {
    async fn open(&self, new: NewProposal, now: Timestamp) -> Result<Proposal, OpenError> {
        self.change(|rows| rows.open(new, now)).await?
    }

    async fn get(&self, id: ProposalId) -> Result<Option<Proposal>, StoreError> {
        Ok(self.read(|rows| rows.proposal(id)).await)
    }

    /// One page holds all.
    async fn list(&self, filter: ProposalFilter, page: Page) -> Result<Paged<Proposal>, PageError> {
        if page.cursor.is_some() {
            return Err(PageError::Cursor);
        }
        let mut items = self.read(Rows::proposals).await;
        items.retain(|proposal| is_listed(proposal, &filter));
        Ok(Paged { items, next: None })
    }

    async fn answer(&self, answer: Answer, by: By, now: Timestamp) -> Result<Answered, AnswerError> {
        self.change(|rows| rows.answer(&answer, by, now)).await?
    }

    async fn expire_due(&self, now: Timestamp) -> Result<Vec<TurnId>, StoreError> {
        self.change(|rows| rows.expire_due(now)).await
    }

    async fn next_deadline(&self) -> Result<Option<Timestamp>, StoreError> {
        let pending = |rows: &Rows| {
            let pending = rows.proposals().into_iter().filter(|proposal| proposal.decision.is_none());
            pending.map(|proposal| proposal.expires_at).min()
        };
        Ok(self.read(pending).await)
    }

    async fn start(&self, id: ProposalId, pid: u32, now: Timestamp) -> Result<Moved, StoreError> {
        self.change(|rows| rows.start(id, pid, now)).await
    }

    async fn settle(
        &self,
        id: ProposalId,
        call: CallRef,
        settled: Settled,
        now: Timestamp,
    ) -> Result<Moved, StoreError> {
        self.change(|rows| rows.settle_command(id, call, settled, now)).await
    }
}
