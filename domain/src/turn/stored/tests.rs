use super::*;
use crate::testing::{decided, model, pending, started, turn};
use alloc::{vec, vec::Vec};

fn at(reply: u32, position: u32) -> CallRef {
    CallRef { turn: TurnId::new(1), reply, position }
}

fn call(position: u32, progress: CallProgress) -> StoredCall {
    let call = Call { id: format!("call-{position}"), name: "run_command".into(), arguments: "{}".into() };
    StoredCall { at: at(0, position), call, progress }
}

fn told() -> CallProgress {
    CallProgress::Told(Told { text: "$ cat README.md".into(), is_error: false })
}

fn unjudged() -> CallProgress {
    CallProgress::Unjudged
}

fn waits(id: i64) -> CallProgress {
    CallProgress::Proposed(pending(id))
}

fn was(id: i64, outcome: Outcome) -> CallProgress {
    CallProgress::Proposed(decided(id, outcome))
}

/// A Turn whose last reply ended so and called these.
fn after(stop: ReplyStop, calls: impl IntoIterator<Item = CallProgress>) -> StoredTurn {
    let calls = (0..).zip(calls).map(|(position, progress)| call(position, progress)).collect();
    let reply = StoredReply { model: model(), text: String::new(), blocks: Vec::new(), stop: Some(stop), calls };
    let mut turn = turn();
    turn.rounds = 1;
    StoredTurn { turn, question: "Any TODOs left?".into(), cancelling: false, replies: vec![reply] }
}

fn with(calls: impl IntoIterator<Item = CallProgress>) -> StoredTurn {
    after(ReplyStop::Done, calls)
}

fn fresh() -> StoredTurn {
    StoredTurn { turn: turn(), question: "Any TODOs left?".into(), cancelling: false, replies: Vec::new() }
}

#[test]
fn beside_what_runs_the_rest_is_due() {
    let runs = |position| move |call: CallRef| call == at(0, position);
    let allowed = |position, id| Step::Run(at(0, position), decided(id, Outcome::Allowed));
    let running = || CallProgress::Proposed(started(9));
    for (calls, due) in [
        (vec![running()], Step::Wait),
        (vec![running(), was(1, Outcome::Allowed)], allowed(1, 1)),
        (vec![running(), waits(1)], Step::Wait),
        (vec![running(), told()], Step::Wait),
        (vec![running(), CallProgress::Proposed(started(8))], Step::Close(Ending::Interrupted)),
    ] {
        assert_eq!(with(calls.clone()).next_beside(runs(0)), due, "{calls:?}");
    }
    let cancelled = StoredTurn { cancelling: true, ..with([running()]) };
    assert_eq!(cancelled.next_beside(runs(0)), Step::Close(Ending::Cancelled));
}

#[test]
fn a_question_is_asked() {
    assert_eq!(fresh().next(), Step::Ask);
}

#[test]
fn each_row_of_the_order_wins_over_those_behind_it() {
    use Outcome::{Allowed, Cancelled, Denied, Expired};
    let judge = |position| Step::Judge(call(position, unjudged()));
    let run = |position, id| Step::Run(at(0, position), decided(id, Allowed));
    let tell = |position, id, outcome| Step::Tell(at(0, position), decided(id, outcome));
    let start = || CallProgress::Proposed(started(9));
    for (calls, due) in [
        // A start without a result ends the Turn, and nothing else of it runs, wherever it stands.
        (vec![start()], Step::Close(Ending::Interrupted)),
        (vec![unjudged(), was(1, Allowed), waits(2), start()], Step::Close(Ending::Interrupted)),
        (vec![start(), was(1, Allowed), was(2, Denied)], Step::Close(Ending::Interrupted)),
        // A call that was not judged.
        (vec![unjudged(), unjudged()], judge(0)),
        (vec![told(), unjudged()], judge(1)),
        (vec![was(1, Allowed), was(2, Denied), waits(3), unjudged()], judge(3)),
        // One that was allowed runs while its sisters wait, and before others are told.
        (vec![was(1, Allowed)], run(0, 1)),
        (vec![waits(1), was(2, Denied), was(3, Allowed)], run(2, 3)),
        (vec![told(), was(2, Allowed), was(3, Allowed)], run(1, 2)),
        // One that was decided otherwise is told, also while its sisters wait.
        (vec![was(1, Denied)], tell(0, 1, Denied)),
        (vec![waits(1), was(2, Expired), was(3, Denied)], tell(1, 2, Expired)),
        (vec![told(), was(2, Cancelled)], tell(1, 2, Cancelled)),
        // A sister that waits holds the model back.
        (vec![waits(1)], Step::Wait),
        (vec![told(), waits(2), told()], Step::Wait),
        // All have their result.
        (vec![told()], Step::Ask),
        (vec![told(), told(), CallProgress::Closed(CommandOutcome::Interrupted)], Step::Ask),
    ] {
        assert_eq!(with(calls.clone()).next(), due, "{calls:?}");
    }
}

