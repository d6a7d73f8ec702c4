use super::*;
use crate::{
    ports::{
        MockClock, MockConversations, MockLegs, MockPaths, MockProjects, MockProposals, MockRepositories, MockTerms,
        MockTurns, Moved, StoreError,
    },
    testing::NOON,
};
use mockall::Sequence;
use owl_testkit::tokio;

/// The ports, which a test tells what to expect. No Project is registered.
struct Ports {
    conversations: MockConversations,
    turns: MockTurns,
    proposals: MockProposals,
    legs: MockLegs,
}

impl Ports {
    fn new() -> Self {
        Self {
            conversations: MockConversations::new(),
            turns: MockTurns::new(),
            proposals: MockProposals::new(),
            legs: MockLegs::new(),
        }
    }

    fn service(self) -> ConversationService {
        let clock = || {
            let mut clock = MockClock::new();
            clock.expect_now().return_const(NOON);
            Arc::new(clock)
        };
        let mut projects = MockProjects::new();
        projects.expect_list().returning(|| Ok(Vec::new()));
        let mut paths = MockPaths::new();
        paths.expect_resolve().returning(|path| Some(path.clone()));
        let (repositories, terms) = (MockRepositories::new(), MockTerms::new());
        let projects =
            ProjectService::new(Arc::new(projects), Arc::new(repositories), Arc::new(paths), Arc::new(terms), clock());
        ConversationService::new(
            Arc::new(self.conversations),
            Arc::new(self.turns),
            Arc::new(self.proposals),
            Arc::new(projects),
            Arc::new(self.legs),
            clock(),
        )
    }
}

const ID: ConversationId = ConversationId::new(12);
const TURN: crate::ids::TurnId = crate::ids::TurnId::new(40);

fn failed() -> StoreError {
    StoreError { file: "owl.db".into(), reason: "could not be written".into() }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

#[test]
fn a_turn_that_is_at_work_is_closed_before_its_conversation_is_deleted() {
    let mut ports = Ports::new();
    let mut order = Sequence::new();
    ports.turns.expect_cancel().times(1).in_sequence(&mut order).returning(|_, _, _| Ok(Some(TURN)));
    ports.legs.expect_stop().times(1).in_sequence(&mut order).withf(|turn| *turn == TURN).return_const(());
    ports.legs.expect_ended().times(1).in_sequence(&mut order).withf(|turn| *turn == TURN).returning(|_| ());
    ports
        .turns
        .expect_close()
        .times(1)
        .in_sequence(&mut order)
        .withf(|turn, ending, _, _| *turn == TURN && *ending == Ending::Cancelled)
        .returning(|_, _, _, _| Ok(Moved::Won));
    ports.conversations.expect_delete().times(1).in_sequence(&mut order).returning(|_, _| Ok(true));
    assert_eq!(block_on(ports.service().delete(ID)), Ok(true));
}

#[test]
fn a_conversation_whose_turn_could_not_be_closed_is_not_deleted_and_its_leg_is_stopped() {
    let mut ports = Ports::new();
    ports.turns.expect_cancel().returning(|_, _, _| Ok(Some(TURN)));
    ports.turns.expect_close().returning(|_, _, _, _| Err(failed()));
    ports.legs.expect_stop().times(1).return_const(());
    ports.legs.expect_ended().returning(|_| ());
    ports.conversations.expect_delete().never();
    assert_eq!(block_on(ports.service().delete(ID)), Err(failed()));
}

#[test]
fn one_without_a_turn_is_deleted_at_once() {
    let mut ports = Ports::new();
    ports.turns.expect_cancel().returning(|_, _, _| Ok(None));
    ports.turns.expect_close().never();
    ports.legs.expect_stop().never();
    ports.conversations.expect_delete().times(1).returning(|_, _| Ok(false));
    assert_eq!(block_on(ports.service().delete(ID)), Ok(false), "there was none of that id");
}

#[test]
fn a_directory_that_is_none_makes_and_changes_nothing() {
    let mut ports = Ports::new();
    ports.conversations.expect_create().never();
    ports.conversations.expect_update().never();
    let service = ports.service();
    let wanted = Wanted { workdir: Some("/home/u".into()), ..Wanted::default() };
    assert!(matches!(block_on(service.create(wanted)), Err(MakeError::Workdir(WorkdirError::Invalid { .. }))));
    let change = Change { workdir: Some(Some("relative".into())), ..Change::default() };
    assert!(matches!(block_on(service.update(ID, change)), Err(ChangeError::Workdir(WorkdirError::Invalid { .. }))));
}

#[test]
fn what_is_absent_stays_and_what_is_null_is_cleared() {
    for (workdir, cleared) in [(None, None), (Some(None), Some(None))] {
        let mut ports = Ports::new();
        ports
            .conversations
            .expect_update()
            .times(1)
            .withf(move |_, change, now| change.workdir == cleared && change.title.is_none() && *now == NOON)
            .returning(|_, _, _| Err(UpdateError::NotFound));
        let change = Change { workdir, ..Change::default() };
        assert_eq!(block_on(ports.service().update(ID, change)), Err(ChangeError::Update(UpdateError::NotFound)));
    }
}

#[test]
fn items_of_no_conversation_are_not_looked_for() {
    let mut ports = Ports::new();
    ports.conversations.expect_get().returning(|_| Ok(None));
    ports.conversations.expect_items().never();
    ports.turns.expect_newest().never();
    ports.proposals.expect_list().never();
    let service = ports.service();
    assert_eq!(block_on(service.items(ID, Window::Newest, 50)), Ok(None));
    assert_eq!(block_on(service.get(ID)), Ok(None));
}
