//! Puts Owl's table in front of jsonrpsee's own dispatch: the same rules, the same words, the same answers as on lines.

use super::{OverWebSocket, gate::InFlight};
use crate::{
    caller::Caller,
    error::RpcError,
    lines::{Told, is_readable, subscription_of},
    table::{Handler, Stands, Table, streams},
};
use jsonrpsee::{
    ResponsePayload,
    core::middleware::{Batch, BatchEntry, Notification, Request, RpcServiceT},
    server::{BatchResponseBuilder, MethodResponse},
    types::{ErrorCode, ErrorObjectOwned, Id},
};
use serde_json::value::RawValue;
use std::{borrow::Cow, future::Future, sync::Arc};

/// Makes the service of one connection.
#[derive(Clone)]
pub(crate) struct TableLayer {
    pub(super) table: Arc<Table>,
    pub(super) in_flight: Arc<InFlight>,
}

impl<S> tower::Layer<S> for TableLayer {
    type Service = TableService<S>;

    fn layer(&self, inner: S) -> TableService<S> {
        TableService { inner: Arc::new(inner), layer: self.clone() }
    }
}

/// Answers calls from the table; hands on what begins or ends a subscription.
pub(crate) struct TableService<S> {
    inner: Arc<S>,
    layer: TableLayer,
}

impl<S> Clone for TableService<S> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone(), layer: self.layer.clone() }
    }
}

impl<S> TableService<S>
where
    S: RpcServiceT<MethodResponse = MethodResponse> + Send + Sync + 'static,
{
    async fn one(&self, mut request: Request<'_>, stands: Stands) -> MethodResponse {
        let extensions = request.extensions().clone();
        let Some(caller) = extensions.get::<Arc<Caller>>().cloned() else {
            return error(request.id, RpcError::internal("a call came without its caller"));
        };
        let has_stream = streams(&caller, extensions.get::<OverWebSocket>().is_some());
        let _under_way = self.layer.in_flight.begin();
        let told = Told::begin(&caller, &request);
        let params = request.params.as_deref().map(RawValue::get);
        let result = match self.layer.table.route(&caller, &request.method, stands) {
            Err(error) => Err(error),
            Ok(Handler::AtOnce(handler)) => {
                let mut result = Vec::new();
                handler(&caller, params, &mut result).map(|()| result)
            }
            Ok(Handler::Later(handler)) => match handler(&caller, params) {
                Ok(answering) => answering.await,
                Err(error) => Err(error),
            },
            Ok(Handler::Subscribe(_)) if has_stream => return self.inner.call(request).await,
            Ok(Handler::Subscribe(_)) => Err(Table::needs_stream()),
            Ok(Handler::Unsubscribe) => match subscription_of(params) {
                // jsonrpsee wants it as the one entry of a list.
                Ok(id) if has_stream => {
                    request.params = serde_json::value::to_raw_value(&[id]).ok().map(Cow::Owned);
                    return self.inner.call(request).await;
                }
                Ok(_) => Ok(b"false".to_vec()),
                Err(error) => Err(error),
            },
        };
        let response = match result.and_then(raw) {
            Ok(result) => {
                let limit = caller.server.limits.response_bytes;
                MethodResponse::response(request.id, ResponsePayload::success(result), limit)
            }
            Err(refused) => error(request.id, refused),
        };
        told.end(response.as_error_code().map_or(Ok(()), Err));
        response.with_extensions(extensions)
    }
}

impl<S> RpcServiceT for TableService<S>
where
    S: RpcServiceT<MethodResponse = MethodResponse, NotificationResponse = MethodResponse> + Send + Sync + 'static,
{
    type MethodResponse = MethodResponse;
    type NotificationResponse = MethodResponse;
    type BatchResponse = MethodResponse;

    fn call<'a>(&self, request: Request<'a>) -> impl Future<Output = MethodResponse> + Send + 'a {
        let service = self.clone();
        async move {
            if !is_readable(&request.id) {
                return MethodResponse::notification();
            }
            service.one(request, Stands::Alone).await
        }
    }

    fn batch<'a>(&self, batch: Batch<'a>) -> impl Future<Output = MethodResponse> + Send + 'a {
        let service = self.clone();
        async move {
            let limit = limit_of(&batch);
            let mut answers = BatchResponseBuilder::new_with_limit(limit);
            let mut only_notifications = !batch.is_empty();
            for entry in batch {
                let answer = match entry {
                    Ok(BatchEntry::Call(request)) if is_readable(&request.id) => {
                        service.one(request, Stands::InBatch).await
                    }
                    Ok(BatchEntry::Call(_) | BatchEntry::Notification(_)) => continue,
                    Err(refused) => {
                        let (error, id) = refused.into_parts();
                        MethodResponse::error(id, error)
                    }
                };
                only_notifications = false;
                if let Err(too_big) = answers.append(answer) {
                    return too_big;
                }
            }
            if only_notifications {
                return MethodResponse::notification();
            }
            MethodResponse::from_batch(answers.finish())
        }
    }

    /// Nothing in this API is a notification from the client.
    fn notification<'a>(&self, notification: Notification<'a>) -> impl Future<Output = MethodResponse> + Send + 'a {
        std::future::ready(MethodResponse::notification().with_extensions(notification.extensions))
    }
}

fn limit_of(batch: &Batch<'_>) -> usize {
    let caller = batch.iter().flatten().find_map(|entry| entry.extensions().get::<Arc<Caller>>());
    caller.map_or(owl_domain::limits::RESPONSE_BYTES, |caller| caller.server.limits.response_bytes)
}

fn error(id: Id<'_>, error: RpcError) -> MethodResponse {
    MethodResponse::error(id, ErrorObjectOwned::from(error))
}

fn raw(result: Vec<u8>) -> Result<Box<RawValue>, RpcError> {
    let text = String::from_utf8(result).map_err(RpcError::internal)?;
    RawValue::from_string(text).map_err(|_| RpcError::protocol(ErrorCode::InternalError))
}
