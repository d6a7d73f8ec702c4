use super::*;
use pretty_assertions::assert_eq;

#[tokio::test]
async fn a_whole_turn_is_told_in_order() {
    let owl = Owl::new();
    let conversation = owl.conversation().await;
    let turn = owl.begin(conversation, "Any TODOs left?\nPlease look.").await.turn;
    let item = owl.store.turns().open_text(turn, owl.now).await.unwrap();
    owl.store.turns().append(item, owl_domain::conversation::Part::Text, "Let me ");
    owl.store.turns().append(item, owl_domain::conversation::Part::Text, "look.");
    owl.store.turns().record(turn, Some(item), calls(&["grep -rn TODO src"]), 0, owl.now).await.unwrap();
    let proposal = owl.propose(at(turn, 0), "grep -rn TODO src").await.unwrap();
    owl.answer(&proposal, Said::AllowForConversation).await.unwrap();
    assert_eq!(owl.start(&proposal).await, Moved::Won);
    assert_eq!(owl.settle(at(turn, 0), &proposal, ran("src/main.rs:3:// TODO\n")).await, Moved::Won);
    assert_eq!(owl.close(turn, Ending::EndTurn).await, Moved::Won);
    assert_eq!(
        owl.names_after(Seq(0)).await,
        [
            "conversation.created",
            "conversation.updated",
            "turn.started",
            "item.completed",
            "item.started",
            "item.completed",
            "item.started",
            "proposal.created",
            "proposal.resolved",
            "grant.created",
            "command.started",
            "command.finished",
            "item.completed",
            "turn.finished",
        ]
    );
    let found = owl.store.conversations().search("todo MAIN".into(), page(50)).await.unwrap();
    assert_eq!(found.items.len(), 1);
    assert!(owl.store.conversations().delete(conversation, owl.now).await.unwrap());
    assert_eq!(owl.names_after(Seq(0)).await, ["conversation.deleted"]);
}
