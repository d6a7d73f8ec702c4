//! The adapter against two mock servers that nobody of this project wrote (D17). Each test needs the server's program,
//! named by `OWL_TEST_AIMOCK` (npm `@copilotkit/aimock`) or `OWL_TEST_LLMOCK` (PyPI `llmock`), and is skipped aloud
//! without it. Waits are as in earnest where the server judges them.

use crate::support::*;
use owl_domain::{
    ports::{Access, Freshness, Providers},
    provider::{Block, Call, Message, Piece, Provider, ReplyStop, Request, ToolResult, TurnErrorKind as Kind},
};
use owl_providers::{HttpProviders, Pace};
use owl_testkit::MockServer;
use serde_json::{Value, json};
use std::{io::Write, path::PathBuf, time::Duration};

/// The program that a variable names; says aloud when there is none.
fn program(variable: &str) -> Option<PathBuf> {
    let path = std::env::var_os(variable).map(PathBuf::from);
    if path.is_none() {
        // Past the capture of the test's output: a test that was skipped looks like one that passed.
        let said = format!("SKIPPED: {variable} is not set, so this third party's server cannot be asked\n");
        std::io::stderr().write_all(said.as_bytes()).unwrap();
    }
    path
}

const FIXTURES: &str = r#"{"fixtures":[
 {"match":{"userMessage":"what changed","hasToolResult":false},"response":{"content":"Let me look.","reasoning":"The user wants the log.","toolCalls":[{"id":"call_a","name":"run_command","arguments":{"command":"git log --oneline -n 3"}}]}},
 {"match":{"userMessage":"what changed","hasToolResult":true},"response":{"content":"Three commits."}}]}"#;

/// Starts aimock with the fixtures of a two-step loop.
fn aimock() -> Option<(tempfile::TempDir, MockServer)> {
    let program = program("OWL_TEST_AIMOCK")?;
    let home = tempfile::tempdir().unwrap();
    let fixtures = home.path().join("fixtures.json");
    std::fs::write(&fixtures, FIXTURES).unwrap();
    let arguments = ["-p", "0", "-f", fixtures.to_str().unwrap(), "--strict"];
    Some((home, MockServer::start(&program, &arguments, "listening on").unwrap()))
}

fn ask_what_changed(provider: Provider) -> Request {
    Request {
        messages: vec![Message::User { results: Vec::new(), texts: vec!["what changed".into()] }],
        ..question(provider)
    }
}

#[tokio::test]
async fn the_two_step_loop_in_both_formats_through_aimock() {
    let Some((_home, server)) = aimock() else { return };
    let providers = providers_at(Pace::EARNEST);
    for (provider, base) in
        [(Provider::Anthropic, server.url().to_owned()), (Provider::OpenRouter, format!("{}/api", server.url()))]
    {
        let access = access(&providers, provider, &base);
        let mut request = ask_what_changed(provider);
        let came = all_of(providers.ask(request.clone(), access.clone(), ManualStop::new()).await).await;
        assert_eq!(came.text(), "Let me look.");
        let reasoning =
            came.pieces.iter().filter_map(|p| if let Piece::Reasoning(text) = p { Some(text.as_str()) } else { None });
        assert_eq!(reasoning.collect::<String>(), "The user wants the log.");
        let whole = came.whole();
        assert_eq!(whole.stop, ReplyStop::Done);
        let Some(Block::Call(Call { id, name, arguments })) = whole.blocks.last() else { panic!("{whole:?}") };
        assert_eq!((id.as_str(), name.as_str()), ("call_a", "run_command"));
        assert_eq!(serde_json::from_str::<Value>(arguments).unwrap(), json!({"command": "git log --oneline -n 3"}));
        let signed = whole.blocks.iter().any(|block| matches!(block, Block::Raw(raw) if raw.contains("signature")));
        assert_eq!(signed, provider == Provider::Anthropic, "thinking is kept with its signature");

        let result = ToolResult { call_id: id.clone(), text: "three lines".into(), is_error: false };
        request.messages.push(Message::Assistant(whole.blocks.clone()));
        request.messages.push(Message::User { results: vec![result], texts: Vec::new() });
        let came = all_of(providers.ask(request, access.clone(), ManualStop::new()).await).await;
        assert_eq!((came.text().as_str(), &came.whole().stop), ("Three commits.", &ReplyStop::Done));
        assert_eq!(came.whole().blocks, [Block::Text("Three commits.".into())]);

        let listed = providers.models(provider, access.clone(), Freshness::Now).await;
        assert_eq!((listed.error, listed.stale), (None, false));
        let tested = providers.test(provider, access).await;
        assert!(tested.ok, "{tested:?}");
    }
}

