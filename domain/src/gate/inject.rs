//! Owl's own arguments, put in before anything is matched: they pass the same row as the model's words, and are marked
//! (ADR-0022, D11).

use super::{rule::Rule, words::Word};
use alloc::vec::Vec;

/// A word, and who wrote it.
#[derive(Debug)]
pub(super) struct Arg {
    pub(super) word: Word,
    pub(super) by: By,
}

/// Who wrote a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    /// The model; the word's index in its line.
    Model(usize),
    /// Owl.
    Owl,
}

/// Puts Owl's words around the model's: most before them, and those that must win behind the options, which end at the
/// first `--`. `first` is the index of the first word behind the program and its verb.
pub(super) fn owls_words(rule: &Rule, words: Vec<Word>, first: usize) -> Vec<Arg> {
    let owls = |text: &&'static str| Arg { word: Word::plain(text), by: By::Owl };
    let mut args = Vec::with_capacity(words.len() + rule.adds.len() + rule.adds_behind.len());
    args.extend(rule.adds.iter().map(owls));
    let mut behind = Some(rule.adds_behind);
    for (index, word) in words.into_iter().enumerate().skip(first) {
        // A `--` that is an option's value is taken for the end here too. Owl's words then stand before it, where the
        // matcher refuses to take one for a value.
        if word.text == "--" {
            args.extend(behind.take().into_iter().flatten().map(owls));
        }
        args.push(Arg { word, by: By::Model(index) });
    }
    args.extend(behind.into_iter().flatten().map(owls));
    args
}
