//! The newest events, in memory: many who follow are told of one event without as many looks at the file. What stands
//! here is committed; what does not is read from the file.

use owl_domain::{
    ids::{ConversationId, Seq},
    limits,
    ports::{EventScope, StoredEvent},
    turn::About,
};
use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
};

/// Events that are kept, unless they are large.
const EVENTS: usize = 1_024;

/// The newest events.
pub(crate) struct Recent(Mutex<Kept>);

struct Kept {
    /// Every event beyond this number is here, unless it was deleted.
    beyond: Seq,
    events: VecDeque<StoredEvent>,
    bytes: usize,
}

impl Recent {
    /// Begins with the newest event that is in the file.
    pub(crate) fn new(newest: Seq) -> Self {
        Self(Mutex::new(Kept { beyond: newest, events: VecDeque::new(), bytes: 0 }))
    }

    /// Adds what was committed, and takes away what that is too much for, or what it says was deleted.
    pub(crate) fn add(&self, events: Vec<StoredEvent>) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for event in events {
            if let ("conversation.deleted", About::Conversation(id, _)) = (event.name, event.about) {
                kept.events.retain(|earlier| !is_of(earlier, id));
                kept.bytes = kept.events.iter().map(|event| event.text.len()).sum();
            }
            kept.bytes += event.text.len();
            kept.events.push_back(event);
            while kept.events.len() > EVENTS || kept.bytes > limits::EVENTS_AHEAD_BYTES {
                let Some(oldest) = kept.events.pop_front() else { break };
                kept.bytes -= oldest.text.len();
                kept.beyond = oldest.seq;
            }
        }
    }

    /// Returns at most that many events beyond a number; none when some of them may stand in the file alone.
    pub(crate) fn after(&self, seq: Seq, scope: &EventScope, most: usize) -> Option<Vec<StoredEvent>> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if seq < kept.beyond {
            return None;
        }
        let first = kept.events.partition_point(|event| event.seq <= seq);
        let of_scope = |event: &&StoredEvent| match scope {
            EventScope::All => true,
            EventScope::Conversation(id) => is_of(event, *id),
        };
        Some(kept.events.range(first..).filter(of_scope).take(most).cloned().collect())
    }
}

fn is_of(event: &StoredEvent, conversation: ConversationId) -> bool {
    matches!(event.about, About::Conversation(of, _) if of == conversation)
}

#[cfg(test)]
mod tests {
    use super::*;
    use owl_domain::ids::JobId;

    const ONE: ConversationId = ConversationId::new(1);

    fn event(seq: i64, of: ConversationId, name: &'static str, bytes: usize) -> StoredEvent {
        let about = About::Conversation(of, None);
        StoredEvent { seq: Seq(seq), about, name, item: None, text: "x".repeat(bytes) }
    }

    fn seqs(recent: &Recent, after: i64, scope: &EventScope) -> Option<Vec<i64>> {
        let events = recent.after(Seq(after), scope, 3)?;
        Some(events.into_iter().map(|event| event.seq.0).collect())
    }

    #[test]
    fn what_came_before_is_in_the_file_alone() {
        let recent = Recent::new(Seq(7));
        assert_eq!(seqs(&recent, 6, &EventScope::All), None);
        assert_eq!(seqs(&recent, 7, &EventScope::All), Some(vec![]));
        recent.add(vec![event(8, ONE, "conversation.updated", 1)]);
        assert_eq!(seqs(&recent, 6, &EventScope::All), None);
        assert_eq!(seqs(&recent, 7, &EventScope::All), Some(vec![8]));
        assert_eq!(seqs(&recent, 8, &EventScope::All), Some(vec![]));
    }

    #[test]
    fn each_scope_gets_its_own_in_order_and_no_more_than_asked_for() {
        let recent = Recent::new(Seq(0));
        let other = ConversationId::new(2);
        let job = StoredEvent { about: About::Job(JobId::new(1)), ..event(3, ONE, "job.updated", 1) };
        recent.add(vec![event(1, ONE, "x", 1), event(2, other, "x", 1), job, event(4, ONE, "x", 1)]);
        assert_eq!(seqs(&recent, 0, &EventScope::All), Some(vec![1, 2, 3]));
        assert_eq!(seqs(&recent, 0, &EventScope::Conversation(ONE)), Some(vec![1, 4]));
        assert_eq!(seqs(&recent, 1, &EventScope::Conversation(other)), Some(vec![2]));
        assert_eq!(seqs(&recent, 2, &EventScope::Conversation(other)), Some(vec![]));
    }

    #[test]
    fn what_is_too_much_goes_and_is_looked_for_in_the_file() {
        let recent = Recent::new(Seq(0));
        let half = limits::EVENTS_AHEAD_BYTES / 2;
        recent.add(vec![event(1, ONE, "x", half), event(2, ONE, "x", half)]);
        assert_eq!(seqs(&recent, 0, &EventScope::All), Some(vec![1, 2]));
        recent.add(vec![event(3, ONE, "x", 1)]);
        assert_eq!(seqs(&recent, 0, &EventScope::All), None);
        assert_eq!(seqs(&recent, 1, &EventScope::All), Some(vec![2, 3]));
        recent.add(vec![event(4, ONE, "x", 3 * half)]);
        assert_eq!(seqs(&recent, 3, &EventScope::All), None);
        assert_eq!(seqs(&recent, 4, &EventScope::All), Some(vec![]));
        recent.add((5..5 + 1_025).map(|seq| event(seq, ONE, "x", 1)).collect());
        assert_eq!(seqs(&recent, 4, &EventScope::All), None);
        assert_eq!(seqs(&recent, 5, &EventScope::All), Some(vec![6, 7, 8]));
    }

    #[test]
    fn nothing_of_a_deleted_conversation_is_kept_but_that_it_was_deleted() {
        let recent = Recent::new(Seq(0));
        let other = ConversationId::new(2);
        recent.add(vec![event(1, ONE, "x", 9), event(2, other, "x", 5)]);
        recent.add(vec![event(3, ONE, "conversation.deleted", 2)]);
        assert_eq!(seqs(&recent, 0, &EventScope::All), Some(vec![2, 3]));
        assert_eq!(recent.0.lock().unwrap().bytes, 7);
    }
}
