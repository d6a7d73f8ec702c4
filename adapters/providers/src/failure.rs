//! Which answer is which error, what a person can do about it, and whether it may pass by itself (D17). One table.

use crate::{
    assemble::Fault,
    http::{Refusal, scrub},
    retry::Again,
    service::Service,
    sse::ReadFault,
};
use owl_domain::{
    provider::{ModelRef, Provider, Secret, TurnError, TurnErrorKind},
    text::cut_bytes,
};
use std::time::Duration;

/// How much of what a service says is shown, in bytes.
const MESSAGE_BYTES: usize = 2_048;

/// Something went wrong with one try.
#[derive(Debug)]
pub(crate) struct Failure {
    /// What; `ContextFull` is no error but an end of its own.
    pub(crate) what: What,
    /// Whether it may pass.
    pub(crate) again: Again,
    /// How long the service asks to wait.
    pub(crate) asked: Option<Duration>,
    /// What the service said, or what happened; without the frame of the whole message.
    pub(crate) said: String,
}

/// What went wrong.
#[derive(Debug)]
pub(crate) enum What {
    /// An error.
    Error(Box<TurnError>),
    /// The prompt is too long for the model.
    ContextFull,
}

/// What was asked of whom: what an error has to name.
pub(crate) struct Asked<'a> {
    pub(crate) service: &'static dyn Service,
    pub(crate) model: Option<&'a ModelRef>,
    /// The address that was called, without query.
    pub(crate) url: &'a str,
    pub(crate) key: Option<&'a Secret>,
    /// Whether tools were offered.
    pub(crate) tools: bool,
}

impl Asked<'_> {
    /// Nobody answered.
    pub(crate) fn unreachable(&self, why: &str) -> Failure {
        let kind = TurnErrorKind::ProviderUnreachable;
        let message = format!("{} could not be reached at {}{}: {why}", self.provider(), self.url, self.for_model());
        let hint = "check the network and the Provider's base address".to_owned();
        self.failure(kind, message, Some(hint), None, Again::Yes, why)
    }

    /// An answer that is no success.
    pub(crate) fn refused(&self, refusal: &Refusal) -> Failure {
        let status = refusal.status;
        let said = said(refusal);
        if matches!(status, 400 | 413) && is_too_long(&said) {
            return Failure { what: What::ContextFull, again: Again::Never, asked: None, said };
        }
        let (kind, again) = self.kind_of(refusal, &said);
        let message = match &refusal.location {
            Some(target) if (300..400).contains(&status) => format!(
                "{} answered {status} at {}{}: a redirect to {target}, which is not followed because the key would go with it",
                self.provider(),
                self.url,
                self.for_model(),
            ),
            Some(_) | None if said.is_empty() => {
                format!("{} answered {status} at {}{}", self.provider(), self.url, self.for_model())
            }
            Some(_) | None => {
                format!("{} answered {status} at {}{}: {said}", self.provider(), self.url, self.for_model())
            }
        };
        let hint = self.hint(kind, status);
        let short = if said.is_empty() { format!("status {status}") } else { said };
        self.failure(kind, message, hint, Some(status), again, &short)
    }

    /// A stream that ended, broke, stalled or went over its bounds.
    pub(crate) fn unread(&self, fault: &ReadFault, content_type: Option<&str>) -> Failure {
        let (kind, again) = match fault {
            ReadFault::Ended | ReadFault::Broken(_) => (TurnErrorKind::StreamIncomplete, Again::Yes),
            ReadFault::Stalled(_) => (TurnErrorKind::StreamStalled, Again::Once),
            ReadFault::TooLong(_) => (TurnErrorKind::StreamIncomplete, Again::Never),
            ReadFault::TooBig(_) | ReadFault::NotUtf8 => (TurnErrorKind::StreamMalformed, Again::Yes),
        };
        let what = match content_type {
            Some(other) if !other.starts_with("text/event-stream") => format!("{fault} (it came as {other})"),
            Some(_) | None => fault.to_string(),
        };
        self.streamed(kind, &what, 200, again)
    }

    /// Events that make no reply.
    pub(crate) fn faulty(&self, fault: &Fault) -> Failure {
        match fault {
            Fault::Malformed(what) => self.streamed(TurnErrorKind::StreamMalformed, what, 200, Again::Yes),
            Fault::Incomplete(what) => {
                let what = format!("the stream came to its end sign too early: {what}");
                self.streamed(TurnErrorKind::StreamIncomplete, &what, 200, Again::Yes)
            }
            Fault::TooBig(what) => self.streamed(TurnErrorKind::ReplyTooBig, what, 200, Again::Never),
            Fault::UnknownStop(reason) => {
                let what = format!("the reply stopped for a reason that is not known: {reason}");
                self.streamed(TurnErrorKind::StreamError, &what, 200, Again::Never)
            }
            Fault::Service { code, message } => {
                if matches!(code.as_str(), "400" | "413" | "invalid_request_error" | "context_length_exceeded")
                    && is_too_long(message)
                {
                    return Failure {
                        what: What::ContextFull,
                        again: Again::Never,
                        asked: None,
                        said: message.clone(),
                    };
                }
                let status = code.parse().ok().filter(|status| (100..600).contains(status)).unwrap_or(200);
                let again = if may_pass(code) { Again::Yes } else { Again::Never };
                let what = if message.is_empty() { code.clone() } else { format!("{code}: {message}") };
                self.streamed(TurnErrorKind::StreamError, &format!("an error inside the stream: {what}"), status, again)
            }
        }
    }

    /// Something that is nobody's answer: the client itself could not be made.
    pub(crate) fn impossible(&self, why: &str) -> Failure {
        let message = format!("{} cannot be asked: the HTTP client could not be made: {why}", self.provider());
        self.failure(TurnErrorKind::ProviderUnreachable, message, None, None, Again::Never, why)
    }

    fn kind_of(&self, refusal: &Refusal, said: &str) -> (TurnErrorKind, Again) {
        use TurnErrorKind as Kind;
        let without_tools = self.tools && is_without_tools(said);
        match refusal.status {
            400 | 404 | 422 if without_tools => (Kind::ModelWithoutTools, Again::Never),
            403 if is_moderation(refusal) => (Kind::ProviderRejected, Again::Never),
            401 | 403 => (Kind::ProviderAuth, Again::Never),
            402 => (Kind::ProviderBilling, Again::Never),
            404 => (Kind::ModelNotFound, Again::Never),
            429 => (Kind::ProviderRateLimited, Again::Yes),
            529 => (Kind::ProviderOverloaded, Again::Yes),
            408 | 409 | 500 | 502 | 503 | 504 => (Kind::ProviderFailed, Again::Yes),
            500..=599 => (Kind::ProviderFailed, Again::Never),
            _ => (Kind::ProviderRejected, Again::Never),
        }
    }

    fn hint(&self, kind: TurnErrorKind, status: u16) -> Option<String> {
        use TurnErrorKind as Kind;
        let provider = self.provider();
        let own = self.service.is_own(self.url);
        let hint = match kind {
            Kind::ProviderAuth => {
                format!("give a key that works: `owl provider add {provider}` reads it from standard input")
            }
            Kind::ProviderBilling => format!("add credit at {provider}, or choose another Provider"),
            Kind::ProviderRateLimited => "wait a little, or choose another model".into(),
            Kind::ProviderOverloaded | Kind::ProviderFailed => "try again later, or choose another model".into(),
            Kind::ModelWithoutTools => "choose a model whose `tools` is true in `owl models`".into(),
            Kind::ModelNotFound if own => format!("choose one of `owl models --provider {provider}`"),
            Kind::ModelNotFound => {
                format!("{} was called: is the base address right, and does it offer this model?", self.url)
            }
            Kind::ProviderRejected if (300..400).contains(&status) => {
                "if the new address is right, make it the Provider's base address".into()
            }
            _ => return None,
        };
        Some(hint)
    }

    fn streamed(&self, kind: TurnErrorKind, what: &str, status: u16, again: Again) -> Failure {
        let what = scrub(what, self.key);
        let what = cut_bytes(&what, MESSAGE_BYTES);
        let message = format!("{} at {}{}: {what}", self.provider(), self.url, self.for_model());
        let hint = (kind != TurnErrorKind::ReplyTooBig).then(|| "ask again; what came so far is kept".to_owned());
        self.failure(kind, message, hint, Some(status), again, what)
    }

    fn failure(
        &self,
        kind: TurnErrorKind,
        message: String,
        hint: Option<String>,
        status: Option<u16>,
        again: Again,
        said: &str,
    ) -> Failure {
        let error = TurnError {
            kind,
            provider: Some(self.service.provider()),
            model: self.model.cloned(),
            message,
            hint,
            status,
            request_id: None,
            url: Some(self.url.to_owned()),
            retry_after: None,
            attempts: 0,
        };
        Failure { what: What::Error(Box::new(error)), again, asked: None, said: said.to_owned() }
    }

    fn provider(&self) -> Provider {
        self.service.provider()
    }

    fn for_model(&self) -> String {
        self.model.map(|model| format!(" for model {}", model.id)).unwrap_or_default()
    }
}

