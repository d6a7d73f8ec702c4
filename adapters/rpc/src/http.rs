//! HTTP and WebSocket: jsonrpsee's own service on the connection's stream, with Owl's table behind it. Calls are
//! answered by the table; jsonrpsee keeps what it knows best, framing and the subscriptions of a WebSocket (D7).

mod body;
mod gate;
mod layer;

use crate::{
    caller::{Caller, Held},
    error::RpcError,
    lines::ID_LENGTH,
    outlet::{Outlet, message},
    table::{Handler, Method, Subscription, Table},
};
use body::{Came, Counted};
use gate::{Gated, InFlight};
use jsonrpsee::{
    Methods, PendingSubscriptionSink, RpcModule,
    core::server::SubscriptionCloseResponse,
    server::{
        BatchRequestConfig, HttpRequest, HttpResponse, RandomStringIdProvider, Server, ServerConfig, StopHandle,
        TowerServiceBuilder, http::response::too_large, middleware::rpc::RpcServiceBuilder,
        serve_with_graceful_shutdown, ws,
    },
    types::ErrorCode,
};
use layer::TableLayer;
use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};
use tokio::net::UnixStream;
use tokio_util::sync::CancellationToken;
use tower::{
    Service,
    layer::util::{Identity, Stack},
};

type Builder = TowerServiceBuilder<Stack<TableLayer, Identity>, Identity>;

/// What all HTTP connections of one server share.
#[derive(Clone)]
pub(crate) struct Http {
    table: Arc<Table>,
    /// The subscriptions alone: every other method is answered before jsonrpsee looks for it.
    subscriptions: Methods,
    config: ServerConfig,
    stop: StopHandle,
}

impl Http {
    pub(crate) fn new(table: Arc<Table>, limits: &crate::Limits, stop: StopHandle) -> Result<Self, RpcError> {
        let narrow = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let config = ServerConfig::builder()
            .max_request_body_size(narrow(limits.request_bytes))
            .max_response_body_size(narrow(limits.response_bytes))
            .max_subscriptions_per_connection(narrow(limits.subscriptions_per_connection))
            .set_message_buffer_capacity(narrow(limits.queue_messages_per_connection))
            .set_batch_request_config(BatchRequestConfig::Limit(narrow(limits.batch_entries)))
            .set_id_provider(RandomStringIdProvider::new(ID_LENGTH))
            // Connections are counted where they are accepted, those of all dialects together.
            .max_connections(u32::MAX)
            .build();
        let subscriptions = register(&table).map_err(RpcError::internal)?;
        Ok(Self { table, subscriptions, config, stop })
    }

    /// Serves one connection until its peer is gone or the server closes. A WebSocket outlives this, in jsonrpsee's own
    /// task: it takes `held` with it, and is cut with the rest.
    pub(crate) async fn serve(self, stream: UnixStream, caller: Arc<Caller>, held: Held, cut: CancellationToken) {
        let in_flight = Arc::new(InFlight::new(caller.server.limits.calls_in_flight_per_connection));
        let layer = TableLayer { table: self.table, in_flight: in_flight.clone() };
        let builder: Builder = Server::builder()
            .set_config(self.config)
            .set_rpc_middleware(RpcServiceBuilder::new().layer(layer))
            .to_service_builder()
            .connection_id(caller.id);
        let held = Arc::new(held);
        let most = caller.server.limits.request_bytes;
        let service = Requests {
            builder,
            methods: self.subscriptions,
            stop: self.stop.clone(),
            caller,
            held,
            in_flight: in_flight.clone(),
            most,
        };
        let served = serve_with_graceful_shutdown(Gated::new(stream, in_flight, cut), service, self.stop.shutdown());
        // Awaited bare: inside another async block the compiler cannot show that this future may be sent.
        if let Err(error) = served.await {
            tracing::debug!(error, "an HTTP connection ended");
        }
    }
}

/// Hands each request of one connection to jsonrpsee, with its caller.
#[derive(Clone)]
struct Requests {
    builder: Builder,
    methods: Methods,
    stop: StopHandle,
    caller: Arc<Caller>,
    held: Arc<Held>,
    in_flight: Arc<InFlight>,
    /// How long a body may be, in bytes.
    most: usize,
}

/// Says that a connection's requests belong to a WebSocket, for as long as that is open.
#[derive(Clone)]
pub(crate) struct OverWebSocket {
    _held: Arc<Held>,
}

