//! Parameters: read straight into a struct, and only when that fails looked at again, so that the refusal names the
//! field, what is wrong with it and what would be right. Values stay out of messages: one may be a key (D7, D18).

use crate::error::{INVALID_PARAMS, RpcError};
use owl_domain::text::TextError;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{DeserializeOwned, IntoDeserializer, MapAccess, Visitor},
};
use serde_json::{json, value::RawValue};
use std::{borrow::Cow, fmt, marker::PhantomData};

/// What is wrong with a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// No call takes it, or not this one.
    Unknown,
    /// It must be given.
    Missing,
    /// It is of another type.
    Type,
    /// It is of the right type and not one of the right values.
    Value,
    /// It is too long, or empty.
    Length,
    /// It stands there twice.
    Duplicate,
    /// `params` itself is not an object.
    NotAnObject,
}

impl Reason {
    const fn name(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Missing => "missing",
            Self::Type => "type",
            Self::Value => "value",
            Self::Length => "length",
            Self::Duplicate => "duplicate",
            Self::NotAnObject => "not_an_object",
        }
    }
}

/// Says that a parameter is not as it must be, and what would be right.
pub fn invalid(field: &str, reason: Reason, expected: impl Into<String>) -> RpcError {
    let expected = expected.into();
    refused(Some(field), reason, format!("parameter `{field}`: {expected}"), Some(expected))
}

fn refused(field: Option<&str>, reason: Reason, message: String, expected: Option<String>) -> RpcError {
    RpcError::new(&INVALID_PARAMS, message, json!({ "field": field, "reason": reason.name(), "expected": expected }))
}

/// Names the parameter whose text was not taken.
pub(crate) fn checked<T>(field: &str, text: Result<T, TextError>) -> Result<T, RpcError> {
    text.map_err(|error| match error {
        TextError::Length { expected } => invalid(field, Reason::Length, expected),
        TextError::Value { expected } => invalid(field, Reason::Value, expected),
    })
}

/// Takes a whole number within bounds.
pub(crate) fn within(field: &str, number: i64, least: i64, most: i64) -> Result<i64, RpcError> {
    if (least..=most).contains(&number) {
        return Ok(number);
    }
    let expected = if most == i64::MAX { format!("{least} or more") } else { format!("{least} to {most}") };
    Err(invalid(field, Reason::Value, expected))
}

/// Tells "left out" (none) from "null" (an inner none) from a value. Goes with `#[serde(default)]`.
pub(crate) fn nullable<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    input: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::<T>::deserialize(input).map(Some)
}

/// A parameter that is one of a closed list of names. Read as a string and as nothing else: of its own accord serde
/// takes an object with the name as its only member for the name, too, and `{"allow": null}` is no decision (D8).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Name<T>(pub(crate) T);

/// What stands in an error of serde where a name was expected; the names themselves are looked up then.
const A_NAME: &str = "a name";

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Name<T> {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        struct Text<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Text<T> {
            type Value = Name<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(A_NAME)
            }

            fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<Name<T>, E> {
                T::deserialize(name.into_deserializer()).map(Name)
            }
        }
        input.deserialize_str(Text(PhantomData))
    }
}

impl<T: Serialize> Serialize for Name<T> {
    fn serialize<S: Serializer>(&self, output: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(output)
    }
}

impl<T: JsonSchema> JsonSchema for Name<T> {
    fn inline_schema() -> bool {
        T::inline_schema()
    }

    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        T::schema_id()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}

/// Reads the parameters of a call. Left out or null means none at all; a list is refused.
///
/// # Errors
/// `invalid_params`, for the first thing that is wrong: unknown and doubled names, then missing ones, then types.
pub(crate) fn parse<P: DeserializeOwned>(raw: Option<&str>, required: fn() -> Vec<String>) -> Result<P, RpcError> {
    let text = raw.unwrap_or("{}").trim_start();
    let text = if text.trim_end() == "null" { "{}" } else { text };
    if !text.starts_with('{') {
        let message = String::from("`params` must be an object with named parameters");
        return Err(refused(None, Reason::NotAnObject, message, Some("an object".into())));
    }
    serde_json::from_str(text).map_err(|error| explain::<P>(text, &required(), &error))
}

/// Returns the names of a struct's fields in their order, as serde knows them.
pub(crate) fn names_of<P: DeserializeOwned>() -> &'static [&'static str] {
    let mut names: &'static [&'static str] = &[];
    // The deserializer below never yields a struct; it is asked for one so that it hears the names.
    let _always_refused = P::deserialize(Names(&mut names));
    names
}

fn explain<P: DeserializeOwned>(text: &str, required: &[String], error: &serde_json::Error) -> RpcError {
    let names = names_of::<P>();
    let Ok(Members(members)) = serde_json::from_str::<Members>(text) else {
        return refused(None, Reason::Value, format!("`params` cannot be read: {}", category(error)), None);
    };
    for (index, (name, _)) in members.iter().enumerate() {
        if !names.contains(&name.as_str()) {
            let shown = owl_domain::show::visible(owl_domain::text::cut_bytes(name, 100));
            let expected = match names {
                [] => String::from("no parameters"),
                names => format!("one of {}", names.join(", ")),
            };
            return refused(Some(name), Reason::Unknown, format!("unknown parameter `{shown}`"), Some(expected));
        }
        if members.iter().take(index).any(|(earlier, _)| earlier == name) {
            return refused(Some(name), Reason::Duplicate, format!("parameter `{name}` stands there twice"), None);
        }
    }
    let missing = |name: &&&str| required.iter().any(|r| r == **name) && !members.iter().any(|(m, _)| m == **name);
    if let Some(name) = names.iter().find(missing) {
        return refused(Some(name), Reason::Missing, format!("parameter `{name}` is missing"), None);
    }
    first_wrong::<P>(names, &members)
}

