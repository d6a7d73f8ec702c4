use super::*;
use schemars::JsonSchema;
use serde_json::Value;

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Params {
    proposal_id: String,
    decision: Name<Decision>,
    model: Option<Model>,
    types: Option<Vec<String>>,
    limit: Option<i64>,
    deltas: Option<bool>,
    kinds: Option<Vec<Name<Decision>>>,
    #[serde(default, deserialize_with = "nullable")]
    title: Option<Option<String>>,
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Decision {
    Allow,
    Deny,
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Model {
    provider: String,
    id: String,
    kind: Option<Name<Decision>>,
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Nothing {}

fn parsed(raw: &str) -> Result<Params, RpcError> {
    parse(Some(raw), || vec!["proposal_id".into(), "decision".into()])
}

/// Returns field, reason, what is expected and the message of a refusal.
fn refusal(raw: &str) -> (Value, Value, Value, String) {
    let error = parsed(raw).unwrap_err();
    assert_eq!(error.code, -32602);
    let data = error.data.unwrap();
    assert_eq!((&data["kind"], &data["retryable"]), (&json!("invalid_params"), &json!(false)));
    (data["field"].clone(), data["reason"].clone(), data["expected"].clone(), error.message)
}

fn check(raw: &str, field: &str, reason: &str, expected: Value, message: &str) {
    assert_eq!(refusal(raw), (json!(field), json!(reason), expected, message.to_owned()), "{raw}");
}

#[test]
fn left_out_and_null_are_no_parameters() {
    for raw in [None, Some("null"), Some("{}"), Some(" {} ")] {
        assert_eq!(parse::<Nothing>(raw, Vec::new), Ok(Nothing {}), "{raw:?}");
    }
}

#[test]
fn a_list_or_anything_else_is_not_an_object() {
    for raw in ["[]", "[\"p_1\", \"allow\"]", "5", "\"x\"", "true"] {
        let error = parsed(raw).unwrap_err();
        assert_eq!(error.data.unwrap()["reason"], "not_an_object", "{raw}");
    }
}

#[test]
fn an_unknown_name_is_refused_naming_those_that_are_known() {
    check(
        r#"{"proposal_id":5,"rember":1}"#,
        "rember",
        "unknown",
        json!("one of proposal_id, decision, model, types, limit, deltas, kinds, title"),
        "unknown parameter `rember`",
    );
    let error = parse::<Nothing>(Some(r#"{"x":1}"#), Vec::new).unwrap_err();
    assert_eq!(error.data.unwrap()["expected"], "no parameters");
}

#[test]
fn a_name_that_stands_there_twice_is_refused() {
    check(
        r#"{"proposal_id":"p_1","decision":"allow","decision":"deny"}"#,
        "decision",
        "duplicate",
        Value::Null,
        "parameter `decision` stands there twice",
    );
}

#[test]
fn the_first_missing_one_is_named_before_any_wrong_type() {
    check(r#"{"limit":"x"}"#, "proposal_id", "missing", Value::Null, "parameter `proposal_id` is missing");
    check(r#"{"proposal_id":5}"#, "decision", "missing", Value::Null, "parameter `decision` is missing");
}

#[test]
fn the_first_wrong_one_is_named_in_the_order_of_the_documentation() {
    check(
        r#"{"limit":"x","decision":"nope","proposal_id":5}"#,
        "proposal_id",
        "type",
        json!("a string"),
        "parameter `proposal_id` must be a string",
    );
    check(
        r#"{"limit":"x","decision":"nope","proposal_id":"p_1"}"#,
        "decision",
        "value",
        json!("`allow` or `deny`"),
        "parameter `decision` must be `allow` or `deny`",
    );
}

#[test]
fn a_place_inside_a_parameter_is_named_with_points() {
    let with = |more: &str| format!(r#"{{"proposal_id":"p_1","decision":"allow",{more}}}"#);
    let check = |more: &str, field: &str, reason: &str, expected: Value, message: &str| {
        check(&with(more), field, reason, expected, message);
    };
    check(r#""model":"x""#, "model", "type", json!("an object"), "parameter `model` must be an object");
    check(r#""model":{"provider":"demo"}"#, "model.id", "missing", Value::Null, "parameter `model.id` is missing");
    check(
        r#""model":{"provider":"demo","id":5}"#,
        "model.id",
        "type",
        json!("a string"),
        "parameter `model.id` must be a string",
    );
    check(
        r#""model":{"provider":"demo","id":"x","size":1}"#,
        "model.size",
        "unknown",
        json!("one of `provider`, `id`, `kind`"),
        "unknown parameter `model.size`",
    );
    check(r#""types":["a",5]"#, "types[1]", "type", json!("a string"), "parameter `types[1]` must be a string");
    check(r#""types":{}"#, "types", "type", json!("a list"), "parameter `types` must be a list");
    check(r#""limit":1.5"#, "limit", "type", json!("a whole number"), "parameter `limit` must be a whole number");
    check(r#""deltas":"yes""#, "deltas", "type", json!("a boolean"), "parameter `deltas` must be a boolean");
}

#[test]
fn what_stands_in_the_place_of_a_name_is_of_another_type_and_the_names_are_told() {
    let names = "a string, `allow` or `deny`";
    for value in ["5", "1.5", "-1", "true", "null", "[]", "[\"allow\"]", "{}", r#"{"allow":null}"#, r#"{"deny":{}}"#] {
        check(
            &format!(r#"{{"proposal_id":"p_1","decision":{value}}}"#),
            "decision",
            "type",
            json!(names),
            &format!("parameter `decision` must be {names}"),
        );
    }
    for (more, field) in
        [(r#""kinds":["allow",5]"#, "kinds[1]"), (r#""model":{"provider":"x","id":"x","kind":5}"#, "model.kind")]
    {
        let raw = format!(r#"{{"proposal_id":"p_1","decision":"allow",{more}}}"#);
        check(&raw, field, "type", json!(names), &format!("parameter `{field}` must be {names}"));
    }
}

#[test]
fn left_out_null_and_a_value_are_three_things() {
    let title = |raw: &str| parsed(raw).unwrap().title;
    assert_eq!(title(r#"{"proposal_id":"p_1","decision":"allow"}"#), None);
    assert_eq!(title(r#"{"proposal_id":"p_1","decision":"allow","title":null}"#), Some(None));
    assert_eq!(title(r#"{"proposal_id":"p_1","decision":"allow","title":"x"}"#), Some(Some("x".into())));
}

#[test]
fn what_was_sent_is_never_in_a_refusal() {
    let secret = "sk-secret";
    for raw in [
        format!(r#"{{"proposal_id":["{secret}"],"decision":"allow"}}"#),
        format!(r#"{{"proposal_id":"p","decision":"{secret}"}}"#),
        format!(r#"{{"proposal_id":"p","decision":"allow","limit":"{secret}"}}"#),
        format!(r#"{{"proposal_id":"p","decision":"allow","model":"{secret}"}}"#),
    ] {
        let error = parsed(&raw).unwrap_err();
        assert!(!serde_json::to_string(&error).unwrap().contains(secret), "{error:?}");
    }
}

#[test]
fn nesting_without_end_is_refused_and_not_followed() {
    let (open, close) = ("[".repeat(100_000), "]".repeat(100_000));
    let error = parsed(&format!(r#"{{"proposal_id":"p","decision":"allow","types":{open}{close}}}"#)).unwrap_err();
    assert_eq!(error.data.unwrap()["field"], "types[0]");
}

#[test]
fn names_are_known_in_their_order() {
    let names = ["proposal_id", "decision", "model", "types", "limit", "deltas", "kinds", "title"];
    assert_eq!(names_of::<Params>(), names);
    assert_eq!(names_of::<Nothing>(), [""; 0]);
}
