//! Numbers, sizes and times as people read them.

use std::time::{Duration, SystemTime};

use repertoire::event::jsonl::rfc3339;
use repertoire::serve::without_kind;

use crate::api::events::EventRecord;

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// The seconds of a minute, an hour and a day.
const UNITS: [(u64, &str); 3] = [(86_400, "d"), (3_600, "h"), (60, "min")];

/// A value as people read it.
pub(super) trait NumberText {
    /// Returns the number with a thin space between thousands.
    fn grouped(&self) -> String;

    /// Returns the number of bytes in a unit that fits.
    fn bytes(&self) -> String;
}

impl NumberText for u64 {
    fn grouped(&self) -> String {
        let digits = self.to_string();
        let mut text = String::with_capacity(digits.len() * 2);
        for (index, digit) in digits.chars().enumerate() {
            if index > 0 && (digits.len() - index).is_multiple_of(3) {
                text.push('\u{202f}');
            }
            text.push(digit);
        }
        text
    }

    fn bytes(&self) -> String {
        match self {
            0..1_024 => format!("{self} B"),
            1_024..1_048_576 => format!("{:.1} KB", *self as f64 / 1_024.0),
            _ => format!("{:.1} MB", *self as f64 / 1_048_576.0),
        }
    }
}

impl NumberText for usize {
    fn grouped(&self) -> String {
        (*self as u64).grouped()
    }

    fn bytes(&self) -> String {
        (*self as u64).bytes()
    }
}

/// A time in RFC 3339 as people read it.
pub(super) trait TimeText {
    /// Returns the time since then, such as `3 h ago`.
    fn ago(&self) -> String;

    /// Returns the date and the time to the minute.
    fn minute(&self) -> String;
}

impl TimeText for str {
    fn ago(&self) -> String {
        match humantime::parse_rfc3339(self) {
            Ok(then) => age(then.elapsed().unwrap_or_default().as_secs()),
            Err(_) => self.to_owned(),
        }
    }

    fn minute(&self) -> String {
        self.get(..16).unwrap_or(self).replace('T', " ")
    }
}

fn age(seconds: u64) -> String {
    if seconds >= 60 * 86_400 {
        return format!("{} months ago", seconds / (30 * 86_400));
    }
    match UNITS.iter().find(|(unit, _)| seconds >= *unit) {
        Some((unit, name)) => format!("{} {name} ago", seconds / unit),
        None => "just now".to_owned(),
    }
}

/// Returns the day that was `days` days ago, such as `20 Oct`.
pub(super) fn day(days: usize) -> String {
    match days {
        0 => return "Today".to_owned(),
        1 => return "Yesterday".to_owned(),
        _ => {}
    }
    let ago = Duration::from_secs(days as u64 * 86_400);
    let date = SystemTime::now().checked_sub(ago).map(rfc3339).unwrap_or_default();
    let number = |from: usize, to: usize| date.get(from..to).and_then(|text| text.parse::<usize>().ok());
    match number(5, 7).and_then(|month| MONTHS.get(month.checked_sub(1)?)).zip(number(8, 10)) {
        Some((month, day)) => format!("{day} {month}"),
        None => date,
    }
}

/// Returns a duration in seconds in a unit that fits.
pub(super) fn duration(seconds: &f64) -> String {
    match seconds * 1_000.0 {
        ms if ms < 10.0 => format!("{ms:.1} ms"),
        ms if ms < 1_000.0 => format!("{ms:.0} ms"),
        _ => format!("{seconds:.1} s"),
    }
}

/// Returns the first characters of a digest, without the name of its algorithm.
pub(super) fn short_digest(digest: &str) -> String {
    digest.strip_prefix("sha256:").unwrap_or(digest).chars().take(12).collect()
}

/// Returns a word of the API as people read it: `skill_loaded` is `skill loaded`.
pub(super) fn words(word: &str) -> String {
    word.replace('_', " ")
}

/// Returns the name of a person or agent without its kind.
pub(super) fn actor(name: &str) -> &str {
    without_kind(name)
}

/// Returns the words for what `event` is about: the call, where it came to nothing.
pub(super) fn event(event: &EventRecord) -> String {
    let is_done = event.outcome == "ok" || event.kind == "access_refused" || event.tool.is_empty();
    words(if is_done { &event.kind } else { &event.tool })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_groups_and_sizes_have_units() {
        assert_eq!(1_234_567_u64.grouped(), "1\u{202f}234\u{202f}567");
        assert_eq!(999_u64.grouped(), "999");
        assert_eq!(
            [0_u64, 1_023, 1_536, 3 << 20].map(|size| size.bytes()),
            ["0 B", "1023 B", "1.5 KB", "3.0 MB"]
        );
    }

    #[test]
    fn times_are_read_and_told_by_their_age() {
        assert_eq!(rfc3339(SystemTime::now() - Duration::from_secs(7_300)).ago(), "2 h ago");
        assert_eq!("yesterday".ago(), "yesterday");
        let ages = [5, 61, 7_200, 86_400 * 3, 86_400 * 90].map(age);
        assert_eq!(ages, ["just now", "1 min ago", "2 h ago", "3 d ago", "3 months ago"]);
        assert_eq!(
            [0.000_4, 0.0123, 15.105].map(|seconds| duration(&seconds)),
            ["0.4 ms", "12 ms", "15.1 s"]
        );
        assert_eq!("2024-02-29T12:34:56.789Z".minute(), "2024-02-29 12:34");
    }
}
