//! Servers of a world over two streams.

use repertoire::{Agent, LibraryBuilder, SessionOptions, Watcher};
use repertoire_mcp::{McpOptions, Server};
use repertoire_model::Policy;

use crate::world::{World, changed, watched_library};

impl World {
    pub fn server(&self) -> Server {
        self.server_with(McpOptions::default())
    }

    pub fn server_with(&self, options: McpOptions) -> Server {
        self.server_for(options, Vec::new())
    }

    pub fn server_for(&self, options: McpOptions, agents: Vec<Agent>) -> Server {
        self.server_under(options, agents, Policy::default())
    }

    pub fn server_under(&self, options: McpOptions, agents: Vec<Agent>, policy: Policy) -> Server {
        let options = changed(options, |options| options.version = "0.0.0".to_owned());
        let served = self.served(&options, SessionOptions::default(), |builder| {
            agents.into_iter().fold(builder.policy(policy), LibraryBuilder::agent)
        });
        Server::new(served, options)
    }
}

/// Starts following the library of `server`; when it returns, no change is missed.
pub fn watched(server: &Server) -> Watcher {
    watched_library(server.library())
}
