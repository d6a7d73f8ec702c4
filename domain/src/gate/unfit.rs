//! Refusals of options, and of their values, that the row does not hold, in sentences that can be acted on (D11).

use super::{
    DenialKind, Program, Verb,
    hint::{Refusal, Suggestion, tick},
    matcher::{Given, Matched, is_long},
    place::AsWritten,
    refused::{self, Instead, Refused},
    rule::{Opt, Rule, Stands, Takes, Value},
    value::Wrong,
    words,
};
use crate::ports::GitHome;
use alloc::{format, string::String, vec, vec::Vec};

/// Refuses a long option that the row does not hold.
pub(super) fn option(rule: &Rule, word: &str, name: &str, at: usize) -> Refusal {
    if let Some(refused) = refused::reason(rule, name) {
        return on_purpose(refused, word, name, at);
    }
    let refusal = |more: &str| {
        let message = format!("{} is not an option of {} here{more}", tick(name), rule.covers());
        Refusal::about(DenialKind::Option, word, message)
    };
    let value = word.strip_prefix(name).unwrap_or_default();
    let mut completions =
        rule.options().flat_map(|opt| opt.names.iter()).filter(|known| known.starts_with(name) && name.len() > 2);
    match (completions.next(), completions.next()) {
        (Some(whole), None) => {
            let with = vec![[whole, value].concat()];
            refusal("; names are written whole").suggest(vec![Suggestion::replaced("", at, 1, with)])
        }
        (Some(_), Some(_)) => refusal("; names are written whole"),
        (None, _) => {
            let left_out = Suggestion::replaced(LEAVE_OUT, at, 1, Vec::new());
            refusal("").suggest(vec![if value.is_empty() { left_out.if_last() } else { left_out }])
        }
    }
}

/// Refuses a letter that the row does not hold.
pub(super) fn letter(rule: &Rule, word: &str, name: &str, at: usize) -> Refusal {
    if let Some(refused) = refused::reason(rule, name) {
        return on_purpose(refused, word, name, at);
    }
    let letters = word.trim_start_matches('-');
    let is_digit = |c: &char| c.is_ascii_digit();
    let (digits, others): (String, String) = letters.chars().partition(is_digit);
    let is_number = rule.number.is_some() && !digits.is_empty();
    if !is_number {
        let message = format!("{} is not an option of {} here", tick(name), rule.covers());
        let refusal = Refusal::about(DenialKind::Option, word, message);
        // `grep '->' src`: what cannot be letters was meant as the pattern.
        let is_pattern = rule.program == Program::Grep && !letters.bytes().all(|b| b.is_ascii_alphanumeric());
        let pattern = Suggestion::replaced("if it is the pattern", at, 1, vec!["-e".into(), word.into()]);
        let left_out = Suggestion::replaced(LEAVE_OUT, at, 1, kept(word, &letters_but(word, name))).if_last();
        return refusal.suggest(vec![if is_pattern { pattern } else { left_out }]);
    }
    let message =
        format!("{} is not an option of {} here; a number stands alone, such as `-5`", tick(word), rule.covers());
    let number = format!("-{digits}");
    // `tail -5c`: the letter says what is counted.
    let counted = if others == "c" { vec![format!("-c"), digits] } else { Vec::new() };
    Refusal::about(DenialKind::Option, word, message).suggest(vec![
        Suggestion::replaced("", at, usize::from(!counted.is_empty()), counted),
        Suggestion::replaced("", at, 1, vec![number.clone(), format!("-{others}")]),
        Suggestion::replaced("", at, 1, vec![number]),
    ])
}

/// Refuses letters in one word where the program reads none so.
pub(super) fn bundle(rule: &Rule, word: &str, at: usize) -> Refusal {
    let message = format!("{} reads no letters together, as {} is written", rule.covers(), tick(word));
    let letters: Vec<String> = word.chars().skip(1).map(|letter| format!("-{letter}")).collect();
    Refusal::about(DenialKind::Option, word, message).suggest(vec![Suggestion::replaced("", at, 1, letters)])
}

