//! Which sandboxes work on this machine.

use std::sync::Arc;

use crate::exec::{Launcher, Sandbox};

/// Which sandboxes work here, the best one first.
#[derive(Debug, Clone)]
pub struct Probe {
    rows: Vec<Found>,
}

/// What was found out about one sandbox.
#[derive(Debug, Clone)]
pub struct Found {
    /// What it is called.
    pub name: &'static str,
    /// The sandbox, where it works.
    pub sandbox: Option<Arc<dyn Sandbox>>,
    /// Where it works, its version and what it cannot do here; otherwise why it does not work. One line.
    pub detail: String,
}

impl Probe {
    /// Returns what was found out, in order of preference.
    pub fn rows(&self) -> &[Found] {
        &self.rows
    }

    /// Returns the best sandbox that works here. `none` is never among them.
    pub fn best(&self) -> Option<Arc<dyn Sandbox>> {
        self.rows.iter().find_map(|row| row.sandbox.clone())
    }

    /// Returns the sandbox of this name, if it works here.
    pub fn named(&self, name: &str) -> Option<Arc<dyn Sandbox>> {
        self.rows.iter().find(|row| row.name == name).and_then(|row| row.sandbox.clone())
    }
}

/// Finds out which sandboxes work here, by running something in each.
pub fn probe(_launcher: &Launcher) -> Probe {
    Probe { rows: Vec::new() }
}
