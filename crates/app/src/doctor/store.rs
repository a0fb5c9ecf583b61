//! Checks that the store can be opened and is not damaged.

use std::path::Path;

use super::checks::{Checks, bytes};
use crate::view::CheckStatus as Status;
use crate::workspace::Workspace;

impl Checks {
    pub(super) fn store(&mut self, workspace: &Workspace) {
        let Some(location) = workspace.store_location() else {
            return self.ok("store", "nowhere: there is no state directory");
        };
        let path = Path::new(&location);
        if !location.contains("://") {
            // The file, or the nearest directory above it; SQLite makes files beside it.
            let mut there = path.ancestors().filter(|path| path.symlink_metadata().is_ok());
            let (nearest, above) = (there.next().unwrap_or(path), there.next());
            let needed = if nearest == path { [Some(path), above] } else { [Some(nearest), None] };
            if let Some(kept) = needed.into_iter().flatten().find(|path| !is_writable(path)) {
                let why = format!("{location} cannot be written: {} is not writable", kept.display());
                return self.add(Status::Warn, "store", why, Some(ADVICE));
            }
            if nearest != path && nearest.is_dir() {
                return self.ok("store", format!("{location}, not created yet"));
            }
        }
        match workspace.lazy_store().get().and_then(|store| store.check_fully().map(|()| store)) {
            Ok(store) => {
                let size = path.metadata().map(|metadata| format!(", {}", bytes(metadata.len())));
                self.ok("store", format!("{}{}", store.location(), size.unwrap_or_default()));
            }
            Err(error) => self.add(Status::Warn, "store", error.chain(), Some(ADVICE)),
        }
    }
}

/// The advice about a store that cannot be used.
const ADVICE: &str = "events, versions and proposals are not kept; set REPERTOIRE_STATE_DIR, or `store.url` in your user configuration";

/// Returns `true` if this process may write to `path`, as far as the system says.
fn is_writable(path: &Path) -> bool {
    #[cfg(unix)]
    {
        rustix::fs::access(path, rustix::fs::Access::WRITE_OK).is_ok()
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        true
    }
}
