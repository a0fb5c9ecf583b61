//! Decides when using a registry makes it reload.

use std::sync::Arc;

use super::open::{BusyReload, Registry};
use super::snapshot::Snapshot;
use super::watch::ReloadMode;

impl Registry {
    /// Notes that the registry is used: in [`ReloadMode::Lazy`] it reloads then, at most once per cooldown.
    /// Returns the newest snapshot.
    pub async fn touch(&self) -> Arc<Snapshot> {
        let options = self.watcher().as_ref().map(|(options, _)| *options);
        match options {
            Some(options) if options.mode == ReloadMode::Lazy && self.claim_reload(options.cooldown) => {
                self.reload().await
            }
            _ => self.snapshot(),
        }
    }

    fn mode(&self) -> Option<ReloadMode> {
        self.watcher().as_ref().map(|(options, _)| options.mode)
    }

    /// Returns a snapshot that has all changes up to now.
    ///
    /// It reloads without waiting for the debounce, so that callers see their own writes. A large library
    /// that is polled is not reloaded again within a moment; in [`ReloadMode::Lazy`] the cooldown decides,
    /// and in [`ReloadMode::Off`] nothing is reloaded.
    pub async fn newest(&self) -> Arc<Snapshot> {
        match self.mode() {
            Some(ReloadMode::Off) => self.snapshot(),
            Some(ReloadMode::Lazy) => self.touch().await,
            Some(ReloadMode::Poll) => self.reload_unless_costly(BusyReload::Wait).await,
            Some(ReloadMode::Watch) | None => self.reload_if_changed(BusyReload::Wait).await,
        }
    }

    /// Reloads unless that takes long and was done recently, and returns the newest snapshot.
    ///
    /// However often it is called on a large library, no more than a tenth of the time goes into reloads. In
    /// [`ReloadMode::Lazy`] the cooldown decides, and in [`ReloadMode::Off`] nothing is ever reloaded.
    pub async fn reload_if_due(&self) -> Arc<Snapshot> {
        self.reload_if_due_or(BusyReload::Wait).await
    }

    /// Reloads as [`Registry::reload_if_due`] does, and blocks. It does not wait for a reload of another
    /// task, which may need this thread to go on.
    pub(crate) fn reload_if_due_blocking(&self) -> Arc<Snapshot> {
        pollster::block_on(self.reload_if_due_or(BusyReload::KeepSnapshot))
    }

    async fn reload_if_due_or(&self, busy: BusyReload) -> Arc<Snapshot> {
        match self.mode() {
            Some(ReloadMode::Off) => self.snapshot(),
            Some(ReloadMode::Lazy) => self.touch().await,
            Some(ReloadMode::Watch | ReloadMode::Poll) | None => self.reload_unless_costly(busy).await,
        }
    }
}
