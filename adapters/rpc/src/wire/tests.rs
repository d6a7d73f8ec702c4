use super::*;
use crate::samples::*;
use owl_domain::{
    conversation::{CommandOutcome, ItemBody, Lookup},
    gate::{self, DenialKind},
    ids::{GrantId, ItemId, JobId, ProposalId, RunId},
    job::{Outcome, RunEnded, RunEnding, RunState},
    ports::EventText,
    provider::{Retrying, TurnError as DomainTurnError, TurnErrorKind},
    turn::{About, Ending, EventBody},
};
use serde_json::{Value, json};
use std::time::Duration;

fn value(wire: impl Serialize) -> Value {
    serde_json::to_value(wire).unwrap()
}

fn told(seq: i64, body: EventBody) -> Value {
    let text = RpcEventText.encode(&event(seq, body));
    assert!(!text.contains(['\n', '\r']), "one line: {text}");
    serde_json::from_str(&text).unwrap()
}

fn command_json() -> Value {
    json!({
        "requested": "grep -rn TODO src",
        "program": "/usr/bin/grep",
        "argv": ["grep", "--exclude-dir=.git", "-r", "-n", "--exclude-dir=.[gG][iI][tT]", "--exclude=.[gG][iI][tT]", "--", "TODO", "src"],
        "added": [1, 4, 5],
        "env": {"HOME": "/nonexistent", "LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin"},
        "display": "grep --exclude-dir=.git -r -n \"--exclude-dir=.[gG][iI][tT]\" \"--exclude=.[gG][iI][tT]\" -- TODO src",
    })
}

fn person_json() -> Value {
    json!({"kind": "client", "pid": 4242, "uid": 1000, "program": "owl-desktop"})
}

fn usage_json() -> Value {
    json!({"input_tokens": 0, "output_tokens": 0, "cache_read_tokens": 0, "cache_write_tokens": 0, "cost_usd": null})
}

#[test]
fn a_pending_proposal_says_everything_and_leaves_nothing_out() {
    assert_eq!(
        value(Proposal::from(&proposal())),
        json!({
            "id": "p_3", "conversation_id": "c_12", "turn_id": "t_40", "item_id": "i_9", "state": "pending",
            "created_at": "2026-11-30T21:04:05.123Z", "expires_at": "2026-11-30T22:04:05.123Z",
            "command": command_json(), "workdir": "/home/u/my-app", "project": "my-app",
            "digest": "sha256:38c766089048073d31c5cb8eeae73683d18433aaae7f504598ebb240a9c48c41",
            "remember": {"covers": "grep in /home/u/my-app, in this conversation, until revoked"},
            "confinement": "gate+landlock+seccomp",
            "decided_by": null, "decided_at": null, "reason": null, "grant_id": null,
        })
    );
}

#[test]
fn who_did_it_is_named_only_for_peers_of_the_socket() {
    use owl_domain::consent::By as Who;
    let nobody = |kind: &str| json!({"kind": kind, "pid": null, "uid": null, "program": null});
    assert_eq!(value(By::from(&Who::Grant)), nobody("grant"));
    assert_eq!(value(By::from(&Who::Owl)), nobody("owl"));
    assert_eq!(value(By::from(&person())), person_json());
}

#[test]
fn a_conversation_is_told_whole() {
    assert_eq!(
        value(Conversation::from(&conversation())),
        json!({
            "id": "c_12", "title": "Any TODOs left?", "workdir": "/home/u/my-app", "project": "my-app",
            "model": {"provider": "anthropic", "id": "claude-x"}, "state": "awaiting_consent", "archived": false,
            "version": 1, "created_at": "2026-11-30T21:00:00.000Z", "updated_at": "2026-11-30T21:04:01.000Z",
            "last_seq": 129, "item_count": 3, "pending_count": 1,
            "usage": {"input_tokens": 812, "output_tokens": 96, "cache_read_tokens": 0, "cache_write_tokens": 0, "cost_usd": null},
        })
    );
}

