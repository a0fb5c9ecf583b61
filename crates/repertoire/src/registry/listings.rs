//! The last listing of every provider, and in which order they came.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::provider::Listing;

/// The last listing of every provider.
///
/// Listings are numbered when they are asked for. Of one provider that with the highest number stays, whichever comes in
/// first; and each time some come in, what all providers listed last is a new version of the library.
#[derive(Debug)]
pub(super) struct Listings(Mutex<Held>);

#[derive(Debug)]
struct Held {
    /// How many listings were asked for.
    asked: u64,
    /// How often listings came in.
    version: u64,
    last: Vec<Last>,
}

#[derive(Debug, Clone, Default)]
struct Last {
    number: u64,
    listing: Arc<Listing>,
}

impl Held {
    fn listings(&self) -> Vec<Arc<Listing>> {
        self.last.iter().map(|last| Arc::clone(&last.listing)).collect()
    }
}

/// A listing on its way in.
pub(super) struct Incoming {
    /// The position of its provider.
    pub(super) provider: usize,
    pub(super) number: u64,
    pub(super) listing: Listing,
}

/// What all providers listed last.
pub(super) struct Version {
    pub(super) number: u64,
    /// Whether it is the same as the version before.
    pub(super) is_same: bool,
    /// The listings of the version before.
    pub(super) before: Vec<Arc<Listing>>,
    pub(super) listings: Vec<Arc<Listing>>,
}

impl Listings {
    /// Returns those of `providers` providers, all of them empty so far.
    pub(super) fn new(providers: usize) -> Self {
        Self(Mutex::new(Held { asked: 0, version: 0, last: vec![Last::default(); providers] }))
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `ask` for a listing and returns its number; listings are asked for in the order of their numbers.
    pub(super) fn ask<T>(&self, ask: impl FnOnce() -> T) -> (u64, T) {
        let mut held = self.held();
        held.asked += 1;
        (held.asked, ask())
    }

    /// Returns the last listing of `provider` that came in.
    pub(super) fn last(&self, provider: usize) -> Arc<Listing> {
        self.held().last.get(provider).map(|last| Arc::clone(&last.listing)).unwrap_or_default()
    }

    /// Takes in `listings` and returns what all providers listed last.
    pub(super) fn take_in(&self, listings: Vec<Incoming>) -> Version {
        let mut held = self.held();
        let before = held.listings();
        let is_first = held.version == 0;
        let mut is_same = !is_first;
        for Incoming { provider, number, listing } in listings {
            let Some(last) = held.last.get_mut(provider).filter(|last| last.number < number) else {
                continue;
            };
            last.number = number;
            // One that is the same is kept, so that what is shared stays shared.
            if is_first || *last.listing != listing {
                last.listing = Arc::new(listing);
                is_same = false;
            }
        }
        held.version += 1;
        Version { number: held.version, is_same, before, listings: held.listings() }
    }
}
