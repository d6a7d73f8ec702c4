//! One page of `GET /v1/models` -> models.

use crate::{assemble::tokens, service::ModelsPage};
use owl_domain::{
    provider::{Model, ModelRef, Provider},
    text::{ModelId, cut_chars},
};
use serde_json::Value;

/// Reads a page; none when it is not one.
pub(super) fn page(body: &Value) -> Option<ModelsPage> {
    let data = body["data"].as_array()?;
    let next = (body["has_more"] == true).then(|| body["last_id"].as_str().map(str::to_owned)).flatten();
    Some(ModelsPage { models: data.iter().filter_map(model).collect(), next })
}

fn model(entry: &Value) -> Option<Model> {
    let id = ModelId::new(entry["id"].as_str()?).ok()?;
    Some(Model {
        name: cut_chars(entry["display_name"].as_str().unwrap_or(id.as_str()), 200),
        model: ModelRef { provider: Provider::Anthropic, id },
        context_tokens: tokens(&entry["max_input_tokens"]),
        max_output_tokens: tokens(&entry["max_tokens"]),
        tools: Some(true),
        reasoning: None,
        price: None,
        listed_first: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_page_brings_its_models_and_where_the_next_one_begins() {
        let page = page(&json!({
            "data": [
                {"id": "claude-x", "display_name": "Claude X", "max_input_tokens": 200_000, "max_tokens": 64_000},
                {"id": "claude-y"},
                {"id": "not an id"},
                {"display_name": "nameless"},
            ],
            "has_more": true, "last_id": "claude-y",
        }))
        .unwrap();
        assert_eq!(page.next.as_deref(), Some("claude-y"));
        let [x, y] = &page.models[..] else { panic!("{:?}", page.models) };
        assert_eq!((x.name.as_str(), x.context_tokens, x.max_output_tokens), ("Claude X", Some(200_000), Some(64_000)));
        assert_eq!((y.name.as_str(), y.context_tokens, y.tools), ("claude-y", None, Some(true)));
    }

    #[test]
    fn the_last_page_has_no_next_and_another_document_is_no_page() {
        assert_eq!(page(&json!({"data": [], "has_more": false, "last_id": "x"})).unwrap().next, None);
        assert_eq!(page(&json!({"data": [], "has_more": true})).unwrap().next, None);
        assert!(page(&json!({"models": []})).is_none());
    }
}
