//! The clients that links are made for.

use std::path::Path;

use crate::connect::{Connection, connected_to_all};
use crate::{CANONICAL, CLIENTS, Client, Error, Owner, Places};

/// A client that was left out, and the reason.
#[derive(Debug)]
pub struct SkippedClient {
    /// The client.
    pub client: &'static Client,
    /// The reason.
    pub reason: String,
    /// `true` if the links for it are refused, and `false` if it does not need them.
    pub is_refusal: bool,
}

/// The use that is made of clients that are connected to the MCP server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectedClients {
    /// They are left out, because the server offers them every skill.
    LeftOut,
    /// Links are made for them too.
    Included,
}

/// Returns the chosen clients, and the ones that are left out.
pub fn chosen(
    connections: &[Connection],
    places: &Places,
    owner: Owner,
    connected: ConnectedClients,
    named: Vec<&'static Client>,
) -> Result<(Vec<&'static Client>, Vec<SkippedClient>), Error> {
    let is_named = !named.is_empty();
    let clients = if is_named { named } else { found(places, owner) };
    if clients.is_empty() {
        let ids =
            CLIENTS.iter().filter(|client| !client.directories().project.is_empty()).map(|client| client.id);
        let ids: Vec<&str> = ids.collect();
        return Err(Error::refused("none of the clients that read skills was found")
            .hint(format!("name one: {}", ids.join(", "))));
    }
    let (mut chosen, mut skipped) = (Vec::new(), Vec::new());
    let to_all = connected_to_all(connections);
    for client in clients {
        let mut skip =
            |reason: String, is_refusal| skipped.push(SkippedClient { client, reason, is_refusal });
        if places.skills(client, owner).is_empty() {
            skip(format!("{} reads no skills from files", client.title()), is_named);
        } else if connected == ConnectedClients::LeftOut && to_all.contains(client.id) {
            skip(
                format!(
                    "{} is connected to the MCP server, which offers it every skill, and needs no links unless they are \
                     forced",
                    client.title(),
                ),
                is_named,
            );
        } else {
            chosen.push(client);
        }
    }
    Ok((chosen, skipped))
}

/// Returns the clients that read skills and have a sign in the home directory or in the project.
fn found(places: &Places, owner: Owner) -> Vec<&'static Client> {
    let has_directory = |client: &Client| {
        // The one place is not a sign of a particular client.
        let own = places.skills(client, Owner::Project).into_iter().find(|own| !own.ends_with(CANONICAL));
        own.and_then(|own| own.parent().map(Path::is_dir)).unwrap_or(false)
    };
    let reads = CLIENTS.iter().filter(|client| !places.skills(client, owner).is_empty());
    reads
        .filter(|client| places.is_there(client) || (owner == Owner::Project && has_directory(client)))
        .collect()
}
