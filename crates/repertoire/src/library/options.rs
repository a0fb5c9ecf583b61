//! Everything that the sessions of a library are given beside its skills.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::event::Sinks;
use crate::handler::HostHandler;
use crate::prompt::{Agent, Inherit};
use crate::proposal::Proposer;
use crate::runner::Runner;
use crate::searcher::{Reranker, Searcher};
use crate::session::SessionOptions;
use crate::tool::{Tool, reserved_names};
use crate::{Error, ErrorKind};

/// Options, agents, tools, handlers and event sinks that all sessions of a library share.
#[derive(Clone, Default)]
pub(crate) struct SessionResources {
    pub(crate) options: SessionOptions,
    pub(crate) agents: BTreeMap<String, Agent>,
    /// Inheritance of agents that are started by a session without an agent.
    pub(crate) inherit: Inherit,
    pub(crate) tools: Vec<Arc<dyn Tool>>,
    /// Receive an event for every call.
    pub(crate) sinks: Sinks,
    /// Finds the skills that a task needs; `None` where nothing is searched.
    pub(crate) searcher: Option<Arc<dyn Searcher>>,
    /// Puts the best results of a search into a better order; `None` where they stay as they are.
    pub(crate) reranker: Option<Arc<dyn Reranker>>,
    /// Runs tools and scripts of skills; `None` where nothing may run.
    pub(crate) runner: Option<Arc<dyn Runner>>,
    /// The runner that is only asked for the tools of each `tools.py`, where there is not one that runs them.
    pub(crate) recorded_tools: Option<Arc<dyn Runner>>,
    /// Submits proposals; `None` where nothing can be proposed.
    pub(crate) proposer: Option<Arc<Proposer>>,
    /// Handlers of the host for tools that skills declare.
    pub(crate) handlers: Vec<HostHandler>,
}

impl SessionResources {
    /// Returns the names that no skill may have because a tool answers to them.
    pub(crate) fn reserved_names(&self) -> BTreeSet<String> {
        let mut names = self.builtin_names();
        names.extend(self.tools.iter().map(|tool| tool.name().to_owned()));
        names
    }

    pub(crate) fn has_tool(&self, name: &str) -> bool {
        self.is_builtin(name) || self.tools.iter().any(|tool| tool.name() == name)
    }

    /// Returns the names that built-in tools answer to for some agent.
    fn builtin_names(&self) -> BTreeSet<String> {
        let mut names = reserved_names(&self.options.tools.names);
        names.extend(self.agents.values().flat_map(|agent| agent.tools.names.values().cloned()));
        names
    }

    fn is_builtin(&self, name: &str) -> bool {
        self.builtin_names().contains(name)
    }

    /// Fails with [`ErrorKind::ReservedName`] if two tools, arguments of a tool, or handlers share a name.
    pub(super) fn check_names(&self) -> Result<(), Error> {
        if let Some(clash) = self.options.clash() {
            return Err(reserved(clash));
        }
        for agent in self.agents.values() {
            if let Some(clash) = self.options.with_tools(&agent.tools).clash() {
                return Err(reserved(clash));
            }
        }
        for (index, tool) in self.tools.iter().enumerate() {
            let is_taken = self.tools[..index].iter().any(|other| other.name() == tool.name());
            if is_taken || self.is_builtin(tool.name()) {
                return Err(reserved(tool.name()));
            }
        }
        for (index, handler) in self.handlers.iter().enumerate() {
            let is_taken = self.handlers[..index]
                .iter()
                .any(|other| other.skill == handler.skill && other.tool == handler.tool);
            if is_taken || self.has_tool(&handler.tool) {
                return Err(reserved(&handler.tool));
            }
        }
        Ok(())
    }
}

fn reserved(name: &str) -> Error {
    Error::new(ErrorKind::ReservedName).about(name)
}