type Inner = jsonrpsee::server::TowerService<Stack<TableLayer, Identity>, Identity>;

impl<B> Service<HttpRequest<B>> for Requests
where
    Inner: Service<HttpRequest<Counted<B>>, Response = HttpResponse>,
    <Inner as Service<HttpRequest<Counted<B>>>>::Future: Send + 'static,
{
    type Response = HttpResponse;
    type Error = <Inner as Service<HttpRequest<Counted<B>>>>::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: HttpRequest<B>) -> Self::Future {
        // `build` would count on from the id; the connection keeps the one it has, or two of them could end each
        // other's subscriptions.
        let builder = self.builder.clone().connection_id(self.caller.id);
        let mut service = builder.build(self.methods.clone(), self.stop.clone());
        let upgrades = ws::is_upgrade_request(&request);
        request.extensions_mut().insert(self.caller.clone());
        if upgrades {
            request.extensions_mut().insert(OverWebSocket { _held: self.held.clone() });
        }
        let (came, most, in_flight) = (Came::default(), self.most, self.in_flight.clone());
        in_flight.asked();
        let answer = service.call(request.map(|body| Counted::new(body, came.clone())));
        Box::pin(async move {
            let mut answer = answer.await?;
            let status = answer.status().as_u16();
            if upgrades && status == 200 {
                // A handshake that failed is told in a body; it is no success.
                set_status(&mut answer, 400);
            } else if !upgrades && status == 400 {
                // A body that is not JSON: an error of JSON-RPC, and those are told in a 200.
                set_status(&mut answer, 200);
            } else if !upgrades && status == 500 && came.bytes() > most {
                // Reading it ended for its length, which nobody had announced.
                answer = too_large(u32::try_from(most).unwrap_or(u32::MAX));
            }
            // What a WebSocket is owed cannot be told from here.
            if !upgrades {
                in_flight.answered();
            }
            Ok(answer)
        })
    }
}

fn set_status(answer: &mut HttpResponse, code: u16) {
    if let Ok(status) = code.try_into() {
        *answer.status_mut() = status;
    }
}

/// Registers the table's subscriptions with jsonrpsee, which holds them for WebSockets.
fn register(table: &Arc<Table>) -> Result<Methods, jsonrpsee::core::RegisterMethodError> {
    let mut module = RpcModule::new(());
    let subscriptions = table.methods().iter().filter_map(|method| match &method.handler {
        Handler::Subscribe(subscription) => Some((method, subscription)),
        _ => None,
    });
    for (Method { name, .. }, Subscription { notification, unsubscribe, .. }) in subscriptions {
        let (name, table) = (*name, table.clone());
        module.register_subscription(name, notification, unsubscribe, move |params, pending, _, extensions| {
            let table = table.clone();
            async move {
                let caller = extensions.get::<Arc<Caller>>().cloned();
                subscribe(&table, name, params.as_str(), pending, caller).await
            }
        })?;
    }
    Ok(module.into())
}

async fn subscribe(
    table: &Table,
    name: &str,
    params: Option<&str>,
    pending: PendingSubscriptionSink,
    caller: Option<Arc<Caller>>,
) -> SubscriptionCloseResponse {
    let (Some(caller), Some(Method { handler: Handler::Subscribe(subscription), .. })) = (caller, table.method(name))
    else {
        pending.reject(ErrorCode::InternalError).await;
        return SubscriptionCloseResponse::None;
    };
    let opened = match (subscription.open)(&caller, params) {
        Ok(opening) => opening.await,
        Err(error) => Err(error),
    };
    let feed = match opened {
        Ok(feed) => feed,
        Err(error) => {
            pending.reject(error).await;
            return SubscriptionCloseResponse::None;
        }
    };
    let Ok(sink) = pending.accept().await else {
        return SubscriptionCloseResponse::None;
    };
    let counted = caller.server.subscribe();
    let mut outlet = Outlet::websocket(sink.clone(), caller.server.limits.stuck_subscriber);
    let last = tokio::select! {
        last = feed.run(&mut outlet) => last,
        () = sink.closed() => None,
    };
    drop(counted);
    match last.as_deref().and_then(message) {
        Some(last) => SubscriptionCloseResponse::Notif(last),
        None => SubscriptionCloseResponse::None,
    }
}
