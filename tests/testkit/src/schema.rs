//! Holds what crosses the socket against `schemas/openrpc.json`: results, errors, events and the parameters of calls that
//! went well. What the document does not describe is refused too, so that it cannot fall behind the daemon (D7).

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on says so and ends")]

use crate::Seen;
use boon::{Compiler, Draft, SchemaIndex, Schemas};
use serde_json::{Map, Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::OnceLock,
};

/// Where the document is among the schemas. Nothing is fetched from there.
const AT: &str = "http://owl/openrpc.json";

/// Errors that any call may end in, whatever its own list says.
const ANYWHERE: [&str; 5] = ["invalid_params", "internal", "storage", "shutting_down", "too_many_connections"];

/// What stands in `data` of each kind of error, beside `kind` and `retryable`.
const DATA: [(&str, &[&str]); 26] = [
    ("invalid_params", &["field", "reason", "expected"]),
    ("internal", &["ref"]),
    ("too_many_connections", &["limit"]),
    ("not_found", &["what", "id"]),
    ("already_resolved", &["proposal_id", "state", "decided_by", "decided_at", "grant_id"]),
    ("busy", &["turn_id"]),
    ("stale", &["digest"]),
    ("conversation_mismatch", &["conversation_id"]),
    ("workdir_invalid", &["workdir", "reason", "known", "known_total"]),
    ("provider_not_configured", &["provider"]),
    ("model_required", &["configured"]),
    ("idempotency_mismatch", &["client_key"]),
    ("cursor_invalid", &["last_seq"]),
    ("needs_stream", &[]),
    ("not_in_batch", &[]),
    ("shutting_down", &[]),
    ("storage", &["file"]),
    ("already_exists", &["what", "name", "path"]),
    ("in_use", &["what", "name", "by"]),
    ("wrong_state", &["what", "id", "state", "allowed_from"]),
    ("version_conflict", &["version"]),
    ("not_a_repository", &["path", "reason", "root"]),
    ("work_would_be_lost", &["files", "commits"]),
    ("cannot_start", &["reason", "message", "file", "line", "column"]),
    ("limit_reached", &["limit", "max"]),
    ("credential_store", &["store"]),
];

/// The document, ready to be held against values.
pub struct Contract {
    schemas: Schemas,
    methods: BTreeMap<String, Method>,
    events: BTreeMap<String, SchemaIndex>,
    /// Of each kind: its code, and whether the same call may go well later.
    errors: BTreeMap<String, (i64, bool)>,
}

struct Method {
    result: SchemaIndex,
    params: BTreeMap<String, Param>,
    errors: BTreeSet<String>,
}

struct Param {
    schema: SchemaIndex,
    required: bool,
}

/// Returns the committed document.
///
/// # Panics
/// When there is none, or it is no OpenRPC document with whole schemas.
pub fn contract() -> &'static Contract {
    static CONTRACT: OnceLock<Contract> = OnceLock::new();
    CONTRACT.get_or_init(|| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas/openrpc.json");
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Contract::new(&serde_json::from_str(&text).unwrap())
    })
}

