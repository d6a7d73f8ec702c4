//! What a caller is told when a call fails: one table of kinds, and one exhaustive match per question that the domain
//! answers. Internals stay in the log (D7).

mod jobs;

use crate::wire;
use jsonrpsee::types::{ErrorCode, ErrorObjectOwned};
use owl_domain::{
    conversation::{ChangeError, MakeError, PageError},
    gate::Digest,
    ids::Seq,
    ports::{AddError, AnswerError, BeginError, CreateError, CredentialError, InspectError, StoreError, UpdateError},
    project::{RegisterError, WorkdirError},
    provider::{AccessError, ConfigureError, Provider},
    turn::SendError,
};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// An error as it stands on the wire.
#[derive(Debug, Clone, PartialEq, Serialize, serde::Deserialize)]
pub struct RpcError {
    /// Above 0: one of Owl's own, listed in [`KINDS`].
    pub code: i32,
    /// For people.
    pub message: String,
    /// `kind` and `retryable`, and what is particular to the kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

impl std::fmt::Display for RpcError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for RpcError {}

/// One kind of error. `name` is the contract, messages are for people.
#[derive(Debug, PartialEq, Eq)]
pub struct Kind {
    /// Its code.
    pub code: i32,
    /// Its name in `data.kind`.
    pub name: &'static str,
    /// Whether the same call may succeed later without anything being changed.
    pub retryable: bool,
    /// What it means.
    pub meaning: &'static str,
}

macro_rules! kinds {
    ($($name:ident = $code:literal, $wire:literal, $retryable:literal, $meaning:literal;)*) => {
        $(#[doc = $meaning] pub const $name: Kind =
            Kind { code: $code, name: $wire, retryable: $retryable, meaning: $meaning };)*

        /// Every kind, by code.
        pub const KINDS: &[&Kind] = &[$(&$name,)*];
    };
}

#[rustfmt::skip]
kinds! {
    INVALID_PARAMS = -32602, "invalid_params", false, "a parameter is unknown, missing, doubled or not as it must be";
    INTERNAL = -32603, "internal", false, "a defect in Owl; `ref` is found in the daemon's log";
    TOO_MANY_CONNECTIONS = -32009, "too_many_connections", true, "as many connections are open as may be";
    NOT_FOUND = 1001, "not_found", false, "there is no such thing";
    ALREADY_RESOLVED = 1002, "already_resolved", false, "the proposal was decided otherwise, or is no longer open";
    BUSY = 1003, "busy", true, "a turn is at work in this conversation";
    STALE = 1004, "stale", false, "what was shown is not what would run";
    CONVERSATION_MISMATCH = 1005, "conversation_mismatch", false, "the proposal is in another conversation";
    WORKDIR_INVALID = 1006, "workdir_invalid", false, "the directory is not one that commands may run in";
    PROVIDER_NOT_CONFIGURED = 1007, "provider_not_configured", false, "the provider has no key";
    MODEL_REQUIRED = 1008, "model_required", false, "no model was named and none can be chosen";
    IDEMPOTENCY_MISMATCH = 1009, "idempotency_mismatch", false, "the client's key was used with other parameters";
    CURSOR_INVALID = 1010, "cursor_invalid", false, "the cursor is not one of this list or database";
    NEEDS_STREAM = 1011, "needs_stream", false, "a subscription needs a connection that stays open";
    NOT_IN_BATCH = 1012, "not_in_batch", false, "a subscription cannot stand in a batch";
    SHUTTING_DOWN = 1013, "shutting_down", true, "the daemon is stopping";
    STORAGE = 1014, "storage", true, "a file could not be read or written; nothing was done";
    ALREADY_EXISTS = 1015, "already_exists", false, "one of that name or place exists";
    IN_USE = 1016, "in_use", false, "something still uses it";
    WRONG_STATE = 1017, "wrong_state", false, "it is in a state from which this cannot be done";
    VERSION_CONFLICT = 1018, "version_conflict", false, "it has another version";
    NOT_A_REPOSITORY = 1019, "not_a_repository", false, "there is no repository that can be registered";
    WORK_WOULD_BE_LOST = 1020, "work_would_be_lost", false, "work would be lost; `discard` allows it";
    CANNOT_START = 1021, "cannot_start", false, "the run cannot be started; nothing was started";
    LIMIT_REACHED = 1022, "limit_reached", true, "as many are at work as may be";
    CREDENTIAL_STORE = 1023, "credential_store", true, "the credential store did not do what was asked";
}

impl RpcError {
    /// Makes an error of one kind. `particular` is an object.
    pub fn new(kind: &Kind, message: impl Into<String>, particular: Value) -> Self {
        let mut data = match particular {
            Value::Object(data) => data,
            _ => Map::new(),
        };
        data.insert("kind".into(), kind.name.into());
        data.insert("retryable".into(), kind.retryable.into());
        Self { code: kind.code, message: message.into(), data: Some(Value::Object(data)) }
    }

