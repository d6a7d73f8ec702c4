use super::*;

const CHAT: ConversationId = ConversationId::new(1);
const ITEM: ItemId = ItemId::new(7);

fn open() -> Arc<LiveTexts> {
    let live = Arc::new(LiveTexts::new());
    live.open(CHAT, TurnId::new(2), ITEM);
    live
}

#[test]
fn a_watcher_reads_on_from_where_it_is() {
    let live = open();
    let watching = live.watch(CHAT);
    assert_eq!(watching.piece(ITEM, Part::Text, 0), None);
    live.append(ITEM, Part::Text, "Let me ");
    live.append(ITEM, Part::Text, "look.");
    live.append(ITEM, Part::Reasoning, "hm");
    assert_eq!(watching.piece(ITEM, Part::Text, 0).as_deref(), Some("Let me look."));
    assert_eq!(watching.piece(ITEM, Part::Text, 7).as_deref(), Some("look."));
    assert_eq!(watching.piece(ITEM, Part::Text, 12), None);
    assert_eq!(watching.piece(ITEM, Part::Reasoning, 0).as_deref(), Some("hm"));
    assert_eq!(watching.open(), [(ITEM, TurnId::new(2))]);
}

#[test]
fn a_piece_is_bounded_and_ends_between_characters() {
    let live = open();
    let watching = live.watch(CHAT);
    live.append(ITEM, Part::Text, &"€".repeat(PIECE_BYTES));
    let piece = watching.piece(ITEM, Part::Text, 0).unwrap();
    assert!(piece.len() <= PIECE_BYTES && piece.len() > PIECE_BYTES - 3);
    assert!(watching.piece(ITEM, Part::Text, piece.len()).is_some());
}

#[tokio::test]
async fn a_watcher_is_told_of_its_own_conversation_alone() {
    let live = open();
    let mut watching = live.watch(CHAT);
    let mut other = live.watch(ConversationId::new(2));
    live.append(ITEM, Part::Stdout, "x");
    watching.grown().await;
    assert!(!other.grown.has_changed().unwrap());
    drop(other.grown());
}

#[test]
fn nothing_is_kept_of_what_is_closed_and_not_watched() {
    let live = open();
    let watching = live.watch(CHAT);
    live.append(ITEM, Part::Text, "x");
    live.close(ITEM);
    live.append(ITEM, Part::Text, "late");
    assert_eq!(watching.piece(ITEM, Part::Text, 0), None);
    drop(watching);
    let held = live.lock();
    assert!(held.conversations.is_empty() && held.where_is.is_empty());
}
