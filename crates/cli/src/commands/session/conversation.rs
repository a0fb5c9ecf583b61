//! One session with its sub-agents, whose requests are answered in order.

use std::collections::BTreeMap;
use std::sync::Arc;

use pollster::block_on;
use repertoire::{Error, RoleOrigin, Session};
use serde_json::{Value, json};

use super::open_session::OpenSession;
use super::refusal::{Answer, ProtocolRefusal, Request, answered, bad, fields, operation, parse, text};
use crate::role::Role;
use crate::wire::Workspace;

/// The most sessions of sub-agents that one process holds.
const MAX_SUBAGENTS: usize = 256;

/// A session, and those of the agents that it started.
pub(super) struct Conversation {
    main: OpenSession,
    subagents: BTreeMap<String, OpenSession>,
}

impl Conversation {
    /// Returns the conversation that `main` leads.
    pub(super) fn new(workspace: Arc<Workspace>, main: Session) -> Self {
        Self { main: OpenSession::new(workspace, main), subagents: BTreeMap::new() }
    }

    /// Gives the session `role`, and returns the origin of its prompt.
    pub(super) fn take(&self, role: Role) -> Result<RoleOrigin, Error> {
        block_on(self.main.take(role))
    }

    /// Returns the library that all its sessions read.
    pub(super) fn library(&self) -> &repertoire::Library {
        self.main.session().library()
    }

    pub(super) fn answer(&mut self, line: &[u8]) -> Value {
        match parse(line) {
            Ok(request) => {
                let answer = self.dispatch(&request);
                answered(request.get("id").cloned(), answer)
            }
            Err(refusal) => answered(None, Err(refusal)),
        }
    }

    fn dispatch(&mut self, request: &Request) -> Answer {
        match operation(request)? {
            "subagent" => self.subagent(request),
            operation @ ("hello" | "open" | "close" | "cancel" | "subscribe" | "answer" | "end") => {
                Err(bad(format!("`{operation}` needs a process whose first line is `hello`")))
            }
            operation => block_on(self.session(request)?.answer(operation, request)),
        }
    }

    /// Returns the session that a request is about.
    fn session(&self, request: &Request) -> Result<&OpenSession, ProtocolRefusal> {
        match text(request, "session")? {
            None => Ok(&self.main),
            Some(id) if id == self.main.session().id() => Ok(&self.main),
            Some(id) => self.subagents.get(id).ok_or_else(|| bad(format!("there is no session `{id}`"))),
        }
    }

    fn subagent(&mut self, request: &Request) -> Answer {
        if self.subagents.len() >= MAX_SUBAGENTS {
            return Err(bad(format!("there are {MAX_SUBAGENTS} sessions of sub-agents already")));
        }
        let child = block_on(self.session(request)?.subagent(request))?;
        let id = child.session().id().to_owned();
        self.subagents.insert(id.clone(), child);
        Ok(fields(json!({"session": id})))
    }
}
