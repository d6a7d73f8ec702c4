//! Conversations made, changed and listed; Items and the record of commands in pages.

use super::*;
use owl_domain::{
    conversation::{ConversationState, ItemBody, PageError},
    gate::{Denial, DenialKind},
    limits,
    ports::{CommandFilter, ConversationChange, CreateError, Judged, Once, ProposalFilter, ProposalState, UpdateError},
    text::{ClientKey, Title},
};

fn title(text: &str) -> Title {
    Title::new(text).unwrap()
}

#[tokio::test]
async fn one_is_made_told_and_read_the_same() {
    let owl = Owl::new();
    owl.store.projects().add(project("my-app", WORKDIR)).await.unwrap();
    let new = NewConversation {
        workdir: Some(path(WORKDIR)),
        project: Some(ProjectName::new("my-app").unwrap()),
        model: Some(model()),
        title: Some(title("Given")),
        once: None,
    };
    let made = owl.store.conversations().create(new, owl.now).await.unwrap();
    assert!(!made.duplicate);
    let conversation = made.conversation;
    assert_eq!(conversation.project, Some(ProjectName::new("my-app").unwrap()));
    assert_eq!((conversation.title.as_str(), conversation.version, conversation.last_seq), ("Given", 1, Some(Seq(1))));
    assert_eq!(owl.store.conversations().get(conversation.id).await.unwrap(), Some(conversation.clone()));
    let told = owl.events_after(Seq(0)).await.pop().unwrap().body;
    assert_eq!(told, EventBody::ConversationCreated(conversation.clone()));
    assert_eq!(owl.store.conversations().get(ConversationId::new(9)).await.unwrap(), None);

    // The Project is told while it is registered.
    let now = async || owl.store.conversations().get(conversation.id).await.unwrap().unwrap();
    assert!(owl.store.projects().remove(ProjectName::new("my-app").unwrap()).await.unwrap());
    assert_eq!(now().await.project, None);
    owl.store.projects().add(project("renamed", WORKDIR)).await.unwrap();
    assert_eq!(now().await.project, Some(ProjectName::new("renamed").unwrap()));
}

#[tokio::test]
async fn a_call_that_is_sent_again_makes_none() {
    let owl = Owl::new();
    let keyed = |parameters: &str| NewConversation {
        once: Some(Once { key: ClientKey::new("k").unwrap(), parameters: parameters.into() }),
        ..NewConversation::default()
    };
    let conversations = owl.store.conversations();
    let first = conversations.create(keyed("a"), owl.now).await.unwrap();
    let again = conversations.create(keyed("a"), owl.now).await.unwrap();
    assert_eq!((again.conversation, again.duplicate), (first.conversation.clone(), true));
    assert_eq!(conversations.create(keyed("b"), owl.now).await, Err(CreateError::Mismatch));
    assert_eq!(owl.names_after(Seq(0)).await, ["conversation.created"]);
    // With its Conversation the key is gone too.
    assert!(conversations.delete(first.conversation.id, owl.now).await.unwrap());
    assert!(!conversations.create(keyed("b"), owl.now).await.unwrap().duplicate);
}

#[tokio::test]
async fn a_change_is_told_when_something_differs() {
    let mut owl = Owl::new();
    let id = owl.conversation().await;
    owl.begin(id, "the question").await;
    let seq = owl.newest();
    owl.pass(10);
    let update = |change| {
        let (conversations, now) = (owl.store.conversations(), owl.now);
        async move { conversations.update(id, change, now).await }
    };
    let change = ConversationChange::default;
    let before = owl.store.conversations().get(id).await.unwrap().unwrap();
    assert_eq!(update(change()).await, Ok(before.clone()));
    let same = ConversationChange { archived: Some(false), model: Some(Some(model())), ..change() };
    assert_eq!(update(same).await, Ok(before.clone()));
    assert_eq!(owl.newest(), seq);

    let stale = ConversationChange { archived: Some(true), if_version: Some(1), ..change() };
    assert_eq!(update(stale).await, Err(UpdateError::Version { version: 2 }));
    let renamed = ConversationChange { title: Some(Some(title("Mine"))), if_version: Some(2), ..change() };
    let renamed = update(renamed).await.unwrap();
    assert_eq!((renamed.title.as_str(), renamed.version, renamed.updated_at), ("Mine", 3, owl.now));
    let cleared = ConversationChange { title: Some(None), workdir: Some(None), model: Some(None), ..change() };
    let cleared = update(cleared).await.unwrap();
    assert_eq!((cleared.title.as_str(), cleared.version), ("the question", 4));
    assert_eq!((&cleared.workdir, &cleared.model), (&None, &None));
    let told: Vec<_> = owl.events_after(seq).await.into_iter().map(|event| event.body).collect();
    assert_eq!(told, [EventBody::ConversationUpdated(renamed), EventBody::ConversationUpdated(cleared)]);
    let gone = owl.store.conversations().update(ConversationId::new(9), change(), owl.now).await;
    assert_eq!(gone, Err(UpdateError::NotFound));
}

