//! A Conversation that is deleted leaves one event, and no byte of what was said in it.

use super::*;
use owl_domain::{conversation::Part, ports::CommandFilter};
use std::fs;

const PLANTED: [&str; 6] =
    ["plantedkwyjibo", "plantedzorgle", "plantedquuxly", "planted-frobnix", "plantedblivet", "plantedgrault"];

/// Fills a Conversation with planted words in every place that there is.
async fn planted(owl: &Owl) -> ConversationId {
    let id = owl.conversation().await;
    let turn = owl.begin(id, &format!("{} {}", PLANTED[0], "padding ".repeat(2_000))).await.turn;
    let item = owl.store.turns().open_text(turn, owl.now).await.unwrap();
    owl.store.turns().append(item, Part::Text, &format!("{} {}", PLANTED[1], "words ".repeat(5_000)));
    owl.store.turns().append(item, Part::Reasoning, PLANTED[2]);
    owl.streamed(turn, |stored| !stored.is_empty()).await;
    let line = format!("cat {}", PLANTED[3]);
    owl.store.turns().record(turn, Some(item), calls(&[&line, &line]), 0, owl.now).await.unwrap();
    let proposal = owl.propose(at(turn, 0), &line).await.unwrap();
    owl.answer(&proposal, Said::AllowForConversation).await.unwrap();
    owl.start(&proposal).await;
    owl.settle(at(turn, 0), &proposal, ran(PLANTED[4])).await;
    owl.propose(at(turn, 1), &line).await.unwrap();
    let title = owl_domain::text::Title::new(PLANTED[5]).unwrap();
    let change = owl_domain::ports::ConversationChange { title: Some(Some(title)), ..Default::default() };
    owl.store.conversations().update(id, change, owl.now).await.unwrap();
    owl.close(turn, Ending::Cancelled).await;
    id
}

/// Which planted words stand in any file of the data directory; also without their common start, because the index
/// stores a word as what it shares with the one before, and the rest.
fn left(owl: &Owl) -> Vec<String> {
    let mut left = Vec::new();
    for entry in fs::read_dir(owl.directory.path()).unwrap() {
        let bytes = fs::read(entry.unwrap().path()).unwrap();
        for word in PLANTED.iter().flat_map(|word| [*word, word.trim_start_matches("planted")]) {
            if bytes.windows(word.len()).any(|window| window.eq_ignore_ascii_case(word.as_bytes())) {
                left.push(word.to_owned());
            }
        }
    }
    left
}

#[tokio::test]
async fn nothing_of_it_is_left_in_any_file() {
    // Alone, it is cheaper to make the index anew; beside many others, to take the words out one by one.
    for others in [0, 40] {
        let owl = Owl::new();
        for number in 0..others {
            let id = owl.conversation().await;
            for turn in 0..10 {
                let turn = owl.begin(id, &format!("other words {number} {turn}")).await.turn;
                owl.close(turn, Ending::EndTurn).await;
            }
        }
        let id = planted(&owl).await;
        fs::write(owl.directory.path().join("owl.db.before-schema-3"), "an old copy with plantedkwyjibo").unwrap();
        assert!(left(&owl).len() >= PLANTED.len(), "{:?}", left(&owl));
        let last = owl.newest();

        assert!(owl.store.conversations().delete(id, owl.now).await.unwrap());
        assert_eq!(left(&owl), [""; 0], "beside {others}");
        let events = owl.events_after(last).await;
        assert_eq!(
            events.iter().map(|event| (&event.body, event.prev)).collect::<Vec<_>>(),
            [(&EventBody::ConversationDeleted, Some(last))]
        );
        let scope = EventScope::Conversation(id);
        assert_eq!(owl.store.events().after(Seq(0), scope, 100).await.unwrap().len(), 1);
        assert_eq!(owl.store.conversations().get(id).await.unwrap(), None);
        assert_eq!(owl.items(id).await, []);
        let commands = owl.store.conversations().commands(CommandFilter::default(), page(50)).await.unwrap();
        assert_eq!(commands.items, []);
        let found = owl.store.conversations().search("padding".into(), page(50)).await.unwrap();
        assert_eq!(found.items, []);
        let found = owl.store.conversations().search("other words".into(), page(200)).await.unwrap();
        assert_eq!(found.items.len(), (others * 11).min(200));

        let owl = owl.reopen();
        assert_eq!(left(&owl), [""; 0]);
        assert!(!owl.store.conversations().delete(id, owl.now).await.unwrap());
        assert_eq!(owl.newest(), Seq(last.0 + 1), "a number is never used twice");
    }
}

#[tokio::test]
async fn every_table_is_emptied_of_it() {
    let owl = Owl::new();
    let id = planted(&owl).await;
    let rows = async || {
        owl.store
            .database
            .read(|db| {
                let mut counts = HashMap::new();
                for table in [
                    "conversations",
                    "turns",
                    "items",
                    "chunks",
                    "commands",
                    "replies",
                    "calls",
                    "client_keys",
                    "proposals",
                    "grants",
                    "search",
                    "events",
                ] {
                    let sql = format!("SELECT count(*) FROM {table}");
                    counts.insert(table, db.query_row(&sql, [], |row| row.get::<_, i64>(0))?);
                }
                Ok(counts)
            })
            .await
            .unwrap()
    };
    assert!(owl.store.conversations().delete(id, owl.now).await.unwrap());
    let left: Vec<_> = rows().await.into_iter().filter(|(_, count)| *count > 0).collect();
    assert_eq!(left, [("events", 1)]);
    assert!(owl.conversation().await > id, "an id is never used twice");
}

#[tokio::test]
async fn a_leg_that_goes_on_meanwhile_writes_nothing() {
    let owl = Owl::new();
    let id = owl.conversation().await;
    let turn = owl.begin(id, "one").await.turn;
    let item = owl.store.turns().open_text(turn, owl.now).await.unwrap();
    owl.store.turns().append(item, Part::Text, "on its way");
    assert!(owl.store.conversations().delete(id, owl.now).await.unwrap());
    let seq = owl.newest();
    owl.store.turns().append(item, Part::Text, &"late ".repeat(5_000));
    let turns = owl.store.turns();
    assert!(turns.record(turn, Some(item), words("late"), 0, owl.now).await.is_err());
    assert_eq!(turns.close(turn, Ending::EndTurn, Usage::default(), owl.now).await, Ok(Moved::Lost));
    assert_eq!(turns.load(turn).await, Ok(None));
    assert_eq!(owl.store.health().await.failing, None, "that is nobody's fault");
    drop(turns);
    let owl = owl.reopen();
    assert_eq!(owl.newest(), seq);
    owl.store.close().await;
    let bytes = fs::read(owl.path()).unwrap();
    assert!(!bytes.windows(9).any(|window| window == b"late late"));
}
