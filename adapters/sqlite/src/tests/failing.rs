//! A store that cannot be written or read says so, names the file and what to do, and tells nothing that is not stored.

use super::*;
use owl_domain::{conversation::PageError, ports::StoreError};
use std::{fs, io::Write as _};

/// Lets the file grow no more, as a full disk does.
async fn fill(owl: &Owl) {
    owl.store
        .database
        .write(owl.now, |change| {
            let pages: i64 = change.db().query_row("PRAGMA page_count", [], |row| row.get(0))?;
            Ok(change.db().query_row(&format!("PRAGMA max_page_count = {pages}"), [], |row| row.get::<_, i64>(0))?)
        })
        .await
        .unwrap();
}

async fn make_room(owl: &Owl) {
    let more =
        |db: &rusqlite::Connection| db.query_row("PRAGMA max_page_count = 100000", [], |row| row.get::<_, i64>(0));
    owl.store.database.write(owl.now, move |change| Ok(more(change.db())?)).await.unwrap();
}

fn check(owl: &Owl, error: &StoreError, words: &str) {
    assert_eq!(error.file, owl.path().to_string_lossy());
    assert!(error.reason.contains(words), "{error}");
}

#[tokio::test]
async fn a_full_disk_tears_nothing_and_tells_nothing() {
    let owl = Owl::new();
    let conversation = owl.conversation().await;
    let turn = owl.begin(conversation, "one").await.turn;
    let item = owl.store.turns().open_text(turn, owl.now).await.unwrap();
    let seq = owl.newest();
    let before = owl.load(turn).await;
    fill(&owl).await;

    let text = "many words that need room ".repeat(4_000);
    owl.store.turns().append(item, owl_domain::conversation::Part::Text, &text);
    let turns = owl.store.turns();
    let error = turns.record(turn, Some(item), words(&text), 0, owl.now).await.unwrap_err();
    check(&owl, &error, "the disk is full; free some space");
    assert_eq!(owl.store.health().await.failing, Some(error));
    assert_eq!((owl.newest(), owl.names_after(seq).await), (seq, vec![]));
    assert_eq!(owl.load(turn).await, before);

    // With room again it goes on, and the text is still there.
    make_room(&owl).await;
    turns.record(turn, Some(item), words(&text), 0, owl.now).await.unwrap();
    assert_eq!(turns.text(turn).await.unwrap(), text);
    assert_eq!(owl.store.health().await.failing, None);
    assert_eq!(owl.names_after(seq).await, ["item.completed"]);
}

#[tokio::test]
async fn a_damaged_file_is_an_error_and_never_an_empty_list() {
    let owl = Owl::new();
    owl.conversation().await;
    owl.store.close().await;
    let owl = owl.reopen();
    let length = fs::metadata(owl.path()).unwrap().len();
    let mut file = fs::OpenOptions::new().write(true).open(owl.path()).unwrap();
    file.write_all(&vec![0xAB; usize::try_from(length).unwrap()]).unwrap();

    let listed = owl.store.conversations().list(everything(), page(50)).await;
    let Err(PageError::Store(error)) = listed else { panic!("{listed:?}") };
    check(&owl, &error, "is damaged; stop the daemon");
    check(&owl, &owl.store.projects().list().await.unwrap_err(), "is damaged");
    assert!(owl.store.health().await.failing.is_some());
}

#[tokio::test]
async fn a_row_that_cannot_be_read_is_an_error() {
    let owl = Owl::new();
    let conversation = owl.conversation().await;
    let turn = owl.begin(conversation, "one").await.turn;
    let spoil = |db: &rusqlite::Connection| db.execute("UPDATE turns SET provider = 'nobody'", []);
    owl.store.database.write(owl.now, move |change| Ok(spoil(change.db())?)).await.unwrap();
    let error = owl.store.turns().get(turn).await.unwrap_err();
    check(&owl, &error, "holds a provider's name that this Owl cannot read");
}

#[tokio::test]
async fn a_defect_in_one_change_undoes_it_and_ends_nothing_else() {
    let owl = Owl::new();
    owl.conversation().await;
    let seq = owl.newest();
    let error = owl
        .store
        .database
        .write::<()>(owl.now, |change| {
            change.db().execute("DELETE FROM conversations", [])?;
            panic!("a defect")
        })
        .await
        .unwrap_err();
    check(&owl, &error, "a defect in Owl");
    let listed = owl.store.conversations().list(everything(), page(50)).await.unwrap();
    assert_eq!((listed.items.len(), owl.newest()), (1, seq));
    owl.conversation().await;
}

#[tokio::test]
async fn a_closed_store_refuses_and_leaves_no_log() {
    let owl = Owl::new();
    let conversation = owl.conversation().await;
    let turn = owl.begin(conversation, "one").await.turn;
    let item = owl.store.turns().open_text(turn, owl.now).await.unwrap();
    owl.store.turns().append(item, owl_domain::conversation::Part::Text, "the last words");
    owl.store.close().await;
    owl.store.close().await;
    check(&owl, &owl.store.turns().get(turn).await.unwrap_err(), "is closed");
    check(&owl, &owl.store.turns().open_text(turn, owl.now).await.unwrap_err(), "is closed");
    owl.store.turns().append(item, owl_domain::conversation::Part::Text, "too late");
    let names: Vec<_> = fs::read_dir(owl.directory.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["owl.db"]);
    let owl = owl.reopen();
    assert_eq!(owl.store.turns().text(turn).await.unwrap(), "the last words");
}

#[tokio::test]
async fn whoever_waits_for_an_event_is_woken_by_its_commit() {
    let owl = Owl::new();
    let (events, seq) = (owl.store.events(), owl.newest());
    let waits = tokio::spawn(async move { events.newer_than(seq).await });
    owl.conversation().await;
    assert_eq!(waits.await.unwrap(), Seq(1));
    assert_eq!(owl.store.events().newer_than(Seq(0)).await, Seq(1));
}

#[tokio::test]
async fn how_things_stand_is_read_in_one_moment() {
    let owl = Owl::new();
    let conversation = owl.conversation().await;
    let turn = owl.asked(conversation, &["cat a"]).await;
    let proposal = owl.propose(at(turn, 0), "cat a").await.unwrap();
    let of_it = owl.store.events().standing(EventScope::Conversation(conversation)).await.unwrap();
    assert_eq!((of_it.newest, of_it.turn, of_it.pending_total), (owl.newest(), Some(turn), 1));
    assert_eq!(of_it.state, Some(owl_domain::conversation::ConversationState::AwaitingConsent));
    assert_eq!(of_it.pending, std::slice::from_ref(&proposal));
    let other = owl.conversation().await;
    let of_other = owl.store.events().standing(EventScope::Conversation(other)).await.unwrap();
    assert_eq!((of_other.turn, of_other.pending_total), (None, 0));
    let of_all = owl.store.events().standing(EventScope::All).await.unwrap();
    assert_eq!((of_all.state, of_all.turn, of_all.pending), (None, None, vec![proposal]));
    let health = owl.store.health().await;
    assert_eq!((health.turns_running, health.turns_waiting), (0, 1));
}
