//! A reply over HTTP: ask, read, and ask again while nothing was handed on (D17). It keeps the key for as long as it
//! may have to ask again, and no longer.

use crate::{
    assemble::{Decoder, Fault, Progress},
    failure::{Asked, Failure, What},
    http::{self, Http},
    pace::Pace,
    retry::{self, Again, LONGEST_ASKED, MOST_TRIES},
    service::Service,
    sse::{Events, ReadFault},
};
use async_trait::async_trait;
use owl_domain::{
    ports::{Clock, Reply, Stop},
    provider::{Broken, BrokenBy, ModelRef, Piece, ReplyStop, Retrying, Secret, TurnError, Usage},
    text::cut_bytes,
};
use reqwest::header::CONTENT_TYPE;
use std::{collections::VecDeque, sync::Arc};
use tokio::time::{Instant, sleep_until, timeout};

/// How much of the explanation of a refusal is kept: some services put a whole answer there.
const EXPLANATION_BYTES: usize = 16 * 1024;

/// What is asked, the same bytes at each try.
pub(crate) struct Call {
    pub(crate) service: &'static dyn Service,
    pub(crate) model: ModelRef,
    pub(crate) url: String,
    pub(crate) key: Secret,
    pub(crate) body: bytes::Bytes,
    pub(crate) tools: bool,
}

impl Call {
    fn asked(&self) -> Asked<'_> {
        Asked {
            service: self.service,
            model: Some(&self.model),
            url: &self.url,
            key: Some(&self.key),
            tools: self.tools,
        }
    }
}

/// A reply on its way.
pub(crate) struct HttpReply {
    call: Call,
    client: Result<reqwest::Client, String>,
    clock: Arc<dyn Clock>,
    stop: Arc<dyn Stop>,
    pace: Pace,
    /// The try that is under way, from 1.
    attempt: u32,
    first_try: Option<Instant>,
    stalled: bool,
    /// What tries that came to nothing used.
    spent: Usage,
    request_id: Option<String>,
    state: State,
    ready: VecDeque<Piece>,
}

enum State {
    Ask,
    Read(Box<Stream>),
    Wait(Instant),
    Ended,
}

struct Stream {
    events: Events,
    decoder: Box<dyn Decoder>,
    content_type: Option<String>,
}

impl HttpReply {
    pub(crate) fn new(call: Call, http: &Http, clock: Arc<dyn Clock>, stop: Arc<dyn Stop>, pace: Pace) -> Self {
        Self {
            call,
            client: http.client(),
            clock,
            stop,
            pace,
            attempt: 1,
            first_try: None,
            stalled: false,
            spent: Usage::default(),
            request_id: None,
            state: State::Ask,
            ready: VecDeque::new(),
        }
    }

    /// Goes on by one step: one request, one event, one wait.
    async fn step(&mut self) {
        match &mut self.state {
            State::Ask => match self.ask().await {
                Ok(stream) => self.state = State::Read(Box::new(stream)),
                Err(failure) => self.failed(failure, false),
            },
            State::Read(stream) => {
                let mut pieces = Vec::new();
                let progress = match stream.events.next().await {
                    Ok(data) => stream.decoder.event(&data, &mut pieces).map_err(Cut::Fault),
                    Err(fault) => Err(Cut::Read(fault)),
                };
                self.ready.extend(pieces);
                match progress {
                    Ok(Progress::More) => {}
                    Ok(Progress::Whole(mut whole)) => {
                        whole.usage = self.spent.plus(whole.usage);
                        if let ReplyStop::Refusal { explanation: Some(text) } = &mut whole.stop {
                            *text = cut_bytes(&http::scrub(text, Some(&self.call.key)), EXPLANATION_BYTES).to_owned();
                        }
                        if let State::Read(stream) = std::mem::replace(&mut self.state, State::Ended) {
                            drop(tokio::spawn(stream.events.drain()));
                        }
                        self.end(Piece::Whole(whole));
                    }
                    Err(cut) => self.cut(&cut),
                }
            }
            State::Wait(until) => {
                sleep_until(*until).await;
                self.attempt += 1;
                self.state = State::Ask;
            }
            State::Ended => self.end_broken(BrokenBy::Stopped),
        }
    }

