//! Options of following a library.

use std::time::Duration;

use repertoire_model::words;

/// The default limit of watched directories.
pub const MAX_WATCHES: usize = 32_768;

words! {
    /// The way in which a registry notices changes of its library.
    #[derive(Default)]
    ReloadMode {
        /// By events of the file system; sources without events are polled.
        #[default]
        Watch "watch",
        /// By polling.
        Poll "poll",
        /// By a check on use, at most once per cooldown.
        Lazy "lazy",
        /// Not at all.
        Off "off",
    }
}

repertoire_model::options! {
    /// Options of following a library.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct ReloadOptions {
        /// The way in which changes are noticed.
        pub mode: ReloadMode,
        /// The least interval between polls; it is longer where polling would cost too much.
        pub poll: Duration = Duration::from_secs(5),
        /// The least interval between checks on use, in [`ReloadMode::Lazy`].
        pub cooldown: Duration = Duration::from_secs(2),
        /// The time without further events after which a batch of events is handled.
        pub debounce: Duration = Duration::from_millis(30),
        /// The most directories that are watched.
        pub max_watches: usize = MAX_WATCHES,
    }
}

impl ReloadOptions {
    /// Returns the usual options in `mode`.
    pub fn of(mode: ReloadMode) -> Self {
        Self { mode, ..Self::default() }
    }
}
