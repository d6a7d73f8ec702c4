use crate::{
    LiveTexts,
    client::{Client, Events},
    fakes::{MemoryEvents, Ports, begun, item, whole},
    samples::{self, CHAT, TURN},
    table,
    tests::{Serving, soon},
};
use owl_domain::{
    conversation::{CommandOutcome, ItemBody, Part},
    ids::ConversationId,
    ports::{Events as _, Live},
    turn::{About, Event, EventBody},
};
use serde_json::{Value, json};
use std::sync::Arc;

struct Watched {
    _serving: Serving,
    client: Client,
    events: Arc<MemoryEvents>,
    live: Arc<LiveTexts>,
}

impl Watched {
    async fn with(ports: Ports) -> Self {
        let (events, live) = (ports.events.clone(), ports.live.clone());
        let serving = Serving::of(table(&ports.api()));
        let client = Client::connect(&serving.socket).await.unwrap();
        Self { _serving: serving, client, events, live }
    }

    async fn start() -> Self {
        Self::with(Ports::new()).await
    }

    async fn chat(&self, after: Option<i64>) -> Events {
        let params = json!({ "conversation_id": "c_12", "after_seq": after });
        self.client.subscribe("chat.subscribe", params).await.unwrap()
    }

    fn updated(&self, seq: i64) {
        self.events.store(&updated(seq));
    }

    /// Has an Item begin, as the domain does it: stored first, then open.
    fn begin(&self, id: i64, seq: i64) {
        self.events.store(&begun(id, seq));
        self.live.open(CHAT, TURN, item(id));
    }

    fn end(&self, id: i64, first: i64, seq: i64, text: &str) {
        self.events.store(&whole(id, first, seq, text));
        self.live.close(item(id));
    }
}

fn updated(seq: i64) -> Event {
    samples::event(seq, EventBody::ConversationUpdated(samples::conversation()))
}

fn elsewhere(seq: i64) -> Event {
    Event { about: About::Conversation(ConversationId::new(99), None), ..updated(seq) }
}

/// Says an event in a few words: its number, or what it brings.
fn short(event: &Value) -> String {
    let name = event["type"].as_str().unwrap();
    match name {
        "item.delta" | "item.snapshot" => {
            let (item, part) = (event["item_id"].as_str().unwrap(), event["part"].as_str().unwrap());
            format!("{} {item} {part} {} {}", &name[5..], event["offset"], event["text"])
        }
        "stream.live" => format!("live {}", event["last_seq"]),
        "stream.closed" => format!("closed {} {}", event["reason"].as_str().unwrap(), event["next_after"]),
        _ => format!("{} {name}", event["seq"]),
    }
}

async fn next(events: &mut Events, number: usize) -> Vec<String> {
    let mut told = Vec::new();
    for _ in 0..number {
        told.push(short(&soon("an event", events.next()).await.expect("the subscription ended")));
    }
    told
}

#[tokio::test]
async fn what_was_comes_first_then_that_it_is_live_then_what_comes() {
    let watched = Watched::start().await;
    for seq in [3, 5, 8] {
        watched.updated(seq);
    }
    watched.events.store(&elsewhere(9));
    let mut events = watched.chat(Some(3)).await;
    assert_eq!(next(&mut events, 3).await, ["5 conversation.updated", "8 conversation.updated", "live 129"]);
    watched.events.store(&elsewhere(10));
    watched.updated(11);
    assert_eq!(next(&mut events, 1).await, ["11 conversation.updated"]);
}

#[tokio::test]
async fn from_now_on_sends_nothing_of_before() {
    let watched = Watched::start().await;
    watched.updated(200);
    let mut events = watched.chat(None).await;
    assert_eq!(next(&mut events, 1).await, ["live 129"]);
}

#[tokio::test]
async fn the_last_number_told_is_the_conversations_own() {
    let watched = Watched::start().await;
    watched.updated(130);
    watched.events.store(&elsewhere(140));
    let mut events = watched.chat(Some(0)).await;
    assert_eq!(next(&mut events, 2).await, ["130 conversation.updated", "live 130"]);
}

#[tokio::test]
async fn thousands_of_rows_come_in_order_each_once() {
    let watched = Watched::start().await;
    for seq in 1..=3000 {
        watched.updated(seq);
    }
    let mut events = watched.chat(Some(0)).await;
    for seq in 1..=3000 {
        assert_eq!(next(&mut events, 1).await, [format!("{seq} conversation.updated")]);
    }
    assert_eq!(next(&mut events, 1).await, ["live 3000"]);
}

