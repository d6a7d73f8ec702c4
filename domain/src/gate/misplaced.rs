//! Refusals of git's words for where they stand: revisions first, then paths, which without `--` are there (gate.md 4.6).

use super::{
    DenialKind,
    confine::braced,
    hint::{Refusal, Suggestion, tick},
    operands::Operand,
    words,
};
use alloc::{format, vec};

/// Refuses what git would die of: a word behind a path that names none. `first` is where the first path stands.
pub(super) fn no_such_path(operand: &Operand, first: usize) -> Refusal {
    let message = format!("{} stands behind a path, and no such path is here", tick(&operand.text));
    let refusal = Refusal::about(DenialKind::Operand, &operand.text, message);
    let of_the_past = Suggestion::parted("put paths behind `--`", first);
    // A name with an ending is more likely a file's; a guess in either case, and it says so.
    let is_name = operand.text.rsplit('/').next().is_some_and(|name| name.contains('.') && !name.contains(".."))
        && !operand.text.contains(':');
    refusal.suggest(if is_name { vec![of_the_past] } else { vec![put_first(operand, first), of_the_past] })
}

/// Refuses what is a revision for sure behind a path.
pub(super) fn not_a_path(operand: &Operand, first: usize) -> Refusal {
    let message = format!("{} stands behind a path, where only paths may stand", tick(&operand.text));
    let refusal = Refusal::about(DenialKind::Operand, &operand.text, message);
    refusal.suggest_or_say(vec![put_first(operand, first)], "put revisions first, then `--`, then paths")
}

fn put_first(operand: &Operand, first: usize) -> Suggestion {
    Suggestion::put_first("if it is a revision", operand.index(), first)
}

/// Refuses what can be no revision, and names nothing that is here.
pub(super) fn neither(operand: &Operand) -> Refusal {
    let word = operand.text.as_str();
    let message = if operand.bare_braces || words::has_brace_list(word) {
        format!("nothing expands braces, and {} is neither a revision nor a path here", tick(word))
    } else {
        format!("{} is neither a revision nor a path here", tick(word))
    };
    let refusal = Refusal::about(DenialKind::Operand, word, message);
    if words::has_brace_list(word) {
        return refusal.suggest(braced(word, operand));
    }
    if word.contains('%') {
        return refusal.say("a format is attached to its option: `git log --format='%h %s'`");
    }
    refusal.suggest(vec![Suggestion::parted("for a path of the past", operand.index())])
}
