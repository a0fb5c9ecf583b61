//! Completes a change that was interrupted, as by `kill -9` or a power failure, and says so.

use repertoire_clients::{Owner, adopt};

use crate::env::Env;
use crate::ui::{Ui, escape};

/// Completes interrupted changes of the project and of the user.
pub(crate) fn finish_interrupted(ui: &mut Ui, env: &Env) {
    let places = env.places();
    for owner in [Owner::Project, Owner::User] {
        let Some(base) = places.base(owner) else { continue };
        let undo = if owner == Owner::User { "rep adopt --undo --user" } else { "rep adopt --undo" };
        let message = match adopt::finish(&places, owner, &base) {
            Ok(false) => continue,
            Ok(true) => "a `rep adopt` that was interrupted is completed".to_owned(),
            Err(error) => format!(
                "a `rep adopt` was interrupted and cannot be completed; `{undo}` puts back what was moved: {error}"
            ),
        };
        let _ = ui.warn(&format!("{}: {}", escape(&base.display().to_string()), escape(&message)));
    }
}
