//! Limits of watching that the system sets.

use std::path::Path;

/// Returns the most directories that may be watched if `max_watches` are configured: no more than half of the
/// watches that the system grants to all programs of a user together.
#[cfg(target_os = "linux")]
#[allow(clippy::disallowed_methods, reason = "it is a file of the system, not of a skill")]
pub(super) fn watch_budget(max_watches: usize) -> usize {
    let limit = std::fs::read_to_string("/proc/sys/fs/inotify/max_user_watches");
    let limit = limit.ok().and_then(|limit| limit.trim().parse::<usize>().ok());
    limit.map_or(max_watches, |limit| max_watches.min(limit / 2))
}

/// Returns the most directories that may be watched if `max_watches` are configured.
#[cfg(not(target_os = "linux"))]
pub(super) fn watch_budget(max_watches: usize) -> usize {
    max_watches
}

/// Network file systems, whose changes on other machines cause no events.
#[cfg(target_os = "linux")]
const REMOTE: [(u32, &str); 8] = [
    (0x6969, "NFS"),
    (0x517B, "SMB"),
    (0xFF53_4D42, "SMB"),
    (0xFE53_4D42, "SMB"),
    (0x0102_1997, "9P"),
    (0x6573_5546, "FUSE"),
    (0x00C3_6400, "Ceph"),
    (0x5346_414F, "AFS"),
];

/// Returns the kind of network file system that holds `directory`, if it is one.
#[cfg(target_os = "linux")]
pub(super) fn remote_kind(directory: &Path) -> Option<&'static str> {
    let magic = rustix::fs::statfs(directory).ok()?.f_type;
    // The numbers have 32 bits; the width of the field depends on the machine.
    let magic = magic as u32;
    REMOTE.iter().find(|(known, _)| *known == magic).map(|(_, name)| *name)
}

/// Returns the kind of network file system that holds `directory`, if it is known.
#[cfg(not(target_os = "linux"))]
pub(super) fn remote_kind(_directory: &Path) -> Option<&'static str> {
    None
}
