//! Parameters that several methods take, and what they become.

use crate::{
    error::RpcError,
    methods::Api,
    params::{Name, Reason, checked, invalid, within},
};
use owl_domain::{
    conversation::Page,
    ids::{ConversationId, Seq},
    limits,
    ports::Once,
    provider::{ModelRef, Provider},
    text::{AccountName, ClientKey, ModelId, ProjectName},
};
use schemars::JsonSchema;
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{MapAccess, Visitor, value::MapAccessDeserializer},
};
use sha2::{Digest, Sha256};
use std::{fmt, str::FromStr, sync::Arc};

/// One of the three Providers.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum ProviderName {
    Anthropic,
    Openrouter,
    Demo,
}

impl From<ProviderName> for Provider {
    fn from(name: ProviderName) -> Self {
        match name {
            ProviderName::Anthropic => Self::Anthropic,
            ProviderName::Openrouter => Self::OpenRouter,
            ProviderName::Demo => Self::Demo,
        }
    }
}

/// One model of one Provider.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ModelParam {
    /// Whose.
    pub(super) provider: Name<ProviderName>,
    /// Which: 1 to 200 printable ASCII characters without blanks.
    pub(super) id: String,
}

/// The same as serde derives it, which would take a list of its members, too.
#[derive(Deserialize)]
#[serde(remote = "ModelParam", deny_unknown_fields)]
struct ModelMembers {
    provider: Name<ProviderName>,
    id: String,
}

impl<'de> Deserialize<'de> for ModelParam {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = ModelParam;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<ModelParam, A::Error> {
                ModelMembers::deserialize(MapAccessDeserializer::new(members))
            }
        }
        input.deserialize_map(Members)
    }
}

pub(super) fn model(model: ModelParam) -> Result<ModelRef, RpcError> {
    Ok(ModelRef { provider: model.provider.0.into(), id: checked("model.id", ModelId::new(model.id))? })
}

/// Reads an id; one that names nothing is not found, whatever is wrong with it.
pub(super) fn id<T: FromStr>(what: &str, text: &str) -> Result<T, RpcError> {
    text.parse().map_err(|_| RpcError::not_found(what, text))
}

/// Reads the name of a Project, likewise.
pub(super) fn project(text: &str) -> Result<ProjectName, RpcError> {
    ProjectName::new(text).map_err(|_| RpcError::not_found("project", text))
}

/// Reads the name of an Account, likewise.
pub(super) fn account(text: &str) -> Result<AccountName, RpcError> {
    AccountName::new(text).map_err(|_| RpcError::not_found("account", text))
}

/// Reads the id of a Conversation that is there.
pub(super) async fn conversation(api: &Arc<Api>, text: &str) -> Result<ConversationId, RpcError> {
    let id = id("conversation", text)?;
    match api.conversations.get(id).await? {
        Some(_) => Ok(id),
        None => Err(RpcError::not_found("conversation", text)),
    }
}

/// Reads the id of a Conversation that is there, when one is given.
pub(super) async fn maybe_conversation(api: &Arc<Api>, text: Option<&str>) -> Result<Option<ConversationId>, RpcError> {
    match text {
        Some(text) => conversation(api, text).await.map(Some),
        None => Ok(None),
    }
}

pub(super) fn limit(limit: Option<i64>) -> Result<u32, RpcError> {
    let Some(limit) = limit else { return Ok(limits::PAGE_ITEMS_DEFAULT) };
    let limit = within("limit", limit, 1, limits::PAGE_ITEMS.into())?;
    Ok(u32::try_from(limit).unwrap_or(limits::PAGE_ITEMS))
}

pub(super) fn page(most: Option<i64>, cursor: Option<String>) -> Result<Page, RpcError> {
    Ok(Page { limit: limit(most)?, cursor })
}

pub(super) fn seq(field: &str, seq: Option<i64>) -> Result<Option<Seq>, RpcError> {
    seq.map(|seq| within(field, seq, 0, i64::MAX).map(Seq)).transpose()
}

/// Makes what a call is known by when it is sent again: the client's key and a digest over the other parameters.
pub(super) fn once(key: Option<&str>, parameters: &impl Serialize) -> Result<Option<Once>, RpcError> {
    let Some(key) = key else { return Ok(None) };
    let key = checked("client_key", ClientKey::new(key))?;
    let text = serde_json::to_vec(parameters).map_err(RpcError::internal)?;
    let digest = Sha256::digest(&text).iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(Some(Once { key, parameters: digest }))
}

/// Takes a text of at most that many characters, and at least one.
pub(super) fn characters(field: &str, text: String, most: usize) -> Result<String, RpcError> {
    let length = text.chars().count();
    if length == 0 || length > most {
        return Err(invalid(field, Reason::Length, format!("1 to {most} characters")));
    }
    Ok(text)
}
