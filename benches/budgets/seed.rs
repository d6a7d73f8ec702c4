//! A database of the size that the budgets are about: 10,000 conversations, one of which holds 100,000 Items.

use owl_domain::{
    consent::Peer,
    conversation::Part,
    ids::ConversationId,
    ports::{NewConversation, NewTurn},
    provider::{Block, ModelRef, Provider, ReplyStop, Usage, WholeReply},
    text::{ModelId, Question},
    time::Timestamp,
    turn::{Ending, OnConsent},
};
use owl_rpc::RpcEventText;
use owl_sqlite::SqliteStore;
use owl_testkit::Home;
use std::sync::Arc;

pub(crate) const CONVERSATIONS: i64 = 10_000;
pub(crate) const ITEMS: usize = 100_000;

/// Fills the database of a home. Returns the long conversation's id.
pub(crate) async fn fill(home: &Home) -> String {
    let path = home.database();
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let store = SqliteStore::open(&path, Arc::new(RpcEventText)).unwrap();
    let conversations = store.conversations();
    let mut now = 1_796_000_000_000;
    let mut first = None;
    for _ in 0..CONVERSATIONS {
        now += 1_000;
        let made = conversations.create(NewConversation::default(), Timestamp::from_millis(now)).await.unwrap();
        first.get_or_insert(made.conversation.id);
    }
    let long = first.unwrap();
    for _ in 0..ITEMS / 2 {
        now += 1_000;
        let text = "Three commits, of which the last one retries five times and not three.";
        turn(&store, long, text, Timestamp::from_millis(now)).await;
    }
    store.close().await;
    long.to_string()
}

/// Fills the database of a home with one conversation whose events have that size. Returns its id.
pub(crate) async fn backlog(home: &Home, mib: usize) -> String {
    let path = home.database();
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let store = SqliteStore::open(&path, Arc::new(RpcEventText)).unwrap();
    let made = store.conversations().create(NewConversation::default(), Timestamp::from_millis(1)).await.unwrap();
    let text = "a line of what was found, long enough to be read\n".repeat(1_300);
    for at in 0..mib * 1024 * 1024 / text.len() {
        turn(&store, made.conversation.id, &text, Timestamp::from_millis(1_000 + i64::try_from(at).unwrap())).await;
    }
    store.close().await;
    made.conversation.id.to_string()
}

async fn turn(store: &SqliteStore, conversation: ConversationId, text: &str, now: Timestamp) {
    let turns = store.turns();
    let new = NewTurn {
        conversation,
        question: Question::new("What happened here lately, and why?").unwrap(),
        workdir: None,
        model: ModelRef { provider: Provider::Demo, id: ModelId::new("tour").unwrap() },
        on_consent: OnConsent::Ask,
        sent_by: Peer::default(),
        tools: true,
        once: None,
    };
    let begun = turns.begin(new, now).await.unwrap();
    let item = turns.open_text(begun.turn, now).await.unwrap();
    turns.append(item, Part::Text, text);
    let whole = WholeReply { blocks: vec![Block::Text(text.into())], stop: ReplyStop::Done, usage: Usage::default() };
    turns.record(begun.turn, Some(item), whole, 0, now).await.unwrap();
    let _won = turns.close(begun.turn, Ending::EndTurn, Usage::default(), now).await.unwrap();
}