    async fn ask(&mut self) -> Result<Stream, Failure> {
        self.first_try.get_or_insert_with(Instant::now);
        self.request_id = None;
        let Call { service, url, key, body, .. } = &self.call;
        let asked = self.call.asked();
        let client = self.client.as_ref().map_err(|why| asked.impossible(why))?;
        let request = client.post(url).header(CONTENT_TYPE, "application/json").body(body.clone());
        let response = match timeout(self.pace.headers, service.with_key(request, key).send()).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(asked.unreachable(&http::causes(&error))),
            Err(_) => {
                let why = format!("no answer within {} ms", self.pace.headers.as_millis());
                return Err(asked.unreachable(&why));
            }
        };
        let id = service.request_id(response.headers()).map(|id| http::scrub(id, Some(key)));
        let header =
            |name| response.headers().get(name).and_then(|v| v.to_str().ok()).map(|v| http::scrub(v, Some(key)));
        if response.status().is_success() {
            let content_type = header(CONTENT_TYPE);
            self.request_id = id;
            return Ok(Stream {
                events: Events::new(http::body(response), self.pace.idle, self.pace.reply),
                decoder: service.decoder(),
                content_type,
            });
        }
        let after = retry::asked(response.headers(), self.clock.now());
        let quotas = (response.status() == 429).then(|| service.rate_limits(response.headers())).flatten();
        let mut failure = asked.refused(&http::refusal(response, Some(key), self.pace.headers).await);
        failure.asked = after;
        if let (Some(quotas), What::Error(error)) = (quotas, &mut failure.what) {
            error.message = format!("{} ({})", error.message, http::scrub(&quotas, Some(key)));
        }
        self.request_id = id;
        Err(failure)
    }

    /// The stream was cut: it is asked again only while nothing of it was handed on.
    fn cut(&mut self, cut: &Cut) {
        let State::Read(stream) = std::mem::replace(&mut self.state, State::Ended) else { return };
        let tally = stream.decoder.tally();
        if self.request_id.is_none() {
            self.request_id = stream.decoder.reply_id().map(|id| http::scrub(id, Some(&self.call.key)));
        }
        let mut failure = match cut {
            Cut::Read(fault) => self.call.asked().unread(fault, stream.content_type.as_deref()),
            Cut::Fault(fault) => self.call.asked().faulty(fault),
        };
        if failure.again == Again::Once && std::mem::replace(&mut self.stalled, true) {
            failure.again = Again::Never;
        }
        self.spent = self.spent.plus(tally.usage);
        self.failed(failure, tally.content);
    }

    /// Decides whether to ask again, and says so before the wait.
    fn failed(&mut self, failure: Failure, content: bool) {
        let Failure { what, again, asked, said } = failure;
        let mut error = match what {
            What::ContextFull => return self.end_broken(BrokenBy::ContextFull),
            What::Error(error) => *error,
        };
        error.attempts = self.attempt;
        error.request_id = self.request_id.take();
        let too_long = asked.filter(|asked| *asked > LONGEST_ASKED);
        if content || again == Again::Never {
            return self.give_up(error);
        }
        if let Some(asked) = too_long {
            error.retry_after = Some(asked);
            return self.give_up(error);
        }
        let wait = retry::wait(self.attempt, asked, retry::chance()) / self.pace.waits_divided_by.max(1);
        let too_late = self.first_try.is_some_and(|first| first.elapsed() + wait > self.pace.last_try);
        if self.attempt >= MOST_TRIES || too_late {
            if self.attempt > 1 {
                error.message = format!("{} (given up after {} tries)", error.message, self.attempt);
            }
            return self.give_up(error);
        }
        self.ready.push_back(Piece::Retrying(Retrying {
            attempt: self.attempt,
            max_attempts: MOST_TRIES,
            wait,
            status: error.status,
            message: said,
        }));
        self.state = State::Wait(Instant::now() + wait);
    }

    fn give_up(&mut self, error: TurnError) {
        self.end_broken(BrokenBy::Error(error));
    }

    fn end_broken(&mut self, why: BrokenBy) {
        self.end(broken(why, self.spent));
    }

    fn stopped(&mut self) -> Piece {
        if let State::Read(stream) = std::mem::replace(&mut self.state, State::Ended) {
            self.spent = self.spent.plus(stream.decoder.tally().usage);
        }
        broken(BrokenBy::Stopped, self.spent)
    }

    fn end(&mut self, last: Piece) {
        self.ready.push_back(last);
        self.state = State::Ended;
    }
}

fn broken(why: BrokenBy, usage: Usage) -> Piece {
    Piece::Broken(Box::new(Broken { why, usage }))
}

/// What cut a stream.
enum Cut {
    Read(ReadFault),
    Fault(Fault),
}

#[async_trait]
impl Reply for HttpReply {
    async fn next(&mut self) -> Piece {
        loop {
            // What came before the stop is handed on: it is said to have come.
            if let Some(piece) = self.ready.pop_front() {
                return piece;
            }
            let stop = Arc::clone(&self.stop);
            tokio::select! {
                biased;
                () = stop.stopped() => return self.stopped(),
                () = self.step() => {}
            }
        }
    }
}

/// A reply that could not even be asked for.
pub(crate) struct Unasked(Option<TurnError>);

impl Unasked {
    pub(crate) fn new(error: TurnError) -> Self {
        Self(Some(error))
    }
}

#[async_trait]
impl Reply for Unasked {
    async fn next(&mut self) -> Piece {
        let why = self.0.take().map_or(BrokenBy::Stopped, BrokenBy::Error);
        broken(why, Usage::default())
    }
}