    /// Says that a name or id names nothing.
    pub fn not_found(what: &str, id: impl ToString) -> Self {
        let id = id.to_string();
        Self::new(&NOT_FOUND, format!("there is no {what} `{id}`"), json!({ "what": what, "id": id }))
    }

    /// Says that Owl has a defect; the log has the details under the same reference.
    pub fn internal(details: impl std::fmt::Display) -> Self {
        let reference = uuid::Uuid::new_v4().simple().to_string();
        tracing::error!(reference, %details, "a call failed through a defect");
        Self::new(&INTERNAL, "Owl has a defect; the daemon's log has the details", json!({ "ref": reference }))
    }

    /// Says that a number lies beyond the newest event, or that a page's cursor is none.
    pub(crate) fn cursor(last_seq: Option<Seq>) -> Self {
        let message = match last_seq {
            Some(Seq(last)) => format!("there is no event of that number yet; the newest is {last}"),
            None => String::from("the cursor is not one of this list"),
        };
        Self::new(&CURSOR_INVALID, message, json!({ "last_seq": last_seq.map(|seq| seq.0) }))
    }

    pub(crate) fn shutting_down() -> Self {
        Self::new(&SHUTTING_DOWN, "the daemon is stopping", Value::Null)
    }

    /// Makes one of JSON-RPC's own errors, worded as the other dialects word it.
    pub(crate) fn protocol(code: ErrorCode) -> Self {
        Self { code: code.code(), message: code.message().to_owned(), data: None }
    }
}

impl From<ErrorObjectOwned> for RpcError {
    fn from(error: ErrorObjectOwned) -> Self {
        let data = error.data().and_then(|data| serde_json::from_str(data.get()).ok());
        Self { code: error.code(), message: error.message().to_owned(), data }
    }
}

impl From<RpcError> for ErrorObjectOwned {
    fn from(error: RpcError) -> Self {
        Self::owned(error.code, error.message, error.data)
    }
}

impl From<StoreError> for RpcError {
    fn from(error: StoreError) -> Self {
        Self::new(&STORAGE, error.to_string(), json!({ "file": error.file }))
    }
}

impl From<PageError> for RpcError {
    fn from(error: PageError) -> Self {
        match error {
            PageError::Cursor => Self::cursor(None),
            PageError::Store(error) => error.into(),
        }
    }
}

impl From<CredentialError> for RpcError {
    fn from(error: CredentialError) -> Self {
        Self::new(&CREDENTIAL_STORE, error.to_string(), json!({ "store": error.store }))
    }
}

impl From<WorkdirError> for RpcError {
    fn from(error: WorkdirError) -> Self {
        let message = error.to_string();
        match error {
            WorkdirError::Store(error) => error.into(),
            WorkdirError::Invalid { workdir, reason, known, known_total } => {
                let known: Vec<Value> = known
                    .iter()
                    .map(|(path, project)| json!({ "path": path.as_str(), "project": project.as_str() }))
                    .collect();
                let data =
                    json!({ "workdir": workdir, "reason": reason.name(), "known": known, "known_total": known_total });
                Self::new(&WORKDIR_INVALID, message, data)
            }
        }
    }
}

impl From<AccessError> for RpcError {
    fn from(error: AccessError) -> Self {
        let message = error.to_string();
        match error {
            AccessError::NotConfigured { provider } => Self::not_configured(provider, message),
            AccessError::Credential(error) => error.into(),
            AccessError::Store(error) => error.into(),
        }
    }
}

impl RpcError {
    pub(crate) fn not_configured(provider: Provider, message: impl Into<String>) -> Self {
        Self::new(&PROVIDER_NOT_CONFIGURED, message, json!({ "provider": provider.name() }))
    }

    fn mismatch(client_key: Option<&str>) -> Self {
        let message = "this client_key was used with other parameters";
        Self::new(&IDEMPOTENCY_MISMATCH, message, json!({ "client_key": client_key }))
    }

    /// Tells why a Conversation was not made. `client_key` is the caller's.
    pub(crate) fn make(error: MakeError, client_key: Option<&str>) -> Self {
        match error {
            MakeError::Workdir(error) => error.into(),
            MakeError::Create(CreateError::Mismatch) => Self::mismatch(client_key),
            MakeError::Create(CreateError::Store(error)) => error.into(),
        }
    }

