//! `tests/gate`: lines that are allowed, lines that are denied, and the options that the programs themselves name.

use super::tree::verdict;
use crate::gate::{DenialKind, Rule, rows};
use std::collections::BTreeSet;

const ALLOWED: &str = include_str!("../../../../tests/gate/allowed.txt");
const DENIED: &str = include_str!("../../../../tests/gate/denied.txt");
const OPTIONS: &str = include_str!("../../../../tests/gate/options.txt");

/// The column at which a denied line begins, behind its kind.
const COLUMN: usize = 16;

fn entries(text: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with("# "));
    lines.map(|line| line.rsplit_once("  ## ").unwrap_or_else(|| panic!("no reason: {line}")))
}

/// Returns every allowed line.
pub(super) fn allowed() -> Vec<&'static str> {
    let examples = rows().iter().flat_map(|rule| rule.allows).copied();
    entries(ALLOWED).map(|(line, _)| line).chain(examples).collect()
}

/// Returns every denied line and its kind, none for an example of a row.
pub(super) fn denied() -> Vec<(Option<DenialKind>, &'static str)> {
    let listed = entries(DENIED).map(|(entry, _)| {
        let (kind, line) = entry.split_at(COLUMN);
        (Some(DenialKind::from_name(kind.trim_end()).unwrap_or_else(|| panic!("no such kind: {entry}"))), line)
    });
    listed.chain(rows().iter().flat_map(|rule| rule.denies).map(|line| (None, *line))).collect()
}

#[test]
fn every_allowed_line_is_allowed() {
    let refused: Vec<String> = allowed()
        .into_iter()
        .filter_map(|line| {
            verdict(line).err().map(|denial| format!("{line}: {} {}", denial.kind.name(), denial.message))
        })
        .collect();
    assert_eq!(refused, Vec::<String>::new());
}

#[test]
fn every_denied_line_is_denied_for_its_reason() {
    let wrong: Vec<String> = denied()
        .into_iter()
        .filter_map(|(kind, line)| match verdict(line) {
            Ok(shown) => Some(format!("{line}: allowed as {}", crate::show::quote_argv(&shown.argv))),
            Err(denial) if kind.is_some_and(|kind| kind != denial.kind) => {
                Some(format!("{line}: {} {}", denial.kind.name(), denial.message))
            }
            Err(_) => None,
        })
        .collect();
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn no_line_is_listed_twice_and_each_has_a_reason() {
    let mut seen = BTreeSet::new();
    for (line, reason) in entries(ALLOWED).chain(entries(DENIED)) {
        assert!(!reason.trim().is_empty(), "{line}");
        assert!(seen.insert(line), "{line} is listed twice");
    }
}

#[test]
fn every_row_says_why_and_gives_examples_of_itself() {
    for rule in rows() {
        assert!(!rule.because.is_empty() && !rule.allows.is_empty() && !rule.denies.is_empty(), "{}", rule.covers());
        for line in rule.allows.iter().chain(rule.denies) {
            assert!(is_of(rule, line), "{line} is no example of {}", rule.covers());
        }
    }
    assert_eq!(rows().len(), 11);
}

fn is_of(rule: &Rule, line: &str) -> bool {
    line.strip_prefix(&rule.covers()).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
}

#[test]
fn every_option_of_the_table_stands_in_an_allowed_line() {
    let mut given = BTreeSet::new();
    for line in allowed() {
        let words = crate::gate::words::read(line).unwrap();
        let matched = crate::gate::matcher::typed(words, None).unwrap();
        let starts = matched.operands.iter().filter(|o| o.role == crate::gate::operands::Role::Start);
        given.extend(matched.options.iter().map(|given| (group_of(matched.rule, given.name), given.name)));
        given.extend(starts.map(|start| ("", start.text.split('=').next().unwrap().to_owned().leak() as &str)));
        // Owl's own copies are dropped; what it adds by itself is among the options.
    }
    let mut missing = Vec::new();
    for rule in rows() {
        for name in rule.options().flat_map(|opt| opt.names()) {
            if !given.contains(&(group_of(rule, name), *name)) && !given.contains(&("", *name)) {
                missing.push(format!("{} {name}", rule.covers()));
            }
        }
    }
    assert_eq!(missing, Vec::<String>::new());
}

/// Options that several rows share need one example, not one for each row.
fn group_of(rule: &Rule, name: &str) -> &'static str {
    let group = rule.options.iter().find(|group| group.options.iter().any(|opt| opt.names.contains(&name)));
    match group {
        Some(group) if !group.name.is_empty() => group.name,
        Some(_) | None => rule.covers().leak(),
    }
}

