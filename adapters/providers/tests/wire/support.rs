//! What the tests here share.

use async_trait::async_trait;
use owl_domain::{
    ports::{Access, Clock, Providers, Reply, Stop},
    provider::{
        Broken, BrokenBy, Message, ModelRef, Piece, Provider, ProviderSettings, Request, Secret, ToolParameter,
        ToolSpec, TurnError, WholeReply,
    },
    text::ModelId,
    time::Timestamp,
};
use owl_providers::{HttpProviders, Pace};
use owl_testkit::ByteServer;
use serde_json::{Value, json};
use std::sync::{
    Arc, Once,
    atomic::{AtomicI64, Ordering},
};
use tokio::sync::watch;

pub(crate) const KEY: &str = "sk-owl-planted-0123456789";
/// Owl's version, as the composition tells it.
pub(crate) const VERSION: &str = "7.8.9";
/// The two services that are reached over HTTP.
pub(crate) const BOTH: [Provider; 2] = [Provider::Anthropic, Provider::OpenRouter];
/// Waits that are a hundred-thousandth of those in earnest.
pub(crate) const PACE: Pace = Pace { waits_divided_by: 100_000, ..Pace::QUICK };

/// A clock that is moved by hand.
#[derive(Default)]
pub(crate) struct ManualClock(AtomicI64);

impl ManualClock {
    pub(crate) fn forward(&self, millis: i64) {
        self.0.fetch_add(millis, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(1_796_072_645_123 + self.0.load(Ordering::SeqCst))
    }
}

/// A stop that is given by hand.
pub(crate) struct ManualStop(watch::Sender<bool>);

impl ManualStop {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self(watch::Sender::new(false)))
    }

    pub(crate) fn give(&self) {
        self.0.send_replace(true);
    }
}

#[async_trait]
impl Stop for ManualStop {
    fn is_stopped(&self) -> bool {
        *self.0.borrow()
    }

    async fn stopped(&self) {
        let mut told = self.0.subscribe();
        told.wait_for(|told| *told).await.unwrap();
    }
}

/// The adapter, with what a process has to install once.
pub(crate) fn providers_at(pace: Pace) -> HttpProviders {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| rustls::crypto::ring::default_provider().install_default().unwrap());
    HttpProviders::new(VERSION, Arc::new(ManualClock::default()), pace)
}

pub(crate) fn model(provider: Provider) -> ModelRef {
    ModelRef { provider, id: ModelId::new("some-model").unwrap() }
}

pub(crate) fn access(providers: &HttpProviders, provider: Provider, url: &str) -> Access {
    let settings =
        ProviderSettings { base_url: Some(providers.base_url(provider, url).unwrap()), ..ProviderSettings::default() };
    Access { settings, key: Some(Secret::new(KEY).unwrap()) }
}

pub(crate) fn question(provider: Provider) -> Request {
    const COMMAND: &[ToolParameter] = &[ToolParameter { name: "command", description: "A line.", required: true }];
    Request {
        model: model(provider),
        system: "You are here.".into(),
        tools: vec![ToolSpec { name: "run_command", description: "Proposes.".into(), parameters: COMMAND }],
        messages: vec![Message::User { results: Vec::new(), texts: vec!["Any TODOs left?".into()] }],
        max_output_tokens: None,
    }
}

/// What came of a reply.
#[derive(Debug)]
pub(crate) struct Came {
    /// Everything before the last piece.
    pub(crate) pieces: Vec<Piece>,
    /// The last piece.
    pub(crate) last: Piece,
}

impl Came {
    /// Returns the text that was handed on.
    pub(crate) fn text(&self) -> String {
        self.pieces
            .iter()
            .filter_map(|piece| if let Piece::Text(text) = piece { Some(text.as_str()) } else { None })
            .collect()
    }

    /// Returns how many times it said that it asks again.
    pub(crate) fn retries(&self) -> usize {
        self.pieces.iter().filter(|piece| matches!(piece, Piece::Retrying(_))).count()
    }

    pub(crate) fn whole(&self) -> &WholeReply {
        match &self.last {
            Piece::Whole(whole) => whole,
            other => panic!("not whole: {other:?} after {:?}", self.pieces),
        }
    }

    pub(crate) fn broken(&self) -> &Broken {
        match &self.last {
            Piece::Broken(broken) => broken,
            other => panic!("not broken: {other:?}"),
        }
    }

    pub(crate) fn error(&self) -> &TurnError {
        match &self.broken().why {
            BrokenBy::Error(error) => error,
            other => panic!("no error: {other:?}"),
        }
    }
}

/// Reads a reply to its end.
pub(crate) async fn all_of(mut reply: Box<dyn Reply>) -> Came {
    let mut pieces = Vec::new();
    loop {
        match reply.next().await {
            last @ (Piece::Whole(_) | Piece::Broken(_)) => return Came { pieces, last },
            piece => pieces.push(piece),
        }
    }
}

/// Asks a server a question and reads the reply to its end.
pub(crate) async fn ask(providers: &HttpProviders, provider: Provider, server: &ByteServer) -> Came {
    let access = access(providers, provider, &server.url());
    all_of(providers.ask(question(provider), access, ManualStop::new()).await).await
}

/// Joins events of a stream.
pub(crate) fn events(events: &[Value]) -> String {
    events
        .iter()
        .map(|event| format!("data: {}\n\n", event.as_str().map_or_else(|| event.to_string(), str::to_owned)))
        .collect()
}

/// A whole reply of either service: some text, then one call.
pub(crate) fn a_reply(provider: Provider) -> String {
    match provider {
        Provider::Anthropic => events(&[
            json!({"type": "message_start", "message": {"id": "msg_1", "usage": {"input_tokens": 9, "output_tokens": 1}}}),
            json!({"type": "ping"}),
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Let me "}}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "look — ü🦉."}}),
            json!({"type": "content_block_stop", "index": 0}),
            json!({"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use", "id": "toolu_1", "name": "run_command", "input": {}}}),
            json!({"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": "{\"command\":\"git st"}}),
            json!({"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": "atus\"}"}}),
            json!({"type": "content_block_stop", "index": 1}),
            json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 20}}),
            json!({"type": "message_stop"}),
        ]),
        Provider::OpenRouter => {
            let chunk =
                |delta: Value| json!({"id": "gen-1", "choices": [{"index": 0, "delta": delta, "finish_reason": null}]});
            let mut stream = String::from(": OPENROUTER PROCESSING\n\n");
            stream.push_str(&events(&[
                chunk(json!({"role": "assistant", "content": ""})),
                chunk(json!({"content": "Let me "})),
                chunk(json!({"content": "look — ü🦉."})),
                chunk(json!({"tool_calls": [{"index": 0, "id": "toolu_1", "type": "function", "function": {"name": "run_command", "arguments": ""}}]})),
                chunk(json!({"tool_calls": [{"index": 0, "function": {"arguments": "{\"command\":\"git st"}}]})),
                chunk(json!({"tool_calls": [{"index": 0, "function": {"arguments": "atus\"}"}}]})),
                json!({"id": "gen-1", "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}),
                json!({"id": "gen-1", "choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 20}}),
                json!("[DONE]"),
            ]));
            stream
        }
        Provider::Demo => String::new(),
    }
}