#[tokio::test]
async fn the_one_that_was_spoken_to_last_is_first() {
    let mut owl = Owl::new();
    let older = owl.conversation().await;
    owl.pass(1);
    let newer = owl.conversation().await;
    owl.pass(1);
    owl.begin(older, "first words").await;
    let listed = owl.store.conversations().list(everything(), page(50)).await.unwrap();
    let told: Vec<_> = listed.items.iter().map(|one| (one.id, one.title.as_str())).collect();
    assert_eq!((told, listed.next), (vec![(older, "first words"), (newer, "")], None));
}

#[tokio::test]
async fn pages_hold_each_once_and_only_what_was_asked_for() {
    let mut owl = Owl::new();
    owl.store.projects().add(project("my-app", WORKDIR)).await.unwrap();
    let name = ProjectName::new("my-app").unwrap();
    let mut made = Vec::new();
    for number in 0..25u64 {
        // Some in the same millisecond.
        owl.pass(number % 2);
        let of_project = number % 5 == 0;
        let new = NewConversation {
            workdir: of_project.then(|| path(WORKDIR)),
            project: of_project.then(|| name.clone()),
            ..NewConversation::default()
        };
        made.push(owl.store.conversations().create(new, owl.now).await.unwrap().conversation.id);
    }
    let away = ConversationChange { archived: Some(true), ..ConversationChange::default() };
    owl.store.conversations().update(made[3], away, owl.now).await.unwrap();
    let waiting = owl.asked(made[5], &["cat a"]).await;
    owl.propose(at(waiting, 0), "cat a").await.unwrap();
    owl.begin(made[6], "running").await;

    let walk = async |filter: ConversationFilter, limit| {
        let mut ids = Vec::new();
        let mut cursor = None;
        loop {
            let page = Page { limit, cursor };
            let listed = owl.store.conversations().list(filter.clone(), page).await.unwrap();
            assert!(listed.items.len() <= limit as usize);
            ids.extend(listed.items.iter().map(|one| one.id));
            cursor = listed.next;
            if cursor.is_none() {
                return ids;
            }
        }
    };
    let whole = walk(everything(), 200).await;
    assert_eq!(whole.len(), 24);
    for limit in [1, 7, 24] {
        assert_eq!(walk(everything(), limit).await, whole, "pages of {limit}");
    }
    let filtered = |filter: ConversationFilter| walk(filter, 2);
    assert_eq!(filtered(ConversationFilter { archived: true, ..everything() }).await, [made[3]]);
    let of_project = filtered(ConversationFilter { project: Some(name), ..everything() }).await;
    assert_eq!((of_project.len(), of_project[0]), (5, made[5]));
    let in_state = |state| filtered(ConversationFilter { state: Some(state), ..everything() });
    assert_eq!(in_state(ConversationState::AwaitingConsent).await, [made[5]]);
    assert_eq!(in_state(ConversationState::Running).await, [made[6]]);
    assert_eq!(in_state(ConversationState::Idle).await.len(), 22);
    let nobodys = ConversationFilter { project: Some(ProjectName::new("gone").unwrap()), ..everything() };
    assert_eq!(filtered(nobodys).await, []);
}

