//! The skills that the servers of connected clients offer.

use std::collections::BTreeSet;
use std::path::PathBuf;

use repertoire_clients::Places;
use repertoire_clients::connect::{Connection, offered_names};

use crate::wire::{Context, Library};

/// Returns the names of the skills that the server of `connection` offers; those of `library`, unless it is confined to some
/// directories.
pub(crate) fn names_offered_by(
    context: &Context,
    library: &Library,
    places: &Places,
    connection: &Connection,
) -> BTreeSet<String> {
    let roots: Vec<PathBuf> = connection.roots().iter().map(|root| places.project().join(root)).collect();
    if roots.is_empty() {
        return offered_names(&library.snapshot);
    }
    let confined = context.confined_to(roots);
    offered_names(&confined.inspect(context.settings.policy.clone()).snapshot)
}
