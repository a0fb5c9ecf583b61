//! Commands of the host on systems where they are not supported.

use std::convert::Infallible;
use std::fmt;
use std::path::Path;
use std::time::Duration;

use repertoire_model::answer::{FaultKind, ToolResult};
use repertoire_model::toolbox::HostCommand;
use serde_json::{Map, Value};

use super::executor::Executor;

/// A call that cannot be made on this system.
pub(super) struct HostCall {
    pub(super) command: HostCommand,
    never: Infallible,
}

impl HostCall {
    pub(super) async fn resolve(
        _: &Executor,
        command: HostCommand,
        _: &Map<String, Value>,
    ) -> Result<Self, FaultKind> {
        let reason = format!("`{}` is not supported on this system", command.as_str());
        Err(FaultKind::Failed { reason })
    }

    pub(super) async fn run(
        self,
        _: &Executor,
        _: (&str, &str),
        _: Duration,
    ) -> Result<ToolResult, FaultKind> {
        match self.never {}
    }
}

impl fmt::Display for HostCall {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.never {}
    }
}

/// A checkout that no command of the host touches.
#[derive(Debug)]
pub(super) struct SharedLock;

pub(super) fn lock_shared(_: &Path, _: &Path) -> Result<SharedLock, String> {
    Ok(SharedLock)
}
