//! Checks that sessions and servers can follow the library.

use std::time::Duration;

use repertoire::registry::watch::FollowMethod;

use super::checks::Checks;
use crate::view::CheckStatus as Status;
use crate::workspace::Workspace;

/// The time until a very large library is watched.
const READY: Duration = Duration::from_secs(60);

impl Checks {
    /// Follows the library for a moment, and reports the method.
    pub(super) fn following(&mut self, workspace: &Workspace) {
        let mode = workspace.settings.reload.mode.as_str();
        let registry = workspace.open_to_follow();
        let watcher = match registry.watch(workspace.settings.reload) {
            Ok(watcher) => watcher,
            Err(error) => {
                let message = format!("the library cannot be followed: {error}");
                let hint = "close some programs, or set `reload.mode` to \"lazy\"";
                return self.add(Status::Warn, "reload", message, Some(hint));
            }
        };
        watcher.wait_ready(READY);
        for problem in watcher.problems() {
            self.add(Status::Warn, "reload", problem.diagnostic.message, problem.diagnostic.help.as_deref());
        }
        let state = watcher.state();
        let watched = watcher.watches();
        let polled =
            state.iter().filter(|source| matches!(source.following, FollowMethod::Polling(_))).count();
        let polled = if polled == 0 { String::new() } else { format!(", {polled} sources polled") };
        match watched {
            0 => self.ok("reload", format!("{mode}{polled}")),
            1 => self.ok("reload", format!("{mode}: 1 directory watched{polled}")),
            _ => self.ok("reload", format!("{mode}: {watched} directories watched{polled}")),
        }
    }
}