fn on_purpose(refused: &Refused, word: &str, name: &str, at: usize) -> Refusal {
    let refusal = Refusal::about(DenialKind::Option, word, format!("{} {}", tick(name), refused.why));
    // A letter among others: the others stay, but for what is its value.
    let takes_value = matches!(refused.instead, Instead::LeaveOutValue(_));
    let letter = name.trim_start_matches('-');
    let others: String = match word.trim_start_matches('-').split_once(letter) {
        _ if is_long(word) => String::new(),
        Some((before, _)) if takes_value => before.into(),
        _ => letters_but(word, name),
    };
    let kept = kept(word, &others);
    let with = |words: &[&str]| kept.iter().cloned().chain(words.iter().copied().map(String::from)).collect::<Vec<_>>();
    // A value that is not attached is the next word.
    let is_value_next =
        word == name || (!is_long(word) && word.split_once(letter).is_some_and(|(_, value)| value.is_empty()));
    match refused.instead {
        Instead::LeaveOut => refusal.suggest_or_say(vec![Suggestion::replaced(LEAVE_OUT, at, 1, with(&[]))], LEAVE_OUT),
        Instead::LeaveOutValue(lead) => {
            let count = if is_value_next { 2 } else { 1 };
            refusal.suggest_or_say(vec![Suggestion::replaced(lead, at, count, with(&[]))], lead)
        }
        // `tail -fn5`: what stays says how much already.
        Instead::These(words) if words == ["-n", "50"] && others.contains(['n', 'c']) => {
            refusal.suggest(vec![Suggestion::replaced(LEAVE_OUT, at, 1, with(&[]))])
        }
        Instead::These(words) => refusal.suggest(vec![
            Suggestion::replaced("", at, 1, with(words)).unless(if words.contains(&"-n") { COUNTS } else { &[] }),
            Suggestion::replaced(LEAVE_OUT, at, 1, with(&[])),
        ]),
        Instead::Say(hint) => refusal.say(hint),
        Instead::Nothing => refusal,
    }
}

/// Returns the letters of a word but for one option's.
fn letters_but(word: &str, name: &str) -> String {
    word.chars().filter(|c| !name.contains(*c)).collect()
}

/// Returns the word that those letters of one are.
fn kept(word: &str, letters: &str) -> Vec<String> {
    if letters.is_empty() || !word.is_ascii() { Vec::new() } else { vec![format!("-{letters}")] }
}

pub(super) const LEAVE_OUT: &str = "leave it out";

/// How a line of head or tail already says how much it wants.
const COUNTS: &[&str] = &["-n", "-c", "--lines", "--bytes", "-1", "-2", "-3", "-4", "-5", "-6", "-7", "-8", "-9"];

/// Refuses a value that is not of its type.
pub(super) fn value(opt: &Opt, name: &str, text: &str, word: &str, wrong: Wrong, at: usize) -> Refusal {
    let about = |message: String| Refusal::about(DenialKind::OptionValue, word, message);
    // The value may be attached, or a word of its own.
    let (from, count) = if word == text { (at.saturating_sub(1), 2) } else { (at, 1) };
    let left_out = Suggestion::replaced(LEAVE_OUT, from, count, Vec::new());
    if opt.stands == Stands::OwlsOwn {
        let message =
            format!("`{name}` is for Owl to say, so that git stays out of submodules; {} is another word", tick(text));
        return about(message).suggest(vec![left_out]);
    }
    match wrong {
        Wrong::NotAmong(words) => {
            let message = format!("`{name}` takes one of {}; {} is none of them", words.join(", "), tick(text));
            about(message).suggest(vec![left_out])
        }
        Wrong::Placeholder(range) => placeholder(name, text, range, word, at),
        Wrong::Expected(expected) => {
            let refusal = about(format!("`{name}` takes {expected}; {} is none", tick(text)));
            if opt.value() == Some(Value::SortKey) && text.trim_start_matches('-').starts_with("signature") {
                return about(format!("{} makes git start a signature program", tick(text))).suggest(vec![left_out]);
            }
            refusal.suggest(vec![left_out])
        }
        Wrong::Path(AsWritten::Empty) => about(format!("`{name}` needs a path that is not empty")),
        Wrong::Path(AsWritten::Fine | AsWritten::Absolute | AsWritten::Climbs | AsWritten::Git(_)) => {
            about(format!("`{name}` takes a path inside the workdir; {} is none", tick(text)))
        }
    }
}

