//! Ages on the command line.

use std::time::Duration;

/// Returns the duration that `text` says, such as `30d`.
pub(crate) fn age(text: &str) -> Result<Duration, String> {
    let wrong = || "give a number and a unit, such as 30d, 12h or 90m".to_owned();
    let (number, unit) = text.split_at_checked(text.len().saturating_sub(1)).ok_or_else(wrong)?;
    let seconds = match unit {
        "d" => 24 * 60 * 60,
        "h" => 60 * 60,
        "m" => 60,
        "s" => 1,
        _ => return Err(wrong()),
    };
    let number: u64 = number.parse().map_err(|_| wrong())?;
    number.checked_mul(seconds).map(Duration::from_secs).ok_or_else(wrong)
}