#[test]
fn a_command_that_ran_is_told_with_its_output() {
    let body = ItemBody::Command(Box::new(command(Some(CommandOutcome::Ran(ran("src/main.rs:3:// here\n"))))));
    let nothing = json!({"head": "", "tail": "", "bytes": 0, "omitted_bytes": 0, "replaced_bytes": 0});
    assert_eq!(
        value(Item::from(&item(9, 128, true, body))),
        json!({
            "id": "i_9", "kind": "command", "conversation_id": "c_12", "turn_id": "t_40", "seq": 128, "state": "done",
            "created_at": "2026-11-30T21:04:02.000Z", "completed_at": "2026-11-30T21:04:05.000Z",
            "requested": "grep -rn TODO src", "workdir": "/home/u/my-app", "command": command_json(),
            "proposal_id": "p_3", "grant_id": null, "outcome": "ran", "denial": null, "failure": null,
            "started_at": "2026-11-30T21:04:30.010Z", "finished_at": "2026-11-30T21:04:30.019Z",
            "result": {
                "ended_by": "exit", "exit_code": 0, "signal": null, "duration_ms": 9,
                "stdout": {"head": "src/main.rs:3:// here\n", "tail": "", "bytes": 22, "omitted_bytes": 0, "replaced_bytes": 0},
                "stderr": nothing, "confinement": "gate+landlock+seccomp",
            },
        })
    );
}

#[test]
fn what_the_gate_denied_says_why_and_has_no_command() {
    let denial = gate::Denial::about(DenialKind::PathOutside, "../x", "`../x` leads out of the workdir");
    let denied = owl_domain::conversation::CommandItem {
        shown: None,
        proposal: None,
        outcome: Some(CommandOutcome::GateDenied(denial)),
        ..command(None)
    };
    let told = value(Item::from(&item(9, 128, true, ItemBody::Command(Box::new(denied)))));
    assert_eq!(told["outcome"], "gate_denied");
    assert_eq!(told["command"], Value::Null);
    assert_eq!(told["result"], Value::Null);
    assert_eq!(
        told["denial"],
        json!({"kind": "path_outside", "argument": "../x", "message": "`../x` leads out of the workdir", "hint": null})
    );
}

#[test]
fn what_could_not_be_started_says_why() {
    let failed = command(Some(CommandOutcome::Failed { reason: "its turn had ended".into() }));
    let told = value(Item::from(&item(9, 128, true, ItemBody::Command(Box::new(failed)))));
    assert_eq!(
        [&told["outcome"], &told["failure"], &told["result"]],
        [&json!("failed"), &json!("its turn had ended"), &Value::Null]
    );
}

#[test]
fn what_a_model_sent_stays_one_line() {
    let lookup = |input: &str| {
        let body =
            ItemBody::Lookup(Lookup { tool: "jobs".into(), input: input.into(), result: "a\nb".into(), failed: false });
        told(5, EventBody::ItemCompleted(item(9, 5, true, body)))["item"]["input"].clone()
    };
    assert_eq!(lookup("{\n \"job\": \"a\\nb\"\r\n}"), json!({"job": "a\nb"}));
    assert_eq!(lookup("not an object"), json!({}));
    assert_eq!(lookup("[1]"), json!({}));
}

#[test]
fn every_event_names_its_number_the_one_before_and_what_it_belongs_to() {
    assert_eq!(
        told(124, EventBody::TurnStarted(turn(None))),
        json!({
            "type": "turn.started", "seq": 124, "prev": 123, "at": "2026-11-30T21:04:05.000Z",
            "conversation_id": "c_12", "turn_id": "t_40", "job_id": null,
            "turn": {
                "id": "t_40", "conversation_id": "c_12", "state": "running", "stop_reason": null,
                "workdir": "/home/u/my-app", "model": {"provider": "anthropic", "id": "claude-x"}, "on_consent": "ask",
                "tools": true, "rounds": 0, "started_at": "2026-11-30T21:04:01.000Z", "finished_at": null,
                "usage": usage_json(), "left_out": 0, "error": null,
            },
        })
    );
    assert_eq!(
        told(126, EventBody::ItemStarted(item(8, 126, false, assistant("", false))))["item"],
        json!({
            "id": "i_8", "kind": "assistant", "conversation_id": "c_12", "turn_id": "t_40", "seq": 126,
            "state": "open", "created_at": "2026-11-30T21:04:02.000Z", "completed_at": null,
            "text": "", "reasoning": "", "complete": false,
        })
    );
    assert_eq!(
        told(143, EventBody::ConversationDeleted),
        json!({
            "type": "conversation.deleted", "seq": 143, "prev": 142, "at": "2026-11-30T21:04:05.000Z",
            "conversation_id": "c_12", "turn_id": null, "job_id": null,
        })
    );
}

