//! Where skills come from: what installers recorded about them, fetching them, locks and updates.

pub mod origin;