fn placeholder(name: &str, format: &str, range: core::ops::Range<usize>, word: &str, at: usize) -> Refusal {
    let part = format.get(range.clone()).unwrap_or_default();
    let bare = part.trim_start_matches(['%', '+', '-', ' ']);
    let why = if bare.starts_with('G') || bare.starts_with("(signature") || bare.starts_with("(*signature") {
        "makes git start a signature program"
    } else if bare.starts_with("(describe") {
        "makes git start a second git"
    } else {
        "is not a placeholder that Owl knows"
    };
    let before = format.get(..range.start).unwrap_or_default();
    let behind = format.get(range.end..).unwrap_or_default();
    let rest = [before.trim_end(), behind].concat();
    let refusal = Refusal::about(DenialKind::OptionValue, part, format!("{} {why}", tick(part)));
    if rest.trim().is_empty() {
        let (at, count) = if word == format { (at.saturating_sub(1), 2) } else { (at, 1) };
        return refusal.suggest(vec![Suggestion::replaced(LEAVE_OUT, at, count, Vec::new())]);
    }
    // The value may be attached, or a word of its own.
    let with = if word == format { rest } else { [name, if is_long(name) { "=" } else { "" }, &rest].concat() };
    refusal.suggest(vec![Suggestion::replaced("", at, 1, vec![with])])
}

/// Refuses an option that only Owl writes, in any other form than Owl's.
pub(super) fn owls_own(rule: &Rule, given: &Given, word: &str, at: usize) -> Refusal {
    let refusal = match given.opt.takes {
        Takes::Nothing => {
            let message = format!("{} is not an option of {} here", tick(given.name), rule.covers());
            Refusal::about(DenialKind::Option, word, message)
        }
        Takes::Attached(_) | Takes::Maybe(_) | Takes::Next(_) | Takes::NextOrHead(_) => {
            let message = format!("{} is for Owl to say", tick(given.name));
            Refusal::about(DenialKind::Option, word, message)
        }
    };
    let is_value_next = given.value.is_some() && word == given.name;
    refusal.suggest(vec![Suggestion::replaced("leave it out", at, if is_value_next { 2 } else { 1 }, Vec::new())])
}

/// Refuses what would be told wrongly in a linked worktree: git finds the main one's path by the common directory.
pub(super) fn in_worktree(matched: &Matched, home: &GitHome) -> Result<(), Refusal> {
    let gives = |name: &str| matched.options.iter().filter(|given| given.opt.names.contains(&name)).count();
    let names_paths = matched.rule.verb == Some(Verb::Branch) && gives("--verbose") > 1 && gives("--format") == 0;
    if !home.is_linked() || !names_paths {
        return Ok(());
    }
    let message = "`-vv` would tell a wrong path of the main worktree here, in a linked one".into();
    Err(Refusal::about(DenialKind::Option, "-vv", message).say("`git branch -v`; `git status -sb` tells the upstream"))
}

/// Refuses a list in braces where a pattern for names stands: write the option once for each.
pub(super) fn braces(name: &str, text: &str, word: &str, at: usize) -> Refusal {
    let message = format!("nothing here expands braces, and {} is read as it stands", tick(text));
    let refusal = Refusal::about(DenialKind::OptionValue, word, message);
    let Some(range) = words::brace_list(text, |_| true) else { return refusal };
    let (before, behind) = (text.get(..range.start).unwrap_or_default(), text.get(range.end..).unwrap_or_default());
    let inside = text.get(range.start + 1..range.end - 1).unwrap_or_default();
    let each = inside.split(',').map(|part| format!("{name}={before}{part}{behind}")).collect();
    // The value may be the next word: then the option's name goes too.
    let attached = word != text;
    let (at, count) = if attached { (at, 1) } else { (at.saturating_sub(1), 2) };
    refusal.suggest(vec![Suggestion::replaced("", at, count, each)])
}
