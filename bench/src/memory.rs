//! The memory of this process; unknown without `/proc`.

/// Returns the number of resident bytes.
pub fn resident() -> Option<u64> {
    field("VmRSS:")
}

/// Returns the most bytes that were resident at once, since the start or since [`forget_peak`].
pub fn peak() -> Option<u64> {
    field("VmHWM:")
}

/// Resets the peak to the resident memory of now.
pub fn forget_peak() {
    // If it fails the peak is too high, never too low.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

fn field(name: &str) -> Option<u64> {
    of(&std::fs::read_to_string("/proc/self/status").ok()?, name)
}

fn of(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_read_in_kibibytes() {
        let status = "VmPeak:\t  99 kB\nVmHWM:\t   12 kB\nVmRSS:\t   7 kB\n";
        assert_eq!((of(status, "VmHWM:"), of(status, "VmRSS:")), (Some(12 * 1024), Some(7 * 1024)));
        assert_eq!(of(status, "VmSwap:"), None);
    }
}