/// A server that breaks on order and judges how its client took it.
struct Llmock {
    server: MockServer,
    admin: reqwest::Client,
}

impl Llmock {
    fn start(arguments: &[&str]) -> Option<Self> {
        let program = program("OWL_TEST_LLMOCK")?;
        let arguments = [&["serve", "-h", "127.0.0.1", "-p", "0"], arguments].concat();
        let server = MockServer::start(&program, &arguments, "Uvicorn running on").unwrap();
        drop(providers_at(Pace::EARNEST));
        let admin = reqwest::Client::builder().no_proxy().build().unwrap();
        Some(Self { server, admin })
    }

    fn access(&self, providers: &HttpProviders, provider: Provider) -> Access {
        let path = if provider == Provider::Anthropic { "/anthropic" } else { "" };
        access(providers, provider, &format!("{}{path}", self.server.url()))
    }

    async fn tell(&self, path: &str, body: Value) {
        let url = format!("{}/_llmock/{path}", self.server.url());
        let request = self.admin.post(url).header("content-type", "application/json").body(body.to_string());
        let response = request.send().await.unwrap();
        assert!(response.status().is_success(), "{path}: {}", response.text().await.unwrap());
    }

    /// Asks one question while these behaviours are in force, and returns what came and the verdict.
    async fn play(&self, pace: Pace, provider: Provider, behaviours: Value) -> (Came, Value) {
        self.tell("reset", json!({})).await;
        self.tell("scenario", json!({"behaviors": behaviours})).await;
        let providers = providers_at(pace);
        let access = self.access(&providers, provider);
        let came = all_of(providers.ask(ask_what_changed(provider), access, ManualStop::new()).await).await;
        let verdict = self.admin.get(format!("{}/_llmock/verdict", self.server.url())).send().await.unwrap();
        (came, serde_json::from_str(&verdict.text().await.unwrap()).unwrap())
    }
}

fn reply(times: u32) -> Value {
    json!({"type": "reply", "text": "Let me look.", "times": times,
        "tool_calls": [{"name": "run_command", "arguments": {"command": "git status"}}]})
}

fn has_no_findings(verdict: &Value, of: &Value) {
    assert_eq!((&verdict["passed"], &verdict["findings"]), (&json!(true), &json!([])), "{of}: {verdict}");
}

#[tokio::test]
async fn faults_before_content_are_recovered_from_without_a_finding() {
    let Some(llmock) = Llmock::start(&[]) else { return };
    let brief = Pace { idle: Duration::from_secs(1), ..Pace::EARNEST };
    for provider in BOTH {
        for (faults, tries) in [
            (json!([{"type": "fail", "status": 529, "times": 2}]), 3),
            (json!([{"type": "fail", "status": 500, "times": 1}]), 2),
            (json!([{"type": "fail", "status": 503, "times": 1}]), 2),
            (json!([{"type": "fail", "status": 429, "retry_after": 2, "times": 2}]), 3),
        ] {
            let mut behaviours = faults.as_array().unwrap().clone();
            behaviours.push(reply(9));
            let (came, verdict) = llmock.play(brief, provider, Value::Array(behaviours)).await;
            let of = json!([provider.name(), faults]);
            assert_eq!((came.text().as_str(), came.retries() + 1), ("Let me look.", tries), "{of}: {came:?}");
            let Some(Block::Call(call)) = came.whole().blocks.last() else { panic!("{came:?}") };
            assert_eq!(serde_json::from_str::<Value>(&call.arguments).unwrap(), json!({"command": "git status"}));
            has_no_findings(&verdict, &of);
        }
    }
}

