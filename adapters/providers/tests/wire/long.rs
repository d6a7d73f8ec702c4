//! A long Conversation, with all that crashes and odd models leave in it, sent to a server that takes nothing but what
//! the services document.

use crate::support::*;
use owl_domain::{
    conversation::{CommandOutcome, history},
    ids::{ConversationId, TurnId},
    ports::Providers,
    provider::{Block, Call, ModelRef, Provider, ReplyStop, Request, Usage},
    time::Timestamp,
    turn::{
        CallProgress, CallRef, Ended, Ending, OnConsent, StoredCall, StoredReply, StoredTurn, Told, Turn, TurnState,
    },
};
use owl_testkit::{ByteServer, Script};
use serde_json::Value;
use std::collections::HashSet;

const TURNS: usize = 300;

fn reply(model: &ModelRef, blocks: Vec<Block>, stop: Option<ReplyStop>, progress: &[CallProgress]) -> StoredReply {
    let at = CallRef { turn: TurnId::new(1), reply: 0, position: 0 };
    let (mut calls, mut text) = (Vec::new(), String::new());
    for block in &blocks {
        match block {
            Block::Text(words) => text.push_str(words),
            Block::Call(call) => calls.push(call.clone()),
            Block::Raw(_) => {}
        }
    }
    let calls = calls.into_iter().zip(progress.iter().cloned());
    let calls = calls.map(|(call, progress)| StoredCall { at, call, progress }).collect();
    StoredReply { model: model.clone(), text, blocks, stop, calls }
}

fn call(id: &str, arguments: &str) -> Block {
    Block::Call(Call { id: id.into(), name: "run_command".into(), arguments: arguments.into() })
}

fn told(text: &str) -> CallProgress {
    CallProgress::Told(Told { text: text.into(), is_error: false })
}

/// The nth Turn: each seventh kind of what happens to a Turn.
fn turn(n: usize, model: &ModelRef) -> StoredTurn {
    let raw = match model.provider {
        Provider::Anthropic => "{\"signature\":\"s\",\"thinking\":\"t\",\"type\":\"thinking\"}",
        Provider::OpenRouter | Provider::Demo => "{\"index\":0,\"text\":\"t\",\"type\":\"reasoning.text\"}",
    };
    let (raw, words) = (Block::Raw(raw.into()), |text: &str| Block::Text(text.into()));
    let done = Some(ReplyStop::Done);
    let output = "src/main.rs:3:// here\n".repeat(n * 7 % 900);
    let looks = || {
        reply(
            model,
            vec![raw.clone(), words("Let me look."), call("call-1", "{\"command\":\"git log\"}")],
            done.clone(),
            &[told(&output)],
        )
    };
    let (replies, ending) = match n % 7 {
        0 => (vec![looks(), reply(model, vec![words("Three.")], done.clone(), &[])], Ending::EndTurn),
        1 => {
            let blocks = vec![call("call-1", ""), call("call-1", "{\"comm"), call("a b", "[1]")];
            let died = CallProgress::Closed(CommandOutcome::Interrupted);
            (vec![reply(model, blocks, done, &[told(""), died])], Ending::Interrupted)
        }
        2 => (vec![looks(), reply(model, vec![words("So f")], None, &[])], Ending::Cancelled),
        3 => (
            vec![reply(model, vec![words("No.")], Some(ReplyStop::Refusal { explanation: None }), &[])],
            Ending::Refusal,
        ),
        4 => (
            vec![reply(model, vec![words("Long"), call("x", "{}")], Some(ReplyStop::MaxTokens), &[])],
            Ending::MaxTokens,
        ),
        5 => (Vec::new(), Ending::Interrupted),
        _ => (vec![looks(), looks(), reply(model, vec![words(" "), words("a\0b")], done, &[])], Ending::EndTurn),
    };
    StoredTurn {
        turn: Turn {
            id: TurnId::new(i64::try_from(n).unwrap()),
            conversation: ConversationId::new(1),
            state: TurnState::Finished(Ended { ending, at: Timestamp::default() }),
            workdir: None,
            model: model.clone(),
            on_consent: OnConsent::Ask,
            tools: true,
            rounds: 1,
            started_at: Timestamp::default(),
            usage: Usage::default(),
            left_out: 0,
        },
        question: format!("Question {n}?"),
        cancelling: false,
        replies,
    }
}

