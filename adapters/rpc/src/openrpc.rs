//! The table as an OpenRPC document: what `rpc.discover` answers and `schemas/openrpc.json` holds.

use crate::{
    error::{KINDS, Kind},
    params,
    table::{Handler, Method, Table},
};
use schemars::{JsonSchema, Schema, SchemaGenerator, generate::SchemaSettings, json_schema};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use std::borrow::Cow;

pub(crate) const DISCOVER: &str = "rpc.discover";
/// The version of the API: fields and types may be added under the same major.
pub(crate) const API: &str = "1.0";

/// Schemas in both directions, under one set of names.
pub(crate) struct Schemas {
    given: SchemaGenerator,
    told: SchemaGenerator,
}

/// What is known of a method's types.
pub(crate) struct Described {
    params: Vec<Value>,
    result: Value,
    event: Option<Value>,
}

/// Stands for the document itself in the document.
pub(crate) struct Document;

impl JsonSchema for Document {
    fn schema_name() -> Cow<'static, str> {
        "Document".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "object", "description": "An OpenRPC 1.3.2 document.", "required": ["openrpc", "info", "methods"] })
    }
}

impl serde::Serialize for Document {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_unit()
    }
}

pub(crate) fn settings() -> SchemaSettings {
    SchemaSettings::draft07().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    })
}

impl Schemas {
    fn new() -> Self {
        Self { given: settings().for_deserialize().into_generator(), told: settings().for_serialize().into_generator() }
    }

    /// Describes what a call takes and what it answers.
    pub(crate) fn describe<P: DeserializeOwned + JsonSchema, R: JsonSchema>(&mut self) -> Described {
        let schema = P::json_schema(&mut self.given).to_value();
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        let params = params::names_of::<P>()
            .iter()
            .map(|name| {
                let mut property = schema["properties"][name].clone();
                let description = property.as_object_mut().and_then(|property| property.remove("description"));
                let mut param =
                    json!({ "name": name, "required": required.contains(&json!(name)), "schema": property });
                if let (Some(description), Some(param)) = (description, param.as_object_mut()) {
                    param.insert("description".into(), description);
                }
                param
            })
            .collect();
        let result = json!({ "name": "result", "schema": self.told.subschema_for::<R>() });
        Described { params, result, event: None }
    }
}

impl Described {
    /// Adds what the notifications of a subscription carry.
    pub(crate) fn with_event<E: JsonSchema>(mut self, schemas: &mut Schemas) -> Self {
        self.event = Some(schemas.told.subschema_for::<E>().to_value());
        self
    }
}

/// Returns the whole document.
pub(crate) fn document(table: &Table) -> Value {
    let mut schemas = Schemas::new();
    let methods: Vec<Value> = table.methods().iter().map(|method| describe(method, &mut schemas)).collect();
    let mut definitions: Map<String, Value> = schemas.told.take_definitions(true);
    definitions.extend(schemas.given.take_definitions(true));
    let errors: Map<String, Value> = KINDS.iter().map(|kind| (kind.name.into(), error(kind))).collect();
    json!({
        "openrpc": "1.3.2",
        "info": {
            "title": "Coding Owl",
            "description": "The daemon's socket: lines, HTTP and WebSocket, one JSON-RPC API.",
            "version": API,
            "license": { "name": "MIT OR Apache-2.0" },
        },
        "methods": methods,
        "components": { "schemas": definitions, "errors": errors },
    })
}

fn describe(method: &Method, schemas: &mut Schemas) -> Value {
    let Described { params, result, event } = (method.describe)(schemas);
    let errors: Vec<Value> =
        method.errors.iter().map(|kind| json!({ "$ref": format!("#/components/errors/{}", kind.name) })).collect();
    let mut described = json!({
        "name": method.name,
        "summary": method.summary,
        "paramStructure": "by-name",
        "params": params,
        "result": result,
        "errors": errors,
    });
    if let (Handler::Subscribe(subscription), Some(event), Some(described)) =
        (&method.handler, event, described.as_object_mut())
    {
        described.insert("x-notification".into(), json!({ "method": subscription.notification, "event": event }));
        described.insert("x-unsubscribe".into(), json!(subscription.unsubscribe));
    }
    described
}

fn error(kind: &Kind) -> Value {
    json!({
        "code": kind.code,
        "message": kind.meaning,
        "data": { "kind": kind.name, "retryable": kind.retryable },
    })
}
