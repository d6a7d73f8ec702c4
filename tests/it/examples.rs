//! The lists of `tests/gate` and a table of lines for each fixture, through the daemon: every denial is a denial there
//! too, and every line that is allowed runs as it does without Owl, prints no secret and leaves everything as it was.

use crate::lines::{Daemons, daemon, differs_from_plain, fault, run, verdicts};
use owl_testkit::repo::{Fixtures, Shop, Snapshot};
use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

const ALLOWED: &str = include_str!("../gate/allowed.txt");
const DENIED: &str = include_str!("../gate/denied.txt");
/// The column at which a denied line begins, behind its kind.
const COLUMN: usize = 16;
/// The part of the denied lines whose verdict depends on what lies in the tree.
const BY_PLACE: &str = "where paths lead";
/// Denied only where its first word is a path.
const BY_FIRST_WORD: &str = "git log src :/words";
/// What a line may be denied for in a tree that it was not written for.
const OF_PLACES: [&str; 6] = ["path_outside", "path_git", "path_link", "path_special", "path_shell_sign", "operand"];
/// Denied in a linked worktree alone, where git would tell a wrong path of the main one.
const NOT_IN_A_LINKED_ONE: [&str; 2] = ["git branch -vv", "git branch -avv"];

/// Lines of one list: the part that each stands in, and what stands before `  ## `.
fn entries(list: &'static str) -> Vec<(&'static str, &'static str)> {
    let mut part = "";
    let mut entries = Vec::new();
    for line in list.lines().filter(|line| !line.is_empty()) {
        match line.strip_prefix("# ") {
            Some(title) => part = title,
            None => entries.push((part, line.rsplit_once("  ## ").unwrap().0)),
        }
    }
    entries
}

fn allowed() -> Vec<&'static str> {
    entries(ALLOWED).into_iter().map(|(_, line)| line).collect()
}

fn wrong(verdicts: Vec<(String, Option<String>)>, is_right: impl Fn(&str, Option<&str>) -> bool) -> Vec<String> {
    let wrong = verdicts.into_iter().filter(|(line, kind)| !is_right(line, kind.as_deref()));
    wrong.map(|(line, kind)| format!("{line}: {kind:?}")).collect()
}

/// A line of `fixtures.txt`.
struct Line {
    setup: &'static str,
    /// The kind of its Denial; none when it is allowed.
    kind: Option<&'static str>,
    line: &'static str,
}

fn of_fixtures() -> Vec<Line> {
    let lines = entries(include_str!("../gate/fixtures.txt")).into_iter().map(|(_, entry)| {
        let (setup, rest) = entry.split_at(10);
        let (kind, line) = rest.split_at(COLUMN);
        let kind = Some(kind.trim_end()).filter(|kind| *kind != "allow");
        Line { setup: setup.trim_end(), kind, line }
    });
    lines.collect()
}

fn setups() -> impl Iterator<Item = &'static str> {
    Fixtures::PROJECTS.into_iter().chain(["worktree"])
}

async fn fixtures_daemon(fixtures: &Fixtures) -> Daemons {
    let projects: Vec<PathBuf> = Fixtures::PROJECTS.iter().map(|name| fixtures.dir(name)).collect();
    daemon("", &[], &projects.iter().map(PathBuf::as_path).collect::<Vec<_>>()).await
}

#[tokio::test]
async fn every_line_of_the_lists_gets_the_same_verdict_on_a_disk() {
    let shop = Shop::build();
    let before = Snapshot::of(shop.parent());
    let daemons = daemon("", &[], &[&shop.root()]).await;
    let mut client = daemons.daemon.connect().await;
    let said = verdicts(&mut client, &shop.root(), &allowed()).await;
    assert_eq!(wrong(said, |_, kind| kind.is_none()), Vec::<String>::new());
    for (_, entry) in entries(DENIED) {
        let (kind, line) = entry.split_at(COLUMN);
        let said = verdicts(&mut client, &shop.root(), &[line]).await;
        assert_eq!(wrong(said, |_, said| said == Some(kind.trim_end())), Vec::<String>::new());
    }
    assert_eq!(Snapshot::of(shop.parent()).changed_since(&before), Vec::<PathBuf>::new());
}

