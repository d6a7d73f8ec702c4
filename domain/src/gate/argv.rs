//! A typed command becomes argv again, in one spelling: that is what is shown, stored, digested and run (D9, D11).

use super::{
    Verb,
    confine::Confined,
    inject::By,
    matcher::{Given, Matched, find},
    rule::Operands,
};
use alloc::{string::String, vec::Vec};

/// The words that `execve` gets, and which of them are Owl's.
#[derive(Debug)]
pub(super) struct Argv {
    pub(super) words: Vec<String>,
    pub(super) added: Vec<usize>,
}

/// Rebuilds: program, Owl's words, options, revisions, `--`, pattern, paths.
pub(super) fn rebuild(matched: &Matched, confined: &Confined<'_>) -> Argv {
    let rule = matched.rule;
    let room = 5 + matched.options.len() + matched.operands.len() + confined.left_out.len();
    let mut argv = Argv { words: Vec::with_capacity(room), added: Vec::new() };
    argv.push(rule.program.name());
    if let Some(verb) = rule.verb {
        argv.push_owls("--no-pager".into());
        argv.push(verb.name());
    }
    // git refuses `--list` beside this one, which prints one name and takes none.
    let is_current = rule.verb == Some(Verb::Branch) && find(&matched.options, &["--show-current"]).is_some();
    for given in &matched.options {
        match given.by {
            By::Owl if is_current => {}
            By::Owl => argv.push_owls(given.spelled()),
            By::Model(_) if is_copy(given, &confined.left_out) => {}
            By::Model(_) => argv.words.push(given.spelled()),
        }
    }
    for given in &confined.left_out {
        argv.push_owls(given.spelled());
    }
    confined.revisions.iter().for_each(|revision| argv.push(revision));
    if rule.operands != Operands::Nothing {
        argv.push("--");
    }
    matched.pattern.iter().for_each(|pattern| argv.push(pattern));
    confined.paths.iter().for_each(|path| argv.push(path));
    argv
}

/// Says whether the model wrote what Owl adds anyway.
fn is_copy(given: &Given, owls: &[Given]) -> bool {
    owls.iter().any(|owl| owl.name == given.name && owl.value == given.value)
}

impl Argv {
    fn push(&mut self, word: &str) {
        self.words.push(word.into());
    }

    fn push_owls(&mut self, word: String) {
        self.added.push(self.words.len());
        self.words.push(word);
    }
}
