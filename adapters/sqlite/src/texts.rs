//! Text on its way to an open Item: kept in memory until the writer takes it, so that a token costs no transaction
//! (D16). Knows no SQL; what is lost with a killed daemon is what stands here.

use owl_domain::{conversation::Part, ids::ItemId, limits};
use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// Text that is not written yet.
#[derive(Default)]
pub(crate) struct Texts {
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    texts: BTreeMap<(ItemId, Part), String>,
    bytes: usize,
}

/// What the writer has to be told after text was added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Due {
    /// Nothing: it knows already.
    Known,
    /// Text waits, where none did.
    Soon,
    /// So much waits that it is to be written at once.
    Now,
}

impl Texts {
    /// Adds text of an Item. What a command prints is not kept here: its result, which is bounded, is stored when it
    /// ended.
    pub(crate) fn add(&self, item: ItemId, part: Part, text: &str) -> Due {
        match part {
            Part::Text | Part::Reasoning => {}
            Part::Stdout | Part::Stderr => return Due::Known,
        }
        let mut waiting = self.lock();
        let before = waiting.bytes;
        waiting.texts.entry((item, part)).or_default().push_str(text);
        waiting.bytes += text.len();
        let much = limits::TEXT_WRITTEN_BYTES;
        match before {
            _ if before < much && waiting.bytes >= much => Due::Now,
            0 => Due::Soon,
            _ => Due::Known,
        }
    }

    /// Returns a copy of all that waits.
    pub(crate) fn waiting(&self) -> Vec<(ItemId, Part, String)> {
        self.lock().texts.iter().map(|(&(item, part), text)| (item, part, text.clone())).collect()
    }

    /// Returns a copy of what waits of one Item.
    pub(crate) fn of(&self, item: ItemId, part: Part) -> String {
        self.lock().texts.get(&(item, part)).cloned().unwrap_or_default()
    }

    /// Takes away what was written. What came meanwhile stays, and whoever added it was told that the writer knows: so
    /// this returns [`Due::Soon`] when anything waits.
    pub(crate) fn written(&self, written: &[(ItemId, Part, String)]) -> Due {
        let mut waiting = self.lock();
        for (item, part, text) in written {
            waiting.take(*item, *part, text.len());
        }
        if waiting.bytes == 0 { Due::Known } else { Due::Soon }
    }

    /// Takes away all of an Item that is closed.
    pub(crate) fn forget(&self, item: ItemId) {
        let mut waiting = self.lock();
        for part in [Part::Text, Part::Reasoning] {
            waiting.take(item, part, usize::MAX);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    /// Takes away the first `bytes`, or all that there is.
    fn take(&mut self, item: ItemId, part: Part, bytes: usize) {
        let Some(text) = self.texts.get_mut(&(item, part)) else {
            return;
        };
        let taken = bytes.min(text.len());
        text.drain(..taken);
        if text.is_empty() {
            self.texts.remove(&(item, part));
        }
        self.bytes -= taken;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_while_the_writer_writes_is_due_again_although_it_was_known() {
        let (texts, item) = (Texts::default(), ItemId::new(1));
        assert_eq!(texts.add(item, Part::Text, "first "), Due::Soon);
        let taken = texts.waiting();
        assert_eq!(texts.add(item, Part::Text, "and more"), Due::Known);
        assert_eq!(texts.written(&taken), Due::Soon);
        assert_eq!(texts.of(item, Part::Text), "and more");
        assert_eq!(texts.written(&texts.waiting()), Due::Known);
        assert_eq!(texts.add(item, Part::Text, "anew"), Due::Soon);
    }
}
