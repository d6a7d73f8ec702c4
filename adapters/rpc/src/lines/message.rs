//! What one line says, and how an answer to it is written. The words are those of the other two dialects.

use crate::error::RpcError;
use jsonrpsee::types::{ErrorCode, Id, Notification, Request};
use serde::{
    Deserialize,
    de::{IgnoredAny, MapAccess, Visitor},
};
use serde_json::value::RawValue;
use std::fmt;

/// What one message is.
pub(crate) enum Message<'a> {
    /// A call, which is answered.
    Call(Request<'a>),
    /// Read and dropped: nothing in this API is a notification from the client.
    Notification,
    /// None of both; answered with this id.
    Refused(Id<'a>, ErrorCode),
}

/// An id is at most this: beyond it, JavaScript could not echo it.
const LARGEST_ID: u64 = (1 << 53) - 1;

/// Reads one JSON value that is no list.
pub(crate) fn read(text: &str) -> Message<'_> {
    match serde_json::from_str::<Request<'_>>(text) {
        Ok(request) if is_readable(&request.id) => return Message::Call(request),
        Ok(_) => return Message::Refused(Id::Null, ErrorCode::InvalidRequest),
        Err(_) => {}
    }
    let Ok(HasId(has_id)) = serde_json::from_str::<HasId>(text) else {
        let code = match serde_json::from_str::<IgnoredAny>(text) {
            Ok(_) => ErrorCode::InvalidRequest,
            Err(_) => ErrorCode::ParseError,
        };
        return Message::Refused(Id::Null, code);
    };
    if !has_id && serde_json::from_str::<Notification<'_, Option<&RawValue>>>(text).is_ok() {
        return Message::Notification;
    }
    let id = serde_json::from_str::<OnlyId<'_>>(text).map(|only| only.id).ok();
    Message::Refused(id.filter(is_readable).unwrap_or(Id::Null), ErrorCode::InvalidRequest)
}

pub(crate) fn is_readable(id: &Id<'_>) -> bool {
    !matches!(id, Id::Number(number) if *number > LARGEST_ID)
}

#[derive(Deserialize)]
struct OnlyId<'a> {
    #[serde(borrow)]
    id: Id<'a>,
}

/// Whether an object has a member of that name, whatever its value.
struct HasId(bool);

impl<'de> Deserialize<'de> for HasId {
    fn deserialize<D: serde::Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        struct Look;
        impl<'de> Visitor<'de> for Look {
            type Value = HasId;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<HasId, A::Error> {
                let mut found = false;
                while let Some((name, IgnoredAny)) = map.next_entry::<std::borrow::Cow<'de, str>, _>()? {
                    found |= name == "id";
                }
                Ok(HasId(found))
            }
        }
        input.deserialize_map(Look)
    }
}

/// Writes one answer behind what `out` holds, without a line feed. One over the limit becomes an error.
pub(crate) fn answer(
    out: &mut Vec<u8>,
    id: &Id<'_>,
    limit: usize,
    result: impl FnOnce(&mut Vec<u8>) -> Result<(), RpcError>,
) -> Result<(), i32> {
    let start = out.len();
    begin(out, id);
    out.extend_from_slice(b",\"result\":");
    let error = match result(out) {
        Ok(()) if out.len() - start < limit => {
            out.push(b'}');
            return Ok(());
        }
        Ok(()) => too_big(limit),
        Err(error) => error,
    };
    out.truncate(start);
    refuse(out, id, &error);
    Err(error.code)
}

/// Writes one error behind what `out` holds, without a line feed.
pub(crate) fn refuse(out: &mut Vec<u8>, id: &Id<'_>, error: &RpcError) {
    begin(out, id);
    out.extend_from_slice(b",\"error\":");
    write_json(out, error);
    out.push(b'}');
}

fn begin(out: &mut Vec<u8>, id: &Id<'_>) {
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    write_json(out, id);
}

fn write_json(out: &mut Vec<u8>, value: &impl serde::Serialize) {
    let start = out.len();
    if let Err(error) = serde_json::to_writer(&mut *out, value) {
        // Ids and errors are strings and numbers, which have no way to fail.
        tracing::error!(%error, "a part of an answer could not be written");
        out.truncate(start);
        out.extend_from_slice(b"null");
    }
}

fn too_big(limit: usize) -> RpcError {
    use jsonrpsee::types::error::{OVERSIZED_RESPONSE_CODE, OVERSIZED_RESPONSE_MSG};
    RpcError {
        code: OVERSIZED_RESPONSE_CODE,
        message: OVERSIZED_RESPONSE_MSG.to_owned(),
        data: Some(format!("Exceeded max limit of {limit}").into()),
    }
}