#[tokio::test]
async fn a_stream_cut_before_content_is_asked_for_again_without_a_finding() {
    let Some(llmock) = Llmock::start(&[]) else { return };
    let brief = Pace { idle: Duration::from_secs(1), ..Pace::EARNEST };
    for kind in ["truncate", "disconnect", "stall"] {
        let fault = json!({"type": "stream_fault", "kind": kind, "after_chunks": 1, "stall_seconds": 6, "times": 1});
        let behaviours = json!([{"type": "fail", "status": 529, "times": 1}, fault, reply(2)]);
        // On this service the first chunk is the message's start: nothing of it is handed on.
        let (came, verdict) = llmock.play(brief, Provider::Anthropic, behaviours).await;
        assert_eq!((came.text().as_str(), came.retries()), ("Let me look.", 2), "{kind}: {came:?}");
        has_no_findings(&verdict, &json!(kind));
    }
}

#[tokio::test]
async fn a_stream_cut_after_content_is_told_and_not_asked_for_again() {
    let Some(llmock) = Llmock::start(&[]) else { return };
    let brief = Pace { idle: Duration::from_secs(1), ..Pace::EARNEST };
    for provider in BOTH {
        for (kind, expected) in [
            ("truncate", Kind::StreamIncomplete),
            ("disconnect", Kind::StreamIncomplete),
            ("stall", Kind::StreamStalled),
            ("malformed", Kind::StreamMalformed),
        ] {
            let fault =
                json!({"type": "stream_fault", "kind": kind, "after_chunks": 4, "stall_seconds": 6, "times": 1});
            let answer = json!({"type": "reply", "text": "one two three four five six seven eight", "times": 2});
            let (came, verdict) = llmock.play(brief, provider, json!([fault, answer])).await;
            assert_eq!((came.error().kind, came.retries()), (expected, 0), "{provider} {kind}: {came:?}");
            assert!(!came.text().is_empty() && came.text().len() < 39, "{provider} {kind}: {came:?}");
            assert_eq!(verdict["attempts"], 1, "{verdict}");
        }
    }
}

#[tokio::test]
async fn what_will_not_pass_is_not_tried_again() {
    let Some(llmock) = Llmock::start(&[]) else { return };
    for provider in BOTH {
        for (status, expected) in [
            (400, Kind::ProviderRejected),
            (401, Kind::ProviderAuth),
            (403, Kind::ProviderAuth),
            (404, Kind::ModelNotFound),
            (422, Kind::ProviderRejected),
        ] {
            let (came, verdict) =
                llmock.play(Pace::EARNEST, provider, json!([{"type": "fail", "status": status, "times": null}])).await;
            assert_eq!((came.error().kind, came.error().attempts), (expected, 1), "{provider} {status}");
            assert_eq!(verdict["attempts"], 1);
            has_no_findings(&verdict, &json!(status));
        }
    }
}

#[tokio::test]
async fn a_call_with_broken_arguments_comes_as_it_is_and_is_guessed_by_nobody() {
    let Some(llmock) = Llmock::start(&[]) else { return };
    for provider in BOTH {
        let (came, _) = llmock
            .play(Pace::EARNEST, provider, json!([{"type": "tool_fault", "kind": "malformed_arguments", "times": 1}]))
            .await;
        let Some(Block::Call(call)) = came.whole().blocks.last() else { panic!("{came:?}") };
        assert!(providers_at(Pace::EARNEST).arguments(call).is_err(), "{call:?}");
    }
}

#[tokio::test]
async fn a_true_quota_is_waited_for_as_long_as_it_says() {
    // Twenty a minute: the next one is free three seconds after they are used up.
    let Some(llmock) = Llmock::start(&["--rpm", "20"]) else { return };
    let providers = providers_at(Pace::EARNEST);
    let mut retries = 0;
    for _ in 0..22 {
        let access = llmock.access(&providers, Provider::Anthropic);
        let came = all_of(providers.ask(ask_what_changed(Provider::Anthropic), access, ManualStop::new()).await).await;
        came.whole();
        retries += came.retries();
    }
    assert!(retries > 0, "the quota was never met");
    let verdict = llmock.admin.get(format!("{}/_llmock/verdict", llmock.server.url())).send().await.unwrap();
    has_no_findings(&serde_json::from_str(&verdict.text().await.unwrap()).unwrap(), &json!("quota"));
}
