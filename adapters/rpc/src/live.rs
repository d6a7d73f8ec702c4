//! Text on its way between two writes. Nothing is queued for anybody: whoever watches reads on from where it is in the
//! growing text, so a slow watcher gets fewer and larger pieces (D7, D16).

use owl_domain::{
    conversation::Part,
    ids::{ConversationId, ItemId, TurnId},
    ports::Live,
    text::cut_bytes,
};
use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::sync::watch;

/// A piece of text has at most this many bytes.
pub(crate) const PIECE_BYTES: usize = 64 * 1024;

/// The open Items of all Conversations, as far as they have grown. Keeps nothing of a closed one.
#[derive(Debug, Default)]
pub struct LiveTexts {
    held: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    conversations: HashMap<ConversationId, Watched>,
    where_is: HashMap<ItemId, ConversationId>,
}

#[derive(Debug)]
struct Watched {
    grown: watch::Sender<()>,
    items: BTreeMap<ItemId, Growing>,
}

#[derive(Debug)]
struct Growing {
    turn: TurnId,
    parts: [String; Part::ALL.len()],
}

/// Watches one Conversation.
#[derive(Debug)]
pub(crate) struct Watching {
    live: Arc<LiveTexts>,
    conversation: ConversationId,
    grown: watch::Receiver<()>,
}

impl LiveTexts {
    /// Makes it, with nothing on its way.
    pub fn new() -> Self {
        Self::default()
    }

    pub(crate) fn watch(self: &Arc<Self>, conversation: ConversationId) -> Watching {
        let mut held = self.lock();
        let watched = held.conversations.entry(conversation).or_default();
        let grown = watched.grown.subscribe();
        Watching { live: self.clone(), conversation, grown }
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Watched {
    fn default() -> Self {
        Self { grown: watch::Sender::new(()), items: BTreeMap::new() }
    }
}

impl Held {
    fn tidy(&mut self, conversation: ConversationId) {
        let unused = |watched: &Watched| watched.items.is_empty() && watched.grown.receiver_count() == 0;
        if self.conversations.get(&conversation).is_some_and(unused) {
            self.conversations.remove(&conversation);
        }
    }
}

impl Live for LiveTexts {
    fn open(&self, conversation: ConversationId, turn: TurnId, item: ItemId) {
        let mut held = self.lock();
        held.where_is.insert(item, conversation);
        let growing = Growing { turn, parts: Default::default() };
        held.conversations.entry(conversation).or_default().items.insert(item, growing);
    }

    fn append(&self, item: ItemId, part: Part, text: &str) {
        let mut held = self.lock();
        let Some(conversation) = held.where_is.get(&item).copied() else { return };
        let Some(watched) = held.conversations.get_mut(&conversation) else { return };
        if let Some(part) = watched.items.get_mut(&item).and_then(|item| item.parts.get_mut(part as usize)) {
            part.push_str(text);
            watched.grown.send_replace(());
        }
    }

    fn close(&self, item: ItemId) {
        let mut held = self.lock();
        let Some(conversation) = held.where_is.remove(&item) else { return };
        if let Some(watched) = held.conversations.get_mut(&conversation) {
            watched.items.remove(&item);
        }
        held.tidy(conversation);
    }
}

impl Watching {
    /// Returns once something has grown since the last time.
    pub(crate) async fn grown(&mut self) {
        // The sender stays as long as somebody watches.
        let _still_there = self.grown.changed().await;
    }

    /// Returns the Items that are open, and their Turns.
    pub(crate) fn open(&self) -> Vec<(ItemId, TurnId)> {
        let held = self.live.lock();
        let watched = held.conversations.get(&self.conversation);
        watched.into_iter().flat_map(|watched| &watched.items).map(|(item, growing)| (*item, growing.turn)).collect()
    }

    /// Returns what a part holds behind `offset`, at most one piece of it; nothing when it holds no more.
    pub(crate) fn piece(&self, item: ItemId, part: Part, offset: usize) -> Option<String> {
        let held = self.live.lock();
        let growing = held.conversations.get(&self.conversation)?.items.get(&item)?;
        let rest = growing.parts.get(part as usize)?.get(offset..).filter(|rest| !rest.is_empty())?;
        Some(cut_bytes(rest, PIECE_BYTES).to_owned())
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        let (_, unwatched) = watch::channel(());
        self.grown = unwatched;
        self.live.lock().tidy(self.conversation);
    }
}

#[cfg(test)]
mod tests;