    /// Tells why the Conversation of that id was not changed.
    pub(crate) fn change(error: ChangeError, id: &str) -> Self {
        match error {
            ChangeError::Workdir(error) => error.into(),
            ChangeError::Update(UpdateError::NotFound) => Self::not_found("conversation", id),
            ChangeError::Update(UpdateError::Version { version }) => {
                Self::new(&VERSION_CONFLICT, format!("it is at version {version}"), json!({ "version": version }))
            }
            ChangeError::Update(UpdateError::Store(error)) => error.into(),
        }
    }

    /// Tells why a question to the Conversation of that id was not taken. `client_key` is the caller's.
    pub(crate) fn send(error: SendError, id: &str, client_key: Option<&str>) -> Self {
        match error {
            SendError::Begin(BeginError::NotFound) => Self::not_found("conversation", id),
            SendError::Begin(BeginError::Busy { turn }) => {
                let message = format!("{turn} is at work in this conversation");
                Self::new(&BUSY, message, json!({ "turn_id": turn.to_string() }))
            }
            SendError::Begin(BeginError::Mismatch) => Self::mismatch(client_key),
            SendError::Begin(BeginError::Store(error)) => error.into(),
            SendError::Workdir(error) => error.into(),
            SendError::ModelRequired { configured } => {
                let configured: Vec<&str> = configured.into_iter().map(Provider::name).collect();
                let message = "no model was named; name one, or give the only configured provider a default model";
                Self::new(&MODEL_REQUIRED, message, json!({ "configured": configured }))
            }
            SendError::Access(error) => error.into(),
        }
    }

    /// Tells why an answer to the Proposal of that id decided nothing.
    pub(crate) fn answer(error: AnswerError, id: &str) -> Self {
        let message = error.to_string();
        match error {
            AnswerError::NotFound => Self::not_found("proposal", id),
            AnswerError::ConversationMismatch { conversation } => {
                Self::new(&CONVERSATION_MISMATCH, message, json!({ "conversation_id": conversation.to_string() }))
            }
            AnswerError::Stale { digest } => Self::stale(&digest, message),
            AnswerError::AlreadyResolved { proposal, decision } => {
                let data = json!({
                    "proposal_id": proposal.to_string(),
                    "state": decision.outcome.name(),
                    "decided_by": wire::By::from(&decision.by),
                    "decided_at": decision.at.to_string(),
                    "grant_id": decision.grant.map(wire::ids),
                });
                Self::new(&ALREADY_RESOLVED, message, data)
            }
            AnswerError::Store(error) => error.into(),
        }
    }

    fn stale(digest: &Digest, message: String) -> Self {
        Self::new(&STALE, message, json!({ "digest": digest.as_str() }))
    }
}

impl From<RegisterError> for RpcError {
    fn from(error: RegisterError) -> Self {
        let message = error.to_string();
        match error {
            RegisterError::Inspect { path, reason } => {
                let (name, root) = match &reason {
                    InspectError::Missing => ("missing", None),
                    InspectError::NotGit { .. } | InspectError::Git { .. } => ("not_git", None),
                    InspectError::NotRoot { root } => ("not_root", Some(root.to_string())),
                    InspectError::Bare => ("bare", None),
                    InspectError::Detached => ("detached", None),
                    InspectError::NoCommit => ("no_commit", None),
                    InspectError::NoSuchBranch { .. } => ("no_such_branch", None),
                    InspectError::NotUtf8 => ("not_utf8", None),
                };
                let data = json!({ "path": path.as_str(), "reason": name, "root": root });
                Self::new(&NOT_A_REPOSITORY, message, data)
            }
            RegisterError::Add(AddError::Exists { existing }) => {
                let data = json!({
                    "what": "project", "name": existing.name.as_str(), "path": existing.root().as_str(),
                });
                Self::new(&ALREADY_EXISTS, message, data)
            }
            RegisterError::Add(AddError::Store(error)) => error.into(),
            RegisterError::Name { .. } => crate::params::invalid("name", crate::params::Reason::Missing, message),
        }
    }
}

impl RpcError {
    /// Tells why a Provider was not configured or removed.
    pub(crate) fn configure(error: ConfigureError) -> Self {
        use crate::params::{Reason, invalid};
        let message = error.to_string();
        match error {
            ConfigureError::Demo => invalid("provider", Reason::Value, message),
            ConfigureError::KeyMissing | ConfigureError::KeyForOrigin => invalid("api_key", Reason::Missing, message),
            ConfigureError::BaseUrl(error) => invalid("base_url", Reason::Value, error.expected),
            ConfigureError::TooManyModels => invalid("models", Reason::Length, message),
            ConfigureError::Credential(error) => error.into(),
            ConfigureError::Store(error) => error.into(),
        }
    }
}
