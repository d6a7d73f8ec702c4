//! A Grant covers one program and verb in one directory of one Conversation, and never skips the gate (D8).

use crate::world::{Does, Leads, SHOP, TREE, World, peer};
use owl_domain::{
    consent::{By, Said},
    ids::{ConversationId, GrantId},
    ports::RevokedGrants,
    turn::OnConsent,
};
use owl_testkit::{
    model::{Said as Speaks, ScriptedModel, calls, runs},
    tokio,
};

/// A world in which the first command was allowed for the Conversation.
async fn granted(first: &str, then: Vec<Vec<Speaks>>) -> (World, owl_domain::ids::TurnId) {
    let world = World::new([vec![runs(&[first])], then].concat());
    let turn = world.ask().await;
    world.answer(1, Said::AllowForConversation).await.unwrap();
    (world, turn)
}

#[tokio::test]
async fn it_says_the_same_sentence_before_and_after() {
    let (world, _) = granted("git status", vec![]).await;
    let [grant] = world.store.grants().try_into().unwrap();
    assert_eq!(grant.scope.sentence(), "git status in /home/u/shop, in this conversation, until revoked");
    assert_eq!(owl_domain::consent::Scope::of(&world.store.proposals()[0].shown).sentence(), grant.scope.sentence());
    assert_eq!(grant.granted_by, By::Client(peer("owl-desktop")));
    assert_eq!((grant.uses, grant.revoked_at), (0, None), "the command that it came from is not one of its uses");
    assert_eq!(grant.created_from.number(), 1);
}

#[tokio::test]
async fn a_later_command_runs_unasked_and_is_shown_with_the_grant() {
    let (world, turn) = granted("git status", vec![runs(&["git status --short"])]).await;
    assert_eq!(world.outcomes(turn), ["ran", "ran"]);
    let command = world.command_items(turn).remove(1);
    assert_eq!(command.grant, Some(GrantId::new(1)));
    assert_eq!(command.proposal.map(|proposal| proposal.number()), Some(2));
    let decision = world.store.proposals()[1].decision.clone().unwrap();
    assert_eq!((decision.by, decision.grant), (By::Grant, Some(GrantId::new(1))));
    assert_eq!(world.store.grants()[0].uses, 1);
    let of_second = world.store.event_names().into_iter().skip_while(|name| *name != "command.finished").skip(2);
    assert_eq!(
        of_second.collect::<Vec<_>>()[..4],
        ["item.started", "proposal.created", "proposal.resolved", "command.started"]
    );
}

#[tokio::test]
async fn nothing_else_is_covered() {
    let elsewhere = serde_like("git status", Some(TREE));
    let lines = ["git log", "git diff", "git show", "git branch", "cat README.md", "wc -l README.md"];
    let (world, turn) = granted("git status", vec![[runs(&lines)].concat(), calls([("run_command", elsewhere)])]).await;
    assert_eq!(world.outcomes(turn)[1..], ["open"; 6]);
    for proposal in 2..8 {
        world.answer(proposal, Said::Deny(None)).await.unwrap();
    }
    assert_eq!(world.outcomes(turn)[7..], ["open"], "another directory is another Grant");
    assert_eq!(world.store.grants()[0].uses, 0);
}

