//! Carries a Turn on, one stored step after the other (ADR-0022, D16). The code that carries it on after a consent is
//! the code that carries it on after a restart: [`ChatService::advance`] keeps nothing of its own.

use super::{Ending, Step, Turn, at_work::AtWork};
use crate::{
    consent::{Answer, Answered, By, Grant, Outcome, Peer, Proposal},
    conversation::{Page, PageError, Paged},
    ids::{ConversationId, GrantId, ProposalId, TurnId},
    job::JobService,
    judge::Judge,
    ports::{
        AnswerError, BeginError, Begun, Clock, Commands, Conversations, Grants, Legs, Live, NewTurn, Once,
        ProposalFilter, Proposals, RevokedGrants, Stop, StoreError, Turns, Wakes,
    },
    project::{ProjectService, WorkdirError},
    provider::{AccessError, ModelRef, Provider, ProviderService, TurnError, TurnErrorKind, Usage},
    text::Question,
    time::Timestamp,
    turn::OnConsent,
};
use alloc::{string::String, sync::Arc, vec::Vec};
use core::time::Duration;

/// Holds Conversations with a model: sends, answers, carries on.
pub struct ChatService {
    pub(super) ports: ChatPorts,
    /// How long a Proposal waits for a person.
    pub(super) consent_window: Duration,
}

/// What the service needs.
pub struct ChatPorts {
    /// Turns as rows.
    pub turns: Arc<dyn Turns>,
    /// Proposals as rows.
    pub proposals: Arc<dyn Proposals>,
    /// Grants as rows.
    pub grants: Arc<dyn Grants>,
    /// Conversations as rows.
    pub conversations: Arc<dyn Conversations>,
    /// Runs what was cleared.
    pub commands: Arc<dyn Commands>,
    /// Carries text to whoever watches.
    pub live: Arc<dyn Live>,
    /// Has Turns carried on.
    pub legs: Arc<dyn Legs>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// The gate with its facts.
    pub judge: Arc<Judge>,
    /// The directories in which commands may run.
    pub projects: Arc<ProjectService>,
    /// How to reach a Provider.
    pub providers: Arc<ProviderService>,
    /// Jobs and Runs, which a model may read.
    pub jobs: Arc<JobService>,
}

/// A question that a client sends.
#[derive(Debug, Clone)]
pub struct Message {
    /// To which Conversation.
    pub conversation: ConversationId,
    /// The question.
    pub text: Question,
    /// Where its commands run, as it was given; the Conversation's when left out.
    pub workdir: Option<String>,
    /// Which model is asked; the Conversation's when left out.
    pub model: Option<ModelRef>,
    /// What becomes of commands that would have to be asked about.
    pub on_consent: OnConsent,
    /// Who sends it.
    pub from: Peer,
    /// The client's key.
    pub once: Option<Once>,
}