/// Reads the members again in the order in which they are documented, so that the first wrong one is reported.
fn first_wrong<P: DeserializeOwned>(names: &[&str], members: &[(String, Box<RawValue>)]) -> RpcError {
    let ordered: Vec<String> = names
        .iter()
        .filter_map(|name| members.iter().find(|(member, _)| member == name))
        .map(|(name, value)| format!("\"{name}\":{}", value.get()))
        .collect();
    let text = format!("{{{}}}", ordered.join(","));
    let mut input = serde_json::Deserializer::from_str(&text);
    match serde_path_to_error::deserialize::<_, P>(&mut input) {
        // Only white space behind the object, or a defect, leads here.
        Ok(_) => refused(None, Reason::Value, "`params` cannot be read".into(), None),
        Err(error) => {
            let mut path = error.path().to_string();
            let (reason, inner, expected) = match classify(error.inner()) {
                (Reason::Type, None, Some(of)) if of == A_NAME => (Reason::Type, None, names_at::<P>(&text, &path)),
                told => told,
            };
            if let Some(inner) = inner
                && path != inner
                && !path.ends_with(&format!(".{inner}"))
            {
                path = if path == "." { inner } else { format!("{path}.{inner}") };
            }
            let message = match (&reason, &expected) {
                (Reason::Missing, _) => format!("parameter `{path}` is missing"),
                (Reason::Unknown, _) => format!("unknown parameter `{path}`"),
                (Reason::Duplicate, _) => format!("parameter `{path}` stands there twice"),
                (_, Some(expected)) => format!("parameter `{path}` must be {expected}"),
                (_, None) => format!("parameter `{path}` is not as it must be"),
            };
            refused(Some(&path), reason, message, expected)
        }
    }
}

/// Returns which names may stand at a place, by putting there one that none of them is.
fn names_at<P: DeserializeOwned>(text: &str, path: &str) -> Option<String> {
    let pointer = format!("/{}", path.replace('[', ".").replace(']', "").replace('.', "/"));
    let mut members: serde_json::Value = serde_json::from_str(text).ok()?;
    *members.pointer_mut(&pointer)? = "".into();
    let error = P::deserialize(members).err()?;
    let (_, _, expected) = classify(&error);
    Some(format!("a string, {}", expected?))
}

/// Reads serde's own words for what is wrong. The value that it names is left out.
fn classify(error: &serde_json::Error) -> (Reason, Option<String>, Option<String>) {
    let text = error.to_string();
    let text = text.split(" at line ").next().unwrap_or_default();
    let named = || text.split('`').nth(1).map(String::from);
    let expected = || text.rsplit_once("expected ").map(|(_, expected)| plain(expected));
    match text {
        _ if text.starts_with("missing field") => (Reason::Missing, named(), None),
        _ if text.starts_with("unknown field") => (Reason::Unknown, named(), expected()),
        _ if text.starts_with("duplicate field") => (Reason::Duplicate, named(), None),
        _ if text.starts_with("invalid type") => (Reason::Type, None, expected()),
        _ => (Reason::Value, None, expected()),
    }
}

/// Says Rust's names of types in words.
fn plain(expected: &str) -> String {
    match expected {
        "i64" | "u64" | "i32" | "u32" | "u16" | "usize" => "a whole number".into(),
        "f64" => "a number".into(),
        "a sequence" => "a list".into(),
        _ if expected.starts_with("struct ") || expected.starts_with("a map") => "an object".into(),
        _ => expected.into(),
    }
}

fn category(error: &serde_json::Error) -> &'static str {
    match error.classify() {
        serde_json::error::Category::Io => "it could not be read",
        serde_json::error::Category::Syntax => "it is nested too deep, or is not JSON",
        serde_json::error::Category::Data => "a value is not as it must be",
        serde_json::error::Category::Eof => "it ends early",
    }
}

/// An object's members in the order in which they stand, doubled ones too.
struct Members(Vec<(String, Box<RawValue>)>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        struct Each;
        impl<'de> Visitor<'de> for Each {
            type Value = Members;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        input.deserialize_map(Each)
    }
}

/// Yields nothing; remembers the names of the struct it is asked for.
struct Names<'n>(&'n mut &'static [&'static str]);

impl<'de> Deserializer<'de> for Names<'_> {
    type Error = serde::de::value::Error;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        _visitor: V,
    ) -> Result<V::Value, Self::Error> {
        *self.0 = fields;
        Err(serde::de::Error::custom("only the names were wanted"))
    }

    fn deserialize_any<V: Visitor<'de>>(self, _visitor: V) -> Result<V::Value, Self::Error> {
        Err(serde::de::Error::custom("parameters are structs"))
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

#[cfg(test)]
mod tests;
