//! A library that is open, with the places that it was read from.

use repertoire::discovery::Place;
use repertoire::{Registry, Snapshot};

/// The skills of a library, as they were read from its places.
#[derive(Clone, Copy)]
pub struct OpenLibrary<'l> {
    /// The registry that reads their files.
    pub registry: &'l Registry,
    /// The skills.
    pub snapshot: &'l Snapshot,
    /// The places that were searched.
    pub places: &'l [Place],
}
