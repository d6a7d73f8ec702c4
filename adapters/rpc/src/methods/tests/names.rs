//! Every parameter that is one of a closed list of names, in every method, as the schema tells them.

use super::*;

/// Follows a reference within the document.
fn resolved<'d>(document: &'d Value, schema: &'d Value) -> &'d Value {
    match schema["$ref"].as_str() {
        Some(reference) => document.pointer(reference.trim_start_matches('#')).unwrap(),
        None => schema,
    }
}

/// Returns the names that a schema lists, null left out; none for any other schema.
fn names(document: &Value, schema: &Value) -> Vec<String> {
    let schema = resolved(document, schema);
    let own = schema["enum"].as_array().into_iter().flatten().filter_map(|name| name.as_str().map(String::from));
    let within = schema["anyOf"].as_array().into_iter().flatten().flat_map(|schema| names(document, schema));
    // A choice whose members have descriptions of their own is written one by one.
    let one = schema["oneOf"].as_array().into_iter().flatten().flat_map(|schema| names(document, schema));
    let fixed = schema["const"].as_str().map(String::from);
    own.chain(within).chain(one).chain(fixed).collect()
}

/// Returns something of the right type.
fn any(document: &Value, schema: &Value) -> Value {
    if let Some(name) = names(document, schema).first() {
        return json!(name);
    }
    match resolved(document, schema)["type"].as_str() {
        Some("string") => json!("x"),
        Some("integer") => json!(1),
        other => panic!("a required parameter of type {other:?}: {schema}"),
    }
}

#[tokio::test]
async fn a_name_is_a_string_and_nothing_that_holds_one() {
    let called = Called::with(Ports::new()).await;
    let document = called.ok("rpc.discover", json!({})).await;
    let mut seen = Vec::new();
    for method in document["methods"].as_array().unwrap() {
        let params = method["params"].as_array().unwrap();
        for param in params {
            let Some(name) = names(&document, &param["schema"]).first().cloned() else { continue };
            let mut given: serde_json::Map<String, Value> = params
                .iter()
                .filter(|other| other["required"] == true)
                .map(|other| (other["name"].as_str().unwrap().into(), any(&document, &other["schema"])))
                .collect();
            let (method, field) = (method["name"].as_str().unwrap(), param["name"].as_str().unwrap());
            for wrong in [json!({ &name: null }), json!({ &name: {} }), json!([name]), json!({}), json!(0)] {
                given.insert(field.into(), wrong);
                called.refuses(method, given.clone().into(), field, "type").await;
            }
            seen.push(format!("{method} {field}"));
        }
    }
    assert!(seen.iter().any(|name| name == "consent.answer decision"), "{seen:?}");
    assert!(seen.len() >= 10, "{seen:?}");
    let model = json!({ "model": { "provider": { "demo": null }, "id": "tour" } });
    called.refuses("conversations.create", model, "model.provider", "type").await;
}
