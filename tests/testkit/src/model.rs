//! A model whose replies a test writes, behind the port of Providers.

use owl_domain::{
    ports::{Access, BaseUrlError, Catalogue, Freshness, Providers, Reply, Stop, Tested},
    provider::{
        Argument, BaseUrl, Block, Broken, BrokenBy, Call, Message, Model, ModelRef, Piece, Provider, ReplyStop,
        Request, Usage, WholeReply,
    },
};
use serde_json::Value;
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// A model whose replies are written beforehand, as a function of the request: the same request gives the same reply,
/// so that a Turn which is carried on anew is answered as it was. Records what it was asked.
pub struct ScriptedModel {
    says: Box<Says>,
    asked: Mutex<Vec<Request>>,
}

type Says = dyn Fn(&Request) -> Vec<Said> + Send + Sync;

/// One thing that a scripted model does.
#[derive(Debug, Clone, PartialEq)]
pub enum Said {
    /// It tells a piece.
    Piece(Piece),
    /// It says nothing more until it is told to stop.
    Hang,
}

/// Returns a whole reply with these calls of `run_command`, none of which names a directory.
pub fn runs(lines: &[&str]) -> Vec<Said> {
    calls(lines.iter().map(|line| ("run_command", serde_json::json!({ "command": line }).to_string())))
}

/// Returns a whole reply with these calls, each a tool's name and its arguments.
pub fn calls<'c>(calls: impl IntoIterator<Item = (&'c str, String)>) -> Vec<Said> {
    let call = |(at, (name, arguments)): (usize, (&str, String))| {
        Block::Call(Call { id: format!("call-{at}"), name: name.into(), arguments })
    };
    vec![whole(calls.into_iter().enumerate().map(call).collect(), ReplyStop::Done)]
}

/// Returns a whole reply of words, which come in two pieces.
pub fn says(text: &str) -> Vec<Said> {
    let half = text.char_indices().nth(text.chars().count() / 2).map_or(0, |(at, _)| at);
    let (first, second) = text.split_at(half);
    let pieces = [first, second].into_iter().filter(|piece| !piece.is_empty());
    let pieces = pieces.map(|piece| Said::Piece(Piece::Text(piece.into())));
    pieces.chain([whole(vec![Block::Text(text.into())], ReplyStop::Done)]).collect()
}

/// Returns the end of a whole reply.
pub fn whole(blocks: Vec<Block>, stop: ReplyStop) -> Said {
    let usage = Usage { input_tokens: 10, output_tokens: 5, ..Usage::default() };
    Said::Piece(Piece::Whole(Box::new(WholeReply { blocks, stop, usage })))
}

/// Returns the end of a reply that broke.
pub fn broken(why: BrokenBy) -> Said {
    Said::Piece(Piece::Broken(Box::new(Broken { why, usage: Usage { input_tokens: 3, ..Usage::default() } })))
}

impl ScriptedModel {
    /// Makes one that says this to each request.
    pub fn new(says: impl Fn(&Request) -> Vec<Said> + Send + Sync + 'static) -> Self {
        Self { says: Box::new(says), asked: Mutex::default() }
    }

    /// Makes one that gives these replies, one a round of one Turn; more than there are end the Turn.
    pub fn with(script: Vec<Vec<Said>>) -> Self {
        Self::new(move |request| {
            let since = request.messages.iter().rev().take_while(|message| !is_question(message));
            script
                .get(since.filter(|message| is_assistant(message)).count())
                .cloned()
                .unwrap_or_else(|| says("That is all."))
        })
    }

    /// Returns what it was asked, in order.
    pub fn asked(&self) -> Vec<Request> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Request>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

const fn is_assistant(message: &Message) -> bool {
    matches!(message, Message::Assistant(_))
}

fn is_question(message: &Message) -> bool {
    matches!(message, Message::User { texts, .. } if !texts.is_empty())
}

#[async_trait::async_trait]
impl Providers for ScriptedModel {
    async fn ask(&self, request: Request, _access: Access, stop: Arc<dyn Stop>) -> Box<dyn Reply> {
        tokio::task::yield_now().await;
        let left = (self.says)(&request).into();
        self.lock().push(request);
        Box::new(ScriptedReply { left, stop })
    }

    fn arguments(&self, call: &Call) -> Result<Vec<(String, Argument)>, String> {
        if call.arguments.is_empty() {
            return Ok(Vec::new());
        }
        match serde_json::from_str(&call.arguments) {
            Ok(Value::Object(members)) => {
                Ok(members.into_iter().map(|(name, value)| (name, argument(value))).collect())
            }
            Ok(_) => Err("they are no object".into()),
            Err(error) => Err(format!("they are not JSON: {error}")),
        }
    }

    fn known(&self, _model: &ModelRef) -> Option<Model> {
        None
    }

    async fn models(&self, _provider: Provider, _access: Access, _fresh: Freshness) -> Catalogue {
        Catalogue { models: Vec::new(), fetched_at: None, stale: false, error: None }
    }

    async fn test(&self, _provider: Provider, _access: Access) -> Tested {
        Tested { ok: true, status: None, duration: Duration::ZERO, message: String::new(), models: None }
    }

    fn base_url(&self, _provider: Provider, text: &str) -> Result<BaseUrl, BaseUrlError> {
        Ok(BaseUrl::normalised(text))
    }

    fn endpoint(&self, _provider: Provider, _base_url: Option<BaseUrl>) -> Option<String> {
        None
    }

    fn base(&self, _provider: Provider, _base_url: Option<BaseUrl>) -> Option<String> {
        None
    }

    fn same_origin(&self, _provider: Provider, one: Option<BaseUrl>, other: Option<BaseUrl>) -> bool {
        one == other
    }
}

fn argument(value: Value) -> Argument {
    match value {
        Value::String(text) => Argument::Text(text),
        Value::Number(number) => number.as_i64().map_or(Argument::Other("a number"), Argument::Whole),
        Value::Null => Argument::Other("null"),
        Value::Bool(_) => Argument::Other("true or false"),
        Value::Array(_) => Argument::Other("a list"),
        Value::Object(_) => Argument::Other("an object"),
    }
}

struct ScriptedReply {
    left: VecDeque<Said>,
    stop: Arc<dyn Stop>,
}

#[async_trait::async_trait]
impl Reply for ScriptedReply {
    async fn next(&mut self) -> Piece {
        tokio::task::yield_now().await;
        let stopped = || Piece::Broken(Box::new(Broken { why: BrokenBy::Stopped, usage: Usage::default() }));
        if self.stop.is_stopped() {
            return stopped();
        }
        match self.left.pop_front() {
            Some(Said::Piece(piece)) => piece,
            Some(Said::Hang) | None => {
                self.stop.stopped().await;
                stopped()
            }
        }
    }
}