/// What Anthropic refuses with 400.
fn check_anthropic(body: &Value) {
    let (mut open, mut seen, mut last) = (Vec::new(), HashSet::new(), "");
    let messages = body["messages"].as_array().unwrap();
    assert_eq!(messages[0]["role"], "user");
    for message in messages {
        let role = message["role"].as_str().unwrap();
        assert!(role != last, "roles alternate");
        last = role;
        let content = message["content"].as_array().unwrap();
        assert!(!content.is_empty(), "no message is empty");
        let mut after_results = false;
        let mut answered = Vec::new();
        let mut called = Vec::new();
        for block in content {
            match (role, block["type"].as_str().unwrap()) {
                (_, "text") => {
                    after_results = true;
                    let text = block["text"].as_str().unwrap();
                    assert!(!text.trim().is_empty() && !text.contains('\0'), "{text:?}");
                }
                ("user", "tool_result") => {
                    assert!(!after_results, "results come first");
                    answered.push(block["tool_use_id"].as_str().unwrap().to_owned());
                    assert!(!block["content"].as_str().unwrap().is_empty());
                }
                ("assistant", "tool_use") => {
                    assert!(block["input"].is_object(), "{block}");
                    let id = block["id"].as_str().unwrap();
                    assert!(is_id(id) && seen.insert(id.to_owned()), "{id}");
                    called.push(id.to_owned());
                }
                ("assistant", "thinking") => assert!(!block["signature"].as_str().unwrap().is_empty()),
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(answered, open, "each call has its result, right after and in order");
        open = called;
    }
    assert_eq!((last, open), ("user", Vec::new()));
    assert_eq!(body.to_string().matches("cache_control").count(), 2);
}

/// What OpenRouter and those behind it refuse with 400.
fn check_openrouter(body: &Value) {
    let messages = body["messages"].as_array().unwrap();
    assert_eq!((&messages[0]["role"], &messages[1]["role"]), (&"system".into(), &"user".into()));
    let (mut open, mut seen, mut last) = (Vec::<String>::new(), HashSet::new(), "system");
    for message in &messages[1..] {
        let role = message["role"].as_str().unwrap();
        let content = message["content"].as_str();
        assert!(content.is_none_or(|text| !text.trim().is_empty() && !text.contains('\0')), "{message}");
        if role == "tool" {
            assert!(!open.is_empty(), "a result has its call");
            assert_eq!(message["tool_call_id"], open.remove(0), "in the order of the calls");
            assert!(content.is_some());
        } else {
            assert!(open.is_empty(), "each call has its result");
            assert!(role != last, "roles alternate");
            if role == "assistant" {
                let calls = message["tool_calls"].as_array().map(Vec::as_slice).unwrap_or_default();
                assert!(content.is_some() || !calls.is_empty(), "no message is empty");
                for call in calls {
                    let id = call["id"].as_str().unwrap();
                    assert!(is_id(id) && seen.insert(id.to_owned()), "{id}");
                    let arguments: Value =
                        serde_json::from_str(call["function"]["arguments"].as_str().unwrap()).unwrap();
                    assert!(arguments.is_object());
                    open.push(id.to_owned());
                }
            }
        }
        last = role;
    }
    assert!(open.is_empty() && last != "assistant");
}

fn is_id(id: &str) -> bool {
    (1..=64).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

#[tokio::test]
async fn three_hundred_turns_are_taken_by_a_strict_server_of_either_kind() {
    let providers = providers_at(PACE);
    for provider in BOTH {
        let model = model(provider);
        let turns: Vec<StoredTurn> = (0..TURNS).map(|n| turn(n, &model)).collect();
        // Each Turn in its turn, as it was carried on after its last reply that called something, and as a question.
        for at in (0..TURNS).step_by(41).chain([TURNS - 1]) {
            for replies in 0..=2 {
                let (earlier, rest) = turns.split_at(at);
                let mut current = rest[0].clone();
                current.turn.state = TurnState::Running;
                current.replies.truncate(replies);
                let Request { system, tools, .. } = question(provider);
                let shaped = history::shape(system, tools, None, earlier, &current);
                let server = ByteServer::start([Script::chunked(a_reply(provider), 99)]);
                let access = access(&providers, provider, &server.url());
                all_of(providers.ask(shaped.request, access, ManualStop::new()).await).await.whole();
                let body = server.requests().swap_remove(0).json();
                match provider {
                    Provider::Anthropic => check_anthropic(&body),
                    Provider::OpenRouter | Provider::Demo => check_openrouter(&body),
                }
            }
        }
    }
}
