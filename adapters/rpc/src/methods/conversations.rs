//! `conversations.*`.

use super::{
    Api,
    fields::{self, ModelParam},
};
use crate::{
    error::{self, RpcError},
    params::{Name, Reason, checked, invalid, nullable},
    table::Table,
    wire::{
        Conversation, ConversationView, CreatedConversation, DeletedConversation, Found, Item, ItemsPage, PageOf,
        Proposal, Turn,
    },
};
use owl_domain::{
    conversation::{Change, ConversationState, Wanted},
    limits,
    ports::{ConversationFilter, Window},
    text::Title,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CreateParams {
    /// Where its commands run: a Project's root or one of its worktrees.
    workdir: Option<String>,
    /// The model it asks.
    model: Option<ModelParam>,
    /// One line of 1 to 200 characters; made of the first question when left out.
    title: Option<String>,
    /// The client's own name for this call.
    #[serde(skip_serializing)]
    client_key: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListParams {
    /// Those of one Project.
    project: Option<String>,
    /// Exactly the archived ones, or exactly the others.
    archived: Option<bool>,
    /// Those in one state.
    state: Option<Name<StateParam>>,
    /// 1 to 200, 50 when left out.
    limit: Option<i64>,
    /// Where the page before ended.
    cursor: Option<String>,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum StateParam {
    Idle,
    Running,
    AwaitingConsent,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ConversationParams {
    /// Its id.
    conversation_id: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct UpdateParams {
    /// Its id.
    conversation_id: String,
    /// Its title; null gives it back to the automatic one.
    #[serde(default, deserialize_with = "nullable")]
    #[schemars(with = "Option<String>")]
    title: Option<Option<String>>,
    /// Its model; null for none.
    #[serde(default, deserialize_with = "nullable")]
    #[schemars(with = "Option<ModelParam>")]
    model: Option<Option<ModelParam>>,
    /// Its workdir; null for none.
    #[serde(default, deserialize_with = "nullable")]
    #[schemars(with = "Option<String>")]
    workdir: Option<Option<String>>,
    /// Whether it is put away.
    archived: Option<bool>,
    /// The version it must have.
    if_version: Option<i64>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ItemsParams {
    /// Its id.
    conversation_id: String,
    /// The page that ends before this number.
    before_seq: Option<i64>,
    /// The page that starts after this number.
    after_seq: Option<i64>,
    /// 1 to 200, 50 when left out.
    limit: Option<i64>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SearchParams {
    /// Words that must all be found, regardless of case: 1 to 200 characters.
    query: String,
    /// 1 to 200, 50 when left out.
    limit: Option<i64>,
    /// Where the page before ended.
    cursor: Option<String>,
}

pub(super) fn add(table: &mut Table, api: &Arc<Api>) {
    let at = api.clone();
    let errors = &[&error::WORKDIR_INVALID, &error::IDEMPOTENCY_MISMATCH];
    table.change("conversations.create", "Makes a Conversation.", errors, move |_, given: CreateParams| {
        create(at.clone(), given)
    });

    let at = api.clone();
    let summary = "Lists Conversations, the one spoken to last first.";
    let errors = &[&error::NOT_FOUND, &error::CURSOR_INVALID];
    table.read("conversations.list", summary, errors, move |_, given: ListParams| list(at.clone(), given));

    let at = api.clone();
    let summary = "Returns a Conversation with its newest Turn and the Proposals that wait.";
    table.read("conversations.get", summary, &[&error::NOT_FOUND], move |_, given: ConversationParams| {
        let api = at.clone();
        async move {
            let id = fields::id("conversation", &given.conversation_id)?;
            let Some(view) = api.conversations.get(id).await? else {
                return Err(RpcError::not_found("conversation", given.conversation_id));
            };
            Ok(ConversationView {
                conversation: Conversation::from(&view.conversation),
                turn: view.turn.as_ref().map(Turn::from),
                proposals: view.proposals.iter().map(Proposal::from).collect(),
            })
        }
    });

    let at = api.clone();
    let summary = "Changes a Conversation; what is left out stays as it is.";
    let errors = &[&error::NOT_FOUND, &error::WORKDIR_INVALID, &error::VERSION_CONFLICT];
    table.change("conversations.update", summary, errors, move |_, given: UpdateParams| update(at.clone(), given));

    let at = api.clone();
    let summary = "Deletes a Conversation with all that belongs to it, for good.";
    table.change("conversations.delete", summary, &[&error::NOT_FOUND], move |_, given: ConversationParams| {
        let api = at.clone();
        async move {
            if !api.conversations.delete(fields::id("conversation", &given.conversation_id)?).await? {
                return Err(RpcError::not_found("conversation", given.conversation_id));
            }
            Ok(DeletedConversation { conversation_id: given.conversation_id, deleted: true })
        }
    });

    let at = api.clone();
    let summary = "Returns Items of a Conversation, ascending.";
    table.read("conversations.items", summary, &[&error::NOT_FOUND], move |_, given: ItemsParams| {
        items(at.clone(), given)
    });

    let at = api.clone();
    let summary = "Finds text in titles, messages and commands, best match first.";
    table.read("conversations.search", summary, &[&error::CURSOR_INVALID], move |_, given: SearchParams| {
        let api = at.clone();
        async move {
            let query = fields::characters("query", given.query, limits::SEARCH_CHARS)?;
            let page = fields::page(given.limit, given.cursor)?;
            Ok(PageOf::of(api.conversations.search(query, page).await?, Found::from))
        }
    });
}

async fn create(api: Arc<Api>, given: CreateParams) -> Result<CreatedConversation, RpcError> {
    let once = fields::once(given.client_key.as_deref(), &given)?;
    let wanted = Wanted {
        workdir: given.workdir,
        model: given.model.map(fields::model).transpose()?,
        title: given.title.map(|title| checked("title", Title::new(title))).transpose()?,
        once,
    };
    let made = api.conversations.create(wanted).await;
    let made = made.map_err(|error| RpcError::make(error, given.client_key.as_deref()))?;
    Ok(CreatedConversation { conversation: Conversation::from(&made.conversation), duplicate: made.duplicate })
}

async fn list(api: Arc<Api>, given: ListParams) -> Result<PageOf<Conversation>, RpcError> {
    let project = api.registered(given.project.as_deref()).await?;
    let state = given.state.map(|Name(state)| match state {
        StateParam::Idle => ConversationState::Idle,
        StateParam::Running => ConversationState::Running,
        StateParam::AwaitingConsent => ConversationState::AwaitingConsent,
    });
    let filter = ConversationFilter { project, archived: given.archived.unwrap_or_default(), state };
    let page = fields::page(given.limit, given.cursor)?;
    Ok(PageOf::of(api.conversations.list(filter, page).await?, |conversation| Conversation::from(&conversation)))
}

async fn update(api: Arc<Api>, given: UpdateParams) -> Result<Conversation, RpcError> {
    let title = match given.title {
        Some(Some(title)) => Some(Some(checked("title", Title::new(title))?)),
        Some(None) => Some(None),
        None => None,
    };
    let model = match given.model {
        Some(Some(model)) => Some(Some(fields::model(model)?)),
        Some(None) => Some(None),
        None => None,
    };
    let id = fields::id("conversation", &given.conversation_id)?;
    let change =
        Change { title, workdir: given.workdir, model, archived: given.archived, if_version: given.if_version };
    let changed = api.conversations.update(id, change).await;
    let changed = changed.map_err(|error| RpcError::change(error, &given.conversation_id))?;
    Ok(Conversation::from(&changed))
}

async fn items(api: Arc<Api>, given: ItemsParams) -> Result<ItemsPage, RpcError> {
    let before = fields::seq("before_seq", given.before_seq)?;
    let after = fields::seq("after_seq", given.after_seq)?;
    let window = match (before, after) {
        (None, None) => Window::Newest,
        (Some(before), None) => Window::Before(before),
        (None, Some(after)) => Window::After(after),
        (Some(_), Some(_)) => {
            return Err(invalid("after_seq", Reason::Value, "one of before_seq and after_seq, not both"));
        }
    };
    let limit = fields::limit(given.limit)?;
    let id = fields::id("conversation", &given.conversation_id)?;
    match api.conversations.items(id, window, limit).await? {
        Some(page) => Ok(ItemsPage { items: page.items.iter().map(Item::from).collect(), has_more: page.has_more }),
        None => Err(RpcError::not_found("conversation", given.conversation_id)),
    }
}