/// Returns what a service says, with its own word for the error, bounded.
fn said(refusal: &Refusal) -> String {
    let text = match (&refusal.code, &refusal.message) {
        (Some(code), Some(message)) if *code != refusal.status.to_string() => format!("{code}: {message}"),
        (_, Some(message)) => message.clone(),
        (Some(code), None) => code.clone(),
        (None, None) => String::new(),
    };
    cut_bytes(&text, MESSAGE_BYTES).to_owned()
}

/// Says whether a message means that the prompt does not fit; each service has words of its own for it.
fn is_too_long(message: &str) -> bool {
    let message = message.to_ascii_lowercase();
    [
        "prompt is too long",
        "input is too long",
        "maximum context length",
        "context length exceeded",
        "context_length_exceeded",
        "exceed context limit",
        "exceeds the context",
        "exceeds the available context",
        "context window",
        "too many input tokens",
    ]
    .iter()
    .any(|words| message.contains(words))
}

/// Says whether a message means that this model cannot call tools.
fn is_without_tools(message: &str) -> bool {
    let message = message.to_ascii_lowercase();
    ["support tool", "support function call", "tools are not supported", "tool use is not supported"]
        .iter()
        .any(|words| message.contains(words))
}

/// Says whether a 403 is about what was said and not about the key.
fn is_moderation(refusal: &Refusal) -> bool {
    let body = refusal.body.to_ascii_lowercase();
    body.contains("moderation") || body.contains("flagged")
}

/// Says whether an error inside a stream is one of those that may pass: by its HTTP code, or by its type.
fn may_pass(code: &str) -> bool {
    matches!(
        code,
        "408"
            | "409"
            | "429"
            | "500"
            | "502"
            | "503"
            | "504"
            | "529"
            | "overloaded_error"
            | "rate_limit_error"
            | "api_error"
            | "timeout_error"
            | "rate_limit_exceeded"
            | "server_error"
    )
}
