//! Handlers of the host: functions of the program that run tools of skills. They need no process.

use std::any::Any;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::Poll;

use serde_json::{Map, Value};

use crate::future::BoxFuture;

/// Runs a tool that a skill declares, inside of the host's program.
///
/// Functions that return at once are handlers. A handler that panics fails; nothing else does.
///
/// ```
/// use repertoire::HandlerError;
/// use serde_json::{Map, Value};
/// fn greet(arguments: &Map<String, Value>) -> Result<String, HandlerError> {
///     match arguments.get("name").and_then(Value::as_str) {
///         Some(name) => Ok(format!("Hello, {name}!")),
///         None => Err(HandlerError::new("KeyError", "name")),
///     }
/// }
/// ```
pub trait SkillHandler: Send + Sync {
    /// Answers a call whose arguments match the tool's schema.
    fn call<'a>(&'a self, arguments: &'a Map<String, Value>) -> BoxFuture<'a, Result<String, HandlerError>>;
}

impl<F> SkillHandler for F
where
    F: Fn(&Map<String, Value>) -> Result<String, HandlerError> + Send + Sync,
{
    fn call<'a>(&'a self, arguments: &'a Map<String, Value>) -> BoxFuture<'a, Result<String, HandlerError>> {
        Box::pin(async move { self(arguments) })
    }
}

/// The error of a handler.
#[derive(Debug, thiserror::Error, Clone, PartialEq, Eq)]
#[error("{kind}: {message}")]
#[non_exhaustive]
pub struct HandlerError {
    /// The kind of failure, as in `ValueError`.
    pub kind: String,
    /// The message.
    pub message: String,
}

impl HandlerError {
    /// Returns the failure `message` of `kind`.
    pub fn new(kind: impl Into<String>, message: impl Into<String>) -> Self {
        Self { kind: kind.into(), message: message.into() }
    }
}

#[derive(Clone)]
pub(crate) struct HostHandler {
    pub(crate) skill: String,
    pub(crate) tool: String,
    pub(crate) handler: Arc<dyn SkillHandler>,
}

impl HostHandler {
    /// Runs the handler; a panic is a failure like others.
    pub(crate) async fn run(&self, arguments: &Map<String, Value>) -> Result<String, HandlerError> {
        let caught = |panic: Box<dyn Any + Send>| HandlerError::new("Panic", message(&*panic));
        let call = catch_unwind(AssertUnwindSafe(|| self.handler.call(arguments))).map_err(caught);
        let mut call = call?;
        poll_fn(|context| match catch_unwind(AssertUnwindSafe(|| call.as_mut().poll(context))) {
            Ok(poll) => poll,
            Err(panic) => Poll::Ready(Err(caught(panic))),
        })
        .await
    }
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "the handler panicked".to_owned())
}
