//! The health of the parts of a server.

use repertoire::Watcher;
use repertoire_exec::{Launcher, probe};
use repertoire_model::words;

use crate::workspace::Workspace;

words! {
    /// The state of a part of the server.
    HealthState {
        /// It works.
        Ok "ok",
        /// It works in part, or something needs attention.
        Warning "warning",
        /// It does not work.
        Error "error",
        /// It is switched off.
        Off "off",
    }
}

/// A part of the server and its state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HealthItem {
    /// The part, such as `store`.
    pub part: String,
    /// Its state.
    pub state: HealthState,
    /// The state in a few words.
    pub detail: String,
}

impl HealthItem {
    /// Returns the state of `part`, in a few words too.
    pub fn new(part: &str, state: HealthState, detail: impl Into<String>) -> Self {
        Self { part: part.to_owned(), state, detail: detail.into() }
    }
}

/// Returns the state of following the library with `watcher`, if there is one.
pub fn following(workspace: &Workspace, watcher: Option<&Watcher>) -> HealthItem {
    let item = |state, detail| HealthItem::new("watcher", state, detail);
    let Some(watcher) = watcher else {
        return item(HealthState::Off, "changes are looked for when skills are used".to_owned());
    };
    match watcher.problems().first() {
        Some(problem) => item(HealthState::Warning, problem.diagnostic.message.clone()),
        None => {
            let mode = workspace.settings.reload.mode.as_str();
            item(HealthState::Ok, format!("{mode}, {} directories watched", watcher.watches()))
        }
    }
}

/// Returns the state of the sandbox that tools and scripts of skills run in.
pub fn sandbox(workspace: &Workspace) -> HealthItem {
    let item = |state, detail: &str| HealthItem::new("sandbox", state, detail);
    if !workspace.settings.exec.enabled {
        return item(HealthState::Off, "tools and scripts of skills do not run here");
    }
    match probe(&Launcher::CurrentExe).best() {
        Some(sandbox) => item(HealthState::Ok, &format!("{} works", sandbox.name())),
        None => item(HealthState::Error, "none works here"),
    }
}
