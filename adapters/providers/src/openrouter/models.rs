//! `GET /v1/models` -> models, with prices moved from one token to a million without a floating number.

use crate::{assemble::tokens, service::ModelsPage};
use owl_domain::{
    provider::{Model, ModelRef, Price, Provider},
    text::{ModelId, cut_chars},
};
use serde_json::Value;

/// Reads the list; none when it is not one.
pub(super) fn page(body: &Value) -> Option<ModelsPage> {
    let models = body["data"].as_array()?.iter().filter_map(model).collect();
    Some(ModelsPage { models, next: None })
}

fn model(entry: &Value) -> Option<Model> {
    let id = ModelId::new(entry["id"].as_str()?).ok()?;
    let supports = |what: &str| {
        let list = entry["supported_parameters"].as_array()?;
        Some(list.iter().any(|parameter| parameter == what))
    };
    Some(Model {
        name: cut_chars(entry["name"].as_str().unwrap_or(id.as_str()), 200),
        model: ModelRef { provider: Provider::OpenRouter, id },
        context_tokens: tokens(&entry["context_length"]),
        max_output_tokens: tokens(&entry["top_provider"]["max_completion_tokens"]),
        tools: supports("tools"),
        reasoning: supports("reasoning"),
        price: price(&entry["pricing"]),
        listed_first: false,
    })
}

fn price(pricing: &Value) -> Option<Price> {
    let of = |name: &str| match &pricing[name] {
        Value::String(text) => per_million(text),
        Value::Number(number) => per_million(&number.to_string()),
        _ => None,
    };
    Some(Price { input_usd_per_mtok: of("prompt")?, output_usd_per_mtok: of("completion")? })
}

/// Moves the decimal point of a price by six places. None when it is no price: the service writes `-1` for "depends".
fn per_million(text: &str) -> Option<String> {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) || exponent.unsigned_abs() > 40 {
        return None;
    }
    let point = i32::try_from(whole.len()).ok()? + exponent + 6;
    let (whole, fraction) = match usize::try_from(point) {
        Ok(point) if point >= digits.len() => (format!("{digits:0<point$}"), String::new()),
        Ok(point) => (digits[..point].to_owned(), digits[point..].to_owned()),
        Err(_) => (String::new(), format!("{}{digits}", "0".repeat(usize::try_from(-point).ok()?))),
    };
    let (whole, fraction) = (whole.trim_start_matches('0'), fraction.trim_end_matches('0'));
    let whole = if whole.is_empty() { "0" } else { whole };
    Some(if fraction.is_empty() { whole.to_owned() } else { format!("{whole}.{fraction}") })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_price_moves_by_six_places_without_a_floating_number() {
        for (text, per) in [
            ("0.000003", "3"),
            ("0.00000125", "1.25"),
            ("0.0000001", "0.1"),
            ("0.000000000375", "0.000375"),
            ("0", "0"),
            ("0.0", "0"),
            ("1", "1000000"),
            ("12.5", "12500000"),
            (".000015", "15"),
            ("3e-6", "3"),
            ("1.5e-7", "0.15"),
        ] {
            assert_eq!(per_million(text).as_deref(), Some(per), "{text}");
        }
        for text in ["-1", "", ".", "free", "1e999", "1e", "0x1", "1.2.3", "+1"] {
            assert_eq!(per_million(text), None, "{text}");
        }
    }

    #[test]
    fn a_list_brings_what_is_known_of_each_model() {
        let page = page(&json!({"data": [
            {"id": "vendor/m", "name": "Vendor: M", "context_length": 131_072,
             "top_provider": {"max_completion_tokens": 16_384}, "pricing": {"prompt": "0.000003", "completion": 0.000015},
             "supported_parameters": ["tools", "max_tokens"]},
            {"id": "vendor/bare", "top_provider": {"max_completion_tokens": null}, "pricing": {"prompt": "-1", "completion": "-1"}},
            {"name": "no id"},
        ]}))
        .unwrap();
        let [m, bare] = &page.models[..] else { panic!("{:?}", page.models) };
        assert_eq!(
            *m,
            Model {
                model: ModelRef { provider: Provider::OpenRouter, id: ModelId::new("vendor/m").unwrap() },
                name: "Vendor: M".into(),
                context_tokens: Some(131_072),
                max_output_tokens: Some(16_384),
                tools: Some(true),
                reasoning: Some(false),
                price: Some(Price { input_usd_per_mtok: "3".into(), output_usd_per_mtok: "15".into() }),
                listed_first: false,
            }
        );
        assert_eq!(
            (bare.name.as_str(), bare.tools, bare.reasoning, bare.price.clone()),
            ("vendor/bare", None, None, None)
        );
    }
}
