//! `chat.*`.

use super::{
    Api,
    fields::{self, ModelParam},
};
use crate::{
    caller::Caller,
    cursor::ChatFeed,
    error::{self, RpcError},
    params::{Name, checked, within},
    table::{Feed, Table},
    wire::{Cancelled, ChatEvent, Proposal, Sent, Turn, Waited, ids, millis},
};
use owl_domain::{
    limits,
    text::Question,
    turn::{Message, OnConsent, TurnView},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{sync::Arc, time::Duration};
use tokio::time::{Instant, sleep_until};

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SendParams {
    /// To which Conversation.
    #[serde(skip_serializing)]
    conversation_id: String,
    /// The question: not blank, at most 128 KiB.
    text: String,
    /// Where its commands run; the Conversation's when left out.
    workdir: Option<String>,
    /// Which model is asked; the Conversation's when left out.
    model: Option<ModelParam>,
    /// What becomes of a command that would have to be asked about; `ask` when left out.
    on_consent: Option<Name<OnConsentParam>>,
    /// The client's own name for this call.
    #[serde(skip_serializing)]
    client_key: Option<String>,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum OnConsentParam {
    Ask,
    Deny,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CancelParams {
    /// In which Conversation.
    conversation_id: String,
    /// The Turn that is meant; whichever is at work when left out.
    turn_id: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct WaitParams {
    /// The Turn.
    turn_id: String,
    /// Until it is finished or a person is needed (`attention`), or only until it is finished.
    until: Option<Name<UntilParam>>,
    /// 0 to 600000, 60000 when left out.
    timeout_ms: Option<i64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum UntilParam {
    Attention,
    Finished,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SubscribeParams {
    /// Which Conversation.
    conversation_id: String,
    /// Everything behind this number first; from now when left out, everything with 0.
    after_seq: Option<i64>,
    /// Whether text is told as it grows; true when left out.
    deltas: Option<bool>,
}

const WAIT_DEFAULT_MS: i64 = 60_000;

pub(super) fn add(table: &mut Table, api: &Arc<Api>) {
    let at = api.clone();
    let summary = "Stores a question and begins a Turn.";
    let errors = &[
        &error::NOT_FOUND,
        &error::BUSY,
        &error::WORKDIR_INVALID,
        &error::MODEL_REQUIRED,
        &error::PROVIDER_NOT_CONFIGURED,
        &error::IDEMPOTENCY_MISMATCH,
        &error::CREDENTIAL_STORE,
    ];
    table.change("chat.send", summary, errors, move |caller, given: SendParams| send(at.clone(), caller, given));

    let at = api.clone();
    let summary = "Stops the Turn that is at work; `turn.finished` is the truth.";
    table.change("chat.cancel", summary, &[&error::NOT_FOUND], move |_, given: CancelParams| cancel(at.clone(), given));

    let at = api.clone();
    let summary = "Waits until a Turn is finished or needs a person. Leaving ends only the waiting.";
    table.read("chat.wait", summary, &[&error::NOT_FOUND], move |caller, given: WaitParams| {
        wait(at.clone(), caller, given)
    });

    let at = api.clone();
    table.subscription::<SubscribeParams, ChatEvent, _, _>(
        ["chat.subscribe", "chat.event", "chat.unsubscribe"],
        "Follows one Conversation: what was since `after_seq`, then what comes.",
        &[&error::NOT_FOUND, &error::CURSOR_INVALID, &error::NEEDS_STREAM, &error::NOT_IN_BATCH],
        move |caller, given| subscribe(at.clone(), caller, given),
    );
}

async fn send(api: Arc<Api>, caller: Arc<Caller>, given: SendParams) -> Result<Sent, RpcError> {
    let once = fields::once(given.client_key.as_deref(), &given)?;
    let text = checked("text", Question::new(given.text))?;
    let model = given.model.map(fields::model).transpose()?;
    let on_consent = match given.on_consent.map(|name| name.0) {
        None | Some(OnConsentParam::Ask) => OnConsent::Ask,
        Some(OnConsentParam::Deny) => OnConsent::Deny,
    };
    let conversation = fields::id("conversation", &given.conversation_id)?;
    let from = caller.peer().clone();
    let message = Message { conversation, text, workdir: given.workdir, model, on_consent, from, once };
    let begun = api.chat.send(message).await;
    let begun = begun.map_err(|error| RpcError::send(error, &given.conversation_id, given.client_key.as_deref()))?;
    Ok(Sent {
        turn_id: begun.turn.to_string(),
        item_id: begun.item.to_string(),
        seq: begun.seq.0,
        duplicate: begun.duplicate,
    })
}

async fn cancel(api: Arc<Api>, given: CancelParams) -> Result<Cancelled, RpcError> {
    let conversation = fields::conversation(&api, &given.conversation_id).await?;
    let turn = match given.turn_id.as_deref().map(str::parse) {
        None => None,
        Some(Ok(turn)) => Some(turn),
        // A name of no Turn is not the one that is at work.
        Some(Err(_)) => return Ok(Cancelled { turn_id: None, cancelled: false }),
    };
    let cancelled = api.chat.cancel(conversation, turn).await?;
    Ok(Cancelled { turn_id: cancelled.map(ids), cancelled: cancelled.is_some() })
}

async fn wait(api: Arc<Api>, caller: Arc<Caller>, given: WaitParams) -> Result<Waited, RpcError> {
    let most = i64::try_from(millis(limits::WAIT)).unwrap_or(i64::MAX);
    let timeout = within("timeout_ms", given.timeout_ms.unwrap_or(WAIT_DEFAULT_MS), 0, most)?;
    let deadline = Instant::now() + Duration::from_millis(timeout.unsigned_abs());
    let until = given.until.map_or(UntilParam::Attention, |name| name.0);
    let turn = fields::id("turn", &given.turn_id)?;
    loop {
        // Taken before looking: what comes in between is beyond this number.
        let newest = api.events.newest();
        let view = api.chat.view(turn).await?.ok_or_else(|| RpcError::not_found("turn", &given.turn_id))?;
        let attention = until == UntilParam::Attention && !view.pending.is_empty();
        if view.turn.is_finished() || attention {
            return Ok(waited(&view, false));
        }
        tokio::select! {
            _ = api.events.newer_than(newest) => {}
            () = sleep_until(deadline) => return Ok(waited(&view, true)),
            () = caller.closing() => return Err(RpcError::shutting_down()),
        }
    }
}

fn waited(view: &TurnView, timed_out: bool) -> Waited {
    Waited {
        turn: Turn::from(&view.turn),
        text: view.text.clone(),
        pending: view.pending.iter().map(Proposal::from).collect(),
        timed_out,
    }
}

async fn subscribe(api: Arc<Api>, caller: Arc<Caller>, given: SubscribeParams) -> Result<Box<dyn Feed>, RpcError> {
    let after = fields::seq("after_seq", given.after_seq)?;
    let id = fields::id("conversation", &given.conversation_id)?;
    // Taken before looking: the Conversation that is found is at least as new.
    let newest = api.events.newest();
    let Some(view) = api.conversations.get(id).await? else {
        return Err(RpcError::not_found("conversation", given.conversation_id));
    };
    if after.is_some_and(|after| after > newest) {
        return Err(RpcError::cursor(Some(newest)));
    }
    let from = (after.unwrap_or(newest), view.conversation.last_seq);
    let live = given.deltas.unwrap_or(true).then_some(&api.live);
    let conversations = api.conversations.clone();
    Ok(Box::new(ChatFeed::new(caller, api.events.clone(), conversations, id, from, live)))
}
