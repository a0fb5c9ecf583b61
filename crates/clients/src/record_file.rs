//! The records of the user and of projects. That of a project may come from a cloned repository.

use std::path::Path;

use repertoire::record::{Record, RecordKind, RecordPlace};
use serde::de::DeserializeOwned;

use crate::paths;
use crate::{Error, Owner, Places};

/// Reads the record of `base`, which is `owner`'s. Fails if it leads out of the project.
pub(crate) fn read<T: Default + DeserializeOwned>(
    places: &Places,
    owner: Owner,
    base: &Path,
    kind: RecordKind,
) -> Result<Record<T>, Error> {
    let is_home = |home: &Path| paths::resolved(home) == paths::resolved(base);
    let in_base = RecordPlace::of_project(kind, base);
    let place = match &places.environment().state {
        // A user who works in the home directory has one record.
        Some(state) if places.environment().home.as_deref().is_some_and(is_home) => {
            RecordPlace { former: Some(in_base.path), ..RecordPlace::of_user(kind, state) }
        }
        _ if paths::leads_out(places, owner, &in_base.path) => {
            return Err(Error::refused(format!("{} leads out of the project", in_base.path.display()))
                .hint("it is left alone; replace the link by a directory or a file"));
        }
        _ => in_base,
    };
    Ok(Record::read(&place)?)
}