impl Contract {
    /// Makes it of a document.
    ///
    /// # Panics
    /// When the document or one of its schemas is broken.
    pub fn new(document: &Value) -> Self {
        let mut document = document.clone();
        for (_, schema) in document["components"]["schemas"].as_object_mut().unwrap() {
            close(schema);
        }
        let mut compiler = Compiler::new();
        // The newest draft: what draft-07 says of these schemas it says too, and it knows `unevaluatedProperties`.
        compiler.set_default_draft(Draft::V2020_12);
        compiler.add_resource(AT, document.clone()).unwrap();
        let mut schemas = Schemas::new();
        let mut compile = |at: String| match compiler.compile(&format!("{AT}#{at}"), &mut schemas) {
            Ok(index) => index,
            Err(error) => panic!("{at}: {error:#}"),
        };
        let (mut methods, mut events) = (BTreeMap::new(), BTreeMap::new());
        for (nth, method) in document["methods"].as_array().unwrap().iter().enumerate() {
            let at = format!("/methods/{nth}");
            let name = method["name"].as_str().unwrap().to_owned();
            let given = method["params"].as_array().unwrap().iter().enumerate();
            let params = given.map(|(nth, param)| {
                let schema = compile(format!("{at}/params/{nth}/schema"));
                let required = param["required"] == true;
                (param["name"].as_str().unwrap().to_owned(), Param { schema, required })
            });
            let params = params.collect();
            let result = compile(format!("{at}/result/schema"));
            if let Some(notification) = method.get("x-notification") {
                let event = compile(format!("{at}/x-notification/event"));
                events.insert(notification["method"].as_str().unwrap().to_owned(), event);
            }
            let last = |error: &Value| error["$ref"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
            let errors = method["errors"].as_array().unwrap().iter().map(last).collect();
            methods.insert(name, Method { result, params, errors });
        }
        let errors = document["components"]["errors"].as_object().unwrap().iter();
        let errors = errors.map(|(kind, error)| {
            (kind.clone(), (error["code"].as_i64().unwrap(), error["data"]["retryable"].as_bool().unwrap()))
        });
        let errors = errors.collect();
        Self { schemas, methods, events, errors }
    }

    /// Returns the documented methods.
    pub fn methods(&self) -> impl Iterator<Item = &str> {
        self.methods.keys().map(String::as_str)
    }

    /// Holds something that a client saw against the document.
    ///
    /// # Errors
    /// Says what does not fit.
    pub fn check(&self, seen: Seen<'_>) -> Result<(), String> {
        match seen {
            Seen::Result(method, result) => {
                let method = self.methods.get(method).ok_or("it is no documented method")?;
                self.fits(method.result, result)
            }
            Seen::Error(method, error) => self.error(method, error),
            Seen::Event(notification, event) => {
                let schema = self.events.get(notification).ok_or("it is no documented notification")?;
                self.fits(*schema, event)
            }
        }
    }

    /// Holds the parameters of a call that went well against the document.
    ///
    /// # Errors
    /// Says what does not fit.
    pub fn check_params(&self, method: &str, params: &Value) -> Result<(), String> {
        let method = self.methods.get(method).ok_or("it is no documented method")?;
        // The calls that end a subscription take a list too, and `null` is no parameters.
        let Some(given) = params.as_object() else { return Ok(()) };
        for (name, param) in &method.params {
            match given.get(name) {
                Some(value) => self.fits(param.schema, value).map_err(|wrong| format!("{name}: {wrong}"))?,
                None if param.required => return Err(format!("it went well without {name}")),
                None => {}
            }
        }
        match given.keys().find(|name| !method.params.contains_key(*name)) {
            Some(name) => Err(format!("it went well with {name}, which is not documented")),
            None => Ok(()),
        }
    }

    fn fits(&self, schema: SchemaIndex, value: &Value) -> Result<(), String> {
        self.schemas.validate(value, schema).map_err(|error| format!("{error:#}"))?;
        times(value)
    }

    fn error(&self, method: &str, error: &Value) -> Result<(), String> {
        let code = error["code"].as_i64().ok_or("the code is no number")?;
        if error["message"].as_str().is_none_or(str::is_empty) {
            return Err("it has no message".into());
        }
        if let Some(unknown) = members(error).find(|name| !["code", "message", "data"].contains(&name.as_str())) {
            return Err(format!("an error has no member {unknown}"));
        }
        let Some(kind) = error["data"]["kind"].as_str() else {
            let own = code > 0 || [-32602, -32603, -32009].contains(&code);
            return if own { Err("it has no data.kind".into()) } else { Ok(()) };
        };
        let (known, retryable) = self.errors.get(kind).ok_or_else(|| format!("{kind} is not documented"))?;
        if *known != code || error["data"]["retryable"] != json!(retryable) {
            return Err(format!("{kind} has the code {known}, and retryable is {retryable}"));
        }
        let (_, further) = DATA.iter().find(|(name, _)| *name == kind).ok_or("its data is not known")?;
        let expected: BTreeSet<&str> = further.iter().copied().chain(["kind", "retryable"]).collect();
        let found: BTreeSet<&str> = members(&error["data"]).map(String::as_str).collect();
        if expected != found {
            return Err(format!("data of {kind} holds {expected:?}, and here it holds {found:?}"));
        }
        match self.methods.get(method) {
            Some(documented) if !ANYWHERE.contains(&kind) && !documented.errors.contains(kind) => {
                Err(format!("{kind} is not among the documented errors of {method}"))
            }
            _ => times(&error["data"]),
        }
    }
}

fn members(value: &Value) -> impl Iterator<Item = &String> {
    value.as_object().into_iter().flat_map(Map::keys)
}

/// Has a schema refuse members that it does not name. The branches of a `oneOf` are left alone: the whole is closed.
fn close(schema: &mut Value) {
    let Some(schema) = schema.as_object_mut() else { return };
    for (_, property) in schema.get_mut("properties").and_then(Value::as_object_mut).into_iter().flatten() {
        close(property);
    }
    for branch in schema.get_mut("oneOf").and_then(Value::as_array_mut).into_iter().flatten() {
        for (_, property) in branch.get_mut("properties").and_then(Value::as_object_mut).into_iter().flatten() {
            close(property);
        }
    }
    if let Some(items) = schema.get_mut("items") {
        close(items);
    }
    let named = schema.contains_key("properties") || schema.contains_key("oneOf");
    if named && !schema.contains_key("additionalProperties") {
        schema.insert("unevaluatedProperties".into(), false.into());
    }
}

/// Looks at everything that is a time by its name: UTC with exactly three fractional digits.
fn times(value: &Value) -> Result<(), String> {
    match value {
        Value::Object(members) => members.iter().try_for_each(|(name, value)| match value {
            Value::String(text) if (name == "at" || name.ends_with("_at")) && !is_time(text) => {
                Err(format!("{name} is no time: {text}"))
            }
            other => times(other),
        }),
        Value::Array(entries) => entries.iter().try_for_each(times),
        _ => Ok(()),
    }
}

fn is_time(text: &str) -> bool {
    const SHAPE: &str = "0000-00-00T00:00:00.000Z";
    text.len() == SHAPE.len()
        && text.bytes().zip(SHAPE.bytes()).all(|(is, must)| if must == b'0' { is.is_ascii_digit() } else { is == must })
}