#[tokio::test]
async fn a_cursor_belongs_to_its_list_and_filter() {
    let owl = Owl::new();
    for _ in 0..3 {
        owl.conversation().await;
    }
    let conversations = owl.store.conversations();
    let cursor = conversations.list(everything(), page(1)).await.unwrap().next.unwrap();
    let with = |cursor: &str| Page { limit: 1, cursor: Some(cursor.into()) };
    assert!(conversations.list(everything(), with(&cursor)).await.is_ok());
    let archived = ConversationFilter { archived: true, ..everything() };
    assert_eq!(conversations.list(archived, with(&cursor)).await, Err(PageError::Cursor));
    assert_eq!(conversations.search("x".into(), with(&cursor)).await, Err(PageError::Cursor));
    assert_eq!(conversations.commands(CommandFilter::default(), with(&cursor)).await, Err(PageError::Cursor));
    let proposals = owl.store.proposals();
    assert_eq!(proposals.list(ProposalFilter::default(), with(&cursor)).await, Err(PageError::Cursor));
    let other_digit = if cursor.starts_with('0') { "1" } else { "0" };
    for malformed in ["", "x", "é", &cursor[1..], &format!("{cursor}0"), &format!("{other_digit}{}", &cursor[1..])] {
        assert_eq!(conversations.list(everything(), with(malformed)).await, Err(PageError::Cursor), "{malformed}");
    }
}

#[tokio::test]
async fn items_come_in_windows() {
    let owl = Owl::new();
    let id = owl.conversation().await;
    for number in 0..5 {
        let turn = owl.begin(id, &format!("question {number}")).await.turn;
        owl.close(turn, Ending::EndTurn).await;
    }
    let all = owl.items(id).await;
    let window = async |window, limit| {
        let items = owl.store.conversations().items(id, window, limit).await.unwrap();
        (items.items.iter().map(|item| item.id).collect::<Vec<_>>(), items.has_more)
    };
    let ids: Vec<_> = all.iter().map(|item| item.id).collect();
    assert_eq!(window(Window::Newest, 2).await, (ids[3..].to_vec(), true));
    assert_eq!(window(Window::Newest, 5).await, (ids.clone(), false));
    assert_eq!(window(Window::Before(all[3].seq), 2).await, (ids[1..3].to_vec(), true));
    assert_eq!(window(Window::Before(all[0].seq), 2).await, (vec![], false));
    assert_eq!(window(Window::After(all[1].seq), 2).await, (ids[2..4].to_vec(), true));
    assert_eq!(window(Window::After(all[3].seq), 2).await, (ids[4..].to_vec(), false));
}

#[tokio::test]
async fn a_page_ends_early_by_its_bytes_and_holds_one_item_at_least() {
    let owl = Owl::new();
    let id = owl.conversation().await;
    let question = "\u{1}".repeat(limits::TEXT_BYTES - 1) + "x";
    for _ in 0..8 {
        let turn = owl.begin(id, &question).await.turn;
        owl.close(turn, Ending::EndTurn).await;
    }
    let items = owl.store.conversations().items(id, Window::Newest, 50).await.unwrap();
    // Six bytes of JSON for each character: a sixth one would be over 4 MiB.
    assert_eq!((items.items.len(), items.has_more), (5, true));
    let ItemBody::User { text } = &items.items[0].body else { panic!() };
    assert_eq!(text, &question);
}