#[test]
fn every_option_that_the_programs_name_is_in_the_table_or_denied() {
    let mut row: Option<&Rule> = None;
    let mut unknown = Vec::new();
    for line in OPTIONS.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(name) = line.strip_prefix('[') {
            row = rows().iter().find(|rule| rule.covers() == name.trim_end_matches(']'));
            continue;
        }
        let rule = row.expect("a row before its options");
        for option in line.split(' ') {
            let is_number =
                option.trim_start_matches('-').bytes().all(|b| b.is_ascii_digit()) && rule.number().is_some();
            let is_denied = || {
                denied().iter().any(|(_, line)| is_of(rule, line) && line.split(' ').any(|word| names(word, option)))
            };
            if !is_number && rule.option(option).is_none() && !is_denied() {
                unknown.push(format!("{} {option}", rule.covers()));
            }
        }
    }
    assert_eq!(unknown, Vec::<String>::new());
}

/// Says whether a word of a line is that option: alone, with a value, or a letter of a bundle.
fn names(word: &str, option: &str) -> bool {
    match option.strip_prefix("--") {
        Some(_) => word.split('=').next() == Some(option),
        None => !word.starts_with("--") && word.starts_with(option),
    }
}

#[test]
fn what_cannot_stand_in_a_list_is_denied_too() {
    let check = |line: &str, kind: DenialKind| {
        let denial = verdict(line).expect_err(line);
        assert_eq!(denial.kind, kind, "{line:?}: {}", denial.message);
    };
    check("", DenialKind::Empty);
    check("   ", DenialKind::Empty);
    check("\t", DenialKind::Empty);
    check("git log\ngit diff", DenialKind::ShellSyntax);
    check("git status\n", DenialKind::ShellSyntax);
    check("cat \"README.md\n/etc/passwd\"", DenialKind::PathShellSign);
    check("cat README.md\r", DenialKind::ShellSyntax);
    check("cat\u{7f} README.md", DenialKind::ShellSyntax);
    check("cat README.md\0.txt", DenialKind::Nul);
    check("cat 'README.md\0'", DenialKind::Nul);
    check("cat \"README.md\0", DenialKind::Nul);
    check("\0", DenialKind::Nul);
    check(&format!("cat {}", "a".repeat(8_192)), DenialKind::TooLong);
    check(&format!("cat \0{}", "a".repeat(8_192)), DenialKind::TooLong);
    check(&format!("cat{}", " a".repeat(64)), DenialKind::TooLong);
    check("cat .g\u{200c}it/config", DenialKind::PathGit);
    check("cat \u{feff}.git/config", DenialKind::PathGit);
    check("ca\u{200b}t README.md", DenialKind::Program);
}

#[test]
fn what_cannot_stand_in_a_list_is_allowed_too() {
    for line in [
        "git log \\\n--oneline",
        "grep 'a\nb' README.md",
        "cat 'line\nfeed.txt'",
        "grep \"a\\\nb\" README.md",
        "  git\t status  ",
    ] {
        assert!(verdict(line).is_ok(), "{line:?}");
    }
    assert!(verdict(&format!("cat{}", " a".repeat(63))).is_ok());
}