#[tokio::test]
async fn what_is_denied_whatever_lies_there_is_denied_in_every_fixture() {
    let fixtures = Fixtures::build();
    let daemons = fixtures_daemon(&fixtures).await;
    let mut client = daemons.daemon.connect().await;
    let denied: Vec<&str> = entries(DENIED)
        .into_iter()
        .filter(|(part, _)| *part != BY_PLACE)
        .map(|(_, entry)| entry.split_at(COLUMN).1)
        .filter(|line| *line != BY_FIRST_WORD)
        .collect();
    for setup in setups() {
        let said = verdicts(&mut client, &fixtures.dir(setup), &denied).await;
        assert_eq!(wrong(said, |_, kind| kind.is_some()), Vec::<String>::new(), "{setup}");
        let said = verdicts(&mut client, &fixtures.dir(setup), &allowed()).await;
        let is_of_place = |line: &str, kind: &str| match kind {
            "option" => setup == "worktree" && NOT_IN_A_LINKED_ONE.contains(&line),
            _ => OF_PLACES.contains(&kind),
        };
        let is_right = |line: &str, kind: Option<&str>| kind.is_none_or(|kind| is_of_place(line, kind));
        assert_eq!(wrong(said, is_right), Vec::<String>::new(), "{setup}");
    }
}

#[tokio::test]
async fn every_line_of_a_fixture_gets_its_verdict() {
    let fixtures = Fixtures::build();
    let daemons = fixtures_daemon(&fixtures).await;
    let mut client = daemons.daemon.connect().await;
    for setup in setups() {
        let lines: Vec<Line> = of_fixtures().into_iter().filter(|line| line.setup == setup).collect();
        assert!(lines.len() > 10, "{setup}");
        for Line { kind, line, .. } in lines {
            let said = verdicts(&mut client, &fixtures.dir(setup), &[line]).await;
            assert_eq!(wrong(said, |_, said| said == kind), Vec::<String>::new(), "{setup}");
        }
    }
}

/// Runs lines in a workdir and compares each with what it does without Owl.
async fn run_and_compare(daemons: &Daemons, workdir: &Path, lines: &[&str], parent: &Path) {
    let before = Snapshot::of(parent);
    let items: HashMap<_, _> = run(&daemons.daemon, workdir, lines).await.into_iter().collect();
    assert_eq!(Snapshot::of(parent).changed_since(&before), Vec::<PathBuf>::new(), "{}", workdir.display());
    assert_eq!(lines.iter().filter(|line| !items.contains_key(line.trim())).collect::<Vec<_>>(), Vec::<&&str>::new());
    assert_eq!(items.values().filter_map(fault).collect::<Vec<_>>(), Vec::<String>::new());
    let differences: Vec<String> = items.values().filter_map(differs_from_plain).collect();
    assert!(differences.is_empty(), "{}\n{}", workdir.display(), differences.join("\n"));
}

#[tokio::test]
async fn every_line_of_the_list_runs_as_without_owl_prints_no_secret_and_changes_nothing() {
    let shop = Shop::build();
    let daemons = daemon("", &[], &[&shop.root()]).await;
    run_and_compare(&daemons, &shop.root(), &allowed(), shop.parent()).await;
    assert_eq!(shop.marks(), Vec::<String>::new());
}

#[tokio::test]
async fn every_line_of_a_fixture_runs_as_without_owl_prints_no_secret_and_changes_nothing() {
    let fixtures = Fixtures::build();
    let daemons = fixtures_daemon(&fixtures).await;
    for setup in setups() {
        let lines = of_fixtures().into_iter().filter(|line| line.setup == setup && line.kind.is_none());
        let lines: Vec<&str> = lines.map(|line| line.line).collect();
        run_and_compare(&daemons, &fixtures.dir(setup), &lines, fixtures.parent()).await;
    }
    assert_eq!(fixtures.marks(), Vec::<String>::new());
}
