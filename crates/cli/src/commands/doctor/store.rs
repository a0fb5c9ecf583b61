//! Checks that the store can be opened and is not damaged.

use std::path::Path;

use super::checks::{Checks, Status, bytes};
use crate::wire::Context;

impl Checks {
    pub(super) fn store(&mut self, context: &Context) {
        let Some(location) = context.store_location() else {
            return self.ok("store", "nowhere: there is no state directory");
        };
        let path = Path::new(&location);
        // Other errors show when the store is opened.
        let is_missing = |error: std::io::Error| error.kind() == std::io::ErrorKind::NotFound;
        if !location.contains("://") && path.symlink_metadata().is_err_and(is_missing) {
            return self.ok("store", format!("{location}, none yet"));
        }
        match context.lazy_store().get().and_then(|store| store.check().map(|()| store)) {
            Ok(store) => {
                let size = path.metadata().map(|metadata| format!(", {}", bytes(metadata.len())));
                self.ok("store", format!("{}{}", store.location(), size.unwrap_or_default()));
            }
            Err(error) => self.add(
                Status::Warn,
                "store",
                error.chain(),
                Some("events, versions and proposals are not kept; set REPERTOIRE_STATE_DIR, or `store.url` in your user configuration"),
            ),
        }
    }
}