#[test]
fn cancelling_comes_before_all_else() {
    for calls in [vec![], vec![unjudged()], vec![was(1, Outcome::Allowed)], vec![waits(1)], vec![told()]] {
        let turn = StoredTurn { cancelling: true, ..with(calls) };
        assert_eq!(turn.next(), Step::Close(Ending::Cancelled));
    }
    assert_eq!(StoredTurn { cancelling: true, ..fresh() }.next(), Step::Close(Ending::Cancelled));
}

#[test]
fn a_reply_that_calls_nothing_ends_the_turn_as_it_stopped() {
    let refusal = || ReplyStop::Refusal { explanation: Some("no".into()) };
    for (stop, ending) in [
        (ReplyStop::Done, Ending::EndTurn),
        (ReplyStop::StopSequence, Ending::StopSequence),
        (ReplyStop::MaxTokens, Ending::MaxTokens),
        (refusal(), Ending::Refusal),
        (ReplyStop::ContentFilter, Ending::ContentFilter),
        (ReplyStop::ContextFull, Ending::ContextFull),
    ] {
        assert_eq!(after(stop, []).next(), Step::Close(ending));
    }
}

#[test]
fn calls_of_a_reply_that_did_not_end_as_it_should_are_never_judged_and_never_run() {
    let refusal = || ReplyStop::Refusal { explanation: None };
    for (stop, ending) in [
        (ReplyStop::StopSequence, Ending::StopSequence),
        (ReplyStop::MaxTokens, Ending::MaxTokens),
        (refusal(), Ending::Refusal),
        (ReplyStop::ContentFilter, Ending::ContentFilter),
        (ReplyStop::ContextFull, Ending::ContextFull),
    ] {
        for progress in [unjudged(), was(1, Outcome::Allowed)] {
            assert_eq!(after(stop.clone(), [progress]).next(), Step::Close(ending.clone()));
        }
    }
    assert_eq!(after(ReplyStop::Pause, [unjudged(), was(1, Outcome::Allowed)]).next(), Step::Ask);
}

#[test]
fn a_reply_that_was_cut_off_is_not_asked_for_again() {
    let mut turn = after(ReplyStop::Done, [unjudged()]);
    turn.replies.iter_mut().for_each(|reply| reply.stop = None);
    assert_eq!(turn.next(), Step::Close(Ending::Interrupted));
}

#[test]
fn a_pause_is_another_round() {
    assert_eq!(after(ReplyStop::Pause, []).next(), Step::Ask);
}

#[test]
fn the_last_round_is_carried_out_and_then_the_turn_ends_saying_so() {
    for (rounds, due) in [
        (limits::ROUNDS_PER_TURN - 1, Step::Ask),
        (limits::ROUNDS_PER_TURN, Step::Close(Ending::RoundLimit)),
        (limits::ROUNDS_PER_TURN + 1, Step::Close(Ending::RoundLimit)),
    ] {
        let mut turn = with([told()]);
        turn.turn.rounds = rounds;
        assert_eq!(turn.next(), due, "after {rounds} rounds");
        turn.replies.iter_mut().for_each(|reply| reply.stop = Some(ReplyStop::Pause));
        assert_eq!(turn.next(), due, "paused after {rounds} rounds");
    }
    let mut turn = with([was(1, Outcome::Allowed)]);
    turn.turn.rounds = limits::ROUNDS_PER_TURN;
    assert_eq!(turn.next(), Step::Run(at(0, 0), decided(1, Outcome::Allowed)));
    let mut turn = with([]);
    turn.turn.rounds = limits::ROUNDS_PER_TURN;
    assert_eq!(turn.next(), Step::Close(Ending::EndTurn), "an answer in the last round is an answer");
}

#[test]
fn the_same_rows_give_the_same_step() {
    let turn = with([told(), was(2, Outcome::Allowed), waits(3)]);
    assert_eq!(turn.next(), turn.clone().next());
}

#[test]
fn only_proposals_without_a_decision_wait() {
    let calls = [unjudged(), waits(1), was(2, Outcome::Allowed), told(), waits(3)];
    assert_eq!(with(calls).pending(), [pending(1), pending(3)]);
    assert_eq!(fresh().pending(), []);
}

#[test]
fn an_open_command_of_a_turn_that_ends_is_called_what_it_is() {
    let unstarted = CommandOutcome::Failed { reason: "its turn had ended".into() };
    for (proposal, outcome) in [
        (started(1), CommandOutcome::Interrupted),
        (decided(1, Outcome::Allowed), unstarted),
        (decided(1, Outcome::Denied), CommandOutcome::Denied),
        (decided(1, Outcome::Expired), CommandOutcome::Expired),
        (decided(1, Outcome::Cancelled), CommandOutcome::Cancelled),
        (pending(1), CommandOutcome::Cancelled),
    ] {
        assert_eq!(outcome_at_close(&proposal), outcome, "{proposal:?}");
    }
}
