//! One table registers **and** documents every method, so that none can be reached that is not described. All three
//! dialects ask it, and it alone, what a call becomes (D7).

use crate::{
    caller::{Caller, Dialect, Phase},
    error::{self, Kind, RpcError},
    openrpc::{Described, Schemas},
    outlet::Outlet,
    params,
};
use async_trait::async_trait;
use futures_util::{FutureExt, future::BoxFuture};
use jsonrpsee::types::ErrorCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::{collections::HashMap, future::Future, panic::AssertUnwindSafe, sync::Arc};

/// A subscription's source of events.
#[async_trait]
pub trait Feed: Send {
    /// Sends events until there are no more, and returns what is said last; none when the client is gone.
    async fn run(self: Box<Self>, out: &mut Outlet) -> Option<String>;
}

/// An answer on its way: the JSON of `result`.
pub(crate) type Answering = BoxFuture<'static, Result<Vec<u8>, RpcError>>;
/// A subscription on its way.
pub(crate) type Opening = BoxFuture<'static, Result<Box<dyn Feed>, RpcError>>;

type AtOnce = Box<dyn Fn(&Arc<Caller>, Option<&str>, &mut Vec<u8>) -> Result<(), RpcError> + Send + Sync>;
type Later = Box<dyn Fn(&Arc<Caller>, Option<&str>) -> Result<Answering, RpcError> + Send + Sync>;
type Open = Box<dyn Fn(&Arc<Caller>, Option<&str>) -> Result<Opening, RpcError> + Send + Sync>;

/// How a method is carried out.
pub(crate) enum Handler {
    /// Answers at once, into the connection's own buffer.
    AtOnce(AtOnce),
    /// Answers later.
    Later(Later),
    /// Begins a subscription.
    Subscribe(Subscription),
    /// Ends one of the subscriptions that this name begins.
    Unsubscribe,
}

pub(crate) struct Subscription {
    pub(crate) open: Open,
    pub(crate) notification: &'static str,
    pub(crate) unsubscribe: &'static str,
}

/// One method.
pub(crate) struct Method {
    pub(crate) name: &'static str,
    pub(crate) summary: &'static str,
    pub(crate) errors: &'static [&'static Kind],
    pub(crate) handler: Handler,
    pub(crate) describe: fn(&mut Schemas) -> Described,
}

/// Every method, by name.
#[derive(Default)]
pub struct Table {
    methods: Vec<Method>,
    by_name: HashMap<&'static str, usize>,
}

/// Where a call stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stands {
    /// By itself.
    Alone,
    /// Among others in a batch.
    InBatch,
}

/// Parameters of a call that takes none.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoParams {}

/// Parameters of the calls that end a subscription.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct UnsubscribeParams {
    /// The subscription, as the call that began it answered.
    pub(crate) subscription: String,
}

impl Table {
    /// Makes a table that answers `rpc.discover` alone.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a call that is answered at once, without waiting for anything.
    pub fn answer<P, R, F>(&mut self, name: &'static str, summary: &'static str, handler: F)
    where
        P: DeserializeOwned + JsonSchema,
        R: Serialize + JsonSchema,
        F: Fn(&Arc<Caller>, P) -> Result<R, RpcError> + Send + Sync + 'static,
    {
        let at_once: AtOnce = Box::new(move |caller, raw, out| {
            let result = handler(caller, params::parse(raw, required::<P>)?)?;
            serde_json::to_writer(out, &result).map_err(RpcError::internal)
        });
        self.add::<P, R>(name, summary, &[], Handler::AtOnce(at_once));
    }

