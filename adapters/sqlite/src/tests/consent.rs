//! One outcome for each Proposal, however many answer; Grants that come of a won answer only.

use super::*;
use owl_domain::{
    consent::{Decision, Outcome},
    conversation::ItemBody,
    ids::{GrantId, ProposalId},
    limits,
    ports::RevokedGrants,
    text::Reason,
    turn::{CallProgress, Step},
};

async fn pending(owl: &Owl) -> (ConversationId, TurnId, Proposal) {
    let conversation = owl.conversation().await;
    let turn = owl.asked(conversation, &["git log"]).await;
    let proposal = owl.propose(at(turn, 0), "git log").await.unwrap();
    (conversation, turn, proposal)
}

async fn get(owl: &Owl, proposal: &Proposal) -> Proposal {
    owl.store.proposals().get(proposal.id).await.unwrap().unwrap()
}

async fn grants(owl: &Owl) -> Vec<owl_domain::consent::Grant> {
    owl.store.grants().list(None, RevokedGrants::LeftOut).await.unwrap()
}

#[tokio::test]
async fn a_proposal_is_stored_as_it_was_shown() {
    let owl = Owl::new();
    let (conversation, turn, proposal) = pending(&owl).await;
    assert_eq!(proposal.shown, shown("git log"));
    assert_eq!((proposal.conversation, proposal.turn, proposal.decision.clone()), (conversation, turn, None));
    let owl = owl.reopen();
    assert_eq!(get(&owl, &proposal).await, proposal);
    assert_eq!(owl.load(turn).await.replies[0].calls[0].progress, CallProgress::Proposed(proposal.clone()));
    let ItemBody::Command(command) = owl.item(conversation, proposal.item).await.body else { panic!() };
    assert_eq!((command.shown, command.proposal), (Some(proposal.shown), Some(proposal.id)));
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_answers_at_once_one_wins_and_all_are_told_the_same() {
    let owl = Owl::new();
    let (_, turn, proposal) = pending(&owl).await;
    let seq = owl.newest();
    let answers = (0..40).map(|n: u32| {
        let (proposals, now, id) = (owl.store.proposals(), owl.now, proposal.id);
        let verdict = match n % 4 {
            0 => Said::AllowOnce,
            1 => Said::AllowForConversation,
            _ => Said::Deny(Some(Reason::new(format!("no {n}")).unwrap())),
        };
        let answer = Answer { proposal: id, verdict, digest: None, conversation: None };
        tokio::spawn(async move { proposals.answer(answer, client(), now).await })
    });
    let mut told = Vec::new();
    let mut won = 0;
    for answer in answers.collect::<Vec<_>>() {
        match answer.await.unwrap() {
            Ok(answered) => {
                won += u32::from(answered.won);
                told.push(answered.decision);
            }
            Err(AnswerError::AlreadyResolved { decision, .. }) => told.push(decision),
            Err(error) => panic!("{error}"),
        }
    }
    assert_eq!(won, 1);
    let stored = get(&owl, &proposal).await.decision.unwrap();
    assert!(told.iter().all(|decision| *decision == stored));
    let resolved: Vec<_> = owl.events_after(seq).await.into_iter().filter(is_resolved).collect();
    assert_eq!(resolved.len(), 1);
    // A losing answer never makes a Grant.
    assert_eq!(grants(&owl).await.len(), usize::from(stored.grant.is_some()));
    let runs = matches!(owl.load(turn).await.next(), Step::Run(..));
    assert_eq!(runs, stored.outcome == Outcome::Allowed);
}

#[tokio::test]
async fn a_second_answer_is_told_what_was_decided() {
    let owl = Owl::new();
    let (_, _, proposal) = pending(&owl).await;
    let first = owl.answer(&proposal, Said::AllowOnce).await.unwrap();
    assert!(first.won);
    let seq = owl.newest();
    let again = owl.answer(&proposal, Said::AllowForConversation).await.unwrap();
    assert_eq!(again, Answered { won: false, ..first.clone() });
    let otherwise = owl.answer(&proposal, Said::Deny(None)).await;
    assert_eq!(otherwise, Err(AnswerError::AlreadyResolved { proposal: proposal.id, decision: first.decision }));
    assert_eq!((owl.newest(), grants(&owl).await), (seq, vec![]));
}

#[tokio::test]
async fn what_an_answer_names_is_looked_at_in_order() {
    let owl = Owl::new();
    let (conversation, _, proposal) = pending(&owl).await;
    let seq = owl.newest();
    let wrong = Answer {
        proposal: ProposalId::new(99),
        verdict: Said::AllowForConversation,
        digest: Some(Digest::as_written("sha256:other")),
        conversation: Some(ConversationId::new(99)),
    };
    let answer = |answer| {
        let (proposals, now) = (owl.store.proposals(), owl.now);
        async move { proposals.answer(answer, client(), now).await }
    };
    assert_eq!(answer(wrong.clone()).await, Err(AnswerError::NotFound));
    let wrong = Answer { proposal: proposal.id, ..wrong };
    assert_eq!(answer(wrong.clone()).await, Err(AnswerError::ConversationMismatch { conversation }));
    let wrong = Answer { conversation: Some(conversation), ..wrong };
    assert_eq!(answer(wrong.clone()).await, Err(AnswerError::Stale { digest: proposal.shown.digest.clone() }));
    assert_eq!((owl.newest(), grants(&owl).await), (seq, vec![]));
    let owl = owl.reopen();
    let right = Answer { digest: Some(proposal.shown.digest), ..wrong };
    assert!(owl.store.proposals().answer(right, client(), owl.now).await.unwrap().won);
}

#[tokio::test]
async fn an_answer_at_the_deadline_is_too_late_and_one_before_it_is_not() {
    for (early, outcome) in [(0, Outcome::Expired), (1, Outcome::Allowed)] {
        let mut owl = Owl::new();
        let (_, turn, proposal) = pending(&owl).await;
        let seq = owl.newest();
        owl.pass(3_600_000 - early);
        let answered = owl.answer(&proposal, Said::AllowForConversation).await;
        match (&answered, outcome) {
            (Ok(answered), Outcome::Allowed) => assert!(answered.won),
            (Err(AnswerError::AlreadyResolved { decision, .. }), _) => {
                let expected =
                    Decision { outcome: Outcome::Expired, by: By::Owl, at: owl.now, reason: None, grant: None };
                assert_eq!(*decision, expected);
            }
            _ => panic!("{answered:?}"),
        }
        assert_eq!(get(&owl, &proposal).await.decision.unwrap().outcome, outcome);
        let resolved: Vec<_> = owl.events_after(seq).await.into_iter().filter(is_resolved).collect();
        assert_eq!(resolved.len(), 1);
        assert_eq!(grants(&owl).await.len(), usize::from(outcome == Outcome::Allowed));
        // Whatever came first stays.
        owl.pass(1);
        assert_eq!(owl.store.proposals().expire_due(owl.now).await.unwrap(), []);
        assert_eq!(matches!(owl.load(turn).await.next(), Step::Run(..)), outcome == Outcome::Allowed);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_and_the_deadline_in_the_same_moment_agree() {
    for _ in 0..50 {
        let mut owl = Owl::new();
        let (_, _, proposal) = pending(&owl).await;
        let seq = owl.newest();
        let before = owl.now;
        owl.pass(3_600_000);
        let (proposals, late, id) = (owl.store.proposals(), owl.now, proposal.id);
        let expiry = tokio::spawn(async move { proposals.expire_due(late).await });
        let proposals = owl.store.proposals();
        let answer = Answer { proposal: id, verdict: Said::AllowOnce, digest: None, conversation: None };
        let answer = tokio::spawn(async move { proposals.answer(answer, client(), before).await });
        let (expired, answered) = (expiry.await.unwrap().unwrap(), answer.await.unwrap());
        let stored = get(&owl, &proposal).await.decision.unwrap();
        assert_eq!(expired.is_empty(), stored.outcome == Outcome::Allowed);
        assert_eq!(answered.is_ok(), stored.outcome == Outcome::Allowed);
        let resolved: Vec<_> = owl.events_after(seq).await.into_iter().filter(is_resolved).collect();
        assert_eq!(resolved.len(), 1);
    }
}

#[tokio::test]
async fn what_nobody_answered_expires_also_while_no_daemon_ran() {
    let mut owl = Owl::new();
    let (conversation, turn, proposal) = pending(&owl).await;
    let deadline = owl.store.proposals().next_deadline().await.unwrap();
    assert_eq!(deadline, Some(proposal.expires_at));
    owl.pass(3_599_999);
    assert_eq!(owl.store.proposals().expire_due(owl.now).await.unwrap(), []);
    owl = owl.reopen();
    owl.pass(1);
    assert_eq!(owl.store.turns().recover(owl.now).await.unwrap(), [turn]);
    assert_eq!(owl.store.proposals().expire_due(owl.now).await.unwrap(), [turn]);
    assert_eq!(owl.store.proposals().next_deadline().await.unwrap(), None);
    assert!(matches!(owl.load(turn).await.next(), Step::Tell(..)));
    let settled = owl.try_settle(at(turn, 0), &proposal, CommandOutcome::Expired).await;
    assert_eq!(settled, Moved::Won);
    let ItemBody::Command(command) = owl.item(conversation, proposal.item).await.body else { panic!() };
    assert_eq!(command.outcome, Some(CommandOutcome::Expired));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_allowed_command_starts_once() {
    let owl = Owl::new();
    let (_, turn, proposal) = pending(&owl).await;
    assert_eq!(owl.try_start(&proposal).await, Moved::Lost, "nobody allowed it");
    assert_eq!(owl.try_settle(at(turn, 0), &proposal, ran("")).await, Moved::Lost, "it waits");
    owl.answer(&proposal, Said::AllowOnce).await.unwrap();
    let starts = (0..20).map(|pid| {
        let (proposals, now, id) = (owl.store.proposals(), owl.now, proposal.id);
        tokio::spawn(async move { proposals.start(id, pid, now).await.unwrap() })
    });
    let mut won = 0;
    for start in starts.collect::<Vec<_>>() {
        won += u32::from(start.await.unwrap() == Moved::Won);
    }
    assert_eq!(won, 1);
    let owl = owl.reopen();
    assert_eq!(owl.try_start(&proposal).await, Moved::Lost, "also after a restart");
    assert_eq!(owl.load(turn).await.next(), Step::Close(Ending::Interrupted));
    assert_eq!(owl.names_after(Seq(0)).await.iter().filter(|name| **name == "command.started").count(), 1);
}

#[tokio::test]
async fn a_command_does_not_start_once_its_turn_is_cancelled_or_closed() {
    let owl = Owl::new();
    let (conversation, turn, proposal) = pending(&owl).await;
    owl.answer(&proposal, Said::AllowOnce).await.unwrap();
    owl.store.turns().cancel(conversation, None, owl.now).await.unwrap();
    assert_eq!(owl.try_start(&proposal).await, Moved::Lost);
    owl.close(turn, Ending::Cancelled).await;
    assert_eq!(owl.try_start(&proposal).await, Moved::Lost);
    assert_eq!(owl.try_settle(at(turn, 0), &proposal, ran("")).await, Moved::Lost);
}

#[tokio::test]
async fn a_grant_covers_its_scope_and_nothing_else() {
    let mut owl = Owl::new();
    let conversation = owl.conversation().await;
    let lines = ["git log", "git log -n 3", "git status", "cat a", "git log -n 4", "git log -n 5"];
    let turn = owl.asked(conversation, &lines).await;
    let first = owl.propose(at(turn, 0), lines[0]).await.unwrap();
    let grant = owl.answer(&first, Said::AllowForConversation).await.unwrap().decision.grant.unwrap();
    owl.pass(5);
    let seq = owl.newest();
    let covered = owl.propose(at(turn, 1), lines[1]).await.unwrap();
    let decision = covered.decision.clone().unwrap();
    assert_eq!(
        decision,
        Decision { outcome: Outcome::Allowed, by: By::Grant, at: owl.now, reason: None, grant: Some(grant) }
    );
    assert_eq!(owl.names_after(seq).await, ["item.started", "proposal.created", "proposal.resolved"]);
    let ItemBody::Command(command) = owl.item(conversation, covered.item).await.body else { panic!() };
    assert_eq!(command.grant, Some(grant));
    for (position, line) in [(2, lines[2]), (3, lines[3])] {
        assert_eq!(owl.propose(at(turn, position), line).await.unwrap().decision, None, "{line}");
    }
    let mut elsewhere = owl.proposal(at(turn, 4), lines[4]);
    elsewhere.shown.workdir = path("/home/u/other");
    let elsewhere = owl.store.proposals().open(elsewhere, owl.now).await.unwrap();
    assert_eq!(elsewhere.decision, None);
    let other = owl.conversation().await;
    let other_turn = owl.asked(other, &["git log"]).await;
    assert_eq!(owl.propose(at(other_turn, 0), "git log").await.unwrap().decision, None);

    let listed = grants(&owl).await;
    assert_eq!((listed[0].id, listed[0].uses, listed[0].last_used_at), (grant, 1, Some(owl.now)));
    assert_eq!((listed[0].created_from, &listed[0].granted_by), (first.id, &client()));
    let owl = owl.reopen();
    assert_eq!(grants(&owl).await, listed);

    let seq = owl.newest();
    let revoked = owl.store.grants().revoke(grant, client(), owl.now).await.unwrap().unwrap();
    assert_eq!(revoked.revoked_at, Some(owl.now));
    assert_eq!(owl.store.grants().revoke(grant, client(), owl.now).await.unwrap(), Some(revoked.clone()));
    assert_eq!(owl.store.grants().revoke(GrantId::new(99), client(), owl.now).await.unwrap(), None);
    let told: Vec<_> = owl.events_after(seq).await.into_iter().map(|event| event.body).collect();
    assert_eq!(told, [EventBody::GrantRevoked { grant: revoked.clone(), by: client() }]);
    assert_eq!(owl.propose(at(turn, 5), lines[5]).await.unwrap().decision, None);
    assert_eq!(grants(&owl).await, []);
    let included = owl.store.grants().list(Some(conversation), RevokedGrants::Included).await.unwrap();
    assert_eq!(included, [revoked]);
}

#[tokio::test]
async fn the_same_grant_is_not_made_twice() {
    let owl = Owl::new();
    let conversation = owl.conversation().await;
    let turn = owl.asked(conversation, &["cat a", "cat b"]).await;
    let one = owl.propose(at(turn, 0), "cat a").await.unwrap();
    let other = owl.propose(at(turn, 1), "cat b").await.unwrap();
    let first = owl.answer(&one, Said::AllowForConversation).await.unwrap().decision.grant;
    let seq = owl.newest();
    let second = owl.answer(&other, Said::AllowForConversation).await.unwrap().decision.grant;
    assert_eq!(first, second);
    assert_eq!(owl.names_after(seq).await, ["proposal.resolved"]);
    assert_eq!(grants(&owl).await.len(), 1);
}

#[tokio::test]
async fn no_grant_comes_of_anything_but_a_won_answer() {
    let mut owl = Owl::new();
    let conversation = owl.conversation().await;
    let turn = owl.asked(conversation, &["cat a", "cat b", "cat c"]).await;
    let mut proposals = Vec::new();
    for (position, line) in [(0, "cat a"), (1, "cat b"), (2, "cat c")] {
        proposals.push(owl.propose(at(turn, position), line).await.unwrap());
    }
    owl.answer(&proposals[0], Said::Deny(None)).await.unwrap();
    assert!(owl.answer(&proposals[0], Said::AllowForConversation).await.is_err());
    owl.store.turns().cancel(conversation, None, owl.now).await.unwrap();
    assert!(owl.answer(&proposals[1], Said::AllowForConversation).await.is_err());
    owl.pass(3_600_000);
    assert!(owl.answer(&proposals[2], Said::AllowForConversation).await.is_err());
    assert_eq!(grants(&owl).await, []);
}

#[tokio::test]
async fn a_turn_may_deny_beforehand_what_no_grant_covers() {
    let owl = Owl::new();
    let conversation = owl.conversation().await;
    let turn_id = owl.asked(conversation, &["cat a"]).await;
    let asked = owl.propose(at(turn_id, 0), "cat a").await.unwrap();
    owl.answer(&asked, Said::AllowForConversation).await.unwrap();
    owl.close(turn_id, Ending::EndTurn).await;

    let denying = NewTurn { on_consent: OnConsent::Deny, ..turn(conversation, "script") };
    let denying = owl.store.turns().begin(denying, owl.now).await.unwrap().turn;
    owl.reply(denying, &["cat b", "ls"]).await;
    let granted = owl.propose(at(denying, 0), "cat b").await.unwrap();
    assert_eq!(granted.state(), "allowed");
    let denied = owl.propose(at(denying, 1), "ls").await.unwrap().decision.unwrap();
    assert_eq!((denied.outcome, denied.by), (Outcome::Denied, By::Turn(peer())));
}

#[tokio::test]
async fn only_so_many_proposals_wait_in_a_conversation() {
    let owl = Owl::new();
    let conversation = owl.conversation().await;
    let lines: Vec<String> = (0..=limits::PROPOSALS_PENDING).map(|n| format!("cat {n}")).collect();
    let turn = owl.asked(conversation, &lines.iter().map(String::as_str).collect::<Vec<_>>()).await;
    let mut first = None;
    for (position, line) in (0..).zip(&lines).take(limits::PROPOSALS_PENDING) {
        let proposal = owl.propose(at(turn, position), line).await.unwrap();
        first.get_or_insert(proposal);
    }
    let last = at(turn, u32::try_from(limits::PROPOSALS_PENDING).unwrap());
    let seq = owl.newest();
    assert_eq!(owl.propose(last, "cat last").await, Err(OpenError::TooMany));
    assert_eq!(owl.newest(), seq);
    owl.answer(&first.unwrap(), Said::AllowForConversation).await.unwrap();
    // A command that a Grant covers asks nobody.
    assert_eq!(owl.propose(last, "cat last").await.unwrap().state(), "allowed");
}
