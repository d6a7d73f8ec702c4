//! The whole gate again right before a command runs: what is forbidden now, or would run otherwise, does not run (D8).

use crate::{
    grants::serde_like,
    world::{Leads, World},
};
use owl_domain::{gate::DenialKind, ids::TurnId, turn::Ending};
use owl_testkit::{
    model::{calls, runs},
    tokio,
};
use std::sync::atomic::Ordering;

async fn proposed(line: &str) -> (World, TurnId) {
    let world = World::new(vec![runs(&[line])]);
    let turn = world.ask().await;
    assert_eq!(world.outcomes(turn), ["open"]);
    (world, turn)
}

/// Allows it and asserts that it is denied after all, of that kind.
async fn assert_denied(world: &World, turn: TurnId, kind: DenialKind, says: &str) {
    world.allow(1).await;
    assert_eq!(world.outcomes(turn), ["gate_denied"]);
    let denial = world.denial(turn, 0);
    assert_eq!(denial.kind, kind, "{denial:?}");
    let told = world.told_at(turn, 0);
    assert!(told.starts_with("Not run: it was allowed, but Owl denies it now: "), "{told}");
    assert!(told.contains(says), "{told}");
    assert_eq!(world.store.proposals()[0].state(), "allowed", "what the person said stays");
    assert_eq!(world.store.starts(), []);
    assert_eq!(world.ending(turn), Some(Ending::EndTurn));
    world.assert_nothing_held();
}

#[tokio::test]
async fn a_file_that_became_a_link_that_leads_out_is_not_read() {
    let (world, turn) = proposed("cat README.md").await;
    world.files.lead("README.md", Leads::Outside);
    assert_denied(&world, turn, DenialKind::PathOutside, "README.md").await;
    assert_eq!(world.command_items(turn)[0].started_at, None);
}

#[tokio::test]
async fn a_file_that_became_git_data_is_not_read() {
    let (world, turn) = proposed("cat README.md").await;
    world.files.lead("README.md", Leads::Git);
    assert_denied(&world, turn, DenialKind::PathGit, "README.md").await;
}

#[tokio::test]
async fn a_program_that_moved_is_another_one() {
    let (world, turn) = proposed("cat README.md").await;
    world.commands.move_programs();
    assert_denied(&world, turn, DenialKind::Changed, "the program is another one").await;
}

#[tokio::test]
async fn another_environment_is_not_what_was_shown() {
    let (world, turn) = proposed("git status").await;
    *world.known.owned_common_dir.lock().unwrap() = "/home/u/elsewhere".into();
    assert_denied(&world, turn, DenialKind::Changed, "its environment would be another").await;
}

#[tokio::test]
async fn a_directory_that_is_gone_says_so() {
    let (world, turn) = proposed("cat README.md").await;
    world.files.remove_directory();
    assert_denied(&world, turn, DenialKind::Workdir, "/home/u/shop").await;
}

#[tokio::test]
async fn a_project_that_is_no_longer_registered_runs_nothing() {
    let (world, turn) = proposed("cat README.md").await;
    world.known.is_registered.store(false, Ordering::SeqCst);
    assert_denied(&world, turn, DenialKind::Workdir, "/home/u/shop").await;
}

#[tokio::test]
async fn it_runs_in_the_directory_that_was_shown_whatever_the_conversation_says_by_then() {
    let arguments = serde_like("cat README.md", Some(crate::world::TREE));
    let world = World::new(vec![calls([("run_command", arguments)])]);
    let turn = world.ask().await;
    world.allow(1).await;
    assert_eq!(world.outcomes(turn), ["ran"]);
    assert!(world.told_at(turn, 0).contains("\nin /home/u/shop-topic\n"));
}
