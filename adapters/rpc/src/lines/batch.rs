//! A batch on a line: 1 to 64 calls, carried out one after the other, answered in one array in their order.

use super::{
    message::{self, Message},
    subscriptions::Live,
};
use crate::{
    caller::Caller,
    error::RpcError,
    table::{Handler, Stands, Table},
};
use jsonrpsee::types::{
    ErrorCode, Id, Request,
    error::{reject_too_big_batch_request, reject_too_big_batch_response},
};
use serde_json::value::RawValue;
use std::sync::Arc;

/// Returns the whole line; nothing when only notifications were sent.
pub(super) async fn answer(table: Arc<Table>, caller: Arc<Caller>, live: Live, text: String) -> Vec<u8> {
    let limits = &caller.server.limits;
    let entries = match serde_json::from_str::<Vec<&RawValue>>(&text) {
        Ok(entries) if entries.is_empty() => return refused(&RpcError::protocol(ErrorCode::InvalidRequest)),
        Ok(entries) if entries.len() > limits.batch_entries => {
            return refused(&reject_too_big_batch_request(limits.batch_entries).into());
        }
        Ok(entries) => entries,
        Err(_) => return refused(&RpcError::protocol(ErrorCode::ParseError)),
    };
    let mut out = vec![b'['];
    for entry in entries {
        match message::read(entry.get()) {
            Message::Call(request) => one(&table, &caller, &live, &request, &mut out).await,
            Message::Notification => continue,
            Message::Refused(id, code) => message::refuse(&mut out, &id, &RpcError::protocol(code)),
        }
        out.push(b',');
        if out.len() > limits.response_bytes {
            return refused(&reject_too_big_batch_response(limits.response_bytes).into());
        }
    }
    if out.len() == 1 {
        return Vec::new();
    }
    out.pop();
    out.extend_from_slice(b"]\n");
    out
}

async fn one(table: &Table, caller: &Arc<Caller>, live: &Live, request: &Request<'_>, out: &mut Vec<u8>) {
    let told = super::Told::begin(caller, request);
    let params = request.params.as_deref().map(RawValue::get);
    let limit = caller.server.limits.response_bytes;
    let result = match table.route(caller, &request.method, Stands::InBatch) {
        Err(error) => Err(error),
        Ok(Handler::Later(handler)) => match handler(caller, params) {
            Ok(answering) => answering.await,
            Err(error) => Err(error),
        },
        Ok(Handler::Unsubscribe) => {
            let ended = live.end(&request.method, params);
            ended.map(|ended| if ended { b"true".to_vec() } else { b"false".to_vec() })
        }
        Ok(Handler::AtOnce(handler)) => {
            let mut result = Vec::new();
            handler(caller, params, &mut result).map(|()| result)
        }
        // The rules refuse it in a batch.
        Ok(Handler::Subscribe(_)) => Err(Table::needs_stream()),
    };
    let outcome = message::answer(out, &request.id, limit, |out| {
        out.extend_from_slice(&result?);
        Ok(())
    });
    told.end(outcome);
}

fn refused(error: &RpcError) -> Vec<u8> {
    let mut line = Vec::new();
    message::refuse(&mut line, &Id::Null, error);
    line.push(b'\n');
    line
}
