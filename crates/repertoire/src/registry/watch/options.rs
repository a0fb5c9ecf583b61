//! How a registry follows its library.

use std::time::Duration;

/// The most directories that are watched unless said otherwise.
pub const MAX_WATCHES: usize = 32_768;

/// How a registry learns that its library changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReloadMode {
    /// By events of the file system; what has none is polled.
    #[default]
    Watch,
    /// By looking at everything at intervals.
    Poll,
    /// By looking when it is used, at most once per cooldown.
    Lazy,
    /// Not at all.
    Off,
}

impl ReloadMode {
    /// Every mode.
    pub const ALL: [Self; 4] = [Self::Watch, Self::Poll, Self::Lazy, Self::Off];

    /// Returns the mode's word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Watch => "watch",
            Self::Poll => "poll",
            Self::Lazy => "lazy",
            Self::Off => "off",
        }
    }
}

/// How a registry follows its library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReloadOptions {
    /// How it learns of changes.
    pub mode: ReloadMode,
    /// How long after one poll the next one is at the earliest; it is longer where polling would cost too much.
    pub poll: Duration,
    /// How long after one look at the library the next one is at the earliest, in [`ReloadMode::Lazy`].
    pub cooldown: Duration,
    /// How long nothing must have happened before a batch of events is acted upon.
    pub debounce: Duration,
    /// The most directories that are watched.
    pub max_watches: usize,
}

impl Default for ReloadOptions {
    fn default() -> Self {
        Self {
            mode: ReloadMode::default(),
            poll: Duration::from_secs(5),
            cooldown: Duration::from_secs(2),
            debounce: Duration::from_millis(30),
            max_watches: MAX_WATCHES,
        }
    }
}

impl ReloadOptions {
    /// Returns the usual options in `mode`.
    pub fn of(mode: ReloadMode) -> Self {
        Self { mode, ..Self::default() }
    }
}