#[test]
fn consent_and_commands_are_told_in_events() {
    let resolved =
        EventBody::ProposalResolved { proposal: ProposalId::new(3), item: ItemId::new(9), decision: decision() };
    let mut told_resolved = told(130, resolved);
    strip(&mut told_resolved);
    assert_eq!(
        told_resolved,
        json!({
            "type": "proposal.resolved", "proposal_id": "p_3", "item_id": "i_9", "outcome": "allowed",
            "decided_by": person_json(), "decided_at": "2026-11-30T21:04:30.000Z", "reason": null, "grant_id": "g_1",
        })
    );

    let mut given = told(131, EventBody::GrantCreated { grant: grant(), by: person() });
    strip(&mut given);
    assert_eq!(
        given,
        json!({
            "type": "grant.created", "by": person_json(),
            "grant": {
                "id": "g_1", "conversation_id": "c_12", "program": "grep", "verb": null, "workdir": "/home/u/my-app",
                "covers": "grep in /home/u/my-app, in this conversation, until revoked",
                "created_at": "2026-11-30T21:04:30.000Z", "created_from": "p_3", "granted_by": person_json(),
                "uses": 0, "last_used_at": null, "revoked_at": null,
            },
        })
    );

    let started = EventBody::CommandStarted {
        item: ItemId::new(9),
        proposal: ProposalId::new(3),
        grant: Some(GrantId::new(1)),
        pid: 4311,
        shown: Box::new(shown()),
    };
    let mut told_started = told(132, started);
    strip(&mut told_started);
    assert_eq!(
        told_started,
        json!({
            "type": "command.started", "item_id": "i_9", "proposal_id": "p_3", "grant_id": "g_1", "pid": 4311,
            "program": "/usr/bin/grep", "argv": command_json()["argv"], "workdir": "/home/u/my-app",
            "confinement": "gate+landlock+seccomp",
        })
    );

    let mut finished =
        told(133, EventBody::CommandFinished { item: ItemId::new(9), result: Box::new(ran("22 bytes of standard\n")) });
    strip(&mut finished);
    assert_eq!(
        finished,
        json!({
            "type": "command.finished", "item_id": "i_9", "ended_by": "exit", "exit_code": 0, "signal": null,
            "duration_ms": 9, "stdout_bytes": 21, "stderr_bytes": 0, "omitted_bytes": 0, "replaced_bytes": 0,
        })
    );
}

#[test]
fn a_provider_that_is_asked_again_and_a_turn_that_failed_say_why() {
    let retrying = Retrying {
        attempt: 1,
        max_attempts: 5,
        wait: Duration::from_secs(2),
        status: Some(529),
        message: "Overloaded".into(),
    };
    let mut again = told(140, EventBody::ProviderRetrying { model: model(), retrying });
    strip(&mut again);
    assert_eq!(
        again,
        json!({
            "type": "provider.retrying", "provider": "anthropic",
            "model": {"provider": "anthropic", "id": "claude-x"}, "attempt": 1, "max_attempts": 5, "wait_ms": 2000,
            "status": 529, "message": "Overloaded",
        })
    );
    let error = DomainTurnError::of(TurnErrorKind::StreamIncomplete, "the stream ended without its end sign");
    let finished = told(141, EventBody::TurnFinished(turn(Some(Ending::Error(error)))));
    assert_eq!(finished["turn"]["stop_reason"], "error");
    assert_eq!(
        finished["turn"]["error"],
        json!({
            "kind": "stream_incomplete", "provider": null, "model": null,
            "message": "the stream ended without its end sign", "hint": null, "status": null, "request_id": null,
            "url": null, "retry_after_ms": null, "attempts": 0,
        })
    );
}

#[test]
fn a_run_is_told_in_short_and_belongs_to_its_job() {
    let ending = RunEnding { outcome: Outcome::Blocked, reason: Some("The Agent changed nothing".into()) };
    let body = EventBody::RunChanged {
        run: RunId::new(9),
        job: JobId::new(7),
        attempt: 1,
        state: RunState::Finished(RunEnded { ending, at: at("2026-11-30T21:12:09.400Z") }),
    };
    let event = owl_domain::turn::Event { about: About::Job(JobId::new(7)), ..event(142, body) };
    let told: Value = serde_json::from_str(&RpcEventText.encode(&event)).unwrap();
    assert_eq!(
        told,
        json!({
            "type": "run.changed", "seq": 142, "prev": 141, "at": "2026-11-30T21:04:05.000Z",
            "conversation_id": null, "turn_id": null, "job_id": "j_7",
            "run": {
                "run_id": "r_9", "job_id": "j_7", "attempt": 1, "state": "finished", "outcome": "blocked",
                "reason": "The Agent changed nothing",
            },
        })
    );
}

/// Leaves what is particular to an event.
fn strip(event: &mut Value) {
    for common in ["seq", "prev", "at", "conversation_id", "turn_id", "job_id"] {
        assert!(event.as_object_mut().unwrap().remove(common).is_some(), "{common}");
    }
}