/// Why a question was not taken. Nothing was stored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// No such Conversation, a Turn at work in it, the key used otherwise, or the store failed.
    #[error(transparent)]
    Begin(#[from] BeginError),
    /// The workdir is none.
    #[error(transparent)]
    Workdir(#[from] WorkdirError),
    /// No model was named and none can be chosen.
    #[error("no model was named")]
    ModelRequired {
        /// The Providers that could be asked.
        configured: Vec<Provider>,
    },
    /// The model's Provider cannot be asked.
    #[error(transparent)]
    Access(#[from] AccessError),
}

/// How a Turn stands, for a script that waits.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnView {
    /// The Turn.
    pub turn: Turn,
    /// The text of its assistant Items so far.
    pub text: String,
    /// The Proposals of it that wait.
    pub pending: Vec<Proposal>,
}

impl ChatService {
    /// Makes the service. `consent_window` is how long a Proposal waits for a person.
    pub fn new(ports: ChatPorts, consent_window: Duration) -> Self {
        Self { ports, consent_window }
    }

    /// Stores a question and has its Turn carried on.
    ///
    /// # Errors
    /// [`SendError`]: nothing was stored.
    pub async fn send(&self, message: Message) -> Result<Begun, SendError> {
        let ports = &self.ports;
        if let Some(once) = &message.once
            && let Some(begun) = ports.turns.repeated(message.conversation, once.clone()).await?
        {
            return Ok(begun);
        }
        let conversation = ports.conversations.get(message.conversation).await.map_err(BeginError::from)?;
        let conversation = conversation.ok_or(BeginError::NotFound)?;
        // The Conversation's own directory is checked when a command is to run there: a question needs none.
        let workdir = match &message.workdir {
            Some(given) => Some(ports.projects.workdir(given).await?.path().clone()),
            None => conversation.workdir,
        };
        let model = match message.model.or(conversation.model) {
            Some(model) => model,
            None => self.chosen_model().await?,
        };
        let _reachable = ports.providers.access(model.provider).await?;
        let known = ports.providers.port().known(&model);
        let new = NewTurn {
            conversation: message.conversation,
            question: message.text,
            workdir,
            tools: known.and_then(|known| known.tools).unwrap_or(true),
            model,
            on_consent: message.on_consent,
            sent_by: message.from,
            once: message.once,
        };
        let begun = ports.turns.begin(new, ports.clock.now()).await?;
        ports.legs.wake(begun.turn);
        Ok(begun)
    }

    async fn chosen_model(&self) -> Result<ModelRef, SendError> {
        match self.ports.providers.default_model().await? {
            Some(model) => Ok(model),
            None => {
                let configured = self.ports.providers.configured().await?;
                let configured = configured.into_iter().map(|(provider, _)| provider).chain([Provider::Demo]).collect();
                Err(SendError::ModelRequired { configured })
            }
        }
    }

    /// Stops a Conversation's Turn. Returns it; none when none was at work. Answers at once: `turn.finished` is the
    /// truth.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn cancel(
        &self,
        conversation: ConversationId,
        turn: Option<TurnId>,
    ) -> Result<Option<TurnId>, StoreError> {
        let cancelled = self.ports.turns.cancel(conversation, turn, self.ports.clock.now()).await?;
        if let Some(turn) = cancelled {
            self.ports.legs.stop(turn);
        }
        Ok(cancelled)
    }

    /// Answers a Proposal, and has its Turn carried on.
    ///
    /// # Errors
    /// [`AnswerError`] says what it decided nothing for.
    pub async fn answer(&self, answer: Answer, from: Peer) -> Result<Answered, AnswerError> {
        let id = answer.proposal;
        let answered = self.ports.proposals.answer(answer, By::Client(from), self.ports.clock.now()).await;
        match &answered {
            Ok(answered) => self.ports.legs.wake(answered.proposal.turn),
            // An answer past the deadline is what noticed it: the Turn goes on with that.
            Err(AnswerError::AlreadyResolved { decision, .. }) if decision.outcome == Outcome::Expired => {
                if let Some(proposal) = self.ports.proposals.get(id).await? {
                    self.ports.legs.wake(proposal.turn);
                }
            }
            Err(_) => {}
        }
        answered
    }

    /// Takes a Grant back. None when there is none of that id.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn revoke(&self, grant: GrantId, from: Peer) -> Result<Option<Grant>, StoreError> {
        self.ports.grants.revoke(grant, By::Client(from), self.ports.clock.now()).await
    }

    /// Returns Grants, newest first.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn grants(
        &self,
        conversation: Option<ConversationId>,
        revoked: RevokedGrants,
    ) -> Result<Vec<Grant>, StoreError> {
        self.ports.grants.list(conversation, revoked).await
    }

    /// Returns a Proposal; none when there is none of that id.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn proposal(&self, id: ProposalId) -> Result<Option<Proposal>, StoreError> {
        self.ports.proposals.get(id).await
    }

    /// Returns a page of Proposals, oldest first.
    ///
    /// # Errors
    /// [`PageError`].
    pub async fn proposals(&self, filter: ProposalFilter, page: Page) -> Result<Paged<Proposal>, PageError> {
        self.ports.proposals.list(filter, page).await
    }

    /// Returns how a Turn stands; none when there is none of that id.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn view(&self, id: TurnId) -> Result<Option<TurnView>, StoreError> {
        let Some(turn) = self.ports.turns.get(id).await? else {
            return Ok(None);
        };
        let pending = match self.ports.turns.load(id).await? {
            Some(stored) => stored.pending(),
            None => Vec::new(),
        };
        let text = self.ports.turns.text(id).await?;
        Ok(Some(TurnView { turn, text, pending }))
    }

    /// Lets Proposals expire whose time is over, has their Turns carried on, and returns the next deadline.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn expire_due(&self) -> Result<Option<Timestamp>, StoreError> {
        for turn in self.ports.proposals.expire_due(self.ports.clock.now()).await? {
            self.ports.legs.wake(turn);
        }
        self.ports.proposals.next_deadline().await
    }

    /// At start, before anybody is served: what was streaming or executing becomes interrupted, what is overdue expires,
    /// and each Turn with something due is carried on from its rows.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn recover(&self) -> Result<(), StoreError> {
        let unfinished = self.ports.turns.recover(self.now()).await?;
        let _next = self.expire_due().await?;
        for turn in unfinished {
            self.ports.legs.wake(turn);
        }
        Ok(())
    }

    /// Carries a Turn on as far as it can go without a person. When the store fails, the Turn is closed as far as the
    /// store still lets it, and the failure is returned for whoever retries.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn advance(&self, id: TurnId, stop: Arc<dyn Stop>, wakes: &dyn Wakes) -> Result<(), StoreError> {
        let carried = self.carry_on(id, &stop, wakes).await;
        if carried.is_err() {
            self.give_up(id).await?;
        }
        carried
    }

    /// Closes a Turn that could not be saved. It is not carried on: the model would be asked again.
    ///
    /// # Errors
    /// [`StoreError`], as long as the store fails.
    pub async fn give_up(&self, id: TurnId) -> Result<(), StoreError> {
        let error = TurnError::of(TurnErrorKind::Storage, "the turn could not be saved; the daemon's log says why");
        self.close(id, Ending::Error(error), Usage::default()).await
    }

    async fn carry_on(&self, id: TurnId, stop: &Arc<dyn Stop>, wakes: &dyn Wakes) -> Result<(), StoreError> {
        let mut at_work = AtWork::default();
        let mut read = None;
        loop {
            let turn = match read.take() {
                Some(turn) => turn,
                None => {
                    let _before_these_rows = at_work.has_ended();
                    let Some(turn) = at_work.beside(self.ports.turns.load(id)).await? else { break };
                    if turn.turn.is_finished() {
                        break;
                    }
                    if at_work.has_ended() {
                        continue;
                    }
                    turn
                }
            };
            let step = if at_work.is_cut_off() && stop.is_stopped() {
                Step::Close(Ending::Interrupted)
            } else {
                turn.next_beside(|at| at_work.runs(at))
            };
            // The daemon stops: a Turn that would only now begin something begins it after the next start, but for the
            // model, which is never asked again by itself. One that is at its end ends, once nothing of it runs.
            let step = match step {
                Step::Close(_) if !at_work.is_empty() => Step::Wait,
                Step::Ask if stop.is_stopped() => Step::Close(Ending::Interrupted),
                Step::Judge(_) | Step::Run(..) | Step::Tell(..) if stop.is_stopped() => Step::Wait,
                step @ (Step::Ask | Step::Judge(_) | Step::Run(..) | Step::Tell(..) | Step::Wait | Step::Close(_)) => {
                    step
                }
            };
            match step {
                Step::Ask => at_work.beside(self.ask(turn, stop)).await?,
                Step::Judge(call) => at_work.beside(self.judge(&turn, &call)).await?,
                Step::Run(at, proposal) => {
                    at_work.begin(at, self.run(at, proposal, stop));
                    // It has not done anything yet, so these rows tell the next step, too.
                    read = Some(turn);
                }
                Step::Tell(at, proposal) => at_work.beside(self.tell(at, &proposal)).await?,
                Step::Wait if at_work.is_empty() => return Ok(()),
                Step::Wait => at_work.one_or(wakes.woken()).await?,
                Step::Close(ending) => at_work.beside(self.close(id, ending, Usage::default())).await?,
            }
        }
        at_work.all().await
    }

    pub(super) async fn close(&self, id: TurnId, ending: Ending, usage: Usage) -> Result<(), StoreError> {
        // Losing means that it is closed already, which is what was wanted.
        let _closed_by_either = self.ports.turns.close(id, ending, usage, self.now()).await?;
        Ok(())
    }

    pub(super) fn now(&self) -> Timestamp {
        self.ports.clock.now()
    }
}