#[tokio::test]
async fn what_is_stored_between_the_standing_and_the_stream_is_told_once_and_after_it() {
    let watched = Watched::start().await;
    watched.updated(130);
    *watched.events.after_standing.lock().unwrap() = Some(Box::new(|events| events.store(&updated(131))));
    let mut events = watched.chat(Some(0)).await;
    watched.updated(132);
    assert_eq!(
        next(&mut events, 4).await,
        ["130 conversation.updated", "live 130", "131 conversation.updated", "132 conversation.updated"]
    );
}

#[tokio::test]
async fn a_number_beyond_the_newest_is_never_silence() {
    let watched = Watched::start().await;
    watched.updated(7);
    for method in ["chat.subscribe", "events.subscribe"] {
        let params = if method == "chat.subscribe" {
            json!({ "conversation_id": "c_12", "after_seq": 8 })
        } else {
            json!({ "after_seq": 8 })
        };
        let crate::ClientError::Rpc(refused) = watched.client.subscribe(method, params).await.unwrap_err() else {
            panic!("refused");
        };
        assert_eq!((refused.code, refused.data.unwrap()["last_seq"].clone()), (1010, json!(7)));
    }
}

#[tokio::test]
async fn text_comes_as_it_grows_between_its_beginning_and_its_end() {
    let watched = Watched::start().await;
    let mut events = watched.chat(Some(0)).await;
    assert_eq!(next(&mut events, 1).await, ["live 129"]);
    watched.begin(8, 130);
    assert_eq!(next(&mut events, 1).await, ["130 item.started"]);
    watched.live.append(item(8), Part::Reasoning, "hm");
    assert_eq!(next(&mut events, 1).await, [r#"delta i_8 reasoning 0 "hm""#]);
    watched.live.append(item(8), Part::Text, "Let me ");
    assert_eq!(next(&mut events, 1).await, [r#"delta i_8 text 0 "Let me ""#]);
    watched.live.append(item(8), Part::Text, "look€");
    assert_eq!(next(&mut events, 1).await, [r#"delta i_8 text 7 "look€""#]);
    watched.end(8, 130, 131, "Let me look€");
    assert_eq!(next(&mut events, 1).await, ["131 item.completed"]);
}

#[tokio::test]
async fn what_a_subscriber_missed_of_a_text_comes_before_its_end() {
    let watched = Watched::start().await;
    let mut events = watched.chat(Some(0)).await;
    assert_eq!(next(&mut events, 1).await, ["live 129"]);
    watched.begin(8, 130);
    watched.live.append(item(8), Part::Text, "Let ");
    assert_eq!(next(&mut events, 2).await, ["130 item.started", r#"delta i_8 text 0 "Let ""#]);
    // The text is gone from memory before the subscriber looks.
    watched.live.close(item(8));
    watched.events.store(&whole(8, 130, 131, "Let me look."));
    assert_eq!(next(&mut events, 2).await, [r#"delta i_8 text 4 "me look.""#, "131 item.completed"]);
}

#[tokio::test]
async fn an_item_that_began_and_ended_unseen_has_its_pieces_all_the_same() {
    let watched = Watched::start().await;
    let mut events = watched.chat(Some(0)).await;
    assert_eq!(next(&mut events, 1).await, ["live 129"]);
    let text = "x".repeat(100_000);
    watched.events.store(&begun(8, 130));
    watched.events.store(&whole(8, 130, 131, &text));
    let told = [
        next(&mut events, 1).await.remove(0),
        format!("delta i_8 text 0 \"{}\"", "x".repeat(65_536)),
        format!("delta i_8 text 65536 \"{}\"", "x".repeat(100_000 - 65_536)),
        String::from("131 item.completed"),
    ];
    assert_eq!(told[0], "130 item.started");
    assert_eq!(next(&mut events, 3).await, told[1..]);
}

#[tokio::test]
async fn what_a_command_prints_is_told_in_pieces_too() {
    let watched = Watched::start().await;
    let mut events = watched.chat(Some(0)).await;
    assert_eq!(next(&mut events, 1).await, ["live 129"]);
    let command = |outcome, seq, done| {
        let body = ItemBody::Command(Box::new(samples::command(outcome)));
        let item = samples::item(9, 130, done, body);
        samples::event(seq, if done { EventBody::ItemCompleted(item) } else { EventBody::ItemStarted(item) })
    };
    watched.events.store(&command(None, 130, false));
    watched.live.open(CHAT, TURN, item(9));
    watched.live.append(item(9), Part::Stdout, "src/main.rs");
    assert_eq!(next(&mut events, 2).await, ["130 item.started", r#"delta i_9 stdout 0 "src/main.rs""#]);
    watched.events.store(&command(Some(CommandOutcome::Ran(samples::ran("src/main.rs:3\n"))), 131, true));
    assert_eq!(next(&mut events, 2).await, [r#"delta i_9 stdout 11 ":3\n""#, "131 item.completed"]);
}

#[tokio::test]
async fn one_that_comes_in_the_middle_gets_a_snapshot_and_goes_on_from_there() {
    let mut ports = Ports::new();
    ports.open_items(vec![samples::item(8, 130, false, samples::assistant("Let", false))]);
    let watched = Watched::with(ports).await;
    watched.begin(8, 130);
    watched.live.append(item(8), Part::Text, "Let me ");
    let mut events = watched.chat(None).await;
    assert_eq!(next(&mut events, 2).await, [r#"snapshot i_8 text 0 "Let me ""#, "live 129"]);
    watched.live.append(item(8), Part::Text, "look.");
    assert_eq!(next(&mut events, 1).await, [r#"delta i_8 text 7 "look.""#]);
    watched.live.append(item(8), Part::Reasoning, "late");
    // The client may hold some of a part from before, so the first piece takes its place.
    assert_eq!(next(&mut events, 1).await, [r#"snapshot i_8 reasoning 0 "late""#]);
}

#[tokio::test]
async fn an_item_that_ends_while_its_subscriber_comes_is_told_whole() {
    let mut ports = Ports::new();
    // By the time the store is asked, it is done.
    ports.open_items(vec![samples::item(8, 130, true, samples::assistant("Let me look.", true))]);
    let watched = Watched::with(ports).await;
    watched.begin(8, 130);
    watched.live.append(item(8), Part::Text, "Let me ");
    *watched.events.after_standing.lock().unwrap() =
        Some(Box::new(|events| events.store(&whole(8, 130, 131, "Let me look."))));
    let mut events = watched.chat(None).await;
    assert_eq!(next(&mut events, 3).await, ["live 129", r#"snapshot i_8 text 0 "Let me look.""#, "131 item.completed"]);
}

#[tokio::test]
async fn text_of_an_item_that_the_store_calls_done_is_not_told_as_open() {
    let mut ports = Ports::new();
    ports.open_items(vec![samples::item(8, 130, true, samples::assistant("Done.", true))]);
    let watched = Watched::with(ports).await;
    watched.begin(8, 130);
    watched.live.append(item(8), Part::Text, "Done.");
    watched.events.store(&whole(8, 130, 131, "Done."));
    let mut events = watched.chat(None).await;
    assert_eq!(next(&mut events, 1).await, ["live 129"]);
    watched.updated(132);
    assert_eq!(next(&mut events, 1).await, ["132 conversation.updated"]);
}

#[tokio::test]
async fn without_deltas_only_rows_are_told() {
    let watched = Watched::start().await;
    let params = json!({ "conversation_id": "c_12", "after_seq": 0, "deltas": false });
    let mut events = watched.client.subscribe("chat.subscribe", params).await.unwrap();
    assert_eq!(next(&mut events, 1).await, ["live 129"]);
    watched.begin(8, 130);
    watched.live.append(item(8), Part::Text, "Let me look.");
    watched.end(8, 130, 131, "Let me look.");
    assert_eq!(next(&mut events, 2).await, ["130 item.started", "131 item.completed"]);
}

#[tokio::test]
async fn pieces_joined_are_the_stored_text_however_they_come() {
    let watched = Arc::new(Watched::start().await);
    let mut events = watched.chat(Some(0)).await;
    assert_eq!(next(&mut events, 1).await, ["live 129"]);
    let telling = watched.clone();
    let story = tokio::spawn(async move {
        for turn in 0..50 {
            let (id, seq) = (100 + turn, 200 + 2 * turn);
            telling.begin(id, seq);
            let mut text = String::new();
            for word in 0..turn {
                let piece = format!("wörd{word} ");
                telling.live.append(item(id), Part::Text, &piece);
                text.push_str(&piece);
                if word % 3 == 0 {
                    tokio::task::yield_now().await;
                }
            }
            telling.end(id, seq, seq + 1, &text);
        }
    });
    let mut held = String::new();
    for _ in 0..50 {
        loop {
            let event = soon("an event", events.next()).await.unwrap();
            match event["type"].as_str().unwrap() {
                "item.started" => held.clear(),
                "item.delta" => {
                    assert_eq!(event["offset"], held.len());
                    held.push_str(event["text"].as_str().unwrap());
                }
                "item.completed" => {
                    assert_eq!(event["item"]["text"], held);
                    break;
                }
                other => panic!("{other}"),
            }
        }
    }
    story.await.unwrap();
}

#[tokio::test]
async fn a_deleted_conversation_ends_its_subscription() {
    let watched = Watched::start().await;
    let mut events = watched.chat(Some(0)).await;
    assert_eq!(next(&mut events, 1).await, ["live 129"]);
    watched.events.store(&samples::event(140, EventBody::ConversationDeleted));
    assert_eq!(next(&mut events, 2).await, ["140 conversation.deleted", "closed deleted 140"]);
    assert_eq!(events.next().await, None);
}

#[tokio::test]
async fn the_inbox_tells_of_all_and_of_what_waits() {
    let watched = Watched::start().await;
    watched.events.wait_with(vec![samples::proposal()]);
    watched.updated(1);
    watched.events.store(&elsewhere(2));
    let mut events = watched.client.subscribe("events.subscribe", json!({ "after_seq": 0 })).await.unwrap();
    assert_eq!(next(&mut events, 2).await, ["1 conversation.updated", "2 conversation.updated"]);
    let live = soon("live", events.next()).await.unwrap();
    assert_eq!(live["pending"][0]["id"], "p_3");
    assert_eq!(live["pending_total"], 1);
    assert_eq!((&live["last_seq"], &live["state"], &live["turn_id"]), (&json!(2), &Value::Null, &Value::Null));
    watched.begin(8, 3);
    watched.live.append(item(8), Part::Text, "not for the inbox");
    watched.events.store(&elsewhere(4));
    assert_eq!(next(&mut events, 2).await, ["3 item.started", "4 conversation.updated"]);
}

#[tokio::test]
async fn chosen_types_are_told_and_no_others() {
    let watched = Watched::start().await;
    watched.updated(1);
    watched.begin(8, 2);
    let params = json!({ "after_seq": 0, "types": ["item.started"] });
    let mut events = watched.client.subscribe("events.subscribe", params).await.unwrap();
    assert_eq!(next(&mut events, 2).await, ["2 item.started", "live 2"]);
    for wrong in [json!([]), json!(["item.delta"]), json!(vec!["item.started"; 51])] {
        let refused = watched.client.subscribe("events.subscribe", json!({ "types": wrong })).await.unwrap_err();
        assert!(matches!(refused, crate::ClientError::Rpc(error) if error.code == -32602));
    }
}

#[tokio::test]
async fn the_end_of_the_server_comes_after_the_last_rows() {
    let Watched { _serving: serving, client, events: stored, live } = Watched::start().await;
    let params = json!({ "conversation_id": "c_12", "after_seq": 0 });
    let mut chat = client.subscribe("chat.subscribe", params).await.unwrap();
    let mut inbox = client.subscribe("events.subscribe", json!({ "after_seq": 0 })).await.unwrap();
    assert_eq!(next(&mut chat, 1).await, ["live 129"]);
    assert_eq!(next(&mut inbox, 1).await, ["live 0"]);
    serving.running.refuse();
    stored.store(&begun(8, 130));
    live.open(CHAT, TURN, item(8));
    stored.store(&whole(8, 130, 131, ""));
    let stopping = tokio::spawn(serving.running.stop());
    for events in [&mut chat, &mut inbox] {
        let told = ["130 item.started", "131 item.completed", "closed stopping 131"];
        assert_eq!(next(events, 3).await, told);
        assert_eq!(events.next().await, None);
    }
    soon("the end", stopping).await.unwrap();
    assert_eq!(stored.newest().0, 131);
}
