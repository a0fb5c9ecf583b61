//! The things that tests need and not every machine has: sandboxes, and programs.

use std::io::Write as _;
use std::sync::OnceLock;

use repertoire_exec::{Launcher, Probe, probe};

/// Says that something is not tested.
pub(crate) fn skipped(what: &str) {
    // Not by a macro, whose output is shown only for tests that fail.
    let _ = std::io::stderr().write_all(format!("\nSKIPPED: {what}\n").as_bytes());
}

/// Returns the launcher, which is the program itself.
pub(crate) fn launcher() -> Launcher {
    Launcher::Path(env!("CARGO_BIN_EXE_rep").into())
}

/// Returns the sandboxes of this machine, of which at least one works.
///
/// The others are printed, or fail the test if they are named in `REPERTOIRE_TEST_REQUIRE`.
pub(crate) fn probed() -> &'static Probe {
    static PROBE: OnceLock<Probe> = OnceLock::new();
    PROBE.get_or_init(|| {
        let probe = probe(&launcher());
        let required = std::env::var("REPERTOIRE_TEST_REQUIRE").unwrap_or_default();
        for row in probe.rows().iter().filter(|row| row.sandbox.is_none()) {
            let reason = format!("the sandbox {} does not work here: {}", row.name, row.detail);
            assert!(required != "all" && !required.contains(row.name), "{reason}");
            skipped(&format!("{reason}, so it is NOT tested"));
        }
        assert!(probe.best().is_some() || !cfg!(unix), "no sandbox works here: {probe:?}");
        probe
    })
}