/// The arguments of a call that names a directory.
pub(crate) fn serde_like(line: &str, workdir: Option<&str>) -> String {
    let workdir = workdir.map(|workdir| format!(r#","workdir":"{workdir}""#)).unwrap_or_default();
    format!(r#"{{"command":"{line}"{workdir}}}"#)
}

#[tokio::test]
async fn another_conversation_is_asked() {
    let (world, _) = granted("git status", vec![]).await;
    assert_eq!(world.store.conversation(), ConversationId::new(2));
    let mut message = world.message("And here?");
    message.conversation = ConversationId::new(2);
    let turn = world.send(message).await;
    assert_eq!(world.outcomes(turn), ["open"]);
}

#[tokio::test]
async fn a_pending_sister_is_still_answered_by_itself() {
    let world = World::new(vec![runs(&["cat a", "cat b"])]);
    let turn = world.ask().await;
    world.answer(1, Said::AllowForConversation).await.unwrap();
    assert_eq!(world.outcomes(turn), ["ran", "open"]);
    let second = world.answer(2, Said::AllowForConversation).await.unwrap();
    assert_eq!(second.decision.grant, Some(GrantId::new(1)), "the one that there is");
    assert_eq!(world.store.grants().len(), 1);
}

#[tokio::test]
async fn a_line_that_is_denied_is_denied_unasked_whatever_was_granted() {
    let (world, turn) = granted(
        "cat README.md",
        vec![runs(&["cat /etc/passwd", "cat ../x", "cat out", "cat meta", "cat --show-all-x a", "cat a; cat b"])],
    )
    .await;
    world.files.lead("out", Leads::Outside);
    assert_eq!(world.outcomes(turn)[1..3], ["gate_denied", "gate_denied"]);
    assert_eq!(world.outcomes(turn)[5..], ["gate_denied", "gate_denied"]);
    assert_eq!(world.store.grants()[0].uses, 2, "only the two that passed");
}

#[tokio::test]
async fn a_granted_command_passes_the_gate_both_times() {
    let (world, turn) = granted("cat README.md", vec![runs(&["cat b"])]).await;
    assert_eq!(world.files.located(), 4, "twice for each command");
    assert_eq!(world.outcomes(turn), ["ran", "ran"]);

    let world = World::new(vec![runs(&["cat README.md"]), runs(&["cat b"])]);
    world.files.lead_in_turn("b", &[Leads::Inside, Leads::Outside]);
    let turn = world.ask().await;
    world.answer(1, Said::AllowForConversation).await.unwrap();
    assert_eq!(world.outcomes(turn), ["ran", "gate_denied"]);
    assert!(world.told_at(turn, 1).starts_with("Not run: it was allowed, but Owl denies it now: "));
    assert_eq!(world.commands.begun(), ["cat README.md"]);
}

#[tokio::test]
async fn it_applies_where_nobody_is_asked() {
    let (world, _) = granted("cat README.md", vec![]).await;
    let mut message = world.message("And now?");
    message.on_consent = OnConsent::Deny;
    let turn = world.send(message).await;
    assert_eq!(world.outcomes(turn), ["ran"]);
}

#[tokio::test]
async fn taken_back_it_covers_nothing_more() {
    let model = ScriptedModel::new(|request| {
        let rounds = request.messages.iter().filter(|message| is_call(message)).count();
        if rounds < 3 { runs(&["cat README.md"]) } else { owl_testkit::model::says("Done.") }
    });
    let world = World::with_model(model);
    world.commands.then(Does::Print("one".into()));
    let turn = world.ask().await;
    world.answer(1, Said::AllowForConversation).await.unwrap();
    assert_eq!(world.outcomes(turn), ["ran", "ran", "ran"]);
    let service = world.service();
    let revoked = service.revoke(GrantId::new(1), peer("owl")).await.unwrap().unwrap();
    assert!(revoked.revoked_at.is_some());
    assert_eq!(service.grants(None, RevokedGrants::LeftOut).await.unwrap(), []);
    assert_eq!(service.grants(Some(world.conversation), RevokedGrants::Included).await.unwrap().len(), 1);
    assert_eq!(service.revoke(GrantId::new(1), peer("again")).await.unwrap(), Some(revoked), "again changes nothing");
    assert_eq!(service.revoke(GrantId::new(9), peer("owl")).await.unwrap(), None);
    let events = world.store.event_names();
    assert_eq!(events.iter().filter(|name| **name == "grant.revoked").count(), 1);
}

#[tokio::test]
async fn after_it_was_taken_back_the_next_one_is_asked_about() {
    let (world, _) = granted("cat README.md", vec![]).await;
    world.service().revoke(GrantId::new(1), peer("owl")).await.unwrap();
    let turn = world.send(world.message("Once more?")).await;
    assert_eq!(world.outcomes(turn), ["open"]);
}

#[tokio::test]
async fn it_survives_a_restart() {
    let (world, _) = granted("cat README.md", vec![]).await;
    world.restart().await;
    let turn = world.send(world.message("Once more?")).await;
    assert_eq!(world.outcomes(turn), ["ran"]);
    assert_eq!(world.store.grants()[0].scope.workdir.as_str(), SHOP);
}

#[tokio::test]
async fn nothing_but_an_answer_that_won_gives_one() {
    for verdict in [Said::AllowOnce, Said::Deny(None)] {
        let world = World::new(vec![runs(&["cat README.md"])]);
        world.ask().await;
        world.answer(1, verdict).await.unwrap();
        let _told_or_lost = world.answer(1, Said::AllowForConversation).await;
        assert_eq!(world.store.grants(), []);
        assert!(!world.was_told("grant.created"));
    }
}

const fn is_call(message: &owl_domain::provider::Message) -> bool {
    matches!(message, owl_domain::provider::Message::Assistant(_))
}
