//! `conversations.export`: a whole Conversation as one document, in pieces that simply follow each other, so that a
//! long one passes no limit.

use super::{Api, fields};
use crate::{
    error::{self, RpcError},
    params::Name,
    table::Table,
    wire::{Conversation, Exported, Item},
};
use owl_domain::{conversation::export, ids::Seq, limits, ports::Window};
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;

pub(super) fn add(table: &mut Table, api: &Arc<Api>) {
    let at = api.clone();
    let summary = "Returns a Conversation as a document, piece by piece: the pieces joined are the whole.";
    table.read("conversations.export", summary, &[&error::NOT_FOUND], move |_, given: ExportParams| {
        exported(at.clone(), given)
    });
}

/// Which Conversation, and how.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ExportParams {
    /// The Conversation.
    conversation_id: String,
    /// `json`: one object with `conversation` and `items`; `markdown`: for people.
    format: Name<FormatParam>,
    /// `next_after` of the piece before; the first piece when left out.
    after_seq: Option<i64>,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum FormatParam {
    Json,
    Markdown,
}

async fn exported(api: Arc<Api>, given: ExportParams) -> Result<Exported, RpcError> {
    let id = fields::id("conversation", &given.conversation_id)?;
    let after = fields::seq("after_seq", given.after_seq)?;
    let not_found = || RpcError::not_found("conversation", &given.conversation_id);
    let conversation = api.conversations.get(id).await?.ok_or_else(not_found)?.conversation;
    let window = Window::After(after.unwrap_or(Seq(0)));
    let page = api.conversations.items(id, window, limits::PAGE_ITEMS).await?.ok_or_else(not_found)?;
    let mut text = String::new();
    match given.format.0 {
        FormatParam::Markdown => {
            if after.is_none() {
                text.push_str(&export::heading(&conversation));
            }
            page.items.iter().for_each(|item| text.push_str(&export::item(item)));
        }
        FormatParam::Json => {
            if after.is_none() {
                let whole = serde_json::to_string(&Conversation::from(&conversation)).map_err(RpcError::internal)?;
                text.push_str(&format!("{{\"conversation\":{whole},\"items\":["));
            }
            for (index, item) in page.items.iter().enumerate() {
                if index > 0 || after.is_some() {
                    text.push(',');
                }
                text.push_str(&serde_json::to_string(&Item::from(item)).map_err(RpcError::internal)?);
            }
            if !page.has_more {
                text.push_str("]}");
            }
        }
    }
    let next_after = page.items.last().filter(|_| page.has_more).map(|item| item.seq.0);
    Ok(Exported { conversation_id: given.conversation_id, text, next_after })
}
