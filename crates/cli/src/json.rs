//! The JSON shapes that several commands share; `docs/reference/json.md` documents all of them.

use repertoire_app::install::word;
use repertoire_sources::{Newest, UpdateCheck};
use serde_json::{Value, json};

use crate::ui::escape;

/// Returns a skill and its newest state, as `outdated` lists it.
pub(crate) fn update_check(check: &UpdateCheck) -> Value {
    let locked = &check.locked;
    let (newest, digest) = match &check.newest {
        Newest::Changed(newest) | Newest::Renamed(newest) => {
            (newest.locked.resolved.clone(), Some(newest.locked.digest.to_string()))
        }
        _ => (None, None),
    };
    let reason = match &check.newest {
        Newest::Renamed(newest) => Some(format!("the source calls it {} now", newest.locked.name)),
        Newest::Broken(reason) => Some(reason.clone()),
        Newest::Unreachable(error) => Some(escape(&error.to_string()).into_owned()),
        _ => None,
    };
    let new_name = match &check.newest {
        Newest::Renamed(newest) => Some(newest.locked.name.as_str()),
        _ => None,
    };
    json!({
        "name": locked.name.as_str(),
        "renamed_to": new_name,
        "source": locked.source,
        "ref": locked.reference,
        "state": word(&check.newest),
        "resolved": locked.resolved,
        "digest": locked.digest.to_string(),
        "newest_resolved": newest,
        "newest_digest": digest,
        "reason": reason,
    })
}
