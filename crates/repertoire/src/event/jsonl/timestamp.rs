//! Times as RFC 3339 writes them.

use std::time::{Duration, SystemTime};

/// The last moment that four digits of a year can tell, in milliseconds.
const LAST: u64 = 253_402_300_799_999;

const MILLIS_PER_DAY: u64 = 24 * 60 * 60 * 1_000;

/// The days of 400 years, after which the calendar repeats itself.
const DAYS_PER_ERA: u64 = 146_097;

/// The days from the first of March of the year 0 to the first of January 1970.
const DAYS_BEFORE_1970: u64 = 719_468;

/// The bytes of a time as it is written.
const LENGTH: usize = "1970-01-01T00:00:00.000Z".len();

/// Returns `time` in UTC with milliseconds. A clock set before 1970 or after 9999 gives the nearest of the two.
pub fn rfc3339(time: SystemTime) -> [u8; LENGTH] {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
    let millis = u64::try_from(since.as_millis()).unwrap_or(LAST).min(LAST);
    let (year, month, day) = date(millis / MILLIS_PER_DAY);
    let rest = millis % MILLIS_PER_DAY;
    let mut text = *b"0000-00-00T00:00:00.000Z";
    for (end, digits, number) in [
        (4, 4, year),
        (7, 2, month),
        (10, 2, day),
        (13, 2, rest / 3_600_000),
        (16, 2, rest / 60_000 % 60),
        (19, 2, rest / 1_000 % 60),
        (23, 3, rest % 1_000),
    ] {
        let mut number = number;
        for place in (end - digits..end).rev() {
            text[place] = b'0' + (number % 10) as u8;
            number /= 10;
        }
    }
    text
}

/// Returns year, month and day of the `days`th day after the first of January 1970.
///
/// Years are taken to begin in March, so that the leap day is the last of its year; then the months have a length
/// that one division tells (Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms").
fn date(days: u64) -> (u64, u64, u64) {
    let days = days + DAYS_BEFORE_1970;
    let (era, day_of_era) = (days / DAYS_PER_ERA, days % DAYS_PER_ERA);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(millis: u64, expect: &str) {
        let time = SystemTime::UNIX_EPOCH + Duration::from_millis(millis);
        assert_eq!(std::str::from_utf8(&rfc3339(time)).unwrap(), expect);
    }

    #[test]
    fn times_of_all_kinds() {
        check(0, "1970-01-01T00:00:00.000Z");
        check(1, "1970-01-01T00:00:00.001Z");
        check(68_169_599_999, "1972-02-28T23:59:59.999Z");
        check(68_169_600_000, "1972-02-29T00:00:00.000Z");
        check(68_256_000_000, "1972-03-01T00:00:00.000Z");
        check(951_782_400_000, "2000-02-29T00:00:00.000Z");
        check(951_868_800_000, "2000-03-01T00:00:00.000Z");
        check(1_000_000_000_000, "2001-09-09T01:46:40.000Z");
        check(1_709_210_096_789, "2024-02-29T12:34:56.789Z");
        check(1_735_689_599_999, "2024-12-31T23:59:59.999Z");
        check(1_735_689_600_000, "2025-01-01T00:00:00.000Z");
        check(4_107_542_399_000, "2100-02-28T23:59:59.000Z");
        check(4_107_542_400_000, "2100-03-01T00:00:00.000Z");
        check(LAST, "9999-12-31T23:59:59.999Z");
        check(LAST + 1, "9999-12-31T23:59:59.999Z");
    }

    #[test]
    fn a_clock_before_1970_is_taken_for_1970() {
        let time = SystemTime::UNIX_EPOCH - Duration::from_secs(1);
        assert_eq!(rfc3339(time), *b"1970-01-01T00:00:00.000Z");
    }

    /// Counts through every day by the rule that children learn.
    #[test]
    fn every_day_follows_the_one_before() {
        let (mut year, mut month, mut day) = (1970, 1, 1);
        for days in 0..200_000 {
            assert_eq!(date(days), (year, month, day));
            let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            let length = match month {
                2 if is_leap => 29,
                2 => 28,
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            day += 1;
            if day > length {
                (month, day) = (month + 1, 1);
            }
            if month > 12 {
                (year, month) = (year + 1, 1);
            }
        }
        assert!(year > 2500);
    }
}