#[tokio::test]
async fn the_record_tells_every_command_run_or_not() {
    let owl = Owl::new();
    owl.store.projects().add(project("my-app", WORKDIR)).await.unwrap();
    let id = owl.conversation().await;
    let turn = owl.asked(id, &["cat a", "rm x", "cat b"]).await;
    let one = owl.propose(at(turn, 0), "cat a").await.unwrap();
    owl.answer(&one, Said::AllowOnce).await.unwrap();
    owl.start(&one).await;
    owl.settle(at(turn, 0), &one, ran("secret output")).await;
    let denied = Judged::Denied {
        requested: "rm x".into(),
        workdir: Some(path(WORKDIR)),
        denial: Denial::whole(DenialKind::Program, "no"),
    };
    assert_eq!(owl.store.turns().settle(at(turn, 1), denied, told("no"), owl.now).await, Ok(Moved::Won));
    let waiting = owl.propose(at(turn, 2), "cat b").await.unwrap();

    let owl = owl.killed();
    let recorded = async |filter| owl.store.conversations().commands(filter, page(50)).await.unwrap().items;
    let all = recorded(CommandFilter::default()).await;
    let lines: Vec<_> = all.iter().map(|one| one.command.requested.as_str()).collect();
    assert_eq!(lines, ["cat b", "rm x", "cat a"]);
    assert_eq!((all[0].command.proposal, &all[0].decision), (Some(waiting.id), &None));
    let project = Some(ProjectName::new("my-app").unwrap());
    assert!(all.iter().all(|one| one.conversation == id && one.turn == turn && one.project == project));
    let decision = all[2].decision.clone().unwrap();
    assert_eq!((decision.by, all[2].command.started_at), (client(), Some(owl.now)));
    let Some(CommandOutcome::Ran(result)) = &all[2].command.outcome else { panic!("{all:?}") };
    assert_eq!((result.stdout.bytes, result.stdout.head.as_str(), result.exit_code), (13, "", Some(0)));

    let count = async |filter| recorded(filter).await.len();
    let filter = CommandFilter::default;
    assert_eq!(count(CommandFilter { outcome: Some("gate_denied"), ..filter() }).await, 1);
    assert_eq!(count(CommandFilter { outcome: Some("ran"), conversation: Some(id), ..filter() }).await, 1);
    assert_eq!(count(CommandFilter { conversation: Some(ConversationId::new(9)), ..filter() }).await, 0);
    assert_eq!(count(CommandFilter { workdir: Some(WORKDIR.into()), project, ..filter() }).await, 3);
    assert_eq!(count(CommandFilter { workdir: Some("/elsewhere".into()), ..filter() }).await, 0);
    let first = owl.store.conversations().commands(filter(), page(2)).await.unwrap();
    let rest = Page { limit: 2, cursor: first.next };
    let rest = owl.store.conversations().commands(filter(), rest).await.unwrap();
    assert_eq!((rest.items, rest.next), (all[2..].to_vec(), None));
}

#[tokio::test]
async fn proposals_are_listed_oldest_first_by_state() {
    let owl = Owl::new();
    let id = owl.conversation().await;
    let turn = owl.asked(id, &["cat a", "cat b", "cat c"]).await;
    let mut proposals = Vec::new();
    for (position, line) in [(0, "cat a"), (1, "cat b"), (2, "cat c")] {
        proposals.push(owl.propose(at(turn, position), line).await.unwrap().id);
    }
    let first = owl.store.proposals().get(proposals[0]).await.unwrap().unwrap();
    owl.answer(&first, Said::Deny(None)).await.unwrap();
    let listed = async |conversation, state| {
        let filter = ProposalFilter { conversation, state };
        let mut ids = Vec::new();
        let mut cursor = None;
        loop {
            let page = Page { limit: 1, cursor };
            let listed = owl.store.proposals().list(filter.clone(), page).await.unwrap();
            ids.extend(listed.items.iter().map(|one| one.id));
            cursor = listed.next;
            if cursor.is_none() {
                return ids;
            }
        }
    };
    let denied = ProposalState::Decided(owl_domain::consent::Outcome::Denied);
    for conversation in [None, Some(id)] {
        assert_eq!(listed(conversation, ProposalState::Pending).await, proposals[1..]);
        assert_eq!(listed(conversation, ProposalState::All).await, proposals);
        assert_eq!(listed(conversation, denied).await, proposals[..1]);
    }
    assert_eq!(listed(Some(ConversationId::new(9)), ProposalState::All).await, []);
}

/// A statement that sorts or scans a table that grows would break the budgets of a list (D24).
#[tokio::test]
async fn lists_are_read_from_an_index() {
    let owl = Owl::new();
    let plan = async |sql: &'static str, parameters: usize| {
        owl.store
            .database
            .read(move |db| {
                let mut statement = db.prepare(&format!("EXPLAIN QUERY PLAN {sql}"))?;
                let nothing = vec![rusqlite::types::Null; parameters];
                let rows = statement.query_map(rusqlite::params_from_iter(nothing), |row| row.get::<_, String>(3))?;
                Ok(rows.collect::<rusqlite::Result<Vec<_>>>()?)
            })
            .await
            .unwrap()
            .join("; ")
    };
    let lists = crate::conversations::PLANS.iter().chain(&crate::events::PLANS).chain(&crate::proposals::PLANS);
    for (sql, parameters, index) in lists.chain(&crate::jobs::PLANS) {
        let plan = plan(sql, *parameters).await;
        assert!(plan.contains(index) && !plan.contains("TEMP B-TREE FOR ORDER BY"), "{sql}: {plan}");
    }
}
