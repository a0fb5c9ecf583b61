//! The skills that the servers of connected clients offer.

use std::collections::BTreeSet;
use std::path::PathBuf;

use repertoire_clients::Places;
use repertoire_clients::connect::{Connection, offered_names};

use super::handle::Workspace;
use super::library::Library;

/// Returns the names of the skills that the server of `connection` offers: the skills of `library`, unless it
/// is confined to some directories.
pub fn names_offered_by(
    workspace: &Workspace,
    library: &Library,
    places: &Places,
    connection: &Connection,
) -> BTreeSet<String> {
    let roots: Vec<PathBuf> = connection.roots().iter().map(|root| places.project().join(root)).collect();
    if roots.is_empty() {
        return offered_names(&library.snapshot);
    }
    let confined = workspace.confined_to(roots);
    offered_names(&confined.inspect(workspace.settings.policy.clone()).snapshot)
}
