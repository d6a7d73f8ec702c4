//! Search: every word, whatever its case; in titles, messages, commands and what they printed.

use super::*;
use owl_domain::{conversation::Part, ports::Match};

async fn found(owl: &Owl, query: &str) -> Vec<Match> {
    owl.store.conversations().search(query.into(), page(50)).await.unwrap().items
}

async fn count(owl: &Owl, query: &str) -> usize {
    found(owl, query).await.len()
}

/// A Conversation with one question, whose title is not its text.
async fn asked(owl: &Owl, question: &str) -> ConversationId {
    let title = owl_domain::text::Title::new("-").unwrap();
    let new = NewConversation { title: Some(title), ..NewConversation::default() };
    let id = owl.store.conversations().create(new, owl.now).await.unwrap().conversation.id;
    owl.begin(id, question).await;
    id
}

#[tokio::test]
async fn every_word_must_be_there_whatever_its_case() {
    let owl = Owl::new();
    asked(&owl, "Where does the Straße of main.rs lead? ÄPFEL foo_bar \"quoted\" AND -minus* café").await;
    for query in [
        "where",
        "WHERE",
        "lead where",
        "straße",
        "äpfel",
        "Äp",
        "main.rs",
        "foo_bar",
        "\"quoted\"",
        "and",
        "-minus*",
        "CAFÉ",
        "lead?",
        "?",
    ] {
        assert_eq!(count(&owl, query).await, 1, "{query}");
    }
    for query in ["where not", "main-rs", "cafe", "whereas", "NEAR(where lead)", "", " ", "\0", "where\0x", "text:lead"]
    {
        assert_eq!(count(&owl, query).await, 0, "{query}");
    }
}

#[tokio::test]
async fn words_without_blanks_between_them_are_found() {
    let owl = Owl::new();
    asked(&owl, "日本語のテストを書く").await;
    asked(&owl, "supercalifragilistic &&").await;
    for query in ["日本語", "テスト", "書く", "本", "califragil", "&&", "super &&", "ⓐ日"] {
        assert_eq!(count(&owl, query).await, usize::from(query != "ⓐ日"), "{query}");
    }
}

#[tokio::test]
async fn titles_messages_commands_and_outputs_are_searched() {
    let owl = Owl::new();
    let id = owl.conversation().await;
    let turn = owl.begin(id, "zebra question").await.turn;
    let item = owl.store.turns().open_text(turn, owl.now).await.unwrap();
    owl.store.turns().append(item, Part::Text, "a giraffe answers");
    owl.store.turns().append(item, Part::Reasoning, "hidden thoughts");
    owl.store.turns().record(turn, Some(item), calls(&["cat lion.txt"]), 0, owl.now).await.unwrap();
    let proposal = owl.propose(at(turn, 0), "cat lion.txt").await.unwrap();
    assert_eq!(count(&owl, "lion").await, 0, "what is open is not found yet");
    owl.answer(&proposal, Said::AllowOnce).await.unwrap();
    owl.start(&proposal).await;
    owl.settle(at(turn, 0), &proposal, ran("the tiger\nroars")).await;

    let kinds = async |query: &str| {
        found(&owl, query).await.iter().map(|found| (found.item.is_some(), found.kind)).collect::<Vec<_>>()
    };
    let mut both = kinds("zebra").await;
    both.sort();
    assert_eq!(both, [(false, None), (true, Some("user"))]);
    assert_eq!(kinds("giraffe").await, [(true, Some("assistant"))]);
    assert_eq!(kinds("lion.txt tiger").await, [(true, Some("command"))]);
    assert_eq!(kinds("thoughts").await, []);
    let tiger = found(&owl, "TIGER").await.remove(0);
    assert_eq!((tiger.conversation, tiger.item, tiger.title.as_str()), (id, Some(proposal.item), "zebra question"));
    assert_eq!(
        (tiger.before.as_str(), tiger.found.as_str(), tiger.after.as_str()),
        ("cat lion.txt\nthe ", "tiger", "\nroars\n\n\n")
    );

    let renamed = owl_domain::ports::ConversationChange {
        title: Some(Some(owl_domain::text::Title::new("elephant").unwrap())),
        ..Default::default()
    };
    owl.store.conversations().update(id, renamed, owl.now).await.unwrap();
    assert_eq!(kinds("zebra").await, [(true, Some("user"))]);
    assert_eq!(kinds("elephant").await, [(false, None)]);
}

#[tokio::test]
async fn the_piece_around_is_short_and_whole_characters() {
    let owl = Owl::new();
    asked(&owl, &format!("{} needle {}", "ü".repeat(500), "é".repeat(500))).await;
    asked(&owl, &format!("pin {}", "é".repeat(500))).await;
    asked(&owl, &format!("{} end", "ü".repeat(500))).await;
    for (query, before, after) in [("needle", 97, 97), ("pin", 0, 197), ("end", 197, 0)] {
        let found = found(&owl, query).await.remove(0);
        assert_eq!(found.found, query);
        assert_eq!((found.before.chars().count(), found.after.chars().count()), (before, after), "{query}");
    }
}

#[tokio::test]
async fn the_best_comes_first_and_pages_hold_each_once() {
    let owl = Owl::new();
    let weak = asked(&owl, &format!("badger {}", "filler ".repeat(50))).await;
    let strong = asked(&owl, "badger badger").await;
    let mut same = Vec::new();
    for number in 0..5 {
        same.push(asked(&owl, &format!("otter n{number}")).await);
    }
    let ids = async |query: &str, limit| {
        let mut ids = Vec::new();
        let mut cursor = None;
        loop {
            let page = Page { limit, cursor };
            let listed = owl.store.conversations().search(query.into(), page).await.unwrap();
            ids.extend(listed.items.iter().map(|found| found.conversation));
            cursor = listed.next;
            if cursor.is_none() {
                return ids;
            }
        }
    };
    assert_eq!(ids("badger", 50).await, [strong, weak]);
    same.reverse();
    // Found by the index, and by looking.
    for query in ["otter", "tter"] {
        for limit in [1, 2, 50] {
            assert_eq!(ids(query, limit).await, same, "{query}, pages of {limit}");
        }
    }
}
