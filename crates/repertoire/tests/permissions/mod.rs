//! Tests of what may not be read, which root reads all the same.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// A mode that lets its owner move a directory and neither read nor enter it.
pub(crate) const CLOSED: u32 = 0o200;
/// The usual mode of a directory.
pub(crate) const OPEN: u32 = 0o755;

/// Takes from this thread, and from the threads that it starts, the right of root to read everything.
pub(crate) fn obey_permissions() {
    #[cfg(target_os = "linux")]
    {
        use rustix::thread::{CapabilitySet, capabilities, set_capabilities};

        let mut sets = capabilities(None).unwrap();
        sets.effective.remove(CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH);
        set_capabilities(None, sets).unwrap();
    }
}

/// Changes the permissions of `path`.
pub(crate) fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}
