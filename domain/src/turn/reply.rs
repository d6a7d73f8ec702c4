//! Asks the model and stores its reply as it comes (ADR-0022, D16, D17).

use super::{ChatService, Ending, StoredTurn, tools};
use crate::{
    conversation::{Part, history},
    ids::{ItemId, TurnId},
    ports::{Reply, Stop, StoreError},
    project::{Workdir, WorkdirError},
    provider::{AccessError, BrokenBy, LastError, ModelRef, Piece, ReplyStop, TurnError, TurnErrorKind, Usage},
};
use alloc::{string::ToString, sync::Arc, vec::Vec};

impl ChatService {
    /// Asks the model for its next reply and stores it: whole, or with the reason why it is not.
    pub(super) async fn ask(&self, stored: StoredTurn, stop: &Arc<dyn Stop>) -> Result<(), StoreError> {
        let turn = stored.turn.id;
        let model = stored.turn.model.clone();
        let access = match self.ports.providers.access(model.provider).await {
            Ok(access) => access,
            Err(AccessError::Store(error)) => return Err(error),
            Err(error) => return self.close(turn, Ending::Error(not_reachable(model, &error)), Usage::default()).await,
        };
        let workdir = self.workdir_of(&stored).await?;
        let offered = if stored.turn.tools { tools::offered() } else { Vec::new() };
        let system = tools::system_prompt(workdir.as_ref(), stored.turn.tools);
        let known = self.ports.providers.port().known(&model);
        let earlier = self.ports.turns.earlier(turn, history::MOST_BYTES).await?;
        let shaped = history::shape(system, offered, known.as_ref(), &earlier.turns, &stored);
        let left_out = earlier.left_out.saturating_add(shaped.left_out);

        let mut reply = self.ports.providers.port().ask(shaped.request, access, stop.clone()).await;
        let mut text = Growing { service: self, stored: &stored, item: None, has_text: false };
        let pulled = self.pull(reply.as_mut(), &mut text, left_out).await;
        text.end();
        pulled
    }

    async fn pull(&self, reply: &mut dyn Reply, text: &mut Growing<'_>, left_out: u32) -> Result<(), StoreError> {
        let turn = text.stored.turn.id;
        let model = &text.stored.turn.model;
        loop {
            match reply.next().await {
                Piece::Text(piece) => text.grow(Part::Text, &piece).await?,
                Piece::Reasoning(piece) => text.grow(Part::Reasoning, &piece).await?,
                Piece::Retrying(retrying) => self.ports.turns.retrying(turn, retrying, self.now()).await?,
                Piece::Whole(whole) => {
                    text.refused(&whole.stop).await?;
                    self.ports.turns.record(turn, text.item, *whole, left_out, self.now()).await?;
                    return self.ports.providers.told(model.provider, None).await;
                }
                Piece::Broken(broken) => {
                    let ending = self.broken(turn, model, broken.why).await?;
                    return self.close(turn, ending, broken.usage).await;
                }
            }
        }
    }

    async fn broken(&self, turn: TurnId, model: &ModelRef, why: BrokenBy) -> Result<Ending, StoreError> {
        Ok(match why {
            BrokenBy::ContextFull => Ending::ContextFull,
            BrokenBy::Stopped => {
                let cancelling = self.ports.turns.load(turn).await?.is_some_and(|stored| stored.cancelling);
                if cancelling { Ending::Cancelled } else { Ending::Interrupted }
            }
            BrokenBy::Error(error) => {
                let last = LastError { at: self.now(), status: error.status, message: error.message.clone() };
                self.ports.providers.told(model.provider, Some(last)).await?;
                Ending::Error(error)
            }
        })
    }

    /// Returns the directory that the model is told of; one that is gone is told when a command is to run there.
    async fn workdir_of(&self, stored: &StoredTurn) -> Result<Option<Workdir>, StoreError> {
        let Some(path) = &stored.turn.workdir else {
            return Ok(None);
        };
        match self.ports.projects.workdir(path.as_str()).await {
            Ok(workdir) => Ok(Some(workdir)),
            Err(WorkdirError::Store(error)) => Err(error),
            Err(WorkdirError::Invalid { .. }) => Ok(None),
        }
    }
}

/// The Item of a reply's text, begun with its first piece.
struct Growing<'a> {
    service: &'a ChatService,
    stored: &'a StoredTurn,
    item: Option<ItemId>,
    has_text: bool,
}

impl Growing<'_> {
    async fn grow(&mut self, part: Part, piece: &str) -> Result<(), StoreError> {
        let ports = &self.service.ports;
        let turn = &self.stored.turn;
        let item = match self.item {
            Some(item) => item,
            None => {
                let item = ports.turns.open_text(turn.id, self.service.now()).await?;
                ports.live.open(turn.conversation, turn.id, item);
                *self.item.insert(item)
            }
        };
        self.has_text |= part == Part::Text;
        ports.turns.append(item, part, piece);
        ports.live.append(item, part, piece);
        Ok(())
    }

    /// Tells the service's explanation of a refusal as text of the reply: often there is no other. No model reads it,
    /// since the Turn is left out of every later request.
    async fn refused(&mut self, stop: &ReplyStop) -> Result<(), StoreError> {
        let ReplyStop::Refusal { explanation: Some(explanation) } = stop else {
            return Ok(());
        };
        if explanation.trim().is_empty() {
            return Ok(());
        }
        if self.has_text {
            self.grow(Part::Text, "\n\n").await?;
        }
        self.grow(Part::Text, explanation).await
    }

    fn end(self) {
        if let Some(item) = self.item {
            self.service.ports.live.close(item);
        }
    }
}

fn not_reachable(model: ModelRef, error: &AccessError) -> TurnError {
    let kind = match error {
        AccessError::NotConfigured { .. } => TurnErrorKind::ProviderNotConfigured,
        AccessError::Credential(_) | AccessError::Store(_) => TurnErrorKind::Internal,
    };
    TurnError {
        provider: Some(model.provider),
        hint: Some(alloc::format!("give it a key: owl provider add {}", model.provider)),
        model: Some(model),
        ..TurnError::of(kind, error.to_string())
    }
}