    /// Adds a call that reads. It may be dropped when nobody waits for it any more.
    pub fn read<P, R, F, Fut>(
        &mut self,
        name: &'static str,
        summary: &'static str,
        errors: &'static [&'static Kind],
        handler: F,
    ) where
        P: DeserializeOwned + JsonSchema,
        R: Serialize + JsonSchema,
        F: Fn(Arc<Caller>, P) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R, RpcError>> + Send + 'static,
    {
        let later: Later = Box::new(move |caller, raw| {
            let answer = handler(caller.clone(), params::parse(raw, required::<P>)?);
            let whole = AssertUnwindSafe(async move { to_json(&answer.await?) }).catch_unwind();
            Ok(whole
                .map(move |whole| whole.unwrap_or_else(|_| Err(RpcError::internal(format!("{name} panicked")))))
                .boxed())
        });
        self.add::<P, R>(name, summary, errors, Handler::Later(later));
    }

    /// Adds a call that changes something. It runs to its end in a task of its own, whether its caller stays or not.
    pub fn change<P, R, F, Fut>(
        &mut self,
        name: &'static str,
        summary: &'static str,
        errors: &'static [&'static Kind],
        handler: F,
    ) where
        P: DeserializeOwned + JsonSchema,
        R: Serialize + JsonSchema,
        F: Fn(Arc<Caller>, P) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R, RpcError>> + Send + 'static,
    {
        let later: Later = Box::new(move |caller, raw| {
            let answer = handler(caller.clone(), params::parse(raw, required::<P>)?);
            let own_task = tokio::spawn(async move { to_json(&answer.await?) });
            Ok(own_task.map(move |ended| ended.unwrap_or_else(|error| Err(RpcError::internal(error)))).boxed())
        });
        self.add::<P, R>(name, summary, errors, Handler::Later(later));
    }

    /// Adds a subscription and the call that ends it. `E` is what its notifications carry.
    pub fn subscription<P, E, F, Fut>(
        &mut self,
        [name, notification, unsubscribe]: [&'static str; 3],
        summary: &'static str,
        errors: &'static [&'static Kind],
        open: F,
    ) where
        P: DeserializeOwned + JsonSchema,
        E: JsonSchema,
        F: Fn(Arc<Caller>, P) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Box<dyn Feed>, RpcError>> + Send + 'static,
    {
        let open: Open =
            Box::new(move |caller, raw| Ok(open(caller.clone(), params::parse(raw, required::<P>)?).boxed()));
        let handler = Handler::Subscribe(Subscription { open, notification, unsubscribe });
        self.push(Method {
            name,
            summary,
            errors,
            handler,
            describe: |schemas| schemas.describe::<P, String>().with_event::<E>(schemas),
        });
        self.add::<UnsubscribeParams, bool>(
            unsubscribe,
            "Ends a subscription; false when this connection has no such one.",
            &[],
            Handler::Unsubscribe,
        );
    }

    /// Says what a call becomes, by the rules that hold in every dialect.
    pub(crate) fn route(&self, caller: &Caller, name: &str, stands: Stands) -> Result<&Handler, RpcError> {
        if caller.server.phase() != Phase::Serving {
            return Err(RpcError::shutting_down());
        }
        let Some(method) = self.method(name) else {
            return Err(RpcError::protocol(ErrorCode::MethodNotFound));
        };
        if matches!(method.handler, Handler::Subscribe(_)) && stands == Stands::InBatch {
            let message = "a subscription cannot stand in a batch; send it by itself";
            return Err(RpcError::new(&error::NOT_IN_BATCH, message, serde_json::Value::Null));
        }
        Ok(&method.handler)
    }

    /// Says that a subscription was asked for over HTTP.
    pub(crate) fn needs_stream() -> RpcError {
        let message = "a subscription needs a connection that stays open: a WebSocket, or the line dialect";
        RpcError::new(&error::NEEDS_STREAM, message, serde_json::Value::Null)
    }

    /// Returns every method, in the order in which they were added.
    pub(crate) fn methods(&self) -> &[Method] {
        &self.methods
    }

    pub(crate) fn method(&self, name: &str) -> Option<&Method> {
        self.by_name.get(name).and_then(|index| self.methods.get(*index))
    }

    fn add<P, R>(
        &mut self,
        name: &'static str,
        summary: &'static str,
        errors: &'static [&'static Kind],
        handler: Handler,
    ) where
        P: DeserializeOwned + JsonSchema,
        R: JsonSchema,
    {
        self.push(Method { name, summary, errors, handler, describe: |schemas| schemas.describe::<P, R>() });
    }

    /// A name that is there already is replaced, so that none is described twice.
    fn push(&mut self, method: Method) {
        let name = method.name;
        if let Some(taken) = self.by_name.get(name).and_then(|index| self.methods.get_mut(*index)) {
            *taken = method;
            return;
        }
        self.by_name.insert(name, self.methods.len());
        self.methods.push(method);
    }

    /// Adds `rpc.discover`, which describes every method of the table, itself included.
    pub(crate) fn complete(mut self) -> Arc<Self> {
        self.answer::<NoParams, crate::openrpc::Document, _>(
            crate::openrpc::DISCOVER,
            "Returns the OpenRPC document of this API.",
            |_, NoParams {}| Err(RpcError::internal("the table answers this itself")),
        );
        Arc::new_cyclic(|this: &std::sync::Weak<Self>| {
            let this = this.clone();
            let made = std::sync::OnceLock::new();
            let discover: AtOnce = Box::new(move |_, raw, out| {
                let NoParams {} = params::parse(raw, required::<NoParams>)?;
                let table = this.upgrade().ok_or_else(RpcError::shutting_down)?;
                let text = made.get_or_init(|| crate::openrpc::document(&table).to_string());
                out.extend_from_slice(text.as_bytes());
                Ok(())
            });
            if let Some(method) =
                self.by_name.get(crate::openrpc::DISCOVER).and_then(|index| self.methods.get_mut(*index))
            {
                method.handler = Handler::AtOnce(discover);
            }
            self
        })
    }
}

impl std::fmt::Debug for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.methods.iter().map(|method| method.name)).finish()
    }
}

fn to_json(result: &impl Serialize) -> Result<Vec<u8>, RpcError> {
    serde_json::to_vec(result).map_err(RpcError::internal)
}

/// Returns the names of the parameters that must be given.
fn required<P: JsonSchema>() -> Vec<String> {
    let mut generator = crate::openrpc::settings().for_deserialize().into_generator();
    let schema = P::json_schema(&mut generator);
    let names = schema.get("required").and_then(serde_json::Value::as_array).into_iter().flatten();
    names.filter_map(|name| name.as_str().map(String::from)).collect()
}

/// Says whether a subscription can be had over this connection.
pub(crate) fn streams(caller: &Caller, is_websocket: bool) -> bool {
    caller.dialect == Dialect::Lines || is_websocket
}
